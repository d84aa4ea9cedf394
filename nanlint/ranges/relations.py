"""Facts between values that intervals alone cannot see: x - max(x), a part over its whole, unit vectors, squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nanlint.core.formats import Format
from nanlint.graph.values import Node, ValueGraph
from nanlint.ranges.interval import INF, Interval
from nanlint.ranges.table import TABLE

VIEWLIKE = frozenset({"assume", "detach", "nograd", "index", "item", "gather", "cast", "clone", "contiguous", "carry"})
ELEMENT_WISE = frozenset({"neg", "abs", "assume", "detach", "nograd", "clone", "contiguous", "carry", "cast"})
PEAKS = frozenset({"amax", "max_dim", "max", "logsumexp", "cummax"})
FLOORS = frozenset({"amin", "min_dim", "min"})
SQUARES = frozenset({"square"})
NORMS = frozenset({"norm", "linalg_norm", "linalg_vector_norm", "frobenius_norm"})
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What a relation says of a result: a range to meet, facts, and why its ends are reached."""

    range: Interval
    facts: frozenset[str] = NONE
    evidence: str = ""


def pair(node: Node) -> tuple[int | None, int | None]:
    """The first two operands, where there are two."""
    return (node.args[0], node.args[1]) if len(node.args) > 1 else (None, None)


def along(node: Node) -> object:
    """The dimension that a reduction runs over; None for all."""
    dim = node.param("dim")
    return dim[0] if isinstance(dim, tuple) and len(dim) == 1 else dim


def covers(reduced: object, found: object) -> bool:
    """A reduction over `reduced` meets what holds along `found`; a negative and a positive dimension may be the same."""
    if reduced is None or reduced == found:
        return True
    if isinstance(reduced, int) and isinstance(found, int):
        return (reduced < 0) != (found < 0) and abs(reduced - found) > 1  # 0 and -1 are the same in one dimension only
    return isinstance(reduced, tuple) and isinstance(found, int) and any(covers(d, found) for d in reduced)


def fact_along(facts: frozenset[str], word: str) -> list[object]:
    """The dimensions along which a fact such as `one:-1` holds."""
    found: list[object] = []
    for fact in facts:
        name, _, dim = fact.partition(":")
        if name == word and dim:
            found.append(None if dim == "None" else int(dim) if dim.lstrip("-").isdigit() else dim)
    return found


