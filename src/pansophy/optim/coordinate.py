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

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import threads
from ..core.iterate import Result, iterate
from ..core.progress import SILENT
from ..penalties.base import COUPLED
from . import _coordinate as loops
from .design import Design

MEMORY = 5  # M of eq. (2)
ROWS = 4096  # rows that one thread copies


class State(NamedTuple):
    """A point, its residual, and how far it is from optimal."""

    position: np.ndarray  # w
    residual: np.ndarray
    objective: float  # F
    violation: float  # largest distance to the sub-differential


class Passes:
    """Passes over columns of a design, keeping the residual.

    Columns that are contiguous in X are read where they lie; of others, those that
    are wanted are copied once.
    """

    def __init__(self, design):
        self.design = design
        self.ready = np.zeros(design.d, bool)  # columns whose curvature is known
        self.curve = np.zeros(design.d, design.X.dtype)
        self.columns = design.X
        if not design.sparse:
            plain = design.X.flags.f_contiguous
            shape = (design.d, design.n)
            self.columns = design.X.T if plain else np.empty(shape, design.X.dtype)

    def prepare(self, index):
        """Make columns ready for `run`."""
        new, X = index[~self.ready[index]], self.design.X
        p, mean = self.design.p, self.design.mean
        self.ready[new] = True
        if self.design.sparse:
            self.curve[new] = self.design.squares(new)
        elif len(new):
            if not X.flags.f_contiguous:
                copy = partial(loops.gather, X, new)
                cuts = range(0, len(X), ROWS)
                ends = [(i, min(i + ROWS, len(X)), self.columns) for i in cuts]
                list(threads.run_tasks(partial(copy, *e) for e in ends))
            loops.squares(self.columns, new, p, mean, self.curve)

    def run(self, r, w, penalty, order, n_epochs=1):
        """Change r and w in place, visiting the columns of `order`."""
        p, root, mean = self.design.p, self.design.root, self.design.mean
        how = (w, self.curve, order, penalty.kind, penalty.a, penalty.b, n_epochs)
        X, zero = self.columns, r.dtype.type(0)
        if not self.design.sparse:
            u = root * r
            shift = loops.dense_epochs(X, p, mean, u, zero, *how)
            np.divide(u, root, out=r, where=root > 0)
            r += root * shift
            return
        plain = np.divide(r, root, out=np.zeros_like(r), where=root > 0)
        shift = loops.sparse_epochs(
            X.data, X.indices, X.indptr, p, mean, plain, zero, *how
        )
        r[:] = root * (plain + shift)


def extrapolate(W):
    """Weights z of eq. (2) for iterates W (M + 1, d); None where it is not defined."""
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


def accelerated(passes, r, w, penalty, E, shuffle=lambda order: order, memory=MEMORY):
    """A pass over E, M over the support in it, and one trial of eq. (2).

    Changes r and w in place. The residual is linear in w and the weights sum to 1,
    so the residual of the mix is the mix of the residuals.
    """
    passes.run(r, w, penalty, shuffle(E))
    S = E[w[E] != 0]
    if len(S) == 0:
        return
    W = np.empty((memory + 1, len(S)), w.dtype)
    R = np.empty((memory + 1, len(r)), r.dtype)
    W[0], R[0] = w[S], r
    for m in range(1, memory + 1):
        passes.run(r, w, penalty, shuffle(S))
        W[m], R[m] = w[S], r
    z = extrapolate(W)
    if z is not None:
        trial, s = z @ W[1:], z @ R[1:]
        value = lambda u, e: float(e @ e) / 2 + float(penalty.value(u))
        if value(trial, s) < value(w[S], r):
            w[S], r[:] = trial, s


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
    """Minimise eq. (1) for a separable penalty; a round is M + 1 passes.

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
    passes, every = Passes(design), np.arange(design.d)
    passes.prepare(every)
    shuffle = rng.permutation if rng is not None else lambda order: order

    def settle(w, r):
        c = -design.correlate(r)
        away = float(np.max(penalty.distance(w, c), initial=0.0))
        return State(w, r, float(r @ r) / 2 + float(penalty.value(w)), away)

    def step(state):
        r, w = state.residual.copy(), state.position.copy()
        accelerated(passes, r, w, penalty, every, shuffle)
        return settle(w, r)

    w = np.zeros(design.d) if start is None else np.array(start, dtype=float)
    return iterate(
        step,
        settle(w, y - design.predict(w)),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation,
        task=task,
    )
