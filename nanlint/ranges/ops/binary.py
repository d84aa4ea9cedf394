"""Functions of two or three tensors, element by element."""

from __future__ import annotations

import math

from nanlint.core.formats import Format
from nanlint.ranges import arith, real
from nanlint.ranges.arith import add, div, mul, sub
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, absolute, increasing, negative, round_to

LOG = increasing(real.log, (0.0, INF))


def _atan2(args: Args, params: Params, fmt: Format) -> Interval:
    """The angle of (x, y): atan2(0, 0) is 0 or pi by the signs of the zeros, never NaN."""
    y, x = args[0], args[1]
    nan = x.nan or y.nan
    if x.is_empty or y.is_empty:
        return Interval(INF, -INF, nan)
    pi = fmt.nearest(math.pi)
    if x.lo <= 0 and y.lo <= 0 <= y.hi:
        return Interval(-pi, pi, nan)
    angles = [math.atan2(b, a) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return Interval(max(fmt.lower(min(angles), 4), -pi), min(fmt.upper(max(angles), 4), pi), nan)


def _hypot(args: Args, params: Params, fmt: Format) -> Interval:
    """sqrt(a * a + b * b) without early overflow."""
    a, b = absolute(args[0]), absolute(args[1])
    nan = a.nan or b.nan
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, nan)
    return Interval(max(fmt.lower(math.hypot(a.lo, b.lo), 4), 0.0), fmt.upper(math.hypot(a.hi, b.hi), 4), nan)


def _logaddexp_of(base: float) -> Forward:
    def value(a: float, b: float) -> float:
        m, d = max(a, b), abs(a - b)
        return m if d != d or d == INF or abs(m) == INF else m + math.log1p(base**-d) / math.log(base)

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        """log(exp(a) + exp(b))."""
        a, b = args[0], args[1]
        nan = a.nan or b.nan
        if a.is_empty or b.is_empty:
            return Interval(INF, -INF, nan)
        lo, hi = value(a.lo, b.lo), value(a.hi, b.hi)
        slack = 4 * fmt.slack
        return Interval(fmt.lower(lo - slack, 4), fmt.upper(hi + slack, 4), nan)

    return forward


def _xlogy(args: Args, params: Params, fmt: Format) -> Interval:
    """x * log(y), 0 where x is 0; an infinity where y is 0 and x is not, NaN for negative y."""
    return _zero_first(args[0], LOG((args[1],), params, fmt), args[1], fmt)


def _xlog1py(args: Args, params: Params, fmt: Format) -> Interval:
    """x * log1p(y), 0 where x is 0."""
    return _zero_first(args[0], increasing(real.log1p, (-1.0, INF))((args[1],), params, fmt), args[1], fmt)


def _zero_first(x: Interval, log: Interval, y: Interval, fmt: Format) -> Interval:
    if x.lo == 0 == x.hi and not x.nan:
        return Interval(0.0, 0.0, y.nan)
    if log.is_empty:
        return Interval(0.0, 0.0, True) if x.has_zero else Interval(INF, -INF, True)
    product = mul((x, log), {}, fmt)
    infinite_x = x.has_infinity and log.has_zero
    return product.with_(nan=x.nan or log.nan or infinite_x, nonzero=False)


def _lerp(args: Args, params: Params, fmt: Format) -> Interval:
    """a + w * (b - a), linear in each operand; b - a may overflow."""
    a, b, w = args[0], args[1], args[2]
    nan = a.nan or b.nan or w.nan
    if a.is_empty or b.is_empty or w.is_empty:
        return Interval(INF, -INF, nan)
    reach = max(b.hi - a.lo, a.hi - b.lo) * max(1.0, w.magnitude, 1 + w.magnitude if w.lo < 0 or w.hi > 1 else 1.0)
    if not max(reach, a.magnitude, b.magnitude) <= fmt.work_max:
        return Interval(-INF, INF, True)
    corners = [u + t * (v - u) if t < 0.5 else v - (v - u) * (1 - t) for u in (a.lo, a.hi) for v in (b.lo, b.hi) for t in (w.lo,
        w.hi)]
    error = 4 * fmt.slack * max(a.magnitude, b.magnitude, reach)
    return Interval(fmt.nearest(min(corners) - error), fmt.nearest(max(corners) + error), nan)


