"""Fixing: a fixed point is reached, fixes that overlap wait, and every byte that no edit touches stays."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanlint.core.finding import Edit, Finding, Fix, Report, Span
from nanlint.fixing import diff, fix, write
from nanlint.source.discovery import SourceFile
from nanlint.source.text import read_source, split_lines

Rule = Callable[[str], list[tuple[str, int, int, str]]]  # line -> (code, start, end, new text)
NEEDS_IMPORT = "from m import new\n"


def checker(
    *rules: tuple[str, str, str], applicability: str = "safe", needs_import: bool = False
) -> Callable[[list[SourceFile]], Report]:
    """A check whose rules are (code, regular expression, replacement)."""

    def check(files: list[SourceFile]) -> Report:
        findings = []
        for file in files:
            text = read_source(file.read()).text
            for n, line in enumerate(split_lines(text), 1):
                for code, pattern, new in rules:
                    for m in re.finditer(pattern, line):
                        span = Span(n, m.start() + 1, n, m.end() + 1)
                        edits = [Edit(span, m.expand(new))]
                        if needs_import and NEEDS_IMPORT.strip() not in text:
                            edits.append(Edit(Span(1, 1, 1, 1), NEEDS_IMPORT))
                        fixed = Fix(applicability, "title", tuple(edits))  # type: ignore[arg-type]
                        findings.append(Finding(code, code, "other", "words", "confirmed", file.display, span, fix=fixed))
        return Report(tuple(findings))

    return check


def fixed(data: bytes, *rules: tuple[str, str, str], unsafe: bool = False, **options: object) -> bytes:
    result = fix([SourceFile(Path("x.py"), "x.py", data)], checker(*rules, **options), unsafe=unsafe)  # type: ignore[arg-type]
    return result.changed.get("x.py", data)


def test_nothing_to_fix() -> None:
    assert fixed(b"x = 1\r\n", ("A", "old", "new")) == b"x = 1\r\n"


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"a = old; b = old\n", b"a = new; b = new\n"),
        (b"\xef\xbb\xbfa = old  \r\n\x0c\r\nb = 1", b"\xef\xbb\xbfa = new  \r\n\x0c\r\nb = 1"),
        (b"a = old\r\nb = 1\nc = old\r\n", b"a = new\r\nb = 1\nc = new\r\n"),
        (b"# coding: latin-1\nx = '\xe9'; a = old\n", b"# coding: latin-1\nx = '\xe9'; a = new\n"),
        ("x = '😀\u2028é'; a = old\n".encode(), "x = '😀\u2028é'; a = new\n".encode()),
    ],
)
def test_bytes_stay(data: bytes, after: bytes) -> None:
    assert fixed(data, ("A", r"\bold\b", "new")) == after


def test_unsafe_and_displayed_fixes() -> None:
    assert fixed(b"a = old\n", ("A", "old", "new"), applicability="unsafe") == b"a = old\n"
    assert fixed(b"a = old\n", ("A", "old", "new"), applicability="unsafe", unsafe=True) == b"a = new\n"
    assert fixed(b"a = old\n", ("A", "old", "new"), applicability="display", unsafe=True) == b"a = old\n"


def test_overlapping_fixes_take_turns() -> None:
    assert fixed(b"a = f(f(f(x)))\n", ("A", r"f\((?=[fx])(.*)\)(?=\)*$)", r"g(\1)")) == b"a = g(g(g(x)))\n"


def test_an_import_that_two_fixes_need_comes_once() -> None:
    assert (
        fixed(b"a = old\r\nb = old\r\n", ("A", r"\bold\b", "new"), needs_import=True)
        == b"from m import new\r\na = new\r\nb = new\r\n"
    )


def test_a_fix_that_does_not_help_is_applied_once() -> None:
    assert fixed(b"a = x\n", ("A", r"x", r"x + 1")) == b"a = x + 1\n"


def test_fixes_that_undo_each_other_end() -> None:
    assert fixed(b"a = one\n", ("A", "one", "two"), ("B", "two", "one")) in (b"a = one\n", b"a = two\n")


def test_a_fix_that_spoils_the_file_is_left_out() -> None:
    rules = ("A", r"\bbad\b", "(("), ("B", r"\bold\b", "new")
    assert fixed(b"a = bad\nb = old\n", *rules) == b"a = bad\nb = new\n"


def test_text_that_the_encoding_cannot_hold_is_left_out() -> None:
    data = b"# coding: latin-1\na = old\nb = bad\n"
    assert fixed(data, ("A", r"\bold\b", "new"), ("B", r"\bbad\b", "'😀'")) == data.replace(b"old", b"new")


def test_files_that_cannot_be_read_stay() -> None:
    def check(files: list[SourceFile]) -> Report:
        span = Span(1, 1, 1, 2)
        return Report((Finding("A", "a", "other", "", "confirmed", "x.py", span, fix=Fix("safe", "", (Edit(span, "y"),))),))

    assert not fix([SourceFile(Path("x.py"), "x.py", b"x\0")], check).changed
    assert not fix([SourceFile(Path("gone.py"), "x.py")], check).changed


def test_the_report_is_that_of_the_fixed_files() -> None:
    files = [SourceFile(Path(n), n, t) for n, t in (("a.py", b"a = old\n"), ("b.py", b"b = bad\n"))]
    result = fix(files, checker(("A", r"\bold\b", "new"), ("B", r"\bbad\b", "((")))
    assert (
        [f.path for f in result.report.findings] == ["b.py"]
        and result.applied == {("A", "A"): 1}
        and set(result.changed) == {"a.py"}
    )


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links")
def test_writing_keeps_mode_and_link(tmp_path: Path) -> None:
    file, link = tmp_path / "x.py", tmp_path / "link.py"
    file.write_bytes(b"old")
    file.chmod(0o751)
    link.symlink_to(file)
    write(link, b"new\r\n")
    assert file.read_bytes() == b"new\r\n" and link.is_symlink() and file.stat().st_mode & 0o777 == 0o751
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "x.py"]


def test_diff() -> None:
    assert (
        diff("x.py", b"a\nb\n", b"a\nc") == "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
    )
