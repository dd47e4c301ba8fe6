"""Naive Bayes: columns independent given the class, each with its own distribution.

    P(y = c | x) ~ pi_c prod_j p(x_j; t_jc)                                      (1)

The log-likelihood of (1) is a sum over classes and columns, so every t_jc is fitted by
itself from the sufficient statistics of the rows of its class (`column_families.py`):
one pass over the data, O(n d), in memory or on disk. Statistics of further rows are
added to those so far, so `partial_fit` gives exactly what one `fit` would. Missing
values (NaN) are left out of the statistics and of the product. This file holds `fit` of
all naive Bayes models and GaussianNB; the discrete models are in `discrete.py`, those
with columns of several kinds in `mixed.py`.

Shapes    X (n, d)   pi (k,)   theta, var (k, d)
Refs      [Hand2001]; [Chan1983] merging of variances
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import unique_labels

from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.arrays.rows import add_statistics, default_block
from ..distributions.gaussian.class_moments import weighted_one_hot
from ..params import Flag, NonNegative
from ..persist.saved_state import AnyOf, AnyValue, Each, IntArray, Row, saved_state
from ..predictors.abstract_bayes import (
    AbstractBayes,
    check_class_prior,
    class_log_prior,
    row_blocks,
)
from ..typing import Matrix, NumberList
from .column_families import (
    COLUMN_FAMILIES,
    gaussian_fit,
    naming_negative_values,
    variance_floor,
)

BLOCK_BYTES = 1 << 24  # the loops tile by themselves: large blocks, few merges


class ClassStatistics(NamedTuple):
    """Weight of each class, and the statistics of each group of columns."""

    weight: Any  # (k,)
    parts: tuple


def rows_per_fit_block(X, groups):
    """Rows per task; all rows of a sparse X that is summed class by class."""
    n, d = X.shape
    if arrays.is_foreign(X):  # moments of Normals cut tiles by themselves
        return n if [name for name, *_ in groups] == ["gaussian"] else None
    if sp.issparse(X):
        return default_block(d) if groups[0][0] == "gaussian" else n
    return max(default_block(d), BLOCK_BYTES // (8 * d))


def weight_of_each_class(codes, k, w, X):
    """Weight of each class, in the library of X."""
    if arrays.is_foreign(X):
        return arrays.namespace(X).sum(weighted_one_hot(codes, k, w, X), axis=0)
    v = None if w is None else arrays.to_numpy(w)
    return np.bincount(arrays.to_numpy(codes), v, minlength=k).astype(np.float64)


def families_fit_columns(model) -> bool:
    """Whether the distributions of a loaded model are about its columns and classes."""
    if not hasattr(model, "groups_") or not hasattr(model, "distribution_"):
        return True
    k = len(model.classes_)
    for (_, columns), held in zip(model.groups_, model.distribution_, strict=True):
        width = model.n_features_in_ if columns is None else len(columns)
        several = type(held) is list
        shapes = [distribution_shape(p) for p in (held if several else [held])]
        if several and len(shapes) != width:
            return False
        if any(rows != k or not (several or d == width) for rows, d in shapes):
            return False
    return True


def distribution_shape(p) -> tuple[int, int]:
    """Classes and columns (or levels) of a batch of distributions."""
    for name in ("prob", "rate", "mean"):
        held = getattr(p, name, None)
        if held is not None and np.ndim(held) == 2:
            return tuple(np.shape(held))
    raise ValueError(f"{type(p).__name__} is not a batch of distributions")


@saved_state(
    groups_=Each(
        Row(
            AnyValue(),
            AnyOf(IntArray(None, low=0, below="n_features_in_", optional=True)),
        )
    ),
    check=families_fit_columns,
)
class AbstractNaiveBayes(AbstractBayes):
    """Statistics of rows, then distributions, then scores: eq. (1).

    A model gives `_groups` (pairs of a family and its columns, None for all) and
    `_estimate`, which sets `distribution_` (one for each group) from `sums_`.
    """

    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and their classes."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **self._checks(X)
        )
        classes, codes = class_codes(y, X)
        return self._learn(X, codes, w, classes, None)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from further rows; equal to one `fit` on all rows so far.

        `classes` lists all classes and is needed in the first call only.
        """
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        checks = self._checks(X)
        before = getattr(self, "n_features_in_", None) if known is not None else None
        if before is not None and not arrays.is_foreign(X):
            checks["reset"] = False
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **checks
        )
        if before is not None:
            self.n_features_in_ = before
            self._check_width(X)
        given = None if classes is None else unique_labels(classes)
        if known is None:
            known = given
        elif given is not None and not np.array_equal(given, arrays.to_numpy(known)):
            raise ValueError(
                f"classes={classes} is not the same as on last call to partial_fit, "
                f"was: {known}"
            )
        known, codes = class_codes(y, X, known)
        return self._learn(X, codes, w, known, getattr(self, "sums_", None))

    def _learn(self, X, codes, w, classes, before):
        """Add the statistics of the rows to those before, and estimate."""
        k = int(classes.shape[0])
        groups = self._groups(X, before)

        def stats(x, c, v):
            x = self._prepare(x)
            with naming_negative_values(self):
                return tuple(
                    COLUMN_FAMILIES[name].statistics(
                        arrays.take_columns(x, columns), c, k, v
                    )
                    for name, columns in groups
                )

        result = row_blocks(X, codes, w, block=rows_per_fit_block(X, groups)).sum(
            stats, blas=False
        )
        sums = ClassStatistics(weight_of_each_class(codes, k, w, X), result)
        sums = sums if before is None else add_statistics(before, sums)
        self._estimate(sums, groups, X)
        self.classes_ = classes
        self.sums_ = sums
        self.groups_ = groups
        return self

    def _prepare(self, x):
        return x

    def _groups(self, X, before) -> Any:
        return ((self._family, None),)

    def _scorer(self):
        pairs = zip(self.groups_, self.distribution_, strict=True)
        scores = [(COLUMN_FAMILIES[name].scorer(p), cols) for (name, cols), p in pairs]

        def score(x):
            x = self._prepare(x)
            with naming_negative_values(self):
                parts = [
                    one(arrays.take_columns(x, columns)) for one, columns in scores
                ]
            return sum(parts[1:], parts[0])

        return score

    def _draw(self, z, rng):
        X = np.zeros((len(z), self.n_features_in_))
        for (name, columns), p in zip(self.groups_, self.distribution_, strict=True):
            at = slice(None) if columns is None else columns
            X[:, at] = arrays.to_numpy(COLUMN_FAMILIES[name].draw(p, z, rng))
        return X


