"""Worlds, planners, tree search, bandits and tabular learning against their peers."""

import numpy as np

from .bench_sampling_rl import csr_loop_same_stop, ours_values, value_error, world
from .runner import Case

# -- many cart poles, random pushes ---------------------------------------------------


def pushes(size):
    n, steps = size
    rng = np.random.default_rng(0)
    return {"n": n, "steps": steps, "actions": rng.integers(2, size=(64, n))}


def step_all(envs, payload):
    """Steps per finished episode, over all copies."""
    envs.reset(seed=0)
    ended = 0
    for t in range(payload["steps"]):
        _, _, terminated, truncated, _ = envs.step(payload["actions"][t % 64])
        ended += int((terminated | truncated).sum())
    return payload["n"] * payload["steps"] / max(ended, 1)


def ours_cart_poles(payload):
    from pansophy.rl.envs import CartPole, VectorWorld

    return step_all(VectorWorld(CartPole(), payload["n"]), payload)


def gymnasium_cart_poles(payload):
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    return step_all(CartPoleVectorEnv(payload["n"]), payload)


def length_error(payload, length):
    """Random pushes keep the pole up for 22.3 steps on average."""
    return abs(length - 22.3)


# -- tree search on the tiger ---------------------------------------------------------


def tiger(size):
    return {"simulations": size[0]}


def ours_search(payload, seed=0):
    from pansophy.rl import POMCP, tiger_problem

    search = POMCP(tiger_problem(), 0.95, n_simulations=payload["simulations"])
    return search.action([0.5, 0.5], seed)


def pomdp_py_search(payload, seed=0):
    import random

    import pomdp_py
    from pomdp_py.problems.tiger import TigerProblem

    random.seed(seed)  # what the planner draws from
    problem = TigerProblem.create("tiger-left", 0.5, 0.15)
    particles = pomdp_py.Particles.from_histogram(
        problem.agent.belief, num_particles=1000
    )
    problem.agent.set_belief(particles, prior=True)
    planner = pomdp_py.POMCP(
        max_depth=90,
        discount_factor=0.95,
        num_sims=payload["simulations"],
        exploration_const=110,
        rollout_policy=problem.agent.policy_model,
    )
    return 0 if str(planner.plan(problem.agent)) == "listen" else 1


def wrong_first_step(payload, action):
    """At a coin toss one listens."""
    return float(action != 0)


# -- bandits --------------------------------------------------------------------------

MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])


def pulls(size):
    return {"T": size[0]}


def ours_ucb(payload, seed=0):
    from pansophy.rl import UCB1, Bandit, play_bandit

    arms = Bandit(MEANS, noise="bernoulli")
    run = play_bandit(arms, UCB1(), payload["T"], n_runs=10, random_state=seed)
    return run.mean_regret[-1]


def numpy_ucb(payload, seed=0):
    """The same ten runs side by side in NumPy."""
    rng = np.random.default_rng(seed)
    rows = np.arange(10)
    n, m = np.zeros((10, 5)), np.zeros((10, 5))
    regret = 0.0
    for t in range(1, payload["T"] + 1):
        arm = np.full(10, t - 1)
        if t > 5:
            arm = (m + np.sqrt(2 * np.log(t) / n)).argmax(axis=1)
        reward = rng.random(10) < MEANS[arm]
        n[rows, arm] += 1
        m[rows, arm] += (reward - m[rows, arm]) / n[rows, arm]
        regret += (0.9 - MEANS[arm]).mean()
    return regret


def regret_excess(payload, regret):
    """Regret, in units of the authors' bound."""
    gaps = 0.9 - MEANS[1:]
    return float(regret / ((8 / gaps).sum() * np.log(payload["T"])))


# -- SARSA on the cliff ---------------------------------------------------------------


def cliff(size):
    return {"n": size[0]}


def ours_sarsa(payload, seed=0):
    from pansophy.rl import TDControl
    from pansophy.rl.envs import CliffWalking

    model = TDControl(
        "sarsa",
        n_steps=payload["n"],
        gamma=1.0,
        learning_rate=0.1,
        exploration=0.1,
        random_state=seed,
    )
    return model.fit(CliffWalking(max_steps=500)).Q_


def plain_sarsa(payload, seed=0):
    import gymnasium

    env = gymnasium.make("CliffWalking-v1", max_episode_steps=500)
    rng = np.random.default_rng(seed)
    Q = np.zeros((48, 4))
    choose = lambda s: (
        int(rng.integers(4)) if rng.random() < 0.1 else int(np.argmax(Q[s]))
    )
    s, _ = env.reset(seed=seed)
    a = choose(s)
    for _ in range(payload["n"]):
        after, r, terminated, truncated, _ = env.step(a)
        b = choose(after)
        Q[s, a] += 0.1 * (r + (0.0 if terminated else Q[after, b]) - Q[s, a])
        s, a = after, b
        if terminated or truncated:
            s, _ = env.reset()
            a = choose(s)
    return Q


def steps_to_goal(payload, Q):
    """Steps of the greedy policy beyond the best 13; 100 if it does not arrive."""
    from pansophy.rl import Policy, rollout
    from pansophy.rl.envs import CliffWalking

    env = CliffWalking(max_steps=100)
    run = rollout(env, Policy(Q.argmax(axis=1)), n_episodes=1, random_state=0)
    return float(-run.returns[0] - 13)


CASES = [
    Case(
        name="batched_cart_pole",
        what="copies x steps, random pushes",
        sizes=[(1024, 500), (4096, 300), (32_768, 100)],
        data=pushes,
        ours=ours_cart_poles,
        peers={"gymnasium vector": gymnasium_cart_poles},
        quality=length_error,
        tolerance=1.0,
        target=2.0,
        notes="Gymnasium's steps that only reset count as steps of its own",
    ),
    Case(
        name="value_iteration_million",
        what="states x actions x successors, discount 0.99, to 1e-6",
        sizes=[(100_000, 4, 4), (300_000, 4, 4), (1_000_000, 4, 4)],
        data=world,
        ours=ours_values,
        peers={"scipy CSR, our stop": csr_loop_same_stop},
        written=("scipy CSR, our stop",),
        quality=value_error,
        tolerance=1e-6,
        target=1.0,
        rounds=2,
        notes="peak memory is that of the model and a few vectors of its states",
    ),
    Case(
        name="pomcp_tiger",
        what="simulations from the uniform belief, discount 0.95",
        sizes=[(1000,), (5000,), (20_000,)],
        data=tiger,
        ours=ours_search,
        peers={"pomdp-py": pomdp_py_search},
        quality=wrong_first_step,
        tolerance=0.0,
        target=10.0,
        rounds=3,
    ),
    Case(
        name="bandit_ucb1",
        what="pulls of five arms, ten runs",
        sizes=[(2000,), (10_000,), (50_000,)],
        data=pulls,
        ours=ours_ucb,
        peers={"numpy, runs side by side": numpy_ucb},
        written=("numpy, runs side by side",),
        quality=regret_excess,
        tolerance=0.1,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="sarsa_cliff",
        what="steps of SARSA on the cliff",
        sizes=[(20_000,), (60_000,), (200_000,)],
        data=cliff,
        ours=ours_sarsa,
        peers={"gymnasium + numpy": plain_sarsa},
        written=("gymnasium + numpy",),
        notes="ours steps a compiled twin of the world, the peer Gymnasium's in Python",
        quality=steps_to_goal,
        tolerance=6.0,
        target=5.0,
        rounds=3,
    ),
]
