"""Hidden Markov models, from the same start as the peers."""

import numpy as np

from .runner import Case

ITERATIONS = 10


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
    return {"X": X, "lengths": [n] * s, "k": k, "m": m, "first": tables(), "kept": {}}


def put(model, tables):
    for name, value in tables.items():
        setattr(model, name, value.copy())
    return model


def ours_chain(p, **more):
    from pansophy.state_space import CategoricalHMM

    model = CategoricalHMM(
        p["k"], n_features=p["m"], n_iter=ITERATIONS, tol=0.0, init_params="", **more
    )
    return put(model, p["first"])


def hmmlearn_chain(p, **more):
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(
        p["k"],
        n_features=p["m"],
        n_iter=ITERATIONS,
        tol=-np.inf,
        init_params="",
        **more,
    )
    return put(model, p["first"])


def hmmlearn_fit(implementation):
    return lambda p: hmmlearn_chain(p, implementation=implementation).fit(
        p["X"], p["lengths"]
    )


def dynamax_fit(p):
    """The E- and M-step of dynamax in one jitted function, compiled by the first call.

    No priors, so that its M-step is ours; float64, as everybody else has.
    """
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from dynamax.hidden_markov_model import CategoricalHMM

    first = p["first"]
    if not p["kept"]:
        model = CategoricalHMM(
            p["k"], 1, p["m"], initial_probs_concentration=1.0,
            transition_matrix_concentration=1.0, emission_prior_concentration=1.0,
        )  # fmt: skip
        params, props = model.initialize(
            jax.random.PRNGKey(0),
            initial_probs=jnp.asarray(first["startprob_"]),
            transition_matrix=jnp.asarray(first["transmat_"]),
            emission_probs=jnp.asarray(first["emissionprob_"])[:, None, :],
        )

        def iteration(params, X):
            stats, _ = jax.vmap(lambda x: model.e_step(params, x))(X)
            state = model.initialize_m_step_state(params, props)
            return model.m_step(params, props, stats, state)[0]

        X = jnp.asarray(p["X"].reshape(len(p["lengths"]), -1, 1).astype(np.int32))
        p["kept"].update(iteration=jax.jit(iteration), params=params, X=X)
    params = p["kept"]["params"]
    for _ in range(ITERATIONS):
        params = p["kept"]["iteration"](params, p["kept"]["X"])
    tables = {
        "startprob_": np.asarray(params.initial.probs),
        "transmat_": np.asarray(params.transitions.transition_matrix),
        "emissionprob_": np.asarray(params.emissions.probs)[:, 0, :],
    }
    return put(ours_chain(p), tables)


def pomegranate_model(p):
    import torch
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    first = p["first"]
    emit = [Categorical(torch.tensor(row[None])) for row in first["emissionprob_"]]
    return DenseHMM(
        emit,
        edges=torch.tensor(first["transmat_"]),
        starts=torch.tensor(first["startprob_"]),
        ends=torch.full((p["k"],), 1e-300, dtype=torch.float64),
        max_iter=ITERATIONS,
        tol=1e-12,
    )


def pomegranate_decode(p):
    import torch

    X = torch.tensor(p["X"].reshape(len(p["lengths"]), -1, 1).astype(np.int64))
    return scored(p, pomegranate_model(p).viterbi(X).numpy().reshape(-1))


def scored(p, path):
    """The log-probability of a path under the tables at the start, and the path."""
    first, n, x = p["first"], p["lengths"][0], p["X"][:, 0].astype(int)
    z = np.asarray(path).reshape(-1, n)
    with np.errstate(divide="ignore"):
        score = np.log(first["startprob_"][z[:, 0]]).sum()
        score += np.log(first["transmat_"][z[:, :-1], z[:, 1:]]).sum()
        score += np.log(first["emissionprob_"][z.reshape(-1), x]).sum()
    return score, path


def chain_quality(p, model):
    """Minus the mean log-likelihood of the fitted tables, by our own filter."""
    names = ("startprob_", "transmat_", "emissionprob_")
    tables = {name: np.asarray(getattr(model, name)) for name in names}
    judge = put(ours_chain(p), tables)
    return -judge.score(p["X"], p["lengths"]) / len(p["X"])


