"""Poisson, Gamma and Tweedie regression: counts, positive amounts, and both.

The variance of the target is a power of its mean and the mean is the exponential of a
linear function (or, for power at most 0, the linear function itself):

    E[y | x] = mu,   Var[y | x] ~ mu^p,   log mu = x^T B + b                     (1)

with p = 1 for `PoissonRegressor`, 2 for `GammaRegressor`, any p outside (0, 1) for
`TweedieRegressor`: between 1 and 2 a Poisson number of Gamma amounts, which is often 0;
3 is the inverse Gaussian. The objective and the solvers are those of `glm.py`.

Shapes    X (n, d)   y, mu (n,)   B (d,)   b ()
Refs      [Nelder1972] [Jorgensen1987]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ... import links
from ...losses import get_family
from ...params import Count, Flag, NonNegative, Number, Verbosity
from ...predictors.abstract_linear import target_vector
from .glm import AbstractGLM

TweedieSolver = Literal["auto", "lbfgs", "newton-cholesky"]


def fit_tweedie(model, X, y, w, offset=None, exposure=None):
    """The common `fit` of the three regressors; without a penalty also inference."""
    X, y, w = model._check_training_data(X, y, w, y_kind="number", accept_sparse="csr")
    y = target_vector(y, X)
    o = model._offset(offset, exposure, y)
    J, x = model._fit_glm(X, y, w, model.alpha, o)
    model.covariance_ = None
    if model.alpha == 0:
        model._store_inference(J, x, y, w, o)
    return model


@dataclass(eq=False, repr=False)
class PoissonRegressor(AbstractGLM):
    """Poisson regression with a log link, for counts and rates.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "lbfgs", "newton-cholesky"}, default="auto"
        "auto" picks by the number of columns; all reach the same optimum.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_iter_ : int
    solver_ : str
        The solver that was used.
    history_ : dict of arrays
        "objective" after each iteration.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import PoissonRegressor
    >>> X = np.array([[1.0, 2], [2, 3], [3, 4], [4, 3]])
    >>> model = PoissonRegressor(tol=1e-8).fit(X, [12, 17, 22, 21])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.1211, 0.1584]), 2.0886)
    >>> round(model.score(X, [12, 17, 22, 21]), 4)
    0.9905
    """

    _: KW_ONLY
    alpha: NonNegative = 1.0
    fit_intercept: Flag = True
    solver: TweedieSolver = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """Fit to rows X and counts y; offsets and exposures are one per row."""
        return fit_tweedie(self, X, y, sample_weight, offset, exposure)

    def _family_and_link(self):
        return get_family("poisson"), links.log


@dataclass(eq=False, repr=False)
class GammaRegressor(AbstractGLM):
    """Gamma regression with a log link, for amounts above 0.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "lbfgs", "newton-cholesky"}, default="auto"
        "auto" picks by the number of columns; all reach the same optimum.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_iter_ : int
    solver_ : str
        The solver that was used.
    history_ : dict of arrays
        "objective" after each iteration.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import GammaRegressor
    >>> X = np.array([[1.0, 2], [2, 3], [3, 4], [4, 3]])
    >>> model = GammaRegressor(tol=1e-8).fit(X, [19, 26, 33, 30])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.0729, 0.0668]), 2.8971)
    """

    _: KW_ONLY
    alpha: NonNegative = 1.0
    fit_intercept: Flag = True
    solver: TweedieSolver = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """Fit to rows X and amounts y; offsets and exposures are one per row."""
        return fit_tweedie(self, X, y, sample_weight, offset, exposure)

    def _family_and_link(self):
        return get_family("gamma"), links.log


@dataclass(eq=False, repr=False)
class TweedieRegressor(AbstractGLM):
    """Regression whose variance is a power of the mean, eq. (1).

    Parameters
    ----------
    power : float, default=0.0
        p: 0 Normal, 1 Poisson, 2 Gamma, 3 inverse Gaussian, between 1 and 2 a Poisson
        number of Gamma amounts; nothing exists strictly between 0 and 1.
    alpha : float, default=1.0
        Strength of the L2 penalty.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is identity for a power of at most 0 and log above.
    solver : {"auto", "lbfgs", "newton-cholesky"}, default="auto"
        "auto" picks by the number of columns; all reach the same optimum.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_iter_ : int
    solver_ : str
        The solver that was used.
    history_ : dict of arrays
        "objective" after each iteration.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import TweedieRegressor
    >>> X = np.array([[1.0, 2], [2, 3], [3, 4], [4, 3]])
    >>> model = TweedieRegressor(power=1.5, tol=1e-8).fit(X, [2, 0, 5, 5.5])
    >>> model.predict(X).round(3)
    array([1.561, 2.373, 3.607, 4.53 ])
    """

    _: KW_ONLY
    power: Number = 0.0
    alpha: NonNegative = 1.0
    fit_intercept: Flag = True
    link: Literal["auto", "identity", "log"] = "auto"
    solver: TweedieSolver = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """Fit to rows X and targets y; offsets and exposures are one per row."""
        return fit_tweedie(self, X, y, sample_weight, offset, exposure)

    def _family_and_link(self):
        name = self.link
        if name == "auto":
            name = "identity" if self.power <= 0 else "log"
        return get_family("tweedie", self.power), links.get_link(name)
