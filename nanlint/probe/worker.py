"""The probe worker: one self-contained program that runs slices of a value graph in torch and tries to break them.

Run as `python worker.py` by any interpreter (3.8 or later) that has torch (2.0 or later); it imports nothing of nanlint.
It reads one JSON request a line on stdin and answers one JSON object a line on stdout:

    {"do": "hello"}                                         -> {"torch": "2.13.0", "python": "3.11.2", ...}
    {"do": "probe", "slice": {...}, "seconds": 2.0}          -> {"verdict": "broken", "guilty": 3, "inputs": {...}, ...}
    {"do": "replay", "frozen": {...}}                        -> the same answer again
    {"do": "compare", "old": ..., "new": ..., "frozen": ...} -> {"agrees_on": 120, "worst_relative_error": 1e-7, ...}
    {"do": "quit"}

No text is ever evaluated. A `call` is one attribute of a fixed list of roots, and that attribute must itself be on the list:
the tensor functions of torch (never `torch.load`, `torch.ops`, ...), pure methods of torch.Tensor, arithmetic of `operator`
and `math`, and the builtin words below (`WORDS`). A slice therefore cannot read a file, start a process or open a socket.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Dict, NamedTuple, Tuple

if __name__ == "__main__":  # its own folder must not shadow what torch imports
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != os.path.dirname(os.path.abspath(__file__))]

import torch
import torch.nn.functional

Json = Dict[str, Any]  # noqa: UP006
Values = Dict[int, Any]  # noqa: UP006
Feed = Values
INF = float("inf")

# ---------------------------------------------------------------------------------------------------------------- calls

DENIED = frozenset(
    ["from_file", "load", "save", "compile", "hub", "ops", "jit", "fork", "wait", "from_numpy", "frombuffer", "set_", "resize_", "resize_as_", "map_", "map2_", "apply_", "numpy", "share_memory_", "storage", "untyped_storage", "data_ptr", "backward", "register_hook", "retain_grad", "pin_memory", "cuda", "to_dlpack", "module_load", "tolist_", "share_memory", "is_shared", "storage_type", "requires_grad_", "detach_", "set_grad_enabled"]
)
PROPERTIES = frozenset(["T", "mT", "H", "mH", "real", "imag", "data"])
ARITHMETIC = frozenset(
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "matmul", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "not_", "inv", "invert", "truth"]
)
MATHS = frozenset(n for n in dir(math) if n[0] != "_" and n not in ("factorial", "comb", "perm"))
ROOTS: dict[str, Any] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
    "torch.fft": torch.fft,
    "torch.Tensor": torch.Tensor,
    "operator": operator,
    "math": math,
}
TENSOR_FUNCTIONS = frozenset(dir(torch._C._VariableFunctions)) | frozenset(torch.functional.__all__)
CONVERSIONS = {"half": "float16", "float": "float32", "bfloat16": "bfloat16", "double": "float64"}


class Denied(Exception):
    """A call that is not on the list."""


def is_allowed(root: str, name: str, found: Any) -> bool:
    """Whether a slice may call this attribute of this root."""
    if name in DENIED or name.startswith("_") or not name.isidentifier():
        return False
    if root == "torch":
        return name in TENSOR_FUNCTIONS or name == "tensor"
    if root == "operator":
        return name in ARITHMETIC
    if root == "math":
        return name in MATHS and callable(found)
    if root == "torch.Tensor":
        return name in PROPERTIES or isinstance(found, (types.FunctionType, types.MethodDescriptorType))
    if isinstance(found, types.FunctionType):
        return str(found.__module__).startswith(("torch.nn.functional", "torch._jit_internal"))
    return isinstance(found, types.BuiltinFunctionType)


def resolve(call: str) -> Callable[..., Any]:
    """The function that `call` names; Denied if it is not on the list."""
    root, _, name = call.rpartition(".")
    if root not in ROOTS or not hasattr(ROOTS[root], name):
        raise Denied(f"unknown call {call!r}")
    found = getattr(ROOTS[root], name)
    if not is_allowed(root, name, found):
        raise Denied(f"{call!r} may not be called")
    if root == "torch.Tensor" and name in PROPERTIES:
        return lambda x: getattr(x, name)
    if name == "pow" and root == "operator":
        return power
    if root == "torch.Tensor" and name.endswith("_"):
        return lambda x, *rest, **more: found(x.clone(), *rest, **more)
    return found  # type: ignore[no-any-return]


def power(a: Any, b: Any) -> Any:
    """a ** b; large whole powers of whole Python numbers are refused, since they never end."""
    if isinstance(a, int) and isinstance(b, int) and abs(b) > 4096:
        raise OverflowError("whole power too large")
    return a**b


# --------------------------------------------------------------------------------------------------------------- dtypes

FLOATS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
HALVES = frozenset(d for d in (torch.float16, torch.bfloat16, *(getattr(torch, n, None) for n in ("float8_e4m3fn", "float8_e5m2"))) if d)
NARROW_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32)


def dtype_named(name: Any, default: str = "float32") -> Any:
    """The torch dtype of this name; `?`, unknown names and `number` give the default."""
    found = getattr(torch, str(name), None) if isinstance(name, str) and name.isidentifier() else None
    return found if isinstance(found, torch.dtype) else getattr(torch, default)


def widened(dtype: Any) -> Any:
    """The dtype of the shadow run: float64, int64, complex128."""
    if dtype.is_complex:
        return torch.complex128
    if dtype.is_floating_point:
        return torch.float64
    return torch.int64 if dtype in NARROW_INTEGERS else dtype


def number(value: Any) -> Any:
    """JSON has no infinities: they come as the strings inf, -inf and nan."""
    return float(value) if value in ("inf", "-inf", "nan", "Infinity", "-Infinity", "NaN") else value


# -------------------------------------------------------------------------------------------------------------- program

LEAVES = frozenset({"input", "parameter", "opaque"})
IDENTITIES = frozenset({"carry", "reshape_unknown", "identity"})
INDEXED = frozenset(
    ["gather", "scatter", "scatter_add", "scatter_reduce", "take_along_dim", "index_select", "index_add", "index_copy", "index_fill", "embedding", "one_hot", "take", "nll_loss", "cross_entropy", "bincount"]
)
KEEPS_INDEX = frozenset(["cast", "unsqueeze", "squeeze", "view", "reshape", "expand", "expand_as", "repeat", "flatten", "permute", "transpose", "t", "index", "carry", "assume", "clone", "contiguous"])


class Failure:
    """The value of a node that could not be computed; `rejected` = the feed was not meant to come this far."""

    __slots__ = ("at", "error", "rejected")

    def __init__(self, error: str, rejected: bool, at: int) -> None:
        self.error, self.rejected, self.at = error, rejected, at


class Leaf:
    """One value to be fed: a tensor or a Python number in [low, high]."""

    def __init__(self, node: Json, default: str) -> None:
        self.id: int = node["id"]
        self.name: str = str(node.get("name") or node.get("text") or f"value {self.id}")
        dtype = node.get("dtype")
        self.number = node.get("kind") == "number" or (node.get("kind") is None and dtype == "number")
        self.dtype = dtype_named(dtype, default)
        if isinstance(dtype, str) and dtype == "bool":
            self.dtype = torch.bool
        self.boolean = self.dtype == torch.bool
        self.floating = self.dtype.is_floating_point or self.dtype.is_complex
        self.integer = bool(node.get("integer")) or (not self.floating and not self.boolean)
        self.role: str = str(node.get("role") or "")
        self.rank: int | None = node.get("rank")
        self.sizes = {int(k): int(v) for k, v in (node.get("sizes") or {}).items()}
        self.grad = bool(node.get("grad", True)) and self.floating and not self.number
        self.zeros = node.get("init") == "zeros"
        self.rows = node.get("unit") == "rows"
        self.mask = self.boolean or self.role == "mask"
        self.stated = node.get("low") is not None or node.get("high") is not None
        self.low, self.high = self.ends(node)
        self.nonzero = bool(node.get("nonzero")) or bool(node.get("positive"))
        if node.get("positive"):
            self.low = max(self.low, 0.0)
        self.index = False

    def ends(self, node: Json) -> tuple[float, float]:
        """The finite ends of the range that is fed: what is unbounded is cut to what training really holds."""
        cap = 300.0 if self.dtype == torch.float16 else 1e3
        if self.number and not self.floating:
            cap = 8.0
        low, high = number(node.get("low")), number(node.get("high"))
        lo = -cap if low is None or low == -INF else float(low)
        hi = cap if high is None or high == INF else float(high)
        if self.role == "mask" or self.boolean:
            return 0.0, 1.0
        if self.number and low is None:
            lo = 1.0 if self.integer else min(1e-3, hi)
        elif self.integer and low is None:
            lo = 0.0 if hi >= 0 else hi - cap
        if self.dtype.is_floating_point and not self.number:
            top = torch.finfo(self.dtype).max
            lo, hi = max(lo, -top), min(hi, top)
        if lo > hi:
            lo, hi = (hi - cap, hi) if low is None or low == -INF else (lo, lo + cap)
        return lo, hi

    def fits(self, value: float) -> bool:
        """Whether this value may be fed."""
        if not self.low <= value <= self.high:
            return False
        if self.nonzero and (value == 0 or (self.floating and not self.number and float(torch.tensor(value, dtype=self.dtype)) == 0)):
            return False
        return not self.integer or float(value).is_integer()

    def nearest(self, value: float) -> float:
        """The value nearest to this one that may be fed."""
        value = min(max(value, self.low), self.high)
        if self.integer:
            value = min(max(float(round(value)), math.ceil(self.low)), math.floor(self.high))
        if not self.fits(value):
            for other in (1.0, 0.5, 0.1, 1e-2, 1e-4, self.high, self.low, -1.0):
                if self.fits(other):
                    return other
        return value


class Step:
    """One node, ready to run."""

    def __init__(self, node: Json, default: str) -> None:
        self.id: int = node["id"]
        self.op: str = node["op"]
        self.args: list[int | None] = list(node.get("args") or ())
        while self.args and self.args[-1] is None and self.op != "phi":
            self.args.pop()
        self.params: Json = {k: v for k, v in (node.get("params") or {}).items() if k[0] != "_" and k != "count_min"}
        self.default = default
        self.call = str(node.get("call") or self.op)
        self.denied = ""
        self.word = WORDS.get(self.call) or WORDS.get(self.op)
        self.function: Any = None
        if self.op not in LEAVES and self.op != "const" and self.word is None:
            try:
                self.function = resolve(self.call if "." in self.call else "torch." + self.call)
            except Denied as error:
                self.denied = str(error)
        self.value = constant_value(node.get("value")) if self.op == "const" else None
        self.spread = next((k for k in self.params if k.startswith("*")), None)
        self.reads = list(dict.fromkeys([a for a in self.args if a is not None] + list(references(self.params))))
        self.infinite = any(is_infinite(v) for v in scalars(self.params))
        self.conversion = self.call.startswith("torch.Tensor.") and CONVERSIONS.get(self.call.rpartition(".")[2])


def constant_value(value: Any) -> Any:
    """A constant of the source; infinities come as strings."""
    return number(value) if isinstance(value, str) else value


def references(value: Any) -> Iterator[int]:
    """The node ids inside a parameter value."""
    if isinstance(value, dict):
        if "$" in value:
            yield int(value["$"])
        else:
            for item in value.values():
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def scalars(value: Any) -> Iterator[Any]:
    """The plain values inside a parameter value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from scalars(item)
    else:
        yield value


