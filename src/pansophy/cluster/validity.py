"""Validity indices of clusterings: internal, external, and of merge trees.

Internal, from distances within and between groups:

    within    sum_i |x_i - mean of its group|^2                                 (1)
    Dunn      min over pairs of groups of the distance of their nearest rows
              / max over groups of the distance of its two farthest rows        (2)

External, against labels y that are known to be right:

    purity    (1/n) sum over groups of the rows of its most frequent y          (3)

and of a merge tree, how well it preserves distances: the correlation over pairs of rows

    cophenetic   corr(d(x_i, x_j), height at which i and j meet)                (4)

(3) favours many groups (1 if every row is its own group); use it together with the
adjusted Rand index. Silhouette, Calinski-Harabasz, Davies-Bouldin, Rand and information
indices are scikit-learn's; `validity` puts all in one table.

None depends on the names of the groups. Rows labelled -1 are noise: internal indices
leave them out, external ones count them as one more group.

Time O(n^2 d) for Dunn, silhouette and (4), in blocks: memory O(n). (4) needs no matrix:
with rows in the order of the leaves a merge is two slices, and each pair is met once.

Shapes    X (n, d)   labels, y (n,)   Z (n - 1, 4) as in SciPy
Refs      [Dunn1974]; [Sokal1962] eq. (4); [Manning2008] eq. (3)
"""

from typing import Any

import numpy as np
from sklearn import metrics

from ..core.arrays import rows
from ..core.arrays.arrays import to_numpy
from ..distances import pairwise

BLOCK = 1 << 21  # distances held at a time


def label_codes(labels):
    """Labels as 0..k-1 and a mask of rows that are not noise."""
    z = np.asarray(to_numpy(labels))
    if z.ndim != 1 or len(z) == 0:
        raise ValueError(f"labels must be one column, got shape {z.shape}.")
    real = z != -1 if z.dtype.kind in "if" else np.ones(len(z), bool)
    return np.unique(z, return_inverse=True)[1], real


def rows_without_noise(X, labels, metric="euclidean"):
    """Rows and labels without noise, labels numbered; X stays square if distances."""
    z, real = label_codes(labels)
    X = np.asarray(to_numpy(X))
    if len(X) != len(z):
        raise ValueError(f"X has {len(X)} rows, but there are {len(z)} labels.")
    if metric == "precomputed" and (X.ndim != 2 or X.shape[0] != X.shape[1]):
        raise ValueError(f"precomputed distances must be square, got {X.shape}.")
    X = X[np.ix_(real, real)] if metric == "precomputed" else X[real]
    z = np.unique(z[real], return_inverse=True)[1]
    if z.max(initial=0) < 1:
        raise ValueError("at least two groups are needed.")
    return X, z


