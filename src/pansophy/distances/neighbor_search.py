"""Neighbour search: the k nearest rows, or all rows within a radius, exactly.

    k_nearest    the k rows x of smallest d(x, q); of equals the lower row number (1)
    within       all rows x with d(x, q) <= r                                     (2)
    count_within the weight of those rows                                         (3)

Two algorithms, chosen by the shape of the data:

* A **k-d tree** for few columns. Rows are split at the median of their widest column
  until a leaf holds a few; each node keeps the box around its rows. Queries are put
  in the same kind of order and traverse the tree in groups: a node whose box is farther
  from the group's box than any of its lists reaches cannot hold a neighbour. A query
  looks at O(log n) leaves for few columns.
* **Brute force** for many: tiles of |x|^2 / 2 - x.q by matrix products in float32,
  in which one compiled pass finds the entries that may be near enough, given how far
  such a product can be off; only those are computed, in full precision, from x - q.

Every distance that comes out is computed from differences, and the answer does not
depend on the number of threads: they share blocks of queries. Memory is the index
(one copy of X) plus the answer plus one tile for each thread; `rows_within_radius`
hands out its answer in blocks, so that all pairs never exist at once.

Metrics: euclidean, sqeuclidean, manhattan, chebyshev, minkowski and cosine by both
ways; any other metric of `distances`, or a function, by brute force. Tensors stay on
their device, by brute force.

Shapes    X (n, d)   Q (m, d)   result (m, k)
Refs      [Bentley1975]; [Friedman1977]
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.loops import threads
from ..persist.saved_state import NumberArray, Part, Whole, saved_state
from . import _brute_force, _neighbor_lists, kd_tree
from .brute_force import (
    QUERIES,
    ROWS,
    CenteredRows,
    center_for_products,
    k_nearest_by_products,
    pairs_within_radius,
)
from .kd_tree import LEAF, KDTree, build_kd_tree
from .pairwise_metrics import as_float_rows, block_slices, unit_rows

KINDS = {"euclidean": 2, "l2": 2, "sqeuclidean": 2, "squared_euclidean": 2}
KINDS |= {"cosine": 2, "manhattan": 1, "cityblock": 1, "l1": 1, "chebyshev": 0}
KINDS |= {"minkowski": 3}
SQUARES = ("sqeuclidean", "squared_euclidean")
FEW, MANY = 6, 15  # columns: a tree is always faster, and never


def _is_sound_index(index) -> bool:
    """Whether the tree and the tiles of a loaded index are about its rows."""
    shape = tuple(index.X.shape)
    tree, tiles = index.tree, index.tiles
    if tree is not None and (len(tree.order), len(tree.XT)) != shape:
        return False
    if tiles is not None and tiles.rows.shape != (shape[0], shape[1] + 1):
        return False
    if index.kind >= 0 and tree is None and tiles is None:
        return False
    return tree is None or tree.XT.dtype == index.X.dtype


@saved_state(
    X=NumberArray(None, None),
    kind=Whole(low=-1, high=max(KINDS.values())),
    tree=Part(KDTree, optional=True),
    tiles=Part(CenteredRows, optional=True),
    check=_is_sound_index,
)
class NeighborIndex(NamedTuple):
    """Rows with what a search needs of them; made by `build_index`."""

    X: Any  # (n, d), as compared: at length 1 for cosine
    metric: Any
    kind: int  # of `_kd_tree.py`; -1 for a metric known only as a function
    p: float
    options: dict  # given to a metric known only as a function
    method: str  # "kd_tree" or "brute"
    tree: KDTree | None
    tiles: CenteredRows | None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def reduced_metric(self) -> tuple[int, float]:
        """(kind, p), as the loops of `_kd_tree.py` take it."""
        return self.kind, self.p


def build_index(
    X, *, metric="euclidean", p=2.0, method="auto", leaf_size=None, **options
):
    """Index rows for neighbour search.

    Parameters
    ----------
    X : array of shape (n, d)
        Float rows; a NumPy array is not copied if it is in C order.
    metric : str or callable, default="euclidean"
        A name in `distances.METRICS`, or a function of (Q, X) that gives a matrix.
    p : float, default=2.0
        The power of minkowski, at least 1.
    method : {"auto", "kd_tree", "brute"}, default="auto"
        "auto" takes a tree for few columns, counted by how many rows there are.
    leaf_size : int or None, default=None
        Most rows of a leaf. None is 32.
    **options
        Given to a metric that is not one of the six, such as `cov` for mahalanobis.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distances.neighbor_search import build_index, k_nearest
    >>> index = build_index(np.array([[0.0], [1.0], [5.0]]))
    >>> k_nearest(index, np.array([[0.2]]), 2)
    (array([[0.2, 0.8]]), array([[0, 1]]))
    """
    X = X if sparse.issparse(X) and callable(metric) else as_float_rows(X)[0]
    if method not in ("auto", "kd_tree", "brute"):
        raise ValueError(
            f"method must be 'auto', 'kd_tree' or 'brute', got {method!r}."
        )
    kind, p = metric_kind(metric, p)
    zeros = metric == "cosine" and bool(namespace(X).any(unit_rows(X, 1.0)[1]))
    if is_foreign(X) or kind < 0 or zeros:
        if method == "kd_tree":
            raise ValueError(
                "a k-d tree needs a NumPy array, one of the metrics euclidean, "
                "sqeuclidean, manhattan, chebyshev, minkowski and cosine, and for "
                "cosine rows that are not zero."
            )
        return NeighborIndex(X, metric, -1, p, options, "brute", None, None)
    X = np.ascontiguousarray(unit_rows(X, 1.0)[0] if metric == "cosine" else X)
    d = X.shape[1]
    if method == "auto":
        method = "kd_tree" if kind != 2 or tree_is_faster(len(X), d) else "brute"
    tree = tiles = None
    if method == "kd_tree" or kind != 2:
        tree = build_kd_tree(X, leaf_size or LEAF, sort=method == "kd_tree")
    else:
        tiles = center_for_products(X)
    return NeighborIndex(X, metric, kind, p, options, method, tree, tiles)


def tree_is_faster(n, d) -> bool:
    """Whether a tree is faster: each column more takes twice the rows, as measured."""
    return d < FEW or (d <= MANY and n > 2000 << (d - FEW))


def metric_kind(metric, p):
    """(kind, p) of `_kd_tree.py`; minkowski is one of the others for p = 1, 2, inf."""
    if not isinstance(metric, str):
        return -1, p
    kind = KINDS.get(metric, -1)
    if metric == "minkowski":
        if not p >= 1:
            raise ValueError(f"p of minkowski must be at least 1, got {p}.")
        kind = {1: 1, 2: 2, math.inf: 0}.get(p, 3)
    return kind, float(p)


def k_nearest(index: NeighborIndex, Q, k: int):
    """The k nearest rows of every query, eq. (1).

    Parameters
    ----------
    index : NeighborIndex
    Q : array of shape (m, d) or None
        Queries. None asks for the neighbours of the rows of the index, each row left
        out of its own list.
    k : int
        How many.

    Returns
    -------
    distances : array of shape (m, k)
        Ascending.
    rows : array of shape (m, k)
        Row numbers; of equally near rows the lower comes first.
    """
    max_k = index.n - (Q is None)
    if not 1 <= k <= max_k:
        raise ValueError(
            f"k must be between 1 and the {max_k} rows there are, got {k}."
        )
    if is_foreign(index.X):
        return _k_nearest_tensor(index, Q, k)
    is_self, (index, Q) = Q is None, _prepare_queries(index, Q)
    m = int(Q.shape[0])
    own_rows = np.arange(m) if is_self else np.full(m, -1)
    if index.kind < 0:
        return _k_nearest_any_metric(index, Q, own_rows, k)
    if index.tree is not None:
        queries = None if is_self else Q
        D, J = kd_tree.tree_k_nearest(index.reduced_metric, index.tree, queries, k)
    else:
        D, J = k_nearest_by_products(index, Q, own_rows, k)
    return _unreduced(D, index), J


def _prepare_queries(index, Q):
    """The index and the queries as they are compared; its own rows for None."""
    if Q is None:
        return index, index.X
    if sparse.issparse(index.X):
        return index, Q
    if is_foreign(index.X):
        return index, asarray(Q, like=index.X)
    Q = as_float_rows(Q, index.X)[0]
    if Q.dtype != index.X.dtype:  # the index decides
        Q = Q.astype(index.X.dtype)
    if index.metric == "cosine" and index.kind == 2:
        Q, zero = unit_rows(Q, 1.0)
        if zero.any():  # these have no direction: leave them to `cosine`
            index = index._replace(kind=-1, tree=None, tiles=None)
    return index, np.ascontiguousarray(Q)


def _unreduced(D, index):
    """Distances from reduced ones, in place."""
    if index.metric == "cosine":
        D *= 0.5
    elif index.kind == 2 and index.metric not in SQUARES:
        np.sqrt(D, out=D)
    elif index.kind == 3:
        D **= 1 / index.p
    return D


def _reduced_radii(r, index, m):
    """Radii as the loops compare them: (m,)."""
    r = np.broadcast_to(np.asarray(r, index.X.dtype), (m,))
    if index.metric == "cosine":
        r = 2 * r
    elif index.kind == 2 and index.metric not in SQUARES:
        r = np.where(r < 0, -1, r * r)
    elif index.kind == 3:
        r = np.where(r < 0, -1, np.abs(r) ** index.p)
    return np.ascontiguousarray(r, index.X.dtype)


def _k_nearest_any_metric(index, Q, excluded, k):
    """Lists for a metric known only as a function, tile by tile of its matrix."""
    m = int(Q.shape[0])
    D = np.full((m, k), np.inf, index.X.dtype)
    J = np.full((m, k), index.n, np.int64)
    for rows in block_slices(m, QUERIES):
        for columns in block_slices(index.n, 8 * ROWS):
            T = metric_tile(index, Q[rows], index.X[columns])
            _brute_force.collect_columns(
                T, columns.start, excluded[rows], D[rows], J[rows]
            )
    _neighbor_lists.sort_lists(D, J)
    return D, J


def k_smallest_columns(T, k, excluded=None):
    """The k smallest entries of each row of a distance matrix, excluded[i] left out."""
    m, n = T.shape
    D, J = np.full((m, k), np.inf, T.dtype), np.full((m, k), n, np.int64)
    excluded = np.full(m, -1) if excluded is None else excluded
    _brute_force.collect_columns(np.ascontiguousarray(T), 0, excluded, D, J)
    _neighbor_lists.sort_lists(D, J)
    return D, J


def metric_tile(index, Q, X):
    """Distances from queries to rows, by the metric itself."""
    from . import pairwise

    if not isinstance(index.metric, str):
        return index.metric(Q, X, **index.options)
    options = dict(index.options)
    if index.metric == "minkowski":
        options["p"] = index.p
    return pairwise(Q, X, metric=index.metric, **options)


def rows_within_radius(
    index: NeighborIndex, Q, r, *, block=4096, ordered=True
) -> Iterator[tuple]:
    """All rows within r of every query, eq. (2), a block of queries at a time.

    Yields (rows, indptr, indices, distances): a slice of the queries, and for query
    number i of the slice the row numbers indices[indptr[i]:indptr[i + 1]], in no set
    order, with their distances. With Q None the queries are the rows of the index, each
    a neighbour of itself. r is a number, or one for each query.

    With `ordered` False the blocks may be arrays of query numbers instead, near ones
    together, which is faster in a tree.
    """
    is_self, (index, Q) = Q is None, _prepare_queries(index, Q)
    m = int(Q.shape[0])
    radius = (
        _reduced_radii(r, index, m) if index.kind >= 0 else np.broadcast_to(r, (m,))
    )
    if index.tree is not None and not ordered:
        queries = None if is_self else Q
        parts = kd_tree.tree_within_blocks(
            index.reduced_metric, index.tree, queries, radius, block
        )
        for part in parts:
            yield *part[:3], _unreduced(part[3], index)
        return
    find = _product_radius_lists if index.tree is None else _tree_radius_lists
    find = _metric_radius_lists if index.kind < 0 else find
    tasks = (
        (lambda c=c: (c, *find(index, Q[c], radius[c]))) for c in block_slices(m, block)
    )
    yield from threads.run_tasks(tasks, blas=index.tiles is not None)


def _tree_radius_lists(index, Q, r):
    """(ends, rows, distances) by queries of the tree."""
    ends, rows, far = kd_tree.tree_within(index.reduced_metric, index.tree, Q, r)
    return ends, rows, _unreduced(far, index)


def _product_radius_lists(index, Q, r):
    """Rows within r, by tiles of matrix products."""
    pairs = zip(*pairs_within_radius(index, Q, r), strict=True)
    queries, rows, far = (np.concatenate(part) for part in pairs)
    order = np.argsort(queries, kind="stable")
    return _list_ends(queries, len(Q)), rows[order], _unreduced(far[order], index)


def _metric_radius_lists(index, Q, r):
    """Rows within r, for a metric known only as a function."""
    T = to_numpy(metric_tile(index, Q, index.X))
    queries, rows = np.nonzero(r[:, None] >= T)
    return _list_ends(queries, int(Q.shape[0])), rows, T[queries, rows]


def _list_ends(queries, m):
    """Ends of the lists of m queries: (m + 1,)."""
    ends = np.zeros(m + 1, np.int64)
    np.cumsum(np.bincount(queries, minlength=m), out=ends[1:])
    return ends


def count_within(index: NeighborIndex, Q, r, w=None):
    """The weight of the rows within r of every query, eq. (3): (m,).

    Without weights the answer is whole numbers. With Q None a row counts itself.
    """
    m = index.n if Q is None else int(Q.shape[0])
    out = np.zeros(m, np.int64 if w is None else np.float64)
    asked_by, rows = _prepare_queries(index, Q)
    if asked_by.tree is not None:
        queries = None if Q is None else rows
        radius = _reduced_radii(r, index, m)
        return kd_tree.tree_count_within(
            index.reduced_metric, index.tree, queries, radius, w, out
        )
    for cut, ends, rows, _ in rows_within_radius(index, Q, r, block=512):
        if w is None:
            out[cut] = np.diff(ends)
        else:
            query_of_pair = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            out[cut] = np.bincount(query_of_pair, w[rows], len(ends) - 1)
    return out


def _k_nearest_tensor(index, Q, k):
    """`k_nearest` for tensors: tiles on their device, the winners done again."""

    X = index.X
    is_self = Q is None
    xp = namespace(X)
    Q = X if is_self else asarray(Q, like=X)
    n = index.n
    rows = xp.arange(n, dtype=xp.int64, device=getattr(X, "device", None))
    results = []
    for cut in block_slices(int(Q.shape[0]), max(1, (1 << 24) // n)):
        D = metric_tile(index, Q[cut, :], X)
        if is_self:
            D = xp.where(rows[None, :] == rows[cut][:, None], xp.inf, D)
        nearest = xp.argsort(D, axis=1, stable=True)[:, :k]
        results.append((xp.take_along_axis(D, nearest, axis=1), nearest))
    return tuple(xp.concat(list(part)) for part in zip(*results, strict=True))
