"""Tensors made from numbers, and random ones."""

from __future__ import annotations

import math
from typing import Any

from nanlint.core.formats import Format
from nanlint.ranges.interval import INF, Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, bounded, constant

WORDS = ", dtype=None, device=None, requires_grad=False"
NORMAL = 10.0  # no draw of torch's normal generators goes beyond


def _number(value: object, default: Interval) -> Interval:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return Interval(float(value), float(value), integer=math.isfinite(value) and float(value).is_integer())


def _operand(args: Args, index: int, params: Params, name: str, default: Interval) -> Interval:
    """An argument that may be an operand or a static parameter."""
    if index < len(args) and args[index] is not None:
        return args[index]
    return _number(params.get(name), default)


ANY = Interval(-INF, INF)
ZERO, ONE = Interval(0.0, 0.0, integer=True), Interval(1.0, 1.0, integer=True)


def _full(position: int) -> Forward:
    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        """The fill value, rounded to the format."""
        x = _operand(args, position, params, "fill_value", ANY)
        return Interval(fmt.nearest(x.lo), fmt.nearest(x.hi), x.nan, x.integer and x.nonzero, x.integer)

    return forward


def _arange(args: Args, params: Params, fmt: Format) -> Interval:
    """From start (0) up to but without end, by step (1)."""
    ends = [_operand(args, i, params, n, None) for i, n in enumerate(("start", "end"))]  # type: ignore[arg-type]
    start, end = (ZERO, ends[0]) if ends[1] is None else (ends[0] or ZERO, ends[1])
    if end is None:
        return Interval(-INF, INF)
    step = _operand(args, 2, params, "step", ONE)
    whole = start.integer and end.integer and step.integer
    last = end.hi - 1 if whole and step.lo == 1 else end.hi
    if step.lo < 0:
        return Interval(end.lo, start.hi, integer=whole) if step.hi < 0 and end.lo <= start.hi else Interval(-INF, INF,
            integer=whole)
    return Interval(start.lo, last, integer=whole) if start.lo <= last else Interval(INF, -INF)


def _linspace(args: Args, params: Params, fmt: Format) -> Interval:
    """From start to end, up to rounding."""
    whole = _operand(args, 0, params, "start", ANY).hull(_operand(args, 1, params, "end", ANY))
    return Interval(fmt.nearest(whole.lo), fmt.nearest(whole.hi), whole.nan)


def _logspace(args: Args, params: Params, fmt: Format) -> Interval:
    """base ** linspace."""
    base = params.get("base", 10.0)
    whole = _linspace(args, params, fmt)
    if not isinstance(base, (int, float)) or base <= 1 or not whole.is_finite or whole.magnitude * math.log(base) > 700:
        return Interval(0.0, INF)
    ulps = 16 + 2 * whole.magnitude * fmt.eps / fmt.slack
    return Interval(fmt.lower(base**whole.lo, ulps), fmt.upper(base**whole.hi, ulps))


def _tensor(args: Args, params: Params, fmt: Format) -> Interval:
    """The numbers that are written."""
    if args:
        return args[0]
    whole = Interval(INF, -INF)
    for value in _leaves(params.get("data")):
        if not isinstance(value, (int, float)):
            return Interval(-INF, INF)
        v = float(value) if value != value or abs(value) < 1e308 else math.copysign(INF, value)
        v = fmt.nearest(v)
        whole = whole.hull(Interval(v, v, integer=math.isfinite(v) and v.is_integer()) if v == v else Interval(INF, -INF, True))
    return whole if not whole.is_empty or whole.nan else Interval(-INF, INF)


def _leaves(data: object) -> list[object]:
    if isinstance(data, (list, tuple)):
        return [leaf for item in data for leaf in _leaves(item)]
    return [data]


def _randint(args: Args, params: Params, fmt: Format) -> Interval:
    """From low (0) up to but without high."""
    low, high = params.get("low", 0), params.get("high")
    if high is None:
        low, high = 0, low or None
    if isinstance(low, int) and isinstance(high, int):
        return Interval(float(low), float(high - 1), integer=True)
    return Interval(-INF, INF, integer=True)


def _normal(args: Args, params: Params, fmt: Format) -> Interval:
    """mean + std times a standard normal draw."""
    mean, std = _operand(args, 0, params, "mean", ZERO), _operand(args, 1, params, "std", ONE)
    reach = NORMAL * std.magnitude
    if not mean.is_finite or not reach < fmt.max:
        return Interval(-INF, INF, True)
    return Interval(fmt.nearest(mean.lo - reach), fmt.nearest(mean.hi + reach), std.nan)


def _uniform(args: Args, params: Params, fmt: Format) -> Interval:
    """Between `from` and `to`."""
    low, high = params.get("from", 0.0), params.get("to", 1.0)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        return Interval(fmt.nearest(low), fmt.nearest(high))
    return Interval(-INF, INF)