def is_infinite(value: Any) -> bool:
    """Whether a parameter is an infinity or NaN that the source states."""
    value = number(value) if isinstance(value, str) else value
    return isinstance(value, float) and not math.isfinite(value)


class Program:
    """A slice, its calls resolved."""

    def __init__(self, data: Json) -> None:
        self.data = data
        self.dtype = str(data.get("dtype") or "float32")
        if self.dtype not in FLOATS:
            self.dtype = "float32"
        self.steps: list[Step] = []
        self.leaves: list[Leaf] = []
        for node in data["nodes"]:
            if node["op"] in LEAVES:
                self.leaves.append(Leaf(node, self.dtype))
            self.steps.append(Step(node, self.dtype))
        self.by_id = {s.id: s for s in self.steps}
        self.outputs: list[int] = [o for o in data.get("outputs") or () if o in self.by_id] or [self.steps[-1].id]
        self.suspect: int = data.get("suspect", -1)
        self.phase = str(data.get("phase") or "forward")
        self.backward = bool(data.get("backward", True))
        self.tensors = [leaf for leaf in self.leaves if not leaf.number]
        self.choices = any(s.op == "phi" for s in self.steps)
        self.seed = int(hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8], 16)
        self.needed = self.ancestors(self.outputs)
        self.feeding = {s.id: frozenset(i for i in self.ancestors([s.id]) if i in {leaf.id for leaf in self.leaves}) for s in self.steps}
        self.mark_indices()

    def ancestors(self, ids: list[int]) -> frozenset[int]:
        """The nodes that these read, directly or not, and they themselves."""
        found, todo = set(ids), list(ids)
        while todo:
            for other in self.by_id[todo.pop()].reads:
                if other not in found and other in self.by_id:
                    found.add(other)
                    todo.append(other)
        return frozenset(found)

    def mark_indices(self) -> None:
        """Whole-number leaves that choose an element must stay below the size of the axis."""
        leaves = {leaf.id: leaf for leaf in self.tensors if not leaf.floating and not leaf.boolean}
        for step in self.steps:
            if step.op in INDEXED or step.op in ("index", "index_put"):
                first = 0 if step.op in ("one_hot", "bincount", "embedding") else 1
                for read in step.reads[first:] if step.args else step.reads:
                    seen = read
                    while seen not in leaves and seen in self.by_id and self.by_id[seen].op in KEEPS_INDEX and self.by_id[seen].reads:
                        seen = self.by_id[seen].reads[0]
                    if seen in leaves:
                        leaves[seen].index = True


# ------------------------------------------------------------------------------------------------------------ execution


class Context(NamedTuple):
    """How a slice is run: `phi` chooses arms bit by bit, `shadow` runs in float64, `lenient` ignores assumptions."""

    seed: int = 0
    phi: int = 0
    shadow: bool = False
    lenient: bool = False


def decode(value: Any, values: Values, step: Step, key: str = "") -> Any:
    """A parameter as torch wants it: references replaced, slices, ellipses and dtypes made."""
    if isinstance(value, dict):
        if "$" in value:
            found = values[int(value["$"])]
            if isinstance(found, Failure):
                raise Poisoned(found)
            return found
        if "slice" in value:
            return slice(*(as_index(decode(v, values, step)) for v in value["slice"]))
        if "dtype" in value:
            return dtype_named(value["dtype"], step.default)
        return {k: decode(v, values, step, k) for k, v in value.items()}
    if isinstance(value, list):
        if key == "spec" and len(value) == 4 and value[0] == "slice":
            return slice(*(as_index(decode(v, values, step)) for v in value[1:]))
        return [decode(v, values, step, key) for v in value]
    if isinstance(value, str):
        if key == "dtype":
            return dtype_named(value, step.default)
        if key == "spec":
            return Ellipsis if value == "..." else value
        return number(value)
    return value


def as_index(value: Any) -> Any:
    """A bound of a slice as a Python int."""
    return value if value is None or isinstance(value, int) else int(value)


class Poisoned(Exception):
    """An operand could not be computed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error)
        self.failure = failure


class Rejected(Exception):
    """The feed contradicts an assumption of the source."""


def word_identity(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0]


def word_carry_out(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[-1]


def word_detach(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0].detach() if isinstance(args[0], torch.Tensor) else args[0]


def word_index(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    spec = params.get("spec", args[1] if len(args) > 1 else None)
    return args[0][tuple(spec) if isinstance(spec, list) else spec]


def word_index_put(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    spec = params["spec"]
    result = args[0].clone()
    value = args[1]
    if isinstance(value, torch.Tensor) and value.dtype != result.dtype:
        value = value.to(result.dtype)
    result[tuple(spec) if isinstance(spec, list) else spec] = value
    return result


def word_size(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    dim, x = params.get("dim"), args[0]
    if isinstance(x, (tuple, list)):
        return len(x)
    if not isinstance(x, torch.Tensor):
        return 1
    if dim is None:
        return x.numel()
    if dim in ("ndim", "rank"):
        return x.dim()
    if dim == "shape":
        return tuple(x.shape)
    return x.size(0) if dim == "len" else x.size(dim)


def word_tuple(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return tuple(args)


def word_item(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    return args[0][params.get("index", 0)]


def word_cast(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    dtype = params.get("dtype")
    x = args[0]
    if not isinstance(dtype, torch.dtype):
        dtype = dtype_named(dtype, step.default)
    if not isinstance(x, torch.Tensor):
        return float(x) if dtype.is_floating_point else int(x)
    return x.to(widened(dtype) if context.shadow else dtype)


def word_phi(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    cond, arms = args[0], args[1:]
    known = truth(cond) if cond is not None and not isinstance(cond, Failure) else None
    if known is None:
        order = list(arms)
        if (context.phi >> (step.id % 8)) & 1:
            order.reverse()
        return next((a for a in order if not isinstance(a, Failure)), order[0])
    return arms[0] if known else arms[-1]


def word_assume(step: Step, args: list[Any], params: Json, context: Context) -> Any:
    if len(args) > 1 and args[1] is not None and not context.lenient:
        holds, cond = bool(params.get("holds", True)), args[1]
        if isinstance(cond, torch.Tensor):
            if not bool(((cond != 0) == holds).all()):
                raise Rejected("an assumption of the source does not hold")
        elif bool(cond) != holds:
            raise Rejected("an assumption of the source does not hold")
    return args[0]


def truth(cond: Any) -> bool | None:
    """The truth of a Python-level condition, None where it has none."""
    try:
        return bool(cond)
    except (RuntimeError, ValueError, TypeError):
        return None


WORDS: dict[str, Callable[[Step, list[Any], Json, Context], Any]] = {
    **dict.fromkeys(IDENTITIES, word_identity),
    "carry_out": word_carry_out,
    "detach": word_detach,
    "nograd": word_detach,
    "index": word_index,
    "index_put": word_index_put,
    "size": word_size,
    "tuple": word_tuple,
    "item": word_item,
    "cast": word_cast,
    "phi": word_phi,
    "assume": word_assume,
}


def execute(step: Step, values: Values, context: Context) -> Any:
    """The value of one node; a Failure where it has none."""
    if step.op == "const":
        return step.value
    try:
        args = []
        for a in step.args:
            v = None if a is None else values.get(a)
            if isinstance(v, Failure) and step.op != "phi":
                return v
            args.append(v)
        if step.op == "phi" and any(a is None for a in step.args[1:]):
            args = args[:1] + [v for a, v in zip(step.args[1:], args[1:]) if a is not None]
        params = {k: decode(v, values, step, k) for k, v in step.params.items()}
        if context.shadow and isinstance(params.get("dtype"), torch.dtype) and step.word is None:
            params["dtype"] = widened(params["dtype"])
        if step.denied:
            raise Denied(step.denied)
        if step.word is not None:
            return step.word(step, args, params, context)
        if context.shadow and step.conversion:
            return args[0].to(torch.float64)
        result = invoke(step, args, params)
        return deepened(result) if context.shadow else result
    except Poisoned as poison:
        return poison.failure
    except (Rejected, ZeroDivisionError, OverflowError) as error:
        return Failure(str(error), True, step.id)
    except Exception as error:  # torch raises whatever it likes
        return Failure(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300], False, step.id)


def invoke(step: Step, args: list[Any], params: Json) -> Any:
    """Call the node's function; what a CPU build lacks for half types is computed in float32 and rounded."""
    if step.spread is not None:
        rest = params.pop(step.spread)
        args = args + (list(rest) if isinstance(rest, (list, tuple)) else [rest])
    try:
        return step.function(*args, **params)
    except RuntimeError as error:
        if "not implemented for" not in str(error) or not any(isinstance(a, torch.Tensor) and a.dtype in HALVES for a in args):
            raise
        half = next(a.dtype for a in args if isinstance(a, torch.Tensor) and a.dtype in HALVES)
        up = [a.float() if isinstance(a, torch.Tensor) and a.dtype in HALVES else a for a in args]
        result = step.function(*up, **params)
        return result.to(half) if isinstance(result, torch.Tensor) and result.dtype == torch.float32 else result
    except TypeError:
        if not args or not isinstance(args[0], (int, float)) or step.call.startswith(("operator", "math")):
            raise
        tensors = [torch.tensor(a) if isinstance(a, (int, float)) and not isinstance(a, bool) and i == 0 else a for i, a in enumerate(args)]
        return step.function(*tensors, **params)


