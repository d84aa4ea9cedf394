"""Attributes and items: of tensors, of objects of the module's classes, of collections."""

from __future__ import annotations

import ast
from typing import Any

from nanlint.graph.values import Ref
from nanlint.source.abstract import (
    Class,
    Const,
    Dtype,
    Function,
    Instance,
    Layer,
    Many,
    Method,
    Number,
    Sequence,
    Table,
    Tensor,
    Unknown,
)
from nanlint.source.lift import Lifter
from nanlint.source.lift_expressions import evaluate, is_called
from nanlint.source.names import is_module_class

LAST_TWO = {"dim0": -2, "dim1": -1}
TURNS: dict[str, tuple[str, dict[str, int] | None]] = {"T": ("t", None), "H": ("t", None), "mT": ("transpose", LAST_TWO), "mH": ("transpose", LAST_TWO)}
VIEWS = {"T": "T", "mT": "mT", "H": "H", "mH": "mH", "real": "real", "imag": "imag"}
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")


def size_of(lifter: Lifter, tensor: Any, dim: Any, node: ast.AST, kind: str = "dim") -> Any:
    """A size of a tensor as a number of at least 0."""
    id = lifter.id_of(tensor)
    if id is None:
        return lifter.opaque(node, "number")
    return Number(lifter.emit("size", (lifter.root(id) if kind == "ndim" else id,), {"dim": dim}, node, dtype="number"))


def tensor_attribute(lifter: Lifter, owner: Any, attr: str, node: ast.expr) -> Any:
    """An attribute of a tensor, or its method about to be called."""
    if attr == "shape":
        return Method(owner, "shape", f"{lifter.text(node)}")
    id = lifter.id_of(owner)
    if id is None:
        return lifter.opaque(node)
    if attr == "dtype":
        name = lifter.graph[id].dtype
        return Dtype(name if name not in ("unknown", "number") else "?")
    if attr in TURNS and not is_called(node) and not lifter.graph[id].dtype.startswith("complex"):
        op, dims = TURNS[attr]
        return Tensor(lifter.emit(op, (id,), dims, node, dtype=lifter.graph[id].dtype))
    if attr in VIEWS and not is_called(node):
        op = VIEWS[attr]
        dtype = {"complex64": "float32", "complex128": "float64"}.get(lifter.graph[id].dtype, lifter.graph[id].dtype)
        return Tensor(lifter.emit(op, (id,), None, node, dtype=dtype if attr in ("real", "imag") else lifter.graph[id].dtype))
    if attr == "data":
        return Tensor(lifter.emit("detach", (id,), None, node))
    if attr in ("ndim",):
        return size_of(lifter, owner, "ndim", node, "ndim")
    if attr in ("device", "is_cuda", "requires_grad", "layout", "is_sparse", "names", "grad_fn", "itemsize", "is_leaf"):
        return lifter.opaque(node)
    if attr == "grad":
        return lifter.opaque(node, "tensor")
    return Method(owner, attr, lifter.text(node))


def ready(lifter: Lifter, instance: Instance) -> None:
    """Evaluate the constructor of an object once, with its parameters' defaults."""
    from nanlint.source.lift_calls import inline

    if instance.ready:
        return
    instance.ready = True
    init = method_of(lifter, instance, "__init__")
    if init is None:
        return
    grad, lifter.grad = lifter.grad, True
    refined, lifter.refined = lifter.refined, {}
    try:
        inline(lifter, init, (), {}, init.node, constructing=True)
    finally:
        lifter.grad, lifter.refined = grad, refined


def method_of(lifter: Lifter, instance: Instance, name: str, after: str | None = None) -> Function | None:
    """A method of an object, found in its class or the bases that the module defines; `after` skips up to that class."""
    skipping = after is not None
    for view in lineage(lifter, instance.view.name):
        if skipping:
            skipping = view.name != after
            continue
        if name in view.methods:
            return Function(view.methods[name], view, instance)
    return None


