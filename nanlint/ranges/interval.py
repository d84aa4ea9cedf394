"""Intervals of float values: [lo, hi], whether NaN may occur, and what is known beside the ends. Names no op."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

INF = math.inf
Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """The values from `lo` to `hi`; an infinite end is itself reachable; `nan` = may be NaN; lo > hi = no value.

    `nonzero` = exactly zero does not occur; `integer` = whole numbers only.
    """

    lo: float
    hi: float
    nan: bool = False
    nonzero: bool = False
    integer: bool = False

    @property
    def is_empty(self) -> bool:
        """No value but possibly NaN."""
        return self.lo > self.hi

    @property
    def is_finite(self) -> bool:
        """Neither an infinity nor NaN occurs."""
        return not self.nan and (self.is_empty or (self.lo > -INF and self.hi < INF))

    @property
    def is_point(self) -> bool:
        """Exactly one value occurs."""
        return self.lo == self.hi and not self.nan

    def __contains__(self, value: float) -> bool:
        return self.lo <= value <= self.hi and not (value == 0 and self.nonzero)

    @property
    def has_zero(self) -> bool:
        """Exactly zero occurs."""
        return self.lo <= 0 <= self.hi and not self.nonzero

    @property
    def has_infinity(self) -> bool:
        """One of the infinities occurs."""
        return self.lo <= self.hi and (self.lo == -INF or self.hi == INF)

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return max(-self.lo, self.hi)

    @property
    def mignitude(self) -> float:
        """The least absolute value."""
        return self.lo if self.lo > 0 else -self.hi if self.hi < 0 else 0.0

    def finite(self, largest: float) -> Interval:
        """The finite values among these, an infinite end replaced by `largest`."""
        if not self.nan and self.lo > -INF and self.hi < INF:
            return self
        lo = -largest if self.lo == -INF else self.lo
        hi = largest if self.hi == INF else self.hi
        return Interval(lo, hi, False, self.nonzero, self.integer) if lo <= hi < INF and lo > -INF else Interval(INF, -INF)

    def is_within(self, other: Interval) -> bool:
        """Every value of this one occurs in `other`."""
        if self.nan and not other.nan:
            return False
        return self.is_empty or (other.lo <= self.lo and self.hi <= other.hi and not (other.nonzero and self.has_zero))

    def meet(self, other: Interval) -> Interval:
        """The values in both."""
        return Interval(
            max(self.lo, other.lo),
            min(self.hi, other.hi),
            self.nan and other.nan,
            self.nonzero or other.nonzero,
            self.integer or other.integer,
        )

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        nan = self.nan or other.nan
        if self.is_empty:
            return replace(other, nan=nan)
        if other.is_empty:
            return replace(self, nan=nan)
        return Interval(
            min(self.lo, other.lo),
            max(self.hi, other.hi),
            nan,
            0.0 not in self and 0.0 not in other,
            self.integer and other.integer,
        )

    def with_(self, **changes: object) -> Interval:
        """The same interval with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


def point(value: float) -> Interval:
    """The one value."""
    if value != value:
        return Interval(INF, -INF, True)
    return Interval(value, value, integer=math.isfinite(value) and float(value).is_integer())


def between(lo: float, hi: float) -> Interval:
    """From `lo` to `hi`."""
    return Interval(lo, hi)


EMPTY = Interval(INF, -INF)
REALS = Interval(-INF, INF)
ANYTHING = Interval(-INF, INF, True)
NOTHING = Interval(INF, -INF, True)
UNIT = Interval(0.0, 1.0)
TRUTH = Interval(0.0, 1.0, integer=True)
