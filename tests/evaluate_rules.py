"""Evaluates template trees: in torch through the op table's calls, and in 60 digits with mpmath, value and gradient."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import torch

from nanlint.catalog.rule import CONSTANTS
from nanlint.catalog.template import Call, Hole, Literal, Tree
from nanlint.core.formats import dtype_name
from nanlint.ranges.table import TABLE

mpmath.mp.dps = 80
STEP = mpmath.mpf(10) ** -25


def resolve(call: str) -> Callable[..., Any]:
    """The function that a row's `call` names."""
    module, _, name = call.rpartition(".")
    if call.startswith("torch.Tensor."):
        return getattr(torch.Tensor, name)
    return getattr(importlib.import_module(module), name) if module else getattr(operator, name)


def in_torch(tree: Tree, values: Mapping[str, Any], dtype: torch.dtype) -> Any:
    """The value of a tree in torch; holes that `values` lacks are the constants of the dtype."""
    match tree:
        case Hole(name):
            return constant(name, values, dtype)
        case Literal(value):
            return value
        case Call("cast", (arg,), params):
            return in_torch(arg, values, dtype).to(getattr(torch, dtype_name(dict(params)["dtype"])))
        case Call(op, args, params):
            if op == "phi":
                return in_torch(args[1 if in_torch(args[0], values, dtype) else 2], values, dtype)
            if op == "size":
                x, dim = in_torch(args[0], values, dtype), dict(params).get("dim")
                return x.numel() if dim is None else x.size(constant(dim.name, values, dtype) if isinstance(dim, Hole) else dim)
            if op == "clamp_min" and isinstance(args[0], Call) and args[0].op == "size":
                return max(in_torch(args[0], values, dtype), in_torch(args[1], values, dtype))
            if op == "tuple":
                return tuple(in_torch(a, values, dtype) for a in args)
            kwargs = {n: constant(v.name, values, dtype) if isinstance(v, Hole) else v for n, v in params}
            if "dtype" in kwargs:
                kwargs["dtype"] = getattr(torch, kwargs["dtype"])
            row = TABLE[op]
            positional = [in_torch(a, values, dtype) for a in args]
            call = row.call or f"torch.{op}"
            if any(isinstance(p, torch.Tensor) for p in positional) and call.startswith("operator."):
                return resolve(call)(*positional, **kwargs)
            stars = [n for n in kwargs if n.startswith("*")]
            for star in stars:
                positional += kwargs.pop(star)
            return resolve(call)(*positional, **kwargs)
    raise TypeError(tree)


def constant(name: str, values: Mapping[str, Any], dtype: torch.dtype) -> Any:
    if name in values:
        return values[name]
    return CONSTANTS[name][str(dtype).removeprefix("torch.")]


def gradients(tree: Tree, values: Mapping[str, Any], dtype: torch.dtype) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The value and the gradient of a weighted sum of it for every floating tensor."""
    leaves = {n: v.clone().requires_grad_() if is_floating(v) else v for n, v in values.items()}
    out = in_torch(tree, leaves, dtype)
    wanted = {n: v for n, v in leaves.items() if is_floating(v)}
    if not out.requires_grad:
        return out, {n: torch.zeros_like(v) for n, v in wanted.items()}
    found = torch.autograd.grad(out, list(wanted.values()), weights(out), allow_unused=True)
    zero = {n: torch.zeros_like(v) for n, v in wanted.items()}
    return out.detach(), {n: g if g is not None else zero[n] for n, g in zip(wanted, found)}


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def weights(out: torch.Tensor) -> torch.Tensor:
    """Fixed weights, exact in every format, that no symmetry cancels."""
    n = max(out.numel(), 1)
    w = 0.5 + (torch.arange(n) * 7 % 13).double() / 16
    return w[: out.numel()].reshape(out.shape).to(out.dtype)


def number(x: Any) -> Any:
    return mpmath.mpf(x) if not isinstance(x, (bool, np.bool_)) else x


def exact(values: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors as arrays of mpmath numbers."""
    return {
        n: np.vectorize(number, otypes=[object])(v.double().numpy() if is_floating(v) else v.numpy())
        if isinstance(v, torch.Tensor)
        else v
        for n, v in values.items()
    }


def pointwise(fn: Callable[..., Any]) -> Callable[..., Any]:
    return np.vectorize(fn, otypes=[object])


def guarded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """NaN where mpmath would go complex or raise."""

    def value(*args: Any) -> Any:
        try:
            y = fn(*map(mpmath.mpf, args))
        except (ValueError, ZeroDivisionError):
            return mpmath.nan
        return y if isinstance(y, mpmath.mpf) else mpmath.nan

    return pointwise(value)


def softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x)) if x < 0 else x + mpmath.log1p(mpmath.exp(-x))


def xlogy(x: Any, y: Any) -> Any:
    return mpmath.mpf(0) if x == 0 else x * mpmath.log(y)


