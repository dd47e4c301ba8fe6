"""Gaussian mixtures, plain and Bayesian, from the same start as the peers."""

from types import SimpleNamespace

import numpy as np

from .runner import Case

N_ITER = 20
DRAWN = 0.12  # two standard deviations between seeds; the means over eight are equal
SIZES = [(5_000, 4, 4), (20_000, 8, 8), (100_000, 16, 16)]


def mixture_data(size):
    """k blobs in d dimensions, and a start that every contender is given."""
    n, d, k = size
    rng = np.random.default_rng(0)
    C = rng.normal(size=(k, d)) * 2
    X = C[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    return X, k


def start(X, k, shape):
    d = X.shape[1]
    P = {"full": np.stack([np.eye(d)] * k), "diag": np.ones((k, d)),
         "tied": np.eye(d), "spherical": np.ones(k)}[shape]  # fmt: skip
    return {
        "weights_init": np.full(k, 1 / k),
        "means_init": X[:k].copy(),
        "precisions_init": P,
        "covariance_type": shape,
        "max_iter": N_ITER,
        "tol": 0.0,
    }


def ours_mixture(shape):
    def run(payload):
        from pansophy.mixture import GaussianMixture

        X, k = payload
        return GaussianMixture(k, **start(X, k, shape)).fit(X)

    return run


def sklearn_mixture(shape, dtype=None):
    def run(payload):
        from sklearn.mixture import GaussianMixture

        X, k = payload
        X = X if dtype is None else X.astype(dtype)
        return GaussianMixture(k, **start(X, k, shape)).fit(X)

    return run


def pomegranate_mixture(shape):
    """N_ITER iterations in float32, its native precision, from the same start."""

    def run(payload):
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel

        X, k = payload
        d = X.shape[1]
        X = torch.asarray(X, dtype=torch.float32)
        C = torch.eye(d) if shape == "full" else torch.ones(d)
        parts = [
            Normal(X[j].clone(), C.clone(), covariance_type=shape) for j in range(k)
        ]
        model = GeneralMixtureModel(parts, max_iter=N_ITER, tol=-np.inf)
        return found(model.fit(X), shape)

    return run


def found(model, shape):
    """What `mixture_quality` reads, of a fitted pomegranate model."""
    M = np.stack([p.means.numpy() for p in model.distributions]).astype(float)
    C = np.stack([p.covs.numpy() for p in model.distributions]).astype(float)
    if shape == "full":
        P = np.swapaxes(np.linalg.inv(np.linalg.cholesky(C)), 1, 2)
    else:
        P = 1 / np.sqrt(C)
    w = model.priors.numpy().astype(float)
    return SimpleNamespace(means_=M, precisions_cholesky_=P, weights_=w / w.sum())


def mixture_quality(payload, model):
    """Minus the mean log-likelihood, by the textbook formula in float64."""
    from scipy.special import logsumexp

    X, k = payload
    P = np.asarray(model.precisions_cholesky_, float)
    M, w = np.asarray(model.means_, float), np.asarray(model.weights_, float)
    d = X.shape[1]
    if P.ndim == 1:
        P = P[:, None] * np.ones(d)
    if getattr(model, "covariance_type", "") == "tied":
        P = np.stack([P] * k)
    L = np.empty((len(X), k))
    for j in range(k):
        full = P[j].ndim == 2
        Y = (X - M[j]) @ P[j] if full else (X - M[j]) * P[j]
        half = np.log(np.diagonal(P[j]) if full else P[j]).sum()
        L[:, j] = np.log(w[j]) + half - 0.5 * (Y * Y).sum(1)
    return -float(logsumexp(L, axis=1).mean()) + d * 0.9189385332046727


def bayesian(module, shape):
    def run(payload, seed=0):
        import importlib

        X, k = payload
        cls = importlib.import_module(module).BayesianGaussianMixture
        model = cls(
            n_components=k, covariance_type=shape, max_iter=N_ITER, tol=0.0,
            init_params="k-means++", random_state=seed, n_init=1,
        )  # fmt: skip
        return model.fit(X)

    return run


def bayesian_quality(payload, model):
    """Minus the mean log-likelihood at the expected parameters."""
    return mixture_quality(payload, model)


def with_gaps(size):
    X, k = mixture_data(size)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, k


def filled_mixture(payload):
    """What a user does without: fill by column means, then scikit-learn's EM."""
    from sklearn.impute import SimpleImputer

    X, k = payload
    whole = SimpleImputer().fit_transform(X)
    return sklearn_mixture("full")((whole, k))


def seen_start(payload):
    from pansophy.mixture import GaussianMixture

    X, k = payload
    first = start(np.nan_to_num(X), k, "full")
    return GaussianMixture(k, **first).fit(X)


def seen_quality(payload, model):
    """Minus the mean log-likelihood of what was seen."""
    from pansophy.mixture import GaussianMixture

    X, k = payload
    judge = GaussianMixture(k)
    for name in ("weights_", "means_", "covariances_"):
        setattr(judge, name, np.asarray(getattr(model, name), float))
    judge.n_features_in_ = X.shape[1]
    return -judge.score(X)


def case(name, shape, what, target, peers, **more):
    return Case(
        name=name,
        what=f"EM, {what}, {N_ITER} iterations from the same start, float64",
        sizes=SIZES,
        data=mixture_data,
        ours=ours_mixture(shape),
        peers=peers,
        quality=mixture_quality,
        tolerance=1e-5,  # float32 peers end a little above or below
        target=target,
        rounds=3,
        **more,
    )


CASES = [
    case(
        "gmm_full",
        "full",
        "full covariance",
        8.0,
        {
            "sklearn": sklearn_mixture("full"),
            "sklearn float32": sklearn_mixture("full", np.float32),
            "pomegranate float32": pomegranate_mixture("full"),
        },
        targets={"pomegranate float32": 3.0},
    ),
    case(
        "gmm_diag",
        "diag",
        "diagonal covariance",
        4.0,
        {
            "sklearn": sklearn_mixture("diag"),
            "pomegranate float32": pomegranate_mixture("diag"),
        },
        targets={"pomegranate float32": 3.0},
    ),
    case(
        "gmm_tied",
        "tied",
        "one covariance for all",
        8.0,
        {"sklearn": sklearn_mixture("tied")},
    ),
    case(
        "gmm_spherical",
        "spherical",
        "a variance each",
        4.0,
        {"sklearn": sklearn_mixture("spherical")},
    ),
    Case(
        name="gmm_missing",
        what=f"EM, full covariance, 5% of the values missing, {N_ITER} iterations; "
        "the peer fills in column means",
        sizes=[(1_000, 4, 3), (5_000, 6, 4), (20_000, 8, 4)],
        data=with_gaps,
        ours=seen_start,
        peers={"fill + sklearn": filled_mixture},
        written=("fill + sklearn",),
        quality=seen_quality,
        tolerance=0.0,
        target=0.2,
        rounds=3,
        notes="the peer answers another question, and its likelihood is the lower one",
    ),
    Case(
        name="gmm_bayesian",
        what=f"variational, Dirichlet process, full covariance, {N_ITER} iterations",
        sizes=SIZES,
        data=mixture_data,
        ours=bayesian("pansophy.mixture", "full"),
        peers={"sklearn": bayesian("sklearn.mixture", "full")},
        quality=bayesian_quality,
        tolerance=DRAWN,
        target=5.0,
        rounds=3,
        notes="starts are drawn: between seeds the ends of either differ by 0.06 (sd)",
    ),
    Case(
        name="gmm_bayesian_diag",
        what=f"variational, Dirichlet process, diagonal, {N_ITER} iterations",
        sizes=SIZES,
        data=mixture_data,
        ours=bayesian("pansophy.mixture", "diag"),
        peers={"sklearn": bayesian("sklearn.mixture", "diag")},
        quality=bayesian_quality,
        tolerance=0.05,
        target=5.0,
        rounds=3,
        notes="starts are drawn, so the ends differ a little",
    ),
]
