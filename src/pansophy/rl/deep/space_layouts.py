"""Gymnasium's spaces as rows of numbers, without importing Gymnasium.

A net takes and gives rows of numbers. `ObservationLayout` says how observations become
such rows: numbers as they are (bytes divided by 255), whole numbers as indicators (one
column for each value), dictionaries and tuples part by part, side by side.
`ActionLayout` says what the columns of a policy mean: one block of scores for each
discrete part, or one number for each entry of a box.

Both are data: they are saved with the agent, which then needs no environment to act.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.unreadable import array_of_rows, unreadable_error
from ...params import check_list, short_repr
from ..experience.discrete_spaces import space_sizes

BYTE = 255.0


class ObservationLayout(NamedTuple):
    """Layout of observations as rows of `width` numbers.

    kind is "numbers", "indicators" or "parts"; made by `observation_layout`.
    """

    kind: str
    width: int
    shape: tuple = ()  # of one observation
    scale: float = 1.0  # numbers are divided by it
    sizes: tuple = ()  # values of each discrete part
    starts: tuple = ()  # their first values
    keys: tuple = ()  # of a dictionary; places of a tuple
    parts: tuple = ()  # layouts, one a key

    def encode(self, observations) -> np.ndarray:
        """Observations (n, ...) as rows (n, width) of float32."""
        if self.kind == "parts":
            return self._encode_parts(observations)
        if self.kind == "numbers":
            X = _number_rows(observations)
            if X.shape[1:] != self.shape:
                raise ValueError(
                    f"observations must have the shape {self.shape}, got {X.shape[1:]}."
                )
            X = X.reshape(len(X), self.width)
            return X / np.float32(self.scale) if self.scale != 1.0 else X
        values = array_of_rows(observations, "observations")
        if values.ndim == 0 or values.dtype.kind not in "biuf":
            values = _number_rows(observations)
        n = len(values)
        if values.dtype.kind == "f" and not (values == np.floor(values)).all():
            raise ValueError(
                "an observation is no whole number, as its space asks for."
            )
        values = values.reshape(n, math.prod(values.shape[1:]))
        values = values.astype(np.int64)
        if values.shape[1] == len(self.starts):
            values -= np.array(self.starts)
        sizes = np.array(self.sizes)
        if values.shape[1] != len(sizes) or ((values < 0) | (values >= sizes)).any():
            raise ValueError("an observation is outside the environment's space.")
        X = np.zeros((n, self.width), np.float32)
        X[np.arange(n)[:, None], np.cumsum(sizes) - sizes + values] = 1.0
        return X

    def _encode_parts(self, observations):
        if isinstance(observations, np.ndarray) and observations.dtype != object:
            X = np.asarray(observations, np.float32)  # rows already
            if X.shape[1:] != (self.width,):
                raise ValueError(
                    f"rows of observations must have {self.width} numbers, got the "
                    f"shape {X.shape}."
                )
            return X
        if not isinstance(observations, (dict, tuple)):  # one by one
            listed = check_list("observations", observations, "a list of observations")
            if not listed:
                return np.zeros((0, self.width), np.float32)
            return np.concatenate(
                [self.encode_one(observation) for observation in listed]
            )
        self._check_parts(observations)
        pieces = [
            part.encode(observations[key])
            for key, part in zip(self.keys, self.parts, strict=True)
        ]
        return np.concatenate(pieces, axis=1)

    def encode_one(self, observation) -> np.ndarray:
        """One observation as (1, width)."""
        if self.kind != "parts" or isinstance(observation, np.ndarray):
            return self.encode(array_of_rows(observation, "an observation")[None])
        self._check_parts(observation)
        pieces = [
            part.encode_one(observation[key])
            for key, part in zip(self.keys, self.parts, strict=True)
        ]
        return np.concatenate(pieces, axis=1)

    def _check_parts(self, observation) -> None:
        """The clear error if an observation is no dictionary or tuple of the parts."""
        by_name = all(isinstance(key, str) for key in self.keys)
        if by_name:
            fits = isinstance(observation, Mapping) and set(self.keys) <= {*observation}
        else:
            fits = isinstance(observation, Sequence) and not isinstance(
                observation, (str, bytes)
            )
            fits = fits and len(observation) == len(self.keys)
        if not fits:
            raise ValueError(
                f"an observation must have the parts {list(self.keys)}, got "
                f"{short_repr(observation)}."
            )


def _number_rows(observations) -> np.ndarray:
    """Observations (n, ...) as float32; the clear error if they are no numbers."""
    try:
        X = np.asarray(observations, np.float32)
    except (TypeError, ValueError) as error:
        raise unreadable_error("observations", observations, error) from None
    if X.ndim == 0:
        raise ValueError(
            f"observations must be a list or an array of them, got "
            f"{short_repr(observations)}."
        )
    return X


class ActionLayout(NamedTuple):
    """Layout of actions: `sizes` of discrete parts, or numbers within bounds."""

    kind: str  # "discrete" or "box"
    shape: tuple  # of one action, () for a single number
    sizes: tuple = ()
    starts: tuple = ()
    low: Any = None  # (d,)
    high: Any = None

    @property
    def width(self) -> int:
        """Numbers in an action, flattened."""
        return len(self.sizes) if self.kind == "discrete" else math.prod(self.shape)

    def to_environment(self, actions) -> np.ndarray:
        """Choices (n, width), parts counted from 0, as the environment takes them."""
        n = len(actions)
        if self.kind == "discrete":
            shifted = any(self.starts)
            chosen = actions + np.array(self.starts, np.int64) if shifted else actions
        else:
            chosen = np.clip(actions, self.low, self.high).astype(np.float32)
        return chosen.reshape(n, *self.shape)


def check_action_mask(mask, layout: ActionLayout, n) -> np.ndarray:
    """A mask (n, scores) of allowed actions; the clear error if it cannot be one."""
    if layout.kind != "discrete":
        raise ValueError("a mask is for discrete actions; these are real numbers.")
    mask = np.asarray(mask, bool)
    if mask.shape != (n, sum(layout.sizes)):
        raise ValueError(
            f"a mask must have the shape {(n, sum(layout.sizes))}, one column for each "
            f"action, got {mask.shape}."
        )
    firsts = np.cumsum(layout.sizes) - layout.sizes
    if not np.logical_or.reduceat(mask, firsts, axis=1).all():
        raise ValueError("a mask forbids every action.")
    return mask


def observation_layout(space) -> ObservationLayout:
    """The layout of a Gymnasium observation space.

    Examples
    --------
    >>> from gymnasium.spaces import Discrete
    >>> from pansophy.rl.deep.space_layouts import observation_layout
    >>> observation_layout(Discrete(3)).encode([2, 0])
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    kind = type(space).__name__
    if kind == "Box":
        shape = tuple(space.shape)
        if not math.prod(shape):
            raise ValueError(
                f"observations of {space} hold no number: nothing can be learnt from "
                "them. Give a Box of at least one number, or Discrete(1)."
            )
        scale = BYTE if space.dtype == np.uint8 else 1.0
        return ObservationLayout("numbers", math.prod(shape), shape, scale)
    discrete = kind in ("Discrete", "MultiDiscrete", "MultiBinary")
    if discrete or (kind == "Tuple" and _all_discrete(space)):
        sizes, starts = space_sizes(space)
        return ObservationLayout(
            "indicators", sum(sizes), sizes=tuple(sizes), starts=tuple(starts)
        )
    if kind in ("Dict", "Tuple"):
        keys = list(space.spaces) if kind == "Dict" else range(len(space.spaces))
        parts = [observation_layout(space.spaces[key]) for key in keys]
        width = sum(part.width for part in parts)
        return ObservationLayout(
            "parts", width, (width,), keys=tuple(keys), parts=tuple(parts)
        )
    raise ValueError(
        f"observations of {space} are no fixed number of numbers: wrap the environment "
        "so that they are a Box, Discrete, Dict or Tuple."
    )


