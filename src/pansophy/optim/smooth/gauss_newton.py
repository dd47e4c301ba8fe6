"""Gauss-Newton and Levenberg-Marquardt: least squares of a curved model.

For residuals r(x) with Jacobian J(x),

    f(x) = |r(x)|^2 / 2,     gradient J^T r,     Hessian about J^T J             (1)
    (J^T J + lambda D^2) h = -J^T r                                              (2)

Gauss-Newton is eq. (2) with lambda = 0 and the step halved until f decreases. The
damping lambda turns the step towards the negative gradient and shortens it; D_j is the
largest norm that column j of J has had, so that units do not matter. Let q be the
decrease of f over the decrease predicted by the linear model. lambda is multiplied by
max(1/10, 1 - (2 q - 1)^3) after a success and by 2, 4, 8, ... after failures. With J
D^-1 = U S V^T, computed once for each J from its triangular factor, the solution of eq.
(2) for any lambda is

    D h = -V S (S^2 + lambda)^-1 U^T r                                           (3)

The triangular factor is the Cholesky factor of J^T J if J is tall and well conditioned,
otherwise that of a QR factorisation. At a minimum r is orthogonal to every column of J:
the run ends when either J^T r or the cosines are small,

    max_j |J_j^T r| <= tol    or    max_j |J_j^T r| / (|J_j| |r|) <= tol         (4)

Shapes    x (d,)   r (m,)   J (m, d)
Refs      [Levenberg1944] [Marquardt1963]; [More1978] D; [Nielsen1999] lambda
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...core.drivers.iterate import Result
from ...core.drivers.progress import SILENT, FitTask
from ...core.linalg.linalg import column_norms
from ..numeric_derivatives import numeric_jacobian
from .gradient import GradientState, iterate_until_stationary, line_search, size_of

EPS = float(np.finfo(float).eps)
SURE = 1e-4  # smallest pivot, for columns of norm 1, at which J^T J is accurate enough


class LMState(NamedTuple):
    """A point with its residuals, factors of the Jacobian and damping."""

    position: np.ndarray  # x
    objective: float  # f, eq. (1)
    gradient: np.ndarray  # J^T r
    residual: np.ndarray  # r
    factor: tuple  # U^T r, S and V of eq. (3)
    scale: np.ndarray  # D
    damping: float  # lambda
    grow: float  # next factor on lambda after a failure
    lengths: np.ndarray  # of the columns of J
    eta: float = 1.0  # 0 if no step lowers f

    @property
    def slope(self) -> float:
        """The smaller side of eq. (4)."""
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
    """Nonlinear least squares, eq. (1), from x until eq. (4) holds.

    `damping` is the first lambda, for columns of norm 1; None or 0 is Gauss-Newton.
    Without `jacobian` J is approximated by central differences.

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

    def state_at(x, res, scale, damping) -> LMState:
        A = np.asarray(J(x), dtype=float)
        g = A.T @ res
        R, c = _jacobian_qr(A, res, g)
        norms = column_norms(R)
        scale = np.maximum(scale, norms)
        D = np.where(scale > 0, scale, 1.0)
        U, S, Vt = scipy.linalg.svd(R / D, full_matrices=False, check_finite=False)
        factor = (U.T @ c, S, Vt.T)
        f = float(res @ res) / 2
        return LMState(x, f, g, res, factor, D, damping, 2.0, norms)

    res = r(x)
    s = state_at(x, res, np.zeros(len(x)), damping or 0.0)
    move = _marquardt_step if damping else _newton_step
    step = lambda s: move(r, state_at, s)
    return iterate_until_stationary(step, s, max_iter=max_iter, tol=tol, task=task)


def _jacobian_qr(A, res, g):
    """R and Q^T r of the factorisation J = Q R."""
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
                c = scipy.linalg.solve_triangular(
                    L, g / D, lower=True, check_finite=False
                )
                return L.T * D, c
    # R of [J, r] holds both R and Q^T r: Q is not needed
    T = np.linalg.qr(np.column_stack([A, res]), mode="r")[: min(m, d)]
    return T[:, :-1], T[:, -1]


def _marquardt_step(r, state_at, s) -> LMState:
    """Levenberg-Marquardt step, eq. (3), with lambda raised until f decreases."""
    z, S, V = s.factor
    damping = s.damping
    grow = s.grow
    while True:
        kept = S * S / (S * S + damping)
        h = -(V @ (S / (S * S + damping) * z)) / s.scale
        res = r(s.position + h)
        value = float(res @ res) / 2
        predicted = float(z @ (z * kept * (2 - kept))) / 2
        q = (s.objective - value) / predicted if predicted > 0 else 0.0
        if np.isfinite(value) and q > 1e-4:
            factor = max(1 / 10, 1 - (2 * q - 1) ** 3)
            return state_at(s.position + h, res, s.scale, damping * factor)
        small = np.linalg.norm(h) <= EPS * (np.linalg.norm(s.position) + EPS)
        if small or damping > 1e16:
            return s._replace(eta=0.0)
        damping *= grow
        grow *= 2


def _newton_step(r, state_at, s) -> LMState:
    """Gauss-Newton step, eq. (3) with lambda = 0.

    The step of least norm if columns of J are linearly dependent.
    """
    z, S, V = s.factor
    min_ratio = 8 * EPS * max(len(s.residual), len(S))
    is_kept = S / S.max(initial=EPS) > min_ratio
    h = -(V[:, is_kept] @ (z[is_kept] / S[is_kept])) / s.scale
    res = s.residual

    def f(x):
        nonlocal res
        res = r(x)
        return float(res @ res) / 2, s.gradient

    new = line_search(f, GradientState(s.position, s.objective, s.gradient, 1.0), h)
    if new.eta == 0:
        return s._replace(eta=0.0)
    return state_at(new.position, res, s.scale, 0.0)
