"""K-means against scikit-learn, its Intel extension, and what each makes of seeding."""

import numpy as np

from .runner import Case


def blobs(size):
    """Rows of k overlapping normals, and the first k rows as a start."""
    n, d, k = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[rng.integers(0, k, n)]
    X = X.astype(np.float32)
    return X, X[:k].copy()


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


def fit_ours(payload):
    from pansophy.cluster import KMeans

    X, C = payload
    return KMeans(len(C), random_state=0).fit(X)


def fit_sklearn(payload):
    from sklearn.cluster import KMeans

    X, C = payload
    return KMeans(len(C), n_init=1, random_state=0).fit(X)


CASES = [
    Case(
        name="k_means",
        what="Lloyd, 20 iterations from the same seeds, float32",
        sizes=[(2_000, 8, 8), (20_000, 16, 32), (200_000, 32, 64)],
        data=blobs,
        ours=lloyd_ours,
        peers={
            "sklearn": lloyd_sklearn,
            "sklearn elkan": lloyd_elkan,
            "sklearnex": lloyd_sklearnex,
        },
        quality=inertia,
        tolerance=1e-4,
        target=1.5,
    ),
    Case(
        name="k_means_fit",
        what="k-means++ seeds and turns until settled, float32",
        sizes=[(1_000, 2, 3), (20_000, 16, 16), (100_000, 32, 32)],
        data=blobs,
        ours=fit_ours,
        peers={"sklearn": fit_sklearn},
        quality=inertia,
        tolerance=0.05,  # the seeds differ by chance
        target=1.5,
    ),
]
