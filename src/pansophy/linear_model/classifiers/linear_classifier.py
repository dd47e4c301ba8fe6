"""Linear classifiers with given weights: decision rule, margins, canonical form.

With f_c(x) = w_c.x + b_c, for one plane and for k of them,

    label = + if f(x) >= 0, else -;      label = argmax_c f_c(x)                 (1)

A point on the plane counts as +, and of equal scores the later class wins, so that two
planes and their difference say the same. The region of a class is an intersection of
half-spaces, hence convex, and no point is left without a class. For signs t,

    margin_i = t_i f(x_i) / |w|                                                  (2)

is the distance to the plane, negative where it errs, and the same for all multiples of
(w, b). The multiple with min_i t_i f(x_i) = 1 is canonical: the margin is then 1/|w|.

Shapes    X (n, d)   w (d,) or (k, d)   b () or (k,)   t (n,) of -1 and +1
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearClassifier:
    """A linear classifier with given weights, eq. (1).

    Parameters
    ----------
    coef : array of shape (d,) or (k, d)
    intercept : number or array of shape (k,)
    classes : sequence
        Labels: the negative and the positive one, or one per plane. -1 and +1, or
        0 to k-1, if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LinearClassifier
    >>> LinearClassifier([1.0, -1.0]).predict([[2, 1], [1, 2], [1, 1]])
    array([ 1, -1,  1])
    """

    coef: Any
    intercept: Any = 0.0
    classes: Any = None

    def decision_function(self, X):
        """f(x), (n,) or (n, k)."""
        return np.asarray(X) @ np.asarray(self.coef).T + np.asarray(self.intercept)

    def predict(self, X):
        """The label of each row, eq. (1)."""
        F = self.decision_function(X)
        if F.ndim == 1:
            at = (F >= 0).astype(int)
            names = [-1, 1] if self.classes is None else self.classes
        else:
            k = F.shape[1]
            at = k - 1 - np.argmax(F[:, ::-1], axis=1)
            names = np.arange(k) if self.classes is None else self.classes
        return np.asarray(names)[at]


def margins(X, t, w, b=0.0):
    """Eq. (2) for signs t.

    Examples
    --------
    >>> margins([[3.0, 4], [0, 0]], [1, 1], [3.0, 4], -5.0)
    array([ 4., -1.])
    """
    w = np.asarray(w, dtype=float)
    length = float(np.linalg.norm(w))
    if length == 0:
        raise ValueError("a plane needs a normal other than 0.")
    return check_signs(t) * (np.asarray(X) @ w + b) / length


def canonical_plane(X, t, w, b=0.0):
    """(w, b) times the number that makes the least t f(x) equal to 1.

    Examples
    --------
    >>> canonical_plane([[2.0], [-4.0]], [1, -1], [3.0])
    (array([0.5]), 0.0)
    """
    w = np.asarray(w, dtype=float)
    least = float(np.min(check_signs(t) * (np.asarray(X) @ w + b)))
    if least <= 0:
        raise ValueError(
            "the plane does not separate the rows, so no multiple of it gives each a "
            "score of at least 1."
        )
    return w / least, b / least


def check_signs(t):
    """t as an array of -1 and +1."""
    t = np.asarray(t)
    if not np.all((t == 1) | (t == -1)):
        raise ValueError("t must hold -1 and +1 only.")
    return t
