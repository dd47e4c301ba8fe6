"""Gibbs, SMC, nested sampling, resampling and variational inference."""

import numpy as np

from .runner import Case

# -- Gibbs: a bivariate Gaussian, chains and sweeps ------------------------------------

RHO = 0.9


def pair(size):
    chains, sweeps = size
    return {"chains": chains, "sweeps": sweeps}


def ours_gibbs(payload, seed=0):
    from pansophy.sampling import Gibbs, sample

    sd = np.sqrt(1 - RHO**2)
    given = lambda j: lambda rng, x: rng.normal(RHO * x[:, j], sd)
    return sample(
        Gibbs([given(1), given(0)], batched=True),
        payload["sweeps"],
        init=np.zeros((payload["chains"], 2)),
        warmup=100,
        random_state=seed,
    ).flat


def loop_gibbs(payload, seed=0):
    rng = np.random.default_rng(seed)
    sd = np.sqrt(1 - RHO**2)
    out = np.empty((payload["chains"], payload["sweeps"], 2))
    for c in range(payload["chains"]):
        x = y = 0.0
        for t in range(-100, payload["sweeps"]):
            x = rng.normal(RHO * y, sd)
            y = rng.normal(RHO * x, sd)
            if t >= 0:
                out[c, t] = x, y
    return out.reshape(-1, 2)


def correlation_error(payload, x):
    return float(abs(np.corrcoef(x.T)[0, 1] - RHO))


# -- tempered SMC and nested sampling: a Gaussian likelihood with known evidence ------


def posterior(size):
    n, d = size
    rng = np.random.default_rng(0)
    A = rng.normal(size=(d, d))
    S = 0.1 * (A @ A.T / d + 0.2 * np.eye(d))
    mu = rng.normal(size=d)
    return {"n": n, "d": d, "P": np.linalg.inv(S), "S": S, "mu": mu}


def log_z(payload):
    from scipy.stats import multivariate_normal

    d = payload["d"]
    law = multivariate_normal(np.zeros(d), payload["S"] + 4 * np.eye(d))
    return float(law.logpdf(payload["mu"]))


def likelihood(payload):
    P, mu = payload["P"], payload["mu"]
    half = 0.5 * np.linalg.slogdet(2 * np.pi * payload["S"])[1]
    return lambda x: -0.5 * (((x - mu) @ P) * (x - mu)).sum(axis=-1) - half


MOVES = 20  # steps of the walk in a stage


def ours_smc(payload, seed=0):
    from pansophy.distributions import Normal
    from pansophy.sampling import SMC

    d = payload["d"]
    prior = Normal(np.zeros(d), np.full(d, 4.0), "diag")
    run = SMC(
        likelihood(payload), prior, n_particles=payload["n"], max_moves=MOVES,
        batched=True,
    ).run(seed)  # fmt: skip
    return run.log_evidence


def blackjax_smc(payload, seed=0):
    if "blackjax" not in payload:
        payload["blackjax"] = blackjax_step(payload)
    import jax

    start, step = payload["blackjax"]
    key, state, total = jax.random.key(seed), start, 0.0
    while float(state.tempering_param) < 1:
        key, sub = jax.random.split(key)
        state, info = step(sub, state)
        total += float(info.log_likelihood_increment)
    return total


def blackjax_step(payload):
    """Adaptive tempered SMC with random-walk moves, compiled once."""
    import blackjax
    import blackjax.smc.resampling as resampling
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    d, P, mu = payload["d"], jnp.asarray(payload["P"]), jnp.asarray(payload["mu"])
    half = 0.5 * np.linalg.slogdet(2 * np.pi * payload["S"])[1]
    log_like = lambda x: -0.5 * (x - mu) @ P @ (x - mu) - half
    log_prior = lambda x: -0.5 * x @ x / 4 - 0.5 * d * jnp.log(2 * jnp.pi * 4)
    spread = np.sqrt(np.diag(np.linalg.inv(payload["P"] + np.eye(d) / 4)))
    sigma = jnp.asarray(np.diag(2.38 / np.sqrt(d) * 1.5 * spread))
    kernel = blackjax.additive_step_random_walk.build_kernel()
    move = lambda key, state, f, sigma: kernel(
        key, state, f, blackjax.mcmc.random_walk.normal(sigma)
    )
    smc = blackjax.adaptive_tempered_smc(
        log_prior, log_like, move, blackjax.additive_step_random_walk.init,
        {"sigma": sigma[None]}, resampling.systematic, 0.5, num_mcmc_steps=MOVES,
    )  # fmt: skip
    x = 2 * jax.random.normal(jax.random.key(1), (payload["n"], d), dtype=float)
    return smc.init(x), jax.jit(smc.step)


def evidence_error(payload, found):
    return abs(found - log_z(payload))


def ours_nested(payload, seed=0):
    from pansophy.distributions import Normal
    from pansophy.sampling import NestedSampling

    d = payload["d"]
    prior = Normal(np.zeros(d), np.full(d, 4.0), "diag")
    ns = NestedSampling(likelihood(payload), prior, n_live=payload["n"], batched=True)
    run = ns.run(seed)
    return run.log_evidence, run.error


def dynesty_nested(payload, seed=0):
    import dynesty
    from scipy.special import ndtri

    d, f = payload["d"], likelihood(payload)
    sampler = dynesty.NestedSampler(
        f, lambda u: 2 * ndtri(u), d, nlive=payload["n"],
        rstate=np.random.default_rng(seed),
    )  # fmt: skip
    sampler.run_nested(print_progress=False, dlogz=0.01)
    return float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1])