def lineage(lifter: Lifter, name: str) -> list[Any]:
    """A class and its bases within the module, nearest first."""
    found: list[Any] = []
    queue = [name]
    while queue:
        view = lifter.module.classes.get(queue.pop(0))
        if view is not None and view not in found:
            found.append(view)
            queue.extend(b.id for b in view.node.bases if isinstance(b, ast.Name))
    return found


def decorators(function: Any) -> set[str]:
    """The last words of a function's decorators."""
    found = set()
    for item in getattr(function, "decorator_list", ()):
        target = item.func if isinstance(item, ast.Call) else item
        found.add(target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""))
    return found


def instance_attribute(lifter: Lifter, owner: Instance, attr: str, node: ast.expr) -> Any:
    """`self.attr`: what the constructor made of it, a method, a class constant, or unknown."""
    from nanlint.source.lift_calls import inline

    if attr not in owner.attributes:
        ready(lifter, owner)
    if attr in owner.attributes:
        return renamed(lifter, owner, attr, node)
    method = method_of(lifter, owner, attr)
    if method is not None:
        if "property" in decorators(method.node) or "cached_property" in decorators(method.node):
            return inline(lifter, method, (), {}, node)
        return method if "staticmethod" not in decorators(method.node) else Function(method.node, method.owner)
    for view in lineage(lifter, owner.view.name):
        if attr in view.constants:
            value = evaluate(lifter, view.constants[attr])
            return Const(value.value, True) if isinstance(value, Const) and isinstance(value.value, (bool, str)) else value
        if attr in view.annotations:
            owner.attributes[attr] = annotated_value(lifter, view.annotations[attr], f"{owner.text}.{attr}", node)
            return owner.attributes[attr]
    if attr == "training" and is_module_class(lifter.module, owner.view.name):
        return lifter.opaque(node)
    owner.attributes[attr] = Method(owner, attr, f"{owner.text}.{attr}") if is_called(node) else lifter.opaque(
        node, text=f"{owner.text}.{attr}"
    )
    return owner.attributes[attr]


def renamed(lifter: Lifter, owner: Instance, attr: str, node: ast.expr) -> Any:
    """An attribute's value; what the constructor was merely given goes by the attribute's name."""
    value = owner.attributes[attr]
    elsewhere = {m for v in lineage(lifter, owner.view.name) for m in v.assigned.get(attr, ())} - {"__init__", lifter.frame.qualname.split(".")[-1]}
    if isinstance(value, Const) and elsewhere and not isinstance(value.value, (int, float)):
        value = owner.attributes[attr] = lifter.opaque(node, text=f"{owner.text}.{attr}")
    if isinstance(value, Unknown) and value.id is None:
        value.text = f"{owner.text}.{attr}"
        value.evidence = f"self.{attr}"
    return value


def annotated_value(lifter: Lifter, annotation: ast.expr | None, text: str, node: ast.AST) -> Any:
    """An unknown value of an annotated type: a tensor, a number, an object of a class of the module."""
    kind, view, integer = kind_of_annotation(lifter, annotation)
    if view is not None:
        instance = Instance(view, text)
        instance.ready = not is_module_class(lifter.module, view.name)
        lifter.keep.append(instance)
        return instance
    unknown = lifter.opaque(node, kind, text=text)
    unknown.integer = integer
    return unknown


TENSOR_WORDS = frozenset({"Tensor", "FloatTensor", "HalfTensor", "Float", "Shaped", "Parameter", "DoubleTensor"})
INT_WORDS = frozenset({"LongTensor", "IntTensor", "Int", "Integer"})


