"""What is fed, in order: ordinary and simple things first, so that witnesses are simple."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from .draw import SIMPLE, Draw, fed_leaves, pool
from .dtypes import Feed
from .program import Leaf
from .shapes import as_number


def constant_feeds(draw: Draw) -> Iterator[Feed]:
    """Every leaf the same constant."""
    for value in SIMPLE:
        yield draw.feed(partial(draw.constant, value=value))
    yield draw.feed(lambda leaf: draw.constant(leaf, leaf.high))
    yield draw.feed(lambda leaf: draw.constant(leaf, leaf.low))


def noise_feeds(draw: Draw) -> Iterator[Feed]:
    """Ordinary noise of several sizes."""
    yield draw.feed(lambda leaf: draw.uniform(leaf, -1.0, 1.0))
    yield draw.feed(lambda leaf: draw.normal(leaf))
    yield draw.feed(lambda leaf: draw.normal(leaf, 10.0))
    yield draw.feed(lambda leaf: draw.uniform(leaf))
    yield draw.feed(lambda leaf: draw.uniform(leaf, 0.0, leaf.high))
    yield draw.feed(lambda leaf: draw.normal(leaf, max(abs(leaf.low), abs(leaf.high)) / 3))
    yield draw.feed(lambda leaf: draw.uniform(leaf, 0.0, 1.0))


def pool_feeds(draw: Draw) -> Iterator[Feed]:
    """One leaf a special constant, the others ordinary."""
    for leaf in fed_leaves(draw.program)[:8]:
        for value in pool(leaf):
            feed = draw.feed(draw.ordinary)
            feed[leaf.id] = draw.constant(leaf, value)
            yield feed


def equal_feeds(draw: Draw) -> Iterator[Feed]:
    """Two leaves equal: a perfect prediction, two points that meet."""
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number]
    for i, a in enumerate(leaves):
        for b in leaves[i + 1 : i + 5]:
            if draw.shapes[a.id] == draw.shapes[b.id] and a.dtype == b.dtype:
                for make in (draw.normal, lambda leaf: draw.constant(leaf, 1.0)):
                    feed = draw.feed(draw.ordinary)
                    feed[a.id] = make(a)
                    feed[b.id] = draw.finish(b, feed[a.id].double()) if not b.nonzero else feed[b.id]
                    yield feed


def structured_feeds(draw: Draw) -> Iterator[Feed]:
    """Rows that are zero, equal, one-hot or saturated in otherwise ordinary noise."""

    def zero_row(leaf: Leaf, x: Any) -> Any:
        x[0] = 0.0
        return x

    def equal_row(leaf: Leaf, x: Any) -> Any:
        x[0] = x[0].reshape(-1)[:1].mean() if x[0].numel() else 0.0
        return x

    def equal_rows(leaf: Leaf, x: Any) -> Any:
        return x[:1].expand_as(x).clone()

    def one_hot(leaf: Leaf, x: Any) -> Any:
        hot = torch.zeros_like(x)
        hot[..., 0] = 1.0
        return hot

    def saturated(leaf: Leaf, x: Any) -> Any:
        low = torch.full_like(x, leaf.low)
        low[..., 0] = leaf.high
        return low

    def one_huge(leaf: Leaf, x: Any) -> Any:
        x[..., -1] = leaf.high
        return x

    for shape in (zero_row, equal_row, equal_rows, one_hot, saturated, one_huge):

        def made(leaf: Leaf, shape: Callable[[Leaf, Any], Any] = shape) -> Any:
            x = draw.normal(leaf).double()
            return draw.finish(leaf, shape(leaf, x)) if x.dim() and x.numel() else draw.normal(leaf)

        yield draw.feed(made)


def mask_feeds(draw: Draw) -> Iterator[Feed]:
    """Masks that keep nothing, everything, or nothing in one row; targets of one class only."""
    if any(leaf.mask for leaf in draw.program.tensors):
        for pattern in ("none", "row", "all"):
            yield draw.feed(draw.ordinary, pattern)
            yield draw.feed(lambda leaf: draw.constant(leaf, 1.0), pattern)
            yield draw.feed(lambda leaf: draw.constant(leaf, 0.0), pattern)
        for leaf in [leaf for leaf in draw.program.tensors if leaf.mask][:4]:
            for pattern in ("none", "all", "row"):
                feed = draw.feed(draw.ordinary, "all")
                feed[leaf.id] = draw.mask(leaf, pattern)
                yield feed
    for leaf in [leaf for leaf in draw.program.tensors if leaf.index]:
        for position in (0, (leaf.table or draw.layout.reach) - 1):
            feed = draw.feed(draw.ordinary)
            feed[leaf.id] = torch.full_like(feed[leaf.id], position)
            yield feed


def precise_feeds(draw: Draw) -> Iterator[Feed]:
    """What loses digits: a large offset with small noise, neighbours that nearly agree, small angles."""
    for offset in (1e3, 100.0, 1e4, 30.0, 8.0):
        for noise in (1.0, 0.1, 0.01):
            yield draw.feed(partial(draw.offset, offset=offset, noise=noise))
    for size in (1e-2, 1e-3, 1e-4, 1e-5, 1e-7):
        yield draw.feed(partial(draw.uniform, low=0.3 * size, high=size))
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number and leaf.floating]
    for a in leaves[:4]:
        for b in leaves[:4]:
            if a is not b and draw.shapes[a.id] == draw.shapes[b.id]:
                feed = draw.feed(lambda leaf: draw.uniform(leaf))
                nudge = torch.rand(draw.shapes[a.id], generator=draw.generator, dtype=torch.float64) * 1e-4
                feed[b.id] = draw.finish(b, feed[a.id].double() * (1 + nudge))
                yield feed
    for a in leaves[:4]:
        for size in (1e-2, 1e-4):
            feed = draw.feed(draw.ordinary)
            feed[a.id] = draw.uniform(a, 0.3 * size, size)
            yield feed


def mixed_feeds(draw: Draw, count: int) -> Iterator[Feed]:
    """Half special values, half noise; one in five constant, one in five with two equal arguments."""
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number]
    patterns = ("some", "some", "all", "row", "none")
    for _ in range(count):
        kind = draw.whole(0, 5)
        feed = draw.feed(draw.constant_special if kind == 0 else draw.mixed, patterns[draw.whole(0, 5)])
        for leaf in draw.program.leaves:
            if leaf.number and not leaf.size and draw.whole(0, 2):
                values = pool(leaf)
                feed[leaf.id] = as_number(leaf, values[draw.whole(0, len(values))])
        if kind == 1 and len(leaves) > 1:
            a, b = leaves[draw.whole(0, len(leaves))], leaves[draw.whole(0, len(leaves))]
            if draw.shapes[a.id] == draw.shapes[b.id] and not b.nonzero:
                feed[b.id] = draw.finish(b, feed[a.id].double())
        yield feed


def all_feeds(draw: Draw) -> Iterator[Feed]:
    """Every feed in order: ordinary and simple ones first, so that witnesses are simple."""
    if draw.program.phase == "precision":
        yield from precise_feeds(draw)
    if any(leaf.zeros for leaf in draw.program.tensors):
        yield draw.feed(lambda leaf: draw.constant(leaf, 0.0) if leaf.zeros else draw.ordinary(leaf))
    yield from constant_feeds(draw)
    yield from noise_feeds(draw)
    yield from mask_feeds(draw)
    yield from pool_feeds(draw)
    yield from equal_feeds(draw)
    yield from structured_feeds(draw)
    yield from mixed_feeds(draw, 60)
