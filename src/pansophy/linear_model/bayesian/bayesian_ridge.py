"""Bayesian ridge regression: noise and penalty by maximising the evidence.

    y ~ N(b + X theta, 1/alpha),  theta ~ N(0, 1/lambda)                         (1)
    alpha ~ Gamma(a1, a2),  lambda ~ Gamma(l1, l2)                               (2)

The evidence of (alpha, lambda), with theta integrated out, is maximised by the fixed
point iteration of MacKay: with s_k the singular values of the centred X and theta the
mean of the posterior, gamma directions are determined by the data, and

    gamma  = sum_k alpha s_k^2 / (lambda + alpha s_k^2)                          (3)
    lambda = (gamma + 2 l1) / (|theta|^2 + 2 l2)                                 (4)
    alpha  = (n - gamma + 2 a1) / (|y - X theta|^2 + 2 a2)                       (5)

X enters through its triangular factor (`core.linalg.least_squares_passes`), read once;
an iteration then costs d^2. The residual in (5) is a sum of squares in the rotated
coordinates, never a difference, so a perfect fit is recognised.

Time O(n d min(n, d)) once; memory one block beyond X, and min(n, d) d.

Shapes    X (n, d)   y (n,)   theta (d,)   s, u (k,)   V (k, d), k = min(n, d)
Refs      [MacKay1992]; [Tipping2001]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...base import Regressor
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.drivers.iterate import iterate
from ...core.linalg.least_squares_passes import centred_triangle, prepare_least_squares
from ...core.linalg.linalg import one_thread_if_small
from ...params import Count, Flag, NonNegative, Positive, Verbosity
from ...predictors.abstract_linear import (
    AbstractLinearEstimator,
    raw_prediction,
    store_coefficients,
    target_columns,
)
from .predictive_distribution import PredictiveDistribution, plot_predictive_band

EPS = float(np.finfo(np.float64).eps)


class RotatedRows(NamedTuple):
    """The centred rows in the coordinates of their singular vectors."""

    s: np.ndarray  # singular values
    u: np.ndarray  # y along the left singular vectors
    V: np.ndarray  # right singular vectors, one per row
    outside: float  # |y|^2 outside the column space of X
    n: float  # sum of weights
    mean: np.ndarray  # of X
    offset: float  # mean of y
    variance: float  # of y


class EvidenceState(NamedTuple):
    """The hyper-parameters after an iteration."""

    theta: np.ndarray
    alpha: float
    lam: float
    objective: float  # minus the log evidence


class AbstractEvidenceRegression(Regressor, AbstractLinearEstimator):
    """Predictive distributions from `coef_`, `sigma_`, `alpha_` and `X_offset_`."""

    def predict(self, X, return_std=False):
        """The mean of every prediction, and its standard deviation if asked."""
        X = self._check_new_data(X, accept_sparse="csr")
        mean = raw_prediction(self, X)
        return (mean, self._predictive_std(X)) if return_std else mean

    def predict_dist(self, X) -> PredictiveDistribution:
        """The Normal distribution of the targets, noise included."""
        X = self._check_new_data(X, accept_sparse="csr")
        return PredictiveDistribution(
            arrays.to_numpy(raw_prediction(self, X)), self._predictive_std(X)
        )

    def _predictive_std(self, X):
        kept = self._kept_columns()

        def std(x):
            x = x.toarray() if hasattr(x, "toarray") else arrays.to_numpy(x)
            A = (x - self.X_offset_)[:, kept]
            variance = np.maximum(np.sum((A @ self.sigma_) * A, axis=1), 0.0)
            return as_float_of(x, np.sqrt(variance + 1 / self.alpha_))

        return X.map(std) if isinstance(X, DatasetRows) else std(X)

    def plot(self, X, y=None, *, level=0.95, ax=None):
        """Mean and interval along the one column of X, with the rows if y is given."""
        return plot_predictive_band(self, X, y, level=level, ax=ax)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def triangular_statistics(X, y, w, intercept):
    """Triangular factor, weight, means and variance: all that is needed of the rows."""
    Y, _ = target_columns(y, X)
    problem = prepare_least_squares(X, Y, w, intercept=intercept)
    T = centred_triangle(problem)
    shift = 0.0 if problem.shift is None else arrays.to_numpy(problem.shift)
    mean = T.mean + shift
    offset = float((T.offset + problem.offset)[0])
    power = float(T.residual[0] + np.sum(T.c**2))
    variance = power / problem.weight
    if not intercept:  # scikit-learn starts at the variance about the mean
        host = arrays.to_numpy(Y)[:, 0].astype(float)
        host_w = None if w is None else arrays.to_numpy(w)
        variance -= float(np.average(host, weights=host_w)) ** 2
    return T, problem.weight, mean, offset, max(variance, 0.0)


def rotate_rows(X, y, w, intercept) -> RotatedRows:
    """The centred rows in the coordinates of their singular vectors."""
    T, n, mean, offset, variance = triangular_statistics(X, y, w, intercept)
    with one_thread_if_small(T.R.shape[1]):
        U, s, V = scipy.linalg.svd(T.R, full_matrices=False)
    c = T.c[:, 0]
    u = U.T @ c
    # the part of c that U leaves: a difference of squares would keep its rounding
    rest = float(T.residual[0]) + float(np.sum((c - U @ u) ** 2))
    return RotatedRows(s, u, V, rest, n, mean, offset, variance)


def ridge_posterior(D: RotatedRows, alpha, lam):
    """theta of the posterior along the singular vectors, and |y - X theta|^2."""
    t = alpha * D.s * D.u / (lam + alpha * D.s**2)
    return t, D.outside + float(np.sum((D.u - D.s * t) ** 2))


def ridge_covariance(D: RotatedRows, alpha, lam):
    """Covariance of the posterior of theta."""
    variance = 1 / (alpha * D.s**2 + lam)
    k, d = D.V.shape
    if k == d:  # a difference to 1 / lambda would lose the small entries
        return (D.V.T * variance) @ D.V
    return (D.V.T * (variance - 1 / lam)) @ D.V + np.eye(d) / lam


def as_float_of(X, values):
    """`values` in single precision where X is, else in double."""
    single = str(getattr(X, "dtype", "")).endswith("float32")
    return values.astype(np.float32) if single else values


def ridge_log_evidence(D: RotatedRows, alpha, lam, priors):
    """Log density of y and of (alpha, lambda) under eq. (1) and (2)."""
    a1, a2, l1, l2 = priors
    t, sse = ridge_posterior(D, alpha, lam)
    d = D.V.shape[1]
    k = len(D.s)
    log_det = np.sum(np.log(lam + alpha * D.s**2)) + (d - k) * math.log(lam)
    fit = d * math.log(lam) + D.n * math.log(alpha / (2 * math.pi)) - log_det
    fit -= alpha * sse + lam * float(t @ t)
    prior = l1 * math.log(lam) - l2 * lam + a1 * math.log(alpha) - a2 * alpha
    return float(fit / 2 + prior)


def evidence_iteration(D: RotatedRows, state: EvidenceState, priors) -> EvidenceState:
    """Eqs (3) to (5)."""
    a1, a2, l1, l2 = priors
    alpha = state.alpha
    lam = state.lam
    t, sse = ridge_posterior(D, alpha, lam)
    gamma = float(np.sum(alpha * D.s**2 / (lam + alpha * D.s**2)))
    lam = (gamma + 2 * l1) / max(float(t @ t) + 2 * l2, 1e-300)
    alpha = (D.n - gamma + 2 * a1) / max(sse + 2 * a2, 1e-300)
    return EvidenceState(
        t @ D.V, alpha, lam, -ridge_log_evidence(D, alpha, lam, priors)
    )


@dataclass(eq=False, repr=False)
class BayesianRidge(AbstractEvidenceRegression):
    """Ridge regression whose penalty and noise maximise the evidence.

    Parameters
    ----------
    max_iter : int, default=300
        Most iterations of eqs (3) to (5).
    tol : float, default=1e-3
        Stop when the coefficients change by less in sum.
    alpha_1, alpha_2, lambda_1, lambda_2 : float, default=1e-6
        a1, a2, l1, l2 of eq. (2).
    alpha_init, lambda_init : float or None
        Where alpha and lambda start: None for one over the variance of y, and 1.
    compute_score : bool, default=False
        Whether to keep the log evidence of every iteration in `scores_`.
    fit_intercept : bool, default=True
        Whether to fit b, which has no prior.
    copy_X : bool, default=True
        scikit-learn's permission to overwrite X, of which no use is made.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Mean of the posterior.
    intercept_ : float
    alpha_, lambda_ : float
        Precision of the noise and of the coefficients.
    sigma_ : array of shape (d, d)
        Covariance of the posterior.
    scores_ : array of shape (n_iter_ + 1,)
        The log evidence at the start and after every iteration, if `compute_score`.
    n_iter_ : int
    X_offset_, X_scale_ : array of shape (d,)
        What is subtracted from the columns, and what they are divided by (ones).
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import BayesianRidge
    >>> X = np.arange(8.0)[:, None]
    >>> model = BayesianRidge().fit(X, 2 * X[:, 0] + [0.1, -0.1] * 4)
    >>> mean, std = model.predict([[10.0]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([19.9]), array([0.1]))
    """

    _: KW_ONLY
    max_iter: Count = 300
    tol: Positive = 1e-3
    alpha_1: NonNegative = 1e-6
    alpha_2: NonNegative = 1e-6
    lambda_1: NonNegative = 1e-6
    lambda_2: NonNegative = 1e-6
    alpha_init: NonNegative | None = None
    lambda_init: NonNegative | None = None
    compute_score: Flag = False
    fit_intercept: Flag = True
    copy_X: Flag = True
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None):
        """Maximise the evidence of alpha and lambda."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        D = rotate_rows(X, y, w, self.fit_intercept)
        priors = self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2
        alpha = 1 / (D.variance + EPS) if self.alpha_init is None else self.alpha_init
        lam = 1.0 if self.lambda_init is None else self.lambda_init
        d = D.V.shape[1]
        first = EvidenceState(np.full(d, np.inf), float(alpha), float(lam), np.inf)
        run = self._run_driver(
            lambda task: iterate(
                lambda s: evidence_iteration(D, s, priors),
                first,
                max_iter=self.max_iter,
                tol=self.tol,
                change=lambda a, b: float(np.abs(a.theta - b.theta).sum()),
                task=task,
            ),
            total=self.max_iter,
            X=X,
            y=y,
        )
        self.alpha_ = run.state.alpha
        self.lambda_ = run.state.lam
        self.scores_ = np.empty(0)
        if self.compute_score:
            start = ridge_log_evidence(
                D, max(first.alpha, EPS), max(first.lam, EPS), priors
            )
            self.scores_ = np.concatenate([[start], -run.history["objective"]])
        theta = ridge_posterior(D, self.alpha_, self.lambda_)[0] @ D.V
        self.X_offset_ = D.mean
        self.X_scale_ = np.ones(d)
        self.sigma_ = as_float_of(X, ridge_covariance(D, self.alpha_, self.lambda_))
        b = D.offset - D.mean @ theta
        store_coefficients(self, X, theta[:, None], np.array([b]), y_is_1d=True)
        return self

    def _kept_columns(self):
        return slice(None)
