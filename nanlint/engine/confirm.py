"""Confirming: suspects go to the probe, what breaks becomes a finding with a witness, and its fix is proven."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nanlint.cache import folder
from nanlint.catalog.load import Catalog
from nanlint.config import Settings
from nanlint.core.errors import ProbeError
from nanlint.core.finding import Finding, Phase, Witness
from nanlint.engine.fixes import Fixer
from nanlint.engine.suspects import Suspect
from nanlint.probe.client import Answer, Probe
from nanlint.probe.interpreter import find_interpreter
from nanlint.probe.store import Store
from nanlint.source.discovery import SourceFile

MOST_TRIES = 3
SECONDS = 2.0


def breaks(suspect: Suspect, answer: Answer) -> bool:
    """The suspect broke by its own fault."""
    return answer.verdict == "broken" and answer.guilty in suspect.accept


class Confirmer:
    """The probe of one run: asked suspect by suspect, its answers remembered."""

    def __init__(self, settings: Settings, catalog: Catalog, root: Path) -> None:
        self.settings = settings
        self.catalog = catalog
        self.root = root
        self.store = Store(folder(settings.cache_dir))
        self.probe: Probe | None = None
        self.notes: list[str] = []
        self.unavailable = not settings.probe
        self.lasting = True

    def confirm(self, suspects: list[Suspect], file: SourceFile, data: bytes) -> Iterator[Finding]:
        """One finding for each place: confirmed where a probe breaks it, possible where none does."""
        groups: dict[Any, list[Suspect]] = defaultdict(list)
        for s in suspects:
            groups[s.finding.span].append(s)
        collected: list[tuple[Finding, Suspect | None, Answer | None]] = []
        for group in groups.values():
            group.sort(key=lambda s: (not s.slices, not s.idiom, s.root != s.finding.function, s.root))
            found = self.first_break(group)
            if found is not None:
                suspect, answer = found
                finding = self.confirmed(suspect, answer)
                if finding is not None:
                    collected.append((finding, suspect, answer))
                    continue
            if not group[0].slices or self.unavailable:
                collected.append((group[0].finding, None, None))
        yield from Fixer(self, file, data).with_fixes(collected)

    def first_break(self, group: list[Suspect]) -> tuple[Suspect, Answer] | None:
        """The first suspect of a place that breaks by its own fault; what the file's own callers pass decides where it holds."""
        callers = [s for s in group if s.slices and s.root != s.finding.function]
        own = [s for s in group if s.slices and s.root == s.finding.function]
        held = False
        for suspect in callers[:MOST_TRIES]:
            answer = self.answer(suspect)
            if answer is None:
                return None
            if breaks(suspect, answer):
                return suspect, answer
            held = held or (answer.verdict == "held" and suspect.slices[0]["phase"] != "precision")
        if held:
            return None
        for suspect in own[:MOST_TRIES]:
            answer = self.answer(suspect)
            if answer is not None and breaks(suspect, answer):
                return suspect, answer
        return None

    def answer(self, suspect: Suspect) -> Answer | None:
        """The answer to the first of a suspect's slices that can be run."""
        answer = None
        for data in suspect.slices:
            answer = self.ask(data)
            if answer is None or answer.verdict != "unrunnable":
                break
        return answer

    def ask(self, data: dict[str, Any]) -> Answer | None:
        """The probe's answer to one slice; None where no torch can be had."""
        if self.unavailable:
            return None
        try:
            if self.probe is None:
                self.probe = self.start()
            answer = self.probe.probe(data)
        except ProbeError as error:
            self.unavailable = True
            self.lasting = False
            self.notes.append(str(error))
            return None
        if answer.verdict in ("timeout", "crashed", "unprobed"):
            self.lasting = False
        return answer

    def start(self) -> Probe:
        """The probe, its worker started."""
        found = find_interpreter(self.settings.python, self.root)
        if found is None:
            raise ProbeError(
                "no interpreter with torch was found, so nothing is confirmed (findings stay `possible`):"
                " install torch here, or name an interpreter that has it with --python"
            )
        kept = self.store if self.settings.cache else None
        return Probe(found.executable, seconds=SECONDS, store=kept, torch=found.torch)

    def confirmed(self, suspect: Suspect, answer: Answer) -> Finding | None:
        """The finding of a break: the rule for the phase that broke, the witness."""
        name = suspect.rules.get(answer.phase) or suspect.rules.get("forward" if answer.phase == "value" else answer.phase)
        if name is None:
            name = suspect.finding.rule
        rule = self.catalog.find(name)
        if rule is None:
            return None
        phase: Phase = "backward" if answer.phase == "backward" else "forward"
        identity = self.store.save(answer.frozen or {})
        witness = Witness(tuple(answer.inputs.items()), answer.becomes, f"nanlint replay {identity}")
        return suspect.finding.with_(
            verdict="confirmed", code=rule.code, rule=rule.name, kind=rule.kind, phase=phase, witness=witness, severity=rule.severity
        )

    def close(self) -> list[str]:
        """End the worker; what the user should know."""
        if self.probe is not None:
            self.probe.close()
        return self.notes
