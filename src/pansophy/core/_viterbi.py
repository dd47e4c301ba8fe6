"""Compiled loops of the likeliest path of a hidden chain.

The best score of a path that ends in j at step t, and where it came from:

    d_t(j) = L_t(j) + max_i d_t-1(i) + log A_ij,     w_t(j) the first such i      (1)

Only the pointers w are kept, a byte or two each. Run backward over a long sequence
the same loop gives the best score of what follows, so the two halves can be done at
the same time and joined at the best state in the middle.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"nsz"}, inline="always")
def best_before(a, A, best, arg):
    """best_j = max_i a_i + A_ij and arg_j the first i that has it; k a multiple of 8.

    A tournament of eight at a time: the winner of each pair, and so on.
    """
    k = A.shape[0]
    for i in range(0, k, 8):
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        a4, a5, a6, a7 = a[i + 4], a[i + 5], a[i + 6], a[i + 7]
        for j in range(k):
            v0, v1 = a0 + A[i, j], a1 + A[i + 1, j]
            v2, v3 = a2 + A[i + 2, j], a3 + A[i + 3, j]
            v4, v5 = a4 + A[i + 4, j], a5 + A[i + 5, j]
            v6, v7 = a6 + A[i + 6, j], a7 + A[i + 7, j]
            g0 = i + 1 if v1 > v0 else i
            v0 = v1 if v1 > v0 else v0
            g2 = i + 3 if v3 > v2 else i + 2
            v2 = v3 if v3 > v2 else v2
            g4 = i + 5 if v5 > v4 else i + 4
            v4 = v5 if v5 > v4 else v4
            g6 = i + 7 if v7 > v6 else i + 6
            v6 = v7 if v7 > v6 else v6
            g0 = g2 if v2 > v0 else g0
            v0 = v2 if v2 > v0 else v0
            g4 = g6 if v6 > v4 else g4
            v4 = v6 if v6 > v4 else v4
            g0 = g4 if v4 > v0 else g0
            v0 = v4 if v4 > v0 else v0
            if i == 0:
                best[j], arg[j] = v0, g0
            else:
                arg[j] = g0 if v0 > best[j] else arg[j]
                best[j] = v0 if v0 > best[j] else best[j]


@njit(cache=True, nogil=True, fastmath={"nsz"})
def climb(first, log_M, log_table, index, t, step, count, pointers):
    """Eq. (1) over `count` steps from t in direction `step`: the last scores (k,)."""
    k = log_M.shape[0]
    d, best, arg = first.copy(), np.empty(k), np.zeros(k, np.int64)
    for s in range(count):
        L = log_table[index[t]]
        if s > 0:
            best_before(d, log_M, best, arg)
            where = pointers[t]
            for j in range(k):
                where[j] = arg[j]
                d[j] = best[j]
        for j in range(len(L)):
            d[j] += L[j]
        t += step
    return d


@njit(cache=True, nogil=True)
def trace(pointers, z, t, step, count, path):
    """Follow the pointers from state z at step t, against `step`."""
    for _ in range(count - 1):
        path[t] = z
        z = pointers[t, z]
        t -= step
    path[t] = z


@njit(cache=True, nogil=True)
def best_paths(log_start, log_A, log_table, index, ends, pointers, path, scores):
    """The likeliest path of every sequence and its log-probability."""
    begin = 0
    for s, end in enumerate(ends):
        n = end - begin
        d = climb(log_start, log_A, log_table, index[begin:end], 0, 1, n, pointers)
        z = np.argmax(d)
        scores[s] = d[z]
        trace(pointers, z, n - 1, 1, n, path[begin:end])
        begin = end
