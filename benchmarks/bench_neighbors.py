"""Neighbours, kernel density, local outliers and robust covariance."""

import numpy as np

from .runner import Case


def normal(size):
    n, d, k = size
    return np.random.default_rng(0).normal(size=(n, d)), k


def blocks(size):
    """Rows of ten overlapping groups, as embeddings are: few directions matter."""
    n, d, k = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, d))[rng.integers(0, 10, n)] + rng.normal(size=(n, d))
    return X.astype(np.float32), k


def search_ours(payload):
    from pansophy.neighbors import NearestNeighbors

    X, k = payload
    return NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0]


def search_sklearn(payload, algorithm="auto"):
    from sklearn.neighbors import NearestNeighbors

    X, k = payload
    model = NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=-1)
    return model.fit(X).kneighbors()[0]


def search_brute(payload):
    return search_sklearn(payload, "brute")


def search_sklearnex(payload):
    from sklearnex.neighbors import NearestNeighbors

    X, k = payload
    method = "kd_tree" if X.shape[1] <= 10 else "brute"
    return NearestNeighbors(n_neighbors=k, algorithm=method).fit(X).kneighbors()[0]


def search_scipy(payload):
    from scipy.spatial import cKDTree

    X, k = payload
    return cKDTree(X).query(X, k + 1, workers=-1)[0][:, 1:]


def search_faiss(payload):
    import faiss

    X, k = payload
    X = np.ascontiguousarray(X, np.float32)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return np.sqrt(index.search(X, k + 1)[0][:, 1:])


def mean_distance(payload, D):
    """Mean distance found over the scale of the data: missing a neighbour raises it."""
    return float(np.mean(D, dtype=np.float64)) / float(payload[0].std())


def radius_of(size):
    n, d, r = size
    return np.random.default_rng(0).normal(size=(n, d)), r


def radius_ours(payload):
    from pansophy.neighbors import NearestNeighbors

    X, r = payload
    return NearestNeighbors(radius=r).fit(X).radius_neighbors_graph().nnz


def radius_sklearn(payload):
    from sklearn.neighbors import NearestNeighbors

    X, r = payload
    return NearestNeighbors(radius=r, n_jobs=-1).fit(X).radius_neighbors_graph().nnz


def pairs(payload, count):
    """Minus the share of rows found."""
    return -count / len(payload[0])


def density_ours(payload):
    from pansophy.neighbors import KernelDensity

    X, h = payload
    return KernelDensity(bandwidth=h).fit(X).score_samples(X[:5000])


def density_sklearn(payload):
    from sklearn.neighbors import KernelDensity

    X, h = payload
    return KernelDensity(bandwidth=h).fit(X).score_samples(X[:5000])


def density_loose_sklearn(payload):
    from sklearn.neighbors import KernelDensity

    X, h = payload
    return KernelDensity(bandwidth=h, rtol=1e-4).fit(X).score_samples(X[:5000])


def density_error(payload, got):
    """Mean error of log p at a few rows, from all pairs."""
    from scipy.special import logsumexp

    X, h = payload
    n, d = X.shape
    D = ((X[:50, None] - X[None]) ** 2).sum(axis=2)
    want = logsumexp(-D / (2 * h * h), axis=1) - np.log(n)
    want -= d * np.log(h) + d / 2 * np.log(2 * np.pi)
    return float(np.mean(np.abs(got[:50] - want)))


def lof_ours(payload):
    from pansophy.neighbors import LocalOutlierFactor

    X, k = payload
    return LocalOutlierFactor(k).fit(X).negative_outlier_factor_


def lof_sklearn(payload):
    from sklearn.neighbors import LocalOutlierFactor

    X, k = payload
    return LocalOutlierFactor(k, n_jobs=-1).fit(X).negative_outlier_factor_


def lof_sklearnex(payload):
    from sklearnex.neighbors import LocalOutlierFactor

    X, k = payload
    return LocalOutlierFactor(k).fit(X).negative_outlier_factor_


def mean_factor(payload, scores):
    return float(-np.mean(scores))


