"""Pictures of worlds: shapes where they belong, and every world in `rgb_array`."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import Bandit
from pansophy.rl.envs import (
    Acrobot,
    BanditEnv,
    Blackjack,
    CartPole,
    Catch,
    CliffWalking,
    Corridor,
    DeepSea,
    FrozenLake,
    GridWorld,
    MemoryChain,
    MountainCar,
    Pendulum,
    ProbeWorld,
    Taxi,
    Tiger,
)
from pansophy.rl.envs.pictures import (
    BLUE,
    GREEN,
    INK,
    WHITE,
    Canvas,
    draw_board,
    draw_grid,
    draw_observation,
)

WORLDS = [
    Acrobot, Blackjack, CartPole, Catch, CliffWalking, Corridor, DeepSea, FrozenLake,
    GridWorld, MemoryChain, MountainCar, Pendulum, Taxi, Tiger,
    lambda **more: BanditEnv(Bandit([0.1, 0.9]), **more),
    lambda **more: Catch(4, 3, pixels=5, **more),
    lambda **more: ProbeWorld("both", **more),
]  # fmt: skip


def test_a_line_covers_what_it_should():
    canvas = Canvas(20, 10)
    canvas.line([(2, 5), (18, 5)], (0, 0, 0), 4)
    dark = 255 - canvas.pixels[:, :, 0].astype(float)
    assert (dark[3:7, 4:16] == 255).all()  # full inside: rows 3 to 6 are within 2
    assert (dark[[0, 1, 8, 9]] == 0).all()
    area = dark.sum() / 255
    assert area == pytest.approx(16 * 4 + np.pi * 4, rel=0.03)  # with round ends


def test_a_disc_has_its_area_anywhere():
    for x in (30.0, 30.3, 30.5):
        canvas = Canvas(60, 60)
        canvas.disc(x, 30, 12, (255, 0, 0))
        covered = (255 - canvas.pixels[:, :, 1]).sum() / 255
        assert covered == pytest.approx(np.pi * 144, rel=0.01)
        assert (canvas.pixels[:, :, 0] == 255).all()


def test_shapes_may_leave_the_canvas():
    canvas = Canvas(10, 10)
    canvas.rectangle(-5, -5, 3, 3, INK)
    canvas.disc(100, 100, 5, INK)
    canvas.line([(-50, 5), (50, 5)], BLUE, 2)
    assert tuple(canvas.pixels[0, 0]) == INK and tuple(canvas.pixels[5, 9]) == BLUE


def test_grids_and_boards():
    grid = draw_grid(["S#", ".G"], (1, 0), cell=10)
    assert grid.shape == (21, 21, 3)
    centre = lambda i, j: tuple(grid[10 * i + 5, 10 * j + 5])
    assert centre(0, 0) == WHITE and centre(0, 1) == INK
    assert centre(1, 0) == BLUE and centre(1, 1) == GREEN
    board = draw_board([[0, 1], [0, 0]])
    assert tuple(board[0, -1]) == INK and (board[-1] == board[0, 0]).all()


def test_the_pole_leans_as_its_angle_says():
    columns = lambda angle: np.flatnonzero(
        (draw_observation("CartPoleEnv", [0, 0, angle, 0])[60] != 255).any(1)
    )
    assert columns(-0.2).mean() < columns(0.0).mean() < columns(0.2).mean()


def test_odd_observations_are_bars():
    for seen in (3, (1, 2), {"a": [1.0], "b": 2}, [np.nan, 1e9], np.zeros((1, 3))):
        assert draw_observation("Unknown", seen).shape == (200, 300, 3)


@pytest.mark.parametrize("world", WORLDS)
def test_every_world_has_pictures(world):
    env = world(render_mode="rgb_array")
    env.reset(seed=0)
    env.action_space.seed(0)
    frames = [env.render()]
    for _ in range(3):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        frames.append(env.render())
        if terminated or truncated:
            env.reset()
    assert all(f.dtype == np.uint8 and f.ndim == 3 for f in frames)
    assert len({f.shape for f in frames}) == 1 and frames[0].shape[2] == 3
    assert all(f.min() < f.max() for f in frames)
    quiet = world()
    quiet.reset(seed=0)
    assert quiet.render() is None
    with pytest.raises(ValueError, match=r"render_mode of .* got 'human'"):
        world(render_mode="human")


def test_gymnasium_collects_and_can_record():
    env = gymnasium.wrappers.RenderCollection(CartPole(render_mode="rgb_array"))
    env.reset(seed=0)
    env.step(1)
    assert np.shape(env.render()) == (2, 200, 300, 3)
    # what Gymnasium's RecordVideo asks for; writing the file is its own affair
    world = CartPole(max_steps=5, render_mode="rgb_array")
    world.reset(seed=0)
    assert world.metadata["render_fps"] > 0 and world.render().dtype == np.uint8


def test_nothing_to_draw_before_a_reset():
    with pytest.raises(RuntimeError, match="reset before render"):
        CartPole(render_mode="rgb_array").render()
