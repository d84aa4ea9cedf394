"""Interval arithmetic with two operands, rounded to nearest as torch rounds it: monotone, hence sound and tight."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nanlint.core.formats import Format
from nanlint.ranges import real
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.transfer import absolute, negative, round_to

Args = Sequence[Interval]


def scalar(x: Interval, fmt: Format) -> Interval:
    """A single number as torch takes it into an operation: rounded to the format it computes in."""
    if x.lo != x.hi or fmt.bits == 64 or x.integer and -65536 <= x.lo <= 65536:
        return x
    value = fmt.work.nearest(x.lo)
    return x if value == x.lo else Interval(value, value, x.nan)


def add(args: Args, params: Params, fmt: Format) -> Interval:
    """a + b; inf - inf is NaN."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.lo > a.hi or b.lo > b.hi:
        return Interval(INF, -INF, a.nan or b.nan)
    lo, hi = a.lo + b.lo, a.hi + b.hi
    nan = a.nan or b.nan or (a.lo == -INF and b.hi == INF) or (a.hi == INF and b.lo == -INF)
    if lo != lo:
        lo = INF
    if hi != hi:
        hi = -INF
    if lo > hi:
        return Interval(INF, -INF, nan)
    nearest = fmt.nearest
    return Interval(nearest(lo), nearest(hi), nan, False, a.integer and b.integer)


def sub(args: Args, params: Params, fmt: Format) -> Interval:
    """a - b."""
    return add((args[0], negative(args[1])), params, fmt)


def rsub(args: Args, params: Params, fmt: Format) -> Interval:
    """b - a."""
    return add((args[1], negative(args[0])), params, fmt)


def _times(x: float, y: float) -> float:
    p = x * y
    return p if p == p else 0.0


def _least(x: Interval, fmt: Format) -> float:
    """The least magnitude that occurs beside zero."""
    return x.mignitude or (1.0 if x.integer else fmt.smallest)


def mul(args: Args, params: Params, fmt: Format) -> Interval:
    """a * b; zero times an infinity is NaN."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.lo > a.hi or b.lo > b.hi:
        return Interval(INF, -INF, a.nan or b.nan)
    p, q, r, s = _times(a.lo, b.lo), _times(a.lo, b.hi), _times(a.hi, b.lo), _times(a.hi, b.hi)
    nan = a.nan or b.nan or (a.has_zero and b.has_infinity) or (b.has_zero and a.has_infinity)
    lo, hi = fmt.nearest(min(p, q, r, s)), fmt.nearest(max(p, q, r, s))
    nonzero = lo <= 0 <= hi and not a.has_zero and not b.has_zero and fmt.nearest(_least(a, fmt) * _least(b, fmt)) > 0
    return Interval(lo, hi, nan, nonzero, a.integer and b.integer)


def square(args: Args, params: Params, fmt: Format) -> Interval:
    """a * a, never negative."""
    a = absolute(scalar(args[0], fmt))
    if a.lo > a.hi:
        return a
    lo, hi = fmt.nearest(a.lo * a.lo), fmt.nearest(a.hi * a.hi)
    return Interval(lo, hi, a.nan, a.integer and a.nonzero, a.integer)


def _over(x: float, y: float) -> float:
    q = x / y
    return q if q == q else 0.0


def div(args: Args, params: Params, fmt: Format) -> Interval:
    """a / b; zero has a sign, so one zero in the divisor reaches both infinities; 0 / 0 and inf / inf are NaN."""
    result = _quotient(scalar(args[0], fmt), scalar(args[1], fmt), fmt)
    mode = params.get("rounding_mode")
    if mode is None or result.is_empty:
        return result
    whole = real.floor if mode == "floor" else real.trunc
    return Interval(whole(fmt.below(result.lo)), whole(fmt.above(result.hi)), result.nan, False, True)


def _quotient(a: Interval, b: Interval, fmt: Format) -> Interval:
    if a.lo > a.hi or b.lo > b.hi:
        return Interval(INF, -INF, a.nan or b.nan)
    nan = a.nan or b.nan or (a.has_infinity and b.has_infinity)
    if b.has_zero:
        nan = nan or a.has_zero
        if a.lo == 0 == a.hi:
            return Interval(0.0, 0.0, nan) if b.lo != b.hi else Interval(INF, -INF, True)
        return Interval(-INF, INF, nan)
    parts = []
    if b.hi > 0:
        parts += [max(b.lo, _least(b, fmt)) if b.lo <= 0 else b.lo, b.hi]
    if b.lo < 0:
        parts += [b.lo, min(b.hi, -_least(b, fmt)) if b.hi >= 0 else b.hi]
    if not parts:
        return Interval(INF, -INF, nan)
    quotients = [_over(x, y) for x in (a.lo, a.hi) for y in parts]
    lo, hi = fmt.nearest(min(quotients)), fmt.nearest(max(quotients))
    nonzero = lo <= 0 <= hi and not a.has_zero and fmt.nearest(_least(a, fmt) / max(b.magnitude, 1e-300)) > 0
    return Interval(lo, hi, nan, nonzero)


def reciprocal(args: Args, params: Params, fmt: Format) -> Interval:
    """1 / a."""
    return _quotient(Interval(1.0, 1.0), args[0], fmt)


def floor_divide(args: Args, params: Params, fmt: Format) -> Interval:
    """floor(a / b); torch's may be one less where the quotient rounds up to a whole number."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.integer and b.integer and b.mignitude > 0 and max(a.magnitude, b.magnitude) < 2**53:
        whole = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return Interval(min(whole), max(whole), a.nan or b.nan, False, True)
    quotient = _quotient(a, b, fmt)
    nan = quotient.nan or a.has_infinity
    if quotient.is_empty:
        return quotient.with_(nan=nan)
    lo, hi = real.floor(fmt.below(quotient.lo)), real.floor(quotient.hi)
    if b.has_infinity:
        lo, hi = min(lo, -1.0), max(hi, 0.0)
    return Interval(lo, hi, nan, False, True)


