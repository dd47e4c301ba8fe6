"""Factor analysis: a few common factors, and independent noise in every column.

    x = W^T z + m + e,    z ~ N(0, I_k),    e ~ N(0, diag(psi))                  (1)

Maximise the likelihood of the rows, whose covariance (divided by n) is S, by
alternating: with psi fixed the best W comes from the leading eigenvectors of the scaled
covariance,

    psi^-1/2 S psi^-1/2 = sum_j l_j u_j u_j^T,
    W = diag(max(l_j - 1, 0))^(1/2) U psi^(1/2)                                  (2)

with W fixed, psi = diag(S - W^T W) is the next. The log-likelihood of a pair (W, psi),
with M = I + W psi^-1 W^T, is

    -n/2 [ d log 2 pi + sum log psi + log |M|
           + trace(psi^-1 S) - trace(M^-1 W psi^-1 S psi^-1 W^T) ]               (3)

The rows enter only through a root T of S, T^T T = S, found once: the triangle of a
blocked QR when n > d, else the centred rows themselves. So an iteration costs d^3 or
n^2 d, not a pass over n rows. Missing values (NaN) are integrated out by EM
(`latent_factor_model.py`). The axes are free up to a rotation, which `rotation` fixes:
the Q that makes

    sum_ij (W Q)_ij^4 - g / d sum_j (sum_i (W Q)_ij^2)^2                         (4)

largest, g = 1 for varimax, 0 for quartimax, by repeated SVD.

Shapes    X (n, d)   W (k, d)   psi, m (d,)   T (min(n, d), d)
Refs      [Barber2012] 21.2; [Rubin1982]; [Kaiser1958] varimax; [Ilin2010]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg

from ..base import Density, Estimator, PrefixedOutput, Transformer
from ..core.drivers.iterate import absolute_change, iterate
from ..core.linalg.least_squares_passes import centred_triangle, prepare_least_squares
from ..core.linalg.linalg import one_thread_if_small
from ..core.linalg.truncated_svd import svd_flip, truncated_svd
from ..core.numerics import LOG_2PI
from ..core.random import make_rng
from ..params import Count, Flag, Natural, NonNegative, ParameterError
from ..typing import Matrix, NumberList, Seed
from .latent_factor_model import (
    FactorParams,
    factor_covariance,
    factor_posterior,
    factor_precision,
    fit_factors_with_missing,
    impute_from_factors,
    sample_factor_model,
)
from .moments import mean_and_total_scatter, refuse_overflowing_sum, refuse_table
from .probabilistic_pca import ALLOW_NAN


class FactorState(NamedTuple):
    W: np.ndarray
    psi: np.ndarray
    objective: float  # minus the log-likelihood of all rows at W and psi, eq. (3)


def covariance_root(X):
    """T and m: T^T T is the covariance of the rows."""
    n, d = X.shape
    if n >= d:
        result = prepare_least_squares(X, np.zeros((n, 1)))
        T = centred_triangle(result)
        shift = 0.0 if result.shift is None else result.shift
        return T.R / np.sqrt(n), T.mean + shift
    m = mean_and_total_scatter(X).mean
    return (X - m) / np.sqrt(n), m


def leading_squared_singular(A, k, method, n_iter, rng):
    """The k largest squared singular values of A and their right vectors."""
    if method == "randomized" and k < min(A.shape):
        _, s, Vt = truncated_svd(A, k, rng, n_iter=n_iter)
        return s**2, Vt
    n, d = A.shape
    few = {"subset_by_index": (min(n, d) - k, min(n, d) - 1)}
    with one_thread_if_small(min(n, d)):
        if n >= d:
            values, E = scipy.linalg.eigh(A.T @ A, check_finite=False, **few)
            return np.maximum(values[::-1], 0.0), E[:, ::-1].T
        values, E = scipy.linalg.eigh(A @ A.T, check_finite=False, **few)
    values = np.maximum(values[::-1], 0.0)
    V = E[:, ::-1].T @ A
    return values, V / np.maximum(np.sqrt(values), 1e-150)[:, None]


def factor_step(state, T, n, k, find) -> FactorState:
    """Eq. (2) at the state's psi, the next psi, and eq. (3) of the two."""
    scale = np.sqrt(state.psi) + 1e-12  # as near 0 as a column without noise may come
    A = T / scale
    values, U = find(A, k)
    W = np.sqrt(np.maximum(values - 1, 0.0))[:, None] * U * scale
    psi = np.maximum(np.sum(T * T, axis=0) - np.sum(W * W, axis=0), 1e-12)
    return FactorState(W, psi, -factor_log_likelihood(W, psi, T, n))


