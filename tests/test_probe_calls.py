"""What a slice may call: tensor functions, and nothing that touches files, processes or the network."""

from __future__ import annotations

import json

import pytest
from slices import Slice

from nanlint.ranges.ops import TABLE

torch = pytest.importorskip("torch")
calls = pytest.importorskip("nanlint.probe.worker.calls")
serve = pytest.importorskip("nanlint.probe.worker.serve")

pytestmark = pytest.mark.torch

ALLOWED = [
    "torch.log", "torch.einsum", "torch.tensor", "torch.nn.functional.softmax", "torch.nn.functional.max_pool2d",
    "torch.linalg.svd", "torch.special.entr", "torch.fft.rfft", "torch.Tensor.view", "torch.Tensor.mT",
    "torch.Tensor.div_", "operator.truediv", "math.sqrt",
]  # fmt: skip
REFUSED = [
    "os.system", "torch.load", "torch.save", "torch.from_file", "torch.hub", "torch.hub.load", "torch.compile",
    "torch.ops", "torch.jit", "torch.ops.aten.log", "torch.set_default_dtype", "torch.nn.functional.importlib",
    "torch.Tensor.numpy", "torch.Tensor.__class__", "torch.Tensor.register_hook", "torch.Tensor.apply_",
    "torch.Tensor.backward", "torch.classes", "torch.import_ir_module", "operator.call", "operator.attrgetter",
    "operator.methodcaller", "operator.itemgetter", "operator.concat", "math.factorial", "builtins.eval", "eval", "",
    "torch.__dict__", "torch.linalg.torch", "torch.fft.sys", "torch.special.torch", "torch.utils.cpp_extension.load",
    "subprocess.run",
]  # fmt: skip


@pytest.mark.parametrize("call", ALLOWED)
def test_allowed(call: str) -> None:
    assert callable(calls.resolve(call))


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    with pytest.raises(calls.Denied):
        calls.resolve(call)


@pytest.mark.parametrize("call", ["os.system", "torch.load", "torch.hub.load"])
def test_a_slice_with_a_refused_call_is_unrunnable(call: str) -> None:
    s = Slice()
    out = s.call(call, s.const("touch /tmp/nanlint-was-here"))
    answer = serve.serve_one(json.dumps({"do": "probe", "slice": s.data(out, suspect=out)}))
    assert answer["verdict"] == "unrunnable"
    assert call in answer["error"]


def test_nothing_that_opens_files_is_reachable() -> None:
    words = ("file", "load", "save", "open", "import", "compile", "process", "socket", "url", "pickle")
    for root, found in calls.ROOTS.items():
        for name in dir(found):
            if any(w in name.lower() for w in words):
                with pytest.raises(calls.Denied):
                    print(root, name, calls.resolve(f"{root}.{name}"))


def test_in_place_methods_leave_their_operand_alone() -> None:
    x = torch.ones(3)
    assert calls.resolve("torch.Tensor.mul_")(x, 2.0).tolist() == [2.0, 2.0, 2.0]
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_huge_whole_powers_are_refused() -> None:
    with pytest.raises(OverflowError):
        calls.resolve("operator.pow")(10, 10**9)
    with pytest.raises(OverflowError):
        calls.resolve("operator.lshift")(1, 10**12)


def test_every_row_of_the_table_can_be_called() -> None:
    words = pytest.importorskip("nanlint.probe.worker.words").WORDS

    for row in TABLE.values():
        call = row.call or f"torch.{row.name}"
        assert call in words or row.name in words or callable(calls.resolve(call)), row.name
