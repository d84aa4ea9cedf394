"""Rarer functions: of whole numbers, of mathematics and physics, and writes in place."""

from __future__ import annotations

from nanlint.core.formats import Format
from nanlint.ranges import arith, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, constant, hull_of, round_to, same, unknown, widened

S = "torch.special."
ZERO = Interval(0.0, 0.0, integer=True)


def _whole(args: Args, params: Params, fmt: Format) -> Interval:
    """A whole number no larger than the operands."""
    top = max(x.magnitude for x in args)
    return Interval(0.0, top, integer=True)


def _product_of_whole(args: Args, params: Params, fmt: Format) -> Interval:
    """A whole number no larger than the product."""
    product = args[0].magnitude * args[1].magnitude
    return Interval(0.0, product if product == product else INF, integer=True)


def _shifted_left(args: Args, params: Params, fmt: Format) -> Interval:
    """a * 2 ** b, as long as it fits."""
    shift = args[1].hi if not args[1].is_empty else 64.0
    top = args[0].magnitude * 2.0 ** min(max(shift, 0.0), 64.0)
    return Interval(-2.0**63 if top >= 2.0**63 else -top if args[0].lo < 0 else 0.0, min(top, 2.0**63), integer=True)


def _shifted_right(args: Args, params: Params, fmt: Format) -> Interval:
    """a / 2 ** b, rounded down."""
    x = args[0].hull(ZERO)
    return Interval(min(x.lo, -1.0) if x.lo < 0 else 0.0, x.hi, integer=True)


def _next(args: Args, params: Params, fmt: Format) -> Interval:
    """The neighbour of a towards b."""
    a, b = args[0], args[1]
    if a.is_empty or b.is_empty:
        return Interval(INF, -INF, a.nan or b.nan)
    lo = fmt.below(a.lo) if b.lo < a.hi else a.lo
    hi = fmt.above(a.hi) if b.hi > a.lo else a.hi
    return Interval(lo, hi, a.nan or b.nan)


def _gammainc(args: Args, params: Params, fmt: Format) -> Interval:
    """A probability; NaN for negative operands, and for two zeros or two infinities."""
    a, x = args[0], args[1]
    bad = any(v.nan or v.lo < 0 or v.has_infinity for v in (a, x)) or a.has_zero and x.has_zero
    return Interval(0.0, 1.0 + 4096 * fmt.slack + 4 * fmt.eps, bad or not max(a.magnitude, x.magnitude) < 1e6)


def _bessel(lo: float) -> Forward:
    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        """Between its first trough and 1."""
        return Interval(lo, 1.0 + 16 * fmt.eps, args[0].nan or args[0].has_infinity)

    return forward


def _fill(args: Args, params: Params, fmt: Format) -> Interval:
    """The value, rounded to the format."""
    return round_to(args[1], fmt)


def _quantized(args: Args, params: Params, fmt: Format) -> Interval:
    """scale * (a whole number between quant_min and quant_max, less the zero point)."""
    scale, zero, low, high = (params.get(n) for n in ("scale", "zero_point", "quant_min", "quant_max"))
    if not all(isinstance(v, (int, float)) for v in (scale, zero, low, high)):
        return Interval(-INF, INF, args[0].nan)
    ends = [scale * (low - zero), scale * (high - zero)]  # type: ignore[operator]
    return widened(Interval(min(ends), max(ends), args[0].nan), 4 * max(fmt.eps, 2.0**-23) * max(map(abs, ends)), fmt)


def _pdist(args: Args, params: Params, fmt: Format) -> Interval:
    """The p-norms of the differences of rows."""
    return reduce.norm((arith.sub((args[0], args[0]), {}, fmt.work),), params, fmt)


def _vecdot(args: Args, params: Params, fmt: Format) -> Interval:
    """Sums of products."""
    return reduce.sum_of(arith.mul(args, {}, fmt), *reduce.counts(params), fmt)


def _alpha_dropout(args: Args, params: Params, fmt: Format) -> Interval:
    """x, or an affine image of it."""
    return args[0] if params.get("training") is not True else Interval(-INF, INF, args[0].nan or args[0].has_infinity)


def _special(name: str, signature: str, operands: int, forward: Forward, trigger: bool = False) -> Op:
    return Op(f"special_{name}", signature, operands, forward, (None,) * operands, S + name, (S + name,),
        "binary" if operands > 1 else "pointwise",
              trigger=trigger)


def _integers(name: str, forward: Forward, call: str = "", also: tuple[str, ...] = ()) -> Op:
    return Op(name, "input, other", 2, forward, ("0", "0"), call, also, "binary")


