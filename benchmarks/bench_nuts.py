"""NUTS: time for equal effective sample size, against JAX's samplers.

Every contender runs 500 steps of adaptation and 2000 draws of four chains from the
origin. Effective sizes differ from run to run and from sampler to sampler, so a
contender goes on with new seeds until the smallest bulk ESS of its runs adds up to
WANTED: the time is the time for equal ESS, and `quality` the relative error of
the variances, which an effective size that lies would show. JAX's samplers are jitted
in the first call, which is not timed, in float64 as ours; their chains run on two
threads, the quickest way on two cores (`chain_method="parallel"` and `vectorized` were
slower or the same).
"""

import numpy as np

from .runner import Case

WANTED = 40_000
ADAPT, DRAWS, CHAINS = 500, 2000, 4


def gaussian(size):
    (d,) = size
    rng = np.random.default_rng(0)
    A = rng.normal(size=(d, d))
    S = A @ A.T / d + 0.1 * np.eye(d)
    return {"d": d, "S": S, "P": np.linalg.inv(S), "variance": np.diag(S)}


def regression(size):
    n, d = size
    rng = np.random.default_rng(0)
    X, b = rng.normal(size=(n, d)), 0.7 * rng.normal(size=d)
    y = rng.random(n) < 1 / (1 + np.exp(-X @ b))
    return {"d": d, "X": X, "y": y, "Z": np.where(y, 1.0, -1.0)[:, None] * X}


def enough(payload, name, run):
    """Draws of as many runs as reach WANTED, side by side.

    How many these are is found in the first call, which is not timed.
    """
    from pansophy.sampling import ess_bulk

    if name not in payload.setdefault("runs", {}):
        found, k = 0.0, 0
        while found < WANTED:
            found += ess_bulk(run(k)).min()
            k += 1
        payload["runs"][name] = k
    return np.concatenate([run(k) for k in range(payload["runs"][name])])


def density_of(payload, form):
    from pansophy import sampling as s

    if form == "numpy":
        return plain_density(payload)
    if form == "numba":
        return numba_density(payload)
    if "P" in payload:
        return s.normal_density(np.zeros(payload["d"]), precision=payload["P"])
    return s.logistic_density(payload["X"], payload["y"])


def plain_density(payload):
    from pansophy.sampling import as_target_density

    if "P" in payload:
        P = payload["P"]

        def both(x):
            g = -x @ P
            return 0.5 * (g * x).sum(axis=1), g

        return as_target_density(both, True, batched=True)
    Z = payload["Z"]

    def both(x):
        f = x @ Z.T
        e = np.exp(-np.abs(f))
        value = (np.minimum(f, 0) - np.log1p(e)).sum(axis=1) - 0.5 * (x**2).sum(axis=1)
        return value, (np.where(f > 0, e, 1.0) / (1 + e)) @ Z - x

    return as_target_density(both, True, batched=True)


def numba_density(payload):
    from numba import njit

    from pansophy.sampling import as_target_density

    if "compiled" in payload:
        return payload["compiled"]

    @njit(fastmath={"contract", "reassoc", "nsz", "arcp"})
    def normal(x, P):
        g = np.empty(len(x))
        total = 0.0
        for i in range(len(x)):
            s = 0.0
            for j in range(len(x)):
                s -= P[i, j] * x[j]
            g[i] = s
            total += s * x[i]
        return 0.5 * total, g

    @njit(fastmath={"contract", "reassoc", "nsz", "arcp"})
    def logistic(x, Z):  # Z by columns, so that loops over rows become vectors
        d, n = Z.shape
        f, g = np.zeros(n), np.empty(d)
        for j in range(d):
            for i in range(n):
                f[i] += x[j] * Z[j, i]
        total, product = 0.0, 1.0
        for i in range(n):
            e = np.exp(-abs(f[i]))
            total += min(f[i], 0.0)
            product *= 1 + e  # one logarithm for 512 of them
            if i % 512 == 511:
                total -= np.log(product)
                product = 1.0
            f[i] = (e if f[i] > 0 else 1.0) / (1 + e)
        for j in range(d):
            s = 0.0
            for i in range(n):
                s += f[i] * Z[j, i]
            g[j] = s - x[j]
            total -= 0.5 * x[j] * x[j]
        return total - np.log(product), g

    if "P" in payload:
        payload["compiled"] = as_target_density(normal, True, data=(payload["P"],))
    else:
        payload["compiled"] = as_target_density(logistic, True, data=(payload["Z"].T,))
    return payload["compiled"]