def _all_discrete(space) -> bool:
    """Whether every part of a Tuple space is Discrete."""
    return all(type(part).__name__ == "Discrete" for part in space.spaces)


def action_layout(space, agent, *, discrete=True, box=True) -> ActionLayout:
    """The layout of an action space; a clear error if an agent cannot act in it."""
    kind = type(space).__name__
    if kind == "Box":
        if not box:
            raise ValueError(
                f"{agent} chooses among finitely many actions, but the environment "
                f"takes {space}: use SAC, TD3 or PPO."
            )
        if not np.issubdtype(space.dtype, np.floating):
            raise ValueError(
                f"{agent} chooses real numbers, but the environment takes whole ones, "
                f"{space}: state them as Discrete or MultiDiscrete."
            )
        low, high = (np.ravel(a).astype(float) for a in (space.low, space.high))
        return ActionLayout("box", tuple(space.shape), low=low, high=high)
    if kind in ("Discrete", "MultiDiscrete", "MultiBinary"):
        if not discrete:
            raise ValueError(
                f"{agent} chooses real numbers, but the environment takes {space}: use "
                "DQN or PPO."
            )
        sizes, starts = space_sizes(space)
        shape = () if kind == "Discrete" else tuple(space.shape)
        return ActionLayout("discrete", shape, tuple(sizes), tuple(starts))
    raise ValueError(f"{agent} cannot choose actions of {space}.")
