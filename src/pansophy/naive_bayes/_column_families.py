"""Compiled loops of `column_families.py`: tables of counts, sparse sums and scores."""

import math

from ..core.loops.compiled import FASTMATH, compiled


@compiled(fastmath=FASTMATH)
def diagonal_normal_scores(X, M, P, log_P, constant, out):
    """log N(x; m_c, diag(1 / p_c^2)) of each row, NaN left out; out (n, k).

    `log_P` (k, d) holds log p - log(2 pi) / 2 and `constant` (k,) its sums.
    """
    n, d = X.shape
    k = M.shape[0]
    for i in range(n):
        for c in range(k):
            q = 0.0
            for j in range(d):
                t = (X[i, j] - M[c, j]) * P[c, j]
                q += t * t
            out[i, c] = constant[c] - 0.5 * q
            if math.isnan(q):
                total = 0.0
                for j in range(d):
                    if not math.isnan(X[i, j]):
                        t = (X[i, j] - M[c, j]) * P[c, j]
                        total += log_P[c, j] - 0.5 * t * t
                out[i, c] = total


@compiled
def largest_categories(X, top):
    """Raise top (d,) to the largest value of each column; returns the first bad column.

    A value is bad if it is negative or not an integer; NaN is skipped. -1: none is bad.
    """
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            v = X[i, j]
            if math.isnan(v):
                continue
            x = int(v)
            if x < 0 or x != v:
                return j
            if x > top[j]:
                top[j] = x
    return -1


@compiled
def count_categories(X, codes, w, weighted, start, counts):
    """Add the weight of each row at counts[class, start_j + x_ij], NaN left out."""
    n, d = X.shape
    for i in range(n):
        c = codes[i]
        wi = w[i] if weighted else 1.0
        for j in range(d):
            v = X[i, j]
            if not math.isnan(v):
                counts[c, start[j] + int(v)] += wi


@compiled
def category_scores(X, start, T, out):
    """Sum of the rows T[start_j + x_ij] (k,) over j; the first bad column, or -1."""
    n, d = X.shape
    k = T.shape[1]
    for i in range(n):
        for c in range(k):
            out[i, c] = 0.0
        for j in range(d):
            v = X[i, j]
            if math.isnan(v):
                continue
            x = int(v)
            if x < 0 or x != v or start[j] + x >= start[j + 1]:
                return j
            row = T[start[j] + x]
            for c in range(k):
                out[i, c] += row[c]
    return -1


@compiled
def add_sparse_rows(indptr, indices, data, which, w, weighted, total):
    """Add the sparse rows `which`, times their weights, to total (d,)."""
    for q in range(which.shape[0]):
        i = which[q]
        wi = w[i] if weighted else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            total[indices[p]] += wi * data[p]


@compiled(fastmath=FASTMATH)
def sparse_scores(indptr, indices, data, A, out):
    """x A for each sparse row x; A (d, k), out (n, k).

    Four entries at a time, so that the sums are read and written a quarter as often.
    """
    k = A.shape[1]
    for i in range(out.shape[0]):
        row = out[i]
        for c in range(k):
            row[c] = 0.0
        p, end = indptr[i], indptr[i + 1]
        while p + 3 < end:
            v1, v2, v3, v4 = data[p], data[p + 1], data[p + 2], data[p + 3]
            a1, a2 = A[indices[p]], A[indices[p + 1]]
            a3, a4 = A[indices[p + 2]], A[indices[p + 3]]
            for c in range(k):
                row[c] += (v1 * a1[c] + v2 * a2[c]) + (v3 * a3[c] + v4 * a4[c])
            p += 4
        while p < end:
            v = data[p]
            a = A[indices[p]]
            for c in range(k):
                row[c] += v * a[c]
            p += 1
