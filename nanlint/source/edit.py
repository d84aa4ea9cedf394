"""Edits: a fix becomes changes of the source text, spelled as the file is spelled, everything else byte for byte."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from nanlint.core.finding import Edit, Span
from nanlint.source.lift import Lifted
from nanlint.source.names import FunctionNode, ModuleView

ATOMS = (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class NoEdit(Exception):
    """The fix cannot be written at this place."""


@dataclass
class Site:
    """The place of a fix: the function's syntax tree, its lifted values, the expression to replace."""

    module: ModuleView
    function: FunctionNode
    lifted: Lifted
    root: ast.expr
    edits: list[Edit] = field(default_factory=list)
    hoisted: dict[Span, str] = field(default_factory=dict)
    rewritten: dict[int, ast.expr] = field(default_factory=dict)
    augmented: ast.AugAssign | None = None

    def span(self, node: ast.AST) -> Span:
        """Where an expression stands, in code points."""
        return span_of(self.module, node)

    def text(self, node: ast.AST) -> str:
        """The source text of an expression, as it stands."""
        s = self.span(node)
        lines = self.module.lines[s.line - 1 : s.end_line]
        if s.line == s.end_line:
            return lines[0][s.column - 1 : s.end_column - 1]
        return "\n".join([lines[0][s.column - 1 :], *lines[1:-1], lines[-1][: s.end_column - 1]])


def span_of(module: ModuleView, node: ast.AST) -> Span:
    """Where a node stands, in code points."""
    line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    column, end_column = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    if not module.ascii:
        column = len(module.lines[line - 1].encode()[:column].decode(errors="replace"))
        end_column = len(module.lines[end - 1].encode()[:end_column].decode(errors="replace"))
    return Span(line, column + 1, end, end_column + 1)


def find_site(module: ModuleView, function: FunctionNode, lifted: Lifted, span: Span) -> Site:
    """The site whose expression has exactly this span; of an augmented assignment it is the right-hand side."""
    for statement in statements(function.body):
        if isinstance(statement, ast.AugAssign) and span_of(module, statement) == span:
            return Site(module, function, lifted, statement.value, augmented=statement)
    for node in ast.walk(function):
        if isinstance(node, ast.expr) and span_of(module, node) == span:
            check_replaceable(function, node)
            return Site(module, function, lifted, node)
    raise NoEdit("not an expression of its own")


def check_replaceable(function: FunctionNode, root: ast.expr) -> None:
    """An in-place operation whose result is thrown away cannot be replaced by a value."""
    for node in ast.walk(function):
        if isinstance(node, ast.Expr) and any(n is root for n in ast.walk(node.value)) and in_place(root):
            raise NoEdit("an in-place operation")


def in_place(node: ast.expr) -> bool:
    """A call of a method that ends in an underscore."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_")


def operand_text(site: Site, ids: Iterable[int]) -> str:
    """Text that has the value of one of these nodes at the site: inside it, as a variable, or hoisted into one."""
    wanted = set(ids)
    whole = site.augmented is not None
    inside = [n for n in ast.walk(site.root) if isinstance(n, ast.expr) and (whole or n is not site.root) and place(site, n) in wanted]
    if inside:
        return site.text(max(inside, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0, -n.col_offset)) if len(inside) == 1 else outermost(inside))
    elsewhere = sorted((n for n in expressions(site.function) if place(site, n) in wanted), key=lambda n: (n.lineno, n.col_offset))
    before = [n for n in elsewhere if (n.end_lineno, n.end_col_offset) <= (site.root.lineno, site.root.col_offset)]
    for node in sorted(before, key=lambda n: (not isinstance(n, ast.Name), -n.lineno)):
        if is_plain(node) and unchanged(site, node):
            return site.text(node)
    for node in before:
        named = assigned_name(site, node)
        if named is not None:
            return named
    for node in before:
        return hoist(site, node)
    return from_callee(site, wanted)


def outermost(nodes: list[ast.expr]) -> ast.expr:
    """The widest of nested expressions."""
    return max(nodes, key=lambda n: ((n.end_lineno or 0) - n.lineno, (n.end_col_offset or 0) - n.col_offset))


def expressions(function: FunctionNode) -> Iterator[ast.expr]:
    """The expressions of a function's own body."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.expr):
                yield node