def deepened(result: Any) -> Any:
    """A result of the shadow run in the dtypes of the shadow run."""
    if isinstance(result, torch.Tensor):
        wide = widened(result.dtype)
        return result if result.dtype == wide else result.to(wide)
    if isinstance(result, (tuple, list)):
        return tuple(deepened(r) for r in result)
    return result


def run(program: Program, feed: Feed, context: Context = Context()) -> Values:
    """The value of every node on this feed."""
    torch.manual_seed(context.seed)
    values: Values = {}
    for step in program.steps:
        if step.op in LEAVES:
            value = feed[step.id]
            values[step.id] = deepened(value) if context.shadow else value
        else:
            values[step.id] = execute(step, values, context)
    return values


def tensors_in(value: Any) -> list[Any]:
    """The floating tensors of a value, tuples opened."""
    if isinstance(value, torch.Tensor):
        return [value] if value.dtype.is_floating_point or value.dtype.is_complex else []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    return []


def is_finite(value: Any) -> bool:
    """Whether no number in this value is NaN or infinite."""
    if isinstance(value, torch.Tensor):
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            return True
        return bool(torch.isfinite(value.float() if value.dtype in HALVES and value.element_size() == 1 else value).all())
    if isinstance(value, (tuple, list)):
        return all(is_finite(v) for v in value)
    return not isinstance(value, float) or math.isfinite(value)


def has_nan(value: Any) -> bool:
    """Whether some number in this value is NaN."""
    if isinstance(value, torch.Tensor):
        return bool(torch.isnan(value).any()) if value.dtype.is_floating_point or value.dtype.is_complex else False
    if isinstance(value, (tuple, list)):
        return any(has_nan(v) for v in value)
    return isinstance(value, float) and math.isnan(value)


# -------------------------------------------------------------------------------------------------------------- oracles


class Break(NamedTuple):
    """A feed broke the slice: in which phase, at which node, and what came of it."""

    phase: str
    guilty: int
    becomes: str


class Unusable(Exception):
    """The slice gave no value on this feed."""

    def __init__(self, failure: Failure | None) -> None:
        super().__init__(failure.error if failure else "no floating output")
        self.rejected = failure.rejected if failure else False


def with_gradient(program: Program, feed: Feed) -> Feed:
    """The feed with its floating leaves asking for a gradient."""
    if not program.backward:
        return feed
    ready = dict(feed)
    for leaf in program.tensors:
        if leaf.grad:
            ready[leaf.id] = feed[leaf.id].detach().requires_grad_()
    return ready


def usable_outputs(program: Program, values: Values) -> list[Any]:
    """The values of the outputs that could be computed; Unusable if there are none."""
    found = [values[o] for o in program.outputs if not isinstance(values[o], Failure)]
    if not found:
        failures = [values[o] for o in program.outputs]
        raise Unusable(next((f for f in failures if not f.rejected), failures[0]))
    return found


def judge(program: Program, feed: Feed, context: Context) -> Break | None:
    """How this feed breaks the slice, or None; Unusable if it cannot be run."""
    values = run(program, with_gradient(program, feed), context)
    outputs = usable_outputs(program, values)
    if not all(is_finite(o) for o in outputs):
        guilty = guilty_forward(program, values)
        if guilty is not None:
            return Break("forward", guilty, kind_of(values[guilty]))
    if program.backward:
        found = broken_gradient(program, feed, values, outputs, context)
        if found is not None:
            return found
    if program.phase == "precision" or overflows(program, values):
        return wrong_value(program, feed, values, context)
    return None


def kind_of(value: Any) -> str:
    """What a bad value is: nan, inf or -inf."""
    if has_nan(value):
        return "nan"
    flat = tensors_in(value)
    if flat:
        return "inf" if any(bool((t.real if t.is_complex() else t).eq(INF).any()) for t in flat) else "-inf"
    return "inf" if isinstance(value, float) and value > 0 else "-inf"


def guilty_forward(program: Program, values: Values) -> int | None:
    """The first node that made a bad value of good operands and whose result reaches a bad output.

    An infinity that the source states (a mask filled with -inf) is good; a NaN made of it is not.
    """
    bad = {o for o in program.outputs if not isinstance(values[o], Failure) and not is_finite(values[o])}
    todo, culprits = list(bad), []
    while todo:
        step = program.by_id[todo.pop()]
        if step.op in LEAVES or step.op == "const":
            continue
        worse = [r for r in step.reads if not isinstance(values.get(r), Failure) and not is_finite(values.get(r))]
        if has_nan(values[step.id]):
            if not any(has_nan(values[r]) for r in worse):
                culprits.append(step.id)
        elif not worse and not step.infinite:
            culprits.append(step.id)
        for r in worse:
            if r not in bad:
                bad.add(r)
                todo.append(r)
    if program.suspect in culprits:
        return program.suspect
    order = {s.id: i for i, s in enumerate(program.steps)}
    return min(culprits, key=lambda i: order[i]) if culprits else None


def seeds(outputs: list[Any]) -> list[Any]:
    """The gradient that is fed to each output: nearly 1, not quite alike, so that sums do not cancel."""
    return [
        torch.ones_like(o) if o.numel() <= 1 or o.is_complex()
        else (1 + 0.25 * torch.cos(torch.arange(o.numel(), dtype=torch.float32))).reshape(o.shape).to(o.dtype)
        for o in outputs
    ]


