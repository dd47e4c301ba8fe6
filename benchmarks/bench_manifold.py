"""Embeddings against scikit-learn, its Intel extension and openTSNE."""

import numpy as np

from .runner import Case


def digits_like(size):
    """Rows around scikit-learn's digits, drawn again with noise beyond their number."""
    from sklearn.datasets import load_digits

    n = size[0]
    X = load_digits().data.astype(np.float32)
    if n <= len(X):
        return X[:n]
    rng = np.random.default_rng(0)
    noise = 2 * rng.normal(size=(n, X.shape[1])).astype(np.float32)
    return X[rng.integers(0, len(X), n)] + noise


def tsne_ours(X):
    from pansophy.manifold import TSNE

    return TSNE(random_state=0).fit_transform(X)


def tsne_sklearn(X):
    from sklearn.manifold import TSNE

    return TSNE(random_state=0).fit_transform(X)


def tsne_sklearnex(X):
    from sklearnex.manifold import TSNE

    return TSNE(random_state=0).fit_transform(X)


def tsne_open(X):
    from openTSNE import TSNE

    how = {"early_exaggeration_iter": 250, "n_iter": 750, "n_jobs": 2}
    return np.asarray(TSNE(random_state=0, **how).fit(X))


def divergence(X, Y):
    """KL of a map in float64, every pair of it, with one set of affinities for all."""
    from pansophy.manifold.any_metric_neighbors import neighbors_of_rows
    from pansophy.manifold.tsne_affinities import joint_affinities_sparse
    from pansophy.manifold.tsne_descent import attraction_and_repulsion, kl_divergence
    from pansophy.manifold.tsne_repulsion import direct_repulsion

    far, rows = neighbors_of_rows(X, min(len(X) - 1, 91))
    P = joint_affinities_sparse(far.astype(np.float64) ** 2, rows, 30.0, np.float64)
    Y = np.ascontiguousarray(Y.T, dtype=np.float64)
    return kl_divergence(
        P, Y, 1, attraction_and_repulsion(P, Y, 1, direct_repulsion)[2]
    )


def roll(size):
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(size[0], random_state=0)


def embedder(package, name, **how):
    """A function that embeds the rows of a roll with a class of a package."""

    def run(payload):
        import importlib

        cls = getattr(importlib.import_module(f"{package}.manifold"), name)
        return cls(**how).fit_transform(payload[0])

    return run


def unrolled(payload, Y):
    """How far the best coordinate is from going along the roll."""
    t = payload[1]
    along = 0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))
    return 1 - max(abs(np.corrcoef(y, along)[0, 1]) for y in Y.T)


def stress(payload, Y):
    """Of the map, over the squared distances of the rows."""
    from scipy.spatial.distance import pdist

    d, e = pdist(payload[0]), pdist(Y)
    return float(((d - e) ** 2).sum() / (d**2).sum())


def against_sklearn(name, what, sizes, quality, tolerance, target, cls, **how):
    return Case(
        name=name,
        what=what,
        sizes=sizes,
        data=roll,
        ours=embedder("pansophy", cls, **how),
        peers={"sklearn": embedder("sklearn", cls, **how)},
        quality=quality,
        tolerance=tolerance,
        target=target,
    )


CASES = [
    Case(
        name="tsne",
        what="t-SNE in two dimensions, perplexity 30, 1000 steps, float32; KL",
        sizes=[(500,), (1_000,), (1_797,)],
        data=digits_like,
        ours=tsne_ours,
        peers={
            "sklearn": tsne_sklearn,
            "sklearnex": tsne_sklearnex,
            "openTSNE": tsne_open,
        },
        quality=divergence,
        tolerance=0.02,
        target=5.0,
        targets={"sklearnex": 1.0, "openTSNE": 1.0},
    ),
    Case(
        name="tsne_many",
        what="the same for many rows",
        sizes=[(5_000,), (10_000,), (20_000,)],
        data=digits_like,
        ours=tsne_ours,
        peers={"sklearnex": tsne_sklearnex, "openTSNE": tsne_open},
        quality=divergence,
        tolerance=0.02,
        target=1.0,
        targets={"openTSNE": 1.0},
        rounds=2,
    ),
    against_sklearn(
        "isomap", "swiss roll, 8 neighbours", [(500,), (1_000,), (3_000,)],
        unrolled, 1e-3, 1.0, "Isomap", n_neighbors=8,
    ),
    against_sklearn(
        "lle", "standard, swiss roll, 12 neighbours", [(500,), (2_000,), (5_000,)],
        unrolled, 0.02, 1.5, "LocallyLinearEmbedding", n_neighbors=12,
    ),
    against_sklearn(
        "lle_modified", "modified, swiss roll, 12 neighbours",
        [(500,), (1_000,), (2_000,)], unrolled, 0.02, 5.0,
        "LocallyLinearEmbedding", n_neighbors=12, method="modified",
    ),
    against_sklearn(
        "mds", "metric, 50 steps from classical scaling", [(300,), (1_000,), (2_000,)],
        stress, 1e-3, 3.0, "MDS", init="classical_mds", max_iter=50,
    ),
]  # fmt: skip
