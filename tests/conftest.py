"""What all tests share: a cache of their own, and a command line that runs in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the tests out of the user's cache, and the user's colours and cache out of the tests."""
    folder = tmp_path_factory.mktemp("cache")
    saved = dict(os.environ)
    os.environ["NANLINT_CACHE_DIR"] = str(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "NANLINT_OUTPUT_FORMAT"):
        os.environ.pop(name, None)
    yield folder
    os.environ.clear()
    os.environ.update(saved)


@pytest.fixture
def nanlint(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m nanlint` in `tmp_path`, as a user would."""

    def run(*args: str, input: str | None = None, cwd: Path = tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nanlint", *args]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env}
        return subprocess.run(
            command, cwd=cwd, input=input, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=300
        )

    return run
