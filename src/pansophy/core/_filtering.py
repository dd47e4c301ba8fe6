"""Compiled discrete loops: scaled and logarithmic forward-backward, Viterbi.

Every loop takes the likelihoods as a `table` (v, k) and an `index` (n,): step t has
likelihoods table[index[t]]. For symbols the table has one row per symbol, for any
other emission one row per step; expected counts come back in the same form. Many
sequences stand one after the other, `ends` (s,) says where each ends. The number of
states k is padded to a multiple of 8 by the caller, with states that cannot be.
"""

import math

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def row_times(a, A, out):
    """out = a A for a (k,), A (k, k), k a multiple of 8.

    Eight rows of A at a time keep the sums in registers: half the time of one.
    """
    k = A.shape[0]
    for i in range(0, k, 8):
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        a4, a5, a6, a7 = a[i + 4], a[i + 5], a[i + 6], a[i + 7]
        for j in range(k):
            low = (a0 * A[i, j] + a1 * A[i + 1, j]) + (
                a2 * A[i + 2, j] + a3 * A[i + 3, j]
            )
            high = (a4 * A[i + 4, j] + a5 * A[i + 5, j]) + (
                a6 * A[i + 6, j] + a7 * A[i + 7, j]
            )
            out[j] = low + high if i == 0 else out[j] + (low + high)


@njit(cache=True, nogil=True, fastmath={"nsz"}, inline="always")
def row_best(a, A, out):
    """out_j = max_i a_i + A_ij, in the same manner."""
    k = A.shape[0]
    for i in range(0, k, 8):
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        a4, a5, a6, a7 = a[i + 4], a[i + 5], a[i + 6], a[i + 7]
        for j in range(k):
            low = max(
                max(a0 + A[i, j], a1 + A[i + 1, j]),
                max(a2 + A[i + 2, j], a3 + A[i + 3, j]),
            )
            high = max(
                max(a4 + A[i + 4, j], a5 + A[i + 5, j]),
                max(a6 + A[i + 6, j], a7 + A[i + 7, j]),
            )
            top = max(low, high)
            out[j] = top if i == 0 else max(out[j], top)


@njit(cache=True, nogil=True, fastmath=FAST)
def forward(start, A, table, index, alpha, scale):
    """Filtered beliefs alpha (n, k) and their scales; returns log p.

    Where a step has probability 0 the belief stays zero and log p is -inf.
    """
    n, k = alpha.shape
    loglik = 0.0
    for t in range(n):
        row, L = alpha[t], table[index[t]]
        if t == 0:
            for j in range(k):
                row[j] = start[j]
        else:
            row_times(alpha[t - 1], A, row)
        total = 0.0
        for j in range(k):
            row[j] *= L[j]
            total += row[j]
        scale[t] = total
        if total > 0.0:
            inverse = 1.0 / total
            for j in range(k):
                row[j] *= inverse
            loglik += math.log(total)
        else:
            return -math.inf
    return loglik


@njit(cache=True, nogil=True, fastmath=FAST)
def backward(AT, table, index, scale, beta, V, n):
    """Scaled beta (n, k) and V_t = L_t beta_t / scale_t, of which pairs are made."""
    k = AT.shape[0]
    for j in range(k):
        beta[n - 1, j] = 1.0
    for t in range(n - 1, -1, -1):
        L, b, v = table[index[t]], beta[t], V[t]
        inverse = 1.0 / scale[t]
        for j in range(k):
            v[j] = L[j] * b[j] * inverse
        if t > 0:
            row_times(v, AT, beta[t - 1])


@njit(cache=True, nogil=True, fastmath=FAST)
def tally(alpha, beta, index, counts, n):
    """counts[index[t]] += posterior of step t, eq. (5) of `filtering`."""
    k = alpha.shape[1]
    for t in range(n):
        a, b, c = alpha[t], beta[t], counts[index[t]]
        for j in range(k):
            c[j] += a[j] * b[j]


