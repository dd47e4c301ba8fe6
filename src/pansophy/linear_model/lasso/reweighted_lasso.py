"""Bridge regression and the adaptive lasso, by reweighted lasso and ridge fits.

With row weights v_i of sum V,

    J(w, b) = 1/(2V) sum_i v_i (y_i - x_i w - b)^2 + alpha sum_j |w_j|^q         (1)

A concave function lies below its tangent, so for q < 1, around a point u,

    |w|^q <= |u|^q + q |u|^(q-1) (|w| - |u|)                                     (2)

and for 1 < q < 2 the same holds in w^2,

    |w|^q <= |u|^q + (q/2) |u|^(q-2) (w^2 - u^2)                                 (3)

Minimising the bound instead of eq. (1), and again at the new point, never raises J:
eq. (2) is a lasso and eq. (3) a ridge regression with a weight per coefficient. In
eq. (2) a coefficient that has become 0 stays 0. Below q = 1 eq. (1) is not convex, and
where the steps end depends on where they start, which is the lasso. q = 1 is the
lasso, q = 2 is ridge regression with 2 V alpha, and for q > 2 J is smooth and Newton's
method finds its minimum.

The adaptive lasso weights |w_j| by 1 / |u_j|^gamma with u a first fit (ridge, or least
squares), so that large coefficients are shrunk less than small ones; it is eq. (2) for
one step from u.

Cost      a lasso (q < 1) or d^3 (q > 1) a step; a scaled copy of the columns in use
Shapes    X (n, d) dense or CSC   y (n,)   w (d,)
Refs      [Frank1993] bridge; [Zou2006] adaptive; [ZouLi2008] eq. (2); [Candes2008]
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.drivers.iterate import Result, iterate, relative_change
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...optim.nonsmooth.centered_design import Design
from ...optim.nonsmooth.working_set import start as start_at
from ...optim.smooth.newton import newton
from ...params import Count, Flag, NonNegative, Positive
from ...penalties import l1, lq
from ...predictors.abstract_linear import AbstractLinearRegressor, check_coefficients
from .lasso_path import centre_targets, check_lasso_data, gram_store, minimise_lasso


class ReweightedState(NamedTuple):
    """The coefficients after a step."""

    w: np.ndarray
    objective: float  # J
    gap: float = 0.0  # duality gap of the last lasso


def weighted_lasso(data, alpha, weights, intercept, *, tol, max_iter):
    """argmin of 1/2 sum p r^2 + alpha sum_j weights_j |w_j|, and its gap.

    With v_j = weights_j w_j it is a lasso on scaled columns; infinite weights leave.
    """
    kept = np.flatnonzero(np.isfinite(weights))
    w = np.zeros(data.X.shape[1], data.X.dtype)
    if len(kept) == 0:
        return w, 0.0
    scale = (1 / weights[kept]).astype(data.X.dtype)
    X = data.X[:, kept]
    X = sp.csc_matrix(X @ sp.diags(scale)) if sp.issparse(X) else X * scale
    design = Design(X, data.p, centre=intercept)
    y = centre_targets(data.Y, data.p, intercept)[0][:, 0]
    store = gram_store(design, design.root * y)
    penalty = l1(alpha)
    begin = start_at(store, np.zeros(len(kept), X.dtype), penalty)
    run = minimise_lasso(store, penalty, begin, tol=tol, max_iter=max_iter)
    w[kept] = scale * run.state.w
    return w, run.state.gap


def gram_moments(data, intercept):
    """G = X^T X, h = X^T y of centred, weighted data, and |y|^2."""
    design = Design(data.X, data.p, centre=intercept)
    y = design.root * centre_targets(data.Y, data.p, intercept)[0][:, 0]
    G = design.gram().astype(float)
    h = design.correlate(y).astype(float)
    return G, h, float(y @ y)


def weighted_ridge(G, h, alpha, weights):
    """(G + alpha diag(weights))^-1 h as D (D G D + I)^-1 D h: weights may be inf."""
    with np.errstate(divide="ignore"):
        D = 1 / np.sqrt(alpha * weights)
    A = G * np.outer(D, D)
    A[np.diag_indices(len(h))] += 1
    return D * scipy.linalg.solve(A, D * h, assume_a="pos")


def bridge_objective(G, h, energy, alpha, q, w):
    """J of eq. (1) from moments."""
    return float(energy / 2 - w @ h + w @ G @ w / 2 + alpha * np.sum(np.abs(w) ** q))


def reweighted_ridge(G, h, energy, alpha, q, *, tol, max_iter, task=SILENT) -> Result:
    """Iterate eq. (3) from the ridge fit."""
    value = lambda w: bridge_objective(G, h, energy, alpha, q, w)

    def step(state):
        with np.errstate(divide="ignore"):
            weights = q * np.abs(state.w) ** (q - 2)
        w = weighted_ridge(G, h, alpha, weights)
        return ReweightedState(w, value(w))

    w = weighted_ridge(G, h, alpha, np.full(len(h), 2.0))
    begin = ReweightedState(w, value(w))
    goal = tol * max(energy, 1e-300)
    change = lambda old, new: abs(old.objective - new.objective) / goal
    return iterate(step, begin, max_iter=max_iter, tol=1e-4, change=change, task=task)


def smooth_bridge(G, h, energy, alpha, q, *, tol, max_iter, task=SILENT) -> Result:
    """Newton's method for q > 2, from the ridge fit."""

    def f(w):
        slope = alpha * q * np.abs(w) ** (q - 1) * np.sign(w)
        return bridge_objective(G, h, energy, alpha, q, w), G @ w - h + slope

    def hessian(w, rough=False):
        return G + np.diag(alpha * q * (q - 1) * np.abs(w) ** (q - 2))

    w = weighted_ridge(G, h, alpha, np.full(len(h), 2.0))
    size = max(float(np.abs(h).max()), 1e-300)
    run = newton(f, hessian, w, tol=1e-4 * tol * size, max_iter=max_iter, task=task)
    return run._replace(state=ReweightedState(run.state.position, run.objective))


