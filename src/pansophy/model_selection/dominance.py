"""Dominance of curves: whether one ROC or PR curve lies on or above another everywhere.

Scores rank the rows; going down the ranking, true and false positives (TP, FP) grow
from (0, 0) to (P, N), along straight lines where scores tie. In ROC space the curve is
TP as a function of FP. In precision-recall space it is TP / (TP + FP) as a function of
TP, where between two points FP is interpolated, not the precision: lines of one space
are hyperbolas of the other. At a fixed TP precision falls with FP, so

    a dominates b in ROC space   iff   it does in PR space                       (1)

Both are computed here, each in its own space; that they agree is tested.

Refs      [DavisGoadrich2006]
"""

from typing import NamedTuple

import numpy as np

from ..compare.evaluation.decision_threshold import check_binary_scores
from ..core.arrays.threshold_counts import threshold_counts

TINY = 1e-9


class CurveDominance(NamedTuple):
    """The dominant curve: "first", "second", "equal" or "neither"."""

    roc: str
    pr: str


def _one_sided_limits(x, y, at):
    """Values of a rising broken line just before and just after `at`.

    Where the line is vertical these are the ends of that piece.
    """
    value_after = np.interp(at, x, y)  # right where x is met once
    value_before = value_after.copy()
    first = np.searchsorted(x, at, "left")
    last = np.searchsorted(x, at, "right") - 1
    met = (first < len(x)) & (last >= first)
    value_before[met], value_after[met] = y[first[met]], y[last[met]]
    return value_before, value_after


def _lies_above(a, b) -> bool:
    return all(np.all(u >= v - TINY) for u, v in zip(a, b))


def _dominating_curve(a, b) -> str:
    first, second = _lies_above(a, b), _lies_above(b, a)
    if first and second:
        return "equal"
    return "first" if first else "second" if second else "neither"


def curve_dominance(y, first, second) -> CurveDominance:
    """Compare the curves of two score vectors for the same rows, in both spaces.

    Examples
    --------
    >>> from pansophy.compare import curve_dominance
    >>> curve_dominance([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], [0.9, 0.2, 0.8, 0.1])
    CurveDominance(roc='first', pr='first')
    """
    curves = [threshold_counts(*check_binary_scores(y, s)) for s in (first, second)]
    if curves[0].positives == 0 or curves[0].negatives == 0:
        raise ValueError("y must hold both 0 and 1.")
    x_grid = np.unique(np.concatenate([c.false_positives for c in curves]))
    roc = []
    for c in curves:
        value_before, value_after = _one_sided_limits(
            c.false_positives, c.true_positives, x_grid
        )
        roc.append((value_before[1:], value_after))  # nothing comes before FP = 0
    x_grid = np.unique(np.concatenate([c.true_positives for c in curves]))
    pr = []
    for c in curves:
        value_before, value_after = _one_sided_limits(
            c.true_positives, c.false_positives, x_grid
        )
        positive_x = x_grid[
            1:
        ]  # at TP = 0 precision is 0 or undefined; just beyond it is the
        start = value_after[:1]  # greater, the fewer false positives came before
        pr.append(
            (
                positive_x / (positive_x + value_before[1:]),
                positive_x / (positive_x + value_after[1:]),
                -start,
            )
        )
    for k in (0, 1):  # at TP = P the curve ends; what follows is only more FP
        pr[k] = (pr[k][0], pr[k][1][:-1], pr[k][2])
    return CurveDominance(_dominating_curve(*roc), _dominating_curve(*pr))
