"""Compiled loops of variational latent Dirichlet allocation.

Documents are rows of a CSR matrix (indptr, indices, counts); `B` is exp E[log beta],
(V, K), a row for each word.
"""

import math

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled


@compiled(inner=True)
def exp_digamma(x):
    """exp(psi(x)) for x >= 0, without a logarithm.

    psi(x) = psi(x + 6) - sum_{i<6} 1 / (x + i), with an asymptotic series for the
    first. The sum is one fraction of u = x (x + 5), since terms i and 5 - i have the
    numerators 2 x + 5 and the denominators u, u + 4, u + 6.
    """
    if x > 1e8:  # beyond, the next term is below rounding, and u^3 would overflow
        return x - 0.5
    u = x * (x + 5)
    fractions = (2 * x + 5) * ((3 * u + 20) * u + 24) / (u * (u + 4) * (u + 6))
    y = x + 6
    r = 1 / y
    s = r * r
    series = -0.5 * r - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240))))
    return y * math.exp(series - fractions)


@compiled
def exp_dirichlet_rows(A, out):
    """exp E[log p] for p ~ Dirichlet of each row."""
    for i in range(len(A)):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j]
        scale = 1 / exp_digamma(total)
        for j in range(A.shape[1]):
            out[i, j] = exp_digamma(A[i, j]) * scale


@compiled(inner=True, fastmath=FASTMATH)
def topic_product(t, b):
    """The inner product of two rows."""
    s = 0.0
    for k in range(len(t)):
        s += t[k] * b[k]
    return s


@compiled(inner=True, fastmath=FASTMATH)
def add_scaled_row(out, share, b):
    for k in range(len(out)):
        out[k] += share * b[k]


@compiled(inner=True)
def add_prior(gamma, t, alpha, out):
    """out = alpha + t * gamma and t = exp E[log theta]; the mean change of out."""
    K = len(out)
    total = 0.0
    change = 0.0
    for k in range(K):
        v = alpha + t[k] * gamma[k]
        change += abs(v - out[k])
        out[k] = v
        total += v
    scale = 1 / exp_digamma(total)
    for k in range(K):
        t[k] = exp_digamma(out[k]) * scale
    return change / K


@compiled
def update_documents(rows, first, last, B, alpha, max_iter, tol, eps, gamma, theta):
    """E-step of documents first, ..., last - 1: gamma and exp E[log theta], in place.

    Iterates gamma_k = alpha + t_k sum_w (n_w / sum_l t_l B_wl) B_wk until its mean
    change is below `tol`. `theta` holds t of the initial gamma.
    """
    indptr, indices, counts = rows
    K = B.shape[1]
    sums = np.empty(K)
    for d in range(first, last):
        t = theta[d]
        for _ in range(max_iter):
            sums[:] = 0.0
            for i in range(indptr[d], indptr[d + 1]):
                b = B[indices[i]]
                add_scaled_row(sums, counts[i] / (topic_product(t, b) + eps), b)
            if add_prior(sums, t, alpha, gamma[d]) < tol:
                break


@compiled
def word_topic_sums(rows, theta, B, eps, out):
    """Expected counts of words by topics over B, added to `out`; sum n log p."""
    indptr, indices, counts = rows
    value = 0.0
    for d in range(len(theta)):
        t = theta[d]
        for i in range(indptr[d], indptr[d + 1]):
            w = indices[i]
            p = topic_product(t, B[w]) + eps
            value += counts[i] * math.log(p)
            add_scaled_row(out[w], counts[i] / p, t)
    return value


@compiled
def log_likelihood_of_words(rows, theta, B):
    """sum over words of n log sum_k exp(E[log theta_k] + E[log beta_kw])."""
    indptr, indices, counts = rows
    value = 0.0
    for d in range(len(theta)):
        for i in range(indptr[d], indptr[d + 1]):
            value += counts[i] * math.log(topic_product(theta[d], B[indices[i]]))
    return value
