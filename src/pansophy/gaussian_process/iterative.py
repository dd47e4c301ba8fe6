"""Gaussian-process inference by products with the kernel matrix alone.

With C = k(X, X) + diag(s), P = D + U U^T close to C (D diagonal, U from a pivoted
Cholesky factor of k) and probes z_j ~ N(0, P), one run of preconditioned conjugate
gradients on [y, z_1, ..., z_q] gives

    a = C^-1 y                                                                    (1)
    log det C = log det P + 1/q sum_j e_1^T log(T_j) e_1 |z_j|^2  (Lanczos)       (2)
    tr(C^-1 dK) ~ 1/q sum_j (C^-1 z_j)^T dK (P^-1 z_j)                            (3)

and the gradient is a sum over tiles with the pairs of vectors in (1) and (3)
(`kernels.contract`). The probes are functions of fixed normal numbers, so that within
one fit the objective is a smooth function of theta; (2) and (3) have a sampling error
that falls with q and with the quality of P.

The posterior mean is k(x, X) a. Its variance solves C w = k(X, x) for blocks of new
rows by the same method.

Assumes   noise: C is well enough conditioned that the residual falls below the
          tolerance; a warning says if it did not
Cost      a product with K, n^2 kernel values, a step; memory O(n r)
Shapes    X (n, d)   y (n, t)   z (n, q)   U (n, r)
Refs      [Gardner2018]; [Ubaru2017]
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.linalg.cg import (
    conjugate_gradients,
    log_determinant,
    pivoted_cholesky,
    sample_low_rank,
)
from ..core.linalg.linalg import EPS, LowRank, NotPositiveDefiniteError, low_rank
from ..distances.pairwise_metrics import block_slices
from ..kernels.base import row_slice, white_difference
from .exact import LOG_2PI, MarginalLikelihood

NEW_ROWS = 64  # whose variances are solved for together


class KernelSystem(NamedTuple):
    """C as an operator, and its preconditioner P."""

    kernel: Any
    X: Any
    noise: np.ndarray
    factor: LowRank

    def product(self, V):
        return self.kernel.matmul(self.X, None, V) + self.noise[:, None] * V

    def solve(self, B, tol, max_iter, **options):
        """Conjugate gradients on C X = B; warns if the residual stays above tol."""
        run = conjugate_gradients(
            self.product,
            B,
            precondition=self.factor.solve,
            tol=tol,
            max_iter=max_iter,
            **options,
        )
        if run.state.residual > tol:
            warnings.warn(
                f"conjugate gradients stopped after {run.n_iter} steps at a residual "
                f"of {run.state.residual:.1e}, above tol={tol:.1e}: raise max_iter or "
                "rank.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return run.state


def kernel_system(kernel, data, rank) -> KernelSystem:
    """C and its preconditioner, a pivoted Cholesky factor of k without white noise."""
    X, noise = data.X, data.noise
    diagonal = np.asarray(kernel.diag(X), float)
    row_at = lambda i: row_slice(X, slice(i, i + 1))
    # what white noise adds to a row with itself belongs to D, not to the factor
    white = np.zeros(len(X))
    if kernel.has_white_noise:
        white = np.maximum(white_difference(kernel, X), 0.0)
    smooth = diagonal - white
    thin = pivoted_cholesky(
        smooth, lambda i: kernel(row_at(i), X)[0], min(rank, len(X)), tol=1e-8
    )
    rest = np.maximum(smooth - np.sum(thin.L**2, axis=1), 0.0)
    level = 10 * len(X) * EPS * float(diagonal.mean())
    D = np.maximum(noise + white + rest.mean(), level)
    if not np.isfinite(D).all():
        raise NotPositiveDefiniteError("the kernel gives values that are not finite.")
    return KernelSystem(kernel, X, noise, low_rank(D, thin.L))


def iterative_evidence(kernel, data, options, *, gradient=True) -> MarginalLikelihood:
    """log p(y) and its gradient by eqs. (1) to (3)."""
    system = kernel_system(kernel, data, options.rank)
    n, t = data.Y.shape
    rng = np.random.default_rng(options.seed)  # the same numbers at every theta
    Z = sample_low_rank(system.factor, rng, options.n_probes)
    state = system.solve(
        np.hstack([data.Y, Z]), options.tol, options.max_iter, tridiagonals=True
    )
    A = state.X[:, :t]
    log_det = float(system.factor.log_det)
    log_det += log_determinant(state.tridiagonals[t:])
    value = -0.5 * float(np.sum(data.Y * A)) - 0.5 * t * (log_det + n * LOG_2PI)
    if not gradient:
        return MarginalLikelihood(value, None)
    solved = state.X[:, t:]
    probes = system.factor.solve(Z)
    U = np.hstack([0.5 * A, -0.5 * t / options.n_probes * solved])
    V = np.hstack([A, probes])
    return MarginalLikelihood(value, kernel.contract(data.X, None, (U, V)))


class IterativePosterior(NamedTuple):
    """A Gaussian process given data, its systems solved by conjugate gradients."""

    kernel: Any
    X: Any
    A: np.ndarray  # (n, t)
    system: KernelSystem
    tol: float
    max_iter: int
    jitter: float = 0.0

    def mean(self, X):
        return self.kernel.matmul(X, self.X, self.A)

    def variance(self, X):
        return self.moments(X)[1]

    def moments(self, X):
        variance = np.array(self.kernel.diag(X), float)
        for cut in block_slices(len(X), NEW_ROWS):
            K = self.kernel(X[cut], self.X)
            W = self.system.solve(K.T, self.tol, self.max_iter).X
            variance[cut] -= np.einsum("ij,ji->i", K, W)
        return self.mean(X), np.maximum(variance, 0.0)

    def covariance(self, X):
        K = self.kernel(X, self.X)
        cov = self.kernel(X) - K @ self.system.solve(K.T, self.tol, self.max_iter).X
        return 0.5 * (cov + cov.T)


def iterative_posterior(kernel, data, options) -> IterativePosterior:
    """Condition on the data by eq. (1)."""
    system = kernel_system(kernel, data, options.rank)
    A = system.solve(data.Y, options.tol, options.max_iter).X
    return IterativePosterior(kernel, data.X, A, system, options.tol, options.max_iter)
