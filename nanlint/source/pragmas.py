"""Comments addressed to nanlint: suppressions, `noqa`, and the ranges that `# nanlint: 0 < sigma <= 10` states."""

import ast
import io
import math
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nanlint.source.text import split_lines

Scope = Literal["line", "next", "file"]
Bound = tuple[str, float, float, bool, bool]

_PRAGMA = re.compile(r"#\s*nanlint\s*:\s*([^#]*)")
_IGNORE = re.compile(r"(file-ignore|ignore)\b\s*(?:\[([^\]]*)\])?\s*(?:--.*)?$", re.DOTALL)
_NOQA = re.compile(r"#\s*noqa\b(?:(\s*:\s*)([A-Za-z][\w-]*(?:[\s,]+[A-Za-z]+[0-9]+\b)*))?", re.IGNORECASE)
_LINE_COMMENT = re.compile(r"#.*")


@dataclass(frozen=True, slots=True)
class Pragma:
    """A suppression: where its comment is, which lines it speaks of, and the codes or names it lists (None: all).

    `target` is the line of code it belongs to; `own_line` whether nothing but the comment is on its line; `noqa` whether it
    is spelled so; `column` and `end` are where it stands in the line, in code points from 1; `broken` says what is wrong with it.
    """

    line: int
    column: int
    end: int
    scope: Scope
    codes: tuple[str, ...] | None
    target: int
    own_line: bool
    noqa: bool = False
    broken: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: where it is, what it says, whether it is alone on its line, the line of code that follows or holds it."""

    line: int
    column: int
    text: str
    own_line: bool
    target: int


def comments(text: str) -> Iterator[Comment]:
    """Every comment of `text`; where it cannot be cut into tokens, what looks like one and speaks of nanlint."""
    lines = split_lines(text)
    try:
        found = [
            (t.start, t.string)
            for t in tokenize.generate_tokens(io.StringIO("".join(_plain(lines))).readline)
            if t.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, SyntaxError, ValueError):
        found = [
            ((n, m.start()), m[0].rstrip())
            for n, line in enumerate(lines, 1)
            if (m := _LINE_COMMENT.search(line)) and is_addressed(m[0])
        ]
    for (line, column), string in found:
        own_line = not lines[line - 1][:column].strip()
        yield Comment(line, column + 1, string, own_line, _next_code(lines, line) if own_line else line)


def is_addressed(text: str) -> bool:
    """Whether `text` may hold a comment for nanlint: a cheap look before tokens are cut."""
    return "nanlint" in text or "noqa" in text.lower()


def _plain(lines: list[str]) -> Iterator[str]:
    for line in lines:
        bare = line.rstrip("\r\n")
        yield bare if bare == line else bare + "\n"


def _next_code(lines: list[str], line: int) -> int:
    for number in range(line + 1, len(lines) + 1):
        if (stripped := lines[number - 1].strip()) and not stripped.startswith("#"):
            return number
    return line


def pragmas(text: str) -> list[Pragma]:
    """The suppressions of a file, in order."""
    if not is_addressed(text):
        return []
    return [p for comment in comments(text) for p in _read(comment)]


def _read(comment: Comment) -> Iterator[Pragma]:
    for match in _PRAGMA.finditer(comment.text):
        body = match[1].strip()
        place = (comment.line, comment.column + match.start(), comment.column + match.start() + len(match[0].rstrip()))
        ignore = _IGNORE.match(body)
        if ignore is None:
            if not bounds(body):
                yield Pragma(*place, "line", (), comment.target, comment.own_line, broken=_why(body), text=match[0].rstrip())
            continue
        scope: Scope = "file" if ignore[1] == "file-ignore" else "next" if comment.own_line else "line"
        codes = None if ignore[2] is None else tuple(filter(None, re.split(r"[\s,]+", ignore[2])))
        broken = "it names no rule" if codes == () else ""
        yield Pragma(*place, scope, codes, comment.target, comment.own_line, broken=broken, text=match[0].rstrip())
    for match in _NOQA.finditer(comment.text):
        codes = None if match[1] is None else tuple(filter(None, re.split(r"[\s,]+", match[2])))
        place = (comment.line, comment.column + match.start(), comment.column + match.end())
        yield Pragma(*place, "line", codes, comment.line, comment.own_line, noqa=True, text=match[0])


def _why(body: str) -> str:
    return (
        "it is neither `ignore[...]`, `file-ignore[...]` nor a range such as `0 < sigma <= 10`"
        if body
        else "it says nothing: write `ignore[...]`, `file-ignore[...]` or a range such as `0 < sigma <= 10`"
    )


def annotations(text: str) -> dict[int, list[Bound]]:
    """The stated ranges by the line of code they belong to (a comment alone on its line belongs to the code below it).

    Each is (name, low, high, low_is_open, high_is_open); the name may be dotted (`self.eps`).
    """
    found: dict[int, list[Bound]] = {}
    if "nanlint" not in text:
        return found
    for comment in comments(text):
        for match in _PRAGMA.finditer(comment.text):
            if stated := bounds(match[1].strip()):
                found.setdefault(comment.target, []).extend(stated)
    return found


def bounds(body: str) -> list[Bound]:
    """The ranges that `body` states (`0 < sigma <= 10, x >= 0`), or nothing where it states none or is not understood."""
    body = body.split(" -- ")[0].strip()
    if not re.search(r"[<>=]", body) or len(body) > 400:
        return []
    try:
        tree = ast.parse(f"({body},)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    parts = tree.elts if isinstance(tree, ast.Tuple) else []
    flat = [v for p in parts for v in (p.values if isinstance(p, ast.BoolOp) and isinstance(p.op, ast.And) else [p])]
    stated = [_bound(p) for p in flat]
    return [b for b in stated if b is not None] if all(stated) else []


def _bound(node: ast.expr) -> Bound | None:
    if not isinstance(node, ast.Compare):
        return None
    terms = [node.left, *node.comparators]
    names = [i for i, t in enumerate(terms) if _number(t) is None]
    if len(names) != 1 or (name := _dotted(terms[names[0]])) is None:
        return None
    low, high, low_open, high_open = -math.inf, math.inf, False, False
    for i, op in enumerate(node.ops):
        left, right = terms[i], terms[i + 1]
        kind = type(op)
        if names[0] == i:  # name OP number: the same as number OP' name
            left, right, kind = right, left, {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}.get(kind, kind)
        elif names[0] != i + 1:
            return None
        value = _number(left)
        if value is None or kind not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq):
            return None
        if kind in (ast.Lt, ast.LtE, ast.Eq):
            low, low_open = value, kind is ast.Lt
        if kind in (ast.Gt, ast.GtE, ast.Eq):
            high, high_open = value, kind is ast.Gt
    return (name, low, high, low_open, high_open) if low <= high else None


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and (value := _number(node.operand)) is not None:
        return -value
    if isinstance(node, ast.Name) and node.id in ("inf", "pi"):
        return math.inf if node.id == "inf" else math.pi
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.Pow)):
        return _product(node)
    return None


def _product(node: ast.BinOp) -> float | None:
    a, b = _number(node.left), _number(node.right)
    if a is None or b is None:
        return None
    try:
        value = a * b if isinstance(node.op, ast.Mult) else a / b if isinstance(node.op, ast.Div) else a**b
    except (OverflowError, ZeroDivisionError):
        return None
    return value if isinstance(value, float) else None


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value)) is not None:
        return f"{base}.{node.attr}"
    return None
