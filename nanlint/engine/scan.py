"""Scanning one file: bytes to suspects. Runs in worker processes; needs no torch."""

from __future__ import annotations

import gc
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import nanlint.ranges.ops  # noqa: F401  (fills the table)
from nanlint.catalog.load import Catalog
from nanlint.core.errors import UnreadableFile
from nanlint.core.formats import FORMATS
from nanlint.engine.suspects import Suspect, judge, settled
from nanlint.ranges.roles import FEATURE
from nanlint.ranges.table import TABLE
from nanlint.source.lift import TooLarge
from nanlint.source.lift_functions import lift_function
from nanlint.source.names import FunctionView, ModuleView, view
from nanlint.source.parse import parse
from nanlint.source.pragmas import Bound
from nanlint.source.pragmas import annotations as said
from nanlint.source.text import read_source

TRIGGERS = frozenset(n for row in TABLE.values() if row.trigger for n in {row.name, *(s.rsplit(".", 1)[-1] for s in row.also)})
WORDS = TRIGGERS | {f"{n}_" for n in TRIGGERS} | {"softmax", "Softmax", "half", "float16", "autocast", "masked_fill", "var", "std"}
NOT_DIFFERENTIATED = re.compile(
    r"(^|[/_])(metrics?(?!_learning)|evals?|evaluation|datasets?|dataloaders?|transforms?|preprocess(ing|ors?)?|schedulers?|optims?|optimizers?|visuali[sz]ation|viz"
    r"|benchmarks?|tests?|conftest|callbacks?|augmentations?|logging|loggers?|tokenizers?|convert)(_|/|\.py$)"
)


WITHOUT_GRADIENT = frozenset("sample step evaluate eval predict generate summary initialize reset_parameters __repr__".split())


@dataclass
class Scan:
    """What scanning one file gave."""

    path: str
    operations: int = 0
    safe: int = 0
    suspects: list[Suspect] = field(default_factory=list)
    unmodelled: dict[str, int] = field(default_factory=dict)
    error: UnreadableFile | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def scan(data: bytes, display: str, dtype: str, stated: Mapping[str, tuple[float, float]], catalog: Catalog) -> Scan:
    """The suspects of one file; a file that cannot be read or parsed says so in `error`."""
    result = Scan(display)
    started = time.process_time()
    try:
        source = read_source(data)
    except UnreadableFile as error:
        result.error = error
        return result
    text = source.plain
    if "torch" not in text:
        result.error = obstacle(text)
        result.seconds["read"] = time.process_time() - started
        return result
    enabled = gc.isenabled()
    gc.disable()
    try:
        scan_text(result, text, display, dtype, stated, catalog, started)
    except UnreadableFile as error:
        result.error = error
    except RecursionError:
        result.error = UnreadableFile("is left out: it nests too deeply to be followed", rule="skipped-file")
    finally:
        if enabled:
            gc.enable()
    return result


def obstacle(text: str) -> UnreadableFile | None:
    """Why the text cannot be parsed, if so: said even where there is no torch and so nothing else to say."""
    try:
        parse(text)
    except UnreadableFile as error:
        return error
    return None


def scan_text(result: Scan, text: str, display: str, dtype: str, stated: Mapping[str, tuple[float, float]], catalog: Catalog, started: float) -> None:
    """Parse, lift and judge a file that mentions torch."""
    read = time.process_time()
    tree = parse(text)
    module = view(tree, text, WORDS)
    parsed = time.process_time()
    notes = said(text)
    places: dict[tuple[int, int, str], bool] = {}
    called: dict[tuple[int, int, str], bool] = {}
    unmodelled: Counter[str] = Counter()
    for function in roots(module):
        try:
            lifted = lift_function(module, function, dtype)
            judged = judge(lifted, dtype, catalog, {**stated, **stated_in(function, module, notes, dtype)}, display, lifted.differentiated and differentiable(function, display))
        except (TooLarge, RecursionError):
            result.notes.append(f"{function.qualname} is too large to be followed")
            continue
        except Exception as error:
            result.notes.append(f"{function.qualname} was not followed, a fault of nanlint: {type(error).__name__}: {error}")
            continue
        for key, safe in judged.operations.items():
            places[key] = places.get(key, True) and safe
        for key, risky in judged.called.items():
            called[key] = called.get(key, False) or risky
        result.suspects += judged.suspects
        if lifted.unmodelled:
            unmodelled.update(lifted.unmodelled)
    result.suspects = settled(result.suspects, called)
    result.operations, result.safe = len(places), sum(places.values())
    result.unmodelled = dict(unmodelled)
    done = time.process_time()
    result.seconds = {"read": read - started, "parse": parsed - read, "lift and judge": done - parsed}


def stated_in(function: FunctionView, module: ModuleView, notes: Mapping[int, list[Bound]], dtype: str) -> dict[str, tuple[float, float]]:
    """The ranges that comments inside a function, or outside of all, state of names."""
    if not notes:
        return {}
    inside = {n for f in module.bodies for n in notes if f.node.lineno <= n <= (f.node.end_lineno or 0)}
    own = {n for n in notes if function.node.lineno <= n <= (function.node.end_lineno or 0)}
    fmt = FORMATS.get(dtype, FORMATS["float32"])

    def step(end: float) -> float:
        """What `0 < x` leaves out, for all that matters."""
        return max(abs(end) * fmt.eps, 1e-4 if fmt.max < 1e6 else 1e-12)

    found: dict[str, tuple[float, float]] = {}
    for line in sorted(own | (notes.keys() - inside)):
        for name, low, high, low_open, high_open in notes[line]:
            low, high = max(low, -FEATURE), min(high, FEATURE)
            found[name] = (low + step(low) * low_open, high - step(high) * high_open) if low < high else (low, high)
    return found


def roots(module: ModuleView) -> Iterator[FunctionView]:
    """The functions that hold a word that can blow up, and those of the file that call them."""
    wanted = {f.node.name for f in module.bodies if f.triggered}
    if not wanted:
        return
    chosen = {id(f) for f in module.bodies if f.triggered}
    reach = set(wanted)
    if "forward" in reach:
        reach |= set(module.classes)
    for _ in range(2):
        more = {f.node.name for f in module.bodies if id(f) not in chosen and f.calls & reach}
        chosen |= {id(f) for f in module.bodies if f.calls & reach}
        reach |= more
    for function in module.bodies:
        if id(function) in chosen:
            yield function


def differentiable(function: FunctionView, display: str) -> bool:
    """A gradient may flow here: nothing in the path or the name says that it is a metric, a schedule, preprocessing."""
    if function.node.name in WITHOUT_GRADIENT:
        return False
    return not NOT_DIFFERENTIATED.search(display.lower()) and not NOT_DIFFERENTIATED.search(function.qualname.lower() + "/")
