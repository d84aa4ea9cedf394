"""Losses of torch.nn.functional: `reduction` is mean, sum or none."""

from __future__ import annotations

import math

from nanlint.core.formats import Format
from nanlint.ranges import arith, real, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, absolute, increasing, unknown, widened

F = "torch.nn.functional."


def _reduced(elementwise: Forward, mean: Forward = reduce.mean) -> Forward:
    """The loss of each element, then its mean, its sum, or nothing."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        each = elementwise(args, params, fmt)
        how = params.get("reduction", "mean")
        if how == "none":
            return each
        return reduce.total((each,), params, fmt) if how == "sum" else mean((each,), params, fmt)

    return forward


def _nonnegative(args: Args, params: Params, fmt: Format) -> Interval:
    """At least 0; NaN where the operands are not finite or their squares overflow."""
    nan = any(x is not None and (not x.is_finite or reduce.too_large_to_square(x, 4096, fmt)) for x in args)
    return Interval(0.0, INF, nan)


def _ulps(fmt: Format) -> float:
    """The error of a loss that is computed in several steps, each rounded to the format."""
    return 16.0 if fmt.bits >= 32 else 4 * fmt.eps / fmt.slack


def _gap(args: Args, fmt: Format) -> Interval:
    return absolute(arith.sub(args[:2], {}, fmt))


def _mse(args: Args, params: Params, fmt: Format) -> Interval:
    """(a - b) ** 2."""
    return arith.square((_gap(args, fmt),), {}, fmt)


def _l1(args: Args, params: Params, fmt: Format) -> Interval:
    """|a - b|."""
    return _gap(args, fmt)


def _huber(args: Args, params: Params, fmt: Format) -> Interval:
    """Quadratic up to delta, then linear."""
    delta = float(params.get("delta", 1.0))
    return increasing(lambda d: 0.5 * d * d if d < delta else delta * (d - 0.5 * delta), ulps=8, coarse=4.0)((_gap(args, fmt),),
        {}, fmt)


def _smooth_l1(args: Args, params: Params, fmt: Format) -> Interval:
    """Quadratic up to beta, then linear."""
    beta = float(params.get("beta", 1.0))
    shape = increasing(lambda d: 0.5 * d * d / beta if d < beta else d - 0.5 * beta, ulps=8, coarse=4.0)
    return shape((_gap(args, fmt),), {}, fmt)


def _bce(args: Args, params: Params, fmt: Format) -> Interval:
    """-(t log p + (1 - t) log(1 - p)), the logs cut at -100; p must lie in [0, 1]."""
    p, t = args[0], args[1]
    nan = p.nan or t.nan or p.lo < 0 or p.hi > 1
    if t.lo < 0 or t.hi > 1:
        return Interval(-INF, INF, nan)
    log = increasing(lambda v: max(real.log(v), -100.0), (0.0, 1.0))
    first, second = log((p,), {}, fmt), log((Interval(fmt.nearest(1 - p.hi), fmt.nearest(1 - p.lo)),), {}, fmt)
    if first.is_empty:
        return Interval(INF, -INF, True)
    a = arith.mul((Interval(-first.hi, -first.lo), t), {}, fmt)
    b = arith.mul((Interval(-second.hi, -second.lo), Interval(fmt.nearest(1 - t.hi), fmt.nearest(1 - t.lo))), {}, fmt)
    lo = max(0.0, min(-first.hi, -second.hi) * 0.99 - 4 * fmt.eps)
    top = min(max(-first.lo, -second.lo), a.hi + b.hi)
    return Interval(fmt.nearest(lo), fmt.upper(top, _ulps(fmt)), nan)


def _bce_logits(args: Args, params: Params, fmt: Format) -> Interval:
    """max(x, 0) - x t + log(1 + exp(-|x|)): at least 0 for targets in [0, 1]."""
    x, t = args[0], args[1]
    nan = x.nan or t.nan or x.has_infinity
    if t.lo < 0 or t.hi > 1 or params.get("pos_weight") is not None or len(args) > 3 and args[3] is not None:
        return Interval(-INF, INF, nan)
    return Interval(0.0, fmt.upper(real.softplus(x.magnitude), _ulps(fmt)), nan)


def _cross_entropy(args: Args, params: Params, fmt: Format) -> Interval:
    """Minus the log_softmax of the target: at least 0, at most the width and log(classes)."""
    each = reduce.log_softmax((args[0],), {"count": params.get("classes")}, fmt)
    return Interval(0.0, -each.lo if not each.is_empty else INF, each.nan)


def _nll(args: Args, params: Params, fmt: Format) -> Interval:
    """Minus the target's element."""
    x = args[0]
    return Interval(-x.hi, -x.lo, x.nan)


