"""Every row of the op table, against torch: sound, monotone and tight in four float formats; spellings; planted wrong rows."""

from __future__ import annotations

import random
import zlib

import pytest

torch = pytest.importorskip("torch")

from laws import FLOATS, FORMATS, not_monotone, not_tight, recipe_of, unsound, unsound_slope  # noqa: E402

from nanlint.ranges.ops import TABLE  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
NOT_RUN = {"allclose", "equal"}
RUNNABLE = sorted(name for name, op in TABLE.items() if recipe_of(op) is not None and name not in NOT_RUN)
NOT_TIGHT = {  # the sign of a zero, huge arguments, numbers near the jumps of a whole-number function
    "angle", "copysign", "cos", "floor_divide", "polar", "sin", "tan", "atan2", "lerp", "tanhshrink", "addcmul", "addcdiv", "erf",
    "gcd", "lcm", "lshift", "rshift", "special_bessel_j0", "special_bessel_j1", "special_gammainc", "special_gammaincc",
    "complex",
    "round",
}
WIDER = "acosh celu digamma erfinv gelu hardsigmoid hardswish i0 lgamma softplus special_erfcx special_i0e special_i1 special_i1e"
ULPS = dict.fromkeys([*WIDER.split(), "special_log_ndtr", "special_ndtri"], 72.0)
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
    assert [v for f in FLOATS for v in not_tight(TABLE[name], FORMATS[f], rng, ULPS.get(name, 24.0),
        1.0 if name in ABSOLUTE else 0.0)] == []
