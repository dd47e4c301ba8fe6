"""Temporal differences: the cliff, traces, planning, two tables, time limits, seeds."""

import gymnasium
import numpy as np
import pytest

from pansophy.persist import load, save
from pansophy.rl import (
    Boltzmann,
    TDControl,
    TransitionTable,
    VisitDecay,
    as_mdp,
    evaluate_policy,
    rollout,
    value_iteration,
)
from pansophy.rl.envs import CliffWalking, Corridor, GridWorld, TabularEnv

METHODS = ["sarsa", "expected-sarsa", "q-learning", "double-q"]
VARIANTS = [
    *({"method": m} for m in METHODS),
    {"method": "sarsa", "trace_decay": 0.8},
    {"method": "q-learning", "trace_decay": 0.8},
    {"method": "expected-sarsa", "trace_decay": 0.5},
    {"method": "q-learning", "n_planning": 5},
]


def name(options):
    return " ".join(str(v) for v in options.values())


def epsilon_values(env, epsilon, gamma):
    """Values of the best policy among those that explore with epsilon."""
    model = as_mdp(env)
    S, A = model.r.shape
    policy = np.zeros(S, int)
    for _ in range(50):
        w = np.full((S, A), epsilon / A)
        w[np.arange(S), policy] += 1 - epsilon
        V = evaluate_policy(model, w, gamma=gamma)
        Q = model.r + gamma * np.column_stack([M @ V for M in model.T])
        if (Q.argmax(axis=1) == policy).all():
            break
        policy = Q.argmax(axis=1)
    return V, Q


@pytest.mark.parametrize("options", VARIANTS, ids=name)
@pytest.mark.parametrize("engine", ["table", "env"])
def test_a_grid_is_solved(options, engine):
    """Every method finds the best way out of the grid, compiled or stepped."""
    env = GridWorld(max_steps=60)
    n = 60_000 if engine == "table" else 12_000
    model = TDControl(
        **options, n_steps=n, gamma=0.95, learning_rate=0.1, exploration=0.2,
        engine=engine, random_state=0,
    ).fit(env)  # fmt: skip
    best = value_iteration(env, gamma=0.95)
    run = rollout(env, model, n_episodes=1, random_state=0)
    V = evaluate_policy(env, best.policy, gamma=1.0)
    start = env.table.start.searchsorted(0.5)
    assert run.returns[0] == pytest.approx(V[start])
    assert model.n_iter_ == n and model.visits_.sum() == n


