"""Evaluation leaves the learner alone and is paired; statistics over runs."""

import copy

import gymnasium
import numpy as np
import pytest
from scipy import stats

from pansophy.rl import (
    PPO,
    LinearQ,
    MonteCarloControl,
    Policy,
    QLearning,
    TDControl,
    evaluate_agent,
    evaluate_every,
    gather,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
)
from pansophy.rl.envs import CartPole, Corridor, GridWorld, VectorWorld

SMALL = {"n_envs": 2, "horizon": 16, "hidden_layer_sizes": (8,), "random_state": 0}


def test_evaluation_has_its_own_seeds():
    env = GridWorld(slip=0.3, max_steps=50)
    agent = Policy(np.full((11, 4), 0.25))
    one, two = (evaluate_agent(agent, env, 20) for _ in range(2))
    np.testing.assert_array_equal(one.returns, two.returns)
    other = evaluate_agent(agent, env, 20, random_state=1)
    assert (one.returns != other.returns).any()
    assert one.quantiles([0.5])[0] == np.median(one.returns)
    assert "20 episodes" in repr(one)
    with pytest.raises(ValueError, match="n_episodes"):
        evaluate_agent(agent, env, 0)


def test_the_run_is_the_same_with_and_without_evaluations():
    plain = PPO(600, **SMALL).fit(CartPole())
    watched = PPO(600, **SMALL)
    curve = evaluate_every(watched, CartPole(), 200, n_episodes=3)
    for name, value in plain.net_.state_dict().items():
        assert (watched.net_.state_dict()[name] == value).all()
    np.testing.assert_array_equal(plain.history_["return"], watched.history_["return"])
    assert curve.steps[0] == 0 and curve.steps[-1] == watched.n_iter_
    assert curve.returns.shape == (len(curve.steps), 3)
    assert curve.mean.min() <= curve.area <= curve.mean.max()


LEARNERS = {
    "q table": lambda: QLearning(4000, random_state=0),
    "q env": lambda: QLearning(4000, engine="env", random_state=0),
    "sarsa": lambda: TDControl("sarsa", n_steps=4000, random_state=0),
    "double q": lambda: TDControl("double-q", n_steps=4000, random_state=0),
    "traces": lambda: TDControl(n_steps=4000, trace_decay=0.5, random_state=0),
    "dyna env": lambda: TDControl(
        "q-learning", n_steps=4000, n_planning=3, engine="env", random_state=0
    ),
    "monte carlo": lambda: MonteCarloControl(None, n_steps=4000, random_state=0),
    "linear": lambda: LinearQ(n_steps=4000, learning_rate=0.05, random_state=0),
}


def learnt(agent):
    return agent.theta_ if isinstance(agent, LinearQ) else agent.Q_


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("world", ["FrozenLake-v1", "CliffWalking-v1"])
def test_a_table_is_the_same_with_and_without_evaluations(name, world):
    plain, watched = LEARNERS[name](), LEARNERS[name]()
    curve = evaluate_every(
        watched, gymnasium.make(world, max_episode_steps=60), 1500, n_episodes=2
    )
    plain.fit(gymnasium.make(world, max_episode_steps=60))
    np.testing.assert_array_equal(learnt(plain), learnt(watched))
    assert list(curve.steps) == [0, 1500, 3000, 4000]
    assert watched.n_iter_ == watched.n_steps_ == 4000 == watched.n_steps
    for key in ("return", "length"):
        np.testing.assert_array_equal(plain.history_[key], watched.history_[key])


def test_a_table_stops_at_a_return():
    agent = QLearning(50_000, random_state=0)
    curve = evaluate_every(agent, Corridor(2, max_steps=9), 100, stop_at=1.0)
    assert curve.mean[-1] == 1.0 and curve.steps[-1] == agent.n_iter_ < 50_000


@pytest.mark.parametrize("name", [n for n in LEARNERS if n != "linear"])
def test_tables_learnt_in_parts_equal_those_of_one_fit(name):
    env = lambda: GridWorld(slip=0.2, max_steps=50)
    world = env()
    whole = LEARNERS[name]().fit(env())
    parts = LEARNERS[name]().set_params(n_steps=1000, warm_start=True)
    returns = [parts.fit(world).history_["return"] for _ in range(4)]
    np.testing.assert_array_equal(whole.Q_, parts.Q_)
    np.testing.assert_array_equal(whole.visits_, parts.visits_)
    np.testing.assert_array_equal(whole.history_["return"], np.concatenate(returns))


def test_what_cannot_be_watched_is_said():
    with pytest.raises(TypeError, match="knows the neural agents, QLearning"):
        evaluate_every(Policy([1, 1]), Corridor(2), 10)


def test_every_episode_counts_once_in_worlds_stepped_together():
    agent = PPO(64, **SMALL).fit(CartPole())
    together = evaluate_agent(agent, CartPole(), 30)
    assert len(together.returns) == 30
    np.testing.assert_array_equal(together.returns, together.lengths)
    apart = evaluate_agent(Policy([1, 1]), Corridor(2), 2)
    assert apart.mean == 1.0 and apart.lengths.tolist() == [2, 2]


