"""Idioms: where a rule's template matches a graph, and which of the operations inside it can break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from nanlint.catalog.load import Catalog
from nanlint.catalog.match import Bindings, Index
from nanlint.catalog.rule import Condition, Rule
from nanlint.graph.values import ValueGraph
from nanlint.ranges.hazards import Hazard
from nanlint.ranges.propagate import Ranges

PRECISE = frozenset({"cancellation", "low-precision-accumulation", "fp16-underflow"})


@dataclass(frozen=True)
class Idiom:
    """A template found in a graph: its rule and what it matched."""

    rule: Rule
    found: Bindings

    @property
    def node(self) -> int:
        return self.found.root

    @property
    def inner(self) -> frozenset[int]:
        return self.found.nodes | {self.found.root}

    @property
    def holes(self) -> Mapping[str, int]:
        return self.found.holes

    @property
    def precise(self) -> bool:
        """The fault shows as lost digits, not as NaN."""
        return self.rule.kind in PRECISE


def found(graph: ValueGraph, ranges: Ranges, catalog: Catalog, hazards: Mapping[int, tuple[Hazard, ...]]) -> Iterator[Idiom]:
    """The idioms of a graph, the widest first, where something inside can break."""

    def ask(id: int, condition: Condition) -> bool:
        return answer(graph, ranges, id, condition)

    results: list[Idiom] = []
    for rule, bound in index_of(catalog).scan(graph, ask):
        idiom = Idiom(rule, bound)
        if graph[bound.root].dtype == "number":
            continue
        known = idiom.precise or any(reaches(h, ranges) for i in idiom.inner for h in hazards.get(i, ()))
        if known or (rule.kind == "zero-times-inf" and of_probabilities(graph, idiom)):
            results.append(idiom)
    results.sort(key=lambda i: (-len(i.inner), i.node))
    yield from results


def of_probabilities(graph: ValueGraph, idiom: Idiom) -> bool:
    """p * log(p) of plain names: the form says that these are probabilities."""
    leaves = [graph[i] for i in graph.ancestors(list(idiom.holes.values())) if graph[i].op in ("input", "opaque")]
    return bool(leaves) and all(leaf.op == "input" and leaf.text.isidentifier() and leaf.dtype == "?" for leaf in leaves)


def reaches(hazard: Hazard, ranges: Ranges) -> bool:
    """The usual ranges reach the hazard, or what overflows is an operand of which nothing is known: an idiom says that it is a logit."""
    return bool(hazard.evidence) or (hazard.reason == "overflow" and not ranges.evidence.get(hazard.operand))


@lru_cache(maxsize=4)
def index_of(catalog: Catalog) -> Index:
    """The templates of a catalogue by the op at their root."""
    return Index(catalog.matches())


def answer(graph: ValueGraph, ranges: Ranges, id: int, condition: Condition) -> bool:
    """One condition of the closed vocabulary, by what the ranges know."""
    node = graph[id]
    if condition.word == "const":
        return node.op == "const"
    if condition.word == "variable":
        return node.op != "const"
    if condition.word == "tensor":
        return node.dtype != "number"
    if condition.word == "number":
        return node.dtype == "number"
    if condition.word == "whole":
        return ranges.usual[id].integer
    interval = ranges.usual[id] if condition.word == "reaches" else ranges.sure[id]
    return condition.holds(interval.lo, interval.hi)
