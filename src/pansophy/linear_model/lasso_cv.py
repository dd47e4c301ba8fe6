"""Lasso and elastic net with the strength chosen by cross-validation.

The problem is eq. (1) of `elastic_net.py`; strengths fall from the one at which all
coefficients are 0, and `lasso_folds.py` picks the pair of strength and mix with the
least mean squared error on held-out rows.

Shapes    X (n, d) dense or CSC   y (n,)   w (d,)
Refs      [Tibshirani1996] [Zou2005]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ..params import Count, Flag, Fraction, Jobs, NonNegative, Positive, Verbosity
from ..typing import Numbers, Seed, Splits
from .base import AbstractLinearRegressor
from .lasso_folds import fit_cross_validated
from .lasso_path import check_lasso_data, enet_path, lasso_path


@dataclass(eq=False, repr=False)
class LassoCV(AbstractLinearRegressor):
    """Lasso whose strength is chosen by cross-validation. See the module text.

    Parameters
    ----------
    eps : float, default=1e-3
        Last alpha over first, where `alphas` is a number.
    alphas : int or array, default=100
        How many strengths to try, or those strengths.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    precompute : "auto" or bool, default="auto"
        Whether to make the whole Gram matrix of each fold first; "auto" where that
        pays. A matrix is refused: no one matrix serves all folds.
    max_iter : int, default=1000
        Most rounds of the working set for one strength.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    cv : int, splitter, iterable or None, default=None
        How rows are held out; None for 5 folds.
    verbose : bool or int, default=False
        Whether to show progress over folds.
    n_jobs : int or None, default=None
        Threads for the folds; None for all cores.
    positive : bool, default=False
        Only coefficients of at least 0.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of coordinates within a pass.

    Attributes
    ----------
    alpha_ : float
        The strength with the least mean error.
    l1_ratio_ : float
        The share with the least mean error: 1.
    coef_ : array of shape (d,)
        Of the fit to all rows at `alpha_`.
    intercept_ : float
    mse_path_ : array of shape (m, folds)
        Eq. (1) of `lasso_folds.py`.
    alphas_ : array of shape (m,)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Rounds of the final fit.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = LassoCV(cv=3).fit(X, 3 * X[:, 0] - X[:, 1])
    >>> np.flatnonzero(model.coef_.round(2))
    array([0, 1])
    """

    _: KW_ONLY
    eps: Positive = 1e-3
    alphas: Count | Numbers = 100
    fit_intercept: Flag = True
    precompute: Literal["auto"] | Flag = "auto"
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    copy_X: Flag = True
    cv: Splits = None
    verbose: Verbosity = False
    n_jobs: Jobs = None
    positive: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(lasso_path)  # as in scikit-learn, without an intercept

    def fit(self, X, y, sample_weight=None):
        """Choose on folds, then fit to all rows X and targets y."""
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        return fit_cross_validated(self, data, multi_task=False)


@dataclass(eq=False, repr=False)
class ElasticNetCV(AbstractLinearRegressor):
    """Elastic net with strength and mix chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        rho, the share of the penalty on the L1 norm; the best of a list is chosen.
    eps : float, default=1e-3
        Last alpha over first, where `alphas` is a number.
    alphas : int or array, default=100
        How many strengths to try, or those strengths.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    precompute : "auto" or bool, default="auto"
        Whether to make the whole Gram matrix of each fold first; "auto" where that
        pays. A matrix is refused: no one matrix serves all folds.
    max_iter : int, default=1000
        Most rounds of the working set for one strength.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    cv : int, splitter, iterable or None, default=None
        How rows are held out; None for 5 folds.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    verbose : bool or int, default=0
        Whether to show progress over folds.
    n_jobs : int or None, default=None
        Threads for the folds; None for all cores.
    positive : bool, default=False
        Only coefficients of at least 0.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of coordinates within a pass.

    Attributes
    ----------
    alpha_ : float
        The strength with the least mean error.
    l1_ratio_ : float
        The share with the least mean error.
    coef_ : array of shape (d,)
        Of the fit to all rows at `alpha_`.
    intercept_ : float
    mse_path_ : array of shape (m, folds) or (rhos, m, folds)
        Eq. (1) of `lasso_folds.py`.
    alphas_ : array of shape (m,) or (rhos, m)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Rounds of the final fit.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import ElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = ElasticNetCV(l1_ratio=[0.2, 1.0], cv=3).fit(X, 3 * X[:, 0] - X[:, 1])
    >>> model.l1_ratio_, np.flatnonzero(model.coef_.round(2))
    (1.0, array([0, 1]))
    """

    _: KW_ONLY
    l1_ratio: Fraction | Numbers = 0.5
    eps: Positive = 1e-3
    alphas: Count | Numbers = 100
    fit_intercept: Flag = True
    precompute: Literal["auto"] | Flag = "auto"
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    cv: Splits = None
    copy_X: Flag = True
    verbose: Verbosity = 0
    n_jobs: Jobs = None
    positive: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept

    def fit(self, X, y, sample_weight=None):
        """Choose on folds, then fit to all rows X and targets y."""
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        return fit_cross_validated(self, data, multi_task=False)
