"""PCA, NMF, independent components, kernel PCA, truncated SVD, factors, and peers."""

import numpy as np

from .runner import Case


def decaying(size):
    """Rows with a few strong directions over noise, away from the origin."""
    n, d, k = size
    rng = np.random.default_rng(0)
    r = min(3 * k, n, d)
    X = rng.standard_normal((n, r)) * 0.9 ** np.arange(r) @ rng.standard_normal((r, d))
    X += 0.1 * rng.standard_normal((n, d)) + 1
    return X.astype(np.float32), k


def dropped(payload, V):
    """Share of the variance outside the span of the rows of V, in float64."""
    X, _ = payload
    X = X.astype(np.float64)
    X -= X.mean(axis=0)
    Q = np.linalg.qr(np.asarray(V, np.float64).T)[0]
    return 1 - float(np.sum((X @ Q) ** 2) / np.sum(X**2))


def axes_dropped(payload, model):
    return dropped(payload, model.components_)


def pca_ours(payload):
    from pansophy.decomposition import PCA

    X, k = payload
    return PCA(k, random_state=0).fit(X)


def pca_sklearn(payload, solver="auto"):
    from sklearn.decomposition import PCA

    X, k = payload
    return PCA(k, svd_solver=solver, random_state=0).fit(X)


def pca_arpack(payload):
    return pca_sklearn(payload, "arpack")


def pca_covariance(payload):
    return pca_sklearn(payload, "covariance_eigh")


def pca_sklearnex(payload):
    from sklearnex.decomposition import PCA

    X, k = payload
    return PCA(k, random_state=0).fit(X)


class Axes:
    def __init__(self, components):
        self.components_ = components


def pca_torch(payload):
    import torch

    X, k = payload
    torch.manual_seed(0)
    V = torch.pca_lowrank(torch.from_numpy(X), q=k + 10)[2]
    return Axes(V.numpy().T[:k])


def counts(size):
    """A sparse matrix of word counts with topics."""
    import scipy.sparse as sp

    n, d, k = size
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(d, 0.02), k)
    rows, columns = [], []
    for i in range(n):
        words = rng.choice(d, 60, p=topics[rng.integers(k)])
        rows.append(np.full(60, i))
        columns.append(words)
    ij = np.concatenate(rows), np.concatenate(columns)
    X = sp.coo_array((np.ones(60 * n), ij), shape=(n, d)).tocsr()
    return sp.csr_matrix(X), k


def svd_ours(payload):
    from pansophy.decomposition import TruncatedSVD

    X, k = payload
    return TruncatedSVD(k, random_state=0).fit(X)


def svd_sklearn(payload, algorithm="randomized"):
    from sklearn.decomposition import TruncatedSVD

    X, k = payload
    return TruncatedSVD(k, algorithm=algorithm, random_state=0).fit(X)


def svd_arpack(payload):
    return svd_sklearn(payload, "arpack")


def power_left(payload, model):
    X, _ = payload
    Q = np.linalg.qr(np.asarray(model.components_).T)[0]
    return 1 - float(np.sum((X @ Q) ** 2) / np.sum(X.data**2))


def nonnegative(size):
    n, d, k = size
    rng = np.random.default_rng(0)
    W = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    return W @ rng.random((k, d)) + 0.1 * rng.random((n, d)), k


def nmf_ours(payload):
    from pansophy.decomposition import NMF

    X, k = payload
    return NMF(k, random_state=0).fit(X)


def nmf_sklearn(payload):
    from sklearn.decomposition import NMF

    X, k = payload
    return NMF(k, random_state=0).fit(X)


def nmf_left(payload, model):
    X, _ = payload
    values = getattr(X, "data", X) if hasattr(X, "nnz") else X
    return model.reconstruction_err_ / float(np.linalg.norm(values))


def kl_ours(payload):
    from pansophy.decomposition import NMF

    X, k = payload
    how = {"solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 50, "tol": 0}
    return NMF(k, random_state=0, **how).fit(X)


def kl_sklearn(payload):
    from sklearn.decomposition import NMF

    X, k = payload
    how = {"solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 50, "tol": 0}
    return NMF(k, random_state=0, **how).fit(X)


def mixtures(size):
    n, d = size
    rng = np.random.default_rng(0)
    S = rng.laplace(size=(n, d))
    W = rng.standard_normal((d, d))
    return S @ rng.standard_normal((d, d)).T, W, S


def ica_ours(payload):
    from pansophy.decomposition import FastICA

    X, W, _ = payload
    return FastICA(w_init=W, whiten_solver="eigh").fit(X)


def ica_sklearn(payload):
    from sklearn.decomposition import FastICA

    X, W, _ = payload
    return FastICA(w_init=W, whiten_solver="eigh").fit(X)


def ica_missed(payload, model):
    """How far the worst source is from its best component."""
    X, _, S = payload
    k = S.shape[1]
    C = np.abs(np.corrcoef(S.T, model.transform(X).T))[:k, k:]
    return 1 - float(C.max(axis=1).min())


def points(size):
    n, d, k = size
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), k


def kernel_ours(payload):
    from pansophy.decomposition import KernelPCA

    X, k = payload
    return KernelPCA(k, kernel="rbf", gamma=0.1, random_state=0).fit(X)


def kernel_sklearn(payload, solver="arpack"):
    from sklearn.decomposition import KernelPCA

    X, k = payload
    how = {"kernel": "rbf", "gamma": 0.1, "random_state": 0}
    return KernelPCA(k, eigen_solver=solver, **how).fit(X)


def kernel_randomized(payload):
    return kernel_sklearn(payload, "randomized")


def kernel_left(payload, model):
    return -float(np.sum(model.eigenvalues_)) / len(payload[0])


def factor_ours(payload):
    from pansophy.decomposition import FactorAnalysis

    X, k = payload
    return FactorAnalysis(k).fit(X)


def factor_sklearn(payload):
    from sklearn.decomposition import FactorAnalysis

    X, k = payload
    return FactorAnalysis(k).fit(X)


def factor_loss(payload, model):
    return -float(model.score(payload[0]))


PEERS = {
    "sklearn": pca_sklearn,
    "sklearn arpack": pca_arpack,
    "sklearnex": pca_sklearnex,
    "torch": pca_torch,
}

CASES = [
    Case(
        name="pca_tall",
        what="10 components of many rows, float32",
        sizes=[(2_000, 20, 10), (20_000, 50, 10), (200_000, 100, 10)],
        data=decaying,
        ours=pca_ours,
        peers={k: v for k, v in PEERS.items() if k != "sklearn arpack"},
        quality=axes_dropped,
        tolerance=1e-5,
        target=1.2,
        targets={"torch": 1.0, "sklearnex": 1.0},
    ),
    Case(
        name="pca_wide",
        what="20 components of many columns, float32",
        sizes=[(600, 1_000, 20), (1_000, 5_000, 20), (2_000, 20_000, 20)],
        data=decaying,
        ours=pca_ours,
        peers=PEERS,
        quality=axes_dropped,
        tolerance=1e-5,
        target=1.2,
        targets={"torch": 1.0, "sklearnex": 1.0},
    ),
    Case(
        name="pca_randomized",
        what="20 components of a large matrix, float32",
        sizes=[(2_000, 600, 20), (10_000, 1_200, 20), (20_000, 2_000, 20)],
        data=decaying,
        ours=pca_ours,
        peers={
            **PEERS,
            "sklearn covariance": pca_covariance,
        },
        quality=axes_dropped,
        tolerance=1e-5,
        target=1.2,
        targets={"torch": 1.0, "sklearnex": 1.0},
    ),
    Case(
        name="truncated_svd",
        what="20 components of sparse word counts",
        sizes=[(1_000, 2_000, 20), (5_000, 5_000, 20), (20_000, 10_000, 20)],
        data=counts,
        ours=svd_ours,
        peers={"sklearn": svd_sklearn, "sklearn arpack": svd_arpack},
        quality=power_left,
        tolerance=1e-3,
        target=1.2,
    ),
    Case(
        name="nmf",
        what="20 parts of a dense matrix, coordinate descent to scikit-learn's tol",
        sizes=[(500, 100, 10), (2_000, 300, 20), (5_000, 500, 20)],
        data=nonnegative,
        ours=nmf_ours,
        peers={"sklearn": nmf_sklearn},
        quality=nmf_left,
        tolerance=1e-3,
        target=1.2,
    ),
    Case(
        name="nmf_sparse",
        what="20 parts of sparse word counts",
        sizes=[(1_000, 500, 20), (5_000, 1_000, 20), (20_000, 3_000, 20)],
        data=counts,
        ours=nmf_ours,
        peers={"sklearn": nmf_sklearn},
        quality=nmf_left,
        tolerance=1e-3,
        target=1.0,
    ),
    Case(
        name="nmf_kullback_leibler",
        what="50 multiplicative updates",
        sizes=[(300, 100, 10), (1_000, 300, 20), (3_000, 500, 20)],
        data=nonnegative,
        ours=kl_ours,
        peers={"sklearn": kl_sklearn},
        quality=nmf_left,
        tolerance=1e-3,
        target=1.5,
    ),
    Case(
        name="fast_ica",
        what="as many sources as columns, from the same start",
        sizes=[(2_000, 5), (20_000, 10), (100_000, 20)],
        data=mixtures,
        ours=ica_ours,
        peers={"sklearn": ica_sklearn},
        quality=ica_missed,
        tolerance=1e-3,
        target=1.5,
    ),
    Case(
        name="kernel_pca",
        what="10 components, Gaussian kernel",
        sizes=[(500, 20, 10), (1_500, 20, 10), (4_000, 20, 10)],
        data=points,
        ours=kernel_ours,
        peers={"sklearn": kernel_sklearn, "sklearn randomized": kernel_randomized},
        quality=kernel_left,
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="factor_analysis",
        what="5 factors by maximum likelihood",
        sizes=[(500, 20, 5), (2_000, 50, 5), (20_000, 100, 5)],
        data=decaying,
        ours=factor_ours,
        peers={"sklearn": factor_sklearn},
        quality=factor_loss,
        tolerance=1e-3,
        target=10.0,
    ),
]