def place(site: Site, node: ast.expr) -> int:
    """The node of the value graph that an expression is; -1 if none."""
    return site.lifted.places.get(site.span(node), -1)


def is_plain(node: ast.expr) -> bool:
    """Evaluating it again costs nothing and changes nothing."""
    return all(
        isinstance(n, (ast.Name, ast.Attribute, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context))
        for n in ast.walk(node)
    )


def unchanged(site: Site, node: ast.expr) -> bool:
    """No name of the expression is assigned between it and the site, nor at its own statement."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    begin = statement_of(site.function, node)
    end = statement_of(site.function, site.root)
    for statement in statements(site.function.body):
        if begin.lineno <= statement.lineno < end.lineno or statement is begin:
            if statement is end and statement is not begin:
                continue
            for n in ast.walk(statement):
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in names and statement is not end:
                    return False
    return visible(site, begin, end)


def visible(site: Site, begin: ast.stmt, end: ast.stmt) -> bool:
    """What the first statement binds is bound at the second: no branch or loop lies around the first alone."""
    chain = enclosing(site.function.body, begin)
    other = enclosing(site.function.body, end)
    return all(any(b is o for o in other) for b in chain)


def enclosing(body: list[ast.stmt], target: ast.stmt) -> list[ast.stmt]:
    """The compound statements around a statement."""
    for statement in body:
        if statement is target:
            return []
        for part in parts(statement):
            if any(s is target for s in statements(part)):
                return [statement, *enclosing(part, target)]
    return []


def parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(statement, name, None)
        if body and not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield body
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body, nested ones included."""
    for statement in body:
        yield statement
        for part in parts(statement):
            yield from statements(part)


def statement_of(function: FunctionNode, node: ast.AST) -> ast.stmt:
    """The innermost statement that holds a node."""
    found: ast.stmt | None = None
    for statement in statements(function.body):
        if any(n is node for n in ast.walk(statement)):
            found = statement
    if found is None:
        raise NoEdit("outside the function's body")
    return found


def assigned_name(site: Site, node: ast.expr) -> str | None:
    """The variable that a statement assigns exactly this expression to, if it still means it at the site."""
    statement = statement_of(site.function, node)
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and rebound_after(site, target.id, statement) is False:
            return target.id
    return None


def rebound_after(site: Site, name: str, statement: ast.stmt) -> bool:
    """The name is assigned again between a statement and the site."""
    end = statement_of(site.function, site.root)
    for other in statements(site.function.body):
        if statement.lineno < other.lineno < end.lineno:
            if any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in ast.walk(other)):
                return True
    return not visible(site, statement, end)


