"""Split curve: the gain of every threshold of one column, for every criterion.

A split at t sends the rows with x <= t left. With the rows sorted by x, the sums that
a criterion is made of (`tree/growing/criteria.py`) are running sums, so the impurities
I_l and I_r of both sides of all thresholds follow from one pass, and

    gain(t) = I - W_l / W I_l - W_r / W I_r                                     (1)

A node of a tree chooses the largest of them. "gain_ratio" divides (1), by entropy, by
the entropy of the split itself. Absolute errors and quantiles have no sums: a running
quantile is kept in two heaps, the rows up to it and those above it.

Cost O(n log n). Shapes    x (n,)   y (n,) or (n, m)   w (n,)
Refs      [Breiman1984]; [Quinlan1993] gain ratio
"""

import heapq
from typing import Literal, get_args

import numpy as np

from ..core.arrays.weighted import check_sample_weight, tie_tolerance
from ..core.numerics import xlogy
from ..params import ParameterError, check_count
from ..tree.growing._criteria import FLOOR
from ..tree.growing.criteria import entropy, gini
from ..tree.growing.input_encoding import MAX_CODES
from ..tree.growing.prepared_columns import prepare_columns

ClassCriterion = Literal["gini", "entropy", "log_loss", "zero_one", "gain_ratio"]
NumberCriterion = Literal[
    "squared_error",
    "friedman_mse",
    "absolute_error",
    "quantile",
    "poisson",
    "gaussian",
    "gaussian_joint",
    "direction",
]
CLASS_IMPURITIES = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "gain_ratio": entropy,
    "zero_one": lambda counts: 1.0 - counts.max(axis=-1) / counts.sum(axis=-1),
}


def split_curve(
    x,
    y,
    criterion="gini",
    sample_weight=None,
    *,
    quantile=0.5,
    max_bins=None,
):
    """Gain of every split of one column, by threshold: what a node chooses from.

    Parameters
    ----------
    x : array of shape (n,)
        The column, without missing values.
    y : array of shape (n,) or (n, m)
        Classes for the criteria of `DecisionTreeClassifier`, numbers for those of
        `DecisionTreeRegressor`, angles in radians for "direction".
    criterion : str, default="gini"
        A criterion of `DecisionTreeClassifier` or `DecisionTreeRegressor`, or
        "direction". "gain_ratio" gives the gain over the entropy of the split.
    sample_weight : array of shape (n,), default=None
    quantile : float, default=0.5
        The level of criterion="quantile".
    max_bins : int or None, default=None
        Only limits between so many bins of about equal weight are thresholds, as in
        a tree with `max_bins`; None is every threshold.

    Returns
    -------
    thresholds : array
        Midpoints between neighbouring different values.
    gains : array
        Eq. (1) of the module at each of them.

    Examples
    --------
    >>> thresholds, gains = split_curve([1, 2, 3, 4], [0, 0, 1, 1], "entropy")
    >>> thresholds, gains.round(3)
    (array([1.5, 2.5, 3.5]), array([0.311, 1.   , 0.311]))
    >>> split_curve([1, 2, 3, 4], [1.0, 1.0, 5.0, 9.0], "absolute_error")[1]
    array([1., 2., 2.])
    """
    x, Y, w = _sorted_rows(x, y, sample_weight)
    cut, thresholds = _candidate_splits(x, w, max_bins)
    if criterion in get_args(ClassCriterion):
        sides = _class_side_impurities(criterion, Y, w, cut)
    elif criterion in get_args(NumberCriterion):
        sides = _number_side_impurities(criterion, Y, w, cut, quantile)
    else:
        names = ", ".join((*get_args(ClassCriterion), *get_args(NumberCriterion)))
        raise ValueError(f"criterion must be one of {names}; got {criterion!r}.")
    node_impurity, left, right = sides
    share = np.cumsum(w)[cut] / w.sum()
    gains = node_impurity - share * left - (1.0 - share) * right
    if criterion == "gain_ratio":
        gains = gains / entropy(np.stack([share, 1.0 - share], axis=1))
    return thresholds, gains


