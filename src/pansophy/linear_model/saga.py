"""SAGA and SAG for logistic regression: one row at a time, with a memory of slopes.

    F(W, b) = sum_i v_i l(y_i, f_i) + a |W|_1 + b2/2 |W|^2                       (1)

For every row the slope m_i = n v_i l'(y_i, f_i) as last seen is kept, k numbers, and
A = 1/n sum_i m_i (x_i, 1). A step draws a row i, takes its new slope m and moves by

    W <- prox_eta(W - eta (c (m - m_i) x_i + A)),   c = 1 (SAGA) or 1/n (SAG)    (2)

where prox is that of the penalty. SAGA's direction is right on average and its noise
goes to 0 as the memory does, so a constant eta converges linearly; SAG's is biased,
quieter, and proved without L1. The step length is 1/(3 L) with L the largest
curvature of a row, b2 + n max_i v_i |(x_i, 1)|^2 times 1/4 (two classes) or 1/2.

An epoch is n draws, then one pass that measures eq. (1) and the distance to
optimality, on which the method stops. For CSR rows a step costs only the entries of its
row: what the other coordinates miss is made up for when they are next needed, by a
closed form. Rows of very different length make L large and steps small: scale the
columns.

Shapes    X (n, d)   W (k, d)   m (n, k)   A (k, d + 1)
Refs      [Defazio2014] SAGA; [Schmidt2017] SAG
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.iterate import Result, iterate
from ..core.numerics import sigmoid
from ..core.progress import SILENT
from ..losses.multiclass import one_hot
from ..penalties.base import ELASTIC_NET
from ..penalties.separable import shrink
from .risk import unsigned_csr


class SAGAState(NamedTuple):
    W: Any
    b: Any
    objective: float  # eq. (1)
    violation: float  # largest distance to the sub-differential


def squared_row_norms(X):
    """|x_i|^2."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def saga_step_length(X, v, k, b2, *, intercept):
    """1 / (3 L) of the module text."""
    bend = 0.25 if k == 1 else 0.5
    rows = np.max(v * (squared_row_norms(X) + bool(intercept)))
    return 1 / (3 * (bend * len(v) * float(rows) + b2))


def saga_state(J, W, b, a) -> SAGAState:
    """Eq. (1) and the distance to its optimum; J holds the smooth part."""
    value, g = J(np.column_stack([W, b]).ravel())
    G = g.reshape(J.k, J.d + 1)
    far = shrink("elastic_net", ELASTIC_NET, a, 0.0).distance(W, G[:, : J.d])
    most = float(np.max(far, initial=0.0))
    return SAGAState(
        W.copy(),
        b.copy(),
        value + a * float(np.abs(W).sum()),
        max(most, float(np.abs(G[:, J.d]).max())),
    )


def initial_gradient_table(J, y, v, W, b):
    """The slopes m (n, k) and their mean gradient A (k, d + 1) at a point."""
    x = np.column_stack([W, b]).ravel()
    P = np.concatenate(J.predictions_at(x)).reshape(J.n, J.k).astype(float)
    P = sigmoid(P) - y[:, None] if J.k == 1 else P - one_hot(y, P)
    A = J(x)[1].reshape(J.k, J.d + 1)
    A[:, : J.d] -= J.alpha * W
    return J.n * v[:, None] * P, A


def minimise_saga(
    J, a, *, averaged=False, start, max_iter, tol, rng, task=SILENT
) -> Result:
    """Minimise eq. (1) from start (W, b); J is the `Risk` of everything but a |W|_1.

    `averaged` takes SAG's steps.
    """
    from . import _saga as loops

    X, y, v, k, b2 = J.X, J.y, J.v, J.k, J.alpha
    y, v = np.asarray(y, dtype=np.int64), np.asarray(v, dtype=float)
    n, d = J.n, J.d
    W, b = (np.array(part, dtype=float, order="C") for part in start)
    first = saga_state(J, W, b, a)
    M, A = initial_gradient_table(J, y, v, W, b)
    eta = saga_step_length(X, v, k, b2, intercept=J.intercept)
    rule = (eta, 1 / n if averaged else 1.0, eta * a, 1 / (1 + eta * b2), J.intercept)
    if sp.issparse(X):
        last, rows = np.zeros(d, np.int64), unsigned_csr(X)
        A, W = (np.array(part.T, order="C") for part in (A, W))
    else:
        X = np.ascontiguousarray(X)

    def step(_):
        order = rng.integers(n, size=n)
        if sp.issparse(X):
            loops.sparse_saga_epoch(*rows, y, v, order, W, b, M, A, last, *rule)
            return saga_state(J, W.T, b, a)
        loops.dense_saga_epoch(X, y, v, order, W, b, M, A, *rule)
        return saga_state(J, W, b, a)

    return iterate(
        step,
        first,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
