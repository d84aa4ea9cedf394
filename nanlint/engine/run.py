"""The work of a run on files that no cache knows: scanning in worker processes, probing and proving in this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from nanlint.catalog.load import Catalog, load
from nanlint.config import Settings
from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Finding
from nanlint.engine.check import FileAnswer, Progress
from nanlint.engine.confirm import Confirmer
from nanlint.engine.scan import Scan, scan
from nanlint.source.discovery import SourceFile
from nanlint.source.problems import OWN_RULES, problem
from nanlint.workers import safe_folder

PARALLEL_FILES = 16
PARALLEL_BYTES = 300_000
Job = tuple[bytes, str]
Stated = dict[str, tuple[float, float]]


def answer_all(
    files: list[SourceFile], data: dict[str, bytes], settings: Settings, root: Path, progress: Progress | None, times: dict[str, float]
) -> tuple[dict[str, FileAnswer], list[str], bool]:
    """The answers by file, notes for the user, and whether the answers would be the same again."""
    catalog = load(settings.rules)
    confirmer = Confirmer(settings, catalog, root)
    answers: dict[str, FileAnswer] = {}
    started = perf_counter()
    probing = 0.0
    try:
        for file, found in zip(files, scan_all([(data[f.display], f.display) for f in files], settings, progress)):
            began = perf_counter()
            findings = tuple(findings_of(found, file, data[file.display], settings, catalog, confirmer))
            probing += perf_counter() - began
            answers[file.display] = FileAnswer(
                findings, found.operations, found.safe, tuple(found.unmodelled.items()), tuple(f"{found.path}: {n}" for n in found.notes)
            )
            for stage, seconds in found.seconds.items():
                times[stage] = times.get(stage, 0.0) + seconds
    finally:
        notes = confirmer.close()
    times["probe and prove (wall)"] = probing
    times["all of it (wall)"] = perf_counter() - started
    return answers, notes, confirmer.lasting


def scan_all(jobs: list[Job], settings: Settings, progress: Progress | None) -> Iterator[Scan]:
    """The scans in order; in worker processes where it pays."""
    workers = settings.jobs or os.cpu_count() or 1
    stated = dict(settings.ranges)
    if len(jobs) >= PARALLEL_FILES and sum(len(d) for d, _ in jobs) >= PARALLEL_BYTES and workers > 1:
        yield from parallel(jobs, settings, stated, workers, progress)
        return
    catalog = load(settings.rules)
    for i, (data, display) in enumerate(jobs):
        yield scan(data, display, settings.dtype, stated, catalog)
        if progress is not None:
            progress(i + 1, len(jobs))


def batch(jobs: list[Job], dtype: str, stated: Stated, rules: tuple[str, ...]) -> list[Scan]:
    """Several files in a worker process."""
    catalog = load(rules)
    return [scan(data, display, dtype, stated, catalog) for data, display in jobs]


def parallel(jobs: list[Job], settings: Settings, stated: Stated, workers: int, progress: Progress | None) -> Iterator[Scan]:
    """Batches of files in worker processes; one that dies costs the file it died of, no more."""
    size = max(len(jobs) // (workers * 8), 1)
    groups = [jobs[i : i + size] for i in range(0, len(jobs), size)]
    done = 0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        with safe_folder():
            futures = [pool.submit(batch, g, settings.dtype, stated, settings.rules) for g in groups]
        for group, future in zip(groups, futures):
            try:
                found = future.result()
            except BrokenProcessPool:
                found = [alone(job, settings, stated) for job in group]
            yield from found
            done += len(found)
            if progress is not None:
                progress(done, len(jobs))


def alone(job: Job, settings: Settings, stated: Stated) -> Scan:
    """One file in a process of its own; if that dies, the file is reported as one that could not be checked."""
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            with safe_folder():
                future = pool.submit(batch, [job], settings.dtype, stated, settings.rules)
            return future.result()[0]
    except BrokenProcessPool:
        return Scan(job[1], error=UnreadableFile("is left out: checking it ended the process that did it", rule="skipped-file"))


def findings_of(found: Scan, file: SourceFile, data: bytes, settings: Settings, catalog: Catalog, confirmer: Confirmer) -> Iterator[Finding]:
    """The findings of one file: its errors, and its suspects as the probe judges them, less what is suppressed."""
    if found.error is not None:
        yield problem(found.path, found.error)
        return
    wanted = [s for s in found.suspects if any(selected(settings, catalog, n, found.path) for n in {s.finding.rule, *s.rules.values()})]
    kept = list(confirmer.confirm(wanted, file, data)) if wanted else []
    kept = [f for f in kept if settings.is_selected(f.code, f.rule, found.path)]
    yield from suppressed(kept, file, data, settings, catalog)


def selected(settings: Settings, catalog: Catalog, name: str, path: str) -> bool:
    """The rule of this name is asked for in this file."""
    rule = catalog.find(name)
    return rule is not None and settings.is_selected(rule.code, rule.name, path)


def suppressed(findings: list[Finding], file: SourceFile, data: bytes, settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """The findings that no comment suppresses, and the comments that suppress nothing."""
    if b"nanlint" not in data and b"noqa" not in data:
        yield from findings
        return
    from nanlint.source.parse import parse
    from nanlint.source.suppress import suppress
    from nanlint.source.text import read_source

    text = read_source(data).text
    rules = {**{name: code for name, (code, _) in OWN_RULES.items()}, **{r.name: r.code for r in catalog}}
    kept, unused = suppress(
        findings,
        text,
        parse(text),
        path=file.display,
        rules=rules,
        is_selected=lambda code, name: settings.is_selected(code, name, file.display),
    )
    yield from kept
    yield from (f for f in unused if settings.is_selected(f.code, f.rule, file.display))
