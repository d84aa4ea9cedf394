"""Functions of one tensor, element by element."""

from __future__ import annotations

import math

from nanlint.core.formats import Format
from nanlint.ranges import arith, real
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import (
    Args,
    absolute,
    decreasing,
    even,
    falls_then_grows,
    increasing,
    negative,
    periodic,
    same,
    widened,
)

POSITIVE = (0.0, INF)
LOG_SLOPES = {"log": "1 / x", "log2": "1 / (x * 0.6931471805599453)", "log10": "1 / (x * 2.302585092994046)"}


def _rsqrt(args: Args, params: Params, fmt: Format) -> Interval:
    """1 / sqrt(x); rsqrt(-0.0) is -inf."""
    x = args[0]
    root = decreasing(lambda v: 1 / math.sqrt(v) if v > 0 else INF, (0.0, INF), (0.0, INF), coarse=1.0)((x,), params, fmt)
    return root.with_(lo=-INF) if x.has_zero and not root.is_empty else root


def _tan(args: Args, params: Params, fmt: Format) -> Interval:
    """sin / cos; NaN at the infinities, large near odd multiples of pi / 2."""
    x = args[0]
    if x.lo > x.hi:
        return x
    nan = x.nan or x.has_infinity
    if max(-x.lo, x.hi) > 1e6 or math.floor(x.lo / math.pi + 0.5 - 1e-9) != math.floor(x.hi / math.pi + 0.5 + 1e-9):
        return Interval(-fmt.max, fmt.max, nan)
    return Interval(fmt.lower(math.tan(x.lo), 8), fmt.upper(math.tan(x.hi), 8), nan)


def _sign(args: Args, params: Params, fmt: Format) -> Interval:
    """-1, 0 or 1; sign(NaN) is 0 or NaN."""
    x = args[0]
    lo, hi = (float((v > 0) - (v < 0)) for v in (x.lo, x.hi))
    return Interval(min(lo, 0.0), max(hi, 0.0), x.nan, False, True) if x.nan else Interval(lo, hi, False, x.nonzero, True)


def _frac(args: Args, params: Params, fmt: Format) -> Interval:
    """x - trunc(x); NaN at the infinities."""
    x = args[0]
    if x.lo > x.hi:
        return x
    nan = x.nan or x.has_infinity
    if not nan and math.trunc(x.lo) == math.trunc(x.hi) and x.lo * x.hi >= 0:
        return Interval(real.fraction(x.lo), real.fraction(x.hi), nan)
    return Interval(-1.0 if x.lo < 0 else 0.0, 1.0 if x.hi > 0 else 0.0, nan)


def _digamma(args: Args, params: Params, fmt: Format) -> Interval:
    """Grows from -inf at 0; any value for negative x, NaN at negative whole numbers, both infinities at the zeros."""
    x = args[0]
    if x.lo < 0:
        return Interval(-INF, INF, True)
    grown = increasing(real.digamma, ulps=8, error=8.0)(args, params, fmt)
    return grown.with_(hi=INF) if x.has_zero and not grown.is_empty else grown


def _lgamma(args: Args, params: Params, fmt: Format) -> Interval:
    """Falls to -0.1215 at 1.4616 and grows; large at 0 and the negative whole numbers."""
    x = args[0]
    if x.lo <= -1:
        return Interval(-INF, INF, x.nan)
    if x.lo < 0:
        return Interval(fmt.nearest(-0.123), INF, x.nan)
    shape = falls_then_grows(real.lgamma, 1.4616321449683623, -0.1214862905358496, 8)(args, params, fmt)
    slack = 4 * fmt.slack
    return shape if shape.is_empty else shape.with_(lo=fmt.nearest(shape.lo - slack), hi=fmt.nearest(shape.hi + slack))


def _nan_to_num(args: Args, params: Params, fmt: Format) -> Interval:
    """NaN and the infinities replaced: by 0 and the largest finite values if nothing else is said."""
    x = args[0]
    top = params.get("posinf")
    bottom = params.get("neginf")
    up = fmt.max if top is None else fmt.nearest(float(top))
    down = -fmt.max if bottom is None else fmt.nearest(float(bottom))
    whole = x.finite(fmt.max)
    if x.hi == INF and not x.is_empty:
        whole = whole.hull(Interval(up, up))
    if x.lo == -INF and not x.is_empty:
        whole = whole.hull(Interval(down, down))
    if x.nan:
        value = fmt.nearest(float(params.get("nan") or 0.0))
        whole = whole.hull(Interval(value, value))
    return whole.with_(nan=False)


