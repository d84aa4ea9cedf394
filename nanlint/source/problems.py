"""What nanlint says of itself and of files it cannot read: the rules NAN9xx."""

from __future__ import annotations

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Finding, Severity, Span

OWN_RULES = {
    "unused-suppression": ("NAN900", "a suppression that suppresses nothing, or names no rule"),
    "syntax-error": ("NAN901", "a file that is not Python"),
    "unreadable-file": ("NAN902", "a file or path that cannot be read"),
    "skipped-file": ("NAN903", "a file that is left out: too large, or nested too deeply to be read safely"),
}


def problem(path: str, error: UnreadableFile) -> Finding:
    """The finding that tells of a file that could not be checked."""
    span = Span(error.line, error.column, error.line, error.column + 1)
    return own_finding(error.rule, path, span, str(error))


def own_finding(rule: str, path: str, span: Span, message: str) -> Finding:
    """A finding of one of nanlint's own rules."""
    severity: Severity = "warning" if rule == "unused-suppression" else "error"
    return Finding(OWN_RULES[rule][0], rule, "other", message, "confirmed", path, span, severity=severity)
