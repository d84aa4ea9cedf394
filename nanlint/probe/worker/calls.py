"""What a slice may call: one attribute of a fixed list of roots, itself on the list. No text is ever evaluated."""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.utils.rnn

DENIED = frozenset(
    "from_file load save compile hub ops jit fork wait from_numpy frombuffer set_ resize_ resize_as_ map_ map2_ apply_ numpy"
    " share_memory_ storage untyped_storage data_ptr backward register_hook retain_grad pin_memory cuda to_dlpack module_load"
    " tolist_ share_memory is_shared storage_type requires_grad_ detach_ set_grad_enabled".split()
)
INTERNAL = ("_", "miopen_", "cudnn_", "mkldnn_", "fbgemm_", "quantize", "sym_", "record_", "register_")
ZEROED = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
PROPERTIES = frozenset(["T", "mT", "H", "mH", "real", "imag", "data"])
ARITHMETIC = frozenset(
    "add sub mul truediv floordiv mod pow neg pos abs matmul eq ne lt le gt ge and_ or_ xor not_ inv invert truth lshift rshift".split()
)
MATHS = frozenset(n for n in dir(math) if n[0] != "_" and n not in ("factorial", "comb", "perm"))
ROOTS: dict[str, Any] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
    "torch.fft": torch.fft,
    "torch.Tensor": torch.Tensor,
    "torch.nn.utils.rnn": torch.nn.utils.rnn,
    "operator": operator,
    "math": math,
}
TENSOR_FUNCTIONS = frozenset(dir(torch._C._VariableFunctions)) | frozenset(torch.functional.__all__)
CONVERSIONS = {"half": "float16", "float": "float32", "bfloat16": "bfloat16", "double": "float64"}


class Denied(Exception):
    """A call that is not on the list."""


def is_allowed(root: str, name: str, found: Any) -> bool:
    """Whether a slice may call this attribute of this root."""
    if name in DENIED or name.startswith(INTERNAL) or not name.isidentifier():
        return False
    if root == "torch":
        return name in TENSOR_FUNCTIONS or name == "tensor"
    if root == "operator":
        return name in ARITHMETIC
    if root == "torch.nn.utils.rnn":
        return name == "pad_sequence"
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
    name = ZEROED.get(name, name)  # memory that nobody wrote would make witnesses of chance
    if root not in ROOTS or not hasattr(ROOTS[root], name):
        raise Denied(f"unknown call {call!r}")
    found = getattr(ROOTS[root], name)
    if not is_allowed(root, name, found):
        raise Denied(f"{call!r} may not be called")
    if root == "torch.Tensor" and name in PROPERTIES:
        return lambda x: getattr(x, name)
    if root == "operator" and name in GUARDED:
        return GUARDED[name]
    if root == "torch.Tensor" and name.endswith("_"):
        return lambda x, *rest, **more: found(x.clone(), *rest, **more)
    return found  # type: ignore[no-any-return]


def power(a: Any, b: Any) -> Any:
    """a ** b; large whole powers of whole Python numbers are refused, since they never end."""
    if isinstance(a, int) and isinstance(b, int) and abs(b) > 4096:
        raise OverflowError("whole power too large")
    return a**b


def shifted(a: Any, b: Any) -> Any:
    """a << b; large shifts of whole Python numbers are refused."""
    if isinstance(a, int) and isinstance(b, int) and b > 4096:
        raise OverflowError("shift too large")
    return a << b


GUARDED: dict[str, Callable[..., Any]] = {"pow": power, "lshift": shifted}