def kind_of_annotation(lifter: Lifter, annotation: ast.expr | None) -> tuple[str | None, Any, bool]:
    """What an annotation says: ("tensor" | "number" | "other" | None, the class of the module, whether integral)."""
    if annotation is None:
        return None, None, False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return None, None, False
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        left = kind_of_annotation(lifter, annotation.left)
        return left if left[0] or left[1] else kind_of_annotation(lifter, annotation.right)
    if isinstance(annotation, ast.Subscript):
        head = annotation.value.attr if isinstance(annotation.value, ast.Attribute) else getattr(annotation.value, "id", "")
        if head in ("Optional", "Union", "Final", "Annotated", "ClassVar"):
            inner = annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) else annotation.slice
            return kind_of_annotation(lifter, inner)
        if head in TENSOR_WORDS | INT_WORDS | {"Bool"}:
            return "tensor", None, head in INT_WORDS
        return "other", None, False
    word = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")
    if word in TENSOR_WORDS or word in INT_WORDS or word == "BoolTensor":
        return "tensor", None, word in INT_WORDS
    if word in ("int", "float"):
        return "number", None, word == "int"
    if word in lifter.module.classes:
        return None, lifter.module.classes[word], False
    return ("other" if word in ("str", "dict", "list", "bool", "tuple", "Path", "ndarray", "bytes", "Callable") else None), None, False


def index(lifter: Lifter, owner: Any, item: ast.expr, node: ast.Subscript) -> Any:
    """`owner[item]`."""
    if isinstance(owner, Method) and owner.name == "shape":
        key = evaluate(lifter, item)
        if isinstance(key, Const) and isinstance(key.value, int):
            return size_of(lifter, owner.owner, key.value, node)
        return lifter.opaque(node) if isinstance(item, ast.Slice) else lifter.opaque(node, "number")
    if isinstance(owner, (Sequence, Table)):
        return collection_item(lifter, owner, item, node)
    if isinstance(owner, Many):
        return owner if isinstance(item, ast.Slice) else owner.item
    if not lifter.is_tensor(owner):
        if isinstance(owner, Unknown) and looks_like_tensor_index(item):
            owner.kind = owner.kind or "tensor"
        else:
            return unknown_item(lifter, owner, item, node)
    id = lifter.id_of(owner)
    if id is None:
        return lifter.opaque(node)
    operands: list[int | None] = [id]
    spec = tuple(index_part(lifter, part, operands) for part in (item.elts if isinstance(item, ast.Tuple) else [item]))
    return Tensor(lifter.emit("index", tuple(operands), {"spec": spec}, node, dtype=lifter.graph[id].dtype))


def unknown_item(lifter: Lifter, owner: Any, item: ast.expr, node: ast.Subscript) -> Any:
    """An item of something that was not understood: the same text is the same value."""
    if not isinstance(owner, (Unknown, Instance, Method)):
        return lifter.opaque(node)
    key = (id(owner), f"[{lifter.text(item)}]")
    if key not in lifter.attributes:
        lifter.attributes[key] = lifter.opaque(node)
        lifter.keep.append(owner)
    return lifter.attributes[key]


def looks_like_tensor_index(item: ast.expr) -> bool:
    """Only tensors and arrays are indexed with an ellipsis, None, or a tuple that holds a slice."""
    parts = item.elts if isinstance(item, ast.Tuple) else [item]
    special = any(isinstance(p, ast.Constant) and p.value in (..., None) for p in parts)
    return special or (len(parts) > 1 and any(isinstance(p, ast.Slice) for p in parts))


def collection_item(lifter: Lifter, owner: Any, item: ast.expr, node: ast.Subscript) -> Any:
    """An item of a known tuple, list or dict."""
    if isinstance(owner, Sequence) and isinstance(item, ast.Slice):
        bounds = [evaluate(lifter, b) if b is not None else Const(None) for b in (item.lower, item.upper, item.step)]
        if all(isinstance(b, Const) and (b.value is None or isinstance(b.value, int)) for b in bounds):
            return Sequence(owner.items[slice(*(b.value for b in bounds))], owner.mutable)
        return Many(owner.items[0]) if owner.items else owner
    key = evaluate(lifter, item)
    if isinstance(owner, Sequence):
        if isinstance(key, Const) and isinstance(key.value, int) and -len(owner.items) <= key.value < len(owner.items):
            return owner.items[key.value]
        return owner.items[0] if len(owner.items) == 1 else lifter.opaque(node)
    if isinstance(key, Const) and key.value in owner.items:
        return owner.items[key.value]
    return lifter.opaque(node)


