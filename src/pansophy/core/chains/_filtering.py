"""Compiled forward-backward for discrete chains, with scaled messages.

Every loop takes a `ScaledEvidence`: step t has the likelihoods table[index[t]], which
were divided by exp(top[index[t]]). For symbols the table has one row for each symbol,
for any other emission one row for each step. Sequences stand one after the other;
`ends` (s,) says where each ends. The number of states k is padded to a multiple of 8
by the caller, with states that are impossible.

Forward and backward are one recursion. With a_t the forward message and v_t = L_t b_t
the backward one, each including the likelihood of its own step,

    a_t = L_t (a_t-1 A),      v_t = L_t (v_t+1 A')                               (1)

so `scaled_sweep` runs either, given a direction and a matrix. The second sweep,
`meeting_sweep`, meets the messages that the first has stored: with q_t = a_t-1 A (its
message before the likelihood) and u = q_t . v_t,

    p(z_t | x) = q_t v_t / u,     p(z_t-1, z_t | x) = a_t-1 A v_t / u            (2)

whatever the scales of a and v. Each message is divided by the sum of the message
before it, which is known while the product with A is still being computed.

Sums are written out in a fixed order: left to the compiler, their order would depend
on how the arrays lie in memory.
"""

import math
from typing import NamedTuple

import numpy as np

from .._scalar import LN2_HIGH, LN2_LOW, LOG2_E, exp_series
from ..loops.compiled import FASTMATH_FUSED, compiled

ROW_GAP = 64  # between rows: the CPU takes closer ones for overlapping, and stalls
SMALLEST_SUM = 1e-280  # messages of a smaller sum have lost their digits


class ScaledEvidence(NamedTuple):
    """Likelihoods exp(top[x]) table[x] of the states at step t, with x = index[t]."""

    table: np.ndarray  # (v, k), largest entry of a row 1
    top: np.ndarray  # (v,)
    index: np.ndarray  # (n,)


@compiled(fastmath=FASTMATH_FUSED)
def row_matrix_product(a, A, out):
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


@compiled(fastmath={"nnan", "nsz"})
def _row_maximum(row):
    """The largest entry of a row of 8, 16, ... entries; 0 if it is not finite."""
    a, b, c, d = row[0], row[1], row[2], row[3]
    for j in range(4, len(row), 4):
        a = a if a > row[j] else row[j]
        b = b if b > row[j + 1] else row[j + 1]
        c = c if c > row[j + 2] else row[j + 2]
        d = d if d > row[j + 3] else row[j + 3]
    a, c = a if a > b else b, c if c > d else d
    high = a if a > c else c
    return high if -math.inf < high < math.inf else 0.0


@compiled(fastmath=FASTMATH_FUSED)
def scaled_exponentials(log_table, out, top):
    """out = exp(log_table - top) with top the largest of each row; padding gets 0.

    A polynomial after taking out powers of 2, within two units of the last place;
    unlike calls of exp it is done for several numbers at once.
    """
    k, wide = log_table.shape[1], out.shape[1]
    power = np.zeros(wide, np.int64)
    power_of_two = power.view(np.float64)
    for t in range(log_table.shape[0]):
        x, row = log_table[t], out[t]
        for j in range(k):
            row[j] = x[j]
        for j in range(k, wide):
            row[j] = -math.inf
        high = top[t] = _row_maximum(row)
        for j in range(wide):
            y = row[j] - high
            z = y if y > -708.0 else -708.0
            n = math.floor(z * LOG2_E + 0.5)
            r = z - n * LN2_HIGH
            r -= n * LN2_LOW
            p = exp_series(r)
            row[j] = p if y > -708.0 else 0.0
            power[j] = (np.int64(n) + 1023) << 52
        for j in range(wide):
            row[j] *= power_of_two[j]