@dataclass(eq=False, repr=False)
class GaussianNB(AbstractNaiveBayes):
    """Naive Bayes with a Normal for each column and class.

    Parameters
    ----------
    priors : array of shape (n_classes,) or None, default=None
        Prior of the classes; None for their frequencies.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a column that is added to all variances.
    shared_variance : bool, default=False
        Whether a column has one variance for all classes, which makes the log-odds
        linear in x.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : array of shape (n_classes,)
    theta_, var_ : arrays of shape (n_classes, n_features)
        Mean and variance of each column in each class.
    epsilon_ : float
        What was added to the variances.
    distribution_ : tuple of one Normal
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import GaussianNB
    >>> X = np.array([[1.0], [2.0], [3.0], [5.0], [7.0], [9.0]])
    >>> model = GaussianNB(shared_variance=True).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.theta_.ravel(), model.predict([[4.4], [4.6], [np.nan]])
    (array([2., 7.]), array([0, 1, 0]))
    """

    _: KW_ONLY
    priors: Matrix | NumberList | None = None
    var_smoothing: NonNegative = 1e-9
    shared_variance: Flag = False

    _family = "gaussian"

    def _estimate(self, sums, groups, X):
        m = sums.parts[0]
        prior = check_class_prior(self, "priors", m.mean.shape[0])
        p = gaussian_fit(
            m, sums.weight, self.var_smoothing, shared=self.shared_variance
        )
        small = not arrays.is_foreign(X) and X.dtype == np.float32
        keep = lambda a: a.astype(np.float32) if small else a
        self.epsilon_ = variance_floor(m, self.var_smoothing)
        self.distribution_ = (p,)
        self.theta_ = keep(p.mean)
        self.var_ = keep(p.cov)
        self.class_count_ = sums.weight
        self.class_log_prior_ = class_log_prior(prior, sums.weight)
        self.class_prior_ = arrays.namespace(p.mean).exp(self.class_log_prior_)
