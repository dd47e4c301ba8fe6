"""Row weights as counts: how many independent rows a weighted sample stands for.

Whole weights are counts and are used as they are: a row of weight k is k equal rows, a
row of weight 0 is none. Other weights only say how much a row counts relative to the
others. They are scaled to sum to the number m of rows of weight above 0,

    c_i = w_i   if all w are whole,   m w_i / sum_j w_j   if not,                  (1)

so that weights that sum to 1 are not mistaken for a single row. For the standard error
of a mean even m is too much, since unequal weights lose information: there the weights
are scaled to sum to Kish's effective sample size (`core.arrays.weighted`),

    (sum w)^2 / sum w^2.                                                           (2)

Refs      [Kish1965] (2)
"""

import numpy as np

from ...core.arrays.weighted import scaled_to_effective_size

EXACT = 2.0**53  # whole numbers up to here are sums without rounding


def are_whole(w) -> bool:
    """Whether weights are whole numbers, so that they can be counts of rows."""
    return bool((w == np.floor(w)).all() and w.sum() < EXACT)


def weights_as_counts(w, part=None) -> np.ndarray:
    """Weights as counts of rows, eq. (1).

    With `part`, codes (n,) from 0 up, the weights of each part are scaled separately.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.data.row_counts import weights_as_counts
    >>> weights_as_counts(np.array([2.0, 0.0, 1.0])).tolist()
    [2.0, 0.0, 1.0]
    >>> weights_as_counts(np.array([0.5, 0.0, 0.25])).round(3).tolist()
    [1.333, 0.0, 0.667]
    """
    if are_whole(w):
        return w
    part = np.zeros(len(w), np.int64) if part is None else part
    m = np.bincount(part, w > 0)
    mass = np.bincount(part, w)
    return w * np.divide(m, mass, out=np.zeros(len(m)), where=mass > 0)[part]


def effective_counts(w, whole) -> np.ndarray:
    """Counts that sum to the effective sample size, eq. (2); whole weights as given."""
    return w if whole else scaled_to_effective_size(w)