def gradients(program: Program, values: Values, outputs: list[Any]) -> dict[int, Any]:
    """The gradient of every floating leaf that has one."""
    roots = [t for o in outputs for t in tensors_in(o) if t.requires_grad]
    leaves = [leaf.id for leaf in program.tensors if leaf.grad and values[leaf.id].requires_grad]
    if not roots or not leaves:
        return {}
    try:
        found = torch.autograd.grad(roots, [values[i] for i in leaves], seeds(roots), allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return {}
    return {i: g for i, g in zip(leaves, found) if g is not None}


def broken_gradient(program: Program, feed: Feed, values: Values, outputs: list[Any], context: Context) -> Break | None:
    """The break of the backward pass, if a leaf receives a gradient that is not finite."""
    bad = [g for g in gradients(program, values, outputs).values() if not is_finite(g)]
    if not bad:
        return None
    becomes = "nan gradient" if any(has_nan(g) for g in bad) else f"{kind_of(bad[0])} gradient"
    return Break("backward", guilty_backward(program, feed, context), becomes)


def local_operands(step: Step, values: Values) -> tuple[Values, list[tuple[int, int]], list[Any]]:
    """The operands of a node as fresh leaves, where each came from, and the leaves themselves."""
    fresh, origin, leaves = dict(values), [], []
    for r in step.reads:
        value = values[r]
        parts = list(value) if isinstance(value, (tuple, list)) else [value]
        for i, part in enumerate(parts):
            if isinstance(part, torch.Tensor) and (part.dtype.is_floating_point or part.dtype.is_complex):
                parts[i] = part.detach().requires_grad_()
                origin.append((r, i))
                leaves.append(parts[i])
        fresh[r] = tuple(parts) if isinstance(value, (tuple, list)) else parts[0]
    return fresh, origin, leaves


def guilty_backward(program: Program, feed: Feed, context: Context) -> int:
    """The node nearest to the outputs whose backward turns a finite gradient into one that is not, node by node."""
    with torch.no_grad():
        values = run(program, feed, context)
    grads: dict[tuple[int, int], Any] = {}
    outputs = [o for o in program.outputs if not isinstance(values[o], Failure)]
    for o in dict.fromkeys(outputs):
        parts = values[o] if isinstance(values[o], (tuple, list)) else [values[o]]
        for i, part in enumerate(parts):
            for g in seeds(tensors_in(part)):
                grads[(o, i)] = g
    culprits = []
    for step in reversed(program.steps):
        mine = {i: g for (n, i), g in grads.items() if n == step.id}
        if not mine or step.op in LEAVES or step.op == "const":
            continue
        fresh, origin, leaves = local_operands(step, values)
        torch.manual_seed(context.seed)
        out = execute(step, fresh, context)
        parts = list(out) if isinstance(out, (tuple, list)) else [out]
        pairs = [(parts[i], g) for i, g in mine.items() if i < len(parts) and isinstance(parts[i], torch.Tensor) and parts[i].requires_grad]
        if not pairs or not leaves:
            continue
        try:
            found = torch.autograd.grad([p for p, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True)
        except (RuntimeError, NotImplementedError):
            continue
        if all(is_finite(g) for _, g in pairs) and not all(g is None or is_finite(g) for g in found):
            culprits.append(step.id)
        for key, g in zip(origin, found):
            if g is not None:
                grads[key] = grads[key] + g if key in grads else g
    if program.suspect in culprits or not culprits:
        return program.suspect
    return culprits[0]


def overflows(program: Program, values: Values) -> bool:
    """Whether some node that the outputs read became infinite from finite operands."""
    for step in program.steps:
        value = values[step.id]
        if step.id in program.needed and isinstance(value, (torch.Tensor, tuple)) and not isinstance(value, Failure) and not is_finite(value):
            if not step.infinite and all(is_finite(values[r]) for r in step.reads if not isinstance(values[r], Failure)):
                return True
    return False


def precision_of(values: Values) -> tuple[float, float, float]:
    """The relative error that is too much, the size below which a value counts as nothing, and the working epsilon."""
    dtypes = {t.dtype for v in values.values() for t in tensors_in(v)}
    if dtypes & HALVES:
        narrow = max((d for d in dtypes & HALVES), key=lambda d: torch.finfo(d).eps)
        return 0.05, 1e-3 if narrow == torch.float16 else 1e-2, float(torch.finfo(narrow).eps)
    return 1e-2, 1e-6, float(torch.finfo(torch.float32).eps)


def wide(value: Any) -> Any:
    """A tensor as real float64 numbers."""
    value = value.detach()
    return (torch.view_as_real(value) if value.is_complex() else value).double()


def perturbed(program: Program, feed: Feed, sign: int) -> Feed:
    """The feed in float64 with every floating number moved by about one rounding error."""
    moved = dict(feed)
    for k, leaf in enumerate(program.tensors):
        if leaf.floating and not leaf.mask and not leaf.dtype.is_complex:
            x = feed[leaf.id].double()
            wave = torch.cos(torch.arange(x.numel(), dtype=torch.float64) * 2.4 + sign * 1.3 + k).reshape(x.shape)
            moved[leaf.id] = x * (1 + wave * torch.finfo(leaf.dtype).eps)
    return moved


def wrong_value(program: Program, feed: Feed, values: Values, context: Context) -> Break | None:
    """The break of value: finite, yet far from what float64 gives and from what rounding the inputs explains."""
    deep = context._replace(shadow=True)
    with torch.no_grad():
        shadow = run(program, feed, deep)
        limit, small, _ = precision_of(values)
        nudges = None
        for o in program.outputs:
            if isinstance(values[o], Failure) or isinstance(shadow[o], Failure):
                continue
            for i, (a, b) in enumerate(zip(every_tensor(values[o]), every_tensor(shadow[o]))):
                if a.shape != b.shape or not is_finite(a) or not is_finite(b):
                    continue
                a, b = wide(a), wide(b)
                error = (a - b).abs()
                if not bool((error > limit * b.abs().clamp(min=small)).any()):
                    continue
                if nudges is None:
                    nudges = [run(program, perturbed(program, feed, s), deep) for s in (0, 1, 2)]
                spread = max_spread(nudges, o, i, b)
                ratio = error / b.abs().clamp(min=small)
                ratio = torch.where(error > 16 * spread, ratio, torch.zeros_like(ratio))
                if bool((ratio > limit).any()):
                    at = int(ratio.reshape(-1).argmax())
                    becomes = f"{digits(float(a.reshape(-1)[at]))} instead of {digits(float(b.reshape(-1)[at]))}"
                    return Break("value", guilty_value(program, values, shadow, limit, small), becomes)
    return None


def every_tensor(value: Any) -> list[Any]:
    """The tensors of a value that hold numbers, whole numbers included, tuples opened."""
    if isinstance(value, torch.Tensor):
        return [] if value.dtype == torch.bool else [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in every_tensor(v)]
    return []


def max_spread(nudges: list[Values], output: int, index: int, reference: Any) -> Any:
    """How far the shadow itself moves when the inputs are rounded otherwise."""
    spread = torch.zeros_like(reference)
    for values in nudges:
        if isinstance(values[output], Failure):
            continue
        found = every_tensor(values[output])
        if index < len(found) and wide(found[index]).shape == reference.shape:
            moved = (wide(found[index]) - reference).abs()
            spread = torch.maximum(spread, torch.nan_to_num(moved, nan=INF, posinf=INF))
    return spread


def guilty_value(program: Program, values: Values, shadow: Values, limit: float, small: float) -> int:
    """The first node that is far off though its operands are not."""

    def is_off(id: int) -> bool:
        a, b = values.get(id), shadow.get(id)
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype == torch.bool:
            return False
        if not is_finite(a):
            return is_finite(b)
        return bool(((wide(a) - wide(b)).abs() > limit * wide(b).abs().clamp(min=small)).any())

    off = {s.id for s in program.steps if s.id in program.needed and is_off(s.id)}
    first = [s.id for s in program.steps if s.id in off and not any(r in off for r in s.reads)]
    if program.suspect in first or not first:
        return program.suspect
    return first[0]


def digits(value: float) -> str:
    """A number in four significant digits."""
    text = f"{value:.4g}"
    return text if any(c in text for c in ".en") else text + ".0"


# -------------------------------------------------------------------------------------------------------------- layouts

Shape = Tuple[int, ...]  # noqa: UP006
MOST_ELEMENTS = 1 << 16
COMMON_RANKS = (2, 3, 1, 4, 0)
SIZES = (4, 3, 2, 6, 8, 1)


class Layout(NamedTuple):
    """A shape for every tensor leaf: 0 stands for the common size n; `reach` bounds index tensors."""

    n: int
    forms: tuple[Shape, ...]
    reach: int

    def shapes(self, program: Program) -> dict[int, Shape]:
        """The shape of each leaf."""
        found = {}
        for leaf, form in zip(program.tensors, self.forms):
            shape = [d or self.n for d in form]
            for dim, size in leaf.sizes.items():
                if -len(shape) <= dim < len(shape):
                    shape[dim] = size
            found[leaf.id] = tuple(shape)
        return found


def hinted_sizes(program: Program) -> list[int]:
    """Sizes that the slice itself speaks of: constants in shapes, positions in an index."""
    found: list[int] = []
    for step in program.steps:
        items = [step.value] if step.op == "const" else list(scalars(step.params))
        for v in items:
            if isinstance(v, int) and not isinstance(v, bool) and 4 < v <= 512:
                found.append(v)
        if step.op == "index":
            found += [v + 1 for v in items if isinstance(v, int) and not isinstance(v, bool) and 4 <= v < 512]
    return list(dict.fromkeys(found))[:6]


class Trial(NamedTuple):
    """What one layout gave: how good it is, whether every output ran, the first error and the node it happened at."""

    score: float
    whole: bool
    error: str
    at: int


def attempt(program: Program, layout: Layout) -> Trial:
    """Run the slice once in this layout on harmless values, assumptions ignored."""
    shapes = layout.shapes(program)
    if any(math.prod(s) > MOST_ELEMENTS for s in shapes.values()):
        return Trial(-1.0, False, "too large", -1)
    generator = torch.Generator().manual_seed(program.seed)
    feed = {leaf.id: harmless(leaf, shapes.get(leaf.id, ()), layout, generator) for leaf in program.leaves}
    with torch.no_grad():
        values = run(program, feed, Context(program.seed, 0, False, True))
    failures = [v for v in values.values() if isinstance(v, Failure)]
    whole = not any(isinstance(values[o], Failure) for o in program.outputs)
    some = any(not isinstance(values[o], Failure) for o in program.outputs)
    suspect = program.suspect not in values or not isinstance(values[program.suspect], Failure)
    score = len(values) - len(failures) + 1e3 * suspect + 1e4 * (some and suspect) + 1e5 * whole
    broken_conditions = sum(
        1 for s in program.steps
        if s.op == "assume" and len(s.args) > 1 and isinstance(values.get(s.args[1]), (bool, int)) and bool(values[s.args[1]]) != s.params.get("holds", True)
    )
    order = {s.id: i for i, s in enumerate(program.steps)}
    first = min(failures, key=lambda f: order.get(f.at, 0)) if failures else None
    return Trial(score - 0.5 * broken_conditions, whole and suspect, first.error if first else "", first.at if first else -1)


def harmless(leaf: Leaf, shape: Shape, layout: Layout, generator: Any) -> Any:
    """A value that breaks nothing, to try out shapes."""
    if leaf.number:
        return as_number(leaf, 2.0 if leaf.integer else 0.5)
    if leaf.boolean:
        mask = torch.ones(shape, dtype=torch.bool)
        return mask
    if leaf.index:
        return torch.randint(0, max(layout.reach, 1), shape, generator=generator).to(leaf.dtype)
    low, high = max(leaf.low, min(0.25, leaf.high)), min(leaf.high, max(0.9, leaf.low))
    values = torch.rand(shape, generator=generator) * max(high - low, 0.0) + low
    return (values.round() if leaf.integer else values).to(leaf.dtype)


def as_number(leaf: Leaf, value: float) -> Any:
    """A Python number that may be fed."""
    value = leaf.nearest(value)
    return int(value) if leaf.integer else float(value)


def form_of(leaf: Leaf, rank: int) -> Shape:
    """The all-alike shape of this rank, or of the rank that is known."""
    known = leaf.rank if leaf.rank is not None else rank
    deepest = max([(-d if d < 0 else d + 1) for d in leaf.sizes] or [0])
    return (0,) * max(known, deepest if leaf.rank is None else 0)


def moves(leaf: Leaf, form: Shape) -> Iterator[Shape]:
    """Shapes near this one."""
    if leaf.rank is None:
        for rank in (1, 2, 3, 4, 0, 5):
            if rank != len(form):
                yield (0,) * rank
    for i in range(len(form) - 1, -1, -1):
        for size in (1, 3, 2):
            if form[i] != size:
                yield form[:i] + (size,) + form[i + 1 :]


class Shaper:
    """The search for shapes in which the slice runs, bounded in tries and time."""

    def __init__(self, program: Program, until: float) -> None:
        self.program, self.until, self.left = program, until, 260
        self.best: tuple[Trial, Layout | None] = (Trial(-2.0, False, "", -1), None)
        self.seen: dict[Layout, Trial] = {}

    @property
    def over(self) -> bool:
        """Whether the search has to stop, by success or by its bounds."""
        return self.best[0].whole or self.left <= 0 or time.monotonic() > self.until

    def consider(self, layout: Layout) -> bool:
        """Try a layout; whether it is better than any before."""
        if self.over or layout in self.seen:
            return False
        self.left -= 1
        trial = self.seen[layout] = attempt(self.program, layout)
        if trial.score > self.best[0].score:
            self.best = (trial, layout)
            return True
        return False

    def uniform(self) -> None:
        """All leaves alike, every common rank and size."""
        hints = hinted_sizes(self.program)
        for n in (4, *[h for h in hints if h <= 16]):
            for rank in COMMON_RANKS:
                self.consider(Layout(n, tuple(form_of(leaf, rank) for leaf in self.program.tensors), n))
        for h in hints:
            for rank in COMMON_RANKS[:-1]:
                forms = tuple(form_of(leaf, rank) for leaf in self.program.tensors)
                self.consider(Layout(4, tuple(f[:-1] + (h,) if f else f for f in forms), 4))

    def sizes(self) -> None:
        """The best layout in other sizes."""
        layout = self.best[1]
        for n in (*hinted_sizes(self.program)[:4], 3, 2, 6, 8, 12, 1):
            if layout is not None and n <= 64:
                self.consider(layout._replace(n=n, reach=n))
        if layout is not None:
            self.consider(layout._replace(reach=2))
            self.consider(layout._replace(reach=1))

    def descend(self) -> None:
        """Change the leaves that feed the first failing node, one at a time, then two at a time."""
        while not self.over and self.best[1] is not None:
            trial, layout = self.best
            feeding = self.program.feeding.get(trial.at, frozenset())
            places = [i for i, leaf in enumerate(self.program.tensors) if leaf.id in feeding] or list(range(len(self.program.tensors)))
            if self.single(layout, places) or self.double(layout, places):
                continue
            before = self.best[1]
            self.sizes()
            for rank in (4, 3, 2, 1):
                self.single(Layout(layout.n, tuple(form_of(leaf, rank) for leaf in self.program.tensors), layout.reach), places)
            if self.best[1] is before:
                return

    def single(self, layout: Layout, places: list[int]) -> bool:
        """One leaf changed."""
        better = False
        for i in places:
            for form in moves(self.program.tensors[i], layout.forms[i]):
                better |= self.consider(layout._replace(forms=layout.forms[:i] + (form,) + layout.forms[i + 1 :]))
            if better:
                return True
        return False

    def double(self, layout: Layout, places: list[int]) -> bool:
        """Two leaves changed in rank."""
        for x in range(len(places)):
            for y in range(x + 1, len(places)):
                for a in (1, 2, 3, 4, 0):
                    for b in (1, 2, 3, 4, 0):
                        forms = list(layout.forms)
                        forms[places[x]] = form_of(self.program.tensors[places[x]], a)
                        forms[places[y]] = form_of(self.program.tensors[places[y]], b)
                        if self.consider(layout._replace(forms=tuple(forms))):
                            return True
        return False

    def find(self) -> tuple[Trial, Layout | None]:
        """The best layout, and what it gave."""
        self.uniform()
        if not self.over:
            self.descend()
        return self.best


SPREADS = frozenset({"std", "var", "std_mean", "var_mean"})


def variants(program: Program, layout: Layout) -> list[Layout]:
    """Further layouts worth feeding: short axes where the engine allows them, a long one where half sums matter."""
    suspect = program.by_id.get(program.suspect)
    lengths = list(program.data.get("lengths") or ())
    if not lengths and suspect is not None and suspect.op in SPREADS:
        lengths = [1]
    if program.phase == "precision" or dtype_named(program.dtype) in HALVES:
        lengths.append(24 if max((len(f) for f in layout.forms), default=1) > 2 else 96)
    others = [layout._replace(n=n, reach=max(min(n, layout.reach), 1)) for n in lengths if 0 <= n <= 4096]
    return [other for other in others if attempt(program, other).whole]


# ---------------------------------------------------------------------------------------------------------------- feeds

POOL = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-8, -1e-8, 1e-4, -1e-4, 17.0, -17.0, 89.0, -104.0, 1e3, -1e3, 3e4, -3e4)
SIMPLE = (1.0, 0.5, 0.0, -1.0, 2.0)
WHOLE = (0.0, 1.0, 2.0, 3.0, -1.0, 7.0, 255.0)


def pool(leaf: Leaf) -> list[float]:
    """The special values that lie in the leaf's range, its ends, and the format's own edges."""
    edges: list[float] = []
    if leaf.floating and not leaf.number and not leaf.dtype.is_complex:
        info = torch.finfo(leaf.dtype)
        edges = [v for v in (info.max, -info.max) if leaf.stated and leaf.fits(v)]
    ends = [leaf.low, leaf.high]
    if leaf.nonzero:
        ends = [e if e else 1e-4 for e in ends]
    values = [v for v in (*(WHOLE if leaf.integer else POOL), *ends, *edges) if leaf.fits(v)]
    return list(dict.fromkeys(values)) or [leaf.nearest(1.0)]


class Draw:
    """Values for the leaves of one layout, from one seeded generator."""

    def __init__(self, program: Program, layout: Layout, seed: int) -> None:
        self.program, self.layout = program, layout
        self.shapes = layout.shapes(program)
        self.generator = torch.Generator().manual_seed(seed % (1 << 31))

    def whole(self, low: int, high: int) -> int:
        """A whole number in [low, high)."""
        return int(torch.randint(low, max(high, low + 1), (), generator=self.generator))

    def finish(self, leaf: Leaf, values: Any) -> Any:
        """These values cut to what the leaf may hold, in its dtype."""
        values = values.clamp(leaf.low, leaf.high)
        if leaf.role == "mask" and leaf.floating:
            values = (values > 0.5).to(values.dtype)
        if leaf.integer:
            values = values.round()
        if leaf.rows and values.dim():
            values = values / values.norm(dim=-1, keepdim=True).clamp(min=1e-3)
        result = values.to(leaf.dtype)
        if leaf.nonzero:
            result = torch.where(result == 0, torch.full_like(result, leaf.nearest(1e-4 if leaf.dtype != torch.float16 else 1e-3)), result)
        return result

    def constant(self, leaf: Leaf, value: float) -> Any:
        """Every element alike."""
        value = leaf.nearest(value)
        return as_number(leaf, value) if leaf.number else self.finish(leaf, torch.full(self.shapes[leaf.id], value, dtype=torch.float64))

    def normal(self, leaf: Leaf, scale: float = 1.0) -> Any:
        """Normal noise, centred in the range if the range excludes 0."""
        centre = 0.0 if leaf.low <= 0 <= leaf.high and leaf.low < 0 else leaf.low if leaf.high - leaf.low > 4 else (leaf.low + leaf.high) / 2
        noise = torch.randn(self.shapes[leaf.id], generator=self.generator, dtype=torch.float64) * scale
        if centre == leaf.low and leaf.low >= 0:
            noise = noise.abs()
        elif leaf.high - leaf.low < 4 * scale:
            return self.uniform(leaf)
        return self.finish(leaf, noise + centre)

    def uniform(self, leaf: Leaf, low: float | None = None, high: float | None = None) -> Any:
        """Even noise over the range or a part of it."""
        lo, hi = leaf.low if low is None else max(low, leaf.low), leaf.high if high is None else min(high, leaf.high)
        values = torch.rand(self.shapes[leaf.id], generator=self.generator, dtype=torch.float64) * max(hi - lo, 0.0) + lo
        return self.finish(leaf, values)

    def special(self, leaf: Leaf) -> Any:
        """Each element from the pool."""
        choices = torch.tensor(pool(leaf), dtype=torch.float64)
        picks = torch.randint(0, len(choices), self.shapes[leaf.id], generator=self.generator)
        return self.finish(leaf, choices[picks])

    def index(self, leaf: Leaf) -> Any:
        """Positions along an axis."""
        return torch.randint(0, max(self.layout.reach, 1), self.shapes[leaf.id], generator=self.generator).to(leaf.dtype)

    def mask(self, leaf: Leaf, pattern: str) -> Any:
        """A mask: some, all, none, or one empty row."""
        shape = self.shapes[leaf.id]
        bits = torch.rand(shape, generator=self.generator) < 0.6
        if pattern in ("all", "none"):
            bits = torch.full(shape, pattern == "all")
        elif bits.numel() > 1:
            bits.view(-1)[0], bits.view(-1)[-1] = True, False
        if pattern == "row" and bits.dim() and bits.numel():
            bits[(0,) * (bits.dim() - 1)] = False
        return bits.to(leaf.dtype)

    def ordinary(self, leaf: Leaf, pattern: str = "some") -> Any:
        """What a leaf holds on a good day."""
        if leaf.mask and not leaf.number:
            return self.mask(leaf, pattern)
        if leaf.index:
            return self.index(leaf)
        if leaf.number:
            return as_number(leaf, 2.0 if leaf.integer else 1.0)
        if leaf.integer:
            return self.uniform(leaf, max(leaf.low, 0.0), max(leaf.low, 0.0) + 5)
        return self.normal(leaf)

    def feed(self, of: Callable[[Leaf], Any], pattern: str = "some") -> Feed:
        """A feed: masks and indices as they are, every other leaf by `of`."""
        found = {}
        for leaf in self.program.leaves:
            plain = leaf.number or leaf.index or (leaf.mask and not leaf.number)
            found[leaf.id] = self.ordinary(leaf, pattern) if plain else of(leaf)
        return found


def fed_leaves(program: Program) -> list[Leaf]:
    """The leaves whose values are searched."""
    return [leaf for leaf in program.leaves if not leaf.index and not leaf.mask]


def constant_feeds(draw: Draw) -> Iterator[Feed]:
    """Every leaf the same constant."""
    for value in SIMPLE:
        yield draw.feed(lambda leaf: draw.constant(leaf, value))
    for end in ("high", "low"):
        yield draw.feed(lambda leaf: draw.constant(leaf, getattr(leaf, end)))


def noise_feeds(draw: Draw) -> Iterator[Feed]:
    """Ordinary noise of several sizes."""
    yield draw.feed(lambda leaf: draw.uniform(leaf, -1.0, 1.0))
    yield draw.feed(lambda leaf: draw.normal(leaf))
    yield draw.feed(lambda leaf: draw.normal(leaf, 10.0))
    yield draw.feed(lambda leaf: draw.uniform(leaf))
    yield draw.feed(lambda leaf: draw.uniform(leaf, 0.0, leaf.high))
    yield draw.feed(lambda leaf: draw.normal(leaf, max(abs(leaf.low), abs(leaf.high)) / 3))
    yield draw.feed(lambda leaf: draw.uniform(leaf, 0.0, 1.0))


def pool_feeds(draw: Draw) -> Iterator[Feed]:
    """One leaf a special constant, the others ordinary."""
    for leaf in fed_leaves(draw.program)[:8]:
        for value in pool(leaf):
            feed = draw.feed(draw.ordinary)
            feed[leaf.id] = draw.constant(leaf, value)
            yield feed


def equal_feeds(draw: Draw) -> Iterator[Feed]:
    """Two leaves equal: a perfect prediction, two points that meet."""
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number]
    for i, a in enumerate(leaves):
        for b in leaves[i + 1 : i + 5]:
            if draw.shapes[a.id] == draw.shapes[b.id] and a.dtype == b.dtype:
                for make in (draw.normal, lambda leaf: draw.constant(leaf, 1.0)):
                    feed = draw.feed(draw.ordinary)
                    feed[a.id] = make(a)
                    feed[b.id] = draw.finish(b, feed[a.id].double()) if not b.nonzero else feed[b.id]
                    yield feed


