"""Templates: expressions in canonical ops with $holes, parsed to trees, and built into value graphs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nanlint.core.errors import RuleFileError, nearest
from nanlint.ranges import ops as _rows  # noqa: F401  (fills the table)
from nanlint.ranges.table import TABLE, Op

PREFIX = "hole_"
SIZE = "size"  # a Python number: the length of one dim, or of all
OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
}
COMPARISONS: dict[type, str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


@dataclass(frozen=True, slots=True)
class Hole:
    """A place for any value."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python value: a number, a string, None, or a tuple of them."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """A canonical op on trees; `params` are static: Python values or holes."""

    op: str
    args: tuple[Tree, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """The view that is node `id` of the matched graph, of another value."""

    id: int
    inner: Tree


Tree = Hole | Literal | Call | View


@lru_cache(maxsize=1024)
def parse(text: str, where: str = "") -> Tree:
    """The tree of a template; `where` (file and key) begins every error."""
    source = re.sub(r"\$([A-Za-z_]\w*)", lambda m: PREFIX + m[1], text.strip())
    try:
        body = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise _error(where, text, f"this is no expression: {error.msg}") from error
    return _Reader(text, where).tree(body)


def _error(where: str, text: str, message: str) -> RuleFileError:
    return RuleFileError(f"{where}: `{text}`: {message}" if where else f"`{text}`: {message}")


@dataclass(frozen=True)
class _Reader:
    """Reads the parts of one template; a bare name is a free variable, as in `silent` lines."""

    text: str
    where: str

    def fail(self, message: str) -> RuleFileError:
        return _error(self.where, self.text, message)

    def tree(self, node: ast.expr) -> Tree:
        match node:
            case ast.Name(id=name):
                return Hole(name.removeprefix(PREFIX))
            case ast.Constant(value=value) if value is None or isinstance(value, (int, float, str)):
                return Literal(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, (int, float)):
                return Literal(-value)
            case ast.UnaryOp(op=ast.USub()):
                return Call("neg", (self.tree(node.operand),))
            case ast.UnaryOp(op=ast.Invert()):
                return Call("logical_not", (self.tree(node.operand),))
            case ast.BinOp() if type(node.op) in OPERATORS:
                return Call(OPERATORS[type(node.op)], (self.tree(node.left), self.tree(node.right)))
            case ast.Compare(ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                return Call(COMPARISONS[type(op)], (self.tree(node.left), self.tree(right)))
            case ast.Call():
                return self.call(node)
            case ast.IfExp(test=test, body=body, orelse=other):
                return Call("phi", (self.tree(test), self.tree(body), self.tree(other)))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return Call("tuple", tuple(map(self.tree, items)))
        raise self.fail(f"`{ast.unparse(node).replace(PREFIX, '$')}` is neither a hole, a number, an operator nor an op")

    def call(self, node: ast.Call) -> Tree:
        """An op with its operands and parameters, bound by the op's signature."""
        name = ast.unparse(node.func).replace(".", "_")
        if name == SIZE and len(node.args) == 1:
            return Call(SIZE, (self.tree(node.args[0]),), tuple((str(k.arg), self.static(k.value)) for k in node.keywords))
        row = self.row(name)
        if len(node.args) > len(row.names):
            raise self.fail(f"{row.name} takes {', '.join(row.names)}")
        given: dict[str, ast.expr] = dict(zip(row.names, node.args))
        for keyword in node.keywords:
            if keyword.arg not in row.names:
                raise self.fail(f"{row.name} has no parameter `{keyword.arg}`{nearest(str(keyword.arg), row.names)}")
            given[keyword.arg] = keyword.value
        operands = [self.tree(given[n]) if n in given else Literal(None) for n in row.names[: row.operands]]
        while operands and operands[-1] == Literal(None):
            operands.pop()
        params = {n: self.static(given[n]) for n in row.names[row.operands :] if n in given}
        return Call(row.name, tuple(operands), tuple(sorted(params.items())))

    def row(self, name: str) -> Op:
        if name not in TABLE:
            raise self.fail(f"`{name}` is no canonical op{nearest(name, TABLE)}")
        return TABLE[name]

    def static(self, node: ast.expr) -> Any:
        """A parameter: a hole or a Python literal."""
        if isinstance(node, ast.Name):
            return Hole(node.id.removeprefix(PREFIX))
        try:
            return ast.literal_eval(node)
        except ValueError as error:
            raise self.fail(f"`{ast.unparse(node).replace(PREFIX, '$')}` must be a hole or a literal") from error


def holes_of(tree: Tree) -> frozenset[str]:
    """The names of the holes in operands and parameters."""
    match tree:
        case Hole(name):
            return frozenset((name,))
        case Call(_, args, params):
            inner = [holes_of(a) for a in args] + [frozenset((v.name,)) for _, v in params if isinstance(v, Hole)]
            return frozenset[str]().union(*inner)
        case View(_, inner_tree):
            return holes_of(inner_tree)
    return frozenset()


@dataclass(frozen=True, slots=True)
class Term:
    """A node of a template's own graph, in the shape of `nanlint.graph.values.Node`."""

    id: int
    op: str
    args: tuple[int | None, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()
    dtype: str = "?"

    def param(self, name: str, default: Any = None) -> Any:
        """The static parameter `name`."""
        return dict(self.params).get(name, default)


@dataclass
class Terms:
    """A template as a graph of terms, equal subtrees being one term."""

    terms: list[Term] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)

    def __getitem__(self, id: int) -> Term:
        return self.terms[id]

    def add(self, op: str, args: tuple[int | None, ...] = (), params: Mapping[str, Any] | None = None, dtype: str = "?") -> int:
        items = tuple(sorted((params or {}).items()))
        key = (op, args, items)
        if key not in self.known:
            self.known[key] = len(self.terms)
            self.terms.append(Term(len(self.terms), op, args, items, dtype))
        return self.known[key]


def build(tree: Tree, graph: Any, leaves: Mapping[str, int] | None = None) -> int:
    """Add a tree to a graph (`Terms` or a `ValueGraph`); the id of its root. Holes not in `leaves` become `hole` nodes."""
    match tree:
        case Hole(name):
            return leaves[name] if leaves and name in leaves else int(graph.add("hole", (), {"name": name}))
        case Literal(value):
            return int(graph.add("const", (), {"value": value, "type": type(value).__name__}, dtype="number"))
        case Call(op, args, params):
            ids = tuple(None if a == Literal(None) else build(a, graph, leaves) for a in args)
            return int(graph.add(op, ids, dict(params)))
        case View():
            raise TypeError("a view of a matched graph has no place in a template")
