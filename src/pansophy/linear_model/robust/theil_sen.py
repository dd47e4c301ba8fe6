"""Theil-Sen regression: the spatial median of the fits to all small subsets of rows.

Every subset of k rows gives coefficients by least squares; their spatial median

    argmin over c of sum_s |c - c_s|                                             (1)

stays near the good ones however bad the others are, as long as fewer than half of the
subsets contain an outlier: with n rows, a share of about 1 - 2^(-1/k) of outliers
is tolerated. With one column and no intercept eq. (1) is a median of slopes.

Of more than `max_subpopulation` subsets as many are drawn at random. Eq. (1) is convex
and solved by Newton's method with |c| rounded off within a 10^-9 share of the spread.

Time O(m k p^2) for m subsets.

Shapes    c (p,), intercept first   k >= p
Refs      [Theil1950] [Sen1968] [Dang2008] several columns
"""

import itertools
import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import comb

from ...core.drivers.iterate import Result
from ...core.loops import threads
from ...core.random import make_rng
from ...optim import newton
from ...params import Count, Flag, Jobs, NonNegative, Positive, Verbosity
from ...predictors.abstract_linear import AbstractLinearRegressor, store_coefficients
from ...typing import Seed
from .random_subsets import draw_row_subsets, least_squares_of_subsets


class MedianState(NamedTuple):
    """An iterate and its mean distance to the points."""

    position: np.ndarray
    objective: float


def spatial_median(C, *, max_iter=300, tol=1e-3):
    """Eq. (1) for the rows of C; returns a `core.drivers.iterate.Result`.

    tol bounds the slope of the mean distance, which is at most 1. Rows whose squares
    overflow or vanish are scaled by a power of 2.
    """
    largest = float(np.abs(C).max(initial=0.0))
    if largest > 1e100 or 0 < largest < 1e-100:
        unit = 2.0 ** math.floor(math.log2(largest))
        run = spatial_median(C / unit, max_iter=max_iter, tol=tol)
        state = run.state
        return run._replace(
            state=MedianState(state.position * unit, state.objective * unit)
        )
    start = np.median(C, axis=0)
    distance = np.sqrt(np.sum((C - start) ** 2, axis=1))
    soft = 1e-9 * float(np.median(distance))
    if soft == 0:  # half of the rows are at this point
        return Result(MedianState(start, float(distance.mean())), 1, "tolerance", {})

    def parts(c):
        D = c - C
        size = np.sqrt(np.sum(D * D, axis=1) + soft * soft)
        return D / size[:, None], size

    def mean_distance(c):
        U, size = parts(c)
        return float(size.mean()), U.mean(axis=0)

    def hessian(c):
        U, size = parts(c)
        H = -(U.T / size) @ U / len(C)
        H[np.diag_indices(len(H))] += np.mean(1 / size)
        return H

    return newton(mean_distance, hessian, start, max_iter=max_iter, tol=tol)


def breakdown_point(n, k):
    """The share of outliers among n rows that subsets of k rows tolerate."""
    return 1 - (0.5 ** (1 / k) * (n - k + 1) + k - 1) / n


@dataclass(eq=False, repr=False)
class TheilSenRegressor(AbstractLinearRegressor):
    """Linear regression by the spatial median of fits to small subsets.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_subpopulation : float, default=1e4
        Most subsets; if there are more, this many are drawn at random.
    n_subsamples : int or None, default=None
        k, rows of a subset; None is the least possible, which is the most robust.
    max_iter : int, default=300
        Most iterations of the spatial median.
    tol : float, default=1e-3
        Stop when the slope of the mean distance is at most this.
    random_state : int, RandomState, Generator or None, default=None
        Draws the subsets.
    n_jobs : int or None, default=None
        Most threads to use.
    verbose : bool, default=False
        True shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    breakdown_ : float
        Share of outliers that the fit tolerates.
    n_iter_ : int
        Iterations of the spatial median.
    n_subpopulation_ : int
        Subsets that were fitted.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import TheilSenRegressor
    >>> X = np.arange(7.0)[:, None]
    >>> model = TheilSenRegressor().fit(X, [1, 3, 5, 7, 9, 11, 500])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([2.]), 1.0)
    """

    _: KW_ONLY
    fit_intercept: Flag = True
    max_subpopulation: Positive = 1e4
    n_subsamples: Count | None = None
    max_iter: Count = 300
    tol: NonNegative = 1e-3
    random_state: Seed = None
    n_jobs: Jobs = None
    verbose: Verbosity = False

    _tensors = False

    def fit(self, X, y):
        """Fit to rows X and targets y."""
        X, y, _ = self._check_training_data(X, y, y_kind="number")
        X = require_numpy_rows(self, X)
        y = np.asarray(y, dtype=np.float64)
        n, d = X.shape
        k = self._subset_size(n, d)
        index = self._subsets(n, k)
        with threads.limit_threads(self.n_jobs):
            C = least_squares_of_subsets(
                X.astype(np.float64), y, index, intercept=self.fit_intercept
            )
            C = C[np.isfinite(C).all(axis=1)]
            if C.shape[1] == 1:
                c = np.median(C, axis=0)
                self.n_iter_ = 1
            else:
                run = self._run_driver(
                    lambda task: spatial_median(
                        C, max_iter=self.max_iter, tol=self.tol
                    ),
                    total=self.max_iter,
                    X=X,
                    y=y,
                )
                c = run.state.position
        self.breakdown_ = breakdown_point(n, k)
        self.n_subpopulation_ = len(index)
        first = int(self.fit_intercept)
        b = c[:1] if first else np.zeros(1)
        store_coefficients(self, X, c[first:, None], b, True)
        return self

    def _subset_size(self, n, d):
        """k, the rows of a subset; raises where it is impossible."""
        least = d + int(self.fit_intercept)
        if self.n_subsamples is None:
            return min(least, n)
        k = self.n_subsamples
        if k > n:
            raise ValueError(
                f"Invalid parameter since n_subsamples > n_samples ({k} > {n})."
            )
        if k < min(least, n):
            raise ValueError(
                f"Invalid parameter since n_features{'+1' * self.fit_intercept} > "
                f"n_subsamples ({least} > {k}): n_subsamples rows have to determine "
                "the coefficients."
            )
        return k

    def _subsets(self, n, k):
        every = comb(n, k)
        limit = max(1, int(self.max_subpopulation))
        if every <= limit:
            return np.array(list(itertools.combinations(range(n), k)), dtype=np.intp)
        return draw_row_subsets(make_rng(self.random_state), n, k, limit)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def require_numpy_rows(model, X):
    """X if it is a NumPy array; raises otherwise."""
    if not isinstance(X, np.ndarray):
        raise TypeError(f"{type(model).__name__} takes a NumPy array.")
    return X