@compiled(fastmath=FASTMATH_FUSED)
def _scaled_product_of_eight(a, A, weight, scale, out):
    """out = (a A) weight scale for k = 8, in registers."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    a4, a5, a6, a7 = a[4], a[5], a[6], a[7]
    for j in range(8):
        low = (a0 * A[0, j] + a1 * A[1, j]) + (a2 * A[2, j] + a3 * A[3, j])
        high = (a4 * A[4, j] + a5 * A[5, j]) + (a6 * A[6, j] + a7 * A[7, j])
        out[j] = (low + high) * (weight[j] * scale)


@compiled(fastmath=FASTMATH_FUSED)
def _dot_of_eights(a, b):
    """sum_j a_j b_j in eight chains, for a multiple of 8."""
    s0, s1, s2, s3 = a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]
    s4, s5, s6, s7 = a[4] * b[4], a[5] * b[5], a[6] * b[6], a[7] * b[7]
    for j in range(8, len(a), 8):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        s4 += a[j + 4] * b[j + 4]
        s5 += a[j + 5] * b[j + 5]
        s6 += a[j + 6] * b[j + 6]
        s7 += a[j + 7] * b[j + 7]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@compiled
def _padded_copy(M):
    """A copy of M with a gap behind each row; loops compile faster than slices."""
    k = M.shape[0]
    N = np.empty((k, k + ROW_GAP))
    for i in range(k):
        for j in range(k):
            N[i, j] = M[i, j]
    return N


@compiled(fastmath=FASTMATH_FUSED)
def scaled_sweep(first, M, evidence, t, step, count, out):
    """Eq. (1) over `count` steps from t in direction `step`; returns log p.

    Begins with `first` in place of the product with M. Where the sum of a message is
    0, log p is -inf and the messages from there on are not set.
    """
    table, top, index = evidence
    k = M.shape[0]
    ones = np.ones(M.shape[0])
    N = _padded_copy(M)
    loglik, product, total = 0.0, 1.0, 1.0
    for s in range(count):
        x = index[t]
        row = out[t]
        L = table[x]
        inverse = 1.0 / total
        if s > 0 and k == 8:
            _scaled_product_of_eight(out[t - step], N, L, inverse, row)
        else:
            if s == 0:
                for j in range(k):
                    row[j] = first[j]
            else:
                row_matrix_product(out[t - step], M, row)
            for j in range(k):
                row[j] *= L[j] * inverse
        total = _dot_of_eights(row, ones)
        if not total > SMALLEST_SUM:
            return -math.inf
        loglik += top[x]
        product *= total
        if product < 1e-20:  # a logarithm now and then, not at every step
            loglik += math.log(product)
            product = 1.0
        t += step
    return loglik + math.log(product)


@compiled(fastmath=FASTMATH_FUSED)
def _add_outer_products(P, stored, t, step, pairs):
    """pairs += sum over eight steps of P_c (outer) stored[t + c step]."""
    k = pairs.shape[0]
    v0, v1 = stored[t], stored[t + step]
    v2, v3 = stored[t + 2 * step], stored[t + 3 * step]
    v4, v5 = stored[t + 4 * step], stored[t + 5 * step]
    v6, v7 = stored[t + 6 * step], stored[t + 7 * step]
    for i in range(k):
        p0, p1, p2, p3 = P[0, i], P[1, i], P[2, i], P[3, i]
        p4, p5, p6, p7 = P[4, i], P[5, i], P[6, i], P[7, i]
        row = pairs[i]
        for j in range(k):
            low = (p0 * v0[j] + p1 * v1[j]) + (p2 * v2[j] + p3 * v3[j])
            high = (p4 * v4[j] + p5 * v5[j]) + (p6 * v6[j] + p7 * v7[j])
            row[j] += low + high


@compiled(fastmath={"contract"})
def _add_outer_products_of_eight(P, V, pairs, k):
    """pairs[:k, :k] += P[:k] V[:k]', with steps along the rows: for few states."""
    a = np.empty(8)
    for i in range(k):
        for j in range(k):
            p, v = P[i], V[j]
            for c in range(8):
                a[c] = p[c] * v[c]
            for b in range(8, P.shape[1], 8):
                for c in range(8):
                    a[c] += p[b + c] * v[b + c]
            low, high = (a[0] + a[1]) + (a[2] + a[3]), (a[4] + a[5]) + (a[6] + a[7])
            pairs[i, j] += low + high


