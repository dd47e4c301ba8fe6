"""What every neighbour model has in common: its rows, its metric, four questions.

    kneighbors         the k nearest fitted rows of each query                   (1)
    radius_neighbors   the fitted rows within a radius of each query             (2)
    ..._graph          the same as a sparse matrix, (m, n)                       (3)

Distances are those of `distances.search`; a kernel k(x, z) as metric means

    d(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z)                                   (4)

the distance of the images of x and z in the space of the kernel. Metrics that are
only scikit-learn's (hamming, jaccard, ...) are asked of scikit-learn, tile by tile.
Functions here take the model; its methods of the same names are one line each.

Shapes    X (n, d)   queries (m, d)
"""

import math
import numbers
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import (
    PAIRED_DISTANCES,
    PAIRWISE_BOOLEAN_FUNCTIONS,
    PAIRWISE_DISTANCE_FUNCTIONS,
)
from sklearn.utils.validation import check_is_fitted

from ..core import threads
from ..core.arrays import namespace
from ..distances import METRICS, neighbor_search
from ..distances._kd_tree_queries import restore_query_order
from ..kernels import AbstractKernel
from ..params import ParameterError, Rule

Power = Annotated[float, Rule("a number of at least 1, or inf", lambda v: v >= 1)]
OTHERS = {"braycurtis", "canberra", "correlation", "dice", "hamming", "jaccard"}
OTHERS |= {"rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "yule"}
OTHERS |= set(PAIRWISE_DISTANCE_FUNCTIONS) | set(PAIRED_DISTANCES)
SPARSE = set(PAIRWISE_DISTANCE_FUNCTIONS) - {"haversine", "nan_euclidean"}
SPARSE -= {"precomputed"}
NAMES = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}


def kernel_distance(kernel, X, Z=None):
    """Eq. (4) for all pairs: (n, m).

    Examples
    --------
    >>> from pansophy.kernels import Linear
    >>> from pansophy.neighbors import kernel_distance
    >>> kernel_distance(Linear(), [[1.0, 2.0]], [[3.0, -1.0]]).round(6)
    array([[3.605551]])
    """
    X = neighbor_search.as_float_rows(X)[0]
    Z = X if Z is None else neighbor_search.as_float_rows(Z)[0]
    D = kernel.diag(X)[:, None] + kernel.diag(Z)[None, :] - 2 * kernel(X, Z)
    xp = namespace(D)
    return xp.sqrt(xp.where(D > 0, D, xp.zeros_like(D)))


def effective(model) -> tuple[Any, dict]:
    """The metric meant by the parameters, and its own parameters."""
    metric, extra = model.metric, dict(model.metric_params or {})
    allowed = {"p", "w"} if metric == "minkowski" else set()
    quick = isinstance(metric, str) and metric in neighbor_search.KINDS
    if quick and not set(extra) <= allowed:
        raise ParameterError(
            f"metric_params of {type(model).__name__} holds "
            f"{min(set(extra) - allowed)!r}, which the metric {metric} does not take."
        )
    if metric == "minkowski":
        p = extra.pop("p", getattr(model, "p", 2))
        if p in NAMES and "w" not in extra:
            return NAMES[p], extra
        return metric, {**extra, "p": p}
    if isinstance(metric, str) and metric not in METRICS and metric not in OTHERS:
        raise ParameterError(
            f"metric of {type(model).__name__} must be one of "
            f"{', '.join(sorted(set(METRICS) | OTHERS))}, a function of two rows or a "
            f"kernel, got {metric!r}."
        )
    needed = {"mahalanobis": {"V", "VI"}, "seuclidean": {"V"}}.get(metric, set())
    if needed and not needed & set(extra):
        raise ParameterError(
            f"metric_params of {type(model).__name__} must give "
            f"{' or '.join(sorted(needed))} for the metric {metric}."
        )
    return metric, extra


