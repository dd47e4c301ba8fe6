"""Compiled log densities and their gradients, in the form of `_target_density.py`."""

import math

import numpy as np
from numba import carray

from ...core.loops._intrinsics import float64_pointer
from ...core.loops.compiled import FASTMATH, compiled
from ...distributions._natural_parameters import exp_in_place
from ._target_density import TABLE_SLOT

# rows of a block fit into the cache, and a product of 128 factors below 2 is < 2^128
BLOCK_ROWS = 128
LOG_2 = math.log(2.0)


@compiled(inner=True, refcount=True)
def _data_vector(table, i):
    """Data array i, of one axis."""
    return carray(float64_pointer(table[TABLE_SLOT * i]), (table[TABLE_SLOT * i + 1],))


@compiled(inner=True, refcount=True)
def _data_matrix(table, i):
    """Data array i, of two axes."""
    entry = TABLE_SLOT * i
    return carray(float64_pointer(table[entry]), (table[entry + 1], table[entry + 2]))


def diagonal_normal_log_density(x, g, d, table):
    """-1/2 sum p_j (x_j - mu_j)^2."""
    mu, p = _data_vector(table, 0), _data_vector(table, 1)
    total = 0.0
    for j in range(d):
        e = x[j] - mu[j]
        g[j] = -p[j] * e
        total += g[j] * e
    return 0.5 * total


def dense_normal_log_density(x, g, d, table):
    """-1/2 (x - mu)' P (x - mu)."""
    mu = _data_vector(table, 0)
    P = _data_matrix(table, 1)
    for j in range(d):
        g[j] = 0.0
    for i in range(0, d - 1, 2):  # two rows of P, which is symmetric, at a time
        a, b = mu[i] - x[i], mu[i + 1] - x[i + 1]
        for j in range(d):
            g[j] += a * P[i, j] + b * P[i + 1, j]
    if d % 2:
        a = mu[d - 1] - x[d - 1]
        for j in range(d):
            g[j] += a * P[d - 1, j]
    total = 0.0
    for j in range(d):
        total += g[j] * (x[j] - mu[j])
    return 0.5 * total


@compiled(inner=True, fastmath=FASTMATH)
def _block_scores(Z, x, f):
    """f = Z' x, four rows of Z at a time, then the remaining rows."""
    d = Z.shape[0]
    for i in range(BLOCK_ROWS):
        f[i] = 0.0
    for j in range(0, d - 3, 4):
        a, b, c, e = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(BLOCK_ROWS):
            f[i] += a * Z[j, i] + b * Z[j + 1, i] + c * Z[j + 2, i] + e * Z[j + 3, i]
    for j in range(d - d % 4, d):
        for i in range(BLOCK_ROWS):
            f[i] += x[j] * Z[j, i]


@compiled(inner=True, fastmath=FASTMATH)
def _add_block_gradient(Z, f, g):
    """g += Z f, two rows of Z at a time."""
    d = Z.shape[0]
    for j in range(0, d - 1, 2):
        a = b = 0.0
        for i in range(BLOCK_ROWS):
            a += f[i] * Z[j, i]
            b += f[i] * Z[j + 1, i]
        g[j] += a
        g[j + 1] += b
    if d % 2:
        a = 0.0
        for i in range(BLOCK_ROWS):
            a += f[i] * Z[d - 1, i]
        g[d - 1] += a


