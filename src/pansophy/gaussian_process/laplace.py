"""Laplace's approximation for a latent Gaussian process seen through a likelihood.

With f ~ N(0, K) and a likelihood p(y | f) of `likelihoods`, the posterior of f is
replaced by a Normal at its mode. With g the gradient of log p(y | f) and
W = -d2 log p / df2, the mode is where f = K g. Newton's step, with b = W f + g:

    R = (K + W^-1)^-1,   a = b - R K b,   f = K a                                 (1)
    log q(y) = -1/2 a^T f + log p(y | f) - 1/2 log det(I + K W)                   (2)

A step that lowers -1/2 a^T f + log p(y | f) is halved. R by the kind of W:

    W >= 0    W^1/2 B^-1 W^1/2,  B = I + W^1/2 K W^1/2 = L L^T, at least I        (3)
    any W     W (I + K W)^-1 by an LU factor: Student's t is not log-concave. Where
              that step does not go up, W without its negative entries is taken
    softmax   W = diag(p) - p p^T in each row, k classes:  E_c as (3) with W = p_c,
              R_cd = [c = d] E_c - E_c (sum_c E_c)^-1 E_d                         (4)

so that no matrix has more than n rows. The mode is converged anew for every theta, and
moves with it: with S = (K^-1 + W)^-1 and v = d(-1/2 log det(I + K W)) / df,

    v_i = 1/2 S_ii d^3 log p / df_i^3                                             (5)
    softmax: v_c = -1/2 p_c (S_cc - p.diag S - 2 (S p)_c + 2 p^T S p) in each row
    u = v - R K v
    d log q / d theta = sum_ij (1/2 g g^T - 1/2 R + u g^T)_ij dK_ij / d theta     (6)
    d log q / d phi = sum_i (d log p / d phi - 1/2 S_ii dW_i / d phi
                             + (K u)_i dg_i / d phi)                              (7)

the terms in u being the implicit ones, the sum of (6) taken by tiles (and over classes,
which share the kernel), and phi a parameter of the likelihood. New rows have

    mean(x) = k(x, X) g,   cov(x) = k(x, x) - k(x, X) R k(X, x)                   (8)

and E[sigma(f)] is integrated by the trapezoidal rule, which is exact to rounding for
such analytic functions: over the Normal f where its standard deviation is below 1,
and over the logistic variable e of P(e < f) above.

Cost      k n^3 / 3 a step of (1), 2 k n^3 for (6), k n^2 a new row
Shapes    K, B, R (n, n)   f, g, a, v (n,) or (n, k)
Refs      [Rasmussen2006] 3.4, 3.5, 5.5; [Vanhatalo2009]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.special
from scipy.linalg import lapack

from ..core.linalg.linalg import (
    NotPositiveDefiniteError,
    cholesky,
    solve_cholesky,
    solve_triangular,
)
from ..core.numerics import softmax
from .exact import MarginalLikelihood, explained_variance_blocks, kernel_blocks
from .likelihoods import normal_points

TOL = 1e-9  # relative change of f at which the mode is found: its error is squared
ROUNDING = 1e-13  # of the objective, relative
HALVINGS = 30
NODES = np.arange(-160, 161) * 0.25  # of the trapezoidal rule


def _newton_factor(K, root):
    """L of eq. (3)."""
    B = root[:, None] * K * root[None, :]
    B.flat[:: len(B) + 1] += 1.0
    L, info = lapack.dpotrf(B.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise NotPositiveDefiniteError("the kernel gives a matrix that is indefinite.")
    return L


def _scaled_inverse(L, root):
    """W^1/2 B^-1 W^1/2 of eq. (3), (n, n)."""
    inverse, _ = lapack.dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return root[:, None] * inverse * root[None, :]


class PositiveCurvature(NamedTuple):
    """R for W of at least 0, eq. (3)."""

    root: np.ndarray  # square root of W
    L: np.ndarray

    def apply(self, v):
        """R v."""
        return self.root * lapack.dpotrs(self.L, self.root * v, lower=1)[0]

    @property
    def half_log_det(self):
        return float(np.sum(np.log(np.diagonal(self.L))))

    def matrix(self):
        return _scaled_inverse(self.L, self.root)

    def posterior_variances(self, K):
        """Diagonal of S = K - K R K."""
        V = solve_triangular(self.L, self.root[:, None] * K)
        return np.diagonal(K) - np.einsum("ij,ij->j", V, V)


class IndefiniteCurvature(NamedTuple):
    """R for W of any sign, by an LU factor of I + K W."""

    W: np.ndarray
    lu: Any
    half_log_det: float

    def apply(self, v):
        return self.W * scipy.linalg.lu_solve(self.lu, v, check_finite=False)

    def matrix(self):
        inverse = scipy.linalg.lu_solve(self.lu, np.eye(len(self.W)))
        R = self.W[:, None] * inverse
        return 0.5 * (R + R.T)

    def posterior_variances(self, K):
        return np.diagonal(K) - np.einsum("ij,ij->i", K @ self.matrix(), K)


class SoftmaxCurvature(NamedTuple):
    """R of eq. (4)."""

    P: np.ndarray  # probabilities, (n, k)
    E: np.ndarray  # (k, n, n)
    M: np.ndarray  # factor of sum_c E_c
    half_log_det: float

    def apply(self, v):
        own_part = np.stack([E @ v[:, c] for c, E in enumerate(self.E)], axis=1)
        shared = solve_cholesky(self.M, own_part.sum(axis=1))
        return own_part - np.stack([E @ shared for E in self.E], axis=1)

    def class_matrix(self, c):
        """R_cc, (n, n)."""
        V = solve_triangular(self.M, self.E[c])
        return self.E[c] - V.T @ V

    def posterior_blocks(self, K):
        """The k x k block of S = K - K R K of every row, (n, k, k)."""
        k = len(self.E)
        out = np.empty((len(K), k, k))
        V = [solve_triangular(self.M, E @ K) for E in self.E]
        for c in range(k):
            for d in range(c + 1):
                out[:, c, d] = out[:, d, c] = np.einsum("ij,ij->j", V[c], V[d])
            own_variance = np.einsum("ij,ij->i", K @ self.E[c], K)
            out[:, c, c] += np.diagonal(K) - own_variance
        return out


def _curvature_system(likelihood, K, y, f, *, positive=False):
    """W and R of eq. (1) at f; None where I + K W is singular or of negative sign."""
    if f.ndim == 2:
        P = softmax(f)
        roots = np.sqrt(P)
        factors = [_newton_factor(K, root) for root in roots.T]
        pairs = zip(factors, roots.T, strict=True)
        E = np.stack([_scaled_inverse(L, root) for L, root in pairs])
        M, _ = cholesky(E.sum(axis=0))
        half = sum(float(np.sum(np.log(np.diagonal(L)))) for L in factors)
        half += float(np.sum(np.log(np.diagonal(M))))
        return SoftmaxCurvature(P, E, M, half)
    W = likelihood.curvature(y, f)
    if positive:
        W = np.maximum(W, 0.0)
    if np.all(W >= 0):
        root = np.sqrt(W)
        return PositiveCurvature(root, _newton_factor(K, root))
    lu = scipy.linalg.lu_factor(
        np.eye(len(K)) + K * W[None, :], overwrite_a=True, check_finite=False
    )
    diagonal = np.diagonal(lu[0])
    swaps = np.sum(lu[1] != np.arange(len(K)))
    sign = np.prod(np.sign(diagonal)) * (-1) ** swaps
    if not sign > 0:
        return None
    return IndefiniteCurvature(W, lu, 0.5 * float(np.sum(np.log(np.abs(diagonal)))))


def _curvature_times(likelihood, system, y, f):
    """W f."""
    if f.ndim == 2:
        P = system.P
        return P * (f - np.sum(P * f, axis=1, keepdims=True))
    if isinstance(system, PositiveCurvature):
        return system.root**2 * f
    return system.W * f


class LaplaceState(NamedTuple):
    """The mode of the latent values and the curvature there."""

    f: np.ndarray
    a: np.ndarray  # K^-1 f
    g: np.ndarray  # gradient of log p(y | f)
    system: Any
    value: float  # eq. (2)


def _log_latent_posterior(likelihood, y, a, f) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.sum(likelihood.log_prob(y, f))) - 0.5 * float(np.sum(a * f))
    return value if np.isfinite(value) else -np.inf


def _mode_newton_direction(likelihood, K, y, a, f, *, positive):
    """a of eq. (1) less the present one; None if there is none."""
    system = _curvature_system(likelihood, K, y, f, positive=positive)
    if system is None:
        return None
    b = _curvature_times(likelihood, system, y, f) + likelihood.gradient(y, f)
    return b - system.apply(K @ b) - a


def find_mode(K, y, likelihood, *, f=None, n_latent=1, max_iter=100) -> LaplaceState:
    """Newton's iteration (1) from f, with steps that never lower the objective."""
    if not np.isfinite(K).all():
        raise NotPositiveDefiniteError("the kernel gives values that are not finite.")
    shape = (len(y), n_latent) if n_latent > 1 else (len(y),)
    a = np.zeros(shape)
    if f is not None:
        # K^-1 f is not at hand: the gradient at f is close to it near a mode
        a = likelihood.gradient(y, f)
    f = K @ a
    objective = _log_latent_posterior(likelihood, y, a, f)
    for _ in range(max_iter):
        moved = None
        for positive in (False, True):
            step = _mode_newton_direction(likelihood, K, y, a, f, positive=positive)
            if step is None:
                continue
            moved = take_step(likelihood, K, y, a, f, step, objective)
            if moved is not None:
                break
        if moved is None:  # nothing goes up any more: rounding
            break
        change = np.abs(moved.f - f).max()
        a, f, objective = moved
        if change <= TOL * (1 + np.abs(f).max()):
            break
    g = likelihood.gradient(y, f)
    system = _curvature_system(likelihood, K, y, f)
    if system is None:
        raise NotPositiveDefiniteError("the latent values have no mode.")
    return LaplaceState(f, a, g, system, objective - system.half_log_det)


