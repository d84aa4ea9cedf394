"""Python's own functions, and those of math, on abstract values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from nanlint.source.abstract import Const, Function, Instance, Many, Method, Number, Sequence, Table, Tensor, Unknown
from nanlint.source.lift import Lifter
from nanlint.source.lift_expressions import binary_of
from nanlint.source.lift_objects import size_of

Handler = Callable[[Lifter, tuple[Any, ...], dict[str, Any], ast.Call], Any]


def length(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    first = args[0] if args else None
    if isinstance(first, Sequence):
        return Const(len(first.items), True)
    if isinstance(first, Table):
        return Const(len(first.items), True)
    if first is not None and lifter.is_tensor(first):
        return size_of(lifter, first, "len", node)
    if isinstance(first, Method) and first.name == "shape":
        return size_of(lifter, first.owner, "ndim", node, "ndim")
    unknown = lifter.opaque(node, "number")
    unknown.integer = True
    return Number(lifter.leaf(unknown, "number"))


def span(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """range(...): the numbers themselves where they are few and known."""
    values = [a.value for a in args if isinstance(a, Const) and isinstance(a.value, int) and not a.assumed]
    if len(values) == len(args) and args and len(range(*values[:3])) <= 8:
        return Sequence(tuple(Const(i) for i in range(*values[:3])))
    unknown = Unknown("step", "number", lifter.span(node))
    unknown.integer = True
    lifter.keep.append(unknown)
    return Many(Number(lifter.leaf(unknown, "number")))


def zipped(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if args and all(isinstance(a, Sequence) for a in args):
        return Sequence(tuple(Sequence(parts) for parts in zip(*(a.items for a in args))))
    return Many(Sequence(tuple(one(lifter, a, node) for a in args)))


def one(lifter: Lifter, iterable: Any, node: ast.Call) -> Any:
    """One element of an iterable."""
    if isinstance(iterable, Sequence):
        return iterable.items[0] if iterable.items else lifter.opaque(node)
    if isinstance(iterable, Many):
        return iterable.item
    if lifter.is_tensor(iterable):
        id = lifter.id_of(iterable)
        return Tensor(lifter.emit("index", (id,), {"spec": (0,)}, node, dtype=lifter.graph[id].dtype)) if id is not None else Unknown("item")
    text = iterable.text if isinstance(iterable, (Unknown, Method)) else "item"
    return lifter.opaque(node, text=f"{text}[i]")


def enumerated(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if args and isinstance(args[0], Sequence):
        return Sequence(tuple(Sequence((Const(i), v)) for i, v in enumerate(args[0].items)))
    unknown = Unknown("step", "number", lifter.span(node))
    unknown.integer = True
    lifter.keep.append(unknown)
    return Many(Sequence((Number(lifter.leaf(unknown, "number")), one(lifter, args[0], node) if args else Unknown("item"))))


def total(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """sum(iterable) of Python."""
    items = args[0].items if args and isinstance(args[0], Sequence) else (args[0].item,) if args and isinstance(args[0], Many) else ()
    if args and lifter.is_tensor(args[0]):
        id = lifter.id_of(args[0])
        return Tensor(lifter.emit("sum", (id,), {"dim": 0}, node)) if id is not None else lifter.opaque(node)
    result: Any = None
    for value in items[:8]:
        result = value if result is None else binary_of(lifter, ast.Add, result, value, node)
    return result if result is not None else lifter.opaque(node)


def extreme(function: Callable[..., Any], canonical: str) -> Handler:
    """max and min of Python: folded, or a node."""

    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        items = args[0].items if len(args) == 1 and isinstance(args[0], Sequence) else args
        if len(items) < 2:
            return lifter.opaque(node)
        if all(isinstance(a, Const) and isinstance(a.value, (int, float)) for a in items):
            return Const(function(a.value for a in items), any(a.assumed for a in items))
        if len(items) == 2 and all(lifter.is_number(a) or lifter.is_tensor(a) for a in items):
            ids = tuple(lifter.id_of(a) for a in items)
            return lifter.wrap(lifter.emit(canonical, ids, None, node))
        if len(items) == 2 and any(lifter.is_number(a) for a in items):
            ids = tuple(lifter.id_of(a, "number") for a in items)
            if None not in ids:
                return lifter.wrap(lifter.emit(canonical, ids, None, node))
        return lifter.opaque(node)

    return handler


def absolute(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if args and isinstance(args[0], Const) and isinstance(args[0].value, (int, float)):
        return Const(abs(args[0].value), args[0].assumed)
    id = lifter.id_of(args[0]) if args and (lifter.is_tensor(args[0]) or lifter.is_number(args[0])) else None
    return lifter.wrap(lifter.emit("abs", (id,), None, node)) if id is not None else lifter.opaque(node)


def power(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return binary_of(lifter, ast.Pow, args[0], args[1], node) if len(args) == 2 else lifter.opaque(node)


def converted(function: Callable[..., Any]) -> Handler:
    """float(x), int(x): of a constant folded, of a tensor its value without gradient."""

    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        if not args:
            return Const(function())
        if isinstance(args[0], Const) and isinstance(args[0].value, (int, float, str)):
            try:
                return Const(function(args[0].value), args[0].assumed)
            except (ValueError, OverflowError):
                return lifter.opaque(node, "number")
        if lifter.is_tensor(args[0]):
            id = lifter.id_of(args[0])
            return Tensor(lifter.emit("detach", (id,), None, node)) if id is not None else lifter.opaque(node)
        return args[0] if lifter.is_number(args[0]) and function is float else lifter.opaque(node, "number")

    return handler


def listed(mutable: bool) -> Handler:
    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        if not args:
            return Sequence((), mutable)
        if isinstance(args[0], Sequence):
            return Sequence(args[0].items, mutable)
        return args[0] if isinstance(args[0], (Many, Unknown, Method)) else Many(one(lifter, args[0], node))

    return handler


def mapping(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return Table(dict(keywords)) if not args else args[0] if isinstance(args[0], Table) else lifter.opaque(node)


def mapped(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    from nanlint.source.lift_calls import apply

    if len(args) == 2:
        if isinstance(args[1], Sequence) and len(args[1].items) <= 8:
            return Sequence(tuple(apply(lifter, args[0], (v,), {}, node) for v in args[1].items))
        return Many(apply(lifter, args[0], (one(lifter, args[1], node),), {}, node))
    return lifter.opaque(node)


def following(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return one(lifter, args[0], node) if args else lifter.opaque(node)


def backwards(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if args and isinstance(args[0], Sequence):
        return Sequence(tuple(reversed(args[0].items)))
    return args[0] if args else lifter.opaque(node)


def attribute(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    from nanlint.source.lift_expressions import attribute_of

    if len(args) >= 2 and isinstance(args[0], Instance) and isinstance(args[1], Const) and isinstance(args[1].value, str):
        return attribute_of(lifter, args[0], args[1].value, node)
    return lifter.opaque(node)


def unknown(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return lifter.opaque(node)


BUILTINS: dict[str, Handler] = {
    "len": length,
    "range": span,
    "zip": zipped,
    "enumerate": enumerated,
    "sum": total,
    "max": extreme(max, "maximum"),
    "min": extreme(min, "minimum"),
    "abs": absolute,
    "pow": power,
    "float": converted(float),
    "int": converted(int),
    "list": listed(True),
    "tuple": listed(False),
    "sorted": listed(True),
    "dict": mapping,
    "map": mapped,
    "next": following,
    "iter": lambda lifter, args, keywords, node: args[0] if args else lifter.opaque(node),
    "reversed": backwards,
    "getattr": attribute,
    "isinstance": unknown,
    "hasattr": unknown,
}


def MATH(lifter: Lifter, name: str, args: tuple[Any, ...], node: ast.Call) -> Any:
    """A function of math: folded on constants, else a number that is not known."""
    function = getattr(math, name, None)
    if callable(function) and args and all(isinstance(a, Const) and isinstance(a.value, (int, float)) for a in args):
        try:
            value = function(*(a.value for a in args))
            return Const(value, any(a.assumed for a in args)) if isinstance(value, (int, float)) else lifter.opaque(node, "number")
        except (ArithmeticError, ValueError, TypeError):
            return lifter.opaque(node, "number")
    if name == "prod" and args and isinstance(args[0], Sequence):
        result: Any = Const(1)
        for value in args[0].items:
            result = binary_of(lifter, ast.Mult, result, value, node)
        return result
    found = lifter.opaque(node, "number")
    found.evidence = "positive" if name in ("sqrt", "exp") else ""
    return found


__all__ = ["BUILTINS", "MATH", "Function", "operator"]