def structured_feeds(draw: Draw) -> Iterator[Feed]:
    """Rows that are zero, equal, one-hot or saturated in otherwise ordinary noise."""

    def zero_row(leaf: Leaf, x: Any) -> Any:
        x[0] = 0.0
        return x

    def equal_row(leaf: Leaf, x: Any) -> Any:
        x[0] = x[0].reshape(-1)[:1].mean() if x[0].numel() else 0.0
        return x

    def equal_rows(leaf: Leaf, x: Any) -> Any:
        return x[:1].expand_as(x).clone()

    def one_hot(leaf: Leaf, x: Any) -> Any:
        hot = torch.zeros_like(x)
        hot[..., 0] = 1.0
        return hot

    def saturated(leaf: Leaf, x: Any) -> Any:
        low = torch.full_like(x, leaf.low)
        low[..., 0] = leaf.high
        return low

    def one_huge(leaf: Leaf, x: Any) -> Any:
        x[..., -1] = leaf.high
        return x

    for shape in (zero_row, equal_row, equal_rows, one_hot, saturated, one_huge):
        def made(leaf: Leaf, shape: Callable[[Leaf, Any], Any] = shape) -> Any:
            x = draw.normal(leaf).double()
            return draw.finish(leaf, shape(leaf, x)) if x.dim() and x.numel() else draw.normal(leaf)

        yield draw.feed(made)


