"""What probes found, kept on disk: witnesses by short id, answers by what was asked."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanlint.core.errors import UsageError

ID_LENGTH = 8


def digest(value: Any, length: int = ID_LENGTH) -> str:
    """A short hexadecimal digest that depends on the value only."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


class Store:
    """Witnesses and answers under one directory; a store that cannot be written keeps nothing and does not complain."""

    def __init__(self, directory: Path) -> None:
        self.witnesses = directory / "witnesses"
        self.answers = directory / "answers"

    def save(self, frozen: Mapping[str, Any]) -> str:
        """Keep a frozen witness; its id."""
        name = digest(frozen)
        self._write(self.witnesses / f"{name}.json", frozen)
        return name

    def load(self, prefix: str) -> dict[str, Any]:
        """The witness whose id starts so; UsageError if there is none, or more than one."""
        known = sorted(p.stem for p in self.witnesses.glob("*.json")) if self.witnesses.is_dir() else []
        found = [k for k in known if k.startswith(prefix.lower())] if prefix.isalnum() else []
        if len(found) != 1:
            many = (
                f"several witnesses start with {prefix}: {', '.join(found[:5])}"
                if found
                else f"no witness {prefix!r} in {self.witnesses}"
            )
            raise UsageError(f"{many}; `nanlint check` prints the ids of the witnesses it finds")
        data = self._read(self.witnesses / f"{found[0]}.json")
        if data is None:
            raise UsageError(f"the witness {found[0]} in {self.witnesses} cannot be read; run `nanlint check` again")
        return data

    def answer(self, key: str) -> dict[str, Any] | None:
        """The answer kept under this key."""
        return self._read(self.answers / key[:2] / f"{key[2:]}.json")

    def remember(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer."""
        self._write(self.answers / key[:2] / f"{key[2:]}.json", answer)

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return data if isinstance(data, dict) else None

    def _write(self, path: Path, data: Mapping[str, Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(data, file)
            os.replace(temporary, path)
        except OSError:
            pass
