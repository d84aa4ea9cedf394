"""Edits: operands found, named once or written out; what becomes unused goes; everything else keeps every byte."""

from __future__ import annotations

import ast
import textwrap

import pytest

from nanlint.core.finding import Edit, Span
from nanlint.engine.fixes import joined
from nanlint.engine.scan import WORDS
from nanlint.source.edit import NoEdit, Site, apply_edits, find_site, operand_text, replace_root, rounded_at_end, span_of
from nanlint.source.lift_functions import lift_function
from nanlint.source.names import view

HEAD = "import torch\nimport torch.nn.functional as F\n\n"


def source(body: str) -> str:
    return HEAD + textwrap.dedent(body).lstrip("\n")


def site_of(text: str, old: str, name: str = "f") -> Site:
    """The site of the expression or augmented assignment whose source is `old`."""
    module = view(ast.parse(text), text, WORDS)
    function = next(f for f in module.bodies if f.qualname == name)
    lifted = lift_function(module, function, "float32", places=True)
    node = next(n for n in ast.walk(function.node) if isinstance(n, (ast.expr, ast.AugAssign)) and ast.get_source_segment(text, n) == old)
    return find_site(module, function.node, lifted, span_of(module, node))


def operand(site: Site, text: str, old: str) -> str:
    """The text that an operand has at the site: `old` is how it is written where it is computed."""
    for node in ast.walk(site.module.tree):
        if isinstance(node, ast.expr) and ast.get_source_segment(text, node) == old:
            id = site.lifted.places.get(site.span(node), -1)
            if id >= 0:
                return operand_text(site, [id])
    raise AssertionError(f"{old} is no value of the function")


def fixed(body: str, old: str, new: str, hole: str = "", name: str = "f") -> str:
    """The source after `old` became `new`, `{}` in it being the operand computed as `hole`."""
    text = source(body)
    site = site_of(text, old, name)
    edits = replace_root(site, new.format(operand(site, text, hole)) if hole else new)
    result = apply_edits(text, edits)
    ast.parse(result)
    return result


def test_an_operand_in_a_variable_is_named_and_the_dead_temporary_goes() -> None:
    body = """
    def f(x):
        p = torch.softmax(x, dim=-1)  # kept
        p = torch.softmax(x, dim=-1)
        q = torch.sigmoid(x)
        return torch.log(q)
    """
    got = fixed(body, "torch.log(q)", "F.logsigmoid({})", "x")
    assert got.endswith("    p = torch.softmax(x, dim=-1)\n    return F.logsigmoid(x)\n")
    assert "# kept\n" in got


def test_a_temporary_with_a_comment_or_another_reader_stays() -> None:
    for rest in ("  # why\n    return torch.log(q)", "\n    print(q)\n    return torch.log(q)"):
        text = source("def f(x):\n    q = torch.sigmoid(x)" + rest + "\n")
        site = site_of(text, "torch.log(q)")
        got = apply_edits(text, replace_root(site, "F.logsigmoid(x)"))
        assert "    q = torch.sigmoid(x)" in got


def test_an_operand_computed_elsewhere_is_hoisted() -> None:
    body = """
    def f(model, x):
        p = torch.softmax(model(x), dim=1)
        return torch.log(p), p
    """
    got = fixed(body, "torch.log(p)", "torch.log_softmax({}, dim=1)", "model(x)")
    assert "    logits = model(x)\n    p = torch.softmax(logits, dim=1)\n    return torch.log_softmax(logits, dim=1), p\n" in got


def test_a_hoisted_name_is_free() -> None:
    body = """
    def f(model, x, logits):
        p = torch.softmax(model(x), dim=1)
        return torch.log(p) + logits + p
    """
    assert "    raw_logits = model(x)\n" in fixed(body, "torch.log(p)", "torch.log_softmax({}, dim=1)", "model(x)")


CALLEE = """
def probabilities(x, w):
    return torch.softmax(x @ w, dim=-1)


def f(x, w, y):
    {}
"""


