"""A finding: what nanlint says of one risky operation. Every output format is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

Verdict = Literal["confirmed", "possible"]
Phase = Literal["forward", "backward"]
Severity = Literal["error", "warning", "info"]
Applicability = Literal["safe", "unsafe", "display"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source text; lines and columns are 1-based, columns count code points, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `text`."""

    span: Span
    text: str

    def to_json(self) -> dict[str, Any]:
        s = self.span
        return {"line": s.line, "column": s.column, "end_line": s.end_line, "end_column": s.end_column, "text": self.text}


@dataclass(frozen=True, slots=True)
class Proof:
    """What the probe measured of a fix on this very code."""

    agrees_on: int
    worst_relative_error: float
    worst_gradient_error: float | None
    finite_on_witness: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "agrees_on": self.agrees_on,
            "worst_relative_error": json_number(self.worst_relative_error),
            "worst_gradient_error": None if self.worst_gradient_error is None else json_number(self.worst_gradient_error),
            "finite_on_witness": self.finite_on_witness,
        }


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement: `safe` keeps every value, `unsafe` changes values near the singularity, `display` is advice."""

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...]
    proof: Proof | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "applicability": self.applicability,
            "title": self.title,
            "edits": [e.to_json() for e in self.edits],
            "proof": self.proof.to_json() if self.proof else None,
        }


@dataclass(frozen=True, slots=True)
class Witness:
    """Ordinary inputs that break the code; `replay` is the command that runs them again."""

    inputs: tuple[tuple[str, str], ...]
    becomes: str
    replay: str

    def to_json(self) -> dict[str, Any]:
        return {"inputs": dict(self.inputs), "becomes": self.becomes, "replay": self.replay}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the trail: where the bad value came from."""

    line: int
    column: int
    text: str
    range: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        return {"line": self.line, "column": self.column, "text": self.text, "range": list(map(json_number, self.range))}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, as the JSON contract has it; `path` is relative with forward slashes."""

    code: str
    rule: str
    kind: str
    message: str
    verdict: Verdict
    path: str
    span: Span
    function: str | None = None
    cell: int | None = None
    phase: Phase = "forward"
    dtype: str = "float32"
    operand: str | None = None
    range: tuple[float, float] | None = None
    assumptions: tuple[str, ...] = ()
    severity: Severity = "error"
    trail: tuple[Step, ...] = ()
    witness: Witness | None = None
    fix: Fix | None = None

    def with_(self, **changes: Any) -> Finding:
        """The same finding with some fields changed."""
        return replace(self, **changes)

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """The order in which findings are printed."""
        return (self.path, self.span.line, self.span.column, self.code, self.message)

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "rule": self.rule,
            "kind": self.kind,
            "message": self.message,
            "verdict": self.verdict,
            "path": self.path,
            "line": self.span.line,
            "column": self.span.column,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column,
            "cell": self.cell,
            "function": self.function,
            "phase": self.phase,
            "dtype": self.dtype,
            "operand": self.operand,
            "range": None if self.range is None else [json_number(v) for v in self.range],
            "assumptions": list(self.assumptions),
            "severity": self.severity,
            "trail": [s.to_json() for s in self.trail],
            "witness": self.witness.to_json() if self.witness else None,
            "fix": self.fix.to_json() if self.fix else None,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of one run; `unmodelled` counts the calls of ops that the table does not have, by name."""

    files: int = 0
    operations: int = 0
    safe: int = 0
    confirmed: int = 0
    possible: int = 0
    unmodelled: tuple[tuple[str, int], ...] = ()
    errors: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "operations": self.operations,
            "safe": self.safe,
            "confirmed": self.confirmed,
            "possible": self.possible,
            "unmodelled": dict(self.unmodelled),
            "errors": list(self.errors),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run has to say."""

    findings: tuple[Finding, ...] = ()
    summary: Summary = field(default_factory=Summary)
    notes: tuple[str, ...] = ()


def json_number(value: float) -> float | str:
    """JSON has no infinities: they are written as strings."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value
