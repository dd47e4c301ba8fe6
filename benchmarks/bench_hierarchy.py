"""Linkage trees against SciPy and scikit-learn, density clusters against peers."""

import numpy as np

from .runner import Case


def cloud(size):
    """Rows of a normal."""
    n, d = size
    return np.random.default_rng(0).normal(size=(n, d))


def ours_by(method):
    def fit(X):
        from pansophy.cluster import linkage_matrix

        return linkage_matrix(X, method)[:, 2]

    return fit


def scipy_by(method):
    def fit(X):
        from scipy.cluster.hierarchy import linkage

        return linkage(X, method)[:, 2]

    return fit


def sklearn_by(method):
    def fit(X):
        from sklearn.cluster import AgglomerativeClustering

        how = {"linkage": method, "compute_distances": True}
        return AgglomerativeClustering(2, **how).fit(X).distances_

    return fit


def total_height(X, heights):
    """Mean height of the merges: the same tree has the same."""
    return float(np.mean(heights))


def spots(size):
    """Rows of 20 normals, and a radius and a count that find most of them."""
    n, d, eps = size
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(20, d))
    return rng.normal(size=(n, d)) + centers[rng.integers(0, 20, n)], eps


def dbscan_ours(payload):
    from pansophy.cluster import DBSCAN

    X, eps = payload
    return DBSCAN(eps=eps, min_samples=10).fit(X).labels_


def dbscan_sklearn(payload):
    from sklearn.cluster import DBSCAN

    X, eps = payload
    return DBSCAN(eps=eps, min_samples=10, n_jobs=2).fit(X).labels_


def dbscan_sklearnex(payload):
    from sklearnex.cluster import DBSCAN

    X, eps = payload
    return DBSCAN(eps=eps, min_samples=10, n_jobs=2).fit(X).labels_


def noise(payload, labels):
    """The share of rows in no cluster, which all must agree on."""
    return float(np.mean(labels < 0))


def hdbscan_ours(payload):
    from pansophy.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=25).fit(payload[0]).labels_


def hdbscan_sklearn(payload):
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=25, copy=True, n_jobs=2).fit(payload[0]).labels_


def overlapping(size):
    """Rows of 10 normals that run into each other, and a radius by a quantile."""
    n, d, share = size
    rng = np.random.default_rng(0)
    X = 5 * rng.normal(size=(n, d)) + rng.uniform(-10, 10, (10, d))[np.arange(n) % 10]
    a, b = rng.integers(0, n, (2, 20_000))
    return X, float(np.quantile(np.linalg.norm(X[a] - X[b], axis=1), share))


def optics_ours(payload):
    from pansophy.cluster import OPTICS

    return OPTICS(min_samples=10).fit(payload[0]).reachability_


def optics_sklearn(payload):
    from sklearn.cluster import OPTICS

    return OPTICS(min_samples=10, n_jobs=2).fit(payload[0]).reachability_


def mean_reach(payload, reach):
    """Mean reachability: the same walk has the same."""
    return float(np.mean(reach[np.isfinite(reach)]))


def linkage_case(method, sizes, target, *, sklearn=True):
    peers = {"scipy": scipy_by(method)}
    if sklearn:
        peers["sklearn"] = sklearn_by(method)
    return Case(
        name=f"linkage_{method}",
        what=f"the whole tree of {method} linkage, float64",
        sizes=sizes,
        data=cloud,
        ours=ours_by(method),
        peers=peers,
        quality=total_height,
        tolerance=1e-9,
        target=target,
    )


CASES = [
    linkage_case("single", [(1_000, 16), (5_000, 16), (20_000, 16)], 1.5),
    linkage_case("complete", [(1_000, 16), (5_000, 16), (20_000, 16)], 1.5),
    linkage_case("average", [(1_000, 16), (3_000, 16), (10_000, 16)], 1.5),
    linkage_case("ward", [(1_000, 16), (3_000, 16), (10_000, 16)], 1.5),
    Case(
        name="dbscan_low",
        what="DBSCAN, three columns, min_samples=10",
        sizes=[(5_000, 3, 0.6), (50_000, 3, 0.4), (200_000, 3, 0.3)],
        data=spots,
        ours=dbscan_ours,
        peers={"sklearn": dbscan_sklearn, "sklearnex": dbscan_sklearnex},
        quality=noise,
        tolerance=1e-3,
        target=3.0,
    ),
    Case(
        name="dbscan_high",
        what="DBSCAN, fifty columns, min_samples=10",
        sizes=[(2_000, 50, 8.5), (8_000, 50, 8.0), (20_000, 50, 8.0)],
        data=spots,
        ours=dbscan_ours,
        peers={"sklearn": dbscan_sklearn, "sklearnex": dbscan_sklearnex},
        quality=noise,
        tolerance=1e-3,
        target=3.0,
    ),
    Case(
        name="dbscan_overlap",
        what="DBSCAN, fifty columns, clusters that overlap, min_samples=10",
        sizes=[(2_000, 50, 0.02), (8_000, 50, 0.02), (20_000, 50, 0.02)],
        data=overlapping,
        ours=dbscan_ours,
        peers={"sklearn": dbscan_sklearn, "sklearnex": dbscan_sklearnex},
        quality=noise,
        tolerance=1e-3,
        target=3.0,
    ),
    Case(
        name="optics",
        what="OPTICS, three columns, min_samples=10",
        sizes=[(500, 3, 0), (2_000, 3, 0), (5_000, 3, 0)],
        data=spots,
        ours=optics_ours,
        peers={"sklearn": optics_sklearn},
        quality=mean_reach,
        tolerance=1e-9,
        target=5.0,
    ),
    Case(
        name="hdbscan",
        what="HDBSCAN, min_cluster_size=25",
        sizes=[(1_000, 3, 0), (5_000, 3, 0), (20_000, 3, 0)],
        data=spots,
        ours=hdbscan_ours,
        peers={"sklearn": hdbscan_sklearn},
        quality=noise,
        tolerance=0.02,  # rows at equal heights are shared out differently
        target=2.0,
    ),
]
