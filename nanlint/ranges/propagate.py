"""Propagation: for each node of a value graph what it may be, what ordinary inputs make of it, and why."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import nanlint.ranges.ops  # noqa: F401  (fills the table)
from nanlint.core.formats import FORMATS, INTEGERS, Format
from nanlint.graph.values import Node, Ref, ValueGraph
from nanlint.ranges.interval import INF, Interval
from nanlint.ranges.relations import NONE, RELATIONS, Known, Relations, kept
from nanlint.ranges.roles import COUNT, FEATURE, HALF_FEATURE, LOGIT, Role, role_of
from nanlint.ranges.table import TABLE, Op

USUAL_COUNT = 64
TRAINED = 20.0
IDS = 1e5  # a vocabulary, the nodes of a graph
ZERO_ONLY = "zero|"  # evidence that speaks for exactly zero and for nothing else
SMALL = {"float16": 6e-5}
SQUARED = "half-precision activations of a few hundred"
UNABLE = (IndexError, KeyError, TypeError, AttributeError, ValueError, ArithmeticError, struct.error)
MIRROR = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass
class Ranges:
    """What is known of each node: `sure` holds always, `usual` is what ordinary inputs reach, `evidence` says why."""

    graph: ValueGraph
    default: Format
    sure: dict[int, Interval] = field(default_factory=dict)
    usual: dict[int, Interval] = field(default_factory=dict)
    evidence: dict[int, str] = field(default_factory=dict)
    facts: dict[int, frozenset[str]] = field(default_factory=dict)
    assumed: dict[int, str] = field(default_factory=dict)
    absorbed: dict[int, float] = field(default_factory=dict)

    def format_of(self, node: Node) -> Format:
        """The float format of a node's result."""
        return FORMATS["float64"] if node.dtype == "number" else FORMATS.get(node.dtype, self.default)


def propagate(
    graph: ValueGraph, dtype: str, roles: Mapping[int, str], stated: Mapping[str, tuple[float, float]] | None = None
) -> Ranges:
    """The ranges of a graph whose floating leaves have `dtype`; `roles` names values, `stated` are the user's own ranges."""
    ranges = Ranges(graph, FORMATS.get(dtype, FORMATS["float32"]))
    relations = Relations(graph, ranges.facts, ranges.sure)
    for node in graph:
        if node.op in ("input", "opaque", "parameter", "const", "size"):
            leaf(ranges, node, roles, stated or {})
        else:
            operation(ranges, relations, node, roles)
            named(ranges, node, roles, stated or {})
    return ranges


def everything(fmt: Format) -> Interval:
    """Every finite value of a format."""
    return Interval(-fmt.max, fmt.max)


def leaf(ranges: Ranges, node: Node, roles: Mapping[int, str], stated: Mapping[str, tuple[float, float]]) -> None:
    """A constant, a size, or a value from outside by what its name states."""
    id, fmt = node.id, ranges.format_of(node)
    ranges.facts[id] = NONE
    if node.op == "const":
        constant(ranges, node)
        return
    if node.op == "size":
        whole = Interval(1.0, 2.0**40, integer=True)
        ranges.sure[id], ranges.usual[id], ranges.evidence[id] = whole, Interval(1.0, COUNT, integer=True), ""
        return
    name = str(node.param("name", node.text))
    role = next((r for r in (role_of(n) for n in (roles.get(id, ""), node.param("evidence") or "", name) if n) if r is not None), None)
    sure, usual, evidence = outside(ranges, node, fmt)
    if node.dtype in INTEGERS or node.dtype == "bool" or node.param("integer"):
        sure, usual, evidence = whole_numbers(node, role)
    elif node.dtype != "number" and role is not None and not (node.op == "parameter" and node.args):
        usual = role.range.meet(everything(fmt))
        if role.evidence and speaks(node, role, roles):
            evidence = f"the name says {role.name}"
        ranges.assumed[id] = f"{shown(node, roles)} is a {role.name} in [{role.range.lo:g}, {role.range.hi:g}]"
    elif node.dtype == "number" and role is not None and role.name in ("scale", "epsilon", "length"):
        usual = role.range
    for word in (name, name.rsplit(".", 1)[-1], roles.get(id, "")):
        if word in stated:
            lo, hi = stated[word]
            sure = usual = Interval(lo, hi)
            evidence = "the project states its range"
    if role is not None and role.name == "probability" and "opac" not in name:
        ranges.facts[id] = frozenset({"top"})  # probabilities sum to more than nothing
    ranges.sure[id], ranges.usual[id], ranges.evidence[id] = sure, usual, evidence


