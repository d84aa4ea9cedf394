"""Methods of tensors, and the torch functions whose meaning depends on how they are called."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from nanlint.ranges.table import TABLE
from nanlint.source.abstract import Class, Const, Dtype, Instance, Layer, Many, Method, Number, Sequence, Table, Tensor, Unknown
from nanlint.source.lift import Lifter
from nanlint.source.lift_expressions import DTYPES, binary_of
from nanlint.source.lift_objects import rebind, size_of

CASTS = ("float", "half", "double", "bfloat16", "int", "long", "bool", "short")
MODULE_METHODS = frozenset("to half float double bfloat16 cuda cpu eval train requires_grad_ apply share_memory".split())
SAME = frozenset("cuda cpu contiguous requires_grad_ retain_grad pin_memory coalesce share_memory_ resolve_conj".split())
ARITHMETIC = {"add": ast.Add, "sub": ast.Sub, "subtract": ast.Sub, "mul": ast.Mult, "multiply": ast.Mult}
EXTREMES = {"max": ("amax", "max_dim", "maximum"), "min": ("amin", "min_dim", "minimum")}
Handler = Callable[[Lifter, tuple[Any, ...], dict[str, Any], ast.Call], Any]


def method_call(lifter: Lifter, method: Method, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """A call of `owner.name(...)`."""
    owner, name = method.owner, method.name
    if name == "finfo":
        return method
    if lifter.is_tensor(owner):
        return tensor_method(lifter, owner, name, args, keywords, node)
    if isinstance(owner, Layer):
        return owner if name in MODULE_METHODS else lifter.opaque(node)
    if isinstance(owner, Instance):
        return owner if name in MODULE_METHODS else module_method(lifter, owner, name, args, node)
    if isinstance(owner, (Sequence, Many, Table)):
        return collection_method(lifter, owner, name, args, node)
    if isinstance(owner, Method) and owner.name == "shape":
        return lifter.opaque(node, "number") if name == "numel" else lifter.opaque(node)
    if isinstance(owner, Class) and name in ("apply",):
        return lifter.opaque(node, "tensor")
    if isinstance(owner, Unknown):
        return unknown_method(lifter, owner, name, args, keywords, node)
    return lifter.opaque(node)


def module_method(lifter: Lifter, owner: Instance, name: str, args: tuple[Any, ...], node: ast.Call) -> Any:
    """A method that the class inherits from outside the module."""
    if name == "parameters":
        return Many(lifter.opaque(node, "tensor", text="parameter"))
    if name == "register_buffer" and len(args) >= 2 and isinstance(args[0], Const):
        owner.attributes[str(args[0].value)] = buffer(lifter, args[1], f"{owner.text}.{args[0].value}", node)
        return Const(None)
    if name == "register_parameter" and len(args) >= 2 and isinstance(args[0], Const):
        owner.attributes[str(args[0].value)] = args[1]
        return Const(None)
    from nanlint.source.lift_calls import unknown_call

    return unknown_call(lifter, Unknown(f"{owner.text}.{name}"), args, node)


def buffer(lifter: Lifter, value: Any, text: str, node: ast.AST) -> Any:
    """A registered buffer: it takes the dtype that the module is cast to."""
    if isinstance(value, Unknown) and value.id is None:
        value.text, value.kind = text, value.kind or "tensor"
        return value
    id = lifter.id_of(value) if isinstance(value, (Tensor, Unknown)) else None
    if id is None:
        return value
    if lifter.graph[id].dtype == "float32" and lifter.dtype in ("float16", "bfloat16"):
        return Tensor(lifter.emit("cast", (id,), {"dtype": lifter.dtype}, node, dtype="?", text=text))
    return value


SURE_METHODS = frozenset(
    "exp log sqrt softmax sigmoid log_softmax unsqueeze squeeze detach clamp norm masked_fill permute rsqrt pow square tanh relu"
    " logsumexp log1p expm1 reciprocal clamp_min clamp_max amax amin abs sin cos acos atan2 log10 log2 div mul add matmul gather"
    " scatter_add_ index_select softplus float half double bfloat16 transpose cumsum cumprod std var log_ exp_ sqrt_ div_ clamp_ topk arccos".split()
)


def unknown_method(lifter: Lifter, owner: Unknown, name: str, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """A method of something not understood: only tensors have most of torch's method names."""
    along = name in ("max", "min", "sum", "mean", "var", "std") and ("dim" in keywords or "keepdim" in keywords or len(args) == 2)
    if (name in SURE_METHODS or along) and owner.kind is None and (owner.id is None or lifter.graph[owner.id].dtype != "number"):
        owner.kind = "tensor"
        return tensor_method(lifter, owner, name, args, keywords, node)
    if name in ("parameters", "buffers"):
        return Many(lifter.opaque(node, "tensor", text="parameter"))
    if name in MODULE_METHODS:
        return owner
    from nanlint.source.lift_calls import unknown_call

    return unknown_call(lifter, Unknown(f"{owner.text}.{name}"), args, node)