@njit(cache=True, nogil=True)
def expected(start, A, table, index, ends, longest, counts):
    """Expected starts (k,), transitions (k, k), counts (v, k) and log p of sequences.

    All in one pass over the steps: a sequence is in cache while it is summed up.
    """
    k = A.shape[0]
    AT = np.ascontiguousarray(A.T)
    alpha, beta = np.empty((longest, k)), np.empty((longest, k))
    V, scale = np.empty((longest, k)), np.empty(longest)
    first, pairs, part = np.zeros(k), np.zeros((k, k)), np.empty((k, k))
    loglik, begin = 0.0, 0
    for end in ends:
        n = end - begin
        x = index[begin:end]
        value = forward(start, A, table, x, alpha[:n], scale)
        loglik += value
        if value > -math.inf:
            backward(AT, table, x, scale, beta, V, n)
            tally(alpha, beta, x, counts, n)
            for j in range(k):
                first[j] += alpha[0, j] * beta[0, j]
            if n > 1:
                np.dot(alpha[: n - 1].T, V[1:n], part)
                pairs += part
        begin = end
    return first, pairs * A, loglik


@njit(cache=True, nogil=True)
def posteriors(start, A, table, index, ends, longest, out):
    """Posterior of the state at every step into out (n, k); log p of each sequence."""
    k = A.shape[0]
    AT = np.ascontiguousarray(A.T)
    alpha, beta = np.empty((longest, k)), np.empty((longest, k))
    V, scale = np.empty((longest, k)), np.empty(longest)
    logliks, begin = np.empty(len(ends)), 0
    for s, end in enumerate(ends):
        n = end - begin
        x = index[begin:end]
        logliks[s] = forward(start, A, table, x, alpha[:n], scale)
        if logliks[s] > -math.inf:
            backward(AT, table, x, scale, beta, V, n)
            for t in range(n):
                for j in range(k):
                    out[begin + t, j] = alpha[t, j] * beta[t, j]
        else:
            out[begin:end] = 0.0
        begin = end
    return logliks


@njit(cache=True, nogil=True)
def beliefs(start, A, table, index, ends, longest, out):
    """Filtered beliefs into out (n, k); log p of each sequence."""
    scale = np.empty(longest)
    logliks, begin = np.empty(len(ends)), 0
    for s, end in enumerate(ends):
        x = index[begin:end]
        logliks[s] = forward(start, A, table, x, out[begin:end], scale)
        begin = end
    return logliks


@njit(cache=True, nogil=True, fastmath={"nsz"})
def climb(log_start, log_A, log_table, x, delta):
    """Best scores of paths that end in each state at each step."""
    k = log_A.shape[0]
    for j in range(k):
        delta[0, j] = log_start[j] + log_table[x[0], j]
    for t in range(1, len(x)):
        new, L = delta[t], log_table[x[t]]
        row_best(delta[t - 1], log_A, new)
        for j in range(k):
            new[j] += L[j]


@njit(cache=True, nogil=True, fastmath={"nsz"}, inline="always")
def first_best(a, b):
    """The first i with the largest a_i + b_i; four chains, k a multiple of 4."""
    i0, i1, i2, i3 = 0, 1, 2, 3
    v0, v1, v2, v3 = a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]
    for i in range(4, len(a), 4):
        w0, w1, w2, w3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        w0, w1, w2, w3 = w0 + b[i], w1 + b[i + 1], w2 + b[i + 2], w3 + b[i + 3]
        i0, v0 = (i, w0) if w0 > v0 else (i0, v0)
        i1, v1 = (i + 1, w1) if w1 > v1 else (i1, v1)
        i2, v2 = (i + 2, w2) if w2 > v2 else (i2, v2)
        i3, v3 = (i + 3, w3) if w3 > v3 else (i3, v3)
    if v1 > v0 or (v1 == v0 and i1 < i0):
        i0, v0 = i1, v1
    if v3 > v2 or (v3 == v2 and i3 < i2):
        i2, v2 = i3, v3
    return i2 if v2 > v0 or (v2 == v0 and i2 < i0) else i0


