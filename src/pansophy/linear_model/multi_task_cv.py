"""Multi-task lasso and elastic net with the strength chosen by cross-validation.

The problem is eq. (1) of `multi_task.py`; strengths fall from the one at which all
coefficients are 0, and `lasso_folds.py` picks the pair of strength and mix with the
least squared error on held-out rows, averaged over targets.

Shapes    X (n, d) dense or CSC   y (n, t)   W (t, d)
Refs      [Obozinski2010]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ..params import Count, Flag, Fraction, Jobs, NonNegative, Positive, Verbosity
from ..typing import Numbers, Seed, Splits
from .base import AbstractLinearRegressor
from .lasso_folds import fit_cross_validated
from .lasso_path import check_lasso_data, enet_path, lasso_path
from .multi_task import multi_task_tags, require_2d_targets


@dataclass(eq=False, repr=False)
class MultiTaskLassoCV(AbstractLinearRegressor):
    """Multi-task lasso with a strength chosen by cross-validation.

    Parameters
    ----------
    eps : float, default=1e-3
        Last alpha over first, where `alphas` is a number.
    alphas : int or array, default=100
        How many strengths to try, or those strengths.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
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
    coef_ : array of shape (t, d)
        Of the fit to all rows at `alpha_`.
    intercept_ : array of shape (t,)
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
    >>> from pansophy.linear_model import MultiTaskLassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> Y = X[:, :2] @ np.array([[3.0, 1.0], [-1.0, 2.0]])
    >>> model = MultiTaskLassoCV(cv=3).fit(X, Y)
    >>> np.flatnonzero(model.coef_.round(2).any(axis=0))
    array([0, 1])
    """

    _: KW_ONLY
    eps: Positive = 1e-3
    alphas: Count | Numbers = 100
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    copy_X: Flag = True
    cv: Splits = None
    verbose: Verbosity = False
    n_jobs: Jobs = None
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(lasso_path)  # as in scikit-learn, without an intercept

    def fit(self, X, y, sample_weight=None):
        """Choose on folds, then fit to all rows X and targets y (n, t)."""
        data = require_2d_targets(self, check_lasso_data(self, X, y, sample_weight))
        fit_cross_validated(self, data, multi_task=True)
        self.coef_ = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        return self

    def __sklearn_tags__(self):
        return multi_task_tags(super().__sklearn_tags__())


@dataclass(eq=False, repr=False)
class MultiTaskElasticNetCV(AbstractLinearRegressor):
    """Multi-task elastic net, strength and mix chosen by folds.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        rho, the share of the penalty on the group norm; the best of a list is chosen.
    eps : float, default=1e-3
        Last alpha over first, where `alphas` is a number.
    alphas : int or array, default=100
        How many strengths to try, or those strengths.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
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
    coef_ : array of shape (t, d)
        Of the fit to all rows at `alpha_`.
    intercept_ : array of shape (t,)
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
    >>> from pansophy.linear_model import MultiTaskElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> Y = X[:, :2] @ np.array([[3.0, 1.0], [-1.0, 2.0]])
    >>> model = MultiTaskElasticNetCV(l1_ratio=[0.5, 1.0], cv=3).fit(X, Y)
    >>> model.l1_ratio_
    0.5
    """

    _: KW_ONLY
    l1_ratio: Fraction | Numbers = 0.5
    eps: Positive = 1e-3
    alphas: Count | Numbers = 100
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    cv: Splits = None
    copy_X: Flag = True
    verbose: Verbosity = 0
    n_jobs: Jobs = None
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept

    def fit(self, X, y, sample_weight=None):
        """Choose on folds, then fit to all rows X and targets y (n, t)."""
        data = require_2d_targets(self, check_lasso_data(self, X, y, sample_weight))
        fit_cross_validated(self, data, multi_task=True)
        self.coef_ = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        return self

    def __sklearn_tags__(self):
        return multi_task_tags(super().__sklearn_tags__())
