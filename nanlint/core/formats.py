"""The float formats of torch, rounding to them, and the bounds of its integers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

_HALF, _SINGLE, _WORD = struct.Struct("<e"), struct.Struct("<f"), struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format: spacing at 1, smallest normal and subnormal, largest value, width.

    `nearest` rounds as torch does: to nearest even, through float32 for the narrower formats. `slack` and `grain` are the
    relative and the absolute spacing of the format that torch computes in (float32 for the narrower ones).
    """

    name: str
    eps: float
    tiny: float
    smallest: float
    max: float
    bits: int
    nearest: Callable[[float], float] = field(repr=False, compare=False)
    slack: float = 2.0**-23
    grain: float = 2.0**-149
    work_max: float = 3.4028234663852886e38

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def work(self) -> Format:
        """The format that torch computes in."""
        return FLOAT64 if self.name == "float64" else FLOAT32

    def above(self, x: float, n: int = 1) -> float:
        """The n-th value of the format greater than `x`."""
        for _ in range(n):
            x = self._next(x)
        return x

    def below(self, x: float, n: int = 1) -> float:
        """The n-th value of the format less than `x`."""
        return -self.above(-x, n)

    def _next(self, x: float) -> float:
        if x != x or x == math.inf:
            return x
        if x < -self.max:
            return -self.max
        y = self.nearest(x)
        if y > x:
            return y
        if y == 0:
            return self.smallest
        mantissa, exponent = math.frexp(y)
        if y < 0 and mantissa == -0.5:
            exponent -= 1
        y += max(math.ldexp(self.eps, exponent - 1), self.smallest)
        return y if y <= self.max else math.inf

    def lower(self, value: float, ulps: float) -> float:
        """`value`, computed to within `ulps`, rounded outward and down; zero and the infinities are exact.

        What does not overflow by itself does not by being rounded outward.
        """
        if value == 0 or value - value != 0:
            return value
        if value > 0:
            spread = value * self.slack * ulps
            low = value - spread - self.grain if value > 0.5 * self.grain else value
            return self.nearest(low) if low > 0 else 0.0
        grain = self.grain if value < -0.5 * self.grain else 0.0
        low = self.nearest(value + value * self.slack * ulps - grain)
        return low if low > -math.inf or value < -self.max else -self.max

    def upper(self, value: float, ulps: float) -> float:
        """`value`, computed to within `ulps`, rounded outward and up."""
        return -self.lower(-value, ulps)


def _same(x: float) -> float:
    return x


def _single(x: float) -> float:
    try:
        return _SINGLE.unpack(_SINGLE.pack(x))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return math.copysign(math.inf, x)


def _half(x: float) -> float:
    try:
        return _HALF.unpack(_HALF.pack(_SINGLE.unpack(_SINGLE.pack(x))[0]))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return math.copysign(math.inf, x)


def _brain(x: float) -> float:
    if x - x != 0:
        return x
    try:
        word: int = _WORD.unpack(_SINGLE.pack(x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)
    word = (word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000
    return _SINGLE.unpack(_WORD.pack(word))[0]  # type: ignore[no-any-return]


def _eighth(eps: float, tiny: float, top: float, beyond: float) -> Callable[[float], float]:
    """Rounding to a format of eight bits; what rounds past `top` becomes `beyond`."""
    least = math.frexp(tiny)[1]

    def nearest(x: float) -> float:
        if x - x != 0:
            return x if beyond == math.inf or x != x else math.copysign(beyond, x)
        quantum = math.ldexp(eps, max(math.frexp(x)[1], least) - 1)
        y = math.copysign(round(abs(x) / quantum) * quantum, x)
        return y if abs(y) <= top else math.copysign(beyond, x)

    return nearest


FLOAT64 = Format(
    "float64", 2.0**-52, 2.0**-1022, 2.0**-1074, 1.7976931348623157e308, 64, _same, 2.0**-52, 2.0**-1074, 1.7976931348623157e308
)
FLOAT32 = Format("float32", 2.0**-23, 2.0**-126, 2.0**-149, 3.4028234663852886e38, 32, _single)
FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        FLOAT64,
        FLOAT32,
        Format("float16", 2.0**-10, 2.0**-14, 2.0**-24, 65504.0, 16, _half),
        Format("bfloat16", 2.0**-7, 2.0**-126, 2.0**-133, 3.3895313892515355e38, 16, _brain),
        Format("float8_e4m3fn", 2.0**-3, 2.0**-6, 2.0**-9, 448.0, 8, _eighth(2.0**-3, 2.0**-6, 448.0, 448.0)),
        Format("float8_e5m2", 2.0**-2, 2.0**-14, 2.0**-16, 57344.0, 8, _eighth(2.0**-2, 2.0**-14, 57344.0, math.inf)),
    )
}
INTEGERS: dict[str, tuple[int, int]] = {
    "bool": (0, 1),
    "uint8": (0, 255),
    "int8": (-128, 127),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint32": (0, 2**32 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint64": (0, 2**64 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
SHORT_NAMES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
    "char": "int8"}


def dtype_name(dtype: object) -> str:
    """The plain name of a dtype, however it is written: torch.half, "float16", {"dtype": "float16"}."""
    if isinstance(dtype, dict):
        dtype = dtype.get("dtype")
    name = str(dtype).rpartition(".")[2]
    return SHORT_NAMES.get(name, name)
