"""Rule files, templates, matching and spelling; none of it needs torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nanlint.catalog.fix import fixes_for, replacement
from nanlint.catalog.load import catalog_of, load, read
from nanlint.catalog.match import Bindings, Index, match
from nanlint.catalog.rule import Condition, FixTemplate, Match, Rule
from nanlint.catalog.spell import CannotSpell, Namer, spell, view_again
from nanlint.catalog.template import build, parse
from nanlint.core.errors import RuleFileError
from nanlint.graph.values import Ref, ValueGraph

CATALOG = load()
TORCH = Namer.of({"torch": "torch", "F": "torch.nn.functional"})


def graph_of(text: str) -> tuple[ValueGraph, int]:
    """A value graph in which free names are inputs."""
    graph = ValueGraph()
    return graph, build(parse(text), graph)


def found(template: str, text: str) -> Bindings | None:
    return match(template, *graph_of(text))


SILENT = [pytest.param(r, s, id=f"{r.name}: {s}") for r in CATALOG if isinstance(r.trigger, Match) for s in r.trigger.silent]


@pytest.mark.parametrize(("rule", "text"), SILENT)
def test_silent_line_of_a_rule_is_not_matched(rule: Rule, text: str) -> None:
    graph, _ = graph_of(text)
    assert [f.pattern for _, f in Index([rule]).scan(graph, lambda id, condition: True)] == []


@pytest.mark.parametrize("rule", CATALOG.matches(), ids=lambda r: r.name)
def test_template_matches_itself(rule: Rule) -> None:
    for text in rule.templates:
        graph = ValueGraph()
        leaves = {h: graph.add("const", (), {"value": 0.5}) for h, c in rule.trigger.when if c.word == "const"}  # type: ignore[union-attr]
        root = build(parse(text), graph, leaves)
        assert any(f.root == root for _, f in Index([rule]).scan(graph, lambda id, condition: True)), text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("log(sigmoid($x))", "log(sigmoid(a) + 0.5)"),
        ("log(1 - sigmoid($x))", "log(1 - 2 * sigmoid(a))"),
        ("log(1 - sigmoid($x))", "log(2 - sigmoid(a))"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) / sum(exp(b), dim=1, keepdim=True)"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) / sum(exp(a), dim=1)"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) / unsqueeze(sum(exp(a), dim=1), dim=0)"),
        ("log(sum(exp($x), dim=$d))", "log(sum(exp(a)))"),
        ("log(sum(exp($x), dim=$d))", "log(sum(exp(a), dim=1, keepdim=True))"),
        ("sqrt($x)", "rsqrt(a)"),
        ("sqrt($x)", "a ** 0.25"),
        ("$p * log($p)", "a * log(b)"),
        ("log(sigmoid($x))", "log(detach(sigmoid(a)))"),
        ("sum(exp($x), dim=$d)", "sum(transpose(exp(a), 0, 1), dim=1)"),
        ("log(1 - tanh($x) ** 2)", "log(1 - tanh(a) * tanh(b))"),
        ("exp($x ** $p)", "exp(a * b)"),
    ],
)
def test_no_match(template: str, text: str) -> None:
    assert found(template, text) is None


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("log(sigmoid($x))", "log(sigmoid(a * b))"),
        ("log(sigmoid($x))", "log(clone(contiguous(sigmoid(a))))"),
        ("log(sigmoid($x))", "log(squeeze(sigmoid(a), dim=1))"),
        ("log(1 - sigmoid($x))", "log(-sigmoid(a) + 1)"),
        ("log(1 - sigmoid($x))", "log(rsub(sigmoid(a), 1))"),
        ("log(1 - sigmoid($x))", "log(ones_like(a) - sigmoid(a))"),
        ("log(1 - tanh($x) ** 2)", "log(1 - tanh(a) * tanh(a))"),
        ("log(1 - tanh($x) ** 2)", "log(1 - square(tanh(a)))"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) / sum(exp(a), dim=[1], keepdim=True)"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) / unsqueeze(sum(exp(a), dim=1), dim=1)"),
        ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "exp(a) * reciprocal(expand_as(sum(exp(a), dim=1, keepdim=True), a))"),
        ("log(softmax($x, dim=$d))", "log(gather(softmax(a, dim=-1), 1, i))"),
        ("1 / sqrt($x)", "rsqrt(a)"),
        ("1 / sqrt($x)", "a ** -0.5"),
        ("sqrt(sum($x * $x, dim=$d))", "sum(square(a), dim=-1) ** 0.5"),
        ("1 - cos($x)", "cos(a) - 1"),
        ("sqrt($x + $e)", "sqrt(a + 1e-8)"),
        ("-$p * log($p)", "log(a) * (-a)"),
        ("$x ** $p", "a ** b"),
        ("$x ** $p", "a ** 0.5"),
        ("exp($x ** $p)", "exp(a ** b)"),
        ("amax($x, dim=$d, keepdim=True)", "item(max_dim(a, 1, keepdim=True), index=0)"),
    ],
)
def test_match(template: str, text: str) -> None:
    assert found(template, text) is not None


def test_holes_and_parameters_are_bound() -> None:
    graph, root = graph_of("log(softmax(a, dim=-1))")
    bindings = match("log(softmax($x, dim=$d))", graph, root)
    assert bindings is not None
    assert graph[bindings.holes["x"]].param("name") == "a"
    assert bindings.params == {"d": -1}
    assert {graph[n].op for n in bindings.nodes} == {"log", "softmax"}


REWRITES = [
    ("$a / $b", "y / z", "$a / clamp_min($b, $tiny)", "y / z.clamp(min=1e-12)"),
    ("softmax($x, dim=$d, dtype=$t)", "softmax(a, dim=1, dtype='float32')", "log_softmax($x, dim=$d, dtype=$t)",
     "torch.log_softmax(a, dim=1, dtype=torch.float32)"),
    ("log(sigmoid($x))", "log(sigmoid(a))", "logsigmoid($x)", "F.logsigmoid(a)"),
    ("$p * log($p)", "-w * a * log(a)", "-special.entr($p)", "w * torch.special.entr(a)"),
    ("1 / sqrt($x)", "c / sqrt(b)", "1 / sqrt(clamp_min($x, 1e-12))", "c / torch.sqrt(b.clamp(min=1e-12))"),
    ("1 - cos($x)", "cos(a) - 1", "2 * sin($x / 2) ** 2", "-(2 * torch.sin(a / 2) ** 2)"),
    ("1 - cos($x)", "b + (1 - cos(a))", "2 * sin($x / 2) ** 2", "2 * torch.sin(a / 2) ** 2 + b"),
    ("exp($x) / sum(exp($x), dim=$d, keepdim=True)", "3 * exp(a) / sum(exp(a), dim=1, keepdim=True)", "softmax($x, dim=$d)",
     "3 * torch.softmax(a, dim=1)"),
]  # fmt: skip


@pytest.mark.parametrize(("template", "text", "fix", "source"), REWRITES)
def test_rest_of_a_sum_or_product_is_put_back(template: str, text: str, fix: str, source: str) -> None:
    graph, root = graph_of(text)
    bindings = match(template, graph, root)
    assert bindings is not None
    tree, holes = replacement(FixTemplate(fix), bindings)
    assert spell(tree, {n: str(graph[id].param("name")) for n, id in holes.items()}, TORCH) == source


def test_view_between_is_put_around_the_fix() -> None:
    graph, root = graph_of("log(squeeze(sigmoid(a), dim=1))")
    bindings = match("log(sigmoid($x))", graph, root)
    assert bindings is not None
    tree, _ = replacement(FixTemplate("logsigmoid($x)"), bindings)
    texts = {graph[v].op: "p.squeeze(1)" for v in bindings.views}
    assert (
        spell(tree, {"x": "h"}, TORCH, lambda id, inner: view_again(texts[graph[id].op], inner)) == "F.logsigmoid(h).squeeze(1)"
    )
    with pytest.raises(CannotSpell):
        spell(tree, {"x": "h"}, TORCH)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("norm(a, p=3, dim=-1)", "a.float().norm(p=3, dim=-1)"),
        ("var_mean(a, dim=(2, 3), keepdim=True)", "torch.var_mean(a.float(), dim=(2, 3), keepdim=True)"),
        ("a * b", "a.float() * b.float()"),
        ("normalize(a, dim=1)", "F.normalize(a.float(), dim=1)"),
    ],
)
def test_any_op_in_float32(text: str, source: str) -> None:
    graph, root = graph_of(text)
    bindings = match("...", graph, root)
    assert bindings is not None
    tree, holes = replacement(FixTemplate("float32(...)"), bindings)
    names = {"0": "a", "1": "b"}
    assert spell(tree, {n: names[n] for n in holes}, TORCH) == source


def test_any_op_in_float32_rounded_again() -> None:
    graph, root = graph_of("normalize(a, dim=1)")
    bindings = match("...", graph, root)
    assert bindings is not None
    tree, _ = replacement(FixTemplate("rounded(float32(...))"), bindings)
    assert spell(tree, {"0": "a"}, TORCH) == "F.normalize(a.float(), dim=1).to(a.dtype)"


def test_parameter_that_is_a_value_is_a_hole_of_the_fix() -> None:
    graph = ValueGraph()
    x, d = graph.add("input", (), {"name": "x"}), graph.add("input", (), {"name": "axis"})
    root = graph.add("log", (graph.add("softmax", (x,), {"dim": Ref(d)}),))
    bindings = match("log(softmax($x, dim=$d))", graph, root)
    assert bindings is not None
    tree, holes = replacement(FixTemplate("log_softmax($x, dim=$d)"), bindings)
    assert spell(tree, {n: graph[i].param("name") for n, i in holes.items()}, TORCH) == "torch.log_softmax(x, dim=axis)"


@pytest.mark.parametrize(
    ("code", "holes", "source"),
    [
        ("$a * $b", {"a": "x + y", "b": "z"}, "(x + y) * z"),
        ("$a - $b", {"a": "x - y", "b": "z - w"}, "x - y - (z - w)"),
        ("-$a", {"a": "x + y"}, "-(x + y)"),
        ("-$a", {"a": "-x"}, "x"),
        ("-$a", {"a": "-k * x"}, "k * x"),
        ("-$a", {"a": "-k + x"}, "-(-k + x)"),
        ("-$a", {"a": "x ** 2"}, "-x ** 2"),
        ("stack(($a, $b), dim=-1)", {"a": "x", "b": "y"}, "torch.stack((x, y), dim=-1)"),
        ("view_as(flatten($a), $b)", {"a": "x", "b": "y"}, "x.flatten().view_as(y)"),
        ("$a ** 2", {"a": "-x"}, "(-x) ** 2"),
        ("exp($a)", {"a": "x if y else z"}, "torch.exp(x if y else z)"),
        ("exp($a)", {"a": "v for v in w"}, "torch.exp((v for v in w))"),
        ("$a + 1", {"a": "x if y else z"}, "(x if y else z) + 1"),
        ("clamp_min($a, 1e-12)", {"a": "x @ y"}, "(x @ y).clamp(min=1e-12)"),
        ("clamp($a, -1 + $eps, 1 - 1e-6)", {"a": "x", "eps": "e"}, "x.clamp(min=-1 + e, max=1 - 1e-6)"),
        ("logsigmoid($a)", {"a": "x"}, "F.logsigmoid(x)"),
        ("sum($a) / clamp_min(size($a), 1)", {"a": "x[m]"}, "x[m].sum() / max(x[m].numel(), 1)"),
        ("std($a) if size($a, dim=-1) > 1 else 0", {"a": "x"}, "x.std() if x.size(-1) > 1 else 0"),
        ("2 * (std($a) if size($a, dim=-1) > 1 else 0)", {"a": "x"}, "2 * (x.std() if x.size(-1) > 1 else 0)"),
        ("linalg.vector_norm($a, dim=-1, keepdim=True)", {"a": "x"}, "torch.linalg.vector_norm(x, dim=-1, keepdim=True)"),
        ("cast($a, dtype='float32')", {"a": "x * y"}, "(x * y).float()"),
    ],
)
def test_spelling(code: str, holes: dict[str, str], source: str) -> None:
    assert spell(parse(code), holes, TORCH) == source


@pytest.mark.parametrize(
    ("imports", "source", "wanted"),
    [
        ({"torch": "torch"}, "torch.nn.functional.logsigmoid(x)", []),
        ({"nn": "torch.nn"}, "nn.functional.logsigmoid(x)", []),
        ({"F": "torch.nn.functional", "torch": "torch"}, "F.logsigmoid(x)", []),
        ({"logsigmoid": "torch.nn.functional.logsigmoid"}, "logsigmoid(x)", []),
        ({"th": "torch"}, "th.nn.functional.logsigmoid(x)", []),
        ({}, "torch.nn.functional.logsigmoid(x)", ["import torch"]),
    ],
)
def test_spelling_goes_through_the_imports(imports: dict[str, str], source: str, wanted: list[str]) -> None:
    names = Namer.of(imports)
    assert spell(parse("logsigmoid($x)"), {"x": "x"}, names) == source
    assert names.wanted == wanted


def test_python_numbers_are_spelled_without_torch() -> None:
    numbers = frozenset({"n"})
    assert spell(parse("$a / clamp_min($n, 1)"), {"a": "x", "n": "count"}, TORCH, numbers=numbers) == "x / max(count, 1)"
    with pytest.raises(CannotSpell):
        spell(parse("logsigmoid($n)"), {"n": "count"}, TORCH, numbers=numbers)


@pytest.mark.parametrize(
    ("text", "inner", "source"),
    [
        ("p[mask]", "q", "q[mask]"),
        ("p.squeeze(-1)", "q", "q.squeeze(-1)"),
        ("torch.squeeze(p, -1)", "q", "torch.squeeze(q, -1)"),
        ("(p + 0)[..., 0]", "q", "q[..., 0]"),
        ("f(x)(y)", "q", "f(x)(q)"),
        ("torch.gather(\n    p,\n    1,\n    i,\n)", "q", "torch.gather(\n    q,\n    1,\n    i,\n)"),
        ("1 +", "q", None),
    ],
)
def test_view_is_written_again(text: str, inner: str, source: str | None) -> None:
    assert view_again(text, inner) == source


@pytest.mark.parametrize(
    ("text", "low", "high", "holds"),
    [
        ("reaches <= 0", 0.0, 1.0, True),
        ("reaches <= 0", 0.1, 1.0, False),
        ("always > 0", 0.1, 1.0, True),
        ("always >= 0", -0.1, 1.0, False),
        ("reaches >= 1", 0.0, 1.0, True),
    ],
)
def test_condition(text: str, low: float, high: float, holds: bool) -> None:
    condition = Condition.parse(text)
    assert condition is not None
    assert condition.holds(low, high) is holds


GOOD = """
name = "my-rule"
code = "OWN101"
kind = "other"
summary = "s"
why = "w"
[match]
code = "log(sigmoid($x))"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind =", "knid =", "my-rule.toml: knid: there is no such key (did you mean `kind`?)"),
        ('"other"', '"log-sigmod"', "(did you mean `log-sigmoid`?)"),
        ("[match]", "[matches]", "matches: there is no such key (did you mean `match`?)"),
        ("OWN101", "own1", "code: `own1` must be letters and three digits"),
        ('summary = "s"', "summary = 3", "summary: must be a string, not 3"),
        ('why = "w"', "", "why: is missing"),
        ("[match]\n", '[hazard]\nop = "log"\n[match]\n', "exactly one trigger"),
        ("[match]\n", '[match]\nwhen = { x = "reach <= 0" }\n', "match.when.x: `reach <= 0` is no condition (did you mean `reaches <= 0`?)"),
        ("sigmoid($x))\"", "sigmoid($x))\"\n[fix]\ncode = \"a\"\nkeeps = \"values\"", "fix.keeps: `values` must be `value`"),
        ("sigmoid($x))\"", "sigmoid($x))\"\n[fix]\ncode = \"a\"\nof = \"b\"", "no template of the trigger"),
        ("my-rule", "other-rule", "must be the name of the file, `my-rule`"),
        ("name =", "name", "this is not TOML"),
    ],
)  # fmt: skip
def test_wrong_rule_file_names_file_key_and_nearest_word(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "my-rule.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(RuleFileError) as error:
        read(file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("log(sigmod($x))", "`sigmod` is no canonical op (did you mean `sigmoid`?)"),
        ("softmax($x, dmi=1)", "softmax has no parameter `dmi` (did you mean `dim`?)"),
        ("log($x", "this is no expression"),
        ("log($x and 1)", "neither a hole, a number, an operator nor an op"),
        ("exp($x, $y)", "exp takes input"),
    ],
)
def test_wrong_template_names_the_nearest_op(template: str, message: str) -> None:
    with pytest.raises(RuleFileError) as error:
        parse(template, "a.toml: match.code")
    assert message in str(error.value)
    assert str(error.value).startswith("a.toml: match.code")


