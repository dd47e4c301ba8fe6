"""Microaggregation: rows replaced by the means of groups of at least k similar rows.

Partition the rows into groups of at least k so that

    loss = sum_i |x_i - mean of the group of i|^2                               (1)

is small, and publish for each row only the mean of its group. No row can then be
distinguished from k - 1 others by these columns (k-anonymity). Finding the best groups
is NP-hard beyond one column; MDAV takes, while at least 3k rows are left, the row r
farthest from the mean of what is left and the row s farthest from r, and makes a group
of each with its k - 1 nearest; then one more group if 2k are left, and the rest. All
groups have k to 2k - 1 rows. Columns are scaled to unit variance for the distances, so
that their units do not matter.

Time O(n^2 d / k). Memory O(n) beyond X.

Shapes    X (n, d)   labels (n,)
Refs      [Domingo2005] MDAV; [Sweeney2002] k-anonymity
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from ..params import ParameterError


class AnonymizedData(NamedTuple):
    """Rows that may be published, and the information lost."""

    X: np.ndarray  # (n, d) means of the groups, in the order of the rows
    labels: np.ndarray  # (n,) the group of each row
    sizes: np.ndarray  # rows of each group, all at least k
    loss: float  # eq. (1)
    relative_loss: (
        float  # eq. (1) over the same sum with a single group: 0 loses nothing
    )

    @property
    def centers(self):
        """The mean of each group."""
        first = np.unique(self.labels, return_index=True)[1]
        return self.X[first]


def mdav(Z, k):
    """Labels of groups of k to 2k - 1 rows of Z."""
    labels = np.full(len(Z), -1)
    left = np.arange(len(Z))
    group = 0

    def square(rows, c):
        gap = Z[rows] - c
        return np.einsum("ij,ij->i", gap, gap)

    def gather(center):
        nonlocal left, group
        near = np.argpartition(square(left, Z[center]), k - 1)[:k]
        labels[left[near]] = group
        left = np.delete(left, near)
        group = group + 1

    while len(left) >= 2 * k:
        r = left[np.argmax(square(left, Z[left].mean(axis=0)))]
        s = left[np.argmax(square(left, Z[r]))]
        two = len(left) >= 3 * k
        gather(r)
        if two:
            # with many equal rows s may have gone with r
            gather(s if labels[s] < 0 else left[np.argmax(square(left, Z[r]))])
    labels[left] = group
    return labels


def anonymize(X, k, *, scale=True) -> AnonymizedData:
    """Publish rows so that each is the same as at least k - 1 others.

    Parameters
    ----------
    X : array of shape (n, d)
        The columns by which somebody could be recognised.
    k : int
        Fewest rows that share a published row; at most n.
    scale : bool, default True
        Whether columns are scaled to unit variance for the distances.

    Returns
    -------
    AnonymizedData
        With the rows to publish in `X`, the groups in `labels`, and what was lost.

    Examples
    --------
    >>> from pansophy.cluster import anonymize
    >>> ages = [[21.0], [23.0], [22.0], [64.0], [60.0], [62.0]]
    >>> release = anonymize(ages, 3)
    >>> release.X.ravel().tolist(), release.sizes.tolist()
    ([22.0, 22.0, 22.0, 62.0, 62.0, 62.0], [3, 3])
    """
    X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    if not whole or not 1 <= k <= len(X):
        raise ParameterError(
            f"k must be a whole number from 1 to the {len(X)} rows of X, got {k!r}."
        )
    V = X.astype(np.float64)
    middle = V.mean(axis=0)
    V = V - middle
    deviation = np.sqrt((V * V).mean(axis=0))
    scaled = V / np.where(deviation > 0, deviation, 1.0) if scale else V
    labels = mdav(scaled, int(k))
    sizes = np.bincount(labels)
    sums = np.stack([np.bincount(labels, v) for v in V.T], axis=1)
    means = sums / sizes[:, None]
    gap = V - means[labels]
    loss, whole_loss = float((gap * gap).sum()), float((V * V).sum())
    share = loss / whole_loss if whole_loss > 0 else 0.0
    shown = (means + middle).astype(X.dtype)[labels]
    return AnonymizedData(shown, labels, sizes, loss, share)
