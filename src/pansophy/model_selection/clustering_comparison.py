"""Compare clusterers on one data set: agreement, cost, stability and validity.

There is no right answer to be scored against, so methods are held against one another
and against themselves:

    agreement   A_ab = adjusted Rand index of the labels of methods a and b     (1)
    stability   mean over subsamples S of the adjusted Rand index of the labels
                fitted to S and the labels fitted to all rows, on S             (2)
    cost        sum_i |x_i - mean of its cluster|^2, the same yardstick for all (3)

and the internal indices of `pansophy.cluster.validity`. (1) is symmetric with 1 on the
diagonal; (1) and (2) are blind to the names of clusters and 0 on average for labels by
chance. Every method sees the same subsamples. (3) is k-means' own aim and favours it,
and falls with the number of clusters: compare it between methods that found as many.

Time: 1 + n_resamples fits for each method. Memory that of the methods.

Shapes    X (n, d)   A (m, m) for m methods
Refs      [BenHur2002] eq. (2); [Hubert1985] the adjusted index
"""

import time
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from ..base import validate_rows
from ..core.random import draw_seed, make_rng
from ..params import ParameterError


class ClusteringRow(NamedTuple):
    """One method."""

    method: str
    n_clusters: int
    n_noise: int
    cost: float  # eq. (3)
    stability: float  # eq. (2), NaN without resamples
    silhouette: float  # NaN for fewer than two clusters
    davies_bouldin: float
    adjusted_rand: float  # with y, NaN without
    fit_seconds: float
    remarks: str


@dataclass
class ClusteringComparison:
    """Result of `compare_clusterings`.

    Attributes
    ----------
    rows : list of Row
        One for each method that finished, in the order given.
    agreement : array of shape (m, m)
        Eq. (1).
    labels : dict
        The labels of each method by name.
    disqualified : list of (name, reason)
        Methods that failed.
    settings : dict
        How the comparison was made.
    """

    rows: list[ClusteringRow]
    agreement: np.ndarray
    labels: dict = field(repr=False)
    disqualified: list[tuple[str, str]]
    settings: dict

    def records(self) -> list[dict]:
        """The table as plain dicts, one per method."""
        return [row._asdict() for row in self.rows]

    def to_pandas(self):
        """The table as a pandas dataframe."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def __str__(self):
        known = self.settings["known"]
        names = [n for n in ClusteringRow._fields if known or n != "adjusted_rand"]
        body = [[_format_cell(getattr(row, n)) for n in names] for row in self.rows]
        s = self.settings
        lines = [
            f"{s['rows']} rows, {s['columns']} columns; stability over "
            f"{s['n_resamples']} subsamples of {s['share']:.0%}, seed {s['seed']}",
            "",
            *_aligned_lines([[n.replace("_", " ") for n in names], *body]),
            "",
            "agreement (adjusted Rand index)",
        ]
        methods = [r.method for r in self.rows]
        table = [[n, *map(_format_cell, a)] for n, a in zip(methods, self.agreement)]
        lines += _aligned_lines([["", *methods], *table])
        lines += [
            f"Disqualified: {name} ({reason})." for name, reason in self.disqualified
        ]
        return "\n".join(lines)


def _format_cell(value) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.3g}"
    return str(value)


def _aligned_lines(table) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in table]


def _clusterers_by_name(methods, k):
    """Methods as a dict of name -> clusterer."""
    if methods is None:
        from ..cluster import KMeans, KMedoids, SpectralClustering

        methods = [KMeans(k), KMedoids(k)]
        methods.append(SpectralClustering(k, affinity="nearest_neighbors"))
    if isinstance(methods, dict):
        return dict(methods)
    result: dict = {}
    for method in methods:
        name = type(method).__name__
        count = sum(n.split(" #")[0] == name for n in result)
        result[f"{name} #{count + 1}" if count else name] = method
    return result


def _fit_labels(method, X, seed):
    """Labels of a clone fitted to X, and how long that took."""
    model = clone(method)
    if "random_state" in model.get_params() and model.random_state is None:
        model.set_params(random_state=seed)
    start_time = time.perf_counter()
    labels = model.fit_predict(X)
    return np.asarray(labels), time.perf_counter() - start_time


def _evaluate_clusterer(name, method, X, y, samples, seed):
    """One row of the table, and the labels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels, seconds = _fit_labels(method, X, seed)
        rerun_scores = [
            adjusted_rand_score(labels[s], _fit_labels(method, X[s], seed)[0])
            for s in samples
        ]
    warned = {w.category.__name__ for w in caught}
    from ..cluster import validity

    v = validity(X, labels, y)
    row = ClusteringRow(
        name,
        v["n_clusters"],
        v["n_noise"],
        v.get("within_ss", float("nan")),
        float(np.mean(rerun_scores)) if rerun_scores else float("nan"),
        v.get("silhouette", float("nan")),
        v.get("davies_bouldin", float("nan")),
        v.get("adjusted_rand", float("nan")),
        seconds,
        "; ".join(sorted(warned)),
    )
    return row, labels


