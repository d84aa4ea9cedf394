"""The client of the probe worker: starts it, asks it, outlives it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

from nanlint.core.errors import ProbeError
from nanlint.probe.store import Store, digest

WORKER = Path(__file__).with_name("worker")
START_SECONDS = 120.0
MOST_RESTARTS = 6
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe said of a slice; `verdict` is broken, held, unrunnable, timeout, crashed or unprobed."""

    verdict: str
    phase: str = ""
    guilty: int | None = None
    becomes: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    frozen: Mapping[str, Any] | None = None
    tries: int = 0
    error: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether an ordinary input was found that breaks the slice."""
        return self.verdict == "broken"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How new code compares with old: on how many feeds they agree, and whether the witness leaves the new one finite.

    Of `broken` feeds on which only the old code fails (float64 does not), the new one is right on `mended`, finite but wrong on `wrong`.
    """

    agrees_on: int = 0
    tried: int = 0
    worst_relative_error: float | None = None
    worst_gradient_error: float | None = None
    finite_on_witness: bool | None = None
    largest: float | None = None
    broken: int = 0
    mended: int = 0
    wrong: int = 0
    same_dtype: bool = True
    disagrees_at: Mapping[str, str] | None = None
    error: str | None = None


def of_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """The dataclass made of an answer, unknown keys ignored."""
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{k: v for k, v in data.items() if k in names})


class Worker:
    """One worker process and the thread that reads its answers."""

    def __init__(self, python: str, gigabytes: float) -> None:
        environment = {
            **os.environ,
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "PYTHONIOENCODING": "utf-8",
            "NANLINT_PROBE_GIGABYTES": str(gigabytes),
        }
        try:
            self.process = subprocess.Popen(
                [python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise ProbeError(
                f"{python}: cannot be started ({error.strerror or error}); name another interpreter with --python"
            ) from error
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        try:
            for line in stream:
                self.lines.put(line)
        except (OSError, ValueError):
            pass
        self.lines.put(None)

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer; None if the worker died. TimeoutError if none came in time."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            return None
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        try:
            answer = json.loads(line) if line is not None else None
        except ValueError:
            return None
        return answer if isinstance(answer, dict) else None

    def ended(self) -> int:
        """The exit status of a worker that says nothing more; negative where a signal ended it."""
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return 0

    def stop(self) -> None:
        """End the process."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass


class Probe:
    """Asks the worker; a dead or silent worker costs one answer, not the run.

    `seconds` bounds one request, `budget` all of them together. The first request raises ProbeError where no worker can be
    started; after that every answer is `unprobed`.
    """

    def __init__(
        self,
        python: str,
        *,
        seconds: float = 2.0,
        budget: float | None = None,
        gigabytes: float = 4.0,
        store: Store | None = None,
        torch: str | None = None,
    ) -> None:
        self.python, self.seconds, self.budget, self.gigabytes, self.store = python, seconds, budget, gigabytes, store
        self.torch = torch
        self.spent = 0.0
        self.asked = 0
        self._restarts = 0
        self._failed = False
        self._worker: Worker | None = None
        self._ready = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the worker without waiting for it, so that torch loads while other work goes on."""
        with self._lock:
            if self._worker is None and not self._failed:
                with contextlib.suppress(ProbeError):  # the first request will say so
                    self._worker = Worker(self.python, self.gigabytes)

    def probe(self, slice: Mapping[str, Any]) -> Answer:
        """Try to break a slice."""
        return of_json(Answer, self._remembered({"do": "probe", "slice": slice, "seconds": self.seconds}))

    def replay(self, frozen: Mapping[str, Any]) -> Answer:
        """Run a frozen witness again."""
        return of_json(Answer, self._ask({"do": "replay", "frozen": frozen, "seconds": self.seconds}))

    def compare(self, old: Mapping[str, Any], new: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> Comparison:
        """Whether new code agrees with old where the old is healthy, and holds on the witness."""
        data = self._remembered({"do": "compare", "old": old, "new": new, "frozen": frozen, "seconds": self.seconds})
        if "verdict" in data:
            return Comparison(error=f"{data['verdict']}: {data.get('error', '')}".rstrip(": "))
        return of_json(Comparison, data)

    def hello(self) -> dict[str, Any]:
        """Who answers: the versions of torch and Python."""
        return self._ask({"do": "hello"})

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._drop()

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _remembered(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer, from the store if it was asked before under the same torch."""
        if self.store is None or self.torch is None:
            return self._ask(request)
        key = digest([request, self.torch, worker_digest()], 32)
        known = self.store.answer(key)
        if known is not None:
            return known
        answer = self._ask(request)
        if answer.get("verdict") not in ("timeout", "crashed", "unprobed"):
            self.store.remember(key, answer)
        return answer

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._failed:
                return {"verdict": "unprobed", "error": "no probe worker could be started"}
            if self.budget is not None and self.spent >= self.budget:
                return {"verdict": "timeout", "error": "the time for probes is used up"}
            worker = self._ready_worker()
            began = time.monotonic()
            self.asked += 1
            try:
                answer = worker.ask(request, 3 * self.seconds + 2)
                if answer is not None:
                    return answer
                self._drop()
                return {"verdict": "crashed", "error": "the probe worker died"}
            except TimeoutError:
                self._drop()
                return {"verdict": "timeout", "error": "the probe worker did not answer in time"}
            finally:
                self.spent += time.monotonic() - began

    def _ready_worker(self) -> Worker:
        """A worker that has loaded torch; ProbeError, once, if there is none."""
        if self._worker is not None and self._ready and self._worker.process.poll() is None:
            return self._worker
        if self._worker is not None and self._ready:
            self._drop()
        try:
            if self._restarts > MOST_RESTARTS:
                raise ProbeError(f"the probe worker died {self._restarts} times; the rest goes unprobed")
            worker, greeting = self._greeting()
        except ProbeError:
            self._failed = True
            self._drop()
            raise
        self.torch, self._ready = str(greeting["torch"]), True
        return worker

    def _greeting(self) -> tuple[Worker, dict[str, Any]]:
        """A worker and its greeting; one that is killed while it starts gets a successor."""
        for _ in range(2):
            self._worker = worker = self._worker or Worker(self.python, self.gigabytes)
            greeting = self._greet(worker)
            if greeting is not None:
                return worker, greeting
            self._drop()
        raise ProbeError(f"{self.python} is killed when it loads torch, so nothing is confirmed")

    def _greet(self, worker: Worker) -> dict[str, Any] | None:
        """What a worker says once torch is loaded; None if it was killed before."""
        try:
            greeting = worker.ask({"do": "hello"}, START_SECONDS)
        except TimeoutError:
            raise ProbeError(f"{self.python} did not load torch within {START_SECONDS:.0f} s") from None
        if greeting is None and worker.ended() < 0:
            return None
        if greeting is None or "torch" not in greeting:
            remedy = "install torch there or name another interpreter with --python"
            raise ProbeError(f"{self.python} cannot import torch, so nothing is confirmed; {remedy}")
        return greeting

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._restarts += self._ready
        self._worker, self._ready = None, False


_WORKER_DIGEST: list[str] = []


def worker_digest() -> str:
    """The digest of the worker's own files: another worker gives other answers."""
    if not _WORKER_DIGEST:
        _WORKER_DIGEST.append(digest([p.read_text(encoding="utf-8") for p in sorted(WORKER.glob("*.py"))], 16))
    return _WORKER_DIGEST[0]
