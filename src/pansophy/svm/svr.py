"""Support vector regression with a kernel: errors below epsilon cost nothing.

With costs C_i = C times sample weights and phi the feature map of the kernel,

    minimise  1/2 |w|^2 + sum_i C_i max(0, |y_i - w.phi(x_i) - b| - epsilon)       (1)

The intercept b is not penalised. The dual (see `optim/constraints/smo.py`) has two
multipliers for each row, one for errors above the tube and one for those below; their
difference is `dual_coef_`. Rows inside the tube have none. b is fixed by the rows on
the edge of the tube, or is the middle of the optimal interval if there are none.

epsilon is best about the size of the noise. `suggest_epsilon` takes

    epsilon = 3 s sqrt(log n / n)                                                  (2)

with s the standard deviation of the noise, which is estimated from the mean m_i of the
targets of the k nearest other rows: s^2 = k / (k + 1) mean of (y_i - m_i)^2. Epsilon
falls as rows are added, since more rows average the noise.

Shapes    X (n, d)   y (n,)   dual_coef_ (1, n_support)
Refs      [Drucker1997] [Cherkassky2004] the choice of epsilon; [Chang2011]
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Regressor
from ..distances.neighbor_search import build_index, k_nearest
from ..optim.constraints.smo import DualProblem, group_multipliers
from ..params import Flag, Infinite, NonNegative, ParameterError, Positive, check_count
from .device_rows import answer_like
from .kernel_machine import (
    NOT_SEPARABLE,
    AbstractKernelSum,
    kept_rows,
    largest_diagonal,
    to_dense,
)
from .svc import is_same_support, scaled_start


def regressor_dual(y, bounds, epsilon) -> DualProblem:
    """The dual of eq. (1): variables up to n are of errors above, the others below."""
    n = len(y)
    zero = np.zeros(n)
    return DualProblem(
        np.tile(np.arange(n), 2),
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([zero, -bounds]),
        np.concatenate([bounds, zero]),
        np.zeros(2 * n, dtype=np.int64),
        np.zeros(2 * n),
    )


def checked_regression_rows(model, X, y, sample_weight):
    """Rows of weight above 0: all X, their numbers, targets and weights."""
    X, y, w = model._check_machine_data(X, y, sample_weight, "number")
    rows, w = kept_rows(X, w)
    return X, rows, np.asarray(y, dtype=float)[rows], w


@dataclass(eq=False, repr=False)
class SVR(Regressor, AbstractKernelSum):
    """Support vector regression with a kernel. See the module text.

    Parameters
    ----------
    kernel, degree, gamma, coef0, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of y.
    C : float, default=1.0
        Cost of an error outside the tube; inf asks for none.
    epsilon : float, default=0.1
        Half-width of the tube in which errors cost nothing.
    warm_start : bool, default=False
        Whether a fit to the same rows starts from the last multipliers, as along a
        path of C.

    Attributes
    ----------
    support_ : array of int, shape (n_support,)
    support_vectors_ : array of shape (n_support, d)
    n_support_ : array of int, shape (1,)
    dual_coef_ : array of shape (1, n_support)
    intercept_ : array of shape (1,)
    coef_ : array of shape (1, d)
        For the linear kernel.
    dual_objective_ : float
        The dual that was minimised: minus eq. (1) at the optimum.
    n_iter_ : int
        Pair steps.
    fit_status_ : int
        0 if converged, 1 if `max_iter` was reached, steps no longer helped, or the
        fit was interrupted.
    history_ : dict of arrays
        "objective" and "violation" after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import SVR
    >>> X = np.arange(4.0)[:, None]
    >>> model = SVR(kernel="linear", epsilon=0.5).fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> model.dual_coef_.round(6), model.intercept_.round(6)
    (array([[-0.222222,  0.222222]]), array([0.5]))
    """

    _: KW_ONLY
    C: Positive | Infinite = 1.0
    epsilon: NonNegative = 0.1
    warm_start: Flag = False

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and numbers y."""
        X, rows, y, w = checked_regression_rows(self, X, y, sample_weight)
        bounds = self.C * w
        problem = regressor_dual(y, bounds, self.epsilon)
        options = {"beta": self._previous_multipliers(X, rows, bounds)}
        if math.isinf(self.C):
            options["limit"] = self._least_dual(X, y, w)
        run = self._solve_sum(X, rows, w, problem, float(bounds.max()), **options)
        if run.reason == "unbounded":
            raise ValueError(
                f"C=inf asks for errors of at most epsilon={self.epsilon}, which no "
                "function of this kernel has: take a finite C."
            )
        s = run.state
        scores = problem.target - s.products[problem.row]
        intercept = group_multipliers(scores, s.beta, problem)[0]
        self._store_machine(X, rows, problem.row_sums(s.beta, len(rows)), intercept)
        self._fitted_C = float(self.C)
        return self

    def predict(self, X):
        """The target of each row."""
        return answer_like(self._raw_decision(X), X)

    def _least_dual(self, X, y, w):
        """Dual below which errors of at most epsilon cannot be had."""
        self._kernel_spec(X, w)
        largest = (
            np.diag(X).max() if self._precomputed else largest_diagonal(self._spec, X)
        )
        size = max(float(np.ptp(y)), 1e-300)
        return -0.5 * NOT_SEPARABLE * size**2 / max(float(largest), 1e-300)

    def _previous_multipliers(self, X, rows, bounds):
        """Multipliers of the last fit if it was to the same rows."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        if not is_same_support(self, X) or not np.isin(self.support_, rows).all():
            return None
        coef = np.zeros(len(rows))
        coef[np.searchsorted(rows, self.support_)] = to_dense(self.dual_coef_)[0]
        coef = scaled_start(coef, bounds, self.C / self._fitted_C)
        return np.concatenate([np.maximum(coef, 0.0), np.minimum(coef, 0.0)])


def suggest_epsilon(X, y, *, noise=None, n_neighbors=3) -> float:
    """A value of epsilon for `SVR` from the noise of the targets; see the module text.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    noise : float or None
        Standard deviation of the noise, if it is known.
    n_neighbors : int, default=3
        k, the neighbours whose mean predicts a row.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import suggest_epsilon
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 1))
    >>> y = np.sin(6 * X[:, 0]) + rng.normal(scale=0.5, size=1000)
    >>> round(suggest_epsilon(X, y, noise=0.5), 3), round(suggest_epsilon(X, y), 3)
    (0.125, 0.129)
    """
    X = np.asarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != (len(X),) or len(X) < 2:
        raise ValueError(
            "suggest_epsilon takes X (n, d) and y (n,) of at least two rows, got "
            f"{X.shape} and {y.shape}."
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("X or y of suggest_epsilon contains NaN or infinity.")
    n = len(y)
    if noise is None:
        k = min(check_count("n_neighbors", n_neighbors), n - 1)
        _, near = k_nearest(build_index(X), None, k)
        residual = y - y[near].mean(axis=1)
        # a residual has the noise of its row and 1/k of that of its neighbours
        variance = k / (k + 1) * float(np.mean(residual**2))
        noise = math.sqrt(variance)
    elif not noise >= 0:
        raise ParameterError(f"noise must be a number of at least 0, got {noise}.")
    return 3 * float(noise) * math.sqrt(math.log(n) / n)
