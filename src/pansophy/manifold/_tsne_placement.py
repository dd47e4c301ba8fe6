"""Compiled loops that place new points on a fixed map, eq. (2) of `tsne.py`."""

import math

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled
from ._tsne import kernel_powers


@compiled(fastmath=FASTMATH)
def _repulsion_on_point(Y, a, z, w, q, f):
    """f = sum_j q_j (z - y_j) / (1 + |z - y_j|^2 / a) over the map; sum of q_j."""
    m, n = Y.shape
    rate, unity = Y.dtype.type(1 / a), Y.dtype.type(1)
    for j in range(n):
        w[j] = 0
    for c in range(m):
        yc = Y[c]
        coordinate = Y.dtype.type(z[c])
        for j in range(n):
            w[j] += (coordinate - yc[j]) * (coordinate - yc[j])
    for j in range(n):
        w[j] = unity / (unity + rate * w[j])
    kernel_powers(w, a, q)
    total = Y.dtype.type(0)
    for j in range(n):
        total += q[j]
        w[j] *= q[j]
    for c in range(m):
        yc = Y[c]
        coordinate = Y.dtype.type(z[c])
        s = Y.dtype.type(0)
        for j in range(n):
            s += w[j] * (coordinate - yc[j])
        f[c] = s
    return total


@compiled
def _placement_objective(p, rows, Y, a, z, w, q, f, g):
    """Eq. (2) at z but for a constant, its slope g, and the weight of the pull."""
    m = len(z)
    half = 0.5 * (a + 1)
    weight = 0.0
    Z = _repulsion_on_point(Y, a, z, w, q, f)
    total = math.log(Z)
    for c in range(m):
        g[c] = -f[c] / Z
    for e in range(len(p)):
        s = 0.0
        for c in range(m):
            s += (z[c] - Y[c, rows[e]]) ** 2
        u = p[e] / (1 + s / a)
        total += p[e] * half * math.log1p(s / a)
        weight += u
        for c in range(m):
            g[c] += u * (z[c] - Y[c, rows[e]])
    for c in range(m):
        g[c] *= (a + 1) / a
    return total, weight * (a + 1) / a


@compiled
def _start_at_neighbor(p, rows, Y, a, z):
    """Put z on the neighbour from which the pull of the others is the least work."""
    m = len(z)
    least_work = np.inf
    for t in range(len(p)):
        total = 0.0
        for e in range(len(p)):
            s = 0.0
            for c in range(m):
                s += (Y[c, rows[t]] - Y[c, rows[e]]) ** 2
            total += p[e] * math.log1p(s / a)
        if total < least_work:
            least_work = total
            for c in range(m):
                z[c] = Y[c, rows[t]]


@compiled
def place_points(P, rows, Y, a, lo, hi, steps, tol, out, value):
    """Put the points lo .. hi where eq. (2) is least, by steps that never raise it."""
    m, n = Y.shape
    w, q = np.empty(n, Y.dtype), np.empty(n, Y.dtype)
    z, g, f = np.empty(m), np.empty(m), np.empty(m)
    new, slope = np.empty(m), np.empty(m)
    for i in range(lo, hi):
        p, near = P[i], rows[i]
        _start_at_neighbor(p, near, Y, a, z)
        objective, weight = _placement_objective(p, near, Y, a, z, w, q, f, g)
        for _ in range(steps):
            norm, t = 0.0, 2.0
            for c in range(m):
                norm += g[c] * g[c]
            new_objective = np.inf
            load = weight
            while not new_objective <= objective - 1e-4 * t * norm / weight:
                t *= 0.5
                if t * math.sqrt(norm) <= tol * weight:
                    break
                for c in range(m):
                    new[c] = z[c] - t * g[c] / weight
                new_objective, load = _placement_objective(
                    p, near, Y, a, new, w, q, f, slope
                )
            if t * math.sqrt(norm) <= tol * weight:
                break
            objective, weight = new_objective, load
            for c in range(m):
                z[c], g[c] = new[c], slope[c]
        value[i] = objective
        for c in range(m):
            out[i, c] = z[c]
