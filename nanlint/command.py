"""What `nanlint check` does once its settings are known: find, check, fix, print, and choose the exit status."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nanlint.config import SEVERITIES, Settings, check_selectors
from nanlint.core.errors import UnreadableFile, UsageError
from nanlint.core.finding import Finding, Report
from nanlint.report import Sources, render
from nanlint.report.frame import printable
from nanlint.source.discovery import SourceFile, discover


@dataclass(frozen=True)
class Ask:
    """What is asked of one run apart from its settings."""

    do_fix: bool = False
    do_diff: bool = False
    stdin_filename: str | None = None
    exit_zero: bool = False
    verbose: bool = False
    quiet: bool = False


def run(paths: Sequence[Path], settings: Settings, ask: Ask) -> int:
    """Check `paths` and print; the exit status."""
    if settings.selectors != ("ALL",):
        check_selectors(settings, known_rules(settings))
    cwd = Path.cwd()
    files, problems = _files(paths, settings, ask, cwd)
    if not files and not problems and not ask.quiet:
        _say("nanlint: there is no Python file to check")
    before = {f.display: f for f in files}
    report, changed, applied = _checked(files, settings, ask, cwd)
    report = _with_problems(report, problems)
    if ask.do_diff:
        _print_diff(before, changed)
    elif ask.do_fix:
        _write(before, changed)
    sources = Sources({**{f.display: f.text for f in files if f.text is not None}, **changed}, cwd)
    _print(report, settings, sources, to_stderr=ask.do_diff or (ask.do_fix and any(f.text is not None for f in files)))
    if not ask.quiet:
        _print_summary(report, ask, sum(applied.values()), len(changed))
    return _status(report.findings, settings, ask, bool(ask.do_diff and changed))


def known_rules(settings: Settings) -> dict[str, str]:
    """The codes of all rules by name, nanlint's own included."""
    from nanlint.catalog.load import load
    from nanlint.source.problems import OWN_RULES

    return {**{name: code for name, (code, _) in OWN_RULES.items()}, **{r.name: r.code for r in load(settings.rules)}}


def _files(paths: Sequence[Path], settings: Settings, ask: Ask, cwd: Path) -> tuple[list[SourceFile], list[Finding]]:
    if Path("-") not in paths:
        if ask.stdin_filename:
            raise UsageError("--stdin-filename names standard input: give `-` as the path")
        return discover(paths, settings, cwd)
    if len(paths) > 1:
        raise UsageError("`-` is standard input and cannot be checked along with other paths")
    name = ask.stdin_filename or "-"
    path = Path(os.path.abspath(cwd / name))
    if ask.stdin_filename and settings.force_exclude:
        from nanlint.source.discovery import Excludes

        if Excludes(settings).cover(path):
            return [], []
    return [SourceFile(path, Path(name).as_posix(), sys.stdin.buffer.read())], []


def _checked(
    files: list[SourceFile], settings: Settings, ask: Ask, cwd: Path
) -> tuple[Report, dict[str, bytes], dict[tuple[str, str], int]]:
    """The report, what fixing made of the files, and how often each rule's fix was applied."""
    if not files:
        return Report(), {}, {}
    from nanlint import engine

    with _progress(ask.quiet) as progress:

        def check(batch: list[SourceFile]) -> Report:
            return engine.check(batch, settings, root=cwd, progress=progress)

        if not (ask.do_fix or ask.do_diff):
            return check(files), {}, {}
        from nanlint.fixing import fix

        result = fix(files, check, unsafe=settings.unsafe_fixes)
        return result.report, result.changed, result.applied


def _with_problems(report: Report, problems: list[Finding]) -> Report:
    if not problems:
        return report
    errors = (*report.summary.errors, *(f"{p.path}: {p.message}" for p in problems))
    findings = tuple(sorted([*report.findings, *problems], key=lambda f: f.order))
    return Report(findings, replace(report.summary, errors=errors), report.notes)