def reweighted_lasso(
    data, weights_at, value, intercept, *, n_reweights, tol, max_iter, task
) -> Result:
    """Iterate eq. (2); the first fit has weights 1."""
    d = data.X.shape[1]

    def step(state):
        alpha, weights = weights_at(state.w)
        w, gap = weighted_lasso(
            data, alpha, weights, intercept, tol=tol, max_iter=max_iter
        )
        return ReweightedState(w, value(w), gap)

    begin = ReweightedState(np.full(d, np.nan), np.inf)
    change = lambda old, new: (
        relative_change(old, new) if np.isfinite(old.objective) else np.inf
    )
    return iterate(step, begin, max_iter=n_reweights, tol=tol, change=change, task=task)


def store_reweighted_fit(model, run, data):
    """Set coef_, intercept_ and dual_gap_."""
    with np.errstate(over="ignore"):
        w = run.state.w.astype(data.X.dtype)
    check_coefficients(model, data.X, w)
    _, mean = centre_targets(data.Y, data.p, model.fit_intercept)
    design = Design(data.X, data.p, centre=model.fit_intercept)
    model.coef_ = w
    model.intercept_ = 0.0
    if model.fit_intercept:
        model.intercept_ = (mean - design.mean @ w)[0]
    if arrays.is_foreign(data.like):
        model.coef_ = arrays.asarray(model.coef_, like=data.like)
        model.intercept_ = arrays.asarray(model.intercept_, like=data.like)
    model.dual_gap_ = float(run.state.gap)
    return model