# an attribute may be checked where it is set; a function called clamp, clip or safe is a guard
UNCHECKED = frozenset({"mask"})
GUARDED = re.compile(r"\w*(clamp|clip|safe|stabil|floor|eps)\w*\(")


def speaks(node: Node, role: Role, roles: Mapping[int, str]) -> bool:
    """The name of a leaf is evidence: a plain name, of a value that no guard made."""
    name = str(node.param("name", node.text))
    given = str(node.param("evidence") or "") or roles.get(node.id, "")
    if GUARDED.search(name):
        return False
    return role.name in UNCHECKED or not ("." in given or ("." in name and "(" not in name))


def shown(node: Node, roles: Mapping[int, str]) -> str:
    """How a leaf is called in an assumption."""
    return roles.get(node.id) or str(node.param("evidence") or node.text)


def constant(ranges: Ranges, node: Node) -> None:
    """A Python number is what it is."""
    value = node.param("value")
    exact = Interval(-INF, INF)
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            number = INF if value > 0 else -INF
        exact = Interval(number, number, integer=isinstance(value, int)) if number == number else Interval(INF, -INF, True)
    if abs(exact.lo) == INF and exact.lo == exact.hi:
        ranges.facts[node.id] = frozenset({"infinite"})
    ranges.sure[node.id] = ranges.usual[node.id] = exact
    ranges.evidence[node.id] = "const"


def whole_numbers(node: Node, role: Role | None) -> tuple[Interval, Interval, str]:
    """The range of an integer or boolean leaf."""
    if node.dtype == "bool":
        return Interval(0.0, 1.0, integer=True), Interval(0.0, 1.0, integer=True), "a mask may be empty"
    low, high = INTEGERS.get(node.dtype, (-(2**63), 2**63 - 1))
    usual = Interval(0.0, min(IDS if node.dtype == "int32" or "ids" in node.text else COUNT, high), integer=True)
    if role is not None and role.range.integer:
        return Interval(float(low), float(high), integer=True), role.range, f"the name says {role.name}"
    return Interval(float(low), float(high), integer=True), usual, ""


def outside(ranges: Ranges, node: Node, fmt: Format) -> tuple[Interval, Interval, str]:
    """The range of a floating leaf: a network's output, a parameter by its initial value, or anything."""
    sure = everything(fmt)
    half = fmt.max < 1e6
    feature = HALF_FEATURE if half else FEATURE
    if node.op == "parameter":
        initial = node.args[0] if node.args else None
        if initial is None:
            return sure, Interval(-10.0, 10.0), ""
        usual = ranges.usual[initial]
        if not usual.is_finite:
            usual = Interval(-10.0, 10.0)
        evidence = ranges.evidence[initial]
        if usual.is_point and usual.lo == 0:
            evidence = "a parameter that starts at zero"
            usual = Interval(-TRAINED, TRAINED)
        elif is_matrix(ranges.graph[initial]) and usual.lo < 0 < usual.hi:
            usual = usual.hull(Interval(-TRAINED, TRAINED))
        return sure, usual, evidence if evidence != "const" or usual.has_zero else ""
    if node.dtype == "number":
        numbers = Interval(-INF, INF)
        if node.param("evidence") == "positive":
            return Interval(0.0, INF, nonzero=True), Interval(1.0, 100.0), ""
        return numbers, Interval(-FEATURE, FEATURE), ""
    if node.param("evidence") == "network output":
        return sure, Interval(-min(LOGIT, feature), min(LOGIT, feature)), "network output"
    return sure, Interval(-feature, feature), ""


def is_random(ranges: Ranges, ids: list[int | None]) -> bool:
    """The operand is drawn at random: that all of it is zero at once does not happen."""
    first = next((i for i in ids if i is not None), None)
    row = TABLE.get(ranges.graph[root(ranges, first)].op) if first is not None else None
    return row is not None and row.family == "random"


