"""Fisher's direction: the projection that separates two classes best.

With S_B the scatter between the two class means and S_W that within the classes,

    J(w) = w' S_B w / w' S_W w          maximal for w ~ S_W^-1 (m_1 - m_0)        (1)

Shapes    X (n, d)   m (2, d)   S (d, d)   w (d,)
Refs      [Fisher1936]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from .class_covariances import finite_class_moments


class FisherDirection(NamedTuple):
    """Fisher's direction, its criterion and where to cut the projection."""

    direction: Any  # (d,), of length 1, from the first class to the second
    criterion: float  # J of eq. (1)
    threshold: float  # middle of the projected means


def fisher_direction(X, y, sample_weight=None, *, whiten=True) -> FisherDirection:
    """The direction of highest J, eq. (1), for two classes.

    With whiten=False it is the direction from mean to mean, which the nearest mean
    classifier projects on.

    Examples
    --------
    >>> from pansophy.discriminant_analysis import fisher_direction
    >>> X = [[1, 2], [2, 3], [3, 3], [2, 1], [6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
    >>> result = fisher_direction(X, [1] * 4 + [2] * 5)
    >>> result.direction.round(6), round(result.criterion, 6)
    (array([0.961639, 0.274319]), 4.277733)
    """
    X = X if arrays.is_foreign(X) else np.asarray(X, dtype=np.float64)
    w = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    classes, codes = class_codes(np.asarray(y))
    if len(classes) != 2:
        raise ValueError(f"fisher_direction takes two classes, got {len(classes)}.")
    m = finite_class_moments(X, codes, w, 2, "tied")
    gap = m.mean[1] - m.mean[0]
    v = scipy.linalg.lstsq(m.scatter, gap)[0] if whiten else gap
    v = v / np.linalg.norm(v)
    J = float((v @ gap) ** 2 / (v @ m.scatter @ v))
    return FisherDirection(v, J, float(v @ m.mean.mean(axis=0)))
