"""Compiled weighted quantiles: the rules of `weighted.py` for loops.

Weights w are float64 arrays; an array of size 0 means that every weight is 1.
"""

import numpy as np

from ..loops.compiled import compiled
from . import weighted

tie_tolerance = compiled(weighted.tie_tolerance)


@compiled
def quantile_place(w, order, q, total):
    """Places in `order` of low and high of eq. (1); -1, -1 if all weights are 0.

    `order` lists rows with ascending values and `total` is the sum of their weights.
    Rows of weight 0 are passed over.
    """
    n = order.size
    goal = q * total
    tolerance = tie_tolerance(total, n)
    reached, low, last = 0.0, -1, -1
    for k in range(n):
        weight = w[order[k]] if w.size else 1.0
        if weight <= 0.0:
            continue
        last = k
        reached += weight
        if low < 0 and reached >= goal - tolerance:
            low = k
        if reached > goal + tolerance:
            return low, k
    if low < 0:
        low = last
    return low, last


@compiled
def total_weight(w, order):
    """Sum of the weights of the rows in `order`, added up in that order."""
    if w.size == 0:
        return float(order.size)
    total = 0.0
    for i in order:
        total += w[i]
    return total


@compiled
def quantile_in_order(x, w, order, q):
    """Eq. (2) for the rows in `order`, whose values x[order] ascend."""
    low, high = quantile_place(w, order, q, total_weight(w, order))
    if low == high:
        return x[order[low]]
    return (x[order[low]] + x[order[high]]) / 2


@compiled
def weighted_quantile(x, w, q):
    """Eq. (2) for the values x (n,), at least one of weight above 0.

    Without weights the two values are selected rather than sorted: O(n).
    """
    n = x.size
    if w.size:
        return quantile_in_order(x, w, np.argsort(x), q)
    goal = q * n
    tolerance = tie_tolerance(float(n), n)
    low = min(max(int(np.ceil(goal - tolerance)) - 1, 0), n - 1)
    high = min(int(np.floor(goal + tolerance)), n - 1)
    if high <= low:
        return np.partition(x, low)[low]
    part = np.partition(x, high)
    below = part[0]
    for i in range(1, high):
        below = max(below, part[i])
    return (below + part[high]) / 2
