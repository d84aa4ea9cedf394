"""How reductions move intervals: `params["count"]` elements are reduced, or from `params["count_min"]` (1) on if unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nanlint.core.formats import Format
from nanlint.ranges import real
from nanlint.ranges.arith import mul
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.transfer import absolute

Args = Sequence[Interval]
COUNT_MAX = 2**24
ROUNDING = 300  # ulps that a long sum may lose: torch sums in cascades


def counts(params: Params, least: int = 1) -> tuple[int, int]:
    """The least and the greatest number of elements that are reduced."""
    count = params.get("count")
    if isinstance(count, (int, float)):
        return int(count), int(count)
    low = params.get("count_min")
    return (int(low) if isinstance(low, (int, float)) else least), COUNT_MAX


def _scaled(x: Interval, low: float, high: float) -> tuple[float, float]:
    """The ends of n * x for n from `low` to `high`."""
    lo = x.lo * (low if x.lo >= 0 else high) if x.lo else 0.0
    hi = x.hi * (high if x.hi >= 0 else low) if x.hi else 0.0
    return (lo if lo == lo else 0.0), (hi if hi == hi else 0.0)


def total(args: Args, params: Params, fmt: Format) -> Interval:
    """The sum of n values of x; half precision is summed in float32 and rounded once."""
    return sum_of(args[0], *counts(params), fmt)


def sum_of(x: Interval, low: int, high: int, fmt: Format) -> Interval:
    """The sum of `low` to `high` values of `x`."""
    if high == 0:
        return Interval(0.0, 0.0, integer=True)
    if x.lo > x.hi:
        return x if low else x.hull(Interval(0.0, 0.0))
    lo, hi = _scaled(x, low, high)
    nan = x.nan or (lo < -fmt.work_max and hi > fmt.work_max)
    if low == high == 1:
        return Interval(fmt.nearest(x.lo), fmt.nearest(x.hi), nan, x.nonzero, x.integer)
    if x.integer and max(-lo, hi) * fmt.slack <= 1:
        return Interval(fmt.nearest(lo), fmt.nearest(hi), nan, False, True)
    ulps = min(high, ROUNDING)
    return Interval(fmt.lower(lo, ulps), fmt.upper(hi, ulps), nan, False, x.integer)


def nansum(args: Args, params: Params, fmt: Format) -> Interval:
    """The sum with NaN taken as zero."""
    x = args[0].hull(Interval(0.0, 0.0)) if args[0].nan else args[0]
    return sum_of(x.with_(nan=False), *counts(params), fmt)


def mean(args: Args, params: Params, fmt: Format) -> Interval:
    """The mean of n values of x; NaN of none; the sum may overflow before it is divided."""
    return mean_of(args[0], *counts(params), fmt)


def mean_of(x: Interval, low: int, high: int, fmt: Format) -> Interval:
    """The mean of `low` to `high` values of `x`."""
    nan = x.nan or low == 0
    if x.lo > x.hi or high == 0:
        return Interval(INF, -INF, nan)
    ulps = 0 if high == 1 else min(high, ROUNDING)
    lo, hi = fmt.lower(x.lo, ulps), fmt.upper(x.hi, ulps)
    top = fmt.work_max / high if fmt.work_max / high > 0 else INF
    if x.hi > top:
        hi = INF
    if x.lo < -top:
        lo = -INF
    return Interval(lo, hi, nan or (lo == -INF and hi == INF))


def mean_by_sum(args: Args, params: Params, fmt: Format) -> Interval:
    """The mean as a sum in the format itself, which may overflow there, divided by n."""
    x = args[0]
    low, high = counts(params)
    if x.lo > x.hi or high == 0:
        return Interval(INF, -INF, x.nan or low == 0)
    ulps = min(high, ROUNDING) * fmt.eps / fmt.slack * 2
    lo, hi = fmt.lower(x.lo, ulps), fmt.upper(x.hi, ulps)
    hi = INF if x.hi > fmt.max / high / 1.1 else hi
    lo = -INF if x.lo < -fmt.max / high / 1.1 else lo
    return Interval(lo, hi, x.nan or low == 0 or (lo == -INF and hi == INF))


def product(args: Args, params: Params, fmt: Format) -> Interval:
    """The product of n values of x."""
    return product_of(args[0], *counts(params), fmt)


def product_of(x: Interval, low: int, high: int, fmt: Format) -> Interval:
    """The product of `low` to `high` values of `x`, rounded at every step."""
    if x.lo > x.hi or high <= 0:
        return Interval(1.0, 1.0, x.nan, integer=True) if high <= 0 else x
    if low == high == 1:
        return Interval(fmt.nearest(x.lo), fmt.nearest(x.hi), x.nan, x.nonzero, x.integer)
    m = x.magnitude
    top = max(real.power(m, low), real.power(m, high))
    ulps = min(high, 4096) * fmt.eps / fmt.slack
    nan = x.nan or (x.mignitude < 1 and top > fmt.max / 4)
    hi = fmt.upper(top, ulps)
    if x.lo < 0:
        return Interval(-hi, hi, nan, False, x.integer)
    lo = fmt.lower(min(real.power(x.lo, low), real.power(x.lo, high)), ulps)
    lo = 0.0 if lo < fmt.tiny or x.mignitude < 1 and top > fmt.max / 4 else lo
    return Interval(lo, hi, nan, False, x.integer)


def _correction(params: Params) -> float:
    if params.get("unbiased") is False:
        return 0.0
    value = params.get("correction", 1)
    return float(value) if isinstance(value, (int, float)) else 1.0


def variance(args: Args, params: Params, fmt: Format) -> Interval:
    """The variance of n values of x: at most a quarter of the squared width times n / (n - correction); NaN of too few."""
    lo, hi, nan = _variance(args[0], params, fmt)
    return Interval(fmt.nearest(lo), fmt.nearest(hi), nan) if lo <= hi else Interval(INF, -INF, nan)


def deviation(args: Args, params: Params, fmt: Format) -> Interval:
    """The square root of the variance, rounded once."""
    lo, hi, nan = _variance(args[0], params, fmt)
    return Interval(fmt.nearest(math.sqrt(lo)), fmt.nearest(math.sqrt(hi)), nan) if lo <= hi else Interval(INF, -INF, nan)


def _variance(x: Interval, params: Params, fmt: Format) -> tuple[float, float, bool]:
    correction = _correction(params)
    low, high = counts(params, 2)
    nan = x.nan or x.has_infinity or low <= correction
    if x.lo > x.hi or high <= correction:
        return INF, -INF, nan
    n = max(low, math.floor(correction) + 1)
    width = x.hi - x.lo + (8 * fmt.slack * x.magnitude if high > 1 else 0.0)
    if width > fmt.work_max or width != width:
        return 0.0, INF, True
    top = width * width * (0.25 * n / (n - correction)) * (1 + ROUNDING * fmt.slack)
    return 0.0, (top if top <= fmt.work_max else INF), nan


def norm(args: Args, params: Params, fmt: Format) -> Interval:
    """The p-norm of n values of x; torch squares before it adds, so it over- and underflows early."""
    x = absolute(args[0])
    low, high = counts(params)
    if x.lo > x.hi:
        return x
    p = params.get("p", params.get("ord"))
    p = 2.0 if p is None or isinstance(p, str) and p != "inf" else float(p) if isinstance(p, (int, float, str)) else -1.0
    if p == INF:
        return Interval(fmt.nearest(x.lo), fmt.nearest(x.hi), x.nan)
    if p == -INF:
        return Interval(fmt.nearest(x.lo), fmt.nearest(x.hi), x.nan)
    if p == 0:
        return Interval(0.0 if x.lo == 0 else low, fmt.nearest(high), x.nan, False, True)
    if p < 0:
        return Interval(0.0, INF, x.nan)
    ulps = min(high, ROUNDING) + 4 * max(p, 1.0)
    top = real.power(x.hi, p) * high
    hi = fmt.upper(x.hi * real.power(high, 1 / p), ulps) if top <= fmt.work_max * (1 - ulps * fmt.slack) or p == 1 else INF
    lo = fmt.lower(x.lo * real.power(low, 1 / p), ulps) if real.power(x.lo, p) >= (0.0 if p == 1 else fmt.work.tiny) else 0.0
    return Interval(min(lo, hi), hi, x.nan)


def logsumexp(args: Args, params: Params, fmt: Format) -> Interval:
    """log of the sum of exp over n values: between max(x) and max(x) + log(n)."""
    x = args[0]
    if x.lo > x.hi:
        return x
    low, high = counts(params)
    lo, hi = x.lo + real.log(low), x.hi + math.log(high)
    spread, ulps = 8 * fmt.slack * (1 + math.log(high)), 8.0
    if fmt.bits < 32:
        spread, ulps = 4 * fmt.eps * (1 + math.log(high)), 2 * fmt.eps / fmt.slack
    return Interval(fmt.lower(lo - spread, ulps) if high > 1 else lo, fmt.upper(hi + spread, ulps) if high > 1 else hi, x.nan)


def softmax(args: Args, params: Params, fmt: Format) -> Interval:
    """exp(x) over its sum: in [0, 1]; NaN where every element may be -inf, or one +inf."""
    x = args[0]
    nan = x.nan or x.lo == -INF or x.hi == INF
    if x.lo > x.hi:
        return x
    low, high = counts(params)
    width = x.hi - x.lo
    lo = 1 / (1 + (high - 1) * real.exp(width)) if width == width else 0.0
    hi = 1 / (1 + max(low - 1, 0) * real.exp(-width)) if width == width else 1.0
    ulps = 16 + min(high, ROUNDING)
    lo = fmt.lower(lo, ulps)
    return Interval(0.0 if lo < 4 * fmt.work.tiny else lo, min(fmt.upper(hi, ulps), 1.0), nan)


def log_softmax(args: Args, params: Params, fmt: Format) -> Interval:
    """x minus the logsumexp of x: at most 0, at least minus the width and log(n)."""
    x = args[0]
    nan = x.nan or x.lo == -INF or x.hi == INF
    if x.lo > x.hi:
        return x
    low, high = counts(params)
    width = x.hi - x.lo
    if width != width or width == INF:
        return Interval(-INF, 0.0, nan or width != width)
    error = 8 * fmt.slack * (x.magnitude + math.log(high) + 1)
    if fmt.bits < 32:
        error += 2 * fmt.eps * (width + math.log(high) + 1)
    lo = -width - math.log(high) - error
    hi = -real.softplus(math.log(low - 1) - width) + error if low > 1 else 0.0
    return Interval(fmt.lower(lo, 8), min(fmt.nearest(hi), 0.0), nan)


def running_total(args: Args, params: Params, fmt: Format) -> Interval:
    """The sums of the first 1 to n values."""
    return sum_of(args[0], 1, counts(params)[1], fmt)


def running_product(args: Args, params: Params, fmt: Format) -> Interval:
    """The products of the first 1 to n values."""
    return product_of(args[0], 1, counts(params)[1], fmt)


def running_logsumexp(args: Args, params: Params, fmt: Format) -> Interval:
    """The logsumexp of the first 1 to n values."""
    return logsumexp(args, {"count": None}, fmt) if params.get("count") is None else logsumexp(
        args, {"count": 1}, fmt
    ).hull(logsumexp(args, params, fmt))


def contraction(a: Interval, b: Interval, low: int, high: int, fmt: Format) -> Interval:
    """The sum of n products of values of `a` and of `b`, each product in the format torch computes in."""
    return sum_of(mul((a, b), {}, fmt.work), low, high, fmt)


def matmul(args: Args, params: Params, fmt: Format) -> Interval:
    """A product of matrices whose inner dimension is the count."""
    return contraction(args[0], args[1], *counts(params), fmt)


def position(args: Args, params: Params, fmt: Format) -> Interval:
    """An index below the count."""
    return Interval(0.0, float(counts(params)[1] - 1), integer=True)


def too_large_to_square(x: Interval, count: float, fmt: Format) -> bool:
    """A sum of `count` squares may overflow in the format."""
    return not x.is_empty and x.magnitude > 0 and not x.magnitude < math.sqrt(fmt.max / max(count, 1.0))


def number(args: Args, params: Params, fmt: Format) -> Interval:
    """A number of elements, at most the count."""
    return Interval(0.0, float(counts(params)[1]), integer=True)
