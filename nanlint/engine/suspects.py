"""Suspects: the risky operations of one lifted function, each with its rule, its evidence and the slices that could break it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nanlint.catalog.load import Catalog
from nanlint.catalog.rule import HALF, Rule
from nanlint.core.finding import Finding, Phase, Span, Step
from nanlint.engine import idioms, words
from nanlint.engine.slices import cone, is_floating, payload
from nanlint.graph.values import Node, ValueGraph
from nanlint.ranges.hazards import Hazard, risks
from nanlint.ranges.interval import Interval
from nanlint.ranges.propagate import Ranges, propagate
from nanlint.ranges.roles import LOGIT
from nanlint.source.lift import Lifted

POLES = frozenset({"div", "reciprocal", "floor_divide", "remainder", "fmod", "rsqrt"})
SELECTING = frozenset({"where", "masked_fill", "nan_to_num", "masked_scatter", "index_put", "clamp", "clamp_min", "clamp_max", "minimum", "maximum"})
COMPARED = frozenset({"lt", "le", "gt", "ge"})
MASKING = frozenset({"where", "masked_fill", "nan_to_num", "masked_scatter", "masked_select"})
NEAR_ZERO = frozenset({"log-of-one-plus", "log1p-by-hand", "log-of-small"})
INFINITY = float("inf")


@dataclass(frozen=True)
class Suspect:
    """One risky operation with what is needed to probe it and to say what was found."""

    finding: Finding
    node: int
    root: str
    slices: tuple[dict[str, Any], ...]
    accept: frozenset[int]
    rules: Mapping[str, str] = field(hash=False)
    evidence: str = ""
    idiom: bool = False

    @property
    def place(self) -> tuple[Span, str]:
        return self.finding.span, self.finding.function or ""


@dataclass
class Judged:
    """What the ranges say of one function: its risky operations by place, and the suspects among them."""

    operations: dict[tuple[int, int, str], bool] = field(default_factory=dict)
    called: dict[tuple[int, int, str], bool] = field(default_factory=dict)
    suspects: list[Suspect] = field(default_factory=list)


def judge(lifted: Lifted, dtype: str, catalog: Catalog, stated: Mapping[str, tuple[float, float]], path: str, differentiable: bool) -> Judged:
    """The suspects of one function."""
    ranges = propagate(lifted.graph, dtype, lifted.roles, stated)
    judged = Judged()
    found = {r.node: r for r in risks(ranges)}
    for risk in found.values():
        node = lifted.graph[risk.node]
        if node.span is not None:
            key = (node.span.line, node.span.column, node.op)
            judged.operations[key] = judged.operations.get(key, True) and risk.safe
            if node.where != lifted.qualname:
                judged.called[key] = judged.called.get(key, False) or any(h.evidence for h in risk.hazards)
    covered: set[int] = set()
    maker = Maker(lifted, ranges, catalog, path, differentiable)
    hazards = {r.node: maker.relevant(r.hazards) for r in found.values()}
    for idiom in idioms.found(lifted.graph, ranges, catalog, hazards):
        if idiom.node in covered and not idiom.precise:
            continue
        suspect = maker.idiom(idiom, hazards)
        if suspect is not None:
            judged.suspects.append(suspect)
            covered |= idiom.inner
    for id, items in hazards.items():
        if items and id not in covered:
            suspect = maker.hazard(lifted.graph[id], items)
            if suspect is not None:
                judged.suspects.append(suspect)
    return judged


@dataclass
class Maker:
    """Makes suspects of one function."""

    lifted: Lifted
    ranges: Ranges
    catalog: Catalog
    path: str
    differentiable: bool

    def relevant(self, hazards: tuple[Hazard, ...]) -> tuple[Hazard, ...]:
        """Backward hazards count where something is differentiated."""
        return tuple(h for h in hazards if h.phase == "forward" or self.differentiable)

    def hazard(self, node: Node, hazards: tuple[Hazard, ...]) -> Suspect | None:
        """The suspect of a derived hazard."""
        if node.span is None:
            return None
        main = next((h for h in hazards if h.evidence), hazards[0])
        rules = self.rules_of(node, hazards, main)
        rule = rules.get(main.phase) or next(iter(rules.values()), None)
        if rule is None:
            return None
        finding = self.finding(rule, node, main.operand, main.range, main.phase, words.hazard(self.lifted.graph, node, main, rule), main.evidence)
        slices = self.slices(node, [node.id], "precision" if main.reason == "integer" else main.phase, {}) if main.evidence else ()
        return Suspect(finding, node.id, self.lifted.qualname, slices, frozenset({node.id}), {k: v.name for k, v in rules.items()}, main.evidence)

    def idiom(self, idiom: idioms.Idiom, hazards: Mapping[int, tuple[Hazard, ...]]) -> Suspect | None:
        """The suspect of a matched template."""
        node = self.lifted.graph[idiom.node]
        if node.span is None:
            return None
        inner = [h for i in sorted(idiom.inner) for h in hazards.get(i, ())]
        phase: Phase = "forward" if any(h.phase == "forward" for h in inner) or not inner else "backward"
        main = next((h for h in inner if h.phase == phase), None)
        operand = main.operand if main is not None else idiom.node
        reach = main.range if main is not None else (-INFINITY, INFINITY)
        text = words.idiom(self.lifted.graph, node, main, idiom.rule)
        finding = self.finding(idiom.rule, node, operand, reach, phase, text, main.evidence if main is not None else "")
        widened = self.widened(idiom)
        slices = self.slices(node, sorted(idiom.inner), "precision" if idiom.precise else phase, widened)
        if idiom.rule.name in NEAR_ZERO and not any(self.ranges.evidence.get(i) for i in idiom.holes.values()):
            slices = ()  # that an unknown value is tiny is an assumption
        rules = dict.fromkeys(("forward", "backward", "value"), idiom.rule.name)
        accept = frozenset(slices[0]["accept"]) if slices else frozenset(idiom.inner)
        return Suspect(finding, node.id, self.lifted.qualname, slices, accept, rules, main.evidence if main is not None else "", True)

    def widened(self, idiom: idioms.Idiom) -> dict[int, Interval]:
        """An idiom says what its bare operands are: logits."""
        graph, found = self.lifted.graph, {}
        if idiom.rule.kind == "zero-times-inf" and idioms.of_probabilities(graph, idiom):
            leaves = [i for i in graph.ancestors(list(idiom.holes.values())) if graph[i].op == "input"]
            return {i: Interval(0.0, 1.0) for i in leaves if not self.ranges.evidence[i]}
        for id in graph.ancestors(list(idiom.holes.values()) or [idiom.node]):
            node = graph[id]
            if node.op in ("input", "opaque") and not self.ranges.evidence[id] and node.dtype in ("?", "unknown"):
                usual = self.ranges.usual[id]
                limit = min(LOGIT, usual.hi) if not idiom.precise else usual.hi
                found[id] = Interval(max(usual.lo, -limit), limit, False, usual.nonzero, usual.integer)
        return found

    def rules_of(self, node: Node, hazards: tuple[Hazard, ...], main: Hazard) -> dict[str, Rule]:
        """The rule for each phase in which this operation may turn out to break."""
        rules: dict[str, Rule] = {}
        absorbed = self.absorbed(main.operand) if main.reason != "overflow" else None
        for phase in ("forward", "backward"):
            hazard = next((h for h in hazards if h.phase == phase), None)
            reason = reason_word(node, hazard) if hazard is not None else "slope" if phase == "backward" else ""
            rule = None
            if absorbed is not None and phase == "forward":
                rule = rule_for(self.catalog, node.op, phase, "lost-eps" if self.dtype(node) in HALF else "absorbed-eps", self.dtype(node))
            if phase == "forward" and hazard is not None and hazard.reason == "overflow" and self.is_mask_constant(node):
                rule = self.catalog.find("mask-constant-overflow") or rule
            if rule is None and reason:
                rule = rule_for(self.catalog, node.op, phase, reason, self.dtype(node))
            if rule is not None:
                rules[phase] = rule
        trap = rule_for(self.catalog, node.op, "backward", "trap", self.dtype(node))
        if trap is not None and any(h.phase == "forward" for h in hazards) and self.is_masked(node):
            rules["backward"] = trap
        value = rule_for(self.catalog, node.op, "forward", "overflow", self.dtype(node))
        if value is not None and any(h.reason == "overflow" for h in hazards):
            rules["value"] = value
        if any(h.reason == "integer" for h in hazards):
            rules = {"forward": r} if (r := self.catalog.find("integer-overflow")) is not None else {}
        return rules

    def dtype(self, node: Node) -> str:
        return self.ranges.format_of(node).name

    def is_masked(self, node: Node) -> bool:
        """A selection comes after the operation."""
        return any(self.lifted.graph[d].op in MASKING for d in self.lifted.graph.descendants(node.id))

    def is_mask_constant(self, node: Node) -> bool:
        """A product of a mask with a huge constant, or the constant itself."""
        graph = self.lifted.graph
        values = [graph[a].param("value") for a in graph.ancestors([node.id]) if graph[a].op == "const"]
        return node.op in ("mul", "cast", "full", "where", "add") and any(isinstance(v, (int, float)) and abs(v) >= 65504 for v in values)

    def absorbed(self, operand: int) -> float | None:
        """The small constant that the format swallowed on the way to an operand."""
        graph, seen, queue = self.lifted.graph, set(), [(operand, 0)]
        while queue:
            id, depth = queue.pop()
            if id in seen or depth > 5:
                continue
            seen.add(id)
            if id in self.ranges.absorbed:
                return self.ranges.absorbed[id]
            if graph[id].op in ("add", "sub", "clamp", "clamp_min", "maximum", "mul", "neg", "assume", "cast", "index") or depth == 0:
                queue += [(a, depth + 1) for a in graph[id].args if a is not None]
        return None

    def slices(self, node: Node, suspects: list[int], phase: str, widened: Mapping[int, Interval]) -> tuple[dict[str, Any], ...]:
        """The slice to the ends of the function, then the operation alone where nothing selects afterwards."""
        graph, ranges, roles = self.lifted.graph, self.ranges, self.lifted.roles
        _, ends = cone(graph, [node.id])
        whole_numbers = not is_floating(node)
        ends = [node.id] if whole_numbers else ends
        compared = not ends
        ends = ends or compared_ends(graph, node.id)
        selected = any(graph[d].op in SELECTING for d in graph.descendants(node.id))
        if not ends or (ends == [node.id] and selected and not whole_numbers):
            return ()  # nothing comes of it, or what selects from it afterwards is too far away to be run along
        accept = sorted({*suspects, *(graph.descendants(node.id) if phase == "precision" else ())})
        backward = self.differentiable and node.grad
        found = []
        for outputs in [ends] if ends == [node.id] else [ends, [node.id]]:
            data = payload(graph, ranges, roles, outputs, node.id, phase, widened)
            data["accept"] = accept
            data["backward"] = backward and not compared
            data["nan_only"] = compared
            found.append(data)
        if len(found) > 1 and selected:
            found.pop()
        return tuple(found)

    def finding(self, rule: Rule, node: Node, operand: int, reach: tuple[float, float], phase: Phase, message: str, evidence: str) -> Finding:
        """The finding as far as ranges know it."""
        graph = self.lifted.graph
        leaves = graph.ancestors([node.id])
        assumptions = tuple(dict.fromkeys(self.ranges.assumed[i] for i in sorted(leaves) if i in self.ranges.assumed))
        assert node.span is not None
        return Finding(
            code=rule.code,
            rule=rule.name,
            kind=rule.kind,
            message=message,
            verdict="possible",
            path=self.path,
            span=node.span,
            function=node.where or self.lifted.qualname,
            phase=phase,
            dtype=self.dtype(node),
            operand=graph[operand].text or None,
            range=reach,
            assumptions=assumptions,
            severity=rule.severity,
            trail=tuple(self.trail(node, operand)),
        )

    def trail(self, node: Node, operand: int) -> Iterator[Step]:
        """Where the operand comes from, earliest first: at most five steps."""
        graph, steps, at, seen = self.lifted.graph, [], operand, {node.span.line if node.span else 0}
        for _ in range(12):
            current = graph[at]
            if current.span is not None and current.span.line not in seen and current.op != "const":
                seen.add(current.span.line)
                usual = self.ranges.usual[at]
                steps.append(Step(current.span.line, current.span.column, current.text[:120], (usual.lo, usual.hi)))
            following = [a for a in current.args if a is not None and graph[a].op != "const"]
            if not following or len(steps) >= 5:
                break
            at = following[0]
        yield from reversed(steps)


def compared_ends(graph: ValueGraph, id: int) -> list[int]:
    """Where all that comes of a node is comparisons: what is compared. An infinity compares well, NaN does not."""
    down = graph.descendants(id) | {id}
    compared = {a for d in down if graph[d].op in COMPARED for a in graph[d].args if a in down}
    return sorted(i for i in compared if is_floating(graph[i]))


def settled(suspects: list[Suspect], called: Mapping[tuple[int, int, str], bool]) -> list[Suspect]:
    """What only a parameter's name speaks for is no evidence where the callers of the file pass something safe."""
    safe = {(line, column) for (line, column, _), risky in called.items() if not risky}
    safe -= {(line, column) for (line, column, _), risky in called.items() if risky}
    kept = []
    for s in suspects:
        place = (s.finding.span.line, s.finding.span.column)
        if s.root == s.finding.function and s.evidence.startswith("the name says") and place in safe:
            s = replace(s, slices=())
        kept.append(s)
    return kept


