"""Multi-task lasso and elastic net: several targets that share one set of features.

For t targets and a coefficient matrix W with one column w_j per feature,

    minimise  1/(2V) sum_i v_i |y_i - W x_i - b|^2
              + alpha rho sum_j |w_j| + alpha (1 - rho)/2 |W|^2                  (1)

|w_j| is the Euclidean length of a feature's coefficients over all targets, so that a
feature is in the model for every target or for none. rho = 1 is the multi-task lasso; t
= 1 is the elastic net. `optim/nonsmooth/group_working_set.py` solves it by working sets
and block coordinate descent, each feature's step being exact, and certifies the duality
gap.

The versions with CV choose alpha and rho on folds as in `lasso_cv.py`, by the squared
error averaged over targets.

Time O(n d t) an iteration, and iterations are few.

Shapes    X (n, d) dense or CSC   y (n, t)   W (t, d)   b (t,)
Refs      [Obozinski2010] [Zou2005] [Massias2018]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import check_cv

from ...core.linalg.least_squares import least_squares
from ...core.loops import threads
from ...core.random import make_rng
from ...optim.nonsmooth import group_working_set
from ...optim.nonsmooth.centered_design import Design
from ...params import Count, Flag, Fraction, Jobs, NonNegative, Positive, Verbosity
from ...predictors.abstract_linear import AbstractLinearRegressor
from ...typing import NumberList, Seed, Splits
from ..metadata_routing import cross_validation_router, route_fit_metadata
from .lasso import (
    initial_coefficients,
    lasso_not_converged_text,
    sparse_coefficients,
    store_lasso_fit,
)
from .lasso_cv import fit_cross_validated
from .lasso_path import (
    centre_targets,
    check_lasso_data,
    enet_path,
    gram_store,
    lasso_path,
    minimise_lasso,
    penalty_factory,
)


def require_2d_targets(model, data):
    """Refuse a one-dimensional y, as scikit-learn does."""
    if data.y_is_1d:
        raise ValueError(
            f"y of {type(model).__name__} must have one column per target, got a flat "
            "array; for one target take the model without MultiTask in its name."
        )
    return data


def fit_multi_task(model, l1_ratio, X, y, sample_weight):
    """The common `fit` of `MultiTaskLasso` and `MultiTaskElasticNet`."""
    data = require_2d_targets(model, check_lasso_data(model, X, y, sample_weight))
    design = Design(data.X, data.p, centre=model.fit_intercept)
    penalty = penalty_factory(l1_ratio, d=design.d)(model.alpha)
    rng = make_rng(model.random_state) if model.selection == "random" else None
    Y, mean = centre_targets(data.Y, data.p, model.fit_intercept)
    start = initial_coefficients(model, (Y.shape[1], design.d), data.X.dtype)
    if penalty.a == 0 and penalty.b > 0:  # eq. (1) is ridge regression: solved at once
        result = least_squares(
            data.X.tocsr() if sp.issparse(data.X) else data.X,
            data.Y,
            data.p,
            alpha=penalty.b * (1.0 if data.p is not None else len(data.Y)),
            intercept=model.fit_intercept,
        )
        start = np.ascontiguousarray(result.coef.T, dtype=data.X.dtype)
    with threads.single_blas():
        store = gram_store(design, design.root * np.ascontiguousarray(Y.T))
        state = group_working_set.start(store, start, penalty)
        run = model._run_driver(
            lambda task: minimise_lasso(
                store,
                penalty,
                state,
                tol=model.tol,
                max_iter=model.max_iter,
                rng=rng,
                task=task,
            ),
            total=model.max_iter,
            X=data.like,
            y=data.Y,
        )
    store_lasso_fit(model, [run], design, mean, data)
    model.coef_ = model.coef_ if model.coef_.ndim == 2 else model.coef_[None, :]
    model.eps_ = model.tol * float(np.vdot(Y, Y))
    return model


def multi_task_tags(tags):
    """Tags of estimators whose y always has several columns."""
    tags.target_tags.multi_output = True
    tags.target_tags.single_output = False
    return tags


@dataclass(eq=False, repr=False)
class MultiTaskElasticNet(AbstractLinearRegressor):
    """Elastic net for several targets with one support. See the module text.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty in eq. (1).
    l1_ratio : float, default=0.5
        rho: 1 is the multi-task lasso, 0 is ridge regression.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    max_iter : int, default=1000
        Most iterations of the working set, each a solve and a check of all
        columns.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the summed variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of features within a pass.

    Attributes
    ----------
    coef_ : array of shape (t, d)
    intercept_ : array of shape (t,)
    dual_gap_ : float
        Bound on how far the objective is from its minimum.
    eps_ : float
        n times the gap that `tol` asks for, which is scikit-learn's scale.
    sparse_coef_ : CSR matrix of shape (t, d)
    n_iter_ : int
        Iterations of the working set.
    history_ : dict of arrays
        "objective" and "gap" after each iteration.

    Examples
    --------
    >>> from pansophy.linear_model import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1)
    >>> model.fit([[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 1], [2, 2]]).coef_.round(3)
    array([[0.456, 0.456],
           [0.456, 0.456]])
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    l1_ratio: Fraction = 0.5
    fit_intercept: Flag = True
    copy_X: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept
    sparse_coef_ = property(sparse_coefficients)
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y (n, t)."""
        return fit_multi_task(self, self.l1_ratio, X, y, sample_weight)

    def __sklearn_tags__(self):
        return multi_task_tags(super().__sklearn_tags__())


@dataclass(eq=False, repr=False)
class MultiTaskLasso(AbstractLinearRegressor):
    """Lasso for several targets with one support. See the module text.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty in eq. (1).
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    max_iter : int, default=1000
        Most iterations of the working set, each a solve and a check of all
        columns.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the summed variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of features within a pass.

    Attributes
    ----------
    coef_ : array of shape (t, d)
    intercept_ : array of shape (t,)
    dual_gap_ : float
        Bound on how far the objective is from its minimum.
    eps_ : float
        n times the gap that `tol` asks for, which is scikit-learn's scale.
    sparse_coef_ : CSR matrix of shape (t, d)
    n_iter_ : int
        Iterations of the working set.
    history_ : dict of arrays
        "objective" and "gap" after each iteration.

    Examples
    --------
    >>> from pansophy.linear_model import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1)
    >>> model.fit([[0, 1], [1, 0], [2, 1]], [[0, 0], [1, 1], [2, 3]]).coef_.round(3)
    array([[0.917, 0.   ],
           [1.375, 0.05 ]])
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    copy_X: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept
    sparse_coef_ = property(sparse_coefficients)
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y (n, t)."""
        return fit_multi_task(self, 1.0, X, y, sample_weight)

    def __sklearn_tags__(self):
        return multi_task_tags(super().__sklearn_tags__())


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
        Most iterations of the working set for one strength.
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
        Eq. (1) of `lasso_cv.py`.
    alphas_ : array of shape (m,)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Iterations of the final fit.

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
    alphas: Count | NumberList = 100
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
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose on folds, then fit to all rows X and targets y (n, t).

        Further keywords, groups say, go to the splitter by metadata routing.
        """
        splits, _ = route_fit_metadata(self, params, sample_weight)
        data = require_2d_targets(self, check_lasso_data(self, X, y, sample_weight))
        fit_cross_validated(self, data, splits, multi_task=True)
        self.coef_ = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        return self

    def get_metadata_routing(self):
        """scikit-learn's router: the splitter may ask for metadata of `fit`."""
        return cross_validation_router(self, check_cv(self.cv))

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
        Most iterations of the working set for one strength.
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
        Eq. (1) of `lasso_cv.py`.
    alphas_ : array of shape (m,) or (rhos, m)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Iterations of the final fit.

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
    l1_ratio: Fraction | NumberList = 0.5
    eps: Positive = 1e-3
    alphas: Count | NumberList = 100
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
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose on folds, then fit to all rows X and targets y (n, t).

        Further keywords, groups say, go to the splitter by metadata routing.
        """
        splits, _ = route_fit_metadata(self, params, sample_weight)
        data = require_2d_targets(self, check_lasso_data(self, X, y, sample_weight))
        fit_cross_validated(self, data, splits, multi_task=True)
        self.coef_ = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        return self

    def get_metadata_routing(self):
        """scikit-learn's router: the splitter may ask for metadata of `fit`."""
        return cross_validation_router(self, check_cv(self.cv))

    def __sklearn_tags__(self):
        return multi_task_tags(super().__sklearn_tags__())
