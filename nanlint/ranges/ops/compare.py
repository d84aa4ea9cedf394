"""Comparisons and logic: 0 or 1, decided where the ranges decide it."""

from __future__ import annotations

from collections.abc import Callable

from nanlint.core.formats import Format
from nanlint.ranges.interval import TRUTH, Interval, Params
from nanlint.ranges.table import TABLE, Op
from nanlint.ranges.transfer import Args

TRUE = Interval(1.0, 1.0, integer=True)
FALSE = Interval(0.0, 0.0, integer=True)
Decision = Callable[[Interval, Interval], "bool | None"]


def _decide(decision: Decision) -> Callable[[Args, Params, Format], Interval]:
    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        a, b = args[0], args[1]
        if a.is_empty or b.is_empty:
            return TRUTH
        known = decision(a, b)
        if known is None or (a.nan or b.nan) and known:
            return TRUTH
        return TRUE if known else FALSE

    return forward


def _less(a: Interval, b: Interval) -> bool | None:
    return True if a.hi < b.lo else False if a.lo >= b.hi else None


def _at_most(a: Interval, b: Interval) -> bool | None:
    return True if a.hi <= b.lo else False if a.lo > b.hi else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a.hi < b.lo or b.hi < a.lo:
        return False
    if a.lo == a.hi == b.lo == b.hi:
        return True
    return False if b.lo == b.hi == 0 and a.nonzero or a.lo == a.hi == 0 and b.nonzero else None


def _unequal(args: Args, params: Params, fmt: Format) -> Interval:
    same = _decide(_equal)(args, params, fmt)
    if args[0].nan or args[1].nan:
        return TRUTH if same.hi == 1 else TRUE
    return Interval(1 - same.hi, 1 - same.lo, integer=True)


def _truth(x: Interval) -> Interval:
    """Whether a value is not zero; NaN is true."""
    if x.is_empty:
        return TRUE if x.nan else TRUTH
    return Interval(0.0 if x.has_zero else 1.0, 1.0 if x.nan or x.lo or x.hi else 0.0, integer=True)


def _and(args: Args, params: Params, fmt: Format) -> Interval:
    a, b = _truth(args[0]), _truth(args[1])
    return Interval(min(a.lo, b.lo), min(a.hi, b.hi), integer=True)


def _or(args: Args, params: Params, fmt: Format) -> Interval:
    a, b = _truth(args[0]), _truth(args[1])
    return Interval(max(a.lo, b.lo), max(a.hi, b.hi), integer=True)


def _xor(args: Args, params: Params, fmt: Format) -> Interval:
    a, b = _truth(args[0]), _truth(args[1])
    return Interval(abs(a.lo - b.lo), abs(a.lo - b.lo), integer=True) if a.is_point and b.is_point else TRUTH


def _not(args: Args, params: Params, fmt: Format) -> Interval:
    a = _truth(args[0])
    return Interval(1 - a.hi, 1 - a.lo, integer=True)


def _bits(decided: Callable[[Args, Params, Format], Interval]) -> Callable[[Args, Params, Format], Interval]:
    """Logic for truth values; any whole number of the operands' size for integers."""

    def forward(args: Args, params: Params, fmt: Format) -> Interval:
        if all(x.lo >= 0 and x.hi <= 1 for x in args):
            return decided(args, params, fmt)
        top = 2.0 ** max(1, *(int(min(x.magnitude, 2.0**63)).bit_length() for x in args))
        return Interval(0.0 if all(x.lo >= 0 for x in args) and len(args) > 1 else -top, top, integer=True)

    return forward


def _is_nan(args: Args, params: Params, fmt: Format) -> Interval:
    x = args[0]
    return FALSE if not x.nan else TRUE if x.is_empty else TRUTH


def _is_infinite(args: Args, params: Params, fmt: Format) -> Interval:
    x = args[0]
    return TRUTH if x.has_infinity else FALSE


def _is_finite(args: Args, params: Params, fmt: Format) -> Interval:
    return TRUE if args[0].is_finite and not args[0].is_empty else TRUTH


def _comparison(name: str, forward: Callable[[Args, Params, Format], Interval], *also: str) -> Op:
    dunder = f"torch.Tensor.__{name}__"
    return Op(name, "input, other", 2, forward, ("0", "0"), f"operator.{name}", (*also, dunder), "compare", "bool")


def _long(*names: str) -> tuple[str, ...]:
    return tuple(f"{root}.{name}" for name in names for root in ("torch", "torch.Tensor"))


def _logic(name: str, forward: Callable[[Args, Params, Format], Interval]) -> tuple[Op, Op]:
    """The logical op, and the bitwise one that Python spells by an operator."""
    bitwise = (*_long(f"bitwise_{name}"), f"torch.Tensor.__{name}__")
    python = f"operator.{name}" if name == "xor" else f"operator.{name}_"
    return (
        Op(f"logical_{name}", "input, other", 2, forward, ("0", "0"), family="compare", dtype="bool"),
        Op(name, "input, other", 2, _bits(forward), ("0", "0"), python, bitwise, "compare", "same"),
    )


TABLE.add(
    _comparison("lt", _decide(_less), *_long("less")),
    _comparison("gt", _decide(lambda a, b: _less(b, a)), *_long("greater")),
    _comparison("le", _decide(_at_most), *_long("less_equal")),
    _comparison("ge", _decide(lambda a, b: _at_most(b, a)), *_long("greater_equal")),
    _comparison("eq", _decide(_equal)),
    _comparison("ne", _unequal, *_long("not_equal")),
    *_logic("and", _and),
    *_logic("or", _or),
    *_logic("xor", _xor),
    Op("logical_not", "input", 1, _not, ("0",), family="compare", dtype="bool"),
    Op("invert", "input", 1, _bits(_not), ("0",), "operator.invert", (*_long("bitwise_not"), "torch.Tensor.__invert__"),
       "compare", "same"),
    Op("isnan", "input", 1, _is_nan, ("0",), family="compare", dtype="bool"),
    Op("isinf", "input", 1, _is_infinite, ("0",), also=_long("isposinf", "isneginf"), family="compare", dtype="bool"),
    Op("isfinite", "input", 1, _is_finite, ("0",), family="compare", dtype="bool"),
    *(Op(name, "input, other, rtol=1e-05, atol=1e-08, equal_nan=False", 2, lambda a, p, f: TRUTH, ("0", "0"), family="compare",
         dtype="bool")
      for name in ("isclose", "allclose")),
    Op("equal", "input, other", 2, lambda a, p, f: TRUTH, ("0", "0"), family="compare", dtype="bool"),
    Op("isin", "elements, test_elements", 2, lambda a, p, f: TRUTH, ("0", "0"), family="compare", dtype="bool"),
    Op("signbit", "input", 1, lambda a, p, f: TRUTH if a[0].nan or a[0].lo <= 0 <= a[0].hi else TRUE if a[0].hi < 0 else FALSE,
       ("0",), family="compare", dtype="bool"),
    Op("any", "input, dim=None, keepdim=False", 1, lambda a, p,
       f: _truth(a[0]) if p.get("count_min", 1) else _truth(a[0]).hull(FALSE),
       ("0",), family="reduction", dtype="bool", call="torch.any"),
    Op("all", "input, dim=None, keepdim=False", 1, lambda a, p,
       f: _truth(a[0]) if p.get("count_min", 1) else _truth(a[0]).hull(TRUE),
       ("0",), family="reduction", dtype="bool", call="torch.all"),
)