def picks_one(ranges: Ranges, node: Node) -> bool:
    """An index by a number that is not known."""
    return any(isinstance(part, Ref) and ranges.graph[part.id].dtype == "number" for part in node.param("spec", ()))


def is_bare_mask(ranges: Ranges, id: int, roles: Mapping[int, str]) -> bool:
    """A mask that comes from outside as it is, and is not called one."""
    node = ranges.graph[root(ranges, id)]
    if node.op == "cast" and node.args[0] is not None:
        node = ranges.graph[root(ranges, node.args[0])]
    if node.op not in ("input", "opaque"):
        return False
    role = role_of(str(node.param("name", node.text)))
    return role is None or role.name != "mask"


def is_matrix(initial: Node) -> bool:
    """The initial value of a parameter has at least two dimensions."""
    shape = initial.param("*size", initial.param("size"))
    return not isinstance(shape, tuple) or len(shape) != 1


def operation(ranges: Ranges, relations: Relations, node: Node, roles: Mapping[int, str]) -> None:
    """The range of an operation from those of its operands."""
    row = TABLE.get(node.op)
    fmt = ranges.format_of(node)
    ids = operand_ids(ranges, node, row)
    if row is None:
        unknown(ranges, node, fmt, ids)
        return
    params = dict(node.params)
    sure = forward(row, [ranges.sure.get(i) if i is not None else None for i in ids], params, fmt)
    usual_args = [finite(ranges.usual.get(i), ranges, i) if i is not None else None for i in ids]
    usual = forward(row, usual_args, {"count": USUAL_COUNT, **params} if row.family in ("reduction", "scan") else params, fmt)
    facts, evidence = inherited(ranges, node, row, ids)
    if node.op == "assume":
        sure, usual = assumed(ranges, node, sure), assumed(ranges, node, usual)
    if node.op in ("where", "phi"):
        sure, usual = chosen(ranges, node, sure, ranges.sure), chosen(ranges, node, usual, ranges.usual)
    picks = [i for i in node.args[1:] if i is not None and ranges.graph[i].dtype == "bool"] if node.op in ("index", "masked_select") else []
    if picks and node.args[0] is not None:
        sure = refined(ranges, sure, node.args[0], picks[0], True)
        usual = refined(ranges, usual, node.args[0], picks[0], True)
        if not is_bare_mask(ranges, picks[0], roles):
            facts |= {"maybe-empty"}
    if node.op in ("cat", "stack") and any(not ranges.evidence.get(i) for i in ids if i is not None):
        facts |= {"joined"}
    if node.op == "index" and node.args[0] is not None and "joined" in ranges.facts[node.args[0]] and picks_one(ranges, node):
        evidence = ""  # which of the joined parts it picks is not known
    if node.op == "index" and evidence == "has zeros":
        evidence = ""  # it may well pick the others
    known = RELATIONS[node.op](relations, node, fmt) if node.op in RELATIONS else None
    if known is not None:
        sure, usual = met(sure, known), met(usual, known)
        facts |= known.facts
        if known.evidence and not is_random(ranges, ids):
            evidence = known.evidence
    if row.produces and row.family != "view" and not (row.family == "reduction" and is_random(ranges, ids)):
        evidence = evidence if evidence not in ("", "const") else row.produces
    note_absorbed(ranges, node, fmt, usual)
    ranges.sure[node.id], ranges.usual[node.id] = sure, usual
    ranges.facts[node.id], ranges.evidence[node.id] = facts, evidence


def operand_ids(ranges: Ranges, node: Node, row: Op | None) -> list[int | None]:
    """The operands that the row's forward takes."""
    placed = row is not None and row.family in ("pointwise", "binary")
    ids: list[int | None] = [a for a in node.args if placed or a is None or ranges.graph[a].dtype != "other"]
    if row is not None and row.family == "join" and ids and ids[0] is not None and ranges.graph[ids[0]].op == "tuple":
        return list(ranges.graph[ids[0]].args)
    if row is not None and node.op not in ("tuple", "einsum") and row.family != "join" and node.op != "index_put":
        ids = ids[: row.operands]
    return ids


