"""Environments that have a twin on compiled loops, with the same numbers.

The twin has the default constants, so it may stand in for an environment only while
nobody has changed that one: an attribute that was set, a method that was replaced or
overridden in a subclass, or a wrapper means that the environment itself is stepped.
"""

import numpy as np

from ..planning.transition_table import (
    REPLACEABLE,
    is_transparent,
    overrides_method,
    time_limit,
)

# names in Gymnasium's registry, and classes of `rl.envs`
COMPILED_WORLDS = {
    "Acrobot-v1": "Acrobot",
    "CartPole-v1": "CartPole",
    "CliffWalking-v1": "CliffWalking",
    "MountainCar-v0": "MountainCar",
    "Pendulum-v1": "Pendulum",
}
# attributes that an episode moves: they say nothing about the environment itself
EPISODE_STATE = {
    "state",
    "steps_beyond_terminated",
    "last_u",
    "s",
    "lastaction",
    "_np_random",
    "_np_random_seed",
    "spec",
}


def compiled_world(env):
    """The world on compiled loops that an environment is or equals, or None.

    An environment of Gymnasium equals one if it is registered under that name with
    the default options, nothing wraps it but a time limit, nobody looks on, and each
    of its attributes is that of a new one.
    """
    import gymnasium

    if isinstance(env, str):
        if env not in COMPILED_WORLDS:
            return None
        env = gymnasium.make(env)
    if hasattr(env, "step_batch"):
        return env if _steps_as_its_batch(env) else None
    spec = getattr(env, "spec", None)
    if spec is None or spec.id not in COMPILED_WORLDS or spec.kwargs:
        return None
    layer = env
    while layer is not env.unwrapped:
        if not is_transparent(layer):
            return None
        layer = layer.env
    if getattr(layer, "render_mode", None) or not _is_unchanged(layer, spec.id):
        return None
    from .. import envs

    return getattr(envs, COMPILED_WORLDS[spec.id])(max_steps=time_limit(env))


def _steps_as_its_batch(world) -> bool:
    """Whether a world's own `step` and `reset` are those that its batches make.

    A subclass that overrides one of them, or an instance on which one was replaced,
    has to be stepped by itself.
    """
    if REPLACEABLE & vars(world).keys():
        return False
    pairs = (("step", "step_batch"), ("reset", "start_batch"))
    return not any(overrides_method(type(world), *pair) for pair in pairs)


def _is_unchanged(core, name) -> bool:
    """Whether all attributes of an environment are those of a new one."""
    import gymnasium

    new = gymnasium.make(name).unwrapped
    if type(core) is not type(new):
        return False
    if not type(core).__module__.startswith("gymnasium.envs."):
        return False  # the name was registered anew
    current, default = vars(core), vars(new)
    names = (current.keys() | default.keys()) - EPISODE_STATE
    return all(
        key in current
        and key in default
        and _equal_settings(current[key], default[key])
        for key in names
    )


def _equal_settings(one, two) -> bool:
    """Whether two attributes are equal; False where that cannot be told."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two)
    try:
        return bool(one == two)
    except (TypeError, ValueError):
        return False
