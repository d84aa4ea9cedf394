"""Slices for the tests of the probe, written by hand: what the engine would build of a few lines of torch."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Slice:
    """A slice built call by call; each method returns the id of its node."""

    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = dtype
        self.nodes: list[Json] = []

    def _add(self, **node: Any) -> int:
        self.nodes.append({"id": len(self.nodes) + 1, **node})
        return len(self.nodes)

    def input(self, name: str, low: Any = -150.0, high: Any = 150.0, **more: Any) -> int:
        """A tensor to be fed."""
        return self._add(op="input", name=name, low=low, high=high, **{"dtype": self.dtype, **more})

    def const(self, value: Any) -> int:
        """A constant of the source."""
        return self._add(op="const", value=value)

    def call(self, call: str, *args: int | None, **params: Any) -> int:
        """An operation; a name without a dot is one of torch."""
        op = call.rpartition(".")[2]
        return self._add(op=op, call=call if "." in call else f"torch.{call}", args=list(args), params=params)

    def word(self, op: str, *args: int | None, **params: Any) -> int:
        """A builtin word: index, size, phi, cast, ..."""
        return self._add(op=op, call=op, args=list(args), params=params)

    def data(self, *outputs: int, suspect: int, phase: str = "forward", **more: Any) -> Json:
        """The slice."""
        return {
            "dtype": self.dtype,
            "nodes": self.nodes,
            "outputs": list(outputs),
            "suspect": suspect,
            "phase": phase,
            "backward": True,
            **more,
        }


def log_sigmoid(name: str = "x") -> Json:
    s = Slice()
    log = s.call("log", s.call("sigmoid", s.input(name)))
    return s.data(log, suspect=log)


def stable_log_sigmoid(name: str = "x") -> Json:
    s = Slice()
    out = s.call("torch.nn.functional.logsigmoid", s.input(name))
    return s.data(out, suspect=out)


def where_trap() -> Json:
    s = Slice()
    d, zero = s.input("d", -1e3, 1e3), s.const(0.0)
    root = s.call("sqrt", d)
    return s.data(s.call("where", s.call("operator.gt", d, zero), root, zero), suspect=root, phase="backward")


def double_where() -> Json:
    s = Slice()
    d, zero, one = s.input("d", -1e3, 1e3), s.const(0.0), s.const(1.0)
    positive = s.call("operator.gt", d, zero)
    root = s.call("sqrt", s.call("where", positive, d, one))
    return s.data(s.call("where", positive, root, zero), suspect=root, phase="backward")


def by_hand_sigmoid() -> Json:
    s = Slice()
    one = s.const(1)
    exp = s.call("exp", s.call("operator.neg", s.input("z")))
    return s.data(s.call("operator.truediv", one, s.call("operator.add", one, exp)), suspect=exp, phase="backward")


def normalised(eps: float | None = None, dtype: str = "float32") -> Json:
    s = Slice(dtype)
    x = s.input("x", -10.0, 10.0)
    norm = s.call("torch.Tensor.norm", x, dim=-1, keepdim=True)
    if eps is not None:
        norm = s.call("operator.add", norm, s.const(eps))
    out = s.call("operator.truediv", x, norm)
    return s.data(out, suspect=out)


def masked_softmax() -> Json:
    s = Slice()
    scores, mask = s.input("scores"), s.input("mask", None, None, dtype="bool")
    out = s.call("softmax", s.call("masked_fill", scores, mask, s.const("-inf")), dim=-1)
    return s.data(out, suspect=out)


def masked_scores() -> Json:
    s = Slice()
    scores, mask = s.input("scores"), s.input("mask", None, None, dtype="bool")
    out = s.call("masked_fill", scores, mask, s.const("-inf"))
    return s.data(out, suspect=out)


def half_rms() -> Json:
    s = Slice("float16")
    h = s.input("h", -300.0, 300.0)
    square = s.call("operator.mul", h, h)
    mean = s.call("mean", square, dim=-1, keepdim=True)
    out = s.call("operator.mul", h, s.call("rsqrt", s.call("operator.add", mean, s.const(1e-6))))
    return s.data(out, suspect=square)


def root_of_relu() -> Json:
    s = Slice()
    out = s.call("sqrt", s.call("relu", s.input("x")))
    return s.data(out, suspect=out, phase="backward")


def clamped_exp() -> Json:
    s = Slice()
    exp = s.call("exp", s.input("x"))
    return s.data(s.call("clamp", exp, max=10.0), suspect=exp, phase="backward")


def half_exp() -> Json:
    s = Slice()
    out = s.call("exp", s.call("operator.truediv", s.input("z"), s.const(2)))
    return s.data(out, suspect=out)


def naive_variance() -> Json:
    s = Slice()
    x = s.input("x", -1e3, 1e3)
    mean = s.call("mean", x, dim=-1)
    squares = s.call("mean", s.call("operator.mul", x, x), dim=-1)
    out = s.call("operator.sub", squares, s.call("operator.mul", mean, mean))
    return s.data(out, suspect=out, phase="precision")


def two_pass_variance() -> Json:
    s = Slice()
    x = s.input("x", -1e3, 1e3)
    centred = s.call("operator.sub", x, s.call("mean", x, dim=-1, keepdim=True))
    out = s.call("mean", s.call("operator.mul", centred, centred), dim=-1)
    return s.data(out, suspect=out, phase="precision")