def _kl_div(args: Args, params: Params, fmt: Format) -> Interval:
    """target * (log(target) - input), 0 where target is 0; of an infinite input and a zero target NaN."""
    x, t = args[0], args[1]
    if params.get("log_target"):
        weight = increasing(real.exp, codomain=(0.0, INF))((t,), {}, fmt)
        return arith.mul((weight, arith.sub((t, x), {}, fmt)), {}, fmt)
    from nanlint.ranges.ops.binary import _xlogy

    return arith.sub((_xlogy((t, t), {}, fmt), arith.mul((t, x), {}, fmt)), {}, fmt)


def _gaussian_nll(args: Args, params: Params, fmt: Format) -> Interval:
    """0.5 * (log(max(var, eps)) + (input - target) ** 2 / max(var, eps))."""
    eps = float(params.get("eps", 1e-6))
    var = args[2] if len(args) > 2 and args[2] is not None else Interval(0.0, fmt.max)
    lo, hi = max(var.lo, eps), max(var.hi, eps)
    square = _mse(args, params, fmt)
    nan = square.nan or var.nan
    top = 0.5 * (real.log(hi) + square.hi / lo) + (0.5 * math.log(2 * math.pi) if params.get("full") else 0.0)
    top = INF if square.hi / lo > fmt.max / 2 else top
    low = 0.5 * (real.log(lo) + square.lo / hi)
    return widened(Interval(low, top, nan), _ulps(fmt) * fmt.slack * (max(abs(low), abs(top)) + 1), fmt)


def _poisson_nll(args: Args, params: Params, fmt: Format) -> Interval:
    """exp(x) - t x, or x - t log(x + eps)."""
    x, t = args[0], args[1]
    if params.get("log_input", True):
        grown = increasing(real.exp, codomain=(0.0, INF))((x,), {}, fmt)
        whole = arith.sub((grown, arith.mul((t, x), {}, fmt)), {}, fmt)
    else:
        eps = float(params.get("eps", 1e-8))
        log = increasing(real.log, (0.0, INF))((arith.add((x, Interval(eps, eps)), {}, fmt),), {}, fmt)
        whole = arith.sub((x, arith.mul((t, log), {}, fmt)), {}, fmt)
    return Interval(-INF, INF, whole.nan) if params.get("full") else whole


def _cosine_embedding(args: Args, params: Params, fmt: Format) -> Interval:
    """1 - cosine, or max(0, cosine - margin); 0 / 0 at a zero vector where 1e-12 rounds to 0."""
    wild = any(not x.is_finite or reduce.too_large_to_square(x, 4096, fmt) for x in args)
    return Interval(-INF, INF, True) if wild or fmt.nearest(1e-12) == 0 else Interval(0.0, 2.01)


def _hinge(args: Args, params: Params, fmt: Format) -> Interval:
    """At least 0, and finite for finite operands that do not overflow."""
    return _nonnegative(args, params, fmt)


def _row(name: str, signature: str, operands: int, forward: Forward, slope: tuple[str | None, ...] | None = None,
         stable: bool = False, trigger: bool = False) -> Op:
    return Op(name, f"{signature}, reduction='mean'", operands, forward, slope or (None,) * operands, F + name, (F + name,),
        "loss",
              trigger=trigger, stable=stable)


