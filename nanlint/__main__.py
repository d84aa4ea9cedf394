"""`python -m nanlint`, with the current folder off the module path: what is linted there must not stand in for Python's own modules."""

import os
import sys

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False) and sys.path[:1] in ([""], [os.getcwd()]):
    del sys.path[0]
    if PARENT not in sys.path:
        sys.path.append(PARENT)

from nanlint.cli import entry  # noqa: E402

if __name__ == "__main__":
    entry()