def ours(payload, form="built in"):
    from pansophy.sampling import NUTS, sample

    sampler = NUTS(density_of(payload, form))
    start = np.zeros((CHAINS, payload["d"]))
    run = lambda seed: (
        sample(sampler, DRAWS, init=start, warmup=ADAPT, random_state=seed).positions
    )
    return enough(payload, form, run)


def ours_numba(payload):
    return ours(payload, "numba")


def ours_numpy(payload):
    return ours(payload, "numpy")


def potential(payload):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if "P" in payload:
        P = jnp.asarray(payload["P"])
        return lambda x: 0.5 * x @ P @ x
    Z = jnp.asarray(payload["Z"])
    return lambda x: jnp.logaddexp(0.0, -(Z @ x)).sum() + 0.5 * x @ x


def on_threads(payload, name, chain):
    """All chains of a jitted function of a key, two at a time."""
    from concurrent.futures import ThreadPoolExecutor

    import jax

    def run(seed):
        keys = jax.random.split(jax.random.PRNGKey(seed), CHAINS)
        with ThreadPoolExecutor(2) as pool:
            return np.stack(list(pool.map(lambda k: np.asarray(chain(k)), keys)))

    return enough(payload, name, run)


def numpyro_chains(payload):
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    if "numpyro" not in payload:
        energy = potential(payload)

        def chain(key):
            run = MCMC(
                NUTS(potential_fn=energy),
                num_warmup=ADAPT,
                num_samples=DRAWS,
                progress_bar=False,
            )
            run.run(key, init_params=jnp.zeros(payload["d"]))
            return run.get_samples()

        payload["numpyro"] = jax.jit(chain)
    return on_threads(payload, "jax numpyro", payload["numpyro"])


def blackjax_chains(payload):
    import blackjax
    import jax
    import jax.numpy as jnp

    if "blackjax" not in payload:
        energy = potential(payload)
        log_prob = lambda x: -energy(x)

        def chain(key):
            first, second = jax.random.split(key)
            warm = blackjax.window_adaptation(blackjax.nuts, log_prob)
            (state, found), _ = warm.run(first, jnp.zeros(payload["d"]), ADAPT)
            step = blackjax.nuts(log_prob, **found).step

            def body(state, key):
                state, _ = step(key, state)
                return state, state.position

            return jax.lax.scan(body, state, jax.random.split(second, DRAWS))[1]

        payload["blackjax"] = jax.jit(chain)
    return on_threads(payload, "jax blackjax", payload["blackjax"])


def variance_error(payload, x):
    """Root mean square of the relative errors of the variances.

    Those of the regression are measured against one long run of ours.
    """
    from pansophy.sampling import NUTS, sample

    if "variance" not in payload:
        sampler = NUTS(density_of(payload, "built in"))
        start = np.zeros(payload["d"])
        long = sample(sampler, 20_000, init=start, random_state=99).flat
        payload["variance"] = long.var(axis=0)
    ratio = x.reshape(-1, x.shape[2]).var(axis=0) / payload["variance"]
    return float(np.sqrt(np.mean((ratio - 1) ** 2)))


def case(name, what, sizes, data, ours):
    return Case(
        name=name,
        what=what,
        sizes=sizes,
        data=data,
        ours=ours,
        peers={"numpyro": numpyro_chains, "blackjax": blackjax_chains},
        quality=variance_error,
        tolerance=0.02,
        target=1.0,
        rounds=3,
        targets={"blackjax": 1.0},
        notes="time for equal ESS; 4 chains, 500 adapt + 2000 draws; peers jitted, f64",
    )


NORMAL = [(10,), (25,), (50,)]
LOGISTIC = [(250, 5), (500, 10), (1000, 20)]
CASES = [
    case("nuts_normal", "correlated normal, built in", NORMAL, gaussian, ours),
    case("nuts_normal_numba", "the same in Numba", NORMAL, gaussian, ours_numba),
    case("nuts_normal_numpy", "the same in NumPy", NORMAL, gaussian, ours_numpy),
    case("nuts_logistic", "rows x columns, built in", LOGISTIC, regression, ours),
    case("nuts_logistic_numba", "the same in Numba", LOGISTIC, regression, ours_numba),
    case("nuts_logistic_numpy", "the same in NumPy", LOGISTIC, regression, ours_numpy),
]
