"""The command line as users meet it: grammar, exit status, streams. The engine is replaced by one that knows one fault."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanlint import __version__, cli, engine
from nanlint.config import Settings
from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Finding, Fix, Report, Span, Summary
from nanlint.source.discovery import SourceFile
from nanlint.source.parse import parse
from nanlint.source.problems import problem
from nanlint.source.text import read_source

SEEN: list[Settings] = []
Run = Callable[..., tuple[int, str, str]]


def fake_check(files: list[SourceFile], settings: Settings, *, root: Path, progress: object = None) -> Report:
    """`bad` is a fault, with a safe fix; `worse` one with an unsafe fix; `maybe` a possible one."""
    SEEN.append(settings)
    findings = []
    for file in files:
        try:
            text = read_source(file.read()).text
            parse(text)
        except UnreadableFile as error:
            findings.append(problem(file.display, error))
            continue
        for n, line in enumerate(text.splitlines(), 1):
            for m in re.finditer(r"\b(bad|worse|maybe)\b", line):
                span = Span(n, m.start() + 1, n, m.end() + 1)
                verdict = "possible" if m[0] == "maybe" else "confirmed"
                fix = Fix("unsafe" if m[0] == "worse" else "safe", "mend", (Edit(span, "good"),)) if m[0] != "maybe" else None
                severity = settings.severity_of("NAN101", "log-of-sigmoid", "error")
                found = Finding(
                    "NAN101", "log-of-sigmoid", "other", m[0], verdict, file.display, span, fix=fix, severity=severity
                )  # type: ignore[arg-type]
                findings.append(found)
    shown = [f for f in findings if f.verdict == "confirmed" or settings.level == "possible"]
    return Report(tuple(sorted(shown, key=lambda f: f.order)), Summary(files=len(files)))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "check", fake_check)
    SEEN.clear()

    def call(*args: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nanlint", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            cli.entry()
        out, err = capfd.readouterr()
        return int(end.value.code or 0), out, err

    return call


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = bad\r\n")
    (tmp_path / "rule").mkdir()
    (tmp_path / "rule" / "b.py").write_bytes(b"y = worse + maybe\n")
    (tmp_path / "ok.py").write_bytes(b"z = 1\n")


def places(out: str) -> list[str]:
    return [line.split(":")[0] for line in out.splitlines() if "NAN" in line]


def test_bare_paths_mean_check(run: Run) -> None:
    assert run("a.py")[:2] == run("check", "a.py")[:2]
    assert places(run(".", "--output-format", "concise")[1]) == ["a.py", "rule/b.py"]
    assert places(run("--level", "possible", "--output-format", "concise", "a.py", "rule/b.py")[1]) == [
        "a.py",
        "rule/b.py",
        "rule/b.py",
    ]
    assert places(run("./rule", "--output-format=concise")[1]) == ["rule/b.py"]
    assert places(run("check", "--output-format=concise")[1]) == ["a.py", "rule/b.py"]


def test_exit_status(run: Run) -> None:
    assert run("ok.py")[0] == 0
    assert run("a.py")[0] == 1
    assert run("a.py", "--exit-zero")[0] == 0
    assert run("nope.py")[0] == 1
    assert run("a.py", "--config", "severity = { NAN1 = 'warning' }", "--fail-on", "error")[0] == 0
    for wrong in (
        ("--no-such-option",),
        ("a.py", "--level", "likely"),
        ("a.py", "--select", "NAN7"),
        ("-", "a.py"),
        ("--stdin-filename", "x", "a.py"),
    ):
        status, out, err = run(*wrong)
        assert (status, out) == (2, "") and err
    assert run()[0] == 2


def test_streams(run: Run) -> None:
    _, out, err = run("ok.py")
    assert out == "" and "All checks passed!" in err
    _, out, err = run("a.py")
    assert (
        out.startswith("a.py:1:5  NAN101 log-of-sigmoid  confirmed  [fix]\n")
        and "risky operations" in err
        and "NAN101" not in err
    )
    assert run("a.py", "-q")[2] == ""
    assert json.loads(run("a.py", "--output-format", "json")[1])["summary"]["files"] == 1
    assert run("a.py", "--output-format", "json")[1] == run("a.py", "--output-format", "json")[1]


def test_a_fault_of_ours_is_2_and_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Report:
        raise ZeroDivisionError

    monkeypatch.setattr(engine, "check", broken)
    status, out, err = run("a.py", "--exit-zero")
    assert (status, out) == (2, "") and "fault of nanlint itself" in err


def test_interrupts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "check", interrupted)
    assert run("a.py")[0] == 130


def test_problems_are_findings_in_every_format(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = (\n")
    for output_format in ("text", "concise", "json", "github", "sarif"):
        status, out, _ = run("--output-format", output_format, "ok.py", "nope.py", "broken.py")
        assert status == 1 and "NAN901" in out and "NAN902" in out and "nope.py" in out
    errors = json.loads(run("--output-format", "json", "nope.py")[1])["summary"]["errors"]
    assert errors == ["nope.py: there is no such file or folder"]


def test_fix(run: Run, tmp_path: Path) -> None:
    status, out, err = run("--fix", ".")
    assert status == 1 and places(out) == ["rule/b.py"] and "Applied 1 fix in 1 file" in err
    assert (tmp_path / "a.py").read_bytes() == b"x = good\r\n"
    assert run("--fix", "--unsafe-fixes", ".")[0] == 0
    assert (tmp_path / "rule" / "b.py").read_bytes() == b"y = good + maybe\n"


def test_diff(run: Run, tmp_path: Path) -> None:
    status, out, err = run("--diff", ".")
    assert status == 1 and out == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = bad\r\n+x = good\r\n"
    assert "rule/b.py:1:5" in err and (tmp_path / "a.py").read_bytes() == b"x = bad\r\n"
    assert run("--diff", "a.py")[0] == 1
    assert run("--diff", "ok.py")[0] == 0


def test_standard_input(run: Run) -> None:
    status, out, _ = run("-", stdin=b"x = bad\n")
    assert status == 1 and out.startswith("-:1:5  NAN101")
    assert run("--stdin-filename", "pkg/m.py", "-", stdin=b"x = bad\n")[1].startswith("pkg/m.py:1:5  NAN101")
    assert run("--stdin-filename", "pkg/m.py", stdin=b"x = bad\n")[1].startswith("pkg/m.py:1:5  NAN101")
    status, out, err = run("--fix", "-", stdin=b"x = bad\r\ny = worse\r\n")
    assert (status, out) == (1, "x = good\r\ny = worse\r\n") and "NAN101" in err
    assert run("-", "--stdin-filename", "venv/m.py", "--force-exclude", stdin=b"x = bad\n")[0] == 0


def test_output_file_and_statistics(run: Run, tmp_path: Path) -> None:
    assert run(".", "-o", "out/r.json", "--output-format", "json")[1] == ""
    assert len(json.loads((tmp_path / "out" / "r.json").read_text())["findings"]) == 2
    assert run(".", "--statistics")[1] == "2  NAN101 log-of-sigmoid  [2 with a fix]\n"
    assert run("a.py", "-o", ".")[0] == 2


def test_configuration(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.nanlint]\nlevel = "possible"\nextend-exclude = ["a.py"]\noutput-format = "concise"\n'
    )
    assert places(run(".")[1]) == ["rule/b.py", "rule/b.py"]
    assert places(run(".", "--level", "confirmed")[1]) == ["rule/b.py"]
    assert places(run(".", "--isolated", "--output-format", "concise")[1]) == ["a.py", "rule/b.py"]
    (tmp_path / "other.toml").write_text('output-format = "concise"\n')
    assert places(run(".", "--config", "other.toml")[1]) == ["a.py", "rule/b.py"]
    assert run(".", "--isolated", "--config", "other.toml")[0] == 2
    (tmp_path / "pyproject.toml").write_text("[tool.nanlint]\nselct = []\n")
    status, out, err = run(".")
    assert (status, out) == (
        2,
        "",
    ) and err == "nanlint: pyproject.toml: nanlint has no key `selct` (did you mean `select`?)\n".replace(
        "pyproject.toml", str(tmp_path / "pyproject.toml")
    )


def test_options_reach_the_engine(run: Run) -> None:
    run(
        "ok.py",
        "--dtype",
        "float16",
        "--no-probe",
        "--no-cache",
        "-j",
        "3",
        "--python",
        "py",
        "--select",
        "NAN101,NAN9",
        "--ignore",
        "NAN901",
    )
    settings = SEEN[-1]
    assert (settings.dtype, settings.probe, settings.cache, settings.jobs, settings.python) == ("float16", False, False, 3, "py")
    assert settings.select == ("NAN101", "NAN9") and settings.ignore == ("NAN901",)


def test_colour_is_for_terminals(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("a.py")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in run("a.py")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("a.py")[1]


def test_help_and_version(run: Run) -> None:
    assert run("--version")[:2] == (0, f"nanlint, version {__version__}\n")
    assert "nanlint PATH" in run("--help")[1]
    assert run("check", "--help")[0] == 0


def test_rules(run: Run) -> None:
    status, out, _ = run("rule")
    assert status == 0 and "NAN101  log-of-sigmoid" in out and "NAN902  unreadable-file" in out
    assert run("rule", "NAN101")[1] == run("rule", "log-of-sigmoid")[1] and "## Why is this bad?" in run("rule", "NAN101")[1]
    assert json.loads(run("rule", "nan101", "--output-format", "json")[1])["name"] == "log-of-sigmoid"
    assert {r["code"] for r in json.loads(run("rule", "--output-format", "json")[1])} >= {"NAN101", "NAN900"}
    assert run("rule", "--all")[1].count("\n# ") > 3
    assert "did you mean `log-of-sigmoid`" in run("rule", "log-of-sigmod")[2]
    assert run("rule", "NAN7")[0] == 2


def test_a_witness_that_is_not_there(run: Run) -> None:
    status, out, err = run("replay", "feed")
    assert (status, out) == (2, "") and "feed" in err


def test_broken_pipe(nanlint: Callable[..., object], tmp_path: Path) -> None:
    import os
    import subprocess

    (tmp_path / "many.py").write_text("x = (\n")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "nanlint", "many.py", *["nope.py"] * 1]
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parent.parent)}
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, env=environment, timeout=100)
    os.close(writer)
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr and done.returncode == 1
