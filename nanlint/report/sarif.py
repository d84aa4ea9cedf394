"""SARIF 2.1.0, with relative addresses, fixes, the trail as related locations, and fingerprints that outlive line moves."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from nanlint import __version__
from nanlint.core.finding import Finding, Report, Span
from nanlint.report.frame import Sources

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVEL = {"error": "error", "warning": "warning", "info": "note"}


def render_sarif(report: Report, sources: Sources) -> str:
    """One run; `columnKind` says that columns count code points, as everywhere in nanlint."""
    rules = sorted({(f.code, f.rule) for f in report.findings})
    index = {rule: i for i, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(f, index[f.code, f.rule], sources, seen) for f in report.findings]
    driver = {
        "name": "nanlint",
        "version": __version__,
        "rules": [{"id": code, "name": name, "shortDescription": {"text": name.replace("-", " ")}} for code, name in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, allow_nan=False) + "\n"


def _result(finding: Finding, rule_index: int, sources: Sources, seen: Counter[str]) -> dict[str, Any]:
    lines = sources.lines(finding.path)
    line = lines[finding.span.line - 1].strip() if finding.span.line <= len(lines) else ""
    key = f"{finding.rule}\0{finding.path}\0{line}"
    seen[key] += 1
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": LEVEL[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.path, finding.span)],
        "partialFingerprints": {"nanlint/v1": hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "replace")).hexdigest()[:32]},
        "properties": {
            k: v for k, v in finding.to_json().items() if k in ("verdict", "kind", "phase", "dtype", "witness", "assumptions")
        },
    }
    if finding.trail:
        result["relatedLocations"] = [
            {**_location(finding.path, Span(s.line, s.column, s.line, s.column + len(s.text))), "message": {"text": s.text}}
            for s in finding.trail
        ]
    if finding.fix and finding.fix.edits:
        changes = [{"deletedRegion": _region(e.span), "insertedContent": {"text": e.text}} for e in finding.fix.edits]
        change = {"artifactLocation": _artifact(finding.path), "replacements": changes}
        result["fixes"] = [{"description": {"text": finding.fix.title}, "artifactChanges": [change]}]
    return result


def _location(path: str, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": _region(span)}}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path, errors="replace"), "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}
