"""The op table itself: spellings, signatures, derived hazards, rows that the laws must refuse, casts and created tensors."""

from __future__ import annotations

import inspect
import math
import random
import subprocess
import sys

import pytest

from nanlint.core.formats import FORMATS
from nanlint.ranges import real
from nanlint.ranges.born import born
from nanlint.ranges.interval import INF, Interval, point
from nanlint.ranges.ops import TABLE
from nanlint.ranges.slopes import compiled, defaults, slopes
from nanlint.ranges.table import Op, Table
from nanlint.ranges.transfer import increasing

F32, F16 = FORMATS["float32"], FORMATS["float16"]
TOP = F32.max
HAZARDS = [
    ("sqrt", [(0, TOP)], {}, ("backward",)),
    ("sqrt", [(1e-12, TOP)], {}, ()),
    ("sqrt", [(-1e-6, 1)], {}, ("forward", "backward")),
    ("log", [(0, TOP)], {}, ("forward", "backward")),
    ("log", [(1e-10, TOP)], {}, ()),
    ("log1p", [(0, TOP)], {}, ()),
    ("log1p", [(-1, 1)], {}, ("forward", "backward")),
    ("exp", [(-150, 80)], {}, ()),
    ("exp", [(-150, 150)], {}, ("forward", "backward")),
    ("expm1", [(-150, 80)], {}, ()),
    ("tanh", [(-TOP, TOP)], {}, ()),
    ("sigmoid", [(-TOP, TOP)], {}, ()),
    ("logsigmoid", [(-TOP, TOP)], {}, ()),
    ("softplus", [(-TOP, TOP)], {}, ()),
    ("acos", [(1e-6, 10)], {}, ("forward", "backward")),
    ("acos", [(-1, 1)], {}, ("backward",)),
    ("acos", [(-0.999, 0.999)], {}, ()),
    ("asin", [(0, 1)], {}, ("backward",)),
    ("atanh", [(-1, 1)], {}, ("forward", "backward")),
    ("acosh", [(1, 10)], {}, ("backward",)),
    ("div", [(0, TOP), (0, TOP)], {}, ("forward", "backward")),
    ("div", [(-1, 1), (1e-6, 10)], {}, ()),
    ("reciprocal", [(0, 1)], {}, ("forward", "backward")),
    ("rsqrt", [(0, 1)], {}, ("forward", "backward")),
    ("rsqrt", [(1e-5, 1)], {}, ()),
    ("norm", [(-1e4, 1e4)], {}, ()),
    ("linalg_vector_norm", [(-1e4, 1e4)], {}, ()),
    ("std", [(-1e4, 1e4)], {}, ()),
    ("std", [(-1e4, 1e4)], {"count_min": 1}, ("forward", "backward")),
    ("var", [(-1e4, 1e4)], {"count": 1}, ("forward", "backward")),
    ("var", [(-1e4, 1e4)], {"count": 1, "correction": 0}, ()),
    ("mean", [(-1e4, 1e4)], {"count_min": 0}, ("forward",)),
    ("pow", [(0, 1e3), (2, 2)], {}, ()),
    ("pow", [(0, 1e3), (1.5, 1.5)], {}, ()),
    ("pow", [(0, 1e3), (0.5, 0.5)], {}, ("backward",)),
    ("pow", [(0, 1e3), (-1, -1)], {}, ("forward", "backward")),
    ("pow", [(-1, 1), (0.5, 0.5)], {}, ("forward", "backward")),
    ("softmax", [(-1e4, 1e4)], {}, ()),
    ("log_softmax", [(-1e4, 1e4)], {}, ()),
    ("logsumexp", [(-1e4, 1e4)], {}, ()),
    ("cross_entropy", [(-1e4, 1e4), (0, 9)], {}, ()),
    ("binary_cross_entropy_with_logits", [(-1e4, 1e4), (0, 1)], {}, ()),
    ("normalize", [(-1e4, 1e4)], {}, ()),
    ("cosine_similarity", [(-1e4, 1e4), (-1e4, 1e4)], {}, ()),
    ("layer_norm", [(-1e4, 1e4)], {}, ()),
    ("clamp", [(-5, 5), (0, 0)], {}, ()),
    ("relu", [(-5, 5)], {}, ()),
    ("xlogy", [(0, 1), (0, 1)], {}, ("forward", "backward")),
    ("linalg_svd", [(-5, 5)], {}, ("backward",)),
    ("linalg_svdvals", [(-5, 5)], {}, ()),
]


