"""Negative binomial regression: counts that vary more than a Poisson count does.

A Poisson count whose rate is itself Gamma distributed around mu, with the coefficient
of variation sqrt(a), has

    E[y | x] = mu,   Var[y | x] = mu + a mu^2,   log mu = x^T B + b              (1)

For a given overdispersion a this is a generalised linear model (`glm.py`); a row of
large mean weighs 1 / (1 + a mu) of what it weighs in Poisson regression, so that a few
large counts do not decide the fit. Given mu, the log-likelihood

    l(a) = sum_i v_i (log G(y_i + 1/a) - log G(1/a) - log(y_i!)
                      - (1/a) log(1 + a mu_i) + y_i log(a mu_i / (1 + a mu_i)))  (2)

is maximised over log a. The two steps alternate until a stands still, which is
coordinate ascent of the joint likelihood. Counts that vary less than a Poisson count
get the smallest a, and with it Poisson regression.

Shapes    X (n, d)   y, mu (n,)   B (d,)   b ()
Refs      [Lawless1987] [Hilbe2011]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from ... import links
from ...core.arrays import arrays
from ...params import Count, Flag, NonNegative, Verbosity
from ...predictors.abstract_linear import target_vector
from .glm import AbstractGLM, family_log_likelihood, family_of

SMALLEST_LOG = -12.0  # of a: not to be told from Poisson
LARGEST_LOG = 6.0
ALTERNATIONS = 25
TOLERANCE = 1e-5  # of log a, between alternations


@dataclass(eq=False, repr=False)
class NegativeBinomialRegressor(AbstractGLM):
    """Regression of overdispersed counts with a log link. See the module text.

    Parameters
    ----------
    overdispersion : float or None, default=None
        a of V = mu + a mu^2; None finds it by maximum likelihood, eq. (2).
    alpha : float, default=0.0
        Strength of the L2 penalty.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "irls", "newton-cholesky", "newton-cg", "lbfgs"}, default="auto"
        How to reach the optimum for a given a.
    max_iter : int, default=100
        Most iterations for a given a.
    tol : float, default=1e-8
        Stop when no entry of the gradient exceeds this.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    overdispersion_ : float
        a that was used.
    n_iter_ : int
    solver_ : str
    history_ : dict of arrays
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import NegativeBinomialRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> y = rng.poisson(np.exp(1 + X[:, 0] / 2) * rng.gamma(2, 1 / 2, 2000))
    >>> model = NegativeBinomialRegressor().fit(X, y)
    >>> bool(abs(model.overdispersion_ - 0.5) < 0.06)
    True
    """

    overdispersion: NonNegative | None = None
    _: KW_ONLY
    alpha: NonNegative = 0.0
    fit_intercept: Flag = True
    solver: Literal["auto", "irls", "newton-cholesky", "newton-cg", "lbfgs"] = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-8
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """Fit to rows X and counts y; offsets and exposures are one per row.

        Standard errors and tests take the overdispersion as known.
        """
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        y = target_vector(y, X)
        given = self.overdispersion
        o = self._offset(offset, exposure, y)
        self.overdispersion_ = np.exp(SMALLEST_LOG) if given is None else float(given)
        self.overdispersion_ = max(self.overdispersion_, float(np.exp(SMALLEST_LOG)))
        counts = np.asarray(arrays.to_numpy(y), dtype=float)
        v = np.ones(len(counts)) if w is None else np.asarray(arrays.to_numpy(w), float)
        for _ in range(ALTERNATIONS):
            J, x = self._fit_glm(X, y, w, self.alpha, o)
            if given is not None:
                break
            f = J.predictions_at(x)
            mean = np.exp(np.concatenate([arrays.to_numpy(part) for part in f]))
            mean = mean.astype(float)
            before = self.overdispersion_
            self.overdispersion_ = likeliest_overdispersion(counts, mean, v)
            if abs(np.log(self.overdispersion_ / before)) < TOLERANCE:
                break
        self._store_inference(J, x, y, w, o)
        return self

    def _family_and_link(self):
        a = getattr(self, "overdispersion_", 1.0)
        return family_of("negative_binomial", a), links.log


def likeliest_overdispersion(y, mu, w) -> float:
    """The a that maximises eq. (2) for counts y of means mu."""
    mu = np.maximum(mu, 1e-12)

    def negative(log_a):
        family = family_of("negative_binomial", float(np.exp(log_a)))
        return -float(family_log_likelihood(family, y, mu, w, 1.0) or 0.0)

    result = minimize_scalar(
        negative,
        bounds=(SMALLEST_LOG, LARGEST_LOG),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return float(np.exp(result.x))
