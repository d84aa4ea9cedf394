"""The JSON contract, checked on whatever nanlint says of the fixtures, hostile snippets and broken files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nanlint.catalog.load import load
from nanlint.source.problems import OWN_RULES

Nanlint = Callable[..., subprocess.CompletedProcess[str]]
FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"

OPTIONAL = type(None)
FINDING: dict[str, tuple[type, ...]] = {
    "code": (str,),
    "rule": (str,),
    "kind": (str,),
    "message": (str,),
    "verdict": (str,),
    "path": (str,),
    "line": (int,),
    "column": (int,),
    "end_line": (int,),
    "end_column": (int,),
    "cell": (int, OPTIONAL),
    "function": (str, OPTIONAL),
    "phase": (str,),
    "dtype": (str,),
    "operand": (str, OPTIONAL),
    "range": (list, OPTIONAL),
    "assumptions": (list,),
    "severity": (str,),
    "trail": (list,),
    "witness": (dict, OPTIONAL),
    "fix": (dict, OPTIONAL),
}
WORDS = {
    "verdict": {"confirmed", "possible"},
    "phase": {"forward", "backward"},
    "severity": {"error", "warning", "info"},
    "dtype": {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"},
}
SUMMARY: dict[str, type] = {
    "files": int, "operations": int, "safe": int, "confirmed": int, "possible": int, "unmodelled": dict, "errors": list,
}  # fmt: skip
PROOF: dict[str, tuple[type, ...]] = {
    "agrees_on": (int,),
    "worst_relative_error": (float, int, str),
    "worst_gradient_error": (float, int, str, OPTIONAL),
    "finite_on_witness": (bool,),
}


def checked(text: str) -> dict[str, Any]:
    """The answer, once it keeps the contract: keys in their order, no NaN, places that are places, a fixed order."""
    answer: dict[str, Any] = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert list(answer) == ["version", "findings", "summary"] and answer["version"] == 1
    assert list(answer["summary"]) == list(SUMMARY)
    assert all(isinstance(answer["summary"][k], kind) for k, kind in SUMMARY.items())
    for finding in answer["findings"]:
        check_finding(finding)
    order = [(f["path"], f["line"], f["column"], f["code"]) for f in answer["findings"]]
    assert order == sorted(order)
    own = [f for f in answer["findings"] if not f["code"].startswith("NAN9")]
    summary = answer["summary"]
    assert summary["operations"] == summary["safe"] + summary["confirmed"] + summary["possible"]
    for verdict in ("confirmed", "possible"):
        assert sum(f["verdict"] == verdict for f in own) <= summary[verdict]
    return answer


def check_finding(finding: dict[str, Any]) -> None:
    """One finding keeps the contract."""
    assert list(finding) == list(FINDING)
    for key, kinds in FINDING.items():
        assert isinstance(finding[key], kinds), (key, finding[key])
    for key, words in WORDS.items():
        assert finding[key] in words, (key, finding[key])
    assert known_rules()[finding["rule"]] == finding["code"]
    assert not finding["path"].startswith("/") and "\\" not in finding["path"]
    place = (finding["line"], finding["column"]), (finding["end_line"], finding["end_column"])
    assert (1, 1) <= place[0] <= place[1]
    assert finding["range"] is None or (len(finding["range"]) == 2 and all(is_number(v) for v in finding["range"]))
    for step in finding["trail"]:
        assert list(step) == ["line", "column", "text", "range"] and all(is_number(v) for v in step["range"])
    if finding["witness"] is not None:
        assert finding["verdict"] == "confirmed" and list(finding["witness"]) == ["inputs", "becomes", "replay"]
        assert finding["witness"]["inputs"] and finding["witness"]["replay"].startswith("nanlint replay ")
    if finding["fix"] is not None:
        check_fix(finding["fix"])


def check_fix(fix: dict[str, Any]) -> None:
    """A fix keeps the contract: its edits do not overlap, its proof is a proof."""
    assert list(fix) == ["applicability", "title", "edits", "proof"]
    assert fix["applicability"] in ("safe", "unsafe", "display")
    ends = [((e["line"], e["column"]), (e["end_line"], e["end_column"])) for e in fix["edits"]]
    assert all(a <= b for a, b in ends) and all(one[1] <= two[0] for one, two in pairwise(ends))
    if fix["proof"] is not None:
        assert list(fix["proof"]) == list(PROOF) and all(isinstance(fix["proof"][k], kinds) for k, kinds in PROOF.items())
        assert fix["proof"]["finite_on_witness"]


def is_number(value: Any) -> bool:
    """A number, or one of the words for what JSON cannot hold."""
    return isinstance(value, (int, float)) or value in ("inf", "-inf", "nan")


def known_rules() -> dict[str, str]:
    """The code of each rule."""
    return {**{name: code for name, (code, _) in OWN_RULES.items()}, **{r.name: r.code for r in load(())}}


@pytest.mark.torch
def test_with_probes(nanlint: Nanlint) -> None:
    answer = checked(nanlint("--isolated", "--level", "possible", "--output-format", "json", str(FIXTURES), cwd=FIXTURES.parent).stdout)
    assert answer["summary"]["confirmed"] >= 10 and any(f["fix"] for f in answer["findings"])


def test_without_probes(nanlint: Nanlint) -> None:
    args = ("--isolated", "--no-probe", "--level", "possible", "--output-format", "json", ".")
    answer = checked(nanlint(*args, cwd=FIXTURES).stdout)
    assert answer["summary"]["confirmed"] == 0 and all(f["witness"] is None for f in answer["findings"])


def test_broken_files(nanlint: Nanlint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"import torch\nx = (\n")
    (tmp_path / "b.py").write_bytes(b"import torch\n\0")
    (tmp_path / "c.py").write_bytes(b"")
    answer = checked(nanlint("--isolated", "--output-format", "json", ".", "gone.py").stdout)
    assert len(answer["summary"]["errors"]) == 3
    assert {f["path"] for f in answer["findings"]} == {"a.py", "b.py", "gone.py"}


def test_nothing(nanlint: Nanlint, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    answer = checked(nanlint("--isolated", "--output-format", "json", ".").stdout)
    assert answer["findings"] == [] and answer["summary"]["files"] == 1
