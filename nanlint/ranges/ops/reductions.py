"""Reductions and scans."""

from __future__ import annotations

from nanlint.core.formats import Format
from nanlint.ranges import arith, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, unknown

ONE = ("between(0, 1)",)
DIMS = "input, dim=None, keepdim=False"


def _extreme(args: Args, params: Params, fmt: Format) -> Interval:
    """One of the values."""
    return args[0]


def _quantile(args: Args, params: Params, fmt: Format) -> Interval:
    """Between two of the values."""
    x = args[0]
    if x.is_empty:
        return x
    if not x.is_finite:
        return Interval(-INF, INF, True)
    slack = 4 * fmt.slack * x.magnitude
    return Interval(fmt.nearest(x.lo - slack), fmt.nearest(x.hi + slack), x.nan or x.has_infinity)


def _without_nan(forward: Forward) -> Forward:
    def passing(args: Args, params: Params, fmt: Format) -> Interval:
        """NaN is passed over; NaN where every element is."""
        whole = forward((args[0].with_(nan=False), *args[1:]), params, fmt)
        return whole.with_(nan=whole.nan or args[0].nan)

    return passing


def _ptp(args: Args, params: Params, fmt: Format) -> Interval:
    """The differences of neighbours."""
    return arith.sub((args[0], args[0]), {}, fmt)


def _distance(args: Args, params: Params, fmt: Format) -> Interval:
    """The p-norm of a - b."""
    return reduce.norm((arith.sub((args[0], args[1]), {}, fmt.work),), params, fmt)


def _pairwise(args: Args, params: Params, fmt: Format) -> Interval:
    """The p-norm of a - b + eps."""
    eps = params.get("eps", 1e-6)
    gap = arith.sub((args[0], args[1]), {}, fmt)
    return reduce.norm((arith.add((gap, Interval(eps, eps)), {}, fmt),), params, fmt)


def _cosine(args: Args, params: Params, fmt: Format) -> Interval:
    """Between -1 and 1 up to rounding; NaN where a norm overflows, or where both are 0 and eps rounds to 0."""
    eps = params.get("eps", 1e-8)
    top = 1 + 8 * fmt.eps
    nan = any(x.nan or x.has_infinity for x in args)
    high = reduce.counts(params)[1]
    nan = nan or any(reduce.too_large_to_square(x, high, fmt) for x in args)
    nan = nan or fmt.nearest(eps) == 0 and any(x.has_zero for x in args)
    low = 0.0 if all(x.lo >= 0 for x in args) else -top
    return Interval(low, top, nan)


def _cosine_slope_safe() -> tuple[str | None, ...]:
    return (None, None)


def _multinomial(args: Args, params: Params, fmt: Format) -> Interval:
    return reduce.position(args, params, fmt)


def _trace(args: Args, params: Params, fmt: Format) -> Interval:
    """The sum of the diagonal."""
    return reduce.total(args, params, fmt)


def _moments(spread: Forward) -> tuple[Forward, Forward]:

    def mean(args: Args, params: Params, fmt: Format) -> Interval:
        whole = reduce.mean(args, params, fmt)
        return whole.with_(nan=whole.nan or spread(args, params, fmt).nan)

    return spread, mean


NORM = "a norm is 0 for a zero vector"
STD = "the variance of a constant is 0"
INDEX = reduce.position

