"""Compiled loops of k-means. Letters as in `kmeans.py`; no checks, no threads."""

import math

import numpy as np
from numba import njit

from ._tiles import FAST, LANES, find_nearest


@njit(cache=True, nogil=True, fastmath=FAST)
def centered_squared_distance(x, m, c):
    """|x - m - c|^2, by differences."""
    total = x.dtype.type(0)
    for f in range(x.shape[0]):
        v = x[f] - m[f] - c[f]
        total += v * v
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_distance(x, c):
    """|x - c|^2, by differences."""
    total = x.dtype.type(0)
    for f in range(x.shape[0]):
        v = x[f] - c[f]
        total += v * v
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def prepare_centers(C, before, m, keep, c, A, c2, p, s, drop, eps):
    """Fill in c = C - m, A = -2 c, c2 = |c|^2 and, to keep bounds, p, s and drop.

    p_j is how far centre j moved, s_j half the way to the nearest other centre,
    drop_j how far any other centre moved at most; each is rounded to the safe side.
    """
    k, d = C.shape
    first, p1, p2 = -1, 0.0, 0.0  # the centre that moved most, and the next
    for j in range(k):
        norm, shift = 0.0, 0.0
        for f in range(d):
            c[j, f] = before[j, f] - m[f]  # rounded as it was in the turn before
            old = c[j, f]
            c[j, f] = C[j, f] - m[f]
            v = np.float64(c[j, f])
            norm += v * v
            shift += (v - old) * (v - old)
            A[j, f] = -2 * v
        way = math.sqrt(shift) * (1 + eps)
        c2[j], p[j], s[j] = norm, way, np.inf
        if way > p1:
            first, p1, p2 = j, way, p1
        elif way > p2:
            p2 = way
    if k == 2:
        A[2] = A[1] - A[0]  # what `sides` wants
    if keep:
        for j in range(k):
            drop[j] = (p2 if j == first else p1) * (1 + eps)
            for i in range(j):
                half = (
                    math.sqrt(squared_distance(c[i], c[j])) * 0.499995
                )  # rounding shortens it
                s[i], s[j] = min(s[i], half), min(s[j], half)


@njit(cache=True, nogil=True, fastmath=FAST)
def rows_to_check(X, z, u, low, start, stop, tight, m, C, p, s, drop, desk, count, eps):
    """Add to the list of rows those of a piece that eq. (4) cannot clear; its length.

    `tight` measures the way to the own centre anew before a row is listed.
    """
    bar, rows = desk[5], desk[6]
    up, down, e = 1 + 2 * eps, 1 - 2 * eps, (X.shape[1] + 8) * eps
    for r in range(stop - start):
        i = start + r
        a = z[i]
        u[i] = (u[i] + p[a]) * up
        low[i] = (low[i] - drop[a]) * down
        bar[r] = max(low[i], s[a])
    at = count
    for r in range(stop - start):  # no branch, since none could be foretold
        rows[at] = start + r
        at += u[start + r] >= bar[r]
    if not tight:
        return at, at - count
    found, at = at, count
    for t in range(count, found):
        i = rows[t]
        u[i] = math.sqrt(centered_squared_distance(X[i], m, C[z[i]])) * (1 + e)
        rows[at] = i
        at += u[i] >= bar[i - start]
    return at, found - count


@njit(cache=True, nogil=True, fastmath=FAST)
def assign_block(
    X, w, z, u, low, keep, tight, m, C, A, c2, p, s, drop, S, M, Q, N, desk, eps
):
    """One turn over a block of rows: new labels in z, changes added to the cells.

    u_i >= |x_i - c_{z_i}| and low_i <= the distance to every other centre, both for
    the centres of the turn before. keep is 0 to look at every row, 1 to do that and
    note bounds, 2 to use them. z_i = -1 marks a row not seen before. S, M, Q, N are
    the sums, weights, weighted squared norms and row counts of the cells. eps is that
    of X. Returns how many labels changed, how many rows were suspect, and for how
    many of those the way to the own centre alone would have cleared them.
    """
    d, n = C.shape[1], X.shape[0]
    _, _, best, second, norm, _, rows, near = desk
    # Rounding must never let a bound lie: `up` and `down` outgrow what one addition
    # loses, and `e` bounds the error of the dot products in `look`.
    up, down, e, widest = 1 + 2 * eps, 1 - 2 * eps, (d + 8) * eps, np.max(c2[: len(C)])
    moved, suspect, spared, count = 0, 0, 0, 0
    for start in range(0, n, LANES):
        stop = min(start + LANES, n)
        if keep == 2:
            old = count
            count, found = rows_to_check(
                X, z, u, low, start, stop, tight, m, C, p, s, drop, desk, count, eps
            )
            suspect += found
            spared += found - (count - old)
        else:
            for i in range(start, stop):
                rows[i - start] = i
            count = stop - start
        while count >= LANES or (stop == n and count > 0):
            size = min(count, LANES)
            find_nearest(X, m, size, keep == 2, keep > 0, A, c2, desk)
            if keep:
                for r in range(size):
                    i = rows[r]
                    slack = e * (norm[r] + widest)
                    own = math.sqrt(max(best[r] + norm[r], 0) + slack) * up
                    if keep == 2 and own < max(low[i], s[z[i]]):
                        spared += 1
                    u[i] = own
                    low[i] = math.sqrt(max(second[r] + norm[r] - slack, 0)) * down
            moved += reassign_rows(X, w, z, m, rows, near, size, S, M, Q, N)
            count -= size
            for r in range(count):
                rows[r] = rows[r + size]
    return moved, suspect, spared