POINTWISE: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp, "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log10": mpmath.log10, "log1p": mpmath.log1p,
    "expm1": mpmath.expm1, "sqrt": mpmath.sqrt, "rsqrt": lambda x: 1 / mpmath.sqrt(x), "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x, "neg": operator.neg, "abs": abs, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan,
    "tanh": mpmath.tanh, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan,
    "asinh": mpmath.asinh, "acosh": mpmath.acosh, "atanh": mpmath.atanh, "sinc": mpmath.sincpi, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "logsigmoid": lambda x: -softplus(-x), "softplus": softplus, "special_entr": lambda x: -xlogy(x, x), "sign": mpmath.sign,
    "exp2": lambda x: mpmath.power(2, x), "erf": mpmath.erf, "erfc": mpmath.erfc, "lgamma": mpmath.loggamma, "relu": lambda x: max(x, mpmath.mpf(0)),
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": mpmath.power, "atan2": mpmath.atan2,
    "hypot": mpmath.hypot, "xlogy": xlogy, "special_xlog1py": lambda x, y: xlogy(x, 1 + y), "maximum": max, "minimum": min,
    "clamp_min": max, "clamp_max": min, "logaddexp": lambda a, b: max(a, b) + mpmath.log1p(mpmath.exp(-abs(a - b))),
    "logit": lambda x: mpmath.log(x / (1 - x)), "special_ndtr": mpmath.ncdf, "special_log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
}  # fmt: skip
COMPARES = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne}


def reduced(x: Any, dim: Any, keepdim: bool, fn: Callable[[list[Any]], Any]) -> Any:
    """`fn` of the elements along `dim` (None: all)."""
    if dim is None:
        y = np.array(fn(list(x.ravel())), dtype=object)
        return y.reshape((1,) * x.ndim) if keepdim else y
    dims = [d % x.ndim for d in (dim if isinstance(dim, tuple) else (dim,))]
    rest = [d for d in range(x.ndim) if d not in dims]
    moved = np.transpose(x, rest + dims).reshape([x.shape[d] for d in rest] + [-1])
    out = np.empty(moved.shape[:-1], dtype=object)
    for i in np.ndindex(out.shape):
        out[i] = fn(list(moved[i]))
    return out.reshape([1 if d in dims else x.shape[d] for d in range(x.ndim)]) if keepdim else out


def mean(v: list[Any]) -> Any:
    return mpmath.fsum(v) / len(v)


def variance(v: list[Any], correction: float) -> Any:
    m = mean(v)
    return mpmath.fsum((e - m) ** 2 for e in v) / (len(v) - correction)


def logsumexp(v: list[Any]) -> Any:
    m = max(v)
    return m + mpmath.log(mpmath.fsum(mpmath.exp(e - m) for e in v))


def norm(v: list[Any], p: Any = 2) -> Any:
    if p == 1:
        return mpmath.fsum(map(abs, v))
    return (
        mpmath.sqrt(mpmath.fsum(e * e for e in v))
        if p in (2, "fro", None)
        else mpmath.fsum(abs(e) ** p for e in v) ** (mpmath.mpf(1) / p)
    )


REDUCTIONS: dict[str, Callable[[list[Any], Mapping[str, Any]], Any]] = {
    "sum": lambda v, p: mpmath.fsum(v), "mean": lambda v, p: mean(v), "amax": lambda v, p: max(v), "amin": lambda v, p: min(v),
    "logsumexp": lambda v, p: logsumexp(v), "var": lambda v, p: variance(v, p.get("correction", 1)),
    "std": lambda v, p: mpmath.sqrt(variance(v, p.get("correction", 1))), "norm": lambda v, p: norm(v, p.get("p", 2)),
    "linalg_vector_norm": lambda v, p: norm(v, p.get("ord", 2)), "linalg_norm": lambda v, p: norm(v, p.get("ord", 2)),
    "prod": lambda v, p: mpmath.fprod(v),
}  # fmt: skip


def in_digits(tree: Tree, values: Mapping[str, Any], dtype: torch.dtype) -> Any:
    """The value of a tree in 80 digits, as an array of mpmath numbers."""
    match tree:
        case Hole(name):
            value = constant(name, values, dtype)
            if isinstance(value, str):
                return value
            return value if isinstance(value, np.ndarray) else np.array(number(value), dtype=object)
        case Literal(value):
            return np.array(number(value), dtype=object)
    assert isinstance(tree, Call)
    if tree.op == "phi":
        return in_digits(tree.args[1 if in_digits(tree.args[0], values, dtype) else 2], values, dtype)
    if tree.op == "tuple":
        return [in_digits(a, values, dtype) for a in tree.args]
    args = [in_digits(a, values, dtype) for a in tree.args]
    params = {n: constant(v.name, values, dtype) if isinstance(v, Hole) else v for n, v in tree.params}
    return applied(tree.op, args, {n: tuple(v) if isinstance(v, list) else v for n, v in params.items()})


