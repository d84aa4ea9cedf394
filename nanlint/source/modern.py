"""Syntax newer than this Python, spelled in older words on the same lines and, nearly always, in the same columns."""

from __future__ import annotations

import re

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Span
from nanlint.source.text import apply_edits

STRINGS = (cst.FormattedString, *((cst.TemplatedString,) if hasattr(cst, "TemplatedString") else ()))
_NOT_NEWLINE = re.compile(r"[^\r\n]")


def older_syntax(text: str) -> str | None:
    """`text` without type parameters, f-strings, `type` statements and bare `except A, B`; None where libcst fails as well."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text.encode("utf-8")), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
        visitor = _Newer(dict(positions), text)
        wrapper.module.visit(visitor)
    except (cst.ParserSyntaxError, cst.CSTValidationError, UnicodeError):
        return None
    except (RecursionError, MemoryError):
        raise UnreadableFile(
            "is left out: it nests too deeply for a file in newer syntax than this Python's", rule="skipped-file"
        ) from None
    return apply_edits(text, visitor.edits)


class _Newer(cst.CSTVisitor):
    """Collects the edits; positions are taken from the whole-file parse."""

    def __init__(self, positions: dict[cst.CSTNode, CodeRange], text: str) -> None:
        super().__init__()
        self.positions = positions
        self.text = text
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self.edits: list[Edit] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._blank(node.type_parameters)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._blank(node.type_parameters)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        span = self._span(node)
        self._replace(span, "(" + _NOT_NEWLINE.sub(" ", self._old(span)[1:-1]) + ")")
        return False

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        if isinstance(node.type, cst.Tuple) and not node.type.lpar:
            span = self._span(node.type)
            before = Span(span.line, span.column - 1, span.line, span.column)
            self._replace(before, "(" if self._old(before) == " " else self._old(before) + "(")
            self._replace(Span(span.end_line, span.end_column, span.end_line, span.end_column), ")")

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        self._unstar(self._span(node))

    def visit_Index(self, node: cst.Index) -> None:
        if node.star:
            self._unstar(self._span(node))

    def visit_Annotation(self, node: cst.Annotation) -> None:
        if isinstance(node.annotation, cst.StarredElement):
            self._unstar(self._span(node.annotation))

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self._plain(node)

    def visit_TemplatedString(self, node: cst.CSTNode) -> bool:
        return self._plain(node)

    def _plain(self, node: cst.CSTNode) -> bool:
        """The string without what it interpolates; in brackets where it has several lines."""
        span = self._span(node)
        inner = _NOT_NEWLINE.sub(" ", self._old(span)[1:-1])
        several = span.line != span.end_line
        self._replace(span, "(''" + inner[2:] + ")" if several else "'" + inner + "'")
        return False

    def _blank(self, node: cst.CSTNode | None) -> None:
        if node is not None:
            span = self._span(node)
            self._replace(span, re.sub(r" ?(\r\n|\r|\n)", r"\\\1", _NOT_NEWLINE.sub(" ", self._old(span))))

    def _unstar(self, span: Span) -> None:
        """Blank the first star of a stretch."""
        line, column = span.line, span.column + self._old(span).index("*")
        self._replace(Span(line, column, line, column + 1), " ")

    def _span(self, node: cst.CSTNode) -> Span:
        found = self.positions[node]
        return Span(found.start.line, found.start.column + 1, found.end.line, found.end.column + 1)

    def _old(self, span: Span) -> str:
        lines = self.lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "".join(lines)

    def _replace(self, span: Span, new: str) -> None:
        self.edits.append(Edit(span, new))