def mask_feeds(draw: Draw) -> Iterator[Feed]:
    """Masks that keep nothing, everything, or nothing in one row; targets of one class only."""
    if any(leaf.mask for leaf in draw.program.tensors):
        for pattern in ("none", "row", "all"):
            yield draw.feed(draw.ordinary, pattern)
            yield draw.feed(lambda leaf: draw.constant(leaf, 1.0), pattern)
            yield draw.feed(lambda leaf: draw.constant(leaf, 0.0), pattern)
        for leaf in [leaf for leaf in draw.program.tensors if leaf.mask][:4]:
            for pattern in ("none", "all", "row"):
                feed = draw.feed(draw.ordinary, "all")
                feed[leaf.id] = draw.mask(leaf, pattern)
                yield feed
    for leaf in [leaf for leaf in draw.program.tensors if leaf.index]:
        feed = draw.feed(draw.ordinary)
        feed[leaf.id] = torch.zeros_like(feed[leaf.id])
        yield feed


def precise_feeds(draw: Draw) -> Iterator[Feed]:
    """What loses digits: a large offset with small noise, neighbours that nearly agree, small angles."""
    for offset in (1e3, 100.0, 1e4, 30.0, 8.0):
        for noise in (1.0, 0.1, 0.01):
            yield draw.feed(lambda leaf: draw.finish(leaf, draw.normal(leaf).double() * noise + min(offset, leaf.high)) if leaf.floating else draw.ordinary(leaf))
    for size in (1e-2, 1e-3, 1e-4, 1e-5, 1e-7):
        yield draw.feed(lambda leaf: draw.uniform(leaf, 0.3 * size, size) if leaf.floating else draw.ordinary(leaf))
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number and leaf.floating]
    for a in leaves[:4]:
        for b in leaves[:4]:
            if a is not b and draw.shapes[a.id] == draw.shapes[b.id]:
                feed = draw.feed(lambda leaf: draw.uniform(leaf))
                feed[b.id] = draw.finish(b, feed[a.id].double() * (1 + 1e-4 * torch.rand(draw.shapes[a.id], generator=draw.generator)))
                yield feed
    for a in leaves[:4]:
        for size in (1e-2, 1e-4):
            feed = draw.feed(draw.ordinary)
            feed[a.id] = draw.uniform(a, 0.3 * size, size)
            yield feed


def mixed_feeds(draw: Draw, count: int) -> Iterator[Feed]:
    """Half special values, half noise; one in five constant, one in five with two equal arguments."""
    leaves = [leaf for leaf in fed_leaves(draw.program) if not leaf.number]
    patterns = ("some", "some", "all", "row", "none")
    for _ in range(count):
        kind = draw.whole(0, 5)

        def value(leaf: Leaf) -> Any:
            values = pool(leaf)
            if kind == 0:
                return draw.constant(leaf, values[draw.whole(0, len(values))])
            pick = draw.whole(0, 4)
            if pick == 0:
                return draw.uniform(leaf)
            if pick == 1:
                return draw.normal(leaf)
            special = draw.special(leaf)
            return special if pick == 2 else torch.where(torch.rand(special.shape, generator=draw.generator) < 0.5, special, draw.uniform(leaf))

        feed = draw.feed(value, patterns[draw.whole(0, 5)])
        for leaf in draw.program.leaves:
            if leaf.number and draw.whole(0, 2):
                values = pool(leaf)
                feed[leaf.id] = as_number(leaf, values[draw.whole(0, len(values))])
        if kind == 1 and len(leaves) > 1:
            a, b = leaves[draw.whole(0, len(leaves))], leaves[draw.whole(0, len(leaves))]
            if draw.shapes[a.id] == draw.shapes[b.id] and not b.nonzero:
                feed[b.id] = draw.finish(b, feed[a.id].double())
        yield feed


def all_feeds(draw: Draw) -> Iterator[Feed]:
    """Every feed in order: ordinary and simple ones first, so that witnesses are simple."""
    if draw.program.phase == "precision":
        yield from precise_feeds(draw)
    if any(leaf.zeros for leaf in draw.program.tensors):
        yield draw.feed(lambda leaf: draw.constant(leaf, 0.0) if leaf.zeros else draw.ordinary(leaf))
    yield from constant_feeds(draw)
    yield from noise_feeds(draw)
    yield from mask_feeds(draw)
    yield from pool_feeds(draw)
    yield from equal_feeds(draw)
    yield from structured_feeds(draw)
    yield from mixed_feeds(draw, 60)


# --------------------------------------------------------------------------------------------------------------- search


class TimeUp(BaseException):
    """The time bound of a request has passed."""


class Found(NamedTuple):
    """A break, the feed that caused it, and the layout the feed was drawn in."""

    broken: Break
    feed: Feed
    context: Context
    layout: Layout


class Search:
    """Feeds tried one after another; breaks kept by how well they match what is suspected."""

    def __init__(self, program: Program, until: float) -> None:
        self.program, self.until = program, until
        self.tries = 0
        self.ran = 0
        self.error = ""
        self.best: tuple[int, Found] | None = None

    def rank(self, broken: Break) -> int:
        """0 for the suspected break, more for one that is further from it."""
        wanted = {"precision": ("value",), "forward": ("forward", "value")}.get(self.program.phase, (self.program.phase,))
        return (0 if broken.guilty == self.program.suspect else 2) + (0 if broken.phase in wanted else 1)

    @property
    def over(self) -> bool:
        """Whether the suspected break has been found, or the time is up."""
        return (self.best is not None and self.best[0] == 0) or time.monotonic() > self.until

    def consider(self, feed: Feed, context: Context, layout: Layout) -> None:
        """Judge one feed."""
        self.tries += 1
        try:
            broken = judge(self.program, feed, context)
            self.ran += 1
        except Unusable as error:
            if not error.rejected:
                self.error = self.error or str(error)
            return
        if broken is not None and (self.best is None or self.rank(broken) < self.best[0]):
            self.best = (self.rank(broken), Found(broken, feed, context, layout))

    def feeds(self, layout: Layout) -> None:
        """Every feed of one layout."""
        for phi in (0, 255) if self.program.choices else (0,):
            draw = Draw(self.program, layout, self.program.seed + layout.n)
            for feed in all_feeds(draw):
                if self.over:
                    return
                self.consider(feed, Context(self.program.seed, phi), layout)

    def guided(self, layout: Layout) -> None:
        """Push the suspect's operand up, down and towards 0 by signed gradient steps inside the ranges."""
        step = self.program.by_id.get(self.program.suspect)
        operands = [r for r in step.reads if self.program.by_id[r].op != "const"] if step is not None else []
        movable = [leaf for leaf in self.program.tensors if leaf.floating and not leaf.mask and not leaf.dtype.is_complex]
        if not operands or not movable:
            return
        draw = Draw(self.program, layout, self.program.seed + 7)
        starts = [draw.feed(draw.ordinary), draw.feed(draw.uniform), draw.feed(lambda leaf: draw.constant(leaf, (leaf.low + leaf.high) / 2))]
        for operand in operands[:2]:
            for goal in (1.0, -1.0, 0.0):
                for start in starts:
                    self.climb(dict(start), operand, goal, movable, draw)

    def climb(self, feed: Feed, operand: int, goal: float, movable: list[Leaf], draw: Draw) -> None:
        """One start, one goal: up to ten steps."""
        context, rate = Context(self.program.seed), 0.5
        for _ in range(10):
            if self.over:
                return
            ready = dict(feed)
            for leaf in movable:
                ready[leaf.id] = feed[leaf.id].detach().requires_grad_()
            flat = tensors_in(run(self.program, ready, context)[operand])
            flat = [t for t in flat if t.requires_grad]
            if not flat:
                return
            total = sum((t.abs() if goal == 0 or t.is_complex() else t).double().sum() for t in flat)
            slopes = torch.autograd.grad(total, [ready[leaf.id] for leaf in movable], allow_unused=True)
            if not is_finite(total.detach()) or all(g is None or not bool(g.any()) for g in slopes):
                return
            for leaf, g in zip(movable, slopes):
                if g is not None:
                    direction = torch.sign(torch.nan_to_num(g.double())) * (goal or -1.0)
                    feed[leaf.id] = draw.finish(leaf, feed[leaf.id].double() + direction * rate * (leaf.high - leaf.low))
            self.consider(dict(feed), context, draw.layout)
            rate *= 0.6


# --------------------------------------------------------------------------------------------------------------- shrink


USUAL = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 120.0, 200.0, 300.0, 500.0, 1e3, 2e3, 5e3, 1e4)


def leaf_rank(value: Any) -> int:
    """The number of axes of a fed value."""
    return value.dim() if isinstance(value, torch.Tensor) else 0