def forward(row: Op, args: list[Interval | None], params: dict[str, Any], fmt: Format) -> Interval:
    """The row's forward; a row that cannot take these operands says nothing."""
    try:
        return row.forward(tuple(args), params, fmt)  # type: ignore[arg-type]
    except UNABLE:
        return Interval(-INF, INF, True)


def finite(x: Interval | None, ranges: Ranges, id: int) -> Interval | None:
    """The finite part of a range: an earlier hazard is not blamed on what comes later; chosen infinities stay."""
    if x is None or x.is_finite:
        return x
    if "infinite" in ranges.facts.get(id, NONE):
        return x.with_(nan=False)
    lo = min(-FEATURE, x.hi) if x.lo == -INF else x.lo
    hi = max(FEATURE, x.lo) if x.hi == INF else x.hi
    if lo == -INF or hi == INF or lo > hi:
        lo, hi = max(x.lo, -FEATURE), min(x.hi, FEATURE)
    cut = Interval(lo, hi, False, x.nonzero, x.integer)
    return cut if not cut.is_empty else Interval(-1.0, 1.0)


def met(x: Interval, known: Known) -> Interval:
    """A range cut by what a relation says; NaN stays possible only where both say so."""
    lo, hi = max(x.lo, known.range.lo), min(x.hi, known.range.hi)
    nan = x.nan and (known.range.nan or known.range.lo == -INF or known.range.hi == INF)
    if lo > hi:
        lo, hi = known.range.lo, known.range.hi
    return Interval(lo, hi, nan, x.nonzero or known.range.nonzero, x.integer)


def inherited(ranges: Ranges, node: Node, row: Op, ids: list[int | None]) -> tuple[frozenset[str], str]:
    """The facts and the evidence that an operation passes on."""
    operands = [i for i in ids if i is not None]
    if node.op in ("phi",):
        operands = operands[1:] if len(node.args) == 3 and node.args[0] is not None else operands
    if node.op == "where":
        operands = operands[1:]
    if node.op == "masked_fill":
        operands = [i for i in (ids[0], ids[2] if len(ids) > 2 else None) if i is not None]
    elif row.family in ("view", "split", "cast") or node.op in ("gather", "take_along_dim", "index_select", "masked_select"):
        operands = operands[:1]
    facts = NONE
    if row.family in ("view", "cast", "split") and operands:
        facts = kept(node.op, ranges.facts[operands[0]])
    elif node.op in ("neg", "abs") and operands:
        facts = frozenset(f for f in ranges.facts[operands[0]] if f in ("unit", "unit-product", "dot", "computed", "maybe-empty", "product"))
    elif row.family in ("pointwise", "binary") and operands:
        facts = scaled_facts(ranges, node) | frozenset(f for i in operands for f in ranges.facts[i] if f in ("computed", "maybe-empty", "product"))
    elif row.family == "reduction" and operands:
        facts = frozenset({"computed"})
    elif row.family == "join":
        facts = frozenset(f for i in operands for f in ranges.facts[i] if f in ("computed", "maybe-empty", "product"))
    if any(infinite(ranges, i) for i in operands):
        facts |= {"infinite"} if node.op in ("masked_fill", "where", "add", "sub", "phi", "index_put", "cat", "stack") or row.family in ("view", "cast") else NONE
    return facts, evidence_of(ranges, node, operands)


def scaled_facts(ranges: Ranges, node: Node) -> frozenset[str]:
    """A square times or over a positive number is still zero where its base is."""
    if node.op not in ("mul", "div") or len(node.args) < 2:
        return NONE
    for x, c in ((node.args[0], node.args[1]), (node.args[1], node.args[0])):
        if x is not None and c is not None and ranges.graph[c].op == "const" and ranges.usual[c].lo > 0 and (node.op == "mul" or c == node.args[1]):
            return ranges.facts[x] & {"square"}
    return NONE


def infinite(ranges: Ranges, id: int) -> bool:
    """An infinity was put there on purpose."""
    node = ranges.graph[id]
    if node.op == "const":
        return abs(ranges.usual[id].lo) == INF
    if node.op in ("full", "full_like", "new_full", "tensor"):
        return ranges.usual[id].has_infinity
    return "infinite" in ranges.facts.get(id, NONE)


