"""The settings of one run, and where they come from: defaults, the nearest pyproject.toml, the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nanlint.core.errors import ConfigurationError, nearest
from nanlint.core.finding import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEVELS = ("confirmed", "possible")
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
FORMATS = ("text", "concise", "json", "github", "sarif")
DTYPES = ("float32", "float16", "bfloat16", "float64")
DEFAULT_EXCLUDE = (
    ".*/",
    "__pycache__/",
    "__pypackages__/",
    "_build/",
    "buck-out/",
    "build/",
    "dist/",
    "node_modules/",
    "venv/",
    "*.egg-info/",
)


@dataclass(frozen=True)
class Settings:
    """What one run is asked to do. `root` is the folder that patterns of `exclude` and `per_file_ignores` are relative to."""

    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    level: str = "confirmed"
    fail_on: Severity = "info"
    dtype: str = "float32"
    ranges: tuple[tuple[str, tuple[float, float]], ...] = ()
    rules: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    max_file_size: int = 4_000_000
    output_format: str = "text"
    output_file: str | None = None
    statistics: bool = False
    unsafe_fixes: bool = False
    python: str | None = None
    probe: bool = True
    cache: bool = True
    cache_dir: str | None = None
    jobs: int = 0
    root: Path = field(default_factory=Path.cwd, compare=False)
    config_file: Path | None = field(default=None, compare=False)

    def with_(self, **changes: Any) -> Settings:
        """The same settings with some changed."""
        return replace(self, **changes)

    def is_selected(self, code: str, name: str, path: str | Path | None = None) -> bool:
        """Whether the rule is asked for (in the file at `path`): the most specific selector decides, and `ignore` wins a tie."""
        for_it = _specificity((*self.select, *self.extend_select), code, name)
        against = _specificity((*self.ignore, *self.extend_ignore), code, name)
        if for_it <= against:
            return False
        return path is None or _specificity(self._ignored_in(path), code, name) < 0

    def severity_of(self, code: str, name: str, default: Severity) -> Severity:
        """The severity that the user gives the rule: the most specific selector decides."""
        found: tuple[int, Severity] = (-1, default)
        for selector, severity in self.severity:
            found = max(found, (_specificity((selector,), code, name), severity), key=lambda pair: pair[0])
        return found[1]

    @property
    def selectors(self) -> tuple[str, ...]:
        """Every word that must name a rule."""
        words = (*self.select, *self.extend_select, *self.ignore, *self.extend_ignore, *(s for s, _ in self.severity))
        return (*words, *(s for _, ignored in self.per_file_ignores for s in ignored))

    @property
    def answer_key(self) -> str:
        """What the answer for one file depends on, apart from the file and the rules."""
        names = ("select", "ignore", "extend_select", "extend_ignore", "severity", "level", "dtype", "ranges", "probe", "python")
        return repr([(name, getattr(self, name)) for name in names])

    def _ignored_in(self, path: str | Path) -> tuple[str, ...]:
        if not self.per_file_ignores:
            return ()
        relative = relative_to(Path(path), self.root)
        return tuple(s for pattern, ignored in self.per_file_ignores if _matches(relative, pattern) for s in ignored)


def relative_to(path: Path, root: Path) -> str:
    """`path` as seen from `root`, with forward slashes; unchanged where it is not inside."""
    absolute = Path.cwd() / path
    try:
        return absolute.relative_to(root).as_posix()
    except ValueError:
        return absolute.as_posix()


def _matches(relative: str, pattern: str) -> bool:
    negated = pattern.startswith("!")
    pattern = pattern.lstrip("!")
    tails = (relative, relative.rpartition("/")[2])
    hit = any(fnmatchcase(tail, pattern) for tail in tails) or relative.startswith(pattern.rstrip("/*") + "/")
    return hit != negated


def _specificity(selectors: tuple[str, ...], code: str, name: str) -> int:
    """How closely the best of `selectors` names the rule: -1 not at all, 0 ALL, then the length of the prefix, 99 in full."""
    best = -1
    for selector in selectors:
        if selector in (code, name):
            return 99
        if selector == "ALL":
            best = max(best, 0)
        elif selector.startswith("NAN") and code.startswith(selector):
            best = max(best, len(selector))
    return best


def check_selectors(settings: Settings, rules: Mapping[str, str]) -> None:
    """Refuse a selector that names no rule; `rules` maps names to codes."""
    for word in settings.selectors:
        if (
            word != "ALL"
            and word not in rules
            and not any(word.startswith("NAN") and code.startswith(word) for code in rules.values())
        ):
            raise ConfigurationError(
                f"no rule is called `{word}`{nearest(word, (*rules, *rules.values()))}; `nanlint rule` lists them"
            )


Reader = Callable[[Any, str], Any]


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ConfigurationError(f"{where} must be a list of strings, not {value!r}")
    return tuple(value)


def _of_type(kind: type, words: str) -> Reader:
    def read(value: Any, where: str) -> Any:
        if type(value) is not kind:
            raise ConfigurationError(f"{where} must be {words}, not {value!r}")
        return value

    return read


def _one_of(choices: tuple[str, ...]) -> Reader:
    def read(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ConfigurationError(f"{where} must be one of {', '.join(choices)}, not {value!r}{nearest(str(value), choices)}")
        return value

    return read


def _table_of(read: Reader) -> Reader:
    def table(value: Any, where: str) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict):
            raise ConfigurationError(f"{where} must be a table, not {value!r}")
        return tuple((key, read(item, f"{where}.{key}")) for key, item in value.items())

    return table


def _range(value: Any, where: str) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(type(v) in (int, float) for v in value)
    if not numbers or not value[0] <= value[1]:
        raise ConfigurationError(f"{where} must be [low, high] with low <= high, not {value!r}")
    return float(value[0]), float(value[1])


def _size(value: Any, where: str) -> int:
    if type(value) is not int or value < 0:
        raise ConfigurationError(f"{where} must be a whole number of at least 0, not {value!r}")
    return value


_string, _boolean = _of_type(str, "a string"), _of_type(bool, "true or false")
KEYS: dict[str, Reader] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "extend-ignore": _strings,
    "per-file-ignores": _table_of(_strings),
    "severity": _table_of(_one_of(SEVERITIES)),
    "level": _one_of(LEVELS),
    "fail-on": _one_of(SEVERITIES),
    "dtype": _one_of(DTYPES),
    "ranges": _table_of(_range),
    "rules": _strings,
    "src": _strings,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _boolean,
    "force-exclude": _boolean,
    "max-file-size": _size,
    "output-format": _one_of(FORMATS),
    "output-file": _string,
    "statistics": _boolean,
    "unsafe-fixes": _boolean,
    "python": _string,
    "probe": _boolean,
    "cache": _boolean,
    "cache-dir": _string,
    "jobs": _size,
}
PATHS = frozenset({"rules", "src", "output-file", "cache-dir"})
assert {k.replace("-", "_") for k in KEYS} | {"root", "config_file"} == {f.name for f in fields(Settings)}


def find_config(paths: list[Path]) -> Path | None:
    """The nearest pyproject.toml with a [tool.nanlint] table, upward from the folder that all of `paths` share."""
    starts = [p if p.is_dir() else p.parent for p in (Path(p).resolve() for p in paths)] or [Path.cwd()]
    common = starts[0]
    while not all(s == common or common in s.parents for s in starts):
        common = common.parent
    for folder in (common, *common.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and _table(file) is not None:
            return file
    return None


def load(file: Path | None = None, inline: tuple[str, ...] = ()) -> Settings:
    """The settings of a configuration file and of `key = value` texts that override it.

    A pyproject.toml holds them under [tool.nanlint], any other TOML file there or at the top level.
    """
    settings = Settings()
    if file is not None:
        table = _table(file)
        if table is None and file.name == "pyproject.toml":
            raise ConfigurationError(f"{file}: there is no [tool.nanlint] table")
        settings = _apply(Settings(root=file.resolve().parent, config_file=file), table or {}, str(file), file.resolve().parent)
    for text in inline:
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(f"--config {text!r} is neither a file nor TOML of the form key = value ({error})") from None
        settings = _apply(settings, given, "--config", Path.cwd())
    return settings


def _table(file: Path) -> dict[str, Any] | None:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file}: is not valid TOML: {error}") from None
    tool = data.get("tool")
    table = tool.get("nanlint") if isinstance(tool, dict) else None
    if table is None:
        return data if file.name != "pyproject.toml" else None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{file}: tool.nanlint must be a table, not {table!r}")
    return table


def _apply(settings: Settings, table: Mapping[str, Any], where: str, base: Path) -> Settings:
    """`settings` with the keys of `table`; paths are relative to `base`."""
    changes: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigurationError(f"{where}: nanlint has no key `{key}`{nearest(key.replace('_', '-'), KEYS)}")
        read = KEYS[key](value, f"{where}: `{key}`")
        if key in PATHS:
            read = tuple(str(base / p) for p in read) if isinstance(read, tuple) else str(base / read)
        if key == "python" and "/" in read.replace("\\", "/"):
            read = str(base / read)
        changes[key.replace("-", "_")] = read
    return settings.with_(**changes)
