"""`pansophy compare`, `explore`, `rerun` and `demo`: a table in, an answer out."""

import json
from pathlib import Path
from typing import Annotated

import typer

from . import compare_options
from .app import (
    TABLE,
    AsJson,
    Seed,
    TableFile,
    app,
    errors_as_one_sentence,
    parse_pairs,
    print_error,
    split_names,
)

SCHEMA_ROWS = 100_000  # rows that a schema is read off
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for report, results and model."),
]


@app.command()
def compare(
    table: TableFile,
    target: compare_options.Target,
    out: Out = None,
    task: compare_options.Task = "auto",
    group: compare_options.Group = None,
    time: compare_options.Time = None,
    weight: compare_options.Weight = None,
    ignore: compare_options.Ignore = None,
    role: compare_options.Role = None,
    schema: compare_options.Schema = None,
    test: compare_options.Test = None,
    max_rows: compare_options.MaxRows = 1_000_000,
    methods: compare_options.Methods = None,
    folds: compare_options.Folds = 5,
    repeats: compare_options.Repeats = None,
    together: compare_options.Together = False,
    gap: compare_options.Gap = 0,
    tune: compare_options.Tune = 0,
    blend: compare_options.Blend = None,
    calibrate: compare_options.Calibrate = False,
    workers: compare_options.Workers = None,
    time_limit: compare_options.TimeLimit = 300.0,
    memory_limit: compare_options.MemoryLimit = None,
    max_fits: compare_options.MaxFits = None,
    stop_after: compare_options.StopAfter = None,
    cluster: compare_options.Cluster = None,
    resume: compare_options.Resume = False,
    seed: Seed = 0,
    metric: compare_options.Metric = None,
    keep: compare_options.Keep = "simplest",
    by: compare_options.By = None,
    costs: compare_options.Costs = None,
    as_json: AsJson = False,
):
    """Try every suitable method on a table and rank them honestly."""
    with errors_as_one_sentence():
        from ..compare import compare as run

        result = run(
            table,
            target if len(target) > 1 else target[0],
            task=task,
            group=group,
            time=time,
            weight=weight,
            ignore=split_names(ignore),
            roles=parse_pairs(role or (), "role", "zip=category") or None,
            schema=schema,
            test=test,
            max_rows=max_rows,
            methods=split_names(methods),
            folds=folds,
            repeats=repeats,
            together=together,
            gap=gap,
            tune=tune,
            blend=blend,
            calibrate=calibrate,
            workers=workers,
            time_limit=time_limit,
            memory_limit=memory_limit,
            max_fits=max_fits,
            stop_after=stop_after,
            cluster=cluster,
            metric=metric,
            keep=keep,
            by=by,
            costs=parse_costs(costs),
            random_state=seed,
            folder=out
            or default_folder(f"{table.name.split('.')[0]}-pansophy", resume),
            resume=resume,
        )
        print_and_write(result, as_json)


def default_folder(stem, resume) -> Path:
    """A folder here that does not exist yet; the latest that does, to resume."""
    taken = [Path(stem), *(Path(f"{stem}-{i}") for i in range(2, 1000))]
    free = next(i for i, p in enumerate(taken) if not p.exists())
    return taken[max(free - 1, 0) if resume else free]


def parse_costs(text) -> dict | None:
    """`"yes=5,no=1"` as a dict."""
    if text is None:
        return None
    found = parse_pairs(split_names(text), "costs", "yes=5,no=1")
    try:
        return {name: float(cost) for name, cost in found.items()}
    except ValueError:
        raise ValueError(
            f"costs must look like `yes=5,no=1`, one number a class, got {text!r}."
        ) from None


def print_and_write(result, as_json):
    """Print a comparison and write its files."""
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, default=str))
    else:
        from ..compare.report.terminal import print_comparison as on_terminal

        on_terminal(result)
    written = result.write()
    say = print_error if as_json else typer.echo
    say("")
    for name, path in written.items():
        say(f"{name + ':':9}{path}")
    if not result.complete:
        raise typer.Exit(130)


@app.command()
def rerun(
    folder: Annotated[Path, typer.Argument(help="Folder of an earlier comparison.")],
    table: Annotated[
        Path | None, typer.Option(help="The table, if it has moved. " + TABLE)
    ] = None,
    as_json: AsJson = False,
):
    """Do a comparison again and say whether every number comes out the same."""
    with errors_as_one_sentence():
        from ..compare import rerun as again

        outcome = again(folder, table)
        typer.echo(json.dumps(outcome.to_dict()) if as_json else str(outcome))
        if not outcome.same:
            raise typer.Exit(1)


@app.command()
def explore(
    table: TableFile,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", "-t", help="Column to predict, if any; again for several."
        ),
    ] = None,
    task: compare_options.AnyTask = "auto",
    other: Annotated[
        Path | None, typer.Option(help="A second table: what has drifted?")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column within whose levels comparisons are repeated."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column whose rows belong together.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Column that orders rows.")] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out, separated by commas."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for explore.html and schema.toml."),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
):
    """Look at a table before anything is learned from it."""
    with errors_as_one_sentence():
        from ..diagnose import explore as look
        from ..tables import infer, sample

        goal = target[0] if target and len(target) == 1 else target or None
        asked = {"group": group, "time": time, "ignore": split_names(ignore) or ()}
        found = look(
            table,
            goal,
            task=None if task == "auto" else task,
            other=other,
            by=by,
            random_state=seed,
            **asked,
        )
        if as_json:
            typer.echo(json.dumps(found.to_dict(), indent=2, default=str))
        else:
            typer.echo(str(found))
        if out is not None:
            from ..compare.report.html import write_exploration

            out.mkdir(parents=True, exist_ok=True)
            write_exploration(found, out / "explore.html", table.name)
            seen = infer(sample(table, SCHEMA_ROWS, seed), goal, task, **asked)
            seen.write(out / "schema.toml")
            print_error(f"Report: {(out / 'explore.html').resolve()}")
            print_error(f"Schema: {(out / 'schema.toml').resolve()}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = (
        Path(".demo")
    ),
    seed: Seed = 0,
):
    """Run the comparison on a bundled table and write the report."""
    with errors_as_one_sentence():
        import shutil

        from ..compare import compare as run
        from ..datasets import load, path

        data = load()
        typer.echo(f"{data.about} ({path()})\n")
        if (out / "plan.json").exists():  # an earlier demo, and nothing else
            shutil.rmtree(out)
        print_and_write(run(path(), data.target, folder=out, random_state=seed), False)
