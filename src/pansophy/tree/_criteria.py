"""Compiled criteria: how good a split is, from sums that add up over rows.

A node holds sums s (M numbers: class weights, or weighted targets) and a weight W.
A split sends u and w_l to the left. `score` is the fall of the summed impurity,
up to the constant factor `scale` that the caller applies; the equations are those of
`criteria.py`. `rare` is None for squares, Gini and Newton's steps, whose first call
then need not wait for the code of the other criteria to be compiled.
"""

import math

import numpy as np
from numba import njit

from ._structures import (
    BASE,
    DIRECTION,
    ERRORS,
    GAUSS,
    HIGH,
    INNER,
    JOINT,
    LOW,
    NEWTON,
    POISSON,
    RATIO,
    SUMS,
    WEIGHT,
    XLOGX,
)

FAST = {"contract", "reassoc", "nsz", "arcp"}
SAME = 1e-10  # gains closer than this share of the most that can be gained are equal
SLIVER = 1e-12  # least share of the weight that a denominator may hold, and least
# share of the target that a side may have for a Poisson mean above zero

TINY = 1e-300  # least curvature a leaf is divided by
FLOOR = 1e-8  # least variance, in units of the variance of all targets


@njit(**INNER)
def xlogx(v):
    """v log v; that of 1, which most small nodes are made of, needs no logarithm."""
    return v * math.log(v) if v > 0.0 and v != 1.0 else 0.0


@njit(**INNER)
def ordered(sign, R, a, b):
    """Whether leaf values a, b keep the bounds of node R and the order that sign asks.

    Up to rounding, which the values' clipping to the bounds makes good in the end.
    """
    slack = SLIVER * max(abs(a), abs(b))
    inside = min(a, b) >= R[LOW] - slack and max(a, b) <= R[HIGH] + slack
    return inside and (a - b) * sign <= slack


@njit(**INNER)
def base(P, R, rare):
    """The part of the score that the node R itself fixes."""
    acc, W, kind = 0.0, R[WEIGHT], P.kind
    if rare is None:
        return R[SUMS] * R[SUMS] / max(W + P.l2, TINY) if kind == NEWTON else 0.0
    if kind >= ERRORS and kind != RATIO:
        return held(kind, R[SUMS:], W)
    for k in range(SUMS, R.size):
        if kind in (XLOGX, RATIO):
            acc += xlogx(R[k])
        elif kind == POISSON and R[k] > 0.0:
            acc += R[k] * math.log(R[k] / W)
    if kind in (XLOGX, RATIO):
        acc -= P.m * xlogx(W)
    return acc


@njit(**INNER)
def held(kind, s, W):
    """What sums s of weight W explain: eqs. (6), (8), (9) and (10), less constants."""
    M, acc = s.size, 0.0
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
    return -0.5 * W * log_det(s, W)


@njit(**INNER)
def log_det(s, W):
    """log det S / FLOOR, S the covariance of m outputs with sums s.

    s has the m sums of y and then those of y_a y_b, a >= b, row by row. One Cholesky
    factorisation, in which no output has less than FLOOR left to be explained by
    those before it.
    """
    m, acc = 0, 0.0
    while m + m * (m + 1) // 2 < s.size:
        m += 1
    L, at = np.empty((m, m)), m
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


@njit(**INNER)
def score_held(kind, u, wl, wr, R):
    """The gain where the sides are judged by themselves; u is left as it was."""
    M = R.size - SUMS
    left = held(kind, u[:M], wl)
    for k in range(M):
        u[k] = R[SUMS + k] - u[k]
    right = held(kind, u[:M], wr)
    for k in range(M):
        u[k] = R[SUMS + k] - u[k]
    return left + right - R[BASE]


@njit(**INNER, fastmath=FAST)
def score(P, u, wl, R, rare):
    """Eqs. (2) to (5) for one split of node R, u and w_l being the left sums."""
    W, M, acc, kind = R[WEIGHT], R.size - SUMS, 0.0, P.kind
    wr = max(W - wl, SLIVER * W)
    if kind == NEWTON:
        r, hl, hr = R[SUMS] - u[0], max(wl + P.l2, TINY), max(wr + P.l2, TINY)
        return u[0] * u[0] / hl + r * r / hr - R[BASE]
    if rare is None:
        share = wl / W
        for k in range(M):
            t = u[k] - share * R[SUMS + k]
            acc += t * t
        return acc * W / (wl * wr)
    return rare_score(P, u, wl, wr, R)