def compare_clusterings(
    X,
    methods=None,
    *,
    n_clusters=3,
    y=None,
    n_resamples=10,
    share=0.8,
    random_state=None,
) -> ClusteringComparison:
    """Fit several clusterers to the same rows and hold them against one another.

    Parameters
    ----------
    X : array of shape (n, d)
    methods : list or dict of clusterers, optional
        Anything with `fit_predict`; a dict gives them names. None compares k-means,
        k-medoids and spectral clustering.
    n_clusters : int
        Of the default methods.
    y : array of shape (n,), optional
        Labels known to be right, for one more column.
    n_resamples : int
        Subsamples for eq. (2).
    share : float
        How many of the rows each has.
    random_state : None, int, RandomState or Generator
        Where chance comes from; also given to methods whose own is None.

    Returns
    -------
    Clusterings
        Prints as a table; `rows`, `agreement` and `labels` hold the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.cluster import KMeans, KMedoids
    >>> from pansophy.compare import compare_clusterings
    >>> X = np.repeat([0.0, 1.0], 20)[:, None] + np.linspace(0, 0.1, 40)[:, None]
    >>> found = compare_clusterings(X, [KMeans(2), KMedoids(2)], random_state=0)
    >>> found.agreement
    array([[1., 1.],
           [1., 1.]])
    >>> [row.stability for row in found.rows]
    [1.0, 1.0]
    """
    todo = _clusterers_by_name(methods, n_clusters)
    if not todo:
        raise ParameterError("methods must name at least one clusterer.")
    for name, method in todo.items():
        if not hasattr(method, "fit_predict"):
            raise ParameterError(f"{name} has no fit_predict: it is not a clusterer.")
    if not 0 < share <= 1 or n_resamples < 0:
        raise ParameterError("share must be from 0 to 1 and n_resamples at least 0.")
    from ..cluster import KMeans

    X = validate_rows(KMeans(), X, dtype=(np.float64, np.float32), ensure_min_samples=2)
    rng = make_rng(random_state)
    seed = draw_seed(rng)
    n = len(X)
    size = max(2, round(share * n))
    samples = [np.sort(rng.permutation(n)[:size]) for _ in range(n_resamples)]
    rows = []
    labels = {}
    failed = []
    for name, method in todo.items():
        try:
            row, labels[name] = _evaluate_clusterer(name, method, X, y, samples, seed)
            rows.append(row)
        except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
            failed.append((name, str(error).strip().splitlines()[0].rstrip(".")))
    agree = np.eye(len(rows))
    for a, first_row in enumerate(rows):
        for b in range(a):
            pair = labels[first_row.method], labels[rows[b].method]
            agree[a, b] = agree[b, a] = adjusted_rand_score(*pair)
    settings = {"rows": n, "columns": X.shape[1], "n_resamples": n_resamples}
    settings |= {"share": share, "seed": random_state, "known": y is not None}
    return ClusteringComparison(rows, agree, labels, failed, settings)
