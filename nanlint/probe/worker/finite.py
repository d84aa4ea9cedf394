"""What is asked of a run: are its values finite, are its gradients, and which node is to blame."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from .dtypes import INF, Feed, Values
from .program import LEAVES, Program, Step
from .run import execute, has_nan, is_finite, run, tensors_in
from .words import Context, Failure

NOBODY = -1


class Break(NamedTuple):
    """A feed broke the slice: in which phase, at which node, and what came of it."""

    phase: str
    guilty: int
    becomes: str


def kind_of(value: Any) -> str:
    """What a bad value is: nan, inf or -inf."""
    if has_nan(value):
        return "nan"
    flat = tensors_in(value)
    if flat:
        return "inf" if any(bool((t.real if t.is_complex() else t).eq(INF).any()) for t in flat) else "-inf"
    return "inf" if isinstance(value, float) and value > 0 else "-inf"


def is_stated(program: Program, values: Values, id: int) -> bool:
    """A bad value is an infinity that the source states, or made of such infinities only."""
    step = program.by_id[id]
    if has_nan(values[id]) or step.op in LEAVES:
        return False
    if step.op == "const" or step.infinite:
        return True
    worse = [r for r in step.reads if not isinstance(values[r], Failure) and not is_finite(values[r])]
    return bool(worse) and all(is_stated(program, values, r) for r in worse)


def chosen(step: Any, values: Values) -> list[int]:
    """What a node reads; of a selection, the sides that its bad elements came from."""
    reads = list(step.reads)
    if step.op != "where" or len(reads) != 3 or any(not isinstance(values.get(r), torch.Tensor) for r in (reads[0], step.id)):
        return reads
    bad = ~torch.isfinite(values[step.id])
    taken = values[reads[0]].bool().expand_as(bad)
    return [r for r, side in zip(reads[1:], (taken, ~taken)) if bool((bad & side).any())]


def guilty_forward(program: Program, values: Values) -> int | None:
    """The first node that made a bad value of good operands and whose result reaches a bad output.

    An infinity that the source states (a mask filled with -inf) is good; a NaN made of it is not. A NaN made of an
    infinity that was born on the way is the fault of what gave birth to it.
    """
    bad = {o for o in program.outputs if not isinstance(values[o], Failure) and not is_finite(values[o])}
    todo, culprits = list(bad), []
    while todo:
        step = program.by_id[todo.pop()]
        if step.op in LEAVES or step.op == "const":
            continue
        worse = [r for r in chosen(step, values) if not isinstance(values.get(r), Failure) and not is_finite(values.get(r))]
        if has_nan(values[step.id]):
            if not any(has_nan(values[r]) or not is_stated(program, values, r) for r in worse):
                culprits.append(step.id)
        elif not worse and not step.infinite:
            culprits.append(step.id)
        for r in worse:
            if r not in bad:
                bad.add(r)
                todo.append(r)
    if program.suspect in culprits:
        return program.suspect
    order = {s.id: i for i, s in enumerate(program.steps)}
    return min(culprits, key=lambda i: order[i]) if culprits else None


def seeds(outputs: list[Any]) -> list[Any]:
    """The gradient that is fed to each output: nearly 1, not quite alike, so that sums do not cancel."""
    return [
        torch.ones_like(o)
        if o.numel() <= 1 or o.is_complex()
        else (1 + 0.25 * torch.cos(torch.arange(o.numel(), dtype=torch.float32))).reshape(o.shape).to(o.dtype)
        for o in outputs
    ]


def gradients(program: Program, values: Values, outputs: list[Any], also: tuple[int, ...] = ()) -> dict[int, Any]:
    """The gradient of every floating leaf that has one, and of these further nodes."""
    roots = [t for o in outputs for t in tensors_in(o) if t.requires_grad]
    leaves = [leaf.id for leaf in program.tensors if leaf.grad and getattr(values[leaf.id], "requires_grad", False)]
    if not roots or not leaves:
        return {}
    inner = [i for i in also if i in values and isinstance(values[i], torch.Tensor) and values[i].requires_grad]
    try:
        found = torch.autograd.grad(roots, [values[i] for i in leaves + inner], seeds(roots), allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return {}
    return {i: g for i, g in zip(leaves + inner, found) if g is not None}


def broken_gradient(program: Program, feed: Feed, values: Values, outputs: list[Any], context: Context) -> Break | None:
    """The break of the backward pass, if a leaf receives a gradient that is not finite."""
    accepted = tuple(sorted(i for i in program.accept if i in program.by_id and program.by_id[i].op not in LEAVES))
    found = gradients(program, values, outputs, accepted)
    bad = [found[leaf.id] for leaf in program.tensors if leaf.id in found and not is_finite(found[leaf.id])]
    if not bad:
        return None
    becomes = "nan gradient" if any(has_nan(g) for g in bad) else f"{kind_of(bad[0])} gradient"
    for id in sorted(accepted, key=lambda i: i != program.suspect):
        if id in found and breaks_gradient(program.by_id[id], values, found[id], context):
            return Break("backward", id, becomes)
    return None if context.only_accepted else Break("backward", guilty_backward(program, feed, context), becomes)


def breaks_gradient(step: Step, values: Values, gradient: Any, context: Context) -> bool:
    """The backward of this node turns a finite gradient into one that is not."""
    if not is_finite(gradient):
        return False
    fresh, _, leaves = local_operands(step, values)
    torch.default_generator.manual_seed(context.seed)
    out = execute(step, fresh, context)
    if not leaves or not isinstance(out, torch.Tensor) or not out.requires_grad:
        return False
    try:
        found = torch.autograd.grad([out], leaves, [gradient], allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return False
    return not all(g is None or is_finite(g) for g in found)


def local_operands(step: Step, values: Values) -> tuple[Values, list[tuple[int, int]], list[Any]]:
    """The operands of a node as fresh leaves, where each came from, and the leaves themselves."""
    fresh, origin, leaves = dict(values), [], []
    for r in step.reads:
        value = values[r]
        parts = list(value) if isinstance(value, (tuple, list)) else [value]
        for i, part in enumerate(parts):
            if isinstance(part, torch.Tensor) and (part.dtype.is_floating_point or part.dtype.is_complex):
                parts[i] = part.detach().requires_grad_()
                origin.append((r, i))
                leaves.append(parts[i])
        fresh[r] = tuple(parts) if isinstance(value, (tuple, list)) else parts[0]
    return fresh, origin, leaves


def guilty_backward(program: Program, feed: Feed, context: Context) -> int:
    """The node nearest to the outputs whose backward turns a finite gradient into one that is not; NOBODY where sums overflow."""
    with torch.no_grad():
        values = run(program, feed, context)
    grads: dict[tuple[int, int], Any] = {}
    outputs = [o for o in program.outputs if not isinstance(values[o], Failure)]
    for o in dict.fromkeys(outputs):
        parts = values[o] if isinstance(values[o], (tuple, list)) else [values[o]]
        for i, part in enumerate(parts):
            for g in seeds(tensors_in(part)):
                grads[(o, i)] = g
    culprits = []
    for step in reversed(program.steps):
        mine = {i: g for (n, i), g in grads.items() if n == step.id}
        if not mine or step.op in LEAVES or step.op == "const":
            continue
        fresh, origin, leaves = local_operands(step, values)
        torch.default_generator.manual_seed(context.seed)
        out = execute(step, fresh, context)
        parts = list(out) if isinstance(out, (tuple, list)) else [out]
        pairs = [
            (parts[i], g)
            for i, g in mine.items()
            if i < len(parts) and isinstance(parts[i], torch.Tensor) and parts[i].requires_grad
        ]
        if not pairs or not leaves:
            continue
        try:
            found = torch.autograd.grad([p for p, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True)
        except (RuntimeError, NotImplementedError):
            continue
        if all(is_finite(g) for _, g in pairs) and not all(g is None or is_finite(g) for g in found):
            culprits.append(step.id)
        for key, g in zip(origin, found):
            if g is not None:
                grads[key] = grads[key] + g if key in grads else g
    if program.suspect in culprits:
        return program.suspect
    return culprits[0] if culprits else NOBODY


def overflows(program: Program, values: Values) -> bool:
    """Whether some node that the outputs read became infinite from finite operands."""
    for step in program.steps:
        value = values[step.id]
        if step.id not in program.needed or step.infinite or isinstance(value, Failure) or is_finite(value):
            continue
        if isinstance(value, (torch.Tensor, tuple)) and all(is_finite(values[r]) for r in step.reads):
            return True
    return False
