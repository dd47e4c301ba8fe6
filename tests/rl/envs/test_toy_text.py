"""Frozen lake, cliff and taxi against Gymnasium's; exact values by linear solves."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import as_mdp, evaluate_policy, value_iteration
from pansophy.rl.envs import CliffWalking, FrozenLake, Taxi

PAIRS = {
    "lake": (FrozenLake, "FrozenLake-v1", {}),
    "big lake": (lambda: FrozenLake("8x8"), "FrozenLake8x8-v1", {}),
    "cliff": (CliffWalking, "CliffWalking-v1", {}),
    "wet cliff": (
        lambda: CliffWalking(is_slippery=True),
        "CliffWalkingSlippery-v1",
        {},
    ),
    "taxi": (Taxi, "Taxi-v4", {}),
    "wet taxi": (lambda: Taxi(is_rainy=True), "Taxi-v4", {"is_rainy": True}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_gymnasium_step_by_step(name, rng):
    make, spec, options = PAIRS[name]
    env, peer = make(), gymnasium.make(spec, **options)
    for episode in range(5):
        seed = episode if episode < 3 else None
        ours, info = env.reset(seed=seed)
        theirs, expected_info = peer.reset(seed=seed)
        for _ in range(300):
            assert ours == theirs
            if "action_mask" in expected_info:
                np.testing.assert_array_equal(
                    info["action_mask"], expected_info["action_mask"]
                )
            action = int(rng.integers(env.action_space.n))
            ours, *result, info = env.step(action)
            theirs, *expected, expected_info = peer.step(action)
            assert result == expected
            if any(result[1:]):
                break


def test_exact_values():
    """Published values of the lake; the cliff's shortest way costs 13."""
    lake = FrozenLake()
    best = value_iteration(lake, gamma=0.99, tol=1e-10)
    exact = evaluate_policy(lake, best.policy, gamma=0.99)
    np.testing.assert_allclose(best.V, exact, atol=1e-9)
    assert best.V[0] == pytest.approx(0.542026, abs=1e-6)
    cliff = value_iteration(CliffWalking(), gamma=1.0)
    assert cliff.V[36] == -13
    # along the top instead of the edge, as the safe policy goes: 17 steps
    up, right, down = 0, 1, 2
    safe = np.full(48, right)
    safe[[36, 24, 12]] = up
    safe[11::12] = down
    assert evaluate_policy(as_mdp(CliffWalking()), safe, gamma=1.0)[36] == -17


def test_maps_of_your_own():
    easy = FrozenLake(rows=["SF", "FG"], is_slippery=False)
    assert value_iteration(easy, gamma=0.5).V[0] == pytest.approx(0.5)
    assert easy.table.max_steps == 100 and FrozenLake("8x8").table.max_steps == 200
    with pytest.raises(ValueError, match="map_name must be one of"):
        FrozenLake("9x9")
