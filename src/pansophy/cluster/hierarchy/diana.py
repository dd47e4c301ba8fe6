"""DIANA: divisive clustering, which splits the widest cluster again and again.

DIANA splits a cluster C by letting a splinter group S grow out of it. The first to
leave is the row farthest from the others on average; then, as long as it is positive,
the row i of largest

    mean of d(i, j) over j in C outside S, j != i  -  mean of d(i, j) over j in S   (1)

leaves too. The cluster split next is the one of largest diameter

    max of d(i, j) over i, j in C                                                   (2)

which is also the height of the split. Splits partition their parent, diameters never
grow, and after n - 1 splits every row is alone. Of equals the lower row is taken.

Cost      O(m^2) for a cluster of m rows, so O(n^2) for few and at worst O(n^3) for all
          splits; memory n^2 distances
Shapes    X (n, d)   splits_ (m, 2)   heights_ (m,)   labels_ (n,)
Refs      [KaufmanRousseeuw1990] chapter 6; [MacnaughtonSmith1964]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...base import Clusterer, Estimator
from ...params import Count, NonNegative
from ...persist.saved_state import IntArray, saved_state
from . import _diana as loops
from .linkage import (
    as_float_matrix,
    check_square_distances,
    distance_matrix,
    linkage_from_edges,
)


def diana_splits(D, k=None, *, height=0.0):
    """(splits, heights, labels): the widest cluster split until there are k.

    Stops early when no cluster is wider than `height`. A split is named by a row of
    the part that stays and one of the splinter group; clusters are numbered by their
    first rows.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 1.5, 9.0, 9.5])
    >>> diana_splits(np.abs(x[:, None] - x), 2)
    (array([[0, 3]]), array([9.5]), array([0, 0, 0, 1, 1]))
    """
    n = len(D)
    k = n if k is None else k
    clusters, wide = [np.arange(n)], [loops.cluster_diameter(D, np.arange(n))]
    splits, heights = [], []
    while len(clusters) < k:
        c = int(np.argmax(wide))
        rows = clusters[c]
        if wide[c] <= height and (height > 0 or len(rows) == 1):
            alone = [len(r) == 1 for r in clusters]
            if height > 0 or all(alone):
                break
            c = alone.index(False)  # equal rows, told apart only because k says so
            rows = clusters[c]
        out = loops.splinter_group(D, rows)
        a, b = rows[~out], rows[out]
        splits.append((a[0], b[0]))
        heights.append(wide[c])
        clusters[c] = a
        wide[c] = loops.cluster_diameter(D, a)
        clusters.append(b)
        wide.append(loops.cluster_diameter(D, b))
    labels = np.empty(n, np.int64)
    for number, rows in enumerate(sorted(clusters, key=lambda r: r[0])):
        labels[rows] = number
    shape = np.array(splits, np.int64).reshape(-1, 2)
    return shape, np.array(heights, dtype=np.float64), labels


@saved_state(splits_=IntArray(None, 2, low=0))
@dataclass(eq=False, repr=False)
class Diana(Clusterer, Estimator):
    """Divisive clustering by splinter groups; the module text gives the method.

    Parameters
    ----------
    n_clusters : int or None, default 2
        How many clusters to split into. None goes on until no cluster is wider than
        `distance_threshold`, or to single rows if that is None too.
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn, "precomputed", or a function of X that returns the
        distances.
    distance_threshold : float or None
        No cluster of at most this diameter is split.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each row, numbered by their first rows.
    n_clusters_ : int
        How many there are.
    splits_ : array of shape (splits, 2)
        A row of the part that stayed and one of the splinter group, for each split.
    heights_ : array of shape (splits,)
        The diameter of the cluster that was split.
    linkage_matrix_ : array of shape (n - 1, 4) or None
        The tree in SciPy's form, if it goes down to single rows.

    Examples
    --------
    >>> from pansophy.cluster import Diana
    >>> Diana(2).fit([[0.0], [1.0], [1.5], [9.0], [9.5]]).labels_
    array([0, 0, 0, 1, 1])
    """

    n_clusters: Count | None = 2
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    distance_threshold: NonNegative | None = None

    _tensors = False

    def fit(self, X, y=None):
        """Split the rows.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) distances with metric="precomputed"
        y : None
            Not used.
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2)
        n = len(X)
        metric = self.metric
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}."
            )
        if callable(metric):
            X = as_float_matrix(metric(X))
            metric = "precomputed"
        if metric == "precomputed":
            check_square_distances(X)
        D = distance_matrix(X, metric)
        np.fill_diagonal(D, 0.0)
        height = self.distance_threshold or 0.0
        splits, heights, labels = diana_splits(D, self.n_clusters, height=height)
        self.splits_ = splits
        self.heights_ = heights
        self.labels_ = labels
        self.n_clusters_ = len(splits) + 1
        self.linkage_matrix_ = None
        if len(splits) == n - 1:  # the last splits are the first merges
            left, right = splits[::-1].T
            self.linkage_matrix_ = linkage_from_edges(left, right, heights[::-1], n)
        return self

    def fit_predict(self, X, y=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X).labels_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