@pytest.mark.parametrize(
    ("lines", "old", "expected"),
    [
        ("p = probabilities(x, w)\n    return torch.log(p)", "torch.log(p)", "    logits = x @ w\n    return torch.log_softmax(logits, dim=-1)\n"),
        (
            "p = probabilities(x, w)\n    return torch.log(p), p",
            "torch.log(p)",
            "    logits = x @ w\n    p = torch.softmax(logits, dim=-1)\n    return torch.log_softmax(logits, dim=-1), p\n",
        ),
        ("return torch.log(probabilities(x, w))", "torch.log(probabilities(x, w))", "    return torch.log_softmax(x @ w, dim=-1)\n"),
        (
            "p = probabilities(x, w).gather(1, y)\n    return torch.log(p)",
            "torch.log(p)",
            "    logits = x @ w\n    return torch.log_softmax(logits, dim=-1).gather(1, y)\n",
        ),
    ],
)
def test_an_operand_inside_a_callee_is_written_out(lines: str, old: str, expected: str) -> None:
    text = source(CALLEE.format(lines))
    site = site_of(text, old)
    module = site.module
    inner = next(n for n in ast.walk(module.tree) if isinstance(n, ast.BinOp))
    hole = operand_text(site, [site.lifted.places[span_of(module, inner)]])
    new = f"torch.log_softmax({hole}, dim=-1)" + (".gather(1, y)" if "gather" in lines else "")
    assert apply_edits(text, replace_root(site, new)).endswith(expected)


def test_starred_arguments_are_not_followed() -> None:
    text = source(CALLEE.format("p = probabilities(*x)\n    return torch.log(p)"))
    site = site_of(text, "torch.log(p)")
    with pytest.raises(NoEdit):
        operand(site, text, "x @ w")


def test_parentheses_where_the_new_text_binds_more_loosely() -> None:
    assert "return 2 * (a - b)\n" in fixed("def f(a, b):\n    return 2 * torch.log(a)\n", "torch.log(a)", "a - b")
    assert "return (a - b).sum()\n" in fixed("def f(a, b):\n    return torch.log(a).sum()\n", "torch.log(a)", "a - b")
    assert "return g(a - b)\n" in fixed("def f(a, b, g):\n    return g(torch.log(a))\n", "torch.log(a)", "a - b")


def test_the_right_side_of_an_augmented_assignment() -> None:
    text = source("def f(q, x):\n    q = torch.exp(x)\n    q /= q.sum()\n    return q\n")
    site = site_of(text, "q /= q.sum()")
    assert site.augmented is not None and site.text(site.root) == "q.sum()"
    assert operand(site, text, "q.sum()") == "q.sum()"
    assert "    q /= q.sum().clamp(min=1e-12)\n" in apply_edits(text, replace_root(site, "q.sum().clamp(min=1e-12)"))


def test_an_in_place_call_whose_result_is_dropped_is_no_site() -> None:
    with pytest.raises(NoEdit):
        site_of(source("def f(x):\n    x.log_()\n    return x\n"), "x.log_()")


def test_several_lines_keep_their_comments_elsewhere() -> None:
    body = """
    def f(x):  # head
        return torch.log(
            torch.sigmoid(x)
        ) + 1  # tail
    """
    got = fixed(body, "torch.log(\n        torch.sigmoid(x)\n    )", "F.logsigmoid(x)")
    assert got.endswith("def f(x):  # head\n    return F.logsigmoid(x) + 1  # tail\n")


def test_columns_count_code_points() -> None:
    got = fixed('def f(x):\n    é = "ü𝔁"; return torch.log(torch.sigmoid(x)), é\n', "torch.log(torch.sigmoid(x))", "F.logsigmoid(x)")
    assert got.endswith('    é = "ü𝔁"; return F.logsigmoid(x), é\n')


