"""SAGA and SAG for logistic regression: stochastic gradients of reduced variance.

    F(W, b) = sum_i v_i l(y_i, f_i) + a |W|_1 + b2/2 |W|^2                       (1)

For every row the gradient m_i = n v_i l'(y_i, f_i) in f as last computed is kept, k
numbers, and A = 1/n sum_i m_i (x_i, 1). A step draws a row i, computes its new m and
takes

    W <- prox_eta(W - eta (c (m - m_i) x_i + A)),   c = 1 (SAGA) or 1/n (SAG)    (2)

with the prox of the penalty. The direction of SAGA is unbiased and its variance goes to
0 as the m_i converge, so a constant eta converges linearly; that of SAG is biased, of
smaller variance, and proved without L1. The step length is

    eta = 1/(2 L + min(2 n b2, L)) for SAGA,   1/L for SAG                       (3)

with L the largest curvature of a row, b2 + n max_i v_i |(x_i, 1)|^2 / 4. Softmax may
reach twice that, where two classes share a row and no others do; eta is halved when an
epoch ends with a larger objective than the first. Both begin without gradients and
average over the rows drawn so far, since the gradients at the start soon point nowhere
and are followed until their row is drawn again. Only with L1, whose prox needs steps
of one length, SAGA begins with the gradients of all rows.

An epoch is n draws, then one pass that computes eq. (1) and the distance to optimality,
by which the method stops, or when an epoch changes nothing but the last digits. For CSR
rows a step costs only the entries of its row: the steps that the other coordinates miss
are applied by a closed form when they are next needed. Rows of very different length
make L large and steps small: scale the columns.

Shapes    X (n, d)   W (k, d)   m (n, k)   A (k, d + 1)
Refs      [Defazio2014] SAGA; [Schmidt2017] SAG
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.arrays._csr_arrays import CSRArrays
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.numerics import sigmoid
from ...losses.multiclass import as_one_hot
from ...penalties.base import ELASTIC_NET
from ...penalties.separable import elastic_penalty
from ..risk import unsigned_csr

ROUNDING = 1e-15  # relative move of the coefficients below which an epoch did nothing


class SAGAState(NamedTuple):
    """An iterate and how far it is from optimal."""

    W: Any
    b: Any
    objective: float  # eq. (1)
    violation: float  # largest distance to the sub-differential
    stuck: bool = False  # an epoch moved no coefficient by more than rounding


def squared_row_norms(X):
    """|x_i|^2 of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def saga_step_length(X, v, b2, *, intercept, averaged=False):
    """Eq. (3); `averaged` is SAG."""
    largest = np.max(v * (squared_row_norms(X) + bool(intercept)))
    L = 0.25 * len(v) * float(largest) + b2
    return 1 / L if averaged else 1 / (2 * L + min(2 * len(v) * b2, L))


def saga_state(J, W, b, a) -> SAGAState:
    """The state at (W, b); J is the smooth part of eq. (1)."""
    value, g = J(np.column_stack([W, b]).ravel())
    G = g.reshape(J.k, J.d + 1)
    far = elastic_penalty("elastic_net", ELASTIC_NET, a, 0.0).distance(W, G[:, : J.d])
    most = float(np.max(far, initial=0.0))
    return SAGAState(
        W.copy(),
        b.copy(),
        value + a * float(np.abs(W).sum()),
        max(most, float(np.abs(G[:, J.d]).max())),
    )


def initial_gradient_table(J, y, v, W, b):
    """The gradients m (n, k) of all rows and their mean A (k, d + 1) at (W, b)."""
    x = np.column_stack([W, b]).ravel()
    P = np.concatenate(J.predictions_at(x)).reshape(J.n, J.k).astype(float)
    P = sigmoid(P) - y[:, None] if J.k == 1 else P - as_one_hot(y, P)
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

    X = J.X
    y = np.asarray(J.y, dtype=np.int64)
    v = np.asarray(J.v, dtype=float)
    n = J.n
    W, b = (np.array(part, dtype=float, order="C") for part in start)
    first = saga_state(J, W, b, a)
    M, A = initial_gradient_table(J, y, v, W, b)
    eta = saga_step_length(X, v, J.alpha, intercept=J.intercept, averaged=averaged)
    halved = J.k == 1  # the bound on the curvature holds

    def rule():
        return loops.SAGAStep(
            eta,
            1 / n if averaged else 1.0,
            eta * a,
            1 / (1 + eta * J.alpha),
            J.intercept,
        )

    unseen = averaged or a == 0  # with L1, full gradients find the zeros sooner
    if unseen:
        M[:] = 0.0
        A[:] = 0.0
    if sp.issparse(X):
        csr = CSRArrays(*unsigned_csr(X))
        last = np.zeros(J.d, np.int64)
        A = np.array(A.T, order="C")
        W = np.array(W.T, order="C")
    else:
        X = np.ascontiguousarray(X)
    seen = np.full(n, not unseen)
    table = loops.GradientTable(M, A, seen, np.array([0 if unseen else n]))

    def step(_):
        nonlocal eta, halved
        old = W.copy()
        order = rng.integers(n, size=n)
        if sp.issparse(X):
            loops.sparse_saga_epoch(csr, y, v, order, W, b, table, last, rule())
            new = saga_state(J, W.T, b, a)
        else:
            loops.dense_saga_epoch(X, y, v, order, W, b, table, rule())
            new = saga_state(J, W, b, a)
        if not halved and not new.objective <= first.objective:
            eta /= 2
            halved = True
        moved = float(np.abs(W - old).max(initial=0.0))
        still = moved <= ROUNDING * float(np.abs(W).max(initial=0.0))
        return new._replace(stuck=still)

    return iterate(
        step,
        first,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: 0.0 if new.stuck else new.violation,
        task=task,
    )
