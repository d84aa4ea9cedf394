"""Settings: what they select, where they come from, and how they refuse what they do not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanlint.config import KEYS, Settings, check_selectors, find_config, load
from nanlint.core.errors import ConfigurationError

RULES = {"log-of-sigmoid": "NAN101", "zero-divisor": "NAN201", "sqrt-at-zero": "NAN301"}

SELECTION = [  # settings, the rules that are left
    ({}, {"NAN101", "NAN201", "NAN301"}),
    ({"select": ("NAN1",)}, {"NAN101"}),
    ({"select": ("sqrt-at-zero",)}, {"NAN301"}),
    ({"ignore": ("NAN2", "log-of-sigmoid")}, {"NAN301"}),
    ({"select": ("NAN101",), "ignore": ("NAN1",)}, {"NAN101"}),
    ({"select": ("NAN1",), "ignore": ("NAN101",)}, set()),
    ({"select": ("NAN1",), "ignore": ("NAN1",)}, set()),
    ({"select": ("NAN1",), "extend_select": ("NAN3",)}, {"NAN101", "NAN301"}),
    ({"extend_ignore": ("NAN3",)}, {"NAN101", "NAN201"}),
    ({"select": ()}, set()),
]


@pytest.mark.parametrize(("given", "left"), SELECTION, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_selection(given: dict[str, tuple[str, ...]], left: set[str]) -> None:
    settings = Settings().with_(**given)
    assert {code for name, code in RULES.items() if settings.is_selected(code, name)} == left


def test_per_file_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(
        root=tmp_path, per_file_ignores=(("tests/*", ("ALL",)), ("__init__.py", ("NAN1",)), ("!src/*", ("NAN301",)))
    )
    assert not settings.is_selected("NAN201", "zero-divisor", "tests/deep/test_a.py")
    assert not settings.is_selected("NAN101", "log-of-sigmoid", "src/a/__init__.py")
    assert settings.is_selected("NAN201", "zero-divisor", "src/a/__init__.py")
    assert settings.is_selected("NAN301", "sqrt-at-zero", "src/a.py")
    assert not settings.is_selected("NAN301", "sqrt-at-zero", "other/a.py")


def test_severity_goes_by_the_closest_selector() -> None:
    settings = Settings(severity=(("ALL", "info"), ("NAN1", "warning"), ("log-of-sigmoid", "error")))
    assert settings.severity_of("NAN101", "log-of-sigmoid", "error") == "error"
    assert settings.severity_of("NAN102", "other", "error") == "warning"
    assert settings.severity_of("NAN201", "zero-divisor", "error") == "info"
    assert Settings().severity_of("NAN201", "zero-divisor", "warning") == "warning"


def test_all_keys_are_read(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        """
[tool.nanlint]
select = ["NAN1"]
ignore = ["NAN101"]
extend-select = []
extend-ignore = []
level = "possible"
fail-on = "error"
dtype = "bfloat16"
output-format = "json"
output-file = "out/report.json"
exclude = ["vendored/"]
extend-exclude = ["*_pb2.py"]
respect-gitignore = false
force-exclude = true
rules = ["lint/rules"]
src = ["src"]
statistics = true
unsafe-fixes = true
python = "envs/torch/bin/python"
probe = false
cache = false
cache-dir = ".cache"
jobs = 3
max-file-size = 10
[tool.nanlint.per-file-ignores]
"tests/*" = ["ALL"]
[tool.nanlint.severity]
NAN3 = "warning"
[tool.nanlint.ranges]
sigma = [0, 10]
z = [-inf, inf]
"""
    )
    settings = load(file)
    assert settings.root == tmp_path and settings.config_file == file
    assert settings.rules == (str(tmp_path / "lint/rules"),) and settings.src == (str(tmp_path / "src"),)
    assert settings.python == str(tmp_path / "envs/torch/bin/python")
    assert settings.ranges == (("sigma", (0.0, 10.0)), ("z", (float("-inf"), float("inf"))))
    assert settings.per_file_ignores == (("tests/*", ("ALL",)),) and settings.severity == (("NAN3", "warning"),)
    default = Settings()
    untouched = [k for k in KEYS if getattr(settings, k.replace("-", "_")) == getattr(default, k.replace("-", "_"))]
    assert untouched == ["extend-select", "extend-ignore"]


ERRORS = [  # text, what the message must say
    ("selct = []", "nanlint has no key `selct` (did you mean `select`?)"),
    ("per_file_ignores = {}", "(did you mean `per-file-ignores`?)"),
    ("zzz = 1", "nanlint has no key `zzz`"),
    ('select = "NAN1"', "`select` must be a list of strings, not 'NAN1'"),
    ("select = [1]", "`select` must be a list of strings"),
    ('level = "likely"', "`level` must be one of confirmed, possible, not 'likely'"),
    ("level = true", "`level` must be one of"),
    ('cache = "no"', "`cache` must be true or false, not 'no'"),
    ("jobs = -1", "`jobs` must be a whole number of at least 0"),
    ("jobs = true", "`jobs` must be a whole number"),
    ("ranges = 3", "`ranges` must be a table"),
    ("ranges = { a = [2, 1] }", "`ranges`.a must be [low, high] with low <= high"),
    ("ranges = { a = [nan, 1] }", "`ranges`.a must be [low, high]"),
    ('severity = { NAN1 = "eror" }', "(did you mean `error`?)"),
    ("select = [", "is not valid TOML"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors_name_file_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.nanlint]\n" + text + "\n")
    with pytest.raises(ConfigurationError) as error:
        load(file)
    assert str(file) in str(error.value) and message in str(error.value)


def test_nearest_file_upward_that_has_the_table(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.nanlint]\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    (inner / "x.py").write_text("")
    assert find_config([inner / "x.py"]) == tmp_path / "pyproject.toml"
    (inner / "pyproject.toml").write_text("[tool.nanlint]\n")
    assert find_config([inner / "x.py"]) == inner / "pyproject.toml"
    assert find_config([inner, tmp_path / "a"]) == tmp_path / "pyproject.toml"


def test_other_toml_files_and_single_settings(tmp_path: Path) -> None:
    file = tmp_path / "lint.toml"
    file.write_text('level = "possible"\njobs = 2\n')
    settings = load(file, ("jobs = 4",))
    assert (settings.level, settings.jobs) == ("possible", 4)
    with pytest.raises(ConfigurationError, match="neither a file nor TOML"):
        load(None, ("jobs",))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(tmp_path / "absent.toml")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ConfigurationError, match=r"no \[tool.nanlint\] table"):
        load(tmp_path / "pyproject.toml")


def test_selectors_must_name_rules() -> None:
    check_selectors(Settings(select=("NAN1", "sqrt-at-zero", "ALL")), RULES)
    with pytest.raises(ConfigurationError, match="did you mean `log-of-sigmoid`"):
        check_selectors(Settings(ignore=("log-of-sigmod",)), RULES)
    with pytest.raises(ConfigurationError, match="no rule is called `NAN7`"):
        check_selectors(Settings(per_file_ignores=(("x.py", ("NAN7",)),)), RULES)
