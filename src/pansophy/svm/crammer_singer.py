"""The joint multi-class support vector machine, and a sequential dual method for it.

With a weight vector w_m for each of k classes, rows a_i of A = [X, s 1] and labels y,

    P(W) = 1/2 sum_m |w_m|^2
           + sum_i C_i max_m (w_m a_i - w_{y_i} a_i + 1 - [m = y_i])             (1)

whose loss is `losses.multiclass_hinge`. The dual has k multipliers for each row,

    D(alpha) = -1/2 sum_m |w_m|^2 - sum_i sum_{m != y_i} alpha_im                (2)
    w_m = sum_i alpha_im a_i,   alpha_im <= C_i [m = y_i],   sum_m alpha_im = 0

One row at a time, with slopes G_m = w_m a_i + 1 - [m = y_i] and q = |a_i|^2, the best
multipliers are

    alpha_m = min(C_i [m = y_i], (level - (G_m - q alpha_m)) / q)                (3)

with the level at which they add up to 0, found by sorting. D never falls, rows visit
in random order, and rows at rest leave the passes until the others have settled. The
run ends when no slope of a multiplier that could fall is below the largest slope of
its row by more than tol; P - D is the gap. The last digits can take very many passes:
where Newton's systems are small (`crammer_singer_newton.py`), it takes over after a few.

The gradient of the loss adds up to 0 over classes, so the w_m do too. With two classes
and w_1 = -w_2, v = w_2 - w_1 has P = |v|^2 / 4 + the hinge losses: the binary machine
of twice the cost.

Time O(k nnz) a pass, memory O(n k).

Shapes    X (n, d)   y, C (n,)   alpha (n, k)   W (k, d + 1)
Refs      [Crammer2001] [Keerthi2008] the sequential dual method
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.iterate import Result, iterate
from ..core.progress import SILENT
from ..losses import multiclass_hinge
from . import _crammer_singer as loops
from . import crammer_singer_newton
from .dual_coordinate_descent import EPOCHS_PER_CHECK, augmented_row_norms

DUAL_PASSES_BEFORE_NEWTON = 25  # passes before Newton takes over


class CrammerSingerState(NamedTuple):
    """A point of the primal, one of the dual, and which rows are in the passes."""

    W: np.ndarray  # (k, d + 1), the last column 0 without an intercept
    alpha: np.ndarray
    objective: float  # P(W)
    gap: float  # that less the highest D so far
    dual: float
    violation: float
    order: np.ndarray
    size: int
    cut: float
    passes: int

    @property
    def best(self):
        """The W to keep."""
        return self.W


def primal_and_dual_values(X, y, C, scale, W, alpha):
    """Eqs. (1) and (2)."""
    F = X @ W[:, :-1].T + scale * W[:, -1]
    half = 0.5 * float(np.sum(W * W))
    n = len(y)
    rest = float(alpha.sum() - alpha[np.arange(n), y].sum())
    return half + float(C @ multiclass_hinge.value(y, F)), -half - rest


def solve_crammer_singer(
    X, y, C, k, rng, *, scale, dual, max_iter, tol, task=SILENT
) -> Result:
    """Solve the machine: dual=True by eq. (3), False by Newton, "auto" by the shape."""
    n, d = X.shape
    how = {"scale": scale, "max_iter": max_iter, "tol": tol, "task": task}
    if dual is True or (
        dual == "auto" and min(d + 1, n) * k > crammer_singer_newton.MAX_FACTORED
    ):
        return minimise_crammer_singer(X, y, C, k, rng, **how)
    first = minimise_crammer_singer(
        X,
        y,
        C,
        k,
        rng,
        **{**how, "max_iter": DUAL_PASSES_BEFORE_NEWTON, "task": SILENT},
    )
    s = first.state
    return crammer_singer_newton.minimise_joint(X, y, C, k, W=s.W, alpha=s.alpha, **how)


def minimise_crammer_singer(
    X, y, C, k, rng, *, scale, max_iter=1000, tol=1e-4, task=SILENT
) -> Result:
    """Maximise eq. (2); `max_iter` counts passes over the rows."""
    n, d = X.shape
    if sp.issparse(X):
        index = X.indices.view(f"u{X.indices.itemsize}")
        epochs, rows = loops.sparse_crammer_singer_epochs, (X.data, index, X.indptr)
    else:
        epochs, rows = loops.dense_crammer_singer_epochs, (np.ascontiguousarray(X),)
    square = np.maximum(augmented_row_norms(X, scale), 1e-300)
    seed = rng.integers(1, 2**63, size=1).astype(np.uint64)
    y = y.astype(np.int64)

    def step(s):
        alpha, V = s.alpha.copy(), np.ascontiguousarray(s.W.T)
        many = min(max(EPOCHS_PER_CHECK, s.passes), max_iter - s.passes)
        size, cut, worst, count = epochs(
            *(*rows, scale, y, C, square, alpha, V),
            *(s.order, s.size, s.cut, seed, tol, many),
        )
        whole = size == n
        if worst <= tol and not whole:  # all rows again
            size, cut = n, np.inf
        P, D = primal_and_dual_values(X, y, C, scale, V.T, alpha)
        dual = max(D, s.dual)
        return CrammerSingerState(
            *(np.ascontiguousarray(V.T), alpha, P, max(P - dual, 0.0), dual),
            worst if whole else max(worst, 2 * tol),
            *(s.order, size, cut, s.passes + count),
        )

    def change(old, new):
        return 0.0 if new.violation <= tol or new.passes >= max_iter else 1.0

    start = CrammerSingerState(
        *(np.zeros((k, d + 1)), np.zeros((n, k)), np.inf, np.inf, -np.inf, np.inf),
        *(np.arange(n), n, np.inf, 0),
    )
    run = iterate(
        step,
        start,
        max_iter=max_iter,
        tol=0.5,
        change=change,
        watch=("gap",),
        task=task,
    )
    if run.reason == "tolerance" and run.state.violation > tol:
        run = run._replace(reason="max_iter")
    return run._replace(n_iter=run.state.passes)
