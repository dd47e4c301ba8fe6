"""Coordinate descent with Anderson extrapolation for separable penalties.

    F(w) = 1/2 |y - X w|^2 + sum_j g(w_j)                                        (1)

Given the rest, the best w_j is a prox step of length 1/|x_j|^2 on the partial
residual. A pass over all j is close to a linear map once the support has settled;
then a mix of the last M iterates with weights that sum to 1 and make the mixed
change smallest,

    z = (U U^T)^-1 1 / sum,   U = changes of the last M passes                   (2)

is far nearer the fixed point than any of them. It is taken only if F falls.

Shapes    X (n, d) dense or CSC   y (n,)   w (d,)
Refs      [Tseng2001] convergence; [Bertrand2021] Anderson on coordinate descent
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.iterate import Result, iterate
from ..core.progress import SILENT
from ..penalties.base import COUPLED
from . import _coordinate as loops
from .design import Design

MEMORY = 5  # M of eq. (2)


class State(NamedTuple):
    """A point, its residual, and how far it is from optimal."""

    position: np.ndarray  # w
    residual: np.ndarray
    objective: float  # F
    violation: float  # largest distance to the sub-differential


class Passes:
    """Passes over some columns of a design, keeping the residual."""

    def __init__(self, design, index):
        self.design, self.index = design, index
        if design.sparse:
            self.columns = sp.csc_matrix(design.X[:, index])
            self.curve = design.squares(index)
        else:
            self.columns = design.rows(index)
            self.curve = np.einsum("ij,ij->i", self.columns, self.columns)

    def run(self, r, w, penalty, order, n_epochs=1):
        """Change r and w (on the columns) in place."""
        how = (self.curve, order, penalty.kind, penalty.a, penalty.b, n_epochs)
        if not self.design.sparse:
            loops.dense_epochs(self.columns, r, w, *how)
            return
        X, root = self.columns, self.design.root
        plain = np.divide(r, root, out=np.zeros_like(r), where=root > 0)
        mean = self.design.mean[self.index]
        shift = loops.sparse_epochs(
            X.data, X.indices, X.indptr, self.design.p, mean, plain, 0.0, w, *how
        )
        r[:] = root * (plain + shift)

    def residual(self, y, w):
        if not self.design.sparse:
            return y - w @ self.columns
        f = self.columns @ w - self.design.mean[self.index] @ w
        return y - self.design.root * f


def extrapolate(W):
    """Eq. (2) for iterates W (M + 1, d); None where it is not defined."""
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
    return (z / z.sum()) @ W[1:]


def accelerated(passes, y, r, w, penalty, orders):
    """M passes and one trial of eq. (2); returns r and w."""
    iterates = [w.copy()]
    for order in orders:
        passes.run(r, w, penalty, order)
        iterates.append(w.copy())
    trial = extrapolate(np.asarray(iterates))
    if trial is not None:
        s = passes.residual(y, trial)
        value = lambda u, e: float(e @ e) / 2 + float(penalty.value(u))
        if value(trial, s) < value(w, r):
            return s, trial
    return r, w


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
    """Minimise eq. (1) for a separable penalty; a round is M passes.

    Stops when no coordinate is further than `tol` from its optimality condition.
    `rng` makes the order of coordinates random.

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
    every = np.arange(design.d)
    passes = Passes(design, every)

    def settle(w, r):
        c = -design.correlate(r)
        away = float(np.max(penalty.distance(w, c), initial=0.0))
        return State(w, r, float(r @ r) / 2 + float(penalty.value(w)), away)

    def step(state):
        order = lambda: every if rng is None else rng.permutation(design.d)
        r, w = state.residual.copy(), state.position.copy()
        orders = [order() for _ in range(MEMORY)]
        r, w = accelerated(passes, y, r, w, penalty, orders)
        return settle(w, r)

    w = np.zeros(design.d) if start is None else np.array(start, dtype=float)
    return iterate(
        step,
        settle(w, passes.residual(y, w)),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
