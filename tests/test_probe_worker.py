"""The probe worker: what holds, what breaks, where and how, on slices written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
import slices
from slices import Slice

pytest.importorskip("torch")
serve = pytest.importorskip("nanlint.probe.worker.serve")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::UserWarning")]


def ask(**request: Any) -> dict[str, Any]:
    """One request, through JSON as the client sends it."""
    answer: dict[str, Any] = json.loads(json.dumps(serve.serve_one(json.dumps(request))))
    return answer


def probe(data: dict[str, Any]) -> dict[str, Any]:
    return ask(do="probe", slice=data, seconds=10.0)


HOLD = {
    "sqrt of relu": slices.root_of_relu(),
    "double where": slices.double_where(),
    "exp(z / 2)": slices.half_exp(),
    "logsigmoid": slices.stable_log_sigmoid(),
    "norm + eps": slices.normalised(1e-8),
    "a mask of -inf is no break": slices.masked_scores(),
    "variance in two passes": slices.two_pass_variance(),
}


@pytest.mark.parametrize("data", HOLD.values(), ids=HOLD.keys())
def test_holds(data: dict[str, Any]) -> None:
    answer = probe(data)
    assert answer["verdict"] == "held", answer
    assert answer["tries"] > 50


BREAK = {
    "log(sigmoid)": (slices.log_sigmoid(), "forward", "log", "-inf"),
    "where trap": (slices.where_trap(), "backward", "sqrt", "nan gradient"),
    "1 / (1 + exp(-z))": (slices.by_hand_sigmoid(), "backward", "exp", "nan gradient"),
    "x / norm(x)": (slices.normalised(), "forward", "truediv", "nan"),
    "eps lost in half": (slices.normalised(1e-8, "float16"), "forward", "truediv", "nan"),
    "softmax of a masked row": (slices.masked_softmax(), "forward", "softmax", "nan"),
    "rms in half": (slices.half_rms(), "value", "mul", "0.0 instead of 1.0"),
    "clamp after exp": (slices.clamped_exp(), "backward", "exp", "nan gradient"),
    "variance in one pass": (slices.naive_variance(), "value", "sub", " instead of "),
}


@pytest.mark.parametrize(("data", "phase", "op", "becomes"), BREAK.values(), ids=BREAK.keys())
def test_breaks(data: dict[str, Any], phase: str, op: str, becomes: str) -> None:
    answer = probe(data)
    assert (answer["verdict"], answer["phase"]) == ("broken", phase), answer
    assert next(n["op"] for n in data["nodes"] if n["id"] == answer["guilty"]) == op
    assert becomes in answer["becomes"]
    assert answer["inputs"]


@pytest.mark.parametrize(("data", "phase", "op", "becomes"), BREAK.values(), ids=BREAK.keys())
def test_replay_gives_the_same_bytes(data: dict[str, Any], phase: str, op: str, becomes: str) -> None:
    first = probe(data)
    once = ask(do="replay", frozen=first["frozen"])
    again = ask(do="replay", frozen=once["frozen"])
    assert json.dumps(once) == json.dumps(again)
    assert {**once, "tries": 0} == {**first, "tries": 0}
    assert json.dumps(probe(data)) == json.dumps(first)


def test_witness_is_small_and_ordinary() -> None:
    assert probe(slices.log_sigmoid("self.head(h)"))["inputs"] == {"self.head(h)": "[[-100.0]]"}
    assert probe(slices.where_trap())["inputs"] == {"d": "[[0.0]]"}
    assert probe(slices.masked_softmax())["inputs"] == {"mask": "[[True]]"}


def test_leaves_that_do_not_matter_are_not_shown() -> None:
    s = Slice()
    x, y = s.input("x", 0.0, 1.0), s.input("y")
    log = s.call("log", x)
    assert probe(s.data(s.call("operator.mul", log, y), suspect=log))["inputs"].keys() == {"x"}


def shape_slices() -> dict[str, tuple[dict[str, Any], str]]:
    """Slices whose shapes have to be found, and the operation that breaks."""
    found = {}

    s = Slice()
    x = s.input("x")
    b, t, c = (s.word("size", x, dim=d) for d in range(3))
    width = s.call("operator.floordiv", c, s.const(8))
    heads = s.call("torch.Tensor.view", x, **{"*shape": [{"$": b}, {"$": t}, 8, {"$": width}]})
    heads = s.call("torch.Tensor.permute", heads, **{"*dims": [0, 2, 1, 3]})
    scores = s.call("operator.matmul", heads, s.call("transpose", heads, dim0=-1, dim1=-2))
    log = s.call("log", s.call("softmax", scores, dim=-1))
    found["unpacked and split into heads"] = (s.data(log, suspect=log), "log")

    s = Slice()
    product = s.call("einsum", s.const("bij,bjf->bif"), s.input("a"), s.input("w"))
    log = s.call("log", s.call("sum", product, dim=-1))
    found["einsum"] = (s.data(log, suspect=log), "log")

    s = Slice()
    image = s.call("torch.nn.functional.conv2d", s.input("x"), s.input("w", -1.0, 1.0), s.input("b", -1.0, 1.0), padding=1)
    exp = s.call("exp", image)
    found["conv2d"] = (s.data(exp, suspect=exp), "exp")

    s = Slice()
    logits, labels = s.input("logits"), s.input("y", None, None, dtype="int64")
    chosen = s.call("gather", s.call("softmax", logits, dim=-1), s.const(-1), s.call("unsqueeze", labels, dim=-1))
    log = s.call("log", chosen)
    found["gather"] = (s.data(log, suspect=log), "log")

    s = Slice()
    logits, labels = s.input("logits"), s.input("y", None, None, dtype="int64")
    hot = s.call("torch.nn.functional.one_hot", labels, num_classes=7)
    log = s.call("log", s.call("softmax", logits, dim=-1))
    found["one_hot"] = (s.data(s.call("operator.mul", log, hot), suspect=log), "log")

    s = Slice()
    x, w, b = s.input("x"), s.input("w", -1.0, 1.0), s.input("b", -1.0, 1.0)
    exp = s.call("exp", s.call("torch.nn.functional.layer_norm", x, normalized_shape=[{"$": s.word("size", x, dim=-1)}]))
    log = s.call("log", s.call("operator.sub", exp, exp))
    found["layer_norm"] = (s.data(s.call("torch.nn.functional.linear", log, w, b), suspect=log), "log")

    s = Slice()
    boxes = s.input("boxes", -1e3, 1e3)
    left, right = (s.word("index", boxes, spec=["...", i]) for i in (0, 6))
    ratio = s.call("operator.truediv", left, s.call("operator.sub", right, left))
    found["columns of a row"] = (s.data(ratio, suspect=ratio), "truediv")
    return found


@pytest.mark.parametrize(("data", "op"), shape_slices().values(), ids=shape_slices().keys())
def test_finds_shapes(data: dict[str, Any], op: str) -> None:
    answer = probe(data)
    assert answer["verdict"] == "broken", answer
    assert next(n["op"] for n in data["nodes"] if n["id"] == answer["guilty"]) == op


def test_conditions_of_the_source_are_kept() -> None:
    s = Slice()
    x = s.input("x", -1e3, 1e3)
    positive = s.word("assume", x, s.call("operator.gt", x, s.const(0.0)), holds=True)
    log = s.call("log", positive)
    assert probe(s.data(log, suspect=log))["verdict"] == "held"


def test_an_arm_that_is_not_taken_breaks_nothing() -> None:
    s = Slice()
    x = s.input("x", -1e3, 1e3)
    total = s.call("sum", x)
    empty = s.call("operator.eq", total, s.const(0.0))
    ratio = s.call("operator.truediv", x, s.word("assume", total, empty, holds=False))
    out = s.word("phi", empty, s.call("zeros_like", x), ratio)
    assert probe(s.data(out, suspect=ratio))["verdict"] == "held"


def test_no_gradient_no_break() -> None:
    data = slices.where_trap()
    assert probe({**data, "backward": False})["verdict"] == "held"
    for node in data["nodes"]:
        if node["op"] == "sqrt":
            node["nograd"] = True
    assert probe(data)["verdict"] == "held"


def test_a_uniform_draw_reaches_zero() -> None:
    s = Slice()
    noise = s.call("rand_like", s.input("x"))
    log = s.call("log", noise)
    answer = probe(s.data(s.call("operator.neg", log), suspect=log))
    assert (answer["verdict"], answer["guilty"], answer["becomes"]) == ("broken", log, "-inf")
    assert ask(do="replay", frozen=answer["frozen"])["becomes"] == "-inf"


def test_the_shadow_draws_the_same_numbers() -> None:
    s = Slice()
    out = s.call("operator.mul", s.input("x"), s.call("randn_like", s.input("y")))
    assert probe(s.data(out, suspect=out, phase="precision"))["verdict"] == "held"


def test_one_element_has_no_spread() -> None:
    s = Slice()
    std = s.call("std", s.input("x"), dim=0)
    answer = probe(s.data(s.call("mean", std), suspect=std))
    assert (answer["verdict"], answer["guilty"]) == ("broken", std)


def test_unrunnable_says_why() -> None:
    s = Slice()
    x = s.input("x", rank=2)
    one, two = (s.call("torch.Tensor.view", x, **{"*shape": shape}) for shape in ([3, 5, 7, 11], [2, 2]))
    log = s.call("log", s.call("operator.add", s.call("sum", one), s.call("sum", two)))
    answer = probe(s.data(log, suspect=log))
    assert answer["verdict"] == "unrunnable"
    assert "RuntimeError" in answer["error"]


def test_tuples_of_results() -> None:
    s = Slice()
    top = s.call("max", s.input("x"), dim=-1)
    value = s.word("item", top, index=0)
    ratio = s.call("operator.truediv", value, value)
    answer = probe(s.data(ratio, suspect=ratio))
    assert (answer["verdict"], answer["guilty"]) == ("broken", ratio)


def test_compare_accepts_a_stable_twin_and_refuses_another_function() -> None:
    old = slices.log_sigmoid()
    witness = probe(old)["frozen"]
    good = ask(do="compare", old=old, new=slices.stable_log_sigmoid(), frozen=witness)
    assert good["agrees_on"] == good["tried"] > 30
    assert good["worst_relative_error"] < 1e-6 and good["worst_gradient_error"] < 1e-6
    assert good["finite_on_witness"] is True and good["error"] is None
    s = Slice()
    wrong = s.call("torch.nn.functional.softplus", s.input("x"))
    bad = ask(do="compare", old=old, new=s.data(wrong, suspect=wrong), frozen=witness)
    assert bad["agrees_on"] < bad["tried"]
    assert bad["disagrees_at"]
    same = ask(do="compare", old=old, new=old, frozen=witness)
    assert same["finite_on_witness"] is False
    assert "reads 'y'" in ask(do="compare", old=old, new=slices.stable_log_sigmoid("y"))["error"]


def test_how_values_are_shown() -> None:
    answers = pytest.importorskip("nanlint.probe.worker.answers")
    leaf = pytest.importorskip("nanlint.probe.worker.program").Leaf({"id": 1, "name": "x"}, "float32")
    torch = pytest.importorskip("torch")
    spiked = torch.zeros(4, 4)
    spiked[1, 2] = 0.1
    shown = {
        "-120.0": torch.tensor(-120.0),
        "[[0.1, 1e-08]]": torch.tensor([[0.1, 1e-8]]),
        "2.0 everywhere (3x4)": torch.full((3, 4), 2.0),
        "0.0 everywhere (4x4) but [1, 2] 0.1": spiked,
        "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ...] (9)": torch.arange(9.0),
        "an empty tensor of shape (0, 4)": torch.zeros(0, 4),
        "[True, False]": torch.tensor([True, False]),
    }
    assert {answers.shown(leaf, value): None for value in shown.values()}.keys() == shown.keys()
