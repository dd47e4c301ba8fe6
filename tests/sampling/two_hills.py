"""A density of two hills."""

import numpy as np


def two_hills(x):
    """Normals of sd 0.2 at 4 and -4 on every axis, of weights 1/3 and 2/3."""
    part = lambda m: -0.5 * ((x - m) ** 2).sum(axis=-1) / 0.04
    d = x.shape[-1]
    both = np.logaddexp(part(4) + np.log(1 / 3), part(-4) + np.log(2 / 3))
    return both - 0.5 * d * np.log(2 * np.pi * 0.04)
