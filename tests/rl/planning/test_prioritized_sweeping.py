"""Prioritised sweeping agrees with value iteration and updates less where it can."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import prioritized_sweeping, value_iteration
from pansophy.rl.envs import CliffWalking, Corridor, FrozenLake
from tests.oracles.value_iteration import random_mdp


def test_values_are_those_of_value_iteration(rng):
    for S, A in ((1, 1), (5, 2), (40, 3)):
        T, r = random_mdp(rng, S, A, min(S, 3))
        exact = value_iteration(T, r, gamma=0.9, tol=1e-10)
        for P in (T, [sparse.csr_array(M) for M in T]):
            found = prioritized_sweeping(P, r, gamma=0.9, tol=1e-7)
            assert found.converged and found.bound <= 1.1e-7
            assert np.abs(found.V - exact.V).max() <= 1e-7
    lake = prioritized_sweeping(FrozenLake(), gamma=0.99, tol=1e-8)
    assert lake.V[0] == pytest.approx(0.542026, abs=1e-6)
    cliff = prioritized_sweeping(CliffWalking(), gamma=1.0, tol=1e-9)
    assert cliff.V[36] == -13


def test_a_corridor_needs_one_update_a_cell():
    """The reward is at the end: values run back from there, once."""
    found = prioritized_sweeping(Corridor(500), gamma=0.999, tol=1e-9)
    np.testing.assert_allclose(found.V, 0.999 ** np.arange(499, -1, -1), atol=1e-9)
    assert found.n_iter == 500


def test_warm_start_and_errors(rng):
    T, r = random_mdp(rng, 10, 2, 3)
    exact = value_iteration(T, r, gamma=0.9, tol=1e-12).V
    assert prioritized_sweeping(T, r, gamma=0.9, V0=exact).n_iter == 0
    with pytest.warns(ConvergenceWarning, match="raise max_updates"):
        prioritized_sweeping(T, r, gamma=0.9, max_updates=3)
    with pytest.raises(ValueError, match="V0 must hold 10"):
        prioritized_sweeping(T, r, gamma=0.9, V0=[0.0])
    with pytest.raises(ValueError, match="gamma must be"):
        prioritized_sweeping(T, r, gamma=1.5)
