"""An episode of an agent as pictures, and as an animated GIF.

Frames come from the environment's own renderer where it has one (`rgb_array`, or text
with `ansi`). Otherwise some worlds are drawn from what is seen (cart pole, pendulum,
mountain car, acrobot), and any other as bars of its observation. Needs Pillow.
"""

import io
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.random import draw_seed, make_rng
from ..rl.evaluation import made_environment
from ..rl.rollout import takes_mask

SIZE = (300, 200)
INK, PALE, BLUE, ORANGE = "#30343b", "#eceef1", "#1f5f99", "#c2571a"


class Film(NamedTuple):
    """Frames of an episode and what it paid."""

    frames: list  # of PIL images
    total: float
    n_steps: int


def film_episode(agent, env, *, random_state=0, max_frames=250) -> Film:
    """Play one episode and draw it.

    Parameters
    ----------
    agent : object with `act`
    env : Env, or name of an environment
    random_state : int
        Seeds the episode.
    max_frames : int
        Frames to keep; later steps are played and not drawn.

    Examples
    --------
    >>> from pansophy.play import film_episode
    >>> from pansophy.rl import Policy
    >>> from pansophy.rl.envs import Corridor
    >>> film = film_episode(Policy([1, 1, 1]), Corridor(3))
    >>> len(film.frames), film.total
    (4, 1.0)
    """
    env = rendered_environment(env)
    rng = make_rng(random_state)
    observation, info = env.reset(seed=draw_seed(rng))
    if hasattr(agent, "begin"):
        agent.begin(observation)
    masked = takes_mask(agent.act)
    frames = [draw_frame(env, observation)]
    total, n_steps, done = 0.0, 0, False
    while not done:
        given = (observation, rng, info.get("action_mask"))
        action = agent.act(*(given if masked else given[:2]))
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        n_steps += 1
        done = terminated or truncated
        if len(frames) < max_frames:
            frames.append(draw_frame(env, observation))
    return Film(frames, total, n_steps)


def save_film(film, path, *, fps=30) -> None:
    """Write a film as an animated GIF."""
    Path(path).write_bytes(film_bytes(film, fps=fps))


def film_bytes(film, *, fps=30) -> bytes:
    """The bytes of an animated GIF."""
    out = io.BytesIO()
    first, *rest = [frame.convert("P") for frame in film.frames]
    first.save(
        out,
        "GIF",
        save_all=True,
        append_images=rest,
        duration=max(20, 1000 // fps),
        loop=0,
    )
    return out.getvalue()


def rendered_environment(env):
    """An environment that draws itself, where it can."""
    if isinstance(env, str):
        import gymnasium

        known = registered_modes(env)
        for mode in [m for m in ("rgb_array", "ansi") if m in known]:
            try:
                made = gymnasium.make(env, render_mode=mode)
                made.reset(seed=0)
                made.render()
                return made
            except Exception:  # no such mode, or its package is not installed
                continue
    return made_environment(env)


def registered_modes(name) -> list:
    """The ways in which an environment of Gymnasium's registry can draw itself."""
    import gymnasium

    return gymnasium.make(name).metadata.get("render_modes", [])


def draw_frame(env, observation):
    """One picture of an environment after an observation."""
    from PIL import Image

    core = env.unwrapped
    picture = env.render() if getattr(core, "render_mode", None) else None
    if isinstance(picture, np.ndarray) and picture.ndim == 3:
        image = Image.fromarray(picture.astype(np.uint8))
        image.thumbnail((400, 400))
        return image
    if isinstance(picture, str):
        return draw_text(picture)
    if hasattr(core, "draw") and hasattr(core, "state"):
        return draw_text(f"{core.draw()}\nstate {core.state}")
    name = type(core).__name__.removesuffix("Env")
    draw = DRAWINGS.get(name, draw_bars)
    return draw(np.ravel(np.asarray(observation, float)))


def blank_picture():
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, "white")
    return image, ImageDraw.Draw(image)


def draw_text(text):
    """A text picture, line by line."""
    from PIL import Image, ImageDraw

    lines = text.splitlines() or [""]
    width = 20 + 7 * max(map(len, lines))
    image = Image.new("RGB", (max(width, 80), 20 + 14 * len(lines)), "white")
    ImageDraw.Draw(image).multiline_text((10, 8), text, fill=INK)
    return image


def draw_cart_pole(x):
    image, pen = blank_picture()
    middle = 150 + 50 * x[0]
    pen.line([(0, 150), (300, 150)], fill=PALE, width=3)
    pen.rectangle([middle - 20, 140, middle + 20, 160], fill=INK)
    tip = (middle + 90 * math.sin(x[2]), 140 - 90 * math.cos(x[2]))
    pen.line([(middle, 140), tip], fill=ORANGE, width=7)
    return image


def draw_pendulum(x):
    image, pen = blank_picture()
    tip = (150 - 80 * x[1], 100 - 80 * x[0])
    pen.line([(150, 100), tip], fill=ORANGE, width=9)
    pen.ellipse([144, 94, 156, 106], fill=INK)
    return image


def draw_mountain_car(x):
    image, pen = blank_picture()
    place = lambda p: (20 + (p + 1.2) / 1.8 * 260, 150 - 50 * math.sin(3 * p))
    pen.line([place(p) for p in np.linspace(-1.2, 0.6, 90)], fill=INK, width=2)
    a, b = place(x[0])
    pen.ellipse([a - 7, b - 14, a + 7, b], fill=ORANGE)
    pen.line([place(0.5), (place(0.5)[0], place(0.5)[1] - 30)], fill=BLUE, width=3)
    return image


def draw_acrobot(x):
    image, pen = blank_picture()
    one = math.atan2(x[1], x[0])
    two = one + math.atan2(x[3], x[2])
    joint = (150 + 45 * math.sin(one), 100 + 45 * math.cos(one))
    tip = (joint[0] + 45 * math.sin(two), joint[1] + 45 * math.cos(two))
    pen.line([(0, 55), (300, 55)], fill=PALE, width=2)
    pen.line([(150, 100), joint], fill=BLUE, width=7)
    pen.line([joint, tip], fill=ORANGE, width=7)
    return image


def draw_bars(x):
    """Bars of the observed numbers, on a scale that any number fits."""
    image, pen = blank_picture()
    pen.line([(0, 100), (300, 100)], fill=PALE, width=2)
    width = 280 / max(len(x), 1)
    for i, value in enumerate(x[:70]):
        height = 90 * math.tanh(value)
        top, bottom = sorted((100 - height, 100.0))
        left = 10 + i * width
        pen.rectangle([left, top, left + max(width - 3, 1), bottom], fill=BLUE)
    return image


DRAWINGS = {
    "CartPole": draw_cart_pole,
    "Pendulum": draw_pendulum,
    "MountainCar": draw_mountain_car,
    "Acrobot": draw_acrobot,
}
