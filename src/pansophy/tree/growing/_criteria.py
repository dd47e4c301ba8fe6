"""Compiled criteria: how good a split is, from sums that add up over rows.

A node holds sums s (M numbers: class weights, or weighted targets) and a weight W.
A split sends u and w_l to the left. `split_score` is the fall of the summed impurity,
up to the constant factor `scale` that the caller applies; the equations are those of
`criteria.py`. The argument `other` is None for squares, Gini and Newton's steps, whose
first call then need not wait for the code of the other criteria to be compiled.
"""

import math

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from ._structures import DIRECTION, ERRORS, GAUSS, JOINT, NEWTON, POISSON, RATIO, XLOGX

SAME = 1e-10  # gains closer than this share of the most that can be gained are equal
SLIVER = 1e-12  # least share of the weight that a denominator may hold, and least
# share of the target that a side may have for a Poisson mean above zero

TINY = 1e-300  # least curvature a leaf is divided by
FLOOR = 1e-8  # least variance, in units of the variance of all targets


@compiled(inner=True)
def xlogx(v):
    """v log v; that of 1, which most small nodes are made of, needs no logarithm."""
    return v * math.log(v) if v > 0.0 and v != 1.0 else 0.0


@compiled(inner=True, inline="always")
def keeps_order(sign, node, a, b):
    """Whether leaf values a, b keep the node's bounds and the order that `sign` asks.

    Up to rounding, which clipping the values to the bounds makes good in the end.
    """
    slack = SLIVER * max(abs(a), abs(b))
    inside = min(a, b) >= node.low - slack and max(a, b) <= node.high + slack
    return inside and (a - b) * sign <= slack


@compiled(inner=True, forceinline=True)
def split_allowed(plan, sign, node, u, wl):
    """Whether a split keeps the least leaf weight and the monotone constraint."""
    W = node.weight
    if wl < plan.min_weight or W - wl < plan.min_weight:
        return False
    if sign == 0:
        return True
    k = 1 if plan.is_class and not plan.binary_gini else 0
    left, right = u[k] / (wl + plan.l2), (node.sums[k] - u[k]) / (W - wl + plan.l2)
    return keeps_order(sign, node, left, right)


@compiled(inner=True)
def score_base(plan, W, s, other):
    """The part of the score that the node itself decides."""
    acc = 0.0
    kind = plan.kind
    if other is None:
        return s[0] * s[0] / max(W + plan.l2, TINY) if kind == NEWTON else 0.0
    if kind >= ERRORS and kind != RATIO:
        return explained_by_sums(kind, s, W)
    for k in range(s.size):
        if kind in (XLOGX, RATIO):
            acc += xlogx(s[k])
        elif kind == POISSON and s[k] > 0.0:
            acc += s[k] * math.log(s[k] / W)
    if kind in (XLOGX, RATIO):
        acc -= plan.n_outputs * xlogx(W)
    return acc


@compiled(inner=True)
def explained_by_sums(kind, s, W):
    """Explained part of sums s of weight W: eqs. (6), (8) to (10), less constants."""
    M = s.size
    acc = 0.0
    if kind == ERRORS:
        for k in range(M):
            acc = max(acc, s[k])
        return acc
    if kind == DIRECTION:
        for k in range(0, M, 2):
            acc += math.sqrt(s[k] * s[k] + s[k + 1] * s[k + 1])
        return acc
    if kind == GAUSS:
        m = M // 2
        for k in range(m):
            acc += math.log(max((s[m + k] / W - (s[k] / W) ** 2) / FLOOR, 1.0))
        return -0.5 * W * acc
    return -0.5 * W * log_det_covariance(s, W)


@compiled(inner=True, refcount=True)
def log_det_covariance(s, W):
    """log det S / FLOOR, S the covariance of m outputs with sums s.

    s has the m sums of y and then those of y_a y_b, a >= b, row by row. One Cholesky
    factorisation, in which no output has less than FLOOR left to be explained by
    those before it.
    """
    m, acc = 0, 0.0
    while m + m * (m + 1) // 2 < s.size:
        m += 1
    L = np.empty((m, m))
    at = m
    for a in range(m):
        for b in range(a + 1):
            v = (s[at] / W - (s[a] / W) * (s[b] / W)) / FLOOR
            at += 1
            for k in range(b):
                v -= L[a, k] * L[b, k]
            if a == b:
                v = max(v, 1.0)
                acc += math.log(v)
                L[a, a] = math.sqrt(v)
            else:
                L[a, b] = v / L[b, b]
    return acc


@compiled(inner=True)
def explained_gain(kind, u, wl, wr, node):
    """The gain where each side is judged by itself; u is left as it was."""
    M = node.sums.size
    left = explained_by_sums(kind, u[:M], wl)
    for k in range(M):
        u[k] = node.sums[k] - u[k]
    right = explained_by_sums(kind, u[:M], wr)
    for k in range(M):
        u[k] = node.sums[k] - u[k]
    return left + right - node.base


