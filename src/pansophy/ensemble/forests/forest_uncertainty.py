"""Uncertainty of a forest's predictions: variances, quantiles and proximities.

With tree predictions t_b(x), b = 1 .. B, of mean t(x):

    variance     1/B sum_b (t_b - t)^2  [+ 1/B sum_b v_b]                        (1)
    quantiles    of the training targets with weights
                 a_i(x) = 1/B sum_b c_bi [i in the leaf of x] / (c summed there) (2)
    proximity    1/B sum_b [x and z in the same leaf]                            (3)

where v_b is the variance within the leaf (law of total variance) and c_bi is how often
tree b drew row i. The variance of t(x) over training sets is estimated from the draws
of the trees, by the infinitesimal jackknife

    V_IJ = sum_i cov_b(c_bi, t_b)^2                                              (4)

or the jackknife after bootstrap, with the mean t_-i of the trees without row i,

    V_J = (n - 1)/n sum_i (t_-i - t)^2.                                          (5)

With finitely many trees both are biased upwards by a known amount, which is subtracted:
for (4) s/B and for (5) (e - 1) n/B (s = n draws) times the variance over trees.

Shapes    X (n, d)   leaves (n, B)   counts (B, n_train)
Refs      [Breiman2001] proximity; [Meinshausen2006] quantiles; [Wager2014] jackknife
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.loops import threads
from ...params import ParameterError
from ...tree.abstract_decision_tree import validate_prediction_rows
from ...tree.storage.tree import map_dense_blocks
from . import _forest_uncertainty as loops

DENSE_BYTES = 1 << 28  # bytes up to which proximities are dense by default
ROWS_PER_BLOCK = 1 << 11  # rows whose leaves are held at a time


class LeafTargets(NamedTuple):
    """Training targets by leaf, for quantiles."""

    y: np.ndarray  # (n, m) ascending by output
    rank: np.ndarray  # (members, m) position in y of the target of each member
    weight: np.ndarray  # (members,) shares within the leaf
    start: np.ndarray  # (leaves + 1,) first member of each leaf


class NormalPrediction(NamedTuple):
    """A normal predictive distribution for every row."""

    mean: np.ndarray
    variance: np.ndarray


def scatter_counts(rows, values, n):
    """An array of length n with values at some rows and 0 elsewhere."""
    out = np.zeros(n, values.dtype)
    out[rows] = values
    return out


def leaves_of_rows(model, X):
    """(n, B) numbers of the leaves through all trees, of checked rows."""
    with threads.limit_threads(model.n_jobs):
        return map_dense_blocks(X, model.forest_.leaves)


def map_leaf_blocks(model, X, function):
    """Concatenated results of a function of the leaves of a block of rows."""
    X = validate_prediction_rows(model, X)
    starts = range(0, X.shape[0], ROWS_PER_BLOCK)
    parts = [function(leaves_of_rows(model, X[i : i + ROWS_PER_BLOCK])) for i in starts]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(p) for p in zip(*parts))
    return np.concatenate(parts)


def predictive_normal(model, X, within) -> NormalPrediction:
    """Eq. (1)."""
    forest = model.forest_
    if within and (model.n_outputs_ > 1 or len(forest.impurity) != len(forest.value)):
        raise ValueError(
            "the variance within leaves is kept for one output and squared error "
            "without monotone constraints only: use within=False."
        )

    def moments(leaf):
        value = forest.real_value[leaf].astype(float)
        mean = value.mean(axis=1)
        variance = value.var(axis=1)
        if within:
            variance += forest.impurity[leaf].astype(float).mean(axis=1)[:, None]
        return mean, variance

    mean, variance = map_leaf_blocks(model, X, moments)
    if model.n_outputs_ == 1:
        mean, variance = mean[:, 0], variance[:, 0]
    return NormalPrediction(mean, variance)


def collect_leaf_targets(model, X, y, w) -> LeafTargets:
    """The training targets of every leaf, weighted by how often they were drawn."""
    forest = model.forest_
    n = X.shape[0]
    leaf = map_dense_blocks(X, forest.leaves)
    order = np.argsort(y, axis=0, kind="stable")
    rank = np.empty(y.shape, np.int32)
    np.put_along_axis(rank, order, np.arange(n, dtype=np.int32)[:, None], axis=0)
    members: Any = []
    where: Any = []
    weights: Any = []
    for t, c in enumerate(model._draw_counts(n)):
        c = c if w is None or model.bootstrap else c * w
        rows = np.flatnonzero(c)
        rows = rows[np.argsort(leaf[rows, t], kind="stable")]
        members.append(rows)
        where.append(leaf[rows, t])
        weights.append(c[rows])
    members = np.concatenate(members)
    where = np.concatenate(where)
    weights = np.concatenate(weights).astype(float)
    total = np.bincount(where, weights, len(forest.value))
    count = np.bincount(where, minlength=len(forest.value))
    start = np.concatenate(([0], np.cumsum(count)))
    y = np.take_along_axis(y, order, axis=0)
    return LeafTargets(y, rank[members], weights / total[where], start)


def predictive_quantiles(model, X, q):
    """Quantiles of eq. (2): (n,) or (n, q), and a last axis of outputs if several."""
    levels = np.atleast_1d(np.asarray(q, float))
    if levels.ndim > 1 or np.any((levels < 0) | (levels > 1) | np.isnan(levels)):
        raise ValueError(f"quantiles must be numbers from 0 to 1, got {q!r}.")
    if not model.keep_targets:
        raise ParameterError(
            "quantiles need the training targets of the leaves: fit with "
            "keep_targets=True."
        )
    kept = model.targets_
    order = np.argsort(levels, kind="stable")

    def block(leaf):
        out = np.empty((len(leaf), len(levels), model.n_outputs_))
        for o in range(model.n_outputs_):
            part = np.empty((len(leaf), len(levels)))
            loops.leaf_target_quantiles(
                leaf,
                kept.start,
                np.ascontiguousarray(kept.rank[:, o]),
                kept.weight,
                np.ascontiguousarray(kept.y[:, o]),
                levels[order],
                part,
            )
            out[:, order, o] = part
        return out

    out: Any = map_leaf_blocks(model, X, block)
    out = out[:, :, 0] if model.n_outputs_ == 1 else out
    return out[:, 0] if np.ndim(q) == 0 else out


def jackknife_variance(model, X, method):
    """Eq. (4) or (5) with its correction, never below 0."""
    if not model.bootstrap:
        raise ParameterError(
            "the variance of a forest is estimated from its draws: fit with "
            "bootstrap=True."
        )
    n = model._n_rows
    C = np.stack(list(model._draw_counts(n))).astype(float)  # (B, n)
    B = len(C)
    s = float(C[0].sum())
    out_of_bag = (C == 0).astype(float)
    times = out_of_bag.sum(axis=0)
    C -= C.mean(axis=0)
    values = model.forest_.real_value

    def block(leaf):
        t = values[leaf].astype(float)  # (b, B, m)
        t -= t.mean(axis=1, keepdims=True)
        noise = (t * t).mean(axis=1)
        out = np.empty_like(noise)
        for o in range(t.shape[2]):
            if method == "infinitesimal":
                cov = t[:, :, o] @ C / B
                out[:, o] = np.sum(cov * cov, axis=1) - s / B * noise[:, o]
            else:
                left_out = times > 0
                gap = t[:, :, o] @ out_of_bag[:, left_out] / times[left_out]
                V = (n - 1) / n * np.sum(gap * gap, axis=1)
                out[:, o] = V - (np.e - 1) * n / B * noise[:, o]
        return np.maximum(out, 0.0)

    out: Any = map_leaf_blocks(model, X, block)
    return out[:, 0] if model.n_outputs_ == 1 else out


def forest_proximity(model, X, Z, dense_output):
    """Eq. (3), as a product of sparse indicators of leaves."""
    A = leaf_indicator(model, X)
    G = A if Z is None else leaf_indicator(model, Z)
    size = 8 * A.shape[0] * G.shape[0]
    dense = size <= DENSE_BYTES if dense_output is None else dense_output
    B = len(model.forest_)
    if not dense:
        return (A @ G.T).tocsr() / B
    H = G.T.tocsr()
    out = np.empty((A.shape[0], G.shape[0]))
    for i in range(0, A.shape[0], ROWS_PER_BLOCK):
        out[i : i + ROWS_PER_BLOCK] = (A[i : i + ROWS_PER_BLOCK] @ H).toarray()
    return out / B


def leaf_indicator(model, X):
    """(n, leaves) CSR matrix with a one at the leaves of each row."""
    leaf = leaves_of_rows(model, validate_prediction_rows(model, X))
    n, B = leaf.shape
    start = np.arange(0, n * B + 1, B)
    ones = np.ones(n * B)
    shape = (n, len(model.forest_.value))
    return sp.csr_matrix((ones, leaf.ravel(), start), shape)
