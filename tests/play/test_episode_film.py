"""Films of episodes, whatever the environment can draw."""

import io

import numpy as np
import pytest
from PIL import Image

from pansophy.play.episode_film import film_bytes, film_episode, save_film
from pansophy.rl import Policy
from pansophy.rl.envs import (
    Acrobot,
    CartPole,
    GridWorld,
    MountainCar,
    Pendulum,
    ProbeWorld,
)
from pansophy.rl.experience.agent_comparison import RandomAgent


@pytest.mark.parametrize("world", [Acrobot, CartPole, MountainCar, Pendulum])
def test_worlds_are_drawn_from_what_is_seen(world, tmp_path):
    env = world()
    film = film_episode(RandomAgent(env.action_space), env, max_frames=6)
    assert len(film.frames) == 6 and film.n_steps >= 6
    pixels = [np.asarray(frame) for frame in film.frames]
    assert any((pixels[0] != p).any() for p in pixels[1:])  # it moves
    save_film(film, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as image:
        assert image.is_animated


def test_text_bars_and_bytes():
    grid = film_episode(Policy([2] * 11), GridWorld(["S.G"], render_mode="ansi"))
    assert len(grid.frames) == 3 and grid.total == pytest.approx(0.96)
    bars = film_episode(
        RandomAgent(ProbeWorld("both").action_space), ProbeWorld("both")
    )
    with Image.open(io.BytesIO(film_bytes(bars))) as image:
        assert image.size == (300, 200)
