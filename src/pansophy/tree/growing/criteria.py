"""Split criteria: the impurity of a node, and the gain of a split.

A node with weights w_i and targets y_i, of total weight W, has the impurity I (1):

    gini            1 - sum_c p_c^2             p_c = share of class c by weight
    entropy         - sum_c p_c log2 p_c        (log_loss is the same)
    zero_one        1 - max_c p_c               the share that the majority gets wrong
    squared_error   1/W sum_i w_i (y_i - mean)^2
    absolute_error  1/W sum_i w_i |y_i - median|
    quantile        1/W sum_i w_i rho(y_i - quantile),  rho(e) = max(a e, (a - 1) e)
    poisson         1/W sum_i w_i y_i log(y_i / mean)
    gaussian        1/2 log(variance / floor), summed over outputs
    gaussian_joint  1/2 log det(covariance / floor)
    direction       1 - R,  R = |sum_i w_i (cos y_i, sin y_i)| / W

the mean over outputs where there are several and nothing else is said. A split into
left and right gains W I - W_l I_l - W_r I_r, which is never negative because each I is
a concave function of the node's distribution. With sums s, u of class weights or
weighted targets, on the left u, r = s - u, and X(v) = sum v log v,

    gini, squared_error   |u - s W_l / W|^2 W / (W_l W_r)                       (2)
    entropy               X(u) + X(r) - X(s)  less the same of W_l, W_r, W      (3)
    poisson               u log(u / W_l) + r log(r / W_r) - s log(s / W)        (4)
    newton                u^2 / (W_l + l2) + r^2 / (W_r + l2) - s^2 / (W + l2)  (5)
    zero_one              max u + max r - max s                                 (6)
    gain_ratio            W I (3) / (X(W) - X(W_l) - X(W_r))                    (7)
    gaussian              W I less that of both sides, from the sums of y, y^2  (8)
    gaussian_joint        the same, from the sums of y and of all y_a y_b       (9)
    direction             |u| + |r| - |s|,  sums of (cos y, sin y)             (10)

(2) holds for both: Gini impurity is the variance of the one-hot coded class. Of two
classes one sum is enough; then (2) is counted twice. Absolute error and quantiles need
order, see `_quantile_split.py`. friedman_mse ranks splits as squared_error does and is
another name for it here. In (5), used by boosting, the targets are minus the first
derivatives of a loss and the weights its second derivatives; a node's value is
s / (W + l2) and I is not computed.

(7) is the entropy's gain over the entropy of the split itself, times W I: the most it
can be. It is taken of every split (C4.5 takes it only of those that gain no less than
the average), which favours small sides; use leaves of more than a few rows.

(8) and (9) are the falls of the entropy of a normal distribution with the node's
moments. That of a single value would be minus infinity: a variance (in (9) what the
outputs before leave of it) counts as at least 1e-8 of the variance of all targets.

Refs      [Breiman1984] Gini, squared and absolute error; [Quinlan1986] entropy;
          [Quinlan1993] gain ratio; [Criminisi2012] Gaussian gain; [Fisher1993] R
"""

from typing import NamedTuple

import numpy as np

from ... import distributions
from ._structures import (
    ABSOLUTE,
    DIRECTION,
    ERRORS,
    GAUSS,
    JOINT,
    NEWTON,
    POISSON,
    RATIO,
    SQUARE,
    XLOGX,
)

KINDS = {
    "gini": SQUARE,
    "entropy": XLOGX,
    "log_loss": XLOGX,
    "squared_error": SQUARE,
    "friedman_mse": SQUARE,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE,
    "quantile": ABSOLUTE,
    "zero_one": ERRORS,
    "gain_ratio": RATIO,
    "gaussian": GAUSS,
    "gaussian_joint": JOINT,
    "direction": DIRECTION,
}


