"""Conjugate Bayesian linear regression, with known or unknown noise variance.

    y = b + x^T theta + noise of variance s^2                                    (1)
    theta ~ N(m0, S0)                        noise known                         (2)
    theta | s^2 ~ N(m0, s^2 S0),  s^2 ~ InverseGamma(a0, b0)    noise learnt     (3)

and b has a flat prior, which counts as density 1. Both posteriors come from the
triangular factor U of `linear_model/least_squares/square_root_information.py`, to which
the prior adds d rows: the mean solves U m = z, its covariance is s^2 (U^T U)^-1, and
with r^2 the residual sum of squares, f = 1 with an intercept and 0 without,

    a_n = a0 + (n - f) / 2,   b_n = b0 + r^2 / 2                                 (4)

A prediction is Normal in (2) and Student's t of 2 a_n degrees in (3), around x^T m,
with scale^2 s^2 (1 + |U^-T x|^2), s^2 = b_n / a_n in (3). The evidence is

    log p(y) = -(n-f)/2 log(2 pi s^2) + log|L0| - log|U| - r^2 / (2 s^2)         (5)
    log p(y) = -(n-f)/2 log(2 pi) + log|L0| - log|U|
               + a0 log b0 - a_n log b_n + log G(a_n) - log G(a0)                (6)

with L0 the root of the prior precision. The mean of (2) with S0 = t^2 I is ridge with
alpha = s^2 / t^2; rows may come in any order and any number at a time.

Shapes    X (n, d)   theta, m0 (d,)   S0 (d, d), (d,) or a number
Refs      [Bishop2006] 3.3; [Murphy2012] 7.6
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Regressor
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.linalg.linalg import cholesky
from ...core.random import make_rng
from ...params import Flag, Infinite, ParameterError, Positive
from ...predictors.abstract_linear import (
    AbstractLinearEstimator,
    raw_prediction,
    store_coefficients,
    target_columns,
)
from ...typing import Matrix
from ..least_squares import square_root_information as inf
from .predictive_distribution import PredictiveDistribution, plot_predictive_band


def prior_precision_root(variance, mean, d, scale, name):
    """L^T of the prior precision times `scale`, and the prior mean, both checked."""
    m0 = np.zeros(d) if mean is None else np.asarray(mean, dtype=float).ravel()
    if len(m0) != d or not np.isfinite(m0).all():
        raise ParameterError(f"prior_mean of {name} must hold {d} numbers, got {m0}.")
    S0 = np.asarray(variance, dtype=float)
    if S0.ndim == 2:
        if S0.shape != (d, d):
            raise ParameterError(
                f"prior_variance of {name} must be ({d}, {d}), got {S0.shape}."
            )
        if not np.allclose(S0, S0.T) or not np.all(np.linalg.eigvalsh(S0) > 0):
            raise ParameterError(
                f"prior_variance of {name} must be a covariance matrix: symmetric, "
                "with positive eigenvalues."
            )
        L = cholesky(np.linalg.inv(S0) * scale)[0]
        return L.T, m0
    if (S0.ndim == 1 and len(S0) != d) or not np.all(S0 > 0):
        raise ParameterError(
            f"prior_variance of {name} must be above 0: a number, {d} numbers or a "
            "covariance matrix."
        )
    return np.sqrt(scale / S0) * np.ones(d), m0


def log_abs_determinant(root):
    """log |L0|, 0 for the flat directions of an infinite variance."""
    diagonal = np.abs(root if root.ndim == 1 else np.diagonal(root))
    return float(np.sum(np.log(diagonal[diagonal > 0])))


class AbstractConjugateRegression(Regressor, AbstractLinearEstimator):
    """Base: the posterior by square-root information; members give prior and noise."""

    _any_scale = True  # the columns are scaled first

    def fit(self, X, y, sample_weight=None):
        """The posterior given rows X and targets y."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        root, m0 = self._prior(X.shape[1])
        return self._learn(inf.prior_information(root, m0, self.fit_intercept), X, y, w)

    def partial_fit(self, X, y, sample_weight=None):
        """The posterior given further rows; the same as one fit to all rows."""
        if not hasattr(self, "triangle_"):
            return self.fit(X, y, sample_weight)
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr", reset=False
        )
        return self._learn(self._information(), X, y, w)

    def _learn(self, info, X, y, w):
        Y, _ = target_columns(y, X)
        info = inf.add_information(info, X, Y[:, 0], w)
        inf.check_determined(info, type(self).__name__)
        coef, b, _ = inf.solve_information(info)
        store_coefficients(self, X, coef[:, None], np.array([b]), y_is_1d=True)
        self.triangle_ = info.R
        self.weight_ = info.weight
        self._store_posterior(info)
        return self

    def _information(self):
        return inf.SquareRootInformation(
            self.triangle_, self.weight_, self.fit_intercept
        )

    def predict(self, X, return_std=False):
        """The mean of every prediction, and its standard deviation if asked."""
        X = self._check_new_data(X, accept_sparse="csr")
        mean = raw_prediction(self, X)
        return (mean, self._predictive(X, mean).std) if return_std else mean

    def predict_dist(self, X, *, latent=False) -> PredictiveDistribution:
        """The distribution of the targets, or without their noise if `latent`."""
        X = self._check_new_data(X, accept_sparse="csr")
        return self._predictive(X, raw_prediction(self, X), latent=latent)

    def _predictive(self, X, mean, *, latent=False):
        info = self._information()
        if isinstance(X, DatasetRows):
            v = X.map(lambda x: inf.prediction_variance(info, x))
        else:
            v = inf.prediction_variance(info, X)
        scale, df = self._noise()
        return PredictiveDistribution(
            arrays.to_numpy(mean), np.sqrt(scale * (v + (not latent))), df
        )

    def sample(self, n=1, random_state=None):
        """n draws from the posterior: coefficients (n, d), intercepts (n,)."""
        check_is_fitted(self)
        rng = make_rng(random_state)
        info = self._information()
        theta = inf.draw_coefficients(info, np.sqrt(self._draw_noise(n, rng)), rng)
        if not self.fit_intercept:
            return theta, np.zeros(n)
        return theta[:, 1:], theta[:, 0]

    def plot(self, X, y=None, *, level=0.95, ax=None):
        """Mean and interval along the one column of X, with the rows if y is given."""
        return plot_predictive_band(self, X, y, level=level, ax=ax)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class BayesianLinearRegression(AbstractConjugateRegression):
    """Linear regression with a Normal prior and noise of known variance.

    Parameters
    ----------
    noise_variance : float, default=1.0
        s^2 of eq. (1).
    prior_variance : float, array of shape (d,) or (d, d), default=1.0
        S0 of eq. (2); inf for a flat prior.
    prior_mean : array of shape (d,) or None
        m0 of eq. (2); None for 0.
    fit_intercept : bool, default=True
        Whether to fit b, whose prior is flat.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Posterior mean, which is also the mode: ridge with s^2 / S0.
    intercept_ : float
    covariance_ : array of shape (d, d)
        Posterior covariance of the coefficients.
    log_evidence_ : float
        Eq. (5).
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.linear_model import BayesianLinearRegression
    >>> model = BayesianLinearRegression(0.5, fit_intercept=False)
    >>> model = model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
    >>> model.coef_.round(6)
    array([0.965517])
    >>> latent = model.predict_dist([[4.0]], latent=True)
    >>> latent.mean.round(6), (latent.scale**2).round(6)
    (array([3.862069]), array([0.551724]))
    """

    noise_variance: Positive = 1.0
    _: KW_ONLY
    prior_variance: Positive | Infinite | Matrix = 1.0
    prior_mean: Matrix | None = None
    fit_intercept: Flag = True

    def _prior(self, d):
        name = type(self).__name__
        return prior_precision_root(
            self.prior_variance, self.prior_mean, d, self.noise_variance, name
        )

    def _noise(self):
        return self.noise_variance, math.inf

    def _draw_noise(self, n, rng):
        return np.full(n, self.noise_variance)

    def _store_posterior(self, info):
        s2 = self.noise_variance
        self.covariance_ = s2 * inf.coefficient_covariance(info)
        n = info.weight
        f = count_flat_directions(self)
        root, _ = self._prior(self.n_features_in_)
        gain = log_abs_determinant(root) - log_abs_determinant(info.U)
        self.log_evidence_ = (
            -(n - f) / 2 * math.log(2 * math.pi * s2)
            + gain
            - info.residual_ss / (2 * s2)
        )


