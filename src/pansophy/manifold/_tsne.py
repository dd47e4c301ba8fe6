"""Compiled loops of t-SNE: bandwidths, attraction, repulsion, one step of descent.

Points lie in columns, Y (m, n), so that neighbouring numbers in memory are the same
coordinate of neighbouring points and the sums over points run in vector registers.
The kernel is Student's with a (whole) degrees of freedom,
q = (1 + |y - z|^2 / a)^(-(a+1)/2); a = 1 in two dimensions has loops of its own.
"""

import math

import numpy as np

from ..core.loops._shared_queue import (
    finish_item,
    publish_items,
    take_item,
    wait_for_item,
    wait_until_finished,
)
from ..core.loops.compiled import FASTMATH, compiled


@compiled
def row_bandwidths(D, target, lo, hi, P):
    """P[i] = exp(-b_i D[i]) / sum, b_i such that its entropy is `target`.

    Newton's steps on log b inside a bracket; D holds squared distances, and an
    infinite one means no neighbour.
    """
    k = D.shape[1]
    for i in range(lo, hi):
        least_distance = np.inf
        mean = 0.0
        count = 0
        for j in range(k):
            if D[i, j] < np.inf:
                least_distance = min(least_distance, D[i, j])
                mean += D[i, j]
                count += 1
        spread = mean / max(count, 1) - least_distance
        low = 0.0
        high = np.inf
        b = 1.0 / spread if spread > 0 else 1.0
        total = 1.0
        for _ in range(100):
            total, first, second = 0.0, 0.0, 0.0
            for j in range(k):
                gap = D[i, j] - least_distance
                p = math.exp(-b * gap) if gap < np.inf else 0.0
                P[i, j] = p
                if p > 0.0:
                    total += p
                    first += p * gap
                    second += p * gap * gap
            first /= total
            variance = second / total - first * first
            miss = math.log(total) + b * first - target
            if abs(miss) < 1e-6 or b > 1e300 or b < 1e-300:
                break
            if miss > 0:
                low = b
            else:
                high = b
            slope = b * b * variance  # -dH / d log b
            new = b * math.exp(min(max(miss / slope, -3.0), 3.0)) if slope > 0 else b
            if not low < new < high:
                new = 2 * b if high == np.inf else 0.5 * (low + high)
            if new == b:
                break
            b = new
        for j in range(k):
            P[i, j] /= total


@compiled(fastmath=FASTMATH)
def attraction(indptr, indices, p, Y, a, lo, hi, A):
    """A[:, i] = sum_j p_ij (y_i - y_j) / (1 + |y_i - y_j|^2 / a) over neighbours j."""
    m = Y.shape[0]
    rate = Y.dtype.type(1 / a)
    unity = Y.dtype.type(1)
    if m == 2:
        x, y = Y[0], Y[1]
        for i in range(lo, hi):
            xi, yi = x[i], y[i]
            sx, sy = x.dtype.type(0), x.dtype.type(0)
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                u, v = xi - x[j], yi - y[j]
                w = p[e] / (unity + rate * (u * u + v * v))
                sx += w * u
                sy += w * v
            A[0, i], A[1, i] = sx, sy
        return
    for i in range(lo, hi):
        A[:, i] = 0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            s = Y.dtype.type(0)
            for c in range(m):
                s += (Y[c, i] - Y[c, j]) ** 2
            w = p[e] / (unity + rate * s)
            for c in range(m):
                A[c, i] += w * (Y[c, i] - Y[c, j])


@compiled(fastmath=FASTMATH)
def attraction_dense(P, Y, a, lo, hi, A):
    """`attraction` when every pair has a p_ij, P (n, n)."""
    m, n = Y.shape
    rate, unity = Y.dtype.type(1 / a), Y.dtype.type(1)
    w = np.empty(n, Y.dtype)
    for i in range(lo, hi):
        w[:] = 0
        for c in range(m):
            yc, coordinate = Y[c], Y[c, i]
            for j in range(n):
                w[j] += (coordinate - yc[j]) * (coordinate - yc[j])
        row = P[i]
        for j in range(n):
            w[j] = row[j] / (unity + rate * w[j])
        for c in range(m):
            yc = Y[c]
            coordinate = Y[c, i]
            s = Y.dtype.type(0)
            for j in range(n):
                s += w[j] * (coordinate - yc[j])
            A[c, i] = s


