"""The error tree.

    NanlintError
      UsageError           a command line or path that makes no sense (exit status 2)
      ConfigurationError   pyproject.toml: file, key, and the nearest right one (exit status 2)
      RuleFileError        a rule file: file, key, remedy (exit status 2)
      ProbeError           the probe worker cannot be started or answered nonsense (the run goes on)
      UnreadableFile       a source file that cannot be read or parsed (a finding)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class NanlintError(Exception):
    """Something nanlint can explain: what, where, and what to do next."""


class UsageError(NanlintError):
    """A command line or path that makes no sense."""


class ConfigurationError(NanlintError):
    """A configuration that cannot be used."""


class RuleFileError(NanlintError):
    """A rule file that cannot be used."""


class ProbeError(NanlintError):
    """The probe worker cannot be started, or answered nonsense."""


class UnreadableFile(NanlintError):
    """A source file that cannot be read or parsed; `line` and `column` say where, 1-based, `rule` what to call it."""

    def __init__(self, message: str, line: int = 1, column: int = 1, rule: str = "unreadable-file") -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.rule = rule


def nearest(word: str, words: Iterable[str]) -> str:
    """' (did you mean `x`?)' for the word nearest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f" (did you mean `{close[0]}`?)" if close else ""
