"""Mistake-driven learning: the driver of the perceptron and its relatives.

    theta <- theta_0
    repeat   for rows i in order: if h(x_i; theta) != y_i, theta <- update(theta, i)
    until    a pass without a mistake                                            (1)

On convergence the training rows have no errors. The perceptron (on vectors, kernel
expansions or structures) is this loop with its particular update. If the classes cannot
be separated the loop does not converge, and `max_iter` or `tol` ends it.

`until_clean` is the loop over passes, for methods whose pass is a compiled function;
`mistake_driven` is the loop of eq. (1) over single rows.

Refs      [Rosenblatt1958]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng


class MistakeDrivenState(NamedTuple):
    """A model and its counts of mistakes."""

    model: Any  # theta
    objective: float  # mistakes of the last pass
    mistakes: int  # of all passes
    best: float  # fewest mistakes of a pass
    stalls: int  # passes without a clear improvement
    rows: tuple = ()  # mistaken rows, in order, if they are recorded


def until_clean(
    one_pass: Callable,
    model,
    *,
    max_iter: int = 1000,
    tol: float | None = None,
    patience: int = 5,
    task: FitTask = SILENT,
) -> Result:
    """Repeat `one_pass(model) -> (model, mistakes)` until a pass makes no mistake.

    With `tol` the loop also ends when `patience` successive passes have not reduced the
    number of mistakes by more than tol. `history` has "objective", the mistakes
    of each pass.
    """

    def step(s):
        model, mistakes, *rows = one_pass(s.model)
        stalled = tol is not None and mistakes > s.best - tol
        return MistakeDrivenState(
            model=model,
            objective=float(mistakes),
            mistakes=s.mistakes + int(mistakes),
            best=min(s.best, float(mistakes)),
            stalls=s.stalls + 1 if stalled else 0,
            rows=s.rows + tuple(*rows),
        )

    ends = lambda s: s.objective == 0 or s.stalls >= patience
    return iterate(
        step,
        MistakeDrivenState(model, np.inf, 0, np.inf, 0),
        max_iter=max_iter,
        tol=0.0,
        change=lambda old, new: float(not ends(new)),
        task=task,
    )


def mistake_driven(
    learn: Callable,
    model,
    n: int,
    *,
    max_iter: int = 1000,
    shuffle: bool = False,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Mistake-driven learning, eq. (1), over n rows.

    `learn(model, i)` returns the updated model if row i was mistaken, else None.
    `result.state` has the `model`, the number of `mistakes` and, in order, the `rows`
    mistaken.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.optim import mistake_driven
    >>> X = np.array([[1, 2, 1], [1, 1, 3], [1, 1, -1], [1, -1, 0.5]])
    >>> y = np.array([1, 1, -1, -1])
    >>> learn = lambda w, i: w + y[i] * X[i] if y[i] * (w @ X[i]) <= 0 else None
    >>> run = mistake_driven(learn, np.zeros(3), 4)
    >>> run.state.model, run.state.mistakes, run.state.rows
    (array([-1. ,  2. ,  1.5]), 3, (0, 2, 3))
    """
    rng = make_rng(random_state)

    def one_pass(model):
        rows = []
        for i in rng.permutation(n).tolist() if shuffle else range(n):
            changed = learn(model, i)
            if changed is not None:
                model = changed
                rows.append(i)
        return model, len(rows), rows

    return until_clean(one_pass, model, max_iter=max_iter, task=task)
