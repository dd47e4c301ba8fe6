"""Criteria: what a node still has to explain, and what a split explains of it.

A node with weights w_i and targets y_i, of total weight W, has the impurity I (1):

    gini            1 - sum_c p_c^2             p_c = share of class c by weight
    entropy         - sum_c p_c log2 p_c        (log_loss is the same)
    squared_error   1/W sum_i w_i (y_i - mean)^2
    absolute_error  1/W sum_i w_i |y_i - median|
    poisson         1/W sum_i w_i y_i log(y_i / mean)

the mean over outputs where there are several. A split into left and right gains
W I - W_l I_l - W_r I_r, which is never negative because each I is a concave function
of the node's distribution. With sums s, u of class weights or weighted targets,

    gini, squared_error   |u - s W_l / W|^2 W / (W_l W_r)                       (2)
    entropy               X(u) + X(s - u) - X(s)  less the same of W_l, W_r, W  (3)
    poisson               u log(u / W_l) + r log(r / W_r) - s log(s / W)        (4)

where u are the sums on the left, r = s - u and X(v) = sum v log v. (2) holds for both:
Gini impurity is the variance of the one-hot coded class. Of two classes one sum is
enough; then (2) is counted twice. Absolute error needs medians, see `_absolute.py`.
friedman_mse ranks splits as squared_error does and is another name for it here.

Refs      [Breiman1984] Gini, squared and absolute error; [Quinlan1986] entropy
"""

from typing import NamedTuple

import numpy as np

from ._layout import ABSOLUTE, POISSON, SQUARE, XLOGX

KINDS = {
    "gini": SQUARE,
    "entropy": XLOGX,
    "log_loss": XLOGX,
    "squared_error": SQUARE,
    "friedman_mse": SQUARE,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE,
}


class Criterion(NamedTuple):
    """A criterion and the outputs it is for, as data."""

    kind: int
    m: int  # outputs
    classes: tuple[int, ...] = ()  # how many classes each output has, if classes

    @property
    def is_class(self) -> bool:
        return bool(self.classes)

    @property
    def one(self) -> bool:
        """Two classes under Gini: the weight of the second one is enough."""
        return self.kind == SQUARE and self.classes == (2,)

    @property
    def sums(self) -> int:
        """M, the number of sums kept by node."""
        if self.one:
            return 1
        return sum(self.classes) if self.is_class else self.m

    @property
    def scale(self) -> float:
        """From (2) to (4) to W I - W_l I_l - W_r I_r."""
        if self.one:
            return 2.0
        return 1.0 / (self.m * (np.log(2.0) if self.kind == XLOGX else 1.0))

    def values(self, stat, weight, offset=0.0):
        """What nodes predict: (nodes, m, 1) numbers or (nodes, m, K) shares."""
        if self.kind == ABSOLUTE:
            return stat[:, :, None].copy()
        share = stat / weight[:, None]
        if not self.is_class:
            return (share + offset)[:, :, None]
        if self.one:
            return np.stack([1.0 - share, share], axis=2)
        value = np.zeros((len(stat), self.m, max(self.classes)))
        start = 0
        for o, k in enumerate(self.classes):
            value[:, o, :k] = share[:, start : start + k]
            start += k
        return value

    def clip(self, value, low, high):
        """Values within bounds: of the number, or of the share of the second class."""
        if not self.is_class:
            return np.clip(value, low[:, None, None], high[:, None, None])
        if value.shape[2] < 2:
            return value
        share = np.clip(value[:, 0, 1], low, high)
        return np.stack([1.0 - share, share], axis=1)[:, None, :]


def shares(counts):
    """p_c of eq. (1), of counts along the last axis."""
    counts = np.asarray(counts, float)
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def gini(counts):
    """Gini impurity of class counts, eq. (1).

    >>> float(gini([5, 3]))
    0.46875
    """
    return 1.0 - np.sum(shares(counts) ** 2, axis=-1)


def entropy(counts, base=2.0):
    """Entropy of class counts, eq. (1), in bits unless another base is given.

    >>> round(float(entropy([9, 5])), 6)
    0.940286
    """
    p = shares(counts)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return -np.sum(p * logs, axis=-1) / np.log(base)


def split_impurity(*children, impurity=gini):
    """Impurity after a split: that of the children, weighted by their counts.

    >>> round(float(split_impurity([4, 1], [1, 4])), 6)
    0.32
    """
    sizes = np.array([np.sum(c) for c in children], float)
    return sizes @ [impurity(c) for c in children] / sizes.sum()


def information_gain(*children, base=2.0):
    """Entropy of the whole less the entropy after a split into the children.

    >>> round(float(information_gain([4, 1], [1, 4])), 6)
    0.278072
    """
    bits = lambda counts: entropy(counts, base)
    return bits(np.sum(children, axis=0)) - split_impurity(*children, impurity=bits)


def split_curve(x, y, criterion="gini", sample_weight=None):
    """Gain of every split of one column, by threshold: what a node chooses from.

    Parameters
    ----------
    x : array of shape (n,)
    y : array of shape (n,)
        Classes for "gini" and "entropy", numbers for "squared_error".
    criterion : {"gini", "entropy", "squared_error"}, default="gini"
    sample_weight : array of shape (n,), default=None

    Returns
    -------
    thresholds : array
        Midpoints between neighbouring different values.
    gains : array
        I - W_l / W I_l - W_r / W I_r at each of them.

    Examples
    --------
    >>> thresholds, gains = split_curve([1, 2, 3, 4], [0, 0, 1, 1], "entropy")
    >>> thresholds, gains.round(3)
    (array([1.5, 2.5, 3.5]), array([0.311, 1.   , 0.311]))
    """
    x, y = np.asarray(x, float), np.asarray(y)
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, float)
    order = np.argsort(x, kind="stable")
    x, y, w = x[order], y[order], w[order]
    if criterion == "squared_error":
        y = y - np.average(y, weights=w)
        sums = np.cumsum(w[:, None] * np.stack([np.ones(len(y)), y, y * y], 1), axis=0)
        impurity = lambda s: s[:, 2] / s[:, 0] - (s[:, 1] / s[:, 0]) ** 2
        weight = lambda s: s[:, 0]
    else:
        sums = np.cumsum(w[:, None] * (y[:, None] == np.unique(y)), axis=0)
        impurity = {"gini": gini, "entropy": entropy}[criterion]
        weight = lambda s: s.sum(axis=1)
    cut = np.flatnonzero(np.diff(x))
    left, right, whole = sums[cut], sums[-1] - sums[cut], sums[-1:]
    after = weight(left) * impurity(left) + weight(right) * impurity(right)
    gains = impurity(whole) - after / weight(whole)
    return x[cut] / 2 + x[cut + 1] / 2, gains