def as_function(metric, extra):
    """A metric as a function of (Q, X) that gives their matrix of distances."""
    if isinstance(metric, AbstractKernel):
        return lambda Q, X: kernel_distance(metric, Q, X)
    finite = "allow-nan" if metric == "nan_euclidean" else True
    kind = bool if metric in PAIRWISE_BOOLEAN_FUNCTIONS else None
    metric = "correlation" if metric == "pearson" else metric
    if metric == "mahalanobis" and "VI" not in extra:
        extra = {"VI": np.linalg.inv(extra["V"])}

    def distances(Q, X):
        Q, X = (A if kind is None else A.astype(kind) for A in (Q, X))
        return np.ascontiguousarray(
            pairwise_distances(Q, X, metric=metric, ensure_all_finite=finite, **extra)
        )

    return distances


def index_of(model):
    """The search index of a fitted model; None for precomputed distances."""
    metric, extra = effective(model)
    X = model._fit_X
    if metric == "precomputed":
        return None
    method = "kd_tree" if model.algorithm == "ball_tree" else model.algorithm
    quick = (
        isinstance(metric, str) and metric in neighbor_search.KINDS and "w" not in extra
    )
    if sparse.issparse(X) and isinstance(metric, str) and metric not in SPARSE:
        raise ParameterError(
            f"metric of {type(model).__name__} must be one of "
            f"{', '.join(sorted(SPARSE))} for sparse rows, got {metric!r}."
        )
    if sparse.issparse(X) or not quick:
        if method == "kd_tree":
            raise ParameterError(
                f"algorithm of {type(model).__name__} must be 'auto' or 'brute' for "
                f"{'sparse rows' if quick else f'the metric {metric!r}'}, got "
                f"{model.algorithm!r}."
            )
        return neighbor_search.build_index(X, metric=as_function(metric, extra))
    p = float(extra.get("p", 2))
    return neighbor_search.build_index(
        X, metric=metric, p=p, method=method, leaf_size=model.leaf_size
    )


def checks(model) -> dict:
    """How the rows of a model are to be checked."""
    finite = "allow-nan" if model.metric == "nan_euclidean" else True
    return {"accept_sparse": "csr", "order": "C", "ensure_all_finite": finite}


def store(model, X):
    """Keep the rows and make them ready; every `fit` does this first."""
    metric, extra = effective(model)
    if metric == "precomputed":
        if sparse.issparse(X):
            raise TypeError("a sparse graph is not taken as precomputed distances.")
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be square, got {X.shape[0]} x {X.shape[1]}."
            )
        if X.min() < 0:
            raise ValueError("Negative values in data passed to precomputed distances.")
    model._fit_X, model.n_samples_fit_ = X, int(X.shape[0])
    model.effective_metric_, model.effective_metric_params_ = metric, extra
    model.__dict__.pop("_index", None)
    with threads.limited(model.n_jobs):
        return model._index


def wanted(model, k, same):
    """The number of neighbours asked for, if there are as many."""
    k = model.n_neighbors if k is None else k
    if not isinstance(k, numbers.Integral):
        raise TypeError(f"n_neighbors must be a whole number, got {type(k).__name__}.")
    n = model.n_samples_fit_
    if k < 1:
        raise ValueError(f"Expected n_neighbors > 0. Got {k}")
    if k > n - same:
        sign = "<" if same else "<="
        raise ValueError(
            f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, "
            f"n_samples_fit = {n}, n_samples = {n if same else 'any'}"
        )
    return int(k)


def nearest(model, X, k):
    """Eq. (1): distances and rows, for checked queries or None."""
    with threads.limited(model.n_jobs):
        if model._index is None:
            own = np.arange(model.n_samples_fit_) if X is None else None
            return neighbor_search.k_smallest_columns(
                model._fit_X if X is None else X, k, own
            )
        return neighbor_search.k_nearest(model._index, X, k)


def queries(model, X):
    """Queries checked against the fitted rows."""
    check_is_fitted(model)
    if X is None:
        return None
    X = model._ready(X, **checks(model))
    both = sparse.issparse(X) and not sparse.issparse(model._fit_X)
    return X.toarray() if both else X


