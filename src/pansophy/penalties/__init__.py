"""Penalties g(w): value, prox and distance to optimality of each.

`PENALTIES` lists one instance of every penalty; the common battery runs over it.
"""

from .base import Penalty, soft_threshold
from .bridge import from_prior, lq
from .coupled import affine, ball, group_l2, half_space, simplex
from .separable import box, elastic_net, l1, l2, nonnegative

PENALTIES = [
    l1(0.5),
    l2(0.5),
    elastic_net(0.8, 0.3),
    elastic_net(0.8, 0.3, positive=True),
    group_l2(0.5, groups=[0, 0, 1, 1, 2, 2]),
    box(-1.0, 0.5),
    nonnegative(),
    ball(1.5),
    ball(1.0, center=[0.5, -1.0, 0, 0, 1, 2]),
    half_space([1.0, -1.0, 0, 2, 0, 0.5], 0.25),
    simplex(1.0),
    affine([[1.0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, -2]], [1.0, 0.5]),
    lq(1.5, 0.5),
    lq(3.0, 0.5),
    lq(0.5, 0.5),
    lq(0.0, 0.5),
]

__all__ = [
    "PENALTIES",
    "Penalty",
    "affine",
    "ball",
    "box",
    "elastic_net",
    "from_prior",
    "group_l2",
    "half_space",
    "l1",
    "l2",
    "lq",
    "nonnegative",
    "simplex",
    "soft_threshold",
]
