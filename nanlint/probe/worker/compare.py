"""New code beside old: do they agree where the old is healthy, and does the new hold where it was not."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import torch

from .answers import shown, thaw
from .draw import Draw
from .dtypes import HALVES, Feed, Json, dtype_named
from .feeds import all_feeds
from .finite import gradients
from .judge import judge, usable_outputs, with_gradient
from .precise import wide
from .program import Program
from .run import Unusable, is_finite, run, tensors_in
from .shapes import Layout, Shaper
from .words import Context

ABSENT = object()


class Outcome(NamedTuple):
    """What one run gave: outputs and gradients by leaf name, in float64, and whether all are finite."""

    outputs: list[Any]
    gradients: dict[str, Any]
    finite: bool
    dtypes: tuple[Any, ...] = ()


def outcome(program: Program, feed: Feed, context: Context) -> Outcome:
    """Run a slice forward and backward."""
    ready = with_gradient(program, feed)
    if context.shadow:
        ready = {
            leaf.id: feed[leaf.id].double().requires_grad_()
            if leaf.grad and program.backward and not leaf.dtype.is_complex
            else ready[leaf.id]
            for leaf in program.leaves
        }
    values = run(program, ready, context)
    outputs = [t for o in usable_outputs(program, values) for t in tensors_in(o)]
    grads = gradients(program, {**values, **ready}, outputs) if program.backward else {}
    names = {leaf.id: leaf.key for leaf in program.leaves}
    finite = all(is_finite(o) for o in outputs) and all(is_finite(g) for g in grads.values())
    dtypes = tuple(o.dtype if o.dim() else None for o in outputs)  # a number mixes with any dtype
    return Outcome([wide(o) for o in outputs], {names[i]: wide(g) for i, g in grads.items()}, finite, dtypes)


def relative(new: Any, old: Any) -> float | None:
    """The greatest difference, relative to each value or to a thousandth of the greatest one."""
    if new.shape != old.shape:
        return None
    if not old.numel():
        return 0.0
    scale = old.abs().clamp(min=max(float(old.abs().max()) * 1e-3, 1e-30))
    return float(((new - old).abs() / scale).max())


def worst(pairs: list[tuple[Any, Any]]) -> float | None:
    """The greatest relative difference of several pairs, None where shapes differ."""
    found = [relative(a, b) for a, b in pairs]
    return None if any(f is None for f in found) else max([f for f in found if f is not None] or [0.0])


def by_name(old: Program, new: Program, feed: Feed) -> Feed:
    """The feed of the old slice for the leaves of the new one; what the old one does not feed is left out.

    An expression that the new code evaluates once more has the value of the first time.
    """
    known = {leaf.key: feed[leaf.id] for leaf in old.leaves}
    found = {}
    for leaf in new.leaves:
        value = known.get(leaf.key, known.get(first_of(leaf.key), ABSENT))
        if value is not ABSENT:
            converted = isinstance(value, torch.Tensor) and not leaf.number and value.dtype != leaf.dtype
            found[leaf.id] = value.to(leaf.dtype) if converted else value
    return found


def first_of(key: str) -> str:
    """The key of the first leaf with the same text."""
    text, sign, _ = key.rpartition("#")
    return f"{text}#1" if sign else key


def folded(gradients: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """The gradients by leaf of the old code: those of an expression that the new code evaluates once more are added up."""
    found: dict[str, Any] = {}
    for key, slope in gradients.items():
        name = key if key in known else first_of(key)
        found[name] = found[name] + slope if name in found and found[name].shape == slope.shape else slope
    return found


class Comparison:
    """Old and new run side by side, where the old one is within `healthy` of its float64 shadow."""

    def __init__(self, old: Program, new: Program, healthy: float) -> None:
        self.old, self.new, self.limit = old, new, healthy
        self.agrees = self.tried = self.mended = self.broken = 0
        self.value = 0.0
        self.gradient: float | None = None
        self.first: Feed | None = None
        self.error: str | None = None
        self.same_dtype = True
        self.wrong = 0

    def add(self, feed: Feed, context: Context) -> None:
        """Compare on one feed."""
        try:
            truth_ = outcome(self.old, feed, context._replace(shadow=True))
            before = outcome(self.old, feed, context)
        except Unusable:
            return
        if not truth_.finite:
            return
        if not before.finite:
            self.mend(feed, context, truth_)
            return
        if not self.healthy(before, truth_):
            return
        self.tried += 1
        try:
            after = outcome(self.new, by_name(self.old, self.new, feed), context)
        except Unusable as error:
            self.error = self.error or str(error)
            return
        self.same_dtype = self.same_dtype and after.dtypes == before.dtypes
        slopes = folded(after.gradients, {leaf.key for leaf in self.old.leaves})
        value = worst(list(zip(after.outputs, truth_.outputs))) if len(after.outputs) == len(truth_.outputs) else None
        shared = [n for n in truth_.gradients if n in slopes]
        slope = worst([(slopes[n], truth_.gradients[n]) for n in shared])
        limit = 0.05 if dtype_named(self.old.dtype) in HALVES else 1e-3
        if value is None or slope is None or not after.finite or value > limit or slope > 20 * limit:
            self.first = self.first or feed
            return
        self.agrees += 1
        self.value = max(self.value, value)
        if shared:
            self.gradient = max(self.gradient or 0.0, slope)

    def mend(self, feed: Feed, context: Context, truth_: Outcome) -> None:
        """Where the old code breaks although float64 does not and the truth fits the format: is the new code right?"""
        top = float(torch.finfo(dtype_named(self.old.dtype)).max)
        if any(float(o.abs().max()) > top for o in truth_.outputs if o.numel()):
            return
        self.broken += 1
        try:
            after = outcome(self.new, by_name(self.old, self.new, feed), context)
        except Unusable:
            return
        if not after.finite:  # another fault of the same code
            return
        limit = 0.05 if dtype_named(self.old.dtype) in HALVES else 1e-2
        pairs = list(zip(after.outputs, truth_.outputs))
        right = all(a.shape == t.shape and bool(((a - t).abs() <= limit * t.abs().clamp(min=1.0)).all()) for a, t in pairs)
        self.mended += right
        self.wrong += not right

    def healthy(self, before: Outcome, truth_: Outcome) -> bool:
        """Whether the old code is itself right on this feed, in value and gradient."""
        value = worst(list(zip(before.outputs, truth_.outputs)))
        slope = worst([(before.gradients[n], g) for n, g in truth_.gradients.items() if n in before.gradients])
        return value is not None and slope is not None and max(value, slope) <= self.limit


FEW = 24
NOTHING: Json = {
    "agrees_on": 0,
    "tried": 0,
    "worst_relative_error": None,
    "worst_gradient_error": None,
    "finite_on_witness": None,
    "largest": None,
    "broken": 0,
    "mended": 0,
    "wrong": 0,
    "same_dtype": True,
    "disagrees_at": None,
    "error": None,
}


def compare(request: Json) -> Json:
    """Whether a new slice agrees with an old one where the old one is healthy, and is finite where it was not."""
    old, new = Program(request["old"]), Program(request["new"])
    seconds, start = float(request.get("seconds", 2.0)), time.process_time()
    known = {leaf.key for leaf in old.leaves}
    missing = sorted(leaf.name for leaf in new.leaves if leaf.key not in known and first_of(leaf.key) not in known)
    if missing:
        return {**NOTHING, "error": f"the new code reads {missing[0]!r}, which the old does not"}
    denied = next((s.denied for p in (old, new) for s in p.steps if s.denied and s.id in p.needed), "")
    trial, layout = Shaper(old, start + 0.3 * seconds).find()
    if layout is None or not trial.whole:
        return {**NOTHING, "error": denied or trial.error or "no shapes were found in which it runs"}
    sides = side_by_side(old, new, layout, start + 0.8 * seconds)
    found: Json = {
        "agrees_on": sides.agrees,
        "tried": sides.tried,
        "broken": sides.broken,
        "mended": sides.mended,
        "wrong": sides.wrong,
        "same_dtype": sides.same_dtype,
        "error": sides.error,
    }
    if request.get("frozen"):
        found["finite_on_witness"], found["largest"] = holds_on(new, request["frozen"])
    if sides.first is not None:
        found["disagrees_at"] = {leaf.name: shown(leaf, sides.first[leaf.id]) for leaf in old.leaves}
    if sides.agrees:
        found.update(worst_relative_error=sides.value, worst_gradient_error=sides.gradient)
    return {**NOTHING, **found}


def side_by_side(old: Program, new: Program, layout: Layout, until: float) -> Comparison:
    """The comparison where the old code is nearly exact; where it hardly ever is, where it is good."""
    exact, good = (0.01, 0.05) if dtype_named(old.dtype) in HALVES else (3e-6, 1e-3)
    for limit in (exact, good):
        sides = Comparison(old, new, limit)
        for phi in old.modes:
            for feed in all_feeds(Draw(old, layout, old.seed)):
                if time.process_time() > until:
                    return sides
                sides.add(feed, Context(old.seed, phi))
        if sides.tried >= FEW:
            break
    return sides


def holds_on(new: Program, frozen: Json) -> tuple[bool, float | None]:
    """Whether the witness that broke the old slice leaves the new one finite and, where that was the fault, right; its largest output."""
    broken = Program(frozen["slice"])
    feed, context, _ = thaw(frozen, broken)
    ready = by_name(broken, new, feed)
    new.phase = broken.phase
    try:
        if judge(new, ready, context._replace(forward_only=False)) is not None:
            return False, None
        outputs = usable_outputs(new, run(new, ready, context._replace(forward_only=False)))
    except Unusable:
        return False, None
    return True, max([float(wide(t).abs().max()) for o in outputs for t in tensors_in(o) if t.numel()] or [0.0])