class Relations:
    """The relations of one graph; asks for what is known of operands through `facts` and `sure`."""

    def __init__(self, graph: ValueGraph, facts: Mapping[int, frozenset[str]], sure: Mapping[int, Interval]) -> None:
        self.graph = graph
        self.facts = facts
        self.sure = sure

    def strip(self, id: int) -> int:
        """The value that a chain of views shows."""
        node = self.graph[id]
        while node.args and node.args[0] is not None:
            row = TABLE.get(node.op)
            if node.op not in VIEWLIKE and (row is None or row.family != "view"):
                break
            node = self.graph[node.args[0]]
        return node.id

    def same(self, a: int | None, b: int | None) -> bool:
        """Two nodes show the same values."""
        return a is not None and b is not None and (a == b or self.strip(a) == self.strip(b))

    def magnitude_root(self, id: int) -> int:
        """What a node is up to sign, element by element: an outer product is no square."""
        node = self.graph[id]
        while True:
            inner = node.args[0] if node.op in ELEMENT_WISE and node.args else self.scaled_operand(node)
            if inner is None:
                return node.id
            node = self.graph[inner]

    def scaled_operand(self, node: Node) -> int | None:
        """x, where the node is x times or over a positive number."""
        if node.op not in ("mul", "div") or len(node.args) < 2 or node.args[0] is None or node.args[1] is None:
            return None
        a, b = node.args[0], node.args[1]
        if self.is_positive_number(b):
            return a
        return b if node.op == "mul" and self.is_positive_number(a) else None

    def is_positive_number(self, id: int) -> bool:
        """A known Python number above 0."""
        value = self.graph[id].param("value") if self.graph[id].op == "const" else None
        return isinstance(value, (int, float)) and value > 0

    def square_of(self, id: int) -> int | None:
        """x, where the node is x * x, x ** 2, or square(x)."""
        node = self.graph[self.strip(id)]
        if node.op in ("mul", "pow") and len(node.args) < 2:
            return None
        if node.op == "square" and node.args[0] is not None:
            return self.strip(node.args[0])
        if node.op == "mul" and node.args[0] is not None and node.args[1] is not None:
            if self.magnitude_root(node.args[0]) == self.magnitude_root(node.args[1]):
                return self.magnitude_root(node.args[0])
        if node.op == "pow" and node.args[0] is not None and node.args[1] is not None:
            exponent = self.graph[node.args[1]].param("value")
            if exponent == 2:
                return self.strip(node.args[0])
        return None

    def bound_below(self, id: int) -> int:
        """x, where the node is x + eps, clamp(x, min=eps) or maximum(x, eps), eps a number."""
        node = self.graph[self.strip(id)]
        for _ in range(3):
            if node.op in ("add", "maximum") and len(node.args) > 1:
                a, b = pair(node)
                if b is not None and self.graph[b].op == "const" and a is not None:
                    node = self.graph[self.strip(a)]
                    continue
                if a is not None and self.graph[a].op == "const" and b is not None:
                    node = self.graph[self.strip(b)]
                    continue
            if node.op in ("clamp", "clamp_min") and node.args[0] is not None:
                node = self.graph[self.strip(node.args[0])]
                continue
            break
        return node.id

    def length_of(self, id: int) -> tuple[int, str] | None:
        """(x, "norm" | "rms") where the node is a norm of x, by name or by hand."""
        node = self.graph[self.bound_below(id)]
        if node.op in NORMS and node.args and node.args[0] is not None:
            p = node.param("p", node.param("ord", 2))
            return (self.strip(node.args[0]), "norm") if p in (2, None, 2.0, "fro") else None
        if node.op == "sqrt" or (node.op == "pow" and len(node.args) > 1 and node.args[1] is not None and self.graph[node.args[1]].param("value") == 0.5):
            return self.radicand(node.args[0])
        return None

    def radicand(self, id: int | None) -> tuple[int, str] | None:
        """(x, "norm" | "rms") where the node is the sum or mean of squares of x, plus eps."""
        if id is None:
            return None
        inner = self.graph[self.bound_below(id)]
        if inner.op in ("sum", "mean") and inner.args and inner.args[0] is not None:
            base = self.square_of(inner.args[0])
            if base is not None:
                return base, "norm" if inner.op == "sum" else "rms"
        return None


def sub_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """x - max(x) is at most 0 and reaches it; max - min, x - min, cumsum(x) - x are at least 0."""
    a, b = pair(node)
    if a is None or b is None:
        return None
    left, right = r.graph[r.strip(a)], r.graph[r.strip(b)]
    if left.id == right.id and a == b:
        return Known(Interval(0.0, 0.0))
    if left.id == right.id and r.graph[b].op == "index" and r.graph[a].op != "index":
        return Known(Interval(-INF, INF), frozenset({"zero"}), "an element minus itself is 0")
    base = r.strip(right.args[0]) if right.op in PEAKS and right.args and right.args[0] is not None else None
    if base is not None and base == left.id:
        return Known(Interval(-INF, 0.0), frozenset({f"peak:{along(right)}"}) if right.op != "logsumexp" else NONE)
    low = r.strip(right.args[0]) if right.op in FLOORS and right.args and right.args[0] is not None else None
    if low is not None and low == left.id:
        return Known(Interval(0.0, INF), NONE, "a row's smallest element minus itself is 0")
    if left.op in PEAKS and left.args and left.args[0] is not None:
        top = r.strip(left.args[0])
        if top == right.id:
            return Known(Interval(0.0, INF))
        if low is not None and low == top:
            return Known(Interval(0.0, INF), frozenset({"span"}), "max - min is 0 for a constant row")
    if left.op == "cumsum" and left.args[0] is not None and r.strip(left.args[0]) == right.id and r.sure[right.id].lo >= 0:
        return Known(Interval(0.0, INF))
    if right.op == "floor" and right.args[0] is not None and r.strip(right.args[0]) == left.id:
        return Known(Interval(0.0, 1.0))
    if right.op in ("mean",) and right.args and right.args[0] is not None and r.strip(right.args[0]) == left.id:
        return Known(Interval(-INF, INF), frozenset({"centred"}))
    return None


