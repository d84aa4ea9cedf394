"""Imports go one way, and what a run does not need is not loaded."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "nanlint"

# What each part of nanlint may import of nanlint, apart from itself; `lazily` only inside functions.
SHELL = {
    "core",
    "graph",
    "ranges",
    "catalog",
    "source",
    "trace",
    "probe",
    "engine",
    "report",
    "config",
    "cache",
    "fixing",
    "explain",
    "command",
}
MAY_IMPORT = {
    "core": set(),
    "graph": {"core"},
    "ranges": {"core", "graph"},
    "catalog": {"core", "graph", "ranges"},
    "source": {"core", "graph", "ranges", "catalog"},
    "trace": {"core", "graph", "ranges", "catalog"},
    "probe": {"core", "graph", "ranges", "catalog"},
    "config": {"core"},
    "cache": {"core"},
    "workers": set(),
    "engine": {"core", "graph", "ranges", "catalog", "source", "trace", "probe", "config", "cache", "workers"},
    "report": {"core", "source"},
    "fixing": {"core", "source", "engine"},
    "explain": {"core", "catalog", "source"},
    "command": SHELL,
    "cli": SHELL,
    "server": SHELL,
    "__main__": {"cli"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def part(file: Path) -> str:
    """The folder or module of nanlint that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The modules that a file imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{a.name}") for a in node.names if node.module == "nanlint")


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(file: Path) -> None:
    if file == PACKAGE / "__init__.py":
        return
    allowed = MAY_IMPORT[part(file)] | {part(file), "__version__"}
    for line, module in imported(ast.parse(file.read_text(encoding="utf-8"))):
        top, _, rest = module.partition(".")
        if top == "nanlint" and rest:
            assert rest.split(".")[0] in allowed, f"{file}:{line}: {part(file)} may not import {module}"
        elif part(file) not in ("probe", "trace"):
            assert top != "torch", f"{file}:{line}: only probes and traces import torch"
        if part(file) in ("core", "graph", "ranges", "trace", "probe"):
            assert top != "libcst", f"{file}:{line}: {part(file)} knows nothing of libcst"


def loaded(code: str, cwd: Path = ROOT) -> set[str]:
    """The modules that are loaded once `code` has run in a fresh interpreter."""
    program = f"{code}\nimport sys, json\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


LIGHT = {
    "cli": ("nanlint.cli", {"torch", "libcst", "networkx", "numpy", "pathspec", "platformdirs", "sqlite3", "nanlint.engine"}),
    "engine": ("nanlint.engine", {"torch", "libcst", "numpy"}),
    "discovery": ("nanlint.source.discovery", {"torch", "libcst", "networkx"}),
    "parse": ("nanlint.source.parse", {"torch", "libcst", "networkx"}),
    "suppress": ("nanlint.source.suppress", {"torch", "libcst", "networkx"}),
}


@pytest.mark.parametrize(("module", "heavy"), LIGHT.values(), ids=LIGHT)
def test_imports_are_light(module: str, heavy: set[str]) -> None:
    assert not heavy & loaded(f"import {module}")


def test_no_source_module_loads_torch() -> None:
    modules = [
        ".".join(f.relative_to(ROOT).with_suffix("").parts) for f in FILES if part(f) == "source" and f.name != "__init__.py"
    ]
    assert "torch" not in loaded("import " + ", ".join(modules))


def test_a_run_without_suspects_loads_no_torch(tmp_path: Path) -> None:
    (tmp_path / "safe.py").write_text("import torch\n\n\ndef f(x):\n    return torch.log(torch.exp(-x.abs()) + 1)\n")
    lines = [
        "import sys",
        "from nanlint.cli import entry",
        "sys.argv = ['nanlint', '--no-cache', '.']",
        "try:",
        "    entry()",
        "except SystemExit as end:",
        "    assert not end.code, end.code",
    ]
    assert "torch" not in loaded("\n".join(lines), tmp_path)
