"""What all commands share: the application, its errors, and common options.

Results go to standard output, everything else to standard error. What the user can
put right is one sentence and exit code 2; Ctrl-C is 130.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__

app = typer.Typer(
    name="pansophy",
    help="All of machine learning behind one fit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

TABLE = "CSV, TSV, Parquet, Feather or JSON lines; .gz and .zst too."
TableFile = Annotated[Path, typer.Argument(help=TABLE)]
ModelFile = Annotated[Path, typer.Argument(help="File written by `pansophy compare`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of folds and methods.")]


def print_error(text):
    typer.echo(text, err=True)


@contextmanager
def errors_as_one_sentence():
    """Turn what the user can put right into a sentence and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:
        print_error("Interrupted.")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (ValueError, OSError, ImportError) as error:
        print_error(f"pansophy: {' '.join(str(error).split())}")
        raise typer.Exit(2) from None


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
