"""The three laws that every row of the op table owes, checked against torch itself: sound, monotone, tight.

Operands are zeros or normal numbers, and slopes are asked where results are too: subnormal ones are left out, as the
probe leaves them out.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterator
from typing import Any

import torch
from recipes import RECIPES, Recipe

from nanlint.core.formats import FORMATS, Format
from nanlint.ranges.interval import INF, Interval
from nanlint.ranges.slopes import slopes
from nanlint.ranges.table import Op

FLOATS = ("float32", "float16", "bfloat16", "float64")
POOL = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-8, 1e-4, 17.0, -17.0, 30.0, -30.0, 89.0, -89.0, -104.0, 150.0, 1e3, -1e3, 3e4,
    -3e4)
SLOPE_ERRORS = {"special_ndtr": 64.0, "erf": 64.0, "erfc": 64.0, "erfinv": 64.0}
UNSUPPORTED = ("not implemented for", "not supported", "only supports", "Low precision", "expected scalar type", "Expected",
    "got Half", "got BFloat16",
               "Unsupported dtype", "expects", "must be", "mixed dtype", "should be")


def resolve(dotted: str) -> Any:
    """The torch function of a row."""
    root, *rest = dotted.split(".")
    found: Any = {"torch": torch, "operator": operator}[root]
    for name in rest:
        found = getattr(found, name)
    return found


def normal(value: float, fmt: Format) -> float:
    """`value` in the format, subnormals replaced by zero."""
    y = fmt.nearest(value)
    y = math.copysign(fmt.max, y) if abs(y) == INF else y
    return y if abs(y) >= fmt.tiny else 0.0


def an_end(rng: random.Random, fmt: Format) -> float:
    """A number that torch code meets: special, of any size, or of the format's own edges."""
    kind = rng.random()
    if kind < 0.5:
        return normal(rng.choice(POOL), fmt)
    if kind < 0.7:
        return normal(rng.uniform(-1, 1), fmt)
    if kind < 0.93:
        return normal(rng.gauss(0, 1) * 10 ** rng.uniform(-6, 3), fmt)
    return rng.choice((fmt.max, -fmt.max, fmt.tiny, -fmt.tiny, fmt.max / 4, fmt.nearest(fmt.max**0.5)))


def an_interval(rng: random.Random, fmt: Format, within: tuple[float, float] | None = None, infinite: float = 0.05) -> Interval:
    """An interval between two such numbers; sometimes a point, sometimes without zero, seldom infinite."""
    a, b = an_end(rng, fmt), an_end(rng, fmt)
    if within is not None:
        a, b = (normal(rng.choice((within[0], within[1], rng.uniform(*within))), fmt) for _ in "ab")
    lo, hi = min(a, b), max(a, b)
    if rng.random() < 0.1:
        lo = hi
    if rng.random() < 0.1 and max(abs(lo), abs(hi)) <= 256:
        lo, hi = float(math.floor(lo)), float(math.ceil(hi))
        return Interval(lo, hi, False, lo <= 0 <= hi and lo < hi and rng.random() < 0.2, True)
    if rng.random() < infinite and within is None:
        lo, hi = rng.choice(((lo, INF), (-INF, hi), (-INF, INF)))
    return Interval(lo, hi, False, lo <= 0 <= hi and lo < hi and rng.random() < 0.2)


def draw(rng: random.Random, x: Interval, fmt: Format, n: int, finite: bool = False) -> list[float]:
    """`n` values of the interval: its ends, zeros of both signs, others; one time in five a constant."""
    lo, hi = max(x.lo, -fmt.max), min(x.hi, fmt.max)
    special = [v for v in (x.lo, x.hi) if not (finite and abs(v) == INF)] + [v for v in POOL if lo <= v <= hi]
    if x.has_zero:
        special += [0.0, -0.0]

    def one() -> float:
        kind = rng.random()
        if kind < 0.45 and special:
            value = rng.choice(special)
        elif kind < 0.7 and lo > 0 and hi / lo > 4:
            value = math.exp(rng.uniform(math.log(lo), math.log(hi)))
        else:
            value = lo + rng.random() * (hi - lo) if hi - lo < INF else rng.uniform(-1, 1) * fmt.max
        value = value if abs(value) == INF or value == 0 else normal(value, fmt)
        value = float(round(value)) if x.integer and abs(value) < INF else value
        value = min(max(value, x.lo), x.hi)
        return value if not (value == 0 and (x.nonzero or not x.has_zero)) else (x.hi if x.hi else x.lo)

    if rng.random() < 0.2:
        return [one()] * n
    return [one() for _ in range(n)]


