"""Evaluation of statements: assignments, branches and early exits, loops, with-blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from nanlint.source.abstract import Class, Const, Function, Instance, Many, Name, Number, Sequence, Table, Tensor, Unknown
from nanlint.source.lift import Lifter
from nanlint.source.lift_expressions import evaluate, store, truth
from nanlint.source.names import ClassView

GRAD_OFF = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")
UNROLL = 5


def block(lifter: Lifter, body: list[ast.stmt]) -> None:
    """Evaluate statements until one leaves the function or the loop."""
    for statement in body:
        if not lifter.frame.alive:
            return
        handler = STATEMENTS.get(type(statement))
        if handler is not None:
            handler(lifter, statement)


def assign(lifter: Lifter, node: ast.Assign) -> None:
    value = evaluate(lifter, node.value)
    for target in node.targets:
        store(lifter, target, value)


def annotated(lifter: Lifter, node: ast.AnnAssign) -> None:
    if node.value is not None:
        store(lifter, node.target, evaluate(lifter, node.value))


def augmented(lifter: Lifter, node: ast.AugAssign) -> None:
    load = ast.copy_location(ast.BinOp(as_load(node.target), node.op, node.value), node)
    store(lifter, node.target, evaluate(lifter, load))


def as_load(target: ast.expr) -> ast.expr:
    """An assignment target as the expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def expression(lifter: Lifter, node: ast.Expr) -> None:
    value = evaluate(lifter, node.value)
    if isinstance(node.value, ast.Call):
        check = node.value.func
        if isinstance(check, ast.Attribute) and check.attr in ("_check", "_assert") and node.value.args:
            lifter.assume(evaluate(lifter, node.value.args[0]), True)
    if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
        lifter.frame.returns.append(value)


def returning(lifter: Lifter, node: ast.Return) -> None:
    lifter.frame.returns.append(evaluate(lifter, node.value) if node.value is not None else Const(None))
    lifter.frame.alive = False


def leaving(lifter: Lifter, node: ast.stmt) -> None:
    if isinstance(node, ast.Raise) and node.exc is not None and isinstance(node.exc, ast.Call):
        for arg in node.exc.args:
            if not isinstance(arg, (ast.Constant, ast.JoinedStr)):
                evaluate(lifter, arg)
    lifter.frame.alive = False


def asserting(lifter: Lifter, node: ast.Assert) -> None:
    lifter.assume(evaluate(lifter, node.test), True)


def branch(lifter: Lifter, node: ast.If) -> None:
    condition = evaluate(lifter, node.test)
    known = truth(condition)
    if known is not None:
        block(lifter, node.body if known else node.orelse)
        return
    frame = lifter.frame
    before = dict(frame.env)
    saved = save_instances(lifter)
    with lifter.scope():
        lifter.assume(condition, True)
        block(lifter, node.body)
        then, then_alive = frame.env, frame.alive
    then_instances = save_instances(lifter)
    restore_instances(lifter, saved)
    frame.env, frame.alive = dict(before), True
    with lifter.scope():
        lifter.assume(condition, False)
        block(lifter, node.orelse)
        other, other_alive = frame.env, frame.alive
    frame.alive = then_alive or other_alive
    if then_alive and other_alive:
        frame.env = join(lifter, condition, then, other)
        join_instances(lifter, condition, then_instances)
    elif then_alive:
        frame.env = then
        restore_instances(lifter, then_instances)
        lifter.assume(condition, True)
    else:
        frame.env = other
        lifter.assume(condition, False)


def save_instances(lifter: Lifter) -> list[tuple[Instance, dict[str, Any]]]:
    """The attributes of the objects at hand."""
    me = lifter.frame.me
    return [(me, dict(me.attributes))] if me is not None else []


def restore_instances(lifter: Lifter, saved: list[tuple[Instance, dict[str, Any]]]) -> None:
    for instance, attributes in saved:
        instance.attributes = dict(attributes)


def join_instances(lifter: Lifter, condition: Any, then: list[tuple[Instance, dict[str, Any]]]) -> None:
    for instance, attributes in then:
        instance.attributes = join(lifter, condition, attributes, instance.attributes)