@dataclass(eq=False, repr=False)
class BridgeRegression(AbstractLinearRegressor):
    """Linear regression with a power of the coefficients as penalty, eq. (1).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    q : float, default=1.0
        The power: 2 is ridge regression, 1 the lasso; below 1 the problem is not
        convex and a stationary point is found.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    max_iter : int, default=1000
        Most steps of eqs. (2) or (3), and iterations of each lasso.
    tol : float, default=1e-4
        Relative change of J at which steps end; lassos are solved to this gap.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    convex_ : bool
        Whether the problem is convex, so that its minimum is the global one.
    dual_gap_ : float
        Of the last lasso, for q <= 1.
    n_iter_ : int
    history_ : dict of arrays
        "objective": J after each step, which never rises.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import BridgeRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> model = BridgeRegression(0.1, q=0.5).fit(X, 2 * X[:, 0])
    >>> np.flatnonzero(model.coef_), model.convex_
    (array([0]), False)
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    q: Positive = 1.0
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        self.convex_ = lq(self.q).convex
        with threads.single_blas():
            run = self._run_driver(
                lambda task: self._solve(data, task),
                total=self.max_iter,
                X=data.like,
                y=data.Y,
            )
        return store_reweighted_fit(self, run, data)

    def _solve(self, data, task):
        a = self.alpha
        q = self.q
        if q > 1 and a > 0:
            G, h, energy = gram_moments(data, self.fit_intercept)
            solve = smooth_bridge if q > 2 else reweighted_ridge
            return solve(
                G, h, energy, a, q, tol=self.tol, max_iter=self.max_iter, task=task
            )
        value = penalised_risk(
            data, self.fit_intercept, lambda w: float(lq(q, a).value(w))
        )

        def weights_at(u):
            if q == 1 or a == 0 or np.isnan(u).any():
                return a, np.ones(data.X.shape[1])
            with np.errstate(divide="ignore"):
                return a, q * np.abs(u) ** (q - 1)

        n_reweights = 1 if q == 1 or a == 0 else self.max_iter
        run = reweighted_lasso(
            data,
            weights_at,
            value,
            self.fit_intercept,
            n_reweights=n_reweights,
            tol=self.tol,
            max_iter=self.max_iter,
            task=task,
        )
        return run._replace(reason="tolerance") if n_reweights == 1 else run


def penalised_risk(data, intercept, penalty):
    """w -> half the weighted mean square, with the best intercept, + penalty(w)."""
    design = Design(data.X, data.p, centre=intercept)
    y = design.root * centre_targets(data.Y, data.p, intercept)[0][:, 0]

    def value(w):
        r = y - design.predict(w)
        return float(r @ r) / 2 + penalty(w)

    return value


@dataclass(eq=False, repr=False)
class AdaptiveLasso(AbstractLinearRegressor):
    """Lasso with weights from a first fit; see the module text.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    gamma : float, default=1.0
        The power of the first coefficients in the weights 1 / |u_j|^gamma.
    ridge : float, default=1e-3
        The first fit is ridge regression with this penalty over V times the mean
        variance of the columns; 0 is least squares.
    n_reweights : int, default=1
        Weighted lassos in a row, each taking its weights from the one before.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    max_iter : int, default=1000
        Most iterations of each lasso.
    tol : float, default=1e-4
        Each lasso is solved to a gap of tol times the variance of y.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    weights_ : array of shape (d,)
        Of the last lasso; inf for a column that was left out.
    dual_gap_ : float
    n_iter_ : int
        Weighted lassos solved.
    history_ : dict of arrays

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import AdaptiveLasso, Lasso
    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> y = 2 * X[:, 0]
    >>> plain, adaptive = (m(0.1).fit(X, y).coef_[0] for m in (Lasso, AdaptiveLasso))
    >>> bool(plain < adaptive < 2)
    True
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    gamma: Positive = 1.0
    ridge: NonNegative = 1e-3
    n_reweights: Count = 1
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """A first fit, then weighted lassos."""
        data = check_lasso_data(self, X, y, sample_weight, y_kind="number")
        first = initial_ridge_fit(data, self.ridge, self.fit_intercept)

        def weights_at(u):
            u = first if np.isnan(u).any() else u
            with np.errstate(divide="ignore"):
                self.weights_ = np.abs(u).astype(float) ** -self.gamma
            return self.alpha, self.weights_

        def penalty(w):
            used = w != 0
            return self.alpha * float(self.weights_[used] @ np.abs(w[used]))

        with threads.single_blas():
            value = penalised_risk(data, self.fit_intercept, penalty)
            run = self._run_driver(
                lambda task: reweighted_lasso(
                    data,
                    weights_at,
                    value,
                    self.fit_intercept,
                    n_reweights=self.n_reweights,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    task=task,
                )._replace(reason="tolerance"),
                total=self.n_reweights,
                X=data.like,
                y=data.Y,
            )
        return store_reweighted_fit(self, run, data)


def initial_ridge_fit(data, ridge, intercept):
    """Ridge coefficients by moments, or by the n equations of the dual where d > n."""
    design = Design(data.X, data.p, centre=intercept)
    y = design.root * centre_targets(data.Y, data.p, intercept)[0][:, 0]
    n, d = data.X.shape
    if d <= n or design.sparse:
        G = design.gram().astype(float)
        h = design.correlate(y)
        shift = ridge * max(np.trace(G) / d, 1e-300)
        return np.linalg.lstsq(G + shift * np.eye(d), h, rcond=1e-12)[0]
    rows = design.rows(np.arange(d)).astype(float)
    K = rows.T @ rows
    shift = ridge * max(np.trace(K) / d, 1e-300)
    return rows @ np.linalg.lstsq(K + shift * np.eye(n), y, rcond=1e-12)[0]
