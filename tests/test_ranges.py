"""What propagation, relations and roles know: the cases that must stay silent first, then what must not be believed."""

from __future__ import annotations

import math

import pytest
from lifting import evidenced, ranged, result, usual

from nanlint.ranges.interval import Interval
from nanlint.ranges.roles import role_of

INF = math.inf


def sure(body: str, name: str = "f", dtype: str = "float32") -> Interval:
    """The range that always holds of what a snippet returns."""
    lifted, ranges = ranged(body, name, dtype)
    return ranges.sure[result(lifted).id]


def returned(expression: str, arguments: str = "x") -> str:
    """A function that returns an expression."""
    typed = ", ".join(f"{name}: Tensor" for name in arguments.split(", "))
    return f"def f({typed}):\n    return {expression}"


# the expression, its arguments, what must hold of its range always
KNOWN: dict[str, tuple[str, str, float, float]] = {
    "less its peak": ("x - x.max(-1, keepdim=True).values", "x", -INF, 0.0),
    "less its peak, unpacked": ("x - torch.amax(x, dim=-1, keepdim=True)", "x", -INF, 0.0),
    "less its peak, detached": ("x - x.max(-1, keepdim=True).values.detach()", "x", -INF, 0.0),
    "exp less its peak": ("(x - x.amax(-1, keepdim=True)).exp()", "x", 0.0, 1.0),
    "less its least": ("x - x.min()", "x", 0.0, INF),
    "peak less it": ("x.max() - x", "x", 0.0, INF),
    "span": ("x.amax(-1) - x.amin(-1)", "x", 0.0, INF),
    "sum of exp less its peak": ("(x - x.amax(-1, keepdim=True)).exp().sum(-1)", "x", 1.0, INF),
    "sum of exp less its peak, all": ("torch.exp(x - x.max()).sum()", "x", 1.0, INF),
    "part over the whole": ("x.exp() / x.exp().sum(-1, keepdim=True)", "x", 0.0, 1.001),
    "part over the whole with eps": ("x.abs() / (x.abs().sum() + 1e-8)", "x", 0.0, 1.001),
    "part over part and rest": ("x.exp() / (x.exp() + y.exp())", "x, y", 0.0, 1.0),
    "over its greatest magnitude": ("x / x.abs().amax()", "x", -1.0, 1.0),
    "scaled to its span": (
        "(x - x.amin(-1, keepdim=True)) / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True))", "x", 0.0, 1.0
    ),
    "unit vector": ("x / x.norm(dim=-1, keepdim=True)", "x", -1.001, 1.001),
    "unit vector by hand": ("x / x.pow(2).sum(-1, keepdim=True).sqrt().clamp(min=1e-12)", "x", -1.001, 1.001),
    "unit vector by rsqrt": ("x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-8)", "x", -1.001, 1.001),
    "normalize": ("F.normalize(x, dim=-1)", "x", -1.001, 1.001),
    "dot of unit vectors": ("(F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(-1)", "x, y", -1.001, 1.001),
    "cosines": ("F.normalize(x, dim=-1) @ F.normalize(y, dim=-1).T", "x, y", -1.001, 1.001),
    "square": ("x * x", "x", 0.0, INF),
    "square by power": ("x ** 2", "x", 0.0, INF),
    "even power": ("torch.pow(x, 4)", "x", 0.0, INF),
    "square through a name": ("torch.square(x).mean(-1)", "x", 0.0, INF),
    "sum of squares": ("(x - y).pow(2).sum(-1)", "x, y", 0.0, INF),
    "two squares": ("x * x + y * y", "x, y", 0.0, INF),
    "softmax": ("torch.softmax(x, -1)", "x", 0.0, 1.0),
    "one minus softmax": ("1 - torch.softmax(x, -1)", "x", 0.0, 1.0),
    "clamp": ("x.clamp(-2, 3)", "x", -2.0, 3.0),
    "clamp from below": ("x.clamp(min=1e-6)", "x", 9.9e-7, INF),
    "eps": ("torch.sigmoid(x) + 1e-3", "x", 9.9e-4, 1.01),
    "maximum": ("torch.maximum(torch.sigmoid(x), torch.tensor(0.5))", "x", 0.5, 1.0),
    "itself": ("x - x", "x", 0.0, 0.0),
    "fraction": ("x - torch.floor(x)", "x", 0.0, 1.0),
    "where": ("torch.where(x > 2, x, 2.0)", "x", 2.0, INF),
    "where of another view": ("torch.where(x.unsqueeze(0) > 2, x.unsqueeze(0), 2.0)", "x", 2.0, INF),
    "where negated": ("torch.where(~(x > 2), 2.0, x)", "x", 2.0, INF),
    "where both": ("torch.where((x > 1) & (x < 3), x, 2.0)", "x", 1.0, 3.0),
    "picked by a mask": ("x[x > 3]", "x", 3.0, INF),
    "masked_select": ("torch.masked_select(x, x < 3)", "x", -INF, 3.0),
    "sum of a mask": ("(x > 0).sum()", "x", 0.0, INF),
    "tanh squared from one": ("1 - torch.tanh(x) ** 2", "x", 0.0, 1.0),
    "one-hot": ("F.one_hot(x, 10)", "x", 0.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    expression, arguments, low, high = KNOWN[name]
    found = sure(returned(expression, arguments))
    assert low <= found.lo and found.hi <= high, found


# what looks alike and holds no such thing: the expression, its arguments, a value that it takes
UNKNOWN: dict[str, tuple[str, str, float]] = {
    "peak of another dimension": ("(x - x.amax(0, keepdim=True)).exp().sum(-1)", "x", 0.0),
    "peak of another dimension, counted": ("(x - x.amax(1, keepdim=True)).exp().sum(2)", "x", 0.0),
    "peak of another tensor": ("x - y.amax(-1, keepdim=True)", "x, y", 5.0),
    "peak added": ("x + x.amax(-1, keepdim=True)", "x", 5.0),
    "peak of another scale": ("2 * x - x.amax(-1, keepdim=True)", "x", 5.0),
    "a row of the exps": ("(x - x.amax(-1, keepdim=True)).exp()[..., 0]", "x", 0.0),
    "part over another sum": ("x.exp() / y.exp().sum(-1, keepdim=True)", "x, y", 5.0),
    "signed part over the whole": ("x / x.sum(-1, keepdim=True)", "x", 5.0),
    "unit vector of another": ("x / y.norm(dim=-1, keepdim=True)", "x, y", 5.0),
    "product of two": ("x * y", "x, y", -5.0),
    "cube": ("x ** 3", "x", -5.0),
    "outer product": ("x.unsqueeze(1) * x.unsqueeze(0)", "x", -5.0),
    "eps alone": ("torch.sigmoid(x) + 1e-3", "x", 0.5),
    "where of another": ("torch.where(y > 2, x, 2.0)", "x, y", -5.0),
    "where the other way": ("torch.where(x > 2, 2.0, x)", "x", -5.0),
    "picked by another mask": ("x[y > 3]", "x, y", -5.0),
    "difference of moments": ("(x * x).mean(-1) - x.mean(-1) ** 2", "x", -1e-6),
    "the mean removed": ("x - x.mean()", "x", -5.0),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_not_believed(name: str) -> None:
    expression, arguments, value = UNKNOWN[name]
    found = sure(returned(expression, arguments))
    assert found.lo <= value <= found.hi and not (value == 0 and found.nonzero), found


REFINED: dict[str, tuple[str, float, float]] = {
    "assert": ("def f(x: float):\n    assert x > 2\n    return x * torch.ones(3)", 2.0, INF),
    "raise": ("def f(x: float):\n    if x < 2:\n        raise ValueError\n    return x * torch.ones(3)", 2.0, INF),
    "return": ("def f(x: float):\n    if x <= 2:\n        return torch.ones(3) * 3\n    return x * torch.ones(3)", 2.0, INF),
    "both arms": ("def f(x: float):\n    if x > 2:\n        y = x\n    else:\n        y = 2.0\n    return y * torch.ones(3)", 2.0, INF),
    "a default": ("def f(x, eps=0.5):\n    return torch.sigmoid(x) + 0.5", 0.5, 1.5),
    "a constant of the module": ("LEAST = 0.25\n\n\ndef f(x):\n    return torch.sigmoid(x).clamp(min=LEAST)", 0.25, 1.0),
    "max of numbers": ("def f(n: int):\n    return max(n, 1) * torch.ones(3)", 1.0, INF),
    "in place": ("def f(x):\n    x = torch.sigmoid(x)\n    x.clamp_(min=0.1)\n    return x", 0.09, 1.0),
    "by index": ("def f(x):\n    y = torch.relu(x)\n    y[y < 1] = 1.0\n    return y", 0.0, INF),
    "a helper": ("def g(x):\n    return torch.sigmoid(x)\n\n\ndef f(x):\n    return 1 + g(x)", 1.0, 2.0),
}


@pytest.mark.parametrize("name", REFINED)
def test_refined(name: str) -> None:
    body, low, high = REFINED[name]
    found = sure(body)
    assert low <= found.lo and found.hi <= high, found


# (op at the start of the message, rule) is evidenced; a comparison of the twins shows which part matters
SILENT: dict[str, str] = {
    "bare": "def f(x):\n    return torch.log(x)",
    "peak": "def f(x):\n    return (x - x.amax(-1, keepdim=True)).exp().sum(-1).log()",
    "sum with eps": "def f(x):\n    return x / (x.abs().sum(-1, keepdim=True) + 1e-6)",
    "eps in float32": "def f(x):\n    return (x.pow(2).sum(-1) + 1e-12).sqrt()",
    "clamp": "def f(scores):\n    return scores.clamp(max=80).exp()",
    "guard of a mask": "def f(x, mask):\n    return (x * mask).sum() / mask.sum().clamp(min=1)",
    "finite fill": "def f(scores, mask):\n    return scores.masked_fill(mask, -1e9).softmax(-1)",
    "mean of squares with eps": "def f(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)",
    "integers": "def f(a: int, b: int):\n    return a / b",
    "ones": "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.scale = nn.Parameter(torch.ones(3))\n\n"
    "    def forward(self, x):\n        return x / self.scale",
    "no gradient": "@torch.no_grad()\ndef f(x):\n    return x.norm(dim=-1)",
    "log of a sum of probabilities": "def f(x):\n    return torch.softmax(x, -1).sum(-1).log()",
}


@pytest.mark.parametrize("name", SILENT)
def test_no_evidence(name: str) -> None:
    assert evidenced(SILENT[name]) == set()


SPOKEN: dict[str, tuple[str, str]] = {
    "log of a probability that underflows": ("def f(x):\n    p = torch.softmax(x, -1)\n    return p.max(-1).values.sub(p).log()", "log-of-zero"),
    "a zero vector": ("def f(x):\n    return x / x.abs().sum(-1, keepdim=True)", "division-by-zero"),
    "a constant row": ("def f(x):\n    return 1 / (x.amax(-1) - x.amin(-1))", "division-by-zero"),
    "an empty mask": ("def f(x, mask):\n    return x.sum() / mask.sum()", "division-by-zero"),
    "a norm at zero": ("def f(x):\n    return torch.sqrt((x - x[0]).pow(2).sum(-1))", "norm-by-hand"),
    "parallel unit vectors": (
        "def f(x, y):\n    return torch.acos((F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(-1))",
        "acos-domain",
    ),
    "clamped to the very ends": ("def f(x):\n    return torch.acos(x.clamp(-1, 1))", "acos-domain"),
    "a parameter that starts at zero": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.scale = nn.Parameter(torch.zeros(3))\n\n"
        "    def forward(self, x):\n        return x / self.scale",
        "division-by-zero",
    ),
    "an eps that float32 absorbs": ("def f(x):\n    return torch.log(1 + 1e-12 - torch.softmax(x, -1).square())", "log-of-zero"),
    "a network's output": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(3, 3)\n\n"
        "    def forward(self, x):\n        return self.head(x).exp()",
        "exp-overflow",
    ),
    "a name of logits": ("def f(logits):\n    return logits.exp().sum(-1)", "exp-overflow"),
    "a name of probabilities": ("def f(probs):\n    return torch.log(probs)", "log-of-zero"),
    "a name of counts": ("def f(total, count):\n    return torch.sin(total) / count.float()", "division-by-zero"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_evidence(name: str) -> None:
    body, rule = SPOKEN[name]
    assert rule in {found for _, found in evidenced(body)}


def test_an_eps_that_a_half_format_absorbs() -> None:
    body = "def f(x):\n    return torch.log(torch.sigmoid(x) + 1e-8)"
    assert evidenced(body, "float32") == set()
    assert evidenced(body, "float16")


def test_what_overflows_in_half_only() -> None:
    body = "def f(scores):\n    return torch.exp(scores.clamp(max=20))"
    assert evidenced(body, "float32") == set() and evidenced(body, "bfloat16") == set()
    assert evidenced(body, "float16")


def test_masks_of_minus_infinity_reach_the_softmax() -> None:
    body = "def f(scores, mask):\n    return scores.masked_fill(mask == 0, float('-inf')).softmax(-1)"
    assert {rule for _, rule in evidenced(body)} == {"softmax-of-masked-row"}


def test_the_usual_range_of_names() -> None:
    assert usual(returned("probs * 1", "probs")).hi == 1.0
    assert usual(returned("logits + 0", "logits")).hi == pytest.approx(150.0)


ROLES: dict[str, str | None] = {
    "x": None,
    "weights": None,
    "num_classes": None,
    "mask_size": None,
    "logits_fn": None,
    "prob_head": None,
    "n_valid_threshold": None,
    "logscaled_loss": None,
    "logits": "logits",
    "pred_logits": "logits",
    "self.attn_scores": "logits",
    "logvar": "log-scale",
    "log_var": "log-scale",
    "logVar": "log-scale",
    "log_sigma": "log-scale",
    "old_log_probs": "log-probability",
    "probs": "probability",
    "attention_mask": "mask",
    "keyMask": "mask",
    "num_pos": "count",
    "counts": "count",
    "running_var": "variance",
    "sigma": "scale",
    "temperature": "scale",
    "cos_theta": "cosine",
    "boxes": "coordinates",
    "eps": "epsilon",
}


@pytest.mark.parametrize("name", ROLES)
def test_roles(name: str) -> None:
    role = role_of(name)
    assert (role.name if role is not None else None) == ROLES[name]