TABLE.add(
    _special("gammainc", "input, other", 2, _gammainc),
    _special("gammaincc", "input, other", 2, _gammainc),
    _special("zeta", "input, other", 2, unknown, trigger=True),
    _special("multigammaln", "input, p", 1, unknown, trigger=True),
    _special("bessel_j0", "input", 1, _bessel(-0.42)),
    _special("bessel_j1", "input", 1, _bessel(-0.6)),
    _special("bessel_y0", "input", 1, unknown, trigger=True),
    _special("bessel_y1", "input", 1, unknown, trigger=True),
    _integers("gcd", _whole),
    _integers("lcm", _product_of_whole),
    _integers("lshift", _shifted_left, "operator.lshift", ("torch.bitwise_left_shift", "torch.Tensor.bitwise_left_shift",
    "torch.Tensor.__lshift__")),
    _integers("rshift", _shifted_right, "operator.rshift", ("torch.bitwise_right_shift", "torch.Tensor.bitwise_right_shift",
    "torch.Tensor.__rshift__")),
    Op("nextafter", "input, other", 2, _next, (None, None), family="binary"),
    Op("frexp", "input", 1, same, (None,), parts=(lambda a, p,
       f: Interval(-1.0, 1.0, a[0].nan) if a[0].is_finite else Interval(-INF, INF, True),
                                                 constant(-1100.0, 1100.0, True))),
    Op("fill", "input, value", 2, _fill, ("0", "between(0, 1)"), family="select"),
    Op("zero", "input", 1, constant(0.0, 0.0, True), ("0",), "torch.zeros_like", family="create", produces="is zero"),
    Op("copy", "input, src, non_blocking=False", 2, _fill, ("0", "1"), "torch.Tensor.copy_", family="select"),
    Op("index_reduce", "input, dim, index, source, reduce, include_self=True", 4, unknown, (None, "0", "0", None),
       family="select"),
    Op("pdist", "input, p=2.0", 1, _pdist, ("norm_slope(p)",), "torch.nn.functional.pdist", ("torch.nn.functional.pdist",),
       "reduction",
       produces="the distance of equal points is 0"),
    Op("linalg_vecdot", "x, y, dim=-1", 2, _vecdot, ("sums(b)", "sums(a)"), "torch.linalg.vecdot", ("torch.linalg.vecdot",),
       "linalg"),
    Op("linalg_inv_ex", "A, check_errors=False", 1, unknown, (None,), "torch.linalg.inv_ex", ("torch.linalg.inv_ex",), "linalg",
       trigger=True,
       parts=(unknown, constant(0.0, INF, True))),
    Op("linalg_diagonal", "A, offset=0, dim1=-2, dim2=-1", 1, same, ("between(0, 1)",), "torch.linalg.diagonal",
       ("torch.linalg.diagonal",), "view"),
    Op("vander", "x, N=None, increasing=False", 1, unknown, (None,), also=("torch.linalg.vander",), family="linalg",
       trigger=True),
    Op("gradient", "input, spacing=1, dim=None, edge_order=1", 1, unknown, (None,), family="split"),
    Op("combinations", "input, r=2, with_replacement=False", 1, same, ("between(0, 9)",), family="view"),
    Op("unique_consecutive", "input, return_inverse=False, return_counts=False, dim=None", 1, same, ("between(0, 1)",),
       family="reduction"),
    Op("sum_to_size", "input, *size", 1, lambda a, p, f: reduce.total(a, p, f), ("1",), "torch.Tensor.sum_to_size",
       family="reduction"),
    Op("pad_sequence", "*tensors, batch_first=False, padding_value=0.0", 1, lambda a, p, f: hull_of()((*a, ZERO), p, f),
       ("between(0, 1)",),
       "torch.nn.utils.rnn.pad_sequence", ("torch.nn.utils.rnn.pad_sequence",), "join", produces="padding is 0"),
    Op("alpha_dropout", "input, p=0.5, training=False, inplace=False", 1, _alpha_dropout, (None,),
       "torch.nn.functional.alpha_dropout",
       ("torch.nn.functional.alpha_dropout",), "random"),
    Op("fake_quantize_per_tensor_affine", "input, scale, zero_point, quant_min, quant_max", 1, _quantized, ("between(0, 1)",),
       family="cast"),
    Op("log_normal", "input, mean=1.0, std=2.0", 1, constant(0.0, INF), ("0",), "torch.Tensor.log_normal_", family="random"),
    Op("cauchy", "input, median=0.0, sigma=1.0", 1, constant(-INF, INF), ("0",), "torch.Tensor.cauchy_", family="random"),
    Op("geometric", "input, p", 1, constant(1.0, INF, True), ("0",), "torch.Tensor.geometric_", family="random"),
)
