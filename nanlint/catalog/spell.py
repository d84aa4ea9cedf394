"""The Python source of a fix: canonical ops spelled through the file's own imports, with no more parentheses than needed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nanlint.catalog.template import SIZE, Call, Hole, Literal, Tree, View
from nanlint.ranges.table import TABLE

ViewText = Callable[[int, str], "str | None"]
ATOM, POWER, UNARY, TIMES, PLUS, COMPARE, LOOSE = 20, 16, 14, 13, 12, 8, 0
INFIX: dict[str, tuple[str, int, int, int]] = {
    "add": (" + ", PLUS, PLUS, PLUS),
    "sub": (" - ", PLUS, PLUS, TIMES),
    "mul": (" * ", TIMES, TIMES, TIMES + 1),
    "div": (" / ", TIMES, TIMES, TIMES + 1),
    "matmul": (" @ ", TIMES, TIMES, TIMES + 1),
    "pow": (" ** ", POWER, ATOM, UNARY),
    **{
        op: (f" {sign} ", COMPARE, COMPARE + 1, COMPARE + 1)
        for op, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
    },
    **{op: (f" {sign} ", COMPARE, COMPARE + 1, COMPARE + 1) for op, sign in (("eq", "=="), ("ne", "!="))},
}
PREFIXED = {"neg": "-", "logical_not": "~"}
METHODS = frozenset(
    ("clamp_min", "clamp_max", "clamp", "flatten", "unsqueeze", "squeeze", "reshape", "view_as", "reshape_as", "expand_as")
    + ("masked_fill", "sum", "mean", "amax", "std", "var", "norm", "abs", "square", "diagonal", "any", "all", "detach")
)
RENAMED = {"clamp_min": ("clamp", "min"), "clamp_max": ("clamp", "max")}
NUMBERS = {"clamp_min": "max", "maximum": "max", "clamp_max": "min", "minimum": "min", "abs": "abs"}
MATHS = frozenset(
    (
        "exp",
        "log",
        "log1p",
        "expm1",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "tanh",
        "atan2",
        "hypot",
        "log2",
        "log10",
        "lgamma",
        "acos",
        "asin",
    )
    + ("atan", "sinh", "cosh")
)
STARTS: dict[type, int] = {
    ast.Add: PLUS,
    ast.Sub: PLUS,
    ast.Mult: TIMES,
    ast.Div: TIMES,
    ast.FloorDiv: TIMES,
    ast.Mod: TIMES,
    ast.MatMult: TIMES,
    ast.Pow: POWER,
}
ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr)


class CannotSpell(Exception):
    """The fix has no source text here; nothing is offered."""


@dataclass
class Namer:
    """How one file names torch: fully qualified names to local ones; `wanted` collects the imports that a fix needs."""

    local: Mapping[str, str] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)

    @staticmethod
    def of(imports: Mapping[str, str]) -> Namer:
        """From the names that a file binds by its imports, such as {"F": "torch.nn.functional", "torch": "torch"}."""
        local: dict[str, str] = {}
        for name, dotted in imports.items():
            local.setdefault(dotted, name)
        return Namer(local)

    def __call__(self, dotted: str) -> str:
        """The shortest spelling of a fully qualified name; where even its root is not imported, that import is wanted."""
        head, tail = dotted, ""
        while head:
            if head in self.local:
                return self.local[head] + tail
            head, dot, last = head.rpartition(".")
            tail = dot + last + tail
        root = dotted.split(".")[0]
        if f"import {root}" not in self.wanted:
            self.wanted.append(f"import {root}")
        return dotted


def spell(
    tree: Tree,
    holes: Mapping[str, str],
    names: Namer,
    view: ViewText | None = None,
    numbers: frozenset[str] = frozenset(),
) -> str:
    """The source of `tree`, its holes filled with source text; `numbers` are the holes that hold Python numbers.

    `view(id, inner)` gives the source of a view of the matched graph put around `inner`. Raises CannotSpell.
    """
    return _Speller(holes, names, view, numbers).text(tree)[0]


def binding(text: str) -> int:
    """How tightly source text holds together: what must be wrapped, and where."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return LOOSE
    if isinstance(node, ast.BinOp):
        return STARTS.get(type(node.op), 9)
    if isinstance(node, ast.UnaryOp):
        return COMPARE - 2 if isinstance(node.op, ast.Not) else UNARY
    if isinstance(node, ast.Constant):
        return ATOM if not isinstance(node.value, (int, float, complex)) else ATOM - 1
    if isinstance(node, ast.Compare):
        return COMPARE
    return ATOM if isinstance(node, ATOMS) or text.strip().startswith(("(", "[")) and not isinstance(node, LOOSE_NODES) else LOOSE


