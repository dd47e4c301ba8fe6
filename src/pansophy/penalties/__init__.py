"""Penalties g(w): value, prox and distance to optimality of each.

`PENALTIES` lists one instance of every penalty; the common battery runs over it.
"""

from .base import Penalty, soft_threshold
from .coupled import ball, group_l2, simplex
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
    simplex(1.0),
]

__all__ = [
    "PENALTIES",
    "Penalty",
    "ball",
    "box",
    "elastic_net",
    "group_l2",
    "l1",
    "l2",
    "nonnegative",
    "simplex",
    "soft_threshold",
]
