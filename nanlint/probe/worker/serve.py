"""The requests, and the loop that answers them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .answers import answer_of, no_break, thaw
from .compare import compare
from .dtypes import Json
from .judge import judge
from .program import Program
from .run import Unusable
from .search import Found, Search, TimeUp
from .shapes import Shaper, variants
from .shrink import Shrinker


def probe(request: Json) -> Json:
    """Try to break a slice."""
    program = Program(request["slice"])
    seconds, start = float(request.get("seconds", 2.0)), time.process_time()
    denied = next((s.denied for s in program.steps if s.denied and s.id in program.needed), "")
    trial, layout = Shaper(program, start + 0.4 * seconds).find()
    if layout is None or trial.score < 1e4:
        return no_break("unrunnable", 0, denied or trial.error or "no shapes were found in which it runs")
    search = Search(program, start + 0.75 * seconds)
    search.feeds(layout)
    for other in variants(program, layout) if not search.over else ():
        search.feeds(other)
    if not search.over:
        search.guided(layout)
    if search.best is None:
        if search.ran:
            return no_break("held", search.tries, "" if trial.whole else trial.error)
        late = time.process_time() > search.until
        return no_break(
            "timeout" if late else "unrunnable", search.tries, search.error or "no feed satisfies the conditions of the source"
        )
    found, idle = Shrinker(program, search.best[1], start + 0.95 * seconds).shrunk()
    return answer_of(program, found, idle, search.tries)


def replay(request: Json) -> Json:
    """Run a frozen witness again."""
    frozen = request["frozen"]
    program = Program(frozen["slice"])
    feed, context, layout = thaw(frozen, program)
    try:
        broken = judge(program, feed, context)
    except Unusable as error:
        return no_break("unrunnable", 1, str(error))
    if broken is None:
        return no_break("held", 1)
    return answer_of(program, Found(broken, feed, context, layout), frozenset(frozen.get("idle") or ()), 1)


def hello(request: Json) -> Json:
    """Who answers."""
    return {"torch": torch.__version__, "python": sys.version.split()[0], "executable": sys.executable, "pid": os.getpid()}


REQUESTS: dict[str, Callable[[Json], Json]] = {"hello": hello, "probe": probe, "replay": replay, "compare": compare}


def bounded(handle: Callable[[Json], Json], request: Json) -> Json:
    """The answer to a request, or a timeout once its time is well over."""
    if not hasattr(signal, "setitimer"):
        return handle(request)

    def ring(signum: int, frame: Any) -> None:
        raise TimeUp

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 2 * float(request.get("seconds", 2.0)) + 1)
    try:
        return handle(request)
    except TimeUp:
        return {**no_break("timeout", 0, "the time bound has passed")}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def serve_one(line: str) -> Json:
    """The answer to one line."""
    try:
        request = json.loads(line)
        return bounded(REQUESTS[request["do"]], request)
    except MemoryError:
        return no_break("crashed", 0, "out of memory")
    except Exception as error:
        return no_break("unrunnable", 0, f"{type(error).__name__}: {error}"[:300])


def limit_resources(gigabytes: float) -> None:
    """Bound the memory of this process and forbid core files, where the system can."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 2**30), resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass


def warm_up() -> None:
    """Run one tiny slice, so that torch has loaded what it loads late."""
    nodes = [{"id": 1, "op": "input", "low": -2, "high": 2}, {"id": 2, "op": "exp", "call": "torch.exp", "args": [1]}]
    probe({"slice": {"nodes": nodes, "outputs": [2], "suspect": 2}})


def main() -> None:
    """Answer requests until stdin ends; whatever else prints to stdout goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(2, 1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout = sys.stderr
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    limit_resources(float(os.environ.get("NANLINT_PROBE_GIGABYTES", "4")))
    warm_up()
    for line in requests:
        if '"quit"' in line and json.loads(line).get("do") == "quit":
            return
        answers.write(json.dumps(serve_one(line)) + "\n")
        answers.flush()
