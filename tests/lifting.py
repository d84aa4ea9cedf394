"""Helpers of the tests that lift source: a snippet's value graph, its ranges, its suspects."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from nanlint.catalog.load import load
from nanlint.engine.scan import WORDS, Scan, scan
from nanlint.graph.values import Node
from nanlint.ranges.propagate import Ranges, propagate
from nanlint.source.lift import Lifted
from nanlint.source.lift_functions import lift_function
from nanlint.source.names import view

HEADER = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
"""


def lift(body: str, name: str = "f", dtype: str = "float32", header: str = HEADER) -> Lifted:
    """The value graph of the function or method `name` of a snippet."""
    text = header + textwrap.dedent(body)
    module = view(ast.parse(text), text, WORDS)
    function = next(f for f in module.bodies if f.qualname == name)
    return lift_function(module, function, dtype, places=True)


def ops(lifted: Lifted) -> list[str]:
    """The operations of a graph, leaves and constants left out."""
    return [n.op for n in lifted.graph if n.op not in ("input", "opaque", "parameter", "const", "size")]


def result(lifted: Lifted) -> Node:
    """The node that the function returns."""
    return lifted.graph[lifted.returned[0]]


def ranged(body: str, name: str = "f", dtype: str = "float32", **stated: tuple[float, float]) -> tuple[Lifted, Ranges]:
    """The graph of a snippet and its ranges."""
    lifted = lift(body, name, dtype)
    return lifted, propagate(lifted.graph, dtype, lifted.roles, stated)


def usual(body: str, name: str = "f", dtype: str = "float32") -> Any:
    """The usual range of what a snippet returns."""
    lifted, ranges = ranged(body, name, dtype)
    return ranges.usual[lifted.returned[0]]


def scanned(body: str, dtype: str = "float32", header: str = HEADER, path: str = "model.py") -> Scan:
    """What the scan of a snippet finds."""
    return scan((header + textwrap.dedent(body)).encode(), path, dtype, {}, load(()))


def evidenced(body: str, dtype: str = "float32") -> set[tuple[str, str]]:
    """The (op text, rule) of the suspects that ordinary inputs reach."""
    return {(s.finding.message.split(" ")[0], s.finding.rule) for s in scanned(body, dtype).suspects if s.slices}
