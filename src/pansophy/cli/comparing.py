"""`pansophy compare`, `explore`, `rerun` and `demo`: a table in, an answer out."""

import json
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .app import (
    TABLE,
    AsJson,
    Seed,
    TableFile,
    app,
    listed,
    one_sentence,
    paired,
    tell,
)

SEEN = 100_000  # rows that a schema is read off
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for report, results and model."),
]


@app.command()
def compare(
    table: TableFile,
    target: options.Target,
    out: Out = None,
    task: options.Task = "auto",
    group: options.Group = None,
    time: options.Time = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    role: options.Role = None,
    schema: options.Schema = None,
    test: options.Test = None,
    max_rows: options.MaxRows = 1_000_000,
    methods: options.Methods = None,
    folds: options.Folds = 5,
    repeats: options.Repeats = None,
    together: options.Together = False,
    gap: options.Gap = 0,
    tune: options.Tune = 0,
    blend: options.Blend = None,
    calibrate: options.Calibrate = False,
    workers: options.Workers = None,
    time_limit: options.TimeLimit = 300.0,
    memory_limit: options.MemoryLimit = None,
    max_fits: options.MaxFits = None,
    stop_after: options.StopAfter = None,
    cluster: options.Cluster = None,
    resume: options.Resume = False,
    seed: Seed = 0,
    metric: options.Metric = None,
    keep: options.Keep = "simplest",
    by: options.By = None,
    costs: options.Costs = None,
    as_json: AsJson = False,
):
    """Try every suitable method on a table and rank them honestly."""
    with one_sentence():
        from ..compare import compare as run

        result = run(
            table,
            target if len(target) > 1 else target[0],
            task=task,
            group=group,
            time=time,
            weight=weight,
            ignore=listed(ignore),
            roles=paired(role or (), "role", "zip=category") or None,
            schema=schema,
            test=test,
            max_rows=max_rows,
            methods=listed(methods),
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
            costs=priced(costs),
            random_state=seed,
            folder=out or unused(f"{table.name.split('.')[0]}-pansophy", resume),
            resume=resume,
        )
        show(result, as_json)


def unused(stem, resume) -> Path:
    """A folder here that does not exist yet; the latest that does, to resume."""
    taken = [Path(stem), *(Path(f"{stem}-{i}") for i in range(2, 1000))]
    free = next(i for i, p in enumerate(taken) if not p.exists())
    return taken[max(free - 1, 0) if resume else free]


def priced(text) -> dict | None:
    """`"yes=5,no=1"` as a dict."""
    if text is None:
        return None
    found = paired(listed(text), "costs", "yes=5,no=1")
    try:
        return {name: float(cost) for name, cost in found.items()}
    except ValueError:
        raise ValueError(
            f"costs must look like `yes=5,no=1`, one number a class, got {text!r}."
        ) from None


def show(result, as_json):
    """Print a comparison and write its files."""
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, default=str))
    else:
        from ..compare.telling.text import show as on_terminal

        on_terminal(result)
    written = result.write()
    say = tell if as_json else typer.echo
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
    with one_sentence():
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
    task: options.AnyTask = "auto",
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
    with one_sentence():
        from ..diagnose import explore as look
        from ..tables import infer_schema, sample_table_rows

        goal = target[0] if target and len(target) == 1 else target or None
        asked = {"group": group, "time": time, "ignore": listed(ignore) or ()}
        found = look(
            table, goal, task=None if task == "auto" else task, other=other, by=by,
            random_state=seed, **asked,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(found.to_dict(), indent=2, default=str))
        else:
            typer.echo(str(found))
        if out is not None:
            from ..compare.telling.report import explore_page

            out.mkdir(parents=True, exist_ok=True)
            explore_page(found, out / "explore.html", table.name)
            seen = infer_schema(
                sample_table_rows(table, SEEN, seed), goal, task, **asked
            )
            seen.write(out / "schema.toml")
            tell(f"Report: {(out / 'explore.html').resolve()}")
            tell(f"Schema: {(out / 'schema.toml').resolve()}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = (
        Path(".demo")
    ),
    seed: Seed = 0,
):
    """Run the comparison on a bundled table and write the report."""
    with one_sentence():
        import shutil

        from ..compare import compare as run
        from ..datasets import load, path

        data = load()
        typer.echo(f"{data.about} ({path()})\n")
        if (out / "plan.json").exists():  # an earlier demo, and nothing else
            shutil.rmtree(out)
        show(run(path(), data.target, folder=out, random_state=seed), False)
