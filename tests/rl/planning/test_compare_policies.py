"""The partial order of policies, and enumeration with all ties."""

import numpy as np
import pytest

from pansophy.rl import compare_policies, enumerate_policies, value_iteration
from pansophy.rl.envs import GridWorld
from tests.oracles.value_iteration import random_mdp


def test_enumeration_finds_what_value_iteration_finds(rng):
    for _ in range(5):
        T, r = random_mdp(rng, 5, 3, 2)
        policies, V = enumerate_policies(T, r, gamma=0.9)
        best = value_iteration(T, r, gamma=0.9, tol=1e-11)
        np.testing.assert_allclose(V, best.V, atol=1e-9)
        np.testing.assert_array_equal(policies, [best.policy])


def test_all_ties_are_listed():
    """Two actions that do the same in one of two states: two optimal policies."""
    T = np.array([[[0, 1], [1, 0]], [[0, 1], [0, 1.0]]])
    r = np.array([[1.0, 1.0], [0.0, 2.0]])
    policies, V = enumerate_policies(T, r, gamma=0.5)
    np.testing.assert_array_equal(policies, [[0, 1], [1, 1]])
    np.testing.assert_allclose(V, [3.0, 4.0])


def test_the_order_is_partial(rng):
    T, r = random_mdp(rng, 6, 3, 2)
    policies = [rng.integers(3, size=6) for _ in range(20)]
    policies.append(value_iteration(T, r, gamma=0.9).policy)
    policies.append(np.full((6, 3), 1 / 3))
    found = compare_policies(T, policies, r, gamma=0.9)
    order = found.at_least
    assert order.diagonal().all()
    through = order.astype(int) @ order.astype(int) > 0
    assert (through <= order).all()  # transitive
    assert order[20].all() and 20 in found.best
    relations = {found.relation(i, j) for i in range(22) for j in range(22)}
    assert relations == {"better", "worse", "equal", "incomparable"}
    assert found.relation(20, 21) == "better" and found.relation(21, 20) == "worse"


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"4\^11 policies, more than"):
        enumerate_policies(GridWorld(), gamma=0.9)
    with pytest.raises(ValueError, match="policies is empty"):
        compare_policies([[0]], [], [0.0], gamma=0.5)


def test_ties_are_relative_to_the_values():
    P = [[0, 0], [0, 1]]
    R = np.array([[1e-9, 2e-9], [0.0, 0.0]])
    policies, _ = enumerate_policies(P, R, gamma=0.5)
    assert (policies[:, 0] == 1).all()
    assert compare_policies(P, [[0, 0], [1, 0]], R, gamma=0.5).best.tolist() == [1]
