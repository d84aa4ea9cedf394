"""Functions as roots and as callees: what their parameters are, and what they return."""

from __future__ import annotations

import ast
from typing import Any

from nanlint.core.finding import Span
from nanlint.ranges.table import TABLE
from nanlint.source.abstract import Class, Const, Instance, Many, Number, Sequence, Table, Tensor, Unknown
from nanlint.source.lift import Frame, Lifted, Lifter, TooLarge
from nanlint.source.lift_expressions import evaluate
from nanlint.source.lift_objects import annotated_value, decorators, kind_of_annotation, looks_like_tensor_index
from nanlint.source.lift_statements import block, either
from nanlint.source.names import ClassView, FunctionNode, FunctionView, ModuleView, is_module_class

MODEL_WORDS = frozenset("model net network module layer policy encoder decoder classifier student teacher".split())
SURE_ATTRIBUTES = frozenset(
    "unsqueeze squeeze view permute detach clamp device size dim numel float double half log exp sqrt abs norm contiguous softmax sigmoid"
    " new_zeros new_ones new_tensor new_full requires_grad to type_as expand masked_fill gather scatter_ matmul mm bmm cpu cuda is_cuda"
    " index_select backward rsqrt pow square log_softmax chunk unbind logsumexp amax amin cumsum expand_as view_as bool long int".split()
)
LIKELY_ATTRIBUTES = frozenset("shape ndim sum mean max min dtype T std var reshape transpose argmax flatten".split())


def body_of(lifter: Lifter, node: FunctionNode | ast.Lambda) -> None:
    """Evaluate a function's body in the frame at hand."""
    if isinstance(node, ast.Lambda):
        lifter.frame.returns.append(evaluate(lifter, node.body))
    else:
        block(lifter, node.body)


def result(lifter: Lifter, frame: Frame, name: str) -> Any:
    """What a function returned: the one value, or either of several."""
    if not frame.returns:
        return Const(None)
    value = frame.returns[0]
    for other in frame.returns[1:]:
        value = either(lifter, None, value, other, name)
    node = getattr(frame, "node", None)
    if node is not None and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own_nodes(node)):
        return Many(value)
    return value


