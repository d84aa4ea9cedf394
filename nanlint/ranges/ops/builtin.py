"""The words of the graph itself: choices, loops, tuples, casts, and writes into a part of a tensor."""

from __future__ import annotations

from nanlint.core.formats import FORMATS, INTEGERS, Format, dtype_name
from nanlint.ranges import arith, real, reduce
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Op
from nanlint.ranges.transfer import Args, hull_of, round_to, same


def _cast(args: Args, params: Params, fmt: Format) -> Interval:
    """Rounded to the format of `params["dtype"]`; whole numbers are cut off, and undefined out of range."""
    return cast(args[0], dtype_name(params.get("dtype")), fmt)


def cast(x: Interval, dtype: str, fmt: Format) -> Interval:
    """`x` as a value of `dtype`; of an unknown dtype, in `fmt`."""
    if x.lo > x.hi and not x.nan:
        return x
    if dtype == "bool":
        return Interval(1.0 if x.lo > x.hi or not x.has_zero else 0.0, 1.0 if x.nan or x.lo or x.hi else 0.0, integer=True)
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        if x.nan or x.lo < low or x.hi > high:
            return Interval(float(low), float(high), integer=True)
        return Interval(real.trunc(x.lo), real.trunc(x.hi), False, x.integer and x.nonzero, True)
    return round_to(x, FORMATS.get(dtype, fmt))


def _written(args: Args, params: Params, fmt: Format) -> Interval:
    """The old values or those written, rounded to the format."""
    return round_to(hull_of()((args[0], args[-1]), params, fmt), fmt)


def _scatter_add(args: Args, params: Params, fmt: Format) -> Interval:
    """input plus a sum of any number of the elements of src."""
    added = reduce.sum_of(args[-1], 0, reduce.counts(params)[1], fmt)
    return arith.add((args[0], added), {}, fmt)


def _where(args: Args, params: Params, fmt: Format) -> Interval:
    """Either of two values, by a condition."""
    if len(args) < 3:
        return Interval(0.0, INF, integer=True)
    cond, a, b = args[0], args[1], args[2]
    if cond is not None and not cond.nan:
        if not cond.has_zero and not cond.is_empty:
            return round_to(a, fmt)
        if cond.lo == 0 == cond.hi:
            return round_to(b, fmt)
    return round_to(a.hull(b), fmt)


def _masked_fill(args: Args, params: Params, fmt: Format) -> Interval:
    """`value` where the mask is true."""
    mask = args[1]
    if mask is None:
        return round_to(args[0].hull(args[2]), fmt)
    return _where((mask, args[2], args[0]), params, fmt)


HALF = "between(0, 1)"
TABLE.add(
    Op("phi", "cond, *arms", 3, hull_of(1), ("0", HALF, HALF), "phi", family="select"),
    Op("assume", "input, cond", 2, same, ("1", "0"), "assume", family="view"),
    Op("carry", "init", 1, same, ("1",), "carry", family="view"),
    Op("carry_out", "init, after", 2, hull_of(), (HALF, HALF), "carry_out", family="select"),
    Op("item", "input, index", 1, same, ("1",), "item", family="view"),
    Op("tuple", "*items", 1, hull_of(), (HALF,), "tuple", family="join"),
    Op("nograd", "input", 1, same, ("0",), "nograd", family="view"),
    Op("detach", "input", 1, same, ("0",), "detach", family="view"),
    Op("cast", "input, dtype", 1, _cast, ("1",), "cast", family="cast"),
    Op("index", "input", 1, same, (HALF,), "index", family="view"),
    Op("index_put", "input, indices, values, accumulate=False", 3, _written, (HALF, "0", HALF), family="select"),
    Op("index_copy", "input, dim, index, source", 4, _written, (HALF, "0", "0", HALF), family="select"),
    Op("index_fill", "input, dim, index, value", 4, _written, (HALF, "0", "0", None), family="select"),
    Op("scatter", "input, dim, index, src", 4, _written, (HALF, "0", "0", HALF), family="select"),
    Op("masked_scatter", "input, mask, source", 3, _written, (HALF, "0", HALF), family="select"),
    Op("select_scatter", "input, src, dim, index", 2, hull_of(), (HALF, HALF), family="select"),
    Op("slice_scatter", "input, src, dim=0, start=None, end=None, step=1", 2, hull_of(), (HALF, HALF), family="select"),
    Op("scatter_add", "input, dim, index, src", 4, _scatter_add, ("1", "0", "0", HALF), family="select"),
    Op("scatter_reduce", "input, dim, index, src, reduce, include_self=True", 4,
       lambda a, p, f: _scatter_add(a, p, f).hull(_written(a, p, f)) if p.get("reduce") in ("sum", "mean", None)
       else Interval(-INF, INF) if p.get("reduce") == "prod" else _written(a, p, f), (None, "0", "0", None), family="select"),
    Op("index_add", "input, dim, index, source, alpha=1", 4, _scatter_add, ("1", "0", "0", HALF), family="select"),
    Op("where", "condition, input, other", 3, _where, ("0", HALF, HALF), family="select"),
    Op("masked_fill", "input, mask, value", 3, _masked_fill, (HALF, "0", HALF), family="select"),
)
