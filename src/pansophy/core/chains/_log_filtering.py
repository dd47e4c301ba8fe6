"""Compiled forward-backward for discrete chains in logarithms, against underflow.

A step of forward or backward is a sum of k terms for each of k states. With the
largest entry m of the message taken out,

    log sum_i exp(a_i) A_ij = m + log sum_i exp(a_i - m) A_ij                    (1)

needs k exponentials and k logarithms, not k^2. Where the sum underflows, because its
terms are far below m, it is computed again term by term in logarithms; so are the
pairs. Tables hold log-likelihoods here, and `index` gives the row of each step.
"""

import math

import numpy as np

from ..loops.compiled import compiled

SMALLEST_TOTAL = 1e-250  # sums below this are done again term by term


@compiled
def _log_sum_of_products(a, b):
    """log sum exp(a + b)."""
    top = -math.inf
    for i in range(len(a)):
        top = max(top, a[i] + b[i])
    if top == -math.inf:
        return top
    total = 0.0
    for i in range(len(a)):
        total += math.exp(a[i] + b[i] - top)
    return top + math.log(total)


@compiled
def _shifted_exp(a, out):
    """out = exp(a - top); returns top, the largest of a, or 0 if all is impossible."""
    top = a[0]
    for i in range(1, len(a)):
        top = max(top, a[i])
    top = top if top > -math.inf else 0.0
    for i in range(len(a)):
        out[i] = math.exp(a[i] - top)
    return top


@compiled
def _log_step(a, M, log_MT, work, total, out):
    """out_j = log sum_i exp(a_i) M_ij, eq. (1); log_MT is log M transposed."""
    k = len(a)
    top = _shifted_exp(a, work)
    total[:] = 0.0
    for i in range(k):
        e, row = work[i], M[i]
        for j in range(k):
            total[j] += e * row[j]
    for j in range(k):
        if total[j] > SMALLEST_TOTAL:
            out[j] = top + math.log(total[j])
        else:
            out[j] = _log_sum_of_products(a, log_MT[j])


@compiled
def log_forward(log_start, A, log_AT, log_table, index, alpha):
    """log p(z_t, x_1..t) into alpha (n, k); returns log p(x)."""
    n, k = alpha.shape
    work = np.empty(k)
    total = np.empty(k)
    zero = np.zeros(k)
    for t in range(n):
        if t == 0:
            alpha[0] = log_start
        else:
            _log_step(alpha[t - 1], A, log_AT, work, total, alpha[t])
        L = log_table[index[t]]
        for j in range(k):
            alpha[t, j] += L[j]
    return _log_sum_of_products(alpha[n - 1], zero)


@compiled
def _log_pairs(alpha, log_A, A, v, value, e, f, pairs):
    """pairs += p(z_t, z_t+1 | x) from log messages alpha at t and v at t + 1."""
    k = len(v)
    log_joint = _shifted_exp(alpha, e) + _shifted_exp(v, f) - value
    if log_joint < 500.0:
        scale = math.exp(log_joint)
        for i in range(k):
            p = e[i] * scale
            row = A[i]
            pair_row = pairs[i]
            for j in range(k):
                pair_row[j] += p * row[j] * f[j]
        return
    for i in range(k):
        for j in range(k):
            pairs[i, j] += math.exp(alpha[i] + log_A[i, j] + v[j] - value)


@compiled
def log_forward_backward(
    start, A, log_table, index, ends, each, counts, pairs, logliks
):
    """Both passes of many sequences: posteriors, pairs (from, to), log p of each.

    Returns the expected starts. A sequence that cannot be has posterior 0.
    """
    k = A.shape[0]
    longest = 0
    begin = 0
    for end in ends:
        longest = max(longest, end - begin)
        begin = end
    AT = np.ascontiguousarray(A.T)
    log_start, log_A, log_AT = np.log(start), np.log(A), np.log(AT)
    alpha, beta, v = np.empty((longest, k)), np.empty(k), np.empty(k)
    work = np.empty(k)
    total = np.empty(k)
    first = np.zeros(k)
    begin = 0
    for s, end in enumerate(ends):
        n = end - begin
        x = index[begin:end]
        value = log_forward(log_start, A, log_AT, log_table, x, alpha[:n])
        logliks[s] = value
        beta[:] = 0.0
        for t in range(n - 1, -1, -1):
            row = counts[begin + t if each else x[t]]
            if value == -math.inf:
                if each:
                    row[:] = 0.0
                continue
            if t < n - 1:
                _log_step(v, AT, log_A, work, total, beta)
                if pairs.shape[0]:
                    _log_pairs(alpha[t], log_A, A, v, value, work, total, pairs)
            L = log_table[x[t]]
            for j in range(k):
                p = math.exp(alpha[t, j] + beta[j] - value)
                row[j] = p if each else row[j] + p
                v[j] = beta[j] + L[j]
                if t == 0:
                    first[j] += p
        begin = end
    return first


@compiled
def log_beliefs(start, A, log_table, index, ends, out, logliks):
    """Filtered beliefs into out (n, k); log p of each sequence."""
    log_start, log_AT = np.log(start), np.log(A.T)
    log_AT = np.ascontiguousarray(log_AT)
    zero = np.zeros(A.shape[0])
    begin = 0
    for s, end in enumerate(ends):
        x, part = index[begin:end], out[begin:end]
        logliks[s] = log_forward(log_start, A, log_AT, log_table, x, part)
        for t in range(end - begin):
            norm = _log_sum_of_products(part[t], zero)
            for j in range(part.shape[1]):
                part[t, j] = math.exp(part[t, j] - norm) if norm > -math.inf else 0.0
        begin = end