@compiled(fastmath=FASTMATH)
def repulsion_direct(Y, a, lo, hi, F):
    """F[:, i] = sum_j q_ij (y_i - y_j) / (1 + |y_i - y_j|^2 / a); sum of these q."""
    m, n = Y.shape
    rate, unity = Y.dtype.type(1 / a), Y.dtype.type(1)
    Z = 0.0
    if m == 2 and a == 1:
        x, y = Y[0], Y[1]
        for i in range(lo, hi):
            xi, yi = x[i], y[i]
            sx, sy = x.dtype.type(0), x.dtype.type(0)
            z = x.dtype.type(0)
            for j in range(n):
                u, v = xi - x[j], yi - y[j]
                q = unity / (unity + u * u + v * v)
                z += q
                q *= q
                sx += q * u
                sy += q * v
            F[0, i], F[1, i] = sx, sy
            Z += z - unity
        return Z
    w, q = np.empty(n, Y.dtype), np.empty(n, Y.dtype)
    for i in range(lo, hi):
        w[:] = 0
        for c in range(m):
            yc, coordinate = Y[c], Y[c, i]
            for j in range(n):
                w[j] += (coordinate - yc[j]) * (coordinate - yc[j])
        for j in range(n):
            w[j] = unity / (unity + rate * w[j])
        kernel_powers(w, a, q)
        z = Y.dtype.type(0)
        for j in range(n):
            z += q[j]
            w[j] *= q[j]
        for c in range(m):
            yc = Y[c]
            coordinate = Y[c, i]
            s = Y.dtype.type(0)
            for j in range(n):
                s += w[j] * (coordinate - yc[j])
            F[c, i] = s
        Z += z - unity
    return Z


@compiled(fastmath=FASTMATH)
def kernel_powers(w, a, q):
    """q = w^((a + 1) / 2) for a whole a, by products and one root."""
    for j in range(len(w)):
        q[j] = np.sqrt(w[j]) if a % 2 == 0 else w[j]
    for _ in range(a // 2 if a % 2 == 0 else (a - 1) // 2):
        for j in range(len(w)):
            q[j] *= w[j]


@compiled
def descent_step(Y, U, G, A, F, rise, fall, rate, momentum):
    """One step of descent with gains; the squared norm of the gradient, eq. (6)."""
    m, n = Y.shape
    norm = 0.0
    for c in range(m):
        for i in range(n):
            g = rise * A[c, i] - fall * F[c, i]
            norm += g * g
            gain = G[c, i] + 0.2 if U[c, i] * g < 0 else G[c, i] * 0.8
            gain = max(gain, 0.01)
            G[c, i] = gain
            U[c, i] = momentum * U[c, i] - rate * gain * g
            Y[c, i] += U[c, i]
    return norm


@compiled
def _forces_block(affinities, Y, a, k, width, A, F, parts):
    """Attraction and repulsion of block k of the points."""
    indptr, indices, p = affinities
    lo = k * width
    hi = min((k + 1) * width, Y.shape[1])
    attraction(indptr, indices, p, Y, a, lo, hi, A)
    parts[k] = repulsion_direct(Y, a, lo, hi, F)


@compiled
def direct_descent(board, leads, affinities, points, a, width, forces, rates, n):
    """n steps of descent with direct sums, blocks shared by a coordinator and workers.

    `affinities` is (indptr, indices, p), `points` is (Y, U, G), `forces` is (A, F,
    parts) and `rates` the constant of eq. (3), the exaggeration, the learning rate and
    the momentum. Coordinator and workers are one function with one call of
    `_forces_block`: a copy of it in each could be compiled to round differently, and
    the embedding would depend on who did what.
    """
    Y, U, G = points
    A, F, parts = forces
    c, e, rate, momentum = rates
    norm, step = 0.0, 0
    if leads:
        publish_items(board, len(parts))
    while True:
        k = take_item(board) if leads else wait_for_item(board)
        if k >= 0:
            _forces_block(affinities, Y, a, k, width, A, F, parts)
            finish_item(board)
            continue
        if not leads:
            return 0.0
        wait_until_finished(board)
        Z = 0.0
        for k in range(len(parts)):
            Z += parts[k]
        norm = descent_step(Y, U, G, A, F, c * e, c / Z, rate, momentum)
        step += 1
        if step >= n:
            return norm
        publish_items(board, len(parts))


@compiled
def cross_entropy_sparse(indptr, indices, p, Y, a, lo, hi):
    """-sum over neighbours of p_ij log q_ij, with q_ij not yet over Z."""
    m = Y.shape[0]
    total = 0.0
    for i in range(lo, hi):
        for e in range(indptr[i], indptr[i + 1]):
            s = 0.0
            for c in range(m):
                s += (Y[c, i] - Y[c, indices[e]]) ** 2
            total += p[e] * math.log1p(s / a)
    return 0.5 * (a + 1) * total


@compiled
def cross_entropy_dense(P, Y, a, lo, hi):
    """`cross_entropy_sparse` when every pair has a p_ij."""
    m = Y.shape[0]
    total = 0.0
    for i in range(lo, hi):
        for j in range(P.shape[1]):
            if P[i, j] > 0:
                s = 0.0
                for c in range(m):
                    s += (Y[c, i] - Y[c, j]) ** 2
                total += P[i, j] * math.log1p(s / a)
    return 0.5 * (a + 1) * total
