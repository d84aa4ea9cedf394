"""Abstract values: what a Python expression may be while a function body is evaluated symbolically."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from nanlint.source.names import ClassView, FunctionNode


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: a node of the value graph."""

    id: int


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number that is not known: a node of the value graph."""

    id: int


@dataclass(frozen=True, slots=True)
class Const:
    """A known Python value; `assumed` = a default that callers may change, so no branch is decided by it."""

    value: Any
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class Dtype:
    """A torch dtype, or `?` for the dtype of the run."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """A tuple or list whose items are known."""

    items: tuple[Any, ...]
    mutable: bool = False


@dataclass(frozen=True)
class Many:
    """A collection of unknown length whose elements look like `item`."""

    item: Any


@dataclass(frozen=True)
class Table:
    """A dict with known keys."""

    items: dict[Any, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A fully qualified name outside the module, such as torch.nn.functional.softmax."""

    dotted: str


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the module; `bound` is the instance it is a method of."""

    node: FunctionNode | ast.Lambda
    owner: ClassView | None = None
    bound: Any = None
    closure: dict[str, Any] | None = None
    early: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the module."""

    view: ClassView


@dataclass(eq=False)
class Instance:
    """An object of a class of the module; `text` is how the source names it."""

    view: ClassView
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)
    ready: bool = False


@dataclass(frozen=True, eq=False)
class Layer:
    """A torch.nn layer, by its class name and arguments."""

    name: str
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    text: str = ""


@dataclass(frozen=True, eq=False)
class Method:
    """An attribute of a tensor or of an unknown object, about to be called."""

    owner: Any
    name: str
    text: str


@dataclass(eq=False)
class Unknown:
    """A value that was not understood; it becomes an opaque leaf of the graph when a tensor operation reads it."""

    text: str
    kind: str | None = None
    span: Any = None
    leaf: str = "opaque"
    id: int | None = None
    integer: bool = False
    annotation: str = ""
    evidence: str = ""


Value = Any
NOTHING = Const(None)
