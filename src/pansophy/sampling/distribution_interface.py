"""One way to call whatever draws: distributions of ours, of SciPy, or functions.

A law is one of

    a Distribution      `sample(n, rng)` and `log_prob(X)`
    a SciPy law         `rvs(size, random_state)` and `logpdf` or `logpmf`
    a function          `law(rng, n)` giving n draws; it has no density
    a box               [(low, high), ...]: uniform; an infinite side is refused

and some can be had as a map of the unit cube, u uniform -> x, which antithetic and
quasi-random points need: boxes, laws of SciPy with `ppf`, and `Normal`, where
x = mean + L ndtri(u).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ..params import brief


@dataclass(frozen=True, eq=False)
class UniformBox:
    """The uniform law between low and high, which have shape (d,)."""

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
        """The box from the unit cube."""
        return self.low + U * (self.high - self.low)

    def log_prob(self, X):
        X = np.asarray(X, dtype=float).reshape(-1, self.d)
        inside = np.all((self.low <= X) & (self.high >= X), axis=1)
        return np.where(inside, -np.log(self.volume), -np.inf)


def as_distribution(law):
    """The law itself, a box made into a `UniformBox`."""
    if isinstance(law, (list, tuple, np.ndarray)):
        sides = np.asarray(law, dtype=float)
        sides = sides[None] if sides.shape == (2,) else sides
        if sides.ndim != 2 or sides.shape[1] != 2:
            raise ValueError("a box is a list of pairs (low, high), one a coordinate.")
        if not (np.isfinite(sides).all() and (sides[:, 0] < sides[:, 1]).all()):
            raise ValueError("a box needs finite sides with low below high.")
        return UniformBox(sides[:, 0], sides[:, 1])
    if not (hasattr(law, "sample") or hasattr(law, "rvs") or callable(law)):
        raise TypeError(
            "a law has sample(n, rng) or rvs(size), or is a function (rng, n) or a "
            f"box [(low, high), ...]; got {brief(law)}."
        )
    return law


def draw_samples(law, n, rng):
    """n draws, (n,) or (n, d)."""
    if hasattr(law, "sample"):
        return np.asarray(law.sample(n, rng))
    if hasattr(law, "rvs"):
        return np.asarray(law.rvs(size=n, random_state=rng))
    x = np.asarray(law(rng, n))
    if x.ndim == 0 or len(x) != n:
        raise ValueError(f"a law must give {n} draws, got shape {x.shape}.")
    return x


def log_density_function(law) -> Callable:
    """Function of draws (n, ...) giving their log density (n,)."""
    for name in ("log_prob", "logpdf", "logpmf"):
        if hasattr(law, name):
            f = getattr(law, name)
            return lambda x: np.asarray(f(x), dtype=float).reshape(len(x))
    raise TypeError(
        f"this law needs a density, log_prob(X) or logpdf(X): {brief(law)}."
    )


class UnitCubeMap(NamedTuple):
    """A law as a map of the unit cube."""

    d: int
    at: Callable[[Any], Any]


def unit_cube_map(law) -> UnitCubeMap | None:
    """The law as a map of the unit cube, or None where there is none."""
    if isinstance(law, UniformBox):
        return UnitCubeMap(law.d, law.at)
    if hasattr(law, "ppf"):
        size = np.size(law.ppf(0.5))
        if size == 1:
            return UnitCubeMap(1, lambda U: law.ppf(U[:, 0]))
        return UnitCubeMap(size, law.ppf)
    if hasattr(law, "dense") and getattr(law, "single", False):  # a Normal
        mean, L = np.asarray(law.mean), np.linalg.cholesky(np.asarray(law.dense))
        return UnitCubeMap(len(mean), lambda U: mean + ndtri(U) @ L.T)
    return None
