"""How functions of one value move intervals; each helper is named for the property that it rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nanlint.core.formats import Format
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import Forward

Scalar = Callable[[float], float]
Args = Sequence[Interval]


def increasing(
    fn: Scalar,
    domain: tuple[float, float] = (-INF, INF),
    codomain: tuple[float, float] = (-INF, INF),
    ulps: float = 4,
    at_zero: bool = False,
    exact: bool = False,
    saturates: float = 0.0,
    knot: tuple[float, float] | None = None,
    error: float = 0.0,
    overflows: bool = False,
    coarse: float = 0.0,
) -> Forward:
    """`fn` grows with x; outside `domain` it is NaN.

    `ulps` is torch's error, 0 where it rounds correctly; `at_zero` says that the result is zero at zero only; `exact` that it
    is a whole number; at the `knot` (x, y) torch is exact. `error` is an absolute
    error in units of the spacing at 1; `overflows` that torch computes exp(|x|) on the way; `coarse` are
    further ulps of the narrow formats. Results smaller than `saturates` times the
    smallest normal number may be flushed to zero.
    """
    low, high = domain
    bottom, top = codomain

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        a, b, nan = x.lo, x.hi, x.nan
        if a < low:
            a, nan = low, nan or a <= b
        if b > high:
            b, nan = high, nan or x.lo <= b
        if a > b:
            return Interval(INF, -INF, nan)
        if ulps:
            off = ulps + coarse * fmt.eps / fmt.slack if coarse and fmt.bits < 32 else ulps
            lo, hi = fmt.lower(fn(a), off), fmt.upper(fn(b), off)
            if error:
                lo, hi = fmt.nearest(lo - error * fmt.slack), fmt.nearest(hi + error * fmt.slack)
            if overflows:
                edge = 88.0 if fmt.bits < 64 else 709.0
                lo, hi = -INF if a < -edge else lo, INF if b > edge else hi
            if knot is not None:
                lo = max(lo, knot[1]) if a >= knot[0] else lo
                hi = min(hi, knot[1]) if b <= knot[0] else hi
            if saturates and -saturates * fmt.tiny < hi and lo < saturates * fmt.tiny:
                lo, hi = min(lo, 0.0), max(hi, 0.0)
        else:
            lo, hi = fmt.nearest(fn(a)), fmt.nearest(fn(b))
        return Interval(max(lo, bottom), min(hi, top), nan, at_zero and x.nonzero, exact)

    return forward


def decreasing(
    fn: Scalar,
    domain: tuple[float, float] = (-INF, INF),
    codomain: tuple[float, float] = (-INF, INF),
    ulps: float = 4,
    coarse: float = 0.0,
) -> Forward:
    """`fn` falls as x grows; outside `domain` it is NaN."""
    grows = increasing(lambda x: fn(-x), (-domain[1], -domain[0]), codomain, ulps, coarse=coarse)

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        return grows((Interval(-x.hi, -x.lo, x.nan),), params, fmt)

    return forward


def even(of_magnitude: Forward) -> Forward:
    """The function of |x| that `of_magnitude` is for x >= 0."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        return of_magnitude((absolute(args[0]),), params, fmt)

    return forward


def absolute(x: Interval) -> Interval:
    """The magnitudes of `x`, exactly."""
    if x.lo >= 0 or x.lo > x.hi:
        return x
    if x.hi <= 0:
        return Interval(0.0 - x.hi, -x.lo, x.nan, x.nonzero, x.integer)
    return Interval(0.0, max(-x.lo, x.hi), x.nan, x.nonzero, x.integer)


def negative(x: Interval) -> Interval:
    """The negatives of `x`, exactly."""
    return Interval(0.0 - x.hi, 0.0 - x.lo, x.nan, x.nonzero, x.integer)


def falls_then_grows(fn: Scalar, turn: float, least: float, ulps: float = 8, widest: bool = False) -> Forward:
    """`fn` falls to `least` at `turn` and grows after it; -inf is mapped by `fn` itself."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        if x.lo > x.hi:
            return x
        left, right = fn(x.lo), fn(x.hi)
        low = least if x.lo <= turn <= x.hi else min(left, right)
        if widest and x.lo < turn:
            low = least
        return Interval(fmt.lower(low, ulps), fmt.upper(max(left, right), ulps), x.nan)

    return forward


def periodic(fn: Scalar, peak: float, period: float = 2 * math.pi, ulps: float = 4) -> Forward:
    """`fn` repeats, is 1 at `peak` and -1 half a period later; it is NaN at the infinities."""

    def meets(lo: float, hi: float, at: float) -> bool:
        return math.floor((hi - at) / period + 1e-9) >= math.ceil((lo - at) / period - 1e-9)

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        if x.lo > x.hi:
            return x
        nan = x.nan or x.has_infinity
        if x.hi - x.lo >= period or max(-x.lo, x.hi) > 1e6:
            return Interval(-1.0, 1.0, nan)
        left, right = fn(x.lo), fn(x.hi)
        lo = -1.0 if meets(x.lo, x.hi, peak + period / 2) else max(-1.0, fmt.lower(min(left, right), ulps))
        hi = 1.0 if meets(x.lo, x.hi, peak) else min(1.0, fmt.upper(max(left, right), ulps))
        return Interval(lo, hi, nan)

    return forward


def bounded(lo: float, hi: float, infinite_is_nan: bool = False, integer: bool = False, exact: bool = False) -> Forward:
    """Whatever the operands, the result lies between `lo` and `hi`; NaN where an operand is."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        nan = any(x is not None and (x.nan or (infinite_is_nan and x.has_infinity)) for x in args)
        if integer or exact:
            return Interval(lo, hi, nan and not integer, False, integer)
        return Interval(fmt.nearest(lo), fmt.nearest(hi), nan)

    return forward


def same(args: Args, params: Params, fmt: Format) -> Interval:
    """The values of the first operand."""
    return args[0]


def rounded(args: Args, params: Params, fmt: Format) -> Interval:
    """The values of the first operand, rounded to the format."""
    return round_to(args[0], fmt)


def round_to(x: Interval, fmt: Format) -> Interval:
    """`x` rounded to nearest; nonzero is kept where no value can underflow."""
    if x.lo > x.hi:
        return x
    lo, hi = fmt.nearest(x.lo), fmt.nearest(x.hi)
    return Interval(lo, hi, x.nan, x.nonzero and (x.integer or fmt.bits == 64), x.integer)


def widened(x: Interval, error: float, fmt: Format) -> Interval:
    """`x` with an absolute error added to both ends."""
    if x.lo > x.hi:
        return x
    if not error < fmt.max:
        return Interval(-INF, INF, True)
    return Interval(fmt.nearest(x.lo - error), fmt.nearest(x.hi + error), x.nan)


def hull_of(first: int = 0) -> Forward:
    """Any of the operands from number `first` on."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        whole = Interval(INF, -INF)
        for x in args[first:]:
            if x is not None:
                whole = whole.hull(x)
        return whole

    return forward


def constant(lo: float, hi: float, integer: bool = False, nonzero: bool = False) -> Forward:
    """Between `lo` and `hi`, with no regard to the operands."""
    whole = Interval(lo, hi, False, nonzero, integer)

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        return whole

    return forward


def unknown(args: Args, params: Params, fmt: Format) -> Interval:
    """Any value."""
    return Interval(-INF, INF, True)
