"""Compiled Viterbi recursion of discrete chains.

The best score of a path that ends in j at step t, and where it came from:

    d_t(j) = L_t(j) + max_i d_t-1(i) + log A_ij,     w_t(j) the first such i      (1)

Only the back-pointers w are kept, a byte or two each. Run backward over a sequence the
same loop gives the best score of what follows, so that the two halves of a long
sequence can be computed at the same time and joined at the best pair of states in the
middle. Sequences of few states are batched, as in `_batched_chains`.
"""

import numpy as np

from ..loops.compiled import compiled


@compiled(fastmath={"nsz"}, inline="always")
def _best_predecessors(a, A, best, arg):
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


@compiled(fastmath={"nsz"})
def viterbi_scores(first, log_M, log_table, index, t, step, count, pointers):
    """Eq. (1) over `count` steps from t in direction `step`: the last scores (k,)."""
    k = log_M.shape[0]
    d = first.copy()
    best = np.empty(k)
    arg = np.zeros(k, np.int64)
    for s in range(count):
        L = log_table[index[t]]
        if s > 0:
            _best_predecessors(d, log_M, best, arg)
            best_source = pointers[t]
            for j in range(k):
                best_source[j] = arg[j]
                d[j] = best[j]
        for j in range(len(L)):
            d[j] += L[j]
        t += step
    return d


@compiled
def backtrack(pointers, z, t, step, count, path):
    """Follow the pointers from state z at step t, against `step`."""
    for _ in range(count - 1):
        path[t] = z
        z = pointers[t, z]
        t -= step
    path[t] = z


@compiled
def viterbi_paths(log_start, log_A, log_table, index, ends, pointers, path, scores):
    """The most likely path of every sequence and its log-probability."""
    begin = 0
    for s, end in enumerate(ends):
        n = end - begin
        d = viterbi_scores(
            log_start, log_A, log_table, index[begin:end], 0, 1, n, pointers
        )
        z = np.argmax(d)
        scores[s] = d[z]
        backtrack(pointers, z, n - 1, 1, n, path[begin:end])
        begin = end


@compiled(fastmath={"nsz"})
def _batched_best_predecessors(d, M, best, arg, where):
    """best_before in each lane, for d (k, w); pointers (k, w) into `where`.

    The first five states in one go, in registers, and then four at a time.
    """
    k, w = d.shape
    for j in range(k):
        top, p = best[j], where[j]
        if k >= 5:
            m0, m1, m2, m3, m4 = M[0, j], M[1, j], M[2, j], M[3, j], M[4, j]
            d0, d1, d2, d3, d4 = d[0], d[1], d[2], d[3], d[4]
            for c in range(w):
                v0, v1, v2, v3 = d0[c] + m0, d1[c] + m1, d2[c] + m2, d3[c] + m3
                v4 = d4[c] + m4
                g1 = 2 if v2 > v1 else 1
                v1 = v2 if v2 > v1 else v1
                g3 = 4 if v4 > v3 else 3
                v3 = v4 if v4 > v3 else v3
                g1 = g3 if v3 > v1 else g1
                v1 = v3 if v3 > v1 else v1
                arg[c] = g1 if v1 > v0 else 0
                top[c] = v1 if v1 > v0 else v0
        else:
            for c in range(w):
                top[c] = d[0, c] + M[0, j]
                arg[c] = 0
        begin = 5 if k >= 5 else 1
        rest = begin + (k - begin) // 4 * 4
        for i in range(begin, rest, 4):
            m0, m1, m2, m3 = M[i, j], M[i + 1, j], M[i + 2, j], M[i + 3, j]
            d0, d1, d2, d3 = d[i], d[i + 1], d[i + 2], d[i + 3]
            for c in range(w):
                v0, v1, v2, v3 = d0[c] + m0, d1[c] + m1, d2[c] + m2, d3[c] + m3
                g0 = i + 1 if v1 > v0 else i
                v0 = v1 if v1 > v0 else v0
                g2 = i + 3 if v3 > v2 else i + 2
                v2 = v3 if v3 > v2 else v2
                g0 = g2 if v2 > v0 else g0
                v0 = v2 if v2 > v0 else v0
                arg[c] = g0 if v0 > top[c] else arg[c]
                top[c] = v0 if v0 > top[c] else top[c]
        for i in range(rest, k):
            m, row = M[i, j], d[i]
            for c in range(w):
                v = row[c] + m
                arg[c] = i if v > top[c] else arg[c]
                top[c] = v if v > top[c] else top[c]
        for c in range(w):
            p[c] = arg[c]


@compiled(fastmath={"nsz"})
def batched_viterbi_scores(first, M, table, index, begins, lengths, pointers, d):
    """Eq. (1) in each lane from `first`: the last scores into d (k, w).

    Pointers of step t go into pointers[t % len(pointers)].
    """
    k, w = first.shape
    flat = table.reshape(-1)
    offsets = np.zeros(w, np.int64)
    best = first.copy()
    arg = np.zeros(w, np.int64)
    for t in range(lengths[0]):
        if t > 0:
            _batched_best_predecessors(d, M, best, arg, pointers[t % pointers.shape[0]])
        for c in range(w):
            if t < lengths[c]:
                offsets[c] = k * index[begins[c] + t]
        for j in range(k):
            scores_of_j, new = d[j], best[j]
            for c in range(w):
                v = new[c] + flat[offsets[c] + j]
                scores_of_j[c] = v if t < lengths[c] else scores_of_j[c]


@compiled
def batched_backtrack(pointers, z, begins, lengths, path):
    """Follow the pointers of each lane from its last state z (w,)."""
    for t in range(lengths[0] - 1, -1, -1):
        for c in range(len(z)):
            if t < lengths[c]:
                path[begins[c] + t] = z[c]
                if t > 0:
                    z[c] = pointers[t, z[c], c]


@compiled
def join_block_paths(pointers, z, links, begins, lengths, path):
    """Paths of lanes that follow one another, the last of which ends in z.

    Each has been traced from another state perhaps; that is undone until the two meet.
    links (w, k): from the first state of a lane to the last of the one before, which
    is returned for the first lane.
    """
    for c in range(len(begins) - 1, -1, -1):
        t = lengths[c] - 1
        while t >= 0 and path[begins[c] + t] != z:
            path[begins[c] + t] = z
            z = pointers[t, z, c] if t > 0 else z
            t -= 1
        z = links[c, path[begins[c]]]
    return z