def own_nodes(node: Any) -> list[ast.AST]:
    """The yields of a function itself."""
    cached = getattr(node, "own_yields", None)
    if cached is None:
        cached = [n for n in ast.walk(node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
        node.own_yields = cached
    return list(cached)


def bind_parameters(
    lifter: Lifter, node: FunctionNode | ast.Lambda, owner: ClassView | None, bound: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The variables of a function at its start."""
    spec = node.args
    env: dict[str, Any] = {}
    names = list(spec.posonlyargs + spec.args)
    values = list(args)
    if bound is not None and names:
        env[names[0].arg] = bound
        names = names[1:]
    defaults: dict[str, ast.expr] = dict(zip([a.arg for a in (spec.posonlyargs + spec.args)[-len(spec.defaults) :]], spec.defaults) if spec.defaults else ())
    defaults.update({a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults) if d is not None})
    for a in names:
        if values:
            env[a.arg] = values.pop(0)
        elif a.arg in keywords:
            env[a.arg] = keywords[a.arg]
        else:
            env[a.arg] = parameter(lifter, a, defaults.get(a.arg), node, owner, root=False)
    for a in spec.kwonlyargs:
        env[a.arg] = keywords[a.arg] if a.arg in keywords else parameter(lifter, a, defaults.get(a.arg), node, owner, root=False)
    if spec.vararg is not None:
        env[spec.vararg.arg] = Sequence(tuple(values)) if values or bound is not None else Many(Unknown(spec.vararg.arg))
    if spec.kwarg is not None:
        known = {a.arg for a in names} | {a.arg for a in spec.kwonlyargs}
        env[spec.kwarg.arg] = Table({k: v for k, v in keywords.items() if k not in known})
    return env


def parameter(lifter: Lifter, arg: ast.arg, default: ast.expr | None, node: Any, owner: ClassView | None, root: bool = True) -> Any:
    """What a parameter is when nobody says: its default, or a leaf typed by annotation and use."""
    if default is not None:
        value = default_value(lifter, default)
        if isinstance(value, Const) and value.value is not None:
            return Const(value.value, True)
        if value is not None and not isinstance(value, (Const, Unknown)):
            return value
    kind, view, _ = kind_of_annotation(lifter, arg.annotation)
    if kind is not None or view is not None:
        found = annotated_value(lifter, arg.annotation, arg.arg, arg)
        if isinstance(found, Unknown):
            found.leaf = "input"
        return found
    if root and arg.arg in MODEL_WORDS:
        only = only_module(lifter.module)
        if only is not None and (owner is None or owner.name != only.name):
            instance = Instance(only, arg.arg)
            lifter.keep.append(instance)
            return instance
    hints = hinted(lifter.module, node)
    forward = owner is not None and takes_tensors(getattr(node, "name", "")) and is_module_class(lifter.module, owner.name)
    tensor = arg.arg in hints[0] or (forward and default is None and arg.arg not in hints[1])
    unknown = lifter.opaque(arg, "tensor" if tensor else "number" if arg.arg in hints[1] else None, text=arg.arg)
    unknown.leaf = "input"
    unknown.integer = arg.arg in hints[1]
    return unknown


def takes_tensors(name: str) -> bool:
    """Methods of a module are given tensors, but for those that set it up."""
    return not name.startswith(("__", "set_", "get_", "reset", "load", "save", "from_", "build", "make", "init", "configure", "add_", "extra_repr"))


def default_value(lifter: Lifter, default: ast.expr) -> Any:
    """The value of a default, read in the module's scope."""
    frame = lifter.frames[-1] if lifter.frames else None
    if frame is None:
        lifter.frames.append(Frame("", {}))
    else:
        saved, frame.env = frame.env, {}
    try:
        return evaluate(lifter, default)
    finally:
        if frame is None:
            lifter.frames.pop()
        else:
            frame.env = saved


def only_module(module: ModuleView) -> ClassView | None:
    """The one nn.Module class of a file that no other class of it uses, if there is exactly one."""
    cached = getattr(module, "only_module", False)
    if cached is not False:
        return cached  # type: ignore[return-value]
    classes = [v for n, v in module.classes.items() if is_module_class(module, n) and "forward" in v.methods]
    used: set[str] = set()
    for view in module.classes.values():
        for item in ast.walk(view.node):
            if isinstance(item, ast.Name) and item.id != view.name:
                used.add(item.id)
    tops = [v for v in classes if v.name not in used]
    found = tops[0] if len(tops) == 1 else None
    module.only_module = found  # type: ignore[attr-defined]
    return found


def hinted(module: ModuleView, node: Any) -> tuple[set[str], set[str]]:
    """The names that a function's body uses as tensors, and those it uses as whole numbers."""
    cached = getattr(node, "hints", None)
    if cached is not None:
        return cached  # type: ignore[no-any-return]
    tensors: set[str] = set()
    numbers: set[str] = set()
    numpy = any(isinstance(n, ast.Name) and module.imports.get(n.id) == "numpy" for n in ast.walk(node))
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
            if item.attr in SURE_ATTRIBUTES or (item.attr in LIKELY_ATTRIBUTES and not numpy):
                tensors.add(item.value.id)
        elif isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name) and not numpy and looks_like_tensor_index(item.slice):
            tensors.add(item.value.id)
        elif isinstance(item, ast.BinOp) and isinstance(item.op, ast.MatMult):
            tensors.update(x.id for x in (item.left, item.right) if isinstance(x, ast.Name))
        elif isinstance(item, ast.Call):
            call_hints(module, item, tensors, numbers)
    for _ in range(3):
        for item in ast.walk(node):  # what makes a tensor of one name was a tensor
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id in tensors:
                tensors |= sources(item.value, node)
    node.hints = (tensors, numbers - tensors)
    return node.hints  # type: ignore[no-any-return]


def sources(value: ast.expr, function: Any) -> set[str]:
    """The one name, beside numbers, that an arithmetic expression is made of; nothing if there are several."""
    if not all(isinstance(n, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context)) for n in ast.walk(value)):
        return set()
    count = len(function.args.defaults) if hasattr(function, "args") else 0
    defaulted = {a.arg for a in function.args.args[-count:]} if count else set()
    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} - defaulted
    return names if len(names) == 1 else set()


