"""Idioms: where a rule's template matches a graph, and which of the operations inside it can break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nanlint.catalog.load import Catalog
from nanlint.catalog.match import Index, match
from nanlint.catalog.rule import Condition, Match, Rule
from nanlint.graph.values import ValueGraph
from nanlint.ranges.hazards import Hazard
from nanlint.ranges.propagate import Ranges

PRECISE = frozenset({"cancellation", "low-precision-accumulation", "fp16-underflow"})


@dataclass(frozen=True)
class Idiom:
    """A template found in a graph: its root, everything it matched, and what its holes are."""

    rule: Rule
    template: str
    node: int
    inner: frozenset[int]
    holes: Mapping[str, int]

    @property
    def precise(self) -> bool:
        """The fault shows as lost digits, not as NaN."""
        return self.rule.kind in PRECISE


def found(graph: ValueGraph, ranges: Ranges, catalog: Catalog, hazards: Mapping[int, tuple[Hazard, ...]]) -> Iterator[Idiom]:
    """The idioms of a graph, the widest first, where something inside can break."""
    index = index_of(catalog)
    results: list[Idiom] = []
    for node in graph:
        if node.dtype == "number":
            continue
        for rule, text, pattern in index.at(node.op):
            bound = match(pattern, graph, node.id)
            if bound is None or not holds(rule, bound.holes, graph, ranges):
                continue
            inner = frozenset(bound.nodes) | {node.id}
            idiom = Idiom(rule, text, node.id, inner, dict(bound.holes))
            if idiom.precise or any(reaches(h, ranges) for i in inner for h in hazards.get(i, ())):
                results.append(idiom)
    results.sort(key=lambda i: (-len(i.inner), i.node))
    yield from results


def reaches(hazard: Hazard, ranges: Ranges) -> bool:
    """The usual ranges reach the hazard, or nothing at all is known of the operand."""
    return bool(hazard.evidence) or not ranges.evidence.get(hazard.operand)


_INDEX: dict[int, Any] = {}


def index_of(catalog: Catalog) -> Index:
    """The templates of a catalogue by the op at their root."""
    if id(catalog) not in _INDEX:
        _INDEX[id(catalog)] = Index(catalog)
    found_index: Index = _INDEX[id(catalog)]
    return found_index


def holds(rule: Rule, holes: Mapping[str, int], graph: ValueGraph, ranges: Ranges) -> bool:
    """Every condition of the rule holds of its holes."""
    assert isinstance(rule.trigger, Match)
    return all(answer(graph, ranges, holes[name], condition) for name, condition in rule.trigger.when if name in holes)


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
