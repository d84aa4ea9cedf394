"""The dtypes of torch by name, and those of the float64 shadow run."""

from __future__ import annotations

from typing import Any, Dict  # noqa: UP035

import torch

Json = Dict[str, Any]  # noqa: UP006 (the worker runs under Python 3.8)
Values = Dict[int, Any]  # noqa: UP006
Feed = Values
INF = float("inf")
FLOATS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
HALVES = frozenset(
    d for d in (torch.float16, torch.bfloat16, *(getattr(torch, n, None) for n in ("float8_e4m3fn", "float8_e5m2"))) if d
)
NARROW_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32)


def dtype_named(name: Any, default: str = "float32") -> Any:
    """The torch dtype of this name; `?`, unknown names and `number` give the default."""
    found = getattr(torch, str(name), None) if isinstance(name, str) and name.isidentifier() else None
    return found if isinstance(found, torch.dtype) else getattr(torch, default)


def widened(dtype: Any) -> Any:
    """The dtype of the shadow run: float64, int64, complex128."""
    if dtype.is_complex:
        return torch.complex128
    if dtype.is_floating_point:
        return torch.float64
    return torch.int64 if dtype in NARROW_INTEGERS else dtype


def number(value: Any) -> Any:
    """JSON has no infinities: they come as the strings inf, -inf and nan."""
    return float(value) if value in ("inf", "-inf", "nan", "Infinity", "-Infinity", "NaN") else value
