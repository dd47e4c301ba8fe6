"""Copies of an environment that keep what its user has changed.

A copy is a deep copy: wrappers, options and attributes that were set on the instance
all come along. Two kinds of environments need more. Those with Gymnasium's `EzPickle`
are rebuilt from the arguments of their constructor when they are copied, and those that
hold a simulator in C often cannot be copied at all and are made anew from their
registered name. To both the plain attributes (numbers, texts, arrays) of the given
environment are then carried over. Generators of random numbers other than Gymnasium's
own, which `reset` seeds, get streams of their own.
"""

import copy
import hashlib
import pickle
import random
import types

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def copy_environments(env, n) -> list:
    """n environments: the one given, or made by it, and n - 1 others like it."""
    if isinstance(env, str):
        import gymnasium

        return [gymnasium.make(env) for _ in range(n)]
    if isinstance(env, type) or not hasattr(env, "step"):
        if not callable(env):
            raise TypeError(
                "an agent learns in a Gymnasium environment, its name, or a function "
                f"that makes one, got {type(env).__name__}."
            )
        return [env() for _ in range(n)]
    return [env, *(copy_environment(env, k) for k in range(1, n))]


def copy_environment(env, stream=1):
    """Another environment like the one given, with all that was changed on it.

    `stream` tells apart the random numbers of several copies.
    """
    layers = _environment_layers(env)
    for layer in layers:
        for name in ("step", "reset"):
            if isinstance(vars(layer).get(name), types.FunctionType):
                raise ValueError(
                    f"{type(layer).__name__} cannot be copied, since its {name} was "
                    "replaced on this one object: give a function that makes an "
                    "environment, or n_envs=1."
                )
    try:
        copy_made = copy.deepcopy(env)
    except Exception as error:
        copy_made = _remake(env, error)
        rebuilt = layers
    else:
        rebuilt = [layer for layer in layers if _is_rebuilt_by_copying(layer)]
    for layer, twin in zip(layers, _environment_layers(copy_made), strict=True):
        if layer in rebuilt:
            _carry_plain_attributes(layer, twin)
        _separate_generators(layer, twin, stream)
    return copy_made


def _environment_layers(env) -> list:
    """An environment and all that it wraps, the outermost first."""
    layers = [env]
    while env is not getattr(env, "unwrapped", env) and hasattr(env, "env"):
        env = env.env
        layers.append(env)
    return layers


def _remake(env, error):
    """A new environment of the same registered name and wrappers."""
    import gymnasium

    spec = getattr(env, "spec", None)
    if spec is not None:
        try:
            remade = gymnasium.make(spec)
        except Exception:
            remade = None
        if remade is not None and _same_layers(env, remade):
            return remade
    raise ValueError(
        f"{type(env).__name__} cannot be copied ({type(error).__name__}: {error}): "
        "give a function that makes one, or n_envs=1."
    ) from error


def _same_layers(env, made) -> bool:
    """Whether two environments have the same wrappers around the same class."""
    kinds = [
        [type(layer) for layer in _environment_layers(environment)]
        for environment in (env, made)
    ]
    return kinds[0] == kinds[1]


def _is_rebuilt_by_copying(layer) -> bool:
    """Whether a deep copy calls the constructor again and forgets all else."""
    from gymnasium.utils import EzPickle

    return isinstance(layer, EzPickle)


def _carry_plain_attributes(layer, twin) -> None:
    """Set the numbers, texts, arrays and collections of them of one on the other."""
    for name, value in vars(layer).items():
        if name not in ("env", "spec") and _is_plain(value):
            setattr(twin, name, copy.deepcopy(value))


def _is_plain(value) -> bool:
    """Whether a value is made of numbers, texts and arrays of numbers alone."""
    if isinstance(value, np.ndarray):
        return value.dtype != object
    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)


def _separate_generators(layer, twin, stream) -> None:
    """Give a copy's own random generators streams that the original does not use."""
    for name, value in vars(twin).items():
        if name == "_np_random":
            continue
        if isinstance(value, np.random.Generator):
            try:
                vars(twin)[name] = vars(layer)[name].spawn(1)[0]
            except (KeyError, AttributeError, TypeError):
                continue  # a bit generator without a seed sequence
        elif isinstance(value, np.random.RandomState):
            value.seed((value.randint(2**31) + stream) % 2**32)
        elif isinstance(value, random.Random):
            value.seed(value.getrandbits(64) + stream)


def environment_digest(env) -> str | None:
    """A digest of all that an environment holds; None where that cannot be told.

    Equal digests of one object mean that nobody has stepped or changed it in between.
    """
    if not hasattr(env, "step"):
        return ""  # a name or a function: what it makes is nobody else's
    layers = _environment_layers(env)
    if any(_is_rebuilt_by_copying(layer) for layer in layers):
        return None  # its pickle has the arguments of the constructor alone
    try:
        return hashlib.sha256(pickle.dumps(env)).hexdigest()
    except Exception:  # whatever a class of the user's raises
        return None
