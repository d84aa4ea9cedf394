"""The whole path on snippets: what is confirmed, what is only possible, and what nanlint says nothing of.

All snippets are linted by one run, so that one probe serves them all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch

HEADER = """\
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


"""
MODULE = """\
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.5 * torch.randn(4, 3))

    def forward(self, x):
        z = x @ self.weight
        return {expression}
"""

# the expression over z, and whether ordinary inputs break its value or its gradient
GRAPHS: dict[str, tuple[str, bool]] = {
    "log_softmax": ("torch.log_softmax(z, -1)", False),
    "softmax_less_its_peak": (
        "torch.exp(z - z.max(-1, keepdim=True).values) / torch.exp(z - z.max(-1, keepdim=True).values).sum(-1, keepdim=True)",
        False,
    ),
    "logsumexp_less_its_peak": (
        "z.max(-1, keepdim=True).values + torch.log(torch.sum(torch.exp(z - z.max(-1, keepdim=True).values), -1, keepdim=True))",
        False,
    ),
    "softplus": ("F.softplus(z)", False),
    "negative_softplus": ("-F.softplus(-z)", False),
    "norm_with_eps": ("torch.sqrt((z * z).sum(-1, keepdim=True) + 1e-8)", False),
    "over_norm_with_eps": ("z / torch.sqrt((z * z).sum(-1, keepdim=True) + 1e-8)", False),
    "log_of_one_minus_sigmoid_with_eps": ("torch.log(1 - torch.sigmoid(z) + 1e-7)", False),
    "over_sum_with_eps": ("z / (z.abs().sum(-1, keepdim=True) + 1e-6)", False),
    "deviation_with_eps": ("torch.sqrt(((z - z.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) + 1e-5)", False),
    "where_inside": ("torch.log(torch.where(z > 0, z, 1.0))", False),
    "log_of_relu_plus_one": ("torch.log(torch.relu(z) + 1)", False),
    "log_of_one_minus_tanh_squared_with_eps": ("torch.log(1 + 1e-6 - torch.tanh(z) ** 2)", False),
    "log_of_softmax": ("torch.log(torch.softmax(z, -1))", True),
    "softmax_by_hand": ("torch.exp(z) / torch.exp(z).sum(-1, keepdim=True)", True),
    "logsumexp_by_hand": ("torch.log(torch.exp(z).sum(-1, keepdim=True))", True),
    "softplus_by_hand": ("torch.log(1 + torch.exp(z))", True),
    "log_of_sigmoid": ("torch.log(torch.sigmoid(z))", True),
    "norm_by_hand": ("torch.sqrt((z * z).sum(-1, keepdim=True))", True),
    "norm_clamped_too_late": ("z / torch.clamp(torch.sqrt((z * z).sum(-1, keepdim=True)), min=1e-12)", True),
    "root_of_exp": ("torch.sqrt(torch.exp(z))", True),
    "absorbed_eps": ("torch.log(1e-10 + 1 - torch.sigmoid(z))", True),
    "over_sum": ("z / z.abs().sum(-1, keepdim=True)", True),
    "deviation_by_moments": ("torch.sqrt((z * z).mean(-1, keepdim=True) - z.mean(-1, keepdim=True) ** 2)", True),
    "sigmoid_by_hand": ("1 / (1 + torch.exp(-z))", True),
    "where_outside": ("torch.where(z > 0, torch.log(z), torch.zeros_like(z))", True),
    "arc_cosine": ("torch.acos(z)", True),
    "arc_sine_clamped": ("torch.asin(torch.clamp(z, -1, 1))", True),
}

SILENT: dict[str, str] = {
    "guarded_argument": "def f(p):\n    p = p.clamp(1e-6, 1 - 1e-6)\n    return torch.log(p)",
    "assert_before": "def f(n):\n    assert n > 0\n    return torch.randn(3) / n",
    "early_return": "def f(mask, x):\n    if mask.sum() == 0:\n        return x.sum()\n    return (x * mask).sum() / mask.sum()",
    "no_gradient": "@torch.no_grad()\ndef f(x):\n    return x.pow(2).sum(-1).sqrt()",
    "no_gradient_with": "def f(x):\n    with torch.no_grad():\n        return x.pow(2).sum(-1).sqrt()",
    "detached": "def f(x):\n    return torch.linalg.norm(x.detach(), dim=-1)",
    "python_numbers": "def f(path, a: int, b: int):\n    return a / b",
    "text": "def f(root, name: str):\n    return torch.load(root / name)",
    "double_where": (
        "def f(scores):\n    positive = scores > 0\n    safe = torch.where(positive, scores, 1.0)\n"
        "    return torch.where(positive, torch.log(safe), 0.0)"
    ),
    "a_relu_stops_the_gradient": "def f(x):\n    v = torch.relu(x)\n    return torch.where(v > 0, v.sqrt(), torch.zeros_like(v))",
    "normalised": "def f(x):\n    return F.normalize(x, dim=-1)",
    "cosine_clamped": "def f(a, b):\n    c = F.cosine_similarity(a, b, dim=-1)\n    return torch.acos(c.clamp(-1 + 1e-6, 1 - 1e-6))",
    "masked_mean": "def f(x, mask):\n    return (x * mask).sum(-1) / mask.sum(-1).clamp(min=1)",
    "finite_mask": (
        "class Attention(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.q = nn.Linear(8, 8)\n\n"
        "    def forward(self, x, mask):\n        scores = self.q(x) @ x.transpose(-2, -1)\n"
        "        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)\n        return scores.softmax(-1)"
    ),
    "ratio_of_a_part": "def f(counts):\n    return counts / (counts.sum() + 1)",
    "callers_pass_what_is_safe": (
        "def entropy(probs):\n    return -(probs * probs.log()).sum(-1)\n\n\n"
        "def g(x):\n    return entropy(torch.softmax(x, -1).clamp(min=1e-6))"
    ),
    "stated_in_a_comment": "def f(h):\n    scale = torch.relu(h)  # nanlint: 0 < scale <= 10\n    return 1 / scale",
    "stated_above": "def f(x):\n    # nanlint: -1 < x < 1\n    return torch.acos(x)",
    "stated_of_an_attribute": (
        "class Scaled(nn.Module):\n    def forward(self, x):\n        # nanlint: self.eps >= 1e-3\n"
        "        return torch.log(torch.softmax(x, -1).clamp(min=self.eps))"
    ),
    "ignored": "def f(x):\n    return torch.log(torch.sigmoid(x))  # nanlint: ignore[NAN101] -- bounded by the caller",
    "ignored_by_name": "def f(x):\n    return torch.log(torch.sigmoid(x))  # nanlint: ignore[log-of-sigmoid]",
    "ignored_as_noqa": "def f(x):\n    return torch.log(torch.sigmoid(x))  # noqa: NAN101",
    "ignored_file": "# nanlint: file-ignore[NAN1]\ndef f(x):\n    return torch.log(torch.sigmoid(x))",
}

POSSIBLE: dict[str, str] = {
    "bare_logarithm": "def f(x):\n    return torch.log(x)",
    "bare_division": "def f(x, y):\n    return torch.sin(x) / torch.sin(y.view(-1))",
}

CONFIRMED: dict[str, tuple[str, str]] = {
    "a_comment_states_what_breaks": ("def f(h):\n    # nanlint: h >= 0\n    return torch.log(h)", "log-of-zero"),
    "a_comment_of_another_function": (
        "def f(h):\n    scale = torch.relu(h)\n    return 1 / scale\n\n\ndef g(scale):\n    return 1 / scale  # nanlint: scale > 1",
        "division-by-zero",
    ),
    "across_statements": ("def f(logits):\n    p = torch.sigmoid(logits)\n    q = p\n    return q.log()", "log-of-sigmoid"),
    "through_a_helper": (
        "def squash(x):\n    return torch.sigmoid(x)\n\n\ndef f(logits):\n    return torch.log(squash(logits))",
        "log-of-sigmoid",
    ),
    "through_an_alias": ("from torch import log as ln\n\n\ndef f(logits):\n    return ln(logits.sigmoid())", "log-of-sigmoid"),
    "a_mask_may_be_empty": ("def f(x, mask):\n    return (x * mask).sum() / mask.sum()", "division-by-zero"),
    "a_name_states_probabilities": ("def f(probs):\n    return -(probs * torch.log(probs)).sum(-1)", "entropy-by-hand"),
    "where_trap": (
        "def f(x):\n    n = x.pow(2).sum(-1)\n    return torch.where(n > 0, n.log(), torch.zeros_like(n))",
        "where-gradient-trap",
    ),
    "callers_pass_zero": (
        "def logarithm(p):\n    return torch.log(p)\n\n\ndef g(x):\n    return logarithm(torch.relu(x))",
        "log-of-zero",
    ),
    "half": ("def f(x):\n    h = x.half()\n    return torch.log(h.sigmoid())", "log-of-sigmoid"),
    "zero_span": (
        "def f(x):\n    return (x - x.amin(-1, keepdim=True)) / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True))",
        "min-max-scaling",
    ),
}


def sources() -> dict[str, str]:
    """Every snippet as the text of a module, by its file's name."""
    texts = {f"graph_{name}": MODULE.format(expression=expression) for name, (expression, _) in GRAPHS.items()}
    texts |= {f"silent_{name}": body for name, body in SILENT.items()}
    texts |= {f"possible_{name}": body for name, body in POSSIBLE.items()}
    texts |= {f"confirmed_{name}": body for name, (body, _) in CONFIRMED.items()}
    return {f"{name}.py": HEADER + textwrap.dedent(body) + "\n" for name, body in texts.items()}


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`nanlint check` in a folder."""
    command = [sys.executable, "-m", "nanlint", "check", "--isolated", "--level", "possible", "--output-format", "json", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("snippets")
    for name, text in sources().items():
        (where / name).write_text(text, encoding="utf-8")
    return where


@pytest.fixture(scope="module")
def cold(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(folder, "--cache-dir", "kept", ".")


@pytest.fixture(scope="module")
def findings(cold: subprocess.CompletedProcess[str]) -> Mapping[str, list[dict[str, Any]]]:
    """The findings of each file."""
    assert cold.returncode == 1 and "fault of nanlint" not in cold.stderr, cold.stderr
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sources()}
    for finding in json.loads(cold.stdout)["findings"]:
        found[finding["path"]].append(finding)
    return found


def confirmed(findings: Mapping[str, list[dict[str, Any]]], name: str) -> list[str]:
    """The rules that are confirmed in a file."""
    return [f["rule"] for f in findings[f"{name}.py"] if f["verdict"] == "confirmed"]


NOT_YET = {
    "log_of_relu_plus_one": "a relu is taken for a value whose digits matter near 0",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.xfail(strict=True, reason=NOT_YET[n])) if n in NOT_YET else n
        for n, (_, breaks) in GRAPHS.items()
        if not breaks
    ],
)
def test_safe_graphs_are_silent(name: str, findings: Mapping[str, list[dict[str, Any]]]) -> None:
    assert confirmed(findings, f"graph_{name}") == []


@pytest.mark.parametrize("name", [n for n, (_, breaks) in GRAPHS.items() if breaks])
def test_broken_graphs_are_confirmed(name: str, findings: Mapping[str, list[dict[str, Any]]]) -> None:
    assert confirmed(findings, f"graph_{name}")


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str, findings: Mapping[str, list[dict[str, Any]]]) -> None:
    assert confirmed(findings, f"silent_{name}") == []


@pytest.mark.parametrize("name", POSSIBLE)
def test_possible_only(name: str, findings: Mapping[str, list[dict[str, Any]]]) -> None:
    assert {f["verdict"] for f in findings[f"possible_{name}.py"]} == {"possible"}


@pytest.mark.parametrize("name", CONFIRMED)
def test_confirmed(name: str, findings: Mapping[str, list[dict[str, Any]]]) -> None:
    assert confirmed(findings, f"confirmed_{name}") == [CONFIRMED[name][1]]


def test_witnesses_are_replayed(findings: Mapping[str, list[dict[str, Any]]], folder: Path) -> None:
    for name in ("graph_log_of_softmax", "confirmed_where_trap", "confirmed_zero_span"):
        for finding in findings[f"{name}.py"]:
            command = finding["witness"]["replay"].split()[1:]
            done = subprocess.run(
                [sys.executable, "-m", "nanlint", *command, "--cache-dir", "kept"], cwd=folder, capture_output=True, text=True, timeout=300
            )
            assert done.returncode in (0, 1) and finding["witness"]["becomes"] in done.stdout, done.stdout + done.stderr


def test_the_cache_gives_the_same_report(cold: subprocess.CompletedProcess[str], folder: Path) -> None:
    warm = run(folder, "--cache-dir", "kept", ".")
    assert (warm.stdout, warm.returncode) == (cold.stdout, cold.returncode)


def test_a_changed_file_alone_is_checked_anew(cold: subprocess.CompletedProcess[str], folder: Path) -> None:
    changed = folder / "graph_softplus.py"
    text = changed.read_text()
    try:
        changed.write_text(text.replace("F.softplus(z)", "torch.log(torch.sigmoid(z))"))
        again = run(folder, "--cache-dir", "kept", ".")
    finally:
        changed.write_text(text)
    before, after = (json.loads(done.stdout)["findings"] for done in (cold, again))
    new = [f for f in after if f["path"] == "graph_softplus.py"]
    assert [f["rule"] for f in new] == ["log-of-sigmoid"] and [f for f in after if f not in new] == before
