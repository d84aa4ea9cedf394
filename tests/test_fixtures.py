"""The modules in `fixtures/`: every finding is on a line that says `# expect: name`, and every such line has one.

`NANLINT_ACCEPT=1 pytest tests/test_fixtures.py` writes these comments anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
EXPECT = re.compile(r"  # expect: ([\w-]+(?:, [\w-]+)*)")
FILES = sorted(FOLDER.glob("*.py"))


def expected(text: str) -> set[tuple[int, str]]:
    """The (line, rule) pairs that a module announces."""
    return {(n, name) for n, line in enumerate(text.splitlines(), 1) if (m := EXPECT.search(line)) for name in m[1].split(", ")}


def announced(text: str, found: set[tuple[int, str]]) -> str:
    """The module with comments that announce these pairs."""
    lines = [EXPECT.sub("", line) for line in text.splitlines()]
    for n in {n for n, _ in found}:
        lines[n - 1] += "  # expect: " + ", ".join(sorted(name for m, name in found if m == n))
    return "\n".join(lines) + "\n"


@pytest.mark.torch
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_findings_are_those_announced(file: Path, nanlint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = nanlint("--isolated", "--output-format", "json", str(file))
    findings = json.loads(done.stdout)["findings"]
    found = {(f["line"], f["rule"]) for f in findings}
    text = file.read_text(encoding="utf-8")
    if os.environ.get("NANLINT_ACCEPT"):
        file.write_text(text := announced(text, found), encoding="utf-8", newline="\n")
    assert found == expected(text), done.stderr
    assert all(f["witness"] for f in findings)


def test_there_are_faults_and_safe_twins() -> None:
    texts = [f.read_text(encoding="utf-8") for f in FILES]
    assert len(FILES) >= 6 and sum(len(expected(t)) for t in texts) >= 15
    safe = [name for t in texts for name in re.findall(r"^(?:class|def) ((?:Safe|Stable|Bounded)\w+|\w+_stable|safe_\w+)", t, re.MULTILINE)]
    assert len(safe) >= 12


def test_no_finding_is_announced_in_a_safe_twin() -> None:
    for file in FILES:
        inside = False
        for line in file.read_text(encoding="utf-8").splitlines():
            if opened := re.match(r"\s*(?:class|def) (\w+)", line):
                nested = line.startswith(" ")
                safe = re.match(r"Safe|Stable|Bounded|safe_|\w+_stable$", opened[1]) is not None
                inside = safe or (nested and inside and "class" not in line)
            assert not (inside and EXPECT.search(line)), f"{file.name}: {line}"
