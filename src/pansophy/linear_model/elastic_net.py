"""Elastic net and lasso: least squares that sets most coefficients to zero.

With row weights v_i of sum V,

    minimise  1/(2V) sum_i v_i (y_i - x_i w - b)^2
              + alpha rho |w|_1 + alpha (1 - rho)/2 |w|^2                        (1)

rho = 1 is the lasso. The intercept b is free of penalty, so for given w it is the
weighted mean of y - x w, and the rest is least squares on centred data: that is eq.
(1) of `optim/working_set.py`, which solves it on a growing set of columns, exactly on
the support, and stops when the duality gap is at most tol times the weighted mean of
(y - mean y)^2. The coefficients are all 0 from

    alpha_max = max_j |sum_i v_i x_ij (y_i - mean y)| / (V rho)                  (2)

on; a path goes down from there, each point starting at the one before. Weight k is
k repeated rows, since eq. (1) does not tell them apart.

Time O(n d) a round, and rounds are few; memory O(n k + k^2) beyond X for k columns
that ever looked active. X is not copied.

Shapes    X (n, d) dense or CSC   y (n,) or (n, t)   w (d,) or (t, d)
Refs      [Tibshirani1996] [Zou2005] [Tibshirani2012] [Massias2018]
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..base import Estimator, Regressor
from ..core import arrays, threads
from ..core.iterate import Result, iterate
from ..core.progress import SILENT
from ..core.random import rng_from
from ..core.rows import DatasetRows
from ..optim import working_set as sets
from ..optim.design import Design
from ..params import Count, Flag, Fraction, NonNegative
from ..penalties import elastic_net
from ..typing import Matrix, Seed
from .linear import predict

SMALL = 256  # up to this many columns the whole Gram matrix is made in one pass


def shares(w, X):
    """Row weights of sum 1, or None for equal ones."""
    return None if w is None else (w / w.sum()).astype(X.dtype)


def centred(y, p, fit_intercept):
    """y minus its p-mean, and that mean."""
    if not fit_intercept:
        return y, y.dtype.type(0)
    mean = y.mean() if p is None else p @ y
    return y - mean, mean


def gram_for(design, precompute, weighted):
    """The whole Gram matrix where it is given or pays, else None."""
    if isinstance(precompute, (bool, np.bool_, str)):
        tall = design.d <= SMALL and design.n > 4 * design.d
        return design.gram() if precompute is True or tall else None
    gram = np.asarray(precompute, dtype=design.X.dtype)
    if gram.shape != (design.d, design.d):
        raise ValueError(
            f"precompute must be a Gram matrix of shape {(design.d, design.d)}, "
            f"got {gram.shape}."
        )
    if weighted:
        raise ValueError(
            "precompute cannot be a Gram matrix together with sample_weight, which "
            "changes it."
        )
    return gram / design.n  # given as X^T X, used as its mean over rows


def descend(
    store, penalty, state, *, tol, max_iter, near=np.inf, rng=None, task=SILENT
) -> Result:
    """Minimise eq. (1) for centred data, starting from `state`."""
    goal = tol * store.energy
    step = sets.rounds(store, penalty, goal, near, rng)
    return iterate(
        step,
        state,
        max_iter=max_iter,
        tol=goal,
        change=lambda old, new: new.gap,
        watch=("gap",),
        task=task,
    )


def begin(store, penalty, w):
    """The state at coefficients w."""
    return sets.measure(store, w, store.residual(w), penalty)


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
):
    """Elastic-net coefficients for a falling series of alphas, without an intercept.

    Parameters
    ----------
    X : array or CSC matrix of shape (n, d)
        Centre it first if the model is to have an intercept.
    y : array of shape (n,)
    l1_ratio : float
        rho of eq. (1).
    eps : float
        Last alpha over first, when alphas are chosen here.
    alphas : int or array
        How many alphas to choose from eq. (2) down, or the alphas themselves.
    precompute : "auto", bool or array of shape (d, d)
        Whether to make the whole Gram matrix first, or that matrix.
    Xy : array of shape (d,) or None
        X^T y, if known.
    copy_X : bool
        X is never written to, whatever this says.
    coef_init : array of shape (d,) or None
        Where to start.
    return_n_iter : bool
        Also return the number of rounds for each alpha.
    positive : bool
        Only coefficients of at least 0.
    max_iter, tol, selection, random_state
        As in `ElasticNet`.

    Returns
    -------
    alphas : array of shape (m,)
    coefs : array of shape (d, m)
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
    y = np.asarray(y, dtype=X.dtype)
    rng = rng_from(random_state) if selection == "random" else None
    design = Design(X, centre=False)
    Xy = None if Xy is None else np.asarray(Xy, dtype=X.dtype) / design.n
    gram = gram_for(design, precompute, False)
    store = sets.Store(design, design.root * y, gram, Xy)
    if np.ndim(alphas) == 0:
        alphas = alpha_grid(store, l1_ratio, eps, int(alphas), positive)
    alphas = np.sort(np.asarray(alphas, dtype=float))[::-1]
    w = np.zeros(design.d, X.dtype)
    if coef_init is not None:
        w[:] = coef_init
    coefs = np.empty((design.d, len(alphas)), X.dtype, order="F")
    gaps, counts = np.empty(len(alphas)), []
    penalty = elastic_net(alphas[0], l1_ratio, positive)
    state, last = begin(store, penalty, w), np.inf
    with threads.single_blas():
        for i, alpha in enumerate(alphas):
            penalty = elastic_net(alpha, l1_ratio, positive)
            near = 2 * penalty.a - last if last < np.inf else np.inf
            run = descend(
                store, penalty, state, tol=tol, max_iter=max_iter, near=near, rng=rng
            )
            state, last = run.state, penalty.a
            coefs[:, i], gaps[i] = state.w, state.gap
            counts.append(run.n_iter)
            if run.interrupted:
                raise KeyboardInterrupt
    return (alphas, coefs, gaps, counts) if return_n_iter else (alphas, coefs, gaps)


