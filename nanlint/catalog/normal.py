"""Normal forms of a value graph: sums of terms and products of powers, seen through what keeps values.

`a - b`, `a + (-b)` and `-(b - a)` are the same sum; `x * x`, `x ** 2` and `square(x)`, `a / sqrt(b)` and `a * rsqrt(b)` the
same product. The same forms are taken of templates and of graphs, so a template says all spellings at once.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from nanlint.core.formats import FORMATS
from nanlint.ranges.table import TABLE

NOTHING: frozenset[int] = frozenset()
SUMS = frozenset({"add", "sub", "rsub"})
PRODUCTS = frozenset({"mul", "div", "neg", "reciprocal", "sqrt", "rsqrt", "square", "pow"})
KEEPING = frozenset(
    {"clone", "contiguous", "assume", "positive", "alias", "requires_grad_", "cpu", "cuda", "pin_memory", "atleast_1d"}
)
POSITIVE = frozenset({"softmax", "sigmoid", "exp", "softplus", "relu"})  # their abs is themselves
BROADCASTS = frozenset({"expand", "expand_as", "broadcast_to"})
BLIND = frozenset(
    {"detach", "nograd", "carry", "renorm", "diag", "diag_embed", "block_diag", "tril", "triu", "pad", "unfold", "as_strided"}
)
POWERS = {"sqrt": 0.5, "rsqrt": -0.5, "square": 2.0, "reciprocal": -1.0}
FILLS = {"ones_like": 1.0, "zeros_like": 0.0, "ones": 1.0, "zeros": 0.0, "new_ones": 1.0, "new_zeros": 0.0}
NORMS = frozenset({"norm", "linalg_norm", "linalg_vector_norm"})
EXTREMES = {"max_dim": "amax", "min_dim": "amin"}
IGNORED = frozenset({"inplace", "count_min", "out", "approximate"})
MOST = 12


class AnyNode(Protocol):
    """What normal forms need of a node."""

    @property
    def id(self) -> int: ...

    @property
    def op(self) -> str: ...
    @property
    def args(self) -> tuple[int | None, ...]: ...
    @property
    def params(self) -> tuple[tuple[str, Any], ...]: ...
    @property
    def dtype(self) -> str: ...
    def param(self, name: str, default: Any = None) -> Any: ...


class AnyGraph(Protocol):
    """What normal forms need of a graph."""

    def __getitem__(self, id: int, /) -> AnyNode: ...


@dataclass(frozen=True, slots=True)
class Sum:
    """const + the sum of sign * term; `numbers` are the nodes that make up const, `through` the nodes flattened."""

    const: float = 0.0
    terms: tuple[tuple[float, int], ...] = ()
    numbers: tuple[tuple[float, int], ...] = ()
    through: frozenset[int] = NOTHING

    def plus(self, other: Sum, sign: float) -> Sum:
        """This and `sign` times the other."""
        return Sum(
            self.const + sign * other.const,
            self.terms + tuple((sign * c, t) for c, t in other.terms),
            self.numbers + tuple((sign * c, t) for c, t in other.numbers),
            self.through | other.through,
        )


@dataclass(frozen=True, slots=True)
class Product:
    """coef * the product of factor ** power; `through` are the nodes flattened."""

    coef: float = 1.0
    factors: tuple[tuple[int, float], ...] = ()
    through: frozenset[int] = NOTHING

    def times(self, other: Product) -> Product:
        """The product of both, whole powers of the same factor and sign put together."""
        factors = dict(self.factors) if len(dict(self.factors)) == len(self.factors) else None
        through = self.through | other.through
        if factors is None:
            return Product(self.coef * other.coef, self.factors + other.factors, through)
        extra: list[tuple[int, float]] = []
        for f, power in other.factors:
            if f not in factors:
                factors[f] = power
            elif factors[f] * power > 0 and factors[f] == int(factors[f]) and power == int(power):
                factors[f] += power
            else:
                extra.append((f, power))
        return Product(self.coef * other.coef, (*factors.items(), *extra), through)

    @property
    def single(self) -> int | None:
        """The factor where there is just one, to the first power."""
        return self.factors[0][0] if len(self.factors) == 1 and self.factors[0][1] == 1 else None


class Normal:
    """The normal forms of one graph; what was computed is kept."""

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self._sums: dict[int, Sum] = {}
        self._products: dict[int, Product] = {}

    def peel(self, id: int) -> int:
        """The node whose value and shape this one has."""
        while True:
            node = self.graph[id]
            first = node.args[0] if node.args else None
            if first is None:
                return self._unpacked(id)
            same = node.op in KEEPING or (node.op == "cast" and self._widens(node, first))
            if not same and not (node.op == "abs" and self.graph[first].op in POSITIVE):
                return self._unpacked(id)
            id = first

    def _unpacked(self, id: int) -> int:
        node = self.graph[id]
        if node.op == "item" and node.args and node.args[0] is not None:
            whole, index = self.graph[node.args[0]], node.param("index")
            if whole.op == "tuple" and isinstance(index, int) and -len(whole.args) <= index < len(whole.args):
                inner = whole.args[index]
                return self.peel(inner) if inner is not None else id
        return id

    def _widens(self, node: AnyNode, operand: int) -> bool:
        """A cast from one float format to the same or a wider one keeps every value."""
        old, new = self.graph[operand].dtype, str(node.param("dtype", node.dtype))
        if old == new:
            return True
        a, b = FORMATS.get(old), FORMATS.get(new)
        return a is not None and b is not None and a.eps >= b.eps and a.max <= b.max

    def number(self, id: int) -> float | None:
        """The value of a node that is a known number, or a tensor filled with one."""
        node = self.graph[self.peel(id)]
        if node.op == "const":
            value = node.param("value")
            return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if node.op == "neg" and node.args[0] is not None:
            inner = self.number(node.args[0])
            return None if inner is None else -inner
        return FILLS.get(node.op)

    def sum(self, id: int) -> Sum:
        """The node as a sum of terms."""
        if id not in self._sums:
            self._sums[id] = self._sum(id)
        return self._sums[id]

    def _sum(self, raw: int) -> Sum:
        id = self.peel(raw)
        value = self.number(id)
        if value is not None:
            return Sum(value, (), ((1.0, raw),))
        node, alone = self.graph[id], Sum(0.0, ((1.0, raw),))
        args = [a for a in node.args if a is not None]
        if node.op == "neg":
            inner = self.sum(args[0])
            flat = Sum().plus(inner, -1.0)
        elif node.op in SUMS and len(args) == 2 and node.param("alpha") in (None, 1):
            a, b = (1.0, 1.0) if node.op == "add" else (1.0, -1.0) if node.op == "sub" else (-1.0, 1.0)
            flat = Sum().plus(self.sum(args[0]), a).plus(self.sum(args[1]), b)
        else:
            return alone
        if len(flat.terms) > MOST:
            return alone
        return Sum(flat.const, flat.terms, flat.numbers, flat.through | {id, raw})

    def product(self, id: int) -> Product:
        """The node as a product of powers."""
        if id not in self._products:
            self._products[id] = self._product(id)
        return self._products[id]

    def _product(self, raw: int) -> Product:
        id = self.peel(raw)
        value = self.number(id)
        if value is not None:
            return Product(value, (), frozenset((raw,)))
        node, alone = self.graph[id], Product(1.0, ((id, 1.0),))
        args = [a for a in node.args if a is not None]
        found: Product | None = None
        if node.op == "neg":
            found = Product(-1.0).times(self.product(args[0]))
        elif node.op == "mul" and len(args) == 2:
            found = self.product(args[0]).times(self.product(args[1]))
        elif node.op == "div" and len(args) == 2 and not node.param("rounding_mode"):
            divisor = self.power(args[1], -1.0)
            found = self.product(args[0]).times(divisor) if divisor is not None else None
        elif node.op in POWERS:
            found = self.power(args[0], POWERS[node.op])
        elif node.op == "pow" and len(args) == 2:
            exponent = self.number(args[1])
            found = self.power(args[0], exponent) if exponent is not None else None
        elif node.op in SUMS:
            found = self._lone_term(id)
        if found is None or len(found.factors) > MOST:
            return alone
        return Product(found.coef, found.factors, found.through | {id, raw})

    def _lone_term(self, id: int) -> Product | None:
        total = self.sum(id)
        if total.const == 0 and len(total.terms) == 1:
            sign, term = total.terms[0]
            return Product(sign).times(self.product(term))
        return None

    def power(self, id: int, exponent: float) -> Product | None:
        """The node to a power: distributed over a product where that is true of every real number."""
        if not exponent:
            return None
        base = self.product(id)
        whole = exponent == int(exponent) and abs(exponent) <= 4
        distributes = exponent == -1 or (whole and all(p == int(p) for _, p in base.factors))
        if distributes and (base.coef or exponent > 0):
            factors = tuple((f, p * exponent) for f, p in base.factors)
            return Product(base.coef**exponent, factors, base.through)
        if base.coef == 1 and base.single is not None:
            return Product(1.0, ((base.single, exponent),), base.through)
        return Product(1.0, ((self.peel(id), exponent),)) if base.factors else None

    def extreme(self, id: int) -> int:
        """The reduction whose first result this is: the values of `max(dim)`."""
        node = self.graph[id]
        inner = node.args[0] if node.op == "item" and node.args and node.param("index") == 0 else None
        return inner if inner is not None and self.graph[inner].op in EXTREMES else id

    def params(self, id: int) -> dict[str, Any]:
        """The parameters that differ from the op's defaults, in one spelling."""
        node = self.graph[id]
        default = defaults(node.op)
        found = {}
        for name, value in node.params:
            value = plain(value)
            if name not in IGNORED and value != default.get(name):
                found["p" if node.op in NORMS and name == "ord" else name] = value
        if node.op in NORMS and found.get("p") in ("fro", 2, 2.0, None):
            found.pop("p", None)
        return found


