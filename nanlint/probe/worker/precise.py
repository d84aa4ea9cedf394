"""What is asked of a finite run: does it agree with the same run in float64."""

from __future__ import annotations

from typing import Any

import torch

from .dtypes import HALVES, INF, Feed, Values
from .finite import NOBODY, Break
from .program import Program
from .run import is_finite, run, tensors_in
from .words import Context, Failure


def precision_of(values: Values) -> tuple[float, float, float]:
    """The relative error that is too much, the size below which a value counts as nothing, and the working epsilon."""
    dtypes = {t.dtype for v in values.values() for t in tensors_in(v)}
    if dtypes & HALVES:
        narrow = max((d for d in dtypes & HALVES), key=lambda d: torch.finfo(d).eps)
        return 0.05, 1e-3 if narrow == torch.float16 else 1e-2, float(torch.finfo(narrow).eps)
    return 1e-2, 1e-6, float(torch.finfo(torch.float32).eps)


def wide(value: Any) -> Any:
    """A tensor as real float64 numbers."""
    value = value.detach()
    return (torch.view_as_real(value) if value.is_complex() else value).double()


def perturbed(program: Program, feed: Feed, sign: int) -> Feed:
    """The feed in float64 with every floating number moved by about one rounding error."""
    moved = dict(feed)
    for k, leaf in enumerate(program.tensors):
        if leaf.id in feed and leaf.floating and not leaf.mask and not leaf.dtype.is_complex:
            x = feed[leaf.id].double()
            wave = torch.cos(torch.arange(x.numel(), dtype=torch.float64) * 2.4 + sign * 1.3 + k).reshape(x.shape)
            moved[leaf.id] = x * (1 + wave * torch.finfo(leaf.dtype).eps)
    return moved


def wrong_value(program: Program, feed: Feed, values: Values, context: Context) -> Break | None:
    """The break of value: finite, yet far from what float64 gives and from what rounding the inputs explains."""
    deep = context._replace(shadow=True)
    with torch.no_grad():
        shadow = run(program, feed, deep)
        limit, small, _ = precision_of(values)
        nudges = None
        for o in program.outputs:
            if isinstance(values[o], Failure) or isinstance(shadow[o], Failure):
                continue
            for i, (a, b) in enumerate(zip(every_tensor(values[o]), every_tensor(shadow[o]))):
                if a.shape != b.shape or not is_finite(a) or not is_finite(b):
                    continue
                a, b = wide(a), wide(b)
                error = (a - b).abs()
                if not bool((error > limit * b.abs().clamp(min=small)).any()):
                    continue
                if nudges is None:
                    nudges = [run(program, perturbed(program, feed, s), deep) for s in (0, 1, 2)]
                spread = max_spread(nudges, o, i, b)
                ratio = error / b.abs().clamp(min=small)
                ratio = torch.where(error > 16 * spread, ratio, torch.zeros_like(ratio))
                if bool((ratio > limit).any()):
                    at = int(ratio.reshape(-1).argmax())
                    becomes = f"{digits(float(a.reshape(-1)[at]))} instead of {digits(float(b.reshape(-1)[at]))}"
                    return Break("value", guilty_value(program, values, shadow, limit, small), becomes)
    return None


def every_tensor(value: Any) -> list[Any]:
    """The tensors of a value that hold numbers, whole numbers included, tuples opened."""
    if isinstance(value, torch.Tensor):
        return [] if value.dtype == torch.bool else [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in every_tensor(v)]
    return []


def max_spread(nudges: list[Values], output: int, index: int, reference: Any) -> Any:
    """How far the shadow itself moves when the inputs are rounded otherwise."""
    spread = torch.zeros_like(reference)
    for values in nudges:
        if isinstance(values[output], Failure):
            continue
        found = every_tensor(values[output])
        if index < len(found) and wide(found[index]).shape == reference.shape:
            moved = (wide(found[index]) - reference).abs()
            spread = torch.maximum(spread, torch.nan_to_num(moved, nan=INF, posinf=INF))
    return spread


def guilty_value(program: Program, values: Values, shadow: Values, limit: float, small: float) -> int:
    """The first node that is far off though its operands are not."""

    def is_off(id: int) -> bool:
        a, b = values.get(id), shadow.get(id)
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype == torch.bool:
            return False
        if not is_finite(a):
            return is_finite(b)
        return bool(((wide(a) - wide(b)).abs() > limit * wide(b).abs().clamp(min=small)).any())

    off = {s.id for s in program.steps if s.id in program.needed and is_off(s.id)}
    first = [s.id for s in program.steps if s.id in off and not any(r in off for r in s.reads)]
    if program.suspect in first:
        return program.suspect
    return first[0] if first else NOBODY


def digits(value: float) -> str:
    """A number in four significant digits."""
    text = f"{value:.4g}"
    return text if any(c in text for c in ".en") else text + ".0"
