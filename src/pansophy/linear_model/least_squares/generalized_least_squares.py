"""Generalised least squares: noise with a known covariance between rows.

For y = A beta + e, A = [1, X], with noise of covariance s^2 R and R known,

    beta = argmin (y - A beta)^T R^-1 (y - A beta)                               (1)
         = argmin |L^-1 y - L^-1 A beta|^2,   R = L L^T                          (2)
    cov(beta) = s^2 (A^T R^-1 A)^-1                                              (3)

(2) is ordinary least squares on whitened rows and is solved as such, to the digits of
QR; R is never inverted. A diagonal R is weighted least squares with weights 1 / R_ii,
and R = I is ordinary. Among linear unbiased estimates (1) has the least variance.

Cost      n^3 / 3 for a full R, n for a diagonal one; then n d^2
Shapes    X (n, d)   y (n,) or (n, t)   R (n, n) or its diagonal (n,)
Refs      [Aitken1936]; [Bjorck1996] ch. 4
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from ...base import host_array
from ...core.arrays.rows import DatasetRows
from ...core.linalg.least_squares import coefficient_scales, least_squares
from ...core.linalg.linalg import singular_values
from ...params import Flag, ParameterError
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    store_coefficients,
    target_columns,
    warn_rank_deficient,
)
from ..inference import FitStatistics, check_summary_exists, regression_summary


def whitening_map(R, n):
    """v -> L^-1 v for R = L L^T, and log det R; R is (n, n), (n,) or None."""
    if R is None:
        return (lambda v: v), 0.0
    R = np.asarray(R, dtype=np.float64)
    if R.shape not in ((n,), (n, n)):
        raise ValueError(
            f"covariance must have shape ({n}, {n}) or ({n},), got {R.shape}."
        )
    if not np.isfinite(R).all():
        raise ValueError("covariance contains NaN or infinity.")
    if R.ndim == 1:
        if not (R > 0).all():
            raise ValueError("every variance in covariance must be above 0.")
        return (lambda v: v / np.sqrt(R)[:, None]), float(np.log(R).sum())
    if not np.allclose(R, R.T, rtol=1e-10, atol=1e-14 * np.abs(R).max()):
        raise ValueError("covariance must be symmetric.")
    try:
        L = scipy.linalg.cholesky(R, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise ValueError(
            "covariance is not positive definite: some combination of rows has no "
            "noise at all."
        ) from None
    solve = lambda v: scipy.linalg.solve_triangular(L, v, lower=True)
    return solve, 2 * float(np.log(np.diagonal(L)).sum())


@dataclass(eq=False, repr=False)
class GeneralizedLeastSquares(AbstractLinearRegressor):
    """Least squares with a known covariance of the noise, up to its scale.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept; otherwise it is 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    noise_variance_ : float or array of shape (n_targets,)
        Maximum-likelihood s^2, of the whitened residuals.
    rank_ : int
    singular_ : array
        Singular values of the whitened [1, X].
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import GeneralizedLeastSquares
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = GeneralizedLeastSquares()
    >>> model = model.fit(X, [2, 3, 5, 4], covariance=[1, 1, 4, 0.25])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.615385]), 1.615385)
    """

    _: KW_ONLY
    fit_intercept: Flag = True
    positive = False  # read by `inference.check_summary_exists`

    _any_scale = True  # `core.linalg.least_squares` scales the columns

    _on_devices = False

    def fit(self, X, y, covariance=None):
        """Minimise eq. (1); covariance is R (n, n), its diagonal (n,) or None (I)."""
        X, y = self._check_training_data(X, y, y_kind="numbers")[:2]
        if isinstance(X, DatasetRows):
            raise ValueError(
                "GeneralizedLeastSquares needs all rows at once: take an array, or "
                "LinearRegression with weights for a table on disk."
            )
        Y, flat = target_columns(y, X)
        n, d = X.shape
        white, self._log_det = whitening_map(covariance, n)
        A, Y = (host_array(self, a).astype(np.float64) for a in (X, Y))
        if self.fit_intercept:
            A = np.column_stack([np.ones(n), A])
        A = white(A)
        Y = white(Y)
        with np.errstate(over="ignore", invalid="ignore"):  # of squares alone
            result = least_squares(A, Y, intercept=False)
        beta = result.coef
        i = int(self.fit_intercept)
        self.rank_ = result.rank - i
        if result.rank < A.shape[1]:
            lost = tuple(j - i for j in result.dropped if j >= i)
            warn_rank_deficient(
                self, result._replace(rank=self.rank_, dropped=lost), n, d
            )
        self.singular_ = singular_values(result.triangle.astype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):  # of squares alone
            self._fit_statistics = self._statistics(result, A, Y)
        variance = result.residual / n
        self.noise_variance_ = float(variance[0]) if flat else variance
        b = beta[0] if i else np.zeros(Y.shape[1])
        store_coefficients(self, X, beta[i:], b, flat)
        return self

    def _statistics(self, solution, A, Y):
        """Sums of squares of the whitened rows, for the summary."""
        n, p = A.shape
        power = solution.power
        if self.fit_intercept:  # what a constant leaves
            power = power - (A[:, 0] @ Y) ** 2 / (A[:, 0] @ A[:, 0])
        unit_errors = None
        if solution.rank == p and n > p:
            unit_errors = coefficient_scales(solution, intercept=False)
        return FitStatistics(
            unit_errors, solution.residual, power, float(n), self.rank_
        )

    def summary(self, *, level=0.95):
        """Coefficients with standard errors from eq. (3), tests and intervals."""
        check_is_fitted(self)
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        check_summary_exists(self, self._fit_statistics)
        return regression_summary(
            self, self._fit_statistics, level=level, log_det=self._log_det
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.multi_output = True
        return tags
