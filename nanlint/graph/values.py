"""The value graph: a networkx.DiGraph whose nodes are operations in one canonical vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx

from nanlint.core.finding import Span

LEAVES = frozenset({"input", "parameter", "opaque", "const", "size"})


@dataclass(frozen=True, slots=True)
class Ref:
    """A parameter whose value is another node (a size in a view, an index tensor)."""

    id: int


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: canonical `op`, operand node ids (None where an optional operand is absent), static `params`."""

    id: int
    op: str
    args: tuple[int | None, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()
    dtype: str = "unknown"
    span: Span | None = None
    text: str = ""
    where: str = ""
    grad: bool = True

    def param(self, name: str, default: Any = None) -> Any:
        """The static parameter `name`."""
        for key, value in self.params:
            if key == name:
                return value
        return default

    @property
    def operands(self) -> Iterator[int]:
        """Every node this one reads, parameters that are nodes included."""
        for a in self.args:
            if a is not None:
                yield a
        for _, value in self.params:
            yield from refs(value)


def refs(value: Any) -> Iterator[int]:
    """The node ids inside a parameter value."""
    if isinstance(value, Ref):
        yield value.id
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from refs(item)


@dataclass
class ValueGraph:
    """Operations as nodes, operands as edges. The same pure expression is the same node."""

    graph: nx.DiGraph = field(default_factory=nx.DiGraph)
    _known: dict[Any, int] = field(default_factory=dict)
    _nodes: list[Node] = field(default_factory=list)

    def add(
        self,
        op: str,
        args: Iterable[int | None] = (),
        params: Mapping[str, Any] | None = None,
        *,
        dtype: str = "unknown",
        span: Span | None = None,
        text: str = "",
        where: str = "",
        grad: bool = True,
        shared: bool = True,
    ) -> int:
        """The id of this operation; `shared=False` for what differs at each evaluation (random numbers, opaque calls)."""
        args = tuple(args)
        items = tuple(sorted((params or {}).items(), key=lambda kv: kv[0]))
        key = (op, args, items, dtype, grad) if shared else None
        if key is not None:
            try:
                if (known := self._known.get(key)) is not None:
                    return known
            except TypeError:  # an unhashable parameter value
                key = None
        node = Node(len(self._nodes), op, args, items, dtype, span, text, where, grad)
        self._nodes.append(node)
        self.graph.add_node(node.id)
        self.graph.add_edges_from((o, node.id) for o in node.operands)
        if key is not None:
            self._known[key] = node.id
        return node.id

    def amend(self, id: int, **changes: Any) -> None:
        """Change what is known of a node (its text, its role), not its operands."""
        self._nodes[id] = replace(self._nodes[id], **changes)

    def __getitem__(self, id: int) -> Node:
        return self._nodes[id]

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        """In an order where operands come first."""
        return iter(self._nodes)

    def ancestors(self, ids: Iterable[int]) -> set[int]:
        """The nodes that any of `ids` reads, directly or not, and `ids` themselves."""
        found = set(ids)
        for id in tuple(found):
            found |= nx.ancestors(self.graph, id)
        return found

    def descendants(self, id: int) -> set[int]:
        """The nodes that read `id`, directly or not."""
        return set(nx.descendants(self.graph, id))

    def users(self, id: int) -> list[int]:
        """The nodes that read `id` directly."""
        return list(self.graph.successors(id))