def _sum_of_two(a: Interval, b: Interval, fmt: Format) -> Interval:
    """a + b, where b was rounded differently, or not at all."""
    whole = add((a, b), {}, fmt.work)
    if whole.is_empty:
        return whole
    low, high = (2 * fmt.slack * abs(end) if abs(end) < INF else 0.0 for end in (b.lo, b.hi))
    return Interval(fmt.nearest(whole.lo - low), fmt.nearest(whole.hi + high), whole.nan)


def _addcmul(args: Args, params: Params, fmt: Format) -> Interval:
    """input + value * a * b."""
    value = params.get("value", 1)
    scaled = mul((Interval(value, value), args[1]), {}, fmt.work) if isinstance(value, (int, float)) else Interval(-INF, INF)
    product = mul((scaled, args[2]), {}, fmt.work)
    return _sum_of_two(args[0], product, fmt)


def _addcdiv(args: Args, params: Params, fmt: Format) -> Interval:
    """input + value * a / b."""
    value = params.get("value", 1)
    scaled = mul((Interval(value, value), args[1]), {}, fmt.work) if isinstance(value, (int, float)) else Interval(-INF, INF)
    return _sum_of_two(args[0], div((scaled, args[2]), {}, fmt.work), fmt)


def _copysign(args: Args, params: Params, fmt: Format) -> Interval:
    """The magnitude of a with the sign of b."""
    a, b = absolute(args[0]), args[1]
    if b.lo > 0 and not b.nan:
        return a
    if b.hi < 0 and not b.nan:
        return negative(a)
    return Interval(-a.hi, a.hi, a.nan, not a.has_zero, a.integer) if not a.is_empty else a


def _heaviside(args: Args, params: Params, fmt: Format) -> Interval:
    """0 below 0, 1 above, `values` at 0."""
    x, at_zero = args[0], args[1]
    whole = Interval(INF, -INF, x.nan)
    if x.lo < 0:
        whole = whole.hull(Interval(0.0, 0.0))
    if x.hi > 0:
        whole = whole.hull(Interval(1.0, 1.0))
    return whole.hull(at_zero) if x.has_zero else whole


def _ldexp(args: Args, params: Params, fmt: Format) -> Interval:
    """a * 2 ** b."""
    return mul((args[0], increasing(real.exp2, codomain=(0.0, INF))((args[1],), params, fmt)), params, fmt)


def _clamp(args: Args, params: Params, fmt: Format) -> Interval:
    """x cut to [min, max]; NaN stays; the upper bound wins."""
    x = args[0]
    for bound, cut in zip((*args[1:3], None)[:2], (arith.maximum, arith.minimum)):
        if bound is not None:
            x = cut((x, round_to(bound, fmt)), params, fmt)
    return x


def _bound_below(args: Args, params: Params, fmt: Format) -> Interval:
    return arith.maximum((args[0], round_to(args[1], fmt)), params, fmt)


def _bound_above(args: Args, params: Params, fmt: Format) -> Interval:
    return arith.minimum((args[0], round_to(args[1], fmt)), params, fmt)


def _polygamma(args: Args, params: Params, fmt: Format) -> Interval:
    """The n-th derivative of digamma: of one sign for positive arguments."""
    n, x = args[0], args[1]
    if x.lo < 0 or n.lo != n.hi or n.lo < 1:
        return Interval(-INF, INF, True)
    nan = x.nan or x.has_infinity
    return Interval(0.0, INF, nan) if n.lo % 2 else Interval(-INF, 0.0, nan)


SELECTS = ("between(0, 1)", "between(0, 1)")