def _sorted_rows(x, y, sample_weight):
    """x, targets (n, m) and weights above 0, checked, by ascending x."""
    x = np.asarray(x, float)
    Y = np.asarray(y)
    if x.ndim != 1 or Y.ndim not in (1, 2) or len(x) != len(Y) or len(x) == 0:
        raise ValueError(
            "x must be one column, and y must have an entry for each of its rows: got "
            f"shapes {x.shape} and {Y.shape}."
        )
    if not np.all(np.isfinite(x)):
        raise ValueError("x holds missing or infinite values: leave their rows out.")
    w = check_sample_weight(sample_weight, len(x))
    w = np.ones(len(x)) if w is None else w
    order = np.argsort(x, kind="stable")
    order = order[w[order] > 0]
    Y = Y[:, None] if Y.ndim == 1 else Y
    return x[order], Y[order], w[order]


def _candidate_splits(x, w, max_bins):
    """The last row on the left of every split of sorted x, and the thresholds."""
    if max_bins is None:
        cut = np.flatnonzero(np.diff(x))
        return cut, x[cut] / 2 + x[cut + 1] / 2
    if check_count("max_bins", max_bins, 2) > MAX_CODES:
        raise ParameterError(f"max_bins must be at most {MAX_CODES}, got {max_bins}.")
    columns = prepare_columns(x[:, None].astype(np.float32), w, int(max_bins))
    k = int(columns.properties["n_bins"][0])
    low = columns.edges[0, 0, 1:k].astype(float)
    high = columns.edges[0, 1, : k - 1].astype(float)
    cut = np.searchsorted(x.astype(np.float32), high, side="right") - 1
    return cut, high / 2 + low / 2


def _class_side_impurities(criterion, Y, w, cut):
    """Impurity of all rows, and of both sides of every split: mean over outputs."""
    if criterion in ("zero_one", "gain_ratio") and Y.shape[1] > 1:
        raise ValueError(f"criterion={criterion!r} is for one column of classes.")
    impurity = CLASS_IMPURITIES[criterion]
    parts = []
    for column in Y.T:
        sums = np.cumsum(w[:, None] * (column[:, None] == np.unique(column)), axis=0)
        sides = sums[-1:], sums[cut], np.maximum(sums[-1] - sums[cut], 0.0)
        parts.append([impurity(counts) for counts in sides])
    return [np.mean(part, axis=0) for part in zip(*parts)]


def _number_side_impurities(criterion, Y, w, cut, quantile):
    """Impurities of both sides of each cut, for numbers."""
    try:
        Y = Y.astype(float)
    except (TypeError, ValueError):
        Y = np.full(Y.shape, np.nan)
    if not np.all(np.isfinite(Y)):
        raise ValueError(f"criterion={criterion!r} needs y to hold finite numbers.")
    if criterion in ("absolute_error", "quantile"):
        return _quantile_side_impurities(criterion, Y, w, cut, quantile)
    if criterion == "poisson" and (np.any(Y < 0) or np.any(w @ Y <= 0)):
        raise ValueError(
            "criterion='poisson' needs y without negative values and with a positive "
            "sum in every column."
        )
    if criterion == "direction":
        columns = np.stack([np.cos(Y), np.sin(Y)], axis=2)
    elif criterion == "poisson":
        columns = np.stack([Y, xlogy(Y, Y)], axis=2)
    else:
        Z = Y - np.average(Y, axis=0, weights=w)
        if criterion.startswith("gaussian"):
            spread = np.sqrt(np.average(Z * Z, axis=0, weights=w))
            Z = Z / np.where(spread > 0, spread, 1.0)
        columns = np.concatenate([Z[:, :, None], Z[:, :, None] * Z[:, None, :]], axis=2)
    sums = np.cumsum(w[:, None, None] * columns, axis=0)
    weight = np.cumsum(w)
    impurity = lambda s, W: _impurity_of_means(criterion, s / W[:, None, None])
    return (
        impurity(sums[-1:], weight[-1:]),
        impurity(sums[cut], weight[cut]),
        impurity(sums[-1] - sums[cut], weight[-1] - weight[cut]),
    )


