"""The functional forms of layers."""

from __future__ import annotations

import math

from nanlint.core.formats import Format
from nanlint.ranges import arith, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, unknown

F = "torch.nn.functional."
ZERO = Interval(0.0, 0.0, integer=True)


def _present(args: Args, index: int) -> Interval | None:
    return args[index] if index < len(args) else None


def _linear(args: Args, params: Params, fmt: Format) -> Interval:
    """input @ weight.T + bias."""
    product = reduce.matmul(args, params, fmt.work)
    bias = _present(args, 2)
    return arith.add((product, bias or ZERO), {}, fmt)


def _padded_linear(args: Args, params: Params, fmt: Format) -> Interval:
    """Sums of products with the weight, where zeros may pad the input."""
    return _linear((args[0].hull(ZERO), args[1].hull(ZERO), *args[2:]), params, fmt)


def _bilinear(args: Args, params: Params, fmt: Format) -> Interval:
    """Sums of products of three."""
    pair = arith.mul((args[0], args[1]), {}, fmt.work)
    whole = _linear((pair, *args[2:]), params, fmt)
    pairs = (args[0].magnitude * args[2].magnitude, args[1].magnitude * args[2].magnitude)
    if whole.has_infinity or not max(*pairs, args[0].magnitude * args[1].magnitude) * 4096 < fmt.max:
        return Interval(-INF, INF, True)
    return whole


def _affine(x: Interval, weight: Interval | None, bias: Interval | None, fmt: Format) -> Interval:
    if weight is not None:
        x = arith.mul((x, weight), {}, fmt.work)
    if bias is not None:
        x = arith.add((x, bias), {}, fmt.work)
    return Interval(fmt.lower(x.lo, 16), fmt.upper(x.hi, 16), x.nan)


def _normalized(position: int) -> Forward:
    """(x - mean) / sqrt(var + eps), at most sqrt(n); weight and bias are operands `position` and the next."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        x = args[0]
        eps = params.get("eps", 1e-5)
        n = reduce.counts(params)[1]
        spread = math.sqrt(eps) if isinstance(eps, (int, float)) and eps > 0 else 1e-30
        reach = math.sqrt(n) * (1 + 64 * fmt.slack) + 16 * fmt.slack * x.magnitude / spread
        nan = x.nan or x.has_infinity or reduce.too_large_to_square(x, 4.0 * n, fmt.work) or spread == 1e-30
        weight = _present(args, position)
        if weight is not None and isinstance(eps, (int, float)) and eps > 0:
            nan = nan or not weight.magnitude / spread * max(x.magnitude, 1.0) < fmt.work_max
        if nan or x.is_empty:
            return Interval(-INF, INF, True)
        return _affine(Interval(-reach, reach, nan), weight, _present(args, position + 1), fmt)

    return forward


def _rms_norm(args: Args, params: Params, fmt: Format) -> Interval:
    """x / sqrt(mean(x * x) + eps), at most sqrt(n)."""
    x = args[0]
    eps = params.get("eps")
    n = reduce.counts(params)[1]
    reach = math.sqrt(n) * (1 + 64 * fmt.eps)
    nan = x.nan or x.has_infinity or reduce.too_large_to_square(x, n, fmt.work) or eps == 0
    if nan:
        return Interval(-INF, INF, True)
    return _affine(Interval(0.0 if x.lo >= 0 else -reach, 0.0 if x.hi <= 0 else reach, nan), _present(args, 1), None, fmt)


def _batch_norm(args: Args, params: Params, fmt: Format) -> Interval:
    """By the batch's statistics in training; by the running ones, which are operands, otherwise."""
    if params.get("training") is True:
        forward = _normalized(3)
        return forward(args, params, fmt)
    return Interval(-INF, INF, True)


def _normalize(args: Args, params: Params, fmt: Format) -> Interval:
    """x / max(norm(x), eps): in [-1, 1] up to rounding; 0 / 0 at a zero vector where eps rounds to 0."""
    x = args[0]
    eps = params.get("eps", 1e-12)
    top = fmt.above(1.0, 2)
    norm = reduce.norm((x,), params, fmt)
    nan = norm.nan or x.has_infinity or (x.has_zero and isinstance(eps, (int, float)) and fmt.nearest(eps) == 0)
    if isinstance(eps, (int, float)) and fmt.nearest(eps) == 0 and norm.lo == 0:
        return Interval(-INF, INF, True)
    return Interval(0.0 if x.lo >= 0 else -top, 0.0 if x.hi <= 0 else top, nan)


