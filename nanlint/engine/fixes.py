"""Fixes: the rule's replacement written into this very file, and proven on it before it is offered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from nanlint.catalog.fix import fixes_for, replacement
from nanlint.catalog.match import Bindings, answered, match
from nanlint.catalog.normal import Normal
from nanlint.catalog.rule import FixTemplate, Rule
from nanlint.catalog.spell import CannotSpell, Namer, spell, view_again
from nanlint.catalog.template import Call, Hole, Tree, holes_of
from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Finding, Fix, Proof, Span
from nanlint.engine.idioms import answer as holds
from nanlint.engine.scan import WORDS
from nanlint.engine.slices import cone, payload
from nanlint.engine.suspects import Suspect
from nanlint.graph.values import ValueGraph
from nanlint.ranges.propagate import propagate
from nanlint.source.discovery import SourceFile
from nanlint.source.edit import NoEdit, Site, apply_edits, find_site, is_plain, operand_text, replace_root, rounded_at_end
from nanlint.source.lift import Lifted, TooLarge
from nanlint.source.lift_functions import lift_function
from nanlint.source.names import FunctionView, ModuleView, view
from nanlint.source.parse import parse
from nanlint.source.text import read_source

if TYPE_CHECKING:
    from nanlint.engine.confirm import Confirmer
    from nanlint.probe.client import Answer, Comparison

UNSAFE_AGREEMENT = 0.9  # a fix that changes values near the singularity changes few
FEW_BROKEN = 2  # one exception is allowed where there are hardly any
NOTICED = 0.25  # a wider format that mends less than this mends nothing that matters
ABSURD = 1e10  # what a floor of 1e-12 under a divisor makes of ordinary numbers
WIDER_AGREEMENT = 0.75  # slopes that are nothing but rounding differ
MENDED = 0.8  # of the inputs that only the old code fails on, the new one must be right on most
AUGMENTED: dict[type, str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
LEAST_AGREEMENT = 12
FEWEST = 8  # where hardly any input leaves the old code nearly exact, all that do must agree
MOST_TOGETHER = 2
MOST_TRIED = 8  # comparisons of one finding: each may take two seconds


@dataclass(frozen=True)
class Attempt:
    """A fix of one finding, written but not yet proven."""

    fix: FixTemplate
    edits: tuple[Edit, ...]
    suspect: Suspect
    answer: Answer

    def proven(self, compared: Comparison) -> Fix:
        """The fix with what the comparison found."""
        proof = Proof(compared.agrees_on, compared.worst_relative_error or 0.0, compared.worst_gradient_error, bool(compared.finite_on_witness))
        return Fix(self.fix.applicability, self.fix.headline(), self.edits, proof)


def agrees(compared: Comparison, fix: FixTemplate) -> bool:
    """New code agrees with old where the old is healthy, and gives what the old gave in the same dtype."""
    share = 1.0 if fix.applicability == "safe" else WIDER_AGREEMENT if widens(fix) else UNSAFE_AGREEMENT
    least = compared.tried * share
    return compared.same_dtype and not compared.error and compared.agrees_on >= max(least, min(LEAST_AGREEMENT, max(least, FEWEST)))


def widens(fix: FixTemplate) -> bool:
    """All that the fix changes is the format in which something is computed."""
    return "float32" in fix.keeps


def mends(compared: Comparison, fix: FixTemplate, alone: bool) -> bool:
    """The witness breaks it no more; and where only the old code fails, a fix that may change values is right, not just finite."""
    if not compared.finite_on_witness:
        return False
    if "/" in fix.code and fix.applicability != "safe" and (compared.largest or 0.0) > ABSURD:
        return False
    if fix.applicability == "safe" or not compared.broken:
        return True
    if widens(fix) and compared.mended < compared.broken * NOTICED:
        return False
    least = compared.broken if alone and not widens(fix) else max(compared.mended + compared.wrong, 1)
    return compared.mended >= max(least * MENDED - (alone and least <= FEW_BROKEN), 1)


def joined(edits: tuple[Edit, ...], more: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits of two fixes; those of the first alone where they overlap."""
    new = [e for e in more if e not in edits]
    if any(overlap(a, b) for a in new for b in edits):
        return edits
    return tuple(sorted([*edits, *new], key=lambda e: e.span))


def overlap(a: Edit, b: Edit) -> bool:
    """Two edits change the same text."""
    first, last = sorted((a.span, b.span))
    return (last.line, last.column) < (first.end_line, first.end_column) or first == last