class Shrinker:
    """Makes a witness smaller and rounder while it breaks the slice in the same way."""

    def __init__(self, program: Program, found: Found, until: float) -> None:
        self.program, self.found, self.until, self.left = program, found, until, 160

    def keeps(self, feed: Feed) -> bool:
        """Whether this feed breaks the slice in the same way; if so it is the witness now."""
        if self.left <= 0 or time.monotonic() > self.until:
            return False
        self.left -= 1
        try:
            broken = judge(self.program, feed, self.found.context)
        except Unusable:
            return False
        old = self.found.broken
        same = broken is not None and broken[:2] == old[:2] and (broken.phase == "value" or broken.becomes == old.becomes)
        if same and broken is not None:
            self.found = self.found._replace(feed=feed, broken=broken)
        return same

    def smaller(self) -> None:
        """Fewer elements: the first one or two along every axis of the common size."""
        layout = self.found.layout
        for n in (1, 2, 3):
            if n >= layout.n:
                return
            other = layout._replace(n=n, reach=max(1, min(layout.reach, n)))
            shapes = other.shapes(self.program)
            feed = dict(self.found.feed)
            for leaf in self.program.tensors:
                x = feed[leaf.id][tuple(slice(0, d) for d in shapes[leaf.id])]
                feed[leaf.id] = x.clamp(max=other.reach - 1).contiguous() if leaf.index else x.contiguous()
            if self.keeps(feed):
                self.found = self.found._replace(layout=other)
                break
        self.flatter()

    def flatter(self) -> None:
        """One element along every axis that does not matter, axes counted from the left and from the right."""
        deepest = max([leaf_rank(self.found.feed[leaf.id]) for leaf in self.program.tensors] or [0])
        for axis in (*range(deepest), *range(-1, -deepest - 1, -1)):
            feed = dict(self.found.feed)
            for leaf in self.program.tensors:
                x = feed[leaf.id]
                if -x.dim() <= axis < x.dim() and x.size(axis) > 1 and axis % x.dim() - x.dim() not in leaf.sizes:
                    feed[leaf.id] = x.narrow(axis, 0, 1).contiguous()
            if any(feed[leaf.id] is not self.found.feed[leaf.id] for leaf in self.program.tensors):
                self.keeps(feed)

    def simpler(self) -> None:
        """Each leaf a constant, or failing that a tensor in which all but one element is plain."""
        for leaf in self.program.leaves:
            now = self.found.feed[leaf.id]
            if leaf.index or (leaf.number and leaf.integer):
                continue
            first = [now] if leaf.number else [float(v) for v in now.double().reshape(-1)[:1]] if not leaf.dtype.is_complex else []
            extremes = [] if leaf.number or leaf.dtype.is_complex or not now.numel() else [float(now.double().max()), float(now.double().min())]
            for value in dict.fromkeys((1.0, 0.5, 0.0, *first, *extremes)):
                if leaf.fits(value) and self.keeps({**self.found.feed, leaf.id: filled(leaf, now, value)}):
                    self.milder(leaf, value)
                    break

    def milder(self, leaf: Leaf, value: float) -> None:
        """The least of the usual magnitudes that still breaks it."""
        if abs(value) > 2 and not leaf.integer:
            for size in USUAL:
                if size < abs(value) and leaf.fits(math.copysign(size, value)):
                    if self.keeps({**self.found.feed, leaf.id: filled(leaf, self.found.feed[leaf.id], math.copysign(size, value))}):
                        return

    def rounder(self) -> None:
        """Fewer digits."""
        for leaf in self.program.leaves:
            now = self.found.feed[leaf.id]
            if leaf.index or leaf.boolean or leaf.integer or leaf.dtype.is_complex:
                continue
            for figures in (1, 2, 3):
                if self.keeps({**self.found.feed, leaf.id: rounded(leaf, now, figures)}):
                    break

    def idle(self) -> frozenset[int]:
        """The leaves whose value does not matter: the slice breaks alike with other values there."""
        found = set()
        draw = Draw(self.program, self.found.layout, self.program.seed + 3)
        for leaf in self.program.leaves:
            if leaf.index or leaf.integer or leaf.boolean or len(self.program.leaves) == 1:
                continue
            kept = self.found
            shape = () if leaf.number else tuple(kept.feed[leaf.id].shape)
            draw.shapes[leaf.id] = shape
            others = [draw.ordinary(leaf), draw.constant(leaf, 0.7)] if not leaf.number else [as_number(leaf, 0.7)]
            if all(self.keeps({**kept.feed, leaf.id: other}) for other in others):
                found.add(leaf.id)
            self.found = kept
        return frozenset(found)

    def shrunk(self) -> tuple[Found, frozenset[int]]:
        """The smallest witness found, and the leaves that do not matter to it."""
        self.smaller()
        self.simpler()
        self.rounder()
        return self.found, self.idle()


def filled(leaf: Leaf, now: Any, value: float) -> Any:
    """The leaf's value replaced by a constant."""
    if leaf.number:
        return as_number(leaf, value)
    return torch.full_like(now, bool(value) if leaf.boolean else value)


def rounded(leaf: Leaf, now: Any, figures: int) -> Any:
    """The leaf's value in so many significant figures, kept in its range."""
    def cut(v: float) -> float:
        short = float(f"{v:.{figures}g}") if math.isfinite(v) else v
        return short if leaf.fits(short) else v

    if leaf.number:
        return cut(now)
    flat = [cut(float(v)) for v in now.double().reshape(-1)[:4096]]
    return torch.tensor(flat, dtype=torch.float64).to(now.dtype).reshape(now.shape) if len(flat) == now.numel() else now


# --------------------------------------------------------------------------------------------------------------- answers


def shortest(value: Any, dtype: Any) -> str:
    """The shortest decimal that is this number in its dtype."""
    value = float(value)
    for figures in range(1, 18):
        text = f"{value:.{figures}g}"
        if float(torch.tensor(float(text), dtype=torch.float64).to(dtype)) == value:
            break
    if "e" in text or "." in text or "n" in text:
        return repr(float(text)) if 1e-4 <= abs(float(text)) < 1e6 else text
    return text + ".0"


def shown(leaf: Leaf, value: Any) -> str:
    """A fed value as text: at most eight numbers, the shape where there are more."""
    if leaf.number:
        return repr(value)
    shape = "x".join(map(str, value.shape))
    flat = value.reshape(-1)
    if value.is_complex():
        return f"{shape} complex: {[complex(v) for v in flat[:4]]}"
    text = [str(bool(v)) if leaf.boolean else str(int(v)) if not value.dtype.is_floating_point else shortest(v, value.dtype) for v in flat[:8]]
    if value.numel() == 0:
        return f"an empty tensor of shape {tuple(value.shape)}"
    if value.dim() and value.numel() > 1 and bool((value == flat[0]).all()) and value.numel() > 4:
        return f"{text[0]} everywhere ({shape})"
    if value.numel() <= 8:
        return nested(text, list(value.shape))
    return f"[{', '.join(text)}, ...] ({shape})"


def nested(text: list[str], shape: list[int]) -> str:
    """Numbers as nested lists of this shape."""
    if not shape:
        return text[0]
    if len(shape) == 1:
        return "[" + ", ".join(text) + "]"
    size = len(text) // shape[0]
    return "[" + ", ".join(nested(text[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])) + "]"


def inputs_of(program: Program, found: Found, idle: frozenset[int]) -> dict[str, str]:
    """The fed values that matter, by name."""
    listed: dict[str, str] = {}
    for plain in (False, True):
        for leaf in program.leaves:
            quiet = leaf.id in idle or leaf.index or (leaf.number and leaf.integer)
            if quiet is not plain or (plain and listed) or leaf.id not in program.needed:
                continue
            text = shown(leaf, found.feed[leaf.id])
            name = leaf.name if listed.get(leaf.name, text) == text else f"{leaf.name} (node {leaf.id})"
            listed[name] = text
    return listed


def freeze(program: Program, found: Found, idle: frozenset[int]) -> Json:
    """Everything that reruns a witness exactly."""
    feeds: Json = {}
    for leaf in program.leaves:
        value = found.feed[leaf.id]
        if leaf.number:
            feeds[str(leaf.id)] = {"number": value}
            continue
        stored = torch.view_as_real(value) if value.is_complex() else value
        flat = (stored.double() if stored.dtype.is_floating_point else stored).reshape(-1).tolist()
        feeds[str(leaf.id)] = {"dtype": str(value.dtype).replace("torch.", ""), "shape": list(value.shape), "data": flat}
    return {
        "version": 1, "slice": program.data, "feeds": feeds, "seed": found.context.seed, "phi": found.context.phi, "idle": sorted(idle),
        "layout": [found.layout.n, [list(f) for f in found.layout.forms], found.layout.reach],
    }


def thaw(frozen: Json, program: Program) -> tuple[Feed, Context, Layout]:
    """The feed, the context and the layout of a frozen witness."""
    feed: Feed = {}
    for leaf in program.leaves:
        kept = frozen["feeds"][str(leaf.id)]
        if "number" in kept:
            feed[leaf.id] = kept["number"]
            continue
        dtype, shape = dtype_named(kept["dtype"]), kept["shape"]
        if dtype.is_complex:
            real = torch.tensor(kept["data"], dtype=torch.float64 if dtype == torch.complex128 else torch.float32)
            feed[leaf.id] = torch.view_as_complex(real.reshape([*shape, 2]).contiguous())
        else:
            feed[leaf.id] = torch.tensor(kept["data"], dtype=torch.float64 if dtype.is_floating_point else dtype).to(dtype).reshape(shape)
    n, forms, reach = frozen["layout"]
    return feed, Context(int(frozen["seed"]), int(frozen["phi"])), Layout(n, tuple(tuple(f) for f in forms), reach)


def answer_of(program: Program, found: Found, idle: frozenset[int], tries: int) -> Json:
    """A break as the answer to a request."""
    return {
        "verdict": "broken", "phase": found.broken.phase, "guilty": found.broken.guilty, "becomes": found.broken.becomes,
        "inputs": inputs_of(program, found, idle), "frozen": freeze(program, found, idle), "tries": tries, "error": "",
    }


