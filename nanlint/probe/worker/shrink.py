"""Making a witness small and round."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from .draw import Draw
from .dtypes import Feed
from .judge import judge
from .program import Leaf, Program
from .run import Unusable
from .search import Found
from .shapes import as_number

USUAL = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 120.0, 200.0, 300.0, 500.0, 1e3, 2e3, 5e3, 1e4)


def leaf_rank(value: Any) -> int:
    """The number of axes of a fed value."""
    return value.dim() if isinstance(value, torch.Tensor) else 0


class Shrinker:
    """Makes a witness smaller and rounder while it breaks the slice in the same way."""

    def __init__(self, program: Program, found: Found, until: float) -> None:
        self.program, self.found, self.until, self.left = program, found, until, 240

    def keeps(self, feed: Feed) -> bool:
        """Whether this feed breaks the slice in the same way; if so it is the witness now."""
        if self.left <= 0 or time.process_time() > self.until:
            return False
        self.left -= 1
        try:
            broken = judge(self.program, feed, self.found.context)
        except Unusable:
            return False
        old = self.found.broken
        same = broken is not None and broken[:2] == old[:2] and (broken.phase == "value" or broken.becomes == old.becomes)
        if same and broken is not None:
            self.found = self.found._replace(feed=feed, broken=broken)
        return same

    def smaller(self) -> None:
        """Fewer elements: the first one or two along every axis of the common size."""
        layout = self.found.layout
        for n in (1, 2, 3):
            if n >= layout.n:
                return
            other = layout._replace(n=n, reach=max(1, min(layout.reach, n)))
            shapes = other.shapes(self.program)
            feed = dict(self.found.feed)
            for leaf in self.program.tensors:
                x = feed[leaf.id][tuple(slice(0, d) for d in shapes[leaf.id])]
                feed[leaf.id] = x.clamp(max=other.reach - 1).contiguous() if leaf.index else x.contiguous()
            feed.update({leaf.id: other.whole(self.program, leaf) for leaf in self.program.counts if leaf.size})
            if self.keeps(feed):
                self.found = self.found._replace(layout=other)
                break
        self.flatter()

    def flatter(self) -> None:
        """One element along every axis that does not matter, axes counted from the left and from the right."""
        deepest = max([leaf_rank(self.found.feed[leaf.id]) for leaf in self.program.tensors] or [0])
        for axis in (*range(deepest), *range(-1, -deepest - 1, -1)):
            feed = dict(self.found.feed)
            for leaf in self.program.tensors:
                x = feed[leaf.id]
                if -x.dim() <= axis < x.dim() and x.size(axis) > 1 and axis % x.dim() - x.dim() not in leaf.sizes:
                    feed[leaf.id] = x.narrow(axis, 0, 1).contiguous()
            if any(feed[leaf.id] is not self.found.feed[leaf.id] for leaf in self.program.tensors):
                self.keeps(feed)

    def simpler(self) -> None:
        """Each leaf a constant, or failing that a tensor in which most elements are plain."""
        for leaf in self.program.leaves:
            now = self.found.feed[leaf.id]
            if leaf.index or (leaf.number and leaf.integer):
                continue
            for value in dict.fromkeys((1.0, 0.5, 0.0, *own_values(leaf, now))):
                if leaf.fits(value) and self.keeps({**self.found.feed, leaf.id: filled(leaf, now, value)}):
                    self.milder(leaf, value)
                    break
            else:
                self.plainer(leaf)

    def plainer(self, leaf: Leaf) -> None:
        """One element after the other 0 or 1, in a small tensor."""
        if leaf.number or leaf.mask or leaf.dtype.is_complex or self.found.feed[leaf.id].numel() > 16:
            return
        for i in range(self.found.feed[leaf.id].numel()):
            for value in (0.0, 1.0):
                changed = self.found.feed[leaf.id].clone()
                changed.view(-1)[i] = value
                if leaf.fits(value) and self.keeps({**self.found.feed, leaf.id: changed}):
                    break

    def milder(self, leaf: Leaf, value: float) -> None:
        """The least of the usual magnitudes that still breaks it."""
        sizes = [math.copysign(s, value) for s in USUAL if s < abs(value)] if abs(value) > 2 and not leaf.integer else []
        for size in sizes:
            now = self.found.feed[leaf.id]
            if leaf.fits(size) and self.keeps({**self.found.feed, leaf.id: filled(leaf, now, size)}):
                return

    def rounder(self) -> None:
        """Fewer digits, in all leaves at once or in one after the other."""
        leaves = [
            leaf for leaf in self.program.leaves if not (leaf.index or leaf.boolean or leaf.integer or leaf.dtype.is_complex)
        ]
        for figures in (1, 2, 3):
            if self.keeps({**self.found.feed, **{leaf.id: rounded(leaf, self.found.feed[leaf.id], figures) for leaf in leaves}}):
                return
        for leaf in leaves:
            now = self.found.feed[leaf.id]
            for figures in (1, 2, 3):
                if self.keeps({**self.found.feed, leaf.id: rounded(leaf, now, figures)}):
                    break

    def idle(self) -> frozenset[int]:
        """The leaves whose value does not matter: the slice breaks alike with other values there."""
        found = set()
        draw = Draw(self.program, self.found.layout, self.program.seed + 3)
        for leaf in self.program.leaves:
            if leaf.index or leaf.integer or leaf.boolean or len(self.program.leaves) == 1:
                continue
            kept = self.found
            shape = () if leaf.number else tuple(kept.feed[leaf.id].shape)
            draw.shapes[leaf.id] = shape
            others = [draw.ordinary(leaf), draw.constant(leaf, 0.7)] if not leaf.number else [as_number(leaf, 0.7)]
            if all(self.keeps({**kept.feed, leaf.id: other}) for other in others):
                found.add(leaf.id)
            self.found = kept
        return frozenset(found)

    def shrunk(self) -> tuple[Found, frozenset[int]]:
        """The smallest witness found, and the leaves that do not matter to it."""
        self.smaller()
        self.simpler()
        self.rounder()
        return self.found, self.idle()


def own_values(leaf: Leaf, now: Any) -> list[float]:
    """The first, the greatest and the least of the values that a leaf holds."""
    if leaf.number:
        return [now]
    if leaf.dtype.is_complex or not now.numel():
        return []
    flat = now.double().reshape(-1)
    return [float(flat[0]), float(flat.max()), float(flat.min())]


def filled(leaf: Leaf, now: Any, value: float) -> Any:
    """The leaf's value replaced by a constant."""
    if leaf.number:
        return as_number(leaf, value)
    return torch.full_like(now, bool(value) if leaf.boolean else value)


def rounded(leaf: Leaf, now: Any, figures: int) -> Any:
    """The leaf's value in so many significant figures, kept in its range."""

    def cut(v: float) -> float:
        short = float(f"{v:.{figures}g}") if math.isfinite(v) else v
        return short if leaf.fits(short) else v

    if leaf.number:
        return cut(now)
    flat = [cut(float(v)) for v in now.double().reshape(-1)[:4096]]
    return torch.tensor(flat, dtype=torch.float64).to(now.dtype).reshape(now.shape) if len(flat) == now.numel() else now
