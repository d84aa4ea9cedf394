"""Suppressions: what they wave through, and which of them are reported as unused."""

from __future__ import annotations

import ast
from math import inf

import pytest

from nanlint.core.finding import Finding, Span
from nanlint.source.pragmas import annotations, bounds
from nanlint.source.suppress import suppress
from nanlint.source.text import apply_edits

RULES = {"log-of-sigmoid": "NAN101", "zero-divisor": "NAN201"}


def finding(line: int, end_line: int | None = None, code: str = "NAN101") -> Finding:
    name = next(n for n, c in RULES.items() if c == code)
    return Finding(code, name, "other", "words", "confirmed", "x.py", Span(line, 1, end_line or line, 5))


def judge(text: str, *findings: Finding, **options: object) -> tuple[list[Finding], list[str]]:
    kept, unused = suppress(findings, text, ast.parse(text), path="x.py", rules=RULES, **options)  # type: ignore[arg-type]
    return kept, [u.message for u in unused]


CALL = "y = f(\n    log(a),{inner}\n    b,\n){after}\n"
WAVED = {
    "by code": ("y = f(x)  # nanlint: ignore[NAN101]\n", 1),
    "by name": ("y = f(x)  # nanlint: ignore[log-of-sigmoid]\n", 1),
    "by prefix": ("y = f(x)  # nanlint: ignore[NAN1]\n", 1),
    "one of several, with a reason": ("y = f(x)  # nanlint: ignore[NAN101, NAN201] -- x is [0, 1]\n", 1),
    "all": ("y = f(x)  # nanlint: ignore\n", 1),
    "behind another comment": ("y = f(x)  # type: ignore  # nanlint: ignore[NAN101]\n", 1),
    "without blanks": ("y = f(x)  #nanlint:ignore[NAN101]\n", 1),
    "own line above": ("# nanlint: ignore[NAN101]\ny = f(x)\n", 2),
    "own lines above": ("# nanlint: ignore[NAN101]\n# more\n\ny = f(x)\n", 4),
    "own line above a statement of several lines": ("# nanlint: ignore[NAN101]\n" + CALL.format(inner="", after=""), 3),
    "own line inside": ("y = f(\n    # nanlint: ignore[NAN101]\n    log(a),\n)\n", 3),
    "on the line itself": (CALL.format(inner="  # nanlint: ignore[NAN101]", after=""), 2),
    "last line of the statement": (CALL.format(inner="", after="  # nanlint: ignore[NAN101]"), 2),
    "first line of the statement": ("y = f(  # nanlint: ignore[NAN101]\n    b,\n    log(a))\n", 3),
    "header of an if": ("if (f(x)  # nanlint: ignore[NAN101]\n    > log(y)):\n    pass\n", 2),
    "last line of a header": ("if (f(x)\n    > log(y)):  # nanlint: ignore[NAN101]\n    pass\n", 1),
    "whole file": ("# nanlint: file-ignore[NAN101]\nx = 1\ny = f(x)\n", 3),
    "whole file, at its end": ("y = f(x)\n# nanlint: file-ignore\n", 1),
    "noqa": ("y = f(x)  # noqa: NAN101\n", 1),
    "noqa among others": ("y = f(x)  # noqa: E501,NAN101 NAN201\n", 1),
    "noqa in capitals": ("y = f(x)  # NOQA : NAN101\n", 1),
    "bare noqa": ("y = f(x)  # noqa\n", 1),
}


@pytest.mark.parametrize(("text", "line"), WAVED.values(), ids=WAVED)
def test_waved_through(text: str, line: int) -> None:
    assert judge(text, finding(line))[0] == []


STAYS = {
    "another rule": ("y = f(x)  # nanlint: ignore[NAN201]\n", 1),
    "another line": ("x = 1  # nanlint: ignore[NAN101]\ny = f(x)\n", 2),
    "a middle line that the finding is not on": (
        CALL.format(inner="", after="").replace("b,", "b,  # nanlint: ignore[NAN101]"),
        2,
    ),
    "above the function": ("# nanlint: ignore[NAN101]\ndef f(x):\n    return log(x)\n", 3),
    "the header is not the body": ("if a:  # nanlint: ignore[NAN101]\n    y = f(x)\n", 2),
    "noqa of another linter": ("y = f(x)  # noqa: E501\n", 1),
    "in a string": ("y = f('# nanlint: ignore[NAN101]')\n", 1),
    "an empty list": ("y = f(x)  # nanlint: ignore[]\n", 1),
    "a range": ("y = f(x)  # nanlint: 0 < x <= 1\n", 1),
}


@pytest.mark.parametrize(("text", "line"), STAYS.values(), ids=STAYS)
def test_stays(text: str, line: int) -> None:
    assert judge(text, finding(line))[0] == [finding(line)]