@pytest.mark.parametrize(("name", "ranges", "params", "phases"), HAZARDS, ids=lambda v: v if isinstance(v, str) else None)
def test_hazards_follow_from_the_row(name: str, ranges: list[tuple[float, float]], params: dict[str, int],
    phases: tuple[str, ...]) -> None:
    assert born(TABLE[name], [Interval(float(lo), float(hi)) for lo, hi in ranges], params, F32) == phases


def test_half_loses_the_eps_of_normalize() -> None:
    assert born(TABLE["normalize"], [Interval(-5.0, 5.0)], {}, F16) == ("forward", "backward")
    assert born(TABLE["normalize"], [Interval(-5.0, 5.0)], {"eps": 1e-3}, F16) == ()


def test_constants_are_rounded_as_torch_rounds_them() -> None:
    one = Interval(1.0, 1.0)
    assert TABLE["add"].forward((one, point(1e-10)), {}, F32) == one.with_()
    assert TABLE["clamp"].forward((Interval(-1.0, 1.0), point(1e-10), None), {}, F16).lo == 0.0  # type: ignore[arg-type]
    assert TABLE["where"].forward((Interval(0.0, 1.0), one, point(-1e9)), {}, F16).lo == -INF


def test_saturation() -> None:
    forward = {n: TABLE[n].forward for n in ("exp", "sigmoid", "tanh", "softmax")}
    assert forward["exp"]((point(-104.0),), {}, F32) == Interval(0.0, 0.0)
    assert forward["exp"]((Interval(-5.0, 0.0),), {}, F32).hi == 1.0
    assert forward["sigmoid"]((point(-100.0),), {}, F32).lo == 0.0
    assert forward["sigmoid"]((point(18.0),), {}, F32).hi == 1.0
    assert forward["tanh"]((point(20.0),), {}, F32).hi == 1.0
    assert forward["softmax"]((Interval(-150.0, 150.0),), {}, F32) == Interval(0.0, 1.0)


def test_one_zero_in_a_divisor_reaches_both_infinities() -> None:
    assert TABLE["div"].forward((Interval(1.0, 2.0), Interval(0.0, 1.0)), {}, F32) == Interval(-INF, INF)
    assert TABLE["div"].forward((Interval(0.0, 2.0), Interval(0.0, 1.0)), {}, F32).nan
    assert TABLE["div"].forward((Interval(1.0, 2.0), Interval(0.0, 1.0, nonzero=True)), {}, F32).lo > 0


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_row_is_well_formed(name: str) -> None:
    op = TABLE[name]
    assert op.slope is None or op.family == "join" or len(op.slope) >= op.operands or "*" in op.signature
    defaults(op.signature)
    for text in op.slope or ():
        if text is not None:
            compiled(text)
    assert len(set(op.names)) == len(op.names)


def test_there_are_many_rows() -> None:
    assert len(TABLE) >= 400


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_spelling_exists(name: str) -> None:
    pytest.importorskip("torch")
    from laws import resolve

    op = TABLE[name]
    for spelling in (op.call or f"torch.{name}", *op.also):
        if spelling.startswith(("torch.", "operator.")):
            assert callable(resolve(spelling)), spelling


NAMED_OTHERWISE = {  # several signatures in torch, or names that differ between the function and the method
    "div", "clamp", "scatter", "scatter_add", "normal", "randint", "tensor",
}


@pytest.mark.parametrize("name", sorted(n for n, op in TABLE.items() if op.call.startswith("torch.nn.functional.")))
def test_a_signature_is_that_of_torch(name: str) -> None:
    pytest.importorskip("torch")
    from laws import resolve

    op = TABLE[name]
    try:
        theirs = list(inspect.signature(resolve(op.call)).parameters)
    except ValueError:
        pytest.skip("a builtin without a signature")
    if theirs[:1] in (["args"], ["x1"]) or "kwargs" in theirs:
        pytest.skip("a boolean dispatch hides the signature")
    assert op.names[0] == theirs[0]
    assert [n for n in op.names if n not in theirs] == []


def test_a_spelling_has_one_owner() -> None:
    table = Table()
    row = Op("sqrt", "input", 1, increasing(math.sqrt, (0.0, INF)))
    table.add(row)
    with pytest.raises(ValueError, match="two rows"):
        table.add(row)
    with pytest.raises(ValueError, match="spelled by both"):
        table.add(Op("root", "input", 1, row.forward, also=("torch.sqrt",)))


