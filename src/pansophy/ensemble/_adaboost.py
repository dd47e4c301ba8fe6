"""Loops of AdaBoost: which rows a tree gets wrong, and weighted medians by row."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def mark_misclassified(rows, start, stop, leaf, label, y, w, wrong):
    """Mark the rows that leaves label wrongly; their weight and that of all rows.

    Leaf number l holds rows[start[l] : stop[l]] and says label[l].
    """
    bad = total = 0.0
    for k in range(leaf.shape[0]):
        v = leaf[k]
        for i in range(start[v], stop[v]):
            r = rows[i]
            miss = y[r] != label[k]
            wrong[r] = miss
            total += w[r]
            if miss:
                bad += w[r]
    return bad, total


@njit(cache=True, nogil=True)
def reweight_rows(w, wrong, factor, least):
    """Multiply the weights of wrong rows, then scale all to sum 1; False if too large.

    Positive weights are kept from vanishing: they stay at least `least`.
    """
    total = 0.0
    for i in range(w.shape[0]):
        if wrong[i]:
            w[i] *= factor
        total += w[i]
    if not np.isfinite(total):
        return False
    scale = 1.0 / total
    for i in range(w.shape[0]):
        if w[i] > 0.0:
            w[i] = max(w[i] * scale, least)
    return True


@njit(cache=True, nogil=True)
def staged_lower_medians(P, a, stop, order, out):
    """Weighted medians of the first `stop` members for every row of P (n, members).

    `order` (n, members) holds the members of each row sorted by prediction; the last
    one, number stop - 1, is put into its place. Of the sorted predictions the median
    is the first at which half of the weights a is reached.
    """
    half = 0.0
    for m in range(stop):
        half += 0.5 * a[m]
    for i in range(P.shape[0]):
        new, k = P[i, stop - 1], stop - 1
        while k > 0 and P[i, order[i, k - 1]] > new:
            order[i, k] = order[i, k - 1]
            k -= 1
        order[i, k] = stop - 1
        acc = 0.0
        for k in range(stop):
            m = order[i, k]
            acc += a[m]
            if acc >= half:
                break
        out[i] = P[i, m]


@njit(cache=True, nogil=True)
def weighted_lower_medians(P, a, out):
    """Weighted medians of all members for every row of P (n, members)."""
    half = 0.5 * a.sum()
    for i in range(P.shape[0]):
        order = np.argsort(P[i])
        acc, m = 0.0, order[0]
        for k in range(order.shape[0]):
            m = order[k]
            acc += a[m]
            if acc >= half:
                break
        out[i] = P[i, m]