def kneighbors(model, X=None, n_neighbors=None, return_distance=True):
    """Eq. (1)."""
    X = queries(model, X)
    D, J = nearest(model, X, wanted(model, n_neighbors, X is None))
    return (D, J) if return_distance else J


def kneighbors_graph(model, X=None, n_neighbors=None, mode="connectivity"):
    """Eq. (3) of eq. (1)."""
    X = queries(model, X)
    k = wanted(model, n_neighbors, X is None)
    D, J = nearest(model, X, k)
    data = weights_of(mode, D.ravel())
    ends = np.arange(0, J.size + 1, k)
    return sparse.csr_matrix((data, J.ravel(), ends), (len(J), model.n_samples_fit_))


def weights_of(mode, D):
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )
    return np.ones(len(D)) if mode == "connectivity" else D


def around(model, X, radius):
    """Eq. (2) as (indptr, indices, distances); without X no row finds itself."""
    X = queries(model, X)
    r = model.radius if radius is None else radius
    if not isinstance(r, numbers.Real) or not float(r) >= 0:
        raise ValueError(f"radius must be a number of at least 0, got {r!r}.")
    parts = []
    with threads.limited(model.n_jobs):
        if model._index is None:
            D = model._fit_X if X is None else X
            who, rows = np.nonzero(r >= D)
            ends = np.append(0, np.cumsum(np.bincount(who, minlength=len(D))))
            parts.append((slice(0, len(D)), ends, rows, D[who, rows]))
        else:
            parts.extend(
                neighbor_search.rows_within_radius(model._index, X, r, ordered=False)
            )
    m = model.n_samples_fit_ if X is None else int(X.shape[0])
    who = np.concatenate([np.arange(m)[part[0]] for part in parts])
    counts = np.concatenate([np.diff(part[1]) for part in parts])
    rows, far = (np.concatenate([part[t] for part in parts]) for t in (2, 3))
    ends = np.append(0, np.cumsum(counts))
    if X is None:  # a row may be missing from its own list if the metric is given
        other = rows != np.repeat(who, counts)
        ends = np.append(0, np.cumsum(other))[ends]
        rows, far = rows[other], far[other]
    ends, rows, far = restore_query_order(who, ends, rows, far)
    lists = sparse.csr_array((far, rows, ends), (m, model.n_samples_fit_))
    lists.sort_indices()
    return lists.indptr, lists.indices.astype(np.int64, copy=False), lists.data


def radius_neighbors(
    model, X=None, radius=None, return_distance=True, sort_results=False
):
    """Eq. (2): for each query an array of rows, and one of distances."""
    if sort_results and not return_distance:
        raise ValueError("return_distance must be True if sort_results is True.")
    ends, rows, far = around(model, X, radius)
    m = len(ends) - 1
    J, D = np.empty(m, object), np.empty(m, object)
    for i in range(m):
        own = slice(ends[i], ends[i + 1])
        J[i], D[i] = rows[own], far[own]
        if sort_results:
            order = np.argsort(D[i], kind="stable")
            J[i], D[i] = J[i][order], D[i][order]
    return (D, J) if return_distance else J


def radius_neighbors_graph(
    model, X=None, radius=None, mode="connectivity", sort_results=False
):
    """Eq. (3) of eq. (2)."""
    if sort_results and mode == "connectivity":
        raise ValueError("sort_results sorts by distance: mode must be 'distance'.")
    ends, rows, far = around(model, X, radius)
    if sort_results:
        who = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        order = np.lexsort((rows, far, who))
        rows, far = rows[order], far[order]
    shape = (len(ends) - 1, model.n_samples_fit_)
    return sparse.csr_matrix((weights_of(mode, far), rows, ends), shape)


def tags(model, tags):
    """scikit-learn's tags of a neighbour model."""
    tags.input_tags.sparse = model.metric != "precomputed"
    tags.input_tags.pairwise = model.metric == "precomputed"
    tags.input_tags.allow_nan = model.metric == "nan_euclidean"
    return tags
