"""How one feed breaks a slice: in its value, in its gradient, or in its digits."""

from __future__ import annotations

from typing import Any

import torch

from .dtypes import Feed, Values
from .finite import Break, broken_gradient, guilty_forward, kind_of, overflows
from .precise import wrong_value
from .program import Program
from .run import Unusable, has_nan, is_finite, run
from .words import Context, Failure


def with_gradient(program: Program, feed: Feed) -> Feed:
    """The feed with its floating leaves asking for a gradient."""
    if not program.backward:
        return feed
    ready = dict(feed)
    for leaf in program.tensors:
        if leaf.grad and leaf.id in feed:
            ready[leaf.id] = feed[leaf.id].detach().requires_grad_()
    return ready


def usable_outputs(program: Program, values: Values) -> list[Any]:
    """The values of the outputs that could be computed; Unusable if there are none."""
    found = [values[o] for o in program.outputs if not isinstance(values[o], Failure)]
    if not found:
        failures = [values[o] for o in program.outputs]
        raise Unusable(next((f for f in failures if not f.rejected), failures[0]))
    return found


def judge(program: Program, feed: Feed, context: Context) -> Break | None:
    """How this feed breaks the slice, or None; Unusable if it cannot be run."""
    with torch.set_grad_enabled(not context.forward_only):
        values = run(program, feed if context.forward_only else with_gradient(program, feed), context)
    degenerate = [v for o in program.outputs if isinstance(v := values[o], Failure) and v.degenerate]
    if degenerate:
        return Break("forward", degenerate[0].at, f"an error: {degenerate[0].error}")
    outputs = usable_outputs(program, values)
    if any(has_nan(o) for o in outputs) if program.nan_only else not all(is_finite(o) for o in outputs):
        guilty = guilty_forward(program, values)
        if guilty is not None:
            return Break("forward", guilty, kind_of(values[guilty]))
    if program.backward and not context.forward_only:
        found = broken_gradient(program, feed, values, outputs, context)
        if found is not None:
            return found
    if program.nan_only:
        return None
    if program.phase == "precision" or overflows(program, values):
        return wrong_value(program, feed, values, context)
    return None
