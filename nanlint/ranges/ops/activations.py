"""Activation functions of torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from nanlint.core.formats import Format
from nanlint.ranges import arith, real, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.ops.pointwise import SIGMOID
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, falls_then_grows, increasing

F = "torch.nn.functional."


def _param(params: Params, name: str, default: float) -> float:
    value = params.get(name, default)
    return float(value) if isinstance(value, (int, float)) else default


def _relu(args: Args, params: Params, fmt: Format) -> Interval:
    """max(x, 0)."""
    x = args[0]
    return Interval(max(x.lo, 0.0), max(x.hi, 0.0), x.nan, x.lo > 0, x.integer) if x.lo <= x.hi else x


def cut(low: float, high: float) -> Forward:
    """x cut to [low, high]."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        bottom, top = fmt.nearest(_param(params, "min_val", low)), fmt.nearest(_param(params, "max_val", high))
        return Interval(min(max(x.lo, bottom), top), min(max(x.hi, bottom), top), x.nan) if x.lo <= x.hi else x

    return forward


def _leaky_relu(args: Args, params: Params, fmt: Format) -> Interval:
    """x above 0, negative_slope * x below."""
    slope = fmt.work.nearest(_param(params, "negative_slope", 0.01))
    if slope < 0:
        return args[0].hull(arith.mul((args[0], Interval(slope, slope)), {}, fmt))
    return increasing(lambda x: x if x > 0 else (slope * x if slope else 0.0), ulps=0)(args, params, fmt)


def _elu(args: Args, params: Params, fmt: Format) -> Interval:
    """x above 0, alpha * (exp(x) - 1) below."""
    alpha = _param(params, "alpha", 1.0)
    return increasing(lambda x: x if x > 0 else alpha * math.expm1(x), ulps=8)(args, params, fmt)


def _celu(args: Args, params: Params, fmt: Format) -> Interval:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    alpha = _param(params, "alpha", 1.0)
    return increasing(lambda x: x if x > 0 else alpha * real.expm1(x / alpha), ulps=16)(args, params, fmt)


def _softplus(args: Args, params: Params, fmt: Format) -> Interval:
    """log(1 + exp(beta x)) / beta, and x itself above the threshold."""
    beta, threshold = _param(params, "beta", 1.0), _param(params, "threshold", 20.0)

    def fn(x: float) -> float:
        return x if x * beta > threshold else real.softplus(x * beta) / beta

    return increasing(fn, codomain=(0.0, INF), ulps=32)(args, params, fmt)


def _gelu(args: Args, params: Params, fmt: Format) -> Interval:
    """x times the normal distribution function of x: at least -0.17; gelu(-inf) is NaN."""
    tanh = params.get("approximate") == "tanh"
    fn, least = (real.gelu_tanh, -0.1700408) if tanh else (real.gelu, -0.1699713)
    whole = falls_then_grows(fn, -0.7517915247, least - 1e-5, 8)(args, params, fmt)
    x = args[0]
    if -4 * fmt.tiny < whole.hi and whole.lo < 4 * fmt.tiny:
        whole = whole.with_(lo=min(whole.lo, 0.0), hi=max(whole.hi, 0.0))
    if whole.is_empty or x.lo >= -1:
        return whole.with_(nan=whole.nan or x.hi == INF, hi=INF if whole.hi > 0.99 * fmt.max else whole.hi)
    tail = min(0.0, fn(x.lo) + 16 * fmt.slack)
    lo, hi = fmt.nearest(whole.lo - 16 * fmt.slack), max(whole.hi, fmt.nearest(tail))
    hi = INF if hi > 0.99 * fmt.max else hi
    return Interval(lo, hi, whole.nan or x.has_infinity)


def _silu(args: Args, params: Params, fmt: Format) -> Interval:
    """x * sigmoid(x): at least -0.2785."""
    shape = falls_then_grows(real.silu, -1.2784645427610738, -0.27846454276107377, 8)(args, params, fmt)
    if shape.is_empty:
        return shape
    hi = 0.0 if args[0].lo < (-87 if fmt.bits < 64 else -708) and shape.hi < 0 else shape.hi
    return shape.with_(hi=hi, nan=shape.nan or args[0].lo == -INF)


