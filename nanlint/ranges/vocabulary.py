"""The words that slopes use beside the ops of the table: what torch's backward functions do in special cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nanlint.core.formats import Format
from nanlint.ranges import arith, real, reduce
from nanlint.ranges.interval import INF, Interval
from nanlint.ranges.transfer import increasing, negative

Env = Mapping[str, Any]
Word = Callable[..., "Interval | None"]
ZERO = Interval(0.0, 0.0, integer=True)
WILD = Interval(-INF, INF, True)


def _between(fmt: Format, env: Env, a: Any, b: Any) -> Interval | None:
    """Anything from a to b."""
    ends = [v if isinstance(v, Interval) else Interval(float(v), float(v)) for v in (a, b) if v is not None and not isinstance(v,
        str)]
    return ends[0].hull(ends[1]) if len(ends) == 2 else None


def _where_zero(fmt: Format, env: Env, y: Interval, z: Interval) -> Interval:
    """y * z, but 0 where y is 0."""
    if y.lo == 0 == y.hi:
        return Interval(0.0, 0.0, y.nan)
    product = arith.mul((y, z), {}, fmt)
    nan = y.nan or z.nan or (y.has_infinity and z.has_zero)
    return product.with_(nan=nan) if not product.is_empty else product


def _base_slope(fmt: Format, env: Env, a: Interval, b: Interval) -> Interval:
    """b * a ** (b - 1), 0 where b is 0."""
    if b.lo == 0 == b.hi:
        return ZERO
    one = Interval(1.0, 1.0, integer=True)
    power = arith.power((a, arith.sub((b, one), {}, fmt.work)), {}, fmt)
    if fmt.bits < 32 and not b.integer:
        power = power.hull(arith.power((a, arith.sub((b, one), {}, fmt)), {}, fmt))
    product = arith.mul((b, power), {}, fmt)
    if b.has_zero:
        product = product.hull(ZERO).with_(nan=a.nan or b.nan or power.nan)
    return product


def _exponent_slope(fmt: Format, env: Env, a: Interval, b: Interval, y: Interval) -> Interval:
    """y * log(a), but 0 where a is 0 and b is not negative; the exponent that is one number is taken for a constant."""
    if b.is_point:
        return ZERO
    if a.lo < 0 or b.lo < 0 or a.is_empty or b.is_empty:
        return _where_zero(fmt, env, y, increasing(real.log, (0.0, INF))((a,), {}, fmt))
    deepest = -math.log(fmt.smallest)
    low = -min(1.01 / (math.e * b.lo), deepest) if b.lo > 0 else -deepest
    high = y.hi * math.log(min(a.hi, fmt.max)) if a.hi > 1 else 0.0
    return Interval(fmt.nearest(low) if a.lo < 1 else 0.0, fmt.upper(high, 64), a.nan or b.nan or y.nan)


def _atan2_slope(fmt: Format, env: Env, numerator: Interval, a: Interval, b: Interval) -> Interval:
    """numerator / (a * a + b * b), 0 where both are 0; the reciprocal overflows near 0."""
    square = arith.add((arith.square((a,), {}, fmt), arith.square((b,), {}, fmt)), {}, fmt)
    if square.is_empty:
        return square
    top = 1 / square.lo if square.lo > 0 else INF
    reciprocal = Interval(fmt.lower(1 / square.hi, 2) if square.hi > 0 else 0.0, fmt.upper(top, 2), square.nan)
    if square.hi <= 0:
        return ZERO
    slope = arith.mul((numerator, reciprocal), {}, fmt)
    return slope.hull(ZERO) if square.lo <= 0 else slope


def _div_slope(fmt: Format, env: Env, slope: Interval | None, mode: Any) -> Interval | None:
    """The slope, but 0 for a quotient that is rounded to whole numbers."""
    return ZERO if isinstance(mode, str) else slope


def _logit_slope(fmt: Format, env: Env, x: Interval, eps: Any) -> Interval:
    """1 / (x (1 - x)); 0 outside [eps, 1 - eps] where eps is given."""
    inside = x
    if isinstance(eps, (int, float)):
        inside = Interval(max(x.lo, eps), min(x.hi, 1 - eps))
        if inside.is_empty:
            return ZERO
    outside = not isinstance(eps, (int, float)) and (x.lo < 0 or x.hi > 1)
    one_minus = arith.sub((Interval(1.0, 1.0), inside), {}, fmt)
    product = arith.mul((inside, one_minus), {}, fmt)
    slope = arith.div((Interval(1.0, 1.0), product), {}, fmt)
    slope = slope.with_(nan=slope.nan or outside)
    return slope.hull(ZERO) if isinstance(eps, (int, float)) and (x.lo < eps or x.hi > 1 - eps) else slope


def _xlogy_slope(fmt: Format, env: Env, x: Interval, log: Interval) -> Interval:
    """log(other), but 0 where x is 0 and other is not positive."""
    if x.lo == 0 == x.hi:
        least = math.log(fmt.smallest) * 1.01
        return Interval(max(log.lo, least), max(log.hi, least)).hull(ZERO) if not log.is_empty else ZERO
    return log.hull(ZERO) if x.has_zero else log


def _mean_slope(fmt: Format, env: Env, count: Any, count_min: Any) -> Interval:
    """1 / n."""
    low, high = reduce.counts(env)
    return Interval(fmt.lower(1 / high, 1) if high else 0.0, fmt.upper(1 / max(low, 1), 1))


def _rest_of_product(fmt: Format, env: Env, x: Interval, count: Any) -> Interval:
    """The product of the other elements; torch looks for zeros first."""
    low, high = reduce.counts(env)
    if high <= 1:
        return Interval(1.0, 1.0)
    rest = reduce.product((x,), {"count": high - 1}, fmt).hull(reduce.product((x,), {"count": max(low - 1, 1)}, fmt))
    rest = rest.hull(Interval(1.0, 1.0)) if low <= 1 else rest
    scale = 64 * min(high, 64) * fmt.eps
    whole = reduce.product((x,), {"count": high}, fmt)
    if x.has_zero or rest.lo <= 0 or not whole.is_finite or whole.mignitude < fmt.tiny * 4:
        small = rest.magnitude * (1 + scale)
        wide = Interval(min(rest.lo * (1 + scale), 0.0) if rest.lo < 0 else 0.0, small)
        return wide if whole.is_finite and whole.mignitude >= fmt.tiny * 4 or x.has_zero and x.is_point else Interval(
            -INF if x.lo < 0 or not whole.is_finite else 0.0, INF, not whole.is_finite or rest.nan
        ) if whole.has_infinity else wide
    return Interval(rest.lo * (1 - scale), rest.hi * (1 + scale), rest.nan)


def _dof(env: Env) -> tuple[float, bool]:
    """The least positive n - correction, and whether it may be 0 or less."""
    correction = env.get("correction", 1)
    correction = float(correction) if isinstance(correction, (int, float)) else 1.0
    low, high = reduce.counts(env, 2)
    degenerate = low <= correction
    return max(low - correction, 1.0 if high > correction + 1 or not degenerate else 0.0), degenerate


def _sum_overflows(x: Interval, env: Env, fmt: Format) -> bool:
    """The mean that the backward subtracts may overflow."""
    count = env.get("count")
    return 4 * x.magnitude * (count if isinstance(count, int) else 1) > fmt.max


def _spread_slope(fmt: Format, env: Env, x: Interval, correction: Any, count: Any) -> Interval:
    """2 (x - mean) / (n - correction)."""
    dof, degenerate = _dof(env)
    width = (x.hi - x.lo) + 16 * fmt.slack * x.magnitude
    if dof == 0 or width != width or _sum_overflows(x, env, fmt):
        return WILD
    top = fmt.upper(2 * width / dof, 8)
    return Interval(-top, top, degenerate)


def _std_slope(fmt: Format, env: Env, x: Interval, correction: Any, count: Any, count_min: Any) -> Interval:
    """(x - mean) / (std (n - correction)), 0 where std is 0: at most 1 / sqrt(n - correction)."""
    dof, degenerate = _dof(env)
    if dof == 0 or _sum_overflows(x, env, fmt):
        return WILD
    top = min(1.0, dof**-0.5) * (1 + 64 * fmt.eps) if dof >= 1 else dof**-0.5 * 2
    return Interval(-top, top, degenerate)


def _norm_slope(fmt: Format, env: Env, p: Any) -> Interval:
    """x / norm, 0 at the zero vector: in [-1, 1] for p >= 1."""
    if env["y"].hi == INF:
        return WILD
    p = env.get("p", p) if p is None else p
    if p is None or isinstance(p, str) and p not in ("nuc", "inf") or isinstance(p, (int, float)) and p >= 1:
        top = 1 + 16 * fmt.eps
        return Interval(-top, top)
    if p == 0:
        return ZERO
    return Interval(-1.0, 1.0) if p == "inf" else WILD


def _normalize_slope(fmt: Format, env: Env, eps: Any) -> Interval:
    """At most 2 / max(norm, eps): NaN where eps rounds to 0 and the vector may be 0."""
    x = env["input"]
    floor = max(fmt.nearest(float(eps)) if isinstance(eps, (int, float)) else 0.0, reduce.norm((x,), env, fmt).lo)
    if floor == 0:
        return WILD
    top = fmt.nearest(2 / floor)
    return Interval(-top, top)


def _dropout_slope(fmt: Format, env: Env, p: Any) -> Interval:
    """0 or 1 / (1 - p)."""
    if not isinstance(p, (int, float)) or not 0 <= p < 1:
        return Interval(0.0, INF) if p != 1 else ZERO
    return Interval(0.0, fmt.upper(1 / (1 - p), 2))


def _bce_slope(fmt: Format, env: Env, p: Interval, target: Interval) -> Interval:
    """(p - target) / max(p (1 - p), 1e-12)."""
    one = Interval(1.0, 1.0)
    product = arith.mul((p, arith.sub((one, p), {}, fmt)), {}, fmt)
    floor = fmt.nearest(1e-12)
    below = Interval(max(product.lo, floor), max(product.hi, floor), product.nan)
    return arith.div((arith.sub((p, target), {}, fmt), below), {}, fmt)


def _kl_slope(fmt: Format, env: Env, target: Interval, log_target: Any) -> Interval:
    """-target, or -exp(target)."""
    t = increasing(real.exp, codomain=(0.0, INF))((target,), {}, fmt) if log_target else target
    return negative(t).hull(ZERO)


WORDS: dict[str, Word] = {
    "between": _between,
    "where_zero": _where_zero,
    "base_slope": _base_slope,
    "exponent_slope": _exponent_slope,
    "atan2_slope": _atan2_slope,
    "div_slope": _div_slope,
    "logit_slope": _logit_slope,
    "xlogy_slope": _xlogy_slope,
    "mean_slope": _mean_slope,
    "rest_of_product": _rest_of_product,
    "spread_slope": _spread_slope,
    "std_slope": _std_slope,
    "norm_slope": _norm_slope,
    "normalize_slope": _normalize_slope,
    "dropout_slope": _dropout_slope,
    "bce_slope": _bce_slope,
    "kl_slope": _kl_slope,
    "sums": lambda fmt, env, x: x.hull(ZERO),
    "degenerate": lambda fmt, env: WILD,
}
