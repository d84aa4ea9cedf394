"""Which interpreter runs the probes, found without starting one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nanlint.core.errors import UsageError
from nanlint.probe import interpreter
from nanlint.probe.interpreter import Interpreter, find_interpreter


def environment(root: Path, version: str | None = "2.4.0") -> Path:
    """An environment, with a torch that is only files."""
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "python").write_text("")
    (root / "pyvenv.cfg").write_text("home = /nowhere/bin\ninclude-system-site-packages = false\n")
    if version is not None:
        torch = root / "lib" / "python3.12" / "site-packages" / "torch"
        torch.mkdir(parents=True)
        (torch / "__init__.py").write_text("")
        (torch / "version.py").write_text(f"__version__ = '{version}'\ndebug = False\n")
    return root


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(interpreter, "own_torch", lambda: None)


def test_nothing(tmp_path: Path) -> None:
    assert find_interpreter(None, tmp_path) is None
    environment(tmp_path / ".venv", version=None)
    assert find_interpreter(None, tmp_path) is None


def test_nearest_environment_above_the_path(tmp_path: Path) -> None:
    environment(tmp_path / "venv", "2.1.0")
    environment(tmp_path / "src" / ".venv", "2.4.0")
    deep = tmp_path / "src" / "a" / "b.py"
    assert find_interpreter(None, deep) == Interpreter(str(tmp_path / "src" / ".venv" / "bin" / "python"), "2.4.0")


def test_the_active_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(tmp_path / ".venv")
    active = environment(tmp_path / "other", "2.2.0+cpu")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert find_interpreter(None, tmp_path) == Interpreter(str(active / "bin" / "python"), "2.2.0+cpu")


def test_the_flag_is_taken_as_it_is(tmp_path: Path) -> None:
    root = environment(tmp_path / "env")
    for flag in (root, root / "bin" / "python"):
        assert find_interpreter(str(flag), tmp_path) == Interpreter(str(root / "bin" / "python"), "2.4.0")
    assert find_interpreter(sys.executable, tmp_path) is not None
    with pytest.raises(UsageError, match="--python"):
        find_interpreter("no-such-python", tmp_path)


def test_a_shared_base_counts(tmp_path: Path) -> None:
    base = environment(tmp_path / "base", "2.3.1")
    root = environment(tmp_path / "project" / ".venv", version=None)
    (root / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\ninclude-system-site-packages = true\n")
    found = find_interpreter(None, tmp_path / "project")
    assert found is not None and found.torch == "2.3.1"


def test_a_folder_named_torch_is_not_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert interpreter.own_torch() is None