def _dropout(args: Args, params: Params, fmt: Format) -> Interval:
    """0 or x / (1 - p)."""
    x = args[0]
    p = params.get("p", 0.5)
    if params.get("training") is False:
        return x
    if not isinstance(p, (int, float)) or not 0 <= p < 1:
        return x.hull(ZERO) if p == 1 else Interval(-INF, INF, True)
    scale = Interval(fmt.below(1 / (1 - p)), fmt.above(1 / (1 - p)))
    whole = x.hull(arith.mul((x, scale), {}, fmt)).hull(ZERO)
    return whole.with_(nan=whole.nan or x.has_infinity)


def _pooled(args: Args, params: Params, fmt: Format) -> Interval:
    """Means of elements, and of zeros where it pads."""
    x = args[0].hull(ZERO) if params.get("padding") else args[0]
    return _mixed(x, 4096, fmt)


def _mixed(x: Interval, count: int, fmt: Format) -> Interval:
    """A mean of up to `count` elements, summed in the format itself."""
    whole = reduce.mean_by_sum((x,), {"count": count}, fmt)
    return whole if x.magnitude > fmt.max / count / 2 else whole.with_(
        lo=fmt.lower(x.lo, 16 * fmt.eps / fmt.slack), hi=fmt.upper(x.hi, 16 * fmt.eps / fmt.slack)
    )


def _largest(args: Args, params: Params, fmt: Format) -> Interval:
    """One of the elements."""
    return args[0]


def _interpolated(args: Args, params: Params, fmt: Format) -> Interval:
    """Between elements; bicubic goes beyond them."""
    x = args[0]
    if params.get("mode") == "bicubic":
        return Interval(fmt.nearest(-2 * x.magnitude), fmt.nearest(2 * x.magnitude), x.nan)
    whole = _mixed(x, 16, fmt)
    return whole.with_(nan=whole.nan or x.has_infinity)


def _grid_sample(args: Args, params: Params, fmt: Format) -> Interval:
    """Between elements and zero."""
    image, grid = args[0], args[1]
    whole = _mixed(image.hull(ZERO), 16, fmt)
    return whole.with_(nan=whole.nan or image.nan or grid.nan or image.has_infinity or not grid.magnitude < 1e4)


def _attention(args: Args, params: Params, fmt: Format) -> Interval:
    """A weighted mean of the values; a fully masked row gives 0, or NaN."""
    value = args[2].hull(ZERO)
    nan = any(x is not None and (x.nan or x.has_infinity) for x in args[:3])
    scores = reduce.contraction(args[0], args[1], 1, reduce.counts(params)[1], fmt.work)
    return reduce.mean_of(value.with_(nan=False), 1, 4096, fmt).with_(nan=nan or not scores.is_finite)


def _embedding(args: Args, params: Params, fmt: Format) -> Interval:
    """Rows of the weight."""
    return args[1]


def _local_response_norm(args: Args, params: Params, fmt: Format) -> Interval:
    """x divided by a power of at least k."""
    x = args[0]
    k = params.get("k", 1.0)
    if isinstance(k, (int, float)) and k >= 1:
        return Interval(min(x.lo, 0.0), max(x.hi, 0.0), x.nan or x.has_infinity or reduce.too_large_to_square(x, 1.0, fmt))
    return Interval(-INF, INF, True)