def join(lifter: Lifter, condition: Any, then: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The variables after two branches."""
    merged = dict(other)
    for name, value in then.items():
        merged[name] = either(lifter, condition, value, other[name], name) if name in other else value
    return merged


def either(lifter: Lifter, condition: Any, a: Any, b: Any, name: str) -> Any:
    """One of two values, by a condition that is not known."""
    if a is b or (type(a) is type(b) and not isinstance(a, (Unknown, Instance)) and a == b):
        return a
    if isinstance(a, Const) and isinstance(b, Const) and a.value == b.value and type(a.value) is type(b.value):
        return Const(a.value, True)
    if isinstance(a, Sequence) and isinstance(b, Sequence) and len(a.items) == len(b.items):
        return Sequence(tuple(either(lifter, condition, x, y, name) for x, y in zip(a.items, b.items)), a.mutable)
    operands = (Tensor, Number, Const, Unknown)
    if isinstance(a, Const) and a.value is None:
        return b if not isinstance(b, Const) else Unknown(name)
    if isinstance(b, Const) and b.value is None:
        return a if not isinstance(a, Const) else Unknown(name)
    if isinstance(a, operands) and isinstance(b, operands):
        if lifter.is_tensor(a) or lifter.is_tensor(b) or (lifter.is_number(a) and lifter.is_number(b)):
            x, y = lifter.id_of(a), lifter.id_of(b)
            if x is not None and y is not None:
                cond = condition.id if isinstance(condition, (Tensor, Number)) else None
                return lifter.wrap(lifter.emit("phi", (cond, x, y), dtype=lifter.promoted((x, y)), shared=False, text=name))
    if isinstance(a, Unknown):
        return a
    if isinstance(b, Unknown):
        return b
    return Unknown(name)


def assigned_names(body: list[ast.stmt]) -> set[str]:
    """The names that statements assign, in place or anew."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                base = node.value
                while isinstance(base, (ast.Subscript, ast.Attribute)):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
                if isinstance(node.func.value, ast.Name):
                    names.add(node.func.value.id)
    return names


def widen(lifter: Lifter, names: set[str]) -> dict[str, Any]:
    """Variables that a loop carries are read as carried; returns what they were."""
    env, initial = lifter.frame.env, {}
    for name in sorted(names):
        value = env.get(name)
        if isinstance(value, (Tensor, Number)) or lifter.is_tensor(value) or (isinstance(value, Const) and isinstance(value.value, (int, float))):
            id = lifter.id_of(value)
            if id is None or isinstance(getattr(value, "value", None), bool):
                continue
            initial[name] = value
            carried = lifter.emit("carry", (id,), dtype=lifter.graph[id].dtype, shared=False, text=name)
            env[name] = lifter.wrap(carried)
    return initial


def loop(lifter: Lifter, body: list[ast.stmt], bind: Callable[[], Any], condition: ast.expr | None = None) -> None:
    """The body once, with what the loop carries widened."""
    frame = lifter.frame
    before = dict(frame.env)
    initial = widen(lifter, assigned_names(body))
    with lifter.scope():
        bind()
        if condition is not None:
            lifter.assume(evaluate(lifter, condition), True)
        block(lifter, body)
    frame.alive = True
    for name, value in initial.items():
        now = frame.env.get(name)
        a, b = lifter.id_of(value), lifter.id_of(now) if isinstance(now, (Tensor, Number, Const, Unknown)) else None
        if a is not None and b is not None:
            out = lifter.emit("carry_out", (a, b), dtype=lifter.promoted((b, a)), shared=False, text=name)
            frame.env[name] = lifter.wrap(out)
    for name, value in before.items():
        if isinstance(value, Sequence) and isinstance(frame.env.get(name), Sequence) and value is not frame.env[name]:
            items = frame.env[name].items
            frame.env[name] = Many(items[-1]) if items else value


def for_loop(lifter: Lifter, node: ast.For | ast.AsyncFor) -> None:
    iterable = evaluate(lifter, node.iter)
    if isinstance(iterable, Sequence) and 0 < len(iterable.items) <= UNROLL and not leaves_loop(node.body):
        for item in iterable.items:
            store(lifter, node.target, item)
            block(lifter, node.body)
            if not lifter.frame.alive:
                return
    else:
        loop(lifter, node.body, lambda: store(lifter, node.target, element(lifter, iterable, node)))
    block(lifter, node.orelse)


def leaves_loop(body: list[ast.stmt]) -> bool:
    """The loop has a break, continue or return of its own."""
    return any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for s in body for n in ast.walk(s))


def element(lifter: Lifter, iterable: Any, node: ast.For | ast.AsyncFor | ast.comprehension) -> Any:
    """What one step of an iteration binds."""
    if isinstance(iterable, Sequence) and iterable.items:
        first = iterable.items[0]
        for item in iterable.items[1:]:
            first = either(lifter, None, first, item, "item")
        return first
    if isinstance(iterable, Many):
        return iterable.item
    if isinstance(iterable, Table):
        return Const(next(iter(iterable.items), None), True)
    if lifter.is_tensor(iterable):
        id = lifter.id_of(iterable)
        return lifter.wrap(lifter.emit("index", (id,), {"spec": (0,)}, node.iter)) if id is not None else Unknown("item")
    target = node.target
    if isinstance(target, ast.Tuple):
        return Unknown(lifter.text(node.iter))
    return lifter.opaque(target, text=lifter.text(target))


