"""Tree search in POMDPs: decisions, values, seeds."""

import numpy as np
import pytest

from pansophy.rl import (
    POMCP,
    BeliefAgent,
    as_pomdp,
    belief_update,
    belief_value_iteration,
    rollout,
    tiger_problem,
)
from pansophy.rl import finite_horizon_vectors as exact_vectors
from pansophy.rl.envs import Tiger
from pansophy.rl.pomdp.pomdp import observation_probabilities


def test_values_of_a_short_horizon(rng):
    """gamma^depth cuts at depth 3: the values are those of three steps and a tail."""
    T, Z = rng.dirichlet(np.ones(2), (2, 2)), rng.dirichlet(np.ones(2), (2, 2))
    model = as_pomdp(T, Z, rng.normal(size=(2, 2)))
    search = POMCP(model, 0.2, n_simulations=40_000, precision=0.2**5)
    found = search.search(model.start, 0)
    exact = exact_vectors(model, 8, gamma=0.2)[-1].value(model.start)
    assert found.values.max() == pytest.approx(exact, abs=0.05)
    assert found.visits.sum() == 40_000 and found.n_nodes <= 40_001


@pytest.mark.parametrize("backup", ["best", "mean"])
@pytest.mark.parametrize("rollout_kind", ["qmdp", "blind", "random"])
def test_simple_decisions(backup, rollout_kind):
    """A door that is surely right is opened; a coin toss is not."""
    search = POMCP(
        tiger_problem(), 0.5, n_simulations=4000, backup=backup, rollout=rollout_kind
    )
    assert search.action([1.0, 0.0], 0) == 2 and search.action([0.0, 1.0], 0) == 1
    assert search.action([0.5, 0.5], 0) == 0


@pytest.mark.parametrize("belief", [0.5, 0.85, 0.969799, 0.994])
def test_values_on_the_tiger_are_near_the_exact_ones(belief):
    tiger = tiger_problem()
    b = np.array([belief, 1 - belief])
    best = belief_value_iteration(tiger, gamma=0.95).policy
    exact = []
    for a in range(3):
        p = observation_probabilities(tiger, b, a)
        after = [best.value(belief_update(tiger, b, a, o)) for o in range(2)]
        exact.append(b @ tiger.r[:, a] + 0.95 * p @ after)
    search = POMCP(tiger, 0.95, n_simulations=2000)
    found = [search.search(b, seed) for seed in range(10)]
    values = np.mean([f.values for f in found], axis=0)
    taken = max(exact[np.argmax(f.values)] for f in found)
    lost = np.mean([max(exact) - exact[np.argmax(f.values)] for f in found])
    assert abs(values.max() - max(exact)) < 2.0 and taken == max(exact)
    assert lost < 0.5  # near 0.97, listening once more costs only 0.7


def test_played_on_the_tiger_it_comes_close_to_the_best():
    """Best value 19.37; a policy that only listens earns -19, one that guesses -900."""
    tiger = tiger_problem()
    agent = BeliefAgent(tiger, POMCP(tiger, 0.95, n_simulations=500))
    run = rollout(Tiger(max_steps=60), agent, n_episodes=40, keep=True, random_state=0)
    rewards = np.array([t.reward for t in run.transitions]).reshape(40, 60)
    returns = (rewards * 0.95 ** np.arange(60)).sum(axis=1)
    error = returns.std() / np.sqrt(40)
    assert abs(returns.mean() - 19.37) < 4.5 * error and error < 5


def test_same_seed_same_tree_and_errors():
    search = POMCP(tiger_problem(), n_simulations=300)
    one, two, other = (search.search([0.5, 0.5], seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    assert (one.values != other.values).any()
    for options, what in (
        ({"n_simulations": 0}, "n_simulations"),
        ({"precision": 0.0}, "precision"),
        ({"exploration": -1.0}, "exploration"),
        ({"rollout": "guess"}, "rollout must be"),
        ({"backup": "guess"}, "backup must be"),
        ({"gamma": 1.0}, "below 1"),
    ):
        with pytest.raises(ValueError, match=what):
            POMCP(tiger_problem(), **options)
    with pytest.raises(ValueError, match="a belief must hold 2"):
        search.action([0.3, 0.3])
