"""torch.nn layers as values: activations and losses are ops of the table, layers with weights are networks' outputs."""

from __future__ import annotations

import ast
from typing import Any

from nanlint.ranges.table import TABLE
from nanlint.source.abstract import Const, Layer, Sequence, Table, Tensor
from nanlint.source.lift import Lifter

ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Sigmoid": ("sigmoid", ()),
    "Tanh": ("tanh", ()),
    "ReLU": ("relu", ()),
    "ReLU6": ("relu6", ()),
    "Softplus": ("softplus", ("beta", "threshold")),
    "Softmax": ("softmax", ("dim",)),
    "LogSoftmax": ("log_softmax", ("dim",)),
    "LogSigmoid": ("logsigmoid", ()),
    "ELU": ("elu", ("alpha",)),
    "SELU": ("selu", ()),
    "GELU": ("gelu", ()),
    "SiLU": ("silu", ()),
    "Mish": ("mish", ()),
    "LeakyReLU": ("leaky_relu", ("negative_slope",)),
    "Softsign": ("softsign", ()),
    "Hardtanh": ("hardtanh", ("min_val", "max_val")),
    "Hardsigmoid": ("hardsigmoid", ()),
    "Hardswish": ("hardswish", ()),
    "Flatten": ("flatten", ("start_dim", "end_dim")),
    "CosineSimilarity": ("cosine_similarity", ("dim", "eps")),
    "PairwiseDistance": ("pairwise_distance", ("p", "eps")),
    "CrossEntropyLoss": ("cross_entropy", ()),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", ()),
    "BCELoss": ("binary_cross_entropy", ()),
    "NLLLoss": ("nll_loss", ()),
    "MSELoss": ("mse_loss", ()),
    "L1Loss": ("l1_loss", ()),
    "SmoothL1Loss": ("smooth_l1_loss", ()),
    "HuberLoss": ("huber_loss", ()),
    "KLDivLoss": ("kl_div", ()),
}
PASSING = frozenset("Identity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout".split())
CONTAINERS = frozenset("Sequential ModuleList".split())


def layer_call(lifter: Lifter, layer: Layer, args: tuple[Any, ...], keywords: dict[str, Any], node: ast.Call) -> Any:
    """The result of calling a torch.nn layer."""
    from nanlint.source.lift_calls import apply, network, torch_call

    if layer.name in PASSING and args:
        return args[0]
    if layer.name == "Sequential":
        value = args[0] if args else Const(None)
        for part in parts(lifter, layer):
            if part is None:
                return network(lifter, node, layer.text)
            value = apply(lifter, part, (value,), {}, node)
        return value if parts(lifter, layer) else network(lifter, node, layer.text)
    if layer.name in ACTIVATIONS and args:
        name, order = ACTIVATIONS[layer.name]
        op = TABLE.get(name)
        if op is not None:
            given = {**dict(zip(order, layer.args)), **layer.keywords}
            given = {k: v for k, v in given.items() if k in op.names}
            return torch_call(lifter, op, args, {**given, **keywords}, node)
    if layer.name in ("ModuleDict", "ModuleList", "ParameterList", "ParameterDict"):
        return lifter.opaque(node)
    if layer.name.endswith("Loss"):
        return lifter.opaque(node, "tensor")
    if layer.name in ("LSTM", "GRU", "RNN", "MultiheadAttention"):
        return Sequence((network(lifter, node, layer.text), lifter.opaque(node)))
    return network(lifter, node, layer.text)


def parts(lifter: Lifter, layer: Layer) -> list[Any]:
    """The layers of a Sequential in order; [None] if they are not known."""
    items: list[Any] = []
    for value in layer.args:
        if isinstance(value, Table):
            items.extend(value.items.values())
        elif isinstance(value, Sequence):
            items.extend(value.items)
        else:
            items.append(value)
    # what matters is what comes after the last layer with weights
    return items if items else [None]


__all__ = ["ACTIVATIONS", "CONTAINERS", "layer_call", "Tensor"]
