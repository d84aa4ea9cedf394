"""Every template that a safe fix replaces, written as a function, linted, fixed and linted again.

The fixed code gives no finding of its rule, and fixing it twice changes nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanlint.catalog.load import load
from nanlint.catalog.rule import FixTemplate, Match, Rule
from nanlint.catalog.spell import CannotSpell, Namer, spell
from nanlint.catalog.template import Call, Hole, Literal, Tree, holes_of, parse
from nanlint.core.formats import FORMATS

pytestmark = pytest.mark.torch

HEADER = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\n\n\n"
NAMES = {"torch": "torch", "torch.nn.functional": "F"}
# names that say of a hole what the rule asks of it; the others are called scores
SPOKEN: dict[str, dict[str, str]] = {
    "inverse-softplus-by-hand": {"x": "sigma_x"},
    "log-of-one-minus-exp": {"x": "log_prob_x"},
}
# nothing in these can blow up, and what cannot blow up is not looked at: a division draws the eye
UNSEEN = frozenset({"expanded-squared-distance", "one-minus-cos"})
COARSE = "the proof compares gradients that have all but vanished digit by digit"
POLE = "the first witness is a pole of the function itself, which no fix mends"
NOT_YET = {
    "sigmoid_by_hand_0": COARSE,
    "sigmoid_by_hand_1": COARSE,
    "tanh_by_hand_1": COARSE,
    "tanh_by_hand_2": COARSE,
    "log_of_one_minus_tanh_squared_1": "the proof compares values near 0 digit by digit",
    "one_minus_cos_0": "the proof compares values near 0 digit by digit",
    "log_of_exp_difference_0": POLE,
    "log_of_one_minus_exp_1": POLE,
}


def written(rule: Rule, of: str) -> str:
    """A module with one function whose body is the template, its holes being parameters that are called scores."""
    tree = parse(of)
    static = static_holes(tree)
    inputs = proof_inputs(rule)
    given = {n: in_source(inputs.get(n, -1)) for n in static}
    names = {n: SPOKEN.get(rule.name, {}).get(n, f"scores_{n}") for n in sorted(holes_of(tree) - static)}
    numbers = {n for n, c in (rule.trigger.when if isinstance(rule.trigger, Match) else ()) if c.word in ("const", "number")}
    for n in numbers & names.keys():
        names.pop(n)
        given[n] = str(inputs.get(n, 2.0))
    text = spell(tree, {**names, **given}, Namer(NAMES))
    first = "    half = 1 / 2\n" if rule.name in UNSEEN else ""
    return f"{HEADER}def f({', '.join(f'{n}: Tensor' for n in names.values())}):\n{first}    return {text}\n"


def in_source(value: Any) -> str:
    """A parameter as source: strings of rules are dtypes or words."""
    return f"torch.{value}" if isinstance(value, str) and value in FORMATS else repr(value)


def proof_inputs(rule: Rule) -> dict[str, Any]:
    """What the rule's proofs put into its holes."""
    return {n: v for proof in reversed(rule.proofs) for n, v in proof.inputs.items()}


def static_holes(tree: Tree) -> frozenset[str]:
    """The holes that stand for parameters such as `dim`."""
    match tree:
        case Call(_, args, params):
            own = frozenset(v.name for _, v in params if isinstance(v, Hole))
            return own.union(*(static_holes(a) for a in args)) if args else own
        case Hole() | Literal():
            return frozenset()
    return frozenset()


def cases() -> Iterator[tuple[str, Rule, str]]:
    """(name, rule, template) for all that a safe fix replaces."""
    for rule in load(()):
        if not isinstance(rule.trigger, Match):
            continue
        for i, of in enumerate(rule.templates):
            if any(is_safe(fix, of) for fix in rule.fixes):
                try:
                    written(rule, of)
                except CannotSpell:
                    continue
                yield f"{rule.name}-{i}".replace("-", "_"), rule, of


def is_safe(fix: FixTemplate, of: str) -> bool:
    """The fix replaces the template and keeps every value."""
    return fix.applicability == "safe" and (not fix.of or of in fix.of)


CASES = {name: (rule, of) for name, rule, of in cases()}


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`nanlint check` in a folder."""
    command = [sys.executable, "-m", "nanlint", "check", "--isolated", "--no-cache", *args, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


def rules_by_file(done: subprocess.CompletedProcess[str]) -> dict[str, set[str]]:
    """The names of the rules that are confirmed in each file."""
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, set[str]] = {name: set() for name in CASES}
    for finding in json.loads(done.stdout)["findings"]:
        found[finding["path"].removesuffix(".py")].add(finding["rule"])
    return found


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is found before, what is left after, and the texts before, after, and after fixing twice."""
    folder = tmp_path_factory.mktemp("rules")
    for name, (rule, of) in CASES.items():
        (folder / f"{name}.py").write_text(written(rule, of), encoding="utf-8")

    def texts() -> dict[str, str]:
        return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in CASES}

    before = rules_by_file(run(folder, "--output-format", "json"))
    old = texts()
    assert run(folder, "--fix", "-q").returncode in (0, 1)
    once = texts()
    after = rules_by_file(run(folder, "--output-format", "json"))
    run(folder, "--fix", "-q")
    return {"before": before, "after": after, "old": old, "once": once, "twice": texts()}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.xfail(reason=NOT_YET[n])) if n in NOT_YET else n for n in CASES])
def test_fixed_code_is_silent(name: str, fixed: dict[str, Any]) -> None:
    rule, _ = CASES[name]
    assert rule.name in fixed["before"][name], fixed["old"][name]
    assert fixed["once"][name] != fixed["old"][name], fixed["old"][name]
    assert rule.name not in fixed["after"][name], fixed["once"][name]
    assert fixed["twice"][name] == fixed["once"][name]
