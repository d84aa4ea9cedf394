"""Findings for people: a frame with carets, what breaks it, what to use instead; and one line each for editors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nanlint.core.finding import Finding, Fix, Report, Summary
from nanlint.report.frame import Sources, frame, printable

STYLES = {"bold": "1", "red": "31;1", "yellow": "33;1", "green": "32", "blue": "34", "dim": "2"}
SEVERITY_STYLE = {"error": "red", "warning": "yellow", "info": "blue"}
COLUMN = 48


class Painter:
    """Paints, or does not."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color and text else text


def render_text(report: Report, sources: Sources, color: bool = False) -> str:
    """The findings with their frames, an empty line between two."""
    paint = Painter(color)
    return "\n".join("".join(line + "\n" for line in _block(f, sources, paint)) for f in report.findings)


def render_concise(report: Report, color: bool = False) -> str:
    """One line a finding: path:line:column: CODE name message."""
    paint = Painter(color)
    return "".join(
        f"{_place(f)}: {paint(f.code, SEVERITY_STYLE[f.severity])} {f.rule} {_tags(f)}{printable(f.message)}\n"
        for f in report.findings
    )


def render_statistics(report: Report) -> str:
    """How often each rule reported, and of these with a fix, most frequent first."""
    counts = Counter((f.code, f.rule) for f in report.findings)
    fixable = Counter((f.code, f.rule) for f in report.findings if is_fixable(f.fix))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    digits = max((len(str(n)) for _, n in rows), default=1)
    return "".join(
        f"{n:>{digits}}  {code} {name}" + (f"  [{fixable[code, name]} with a fix]" if fixable[code, name] else "") + "\n"
        for (code, name), n in rows
    )


def is_fixable(fix: Fix | None) -> bool:
    """Whether nanlint can apply it."""
    return fix is not None and fix.applicability != "display" and bool(fix.edits)


def _place(finding: Finding) -> str:
    cell = f"cell {finding.cell}:" if finding.cell is not None else ""
    return f"{printable(finding.path)}:{cell}{finding.span.line}:{finding.span.column}"


def _tags(finding: Finding) -> str:
    verdict = "" if finding.verdict == "confirmed" else f"{finding.verdict}: "
    fix = (
        ""
        if not is_fixable(finding.fix)
        else "[fix] "
        if finding.fix and finding.fix.applicability == "safe"
        else "[unsafe fix] "
    )
    return fix + verdict


def _block(finding: Finding, sources: Sources, paint: Painter) -> Iterator[str]:
    style = SEVERITY_STYLE[finding.severity]
    tags = _tags(finding).partition("]")[0] + "]" if is_fixable(finding.fix) else ""
    verdict = "" if finding.code.startswith("NAN9") else f"  {finding.verdict}"
    yield f"{paint(_place(finding), 'bold')}  {paint(finding.code, style)} {finding.rule}{verdict}" + (
        f"  {tags}" if tags else ""
    )
    lines = sources.lines(finding.path)
    for gutter, rest in frame(lines, finding.span, _context(finding, len(lines)), printable(finding.message)):
        carets = "^" in rest and not gutter.strip(" |")
        yield f"  {paint(gutter, 'dim')}{' ' * bool(gutter)}{paint(rest, style) if carets else rest}".rstrip()
    yield from _evidence(finding, paint)


def _context(finding: Finding, count: int) -> list[int]:
    """The lines shown above: the last two places the bad value came through, or else the line before."""
    line = finding.span.line
    if finding.code.startswith("NAN9"):
        return []
    trail = sorted({s.line for s in finding.trail if 1 <= s.line < min(line, count + 1)})[-2:]
    return trail or ([line - 1] if 1 < line <= count else [])


def _evidence(finding: Finding, paint: Painter) -> Iterator[str]:
    if finding.assumptions:
        yield f"  {paint('assuming', 'blue')}   {printable('; '.join(finding.assumptions))}"
    if finding.witness:
        inputs = ", ".join(f"{name} = {value}" for name, value in finding.witness.inputs)
        yield _row(
            paint("breaks at", "red"),
            f"{inputs} ({finding.dtype})",
            f"gives {finding.witness.becomes}  again: {finding.witness.replay}",
        )
    if finding.fix:
        proof = finding.fix.proof
        words = ""
        if proof:
            what = "value and gradient" if proof.worst_gradient_error is not None else "value"
            worst = max(proof.worst_relative_error, proof.worst_gradient_error or 0.0)
            words = f"within {worst:.1e} on {proof.agrees_on} inputs, {what}"
        unsafe = "" if finding.fix.applicability != "unsafe" else "changes values near the fault"
        yield _row(paint("use", "green") + " " * 6, replacement(finding), "; ".join(w for w in (words, unsafe) if w))


def _row(label: str, left: str, right: str) -> str:
    left = printable(" ".join(left.split()))
    return f"  {label}  {left:<{COLUMN - 14}}  {printable(right)}".rstrip() if right else f"  {label}  {left}"


def replacement(finding: Finding) -> str:
    """What the fix writes in place of the flagged code, or its title."""
    fix = finding.fix
    if fix is None:
        return ""
    at = finding.span
    texts = [
        e.text
        for e in fix.edits
        if e.text.strip() and e.span.line <= at.end_line and e.span.end_line >= at.line and len(e.text) < 120
    ]
    return max(texts, key=len) if texts else fix.title.removeprefix("use ")


def summary_line(summary: Summary, verbose: bool = False) -> str:
    """What became of all risky operations, in one line."""
    words = [f"{summary.safe:,} proven safe", f"{summary.confirmed:,} confirmed", f"{summary.possible:,} possible"]
    line = f"{summary.operations:,} risky operations in {summary.files:,} files: {', '.join(words)}"
    if summary.unmodelled and verbose:
        names = ", ".join(f"{name} ({n})" for name, n in sorted(summary.unmodelled, key=lambda kv: (-kv[1], kv[0])))
        return f"{line}; not modelled: {names}"
    if summary.unmodelled:
        line += f"; {len(summary.unmodelled):,} ops not modelled (names with -v)"
    return line
