"""Conjugate gradients: linear systems by products alone, preconditioners, spectra.

    conjugate_gradients    A X = B for positive definite A known by A P           (1)
    pivoted_cholesky       K ~ L L^T from r rows of K, the largest error first    (2)
    nystroem_factor        K ~ L L^T from the columns of m rows, L = C R^-1,
                           R^T R = the m x m part                                 (3)
    log_determinant        log det A from the tridiagonal matrices of (1)         (4)

With A = K + s I and L of (2) or (3), M = (L L^T + s I)^-1 is a preconditioner that
costs O(n r): `linalg.low_rank`. The coefficients of (1) on a right-hand side b are
those of Lanczos's iteration from b:

    T_ii = 1 / a_i + c_(i-1) / a_(i-1),   T_(i,i+1) = sqrt(c_i) / a_i             (5)

with steps a and ratios c, so that b^T M log(M A) b ~ |b|_M^2 e_1^T log(T) e_1. For
probes b of covariance M^-1 its mean is the trace of log(M A) = log det A + log det M.

Cost      one product with A, and O(n k), a step; (2) O(n r^2) and r rows
Shapes    A (n, n)   B (n, k) or (n,)   L (n, r)
Refs      [Hestenes1952] (1); [Harbrecht2012] (2); [Williams2001] (3); [Ubaru2017] (4)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..arrays.arrays import asarray, device, namespace, to_numpy
from ..drivers.iterate import Result, iterate
from ..drivers.progress import SILENT, FitTask
from .linalg import LowRank, cholesky, solve_triangular


class LinearCGState(NamedTuple):
    X: Any  # solution, one column per right-hand side
    R: Any  # residual B - A X
    P: Any  # direction
    rho: Any  # R . M R, one number per column
    residual: float  # largest |R| / |B| over the columns
    objective: float  # sum of 1/2 x^T A x - b^T x, which falls
    tridiagonals: tuple = ()  # eq. (5), one `Tridiagonal` a column, if asked for


class Tridiagonal(NamedTuple):
    """Lanczos's matrix T of one right-hand side, eq. (5)."""

    diagonal: np.ndarray  # (m,)
    off_diagonal: np.ndarray  # (m - 1,)
    squared_norm: float  # b^T M b


def conjugate_gradients(
    product: Callable,
    B,
    *,
    X0=None,
    precondition: Callable | None = None,
    max_iter: int | None = None,
    tol: float = 1e-8,
    tridiagonals: bool = False,
    task: FitTask = SILENT,
) -> Result:
    """Conjugate gradients on A X = B, eq. (1); `product(P)` is A P.

    Stops when |B - A X| <= tol |B| in every column. `precondition(R)` is M R for M
    close to A^-1. The solution is `result.state.X`, shaped like B. With
    `tridiagonals`, `result.state.tridiagonals` has the matrices of eq. (5).

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> run = conjugate_gradients(lambda P: A @ P, np.array([1.0, 2.0]))
    >>> run.n_iter, run.state.X.round(6)
    (2, array([0.090909, 0.636364]))
    """
    xp = namespace(B)
    flat = B.ndim == 1
    B2 = B[:, None] if flat else B
    dot = lambda U, V: xp.sum(U * V, axis=0)
    M = precondition or (lambda R: R)
    safe = lambda a, b: xp.where(b > 0, a / xp.where(b > 0, b, xp.ones_like(b)), 0 * a)
    size = xp.sqrt(dot(B2, B2))
    coefficients: list = []

    def state(X, R, P, rho, residuals):
        objective = -0.5 * float(xp.sum(X * (B2 + R)))
        return LinearCGState(X, R, P, rho, float(xp.max(residuals)), objective)

    def relative_residuals(R):
        return safe(xp.sqrt(dot(R, R)), size)

    def step(s):
        AP = product(s.P)
        a = safe(s.rho, dot(s.P, AP))
        X, R = s.X + a[None, :] * s.P, s.R - a[None, :] * AP
        left = relative_residuals(R)
        if float(xp.max(left)) <= tol:  # the last step needs no further direction
            if tridiagonals:
                coefficients.append([to_numpy(v) for v in (a, 0 * a, left)])
            return state(X, R, s.P, s.rho, left)
        Z = M(R)
        rho = dot(R, Z)
        ratio = safe(rho, s.rho)
        if tridiagonals:
            coefficients.append([to_numpy(v) for v in (a, ratio, left)])
        return state(X, R, Z + ratio[None, :] * s.P, rho, left)

    if X0 is None:
        X = xp.zeros_like(B2)
        R = B2
    else:
        X = X0[:, None] if flat else X0
        R = B2 - product(X)
    Z = M(R)
    limit = max_iter or 10 * int(B2.shape[0])
    start = state(X, R, Z, dot(R, Z), relative_residuals(R))
    change = lambda old, new: new.residual
    run = iterate(
        step,
        start,
        max_iter=limit,
        tol=tol,
        change=change,
        watch=("residual",),
        task=task,
    )
    X = run.state.X
    last = run.state._replace(X=X[:, 0] if flat else X)
    if tridiagonals:
        first = np.asarray(to_numpy(start.rho), dtype=np.float64)
        last = last._replace(tridiagonals=_lanczos_matrices(coefficients, first, tol))
    return run._replace(state=last)


