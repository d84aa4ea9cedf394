"""One run: scan the files, probe the suspects, prove the fixes, suppress, order."""

from __future__ import annotations

import os
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from nanlint.catalog.load import Catalog, load
from nanlint.config import Settings
from nanlint.core.finding import Finding, Report, Span, Summary
from nanlint.engine.confirm import Confirmer
from nanlint.engine.scan import Scan, scan
from nanlint.engine.suspects import Suspect
from nanlint.source.discovery import SourceFile

TIMES: dict[str, float] = {}
PARALLEL_FILES = 24
PARALLEL_BYTES = 300_000
Progress = Callable[[int, int], None]


def check(files: list[SourceFile], settings: Settings, *, root: Path, progress: Progress | None = None) -> Report:
    """The report of one run over `files`."""
    TIMES.clear()
    catalog = load(settings.rules)
    confirmer = Confirmer(settings, catalog, root)
    started = time.perf_counter()
    scans = list(scan_all(files, settings, confirmer, progress))
    TIMES["scan (wall)"] = time.perf_counter() - started
    started = time.perf_counter()
    try:
        findings = [f for s, file in zip(scans, files) for f in findings_of(s, file, settings, catalog, confirmer)]
    finally:
        notes = confirmer.close()
    TIMES["probe and prove (wall)"] = time.perf_counter() - started
    return assembled(scans, findings, notes, settings)


def scan_all(files: list[SourceFile], settings: Settings, confirmer: Confirmer, progress: Progress | None) -> Iterator[Scan]:
    """The scans of all files in order, from the cache where it has them, in worker processes where it pays."""
    jobs = [(f.data, f.display) for f in files]
    stated = dict(settings.ranges)
    known = confirmer.cached(jobs)
    fresh = [i for i in range(len(jobs)) if i not in known and jobs[i][0] is not None]
    size = sum(len(jobs[i][0] or b"") for i in fresh)
    workers = settings.jobs or os.cpu_count() or 1
    if len(fresh) >= PARALLEL_FILES and size >= PARALLEL_BYTES and workers > 1:
        results = parallel([jobs[i] for i in fresh], settings, stated, workers, progress)
    else:
        results = serial([jobs[i] for i in fresh], settings, stated, progress)
    done = dict(zip(fresh, results))
    confirmer.remember({i: done[i] for i in fresh}, jobs)
    for i, (_, display) in enumerate(jobs):
        found = known.get(i) or done.get(i) or Scan(display)
        for stage, seconds in found.seconds.items():
            TIMES[stage] = TIMES.get(stage, 0.0) + (seconds if i in done else 0.0)
        yield replace(found, path=display)


def serial(jobs: list[tuple[Any, str]], settings: Settings, stated: dict[str, tuple[float, float]], progress: Progress | None) -> list[Scan]:
    """One file after the other, in this process."""
    catalog = load(settings.rules)
    found = []
    for i, (data, display) in enumerate(jobs):
        found.append(scan(data, display, settings.dtype, stated, catalog))
        if progress is not None:
            progress(i + 1, len(jobs))
    return found


def batch(jobs: list[tuple[bytes, str]], dtype: str, stated: dict[str, tuple[float, float]], rules: tuple[str, ...]) -> list[Scan]:
    """Several files in a worker process."""
    catalog = load(rules)
    return [scan(data, display, dtype, stated, catalog) for data, display in jobs]


def parallel(jobs: list[tuple[Any, str]], settings: Settings, stated: dict[str, tuple[float, float]], workers: int, progress: Progress | None) -> list[Scan]:
    """Batches of files in worker processes, the largest first; a worker that dies costs the file it died of, no more."""
    order = sorted(range(len(jobs)), key=lambda i: -len(jobs[i][0]))
    count = max(workers * 6, 1)
    groups = [order[k::count] for k in range(count) if order[k::count]]
    results: dict[int, Scan] = {}
    broken: list[int] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [(g, pool.submit(batch, [jobs[i] for i in g], settings.dtype, stated, settings.rules)) for g in groups]
        for group, future in futures:
            try:
                results.update(zip(group, future.result()))
            except BrokenProcessPool:
                broken += group
            if progress is not None:
                progress(len(results), len(jobs))
    for i in broken:
        results[i] = alone(jobs[i], settings, stated)
    return [results[i] for i in range(len(jobs))]


