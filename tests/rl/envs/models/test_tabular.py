"""Our environments, and Gymnasium's read as tables."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pansophy.rl import (
    as_transition_table,
    evaluate_policy,
    value_iteration,
)
from pansophy.rl.envs import Corridor, DeepSea, GridWorld, TabularEnv
from pansophy.rl.planning.transition_table import table_from_dict

WORLDS = {
    "grid": lambda: GridWorld(),
    "slippery grid": lambda: GridWorld(slip=0.2, max_steps=50),
    "corridor": lambda: Corridor(4, slip=0.1),
    "table": lambda: TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=3),
}


@pytest.mark.parametrize("name", WORLDS)
def test_gymnasium_approves(name):
    check_env(WORLDS[name](), skip_render_check=True)


@pytest.mark.parametrize("name", WORLDS)
def test_steps_follow_the_table(name):
    """Outcome frequencies within 5 standard errors of the table's probabilities."""
    env = WORLDS[name]()
    world = env.table
    env.reset(seed=0)
    i = world.n_actions  # action 0 of state 1, or the only pair
    i = i if i + 1 < len(world.offset) else 0
    s, a = divmod(i, world.n_actions)
    cut = slice(world.offset[i], world.offset[i + 1])
    seen = np.zeros(world.n_states)
    for _ in range(2000):
        env.state = s
        seen[env.step(a)[0]] += 1
    want = np.bincount(
        world.next_state[cut], world.probability()[cut], minlength=world.n_states
    )
    error = np.sqrt(want * (1 - want) / 2000)
    assert (np.abs(seen / 2000 - want) <= 5 * error + 1e-12).all()


def test_walls_slips_and_exits():
    still = GridWorld(["S#", ".G"], living=-0.1)
    P = still.P
    assert P[0][2] == [(1.0, 0, -0.1, False)]  # right is a wall: stays
    assert P[0][0] == [(1.0, 0, -0.1, False)]  # off the map: stays
    assert P[1][2] == [(1.0, 2, 1.0, True)]
    shaky = GridWorld(["S#", ".G"], slip=0.4)
    assert [round(p, 9) for p, *_ in shaky.P[0][1]] == [0.6, 0.2, 0.2]
    assert len(still.cells) == 3
    np.testing.assert_array_equal(still.initial_state_distrib, [1, 0, 0])
    everywhere = GridWorld(["..", ".G"])
    np.testing.assert_allclose(everywhere.initial_state_distrib, [1 / 3] * 3 + [0])


def test_corridor_values():
    # n steps to go are worth gamma^(n - 1)
    values = value_iteration(Corridor(6), gamma=0.8, tol=1e-10).V
    np.testing.assert_allclose(values, 0.8 ** np.arange(5, -1, -1), atol=1e-9)


def test_known_grid():
    # the 3 x 4 world of Russell and Norvig, slip 0.2, no discount; they charge the
    # living cost of 0.04 for the step into an exit too
    world = GridWorld(slip=0.2, exits={"G": 0.96, "X": -1.04})
    V = value_iteration(world, gamma=1.0, tol=1e-10).V
    want = [0.812, 0.868, 0.918, 0.762, 0.660, 0.705, 0.655, 0.611, 0.388]
    live = [s for s, (i, j) in enumerate(world.cells) if world.map[i][j] in ".S"]
    np.testing.assert_allclose(V[live], want, atol=6e-4)
    text = world.draw(value_iteration(world, gamma=1.0, tol=1e-10).policy)
    assert text == ">>>G\n^#^X\n^<<<"


def test_drawing_and_rendering():
    world = GridWorld(["S.G"], render_mode="ansi")
    world.reset(seed=0)
    assert world.render() == "@.G" and world.draw() == "S.G"
    world.step(2)
    assert world.render() == "S@G"
    assert GridWorld(["S.G"]).render() is None
    corridor = Corridor(3, render_mode="ansi")
    corridor.reset(seed=0)
    assert corridor.render() == "state 0" and Corridor(3).render() is None


def test_frozen_lake_by_formula():
    # the best policy of the 4 x 4 lake reaches the goal with probability 14/17
    V = value_iteration(gymnasium.make("FrozenLake-v1"), gamma=1.0, tol=1e-12).V
    assert V[0] == pytest.approx(14 / 17, abs=1e-8)


def test_errors_say_what_is_wrong():
    for make, words in (
        (lambda: GridWorld(["S.", "?G"]), "hold only"),
        (lambda: GridWorld(["S.", "G"]), "equally long"),
        (lambda: GridWorld(["#G"]), "free cell"),
        (lambda: GridWorld(slip=2), "slip"),
        (lambda: GridWorld(render_mode="human"), "render_mode"),
        (lambda: Corridor(0), "n >= 1"),
        (lambda: table_from_dict({0: {0: [(0.5, 0, 0, False)]}}), "sum to 1"),
        (lambda: table_from_dict({0: {0: [(1.0, 3, 0, False)]}}), "from 0 to 0"),
        (
            lambda: table_from_dict({0: {0: [(1.0, 0, 0, True)]}, 1: {}}),
            "state 1 has 0 actions",
        ),
        (
            lambda: table_from_dict({0: {0: [(1.0, 0, 0, True)]}}, [0.5]),
            "start must hold",
        ),
        (lambda: as_transition_table(gymnasium.make("CartPole-v1")), "does not show P"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    env = Corridor(3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions are 0 to 1"):
        env.step(2)


def test_planning_needs_no_gymnasium():
    code = """
import sys
sys.modules["gymnasium"] = None
from pansophy import rl
world = {0: {0: [(1.0, 0, 1.0, False)]}}
assert abs(rl.value_iteration(world, gamma=0.5).V[0] - 2) < 1e-6
assert rl.QLearning(50, gamma=0.5, learning_rate=1.0).fit(world).Q_[0, 0] > 1.9
try:
    rl.envs
except ImportError as error:
    assert "pansophy[rl]" in str(error)
    print("named")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "named", done.stderr


def test_deep_sea_is_found_on_purpose_only():
    for seed in (None, 3):
        sea = DeepSea(8, random_state=seed)
        best = value_iteration(sea, gamma=1.0)
        assert best.V[0] == pytest.approx(0.99)
        uniform = evaluate_policy(sea, np.full((64, 2), 0.5), gamma=1.0)
        assert uniform[0] == pytest.approx(0.5**8 - 8 * 0.5 * 0.01 / 8)
    with pytest.raises(ValueError, match="n must be"):
        DeepSea(0)