class Fixer:
    """The fixes of one file: its module is lifted again, with places, when the first is needed."""

    def __init__(self, confirmer: Confirmer, file: SourceFile, data: bytes) -> None:
        self.confirmer = confirmer
        self.file = file
        self.data = data
        self._module: ModuleView | None = None
        self._text = ""
        self._lifted: dict[str, Lifted] = {}

    def with_fixes(self, found: list[tuple[Finding, Suspect | None, Answer | None]]) -> list[Finding]:
        """The findings, each with the first of its rule's fixes that can be written and proven, alone or together with the others."""
        findings = [finding for finding, _, _ in found]
        stuck: dict[int, list[Attempt]] = {}
        for i, (finding, suspect, answer) in enumerate(found):
            if suspect is None or answer is None:
                continue
            try:
                fix, left = self.first(finding, suspect, answer)
            except Exception as error:  # a fix that cannot be made must not cost the finding
                self.fault(finding, error)
                continue
            if fix is not None:
                findings[i] = finding.with_(fix=fix)
            elif left:
                stuck[i] = left
        for i, fix in self.together(findings, stuck):
            findings[i] = findings[i].with_(fix=fix)
        return findings

    def fault(self, finding: Finding, error: Exception) -> None:
        """A note for the user that making a fix failed."""
        self.confirmer.notes.append(f"{finding.path}:{finding.span.line}: no fix, a fault of nanlint: {type(error).__name__}: {error}")

    def first(self, finding: Finding, suspect: Suspect, answer: Answer) -> tuple[Fix | None, list[Attempt]]:
        """The first fix of a finding's rule that is proven; else those that agree but that another fault of the same code still breaks."""
        rule = self.confirmer.catalog.find(finding.rule)
        left: list[Attempt] = []
        if rule is None or not rule.fixes:
            return None, left
        for attempt in islice(self.candidates(rule, finding, suspect, answer), MOST_TRIED):
            compared = self.compared(attempt, attempt.edits)
            if compared is None or not agrees(compared, attempt.fix):
                continue
            if mends(compared, attempt.fix, alone=True):
                return attempt.proven(compared), left
            left.append(attempt)
            if len(left) > MOST_TOGETHER:
                break
        return None, left

    def together(self, findings: list[Finding], stuck: dict[int, list[Attempt]]) -> Iterator[tuple[int, Fix]]:
        """Fixes that hold once the other findings of the file are fixed too."""
        for i, attempts in stuck.items():
            others = [f.fix.edits for f in findings if f.fix is not None] + [left[0].edits for k, left in stuck.items() if k != i]
            for attempt in attempts[:MOST_TOGETHER] if others else ():
                edits = attempt.edits
                for more in others:
                    edits = joined(edits, more)
                try:
                    compared = self.compared(attempt, edits)
                except Exception as error:
                    self.fault(findings[i], error)
                    continue
                if compared is not None and agrees(compared, attempt.fix) and mends(compared, attempt.fix, alone=False):
                    yield i, attempt.proven(compared)
                    break

    def module(self) -> ModuleView:
        """The file's module, parsed."""
        if self._module is None:
            self._text = read_source(self.data).plain
            self._module = view(parse(self._text), self._text, WORDS)
        return self._module

    def lifted(self, module: ModuleView, qualname: str) -> tuple[FunctionView, Lifted]:
        """A function of the file and its value graph, with places."""
        function = next((f for f in module.bodies if f.qualname == qualname), None)
        if function is None:
            raise NoEdit("the function is not in the file")
        if module is not self._module:
            return function, lift_function(module, function, self.confirmer.settings.dtype, places=True)
        if qualname not in self._lifted:
            self._lifted[qualname] = lift_function(module, function, self.confirmer.settings.dtype, places=True)
        return function, self._lifted[qualname]

    def candidates(self, rule: Rule, finding: Finding, suspect: Suspect, answer: Answer) -> Iterator[Attempt]:
        """The fixes of a rule that can be written here."""
        try:
            module = self.module()
            function, lifted = self.lifted(module, finding.function or suspect.root)
        except (NoEdit, UnreadableFile, TooLarge, RecursionError):
            return
        seen: list[tuple[Edit, ...]] = []
        for found in self.bindings(rule, lifted, finding):
            for fix in fixes_for(rule, found):
                if fix.applicability == "display" or not self.allowed(fix, lifted, found):
                    continue
                try:
                    for edits in self.edits(module, function, lifted, finding, fix, found):
                        if edits not in seen:
                            seen.append(edits)
                            yield Attempt(fix, edits, suspect, answer)
                except (NoEdit, CannotSpell, RecursionError):
                    continue

    def bindings(self, rule: Rule, lifted: Lifted, finding: Finding) -> Iterator[Bindings]:
        """Where the rule's templates match at the finding's place in the function's own graph."""
        nodes = [lifted.places[finding.span]] if finding.span in lifted.places else []
        nodes += [n.id for n in lifted.graph if n.span == finding.span and n.id not in nodes]
        normal = Normal(lifted.graph)
        for id in nodes:
            for text in rule.templates:
                try:
                    bound = match(text, normal, id)
                except RecursionError:  # a template that says what it is by itself
                    continue
                if bound is not None:
                    yield bound

    def allowed(self, fix: FixTemplate, lifted: Lifted, found: Bindings) -> bool:
        """The conditions under which this fix is meant."""
        if not fix.when:
            return True
        ranges = propagate(lifted.graph, self.confirmer.settings.dtype, lifted.roles, dict(self.confirmer.settings.ranges))
        return answered(fix.when, found, Normal(lifted.graph), lambda id, c: holds(lifted.graph, ranges, id, c))

    def edits(
        self, module: ModuleView, function: FunctionView, lifted: Lifted, finding: Finding, fix: FixTemplate, found: Bindings
    ) -> Iterator[tuple[Edit, ...]]:
        """The edits that write the fix; where it makes the result wider, also with the statement or the function rounding at its end."""
        site = find_site(module, function.node, lifted, finding.span)
        tree, holes = replacement(fix, found, finding.dtype)
        if site.augmented is not None:
            tree = right_side(tree, holes, lifted, finding, site.augmented)
        texts = {name: self.hole_text(site, lifted.graph, id) for name, id in holes.items() if name in holes_of(tree)}
        numbers = frozenset(n for n, id in holes.items() if lifted.graph[id].dtype == "number")
        namer = Namer.of(module.imports)

        def view_text(id: int, inner: str) -> str | None:
            return view_again(lifted.graph[id].text, inner)

        text = spell(tree, texts, namer, view_text, numbers)
        edits = (*replace_root(site, text), *import_edits(module, namer))
        yield tuple(sorted(edits, key=lambda e: e.span))
        if widens(fix):
            narrow = next((t for n, t in texts.items() if t and lifted.graph[holes[n]].dtype != "number"), "")
            for more in rounded_at_end(site, edits, narrow):
                yield tuple(sorted(more, key=lambda e: e.span))

    def hole_text(self, site: Site, graph: ValueGraph, id: int) -> str:
        """The source text of the node that a hole is bound to."""
        ids = [id]
        while graph[ids[-1]].op == "assume" and graph[ids[-1]].args[0] is not None:
            ids.append(graph[ids[-1]].args[0])  # type: ignore[arg-type]
        try:
            return operand_text(site, ids)
        except NoEdit:
            written = as_written(site, graph, id)
            if written is not None:
                return written
            if graph[id].op == "const":
                return repr(graph[id].param("value"))
            raise

    def compared(self, attempt: Attempt, edits: tuple[Edit, ...]) -> Comparison | None:
        """Apply the edits, lift the function anew, and compare old and new in value and gradient; None where that is not possible."""
        root, probe = attempt.suspect.root, self.confirmer.probe
        try:
            new_text = apply_edits(self._text, edits)
            ast.parse(new_text)
            new_module = view(parse(new_text), new_text, WORDS)
            before, after = self.lifted(self.module(), root)[1], self.lifted(new_module, root)[1]
            returned = attempt.suspect.node in before.graph.ancestors(list(before.returned))
            old, new = self.whole(before, returned), self.whole(after, returned)
        except (NoEdit, UnreadableFile, TooLarge, RecursionError, SyntaxError, ValueError):
            return None
        if old is None or new is None or probe is None:
            return None
        return probe.compare(old, new, attempt.answer.frozen)

    def whole(self, lifted: Lifted, returned: bool) -> dict[str, Any] | None:
        """The slice of everything that a function returns; or of all that it ends in, where what is returned does not show the fault."""
        settings = self.confirmer.settings
        ranges = propagate(lifted.graph, settings.dtype, lifted.roles, dict(settings.ranges))
        outputs = list(lifted.returned) if returned else []
        if not outputs:
            _, outputs = cone(lifted.graph, [n.id for n in lifted.graph if n.op not in ("const", "size")])
        if not outputs:
            return None
        return payload(lifted.graph, ranges, lifted.roles, outputs, outputs[0], "forward")


