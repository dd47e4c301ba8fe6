"""Distances between rows: metrics, nearest rows, checks of the metric axioms.

`METRICS` lists every metric by name; the common battery runs over it. `pairwise` takes
one of those names or a function.
"""

from .correlation import pearson
from .pairwise_metrics import (
    Nearest,
    as_float_rows,
    chebyshev,
    cosine,
    distance_matrix_function,
    euclidean,
    hamming,
    mahalanobis,
    manhattan,
    minkowski,
    pairwise_argmin,
    squared_euclidean,
)

METRICS = {
    "euclidean": euclidean,
    "squared_euclidean": squared_euclidean,
    "sqeuclidean": squared_euclidean,
    "manhattan": manhattan,
    "cityblock": manhattan,
    "l1": manhattan,
    "l2": euclidean,
    "chebyshev": chebyshev,
    "minkowski": minkowski,
    "cosine": cosine,
    "hamming": hamming,
    "pearson": pearson,
    "correlation": pearson,
    "mahalanobis": mahalanobis,
}

__all__ = [
    "METRICS",
    "Nearest",
    "chebyshev",
    "cosine",
    "distance_matrix_function",
    "euclidean",
    "hamming",
    "mahalanobis",
    "manhattan",
    "minkowski",
    "pairwise_argmin",
    "pairwise",
    "pearson",
    "squared_euclidean",
]


def pairwise(X, Z=None, metric="euclidean", **options):
    """Distances between the rows of X and Z (X itself if None).

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (m, d)
    metric : str or callable, default="euclidean"
        A name in `METRICS`, or a function: of two rows, which returns a number, as
        everywhere in scikit-learn and SciPy, or of (X, Z), which returns an (n, m)
        matrix. `distance_matrix_function` tells them apart.
    **options
        Given to the metric: `p` for minkowski, `cov` for mahalanobis, `zero` for
        cosine.

    Examples
    --------
    >>> pairwise([[0.0, 0.0]], [[3.0, 4.0]]).item()
    5.0
    """
    if isinstance(metric, str):
        if metric not in METRICS:
            known = ", ".join(METRICS)
            raise ValueError(
                f"metric must be one of {known} or a function, got {metric!r}."
            )
        return METRICS[metric](X, Z, **options)
    X, Z = as_float_rows(X, Z)
    return distance_matrix_function(metric, **options)(X, Z)
