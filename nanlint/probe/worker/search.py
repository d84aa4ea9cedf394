"""Feeds tried one after another, then pushed by gradients toward the suspect's edge."""

from __future__ import annotations

import time
from typing import NamedTuple

import torch

from .draw import Draw
from .dtypes import Feed
from .feeds import all_feeds
from .finite import Break
from .judge import judge
from .program import Leaf, Program
from .run import Unusable, is_finite, run, tensors_in
from .shapes import Layout
from .words import Context

PATIENCE = 60


class TimeUp(BaseException):
    """The time bound of a request has passed."""


class Found(NamedTuple):
    """A break, the feed that caused it, and the layout the feed was drawn in."""

    broken: Break
    feed: Feed
    context: Context
    layout: Layout


class Search:
    """Feeds tried one after another; breaks kept by how well they match what is suspected."""

    def __init__(self, program: Program, until: float) -> None:
        self.program, self.until = program, until
        self.tries = 0
        self.ran = 0
        self.patience = 0
        self.error = ""
        self.best: tuple[int, Found] | None = None

    def rank(self, broken: Break) -> int:
        """0 for the suspected break, more for one that is further from it."""
        wanted = {"precision": ("value",), "forward": ("forward", "value")}.get(self.program.phase, (self.program.phase,))
        return (0 if broken.guilty in self.program.accept else 2) + (0 if broken.phase in wanted else 1)

    @property
    def over(self) -> bool:
        """Whether the suspected break has been found, or the time is up."""
        if self.best is not None and (self.best[0] == 0 or (self.best[0] == 1 and self.tries > self.patience)):
            return True
        return time.process_time() > self.until

    def consider(self, feed: Feed, context: Context, layout: Layout) -> None:
        """Judge one feed."""
        self.tries += 1
        try:
            known = 3 if self.best is None else self.best[0]
            forward_only = known == 1 and self.program.phase != "backward"
            context = context._replace(forward_only=forward_only, only_accepted=self.best is not None)
            broken = judge(self.program, feed, context)
            self.ran += 1
        except Unusable as error:
            if not error.rejected:
                self.error = self.error or str(error)
            return
        if broken is not None and (self.best is None or self.rank(broken) < self.best[0]):
            self.best = (self.rank(broken), Found(broken, feed, context, layout))
            self.patience = self.tries + PATIENCE

    def feeds(self, layout: Layout) -> None:
        """Every feed of one layout."""
        for phi in self.program.modes:
            draw = Draw(self.program, layout, self.program.seed + layout.n)
            for feed in all_feeds(draw):
                if self.over:
                    return
                self.consider(feed, Context(self.program.seed, phi), layout)

    def guided(self, layout: Layout) -> None:
        """Push the suspect's operand up, down and towards 0 by signed gradient steps inside the ranges."""
        step = self.program.by_id.get(self.program.suspect)
        operands = [r for r in step.reads if self.program.by_id[r].op != "const"] if step is not None else []
        movable = [leaf for leaf in self.program.tensors if leaf.floating and not leaf.mask and not leaf.dtype.is_complex]
        if not operands or not movable:
            return
        draw = Draw(self.program, layout, self.program.seed + 7)
        starts = [
            draw.feed(draw.ordinary),
            draw.feed(draw.uniform),
            draw.feed(lambda leaf: draw.constant(leaf, (leaf.low + leaf.high) / 2)),
        ]
        for operand in operands[:2]:
            for goal in (1.0, -1.0, 0.0):
                for start in starts:
                    self.climb(dict(start), operand, goal, movable, draw)

    def climb(self, feed: Feed, operand: int, goal: float, movable: list[Leaf], draw: Draw) -> None:
        """One start, one goal: up to ten steps."""
        context, rate = Context(self.program.seed), 0.5
        for _ in range(10):
            if self.over:
                return
            ready = dict(feed)
            for leaf in movable:
                ready[leaf.id] = feed[leaf.id].detach().requires_grad_()
            flat = tensors_in(run(self.program, ready, context)[operand])
            flat = [t for t in flat if t.requires_grad]
            if not flat:
                return
            total = sum((t.abs() if goal == 0 or t.is_complex() else t).double().sum() for t in flat)
            slopes = torch.autograd.grad(total, [ready[leaf.id] for leaf in movable], allow_unused=True)
            if not is_finite(total.detach()) or all(g is None or not bool(g.any()) for g in slopes):
                return
            for leaf, g in zip(movable, slopes):
                if g is not None:
                    direction = torch.sign(torch.nan_to_num(g.double())) * (goal or -1.0)
                    feed[leaf.id] = draw.finish(leaf, feed[leaf.id].double() + direction * rate * (leaf.high - leaf.low))
            self.consider(dict(feed), context, draw.layout)
            rate *= 0.6
