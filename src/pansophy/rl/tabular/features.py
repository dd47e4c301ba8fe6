"""Features of states for linear value functions: indicators, tiles, cosines.

A feature map is a part with `size` d and `__call__(observation) -> phi` of shape (d,).

    OneHotFeatures   1 at the number of the state: a linear function is then a table
    TileCoding       k grids of cells, each shifted by a k-th of a cell; phi is 1 at the
                     cell of each grid that holds x, so a value is a sum of k cells
    Fourier          cos(pi c . x) with x scaled to [0, 1]^n, for all whole c up to an
                     order: smooth functions of few coefficients
    LinearFeatures   x itself, and a constant

Refs      [Albus1975] tiles; [Konidaris2011] cosines
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays.unreadable import unreadable_error
from ...params import short_repr
from ..experience.discrete_spaces import list_of_observations, part_index


@dataclass(frozen=True, eq=False)
class OneHotFeatures:
    """Indicator of a whole number from `start` to `start` + n - 1.

    Examples
    --------
    >>> from pansophy.rl import OneHotFeatures
    >>> OneHotFeatures(3)(1), OneHotFeatures(3, start=1)(1)
    (array([0., 1., 0.]), array([1., 0., 0.]))
    """

    n: int
    start: int = 0

    @property
    def size(self) -> int:
        return self.n

    def __call__(self, observation):
        try:
            i = part_index(self.n, self.start, observation)
        except ValueError:
            raise ValueError(
                f"the observation {short_repr(observation)} is not from {self.start} "
                f"to {self.start + self.n - 1}: a whole number is expected."
            ) from None
        phi = np.zeros(self.n)
        phi[i] = 1.0
        return phi


def _check_limits(low, high):
    """Arrays of lower and upper limits; the clear error if they are none."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    if low.shape != high.shape or low.ndim != 1 or not (low < high).all():
        raise ValueError("low and high must be lists of equal length, low below high.")
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(
            "low and high must be finite; give limits of your own for a space without."
        )
    return low, high


def _numbers_of_observation(observation, n) -> np.ndarray:
    """The n numbers of an observation, (n,); the clear error if it has others."""
    try:
        x = np.asarray(observation, float)
    except (TypeError, ValueError) as error:
        raise unreadable_error("an observation", observation, error) from None
    if x.size != n:
        raise ValueError(
            f"the observation {short_repr(observation)} has {x.size} numbers, but the "
            f"features are of {n}."
        )
    return x.ravel()


def feature_rows(features, observations) -> np.ndarray:
    """phi of several observations, (n, d).

    Examples
    --------
    >>> from pansophy.rl import LinearFeatures
    >>> from pansophy.rl.tabular.features import feature_rows
    >>> feature_rows(LinearFeatures(1), [[3.0], [5.0]])
    array([[1., 3.],
           [1., 5.]])
    """
    rows = [features(observation) for observation in list_of_observations(observations)]
    return np.array(rows, dtype=float).reshape(len(rows), features.size)


def _scaled_to_limits(observation, limits) -> np.ndarray:
    """x scaled to [0, 1] and kept there; the clear error if a number is none."""
    low, high = limits
    x = _numbers_of_observation(observation, len(low))
    x = (x - low) / (high - low)
    if np.isnan(x).any():
        raise ValueError("the observation holds NaN.")
    return np.clip(x, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class TileCoding:
    """Indicators of the cells that hold x in shifted grids.

    Parameters
    ----------
    low, high : array of shape (n,)
        Limits of x; values outside count as at the limit.
    n_tiles : int
        Cells along each side of a grid.
    n_tilings : int
        Grids.

    Examples
    --------
    >>> from pansophy.rl import TileCoding
    >>> phi = TileCoding([0.0], [1.0], n_tiles=4, n_tilings=2)
    >>> phi([0.3]).nonzero()[0], phi.size
    (array([1, 6]), 10)
    """

    low: Any
    high: Any
    n_tiles: int = 8
    n_tilings: int = 8
    limits: tuple = field(init=False, repr=False)

    def __post_init__(self):
        if not self.n_tiles >= 1 or not self.n_tilings >= 1:
            raise ValueError("n_tiles and n_tilings must be at least 1.")
        object.__setattr__(self, "limits", _check_limits(self.low, self.high))

    @property
    def size(self) -> int:
        # a shifted grid needs one more cell along each side
        return self.n_tilings * (self.n_tiles + 1) ** len(self.limits[0])

    def active(self, observation) -> np.ndarray:
        """Numbers of the k features that are 1."""
        x = _scaled_to_limits(observation, self.limits)
        side = self.n_tiles + 1
        # odd multiples of the shift keep the grids apart in every direction
        odd = 1 + 2 * np.arange(len(x))
        k = np.arange(self.n_tilings)[:, None]
        shift = (k * odd % self.n_tilings) / self.n_tilings
        cell = np.minimum((x * self.n_tiles + shift).astype(np.int64), side - 1)
        flat = cell @ side ** np.arange(len(x))
        return np.arange(self.n_tilings) * side ** len(x) + flat

    def __call__(self, observation):
        phi = np.zeros(self.size)
        phi[self.active(observation)] = 1.0
        return phi


@dataclass(frozen=True, eq=False)
class Fourier:
    """Cosines of whole frequencies up to an order.

    Parameters
    ----------
    low, high : array of shape (n,)
        Limits of x; values outside count as at the limit.
    order : int
        Greatest frequency along each side; d = (order + 1)^n.

    Examples
    --------
    >>> from pansophy.rl import Fourier
    >>> Fourier([0.0], [1.0], order=2)([0.5]).round(6) + 0.0
    array([ 1.,  0., -1.])
    """

    low: Any
    high: Any
    order: int = 3
    frequencies: np.ndarray = field(init=False, repr=False)
    limits: tuple = field(init=False, repr=False)

    def __post_init__(self):
        if not self.order >= 0:
            raise ValueError(f"order must be at least 0, got {self.order!r}.")
        limits = _check_limits(self.low, self.high)
        frequencies = itertools.product(range(self.order + 1), repeat=len(limits[0]))
        object.__setattr__(self, "limits", limits)
        object.__setattr__(
            self, "frequencies", np.array(list(frequencies), dtype=float)
        )

    @property
    def size(self) -> int:
        return len(self.frequencies)

    def __call__(self, observation):
        x = _scaled_to_limits(observation, self.limits)
        return np.cos(np.pi * (self.frequencies @ x))


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """The n numbers of an observation and a constant.

    Examples
    --------
    >>> from pansophy.rl import LinearFeatures
    >>> LinearFeatures(2)([3.0, 5.0])
    array([1., 3., 5.])
    """

    n: int

    @property
    def size(self) -> int:
        return self.n + 1

    def __call__(self, observation):
        return np.append(1.0, _numbers_of_observation(observation, self.n))


def check_features(features):
    """The feature map itself; the clear error if it is none."""
    if not callable(features) or not hasattr(features, "size"):
        raise ValueError(
            "features must be a feature map, a function of an observation with an "
            f"attribute `size`, got {features!r}."
        )
    return features


def default_features(space):
    """Features that suit an observation space: indicators, or tiles."""
    if type(space).__name__ == "Discrete":
        return OneHotFeatures(int(space.n), int(space.start))
    if hasattr(space, "low"):
        return TileCoding(np.ravel(space.low), np.ravel(space.high))
    raise ValueError(f"give features: there is no default for {space}.")
