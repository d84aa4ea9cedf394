"""Answers kept between runs, by the content of the file: one SQLite file in the user's cache folder.

Nothing is written into the project. A cache that is broken, locked or cannot be written costs time, never the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

KEPT_DAYS = 30
_FILE = "answers.sqlite3"
_TABLE = (
    "create table if not exists answers (key blob, digest blob, day integer, value blob, primary key (key, digest)) without rowid"
)
_GET = "select value from answers where key = ? and digest = ?"
_PUT = "insert or replace into answers values (?, ?, ?, ?)"
T = TypeVar("T")


def folder(chosen: str | None = None) -> Path:
    """Where nanlint keeps what it may forget: `--cache-dir`, NANLINT_CACHE_DIR, or the user's cache folder."""
    if named := chosen or os.environ.get("NANLINT_CACHE_DIR"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("nanlint")


def digest(*parts: bytes | str) -> bytes:
    """A short digest of the parts, their borders included."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.digest()


class Cache:
    """Answers under one key (settings, rules and version of nanlint); safe for several runs at once."""

    def __init__(self, directory: Path, key: bytes | str) -> None:
        self._file = directory / _FILE
        self._key = digest(key)
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def get(self, digest: bytes) -> bytes | None:
        """The answer kept for this digest."""
        rows = self._run(lambda db: db.execute(_GET, (self._key, digest)).fetchall())
        return bytes(rows[0][0]) if rows else None

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep these answers, and forget those that nobody made for a month."""
        day = int(time.time() // 86400)
        rows = [(self._key, digest, day, value) for digest, value in items]

        def put(db: sqlite3.Connection) -> None:
            with db:
                db.executemany(_PUT, rows)
                db.execute("delete from answers where day < ?", (day - KEPT_DAYS,))

        self._run(put)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` gives; None where there is no data base to be had: what goes wrong with it ends its use."""
        if not self._usable:
            return None
        try:
            if self._connection is None:
                self._connection = self._connect()
            return work(self._connection)
        except (sqlite3.Error, OSError) as error:
            self._usable = False
            self.close()
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):
                    self._file.unlink()
            return None

    def _connect(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._file, timeout=5.0, check_same_thread=False)
        try:
            connection.execute("pragma synchronous = off")
            connection.execute(_TABLE)
        except sqlite3.Error:
            connection.close()
            raise
        return connection
