"""The client: it outlives a worker that dies or hangs, keeps to its bounds, and says once when there is no torch."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import slices
from slices import Slice

from nanlint.core.errors import ProbeError, UsageError
from nanlint.probe.client import Probe, worker_digest
from nanlint.probe.store import Store, digest

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    pytest.importorskip("torch")
    with Probe(sys.executable, seconds=2.0) as probe:
        probe.start()
        yield probe


def test_answers(probe: Probe) -> None:
    answer = probe.probe(slices.log_sigmoid())
    assert answer.is_broken and answer.guilty == 3
    assert answer.frozen is not None
    assert dataclasses.replace(probe.replay(answer.frozen), tries=answer.tries) == answer
    assert probe.compare(slices.log_sigmoid(), slices.stable_log_sigmoid(), answer.frozen).finite_on_witness is True


def test_a_worker_killed_while_it_starts_gets_a_successor() -> None:
    with Probe(sys.executable, seconds=2.0) as probe:
        probe.start()
        assert probe._worker is not None
        probe._worker.process.send_signal(signal.SIGKILL)
        assert probe.probe(slices.log_sigmoid()).is_broken


def test_prints_do_not_disturb_the_protocol(probe: Probe) -> None:
    assert "torch" in probe.hello()


def endless() -> dict[str, object]:
    """A slice of which one call takes minutes inside C, where no signal handler runs."""
    s = Slice()
    value = s.const(3)
    for _ in range(7):
        value = s.call("operator.pow", value, s.const(4000))
    log = s.call("log", s.call("operator.mul", s.input("x"), value))
    return s.data(log, suspect=log)


def large() -> dict[str, object]:
    """A slice that asks for terabytes."""
    s = Slice()
    x = s.input("x")
    log = s.call("log", s.call("operator.mul", x, s.call("sum", s.call("ones", **{"*size": [1 << 21, 1 << 21]}))))
    return s.data(log, suspect=log)


def test_a_slice_that_never_ends_costs_one_answer(probe: Probe) -> None:
    began = time.monotonic()
    answer = probe.probe(endless())
    assert answer.verdict in ("timeout", "unrunnable", "crashed")
    assert time.monotonic() - began < 60
    assert probe.probe(slices.log_sigmoid()).is_broken


def test_a_slice_that_is_too_large_costs_one_answer(probe: Probe) -> None:
    assert probe.probe(large()).verdict in ("unrunnable", "crashed")
    assert probe.probe(slices.log_sigmoid()).is_broken


def test_a_killed_worker_costs_one_answer(probe: Probe) -> None:
    pid = int(probe.hello()["pid"])
    killer = threading.Timer(0.3, os.kill, (pid, getattr(signal, "SIGKILL", signal.SIGTERM)))
    killer.start()
    verdicts = []
    while killer.is_alive() or len(verdicts) < 2:
        verdicts.append(probe.probe(slices.half_exp()).verdict)
        if len(verdicts) > 500:
            break
    killer.join()
    verdicts.append(probe.probe(slices.half_exp()).verdict)
    assert verdicts.count("crashed") <= 1
    assert probe.probe(slices.log_sigmoid()).is_broken


def test_the_budget_of_a_run(probe: Probe) -> None:
    spent, probe.budget = probe.spent, 0.0
    try:
        answer = probe.probe(slices.log_sigmoid())
    finally:
        probe.budget = None
    assert answer.verdict == "timeout" and "used up" in answer.error
    assert probe.spent == spent


def test_no_torch_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with Probe(str(python)) as probe:
        with pytest.raises(ProbeError, match="--python"):
            probe.probe(slices.log_sigmoid())
        assert probe.probe(slices.log_sigmoid()).verdict == "unprobed"
        assert probe.compare(slices.log_sigmoid(), slices.log_sigmoid()).error is not None


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    with Probe(str(tmp_path / "nothing")) as probe:
        probe.start()
        with pytest.raises(ProbeError, match="cannot be started"):
            probe.probe(slices.log_sigmoid())


def test_answers_are_remembered(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    store = Store(tmp_path)
    with Probe(sys.executable, store=store) as probe:
        first = probe.probe(slices.log_sigmoid())
        version = probe.torch
    with Probe(str(tmp_path / "nothing"), store=store, torch=version) as cold:
        second = cold.probe(slices.log_sigmoid()) if store.answers.is_dir() else None
    if second is not None:
        assert second == first


def test_witnesses_are_found_by_the_start_of_their_id(tmp_path: Path) -> None:
    store = Store(tmp_path)
    frozen = {"slice": {"nodes": []}, "feeds": {}}
    name = store.save(frozen)
    assert name == store.save(json.loads(json.dumps(frozen))) == digest(frozen)
    assert store.load(name[:4]) == frozen
    for wrong in ("zzzz", "../etc", "", "*"):
        with pytest.raises(UsageError, match="nanlint check"):
            store.load(wrong)


def test_a_store_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    assert store.save({"a": 1}) == digest({"a": 1})
    store.remember("abcd", {})
    assert store.answer("abcd") is None


def test_the_digest_of_the_worker() -> None:
    assert len(worker_digest()) == 16
