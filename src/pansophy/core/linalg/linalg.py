"""Linear algebra: Cholesky factors, low-rank updates, small least-squares problems.

Least squares over rows of data has a file of its own, `core.linalg.least_squares`; the
small dense problems it ends in are here, systems known by products alone in
`core.linalg.cg`:

    cholesky          A + jitter I = L L^T, the jitter graded and reported          (1)
    solve_psd         A X = B through (1)
    cholesky_update   the factor of A + v v^T, or A - v v^T, in O(d^2)              (2)
    solve_low_rank    (D + U U^T) X = B for diagonal D, thin U, in O(d r^2)         (3)
    smallest          least squares of minimum norm, rank by scaled pivoted QR      (4)

(3) is Woodbury's identity in the form D^-1 - D^-1 U (I + U^T D^-1 U)^-1 U^T D^-1,
whose inner matrix is at least I and so never worse conditioned than the problem.

Shapes    A (d, d)   B (d, k) or (d,)   D (d,)   U (d, r)
Refs      [Higham2002] ch. 10; [GolubVanLoan2013] 2.1.4, 6.5.4
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ..arrays.arrays import all_finite, device, is_foreign, is_torch, namespace
from ..loops import threads

EPS = float(np.finfo(np.float64).eps)
FEW = 400  # equations that one thread solves
INVERSE_BLOCK = 2048  # rows of a block of an inverse that one call makes
GRADES = 10  # jitters tried: from rounding up to GRADES powers of ten above it


class NotPositiveDefiniteError(np.linalg.LinAlgError, ValueError):
    """A matrix that should be positive semi-definite is not, beyond rounding."""


def matrix_size(n) -> str:
    """Memory of a dense matrix of n rows and columns, in words."""
    return f"a matrix of {n} rows takes {8e-6 * n * n:.3g} MB"


def cholesky(A, *, max_grade=GRADES):
    """L and the jitter of eq. (1), the least power of ten that lets L exist.

    The first jitter is 0, the next is the rounding level of the diagonal,
    d * eps * mean(diag A), then ten times that, up to 10^max_grade times. A matrix
    that needs more is not positive semi-definite in any useful sense, and raises
    `NotPositiveDefiniteError`.

    Examples
    --------
    >>> L, jitter = cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> L, jitter
    (array([[2., 0.], [1., 2.]]), 0.0)
    """
    xp = namespace(A)
    if not all_finite(A):
        raise ValueError("the matrix to factor contains NaN or infinity.")
    d = A.shape[0]
    level = d * float(xp.finfo(A.dtype).eps) * float(xp.mean(xp.linalg.diagonal(A)))
    jitter = 0.0
    eye = xp.eye(d, dtype=A.dtype, device=device(A))
    for grade in range(-1, max_grade + 1):
        jitter = level * 10.0**grade if grade >= 0 else 0.0
        try:
            L = xp.linalg.cholesky(A + jitter * eye if jitter else A)
        except (np.linalg.LinAlgError, RuntimeError):  # torch's is a RuntimeError
            continue
        if all_finite(L):
            return L, jitter
    raise NotPositiveDefiniteError(
        f"a {d} x {d} matrix is not positive semi-definite: adding {jitter:.1e} to "
        "its diagonal does not make it so."
    )


def solve_triangular(L, B, *, transposed=False):
    """X in L X = B for lower triangular L, or L^T X = B."""
    if not is_foreign(L):
        options = {"lower": True, "trans": int(transposed), "check_finite": False}
        return scipy.linalg.solve_triangular(L, B, **options)
    xp = namespace(L)
    B2 = B if B.ndim == 2 else B[:, None]
    T = xp.matrix_transpose(L) if transposed else L
    solve = getattr(xp.linalg, "solve_triangular", None)  # torch has it
    X = solve(T, B2, upper=transposed) if solve else xp.linalg.solve(T, B2)
    return X if B.ndim == 2 else X[:, 0]


def solve_cholesky(L, B):
    """X in L L^T X = B."""
    return solve_triangular(L, solve_triangular(L, B), transposed=True)


def inverse_from_cholesky(L):
    """The lower half of (L L^T)^-1 for a tensor L, which may be overwritten.

    L^-1 by halves, then L^-T L^-1 by blocks of rows: n^3 FLOP in matrix products, half
    of what solving for the identity takes.
    """
    xp = namespace(L)
    if not is_torch(L):
        return solve_cholesky(L, xp.eye(L.shape[0], dtype=L.dtype, device=L.device))
    _invert_lower_triangle(L)
    for begin in range(0, len(L), INVERSE_BLOCK):
        end = min(begin + INVERSE_BLOCK, len(L))
        # rows above `begin` are those of the inverse already; none of them is read
        L[begin:end, :end] = L[begin:, begin:end].mT @ L[begin:, :end]
    return L


def _invert_lower_triangle(L):
    """L^-1 in place of a lower triangular tensor."""
    n = len(L)
    if n <= INVERSE_BLOCK:
        eye = namespace(L).eye(n, dtype=L.dtype, device=L.device)
        L[...] = solve_triangular(L, eye)
        return
    half = n // 2
    A, B, D = L[:half, :half], L[half:, :half], L[half:, half:]
    _invert_lower_triangle(A)
    _invert_lower_triangle(D)
    L[half:, :half] = -(D @ (B @ A))


def solve_psd(A, B):
    """X in A X = B for positive semi-definite A, and the jitter that was needed."""
    L, jitter = cholesky(A)
    return solve_cholesky(L, B), jitter


def cholesky_update(L, v, *, downdate=False):
    """The factor of L L^T + v v^T (or - v v^T), eq. (2).

    Examples
    --------
    >>> cholesky_update(np.array([[3.0]]), np.array([4.0]))
    array([[5.]])
    """
    from . import _linalg as loops

    factor = np.array(L, dtype=np.result_type(L, np.float32), order="F", copy=True)
    v = np.array(v, dtype=factor.dtype, copy=True)
    if factor.ndim != 2 or v.shape != (factor.shape[0],):
        raise ValueError(f"L of shape {factor.shape} cannot take v of shape {v.shape}.")
    if not loops.rank_one_update(factor, v, -1.0 if downdate else 1.0):
        raise NotPositiveDefiniteError(
            "the downdated matrix is not positive definite."
            if downdate
            else "L has a diagonal entry that is not above 0."
        )
    return factor


class LowRank(NamedTuple):
    """A = diag(D) + U U^T, factored once for solves and its determinant, eq. (3)."""

    D: Any  # (d,)
    V: Any  # D^-1 U, (d, r)
    L: Any  # factor of I + U^T D^-1 U, (r, r)

    def solve(self, B):
        """A^-1 B."""
        xp = namespace(self.D)
        B2 = B if B.ndim == 2 else B[:, None]
        inner = solve_cholesky(self.L, xp.matrix_transpose(self.V) @ B2)
        X = B2 / self.D[:, None] - self.V @ inner
        return X if B.ndim == 2 else X[:, 0]

    @property
    def log_det(self):
        """log det A."""
        xp = namespace(self.D)
        inner = xp.sum(xp.log(xp.linalg.diagonal(self.L)))
        return xp.sum(xp.log(self.D)) + 2 * inner


def low_rank(D, U) -> LowRank:
    """Factor diag(D) + U U^T; D must be above 0."""
    xp = namespace(D, U)
    if not bool(xp.all(D > 0)):
        raise NotPositiveDefiniteError("every entry of the diagonal must be above 0.")
    V = U / D[:, None]
    inner = xp.matrix_transpose(U) @ V
    eye = xp.eye(U.shape[1], dtype=U.dtype, device=device(U))
    L, _ = cholesky(inner + eye)
    return LowRank(D, V, L)


def solve_low_rank(D, U, B):
    """X in (diag(D) + U U^T) X = B, eq. (3).

    Examples
    --------
    >>> solve_low_rank(np.ones(2), np.array([[1.0], [1.0]]), np.array([3.0, 3.0]))
    array([1., 1.])
    """
    return low_rank(D, U).solve(B)


class ScaledCholesky(NamedTuple):
    L: np.ndarray  # factor of D A D
    D: np.ndarray  # 1 / sqrt(diag A)
    q: float  # eps times the condition of D A D, with room for d

    def solve(self, B):
        D = self.D[:, None]
        return D * scipy.linalg.cho_solve((self.L, True), D * B, check_finite=False)


def scaled_cholesky(A) -> ScaledCholesky | None:
    """Cholesky of A with unit diagonal and its condition; None if it breaks down."""
    diag = np.diagonal(A)
    if not (np.all(np.isfinite(diag)) and np.all(diag > 1e-280)):
        return None
    D = 1 / np.sqrt(diag)
    S = D[:, None] * A * D
    with one_thread_if_small(len(A)):
        L, info = lapack.dpotrf(S, lower=1, clean=1)
        if info != 0:
            return None
        rcond, _ = lapack.dpocon(L, float(np.abs(S).sum(axis=0).max()), uplo="L")
    q = 4 * EPS * np.sqrt(len(A)) / rcond if rcond > 0 else np.inf
    return ScaledCholesky(L, D, float(q))


def minimum_norm_solution(R, c, noise):
    """Eq. (4): the B of minimum norm that minimises |c - R B|, rank, dropped columns.

    `noise` says for each column, scaled to length 1, how small a pivot is zero.

    Examples
    --------
    >>> A = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    >>> c, noise = np.array([[6.0], [2.0]]), np.full(3, 1e-14)
    >>> B, rank, dropped = minimum_norm_solution(A, c, noise)
    >>> B.ravel().round(6), rank, len(dropped)
    (array([0.666667, 0.666667, 1.333333]), 2, 1)
    """
    d = R.shape[1]
    length = column_norms(R)
    constant = (length <= 0) | (noise >= 0.5)
    live = np.flatnonzero(~constant)
    if len(live) == 0:
        return np.zeros((d, c.shape[1])), 0, tuple(range(d))
    S = R[:, live] / length[live]
    Q, T, order = scipy.linalg.qr(S, mode="economic", pivoting=True, check_finite=False)
    pivot = np.abs(np.diagonal(T))
    low = pivot <= noise[live][order[: len(pivot)]]
    rank = int(np.argmax(low)) if low.any() else len(pivot)
    z, T = (Q.T @ c)[:rank], T[:rank]
    B = np.zeros((d, c.shape[1]))
    if rank == len(live):
        Bs = scipy.linalg.solve_triangular(T, z, check_finite=False)
        B[live[order]] = Bs / length[live[order]][:, None]
        return B, rank, tuple(np.flatnonzero(constant))
    # T D^-1 has full row rank: B = (T D^-1)^+ z by a QR of its transpose
    P, U = np.linalg.qr((T * length[live[order]]).T)
    B[live[order]] = P @ scipy.linalg.solve_triangular(
        U, z, trans=1, check_finite=False
    )
    lost = np.concatenate([np.flatnonzero(constant), live[order[rank:]]])
    return B, rank, tuple(int(j) for j in np.sort(lost))


def truncated_least_squares(R, c, tol):
    """Least squares without the directions whose singular value is below tol s_1."""
    U, s, Vt = scipy.linalg.svd(R, full_matrices=False, check_finite=False)
    is_kept = s > tol * s.max(initial=0.0)
    return Vt[is_kept].T @ ((U[:, is_kept].T @ c) / s[is_kept][:, None]), int(
        is_kept.sum()
    )


def ridge_least_squares(R, c, alpha, *, svd=False):
    """argmin |c - R B|^2 + alpha |B|^2: least squares with sqrt(alpha) I below R."""
    if not svd:
        low = np.zeros((R.shape[1], R.shape[1] + c.shape[1]))
        np.fill_diagonal(low, np.sqrt(alpha))
        T = np.linalg.qr(np.concatenate([np.hstack([R, c]), low]), mode="r")
        d = R.shape[1]
        size = np.abs(np.diagonal(T)[:d])
        if size.min() > 1e3 * EPS * size.max():
            return scipy.linalg.solve_triangular(T[:d, :d], T[:d, d:])
    U, s, Vt = scipy.linalg.svd(R, full_matrices=False, check_finite=False)
    root = np.hypot(s, np.sqrt(alpha))  # s / (s^2 + alpha) without overflow
    return Vt.T @ ((U.T @ c) * (s / root / root)[:, None])


def nonnegative_least_squares(R, c, alpha=0.0):
    """argmin |c - R B|^2 + alpha |B|^2 over B >= 0, by active sets."""
    from scipy.optimize import nnls

    d = R.shape[1]
    A = R
    zeros = np.zeros(0)
    if alpha > 0:
        A = np.concatenate([R, np.sqrt(alpha) * np.eye(d)])
        zeros = np.zeros(d)
    if len(A) == 0:  # SciPy's nnls returns memory that was never written to
        return np.zeros((d, c.shape[1]))
    columns = [nnls(A, np.append(y, zeros), maxiter=30 * max(d, 10))[0] for y in c.T]
    return np.stack(columns, axis=1)


def singular_values(R):
    """Singular values of a small matrix, falling."""
    with one_thread_if_small(max(R.shape)):
        return np.linalg.svd(R, compute_uv=False)


def one_thread_if_small(d):
    """One BLAS thread for a small problem: more cost more than they bring."""
    return threads.single_blas() if d <= FEW else nullcontext()


def column_norms(R):
    """Euclidean length of each column, without overflow."""
    top = np.max(np.abs(R), axis=0, initial=0.0)
    top = np.where(top > 0, top, 1.0)
    return top * np.sqrt(np.sum((R / top) ** 2, axis=0))
