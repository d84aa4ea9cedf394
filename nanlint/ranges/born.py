"""Where an op blows up, derived from its row: finite in, not finite out."""

from __future__ import annotations

from collections.abc import Sequence

from nanlint.core.finding import Phase
from nanlint.core.formats import FLOAT32, Format
from nanlint.ranges.interval import Interval, Params
from nanlint.ranges.slopes import slopes
from nanlint.ranges.table import Op


def born(op: Op, args: Sequence[Interval | None], params: Params, fmt: Format) -> tuple[Phase, ...]:
    """The phases in which finite values of the operands can give a result, or a slope, that is not finite."""
    if op.family in ("create", "random") or op.operands == 0:
        return ()
    largest = max(fmt.max, FLOAT32.max) if op.family == "cast" else fmt.max
    finite = tuple(None if x is None else x.finite(largest) for x in args)
    if any(x is not None and x.is_empty for x in finite):
        return ()
    result = op.forward(finite, params, fmt)  # type: ignore[arg-type]
    phases: list[Phase] = [] if result.is_finite else ["forward"]
    if any(s is not None and not s.is_finite for s in slopes(op, finite, params, fmt, result)):
        phases.append("backward")
    return tuple(phases)