def evidence_of(ranges: Ranges, node: Node, operands: list[int]) -> str:
    """Why ordinary inputs reach the ends of a result: every operand must say so, or one zero of a product."""
    words = [(i, ranges.evidence.get(i, "")) for i in operands]
    if node.op == "mul":
        for i, word in words:
            if word not in ("", "const") and ranges.usual[i].has_zero:
                others = all(w for j, w in words if j != i)
                return word if others or word.startswith(ZERO_ONLY) else ZERO_ONLY + word
    if node.op in ("phi", "where", "cat", "stack", "masked_fill", "tuple"):
        return next((w for _, w in words if w not in ("", "const")), "const" if words and all(w == "const" for _, w in words) else "")
    if node.op in ("clamp", "clamp_min", "clamp_max") and words:
        if any(w == "" for _, w in words[1:]):
            return ""  # a bound that nobody knows may well do its work
        return words[0][1] or cut_evidence(ranges, node)
    if not words and TABLE[node.op].family == "create":
        return "const"
    if not words or any(w == "" for _, w in words):
        return ""
    return next((w for _, w in words if w != "const"), "const")


def cut_evidence(ranges: Ranges, node: Node) -> str:
    """A value cut at a bound reaches the bound."""
    for a in node.args[1:]:
        if a is not None and ranges.graph[a].op == "const" and ranges.usual[a].lo in (0.0, 1.0, -1.0):
            return f"a clamp reaches its bound {ranges.usual[a].lo:g}"
    return ""


def unknown(ranges: Ranges, node: Node, fmt: Format, ids: list[int | None]) -> None:
    """An op without a row: any value, no evidence."""
    ranges.sure[node.id] = everything(fmt)
    ranges.usual[node.id] = Interval(-FEATURE, FEATURE)
    ranges.evidence[node.id], ranges.facts[node.id] = "", NONE
    if node.op == "reshape_unknown" and ids and ids[0] is not None:
        for table in (ranges.sure, ranges.usual):
            table[node.id] = table[ids[0]]
        ranges.evidence[node.id] = ranges.evidence[ids[0]]


def assumed(ranges: Ranges, node: Node, x: Interval) -> Interval:
    """What is left of a value where a comparison holds (or does not)."""
    value, condition = node.args[0], node.args[1]
    if value is None or condition is None:
        return x
    return refined(ranges, x, value, condition, bool(node.param("holds")))


def refined(ranges: Ranges, x: Interval, value: int, condition: int, holds: bool) -> Interval:
    """`x`, the range of `value`, cut by a condition on it, on its magnitude, or on a view of it."""
    test = ranges.graph[condition]
    op = test.op if holds else NEGATED.get(test.op, "")
    if test.op in ("logical_and", "bitwise_and") and holds:
        for part in test.args:
            x = refined(ranges, x, value, part, True) if part is not None else x
        return x
    if test.op == "logical_not" and test.args[0] is not None:
        return refined(ranges, x, value, test.args[0], not holds)
    if op not in MIRROR or len(test.args) < 2 or test.args[0] is None or test.args[1] is None:
        return x
    left, right = test.args[0], test.args[1]
    if root(ranges, right) == root(ranges, value):
        left, right, op = right, left, MIRROR[op]
    bound = ranges.sure[right]
    inner = ranges.graph[left]
    if root(ranges, left) == root(ranges, value) or left == value:
        return cut(x, op, bound)
    if inner.op == "abs" and inner.args[0] is not None and root(ranges, inner.args[0]) == root(ranges, value):
        if op in ("gt", "ge", "ne") and (bound.lo > 0 or (bound.lo == 0 and op != "ge")):
            return x.with_(nonzero=True, nan=False)
        if op in ("lt", "le"):
            return x.meet(Interval(-bound.hi, bound.hi)).with_(nan=False)
    return x


