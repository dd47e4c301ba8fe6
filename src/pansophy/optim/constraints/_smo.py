"""Loops of sequential minimal optimisation on a working set; see `smo.py`.

Maxima of floats are not found by vector instructions, those of integers are. So floats
are compared by their bits, read as integers: the order is the same for numbers of at
least 0, and for all numbers once the lower bits of negative ones are inverted. Loops
run from 0 over slices: an index that might be negative would be read one by one.
"""

import numpy as np

from ...core.loops.compiled import FASTMATH, FASTMATH_NO_NAN, compiled

SMALLEST_CURVATURE = 1e-12  # of a pair whose rows of K are equal, or K not definite
LOWER_BITS = np.int64(0x7FFFFFFFFFFFFFFF)  # all but the sign
PLACE_BITS = np.int64(0xFFFFF)  # of a gain, in which its variable is kept
STAGGER = 24  # numbers between work arrays: equal offsets in a page would collide


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def _move_scores(score, Ki, Kj, move, blocked_high, blocked_low, begin, end):
    """Change the scores of begin..end by a pair step, eq. (3).

    Returns the largest score of those that may grow, and the smallest of those that
    may fall.
    """
    values = score[begin:end]
    i_row = Ki[begin:end]
    j_row = Kj[begin:end]
    no_higher = blocked_high[begin:end]
    no_lower = blocked_low[begin:end]
    top = -LOWER_BITS
    bottom = LOWER_BITS
    for t in range(values.shape[0]):
        e = values[t] - move * (i_row[t] - j_row[t])
        values[t] = e
        bits_up = np.float64(e + no_higher[t]).view(np.int64)
        top = max(top, bits_up ^ ((bits_up >> 63) & LOWER_BITS))
        bits_down = np.float64(e + no_lower[t]).view(np.int64)
        bottom = min(bottom, bits_down ^ ((bits_down >> 63) & LOWER_BITS))
    top = np.int64(top ^ ((top >> 63) & LOWER_BITS))
    bottom = np.int64(bottom ^ ((bottom >> 63) & LOWER_BITS))
    return top.view(np.float64), bottom.view(np.float64)


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def _place_of_score(score, blocked_high, top, begin, end):
    """The first variable of begin..end that may grow and has this score."""
    values = score[begin:end]
    no_higher = blocked_high[begin:end]
    place = LOWER_BITS
    for t in range(values.shape[0]):
        place = min(place, t if values[t] + no_higher[t] == top else LOWER_BITS)
    return begin + place


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def _best_partner(K, diagonal, score, blocked_low, first, begin, end):
    """The partner of `first` among begin..end that promises most, eq. (5); -1 if none.

    The lowest bits of a gain make way for its place, so that one maximum gives both.
    """
    row = K[first][begin:end]
    values = score[begin:end]
    no_lower = blocked_low[begin:end]
    curvature = diagonal[begin:end]
    top = score[first]
    own_diagonal = diagonal[first]
    best = np.int64(0)
    for t in range(values.shape[0]):
        b = top - (values[t] + no_lower[t])
        b = b if b > 0.0 else 0.0
        q = own_diagonal + curvature[t] - 2 * row[t]
        q = q if q > SMALLEST_CURVATURE else SMALLEST_CURVATURE
        gain = np.float64(b * b / q).view(np.int64)
        best = max(best, (gain & ~PLACE_BITS) | np.int64(t))
    if best <= PLACE_BITS:
        return -1
    return begin + (best & PLACE_BITS)


@compiled(fastmath=FASTMATH_NO_NAN)
def optimize_pairs(K, low, high, split, beta, score, tol, n_steps):
    """Pair steps on a working set, in place; returns their number.

    K is the kernel matrix of the set, `score` the vector e of eq. (3) at beta; the
    variables from `split` on are the second group. Stops when the largest violation,
    eq. (4), is at most tol.
    """
    k = beta.shape[0]
    work = np.empty(3 * (k + STAGGER))
    # what is added to a score so that a variable at a bound is never chosen
    blocked_high = work[:k]
    blocked_low = work[k + STAGGER : 2 * k + STAGGER]
    diagonal = work[2 * (k + STAGGER) : 3 * k + 2 * STAGGER]
    for t in range(k):
        blocked_high[t] = 0.0 if beta[t] < high[t] else -np.inf
        blocked_low[t] = 0.0 if beta[t] > low[t] else np.inf
        diagonal[t] = K[t, t]
    i = 0
    j = 0
    move = 0.0
    for step in range(n_steps + 1):
        Ki = K[i]
        Kj = K[j]
        i = -1
        far = 0.0
        next_move = 0.0
        gain = 0.0
        for begin, end in ((0, split), (split, k)):
            if begin == end:
                continue
            top, bottom = _move_scores(
                score, Ki, Kj, move, blocked_high, blocked_low, begin, end
            )
            far = max(far, top - bottom)
            if top == -np.inf or step == n_steps:
                continue
            first = _place_of_score(score, blocked_high, top, begin, end)
            partner = _best_partner(K, diagonal, score, blocked_low, first, begin, end)
            if partner < 0:
                continue
            gap = top - score[partner]
            curvature = diagonal[first] + diagonal[partner] - 2 * K[first, partner]
            curvature = max(curvature, SMALLEST_CURVATURE)
            if gap * gap / curvature > gain:
                gain = gap * gap / curvature
                next_move = gap / curvature
                i = first
                j = partner
        if i < 0 or far <= tol:
            return step
        room_i = high[i] - beta[i]
        room_j = beta[j] - low[j]
        move = min(next_move, room_i, room_j)
        # land on a bound exactly where the move ends there
        beta[i] = high[i] if move == room_i else beta[i] + move
        beta[j] = low[j] if move == room_j else beta[j] - move
        blocked_high[i] = 0.0 if beta[i] < high[i] else -np.inf
        blocked_low[i] = 0.0 if beta[i] > low[i] else np.inf
        blocked_high[j] = 0.0 if beta[j] < high[j] else -np.inf
        blocked_low[j] = 0.0 if beta[j] > low[j] else np.inf
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