def recipe_of(op: Op) -> Recipe | None:
    """How the row is run: its own recipe, or that of its family; None where it cannot be run on drawn tensors."""
    if op.name in RECIPES:
        return RECIPES[op.name]
    if op.family in ("pointwise", "binary", "compare", "select") and op.call != op.name:
        return Recipe(shapes=((64,),) * op.operands)
    if op.family in ("reduction", "scan") and op.operands == 1:
        return Recipe(shapes=((6, 5),), params={"dim": -1}, count=5, mixes=True)
    return None


def run(op: Op, recipe: Recipe, tensors: list[Any]) -> tuple[Any, ...]:
    """The results of torch."""
    args = recipe.arrange(tensors) if recipe.arrange else tensors
    result = resolve(op.call or f"torch.{op.name}")(*args, **recipe.params)
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def intervals(op: Op, recipe: Recipe, rng: random.Random, fmt: Format, infinite: float = 0.05) -> list[Interval]:
    """One range per operand."""
    found = []
    for i in range(len(recipe.shapes)):
        if i in recipe.fixed:
            t = recipe.fixed[i].double()
            found.append(Interval(t.min().item(), t.max().item(), False, False, True))
        else:
            found.append(an_interval(rng, fmt, recipe.within.get(i), infinite))
    return found


def tensors_of(recipe: Recipe, args: list[Interval], rng: random.Random, fmt: Format, finite: bool = False) -> list[Any]:
    """Drawn tensors; one time in five all operands of one shape are equal where their ranges allow it."""
    dtype = getattr(torch, fmt.name)
    made = []
    size = rng.choice((64, 64, 17, 5, 1))  # vectorised kernels, their tails, and scalar ones
    for i, (shape, x) in enumerate(zip(recipe.shapes, args)):
        if i in recipe.fixed:
            made.append(recipe.fixed[i])
            continue
        shape = (size,) if shape == (64,) else shape
        t = torch.tensor(draw(rng, x, fmt, math.prod(shape), finite), dtype=torch.float64).to(dtype).reshape(shape)
        made.append(recipe.prepare[i](t) if i in recipe.prepare else t)
    return made


def lies_in(value: float, x: Interval) -> bool:
    """The value is one of the interval's."""
    if value != value:
        return x.nan
    whole = not x.integer or abs(value) == INF or value.is_integer()
    return x.lo <= value <= x.hi and whole and not (value == 0 and x.nonzero)


def facts(recipe: Recipe) -> dict[str, Any]:
    """The parameters of a row's functions."""
    params = dict(recipe.params)
    if recipe.count is not None:
        params["count"] = recipe.count
    return {**params, **recipe.facts}


def unsound(op: Op, fmt: Format, rng: random.Random, trials: int = 25) -> Iterator[str]:
    """Where torch's value lies outside the row's range."""
    recipe = recipe_of(op)
    assert recipe is not None
    for trial in range(trials):
        args = intervals(op, recipe, rng, fmt)
        if any(x.is_empty for x in args):
            continue
        tensors = tensors_of(recipe, args, rng, fmt)
        params = facts(recipe) if trial % 3 or "count" in recipe.facts else {k: v for k,
            v in facts(recipe).items() if k != "count"}
        forwards = op.parts or (op.forward,)
        try:
            results = run(op, recipe, tensors)
        except (RuntimeError, NotImplementedError) as error:
            if any(word in str(error) for word in UNSUPPORTED) or recipe.may_raise:
                continue
            raise
        for forward, result in zip(forwards, results):
            if result is None:
                continue
            inside = forward(tuple(args), params, fmt)
            values = torch.view_as_real(result.resolve_conj()) if torch.is_complex(result) else result
            for value in set(map(repr, values.detach().double().flatten().tolist())):
                if not lies_in(float(value), inside):
                    yield f"{op.name} {fmt.name}: {value} outside {inside} for {args} {params}"[:700]
                    break


