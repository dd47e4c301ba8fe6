"""Gauss-Newton and Levenberg-Marquardt: least squares of a curved model.

For residuals r(x) with Jacobian J(x),

    f(x) = |r(x)|^2 / 2,     gradient J^T r,     Hessian about J^T J             (1)
    (J^T J + lambda D^2) h = -J^T r                                              (2)

Gauss-Newton is eq. (2) with lambda = 0 and the step halved until f falls. The damping
lambda turns the step towards the gradient and shortens it; D_j is the largest length
column j of J has had, so that units do not matter. With q the fall of f over the fall
that the linear model promised, lambda goes down by max(1/10, 1 - (2 q - 1)^3) after a
success and up by 2, 4, 8, ... after a failure. With J D^-1 = U S V^T, found once for
each J from its triangle, eq. (2) is one line for every lambda:

    D h = -V S (S^2 + lambda)^-1 U^T r                                           (3)

The triangle is that of J^T J where J is tall and well conditioned, else that of a QR.
At a minimum r is orthogonal to every column of J: the run ends when either J^T r is
small, or its cosines are,

    max_j |J_j^T r| <= tol    or    max_j |J_j^T r| / (|J_j| |r|) <= tol         (4)

Shapes    x (d,)   r (m,)   J (m, d)
Refs      [Levenberg1944] [Marquardt1963]; [More1978] D; [Nielsen1999] lambda
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..core.iterate import Result
from ..core.linalg import column_norms
from ..core.progress import SILENT, FitTask
from .check import numeric_jacobian
from .gradient import State, descend, line_search, size_of

EPS = float(np.finfo(float).eps)
SURE = 1e-4  # smallest pivot, of columns of length 1, at which J^T J serves


class LMState(NamedTuple):
    position: np.ndarray  # x
    objective: float  # f, eq. (1)
    gradient: np.ndarray  # J^T r
    residual: np.ndarray  # r
    factor: tuple  # U^T r, S and V of eq. (3)
    scale: np.ndarray  # D
    damping: float  # lambda
    grow: float  # next factor on lambda after a failure
    lengths: np.ndarray  # of the columns of J
    eta: float = 1.0  # 0: nothing lowers f

    @property
    def slope(self) -> float:
        """The smaller of eq. (4)."""
        size = self.lengths * (2 * self.objective) ** 0.5
        cosines = np.abs(self.gradient) / np.where(size > 0, size, 1.0)
        return min(size_of(self.gradient), size_of(cosines))


def gauss_newton(
    residual: Callable,
    x,
    jacobian: Callable | None = None,
    *,
    damping: float | None = 0.1,
    max_iter: int = 200,
    tol: float = 1e-8,
    task: FitTask = SILENT,
) -> Result:
    """Minimise eq. (1) from x until eq. (4).

    `damping` is the first lambda, for columns of length 1; None
    or 0 is Gauss-Newton itself. Without `jacobian` J is taken by central differences.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> t = np.arange(5.0)
    >>> y = 2 * np.exp(-0.5 * t)
    >>> run = optim.gauss_newton(lambda x: x[0] * np.exp(x[1] * t) - y, [1.0, 0.0])
    >>> run.converged, run.state.position.round(6)
    (True, array([ 2. , -0.5]))
    """
    x = np.array(x, dtype=float)
    r = lambda u: np.asarray(residual(u), dtype=float).ravel()
    J = jacobian or (lambda u: numeric_jacobian(r, u))

    def arrive(x, res, scale, damping) -> LMState:
        A = np.asarray(J(x), dtype=float)
        g = A.T @ res
        R, c = triangle(A, res, g)
        long = column_norms(R)
        scale = np.maximum(scale, long)
        D = np.where(scale > 0, scale, 1.0)
        U, S, Vt = scipy.linalg.svd(R / D, full_matrices=False, check_finite=False)
        factor = (U.T @ c, S, Vt.T)
        f = float(res @ res) / 2
        return LMState(x, f, g, res, factor, D, damping, 2.0, long)

    res = r(x)
    s = arrive(x, res, np.zeros(len(x)), damping or 0.0)
    move = marquardt_step if damping else newton_step
    step = lambda s: move(r, arrive, s)
    return descend(step, s, max_iter=max_iter, tol=tol, task=task)


def triangle(A, res, g):
    """R and Q^T r of J = Q R."""
    m, d = A.shape
    if m > 4 * d:
        G = A.T @ A
        D = np.sqrt(np.diagonal(G))
        if D.min(initial=1.0) > 0 and np.isfinite(D).all():
            try:
                L = np.linalg.cholesky(G / D / D[:, None])
            except np.linalg.LinAlgError:
                L = None
            if L is not None and np.diagonal(L).min(initial=1.0) > SURE:
                how = {"lower": True, "check_finite": False}
                return L.T * D, scipy.linalg.solve_triangular(L, g / D, **how)
    # the triangle of [J, r] holds both without Q
    T = np.linalg.qr(np.column_stack([A, res]), mode="r")[: min(m, d)]
    return T[:, :-1], T[:, -1]


def marquardt_step(r, arrive, s) -> LMState:
    """Eq. (3), with lambda raised until f falls."""
    z, S, V = s.factor
    damping, grow = s.damping, s.grow
    while True:
        kept = S * S / (S * S + damping)
        h = -(V @ (S / (S * S + damping) * z)) / s.scale
        res = r(s.position + h)
        value = float(res @ res) / 2
        promised = float(z @ (z * kept * (2 - kept))) / 2
        q = (s.objective - value) / promised if promised > 0 else 0.0
        if np.isfinite(value) and q > 1e-4:
            factor = max(1 / 10, 1 - (2 * q - 1) ** 3)
            return arrive(s.position + h, res, s.scale, damping * factor)
        small = np.linalg.norm(h) <= EPS * (np.linalg.norm(s.position) + EPS)
        if small or damping > 1e16:
            return s._replace(eta=0.0)
        damping, grow = damping * grow, grow * 2


def newton_step(r, arrive, s) -> LMState:
    """Eq. (3) with lambda = 0: the smallest step where J has dependent columns."""
    z, S, V = s.factor
    least = 8 * EPS * max(len(s.residual), len(S))
    keep = S / S.max(initial=EPS) > least
    h = -(V[:, keep] @ (z[keep] / S[keep])) / s.scale
    held = {}

    def f(x):
        held["r"] = r(x)
        return float(held["r"] @ held["r"]) / 2, s.gradient

    new = line_search(f, State(s.position, s.objective, s.gradient, 1.0), h)
    if new.eta == 0:
        return s._replace(eta=0.0)
    return arrive(new.position, held["r"], s.scale, 0.0)
