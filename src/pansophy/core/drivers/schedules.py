"""Decay curves of schedules: from a first value to a last over a fraction of the way.

With f from 0 (start) to 1 (end),

    linear      start + f (end - start)
    geometric   start (end / start)^f
    cosine      end + (start - end) (1 + cos(pi f)) / 2
"""

import math

import numpy as np


def linear_curve(start, end, f):
    """Equal differences.

    Examples
    --------
    >>> from pansophy.core.drivers.schedules import linear_curve
    >>> linear_curve(1.0, 0.5, 0.5)
    0.75
    """
    return start + f * (end - start)


def geometric_curve(start, end, f):
    """Equal ratios; start and end are above 0.

    Examples
    --------
    >>> from pansophy.core.drivers.schedules import geometric_curve
    >>> geometric_curve(1.0, 0.25, 0.5)
    0.5
    """
    return start * (end / start) ** f


def cosine_curve(start, end, f):
    """Half a cosine wave; f is a number or an array.

    Examples
    --------
    >>> from pansophy.core.drivers.schedules import cosine_curve
    >>> cosine_curve(1.0, 0.0, 0.0), cosine_curve(1.0, 0.0, 1.0)
    (1.0, 0.0)
    """
    cos = math.cos if isinstance(f, (int, float)) else np.cos
    return end + (start - end) * (1 + cos(math.pi * f)) / 2
