"""Recursive least squares: least squares that is updated row by row.

With K the gain, R the noise variance and P the covariance of theta, a row (x, y) gives

    K = P x (x^T P x + R)^-1,   theta <- theta + K (y - x^T theta)               (1)
    P <- (I - K x^T) P (I - K x^T)^T + K R K^T      any gain (Joseph)            (2)
      =  (I - K x^T) P                              at the gain (1) only         (3)
    P^-1 <- P^-1 + x R^-1 x^T                       information                  (4)

`rls_update` is one such step in any of the forms, for one row or several at once. The
estimator keeps the triangular factor of (4) (`square_root_information.py`), which stays
symmetric and positive and needs no initial P0: with an infinite one the coefficients
are those of batch least squares after every call. A factor f below 1 forgets: a row of
age k weighs f^k.

Cost      d^2 a row, whatever number has been seen; memory d^2
Shapes    x (d,) or X (m, d)   theta (d,)   P (d, d)
Refs      [Bierman1977]; [Haykin2002] forgetting
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...params import Flag, Infinite, Positive, number_rule
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    store_coefficients,
    target_columns,
)
from . import square_root_information as inf

ForgettingFactor = Annotated[
    float, number_rule("a number above 0, at most 1", 0, 1, open_low=True)
]


class RLSState(NamedTuple):
    """theta and its covariance P."""

    theta: np.ndarray
    P: np.ndarray


def rls_update(
    state: RLSState,
    X,
    y,
    R=1.0,
    *,
    form: Literal["joseph", "short", "information"] = "joseph",
    gain=None,
) -> RLSState:
    """Eq. (1) and one of (2) to (4) for rows X (m, d), noise R a number or (m, m).

    A gain other than that of eq. (1) may be given with the Joseph form alone.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model.least_squares.recursive_least_squares import (
    ...     RLSState,
    ...     rls_update,
    ... )
    >>> state = RLSState(np.zeros(2), 100.0 * np.eye(2))
    >>> for x, y in zip([1, 2, 3, 4], [2, 3, 5, 4]):
    ...     state = rls_update(state, [[x, 1.0]], [y])
    >>> state.theta.round(6)
    array([0.805797, 1.481802])
    """
    theta, P = state
    X = np.atleast_2d(np.asarray(X, float))
    y = np.atleast_1d(np.asarray(y, float))
    R = np.asarray(R, float) * np.eye(len(X)) if np.ndim(R) == 0 else np.asarray(R)
    if gain is not None and form != "joseph":
        raise ValueError(f"form={form!r} holds at the optimal gain only: use 'joseph'.")
    K = np.linalg.solve(X @ P @ X.T + R, X @ P).T if gain is None else gain
    theta = theta + K @ (y - X @ theta)
    if form == "information":
        return RLSState(
            theta, np.linalg.inv(np.linalg.inv(P) + X.T @ np.linalg.solve(R, X))
        )
    A = np.eye(len(P)) - K @ X
    return RLSState(theta, A @ P @ A.T + K @ R @ K.T if form == "joseph" else A @ P)


@dataclass(eq=False, repr=False)
class RecursiveLeastSquares(AbstractLinearRegressor):
    """Least squares that learns from a stream, row by row or block by block.

    Parameters
    ----------
    forgetting : float, default=1.0
        f: the weight of a row falls by this factor with each row after it.
    prior_variance : float, default=inf
        P0 = prior_variance I of eq. (1); inf for none, which is least squares.
    noise_variance : float, default=1.0
        R of eq. (1): with a finite prior their ratio is the ridge penalty.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which has no prior.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    covariance_ : array of shape (d, d)
        P, or NaN while the rows leave coefficients open.
    rank_ : int
        Directions that the rows and the prior determine.
    weight_ : float
        Rows seen, after forgetting.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.linear_model import RecursiveLeastSquares
    >>> model = RecursiveLeastSquares()
    >>> for x, y in zip([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 4.0]):
    ...     model = model.partial_fit([[x]], [y])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.8]), 1.5)
    """

    forgetting: ForgettingFactor = 1.0
    _: KW_ONLY
    prior_variance: Positive | Infinite = np.inf
    noise_variance: Positive = 1.0
    fit_intercept: Flag = True

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and targets y from scratch; the first row is the oldest."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        d = X.shape[1]
        root = np.full(d, np.sqrt(self.noise_variance / self.prior_variance))
        return self._learn(
            inf.prior_information(root, np.zeros(d), self.fit_intercept), X, y, w
        )

    def partial_fit(self, X, y, sample_weight=None):
        """Continue with further rows."""
        if not hasattr(self, "triangle_"):
            return self.fit(X, y, sample_weight)
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr", reset=False
        )
        info = inf.SquareRootInformation(
            self.triangle_, self.weight_, self.fit_intercept
        )
        return self._learn(info, X, y, w)

    def _learn(self, info, X, y, w):
        Y, _ = target_columns(y, X)
        info = inf.add_information(info, X, Y[:, 0], w, self.forgetting)
        coef, b, self.rank_ = inf.solve_information(info)
        store_coefficients(self, X, coef[:, None], np.array([b]), y_is_1d=True)
        self.triangle_ = info.R
        self.weight_ = info.weight
        return self

    @property
    def covariance_(self):
        d = self.n_features_in_
        info = inf.SquareRootInformation(
            self.triangle_, self.weight_, self.fit_intercept
        )
        if self.rank_ < d:
            return np.full((d, d), np.nan)
        return self.noise_variance * inf.coefficient_covariance(info)