@compiled(fastmath=FASTMATH_FUSED)
def meeting_sweep(
    before, begins, M, evidence, t, step, count, stored, each, counts, pairs, edge
):
    """The second sweep, eq. (2), over messages stored by the first; returns log p.

    `before` is the message before the first step, or, if the sequence `begins` here,
    what stands for its product with M, and then there is no pair. Posteriors are added
    to the rows counts[index[t]], or if `each` put into counts[t]; `pairs` (k, k),
    without the factor M, may be empty; `edge` gets the posterior of the last step.
    Returns NaN where the product of the messages is (almost) 0.
    """
    table, top, index = evidence
    k = M.shape[0]
    width = counts.shape[1]
    small = M.shape[0] == 8
    block = 64 if small else 8  # steps whose pairs are added up together
    P = np.zeros((8, block if small else k))
    V = np.zeros((8, block if small else 0))
    N = _padded_copy(M)
    work = np.empty((2, k + ROW_GAP))
    ones = np.ones(k)
    u, pred = work[0, :k], work[1, :k]
    for j in range(k):
        u[j] = pred[j] = before[j]
    loglik = 0.0
    product = 1.0
    total = 1.0 if begins else _dot_of_eights(u, ones)
    waiting = 0
    waiting_since = t
    for s in range(count):
        x, other_message = index[t], stored[t]
        L, row = table[x], counts[t if each else x]
        bare = begins and s == 0
        if small and not bare:
            _scaled_product_of_eight(u, N, ones, 1.0, pred)
        elif not bare:
            row_matrix_product(u, M, pred)
        joint = _dot_of_eights(pred, other_message)
        share = 1.0 / joint
        if pairs.shape[0] > 0 and not bare:
            if small:
                for j in range(width):
                    P[j, waiting] = u[j] * share
                    V[j, waiting] = other_message[j]
            else:
                waiting_since = t if waiting == 0 else waiting_since
                p = P[waiting]
                for j in range(k):
                    p[j] = u[j] * share
            waiting += 1
            if waiting == block:
                if small:
                    _add_outer_products_of_eight(P, V, pairs, width)
                else:
                    _add_outer_products(P, stored, waiting_since, step, pairs)
                waiting = 0
        if each:
            for j in range(width):
                row[j] = pred[j] * other_message[j] * share
        else:
            for j in range(width):
                row[j] += pred[j] * other_message[j] * share
        if s == count - 1:
            for j in range(k):
                edge[j] = pred[j] * other_message[j] * share
        inverse = 1.0 / total
        for j in range(k):
            u[j] = pred[j] * (L[j] * inverse)
        total = _dot_of_eights(u, ones)
        if not (total > SMALLEST_SUM and joint > SMALLEST_SUM):
            return math.nan
        loglik += top[x]
        product *= total
        if product < 1e-20:
            loglik += math.log(product)
            product = 1.0
        t += step
    if small:
        for j in range(8):
            for c in range(waiting, block):
                P[j, c] = 0.0
        _add_outer_products_of_eight(P, V, pairs, width)
    else:
        for c in range(waiting):
            p, other_message = P[c], stored[waiting_since + c * step]
            for i in range(k):
                for j in range(k):
                    pairs[i, j] += p[i] * other_message[j]
    return loglik + math.log(product)


@compiled
def _longest_sequence(ends):
    """Number of steps of the longest sequence."""
    longest, begin = 0, 0
    for end in ends:
        longest = end - begin if end - begin > longest else longest
        begin = end
    return longest


@compiled
def scaled_forward_backward(start, A, evidence, ends, each, counts, pairs, logliks):
    """Both sweeps of many sequences: posteriors into counts, pairs, log p of each.

    Pairs come as (to, from). Returns expected starts (k,) and whether all was well:
    False as soon as a sequence is impossible, or its messages lose their digits.
    """
    table, top, index = evidence
    k = A.shape[0]
    AT, stored = np.empty((k, k)), np.empty((_longest_sequence(ends), k))
    for i in range(k):
        for j in range(k):
            AT[i, j] = A[j, i]
    ones = np.ones(k)
    edge = np.empty(k)
    first = np.zeros(k)
    begin = 0
    for s, end in enumerate(ends):
        n = end - begin
        sequence_evidence = ScaledEvidence(table, top, index[begin:end])
        sequence_counts = counts[begin:end] if each else counts
        logliks[s] = scaled_sweep(start, A, sequence_evidence, 0, 1, n, stored)
        if logliks[s] == -math.inf:
            return first, False
        back = meeting_sweep(
            ones,
            True,
            AT,
            sequence_evidence,
            n - 1,
            -1,
            n,
            stored,
            each,
            sequence_counts,
            pairs,
            edge,
        )
        if math.isnan(back):
            return first, False
        for j in range(k):
            first[j] += edge[j]
        begin = end
    return first, True


@compiled
def scaled_beliefs(start, A, evidence, ends, out, logliks):
    """Filtered beliefs into out (n, k), unless it is empty; log p of each sequence.

    Returns False as soon as a sequence is impossible or its messages lose digits.
    """
    table, top, index = evidence
    k = A.shape[0]
    stored = np.empty((_longest_sequence(ends), k))
    ones = np.ones(k)
    begin = 0
    for s, end in enumerate(ends):
        n = end - begin
        sequence_evidence = ScaledEvidence(table, top, index[begin:end])
        logliks[s] = scaled_sweep(start, A, sequence_evidence, 0, 1, n, stored)
        if logliks[s] == -math.inf:
            return False
        for t in range(n if out.shape[0] else 0):
            row = out[begin + t]
            share = 1.0 / _dot_of_eights(stored[t], ones)
            for j in range(out.shape[1]):
                row[j] = stored[t, j] * share
        begin = end
    return True