@dataclass(eq=False, repr=False)
class NormalInverseGammaRegression(AbstractConjugateRegression):
    """Linear regression with a conjugate prior on coefficients and noise.

    Parameters
    ----------
    prior_variance : float, array of shape (d,) or (d, d), default=1.0
        S0 of eq. (3), in units of the noise variance; inf for a flat prior.
    prior_mean : array of shape (d,) or None
        m0 of eq. (3); None for 0.
    a0, b0 : float, default=1.0
        Shape and scale of the inverse gamma prior of the noise variance.
    fit_intercept : bool, default=True
        Whether to fit b, whose prior is flat.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Posterior mean.
    intercept_ : float
    covariance_ : array of shape (d, d)
        Posterior covariance of the coefficients per noise variance.
    a_, b_ : float
        Eq. (4).
    noise_variance_ : float
        Posterior mean of s^2; infinite for a_ of at most 1.
    log_evidence_ : float
        Eq. (6).
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.linear_model import NormalInverseGammaRegression
    >>> model = NormalInverseGammaRegression(fit_intercept=False)
    >>> model = model.fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), model.a_, round(model.b_, 6)
    (array([1.666667, 1.      ]), 2.5, 3.166667)
    """

    _: KW_ONLY
    prior_variance: Positive | Infinite | Matrix = 1.0
    prior_mean: Matrix | None = None
    a0: Positive = 1.0
    b0: Positive = 1.0
    fit_intercept: Flag = True

    def _prior(self, d):
        name = type(self).__name__
        return prior_precision_root(self.prior_variance, self.prior_mean, d, 1.0, name)

    def _noise(self):
        return self.b_ / self.a_, 2 * self.a_

    def _draw_noise(self, n, rng):
        return self.b_ / rng.gamma(self.a_, size=n)

    def _store_posterior(self, info):
        self.covariance_ = inf.coefficient_covariance(info)
        n = info.weight
        f = count_flat_directions(self)
        a = self.a0 + (n - f) / 2
        b = self.b0 + info.residual_ss / 2
        self.a_ = a
        self.b_ = b
        self.noise_variance_ = b / (a - 1) if a > 1 else math.inf
        root, _ = self._prior(self.n_features_in_)
        gain = log_abs_determinant(root) - log_abs_determinant(info.U)
        prior = self.a0 * math.log(self.b0) - math.lgamma(self.a0)
        self.log_evidence_ = (
            -(n - f) / 2 * math.log(2 * math.pi)
            + gain
            + prior
            - (a * math.log(b) - math.lgamma(a))
        )


def count_flat_directions(model):
    """f of eq. (4): the intercept, and coefficients of infinite prior variance."""
    S0 = np.asarray(model.prior_variance, dtype=float)
    flat = np.isinf(S0) if S0.ndim < 2 else np.zeros(1)
    d = model.n_features_in_
    return int(model.fit_intercept) + int(np.sum(flat * np.ones(d)))
