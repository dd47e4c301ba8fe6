"""Row weights as counts: how many independent rows a weighted sample stands for.

Whole weights are counts and are taken as they are: a row of weight k is k rows, one of
weight 0 is none. Other weights only say how much a row counts beside the others. They
are scaled to sum to the number m of rows of weight above 0,

    c_i = w_i   if all w are whole,   m w_i / sum_j w_j   if not,                  (1)

so that weights that sum to 1 do not make one row of all. For the error of a mean even m
is too much, since unequal weights waste rows: there they are scaled to sum to

    (sum w)^2 / sum w^2,                                                           (2)

the number of equal rows that would tell as much. In the order of their values, with C
the running sums of c, row i takes the ranks above C_{i-1} up to C_i, so that

    the value at rank r is the first whose C_i reaches r.                          (3)

Refs      [Kish1965] (2)
"""

import numpy as np

SLACK = 1e-9  # running sums of scaled weights may miss a whole number by rounding
EXACT = 2.0**53  # whole numbers up to here are sums without rounding


def row_weight_array(weights, n) -> np.ndarray:
    """Weights (n,) as numbers, or one clear sentence."""
    w = np.asarray(weights, float)
    fine = w.shape == (n,) and np.isfinite(w).all() and (w >= 0).all()
    if not fine or not w.sum() > 0:
        raise ValueError(f"weights must be {n} numbers of at least 0, not all 0.")
    return w


def are_whole(w) -> bool:
    """Whether weights are counts."""
    return bool((w == np.floor(w)).all() and w.sum() < EXACT)


def weights_as_counts(w, part=None) -> np.ndarray:
    """Eq. (1); the weights of each `part` (codes) are scaled alone.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.row_counts import weights_as_counts
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
    """Counts whose sum is what the rows tell of a mean: eq. (2), or whole weights."""
    return w if whole or not w.any() else w * (w.sum() / (w @ w))


def at_ranks(values, counts, ranks) -> np.ndarray:
    """Eq. (3) for ranks from 1 to the sum of the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.row_counts import at_ranks
    >>> at_ranks(np.array([7.0, 5.0]), np.array([1, 3]), [1, 3, 4]).tolist()
    [5.0, 5.0, 7.0]
    """
    some = counts > 0
    values, counts = values[some], counts[some]
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    at = np.searchsorted(reached, np.asarray(ranks) - SLACK)
    return values[order][np.minimum(at, len(order) - 1)]


def counted_quantiles(values, counts, q) -> np.ndarray:
    """`numpy.quantile` of values that are there so often."""
    h = (counts.sum() - 1) * np.asarray(q)
    low = np.floor(h)
    ends = at_ranks(values, counts, np.stack([low + 1, low + 2], axis=1))
    return np.array([np.quantile(pair, t) for pair, t in zip(ends, h - low)])