def factor_log_likelihood(W, psi, T, n):
    """Eq. (3): the log-likelihood of n rows with covariance T^T T."""
    k, d = W.shape
    B = W / psi
    if k == 0:
        fit = np.sum(T * T / psi) + np.sum(np.log(psi))
        return -n / 2 * float(d * LOG_2PI + fit)
    C = np.linalg.cholesky(np.eye(k) + B @ W.T)  # of M
    explained = scipy.linalg.solve_triangular(C, B @ T.T, lower=True)
    fit = np.sum(T * T / psi) - np.sum(explained * explained)
    logdet = np.sum(np.log(psi)) + 2 * np.sum(np.log(np.diag(C)))
    return -n / 2 * float(d * LOG_2PI + logdet + fit)


def rotate_factors(W, kind, *, max_iter=100, tol=1e-8):
    """W (k, d) rotated to the maximum of eq. (4)."""
    A = W.T
    g = 1.0 if kind == "varimax" else 0.0
    d, k = A.shape
    Q = np.eye(k)
    last = 0.0
    for _ in range(max_iter):
        B = A @ Q
        pull = A.T @ (B**3 - g / d * B * np.sum(B * B, axis=0))
        P, s, Rt = np.linalg.svd(pull)
        Q = P @ Rt
        if s.sum() <= last * (1 + tol):
            break
        last = float(s.sum())
    return (A @ Q).T


