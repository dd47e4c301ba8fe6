"""Trustworthiness: how well an embedding preserves neighbours.

Let U_i be the k nearest of row i on the map and r(i, j) the rank of row j among the
neighbours of i in the data. Trustworthiness charges rows that come close on the map
without being close in the data:

    T = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in U_i} max(0, r(i, j) - k)        (1)

1 is best. Distances are computed for a block of rows at a time: memory O(n), where
ranking all pairs at once takes O(n^2).

Refs      [Venna2001]
"""

import numpy as np
from sklearn.metrics import pairwise_distances

from ..core.arrays import arrays
from ..core.loops import threads
from ..distances import METRICS, pairwise
from . import _embedding_quality
from .any_metric_neighbors import NeighborSearch, neighbors_of_rows

BLOCK = 1 << 21  # distances held at a time


def trustworthiness(X, X_embedded, *, n_neighbors=5, metric="euclidean"):
    """T of eq. (1).

    Parameters
    ----------
    X : array of shape (n, d), or (n, n) distances for metric="precomputed"
    X_embedded : array of shape (n, m)
    n_neighbors : int, default=5
        k, less than n / 2.
    metric : str or callable, default="euclidean"
        Of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import trustworthiness
    >>> X = np.arange(12.0)[:, None]
    >>> trustworthiness(X, -2.0 * X)
    1.0
    """
    X = np.asarray(arrays.to_numpy(X))
    Y = np.ascontiguousarray(arrays.to_numpy(X_embedded), dtype=np.float64)
    n = len(X)
    k = n_neighbors
    if len(Y) != n:
        raise ValueError(f"X has {n} rows, but X_embedded has {len(Y)}.")
    if not 1 <= k < n / 2:
        raise ValueError(
            f"n_neighbors ({k}) should be at least 1 and less than n_samples / 2 "
            f"({n / 2})."
        )
    near = neighbors_of_rows(Y, k, NeighborSearch())[1]
    step = max(1, BLOCK // n)

    def part(a):
        D = _distance_block(X, slice(a, min(a + step, n)), metric)
        return _embedding_quality.excess_ranks(
            np.ascontiguousarray(D), a, near[a : a + step], k
        )

    tasks = [lambda a=a: part(a) for a in range(0, n, step)]
    total = sum(threads.run_tasks(tasks, blas=True))
    return 1.0 - 2.0 * total / (n * k * (2.0 * n - 3.0 * k - 1.0))


def _distance_block(X, cut, metric):
    """Distances from some rows to all."""
    if metric == "precomputed":
        return X[cut]
    if isinstance(metric, str) and metric in METRICS:
        return pairwise(X[cut], X, metric=metric)
    return pairwise_distances(X[cut], X, metric=metric)
