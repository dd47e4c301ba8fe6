"""Grid worlds as pictures."""

import gymnasium
import numpy as np
import pytest

from pansophy import plot
from pansophy.rl import value_iteration
from pansophy.rl.envs import CartPole, CliffWalking, DeepSea, FrozenLake, GridWorld


@pytest.mark.parametrize("make", [GridWorld, FrozenLake, CliffWalking, DeepSea])
def test_values_and_arrows(make):
    world = make()
    best = value_iteration(world, gamma=0.9)
    ax = plot.gridworld(world, best.V, best.policy)
    picture = ax.images[0].get_array()
    rows, columns = np.array(world.cells).T
    np.testing.assert_allclose(picture[rows, columns], best.V)
    arrows = ax.collections[0]
    free = sum(world.map[i][j] in ".SF " for i, j in world.cells)
    assert len(arrows.U) == free


def test_arrows_point_where_the_agent_goes():
    """Along the cliff: up, right, ..., down."""
    world = CliffWalking()
    best = value_iteration(world, gamma=1.0)
    ax = plot.gridworld(world, policy=best.policy)
    arrows = ax.collections[0]
    at = {(x, y): k for k, (x, y) in enumerate(arrows.XY)}
    u, v = arrows.U, arrows.V
    start, edge, above_goal = at[0, 3], at[5, 2], at[11, 2]
    assert (u[start], v[start]) == (0, 1) and (u[edge], v[edge]) == (1, 0)
    assert (u[above_goal], v[above_goal]) == (0, -1)


def test_errors_say_what_is_wrong():
    with pytest.raises(TypeError, match="CartPole has no map"):
        plot.gridworld(CartPole())
    with pytest.raises(ValueError, match="values must have shape"):
        plot.gridworld(GridWorld(), np.zeros(3))
    with pytest.raises(ValueError, match="policy must have shape"):
        plot.gridworld(GridWorld(), policy=np.zeros(3, int))


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1"])
def test_maps_of_gymnasium(name):
    world = gymnasium.make(name)
    best = value_iteration(world, gamma=0.9)
    ax = plot.gridworld(world, best.V, best.policy)
    np.testing.assert_allclose(np.ravel(ax.images[0].get_array()), best.V)


def test_actions_that_the_world_has_not():
    world = GridWorld()
    with pytest.raises(ValueError, match="whole numbers from 0 to 3"):
        plot.gridworld(world, None, np.full(len(world.cells), 9))