def contaminated(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[: n // 5] += 10
    return X


def mcd_ours(X, seed=0):
    from pansophy.covariance import MinCovDet

    return MinCovDet(random_state=seed).fit(X)


def mcd_sklearn(X, seed=0):
    from sklearn.covariance import MinCovDet

    return MinCovDet(random_state=seed).fit(X)


def log_determinant(X, model):
    return float(np.linalg.slogdet(model.raw_covariance_)[1])


def labelled(size):
    n, d, classes = size
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(classes, d))[y], y


def centroids_ours(payload):
    from pansophy.neighbors import NearestCentroid

    X, y = payload
    return NearestCentroid(shrink_threshold=0.5).fit(X, y).predict(X)


def centroids_sklearn(payload):
    from sklearn.neighbors import NearestCentroid

    X, y = payload
    return NearestCentroid(shrink_threshold=0.5).fit(X, y).predict(X)


def share_wrong(payload, predicted):
    return float(np.mean(predicted != payload[1]))


TREES = {
    "scipy": search_scipy,
    "sklearn": search_sklearn,
    "sklearnex": search_sklearnex,
}
TILES = {
    "sklearn brute": search_brute,
    "sklearnex": search_sklearnex,
    "faiss": search_faiss,
}
SEARCH = {"ours": search_ours, "quality": mean_distance, "tolerance": 1e-5}

CASES = [
    Case(
        name="knn_self_d3",
        what="k nearest of every row, few columns, float64",
        sizes=[(2_000, 3, 15), (20_000, 3, 15), (200_000, 3, 15)],
        data=normal,
        peers=TREES,
        target=1.5,
        **SEARCH,
    ),
    Case(
        name="knn_self_d3_k90",
        what="90 nearest of every row, few columns, float64",
        sizes=[(2_000, 3, 90), (20_000, 3, 90), (50_000, 3, 90)],
        data=normal,
        peers=TREES,
        target=1.5,
        **SEARCH,
    ),
    Case(
        name="knn_self_d10",
        what="k nearest of every row, ten columns, float64",
        sizes=[(2_000, 10, 15), (10_000, 10, 15), (20_000, 10, 15)],
        data=normal,
        peers=TREES | TILES,
        target=1.2,
        **SEARCH,
    ),
    Case(
        name="knn_self_d50",
        what="k nearest of every row, fifty columns, float64",
        sizes=[(2_000, 50, 15), (10_000, 50, 15), (20_000, 50, 15)],
        data=normal,
        peers=TILES,
        target=1.5,
        **SEARCH,
    ),
    Case(
        name="knn_self_d50_k90",
        what="90 nearest of every row, fifty columns in groups, float32",
        sizes=[(2_000, 50, 90), (10_000, 50, 90), (20_000, 50, 90)],
        data=blocks,
        peers=TILES,
        target=1.2,
        **SEARCH,
    ),
    Case(
        name="radius_self",
        what="all rows within a radius of every row, as a sparse matrix",
        sizes=[(2_000, 3, 0.3), (20_000, 3, 0.15), (50_000, 3, 0.1)],
        data=radius_of,
        ours=radius_ours,
        peers={"sklearn": radius_sklearn},
        quality=pairs,
        tolerance=1e-9,
        target=2.0,
    ),
    Case(
        name="kernel_density",
        what="log density at 5000 rows, gaussian kernel, exact",
        sizes=[(2_000, 3, 0.3), (10_000, 3, 0.2), (50_000, 2, 0.1)],
        data=radius_of,
        ours=density_ours,
        peers={"sklearn": density_sklearn, "sklearn rtol": density_loose_sklearn},
        quality=density_error,
        tolerance=1e-8,
        target=5.0,
    ),
    Case(
        name="local_outlier_factor",
        what="LOF of every row",
        sizes=[(2_000, 3, 20), (20_000, 3, 20), (50_000, 3, 20)],
        data=normal,
        ours=lof_ours,
        peers={"sklearn": lof_sklearn, "sklearnex": lof_sklearnex},
        quality=mean_factor,
        tolerance=1e-6,
        target=1.5,
    ),
    Case(
        name="nearest_centroid",
        what="shrunken centroids, fit and predict",
        sizes=[(2_000, 20, 5), (50_000, 20, 5), (200_000, 50, 10)],
        data=labelled,
        ours=centroids_ours,
        peers={"sklearn": centroids_sklearn},
        quality=share_wrong,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="min_cov_det",
        what="robust covariance of rows of which a fifth are far off",
        sizes=[(1_000, 3), (5_000, 5), (50_000, 10)],
        data=contaminated,
        ours=mcd_ours,
        peers={"sklearn": mcd_sklearn},
        quality=log_determinant,
        tolerance=1e-3,
        target=3.0,
    ),
]