PLANTED = {
    "range-not-rounded": (Op("exp", "input", 1, lambda a, p, f: Interval(real.exp(a[0].lo), real.exp(a[0].hi), a[0].nan)),
    "sound"),
    "never-zero": (Op("exp", "input", 1, increasing(real.exp, codomain=(1e-300, INF))), "sound"),
    "domain-forgotten": (Op("log", "input", 1, increasing(lambda x: real.log(abs(x)))), "sound"),
    "textbook-slope": (Op("sqrt", "input", 1, increasing(math.sqrt, (0.0, INF), ulps=1), ("1 / sqrt(x)",)), "slope"),
    "slope-of-expm1": (Op("expm1", "input", 1, TABLE["expm1"].forward, ("1 + abs(y)",)), "slope"),
    "signed-zero-forgotten": (
        Op("reciprocal", "input", 1, lambda a, p, f: TABLE["reciprocal"].forward(a, p,
           f).meet(Interval(0.0 if a[0].lo >= 0 else -INF, INF, True))),
        "sound",
    ),
    "not-monotone": (
        Op("abs", "input", 1, lambda a, p, f: Interval(0.0, a[0].magnitude + (a[0].lo == a[0].hi), a[0].nan)),
        "monotone",
    ),
    "not-tight": (Op("sin", "input", 1, lambda a, p, f: Interval(-1.0, 1.0)), "tight"),
}


@pytest.mark.parametrize("fault", sorted(PLANTED))
def test_the_laws_refuse_a_wrong_row(fault: str) -> None:
    pytest.importorskip("torch")
    from laws import not_monotone, not_tight, unsound, unsound_slope

    row, law = PLANTED[fault]
    rng = random.Random(1)
    check = {"sound": unsound, "slope": unsound_slope, "monotone": not_monotone, "tight": lambda *a: not_tight(*a, 24.0)}[law]
    assert list(check(row, F32, rng, *(() if law == "tight" else (1000,))))  # type: ignore[operator]


CASTS = [
    ("float16", (-1e5, 1.0), (-INF, 1.0)),
    ("float16", (1e-8, 1.0), (0.0, 1.0)),
    ("bfloat16", (257.0, 257.0), (256.0, 256.0)),
    ("float8_e4m3fn", (-1e5, 500.0), (-448.0, 448.0)),
    ("float8_e5m2", (-1e5, 500.0), (-INF, 512.0)),
    ("int32", (-1.7, 3.9), (-1.0, 3.0)),
    ("uint8", (-1.7, 3.9), (0.0, 255.0)),
    ("bool", (0.5, 3.0), (1.0, 1.0)),
    ("torch.half", (2049.0, 2049.0), (2048.0, 2048.0)),
]


@pytest.mark.parametrize(("dtype", "given", "becomes"), CASTS)
def test_a_cast_rounds(dtype: str, given: tuple[float, float], becomes: tuple[float, float]) -> None:
    result = TABLE["cast"].forward((Interval(*given),), {"dtype": dtype}, F32)
    assert (result.lo, result.hi) == becomes


CREATED = {
    "zeros": ((3, 2), {}, {}),
    "ones": ((3, 2), {}, {}),
    "eye": ((4,), {}, {}),
    "full": ((), {"size": (3,), "fill_value": 2.5}, {"fill_value": 2.5}),
    "arange": ((), {"start": 2, "end": 9, "step": 3}, {"start": 2, "end": 9, "step": 3}),
    "linspace": ((), {"start": -1.0, "end": 0.3, "steps": 7}, {"start": -1.0, "end": 0.3, "steps": 7}),
    "logspace": ((), {"start": -3.0, "end": 2.0, "steps": 9}, {"start": -3.0, "end": 2.0, "steps": 9}),
    "tensor": (([1.5, -2.0, 1e-8],), {}, {"data": [1.5, -2.0, 1e-8]}),
    "rand": ((1000,), {}, {}),
    "randn": ((1000,), {}, {}),
    "randint": ((), {"low": 2, "high": 5, "size": (50,)}, {"low": 2, "high": 5}),
    "randperm": ((20,), {}, {}),
    "hann_window": ((16,), {}, {}),
    "tril_indices": ((3, 3), {}, {}),
}


@pytest.mark.parametrize("name", sorted(CREATED))
def test_a_created_tensor_lies_in_its_range(name: str) -> None:
    torch = pytest.importorskip("torch")
    args, words, params = CREATED[name]
    made = getattr(torch, name)(*args, **words).double()
    inside = TABLE[name].forward((), params, F32)
    assert inside.lo <= made.min() and made.max() <= inside.hi


def test_slopes_without_statement_are_none() -> None:
    assert slopes(TABLE["digamma"], (Interval(1.0, 2.0),), {}, F32) == (None,)
    assert slopes(TABLE["mul"], (Interval(1.0, 2.0), Interval(3.0, 4.0)), {}, F32) == (Interval(3.0, 4.0), Interval(1.0, 2.0))


def test_the_table_needs_no_torch() -> None:
    code = "import sys, nanlint.ranges.ops; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