@pytest.mark.parametrize("options", VARIANTS, ids=name)
@pytest.mark.parametrize("engine", ["table", "env"])
def test_a_time_limit_is_no_end(options, engine):
    """One state, reward 1, gamma 0.9, limit 10: the value is 10, never 6.5."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    model = TDControl(
        **options, n_steps=4000, gamma=0.9, learning_rate=0.2, engine=engine,
        exploration=0.1, random_state=0,
    ).fit(endless)  # fmt: skip
    assert model.Q_[0, 0] == pytest.approx(10, abs=1e-3)
    assert model.history_["length"].tolist() == [10] * 400


def test_the_cliff_tells_the_methods_apart():
    """With epsilon 0.1 SARSA keeps away from the edge, Q-learning walks along it."""
    env = CliffWalking(max_steps=200)
    fit = lambda method, rate, epsilon=0.1: TDControl(
        method, n_steps=200_000, gamma=1.0, learning_rate=rate, exploration=epsilon,
        random_state=0,
    ).fit(env)  # fmt: skip
    lengths = {}
    for method in METHODS:
        # two tables are slow to forget a fall: they need to come to the edge again
        model = fit(
            method,
            0.1 if method == "sarsa" else 0.5,
            0.5 if method == "double-q" else 0.1,
        )
        run = rollout(env, model, n_episodes=1, random_state=0)
        lengths[method] = -run.returns[0]
    assert lengths["q-learning"] == lengths["double-q"] == 13
    assert lengths["sarsa"] > 13 and lengths["expected-sarsa"] > 13
    # expected SARSA learns the values of the exploring policy itself
    _, Q = epsilon_values(CliffWalking(), 0.1, 1.0)
    model = fit("expected-sarsa", 0.5)
    assert model.Q_[36].max() == pytest.approx(Q[36].max(), abs=1.5)
    assert model.Q_[36, 0] < value_iteration(CliffWalking(), gamma=1.0).V[36] - 2


def test_q_learning_without_extras_is_q_learning():
    """Tends to Q* of the stochastic world of two states, as `QLearning` does."""
    go = lambda to, back: [(0.8, to, 0.0, False), (0.2, back, 0.0, False)]
    P = {
        0: {0: [(1.0, 0, 0.0, False)], 1: go(1, 0)},
        1: {0: [(1.0, 1, 1.0, False)], 1: go(0, 1)},
    }
    model = TDControl(
        "q-learning", n_steps=400_000, gamma=0.9, learning_rate=VisitDecay(0.7),
        exploration=1.0, random_state=0,
    ).fit(P)  # fmt: skip
    expected = [[7.902439, 8.780488], [10, 8.121951]]
    np.testing.assert_allclose(model.Q_, expected, atol=0.1)


def test_double_learning_is_not_too_high():
    """Many noisy actions of mean -0.1: the maximum is overestimated by one table."""
    arms = 8
    noisy = [(0.5, 1, 0.9, True), (0.5, 1, -1.1, True)]
    P = {
        0: {
            a: [(1.0, 1, 0.0, False)] if a else [(1.0, 0, 0.0, True)]
            for a in range(arms)
        },
        1: dict.fromkeys(range(arms), noisy),
    }
    first = {}
    for method in ("q-learning", "double-q"):
        model = TDControl(
            method, n_steps=60_000, gamma=1.0, learning_rate=0.1, exploration=1.0,
            random_state=0,
        ).fit(P)  # fmt: skip
        first[method] = model.Q_[0, 1:].mean()
    assert first["q-learning"] > 0.1  # the truth is -0.1
    assert first["double-q"] < 0.0


def test_traces_and_planning_learn_faster():
    """A corridor of 20 cells: one reward at its end, few episodes."""
    env = Corridor(20, max_steps=400)
    known = {}
    variants = {
        "plain": {},
        "traces": {"trace_decay": 0.9},
        "planning": {"n_planning": 30},
    }
    for label, options in variants.items():
        model = TDControl(
            "q-learning", **options, n_episodes=8, n_steps=None, learning_rate=0.5,
            exploration=0.5, random_state=1,
        ).fit(env)  # fmt: skip
        known[label] = (model.Q_.max(axis=1) > 0.1).sum()
    assert known["plain"] < known["traces"] and known["plain"] < known["planning"]


def test_traces_by_hand():
    """Two steps to the end, lambda 0.5, alpha 1: the first moves by gamma lambda d."""
    P = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 8.0, True)]}}
    start = np.array([1.0, 1.0])
    world = TabularEnv(P).table._replace(start=start)
    assert isinstance(world, TransitionTable)
    model = TDControl(
        "sarsa", n_episodes=1, n_steps=None, trace_decay=0.5, gamma=0.5,
        learning_rate=1.0, random_state=0,
    ).fit(world)  # fmt: skip
    np.testing.assert_allclose(model.Q_.ravel(), [0.25 * 8, 8])
    model = TDControl(
        "sarsa", n_episodes=2, n_steps=None, trace_decay=1.0, gamma=0.5,
        learning_rate=1.0, random_state=0,
    ).fit(world)  # fmt: skip
    np.testing.assert_allclose(model.Q_.ravel(), [4, 8])  # lambda 1 is Monte Carlo


@pytest.mark.parametrize("engine", ["table", "env"])
def test_same_seed_same_table(engine):
    env = GridWorld(slip=0.2, max_steps=50)
    options = {"n_steps": 2000, "engine": engine, "trace_decay": 0.3}
    runs = [TDControl(**options, random_state=s).fit(env) for s in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].Q_, runs[1].Q_)
    assert (runs[0].Q_ != runs[2].Q_).any()
    again = TDControl(**options, random_state=1, warm_start=True)
    again.fit(env).fit(env)
    assert again.n_steps_ == 4000 and (again.Q_ != runs[0].Q_).any()


def test_softmax_offsets_and_errors():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    model = TDControl(
        "expected-sarsa", exploration=Boltzmann(0.05), n_steps=40_000, random_state=0
    ).fit(env)
    assert rollout(env, model, n_episodes=1, random_state=0).returns[0] == 1
    for options, what in (
        ({"method": "double-q", "trace_decay": 0.5}, "neither trace_decay"),
        ({"method": "double-q", "n_planning": 5}, "nor n_planning"),
        ({"n_steps": None}, "TDControl needs n_steps or n_episodes"),
        ({"trace_decay": 2.0}, "trace_decay"),
    ):
        with pytest.raises(ValueError, match=what):
            TDControl(**options).fit(env)
    with pytest.raises(TypeError, match="TDControl learns in a Gymnasium"):
        TDControl().fit(np.zeros((3, 2)))


def test_saved_and_loaded(tmp_path):
    env = GridWorld(max_steps=30)
    model = TDControl(n_steps=500, random_state=0).fit(env)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(range(11)), model.predict(range(11)))
