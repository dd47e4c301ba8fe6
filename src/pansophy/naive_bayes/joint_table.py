"""Joint table classifier: a probability for every combination of values.

    P(x | c) = (count of x in class c + a) / (N_c + a M),    M = prod_j m_j        (1)

Unlike naive Bayes it assumes no independence, at the cost of M numbers for each class:
2^d for d binary columns. Only combinations that were seen are stored, so the table
costs O(n d). With M far above n nearly every new row is one that was never seen, whose
prediction is the prior: beyond `max_entries` the fit warns. With a = 0 each training
row has its relative frequency. A NaN is summed out of the table: the cells that agree
in the other columns are added, with a M' pseudo-counts for M' combinations of the
missing values.

Shapes    X (n, d) values 0 .. m_j - 1   cells (u, d)   counts (u, k)
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.numerics import safe_log
from ..params import Count, Flag, NonNegative
from ..persist.saved_state import FloatArray, IntArray, saved_state
from ..predictors.abstract_bayes import (
    AbstractBayes,
    check_class_prior,
    class_log_prior,
)
from ..typing import Matrix, NumberList
from .column_families import naming_negative_values, raise_bad_category

MAX_CATEGORY = 2**53  # beyond it whole numbers are not told apart


def merge_equal_cells(cells, counts):
    """Equal rows of cells merged, their counts added."""
    unique, which = np.unique(cells, axis=0, return_inverse=True)
    total = np.zeros((len(unique), counts.shape[1]))
    np.add.at(total, which.ravel(), counts)
    return unique, total


def counts_of_cells(cells, counts, X):
    """The counts of the rows of X, 0 for rows that are no cell."""
    both = np.concatenate([cells, X])
    _, which = np.unique(both, axis=0, return_inverse=True)
    which = which.ravel()
    place = np.full(which.max(initial=0) + 1, -1)
    place[which[: len(cells)]] = np.arange(len(cells))
    at = place[which[len(cells) :]]
    return np.where(at[:, None] >= 0, counts[at], 0.0)


def check_categories(X):
    """Refuse the first column that holds anything but 0, 1, 2, ..., or too much."""
    large = np.any(X > MAX_CATEGORY, axis=0)
    if large.any():
        raise ValueError(
            f"column {int(np.argmax(large))} holds categories above "
            f"{MAX_CATEGORY:.0e}, which cannot be told apart: encode them as 0, 1, "
            "2, ..."
        )
    bad = np.any((X < 0) | (np.floor(X) != X), axis=0)
    raise_bad_category(int(np.argmax(bad)) if bad.any() else -1)


@saved_state(
    n_categories_=IntArray("n_features_in_", low=1),
    cells_=IntArray("cells", "n_features_in_", low=0),
    counts_=FloatArray("cells", None),
)
@dataclass(eq=False, repr=False)
class JointTableClassifier(AbstractBayes):
    """Bayes' rule from a table of all combinations of the columns.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every combination; 0 for maximum likelihood.
    max_entries : int, default=1000000
        Entries of the table above which the fit warns that most stay empty.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
    cells_ : array of shape (n_seen, n_features)
        Combinations that were seen.
    counts_ : array of shape (n_seen, n_classes)
        Weight of each in each class.
    n_categories_ : array of shape (n_features,)
    n_entries_ : float
        Entries of the full table, classes included.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import JointTableClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # exclusive or
    >>> model = JointTableClassifier().fit(X, [0, 1, 1, 0])
    >>> model.predict(X), model.predict_proba([[0, np.nan]])
    (array([0, 1, 1, 0]), array([[0.5, 0.5]]))
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    max_entries: Count = 1_000_000
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    _sparse = False

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Count the combinations of each class."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **self._checks(X)
        )
        classes, codes = class_codes(y, X)
        X = X.take(np.arange(X.n)) if hasattr(X, "columns") else arrays.to_numpy(X)
        codes, k = arrays.to_numpy(codes), int(classes.shape[0])
        whole = ~np.isnan(X).any(axis=1)
        with naming_negative_values(self):
            check_categories(X[whole])
        if not whole.any():
            raise ValueError("every row of X misses a value: no samples to count.")
        v = np.ones(len(X)) if w is None else arrays.to_numpy(w)
        prior = check_class_prior(self, "class_prior", k)
        hot = v[whole, None] * (codes[whole, None] == np.arange(k))
        self.cells_, self.counts_ = merge_equal_cells(X[whole].astype(np.int64), hot)
        self.n_categories_ = self.cells_.max(axis=0) + 1
        self.classes_ = classes
        self.class_count_ = np.bincount(codes, v, minlength=k)
        self.class_log_prior_ = class_log_prior(
            prior, self.class_count_, fit_prior=self.fit_prior
        )
        self._warn_of_size(k)
        return self

    def _warn_of_size(self, k):
        """Set the number of entries of the table, and warn if it is too large."""
        self.n_entries_ = float(k * np.prod(self.n_categories_.astype(float)))
        if self.n_entries_ > self.max_entries:
            warnings.warn(
                f"the joint table has {self.n_entries_:.3g} entries, more than "
                f"max_entries={self.max_entries}: it is kept for seen rows only, and "
                "others get the prior. NaiveBayes needs far fewer.",
                UserWarning,
                stacklevel=3,
            )

    def _scorer(self):
        log_m = np.log(self.n_categories_.astype(float))
        a = self.alpha
        N = self.counts_.sum(axis=0)
        below = np.logaddexp(safe_log(N), safe_log(np.float64(a)) + log_m.sum())
        below = np.where(np.isfinite(below), below, 0.0)  # a class without any row

        def score(given):
            x = arrays.to_numpy(given)
            with naming_negative_values(self):
                check_categories(np.where(np.isnan(x), 0, x))
            out = np.zeros((len(x), len(N)))
            seen, which = np.unique(~np.isnan(x), axis=0, return_inverse=True)
            for g, kind in enumerate(seen):
                rows = np.flatnonzero(which.ravel() == g)
                if not kind.any():
                    continue
                part = x[np.ix_(rows, kind)].astype(np.int64)
                cells, counts = merge_equal_cells(self.cells_[:, kind], self.counts_)
                result = safe_log(counts_of_cells(cells, counts, part))
                extra = safe_log(np.float64(a)) + log_m[~kind].sum()
                out[rows] = np.logaddexp(result, extra) - below
            foreign = arrays.is_foreign(given)
            return arrays.asarray(out, like=arrays.as_float(given)) if foreign else out

        return score

    def _draw(self, z, rng):
        """Seen combinations by their counts, others with their pseudo-counts."""
        cells = float(np.prod(self.n_categories_.astype(float)))
        X = np.empty((len(z), len(self.n_categories_)))
        for c in np.unique(z):
            rows = np.flatnonzero(z == c)
            N = self.counts_[:, c].sum()
            smooth = rng.random(len(rows)) * (N + self.alpha * cells) >= N
            p = self.counts_[:, c] / max(N, 1e-300)
            kept = rows[~smooth]
            X[kept] = self.cells_[rng.choice(len(p), size=len(kept), p=p)]
            X[rows[smooth]] = rng.integers(
                self.n_categories_, size=(int(smooth.sum()), X.shape[1])
            )
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
