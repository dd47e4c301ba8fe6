"""Which solver a linear support vector machine gets, and several of them at once.

    dual=True    coordinate descent on the dual, `dual_coordinate_descent.py`
    dual=False   Newton's method on the primal, `primal_newton.py`
    dual="auto"  Newton where a side of X is short enough for its systems to be
                 factored; else coordinate descent, which is hard to beat on sparse
                 rows, followed for a smooth loss by Newton if it takes long

All of them end at the one optimum that `svm_problem.py` describes.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, threads
from ..core.iterate import Result
from ..core.progress import SILENT
from . import primal_newton
from .svm_problem import PrimalDualState

NEWTON_SIDE = 600  # columns, or rows, up to which Newton comes first
MAX_DUAL_PASSES = 200  # passes over the rows before Newton takes over


def solve_svm(machine, rng, *, dual, max_iter, tol, task=SILENT) -> Result:
    """Solve one machine; the state of the result is a `machine.State`."""
    n, d = (int(size) for size in machine.X.shape)
    foreign = arrays.is_foreign(machine.X)
    if foreign and dual is True:
        raise ValueError("dual=True takes NumPy arrays and sparse matrices.")
    short = min(n, d) if not sp.issparse(machine.X) else d
    if foreign or dual is False or (dual == "auto" and short <= NEWTON_SIDE):
        return solve_by_newton(machine, max_iter, tol, task)
    from . import dual_coordinate_descent as coordinate

    hand_over = dual == "auto" and machine.smooth
    limit = min(max_iter, MAX_DUAL_PASSES) if hand_over else max_iter
    run = coordinate.minimise_dual(machine, rng, max_iter=limit, tol=tol, task=task)
    if run.reason == "max_iter" and limit < max_iter:
        return solve_by_newton(machine, max_iter, tol, task, run)
    s = run.state
    state = PrimalDualState(
        s.w[: machine.width], s.beta, s.objective, s.gap, s.violation
    )
    return run._replace(state=state)


def solve_by_newton(machine, max_iter, tol, task, begun=None):
    """Newton, perhaps from where coordinate descent has come."""
    w = None if begun is None else begun.state.w[: machine.width]
    run = primal_newton.minimise_primal(
        machine, w=w, max_iter=max_iter, tol=tol, task=task
    )
    s = run.state
    spent = 0 if begun is None else begun.n_iter
    state = PrimalDualState(s.best, s.multipliers, s.objective, s.gap)
    return run._replace(state=state, n_iter=min(run.n_iter + spent, max_iter))


def solve_classes(runs, task=SILENT) -> Result:
    """Independent fits, one for each class, on threads; as one result.

    `runs` are functions of a task. The state is the tuple of theirs.
    """
    if len(runs) == 1:
        run = runs[0](task)
        return run._replace(state=ClassStates((run.state,)))
    done = []
    for i, run in enumerate(threads.run(partial(r, SILENT) for r in runs)):
        done.append(run)
        if task.child(f"class {i}").end():
            break
    if len(done) < len(runs):  # stopped by a callback: the rest as they are
        done += [r(SILENT) for r in runs[len(done) :]]
    reasons = [run.reason for run in done]
    reason = next((r for r in reasons if r != "tolerance"), "tolerance")
    longest = max(len(run.history["objective"]) for run in done)
    padded = [
        np.pad(
            run.history["objective"],
            (0, longest - len(run.history["objective"])),
            mode="edge",
        )
        for run in done
    ]
    history = {"objective": np.sum(padded, axis=0)}
    states = ClassStates(run.state for run in done)
    most = max(run.n_iter for run in done)
    return Result(states, most, reason, history, math.fsum(r.seconds for r in done))


class ClassStates(tuple):
    """The states of several fits, with the sum of their objectives."""

    @property
    def objective(self) -> float:
        return math.fsum(state.objective for state in self)


def stack_coefficients(states: Any, scale, d):
    """W (k, d) and b (k,) of several states."""
    W = np.stack([s.w[:d] for s in states])
    return W, (
        scale * np.array([s.w[d] for s in states]) if scale else np.zeros(len(W))
    )
