"""Calls: of torch operations in every spelling, of layers, of functions and classes of the module (inlined), of builtins."""

from __future__ import annotations

import ast
from typing import Any

from nanlint.ranges.table import TABLE, Op
from nanlint.source.abstract import (
    Class,
    Const,
    Dtype,
    Function,
    Instance,
    Layer,
    Many,
    Method,
    Name,
    Number,
    Sequence,
    Tensor,
    Unknown,
)
from nanlint.source.lift import MAX_DEPTH, MAX_INLINED, Frame, Lifter
from nanlint.source.lift_builtins import BUILTINS, MATH
from nanlint.source.lift_expressions import evaluate, is_floating
from nanlint.source.lift_methods import SPECIAL_FUNCTIONS, method_call
from nanlint.source.lift_objects import decorators, instance_attribute, method_of, new_object, rebind

KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "axes": "dims", "x": "input", "self": "input", "mat2": "other", "unbiased": "correction"}
HALF_OPS = frozenset("matmul mm bmm addmm baddbmm linear conv1d conv2d conv3d einsum scaled_dot_product_attention prelu".split())
FLOAT_OPS = frozenset(
    "exp log log10 log2 log1p expm1 pow softmax log_softmax softplus norm linalg_vector_norm sum prod cumsum cumprod cosh sinh tan acos"
    " asin reciprocal rsqrt layer_norm group_norm cross_entropy nll_loss mse_loss l1_loss cosine_similarity cdist erfinv dist".split()
)
INDEX_SECOND = frozenset("topk sort max_dim min_dim median_dim mode kthvalue cummax cummin aminmax_dim".split())


def call(lifter: Lifter, node: ast.Call) -> Any:
    """The value of a call."""
    node.func.called = True  # type: ignore[attr-defined]
    inherited = super_call(lifter, node)
    function = inherited if inherited is not None else evaluate(lifter, node.func)
    args, keywords = arguments(lifter, node)
    return apply(lifter, function, args, keywords, node)


