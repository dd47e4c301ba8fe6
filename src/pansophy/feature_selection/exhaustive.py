"""Exhaustive feature selection: every subset of columns, by cross-validation.

    S* = argmax over the 2^d - 1 non-empty sets S of  L(S)                       (1)

with L of `sequential.py`. Ties go to the smaller set, then to the earlier columns. More
than `limit` sets are refused; for least squares `SubsetSelector` does the same for 40
columns without visiting all of them.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..params import Count, Jobs
from ..typing import Fittable, Splits
from .selector import AbstractSelector
from .sequential import subset_score


def _count_subsets(d, low, high):
    """Number of sets that have from low to high of d columns."""
    return sum(math.comb(d, k) for k in range(low, high + 1))


@dataclass(eq=False, repr=False)
class ExhaustiveSelector(AbstractSelector):
    """The subset of columns with the best cross-validated score.

    Parameters
    ----------
    estimator : estimator or None
        What is fitted to the columns; it is not changed. None for least squares.
    min_features : int, default=1
        Smallest set.
    max_features : int or None
        Largest set; None for all columns.
    limit : int, default=65536
        Most sets that may be scored; more are refused before anything is fitted.
    scoring : str, function or None
        The score; None for the estimator's own.
    cv : int, splitter or iterable, default=5
        The folds, the same for all sets.
    n_jobs : int or None
        Folds scored at once.

    Attributes
    ----------
    support_ : array of shape (d,)
    score_ : float
        The score of the best set.
    scores_ : array of shape (m,)
    subsets_ : array of shape (m, d)
        Every set, and its score.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import ExhaustiveSelector
    >>> from pansophy.linear_model import LinearRegression
    >>> t, y = np.linspace(-9, 9, 40), np.tile([-1.0, 1.0], 20)
    >>> X = np.column_stack([t, t + y, np.cos(t)])  # no column helps alone
    >>> ExhaustiveSelector(LinearRegression()).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    min_features: Count = 1
    max_features: Count | None = None
    limit: Count = 65536
    scoring: str | Callable | None = None
    cv: Splits = 5
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Score every subset."""
        X, _ = self._check_training_data(X, accept_sparse="csc")
        d = X.shape[1]
        low = min(self.min_features, d)
        high = min(self.max_features or d, d)
        count = _count_subsets(d, low, high)
        if count > self.limit:
            raise ValueError(
                f"{d} columns have {count} subsets, more than limit={self.limit} of "
                "ExhaustiveSelector; lower max_features or search greedily with "
                "SequentialFeatureSelector."
            )
        score = subset_score(
            self.estimator, X, y, self.cv, scoring=self.scoring, n_jobs=self.n_jobs
        )
        masks = np.zeros((count, d), bool)
        subsets = (
            s for k in range(low, high + 1) for s in itertools.combinations(range(d), k)
        )
        for mask, columns in zip(masks, subsets, strict=True):
            mask[list(columns)] = True
        self.scores_ = np.array([score(mask) for mask in masks])
        self.subsets_ = masks
        best = int(np.argmax(self.scores_ > self.scores_.max() - 1e-12))
        self.support_ = masks[best]
        self.score_ = float(self.scores_[best])
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags
