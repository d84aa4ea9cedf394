"""Float formats: rounding as torch rounds, neighbours, outward rounding."""

from __future__ import annotations

import math
import random

import pytest

from nanlint.core.formats import FORMATS, INTEGERS, dtype_name

SIZES = [0.0, 1.0, -1.0, 0.1, 1e-8, 1e-10, 65504.0, 65519.0, 65520.0, 3.39e38, 3.5e38, 448.0, 464.0, 465.0, 57344.0, 61440.0, 257.0, 2049.0]


def numbers() -> list[float]:
    rng = random.Random(7)
    return SIZES + [rng.gauss(0, 1) * 10 ** rng.uniform(-50, 45) for _ in range(2000)] + [rng.uniform(-500, 500) for _ in range(2000)]


@pytest.mark.parametrize("name", FORMATS)
def test_nearest_is_what_torch_stores(name: str) -> None:
    torch = pytest.importorskip("torch")
    values = numbers()
    stored = torch.tensor(values, dtype=torch.float64).to(getattr(torch, name)).double().tolist()
    assert [FORMATS[name].nearest(v) for v in values] == stored


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_neighbours_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    fmt, dtype = FORMATS[name], getattr(torch, name)
    for value in [fmt.nearest(v) for v in numbers()[:600]]:
        t = torch.tensor(value, dtype=dtype)
        assert fmt.above(value) == torch.nextafter(t, torch.tensor(math.inf, dtype=dtype)).item()
        assert fmt.below(value) == torch.nextafter(t, torch.tensor(-math.inf, dtype=dtype)).item()


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_constants_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    info, fmt = torch.finfo(getattr(torch, name)), FORMATS[name]
    assert (info.eps, info.tiny, info.max, info.bits) == (fmt.eps, fmt.tiny, fmt.max, fmt.bits)
    assert fmt.smallest == fmt.above(0.0)


@pytest.mark.parametrize("name", FORMATS)
def test_outward_rounding_holds_the_value(name: str) -> None:
    fmt = FORMATS[name]
    for value in numbers():
        if abs(value) <= fmt.max:
            assert fmt.lower(value, 4) <= fmt.nearest(value) <= fmt.upper(value, 4)
            assert math.isfinite(fmt.lower(value, 4)) and math.isfinite(fmt.upper(value, 4))
    assert fmt.lower(0.0, 4) == fmt.upper(0.0, 4) == 0.0


def test_names_of_dtypes() -> None:
    assert [dtype_name(d) for d in ("torch.half", "float16", {"dtype": "double"}, "long")] == ["float16", "float16", "float64", "int64"]
    assert INTEGERS["int8"] == (-128, 127)