def call_hints(module: ModuleView, item: ast.Call, tensors: set[str], numbers: set[str]) -> None:
    """The arguments of torch functions are tensors, those of range are whole numbers."""
    if isinstance(item.func, ast.Name) and item.func.id == "range":
        numbers.update(a.id for a in item.args if isinstance(a, ast.Name))
        return
    dotted = module.dotted(item.func)
    if dotted is None or not dotted.startswith("torch."):
        return
    op = TABLE.spelled(dotted)
    if op is None:
        return
    if op.family == "join":
        for a in item.args[:1]:
            tensors.update(n.id for n in getattr(a, "elts", ()) if isinstance(n, ast.Name))
        return
    if op.family in ("create", "random") and not op.name.endswith("_like"):
        return
    limit = 1 if op.family in ("binary", "select", "reduction") or op.operands > 2 else op.operands
    for a in item.args[:limit]:
        if isinstance(a, ast.Name):
            tensors.add(a.id)


def lift_function(module: ModuleView, view: FunctionView, dtype: str = "float32", places: bool = False) -> Lifted:
    """The value graph of one function of a module, its parameters as leaves; `places` = remember which expression is which node."""
    lifter = Lifter(module, dtype, places={} if places else None)
    kinds = decorators(view.node)
    me: Instance | None = None
    if view.owner is not None and not kinds & {"staticmethod", "classmethod"}:
        me = Instance(view.owner, "self")
    frame = Frame(view.qualname, {}, me, view.owner)
    frame.node = view.node  # type: ignore[attr-defined]
    lifter.frames.append(frame)
    spec = view.node.args
    args = spec.posonlyargs + spec.args
    if args and view.owner is not None and "staticmethod" not in kinds:
        frame.env[args[0].arg] = me if me is not None else Class(view.owner)
        args = args[1:]
    count = len(spec.defaults)
    positional = spec.posonlyargs + spec.args
    defaults = {a.arg: d for a, d in zip(positional[len(positional) - count :], spec.defaults)}
    defaults.update({a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults) if d is not None})
    complete = True
    try:
        for a in args + spec.kwonlyargs:
            frame.env[a.arg] = parameter(lifter, a, defaults.get(a.arg), view.node, view.owner)
        if spec.vararg is not None:
            frame.env[spec.vararg.arg] = Many(lifter.opaque(spec.vararg, text=spec.vararg.arg))
        if kinds & {"no_grad", "inference_mode"}:
            lifter.grad = False
        if view.node.name == "__init__" and me is not None:
            me.ready = True
        body_of(lifter, view.node)
    except TooLarge:
        complete = False
    returned = tuple(dict.fromkeys(i for v in frame.returns for i in tensor_ids(lifter, v)))
    return Lifted(lifter.graph, view.qualname, lifter.roles, returned, lifter.unmodelled, lifter.grad, lifter.assumptions, complete, found_places(lifter))


def found_places(lifter: Lifter) -> dict[Span, int]:
    """Which node each expression turned out to be."""
    return {span: value.id for span, value in (lifter.places or {}).items() if value.id is not None}


def tensor_ids(lifter: Lifter, value: Any, depth: int = 0) -> list[int]:
    """The tensor nodes inside a returned value."""
    if isinstance(value, Tensor):
        return [value.id]
    if lifter.is_tensor(value):
        id = lifter.id_of(value)
        return [id] if id is not None else []
    if isinstance(value, Number):
        return []
    if depth > 3:
        return []
    if isinstance(value, Sequence):
        return [i for v in value.items for i in tensor_ids(lifter, v, depth + 1)]
    if isinstance(value, Many):
        return tensor_ids(lifter, value.item, depth + 1)
    if isinstance(value, Table):
        return [i for v in value.items.values() for i in tensor_ids(lifter, v, depth + 1)]
    return []
