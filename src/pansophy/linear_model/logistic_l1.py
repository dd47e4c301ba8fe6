"""Logistic regression with an L1 part: Newton steps that are lassos.

    F(W, b) = sum_i v_i l(y_i, f_i) + a |W|_1 + b2/2 |W|^2                       (1)

For one class c with the others fixed, l is close to its quadratic in f_c at the
present point, with slope g_i = p - t and curvature h_i = p (1 - p):

    sum_i v_i h_i/2 (z_i - f_i)^2,   z = f - g / h                               (2)

so the best move is a weighted elastic net with response z; then a line search on eq.
(1) itself. Classes take turns. With two classes this is proximal Newton, and it
converges as fast. With more, adding s_j to column j of W in all classes changes nothing
but the penalty, a direction in which turns are slow; so each round ends with the best
s_j, which is a median for b2 = 0.

The elastic net is solved by coordinate descent on eq. (2) straight over CSC columns,
O(entries of the column) a coordinate. The few fullest columns, which hold most entries
of a text and correlate most, move together through their Gram matrix; that saves most
passes. A turn leaves `INNER_ACCURACY` of the distance to optimality. Dense X takes the same way,
at the price of a copy with row numbers: half as much memory again.

Curvatures are kept above 1e-6: a row that is all but certain stays in eq. (2), whose
gradient is exact whatever the curvature.

Shapes    X (n, d) CSC   F (n, k)   W (k, d)
Refs      [Friedman2010] the turns; [Lee2014] proximal Newton
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.iterate import Result, iterate
from ..core.numerics import log1pexp, logsumexp, sigmoid, softmax
from ..core.progress import SILENT
from ..losses.multiclass import one_hot
from ..penalties.base import ELASTIC_NET
from ..penalties.separable import shrink
from . import _logistic_l1 as loops

CURVATURE_FLOOR = 1e-6
BLOCK_COLUMNS = 64  # columns of a sparse matrix whose Gram matrix is made
MAX_EPOCHS = 100  # most passes over sparse columns in a turn
INNER_ACCURACY = 0.1  # of the distance to optimality, what a turn may leave


def elastic_net_penalty(a, b2):
    """a |w|_1 + b2/2 |w|^2 as a penalty."""
    return shrink("elastic_net", ELASTIC_NET, a, b2)


class L1LogisticState(NamedTuple):
    W: np.ndarray
    b: np.ndarray
    F: np.ndarray  # raw predictions
    objective: float  # eq. (1)
    violation: float  # largest distance to the sub-differential


class L1LogisticProblem(NamedTuple):
    """Eq. (1): rows, targets of 0 and 1 (n, k), weights of sum 1, penalty."""

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
        """How far each coordinate is from its optimality condition, at most."""
        R = self.v[:, None] * (self.probabilities(F) - self.T)
        G = np.asarray((self.X.T @ R).T)
        most = float(
            np.max(elastic_net_penalty(self.a, self.b2).distance(W, G), initial=0.0)
        )
        free = float(np.abs(R.sum(axis=0)).max()) if self.intercept else 0.0
        return max(most, free)


class ColumnPartition(NamedTuple):
    """A CSC matrix for passes over its columns; the fullest make a block."""

    arrays: tuple  # data, rows, starts
    block: np.ndarray
    others: np.ndarray
    inside: tuple  # data, columns, starts of the block by rows


def partition_columns(X) -> ColumnPartition:
    """The columns of a CSC matrix, each entry of it stored once."""
    # unsigned indices: compiled code then needs no test for those from the end
    rows = X.indices.view(f"u{X.indices.itemsize}")
    order = np.argsort(-np.diff(X.indptr), kind="stable")
    block = order[:BLOCK_COLUMNS]
    B = X[:, block].tocsr()
    return ColumnPartition(
        (X.data, rows, X.indptr),
        block,
        np.sort(order[BLOCK_COLUMNS:]),
        (B.data, B.indices, B.indptr),
    )


def csc_partitioned(X):
    """X as CSC, and its columns ready for passes."""
    X = sp.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, partition_columns(X)


def class_newton_step(problem, W, b, F, c, tol, columns):
    """Improve class c by passes over the columns, to distances of sum `tol`."""
    v = problem.v.astype(float)
    p = problem.probabilities(F)[:, c].astype(float)
    h = v * np.maximum(p * (1 - p), CURVATURE_FLOOR)
    r = v * (p - problem.T[:, c])
    mass = float(h.sum()) if problem.intercept else 0.0
    mean, curve = np.empty((2, W.shape[1]))
    loops.column_curvatures(*columns.arrays, h, mass, mean, curve)
    block = columns.block
    G = np.zeros((len(block), len(block)))
    loops.block_gram(*columns.inside, h, G)
    G = np.tril(G) + np.tril(G, -1).T - mass * np.outer(mean[block], mean[block])
    np.fill_diagonal(G, curve[block])
    # a column that is constant is the intercept's to fit
    w = np.where(curve > 0, W[c], 0.0)
    shift = float(mean @ (W[c] - w))
    shift += loops.quadratic_epochs(
        *columns.arrays,
        *(h, r, mass, mean, curve, w, block, G, columns.others.copy()),
        *(problem.a, problem.b2, INNER_ACCURACY, tol, MAX_EPOCHS),
    )
    slope = np.full(len(F), shift)
    loops.add_column_changes(*columns.arrays, w - W[c], slope)
    return class_line_search(problem, W, b, F, c, w, b[c] + shift, slope)


def class_line_search(problem, W, b, F, c, w, new_b, slope):
    """Halve the move of class c until eq. (1) falls; slope is its change of F."""
    before = problem.objective(W, F)
    move, shift = w - W[c], new_b - b[c]
    step = 1.0
    for _ in range(40):
        trial, Ft = W.copy(), F.copy()
        trial[c] = W[c] + step * move if step < 1 else w
        Ft[:, c] += step * slope
        if problem.objective(trial, Ft) <= before + 1e-15 * abs(before):
            after = b.copy()
            after[c] += step * shift
            return trial, after, Ft
        step /= 2
    return W, b, F


def recentre_classes(W, a, b2):
    """W minus the s_j that make a |w_cj - s|  + b2/2 (w_cj - s)^2 smallest over s.

    Between two neighbouring w_cj the best s is a mean moved by the signs; clipped to
    its piece it is one of k + 1 candidates, of which the cheapest is taken.
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
    T = t[:, None].astype(X.dtype) if k == 1 else one_hot(t, np.empty((1, k), X.dtype))
    problem = L1LogisticProblem(X, T, v, a, b2, intercept)
    W, b = (np.array(part, dtype=X.dtype) for part in start)
    F = np.asarray(X @ W.T) + b

    def settle(W, b, F):
        return L1LogisticState(
            W, b, F, problem.objective(W, F), problem.violation(W, F)
        )

    def step(s):
        W, b, F = s.W, s.b, s.F
        for c in range(k):
            W, b, F = class_newton_step(problem, W, b, F, c, 0.3 * tol, columns)
        if k > 1:
            W = recentre_classes(W, a, b2)
            b = b - b.mean()
        F = np.asarray(X @ W.T) + b
        return settle(W, b, F)

    return iterate(
        step,
        settle(W, b, F),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