@njit(cache=True, nogil=True, fastmath=FAST)
def reassign_rows(X, w, z, m, rows, near, count, S, M, Q, N):
    """Give `rows` the labels `near`: out of one cell, into another."""
    moved = 0
    for r in range(count):
        i, new, old = rows[r], near[r], z[rows[r]]
        if new == old:
            continue
        z[i] = new
        moved += 1
        wi = w[i]
        if wi > 0:
            for side in range(2 if old >= 0 else 1):
                j, wi = (old, -wi) if side else (new, wi)
                norm = m.dtype.type(0)
                for f in range(X.shape[1]):
                    v = X[i, f] - m[f]
                    S[j, f] += wi * v
                    norm += v * v
                M[j] += wi
                Q[j] += wi * norm
                N[j] += -1 if side else 1
    return moved


@njit(cache=True, nogil=True, fastmath=FAST)
def nearest_center_block(X, m, A, c2, z, desk):
    """The nearest centre of each row, computed as in `assign_block`."""
    rows, near = desk[6], desk[7]
    for start in range(0, X.shape[0], LANES):
        count = min(LANES, X.shape[0] - start)
        for r in range(count):
            rows[r] = start + r
        find_nearest(X, m, count, False, False, A, c2, desk)
        for r in range(count):
            z[start + r] = near[r]


@njit(cache=True, nogil=True, fastmath=FAST)
def cluster_means(S, M, Q, N, C, m, new):
    """Eq. (3): fill in the means of cells that have rows; J before, and the shift."""
    k, d = C.shape
    J, shift = 0.0, 0.0
    for j in range(k):
        J += Q[j]
        for f in range(d):
            c = C[j, f] - m[f]
            J += c * (M[j] * c - 2 * S[j, f])
            new[j, f] = m[f] + S[j, f] / M[j] if N[j] > 0 else C[j, f]
            shift += (new[j, f] - C[j, f]) ** 2
    return J, shift


@njit(cache=True, nogil=True, fastmath=FAST)
def block_costs(X, w, z, m, C):
    """J of eq. (1) over a block, by differences, for each cell."""
    out = np.zeros(C.shape[0])
    for i in range(X.shape[0]):
        out[z[i]] += w[i] * centered_squared_distance(X[i], m, C[z[i]])
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def farthest_row(X, w, z, m, C, P):
    """The row of positive weight farthest from its centre and from all rows of P."""
    far, top = -1, -1.0
    for i in range(X.shape[0]):
        if w[i] > 0:
            v = centered_squared_distance(X[i], m, C[z[i]])
            for t in range(P.shape[0]):
                v = min(v, centered_squared_distance(X[i], m, P[t]))
            if v > top:
                far, top = i, v
    return far, top


@njit(cache=True, nogil=True, fastmath=FAST)
def shifted_moments(X, w, x0, s1, s2):
    """Total weight; adds up the weighted sums of x - x0 and its square."""
    d, W = X.shape[1], 0.0
    for i in range(X.shape[0]):
        wi = w[i]
        W += wi
        for f in range(d):
            v = X[i, f] - x0[f]
            s1[f] += wi * v
            s2[f] += wi * v * v
    return W


@njit(cache=True, nogil=True, fastmath=FAST)
def candidate_costs(X, w, D2, z, V, gap, cost):
    """Add to cost_t what J would be over this block with candidate V_t as a centre.

    gap (t, c) holds |V_t - c_j|^2: a candidate more than twice as far from a row's
    centre as the row itself is cannot be nearer (triangle inequality).
    """
    n = X.shape[0]
    for start in range(0, n, LANES):
        stop = min(start + LANES, n)
        for t in range(V.shape[0]):
            total = 0.0
            for i in range(start, stop):
                v = D2[i]
                if gap[t, z[i]] < 4 * v:
                    v = min(v, squared_distance(X[i], V[t]))
                total += w[i] * v
            cost[t] += total


@njit(cache=True, nogil=True, fastmath=FAST)
def update_nearest_seed(X, D2, z, c, j, gap):
    """Lower D2 to the distance from the new centre c, number j, where it is nearer."""
    for i in range(X.shape[0]):
        if gap[z[i]] < 4 * D2[i]:
            v = squared_distance(X[i], c)
            if v < D2[i]:
                D2[i] = v
                z[i] = j


@njit(cache=True, nogil=True, fastmath=FAST)
def sample_along_order(order, mass, targets, out):
    """Where the running sum of `mass` along `order` first passes each target.

    `targets` are rising fractions of the total, which is returned. Rows without mass
    are never drawn.
    """
    total = 0.0
    for i in range(order.shape[0]):
        total += mass[order[i]]
    run, at, last = 0.0, 0, -1
    for i in range(order.shape[0]):
        if mass[order[i]] > 0:
            run += mass[order[i]]
            last = order[i]
            while at < targets.shape[0] and run > targets[at] * total:
                out[at] = last
                at += 1
    for t in range(at, targets.shape[0]):  # only rounding leaves a target unreached
        out[t] = last
    return total
