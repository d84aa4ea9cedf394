"""Evaluation of expressions to abstract values, and assignment to targets."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

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
    Table,
    Tensor,
    Unknown,
)
from nanlint.source.lift import Lifter

BINARY = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("logical_and", operator.and_),
    ast.BitOr: ("logical_or", operator.or_),
    ast.BitXor: ("logical_xor", operator.xor),
}
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
COMPARE_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
DTYPES = {
    "float": "float32",
    "float32": "float32",
    "float64": "float64",
    "double": "float64",
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "short": "int16",
    "int32": "int32",
    "int": "int32",
    "int64": "int64",
    "long": "int64",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
MAX_FOLDED = 1e300


def evaluate(lifter: Lifter, node: ast.expr) -> Any:
    """The abstract value of an expression."""
    handler = EXPRESSIONS.get(type(node))
    value = handler(lifter, node) if handler is not None else lifter.opaque(node)
    if lifter.places is not None and isinstance(value, (Tensor, Number, Unknown)):
        lifter.places[lifter.span(node)] = value
    return value


def constant(lifter: Lifter, node: ast.Constant) -> Any:
    return Const(node.value)


def name(lifter: Lifter, node: ast.Name) -> Any:
    env = lifter.frame.env
    if node.id in env:
        return env[node.id]
    return global_name(lifter, node.id, node)


def global_name(lifter: Lifter, id: str, node: ast.expr) -> Any:
    """What a name of the module means: an import, a function, a class, a constant evaluated when it is first read."""
    module = lifter.module
    if id in module.functions:
        return Function(module.functions[id])
    if id in module.classes:
        return Class(module.classes[id])
    if id in module.constants:
        if id not in lifter.constants:
            lifter.constants[id] = Unknown(id)
            frame = lifter.frame
            env, frame.env = frame.env, {}
            try:
                lifter.constants[id] = evaluate(lifter, module.constants[id])
            finally:
                frame.env = env
        return lifter.constants[id]
    if id in module.imports:
        return named(module.imports[id], node, lifter)
    if id in BUILTIN_NAMES:
        return Name(f"builtins.{id}")
    key = (0, id)
    if key not in lifter.attributes:
        lifter.attributes[key] = lifter.opaque(node)
    return lifter.attributes[key]


BUILTIN_NAMES = frozenset(
    "abs all any bool dict divmod enumerate filter float getattr hasattr int isinstance iter len list map max min next pow print range"
    " repr reversed round set setattr sorted str sum super tuple type zip slice id".split()
)


def named(dotted: str, node: ast.expr, lifter: Lifter) -> Any:
    """The value of a fully qualified name outside the module."""
    from nanlint.source.names import canonical

    dotted = canonical(dotted)
    last = dotted.rsplit(".", 1)[-1]
    root = dotted.split(".", 1)[0]
    if root == "torch" and dotted.count(".") == 1 and last in DTYPES:
        return Dtype(DTYPES[last])
    if root in ("math", "numpy", "torch", "cmath") and dotted.count(".") == 1 and last in CONSTANTS:
        return Const(CONSTANTS[last])
    return Name(dotted)


def attribute(lifter: Lifter, node: ast.Attribute) -> Any:
    if isinstance(root_name(node), str) and root_name(node) not in lifter.frame.env:
        dotted = lifter.module.dotted(node)
        if dotted is not None:
            return named(dotted, node, lifter)
    owner = evaluate(lifter, node.value)
    return attribute_of(lifter, owner, node.attr, node)


def root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


FIELDS = {
    "values": 0,
    "indices": 1,
    "U": 0,
    "S": 1,
    "Vh": 2,
    "V": 2,
    "Q": 0,
    "R": 1,
    "eigenvalues": 0,
    "eigenvectors": 1,
    "L": 0,
    "sign": 0,
    "logabsdet": 1,
    "mantissa": 0,
    "exponent": 1,
}


def attribute_of(lifter: Lifter, owner: Any, attr: str, node: ast.expr) -> Any:
    """`owner.attr`, by what the owner is."""
    from nanlint.source.lift_objects import instance_attribute, tensor_attribute

    if isinstance(owner, Instance):
        return instance_attribute(lifter, owner, attr, node)
    if lifter.is_tensor(owner):
        return tensor_attribute(lifter, owner, attr, node)
    if isinstance(owner, Name):
        return named(f"{owner.dotted}.{attr}", node, lifter)
    if isinstance(owner, Sequence) and attr in FIELDS and FIELDS[attr] < len(owner.items):
        return owner.items[FIELDS[attr]]
    if isinstance(owner, Class):
        if attr in owner.view.methods:
            return Function(owner.view.methods[attr], owner.view)
        if attr in owner.view.constants:
            return evaluate(lifter, owner.view.constants[attr])
    if isinstance(owner, Method) and owner.name == "finfo":
        return finfo(lifter, owner, attr)
    if isinstance(owner, Layer) and attr in ("weight", "bias"):
        return layer_parameter(lifter, owner, attr, node)
    if isinstance(owner, Unknown):
        key = (id(owner), attr)
        if key not in lifter.attributes:
            text = f"{owner.text}.{attr}"
            lifter.attributes[key] = Method(owner, attr, text) if is_called(node) else lifter.opaque(node, text=text)
            if attr in ("shape", "dtype", "device"):
                lifter.attributes[key] = tensor_attribute(lifter, owner, attr, node)
        found = lifter.attributes[key]
        if isinstance(found, Unknown) and found.kind is None and attr in ("grad", "weight", "bias"):
            found.kind = "tensor"
        return found
    return Method(owner, attr, lifter.text(node))


def is_called(node: ast.expr) -> bool:
    return getattr(node, "called", False)


def layer_parameter(lifter: Lifter, layer: Layer, attr: str, node: ast.expr) -> Any:
    """The weight or bias of a torch.nn layer: a parameter of unknown value."""
    key = (id(layer), attr)
    if key not in lifter.attributes:
        found = lifter.opaque(node, "tensor")
        found.leaf = "parameter"
        lifter.attributes[key] = found
    return lifter.attributes[key]


def finfo(lifter: Lifter, owner: Method, attr: str) -> Any:
    """A constant of torch.finfo(dtype)."""
    from nanlint.core.formats import FORMATS

    dtype = owner.owner
    name = lifter.dtype if isinstance(dtype, Dtype) and dtype.name == "?" else dtype.name if isinstance(dtype, Dtype) else ""
    if name in FORMATS:
        f = FORMATS[name]
        table = {"eps": f.eps, "tiny": f.tiny, "smallest_normal": f.tiny, "max": f.max, "min": -f.max, "resolution": f.eps}
        if attr in table:
            return Const(table[attr])
        return Const(f.bits) if attr == "bits" else Unknown(owner.text + "." + attr)
    return Unknown(owner.text + "." + attr, "number")


def binary(lifter: Lifter, node: ast.BinOp) -> Any:
    a, b = evaluate(lifter, node.left), evaluate(lifter, node.right)
    return binary_of(lifter, type(node.op), a, b, node)


def binary_of(lifter: Lifter, op: type, a: Any, b: Any, node: ast.expr) -> Any:
    """`a op b` on abstract values."""
    if op not in BINARY:
        return lifter.opaque(node)
    canonical, function = BINARY[op]
    if isinstance(a, Const) and isinstance(b, Const):
        return folded(function, a, b, lifter, node)
    if isinstance(a, Sequence) or isinstance(b, Sequence) or isinstance(a, Many) or isinstance(b, Many):
        return joined(op, a, b, lifter, node)
    tensors = lifter.is_tensor(a) or lifter.is_tensor(b)
    numbers = lifter.is_number(a) and lifter.is_number(b)
    if not (tensors or numbers):
        # a number and an unknown: only what met a tensor before is taken for one
        used = any(isinstance(v, Unknown) and v.id is not None and v.kind is None for v in (a, b))
        if not used or op in (ast.Mod, ast.BitAnd, ast.BitOr):
            return lifter.opaque(node)
    x, y = lifter.id_of(a, "unknown"), lifter.id_of(b, "unknown")
    if x is None or y is None:
        return lifter.opaque(node, "tensor" if tensors else None)
    if canonical.startswith("logical"):
        for operand in (x, y):
            lifter.mark(lifter.root(operand), "bool")
    return emit_binary(lifter, canonical, x, y, node)


def emit_binary(lifter: Lifter, canonical: str, x: int, y: int, node: ast.expr) -> Any:
    """The node of a binary operation."""
    from nanlint.source.lift_calls import autocast_operands

    dtype = lifter.promoted((x, y))
    if canonical == "matmul":
        x, y = autocast_operands(lifter, canonical, (x, y), node)
        dtype = lifter.promoted((x, y))
    if canonical == "div" and dtype not in ("number",) and not is_floating(dtype):
        dtype = "float32"
    if canonical.startswith("logical"):
        dtype = "bool" if dtype != "number" else dtype
    return lifter.wrap(lifter.emit(canonical, (x, y), None, node, dtype=dtype))


def is_floating(dtype: str) -> bool:
    """A floating or complex dtype, or one that is not known."""
    return dtype in ("?", "unknown") or dtype.startswith(("float", "bfloat", "complex"))


def folded(function: Callable[[Any, Any], Any], a: Const, b: Const, lifter: Lifter, node: ast.expr) -> Any:
    """The value of an operation on two constants, where it is cheap and defined."""
    both = (int, float, complex)
    if isinstance(a.value, both) and isinstance(b.value, both):
        try:
            if function is operator.pow and (abs(a.value) > 1e6 or abs(b.value) > 1e3) and isinstance(b.value, int):
                return lifter.opaque(node, "number")
            value = function(a.value, b.value)
        except (ArithmeticError, ValueError, TypeError):
            return lifter.opaque(node, "number")
        if isinstance(value, complex) or (isinstance(value, int) and abs(value) > MAX_FOLDED):
            return lifter.opaque(node, "number")
        return Const(value, a.assumed or b.assumed)
    if isinstance(a.value, str) and isinstance(b.value, str) and function is operator.add:
        return Const(a.value + b.value, a.assumed or b.assumed)
    return lifter.opaque(node)


def joined(op: type, a: Any, b: Any, lifter: Lifter, node: ast.expr) -> Any:
    """Lists added or repeated."""
    if op is ast.Add and isinstance(a, Sequence) and isinstance(b, Sequence):
        return Sequence(a.items + b.items, a.mutable)
    if op is ast.Mult:
        items, times = (a, b) if isinstance(a, Sequence) else (b, a)
        if isinstance(items, Sequence) and isinstance(times, Const) and isinstance(times.value, int) and 0 < times.value < 9:
            return Sequence(items.items * times.value, items.mutable)
        if isinstance(items, Sequence) and len(items.items) == 1:
            return Many(items.items[0])
    if isinstance(a, Many) and isinstance(b, (Many, Sequence)):
        return a
    return b if isinstance(b, Many) else lifter.opaque(node)


def unary(lifter: Lifter, node: ast.UnaryOp) -> Any:
    value = evaluate(lifter, node.operand)
    if isinstance(node.op, ast.Not):
        known = truth(value)
        if known is not None:
            return Const(not known)
        if isinstance(value, (Tensor, Number)):
            return Number(lifter.emit("logical_not", (value.id,), None, node, dtype="number"))
        return lifter.opaque(node)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        if isinstance(node.op, ast.USub):
            return Const(-value.value, value.assumed)
        return value if isinstance(node.op, ast.UAdd) else Const(~int(value.value), value.assumed)
    if not (lifter.is_tensor(value) or lifter.is_number(value)):
        if isinstance(value, Unknown) and isinstance(node.op, ast.Invert):
            value.kind = value.kind or "tensor"
        else:
            return lifter.opaque(node)
    id = lifter.id_of(value)
    if id is None or isinstance(node.op, ast.UAdd):
        return value
    if isinstance(node.op, ast.USub):
        return lifter.wrap(lifter.emit("neg", (id,), None, node))
    lifter.mark(lifter.root(id), "bool")
    return lifter.wrap(lifter.emit("logical_not", (id,), None, node, dtype="bool"))


def boolean(lifter: Lifter, node: ast.BoolOp) -> Any:
    """`a and b`, `a or b`: decided where it can be; later operands are read knowing the earlier ones."""
    conjunction = isinstance(node.op, ast.And)
    ids: list[int] = []
    uncertain: list[Any] = []
    with lifter.scope():
        for item in node.values:
            value = evaluate(lifter, item)
            known = truth(value)
            if known is (not conjunction):
                return value if not uncertain else lifter.opaque(node)
            if known is None:
                uncertain.append(value)
                if isinstance(value, (Tensor, Number)):
                    ids.append(value.id)
            lifter.assume(value, conjunction)
    if not uncertain:
        return value
    if len(ids) == 1 and (len(uncertain) == 1 or conjunction):
        return lifter.wrap(ids[0])
    if len(ids) > 1 and (conjunction or len(ids) == len(uncertain)):
        return Number(lifter.emit("logical_and" if conjunction else "logical_or", tuple(ids[:2]), None, node, dtype="number"))
    return uncertain[0] if not conjunction and len(uncertain) == 1 else lifter.opaque(node)


def truth(value: Any) -> bool | None:
    """Whether a value is true; None where it depends."""
    if isinstance(value, Const):
        return None if value.assumed else bool(value.value)
    if isinstance(value, (Function, Layer, Class, Name)):
        return True
    return None


def compare(lifter: Lifter, node: ast.Compare) -> Any:
    if len(node.ops) > 1:
        return chained(lifter, node)
    a, b = evaluate(lifter, node.left), evaluate(lifter, node.comparators[0])
    return compare_of(lifter, node.ops[0], a, b, node)


def chained(lifter: Lifter, node: ast.Compare) -> Any:
    """`a < b < c` as the conjunction it means."""
    values = [evaluate(lifter, item) for item in (node.left, *node.comparators)]
    parts = [compare_of(lifter, op, values[i], values[i + 1], node) for i, op in enumerate(node.ops)]
    if all(isinstance(p, (Tensor, Number)) for p in parts[:2]):
        return Number(lifter.emit("logical_and", (parts[0].id, parts[1].id), None, node, dtype="number"))
    return next((p for p in parts if isinstance(p, (Tensor, Number))), lifter.opaque(node))


def compare_of(lifter: Lifter, op: ast.cmpop, a: Any, b: Any, node: ast.expr) -> Any:
    """One comparison; `is None` is decided for what is known to be something."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        return identity(lifter, isinstance(op, ast.Is), a, b, node)
    canonical = COMPARE.get(type(op))
    if canonical is None:
        return lifter.opaque(node)
    if isinstance(a, Const) and isinstance(b, Const):
        try:
            return Const(bool(COMPARE_FUNCTIONS[canonical](a.value, b.value)), a.assumed or b.assumed)
        except TypeError:
            return lifter.opaque(node)
    if isinstance(a, Dtype) and isinstance(b, Dtype):
        return lifter.opaque(node)
    known = lifter.is_tensor(a) or lifter.is_tensor(b) or (lifter.is_number(a) and lifter.is_number(b))
    if not known and not (isinstance(a, Unknown) and isinstance(b, Const) and isinstance(b.value, (int, float))):
        return lifter.opaque(node)
    x, y = lifter.id_of(a, "unknown"), lifter.id_of(b, "unknown")
    if x is None or y is None:
        return lifter.opaque(node)
    dtype = "number" if lifter.promoted((x, y)) == "number" else "bool"
    return lifter.wrap(lifter.emit(canonical, (x, y), None, node, dtype=dtype))