def plain(value: Any) -> Any:
    """A list as a tuple, and a tuple of one as that one."""
    if isinstance(value, (list, tuple)):
        return value[0] if len(value) == 1 else tuple(value)
    return value


@lru_cache(maxsize=1024)
def defaults(op: str) -> Mapping[str, Any]:
    """The defaults of an op's parameters, as its signature states them."""
    row = TABLE.get(op)
    if row is None:
        return {}
    signature = row.signature.replace("from=", "from_=")
    arguments = ast.parse(f"def f({signature}): ...").body[0]
    assert isinstance(arguments, ast.FunctionDef)
    names = [a.arg for a in arguments.args.args][-len(arguments.args.defaults) :] if arguments.args.defaults else []
    pairs = [*zip(names, arguments.args.defaults), *zip((a.arg for a in arguments.args.kwonlyargs), arguments.args.kw_defaults)]
    return {n: plain(ast.literal_eval(d)) for n, d in pairs if d is not None}


def canonical(op: str) -> str:
    """One name for ops that compute the same."""
    return "norm" if op in NORMS else EXTREMES.get(op, op)


def shows_values(op: str) -> bool:
    """The op moves values without changing them: its result may be computed before or after any pointwise function."""
    row = TABLE.get(op)
    return row is not None and row.family == "view" and op not in BLIND and op != "item"
