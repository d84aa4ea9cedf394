"""The lines of source around a finding, with carets under what it speaks of."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Span
from nanlint.source.text import read_source, split_lines

WIDEST = 160
MOST_LINES = 4


class Sources:
    """The lines of the files that findings speak of; `known` has those that are not on disk, or not yet."""

    def __init__(self, known: Mapping[str, bytes] | None = None, folder: Path | None = None) -> None:
        self._known = dict(known or {})
        self._folder = folder or Path.cwd()
        self._lines: dict[str, list[str]] = {}

    def lines(self, path: str) -> list[str]:
        """The lines of a file without their ends; none where it cannot be read."""
        if path not in self._lines:
            try:
                data = self._known[path] if path in self._known else (self._folder / path).read_bytes()
                self._lines[path] = [line.rstrip("\r\n") for line in split_lines(read_source(data).text)]
            except (OSError, UnreadableFile, ValueError):
                self._lines[path] = []
        return self._lines[path]


def printable(text: str) -> str:
    """`text` without control characters, so that a source file cannot drive the terminal; tabs are four blanks."""
    return "".join(c if c.isprintable() else "    " if c == "\t" else "?" for c in text)


def width(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def frame(lines: list[str], span: Span, before: list[int], message: str) -> list[tuple[str, str]]:
    """Pairs of (gutter, rest): the lines `before`, those of `span`, and carets with the message under the first of them."""
    if not 1 <= span.line <= len(lines):
        return [("", message)]
    last = min(span.end_line, span.line + MOST_LINES - 1, len(lines))
    digits = len(str(last))
    rows: list[tuple[str, str]] = []
    previous = 0
    for number in [*before, *range(span.line, last + 1)]:
        if previous and number > previous + 1:
            rows.append((" " * digits + " :", ""))
        rows.append((f"{number:>{digits}} |", _cut(lines[number - 1])))
        previous = number
        if number == span.line:
            rows.append((" " * digits + " |", _carets(lines[number - 1], span, message)))
    return rows


def _cut(line: str) -> str:
    text = printable(line)
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _carets(line: str, span: Span, message: str) -> str:
    end = span.end_column if span.end_line == span.line else len(line.rstrip()) + 1
    indent = width(printable(line[: span.column - 1]))
    length = max(width(printable(line[span.column - 1 : end - 1])), 1)
    if indent > WIDEST:
        return message
    return " " * indent + "^" * min(length, WIDEST - indent + 1) + " " + message
