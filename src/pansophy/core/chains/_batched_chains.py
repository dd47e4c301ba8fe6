"""Compiled forward-backward for chains of few states: many sequences at once.

With k states a step is a product of k numbers with a (k, k) matrix. That is too little
to fill the vector units of a processor, and the next step must wait for it. So w
sequences are processed together: messages are (k, w), and every inner loop runs over
the w lanes. Lanes are ordered by length, longest first; lanes that have ended go on
with their last observation, and nothing of that is counted.

Likelihoods are rows of a `table`: lane c sees row table_rows[t, c] of it at step t.
Messages are kept near 1 by powers of 2, taken from the exponent of their sum at the
step before: that is exact, and the logarithm is a count of powers,

    log p = log sum_j a_n(j) + log 2 * (powers taken out) + sum_t top_t          (1)

with `top` the logarithm of what each row of the table was divided by.
"""

import math

import numpy as np

from ..loops.compiled import FASTMATH_FUSED, compiled

EXPONENT_BIAS = 1023  # of the exponent of a double


@compiled(fastmath=FASTMATH_FUSED)
def _batched_product(a, M, out):
    """out_j = sum_i a_i M_ij in each lane, for a (k, w); four states at a time."""
    k, w = M.shape[0], a.shape[1]
    for j in range(k):
        row = out[j]
        for c in range(w):
            row[c] = a[0, c] * M[0, j]
        rest = 1 + (k - 1) // 4 * 4
        for i in range(1, rest, 4):
            m0, m1, m2, m3 = M[i, j], M[i + 1, j], M[i + 2, j], M[i + 3, j]
            a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
            for c in range(w):
                row[c] += (a0[c] * m0 + a1[c] * m1) + (a2[c] * m2 + a3[c] * m3)
        for i in range(rest, k):
            m, a0 = M[i, j], a[i]
            for c in range(w):
                row[c] += a0[c] * m


@compiled
def table_rows_by_step(index, begins, lengths, table_rows):
    """table_rows (n, w): row of the table at each step; after the end, the last."""
    for t in range(table_rows.shape[0]):
        for c in range(table_rows.shape[1]):
            table_rows[t, c] = index[begins[c] + min(t, lengths[c] - 1)]


@compiled
def _gather_likelihoods(table, rows, likelihoods):
    """likelihoods (k, w): those of the lanes, one row of the table for each."""
    for c in range(len(rows)):
        row = table[rows[c]]
        for j in range(likelihoods.shape[0]):
            likelihoods[j, c] = row[j]


@compiled(fastmath=FASTMATH_FUSED)
def _multiply_and_rescale(row, likelihoods, bits, total, power, two):
    """row *= likelihoods, divided by the power of 2 in `total`, then summed into it."""
    w = len(total)
    for c in range(w):
        e = bits[c] >> 52
        power[c] = (2 * EXPONENT_BIAS - (e if e > 0 else EXPONENT_BIAS)) << 52
    for c in range(w):
        total[c] = 0.0
    for j in range(row.shape[0]):
        lanes_of_j, L = row[j], likelihoods[j]
        for c in range(w):
            v = lanes_of_j[c] * (L[c] * two[c])
            lanes_of_j[c] = v
            total[c] += v


@compiled(fastmath=FASTMATH_FUSED)
def forward_messages_batch(
    first, M, table, top, table_rows, lengths, stored, logliks, smallest
):
    """a_t = L_t (a_t-1 M) from a_0 = L_0 first, into stored[t % len(stored)].

    logliks (w,) by eq. (1); smallest (w,) is the smallest sum of a message.
    """
    k, w = first.shape
    likelihoods = np.empty((k, w))
    total = np.ones(w)
    power = np.zeros(w, np.int64)
    exponents = np.zeros(w, np.int64)
    last = np.ones(w)
    bits, power_of_two = total.view(np.int64), power.view(np.float64)
    depth = stored.shape[0]
    for c in range(w):
        smallest[c] = 1.0
        logliks[c] = 0.0
    for t in range(table_rows.shape[0]):
        row, x = stored[t % depth], table_rows[t]
        if t == 0:
            for j in range(k):
                for c in range(w):
                    row[j, c] = first[j, c]
        else:
            _batched_product(stored[(t - 1) % depth], M, row)
        _gather_likelihoods(table, x, likelihoods)
        for c in range(w):
            e = (bits[c] >> 52) - EXPONENT_BIAS
            exponents[c] += e if t < lengths[c] else 0
        _multiply_and_rescale(row, likelihoods, bits, total, power, power_of_two)
        for c in range(w):
            last[c] = total[c] if t < lengths[c] else last[c]
            smallest[c] = last[c] if last[c] < smallest[c] else smallest[c]
        for c in range(w):
            logliks[c] += top[x[c]] if t < lengths[c] else 0.0
    for c in range(w):
        if last[c] > 0.0:
            logliks[c] += math.log(last[c]) + exponents[c] * math.log(2.0)
        else:
            logliks[c] = -math.inf