class NewtonStep(NamedTuple):
    a: np.ndarray
    f: np.ndarray
    objective: float


def take_step(likelihood, K, y, a, f, step, before) -> NewtonStep | None:
    """The longest halved step that does not lower the objective."""
    moved = K @ step
    size = 1.0
    for _ in range(HALVINGS):
        a_new, f_new = a + size * step, f + size * moved
        objective = _log_latent_posterior(likelihood, y, a_new, f_new)
        if objective >= before - ROUNDING * abs(before):
            return NewtonStep(a_new, f_new, objective)
        size *= 0.5
    return None


def _laplace_gradient(kernel, X, K, y, likelihood, state):
    """Eqs. (6) and (7)."""
    g, system = state.g, state.system
    if g.ndim == 2:
        S = system.posterior_blocks(K)
        P = system.P
        SP = np.einsum("ncd,nd->nc", S, P)
        own_variance = np.einsum("ncc->nc", S)
        inner = own_variance - np.sum(P * own_variance, axis=1, keepdims=True)
        inner = inner - 2 * (SP - np.sum(P * SP, axis=1, keepdims=True))
        v = -0.5 * P * inner
        u = v - system.apply(K @ v)
        W = u @ g.T + 0.5 * g @ g.T
        for c in range(g.shape[1]):
            W -= 0.5 * system.class_matrix(c)
        return kernel.contract(X, None, W), np.empty(0)
    S = system.posterior_variances(K)
    v = 0.5 * S * likelihood.third(y, state.f)
    u = v - system.apply(K @ v)
    # at the mode a = g
    W = 0.5 * np.outer(g, g) - 0.5 * system.matrix() + np.outer(u, g)
    slope = kernel.contract(X, None, W)
    if likelihood.scale is None:
        return slope, np.empty(0)
    by_density, by_gradient, by_curvature = likelihood.scale_slopes(y, state.f)
    by_scale = np.sum(by_density - 0.5 * S * by_curvature + (K @ u) * by_gradient)
    return slope, np.array([float(by_scale)])