def _lanczos_matrices(coefficients, squared_norms, tol) -> tuple:
    """Eq. (5) for each column; steps after a column has converged do not count."""
    table = np.array(coefficients, dtype=np.float64)  # (steps, 3, k)
    tridiagonals = []
    for column, norm in enumerate(squared_norms):
        a, ratio, residual = table[:, :, column].T if len(table) else np.empty((3, 0))
        converged = np.flatnonzero((residual <= tol) | (a <= 0))
        m = int(converged[0]) + 1 if len(converged) else len(a)
        m = m - 1 if m and a[m - 1] <= 0 else m
        a, ratio = a[:m], ratio[:m]
        diagonal = 1 / a
        diagonal[1:] += ratio[:-1] / a[:-1]
        tridiagonals.append(
            Tridiagonal(diagonal, np.sqrt(ratio[:-1]) / a[:-1], float(norm))
        )
    return tuple(tridiagonals)


def log_determinant(tridiagonals) -> float:
    """The trace of log(M A) by Lanczos quadrature over random probes, eq. (4).

    The probes that were the right-hand sides must have the covariance M^-1 (I without
    a preconditioner); log det A is this less log det M.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag([1.0, 2.0, 4.0])
    >>> signs = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    >>> run = conjugate_gradients(lambda P: A @ P, signs, tridiagonals=True, tol=1e-12)
    >>> round(log_determinant(run.state.tridiagonals), 6), round(np.log(8), 6)
    (2.079442, np.float64(2.079442))
    """
    total = 0.0
    for T in tridiagonals:
        if len(T.diagonal) == 0:
            continue
        values, vectors = scipy.linalg.eigh_tridiagonal(T.diagonal, T.off_diagonal)
        logs = np.log(np.maximum(values, np.finfo(float).tiny))
        total += T.squared_norm * float(vectors[0] ** 2 @ logs)
    return total / len(tridiagonals)


class PivotedCholesky(NamedTuple):
    """L of eq. (2), the rows taken and the trace of what is left out."""

    L: Any  # (n, r)
    pivots: np.ndarray  # (r,)
    residual: float  # trace of K - L L^T


def pivoted_cholesky(diagonal, row: Callable, rank: int, *, tol=0.0) -> PivotedCholesky:
    """L with K ~ L L^T from `rank` rows of a positive semi-definite K, eq. (2).

    Parameters
    ----------
    diagonal : array of shape (n,)
    row : callable
        row(i) is row i of K, (n,).
    rank : int
        Most rows to take.
    tol : float
        Stop when the trace of the rest is at most tol times that of K.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> found = pivoted_cholesky(np.diagonal(K), lambda i: K[i], 2)
    >>> (found.L @ found.L.T).round(12), found.pivots
    (array([[4., 2.], [2., 5.]]), array([1, 0]))
    """
    xp = namespace(diagonal)
    n = int(diagonal.shape[0])
    left = diagonal + 0  # a copy: what the factor has not explained yet
    total = float(xp.sum(left))
    level = n * float(xp.finfo(diagonal.dtype).eps) * max(total / max(n, 1), 0.0)
    shape = (n, min(rank, n))
    L = xp.zeros(shape, dtype=diagonal.dtype, device=device(diagonal))
    pivots: list[int] = []
    for r in range(shape[1]):
        i = int(xp.argmax(left))
        best = float(left[i])
        if best <= level or float(xp.sum(left)) <= tol * total:
            break
        column = row(i) - L[:, :r] @ L[i, :r]
        column = column / best**0.5
        L[:, r] = column
        left = left - column * column
        left = xp.where(left > 0, left, xp.zeros_like(left))
        left[i] = 0.0
        pivots.append(i)
    rest = float(xp.sum(left))
    return PivotedCholesky(L[:, : len(pivots)], np.array(pivots, dtype=np.int64), rest)


def nystroem_factor(C, inner):
    """L with L L^T = C inner^-1 C^T, eq. (3), for C (n, m) and its m x m part."""
    R, _ = cholesky(inner)
    xp = namespace(C)
    return xp.matrix_transpose(solve_triangular(R, xp.matrix_transpose(C)))


def sample_low_rank(factor: LowRank, rng, count):
    """Probes of covariance diag(D) + U U^T, (n, count), for eq. (4)."""
    D = factor.D
    n, r = (int(v) for v in factor.V.shape)
    wide, thin = rng.standard_normal((n, count)), rng.standard_normal((r, count))
    root = namespace(D).sqrt(D)[:, None]
    U = factor.V * D[:, None]
    return root * asarray(wide, like=U) + U @ asarray(thin, like=U)
