"""Univariate filters: columns scored one by one by their relation to the target.

    correlation   |corr(x_j, y)|; for classes the correlation ratio, the share of the
                  standard deviation of x_j that class means explain              (1)
    information   I(b(x_j); c) = sum p(b, c) log p(b, c) / (p(b) p(c)), in nats,  (2)
                  with b the quantile bins of the column, c those of y or its classes

Both are cheap and have two weaknesses: they keep copies of a good column, and they miss
columns that help only together. Each filter checks for both and warns: of kept columns
that nearly repeat each other, and of a dropped column whose product with another one is
informative (XOR).

Shapes    X (n, d)   y (n,)   scores (d,)
Refs      [Guyon2003]; [CoverThomas2006] for (2)
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ..core.numerics import safe_divide
from ..distributions.information import information
from ..params import Count, Fraction, NonNegative, number_rule
from .selector import AbstractSelector, checked_n_features, is_continuous_target

DUPLICATE_CORRELATION = 0.999  # above this two columns count as copies
MAX_PAIRED_COLUMNS = 60  # dropped columns up to which their products are checked
INFORMATIVE_PAIR = 0.3  # score of a product above which a warning is given


Bins = Annotated[
    int, number_rule("a whole number from 1 to 10000", 1, 10_000, whole=True)
]


class FilterWarning(UserWarning):
    """A filter kept copies, or dropped columns that help together."""


def _varying_columns(X):
    """Mask of the columns that hold more than one value, (d,)."""
    return (X[1:] != X[0]).any(axis=0)


def _centred_unit_columns(X, w):
    """Columns divided by their largest entry, less their means: no square overflows."""
    size = np.abs(X).max(axis=0)
    x = X / np.where(size > 0, size, 1.0)
    return x - np.average(x, axis=0, weights=w)


def _absolute_correlation(X, y, w=None):
    """Eq. (1) for numbers y; 0 for a constant column."""
    w = np.ones(len(X)) if w is None else w
    x = _centred_unit_columns(X, w)
    t = _centred_unit_columns(y, w)
    size = np.sqrt((w @ (x * x)) * (w @ (t * t)))
    return np.abs(safe_divide((w * t) @ x, size))


def _correlation_ratio(X, codes, w=None):
    """Eq. (1) for classes 0..k-1."""
    w = np.ones(len(X)) if w is None else w
    x = _centred_unit_columns(X, w)
    k = codes.max() + 1
    mass = np.bincount(codes, weights=w, minlength=k)
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, codes, x * w[:, None])
    between_classes = np.sum(safe_divide(sums**2, mass[:, None] + 0 * sums), axis=0)
    return np.sqrt(np.clip(safe_divide(between_classes, w @ (x * x)), 0, 1))


def quantile_bins(x, n_bins, w=None):
    """Codes of x by quantile bins; equal numbers share a bin."""
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    edges = np.unique(np.quantile(x, inner, weights=w, method="inverted_cdf"))
    return np.searchsorted(edges, x, side="right")


def mutual_information_of_codes(a, b, w=None):
    """Eq. (2) between two arrays of codes."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0 if w is None else w)
    return float(information.mutual_information(table / table.sum()))


def _count_used_codes(codes, w=None):
    """The number of different codes of rows with weight above 0."""
    return len(np.unique(codes if w is None else codes[w > 0]))


def _target_codes_or_numbers(y):
    """y as numbers or as codes of classes, and whether it holds classes."""
    if is_continuous_target(y):
        return np.asarray(y, dtype=float), False
    return np.unique(y, return_inverse=True)[1], True


