"""Search spaces of real ranges, integer ranges and categorical choices.

Every search works in the unit cube: coordinate u_j in [0, 1) stands for

    (low, high)          low + u (high - low), or its like in logarithms         (1)
    range(a, b, c)       the floor(u k)-th of its k numbers                      (2)
    [a, b, c, ...]       the floor(u k)-th choice                                (3)

so that one search handles them all. The objective receives points in the user's units:
an array (d,) if every coordinate is a number, otherwise a list, or a dict if the space
has names. A vectorised objective takes many at once: (n, d) in, (n,) out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

INSIDE = 1 - 2**-53  # the largest number below 1


class Dimension(NamedTuple):
    """One coordinate of a search space: a range or a set of values."""

    low: float = 0.0
    high: float = 1.0
    log: bool = False
    values: tuple | None = None  # of eq. (2) or (3)

    @property
    def number(self) -> bool:
        kinds = (int, float, np.integer, np.floating)
        return self.values is None or all(isinstance(v, kinds) for v in self.values)


def _dimension_from_spec(j, spec) -> Dimension:
    """A dimension from its specification by the user for coordinate j."""
    if isinstance(spec, Dimension):
        return spec
    if isinstance(spec, (range, list, set, np.ndarray)):
        values = tuple(spec)
        if not values:
            raise ValueError(f"coordinate {j!r} of the space has no values.")
        return Dimension(values=values)
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise ValueError(
            f"coordinate {j!r} of the space must be (low, high), (low, high, 'log'), a "
            f"range or a list of choices, got {spec!r}."
        )
    low = float(spec[0])
    high = float(spec[1])
    log = len(spec) == 3
    if log and spec[2] != "log":
        raise ValueError(f"the third of (low, high, 'log') is {spec[2]!r}.")
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"coordinate {j!r}: {spec!r} is not finite with low <= high.")
    if log and low <= 0:
        raise ValueError(f"coordinate {j!r}: a range in logarithms starts above 0.")
    return Dimension(low, high, log)


class SearchSpace(NamedTuple):
    """The coordinates of a search; make it with `search_space`."""

    parts: tuple[Dimension, ...]
    names: tuple | None = None

    @property
    def d(self) -> int:
        return len(self.parts)

    @property
    def number(self) -> bool:
        """Whether points are arrays of numbers."""
        return self.names is None and all(p.number for p in self.parts)

    @property
    def levels(self) -> np.ndarray:
        """Number of values of each coordinate, 0 for a range of reals."""
        return np.array([len(p.values) if p.values else 0 for p in self.parts])

    def column(self, part, u):
        """Values of one coordinate, eqs (1) to (3), for many u."""
        if part.values is not None:
            i = np.minimum((u * len(part.values)).astype(int), len(part.values) - 1)
            if self.number:
                return np.asarray(part.values, dtype=float)[i]
            return [part.values[k] for k in i]
        if part.log:
            v = np.exp(np.log(part.low) + u * np.log(part.high / part.low))
        else:
            v = part.low + u * (part.high - part.low)
        return v if self.number else v.tolist()

    def points(self, U):
        """Points of the unit cube (n, d) as the objective sees them."""
        U = np.clip(U, 0.0, 1.0)
        columns = [self.column(p, U[:, j]) for j, p in enumerate(self.parts)]
        if self.number:
            return np.stack(columns, axis=1)
        rows = [list(row) for row in zip(*columns, strict=True)]
        if self.names is None:
            return rows
        return [dict(zip(self.names, row, strict=True)) for row in rows]

    def point(self, u):
        """One point of the unit cube as the objective sees it."""
        return self.points(u[None, :])[0]

    def unit(self, x) -> np.ndarray:
        """The inverse of `point`; the middle of the cell of a value or choice."""
        if self.names is not None and isinstance(x, dict):
            x = [x[name] for name in self.names]
        u = np.empty(self.d)
        for j, (p, v) in enumerate(zip(self.parts, x, strict=True)):
            if p.values is not None:
                u[j] = (p.values.index(v) + 0.5) / len(p.values)
            elif p.high == p.low:
                u[j] = 0.5
            elif p.log:
                u[j] = np.log(v / p.low) / np.log(p.high / p.low)
            else:
                u[j] = (v - p.low) / (p.high - p.low)
        if np.any((u < 0) | (u > 1)):
            raise ValueError(f"the start {x!r} lies outside the space.")
        return u


def search_space(spec) -> SearchSpace:
    """A `SearchSpace` from a list or dict of ranges and choices.

    Examples
    --------
    >>> spec = {"n": range(1, 5), "rate": (0.01, 1.0, "log"), "kind": ["a", "b"]}
    >>> s = search_space(spec)
    >>> s.point(np.array([0.5, 0.5, 0.9]))
    {'n': 3, 'rate': 0.1..., 'kind': 'b'}
    """
    if isinstance(spec, SearchSpace):
        return spec
    if isinstance(spec, dict):
        parts = tuple(_dimension_from_spec(name, part) for name, part in spec.items())
        return SearchSpace(parts, tuple(spec))
    if isinstance(spec, np.ndarray) and spec.ndim == 2 and spec.shape[1] == 2:
        spec = [tuple(row) for row in spec]
    if isinstance(spec, tuple) and len(spec) == 2 and np.ndim(spec[0]) == 0:
        raise ValueError(
            f"a space is a list of ranges; for one coordinate: [{spec!r}]."
        )
    parts = tuple(_dimension_from_spec(j, part) for j, part in enumerate(spec))
    if not parts:
        raise ValueError("a space needs at least one coordinate.")
    return SearchSpace(parts)


def vectorized_objective(f: Callable, where: SearchSpace, vectorised: bool) -> Callable:
    """Objective on the unit cube, U (n, d) -> values (n,); NaN counts as inf."""
    is_box = all(p.values is None and not p.log for p in where.parts)
    low = np.array([p.low for p in where.parts])
    width = np.array([p.high - p.low for p in where.parts])
    to_points = where.points
    if is_box and where.number:
        to_points = lambda U: low + U * width

    def values(U):
        points = to_points(U)
        if vectorised:
            v = np.asarray(f(points), dtype=float).reshape(-1)
            if len(v) != len(U):
                raise ValueError(
                    f"the objective gave {len(v)} values for {len(U)} points."
                )
        else:
            v = np.array([float(f(x)) for x in points])
        missing = np.isnan(v)
        return np.where(missing, np.inf, v) if missing.any() else v

    return values


class BestPoint(NamedTuple):
    """The best point of a search so far."""

    position: Any
    objective: float
    evaluations: int


def mutated_coordinates(shape, rate, rng):
    """Mask of mutated coordinates: each with probability `rate`, at least one."""
    *lead, d = shape
    change = rng.random(shape) < rate
    forced = rng.integers(d, size=lead)
    np.put_along_axis(change, forced[..., None], True, axis=-1)
    return change


def mutate_points(levels, U, scale, change, rng):
    """Points U with the coordinates of the mask `change` mutated.

    Reals move by a Gaussian of size `scale`, reflected at the ends; discrete
    coordinates, which have `levels` values, take any other value.
    """
    V = reflect_into_cube(
        U + np.where(change, scale, 0.0) * rng.standard_normal(U.shape)
    )
    if levels.any():
        k = np.maximum(levels, 1)
        current = np.minimum((U * k).astype(int), k - 1)
        replacement = (
            current + 1 + rng.integers(np.maximum(k - 1, 1), size=U.shape)
        ) % k
        cell = (np.where(change, replacement, current) + 0.5) / k
        V = np.where(levels > 0, cell, V)
    return V


def reflect_into_cube(U):
    """Reflect points at the sides of the unit cube until they are inside."""
    return np.minimum(np.abs((U + 1) % 2.0 - 1), INSIDE)