def collection_method(lifter: Lifter, owner: Any, name: str, args: tuple[Any, ...], node: ast.Call) -> Any:
    """Methods of lists and dicts."""
    if name in ("append", "add", "insert") and args and isinstance(node.func, ast.Attribute):
        from nanlint.source.lift_expressions import store
        from nanlint.source.lift_statements import as_load

        if isinstance(owner, Sequence) and isinstance(node.func.value, (ast.Name, ast.Attribute)):
            target = node.func.value
            grown = Sequence((*owner.items, args[-1]), True) if len(owner.items) < 32 else Many(args[-1])
            del as_load
            store(lifter, target, grown)
        return Const(None)
    if isinstance(owner, Table):
        if name == "items":
            return Sequence(tuple(Sequence((Const(k), v)) for k, v in owner.items.items()))
        if name == "values":
            return Sequence(tuple(owner.items.values()))
        if name == "keys":
            return Sequence(tuple(Const(k) for k in owner.items))
        if name in ("get", "pop") and args and isinstance(args[0], Const):
            return owner.items.get(args[0].value, args[1] if len(args) > 1 else lifter.opaque(node))
    if name in ("pop", "copy") and isinstance(owner, (Sequence, Many)):
        return owner if name == "copy" else owner.item if isinstance(owner, Many) else owner.items[-1] if owner.items else Const(None)
    return lifter.opaque(node)


