"""Ordinary least squares: the plane closest to the targets.

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2                                    (1)

The minimum is where the residuals are orthogonal to the columns of X. It is found in
`core.least_squares`: moments in one pass and refinement from the rows, or a QR when
the columns are too nearly dependent for that, so the coefficients have the digits
that QR gives and cost what the normal equations cost. Where columns depend on each
other to rounding, a warning names them and B of the smallest norm is returned.

Time O(n d^2), memory one block beyond X. A weight k is k copies of its row. X may be
an array, a sparse matrix, a torch tensor or the path of a Parquet file; a file is read
twice, or once more when the columns are nearly dependent, with the same digits.

Shapes    X (n, d)   y (n,) or (n, t)   B (d, t)   b (t,)
Refs      [Bjorck1987]; [Bjorck1996]; [LawsonHanson1974] for positive=True
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core import threads
from ..core.least_squares import least_squares
from ..core.linalg import singular_values
from ..params import Flag, Jobs, NonNegative
from .linear import (
    AbstractLinearRegressor,
    solve_lsmr,
    store,
    target_columns,
    warn_rank,
    wide_sparse,
)


@dataclass(eq=False, repr=False)
class LinearRegression(AbstractLinearRegressor):
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
        Whether to hold the coefficients at 0 or above.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    rank_ : int
        Rank of the (centred) X; not for the iterative solver.
    singular_ : array of shape (min(n, n_features),)
        Singular values of the (centred) X; not for the iterative solver.
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
    """

    _: KW_ONLY
    fit_intercept: Flag = True
    copy_X: Flag = True
    tol: NonNegative | None = None
    n_jobs: Jobs = None
    positive: Flag = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._begin(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        Y, flat = target_columns(y, X)
        with threads.limited(self.n_jobs):
            B, b = (self._iterative if wide_sparse(X) else self._direct)(X, Y, w)
        store(self, X, B, b, flat)
        return self

    def _direct(self, X, Y, w):
        found = least_squares(
            X,
            Y,
            w,
            intercept=self.fit_intercept,
            tol=self.tol,
            positive=self.positive,
        )
        if not self.positive:
            n, d = X.shape
            self.rank_ = found.rank
            self.singular_ = np.zeros(min(n, d))
            s = singular_values(found.triangle)
            self.singular_[: len(s)] = s
            warn_rank(self, found, n, d)
        return found.coef, found.intercept

    def _iterative(self, X, Y, w):
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
        return B, b

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
