"""Bytes to text to tree: hostile files are named, never fatal, and newer syntax is read on any Python."""

from __future__ import annotations

import ast
import sys

import pytest

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Span
from nanlint.source.parse import parse
from nanlint.source.text import apply_edits, read_source, split_lines

READABLE = [  # name, bytes, text, encoding, newline
    ("empty", b"", "", "utf-8", "\n"),
    ("ascii", b"x = 1\n", "x = 1\n", "utf-8", "\n"),
    ("bom", b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8", "\n"),
    ("crlf", b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", "utf-8", "\r\n"),
    ("cr", b"x = 1\ry = 2\r", "x = 1\ry = 2\r", "utf-8", "\r"),
    ("form feed", b"\x0cx = 1\n\x0c\n", "\x0cx = 1\n\x0c\n", "utf-8", "\n"),
    ("utf-8", "x = 'é😀'\n".encode(), "x = 'é😀'\n", "utf-8", "\n"),
    ("latin-1", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "iso-8859-1", "\n"),
    ("cookie in the second line", b"#!/x\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n", None, "cp1252", "\n"),
    ("no line end", b"x = 1", "x = 1", "utf-8", "\n"),
]


@pytest.mark.parametrize(("data", "text", "encoding", "newline"), [r[1:] for r in READABLE], ids=[r[0] for r in READABLE])
def test_readable(data: bytes, text: str | None, encoding: str, newline: str) -> None:
    source = read_source(data)
    assert text is None or source.text == text
    assert (source.encoding, source.newline) == (encoding, newline)
    assert source.encode(source.text) == data
    parse(source.text)


UNREADABLE = [  # name, bytes, line, words
    ("latin-1 without a cookie", b"x = 1\n# \xe9\n", 2, "is not utf-8 (byte 0xe9)"),
    ("nul", b"x = 1\n\0\n", 2, "NUL"),
    ("utf-16", "x = 1\n".encode("utf-16"), 1, "UTF-16"),
    ("utf-16 without a mark", "x = 1\n".encode("utf-16-le"), 1, "NUL"),
    ("unknown cookie", b"# coding: klingon\n", 1, "encoding cookie"),
    ("cookie of no text encoding", b"# coding: rot13\nx = 1\n", 1, "cannot be decoded"),
    ("wrong cookie", b"# coding: ascii\nx = '\xe9'\n", 2, "cookie is wrong"),
    ("mark against cookie", b"\xef\xbb\xbf# coding: latin-1\n", 1, "encoding cookie"),
]


@pytest.mark.parametrize(("data", "line", "said"), [r[1:] for r in UNREADABLE], ids=[r[0] for r in UNREADABLE])
def test_unreadable(data: bytes, line: int, said: str) -> None:
    with pytest.raises(UnreadableFile) as error:
        parse(read_source(data).text)
    assert said in str(error.value) and error.value.line == line and error.value.rule == "unreadable-file"


DEEP = {
    "parentheses": "x = " + "(" * 3000 + ")" * 3000,
    "parentheses over lines": "x = " + "(\n" * 3000 + ")\n" * 3000,
    "sums": "x = a" + " + a" * 20000,
    "sums over lines": "x = (a\n" + "    + a\n" * 20000 + ")",
    "sums in a call": "f(1, [2, a" + " + a" * 20000 + "])",
    "signs": "x = " + "-" * 20000 + "a",
    "not": "x = " + "not " * 20000 + "a",
    "attributes": "a" + ".b" * 20000,
    "indices": "a" + "[0]" * 20000,
    "calls": "a" + "()" * 20000,
    "powers": "a" + "**a" * 20000,
    "lambdas": "x = " + "lambda: " * 3000 + "0",
    "conditionals": "x = " + "a if b else " * 5000 + "0",
    "elif": "if a: pass\n" + "elif b: pass\n" * 5000,
    "brackets behind newer syntax": "type X = int\nx = " + "(" * 3000 + ")" * 3000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_files_are_left_out(text: str) -> None:
    with pytest.raises(UnreadableFile) as error:
        parse(text)
    assert error.value.rule == "skipped-file" and "left out" in str(error.value)


WIDE = {
    "a table of numbers": "x = [" + "-1.5e-3, " * 20000 + "]",
    "a dictionary of calls": "x = {" + "'a': f(a.b, c=-1, d=(1, 2)),\n" * 2000 + "}",
    "many statements": "x = a.b + c.d * (e - f[0])\n" * 3000,
    "many statements on a line": "x = a.b + c; " * 3000,
    "brackets in strings": "x = [" + "'((((', " * 500 + "]\ny = '''" + "(" * 500 + "'''\n# " + "(" * 500 + "\n",
    "comparisons in functions": "def f(a):\n    if a == 1: return 2\n    elif a == 2: return 3\n\n" * 1000,
}


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_wide_files_are_read(text: str) -> None:
    parse(text)


SYNTAX_ERRORS = [
    ("x = (\n", 1),
    ("def f(:\n  pass\n", 1),
    ("if a:\n    b\n  c\n", 3),
    ("f() = 1\n", 1),
    ("x = 1\nprint 'a'\n", 2),
    ("x = '\n", 1),
]


@pytest.mark.parametrize(("text", "line"), SYNTAX_ERRORS, ids=[e[0] for e in SYNTAX_ERRORS])
def test_syntax_errors_have_a_place(text: str, line: int) -> None:
    with pytest.raises(UnreadableFile) as error:
        parse(text)
    assert error.value.rule == "syntax-error" and error.value.line == line and error.value.column >= 1


NEWER = {
    "PEP 695 functions": "def f[T: int, *Ts, **P](x: T) -> T:\n    return x\nmark = 1\n",
    "PEP 695 over lines": "class A[\n    T,  # why\n    U,\n](B):\n    x: T\nmark = 1\n",
    "PEP 695 aliases": "type X[T] = list[T]\ntype Y = (\n    int\n)\nmark = 1\n",
    "PEP 696": "class A[T = int]: pass\nmark = 1\n",
    "PEP 701": "x = f\"{a[\"b\"]} {'\\n'.join(c)}\" + f'{\n    a\n}'\nmark = 1\n",
    "PEP 701 beside a string": 'x = ("s" f"{a["b"]}")\nmark = 1\n',
    "PEP 701 triple": 'x = f"""\n{a["""b"""]}\n"""\nmark = 1\n',
    "PEP 750": 'x = t"hello {a} "\ny = rt"""\n{b}\n"""\nmark = 1\n',
    "PEP 758": "try:\n    pass\nexcept A, B:\n    pass\nexcept (C, D):\n    pass\nmark = 1\n",
    "PEP 758 tight": "try:\n    pass\nexcept A,B: pass\nmark = 1\n",
    "PEP 654": "try:\n    pass\nexcept* A:\n    pass\nmark = 1\n",
    "PEP 646": "def f(*args: *Ts): pass\nx[*a]\nmark = 1\n",
    "all with CRLF": 'type X = int\r\ntry:\r\n    f"{a["b"]}"\r\nexcept A, B:\r\n    pass\r\nmark = 1\r\n',
    "after a wide character": 'x = \'😀\'; y = f"{a["b"]}"; z = torch.log(1)\nmark = 1\n',
}


@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_newer_syntax_keeps_its_lines(text: str) -> None:
    tree = parse(text)
    mark = tree.body[-1]
    assert isinstance(mark, ast.Assign) and mark.lineno == len(split_lines(text))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it itself")
def test_newer_syntax_keeps_its_columns() -> None:
    call = [n for n in ast.walk(parse(NEWER["after a wide character"])) if isinstance(n, ast.Call)][-1]
    assert ast.unparse(call) == "torch.log(1)"
    line = NEWER["after a wide character"].split("\n")[0]
    assert line.encode()[call.col_offset : call.end_col_offset] == b"torch.log(1)"


def test_reading_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    parse("x = '\\d'\nassert (1, 'x')\ny = 1if 2else 3\n")
    assert not recwarn.list


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_edits_touch_nothing_else(newline: str) -> None:
    lines = ["# 😀 é\x0c", "a = log(x)  # \u2028 kept", "", "b = log(y)"]
    text = newline.join(lines)
    edits = [Edit(Span(2, 5, 2, 11), "f(\n    x)"), Edit(Span(1, 1, 1, 1), "import m\n"), Edit(Span(4, 5, 4, 11), "g(y)")]
    expected = ["import m", "# 😀 é\x0c", "a = f(", "    x)  # \u2028 kept", "", "b = g(y)"]
    assert apply_edits(text, edits, newline) == newline.join(expected)
