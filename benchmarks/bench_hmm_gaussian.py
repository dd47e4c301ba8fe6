"""Gaussian hidden Markov models, from the same start as the peers, 10 iterations."""

import numpy as np

from .runner import Case

ITERATIONS = 10


def data(size):
    """Sequences of a random model in d columns, and another model to start from."""
    s, n, k, d, shape = size
    rng = np.random.default_rng(0)
    trans = rng.dirichlet(np.ones(k), size=k) * 0.2 + 0.8 * np.eye(k)
    z, u, edges = np.zeros(s * n, int), rng.random(s * n), np.cumsum(trans, axis=1)
    for t in range(1, s * n):
        z[t] = min(np.searchsorted(edges[z[t - 1]], u[t]), k - 1)
    places = 2 * rng.normal(size=(k, d))
    X = places[z] + rng.normal(size=(s * n, d))
    C = np.cov(X.T)
    first = {
        "startprob_": np.full(k, 1 / k),
        "transmat_": np.full((k, k), 0.5 / k) + 0.5 * np.eye(k),
        "means_": X[rng.choice(len(X), k, replace=False)],
        "covars_": np.tile(np.diag(C), (k, 1))
        if shape == "diag"
        else np.tile(C, (k, 1, 1)),
    }
    return {"X": X, "lengths": [n] * s, "k": k, "shape": shape, "first": first}


def put(model, p):
    for name, value in p["first"].items():
        setattr(model, name, value.copy())
    return model


def ours(p):
    from pansophy.state_space import GaussianHMM

    model = GaussianHMM(
        p["k"], p["shape"], n_iter=ITERATIONS, tol=0.0, init_params="", covars_prior=0.0
    )
    return put(model, p).fit(p["X"], p["lengths"])


def hmmlearn(implementation):
    def fit(p):
        from hmmlearn.hmm import GaussianHMM

        model = GaussianHMM(
            p["k"], p["shape"], n_iter=ITERATIONS, tol=-np.inf, init_params="",
            covars_prior=0.0, implementation=implementation,
        )  # fmt: skip
        return put(model, p).fit(p["X"], p["lengths"])

    return fit


JITTED = {}  # by size: compiled in the first call, as its users would keep it


def dynamax(p):
    """jit around the iterations of `fit_em`; float64, priors that say nothing."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from dynamax.hidden_markov_model import DiagonalGaussianHMM
    from dynamax.hidden_markov_model import GaussianHMM as FullGaussianHMM

    k, d = p["k"], p["X"].shape[1]
    s, first = len(p["lengths"]), p["first"]
    E = jnp.asarray(p["X"].reshape(s, -1, d))
    if p["shape"] == "diag":
        model = DiagonalGaussianHMM(k, d)
        given = {"emission_scale_diags": jnp.sqrt(jnp.asarray(first["covars_"]))}
    else:
        model = FullGaussianHMM(k, d)
        given = {"emission_covariances": jnp.asarray(first["covars_"])}
    params, props = model.initialize(
        jax.random.PRNGKey(0),
        initial_probs=jnp.asarray(first["startprob_"]),
        transition_matrix=jnp.asarray(first["transmat_"]),
        emission_means=jnp.asarray(first["means_"]),
        **given,
    )
    key = (k, d, s, len(p["X"]), p["shape"])
    if key not in JITTED:
        state = model.initialize_m_step_state(params, props)

        @jax.jit
        def iteration(params, state, E):
            stats, lps = jax.vmap(lambda e: model.e_step(params, e))(E)
            params, state = model.m_step(params, props, stats, state)
            return params, state, lps.sum()

        JITTED[key] = (iteration, state)
    iteration, state = JITTED[key]
    for _ in range(ITERATIONS):
        params, state, _ = iteration(params, state, E)
    return jax.block_until_ready(params)


def quality(p, result):
    """Minus the mean log-likelihood after the iterations, by our own filter."""
    from pansophy.state_space import GaussianHMM

    judge = GaussianHMM(p["k"], p["shape"], init_params="")
    if hasattr(result, "emissions"):
        e = result.emissions
        shape = p["shape"]
        C = np.asarray(e.scale_diags) ** 2 if shape == "diag" else np.asarray(e.covs)
        judge.startprob_ = np.asarray(result.initial.probs)
        judge.transmat_ = np.asarray(result.transitions.transition_matrix)
        judge.means_ = np.asarray(e.means)
    else:
        C = result.covars_
        judge.startprob_, judge.transmat_ = result.startprob_, result.transmat_
        judge.means_ = result.means_
    judge.covars_ = C
    judge.startprob_ = judge.startprob_ / judge.startprob_.sum()
    judge.transmat_ = judge.transmat_ / judge.transmat_.sum(axis=1, keepdims=True)
    return -judge.score(p["X"], p["lengths"]) / len(p["X"])


PEERS = {
    "hmmlearn": hmmlearn("log"),
    "hmmlearn scaling": hmmlearn("scaling"),
    "dynamax": dynamax,
}
WHAT = "Baum-Welch, Normals, 10 iterations; (sequences, length, states, columns, shape)"
COMMON = {
    "data": data,
    "ours": ours,
    "peers": PEERS,
    "quality": quality,
    "tolerance": 1e-3,
    "target": 10.0,
    "targets": {"dynamax": 4.0},
    "rounds": 3,
    "notes": "dynamax: jit done before, its M-step keeps weak priors of its own",
}
CASES = [
    Case(
        name="hmm_gaussian_long",
        what=f"one sequence, {WHAT}",
        sizes=[(1, 20_000, 5, 4, "diag"), (1, 100_000, 20, 4, "diag"),
               (1, 200_000, 5, 4, "diag"), (1, 200_000, 50, 4, "diag")],
        **COMMON,
    ),
    Case(
        name="hmm_gaussian_short",
        what=f"many short sequences, {WHAT}",
        sizes=[(200, 100, 5, 4, "diag"), (2_000, 100, 5, 4, "diag"),
               (2_000, 100, 50, 4, "diag")],
        **COMMON,
    ),
    Case(
        name="hmm_gaussian_full",
        what=f"full covariances, {WHAT}",
        sizes=[(200, 100, 5, 4, "full"), (1, 200_000, 5, 4, "full"),
               (2_000, 100, 20, 4, "full")],
        **COMMON,
    ),
]  # fmt: skip