PAIR = "input, target"
CE = f"{PAIR}, weight=None, size_average=None, ignore_index=-100, reduce=None"
TABLE.add(
    _row("mse_loss", PAIR, 2, _reduced(_mse), ("2 * (input - target)", "2 * (target - input)")),
    _row("l1_loss", PAIR, 2, _reduced(_l1), ("between(-1, 1)", "between(-1, 1)")),
    Op("huber_loss", f"{PAIR}, reduction='mean', delta=1.0", 2, _reduced(_huber), ("between(-1, 1) * delta",) * 2,
       F + "huber_loss",
       (F + "huber_loss",), "loss"),
    Op("smooth_l1_loss", f"{PAIR}, size_average=None, reduce=None, reduction='mean', beta=1.0", 2, _reduced(_smooth_l1),
       ("between(-1, 1)",) * 2, F + "smooth_l1_loss", (F + "smooth_l1_loss",), "loss"),
    Op("binary_cross_entropy", f"{PAIR}, weight=None, size_average=None, reduce=None, reduction='mean'", 3, _reduced(_bce),
       ("bce_slope(input, target)", None, None),
       F + "binary_cross_entropy", (F + "binary_cross_entropy",), "loss", trigger=True),
    Op("binary_cross_entropy_with_logits",
       f"{PAIR}, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None", 3, _reduced(_bce_logits),
       ("between(-1, 1)", None, None), F + "binary_cross_entropy_with_logits", (F + "binary_cross_entropy_with_logits",), "loss",
       stable=True),
    Op("cross_entropy", f"{CE}, reduction='mean', label_smoothing=0.0", 3, _reduced(_cross_entropy, reduce.mean_by_sum),
       ("between(-1, 1)", None, None),
       F + "cross_entropy", (F + "cross_entropy",), "loss", stable=True),
    Op("nll_loss", f"{CE}, reduction='mean'", 3, _reduced(_nll, reduce.mean_by_sum), ("between(-1, 0)", "0", None),
       F + "nll_loss", (F + "nll_loss",), "loss"),
    Op("kl_div", f"{PAIR}, size_average=None, reduce=None, reduction='mean', log_target=False", 2, _reduced(_kl_div),
       ("kl_slope(target, log_target)", None), F + "kl_div", (F + "kl_div",), "loss", trigger=True),
    Op("gaussian_nll_loss", f"{PAIR}, var, full=False, eps=1e-06, reduction='mean'", 3, _reduced(_gaussian_nll), (None,) * 3,
       F + "gaussian_nll_loss", (F + "gaussian_nll_loss",), "loss"),
    Op("poisson_nll_loss", f"{PAIR}, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'", 2,
       _reduced(_poisson_nll), (None, None), F + "poisson_nll_loss", (F + "poisson_nll_loss",), "loss", trigger=True),
    Op("soft_margin_loss", f"{PAIR}, size_average=None, reduce=None, reduction='mean'", 2, _reduced(_nonnegative), (None, None),
       F + "soft_margin_loss", (F + "soft_margin_loss",), "loss", trigger=True),
    Op("hinge_embedding_loss", f"{PAIR}, margin=1.0", 2, unknown, (None, None), F + "hinge_embedding_loss",
       (F + "hinge_embedding_loss",), "loss"),
    Op("multilabel_margin_loss", PAIR, 2, _hinge, (None, None), F + "multilabel_margin_loss", (F + "multilabel_margin_loss",),
       "loss"),
    Op("multilabel_soft_margin_loss", f"{PAIR}, weight=None", 2, unknown, (None, None),
       F + "multilabel_soft_margin_loss", (F + "multilabel_soft_margin_loss",), "loss", stable=True),
    Op("multi_margin_loss", f"{PAIR}, p=1, margin=1.0", 2, _hinge, (None, None), F + "multi_margin_loss",
       (F + "multi_margin_loss",), "loss"),
    Op("margin_ranking_loss", "input1, input2, target, margin=0", 3, _hinge, (None,) * 3, F + "margin_ranking_loss",
       (F + "margin_ranking_loss",), "loss"),
    Op("triplet_margin_loss", "anchor, positive, negative, margin=1.0, p=2, eps=1e-06", 3, _hinge, (None,) * 3,
       F + "triplet_margin_loss",
       (F + "triplet_margin_loss",), "loss"),
    Op("cosine_embedding_loss", "input1, input2, target, margin=0", 3, _cosine_embedding, (None,) * 3,
       F + "cosine_embedding_loss", (F + "cosine_embedding_loss",), "loss"),
    Op("ctc_loss", "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False", 2,
       lambda a, p, f: Interval(-INF, INF, not all(x.is_finite for x in a)), (None, None), F + "ctc_loss", (F + "ctc_loss",),
       "loss", trigger=True),
)
