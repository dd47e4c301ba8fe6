"""L1-penalised linear support vector machine (squared hinge) by proximal Newton.

    P(w) = |w|_1 + sum_i C_i max(0, 1 - y_i a_i w)^2,   A = [X, s 1]              (1)

Near w the loss is its quadratic over the rows inside the margin,

    slope r_i = -2 C_i y_i max(0, e_i),  curvature h_i = 2 C_i [e_i > 0]         (2)

with e = 1 - y (A w). A step minimises this quadratic plus the penalty, which is a
lasso, and a line search follows, along which e is linear (proximal Newton). With few
columns the lasso is solved on its Gram matrix A^T diag(h) A; with many, by coordinate
descent over CSC columns as in `linear_model/classifiers/logistic_l1.py`.

Multipliers theta >= 0, scaled by z into the set where no |a_j (theta y)| exceeds 1,
are feasible for the dual,

    D = z sum_i theta_i - z^2 sum_i theta_i^2 / (4 C_i),                         (3)

so P - D bounds the distance to the optimum. On the way theta = |r|. Scaling costs
|w|_1 times the largest excess over 1, so at the end theta is first moved to where the
columns S with w_j != 0 or an excess have slopes of size 1, in the metric of eq. (2),

    theta + y h (A_S c),   A_S^T diag(h) A_S c = slopes less their signs, on S   (4)

The intercept is penalised with the rest, as in `svm_problem.py`.

Shapes    X (n, d)   w (d + 1,) or (d,)   e, r, h (n,)
Refs      [Fan2008] the problem; [Lee2014] proximal Newton
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.arrays.rows import Rows
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.cg import conjugate_gradients
from ..core.loops import threads
from ..penalties import l1 as l1_penalty
from ..penalties.base import ELASTIC_NET

GRAM_COLUMNS = 600  # columns up to which the Gram matrix is made
CURVATURE_FLOOR = 1e-9  # relative curvature of rows outside the margin
MAX_SWEEPS = 200  # over the Gram matrix in one step
MAX_EPOCHS = 100  # over the columns in one step
MAX_CG_STEPS = 30  # of conjugate gradients for eq. (4)
INNER_ACCURACY = 0.03  # share of the distance to optimality that a step may leave


class L1SVMState(NamedTuple):
    """A point, its margins, and how far it is from optimal."""

    w: np.ndarray
    e: np.ndarray
    slopes: np.ndarray  # A^T r
    objective: float  # P
    gap: float  # P - D
    violation: float  # largest distance to the sub-differential


class GramSolver:
    """Lasso steps for few columns, on the Gram matrix."""

    def __init__(self, X, scale):
        self.X = X
        self.scale = scale
        self.d = X.shape[1]
        self.rows = Rows(X)

    def matvec(self, w):
        """A w."""
        f = self.rows.map(lambda X: X @ w[: self.d], blas=False)
        return f + self.scale * w[self.d] if self.scale else f

    def rmatvec(self, r):
        """A^T r."""
        g = self.rows.with_aligned(r).sum(
            lambda X, r: X.T @ r if sp.issparse(X) else r @ X, blas=False
        )
        return np.append(g, self.scale * r.sum()) if self.scale else np.asarray(g)

    def gram(self, h):
        """A^T diag(h) A."""
        inside = np.flatnonzero(h)
        step = max(256, (1 << 17) // self.d)

        def part(i):
            rows = inside[i : i + step]
            X = self.X[rows].toarray() if sp.issparse(self.X) else self.X[rows]
            if self.scale:
                X = np.column_stack([X, np.full(len(rows), self.scale)])
            X = X * np.sqrt(h[rows])[:, None]
            return X.T @ X

        tasks = (partial(part, i) for i in range(0, len(inside), step))
        width = self.d + (self.scale > 0)
        return sum(threads.run_tasks(tasks), np.zeros((width, width)))

    def lasso_step(self, w, h, r, slopes, tol):
        """The minimum u of eq. (2) plus the penalty, and A (u - w)."""
        from ..optim.nonsmooth._coordinate import gram_epochs

        G = self.gram(h)
        q = -slopes
        u = w.copy()
        order = np.arange(len(w))
        penalty = l1_penalty(1.0)
        first = float(np.max(penalty.distance(w, slopes)))
        for _ in range(MAX_SWEEPS // 10):
            gram_epochs(G, q, u, order, ELASTIC_NET, 1.0, 0.0, 10)
            violation = float(np.max(penalty.distance(u, -q)))
            if violation <= max(INNER_ACCURACY * first, tol):
                break
        return u, self.matvec(u - w)


class ColumnSolver:
    """Lasso steps for many columns, by coordinate descent over CSC."""

    def __init__(self, X, scale):
        from ..linear_model.classifiers.logistic_l1 import csc_partitioned

        if scale:
            ones = np.full((X.shape[0], 1), scale, dtype=X.dtype)
            X = sp.hstack([sp.csr_array(X), sp.csr_array(ones)], format="csc")
        self.X, self.columns = csc_partitioned(X)

    def matvec(self, w):
        """A w."""
        return self.X @ w

    def rmatvec(self, r):
        """A^T r."""
        return self.X.T @ r

    def lasso_step(self, w, h, r, slopes, tol):
        """The minimum u of eq. (2) plus the penalty, and A (u - w)."""
        from ..linear_model.classifiers import _logistic_l1 as loops

        columns = self.columns
        h = np.maximum(h, CURVATURE_FLOOR * h.max())
        mean, curve = np.empty((2, len(w)))
        loops.column_curvatures(columns.csc, h, 0.0, mean, curve)
        block = columns.block
        G = np.zeros((len(block), len(block)))
        loops.block_gram(*columns.block_csr, h, G)
        G = np.tril(G) + np.tril(G, -1).T
        u = w.copy()
        loops.quadratic_epochs(
            columns.csc,
            loops.ColumnQuadratic(h, 0.0, mean, curve, block, G),
            r.copy(),
            u,
            columns.others.copy(),
            1.0,
            0.0,
            INNER_ACCURACY,
            tol,
            MAX_EPOCHS,
        )
        change = np.zeros(len(h))
        loops.add_column_changes(columns.csc, u - w, change)
        return u, change


def _l1_dual_value(theta, slopes, C):
    """Eq. (3) at the best feasible multiple of theta."""
    first = float(theta.sum())
    second = float((theta**2 / (4 * C)).sum())
    top = max(float(np.abs(slopes).max()), 1e-300)
    z = min(first / max(2 * second, 1e-300), 1 / top)
    return z * first - z * z * second


def _l1_state(A: Any, w, e, y, C) -> L1SVMState:
    """The state at w, eqs. (1) and (3), whose margins are e."""
    inside = np.maximum(e, 0.0)
    theta = 2 * C * inside
    slopes = A.rmatvec(-y * theta)
    P = float(np.abs(w).sum() + C @ inside**2)
    far = float(np.max(l1_penalty(1.0).distance(w, slopes), initial=0.0))
    return L1SVMState(w, e, slopes, P, P - _l1_dual_value(theta, slopes, C), far)


def _tighten_gap(A: Any, s: L1SVMState, y, C) -> L1SVMState:
    """The state with the gap of eq. (4), where that is smaller."""
    h = 2 * C * (s.e > 0)
    is_free = (s.w != 0) | (np.abs(s.slopes) > 1)
    sign = np.where(s.w != 0, -np.sign(s.w), np.sign(s.slopes))

    def product(U):
        u = A.rmatvec(h * A.matvec(np.where(is_free, U.reshape(-1), 0.0)))
        return np.where(is_free, u, 0.0).reshape(U.shape)

    excess = np.where(is_free, s.slopes - sign, 0.0)
    c = conjugate_gradients(
        product, excess, tol=1e-3, max_iter=MAX_CG_STEPS
    ).state.X.reshape(-1)
    theta = np.maximum(2 * C * np.maximum(s.e, 0.0) + y * h * A.matvec(c), 0.0)
    D = _l1_dual_value(theta, A.rmatvec(-y * theta), C)
    return s._replace(gap=max(min(s.gap, s.objective - D), 0.0))


def _halving_line_search(s, u, along, C):
    """The best of the shares 1, 1/2, 1/4, ... of the step to u, or 0."""
    value = lambda x: float(
        np.abs(s.w + x * (u - s.w)).sum() + C @ np.maximum(s.e + x * along, 0.0) ** 2
    )
    x = 1.0
    best = value(1.0)
    for _ in range(40):
        half = value(x / 2)
        if best < s.objective and best <= half:
            break
        x = x / 2
        best = half
    return x if best <= s.objective else 0.0


def minimise_l1_svm(X, y, C, *, scale, max_iter=1000, tol=1e-4, task=SILENT) -> Result:
    """Minimise eq. (1) until the largest violation is tol times the first one."""
    A = GramSolver(X, scale) if X.shape[1] <= GRAM_COLUMNS else ColumnSolver(X, scale)
    width = X.shape[1] + (scale > 0)
    start = _l1_state(A, np.zeros(width), np.ones(len(y)), y, C)
    goal = tol * max(start.violation, 1e-300)

    def step(s):
        h = 2 * C * (s.e > 0)
        u, f = A.lasso_step(
            s.w, h, -2 * C * y * np.maximum(s.e, 0.0), s.slopes, 0.3 * goal
        )
        x = _halving_line_search(s, u, -y * f, C)
        w = u if x == 1.0 else s.w + x * (u - s.w)
        e = 1 - y * A.matvec(w)
        return _l1_state(A, w, e, y, C)

    run = iterate(
        step,
        start,
        max_iter=max_iter,
        tol=goal,
        change=lambda old, new: (
            0.0 if new.objective == old.objective else new.violation
        ),
        watch=("gap",),
        task=task,
    )
    return run._replace(state=_tighten_gap(A, run.state, y, C))