def unsound_slope(op: Op, fmt: Format, rng: random.Random, trials: int = 15) -> Iterator[str]:
    """Where torch's derivative lies outside the range of the row's slope."""
    recipe = recipe_of(op)
    if recipe is None or op.slope is None or not recipe.differentiable:
        return
    for _ in range(trials):
        args = intervals(op, recipe, rng, fmt, infinite=0.0)
        tensors = [t.detach().requires_grad_(t.is_floating_point()) for t in tensors_of(recipe, args, rng, fmt, finite=True)]
        try:
            result = run(op, recipe, tensors)[0]
            if not result.requires_grad:
                continue
            flat = result.flatten()
            if ((flat != 0) & (flat.abs() < fmt.tiny)).any():
                continue
            wanted = flat[rng.randrange(flat.numel())] if recipe.mixes else flat.sum()
            inputs = [t for t in tensors if t.requires_grad]
            grads = torch.autograd.grad(wanted, inputs, allow_unused=True)
        except (RuntimeError, NotImplementedError) as error:
            if any(word in str(error) for word in UNSUPPORTED) or recipe.may_raise:
                continue
            raise
        ranges = slopes(op, tuple(args), facts(recipe), fmt)
        yield from _outside(op, fmt, args, [r for r, t in zip(ranges, tensors) if t.requires_grad], grads, recipe, tensors)


def _outside(op: Op, fmt: Format, args: list[Interval], ranges: list[Interval | None], grads: Any, recipe: Recipe,
    tensors: Any) -> Iterator[str]:
    for i, (inside, grad) in enumerate(zip(ranges, grads)):
        if inside is None or grad is None or (op.name == "pow" and i == 1 and args[1].is_point):
            continue
        if recipe.mixes:
            inside = inside.hull(Interval(0.0, 0.0))
        slack = 32 * fmt.eps * SLOPE_ERRORS.get(op.name, 1.0)
        lo = inside.lo - abs(inside.lo) * slack - fmt.tiny if abs(inside.lo) < INF else inside.lo
        hi = inside.hi + abs(inside.hi) * slack + fmt.tiny if abs(inside.hi) < INF else inside.hi
        lo, hi = (-INF if lo < -fmt.max else lo), (INF if hi > fmt.max else hi)
        for value, at in zip(grad.double().flatten().tolist(), tensors[i].flatten().tolist()):
            if not (inside.nan if value != value else lo <= value <= hi):
                yield f"{op.name} {fmt.name}: slope {i} is {value} at {at}, outside {inside} for {args}"[:600]
                break


def narrowed(rng: random.Random, x: Interval, fmt: Format) -> Interval:
    """A part of the interval."""
    a, b = sorted(draw(rng, x, fmt, 2) if x.lo < x.hi else [x.lo, x.hi])
    lo, hi = rng.choice(((a, b), (x.lo, b), (a, x.hi), (a, a), (x.lo, x.lo), (x.hi, x.hi)))
    lo, hi = min(lo, hi) + 0.0, max(lo, hi) + 0.0
    return Interval(lo, hi, False, x.nonzero and lo <= 0 <= hi and lo < hi, x.integer)


def not_monotone(op: Op, fmt: Format, rng: random.Random, trials: int = 40) -> Iterator[str]:
    """Where a smaller range gives a result outside that of the larger one."""
    recipe = recipe_of(op)
    params = facts(recipe) if recipe else {}
    count = len(recipe.shapes) if recipe else max(op.operands, 0)
    for _ in range(trials):
        wide = [an_interval(rng, fmt, recipe.within.get(i) if recipe else None) for i in range(count)]
        part = [narrowed(rng, x, fmt) for x in wide]
        if any(x.nonzero and p.lo == p.hi == 0 for x, p in zip(wide, part)):
            continue
        for forward in op.parts or (op.forward,):
            whole, small = forward(tuple(wide), params, fmt), forward(tuple(part), params, fmt)
            if not small.is_within(whole):
                yield f"{op.name} {fmt.name}: {part} gives {small}, but {wide} gives {whole}"


def not_tight(op: Op, fmt: Format, rng: random.Random, ulps: float, floor: float = 0.0, trials: int = 60) -> Iterator[str]:
    """Where the range of a point is wider than `ulps`, of a value below `floor` in size those of `floor`."""
    recipe = recipe_of(op)
    assert recipe is not None
    for _ in range(trials):
        args = [Interval(v, v) for v in (draw(rng, an_interval(rng, fmt, recipe.within.get(i), 0.0), fmt,
            1)[0] for i in range(len(recipe.shapes)))]
        result = op.forward(tuple(args), facts(recipe), fmt)
        if result.is_empty or not result.is_finite:
            continue
        width = result.hi - result.lo
        if width > ulps * fmt.eps * max(result.magnitude, floor) + 256 * fmt.tiny:
            yield f"{op.name} {fmt.name}: {[a.lo for a in args]} gives {result}"


__all__ = ["FLOATS", "FORMATS", "not_monotone", "not_tight", "recipe_of", "resolve", "unsound", "unsound_slope"]