def _print(report: Report, settings: Settings, sources: Sources, to_stderr: bool) -> None:
    machine = settings.output_format in ("json", "sarif")
    stream = sys.stderr if to_stderr else sys.stdout
    if settings.statistics and not machine:
        from nanlint.report.text import render_statistics

        text = render_statistics(report)
    else:
        text = render(report, settings.output_format, sources, color=settings.output_file is None and has_color(stream))
    if settings.output_file is not None:
        try:
            Path(settings.output_file).parent.mkdir(parents=True, exist_ok=True)
            Path(settings.output_file).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise UsageError(f"--output-file {settings.output_file}: {error.strerror}") from None
    else:
        stream.write(text)
        stream.flush()


def has_color(stream: object) -> bool:
    """Whether to write colours: NO_COLOR and FORCE_COLOR decide, else whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    isatty = getattr(stream, "isatty", None)
    return bool(isatty and isatty()) and os.environ.get("TERM") != "dumb"


def _print_diff(before: dict[str, SourceFile], changed: dict[str, bytes]) -> None:
    from nanlint.fixing import diff

    for path in sorted(changed):
        sys.stdout.write(diff(path, before[path].read(), changed[path]))
    sys.stdout.flush()


def _write(before: dict[str, SourceFile], changed: dict[str, bytes]) -> None:
    """Write the fixed files; standard input comes out on standard output, fixed or not."""
    from nanlint.fixing import write

    for path, file in before.items():
        if file.text is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(changed.get(path, file.text))
            sys.stdout.buffer.flush()
        elif path in changed:
            try:
                write(file.path, changed[path])
            except OSError as error:
                raise UnreadableFile(f"{path}: the fix cannot be written ({error.strerror})") from None


def _print_summary(report: Report, ask: Ask, fixes: int, files: int) -> None:
    from nanlint.report.text import summary_line

    for note in report.notes:
        _say(note)
    if fixes:
        _say(
            f"{'Would apply' if ask.do_diff else 'Applied'} {counted(fixes, 'fix', 'fixes')} in {counted(files, 'file', 'files')}"
        )
    _say(summary_line(report.summary, ask.verbose))
    if ask.verbose:
        from nanlint import engine

        for stage, seconds in getattr(engine, "TIMES", {}).items():
            _say(f"  {stage:<12} {seconds:.2f} s")
    if not report.findings:
        _say("All checks passed!")


def _status(findings: Sequence[Finding], settings: Settings, ask: Ask, would_change: bool) -> int:
    worst = max((SEVERITIES.index(f.severity) for f in findings), default=-1)
    return int((worst >= SEVERITIES.index(settings.fail_on) or would_change) and not ask.exit_zero)


def counted(number: int, one: str, many: str) -> str:
    """`number` with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def _say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A counter of files on a terminal, once the run takes longer than a second."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    began = time.monotonic()
    shown = False

    def show(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 1:
            shown = True
            sys.stderr.write(f"\r\x1b[K{done:,} of {total:,} files")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def replay_witness(id: str, settings: Settings) -> int:
    """Run a stored witness again and print what it gives; 1 where it still breaks."""
    from nanlint.cache import folder
    from nanlint.probe.client import Probe
    from nanlint.probe.interpreter import find_interpreter
    from nanlint.probe.store import Store

    frozen = Store(folder(settings.cache_dir)).load(id)
    interpreter = find_interpreter(settings.python, Path.cwd())
    if interpreter is None:
        raise UsageError("no interpreter with torch was found: install torch here, or name one with --python")
    with Probe(interpreter.executable, seconds=60.0) as probe:
        answer = probe.replay(frozen)
    for name, value in answer.inputs.items():
        print(f"{printable(name)} = {printable(value)}")
    nodes = {n.get("id"): n for n in frozen.get("slice", {}).get("nodes", ())}
    guilty = nodes.get(answer.guilty, {})
    place = f" at {guilty.get('op')}" + (f", line {guilty['line']}" if guilty.get("line") else "") if guilty else ""
    print(f"breaks{place}: {answer.becomes} ({answer.phase})" if answer.is_broken else f"{answer.verdict} {answer.error}".strip())
    if answer.verdict not in ("broken", "held"):
        raise UsageError(f"the witness {id} could not be run again: {answer.error or answer.verdict}")
    return int(answer.is_broken)