def nested_error(payload, found):
    """Distance to the evidence in units of the error to be expected, sqrt(H / n)."""
    value, error = found
    return max(abs(value - log_z(payload)) / error - 2.5, 0.0) + error


# -- resampling -----------------------------------------------------------------------


def weights(size):
    w = np.random.default_rng(0).gamma(0.5, size=size[0])
    return {"w": w / w.sum()}


def ours_resample(payload, seed=0):
    from pansophy.sampling import resample

    return [resample(payload["w"], scheme=s, random_state=seed) for s in SCHEMES]


def filterpy_resample(payload, seed=0):
    import filterpy.monte_carlo as fm

    np.random.seed(seed)
    return [getattr(fm, f"{s}_resample")(payload["w"]) for s in SCHEMES]


SCHEMES = ("systematic", "stratified", "multinomial")


def resample_error(payload, found):
    """Distance of the mean index from its expectation, in units of the index range."""
    w = payload["w"]
    want = w @ np.arange(len(w))
    return float(max(abs(np.mean(i) - want) for i in found) / len(w))


# -- variational inference: logistic regression ---------------------------------------


def logistic(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ rng.normal(size=d) / 2))).astype(float)
    return {"X": X, "y": y}


def ours_advi(payload, solver="fixed", seed=0):
    from pansophy.sampling import ADVI, logistic_density

    X, y = payload["X"], payload["y"]
    density = logistic_density(X, y, scale=1.0)
    run = ADVI(density, solver=solver).run(np.zeros(X.shape[1]), seed)
    return run.mean, np.sqrt(run.normal.variance)


def numpyro_svi(payload, seed=0):
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    jax.config.update("jax_enable_x64", True)
    if "svi" not in payload:
        X, y = jnp.asarray(payload["X"]), jnp.asarray(payload["y"])

        def model():
            b = numpyro.sample("b", dist.Normal(jnp.zeros(X.shape[1]), 1).to_event(1))
            numpyro.sample("y", dist.Bernoulli(logits=X @ b), obs=y)

        guide = AutoNormal(model)
        elbo = Trace_ELBO(num_particles=10)
        svi = SVI(model, guide, numpyro.optim.Adam(0.02), elbo)
        go = jax.jit(
            lambda s: jax.lax.scan(lambda s, _: svi.update(s), s, None, length=2000)
        )
        payload["svi"] = svi, go
    svi, go = payload["svi"]
    state, _ = go(svi.init(jax.random.key(seed)))
    params = svi.get_params(state)
    found = params["b_auto_loc"], params["b_auto_scale"]
    return tuple(np.asarray(a) for a in found)


def bound_gap(payload, found):
    """Minus the evidence lower bound of q, by common draws, relative to its size."""
    m, s = found
    X, y = payload["X"], payload["y"]
    e = np.random.default_rng(1).standard_normal((200, len(m)))
    e = np.concatenate([e, -e])
    B = m + s * e
    t = B @ X.T
    log_p = (t * y - np.logaddexp(0, t)).sum(axis=1)
    log_p -= 0.5 * (B**2).sum(axis=1) + 0.5 * len(m) * np.log(2 * np.pi)
    return float(-(log_p.mean() + np.log(s).sum()))


CASES = [
    Case(
        name="gibbs_pair",
        what="bivariate Gaussian, correlation 0.9, chains x sweeps",
        sizes=[(10, 1000), (50, 2000), (200, 2000)],
        data=pair,
        ours=ours_gibbs,
        peers={"NumPy loop": loop_gibbs},
        written=("NumPy loop",),
        quality=correlation_error,
        tolerance=0.01,
        target=3.0,
        rounds=3,
        notes="conditionals as Python functions; ours moves all chains at once",
    ),
    Case(
        name="smc",
        what="tempered SMC with random-walk moves, Gaussian posterior, particles x d",
        sizes=[(500, 5), (1000, 10), (4000, 20)],
        data=posterior,
        ours=ours_smc,
        peers={"blackjax": blackjax_smc},
        quality=evidence_error,
        tolerance=0.3,
        target=1.0,
        notes="the walk of blackjax is given the posterior's spread; ours learns it",
    ),
    Case(
        name="nested",
        what="evidence of a Gaussian posterior, live points x d",
        sizes=[(100, 2), (200, 3), (400, 5)],
        data=posterior,
        ours=ours_nested,
        peers={"dynesty": dynesty_nested},
        quality=nested_error,
        tolerance=0.1,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="resampling",
        what="systematic, stratified and multinomial, number of weights",
        sizes=[(1000,), (30_000,), (1_000_000,)],
        data=weights,
        ours=ours_resample,
        peers={"filterpy": filterpy_resample},
        quality=resample_error,
        tolerance=0.01,
        target=2.0,
    ),
    Case(
        name="advi",
        what="mean-field Gaussian for logistic regression, rows x d",
        sizes=[(200, 5), (1000, 20), (5000, 50)],
        data=logistic,
        ours=ours_advi,
        peers={"numpyro SVI": numpyro_svi},
        quality=bound_gap,
        tolerance=0.1,
        target=1.0,
        notes="fixed draws and L-BFGS; numpyro: Adam, 2000 steps of 10 draws, compiled",
    ),
]
