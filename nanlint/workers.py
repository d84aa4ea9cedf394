"""Starting worker processes where nothing that is linted can stand in for Python's own modules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUIET_FOLDER = Path(__file__).resolve().parent / "core"


@contextmanager
def safe_folder() -> Iterator[None]:
    """Be in a folder of nanlint's own: a spawned Python looks for modules in the folder it starts in, before anywhere else."""
    try:
        before = os.getcwd()
    except OSError:
        before = None
    os.chdir(QUIET_FOLDER)
    try:
        yield
    finally:
        if before is not None:
            os.chdir(before)
