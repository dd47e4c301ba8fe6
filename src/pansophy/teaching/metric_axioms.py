"""Checks of the metric axioms on a sample, and a distance that fails them.

    d(x, z) >= 0      d(x, x) = 0      d(x, z) = d(z, x)                        (1)
    d(x, z) > 0 for x != z             d(x, z) <= d(x, y) + d(y, z)             (2)

The mutual neighbour distance of Gowda and Krishna adds two ranks,

    d(i, j) = rank of j among i's neighbours + rank of i among j's              (3)

which is symmetric but breaks the triangle inequality.

Refs      [Gowda1979]
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays.arrays import to_numpy


class MetricReport(NamedTuple):
    """For each axiom None, or the rows of a counterexample."""

    negative: tuple | None  # d(i, j) < 0
    self_distance: tuple | None  # d(i, i) != 0
    asymmetric: tuple | None  # d(i, j) != d(j, i)
    indiscernible: tuple | None  # rows differ, d(i, j) = 0
    triangle: tuple | None  # (i, k, j) with d(i, j) > d(i, k) + d(k, j)

    @property
    def is_metric(self) -> bool:
        """Whether no counterexample was found."""
        return all(counterexample is None for counterexample in self)

    def __str__(self):
        bad = [
            f"{name} at rows {rows}" for name, rows in self._asdict().items() if rows
        ]
        return "not a metric: " + "; ".join(bad) if bad else "no axiom is broken"


def check_metric(distance, X, *, tol=1e-9) -> MetricReport:
    """Try the axioms (1) and (2) on the rows of X.

    `distance` is the name of a metric, a function of (X, Z) that gives a matrix, or
    a matrix of distances between the rows of X. Differences up to `tol` times the
    largest distance count as rounding.

    Examples
    --------
    >>> from pansophy.teaching import check_metric
    >>> points = [[0.0], [1.0], [2.0]]
    >>> check_metric("euclidean", points).is_metric
    True
    >>> print(check_metric("squared_euclidean", points))
    not a metric: triangle at rows (0, 1, 2)
    """
    X = np.asarray(to_numpy(X))
    D = distance
    if isinstance(distance, str) or callable(distance):
        from ..distances import pairwise

        D = pairwise(X, X, metric=distance)
    D = np.asarray(to_numpy(D), dtype=np.float64)
    if D.shape != (len(X), len(X)):
        raise ValueError(f"expected {len(X)} x {len(X)} distances, got {D.shape}.")
    slack = tol * np.abs(D).max(initial=0.0)
    is_same_row = (X.reshape(len(X), 1, -1) == X.reshape(1, len(X), -1)).all(axis=2)
    return MetricReport(
        _first_true(-slack > D),
        _first_true(np.diag(np.abs(np.diagonal(D)) > slack)),
        _first_true(np.abs(D - D.T) > slack),
        _first_true((D <= 0) & ~is_same_row),
        _broken_triangle(D, slack),
    )


def _first_true(where):
    """The first position that is True, or None."""
    positions = np.argwhere(where)
    return tuple(int(i) for i in positions[0]) if len(positions) else None


def _broken_triangle(D, slack):
    """The worst (i, k, j) with d(i, j) > d(i, k) + d(k, j), or None."""
    worst = slack
    result = None
    for k in range(len(D)):
        gap = D - (D[:, k, None] + D[None, k, :])
        flat_place = int(np.argmax(gap))
        if gap.flat[flat_place] > worst:
            i, j = divmod(flat_place, len(D))
            worst = gap.flat[flat_place]
            result = (i, k, j)
    return result


def mutual_neighbour(X, *, metric="euclidean", **options):
    """Eq. (3) between the rows of X: whole numbers, 0 on the diagonal.

    The nearest neighbour has rank 1; of equally near rows the earlier comes first.

    Examples
    --------
    >>> from pansophy.teaching import mutual_neighbour
    >>> mutual_neighbour([[9, 7], [3, 8], [3, 1], [5, 8], [6, 3]])[0]
    array([0, 6, 8, 3, 4])
    """
    from ..distances import pairwise

    D = to_numpy(pairwise(X, metric=metric, **options)).copy()
    np.fill_diagonal(D, -np.inf)  # a row comes before all its neighbours
    order = np.argsort(D, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(D))[None, :], axis=1)
    return rank + rank.T