TABLE.add(
    Op("add", "input, other", 2, add, ("1", "1"), "operator.add", ("torch.Tensor.__add__", "torch.Tensor.__radd__"), "binary"),
    Op("sub", "input, other", 2, sub, ("1", "-1"), "operator.sub",
       ("torch.subtract", "torch.Tensor.subtract", "torch.Tensor.__sub__"), "binary"),
    Op("rsub", "input, other", 2, arith.rsub, ("-1", "1"), "torch.rsub", ("torch.Tensor.__rsub__",), "binary"),
    Op("mul", "input, other", 2, mul, ("other", "input"), "operator.mul",
       ("torch.multiply", "torch.Tensor.multiply", "torch.Tensor.__mul__", "torch.Tensor.__rmul__"), "binary"),
    Op("div", "input, other, rounding_mode=None", 2, div, ("div_slope(1 / other, rounding_mode)",
       "div_slope(-(y / other), rounding_mode)"),
       "operator.truediv", ("torch.divide", "torch.true_divide", "torch.Tensor.divide", "torch.Tensor.true_divide",
                            "torch.Tensor.__truediv__"), "binary", trigger=True),
    Op("floor_divide", "input, other", 2, arith.floor_divide, ("0", "0"), "operator.floordiv",
       ("torch.Tensor.__floordiv__",), "binary", trigger=True),
    Op("remainder", "input, other", 2, arith.remainder, ("1", "-floor_divide(input, other)"), "operator.mod",
       ("torch.Tensor.__mod__",), "binary", trigger=True),
    Op("fmod", "input, other", 2, arith.fmod, ("1", "-trunc(input / other)"), family="binary", trigger=True),
    Op("pow", "input, exponent", 2, arith.power, ("base_slope(input, exponent)", "exponent_slope(input, exponent, y)"),
       "operator.pow",
       ("torch.float_power", "torch.Tensor.float_power", "torch.Tensor.__pow__"), "binary", trigger=True),
    Op("maximum", "input, other", 2, arith.maximum, SELECTS, family="select"),
    Op("minimum", "input, other", 2, arith.minimum, SELECTS, family="select"),
    Op("fmax", "input, other", 2, arith.fmax, SELECTS, family="select"),
    Op("fmin", "input, other", 2, arith.fmin, SELECTS, family="select"),
    Op("clamp", "input, min=None, max=None", 3, _clamp, ("between(0, 1)",) * 3, also=("torch.clip", "torch.Tensor.clip"),
       family="select"),
    Op("clamp_min", "input, min", 2, _bound_below, SELECTS, family="select"),
    Op("clamp_max", "input, max", 2, _bound_above, SELECTS, family="select"),
    Op("atan2", "input, other", 2, _atan2, ("atan2_slope(other, input, other)", "atan2_slope(-input, input, other)"),
       also=("torch.arctan2", "torch.Tensor.arctan2"), family="binary", trigger=True),
    Op("hypot", "input, other", 2, _hypot, ("input / y", "other / y"), family="binary", trigger=True),
    Op("logaddexp", "input, other", 2, _logaddexp_of(math.e), ("between(0, 1)",) * 2, family="binary", stable=True),

    Op("logaddexp2", "input, other", 2, _logaddexp_of(2.0), ("between(0, 1)",) * 2, family="binary", stable=True),

    Op("xlogy", "input, other", 2, _xlogy, ("xlogy_slope(input, log(other))", "input / other"), also=("torch.special.xlogy",),
       family="binary", trigger=True, notes="0 where input is 0; -inf where other is 0 and input is not"),
    Op("special_xlog1py", "input, other", 2, _xlog1py, ("xlogy_slope(input, log1p(other))", "input / (other + 1)"),
       "torch.special.xlog1py",
       ("torch.special.xlog1py",), "binary", trigger=True),
    Op("lerp", "input, end, weight", 3, _lerp, ("1 - weight", "weight", "end - input"), family="binary"),
    Op("addcmul", "input, tensor1, tensor2, value=1", 3, _addcmul, ("1", "tensor2 * value", "tensor1 * value"), family="binary"),
    Op("addcdiv", "input, tensor1, tensor2, value=1", 3, _addcdiv,
       ("1", "value / tensor2", "-(value * tensor1) / square(tensor2)"), family="binary", trigger=True),
    Op("copysign", "input, other", 2, _copysign, ("between(-1, 1)", "0"), family="binary"),
    Op("heaviside", "input, values", 2, _heaviside, None, family="binary"),
    Op("ldexp", "input, other", 2, _ldexp, ("exp2(other)", None), family="binary", trigger=True),
    Op("polygamma", "n, input", 2, _polygamma, ("0", None), also=("torch.special.polygamma",), family="binary", trigger=True),
)