def _make(name: str, signature: str, forward: Forward, operands: int = 0, family: str = "create", call: str = "",
    **words: Any) -> Op:
    also = words.pop("also", ())
    return Op(name, signature, operands, forward, ("0",) * operands, call, also, family, **words)


def _trio(name: str, forward: Forward, **words: Any) -> tuple[Op, Op, Op]:
    """The op, its `_like` and its `new_` form."""
    return (
        _make(name, f"*size{WORDS}", forward, **words),
        _make(f"{name}_like", f"input{WORDS}", forward, 1, **words),
        _make(f"new_{name}", f"input, *size{WORDS}", forward, 1, call=f"torch.Tensor.new_{name}", **words),
    )


HAS_ZEROS = "has zeros"
DRAW = "a draw may be 0"
UNIFORM = constant(0.0, 1.0)
TABLE.add(
    *_trio("zeros", constant(0.0, 0.0, True), produces="is zero"),
    *_trio("ones", constant(1.0, 1.0, True)),
    *_trio("empty", constant(-INF, INF)),
    _make("full", f"size, fill_value{WORDS}", _full(0), 0),
    _make("full_like", f"input, fill_value{WORDS}", _full(1), 1),
    _make("new_full", f"input, size, fill_value{WORDS}", _full(1), 1, call="torch.Tensor.new_full"),
    _make("new_tensor", f"input, data{WORDS}", lambda a, p, f: _tensor((), p, f), 1, call="torch.Tensor.new_tensor"),
    _make("tensor", f"data{WORDS}", _tensor, 0, also=("torch.as_tensor", "torch.scalar_tensor", "torch.FloatTensor",
         "torch.LongTensor")),
    _make("from_numpy", "ndarray", lambda a, p, f: a[0] if a else Interval(-INF, INF), 1),
    _make("eye", f"n, m=None{WORDS}", constant(0.0, 1.0, True), produces=HAS_ZEROS),
    _make("arange", f"start=None, end=None, step=1{WORDS}", _arange, 2, produces="begins at 0"),
    _make("linspace", f"start, end, steps{WORDS}", _linspace, 2),
    _make("logspace", f"start, end, steps, base=10.0{WORDS}", _logspace, 2, trigger=True),
    _make("tril_indices", f"row, col, offset=0{WORDS}", constant(0.0, INF, True), dtype="int64"),
    _make("triu_indices", f"row, col, offset=0{WORDS}", constant(0.0, INF, True), dtype="int64"),
    _make("one_hot", "input, num_classes=-1", constant(0.0, 1.0, True), 1, call="torch.nn.functional.one_hot",
          also=("torch.nn.functional.one_hot",), dtype="int64", produces=HAS_ZEROS),
    *(_make(f"{name}_window", f"window_length, periodic=True{WORDS}", bounded(-0.01, 1.0), produces="a window is 0 at its ends")
      for name in ("hann", "hamming", "blackman", "bartlett")),
    _make("rand", f"*size{WORDS}", UNIFORM, family="random", produces="rand draws 0"),
    _make("rand_like", f"input{WORDS}", UNIFORM, 1, "random", produces="rand draws 0"),
    _make("randn", f"*size{WORDS}", constant(-NORMAL, NORMAL), family="random"),
    _make("randn_like", f"input{WORDS}", constant(-NORMAL, NORMAL), 1, "random"),
    _make("randint", f"low=0, high=None, size=None{WORDS}", _randint, 0, "random", dtype="int64", produces=DRAW),
    _make("randint_like", f"input, low=0, high=None{WORDS}", _randint, 1, "random", produces=DRAW),
    _make("randperm", f"n{WORDS}", constant(0.0, INF, True), 0, "random", dtype="int64", produces=DRAW),
    _make("normal", "mean, std, size=None", _normal, 2, "random"),
    _make("bernoulli", "input, p=None", constant(0.0, 1.0, True), 1, "random", produces=DRAW),
    _make("poisson", "input", lambda a, p, f: Interval(0.0, INF, a[0].nan, integer=True), 1, "random", produces=DRAW),
    _make("multinomial", "input, num_samples, replacement=False", constant(0.0, INF, True), 1, "random", dtype="int64"),
    _make("uniform", "input, from=0.0, to=1.0", _uniform, 1, "random", call="torch.Tensor.uniform_", produces="rand draws 0"),
    _make("exponential", "input, lambd=1.0", constant(0.0, INF), 1, "random", call="torch.Tensor.exponential_",
         produces="may draw 0"),
    _make("normal_", "input, mean=0.0, std=1.0", lambda a, p, f: _normal(a[1:], p, f), 1, "random", call="torch.Tensor.normal_"),
    _make("random_", "input, from=0, to=None", constant(0.0, INF, True), 1, "random", call="torch.Tensor.random_"),
)
