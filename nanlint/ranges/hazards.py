"""Hazards: where finite operands can turn into something that is not finite. Derived from the rows, never typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from nanlint.core.finding import Phase
from nanlint.core.formats import FORMATS, INTEGERS, Format
from nanlint.graph.values import Node
from nanlint.ranges.interval import INF, Interval
from nanlint.ranges.propagate import SMALL, UNABLE, ZERO_ONLY, Ranges, finite, forward, operand_ids, root
from nanlint.ranges.slopes import slopes
from nanlint.ranges.table import TABLE, Op

Reason = Literal["domain", "pole", "overflow", "slope", "empty", "one-element", "masked", "degenerate", "underflow", "integer"]
SHRINK = 2.0**-70
KNOWN = 1e6
NEGATIVE_FLOOR = 1e-30
COSINES = frozenset({"acos", "asin", "atanh", "acosh"})
ROOTS = frozenset({"sqrt", "pow", "rsqrt"})
BATCHES = ("adv", "reward", "return", "batch", "td_error", "loss", "logit")
SEQUENCES = ("seq", "frame", "time", "wave", "audio", "step", "token")
NARROW = frozenset({"uint8", "int8", "int16", "int32"})
WRAPPING = frozenset({"add", "sub", "mul", "square", "pow", "neg"})
DEVIATIONS = frozenset("std var std_mean var_mean".split())
EXACT_ZEROS = frozenset({"the name says direction", "a parameter that starts at zero", "the project states its range"})
SPREADS = frozenset("square var std var_mean std_mean norm linalg_vector_norm".split())
DIVISIONS = frozenset({"div", "reciprocal", "floor_divide", "remainder", "fmod", "rsqrt"})
DECOMPOSITIONS = frozenset("linalg_svd svd linalg_eigh eigh linalg_eig linalg_cholesky cholesky linalg_inv inverse linalg_qr linalg_det det".split())


@dataclass(frozen=True, slots=True)
class Hazard:
    """A way in which a node can break: when, why, at which operand, and why ordinary inputs get there ("" = unknown)."""

    node: int
    phase: Phase
    reason: Reason
    operand: int
    range: tuple[float, float]
    evidence: str


# ops that only overflow a narrow format, and those that meet infinities put there on purpose
CARRIERS = frozenset({"mul", "sum", "mean", "square", "cast", "addcmul", "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm"})
BIG_WORDS = ("network output", "the name says log", "the name says logits", "the project states", "an unbounded product")


@dataclass(frozen=True, slots=True)
class Risk:
    """A risky operation, with the hazards that the sure ranges leave open."""

    node: int
    hazards: tuple[Hazard, ...]

    @property
    def safe(self) -> bool:
        return not self.hazards


def risks(ranges: Ranges) -> Iterator[Risk]:
    """Every risky operation of a graph."""
    for node in ranges.graph:
        row = TABLE.get(node.op)
        if node.dtype in NARROW and node.op in WRAPPING and row is not None:
            yield Risk(node.id, tuple(wrapped(ranges, node, row)))
            continue
        if row is None or node.dtype == "number" or not is_risky(node, row):
            continue
        if row.trigger or node.op in CARRIERS or "infinite" in operand_facts(ranges, node):
            found = tuple(hazards(ranges, node, row))
            if row.trigger or found:
                yield Risk(node.id, found)


def wrapped(ranges: Ranges, node: Node, row: Op) -> Iterator[Hazard]:
    """Arithmetic in a narrow integer type whose exact result does not fit it."""
    ids = operand_ids(ranges, node, row)
    low, high = INTEGERS[node.dtype]
    args = [ranges.usual.get(i) if i is not None else None for i in ids]
    exact = forward(row, args, dict(node.params), FORMATS["float64"])
    if exact.nan or exact.is_empty or (exact.lo >= low and exact.hi <= high):
        return
    tensors = [i for i in ids if i is not None and ranges.graph[i].dtype == node.dtype]
    word = f"{node.dtype} holds {low} to {high}" if tensors and all(is_stated(ranges, i) for i in ids if i is not None) else ""
    first = tensors[0] if tensors else ids[0] or 0
    yield Hazard(node.id, "forward", "integer", first, (exact.lo, exact.hi), word)


def is_stated(ranges: Ranges, id: int) -> bool:
    """A constant, a tensor whose narrow type the code states, or what is computed of such."""
    return ranges.graph[id].dtype in NARROW or ranges.graph[id].op == "const"


def operand_facts(ranges: Ranges, node: Node) -> frozenset[str]:
    """The facts of all operands."""
    return frozenset(f for a in node.args if a is not None for f in ranges.facts.get(a, frozenset()))


def is_risky(node: Node, row: Op) -> bool:
    """Whole numbers do not blow up."""
    return not node.dtype.startswith(("int", "uint", "bool", "other"))


def hazards(ranges: Ranges, node: Node, row: Op) -> Iterator[Hazard]:
    """The hazards of one node, those that ordinary inputs reach before those that are only not excluded."""
    fmt = ranges.format_of(node)
    ids = operand_ids(ranges, node, row)
    if not ids or all(i is None for i in ids):
        return
    if any(i is not None and ranges.graph[i].dtype == "other" for i in ids):
        return
    seen: set[tuple[str, str]] = set()
    for usual in (True, False):
        for hazard in born(ranges, node, row, ids, fmt, usual):
            if (hazard.phase, hazard.reason) not in seen and (usual or not_overflow(hazard)):
                seen.add((hazard.phase, hazard.reason))
                yield hazard


def not_overflow(hazard: Hazard) -> bool:
    """That some unknown number may be huge is no hazard worth a word."""
    return hazard.reason not in ("overflow",)


def born(ranges: Ranges, node: Node, row: Op, ids: list[int | None], fmt: Format, usual: bool) -> Iterator[Hazard]:
    """What is born at a node from the usual (or the sure) ranges of its operands."""
    if not usual and not row.trigger:
        return
    table = ranges.usual if usual else ranges.sure
    args = [ordinary(finite(table.get(i), ranges, i), fmt) if i is not None else None for i in ids]
    if not usual:  # that a number nothing is known of may be huge is not worth a word
        args = [a.with_(lo=max(a.lo, -KNOWN), hi=min(a.hi, KNOWN)) if a is not None and a.lo <= KNOWN and a.hi >= -KNOWN else a for a in args]
    params = dict(node.params)
    facts = frozenset(f for i in ids if i is not None for f in ranges.facts.get(i, frozenset()))
    known_infinite = "infinite" in facts
    result = forward(row, args, params, fmt)
    bad = result.nan or (not result.is_empty and not known_infinite and (result.lo == -INF or result.hi == INF))
    if known_infinite and not result.nan and row.name in ("div", "log", "sub", "mul"):
        bad = False
    if bad and row.name in CARRIERS and not known_infinite and fmt.max >= 1e6:
        bad = False
    if bad and (row.trigger or known_infinite or fmt.max < 1e6):
        reason = why(row, args, params, fmt, result, known_infinite)
        operand = offender(ranges, node, row, ids, reason)
        yield Hazard(node.id, "forward", reason, operand, ends(args, ids, operand), evidence(ranges, node, operand, reason, facts, fmt, usual))
    elif node.op in DEVIATIONS and "count_min" not in params and "count" not in params:
        one = forward(row, args, {**params, "count_min": 1}, fmt)
        if one.nan and usual:
            word = "a batch or sequence of one" if may_be_short(ranges, node) else ""
            yield Hazard(node.id, "forward", "one-element", ids[0] or 0, ends(args, ids, ids[0] or 0), word)
    if "maybe-empty" in facts and row.family == "reduction" and usual and "count_min" not in params:
        empty = forward(row, args, {**params, "count_min": 0}, fmt)
        if empty.nan and not result.nan:
            yield Hazard(node.id, "forward", "empty", ids[0] or 0, ends(args, ids, ids[0] or 0), "a mask may select nothing")
    if node.grad:
        yield from born_backward(ranges, node, row, ids, args, params, fmt, result, facts, usual)


def may_be_short(ranges: Ranges, node: Node) -> bool:
    """The axis is one that is at times of length 1: the batch, time, all of what a mini-batch gave."""
    dim = node.param("dim")
    dim = dim[0] if isinstance(dim, tuple) and len(dim) == 1 else dim
    if dim == 0:
        return True
    if node.args[0] is None or node.param("unknown_dim"):
        return False
    names = " ".join(ranges.graph[i].text for i in (node.args[0], root(ranges, node.args[0]))).lower()
    if dim is None:
        return any(word in names for word in BATCHES)
    return isinstance(dim, int) and any(word in names for word in SEQUENCES)


def born_backward(
    ranges: Ranges, node: Node, row: Op, ids: list[int | None], args: list[Any], params: dict[str, Any], fmt: Format, result: Interval, facts: frozenset[str], usual: bool
) -> Iterator[Hazard]:
    """The slopes that are not finite."""
    if row.slope is None or not row.trigger or row.name in ("atan2", "hypot"):
        return
    if bad_by_size(row, args, params, fmt, result):
        return
    cut = result.finite(fmt.max) if not result.is_empty else result
    try:
        found = slopes(row, tuple(args), params, fmt, cut)
    except UNABLE:
        return
    for position, slope in enumerate(found):
        if slope is None or position >= len(ids) or ids[position] is None:
            continue
        id = ids[position]
        if id is None or ranges.evidence.get(id) == "const" or ranges.graph[id].dtype == "number":
            continue
        if slope.nan or (not slope.is_empty and (slope.lo == -INF or slope.hi == INF)):
            operand = offender(ranges, node, row, ids, "slope")
            yield Hazard(node.id, "backward", "slope", operand, ends(args, ids, operand), evidence(ranges, node, operand, "slope", facts, fmt, usual))
            return


def bad_by_size(row: Op, args: list[Any], params: dict[str, Any], fmt: Format, result: Interval) -> bool:
    """The slope can only be infinite because something is huge: the value overflows first, or the divisor is never zero."""
    if row.name in DIVISIONS:
        divisor = args[0] if row.name in ("reciprocal", "rsqrt") else args[1] if len(args) > 1 else None
        return divisor is not None and not divisor.has_zero and not (row.name == "rsqrt" and divisor.lo < 0)
    infinite = not result.is_empty and (result.lo == -INF or result.hi == INF)
    return infinite and why(row, args, params, fmt, result, False) == "overflow"


def ordinary(x: Interval | None, fmt: Format) -> Interval | None:
    """A range that excludes zero starts at an ordinarily small value."""
    if x is None or not x.nonzero or x.integer:
        return x
    small = SMALL.get(fmt.name, NEGATIVE_FLOOR)
    if x.lo == 0:
        return x.with_(lo=min(small, x.hi))
    if x.hi == 0:
        return x.with_(hi=max(-small, x.lo))
    return x


def why(row: Op, args: list[Any], params: dict[str, Any], fmt: Format, result: Interval, known_infinite: bool) -> Reason:
    """Overflow goes away for smaller operands, a pole does not; NaN is a value outside the domain."""
    if known_infinite:
        return "masked"
    if row.family == "linalg":
        return "degenerate"
    infinite = result.lo == -INF or result.hi == INF
    if not row.trigger:
        return "overflow"
    if row.name in DIVISIONS:
        divisor = args[0] if row.name in ("reciprocal", "rsqrt") else args[1]
        return "pole" if divisor is None or divisor.has_zero else "domain" if row.name == "rsqrt" and divisor.lo < 0 else "overflow"
    if infinite:
        shrunk = [scaled(a) for a in args]
        smaller = forward(row, shrunk, params, fmt)
        if not smaller.nan and smaller.lo > -INF and smaller.hi < INF:
            return "domain" if result.nan else "overflow"
        return "pole"
    return "domain"


def scaled(x: Interval | None) -> Interval | None:
    """The range shrunk towards zero."""
    return x.with_(lo=x.lo * SHRINK, hi=x.hi * SHRINK) if x is not None else None


def offender(ranges: Ranges, node: Node, row: Op, ids: list[int | None], reason: Reason) -> int:
    """The operand to look at: the divisor of a division by zero, else the first."""
    known = [i for i in ids if i is not None]
    if node.op == "pow" and len(known) > 1 and ranges.graph[known[0]].op == "const":
        return known[1]
    if node.op in ("div", "floor_divide", "remainder", "fmod", "xlogy") and reason in ("pole", "domain", "slope") and len(known) > 1:
        return known[1]
    return known[0]


def ends(args: list[Any], ids: list[int | None], operand: int) -> tuple[float, float]:
    """The range of the operand that the hazard is about."""
    for value, id in zip(args, ids):
        if id == operand and value is not None:
            return value.lo, value.hi
    return -INF, INF


def evidence(ranges: Ranges, node: Node, operand: int, reason: Reason, facts: frozenset[str], fmt: Format, usual: bool) -> str:
    """Why ordinary inputs break this operation; "" where only an assumption about an unknown value would."""
    if reason in ("pole", "domain", "slope") and selected_away(ranges, node, operand):
        return "the code selects against it afterwards"
    if not usual:
        return ""
    word = ranges.evidence.get(operand, "")
    if reason == "overflow":
        return overflow_evidence(ranges, node, operand, fmt, word)
    if reason == "masked":
        return "a mask with an empty row"
    if reason == "degenerate":
        return ""
    if reason != "slope" and vanished(ranges, operand):
        return "a guard that the format rounds away"
    if node.op == "pow" and len(node.args) > 1 and not is_known(ranges, node.args[1]):
        return ""  # nothing is known of the exponent
    if word.startswith(ZERO_ONLY):
        return word[len(ZERO_ONLY) :] if ranges.usual[operand].has_zero else ""
    if node.op in DIVISIONS and ranges.usual[operand].lo < 0 < ranges.usual[operand].hi and not reaches_zero(ranges, operand, word):
        return ""  # somewhere between negative and positive is not exactly 0
    if word == "the name says variance" and reason == "slope":
        return ""  # whoever takes the root of a variance has one
    if word:
        return word
    if node.op in COSINES and ("computed" in facts or "dot" in facts):
        return "a computed cosine leaves [-1, 1] by rounding"
    if node.op == "pow" and reason == "domain" and "computed" in facts:
        return "a signed computed value"
    if node.op in ROOTS and reason == "slope" and "square" in facts:
        return "a square is 0 at 0"
    if node.op in ("normalize", "cosine_similarity", "layer_norm", "batch_norm") and reason in ("pole", "domain", "slope"):
        return "a norm is 0 for a zero vector"
    return ""


def selected_away(ranges: Ranges, node: Node, operand: int) -> bool:
    """A selection after the operation asks whether its operand was one that breaks it: so it is expected to be."""
    graph, at, seen = ranges.graph, [node.id], set()
    base = root(ranges, operand)
    for _ in range(3):
        at = [u for i in at for u in graph.users(i) if u not in seen]
        seen.update(at)
        for user in at:
            found = graph[user]
            if found.op == "where" and found.args[0] is not None and asks(ranges, found.args[0], base):
                return True
    return False


def asks(ranges: Ranges, condition: int, base: int) -> bool:
    """A comparison of a value, or of its magnitude, with a number near zero."""
    test = ranges.graph[condition]
    if test.op not in ("gt", "ge", "lt", "le", "eq", "ne") or len(test.args) < 2 or test.args[0] is None or test.args[1] is None:
        return False
    bound = ranges.sure[test.args[1]]
    asked = ranges.graph[root(ranges, test.args[0])]
    while asked.op in ("abs", "square") and asked.args[0] is not None:
        asked = ranges.graph[root(ranges, asked.args[0])]
    return asked.id == base and -1e-3 <= bound.lo and bound.hi <= 1e-3


def reaches_zero(ranges: Ranges, operand: int, word: str) -> bool:
    """Exactly zero is an ordinary value of something that takes both signs."""
    x = ranges.usual[operand]
    rounding = min(-x.lo, x.hi) <= 1e-5 * max(-x.lo, x.hi)
    return rounding or "zero" in ranges.facts.get(operand, frozenset()) or word in EXACT_ZEROS


def is_known(ranges: Ranges, id: int | None) -> bool:
    """A constant, something evidenced, or a parameter whose initial value is known."""
    if id is None or ranges.evidence.get(id):
        return True
    node = ranges.graph[root(ranges, id)]
    return node.op == "parameter" and bool(node.args)


def vanished(ranges: Ranges, operand: int) -> bool:
    """The operand was to be kept away from zero by a constant that its format rounds to nothing."""
    at: int | None = operand
    for _ in range(4):
        if at is None:
            return False
        if at in ranges.absorbed and ranges.format_of(ranges.graph[at]).nearest(ranges.absorbed[at]) == 0.0:
            return True
        node = ranges.graph[at]
        row = TABLE.get(node.op)
        if row is None or row.family not in ("view", "cast"):
            return False
        at = node.args[0] if node.args else None
    return False


def overflow_evidence(ranges: Ranges, node: Node, operand: int, fmt: Format, word: str) -> str:
    """An unbounded producer or a name; in half precision, squares of ordinary activations."""
    if node.op in DIVISIONS and len(node.args) > 1 and not ranges.evidence.get(node.args[1] or 0):
        return ""  # how small the divisor may be is not known
    word = word.removeprefix(ZERO_ONLY)
    big = word if word.startswith(BIG_WORDS) else ""
    if "product" in ranges.facts.get(operand, frozenset()):
        big = big or "an unbounded product"
    if fmt.max >= 1e6:
        return big or ("the function is called a softmax" if "softmax" in node.where.lower() and not word else "")
    facts = ranges.facts.get(node.id, frozenset())
    operands = [i for i in node.args if i is not None]
    if "square" in facts or node.op in SPREADS:
        return "half-precision activations of a few hundred"
    constants = [i for i in operands if ranges.evidence.get(i) == "const"]
    if node.op == "mul" and constants:
        return word if word not in ("", "const") else big
    if node.op in ("mul", "sum", "mean"):
        squares = all("square" in ranges.facts.get(i, frozenset()) for i in operands if i not in constants)
        coordinates = any("coordinates" in ranges.assumed.get(i, "") for i in ranges.graph.ancestors([node.id]))
        if squares or coordinates:
            return "half-precision coordinates and squares pass 65504"
        return ""
    if node.op == "cast":
        return "a constant that half precision does not hold" if word == "const" else ""
    return big