def hoist(site: Site, node: ast.expr) -> str:
    """Give an expression a name where it is first computed, so that it is computed once."""
    span = site.span(node)
    if span in site.hoisted:
        return site.hoisted[span]
    statement = statement_of(site.function, node)
    end = statement_of(site.function, site.root)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)) or not visible(site, statement, end):
        raise NoEdit("the operand is computed where it cannot be named")
    if statement is end or span.line != span.end_line:
        raise NoEdit("the operand is computed in the same statement")
    name = fresh_name(site, "logits")
    line = site.module.lines[statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    if line[: statement.col_offset].strip():
        raise NoEdit("several statements on a line")
    start = site.span(statement)
    at = Span(start.line, 1, start.line, 1)
    site.edits.append(Edit(at, f"{indent}{name} = {site.text(node)}\n"))
    site.edits.append(Edit(span, name))
    site.hoisted[span] = name
    return name


def from_callee(site: Site, wanted: set[int]) -> str:
    """The operand is computed inside a function that only returns an expression: that expression is written out at the call."""
    end = statement_of(site.function, site.root)
    for call in expressions(site.function):
        before = (call.end_lineno, call.end_col_offset) <= (site.root.lineno, site.root.col_offset)
        if not isinstance(call, ast.Call) or not (before or any(n is call for n in ast.walk(site.root))):
            continue
        node = place(site, call)
        if node < 0 or site.lifted.graph[node].where in ("", site.lifted.qualname):
            continue
        returned = returned_expression(site, site.lifted.graph[node].where)
        inner = next((n for n in ast.walk(returned) if isinstance(n, ast.expr) and place(site, n) in wanted), None) if returned is not None else None
        statement = statement_of(site.function, call)
        if returned is None or inner is None or not visible(site, statement, end):
            continue
        names = arguments_of(site, call, site.lifted.graph[node].where)
        if statement is end and any(n is call for n in ast.walk(site.root)):
            return substituted(site, inner, names)
        if statement is end or not isinstance(statement, ast.Assign):
            continue
        name = fresh_name(site, "logits")
        line = site.module.lines[statement.lineno - 1]
        indent = line[: len(line) - len(line.lstrip())]
        start = site.span(statement)
        site.edits.append(Edit(Span(start.line, 1, start.line, 1), f"{indent}{name} = {substituted(site, inner, names)}\n"))
        site.edits.append(Edit(site.span(call), substituted(site, returned, names, {inner: name})))
        if is_pure(site, statement.value, call):
            site.rewritten[statement.lineno] = call
        return name
    raise NoEdit("the operand is not at hand")


def returned_expression(site: Site, qualname: str) -> ast.expr | None:
    """The expression of a function whose body does nothing but return it."""
    function = next((f.node for f in site.module.bodies if f.qualname == qualname), None)
    if function is None or function.decorator_list:
        return None
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def arguments_of(site: Site, call: ast.Call, qualname: str) -> dict[str, str]:
    """What the parameters of a function mean at a call, as source text."""
    function = next(f for f in site.module.bodies if f.qualname == qualname)
    parameters = [a.arg for a in function.node.args.posonlyargs + function.node.args.args]
    names: dict[str, str] = {}
    if function.owner is not None:
        receiver = call.func
        if isinstance(receiver, ast.Attribute) and receiver.attr == function.node.name:
            receiver = receiver.value
        names[parameters.pop(0)] = site.text(receiver)
    if len(call.args) > len(parameters) or any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        raise NoEdit("the call's arguments cannot be followed")
    given = {**dict(zip(parameters, call.args)), **{k.arg: k.value for k in call.keywords if k.arg is not None}}
    for name, value in given.items():
        if not is_plain(value):
            raise NoEdit("the call's arguments would be computed twice")
        text = site.text(value)
        names[name] = text if isinstance(value, (ast.Name, ast.Attribute, ast.Constant)) else f"({text})"
    return names


def substituted(site: Site, node: ast.expr, names: dict[str, str], replaced: dict[ast.expr, str] | None = None) -> str:
    """The text of an expression of another function with its parameters' meanings put in."""
    span = site.span(node)
    if span.line != span.end_line:
        raise NoEdit("the callee's expression spans lines")
    text, shift = site.text(node), span.column
    pieces: list[tuple[int, int, str]] = []

    def visit(n: ast.AST) -> None:
        if isinstance(n, ast.expr) and replaced and n in replaced:
            s = site.span(n)
            pieces.append((s.column - shift, s.end_column - shift, replaced[n]))
            return
        if isinstance(n, ast.Name):
            s = site.span(n)
            if n.id in names:
                pieces.append((s.column - shift, s.end_column - shift, names[n.id]))
            elif n.id not in site.module.imports and n.id not in site.module.functions and n.id not in site.module.constants:
                raise NoEdit(f"{n.id} means nothing at the call")
            return
        if isinstance(n, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)):
            raise NoEdit("names of its own")
        for child in ast.iter_child_nodes(n):
            visit(child)

    visit(node)
    for begin, end, new in sorted(pieces, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def fresh_name(site: Site, wish: str) -> str:
    """A variable name that the function does not use."""
    used = {n.id for n in ast.walk(site.function) if isinstance(n, ast.Name)}
    used |= {a.arg for a in ast.walk(site.function) if isinstance(a, ast.arg)}
    for candidate in (wish, f"raw_{wish}", *(f"{wish}_{i}" for i in range(2, 99))):
        if candidate not in used:
            return candidate
    raise NoEdit("no free name")


def replace_root(site: Site, text: str) -> tuple[Edit, ...]:
    """The edits that put `text` in the place of the site's expression, with temporaries that become unused removed."""
    root = site.root
    span = site.span(root)
    if needs_parentheses(site, text):
        text = f"({text})"
    elif is_atom(text) and in_own_parentheses(site):
        span = Span(span.line, span.column - 1, span.end_line, span.end_column + 1)
    removed = list(dead_statements(site, text))
    edits = [*site.edits, Edit(span, text), *removed]
    return tuple(sorted(edits, key=lambda e: e.span))


def rounded_at_end(site: Site, edits: Iterable[Edit], narrow: str) -> Iterator[tuple[Edit, ...]]:
    """The edits with the value of the site's statement, or else of the function, brought back to the dtype of `narrow`."""
    if not narrow.replace(".", "").isidentifier():
        return
    edits = tuple(edits)
    here = statement_of(site.function, site.root)
    returns = [s for s in statements(site.function.body) if isinstance(s, ast.Return)]
    for statement in dict.fromkeys([here, *(returns if len(returns) == 1 else [])]):
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Assign, ast.Return)) or value is None or isinstance(value, (ast.Tuple, ast.Dict, ast.List)):
            continue
        if stored_between(site, narrow.split(".")[0], here, statement):
            continue
        span = site.span(value)
        inner = [e for e in edits if span.line <= e.span.line and e.span.end_line <= span.end_line and within(e.span, span)]
        text = moved(site.text(value), span, inner)
        text = text if isinstance(value, (ast.Call, ast.Name, ast.Attribute)) and not inner else f"({text})"
        yield (*(e for e in edits if e not in inner), Edit(span, f"{text}.to({narrow}.dtype)"))


