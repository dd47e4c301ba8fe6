"""Regularisation paths of the lasso family, and the solver that its members share.

For weights p_i of sum 1 and a penalty g with strength alpha,

    minimise  1/2 sum_i p_i |y_i - W x_i - b|^2 + alpha g(W)                     (1)

The intercept is free of penalty, so for given W it is the weighted mean of y - W x, and
the rest is least squares on centred data, which `optim/nonsmooth/working_set.py`
(single coefficients) and `optim/nonsmooth/group_working_set.py` (groups of them) solve
until the duality gap is at most tol times the weighted mean of (y - mean y)^2.
Coefficients are all 0 from

    alpha_max = max_j |sum_i p_i x_ij (y_i - mean y)| / rho                      (2)

on, where rho is the share of alpha on the L1 or group norm. A path goes down from
there; each point starts at the previous one, the strong rule predicts which columns
enter, and columns that `optim/nonsmooth/screening.py` proves to be 0 are left out of
the checks.

Shapes    X (n, d) dense or CSC   y (n,) or (n, t)   p (n,)   W (d,) or (t, d)
Refs      [Tibshirani2012] [Massias2018] [Ndiaye2017]
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_X_y

from ...base import host_array
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...core.random import make_rng
from ...optim.nonsmooth import group_working_set as group_sets
from ...optim.nonsmooth import working_set as sets
from ...optim.nonsmooth.centered_design import Design
from ...params import check_params
from ...penalties import elastic_net

SMALL_GRAM = 256  # columns up to which the whole Gram matrix is made in one pass
PATH_GRAM = 1000  # the same for a path, along which it is used many times
GRAM_TOL = 10.0  # error allowed in a given Gram matrix, in roots of the rounding unit
TINY_ALPHA = 1e-15  # alphas of the grid where no column correlates with the target


class LassoData(NamedTuple):
    """Checked input in NumPy or CSC, and the X that was given."""

    X: Any
    Y: np.ndarray  # (n, t)
    p: np.ndarray | None  # weights of sum 1, or None for equal ones
    y_is_1d: bool  # y came as one column without a second dimension
    like: Any  # the X that was given, for its library and device


def check_lasso_data(
    model, X, y, sample_weight, y_kind="numbers", *, check_input=True
) -> LassoData:
    """Check parameters and data of an estimator.

    `check_input=False` takes arrays or CSC matrices of floats as they are.
    """
    if check_input:
        X, y, w = model._check_training_data(
            X,
            y,
            sample_weight,
            y_kind=y_kind,
            accept_sparse="csc",
            force_writeable=False,
        )
    else:
        check_params(model)
        model.n_features_in_ = X.shape[1]
        w = check_sample_weight(sample_weight, X)
    if isinstance(X, DatasetRows):
        raise TypeError(f"{type(model).__name__} takes rows in memory, not a table.")
    like = X
    if arrays.is_foreign(X):  # computed in NumPy, stored in the library of X
        X = host_array(model, X)
        y = arrays.to_numpy(y)
        w = None if w is None else arrays.to_numpy(w)
    y = np.asarray(y, dtype=X.dtype)
    p = None if w is None else (w / w.sum()).astype(X.dtype)
    return LassoData(X, y[:, None] if y.ndim == 1 else y, p, y.ndim == 1, like)


def centre_targets(Y, p, fit_intercept):
    """Y minus its p-means, and those means (t,)."""
    if not fit_intercept:
        return Y, np.zeros(Y.shape[1], Y.dtype)
    mean = Y.mean(axis=0) if p is None else p @ Y
    return Y - mean, mean


def full_gram_or_none(design, precompute):
    """The whole Gram matrix where it is given or pays, else None."""
    if isinstance(precompute, str) and precompute != "auto":
        raise ValueError(
            "precompute must be 'auto', True, False or a Gram matrix, got "
            f"{precompute!r}."
        )
    if isinstance(precompute, (bool, np.bool_, str)):
        # does not depend on n, so that repeated rows and weights take the same path
        few = design.d <= (PATH_GRAM if precompute == "auto" else SMALL_GRAM)
        return design.gram() if precompute is True or few else None
    return given_gram(design, precompute)


def given_gram(design, precompute):
    """A caller's Gram matrix, as a mean over rows, if it is the one of this design.

    Checked by one product with a random vector (Freivalds), O(n d + d^2). A
    Gram matrix of X as it is, where the fit centres or weights X, is made anew.
    """
    gram = np.asarray(precompute)
    coarsest = gram.dtype if gram.dtype == np.float32 else design.X.dtype
    unit = float(np.finfo(coarsest).eps)
    gram = gram.astype(design.X.dtype)
    if gram.shape != (design.d, design.d):
        raise ValueError(
            f"precompute must be a Gram matrix of shape {(design.d, design.d)}, "
            f"got {gram.shape}."
        )
    u = make_rng(0).normal(size=design.d).astype(gram.dtype)
    product = gram @ u
    scale = float((np.abs(gram) @ np.abs(u)).max(initial=0.0))

    def is_gram_of(other):
        expected = other.correlate(other.predict(u)) * design.n
        error = float(np.abs(product - expected).max(initial=0.0))
        return error <= GRAM_TOL * np.sqrt(unit) * scale  # false for NaN

    if is_gram_of(design):
        return gram / design.n  # given as X^T X, used as its mean over rows
    plain = Design(design.X, centre=False)
    uncentred = Design(design.X, design.p, centre=False)
    centred = Design(design.X, centre=True)
    if any(is_gram_of(other) for other in (plain, uncentred, centred)):
        why = "weighted" if not design.equal else "centered to fit intercept"
        warnings.warn(
            f"Gram matrix was provided but X was {why}: recomputing Gram matrix. "
            "Pass the one of the rows that are fitted, or precompute=True.",
            UserWarning,
            stacklevel=7,
        )
        return design.gram()
    raise ValueError(
        "Gram matrix passed in via 'precompute' parameter did not pass validation: it "
        "is not X^T X of the X that is fitted."
    )


def gram_store(design, y, precompute=False, Xy=None):
    """Inner products of the columns: the full Gram matrix, or one made on demand."""
    gram = full_gram_or_none(design, precompute)
    if gram is None:
        return sets.GramStore(design, y, Xy=Xy)
    return sets.FullGram(gram, design.correlate(y) if Xy is None else Xy, np.vdot(y, y))


def solver_module(penalty):
    """The working-set solver of a penalty: for coefficients or for groups."""
    grouped = isinstance(penalty, group_sets.GroupPenalty)
    return group_sets if grouped else sets


def minimise_lasso(
    store,
    penalty,
    state,
    *,
    tol,
    max_iter,
    strong_rule_level=np.inf,
    rng=None,
    task=SILENT,
) -> Result:
    """Minimise eq. (1) for centred data, starting from `state`.

    A gap can only be computed to its rounding, which is large where columns are many
    orders of magnitude longer than y. So an iteration that changes w by no more than
    rounding is the last one too: coordinates and support have no better value.
    """
    goal = tol * store.energy

    def change(old, new):
        step = np.abs(new.w - old.w)
        stays = np.all(step <= 8 * np.finfo(step.dtype).eps * np.abs(new.w))
        return 0.0 if stays else new.gap

    step = solver_module(penalty).rounds(store, penalty, goal, strong_rule_level, rng)
    return iterate(
        step,
        state,
        max_iter=max_iter,
        tol=goal,
        change=change,
        watch=solver_module(penalty).WATCH,
        task=task,
    )


def solve_path(store, penalties, w, *, tol, max_iter, rng=None) -> Iterator[Result]:
    """One result for each penalty, each starting at the previous solution."""
    state = None
    last = np.inf
    for penalty in penalties:
        if state is None:
            state = solver_module(penalty).start(store, w, penalty)
        strong_rule_level = 2 * penalty.a - last if last < np.inf else np.inf
        run = minimise_lasso(
            store,
            penalty,
            state,
            tol=tol,
            max_iter=max_iter,
            strong_rule_level=strong_rule_level,
            rng=rng,
        )
        state = run.state
        last = penalty.a
        yield run
        if run.interrupted:
            raise KeyboardInterrupt


def alpha_grid(store, l1_ratio, eps, count, positive=False):
    """`count` alphas from eq. (2) down to `eps` times it, evenly in their logarithm."""
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please "
            "supply a grid by providing your estimator with the appropriate `alphas=` "
            "argument."
        )
    c = store.Xy if store.Xy.ndim == 1 else np.linalg.norm(store.Xy, axis=0)
    top = float(c.max() if positive else np.abs(c).max()) / l1_ratio
    if top <= TINY_ALPHA:
        return np.full(count, TINY_ALPHA)
    return np.geomspace(top, top * eps, count) if count > 1 else np.array([top])


def enet_path(
    X,
    y,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas=100,
    precompute="auto",
    Xy=None,
    copy_X: bool = True,
    coef_init=None,
    return_n_iter: bool = False,
    positive: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
    selection: str = "cyclic",
    random_state=None,
    check_input: bool = True,
):
    """Elastic-net coefficients for a falling series of alphas, without an intercept.

    Parameters
    ----------
    X : array or CSC matrix of shape (n, d)
        Centre it first if the model is to have an intercept.
    y : array of shape (n,) or (n, t)
        Several columns are the multi-task elastic net: one support for all of them.
    l1_ratio : float
        rho of eq. (2).
    eps : float
        Last alpha over first, when alphas are chosen here.
    alphas : int or array
        How many alphas to choose from eq. (2) down, or the alphas themselves.
    precompute : "auto", bool or array of shape (d, d)
        Whether to make the whole Gram matrix first, or that matrix, which is refused
        if it is not X^T X.
    Xy : array of shape (d,) or None
        X^T y, if known.
    copy_X : bool
        X is never written to, whatever this says.
    coef_init : array of shape (d,) or (t, d) or None
        Where to start.
    return_n_iter : bool
        Also return the number of rounds for each alpha.
    positive : bool
        Only coefficients of at least 0; for one column y.
    max_iter, tol, selection, random_state
        As in `ElasticNet`.
    check_input : bool
        False for arrays that are known to be finite floats of matching shapes.

    Returns
    -------
    alphas : array of shape (m,)
    coefs : array of shape (d, m) or (t, d, m)
    dual_gaps : array of shape (m,)
    n_iters : list of int
        Only with `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import lasso_path
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 2.0])
    >>> alphas, coefs, gaps = lasso_path(X, y, alphas=[11 / 3, 5 / 3, 1 / 3])
    >>> coefs.round(7)
    array([[0.       , 0.4285714, 0.7142857]])
    """
    X = X.tocsc() if sp.issparse(X) else np.asarray(X)
    X = X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
    if check_input:
        checks = {"accept_sparse": "csc", "multi_output": True, "y_numeric": True}
        X, y = check_X_y(X, y, dtype=[np.float64, np.float32], **checks)
    y = np.asarray(y, dtype=X.dtype)
    multi = y.ndim == 2
    if multi and positive:
        raise ValueError("positive=True takes one column y, not several.")
    rng = make_rng(random_state) if selection == "random" else None
    design = Design(X, centre=False)
    Xy = None if Xy is None else np.asarray(Xy, dtype=X.dtype).T / design.n
    target = design.root * np.ascontiguousarray(y.T)
    store = gram_store(design, target, precompute, Xy=Xy)
    if np.ndim(alphas) == 0:
        alphas = alpha_grid(store, l1_ratio, eps, int(alphas), positive)
    alphas = np.sort(np.asarray(alphas, dtype=float))[::-1]
    start = np.zeros((*y.T.shape[:-1], design.d), X.dtype)
    if coef_init is not None:
        start[:] = coef_init
    make = penalty_factory(l1_ratio, positive, design.d if multi else None)
    coefs = np.empty((len(alphas), *start.shape), X.dtype)
    gaps = np.empty(len(alphas))
    counts = []
    with threads.single_blas():
        path = solve_path(
            store, map(make, alphas), start, tol=tol, max_iter=max_iter, rng=rng
        )
        for i, run in enumerate(path):
            coefs[i] = run.state.w
            gaps[i] = run.state.gap
            counts.append(run.n_iter)
    coefs = np.moveaxis(coefs, 0, -1)
    return (alphas, coefs, gaps, counts) if return_n_iter else (alphas, coefs, gaps)


def penalty_factory(l1_ratio, positive=False, d=None):
    """The function alpha -> penalty: elastic net, or multi-task for d columns."""
    if d is None:
        return lambda alpha: elastic_net(alpha, l1_ratio, positive)
    single = group_sets.single_column_groups(d)
    rho = l1_ratio
    Penalty = group_sets.GroupPenalty
    return lambda alpha: Penalty(single, alpha * rho, 0.0, alpha * (1 - rho))


def lasso_path(X, y, **options):
    """`enet_path` with l1_ratio 1: the lasso. Takes the same options."""
    return enet_path(X, y, l1_ratio=1.0, **options)