def alpha_grid(store, l1_ratio, eps, count, positive=False):
    """`count` alphas from eq. (2) down to `eps` times it, evenly in their logarithm."""
    if l1_ratio == 0:
        raise ValueError("alphas must be given when l1_ratio is 0.")
    top = store.Xy.max() if positive else np.abs(store.Xy).max()
    top = max(float(top), 1e-300) / l1_ratio
    return np.geomspace(top, top * eps, count) if count > 1 else np.array([top])


def fit_model(model, l1_ratio, X, y, sample_weight):
    """The common `fit` of the two estimators below."""
    X, y, w = model._begin(
        X,
        y,
        sample_weight,
        y_kind="numbers",
        accept_sparse="csc",
        force_writeable=False,
    )
    if isinstance(X, DatasetRows):
        raise TypeError(f"{type(model).__name__} takes rows in memory, not a table.")
    like = X
    if arrays.is_foreign(X):  # computed on the CPU, handed back where X is
        X, y = arrays.to_numpy(X), arrays.to_numpy(y)
        w = None if w is None else arrays.to_numpy(w)
    y = np.asarray(y, dtype=X.dtype)
    flat, p = y.ndim == 1, shares(w, X)
    targets = y[:, None] if flat else y
    design = Design(X, p, centre=model.fit_intercept)
    penalty = elastic_net(model.alpha, l1_ratio, model.positive)
    rng = rng_from(model.random_state) if model.selection == "random" else None
    start = np.zeros((targets.shape[1], design.d), X.dtype)
    if model.warm_start and hasattr(model, "coef_"):
        old = np.atleast_2d(arrays.to_numpy(model.coef_))
        start = old.astype(X.dtype) if old.shape == start.shape else start
    how = {"tol": model.tol, "max_iter": model.max_iter, "rng": rng}
    with threads.single_blas():  # small products; the large ones take our threads
        gram = gram_for(design, model.precompute, w is not None)
        store = sets.Store(design, targets[:, 0], gram)
        runs, means = [], []
        for t in range(targets.shape[1]):
            target, mean = centred(targets[:, t], p, model.fit_intercept)
            store.aim(design.root * target)
            state = begin(store, penalty, start[t])
            run = partial(descend, store, penalty, state, **how)
            run = lambda task, run=run: run(task=task)
            runs.append(model._drive(run, total=model.max_iter, X=like, y=y))
            means.append(mean)
    return keep(model, runs, design, np.asarray(means), flat, like)


def keep(model, runs: list[Result], design, means, flat, like):
    """Store coefficients, gaps and counts, squeezed for one target."""
    W = np.stack([run.state.w for run in runs])
    intercept: Any = means - W @ design.mean if model.fit_intercept else 0.0
    gaps = np.array([run.state.gap for run in runs])
    model.coef_ = W[0] if len(runs) == 1 else W
    model.dual_gap_ = float(gaps[0]) if len(runs) == 1 else gaps
    model.intercept_ = intercept[0] if flat and model.fit_intercept else intercept
    if len(runs) > 1:
        model.n_iter_ = [run.n_iter for run in runs]
    if arrays.is_foreign(like):
        model.coef_ = arrays.asarray(model.coef_, like=like)
        model.intercept_ = arrays.asarray(model.intercept_, like=like)
    return model


def linear_tags(tags):
    """Sparse X and several targets are welcome."""
    tags.input_tags.sparse = True
    tags.target_tags.multi_output = True
    return tags


@dataclass(eq=False, repr=False)
class ElasticNet(Regressor, Estimator):
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
        True makes the whole Gram matrix first; an array is taken as X^T X of the
        (centred) X. False makes only the part that is needed.
    max_iter : int, default=1000
        Most rounds of the working set, each a solve and a check of all columns.
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
        Rounds of the working set.
    history_ : dict of arrays
        "objective" and "gap" after each round.

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

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y, one or several columns."""
        return fit_model(self, self.l1_ratio, X, y, sample_weight)

    def predict(self, X):
        """X w + b."""
        X = self._ready(X, accept_sparse=["csr", "csc"])
        return predict(self, X)

    @property
    def sparse_coef_(self):
        """`coef_` as a CSR matrix."""
        return sp.csr_matrix(arrays.to_numpy(self.coef_))

    def __sklearn_tags__(self):
        return linear_tags(super().__sklearn_tags__())
