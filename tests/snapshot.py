"""Text that users see, compared with a file; `NANLINT_ACCEPT=1 pytest` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def same_as(name: str, text: str) -> None:
    """Assert that `text` is what the file says."""
    file = FOLDER / name
    if os.environ.get("NANLINT_ACCEPT"):
        file.write_text(text, encoding="utf-8", newline="\n")
    assert file.exists(), f"{file} is missing: run with NANLINT_ACCEPT=1 to write it"
    assert text == file.read_text(encoding="utf-8"), f"{name} differs: run with NANLINT_ACCEPT=1 to accept"