@njit(**INNER, fastmath=FAST)
def rare_score(P, u, wl, wr, R):
    """The same for the criteria that are not made of squares."""
    W, M, acc, kind = R[WEIGHT], R.size - SUMS, 0.0, P.kind
    if kind in (XLOGX, RATIO):
        for k in range(M):
            acc += xlogx(u[k]) + xlogx(R[SUMS + k] - u[k])
        gain = acc - P.m * (xlogx(wl) + xlogx(wr)) - R[BASE]
        if kind == RATIO:  # eq. (7); the most it can be is -BASE, all that is unknown
            return -R[BASE] * gain / max(xlogx(W) - xlogx(wl) - xlogx(wr), SLIVER * W)
        return gain
    if kind >= ERRORS:
        return score_held(kind, u, wl, wr, R)
    for k in range(M):
        r = R[SUMS + k] - u[k]
        if min(u[k], r) <= SLIVER * R[SUMS + k]:
            return -np.inf
        acc += u[k] * math.log(u[k] / wl) + r * math.log(r / wr)
    return acc - R[BASE]


@njit(**INNER, forceinline=True)
def add(P, y, w, r, u, k0):
    """Add row r to the sums u[k0:]; returns its weight."""
    wr = w[r] if w.size else 1.0
    if P.kind == NEWTON:
        u[k0] += y[r, 0]
    elif P.one:
        u[k0] += wr * y[r, 0]
    elif P.is_class:
        for o in range(y.shape[1]):
            u[k0 + int(y[r, o])] += wr
    else:
        for o in range(y.shape[1]):
            u[k0 + o] += wr * y[r, o]
    return wr


@njit(**INNER)
def class_impurity(kind, one, m, R, rare):
    """Eq. (1) for classes."""
    acc, W = 0.0, R[WEIGHT]
    if one:
        p = R[SUMS] / W
        return 2.0 * p * (1.0 - p)
    if rare is None:
        for k in range(SUMS, R.size):
            acc -= (R[k] / W) * (R[k] / W)
        return (acc + m) / m
    for k in range(SUMS, R.size):
        p = R[k] / W
        if kind == ERRORS:
            acc = min(acc, -p)
        elif p > 0.0:
            acc -= p * math.log(p) / math.log(2.0)
    return 1.0 + acc if kind == ERRORS else acc / m


@njit(**INNER)
def real_impurity(kind, y, w, rows, start, stop, R, rare):
    """Eq. (1) for numbers, about the node's own mean in a second pass.

    A node of equal targets has an impurity of exactly zero.
    """
    acc, differ, W = 0.0, np.bool_(False), R[WEIGHT]
    for o in range(y.shape[1]):
        mean, head = R[SUMS + o] / W, y[rows[start], o]
        for i in range(start, stop):
            v, wr = y[rows[i], o], (w[rows[i]] if w.size else 1.0)
            differ |= v != head
            acc += wr * (v - mean) * (v - mean)
    if rare is not None:
        return rare_impurity(kind, y, w, rows, start, stop, R, differ)
    return acc / (W * y.shape[1]) if differ else 0.0


@njit(**INNER)
def rare_impurity(kind, y, w, rows, start, stop, R, differ):
    """The same for the criteria that are not made of squares."""
    acc, W = 0.0, R[WEIGHT]
    for o in range(y.shape[1]):
        if kind == POISSON and R[SUMS + o] <= 0.0:
            return np.inf
    if not differ:
        return 0.0
    if kind == DIRECTION:
        m = y.shape[1] // 2
        return max(m - held(kind, R[SUMS:], W) / W, 0.0) / m
    if kind in (GAUSS, JOINT):
        return max(-held(kind, R[SUMS:], W) / W, 0.0)
    for o in range(y.shape[1]):
        mean = R[SUMS + o] / W
        for i in range(start, stop):
            v, wr = y[rows[i], o], (w[rows[i]] if w.size else 1.0)
            if v > 0.0:
                acc += wr * v * math.log(v / mean)
    return acc / (W * y.shape[1])
