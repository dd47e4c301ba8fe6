"""Environments that have a twin on compiled loops, with the same numbers."""

from .transition_table import TRANSPARENT_WRAPPERS, time_limit

# names in Gymnasium's registry, and classes of `rl.envs`
COMPILED_WORLDS = {
    "Acrobot-v1": "Acrobot",
    "CartPole-v1": "CartPole",
    "CliffWalking-v1": "CliffWalking",
    "MountainCar-v0": "MountainCar",
    "Pendulum-v1": "Pendulum",
}


def compiled_world(env):
    """The world on compiled loops that an environment is or equals, or None.

    An environment of Gymnasium equals one if it is registered under that name with
    the default options, nothing wraps it but a time limit, and nobody looks on.
    """
    if isinstance(env, str):
        import gymnasium

        if env not in COMPILED_WORLDS:
            return None
        env = gymnasium.make(env)
    if hasattr(env, "step_batch"):
        return env
    spec = getattr(env, "spec", None)
    if spec is None or spec.id not in COMPILED_WORLDS or spec.kwargs:
        return None
    layer = env
    while layer is not env.unwrapped:
        if type(layer).__name__ not in TRANSPARENT_WRAPPERS:
            return None
        layer = layer.env
    if getattr(layer, "render_mode", None):
        return None
    from . import envs

    return getattr(envs, COMPILED_WORLDS[spec.id])(max_steps=time_limit(env))