class Criterion(NamedTuple):
    """A criterion and the outputs it is for, as data."""

    kind: int
    n_outputs: int  # outputs
    classes: tuple[int, ...] = ()  # how many classes each output has, if classes
    l2: float = 0.0  # of eq. (5)
    cost_above: float = 1.0  # price of a unit above the value, for absolute errors
    cost_below: float = 1.0  # and below; a and 1 - a for the quantile at a

    @property
    def is_class(self) -> bool:
        return bool(self.classes)

    @property
    def binary_gini(self) -> bool:
        """Two classes under Gini: the weight of the second one is enough."""
        return self.kind == SQUARE and self.classes == (2,)

    @property
    def n_sums(self) -> int:
        """M, the number of sums kept by node."""
        if self.binary_gini:
            return 1
        if self.kind == JOINT:
            return self.n_outputs + self.n_outputs * (self.n_outputs + 1) // 2
        if self.kind in (GAUSS, DIRECTION):
            return 2 * self.n_outputs
        return sum(self.classes) if self.is_class else self.n_outputs

    @property
    def scale(self) -> float:
        """From (2) to (10) to W I - W_l I_l - W_r I_r."""
        if self.binary_gini:
            return 2.0
        if self.kind in (GAUSS, JOINT):
            return 1.0
        logs = self.kind in (XLOGX, RATIO)
        return 1.0 / (self.n_outputs * (np.log(2.0) if logs else 1.0))

    def columns(self, y):
        """The targets (n, m) as the columns that the sums of the criterion are of."""
        if self.kind == DIRECTION:
            both = np.stack([np.cos(y), np.sin(y)], axis=2)
            return both.reshape(len(y), -1)
        if self.kind == GAUSS:
            return np.concatenate([y, y * y], axis=1)
        if self.kind == JOINT:
            a, b = np.tril_indices(self.n_outputs)
            return np.concatenate([y, y[:, a] * y[:, b]], axis=1)
        return y

    def values(self, stat, weight, offset=0.0):
        """Predictions of nodes: (nodes, m, 1) numbers or (nodes, m, K) shares."""
        if self.kind == ABSOLUTE:
            return stat[:, :, None].copy()
        if self.kind == NEWTON:
            total = np.maximum(weight + self.l2, 1e-300)
            return stat[:, :, None] / total[:, None, None]
        if self.kind == DIRECTION:
            return np.arctan2(stat[:, 1::2], stat[:, ::2])[:, :, None]
        share = stat / weight[:, None]
        if not self.is_class:
            return (share + offset)[:, : self.n_outputs, None]
        if self.binary_gini:
            return np.stack([1.0 - share, share], axis=2)
        value = np.zeros((len(stat), self.n_outputs, max(self.classes)))
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


def class_fractions(counts):
    """p_c of eq. (1), of counts along the last axis."""
    counts = np.asarray(counts, float)
    if counts.ndim == 0 or not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError("class counts must be a list of finite numbers of at least 0.")
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def gini(counts):
    """Gini impurity of class counts, eq. (1); of a table that of each row.

    >>> float(gini([5, 3]))
    0.46875
    """
    return 1.0 - np.sum(class_fractions(counts) ** 2, axis=-1)


def entropy(counts, base=2.0):
    """Entropy of class counts, eq. (1), in bits unless another base is given.

    A table of counts gives the entropy of each row.

    >>> round(float(entropy([9, 5])), 6)
    0.940286
    """
    p = class_fractions(counts)
    p[..., 0] += ~p.any(axis=-1)  # nothing at all is a sure thing
    return distributions.entropy(p, base=base)


def counts_of_children(children):
    """(children, K) class counts, given one by one or as one table with a row each."""
    table = children[0] if len(children) == 1 else children
    try:
        counts = np.asarray(table, float)
    except (TypeError, ValueError):
        counts = np.empty(0)
    counts = counts[None] if len(children) == 1 and counts.ndim == 1 else counts
    if counts.ndim != 2 or counts.size == 0:
        raise ValueError(
            "the children of a split must be lists of class counts of equal length, "
            "or one table with a row for each child."
        )
    if not counts.sum() > 0:
        raise ValueError("the children of a split hold no rows: all counts are 0.")
    return counts


def split_impurity(*children, impurity=gini):
    """Impurity after a split: that of the children, weighted by their counts.

    The children are lists of class counts, or one table with a row for each child.

    >>> round(float(split_impurity([4, 1], [1, 4])), 6)
    0.32
    """
    counts = counts_of_children(children)
    sizes = counts.sum(axis=1)
    return sizes @ [impurity(c) for c in counts] / sizes.sum()


def information_gain(*children, base=2.0):
    """Entropy of the whole less the entropy after a split into the children.

    The children are lists of class counts, or one table with a row for each child.

    >>> round(float(information_gain([4, 1], [1, 4])), 6)
    0.278072
    >>> round(float(information_gain([[4, 1], [1, 4]])), 6)
    0.278072
    """
    counts = counts_of_children(children)
    bits = lambda c: entropy(c, base)
    return bits(counts.sum(axis=0)) - split_impurity(*counts, impurity=bits)
