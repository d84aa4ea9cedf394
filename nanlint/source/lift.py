"""Lifting: a function body becomes a value graph by symbolic evaluation. Nothing of the source is ever run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nanlint.core.finding import Span
from nanlint.graph.values import Node, Ref, ValueGraph
from nanlint.ranges.table import TABLE, Op
from nanlint.source.abstract import Const, Dtype, Function, Instance, Method, Number, Sequence, Tensor, Unknown
from nanlint.source.names import ClassView, FunctionNode, ModuleView

MAX_DEPTH = 6
MAX_NODES = 3000
MAX_INLINED = 120
FLOATS = {"float16": 1, "bfloat16": 1, "?": 2, "float32": 2, "float64": 3, "complex64": 4, "complex128": 5}
WHOLE = re.compile(r"(^|[._])(num|n|size|len|length|dim|dims|count|steps?|heads|channels|width|height|batch|k|idx|index|groups?|group_size)(_|$)")
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


class TooLarge(Exception):
    """The function is larger than what is worth lifting."""


@dataclass
class Frame:
    """One function being evaluated: its variables and what it has returned so far."""

    qualname: str
    env: dict[str, Any]
    me: Instance | None = None
    owner: ClassView | None = None
    returns: list[Any] = field(default_factory=list)
    alive: bool = True


@dataclass
class Lifted:
    """A function as a value graph, with what its names and guards said."""

    graph: ValueGraph
    qualname: str
    roles: dict[int, str]
    returned: tuple[int, ...]
    unmodelled: dict[str, int]
    differentiated: bool
    assumptions: dict[int, str]
    complete: bool = True
    places: dict[Span, int] = field(default_factory=dict)


@dataclass
class Lifter:
    """The state of one evaluation: the graph, the variables, the conditions that hold, whether a gradient flows."""

    module: ModuleView
    dtype: str = "float32"
    graph: ValueGraph = field(default_factory=ValueGraph)
    frames: list[Frame] = field(default_factory=list)
    refined: dict[int, int] = field(default_factory=dict)
    guards: list[int] = field(default_factory=list)
    roles: dict[int, str] = field(default_factory=dict)
    unmodelled: dict[str, int] = field(default_factory=dict)
    assumptions: dict[int, str] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    attributes: dict[tuple[int, str], Any] = field(default_factory=dict)
    grad: bool = True
    autocast: str | None = None
    inlined: int = 0
    places: dict[Span, Any] | None = None
    keep: list[Any] = field(default_factory=list)

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    # -- source ---------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """Where an expression stands, in code points."""
        line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        column, end_column = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if not self.module.ascii:
            column = len(self.module.lines[line - 1].encode()[:column].decode(errors="replace"))
            end_column = len(self.module.lines[end - 1].encode()[:end_column].decode(errors="replace"))
        return Span(line, column + 1, end, end_column + 1)

    def text(self, node: ast.AST) -> str:
        """The source text of an expression, on one line."""
        s = self.span(node)
        if s.line == s.end_line:
            return self.module.lines[s.line - 1][s.column - 1 : s.end_column - 1]
        lines = self.module.lines[s.line - 1 : s.end_line]
        lines = [lines[0][s.column - 1 :], *lines[1:-1], lines[-1][: s.end_column - 1]]
        return " ".join(part.strip() for part in lines)

    # -- graph ----------------------------------------------------------------------------------------------------

    def emit(
        self,
        op: str,
        args: tuple[int | None, ...] = (),
        params: Mapping[str, Any] | None = None,
        node: ast.AST | None = None,
        *,
        dtype: str = "",
        shared: bool = True,
        text: str = "",
    ) -> int:
        """A node for this operation, as refined by the conditions that hold here."""
        if len(self.graph) > MAX_NODES:
            raise TooLarge
        id = self.graph.add(
            op,
            args,
            params,
            dtype=dtype or self.promoted(args),
            span=self.span(node) if node is not None else None,
            text=text or (self.text(node) if node is not None else ""),
            where=self.frame.qualname if self.frames else "",
            grad=self.grad,
            shared=shared,
        )
        return self.refined.get(id, id)

    def promoted(self, args: tuple[int | None, ...]) -> str:
        """The dtype that torch's promotion gives to tensors of these; `number` if there is no tensor."""
        best, rank = "number", -1
        for a in args:
            if a is None:
                continue
            dtype = self.graph[a].dtype
            if dtype == "number":
                continue
            if dtype in FLOATS:
                order = 10 + FLOATS[dtype] if not (best == "bfloat16" and dtype == "float16") else 12
            else:
                order = 0 if dtype == "bool" else 5 if dtype in ("uint8", "int8", "int16", "int32") else 6
            if order > rank:
                best, rank = dtype, order
        if rank < 10 and rank >= 0:
            for a in args:
                if a is not None and self.graph[a].dtype == "number" and isinstance(self.graph[a].param("value"), float):
                    return "float32"
        return best

    def const(self, value: Any) -> int:
        """The node of a known Python value."""
        return self.graph.add("const", (), {"value": value, "type": type(value).__name__}, dtype="number", text=repr(value))

    def leaf(self, unknown: Unknown, kind: str = "tensor") -> int:
        """The opaque leaf that stands for a value that was not understood."""
        if unknown.id is None:
            kind = unknown.kind or kind
            whole = unknown.integer or (kind == "number" and WHOLE.search(unknown.text) is not None)
            params = {"name": unknown.text, "kind": kind, "integer": whole, "evidence": unknown.evidence}
            unknown.id = self.graph.add(
                unknown.leaf,
                (),
                params,
                dtype="number" if kind == "number" else "?",
                span=unknown.span,
                text=unknown.text,
                where=self.frame.qualname if self.frames else "",
                shared=False,
            )
        return self.refined.get(unknown.id, unknown.id)

    def id_of(self, value: Any, kind: str = "tensor") -> int | None:
        """The graph node of a value as an operand; None for what cannot be one."""
        if isinstance(value, (Tensor, Number)):
            return self.refined.get(value.id, value.id)
        if isinstance(value, Const):
            if value.assumed and isinstance(value.value, float) and abs(value.value) == float("inf"):
                return self.leaf(Unknown("a default", "number"), "number")  # an infinite default stands for "none given"
            return self.const(value.value) if isinstance(value.value, (int, float, complex)) else None
        if isinstance(value, Unknown):
            return self.leaf(value, kind)
        return None

    def is_tensor(self, value: Any) -> bool:
        """The value is known to be a tensor."""
        return isinstance(value, Tensor) or (isinstance(value, Unknown) and value.kind == "tensor")

    def is_number(self, value: Any) -> bool:
        """The value is known to be a Python number."""
        return (
            isinstance(value, Number)
            or (isinstance(value, Const) and isinstance(value.value, (int, float, complex)))
            or (isinstance(value, Unknown) and value.kind == "number")
        )

    def wrap(self, id: int) -> Tensor | Number:
        """The abstract value of a node."""
        return Number(id) if self.graph[id].dtype == "number" else Tensor(id)

    def static(self, value: Any) -> Any:
        """A value as a static parameter: what is known as itself, a number or tensor as a reference, the rest as None."""
        if isinstance(value, Const):
            return value.value
        if isinstance(value, Dtype):
            return value.name if value.name != "?" else self.dtype
        if isinstance(value, (Tensor, Number)):
            return Ref(self.refined.get(value.id, value.id))
        if isinstance(value, Sequence):
            return tuple(self.static(v) for v in value.items)
        if isinstance(value, Unknown):
            value.integer = value.integer or value.id is None
            return Ref(self.leaf(value, "number"))
        if isinstance(value, Method) and value.name == "shape":
            id = self.id_of(value.owner)
            return Ref(self.graph.add("size", (id,), {"dim": "shape"}, dtype="number", text=value.text)) if id is not None else None
        return None

    def opaque(self, node: ast.AST, kind: str | None = None, text: str = "", evidence: str = "") -> Unknown:
        """A value that is not understood, named by its source text."""
        unknown = Unknown(text or self.text(node), kind, self.span(node), evidence=evidence)
        self.keep.append(unknown)
        return unknown

    def mark(self, id: int, dtype: str) -> None:
        """A leaf turns out to hold integers or truth values."""
        node = self.graph[id]
        if node.op in ("input", "opaque") and node.dtype == "?":
            self.graph.amend(id, dtype=dtype)

    def root(self, id: int) -> int:
        """The leaf that a chain of views and assumptions shows, or the node itself."""
        node: Node = self.graph[id]
        while node.args and node.args[0] is not None:
            row: Op | None = TABLE.get(node.op)
            if node.op not in ("assume", "carry", "nograd", "detach", "index") and (row is None or row.family not in ("view", "split")):
                break
            node = self.graph[node.args[0]]
        return node.id

    # -- conditions -----------------------------------------------------------------------------------------------

    def assume(self, condition: Any, holds: bool) -> None:
        """From here on `condition` is true (or false)."""
        if not isinstance(condition, (Tensor, Number)):
            return
        id = condition.id
        node = self.graph[id]
        if node.op == "logical_not":
            self.assume(self.wrap(node.args[0]) if node.args[0] is not None else None, not holds)
        elif node.op in ("logical_and", "and") if holds else node.op in ("logical_or", "or"):
            for a in node.args:
                self.assume(Number(a) if a is not None else None, holds)
        elif node.op in COMPARISONS:
            self.guards.append(id)
            for a in node.args:
                if a is not None and self.graph[a].op != "const":
                    self.refine(a, id, holds)
        elif node.op in ("all", "any") and node.args[0] is not None:
            self.guards.append(id)
            if holds == (node.op == "all"):
                self.assume(Tensor(node.args[0]), holds)
        else:
            self.guards.append(id)

    def refine(self, id: int, condition: int, holds: bool) -> None:
        """`id` is read as what is left of it where the condition has this value."""
        node = self.graph[id]
        original = id
        while node.op == "assume" and node.args[0] is not None:
            original = node.args[0]
            node = self.graph[original]
        new = self.graph.add(
            "assume", (id, condition), {"holds": holds}, dtype=self.graph[id].dtype, span=node.span, text=node.text, where=node.where
        )
        self.refined[original] = new
        if id != original:
            self.refined[id] = new
        if node.op in ("abs", "neg", "square", "item", "detach") and node.args and node.args[0] is not None:
            self.refine(node.args[0], condition, holds)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is assumed inside is forgotten outside."""
        refined, guards = dict(self.refined), len(self.guards)
        try:
            yield
        finally:
            self.refined = refined
            del self.guards[guards:]

    def guarded_count(self) -> bool:
        """A condition on a size or a count holds here."""
        for id in self.guards:
            for a in self.graph[id].args:
                if a is not None and self.graph[self.root(a)].op in ("size", "sum", "any", "all", "count_nonzero"):
                    return True
            if self.graph[id].op in ("any", "all"):
                return True
        return False


def callable_of(node: FunctionNode, owner: ClassView | None, bound: Any = None) -> Function:
    """A function of the module as a value."""
    return Function(node, owner, bound)
