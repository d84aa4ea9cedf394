"""Lifting: every spelling of an operation is one node; what is not understood is opaque; nothing is run."""

from __future__ import annotations

import pytest
from lifting import lift, ops, result

SPELLINGS = [
    ("torch.log(x)", "log"),
    ("x.log()", "log"),
    ("torch.Tensor.log(x)", "log"),
    ("x.clone().log_()", "log"),
    ("torch.special.expit(x)", "sigmoid"),
    ("F.softmax(x, dim=1)", "softmax"),
    ("F.softmax(input=x, dim=-1)", "softmax"),
    ("torch.nn.functional.softmax(x, 1)", "softmax"),
    ("nn.Softmax(dim=1)(x)", "softmax"),
    ("x.softmax(-1)", "softmax"),
    ("torch.true_divide(x, y)", "div"),
    ("x.div(y)", "div"),
    ("x / y", "div"),
    ("torch.divide(x, other=y)", "div"),
    ("torch.sub(x, y, alpha=2)", "sub"),
    ("x.add(y, alpha=2)", "add"),
    ("x.addcdiv(x, y)", "add"),
    ("x @ y", "matmul"),
    ("torch.einsum('ij,jk->ik', x, y)", "einsum"),
    ("torch.max(x)", "amax"),
    ("torch.max(x, y)", "maximum"),
    ("x.max(dim=1).values", "item"),
    ("x.max(1)[0]", "item"),
    ("x.float()", "cast"),
    ("x.to(torch.float16)", "cast"),
    ("x[..., 0]", "index"),
    ("~(x > 0)", "logical_not"),
    ("torch.cat([x, y], dim=1)", "cat"),
    ("torch.stack((x, y))", "stack"),
    ("x ** 0.5", "pow"),
    ("pow(x, 2)", "pow"),
    ("abs(x)", "abs"),
    ("-x", "neg"),
    ("1 - x", "sub"),
    ("nn.Sigmoid()(x)", "sigmoid"),
    ("x.where(x > 0, y)", "where"),
    ("torch.clip(x, 0, 1)", "clamp"),
]


@pytest.mark.parametrize(("expression", "op"), SPELLINGS, ids=[s for s, _ in SPELLINGS])
def test_spelling(expression: str, op: str) -> None:
    assert result(lift(f"def f(x: Tensor, y: Tensor):\n    return {expression}\n")).op == op


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int, b: int):\n    return a / b\n",
        "def f(root, name):\n    from pathlib import Path\n    return Path(root) / name\n",
        "def f(values):\n    return sum(values) / len(values)\n",
        "def f(name, step):\n    return 'step %d of %s' % (step, name)\n",
        "def f(n):\n    import numpy as np\n    return np.log(n) / np.sqrt(n)\n",
    ],
    ids=["ints", "paths", "list", "format", "numpy"],
)
def test_no_tensor_division(source: str) -> None:
    lifted = lift(source)
    assert not [n for n in lifted.graph if n.op in ("div", "log", "remainder") and n.dtype != "number"]


def test_import_alias() -> None:
    lifted = lift("from torch import log as ln\ndef f(x):\n    return ln(x)\n")
    assert ops(lifted) == ["log"]


def test_local_variables_and_reassignment() -> None:
    lifted = lift("def f(x: Tensor):\n    y = x.exp()\n    z = y\n    y = z.log()\n    return y\n")
    assert ops(lifted) == ["exp", "log"]


def test_the_same_expression_is_the_same_node() -> None:
    lifted = lift("def f(x: Tensor):\n    return torch.exp(x) / x.exp().sum()\n")
    assert ops(lifted) == ["exp", "sum", "div"]


def test_tuples_are_unpacked() -> None:
    lifted = lift("def f(x: Tensor):\n    a, (b, c) = x.exp(), (x.log(), x)\n    return b\n")
    assert result(lifted).op == "log"


def test_in_place_changes_the_variable() -> None:
    lifted = lift("def f(x: Tensor):\n    x = x.clone()\n    x.clamp_(min=1.0)\n    return x.log()\n")
    assert ops(lifted) == ["clone", "clamp", "log"]
    assert lifted.graph[result(lifted).args[0]].op == "clamp"


def test_augmented_assignment() -> None:
    lifted = lift("def f(x: Tensor):\n    x /= x.sum()\n    return x\n")
    assert ops(lifted) == ["sum", "div"]


def test_item_assignment_keeps_both() -> None:
    lifted = lift("def f(x: Tensor):\n    y = torch.zeros_like(x)\n    y[:, 0] = x.exp()[:, 0]\n    return y\n")
    assert result(lifted).op == "index_put"


def test_both_branches_join() -> None:
    lifted = lift("def f(x: Tensor, flag):\n    if flag:\n        y = x.exp()\n    else:\n        y = x.log()\n    return y\n")
    assert result(lifted).op == "phi"


def test_a_known_branch_is_taken() -> None:
    lifted = lift("MODE = 'a'\ndef f(x: Tensor):\n    if MODE == 'a':\n        return x.exp()\n    return x.log()\n")
    assert ops(lifted) == ["exp"]


