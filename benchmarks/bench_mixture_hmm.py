"""Gaussian mixtures and hidden Markov models, from the same start as the peers."""

import numpy as np

from .runner import Case

TURNS = 20


def mixture_data(size):
    """k blobs in d dimensions, and a start that every contender is given."""
    n, d, k = size
    rng = np.random.default_rng(0)
    C = rng.normal(size=(k, d)) * 2
    X = C[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    return X, k


def start(X, k, shape):
    d = X.shape[1]
    P = {"full": np.stack([np.eye(d)] * k), "diag": np.ones((k, d))}[shape]
    return {
        "weights_init": np.full(k, 1 / k),
        "means_init": X[:k].copy(),
        "precisions_init": P,
        "covariance_type": shape,
        "max_iter": TURNS,
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


def mixture_quality(payload, model):
    """Minus the mean log-likelihood, by scikit-learn's formula in float64."""
    from scipy.special import logsumexp

    X, k = payload
    P = np.asarray(model.precisions_cholesky_, float)
    M, w = np.asarray(model.means_, float), np.asarray(model.weights_, float)
    L = np.empty((len(X), k))
    for j in range(k):
        full = P[j].ndim == 2
        Y = (X - M[j]) @ P[j] if full else (X - M[j]) * P[j]
        half = np.log(np.diagonal(P[j]) if full else P[j]).sum()
        L[:, j] = np.log(w[j]) + half - 0.5 * (Y * Y).sum(1)
    return -float(logsumexp(L, axis=1).mean()) + X.shape[1] * 0.9189385332046727


def chain_data(size):
    """Sequences from a random model, and another random model to start from."""
    s, n, k, m = size
    from pansophy.state_space import CategoricalHMM

    rng = np.random.default_rng(0)

    def tables():
        return {
            "startprob_": rng.dirichlet(np.ones(k)),
            "transmat_": rng.dirichlet(np.ones(k), size=k),
            "emissionprob_": rng.dirichlet(np.ones(m), size=k),
        }

    truth = put(CategoricalHMM(k), tables())
    X = truth.sample(s * n, random_state=1)[0]
    return {"X": X, "lengths": [n] * s, "k": k, "m": m, "first": tables()}


def put(model, tables):
    for name, value in tables.items():
        setattr(model, name, value.copy())
    return model


def ours_chain(p, **more):
    from pansophy.state_space import CategoricalHMM

    model = CategoricalHMM(
        p["k"], n_features=p["m"], n_iter=10, tol=0.0, init_params="", **more
    )
    return put(model, p["first"])


def hmmlearn_chain(p, **more):
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(
        p["k"], n_features=p["m"], n_iter=10, tol=-np.inf, init_params="", **more
    )
    return put(model, p["first"])


def hmmlearn_fit(implementation):
    return lambda p: hmmlearn_chain(p, implementation=implementation).fit(
        p["X"], p["lengths"]
    )


def chain_quality(p, model):
    """Minus the mean log-likelihood of the fitted tables, by our own filter."""
    names = ("startprob_", "transmat_", "emissionprob_")
    tables = {name: np.asarray(getattr(model, name)) for name in names}
    judge = put(ours_chain(p), tables)
    return -judge.score(p["X"], p["lengths"]) / len(p["X"])


CASES = [
    Case(
        name="gmm_full",
        what=f"EM, full covariance, {TURNS} turns from the same start, float64",
        sizes=[(5_000, 4, 4), (20_000, 8, 8), (100_000, 16, 16)],
        data=mixture_data,
        ours=ours_mixture("full"),
        peers={
            "sklearn": sklearn_mixture("full"),
            "sklearn float32": sklearn_mixture("full", np.float32),
        },
        quality=mixture_quality,
        tolerance=1e-7,
        target=6.0,
        rounds=3,
    ),
    Case(
        name="gmm_diag",
        what=f"EM, diagonal covariance, {TURNS} turns from the same start, float64",
        sizes=[(5_000, 4, 4), (20_000, 16, 8), (100_000, 32, 16)],
        data=mixture_data,
        ours=ours_mixture("diag"),
        peers={"sklearn": sklearn_mixture("diag")},
        quality=mixture_quality,
        tolerance=1e-7,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="hmm_categorical",
        what="Baum-Welch, categorical, 10 turns; (sequences, length, states, symbols)",
        sizes=[(20, 200, 4, 8), (100, 500, 8, 16), (200, 1000, 16, 32)],
        data=chain_data,
        ours=lambda p: ours_chain(p).fit(p["X"], p["lengths"]),
        peers={
            "hmmlearn": hmmlearn_fit("log"),
            "hmmlearn scaling": hmmlearn_fit("scaling"),
        },
        quality=chain_quality,
        tolerance=1e-8,
        target=10.0,
        rounds=3,
    ),
    Case(
        name="hmm_viterbi",
        what="Viterbi, categorical; (sequences, length, states, symbols)",
        sizes=[(20, 200, 4, 8), (100, 500, 8, 16), (500, 1000, 16, 32)],
        data=chain_data,
        ours=lambda p: ours_chain(p).decode(p["X"], p["lengths"]),
        peers={"hmmlearn": lambda p: hmmlearn_chain(p).decode(p["X"], p["lengths"])},
        quality=lambda p, result: -result[0] / len(p["X"]),
        tolerance=1e-9,
        target=5.0,
    ),
]
