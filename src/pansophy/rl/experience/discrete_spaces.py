"""Gymnasium's discrete spaces as numbers 0, ..., n - 1, without importing Gymnasium.

A discrete space, single or made of parts, is a list of sizes and a list of first
values; its values are numbered as digits are, the last part running fastest.
"""

import math
import operator
from collections.abc import Mapping
from functools import partial
from itertools import chain

import numpy as np

from ...params import check_list, short_repr


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


def _flatten_values(value):
    """The numbers in a number, array, tuple or tuple of those."""
    if isinstance(value, (tuple, list)) or np.ndim(value):
        for component in value:
            yield from _flatten_values(component)
    else:
        yield value


def encode_observation(sizes, starts, value) -> int:
    """The number of a value of a space of several parts."""
    values = list(_flatten_values(value))
    if len(values) != len(sizes):
        raise ValueError(
            f"the observation {short_repr(value)} has {len(values)} values, but those "
            f"of this environment have {len(sizes)}."
        )
    code = 0
    for component, n, first in zip(values, sizes, starts, strict=True):
        code = code * n + part_index(n, first, component)
    return code


def _whole_number(value) -> int | None:
    """The whole number that a float or an array of one number is; None if none."""
    try:
        number = np.asarray(value)
    except ValueError:  # rows of unequal length
        return None
    if number.size != 1 or number.dtype.kind not in "iuf":
        return None
    return int(number.item()) if float(number.item()).is_integer() else None


def part_index(n, first, value) -> int:
    """The number 0, ..., n - 1 of a value of one part that counts from `first`."""
    try:
        i = operator.index(value) - first
    except TypeError:  # such as 1.0 or an array of one number
        integer = _whole_number(value)
        i = -1 if integer is None else integer - first
    if not 0 <= i < n:
        raise ValueError(
            f"{short_repr(value)} is outside the environment's space: a whole number "
            "from "
            f"{first} to {first + n - 1} is expected."
        )
    return i


def list_of_observations(observations) -> list:
    """Several observations as a list; the clear error if there is no list of them."""
    if isinstance(observations, (str, bytes, Mapping)):
        raise TypeError(
            "observations must be a list or an array of observations, got "
            f"{short_repr(observations)}."
        )
    return check_list(
        "observations", observations, "a list or an array of observations"
    )


def encode_observations(sizes, starts, observations) -> np.ndarray:
    """The numbers of several values of a discrete space, (n,).

    Examples
    --------
    >>> from pansophy.rl.experience.discrete_spaces import encode_observations
    >>> encode_observations([2, 3], [0, 0], [(0, 2), (1, 0)])
    array([2, 3])
    """
    if len(sizes) == 1 and isinstance(observations, (int, np.integer, np.ndarray)):
        codes = np.asarray(observations)
        if codes.dtype.kind in "iu":
            codes = codes.astype(np.int64) - starts[0]
            if ((codes < 0) | (codes >= sizes[0])).any():
                raise ValueError("an observation is outside the environment's space.")
            return codes
    encode = observation_encoder(sizes, starts)
    listed = list_of_observations(observations)
    return np.array([encode(observation) for observation in listed], dtype=np.int64)


def observation_encoder(sizes, starts):
    """A function from a value of the space to its number."""
    if len(sizes) > 1:
        return partial(
            encode_observation, [int(n) for n in sizes], [int(s) for s in starts]
        )
    return partial(part_index, int(sizes[0]), int(starts[0]))
