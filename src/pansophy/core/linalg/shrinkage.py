"""Covariance shrinkage: a covariance matrix pulled towards a multiple of the identity.

With S the covariance of n rows in d columns and mu = tr S / d its mean variance,

    S(a) = (1 - a) S + a mu I                                                      (1)

With few rows the eigenvalues of S are too far apart, and (1) pulls them together. The a
of least expected squared error is estimated by Ledoit and Wolf, with x_i taken about
the mean,

    a = min(b, e) / e,   e = |S|^2 / d - mu^2,   b = (mean |x_i|^4 - |S|^2) / (n d) (2)

where |S|^2 is the sum of the squared entries; and for normal rows by Chen and others
(oracle approximating shrinkage), with t the mean of the squared entries of S,

    a = min(1, (t + mu^2) / ((n + 1)(t - mu^2 / d)))                               (3)

Of the rows (2) needs the mean of |x_i|^4 only: one pass. n may be a sum of weights.

Shapes    S (d, d)
Refs      [Ledoit2004] eq. (2); [Chen2010] eq. (3)
"""

import numpy as np


def shrunk_covariance(S, a):
    """Eq. (1).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.linalg.shrinkage import shrunk_covariance
    >>> shrunk_covariance(np.array([[2.0, 1.0], [1.0, 4.0]]), 0.5).tolist()
    [[2.5, 0.5], [0.5, 3.5]]
    """
    d = len(S)
    return (1 - a) * S + a * np.trace(S) / d * np.eye(d)


def ledoit_wolf_shrinkage(S, mean_fourth_power, n) -> float:
    """The a of eq. (2), from the mean of |x_i|^4 over the n centred rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.linalg.shrinkage import ledoit_wolf_shrinkage
    >>> X = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]])
    >>> fourth = np.mean((X**2).sum(axis=1) ** 2)
    >>> round(ledoit_wolf_shrinkage(X.T @ X / 3, fourth, 3), 4)
    0.641
    """
    d = len(S)
    if d == 1:
        return 0.0
    mu = np.trace(S) / d
    squares = np.sum(S * S)
    distance = squares / d - mu**2
    noise = min((mean_fourth_power - squares) / (n * d), distance)
    return 0.0 if noise <= 0 else float(noise / distance)


def oas_shrinkage(S, n) -> float:
    """The a of eq. (3), for n rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.linalg.shrinkage import oas_shrinkage
    >>> round(oas_shrinkage(np.array([[2.0, 1.0], [1.0, 4.0]]), 20), 4)
    0.6905
    """
    d = len(S)
    if d == 1:
        return 0.0
    t = np.mean(S * S)
    mu2 = (np.trace(S) / d) ** 2
    divisor = (n + 1) * (t - mu2 / d)
    return 1.0 if divisor <= 0 else float(min(1.0, (t + mu2) / divisor))