@dataclass(eq=False, repr=False)
class FactorAnalysis(PrefixedOutput, Transformer, Density, Estimator):
    """Factor analysis; the module text gives the method.

    Parameters
    ----------
    n_components : int or None, default=None
        k; None is the number of columns, 0 leaves independent columns.
    tol : float, default=1e-2
        Stop when an iteration changes the log-likelihood of all rows by no more than
        this.
    copy : bool, default=True
        For compatibility with scikit-learn; X is never changed.
    max_iter : int, default=1000
        Most iterations.
    noise_variance_init : array of shape (d,), optional
        psi to start from; None is all ones.
    svd_method : {"lapack", "randomized"}, default="randomized"
        How eq. (2) is solved.
    iterated_power : int, default=3
        Powers kept by "randomized".
    rotation : {"varimax", "quartimax"} or None, default=None
    random_state : int, RandomState, Generator or None, default=0

    Attributes
    ----------
    components_ : array of shape (k, d)
        W.
    noise_variance_ : array of shape (d,)
        psi.
    mean_ : array of shape (d,)
        m.
    loglike_ : list of float
        Log-likelihood of all rows after each iteration; the last one is that of the
        fitted model.
    n_iter_, history_, converged_, interrupted_
        How the iterations went.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1)) * [2.0, 1.0, 1.0] + rng.normal(size=(500, 3))
    >>> FactorAnalysis(1).fit(X).components_.round(1)
    array([[1.9, 1. , 1. ]])
    """

    n_components: Natural | None = None
    _: KW_ONLY
    tol: NonNegative = 1e-2
    copy: Flag = True
    max_iter: Count = 1000
    noise_variance_init: NumberList | Matrix | None = None
    svd_method: Literal["lapack", "randomized"] = "randomized"
    iterated_power: Natural = 3
    rotation: Literal["varimax", "quartimax"] | None = None
    random_state: Seed = 0

    _tensors = False

    def fit(self, X, y=None):
        """Find W, m and psi.

        Parameters
        ----------
        X : array of shape (n, d)
            NaN marks a missing value.
        y : None
            Not used.
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2, **ALLOW_NAN)
        refuse_table(X, "FactorAnalysis")
        n, d = X.shape
        k = d if self.n_components is None else self.n_components
        if k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        missing = bool(np.isnan(X).any())
        if missing and k == 0:
            raise ParameterError(
                "n_components of FactorAnalysis must be at least 1 where X has missing "
                "values, got 0."
            )
        if missing:
            p = self._fit_missing(X, k)
        else:
            p = self._fit_complete(X.astype(float), k)
        W = (
            p.W
            if self.rotation is None or not k
            else rotate_factors(p.W, self.rotation)
        )
        W = svd_flip(None, W)[1] if k else W
        self.components_ = W.astype(X.dtype)
        self.noise_variance_ = p.psi.astype(X.dtype)
        self.mean_ = p.m.astype(X.dtype)
        scale = n if missing else 1
        self.loglike_ = [-scale * float(v) for v in self.history_["objective"]]
        return self

    def _initial_psi(self, d):
        if self.noise_variance_init is None:
            return np.ones(d)
        psi = np.asarray(self.noise_variance_init, dtype=float).ravel()
        if len(psi) != d:
            raise ValueError(
                f"noise_variance_init dimension does not match number of features: "
                f"{len(psi)} != {d}."
            )
        return psi

    def _fit_complete(self, X, k):
        n, d = X.shape
        with np.errstate(over="ignore", invalid="ignore"):
            T, m = covariance_root(X)
            refuse_overflowing_sum(X, float(np.sum(T * T)), "FactorAnalysis", 1e200)
        rng = make_rng(self.random_state)
        psi = self._initial_psi(d)
        k = min(k, len(T))

        def find(A, k):
            if k == 0:
                return np.empty(0), np.empty((0, d))
            return leading_squared_singular(
                A, k, self.svd_method, self.iterated_power, rng
            )

        result = self._run_driver(
            lambda task: iterate(
                lambda s: factor_step(s, T, n, k, find),
                FactorState(np.zeros((k, d)), psi, np.inf),
                max_iter=self.max_iter,
                tol=self.tol,
                change=absolute_change,
                task=task,
            ),
            total=self.max_iter,
            X=X,
        )
        return FactorParams(result.state.W, m, result.state.psi)

    def _fit_missing(self, X, k):
        rng = make_rng(self.random_state)
        full = X.astype(float)
        result = self._run_driver(
            lambda task: fit_factors_with_missing(
                full,
                k,
                rng,
                tied=False,
                max_iter=self.max_iter,
                tol=self.tol / len(X),
                task=task,
            ),
            total=self.max_iter,
            X=X,
        )
        return result.state.params

    def _params(self):
        double = lambda a: np.asarray(a, float)
        psi = np.maximum(double(self.noise_variance_), 1e-300)
        return FactorParams(double(self.components_), double(self.mean_), psi)

    def transform(self, X):
        """E[z | x] of each row; missing values are integrated out."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return factor_posterior(X.astype(float), self._params())[0].astype(X.dtype)

    def fit_transform(self, X, y=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X).transform(X)

    def impute(self, X):
        """X with every missing value at its expectation given the rest of its row."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return impute_from_factors(X.astype(float), self._params()).astype(X.dtype)

    def score_samples(self, X):
        """log p(x) of the observed values of each row."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return factor_posterior(X.astype(float), self._params())[2]

    def score(self, X, y=None):
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples=1):
        """Draw rows of eq. (1)."""
        self._check_new_data(self.mean_[None, :])
        return sample_factor_model(
            n_samples, self._params(), make_rng(self.random_state)
        )

    def get_covariance(self):
        """W^T W + diag(psi)."""
        self._check_new_data(self.mean_[None, :])
        return factor_covariance(self._params())

    def get_precision(self):
        """Inverse of the model's covariance."""
        self._check_new_data(self.mean_[None, :])
        return factor_precision(self._params())

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