def tensor_method(lifter: Lifter, owner: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """A method of a tensor; a trailing underscore changes it in place."""
    from nanlint.source.lift_calls import torch_call

    id = lifter.id_of(owner)
    if id is None:
        return lifter.opaque(node, "tensor")
    in_place = name.endswith("_") and not name.endswith("__")
    plain = name[:-1] if in_place and name not in SAME else name
    special = METHODS.get(plain)
    value = special(lifter, (owner, *args), keywords, node) if special is not None else None
    if value is None:
        op = TABLE.spelled(f"torch.Tensor.{plain}")
        if op is not None:
            value = torch_call(lifter, op, (owner, *args), keywords, node)
        else:
            if plain not in ("backward", "register_hook", "numpy", "get_device", "is_contiguous", "stride", "element_size", "storage"):
                key = f"torch.Tensor.{name}"
                lifter.unmodelled[key] = lifter.unmodelled.get(key, 0) + 1
            value = lifter.opaque(node, "tensor" if plain not in ("numpy", "stride") else None)
    if in_place and isinstance(value, (Tensor, Unknown)) and isinstance(node.func, ast.Attribute):
        new = lifter.id_of(value)
        if new is not None and plain not in SAME:
            rebind(lifter, node.func.value, Tensor(new), id)
    return value


# -- special methods and functions --------------------------------------------------------------------------------


def size(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    dim = args[1] if len(args) > 1 else keywords.get("dim")
    if dim is None:
        return Method(args[0], "shape", lifter.text(node))
    return size_of(lifter, args[0], dim.value, node) if isinstance(dim, Const) else lifter.opaque(node, "number")


def numel(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return size_of(lifter, args[0], None, node)


def ndim(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return size_of(lifter, args[0], "ndim", node, "ndim")


def item(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    id = lifter.id_of(args[0])
    return Tensor(lifter.emit("detach", (id,), None, node)) if id is not None else None


def widened(lifter: Lifter, id: int) -> bool:
    """Something that the value is made of was converted: it need not have the default dtype."""
    return any(lifter.graph[a].op == "cast" for a in lifter.graph.ancestors([id]))


def to_dtype(lifter: Lifter, value: Any, dtype: str, node: ast.AST) -> Any:
    """A cast; to the dtype it already has it is the identity."""
    id = lifter.id_of(value)
    if id is None:
        return lifter.opaque(node, "tensor")
    leaf = lifter.graph[id]
    if leaf.dtype == dtype and not (dtype == "?" and widened(lifter, id)):
        return value
    if dtype in ("bool", "int64") and leaf.op in ("input", "opaque") and leaf.dtype == "?":
        words = leaf.text.lower()
        if dtype == "bool" and "mask" in words:
            lifter.mark(id, "bool")
            return value
        if dtype in ("int64", "int32", "int16") and any(w in words for w in ("label", "index", "idx", "ids")):
            lifter.mark(id, "int64")
            if dtype == "int64":
                return value
    return Tensor(lifter.emit("cast", (id,), {"dtype": dtype}, node, dtype=dtype))


def to(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """x.to(dtype | device | other, ...)."""
    for value in (*args[1:], *keywords.values()):
        if isinstance(value, Dtype):
            return to_dtype(lifter, args[0], value.name, node)
    if len(args) > 1 and lifter.is_tensor(args[1]):
        other = lifter.id_of(args[1])
        return to_dtype(lifter, args[0], lifter.graph[other].dtype, node) if other is not None else args[0]
    if len(args) > 1 and isinstance(args[1], Unknown) and "dtype" in args[1].text:
        id = lifter.id_of(args[0])
        dtype = "?" if id is None or lifter.graph[id].dtype in ("int64", "bool", "uint8") else lifter.graph[id].dtype
        return to_dtype(lifter, args[0], dtype, node)
    return args[0]


def type_as(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    other = lifter.id_of(args[1]) if len(args) > 1 else None
    return to_dtype(lifter, args[0], lifter.graph[other].dtype, node) if other is not None else args[0]


def typed(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if len(args) > 1 and isinstance(args[1], Dtype):
        return to_dtype(lifter, args[0], args[1].name, node)
    return lifter.opaque(node, "tensor") if len(args) > 1 else lifter.opaque(node)


def cast_to(name: str) -> Handler:
    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        return to_dtype(lifter, args[0], DTYPES[name], node)

    return handler


def same(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return args[0]


def arithmetic(name: str) -> Handler:
    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        if len(args) < 2 and "other" not in keywords:
            return None
        other = args[1] if len(args) > 1 else keywords["other"]
        alpha = keywords.get("alpha")
        if alpha is not None:
            other = binary_of(lifter, ast.Mult, other, alpha, node)
        if isinstance(other, Unknown) and other.kind is None:
            other.kind = "tensor" if other.id is None and isinstance(args[0], Const) else other.kind
        return binary_of(lifter, ARITHMETIC[name], args[0], other, node)

    return handler


def rsub(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return binary_of(lifter, ast.Sub, args[1], args[0], node) if len(args) > 1 else None


def extreme(name: str) -> Handler:
    """max and min: over everything, along a dimension (with indices), or of two tensors."""

    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        from nanlint.source.lift_calls import torch_call

        total, along, pairwise = EXTREMES[name]
        rest = args[1:]
        if not rest and not keywords:
            return torch_call(lifter, TABLE[total], args[:1], {}, node)
        second = rest[0] if rest else keywords.get("dim", keywords.get("other", keywords.get("axis")))
        if lifter.is_tensor(second) or (isinstance(second, Unknown) and "dim" not in keywords and "keepdim" not in keywords and len(rest) == 1):
            return torch_call(lifter, TABLE[pairwise], (args[0], second), {}, node)
        return torch_call(lifter, TABLE[along], args, keywords, node)

    return handler


def addcdiv(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if len(args) < 3:
        return None
    quotient = binary_of(lifter, ast.Div, args[1], args[2], node)
    if "value" in keywords:
        quotient = binary_of(lifter, ast.Mult, quotient, keywords["value"], node)
    return binary_of(lifter, ast.Add, args[0], quotient, node)


def addcmul(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if len(args) < 3:
        return None
    product = binary_of(lifter, ast.Mult, args[1], args[2], node)
    if "value" in keywords:
        product = binary_of(lifter, ast.Mult, product, keywords["value"], node)
    return binary_of(lifter, ast.Add, args[0], product, node)


def tensor(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """torch.tensor and as_tensor of what is known."""
    if not args:
        return None
    first, dtype = args[0], keywords.get("dtype", args[1] if len(args) > 1 and isinstance(args[1], Dtype) else None)
    named = dtype.name if isinstance(dtype, Dtype) else None
    if lifter.is_tensor(first) and isinstance(first, (Tensor, Unknown)):
        return to_dtype(lifter, first, named, node) if named else first
    data = numbers(first)
    if data is None:
        unknown = lifter.opaque(node, "tensor")
        if named is not None:
            return to_dtype(lifter, unknown, named, node)
        return unknown
    flat = flatten(data)
    integral = bool(flat) and all(isinstance(v, int) and not isinstance(v, bool) for v in flat)
    kind = named or ("int64" if integral else "bool" if flat and all(isinstance(v, bool) for v in flat) else "float32")
    return Tensor(lifter.emit("tensor", (), {"data": data, "dtype": kind}, node, dtype=kind))


def numbers(value: Any) -> Any:
    """Nested tuples of known numbers, or None."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, (int, float, bool)) else None
    if isinstance(value, Sequence):
        items = [numbers(v) for v in value.items]
        return None if any(i is None for i in items) or not items else tuple(items)
    return None


def flatten(data: Any) -> list[Any]:
    return [x for item in data for x in flatten(item)] if isinstance(data, tuple) else [data]


def parameter(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """nn.Parameter(initial value)."""
    initial = args[0] if args else keywords.get("data")
    id = lifter.id_of(initial) if isinstance(initial, (Tensor, Unknown)) else None
    found = lifter.emit("parameter", (id,) if id is not None else (), {"name": lifter.text(node)}, node, dtype="?", shared=False)
    return Tensor(found)


def where(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    if len(args) + len(keywords) < 3:
        return Many(lifter.opaque(node, "tensor"))
    return None


def tensor_where(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """x.where(condition, other) is torch.where(condition, x, other)."""
    from nanlint.source.lift_calls import torch_call

    if len(args) < 2:
        return None
    return torch_call(lifter, TABLE["where"], (args[1], args[0], *args[2:]), keywords, node)


def einsum(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    from nanlint.source.lift_calls import autocast_operands

    items = args[1].items if len(args) == 2 and isinstance(args[1], Sequence) else args[1:]
    ids = [lifter.id_of(v) for v in items]
    if not args or not isinstance(args[0], Const) or any(i is None for i in ids):
        return lifter.opaque(node, "tensor")
    equation = lifter.graph.add("const", (), {"value": args[0].value, "type": "str"}, dtype="other", text=repr(args[0].value))
    operands = autocast_operands(lifter, "einsum", tuple(ids), node)
    return Tensor(lifter.emit("einsum", (equation, *operands), None, node, dtype=lifter.promoted(operands)))


def unknown_tensor(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return lifter.opaque(node, "tensor")


def grad_of(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return Many(lifter.opaque(node, "tensor"))


def finfo(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    return Method(args[0] if args else Dtype("float32"), "finfo", lifter.text(node))


def unit(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """torch.unbind and its kin say how many parts there are when they are unpacked."""
    return None


def bitwise(op: type) -> Handler:
    def handler(lifter: Lifter, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
        return binary_of(lifter, op, args[0], args[1], node) if len(args) > 1 else None

    return handler


METHODS: dict[str, Handler] = {
    "size": size,
    "numel": numel,
    "nelement": numel,
    "dim": ndim,
    "ndimension": ndim,
    "item": item,
    "tolist": unknown_tensor,
    "to": to,
    "type_as": type_as,
    "type": typed,
    **{name: cast_to(name) for name in CASTS},
    **dict.fromkeys(SAME, same),
    **{name: arithmetic(name) for name in ARITHMETIC},
    **{name: extreme(name) for name in EXTREMES},
    "rsub": rsub,
    "addcdiv": addcdiv,
    "addcmul": addcmul,
    "where": tensor_where,
    "bitwise_and": bitwise(ast.BitAnd),
    "bitwise_or": bitwise(ast.BitOr),
    "requires_grad": same,
}
SPECIAL_FUNCTIONS: dict[str, Handler] = {
    **{f"torch.{name}": arithmetic(name) for name in ARITHMETIC},
    **{f"torch.{name}": extreme(name) for name in EXTREMES},
    "torch.rsub": rsub,
    "torch.addcdiv": addcdiv,
    "torch.addcmul": addcmul,
    "torch.where": where,
    "torch.tensor": tensor,
    "torch.as_tensor": tensor,
    "torch.FloatTensor": tensor,
    "torch.Tensor": tensor,
    "torch.from_numpy": unknown_tensor,
    "torch.numel": numel,
    "torch.nn.Parameter": parameter,
    "torch.nn.parameter.Parameter": parameter,
    "torch.einsum": einsum,
    "torch.finfo": finfo,
    "torch.autograd.grad": grad_of,
    "torch.autograd.Variable": lambda lifter, args, keywords, node: args[0] if args else None,
    "torch.bitwise_and": bitwise(ast.BitAnd),
    "torch.bitwise_or": bitwise(ast.BitOr),
    "torch.utils.checkpoint.checkpoint": lambda lifter, args, keywords, node: lifter.opaque(node, "tensor", evidence="network output"),
}
__all__ = ["METHODS", "SPECIAL_FUNCTIONS", "method_call", "Number"]