TABLE.add(
    Op("sum", "input, dim=None, keepdim=False, dtype=None", 1, reduce.total, ("1",), family="reduction"),
    Op("nansum", "input, dim=None, keepdim=False, dtype=None", 1, reduce.nansum, ONE, family="reduction"),
    Op("mean", "input, dim=None, keepdim=False, dtype=None", 1, reduce.mean, ("mean_slope(count, count_min)",),
       family="reduction", trigger=True),
    Op("nanmean", "input, dim=None, keepdim=False, dtype=None", 1, _without_nan(reduce.mean_by_sum), (None,), family="reduction"),
    Op("prod", "input, dim=None, keepdim=False, dtype=None", 1, reduce.product, ("rest_of_product(input, count)",),
       family="reduction"),
    Op("var", "input, dim=None, correction=1, keepdim=False", 1, reduce.variance, ("spread_slope(input, correction, count)",),
       family="reduction", produces=STD, trigger=True),
    Op("std", "input, dim=None, correction=1, keepdim=False", 1, reduce.deviation,
       ("std_slope(input, correction, count, count_min)",),
       family="reduction", produces=STD, trigger=True),
    Op("var_mean", "input, dim=None, correction=1, keepdim=False", 1, reduce.variance,
       ("spread_slope(input, correction, count)",),
       family="reduction", produces=STD, trigger=True, parts=_moments(reduce.variance)),
    Op("std_mean", "input, dim=None, correction=1, keepdim=False", 1, reduce.deviation,
       ("std_slope(input, correction, count, count_min)",),
       family="reduction", produces=STD, trigger=True, parts=_moments(reduce.deviation)),
    Op("norm", "input, p='fro', dim=None, keepdim=False, dtype=None", 1, reduce.norm, ("norm_slope(p)",), family="reduction",
       produces=NORM,
       also=("torch.functional.norm",)),
    Op("linalg_norm", "input, ord=None, dim=None, keepdim=False, dtype=None", 1, reduce.norm, ("norm_slope(ord)",),
       "torch.linalg.norm",
       ("torch.linalg.norm",), "reduction", produces=NORM),
    Op("linalg_vector_norm", "input, ord=2, dim=None, keepdim=False, dtype=None", 1, reduce.norm, ("norm_slope(ord)",),
       "torch.linalg.vector_norm", ("torch.linalg.vector_norm",), "reduction", produces=NORM),
    Op("linalg_matrix_norm", "input, ord='fro', dim=None, keepdim=False, dtype=None", 1, reduce.norm, ("norm_slope(ord)",),
       "torch.linalg.matrix_norm", ("torch.linalg.matrix_norm",), "reduction", produces=NORM),
    Op("logsumexp", "input, dim, keepdim=False", 1, reduce.logsumexp, ONE, family="reduction", stable=True,
       also=("torch.special.logsumexp",)),
    Op("amax", DIMS, 1, _extreme, ONE, family="reduction"),
    Op("amin", DIMS, 1, _extreme, ONE, family="reduction"),
    Op("aminmax", "input, dim=None, keepdim=False", 1, _extreme, ONE, family="reduction", parts=(_extreme, _extreme)),
    Op("max_dim", "input, dim, keepdim=False", 1, _extreme, ONE, "torch.max", family="reduction", parts=(_extreme, INDEX)),
    Op("min_dim", "input, dim, keepdim=False", 1, _extreme, ONE, "torch.min", family="reduction", parts=(_extreme, INDEX)),
    Op("median", "input", 1, _extreme, ONE, "torch.median", family="reduction"),
    Op("median_dim", "input, dim, keepdim=False", 1, _extreme, ONE, "torch.median", family="reduction", parts=(_extreme, INDEX)),
    Op("nanmedian", "input", 1, _without_nan(_extreme), ONE, family="reduction"),
    Op("mode", "input, dim=-1, keepdim=False", 1, _extreme, ONE, family="reduction", parts=(_extreme, INDEX)),
    Op("kthvalue", "input, k, dim=-1, keepdim=False", 1, _extreme, ONE, family="reduction", parts=(_extreme, INDEX)),
    Op("quantile", "input, q, dim=None, keepdim=False, interpolation='linear'", 1, _quantile, ONE, family="reduction"),
    Op("nanquantile", "input, q, dim=None, keepdim=False, interpolation='linear'", 1, _without_nan(_quantile), ONE,
       family="reduction"),
    Op("topk", "input, k, dim=-1, largest=True, sorted=True", 1, _extreme, ONE, family="reduction", parts=(_extreme, INDEX)),
    Op("sort", "input, dim=-1, descending=False, stable=False", 1, _extreme, ONE, family="reduction", parts=(_extreme, INDEX)),
    Op("msort", "input", 1, _extreme, ONE, family="reduction"),
    Op("argmax", DIMS, 1, INDEX, ("0",), family="reduction", dtype="int64"),
    Op("argmin", DIMS, 1, INDEX, ("0",), family="reduction", dtype="int64"),
    Op("argsort", "input, dim=-1, descending=False, stable=False", 1, INDEX, ("0",), family="reduction", dtype="int64"),
    Op("count_nonzero", "input, dim=None", 1, reduce.number, ("0",), family="reduction", dtype="int64"),
    Op("nonzero", "input, as_tuple=False", 1, reduce.position, ("0",), family="reduction", dtype="int64",
       also=("torch.argwhere", "torch.Tensor.argwhere")),
    Op("bincount", "input, weights=None, minlength=0", 1, reduce.number, ("0",), family="reduction", dtype="int64"),
    Op("histc", "input, bins=100, min=0, max=0", 1, reduce.number, ("0",), family="reduction"),
    Op("searchsorted", "sorted_sequence, input, right=False", 2, reduce.number, ("0", "0"), family="reduction", dtype="int64"),
    Op("bucketize", "input, boundaries, right=False", 2, reduce.number, ("0", "0"), family="reduction", dtype="int64"),
    Op("unique", "input, sorted=True, return_inverse=False, return_counts=False, dim=None", 1, _extreme, ONE, family="reduction"),
    Op("trace", "input", 1, _trace, ONE, family="reduction"),
    Op("cumsum", "input, dim, dtype=None", 1, reduce.running_total, ONE, family="scan"),
    Op("cumprod", "input, dim, dtype=None", 1, reduce.running_product, (None,), family="scan"),
    Op("logcumsumexp", "input, dim", 1, reduce.running_logsumexp, (None,), family="scan", stable=True),
    Op("cummax", "input, dim", 1, _extreme, ONE, family="scan", parts=(_extreme, INDEX)),
    Op("cummin", "input, dim", 1, _extreme, ONE, family="scan", parts=(_extreme, INDEX)),
    Op("diff", "input, n=1, dim=-1", 1, _ptp, ("between(-1, 1)",), family="scan", produces="equal neighbours differ by 0"),
    Op("cumulative_trapezoid", "y, x=None, dx=1, dim=-1", 1, unknown, (None,), family="scan"),
    Op("trapezoid", "y, x=None, dx=1, dim=-1", 1, unknown, (None,), family="reduction", also=("torch.trapz",)),
    Op("dist", "input, other, p=2", 2, _distance, ("norm_slope(p)", "norm_slope(p)"), family="reduction",
       produces="the distance of equal points is 0"),
    Op("cdist", "x1, x2, p=2.0", 2, _distance, ("norm_slope(p)", "norm_slope(p)"), family="reduction",
       produces="the distance of equal points is 0"),
    Op("pairwise_distance", "x1, x2, p=2.0, eps=1e-06, keepdim=False", 2, _pairwise, ("norm_slope(p)", "norm_slope(p)"),
       "torch.nn.functional.pairwise_distance", ("torch.nn.functional.pairwise_distance", "torch.pairwise_distance"),
       "reduction"),
    Op("cosine_similarity", "x1, x2, dim=1, eps=1e-08", 2, _cosine, _cosine_slope_safe(), "torch.nn.functional.cosine_similarity",
       ("torch.nn.functional.cosine_similarity",), "reduction", produces="parallel vectors have cosine 1", stable=True),
    Op("cov", "input, correction=1", 1, unknown, (None,), family="reduction"),
    Op("corrcoef", "input", 1, lambda a, p, f: Interval(-1.0, 1.0, True), (None,), family="reduction", trigger=True),
)