def no_break(verdict: str, tries: int, error: str = "") -> Json:
    """An answer without a witness."""
    return {"verdict": verdict, "phase": "", "guilty": None, "becomes": "", "inputs": {}, "frozen": None, "tries": tries, "error": error}


def probe(request: Json) -> Json:
    """Try to break a slice."""
    program = Program(request["slice"])
    seconds, start = float(request.get("seconds", 2.0)), time.monotonic()
    denied = next((s.denied for s in program.steps if s.denied and s.id in program.needed), "")
    trial, layout = Shaper(program, start + 0.4 * seconds).find()
    if layout is None or trial.score < 1e4:
        return no_break("unrunnable", 0, denied or trial.error or "no shapes were found in which it runs")
    search = Search(program, start + 0.75 * seconds)
    search.feeds(layout)
    for other in variants(program, layout) if not search.over else ():
        search.feeds(other)
    if not search.over:
        search.guided(layout)
    if search.best is None:
        if search.ran:
            return no_break("held", search.tries, "" if trial.whole else trial.error)
        late = time.monotonic() > search.until
        return no_break("timeout" if late else "unrunnable", search.tries, search.error or "no feed satisfies the conditions of the source")
    found, idle = Shrinker(program, search.best[1], start + 0.95 * seconds).shrunk()
    return answer_of(program, found, idle, search.tries)


def replay(request: Json) -> Json:
    """Run a frozen witness again."""
    frozen = request["frozen"]
    program = Program(frozen["slice"])
    feed, context, layout = thaw(frozen, program)
    try:
        broken = judge(program, feed, context)
    except Unusable as error:
        return no_break("unrunnable", 1, str(error))
    if broken is None:
        return no_break("held", 1)
    return answer_of(program, Found(broken, feed, context, layout), frozenset(frozen.get("idle") or ()), 1)


# --------------------------------------------------------------------------------------------------------------- compare


class Outcome(NamedTuple):
    """What one run gave: outputs and gradients by leaf name, in float64, and whether all are finite."""

    outputs: list[Any]
    gradients: dict[str, Any]
    finite: bool


def outcome(program: Program, feed: Feed, context: Context) -> Outcome:
    """Run a slice forward and backward."""
    ready = with_gradient(program, feed)
    if context.shadow:
        ready = {leaf.id: feed[leaf.id].double().requires_grad_() if leaf.grad and program.backward and not leaf.dtype.is_complex else ready[leaf.id]
                 for leaf in program.leaves}
    values = run(program, ready, context)
    outputs = [t for o in usable_outputs(program, values) for t in tensors_in(o)]
    grads = gradients(program, {**values, **ready}, outputs) if program.backward else {}
    names = {leaf.id: leaf.name for leaf in program.leaves}
    finite = all(is_finite(o) for o in outputs) and all(is_finite(g) for g in grads.values())
    return Outcome([wide(o) for o in outputs], {names[i]: wide(g) for i, g in grads.items()}, finite)


def relative(new: Any, old: Any) -> float | None:
    """The greatest difference, relative to each value or to a thousandth of the greatest one."""
    if new.shape != old.shape:
        return None
    if not old.numel():
        return 0.0
    scale = old.abs().clamp(min=max(float(old.abs().max()) * 1e-3, 1e-30))
    return float(((new - old).abs() / scale).max())


def worst(pairs: list[tuple[Any, Any]]) -> float | None:
    """The greatest relative difference of several pairs, None where shapes differ."""
    found = [relative(a, b) for a, b in pairs]
    return None if any(f is None for f in found) else max([f for f in found if f is not None] or [0.0])


def by_name(old: Program, new: Program, feed: Feed) -> Feed:
    """The feed of the old slice for the leaves of the new one; KeyError names a leaf that is missing."""
    names = {leaf.name: feed[leaf.id] for leaf in old.leaves}
    found = {}
    for leaf in new.leaves:
        value = names[leaf.name]
        found[leaf.id] = value.to(leaf.dtype) if isinstance(value, torch.Tensor) and not leaf.number and value.dtype != leaf.dtype else value
    return found


class Comparison:
    """Old and new run side by side, where the old one is healthy."""

    def __init__(self, old: Program, new: Program) -> None:
        self.old, self.new = old, new
        self.agrees = self.tried = 0
        self.value = 0.0
        self.gradient: float | None = None
        self.first: Feed | None = None
        self.error: str | None = None

    def add(self, feed: Feed, context: Context) -> None:
        """Compare on one feed."""
        try:
            truth_ = outcome(self.old, feed, context._replace(shadow=True))
            before = outcome(self.old, feed, context)
        except Unusable:
            return
        if not truth_.finite or not before.finite or not self.healthy(before, truth_):
            return
        self.tried += 1
        try:
            after = outcome(self.new, by_name(self.old, self.new, feed), context)
        except Unusable as error:
            self.error = self.error or str(error)
            return
        value = worst(list(zip(after.outputs, truth_.outputs))) if len(after.outputs) == len(truth_.outputs) else None
        shared = [n for n in truth_.gradients if n in after.gradients]
        slope = worst([(after.gradients[n], truth_.gradients[n]) for n in shared])
        limit = 0.05 if dtype_named(self.old.dtype) in HALVES else 1e-3
        if value is None or slope is None or not after.finite or value > limit or slope > 20 * limit:
            self.first = self.first or feed
        else:
            self.agrees += 1
        self.value = max(self.value, INF if value is None or not after.finite else value)
        if shared:
            self.gradient = max(self.gradient or 0.0, INF if slope is None else slope)

    def healthy(self, before: Outcome, truth_: Outcome) -> bool:
        """Whether the old code is itself right on this feed, in value and gradient."""
        limit = 0.05 if dtype_named(self.old.dtype) in HALVES else 1e-3
        value = worst(list(zip(before.outputs, truth_.outputs)))
        slope = worst([(before.gradients[n], g) for n, g in truth_.gradients.items() if n in before.gradients])
        return value is not None and slope is not None and value <= limit and slope <= limit


def compare(request: Json) -> Json:
    """Whether a new slice agrees with an old one where the old one is healthy, and is finite where it was not."""
    old, new = Program(request["old"]), Program(request["new"])
    seconds, start = float(request.get("seconds", 2.0)), time.monotonic()
    result: Json = {"agrees_on": 0, "tried": 0, "worst_relative_error": None, "worst_gradient_error": None, "finite_on_witness": None, "disagrees_at": None, "error": None}
    missing = sorted({leaf.name for leaf in new.leaves} - {leaf.name for leaf in old.leaves})
    if missing:
        return {**result, "error": f"the new code reads {missing[0]!r}, which the old does not"}
    denied = next((s.denied for p in (old, new) for s in p.steps if s.denied and s.id in p.needed), "")
    trial, layout = Shaper(old, start + 0.3 * seconds).find()
    if layout is None or not trial.whole:
        return {**result, "error": denied or trial.error or "no shapes were found in which it runs"}
    sides = Comparison(old, new)
    for phi in (0, 255) if old.choices else (0,):
        for feed in all_feeds(Draw(old, layout, old.seed)):
            if time.monotonic() > start + 0.8 * seconds:
                break
            sides.add(feed, Context(old.seed, phi))
    if request.get("frozen"):
        result["finite_on_witness"] = holds_on(old, new, request["frozen"])
    if sides.first is not None:
        result["disagrees_at"] = {leaf.name: shown(leaf, sides.first[leaf.id]) for leaf in old.leaves}
    result.update(agrees_on=sides.agrees, tried=sides.tried, error=sides.error)
    if sides.tried:
        result.update(worst_relative_error=sides.value, worst_gradient_error=sides.gradient)
    return result


def holds_on(old: Program, new: Program, frozen: Json) -> bool:
    """Whether the witness that broke the old slice leaves the new one finite and, where that was the fault, right."""
    feed, context, _ = thaw(frozen, Program(frozen["slice"]))
    names = {leaf.name: feed[leaf.id] for leaf in Program(frozen["slice"]).leaves}
    try:
        return judge(new, {leaf.id: names[leaf.name] for leaf in new.leaves}, context) is None
    except (Unusable, KeyError):
        return False


# -------------------------------------------------------------------------------------------------------------- protocol


def hello(request: Json) -> Json:
    """Who answers."""
    return {"torch": torch.__version__, "python": sys.version.split()[0], "executable": sys.executable, "pid": os.getpid(), "digest": own_digest()}


def own_digest() -> str:
    """The digest of this file."""
    with open(__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


REQUESTS: dict[str, Callable[[Json], Json]] = {"hello": hello, "probe": probe, "replay": replay, "compare": compare}


def bounded(handle: Callable[[Json], Json], request: Json) -> Json:
    """The answer to a request, or a timeout once its time is well over."""
    if not hasattr(signal, "setitimer"):
        return handle(request)

    def ring(signum: int, frame: Any) -> None:
        raise TimeUp

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.25 * float(request.get("seconds", 2.0)) + 0.25)
    try:
        return handle(request)
    except TimeUp:
        return {**no_break("timeout", 0, "the time bound has passed")}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def serve_one(line: str) -> Json:
    """The answer to one line."""
    try:
        request = json.loads(line)
        return bounded(REQUESTS[request["do"]], request)
    except MemoryError:
        return no_break("crashed", 0, "out of memory")
    except Exception as error:
        return no_break("unrunnable", 0, f"{type(error).__name__}: {error}"[:300])


def limit_resources(gigabytes: float) -> None:
    """Bound the memory of this process and forbid core files, where the system can."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 2**30), resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass


def warm_up() -> None:
    """Run one tiny slice, so that torch has loaded what it loads late."""
    nodes = [{"id": 1, "op": "input", "low": -2, "high": 2}, {"id": 2, "op": "exp", "call": "torch.exp", "args": [1]}]
    probe({"slice": {"nodes": nodes, "outputs": [2], "suspect": 2}})


def main() -> None:
    """Answer requests until stdin ends; whatever else prints to stdout goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(2, 1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout = sys.stderr
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    limit_resources(float(os.environ.get("NANLINT_PROBE_GIGABYTES", "4")))
    warm_up()
    for line in requests:
        if '"quit"' in line and json.loads(line).get("do") == "quit":
            return
        answers.write(json.dumps(serve_one(line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
