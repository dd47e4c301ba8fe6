"""Gaussian-process latent variable model: rows as smooth functions of latent points.

Every column of the centred data Y (n, d) is drawn from one Gaussian process over
latent points z_i, so that with K = k(Z, Z) + s^2 I

    L(Z, theta, s) = d/2 log |K| + 1/2 tr(K^-1 Y Y^T) + n d / 2 log 2 pi            (1)

is minus the log marginal likelihood. Latent points, kernel and noise are fitted
together:

    dL / dK = 1/2 (d K^-1 - K^-1 Y Y^T K^-1) =: G                                   (2)
    dL / dz_i = 2 sum_j G_ij dk(z_i, z_j) / dz_i    dL / dtheta = sum G * dK/dtheta (3)

by L-BFGS, from the principal components. With a linear kernel the minimum is dual
probabilistic PCA: Z Z^T has the leading eigenvectors of Y Y^T / d with their
eigenvalues less s^2, and s^2 is the mean of the eigenvalues left over. With a Gaussian
kernel the map from latent points to rows is curved and L has many minima.

Only Y Y^T enters, so columns beyond n cost nothing.

Cost      O(n^3) a step; memory O(n^2)
Shapes    X, Y (n, d)   Z (n, m)   K, G (n, n)
Refs      [Lawrence2005]; [Tipping1999] probabilistic PCA
"""

import math
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.linalg.truncated_svd import truncated_svd
from ..core.loops import threads
from ..core.random import make_rng
from ..kernels import (
    RBF,
    AbstractKernel,
    Constant,
    Linear,
    Polynomial,
    Product,
    Sum,
)
from ..optim import lbfgs
from ..params import Count, NonNegative, ParameterRule, Positive, Verbosity
from ..typing import Matrix, Seed
from .classical_mds import check_n_dimensions

FEW = 500  # rows up to which threads of BLAS cost more than they save
KERNELS = {"rbf": Constant(1.0) * RBF(1.0), "linear": Linear(1.0)}

Kernel = Annotated[
    Any, ParameterRule("a kernel", lambda v: isinstance(v, AbstractKernel))
]


def latent_gradient(kernel, Z, G):
    """sum_j G_ij dk(z_i, z_j) / dz_i for every i, (n, m); G is symmetric."""
    if isinstance(kernel, Constant):
        return np.zeros_like(Z)
    if isinstance(kernel, Sum):
        parts = (kernel.left, kernel.right)
        return np.sum([latent_gradient(k, Z, G) for k in parts], axis=0)
    if isinstance(kernel, Product):
        left = latent_gradient(kernel.left, Z, G * kernel.right.block(Z, Z))
        return left + latent_gradient(kernel.right, Z, G * kernel.left.block(Z, Z))
    if isinstance(kernel, Linear):
        return kernel.scale * (G @ Z)
    if isinstance(kernel, Polynomial):
        base = kernel.gamma * (Z @ Z.T) + kernel.coef0
        H = G * (kernel.degree * kernel.gamma * base ** (kernel.degree - 1))
        return H @ Z
    if isinstance(kernel, RBF):
        H = G * kernel.block(Z, Z)
        rate = 2 * np.asarray(kernel.gamma)  # 1 / l^2
        return (H @ Z - H.sum(axis=1)[:, None] * Z) * rate
    raise ValueError(
        f"the latent points of {type(kernel).__name__} cannot be learnt: take sums and "
        "products of RBF, Linear, Polynomial and Constant kernels."
    )


def gplvm_objective(Z, kernel, noise, S, d):
    """L of eq. (1) and its slopes in Z, theta and log s^2; S = Y Y^T."""
    n = len(Z)
    K = kernel.block(Z, Z)
    K.flat[:: n + 1] += noise
    try:
        factor = cho_factor(K, lower=True)
    except np.linalg.LinAlgError:
        return math.inf, np.zeros_like(Z), np.zeros(len(kernel.theta)), 0.0
    root = np.log(np.diag(factor[0])).sum()
    inverse = cho_solve(factor, np.eye(n))
    A = cho_solve(factor, S)  # K^-1 S
    value = d * root + 0.5 * np.trace(A) + 0.5 * n * d * math.log(2 * math.pi)
    G = 0.5 * (d * inverse - A @ inverse)
    G = 0.5 * (G + G.T)
    theta = np.array([np.sum(G * g) for g in kernel.gradient_block(Z, Z)])
    return value, 2 * latent_gradient(kernel, Z, G), theta, noise * np.trace(G)


