"""What a rule is: one fault, its trigger, its words, its fixes and their proofs. Read from `rules/<name>.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nanlint.core.finding import Applicability, Severity

KINDS = (
    "log-nonpositive",
    "exp-overflow",
    "manual-softmax",
    "manual-logsumexp",
    "log-sigmoid",
    "log-softmax",
    "bce-manual",
    "div-zero",
    "sqrt-grad",
    "norm-grad",
    "pow-grad",
    "std-grad",
    "acos-domain",
    "atan2-grad",
    "where-grad-trap",
    "masked-softmax-all-inf",
    "mask-constant-overflow",
    "fp16-overflow",
    "fp16-underflow",
    "eps-lost-in-half",
    "low-precision-accumulation",
    "cancellation",
    "domain",
    "inf-minus-inf",
    "zero-times-inf",
    "eps-too-small",
    "linalg-degenerate",
    "empty-reduction",
    "integer-overflow",
    "other",
)
REASONS = (
    "domain",
    "overflow",
    "one-element",
    "zero-divisor",
    "slope",
    "underflow",
    "absorbed-eps",
    "lost-eps",
    "cancellation",
    "accumulation",
    "inf-minus-inf",
    "zero-times-inf",
    "empty",
    "masked",
    "trap",
    "degenerate",
    "integer",
)
PHASES = ("forward", "backward")
SEVERITIES = ("error", "warning", "info")
HALF = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
PRECISIONS = ("half", "float16", "bfloat16", "float32", "float64", "integer")
CONSTANTS: dict[str, dict[str, float]] = {
    "masking": {"float64": -1e30, "float32": -1e30, "bfloat16": -1e30, "float16": -3e4},
    "tiny": {"float64": 1e-30, "float32": 1e-12, "bfloat16": 1e-12, "float16": 1e-4},
    "eps": {"float64": 1e-12, "float32": 1e-6, "bfloat16": 1e-2, "float16": 1e-3},
    "margin": {"float64": 1e-12, "float32": 1e-7, "bfloat16": 1e-2, "float16": 1e-3},
    "log_max": {"float64": 700.0, "float32": 80.0, "bfloat16": 80.0, "float16": 10.0},
}
_COMPARISON = re.compile(r"(reaches|always)\s*(<=|>=|<|>|==)\s*(-?[\d.]+(?:e-?\d+)?)$")
_WORDS = ("const", "variable", "tensor", "number", "whole")


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the value bound to a hole.

    `reaches <= 0`: some value may be; `always > 0`: every value is; `not exp`: it is no result of exp; or a word.
    """

    word: str
    sign: str = ""
    bound: float = 0.0

    @staticmethod
    def words() -> tuple[str, ...]:
        return (*_WORDS, "reaches <= 0", "always > 0", "not exp")

    @staticmethod
    def parse(text: str) -> Condition | None:
        """The condition that `text` states, or None."""
        if text in _WORDS:
            return Condition(text)
        if negated := re.match(r"not ([a-z]\w*)$", text):
            return Condition("not", negated[1])
        found = _COMPARISON.match(text.strip())
        return Condition(found[1], found[2], float(found[3])) if found else None

    def holds(self, low: float, high: float) -> bool:
        """Whether a comparison holds of the values in [low, high]."""
        if self.word == "reaches":
            return {
                "<=": low <= self.bound,
                "<": low < self.bound,
                ">=": high >= self.bound,
                ">": high > self.bound,
                "==": low <= self.bound <= high,
            }[self.sign]
        return {
            "<=": high <= self.bound,
            "<": high < self.bound,
            ">=": low >= self.bound,
            ">": low > self.bound,
            "==": low == self.bound == high,
        }[self.sign]

    def __str__(self) -> str:
        if self.word == "not":
            return f"not {self.sign}"
        return f"{self.word} {self.sign} {self.bound:g}" if self.sign else self.word


When = tuple[tuple[str, Condition], ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A trigger: any of these templates, in canonical ops with $holes, where all of `when` hold."""

    code: tuple[str, ...]
    when: When = ()
    silent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hazard:
    """A trigger: one of these ops (`*`: any) turns finite into non-finite in this phase, dtype and for this reason (empty: any).

    `code` names the operands of the op for the fixes.
    """

    ops: tuple[str, ...]
    phase: str = ""
    dtype: str = ""
    operand: str = ""
    reasons: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    when: When = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A trigger: a check written in Python, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class FixTemplate:
    """A replacement for what `of` matched (empty: for every template of the trigger)."""

    code: str
    keeps: str = "value"
    of: tuple[str, ...] = ()
    title: str = ""
    when: When = ()
    name: str = ""

    @property
    def applicability(self) -> Applicability:
        """A fix that keeps every value is safe, one that changes some is unsafe, one that keeps nothing is advice."""
        if self.keeps == "value":
            return "safe"
        return "display" if self.keeps == "nothing" else "unsafe"

    def headline(self) -> str:
        """What the fix does, in a few words."""
        return self.title or f"use {self.code.replace('$', '')}"


@dataclass(frozen=True, slots=True)
class Example:
    """Inputs at which the original breaks as `old` says, phase by phase, in `dtype`; the fix `new`, if it is said, gives that."""

    inputs: Mapping[str, Any]
    dtype: str
    old: Mapping[str, str]
    of: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Where fix and original are equal: a range or a fixed value for each hole; tensors have `shape`.

    The fix is `within` so many eps of the true value and gradient, relative to `each` of them or to the `largest`,
    in each of `dtypes`. It is meant for the inputs in `domain` only, where that is stated.
    """

    inputs: Mapping[str, Any]
    shape: tuple[int, ...] = (32,)
    within: float = 4
    relative_to: str = "each"
    dtypes: tuple[str, ...] = ("float32", "float64")
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    of: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One fault that nanlint knows by name."""

    name: str
    code: str
    kind: str
    summary: str
    why: str
    trigger: Match | Hazard | Check
    references: tuple[str, ...] = ()
    severity: Severity = "error"
    fixes: tuple[FixTemplate, ...] = ()
    proofs: tuple[Example, ...] = ()
    agree: tuple[Agreement, ...] = ()
    ignore: str = ""
    path: str = ""

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def family(self) -> str:
        """The hundred of the code, in words."""
        return FAMILIES.get(self.code[3:4], "own")

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates of the trigger."""
        return () if isinstance(self.trigger, Check) else self.trigger.code


FAMILIES = {
    "1": "idioms",
    "2": "domain and overflow",
    "3": "gradients",
    "4": "precision",
    "5": "masks and reductions",
    "6": "training",
    "9": "nanlint",
}