def identity(lifter: Lifter, positive: bool, a: Any, b: Any, node: ast.expr) -> Any:
    """`a is b`, where that is known."""
    other = a if isinstance(b, Const) else b
    if isinstance(a, Const) and isinstance(b, Const):
        return Const((a.value is b.value) == positive, a.assumed or b.assumed)
    if isinstance(other, (Tensor, Number, Sequence, Layer, Instance, Function, Class, Many, Dtype)):
        if isinstance(b, Const) and b.value is None:
            leaf = lifter.graph[lifter.root(other.id)].op if isinstance(other, (Tensor, Number)) else ""
            return lifter.opaque(node) if leaf == "input" else Const(not positive)
    return lifter.opaque(node)


def conditional(lifter: Lifter, node: ast.IfExp) -> Any:
    from nanlint.source.lift_statements import either

    condition = evaluate(lifter, node.test)
    known = truth(condition)
    if known is not None:
        return evaluate(lifter, node.body if known else node.orelse)
    with lifter.scope():
        lifter.assume(condition, True)
        a = evaluate(lifter, node.body)
    with lifter.scope():
        lifter.assume(condition, False)
        b = evaluate(lifter, node.orelse)
    return either(lifter, condition, a, b, lifter.text(node))


def sequence(lifter: Lifter, node: ast.Tuple | ast.List) -> Any:
    items: list[Any] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            value = evaluate(lifter, item.value)
            if isinstance(value, Sequence):
                items.extend(value.items)
            elif isinstance(value, Many):
                items.append(value.item)
            else:
                items.append(value)
        else:
            items.append(evaluate(lifter, item))
    return Sequence(tuple(items), isinstance(node, ast.List))