class LaplaceData(NamedTuple):
    """Data that the evidence depends on beside the kernel."""

    X: Any
    y: np.ndarray
    likelihood: Any
    n_latent: int = 1


def laplace_evidence(kernel, data, *, gradient=True, f=None, max_iter=100):
    """Eqs. (2), (6) and (7), and the latent mode."""
    X, y, likelihood, n_latent = data
    K = kernel(X)
    state = find_mode(K, y, likelihood, f=f, n_latent=n_latent, max_iter=max_iter)
    if not gradient:
        return MarginalLikelihood(state.value, None), state
    slope, phi = _laplace_gradient(kernel, X, K, y, likelihood, state)
    return MarginalLikelihood(state.value, slope, phi), state


def expected_sigmoid(mean, variance):
    """E[1 / (1 + exp(-f))] for f ~ N(mean, variance), elementwise.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import expected_sigmoid
    >>> expected_sigmoid(np.array([0.0, 2.0, 2.0]), np.array([9.0, 0.0, 4.0])).round(6)
    array([0.5     , 0.880797, 0.7752  ])
    """
    mean = np.asarray(mean, float)
    std = np.sqrt(np.maximum(variance, 0.0))
    out = np.empty(np.broadcast_shapes(mean.shape, std.shape))
    mean, std = np.broadcast_to(mean, out.shape), np.broadcast_to(std, out.shape)
    small = std < 1
    h = NODES[1] - NODES[0]
    density = h * np.exp(-0.5 * NODES**2) / np.sqrt(2 * np.pi)
    values = scipy.special.expit(mean[small, None] + std[small, None] * NODES)
    out[small] = values @ density
    logistic = h * scipy.special.expit(NODES) * scipy.special.expit(-NODES)
    wide = ~small
    out[wide] = (
        scipy.special.ndtr((mean[wide, None] - NODES) / std[wide, None]) @ logistic
    )
    return out