def alone(job: tuple[Any, str], settings: Settings, stated: dict[str, tuple[float, float]]) -> Scan:
    """One file in a process of its own; if that dies, the file is reported as one that could not be checked."""
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(batch, [job], settings.dtype, stated, settings.rules).result()[0]
    except BrokenProcessPool:
        return Scan(job[1], error=("NAN902", "checking this file ended the process that did it", 1, 1))


def findings_of(found: Scan, file: SourceFile, settings: Settings, catalog: Catalog, confirmer: Confirmer) -> Iterator[Finding]:
    """The findings of one file: its errors, and its suspects as the probe judges them, less what is suppressed."""
    if found.error is not None:
        code, message, line, column = found.error
        yield unreadable(catalog, code, message, found.path, line, column)
        return
    wanted = [s for s in found.suspects if settings.is_selected(s.finding.code, s.finding.rule, found.path)]
    kept = list(confirmer.confirm(wanted, file))
    kept = [f for f in kept if settings.is_selected(f.code, f.rule, found.path)]
    yield from suppressed(kept, file, settings, catalog)


def unreadable(catalog: Catalog, code: str, message: str, path: str, line: int, column: int) -> Finding:
    """A file that could not be read or parsed, as a finding."""
    rule = catalog.find(code)
    name = rule.name if rule is not None else "unreadable-file"
    return Finding(code, name, "other", message, "confirmed", path, Span(line, column, line, column + 1))


def suppressed(findings: list[Finding], file: SourceFile, settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """The findings that no comment suppresses, and the comments that suppress nothing."""
    data = file.data or b""
    if b"nanlint" not in data and b"noqa" not in data:
        yield from findings
        return
    from nanlint.source.discovery import read_source
    from nanlint.source.parse import parse
    from nanlint.source.suppress import suppress

    text = read_source(data).text
    kept, unused = suppress(findings, text, parse(text))
    yield from kept
    yield from (f for f in unused if settings.is_selected(f.code, f.rule, file.display))


def assembled(scans: Iterable[Scan], findings: list[Finding], notes: list[str], settings: Settings) -> Report:
    """The report: counts over all files, and the findings that the level shows, in their fixed order."""
    scans = list(scans)
    findings = [f.with_(severity=settings.severity_of(f.code, f.rule, f.severity)) for f in findings]
    unmodelled: Counter[str] = Counter()
    for s in scans:
        unmodelled.update(s.unmodelled)
    own = [f for f in findings if not f.code.startswith("NAN9")]
    confirmed = sum(f.verdict == "confirmed" for f in own)
    operations, safe = sum(s.operations for s in scans), sum(s.safe for s in scans)
    summary = Summary(
        files=len(scans),
        operations=operations,
        safe=safe,
        confirmed=confirmed,
        possible=max(operations - safe - confirmed, 0),
        unmodelled=tuple(sorted(unmodelled.items(), key=lambda kv: (-kv[1], kv[0]))),
        errors=tuple(f"{s.path}: {s.error[1]}" for s in scans if s.error is not None),
    )
    shown = [f for f in findings if f.verdict == "confirmed" or settings.level == "possible" or f.code.startswith("NAN9")]
    return Report(tuple(sorted(shown, key=lambda f: f.order)), summary, tuple(notes))


def by_place(suspects: Iterable[Suspect]) -> dict[Any, list[Suspect]]:
    """Suspects of the same place, those with evidence first."""
    groups: dict[Any, list[Suspect]] = defaultdict(list)
    for s in suspects:
        groups[(s.finding.span, s.idiom)].append(s)
    return groups


__all__ = ["TIMES", "by_place", "check", "pickle"]
