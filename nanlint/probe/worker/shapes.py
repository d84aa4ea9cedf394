"""The search for shapes in which a slice runs."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Tuple  # noqa: UP035

import torch

from .dtypes import HALVES, Feed, Values, dtype_named
from .program import KEEPS_INDEX, Leaf, Program, scalars
from .run import run
from .words import Context, Failure

Shape = Tuple[int, ...]  # noqa: UP006 (the worker runs under Python 3.8)
MOST_ELEMENTS = 1 << 16
COMMON_RANKS = (2, 3, 1, 4)
SIZES = (4, 3, 2, 6, 8, 1)


class Layout(NamedTuple):
    """A shape for every tensor leaf and a value for every whole number; 0 stands for the common size n. `reach` bounds index tensors."""

    n: int
    forms: tuple[Shape, ...]
    reach: int
    counts: tuple[int, ...] = ()

    def whole(self, program: Program, leaf: Leaf) -> int:
        """The value of a whole Python number."""
        position = program.counts.index(leaf)
        value = self.counts[position] if position < len(self.counts) else 0 if leaf.size else 2
        return int(leaf.nearest(value or self.n))

    def shapes(self, program: Program) -> dict[int, Shape]:
        """The shape of each leaf."""
        found = {}
        for leaf, form in zip(program.tensors, self.forms):
            shape = [d or self.n for d in form]
            for dim, size in leaf.sizes.items():
                if -len(shape) <= dim < len(shape):
                    shape[dim] = size
            found[leaf.id] = tuple(shape)
        return found


def hinted_sizes(program: Program) -> list[int]:
    """Sizes that the slice itself speaks of: constants in shapes, positions in an index."""
    found: list[int] = []
    for step in program.steps:
        items = [step.value] if step.op == "const" else list(scalars(step.params))
        for v in items:
            if isinstance(v, int) and not isinstance(v, bool) and 4 < v <= 512:
                found.append(v)
        if step.op == "index":
            found += [v + 1 for v in items if isinstance(v, int) and not isinstance(v, bool) and 4 <= v < 512]
    return list(dict.fromkeys(found))[:6]


class Trial(NamedTuple):
    """What one layout gave: how good it is, whether every output ran, the first error and the node it happened at."""

    score: float
    whole: bool
    error: str
    at: int


def attempt(program: Program, layout: Layout) -> Trial:
    """Run the slice once in this layout on harmless values, assumptions ignored."""
    shapes = layout.shapes(program)
    if any(math.prod(s) > MOST_ELEMENTS for s in shapes.values()):
        return Trial(-1.0, False, "too large", -1)
    feed = harmless_feed(program, layout, shapes)
    with torch.no_grad():
        values = run(program, feed, Context(program.seed, 0, False, True))
    values = {k: None if isinstance(v, Failure) and v.degenerate else v for k, v in values.items()}
    failures = [v for v in values.values() if isinstance(v, Failure)]
    whole = not any(isinstance(values[o], Failure) for o in program.outputs)
    some = any(not isinstance(values[o], Failure) for o in program.outputs)
    suspect = program.suspect not in values or not isinstance(values[program.suspect], Failure)
    score = len(values) - len(failures) + 1e3 * suspect + 1e4 * (some and suspect) + 1e5 * whole
    order = {s.id: i for i, s in enumerate(program.steps)}
    first = min(failures, key=lambda f: order.get(f.at, 0)) if failures else None
    return Trial(
        score - 0.5 * broken_conditions(program, values),
        whole and suspect,
        first.error if first else "",
        first.at if first else -1,
    )


def measure_tables(program: Program, layout: Layout) -> None:
    """Tell index leaves the length of the axis they choose from, where it is fixed by the source."""
    feed = harmless_feed(program, layout, layout.shapes(program))
    with torch.no_grad():
        values = run(program, feed, Context(program.seed, 0, False, True))
    for step in program.steps:
        table = values.get(step.args[0]) if step.args and step.args[0] is not None else None
        if step.op == "index" and isinstance(table, torch.Tensor) and table.dim() and table.size(0) > 2 * layout.reach:
            spec = step.params.get("spec")
            if isinstance(spec, list) and spec and isinstance(spec[0], dict) and "$" in spec[0]:
                for leaf in program.sources([spec[0]["$"]], KEEPS_INDEX):
                    leaf.table = table.size(0) if leaf.index else 0


def broken_conditions(program: Program, values: Values) -> int:
    """How many conditions on Python numbers (a rank, a size) do not hold."""
    count = 0
    for step in program.steps:
        if step.op == "assume" and len(step.args) > 1 and step.args[1] is not None:
            cond = values[step.args[1]]
            count += isinstance(cond, (bool, int)) and bool(cond) != bool(step.params.get("holds", True))
    return count


def harmless_feed(program: Program, layout: Layout, shapes: dict[int, Shape]) -> Feed:
    """A feed that breaks nothing, to try out shapes."""
    generator = torch.Generator().manual_seed(program.seed)
    return {leaf.id: harmless(program, leaf, shapes.get(leaf.id, ()), layout, generator) for leaf in program.leaves}


def harmless(program: Program, leaf: Leaf, shape: Shape, layout: Layout, generator: Any) -> Any:
    """A value that breaks nothing."""
    if leaf.number:
        return layout.whole(program, leaf) if leaf.integer else as_number(leaf, 0.5)
    if leaf.boolean:
        mask = torch.ones(shape, dtype=torch.bool)
        return mask
    if leaf.index:
        return torch.randint(0, max(layout.reach, 1), shape, generator=generator).to(leaf.dtype)
    low, high = max(leaf.low, min(0.25, leaf.high)), min(leaf.high, max(0.9, leaf.low))
    values = torch.rand(shape, generator=generator) * max(high - low, 0.0) + low
    return (values.round() if leaf.integer else values).to(leaf.dtype)


def as_number(leaf: Leaf, value: float) -> Any:
    """A Python number that may be fed."""
    value = leaf.nearest(value)
    return int(value) if leaf.integer else float(value)


def form_of(leaf: Leaf, rank: int) -> Shape:
    """The all-alike shape of this rank, or of the rank that is known."""
    known = leaf.rank if leaf.rank is not None else rank
    deepest = max([(-d if d < 0 else d + 1) for d in leaf.sizes] or [0])
    return (0,) * max(known, deepest if leaf.rank is None else 0)


def moves(leaf: Leaf, form: Shape, n: int) -> Iterator[Shape]:
    """Shapes near this one."""
    if leaf.rank is None:
        for rank in (1, 2, 3, 4, 0, 5):
            if rank != len(form):
                yield (0,) * rank
    for i in range(len(form) - 1, -1, -1):
        for size in (1, 3, 2):
            if form[i] != size:
                yield form[:i] + (size,) + form[i + 1 :]
    if form:
        yield form[:-1] + (n * n,)


def told(error: str) -> Iterator[Shape]:
    """Shapes of which torch says that they were wanted, neighbouring axes merged."""
    found = re.search(r"shape '\[([-\d, ]+)\]' is invalid", error)
    wanted = tuple(int(d) for d in found[1].split(",")) if found else ()
    if wanted and all(d > 0 for d in wanted):
        for kept in range(len(wanted)):
            yield (*wanted[:kept], math.prod(wanted[kept:]))


class Shaper:
    """The search for shapes in which the slice runs, bounded in tries and time."""

    def __init__(self, program: Program, until: float) -> None:
        self.program, self.until, self.left = program, until, 260
        self.best: tuple[Trial, Layout | None] = (Trial(-2.0, False, "", -1), None)
        self.seen: dict[Layout, Trial] = {}

    @property
    def over(self) -> bool:
        """Whether the search has to stop, by success or by its bounds."""
        return self.best[0].whole or self.left <= 0 or time.process_time() > self.until

    def consider(self, layout: Layout) -> bool:
        """Try a layout; whether it is better than any before."""
        if self.over or layout in self.seen:
            return False
        self.left -= 1
        trial = self.seen[layout] = attempt(self.program, layout)
        if trial.score > self.best[0].score:
            self.best = (trial, layout)
            return True
        return False

    def uniform(self) -> None:
        """All leaves alike, every common rank and size."""
        hints = hinted_sizes(self.program)
        for n in (4, *[h for h in hints if h <= 16]):
            for rank in COMMON_RANKS:
                self.consider(Layout(n, tuple(form_of(leaf, rank) for leaf in self.program.tensors), n))
        for h in hints:
            for rank in COMMON_RANKS:
                forms = tuple(form_of(leaf, rank) for leaf in self.program.tensors)
                self.consider(Layout(4, tuple(f[:-1] + (h,) if f else f for f in forms), 4))

    def sizes(self) -> None:
        """The best layout in other sizes."""
        layout = self.best[1]
        for n in (*hinted_sizes(self.program)[:4], 3, 2, 6, 8, 12, 1):
            if layout is not None and n <= 64:
                self.consider(layout._replace(n=n, reach=n))
        if layout is not None:
            self.consider(layout._replace(reach=2))
            self.consider(layout._replace(reach=1))

    def descend(self) -> None:
        """Change the leaves that feed the first failing node, one at a time, then two at a time."""
        while not self.over:
            trial, layout = self.best
            if layout is None:
                return
            feeding = self.program.feeding.get(trial.at, frozenset())
            everywhere = list(range(len(self.program.tensors)))
            places = [i for i in everywhere if self.program.tensors[i].id in feeding] or everywhere
            if self.single(layout, places, trial.at, trial.error) or self.double(layout, places):
                continue
            self.sizes()
            for rank in (4, 3, 2, 1):
                forms = tuple(form_of(leaf, rank) for leaf in self.program.tensors)
                self.single(layout._replace(forms=forms), places)
            if self.best[1] is layout:
                return

    def single(self, layout: Layout, places: list[int], at: int = -1, error: str = "") -> bool:
        """One leaf changed: its shape, or the whole number it is."""
        for i in places:
            better = False
            for form in (*told(error), *moves(self.program.tensors[i], layout.forms[i], layout.n)):
                better |= self.consider(layout._replace(forms=layout.forms[:i] + (form,) + layout.forms[i + 1 :]))
            if better:
                return True
        feeding = self.program.feeding.get(at, frozenset())
        counts = list(layout.counts) or [0 if leaf.size else 2 for leaf in self.program.counts]
        for i, leaf in enumerate(self.program.counts):
            for value in (1, 0, 2, 3, 8) if leaf.id in feeding else ():
                if self.consider(layout._replace(counts=(*counts[:i], value, *counts[i + 1 :]))):
                    return True
        return False

    def double(self, layout: Layout, places: list[int]) -> bool:
        """Two leaves changed in rank."""
        for x in range(len(places)):
            for y in range(x + 1, len(places)):
                for a in (1, 2, 3, 4, 0):
                    for b in (1, 2, 3, 4, 0):
                        forms = list(layout.forms)
                        forms[places[x]] = form_of(self.program.tensors[places[x]], a)
                        forms[places[y]] = form_of(self.program.tensors[places[y]], b)
                        if self.consider(layout._replace(forms=tuple(forms))):
                            return True
        return False

    def find(self) -> tuple[Trial, Layout | None]:
        """The best layout, and what it gave."""
        self.uniform()
        if not self.over:
            self.descend()
        if not self.over:
            self.consider(Layout(4, tuple(form_of(leaf, 0) for leaf in self.program.tensors), 4))
        if self.best[1] is not None and any(leaf.index for leaf in self.program.leaves):
            measure_tables(self.program, self.best[1])
        return self.best


SPREADS = frozenset({"std", "var", "std_mean", "var_mean"})


def variants(program: Program, layout: Layout) -> list[Layout]:
    """Further layouts worth feeding: short axes where the engine allows them, a long one where half sums matter."""
    suspect = program.by_id.get(program.suspect)
    lengths = list(program.data.get("lengths") or ())
    if not lengths and suspect is not None and suspect.op in SPREADS:
        lengths = [1]
    if program.phase == "precision" or dtype_named(program.dtype) in HALVES:
        lengths.append(24 if max((len(f) for f in layout.forms), default=1) > 2 else 96)
    others = [layout._replace(n=n, reach=max(min(n, layout.reach), 1)) for n in lengths if 0 <= n <= 4096]
    return [other for other in others if attempt(program, other).whole]
