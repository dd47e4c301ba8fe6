"""One interface to distributions of this package, of SciPy, functions and boxes.

    a Distribution      `sample(n, rng)` and `log_prob(X)`
    a SciPy one         `rvs(size, random_state)` and `logpdf` or `logpmf`
    a function          `function(rng, n)` giving n draws; it has no density
    a box               [(low, high), ...]: uniform, with finite sides

Some are also available as a map of the unit cube, u uniform -> x, which antithetic and
quasi-random points need: boxes, SciPy distributions with `ppf`, and `Normal`, where
x = mean + L ndtri(u).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ...params import short_repr


@dataclass(frozen=True, eq=False)
class UniformBox:
    """The uniform distribution between low and high, of shape (d,)."""

    low: np.ndarray
    high: np.ndarray

    @property
    def volume(self) -> float:
        return float(np.prod(self.high - self.low))

    @property
    def d(self) -> int:
        return len(self.low)

    def sample(self, n, rng):
        return self.at(rng.random((n, self.d)))

    def at(self, U):
        """Points of the unit cube mapped to the box."""
        return self.low + U * (self.high - self.low)

    def log_prob(self, X):
        X = np.asarray(X, dtype=float).reshape(-1, self.d)
        inside = np.all((self.low <= X) & (self.high >= X), axis=1)
        return np.where(inside, -np.log(self.volume), -np.inf)


def as_distribution(distribution):
    """The distribution itself, a box made into a `UniformBox`."""
    if isinstance(distribution, (list, tuple, np.ndarray)):
        sides = np.asarray(distribution, dtype=float)
        sides = sides[None] if sides.shape == (2,) else sides
        if sides.ndim != 2 or sides.shape[1] != 2:
            raise ValueError("a box is a list of pairs (low, high), one a coordinate.")
        if not (np.isfinite(sides).all() and (sides[:, 0] < sides[:, 1]).all()):
            raise ValueError("a box needs finite sides with low below high.")
        return UniformBox(sides[:, 0], sides[:, 1])
    if not (
        hasattr(distribution, "sample")
        or hasattr(distribution, "rvs")
        or callable(distribution)
    ):
        raise TypeError(
            "a distribution has sample(n, rng) or rvs(size), or is a function (rng, n) "
            f"or a box [(low, high), ...]; got {short_repr(distribution)}."
        )
    return distribution


def draw_samples(distribution, n, rng):
    """n draws, (n,) or (n, d)."""
    if hasattr(distribution, "sample"):
        return np.asarray(distribution.sample(n, rng))
    if hasattr(distribution, "rvs"):
        return np.asarray(distribution.rvs(size=n, random_state=rng))
    x = np.asarray(distribution(rng, n))
    if x.ndim == 0 or len(x) != n:
        raise ValueError(f"a distribution must give {n} draws, got shape {x.shape}.")
    return x


def log_density_function(distribution) -> Callable:
    """The function of draws (n, ...) that gives their log density (n,)."""
    for name in ("log_prob", "logpdf", "logpmf"):
        if hasattr(distribution, name):
            f = getattr(distribution, name)
            return lambda x: np.asarray(f(x), dtype=float).reshape(len(x))
    raise TypeError(
        "this distribution needs a density, log_prob(X) or logpdf(X): "
        f"{short_repr(distribution)}."
    )


class UnitCubeMap(NamedTuple):
    """A distribution as a map of the unit cube."""

    d: int
    at: Callable[[Any], Any]


def unit_cube_map(distribution) -> UnitCubeMap | None:
    """The distribution as a map of the unit cube, or None if there is none."""
    if isinstance(distribution, UniformBox):
        return UnitCubeMap(distribution.d, distribution.at)
    if hasattr(distribution, "ppf"):
        size = np.size(distribution.ppf(0.5))
        if size == 1:
            return UnitCubeMap(1, lambda U: distribution.ppf(U[:, 0]))
        return UnitCubeMap(size, distribution.ppf)
    if hasattr(distribution, "dense") and getattr(
        distribution, "single", False
    ):  # a Normal
        mean = np.asarray(distribution.mean)
        L = np.linalg.cholesky(np.asarray(distribution.dense))
        return UnitCubeMap(len(mean), lambda U: mean + ndtri(U) @ L.T)
    return None