def _sinc(args: Args, params: Params, fmt: Format) -> Interval:
    """sin(pi x) / (pi x), 1 at 0; NaN at the infinities."""
    x = args[0]
    low = max(-0.2172336282112217, -1 / (math.pi * x.mignitude) if x.mignitude else -1.0)
    high = min(1.0, 1 / (math.pi * x.mignitude) if x.mignitude else 1.0)
    nan = x.nan or x.has_infinity or math.pi * x.magnitude > fmt.work_max
    if x.lo == x.hi and not nan:
        low = high = real.sinc(x.lo)
    slack = 8 * fmt.slack
    return Interval(fmt.nearest(low - slack), min(1.0, fmt.nearest(high + slack)), nan)


def _entr(args: Args, params: Params, fmt: Format) -> Interval:
    """-x log(x): 1/e at 1/e, 0 at 0 and 1, -inf for negative x."""
    x = args[0]
    if x.lo > x.hi:
        return x
    a, b = max(x.lo, 0.0), max(x.hi, 0.0)
    ends = real.entr(a), real.entr(b)
    hi = 1 / math.e if a <= 1 / math.e <= b else max(ends)
    ulps = 8 if fmt.bits >= 32 else 2 * fmt.eps / fmt.slack
    return Interval(-INF if x.lo < 0 else fmt.lower(min(ends), ulps), fmt.upper(hi, ulps), x.nan)


