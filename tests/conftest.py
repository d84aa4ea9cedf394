"""What all tests share: a cache of their own, and a command line that runs in this process."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HAS_TORCH = importlib.util.find_spec("torch") is not None
IMPORT = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


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


def needs_torch(file: Path) -> bool:
    """Whether a test module imports torch, itself or through one of its helpers."""
    seen: set[Path] = set()
    todo = [file]
    while todo:
        current = todo.pop()
        if current in seen or not current.is_file():
            continue
        seen.add(current)
        for found in IMPORT.finditer(current.read_text(encoding="utf-8")):
            if found[1] in ("torch", "numpy"):
                return True
            todo.append(ROOT / "tests" / f"{found[1].removeprefix('tests.')}.py")
    return False


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the modules that need torch where there is none."""
    return True if not HAS_TORCH and collection_path.name.startswith("test_") and needs_torch(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that are marked as needing torch where there is none."""
    for item in items:
        if not HAS_TORCH and item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
