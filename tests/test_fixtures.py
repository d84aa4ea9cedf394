"""The modules in `fixtures/`: every finding is on a line that says `# expect: name`, and every such line has one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
EXPECT = re.compile(r"# expect: ([\w-]+(?:, [\w-]+)*)")
FILES = sorted(FOLDER.glob("*.py"))


def expected(text: str) -> set[tuple[int, str]]:
    """The (line, rule) pairs that a module announces."""
    return {(n, name) for n, line in enumerate(text.splitlines(), 1) if (m := EXPECT.search(line)) for name in m[1].split(", ")}


@pytest.mark.torch
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_findings_are_those_announced(file: Path, nanlint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    pytest.importorskip("torch")
    done = nanlint("--isolated", "--output-format", "json", str(file))
    findings = json.loads(done.stdout)["findings"]
    found = {(f["line"], f["rule"]) for f in findings}
    assert found == expected(file.read_text(encoding="utf-8")), done.stderr
    assert all(f["witness"] for f in findings)


def test_there_are_faults_and_safe_twins() -> None:
    assert len(FILES) >= 6
    assert sum(len(expected(f.read_text(encoding="utf-8"))) for f in FILES) >= 15
