"""Slices: the part of a value graph around a suspect, as the data that a probe runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nanlint.core.finding import json_number
from nanlint.core.formats import INTEGERS
from nanlint.graph.values import Node, Ref, ValueGraph
from nanlint.ranges.interval import Interval
from nanlint.ranges.propagate import Ranges
from nanlint.ranges.roles import role_of
from nanlint.ranges.table import TABLE

MAX_CONE = 160
UNIFORM = frozenset({"rand", "rand_like"})  # fed, since they draw 0 too seldom to be waited for
LEAF_OPS = frozenset({"input", "opaque", "parameter"})
HIDDEN_PARAMS = frozenset({"count_min", "type", "unknown_dim"})
NUMBER_CALLS = {"maximum": "largest", "minimum": "least", "abs": "operator.abs", "logical_not": "operator.not_", "logical_and": "operator.and_", "logical_or": "operator.or_"}
PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag"})
WORDS = frozenset({"phi", "assume", "carry", "carry_out", "size", "tuple", "item", "detach", "cast", "nograd", "index", "index_put"})


def cone(graph: ValueGraph, suspects: Iterable[int]) -> tuple[set[int], list[int]]:
    """The nodes that `suspects` reach and all that these read; and the ends of it, what leaves the function.

    There is no end where all that comes of the suspects is an index, a comparison or a count.
    """
    suspects = set(suspects)
    down = set(suspects)
    for id in suspects:
        down |= graph.descendants(id)
    down = {n for n in down if is_floating(graph[n])}
    ends = sorted(n for n in down if not graph.users(n))
    if ends and len(graph.ancestors(ends)) > MAX_CONE:
        ends = sorted(suspects)
    return graph.ancestors(ends), ends


def is_floating(node: Node) -> bool:
    """The node holds real numbers in a tensor."""
    return node.dtype not in INTEGERS and node.dtype not in ("bool", "number", "other") and node.op != "size"


def payload(
    graph: ValueGraph,
    ranges: Ranges,
    roles: Mapping[int, str],
    outputs: list[int],
    suspect: int,
    phase: str,
    widened: Mapping[int, Interval] | None = None,
) -> dict[str, Any]:
    """The slice that computes `outputs`, as JSON data."""
    wanted = graph.ancestors(outputs)
    for id in list(wanted):  # a parameter's initial value is not recomputed
        if graph[id].op == "parameter":
            wanted -= {a for a in graph.ancestors([id]) if a != id and not used_elsewhere(graph, a, id, wanted)}
    names: dict[str, int] = {}
    keys = leaf_keys(graph)
    nodes = []
    for id in sorted(wanted):
        node = graph[id]
        is_leaf = node.op in LEAF_OPS or node.op in UNIFORM
        nodes.append({**leaf(graph, ranges, roles, node, names, widened or {}), "key": keys[id]} if is_leaf else operation(node))
    return {
        "dtype": ranges.default.name,
        "nodes": nodes,
        "outputs": outputs,
        "suspect": suspect,
        "phase": phase,
        "backward": any(graph[o].grad for o in outputs),
    }


def leaf_keys(graph: ValueGraph) -> dict[int, str]:
    """A name for every value that may be fed, the same in every slice of the function: its text and how many came before."""
    seen: dict[str, int] = {}
    keys: dict[int, str] = {}
    for node in graph:
        if node.op in LEAF_OPS or node.op in UNIFORM:
            text = str(node.param("name", node.text)) or "value"
            seen[text] = seen.get(text, 0) + 1
            keys[node.id] = f"{text}#{seen[text]}"
    return keys


def used_elsewhere(graph: ValueGraph, id: int, parameter: int, wanted: set[int]) -> bool:
    """A node of the slice other than the parameter reads `id`, directly or not."""
    return any(u != parameter and u in wanted and (graph[u].op != "parameter") and u not in graph.ancestors([parameter]) for u in graph.users(id))


def leaf(graph: ValueGraph, ranges: Ranges, roles: Mapping[int, str], node: Node, names: dict[str, int], widened: Mapping[int, Interval]) -> dict[str, Any]:
    """A value to be fed: its name, dtype and ordinary range."""
    name = str(node.param("name", node.text)) or "value"
    names[name] = names.get(name, 0) + 1
    if names[name] > 1:
        name = f"{name}#{names[name]}"
    usual = widened.get(node.id, ranges.usual[node.id])
    role = next((r for r in (role_of(n) for n in (roles.get(node.id, ""), str(node.param("evidence") or ""), name) if n) if r is not None), None)
    data: dict[str, Any] = {
        "id": node.id,
        "op": node.op if node.op in LEAF_OPS else "input",
        "name": name,
        "dtype": ranges.default.name if node.dtype in ("?", "unknown", "number") else node.dtype,
        "kind": "number" if node.dtype == "number" else "tensor",
        "low": json_number(usual.lo),
        "high": json_number(usual.hi),
        "integer": bool(usual.integer or node.param("integer")),
        "nonzero": usual.nonzero,
        "role": role.name if role is not None else "mask" if node.dtype == "bool" else "",
        "rank": rank_of(graph, node),
        "grad": node.grad,
    }
    sizes = node.param("sizes")
    if sizes:
        data["sizes"] = {str(d): n for d, n in sizes}
    return data


def rank_of(graph: ValueGraph, node: Node) -> int | None:
    """The number of dimensions, where unpacking or an initial value tells."""
    rank = node.param("rank")
    if isinstance(rank, int):
        return rank
    if node.op == "parameter" and node.args and node.args[0] is not None:
        initial = graph[node.args[0]]
        shape = initial.param("*size", initial.param("*shape", initial.param("size")))
        if isinstance(shape, tuple):
            return len(shape)
        if initial.op == "tensor":
            return 0 if not isinstance(initial.param("data"), tuple) else None
    return None


def operation(node: Node) -> dict[str, Any]:
    """An operation to be run."""
    data: dict[str, Any] = {"id": node.id, "op": node.op}
    if node.op == "const":
        value = node.param("value")
        data["value"] = json_number(value) if isinstance(value, float) else None if isinstance(value, complex) else value
        return data
    data["call"] = call_of(node)
    data["args"] = list(node.args)
    data["params"] = {k: plain(v) for k, v in node.params if k not in HIDDEN_PARAMS}
    data["dtype"] = node.dtype
    if node.span is not None:
        data["line"] = node.span.line
    if not node.grad:
        data["nograd"] = True
    return data


def call_of(node: Node) -> str:
    """What runs an operation."""
    row = TABLE.get(node.op)
    if node.dtype == "number" and node.op in NUMBER_CALLS:
        return NUMBER_CALLS[node.op]
    if node.op in PROPERTIES:
        return f"torch.Tensor.{node.op}"
    if node.op == "reshape_unknown":
        return "carry"
    return node.op if node.op in WORDS or row is None else row.call or f"torch.{row.name}"


def plain(value: Any) -> Any:
    """A static parameter as JSON data."""
    if isinstance(value, Ref):
        return {"$": value.id}
    if isinstance(value, tuple):
        if value and value[0] == "slice" and len(value) == 4:
            return {"slice": [plain(v) for v in value[1:]]}
        return [plain(v) for v in value]
    if isinstance(value, float):
        return json_number(value)
    if value is ...:
        return "..."
    return value if isinstance(value, (int, str, bool, type(None))) else str(value)
