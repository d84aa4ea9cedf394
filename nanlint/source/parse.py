"""Text to `ast`, for syntax of any age, in a way that cannot take the process down."""

from __future__ import annotations

import ast
import itertools
import re
import warnings

from nanlint.core.errors import UnreadableFile
from nanlint.source.text import NEWLINE

DEEPEST = 150
MOST_OPERATORS = 1_500
LONGEST_CHAIN = 500
LARGEST_FOR_LIBCST = 1_000_000

# Words that begin a statement and cannot go on one: what lies between two of them holds whole logical lines.
_STATEMENT = re.compile(
    r"^[ \t\f]*(?:def|class|return|import|with|while|assert|raise|try|pass|break|continue|del|global|elif)\b", re.MULTILINE
)
_CHAIN = re.compile(r"^[ \t\f]*(def|class|elif)\b", re.MULTILINE)
_OPERATORS = "+-*/%@&|^~.([{=<>"
_NOT_OPERATORS = {i: None for i in range(128) if chr(i) not in _OPERATORS}
_WORDS = re.compile(r"\b(?:not|lambda|if|await)\b")
_STRING = r"""'{3}[\s\S]*?'{3}|"{3}[\s\S]*?"{3}|'(?:\\[\s\S]|[^'\\\r\n])*'|"(?:\\[\s\S]|[^"\\\r\n])*\""""
_TOKEN = re.compile(
    rf"""(?P<skip>\#[^\r\n]*|{_STRING}|\\\r?\n)|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<end>[\r\n;])|(?P<comma>,)"""
    r"""|(?P<op>[-+*/%@&|^~.=<>]|\b(?:not|lambda|if|await)\b)"""
)


def guard(text: str) -> None:
    """Raise UnreadableFile where brackets or operators nest so deep that a parser could crash."""
    starts = [0, *(found.start() for found in _STATEMENT.finditer(text)), len(text)]
    for first, last in itertools.pairwise(starts):
        if last - first <= DEEPEST:
            continue
        piece = text[first:last]
        marks = piece.translate(_NOT_OPERATORS)
        brackets = marks.count("(") + marks.count("[") + marks.count("{")
        if brackets > DEEPEST or len(marks) + len(_WORDS.findall(piece)) > MOST_OPERATORS:
            _guard_exactly(text)
            break
    run = 0
    for found in _CHAIN.finditer(text) if text.count("elif") > LONGEST_CHAIN else ():
        run = run + 1 if found[1] == "elif" else 0
        if run > LONGEST_CHAIN:
            raise _too_deep(text, found.start(), "elif arms follow each other")


def _guard_exactly(text: str) -> None:
    """Count what is open at each place: brackets, and operators since the last comma of each bracket."""
    open_: list[int] = [0]
    total = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "op" or kind == "open":
            open_[-1] += 1
            total += 1
            if kind == "open":
                open_.append(0)
        elif kind == "close" and len(open_) > 1:
            total -= open_.pop()
        elif kind == "comma" or (kind == "end" and len(open_) == 1):
            total -= open_[-1]
            open_[-1] = 0
        if len(open_) > DEEPEST:
            raise _too_deep(text, token.start(), "brackets nest")
        if total > MOST_OPERATORS:
            raise _too_deep(text, token.start(), "operators follow each other")


def _too_deep(text: str, at: int, what: str) -> UnreadableFile:
    line = len(NEWLINE.findall(text, 0, at)) + 1
    return UnreadableFile(f"is left out: {what} too deeply in one statement to be read safely", line, rule="skipped-file")


def parse(text: str) -> ast.Module:
    """The syntax tree of `text`, each node on its own line; newer syntax than this Python's is read through libcst.

    Raises UnreadableFile: a syntax error with its place, or nesting so deep that no parser may be let near it.
    """
    guard(text)
    try:
        return _parse(text)
    except SyntaxError as error:
        return _parse_newer(text, error)
    except (RecursionError, MemoryError):
        raise UnreadableFile("is left out: it nests too deeply to be read", rule="skipped-file") from None
    except ValueError as error:
        raise UnreadableFile(f"cannot be parsed: {error}") from None


def _parse_newer(text: str, error: SyntaxError) -> ast.Module:
    older = _older(text)
    try:
        if older is not None:
            return _parse(older)
    except SyntaxError as second:
        error = second
    raise UnreadableFile(f"syntax error: {error.msg}", error.lineno or 1, max(error.offset or 1, 1), "syntax-error") from None


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _older(text: str) -> str | None:
    if len(text) > LARGEST_FOR_LIBCST:
        return None
    from nanlint.source.modern import older_syntax

    return older_syntax(text)