def _mish(args: Args, params: Params, fmt: Format) -> Interval:
    """x * tanh(softplus(x)): at least -0.3089."""
    shape = falls_then_grows(real.mish, -1.1924, -0.30885, 8)(args, params, fmt)
    if shape.is_empty:
        return shape
    hi = 0.0 if args[0].lo < (-87 if fmt.bits < 64 else -708) and shape.hi < 0 else shape.hi
    return shape.with_(hi=hi, nan=shape.nan or args[0].lo == -INF)


def _softsign(args: Args, params: Params, fmt: Format) -> Interval:
    """x / (1 + |x|)."""
    x = args[0]
    ulps = 8 * fmt.eps / fmt.slack
    base = increasing(lambda v: v / (1 + abs(v)) if abs(v) < INF else math.copysign(1.0, v), codomain=(-1.0, 1.0), ulps=ulps)
    return base(args, params, fmt).with_(nan=x.nan or x.has_infinity)


def _hardsigmoid(args: Args, params: Params, fmt: Format) -> Interval:
    """(x + 3) / 6 cut to [0, 1]."""
    return increasing(lambda x: min(max((x + 3) / 6, 0.0), 1.0), codomain=(0.0, 1.0), ulps=16)(args, params, fmt)


def _hardswish(args: Args, params: Params, fmt: Format) -> Interval:
    """x * hardsigmoid(x): at least -0.375."""
    shape = falls_then_grows(lambda x: x * min(max((x + 3) / 6, 0.0), 1.0) if x > -3 else 0.0, -1.5, -0.375, 16)
    whole = shape(args, params, fmt)
    if 6 * args[0].hi > fmt.work_max:
        whole = whole.with_(hi=INF)
    return whole.with_(nan=whole.nan or args[0].lo == -INF)


def _tanhshrink(args: Args, params: Params, fmt: Format) -> Interval:
    """x - tanh(x)."""
    whole = increasing(lambda x: x - math.tanh(x), ulps=8)(args, params, fmt)
    if whole.is_empty:
        return whole
    error = 4 * fmt.eps * min(args[0].magnitude, 1.0)
    return whole.with_(lo=fmt.nearest(whole.lo - error), hi=fmt.nearest(whole.hi + error))


def _softshrink(args: Args, params: Params, fmt: Format) -> Interval:
    """x moved towards 0 by lambd."""
    lambd = _param(params, "lambd", 0.5)
    return increasing(lambda x: x - lambd if x > lambd else x + lambd if x < -lambd else 0.0, ulps=2)(args, params, fmt)


def _hardshrink(args: Args, params: Params, fmt: Format) -> Interval:
    """x where |x| > lambd, else 0."""
    lambd = _param(params, "lambd", 0.5)
    return increasing(lambda x: x if abs(x) > lambd else 0.0, ulps=0)(args, params, fmt)


def _threshold(args: Args, params: Params, fmt: Format) -> Interval:
    """x above the threshold, else the value."""
    value, edge = fmt.nearest(_param(params, "value", 0.0)), _param(params, "threshold", 0.0)
    x = args[0]
    if x.lo > x.hi or x.lo > edge:
        return x
    replaced = Interval(value, value, x.nan)
    return replaced if x.hi <= edge else replaced.hull(Interval(max(x.lo, edge), x.hi))


def _prelu(args: Args, params: Params, fmt: Format) -> Interval:
    """x above 0, weight * x below."""
    x = args[0]
    if x.lo > 0 or x.is_empty:
        return x
    below = arith.mul((Interval(x.lo, min(x.hi, 0.0), x.nan), args[1]), {}, fmt)
    return below if x.hi <= 0 else below.hull(Interval(0.0, x.hi))


def _rrelu(args: Args, params: Params, fmt: Format) -> Interval:
    """x above 0, a random multiple of x in [lower, upper] below."""
    slopes = Interval(_param(params, "lower", 0.125), _param(params, "upper", 1 / 3))
    return args[0].hull(arith.mul((args[0], slopes), {}, fmt))


