"""`pansophy export`: a kept model as ONNX or as a Python script."""

from pathlib import Path
from typing import Annotated

import typer

from .app import (
    AsJson,
    HelpfulCommand,
    ModelFile,
    app,
    check_file,
    errors_as_one_sentence,
    print_error,
    print_json,
)
from .model_commands import Overwrite, check_is_table_model, model_file

EXAMPLES = """Examples:

pansophy export run/model.pansophy model.onnx

pansophy export run/model.pansophy model.py"""


@app.command(cls=HelpfulCommand, epilog=EXAMPLES)
def export(
    model: ModelFile,
    out: Annotated[
        Path, typer.Argument(help="File to write: .onnx, or .py for a script.")
    ],
    table: Annotated[
        Path | None,
        typer.Option(help="Rows on which the answers of ONNX are compared."),
    ] = None,
    limit: Annotated[
        float, typer.Option(min=0, help="Largest difference of two answers.")
    ] = 1e-6,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Write a kept model as ONNX, checked on real rows, or as a Python script."""
    with errors_as_one_sentence():
        model = model_file(model)
        check_file(model, "a model")
        if out.suffix.lower() not in (".onnx", ".py"):
            raise ValueError(f"{out} should end in .onnx or .py.")
        if out.exists() and not overwrite:
            raise ValueError(f"{out} is there already; --overwrite replaces it.")
        if table is not None:
            check_file(table, "a table")
        told = write_export(model, out, table, limit)
        if as_json:
            print_json({"written": str(out), **told})
            return
        print_error(f"Wrote {out}.")
        if "rows_compared" in told:
            print_error(
                f"Its answers were compared on {told['rows_compared']:,} rows; the "
                f"largest difference was {told['largest_difference']:.1e}."
            )


def write_export(model, out, table, limit) -> dict:
    """Write the file; what is told of it."""
    from ..persist import load

    kept = load(model)
    check_is_table_model(kept, model)
    if out.suffix.lower() == ".py":
        from ..interchange import to_script

        to_script(kept, out)
        return {}
    from ..interchange import to_onnx

    report = to_onnx(kept, table, out, limit=limit)
    return {
        "inputs": report.inputs,
        "outputs": report.outputs,
        "rows_compared": report.rows,
        "largest_difference": report.difference,
    }
