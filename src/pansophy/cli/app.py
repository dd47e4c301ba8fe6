"""Parts shared by all commands: the application, its errors, and common options.

Results go to standard output, everything else to standard error. What the user can
put right is one sentence and exit code 2; Ctrl-C is 130, being terminated 143.
"""

import importlib
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

from .. import __version__
from ..core.plain_text import plain_text

JSON_FORMAT = 1  # of the keys that --json prints
UsageError: Any = typer.BadParameter.__base__  # that of the click that typer uses


def without_flag_types(params):
    """Parameters whose flags and free words show no type: they take no value of one."""
    for p in params:
        if getattr(p, "is_flag", False) and p.metavar is None:
            p.metavar = ""
        if p.nargs == -1:
            p.display_type_rich = lambda ctx: ""
    return params


class HelpfulCommand(TyperCommand):
    """A command whose help is completed when it is asked for.

    `late_help` has functions (help so far) -> help by the name of a parameter, for
    lists that take heavy imports.
    """

    late_help: ClassVar[dict[str, Callable[[str], str]]] = {}

    def format_help(self, ctx, formatter):
        for p in self.get_params(ctx):
            if p.name in self.late_help:
                help_text = getattr(p, "help", None) or ""
                setattr(p, "help", self.late_help[p.name](help_text))  # noqa: B010
        super().format_help(ctx, formatter)

    def parse_args(self, ctx, args):
        """A word too many, where a target may be meant, gets a question."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            if not any(p.name == "target" for p in self.params):
                raise
            if "--target" in given or "-t" in given:
                raise
            extra = self.words_too_many(ctx, given)
            if not extra:
                raise
            text = f"Unexpected {extra[0]!r}: --target {shlex.quote(extra[0])}?"
            raise UsageError(text, ctx) from error

    def words_too_many(self, ctx, args) -> list[str]:
        """Words of a command line that are neither options nor arguments."""
        try:
            return list(self.make_parser(ctx).parse_args(args)[1])
        except UsageError:  # an option that is not one
            return []


# the module of each command, in the order of the help
COMMANDS = {
    "compare": "compare_commands",
    "rerun": "compare_commands",
    "explore": "compare_commands",
    "forecast": "forecast_command",
    "demo": "compare_commands",
    "methods": "library_command",
    "learn": "learn_command",
    "predict": "model_commands",
    "export": "export_command",
    "serve": "model_commands",
    "mcp": "mcp_command",
    "studio": "studio_command",
    "plot": "model_commands",
    "play": "play_command",
    "index": "search_commands",
    "ask": "search_commands",
    "warm": "warm_command",
    "doctor": "doctor_command",
}


class HelpfulGroup(TyperGroup):
    """The group of all commands, each of which is loaded when it is asked for."""

    def _load(self, *names):
        """Import the modules of commands and make the commands."""
        for name in names:
            importlib.import_module(f".{COMMANDS[name]}", __package__)
        for info in app.registered_commands:
            name = info.name or getattr(info.callback, "__name__", "")
            if name in names and name not in self.commands:
                self.commands[name] = get_command_from_info(
                    info,
                    pretty_exceptions_short=app.pretty_exceptions_short,
                    rich_markup_mode=app.rich_markup_mode,
                )

    def get_params(self, ctx):
        return without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx, args):
        """`help` and `help COMMAND` ask for help as `--help` does."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx):
        self._load(*COMMANDS)
        return list(COMMANDS)

    def get_command(self, ctx, cmd_name):
        # of an unknown command the names of all others are suggested
        self._load(*([cmd_name] if cmd_name in COMMANDS else COMMANDS))
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            without_flag_types(command.get_params(ctx))
        return command


EXAMPLES = """Examples:

pansophy compare table.csv --target y

pansophy predict table-pansophy/model.pansophy new.csv --out answers.csv

pansophy methods which model for counts

pansophy index notes

pansophy ask "how do I reset the clock" --index notes

Complete names with the tab key after `pansophy --install-completion`."""

app = typer.Typer(
    name="pansophy",
    cls=HelpfulGroup,
    help="All of machine learning behind one fit.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

TABLE = "CSV, TSV, Parquet, Feather or JSON lines; .gz and .zst too."
TableFile = Annotated[Path, typer.Argument(help=TABLE)]
ModelFile = Annotated[Path, typer.Argument(help="File written by `pansophy compare`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of folds and methods.")]


def print_text(text):
    """Print to standard output, without anything that a terminal obeys."""
    typer.echo(plain_text(text))


def print_json(data):
    """Print one JSON object, with the version of its keys (docs/commands.md)."""
    data = {"format": JSON_FORMAT, **data}
    typer.echo(json.dumps(data, indent=2, default=str))


def print_error(text):
    typer.echo(plain_text(text), err=True)


@contextmanager
def errors_as_one_sentence():
    """Turn what the user can put right into a sentence and exit code 2."""
    try:
        with signals_as_exit():
            yield
    except KeyboardInterrupt:
        print_error("Interrupted.")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except MemoryError:
        print_error("pansophy: This needs more memory than is free.")
        raise typer.Exit(2) from None
    except OSError as error:
        print_error(f"pansophy: {file_error_sentence(error)}")
        raise typer.Exit(2) from None
    except (ValueError, ImportError) as error:
        print_error(f"pansophy: {' '.join(str(error).split())}")
        raise typer.Exit(2) from None


def file_error_sentence(error) -> str:
    """What the system says of a file, in words, without its numbers."""
    if error.filename is None or error.strerror is None:
        return " ".join(str(error).split())
    if isinstance(error, FileNotFoundError):
        return f"There is no file {error.filename}."
    return f"{error.filename}: {error.strerror}."


@contextmanager
def signals_as_exit():
    """Leave by `SystemExit` when asked to end, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number, frame):
        raise SystemExit(128 + number)

    names = [n for n in ("SIGTERM", "SIGHUP") if hasattr(signal, n)]
    before = {n: signal.signal(getattr(signal, n), leave) for n in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def check_file(path, what) -> None:
    """One sentence for a path that is not there, before anything heavy is imported."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not {what}.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.")


def split_names(text) -> list[str] | None:
    """`a, b` as names, `"a, b", c` with a comma in one; several texts are one list.

    None, an option that was not given, stays None.
    """
    texts = [text] if isinstance(text, str) else text
    if not texts:
        return None
    import csv

    rows = csv.reader(texts, skipinitialspace=True)
    return [t.strip() for row in rows for t in row if t.strip()]


def print_version(wanted: bool):
    if wanted:
        typer.echo(f"pansophy {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Version."
        ),
    ] = False,
):
    """All of machine learning behind one fit."""