def test_a_default_decides_no_branch() -> None:
    lifted = lift("def f(x: Tensor, mode='a'):\n    if mode == 'a':\n        return x.exp()\n    return x.log()\n")
    assert set(ops(lifted)) >= {"exp", "log"}


@pytest.mark.parametrize(
    "guard",
    ["if (x > 0).all():\n        pass\n    else:\n        return x", "assert x > 0", "if x <= 0:\n        raise ValueError", "torch._check(x > 0)"],
    ids=["else", "assert", "raise", "check"],
)
def test_guards_become_assumptions(guard: str) -> None:
    lifted = lift(f"def f(x: Tensor):\n    {guard}\n    return x.log()\n")
    log = next(n for n in lifted.graph if n.op == "log")
    assert lifted.graph[log.args[0]].op == "assume"


def test_no_grad() -> None:
    lifted = lift("def f(x: Tensor):\n    with torch.no_grad():\n        y = x.log()\n    return y + x.sqrt()\n")
    assert {n.op: n.grad for n in lifted.graph if n.op in ("log", "sqrt")} == {"log": False, "sqrt": True}


def test_decorated_no_grad() -> None:
    lifted = lift("@torch.no_grad()\ndef f(x: Tensor):\n    return x.log()\n")
    assert not result(lifted).grad and not lifted.differentiated


def test_autocast_casts_operands() -> None:
    lifted = lift("def f(x: Tensor, w: Tensor):\n    with torch.autocast('cuda'):\n        return (x @ w).softmax(-1)\n")
    dtypes = {n.op: n.dtype for n in lifted.graph}
    assert dtypes["matmul"] == "float16" and dtypes["softmax"] == "float32"


def test_loops_carry() -> None:
    lifted = lift("def f(x: Tensor):\n    t = x\n    for _ in range(100):\n        t = t + x.exp()\n    return t\n")
    assert result(lifted).op == "carry_out" and "exp" in ops(lifted)


def test_comprehension_and_builtin_sum() -> None:
    lifted = lift("def f(xs: Tensor):\n    return sum(x.square().sum() for x in xs).sqrt()\n")
    assert result(lifted).op == "sqrt"


def test_module_constant_and_default() -> None:
    lifted = lift("EPS = 1e-8\ndef f(x: Tensor, tiny=EPS):\n    return (x + tiny).log()\n")
    assert any(n.op == "const" and n.param("value") == 1e-8 for n in lifted.graph)


CLASS = """
class Head(nn.Module):
    SCALE = 2.0

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.net = nn.Sequential(nn.Linear(dim, dim), nn.Sigmoid())
        self.gain = nn.Parameter(torch.ones(dim))
        self.register_buffer("mean", torch.zeros(dim))

    def scores(self, x):
        return self.net(x) * self.SCALE

    @property
    def scale(self):
        return self.gain.exp()

    @staticmethod
    def shifted(x, by=1.0):
        return x + by

    def forward(self, x):
        return (self.shifted(self.scores(x)) / self.scale + self.eps - self.mean).log()
"""


def test_class_attributes_methods_layers() -> None:
    lifted = lift(CLASS, "Head.forward")
    assert {"sigmoid", "mul", "add", "exp", "div", "log"} <= set(ops(lifted))
    values = {n.param("value") for n in lifted.graph if n.op == "const"}
    assert {1e-6, 2.0, 1.0} <= values


def test_functions_of_the_file_are_inlined_with_their_own_place() -> None:
    lifted = lift("def g(x):\n    return x.log()\n\ndef f(x: Tensor):\n    return g(x.exp())\n")
    log = next(n for n in lifted.graph if n.op == "log")
    assert log.where == "g" and log.span is not None and log.span.line == 8


def test_recursion_ends() -> None:
    assert lift("def f(x: Tensor):\n    return f(x.log())\n").complete


def test_unknown_calls_are_opaque() -> None:
    lifted = lift("def f(x: Tensor, net):\n    return net(x).log()\n")
    log = next(n for n in lifted.graph if n.op == "log")
    assert lifted.graph[log.args[0]].op == "opaque" and lifted.graph[log.args[0]].text == "net(x)"


def test_unmodelled_ops_are_counted() -> None:
    assert lift("def f(x: Tensor):\n    return torch.no_such_op(x)\n").unmodelled == {"torch.no_such_op": 1}


def test_columns_count_code_points() -> None:
    lifted = lift("def f(x: Tensor):\n    s = '😀é'; y = torch.log(x)\n    return y\n")
    log = next(n for n in lifted.graph if n.op == "log")
    assert log.span is not None and (log.span.column, log.text) == (19, "torch.log(x)")


def test_shapes_are_remembered() -> None:
    lifted = lift("def f(x: Tensor):\n    b, t, d = x.shape\n    return x.log() / d\n")
    assert lifted.graph[0].param("rank") == 3


def test_a_parameter_called_model_is_the_files_module() -> None:
    source = "class Net(nn.Module):\n    def forward(self, x):\n        return x.softmax(-1)\n\ndef f(model, x):\n    return model(x).log()\n"
    assert ops(lift(source)) == ["softmax", "log"]


def test_huge_functions_stop() -> None:
    body = "def f(x: Tensor):\n" + "".join(f"    x = x.log() + {i}\n" for i in range(4000)) + "    return x\n"
    assert not lift(body).complete
