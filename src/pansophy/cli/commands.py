"""The commands. Heavy things are imported by the command that needs them.

Results go to standard output, everything else to standard error. What the user can
put right is one sentence and exit code 2; Ctrl-C is 130.
"""

import json
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

TableFile = Annotated[Path, typer.Argument(help="CSV, Parquet or Feather file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of folds and methods.")]


def tell(text):
    typer.echo(text, err=True)


@contextmanager
def one_sentence():
    """Turn what the user can put right into a sentence and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:
        tell("Interrupted.")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (ValueError, OSError) as error:
        tell(f"pansophy: {' '.join(str(error).split())}")
        raise typer.Exit(2) from None


def version(wanted: bool):
    if wanted:
        typer.echo(f"pansophy {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[
        bool,
        typer.Option("--version", callback=version, is_eager=True, help="Version."),
    ] = False,
):
    """All of machine learning behind one fit."""


@app.command()
def compare(
    table: TableFile,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for report, results and model."),
    ] = None,
    task: Annotated[
        str, typer.Option(help="auto, classification or regression.")
    ] = "auto",
    metric: Annotated[str | None, typer.Option(help="What ranks the methods.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names of methods, separated by commas.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of a cross-validation.")] = 5,
    repeats: Annotated[
        int | None, typer.Option(help="Cross-validations; fewer for more rows.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds that one method may take.")
    ] = 600.0,
    seed: Seed = 0,
    as_json: AsJson = False,
):
    """Try every suitable method on a table and rank them honestly."""
    with one_sentence():
        from ..compare import compare as run

        names = methods and [name.strip() for name in methods.split(",")]
        result = run(
            table,
            target,
            task=task,
            methods=names,
            folds=folds,
            repeats=repeats,
            metric=metric,
            time_limit=time_limit,
            random_state=seed,
        )
        show(result, out, as_json)


def show(result, out, as_json):
    """Print a comparison and write its files."""
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, default=str))
    else:
        typer.echo(str(result))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result.to_dict(), indent=2, default=str)
        (out / "results.json").write_text(text + "\n", "utf-8")
        result.save(out / "model.pansophy")
        result.report(out / "report.html")
        say = tell if as_json else typer.echo
        say("")
        say(f"Report: {(out / 'report.html').resolve()}")
        say(f"Model:  {(out / 'model.pansophy').resolve()}")
    if not result.complete:
        raise typer.Exit(130)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="File written by `pansophy compare`.")],
    table: TableFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file; else to the screen.")
    ] = None,
):
    """Predict for the rows of a table with a saved model."""
    with one_sentence():
        import pyarrow as pa
        from pyarrow import csv

        from ..compare import TableModel, read_table
        from ..persist import load

        kept = load(model)
        if not isinstance(kept, TableModel):
            raise ValueError(
                f"{model} holds a {type(kept).__name__}, not a model of `compare`; use "
                "pansophy.load in Python."
            )
        rows = read_table(table)
        extra = kept.schema.extra(rows)
        if extra:
            tell(f"Not used: {', '.join(extra)}.")
        columns = {kept.schema.target: kept.predict(rows)}
        if kept.schema.task == "classification":
            p = kept.predict_proba(rows)
            columns |= {f"p({c})": p[:, i] for i, c in enumerate(kept.schema.classes)}
        answer = pa.table(columns)
        if out is None:
            csv.write_csv(answer, sys.stdout.buffer)
        else:
            csv.write_csv(answer, out)
            tell(f"Wrote {answer.num_rows} predictions to {out}.")


@app.command()
def methods(
    family: Annotated[
        str | None, typer.Option(help="Only this family of methods.")
    ] = None,
    as_json: AsJson = False,
):
    """List what the library covers, by topic."""
    with one_sentence():
        from ..catalogue import read

        entries = read()
        families = sorted({e.family for e in entries})
        if family is not None and family not in families:
            raise ValueError(
                f"There is no family {family!r}; choose from {', '.join(families)}."
            )
        found = [e for e in entries if family in (None, e.family)]
        if as_json:
            typer.echo(json.dumps([e._asdict() for e in found], indent=2))
            return
        for e in found:
            typer.echo(f"{e.id}  {e.family:14} {e.topic}: {', '.join(e.names)}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = (
        Path(".demo")
    ),
    seed: Seed = 0,
):
    """Run the comparison on a bundled table and write the report."""
    with one_sentence():
        from ..compare import compare as run
        from ..datasets import load, path

        data = load()
        typer.echo(f"{data.about} ({path()})\n")
        show(run(path(), data.target, random_state=seed), out, False)