def applied(op: str, args: list[Any], params: dict[str, Any]) -> Any:
    """One op in many digits."""
    if op in POINTWISE:
        return guarded(POINTWISE[op])(*args)
    if op in COMPARES:
        return np.vectorize(COMPARES[op], otypes=[bool])(*args)
    if op in REDUCTIONS:
        dim, keepdim = params.get("dim"), bool(params.get("keepdim"))
        return reduced(args[0], dim, keepdim, lambda v: REDUCTIONS[op](v, params))
    if op in STRUCTURAL:
        return STRUCTURAL[op](args, params)
    raise KeyError(f"{op} has no reference in mpmath: add it to tests/evaluate_rules.py")


def log_softmax(a: list[Any], p: dict[str, Any]) -> Any:
    return a[0] - reduced(a[0], p["dim"], True, logsumexp)


def normalize(a: list[Any], p: dict[str, Any]) -> Any:
    length = reduced(a[0], p.get("dim", 1), True, norm)
    return a[0] / pointwise(lambda n: max(n, mpmath.mpf(p.get("eps", 1e-12))))(length)


def cosine(a: list[Any], p: dict[str, Any]) -> Any:
    x, y = np.broadcast_arrays(*a)
    dim = p.get("dim", 1)
    dot = reduced(x * y, dim, False, mpmath.fsum)
    eps = mpmath.mpf(p.get("eps", 1e-8))
    lengths = [pointwise(lambda n: max(n, eps))(reduced(v, dim, False, norm)) for v in (x, y)]
    return dot / (lengths[0] * lengths[1])


def binary_cross_entropy(a: list[Any], p: dict[str, Any]) -> Any:
    loss = pointwise(lambda z, t: (1 - t) * softplus(z) + t * softplus(-z))(a[0], a[1])
    return by_reduction(loss, p)


def probability_entropy(a: list[Any], p: dict[str, Any]) -> Any:
    log = lambda v: max(mpmath.log(v), mpmath.mpf(-100)) if v > 0 else mpmath.mpf(-100)  # noqa: E731
    return by_reduction(pointwise(lambda q, t: -t * log(q) - (1 - t) * log(1 - q))(a[0], a[1]), p)


def by_reduction(loss: Any, p: dict[str, Any]) -> Any:
    kind = p.get("reduction", "mean")
    return loss if kind == "none" else reduced(loss, None, False, mean if kind == "mean" else mpmath.fsum)


STRUCTURAL: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "softmax": lambda a, p: guarded(mpmath.exp)(log_softmax(a, p)),
    "log_softmax": log_softmax,
    "normalize": normalize,
    "cosine_similarity": cosine,
    "binary_cross_entropy_with_logits": binary_cross_entropy,
    "binary_cross_entropy": probability_entropy,
    "size": lambda a, p: np.array(mpmath.mpf(a[0].size if p.get("dim") is None else a[0].shape[p["dim"]]), dtype=object),
    "t": lambda a, p: a[0].T,
    "where": lambda a, p: np.where(a[0], a[1], a[2]),
    "masked_fill": lambda a, p: np.where(a[1], a[2], a[0]),
    "flatten": lambda a, p: a[0].reshape(-1) if not p else a[0].reshape(*a[0].shape[: p["start_dim"]], -1),
    "view_as": lambda a, p: a[0].reshape(p["other"].shape),
    "reshape_as": lambda a, p: a[0].reshape(p["other"].shape),
    "stack": lambda a, p: np.stack(a[0], axis=p.get("dim", 0)),
    "unsqueeze": lambda a, p: np.expand_dims(a[0], p["dim"]),
    "cast": lambda a, p: a[0],
    "detach": lambda a, p: a[0],
    "clamp": lambda a, p: guarded(lambda x, *b: min(max(x, b[0]), b[1]) if len(b) > 1 else max(x, b[0]))(*a),
    "matmul": lambda a, p: a[0] @ a[1],
    "ones_like": lambda a, p: np.vectorize(lambda _: mpmath.mpf(1), otypes=[object])(a[0]),
    "zeros_like": lambda a, p: np.vectorize(lambda _: mpmath.mpf(0), otypes=[object])(a[0]),
}


def exact_gradients(tree: Tree, values: Mapping[str, Any], dtype: torch.dtype) -> tuple[Any, dict[str, Any]]:
    """The value, and the gradient of the weighted sum of it, in 50 digits, by central differences."""
    arrays = exact(values)
    out = np.asarray(in_digits(tree, arrays, dtype), dtype=object)
    n = max(out.size, 1)
    w = np.array([mpmath.mpf(0.5) + mpmath.mpf(i * 7 % 13) / 16 for i in range(n)], dtype=object)[: out.size].reshape(out.shape)
    found = {}
    for name, v in values.items():
        if not is_floating(v):
            continue
        base, g = arrays[name], np.empty(v.shape, dtype=object)
        for i in np.ndindex(base.shape):
            ends = []
            for sign in (1, -1):
                moved = base.copy()
                moved[i] = base[i] + sign * STEP
                ends.append(np.sum(np.asarray(in_digits(tree, {**arrays, name: moved}, dtype), dtype=object) * w))
            g[i] = (ends[0] - ends[1]) / (2 * STEP)
        found[name] = g
    return out, found
