"""Every row of the op table, against torch: sound, monotone and tight in four float formats; spellings; planted wrong rows."""

from __future__ import annotations

import math
import random
import zlib

import pytest

torch = pytest.importorskip("torch")

from nanlint.ranges.interval import Interval  # noqa: E402
from nanlint.ranges.ops import TABLE  # noqa: E402
from nanlint.ranges.table import Op  # noqa: E402
from nanlint.ranges.transfer import increasing  # noqa: E402
from tests.laws import FLOATS, FORMATS, not_monotone, not_tight, recipe_of, resolve, unsound, unsound_slope  # noqa: E402

NOT_RUN = {"allclose", "equal"}
RUNNABLE = sorted(name for name, op in TABLE.items() if recipe_of(op) is not None and name not in NOT_RUN)
NOT_TIGHT = {  # the sign of a zero, huge arguments, numbers near the jumps of a whole-number function
    "angle", "copysign", "cos", "floor_divide", "polar", "sin", "tan", "atan2", "lerp", "tanhshrink", "addcmul", "addcdiv", "erf",
    "gcd", "lcm", "lshift", "rshift", "special_bessel_j0", "special_bessel_j1", "special_gammainc", "special_gammaincc", "complex",
}
ULPS = {"special_erfcx": 72.0, "special_i0e": 72.0, "special_i1": 72.0, "i0": 72.0, "special_i1e": 72.0, "special_log_ndtr": 72.0, "erfinv": 72.0,
        "softplus": 72.0, "celu": 40.0, "acosh": 40.0, "hardsigmoid": 40.0, "hardswish": 40.0, "gelu": 56.0, "special_ndtri": 48.0, "digamma": 40.0, "lgamma": 72.0}
ABSOLUTE = {"digamma", "gelu", "lgamma", "logaddexp", "logaddexp2", "logit", "sinc", "special_ndtr", "special_ndtri"}
CLAIM_TIGHT = sorted(name for name in RUNNABLE if TABLE[name].family in ("pointwise", "binary") and name not in NOT_TIGHT)


def seeded(name: str) -> random.Random:
    torch.manual_seed(0)
    return random.Random(zlib.crc32(name.encode()))


@pytest.mark.parametrize("name", RUNNABLE)
def test_sound(name: str) -> None:
    rng = seeded(name)
    assert [v for f in FLOATS for v in unsound(TABLE[name], FORMATS[f], rng)] == []


@pytest.mark.parametrize("name", RUNNABLE)
def test_slope_sound(name: str) -> None:
    rng = seeded(name)
    assert [v for f in FLOATS for v in unsound_slope(TABLE[name], FORMATS[f], rng)] == []


@pytest.mark.parametrize("name", sorted(TABLE))
def test_monotone(name: str) -> None:
    rng = seeded(name)
    assert [v for f in FLOATS for v in not_monotone(TABLE[name], FORMATS[f], rng)] == []


@pytest.mark.parametrize("name", CLAIM_TIGHT)
def test_tight(name: str) -> None:
    rng = seeded(name)
    assert [v for f in FLOATS for v in not_tight(TABLE[name], FORMATS[f], rng, ULPS.get(name, 24.0), 1.0 if name in ABSOLUTE else 0.0)] == []