def stored_between(site: Site, name: str, first: ast.stmt, last: ast.stmt) -> bool:
    """The name is assigned from one statement up to another, the value of that one excepted."""
    for statement in statements(site.function.body):
        if first.lineno <= statement.lineno < last.lineno:
            if any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in ast.walk(statement)):
                return True
    return False


def within(inner: Span, outer: Span) -> bool:
    """A place lies inside another."""
    begins = (outer.line, outer.column) <= (inner.line, inner.column)
    return begins and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def moved(text: str, span: Span, edits: Iterable[Edit]) -> str:
    """The text that stood at `span` after edits inside it."""
    shift = span.column - 1
    local = []
    for e in edits:
        s, first, last = e.span, e.span.line == span.line, e.span.end_line == span.line
        at = Span(s.line - span.line + 1, s.column - shift * first, s.end_line - span.line + 1, s.end_column - shift * last)
        local.append(Edit(at, e.text))
    return apply_edits(text, local)


def needs_parentheses(site: Site, text: str) -> bool:
    """The new text binds more loosely than what stands around the old one."""
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise NoEdit("the fix is no expression") from error
    if isinstance(parsed, ATOMS):
        return False
    return held_tightly(site) and not in_own_parentheses(site)


def is_atom(text: str) -> bool:
    """The text needs no parentheses anywhere; a number needs them before a dot."""
    return isinstance(ast.parse(text.strip(), mode="eval").body, ATOMS[:-1])


def held_tightly(site: Site) -> bool:
    """The expression is an operand of an operator, or has an attribute or an index taken."""
    for node in ast.walk(site.function):
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and any(c is site.root for c in ast.iter_child_nodes(node)):
            return True
        if isinstance(node, (ast.Attribute, ast.Subscript)) and node.value is site.root:
            return True
    return False


def in_own_parentheses(site: Site) -> bool:
    """The expression stands in parentheses that are its own, not those of a call."""
    span = site.span(site.root)
    before, after = site.module.lines[span.line - 1][: span.column - 1], site.module.lines[span.end_line - 1][span.end_column - 1 :]
    alone = not (before[-2:-1].isalnum() or before[-2:-1] == "_")  # `not(x)`
    return alone and held_tightly(site) and before.endswith("(") and after.startswith(")")


