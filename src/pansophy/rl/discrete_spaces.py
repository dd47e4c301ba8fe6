"""Gymnasium's discrete spaces as numbers 0, ..., n - 1, without importing Gymnasium.

A discrete space, single or made of parts, is a list of sizes and a list of first
values; its values are numbered as digits are, the last part running fastest.
"""

import math
from functools import partial
from itertools import chain

import numpy as np


def space_sizes(space) -> tuple[list[int], list[int]]:
    """Sizes and first values of the parts; the clear error if it is not discrete."""
    kind = type(space).__name__
    if kind == "Discrete":
        return [int(space.n)], [int(space.start)]
    if kind == "MultiDiscrete":
        return np.ravel(space.nvec).tolist(), np.ravel(space.start).tolist()
    if kind == "MultiBinary":
        parts = math.prod(space.shape)
        return [2] * parts, [0] * parts
    if kind == "Tuple":
        sizes, starts = zip(*(space_sizes(part) for part in space.spaces), strict=True)
        return list(chain(*sizes)), list(chain(*starts))
    raise ValueError(
        f"a table needs discrete spaces, got {space}; cut it into cells with a "
        "Gymnasium ObservationWrapper, or use a method with function approximation."
    )


def flatten_values(value):
    """The whole numbers in a number, array, tuple or tuple of those."""
    if isinstance(value, (tuple, list)) or np.ndim(value):
        for one in value:
            yield from flatten_values(one)
    else:
        yield int(value)


def encode_observation(sizes, starts, value) -> int:
    """The number of a value of a space of several parts."""
    code = 0
    for one, n, first in zip(flatten_values(value), sizes, starts, strict=True):
        code = code * n + one - first
    return code


def observation_encoder(sizes, starts):
    """A function from a value of the space to its number; None if they are the same."""
    if len(sizes) > 1:
        return partial(
            encode_observation, [int(n) for n in sizes], [int(s) for s in starts]
        )
    first = int(starts[0])
    return (lambda value: value - first) if first else None