def _overflows(a: Interval, b: Interval, fmt: Format) -> bool:
    """The quotient may overflow, which torch's vectorised remainder turns into NaN."""
    return a.magnitude / fmt.work_max > _least(b, fmt)


def remainder(args: Args, params: Params, fmt: Format) -> Interval:
    """a modulo b, with the sign of b; a small negative a rounds up to b itself; NaN where b is 0 or a is infinite."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, a.nan or b.nan)
    nan = a.nan or b.nan or b.has_zero or a.has_infinity or _overflows(a, b, fmt)
    whole = a.integer and b.integer
    if a.lo == a.hi and b.lo == b.hi and b.lo and not nan:
        value = fmt.nearest(math.fmod(a.lo, b.lo))
        value = fmt.nearest(value + b.lo) if value and (value < 0) != (b.lo < 0) else value
        return Interval(value, value, nan, False, whole)
    if a.lo >= 0 and a.hi < b.lo:
        return Interval(a.lo, a.hi, nan, a.nonzero, whole)
    lo = min(b.lo, 0.0)
    hi = max(b.hi, 0.0)
    if a.lo >= 0 and b.lo >= 0:
        hi = min(hi, a.hi)
    if a.hi <= 0 and b.hi <= 0:
        lo = max(lo, a.lo)
    return Interval(fmt.nearest(lo), fmt.nearest(hi), nan, False, whole)


def fmod(args: Args, params: Params, fmt: Format) -> Interval:
    """The remainder of a / b with the sign of a; NaN where b is 0 or a is infinite."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, a.nan or b.nan)
    nan = a.nan or b.nan or b.has_zero or a.has_infinity or _overflows(a, b, fmt)
    if a.lo == a.hi and b.lo == b.hi and b.lo and not nan:
        value = math.fmod(a.lo, b.lo)
        return Interval(value, value, nan, False, a.integer and b.integer)
    top = b.magnitude
    return Interval(max(min(a.lo, 0.0), -top), min(max(a.hi, 0.0), top), nan, False, a.integer and b.integer)


def maximum(args: Args, params: Params, fmt: Format) -> Interval:
    """The greater of a and b; NaN where either is."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, a.nan or b.nan)
    lo, hi = fmt.nearest(max(a.lo, b.lo)), fmt.nearest(max(a.hi, b.hi))
    nonzero = not (a.has_zero and b.lo <= 0) and not (b.has_zero and a.lo <= 0)
    return Interval(lo, hi, a.nan or b.nan, nonzero and lo <= 0 <= hi, a.integer and b.integer)


def minimum(args: Args, params: Params, fmt: Format) -> Interval:
    """The lesser of a and b; NaN where either is."""
    return negative(maximum([negative(x) for x in args[:2]], params, fmt))


def fmax(args: Args, params: Params, fmt: Format) -> Interval:
    """The greater of a and b; a NaN is passed over."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    whole = maximum((a, b), params, fmt)
    if a.nan:
        whole = whole.hull(round_to(b, fmt))
    if b.nan:
        whole = whole.hull(round_to(a, fmt))
    return whole.with_(nan=a.nan and b.nan)