def dead_statements(site: Site, text: str) -> Iterator[Edit]:
    """Removes `name = pure expression` where the replaced expression was the name's only reader."""
    used_before = {n.id for n in ast.walk(site.root) if isinstance(n, ast.Name)}
    kept = set(IDENTIFIER.findall(text))
    touched = {e.span.line for e in site.edits if not e.text.endswith("\n")} - set(site.rewritten)
    for name in sorted(used_before - kept):
        readers = [n for n in expressions(site.function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
        inside = [n for n in ast.walk(site.root) if isinstance(n, ast.Name) and n.id == name]
        writers = [s for s in statements(site.function.body) if any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in own_targets(s))]
        statement = last_writer(site, readers, inside, writers)
        if statement is None:
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            continue
        if statement.lineno in touched or statement.lineno != statement.end_lineno:
            continue
        if statement.lineno not in site.rewritten and not is_pure(site, statement.value):
            continue
        line = site.module.lines[statement.lineno - 1]
        rest = line[len(line.encode()[: statement.end_col_offset].decode(errors="replace")) :]
        if line[: statement.col_offset].strip() or rest.strip() or only_statement(site, statement):
            continue
        site.edits[:] = [e for e in site.edits if e.span.line != statement.lineno or e.text.endswith("\n")]
        yield Edit(Span(statement.lineno, 1, statement.lineno + 1, 1), "")


def last_writer(site: Site, readers: list[ast.Name], inside: list[ast.Name], writers: list[ast.stmt]) -> ast.stmt | None:
    """The statement whose value nothing but the site reads."""
    if len(writers) == 1:
        return writers[0] if len(readers) == len(inside) else None
    end = statement_of(site.function, site.root)
    before = [w for w in writers if w.lineno < end.lineno]
    if not before or len(before) != len(writers) or not visible(site, before[-1], end):
        return None
    around = enclosing(site.function.body, end)
    later = [n for n in readers if n.lineno > (before[-1].end_lineno or before[-1].lineno)]
    straight = around == enclosing(site.function.body, before[-1]) and not any(isinstance(s, (ast.For, ast.AsyncFor, ast.While)) for s in around)
    return before[-1] if straight and len(later) == len(inside) else None


def own_targets(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of statements inside it."""
    if isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
        for name in ("target", "test", "iter"):
            if getattr(statement, name, None) is not None:
                yield from ast.walk(getattr(statement, name))
        for item in getattr(statement, "items", ()):
            yield from ast.walk(item)
        return
    yield from ast.walk(statement)


def only_statement(site: Site, statement: ast.stmt) -> bool:
    """The statement is all that its block holds."""
    for other in [site.function, *statements(site.function.body)]:
        bodies = [site.function.body] if other is site.function else list(parts(other))
        if any(body == [statement] for body in bodies):
            return True
    return False


def is_pure(site: Site, node: ast.expr, inlined: ast.expr | None = None) -> bool:
    """Torch functions of plain operands, and a call that was written out: dropping the expression changes nothing else."""
    for n in ast.walk(node):
        if isinstance(n, ast.Call) and n is not inlined and not (isinstance(n.func, ast.Name) and n.func.id in ("float", "int", "len")):
            dotted = site.module.dotted(n.func) or ""
            method = isinstance(n.func, ast.Attribute) and site.lifted.places.get(site.span(n), -1) >= 0 and not in_place(n)
            if not dotted.startswith("torch.") and not method:
                return False
            if method and not dotted.startswith("torch.") and site.lifted.graph[place(site, n)].op == "opaque":
                return False
    return not any(isinstance(n, (ast.Await, ast.Yield, ast.NamedExpr)) for n in ast.walk(node))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after non-overlapping edits; an insertion at the place of a replacement comes first."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        return min(starts[line - 1] + column - 1, len(text)) if line - 1 < len(starts) else len(text)

    pieces: list[tuple[int, int, str]] = sorted(
        (offset(e.span.line, e.span.column), offset(e.span.end_line, e.span.end_column), e.text) for e in edits
    )
    out: list[str] = []
    at = 0
    for begin, end, new in pieces:
        if begin < at:
            raise NoEdit("edits overlap")
        out += [text[at:begin], new]
        at = end
    return "".join([*out, text[at:]])


Speller = Callable[[str], str]
