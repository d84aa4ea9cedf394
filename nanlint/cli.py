"""The command line: parse, call the engine, print. Findings go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nanlint import __version__
from nanlint.config import DTYPES, FORMATS, LEVELS, SEVERITIES, Settings, find_config, load
from nanlint.core.errors import NanlintError, UsageError

TRACE_HINT = "nanlint: this is a fault of nanlint itself; please report it with the lines above"


class Commands(click.Group):
    """`check` is meant where the first word is no command and not --help or --version."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h", "--version", "-V"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="nanlint")
def main() -> None:
    """Find numerical instability in PyTorch code before it runs.

    `nanlint PATH...` is the same as `nanlint check PATH...`; a folder that is named like a command is written ./rule.
    """


def words(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """A repeatable option whose values may also be separated by commas; None where it was not given."""
    return tuple(w.strip() for v in values for w in v.split(",") if w.strip()) if values else None


def _rules_option(flag: str, text: str) -> Callable[[Any], Any]:
    return click.option(flag, multiple=True, callback=words, metavar="RULES", help=text)


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@_rules_option("--select", "Rules to run: codes, prefixes of codes, names, or ALL.")
@_rules_option("--ignore", "Rules to leave out; the most specific of select and ignore decides.")
@_rules_option("--extend-select", "Rules to run as well.")
@_rules_option("--extend-ignore", "Rules to leave out as well.")
@click.option("--level", type=click.Choice(LEVELS), help="What a probe confirmed, or what is possible too.  [default: confirmed]")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="From which severity on the exit status is 1.  [default: info]")
@click.option("--fix", "do_fix", is_flag=True, help="Apply the fixes that keep every value.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Also apply fixes that change values near the fault.")
@click.option("--diff", "do_diff", is_flag=True, help="Print what --fix would change, and the findings to standard error.")
@click.option(
    "--output-format", type=click.Choice(FORMATS), envvar="NANLINT_OUTPUT_FORMAT", help="How to print.  [default: text]"
)
@click.option("-o", "--output-file", metavar="FILE", help="Write the findings to FILE.")
@click.option("--statistics/--no-statistics", default=None, help="Print how often each rule reported instead of the findings.")
@click.option(
    "--exclude",
    multiple=True,
    callback=words,
    metavar="PATTERNS",
    help="What to leave out, as in .gitignore, instead of the usual.",
)
@click.option("--extend-exclude", multiple=True, callback=words, metavar="PATTERNS", help="What to leave out as well.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what .gitignore does.  [default: yes]")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude even paths that are given.")
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input, which `-` reads.")
@click.option("--dtype", type=click.Choice(DTYPES), help="The dtype where the code names none.  [default: float32]")
@click.option("--probe/--no-probe", default=None, help="Break risky operations with real inputs.  [default: yes]")
@click.option("--python", metavar="PATH", help="An interpreter that has torch, for the probes.")
@click.option("-j", "--jobs", type=click.IntRange(0), help="Worker processes; 0 chooses.")
@click.option("--cache/--no-cache", default=None, help="Keep answers between runs.  [default: yes]")
@click.option("-n", "cache", flag_value=False, hidden=True)
@click.option(
    "--cache-dir", metavar="DIR", envvar="NANLINT_CACHE_DIR", help="Where to keep them.  [default: the user's cache folder]"
)
@click.option(
    "--max-file-size",
    type=click.IntRange(0),
    metavar="BYTES",
    help="Leave out larger files, and say so; 0: none.",
)
@click.option(
    "--config",
    multiple=True,
    metavar="FILE|KEY=VALUE",
    help="A TOML file for the nearest pyproject.toml, or one setting.",
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even where there are findings.")
@click.option("-v", "--verbose", is_flag=True, help="Name the ops that are not modelled, and where time went.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.pass_context  # type: ignore[arg-type]
def check(ctx: click.Context, paths: tuple[Path, ...], config: tuple[str, ...], isolated: bool, **options: Any) -> None:
    """Check files and folders (the current folder where none is given; `-` is standard input)."""
    from nanlint.command import Ask, run

    ask = Ask(**{k: options.pop(k) for k in ("do_fix", "do_diff", "stdin_filename", "exit_zero", "verbose", "quiet")})
    if not paths:
        paths = (Path("-") if ask.stdin_filename else Path(),)
    settings = _settings(paths, config, isolated)
    given = {k: v for k, v in options.items() if v is not None}
    ctx.exit(run(paths, settings.with_(**given), ask))


def _settings(paths: tuple[Path, ...], config: tuple[str, ...], isolated: bool) -> Settings:
    """The settings of the configuration that applies, before the options of the command line."""
    files = [c for c in config if "=" not in c or Path(c).is_file()]
    inline = tuple(c for c in config if c not in files)
    if len(files) > 1:
        raise UsageError(f"--config names two files, {files[0]} and {files[1]}: give one")
    if files and isolated:
        raise UsageError("--isolated and a --config file exclude each other")
    here = [p for p in paths if str(p) != "-"]
    return load(Path(files[0]) if files else None if isolated else find_config(here), inline)


@main.command()
@click.argument("name", required=False)
@click.option("--all", "show_all", is_flag=True, help="Explain every rule.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
def rule(name: str | None, show_all: bool, output_format: str) -> None:
    """Explain a rule, by its name or code; without one, list them all."""
    from nanlint.explain import explain

    click.echo(explain(name, show_all, output_format, load(find_config([])).rules), nl=False)


@main.command()
@click.argument("id")
@click.option("--python", metavar="PATH", help="An interpreter that has torch.")
@click.option("--cache-dir", metavar="DIR", envvar="NANLINT_CACHE_DIR", help="Where the witness is kept.")
@click.pass_context
def replay(ctx: click.Context, id: str, python: str | None, cache_dir: str | None) -> None:
    """Run a witness again."""
    from nanlint.command import replay_witness

    settings = load(find_config([]))
    ctx.exit(replay_witness(id, settings.with_(python=python or settings.python, cache_dir=cache_dir or settings.cache_dir)))


def entry() -> None:
    """Run the command line and exit: 0 nothing to report, 1 findings, 2 nanlint could not do its work."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = main.main(standalone_mode=False) or 0
        sys.stdout.flush()
    except click.exceptions.Abort:
        status = 130
    except click.ClickException as error:
        error.show()
        status = 2
    except NanlintError as error:
        print(f"nanlint: {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except Exception:
        import traceback

        traceback.print_exc()
        print(TRACE_HINT, file=sys.stderr)
        status = 2
    sys.exit(status)
