"""Laplace's approximation for a latent Gaussian process seen through a likelihood.

With f ~ N(0, K) and labels y_i in {0, 1} of probability pi_i = 1 / (1 + exp(-f_i)),
the posterior of f is replaced by a Normal at its mode. With g = y - pi, the gradient
of log p(y | f), and W = diag(pi (1 - pi)), the mode is where f = K g. Newton's step:

    B = I + W^1/2 K W^1/2 = L L^T,   b = W f + g,   a = b - W^1/2 B^-1 W^1/2 K b  (1)
    f = K a

    log q(y) = -1/2 a^T f + log p(y | f) - sum_i log L_ii                         (2)

B is at least I, so that its factor always exists; a step that lowers -1/2 a^T f +
log p(y | f) is halved. The mode is converged anew for every theta, and moves with it:
with S = (K^-1 + W)^-1, R = W^1/2 B^-1 W^1/2 and v_i = 1/2 S_ii d^3 log p / df_i^3,

    d log q / d theta = sum_ij (1/2 a a^T - 1/2 R + (I - R K) v g^T)_ij dK_ij / d theta
                                                                                  (3)

the last term being the implicit one, and the sum taken by tiles. New rows have

    mean(x) = k(x, X) g,   var(x) = k(x, x) - |L^-1 W^1/2 k(X, x)|^2              (4)

and E[sigma(f)] is integrated by the trapezoidal rule, which is exact to rounding for
such analytic functions: over the Normal f where its standard deviation is below 1,
and over the logistic variable e of P(e < f) above.

Cost      n^3 / 3 a step of (1), 2 n^3 for (3), n^2 a new row
Shapes    K, B, R (n, n)   f, g, a, v (n,)
Refs      [Rasmussen2006] 3.4, 5.5.1
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.special
from scipy.linalg import lapack

from ..core.linalg import NotPositiveDefiniteError, solve_triangular
from .exact import Evidence, explained_variance_blocks

TOL = 1e-9  # relative change of f at which the mode is found: its error is squared
ROUNDING = 1e-13  # of the objective, relative
HALVINGS = 30
NODES = np.arange(-160, 161) * 0.25  # of the trapezoidal rule


class LaplaceState(NamedTuple):
    """The mode of the latent values and the factor of B there."""

    f: np.ndarray
    a: np.ndarray  # K^-1 f
    g: np.ndarray  # gradient of log p(y | f)
    root: np.ndarray  # square root of W
    L: np.ndarray  # eq. (1)
    value: float  # eq. (2)


def bernoulli_log_probability(y, f) -> float:
    """log p(y | f) for y in {0, 1}."""
    return -float(np.sum(np.logaddexp(0.0, np.where(y > 0, -f, f))))


def newton_system(K, root):
    """L of eq. (1)."""
    B = root[:, None] * K * root[None, :]
    B.flat[:: len(B) + 1] += 1.0
    L, info = lapack.dpotrf(B.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise NotPositiveDefiniteError("the kernel gives a matrix that is indefinite.")
    return L


def find_mode(K, y, *, f=None, max_iter=100) -> LaplaceState:
    """Newton's iteration (1) from f, with steps that never lower the objective."""
    if not np.isfinite(K).all():
        raise NotPositiveDefiniteError("the kernel gives values that are not finite.")
    n = len(y)
    if f is None:
        a = np.zeros(n)
        f = np.zeros(n)
    else:
        # K^-1 f is not at hand: the gradient at f is close to it near a mode
        a = y - scipy.special.expit(f)
        f = K @ a
    objective = -0.5 * float(a @ f) + bernoulli_log_probability(y, f)
    for _ in range(max_iter):
        pi = scipy.special.expit(f)
        root = np.sqrt(pi * (1 - pi))
        L = newton_system(K, root)
        b = root**2 * f + (y - pi)
        step = b - root * lapack.dpotrs(L, root * (K @ b), lower=1)[0] - a
        before = objective
        moved = K @ step
        size = 1.0
        for _ in range(HALVINGS):
            a_new, f_new = a + size * step, f + size * moved
            objective = -0.5 * float(a_new @ f_new)
            objective += bernoulli_log_probability(y, f_new)
            if objective >= before - ROUNDING * abs(before):
                break
            size *= 0.5
        else:
            objective = before
            break
        a, f = a_new, f_new
        if size * np.abs(moved).max() <= TOL * (1 + np.abs(f).max()):
            break
    pi = scipy.special.expit(f)
    root = np.sqrt(pi * (1 - pi))
    L = newton_system(K, root)
    value = objective - float(np.sum(np.log(np.diagonal(L))))
    return LaplaceState(f, a, y - pi, root, L, value)


def laplace_gradient(kernel, X, K, state) -> np.ndarray:
    """Eq. (3)."""
    _, _, g, root, L, _ = state
    inverse, _ = lapack.dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    R = root[:, None] * inverse * root[None, :]
    V = solve_triangular(L, root[:, None] * K)
    S = np.diagonal(K) - np.einsum("ij,ij->j", V, V)
    pi = scipy.special.expit(state.f)
    v = -0.5 * S * (pi * (1 - pi) * (1 - 2 * pi))
    u = v - R @ (K @ v)
    # at the mode a = g
    return kernel.contract(X, None, 0.5 * np.outer(g, g) - 0.5 * R + np.outer(u, g))


def laplace_evidence(kernel, X, y, *, gradient=True, f=None, max_iter=100):
    """Eqs. (2) and (3), and the latent mode."""
    K = kernel(X)
    state = find_mode(K, y, f=f, max_iter=max_iter)
    slope = laplace_gradient(kernel, X, K, state) if gradient else None
    return Evidence(state.value, slope), state.f


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


class LaplacePosterior(NamedTuple):
    """The latent process at new rows, eq. (4)."""

    kernel: Any
    X: Any
    g: np.ndarray
    root: np.ndarray
    L: np.ndarray

    def mean(self, X):
        return self.kernel.matmul(X, self.X, self.g)

    def variance(self, X):
        out = np.array(self.kernel.diag(X), float)
        blocks = explained_variance_blocks(
            self.kernel, X, self.X, self.L, weights=self.root
        )
        for cut, V in blocks:
            out[cut] -= np.einsum("ij,ij->j", V, V)
        return np.maximum(out, 0.0)