COMPUTED = (None, None, None)
LINEAR = "input, weight, bias=None"
CONV = f"{LINEAR}, stride=1, padding=0, dilation=1, groups=1"
TCONV = f"{LINEAR}, stride=1, padding=0, output_padding=0, groups=1, dilation=1"
TABLE.add(
    Op("linear", LINEAR, 3, _linear, COMPUTED, F + "linear", (F + "linear",), "layer"),
    Op("bilinear", "input1, input2, weight, bias=None", 4, _bilinear, None, F + "bilinear", (F + "bilinear",), "layer"),
    *(Op(f"conv{d}d", CONV, 3, _padded_linear, COMPUTED, f"{F}conv{d}d", (f"{F}conv{d}d",), "layer") for d in (1, 2, 3)),
    *(Op(f"conv_transpose{d}d", TCONV, 3, _padded_linear, COMPUTED, f"{F}conv_transpose{d}d", (f"{F}conv_transpose{d}d",),
         "layer")
      for d in (1, 2, 3)),
    Op("embedding", "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False", 2,
       _embedding, ("0", "between(0, 1)"), F + "embedding", (F + "embedding",), "layer"),
    Op("embedding_bag", "input, weight, offsets=None", 2, unknown, (None, None), F + "embedding_bag", (F + "embedding_bag",),
       "layer"),
    Op("layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05", 4,
       _normalized(2), (None, "0", None, None), F + "layer_norm", (F + "layer_norm",), "layer",
       stable=True),
    Op("group_norm", "input, num_groups, weight=None, bias=None, eps=1e-05", 4,
       _normalized(2), (None, "0", None, None), F + "group_norm", (F + "group_norm",), "layer",
       stable=True),
    Op("instance_norm",
       "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05", 5,
       _normalized(3), (None,) * 5, F + "instance_norm", (F + "instance_norm",), "layer", stable=True),
    Op("batch_norm", "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05", 5,
       _batch_norm, (None,) * 5, F + "batch_norm", (F + "batch_norm",), "layer", stable=True),
    Op("rms_norm", "input, normalized_shape, weight=None, eps=None", 3, lambda a, p, f: _rms_norm((a[0], *a[2:]), p, f),
       (None, "0", None),
       F + "rms_norm", (F + "rms_norm",), "layer", stable=True),
    Op("local_response_norm", "input, size, alpha=0.0001, beta=0.75, k=1.0", 1, _local_response_norm, (None,),
       F + "local_response_norm",
       (F + "local_response_norm",), "layer"),
    Op("normalize", "input, p=2.0, dim=1, eps=1e-12", 1, _normalize, ("normalize_slope(eps)",), F + "normalize",
       (F + "normalize",),
       "layer", stable=True, trigger=True),
    *(Op(name, "input, p=0.5, training=True, inplace=False", 1, _dropout, ("dropout_slope(p)",), F + name, (F + name,), "random",
         produces="dropout gives 0")
      for name in ("dropout", "dropout1d", "dropout2d", "dropout3d")),
    *(Op(f"avg_pool{d}d", "input, kernel_size, stride=None, padding=0", 1, _pooled, ("between(0, 1)",), f"{F}avg_pool{d}d",
         (f"{F}avg_pool{d}d",), "layer") for d in (1, 2, 3)),
    *(Op(f"adaptive_avg_pool{d}d", "input, output_size", 1, _pooled, ("between(0, 1)",), f"{F}adaptive_avg_pool{d}d",
         (f"{F}adaptive_avg_pool{d}d",), "layer") for d in (1, 2, 3)),
    *(Op(f"max_pool{d}d", "input, kernel_size, stride=None, padding=0, dilation=1", 1, _largest, ("between(0, 9)",),
         f"{F}max_pool{d}d",
         (f"{F}max_pool{d}d",), "layer") for d in (1, 2, 3)),
    *(Op(f"adaptive_max_pool{d}d", "input, output_size", 1, _largest, ("between(0, 9)",), f"{F}adaptive_max_pool{d}d",
         (f"{F}adaptive_max_pool{d}d",), "layer") for d in (1, 2, 3)),
    Op("lp_pool2d", "input, norm_type, kernel_size, stride=None", 1, lambda a, p, f: Interval(0.0, INF, True), (None,),
       F + "lp_pool2d",
       (F + "lp_pool2d",), "layer", trigger=True),
    Op("interpolate", "input, size=None, scale_factor=None, mode='nearest', align_corners=None", 1, _interpolated,
       ("between(-1, 4)",),
       F + "interpolate", (F + "interpolate", F + "upsample"), "layer"),
    Op("grid_sample", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", 2, _grid_sample, (None, None),
       F + "grid_sample", (F + "grid_sample",), "layer"),
    Op("affine_grid", "theta, size, align_corners=None", 1, unknown, (None,), F + "affine_grid", (F + "affine_grid",), "layer"),
    Op("im2col", "input, kernel_size, dilation=1, padding=0, stride=1", 1, lambda a, p, f: a[0].hull(ZERO), ("between(0, 1)",),
       F + "unfold",
       (F + "unfold",), "view"),
    Op("col2im", "input, output_size, kernel_size, dilation=1, padding=0, stride=1", 1,
       lambda a, p, f: reduce.sum_of(a[0], 0, 4096, f), ("between(0, 1)",), F + "fold", (F + "fold",), "layer"),
    Op("scaled_dot_product_attention", "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None", 4,
       _attention,
       (None,) * 4, F + "scaled_dot_product_attention", (F + "scaled_dot_product_attention",), "layer", stable=True),
)
