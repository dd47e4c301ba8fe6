"""Exact inference in a Gaussian process by a Cholesky factor.

With targets y (n, t), t outputs that share the kernel, and noise variances s of the
rows, C = k(X, X) + diag(s) = L L^T and a = C^-1 y,

    log p(y) = -1/2 tr(y^T a) - t sum_i log L_ii - t n / 2 log 2 pi               (1)
    d log p(y) / d theta = 1/2 sum_ij (a a^T - t C^-1)_ij dK_ij / d theta         (2)
    mean(x) = k(x, X) a,   cov(x, z) = k(x, z) - (L^-1 k(X, x))^T L^-1 k(X, z)    (3)

(2) takes C^-1 from the factor in place (`potri`) and sums by tiles of the kernel
(`kernels.contract`); beside the n^2 numbers of C nothing of that size is made. (3) is
evaluated by blocks of new rows, and never as a difference of inverses.

Leaving out row i and predicting it needs no refit:

    mean_i = y_i - a_i / (C^-1)_ii,    var_i = 1 / (C^-1)_ii                      (4)

var_i being that of y_i with its noise. A matrix that rounding has made indefinite gets
a jitter on its diagonal: none, or n eps mean(diag C) times the least power of ten that
lets a factor exist. It scales with the kernel, and is reported.

Tensors stay on their device and keep their precision; sums of (1) are in double.

Cost      n^3 FLOP and 8 n^2 bytes an evaluation of (1) and (2); n^2 a new row's (3)
Shapes    X (n, d)   y, a (n, t)   s (n,)   L (n, n)
Refs      [Rasmussen2006] 2.2, 5.4
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ..core.arrays.arrays import device, is_foreign, is_torch, namespace
from ..core.linalg.linalg import (
    GRADES,
    NotPositiveDefiniteError,
    inverse_from_cholesky,
    solve_cholesky,
    solve_triangular,
)
from ..distances.pairwise_metrics import block_slices
from ..kernels.base import row_slice
from .likelihoods import normal_likelihood

SEARCH_GRADE = 4  # most powers of ten of jitter while hyper-parameters are searched
BLOCK = 4_000_000  # numbers in a block of new rows by training rows
LOG_2PI = float(np.log(2 * np.pi))
NOTHING = np.empty(0)


class GPData(NamedTuple):
    """Rows, targets, the noise variance of every row, and the likelihood of y."""

    X: Any  # (n, d)
    Y: np.ndarray  # (n, t)
    noise: np.ndarray  # (n,), of a Normal likelihood
    likelihood: Any = normal_likelihood
    n_latent: int = 1  # processes behind a column of y: the number of classes

    def take(self, rows) -> "GPData":
        """Some rows, by a slice or their numbers."""
        if is_foreign(self.X):
            xp = namespace(self.X)
            indices = xp.asarray(rows, device=device(self.X))
            pick = lambda values: xp.take(values, indices, axis=0)
        else:
            pick = lambda values: values[rows]
        return self._replace(X=pick(self.X), Y=pick(self.Y), noise=pick(self.noise))


class MarginalLikelihood(NamedTuple):
    """log p(y), or what stands for it, and its gradient in all that is learnt."""

    value: float  # eq. (1)
    gradient: np.ndarray | None  # eq. (2), in theta of the kernel
    likelihood: np.ndarray = NOTHING  # in the parameters of the likelihood
    solver_params: np.ndarray = (
        NOTHING  # in those of the solver, such as inducing inputs
    )


class CovarianceFactor(NamedTuple):
    L: Any  # lower triangular, zeros above
    jitter: float


def jittered_cholesky(kernel, X, noise, *, max_grade=GRADES) -> CovarianceFactor:
    """L of C = k(X, X) + diag(noise), with the least jitter that lets it exist."""
    jitter = 0.0
    for grade in range(-1, max_grade + 1):
        C = kernel(X)
        n = int(C.shape[0])
        C = add_to_diagonal(C, noise)
        xp = namespace(C)
        diagonal = xp.linalg.diagonal(C)
        level = n * float(xp.finfo(C.dtype).eps) * float(xp.mean(diagonal))
        if not np.isfinite(level):
            break
        if grade >= 0:
            jitter = level * 10.0**grade
            C = add_to_diagonal(C, jitter)
        L = _cholesky_in_place(C)
        if L is not None:
            return CovarianceFactor(L, jitter)
    raise NotPositiveDefiniteError(
        f"the kernel {kernel!r} does not give a positive definite matrix, even with "
        f"{jitter:.1e} added to its diagonal: raise alpha or add White() to the kernel."
    )


def add_to_diagonal(C, values):
    """C with `values` added to its diagonal, in place where the library can."""
    if not is_foreign(C):
        C.flat[:: len(C) + 1] += values
        return C
    if is_torch(C):
        C.diagonal().add_(values)
        return C
    xp = namespace(C)
    return C + values * xp.eye(C.shape[0], dtype=C.dtype, device=device(C))


def _cholesky_in_place(C):
    """The lower factor of C, which may be overwritten; None if there is none."""
    if not is_foreign(C):
        # the transposed view is in column order: LAPACK works in place
        L, info = lapack.dpotrf(C.T, lower=1, overwrite_a=1, clean=1)
        return L if info == 0 else None
    if is_torch(C):
        L, info = namespace(C).linalg.cholesky_ex(C)
        return L if int(info) == 0 else None
    try:
        return namespace(C).linalg.cholesky(C)
    except np.linalg.LinAlgError:
        return None


def solve_factored(L, Y):
    """C^-1 Y."""
    return solve_cholesky(L, Y) if is_foreign(L) else lapack.dpotrs(L, Y, lower=1)[0]


def exact_evidence(
    kernel, data, *, gradient=True, max_grade=SEARCH_GRADE
) -> MarginalLikelihood:
    """Eqs. (1) and (2)."""
    L, _ = jittered_cholesky(kernel, data.X, data.noise, max_grade=max_grade)
    A = solve_factored(L, data.Y)
    value = _gaussian_log_evidence(L, A, data.Y)
    if not gradient:
        return MarginalLikelihood(value, None)
    t = int(data.Y.shape[1])
    # the lower half stands for both: 1/2 of the sum is it, with half the diagonal
    if is_foreign(L):
        W = _lower_evidence_weights(A, inverse_from_cholesky(L), t)
    else:
        inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        W = blas.dsyrk(1.0, A, beta=-t, c=inverse, lower=1, overwrite_c=1)
        W.T.flat[:: len(W) + 1] *= 0.5
    return MarginalLikelihood(value, kernel.contract(data.X, None, W))


def _lower_evidence_weights(A, inverse, t):
    """The lower half of A A^T - t C^-1, half its diagonal, for tensors."""
    xp = namespace(A)
    if is_torch(A):
        W = inverse.mul_(-t).addmm_(A, A.mT).tril_()
    else:
        W = xp.tril(A @ xp.matrix_transpose(A) - t * inverse)
    return add_to_diagonal(W, -0.5 * xp.linalg.diagonal(W))


def _gaussian_log_evidence(L, A, Y) -> float:
    """Eq. (1)."""
    n, t = (int(size) for size in Y.shape)
    xp = namespace(L)
    double = lambda v: xp.astype(v, xp.float64)
    half_log_det = float(xp.sum(xp.log(double(xp.linalg.diagonal(L)))))
    square = float(xp.sum(double(Y) * double(A)))
    return -0.5 * square - t * (half_log_det + 0.5 * n * LOG_2PI)


def leave_one_out_moments(L, A, Y):
    """Eq. (4): means (n, t) and variances (n,)."""
    if is_foreign(L):
        inverse = inverse_from_cholesky(namespace(L).asarray(L, copy=True))
    else:
        inverse, _ = lapack.dpotri(L, lower=1)
    precision = namespace(inverse).linalg.diagonal(inverse)
    return Y - A / precision[:, None], 1.0 / precision


def explained_variance_blocks(kernel, X, X_train, L, *, weights=None):
    """L^-1 k(X_train, x) for blocks of new rows: pairs of a slice and (n, b).

    With `weights` (n,), L^-1 diag(weights) k(X_train, x).
    """
    for cut, K in kernel_blocks(kernel, X, X_train):
        K = K if weights is None else K * weights
        yield cut, solve_triangular(L, namespace(K).matrix_transpose(K))


def kernel_blocks(kernel, X, X_train):
    """k(x, X_train) for blocks of new rows: pairs of a slice and (b, n).

    On a device a triangular system is quick for many right-hand sides only: a block
    has up to an eighth of the entries of the factor.
    """
    n = max(sample_count(X_train), 1)
    numbers = max(BLOCK, n * n // 8) if is_foreign(X_train) else BLOCK
    for cut in block_slices(sample_count(X), max(1, numbers // n)):
        yield cut, kernel(row_slice(X, cut), X_train)


def sample_count(X) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


class ExactPosterior(NamedTuple):
    """A Gaussian process given data, eq. (3)."""

    kernel: Any
    X: Any
    A: Any  # (n, t)
    L: Any
    jitter: float = 0.0

    def mean(self, X):
        """(m, t)."""
        return self.kernel.matmul(X, self.X, self.A)

    def variance(self, X):
        """The diagonal of the covariance, (m,), by blocks."""
        prior = self.kernel.diag(X)
        xp = namespace(prior)
        parts = [
            prior[cut] - xp.sum(V * V, axis=0)
            for cut, V in explained_variance_blocks(self.kernel, X, self.X, self.L)
        ]
        left = xp.concat(parts) if parts else prior
        return xp.maximum(left, xp.zeros_like(left))  # rounding where nothing is left

    def moments(self, X):
        """Mean and variance."""
        return self.mean(X), self.variance(X)

    def covariance(self, X):
        """(m, m)."""
        K = self.kernel(X, self.X)
        transpose = namespace(K).matrix_transpose
        V = solve_triangular(self.L, transpose(K))
        return self.kernel(X) - transpose(V) @ V
