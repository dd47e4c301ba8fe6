"""The multi-class support vector machine of Crammer and Singer, by its dual.

With a weight vector w_m for each of k classes, rows a_i of A = [X, s 1] and labels y,

    P(W) = 1/2 sum_m |w_m|^2
           + sum_i C_i max_m (w_m a_i - w_{y_i} a_i + 1 - [m = y_i])             (1)

whose loss is `losses.multiclass_hinge`. The dual has k multipliers for each row,

    D(alpha) = -1/2 sum_m |w_m|^2 - sum_i sum_{m != y_i} alpha_im                (2)
    w_m = sum_i alpha_im a_i,   alpha_im <= C_i [m = y_i],   sum_m alpha_im = 0

One row at a time, with slopes G_m = w_m a_i + 1 - [m = y_i] and q = |a_i|^2, the best
multipliers are

    alpha_m = min(C_i [m = y_i], (level - (G_m - q alpha_m)) / q)                (3)

with the level at which they add up to 0, found by sorting. D never falls. Rows are
visited in random order; rows that would not change leave the epochs until the others
have converged. The run ends when no slope of a multiplier that could fall is below the
largest slope of its row by more than tol; P - D is the gap. The last digits can take
very many epochs: where its systems are small, Newton's method
(`crammer_singer_newton.py`) takes over after a few.

The gradient of the loss adds up to 0 over classes, so the w_m do too. With two classes
and w_1 = -w_2, v = w_2 - w_1 has P = |v|^2 / 4 + the hinge losses: the binary problem
with twice the cost.

Time O(k nnz) an epoch, memory O(n k).

Shapes    X (n, d)   y, C (n,)   alpha (n, k)   W (k, d + 1)
Refs      [Crammer2001] [Keerthi2008] the sequential dual method
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.arrays._csr_arrays import CSRArrays
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..losses import multiclass_hinge
from . import _crammer_singer as loops
from . import crammer_singer_newton
from .dual_coordinate_descent import EPOCHS_PER_CHECK, augmented_row_norms

DUAL_PASSES_BEFORE_NEWTON = 25


class CrammerSingerState(NamedTuple):
    """A primal point, a dual point, and which rows are still in the epochs."""

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
        """The W to keep, as in `crammer_singer_newton.JointState`."""
        return self.W


def _primal_and_dual_values(X, y, C, scale, W, alpha):
    """P and D, eqs. (1) and (2)."""
    F = X @ W[:, :-1].T + scale * W[:, -1]
    half = 0.5 * float(np.sum(W * W))
    n = len(y)
    rest = float(alpha.sum() - alpha[np.arange(n), y].sum())
    return half + float(C @ multiclass_hinge.value(y, F)), -half - rest


def solve_crammer_singer(
    X, y, C, k, rng, *, scale, dual, max_iter, tol, task=SILENT
) -> Result:
    """Solve the problem: dual=True by eq. (3), False by Newton, "auto" by the shape."""
    n, d = X.shape
    large = min(d + 1, n) * k > crammer_singer_newton.MAX_FACTORED
    if dual is True or (dual == "auto" and large):
        return _minimise_crammer_singer(
            X, y, C, k, rng, scale=scale, max_iter=max_iter, tol=tol, task=task
        )
    first = _minimise_crammer_singer(
        X, y, C, k, rng, scale=scale, max_iter=DUAL_PASSES_BEFORE_NEWTON, tol=tol
    )
    return crammer_singer_newton.minimise_joint(
        X,
        y,
        C,
        k,
        scale=scale,
        W=first.state.W,
        alpha=first.state.alpha,
        max_iter=max_iter,
        tol=tol,
        task=task,
    )


def _minimise_crammer_singer(
    X, y, C, k, rng, *, scale, max_iter=1000, tol=1e-4, task=SILENT
) -> Result:
    """Maximise eq. (2) row by row, eq. (3); `max_iter` counts epochs."""
    n, d = X.shape
    if sp.issparse(X):
        index = X.indices.view(f"u{X.indices.itemsize}")
        epochs = loops.sparse_crammer_singer_epochs
        matrix = CSRArrays(X.data, index, X.indptr)
    else:
        epochs = loops.dense_crammer_singer_epochs
        matrix = np.ascontiguousarray(X)
    y = y.astype(np.int64)
    square = np.maximum(augmented_row_norms(X, scale), 1e-300)
    rows = loops.RowConstants(y, C, square)
    seed = rng.integers(1, 2**63, size=1).astype(np.uint64)

    def step(s):
        alpha = s.alpha.copy()
        V = np.ascontiguousarray(s.W.T)
        n_epochs = min(max(EPOCHS_PER_CHECK, s.passes), max_iter - s.passes)
        size, cut, worst, count = epochs(
            matrix,
            scale,
            rows,
            alpha,
            V,
            s.order,
            s.size,
            s.cut,
            seed,
            tol,
            n_epochs,
        )
        all_rows = size == n
        if worst <= tol and not all_rows:  # check all rows again
            size = n
            cut = np.inf
        P, D = _primal_and_dual_values(X, y, C, scale, V.T, alpha)
        dual = max(D, s.dual)
        return CrammerSingerState(
            W=np.ascontiguousarray(V.T),
            alpha=alpha,
            objective=P,
            gap=max(P - dual, 0.0),
            dual=dual,
            violation=worst if all_rows else max(worst, 2 * tol),
            order=s.order,
            size=size,
            cut=cut,
            passes=s.passes + count,
        )

    def change(old, new):
        return 0.0 if new.violation <= tol or new.passes >= max_iter else 1.0

    start = CrammerSingerState(
        W=np.zeros((k, d + 1)),
        alpha=np.zeros((n, k)),
        objective=np.inf,
        gap=np.inf,
        dual=-np.inf,
        violation=np.inf,
        order=np.arange(n),
        size=n,
        cut=np.inf,
        passes=0,
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
