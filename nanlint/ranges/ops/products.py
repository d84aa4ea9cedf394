"""Products of matrices and their kin."""

from __future__ import annotations

from nanlint.core.formats import Format
from nanlint.ranges import arith, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Op
from nanlint.ranges.transfer import Args, unknown, widened

ZERO = Interval(0.0, 0.0, integer=True)


def _plus_product(args: Args, params: Params, fmt: Format) -> Interval:
    """beta * input + alpha * (a @ b)."""
    alpha, beta = (params.get(name, 1) for name in ("alpha", "beta"))
    product = reduce.matmul(args[1:], params, fmt.work)
    if isinstance(alpha, (int, float)) and isinstance(beta, (int, float)):
        kept = arith.mul((args[0], Interval(beta, beta)), {}, fmt.work)
        added = arith.mul((product, Interval(alpha, alpha)), {}, fmt.work)
        return arith.add((kept if beta else ZERO, added), {}, fmt)
    return Interval(-INF, INF, True)


def _plus_batches(args: Args, params: Params, fmt: Format) -> Interval:
    """input plus the products of all batches, rounded after each."""
    whole = _plus_product(args, params, fmt)
    if whole.is_empty or whole.has_infinity:
        return whole if whole.is_empty else Interval(-INF, INF, True)
    return widened(whole, 16 * fmt.eps * whole.magnitude, fmt)


def _plus_outer(args: Args, params: Params, fmt: Format) -> Interval:
    """input + a outer b, rounded at every step."""
    whole = _plus_product(args, {**params, "count": 1}, fmt.work)
    return widened(whole, 2 * fmt.eps * (args[0].magnitude + args[1].magnitude * args[2].magnitude), fmt)


def _einsum(args: Args, params: Params, fmt: Format) -> Interval:
    """Sums of products of all operands; the equation comes first."""
    whole = args[1]
    for x in args[2:]:
        whole = arith.mul((whole, x), {}, fmt.work)
    total = reduce.sum_of(whole, *reduce.counts(params), fmt)
    return total.with_(nan=total.nan or len(args) > 3 and total.has_infinity)


def _outer(args: Args, params: Params, fmt: Format) -> Interval:
    """Products of every pair."""
    return arith.mul(args, params, fmt)


def _cross(args: Args, params: Params, fmt: Format) -> Interval:
    """Differences of two products."""
    product = arith.mul(args, params, fmt)
    if product.is_empty or product.has_infinity:
        return Interval(-INF, INF, True)
    return widened(arith.sub((product, product), params, fmt), 4 * fmt.eps * product.magnitude, fmt)


COMPUTED = (None, None, None)
PLUS = {"addr": _plus_outer, "addbmm": _plus_batches}
TABLE.add(
    Op("matmul", "input, other", 2, reduce.matmul, ("sums(other)", "sums(input)"), "operator.matmul",
       ("torch.matmul", "torch.Tensor.__matmul__", "torch.linalg.matmul"), "linalg"),
    *(Op(name, f"input, {second}", 2, reduce.matmul, (f"sums({second})", "sums(input)"), family="linalg")
      for name, second in {"mm": "mat2", "bmm": "mat2", "mv": "vec", "dot": "tensor", "vdot": "other", "inner": "other"}.items()),
    Op("tensordot", "input, other, dims=2", 2, reduce.matmul, (None, None), family="linalg",
       also=("torch.functional.tensordot",)),
    Op("einsum", "equation, *operands", 3, _einsum, (None, None, None), "torch.einsum", family="linalg"),
    Op("chain_matmul", "*matrices", 1, unknown, (None,), "torch.chain_matmul", ("torch.linalg.multi_dot",), "join"),
    Op("outer", "input, vec2", 2, _outer, ("vec2", "input"), also=("torch.ger", "torch.Tensor.ger"), family="linalg"),
    Op("kron", "input, other", 2, _outer, ("sums(other)", "sums(input)"), family="linalg"),
    Op("cross", "input, other, dim=None", 2, _cross, (None, None), also=("torch.linalg.cross",), family="linalg"),
    *(Op(name, f"input, {a}, {b}, beta=1, alpha=1", 3,
         PLUS.get(name, _plus_product), COMPUTED, family="linalg")
      for name, a, b in (("addmm", "mat1", "mat2"), ("addmv", "mat", "vec"), ("addr", "vec1", "vec2"),
                         ("baddbmm", "batch1", "batch2"), ("addbmm", "batch1", "batch2"))),
)