def root(ranges: Ranges, id: int) -> int:
    """The value under views that keep every element."""
    node = ranges.graph[id]
    while node.op in ("assume", "detach", "nograd", "carry", "clone", "contiguous", "unsqueeze", "squeeze", "view", "reshape", "expand", "expand_as"):
        if not node.args or node.args[0] is None:
            break
        node = ranges.graph[node.args[0]]
    return node.id


def cut(x: Interval, op: str, bound: Interval) -> Interval:
    """`x` where `x op bound` holds; a comparison that holds excludes NaN."""
    if op == "gt":
        return x.with_(lo=max(x.lo, bound.lo), nan=False, nonzero=x.nonzero or bound.lo >= 0)
    if op == "ge":
        return x.with_(lo=max(x.lo, bound.lo), nan=False, nonzero=x.nonzero or bound.lo > 0)
    if op == "lt":
        return x.with_(hi=min(x.hi, bound.hi), nan=False, nonzero=x.nonzero or bound.hi <= 0)
    if op == "le":
        return x.with_(hi=min(x.hi, bound.hi), nan=False, nonzero=x.nonzero or bound.hi < 0)
    if op == "eq":
        return x.meet(bound)
    if op == "ne" and bound.lo == bound.hi == 0:
        return x.with_(nonzero=True)
    return x


def chosen(ranges: Ranges, node: Node, x: Interval, table: dict[int, Interval]) -> Interval:
    """where(condition, a, b): each side is read knowing the condition."""
    if len(node.args) < 3:
        return x
    condition, a, b = node.args[:3]
    if condition is None or a is None or b is None:
        return x
    test = ranges.graph[condition]
    if test.op in ("isnan", "isinf", "isfinite"):
        return x
    left = refined(ranges, table[a], a, condition, True)
    right = refined(ranges, table[b], b, condition, False)
    hull = left.hull(right)
    return Interval(max(x.lo, hull.lo), min(x.hi, hull.hi), x.nan and hull.nan, hull.nonzero or x.nonzero, x.integer)


def named(ranges: Ranges, node: Node, roles: Mapping[int, str], stated: Mapping[str, tuple[float, float]]) -> None:
    """A computed value whose name states what it is: evidence where the computation gave none."""
    name = roles.get(node.id)
    if name is None or node.dtype == "number":
        return
    if name in stated:
        lo, hi = stated[name]
        ranges.usual[node.id] = Interval(lo, hi)
        ranges.sure[node.id] = ranges.sure[node.id].meet(Interval(lo, hi))
        ranges.evidence[node.id] = "the project states its range"
        return
    role = role_of(name)
    if role is None:
        return
    if "." in name and role.name not in UNCHECKED:
        return
    if role.evidence and not ranges.evidence[node.id] and role.name in ("count", "log-scale", "log-probability", "logits", "probability"):
        usual = ranges.usual[node.id]
        cut_range = Interval(max(usual.lo, role.range.lo), min(usual.hi, role.range.hi), False, usual.nonzero, usual.integer)
        if not cut_range.is_empty:
            ranges.usual[node.id] = cut_range
            ranges.evidence[node.id] = f"the name says {role.name}"
            ranges.assumed[node.id] = f"{name} is a {role.name}"
    elif role.name == "scale" and not ranges.evidence[node.id]:
        ranges.usual[node.id] = ranges.usual[node.id].with_(nonzero=True)


def note_absorbed(ranges: Ranges, node: Node, fmt: Format, usual: Interval) -> None:
    """A small constant that the format swallows: 1 + 1e-10 in float32, x + 1e-8 near 0 in float16."""
    if node.op not in ("add", "sub", "clamp", "clamp_min", "maximum", "normalize") or node.dtype == "number":
        return
    for a in node.args:
        if a is None or ranges.graph[a].op != "const":
            continue
        value = ranges.usual[a].lo
        if 0 < value < 1e-3:
            others = [ranges.usual[o] for o in node.args if o is not None and o != a]
            lost = fmt.nearest(value) == 0.0 or any(o.is_point and o.lo != 0 and fmt.nearest(o.lo + value) == fmt.nearest(o.lo) for o in others)
            if lost or any(o.magnitude >= 1 and fmt.nearest(1.0 + value) == 1.0 for o in others if node.op in ("add", "sub")):
                ranges.absorbed[node.id] = value
