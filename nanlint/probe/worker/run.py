"""Running a slice on a feed, node by node; what fails poisons what reads it."""

from __future__ import annotations

import math
from typing import Any

import torch

from .calls import Denied
from .dtypes import HALVES, Feed, Json, Values, widened
from .program import LEAVES, Program, Step
from .words import Context, Failure, Poisoned, Rejected, decode

LINALG_ERROR: Any = getattr(torch.linalg, "LinAlgError")  # noqa: B009

UNIFORM = frozenset("rand rand_like uniform".split())
RANDOM = UNIFORM | frozenset(
    "randn randn_like normal normal_ bernoulli poisson exponential gumbel_softmax dropout dropout1d dropout2d dropout3d alpha_dropout"
    " log_normal cauchy geometric rrelu".split()
)
UNFED = Failure("nothing is known of this value", True, -1)
DRAWS_ZERO = 256  # the bit of `phi` that makes uniform draws reach their end


def execute(step: Step, values: Values, context: Context) -> Any:
    """The value of one node; a Failure where it has none."""
    if step.op == "const":
        return step.value
    try:
        args = []
        for a in step.args:
            v = None if a is None else values.get(a)
            if isinstance(v, Failure) and step.op != "phi":
                return v
            args.append(v)
        if step.op == "phi" and any(a is None for a in step.args[1:]):
            args = args[:1] + [v for a, v in zip(step.args[1:], args[1:]) if a is not None]
        params = {k: decode(v, values, step, k) for k, v in step.params.items()}
        if context.shadow and isinstance(params.get("dtype"), torch.dtype) and step.word is None and step.op not in RANDOM:
            params["dtype"] = widened(params["dtype"])
        if step.denied:
            raise Denied(step.denied)
        result = compute(step, args, params, context)
        return detached(result) if step.nograd else result
    except Poisoned as poison:
        return poison.failure
    except (Rejected, ZeroDivisionError, OverflowError) as error:
        return Failure(str(error), True, step.id)
    except LINALG_ERROR as error:
        return Failure(cause(str(error)), False, step.id, degenerate=True)
    except Exception as error:  # torch raises whatever it likes
        return Failure(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300], False, step.id)


def cause(text: str) -> str:
    """The reason that torch gives for refusing a matrix, without its preamble and its indices."""
    reason = text.splitlines()[0].rpartition("because ")[2]
    return reason.partition(" (")[0].rstrip(".")[:120]


def compute(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    """The result of a builtin word or of a call, widened in the shadow run."""
    if step.word is not None:
        return step.word(step, args, params, context)
    if step.op in ("view", "reshape", "expand") and None in params.get(step.spread or "", ()):
        return args[0]  # a shape that nobody knows
    if context.shadow and step.conversion:
        return torch.as_tensor(args[0]).to(torch.float64)
    if context.shadow and step.op in RANDOM:  # the same draws as in the run that is shadowed
        args = [a.to(step.dtype) if isinstance(a, torch.Tensor) and a.dtype == torch.float64 else a for a in args]
    result = invoke(step, args, params)
    if context.phi & DRAWS_ZERO and step.op in UNIFORM:
        result = drawn_low(step, args, params, result)
    return deepened(result) if context.shadow else result


def drawn_low(step: Step, args: list[Any], params: Json, result: Any) -> Any:
    """A uniform draw whose first element is the least it can be: rand draws 0 once in 2**24 times, in half once in 2**11."""
    low = params.get("from", args[1] if step.op == "uniform" and len(args) > 1 else 0.0)
    first = torch.zeros(result.numel(), dtype=torch.bool)
    first[:1] = True
    return result.masked_fill(first.reshape(result.shape), float(low))


def detached(result: Any) -> Any:
    """A result of code under `no_grad`."""
    if isinstance(result, (tuple, list)):
        return tuple(detached(r) for r in result)
    return result.detach() if isinstance(result, torch.Tensor) else result


def invoke(step: Step, args: list[Any], params: Json) -> Any:
    """Call the node's function; what a CPU build lacks for half types is computed in float32 and rounded."""
    if step.spread is not None:
        rest = params.pop(step.spread)
        rest = rest[0] if isinstance(rest, (list, tuple)) and len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
        args = [*args, tuple(rest) if isinstance(rest, (list, tuple)) else (rest,)]
    try:
        return step.function(*args, **params)
    except RuntimeError as error:
        if "not implemented for" not in str(error) or not any(isinstance(a, torch.Tensor) and a.dtype in HALVES for a in args):
            raise
        half = next(a.dtype for a in args if isinstance(a, torch.Tensor) and a.dtype in HALVES)
        up = [a.float() if isinstance(a, torch.Tensor) and a.dtype in HALVES else a for a in args]
        result = step.function(*up, **params)
        return result.to(half) if isinstance(result, torch.Tensor) and result.dtype == torch.float32 else result
    except TypeError:
        if not args or not isinstance(args[0], (int, float)) or step.call.startswith(("operator", "math")):
            raise
        tensors = [
            torch.tensor(a) if isinstance(a, (int, float)) and not isinstance(a, bool) and i == 0 else a
            for i, a in enumerate(args)
        ]
        return step.function(*tensors, **params)


def deepened(result: Any) -> Any:
    """A result of the shadow run in the dtypes of the shadow run."""
    if isinstance(result, torch.Tensor):
        dtype = widened(result.dtype)
        return result if result.dtype == dtype else result.to(dtype)
    if isinstance(result, (tuple, list)):
        return tuple(deepened(r) for r in result)
    return result


def run(program: Program, feed: Feed, context: Context) -> Values:
    """The value of every node on this feed."""
    torch.default_generator.manual_seed(context.seed)
    values: Values = {}
    for step in program.steps:
        if step.op in LEAVES:
            value = feed.get(step.id, UNFED)
            values[step.id] = deepened(value) if context.shadow else value
        else:
            values[step.id] = execute(step, values, context)
    return values


def tensors_in(value: Any) -> list[Any]:
    """The floating tensors of a value, tuples opened."""
    if isinstance(value, torch.Tensor):
        return [value] if value.dtype.is_floating_point or value.dtype.is_complex else []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    return []


def is_finite(value: Any) -> bool:
    """Whether no number in this value is NaN or infinite."""
    if isinstance(value, torch.Tensor):
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            return True
        value = value.detach().float() if value.element_size() == 1 else value.detach()
        total = value.sum().item()  # a finite sum has finite terms; one that is not may have overflowed
        return bool(total - total == 0) or bool(torch.isfinite(value).all())
    if isinstance(value, (tuple, list)):
        return all(is_finite(v) for v in value)
    return not isinstance(value, float) or math.isfinite(value)


def has_nan(value: Any) -> bool:
    """Whether some number in this value is NaN."""
    if isinstance(value, torch.Tensor):
        return bool(torch.isnan(value).any()) if value.dtype.is_floating_point or value.dtype.is_complex else False
    if isinstance(value, (tuple, list)):
        return any(has_nan(v) for v in value)
    return isinstance(value, float) and math.isnan(value)


class Unusable(Exception):
    """The slice gave no value on this feed."""

    def __init__(self, failure: Failure | None) -> None:
        super().__init__(failure.error if failure else "no floating output")
        self.rejected = failure.rejected if failure else False
