"""What torch's backward multiplies by, as intervals: the `slope` strings of the rows, evaluated through the table's own rows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from nanlint.core.formats import Format
from nanlint.ranges import arith
from nanlint.ranges.interval import Interval, Params
from nanlint.ranges.table import TABLE, Op
from nanlint.ranges.transfer import negative
from nanlint.ranges.vocabulary import WORDS

Env = Mapping[str, Any]
Evaluate = Callable[[Env, Format], Any]
BINARY = {ast.Add: arith.add, ast.Sub: arith.sub, ast.Mult: arith.mul, ast.Div: arith.div, ast.Pow: arith.power}
ALIASES = ("a", "b", "c")


def slopes(
    op: Op, args: Sequence[Interval | None], params: Params, fmt: Format, result: Interval | None = None
) -> tuple[Interval | None, ...]:
    """The range of torch's derivative of the result by each operand; None where the row does not state it."""
    if op.slope is None:
        return (None,) * len(args)
    env = _environment(op, args, params, fmt, result)
    found: list[Interval | None] = []
    for text, x in zip(op.slope, args):
        found.append(None if text is None or x is None else _interval(compiled(text)(env, fmt)))
    return tuple(found)


def _environment(op: Op, args: Sequence[Interval | None], params: Params, fmt: Format, result: Interval | None) -> dict[str, Any]:
    env: dict[str, Any] = {"count": None, "count_min": None, **defaults(op.signature), **params}
    env.update(zip(ALIASES, args))
    env.update(zip(op.names, args))
    if args:
        env["x"] = args[0]
    if result is None:
        result = op.forward(args, params, fmt)  # type: ignore[arg-type]
    env["y"] = result
    return env


def _interval(value: Any) -> Interval | None:
    if isinstance(value, Interval):
        return value
    return Interval(float(value), float(value)) if isinstance(value, (int, float)) else None


@cache
def defaults(signature: str) -> dict[str, Any]:
    """The default values that a signature states."""
    pairs = (p.partition("=") for p in signature.split(",") if "=" in p)
    return {name.strip(): ast.literal_eval(value.strip()) for name, _, value in pairs}


@cache
def compiled(text: str) -> Evaluate:
    """The evaluator of one slope expression."""
    return _compile(ast.parse(text, mode="eval").body)


def _compile(node: ast.expr) -> Evaluate:
    if isinstance(node, ast.Constant):
        value = node.value
        number = Interval(float(value), float(value), integer=float(value).is_integer()) if isinstance(value,
            (int, float)) else value
        return lambda env, fmt: number
    if isinstance(node, ast.Name):
        name = node.id
        return lambda env, fmt: env.get(name)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _compile(node.operand)
        return lambda env, fmt: _on_intervals(lambda a: negative(a[0]), inner(env, fmt))
    if isinstance(node, ast.BinOp):
        return _compile_binary(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _compile_call(node.func.id, [_compile(a) for a in node.args])
    raise ValueError(f"a slope may not contain {ast.unparse(node)!r}: use numbers, operands, y, + - * / ** and ops of the table")


def _compile_binary(node: ast.BinOp) -> Evaluate:
    left, right = _compile(node.left), _compile(node.right)
    if isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right):
        return lambda env, fmt: _on_intervals(lambda a: arith.square(a, {}, fmt), left(env, fmt))
    forward = BINARY[type(node.op)]
    return lambda env, fmt: _on_intervals(lambda a: forward(a, {}, fmt), left(env, fmt), right(env, fmt))


def _compile_call(name: str, arguments: list[Evaluate]) -> Evaluate:
    if name in WORDS:
        word = WORDS[name]
        return lambda env, fmt: word(fmt, env, *(a(env, fmt) for a in arguments))
    return lambda env, fmt: _on_intervals(lambda a: TABLE[name].forward(a, {}, fmt), *(a(env, fmt) for a in arguments))


def _on_intervals(forward: Callable[[tuple[Interval, ...]], Interval], *values: Any) -> Interval | None:
    """`forward` of the values as intervals; None where one is not known."""
    intervals = tuple(_interval(v) for v in values)
    return None if None in intervals else forward(intervals)  # type: ignore[arg-type]


