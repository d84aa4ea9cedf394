"""A folder of hostile files, linted as a user would: none is lost, none is run, and nothing crashes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Nanlint = Callable[..., subprocess.CompletedProcess[str]]
HEAD = b"import torch\n\n\ndef f(x):\n    return torch.log(torch.sigmoid(x))\n\n\n"

UNREADABLE = {  # file, bytes, the code that must be said of it
    "latin_1.py": (HEAD + b"# \xe9\n", "NAN902"),
    "nul.py": (HEAD + b"x = '\0'\n", "NAN902"),
    "utf_16.py": (HEAD.decode().encode("utf-16"), "NAN902"),
    "cookie.py": (b"# coding: klingon\n" + HEAD, "NAN902"),
    "syntax.py": (HEAD + b"x = (\n", "NAN901"),
    "indentation.py": (HEAD + b"if x:\n        y\n    z\n", "NAN901"),
    "python_2.py": (HEAD + b"print 'hello'\n", "NAN901"),
    "nested.py": (HEAD + b"x = " + b"(" * 3000 + b")" * 3000 + b"\n", "NAN903"),
    "chained.py": (HEAD + b"x = a" + b" + a" * 20000 + b"\n", "NAN903"),
    "elif.py": (HEAD + b"if a: pass\n" + b"elif b: pass\n" * 5000, "NAN903"),
    "large.py": (HEAD + b"x = 1\n" * 1_000_000, "NAN903"),
}
READABLE = {
    "bom.py": b"\xef\xbb\xbf" + HEAD,
    "crlf.py": HEAD.replace(b"\n", b"\r\n"),
    "cr.py": HEAD.replace(b"\n", b"\r"),
    "form_feed.py": HEAD.replace(b"\n\n\n", b"\n\x0c\n\n"),
    "latin_1_cookie.py": b"# coding: latin-1\n# \xe9\n" + HEAD,
    "newer_types.py": HEAD + b"type X[T] = list[T]\n\n\ndef g[T](x: T) -> T:\n    return x\n",
    "newer_strings.py": HEAD + b'y = f"{a["b"]}" + t"{c}"\n',
    "newer_except.py": HEAD + b"try:\n    pass\nexcept A, B:\n    pass\n",
    "match.py": HEAD + b"match x:\n    case {'a': [1, *_]}:\n        pass\n",
    "surrogates.py": HEAD + b"x = '\\ud800'\n",
    "no_line_end.py": HEAD.rstrip(),
    "wide.py": HEAD + b"x = [" + b"-1.5, " * 20000 + b"]\n",
    "long_name.py": HEAD + b"x" * 100_000 + b" = 1\n",
    "deep_blocks.py": HEAD + b"".join(b" " * n + b"if x:\n" for n in range(90)) + b" " * 90 + b"pass\n",
}
SILENT = {"empty.py": b"", "blank.py": b"\n \n\t\n", "comment.py": b"# torch", "string.py": b'"""torch"""'}
INSIDE = b"""import os, subprocess, sys, torch
import torch.nn.functional as F
from torch.utils import cpp_extension


def deleting(function, cleanup=open("executed", "w")):
    exec("open('executed', 'w')")
    return function


@deleting
@torch.compile(backend=exec("open('executed', 'w')"))
@torch.library.custom_op("a::b", mutates_args=(), device_types=os.system("touch executed"))
def f(x: exec("open('executed', 'w')"), path="executed", p=os.system("touch executed")) -> os.system("touch executed"):
    exec("open('executed', 'w')")
    eval("open('executed', 'w')")
    os.system("touch executed")
    subprocess.run(["touch", "executed"])
    __import__("os").system("touch executed")
    getattr(os, "system")("touch executed")
    torch.save(x, path)
    torch.ops.load_library("executed.so")
    torch.hub.load("executed", "executed", source="local")
    cpp_extension.load("executed", ["executed.cpp"])
    torch._C._jit_set_profiling_mode(open("executed", "w"))
    x.numpy().tofile("executed")
    x = x + torch.from_file("executed", shared=True, size=4)
    x = x * torch.load("executed", weights_only=False)
    x = torch.utils.cpp_extension.load_inline("executed", "executed")(x)
    x = F.__dict__["exec"](x) if x.sum() > 0 else torch.sigmoid(x)
    x = x[exec("open('executed', 'w')")] / torch.tensor(open("executed", "w").write("x"))
    x.register_hook(lambda g: open("executed", "w"))
    y = f"{open('executed', 'w')}"
    assert os.system("touch executed") == 0
    with open("executed", "w") as file:
        file.write(y)
    return torch.log(torch.sigmoid(x)).apply_(lambda v: open("executed", "w"))