def while_loop(lifter: Lifter, node: ast.While) -> None:
    loop(lifter, node.body, lambda: None, node.test)


def with_block(lifter: Lifter, node: ast.With | ast.AsyncWith) -> None:
    grad, autocast = lifter.grad, lifter.autocast
    for item in node.items:
        entered = item.context_expr
        call = entered.func if isinstance(entered, ast.Call) else entered
        dotted = lifter.module.dotted(call) or ""
        if dotted in GRAD_OFF:
            lifter.grad = False
        elif dotted == "torch.set_grad_enabled" and isinstance(entered, ast.Call) and entered.args:
            lifter.grad = truth(evaluate(lifter, entered.args[0])) is not False
        elif dotted == "torch.enable_grad":
            lifter.grad = True
        elif dotted.startswith("torch") and dotted.endswith("autocast") and isinstance(entered, ast.Call):
            lifter.autocast = autocast_dtype(lifter, entered)
        value = evaluate(lifter, entered)
        if item.optional_vars is not None:
            store(lifter, item.optional_vars, value)
    block(lifter, node.body)
    lifter.grad, lifter.autocast = grad, autocast


def autocast_dtype(lifter: Lifter, call: ast.Call) -> str | None:
    """The format of an autocast region; None where it is switched off."""
    from nanlint.source.abstract import Dtype

    device = "cuda"
    for arg in call.args[:1]:
        value = evaluate(lifter, arg)
        device = value.value if isinstance(value, Const) and isinstance(value.value, str) else device
    dtype = "bfloat16" if device == "cpu" else "float16"
    for keyword in call.keywords:
        value = evaluate(lifter, keyword.value)
        if keyword.arg == "enabled" and truth(value) is False:
            return None
        if keyword.arg == "dtype" and isinstance(value, Dtype):
            dtype = value.name
    return dtype


def try_block(lifter: Lifter, node: ast.Try) -> None:
    block(lifter, node.body)
    frame = lifter.frame
    env, alive = dict(frame.env), frame.alive
    for handler in node.handlers:
        frame.alive = True
        with lifter.scope():
            block(lifter, handler.body)
        frame.env = dict(env)
    frame.alive = alive
    block(lifter, node.orelse)
    if not frame.alive:
        frame.alive = True
        block(lifter, node.finalbody)
        frame.alive = False
    else:
        block(lifter, node.finalbody)


def define(lifter: Lifter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    lifter.frame.env[node.name] = Function(node, lifter.frame.owner, None, lifter.frame.env)


def define_class(lifter: Lifter, node: ast.ClassDef) -> None:
    lifter.frame.env[node.name] = Class(ClassView(node.name, node))


def imports(lifter: Lifter, node: ast.Import | ast.ImportFrom) -> None:
    for name in node.names:
        bound = name.asname or name.name.split(".")[0]
        dotted = lifter.module.imports.get(bound)
        if dotted is not None:
            lifter.frame.env[bound] = Name(dotted)


def matching(lifter: Lifter, node: Any) -> None:
    evaluate(lifter, node.subject)
    frame = lifter.frame
    before, out, any_alive = dict(frame.env), None, False
    for case in node.cases:
        frame.env, frame.alive = dict(before), True
        for name in ast.walk(case.pattern):
            for bound in (getattr(name, "name", None), getattr(name, "rest", None)):
                if isinstance(bound, str):
                    frame.env[bound] = Unknown(bound)
        with lifter.scope():
            block(lifter, case.body)
        if frame.alive:
            out = frame.env if out is None else join(lifter, None, out, frame.env)
            any_alive = True
    frame.env, frame.alive = (out if out is not None else before), any_alive or True


STATEMENTS: dict[type, Callable[[Lifter, Any], None]] = {
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Expr: expression,
    ast.Return: returning,
    ast.Raise: leaving,
    ast.Break: leaving,
    ast.Continue: leaving,
    ast.Assert: asserting,
    ast.If: branch,
    ast.For: for_loop,
    ast.AsyncFor: for_loop,
    ast.While: while_loop,
    ast.With: with_block,
    ast.AsyncWith: with_block,
    ast.Try: try_block,
    ast.FunctionDef: define,
    ast.AsyncFunctionDef: define,
    ast.ClassDef: define_class,
    ast.Import: imports,
    ast.ImportFrom: imports,
}
if hasattr(ast, "Match"):
    STATEMENTS[ast.Match] = matching
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = try_block