def _fit_latent(Z, kernel, noise, S, d, *, floor, max_iter, tol, task):
    """Minimise (1) from Z, a kernel and a noise; the result and a reader of it."""
    n, m = Z.shape
    p = len(kernel.theta)

    def unpack(x):
        Z = x[: n * m].reshape(n, m)
        theta = x[n * m : n * m + p]
        return Z, kernel.with_theta(theta), floor + math.exp(x[-1])

    def f(x):
        Z, k, noise = unpack(x)
        value, dZ, theta, dnoise = gplvm_objective(Z, k, noise, S, d)
        if not math.isfinite(value):
            return 1e300, np.zeros_like(x)
        part = dnoise * (noise - floor) / noise  # the floor does not move
        return value, np.concatenate([dZ.ravel(), theta, [part]])

    x = np.concatenate([Z.ravel(), kernel.theta, [math.log(noise)]])
    # parameters stay where exp of them, and the Cholesky factor, are numbers
    bounds = [(None, None)] * (n * m) + [(-12.0, 12.0)] * p + [(-35.0, 35.0)]
    return lbfgs(f, x, max_iter=max_iter, tol=tol, bounds=bounds, task=task), unpack


@dataclass(eq=False, repr=False)
class GPLVM(PrefixedOutput, Transformer, Estimator):
    """Gaussian-process latent variable model; the module text gives it.

    Parameters
    ----------
    n_components : int, default=2
        m, the dimensions of the latent points.
    kernel : "rbf", "linear" or kernel, default="rbf"
        k, with its parameters as a start. "rbf" is a constant times RBF.
    noise : float, default=0.1
        s^2 to start from, over the mean variance of the columns.
    init : "pca" or array of shape (n, m), default="pca"
        Where the latent points start.
    max_iter : int, default=100
        Steps of L-BFGS.
    tol : float, default=1e-3
        Stop when no slope of L over the number of entries of X is above this.
    random_state : None, int, RandomState or Generator
        Where the randomised start for wide data comes from.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Z.
    kernel_ : kernel
        With its fitted parameters.
    noise_ : float
        s^2.
    log_likelihood_ : float
        -L.
    mean_ : array of shape (d,)
        Of the columns.
    n_iter_ : int
        Steps taken.
    history_ : dict
        "objective", L at each step.
    converged_, interrupted_ : bool
        How it ended.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import GPLVM
    >>> t = np.linspace(-1, 1, 15)
    >>> X = np.column_stack([t, t**2, t**3])
    >>> model = GPLVM(1, max_iter=300).fit(X)
    >>> bool(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.9)
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    kernel: Literal["rbf", "linear"] | Kernel = "rbf"
    noise: Positive = 0.1
    init: Literal["pca"] | Matrix = "pca"
    max_iter: Count = 100
    tol: NonNegative = 1e-3
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None):
        """Find latent points, kernel and noise; y is not used."""
        X, _ = self._check_training_data(
            X, ensure_min_samples=2, dtype=np.float64, order="C"
        )
        n, d = X.shape
        mean = X.mean(axis=0)
        Y = X - mean
        variance = max(float(np.mean(Y * Y)), 1e-30)
        Y /= math.sqrt(variance)  # L is minimised in units of the data
        Z = self._start(Y)
        kernel = KERNELS[self.kernel] if isinstance(self.kernel, str) else self.kernel
        unpack: Any = None

        def run(task):
            nonlocal unpack
            result, unpack = _fit_latent(
                Z,
                kernel,
                self.noise,
                Y @ Y.T,
                d,
                floor=1e-8,
                max_iter=self.max_iter,
                tol=self.tol * n * d,
                task=task,
            )
            return result

        with threads.single_blas() if n < FEW else nullcontext():
            result = self._run_driver(run, total=self.max_iter, X=X)
        Z_fit, kernel_fit, noise = unpack(result.state.position)
        self.embedding_ = np.array(Z_fit)
        self.kernel_ = variance * kernel_fit
        self.noise_ = noise * variance
        self.log_likelihood_ = -result.objective - 0.5 * n * d * math.log(variance)
        self.mean_ = mean
        K = kernel_fit.block(Z_fit, Z_fit)
        K.flat[:: n + 1] += noise
        scaled_rows = Y * math.sqrt(variance)
        self._weights = cho_solve(cho_factor(K, lower=True), scaled_rows) / variance
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the latent points."""
        return self.fit(X).embedding_

    def inverse_transform(self, X):
        """The mean row at latent points P (q, m): k(P, Z) K^-1 Y + mean."""
        Z = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return self.kernel_(Z, self.embedding_) @ self._weights + self.mean_

    def _start(self, Y):
        n = len(Y)
        m = self.n_components
        if not isinstance(self.init, str):
            Z = np.array(self.init, dtype=np.float64)
            if Z.shape != (n, m):
                raise ValueError(f"init has shape {Z.shape}, {(n, m)} is needed.")
            return Z
        check_n_dimensions(m, n)
        rng = make_rng(self.random_state)
        k = min(m, *Y.shape)
        Z = 0.1 * rng.standard_normal((n, m))
        U, S, _ = truncated_svd(Y, k, rng)
        scale = math.sqrt(n) / max(float(S[0]), 1e-30)
        Z[:, :k] = U * S * scale  # the first axis at unit variance
        return Z

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]
