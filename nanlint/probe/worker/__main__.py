"""Starts the worker as a program of its own: the folder becomes a package, and shadows nothing that torch imports."""

from __future__ import annotations

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "nanlint_probe_worker"

if __name__ == "__main__":
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != HERE]
    spec = importlib.util.spec_from_file_location(NAME, os.path.join(HERE, "__init__.py"), submodule_search_locations=[HERE])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    importlib.import_module(NAME + ".serve").main()
