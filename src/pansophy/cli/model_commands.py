"""`pansophy predict`, `serve` and `plot`: commands that use a kept model."""

import inspect
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from .app import (
    AsJson,
    HelpfulCommand,
    ModelFile,
    TableFile,
    app,
    check_file,
    errors_as_one_sentence,
    print_error,
    print_json,
    split_names,
)
from .early_checks import check_model_file

Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace the file of --out, whatever it holds now."
    ),
]


@app.command(
    cls=HelpfulCommand,
    epilog="Example: pansophy predict run/model.pansophy new.csv -o answers.csv",
)
def predict(
    model: ModelFile,
    table: TableFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File, its kind by its name; else CSV here."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="Columns to copy, separated by commas; * for all."),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Add intervals or sets that hold this often, over all rows; sets of "
            "more than two classes are randomised by the row."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Add what each column did for each row.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Predict for the rows of a table, of any size, with a saved model."""
    with errors_as_one_sentence():
        model = model_file(model)
        check_file(model, "a model")
        check_model_file(model)
        check_file(table, "a table")
        if as_json and out is None:
            raise ValueError("--json tells of the file of --out, which is not given.")
        if out is not None and out.exists() and out.samefile(model):
            raise ValueError("The predictions cannot replace the model they are of.")
        from ..compare.model.streaming import predict_stream
        from ..persist import load

        kept = load(model)
        if type(kept).__name__ == "ForecastModel":
            if explain or keep is not None:
                raise ValueError(
                    f"{model} holds forecasts, which have neither --keep nor "
                    "--explain: they are rows of their own."
                )
            write_forecasts(kept, model, table, out, level, overwrite, as_json)
            return
        check_is_table_model(kept, model)
        with model_faults_as_value_error(model):
            done = predict_stream(
                kept,
                table,
                sys.stdout.buffer if out is None else out,
                keep="*" if keep == "*" else split_names(keep) or (),
                level=level,
                explain=explain,
                overwrite=overwrite,
            )
        for finding in done.findings:
            print_error(str(finding))
        if as_json:
            findings = [str(finding) for finding in done.findings]
            told = {"written": str(out), "rows": done.rows, "findings": findings}
            print_json(told)
        elif out is not None:
            print_error(f"Wrote {done.rows} predictions to {out}.")


def write_forecasts(kept, model, table, out, level, overwrite, as_json):
    """Forecasts of a model of `forecast`, after the later rows of a table."""
    from ..compare.model.table_writers import table_writer

    if out is not None and out.exists() and not overwrite:
        raise ValueError(f"{out} exists already: give --overwrite to replace it.")
    with model_faults_as_value_error(model):
        levels = None if level is None else [100 * level if level < 1 else level]
        moved = kept.extended(table)
        found = moved.predict_table(level=levels)
        with table_writer(sys.stdout.buffer if out is None else out) as write:
            write(found)
    for note in moved.notes:
        print_error(note)
    if as_json:
        told = {"written": str(out), "rows": len(found), "findings": moved.notes}
        print_json(told)
    elif out is not None:
        print_error(f"Wrote {len(found)} forecasts to {out}.")


def model_file(path) -> Path:
    """The file of a model; the folder of a run stands for the model in it."""
    if path.is_dir():
        for name in ("model.pansophy", "agent.pansophy"):
            if (path / name).is_file():
                return path / name
    return path


@contextmanager
def model_faults_as_value_error(path):
    """Say that a model does not work, where its content led to an error of Python.

    A file that was changed by hand may be whole and hold sound arrays, and still mean
    nothing.
    """
    try:
        yield
    except (ValueError, OSError, ImportError):
        raise
    except Exception as error:
        raise ValueError(
            f"The model in {path} cannot predict: {type(error).__name__}: {error}"
        ) from error


def check_is_table_model(kept, path):
    from ..compare import TableModel

    if not isinstance(kept, TableModel):
        raise ValueError(
            f"{path} holds a {type(kept).__name__}, not a model of `compare`; use "
            "pansophy.load in Python."
        )


@app.command()
def serve(
    model: ModelFile,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Most rows of a request.")
    ] = 10_000,
    max_bytes: Annotated[
        int, typer.Option(min=1000, help="Most bytes of a request.")
    ] = 10_000_000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PANSOPHY_TOKEN",
            help="Word that clients must send as 'Authorization: Bearer WORD'; better "
            "set as PANSOPHY_TOKEN, which other users of this machine cannot see.",
        ),
    ] = None,
    allow_host: Annotated[
        str | None,
        typer.Option(
            help="Further names by which clients may call this server, separated by "
            "commas; * for any. By default only localhost and the host above."
        ),
    ] = None,
):
    """Answer predictions over HTTP with a saved model."""
    with errors_as_one_sentence():
        model = model_file(model)
        check_file(model, "a model")
        check_model_file(model)
        from .. import serve as server

        server.run(
            model,
            host=host,
            port=port,
            workers=workers,
            max_rows=max_rows,
            max_bytes=max_bytes,
            token=token,
            hosts=split_names(allow_host),
        )


def ranked_method_name(result, name) -> str:
    """The method of a comparison that is meant, whatever its capitals and hyphens."""
    plain = lambda text: text.lower().replace("-", " ")
    known = {plain(r.method): r.method for r in result.leaderboard}
    if plain(name) not in known:
        raise ValueError(f"method must be one of {', '.join(known)}, got {name!r}.")
    return known[plain(name)]


def plot_kinds() -> list[str]:
    """Kinds of pictures of a comparison."""
    from ..compare import Comparison

    names = [k for k in dir(Comparison) if k.startswith("plot_")]
    return [k.removeprefix("plot_").replace("_", "-") for k in names]


def complete_plot_kind(incomplete: str) -> list[str]:
    return [k for k in plot_kinds() if k.startswith(incomplete)]


def free_picture_path(path) -> Path:
    """The path, or one of another number where a file that we did not draw stands."""
    from ..core.files.previous_files import numbered_names
    from ..plot.style import is_own_picture

    return next(p for p in numbered_names(path) if not p.exists() or is_own_picture(p))


def refuse_foreign_picture(path) -> None:
    """One sentence where a file stands that we did not draw."""
    from ..plot.style import is_own_picture

    if path.exists() and not is_own_picture(path):
        raise ValueError(
            f"{path} is there and was not drawn by `pansophy plot`; --overwrite "
            "replaces it."
        )


class PlotCommand(HelpfulCommand):
    """The command `plot`, whose help lists the kinds of pictures."""

    late_help: ClassVar = {"kind": lambda text: f"{text} {', '.join(plot_kinds())}."}


@app.command(
    cls=PlotCommand, epilog="Example: pansophy plot run roc --method random-forest"
)
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of a comparison.")],
    kind: Annotated[
        str,
        typer.Argument(help="What to draw:", autocompletion=complete_plot_kind),
    ],
    method: Annotated[
        str | None, typer.Option(help="Of which method; of the kept one by default.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Picture: .svg, .png or .pdf."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="The table, if it has moved.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Draw one picture of a comparison: of all methods, or of one of them."""
    with errors_as_one_sentence():
        from ..compare import reopen
        from ..plot.style import save

        kind = kind.replace("_", "-").replace(" ", "-")
        if kind not in plot_kinds():
            raise ValueError(
                f"kind must be one of {', '.join(plot_kinds())}, got {kind!r}."
            )
        result = reopen(folder, table)
        drawing = getattr(result, f"plot_{kind.replace('-', '_')}")
        options = {}
        if method is not None:
            if "method" not in inspect.signature(drawing).parameters:
                raise ValueError(f"{kind} is a picture of all methods.")
            options["method"] = ranked_method_name(result, method)
        if out is not None and not overwrite:
            refuse_foreign_picture(out)
        out = out or free_picture_path(folder / f"{kind}.svg")
        save(drawing(**options), out)
        if as_json:
            print_json({"written": str(out), "kind": kind, **options})
        else:
            print_error(f"Wrote {out}.")
