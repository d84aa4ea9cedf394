"""What every rule owes: its fix is the same function, defined wherever the original was, finite where that broke, and accurate."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from evaluate_rules import exact_gradients, gradients, in_torch, is_floating

from nanlint.catalog.load import load
from nanlint.catalog.rule import CONSTANTS, Agreement, Example, FixTemplate, Hazard, Match, Rule
from nanlint.catalog.template import Call, Hole, Tree, holes_of, parse

CATALOG = load()
SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-8, -1e-8, 1e-4, 17.0, -17.0, 89.0, -104.0, 1e3, -1e3, 3e4)


def pairs(rule: Rule, fix: FixTemplate) -> Iterator[str]:
    """The templates that a fix replaces."""
    yield from fix.of or rule.templates


AGREEMENTS = [
    pytest.param(rule, fix, of, agree, id=f"{rule.name}-{of.replace(' ', '')}-{fix.name or n}-{k}")
    for rule in CATALOG
    for n, fix in enumerate(rule.fixes)
    if fix.keeps != "nothing" and "..." not in fix.code
    for of in pairs(rule, fix)
    for k, agree in enumerate(rule.agree)
    if (not agree.of or of in agree.of) and agree.fix in ("", fix.name)
]
PROOFS = [pytest.param(r, p, id=f"{r.name}-{i}") for r in CATALOG for i, p in enumerate(r.proofs)]


def static_holes(tree: Tree) -> frozenset[str]:
    """The holes in parameter places."""
    if not isinstance(tree, Call):
        return frozenset()
    here = frozenset(v.name for _, v in tree.params if isinstance(v, Hole))
    return here.union(*map(static_holes, tree.args)) if tree.args else here


def tensors(inputs: Any, tree: Tree, dtype: torch.dtype) -> dict[str, Any]:
    """The inputs of a proof: numbers and lists as tensors, but for parameters and whole-number or truth lists."""
    return {n: v if n == "e" or n in static_holes(tree) else tensor(v, dtype) for n, v in inputs.items()}


def tensor(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return torch.full(value["shape"], value["fill"], dtype=dtype)
    made = torch.tensor(value)
    return made.to(dtype) if made.is_floating_point() else made


def drawn(agree: Agreement, tree: Tree, dtype: torch.dtype, seed: int = 0) -> dict[str, Any]:
    """Inputs drawn evenly from the ranges of an agreement, with both ends among them."""
    generator = torch.Generator().manual_seed(seed)
    values: dict[str, Any] = {}
    for name, given in agree.inputs.items():
        if name in static_holes(tree) or not isinstance(given, list):
            values[name] = given if name in static_holes(tree) or isinstance(given, (int, str)) else float(given)
            continue
        low, high = given
        x = low + (high - low) * torch.rand(agree.shape, generator=generator, dtype=torch.float64)
        flat = x.view(-1)
        flat[0], flat[-1] = low, high
        values[name] = x.to(dtype)
    return values


def errors(got: torch.Tensor, true: Any, relative_to: str, eps: float) -> float:
    """The largest error in units of eps, relative to each or to the largest of the true values."""
    flat = [mpmath.mpf(v) for v in got.double().reshape(-1).tolist()]
    want = list(np.asarray(true, dtype=object).reshape(-1))
    assert len(flat) == len(want)
    largest = max((abs(w) for w in want), default=mpmath.mpf(0))
    tiny = torch.finfo(got.dtype).tiny / eps
    return max(
        (float(abs(g - w) / (max(abs(w) if relative_to == "each" else largest, tiny) * eps)) for g, w in zip(flat, want)),
        default=0.0,
    )


@pytest.mark.parametrize(("rule", "fix", "of", "agree"), AGREEMENTS)
def test_fix_is_the_same_function(rule: Rule, fix: FixTemplate, of: str, agree: Agreement) -> None:
    """Value and gradient equal those of the original in 40 digits, on the stated inputs."""
    old, new = parse(of), parse(fix.code)
    values = drawn(agree, old, torch.float64)
    a, da = exact_gradients(old, values, torch.float32)
    b, db = exact_gradients(new, values, torch.float32)
    within = 1e-15 if re.search(r"\d{15}", fix.code) else 1e-40
    assert same(a, b, within), f"{of} is not {fix.code}"
    for name in da:
        assert same(da[name], db[name], max(within, 1e-18)), f"the gradient of {of} for {name} is not that of {fix.code}"


def same(a: Any, b: Any, within: float) -> bool:
    x, y = np.broadcast_arrays(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
    return all(abs(p - q) <= within * max(abs(p), abs(q), 1) for p, q in zip(x.ravel(), y.ravel()))


@pytest.mark.parametrize(("rule", "fix", "of", "agree"), AGREEMENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_fix_is_accurate(rule: Rule, fix: FixTemplate, of: str, agree: Agreement, dtype: torch.dtype) -> None:
    """Within so many eps of the 60-digit value and gradient, in each dtype of which the rule says so."""
    if str(dtype).removeprefix("torch.") not in agree.dtypes:
        return
    tree = parse(fix.code)
    values = drawn(agree, parse(of), dtype)
    got, slopes = gradients(tree, values, dtype)
    true, true_slopes = exact_gradients(tree, values, dtype)
    eps = torch.finfo(dtype).eps
    assert errors(got, true, agree.relative_to, eps) <= agree.within
    for name, slope in slopes.items():
        assert errors(slope, true_slopes[name], agree.relative_to, eps) <= agree.within, f"gradient for {name}"


@pytest.mark.parametrize(("rule", "fix", "of", "agree"), AGREEMENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_fix_is_defined_where_the_original_was(
    rule: Rule, fix: FixTemplate, of: str, agree: Agreement, dtype: torch.dtype
) -> None:
    """Wherever value and gradient of the original are finite, those of the fix are."""
    old, new = parse(of), parse(fix.code)
    for values in special_inputs(agree, old, dtype):
        if not meant(values, fix, agree):
            continue
        a, b = outcome(old, values, dtype), outcome(new, values, dtype)
        if a is None:
            continue
        assert b is not None, f"{fix.code} cannot run"
        if a[0]:
            assert b[0], f"{fix.code} is not finite at {values}"
        if a[0] and a[1]:
            assert b[1], f"the gradient of {fix.code} is not finite at {values}"


def meant(values: dict[str, Any], fix: FixTemplate, agree: Agreement) -> bool:
    """The inputs are in the stated domain and as the conditions of the fix have them."""
    for name, condition in fix.when:
        x = values[name]
        if condition.sign and condition.word != "not" and not condition.holds(float(x.min()), float(x.max())):
            return False
        if condition.word == "whole" and bool((x != x.round()).any()):
            return False
    return all(low <= float(values[n].min()) and float(values[n].max()) <= high for n, (low, high) in agree.domain.items())


def special_inputs(agree: Agreement, tree: Tree, dtype: torch.dtype) -> Iterator[dict[str, Any]]:
    """The special numbers in every hole, as constant and as mixed tensors."""
    names = [n for n, v in agree.inputs.items() if isinstance(v, list) and n not in static_holes(tree)]
    fixed = {n: v for n, v in agree.inputs.items() if n not in names}
    count = int(np.prod(agree.shape))
    pools = list(itertools.product(SPECIAL, repeat=len(names))) if len(names) < 3 else list(zip(*[SPECIAL] * len(names)))
    for chosen in pools:
        yield {**fixed, **{n: torch.full(agree.shape, v, dtype=dtype) for n, v in zip(names, chosen)}}
    for shift in range(len(SPECIAL)):
        yield {
            **fixed,
            **{n: torch.tensor([SPECIAL[(i * (k + 1) + shift) % len(SPECIAL)] for i in range(count)], dtype=dtype).reshape(agree.shape)
               for k, n in enumerate(names)},
        }  # fmt: skip


def outcome(tree: Tree, values: dict[str, Any], dtype: torch.dtype) -> tuple[bool, bool] | None:
    """Whether value and gradient are finite; None where torch cannot run it."""
    try:
        value, slopes = gradients(tree, values, dtype)
    except RuntimeError:
        return None
    return bool(value.isfinite().all()), all(bool(s.isfinite().all()) for s in slopes.values())


@pytest.mark.parametrize(("rule", "proof"), PROOFS)
def test_proof_breaks_the_original_and_not_the_fix(rule: Rule, proof: Example) -> None:
    """The original breaks exactly as stated, phase by phase; the first fix that replaces it is finite and right."""
    of = proof.of or rule.templates[0]
    dtype = getattr(torch, proof.dtype)
    old = parse(of)
    values = tensors(proof.inputs, old, dtype)
    phases = run(old, values, dtype)
    for phase, word in proof.old.items():
        true = exact_gradients(old, values, dtype) if word == "wrong" else None
        assert says(phases[phase], word, true, phase), f"{of}: {phase} gives {phases[phase]}, not {word}"
    for fix in rule.fixes:
        if fix.keeps == "nothing" or "..." in fix.code or (fix.of and of not in fix.of) or proof.fix not in ("", fix.name):
            continue
        assert_sound(parse(fix.code), values, dtype, proof)


def run(tree: Tree, values: dict[str, Any], dtype: torch.dtype) -> dict[str, list[torch.Tensor]]:
    if not any(map(is_floating, values.values())):
        return {"forward": [in_torch(tree, values, dtype)], "backward": []}
    if not is_floating(in_torch(tree, values, dtype)):
        return {"forward": [in_torch(tree, values, dtype)], "backward": []}
    value, slopes = gradients(tree, values, dtype)
    return {"forward": [value], "backward": list(slopes.values())}


def says(found: list[torch.Tensor], word: str, true: Any, phase: str) -> bool:
    """What was found bears out the word of a proof."""
    flat = torch.cat([t.double().reshape(-1) for t in found])
    if word == "wrong":
        want = [true[0]] if phase == "forward" else list(true[1].values())
        return flat.isfinite().all().item() and wrongness(found, want) > 0.01
    tests = {"nan": flat.isnan(), "inf": flat == float("inf"), "-inf": flat == -float("inf")}
    if word in tests:
        return bool(tests[word].any())
    if word == "finite":
        return bool(flat.isfinite().all())
    return bool((flat == float(word)).any())


def wrongness(found: list[torch.Tensor], true: list[Any]) -> float:
    """The largest relative error, where there is one."""
    return max(errors(t, w, "each", torch.finfo(t.dtype).eps) * torch.finfo(t.dtype).eps for t, w in zip(found, true))


def assert_sound(new: Tree, values: dict[str, Any], dtype: torch.dtype, proof: Example) -> None:
    phases = run(new, values, dtype)
    for phase, found in phases.items():
        assert all(bool(t.isfinite().all()) for t in found), f"the {phase} of the fix gives {found}"
    if "wrong" in proof.old.values():
        true = exact_gradients(new, values, dtype)
        limit = 64 * torch.finfo(dtype).eps
        if proof.old.get("forward") == "wrong":
            assert wrongness(phases["forward"], [true[0]]) < limit
        if proof.old.get("backward") == "wrong":
            assert wrongness(phases["backward"], list(true[1].values())) < limit


@pytest.mark.parametrize("rule", [r for r in CATALOG if not isinstance(r.trigger, Hazard)], ids=lambda r: r.name)
def test_rule_with_a_fix_is_proven(rule: Rule) -> None:
    """A fix that is more than advice has an agreement and a proof."""
    if any(f.keeps != "nothing" for f in rule.fixes):
        assert rule.agree and rule.proofs
    if isinstance(rule.trigger, Match):
        assert rule.proofs, "a template without a proof is an opinion"


@pytest.mark.parametrize(
    ("rule", "fix"),
    [
        pytest.param(r, f, id=f"{r.name}-{i}")
        for r in CATALOG
        for i, f in enumerate(r.fixes)
        if f.keeps != "nothing" and "..." not in f.code
    ],
)
def test_fix_uses_only_what_every_template_binds(rule: Rule, fix: FixTemplate) -> None:
    for of in pairs(rule, fix):
        assert holes_of(parse(fix.code)) <= holes_of(parse(of)) | set(CONSTANTS), f"{fix.code} of {of}"