def _impurity_of_means(criterion, means):
    """Impurities (k,) from means (k, m, columns) of the columns of a criterion."""
    if criterion == "direction":
        return 1.0 - np.hypot(means[:, :, 0], means[:, :, 1]).mean(axis=1)
    first = means[:, :, 0]
    if criterion == "poisson":
        return np.mean(means[:, :, 1] - xlogy(first, first), axis=1)
    covariance = means[:, :, 1:] - first[:, :, None] * first[:, None, :]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    if criterion == "gaussian":
        return 0.5 * np.log(np.maximum(variance / FLOOR, 1.0)).sum(axis=1)
    if criterion == "gaussian_joint":
        return 0.5 * _log_pivots(covariance / FLOOR).sum(axis=1)
    return np.maximum(variance, 0.0).mean(axis=1)


def _log_pivots(S):
    """(k, m) logarithms of the pivots of S (k, m, m), each of at least 1."""
    S = S.copy()
    out = np.empty(S.shape[:2])
    for a in range(S.shape[1]):
        pivot = np.maximum(S[:, a, a], 1.0)
        out[:, a] = np.log(pivot)
        column = S[:, a + 1 :, a] / pivot[:, None]
        S[:, a + 1 :, a + 1 :] -= column[:, :, None] * S[:, None, a, a + 1 :]
    return out


def _quantile_side_impurities(criterion, Y, w, cut, quantile):
    """Mean errors about the quantile, of all rows and of both sides of every split."""
    median = criterion == "absolute_error"
    level = 0.5 if median else float(quantile)
    if not 0 < level < 1:
        raise ValueError(f"quantile must lie between 0 and 1, got {quantile!r}.")
    factor = 2.0 if median else 1.0  # |e| is twice the quantile loss at 1/2
    forward = np.mean([_running_quantile_errors(y, w, level) for y in Y.T], axis=0)
    suffix_errors = np.mean(
        [_running_quantile_errors(y[::-1], w[::-1], level) for y in Y.T], axis=0
    )
    weight = np.cumsum(w)
    left = forward[cut] / weight[cut]
    right = suffix_errors[len(w) - 2 - cut] / (weight[-1] - weight[cut])
    return factor * forward[-1:] / weight[-1], factor * left, factor * right


def _running_quantile_errors(y, w, level):
    """Least quantile loss of the first 1, 2, ... n values.

    `low_heap` holds, largest first, the values up to the quantile: those whose weight
    reaches the level; `high_heap` the others, smallest first.
    """
    low_heap: list = []
    high_heap: list = []
    weight = [0.0, 0.0]  # of `low_heap` and `high_heap`
    moment = [0.0, 0.0]
    out = np.empty(len(y))

    def move(source, target, side):
        value, v = heapq.heappop(source)
        heapq.heappush(target, (-value, v))
        real = -value if side == 0 else value
        for changed_side, sign in ((side, -1.0), (1 - side, 1.0)):
            weight[changed_side] += sign * v
            moment[changed_side] += sign * v * real

    for j, (value, v) in enumerate(zip(y.tolist(), w.tolist())):
        heapq.heappush(low_heap, (-value, v))
        weight[0] += v
        moment[0] += v * value
        move(low_heap, high_heap, 0)
        total = weight[0] + weight[1]
        goal = level * total - tie_tolerance(total, j + 1)
        while high_heap and weight[0] < goal:
            move(high_heap, low_heap, 1)
        while low_heap and weight[0] - low_heap[0][1] >= goal:
            move(low_heap, high_heap, 0)
        m = -low_heap[0][0]
        out[j] = level * (moment[1] - m * weight[1])
        out[j] += (1.0 - level) * (m * weight[0] - moment[0])
    return np.maximum(out, 0.0)
