"""How fast nanlint is: `python benchmarks/speed.py PATH...` prints lines per CPU-second, cold and warm, and where the time goes.

CPU-seconds are those of this machine, all processes together; the wall time is printed beside them. Cold is a run with an empty
cache, warm the same run again. Shares are of the CPU time that the scan accounts for. Probes are off unless --probe is given: they measure torch, not nanlint.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nanlint.config import Settings
from nanlint.source.discovery import discover

STARTS = 5


def measure(command: list[str], env: dict[str, str]) -> tuple[float, float, str]:
    """CPU-seconds and wall seconds of a command and all it starts, and its standard error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stderr


def stages(said: str) -> list[tuple[str, float]]:
    """The times that `-v` prints."""
    rows = [line.rsplit(None, 2) for line in said.splitlines() if line.startswith("  ") and line.endswith(" s")]
    return [(row[0].strip(), float(row[1])) for row in rows]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--probe", action="store_true", help="with probes")
    parser.add_argument("--jobs", default="0", help="worker processes")
    args = parser.parse_args()
    files, _ = discover(args.paths, Settings())
    lines = sum(f.read().count(b"\n") for f in files)
    print(f"{len(files):,} files, {lines:,} lines; Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    start = min(measure([sys.executable, "-c", "pass"], dict(os.environ))[1] for _ in range(STARTS))
    print(f"Python's own start  {start:.3f} s")
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NANLINT_CACHE_DIR": cache}
        command = [sys.executable, "-m", "nanlint", "check", "--isolated", "-v", "--jobs", args.jobs, *map(str, args.paths)]
        command += [] if args.probe else ["--no-probe"]
        for name in ("cold", "warm"):
            cpu, wall, said = measure(command, env)
            print(f"{name}  {lines / cpu:10,.0f} lines per CPU-second   {cpu:.2f} CPU-s, {wall:.2f} s wall")
            total = sum(seconds for stage, seconds in stages(said) if not stage.endswith("(wall)")) or 1.0
            for stage, seconds in stages(said):
                share = "" if stage.endswith("(wall)") else f"{100 * seconds / total:5.0f} %"
                print(f"        {stage:<24} {seconds:8.2f} s {share}")


if __name__ == "__main__":
    main()