def _logit(args: Args, params: Params, fmt: Format) -> Interval:
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps] where eps is given; NaN outside [0, 1] otherwise."""
    eps = params.get("eps")
    x = args[0]
    if isinstance(eps, (int, float)):
        x = Interval(min(max(x.lo, eps), 1 - eps), min(max(x.hi, eps), 1 - eps), x.nan)
    units = fmt.eps / fmt.slack
    return increasing(real.logit, (0.0, 1.0), ulps=2 * units + 4, error=4 * units)((x,), params, fmt)


def _finite_only(forward: Forward) -> Forward:
    """As `forward`, but NaN at the infinities."""

    def checked(args: Args, params: Params, fmt: Format) -> Interval:
        whole = forward(args, params, fmt)
        return whole.with_(nan=True) if args[0].has_infinity else whole

    return checked


ROUND = increasing(real.nearest_whole, ulps=0, exact=True)


def _round(args: Args, params: Params, fmt: Format) -> Interval:
    """The nearest whole number, even of two; with `decimals` the nearest multiple of a power of ten."""
    whole = ROUND(args, params, fmt)
    decimals = params.get("decimals", 0)
    if not decimals or whole.is_empty:
        return whole
    if not isinstance(decimals, int) or args[0].magnitude * 10.0**decimals > fmt.max:
        return Interval(-INF, INF, True)
    step = 10.0**-decimals
    error = 0.5 * step + 4 * fmt.eps * args[0].magnitude
    return widened(args[0], error, fmt)


def _erf(args: Args, params: Params, fmt: Format) -> Interval:
    """In the narrow formats to within the spacing of float32 at 1 only."""
    error = 2.0 if fmt.bits < 32 else 0.0
    return increasing(math.erf, codomain=(-1.0, 1.0), ulps=8, saturates=4.0, coarse=1.0, error=error)(args, params, fmt)


def _ndtr(args: Args, params: Params, fmt: Format) -> Interval:
    """Computed as (1 + erf(x / sqrt(2))) / 2 near 0, and to within the spacing at 1 everywhere."""
    units = 1.0 if fmt.bits >= 32 else fmt.eps / fmt.slack
    return increasing(real.ndtr, codomain=(0.0, 1.0), ulps=4 * units, error=units)(args, params, fmt)


def _i1e(args: Args, params: Params, fmt: Format) -> Interval:
    """Odd, 0.219 at most."""
    x = args[0]
    ulps = 32 if fmt.bits >= 32 else 2 * fmt.eps / fmt.slack
    if x.lo == x.hi:
        value = real.i1e(x.lo)
        return Interval(fmt.lower(value, ulps), fmt.upper(value, ulps), x.nan)
    top = fmt.upper(0.22, ulps)
    return Interval(-top if x.lo < 0 else 0.0, top if x.hi > 0 else 0.0, x.nan)


SIGMOID = increasing(real.sigmoid, codomain=(0.0, 1.0), ulps=6, saturates=2.0, knot=(0.0, 0.5))

TABLE.add(
    Op("abs", "input", 1, lambda args, params, fmt: absolute(args[0]), ("sign(x)",), "operator.abs",
       ("torch.absolute", "torch.abs", "torch.Tensor.absolute", "torch.Tensor.__abs__")),
    Op("neg", "input", 1, lambda args, params, fmt: negative(args[0]), ("-1",), "operator.neg",
       ("torch.negative", "torch.Tensor.negative", "torch.Tensor.__neg__")),
    Op("positive", "input", 1, same, ("1",), "operator.pos", ("torch.Tensor.__pos__",)),
    Op("sign", "input", 1, _sign, ("0",), also=("torch.sgn", "torch.Tensor.sgn")),
    Op("exp", "input", 1, increasing(real.exp, codomain=POSITIVE, knot=(0.0, 1.0)), ("y",), trigger=True),
    Op("exp2", "input", 1, increasing(real.exp2, codomain=POSITIVE, knot=(0.0, 1.0)), ("y * 0.6931471805599453",), trigger=True,
       also=("torch.special.exp2",)),
    Op("expm1", "input", 1, increasing(real.expm1, codomain=(-1.0, INF), at_zero=True), ("y + 1",), trigger=True,
       also=("torch.special.expm1",)),
    *(Op(name, "input", 1, increasing(getattr(real, name), POSITIVE), (slope,), trigger=True) for name,
         slope in LOG_SLOPES.items()),
    Op("log1p", "input", 1, increasing(real.log1p, (-1.0, INF), at_zero=True), ("1 / (x + 1)",), trigger=True,
       also=("torch.special.log1p",)),
    Op("sqrt", "input", 1, increasing(math.sqrt, POSITIVE, ulps=1, at_zero=True, knot=(1.0, 1.0)), ("0.5 / y",), trigger=True),
    Op("rsqrt", "input", 1, _rsqrt, ("-0.5 * y ** 3",), trigger=True),
    Op("reciprocal", "input", 1, arith.reciprocal, ("-y * y",), trigger=True),
    Op("square", "input", 1, arith.square, ("2 * x",), trigger=True),
    Op("sin", "input", 1, periodic(math.sin, math.pi / 2), ("cos(x)",)),
    Op("cos", "input", 1, periodic(math.cos, 0.0), ("-sin(x)",)),
    Op("tan", "input", 1, _tan, ("1 + y * y",), trigger=True),
    Op("asin", "input", 1, increasing(math.asin, (-1.0, 1.0), at_zero=True), ("1 / sqrt(1 - x * x)",), trigger=True,
       also=("torch.arcsin", "torch.Tensor.arcsin")),
    Op("acos", "input", 1, decreasing(math.acos, (-1.0, 1.0), (0.0, 4.0)), ("-1 / sqrt(1 - x * x)",), trigger=True,
       also=("torch.arccos", "torch.Tensor.arccos")),
    Op("atan", "input", 1, increasing(math.atan, at_zero=True), ("1 / (x * x + 1)",),
       also=("torch.arctan", "torch.Tensor.arctan")),
    Op("sinh", "input", 1, increasing(real.sinh, at_zero=True, overflows=True), ("cosh(x)",), trigger=True),
    Op("cosh", "input", 1, even(increasing(real.cosh, codomain=(1.0, INF), overflows=True)), ("sinh(x)",), trigger=True),
    Op("tanh", "input", 1, increasing(math.tanh, codomain=(-1.0, 1.0), at_zero=True, ulps=8), ("1 - y * y",),
       produces="tanh rounds to -1 and 1"),
    Op("asinh", "input", 1, increasing(math.asinh, at_zero=True, ulps=8), ("1 / sqrt(x * x + 1)",),
       also=("torch.arcsinh", "torch.Tensor.arcsinh")),
    Op("acosh", "input", 1, increasing(real.acosh, (1.0, INF), (0.0, INF), ulps=16), ("1 / sqrt(x * x - 1)",), trigger=True,
       also=("torch.arccosh", "torch.Tensor.arccosh")),
    Op("atanh", "input", 1, increasing(real.atanh, (-1.0, 1.0), at_zero=True, ulps=8), ("1 / (1 - x * x)",), trigger=True,
       also=("torch.arctanh", "torch.Tensor.arctanh")),
    Op("sigmoid", "input", 1, SIGMOID, ("y * (1 - y)",), produces="a sigmoid rounds to 0 and 1",
       also=("torch.special.expit", "torch.nn.functional.sigmoid")),
    Op("logit", "input, eps=None", 1, _logit, ("logit_slope(x, eps)",), also=("torch.special.logit",), trigger=True),
    Op("erf", "input", 1, _erf,
       ("1.1283791670955126 * exp(-(x * x))",), also=("torch.special.erf",), produces="erf rounds to -1 and 1"),
    Op("erfc", "input", 1, decreasing(math.erfc, codomain=(0.0, 2.0), ulps=8), ("-1.1283791670955126 * exp(-(x * x))",),
       also=("torch.special.erfc",), produces="erfc rounds to 0"),
    Op("erfinv", "input", 1, increasing(real.erfinv, (-1.0, 1.0), at_zero=True, ulps=32),
       ("0.886226925452758 * exp(y * y)",), also=("torch.special.erfinv",), trigger=True),
    Op("digamma", "input", 1, _digamma, (None,), also=("torch.special.digamma", "torch.special.psi"), trigger=True),
    Op("lgamma", "input", 1, _lgamma, ("digamma(x)",), also=("torch.special.gammaln",), trigger=True),
    Op("i0", "input", 1, _finite_only(even(increasing(real.i0, ulps=32, overflows=True, coarse=1.0))), ("special_i1(x)",),
       also=("torch.special.i0",), trigger=True),
    Op("sinc", "input", 1, _sinc, (None,), also=("torch.special.sinc",)),
    Op("logsigmoid", "input", 1, increasing(real.logsigmoid, codomain=(-INF, 0.0), ulps=8), ("sigmoid(-x)",),
       "torch.nn.functional.logsigmoid", ("torch.nn.functional.logsigmoid",), stable=True),
    *(Op(name, "input", 1, increasing(getattr(real, fn), ulps=0, exact=True), ("0",))
      for name, fn in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"))),
    Op("round", "input, decimals=0", 1, _round, ("0",)),
    Op("frac", "input", 1, _frac, ("1",)),
    Op("nan_to_num", "input, nan=0.0, posinf=None, neginf=None", 1, _nan_to_num, ("between(0, 1)",)),
    Op("deg2rad", "input", 1, increasing(lambda x: x * (math.pi / 180), at_zero=False, ulps=2), ("0.017453292519943295",)),
    Op("rad2deg", "input", 1, increasing(lambda x: x * (180 / math.pi), at_zero=True, ulps=2), ("57.29577951308232",)),
    Op("special_ndtr", "input", 1, _ndtr,
       ("0.3989422804014327 * exp(-0.5 * (x * x))",), "torch.special.ndtr", ("torch.special.ndtr",),
       produces="ndtr rounds to 0 and 1"),
    Op("special_ndtri", "input", 1, increasing(real.ndtri, (0.0, 1.0), ulps=16, error=4.0),
       ("2.5066282746310002 * exp(0.5 * (y * y))",),
       "torch.special.ndtri", ("torch.special.ndtri",), trigger=True),
    Op("special_log_ndtr", "input", 1, increasing(real.log_ndtr, codomain=(-INF, 0.0), ulps=32), (None,),
       "torch.special.log_ndtr", ("torch.special.log_ndtr",), stable=True),
    Op("special_entr", "input", 1, _entr, ("-log(x) - 1",), "torch.special.entr", ("torch.special.entr",), trigger=True),
    Op("special_erfcx", "input", 1, decreasing(real.erfcx, codomain=POSITIVE, ulps=32), (None,), "torch.special.erfcx",
       ("torch.special.erfcx",), trigger=True),
    Op("special_i0e", "input", 1, even(decreasing(real.i0e, codomain=(0.0, 1.0), ulps=32, coarse=4.0)), (None,),
       "torch.special.i0e",
       ("torch.special.i0e",)),
    Op("special_i1", "input", 1, _finite_only(increasing(real.i1, ulps=32, overflows=True, coarse=1.0)), (None,),
       "torch.special.i1", ("torch.special.i1",), trigger=True),
    Op("special_i1e", "input", 1, _i1e, (None,), "torch.special.i1e", ("torch.special.i1e",)),
)