def index_part(lifter: Lifter, part: ast.expr, operands: list[int | None]) -> Any:
    """One part of an index: a number, a slice, an ellipsis, None, or a reference to an index tensor."""
    if isinstance(part, ast.Slice):
        bounds = []
        for bound in (part.lower, part.upper, part.step):
            value = evaluate(lifter, bound) if bound is not None else Const(None)
            bounds.append(lifter.static(value) if isinstance(value, (Const, Number, Unknown)) else None)
        return ("slice", *bounds)
    value = evaluate(lifter, part)
    if isinstance(value, Const):
        return "..." if value.value is ... else value.value
    if isinstance(value, Sequence):
        return tuple(lifter.static(v) for v in value.items)
    id = lifter.id_of(value, "index")
    if id is None:
        return ("slice", None, None, None)
    leaf = lifter.root(id)
    leaf_node = lifter.graph[leaf]
    if leaf_node.op in ("input", "opaque") and leaf_node.dtype == "?":
        words = leaf_node.text.lower()
        lifter.mark(leaf, "bool" if any(w in words for w in ("mask", "valid", "keep", "is_", "select")) else "int64")
        if leaf_node.param("kind") in (None, "index", "unknown"):
            amended = tuple((k, "tensor" if k == "kind" else v) for k, v in lifter.graph[leaf].params)
            lifter.graph.amend(leaf, params=amended)
    operands.append(id)
    return Ref(id)


def store_attribute(lifter: Lifter, target: ast.Attribute, value: Any) -> None:
    """`owner.attr = value`."""
    from nanlint.source.lift_expressions import remember_role

    owner = evaluate(lifter, target.value)
    remember_role(lifter, value, f"self.{target.attr}")
    if isinstance(owner, Instance):
        if isinstance(value, Layer):
            value = Layer(value.name, value.args, value.keywords, f"{owner.text}.{target.attr}")
        if isinstance(value, Instance):
            value.text = f"{owner.text}.{target.attr}"
        owner.attributes[target.attr] = value


def store_item(lifter: Lifter, target: ast.Subscript, value: Any) -> None:
    """`owner[item] = value`: the owner holds both its old values and the new ones."""
    owner = evaluate(lifter, target.value)
    if isinstance(owner, Table):
        key = evaluate(lifter, target.slice)
        if isinstance(key, Const):
            owner.items[key.value] = value
        return
    if not lifter.is_tensor(owner):
        return
    id, new = lifter.id_of(owner), lifter.id_of(value)
    if id is None or new is None:
        return
    operands: list[int | None] = [id, new]
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    spec = tuple(index_part(lifter, part, operands) for part in parts)
    put = Tensor(lifter.emit("index_put", tuple(operands), {"spec": spec}, target, dtype=lifter.graph[id].dtype))
    rebind(lifter, target.value, put, id)


def rebind(lifter: Lifter, target: ast.expr, value: Tensor, old: int) -> None:
    """After an in-place operation every name of the tensor means the new value."""
    from nanlint.source.lift_expressions import store

    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        target = target.func.value
    if isinstance(target, (ast.Name, ast.Attribute)) and not is_called(target):
        store(lifter, target, value)
    for name, bound in lifter.frame.env.items():
        if isinstance(bound, (Tensor, Unknown)) and bound.id == old:
            lifter.frame.env[name] = value


def new_object(lifter: Lifter, view: Class, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """An object of a class of the module: its constructor evaluated with these arguments."""
    from nanlint.source.lift_calls import inline

    instance = Instance(view.view, lifter.text(node))
    lifter.keep.append(instance)
    init = method_of(lifter, instance, "__init__")
    instance.ready = True
    if init is not None:
        inline(lifter, init, args, keywords, node, constructing=True)
        return instance
    fields = [f for v in reversed(lineage(lifter, view.view.name)) for f in v.annotations]
    for field_name, value in zip(fields, args):
        instance.attributes[field_name] = value
    instance.attributes.update(keywords)
    return instance