def table(lifter: Lifter, node: ast.Dict) -> Any:
    items: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values):
        if key is None:
            evaluate(lifter, value)
            continue
        k = evaluate(lifter, key)
        items[k.value if isinstance(k, Const) else lifter.text(key)] = evaluate(lifter, value)
    return Table(items)


def comprehension(lifter: Lifter, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Any:
    from nanlint.source.lift_statements import UNROLL, element

    env = dict(lifter.frame.env)
    result: Any
    body = node.value if isinstance(node, ast.DictComp) else node.elt
    first = node.generators[0]
    iterable = evaluate(lifter, first.iter)
    known = isinstance(iterable, Sequence) and 0 < len(iterable.items) <= UNROLL * 2
    if known and len(node.generators) == 1 and not first.ifs and not isinstance(node, ast.DictComp):
        items = []
        for item in iterable.items:
            store(lifter, first.target, item)
            items.append(evaluate(lifter, body))
        result = Sequence(tuple(items), True)
    else:
        with lifter.scope():
            for generator in node.generators:
                over = iterable if generator is first else evaluate(lifter, generator.iter)
                store(lifter, generator.target, element(lifter, over, generator))
                for test in generator.ifs:
                    lifter.assume(evaluate(lifter, test), True)
            result = Many(evaluate(lifter, body))
    lifter.frame.env = env
    return result


def subscript(lifter: Lifter, node: ast.Subscript) -> Any:
    from nanlint.source.lift_objects import index

    return index(lifter, evaluate(lifter, node.value), node.slice, node)


def starred(lifter: Lifter, node: ast.Starred) -> Any:
    return evaluate(lifter, node.value)


def walrus(lifter: Lifter, node: ast.NamedExpr) -> Any:
    value = evaluate(lifter, node.value)
    store(lifter, node.target, value)
    return value


def lambda_(lifter: Lifter, node: ast.Lambda) -> Any:
    return Function(node, lifter.frame.owner, None, lifter.frame.env)


def yielding(lifter: Lifter, node: ast.Yield | ast.YieldFrom | ast.Await) -> Any:
    return evaluate(lifter, node.value) if node.value is not None else Const(None)


def text_value(lifter: Lifter, node: ast.JoinedStr) -> Any:
    for item in node.values:
        if isinstance(item, ast.FormattedValue):
            evaluate(lifter, item.value)
    return Const("", True)


def calling(lifter: Lifter, node: ast.Call) -> Any:
    from nanlint.source.lift_calls import call

    return call(lifter, node)


def store(lifter: Lifter, target: ast.expr, value: Any) -> None:
    """Bind a value to an assignment target."""
    from nanlint.source.lift_objects import store_attribute, store_item

    if isinstance(target, ast.Name):
        if isinstance(value, Unknown) and value.kind is None and value.id is None and used_as_tensor(lifter, target.id):
            value.kind = "tensor"
        remember_role(lifter, value, target.id)
        lifter.frame.env[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, (item, part) in enumerate(zip(target.elts, unpacked(lifter, value, target))):
            store(lifter, item.value if isinstance(item, ast.Starred) else item, part)
            del position
    elif isinstance(target, ast.Attribute):
        store_attribute(lifter, target, value)
    elif isinstance(target, ast.Subscript):
        store_item(lifter, target, value)


def used_as_tensor(lifter: Lifter, name: str) -> bool:
    """The function at hand goes on to use the name as a tensor."""
    from nanlint.source.lift_functions import hinted

    node = getattr(lifter.frame, "node", None)
    return node is not None and name in hinted(lifter.module, node)[0]


def remember_role(lifter: Lifter, value: Any, name: str) -> None:
    """A value is first known by this name."""
    if isinstance(value, Unknown):
        if value.id is None and value.leaf == "opaque" and not value.evidence:
            value.evidence = name
            value.kind = value.kind
        elif value.id is not None:
            lifter.roles.setdefault(value.id, name)
    elif isinstance(value, (Tensor, Number)):
        lifter.roles.setdefault(value.id, name)


def unpacked(lifter: Lifter, value: Any, target: ast.Tuple | ast.List) -> list[Any]:
    """The parts that an unpacking assigns."""
    from nanlint.source.lift_objects import size_of

    count = len(target.elts)
    star = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
    if isinstance(value, Sequence):
        items = list(value.items)
        if star is not None and len(items) >= count - 1:
            middle = len(items) - count + 1
            return [*items[:star], Sequence(tuple(items[star : star + middle]), True), *items[star + middle :]]
        if len(items) == count:
            return items
    if isinstance(value, Many):
        return [value.item] * count
    if isinstance(value, Method) and value.name == "shape":
        if star is None:
            id = lifter.id_of(value.owner)
            if id is not None:
                leaf = lifter.root(id)
                if leaf == id:
                    lifter.graph.amend(leaf, params=(*lifter.graph[leaf].params, ("rank", count)))
            return [size_of(lifter, value.owner, i, t) for i, t in enumerate(target.elts)]
        return [size_of(lifter, value.owner, i if i < star else i - count, t) for i, t in enumerate(target.elts)]
    if lifter.is_tensor(value) and star is None:
        id = lifter.id_of(value)
        if id is not None:
            return [Tensor(lifter.emit("index", (id,), {"spec": (i,)}, t)) for i, t in enumerate(target.elts)]
    text = value.text if isinstance(value, (Unknown, Method)) else lifter.text(target)
    parts: list[Any] = []
    for i, item in enumerate(target.elts):
        named_part = lifter.text(item.value if isinstance(item, ast.Starred) else item)
        parts.append(lifter.opaque(item, text=named_part if named_part.isidentifier() else f"{text}[{i}]"))
    return parts


EXPRESSIONS: dict[type, Callable[[Lifter, Any], Any]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.BoolOp: boolean,
    ast.Compare: compare,
    ast.IfExp: conditional,
    ast.Tuple: sequence,
    ast.List: sequence,
    ast.Dict: table,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.SetComp: comprehension,
    ast.DictComp: comprehension,
    ast.Subscript: subscript,
    ast.Starred: starred,
    ast.NamedExpr: walrus,
    ast.Lambda: lambda_,
    ast.Yield: yielding,
    ast.YieldFrom: yielding,
    ast.Await: yielding,
    ast.JoinedStr: text_value,
    ast.Call: calling,
}