def test_evaluation_leaves_a_memory_alone():
    agent = PPO(64, memory="gru", memory_size=4, **SMALL).fit(Corridor(3, max_steps=9))
    agent.begin(0)
    agent.act(0)
    before = copy.deepcopy(agent.memory_state_)
    evaluate_agent(agent, Corridor(3, max_steps=9), 2)
    assert (agent.memory_state_[0] == before[0]).all()


def test_interquartile_mean_and_profiles(rng):
    scores = rng.normal(size=(10, 4))
    assert interquartile_mean(scores) == pytest.approx(
        stats.trim_mean(scores, 0.25, axis=None)
    )
    assert interquartile_mean([1.0, 1.0, 1.0, 1e9]) == 1.0
    tau = np.linspace(-3, 3, 9)
    expected = [(scores > t).mean() for t in tau]
    np.testing.assert_allclose(performance_profile(scores, tau), expected)
    with pytest.raises(ValueError, match="scores must be finite"):
        interquartile_mean([1.0, np.nan])


def test_probability_of_improvement_is_mann_whitney(rng):
    x, y = rng.normal(size=12), rng.normal(0.5, 1, size=9).round(1)
    U = stats.mannwhitneyu(x, y).statistic
    assert probability_of_improvement(x, y) == pytest.approx(U / (12 * 9))
    assert probability_of_improvement(x, x) == 0.5
    with pytest.raises(ValueError, match="same tasks"):
        probability_of_improvement(np.zeros((2, 3)), np.zeros((2, 2)))


def test_stratified_bootstrap_draws_within_tasks(rng):
    """Tasks with different levels do not mix: their difference adds no width."""
    scores = rng.normal(size=(20, 2)) + np.array([0.0, 1000.0])
    found = stratified_bootstrap(np.mean, scores, n_resamples=500)
    assert found.high - found.low < 2.0
    error = scores.std(0, ddof=1) @ scores.std(0, ddof=1) / 4 / 20
    assert (found.high - found.low) / 3.92 == pytest.approx(error**0.5, rel=0.25)
    again = stratified_bootstrap(np.mean, scores, n_resamples=500)
    assert found == again and str(found).startswith("499.9 [")
    both = stratified_bootstrap(
        probability_of_improvement, scores, scores - 10, n_resamples=50
    )
    assert both.value == 1.0 == both.low


def test_a_watched_fit_ends_at_a_return():
    agent = PPO(4000, **SMALL)
    curve = evaluate_every(agent, CartPole(), 200, n_episodes=3, stop_at=15.0)
    assert curve.mean[-1] >= 15.0 and (curve.mean[:-1] < 15.0).all()
    assert agent.n_iter_ == curve.steps[-1] < 4000
    table = QLearning(3000, random_state=0)
    curve = evaluate_every(
        table, Corridor(4, max_steps=30), 500, n_episodes=2, stop_at=1.0
    )
    assert curve.mean[-1] == 1.0 and curve.steps[-1] < 3000
    assert table.n_steps == 3000  # the parameter is as it was


class Left:
    """Never reaches the goal of a corridor."""

    def act(self, observation, rng):
        return 0

    def act_batch(self, observations, rng):
        return np.zeros(len(observations), np.int64)


class LeftAlone:
    def act(self, observation, rng):
        return 0


@pytest.mark.parametrize("agent", [Left(), LeftAlone()], ids=["batch", "one by one"])
def test_episodes_without_an_end_are_cut_off(agent, monkeypatch):
    found = evaluate_agent(agent, Corridor(3), 4, max_episode_steps=7)
    assert found.lengths.tolist() == [7] * 4
    limited = evaluate_agent(agent, Corridor(3, max_steps=5), 4)
    assert limited.lengths.tolist() == [5] * 4
    monkeypatch.setattr("pansophy.rl.experience.evaluation.LONGEST_EPISODE", 50)
    with pytest.warns(UserWarning, match="4 of 4 episodes were cut off after 50"):
        evaluate_agent(agent, Corridor(3), 4)
    cliff = gymnasium.make("CliffWalking-v1")  # Gymnasium gives it no limit
    with pytest.warns(UserWarning, match="no time limit"):
        evaluate_agent(Left(), cliff, 2)
    with pytest.raises(ValueError, match="max_episode_steps"):
        evaluate_agent(agent, Corridor(3), 4, max_episode_steps=0)


def test_later_episodes_of_short_ones_do_not_count():
    """Only the first episode of each world, whatever comes after it."""

    class Random:
        def act(self, observation, rng):
            return int(rng.integers(2))

        def act_batch(self, observations, rng):
            return rng.integers(2, size=len(observations))

    found = evaluate_agent(Random(), CartPole(), 20, random_state=0)
    envs = VectorWorld(CartPole(), 20)
    steps = gather(envs, Random(), int(found.lengths.max()), random_state=0)
    assert len(steps.lengths) > 22  # short ones have begun and ended again
    first = [np.flatnonzero(steps.final_env == i)[0] for i in range(20)]
    np.testing.assert_array_equal(found.lengths, steps.lengths[first])
    np.testing.assert_array_equal(found.returns, steps.returns[first])


def test_arguments_of_the_bootstrap():
    for wrong in ({"level": 2.0}, {"n_resamples": 0}, {"n_resamples": 2.5}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            stratified_bootstrap(interquartile_mean, [1.0, 2.0], **wrong)
    with pytest.raises(ValueError, match="scores are needed"):
        stratified_bootstrap(interquartile_mean)
