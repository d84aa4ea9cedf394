"""Fixes: the rule's replacement written into this very file, and proven on it before it is offered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nanlint.catalog.fix import fixes_for, replacement
from nanlint.catalog.match import Bindings, answered, match
from nanlint.catalog.normal import Normal
from nanlint.catalog.rule import FixTemplate, Rule
from nanlint.catalog.spell import CannotSpell, Namer, spell, view_again
from nanlint.catalog.template import holes_of
from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Edit, Finding, Fix, Proof, Span
from nanlint.engine.idioms import answer as holds
from nanlint.engine.scan import WORDS
from nanlint.engine.slices import cone, payload
from nanlint.engine.suspects import Suspect
from nanlint.graph.values import ValueGraph
from nanlint.ranges.propagate import propagate
from nanlint.source.discovery import SourceFile
from nanlint.source.edit import NoEdit, Site, apply_edits, find_site, operand_text, replace_root
from nanlint.source.lift import Lifted, TooLarge
from nanlint.source.lift_functions import lift_function
from nanlint.source.names import FunctionView, ModuleView, view
from nanlint.source.parse import parse
from nanlint.source.text import read_source

if TYPE_CHECKING:
    from nanlint.engine.confirm import Confirmer
    from nanlint.probe.client import Answer

UNSAFE_AGREEMENT = 0.9  # a fix that changes values near the singularity changes few
MENDED = 0.8  # of the inputs that only the old code fails on, the new one must be right on most
LEAST_AGREEMENT = 12


class Fixer:
    """The fixes of one file: its module is lifted again, with places, when the first is needed."""

    def __init__(self, confirmer: Confirmer, file: SourceFile, data: bytes) -> None:
        self.confirmer = confirmer
        self.file = file
        self.data = data
        self._module: ModuleView | None = None
        self._text = ""
        self._lifted: dict[str, Lifted] = {}

    def with_fix(self, finding: Finding, suspect: Suspect, answer: Answer) -> Finding:
        """The finding with the first of its rule's fixes that can be written and proven."""
        rule = self.confirmer.catalog.find(finding.rule)
        if rule is None or not rule.fixes:
            return finding
        try:
            for fix in self.candidates(rule, finding, suspect, answer):
                return finding.with_(fix=fix)
        except Exception as error:  # a fix that cannot be made must not cost the finding
            self.confirmer.notes.append(f"{finding.path}:{finding.span.line}: no fix, a fault of nanlint: {type(error).__name__}: {error}")
        return finding

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

    def candidates(self, rule: Rule, finding: Finding, suspect: Suspect, answer: Answer) -> Iterator[Fix]:
        """The fixes of a rule that can be written here and pass the proof."""
        try:
            module = self.module()
            function, lifted = self.lifted(module, finding.function or suspect.root)
        except (NoEdit, UnreadableFile, TooLarge, RecursionError):
            return
        for found in self.bindings(rule, lifted, finding):
            for fix in fixes_for(rule, found):
                if fix.applicability == "display" or not self.allowed(fix, lifted, found):
                    continue
                try:
                    edits = self.edits(module, function, lifted, finding, fix, found)
                    proof = self.prove(edits, suspect, answer, fix.applicability == "safe")
                except (NoEdit, CannotSpell, UnreadableFile, TooLarge, RecursionError):
                    continue
                if proof is not None:
                    yield Fix(fix.applicability, fix.headline(), edits, proof)

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

    def edits(self, module: ModuleView, function: FunctionView, lifted: Lifted, finding: Finding, fix: FixTemplate, found: Bindings) -> tuple[Edit, ...]:
        """The edits that write the fix."""
        site = find_site(module, function.node, lifted, finding.span)
        tree, holes = replacement(fix, found, finding.dtype)
        texts = {name: self.hole_text(site, lifted.graph, id) for name, id in holes.items() if name in holes_of(tree)}
        numbers = frozenset(n for n, id in holes.items() if lifted.graph[id].dtype == "number")
        namer = Namer.of(module.imports)

        def view_text(id: int, inner: str) -> str | None:
            return view_again(lifted.graph[id].text, inner)

        text = spell(tree, texts, namer, view_text, numbers)
        edits = [*replace_root(site, text), *import_edits(module, namer)]
        return tuple(sorted(edits, key=lambda e: e.span))

    def hole_text(self, site: Site, graph: ValueGraph, id: int) -> str:
        """The source text of the node that a hole is bound to."""
        ids = [id]
        while graph[ids[-1]].op == "assume" and graph[ids[-1]].args[0] is not None:
            ids.append(graph[ids[-1]].args[0])  # type: ignore[arg-type]
        try:
            return operand_text(site, ids)
        except NoEdit:
            if graph[id].op == "const":
                return repr(graph[id].param("value"))
            raise

    def prove(self, edits: tuple[Edit, ...], suspect: Suspect, answer: Answer, exact: bool) -> Proof | None:
        """Apply the edits, lift the function anew, and compare old and new in value and gradient."""
        new_text = apply_edits(self._text, edits)
        try:
            ast.parse(new_text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        new_module = view(parse(new_text), new_text, WORDS)
        _, old = self.lifted(self.module(), suspect.root)
        _, new = self.lifted(new_module, suspect.root)
        slices = [self.whole(lifted) for lifted in (old, new)]
        if slices[0] is None or slices[1] is None or self.confirmer.probe is None:
            return None
        compared = self.confirmer.probe.compare(slices[0], slices[1], answer.frozen)
        if compared.error or not compared.finite_on_witness or compared.agrees_on < LEAST_AGREEMENT:
            return None
        if compared.agrees_on < compared.tried * (1.0 if exact else UNSAFE_AGREEMENT):
            return None
        if not exact and compared.broken and compared.mended < compared.broken * MENDED:
            return None
        return Proof(compared.agrees_on, compared.worst_relative_error or 0.0, compared.worst_gradient_error, bool(compared.finite_on_witness))

    def whole(self, lifted: Lifted) -> dict[str, Any] | None:
        """The slice of everything that a function returns or ends in."""
        settings = self.confirmer.settings
        ranges = propagate(lifted.graph, settings.dtype, lifted.roles, dict(settings.ranges))
        outputs = list(lifted.returned)
        if not outputs:
            _, outputs = cone(lifted.graph, [n.id for n in lifted.graph if n.op not in ("const", "size")])
        if not outputs:
            return None
        return payload(lifted.graph, ranges, lifted.roles, outputs, outputs[0], "forward")


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

