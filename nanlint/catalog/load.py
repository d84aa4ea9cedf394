"""The rule files: those of nanlint, from a checkout or a wheel, and those of the user. Loading them runs no code of theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from nanlint.catalog.rule import Check, Hazard, Match, Rule
from nanlint.catalog.schema import rule_of
from nanlint.core.errors import RuleFileError, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(__file__).resolve().parent.parent
NOT_RULES = frozenset({"refused.toml"})


@dataclass(frozen=True, eq=False)
class Catalog:
    """Rules by name, in the order of their codes."""

    rules: tuple[Rule, ...]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def find(self, name_or_code: str) -> Rule | None:
        """The rule of this name or code, in any case."""
        return _index(self).get(name_or_code.lower())

    def get(self, name_or_code: str) -> Rule:
        """The rule of this name or code; an unknown one is an error that suggests the nearest."""
        rule = self.find(name_or_code)
        if rule is None:
            words = [w for r in self.rules for w in (r.name, r.code)]
            raise KeyError(f"there is no rule `{name_or_code}`{nearest(name_or_code, words)}")
        return rule

    def matches(self) -> tuple[Rule, ...]:
        """The rules triggered by a template."""
        return tuple(r for r in self.rules if isinstance(r.trigger, Match))

    def hazards(self) -> tuple[Rule, ...]:
        """The rules triggered by a derived hazard."""
        return tuple(r for r in self.rules if isinstance(r.trigger, Hazard))

    def check(self, name: str) -> Rule | None:
        """The rule of a check written in Python."""
        return next((r for r in self.rules if isinstance(r.trigger, Check) and r.trigger.name == name), None)


@lru_cache(maxsize=8)
def _index(catalog: Catalog) -> dict[str, Rule]:
    return {word.lower(): r for r in catalog.rules for word in (r.name, r.code)}


def own_folder() -> Path:
    """Where nanlint's own rules are: `_rules` inside an installed package, `rules` beside it in a checkout."""
    for folder in (PACKAGE / "_rules", PACKAGE.parent / "rules"):
        if folder.is_dir():
            return folder
    raise RuleFileError(
        f"nanlint's rules are neither in {PACKAGE / '_rules'} nor in {PACKAGE.parent / 'rules'}: reinstall nanlint"
    )


def load(extra: Iterable[str | Path] = ()) -> Catalog:
    """nanlint's rules and those in the files and folders `extra`."""
    return _load(tuple(str(Path(p).absolute()) for p in extra))


@lru_cache(maxsize=8)
def _load(extra: tuple[str, ...]) -> Catalog:
    return catalog_of([own_folder(), *map(Path, extra)])


def catalog_of(places: Iterable[Path]) -> Catalog:
    """The rules in these files and folders; names and codes are unique among them."""
    rules = [read(file) for place in places for file in files(place)]
    seen: dict[str, Rule] = {}
    for rule in rules:
        for word in (rule.name, rule.code):
            other = seen.setdefault(word, rule)
            if other is not rule:
                raise RuleFileError(f"{rule.path}: `{word}` is already taken by {other.path}: choose another")
    return Catalog(tuple(sorted(rules, key=lambda r: (r.code, r.name))))


def files(place: Path) -> list[Path]:
    """The rule files of a folder, or the file itself."""
    if place.is_dir():
        return [p for p in sorted(place.glob("*.toml")) if p.name not in NOT_RULES]
    if not place.exists():
        raise RuleFileError(f"{place}: there is no such rule file or folder: mend `rules` in the configuration")
    return [place]


def tables(file: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise RuleFileError(f"{file}: this is not TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(f"{file}: cannot be read: {error}") from error


def read(file: Path) -> Rule:
    """The rule in one file, which bears its name."""
    rule = rule_of(tables(file), str(file))
    if rule.name != file.stem:
        raise RuleFileError(f"{file}: name: `{rule.name}` must be the name of the file, `{file.stem}`")
    return rule


def find(name_or_code: str) -> Rule | None:
    """The rule of nanlint's own that has this name or code."""
    return load().find(name_or_code)
