"""What `nanlint rule` prints, all of it taken from the rule files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from nanlint.catalog.load import Catalog, load
from nanlint.catalog.rule import Rule
from nanlint.core.errors import UsageError, nearest
from nanlint.core.finding import json_number
from nanlint.source.problems import OWN_RULES


def explain(name: str | None, show_all: bool, output_format: str, extra: Iterable[str] = ()) -> str:
    """The list of rules, one of them explained, or all of them."""
    catalog = load(extra)
    rules = [r for r in catalog if name is None or r is catalog.find(name)]
    own = [n for n, (code, _) in OWN_RULES.items() if catalog.find(n) is None and (name is None or name.upper() == code or name.lower() == n)]
    if name is not None and not rules and not own:
        raise UsageError(f"no rule is called `{name}`{nearest(name, _words(catalog))}; `nanlint rule` lists them")
    if output_format == "json":
        found = [_plain(r) for r in rules] + [{"name": n, "code": OWN_RULES[n][0], "summary": OWN_RULES[n][1]} for n in own]
        return json.dumps(found[0] if name is not None else found, indent=2) + "\n"
    if name is None and not show_all:
        return "".join(f"{code}  {name:<28} {summary}\n" for code, name, summary in _rows(rules, own))
    return "\n".join([*map(_page, rules), *(f"# {n} ({OWN_RULES[n][0]})\n\n{OWN_RULES[n][1]}\n" for n in own)])


def _rows(rules: list[Rule], own: list[str]) -> list[tuple[str, str, str]]:
    return sorted([*((r.code, r.name, r.summary) for r in rules), *((OWN_RULES[n][0], n, OWN_RULES[n][1]) for n in own)])


def _words(catalog: Catalog) -> list[str]:
    return [w for r in catalog for w in (r.name, r.code)] + [w for n, (code, _) in OWN_RULES.items() for w in (n, code)]


def _page(rule: Rule) -> str:
    """One rule, as a page of Markdown."""
    parts = [f"# {rule.name} ({rule.code})", rule.summary, "## Why is this bad?\n\n" + rule.why.strip()]
    if rule.templates:
        parts.append("## Found as\n\n" + "\n".join(f"    {t}" for t in rule.templates))
    for fix in rule.fixes:
        keeps = "keeps every value" if fix.keeps == "value" else f"keeps {fix.keeps}"
        parts.append(f"## Use instead ({fix.applicability})\n\n    {fix.code}\n\n{keeps}")
    if rule.proofs:
        parts.append(
            "## Breaks at\n\n" + "\n".join(f"- {_example(p.inputs)} ({p.dtype}): {_outcome(p.old)}" for p in rule.proofs)
        )
    parts.append(f"Kind `{rule.kind}`, severity {rule.severity}. Silence one place with `# nanlint: ignore[{rule.name}]`.")
    if rule.references:
        parts.append("## References\n\n" + "\n".join(f"- {r}" for r in rule.references))
    return "\n\n".join(parts) + "\n"


def _example(inputs: Any) -> str:
    return ", ".join(f"{name} = {value}" for name, value in inputs.items())


def _outcome(old: Any) -> str:
    return ", ".join(f"{phase} {value}" for phase, value in old.items())


def _plain(value: Any) -> Any:
    """A rule as JSON can hold it; the folder it comes from is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "path"}
        return (
            {"trigger_kind": type(value).__name__.lower(), **kept}
            if type(value).__name__ in ("Match", "Hazard", "Check")
            else kept
        )
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return json_number(value)
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
