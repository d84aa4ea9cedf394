"""A break as an answer: printable inputs, and everything that reruns it exactly."""

from __future__ import annotations

from typing import Any

import torch

from .dtypes import Feed, Json, dtype_named
from .program import Leaf, Program
from .search import Found
from .shapes import Layout
from .words import Context


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
    if value.numel() == 0:
        return f"an empty tensor of shape {tuple(value.shape)}"
    text = [element(v) for v in flat[:8]]
    if value.numel() > 4 and bool((value == flat[0]).all()):
        return f"{text[0]} everywhere ({shape})"
    if value.numel() <= 8:
        return nested(text, list(value.shape))
    return sparse(value, shape) or f"[{', '.join(text)}, ...] ({shape})"


def element(value: Any) -> str:
    """One number of a tensor as text."""
    if value.dtype == torch.bool:
        return str(bool(value))
    return shortest(value, value.dtype) if value.dtype.is_floating_point else str(int(value))


def sparse(value: Any, shape: str) -> str:
    """A tensor in which all but a few elements are alike, as that number and the others; else nothing."""
    common = value.reshape(-1).double().mode().values.to(value.dtype)
    others = (value != common).nonzero().tolist()
    if not 0 < len(others) <= 4:
        return ""
    return f"{element(common)} everywhere ({shape}) but {', '.join(f'{at} {element(value[tuple(at)])}' for at in others)}"


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
        "version": 1,
        "slice": program.data,
        "feeds": feeds,
        "seed": found.context.seed,
        "phi": found.context.phi,
        "asked": [found.context.forward_only, found.context.only_accepted],
        "idle": sorted(idle),
        "layout": [found.layout.n, [list(f) for f in found.layout.forms], found.layout.reach, list(found.layout.counts)],
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
            feed[leaf.id] = (
                torch.tensor(kept["data"], dtype=torch.float64 if dtype.is_floating_point else dtype).to(dtype).reshape(shape)
            )
    n, forms, reach, counts = frozen["layout"]
    return (
        feed,
        Context(int(frozen["seed"]), int(frozen["phi"]), False, False, *frozen["asked"]),
        Layout(n, tuple(tuple(f) for f in forms), reach, tuple(counts)),
    )


def answer_of(program: Program, found: Found, idle: frozenset[int], tries: int) -> Json:
    """A break as the answer to a request."""
    return {
        "verdict": "broken",
        "phase": found.broken.phase,
        "guilty": found.broken.guilty,
        "becomes": found.broken.becomes,
        "inputs": inputs_of(program, found, idle),
        "frozen": freeze(program, found, idle),
        "tries": tries,
        "error": "",
    }


def no_break(verdict: str, tries: int, error: str = "") -> Json:
    """An answer without a witness."""
    return {
        "verdict": verdict,
        "phase": "",
        "guilty": None,
        "becomes": "",
        "inputs": {},
        "frozen": None,
        "tries": tries,
        "error": error,
    }
