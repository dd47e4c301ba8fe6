"""L1-penalised logistic regression by proximal Newton steps.

    F(W, b) = sum_i v_i l(y_i, f_i) + a |W|_1 + b2/2 |W|^2                       (1)

For one class c, the others fixed, l is approximated by its quadratic in f_c at the
current point, with gradient g_i = p - t and curvature h_i = p (1 - p):

    sum_i v_i h_i/2 (z_i - f_i)^2,   z = f - g / h                               (2)

The minimum of eq. (2) plus the penalty is a weighted elastic net with response z; a
line search on eq. (1) follows. One iteration updates every class once. With two classes
this is proximal Newton and converges as fast. With more, adding s_j to column j of W in
all classes changes nothing but the penalty, and updates class by class are slow in that
direction; so each iteration ends with the best s_j, which is a median for b2 = 0.

The elastic net is solved by coordinate descent on eq. (2) over CSC columns, O(entries
of the column) a coordinate. The few densest columns, which in text data hold most
entries and are the most correlated, are updated together through their Gram matrix,
which saves most epochs. Each elastic net is solved until `INNER_ACCURACY` of its first
distance to optimality is left. A dense X is copied to CSC: half as much memory again.

Curvatures are kept above 1e-6, so that a row with p near 0 or 1 stays in eq. (2), whose
gradient is exact whatever the curvature.

Shapes    X (n, d) CSC   F (n, k)   W (k, d)
Refs      [Friedman2010] class by class; [Lee2014] proximal Newton
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.numerics import log1pexp, logsumexp, sigmoid, softmax
from ...losses.multiclass import as_one_hot
from ...penalties.base import ELASTIC_NET
from ...penalties.separable import elastic_penalty
from . import _logistic_l1 as loops

CURVATURE_FLOOR = 1e-6
BLOCK_COLUMNS = 64  # densest columns, whose Gram matrix is made
MAX_EPOCHS = 100  # of coordinate descent in one Newton step
INNER_ACCURACY = 0.1  # share of the distance to optimality that a step may leave


def elastic_net_penalty(a, b2):
    """a |w|_1 + b2/2 |w|^2 as a penalty."""
    return elastic_penalty("elastic_net", ELASTIC_NET, a, b2)


class L1LogisticState(NamedTuple):
    """An iterate and how far it is from optimal."""

    W: np.ndarray
    b: np.ndarray
    F: np.ndarray  # raw predictions
    objective: float  # eq. (1)
    violation: float  # largest distance to the sub-differential


class L1LogisticProblem(NamedTuple):
    """Eq. (1): columns, one-hot targets T (n, k), weights of sum 1 and strengths."""

    X: Any  # CSC
    T: np.ndarray
    v: np.ndarray
    a: float
    b2: float
    intercept: bool

    def probabilities(self, F):
        return sigmoid(F) if F.shape[1] == 1 else softmax(F)

    def objective(self, W, F):
        if F.shape[1] == 1:
            loss = log1pexp(F[:, 0]) - self.T[:, 0] * F[:, 0]
        else:
            loss = logsumexp(F) - np.sum(self.T * F, axis=1)
        size = self.a * np.abs(W).sum() + self.b2 / 2 * np.sum(W * W)
        return float(self.v @ loss) + float(size)

    def violation(self, W, F):
        """Largest distance of a coordinate to its optimality condition."""
        R = self.v[:, None] * (self.probabilities(F) - self.T)
        G = np.asarray((self.X.T @ R).T)
        most = float(
            np.max(elastic_net_penalty(self.a, self.b2).distance(W, G), initial=0.0)
        )
        free = float(np.abs(R.sum(axis=0)).max()) if self.intercept else 0.0
        return max(most, free)


class ColumnPartition(NamedTuple):
    """A CSC matrix for coordinate descent; its densest columns form a block."""

    csc: loops.CSCArrays
    block: np.ndarray  # the densest columns
    others: np.ndarray
    block_csr: tuple  # data, columns, starts of the block by rows


def partition_columns(X) -> ColumnPartition:
    """The columns of a CSC matrix, the densest in a block of their own."""
    # unsigned indices: compiled code then needs no test for those from the end
    rows = X.indices.view(f"u{X.indices.itemsize}")
    order = np.argsort(-np.diff(X.indptr), kind="stable")
    block = order[:BLOCK_COLUMNS]
    B = X[:, block].tocsr()
    return ColumnPartition(
        loops.CSCArrays(X.data, rows, X.indptr),
        block,
        np.sort(order[BLOCK_COLUMNS:]),
        (B.data, B.indices, B.indptr),
    )


def csc_partitioned(X):
    """X as a canonical CSC matrix, and its `ColumnPartition`."""
    X = sp.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, partition_columns(X)


def class_newton_step(problem, W, b, F, c, tol, columns):
    """One proximal Newton step for class c; returns the new W, b and F.

    The elastic net is solved until its distances to optimality add up to `tol`.
    """
    v = problem.v.astype(float)
    p = problem.probabilities(F)[:, c].astype(float)
    h = v * np.maximum(p * (1 - p), CURVATURE_FLOOR)
    r = v * (p - problem.T[:, c])
    mass = float(h.sum()) if problem.intercept else 0.0
    mean, curve = np.empty((2, W.shape[1]))
    loops.column_curvatures(columns.csc, h, mass, mean, curve)
    block = columns.block
    G = np.zeros((len(block), len(block)))
    loops.block_gram(*columns.block_csr, h, G)
    G = np.tril(G) + np.tril(G, -1).T - mass * np.outer(mean[block], mean[block])
    np.fill_diagonal(G, curve[block])
    w = np.where(curve > 0, W[c], 0.0)  # the intercept fits constant columns
    shift = float(mean @ (W[c] - w))
    shift += loops.quadratic_epochs(
        columns.csc,
        loops.ColumnQuadratic(h, mass, mean, curve, block, G),
        r,
        w,
        columns.others.copy(),
        problem.a,
        problem.b2,
        INNER_ACCURACY,
        tol,
        MAX_EPOCHS,
    )
    change = np.full(len(F), shift)  # of column c of F
    loops.add_column_changes(columns.csc, w - W[c], change)
    return class_line_search(problem, W, b, F, c, w, b[c] + shift, change)


def class_line_search(problem, W, b, F, c, w, new_b, change):
    """Halve the step of class c until eq. (1) falls; `change` is that of F[:, c]."""
    before = problem.objective(W, F)
    move = w - W[c]
    shift = new_b - b[c]
    step = 1.0
    for _ in range(40):
        trial = W.copy()
        trial[c] = W[c] + step * move if step < 1 else w
        trial_F = F.copy()
        trial_F[:, c] += step * change
        if problem.objective(trial, trial_F) <= before + 1e-15 * abs(before):
            trial_b = b.copy()
            trial_b[c] += step * shift
            return trial, trial_b, trial_F
        step /= 2
    return W, b, F


def recentre_classes(W, a, b2):
    """W minus the s_j that make a |w_cj - s|  + b2/2 (w_cj - s)^2 smallest over s.

    Between two neighbouring w_cj the best s is a mean shifted by the signs and clipped
    to that interval: the best of these k + 1 candidates is taken.
    """
    k = len(W)
    S = np.sort(W, axis=0)
    if b2 > 0:
        m = np.arange(k + 1)[:, None]  # entries below s
        trial = S.mean(axis=0) + a * (k - 2 * m) / (b2 * k)
        low = np.vstack([np.full_like(S[:1], -np.inf), S])
        high = np.vstack([S, np.full_like(S[:1], np.inf)])
        trial = np.clip(trial, low, high)
    else:
        trial = S
    off = np.abs(W[None] - trial[:, None])
    cost = (a * off + b2 / 2 * off * off).sum(axis=1)
    best = np.take_along_axis(trial, cost.argmin(axis=0)[None], axis=0)
    return W - best


def minimise_l1_logistic(
    X, t, v, k, a, b2, *, intercept, start, max_iter, tol, task=SILENT
) -> Result:
    """Minimise eq. (1) from start (W, b) until no coordinate is off by more than tol.

    X comes from `csc_partitioned`. k is 1 for two classes, whose targets t are 0 and 1.
    """
    X, columns = X
    T = (
        t[:, None].astype(X.dtype)
        if k == 1
        else as_one_hot(t, np.empty((1, k), X.dtype))
    )
    problem = L1LogisticProblem(X, T, v, a, b2, intercept)
    W, b = (np.array(part, dtype=X.dtype) for part in start)
    F = np.asarray(X @ W.T) + b

    def state_at(W, b, F):
        return L1LogisticState(
            W, b, F, problem.objective(W, F), problem.violation(W, F)
        )

    def step(s):
        W, b, F = s[:3]
        for c in range(k):
            W, b, F = class_newton_step(problem, W, b, F, c, 0.3 * tol, columns)
        if k > 1:
            W = recentre_classes(W, a, b2)
            b = b - b.mean()
        F = np.asarray(X @ W.T) + b
        return state_at(W, b, F)

    return iterate(
        step,
        state_at(W, b, F),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
