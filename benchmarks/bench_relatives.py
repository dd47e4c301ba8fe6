"""The relatives of k-means: spectral clustering, k-medoids, self-organising maps."""

import numpy as np

from .runner import Case


def blobs(size):
    """Rows of k overlapping normals."""
    n, d, k = size
    rng = np.random.default_rng(0)
    C = 4 * rng.normal(size=(k, d)) / np.sqrt(d)
    return rng.normal(size=(n, d)) + C[rng.integers(0, k, n)], k


def spectral_ours(payload):
    from pansophy.cluster import SpectralClustering

    X, k = payload
    how = {"affinity": "nearest_neighbors", "random_state": 0}
    return SpectralClustering(k, **how).fit(X)


def spectral_sklearn(payload):
    from sklearn.cluster import SpectralClustering

    X, k = payload
    how = {"affinity": "nearest_neighbors", "random_state": 0, "n_jobs": 2}
    return SpectralClustering(k, **how).fit(X)


def kernel_ours(payload):
    from pansophy.cluster import SpectralClustering

    X, k = payload
    return SpectralClustering(k, gamma=0.1, random_state=0).fit(X)


def kernel_sklearn(payload):
    from sklearn.cluster import SpectralClustering

    X, k = payload
    return SpectralClustering(k, gamma=0.1, random_state=0, n_jobs=2).fit(X)


def normalised_cut(payload, model):
    """The normalised cut of the labels on the same graph for all."""
    W, z = model.affinity_matrix_, model.labels_
    hot = np.eye(z.max() + 1)[z]
    between = hot.T @ (W @ hot)
    return float(np.sum(1 - np.diag(between) / between.sum(axis=1)))


def medoids_ours(payload):
    from pansophy.cluster import KMedoids

    X, k = payload
    return KMedoids(k).fit(X).cluster_centers_


def medoids_package(payload):
    """FasterPAM of the `kmedoids` package, from its own random start."""
    from kmedoids import KMedoids

    X, k = payload
    how = {"method": "fasterpam", "metric": "euclidean", "random_state": 0}
    return X[KMedoids(k, **how).fit(X).medoid_indices_]


def medoids_alternate(payload):
    """K-means turns with medoids from k-means++ seeds, distances by scikit-learn."""
    from sklearn.cluster import kmeans_plusplus
    from sklearn.metrics import pairwise_distances

    X, k = payload
    D = pairwise_distances(X, n_jobs=2)
    _, at = kmeans_plusplus(X, k, random_state=0)
    for _ in range(100):
        z = D[at].argmin(axis=0)
        cells = [np.flatnonzero(z == j) for j in range(k)]
        new = [c[D[np.ix_(c, c)].sum(axis=1).argmin()] for c in cells]
        if np.array_equal(new, at):
            break
        at = np.array(new)
    return X[at]


def mean_distance(payload, C):
    """J per row of k-medoids."""
    X, _ = payload
    total = 0.0
    for i in range(0, len(X), 4096):
        x = X[i : i + 4096]
        D = (x * x).sum(axis=1)[:, None] - 2 * x @ C.T + (C * C).sum(axis=1)
        total += np.sqrt(np.maximum(D.min(axis=1), 0)).sum()
    return total / len(X)


def rows(size):
    n, d, side = size
    rng = np.random.default_rng(0)
    return rng.random((n, d)), side


def som_ours(payload):
    from pansophy.cluster import SelfOrganizingMap

    X, side = payload
    start = som_start(X, side)
    how = {"init": start, "max_iter": 20}
    return SelfOrganizingMap((side, side), **how).fit(X).prototypes_


def som_start(X, side):
    """Prototypes on the plane of two principal axes of some rows, row by row."""
    r, c = np.divmod(np.arange(side * side), side)
    mean = X.mean(axis=0)
    _, s, V = np.linalg.svd((X - mean)[:1000], full_matrices=False)
    at = np.stack([r, c], axis=1) / (side - 1) * 4 - 2
    return mean + at @ (V[:2] * s[:2, None] / np.sqrt(min(len(X), 1000)))


def som_numpy(payload, epochs=20):
    """The same batch map with matrix products."""
    X, side = payload
    r, c = np.divmod(np.arange(side * side), side)
    G = (r[:, None] - r) ** 2 + (c[:, None] - c) ** 2
    C = som_start(X, side)
    for t in range(epochs):
        width = side / 2 * (1 / side) ** (t / (epochs - 1))
        sums, mass = np.zeros_like(C), np.zeros(len(C))
        for i in range(0, len(X), 8192):
            x = X[i : i + 8192]
            z = np.argmin((C * C).sum(axis=1) - 2 * x @ C.T, axis=1)
            mass += np.bincount(z, minlength=len(C))
            for f in range(X.shape[1]):
                sums[:, f] += np.bincount(z, x[:, f], len(C))
        h = np.exp(-G / (2 * width * width))
        C = (h @ sums) / (h @ mass)[:, None]
    return C


CASES = [
    Case(
        name="spectral_neighbours",
        what="SpectralClustering, graph of 10 nearest neighbours",
        sizes=[(1_000, 10, 8), (5_000, 10, 8), (20_000, 10, 8)],
        data=blobs,
        ours=spectral_ours,
        peers={"sklearn": spectral_sklearn},
        quality=normalised_cut,
        tolerance=0.01,
        target=1.5,
    ),
    Case(
        name="spectral_kernel",
        what="SpectralClustering, dense Gaussian affinities",
        sizes=[(500, 10, 8), (2_000, 10, 8), (5_000, 10, 8)],
        data=blobs,
        ours=kernel_ours,
        peers={"sklearn": kernel_sklearn},
        quality=normalised_cut,
        tolerance=0.01,
        target=1.5,
    ),
    Case(
        name="k_medoids",
        what="KMedoids (BUILD and SWAP); turns in NumPy end at a worse objective",
        sizes=[(1_000, 8, 10), (3_000, 8, 10), (10_000, 8, 10)],
        data=blobs,
        ours=medoids_ours,
        peers={"kmedoids": medoids_package, "numpy turns": medoids_alternate},
        written=("numpy turns",),
        quality=mean_distance,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="som_batch",
        what="SelfOrganizingMap, 20 batch epochs, against NumPy products",
        sizes=[(5_000, 4, 8), (50_000, 8, 12), (200_000, 16, 16)],
        data=rows,
        ours=som_ours,
        peers={"numpy": som_numpy},
        written=("numpy",),
        quality=mean_distance,
        tolerance=1e-6,
        target=1.5,
    ),
]
