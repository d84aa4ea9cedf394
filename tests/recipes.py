"""How the rows that are not plain functions of equal tensors are run on torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Recipe:
    """Shapes of the drawn operands, torch's keyword arguments, how many elements are reduced, and what differs.

    `mixes` says that a result depends on many elements of an operand; `within` bounds what is drawn for an operand; `fixed`
    gives an operand outright (indices, masks); `prepare` changes a drawn one (to a mask, a symmetric matrix); `arrange` makes the
    call's arguments of the operands; `facts` are told to the row but not to torch.
    """

    shapes: tuple[tuple[int, ...], ...]
    params: dict[str, Any] = field(default_factory=dict)
    count: int | None = None
    mixes: bool = False
    within: dict[int, tuple[float, float]] = field(default_factory=dict)
    fixed: dict[int, Any] = field(default_factory=dict)
    prepare: dict[int, Callable[[Any], Any]] = field(default_factory=dict)
    arrange: Callable[[list[Any]], list[Any]] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = True
    may_raise: bool = False


INDEX = torch.tensor([[0, 2, 1, 3, 4]] * 6)
MASK = torch.tensor([[True, False, True, False, False]] * 6)
ROWS = (6, 5)
UNIT = (0.0, 1.0)


def _no_dim(**more: Any) -> Recipe:
    return Recipe(shapes=((8,),), count=8, mixes=True, **more)


def _along(**params: Any) -> Recipe:
    return Recipe(shapes=(ROWS,), params={"dim": -1, **params}, count=5, mixes=True)


def _moved(**params: Any) -> Recipe:
    return Recipe(shapes=(ROWS,), params=params, mixes=True)


def _called(*more: Any) -> Recipe:
    return Recipe(shapes=(ROWS,), arrange=lambda t: [*t, *more], mixes=True)


def _boolean(t: Any) -> Any:
    return t != 0


RECIPES: dict[str, Recipe] = {
    "round": Recipe(shapes=((64,),), params={"decimals": 2}),
    "logit": Recipe(shapes=((64,),), within={0: (-0.1, 1.1)}),
    "polygamma": Recipe(shapes=((1,), (64,)), fixed={0: torch.tensor([2])}, arrange=lambda t: [2, t[1]]),
    "where": Recipe(shapes=(ROWS, ROWS, ROWS), prepare={0: _boolean}, differentiable=True),
    "masked_fill": Recipe(shapes=(ROWS, ROWS, ()), prepare={1: _boolean}, mixes=True),
    "and": Recipe(shapes=(ROWS, ROWS), within={0: UNIT, 1: UNIT}, prepare={0: _boolean, 1: _boolean}),
    "or": Recipe(shapes=(ROWS, ROWS), within={0: UNIT, 1: UNIT}, prepare={0: _boolean, 1: _boolean}),
    "xor": Recipe(shapes=(ROWS, ROWS), within={0: UNIT, 1: UNIT}, prepare={0: _boolean, 1: _boolean}),
    "invert": Recipe(shapes=(ROWS,), within={0: UNIT}, prepare={0: _boolean}),
    "prelu": Recipe(shapes=(ROWS, (1,)), mixes=True),
    "threshold": Recipe(shapes=((64,),), params={"threshold": 0.5, "value": -3.0}),
    "glu": Recipe(shapes=((6, 4),), params={"dim": -1}, mixes=True),
    "softmax": _along(),
    "softmin": _along(),
    "log_softmax": _along(),
    "gumbel_softmax": _along(),
    "clamp": Recipe(shapes=((64,),) * 3),
    "lerp": Recipe(shapes=((64,),) * 3),
    "median": _no_dim(),
    "nanmedian": _no_dim(),
    "trace": Recipe(shapes=((5, 5),), count=5, mixes=True),
    "msort": _moved(),
    "unique": Recipe(shapes=(ROWS,), differentiable=False),
    "polar": Recipe(shapes=((8,), (8,)), differentiable=False),
    "floor_divide": Recipe(shapes=((64,), (64,)), differentiable=False),
    "kthvalue": _along(k=2),
    "topk": _along(k=2),
    "quantile": _along(q=0.3),
    "nanquantile": _along(q=0.3),
    "diff": _along(),
    "histc": Recipe(shapes=((8,),), count=8, within={0: (-5.0, 5.0)}, mixes=True),
    "nonzero": Recipe(shapes=((8,),), count=8),
    "count_nonzero": _along(),
    "bincount": Recipe(shapes=((8,),), count=8, fixed={0: torch.tensor([0, 3, 3, 1, 0, 2, 5, 5])}),
    "searchsorted": Recipe(shapes=((5,), (8,)), prepare={0: lambda t: t.sort().values}, count=5, differentiable=False),
    "bucketize": Recipe(shapes=((8,), (5,)), prepare={1: lambda t: t.sort().values}, count=5, differentiable=False),
    "var": _along(),
    "std": _along(),
    "norm": Recipe(shapes=(ROWS,), params={"dim": -1, "p": 2}, count=5, mixes=True),
    "linalg_matrix_norm": Recipe(shapes=((2, 3, 4),), count=12, mixes=True),
    "dist": Recipe(shapes=(ROWS, ROWS), count=30, mixes=True),
    "cdist": Recipe(shapes=(ROWS, ROWS), count=5, mixes=True),
    "pairwise_distance": Recipe(shapes=(ROWS, ROWS), count=5, mixes=True),
    "cosine_similarity": Recipe(shapes=(ROWS, ROWS), count=5, mixes=True),
    "cov": Recipe(shapes=(ROWS,), mixes=True),
    "corrcoef": Recipe(shapes=(ROWS,), mixes=True),
    "trapezoid": Recipe(shapes=(ROWS,), mixes=True),
    "cumulative_trapezoid": Recipe(shapes=(ROWS,), mixes=True),
    "matmul": Recipe(shapes=((4, 5), (5, 3)), count=5, mixes=True),
    "mm": Recipe(shapes=((4, 5), (5, 3)), count=5, mixes=True),
    "bmm": Recipe(shapes=((2, 4, 5), (2, 5, 3)), count=5, mixes=True),
    "mv": Recipe(shapes=((4, 5), (5,)), count=5, mixes=True),
    "dot": Recipe(shapes=((5,), (5,)), count=5, mixes=True),
    "vdot": Recipe(shapes=((5,), (5,)), count=5, mixes=True),
    "inner": Recipe(shapes=((4, 5), (3, 5)), count=5, mixes=True),
    "tensordot": Recipe(shapes=((4, 5), (5, 3)), params={"dims": 1}, count=5, mixes=True),
    "einsum": Recipe(shapes=((1,), (4, 5), (5, 3)), fixed={0: torch.tensor([0])}, arrange=lambda t: ["ij,jk->ik", *t[1:]],
    count=5, mixes=True),
    "outer": Recipe(shapes=((4,), (3,)), mixes=True),
    "kron": Recipe(shapes=((2, 2), (2, 3)), mixes=True),
    "cross": Recipe(shapes=((4, 3), (4, 3)), params={"dim": -1}, mixes=True),
    "addmm": Recipe(shapes=((4, 3), (4, 5), (5, 3)), count=5, mixes=True),
    "addmv": Recipe(shapes=((4,), (4, 5), (5,)), count=5, mixes=True),
    "addr": Recipe(shapes=((4, 3), (4,), (3,)), count=1, mixes=True),
    "baddbmm": Recipe(shapes=((2, 4, 3), (2, 4, 5), (2, 5, 3)), count=5, mixes=True),
    "addbmm": Recipe(shapes=((4, 3), (2, 4, 5), (2, 5, 3)), count=10, mixes=True),
    "linear": Recipe(shapes=((4, 5), (3, 5), (3,)), count=5, mixes=True),
    "bilinear": Recipe(shapes=((4, 2), (4, 3), (3, 2, 3), (3,)), count=6, mixes=True),
    "conv1d": Recipe(shapes=((2, 3, 7), (4, 3, 3), (4,)), params={"padding": 1}, count=9, mixes=True),
    "conv2d": Recipe(shapes=((1, 2, 5, 5), (3, 2, 3, 3), (3,)), params={"padding": 1}, count=18, mixes=True),
    "conv3d": Recipe(shapes=((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), (2,)), params={"padding": 1}, count=8, mixes=True),
    "conv_transpose1d": Recipe(shapes=((2, 3, 7), (3, 4, 3), (4,)), count=9, mixes=True),
    "conv_transpose2d": Recipe(shapes=((1, 2, 4, 4), (2, 3, 3, 3), (3,)), count=18, mixes=True),
    "conv_transpose3d": Recipe(shapes=((1, 1, 3, 3, 3), (1, 2, 2, 2, 2), (2,)), count=8, mixes=True),
    "embedding": Recipe(shapes=((6, 5), (5, 4)), fixed={0: INDEX}, mixes=True),
    "embedding_bag": Recipe(shapes=((6, 5), (5, 4)), fixed={0: INDEX}, mixes=True),
    "layer_norm": Recipe(shapes=(ROWS, (), (5,), (5,)), arrange=lambda t: [t[0], (5,), t[2], t[3]], count=5, mixes=True),
    "group_norm": Recipe(shapes=((2, 4, 3), (), (4,), (4,)), arrange=lambda t: [t[0], 2, t[2], t[3]], count=6, mixes=True),
    "instance_norm": Recipe(shapes=((2, 4, 6), (), (), (4,), (4,)), arrange=lambda t: [t[0], None, None, t[3], t[4]], count=6,
    mixes=True),
    "batch_norm": Recipe(shapes=((6, 4), (4,), (4,), (4,), (4,)), arrange=lambda t: [t[0], None, None, t[3], t[4], True],
                         facts={"training": True}, count=6, mixes=True),
    "rms_norm": Recipe(shapes=(ROWS, (), (5,)), arrange=lambda t: [t[0], (5,), t[2]], count=5, mixes=True),
    "local_response_norm": Recipe(shapes=((2, 4, 6),), params={"size": 3}, mixes=True),
    "normalize": Recipe(shapes=(ROWS,), params={"dim": -1}, count=5, mixes=True),
    "dropout": Recipe(shapes=(ROWS,), params={"p": 0.4}, mixes=True),
    "dropout1d": Recipe(shapes=((2, 4, 6),), params={"p": 0.4}, mixes=True),
    "dropout2d": Recipe(shapes=((2, 4, 6, 6),), params={"p": 0.4}, mixes=True),
    "dropout3d": Recipe(shapes=((2, 4, 2, 3, 3),), params={"p": 0.4}, mixes=True),
    "avg_pool1d": Recipe(shapes=((2, 3, 8),), params={"kernel_size": 3, "padding": 1}, mixes=True),
    "avg_pool2d": Recipe(shapes=((1, 2, 6, 6),), params={"kernel_size": 3, "padding": 1}, mixes=True),
    "avg_pool3d": Recipe(shapes=((1, 1, 4, 4, 4),), params={"kernel_size": 2}, mixes=True),
    "adaptive_avg_pool1d": Recipe(shapes=((2, 3, 8),), params={"output_size": 2}, mixes=True),
    "adaptive_avg_pool2d": Recipe(shapes=((1, 2, 6, 6),), params={"output_size": 1}, mixes=True),
    "adaptive_avg_pool3d": Recipe(shapes=((1, 1, 4, 4, 4),), params={"output_size": 2}, mixes=True),
    "max_pool1d": Recipe(shapes=((2, 3, 8),), params={"kernel_size": 3, "padding": 1}, mixes=True),
    "max_pool2d": Recipe(shapes=((1, 2, 6, 6),), params={"kernel_size": 3, "padding": 1}, mixes=True),
    "max_pool3d": Recipe(shapes=((1, 1, 4, 4, 4),), params={"kernel_size": 2}, mixes=True),
    "adaptive_max_pool1d": Recipe(shapes=((2, 3, 8),), params={"output_size": 2}, mixes=True),
    "adaptive_max_pool2d": Recipe(shapes=((1, 2, 6, 6),), params={"output_size": 1}, mixes=True),
    "adaptive_max_pool3d": Recipe(shapes=((1, 1, 4, 4, 4),), params={"output_size": 2}, mixes=True),
    "lp_pool2d": Recipe(shapes=((1, 2, 6, 6),), params={"norm_type": 2.0, "kernel_size": 2}, mixes=True),
    "interpolate": Recipe(shapes=((1, 2, 4, 4),), params={"scale_factor": 2.0, "mode": "bilinear"}, mixes=True),
    "grid_sample": Recipe(shapes=((1, 2, 4, 4), (1, 3, 3, 2)), params={"align_corners": False}, mixes=True),
    "im2col": Recipe(shapes=((1, 2, 4, 4),), params={"kernel_size": 2, "padding": 1}, mixes=True),
    "col2im": Recipe(shapes=((1, 8, 9),), params={"output_size": (4, 4), "kernel_size": 2}, mixes=True),
    "scaled_dot_product_attention": Recipe(shapes=((2, 4, 5),) * 3, count=5, mixes=True),
    "mse_loss": Recipe(shapes=(ROWS, ROWS), params={"reduction": "none"}),
    "l1_loss": Recipe(shapes=(ROWS, ROWS), params={"reduction": "none"}),
    "huber_loss": Recipe(shapes=(ROWS, ROWS), params={"reduction": "mean"}, count=30, mixes=True),
    "smooth_l1_loss": Recipe(shapes=(ROWS, ROWS), params={"reduction": "sum"}, count=30, mixes=True),
    "binary_cross_entropy": Recipe(shapes=(ROWS, ROWS), within={0: UNIT, 1: UNIT}, count=30, mixes=True),
    "binary_cross_entropy_with_logits": Recipe(shapes=(ROWS, ROWS), within={1: UNIT}, count=30, mixes=True),
    "cross_entropy": Recipe(shapes=(ROWS, (6,)), fixed={1: torch.tensor([0, 1, 2, 3, 4, 0])}, count=6, facts={"classes": 5},
    mixes=True),
    "nll_loss": Recipe(shapes=(ROWS, (6,)), fixed={1: torch.tensor([0, 1, 2, 3, 4, 0])}, count=6, mixes=True),
    "kl_div": Recipe(shapes=(ROWS, ROWS), params={"reduction": "sum"}, count=30, mixes=True),
    "gaussian_nll_loss": Recipe(shapes=(ROWS, ROWS, ROWS), within={2: (0.0, 4.0)}, count=30, mixes=True),
    "poisson_nll_loss": Recipe(shapes=(ROWS, ROWS), count=30, mixes=True),
    "soft_margin_loss": Recipe(shapes=(ROWS, ROWS), count=30, mixes=True, differentiable=False),
    "hinge_embedding_loss": Recipe(shapes=(ROWS, ROWS), count=30, mixes=True),
    "margin_ranking_loss": Recipe(shapes=((6,), (6,), (6,)), count=6, mixes=True),
    "triplet_margin_loss": Recipe(shapes=(ROWS, ROWS, ROWS), count=6, mixes=True),
    "cosine_embedding_loss": Recipe(shapes=(ROWS, ROWS, (6,)), fixed={2: torch.tensor([1, -1, 1, 1, -1, 1])}, count=6,
    mixes=True),
    "multi_margin_loss": Recipe(shapes=(ROWS, (6,)), fixed={1: torch.tensor([0, 1, 2, 3, 4, 0])}, count=6, mixes=True),
    "multilabel_soft_margin_loss": Recipe(shapes=(ROWS, ROWS), count=6, mixes=True),
    "linalg_inv": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "linalg_pinv": Recipe(shapes=((3, 4),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_det": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "logdet": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "linalg_slogdet": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "linalg_svdvals": Recipe(shapes=((3, 4),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_svd": Recipe(shapes=((3, 4),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_eigh": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, prepare={0: lambda t: t + t.mT}, may_raise=True, mixes=True),
    "linalg_eigvalsh": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, prepare={0: lambda t: t + t.mT}, may_raise=True,
    mixes=True),
    "linalg_qr": Recipe(shapes=((4, 3),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_lu": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_matrix_rank": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, may_raise=True),
    "linalg_cond": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_cholesky_ex": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "linalg_solve": Recipe(shapes=((3, 3), (3, 2)), may_raise=True, mixes=True),
    "matrix_exp": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "matrix_power": Recipe(shapes=((3, 3),), params={"n": 2}, may_raise=True, mixes=True),
    "fft_fft": Recipe(shapes=((8,),), count=8, mixes=True, differentiable=False),
    "fft_rfft": Recipe(shapes=((8,),), count=8, mixes=True, differentiable=False),
    "fft_ifft": Recipe(shapes=((8,),), count=8, mixes=True, differentiable=False),
    "fft_fftshift": _moved(),
    "pad": Recipe(shapes=(ROWS,), params={"pad": (1, 1), "value": 2.0}, mixes=True),
    **{name: _called(*more) for name, more in {
        "reshape": ((3, 10),), "view": (30,), "permute": ((1, 0),), "transpose": (0, 1), "t": (), "unsqueeze": (0,),
        "squeeze": (),
        "repeat": (2, 1), "tile": ((2, 1),), "repeat_interleave": (2,), "flatten": (), "ravel": (), "contiguous": (), "clone": (),
        "flip": ((0,),), "fliplr": (), "flipud": (), "roll": (1,), "rot90": (), "select": (0, 1), "narrow": (0, 1, 2),
        "diagonal": (),
        "movedim": (0, 1), "swapaxes": (0, 1), "unfold": (1, 2, 1), "expand": (6, 5), "broadcast_to": ((6, 5),),
        "unflatten": (1, (5, 1)),
        "tril": (), "triu": (), "diag": (), "diag_embed": (), "unbind": (), "split": (2,), "chunk": (2,), "tensor_split": (2,),
        "cpu": (),
        "real": (), "conj": (), "atleast_1d": (), "atleast_2d": (), "atleast_3d": (), "renorm": (2, 0, 1.0)}.items()},
    "index_select": Recipe(shapes=(ROWS, (), (3,)), arrange=lambda t: [t[0], 1, t[2]], fixed={2: torch.tensor([0, 2, 2])},
    mixes=True),
    "gather": Recipe(shapes=(ROWS, (), ROWS), arrange=lambda t: [t[0], 1, t[2]], fixed={2: INDEX}, mixes=True),
    "take": Recipe(shapes=(ROWS, (6, 5)), fixed={1: INDEX}, mixes=True),
    "take_along_dim": Recipe(shapes=(ROWS, ROWS), params={"dim": 1}, fixed={1: INDEX}, mixes=True),
    "masked_select": Recipe(shapes=(ROWS, ROWS), fixed={1: MASK}, mixes=True),
    "cat": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "stack": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "hstack": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "vstack": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "block_diag": Recipe(shapes=(ROWS,), mixes=True),
    "scatter": Recipe(shapes=(ROWS, (), ROWS, ROWS), arrange=lambda t: [t[0], 1, t[2], t[3]], fixed={2: INDEX}, mixes=True),
    "scatter_add": Recipe(shapes=(ROWS, (), ROWS, ROWS), arrange=lambda t: [t[0], 1, t[2], t[3]], fixed={2: INDEX}, count=5,
    mixes=True),
    "index_add": Recipe(shapes=(ROWS, (), (5,), ROWS), arrange=lambda t: [t[0], 1, t[2], t[3]], fixed={2: INDEX[0]}, count=5,
    mixes=True),
    "index_fill": Recipe(shapes=(ROWS, (), (5,), ()), arrange=lambda t: [t[0], 1, t[2], t[3]], fixed={2: INDEX[0]}, mixes=True),
    "index_put": Recipe(shapes=(ROWS, (6, 5), ()), arrange=lambda t: [t[0], (torch.tensor([0, 2]),), t[2]], fixed={1: INDEX},
    mixes=True),
    "index_copy": Recipe(shapes=(ROWS, (), (5,), ROWS), arrange=lambda t: [t[0], 1, t[2], t[3]], fixed={2: INDEX[0]}, mixes=True),
    "scatter_reduce": Recipe(shapes=(ROWS, (), ROWS, ROWS), arrange=lambda t: [t[0], 1, t[2], t[3], "amax"], fixed={2: INDEX},
                             facts={"reduce": "amax"}, mixes=True),
    "masked_scatter": Recipe(shapes=(ROWS, ROWS, (30,)), fixed={1: MASK}, mixes=True),
    "select_scatter": Recipe(shapes=(ROWS, (5,)), params={"dim": 0, "index": 1}, mixes=True),
    "slice_scatter": Recipe(shapes=(ROWS, (2, 5)), params={"dim": 0, "start": 1, "end": 3}, mixes=True),
    "zeros_like": Recipe(shapes=(ROWS,)),
    "ones_like": Recipe(shapes=(ROWS,)),
    "rand_like": Recipe(shapes=(ROWS,)),
    "randn_like": Recipe(shapes=(ROWS,)),
    "full_like": Recipe(shapes=(ROWS, ()), arrange=lambda t: [t[0], t[1].item()]),
    "bernoulli": Recipe(shapes=(ROWS,), within={0: UNIT}),
    "gcd": Recipe(shapes=((6,), (6,)), fixed={0: torch.tensor([0, 4, 6, 9, 12, 5]), 1: torch.tensor([3, 2, 4, 0, 18, 5])}),
    "lcm": Recipe(shapes=((6,), (6,)), fixed={0: torch.tensor([0, 4, 6, 9, 12, 5]), 1: torch.tensor([3, 2, 4, 0, 18, 5])}),
    "lshift": Recipe(shapes=((6,), (6,)), fixed={0: torch.tensor([0, 4, -6, 9, 12, 5]), 1: torch.tensor([3, 2, 4, 0, 1, 5])}),
    "rshift": Recipe(shapes=((6,), (6,)), fixed={0: torch.tensor([0, 4, -6, 9, 12, 5]), 1: torch.tensor([3, 2, 4, 0, 1, 5])}),
    "special_zeta": Recipe(shapes=((64,), (64,)), may_raise=True, differentiable=False),
    "special_multigammaln": Recipe(shapes=((64,),), params={"p": 2}, may_raise=True),
    "special_gammainc": Recipe(shapes=((64,), (64,)), differentiable=False),
    "special_gammaincc": Recipe(shapes=((64,), (64,)), differentiable=False),
    "copy": Recipe(shapes=(ROWS, ROWS), differentiable=False),
    "fill": Recipe(shapes=(ROWS, ()), mixes=True),
    "index_reduce": Recipe(shapes=(ROWS, (), (5,), ROWS), arrange=lambda t: [t[0], 1, t[2], t[3], "amax"], fixed={2: INDEX[0]},
    mixes=True),
    "pdist": Recipe(shapes=(ROWS,), count=5, mixes=True),
    "linalg_vecdot": Recipe(shapes=(ROWS, ROWS), count=5, mixes=True),
    "linalg_diagonal": Recipe(shapes=((5, 5),), mixes=True),
    "vander": Recipe(shapes=((5,),), differentiable=False),
    "combinations": Recipe(shapes=((5,),), mixes=True),
    "unique_consecutive": Recipe(shapes=(ROWS,), differentiable=False),
    "frexp": Recipe(shapes=((64,),), differentiable=False),
    "sum_to_size": Recipe(shapes=(ROWS,), arrange=lambda t: [t[0], (1, 5)], count=6, mixes=True),
    "rrelu": Recipe(shapes=((64,),), params={"training": True}),
    "dstack": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "column_stack": Recipe(shapes=(ROWS, ROWS), arrange=lambda t: [t], mixes=True, differentiable=False),
    "cartesian_prod": Recipe(shapes=((4,), (3,)), mixes=True, differentiable=False),
    "broadcast_tensors": Recipe(shapes=(ROWS,), mixes=True, differentiable=False),
    "meshgrid": Recipe(shapes=((4,), (3,)), params={"indexing": "ij"}, mixes=True, differentiable=False),
    "pixel_shuffle": Recipe(shapes=((1, 4, 2, 2),), params={"upscale_factor": 2}, mixes=True),
    "pixel_unshuffle": Recipe(shapes=((1, 1, 4, 4),), params={"downscale_factor": 2}, mixes=True),
    "channel_shuffle": Recipe(shapes=((1, 4, 2, 2),), params={"groups": 2}, mixes=True),
    "expand_as": Recipe(shapes=(ROWS,), arrange=lambda t: [t[0], t[0]], mixes=True),
    "view_as": Recipe(shapes=(ROWS,), arrange=lambda t: [t[0], t[0]], mixes=True),
    "reshape_as": Recipe(shapes=(ROWS,), arrange=lambda t: [t[0], t[0]], mixes=True),
    "as_strided": Recipe(shapes=((12,),), params={"size": (3, 4), "stride": (4, 1)}, mixes=True),
    "resolve_conj": Recipe(shapes=(ROWS,), mixes=True),
    "zero": Recipe(shapes=(ROWS,), mixes=True),
    "gradient": Recipe(shapes=(ROWS,), mixes=True),
    "linalg_inv_ex": Recipe(shapes=((3, 3),), may_raise=True, mixes=True),
    "linalg_cholesky": Recipe(shapes=((3, 3),), within={0: (-5.0, 5.0)}, prepare={0: lambda t: t @ t.mT}, may_raise=True,
    mixes=True),
    "linalg_solve_triangular": Recipe(shapes=((3, 3), (3, 2)), params={"upper": True}, may_raise=True, mixes=True),
    "svd": Recipe(shapes=((3, 4),), within={0: (-5.0, 5.0)}, may_raise=True, mixes=True),
    "stft": Recipe(shapes=((32,),), params={"n_fft": 8, "return_complex": True}, count=8, mixes=True, may_raise=True,
    differentiable=False),
    "fft_irfft": Recipe(shapes=((9,),), count=16, mixes=True, differentiable=False),
    "fft_fft2": Recipe(shapes=((4, 4),), count=16, mixes=True, differentiable=False),
    "fft_ifft2": Recipe(shapes=((4, 4),), count=16, mixes=True, differentiable=False),
    "fft_rfft2": Recipe(shapes=((4, 4),), count=16, mixes=True, differentiable=False),
    "fft_fftn": Recipe(shapes=((4, 4),), count=16, mixes=True, differentiable=False),
    "fft_ifftshift": _moved(),
    "complex": Recipe(shapes=((8,), (8,)), differentiable=False),
    "multilabel_margin_loss": Recipe(shapes=(ROWS, ROWS), fixed={1: INDEX}, count=6, mixes=True),
    "alpha_dropout": Recipe(shapes=(ROWS,), params={"training": True}, mixes=True),
    "fake_quantize_per_tensor_affine": Recipe(
        shapes=(ROWS,), params={"scale": 0.1, "zero_point": 3, "quant_min": 0, "quant_max": 255}, mixes=True
    ),
    "isin": Recipe(shapes=((8,), (5,))),
    "equal": Recipe(shapes=(ROWS, ROWS), arrange=None),
}
for _name in ("equal", "allclose"):
    RECIPES.pop(_name, None)