def learning(name, what, sizes, **more):
    return Case(
        name=name,
        what=f"Baum-Welch, categorical, 10 iterations, {what}; "
        "(sequences, length, states, symbols)",
        sizes=sizes,
        data=chain_data,
        ours=lambda p: ours_chain(p).fit(p["X"], p["lengths"]),
        peers={
            "hmmlearn": hmmlearn_fit("log"),
            "hmmlearn scaling": hmmlearn_fit("scaling"),
            "dynamax": dynamax_fit,
        },
        quality=chain_quality,
        tolerance=1e-8,
        target=10.0,
        targets={"hmmlearn scaling": 10.0, "dynamax": 4.0},
        rounds=3,
        **more,
    )


def paths(name, what, sizes, **more):
    return Case(
        name=name,
        what=f"Viterbi, categorical, {what}; (sequences, length, states, symbols)",
        sizes=sizes,
        data=chain_data,
        ours=lambda p: ours_chain(p).decode(p["X"], p["lengths"]),
        peers={
            "hmmlearn": lambda p: hmmlearn_chain(p).decode(p["X"], p["lengths"]),
            **more,
        },
        quality=lambda p, result: -result[0] / len(p["X"]),
        tolerance=1e-9,
        target=4.0,
    )


def sequential_fit(p):
    """Our fit with every sequence on its own: no batches, no blocks, not two-ended."""
    from unittest import mock

    from pansophy.core.chains import hidden_chain

    with (
        mock.patch.object(hidden_chain, "MAX_BATCHED_STATES", 0),
        mock.patch.object(hidden_chain, "LONG_SEQUENCE", 1 << 62),
    ):
        return ours_chain(p).fit(p["X"], p["lengths"])


LONG = [(1, 200_000, 5, 16), (1, 200_000, 16, 32), (1, 200_000, 50, 32)]
SHORT = [(2000, 100, 5, 16), (2000, 100, 16, 32), (2000, 100, 50, 32)]

CASES = [
    learning("hmm_categorical", "sequences of 1,000",
             [(20, 200, 4, 8), (100, 500, 8, 16), (200, 1000, 16, 32)]),
    learning("hmm_categorical_long", "one long sequence, 5 to 50 states", LONG),
    learning("hmm_categorical_short", "2,000 short sequences, 5 to 50 states", SHORT),
    Case(
        name="hmm_batched",
        what="Baum-Welch by batches and blocks of sequences against one sequence after "
        "the other; (sequences, length, states, symbols)",
        sizes=[(1000, 100, 2, 16), (1000, 100, 5, 16), (100, 1000, 12, 16),
               (1, 100_000, 5, 16)],
        data=chain_data,
        ours=lambda p: ours_chain(p).fit(p["X"], p["lengths"]),
        peers={"sequential": sequential_fit},
        written=("sequential",),
        quality=chain_quality,
        tolerance=1e-8,
        target=1.3,
    ),
    paths("hmm_viterbi", "sequences of 1,000",
          [(20, 200, 4, 8), (100, 500, 8, 16), (500, 1000, 16, 32)],
          pomegranate=pomegranate_decode),
    paths("hmm_viterbi_long", "one long sequence, 5 to 50 states", LONG),
    paths("hmm_viterbi_short", "2,000 short sequences, 5 to 50 states", SHORT,
          pomegranate=pomegranate_decode),
    Case(
        name="hmm_posteriors",
        what="forward-backward, categorical; (sequences, length, states, symbols)",
        sizes=[(2000, 100, 5, 16), (1, 200_000, 16, 32), (200, 1000, 50, 32)],
        data=chain_data,
        ours=lambda p: ours_chain(p).score_samples(p["X"], p["lengths"]),
        peers={
            "hmmlearn scaling": lambda p: hmmlearn_chain(
                p, implementation="scaling"
            ).score_samples(p["X"], p["lengths"])
        },
        quality=lambda p, result: -result[0] / len(p["X"]),
        tolerance=1e-9,
        target=4.0,
    ),
]  # fmt: skip
