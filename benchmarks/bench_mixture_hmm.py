"""Hidden Markov models, from the same start as the peers."""

import numpy as np

from .runner import Case


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
