"""Progress and callbacks: one thin adapter to scikit-learn 1.9's callback protocol.

That protocol is experimental, so nothing else in the package touches it. A driver
sees a `Task`: it opens one child per round and asks after each whether to stop. With
no callbacks set the task is `SILENT`, whose every method does nothing.

A progress bar is a callback like any other: `model.set_callbacks(ProgressBar())`,
or `verbose=1` on the estimator.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.callback import ProgressBar, with_callbacks

__all__ = ["SILENT", "ProgressBar", "Task", "watched"]


class Task(NamedTuple):
    """A node in the tree of what a fit is doing."""

    context: Any = None
    estimator: Any = None
    data: dict = {}
    snapshot: Callable | None = None  # state -> fitted attributes

    def child(self, name: str, total: int | None = 0) -> "Task":
        """Begin a subtask of `total` rounds (0: a single round)."""
        if self.context is None:
            return self
        context = self.context.subcontext(task_name=name, max_subtasks=total)
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self._replace(context=context)

    def end(self, state=None) -> bool:
        """Finish this task; True if a callback asks the loop to stop."""
        if self.context is None:
            return False
        attributes = None
        if self.snapshot is not None and state is not None:
            attributes = lambda: self.snapshot(state)
        return self.context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.data
        )


SILENT = Task()


def watched(estimator, run, *, total, X=None, y=None, snapshot=None, verbose=0):
    """`run(task)` with the estimator's callbacks set up before and torn down after.

    `total` is the number of rounds (None: unknown). `snapshot` maps the state of a
    round to fitted attributes, from which callbacks build a model to score.
    """
    own = list(getattr(estimator, "_skl_callbacks", []))
    bars = [ProgressBar()] if verbose and not own else []
    if not own and not bars:
        return run(SILENT)
    if bars:
        estimator.set_callbacks(*bars)
    data = {"X": X, "y": y}

    def managed(estimator):
        context = estimator._init_callback_context(max_subtasks=total)
        context.call_on_fit_task_begin(estimator=estimator, **data)
        task = Task(context, estimator, data, snapshot)
        result = run(task)
        task.end(getattr(result, "state", None))
        return result

    try:
        return with_callbacks(managed)(estimator)
    finally:
        if bars:
            estimator.set_callbacks()
