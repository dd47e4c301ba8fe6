"""Chains and tables: Metropolis, value iteration, Q-learning."""

import numpy as np

from .runner import Case

# -- a correlated Gaussian in 50 dimensions, a fixed number of density calls ----------


def gaussian(size):
    calls, d = size
    rng = np.random.default_rng(0)
    A = rng.normal(size=(d, d))
    S = A @ A.T / d + 0.1 * np.eye(d)
    P = np.linalg.inv(S)
    log_prob = lambda x: -0.5 * ((x @ P) * x).sum(axis=-1)
    starts = 0.1 * rng.normal(size=(200, d))  # a ball, as emcee's guide advises
    return {
        "log_prob": log_prob,
        "starts": starts,
        "calls": calls,
        "variance": np.diag(S),
    }


def ours_walk(payload, m=50, seed=0):
    from pansophy.sampling import Metropolis, sample

    steps = payload["calls"] // m
    warmup = steps // 2
    return sample(
        Metropolis(payload["log_prob"], batched=True),
        steps - warmup,
        init=payload["starts"][:m],
        warmup=warmup,
        random_state=seed,
    ).positions


def emcee_walk(payload, seed=0):
    import emcee

    x = payload["starts"]
    np.random.seed(seed)  # the sampler begins from the state of NumPy's
    sampler = emcee.EnsembleSampler(*x.shape, payload["log_prob"], vectorize=True)
    sampler.run_mcmc(x, payload["calls"] // len(x))
    chain = sampler.get_chain()
    return chain[len(chain) // 2 :].swapaxes(0, 1)  # the first half is the way in


def variance_error(payload, x):
    """Root mean square of the relative errors of the estimated variances.

    Effective sizes will not do: many walkers that have not mixed look like as many
    free draws.
    """
    ratio = x.reshape(-1, x.shape[2]).var(axis=0) / payload["variance"]
    return float(np.sqrt(np.mean((ratio - 1) ** 2)))


# -- value iteration in a random sparse world -----------------------------------------


def world(size):
    from scipy import sparse

    S, A, K = size
    rng = np.random.default_rng(0)
    T = []
    begin = np.arange(S + 1, dtype=np.int32) * K
    for _ in range(A):
        to = np.sort(rng.integers(S, size=(S, K), dtype=np.int32), axis=1)
        p = rng.dirichlet(np.ones(K), S)
        T.append(sparse.csr_array((p.ravel(), to.ravel(), begin), shape=(S, S)))
    return {"T": T, "stacked": sparse.vstack(T).tocsr(), "R": rng.random((S, A))}


def ours_values(payload):
    from pansophy.rl import value_iteration

    return value_iteration(payload["T"], payload["R"], gamma=0.99, tol=1e-6).V


def csr_loop(payload, certified=False):
    """Plain sweeps until no value changes by 1e-6, or until ours would stop."""
    T, r, gamma = payload["stacked"], payload["R"].T.copy(), 0.99
    V = np.zeros(r.shape[1])
    while True:
        W = (r + gamma * (T @ V).reshape(r.shape)).max(axis=0)
        change = W - V
        V = W
        if certified:
            low, high = gamma / (1 - gamma) * np.array([change.min(), change.max()])
            if high - low <= 2e-6:
                return V + (low + high) / 2
        elif np.abs(change).max() < 1e-6:
            return V


def csr_loop_same_stop(payload):
    return csr_loop(payload, certified=True)


def value_error(payload, V):
    """Greatest distance from the best values, which are found to 1e-10 once."""
    from pansophy.rl import value_iteration

    if "best" not in payload:
        T, R = payload["T"], payload["R"]
        payload["best"] = value_iteration(T, R, gamma=0.99, tol=1e-10).V
    return float(np.abs(V - payload["best"]).max())


# -- Q-learning on the slippery 4 x 4 lake --------------------------------------------


def lake(size):
    return {"n": size[0]}


def ours_learning(payload, engine="table", seed=0):
    import gymnasium

    from pansophy.rl import QLearning

    env = gymnasium.make("FrozenLake-v1")
    model = QLearning(
        payload["n"],
        learning_rate=0.1,
        gamma=0.99,
        exploration=0.1,
        engine=engine,
        random_state=seed,
    )
    return model.fit(env).Q_


def ours_stepping(payload, seed=0):
    return ours_learning(payload, "env", seed)


def plain_loop(payload, seed=0):
    import gymnasium

    env = gymnasium.make("FrozenLake-v1")
    rng = np.random.default_rng(seed)
    Q = 1e-6 * rng.random((16, 4))  # no ties: argmax would take the first for ever
    s, _ = env.reset(seed=seed)
    for _ in range(payload["n"]):
        explore = rng.random() < 0.1
        a = int(rng.integers(4)) if explore else int(np.argmax(Q[s]))
        after, reward, terminated, truncated, _ = env.step(a)
        target = reward if terminated else reward + 0.99 * Q[after].max()
        Q[s, a] += 0.1 * (target - Q[s, a])
        s = after
        if terminated or truncated:
            s, _ = env.reset()
    return Q


def regret(payload, Q):
    """How much the greedy policy falls short of the best value at the start."""
    import gymnasium

    from pansophy.rl import evaluate_policy, value_iteration

    env = gymnasium.make("FrozenLake-v1")
    best = value_iteration(env, gamma=0.99).V[0]
    return float(best - evaluate_policy(env, Q.argmax(axis=1), gamma=0.99)[0])


CASES = [
    Case(
        name="metropolis",
        what="random-walk chains, correlated Gaussian, a fixed number of density calls",
        sizes=[(50_000, 10), (100_000, 25), (200_000, 50)],
        data=gaussian,
        ours=ours_walk,
        peers={"emcee": emcee_walk},
        quality=variance_error,
        tolerance=0.0,
        target=2.0,
        notes="ours 50 chains, learnt covariance; emcee 200 walkers, stretch move",
    ),
    Case(
        name="value_iteration",
        what="states x actions x successors, discount 0.99, to 1e-6",
        sizes=[(1000, 4, 5), (3000, 8, 10), (10_000, 8, 10)],
        data=world,
        ours=ours_values,
        peers={"scipy CSR": csr_loop, "scipy CSR, our stop": csr_loop_same_stop},
        written=("scipy CSR", "scipy CSR, our stop"),
        notes="ours stops when the bounds allow it, which is most of the first ratio",
        quality=value_error,
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="q_learning",
        what="tabular Q-learning, FrozenLake 4x4 slippery, steps",
        sizes=[(20_000,), (60_000,), (200_000,)],
        data=lake,
        ours=ours_learning,
        peers={"gymnasium + numpy": plain_loop},
        written=("gymnasium + numpy",),
        notes="ours steps a compiled twin of the world, the peer Gymnasium's in Python",
        quality=regret,
        tolerance=0.1,
        target=1.5,
        rounds=3,
    ),
    Case(
        name="q_learning_stepping",
        what="the same through rollout, stepping the environment itself",
        sizes=[(20_000,), (60_000,), (200_000,)],
        data=lake,
        ours=ours_stepping,
        peers={"gymnasium + numpy": plain_loop},
        written=("gymnasium + numpy",),
        notes="both step Gymnasium's world in Python",
        quality=regret,
        tolerance=0.1,
        target=1.0,
        rounds=3,
    ),
]
