"""A slice, read: its leaves (what is fed) and its steps (what is run)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .calls import CONVERSIONS, Denied, resolve
from .dtypes import FLOATS, INF, Json, dtype_named, number
from .words import WORDS

LEAVES = frozenset({"input", "parameter", "opaque"})
INDEX_POSITION = {
    **dict.fromkeys(
        ("gather", "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill", "index_select"), 2
    ),
    **dict.fromkeys(("take_along_dim", "take"), 1),
    **dict.fromkeys(("embedding", "one_hot", "bincount"), 0),
}
KEEPS_INDEX = frozenset(
    "cast unsqueeze squeeze view reshape expand expand_as repeat flatten permute transpose t index carry assume clone contiguous"
    " tuple cat stack phi carry_out item unbind chunk split detach".split()
)


LENGTHS = frozenset(
    "size shape sizes repeats steps num_classes normalized_shape split_size split_size_or_sections length output_size n N M".split()
)
COUNTING = frozenset("arange eye".split())
KEEPS_SIZE = frozenset(
    "add sub mul floor_divide floordiv div neg assume phi carry carry_out maximum minimum cast remainder".split()
)


class Leaf:
    """One value to be fed: a tensor or a Python number in [low, high]."""

    def __init__(self, node: Json, default: str) -> None:
        self.id: int = node["id"]
        self.name: str = str(node.get("name") or node.get("text") or f"value {self.id}")
        self.key = str(node.get("key") or self.name)
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
        self.index = False  # chooses an element of an axis
        self.table = 0  # the length of that axis, where it does not depend on the shapes that are fed
        self.size = False  # is the length of an axis

    def become_size(self) -> None:
        """From now on a whole Python number, at least 1."""
        if not self.number:
            self.dtype, self.floating, self.mask, self.boolean, self.grad = torch.int64, False, False, False, False
        self.number = self.integer = self.size = self.nonzero = True
        self.low, self.high = 1.0, max(self.high, 8.0)

    def become_index(self) -> None:
        """From now on positions along an axis."""
        if self.floating:
            self.dtype, self.floating, self.grad = torch.int64, False, False
        self.index = self.integer = True

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
        if self.nonzero and (
            value == 0 or (self.floating and not self.number and float(torch.tensor(value, dtype=self.dtype)) == 0)
        ):
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
        self.dtype = dtype_named(node.get("dtype"), default)
        self.nograd = bool(node.get("nograd"))
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
        self.accept = frozenset(data.get("accept") or ()) | {self.suspect}
        self.phase = str(data.get("phase") or "forward")
        self.backward = bool(data.get("backward", True))
        self.nan_only = bool(data.get("nan_only"))
        ops = {s.op for s in self.steps}
        self.modes = (0, *((255,) if "phi" in ops else ()), *((256,) if ops & {"rand", "rand_like", "uniform"} else ()))
        self.seed = int(hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8], 16)
        self.needed = self.ancestors(self.outputs)
        self.feeding = {
            s.id: frozenset(i for i in self.ancestors([s.id]) if i in {leaf.id for leaf in self.leaves}) for s in self.steps
        }
        self.mark_sizes()
        self.tensors = [leaf for leaf in self.leaves if not leaf.number]
        self.counts = [leaf for leaf in self.leaves if leaf.number and leaf.integer]
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

    def sources(self, ids: Iterable[int], through: frozenset[str]) -> Iterator[Leaf]:
        """The leaves that these nodes come from by nothing but operations of `through`."""
        leaves = {leaf.id: leaf for leaf in self.leaves}
        todo, seen = list(ids), set()
        while todo:
            step = self.by_id.get(todo.pop())
            if step is None or step.id in seen:
                continue
            seen.add(step.id)
            if step.id in leaves:
                yield leaves[step.id]
            elif step.op in through:
                todo += step.reads[:1] if step.op == "index" else step.reads

    def mark_sizes(self) -> None:
        """Leaves that become lengths of axes are whole Python numbers."""
        for step in self.steps:
            lengths = [r for k, v in step.params.items() if k.lstrip("*") in LENGTHS for r in references(v)]
            if step.op in COUNTING:
                lengths += [a for a in step.args if a is not None]
            for leaf in self.sources(lengths, KEEPS_SIZE):
                if leaf.number or leaf.rank is None:
                    leaf.become_size()

    def mark_indices(self) -> None:
        """Leaves that choose an element are whole numbers below the size of the axis."""
        for step in self.steps:
            position = INDEX_POSITION.get(step.op)
            sure = [a for a in step.args[position : position + 1] if a is not None] if position is not None else []
            maybe = step.reads[1:] if step.op in ("index", "index_put", "nll_loss", "cross_entropy") else []
            for leaf in (
                *self.sources(sure, KEEPS_INDEX),
                *(leaf for leaf in self.sources(maybe, KEEPS_INDEX) if not leaf.floating),
            ):
                if not leaf.boolean and not leaf.number:
                    leaf.become_index()