LOOSE_NODES = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Await, ast.Starred)


@dataclass(frozen=True)
class _Speller:
    holes: Mapping[str, str]
    names: Namer
    view: ViewText | None
    numbers: frozenset[str]

    def text(self, tree: Tree) -> tuple[str, int]:
        """The source of a tree and how tightly it holds together."""
        match tree:
            case Hole(name):
                if name not in self.holes:
                    raise CannotSpell(f"nothing is known of ${name}")
                source = self.holes[name].strip()
                return source, binding(source)
            case Literal(value):
                source = self.literal(value)
                return source, binding(source)
            case View(id, inner):
                source_or_none = self.view(id, self.wrapped(inner, ATOM)) if self.view else None
                if source_or_none is None:
                    raise CannotSpell("a view in between cannot be written again")
                return source_or_none, binding(source_or_none)
        assert isinstance(tree, Call)
        return self.call(tree)

    def wrapped(self, tree: Tree, least: int) -> str:
        """The source, in parentheses if it holds together less than `least`."""
        source, tight = self.text(tree)
        return source if tight >= least else f"({source})"

    def argument(self, tree: Tree) -> str:
        """The source as an argument of a call."""
        source, _ = self.text(tree)
        try:
            ast.parse(f"f({source}, 0)", mode="eval")
            ast.parse(f"f(x={source})", mode="eval")
        except SyntaxError:
            return f"({source})"
        return source

    def call(self, tree: Call) -> tuple[str, int]:
        if tree.op in INFIX and not tree.params and len(tree.args) == 2:
            sign, own, left, right = INFIX[tree.op]
            if tree.op == "add" and isinstance(tree.args[1], Call) and tree.args[1].op == "neg":
                return self.call(Call("sub", (tree.args[0], tree.args[1].args[0])))
            return self.wrapped(tree.args[0], left) + sign + self.wrapped(tree.args[1], right), own
        if tree.op in PREFIXED and not tree.params:
            source, tight = self.text(tree.args[0])
            if tree.op == "neg" and source.startswith("-") and tight in (UNARY, TIMES) and binding(source[1:]) >= tight:
                return source[1:].strip(), binding(source[1:])
            return PREFIXED[tree.op] + (source if tight >= UNARY else f"({source})"), UNARY
        if tree.op == SIZE:
            dim = dict(tree.params).get("dim")
            owner = self.wrapped(tree.args[0], ATOM)
            return f"{owner}.numel()" if dim is None else f"{owner}.size({self.literal(dim)})", ATOM
        if tree.op == "phi":
            test, body, other = (self.text(a)[0] for a in tree.args)
            return f"{body} if {test} else {other}", LOOSE
        if tree.args and self.is_number(tree):
            return self.of_numbers(tree), ATOM
        if tree.op == "cast":
            return self.cast(tree), ATOM
        if tree.op == "tuple":
            items = ", ".join(map(self.argument, tree.args))
            return f"({items},)" if len(tree.args) == 1 else f"({items})", ATOM
        call = TABLE[tree.op].call or f"torch.{tree.op}"
        first = tree.args[0] if tree.args else None
        if first is not None and (tree.op in METHODS or call.startswith("torch.Tensor.")) and not isinstance(first, Literal):
            return self.method(tree, first), ATOM
        if not call.startswith("torch."):
            call = f"torch.{tree.op}"
        return f"{self.names(call)}({', '.join(self.arguments(tree, tree.args))})", ATOM

    def is_number(self, tree: Tree) -> bool:
        """Every operand is a Python number, or the size of a tensor."""
        if isinstance(tree, Call) and tree.op != SIZE:
            operands = [a for a in tree.args if not isinstance(a, Literal)]
            return bool(operands) and all(map(self.is_number, operands))
        return isinstance(tree, Call) or (isinstance(tree, Hole) and tree.name in self.numbers)

    def of_numbers(self, tree: Call) -> str:
        """An op on Python numbers."""
        arguments = ", ".join(map(self.argument, tree.args))
        if tree.params or not (tree.op in NUMBERS or tree.op in MATHS):
            raise CannotSpell(f"{tree.op} has no counterpart for Python numbers")
        name = NUMBERS[tree.op] if tree.op in NUMBERS else self.names(f"math.{tree.op}")
        return f"{name}({arguments})"

    def cast(self, tree: Call) -> str:
        dtype = dict(tree.params).get("dtype", "float32")
        owner = self.wrapped(tree.args[0], ATOM)
        if isinstance(dtype, Hole):
            return f"{owner}.to({self.wrapped(dtype, ATOM)}.dtype)"
        short = {"float32": "float", "float64": "double"}.get(dtype)
        return f"{owner}.{short}()" if short else f"{owner}.to({self.names('torch.' + dtype)})"

    def method(self, tree: Call, owner: Tree) -> str:
        name, keyword = RENAMED.get(tree.op, (tree.op, ""))
        arguments = self.arguments(tree, tree.args[1:])
        if keyword:
            arguments = [f"{keyword}={arguments[0]}"]
        elif name == "clamp":
            given = zip(("min", "max"), tree.args[1:])
            arguments = [f"{n}={self.argument(a)}" for n, a in given if a != Literal(None)]
        return f"{self.wrapped(owner, ATOM)}.{name}({', '.join(arguments)})"

    def arguments(self, tree: Call, operands: tuple[Tree, ...]) -> list[str]:
        row = TABLE[tree.op]
        places = {n: i for i, n in enumerate(row.names)}
        named = [self.named(n, v) for n, v in sorted(tree.params, key=lambda p: places.get(p[0], 99))]
        return [*map(self.argument, operands), *named]

    def named(self, name: str, value: Any) -> str:
        """A parameter by its name; one that torch takes by place only, without it."""
        if name == "dtype" and isinstance(value, str):
            return f"dtype={self.names('torch.' + value)}"
        return self.literal(value) if name in ("other", "sizes") else f"{name}={self.literal(value)}"

    def literal(self, value: Any) -> str:
        """A parameter value as source."""
        if isinstance(value, Hole):
            return self.argument(value)
        if isinstance(value, tuple):
            items = ", ".join(map(self.literal, value))
            return f"({items},)" if len(value) == 1 else f"({items})"
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, float):
            mantissa, e, exponent = repr(value).partition("e")
            return f"{mantissa}e{int(exponent)}" if e else mantissa
        return repr(value)


def view_again(text: str, inner: str) -> str | None:
    """The source of a view, such as `p[mask]`, `p.squeeze(-1)` or `torch.squeeze(p, -1)`, with `inner` in the place of `p`."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Subscript):
        owner = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        owner = node.func.value
    elif isinstance(node, ast.Call) and node.args:
        owner = node.args[0]
    elif isinstance(node, ast.Attribute):
        owner = node.value
    else:
        return None
    if owner.end_lineno is None or owner.end_col_offset is None:
        return None
    start, end = _offset(text, owner.lineno, owner.col_offset), _offset(text, owner.end_lineno, owner.end_col_offset)
    before, after = text[:start], text[end:]
    while before.rstrip().endswith("(") and after.lstrip().startswith(")") and isinstance(node, (ast.Subscript, ast.Attribute)):
        before, after = before.rstrip()[:-1], after.lstrip()[1:]
    return before + inner + after


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "np")


def _offset(text: str, line: int, column: int) -> int:
    """The place in `text` of a position of `ast`, which counts bytes."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


__all__ = ["CannotSpell", "Namer", "binding", "spell", "view_again"]
