"""Compiled criteria: how good a split is, from sums that add up over rows.

A node holds sums s (M numbers: class weights, or weighted targets) and a weight W.
A split sends u and w_l to the left. `score` is the fall of the summed impurity,
up to the constant factor `scale` that the caller applies; the equations are those of
`criteria.py`.
"""

import math

import numpy as np
from numba import njit

from ._layout import BASE, HIGH, LOW, POISSON, SQUARE, SUMS, WEIGHT, XLOGX

FAST = {"contract", "reassoc", "nsz", "arcp"}
SLIVER = 1e-12  # least share of the weight that a denominator may hold, and least
# share of the target that a side may have for a Poisson mean above zero


@njit(cache=True, nogil=True, error_model="numpy")
def xlogx(v):
    return v * math.log(v) if v > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def ordered(sign, R, a, b):
    """Whether leaf values a, b keep the bounds of node R and the order that sign asks.

    Up to rounding, which the values' clipping to the bounds makes good in the end.
    """
    slack = SLIVER * max(abs(a), abs(b))
    inside = min(a, b) >= R[LOW] - slack and max(a, b) <= R[HIGH] + slack
    return inside and (a - b) * sign <= slack


@njit(cache=True, nogil=True, error_model="numpy")
def base(kind, m, R):
    """The part of the score that the node R itself fixes."""
    acc, W = 0.0, R[WEIGHT]
    for k in range(SUMS, R.size):
        if kind == XLOGX:
            acc += xlogx(R[k])
        elif kind == POISSON and R[k] > 0.0:
            acc += R[k] * math.log(R[k] / W)
    if kind == XLOGX:
        acc -= m * xlogx(W)
    return acc


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def score(kind, m, u, wl, R):
    """Eqs. (2) to (4) for one split of node R, u and w_l being the left sums."""
    W, M, acc = R[WEIGHT], R.size - SUMS, 0.0
    wr = max(W - wl, SLIVER * W)
    if kind == SQUARE:
        share = wl / W
        for k in range(M):
            t = u[k] - share * R[SUMS + k]
            acc += t * t
        return acc * W / (wl * wr)
    if kind == XLOGX:
        for k in range(M):
            acc += xlogx(u[k]) + xlogx(R[SUMS + k] - u[k])
        return acc - m * (xlogx(wl) + xlogx(wr)) - R[BASE]
    for k in range(M):
        r = R[SUMS + k] - u[k]
        if min(u[k], r) <= SLIVER * R[SUMS + k]:
            return -np.inf
        acc += u[k] * math.log(u[k] / wl) + r * math.log(r / wr)
    return acc - R[BASE]


@njit(cache=True, nogil=True, error_model="numpy")
def add(is_class, one, y, w, r, u, k0):
    """Add row r to the sums u[k0:]; returns its weight."""
    wr = w[r] if w.size else 1.0
    if one:
        u[k0] += wr * y[r, 0]
    elif is_class:
        for o in range(y.shape[1]):
            u[k0 + int(y[r, o])] += wr
    else:
        for o in range(y.shape[1]):
            u[k0 + o] += wr * y[r, o]
    return wr


@njit(cache=True, nogil=True, error_model="numpy")
def class_impurity(kind, one, m, R):
    """Eq. (1) for classes."""
    acc, W = 0.0, R[WEIGHT]
    if one:
        p = R[SUMS] / W
        return 2.0 * p * (1.0 - p)
    for k in range(SUMS, R.size):
        p = R[k] / W
        if kind == SQUARE:
            acc -= p * p
        elif p > 0.0:
            acc -= p * math.log(p) / math.log(2.0)
    return (acc + m if kind == SQUARE else acc) / m


@njit(cache=True, nogil=True, error_model="numpy")
def real_impurity(kind, y, w, rows, start, stop, R):
    """Eq. (1) for numbers, about the node's own mean in a second pass.

    A node of equal targets has an impurity of exactly zero.
    """
    acc, differ, W = 0.0, False, R[WEIGHT]
    for o in range(y.shape[1]):
        mean, head = R[SUMS + o] / W, y[rows[start], o]
        if kind == POISSON and R[SUMS + o] <= 0.0:
            return np.inf
        for i in range(start, stop):
            v, wr = y[rows[i], o], (w[rows[i]] if w.size else 1.0)
            differ |= v != head
            if kind == SQUARE:
                acc += wr * (v - mean) * (v - mean)
            elif v > 0.0:
                acc += wr * v * math.log(v / mean)
    return acc / (W * y.shape[1]) if differ else 0.0
