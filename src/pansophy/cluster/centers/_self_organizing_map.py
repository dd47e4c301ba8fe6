"""Compiled loops of the self-organising map. Letters as in `self_organizing_map.py`."""

import math

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled

GAUSSIAN, BUBBLE = 0, 1


@compiled(fastmath=FASTMATH)
def nearest_prototype(x, C):
    """The prototype nearest to x."""
    best = np.inf
    at = 0
    for u in range(C.shape[0]):
        total = 0.0
        for f in range(C.shape[1]):
            v = x[f] - C[u, f]
            total += v * v
        if total < best:
            best, at = total, u
    return at, best


@compiled(fastmath=FASTMATH)
def online_epoch(X, w, order, C, G, rate, width, kind):
    """Eq. (4) for the rows `order` in turn; rate and width go from [0] to [1].

    G (units, units) holds squared distances on the grid. Returns the sum of w times
    the squared distance to the best unit, seen before each step.
    """
    n = order.shape[0]
    d = X.shape[1]
    total = 0.0
    for t in range(n):
        i = order[t]
        part = t / n
        if w[i] <= 0:
            continue
        b, gap = nearest_prototype(X[i], C)
        total += w[i] * gap
        s = width[0] + part * (width[1] - width[0])
        a = 1 - (1 - (rate[0] + part * (rate[1] - rate[0]))) ** w[i]
        for u in range(C.shape[0]):
            g = G[b, u]
            if kind == GAUSSIAN:
                if g > 18 * s * s:  # less than e^-9
                    continue
                h = a * math.exp(-g / (2 * s * s))
            else:
                if g > s * s:
                    continue
                h = a
            for f in range(d):
                C[u, f] += h * (X[i, f] - C[u, f])
    return total


@compiled(fastmath=FASTMATH)
def two_nearest_prototypes(X, C, first, second, gap):
    """The two prototypes nearest to each row, and the distance to the nearest."""
    for i in range(X.shape[0]):
        f1 = np.inf
        f2 = np.inf
        a = 0
        b = 0
        for u in range(C.shape[0]):
            total = 0.0
            for f in range(C.shape[1]):
                v = X[i, f] - C[u, f]
                total += v * v
            if total < f1:
                f2, b = f1, a
                f1, a = total, u
            elif total < f2:
                f2, b = total, u
        first[i] = a
        second[i] = b
        gap[i] = math.sqrt(f1)