UNUSED = {
    "unused": ("y = 1  # nanlint: ignore[NAN101]\n", ["`NAN101` suppresses nothing here"]),
    "unused by name": ("y = 1  # nanlint: ignore[zero-divisor]\n", ["`zero-divisor` suppresses nothing here"]),
    "unused, all": ("y = 1  # nanlint: ignore\n", ["`# nanlint: ignore` suppresses nothing"]),
    "unused in the file": ("# nanlint: file-ignore[NAN2]\n", ["`NAN2` suppresses nothing here"]),
    "unknown": (
        "y = 1  # nanlint: ignore[log-of-sigmod]\n",
        ["no rule is called `log-of-sigmod` (did you mean `log-of-sigmoid`?)"],
    ),
    "unknown noqa of ours": ("y = 1  # noqa: NAN2001\n", ["no rule is called `NAN2001` (did you mean `NAN201`?)"]),
    "noqa": ("y = 1  # noqa: E501, NAN101\n", ["`NAN101` suppresses nothing here"]),
    "bare noqa is never reported": ("y = 1  # noqa\n", []),
    "noqa of others is never reported": ("y = 1  # noqa: E501, B905\n", []),
    "ranges are no suppressions": ("y = 1  # nanlint: 0 < y <= 1, z >= 0\n", []),
    "not understood": ("y = 1  # nanlint: ingore[NAN101]\n", None),
    "says nothing": ("y = 1  # nanlint:\n", None),
    "names nothing": ("y = 1  # nanlint: ignore[]\n", None),
    "waved through itself": ("y = 1  # nanlint: ignore[NAN101, NAN900]\n", []),
    "waved through in the file": ("# nanlint: file-ignore[unused-suppression]\ny = 1  # nanlint: ignore[NAN101]\n", []),
    "prose": ("# see nanlint for more\ny = 1\n", []),
}


@pytest.mark.parametrize(("text", "messages"), UNUSED.values(), ids=UNUSED)
def test_unused(text: str, messages: list[str] | None) -> None:
    said = judge(text)[1]
    assert said == messages if messages is not None else len(said) == 1 and "not understood" in said[0]


def test_a_rule_that_did_not_run_is_not_unused() -> None:
    text = "y = 1  # nanlint: ignore[NAN101, NAN201]\n"
    assert judge(text, is_selected=lambda code, name: code != "NAN201")[1] == ["`NAN101` suppresses nothing here"]
    assert judge(text, report_unused=False)[1] == []


def test_half_used_and_the_fix() -> None:
    text = "y = f(x)  # nanlint: ignore[NAN201, NAN101] -- why\n"
    kept, unused = suppress([finding(1)], text, ast.parse(text), path="x.py", rules=RULES)
    assert not kept and unused[0].code == "NAN900" and unused[0].severity == "warning"
    assert unused[0].fix and apply_edits(text, list(unused[0].fix.edits)) == "y = f(x)  # nanlint: ignore[NAN101] -- why\n"


DROPPED = {
    "y = 1  # nanlint: ignore[NAN101]\nz = 2\n": "y = 1\nz = 2\n",
    "# nanlint: ignore[NAN101]\ny = 1\n": "y = 1\n",
    "y = 1  # type: ignore  # nanlint: ignore[NAN101] -- why\n": "y = 1  # type: ignore\n",
    "y = 1  # noqa: E501, NAN101\n": "y = 1  # noqa: E501\n",
    "y = 1  # noqa: NAN101\n": "y = 1\n",
}


@pytest.mark.parametrize(("text", "after"), DROPPED.items(), ids=list(DROPPED))
def test_what_dropping_leaves(text: str, after: str) -> None:
    _, unused = suppress([], text, ast.parse(text), path="x.py", rules=RULES)
    assert unused[0].fix and apply_edits(text, list(unused[0].fix.edits)) == after


def test_files_that_cannot_be_cut_into_tokens() -> None:
    text = "y = f(x)  # nanlint: ignore[NAN101]\nz = '\n"
    assert suppress([finding(1)], text, None, rules=RULES) == ([], [])


BOUNDS = {
    "0 < sigma <= 10": [("sigma", 0.0, 10.0, True, False)],
    "sigma > 0": [("sigma", 0.0, inf, True, False)],
    "10 >= self.sigma >= -1e-3": [("self.sigma", -1e-3, 10.0, False, False)],
    "0 <= p <= 1, x < -2": [("p", 0.0, 1.0, False, False), ("x", -inf, -2.0, False, True)],
    "x > 0 and y > 1": [("x", 0.0, inf, True, False), ("y", 1.0, inf, True, False)],
    "n == 3": [("n", 3.0, 3.0, False, False)],
    "-pi <= angle <= pi -- by construction": [("angle", -3.141592653589793, 3.141592653589793, False, False)],
    "x < 2**10": [("x", -inf, 1024.0, False, True)],
    "0 < x < y": [],
    "x": [],
    "1 < 2": [],
    "10 < x < 1": [],
    "x != 0": [],
    "0 < f(x) < 1": [],
    "0 <": [],
    "x < 9**9**9": [],
}


@pytest.mark.parametrize(("text", "stated"), BOUNDS.items(), ids=list(BOUNDS))
def test_bounds(text: str, stated: list[object]) -> None:
    assert bounds(text) == stated


def test_annotations_belong_to_their_line_or_the_next() -> None:
    text = "def f(\n    sigma,  # nanlint: sigma > 0\n):\n    # nanlint: 0 <= p <= 1\n\n    p = g(sigma)\n"
    assert annotations(text) == {2: [("sigma", 0.0, inf, True, False)], 6: [("p", 0.0, 1.0, False, False)]}