def test_user_rules_are_loaded_beside_our_own(tmp_path: Path) -> None:
    (tmp_path / "my-rule.toml").write_text(GOOD)
    catalog = load([tmp_path])
    assert catalog.get("OWN101").name == "my-rule"
    assert len(catalog) == len(CATALOG) + 1
    with pytest.raises(KeyError, match="did you mean `log-of-sigmoid`"):
        catalog.get("log-of-sigmoids")


def test_names_are_unique(tmp_path: Path) -> None:
    (tmp_path / "my-rule.toml").write_text(GOOD)
    (tmp_path / "my-twin.toml").write_text(GOOD.replace("my-rule", "my-twin"))
    with pytest.raises(RuleFileError, match="`OWN101` is already taken by"):
        catalog_of([tmp_path])


def test_every_rule_has_words() -> None:
    for rule in CATALOG:
        assert rule.summary and rule.why, rule.name
        assert "\n" not in rule.summary, rule.name
        assert len(rule.summary) <= 120, rule.name
        for fix in rule.fixes:
            if "..." not in fix.code:
                parse(fix.code, f"{rule.path}: fix")
        for text in rule.templates:
            if text != "...":
                parse(text, f"{rule.path}: code")


def test_a_match_has_at_most_one_line_of_fixes_per_template() -> None:
    for rule in CATALOG.matches():
        for text in rule.templates:
            graph, root = graph_of(text)
            bindings = match(text, graph, root)
            assert bindings is not None, text
            for fix in fixes_for(rule, bindings):
                tree, holes = replacement(fix, bindings)
                assert spell(tree, {n: f"v{i}" for i, n in enumerate(holes)} | {"d": "-1", "t": "torch.float32"}, Namer())


def test_loading_imports_no_heavy_library() -> None:
    code = (
        "import sys, nanlint.catalog.load as l; l.load();"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'torch', 'libcst', 'networkx', 'numpy'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