def mul_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """A product with itself is a square; x * rsqrt(sum of squares) is a unit vector; unit vectors stay within 1."""
    a, b = pair(node)
    if a is None or b is None:
        return None
    if r.square_of(node.id) is not None:
        negative = (r.graph[r.strip(a)].op == "neg") != (r.graph[r.strip(b)].op == "neg")
        return Known(Interval(-INF, 0.0) if negative else Interval(0.0, INF), frozenset({"square"}))
    for x, y in ((a, b), (b, a)):
        inverse = r.graph[r.strip(y)]
        if inverse.op in ("rsqrt", "reciprocal") and inverse.args[0] is not None:
            length = r.radicand(inverse.args[0]) if inverse.op == "rsqrt" else r.length_of(inverse.args[0])
            if length is not None and length[0] == r.strip(x):
                return unit_known(length[1], fmt)
    if "unit" in r.facts[a] and "unit" in r.facts[b]:
        return Known(Interval(-1.0, 1.0), frozenset({"unit-product"}))
    return None


def unit_known(kind: str, fmt: Format) -> Known:
    """A vector over its norm lies within 1, over its root mean square within the root of its length."""
    if kind == "norm":
        return Known(Interval(-1.0 - 4 * fmt.eps, 1.0 + 4 * fmt.eps), frozenset({"unit"}))
    return Known(Interval(-1e3, 1e3))


def div_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """A part over its whole lies in [0, 1]; a vector over its norm within 1; (x - min) / (max - min) in [0, 1]."""
    a, b = pair(node)
    if a is None or b is None:
        return None
    if a == b:
        return Known(Interval(1.0, 1.0, True))
    length = r.length_of(b)
    if length is not None and length[0] == r.strip(a):
        return unit_known(length[1], fmt)
    whole = r.graph[r.bound_below(b)]
    part = r.graph[r.strip(a)]
    base = r.strip(whole.args[0]) if whole.args and whole.args[0] is not None else None
    if whole.op in ("sum",) and base == part.id and r.sure[part.id].lo >= 0:
        return Known(Interval(0.0, 1.0 + 4 * fmt.eps, True), frozenset({f"simplex:{along(whole)}"}))
    if whole.op in PEAKS and base is not None and whole.op != "logsumexp":
        inner = r.graph[base]
        if inner.op == "abs" and inner.args[0] is not None and r.strip(inner.args[0]) == part.id:
            return Known(Interval(-1.0, 1.0, True))
        if base == part.id and r.sure[part.id].lo >= 0:
            return Known(Interval(0.0, 1.0, True))
    if whole.op == "add" and len(whole.args) > 1 and whole.args[1] is not None and base is not None:
        for x, y in ((whole.args[0], whole.args[1]), (whole.args[1], whole.args[0])):
            if x is not None and y is not None and r.strip(x) == part.id and r.sure[part.id].lo >= 0 and r.sure[y].lo >= 0:
                return Known(Interval(0.0, 1.0, True))
    if part.op in ("minimum", "clamp", "clamp_max") and part.args and part.args[0] is not None and r.strip(part.args[0]) == whole.id:
        if r.sure[whole.id].lo >= 0:
            return Known(Interval(0.0, 1.0, True))
    if "span" in r.facts[whole.id] and part.op == "sub" and len(part.args) > 1 and part.args[1] is not None and r.graph[r.strip(part.args[1])].op in FLOORS:
        return Known(Interval(0.0, 1.0, True))
    return None


def exp_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """exp(x - max(x)) reaches 1."""
    a = node.args[0]
    peaks = fact_along(r.facts[a], "peak") if a is not None else []
    return Known(Interval(0.0, 1.0), frozenset(f"one:{d}" for d in peaks)) if peaks else None


def sum_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """A sum of non-negative values one of which is 1 is at least 1; squares and products of unit vectors."""
    a = node.args[0]
    if a is None:
        return None
    facts = r.facts[a]
    dim = along(node)
    if r.sure[a].lo >= 0 and any(covers(dim, d) for d in fact_along(facts, "one")):
        return Known(Interval(1.0, INF))
    if "top" in facts or any(covers(dim, d) for d in fact_along(facts, "simplex")):
        return Known(Interval(0.0, INF, nonzero=True))
    if "unit-product" in facts:
        wide = 1.0 + 8 * fmt.eps
        return Known(Interval(-wide, wide), frozenset({"dot"}), "parallel unit vectors have cosine 1, rounded up at times")
    if r.square_of(a) is not None or "square" in facts:
        return Known(Interval(0.0, INF), frozenset({"square"}), "a sum of squares is 0 for a zero vector")
    if r.graph[r.strip(a)].op == "abs":
        return Known(Interval(0.0, INF), NONE, "a sum of magnitudes is 0 for a zero vector")
    return None


