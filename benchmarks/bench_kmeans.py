"""K-means and its relatives against scikit-learn, its Intel extension and faiss.

Starts are given, one row of each group, so that every contender takes the same
iterations and no cell empties (what to do with an empty cell is a choice that differs
between libraries, and changes which local optimum is found).
"""

import numpy as np

from .runner import THREADS, Case


def blobs(size):
    """Rows of k overlapping normals, and one row of each as a start."""
    n, d, k = size
    rng = np.random.default_rng(0)
    group = rng.integers(0, k, n)
    group[:k] = np.arange(k)
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[group]
    X = X.astype(np.float32)
    return X, X[:k].copy()


def faint(size):
    """Groups that hardly differ: many iterations, bounds that clear little."""
    n, d, k = size
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) + 0.1 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    X = X.astype(np.float32)
    C = X[:k].astype(np.float64)
    for j in range(k):  # means of some rows each: no cell empties
        C[j] = X[j::k][:50].mean(axis=0)
    return X, C.astype(np.float32)


def lloyd_ours(payload):
    from pansophy.cluster import KMeans

    X, C = payload
    return KMeans(len(C), init=C, n_init=1, max_iter=20, tol=0).fit(X)


def lloyd_sklearn(payload, algorithm="lloyd"):
    from sklearn.cluster import KMeans

    X, C = payload
    how = {"max_iter": 20, "tol": 0, "algorithm": algorithm}
    return KMeans(len(C), init=C, n_init=1, **how).fit(X)


def lloyd_elkan(payload):
    return lloyd_sklearn(payload, "elkan")


def lloyd_sklearnex(payload):
    from sklearnex.cluster import KMeans

    X, C = payload
    return KMeans(len(C), init=C, n_init=1, max_iter=20, tol=0).fit(X)


class Found:
    """What faiss found, under our name."""

    def __init__(self, centers):
        self.cluster_centers_ = centers


def lloyd_faiss(payload):
    import faiss

    X, C = payload
    faiss.omp_set_num_threads(THREADS)
    all_rows = {"min_points_per_centroid": 1, "max_points_per_centroid": 1 << 30}
    model = faiss.Kmeans(X.shape[1], len(C), niter=20, **all_rows)
    model.train(X, init_centroids=C)
    model.index.search(X, 1)  # labels, which the others give too
    return Found(model.centroids)


def inertia(payload, model):
    """J per row over the variance, in float64, of the centres found."""
    X, _ = payload
    C = np.asarray(model.cluster_centers_, np.float64)
    total = 0.0
    for i in range(0, len(X), 8192):
        x = X[i : i + 8192].astype(np.float64)
        D = (x * x).sum(1)[:, None] - 2 * x @ C.T + (C * C).sum(1)
        total += D.min(axis=1).sum()
    return total / len(X) / X.shape[1]


def fitted(library, name="KMeans", **how):
    """A contender: k-means of some library with its own seeds."""

    def fit(payload, seed=0):
        import importlib

        X, C = payload
        cls = getattr(importlib.import_module(f"{library}.cluster"), name)
        return cls(len(C), random_state=seed, **how).fit(X)

    return fit


LLOYD = {
    "sklearn": lloyd_sklearn,
    "sklearn elkan": lloyd_elkan,
    "sklearnex": lloyd_sklearnex,
    "faiss": lloyd_faiss,
}
RIVALS = {"sklearnex": 1.0, "faiss": 1.0}


def lloyd_case(name, what, sizes, data=blobs):
    return Case(
        name=name,
        what=f"Lloyd, 20 iterations from the same seeds, float32{what}",
        sizes=sizes,
        data=data,
        ours=lloyd_ours,
        peers=LLOYD,
        quality=inertia,
        tolerance=1e-4,
        target=1.5,
        targets=RIVALS,
    )


CASES = [
    lloyd_case("k_means", "", [(2_000, 8, 8), (20_000, 16, 32), (200_000, 32, 64)]),
    lloyd_case(
        "k_means_long",
        ", many rows",
        [(10_000, 8, 16), (100_000, 8, 16), (10**6, 8, 16)],
    ),
    lloyd_case(
        "k_means_wide",
        ", many columns",
        [(1_000, 784, 10), (5_000, 784, 50), (20_000, 784, 100)],
    ),
    lloyd_case(
        "k_means_faint",
        ", no clear groups",
        [(1_000, 784, 10), (5_000, 784, 50), (20_000, 784, 100)],
        faint,
    ),
    lloyd_case(
        "k_means_small", ", few rows", [(500, 4, 3), (2_000, 16, 8), (10_000, 16, 10)]
    ),
    Case(
        name="k_means_fit",
        what="k-means++ initialisation and iterations until convergence, float32",
        sizes=[(1_000, 2, 3), (20_000, 16, 16), (100_000, 32, 32)],
        data=blobs,
        ours=fitted("pansophy"),
        peers={
            "sklearn": fitted("sklearn", n_init=1),
            "sklearnex": fitted("sklearnex", n_init=1),
        },
        quality=inertia,
        tolerance=0.05,  # the seeds differ by chance
        target=1.5,
        targets={"sklearnex": 1.0},
    ),
    Case(
        name="mini_batch_k_means",
        what="batches of 1024 until no better, float32",
        sizes=[(5_000, 8, 8), (50_000, 16, 16), (500_000, 32, 32)],
        data=blobs,
        ours=fitted("pansophy", "MiniBatchKMeans"),
        peers={"sklearn": fitted("sklearn", "MiniBatchKMeans")},
        quality=inertia,
        tolerance=0.05,  # the batches differ by chance
        target=1.0,
    ),
    Case(
        name="bisecting_k_means",
        what="k - 1 halvings, float32",
        sizes=[(2_000, 8, 8), (20_000, 16, 16), (200_000, 16, 32)],
        data=blobs,
        ours=fitted("pansophy", "BisectingKMeans"),
        peers={"sklearn": fitted("sklearn", "BisectingKMeans")},
        quality=inertia,
        tolerance=0.05,  # the seeds differ by chance
        target=1.5,
    ),
]