class AbstractFilter(AbstractSelector):
    """Common `fit` of the filters; members give the scores."""

    def fit(self, X, y, sample_weight=None):
        """Score every column of X and keep the best."""
        kind = "number" if is_continuous_target(y) else "class"
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind=kind, order="C")
        t, classes = _target_codes_or_numbers(y)
        self.scores_ = self._score(X, t, classes, w)
        d = X.shape[1]
        if self.threshold is not None:
            self.support_ = self.scores_ >= self.threshold
        else:
            k = checked_n_features(
                self.n_features_to_select, d, type(self).__name__, max(d // 2, 1)
            )
            order = np.argsort(-self.scores_, kind="stable")
            self.support_ = np.isin(np.arange(d), order[:k])
        self._warn_duplicates(X)
        self._warn_pairs(X, t, classes, w)
        return self

    def _warn_duplicates(self, X):
        varying = np.flatnonzero(self.support_ & _varying_columns(X))
        if len(varying) < 2 or len(varying) > 1000:
            return
        C = np.abs(np.corrcoef(_centred_unit_columns(X[:, varying], None).T))
        i, j = np.nonzero(np.triu(C, 1) > DUPLICATE_CORRELATION)
        if len(i):
            warnings.warn(
                f"{type(self).__name__} kept {self._column_name(varying[i[0]])} and "
                f"{self._column_name(varying[j[0]])}, which all but repeat each other.",
                FilterWarning,
                stacklevel=3,
            )

    def _warn_pairs(self, X, t, classes, w):
        """Warn of a dropped column whose product with another tells of the target.

        The product must tell much more than either column, and more than the best of
        so many products would by chance; a product that tells all, of columns that
        tell nothing, is XOR whatever the number of rows.
        """
        varies = _varying_columns(X)
        dropped = np.flatnonzero(~self.support_ & varies)
        if not 0 < len(dropped) <= MAX_PAIRED_COLUMNS:
            return
        order = np.argsort(-self.scores_, kind="stable")
        kept = [j for j in order if self.support_[j] and varies[j]]
        candidates = np.concatenate([dropped, np.array(kept[:MAX_PAIRED_COLUMNS], int)])
        i, j = np.triu_indices(len(candidates), 1)
        pairs = i < len(dropped)
        i, j = i[pairs], j[pairs]
        if len(i) == 0:
            return
        Z = _centred_unit_columns(X[:, candidates], w)
        score = _correlation_ratio if classes else _absolute_correlation
        single_scores = score(Z, t, w)
        product_scores = score(Z[:, i] * Z[:, j], t, w)
        single = np.maximum(single_scores[i], single_scores[j])
        n = len(X) if w is None else float(w.sum())
        chance = np.sqrt(2 * np.log(100 * len(i)) / n)
        telling = (product_scores > max(INFORMATIVE_PAIR, chance)) & (
            product_scores > 2 * single
        )
        telling |= (product_scores > 1 - 1e-9) & (single < 1e-9) & (n >= 4)
        if not telling.any():
            return
        best = int(np.argmax(np.where(telling, product_scores, -1.0)))
        first, second = (self._column_name(candidates[k[best]]) for k in (i, j))
        verb = "dropped" if j[best] < len(dropped) else "separated"
        warnings.warn(
            f"{type(self).__name__} {verb} {first} and {second}, which say little "
            "alone but much together.",
            FilterWarning,
            stacklevel=3,
        )

    def _column_name(self, j):
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[j])) if names is not None else f"x{j}"


@dataclass(eq=False, repr=False)
class CorrelationFilter(AbstractFilter):
    """Keeps the columns that correlate most with the target, eq. (1).

    Parameters
    ----------
    n_features_to_select : int, float or None
        How many to keep, or the share; None for half of them.
    threshold : float or None
        Keep the columns with at least this score instead.

    Attributes
    ----------
    scores_ : array of shape (d,)
        Eq. (1), from 0 to 1, unchanged when columns are shifted or scaled.
    support_ : array of shape (d,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import CorrelationFilter
    >>> X = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]])
    >>> CorrelationFilter(threshold=0.5).fit(X, [0.1, 0.9, 2.1, 2.9]).support_
    array([ True, False])
    """

    n_features_to_select: Count | Fraction | None = None
    _: KW_ONLY
    threshold: Fraction | None = None

    def _score(self, X, t, classes, w):
        return (
            _correlation_ratio(X, t, w) if classes else _absolute_correlation(X, t, w)
        )


@dataclass(eq=False, repr=False)
class MutualInformationFilter(AbstractFilter):
    """Keeps the columns with the most information about the target, eq. (2).

    Parameters
    ----------
    n_features_to_select : int, float or None
        How many to keep, or the share; None for half of them.
    threshold : float or None
        Keep the columns with at least so many nats instead.
    n_bins : int, default=16
        Quantile bins of a column, and of a target that is a number.

    Attributes
    ----------
    scores_ : array of shape (d,)
        Eq. (2) in nats, less its expectation for independent columns.
    support_ : array of shape (d,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import MutualInformationFilter
    >>> x = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([x, np.tile([0.0, 1.0], 100)])
    >>> MutualInformationFilter(1).fit(X, (abs(x) > 0.5).astype(int)).support_
    array([ True, False])
    """

    n_features_to_select: Count | Fraction | None = None
    _: KW_ONLY
    threshold: NonNegative | None = None
    n_bins: Bins = 16

    def _score(self, X, t, classes, w):
        c = t if classes else quantile_bins(t, self.n_bins, w)
        n = len(X) if w is None else float(w.sum())
        out = np.empty(X.shape[1])
        for j in range(X.shape[1]):
            b = quantile_bins(X[:, j], self.n_bins, w)
            # expected value of eq. (2) for independent codes
            bias = (
                (_count_used_codes(b, w) - 1) * (_count_used_codes(c, w) - 1) / (2 * n)
            )
            out[j] = max(mutual_information_of_codes(b, c, w) - bias, 0.0)
        return out