@njit(cache=True, nogil=True, fastmath={"nsz"})
def descend(log_AT, delta, n, path):
    """The path that leads to the best last score, which is returned."""
    z = 0
    for j in range(1, delta.shape[1]):
        if delta[n - 1, j] > delta[n - 1, z]:
            z = j
    score = delta[n - 1, z]
    path[n - 1] = z
    for t in range(n - 2, -1, -1):
        z = first_best(delta[t], log_AT[z])
        path[t] = z
    return score


@njit(cache=True, nogil=True)
def best_paths(log_start, log_A, log_table, index, ends, longest, path):
    """Viterbi: the likeliest path of every sequence; their log-probabilities.

    Only the best scores are kept on the way up; on the way down the predecessor of
    the one state chosen is found again, k numbers a step.
    """
    log_AT, delta = np.ascontiguousarray(log_A.T), np.empty((longest, log_A.shape[0]))
    scores, begin = np.empty(len(ends)), 0
    for s, end in enumerate(ends):
        climb(log_start, log_A, log_table, index[begin:end], delta)
        scores[s] = descend(log_AT, delta, end - begin, path[begin:end])
        begin = end
    return scores


@njit(cache=True, nogil=True)
def log_sum(a):
    """log sum exp(a)."""
    top = -math.inf
    for value in a:
        top = max(top, value)
    if top == -math.inf:
        return top
    total = 0.0
    for value in a:
        total += math.exp(value - top)
    return top + math.log(total)


@njit(cache=True, nogil=True)
def log_pass(log_start, log_A, log_table, index, alpha, beta):
    """Forward and backward of one sequence in logarithms; returns log p."""
    n, k = alpha.shape
    work = np.empty(k)
    for t in range(n):
        for j in range(k):
            if t == 0:
                value = log_start[j]
            else:
                for i in range(k):
                    work[i] = alpha[t - 1, i] + log_A[i, j]
                value = log_sum(work)
            alpha[t, j] = value + log_table[index[t], j]
    beta[n - 1] = 0.0
    for t in range(n - 2, -1, -1):
        for i in range(k):
            for j in range(k):
                work[j] = log_A[i, j] + log_table[index[t + 1], j] + beta[t + 1, j]
            beta[t, i] = log_sum(work)
    return log_sum(alpha[n - 1])


@njit(cache=True, nogil=True)
def expected_log(log_start, log_A, log_table, index, ends, longest, counts):
    """`expected` in logarithms: for probabilities below the range of numbers."""
    k = log_A.shape[0]
    alpha, beta = np.empty((longest, k)), np.empty((longest, k))
    first, pairs = np.zeros(k), np.zeros((k, k))
    loglik, begin = 0.0, 0
    for end in ends:
        n = end - begin
        x = index[begin:end]
        value = log_pass(log_start, log_A, log_table, x, alpha[:n], beta[:n])
        loglik += value
        for t in range(n if value > -math.inf else 0):
            for i in range(k):
                p = math.exp(alpha[t, i] + beta[t, i] - value)
                counts[x[t], i] += p
                if t == 0:
                    first[i] += p
                for j in range(k if t + 1 < n else 0):
                    pairs[i, j] += math.exp(
                        alpha[t, i]
                        + log_A[i, j]
                        + log_table[x[t + 1], j]
                        + beta[t + 1, j]
                        - value
                    )
        begin = end
    return first, pairs, loglik


@njit(cache=True, nogil=True)
def posteriors_log(log_start, log_A, log_table, index, ends, longest, out):
    """`posteriors` in logarithms."""
    k = log_A.shape[0]
    alpha, beta = np.empty((longest, k)), np.empty((longest, k))
    logliks, begin = np.empty(len(ends)), 0
    for s, end in enumerate(ends):
        n = end - begin
        x = index[begin:end]
        value = log_pass(log_start, log_A, log_table, x, alpha[:n], beta[:n])
        logliks[s] = value
        for t in range(n):
            for j in range(k):
                p = math.exp(alpha[t, j] + beta[t, j] - value)
                out[begin + t, j] = p if value > -math.inf else 0.0
        begin = end
    return logliks
