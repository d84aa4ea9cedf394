"""From the tables of a rule file to a `Rule`: every key checked, every error naming file, key and the nearest right word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from nanlint.catalog.rule import (
    KINDS,
    PHASES,
    PRECISIONS,
    REASONS,
    SEVERITIES,
    Agreement,
    Check,
    Condition,
    Example,
    FixTemplate,
    Hazard,
    Match,
    Rule,
    When,
)
from nanlint.core.errors import RuleFileError, nearest
from nanlint.core.finding import Severity

T = TypeVar("T")
TRIGGERS = ("match", "hazard", "check")
TOP = ("name", "code", "kind", "summary", "why", "references", "severity", "ignore", *TRIGGERS, "fix", "proof", "agree")
KEEPS = re.compile(r"value$|nothing$|value except .+")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*$")
CODE = re.compile(r"[A-Z]{2,5}[0-9]{3}$")


@dataclass(frozen=True)
class Section:
    """One table of a rule file; `where` names it in errors."""

    path: str
    where: str
    values: Mapping[str, Any]

    def fail(self, key: str, message: str) -> RuleFileError:
        place = f"{self.where}.{key}" if self.where and key else self.where or key
        return RuleFileError(f"{self.path}: {place}: {message}" if place else f"{self.path}: {message}")

    def only(self, keys: Iterable[str]) -> None:
        """No key but these."""
        keys = tuple(keys)
        for key in self.values:
            if key not in keys:
                raise self.fail(key, f"there is no such key{nearest(key, keys)}; the keys here are {', '.join(keys)}")

    def text(self, key: str, default: str | None = None) -> str:
        return self._typed(key, str, "a string", default)

    def table(self, key: str) -> Section | None:
        """The sub-table `key`, if it is there."""
        if key not in self.values:
            return None
        value: dict[str, Any] = self._typed(key, dict, "a table", None)
        return Section(self.path, f"{self.where}.{key}" if self.where else key, value)

    def tables(self, key: str) -> list[Section]:
        """The sub-tables `key`: one table or an array of tables."""
        value = self.values.get(key, [])
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(i, dict) for i in items):
            raise self.fail(key, "must be a table or an array of tables")
        return [Section(self.path, f"{key}[{n}]" if len(items) > 1 else key, i) for n, i in enumerate(items)]

    def texts(self, key: str) -> tuple[str, ...]:
        """A string or a list of strings."""
        value = self.values.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
            raise self.fail(key, "must be a string or a list of strings")
        return tuple(items)

    def word(self, key: str, words: Iterable[str], default: str | None = None) -> str:
        """One of `words`."""
        value = self.text(key, default)
        if value not in words and value != default:
            raise self.fail(key, f"`{value}` is not one of {', '.join(words)}{nearest(value, words)}")
        return value

    def words(self, key: str, words: Iterable[str]) -> tuple[str, ...]:
        """Some of `words`."""
        values = self.texts(key)
        for value in values:
            if value not in words:
                raise self.fail(key, f"`{value}` is not one of {', '.join(words)}{nearest(value, words)}")
        return values

    def _typed(self, key: str, kind: type[T], what: str, default: T | None) -> T:
        if key not in self.values:
            if default is None:
                raise self.fail(key, "is missing")
            return default
        value = self.values[key]
        if not isinstance(value, kind):
            raise self.fail(key, f"must be {what}, not {value!r}")
        return value


def rule_of(values: Mapping[str, Any], path: str) -> Rule:
    """The rule that the tables of the file `path` state."""
    top = Section(path, "", values)
    top.only(TOP)
    name, code = top.text("name"), top.text("code")
    if not NAME.match(name):
        raise top.fail("name", f"`{name}` must be lower-case words joined by hyphens, such as log-of-sigmoid")
    if not CODE.match(code):
        raise top.fail("code", f"`{code}` must be letters and three digits, such as NAN101 (rules of your own: OWN101)")
    trigger = trigger_of(top)
    rule = Rule(
        name=name,
        code=code,
        kind=top.word("kind", KINDS),
        summary=top.text("summary").strip(),
        why=top.text("why").strip(),
        trigger=trigger,
        references=top.texts("references"),
        severity=cast(Severity, top.word("severity", SEVERITIES, "error")),
        fixes=tuple(map(fix_of, top.tables("fix"))),
        proofs=tuple(map(example_of, top.tables("proof"))),
        agree=tuple(map(agreement_of, top.tables("agree"))),
        ignore=top.text("ignore", "").strip(),
        path=path,
    )
    consistent(top, rule)
    return rule


def trigger_of(top: Section) -> Match | Hazard | Check:
    """The one trigger of a rule."""
    found = [t for t in TRIGGERS if t in top.values]
    if len(found) != 1:
        what = "has none" if not found else f"has {' and '.join(found)}"
        raise top.fail("", f"a rule has exactly one trigger ([match], [hazard] or [check]); this one {what}")
    section = top.table(found[0])
    assert section is not None
    read: dict[str, Callable[[Section], Match | Hazard | Check]] = {"match": match_of, "hazard": hazard_of, "check": check_of}
    return read[found[0]](section)


def match_of(section: Section) -> Match:
    section.only(("code", "when", "silent"))
    code = section.texts("code")
    if not code:
        raise section.fail("code", "is missing: a template such as log(sigmoid($x))")
    return Match(code, when_of(section), section.texts("silent"))


def hazard_of(section: Section) -> Hazard:
    section.only(("op", "phase", "dtype", "operand", "reason", "code", "when"))
    ops = section.texts("op")
    if not ops:
        raise section.fail("op", 'is missing: a canonical op such as sqrt, or "*" for any')
    return Hazard(
        ops,
        section.word("phase", PHASES, ""),
        section.word("dtype", PRECISIONS, ""),
        section.text("operand", ""),
        section.words("reason", REASONS),
        section.texts("code"),
        when_of(section),
    )


def check_of(section: Section) -> Check:
    section.only(("name",))
    return Check(section.text("name"))


def when_of(section: Section) -> When:
    """The conditions of `when`, hole by hole."""
    table = section.table("when")
    conditions = []
    for hole in table.values if table else ():
        assert table is not None
        for text in table.texts(hole):
            condition = Condition.parse(text)
            if condition is None:
                words = Condition.words()
                raise table.fail(hole, f"`{text}` is no condition{nearest(text, words)}; conditions are {', '.join(words)}")
            conditions.append((hole, condition))
    return tuple(conditions)


def fix_of(section: Section) -> FixTemplate:
    section.only(("code", "keeps", "of", "title", "when", "name"))
    keeps = section.text("keeps", "value")
    if not KEEPS.match(keeps):
        raise section.fail(
            "keeps", f"`{keeps}` must be `value`, `value except ...` or `nothing`{nearest(keeps, ('value', 'nothing'))}"
        )
    title = section.text("title", "")
    return FixTemplate(section.text("code"), keeps, section.texts("of"), title, when_of(section), section.text("name", ""))


def example_of(section: Section) -> Example:
    rest = {k: v for k, v in section.values.items() if k not in ("dtype", "old", "of", "fix")}
    old = section.table("old")
    if old is not None:
        old.only(PHASES)
    dtype = section.text("dtype", "float32")
    return Example(rest, dtype, dict(old.values) if old else {}, section.text("of", ""), section.text("fix", ""))


def agreement_of(section: Section) -> Agreement:
    rest = {
        k: v for k, v in section.values.items() if k not in ("shape", "within", "relative_to", "dtypes", "domain", "of", "fix")
    }
    shape, within = section.values.get("shape", [32]), section.values.get("within", 4)
    if not isinstance(shape, list) or not all(isinstance(n, int) for n in shape):
        raise section.fail("shape", "must be a list of sizes")
    if not isinstance(within, (int, float)):
        raise section.fail("within", "must be a number of eps")
    relative_to = section.word("relative_to", ("each", "largest"), "each")
    dtypes = section.words("dtypes", PRECISIONS) or ("float32", "float64")
    return Agreement(
        rest, tuple(shape), float(within), relative_to, dtypes, domain_of(section), section.texts("of"), section.text("fix", "")
    )


def domain_of(section: Section) -> dict[str, tuple[float, float]]:
    """The ranges of inputs that a fix is meant for."""
    table = section.table("domain")
    for hole, ends in table.values.items() if table else ():
        if not (isinstance(ends, list) and len(ends) == 2):
            raise section.fail(f"domain.{hole}", "must be two numbers: the ends of a range")
    return {hole: (float(a), float(b)) for hole, (a, b) in table.values.items()} if table else {}


def consistent(top: Section, rule: Rule) -> None:
    """What a fix and a proof refer to is there."""
    for n, fix in enumerate(rule.fixes):
        for of in fix.of:
            if of not in rule.templates:
                raise top.fail(f"fix[{n}].of", f"`{of}` is no template of the trigger{nearest(of, rule.templates)}")
        if fix.keeps != "nothing" and not rule.templates:
            raise top.fail(f"fix[{n}]", "a fix needs templates in the trigger ([hazard] code = ...) to know what it replaces")
    for n, proof in enumerate(rule.proofs):
        if proof.of and proof.of not in rule.templates:
            raise top.fail(f"proof[{n}].of", f"`{proof.of}` is no template of the trigger{nearest(proof.of, rule.templates)}")
