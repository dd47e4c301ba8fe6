"""Robust M-estimation: regression by Tukey's biweight or Huber's function.

With residuals r_i, weights w_i and the scale s of the noise,

    minimise  sum_i w_i rho(r_i / s)                                             (1)

for rho Tukey's biweight, whose slope returns to 0 (`losses.robust`), or Huber's. The
scale is fixed first, from the residuals of least absolute deviations,

    s = median |r_i| / 0.6745                                                    (2)

which estimates the standard deviation of Normal noise whatever the size of outliers.
From that fit, iteratively reweighted least squares

    B, b <- least squares with weights w_i psi(r_i / s) / (r_i / s)              (3)

never raises eq. (1): for every row its weighted square is a parabola that touches rho
from above. The biweight is not convex; starting at a robust fit finds the good minimum.

Time O(n d^2) a step.

Shapes    X (n, d)   y, r, w (n,)   B (d,)   b ()
Refs      [Beaton1974] [Holland1977] eq. (3) and constants; [Huber1981] ch. 7
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import host_array
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import weighted_median
from ...core.drivers.iterate import iterate
from ...core.linalg.least_squares import least_squares
from ...losses import huber, tukey
from ...params import Count, Flag, NonNegative, Positive
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    array_like,
    store_coefficients,
    target_vector,
    thread_budget,
)
from ..glm.quantile import pinball_program
from ..glm.quantile_program import solve_pinball

NORMAL_QUARTILE = 0.6744897501960817  # the upper quartile of the standard Normal
DEFAULT_CUTOFF = {"tukey": 4.685, "huber": 1.345}  # 95 % efficient on Normal noise
LOSSES = {"tukey": tukey, "huber": huber}


class RobustState(NamedTuple):
    """Coefficients, residuals over s, and eq. (1)."""

    coef: np.ndarray
    intercept: float
    z: Any
    objective: float


def irls_weights(loss, z):
    """psi(z) / z, and 1 at 0."""
    xp = arrays.namespace(z)
    small = xp.abs(z) < 1e-8
    safe = xp.where(small, xp.ones_like(z), z)
    slope = loss.gradient(xp.zeros_like(z), safe)
    return xp.where(small, xp.ones_like(z), slope / safe)


@dataclass(eq=False, repr=False)
class RobustRegressor(AbstractLinearRegressor):
    """Linear regression by Tukey's biweight or Huber's function with a fixed scale.

    Parameters
    ----------
    loss : {"tukey", "huber"}, default="tukey"
        rho of eq. (1).
    c : float or None, default=None
        Where rho bends, in units of s; None is 4.685 for Tukey and 1.345 for Huber.
    scale : float or None, default=None
        s; None estimates it by eq. (2).
    fit_intercept : bool, default=True
        Whether to fit b.
    max_iter : int, default=100
        Most steps of eq. (3).
    tol : float, default=1e-8
        Stop when no prediction moves by more than this share of s.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    scale_ : float
        s.
    weights_ : array of shape (n_samples,)
        psi(z) / z: 1 for rows that are fitted well, 0 for rows that are left out.
    n_iter_ : int
    history_ : dict of arrays
        "objective" after each step, eq. (1).
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RobustRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> y = [1.1, 2.9, 5.1, 6.9, 9.1, 10.9, 13.1, 100]
    >>> model = RobustRegressor().fit(X, y)
    >>> model.coef_.round(3), model.weights_.round(2)[-1]
    (array([2.]), np.float64(0.0))
    """

    loss: Literal["tukey", "huber"] = "tukey"
    _: KW_ONLY
    c: Positive | None = None
    scale: Positive | None = None
    fit_intercept: Flag = True
    max_iter: Count = 100
    tol: NonNegative = 1e-8

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind="number")
        if isinstance(X, DatasetRows):
            raise TypeError("RobustRegressor takes rows in memory, not a table.")
        y = target_vector(y, X)
        w = arrays.namespace(y).ones_like(y) if w is None else array_like(w, y)
        c = DEFAULT_CUTOFF[self.loss] if self.c is None else self.c
        with thread_budget(X):
            start, self.scale_ = self._start(X, y, w)
            state = self._run(LOSSES[self.loss](c), X, y, w, start)
        self.weights_ = irls_weights(LOSSES[self.loss](c), state.z)
        store_coefficients(
            self, X, state.coef[:, None], np.array([state.intercept]), True
        )
        return self

    def _start(self, X, y, w):
        """Least absolute deviations, and the scale of eq. (2)."""
        host = lambda a: arrays.to_numpy(a).astype(np.float64)
        P = pinball_program(
            host(host_array(self, X)),
            host(y),
            host(w),
            0.5,
            0.0,
            intercept=self.fit_intercept,
        )
        x = solve_pinball(P).x
        r = P.y - P.matvec(x)
        s = self.scale
        if s is None:
            s = float(weighted_median(np.abs(r), P.h - P.l)) / NORMAL_QUARTILE
            least = 1e-10 * float(np.max(np.abs(P.y))) + 1e-300
            s = max(s, least)  # where more than half of the rows are fitted exactly
        return x, s

    def _run(self, loss, X, y, w, x):
        s = self.scale_
        d = X.shape[1]
        xp = arrays.namespace(y)

        def at(B, b):
            f = X @ arrays.asarray(B, like=y) + b
            z = (y - f) / s
            value = float(xp.sum(w * loss.value(xp.zeros_like(z), z)))
            return RobustState(B, b, z, value)

        def step(state):
            weights = w * irls_weights(loss, state.z)
            if not bool(xp.any(weights > 0)):
                return state
            fit = least_squares(X, y[:, None], weights, intercept=self.fit_intercept)
            return at(fit.coef[:, 0], float(fit.intercept[0]))

        change = lambda old, new: float(xp.max(xp.abs(old.z - new.z)))
        run = self._run_driver(
            lambda task: iterate(
                step,
                at(x[:d], float(x[d]) if self.fit_intercept else 0.0),
                max_iter=self.max_iter,
                tol=max(self.tol, 64 * float(xp.finfo(y.dtype).eps)),
                change=change,
                task=task,
            ),
            total=self.max_iter,
            X=X,
            y=y,
            snapshot=lambda s: {"coef_": s.coef, "intercept_": s.intercept},
        )
        return run.state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
