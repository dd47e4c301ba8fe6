"""Q-learning: worked examples, the compiled loop against its plain twin, both ways."""

import gymnasium
import numpy as np
import pytest
from sklearn.base import clone

from pansophy import load, save
from pansophy.base import InterruptedFitWarning
from pansophy.core.drivers.progress import SILENT
from pansophy.optim import schedules
from pansophy.params import ParameterError
from pansophy.rl import (
    Boltzmann,
    EpsilonGreedy,
    QLearning,
    Schedule,
    VisitDecay,
    rollout,
    value_iteration,
)
from pansophy.rl.envs import Corridor, GridWorld, TabularEnv
from pansophy.rl.experience.rollout import Transition
from pansophy.rl.planning.transition_table import table_from_dict
from pansophy.rl.tabular import _q_learning, q_learning
from pansophy.rl.tabular.schedules import schedule_values
from tests.oracles import q_learning as slow

# stay, or go, which succeeds with probability 0.8; 1 for staying in state 1
STAY_OR_GO = {
    0: {0: [(1.0, 0, 0.0, False)], 1: [(0.8, 1, 0.0, False), (0.2, 0, 0.0, False)]},
    1: {0: [(1.0, 1, 1.0, False)], 1: [(0.8, 0, 0.0, False), (0.2, 1, 0.0, False)]},
}


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


@pytest.mark.parametrize("engine", ["table", "env"])
def test_corridor_rises_to_81_90_81_100(engine):
    # rewards >= 0, no chance, alpha 1: 0 <= Q_n <= Q_n+1 <= Q*
    want = np.array([[81.0, 90], [81, 100]])
    world = Corridor(2, reward=100.0)
    model = QLearning(
        1, learning_rate=1.0, gamma=0.9, exploration=1.0, engine=engine, random_state=0
    ).set_params(warm_start=True)
    before = np.zeros((2, 2))
    for seed in range(60):
        model.set_params(random_state=seed, n_steps=3).fit(world)
        assert (before <= model.Q_).all() and (want + 1e-9 >= model.Q_).all()
        before = model.Q_.copy()
    np.testing.assert_allclose(model.Q_, want)
    assert model.n_steps_ == 180 == model.visits_.sum()


@pytest.mark.parametrize("exploration", [1.0, Boltzmann(20.0)])
def test_stochastic_world_tends_to_the_best(exploration):
    # with rates k^-0.6 the error after 10^6 steps is below 0.1
    model = QLearning(
        1_000_000,
        learning_rate=VisitDecay(0.6),
        gamma=0.9,
        exploration=exploration,
        random_state=0,
    ).fit(STAY_OR_GO)
    want = [[7.902439, 8.780488], [10, 8.121951]]
    np.testing.assert_allclose(model.Q_, want, atol=0.1)
    np.testing.assert_array_equal(model.policy_, [1, 0])


def test_frozen_lake_tends_to_value_iteration():
    best = value_iteration(lake(), gamma=0.95)
    model = QLearning(
        2_000_000,
        learning_rate=VisitDecay(0.7),
        gamma=0.95,
        exploration=1.0,
        random_state=0,
    ).fit(lake())
    tried = model.visits_.min(axis=1) > 100
    assert tried.sum() == 11  # every cell but five that end the episode
    np.testing.assert_allclose(model.Q_[tried], best.Q[tried], atol=0.05)
    played = rollout(lake(), model, n_episodes=400, random_state=0)
    assert played.returns.mean() > 0.6  # the best reaches 0.74; sd of the mean 0.025


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("power", "max_steps"), [(0.0, 0), (1.0, 7), (0.6, 20)])
def test_loop_equals_its_plain_twin(kind, power, max_steps, rng):
    S, A, n = 6, 3, 3000
    P = {}
    for s in range(S):
        P[s] = {}
        for a in range(A):
            p, to = rng.dirichlet(np.ones(3)), rng.integers(S, size=3)
            rows = zip(p, to, rng.normal(size=3), rng.random(3) < 0.1, strict=True)
            P[s][a] = [(float(x), int(y), float(z), bool(e)) for x, y, z, e in rows]
    start = rng.dirichlet(np.ones(S))
    world = table_from_dict(P, start, max_steps)
    level = np.linspace(1.0, 0.1, n)
    rate = np.linspace(0.9, 0.1, n)
    U = rng.random((n, 4))
    Q, visits = np.zeros((S, A)), np.zeros((S, A), np.int64)
    returns, lengths = np.empty(n), np.empty(n, np.int64)
    position, total, ended = np.array([-1, 0]), np.zeros(1), 0
    for cut in (slice(0, 1234), slice(1234, n)):  # an episode goes on in the next call
        rule = _q_learning.LearningRule(0.9, rate[cut], power, kind, level[cut])
        steps, more = _q_learning.q_learning_steps(
            world,
            Q,
            visits,
            rule,
            U[cut],
            position,
            total,
            n,
            returns[ended:],
            lengths[ended:],
        )
        ended += more
        assert steps == cut.stop - cut.start
    got = slow.learn(
        P,
        start,
        U,
        kind=kind,
        level=level,
        rate=rate,
        power=power,
        gamma=0.9,
        max_steps=max_steps,
    )
    np.testing.assert_allclose(Q, [got[0][s] for s in range(S)], atol=1e-10)
    np.testing.assert_array_equal(visits, [got[1][s] for s in range(S)])
    np.testing.assert_allclose(returns[:ended], got[2], atol=1e-10)
    np.testing.assert_array_equal(lengths[:ended], got[3])


