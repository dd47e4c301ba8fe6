"""An episode of an agent as pictures, and as an animated GIF.

Frames come from the environment's own renderer where it has one (`rgb_array`, or text
with `ansi`). Otherwise it is drawn from what is seen (`rl.envs.pictures`). Needs
Pillow.
"""

import io
import os
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..core.files.atomic_files import replacing_file
from ..core.random import draw_seed, make_rng
from ..rl.envs.pictures import draw_observation
from ..rl.experience.evaluation import episode_limit, made_environment
from ..rl.experience.rollout import takes_mask

INK = "#30343b"


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
        Frames to keep; later steps are played and not drawn. Environments without a
        time limit are played for 10 000 steps at most.

    Examples
    --------
    >>> from pansophy.play import film_episode
    >>> from pansophy.rl import Policy
    >>> from pansophy.rl.envs import Corridor
    >>> film = film_episode(Policy([1, 1, 1]), Corridor(3))
    >>> len(film.frames), film.total
    (4, 1.0)
    """
    with _no_display():
        return _play_and_draw(agent, env, random_state, max_frames)


@contextmanager
def _no_display():
    """Renderers draw into arrays: SDL need not look for a screen or loudspeakers."""
    names = ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER")
    old_values = {name: os.environ.get(name) for name in names}
    for name in names:
        os.environ.setdefault(name, "dummy")
    try:
        yield
    finally:
        for name, value in old_values.items():
            if value is None:
                os.environ.pop(name, None)


def _play_and_draw(agent, env, random_state, max_frames) -> Film:
    """The episode of `film_episode`."""
    env = _rendered_environment(env)
    rng = make_rng(random_state)
    observation, info = env.reset(seed=draw_seed(rng))
    if hasattr(agent, "begin"):
        agent.begin(observation)
    masked = takes_mask(agent.act)
    frames = [_draw_frame(env, observation)]
    total, n_steps, is_done = 0.0, 0, False
    longest = episode_limit(env)
    while not is_done:
        arguments = (observation, rng, info.get("action_mask"))
        action = agent.act(*(arguments if masked else arguments[:2]))
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        n_steps += 1
        is_done = terminated or truncated or n_steps == longest
        if len(frames) < max_frames:
            frames.append(_draw_frame(env, observation))
    return Film(frames, total, n_steps)


def save_film(film, path, *, fps=30) -> None:
    """Write a film as an animated GIF."""
    with replacing_file(path) as draft:
        draft.write_bytes(film_bytes(film, fps=fps))


def film_bytes(film, *, fps=30) -> bytes:
    """The bytes of an animated GIF."""
    buffer = io.BytesIO()
    first, *rest = [frame.convert("P") for frame in film.frames]
    first.save(
        buffer,
        "GIF",
        save_all=True,
        append_images=rest,
        duration=max(20, 1000 // fps),
        loop=0,
    )
    return buffer.getvalue()


def _rendered_environment(env):
    """An environment that draws itself, where it can."""
    if isinstance(env, str):
        import gymnasium

        known = _registered_modes(env)
        for mode in [m for m in ("rgb_array", "ansi") if m in known]:
            try:
                environment = gymnasium.make(env, render_mode=mode)
                environment.reset(seed=0)
                environment.render()
                return environment
            except Exception:  # no such mode, or its package is not installed
                continue
    return made_environment(env)


def _registered_modes(name) -> list:
    """The ways in which an environment of Gymnasium's registry can draw itself."""
    import gymnasium

    return gymnasium.make(name).metadata.get("render_modes", [])


def _draw_frame(env, observation):
    """One picture of an environment after an observation."""
    from PIL import Image

    core = env.unwrapped
    picture = env.render() if getattr(core, "render_mode", None) else None
    if isinstance(picture, np.ndarray) and picture.ndim == 3:
        image = Image.fromarray(picture.astype(np.uint8))
        image.thumbnail((400, 400))
        return image
    if isinstance(picture, str):
        return _draw_text(picture)
    if hasattr(core, "picture"):
        return Image.fromarray(core.picture())
    return Image.fromarray(draw_observation(type(core).__name__, observation))


def _draw_text(text):
    """A text picture, line by line."""
    from PIL import Image, ImageDraw

    lines = text.splitlines() or [""]
    width = 20 + 7 * max(map(len, lines))
    image = Image.new("RGB", (max(width, 80), 20 + 14 * len(lines)), "white")
    ImageDraw.Draw(image).multiline_text((10, 8), text, fill=INK)
    return image