def logistic_log_density(px, pg, d, table):
    """-sum_i log(1 + exp(-f_i)) - 1/2 sum_j q_j x_j^2, f_i = z_i' x.

    Rows z_i, multiplied by the sign of their label, lie in blocks (d, BLOCK_ROWS); the
    last block is filled with `spare` rows of zeros. The factors 1 + exp(-|f|) of a
    block are multiplied, so that only one logarithm is needed.
    """
    q = _data_vector(table, 1)
    spare = _data_vector(table, 2)[0]
    blocks = carray(float64_pointer(table[0]), (table[1], table[2], BLOCK_ROWS))
    x, g = carray(px, (d,)), carray(pg, (d,))
    total = spare * LOG_2
    for j in range(d):
        g[j] = -q[j] * x[j]
        total += 0.5 * g[j] * x[j]
    f, e = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    bits = np.empty(BLOCK_ROWS, np.int64)
    powers = bits.view(np.float64)
    for k in range(blocks.shape[0]):
        Z = blocks[k]
        _block_scores(Z, x, f)
        for i in range(BLOCK_ROWS):
            e[i] = -abs(f[i])
        exp_in_place(e, bits, powers)
        product = 1.0
        for i in range(BLOCK_ROWS):
            total += min(f[i], 0.0)
            product *= 1.0 + e[i]
            f[i] = (e[i] if f[i] > 0 else 1.0) / (1.0 + e[i])  # 1 - sigmoid(f)
        total -= math.log(product)
        _add_block_gradient(Z, f, g)
    return total


def linear_log_density(x, g, d, table):
    """Regression y ~ N(X b, s^2), b_j ~ N(0, 1/q), s ~ half-normal(r); x = (b, log s).

    From the sums G = X'X, c = X'y, t = y'y and n: rows of the data are not needed.
    """
    G = _data_matrix(table, 0)
    c = _data_vector(table, 1)
    settings = _data_vector(table, 2)
    t, n, q, r = settings[0], settings[1], settings[2], settings[3]
    p = d - 1
    u = math.exp(-2.0 * x[p])  # 1 / s^2
    rss = t
    prior = 0.0
    for j in range(p):
        f = 0.0
        for k in range(p):
            f += G[j, k] * x[k]
        rss += x[j] * (f - 2.0 * c[j])
        g[j] = u * (c[j] - f) - q * x[j]
        prior += q * x[j] * x[j]
    half = 0.5 / (u * r * r)  # s^2 / (2 r^2)
    g[p] = rss * u - n + 1.0 - 2.0 * half
    return -0.5 * (rss * u + prior) - (n - 1.0) * x[p] - half


def eight_schools_log_density(x, g, d, table):
    """y_i ~ N(mu + tau z_i, sigma_i^2), x = (mu, log tau, z), priors as in the text."""
    y, sigma = _data_vector(table, 0), _data_vector(table, 1)
    tau = math.exp(x[1])
    c = tau * tau / 25.0  # tau ~ half-Cauchy(5), mu ~ N(0, 25)
    total = -0.02 * x[0] * x[0] + x[1] - math.log(1.0 + c)
    g[0] = -0.04 * x[0]
    g[1] = 1.0 - 2.0 * c / (1.0 + c)
    for i in range(d - 2):
        z = x[2 + i]
        r = (y[i] - x[0] - tau * z) / sigma[i]
        s = r / sigma[i]
        total -= 0.5 * (r * r + z * z)
        g[0] += s
        g[1] += s * tau * z
        g[2 + i] = s * tau - z
    return total


def funnel_log_density(x, g, d, table):
    """v = x_0 ~ N(0, scale^2), x_j ~ N(0, exp(v))."""
    scale = _data_vector(table, 0)[0]
    u = math.exp(-x[0])
    square = 0.0
    for j in range(1, d):
        g[j] = -u * x[j]
        square += x[j] * x[j]
    k = d - 1
    g[0] = -x[0] / (scale * scale) + 0.5 * (u * square - k)
    return -0.5 * (x[0] * x[0] / (scale * scale) + u * square + k * x[0])


def banana_log_density(x, g, d, table):
    """x_0 ~ N(0, s^2), x_1 ~ N(b (x_0^2 - s^2), 1)."""
    settings = _data_vector(table, 0)
    s, b = settings[0], settings[1]
    r = x[1] - b * (x[0] * x[0] - s * s)
    g[0] = -x[0] / (s * s) + 2.0 * b * x[0] * r
    g[1] = -r
    return -0.5 * (x[0] * x[0] / (s * s) + r * r)
