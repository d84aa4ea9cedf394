"""What users and programs see of a finding, as snapshots, and what may not depend on the source text."""

from __future__ import annotations

import json

import pytest
from snapshot import same_as

from nanlint.core.finding import Edit, Finding, Fix, Proof, Report, Span, Step, Summary, Witness
from nanlint.report import Sources, render
from nanlint.report.text import render_statistics, summary_line

MODEL = """import torch
import torch.nn.functional as F


class Head:
    def loss(self, h, y):
        p = torch.sigmoid(self.head(h))
        return -(y * p.log()).mean()

    def 损失(self, x, 概率):
\treturn torch.log(概率 *
\t                 x)
"""
SIGMOID = Finding(
    "NAN101",
    "log-of-sigmoid",
    "log-sigmoid",
    "log receives [0, 1]; at 0 it is -inf and its gradient NaN",
    "confirmed",
    "model.py",
    Span(8, 22, 8, 29),
    function="Head.loss",
    operand="torch.sigmoid(self.head(h))",
    range=(0.0, 1.0),
    trail=(Step(7, 13, "torch.sigmoid(self.head(h))", (0.0, 1.0)),),
    witness=Witness((("self.head(h)", "[[-120.0]]"),), "-inf", "nanlint replay 3f2a"),
    fix=Fix(
        "safe", "use logsigmoid(x)", (Edit(Span(8, 22, 8, 29), "F.logsigmoid(self.head(h))"),), Proof(512, 1.1e-07, 2.0e-07, True)
    ),
)
POSSIBLE = Finding(
    "NAN201",
    "log-of-zero",
    "log-nonpositive",
    "log may receive 0, 100% of the time",
    "possible",
    "model.py",
    Span(11, 9, 12, 21),
    range=(float("-inf"), 1.0),
    assumptions=("概率 is in [0, 1] (its name)",),
    severity="warning",
    fix=Fix("unsafe", "clamp the operand", (Edit(Span(11, 19, 11, 19), "clamp(a, 1e-12)"),)),
)
UNREADABLE = Finding("NAN901", "syntax-error", "other", "syntax error: invalid syntax", "confirmed", "a:b,c.py", Span(1, 3, 1, 4))
REPORT = Report(
    (UNREADABLE, SIGMOID, POSSIBLE),
    Summary(3, 3412, 3377, 21, 14, (("aten.foo", 1), ("bar", 7)), ("a:b,c.py: syntax error: invalid syntax",)),
)
SOURCES = Sources({"model.py": MODEL.encode(), "a:b,c.py": b"x ="})


@pytest.mark.parametrize("output_format", ["text", "concise", "json", "github", "sarif"])
def test_formats(output_format: str) -> None:
    same_as(f"report.{output_format}", render(REPORT, output_format, SOURCES))


@pytest.mark.parametrize("output_format", ["text", "concise", "json", "github", "sarif"])
def test_nothing_to_report(output_format: str) -> None:
    text = render(Report(), output_format, Sources())
    assert json.loads(text) if output_format in ("json", "sarif") else text == ""


def test_colour_changes_no_letter() -> None:
    import re

    for output_format in ("text", "concise"):
        painted = render(REPORT, output_format, SOURCES, color=True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render(REPORT, output_format, SOURCES)


def test_statistics_and_summary() -> None:
    same_as("statistics.txt", render_statistics(Report((SIGMOID, SIGMOID, POSSIBLE, UNREADABLE))))
    assert summary_line(REPORT.summary).endswith("21 confirmed, 14 possible; 2 ops not modelled (names with -v)")
    assert summary_line(REPORT.summary, verbose=True).endswith("not modelled: bar (7), aten.foo (1)")


def test_a_source_cannot_drive_the_terminal() -> None:
    evil = "x = '\x1b[31m\x07'\u202e\n"
    finding = SIGMOID.with_(path="evil\x1b[2J.py", span=Span(1, 1, 1, 2), trail=(), message="a\x1b]0;b", witness=None)
    for output_format in ("text", "concise"):
        text = render(Report((finding,)), output_format, Sources({finding.path: evil.encode()}))
        assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text


@pytest.mark.parametrize("span", [Span(99, 1, 99, 2), Span(1, 500, 1, 600), Span(1, 1, 50, 1), Span(2, 1, 2, 1)])
def test_places_outside_the_file_do_no_harm(span: Span) -> None:
    finding = SIGMOID.with_(span=span, trail=(Step(1000, 1, "", (0, 1)),))
    assert SIGMOID.message in render(Report((finding,)), "text", Sources({"model.py": b"x = 1\n"}))
    render(Report((finding,)), "sarif", Sources({"model.py": b"x = 1\n"}))


def test_a_missing_file_has_no_frame() -> None:
    text = render(Report((SIGMOID.with_(path="gone.py"),)), "text", Sources())
    assert text.splitlines()[1].strip() == SIGMOID.message


def test_a_very_long_line_is_cut() -> None:
    finding = SIGMOID.with_(span=Span(1, 5000, 1, 5004), trail=())
    text = render(Report((finding,)), "text", Sources({"model.py": b"x = [" + b"1, " * 9000 + b"]\n"}))
    assert max(map(len, text.splitlines())) < 200 and finding.message in text


def test_fingerprints_outlive_line_moves() -> None:
    def prints(text: str, *lines: int) -> list[str]:
        findings = tuple(SIGMOID.with_(span=Span(n, 1, n, 2)) for n in lines)
        results = json.loads(render(Report(findings), "sarif", Sources({"model.py": text.encode()})))["runs"][0]["results"]
        return [r["partialFingerprints"]["nanlint/v1"] for r in results]

    before, after = prints("a\nb\nb\n", 1, 2, 3), prints("\n\na\nb\nb\n", 3, 4, 5)
    assert before == after and len(set(before)) == 3