@compiled(fastmath=FASTMATH_FUSED)
def _add_pair_products(a, u, share, p, pairs):
    """pairs[i, j] += a_i u_j share in each lane; p (w,) is scratch space."""
    k, w = a.shape
    for i in range(k):
        row = a[i]
        for c in range(w):
            p[c] = row[c] * share[c]
        for j in range(k):
            pair_lanes, v = pairs[i, j], u[j]
            for c in range(w):
                pair_lanes[c] += p[c] * v[c]


@compiled(fastmath=FASTMATH_FUSED)
def _add_posteriors(a, b, share, g, rows, begins, lengths, t, each, counts):
    """Posteriors g = a_j b_j share of step t, put or added into rows of counts."""
    k, w = a.shape
    for j in range(k):
        x, y, products = a[j], b[j], g[j]
        for c in range(w):
            products[c] = x[c] * y[c] * share[c]
    if each:
        for c in range(w):
            if t < lengths[c]:
                row = counts[begins[c] + t]
                for j in range(k):
                    row[j] = g[j, c]
    else:
        for j in range(k):
            for c in range(w):
                counts[rows[c], j] += g[j, c]


@compiled(fastmath=FASTMATH_FUSED)
def _posterior_scales(a, b, lengths, t, share, smallest):
    """share = 1 / a . b in each lane, 0 in those that have ended; smallest a . b."""
    k, w = a.shape
    for c in range(w):
        share[c] = a[0, c] * b[0, c]
    for j in range(1, k):
        x, y = a[j], b[j]
        for c in range(w):
            share[c] += x[c] * y[c]
    for c in range(w):
        s = share[c] if t < lengths[c] else 1.0
        smallest[c] = s if s < smallest[c] else smallest[c]
        share[c] = 1.0 / s if t < lengths[c] else 0.0


@compiled(fastmath=FASTMATH_FUSED)
def backward_messages_batch(
    last, M, table, rows, begins, lengths, stored, each, counts, pairs, u, smallest
):
    """b_t = M (L_t+1 b_t+1) from b = last, and the posteriors with the stored a_t.

    Writes p(z_t | x) = a_t b_t / (a_t . b_t) into counts, the pairs (k, k, w) without
    the factor M unless they are empty, u (k, w) = L_0 b_0, and into smallest (w,) the
    smallest a_t . b_t if that is smaller.
    """
    k, w = last.shape
    MT, b, likelihoods = np.empty((k, k)), np.empty((k, w)), np.empty((k, w))
    total, share, scratch = np.ones(w), np.ones(w), np.ones(w)
    power = np.zeros(w, np.int64)
    bits, power_of_two = total.view(np.int64), power.view(np.float64)
    for i in range(k):
        for j in range(k):
            MT[j, i] = M[i, j]
        for c in range(w):
            u[i, c] = 0.0
    for t in range(rows.shape[0] - 1, -1, -1):
        a, x = stored[t], rows[t]
        _batched_product(u, MT, b)
        if t >= lengths[w - 1] - 1:
            for j in range(k):
                for c in range(w):
                    if t == lengths[c] - 1:
                        b[j, c] = last[j, c]
        _posterior_scales(a, b, lengths, t, share, smallest)
        if pairs.shape[0]:
            _add_pair_products(a, u, share, scratch, pairs)
        _add_posteriors(a, b, share, likelihoods, x, begins, lengths, t, each, counts)
        _gather_likelihoods(table, x, likelihoods)
        for j in range(k):
            for c in range(w):
                u[j, c] = b[j, c]
        _multiply_and_rescale(u, likelihoods, bits, total, power, power_of_two)


@compiled(fastmath=FASTMATH_FUSED)
def normalize_messages(stored, begins, lengths, out):
    """Messages, each divided by its sum, into the rows of out (n, k)."""
    for c in range(len(begins)):
        for t in range(lengths[c]):
            row = out[begins[c] + t]
            total = 0.0
            for j in range(len(row)):
                row[j] = stored[t, j, c]
                total += row[j]
            total = 1.0 / total
            for j in range(len(row)):
                row[j] *= total
