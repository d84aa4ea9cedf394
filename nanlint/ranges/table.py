"""What a row of the op table is, and how rows are looked up. The rows themselves are in `ops/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nanlint.core.formats import Format
from nanlint.ranges.interval import Interval

Params = Mapping[str, Any]
Forward = Callable[[Sequence[Interval], Params, Format], Interval]


@dataclass(frozen=True)
class Op:
    """How one canonical op is spelled, moves ranges, and what torch's backward multiplies by.

    `signature` names the arguments as torch does; the first `operands` of them are tensors or numbers that the graph
    keeps as operand nodes, the rest are static parameters. `forward` takes the operands' ranges (an absent optional
    operand is left out by the caller as the row's default), the parameters, and the float format of the result.
    `slope` has one entry per operand, in the vocabulary of this table, `y` being the result: "0.5 / y"; "0" where no
    gradient passes; None where the slope is not stated. `call` is what runs it (default `torch.<name>`); `also` are further
    spellings, fully qualified. `dtype` is that of the result: "same" as the first floating operand, "bool", "int64",
    "float". `produces` says in words why the ends of the result are reached by ordinary inputs whatever goes in ("a
    softmax rounds to 0"), or is empty. `trigger` marks the ops that can blow up, `stable` those safe by contract.
    `parts` has one range per result where torch returns a tuple.
    """

    name: str
    signature: str
    operands: int
    forward: Forward
    slope: tuple[str | None, ...] | None = None
    call: str = ""
    also: tuple[str, ...] = ()
    family: str = "pointwise"
    dtype: str = "same"
    produces: str = ""
    trigger: bool = False
    stable: bool = False
    parts: tuple[Forward, ...] = ()
    notes: str = ""
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(p.split("=")[0].strip().lstrip("*") for p in self.signature.split(",") if p.strip()))


class Table(Mapping[str, Op]):
    """The op table: rows by canonical name, and canonical names by spelling."""

    def __init__(self) -> None:
        self._rows: dict[str, Op] = {}
        self._spellings: dict[str, str] = {}

    def add(self, *rows: Op) -> None:
        """Add rows; a spelling belongs to one row only."""
        for row in rows:
            if row.name in self._rows:
                raise ValueError(f"two rows for the op {row.name}")
            self._rows[row.name] = row
            for spelling in (f"torch.{row.name}", f"torch.Tensor.{row.name}", *row.also):
                owner = self._spellings.setdefault(spelling, row.name)
                if owner != row.name:
                    raise ValueError(f"{spelling} is spelled by both {owner} and {row.name}")

    def spelled(self, dotted: str) -> Op | None:
        """The row of a fully qualified torch name, such as torch.nn.functional.softmax or torch.Tensor.log_."""
        name = self._spellings.get(dotted)
        if name is None and dotted.endswith("_") and not dotted.endswith("__"):
            name = self._spellings.get(dotted[:-1])
        return self._rows[name] if name is not None else None

    def __getitem__(self, name: str) -> Op:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


TABLE = Table()