def arguments(lifter: Lifter, node: ast.Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments of a call."""
    args: list[Any] = []
    for item in node.args:
        value = evaluate(lifter, item.value if isinstance(item, ast.Starred) else item)
        if isinstance(item, ast.Starred):
            args.extend(value.items if isinstance(value, Sequence) else [value])
        else:
            args.append(value)
    keywords = {k.arg: evaluate(lifter, k.value) for k in node.keywords if k.arg is not None}
    for k in node.keywords:
        if k.arg is None:
            evaluate(lifter, k.value)
    return tuple(args), keywords


def super_call(lifter: Lifter, node: ast.Call) -> Any:
    """`super().method` as the method of the next base class that the module defines."""
    func = node.func
    if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call)):
        return None
    if not (isinstance(func.value.func, ast.Name) and func.value.func.id == "super"):
        return None
    frame = lifter.frame
    if frame.me is not None and frame.owner is not None:
        method = method_of(lifter, frame.me, func.attr, after=frame.owner.name)
        if method is not None:
            return method
    return Unknown(lifter.text(func))


def apply(lifter: Lifter, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """Call an abstract value."""
    if isinstance(function, Name):
        return name_call(lifter, function.dotted, args, keywords, node)
    if isinstance(function, Method):
        return method_call(lifter, function, args, keywords, node)
    if isinstance(function, Function):
        early, named = function.early
        return inline(lifter, function, (*early, *args), {**named, **keywords}, node)
    if isinstance(function, Class):
        return new_object(lifter, function, args, keywords, node)
    if isinstance(function, Layer):
        from nanlint.source.lift_layers import layer_call

        return layer_call(lifter, function, args, keywords, node)
    if isinstance(function, Instance):
        for name in ("forward", "__call__"):
            method = method_of(lifter, function, name)
            if method is not None:
                return inline(lifter, method, args, keywords, node)
        return network(lifter, node, function.text)
    return unknown_call(lifter, function, args, node)


NETWORK_WORDS = (
    "net model module layer head encoder decoder backbone policy critic actor generator discriminator proj mlp fc conv embed lin classifier"
    " student teacher transformer unet body trunk stem actor_critic"
).split()


def unknown_call(lifter: Lifter, function: Any, args: tuple[Any, ...], node: ast.Call) -> Any:
    """The result of something that was not understood; a network's output if that is what it is called."""
    text = function.text if isinstance(function, (Unknown, Method)) else lifter.text(node.func)
    last = text.rsplit(".", 1)[-1].lower()
    if any(last == w or last.endswith(("_" + w, w)) or last.startswith(w) for w in NETWORK_WORDS) and args:
        return network(lifter, node, text)
    kind = "tensor" if any(lifter.is_tensor(a) for a in args) and not text[:1].isupper() else None
    return lifter.opaque(node, kind)


def network(lifter: Lifter, node: ast.AST, text: str) -> Unknown:
    """What a layer with weights gives: a leaf whose values are those of a network's output."""
    return lifter.opaque(node, "tensor", evidence="network output")


def name_call(lifter: Lifter, dotted: str, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """A call of something outside the module, by its full name."""
    root, _, last = dotted.partition(".")
    if root == "builtins":
        handler = BUILTINS.get(last)
        return handler(lifter, args, keywords, node) if handler is not None else lifter.opaque(node)
    if root in ("math", "cmath") or dotted in ("numpy.sqrt", "numpy.log", "numpy.exp", "numpy.prod", "numpy.float32"):
        return MATH(lifter, dotted.rsplit(".", 1)[-1], args, node)
    if dotted in ("functools.partial",) and args and isinstance(args[0], Function):
        return Function(args[0].node, args[0].owner, args[0].bound, args[0].closure, (args[1:], keywords))
    if dotted == "copy.deepcopy" and args:
        return args[0]
    if root in ("einops",):
        return einops_call(lifter, last, args, keywords, node)
    if root != "torch":
        kind = "tensor" if any(isinstance(a, Tensor) for a in args) and not last[:1].isupper() and root != "numpy" else None
        return lifter.opaque(node, kind)
    special = SPECIAL_FUNCTIONS.get(dotted)
    if special is not None:
        value = special(lifter, args, keywords, node)
        if value is not None:
            return value
    op = TABLE.spelled(dotted)
    if op is not None:
        return torch_call(lifter, op, args, keywords, node)
    if dotted.startswith("torch.nn.") and last.rsplit(".", 1)[-1][:1].isupper():
        return Layer(last.rsplit(".", 1)[-1], args, keywords, lifter.text(node))
    short = dotted.rsplit(".", 1)[-1]
    if short[:1].isupper() or dotted.startswith(("torch.cuda", "torch.distributed", "torch.utils", "torch.optim", "torch.backends", "torch.jit")):
        return lifter.opaque(node)
    if any(isinstance(a, (Tensor, Unknown)) for a in args):
        lifter.unmodelled[dotted] = lifter.unmodelled.get(dotted, 0) + 1
        return lifter.opaque(node, "tensor")
    return lifter.opaque(node)


def einops_call(lifter: Lifter, last: str, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """rearrange and repeat keep the values; reduce does as it says."""
    name = last.rsplit(".", 1)[-1]
    id = lifter.id_of(args[0]) if args else None
    if id is None or name not in ("rearrange", "repeat"):
        return lifter.opaque(node, "tensor")
    return Tensor(lifter.emit("reshape_unknown", (id,), None, node, dtype=lifter.graph[id].dtype))


def torch_call(lifter: Lifter, op: Op, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """A call of an op of the table: its operands as nodes, the rest as static parameters."""
    if op.family == "join":
        return join_call(lifter, op, args, keywords, node)
    bound = bind(op, args, keywords)
    if bound is None:
        return lifter.opaque(node, "tensor")
    if op.operands and bound[0] and isinstance(bound[0].get(op.names[0]), (Const, type(None))) and op.family not in ("create", "select", "random"):
        first = bound[0].get(op.names[0])
        if not (isinstance(first, Const) and isinstance(first.value, (int, float))):
            return lifter.opaque(node, "tensor")
    values, params = bound
    operands = tuple(operand(lifter, values.get(n)) for n in op.names[: op.operands])
    static = {k: lifter.static(v) for k, v in params.items() if k not in ("out", "device", "generator", "memory_format", "layout", "pin_memory", "requires_grad", "non_blocking")}
    unresolved = op.family in ("reduction", "scan") and "dim" in params and static.get("dim") is None and not is_none(params["dim"])
    static = {k: v for k, v in static.items() if v is not None}
    if unresolved:
        static["unknown_dim"] = True
    while operands and operands[-1] is None:
        operands = operands[:-1]
    least = 2 if op.family == "binary" else min(op.operands, 1) if op.family not in ("create", "select", "random") else 0
    if None in operands[:least] or len(operands) < least:
        return lifter.opaque(node, "tensor")  # of a dict, a list of unknown length
    return emit_op(lifter, op, operands, static, node)


def is_none(value: Any) -> bool:
    """The value is Python's None."""
    return isinstance(value, Const) and value.value is None


def operand(lifter: Lifter, value: Any) -> int | None:
    """The node of an operand; a list of one tensor counts as that tensor."""
    if value is None:
        return None
    if isinstance(value, Unknown) and value.kind is None:
        value.kind = "tensor" if value.id is None else value.kind
    return lifter.id_of(value)


def bind(op: Op, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The arguments of a call by the op's parameter names: operands and the rest."""
    names = op.names
    given: dict[str, Any] = {}
    star = next((i for i, p in enumerate(op.signature.split(",")) if p.strip().startswith("*")), None)
    for position, value in enumerate(args):
        if star is not None and position >= star:
            rest = args[star:]
            spread = rest[0].items if len(rest) == 1 and isinstance(rest[0], Sequence) else rest
            given["*" + names[star]] = Sequence(tuple(spread))
            break
        if position >= len(names):
            return None
        given[names[position]] = value
    for key, value in keywords.items():
        name = key if key in names else KEYWORDS.get(key, key)
        if key == "unbiased" and isinstance(value, Const):
            value = Const(int(bool(value.value)), value.assumed)
        if key == "a" and "input" in names:
            name = "input"
        given[name] = value
    operands = {n: given[n] for n in names[: op.operands] if n in given}
    return operands, {k: v for k, v in given.items() if k not in operands}


def join_call(lifter: Lifter, op: Op, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """cat, stack and their kin: one operand per tensor of the list."""
    first = args[0] if args else keywords.get("tensors")
    items = first.items if isinstance(first, Sequence) else (first.item,) if isinstance(first, Many) else ()
    rest = args[1:]
    if not items and isinstance(first, (Tensor, Unknown)) and len(args) >= 1:
        if op.name in ("cat", "stack", "hstack", "vstack"):
            return lifter.opaque(node, "tensor")
        items, rest = args, ()
    ids = [lifter.id_of(v) for v in items]
    if not ids or any(i is None for i in ids):
        return lifter.opaque(node, "tensor")
    bundle = lifter.emit("tuple", tuple(ids), None, None, dtype=lifter.promoted(tuple(ids)))
    params = {n: lifter.static(v) for n, v in zip(op.names[1:], rest)}
    params.update({KEYWORDS.get(k, k): lifter.static(v) for k, v in keywords.items() if k not in ("tensors", "out")})
    return emit_op(lifter, op, (bundle,), {k: v for k, v in params.items() if v is not None}, node)


def autocast_operands(lifter: Lifter, name: str, operands: tuple[int | None, ...], node: ast.AST) -> tuple[Any, ...]:
    """Inside autocast, the operands as torch casts them before this op."""
    if lifter.autocast is None or name not in HALF_OPS | FLOAT_OPS:
        return operands
    target = lifter.autocast if name in HALF_OPS else "float32"
    cast = []
    for id in operands:
        if id is not None and is_floating(lifter.graph[id].dtype) and lifter.graph[id].dtype not in ("float64", target):
            id = lifter.emit("cast", (id,), {"dtype": target}, node, dtype=target)
        cast.append(id)
    return tuple(cast)


def emit_op(lifter: Lifter, op: Op, operands: tuple[int | None, ...], params: dict[str, Any], node: ast.AST) -> Any:
    """The node of a table op, its results unpacked."""
    operands = autocast_operands(lifter, op.name, operands, node)
    dtype = result_dtype(lifter, op, operands, params)
    if op.name in ("std", "var", "std_mean", "var_mean") and lifter.guarded_count():
        params = {**params, "count_min": 2}
    if op.name in ("gather", "take_along_dim", "index_select", "scatter", "scatter_add", "embedding", "one_hot"):
        for id in operands[: 1 if op.name == "one_hot" else None]:
            if id is not None and (op.name == "one_hot" or id != operands[0]):
                lifter.mark(lifter.root(id), "int64")
    if op.name in ("masked_fill", "where", "masked_select"):
        position = 0 if op.name == "where" else 1
        if len(operands) > position and operands[position] is not None:
            lifter.mark(lifter.root(operands[position]), "bool")  # type: ignore[arg-type]
    if op.family == "reduction" and op.name not in ("std", "var", "std_mean", "var_mean", "sum") and lifter.guarded_count():
        params = {**params, "count_min": 1}
    id = lifter.emit(op.name, operands, params, node, dtype=dtype, shared=op.family != "random")
    if op.family == "split":
        return Many(Tensor(lifter.emit("item", (id,), {"index": 0}, node, dtype=dtype)))
    if op.parts:
        results = []
        for i in range(len(op.parts)):
            part = "int64" if i == 1 and op.name in INDEX_SECOND else dtype
            results.append(Tensor(lifter.emit("item", (id,), {"index": i}, node, dtype=part)))
        return Sequence(tuple(results))
    return lifter.wrap(id) if dtype == "number" else Tensor(id)


def result_dtype(lifter: Lifter, op: Op, operands: tuple[int | None, ...], params: dict[str, Any]) -> str:
    """The dtype of an op's result."""
    if isinstance(params.get("dtype"), str):
        return str(params["dtype"])
    if op.dtype not in ("same", "float"):
        return op.dtype
    if op.family == "create" or op.family == "random":
        return lifter.promoted(operands) if operands and op.name.endswith("_like") else "float32"
    positions = operands[1:] if op.name == "where" else operands
    if op.name in ("gather", "index_select", "take_along_dim", "embedding", "scatter", "scatter_add", "masked_fill", "masked_select"):
        positions = operands[:1]
    if op.name == "embedding" and len(operands) > 1:
        positions = operands[1:2]
    flat: tuple[int | None, ...] = positions
    dtype = lifter.promoted(flat)
    if dtype == "number":
        dtype = "float32" if not any(o is not None for o in operands) else "number" if op.family in ("binary", "pointwise") else "?"
    if op.dtype == "float" and not is_floating(dtype):
        return "float32"
    if dtype == "bool" and op.family in ("reduction", "scan"):
        return "int64"
    return dtype


def inline(lifter: Lifter, function: Function, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.AST, constructing: bool = False) -> Any:
    """The value of a function of the module, its body evaluated with these arguments."""
    from nanlint.source.lift_functions import bind_parameters, body_of, result

    target = function.node
    active = [f for f in lifter.frames if getattr(f, "node", None) is target]
    if len(lifter.frames) >= MAX_DEPTH or active or lifter.inlined >= MAX_INLINED or isinstance(target, ast.AsyncFunctionDef):
        return lifter.opaque(node)
    lifter.inlined += 1
    name = getattr(target, "name", "lambda")
    owner = function.owner
    frame = Frame(f"{owner.name}.{name}" if owner is not None else name, dict(function.closure or {}), owner=owner)
    frame.node = target  # type: ignore[attr-defined]
    kinds = decorators(target)
    bound = function.bound if "staticmethod" not in kinds else None
    frame.me = bound if isinstance(bound, Instance) else None
    if "classmethod" in kinds:
        bound = Class(owner) if owner is not None else bound
    frame.env.update(bind_parameters(lifter, target, owner, bound, args, keywords))
    grad, autocast = lifter.grad, lifter.autocast
    if kinds & {"no_grad", "inference_mode"}:
        lifter.grad = False
    lifter.frames.append(frame)
    try:
        with lifter.scope():
            body_of(lifter, target)
    finally:
        lifter.frames.pop()
        lifter.grad, lifter.autocast = grad, autocast
    return result(lifter, frame, name)


__all__ = ["apply", "call", "emit_op", "inline", "instance_attribute", "network", "rebind", "torch_call", "Dtype", "Number"]
