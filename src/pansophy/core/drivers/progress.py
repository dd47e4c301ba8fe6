"""Progress and callbacks of fits: an adapter to scikit-learn 1.9's callback protocol.

That protocol is experimental, so nothing else in the package touches it. A driver
sees a `FitTask`: it opens one child per round and asks after each whether to stop. With
no callbacks set the task is `SILENT`, whose every method does nothing.

A progress bar is a callback like any other: `model.set_callbacks(ProgressBar())`,
or `verbose=1` on the estimator. From `verbose=2` each iteration also prints a line.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

from sklearn.callback import ProgressBar, with_callbacks

__all__ = ["SILENT", "ProgressBar", "FitTask", "fit_task", "run_with_progress"]

# kinds of tasks that print a line, and its first word
LOGGED = {"step": "Iteration", "epoch": "Iteration", "start": "Start"}


class FitTask(NamedTuple):
    """A node in the tree of tasks of a fit: the fit, its starts, their iterations."""

    context: Any = None
    estimator: Any = None
    data: dict = {}
    snapshot: Callable | None = None  # state -> fitted attributes
    log: bool = False  # whether iterations print a line
    name: str = ""

    def child(self, name: str, total: int | None = 0) -> "FitTask":
        """Begin a subtask of `total` rounds (0: a single round)."""
        if self.context is None:
            return self
        context = self.context.subcontext(task_name=name, max_subtasks=total)
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self._replace(context=context, name=name)

    def end(self, state=None) -> bool:
        """Finish this task; True if a callback asks the loop to stop."""
        if self.context is None:
            return False
        kind, _, number = self.name.partition(" ")
        if self.log and kind in LOGGED and hasattr(state, "objective"):
            line = f"{LOGGED[kind]} {int(number) + 1}, objective = "
            print(line + f"{float(state.objective):.8g}")
        attributes = None
        if self.snapshot is not None and state is not None:
            attributes = lambda: self.snapshot(state)
        return self.context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.data
        )


SILENT = FitTask()


@contextmanager
def fit_task(estimator, *, total, X=None, y=None, snapshot=None, verbose=0):
    """The task of a whole fit, with the estimator's callbacks set up and torn down.

    `total` is the number of rounds (None: unknown). `snapshot` maps the state of a
    round to fitted attributes, from which callbacks build a model to score. The body
    ends the task it is given with `task.end(state)`.
    """
    callbacks = list(getattr(estimator, "_skl_callbacks", []))
    if not callbacks and not verbose:
        yield SILENT
        return
    if not callbacks:
        estimator.set_callbacks(ProgressBar())
    data = {"X": X, "y": y}
    try:
        context = estimator._init_callback_context(max_subtasks=total)
        context.call_on_fit_task_begin(estimator=estimator, **data)
        yield FitTask(context, estimator, data, snapshot, log=int(verbose) > 1)
    finally:
        _tear_down(estimator)
        if not callbacks:
            estimator.set_callbacks()


# scikit-learn tears callbacks down after a method that it decorates, here an empty one
_tear_down = with_callbacks(lambda estimator: None)


def run_with_progress(
    estimator, run, *, total, X=None, y=None, snapshot=None, verbose=0
):
    """`run(task)` inside a `fit_task`."""
    data = {"X": X, "y": y, "snapshot": snapshot}
    with fit_task(estimator, total=total, verbose=verbose, **data) as task:
        result = run(task)
        task.end(getattr(result, "state", None))
    return result
