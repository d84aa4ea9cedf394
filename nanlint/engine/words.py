"""What a finding says: the operation, the range it receives, why ordinary inputs reach the bad end, what it becomes."""

from __future__ import annotations

from nanlint.catalog.rule import Rule
from nanlint.graph.values import Node, ValueGraph
from nanlint.ranges.hazards import Hazard

NAMES = {"div": "the division", "pow": "the power", "mul": "the product", "add": "the sum", "sub": "the difference", "matmul": "the product"}
BECOMES = {
    "pole": "there it is not finite",
    "domain": "there it is NaN",
    "overflow": "it overflows",
    "slope": "there its gradient is not finite",
    "empty": "of nothing it is NaN",
    "one-element": "of one element it is NaN",
    "masked": "a row of nothing but -inf gives NaN",
    "degenerate": "its gradient is not finite for degenerate matrices",
    "underflow": "it underflows to 0",
    "integer": "it wraps around",
}


def shown(value: float) -> str:
    """A number as a reader wants it."""
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return f"{value:.4g}"


def hazard(graph: ValueGraph, node: Node, found: Hazard, rule: Rule) -> str:
    """The message of a derived hazard."""
    name = NAMES.get(node.op, node.op)
    what = "divides by" if node.op in ("div", "floor_divide", "remainder", "fmod") and found.reason in ("pole", "domain", "slope") else "receives"
    text = f"{name} {what} [{shown(found.range[0])}, {shown(found.range[1])}]; {BECOMES[found.reason]}"
    return f"{text} ({found.evidence})" if found.evidence and found.evidence != "const" else text


def idiom(graph: ValueGraph, node: Node, found: Hazard | None, rule: Rule) -> str:
    """The message of a matched idiom."""
    return rule.summary
