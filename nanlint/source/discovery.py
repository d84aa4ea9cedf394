"""Which files to check, in a fixed order: explicit paths as given, folders walked with the rules of .gitignore."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nanlint.core.errors import UnreadableFile
from nanlint.core.finding import Finding
from nanlint.source.problems import problem
from nanlint.source.text import read_source

__all__ = ["SourceFile", "discover", "read_source"]

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Wishes(Protocol):
    """The settings that decide which files are taken."""

    @property
    def exclude(self) -> tuple[str, ...]: ...
    @property
    def extend_exclude(self) -> tuple[str, ...]: ...
    @property
    def respect_gitignore(self) -> bool: ...
    @property
    def force_exclude(self) -> bool: ...
    @property
    def max_file_size(self) -> int: ...
    @property
    def root(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to check: where it is, how it is called in reports, its bytes where they are not on disk (standard input)."""

    path: Path
    display: str
    text: bytes | None = None

    def read(self) -> bytes:
        """The bytes of the file; raises UnreadableFile."""
        if self.text is not None:
            return self.text
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise UnreadableFile(f"cannot be read: {error.strerror or error}") from None

    @property
    def data(self) -> bytes | None:
        """The bytes of the file, or None where they cannot be read any more."""
        try:
            return self.read()
        except UnreadableFile:
            return None


def discover(paths: Sequence[Path], wishes: Wishes, cwd: Path | None = None) -> tuple[list[SourceFile], list[Finding]]:
    """The files under `paths`, each once and ordered by name, and a finding for every path that is not there."""
    cwd = cwd or Path.cwd()
    found: dict[str, SourceFile] = {}
    problems: list[Finding] = []
    for given in paths:
        path = Path(os.path.abspath(cwd / given))
        display = shown(path, cwd)
        if path.is_dir():
            if not (wishes.force_exclude and Excludes(wishes).cover(path)):
                for file in walk(path, wishes):
                    found.setdefault(os.fspath(file), SourceFile(file, shown(file, cwd)))
        elif path.suffix == ".ipynb":
            problems.append(problem(display, UnreadableFile("is left out: notebooks are not read yet", rule="skipped-file")))
        elif not (wishes.force_exclude and Excludes(wishes).cover(path)):
            found.setdefault(os.fspath(path), SourceFile(path, display))
    files = []
    for known in sorted(without_twins(found.values()), key=lambda f: f.display):
        error = _obstacle(known.path, wishes.max_file_size)
        if error is None:
            files.append(known)
        else:
            problems.append(problem(known.display, error))
    return files, problems


def _obstacle(path: Path, limit: int) -> UnreadableFile | None:
    """Why the file at `path` will not be read, if so."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return UnreadableFile("is a link to nothing" if path.is_symlink() else "there is no such file or folder")
    except OSError as error:
        return UnreadableFile(f"cannot be read: {error.strerror or error}")
    if not path.is_file():
        return UnreadableFile("is no regular file", rule="skipped-file")
    if limit and size > limit:
        return UnreadableFile(f"is left out: {size:,} bytes are more than max-file-size ({limit:,})", rule="skipped-file")
    return None if os.access(path, os.R_OK) else UnreadableFile("cannot be read: permission denied")


def without_twins(files: Iterable[SourceFile]) -> list[SourceFile]:
    """`files` without the links to others of them."""
    files = list(files)
    links = {f.path for f in files if f.path.is_symlink()}
    real = {os.path.realpath(f.path) for f in files if f.path not in links} if links else set()
    return [f for f in files if f.path not in links or os.path.realpath(f.path) not in real]


def shown(path: Path, cwd: Path) -> str:
    """`path` relative to the working directory, with forward slashes."""
    try:
        return Path(os.path.relpath(path, cwd)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


class Excludes:
    """The patterns of `exclude`: those without a slash go by the name of an entry, the others by its path from the root."""

    def __init__(self, wishes: Wishes) -> None:
        patterns = (*wishes.exclude, *wishes.extend_exclude)
        self.names = gitignore(p for p in patterns if "/" not in p.rstrip("/"))
        self.paths = gitignore(p for p in patterns if "/" in p.rstrip("/"))
        self.root = wishes.root

    def match(self, path: str, name: str, is_folder: bool) -> bool:
        """Whether this very entry is excluded; the folders above it are not looked at."""
        tail = "/" if is_folder else ""
        if self.names.match_file(name + tail):
            return not (is_folder and name in ("build", "dist") and os.path.exists(os.path.join(path, "__init__.py")))
        return bool(self.paths.patterns) and self.paths.match_file(_from(self.root, path) + tail)

    def cover(self, path: Path) -> bool:
        """Whether the entry or a folder above it, below the root, is excluded."""
        inside = path != self.root and self.root in path.parents
        chain = [path, *(p for p in path.parents if inside and self.root in p.parents)]
        return any(self.match(os.fspath(p), p.name, p != path or p.is_dir()) for p in chain)


def gitignore(lines: Iterable[str]) -> GitIgnoreSpec:
    """The matcher of some .gitignore lines; a line that is no pattern is ignored, as git does."""
    from pathspec import GitIgnoreSpec

    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
            kept.append(line)
        except ValueError:
            continue
    return GitIgnoreSpec.from_lines(kept)


def walk(root: Path, wishes: Wishes) -> Iterator[Path]:
    """The Python files under `root`; links to folders are not followed."""
    ignores = _ignores_above(root) if wishes.respect_gitignore else []
    yield from _walk(os.fspath(root), Excludes(wishes), ignores, wishes.respect_gitignore)


Ignores = list[tuple[str, "GitIgnoreSpec"]]


def _walk(folder: str, excludes: Excludes, ignores: Ignores, git: bool) -> Iterator[Path]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda e: e.name)
    except OSError:
        return
    if git and any(e.name == ".gitignore" for e in entries):
        ignores = [*ignores, *_ignores_in(folder)]
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and (not entry.name.endswith(".py") or entry.is_dir()):
            continue
        if excludes.match(entry.path, entry.name, is_folder) or _is_ignored(entry.path, is_folder, ignores):
            continue
        if not is_folder:
            yield Path(entry.path)
        elif not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
            yield from _walk(entry.path, excludes, ignores, git)


def _is_ignored(path: str, is_folder: bool, ignores: Ignores) -> bool:
    """The deepest .gitignore that has an opinion decides."""
    for folder, spec in reversed(ignores):
        said = spec.check_file(_from(folder, path) + ("/" if is_folder else "")).include
        if said is not None:
            return said
    return False


def _ignores_above(root: Path) -> Ignores:
    """The ignore files of the folders above `root`, up to the repository; none where they ignore `root` itself."""
    repository = next((p for p in (root, *root.parents) if (p / ".git").exists()), None)
    if repository is None:
        return []
    chain = [p for p in (*reversed(root.parents), root) if p == repository or repository in p.parents]
    found: Ignores = _ignores_in(os.fspath(repository), ".git/info/exclude")
    for folder in chain[:-1] if chain[-1] == root else chain:
        found += _ignores_in(os.fspath(folder))
        below = [p for p in (*chain, root) if folder in p.parents]
        if any(_is_ignored(os.fspath(p), True, found) for p in below):
            return []
    return found


def _ignores_in(folder: str, name: str = ".gitignore") -> Ignores:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return [(folder, gitignore(file.read().splitlines()))]
    except OSError:
        return []


def _from(folder: str | Path, path: str) -> str:
    return os.path.relpath(path, folder).replace(os.sep, "/")
