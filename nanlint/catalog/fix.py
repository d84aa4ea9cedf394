"""From a fix template and what its rule matched to the tree that replaces the match: parameters, constants, views and rest put in."""

from __future__ import annotations

from typing import Any

from nanlint.catalog.match import Bindings
from nanlint.catalog.rule import CONSTANTS, FixTemplate, Rule
from nanlint.catalog.spell import CannotSpell
from nanlint.catalog.template import Call, Hole, Literal, Tree, View, parse
from nanlint.graph.values import Ref
from nanlint.ranges.table import TABLE

ONE = Literal(1)
IN_FLOAT32 = "float32(...)"
ROUNDED = "rounded(float32(...))"


def fixes_for(rule: Rule, found: Bindings) -> tuple[FixTemplate, ...]:
    """The fixes of a rule that replace what this template matched, in the order in which to try them."""
    return tuple(f for f in rule.fixes if not f.of or found.pattern in f.of)


def replacement(fix: FixTemplate, found: Bindings, dtype: str = "float32", where: str = "") -> tuple[Tree, dict[str, int]]:
    """The tree that replaces the root of a match, and the node of each of its holes."""
    holes = dict(found.holes)
    if fix.code in (IN_FLOAT32, ROUNDED):
        tree = in_float32(found, holes)
        return (tree if fix.code == IN_FLOAT32 else rounded(tree, found)), holes
    tree = filled(parse(fix.code, where), found, dtype, holes)
    for view in reversed(found.views):
        tree = View(view, tree)
    return with_rest(tree, found, holes), holes


def in_float32(found: Bindings, holes: dict[str, int]) -> Tree:
    """The op that was matched, its floating operands converted first."""
    call = found.params["call"]
    floating = found.params["floating"]
    operands: list[Tree] = [Call("cast", (a,), (("dtype", "float32"),)) if a.name in floating else a for a in call.args]
    return Call(call.op, tuple(operands), tuple((n, _named(v, holes)) for n, v in call.params))


def rounded(tree: Tree, found: Bindings) -> Tree:
    """The result in the dtype of the first floating operand."""
    floating = found.params["floating"]
    row = TABLE.get(found.params["call"].op)
    if not floating or row is None or row.parts:
        raise CannotSpell("there is no one result to round")
    return Call("cast", (tree,), (("dtype", Hole(floating[0])),))


def filled(tree: Tree, found: Bindings, dtype: str, holes: dict[str, int]) -> Tree:
    """The tree with its parameter holes and the constants of the dtype ($eps, $tiny) put in."""
    match tree:
        case Hole(name) if name not in found.holes and name in found.params:
            return _value(found.params[name], holes)
        case Hole(name) if name not in found.holes and name in CONSTANTS:
            return Literal(constant(name, dtype))
        case Call(op, args, params):
            values = tuple((n, _parameter(v, found, holes, dtype)) for n, v in params)
            return Call(op, tuple(filled(a, found, dtype, holes) for a in args), values)
    return tree


def _value(value: Any, holes: dict[str, int]) -> Tree:
    parameter = _named(value, holes)
    return parameter if isinstance(parameter, Hole) else Literal(parameter)


def _parameter(value: Any, found: Bindings, holes: dict[str, int], dtype: str) -> Any:
    if isinstance(value, Hole) and value.name in found.params:
        value = found.params[value.name]
    elif isinstance(value, Hole) and value.name not in found.holes and value.name in CONSTANTS:
        value = constant(value.name, dtype)
    return _named(value, holes)


def constant(name: str, dtype: str) -> float:
    """A constant such as `tiny`, for a dtype."""
    return CONSTANTS[name].get(dtype, CONSTANTS[name]["float32"])


def _named(value: Any, holes: dict[str, int]) -> Any:
    """A reference to a node as a hole of its own."""
    if isinstance(value, Ref):
        holes[f"node{value.id}"] = value.id
        return Hole(f"node{value.id}")
    if isinstance(value, tuple):
        return tuple(_named(v, holes) for v in value)
    return value


def with_rest(tree: Tree, found: Bindings, holes: dict[str, int]) -> Tree:
    """The tree with what the template did not say of a sum or product put back."""
    rest = found.rest
    over: list[Tree] = []
    under: list[Tree] = []
    for id, power in rest.factors:
        holes[f"node{id}"] = id
        factor: Tree = Hole(f"node{id}")
        if abs(power) != 1:
            factor = Call("pow", (factor, Literal(int(abs(power)) if abs(power) == int(abs(power)) else abs(power))))
        (over if power > 0 else under).append(factor)
    coef = rest.coef
    if isinstance(tree, Call) and tree.op == "neg" and not rest.is_empty:
        tree, coef = tree.args[0], -coef
    if abs(coef) != 1 and coef:
        inverse = 1 / coef
        if abs(coef) < 1 and abs(inverse - round(inverse)) < 1e-9:
            under.append(Literal(round(abs(inverse))))
        else:
            over.insert(0, Literal(int(abs(coef)) if coef == int(coef) else abs(coef)))
    for factor in over:
        tree = _times(factor, tree)
    for factor in under:
        tree = Call("div", (tree, factor))
    if coef < 0:
        tree = Call("neg", (tree,))
    return _plus(tree, found, holes)


def _times(factor: Tree, tree: Tree) -> Tree:
    if isinstance(tree, Call) and tree.op == "div" and tree.args[0] in (ONE, Literal(1.0)):
        return Call("div", (factor, tree.args[1]))
    return Call("mul", (factor, tree))


def _plus(tree: Tree, found: Bindings, holes: dict[str, int]) -> Tree:
    for sign, id in found.rest.terms:
        holes[f"node{id}"] = id
        tree = Call("add" if sign > 0 else "sub", (tree, Hole(f"node{id}")))
    const = found.rest.const
    if const:
        value = int(abs(const)) if const == int(const) else abs(const)
        tree = Call("add" if const > 0 else "sub", (tree, Literal(value)))
    return tree
