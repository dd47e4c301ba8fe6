"""Large positive definite systems: a factor in single precision, digits by refinement.

    (K + diag(s)) X = B                                                          (1)

A Cholesky factor in single precision costs half the time and memory of one in double,
and is a nearly perfect preconditioner: conjugate gradients in double precision then
need a few steps for all digits, as long as the condition is below about 1e7. Otherwise
(or for few rows, or where memory is on a device) the factor is made in double.

Cost      n^3 / 3 in single precision, and n^2 a step of refinement
Shapes    K (n, n)   s scalar or (n,)   B (n, k)
Refs      [Higham2002] ch. 12; [Carson2018]
"""

import warnings
from functools import partial

import numpy as np
import scipy.linalg
from scipy.linalg import LinAlgWarning, blas, lapack

from ..arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..loops import threads
from .cg import conjugate_gradients
from .linalg import NotPositiveDefiniteError, cholesky, solve_cholesky

ENOUGH = 1000  # rows from which a factor in single precision pays
BLOCK = 256  # rows converted at a time
FEW_COLUMNS = 3  # right-hand sides up to which columns are solved one by one
CAST = "same_kind"
STEPS = 30  # of refinement before double precision is cheaper


def solve_shifted(K, shift, B, *, tol=1e-12):
    """X of eq. (1) for a positive semi-definite K and shift >= 0; K is not changed.

    Only the lower triangle of a NumPy matrix is looked at.
    Raises `NotPositiveDefiniteError` if K + diag(shift) is singular to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> solve_shifted(np.array([[1.0, 1.0], [1.0, 1.0]]), 1.0, np.array([[3.0], [3.0]]))
    array([[1.], [1.]])
    """
    n = int(K.shape[0])
    if not is_foreign(K) and K.dtype == np.float64 and n >= ENOUGH:
        X = refined_solution(K, shift, B, tol)
        if X is not None:
            return X
    A = _with_shift(K, shift)
    L, _ = cholesky(A, max_grade=-1)  # no jitter: the shift is what was asked for
    return solve_cholesky(L, B)


def solve_shifted_or_least_squares(K, shift, B):
    """`solve_shifted`, or the least-squares solution, with a warning, without a factor.

    There is none if K + diag(shift) is singular to rounding, or K indefinite.
    """
    try:
        return solve_shifted(K, shift, B)
    except NotPositiveDefiniteError:
        warnings.warn(
            "Singular matrix in solving dual problem. Using least-squares solution "
            "instead; the kernel is not positive semi-definite, or a larger penalty "
            "would give a unique solution.",
            LinAlgWarning,
            stacklevel=2,
        )
    A = np.tril(np.asarray(to_numpy(K), np.float64))
    A = A + np.tril(A, -1).T + np.diag(np.broadcast_to(shift, len(A)))
    return asarray(scipy.linalg.lstsq(A, to_numpy(B))[0], like=B)


def _with_shift(K, shift):
    """A copy of K with `shift` added to its diagonal."""
    if is_foreign(K):
        xp = namespace(K)
        return K + shift * xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
    A = np.array(K)
    A.flat[:: len(A) + 1] += shift
    return A


def refined_solution(K, shift, B, tol):
    """Eq. (1) by a factor in single precision; None where that is not enough."""
    n = len(K)
    top = float(np.abs(np.diagonal(K)).max(initial=0.0)) + float(np.max(shift))
    if not 0 < top < np.inf:
        return None
    A = np.empty((n, n), np.float32)

    def scale_rows(begin):
        rows = slice(begin, min(begin + BLOCK, n))  # the upper triangle is not read
        np.divide(K[rows, : rows.stop], top, out=A[rows, : rows.stop], casting=CAST)

    for _ in threads.run_tasks(partial(scale_rows, i) for i in range(0, n, BLOCK)):
        pass
    A.flat[:: n + 1] += np.asarray(shift / top, np.float32)
    # the transposed view is in column order: LAPACK works in place
    _, info = lapack.spotrf(A.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        return None
    column = shift if np.ndim(shift) == 0 else np.asarray(shift)[:, None]

    def precondition(R):
        size = np.abs(R).max(axis=0, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        Z = _solve_with_factor(A.T, (R / size).astype(np.float32))
        return Z.astype(np.float64) * (size / top)

    view = K.T  # in column order, its upper triangle is the lower one of K

    def product(P):
        if P.shape[1] == 1:
            return blas.dsymv(1.0, view, P[:, 0], lower=0)[:, None] + column * P
        return blas.dsymm(1.0, view, P, lower=0) + column * P

    run = conjugate_gradients(
        product,
        B,
        precondition=precondition,
        max_iter=STEPS,
        tol=tol,
    )
    # rounding of K P itself may end the fall of the residual above tol
    good = np.isfinite(run.state.X).all() and run.state.residual <= 1e3 * tol
    return run.state.X if good else None


def _solve_with_factor(U, B):
    """X of U^T U X = B for an upper factor in column order; B may be overwritten.

    Column by column where there are few: LAPACK's substitution for several right-hand
    sides takes three times as long for one. All of it is done by SciPy's BLAS: the
    threads of NumPy's, which wait for more work after a call, would hold the cores.
    """
    if B.shape[1] > FEW_COLUMNS:
        return lapack.spotrs(U, B, lower=0)[0]
    for k in range(B.shape[1]):
        x = np.ascontiguousarray(B[:, k])
        x = blas.strsv(U, x, trans=1, overwrite_x=1)
        B[:, k] = blas.strsv(U, x, overwrite_x=1)
    return B
