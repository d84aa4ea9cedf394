"""Which findings the file itself waves through, and which of its suppressions wave nothing through."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from nanlint.core.errors import nearest
from nanlint.core.finding import Edit, Finding, Fix, Span
from nanlint.source.pragmas import Pragma, annotations, pragmas
from nanlint.source.problems import OWN_RULES, own_finding
from nanlint.source.text import split_lines

__all__ = ["annotations", "suppress"]
_CODE = re.compile(r"NAN[0-9]*\Z")


class _Statements:
    """The first and the last line of the statements of a file; of a compound one, of its header."""

    def __init__(self, tree: ast.Module | None) -> None:
        self.spans: list[tuple[int, int]] = []
        stack: list[ast.AST] = [tree] if tree is not None else []
        while stack:
            node = stack.pop()
            bodies = [
                b
                for name in ("body", "orelse", "finalbody", "handlers", "cases")
                if isinstance(b := getattr(node, name, None), list)
            ]
            for body in bodies:
                stack.extend(body)
            if isinstance(node, ast.stmt):
                self.spans.append((node.lineno, _header_end(node) if bodies else node.end_lineno or node.lineno))
        self.spans.sort()

    def ends(self, span: Span) -> tuple[int, ...]:
        """The first and last line of the innermost statement around `span`."""
        around = [(first, last) for first, last in self.spans if first <= span.line <= last]
        return around[-1] if around else ()


def _header_end(node: ast.stmt) -> int:
    """The last line of a compound statement's header."""
    ends = [node.lineno]
    for name, value in ast.iter_fields(node):
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            parts = value if isinstance(value, list) else [value]
            ends += [e for p in parts if (e := getattr(p, "end_lineno", None)) or (e := _deep_end(p))]
    return max(ends)


def _deep_end(part: object) -> int | None:
    """The last line of a part that has no place of its own (arguments, with items)."""
    if not isinstance(part, ast.AST):
        return None
    return max((e for n in ast.walk(part) if (e := getattr(n, "end_lineno", None))), default=None)


class _Known:
    """The rules there are, and which of them ran."""

    def __init__(self, rules: Mapping[str, str] | None, is_selected: Callable[[str, str], bool] | None) -> None:
        self.rules = None if rules is None else {**rules, **{name: code for name, (code, _) in OWN_RULES.items()}}
        self.is_selected = is_selected or (lambda code, name: True)

    def named(self, word: str) -> list[tuple[str, str]] | None:
        """The (code, name) of the rules that `word` names; None where that cannot be known."""
        if self.rules is None:
            return None
        prefix = word.upper() if _CODE.match(word.upper()) and len(word) > 3 else None
        return [(code, name) for name, code in self.rules.items() if word == name or (prefix and code.startswith(prefix))]


def suppress(
    findings: Iterable[Finding],
    text: str,
    tree: ast.Module | None,
    *,
    path: str = "",
    rules: Mapping[str, str] | None = None,
    is_selected: Callable[[str, str], bool] | None = None,
    report_unused: bool = True,
) -> tuple[list[Finding], list[Finding]]:
    """The findings that stay, and one of NAN900 for every suppression that is unused, unknown or not understood.

    Give the findings of every level, or a suppression of a `possible` one looks unused. `rules` maps rule names to codes:
    without it no name is called unknown. `is_selected(code, name)` tells which rules ran: a suppression of another is never unused.
    """
    findings = list(findings)
    found = pragmas(text)
    if not found:
        return findings, []
    statements = _Statements(tree) if findings else None
    used: set[tuple[int, str | None]] = set()
    kept = [f for f in findings if not _wave(f, found, statements, used)]
    if not report_unused:
        return kept, []
    known = _Known(rules, is_selected)
    unused = [u for i, p in enumerate(found) for u in _unused(p, i, used, known, path, text)]
    return kept, [u for u in unused if not _wave(u, found, None, used)]


def _wave(finding: Finding, found: Sequence[Pragma], statements: _Statements | None, used: set[tuple[int, str | None]]) -> bool:
    """Whether a suppression speaks of this finding; every one that does is noted as used."""
    waved = False
    lines: set[int] | None = None
    for i, pragma in enumerate(found):
        words = [None] if pragma.codes is None else [c for c in pragma.codes if _names(c, finding)]
        if not words or pragma.broken or (finding.code == "NAN900" and pragma.codes is None):
            continue
        if pragma.scope != "file":
            if lines is None:
                lines = {
                    *range(finding.span.line, finding.span.end_line + 1),
                    *(statements.ends(finding.span) if statements else ()),
                }
            if not lines & {pragma.line, pragma.target}:
                continue
        waved = True
        used.update((i, w) for w in words)
    return waved


def _names(word: str, finding: Finding) -> bool:
    return (
        word == finding.rule
        or word.upper() == finding.code
        or (len(word) > 3 and _CODE.match(word) is not None and finding.code.startswith(word))
    )


def _unused(pragma: Pragma, index: int, used: set[tuple[int, str | None]], known: _Known, path: str, text: str) -> list[Finding]:
    span = Span(pragma.line, pragma.column, pragma.line, pragma.end)
    if pragma.broken:
        return [own_finding("unused-suppression", path, span, f"`{pragma.text}` is not understood: {pragma.broken}")]
    if pragma.codes is None:
        if pragma.noqa or (index, None) in used:
            return []
        return [_finding(f"`{pragma.text}` suppresses nothing", span, _without(pragma, (), text), path)]
    idle: list[str] = []
    reasons: list[str] = []
    for word in pragma.codes:
        rules = known.named(word)
        if (index, word) in used or (pragma.noqa and not (_CODE.match(word) if rules is None else rules or _CODE.match(word))):
            continue
        if rules is not None and not rules:
            names = [*(known.rules or {}), *(known.rules or {}).values()]
            reasons.append(f"no rule is called `{word}`{nearest(word, names)}")
        elif rules is None or any(code != "NAN900" and known.is_selected(code, name) for code, name in rules):
            reasons.append(f"`{word}` suppresses nothing here")
        else:
            continue
        idle.append(word)
    rest = tuple(w for w in pragma.codes if w not in idle)
    return [_finding("; ".join(reasons), span, _without(pragma, rest, text), path)] if idle else []


def _finding(message: str, span: Span, fix: Fix, path: str) -> Finding:
    return own_finding("unused-suppression", path, span, message).with_(fix=fix)


def _without(pragma: Pragma, rest: tuple[str, ...], text: str) -> Fix:
    """The edit that leaves `rest` of the suppression, or takes it out with the blanks before it."""
    line = split_lines(text)[pragma.line - 1]
    if rest:
        listed = re.sub(r"\[[^\]]*\]", f"[{', '.join(rest)}]", pragma.text) if not pragma.noqa else f"# noqa: {', '.join(rest)}"
        return Fix(
            "unsafe", "drop what suppresses nothing", (Edit(Span(pragma.line, pragma.column, pragma.line, pragma.end), listed),)
        )
    before, after = line[: pragma.column - 1], line[pragma.end - 1 :]
    if not before.strip() and not after.strip():
        span = Span(pragma.line, 1, pragma.line, len(line) + 1)
        return Fix("unsafe", "drop the suppression", (Edit(span, ""),))
    start = len(before.rstrip()) + 1 if not after.strip() else pragma.column
    return Fix("unsafe", "drop the suppression", (Edit(Span(pragma.line, start, pragma.line, pragma.end), ""),))
