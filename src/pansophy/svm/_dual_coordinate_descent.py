"""Compiled epochs of dual coordinate descent, for dense and CSR rows.

w = A^T beta is kept up to date; w has a last entry for the intercept where s > 0. A
row leaves the epochs if its multiplier is at 0 (or at a bound) and its gradient is
further from wanting a change than the largest violation of the epoch before among the
multipliers that fell (that grew) in size: `active[:size]` are the rows still in, and
`cuts` (2,) holds the two violations. Random orders are drawn by the generator `seed`.
"""

import numpy as np

from ..core.loops.compiled import FASTMATH, FASTMATH_FUSED, compiled

# columns of the table of rows, all that a visit needs on one line of the cache:
# t, l, u, c, q and beta of `svm_problem.py`, and the entries of a CSR row
TARGET, LOW, HIGH, CURVE, Q, BETA, START, STOP = range(8)
N_COLUMNS = 8


@compiled
def shuffle_active(order, size, seed):
    """Shuffle order[:size] in place (Fisher-Yates with xorshift64*, state in `seed`).

    Full shuffles are needed: keeping neighbouring rows together makes an epoch faster,
    but takes many times as many epochs on text.
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


@compiled(fastmath=FASTMATH)
def _best_multiplier(beta, g, q, low, high, eps):
    """The new multiplier, its violation, and how far it is from wanting to move.

    g is the derivative of -D less the part of eps, q its curvature.
    """
    right = g + (eps if beta >= 0 else -eps)
    left = g + (eps if beta > 0 else -eps)
    if beta < high and right < 0:
        new = beta - right / q
        far = -right
        if beta < 0 and new > 0:  # crosses the kink at 0
            new = max(0.0, beta - (g + eps) / q)
        return min(new, high), far, 0.0
    if beta > low and left > 0:
        new = beta - left / q
        far = left
        if beta > 0 and new < 0:
            new = min(0.0, beta - (g - eps) / q)
        return max(new, low), far, 0.0
    spare = np.inf
    if beta < high:
        spare = right
    if beta > low:
        spare = min(spare, -left)
    return beta, 0.0, spare


@compiled(fastmath=FASTMATH)
def dense_dual_epochs(X, s, eps, table, w, active, size, cuts, seed, tol, n):
    """At most n epochs over active[:size]; returns size, violation and epochs.

    `table` (n, N_COLUMNS) has a line for each row, whose beta is updated in place.
    """
    d = X.shape[1]
    worst = np.inf
    count = 0
    while count < n:
        count += 1
        shuffle_active(active, size, seed)
        fall, grow, k = 0.0, 0.0, 0
        while k < size:
            i = active[k]
            row, entry = X[i], table[i]
            f = s * w[d] if s > 0 else 0.0
            for j in range(d):
                f += row[j] * w[j]
            old = entry[BETA]
            g = f - entry[TARGET] + entry[CURVE] * old
            new, far, spare = _best_multiplier(
                old, g, entry[Q], entry[LOW], entry[HIGH], eps
            )
            cut = cuts[0 if old == 0 else 1]
            if entry[LOW] < 0 and entry[HIGH] > 0:  # one threshold for both
                cut = max(cuts[0], cuts[1])
            if spare > cut:
                size -= 1
                active[k], active[size] = active[size], i
                continue
            k += 1
            change = new - old
            if change != 0:
                entry[BETA] = new
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


@compiled(fastmath=FASTMATH_FUSED)
def sparse_dual_epochs(
    data, columns, s, eps, table, w, active, size, cuts, seed, tol, n
):
    """`dense_dual_epochs` for CSR rows.

    A visit first reads a little of the next rows, so that the processor fetches them
    from memory meanwhile; `touched` only keeps the compiler from dropping the reads.
    """
    touched = 0.0
    d = w.shape[0] - 1
    worst = np.inf
    count = 0
    while count < n:
        count += 1
        shuffle_active(active, size, seed)
        fall, grow, k = 0.0, 0.0, 0
        while k < size:
            i = active[k]
            ahead = table[active[min(k + 2, size - 1)]]
            near = table[active[min(k + 1, size - 1)]]
            p, last = np.uint64(near[START]), np.uint64(near[STOP])
            for _ in range(3):
                if p < last:
                    touched += data[p] + columns[p]
                p += np.uint64(8)
            touched += ahead[TARGET]
            entry = table[i]
            start, stop = np.uint64(entry[START]), np.uint64(entry[STOP])
            f = s * w[d] if s > 0 else 0.0
            for p in range(start, stop):
                f += data[p] * w[columns[p]]
            old = entry[BETA]
            g = f - entry[TARGET] + entry[CURVE] * old
            new, far, spare = _best_multiplier(
                old, g, entry[Q], entry[LOW], entry[HIGH], eps
            )
            cut = cuts[0 if old == 0 else 1]
            if entry[LOW] < 0 and entry[HIGH] > 0:  # one threshold for both
                cut = max(cuts[0], cuts[1])
            if spare > cut:
                size -= 1
                active[k], active[size] = active[size], i
                continue
            k += 1
            change = new - old
            if change != 0:
                entry[BETA] = new
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
