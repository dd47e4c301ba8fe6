"""`pansophy predict`, `serve` and `plot`: commands that use a kept model."""

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .app import (
    ModelFile,
    TableFile,
    app,
    errors_as_one_sentence,
    print_error,
    split_names,
)


@app.command()
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
        float | None, typer.Option(help="Add intervals or sets that hold this often.")
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Add what each column did for each row.")
    ] = False,
):
    """Predict for the rows of a table, of any size, with a saved model."""
    with errors_as_one_sentence():
        from ..compare.model.streaming import predict_stream
        from ..persist import load

        kept = load(model)
        check_is_table_model(kept, model)
        with model_faults_as_value_error(model):
            done = predict_stream(
                kept,
                table,
                sys.stdout.buffer if out is None else out,
                keep="*" if keep == "*" else split_names(keep) or (),
                level=level,
                explain=explain,
            )
        for finding in done.findings:
            print_error(str(finding))
        if out is not None:
            print_error(f"Wrote {done.rows} predictions to {out}.")


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


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of a comparison.")],
    kind: Annotated[str, typer.Argument(help="scores, roc, calibration, ...")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Picture: .svg, .png or .pdf."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="The table, if it has moved.")
    ] = None,
):
    """Draw one picture of a comparison: of its scores, or of its winner."""
    with errors_as_one_sentence():
        from ..compare import Comparison, reopen
        from ..plot.style import save

        name = f"plot_{kind.replace('-', '_').replace(' ', '_')}"
        able = [k for k in dir(Comparison) if k.startswith("plot_")]
        if name not in able:
            kinds = ", ".join(k[5:].replace("_", "-") for k in able)
            raise ValueError(f"kind must be one of {kinds}, got {kind!r}.")
        result = reopen(folder, table)
        out = out or folder / f"{kind}.svg"
        save(getattr(result, name)(), out)
        print_error(f"Wrote {out}.")
