"""A bar on a terminal, silence in a log."""

import sys
from contextlib import contextmanager


@contextmanager
def reporter(total, wanted=None):
    """Yields `begin(name, folds) -> tick`, with or without a bar behind it."""
    shown = sys.stderr.isatty() if wanted is None else wanted
    if not shown:
        yield lambda name, folds: lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, force_terminal=wanted)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        done = 0

        def begin(name, folds):
            nonlocal done
            bar.update(task, description=name, completed=done)
            done += folds  # a method that stops early still moves the bar on
            return lambda: bar.advance(task)

        yield begin
