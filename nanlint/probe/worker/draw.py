"""Values for leaves: special ones, noise, masks, from one seeded generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .dtypes import Feed
from .program import Leaf, Program
from .shapes import Layout, as_number

POOL = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-8, -1e-8, 1e-4, -1e-4, 17.0, -17.0, 89.0, -104.0, 1e3, -1e3, 3e4, -3e4)
SIMPLE = (1.0, 0.5, 0.0, -1.0, 2.0)
WHOLE = (0.0, 1.0, 2.0, 3.0, -1.0, 7.0, 255.0)


def pool(leaf: Leaf) -> list[float]:
    """The special values that lie in the leaf's range, its ends, and the format's own edges."""
    edges: list[float] = []
    if leaf.floating and not leaf.number and not leaf.dtype.is_complex:
        info = torch.finfo(leaf.dtype)
        edges = [v for v in (info.max, -info.max) if leaf.stated and leaf.fits(v)]
    ends = [leaf.low, leaf.high]
    if leaf.nonzero:
        ends = [e if e else 1e-4 for e in ends]
    values = [v for v in (*(WHOLE if leaf.integer else POOL), *ends, *edges) if leaf.fits(v)]
    return list(dict.fromkeys(values)) or [leaf.nearest(1.0)]


class Draw:
    """Values for the leaves of one layout, from one seeded generator."""

    def __init__(self, program: Program, layout: Layout, seed: int) -> None:
        self.program, self.layout = program, layout
        self.shapes = layout.shapes(program)
        self.generator = torch.Generator().manual_seed(seed % (1 << 31))

    def whole(self, low: int, high: int) -> int:
        """A whole number in [low, high)."""
        return int(torch.randint(low, max(high, low + 1), (), generator=self.generator))

    def finish(self, leaf: Leaf, values: Any) -> Any:
        """These values cut to what the leaf may hold, in its dtype."""
        values = values.clamp(leaf.low, leaf.high)
        if leaf.role == "mask" and leaf.floating:
            values = (values > 0.5).to(values.dtype)
        if leaf.integer:
            values = values.round()
        if leaf.rows and values.dim():
            values = values / values.norm(dim=-1, keepdim=True).clamp(min=1e-3)
        result = values.to(leaf.dtype)
        if leaf.nonzero:
            least = leaf.nearest(1e-3 if leaf.dtype == torch.float16 else 1e-4)
            result = torch.where(result == 0, torch.full_like(result, least), result)
        return result

    def constant(self, leaf: Leaf, value: float) -> Any:
        """Every element alike."""
        value = leaf.nearest(value)
        if leaf.number:
            return as_number(leaf, value)
        return self.finish(leaf, torch.full(self.shapes[leaf.id], value, dtype=torch.float64))

    def normal(self, leaf: Leaf, scale: float = 1.0) -> Any:
        """Normal noise, centred in the range if the range excludes 0."""
        if leaf.low < 0 <= leaf.high:
            centre = 0.0
        else:
            centre = leaf.low if leaf.high - leaf.low > 4 else (leaf.low + leaf.high) / 2
        noise = torch.randn(self.shapes[leaf.id], generator=self.generator, dtype=torch.float64) * scale
        if centre == leaf.low and leaf.low >= 0:
            noise = noise.abs()
        elif leaf.high - leaf.low < 4 * scale:
            return self.uniform(leaf)
        return self.finish(leaf, noise + centre)

    def uniform(self, leaf: Leaf, low: float | None = None, high: float | None = None) -> Any:
        """Even noise over the range or a part of it."""
        lo, hi = leaf.low if low is None else max(low, leaf.low), leaf.high if high is None else min(high, leaf.high)
        values = torch.rand(self.shapes[leaf.id], generator=self.generator, dtype=torch.float64) * max(hi - lo, 0.0) + lo
        return self.finish(leaf, values)

    def special(self, leaf: Leaf) -> Any:
        """Each element from the pool."""
        choices = torch.tensor(pool(leaf), dtype=torch.float64)
        picks = torch.randint(0, len(choices), self.shapes[leaf.id], generator=self.generator)
        return self.finish(leaf, choices[picks])

    def constant_special(self, leaf: Leaf) -> Any:
        """Every element the same value from the pool."""
        values = pool(leaf)
        return self.constant(leaf, values[self.whole(0, len(values))])

    def mixed(self, leaf: Leaf) -> Any:
        """Special values, noise, or half of each."""
        pick = self.whole(0, 4)
        if pick < 2:
            return self.normal(leaf) if pick else self.uniform(leaf)
        special = self.special(leaf)
        if pick == 2:
            return special
        return torch.where(torch.rand(special.shape, generator=self.generator) < 0.5, special, self.uniform(leaf))

    def offset(self, leaf: Leaf, offset: float, noise: float) -> Any:
        """A little noise on a large constant."""
        values = torch.randn(self.shapes[leaf.id], generator=self.generator, dtype=torch.float64) * noise
        return self.finish(leaf, values + min(offset, leaf.high)) if leaf.floating else self.ordinary(leaf)

    def index(self, leaf: Leaf) -> Any:
        """Positions along an axis."""
        return torch.randint(0, max(leaf.table or self.layout.reach, 1), self.shapes[leaf.id], generator=self.generator).to(
            leaf.dtype
        )

    def mask(self, leaf: Leaf, pattern: str) -> Any:
        """A mask: some, all, none, or one empty row."""
        shape = self.shapes[leaf.id]
        bits = torch.rand(shape, generator=self.generator) < 0.6
        if pattern in ("all", "none"):
            bits = torch.full(shape, pattern == "all")
        elif bits.numel() > 1:
            bits.view(-1)[0], bits.view(-1)[-1] = True, False
        if pattern == "row" and bits.dim() and bits.numel():
            bits[(0,) * (bits.dim() - 1)] = False
        return bits.to(leaf.dtype)

    def ordinary(self, leaf: Leaf, pattern: str = "some") -> Any:
        """What a leaf holds on a good day."""
        if leaf.mask and not leaf.number:
            return self.mask(leaf, pattern)
        if leaf.index:
            return self.index(leaf)
        if leaf.number:
            return self.layout.whole(self.program, leaf) if leaf.integer else as_number(leaf, 1.0)
        if leaf.integer:
            return self.uniform(leaf, max(leaf.low, 0.0), max(leaf.low, 0.0) + 5)
        return self.normal(leaf)

    def feed(self, of: Callable[[Leaf], Any], pattern: str = "some") -> Feed:
        """A feed: masks and indices as they are, every other leaf by `of`."""
        found = {}
        for leaf in self.program.leaves:
            plain = leaf.number or leaf.index or (leaf.mask and not leaf.number)
            found[leaf.id] = self.ordinary(leaf, pattern) if plain else of(leaf)
        return found


def fed_leaves(program: Program) -> list[Leaf]:
    """The leaves whose values are searched."""
    return [leaf for leaf in program.leaves if not leaf.index and not leaf.mask and not leaf.size]
