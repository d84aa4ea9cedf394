"""Which interpreter runs the probes: the one asked for, this one, or the environment of the project."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nanlint.core.errors import UsageError

PACKAGES = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
    "lib/python3/dist-packages",
    "lib/python3*/dist-packages",
)
EXECUTABLES = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter, and the version of torch that lies beside it, None if that is not known without starting it."""

    executable: str
    torch: str | None


def find_interpreter(flag: str | None, path: Path) -> Interpreter | None:
    """The first interpreter that has torch, nothing being started; None if there is none.

    `flag` (a file, a command or an environment's folder) is taken as it is; UsageError if it names nothing.
    """
    if flag is not None:
        return named(flag)
    own = own_torch()
    if own is not None:
        return Interpreter(sys.executable, version_in(own))
    for root in environments(path):
        executable, packages = executable_in(root), torch_packages(root)
        if executable is not None and packages is not None:
            return Interpreter(str(executable), version_in(packages))
    return None


def named(flag: str) -> Interpreter:
    """The interpreter that --python names."""
    path = Path(flag).expanduser()
    executable = executable_in(path) if path.is_dir() else path if path.is_file() else None
    found = str(executable.absolute()) if executable is not None else shutil.which(flag)
    if found is None:
        raise UsageError(f"--python {flag}: no such interpreter; give a file, a command on PATH, or the folder of an environment")
    packages = torch_packages(Path(found).parent.parent)
    return Interpreter(found, version_in(packages) if packages is not None else None)


def own_torch() -> Path | None:
    """The folder that holds this interpreter's torch, which is not imported; a project's folder of that name is not torch."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith("__init__.py"):
        return None
    package = Path(spec.origin).parent
    return package.parent if (package / "version.py").is_file() else None


def environments(path: Path) -> Iterator[Path]:
    """The roots of environments that the linted path may belong to, nearest first, up to the root of the repository."""
    if os.environ.get("VIRTUAL_ENV"):
        yield Path(os.environ["VIRTUAL_ENV"])
    start = path.absolute()
    for folder in (start, *start.parents):
        for name in (".venv", "venv"):
            if (folder / name / "pyvenv.cfg").is_file() and is_ours(folder / name):
                yield folder / name
        if (folder / ".git").exists():
            break
    if os.environ.get("CONDA_PREFIX"):
        yield Path(os.environ["CONDA_PREFIX"])


def is_ours(root: Path) -> bool:
    """The environment belongs to this user or to the system: another user's interpreter is not started."""
    return not hasattr(os, "getuid") or root.stat().st_uid in (0, os.getuid())


def executable_in(root: Path) -> Path | None:
    """The interpreter of an environment."""
    return next((root / name for name in EXECUTABLES if (root / name).is_file()), None)


def torch_packages(root: Path) -> Path | None:
    """The folder of packages of an environment that holds torch, those of its base included where it shares them."""
    for base in (root, *shared_base(root)):
        for pattern in PACKAGES:
            for folder in sorted(base.glob(pattern), reverse=True):
                if (folder / "torch" / "__init__.py").is_file():
                    return folder
    return None


def shared_base(root: Path) -> Iterator[Path]:
    """The base of an environment that includes the system's packages."""
    try:
        text = (root / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    settings = dict(re.findall(r"^\s*([\w-]+)\s*=\s*(.+?)\s*$", text, re.MULTILINE))
    if settings.get("include-system-site-packages", "").lower() == "true" and "home" in settings:
        yield Path(settings["home"]).parent
        yield Path(settings["home"]).parent / "local"


def version_in(packages: Path) -> str | None:
    """The version of the torch in this folder, read from its version.py."""
    try:
        text = (packages / "torch" / "version.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"""^__version__\s*=\s*['"]([^'"]+)['"]""", text, re.MULTILINE)
    return found.group(1) if found else None
