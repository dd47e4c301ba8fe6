"""Lasso and elastic net with the strength chosen by cross-validation.

The problem is eq. (1) of `lasso.py` (for several tasks, of `multi_task.py`). For each
fold k, strength alpha and share rho of the L1 (or group) norm, with weights v,

    mse(rho, alpha, k) = sum_{i in fold k} v_i |y_i - W x_i - b|^2 / sum v_i     (1)

where (W, b) is fitted to the other rows. The strengths fall from the one at which all
coefficients are 0 and are the same grid for all folds, so that eq. (1) can be averaged
over k; the pair with the least mean is fitted to all rows. The rows of a fold get
weight 0 while it is held out, so X is never copied, and one path with warm starts goes
through all strengths. Folds run on threads; the shares of one fold use the same Gram
matrix.

Shapes    X (n, d) dense or CSC   y (n,)   w (d,)   mse (rhos, alphas, folds)
Refs      [Tibshirani1996] [Zou2005]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from ...core.loops import threads
from ...core.random import make_rng
from ...optim.nonsmooth.centered_design import Design
from ...params import (
    Count,
    Flag,
    Fraction,
    Jobs,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ...predictors.abstract_linear import AbstractLinearRegressor
from ...typing import Matrix, NumberList, Seed, Splits
from ..least_squares.ridge import checked_alphas
from ..metadata_routing import cross_validation_router, route_fit_metadata
from .lasso import lasso_not_converged_text, store_lasso_fit
from .lasso_path import (
    alpha_grid,
    centre_targets,
    check_lasso_data,
    enet_path,
    gram_store,
    lasso_path,
    minimise_lasso,
    penalty_factory,
    solve_path,
    solver_module,
)


def fold_gram_store(design, Y, model, multi_task, *, all_rows=False):
    """Gram matrices for one target, or for all targets together.

    A Gram matrix that the caller gives is that of all rows; a fold makes its own.
    """
    target = np.ascontiguousarray(Y.T) if multi_task else Y[:, 0]
    precompute = getattr(model, "precompute", "auto")
    if not all_rows and not isinstance(precompute, (bool, np.bool_, str)):
        precompute = "auto"
    return gram_store(design, design.root * target, precompute)


def selection_rng(model):
    """The generator of `selection="random"`, or None."""
    return make_rng(model.random_state) if model.selection == "random" else None


def held_out_errors(model, data, penalties, grids, multi_task, fold):
    """Eq. (1) of one fold for all shares and strengths, and the unconverged fits."""
    train, test = fold
    n = len(data.Y)
    p = np.ones(n) if data.p is None else data.p
    weights = np.bincount(train, minlength=n) * p
    weights = (weights / weights.sum()).astype(data.X.dtype)
    design = Design(data.X, weights, centre=model.fit_intercept)
    Y, mean = centre_targets(data.Y, weights, model.fit_intercept)
    store = fold_gram_store(design, Y, model, multi_task)
    start = np.zeros((Y.shape[1], design.d) if multi_task else design.d, data.X.dtype)
    mse = np.empty((len(grids), len(grids[0])))
    unconverged = 0
    for i, (make, alphas) in enumerate(zip(penalties, grids, strict=True)):
        path = solve_path(
            store,
            map(make, alphas),
            start,
            tol=model.tol,
            max_iter=model.max_iter,
            rng=selection_rng(model),
        )
        runs = list(path)
        unconverged += sum(not run.converged for run in runs)
        W = np.stack([np.atleast_2d(run.state.w) for run in runs])  # (m, t, d)
        used = np.flatnonzero(W.any(axis=(0, 1)))
        X = data.X[test][:, used] - design.mean[used]
        F = np.einsum("ij,atj->iat", np.asarray(X), W[:, :, used], optimize=True)
        error = (data.Y[test] - mean)[:, None, :] - F
        loss = np.mean(error * error, axis=2)
        mse[i] = np.average(loss, axis=0, weights=None if data.p is None else p[test])
    return mse, unconverged


def checked_l1_ratios(model):
    """The shares rho to try, as an array."""
    ratios = np.atleast_1d(np.asarray(getattr(model, "l1_ratio", 1.0), dtype=float))
    if ratios.ndim != 1 or not np.all((ratios >= 0) & (ratios <= 1)):
        raise ParameterError(
            f"l1_ratio of {type(model).__name__} must hold numbers from 0 to 1, got "
            f"{model.l1_ratio!r}."
        )
    return ratios


def alpha_grids(model, store, ratios):
    """Strengths for each share, largest first."""
    if np.ndim(model.alphas) == 0:
        positive = getattr(model, "positive", False)
        make = lambda rho: alpha_grid(store, rho, model.eps, model.alphas, positive)
        return [make(rho) for rho in ratios]
    alphas = checked_alphas(model.alphas, name=f"alphas of {type(model).__name__}")
    return [np.sort(alphas)[::-1]] * len(ratios)


def fit_cross_validated(model, data, splits, *, multi_task):
    """The common `fit`: paths on the folds, then the best pair on all rows.

    `splits` holds keywords for the splitter.
    """
    design = Design(data.X, data.p, centre=model.fit_intercept)
    Y, mean = centre_targets(data.Y, data.p, model.fit_intercept)
    ratios = checked_l1_ratios(model)
    targets = data.Y if multi_task else data.Y[:, 0]
    folds = list(check_cv(model.cv).split(data.X, targets, **splits))
    d = design.d if multi_task else None
    positive = getattr(model, "positive", False)
    penalties = [penalty_factory(rho, positive, d) for rho in ratios]
    with threads.limit_threads(model.n_jobs), threads.single_blas():
        store = fold_gram_store(design, Y, model, multi_task, all_rows=True)
        grids = alpha_grids(model, store, ratios)

        def run(task):
            each = partial(held_out_errors, model, data, penalties, grids, multi_task)
            parts = []
            unconverged = 0
            for part, count in threads.run_tasks(partial(each, fold) for fold in folds):
                parts.append(part)
                unconverged += count
                task.child(f"fold {len(parts)}").end()
            mse = np.stack(parts, axis=-1)
            error = mse.mean(axis=-1)
            at = [int(np.argmin(row)) for row in error]
            best = int(np.argmin([row[i] for row, i in zip(error, at, strict=True)]))
            model.mse_path_ = mse
            model.l1_ratio_ = float(ratios[best])
            model.alpha_ = float(grids[best][at[best]])
            warn_unconverged_folds(model, unconverged, mse.size)
            return refit_all_rows(model, store, penalties[best](model.alpha_))

        final = model._run_driver(run, total=len(folds), X=data.like, y=data.Y)
    given = np.ndim(model.alphas) > 0
    model.alphas_ = np.asarray(grids[0] if given or len(ratios) == 1 else grids)
    if len(ratios) == 1:
        model.mse_path_ = model.mse_path_[0]
    return store_lasso_fit(model, [final], design, mean, data)


def refit_all_rows(model, store, penalty):
    """The fit to all rows with the chosen penalty, from 0."""
    start = np.zeros_like(store.Xy)
    state = solver_module(penalty).start(store, start, penalty)
    return minimise_lasso(
        store,
        penalty,
        state,
        tol=model.tol,
        max_iter=model.max_iter,
        rng=selection_rng(model),
    )


def warn_unconverged_folds(model, unconverged, total):
    """One warning for all fits on folds that did not converge."""
    if unconverged:
        warnings.warn(
            f"{unconverged} of the {total} fits on folds of {type(model).__name__} did "
            f"not converge in {model.max_iter} iterations. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=6,
        )


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
    precompute : "auto", bool or array of shape (d, d), default="auto"
        Whether to make the whole Gram matrix of each fold first; "auto" where that
        pays. An array is the matrix of all rows, as `Lasso` takes it, and serves the
        grid of strengths and the last fit; folds are fitted as with "auto".
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
        Eq. (1).
    alphas_ : array of shape (m,)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Iterations of the final fit.

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
    alphas: Count | NumberList = 100
    fit_intercept: Flag = True
    precompute: Literal["auto"] | Flag | Matrix = "auto"
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
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose on folds, then fit to all rows X and targets y.

        Further keywords, groups say, go to the splitter by metadata routing.
        """
        splits, _ = route_fit_metadata(self, params, sample_weight)
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        return fit_cross_validated(self, data, splits, multi_task=False)

    def get_metadata_routing(self):
        """scikit-learn's router: the splitter may ask for metadata of `fit`."""
        return cross_validation_router(self, check_cv(self.cv))


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
    precompute : "auto", bool or array of shape (d, d), default="auto"
        Whether to make the whole Gram matrix of each fold first; "auto" where that
        pays. An array is the matrix of all rows, as `Lasso` takes it, and serves the
        grid of strengths and the last fit; folds are fitted as with "auto".
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
        Eq. (1).
    alphas_ : array of shape (m,) or (rhos, m)
        The strengths tried, largest first.
    dual_gap_ : float
        Bound on how far the final objective is from its minimum.
    n_iter_ : int
        Iterations of the final fit.

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
    l1_ratio: Fraction | NumberList = 0.5
    eps: Positive = 1e-3
    alphas: Count | NumberList = 100
    fit_intercept: Flag = True
    precompute: Literal["auto"] | Flag | Matrix = "auto"
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
    _not_converged_text = lasso_not_converged_text

    _on_devices = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose on folds, then fit to all rows X and targets y.

        Further keywords, groups say, go to the splitter by metadata routing.
        """
        splits, _ = route_fit_metadata(self, params, sample_weight)
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        return fit_cross_validated(self, data, splits, multi_task=False)

    def get_metadata_routing(self):
        """scikit-learn's router: the splitter may ask for metadata of `fit`."""
        return cross_validation_router(self, check_cv(self.cv))
