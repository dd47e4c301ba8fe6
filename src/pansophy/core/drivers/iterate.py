"""Driver of iterative fits: repeats a step until it converges (k-means, EM, IRLS, ...).

A method gives one `step(state) -> state`, where a state is a NamedTuple with a field
`objective` that goes down. `iterate` owns the loop and tells by a `StopReason` why it
ended. Where a run diverges or is interrupted the last good state is kept. So an
interrupted fit leaves a model that works, and resuming is calling `iterate` again with
`result.state`. `repeat` is the same loop for a planned number of steps: samplers, and
epochs whose rate falls over exactly so many.

`best_of` runs several starts and keeps the lowest objective; the earliest wins ties,
so the answer does not depend on how the starts were scheduled. Objectives that differ
by rounding alone are a tie: two starts often end in the same place.
"""

import math
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from .progress import SILENT, FitTask


class StopReason(StrEnum):
    """Why a driver ended. A method with an end of its own may give another text."""

    TOLERANCE = "tolerance"  # the change was at most `tol`
    MAX_ITER = "max_iter"  # the limit was reached before that
    FINISHED = "finished"  # all steps that were planned are done
    CALLBACK = "callback"  # a callback asked for the end
    STALLED = "stalled"  # no step lowers the objective
    DIVERGED = "diverged"  # the objective is no longer a number
    INTERRUPTED = "interrupted"  # Ctrl-C


class Result(NamedTuple):
    """Result of a driver: the last state, the number of steps and why it stopped."""

    state: Any
    n_iter: int
    reason: str  # a `StopReason`, or a text of the method's own
    history: dict[str, np.ndarray]  # one entry per step, by name
    seconds: float = 0.0

    @property
    def converged(self) -> bool:
        return self.reason in (StopReason.TOLERANCE, StopReason.CALLBACK)

    @property
    def interrupted(self) -> bool:
        return self.reason == StopReason.INTERRUPTED

    @property
    def objective(self) -> float:
        return float(self.state.objective)

    def as_planned(self) -> "Result":
        """The result of a run to which `max_iter` was a plan, and no limit."""
        is_done = self.reason == StopReason.MAX_ITER
        return self._replace(reason=StopReason.FINISHED) if is_done else self


def relative_change(old, new) -> float:
    """|J_old - J_new| / max(|J_new|, 1): the usual test on the objective."""
    a, b = float(old.objective), float(new.objective)
    return abs(a - b) / max(abs(b), 1.0)


def absolute_change(old, new) -> float:
    """|J_old - J_new|: for objectives that are already means, as in EM."""
    return abs(float(old.objective) - float(new.objective))


def iterate(
    step: Callable,
    state,
    *,
    max_iter: int,
    tol: float | None,
    change: Callable = relative_change,
    watch: tuple[str, ...] = (),
    task: FitTask = SILENT,
) -> Result:
    """Apply `step` until it converges.

    `change(old, new)` is compared with `tol` after each step; None makes `max_iter`
    steps whatever they change. `history` holds the objective after each step and the
    fields of the state named in `watch`.
    """
    start_time = time.perf_counter()
    names = ("objective", *watch)
    history: dict[str, list] = {name: [] for name in names}
    reason = StopReason.MAX_ITER
    n_iter = 0
    try:
        while n_iter < max_iter:
            child = task.child(f"step {n_iter}")
            new = step(state)
            if not math.isfinite(new.objective):
                reason = StopReason.DIVERGED
                child.end(state)
                break
            n_iter += 1
            converged = tol is not None and change(state, new) <= tol
            state = new
            for name in names:
                history[name].append(float(getattr(state, name)))
            if child.end(state):
                reason = StopReason.CALLBACK
                break
            if converged:
                reason = StopReason.TOLERANCE
                break
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    arrays = {name: np.asarray(values) for name, values in history.items()}
    return Result(state, n_iter, reason, arrays, time.perf_counter() - start_time)


def repeat(
    step: Callable,
    state,
    n_steps: int,
    *,
    watch: tuple[str, ...] = (),
    task: FitTask = SILENT,
) -> Result:
    """Apply `step` a planned number of times; the reason is then "finished".

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from pansophy.core.drivers.iterate import repeat
    >>> class Counter(NamedTuple):
    ...     objective: float
    >>> run = repeat(lambda s: Counter(s.objective - 1), Counter(0.0), 3)
    >>> run.objective, str(run.reason)
    (-3.0, 'finished')
    """
    run = iterate(step, state, max_iter=n_steps, tol=None, watch=watch, task=task)
    return run.as_planned()


def is_lower(a: float, b: float) -> bool:
    """Whether a is better than b by more than rounding; NaN is worse than all."""
    return a < b - 1e-12 * abs(b) or (math.isnan(b) and not math.isnan(a))


def best_of(
    n: int, run: Callable[[int, FitTask], Result], *, task: FitTask = SILENT
) -> Result:
    """The best of n runs, `run(i, task)` each, by objective.

    An interrupted run ends the series; the best so far is kept and marked.
    """
    best, interrupted = None, False
    for i in range(n):
        child = task.child(f"start {i}", None) if n > 1 else task
        try:
            result = run(i, child)
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
            break
        if best is None or is_lower(result.objective, best.objective):
            best = result
        interrupted = result.interrupted
        if interrupted or (n > 1 and child.end(result.state)):
            break
    if best is None:
        raise ValueError(f"best_of needs at least one run, got n={n}.")
    return best._replace(reason=StopReason.INTERRUPTED) if interrupted else best
