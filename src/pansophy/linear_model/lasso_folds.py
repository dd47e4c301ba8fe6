"""Cross-validation of lasso paths: the strength with the least error on held-out rows.

For each fold k, strength alpha and share rho of the L1 (or group) norm, with weights v,

    mse(rho, alpha, k) = sum_{i in fold k} v_i |y_i - W x_i - b|^2 / sum v_i     (1)

where (W, b) is fitted to the other rows. The strengths are one grid for all folds, so
that eq. (1) can be averaged over k; the fit at the best pair uses all rows. A fold's
rows get weight 0 while it is held out, so X is never copied, and one path with warm
starts visits all strengths. Folds run on threads; shares of one fold share its Gram
matrix.

Shapes    mse (rhos, alphas, folds)
"""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from ..core import threads
from ..core.progress import SILENT
from ..core.random import rng_from
from ..optim.design import Design
from ..params import ParameterError
from .elastic_net import store_lasso_fit
from .lasso_path import (
    alpha_grid,
    centre_targets,
    gram_store,
    minimise_lasso,
    penalty_factory,
    solve_path,
    solver_module,
)


def fold_gram_store(design, Y, model, multi):
    """Gram matrices for one column, or for all targets together."""
    target = np.ascontiguousarray(Y.T) if multi else Y[:, 0]
    return gram_store(
        design, design.root * target, getattr(model, "precompute", "auto")
    )


def options(model):
    """What every path of the model shares."""
    rng = rng_from(model.random_state) if model.selection == "random" else None
    return {"tol": model.tol, "max_iter": model.max_iter, "rng": rng}


def held_out_errors(model, data, makes, grids, multi, fold):
    """Eq. (1) of one fold for all shares and strengths; and unsettled fits."""
    train, test = fold
    n, p = len(data.Y), np.ones(len(data.Y)) if data.p is None else data.p
    weights = np.bincount(train, minlength=n) * p
    weights = (weights / weights.sum()).astype(data.X.dtype)
    design = Design(data.X, weights, centre=model.fit_intercept)
    Y, mean = centre_targets(data.Y, weights, model.fit_intercept)
    store = fold_gram_store(design, Y, model, multi)
    start = np.zeros((Y.shape[1], design.d) if multi else design.d, data.X.dtype)
    mse, unsettled = np.empty((len(grids), len(grids[0]))), 0
    for i, (make, alphas) in enumerate(zip(makes, grids, strict=True)):
        runs = list(solve_path(store, map(make, alphas), start, **options(model)))
        unsettled += sum(not run.converged for run in runs)
        W = np.stack([np.atleast_2d(run.state.w) for run in runs])  # (m, t, d)
        some = np.flatnonzero(W.any(axis=(0, 1)))
        X = data.X[test][:, some] - design.mean[some]
        F = np.einsum("ij,atj->iat", np.asarray(X), W[:, :, some], optimize=True)
        error = (data.Y[test] - mean)[:, None, :] - F
        loss = np.mean(error * error, axis=2)
        mse[i] = np.average(loss, axis=0, weights=None if data.p is None else p[test])
    return mse, unsettled


def checked_l1_ratios(model):
    """The shares to try, as a list."""
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
    alphas = np.sort(np.asarray(model.alphas, dtype=float))[::-1]
    if not np.all(alphas >= 0) or len(alphas) == 0:
        raise ParameterError(
            f"alphas of {type(model).__name__} must be at least 0, got {alphas}."
        )
    return [alphas] * len(ratios)


def fit_cross_validated(model, data, *, multi_task):
    """The common `fit`: paths on folds, then the best pair on all rows."""
    design = Design(data.X, data.p, centre=model.fit_intercept)
    Y, mean = centre_targets(data.Y, data.p, model.fit_intercept)
    ratios = checked_l1_ratios(model)
    folds = list(
        check_cv(model.cv).split(data.X, data.Y if multi_task else data.Y[:, 0])
    )
    d, positive = design.d if multi_task else None, getattr(model, "positive", False)
    makes = [penalty_factory(rho, positive, d) for rho in ratios]
    with threads.limited(model.n_jobs), threads.single_blas():
        store = fold_gram_store(design, Y, model, multi_task)
        grids = alpha_grids(model, store, ratios)

        def run(task):
            each = partial(held_out_errors, model, data, makes, grids, multi_task)
            parts, unsettled = [], 0
            for part, n_open in threads.run(partial(each, fold) for fold in folds):
                parts.append(part)
                unsettled += n_open
                task.child(f"fold {len(parts)}").end()
            mse = np.stack(parts, axis=-1)
            error = mse.mean(axis=-1)
            at = [int(np.argmin(row)) for row in error]
            best = int(np.argmin([row[i] for row, i in zip(error, at, strict=True)]))
            model.mse_path_, model.l1_ratio_ = mse, float(ratios[best])
            model.alpha_ = float(grids[best][at[best]])
            warn_unconverged_folds(model, unsettled, mse.size)
            return refit_all_rows(model, store, makes[best], multi_task, task=SILENT)

        final = model._drive(run, total=len(folds), X=data.like, y=data.Y)
    given = np.ndim(model.alphas) > 0
    model.alphas_ = np.asarray(grids[0] if given or len(ratios) == 1 else grids)
    if len(ratios) == 1:
        model.mse_path_ = model.mse_path_[0]
    return store_lasso_fit(model, [final], design, mean, data)


def refit_all_rows(model, store, make, multi, task):
    """All rows at the chosen strength."""
    penalty = make(model.alpha_)
    start = np.zeros_like(store.Xy)
    state = solver_module(penalty).start(store, start, penalty)
    return minimise_lasso(store, penalty, state, task=task, **options(model))


def warn_unconverged_folds(model, unsettled, total):
    """One warning for all folds."""
    if unsettled:
        warnings.warn(
            f"{unsettled} of the {total} fits on folds of {type(model).__name__} did "
            f"not converge in {model.max_iter} iterations. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=6,
        )
