"""Sparse Gaussian-process regression: Titsias's bound on the evidence, in O(n m^2).

m inducing inputs Z carry the process: with K_mm = k(Z, Z) = L L^T, K_mn = k(Z, X), the
noise variances D of the rows (White of the kernel included) and k_i the prior variance
of f(x_i), let

    A = L^-1 K_mn D^-1/2,   B = I + A A^T = T T^T,   c = T^-1 A D^-1/2 y          (1)
    bound = -1/2 sum_i (log 2 pi D_i + y_i^2 / D_i) - sum_j log T_jj + 1/2 |c|^2
            - 1/2 sum_i k_i / D_i + 1/2 tr(A A^T)                                 (2)

is at most log p(y), for every Z, and equals it where Z are all the rows; so Z are
variational parameters, moved uphill with theta and without risk of overfitting. With
b = T^-T c and a = D^-1/2 (D^-1/2 y - A^T b), the posterior's C^-1 y, the derivatives of
(2) are

    by K_mn   L^-T (b a^T + (I - B^-1) A D^-1/2)                                  (3)
    by K_mm   -1/2 L^-T (b b^T + B - 2 I + B^-1) L^-1                             (4)
    by D_i    1/2 (a_i^2 - (1 - |T^-1 A_i|^2) / D_i) + 1/2 (k_i / D_i - |A_i|^2) / D_i
    by k_i    -1 / (2 D_i)                                                        (5)

((3) to (5) for one output; outputs add up), from which theta and Z follow by
`contract` and `contract_inputs` of the kernel. Rows are taken in blocks, twice: once
for (1), once for (3). New rows have

    mean(x) = k(x, Z) L^-T b,   var(x) = k(x, x) - |L^-1 k|^2 + |T^-1 L^-1 k|^2   (6)

Z starts at the rows that a pivoted Cholesky factor takes: each is the one that those
before it explain least.

Assumes   noise: rows without any have no bound
Cost      2 n m^2 FLOP for (2), 4 n m^2 more for its gradient; memory O(n + m^2)
Shapes    X (n, d)   Z (m, d)   y, a (n, t)   A (m, n) by blocks   b, c (m, t)
Refs      [Titsias2009]; [Burt2020]
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.linalg.cg import pivoted_cholesky
from ..core.linalg.linalg import cholesky, solve_triangular
from ..distances.pairwise_metrics import block_slices
from ..params import ParameterError
from .exact import LOG_2PI, MarginalLikelihood

ROWS = 4096  # of a block
CANDIDATES = 10_000  # rows among which inducing inputs are chosen


def white_and_smooth_variances(kernel, X):
    """White noise of every row, and the variance of f without it."""
    smooth = np.asarray(kernel.without_noise().diag(X), float)
    if not kernel.has_white_noise:
        return np.zeros(len(smooth)), smooth
    return np.maximum(np.asarray(kernel.diag(X), float) - smooth, 0.0), smooth


def contract_variances(kernel, X, by_white, by_smooth):
    """The gradient in theta of what depends on the variances of the rows alone."""
    p = len(kernel.theta)
    if p == 0:
        return np.zeros(0)
    total = kernel.gradient_diag(X)
    if not kernel.has_white_noise:
        return np.array([float(g @ by_smooth) for g in total])
    smooth = kernel.without_noise().gradient_diag(X)
    pairs = zip(total, smooth, strict=True)
    return np.array([float(s @ by_smooth + (g - s) @ by_white) for g, s in pairs])


def choose_inducing_inputs(kernel, X, m, rng):
    """Rows by a pivoted Cholesky factor of k, among CANDIDATES random ones."""
    n = len(X)
    if m >= n:
        return np.array(X, float)
    part = X if n <= CANDIDATES else X[np.sort(rng.permutation(n)[:CANDIDATES])]
    _, smooth = white_and_smooth_variances(kernel, part)
    row = lambda i: kernel(part[i : i + 1], part)[0]
    pivots = pivoted_cholesky(smooth, row, m).pivots
    if len(pivots) < m:  # the others add nothing: take any
        rest = np.setdiff1d(np.arange(len(part)), pivots)
        pivots = np.append(pivots, rng.permutation(rest)[: m - len(pivots)])
    return np.array(part[np.sort(pivots)], float)


class InducingSystem(NamedTuple):
    """Eq. (1), summed over blocks of rows."""

    L: np.ndarray
    T: np.ndarray
    c: np.ndarray  # (m, t)
    B: np.ndarray
    D: np.ndarray  # (n,)
    smooth: np.ndarray  # k_i
    jitter: float


def _inducing_system(kernel, data, Z) -> InducingSystem:
    X, Y, noise = data.X, data.Y, data.noise
    white, smooth = white_and_smooth_variances(kernel, X)
    D = noise + white
    if not D.min() > 0:
        raise ParameterError(
            "solver='inducing' needs noise: set alpha above 0 or add White() to the "
            "kernel."
        )
    m = len(Z)
    # White is no part of the inducing values
    L, jitter = cholesky(kernel(Z, np.array(Z)))
    B = np.eye(m)
    right = np.zeros((m, Y.shape[1]))
    for cut in block_slices(len(X), ROWS):
        A = _scaled_projection(kernel, Z, L, X[cut], D[cut])
        B += A @ A.T
        right += A @ (Y[cut] / np.sqrt(D[cut])[:, None])
    T, _ = cholesky(B)
    return InducingSystem(L, T, solve_triangular(T, right), B, D, smooth, jitter)


def _scaled_projection(kernel, Z, L, X, D):
    """A of eq. (1) for some rows, (m, b)."""
    return solve_triangular(L, kernel(Z, X)) / np.sqrt(D)


def inducing_evidence(kernel, data, Z, *, gradient=True) -> MarginalLikelihood:
    """Eqs. (2) to (5); the gradient in Z is flat."""
    system = _inducing_system(kernel, data, Z)
    L, T, c, B, D, smooth, _ = system
    X, Y = data.X, data.Y
    m = len(Z)
    t = Y.shape[1]
    value = -0.5 * t * float(np.sum(np.log(D)) + len(D) * LOG_2PI)
    value -= 0.5 * float(np.sum(Y**2 / D[:, None]))
    value -= t * float(np.sum(np.log(np.diagonal(T)))) - 0.5 * float(np.sum(c * c))
    value -= 0.5 * t * (float(np.sum(smooth / D)) - float(np.trace(B) - m))
    if not gradient:
        return MarginalLikelihood(value, None)
    b = solve_triangular(T, c, transposed=True)
    eye = np.eye(m)
    inverse = solve_triangular(T, solve_triangular(T, eye), transposed=True)
    complement = eye - inverse
    slope = np.zeros(len(kernel.theta))
    by_Z = np.zeros_like(Z)
    by_D = np.empty(len(D))
    for cut in block_slices(len(X), ROWS):
        x, d = X[cut], D[cut]
        A = _scaled_projection(kernel, Z, L, x, d)
        root = np.sqrt(d)
        a = (Y[cut] / root[:, None] - A.T @ b) / root[:, None]
        W = b @ a.T + t * (complement @ A) / root
        W = solve_triangular(L, W, transposed=True)
        slope += kernel.contract(Z, x, W)
        by_Z += kernel.contract_inputs(Z, x, W)
        seen = np.einsum("ij,ij->j", A, A)
        left = 1.0 - np.einsum("ij,ij->j", A, inverse @ A)
        by_D[cut] = 0.5 * np.sum(a * a, axis=1) - 0.5 * t * left / d
        by_D[cut] += 0.5 * t * (smooth[cut] / d - seen) / d
    M = -0.5 * (b @ b.T + t * (B - 2 * eye + inverse))
    M = solve_triangular(L, M, transposed=True)
    M = solve_triangular(L, M.T, transposed=True)
    slope += kernel.contract(Z, np.array(Z), M)
    by_Z += 2 * kernel.contract_inputs(Z, np.array(Z), M)
    slope += contract_variances(kernel, X, by_D, -0.5 * t / D)
    return MarginalLikelihood(value, slope, solver_params=by_Z.ravel())


class InducingPosterior(NamedTuple):
    """A Gaussian process given data, through its inducing values; eq. (6)."""

    kernel: Any
    Z: np.ndarray
    weights: np.ndarray  # L^-T b, (m, t)
    L: np.ndarray
    T: np.ndarray
    jitter: float = 0.0

    def mean(self, X):
        return self.kernel.matmul(X, self.Z, self.weights)

    def variance(self, X):
        variances = np.array(self.kernel.diag(X), float)
        for cut in block_slices(len(X), ROWS):
            V = solve_triangular(self.L, self.kernel(self.Z, X[cut]))
            U = solve_triangular(self.T, V)
            variances[cut] += np.einsum("ij,ij->j", U, U) - np.einsum("ij,ij->j", V, V)
        return np.maximum(variances, 0.0)

    def moments(self, X):
        return self.mean(X), self.variance(X)

    def covariance(self, X):
        V = solve_triangular(self.L, self.kernel(self.Z, X))
        U = solve_triangular(self.T, V)
        return self.kernel(X) - V.T @ V + U.T @ U


def inducing_posterior(kernel, data, Z) -> InducingPosterior:
    """Condition on the data through the inducing inputs Z."""
    system = _inducing_system(kernel, data, Z)
    b = solve_triangular(system.T, system.c, transposed=True)
    weights = solve_triangular(system.L, b, transposed=True)
    return InducingPosterior(
        kernel, np.array(Z), weights, system.L, system.T, system.jitter
    )