def reason_word(node: Node, hazard: Hazard) -> str:
    """The catalogue's word for why a node breaks."""
    if hazard.reason == "pole":
        return "zero-divisor" if node.op in POLES else "domain"
    if hazard.reason == "domain" and node.op in POLES:
        return "zero-divisor"
    return "empty" if hazard.reason == "one-element" else hazard.reason


def rule_for(catalog: Catalog, op: str, phase: str, reason: str, dtype: str) -> Rule | None:
    """The hazard rule that fits best: by op, reason, phase and dtype."""
    best: tuple[int, Rule] | None = None
    for rule in catalog.hazards():
        score = fit(rule, op, phase, reason, dtype)
        if score >= 0 and (best is None or score > best[0]):
            best = score, rule
    return best[1] if best is not None else None


def fit(rule: Rule, op: str, phase: str, reason: str, dtype: str) -> int:
    """How well a hazard rule fits; -1 where it does not."""
    trigger: Any = rule.trigger
    if op not in trigger.ops and "*" not in trigger.ops:
        return -1
    if trigger.phase and trigger.phase != phase:
        return -1
    if (trigger.reasons or reason == "trap") and reason not in trigger.reasons:
        return -1
    if trigger.dtype and trigger.dtype != dtype and not (trigger.dtype == "half" and dtype in HALF):
        return -1
    return (8 if op in trigger.ops else 0) + (4 if trigger.reasons else 0) + (2 if trigger.dtype else 0) + (1 if trigger.phase else 0)