class Script:
    """A generator that gives out given numbers."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def random(self):
        return next(self.numbers)


@pytest.mark.parametrize("exploration", [EpsilonGreedy(0.3), Boltzmann(0.5)])
def test_agent_equals_the_loop_number_by_number(exploration, rng):
    env = GridWorld(slip=0.3, max_steps=25)
    model = QLearning(800, exploration=exploration, learning_rate=VisitDecay(0.8))
    U = rng.random((800, 4))
    fixed = type("Fixed", (), {"random": lambda self, shape: U})()
    Q, visits = np.zeros((11, 4)), np.zeros((11, 4), int)
    seen = q_learning.learn_in_table(env.table, model, Q, visits, 0, fixed, SILENT)
    agent, returns = model.learner(env), []
    state, total = None, 0.0
    for u in U.tolist():
        if state is None:
            env.np_random = Script([u[3]])
            state, _ = env.reset()
        action = agent.act(state, Script(u[:2]))
        env.np_random = Script([u[2]])
        after, reward, terminated, truncated, _ = env.step(action)
        agent.update(Transition(state, action, reward, after, terminated, truncated))
        total, state = total + reward, after
        if terminated or truncated:
            returns.append(total)
            state, total = None, 0.0
    np.testing.assert_allclose(agent.Q, Q, atol=1e-12)
    np.testing.assert_allclose(returns, seen.returns, atol=1e-12)


def test_both_engines_see_the_same_world():
    """Mean returns of a random agent agree within 4.5 standard errors."""
    found = {}
    for engine in ("table", "env"):
        model = QLearning(20_000, exploration=1.0, engine=engine, random_state=3).fit(
            lake()
        )
        found[engine] = model.history_
    for name in ("return", "length"):
        a, b = (found[e][name] for e in ("table", "env"))
        error = np.hypot(a.std() / np.sqrt(len(a)), b.std() / np.sqrt(len(b)))
        assert abs(a.mean() - b.mean()) < 4.5 * error


@pytest.mark.parametrize("engine", ["table", "env"])
def test_an_end_and_a_time_limit_are_not_the_same(engine):
    # one state, reward 1 for ever: V = 10 at gamma 0.9 though watched 5 steps at a time
    watched = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=5)
    model = QLearning(2000, learning_rate=0.5, gamma=0.9, engine=engine, random_state=0)
    assert model.fit(watched).Q_[0, 0] == pytest.approx(10)
    assert (model.history_["length"] == 5).all()
    ended = TabularEnv({0: {0: [(1.0, 0, 1.0, True)]}})
    assert model.fit(ended).Q_[0, 0] == pytest.approx(1)
    limited = gymnasium.wrappers.TimeLimit(
        TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}), max_episode_steps=4
    )
    assert model.fit(limited).Q_[0, 0] == pytest.approx(10)
    assert (model.history_["length"] == 4).all()


@pytest.mark.parametrize("engine", ["table", "env"])
def test_seeds_budgets_and_history(engine):
    run = lambda seed, **more: QLearning(
        2000, engine=engine, random_state=seed, **more
    ).fit(lake())
    a, b = run(1), run(1)
    np.testing.assert_array_equal(a.Q_, b.Q_)
    assert (a.visits_ != run(2).visits_).any()
    assert a.n_iter_ == a.n_steps_ == a.visits_.sum() == 2000
    assert a.history_["length"].sum() <= 2000
    assert not a.interrupted_ and not hasattr(a, "converged_")
    some = run(1, n_episodes=7)
    assert len(some.history_["return"]) == 7
    assert some.n_iter_ == some.history_["length"].sum()
    free = QLearning(None, n_episodes=9, engine=engine, random_state=0).fit(lake())
    assert len(free.history_["length"]) == 9


@pytest.mark.parametrize("engine", ["table", "env"])
def test_warm_start_goes_on(engine):
    model = QLearning(
        500, learning_rate=VisitDecay(), engine=engine, random_state=0, warm_start=True
    ).fit(lake())
    first = model.visits_.sum()
    model.fit(lake())
    assert model.visits_.sum() == 2 * first == model.n_steps_
    assert model.n_iter_ == 500
    with pytest.raises(ValueError, match="to go on from"):
        model.fit(Corridor(3))


def test_schedules_reach_both_engines():
    steps = []

    def rate(t):
        steps.append(np.max(t))
        return np.full(np.shape(t), 0.5)

    np.testing.assert_allclose(
        schedule_values(schedules.linear_decay(1.0, 0.0, 4), 2, 4), [0.5, 0.25, 0, 0]
    )
    np.testing.assert_allclose(
        schedule_values(schedules.inverse_time_decay(0.5), 1, 4),
        [0.5, 0.5, 1 / 3, 0.25],
    )
    for engine in ("table", "env"):
        model = QLearning(
            3000,
            learning_rate=rate,
            exploration=EpsilonGreedy(Schedule(1.0, 0.0, 1500)),
            initial=1.0,
            engine=engine,
            random_state=0,
        ).fit(Corridor(3))
        assert max(steps) >= 2999
        steps.clear()
        assert (model.policy_ == 1).all()
        assert (model.history_["length"][-50:] == 3).all()  # greedy by then


def test_interruption_leaves_a_usable_model(monkeypatch):
    class Tired(gymnasium.Wrapper):
        left = 300

        def step(self, action):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return self.env.step(action)

    model = QLearning(1000, random_state=0)
    with pytest.warns(InterruptedFitWarning, match="after 299 iterations"):
        model.fit(Tired(lake()))
    assert model.interrupted_ and model.visits_.sum() == 299
    assert model.predict([0, 3]).shape == (2,)
    calls = []
    real = _q_learning.q_learning_steps

    def tired(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(_q_learning, "q_learning_steps", tired)
    with pytest.warns(InterruptedFitWarning):
        model.set_params(n_steps=10**6).fit(lake())
    assert model.n_iter_ == 2 * q_learning.STEPS_PER_REPORT == model.visits_.sum()


def test_parameters_are_checked():
    for bad, words in (
        ({"gamma": 1.5}, "gamma of QLearning"),
        ({"n_steps": 0}, "n_steps of QLearning"),
        ({"learning_rate": "fast"}, "learning_rate of QLearning"),
        ({"exploration": 2.0}, "exploration of QLearning"),
        ({"engine": "gpu"}, "engine of QLearning"),
    ):
        with pytest.raises(ParameterError, match=words):
            QLearning(**bad).fit(Corridor(2))
    with pytest.raises(ValueError, match="n_steps or n_episodes"):
        QLearning(None).fit(Corridor(2))
    with pytest.raises(TypeError, match="learns in a Gymnasium environment"):
        QLearning().fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="needs a Gymnasium"):
        QLearning(engine="env").fit(STAY_OR_GO)
    with pytest.raises(ValueError, match="its wrapper RecordEpisodeStatistics"):
        QLearning(engine="table").fit(
            gymnasium.wrappers.RecordEpisodeStatistics(lake())
        )
    for make, words in (
        (lambda: EpsilonGreedy(-0.1), "epsilon must be"),
        (lambda: Boltzmann(0.0), "temperature must be"),
        (lambda: VisitDecay(2.0), "power of VisitDecay"),
        (lambda: Schedule(1, 0, 0), "steps of Schedule"),
        (lambda: Schedule(1, 0, 5, "geometric"), "a geometric Schedule"),
        (lambda: Schedule(1, 0, 5, "square"), "kind of Schedule"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    np.testing.assert_allclose(
        Schedule(1.0, 0.01, 2, "geometric")([0, 1, 2, 3]), [1, 0.1, 0.01, 0.01]
    )


def test_it_clones_prints_and_saves(tmp_path):
    model = QLearning(500, learning_rate=VisitDecay(0.7), random_state=0)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert "VisitDecay(power=0.7)" in repr(model)
    model.fit(lake())
    save(model, tmp_path / "lake.pansophy")
    same = load(tmp_path / "lake.pansophy")
    np.testing.assert_array_equal(same.Q_, model.Q_)
    np.testing.assert_array_equal(same.predict(np.arange(16)), model.policy_)
    assert same.learning_rate == VisitDecay(0.7)


def test_progress_bar(capsys):
    QLearning(50_000, random_state=0, verbose=1).fit(lake())
    assert "QLearning" in capsys.readouterr().out
