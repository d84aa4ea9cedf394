"""Ops that only move values: views, copies, choices of elements, joins and splits, zero padding."""

from __future__ import annotations

from nanlint.core.formats import Format
from nanlint.ranges.interval import Interval, Params
from nanlint.ranges.table import TABLE, Forward, Op
from nanlint.ranges.transfer import Args, hull_of, same

ZERO = Interval(0.0, 0.0, integer=True)


def _with_zero(args: Args, params: Params, fmt: Format) -> Interval:
    """The values and 0."""
    return args[0].hull(ZERO)


def _padded(args: Args, params: Params, fmt: Format) -> Interval:
    """The values and what they are padded with."""
    value = params.get("value") or 0.0
    if params.get("mode", "constant") != "constant":
        return args[0]
    return args[0].hull(Interval(fmt.nearest(value), fmt.nearest(value))) if isinstance(value, (int, float)) else args[0]


def _renormed(args: Args, params: Params, fmt: Format) -> Interval:
    """The values, or smaller ones."""
    whole = args[0].hull(ZERO)
    return whole.with_(nan=whole.nan or args[0].has_infinity, integer=False)


VIEWS = {
    "reshape": "input, *shape",
    "view": "input, *shape",
    "permute": "input, *dims",
    "transpose": "input, dim0, dim1",
    "t": "input",
    "unsqueeze": "input, dim",
    "squeeze": "input, dim=None",
    "expand": "input, *size",
    "expand_as": "input, other",
    "view_as": "input, other",
    "reshape_as": "input, other",
    "repeat": "input, *repeats",
    "tile": "input, *dims",
    "repeat_interleave": "input, repeats, dim=None",
    "broadcast_to": "input, size",
    "flatten": "input, start_dim=0, end_dim=-1",
    "unflatten": "input, dim, sizes",
    "ravel": "input",
    "contiguous": "input",
    "clone": "input",
    "flip": "input, *dims",
    "fliplr": "input",
    "flipud": "input",
    "roll": "input, shifts, dims=None",
    "rot90": "input, k=1, dims=None",
    "select": "input, dim, index",
    "narrow": "input, dim, start, length",
    "index_select": "input, dim, index",
    "gather": "input, dim, index",
    "take": "input, index",
    "take_along_dim": "input, indices, dim=None",
    "masked_select": "input, mask",
    "diagonal": "input, offset=0, dim1=0, dim2=1",
    "movedim": "input, source, destination",
    "swapaxes": "input, axis0, axis1",
    "unfold": "input, dimension, size, step",
    "as_strided": "input, size, stride",
    "cpu": "input",
    "cuda": "input",
    "requires_grad_": "input, requires_grad=True",
    "retain_grad": "input",
    "pin_memory": "input",
    "atleast_1d": "input",
    "atleast_2d": "input",
    "atleast_3d": "input",
    "real": "input",
    "conj": "input",
    "resolve_conj": "input",
    "squeeze_": "input, dim=None",
    "channel_shuffle": "input, groups",
    "pixel_shuffle": "input, upscale_factor",
    "pixel_unshuffle": "input, downscale_factor",
    "renorm": "input, p, dim, maxnorm",
    "reshape_unknown": "input",
}
METHOD_ONLY = {"view", "expand", "expand_as", "view_as", "reshape_as", "repeat", "contiguous", "cpu", "cuda", "requires_grad_",
               "retain_grad", "pin_memory", "unfold"}
INDEXED = {"index_select": 3, "gather": 3, "take": 2, "take_along_dim": 2, "masked_select": 2}
ALSO = {
    "permute": ("torch.Tensor.permute",),
    "transpose": ("torch.swapdims", "torch.Tensor.swapdims"),
    "swapaxes": (),
    "movedim": ("torch.moveaxis", "torch.Tensor.moveaxis"),
    "clone": ("copy.deepcopy",),
    "pixel_shuffle": ("torch.nn.functional.pixel_shuffle",),
    "pixel_unshuffle": ("torch.nn.functional.pixel_unshuffle",),
    "channel_shuffle": ("torch.nn.functional.channel_shuffle",),
    "squeeze_": (),
}
SLOPES = {"renorm": None}


def _view(name: str, signature: str) -> Op:
    operands = INDEXED.get(name, 1)
    call = f"torch.Tensor.{name}" if name in METHOD_ONLY else "reshape_unknown" if name == "reshape_unknown" else f"torch.{name}"
    slope = (SLOPES.get(name, "between(0, 1)"), *("0",) * (operands - 1))
    forward = _renormed if name == "renorm" else same
    return Op(name, signature, operands, forward, slope, call, ALSO.get(name, ()), "view")


def _join(name: str, also: tuple[str, ...] = (), signature: str = "*tensors, dim=0") -> Op:
    return Op(name, signature, 1, hull_of(), ("between(0, 1)",), f"torch.{name}", also, "join")


def _split(name: str, signature: str, forward: Forward = same, operands: int = 1) -> Op:
    return Op(name, signature, operands, forward, ("between(0, 1)",) * operands, f"torch.{name}", (), "split")


TABLE.add(
    *(_view(name, signature) for name, signature in VIEWS.items() if name != "squeeze_"),
    *(Op(name, signature, 1, _with_zero, ("between(0, 1)",), f"torch.{name}", (), "view", produces="has zeros")
      for name, signature in {"tril": "input, diagonal=0", "triu": "input, diagonal=0", "diag": "input, diagonal=0",
                              "diag_embed": "input, offset=0, dim1=-2, dim2=-1", "block_diag": "*tensors"}.items()),
    Op("pad", "input, pad, mode='constant', value=None", 1, _padded, ("1",), "torch.nn.functional.pad",
       ("torch.nn.functional.pad",), "view"),
    _join("cat", ("torch.concat", "torch.concatenate")),
    _join("stack"),
    *(_join(name, signature="*tensors") for name in ("hstack", "vstack", "dstack", "column_stack")),
    Op("broadcast_tensors", "*tensors", 1, same, ("1",), "torch.broadcast_tensors", (), "split"),
    Op("cartesian_prod", "*tensors", 1, hull_of(), ("between(0, 1)",), "torch.cartesian_prod", (), "join"),
    _split("unbind", "input, dim=0"),
    _split("split", "input, split_size_or_sections, dim=0"),
    _split("chunk", "input, chunks, dim=0"),
    _split("tensor_split", "input, indices_or_sections, dim=0"),
    _split("meshgrid", "*tensors, indexing=None", hull_of()),
)
