"""Overview of a table: column summaries, principal components, clusters, density.

The result is plain numbers, small enough to be written as JSON and plotted elsewhere:
a summary of each column over all rows; and over a sample of the rows, scaled so that
no column outweighs the others (`columns.numeric_matrix`), the associations of columns,
two principal components with their shares of the variance, the k-means clusters (their
number by the silhouette of `cluster.choose_k`, none if it does not exceed that of a
single cluster), the density of rows in the plane of the components, isolation scores,
and patterns of missing values. The size of the sample is part of the result.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...core.loops.threads import single_blas
from ..findings import json_ready
from .columns import TableView, numeric_matrix, sample_rows, skewness_of, table_view
from .missingness import Missingness, missingness
from .outliers import row_outliers
from .related_columns import Association

BARS = 20
TOP = 10
SHOWN = 1000  # rows of a scatter
CLEAR = 0.25  # least silhouette of clusters
BEYOND = 0.03  # by which it must exceed that of a single cluster
WIDEST = 200  # columns whose associations are shown
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class ColumnSummary:
    """Summary statistics of one column."""

    name: str
    kind: str
    type: str
    missing: int
    distinct: int
    mean: float | None = None
    sd: float | None = None
    quantiles: list[float] = field(default_factory=list)  # at QUANTILES
    edges: list[float] = field(default_factory=list)  # of the histogram
    counts: list[int] = field(default_factory=list)
    top: list[tuple[str, int]] = field(default_factory=list)  # usual levels
    skewness: float | None = None


@dataclass(frozen=True)
class Overview:
    """An unsupervised view of a table; see the module text."""

    rows: int
    sampled: int  # rows behind all but the columns
    columns: list[ColumnSummary]
    association: dict  # names, matrix
    components: dict  # shares, loadings (column, first, second), points, rows
    clusters: dict  # k, silhouette, sizes, labels of the points, about (shifts)
    density: dict  # of the points, in the plane of the components
    outliers: dict  # scores of the points, the oddest rows
    missing: Missingness

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and dicts."""
        return json_ready(asdict(self))

    def __str__(self):
        kinds = [c.kind for c in self.columns]
        words = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
        lines = [f"{self.rows} rows, {len(kinds)} columns: {words}."]
        if self.sampled < self.rows:
            lines[0] += f" A sample of {self.sampled} rows was looked at as a whole."
        if self.components:
            a = self.components["shares"]
            summary = _cluster_findings(self.clusters)
            if len(self.components["loadings"]) > 2:
                summary = (
                    f"two components hold {sum(a[:2]):.1%} of the variance of the "
                    f"prepared columns; {summary}"
                )
            lines.append(f"{summary[:1].upper()}{summary[1:]}.")
        gone = sum(c.missing for c in self.columns)
        cells = self.rows * len(kinds)
        lines.append(f"{gone} of {cells} values are missing ({gone / cells:.1%}).")
        return "\n".join(lines)


def _cluster_findings(clusters) -> str:
    if clusters["k"] == 1:
        return "no clear clusters"
    return f"{clusters['k']} clusters (silhouette {clusters['silhouette']:.2f})"


def overview(table, *, ignore=(), rows=5000, random_state=0) -> Overview:
    """Summarise all columns, and project the rows into a plane.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    ignore : names of columns
        Not part of the points, such as the target; ids never are.
    rows : int or None
        Rows of the random sample; None for all.
    random_state : seed

    Examples
    --------
    >>> from pansophy.datasets import load
    >>> from pansophy.diagnose import overview
    >>> print(overview(load("iris").table))
    150 rows, 5 columns: 4 number, 1 text.
    Two components hold ...% of the variance of the prepared columns; 3 clusters
    (silhouette 0.58).
    0 of 750 values are missing (0.0%).
    """
    view = table_view(table)
    pick = sample_rows(view.n, rows, random_state)
    part = view if pick is None else view.take(pick)
    places = np.arange(view.n) if pick is None else pick
    ids = {c.name for c in view.columns if c.role == "id"}
    M, owners = numeric_matrix(part.without({*ignore, *ids}), balanced=True)
    with single_blas():  # many small products
        return Overview(
            view.n,
            part.n,
            [_summarize_column(c) for c in view.columns],
            _association_matrix(part),
            *_project_rows(M, owners, places, random_state),
            missingness(part),
        )


def _summarize_column(c) -> ColumnSummary:
    """Summary of one column: a histogram, or the most frequent levels."""
    gone = int(c.missing.sum())
    if c.categorical:
        counts = np.bincount(c.codes + 1, minlength=1)[1:]
        order = np.argsort(-counts, kind="stable")[:TOP]
        top = [(_shorten_text(c.levels[i]), int(counts[i])) for i in order if counts[i]]
        return ColumnSummary(
            c.name, c.kind, c.type, gone, int((counts > 0).sum()), top=top
        )
    x = c.numbers[~c.missing]
    if not len(x):
        return ColumnSummary(c.name, c.kind, c.type, gone, 0)
    x = np.sort(x)
    distinct = 1 + int(np.count_nonzero(x[1:] != x[:-1]))
    positions = np.array(QUANTILES) * (len(x) - 1)
    with np.errstate(over="ignore"):
        counts, edges = _column_histogram(x)
        mean, sd = float(x.mean()), float(x.std())
    return ColumnSummary(
        c.name,
        c.kind,
        c.type,
        gone,
        distinct,
        mean,
        sd,
        quantiles=x[positions.round().astype(int)].tolist(),
        edges=edges.tolist(),
        counts=counts.tolist(),
        skewness=skewness_of(x),
    )


