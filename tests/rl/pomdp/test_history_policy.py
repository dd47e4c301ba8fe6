"""History tables: the best one earns the exact value; their size explodes."""

import itertools

import numpy as np
import pytest

from pansophy.rl import HistoryPolicy, finite_horizon_vectors, rollout, tiger_problem
from pansophy.rl.envs import Tiger


def test_the_best_table_earns_the_exact_value():
    """Against the alpha vectors, and for two steps against every table."""
    tiger = tiger_problem()
    for horizon in (1, 2, 4):
        policy = HistoryPolicy.solve(tiger, horizon, gamma=0.95)
        expected = finite_horizon_vectors(tiger, horizon, gamma=0.95)[-1]
        value = policy.value(tiger, gamma=0.95)
        assert value == pytest.approx(expected.value(tiger.start))
    every = [
        HistoryPolicy({(): a, (0,): b, (1,): c}).value(tiger)
        for a, b, c in itertools.product(range(3), repeat=3)
    ]
    assert HistoryPolicy.solve(tiger, 2).value(tiger) == pytest.approx(max(every))


def test_tables_grow_as_powers_of_the_observations():
    tiger = tiger_problem()
    for horizon in (1, 3, 5):
        policy = HistoryPolicy.solve(tiger, horizon)
        assert len(policy.table) == HistoryPolicy.size(2, horizon) == 2**horizon - 1
        lengths = [len(history) for history in policy.table]
        assert np.bincount(lengths).tolist() == [2**t for t in range(horizon)]


def test_played_it_forgets_between_episodes():
    policy = HistoryPolicy({(): 0, (0,): 2, (1,): 1})
    run = rollout(Tiger(max_steps=2), policy, n_episodes=20, keep=True, random_state=0)
    for listen, open_door in zip(
        run.transitions[::2], run.transitions[1::2], strict=True
    ):
        assert listen.action == 0
        assert open_door.action == 2 - listen.next_observation
    longer = rollout(Tiger(max_steps=9), policy, n_episodes=2, random_state=0)
    assert longer.lengths.tolist() == [9, 9]  # long histories go by their end
    with pytest.raises(ValueError, match="empty history"):
        HistoryPolicy({(0,): 1})
