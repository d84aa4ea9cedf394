"""The builtin words of a slice: indexing, casts, choices, assumptions, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .dtypes import Json, Values, dtype_named, number, widened

if TYPE_CHECKING:
    from .program import Step

IDENTITIES = frozenset(
    "carry reshape_unknown identity alias from_numpy cuda cpu pin_memory requires_grad_ retain_grad share_memory_".split()
)


class Failure:
    """The value of a node that could not be computed.

    `rejected` = the feed was not meant to come this far; `degenerate` = a matrix has no such decomposition.
    """

    __slots__ = ("at", "degenerate", "error", "rejected")

    def __init__(self, error: str, rejected: bool, at: int, degenerate: bool = False) -> None:
        self.error, self.rejected, self.at, self.degenerate = error, rejected, at, degenerate


class Context(NamedTuple):
    """How a slice is run and what is asked.

    `phi` chooses arms bit by bit, `shadow` runs in float64, `lenient` ignores assumptions, `forward_only` leaves the gradient
    out, `only_accepted` asks of the gradient only whether a suspect breaks it.
    """

    seed: int = 0
    phi: int = 0
    shadow: bool = False
    lenient: bool = False
    forward_only: bool = False
    only_accepted: bool = False


def decode(value: Any, values: Values, step: Step, key: str = "") -> Any:
    """A parameter as torch wants it: references replaced, slices, ellipses and dtypes made."""
    if isinstance(value, dict):
        if "$" in value:
            found = values[int(value["$"])]
            if isinstance(found, Failure):
                raise Poisoned(found)
            return found
        if "slice" in value:
            return slice(*(as_index(decode(v, values, step)) for v in value["slice"]))
        if "dtype" in value:
            return dtype_named(value["dtype"], step.default)
        return {k: decode(v, values, step, k) for k, v in value.items()}
    if isinstance(value, list):
        if key == "spec" and len(value) == 4 and value[0] == "slice":
            return slice(*(as_index(decode(v, values, step)) for v in value[1:]))
        return [decode(v, values, step, key) for v in value]
    if isinstance(value, str):
        if key == "dtype":
            return dtype_named(value, step.default)
        if key == "spec":
            return Ellipsis if value == "..." else value
        return number(value)
    return value


def as_index(value: Any) -> Any:
    """A bound of a slice as a Python int."""
    return value if value is None or isinstance(value, int) else int(value)


class Poisoned(Exception):
    """An operand could not be computed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error)
        self.failure = failure


class Rejected(Exception):
    """The feed contradicts an assumption of the source."""


def word_identity(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0]


def word_carry_out(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[-1]


def word_detach(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0].detach() if isinstance(args[0], torch.Tensor) else args[0]


def word_index(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    spec = params.get("spec", args[1] if len(args) > 1 else None)
    return args[0][tuple(spec) if isinstance(spec, list) else spec]


def word_index_put(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    spec = params["spec"]
    result = args[0].clone()
    value = args[1]
    if isinstance(value, torch.Tensor) and value.dtype != result.dtype:
        value = value.to(result.dtype)
    result[tuple(spec) if isinstance(spec, list) else spec] = value
    return result


def word_size(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    dim, x = params.get("dim"), args[0]
    if isinstance(x, (tuple, list)):
        return len(x)
    if not isinstance(x, torch.Tensor):
        return 1
    if dim is None:
        return x.numel()
    if dim in ("ndim", "rank"):
        return x.dim()
    if dim == "shape":
        return tuple(x.shape)
    return x.size(0) if dim == "len" else x.size(dim)


def word_tuple(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return tuple(args)


def word_item(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0][params.get("index", 0)]


def word_cast(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    dtype = params.get("dtype")
    x = args[0]
    if not isinstance(dtype, torch.dtype):
        dtype = dtype_named(dtype, step.default)
    if not isinstance(x, torch.Tensor):
        return float(x) if dtype.is_floating_point else int(x)
    return x.to(widened(dtype) if context.shadow else dtype)


def word_phi(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    cond, arms = args[0], args[1:]
    known = truth(cond) if cond is not None and not isinstance(cond, Failure) else None
    if known is None:
        order = list(arms)
        if (context.phi >> (step.id % 8)) & 1:
            order.reverse()
        return next((a for a in order if not isinstance(a, Failure)), order[0])
    return arms[0] if known else arms[-1]


def word_assume(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    if len(args) > 1 and args[1] is not None and not context.lenient:
        holds, cond = bool(params.get("holds", True)), args[1]
        if isinstance(cond, torch.Tensor):
            if not bool(((cond != 0) == holds).all()):
                raise Rejected("an assumption of the source does not hold")
        elif bool(cond) != holds:
            raise Rejected("an assumption of the source does not hold")
    return args[0]


def truth(cond: Any) -> bool | None:
    """The truth of a Python-level condition, None where it has none."""
    try:
        return bool(cond)
    except (RuntimeError, ValueError, TypeError):
        return None


def word_extreme(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    """max and min of Python."""
    return max(args) if step.call == "largest" else min(args)


WORDS: dict[str, Callable[[Step, list[Any], Json, Context], Any]] = {
    **dict.fromkeys(IDENTITIES, word_identity),
    "carry_out": word_carry_out,
    "detach": word_detach,
    "nograd": word_detach,
    "index": word_index,
    "index_put": word_index_put,
    "size": word_size,
    "tuple": word_tuple,
    "item": word_item,
    "cast": word_cast,
    "phi": word_phi,
    "assume": word_assume,
    "largest": word_extreme,
    "least": word_extreme,
}
