"""Monte Carlo control solves small worlds; a cut-off episode goes on."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import Boltzmann, MonteCarloControl, VisitDecay, rollout
from pansophy.rl.envs import Blackjack, Corridor, GridWorld, TabularEnv


@pytest.mark.parametrize("visits", ["first", "every"])
@pytest.mark.parametrize("engine", ["table", "env"])
def test_a_grid_is_solved(visits, engine):
    env = GridWorld(max_steps=60)
    model = MonteCarloControl(
        800, visits_counted=visits, engine=engine, gamma=0.95, exploration=0.3,
        random_state=0,
    ).fit(env)  # fmt: skip
    assert rollout(env, model, n_episodes=1, random_state=0).returns[0] > 0.7


@pytest.mark.parametrize("visits", ["first", "every"])
def test_a_time_limit_is_no_end(visits):
    """One state, reward 1, gamma 0.9, limit 10: the value is 10, never 6.5."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    model = MonteCarloControl(
        1500, visits_counted=visits, gamma=0.9, learning_rate=0.05, random_state=0
    ).fit(endless)
    assert model.Q_[0, 0] == pytest.approx(10, abs=0.05)


def test_means_are_means():
    """Visit counts and values of a corridor walked without exploration."""
    model = MonteCarloControl(
        5, gamma=0.5, exploration=0.0, initial=0.0, random_state=1
    )
    model.fit(Corridor(1))
    assert model.visits_.sum() >= 5
    tried = model.visits_[0] > 0
    assert model.Q_[0, 1] == 1.0 and tried[1]


def test_blackjack_sticks_on_twenty():
    """Observations of several parts; a policy that any player knows."""
    model = MonteCarloControl(6000, gamma=1.0, exploration=0.2, random_state=0)
    model.fit(Blackjack())
    assert model.predict([(20, 5, 0), (21, 10, 1), (11, 10, 0)]).tolist() == [0, 0, 1]
    assert gymnasium.make("Blackjack-v1").action_space.contains(model.act((20, 5, 0)))


def test_same_seed_same_table_and_softmax():
    env = GridWorld(slip=0.1, max_steps=40)
    options = {"exploration": Boltzmann(0.2), "learning_rate": VisitDecay(0.8)}
    runs = [
        MonteCarloControl(50, **options, random_state=s).fit(env) for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(runs[0].Q_, runs[1].Q_)
    assert (runs[0].Q_ != runs[2].Q_).any()
    with pytest.raises(ValueError, match="MonteCarloControl needs"):
        MonteCarloControl(None).fit(env)
