"""Lasso and elastic net: least squares with a penalty that sets coefficients to zero.

With row weights v_i of sum V,

    minimise  1/(2V) sum_i v_i (y_i - x_i w - b)^2
              + alpha rho |w|_1 + alpha (1 - rho)/2 |w|^2                        (1)

rho = 1 is the lasso, rho = 0 ridge regression with alpha V. `lasso_path.py` describes
the solver: a Gram matrix where X is tall, coordinate descent over X where it is not,
exact steps on the support at the end, and a duality gap that bounds the error. A weight
k equals k repeated rows, since eq. (1) is the same.

Time O(n d) an iteration, and iterations are few; memory O(n k + k^2) beyond X for k
columns that were ever in the working set. X is not copied, except those columns of a
dense X that is not in Fortran order.

Shapes    X (n, d) dense or CSC   y (n,) or (n, t)   w (d,) or (t, d)
Refs      [Tibshirani1996] [Zou2005] [Tibshirani2012] [Massias2018]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.drivers.iterate import Result
from ...core.loops import threads
from ...core.random import make_rng
from ...optim.nonsmooth import working_set as sets
from ...optim.nonsmooth.centered_design import Design
from ...params import Count, Flag, Fraction, NonNegative
from ...penalties import elastic_net
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    check_coefficients,
    check_warm_start,
)
from ...typing import Matrix, Seed
from .lasso_path import (
    centre_targets,
    check_lasso_data,
    enet_path,
    gram_store,
    minimise_lasso,
)


def fit_elastic_net(model, l1_ratio, X, y, sample_weight, check_input):
    """The common `fit` of `Lasso` and `ElasticNet`, target by target."""
    data = check_lasso_data(model, X, y, sample_weight, check_input=check_input)
    design = Design(data.X, data.p, centre=model.fit_intercept)
    penalty = elastic_net(model.alpha, l1_ratio, model.positive)
    rng = make_rng(model.random_state) if model.selection == "random" else None
    Y, mean = centre_targets(data.Y, data.p, model.fit_intercept)
    start = initial_coefficients(model, (Y.shape[1], design.d), data.X.dtype)
    store = None
    runs = []
    with threads.single_blas():  # products are small; large ones use our own threads
        for target, w in zip(Y.T, start, strict=True):
            store = store_for_target(store, design, design.root * target, model)
            state = sets.start(store, w, penalty)
            run = model._run_driver(
                lambda task, store=store, state=state: minimise_lasso(
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
            runs.append(run)
    if len(runs) > 1:
        model.n_iter_ = [run.n_iter for run in runs]
    return store_lasso_fit(model, runs, design, mean, data)


def store_for_target(store, design, target, model):
    """The Gram matrices, made for the first target and reused for the next."""
    if store is None:
        return gram_store(design, target, model.precompute)
    if isinstance(store, sets.FullGram):
        store.aim(design.correlate(target), target @ target)
    else:
        store.aim(target)
    return store


def initial_coefficients(model, shape, dtype):
    """Initial coefficients: those of the last fit with `warm_start`, else 0."""
    start = np.zeros(shape, dtype)
    if model.warm_start and hasattr(model, "coef_"):
        old = np.atleast_2d(arrays.to_numpy(model.coef_))
        start = old.astype(dtype) if old.shape == shape else start
        check_warm_start(model, start)
    return start


def store_lasso_fit(model, runs: list[Result], design, means, data):
    """Set coef_, intercept_ and dual_gap_, squeezed for one target."""
    W = np.stack([run.state.w for run in runs])
    W = W if W.ndim == 2 else W[0]
    gaps = np.array([run.state.gap for run in runs])
    check_coefficients(model, data.X, W)
    single = len(W) == 1 and len(runs) == 1
    model.coef_ = W[0] if single else W
    model.dual_gap_ = float(gaps[0]) if len(runs) == 1 else gaps
    model.intercept_ = 0.0
    if model.fit_intercept:
        intercept = means - W @ design.mean
        model.intercept_ = intercept[0] if data.y_is_1d else intercept
    if arrays.is_foreign(data.like):
        model.coef_ = arrays.asarray(model.coef_, like=data.like)
        model.intercept_ = arrays.asarray(model.intercept_, like=data.like)
    return model


def lasso_not_converged_text(model, limit) -> str:
    """What a model of the lasso family says where it has not converged."""
    return (
        "Objective did not converge. You might want to increase the number of "
        f"iterations, max_iter={model.max_iter} of {type(model).__name__}, or its "
        "tol, or to scale the data."
    )


def sparse_coefficients(model):
    """`coef_` as a CSR matrix."""
    return sp.csr_matrix(arrays.to_numpy(model.coef_))


@dataclass(eq=False, repr=False)
class ElasticNet(AbstractLinearRegressor):
    """Linear regression with mixed L1 and L2 penalties; see the module text.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty in eq. (1).
    l1_ratio : float, default=0.5
        rho: 1 is the lasso, 0 is ridge regression.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    precompute : bool or array of shape (d, d), default=False
        True makes the whole Gram matrix first; an array is that matrix, X^T X of the
        centred X (weighted with weights of mean 1). The one of an X that is not
        centred is recomputed with a warning, any other matrix is refused. False makes
        only the part that is needed.
    max_iter : int, default=1000
        Most iterations of the working set, each a solve and a check of all
        columns.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    positive : bool, default=False
        Only coefficients of at least 0.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of coordinates within a pass.

    Attributes
    ----------
    coef_ : array of shape (d,) or (t, d)
    intercept_ : float or array of shape (t,)
    dual_gap_ : float or array of shape (t,)
        Bound on how far the objective is from its minimum.
    sparse_coef_ : CSR matrix of shape (1, d) or (t, d)
    n_iter_ : int or list of int
        Iterations of the working set.
    history_ : dict of arrays
        "objective", "gap" and "n_screened" (columns proven to be 0) after each
        iteration.

    Examples
    --------
    >>> from pansophy.linear_model import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_.round(4)
    array([0.4458, 0.4458])
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    l1_ratio: Fraction = 0.5
    fit_intercept: Flag = True
    precompute: Flag | Matrix = False
    max_iter: Count = 1000
    copy_X: Flag = True
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    positive: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept
    sparse_coef_ = property(sparse_coefficients)
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit to rows X and targets y, one or several columns.

        `check_input=False` skips the checks of X and y, which must then be arrays or
        CSC matrices of finite floats.
        """
        return fit_elastic_net(self, self.l1_ratio, X, y, sample_weight, check_input)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass(eq=False, repr=False)
class Lasso(AbstractLinearRegressor):
    """Linear regression with an L1 penalty. See the module text.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty in eq. (1), with rho = 1.
    fit_intercept : bool, default=True
        Whether to fit b; if not, data are expected to be centred.
    precompute : bool or array of shape (d, d), default=False
        True makes the whole Gram matrix first; an array is that matrix, X^T X of the
        centred X (weighted with weights of mean 1). The one of an X that is not
        centred is recomputed with a warning, any other matrix is refused. False makes
        only the part that is needed.
    copy_X : bool, default=True
        X is never written to, whatever this says.
    max_iter : int, default=1000
        Most iterations of the working set, each a solve and a check of all
        columns.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the variance of y.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    positive : bool, default=False
        Only coefficients of at least 0.
    random_state : int, RandomState, Generator or None
        For `selection="random"`.
    selection : "cyclic" or "random", default="cyclic"
        Order of coordinates within a pass.

    Attributes
    ----------
    coef_ : array of shape (d,) or (t, d)
    intercept_ : float or array of shape (t,)
    dual_gap_ : float or array of shape (t,)
        Bound on how far the objective is from its minimum.
    sparse_coef_ : CSR matrix of shape (1, d) or (t, d)
    n_iter_ : int or list of int
        Iterations of the working set.
    history_ : dict of arrays
        "objective", "gap" and "n_screened" (columns proven to be 0) after each
        iteration.

    Examples
    --------
    >>> from pansophy.linear_model import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.85, 0.  ]), 0.15)
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    precompute: Flag | Matrix = False
    copy_X: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    warm_start: Flag = False
    positive: Flag = False
    random_state: Seed = None
    selection: Literal["cyclic", "random"] = "cyclic"

    path = staticmethod(enet_path)  # as in scikit-learn, without an intercept
    sparse_coef_ = property(sparse_coefficients)
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit to rows X and targets y, one or several columns.

        `check_input=False` skips the checks of X and y, which must then be arrays or
        CSC matrices of finite floats.
        """
        return fit_elastic_net(self, 1.0, X, y, sample_weight, check_input)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