def mean_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """A mean of squares is at least 0 and is 0 for zeros."""
    a = node.args[0]
    if a is None:
        return None
    if r.sure[a].lo >= 0 and any(covers(along(node), d) for d in fact_along(r.facts[a], "one")):
        return Known(Interval(0.0, INF, nonzero=True))
    if r.square_of(a) is not None or "square" in r.facts[a]:
        return Known(Interval(0.0, INF), frozenset({"square"}), "a mean of squares is 0 for zeros")
    return None


def amax_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """The largest magnitude is 0 for a zero vector; the largest share of a simplex is not."""
    a = node.args[0]
    if a is None:
        return None
    if any(covers(along(node), d) for d in fact_along(r.facts[a], "simplex")):
        return Known(Interval(0.0, 1.0, nonzero=True), frozenset({"top"}))
    if r.graph[r.strip(a)].op == "abs":
        return Known(Interval(0.0, INF), NONE, "the largest magnitude is 0 for a zero vector")
    return None


def topk_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """The largest shares of a simplex sum to more than nothing."""
    a = node.args[0]
    top = a is not None and bool(fact_along(r.facts[a], "simplex"))
    return Known(Interval(-INF, INF), frozenset({"top"})) if top else None


def matmul_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """Products of unit vectors are cosines, rounded."""
    operands = [a for a in node.args if a is not None and r.graph[a].op != "const"]
    if len(operands) >= 2 and "unit" in r.facts[operands[0]] and "unit" in r.facts[operands[1]]:
        wide = 1.0 + 8 * fmt.eps
        return Known(Interval(-wide, wide), frozenset({"dot"}), "parallel unit vectors have cosine 1, rounded up at times")
    return Known(Interval(-INF, INF), frozenset({"computed", "product"}))


def add_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    """A sum of two squares is at least 0 and is 0 where both are."""
    a, b = pair(node)
    if a is None or b is None:
        return None
    if ("square" in r.facts[a] or r.square_of(a) is not None) and ("square" in r.facts[b] or r.square_of(b) is not None):
        return Known(Interval(0.0, INF), frozenset({"square"}), "a sum of squares is 0 for a zero vector")
    return None


def softmax_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    return Known(Interval(0.0, 1.0, True), frozenset({f"simplex:{along(node)}"}))


def normalize_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    return Known(Interval(-1.0 - 4 * fmt.eps, 1.0 + 4 * fmt.eps, True), frozenset({"unit"}))


def square_known(r: Relations, node: Node, fmt: Format) -> Known | None:
    return Known(Interval(0.0, INF, True), frozenset({"square"})) if r.square_of(node.id) is not None else None


RELATIONS: dict[str, Callable[[Relations, Node, Format], Known | None]] = {
    "sub": sub_known,
    "mul": mul_known,
    "div": div_known,
    "exp": exp_known,
    "sum": sum_known,
    "mean": mean_known,
    "amax": amax_known,
    "max_dim": amax_known,
    "topk": topk_known,
    "matmul": matmul_known,
    "mm": matmul_known,
    "bmm": matmul_known,
    "linear": matmul_known,
    "einsum": matmul_known,
    "add": add_known,
    "softmax": softmax_known,
    "softmin": softmax_known,
    "normalize": normalize_known,
    "square": square_known,
    "pow": square_known,
}
KEPT_BY_VIEWS = frozenset("product unit square unit-product span dot top maybe-empty computed zero".split())
KEPT_BY_SHAPES = frozenset("peak one simplex".split())
PICKS = frozenset("index gather index_select masked_select take_along_dim narrow select item".split())


def kept(op: str, facts: frozenset[str]) -> frozenset[str]:
    """The facts that survive a view; what holds along a dimension does not survive a pick of elements."""
    if not facts:
        return facts
    words = KEPT_BY_VIEWS if op in PICKS else KEPT_BY_VIEWS | KEPT_BY_SHAPES
    return frozenset(f for f in facts if f.partition(":")[0] in words)