def as_written(site: Site, graph: ValueGraph, id: int) -> str | None:
    """The source of an operand of the replaced expression itself, such as a number that an attribute holds."""
    root = site.lifted.places.get(site.span(site.root))
    if isinstance(site.root, ast.BinOp) and root is not None and len(graph[root].args) == 2:
        for operand, arg in zip((site.root.left, site.root.right), graph[root].args):
            if arg == id and not isinstance(operand, ast.Constant) and is_plain(operand):
                return site.text(operand)
    return None


def right_side(tree: Tree, holes: dict[str, int], lifted: Lifted, finding: Finding, statement: ast.AugAssign) -> Tree:
    """What stands on the right of an augmented assignment once its value is `tree`."""
    target = lifted.graph[lifted.places[finding.span]].args[0] if finding.span in lifted.places else None
    match tree:
        case Call(op, (Hole(name), right), ()) if op == AUGMENTED.get(type(statement.op)) and target is not None and holes[name] == target:
            return right
    raise NoEdit("an augmented assignment that does something else")


def import_edits(module: ModuleView, namer: Namer) -> list[Edit]:
    """The import lines that the new text needs, after the last import at the top of the file."""
    lines = namer.wanted
    if not lines:
        return []
    last = 0
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement.end_lineno or last
    return [Edit(Span(last + 1, 1, last + 1, 1), "".join(f"{line}\n" for line in lines))]