def _column_histogram(x):
    """Histogram between the 0.5 % quantiles, with the tails in the outer bars."""
    low, high = x[int(0.005 * (len(x) - 1))], x[int(np.ceil(0.995 * (len(x) - 1)))]
    if not (high > low and np.isfinite(high - low)):
        low, high = x[0], x[-1]
    if not (high > low and np.isfinite(high - low) and (high - low) / BARS > 0):
        return np.array([len(x)]), np.array([x[0], x[-1]])
    edges = np.linspace(low, high, BARS + 1)
    if not np.all(np.diff(edges) > 0):  # too narrow for so many bars
        return np.array([len(x)]), np.array([x[0], x[-1]])
    return np.histogram(np.clip(x, low, high), edges)


def _shorten_text(text, most=60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _association_matrix(part: TableView) -> dict:
    """Association matrix of at most WIDEST columns, as a dict."""
    shown_view = TableView(part.n, part.columns[:WIDEST])
    result = Association(shown_view)
    return {"names": result.names, "matrix": np.round(result.matrix, 4).tolist()}


def _project_rows(M, owners, places, seed):
    """Principal components, clusters, density and outliers of the prepared rows."""
    n, d = M.shape
    if n < 5 or d < 1:
        return {}, {}, {}, {}
    from ...decomposition import PCA

    pca = PCA(n_components=min(2, d, n - 1)).fit(M)
    Z = pca.transform(M)
    shown = sample_rows(n, SHOWN, seed)
    shown = np.arange(n) if shown is None else shown
    k, silhouette = _number_of_clusters(M[shown], seed)
    labels, sizes, descriptions = _describe_clusters(M, owners, k, seed)
    odd = row_outliers(M, seed)
    V = pca.components_
    loadings = [
        [o, *(round(float(v), 4) for v in V[:, j])] for j, o in enumerate(owners)
    ]
    components = {
        "shares": pca.explained_variance_ratio_.tolist(),
        "loadings": loadings,
        "points": np.round(Z[shown], 4).tolist(),
        "rows": places[shown].tolist(),
    }
    clusters = {
        "k": k,
        "silhouette": silhouette,
        "sizes": sizes,
        "labels": labels[shown].tolist(),
        "about": descriptions,
    }
    rows = odd.rows[:20]
    outliers = {
        "scores": np.round(odd.scores[shown], 4).tolist(),
        "limit": odd.limit,
        "rows": places[rows].tolist(),
        "row_scores": odd.scores[rows].tolist(),
        "count": len(odd.rows),
    }
    return components, clusters, _plane_density(Z, shown), outliers


def _number_of_clusters(M, seed):
    """The number of clusters and their silhouette.

    It is 1 unless the silhouette exceeds that of a single cluster of the same shape.
    """
    from ...cluster import choose_k

    max_clusters = min(
        8, len(np.unique(M[:200], axis=0)) // 3, int(np.sqrt(len(M) / 2))
    )
    if max_clusters < 2:
        return 1, 0.0
    if M.shape[1] > len(M):  # turned into as many columns as rows: distances stay
        U, s, _ = np.linalg.svd(M - M.mean(0), full_matrices=False)
        M = U * s
    ks = range(2, max_clusters + 1)
    choice = choose_k(M, ks, method="silhouette", n_init=2, random_state=seed)
    best = float(np.nanmax(choice.scores))
    if best < CLEAR or best < _single_cluster_silhouette(M, choice.k, seed) + BEYOND:
        return 1, best
    return choice.k, best


def _single_cluster_silhouette(M, k, seed) -> float:
    """Silhouette of k clusters fitted to one normal or uniform cloud shaped like M."""
    from ...cluster import choose_k

    rng = np.random.default_rng(seed)
    _, s, V = np.linalg.svd(M - M.mean(0), full_matrices=False)
    size = (len(M), len(s))
    draws = rng.standard_normal(size), rng.uniform(-1, 1, size) * np.sqrt(3)
    best = -np.inf
    for z in draws:
        cloud = z * s / np.sqrt(len(M)) @ V
        choice = choose_k(cloud, [k], method="silhouette", n_init=2, random_state=seed)
        best = max(best, float(choice.scores[0]))
    return best


def _describe_clusters(M, owners, k, seed):
    """Labels, sizes, and the columns that distinguish each cluster."""
    from ...cluster import KMeans

    labels = KMeans(k, n_init=2, random_state=seed).fit_predict(M)
    sizes = np.bincount(labels, minlength=k)
    order = np.argsort(-sizes, kind="stable")
    labels, sizes = np.argsort(order)[labels], sizes[order]
    descriptions = []
    for i in range(k if k > 1 else 0):
        shift = M[labels == i].mean(0) - M.mean(0)
        best: dict[str, float] = {}
        for j in np.argsort(-np.abs(shift)):
            best.setdefault(owners[j], round(float(shift[j]), 3))
        descriptions.append(dict(list(best.items())[:3]))
    return labels, sizes.tolist(), descriptions


def _plane_density(Z, shown) -> dict:
    """Kernel estimate of the log density of the shown points in the plane."""
    from ...neighbors import KernelDensity

    size = Z.std(0)
    if not np.all(size > 0):
        return {}
    part = Z[shown] / size
    width = len(part) ** (-1 / (part.shape[1] + 4))  # the rule of thumb for normals
    log = KernelDensity(bandwidth=max(width, 1e-3)).fit(part).score_samples(part)
    return {"bandwidth": width, "log_density": np.round(log, 4).tolist()}
