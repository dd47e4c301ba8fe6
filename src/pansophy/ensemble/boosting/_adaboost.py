"""Compiled loops of AdaBoost: misclassified rows, row weights, weighted medians."""

from typing import NamedTuple

import numpy as np

from ...core.arrays._weighted import quantile_place, total_weight
from ...core.loops.compiled import compiled


class LeafRows(NamedTuple):
    """The rows of a tree in the order of its nodes: node v has start[v] .. stop[v]."""

    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray


@compiled
def mark_misclassified(tree_rows, leaf, label, y, w, wrong):
    """Mark the rows that leaves label wrongly; their weight and that of all rows.

    `leaf` lists the leaves and `label` what each predicts.
    """
    rows, start, stop = tree_rows
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


@compiled
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


@compiled
def lower_median_place(a, order):
    """Place in `order` of the first value at which half of the weights a is reached."""
    low = quantile_place(a, order, 0.5, total_weight(a, order))[0]
    return max(low, 0)  # -1 if every weight is 0


@compiled
def staged_lower_medians(P, a, stop, order, out):
    """Weighted medians of the first `stop` members for every row of P (n, members).

    `order` (n, members) holds the members of each row sorted by prediction; member
    stop - 1 is put into its place. At a tie the lower prediction is the median.
    """
    for i in range(P.shape[0]):
        new = P[i, stop - 1]
        k = stop - 1
        while k > 0 and P[i, order[i, k - 1]] > new:
            order[i, k] = order[i, k - 1]
            k -= 1
        order[i, k] = stop - 1
        out[i] = P[i, order[i, lower_median_place(a, order[i, :stop])]]


@compiled
def weighted_lower_medians(P, a, out):
    """Weighted medians of all members for every row of P (n, members)."""
    for i in range(P.shape[0]):
        order = np.argsort(P[i])
        out[i] = P[i, order[lower_median_place(a, order)]]
