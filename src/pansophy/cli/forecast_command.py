"""`pansophy forecast`: the next steps of every series of a table."""

from pathlib import Path
from typing import Annotated

import typer

from .app import (
    AsJson,
    HelpfulCommand,
    Seed,
    TableFile,
    app,
    check_file,
    errors_as_one_sentence,
    print_error,
    print_json,
    print_text,
    split_names,
)
from .compare_commands import Quiet, default_folder

EXAMPLES = """Examples:

pansophy forecast sales.csv --time date --target sales --horizon 28

pansophy forecast sales.csv --time date --target sales --series store,item
--horizon 28 --known promo,price --season 7,365.25

pansophy forecast sales.csv --time date --target sales
--hierarchy region/store/item --horizon 28

pansophy predict sales-forecast/model.pansophy later.csv"""


@app.command("forecast", cls=HelpfulCommand, epilog=EXAMPLES)
def forecast_command(
    table: TableFile,
    time: Annotated[str, typer.Option(help="Column of dates, or of whole numbers.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Column to forecast.")],
    horizon: Annotated[int, typer.Option(min=1, help="Steps ahead.")],
    series: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns that name the series."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns that are known in the future."),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="A/B/C",
            help="Columns that name the series, coarsest first: totals are forecast "
            "too, and all add up.",
        ),
    ] = None,
    season: Annotated[
        str | None,
        typer.Option(metavar="7,365.25", help="Lengths of the seasons, in steps."),
    ] = None,
    level: Annotated[
        str, typer.Option(metavar="80,95", help="Shares of the intervals, in percent.")
    ] = "80,95",
    merge: Annotated[
        str | None,
        typer.Option(
            metavar="sum|mean", help="What becomes of rows with the same stamp."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Only these methods; all that suit if none."),
    ] = None,
    origins: Annotated[
        int, typer.Option(min=1, help="Most origins on which methods are compared.")
    ] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for all that is made.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the fits in the folder.")
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
):
    """Forecast every series of a table by the method that did best before."""
    with errors_as_one_sentence():
        check_file(table, "a table")
        from ..compare.execution.run_folder import refuse_own_input
        from ..forecasting import forecast as run

        stem = f"{table.name.split('.')[0]}-forecast"
        folder = out or default_folder(stem, resume)
        refuse_own_input(folder, table)
        result = run(
            table,
            time=time,
            target=target,
            horizon=horizon,
            series=split_names(series) or (),
            known=split_names(known) or (),
            hierarchy=split_path(hierarchy),
            season=split_numbers("--season", season),
            level=split_numbers("--level", level),
            merge=merge,
            methods=split_names(methods),
            n_origins=origins,
            seed=seed,
            folder=folder,
            resume=resume,
            progress=not quiet,
        )
        if as_json:
            print_json(result.to_dict())
        else:
            print_text(str(result))
        written = result.write(folder)
        say = print_error if as_json else print_text
        say("")
        for name, path in written.items():
            say(f"{name + ':':11}{path}")


def split_path(text) -> list[str] | None:
    """Names of columns separated by slashes."""
    if text is None:
        return None
    return [part.strip() for part in text.split("/") if part.strip()]


def split_numbers(option, text) -> list[float] | None:
    """Numbers separated by commas."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(
            f"{option} takes numbers separated by commas, got {text!r}."
        ) from None
