"""Applying fixes until nothing changes; whatever no edit touches keeps every byte."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Finding, Report, Summary
from nanlint.source.discovery import SourceFile
from nanlint.source.parse import parse
from nanlint.source.text import Source, apply_edits, read_source, split_lines

MOST_ROUNDS = 10
Check = Callable[[list[SourceFile]], Report]
Change = tuple[str, tuple[str, ...]]


@dataclass
class FixResult:
    """What fixing came to: the new bytes by display path, the report on them, and how often each rule's fix was applied."""

    report: Report
    changed: dict[str, bytes] = field(default_factory=dict)
    applied: Counter[tuple[str, str]] = field(default_factory=Counter)


def fix(files: Sequence[SourceFile], check: Check, *, unsafe: bool = False) -> FixResult:
    """Apply the fixes of `check`'s findings to the text of `files` and check again, until nothing changes; nothing is written."""
    current = {f.display: f for f in files}
    report = check(list(files))
    result = FixResult(report)
    seen: dict[str, set[bytes]] = {}
    finished: dict[str, set[Change]] = {}
    for _ in range(MOST_ROUNDS):
        changed = []
        for path, findings in _by_path(report.findings).items():
            if path not in current:
                continue
            before = _bytes(current[path])
            new = (
                _round(before, findings, unsafe, finished.setdefault(path, set()), result.applied) if before is not None else None
            )
            if new is None or new == before or new in seen.setdefault(path, set()):
                continue
            seen[path].add(before or b"")
            current[path] = replace(current[path], text=new)
            result.changed[path] = new
            changed.append(path)
        if not changed:
            break
        report = _merge(report, check([current[p] for p in changed]), set(changed))
    result.report = check(list(current.values())) if result.changed else report
    return result


def _bytes(file: SourceFile) -> bytes | None:
    try:
        return file.read()
    except UnreadableFile:
        return None


def _by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.path, []).append(finding)
    return grouped


def _merge(old: Report, new: Report, paths: set[str]) -> Report:
    kept = [f for f in old.findings if f.path not in paths]
    return Report(tuple(sorted([*kept, *new.findings], key=lambda f: f.order)), Summary(), old.notes)


def _round(
    data: bytes, findings: list[Finding], unsafe: bool, finished: set[Change], applied: Counter[tuple[str, str]]
) -> bytes | None:
    """The bytes after one round of fixes that do not overlap; None where none can be applied.

    A fix that was applied and is offered again in the same words did not help: it is not applied twice.
    """
    try:
        source = read_source(data)
        if source.encode(source.text) != data:
            return None
    except (UnreadableFile, UnicodeEncodeError):
        return None
    chosen, deferred = _choose(findings, unsafe, finished)
    new = _edited(source, chosen)
    if new is None:
        chosen, new = _harmless(source, chosen, finished)
    finished.update(c for c in map(_change, chosen) if c not in deferred)
    applied.update((f.code, f.rule) for f in chosen)
    return new


def _edited(source: Source, chosen: list[Finding]) -> bytes | None:
    """The bytes after these fixes, or None where they are no Python any more."""
    try:
        new = source.encode(apply_edits(source.text, _edits_of(chosen), source.newline))
        parse(read_source(new).text)
    except (UnreadableFile, UnicodeEncodeError):
        return None
    return new


def _harmless(source: Source, chosen: list[Finding], finished: set[Change]) -> tuple[list[Finding], bytes | None]:
    """Those of the fixes that leave Python behind them, and the bytes after them; the others are not tried again."""
    kept: list[Finding] = []
    best: bytes | None = None
    for finding in chosen:
        new = _edited(source, [*kept, finding])
        if new is None:
            finished.add(_change(finding))
        else:
            kept, best = [*kept, finding], new
    return kept, best


def _choose(findings: list[Finding], unsafe: bool, finished: set[Change]) -> tuple[list[Finding], set[Change]]:
    chosen: list[Finding] = []
    taken: list[Edit] = []
    deferred: set[Change] = set()
    for finding in sorted(findings, key=_inner_first):
        fix = finding.fix
        if fix is None or not fix.edits or fix.applicability == "display" or (fix.applicability == "unsafe" and not unsafe):
            continue
        new = [e for e in fix.edits if e not in taken]
        if not new or _change(finding) in finished:
            continue
        if any(_overlap(a, b) for a in new for b in taken):
            deferred.add(_change(finding))
            continue
        chosen.append(finding)
        taken += new
    return chosen, deferred


def _inner_first(finding: Finding) -> tuple[int, int, int, int]:
    """Of nested expressions the inner one comes first: its fault is the earlier one."""
    span = finding.span
    return span.end_line, span.end_column, -span.line, -span.column


def _change(finding: Finding) -> Change:
    assert finding.fix is not None
    return finding.rule, tuple(e.text for e in finding.fix.edits)


def _edits_of(findings: list[Finding]) -> list[Edit]:
    return list(dict.fromkeys(e for f in findings if f.fix for e in f.fix.edits))


def _overlap(a: Edit, b: Edit) -> bool:
    first, last = sorted((a.span, b.span))
    start, end = (last.line, last.column), (first.end_line, first.end_column)
    return start < end or (first.line, first.column) == start


def write(path: Path, data: bytes) -> None:
    """Replace the file in one step; its mode stays, and a link stays a link."""
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, target.stat().st_mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def diff(path: str, old: bytes, new: bytes) -> str:
    """The change as a unified diff."""
    before, after = (split_lines(read_source(data).text) for data in (old, new))
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith(("\n", "\r")) else line + "\n\\ No newline at end of file\n" for line in lines)