def _glu(args: Args, params: Params, fmt: Format) -> Interval:
    """One half of x times the sigmoid of the other half."""
    return arith.mul((args[0], SIGMOID(args, params, fmt.work)), {}, fmt)


def act(name: str, signature: str, forward: Forward, slope: str | None, also: tuple[str, ...] = (), **words: Any) -> Op:
    """A row of torch.nn.functional."""
    call = F + name
    return Op(name, signature, 1, forward, (slope,), call, (call, *also), **words)


TABLE.add(
    act("relu", "input, inplace=False", _relu, "between(0, 1)", produces="relu gives 0"),
    act("relu6", "input, inplace=False", cut(0.0, 6.0), "between(0, 1)", produces="relu gives 0"),
    act("leaky_relu", "input, negative_slope=0.01, inplace=False", _leaky_relu, "between(negative_slope, 1)"),
    act("elu", "input, alpha=1.0, inplace=False", _elu, "between(0, 1) * maximum(1, alpha)"),
    act("celu", "input, alpha=1.0, inplace=False", _celu, "between(0, 1)"),
    act("selu", "input, inplace=False", increasing(real.selu, ulps=8), "between(0, 1.7580994)"),
    act("gelu", "input, approximate='none'", _gelu, "between(-0.14, 1.14)"),
    act("silu", "input, inplace=False", _silu, "between(-0.1, 1.1)"),
    act("mish", "input, inplace=False", _mish, "between(-0.12, 1.1)"),
    act("softplus", "input, beta=1.0, threshold=20.0", _softplus, "between(0, 1)", stable=True, produces="softplus rounds to 0"),
    act("softsign", "input", _softsign, "between(0, 1)"),
    act("hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", cut(-1.0, 1.0), "between(0, 1)"),
    act("hardsigmoid", "input, inplace=False", _hardsigmoid, "between(0, 0.17)", produces="a hard sigmoid gives 0 and 1"),
    act("hardswish", "input, inplace=False", _hardswish, "between(-0.51, 1.51)"),
    act("tanhshrink", "input", _tanhshrink, "between(0, 1)"),
    act("softshrink", "input, lambd=0.5", _softshrink, "between(0, 1)", produces="a shrunk value may be 0"),
    act("hardshrink", "input, lambd=0.5", _hardshrink, "between(0, 1)", produces="a shrunk value may be 0"),
    act("threshold", "input, threshold, value, inplace=False", _threshold, "between(0, 1)"),
    Op("prelu", "input, weight", 2, _prelu, ("between(0, 1) + between(0, 1) * weight", "between(0, 1) * input"), F + "prelu",
       (F + "prelu",)),
    act("rrelu", "input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False", _rrelu, "between(0, 1)",
    family="random"),
    act("glu", "input, dim=-1", _glu, None),
    Op("softmax", "input, dim=None, dtype=None", 1, reduce.softmax, ("between(-1, 1)",), "torch.softmax",
       (F + "softmax", "torch.special.softmax"), "reduction", produces="a softmax rounds to 0 and 1", trigger=True),
    Op("softmin", "input, dim=None, dtype=None", 1, lambda a, p,
       f: reduce.softmax((Interval(-a[0].hi, -a[0].lo, a[0].nan),), p, f),
       ("between(-1, 1)",), F + "softmin", (F + "softmin",), "reduction", produces="a softmax rounds to 0 and 1", trigger=True),
    Op("log_softmax", "input, dim=None, dtype=None", 1, reduce.log_softmax, ("between(-1, 1)",), "torch.log_softmax",
       (F + "log_softmax", "torch.special.log_softmax"), "reduction", stable=True),
    Op("gumbel_softmax", "logits, tau=1, hard=False, dim=-1", 1,
       lambda a, p, f: reduce.softmax((Interval(-INF if a[0].lo == -INF else 0.0, INF if a[0].hi == INF else 1000.0, a[0].nan),),
       {}, f),
       (None,), F + "gumbel_softmax", (F + "gumbel_softmax",), "random", produces="a softmax rounds to 0 and 1"),
)
