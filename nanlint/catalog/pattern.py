"""What a template is matched with, and what a match binds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nanlint.catalog.normal import PRODUCTS, SUMS, Normal, canonical
from nanlint.catalog.template import Terms, build, parse

NOTHING: frozenset[int] = frozenset()
ANY_OP = "..."
SPELLED_FREELY = SUMS | PRODUCTS | {"hole", "const"}
SPELLED_OTHERWISE = {"sqrt": ("pow",), "square": ("pow", "mul"), "norm": ("linalg_norm", "linalg_vector_norm")}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template as a graph of terms; `ops` are those that a matching node may have, `needs` those that its graph must have."""

    text: str
    terms: Terms
    normal: Normal
    root: int
    ops: frozenset[str]
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rest:
    """What of a matched sum or product the template does not say: coef * match * factors, or sign * match + terms."""

    coef: float = 1.0
    factors: tuple[tuple[int, float], ...] = ()
    const: float = 0.0
    terms: tuple[tuple[float, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.coef == 1 and not self.factors and not self.const and not self.terms


@dataclass(frozen=True)
class Bindings:
    """What a template matched: the node of each hole, the value of each parameter hole, the inner nodes, the views between.

    `nodes` are the matched nodes with the root and without those bound to holes; `views`, outermost first, are the views
    between the ops of the template, which the fix must put around what it says; `rest` what it must put back.
    """

    root: int
    pattern: str
    holes: Mapping[str, int] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    nodes: frozenset[int] = NOTHING
    views: tuple[int, ...] = ()
    rest: Rest = Rest()


def root_ops(normal: Normal, root: int) -> frozenset[str]:
    """The ops that the root of a match may have."""
    op = normal.graph[root].op
    if op in PRODUCTS and op not in ("sqrt", "square", "pow"):
        return PRODUCTS
    if op in SUMS:
        return SUMS | {"neg"}
    return frozenset((op, *SPELLED_OTHERWISE.get(op, ())))


@lru_cache(maxsize=1024)
def pattern(text: str, where: str = "") -> Pattern:
    """The pattern of a template; `where` (file and key) begins an error."""
    terms = Terms()
    if text == ANY_OP:
        return Pattern(text, terms, Normal(terms), -1, frozenset())
    root = build(parse(text, where), terms)
    normal = Normal(terms)
    needs = frozenset(canonical(t.op) for t in terms.terms if t.op not in SPELLED_FREELY)
    return Pattern(text, terms, normal, root, root_ops(normal, root), needs)
