"""`pansophy compare`, `explore`, `rerun` and `demo`."""

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from .app import (
    TABLE,
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
from .compare_options import (
    AnyTask,
    methods_help,
    metric_help,
    options_from_flags,
    takes_options,
)
from .early_checks import check_columns, check_compare_options

SCHEMA_ROWS = 100_000  # rows from which a schema is inferred


EXAMPLES = """Examples:

pansophy compare table.csv --target y

pansophy compare table.csv -t y --metric roc-auc --methods random-forest,lasso

pansophy compare table.parquet -t sales --time date --tune 20 --out run

pansophy compare table.csv -t y --out run --resume"""


class CompareCommand(HelpfulCommand):
    """The command `compare`, whose help lists the metrics and the methods."""

    late_help: ClassVar = {"metric": metric_help, "methods": methods_help}


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress on standard error.")
]


@app.command(cls=CompareCommand, epilog=EXAMPLES)
@takes_options
def compare(table: TableFile, as_json: AsJson = False, quiet: Quiet = False, **flags):
    """Try every suitable method on a table and rank them honestly."""
    with errors_as_one_sentence():
        check_file(table, "a table")
        run_compare(table, as_json, quiet, flags)


def run_compare(table, as_json, quiet, flags):
    """The comparison, with worker processes that start while the rest is imported."""
    from ..compare.execution.process_handles import fork_server_ahead
    from ..compare.resource_limits import worker_processes_wanted

    options = options_from_flags(flags)
    stem = f"{table.name.split('.')[0]}-pansophy"
    options["folder"] = options["folder"] or default_folder(stem, options["resume"])
    check_compare_options(options, table)
    wanted = worker_processes_wanted(flags["workers"]) and flags["cluster"] is None
    with fork_server_ahead(wanted):
        from ..compare import compare as run

        target = options.pop("target")
        result = run(
            table,
            target if len(target) > 1 else target[0],
            progress=not quiet,
            **options,
        )
        print_and_write(result, as_json, quiet)


def make_folder(path) -> None:
    """Make a folder and those above it; one sentence if that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{path} is a file, not a folder.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be made: {error.strerror}.") from None


def default_folder(stem, resume) -> Path:
    """A folder here that does not exist yet; the latest that does, to resume."""
    candidates = [Path(stem), *(Path(f"{stem}-{i}") for i in range(2, 1000))]
    free = next(i for i, p in enumerate(candidates) if not p.exists())
    return candidates[max(free - 1, 0) if resume else free]


def print_and_write(result, as_json, quiet=False):
    """Print a comparison and write its files."""
    if as_json:
        print_json(result.to_dict())
    else:
        from ..compare.report.terminal import print_comparison as on_terminal

        on_terminal(result)
    written = result.write(progress=not quiet)
    say = print_error if as_json else print_text
    say("")
    for name, path in written.items():
        say(f"{name + ':':9}{path}")
    if not result.complete:
        raise typer.Exit(130)


@app.command(cls=HelpfulCommand, epilog="Example: pansophy rerun table-pansophy")
def rerun(
    folder: Annotated[Path, typer.Argument(help="Folder of an earlier comparison.")],
    table: Annotated[
        Path | None, typer.Option(help="The table, if it has moved. " + TABLE)
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
):
    """Do a comparison again and say whether every number comes out the same."""
    with errors_as_one_sentence():
        from ..compare import rerun as again

        outcome = again(folder, table, progress=not quiet)
        if as_json:
            print_json(outcome.to_dict())
        else:
            print_text(str(outcome))
        if not outcome.same:
            raise typer.Exit(1)


@app.command(
    cls=HelpfulCommand,
    epilog="Example: pansophy explore table.csv --target y --out looked",
)
def explore(
    table: TableFile,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME",
            help="Column to predict, if any; again for several.",
        ),
    ] = None,
    task: AnyTask = "auto",
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
        typer.Option(metavar="A,B", help="Columns to leave out, separated by commas."),
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
        for path in (table, other):
            if path is not None:
                check_file(path, "a table")
        named = [name for name in (by, group, time) if name]
        check_columns(table, [*(target or ()), *named])
        from ..diagnose import explore as look
        from ..tables import infer_schema, sample_table_rows

        goal = target[0] if target and len(target) == 1 else target or None
        roles = {"group": group, "time": time, "ignore": split_names(ignore) or ()}
        findings = look(
            table,
            goal,
            task=None if task == "auto" else task,
            other=other,
            by=by,
            random_state=seed,
            **roles,
        )
        if as_json:
            print_json(findings.to_dict())
        else:
            print_text(str(findings))
        if out is not None:
            from ..compare.report.html import write_exploration
            from ..core.files.previous_files import move_to_previous

            make_folder(out)
            previous = move_to_previous(out, ["explore.html", "schema.toml"])
            if previous is not None:
                print_error(f"Earlier files of {out} are now in {previous}.")
            write_exploration(findings, out / "explore.html", table.name)
            seen = infer_schema(
                sample_table_rows(table, SCHEMA_ROWS, seed), goal, task, **roles
            )
            seen.write(out / "schema.toml")
            print_error(f"Report: {(out / 'explore.html').resolve()}")
            print_error(f"Schema: {(out / 'schema.toml').resolve()}")


@app.command(cls=HelpfulCommand)
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = (
        Path(".demo")
    ),
    seed: Seed = 0,
    as_json: AsJson = False,
):
    """Run the comparison on a bundled table and write the report."""
    with errors_as_one_sentence():
        run_demo(out, seed, as_json)


def run_demo(out, seed, as_json=False):
    """The comparison of the bundled table, and its files."""
    from ..compare.execution.process_handles import fork_server_ahead
    from ..compare.resource_limits import worker_processes_wanted

    with fork_server_ahead(worker_processes_wanted()):
        from ..compare import compare as run
        from ..datasets import load, path

        data = load()
        say = print_error if as_json else print_text
        say(f"{data.about} ({path()})\n")
        result = run(path(), data.target, folder=out, random_state=seed, progress=True)
        print_and_write(result, as_json)
        copy_table(path(), out / "table.csv")
        say(f"Table:   {(out / 'table.csv').resolve()}")


def copy_table(source, place) -> None:
    """Leave the table beside its results; another file of that name is kept."""
    from ..core.files.atomic_files import replacing_file
    from ..core.files.previous_files import move_to_previous

    content = Path(source).read_bytes()
    if place.is_file() and place.read_bytes() == content:
        return
    move_to_previous(place.parent, [place.name])
    with replacing_file(place) as draft:
        Path(draft).write_bytes(content)
