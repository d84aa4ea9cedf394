"""The engine: scans files for suspects, has them probed, has fixes proven, and orders what is left into a report."""

from __future__ import annotations

from nanlint.engine.check import TIMES, check

__all__ = ["TIMES", "check"]
