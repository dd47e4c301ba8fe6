"""Definition of a penalty: g(w), its proximal operator and optimality test, as data.

For a step s > 0,

    prox(w, s) = argmin_u  s g(u) + |u - w|^2 / 2                                (1)
    distance(w, c) = dist(-c, dg(w))                                             (2)

Eq. (2) is how far a point w with gradient c of the smooth part is from satisfying
0 in c + dg(w); it is 0 exactly at an optimum. For the indicator of a convex set the
prox is the projection on the set, and the value 0 inside and inf outside. Where g is
not convex, prox is a global minimiser and eq. (2) uses limits of gradients.

Every penalty is one instance of `Penalty`: a name, the integer `kind` by which
compiled loops know it (-1: not separable), two numbers (a, b), and functions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..core.arrays.arrays import namespace
from ..core.recipes import reduce_to_recipe

# How compiled loops tell the separable penalties apart.
L1 = 0
L2 = 1
ELASTIC_NET = 2
BOX = 3
POSITIVE = 4  # elastic net on numbers of at least 0
COUPLED = -1


@dataclass(frozen=True, eq=False)
class Penalty:
    """One penalty. See the module text; make instances with the names in `penalties`.

    Parameters
    ----------
    name, kind
        Its name and, for separable penalties, its number in compiled loops.
    values, proxes, distances
        Functions of (w), (w, step) and (w, gradient).
    a, b
        The numbers compiled loops need: a |w| + b w^2 / 2, or the limits of a box.
    indicator
        Whether the penalty is the indicator of a set.
    convex
        Whether it is convex: if not, a solver may end in a local minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> penalties.l1(1.0).prox(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """

    name: str
    kind: int
    values: Callable
    proxes: Callable
    distances: Callable
    a: float = 0.0
    b: float = 0.0
    indicator: bool = False
    convex: bool = True

    def value(self, w):
        """g(w)."""
        return self.values(w)

    def prox(self, w, step=1.0):
        """Eq. (1)."""
        return self.proxes(w, step)

    def distance(self, w, gradient):
        """Eq. (2), per coordinate where g is separable, else one number."""
        return self.distances(w, gradient)

    __reduce_ex__ = reduce_to_recipe  # pickled as the call that makes it

    def __repr__(self):
        return f"<penalty {self.name}>"


def soft_threshold(w, t):
    """sign(w) max(|w| - t, 0)."""
    xp = namespace(w)
    return xp.sign(w) * xp.clip(xp.abs(w) - t, 0, math.inf)


def indicator_value(inside) -> float:
    return 0.0 if inside else math.inf


def euclidean_norm(x, axis=None, keepdims=False):
    """Euclidean norm."""
    xp = namespace(x)
    return xp.sqrt(xp.sum(x * x, axis=axis, keepdims=keepdims))


def check_nonnegative(name, value):
    if not value >= 0:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
    return float(value)
