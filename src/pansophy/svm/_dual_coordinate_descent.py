"""Loops of dual coordinate descent: dense and CSR rows, every loss of `svm_problem.py`.

w = A^T beta is kept up to date; w has a last entry for the intercept where s > 0. A
row whose multiplier sits at 0 (or at its bound) and would want to move only after its
gradient had changed by more than the largest violation of the pass before among the
rows that want to fall (to grow) in size leaves the passes: `active[:size]` are those
still in, `cuts` (2,) the two violations. Orders are drawn by a generator in `seed`.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}
PLAIN = {"contract", "nsz"}  # gathers by vector instructions are slower than one by one


@njit(cache=True, nogil=True)
def shuffle_active(order, size, seed):
    """Shuffle order[:size] (Fisher-Yates, xorshift64*); seed (1,) uint64 goes on.

    Only full shuffles will do: keeping neighbours in memory together makes a pass
    several times as quick, but on text it took twenty times as many passes.
    """
    x = seed[0]
    for k in range(size - 1, 0, -1):
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        high = (x * np.uint64(2685821657736338717)) >> np.uint64(32)
        j = np.int64((high * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]
    seed[0] = x


@njit(cache=True, nogil=True, fastmath=FAST)
def best_multiplier(beta, g, q, low, high, eps):
    """The new multiplier, its violation, and how far it is from wanting to move.

    g is the derivative of -D less the part of eps, q its curvature.
    """
    right = g + (eps if beta >= 0 else -eps)
    left = g + (eps if beta > 0 else -eps)
    if beta < high and right < 0:
        new, far = beta - right / q, -right
        if beta < 0 and new > 0:  # crosses the kink at 0
            new = max(0.0, beta - (g + eps) / q)
        return min(new, high), far, 0.0
    if beta > low and left > 0:
        new, far = beta - left / q, left
        if beta > 0 and new < 0:
            new = min(0.0, beta - (g - eps) / q)
        return max(new, low), far, 0.0
    spare = np.inf
    if beta < high:
        spare = right
    if beta > low:
        spare = min(spare, -left)
    return beta, 0.0, spare


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_dual_epochs(X, s, eps, table, w, active, size, cuts, seed, tol, n):
    """At most n passes over active[:size]; returns size, violation, passes.

    `table` (n, 8) holds t, l, u, c, q, beta and, for CSR, start and stop of each row:
    all that a visit needs on one line of the cache.
    """
    d = X.shape[1]
    worst, count = np.inf, 0
    while count < n:
        count += 1
        shuffle_active(active, size, seed)
        fall, grow, k = 0.0, 0.0, 0
        while k < size:
            i = active[k]
            row, it = X[i], table[i]
            f = s * w[d] if s > 0 else 0.0
            for j in range(d):
                f += row[j] * w[j]
            old = it[5]
            g = f - it[0] + it[3] * old
            new, far, spare = best_multiplier(old, g, it[4], it[1], it[2], eps)
            cut = cuts[0 if old == 0 else 1]
            if it[1] < 0 and it[2] > 0:  # growing and falling are no sides here
                cut = max(cuts[0], cuts[1])
            if spare > cut:
                size -= 1
                active[k], active[size] = active[size], i
                continue
            k += 1
            change = new - old
            if change != 0:
                it[5] = new
                if abs(new) < abs(old):
                    fall = max(fall, far)
                else:
                    grow = max(grow, far)
                for j in range(d):
                    w[j] += change * row[j]
                if s > 0:
                    w[d] += change * s
        cuts[0] = fall if fall > 0 else np.inf
        cuts[1] = grow if grow > 0 else np.inf
        worst = fall + grow
        if worst <= tol:
            break
    return size, worst, count


@njit(cache=True, nogil=True, fastmath=PLAIN)
def sparse_dual_epochs(data, columns, s, eps, table, w, active, size, cuts, seed, tol, n):
    """The same for CSR rows.

    A visit first reads a little of the row after next, so that the processor fetches
    it from memory while it is busy with this one; `touched` only keeps that alive.
    """
    touched = 0.0
    d = w.shape[0] - 1
    worst, count = np.inf, 0
    while count < n:
        count += 1
        shuffle_active(active, size, seed)
        fall, grow, k = 0.0, 0.0, 0
        while k < size:
            i = active[k]
            ahead = table[active[min(k + 2, size - 1)]]
            near = table[active[min(k + 1, size - 1)]]
            p, last = np.uint64(near[6]), np.uint64(near[7])
            for _ in range(3):
                if p < last:
                    touched += data[p] + columns[p]
                p += np.uint64(8)
            touched += ahead[0]
            it = table[i]
            start, stop = np.uint64(it[6]), np.uint64(it[7])
            f = s * w[d] if s > 0 else 0.0
            for p in range(start, stop):
                f += data[p] * w[columns[p]]
            old = it[5]
            g = f - it[0] + it[3] * old
            new, far, spare = best_multiplier(old, g, it[4], it[1], it[2], eps)
            cut = cuts[0 if old == 0 else 1]
            if it[1] < 0 and it[2] > 0:  # growing and falling are no sides here
                cut = max(cuts[0], cuts[1])
            if spare > cut:
                size -= 1
                active[k], active[size] = active[size], i
                continue
            k += 1
            change = new - old
            if change != 0:
                it[5] = new
                if abs(new) < abs(old):
                    fall = max(fall, far)
                else:
                    grow = max(grow, far)
                for p in range(start, stop):
                    w[columns[p]] += change * data[p]
                if s > 0:
                    w[d] += change * s
        cuts[0] = fall if fall > 0 else np.inf
        cuts[1] = grow if grow > 0 else np.inf
        worst = fall + grow
        if worst <= tol:
            break
    return size, worst + 0.0 * touched, count