def dunn_index(X, labels, *, metric="euclidean") -> float:
    """Eq. (2): above 1 where groups are farther apart than they are wide.

    Parameters
    ----------
    X : array of shape (n, d), or (n, n) distances with metric="precomputed"
    labels : array of shape (n,)
    metric : str or function
        As in `pansophy.distances.pairwise`.

    Examples
    --------
    >>> from pansophy.cluster import dunn_index
    >>> dunn_index([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1])
    2.0
    """
    X, z = rows_without_noise(X, labels, metric)

    def block(x, block_labels):
        D = x if metric == "precomputed" else pairwise(x, X, metric)
        same = block_labels[:, None] == z
        wide = np.max(D, initial=0.0, where=same)
        return np.min(D, initial=np.inf, where=~same), wide

    R = rows.Rows(X, z, block=max(1, BLOCK // len(X)))
    results = list(R.each(block))
    apart = min(f[0] for f in results)
    wide = max(f[1] for f in results)
    return float(apart / wide) if wide > 0 else float("inf")


def purity_score(labels, y) -> float:
    """Eq. (3): the share of rows with the most frequent y of their group.

    Examples
    --------
    >>> from pansophy.cluster import purity_score
    >>> purity_score([0, 0, 0, 1], ["a", "a", "b", "b"])
    0.75
    """
    z, y = label_codes(labels)[0], label_codes(y)[0]
    if len(z) != len(y):
        raise ValueError(f"{len(z)} labels cannot be compared with {len(y)}.")
    table = np.zeros((z.max() + 1, y.max() + 1))
    np.add.at(table, (z, y), 1.0)
    return float(table.max(axis=1).sum() / len(z))


def leaf_slices(Z, n):
    """The order of the leaves, and where each cluster begins and ends in it."""
    start = np.zeros(2 * n - 1, np.int64)
    size = np.ones(2 * n - 1, np.int64)
    pairs = np.asarray(Z)[:, :2].astype(np.int64)
    for t, (a, b) in enumerate(pairs):
        size[n + t] = size[a] + size[b]
    for t in range(n - 2, -1, -1):
        a, b = pairs[t]
        start[a], start[b] = start[n + t], start[n + t] + size[a]
    order = np.empty(n, np.int64)
    order[start[:n]] = np.arange(n)
    return order, start, size, pairs


def cophenetic_correlation(Z, X, *, metric="euclidean") -> float:
    """Eq. (4): 1 where the tree of merges keeps all distances.

    Parameters
    ----------
    Z : array of shape (n - 1, 4)
        A tree as SciPy and `pansophy.cluster.linkage_matrix` write it.
    X : array of shape (n, d), or (n, n) distances with metric="precomputed"
    metric : str or function
        As in `pansophy.distances.pairwise`.

    Examples
    --------
    >>> from pansophy.cluster import cophenetic_correlation
    >>> Z = [[0, 1, 1.0, 2], [2, 3, 5.0, 3]]
    >>> round(cophenetic_correlation(Z, [[0.0], [1.0], [6.0]]), 4)
    0.982
    """
    X, Z = np.asarray(to_numpy(X), dtype=np.float64), np.asarray(Z, dtype=np.float64)
    n = len(X)
    if Z.shape != (n - 1, 4):
        raise ValueError(f"a tree of {n} rows has {n - 1} merges of 4 numbers each.")
    if n < 3:
        raise ValueError("a correlation over pairs needs at least three rows.")
    order, start, size, pairs = leaf_slices(Z, n)
    given = metric == "precomputed"
    X = X[np.ix_(order, order)] if given else X[order]
    count = n * (n - 1) / 2
    weight = size[pairs[:, 0]] * size[pairs[:, 1]]
    heights = Z[:, 2]
    middle = float(heights @ weight / count)  # taken off: no digits are lost below
    sums = np.zeros(3)
    for (a, b), h in zip(pairs, heights - middle):
        one, two = (slice(start[c], start[c] + size[c]) for c in (a, b))
        step = max(1, BLOCK // int(size[b]))
        for i in range(one.start, one.stop, step):
            cut = slice(i, min(i + step, one.stop))
            D = X[cut, two] if given else pairwise(X[cut], X[two], metric)
            sums += D.sum(), (D * D).sum(), h * D.sum()
    d, d2, hd = sums / count
    h2 = float(np.square(heights - middle) @ weight / count)
    spread = (d2 - d * d) * h2
    return float(hd / np.sqrt(spread)) if spread > 0 else float("nan")


class Validity(dict):
    """Indices by name; prints as a table."""

    def __repr__(self):
        wide = max((len(name) for name in self), default=0)
        show = lambda v: f"{v}" if isinstance(v, int) else f"{v:.4g}"
        return "\n".join(f"{name:<{wide}}  {show(v)}" for name, v in self.items())


def validity(
    X, labels, y=None, *, metric="euclidean", max_pairwise_rows=20_000
) -> Validity:
    """All indices of a clustering in one table.

    Parameters
    ----------
    X : array of shape (n, d)
    labels : array of shape (n,)
        -1 is noise.
    y : array of shape (n,), optional
        Labels known to be right; adds the external indices.
    metric : str
        Of silhouette and Dunn.
    max_pairwise_rows : int
        Those two need all pairs; beyond this many rows they are left out.

    Returns
    -------
    Validity
        A dict of numbers by name: n_clusters, n_noise, smallest and within_ss;
        silhouette, dunn (higher is better), calinski_harabasz (higher),
        davies_bouldin (lower); with y also adjusted_rand, adjusted_mutual_info,
        normalized_mutual_info, homogeneity, completeness, v_measure,
        fowlkes_mallows and purity (all 1 at best).

    Examples
    --------
    >>> from pansophy.cluster import validity
    >>> X = [[0.0], [1.0], [9.0], [9.5]]
    >>> table = validity(X, [0, 0, 1, 1], ["a", "a", "b", "b"])
    >>> table["n_clusters"], table["within_ss"], table["adjusted_rand"]
    (2, 0.625, 1.0)
    """
    full, real = label_codes(labels)
    X = np.asarray(to_numpy(X), dtype=np.float64)
    if len(X) != len(full):
        raise ValueError(f"X has {len(X)} rows, but there are {len(full)} labels.")
    z = np.unique(full[real], return_inverse=True)[1]
    sizes = np.bincount(z)
    k, n = len(sizes), len(z)
    table: dict[str, Any] = {"n_clusters": k, "n_noise": int((~real).sum())}
    table["smallest"] = int(sizes.min(initial=n))
    V = X[real]
    if n:
        sums = np.stack([np.bincount(z, v, k) for v in V.T], axis=1)
        table["within_ss"] = float(np.square(V - (sums / sizes[:, None])[z]).sum())
    if 2 <= k < n:
        if n <= max_pairwise_rows:
            table["silhouette"] = float(metrics.silhouette_score(V, z, metric=metric))
            table["dunn"] = dunn_index(V, z, metric=metric)
        table["calinski_harabasz"] = float(metrics.calinski_harabasz_score(V, z))
        table["davies_bouldin"] = float(metrics.davies_bouldin_score(V, z))
    if y is not None:
        right = label_codes(y)[0]
        h, c, v = metrics.homogeneity_completeness_v_measure(right, full)
        table |= {
            "adjusted_rand": metrics.adjusted_rand_score(right, full),
            "adjusted_mutual_info": metrics.adjusted_mutual_info_score(right, full),
            "normalized_mutual_info": metrics.normalized_mutual_info_score(right, full),
            "homogeneity": h,
            "completeness": c,
            "v_measure": v,
            "fowlkes_mallows": metrics.fowlkes_mallows_score(right, full),
            "purity": purity_score(full, right),
        }
    plain = lambda v: v if isinstance(v, int) else float(v)
    return Validity({name: plain(v) for name, v in table.items()})
