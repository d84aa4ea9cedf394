"""The matcher: one template against one graph, up to the order and the spelling of sums and products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nanlint.catalog.normal import BROADCASTS, PRODUCTS, SUMS, Normal, Sum, canonical, shows_values
from nanlint.catalog.pattern import ANY_OP, NOTHING, Bindings, Pattern, Rest
from nanlint.catalog.template import Call, Hole
from nanlint.ranges.table import TABLE


def close(a: float, b: float) -> bool:
    """Equal but for the rounding of a written constant."""
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


@dataclass(frozen=True)
class Matcher:
    """One pattern against one graph; every method yields the bindings under which the match holds."""

    pattern: Pattern
    subject: Normal

    def at(self, node: int) -> Iterator[Bindings]:
        """The matches at a root, where a sum or product may have more than the template says."""
        start = Bindings(node, self.pattern.text)
        if self.pattern.text == ANY_OP:
            yield from self.any_op(node)
            return
        term = self.pattern.terms[self.pattern.root]
        if term.op in SUMS | PRODUCTS:
            yield from self.as_written(node, start)
        if term.op in SUMS:
            yield from self.some_terms(node, start)
        elif term.op in PRODUCTS and term.op not in ("sqrt", "square", "pow"):
            yield from self.some_factors(node, start)
        else:
            yield from self.node(self.pattern.root, 1.0, node, start, True)

    def any_op(self, node: int) -> Iterator[Bindings]:
        """The op itself, whatever it is: its operands as the holes `0`, `1`, ..."""
        found = self.subject.graph[node]
        row = TABLE.get(found.op)
        operands = [a for a in found.args if a is not None]
        if (
            row is None
            or not operands
            or row.family in ("create", "random", "cast", "view", "select")
            or len(operands) != len(found.args)
        ):
            return
        holes = {str(i): a for i, a in enumerate(operands)}
        floating = tuple(
            str(i) for i, a in enumerate(operands) if self.subject.graph[a].dtype.startswith(("float", "bfloat", "?", "unknown"))
        )
        call = Call(found.op, tuple(map(Hole, holes)), found.params)
        yield Bindings(node, ANY_OP, holes, {"call": call, "floating": floating}, frozenset((node,)))

    def as_written(self, node: int, b: Bindings) -> Iterator[Bindings]:
        """The matches of the operands in the order in which the template has them."""
        term, found = self.pattern.terms[self.pattern.root], self.subject.graph[node]
        if found.op == term.op and len(found.args) == len(term.args) and not self.subject.params(node):
            yield from self.operands(term.args, found.args, replace(b, nodes=b.nodes | {node}), len(term.args) == 1)

    def some_terms(self, node: int, b: Bindings) -> Iterator[Bindings]:
        wanted, have = self.pattern.normal.sum(self.pattern.root), self.subject.sum(node)
        b = replace(b, nodes=b.nodes | have.through | {node})
        for sign in (1.0, -1.0):
            if wanted.const and not close(have.const, sign * wanted.const):
                continue
            const = 0.0 if wanted.const else have.const
            for rest, numbers, found in self.terms(wanted, have, sign, b, lone(wanted)):
                left = Rest(coef=sign, const=const - numbers, terms=rest)
                yield replace(found, rest=left)

    def some_factors(self, node: int, b: Bindings) -> Iterator[Bindings]:
        wanted, have = self.pattern.normal.product(self.pattern.root), self.subject.product(node)
        if not have.through or not wanted.coef:
            return
        b = replace(b, nodes=b.nodes | have.through | {node})
        for rest, found in self.factors(wanted.factors, have.factors, b, len(wanted.factors) == 1):
            yield replace(found, rest=Rest(coef=have.coef / wanted.coef, factors=rest))

    def node(self, p: int, k: float, s: int, b: Bindings, chain: bool, broadcast: bool = False) -> Iterator[Bindings]:
        """Node `s` of the subject is k times the term `p`; on a chain of pointwise ops, views may lie between."""
        term = self.pattern.terms[p]
        if term.op == "hole":
            yield from self.hole(str(term.param("name")), k, s, b)
            return
        value = self.pattern.normal.number(p)
        if value is not None:
            known = self.subject.number(s)
            if known is not None and close(known, k * value):
                yield b
            return
        s, b = self.uncovered(s, b, chain, broadcast, term.op)
        if broadcast and self.is_flat_reduction(p):
            s = self.squeezed(s)
        if term.op in SUMS and self.pattern.normal.sum(p).through:
            yield from self.sum(p, k, s, b, chain)
        elif term.op in PRODUCTS and self.pattern.normal.product(p).through:
            found = self.subject.graph[self.subject.peel(s)]
            if k == 1 and found.op == term.op == "div" and len(found.args) == len(term.args):
                yield from self.operands(term.args, found.args, replace(b, nodes=b.nodes | {found.id}), False)
            yield from self.product(p, k, s, b, chain)
        else:
            yield from self.call(p, k, s, b, chain)

    def is_flat_reduction(self, p: int) -> bool:
        """The template reduces and does not keep the dimension: what lines it up again is left open."""
        row = TABLE.get(self.pattern.terms[p].op)
        return row is not None and row.family == "reduction" and not self.pattern.normal.params(p).get("keepdim")

    def squeezed(self, s: int) -> int:
        """The node under an unsqueeze."""
        node = self.subject.graph[self.subject.peel(s)]
        return node.args[0] if node.op == "unsqueeze" and node.args[0] is not None else s

    def uncovered(self, s: int, b: Bindings, chain: bool, broadcast: bool, wanted: str) -> tuple[int, Bindings]:
        """The node under the views that the place allows."""
        while True:
            node = self.subject.graph[self.subject.peel(s)]
            first = node.args[0] if node.args else None
            if first is None or node.op == wanted:
                return s, b
            if chain and shows_values(node.op):
                b = replace(b, views=(*b.views, self.subject.peel(s)))
            elif not (broadcast and node.op in BROADCASTS):
                return s, b
            s = first

    def hole(self, name: str, k: float, s: int, b: Bindings) -> Iterator[Bindings]:
        if k != 1:
            product = self.subject.product(s)
            if product.single is None or not close(product.coef, k):
                return
            s = product.single
        bound = b.holes.get(name)
        if bound is None:
            yield replace(b, holes={**b.holes, name: s})
        elif self.subject.peel(bound) == self.subject.peel(s) or self._same_number(bound, s):
            yield b

    def _same_number(self, a: int, b: int) -> bool:
        x, y = self.subject.number(a), self.subject.number(b)
        return x is not None and x == y

    def scaled(self, k: float, s: int) -> int | None:
        """The node of which `s` is k times."""
        if k == 1:
            return s
        product = self.subject.product(s)
        return product.single if close(product.coef, k) else None

    def sum(self, p: int, k: float, s: int, b: Bindings, chain: bool) -> Iterator[Bindings]:
        wanted, have = self.pattern.normal.sum(p), self.subject.sum(s)
        if not have.through:
            product = self.subject.product(s)
            if product.single is not None and product.coef and product.through and product.single != s:
                yield from self.sum(p, k / product.coef, product.single, b, chain)
            return
        b = replace(b, nodes=b.nodes | have.through)
        for rest, numbers, found in self.terms(wanted, have, k, b, chain and lone(wanted)):
            if not rest and close(have.const - numbers, k * wanted.const):
                yield found

    def terms(
        self, wanted: Sum, have: Sum, k: float, b: Bindings, chain: bool
    ) -> Iterator[tuple[tuple[tuple[float, int], ...], float, Bindings]]:
        """Ways to find every wanted term, times k: what is left over, the numbers bound to holes, the bindings."""
        order = sorted(wanted.terms, key=lambda t: self.pattern.terms[t[1]].op == "hole")

        def place(
            i: int, left: tuple[tuple[float, int], ...], numbers: float, b: Bindings
        ) -> Iterator[tuple[tuple[tuple[float, int], ...], float, Bindings]]:
            if i == len(order):
                yield left, numbers, b
                return
            coef, p = order[i]
            for j, (sign, s) in enumerate(left):
                for found in self.node(p, k * coef / sign, s, b, chain, True):
                    yield from place(i + 1, left[:j] + left[j + 1 :], numbers, found)
            if self.pattern.terms[p].op == "hole" and len(have.numbers) == 1 and not wanted.const and not numbers:
                sign, s = have.numbers[0]
                if k * coef == sign:
                    for found in self.hole(str(self.pattern.terms[p].param("name")), 1.0, s, b):
                        yield from place(i + 1, left, have.const, found)

        yield from place(0, have.terms, 0.0, b)

    def product(self, p: int, k: float, s: int, b: Bindings, chain: bool) -> Iterator[Bindings]:
        wanted, have = self.pattern.normal.product(p), self.subject.product(s)
        if not close(have.coef, k * wanted.coef):
            return
        b = replace(b, nodes=b.nodes | have.through)
        for rest, found in self.factors(wanted.factors, have.factors, b, chain and len(wanted.factors) == 1):
            if not rest:
                yield found

    def factors(
        self, wanted: tuple[tuple[int, float], ...], have: tuple[tuple[int, float], ...], b: Bindings, chain: bool
    ) -> Iterator[tuple[tuple[tuple[int, float], ...], Bindings]]:
        """Ways to find every wanted factor to its power: what is left over, and the bindings."""
        order = sorted(wanted, key=lambda f: self.pattern.terms[f[0]].op == "hole")

        def place(
            i: int, left: tuple[tuple[int, float], ...], b: Bindings
        ) -> Iterator[tuple[tuple[tuple[int, float], ...], Bindings]]:
            if i == len(order):
                yield left, b
                return
            p, power = order[i]
            for j, (s, exponent) in enumerate(left):
                if close(power, exponent):
                    for found in self.node(p, 1.0, s, b, chain, True):
                        yield from place(i + 1, left[:j] + left[j + 1 :], found)

        yield from place(0, have, b)

    def call(self, p: int, k: float, s: int, b: Bindings, chain: bool) -> Iterator[Bindings]:
        """The same op with matching parameters and operands; a reduction unsqueezed along its dim keeps the dim."""
        term = self.pattern.terms[p]
        inner = self.scaled(k, s)
        if inner is None:
            return
        id = self.subject.extreme(self.subject.peel(inner))
        kept = self.kept(id, term.op)
        node = self.subject.graph[id if kept is None else kept]
        if canonical(node.op) != canonical(term.op) or len(node.args) != len(term.args):
            return
        params = self.subject.params(id if kept is None else kept)
        if kept is not None:
            params = {**params, "keepdim": True}
        bound = self.params(self.pattern.normal.params(p), params, b)
        if bound is None:
            return
        b = replace(bound, nodes=b.nodes | {id, inner} | ({kept} if kept is not None else NOTHING))
        row = TABLE.get(term.op)
        chain = chain and row is not None and row.family == "pointwise" and len(term.args) == 1
        yield from self.operands(term.args, node.args, b, chain)

    def operands(
        self, wanted: tuple[int | None, ...], have: tuple[int | None, ...], b: Bindings, chain: bool
    ) -> Iterator[Bindings]:
        if not wanted:
            yield b
        elif wanted[0] is None or have[0] is None:
            if wanted[0] is have[0]:
                yield from self.operands(wanted[1:], have[1:], b, chain)
        else:
            for found in self.node(wanted[0], 1.0, have[0], b, chain):
                yield from self.operands(wanted[1:], have[1:], found, chain)

    def kept(self, id: int, wanted: str) -> int | None:
        """The reduction under an unsqueeze along its own dim."""
        node = self.subject.graph[id]
        row = TABLE.get(wanted)
        if row is None or row.family != "reduction" or node.op not in ("unsqueeze", "index") or node.args[0] is None:
            return None
        inner = self.subject.extreme(self.subject.peel(node.args[0]))
        reduction = self.subject.graph[inner]
        if canonical(reduction.op) != canonical(wanted) or self.subject.params(inner).get("keepdim"):
            return None
        dim = self.subject.params(inner).get("dim")
        added = node.param("dim") if node.op == "unsqueeze" else new_axis(node.param("spec"), dim)
        return inner if isinstance(dim, int) and dim == added else None

    def params(self, wanted: Mapping[str, Any], have: Mapping[str, Any], b: Bindings) -> Bindings | None:
        """The bindings with the parameter holes bound; None where a parameter differs."""
        bound = dict(b.params)
        for name in {*wanted, *have}:
            value, found = wanted.get(name), have.get(name)
            if isinstance(value, Hole):
                if found is None or bound.setdefault(value.name, found) != found:
                    return None
            elif value != found:
                return None
        return replace(b, params=bound)


def lone(wanted: Sum) -> bool:
    """Numbers aside there is one term: a function of one value."""
    return len(wanted.terms) == 1


def new_axis(spec: Any, dim: Any) -> int | None:
    """The axis that an index such as `[:, None]` or `[..., None]` adds, said as `dim` is."""
    whole = (("slice", None, None, None), "...")
    if not isinstance(spec, tuple) or not spec or spec[-1] is not None or any(s not in whole for s in spec[:-1]):
        return None
    if dim == -1 or (spec[0] == "..." and len(spec) == 2):
        return -1
    return len(spec) - 1
