"""The rows of the op table, by family. Importing this fills `TABLE`; it needs no torch."""

from __future__ import annotations

from nanlint.ranges.ops import (  # noqa: F401
    activations,
    binary,
    builtin,
    compare,
    create,
    layers,
    linalg,
    losses,
    pointwise,
    products,
    reductions,
    special,
    views,
)
from nanlint.ranges.table import TABLE

__all__ = ["TABLE"]
