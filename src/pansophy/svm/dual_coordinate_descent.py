"""Dual coordinate descent for linear support vector machines, dense or sparse rows.

The problem and its letters are those of `svm_problem.py`. With w = A^T beta kept up to
date, -D as a function of one beta_i is a quadratic with slope and curvature

    g_i = a_i w - t_i + c_i beta_i  (+ eps sign beta_i),   q_i = |a_i|^2 + c_i    (1)

whose minimum in [l_i, u_i] costs two passes over the entries of one row: O(nnz) an
epoch, without any matrix. D never falls. Rows are visited in random order; those firmly
at a bound leave the epochs (shrinking), and all are checked again once the others have
converged. The run ends when, over all rows, the largest violation that would raise a
beta_i and the largest that would lower one add up to at most tol;
eq. (3) of `svm_problem.py` gives the gap.

Shapes    as in `svm_problem.py`
Refs      [Hsieh2008] [Ho2012]
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from . import _dual_coordinate_descent as loops
from .svm_problem import certified_state

EPOCHS_PER_CHECK = 25  # epochs between two evaluations of the gap


class DualState(NamedTuple):
    """The iterate after some epochs, and which rows are still in them."""

    w: np.ndarray
    beta: np.ndarray
    objective: float  # P(w)
    gap: float  # that less the highest D so far
    dual: float
    violation: float
    active: np.ndarray  # the first `size` entries are the rows in the epochs
    size: int
    cuts: np.ndarray  # (2,), shrinking thresholds of the loops
    passes: int  # epochs so far


def augmented_row_norms(X, s):
    """|a_i|^2 of every row."""
    if sp.issparse(X):
        squares = np.zeros(X.shape[0])
        data = X.data.astype(float) ** 2
        filled = np.diff(X.indptr) > 0
        squares[filled] = (
            np.add.reduceat(data, X.indptr[:-1][filled]) if len(data) else 0.0
        )
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return squares + s * s


def loop_and_rows(problem):
    """The compiled loop for the kind of rows, and the arrays that it reads."""
    X = problem.X
    if sp.issparse(X):
        # unsigned indices: compiled code then needs no test for those from the end
        index = X.indices.view(f"u{X.indices.itemsize}")
        return loops.sparse_dual_epochs, (X.data, index)
    return loops.dense_dual_epochs, (np.ascontiguousarray(X),)


def row_table(problem):
    """The numbers that the loops need of every row, in the columns of `loops`."""
    m = problem
    table = np.zeros((m.X.shape[0], loops.N_COLUMNS))
    q = augmented_row_norms(m.X, m.scale) + m.curve
    # an empty row has slope -t: it goes straight to its bound
    parts = (m.target, m.low, m.high, m.curve, np.maximum(q, 1e-300))
    for j, part in enumerate(parts):
        table[:, j] = part
    if sp.issparse(m.X):
        table[:, loops.START] = m.X.indptr[:-1]
        table[:, loops.STOP] = m.X.indptr[1:]
    return table


def minimise_dual(problem, rng, *, max_iter=1000, tol=1e-4, task=SILENT) -> Result:
    """Maximise D over beta; `max_iter` counts passes over the rows."""
    m = problem
    n, d = m.X.shape
    epochs, rows = loop_and_rows(m)
    table = row_table(m)
    seed = rng.integers(1, 2**63, size=1).astype(np.uint64)

    def step(s):
        w = s.w.copy()
        table[:, loops.BETA] = s.beta
        cuts = s.cuts.copy()
        active = s.active.copy()
        n_epochs = min(max(EPOCHS_PER_CHECK, s.passes), max_iter - s.passes)
        size, worst, count = epochs(
            *rows,
            m.scale,
            m.epsilon,
            table,
            w,
            active,
            s.size,
            cuts,
            seed,
            tol,
            n_epochs,
        )
        beta = table[:, loops.BETA].copy()
        all_rows = size == n
        if worst <= tol and not all_rows:  # check all rows again
            active = np.arange(n)
            size = n
            cuts = np.full(2, np.inf)
        certified = certified_state(m, w[: m.width], beta, w[: m.width])
        dual = max(s.dual, certified.objective - certified.gap)
        return DualState(
            w=w,
            beta=beta,
            objective=certified.objective,
            gap=max(certified.objective - dual, 0.0),
            dual=dual,
            violation=worst if all_rows else max(worst, 2 * tol),
            active=active,
            size=size,
            cuts=cuts,
            passes=s.passes + count,
        )

    def change(old, new):
        return 0.0 if new.violation <= tol or new.passes >= max_iter else 1.0

    start = DualState(
        w=np.zeros(d + 1),
        beta=np.zeros(n),
        objective=np.inf,
        gap=np.inf,
        dual=-np.inf,
        violation=np.inf,
        active=np.arange(n),
        size=n,
        cuts=np.full(2, np.inf),
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
