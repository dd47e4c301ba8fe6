"""Coordinate descent with Anderson extrapolation for separable penalties.

    F(w) = 1/2 |y - X w|^2 + sum_j g(w_j)                                        (1)

The minimum over one w_j is a prox step of length 1/|x_j|^2 on the partial residual.
Once the support is fixed, a pass over all j is close to a linear map. Anderson
extrapolation then combines the last M iterates with weights that sum to 1 and minimise
the combined change,

    z = (U U^T)^-1 1 / sum,   U = changes of the last M passes                   (2)

The result is usually far nearer the fixed point than any of them. It is accepted only
if F decreases.

Shapes    X (n, d) dense or CSC   y (n,)   w (d,)
Refs      [Tseng2001] convergence; [Bertrand2021] Anderson on coordinate descent
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...penalties.base import COUPLED
from . import _coordinate as loops
from .centered_design import Design

MEMORY = 5  # M of eq. (2)
ROWS = 4096  # rows that one task copies


class CoordinateState(NamedTuple):
    """A point, its residual, objective and violation of the optimality conditions."""

    position: np.ndarray  # w
    residual: np.ndarray
    objective: float  # F
    violation: float  # largest distance to the sub-differential


class ColumnPasses:
    """Coordinate descent passes over columns of a design, maintaining the residual.

    Columns that are contiguous in X are read in place; others are copied once, when
    they are first used.
    """

    def __init__(self, design):
        self.design = design
        self.ready = np.zeros(design.d, bool)  # columns whose curvature is known
        self.curve = np.zeros(design.d, design.X.dtype)
        self.columns = design.X
        if not design.sparse:
            contiguous = design.X.flags.f_contiguous
            shape = (design.d, design.n)
            self.columns = design.X.T if contiguous else np.empty(shape, design.X.dtype)

    def prepare(self, index):
        """Copy columns and compute their curvatures for `run`."""
        new = index[~self.ready[index]]
        X = self.design.X
        self.ready[new] = True
        if self.design.sparse:
            self.curve[new] = self.design.squares(new)
        elif len(new):
            if not X.flags.f_contiguous:
                copy = partial(loops.copy_columns, X, new)
                tasks = (
                    partial(copy, i, min(i + ROWS, len(X)), self.columns)
                    for i in range(0, len(X), ROWS)
                )
                list(threads.run_tasks(tasks))
            loops.centered_column_squares(
                self.columns, new, self.design.p, self.design.mean, self.curve
            )

    def run(self, r, w, penalty, order, n_epochs=1):
        """Visit the columns of `order` and change r and w in place."""
        p = self.design.p
        root = self.design.root
        mean = self.design.mean
        X = self.columns
        zero = r.dtype.type(0)
        if not self.design.sparse:
            u = root * r
            shift = loops.dense_lasso_epochs(
                X,
                p,
                mean,
                u,
                zero,
                w,
                self.curve,
                order,
                penalty.kind,
                penalty.a,
                penalty.b,
                n_epochs,
            )
            np.divide(u, root, out=r, where=root > 0)
            r += root * shift
            return
        residual = np.divide(r, root, out=np.zeros_like(r), where=root > 0)
        shift = loops.sparse_lasso_epochs(
            (X.data, X.indices, X.indptr),
            p,
            mean,
            residual,
            zero,
            w,
            self.curve,
            order,
            penalty.kind,
            penalty.a,
            penalty.b,
            n_epochs,
        )
        r[:] = root * (residual + shift)


def anderson_weights(W):
    """Anderson weights z of eq. (2) for iterates W (M + 1, d); None if not defined."""
    U = np.diff(W, axis=0)
    A = U @ U.T
    scale = np.trace(A)
    if not scale > 0:
        return None
    try:
        z = np.linalg.solve(A + 1e-12 * scale * np.eye(len(A)), np.ones(len(A)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(z).all() or z.sum() == 0:
        return None
    return (z / z.sum()).astype(W.dtype)


def accelerated_pass(
    passes, r, w, penalty, E, shuffle=lambda order: order, memory=MEMORY
):
    """A pass over E, M passes over its support, and one extrapolation, eq. (2).

    Changes r and w in place. The residual is linear in w and the weights sum to 1,
    so the extrapolated residual is the same combination of residuals.
    """
    passes.run(r, w, penalty, shuffle(E))
    S = E[w[E] != 0]
    if len(S) == 0:
        return
    W = np.empty((memory + 1, len(S)), w.dtype)
    R = np.empty((memory + 1, len(r)), r.dtype)
    W[0] = w[S]
    R[0] = r
    for m in range(1, memory + 1):
        passes.run(r, w, penalty, shuffle(S))
        W[m] = w[S]
        R[m] = r
    z = anderson_weights(W)
    if z is not None:
        trial = z @ W[1:]
        trial_residual = z @ R[1:]
        value = lambda u, e: float(e @ e) / 2 + float(penalty.value(u))
        if value(trial, trial_residual) < value(w[S], r):
            w[S] = trial
            r[:] = trial_residual


def coordinate_descent(
    X,
    y,
    penalty,
    *,
    start=None,
    max_iter: int = 1000,
    tol: float = 1e-8,
    rng=None,
    task=SILENT,
) -> Result:
    """Minimise eq. (1) for a separable penalty; an iteration is M + 1 passes.

    Stops when every coordinate meets its optimality condition to within `tol`. With
    `rng` the order of the coordinates is random.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim, penalties
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> y = np.array([1.0, 2.0, 2.0])
    >>> optim.coordinate_descent(X, y, penalties.l1(5.0)).state.position.round(7)
    array([0.4285714])
    """
    if penalty.kind == COUPLED:
        raise ValueError(
            f"coordinate descent takes separable penalties, not {penalty}."
        )
    X = X if sp.issparse(X) else np.asarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    design = Design(X, np.ones(len(y)), centre=False)
    passes = ColumnPasses(design)
    all_columns = np.arange(design.d)
    passes.prepare(all_columns)
    shuffle = rng.permutation if rng is not None else lambda order: order

    def evaluate(w, r):
        c = -design.correlate(r)
        violation = float(np.max(penalty.distance(w, c), initial=0.0))
        return CoordinateState(
            w, r, float(r @ r) / 2 + float(penalty.value(w)), violation
        )

    def step(state):
        r = state.residual.copy()
        w = state.position.copy()
        accelerated_pass(passes, r, w, penalty, all_columns, shuffle)
        return evaluate(w, r)

    w = np.zeros(design.d) if start is None else np.array(start, dtype=float)
    return iterate(
        step,
        evaluate(w, y - design.predict(w)),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
