"""Quantile regression: linear models of a conditional quantile.

With weights w of sum W, residuals r = y - X B - b and the pinball loss of level q,

    minimise  1/W sum_i w_i max(q r_i, (q - 1) r_i) + alpha |B|_1                (1)

q = 1/2 is regression by least absolute deviations; on a constant alone eq. (1) asks
for the q quantile of y. Outliers in y pull by their sign only.

Eq. (1) is a linear program. `quantile_program.py` solves it by an interior point
method and ends in an exact vertex, with B_j = 0 where the penalty wins and a duality
gap of 0 but for rounding; SciPy's HiGHS is available as well.

Time about twenty times O(n d^2); with many rows of few columns, less.

Shapes    X (n, d)   y, w, r (n,)   B (d,)   b ()
Refs      [Koenker1978] [Portnoy1997]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ...base import host_array
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...losses import quantile as pinball_loss
from ...params import Flag, NonNegative, OpenFraction, ParameterError
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    store_coefficients,
    thread_budget,
)
from .quantile_program import PinballProgram, solve_pinball


def pinball_program(X, y, w, q, alpha, *, intercept) -> PinballProgram:
    """Eq. (1) times W as a `PinballProgram`, without rows of weight 0."""
    w = np.ones(len(y)) if w is None else w
    if np.any(w == 0):
        used = np.flatnonzero(w > 0)
        X = X[used]
        y = y[used]
        w = w[used]
    j = np.arange(X.shape[1]) if alpha > 0 else np.empty(0, dtype=np.intp)
    c = np.full(len(j), alpha * w.sum())
    return PinballProgram(
        X,
        j,
        np.append(y, 0 * c),
        np.append((q - 1) * w, -c),
        np.append(q * w, c),
        intercept,
    )


def solve_by_highs(P: PinballProgram, method, options):
    """Solve the program by SciPy's HiGHS, x = x+ - x-, r = v - z: x and steps."""
    from scipy.optimize import linprog

    n = P.X.shape[0]
    p = P.p
    A = sp.csc_array(P.X)
    one = sp.csc_array(np.ones((n, 1)))
    A = sp.hstack([A, one]) if P.intercept else A
    eye = sp.eye_array(n, format="csc")
    cost = np.zeros(p)
    cost[P.penalised] = P.h[n:]
    result = linprog(
        np.concatenate([cost, cost, P.h[:n], -P.l[:n]]),
        A_eq=sp.hstack([A, -A, eye, -eye], format="csc"),
        b_eq=P.y[:n],
        method=method,
        options=options,
    )
    if result.x is None:
        raise ValueError(f"HiGHS found no solution: {result.message}")
    if not result.success:
        warnings.warn(
            f"QuantileRegressor did not converge: {result.message}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return result.x[:p] - result.x[p : 2 * p], int(np.atleast_1d(result.nit)[0])


@dataclass(eq=False, repr=False)
class QuantileRegressor(AbstractLinearRegressor):
    """Linear regression of a quantile, with an L1 penalty.

    Least absolute deviations are `QuantileRegressor(quantile=0.5, alpha=0)`.

    Parameters
    ----------
    quantile : float, default=0.5
        q, strictly between 0 and 1.
    alpha : float, default=1.0
        Strength of the L1 penalty.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "interior", "highs", "highs-ds", "highs-ipm"}, default="auto"
        "auto" and "interior" are the method of `quantile_program.py`, the others
        SciPy's.
    solver_options : dict or None, default=None
        "max_iter" and "tol" (of the duality gap, relative) for the interior point
        method, or what SciPy's `linprog` takes.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_iter_ : int
    duality_gap_ : float
        How far eq. (1) can be above its minimum; None by HiGHS.
    history_ : dict of arrays
        "objective" (eq. 1 times W) and "gap" after each step of the interior point.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import QuantileRegressor
    >>> X = np.array([[0.0], [1], [2], [3], [4]])
    >>> model = QuantileRegressor(alpha=0).fit(X, [1, 3, 5, 7, 900])
    >>> model.coef_, float(model.intercept_)
    (array([2.]), 1.0)
    """

    _: KW_ONLY
    quantile: OpenFraction = 0.5
    alpha: NonNegative = 1.0
    fit_intercept: Flag = True
    solver: Literal["auto", "interior", "highs", "highs-ds", "highs-ipm"] = "auto"
    solver_options: dict | None = None

    _on_devices = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        if isinstance(X, DatasetRows):
            raise TypeError("QuantileRegressor takes rows in memory, not a table.")
        host = host_array(self, X)
        host = host.astype(np.float64, copy=False)
        y = arrays.to_numpy(y).astype(np.float64).ravel()
        w = None if w is None else arrays.to_numpy(w).astype(np.float64)
        P = pinball_program(
            host, y, w, self.quantile, self.alpha, intercept=self.fit_intercept
        )
        x = (
            self._interior_point(P)
            if self.solver in ("auto", "interior")
            else self._highs(P)
        )
        b = x[-1:] if self.fit_intercept else np.zeros(1)
        store_coefficients(self, X, x[: host.shape[1], None], b, True)
        return self

    def _interior_point(self, P):
        options = {"max_iter": 100, "tol": 1e-8} | (self.solver_options or {})
        unknown = set(options) - {"max_iter", "tol"}
        if unknown:
            raise ParameterError(
                "solver_options of the interior point method are max_iter and tol, "
                f"got {min(unknown)!r}."
            )
        solution: Any = None

        def run(task):
            nonlocal solution
            solution = solve_pinball(P, **options, task=task)
            return solution.run

        with thread_budget(P.X):
            self._run_driver(run, total=options["max_iter"], X=P.X, y=P.y)
        n = P.X.shape[0]
        self.duality_gap_ = solution.gap / float((P.h - P.l)[:n].sum())
        return solution.x

    def _highs(self, P):
        x, self.n_iter_ = solve_by_highs(P, self.solver, self.solver_options)
        self.duality_gap_ = None
        return x

    def loss(self, X, y, sample_weight=None):
        """The mean pinball loss of the predictions."""
        r = pinball_loss(self.quantile).value(np.asarray(y), self.predict(X))
        return float(np.average(r, weights=sample_weight))
