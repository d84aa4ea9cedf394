"""Which files are taken, in which order, and what is said of those that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nanlint.config import Settings
from nanlint.source.discovery import discover


def tree(root: Path, *paths: str, **texts: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(texts.get(path, ""))


def found(root: Path, *paths: str, **settings: object) -> list[str]:
    files, _ = discover([root / p for p in paths or (".",)], Settings(root=root).with_(**settings), root)
    return [f.display for f in files]


def problems(root: Path, *paths: str, **settings: object) -> list[tuple[str, str, str]]:
    _, said = discover([root / p for p in paths], Settings(root=root).with_(**settings), root)
    return [(p.code, p.path, p.message) for p in said]


def test_order_and_usual_excludes(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "b.py", "a.py", "a/z.py", "a/__pycache__/c.py", ".git/h.py", ".venv/x.py", "venv/x.py", "node_modules/x.py", "build/x.py",
        "dist/x.py", "pkg/build/__init__.py", "pkg/build/x.py", ".tox/x.py", "notes.txt", "stub.pyi", "x.egg-info/a.py",
        "env/pyvenv.cfg", "env/lib/x.py", ".hidden.py",
    )  # fmt: skip
    assert found(tmp_path) == [".hidden.py", "a.py", "a/z.py", "b.py", "pkg/build/__init__.py", "pkg/build/x.py"]


def test_explicit_paths_are_taken(tmp_path: Path) -> None:
    tree(tmp_path, "venv/lib/x.py", "venv/lib/.hidden/y.py", "script")
    assert found(tmp_path, "venv/lib/x.py", "script") == ["script", "venv/lib/x.py"]
    assert found(tmp_path, "venv/lib") == ["venv/lib/x.py"]
    assert found(tmp_path, "venv/lib/x.py", "script", force_exclude=True) == ["script"]
    assert found(tmp_path, "venv", force_exclude=True) == []


def test_a_path_given_twice_is_checked_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py")
    assert found(tmp_path, "a", "a/x.py", "a/../a/x.py", ".") == ["a/x.py"]


def test_display_of_paths_elsewhere(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "b/y.py")
    files, _ = discover([tmp_path / "b"], Settings(root=tmp_path / "a"), tmp_path / "a")
    assert [f.display for f in files] == ["../b/y.py"]


def test_user_excludes(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "a/gen_x.py", "b/a/x.py", "keep/x.py", "venv/x.py")
    assert found(tmp_path, extend_exclude=("gen_*.py", "/b/a")) == ["a/x.py", "keep/x.py"]
    assert found(tmp_path, exclude=("a/",)) == ["keep/x.py", "venv/x.py"]
    assert found(tmp_path, extend_exclude=("*", "!keep")) == []


def test_gitignore(tmp_path: Path) -> None:
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("local.py\n")
    tree(tmp_path, "x.py", "local.py", "out/x.py", "sub/x.py", "sub/gen.py", "sub/deep/gen.py", "sub/deep/keep.py")
    (tmp_path / ".gitignore").write_text("# comment\n\nout/\n[\ngen.py\n/sub/deep/keep.py\n")
    (tmp_path / "sub" / ".gitignore").write_text("!/gen.py\n")
    assert found(tmp_path) == ["sub/gen.py", "sub/x.py", "x.py"]
    assert found(tmp_path, "sub") == ["sub/gen.py", "sub/x.py"]
    assert found(tmp_path, "out") == ["out/x.py"]
    assert len(found(tmp_path, respect_gitignore=False)) == 7


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "dangling.py").symlink_to(tmp_path / "gone.py")
    said = [("NAN902", "dangling.py", "is a link to nothing"), ("NAN902", "nope.py", "there is no such file or folder")]
    assert sorted(problems(tmp_path, "nope.py", "dangling.py")) == said
    assert problems(tmp_path, ".") == [said[0]]


def test_links(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "twin.py").symlink_to(tmp_path / "a" / "x.py")
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    assert found(tmp_path) == ["a/x.py"]
    assert found(tmp_path, "linked") == ["linked/x.py"]


def test_too_large_and_odd_files(tmp_path: Path) -> None:
    tree(tmp_path, "big.py", "n.ipynb", **{"big.py": "x = 1\n" * 10})
    assert problems(tmp_path, "big.py", max_file_size=20)[0][:2] == ("NAN903", "big.py")
    assert "60 bytes" in problems(tmp_path, ".", max_file_size=20)[0][2]
    assert problems(tmp_path, "big.py", max_file_size=0) == []
    assert problems(tmp_path, "n.ipynb") == [("NAN903", "n.ipynb", "is left out: notebooks are not read yet")]
    os.mkfifo(tmp_path / "pipe.py")
    assert problems(tmp_path, ".")[0] == ("NAN903", "pipe.py", "is no regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    tree(tmp_path, "x.py")
    (tmp_path / "x.py").chmod(0)
    assert problems(tmp_path, ".")[0][0] == "NAN902"


def test_folder_without_python(tmp_path: Path) -> None:
    tree(tmp_path, "a/readme.md")
    assert found(tmp_path) == [] and problems(tmp_path, ".") == []