def fmin(args: Args, params: Params, fmt: Format) -> Interval:
    """The lesser of a and b; a NaN is passed over."""
    return negative(fmax([negative(x) for x in args[:2]], params, fmt))


def power(args: Args, params: Params, fmt: Format) -> Interval:
    """a ** b; NaN for a negative a where b is not whole."""
    a, b = scalar(args[0], fmt), scalar(args[1], fmt)
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, (a.nan or b.nan) and not b.lo == b.hi == 0)
    if b.lo == b.hi:
        return _power_of_number(a, b.lo, b.nan, fmt)
    nan = a.nan or b.nan
    base = absolute(a)
    corners = [real.power(x, y) for x in (base.lo, base.hi) for y in (b.lo, b.hi)]
    if b.lo <= 0 <= b.hi or base.lo <= 1 <= base.hi:
        corners.append(1.0)
    ulps = 8 if fmt.bits >= 32 else 2 * fmt.eps / fmt.slack
    lo, hi = max(fmt.lower(min(corners), ulps), 0.0), fmt.upper(max(corners), ulps)
    if b.lo <= 3 <= b.hi or b.lo <= -2 <= b.hi:
        hi = INF if base.hi * base.hi > fmt.max or base.lo * base.lo < fmt.tiny else hi
        lo = 0.0 if base.hi * base.hi > fmt.max or base.lo * base.lo < fmt.tiny else lo
    if a.lo < 0:
        return Interval(-hi, hi, nan or not b.integer)
    if a.has_zero and b.lo < 0:
        return Interval(-INF, INF, nan)  # (-0.0) ** -1 is -inf
    return Interval(lo, hi, nan)


def _power_of_number(a: Interval, n: float, nan: bool, fmt: Format) -> Interval:
    if n == 0:
        return Interval(1.0, 1.0, nan, integer=True)
    nan = nan or a.nan
    if n == 2:
        return square((a,), {}, fmt)
    if n == 1:
        return round_to(a, fmt)
    if n == -1:
        return _quotient(Interval(1.0, 1.0), a, fmt).with_(nan=nan)
    base = absolute(a)
    ulps = 2 * fmt.eps / fmt.slack if n in (3, -2) and fmt.bits < 32 else 8
    ends = real.power(base.lo, n), real.power(base.hi, n)
    lo, hi = max(fmt.lower(min(ends), ulps), 0.0), fmt.upper(max(ends), ulps)
    if base.lo == base.hi == 1:
        lo = hi = 1.0
    if n in (3, -2) and base.magnitude * base.magnitude > fmt.max:
        lo, hi = (lo, INF) if n > 0 else (0.0, hi)
    if n in (3, -2) and fmt.nearest(base.mignitude * base.mignitude) < fmt.tiny:
        lo, hi = (0.0, hi) if n > 0 else (lo, INF)
    if not float(n).is_integer():
        low = -INF if n == -0.5 and a.has_zero else lo  # rsqrt(-0.0) is -inf
        if a.lo >= 0:
            return Interval(low, hi, nan)
        whole = Interval(INF, -INF, True)
        if a.hi >= 0:
            up = real.power(a.hi, n) if n > 0 else INF
            whole = Interval(min(low, 0.0), fmt.upper(up, ulps), True)
        return whole.hull(Interval(0.0, 0.0) if n < 0 else Interval(INF, INF)) if a.lo == -INF else whole
    if n % 2 == 0 or a.lo >= 0 and not (n < 0 and a.has_zero):
        return Interval(lo, hi, nan, integer=a.integer and n > 0)
    return _odd_power(a, n, ulps, nan, fmt)


def _odd_power(a: Interval, n: float, ulps: float, nan: bool, fmt: Format) -> Interval:
    if n > 0:
        left, right = (math.copysign(real.power(abs(v), n), v) for v in (a.lo, a.hi))
        return Interval(fmt.lower(left, ulps), fmt.upper(right, ulps), nan, integer=a.integer)
    if a.has_zero:
        return Interval(-INF, INF, nan)
    least, most = real.power(_least(a, fmt), n), real.power(a.magnitude, n)
    lo = -least if a.lo < 0 else most
    hi = least if a.hi > 0 else -most
    return Interval(fmt.lower(lo, ulps), fmt.upper(hi, ulps), nan)