@compiled(inner=True, forceinline=True, fastmath=FASTMATH)
def split_score(plan, u, wl, node, other):
    """Eqs. (2) to (5) for one split of a node, u and w_l being the left sums."""
    W = node.weight
    s = node.sums
    acc = 0.0
    wr = max(W - wl, SLIVER * W)
    if plan.kind == NEWTON:
        r = s[0] - u[0]
        hl = max(wl + plan.l2, TINY)
        hr = max(wr + plan.l2, TINY)
        return u[0] * u[0] / hl + r * r / hr - node.base
    if other is None:
        share = wl / W
        for k in range(s.size):
            t = u[k] - share * s[k]
            acc += t * t
        return acc * W / (wl * wr)
    return other_score(plan, u, wl, wr, node)


@compiled(inner=True, fastmath=FASTMATH)
def other_score(plan, u, wl, wr, node):
    """Score of a split by the criteria that are not made of squares."""
    W = node.weight
    s = node.sums
    acc = 0.0
    kind = plan.kind
    if kind in (XLOGX, RATIO):
        for k in range(s.size):
            acc += xlogx(u[k]) + xlogx(s[k] - u[k])
        gain = acc - plan.n_outputs * (xlogx(wl) + xlogx(wr)) - node.base
        if kind == RATIO:  # eq. (7); the most it can be is -base, all that is unknown
            known = xlogx(W) - xlogx(wl) - xlogx(wr)
            return -node.base * gain / max(known, SLIVER * W)
        return gain
    if kind >= ERRORS:
        return explained_gain(kind, u, wl, wr, node)
    for k in range(s.size):
        r = s[k] - u[k]
        if min(u[k], r) <= SLIVER * s[k]:
            return -np.inf
        acc += u[k] * math.log(u[k] / wl) + r * math.log(r / wr)
    return acc - node.base


@compiled(inner=True, forceinline=True)
def add_row(plan, y, w, r, u, k0):
    """Add row r to the sums u[k0:]; returns its weight."""
    wr = w[r] if w.size else 1.0
    if plan.kind == NEWTON:
        u[k0] += y[r, 0]
    elif plan.binary_gini:
        u[k0] += wr * y[r, 0]
    elif plan.is_class:
        for o in range(y.shape[1]):
            u[k0 + np.int64(y[r, o])] += wr
    else:
        for o in range(y.shape[1]):
            u[k0 + o] += wr * y[r, o]
    return wr


@compiled(inner=True)
def class_impurity(plan, W, s, other):
    """Eq. (1) for classes."""
    acc = 0.0
    m = plan.n_outputs
    if plan.binary_gini:
        p = s[0] / W
        return 2.0 * p * (1.0 - p)
    if other is None:
        for k in range(s.size):
            acc -= (s[k] / W) * (s[k] / W)
        return (acc + m) / m
    for k in range(s.size):
        p = s[k] / W
        if plan.kind == ERRORS:
            acc = min(acc, -p)
        elif p > 0.0:
            acc -= p * math.log(p) / math.log(2.0)
    return 1.0 + acc if plan.kind == ERRORS else acc / m


@compiled(inner=True)
def real_impurity(plan, y, w, rows, start, stop, W, s, other):
    """Eq. (1) for numbers, about the node's own mean in a second pass.

    A node of equal targets has an impurity of exactly zero.
    """
    acc = 0.0
    differ = np.bool_(False)
    for o in range(y.shape[1]):
        mean = s[o] / W
        head = y[rows[start], o]
        for i in range(start, stop):
            v = y[rows[i], o]
            wr = w[rows[i]] if w.size else 1.0
            differ |= v != head
            acc += wr * (v - mean) * (v - mean)
    if other is not None:
        return other_impurity(plan, y, w, rows, start, stop, W, s, differ)
    return acc / (W * y.shape[1]) if differ else 0.0


@compiled(inner=True)
def other_impurity(plan, y, w, rows, start, stop, W, s, differ):
    """Impurity by the criteria that are not made of squares."""
    acc = 0.0
    kind = plan.kind
    for o in range(y.shape[1]):
        if kind == POISSON and s[o] <= 0.0:
            return np.inf
    if not differ:
        return 0.0
    if kind == DIRECTION:
        m = y.shape[1] // 2
        return max(m - explained_by_sums(kind, s, W) / W, 0.0) / m
    if kind in (GAUSS, JOINT):
        return max(-explained_by_sums(kind, s, W) / W, 0.0)
    for o in range(y.shape[1]):
        mean = s[o] / W
        for i in range(start, stop):
            v = y[rows[i], o]
            wr = w[rows[i]] if w.size else 1.0
            if v > 0.0:
                acc += wr * v * math.log(v / mean)
    return acc / (W * y.shape[1])
