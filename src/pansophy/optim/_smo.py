"""Loops of sequential minimal optimisation on a working set; see `smo.py`."""

import numpy as np

from ..core.compiled import FASTMATH, FASTMATH_NO_NAN, compiled

SMALLEST_CURVATURE = 1e-12  # of a pair whose rows of K are equal, or K not definite


BLOCK = 64  # variables whose maximum is found by vector instructions


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def best_partner(K, diagonal, score, blocked_low, first, begin, end):
    """The partner of `first` among begin..end that promises most, eq. (5).

    Returns it, its gain, and the largest difference of scores.
    """
    row = K[first]
    top = score[first]
    own = row[first]
    partner = -1
    gain = 0.0
    lowest = np.inf
    for block in range(begin, end, BLOCK):
        last = min(block + BLOCK, end)
        best = 0.0
        for t in range(block, last):
            value = score[t] + blocked_low[t]
            lowest = min(lowest, value)
            b = max(top - value, 0.0)
            q = max(own + diagonal[t] - 2 * row[t], SMALLEST_CURVATURE)
            best = max(best, b * b / q)
        if best > gain:
            gain = best
            partner = block
    if partner < 0:
        return partner, gain, top - lowest
    last = min(partner + BLOCK, end)
    found = partner
    best = -1.0
    for t in range(partner, last):
        b = max(top - (score[t] + blocked_low[t]), 0.0)
        q = max(own + diagonal[t] - 2 * row[t], SMALLEST_CURVATURE)
        if b * b / q > best:
            best = b * b / q
            found = t
    return found, gain, top - lowest


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def highest_score(score, blocked_high, begin, end):
    """The variable of the largest score among those of begin..end that may grow."""
    top = -np.inf
    at = begin
    for block in range(begin, end, BLOCK):
        last = min(block + BLOCK, end)
        best = -np.inf
        for t in range(block, last):
            best = max(best, score[t] + blocked_high[t])
        if best > top:
            top = best
            at = block
    for t in range(at, min(at + BLOCK, end)):
        if score[t] + blocked_high[t] >= top:
            return t
    return -1


@compiled(fastmath=FASTMATH_NO_NAN)
def optimize_pairs(K, low, high, split, beta, score, tol, n_steps):
    """Pair steps on a working set, in place; returns their number.

    K is the kernel matrix of the set, `score` the vector e of eq. (3) at beta; the
    variables from `split` on are the second group. Stops when the largest violation,
    eq. (4), is at most tol.
    """
    k = beta.shape[0]
    # what is added to a score so that a variable at a bound is never chosen
    blocked_high = np.where(beta < high, 0.0, -np.inf)
    blocked_low = np.where(beta > low, 0.0, np.inf)
    diagonal = np.empty(k)
    for t in range(k):
        diagonal[t] = K[t, t]
    for step in range(n_steps):
        i = -1
        j = -1
        far = 0.0
        gain = 0.0
        for begin, end in ((0, split), (split, k)):
            if begin == end:
                continue
            first = highest_score(score, blocked_high, begin, end)
            if first < 0 or blocked_high[first] < 0:
                continue
            found = best_partner(K, diagonal, score, blocked_low, first, begin, end)
            far = max(far, found[2])
            if found[0] >= 0 and found[1] > gain:
                i = first
                j = found[0]
                gain = found[1]
        if j < 0 or far <= tol:
            return step
        curvature = max(K[i, i] + K[j, j] - 2 * K[i, j], SMALLEST_CURVATURE)
        room_i = high[i] - beta[i]
        room_j = beta[j] - low[j]
        move = min((score[i] - score[j]) / curvature, room_i, room_j)
        # land on a bound exactly where the move ends there
        beta[i] = high[i] if move == room_i else beta[i] + move
        beta[j] = low[j] if move == room_j else beta[j] - move
        blocked_high[i] = 0.0 if beta[i] < high[i] else -np.inf
        blocked_low[i] = 0.0 if beta[i] > low[i] else np.inf
        blocked_high[j] = 0.0 if beta[j] < high[j] else -np.inf
        blocked_low[j] = 0.0 if beta[j] > low[j] else np.inf
        Ki = K[i]
        Kj = K[j]
        for t in range(k):
            score[t] -= move * (Ki[t] - Kj[t])
    return n_steps


@compiled
def gather_square(buffer, slots, columns):
    """buffer[slots][:, columns] in float64."""
    k = slots.shape[0]
    out = np.empty((k, k))
    for a in range(k):
        row = buffer[slots[a]]
        for b in range(k):
            out[a, b] = row[columns[b]]
    return out


@compiled(fastmath=FASTMATH)
def add_kernel_rows(buffer, slots, weights, start, stop, out):
    """out[start:stop] += the weighted sum of rows of the buffer, by blocks of columns.

    Four rows at a time, so that a block of `out` is read and written once for four.
    """
    k = slots.shape[0]
    block = 1024
    for begin in range(start, stop, block):
        end = min(begin + block, stop)
        a = 0
        while a + 4 <= k:
            w0, w1, w2, w3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            r0, r1 = buffer[slots[a]], buffer[slots[a + 1]]
            r2, r3 = buffer[slots[a + 2]], buffer[slots[a + 3]]
            for c in range(begin, end):
                out[c] += w0 * r0[c] + w1 * r1[c] + w2 * r2[c] + w3 * r3[c]
            a += 4
        while a < k:
            w0 = weights[a]
            r0 = buffer[slots[a]]
            for c in range(begin, end):
                out[c] += w0 * r0[c]
            a += 1


@compiled
def compact_columns(flat, n_rows, width, kept):
    """Keep some columns of the rows of a flat buffer, in place; rows move closer.

    `kept` ascends, so that no entry is overwritten before it is read.
    """
    m = kept.shape[0]
    for r in range(n_rows):
        for c in range(m):
            flat[r * m + c] = flat[r * width + kept[c]]
