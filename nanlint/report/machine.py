"""Findings for programs: JSON as the contract has it, and GitHub's workflow commands."""

from __future__ import annotations

import json

from nanlint.core.finding import Finding, Report

GITHUB_LEVEL = {"error": "error", "warning": "warning", "info": "notice"}


def render_json(report: Report) -> str:
    """One JSON object, the same bytes for the same findings."""
    answer = {"version": 1, "findings": [f.to_json() for f in report.findings], "summary": report.summary.to_json()}
    return json.dumps(answer, indent=2, allow_nan=False) + "\n"


def render_github(report: Report) -> str:
    """One workflow command a finding; GitHub shows the first few only, so the most severe come first."""
    rank = list(GITHUB_LEVEL)
    ordered = sorted(report.findings, key=lambda f: (rank.index(f.severity), f.order))
    return "".join(_command(f) + "\n" for f in ordered)


def _command(finding: Finding) -> str:
    span = finding.span
    properties = {
        "title": f"nanlint ({finding.code} {finding.rule})",
        "file": finding.path,
        "line": str(span.line),
        "col": str(span.column),
        "endLine": str(span.end_line),
        "endColumn": str(span.end_column),
    }
    words = [f"{finding.path}:{span.line}:{span.column}: {finding.code} {finding.message}"]
    if finding.witness:
        words.append("breaks at " + ", ".join(f"{name} = {value}" for name, value in finding.witness.inputs))
    if finding.fix:
        words.append(finding.fix.title)
    listed = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{GITHUB_LEVEL[finding.severity]} {listed}::{_escape(chr(10).join(words))}"


def _escape(text: str, also: str = "") -> str:
    for c in "%\r\n" + also:
        text = text.replace(c, f"%{ord(c):02X}")
    return text
