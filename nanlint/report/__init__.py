"""Reports: every format is made from findings, and knows nothing of how they came about."""

from __future__ import annotations

from nanlint.core.finding import Report
from nanlint.report.frame import Sources

__all__ = ["Sources", "render"]


def render(report: Report, output_format: str, sources: Sources, *, color: bool = False) -> str:
    """The findings of `report` in one of the formats, with a line end behind the last line."""
    if output_format == "json":
        from nanlint.report.machine import render_json

        return render_json(report)
    if output_format == "sarif":
        from nanlint.report.sarif import render_sarif

        return render_sarif(report, sources)
    if output_format == "github":
        from nanlint.report.machine import render_github

        return render_github(report)
    from nanlint.report.text import render_concise, render_text

    return render_concise(report, color) if output_format == "concise" else render_text(report, sources, color)
