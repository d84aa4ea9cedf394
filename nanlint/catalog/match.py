"""Matching templates on value graphs: one template at one node, or the templates of all rules over a whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nanlint.catalog.matcher import Matcher
from nanlint.catalog.normal import Normal, canonical
from nanlint.catalog.pattern import Bindings, Pattern, Rest, pattern
from nanlint.catalog.rule import Condition, Rule, When
from nanlint.graph.values import ValueGraph

Answer = Callable[[int, Condition], bool]


def match(template: str | Pattern, graph: ValueGraph | Normal, node: int) -> Bindings | None:
    """The first way in which the template says what `node` is."""
    return next(matches(template, graph, node), None)


def matches(template: str | Pattern, graph: ValueGraph | Normal, node: int) -> Iterator[Bindings]:
    """Every way in which the template says what `node` is, the one nearest to its own order first."""
    compiled = pattern(template) if isinstance(template, str) else template
    normal = graph if isinstance(graph, Normal) else Normal(graph)
    return Matcher(compiled, normal).at(node)


def answered(when: When, found: Bindings, normal: Normal, answer: Answer | None) -> bool:
    """Every condition holds; those that only ranges can answer are put to `answer`."""
    for hole, condition in when:
        id = found.holes.get(hole)
        if id is None:  # this template has no such hole
            continue
        if condition.word in ("const", "variable"):
            holds = (normal.number(id) is not None) == (condition.word == "const")
        elif condition.word == "not":
            holds = normal.graph[normal.peel(id)].op != condition.sign
        elif condition.word in ("number", "tensor"):
            holds = (normal.graph[id].dtype == "number") == (condition.word == "number")
        else:
            number = normal.number(id)
            if number is not None and condition.sign:
                holds = condition.holds(number, number)
            else:
                holds = answer is not None and answer(id, condition)
        if not holds:
            return False
    return True


class Index:
    """The templates of many rules by the ops that their roots may have."""

    def __init__(self, rules: Iterable[Rule], by_op: dict[str, list[tuple[Rule, Pattern]]] | None = None) -> None:
        self.by_op = by_op if by_op is not None else {}
        for rule in rules:
            for n, text in enumerate(rule.templates):
                compiled = pattern(text, f"{rule.path}: code[{n}]")
                for op in compiled.ops:
                    self.by_op.setdefault(op, []).append((rule, compiled))

    def at(self, normal: Normal, node: int, answer: Answer | None = None) -> Iterator[tuple[Rule, Bindings]]:
        """The rules that match at a node, each by the first of its templates that does."""
        done: set[str] = set()
        for rule, compiled in self.by_op.get(normal.graph[node].op, ()):
            if rule.name in done:
                continue
            when = rule.trigger.when  # type: ignore[union-attr]
            found = next((f for f in Matcher(compiled, normal).at(node) if answered(when, f, normal, answer)), None)
            if found is not None:
                done.add(rule.name)
                yield rule, found

    def scan(self, graph: ValueGraph, answer: Answer | None = None) -> Iterator[tuple[Rule, Bindings]]:
        """Every match in a graph, operands first; a sum or product that only has more around a match does not repeat it."""
        normal = Normal(graph)
        present = frozenset(canonical(node.op) for node in graph)
        index = Index((), {op: kept for op, all in self.by_op.items() if (kept := [i for i in all if i[1].needs <= present])})
        seen: dict[tuple[str, str, Any], list[int]] = {}
        for node in graph:
            for rule, found in index.at(normal, node.id, answer):
                earlier = seen.setdefault((rule.name, found.pattern, frozenset(found.holes.items())), [])
                if not any(root in found.nodes and root != node.id for root in earlier):
                    earlier.append(node.id)
                    yield rule, found


__all__ = ["Bindings", "Index", "Pattern", "Rest", "answered", "match", "matches", "pattern"]