def test_several_fixes_in_one_line() -> None:
    text = source("def f(x, y):\n    return torch.log(x) + torch.log(y)\n")
    first = replace_root(site_of(text, "torch.log(x)"), "torch.log(x.clamp(min=1e-12))")
    second = replace_root(site_of(text, "torch.log(y)"), "torch.log(y.clamp(min=1e-12))")
    both = apply_edits(text, joined(first, second))
    assert both.endswith("return torch.log(x.clamp(min=1e-12)) + torch.log(y.clamp(min=1e-12))\n")
    assert joined(first, first) == first


def test_fixes_that_overlap_are_not_joined() -> None:
    text = source("def f(x):\n    return torch.log(torch.exp(x))\n")
    outer = replace_root(site_of(text, "torch.log(torch.exp(x))"), "x")
    inner = replace_root(site_of(text, "torch.exp(x)"), "torch.exp(x.clamp(max=20))")
    assert joined(outer, inner) == outer
    with pytest.raises(NoEdit):
        apply_edits(text, [*outer, *inner])


def test_what_is_computed_wider_is_rounded_at_the_end_of_its_statement_or_of_the_function() -> None:
    text = source("def f(x):\n    e = torch.mean(x * x, dim=-1)\n    return x / e\n")
    site = site_of(text, "x * x")
    found = [apply_edits(text, e) for e in rounded_at_end(site, replace_root(site, "x.float() ** 2"), "x")]
    assert found[0].endswith("    e = (torch.mean(x.float() ** 2, dim=-1)).to(x.dtype)\n    return x / e\n")
    assert found[1].endswith("    e = torch.mean(x.float() ** 2, dim=-1)\n    return (x / e).to(x.dtype)\n")


def test_nothing_is_rounded_to_the_dtype_of_what_is_gone() -> None:
    text = source("def f(x):\n    e = torch.mean(x * x)\n    x = e.double()\n    return x / e\n")
    site = site_of(text, "x * x")
    assert len(list(rounded_at_end(site, replace_root(site, "x.float() ** 2"), "x"))) == 1
    assert not list(rounded_at_end(site, replace_root(site, "x.float() ** 2"), "x + 1"))


def test_an_insertion_comes_before_what_stands_there() -> None:
    edits = [Edit(Span(1, 1, 1, 2), "b"), Edit(Span(1, 1, 1, 1), "a\n")]
    assert apply_edits("x = 1\n", edits) == "a\nb = 1\n"


def test_the_last_of_several_values_of_a_name_goes_if_nothing_else_reads_it() -> None:
    body = """
    def f(x, m):
        y = x + 1
        y = y.masked_fill(m, float("-inf"))
        return torch.softmax(y, dim=-1)
    """
    got = fixed(body, "torch.softmax(y, dim=-1)", "torch.softmax((x + 1).masked_fill(m, -1e30), dim=-1)")
    assert got.endswith("    y = x + 1\n    return torch.softmax((x + 1).masked_fill(m, -1e30), dim=-1)\n")
    loop = """
    def f(x, m):
        for _ in range(3):
            y = x + 1
            y = y * 2
            x = torch.log(y)
        return x
    """
    assert "        y = y * 2\n" in fixed(loop, "torch.log(y)", "torch.log(x)")


def test_parentheses_that_are_there_already_are_enough() -> None:
    assert "return (b - a).sum()\n" in fixed("def f(a, b):\n    return (a - b).sum()\n", "a - b", "b - a")
    assert "return 2 * (b - a)\n" in fixed("def f(a, b):\n    return 2 * (a - b)\n", "a - b", "b - a")
    assert "return b.sum()\n" in fixed("def f(a, b):\n    return (a - b).sum()\n", "a - b", "b")
    assert "return a.log()\n" in fixed("def f(a, b):\n    return torch.log((a - b) + 1)\n", "torch.log((a - b) + 1)", "a.log()")
    assert "return not(b)\n" in fixed("def f(a, b):\n    return not(a - b)\n", "a - b", "b")
