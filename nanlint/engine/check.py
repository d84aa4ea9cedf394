"""One run: answers from the cache where it has them, else scan, probe, prove; then suppress, order, count."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nanlint import __version__
from nanlint.cache import Cache, digest, folder
from nanlint.config import Settings
from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Finding, Report, Summary
from nanlint.source.discovery import SourceFile
from nanlint.source.problems import problem

TIMES: dict[str, float] = {}
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FileAnswer:
    """What a run says of one file, whatever it is called: kept in the cache by the file's content."""

    findings: tuple[Finding, ...] = ()
    operations: int = 0
    safe: int = 0
    unmodelled: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def check(files: list[SourceFile], settings: Settings, *, root: Path, progress: Progress | None = None) -> Report:
    """The report of one run over `files`."""
    TIMES.clear()
    started = time.perf_counter()
    data, problems = read_all(files, settings)
    cache = Cache(folder(settings.cache_dir), cache_key(settings)) if settings.cache else None
    known = {f.display: a for f in files if f.display in data and (a := remembered(cache, f, data[f.display])) is not None}
    TIMES["read and look up (wall)"] = time.perf_counter() - started
    fresh = [f for f in files if f.display in data and f.display not in known]
    answers: dict[str, FileAnswer] = dict(known)
    notes: list[str] = []
    if fresh:
        from nanlint.engine.run import answer_all

        found, notes, lasting = answer_all(fresh, data, settings, root, progress, TIMES)
        answers.update(found)
        if cache is not None and lasting:
            cache.put_many((key_of(f, data[f.display]), pickle.dumps(found[f.display])) for f in fresh if f.display in found)
    if cache is not None:
        cache.close()
    return assembled(files, answers, problems, notes, settings)


def read_all(files: list[SourceFile], settings: Settings) -> tuple[dict[str, bytes], list[Finding]]:
    """The bytes of the files, and a finding for each that cannot be read."""
    data: dict[str, bytes] = {}
    problems: list[Finding] = []
    for file in files:
        try:
            data[file.display] = file.read()
        except UnreadableFile as error:
            problems.append(problem(file.display, error))
    return data, problems


def cache_key(settings: Settings) -> str:
    """What every answer depends on beside the file: settings, rules, and nanlint itself."""
    package = Path(__file__).resolve().parent.parent
    own = [(p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(package.rglob("*.py"))]
    folders = [package / "_rules", package.parent / "rules", *(settings.root / r for r in settings.rules)]
    rules = [(p.name, p.stat().st_mtime_ns) for f in folders for p in (sorted(f.glob("*.toml")) if f.is_dir() else [f] if f.is_file() else [])]
    return repr((__version__, settings.answer_key, settings.per_file_ignores, own, rules, torch_version(settings)))


def torch_version(settings: Settings) -> str:
    """The torch that would probe, without starting anything."""
    if not settings.probe:
        return ""
    from nanlint.probe.interpreter import find_interpreter

    found = find_interpreter(settings.python, settings.root)
    return f"{found.executable} {found.torch}" if found is not None else ""


def key_of(file: SourceFile, data: bytes) -> bytes:
    """The name of a file's answer: its path matters, since rules may be ignored by it."""
    return digest(file.display, data)


def remembered(cache: Cache | None, file: SourceFile, data: bytes) -> FileAnswer | None:
    """The answer of an earlier run."""
    if cache is None:
        return None
    kept = cache.get(key_of(file, data))
    if kept is None:
        return None
    try:
        answer = pickle.loads(kept)
    except Exception:
        return None
    return answer if isinstance(answer, FileAnswer) else None


def assembled(files: list[SourceFile], answers: dict[str, FileAnswer], problems: list[Finding], notes: list[str], settings: Settings) -> Report:
    """The report: counts over all files, and the findings that the level shows, in their fixed order."""
    findings = [*problems, *(f for a in answers.values() for f in a.findings)]
    findings = [f.with_(severity=settings.severity_of(f.code, f.rule, f.severity)) for f in findings]
    unmodelled: Counter[str] = Counter()
    for a in answers.values():
        unmodelled.update(dict(a.unmodelled))
    operations, safe = sum(a.operations for a in answers.values()), sum(a.safe for a in answers.values())
    confirmed = sum(f.verdict == "confirmed" and not f.code.startswith("NAN9") for f in findings)
    unread = [f for f in findings if f.code in ("NAN901", "NAN902", "NAN903")]
    safe = max(min(safe, operations - confirmed), 0)
    possible = max(operations - safe - confirmed, sum(f.verdict == "possible" for f in findings))  # lost digits are no risky operation
    summary = Summary(
        files=len(files),
        operations=safe + confirmed + possible,
        safe=safe,
        confirmed=confirmed,
        possible=possible,
        unmodelled=tuple(sorted(unmodelled.items(), key=lambda kv: (-kv[1], kv[0]))),
        errors=tuple(sorted(f"{f.path}: {f.message}" for f in unread)),
    )
    shown = [f for f in findings if f.verdict == "confirmed" or settings.level == "possible" or f.code.startswith("NAN9")]
    said = tuple(dict.fromkeys([*notes, *(n for a in answers.values() for n in a.notes)]))
    return Report(tuple(sorted(shown, key=lambda f: f.order)), summary, said)


def by_order(findings: Iterator[Finding]) -> list[Finding]:
    """Findings as they are printed."""
    return sorted(findings, key=lambda f: f.order)
