"""Settings and comments as the whole of nanlint obeys them; no torch is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Nanlint = Callable[..., subprocess.CompletedProcess[str]]
HEAD = "import torch\n\n\ndef f(x):\n    return "
FAULT = HEAD + "torch.log(torch.sigmoid(x))"


@pytest.fixture
def found(nanlint: Nanlint, tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """The (code, verdict) pairs that nanlint finds in a text without probes."""

    def run(text: str, *args: str, config: str = "", name: str = "m.py") -> list[tuple[str, str]]:
        (tmp_path / "pyproject.toml").write_text("[tool.nanlint]\n" + config)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        done = nanlint("--no-probe", "--level", "possible", "--output-format", "json", *args, name)
        assert done.returncode == bool(json.loads(done.stdout)["findings"]), done.stderr
        return [(f["code"], f["verdict"]) for f in json.loads(done.stdout)["findings"]]

    return run


def test_comments(found: Callable[..., list[tuple[str, str]]]) -> None:
    assert found(FAULT + "\n") == [("NAN101", "possible")]
    for comment in ("# nanlint: ignore[NAN101]", "# nanlint: ignore[log-of-sigmoid] -- known", "# noqa: NAN101", "# noqa"):
        assert found(f"{FAULT}  {comment}\n") == []
    assert found("# nanlint: file-ignore[NAN1]\n" + FAULT + "\n") == []
    assert found(FAULT + "  # nanlint: ignore[NAN101, NAN201]\n") == [("NAN900", "confirmed")]
    assert found(FAULT + "  # nanlint: ignore[log-of-sigmod]\n") == [("NAN101", "possible"), ("NAN900", "confirmed")]
    assert found(FAULT + "  # nanlint: ignore[NAN101, NAN201]\n", "--ignore", "NAN9") == []
    assert found(FAULT + "  # nanlint: ignore[NAN101, NAN201]\n", "--ignore", "NAN2") == []


def test_selection(found: Callable[..., list[tuple[str, str]]]) -> None:
    assert found(FAULT + "\n", "--select", "NAN2") == []
    assert found(FAULT + "\n", "--ignore", "log-of-sigmoid,NAN2") == []
    assert found(FAULT + "\n", config='ignore = ["NAN1", "NAN2"]\n') == []
    assert found(FAULT + "\n", config='per-file-ignores = { "tests/*" = ["ALL"] }\n', name="tests/m.py") == []
    assert found(FAULT + "\n", config='per-file-ignores = { "tests/*" = ["ALL"] }\n') == [("NAN101", "possible")]


def test_severity_and_exit_status(nanlint: Nanlint, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(FAULT + "\n")
    args = ("--no-probe", "--level", "possible", "m.py", "--output-format", "json", "--config", "severity = { NAN1 = 'info' }")
    assert json.loads(nanlint(*args).stdout)["findings"][0]["severity"] == "info"
    assert nanlint(*args).returncode == 1 and nanlint(*args, "--fail-on", "warning").returncode == 0
    assert nanlint("--no-probe", "m.py").returncode == 0


def test_the_cache_changes_nothing(nanlint: Nanlint, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(FAULT + "\n")
    (tmp_path / "bad.py").write_text("import torch\nx = (\n")
    args = ("--no-probe", "--level", "possible", "--output-format", "json", "--cache-dir", str(tmp_path / "cache"), ".")
    cold, warm, without = nanlint(*args), nanlint(*args), nanlint(*args, "--no-cache")
    assert cold.stdout == warm.stdout == without.stdout and len(json.loads(cold.stdout)["findings"]) == 2
    (tmp_path / "m.py").write_text(HEAD + "x\n")
    assert len(json.loads(nanlint(*args).stdout)["findings"]) == 1


def test_order_does_not_depend_on_the_number_of_workers(nanlint: Nanlint, tmp_path: Path) -> None:
    for n in range(40):
        (tmp_path / f"m{n}.py").write_text(FAULT + "\n" + "# filler\n" * 1000)
    args = ("--no-probe", "--no-cache", "--level", "possible", "--output-format", "json", ".")
    assert nanlint(*args, "-j", "1").stdout == nanlint(*args, "-j", "2").stdout


def test_where_there_is_no_torch(nanlint: Nanlint, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(FAULT + "\n")
    (tmp_path / "empty" / "bin").mkdir(parents=True)
    python = tmp_path / "empty" / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    done = nanlint("--no-cache", "--level", "possible", "--python", str(python), "m.py")
    assert done.returncode == 1 and "possible" in done.stdout and "confirmed" not in done.stdout
    assert sum("torch" in line for line in done.stderr.splitlines()) == 1
    assert nanlint("--no-cache", "--python", "no/such/python", "m.py").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a script that says it was started")
def test_no_probe_is_started_without_suspects(nanlint: Nanlint, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nexit 1\n")
    python.chmod(0o755)
    args = ("--no-cache", "--python", str(python), "m.py")
    (tmp_path / "m.py").write_text(HEAD + "torch.logsigmoid(x) + torch.log(x)\n")
    assert nanlint(*args).returncode == 0 and not (tmp_path / "started").exists()
    (tmp_path / "m.py").write_text(FAULT + "\n")
    assert nanlint(*args).returncode == 0 and (tmp_path / "started").exists()