def expected_softmax(mean, cov):
    """E[softmax(f)] for f ~ N(mean, cov) in every row, at quasi-random points.

    Parameters
    ----------
    mean : array of shape (m, k)
    cov : array of shape (m, k, k)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import expected_softmax
    >>> expected_softmax(np.zeros((1, 2)), np.eye(2)[None]).round(6)
    array([[0.5, 0.5]])
    """
    values, vectors = np.linalg.eigh(cov)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    points = normal_points(mean.shape[1])
    out = np.empty_like(mean)
    for i, (center, root) in enumerate(zip(mean, roots, strict=True)):
        out[i] = softmax(center + points @ root.T).mean(axis=0)
    return out


class LaplacePosterior(NamedTuple):
    """The latent process at new rows, eq. (8), W of at least 0."""

    kernel: Any
    X: Any
    g: np.ndarray
    root: np.ndarray
    L: np.ndarray

    def mean(self, X):
        return self.kernel.matmul(X, self.X, self.g)

    def variance(self, X):
        variances = np.array(self.kernel.diag(X), float)
        blocks = explained_variance_blocks(
            self.kernel, X, self.X, self.L, weights=self.root
        )
        for cut, V in blocks:
            variances[cut] -= np.einsum("ij,ij->j", V, V)
        return np.maximum(variances, 0.0)

    def covariance(self, X):
        K = self.kernel(X, self.X) * self.root
        V = solve_triangular(self.L, K.T)
        return self.kernel(X) - V.T @ V


class IndefinitePosterior(NamedTuple):
    """The latent process at new rows, eq. (8), W of any sign."""

    kernel: Any
    X: Any
    g: np.ndarray
    R: np.ndarray

    def mean(self, X):
        return self.kernel.matmul(X, self.X, self.g)

    def variance(self, X):
        variances = np.array(self.kernel.diag(X), float)
        for cut, K in kernel_blocks(self.kernel, X, self.X):
            variances[cut] -= np.einsum("ij,ij->i", K @ self.R, K)
        return np.maximum(variances, 0.0)

    def covariance(self, X):
        K = self.kernel(X, self.X)
        cov = self.kernel(X) - K @ self.R @ K.T
        return 0.5 * (cov + cov.T)


class SoftmaxPosterior(NamedTuple):
    """The latent processes of all classes at new rows, eqs. (4) and (8)."""

    kernel: Any
    X: Any
    g: np.ndarray  # (n, k)
    E: np.ndarray  # (k, n, n)
    M: np.ndarray

    def mean(self, X):
        """(m, k)."""
        return self.kernel.matmul(X, self.X, self.g)

    def class_covariance(self, X):
        """Covariance of the classes at each row, (m, k, k)."""
        k = len(self.E)
        prior = np.asarray(self.kernel.diag(X), float)
        out = np.empty((len(prior), k, k))
        for cut, K in kernel_blocks(self.kernel, X, self.X):
            V = [solve_triangular(self.M, E @ K.T) for E in self.E]
            for c in range(k):
                for d in range(c + 1):
                    covariances = np.einsum("ij,ij->j", V[c], V[d])
                    out[cut, c, d] = out[cut, d, c] = covariances
                own_variance = np.einsum("ij,ij->i", K @ self.E[c], K)
                out[cut, c, c] += prior[cut] - own_variance
        return out


def laplace_posterior(kernel, X, state):
    """The posterior at new rows that belongs to a mode."""
    system = state.system
    if isinstance(system, SoftmaxCurvature):
        return SoftmaxPosterior(kernel, X, state.g, system.E, system.M)
    if isinstance(system, PositiveCurvature):
        return LaplacePosterior(kernel, X, state.g, system.root, system.L)
    return IndefinitePosterior(kernel, X, state.g, system.matrix())