class Module(torch.nn.Module):
    scale = open("executed", "w")
    exec("open('executed', 'w')")

    def __init__(self):
        super().__init__()
        self.width = os.system("touch executed")
        self.head = torch.nn.Linear(4, self.width)

    def __getattr__(self, name):
        return os.system("touch executed")

    @property
    def evil(self):
        return open("executed", "w")

    def forward(self, x):
        return torch.log(torch.softmax(self.head(x) * self.evil, -1)) / self.head(x).norm()


torch.log = lambda x: open("executed", "w")
torch.Tensor.log = torch.log
"""
TRAPS = {
    "inside.py": INSIDE,
    "deletes.py": b"import shutil, pathlib\nshutil.rmtree(pathlib.Path(__file__).parent / 'precious')\n" + HEAD,
    "executes.py": b"exec(\"open('executed', 'w')\")\neval(\"open('executed', 'w')\")\n" + HEAD,
    "torch.py": b"open('executed', 'w')\n",
    "conftest.py": b"open('executed', 'w')\n",
    "sitecustomize.py": b"open('executed', 'w')\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    where = tmp_path / "code"
    (where / "precious").mkdir(parents=True)
    files = {**{n: d for n, (d, _) in UNREADABLE.items()}, **READABLE, **SILENT, **TRAPS}
    for name, data in files.items():
        (where / name).write_bytes(data)
    (where / "gone.py").symlink_to(where / "nowhere.py")
    (where / "loop").symlink_to(where)
    return where


def test_every_file_has_its_answer(folder: Path, nanlint: Nanlint) -> None:
    done = nanlint("--isolated", "--no-probe", "--no-cache", "--level", "possible", "--output-format", "json", ".", cwd=folder)
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    said: dict[str, set[str]] = {}
    for finding in answer["findings"]:
        said.setdefault(finding["path"], set()).add(finding["code"])
    expected = {name: {code} for name, (_, code) in UNREADABLE.items()} | {"gone.py": {"NAN902"}}
    expected |= {name: {"NAN101"} for name in [*READABLE, "deletes.py", "executes.py"]}
    assert said.pop("inside.py") >= {"NAN101", "NAN103"}
    assert said == expected
    assert len(answer["summary"]["errors"]) == len(UNREADABLE) + 1
    again = nanlint("--isolated", "--no-probe", "--no-cache", "--level", "possible", "--output-format", "json", ".", cwd=folder)
    assert again.stdout == done.stdout


def test_nothing_is_run(folder: Path, nanlint: Nanlint) -> None:
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    nanlint("--isolated", "--no-cache", ".", cwd=folder)
    nanlint("--isolated", "--no-cache", "--diff", "--unsafe-fixes", ".", cwd=folder)
    assert (folder / "precious").is_dir() and not list(folder.rglob("executed*"))
    assert {p: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


def test_lines_are_right_whatever_the_line_ends(folder: Path, nanlint: Nanlint) -> None:
    done = nanlint("--isolated", "--no-probe", "--level", "possible", "--output-format", "json", "bom.py", "crlf.py", "cr.py", "form_feed.py", cwd=folder)
    places = {(f["path"], f["line"], f["column"]) for f in json.loads(done.stdout)["findings"]}
    assert places == {(name, 5, 12) for name in ("bom.py", "crlf.py", "cr.py", "form_feed.py")}
