"""The cache: keeps what it is given, under its key, and never harms a run."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from nanlint.cache import Cache, digest, folder


def test_kept_by_key_and_digest(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new", "settings 1")
    assert cache.get(digest("a")) is None
    cache.put_many([(digest("a"), b"1"), (digest("b"), b"")])
    assert cache.get(digest("a")) == b"1" and cache.get(digest("b")) == b""
    cache.close()
    assert Cache(tmp_path / "new", "settings 1").get(digest("a")) == b"1"
    assert Cache(tmp_path / "new", "settings 2").get(digest("a")) is None


def test_a_broken_file_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite3").write_bytes(b"no data base" * 1000)
    cache = Cache(tmp_path, "k")
    assert cache.get(digest("a")) is None
    cache.put_many([(digest("a"), b"1")])
    again = Cache(tmp_path, "k")
    again.put_many([(digest("a"), b"1")])
    assert again.get(digest("a")) == b"1"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "below", "k")
    cache.put_many([(digest("a"), b"1")])
    assert cache.get(digest("a")) is None


def _fill(where: str, start: int) -> None:
    cache = Cache(Path(where), "k")
    for i in range(start, start + 50):
        cache.put_many([(digest(str(i)), str(i).encode())])
        assert cache.get(digest(str(i))) == str(i).encode()


def test_several_runs_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    runs = [context.Process(target=_fill, args=(str(tmp_path), n * 25)) for n in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0]
    assert Cache(tmp_path, "k").get(digest("99")) == b"99"


def test_digests_see_borders() -> None:
    assert digest("ab", "c") != digest("a", "bc") and digest(b"a") == digest("a")


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANLINT_CACHE_DIR", "/elsewhere")
    assert folder() == Path("/elsewhere") and folder("/chosen") == Path("/chosen")
    monkeypatch.delenv("NANLINT_CACHE_DIR")
    assert folder().name == "nanlint"
