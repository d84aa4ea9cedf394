"""Bytes to text and back: byte order marks, encoding cookies, line ends."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
NEWLINE = re.compile(r"\r\n|\r|\n")
WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, its line ends as they are, and what is needed to write it back byte for byte."""

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False

    @property
    def plain(self) -> str:
        """The text with every line end as \\n: the same lines and columns."""
        return NEWLINE.sub("\n", self.text) if "\r" in self.text else self.text

    def encode(self, text: str) -> bytes:
        """`text` as the bytes of this file; raises UnicodeEncodeError where the encoding cannot hold it."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


def read_source(data: bytes) -> Source:
    """The text of a Python file, as its byte order mark or PEP 263 cookie says; raises UnreadableFile."""
    if data.startswith(WIDE_MARKS):
        raise UnreadableFile("is UTF-16 or UTF-32, which Python does not read: save it as UTF-8")
    if (at := data.find(b"\0")) >= 0:
        raise UnreadableFile("holds a NUL byte, which Python refuses", data.count(b"\n", 0, at) + 1)
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _encoding(data)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        hint = (
            "save it as UTF-8, or name its encoding in the first line" if encoding == "utf-8" else "its encoding cookie is wrong"
        )
        raise UnreadableFile(f"is not {encoding} (byte {body[error.start]:#04x}): {hint}", line) from None
    except (LookupError, UnicodeError) as error:
        raise UnreadableFile(f"cannot be decoded as {encoding}: {error}") from None
    ends = Counter(NEWLINE.findall(text)) if "\r" in text else None
    return Source(text, encoding, ends.most_common(1)[0][0] if ends else "\n", bom)


def _encoding(data: bytes) -> str:
    if data.isascii() and b"coding" not in data[:400]:
        return "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise UnreadableFile(f"has an encoding cookie that cannot be followed: {error.msg}") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends, cut where Python cuts them (not at form feeds or U+2028)."""
    if "\r" not in text:
        lines = text.split("\n")
        return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return LINE.findall(text)


def apply_edits(text: str, edits: list[Edit], newline: str = "\n") -> str:
    """`text` after `edits`, which do not overlap; their line ends become `newline`."""
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    places = [(offset(e.span.line, e.span.column), offset(e.span.end_line, e.span.end_column), e.text) for e in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + NEWLINE.sub(newline, new) + text[end:]
    return text
