"""Report on several k-means runs: local optima, outliers, clusters of one row.

K-means ends in a local optimum, so one run says little. `diagnose_kmeans` makes
several and reports how the costs J differ, how well their clusterings agree (adjusted
Rand index against the best), what share of the runs came within `near` of the best
cost, clusters of a single row, and rows far from their centre:

    |x_i - c_{z_i}|  >  far * median_l |x_l - c_{z_l}|                          (1)

Each finding that a reader should act on is one sentence of `warnings`.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ...core.random import draw_seed, make_rng
from .kmeans import KMeans


@dataclass(frozen=True)
class KMeansReport:
    """Several runs of k-means side by side.

    Attributes
    ----------
    model : KMeans
        The best run.
    costs : array
        J of each run, given starts first.
    agreement : array
        Adjusted Rand index of each run with the best one.
    reached : float
        Share of the runs that came near the best cost.
    sizes : array of shape (k,)
        Rows in each cluster of the best run.
    singles : array
        Clusters that are one row.
    outliers : array
        Numbers of the rows of eq. (1).
    warnings : tuple of str
    """

    model: KMeans
    costs: np.ndarray
    agreement: np.ndarray
    share_near_best: float
    sizes: np.ndarray
    singletons: np.ndarray
    outliers: np.ndarray
    warnings: tuple

    def __str__(self):
        low = self.costs.min()
        high = self.costs.max()
        lines = [
            f"{len(self.costs)} runs, cost {low:.6g} to {high:.6g}, "
            f"{self.share_near_best:.0%} of them near the best",
            f"agreement with the best run {self.agreement.mean():.3f} on average",
            f"cluster sizes {self.sizes.min()} to {self.sizes.max()}",
            *self.warnings,
        ]
        return "\n".join(lines)


def diagnose_kmeans(
    X,
    n_clusters=8,
    *,
    n_init=10,
    given_centers=(),
    init="k-means++",
    outlier_factor=5.0,
    cost_tolerance=0.01,
    random_state=None,
) -> KMeansReport:
    """Run k-means several times and say what to beware of.

    Parameters
    ----------
    X : array of shape (n, d)
    n_clusters : int
    n_init : int
        Runs from drawn starts.
    given_centers : sequence of arrays of shape (k, d)
        Further runs, from these centres.
    init : str
        How starts are drawn, as in `KMeans`.
    outlier_factor : float
        Multiple of the median distance at which a row is an outlier, eq. (1).
    cost_tolerance : float
        Relative difference of cost that counts as reaching the best.
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> from pansophy.cluster import diagnose_kmeans
    >>> X = [[0.0], [0.5], [5.0], [5.5], [20.0], [20.5]]
    >>> stuck = [[0.0], [20.0], [20.5]]
    >>> report = diagnose_kmeans(X, 3, given_centers=[stuck], n_init=5, random_state=0)
    >>> float(report.costs[0]), report.model.inertia_
    (25.25, 0.375)
    """
    if n_init + len(given_centers) < 1:
        raise ValueError("diagnose_kmeans needs at least one run: raise n_init.")
    rng = make_rng(random_state)
    runs = [KMeans(n_clusters, init=C, n_init=1).fit(X) for C in given_centers]
    for _ in range(n_init):
        model = KMeans(n_clusters, init=init, n_init=1, random_state=draw_seed(rng))
        runs.append(model.fit(X))
    costs = np.array([m.inertia_ for m in runs])
    best = runs[int(np.argmin(costs))]
    agreement = [adjusted_rand_score(best.labels_, m.labels_) for m in runs]
    near_best = costs - costs.min() <= cost_tolerance * max(costs.min(), 1e-300)
    sizes = np.bincount(best.labels_, minlength=n_clusters)
    D = np.min(best.transform(X), axis=1)
    typical = np.median(D)
    outliers = np.flatnonzero(outlier_factor * typical < D) if typical > 0 else []
    report = KMeansReport(
        model=best,
        costs=costs,
        agreement=np.array(agreement),
        share_near_best=float(np.mean(near_best)),
        sizes=sizes,
        singletons=np.flatnonzero(sizes == 1),
        outliers=np.asarray(outliers, int),
        warnings=(),
    )
    return replace(report, warnings=tuple(report_warnings(report, outlier_factor)))


def report_warnings(report, outlier_factor):
    """One sentence for each finding that a reader should act on."""
    share = report.share_near_best
    agreement = report.agreement.mean()
    if share < 0.5 and len(report.costs) > 1:
        yield (
            f"Only {share:.0%} of the runs came near the best cost: runs stick in "
            "local optima, so raise n_init."
        )
    if agreement < 0.8:
        yield (
            f"Runs agree poorly (adjusted Rand index {agreement:.2f}): the clusters "
            "may not be real, or n_clusters is wrong."
        )
    singletons, outliers = report.singletons, report.outliers
    if len(singletons):
        yield (
            f"{len(singletons)} clusters are a single row (cluster {singletons[0]} "
            "first): likely an outlier; remove it, or trim with TrimmedKMeans."
        )
    if len(outliers):
        yield (
            f"{len(outliers)} rows are more than {outlier_factor:g} times the median "
            f"distance from their centre (row {outliers[0]} first)."
        )
    low = report.sizes.min()
    high = report.sizes.max()
    if low and high > 50 * low:
        yield (
            f"Cluster sizes differ by a factor of {high / low:.0f}: "
            "k-means prefers equal ones; a mixture model may fit better."
        )
