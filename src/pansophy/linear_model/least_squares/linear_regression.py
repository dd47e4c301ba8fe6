"""Ordinary least squares: linear regression without a penalty.

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2                                    (1)

At the minimum the residuals are orthogonal to the columns of X.
`core.linalg.least_squares` solves it from moments in one pass with refinement from the
rows, or by QR when the columns are too nearly dependent for that: the accuracy of QR at
the cost of the normal equations. Where columns are linearly dependent to rounding, a
warning names them and the B of smallest norm is returned. That B is X^+ y with the
pseudo-inverse of the centred X, and the limit of ridge regression as its penalty falls
to 0; `lstsq` computes it without an intercept, as a function of arrays.

If y - b - B^T x is Normal with variance v, B and b are the maximum-likelihood
estimates, and that of v is J / sum w (`noise_variance_`). `summary` gives standard
errors and tests (`linear_model.inference`).

Time O(n d^2), memory one block beyond X. A weight k is k copies of its row. X may be
an array, a sparse matrix, a torch tensor or the path of a Parquet file; a file is read
twice, or once more when the columns are nearly dependent, with the same digits. An X in
Fortran order gives the digits of C order up to a million entries; beyond, sums are
taken in another order, and the last digits may differ.

Shapes    X (n, d)   y (n,) or (n, t)   B (d, t)   b (t,)
Refs      [Bjorck1987]; [Bjorck1996]; [LawsonHanson1974] for positive=True
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import check_sample_weight
from ...core.linalg.least_squares import coefficient_scales, least_squares
from ...core.linalg.linalg import singular_values
from ...core.loops import threads
from ...params import Flag, Jobs, NonNegative, ParameterError
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    checked_rows,
    is_wide_sparse,
    row_major_if_small,
    solve_lsmr,
    store_coefficients,
    target_columns,
    warn_rank_deficient,
)
from ..bayesian.predictive_distribution import PredictiveDistribution
from ..coefficient_tests import CoefficientCovariance, CoefficientTests
from ..inference import (
    COVARIANCE_TYPES,
    FitStatistics,
    check_summary_exists,
    gaussian_log_likelihood,
    refit_same_rows,
    regression_summary,
    robust_covariance,
    unit_covariance,
)


@dataclass(eq=False, repr=False)
class LinearRegression(CoefficientTests, AbstractLinearRegressor):
    """Ordinary least squares, accurate and in one or two passes over the data.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit b; otherwise it is 0.
    copy_X : bool, default=True
        scikit-learn's permission to overwrite X. X is never copied nor overwritten,
        so both values give the same.
    tol : float or None, default=None
        None decides what is zero by rounding alone. A number is scikit-learn 1.9's
        rule: singular values of X below `tol` times the largest are cut. For a
        sparse X of more than 1000 columns it is the tolerance of LSMR (None: 1e-10).
        scikit-learn's default of 1e-6 silently loses well determined directions.
    n_jobs : int or None, default=None
        Threads to use at most; None and -1 for all cores.
    positive : bool, default=False
        Whether to constrain the coefficients to be at least 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    rank_ : int
        Rank of the (centred) X; not for the iterative solver.
    singular_ : array of shape (min(n, n_features),)
        Singular values of the (centred) X; not for the iterative solver.
    noise_variance_ : float or array of shape (n_targets,)
        Maximum-likelihood variance of the noise: mean squared residual.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LinearRegression().fit(X, [1, 2, 2, 4])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.9]), 0.9)
    >>> model.summary()["std error"].round(6)
    array([0.494975, 0.264575])
    """

    _: KW_ONLY
    fit_intercept: Flag = True
    copy_X: Flag = True
    tol: NonNegative | None = None
    n_jobs: Jobs = None
    positive: Flag = False

    _any_scale = _any_target = True  # `core.linalg.least_squares` scales the columns

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        X = row_major_if_small(X)
        Y, flat = target_columns(y, X)
        with threads.limit_threads(self.n_jobs):
            solve = (
                self._solve_iteratively if is_wide_sparse(X) else self._solve_directly
            )
            with np.errstate(over="ignore", invalid="ignore"):  # of squares alone
                B, b = solve(X, Y, w)
        store_coefficients(self, X, B, b, flat)
        variance = self._fit_statistics.residual_ss / self._fit_statistics.total_weight
        self.noise_variance_ = float(variance[0]) if flat else variance
        return self

    def _solve_directly(self, X, Y, w):
        result = least_squares(
            X,
            Y,
            w,
            intercept=self.fit_intercept,
            tol=self.tol,
            positive=self.positive,
        )
        n, d = X.shape
        determined = not self.positive and result.rank == d
        unit_errors = None
        if determined and result.weight > d + self.fit_intercept:
            unit_errors = coefficient_scales(result, intercept=self.fit_intercept)
        self._fit_statistics = FitStatistics(
            unit_errors,
            result.residual,
            result.power,
            result.weight,
            result.rank,
            None if unit_errors is None else np.asarray(result.triangle, float),
            None if unit_errors is None else np.asarray(result.mean, float),
        )
        if not self.positive:
            self.rank_ = result.rank
            self.singular_ = np.zeros(min(n, d))
            s = singular_values(result.triangle.astype(np.float64, copy=False))
            self.singular_[: len(s)] = s
            warn_rank_deficient(self, result, n, d)
        return result.coef, result.intercept

    def _solve_iteratively(self, X, Y, w):
        if self.positive:
            raise ValueError(
                "positive=True takes a sparse X of at most 1000 columns, got "
                f"{X.shape[1]}."
            )
        B, b, _ = solve_lsmr(
            X,
            Y,
            w,
            alpha=np.zeros(Y.shape[1]),
            intercept=self.fit_intercept,
            tol=1e-10 if self.tol is None else self.tol,
            max_iter=None,
            name="LinearRegression",
        )
        r = Y - X @ B - b
        square = lambda a: np.sum(a * a if w is None else w[:, None] * a * a, axis=0)
        center = np.average(Y, axis=0, weights=w) if self.fit_intercept else 0.0
        weight = float(len(Y) if w is None else np.sum(w))
        self._fit_statistics = FitStatistics(
            None, square(r), square(Y - center), weight, None
        )
        return B, b

    def summary(
        self, X=None, y=None, sample_weight=None, *, cov_type="nonrobust", level=0.95
    ):
        """Coefficients with standard errors, tests and intervals, as a table.

        Parameters
        ----------
        X, y, sample_weight : as they were given to `fit`
            Needed for the robust kinds only, which pass over the rows again.
        cov_type : {"nonrobust", "HC0", "HC1", "HC2", "HC3"}, default="nonrobust"
            "nonrobust" assumes that all rows have the same noise; the others do not.
        level : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        Summary
            Prints as a table; `summary["p"]`, `summary["R2"]` and so on are numbers,
            and `summary.to_frame()` a data frame. Weights count rows: for weights
            that are inverse variances take `GeneralizedLeastSquares`.
        """
        check_is_fitted(self)
        if cov_type not in COVARIANCE_TYPES:
            raise ParameterError(
                f"cov_type must be one of {', '.join(COVARIANCE_TYPES)}, got "
                f"{cov_type!r}."
            )
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        check_summary_exists(self, self._fit_statistics)
        V = None
        if cov_type != "nonrobust":
            if X is None or y is None:
                raise ValueError(
                    f"cov_type={cov_type!r} needs the rows again: call "
                    f"summary(X, y, cov_type={cov_type!r})."
                )
            V = self._robust(X, y, sample_weight, cov_type)
        return regression_summary(
            self, self._fit_statistics, level=level, covariance=V, cov_type=cov_type
        )

    def _robust(self, X, y, w, cov_type):
        X, Y, w = self._rows(X, y, w)
        B = np.atleast_2d(arrays.to_numpy(self.coef_)).T.astype(np.float64)
        b = np.full(B.shape[1], arrays.to_numpy(self.intercept_), dtype=np.float64)
        if Y.shape[1] != B.shape[1]:
            raise ValueError("the rows given to summary are not those given to fit.")
        fit = refit_same_rows(self, X, Y, w, B, b)
        return robust_covariance(
            X, Y, w, B, b, fit, intercept=self.fit_intercept, cov_type=cov_type
        )

    def _rows(self, X, y, w):
        X = self._check_new_data(X, accept_sparse="csr")
        like = X if not isinstance(X, DatasetRows) and arrays.is_foreign(X) else None
        y = np.asarray(y, dtype=np.float64) if like is None else y
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but y has {len(y)} entries.")
        Y, _ = target_columns(y if like is None else arrays.asarray(y, X), X)
        return X, Y, check_sample_weight(w, X)

    def _coefficient_covariance(self) -> CoefficientCovariance:
        statistics = self._fit_statistics
        check_summary_exists(self, statistics)
        if self.coef_.ndim == 2:
            raise ValueError(
                "tests of coefficients are for one target; summary() has a table for "
                "each."
            )
        unit = unit_covariance(statistics, intercept=self.fit_intercept)
        df = statistics.total_weight - len(unit)
        variance = float(statistics.residual_ss[0]) / df
        coef = arrays.to_numpy(self.coef_).astype(float)
        if self.fit_intercept:
            coef = np.append(float(self.intercept_), coef)
        return CoefficientCovariance(coef, variance * unit, df, variance)

    def log_likelihood(self, X=None, y=None, sample_weight=None):
        """log p(y | X) under normal noise of `noise_variance_`, one number per target.

        Without arguments, that of the rows of `fit`.
        """
        check_is_fitted(self)
        residual = self._fit_statistics.residual_ss
        N = self._fit_statistics.total_weight
        variance = self.noise_variance_
        if X is not None:
            X, Y, w = self._rows(X, y, sample_weight)
            R = arrays.to_numpy(Y) - arrays.to_numpy(self.predict(X)).reshape(Y.shape)
            w = np.ones(len(R)) if w is None else arrays.to_numpy(w)
            residual = w @ R**2
            N = float(w.sum())
        out = gaussian_log_likelihood(residual, N, variance)
        return float(out[0]) if self.coef_.ndim == 1 else out

    def predict_dist(self, X) -> PredictiveDistribution:
        """The Normal distribution N(x w + b, noise_variance_) of the targets.

        It is that of maximum likelihood: the coefficients are taken as known.
        `BayesianLinearRegression.predict_dist` has their uncertainty as well.

        Examples
        --------
        >>> import numpy as np
        >>> from pansophy.linear_model import LinearRegression
        >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
        >>> model = LinearRegression().fit(X, [2, 3, 5, 6])
        >>> predicted = model.predict_dist([[5.0]])
        >>> predicted.mean.round(6), (predicted.std**2).round(6)
        (array([7.5]), array([0.05]))
        """
        mean = arrays.to_numpy(self.predict(X))
        scale = np.sqrt(np.asarray(self.noise_variance_, dtype=float))
        return PredictiveDistribution(mean, np.broadcast_to(scale, mean.shape))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class LeastSquares(NamedTuple):
    """The least-squares solution of smallest norm, without an intercept."""

    coef: Any  # B
    residual: Any  # sum of squared residuals, per target
    rank: int
    singular: np.ndarray  # singular values of X, falling
    dropped: tuple[int, ...]  # columns that are 0 or depend on the others


def lstsq(X, y, *, sample_weight=None, tol=None) -> LeastSquares:
    """Least squares of smallest norm, argmin |y - X B|^2, whatever the rank of X.

    Parameters
    ----------
    X : array, sparse matrix, tensor or path of a table, of shape (n, d)
    y : array of shape (n,) or (n, t)
    sample_weight : array of shape (n,) or None, default=None
    tol : float or None, default=None
        Singular values below `tol` times the largest are cut; None decides what is
        zero by rounding alone.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    >>> found = lstsq(X, np.array([6.0, 2.0]))
    >>> found.coef.round(6), found.rank
    (array([0.666667, 0.666667, 1.333333]), 2)
    """
    X, Y, w, flat = checked_rows(X, y, sample_weight)
    result = least_squares(X, Y, w, intercept=False, tol=tol)
    s = singular_values(result.triangle.astype(np.float64, copy=False))
    s = s[: min(X.shape)]
    B = result.coef[:, 0] if flat else result.coef
    r = result.residual[0] if flat else result.residual
    if arrays.is_foreign(X):
        B = arrays.asarray(B, X)
    return LeastSquares(B, r, result.rank, s, result.dropped)


def add_intercept(X):
    """X with a first column of ones, of the library, dtype and sparsity of X.

    Examples
    --------
    >>> add_intercept(np.array([[2.0], [3.0]]))
    array([[1., 2.], [1., 3.]])
    """
    if sp.issparse(X):
        ones = np.ones((X.shape[0], 1), X.dtype)
        return sp.hstack([sp.csr_array(ones), X], format="csr")
    if not arrays.is_foreign(X):
        X = np.asarray(X)
    xp = arrays.namespace(X)
    X = arrays.as_float(X)
    return xp.concat([xp.ones_like(X[:, :1]), X], axis=1)
