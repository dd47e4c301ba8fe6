"""Huber regression: squared error for most rows, absolute error for outliers.

Which rows are outliers depends on the scale s of the noise, so both are fitted. With
weights w_i of sum W, residuals r_i = y_i - x_i^T B - b and the Huber function
H(z) = z^2 up to |z| = e, then 2 e |z| - e^2,

    minimise  sum_i w_i (s + s H(r_i / s)) + alpha |B|^2   over B, b, s > 0      (1)

which is convex in all of them together. For given B and b the best s solves

    sum_i w_i min(r_i^2, e^2 t) = W t,   t = s^2                                 (2)

a concave, piecewise linear equation: Newton's method from the right ends after a few
steps in its largest root. With that s eq. (1) is a convex, once differentiable function
of B and b, whose gradient is that of eq. (1) at the best s, and whose Hessian is

    2/s (X_in^T X_in) + 2 alpha I - g g^T / h,
    g = -2/s^2 X_in^T r_in,   h = 2/s^3 |r_in|^2                                 (3)

with the rows within e s only and weights as in eq. (1). Newton's method on it, with
shortened steps (`optim.newton`), needs a few passes where quasi-Newton needs dozens.
Where B can fit most rows exactly, s goes to 0 and eq. (1) loses its smoothness, so s is
kept above a share of the standard deviation of y, which falls through `SCALE_FLOORS` as
long as it binds.

Time O(n d) a pass and O(n d^2) a Hessian.

Shapes    X (n, d)   y, r, w (n,)   B (d,)   b, s ()
Refs      [Huber1981] ch. 7.8; [Owen2007] eq. (1)
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.arrays.weighted import weighted_median
from ...core.drivers.iterate import Result
from ...losses import huber
from ...optim import newton
from ...optim.smooth.newton import NewtonState
from ...params import AtLeastOne, Flag, Natural, NonNegative
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    array_like,
    check_warm_start,
    numpy_float_name,
    store_coefficients,
    target_vector,
    thread_budget,
)
from ..risk import Risk

SCALE_FLOORS = (1e-2, 1e-5, 1e-8)  # of s, over the standard deviation of y


def huber_scale(r2, w, W, e, low, start=math.inf):
    """The root s of eq. (2) for squared residuals r2, at least `low`.

    `start` is a first guess. A first step from the left of the root lands on its
    right; the following steps decrease.
    """
    xp = arrays.namespace(r2)
    wr2 = w * r2
    t = start * start
    if not math.isfinite(t):
        t = float(xp.sum(wr2)) / W
    first = True
    for _ in range(200):
        near = xp.astype(r2 <= e * e * t, r2.dtype)
        inner = float(xp.sum(wr2 * near))
        rest = W - e * e * W
        rest += e * e * float(xp.sum(w * near))
        if rest <= 0:  # left of the maximum: start at the right
            t = float(xp.sum(wr2)) / W
            first = False
            continue
        new = inner / rest
        if new <= low * low:
            return low
        if new >= t * (1 - 1e-14) and not first:
            break
        t = new
        first = False
    return max(math.sqrt(t), low)


class ConcentratedHuber:
    """Eq. (1) with the best s, as a function of x = (B, b)."""

    def __init__(self, X, y, w, e, alpha, *, intercept):
        xp = arrays.namespace(y)
        self.w = xp.ones_like(y) if w is None else array_like(w, y)
        self.y = y
        self.e = e
        self.alpha = alpha
        self.W = float(xp.sum(self.w))
        self.s = math.inf
        self.scale_floor = 0.0
        self.eps = float(np.finfo(numpy_float_name(X)).eps)
        self.risk = Risk(X, y, self.w, huber(e), intercept=intercept)

    def set_scale_floor(self, floor, deviation):
        """Keep s above `floor` times the deviation, and above rounding."""
        top = float(arrays.namespace(self.y).max(arrays.namespace(self.y).abs(self.y)))
        self.scale_floor = max(floor * deviation, 10 * self.eps * (top or 1.0))

    def residuals(self, x):
        """y - X B - b; the predictions are cached in `risk` for the Hessian."""
        J = self.risk
        if J.cached_predictions is None or not np.array_equal(
            J.cached_predictions[0], x
        ):
            B, b = J.as_row_dtype(*J.split(x))
            kept = J.map_rows(lambda X: X @ B[0, :] + b[0])
            J.cached_predictions = np.array(x, dtype=float), kept
        return self.y - arrays.namespace(self.y).concat(J.cached_predictions[1])

    def __call__(self, x):
        """Value and gradient; s becomes the best one at x."""
        J = self.risk
        B = np.asarray(x)[:-1]
        xp = arrays.namespace(self.y)
        r = self.residuals(x)
        self.s = s = huber_scale(
            r * r, self.w, self.W, self.e, self.scale_floor, self.s
        )
        J.loss = huber(self.e * s)
        J.alpha = self.alpha * s
        loss = float(xp.sum(self.w * J.loss.value(self.y, self.y - r)))
        u = self.w * J.loss.gradient(self.y, self.y - r)
        g = 2 / s * J.sum_aligned(rows_moment, u)
        g[:-1] += 2 * self.alpha * B
        g[-1] = g[-1] if J.intercept else 0.0
        return self.W * s + 2 / s * loss + self.alpha * float(B @ B), g

    def hessian(self, x, rough=False):
        """Eq. (3)."""
        J, s = self.risk, self.s
        xp = arrays.namespace(self.y)
        H = 2 / s * J.hessian(x, rough)
        r = self.residuals(x)
        u = self.w * xp.where(xp.abs(r) <= self.e * s, r, xp.zeros_like(r))
        u = u / s
        h = 2 / s * float(xp.sum(u * (r / s)))
        if h <= 0 or s <= self.scale_floor:
            return H
        g = -2 / s * J.sum_aligned(rows_moment, u)
        g[-1] = g[-1] if J.intercept else 0.0
        # computed from a part of the rows, H may be smaller than what is subtracted
        share = float(g @ np.linalg.lstsq(H, g, rcond=None)[0]) / h
        return H - np.outer(g, g) / h * min(1.0, 0.9 / max(share, 1e-300))


def refuse_tiny_targets(y):
    """Refuse targets that vary by so little that their squares are 0."""
    xp = arrays.namespace(y)
    spread = float(xp.max(y)) - float(xp.min(y))
    tiny = float(np.finfo(numpy_float_name(y)).tiny)
    if spread > 0 and spread * spread < tiny:
        raise ValueError(
            f"y varies by {spread:.1g} only, whose square vanishes: HuberRegressor "
            "needs it in larger units."
        )


def rows_moment(X, u):
    """(X, 1)^T u as a NumPy vector."""
    if sp.issparse(X):
        return np.append(X.T @ u, u.sum()).astype(float)
    total = arrays.namespace(u).sum(u)
    return np.append(arrays.to_numpy(u @ X), float(total)).astype(float)


@dataclass(eq=False, repr=False)
class HuberRegressor(AbstractLinearRegressor):
    """Linear regression with the Huber loss and a fitted scale, robust to outliers.

    Parameters
    ----------
    epsilon : float, default=1.35
        e: residuals beyond e times the scale count as outliers.
    max_iter : int, default=100
        Most iterations.
    alpha : float, default=0.0001
        Strength of the squared penalty.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    tol : float, default=1e-5
        Stop when no entry of the gradient of eq. (1) exceeds this.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    scale_ : float
        s.
    outliers_ : boolean array of shape (n_samples,)
        Rows beyond e s.
    n_iter_ : int
    history_ : dict of arrays
        "objective" after each iteration, eq. (1).
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import HuberRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> y = [1.1, 2.9, 5.1, 6.9, 9.1, 10.9, 13.1, 100]
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([2.024]), 0.968)
    >>> np.flatnonzero(model.outliers_)
    array([5, 7])
    """

    _: KW_ONLY
    epsilon: AtLeastOne = 1.35
    max_iter: Natural = 100
    alpha: NonNegative = 0.0001
    warm_start: Flag = False
    fit_intercept: Flag = True
    tol: NonNegative = 1e-5

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        y = target_vector(y, X)
        refuse_tiny_targets(y)
        J = ConcentratedHuber(
            X, y, w, self.epsilon, self.alpha, intercept=self.fit_intercept
        )
        with thread_budget(X):
            run = self._run_driver(
                lambda task: self._minimise(J, self._start(J), task),
                total=self.max_iter,
                X=X,
                y=y,
                snapshot=lambda s: {"coef_": s.position[:-1]},
            )
            x = np.asarray(run.state.position)
            r = J.residuals(x)
        self.scale_ = huber_scale(r * r, J.w, J.W, self.epsilon, J.scale_floor, J.s)
        self.outliers_ = arrays.namespace(r).abs(r) > self.epsilon * self.scale_
        store_coefficients(self, X, x[:-1, None], x[-1:], True)
        return self

    def _minimise(self, J, x, task):
        """Newton's method, again for every lower floor of s that binds."""
        r = J.residuals(x)
        deviation = math.sqrt(float(arrays.namespace(r).sum(J.w * r * r)) / J.W)
        J.set_scale_floor(0.0, 0.0)
        slope = float(np.max(np.abs(J(x)[1])))
        tol = max(self.tol, 32 * J.eps * slope)
        if self.warm_start and hasattr(self, "coef_") and slope <= tol:
            state = NewtonState(x, *J(x))
            return Result(state, 0, "tolerance", {"objective": np.empty(0)})
        runs = []
        for floor in SCALE_FLOORS:
            J.set_scale_floor(floor, deviation)
            left = self.max_iter - sum(run.n_iter for run in runs)
            run = newton(J, J.hessian, x, max_iter=left, tol=tol, rough=True, task=task)
            runs.append(run)
            x = runs[-1].state.position
            if J.s > J.scale_floor or not runs[-1].converged:
                break
        parts = [run.history["objective"] for run in runs]
        return runs[-1]._replace(
            n_iter=sum(run.n_iter for run in runs),
            history={"objective": np.concatenate(parts)},
        )

    def _start(self, J):
        """Initial x: the last fit with `warm_start`, or B = 0 with b at the median."""
        d = J.risk.d
        x = np.zeros(d + 1)
        if self.warm_start and hasattr(self, "coef_"):
            old = arrays.to_numpy(self.coef_).astype(float)
            if len(old) == d:
                x[:d] = old
                x[d] = float(self.intercept_) if self.fit_intercept else 0.0
                check_warm_start(self, x)
                return x
        if self.fit_intercept:
            x[d] = float(weighted_median(J.y, J.w))
        return x
