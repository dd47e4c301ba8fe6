"""Compiled gradients: of every row -dl/df, d2l/df2 and the loss, in one walk.

Rows go by blocks that stay in the first-level cache, so that each step is a simple
loop that the compiler turns into vector instructions. Losses that need exponentials
take them from `exp_block`. A logarithm is taken of the product of a block, not of
every row: log a + log b = log a b.
"""

import math

import numpy as np
from numba import njit

from ..losses._pointwise import curvature, gradient, value

BLOCK = 256
FAST = {"contract", "reassoc", "nsz", "arcp"}
LOG2E = 1.4426950408889634
LN2_HIGH = 6.93145751953125e-1  # few bits: a multiple by a small whole number is exact
LN2_LOW = 1.42860682030941723212e-6
LARGEST_PRODUCT = 1e200  # a product is logged before it overflows


@njit(cache=True, nogil=True, error_model="numpy", fastmath=False)
def exp_block(x, bits, e, m):
    """e = exp(x) of the first m entries, to rounding, for x from -708 to 709.

    x = k log 2 + r with whole k; exp r is its Taylor series to r^13 by Horner's rule,
    2^k is written straight into the exponent of a double. The order of the
    subtractions matters, so the fast arithmetic of callers must not be inherited.
    """
    for i in range(m):
        v = min(max(x[i], -708.0), 709.0)
        k = math.floor(v * LOG2E + 0.5)
        r = (v - k * LN2_HIGH) - k * LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        e[i] = p * r + 1.0
        bits[i] = (np.int64(np.int32(k)) + 1023) << 52
    power = bits.view(np.float64)
    for i in range(m):
        e[i] *= power[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def logistic_gradients(y, f, w, weigh, start, stop, G, H):
    """Of log(1 + exp f) - y f: G = y - p, H = p (1 - p), times w if `weigh`."""
    x, e = np.empty(BLOCK), np.empty(BLOCK)
    bits, total = np.empty(BLOCK, np.int64), 0.0
    for a in range(start, stop, BLOCK):
        m = min(BLOCK, stop - a)
        for i in range(m):
            x[i] = -abs(f[a + i])
        exp_block(x, bits, e, m)
        straight, product = 0.0, 1.0
        for i in range(m):
            v, t = f[a + i], y[a + i]
            q = 1.0 / (1.0 + e[i])
            G[a + i] = t - (q if v >= 0 else e[i] * q)
            H[a + i] = e[i] * q * q
            straight += max(v, 0.0) - t * v
            product *= 1.0 + e[i]
        if w.size:
            for i in range(m):
                v = f[a + i]
                loss = max(v, 0.0) - y[a + i] * v + math.log(1.0 + e[i])
                total += w[a + i] * loss
                if weigh:
                    G[a + i] *= w[a + i]
                    H[a + i] *= w[a + i]
        else:
            total += straight + math.log(product)
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def softmax_gradients(y, f, w, weigh, start, stop, G, H):
    """Of log sum exp f_k - f_y: G_k = [y = k] - p_k, H_k = p_k (1 - p_k)."""
    K = f.shape[0]
    x, top, s = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    E, bits, total = np.empty((K, BLOCK)), np.empty(BLOCK, np.int64), 0.0
    for a in range(start, stop, BLOCK):
        m = min(BLOCK, stop - a)
        for i in range(m):
            top[i], s[i] = f[0, a + i], 0.0
        for k in range(1, K):
            for i in range(m):
                top[i] = max(top[i], f[k, a + i])
        for k in range(K):
            for i in range(m):
                x[i] = f[k, a + i] - top[i]
            exp_block(x, bits, E[k], m)
            for i in range(m):
                s[i] += E[k, i]
        product = 1.0
        for i in range(m):
            loss = top[i] - f[y[a + i], a + i]
            if w.size:
                total += w[a + i] * (loss + math.log(s[i]))
            else:
                total += loss
                product *= s[i]
                if product > LARGEST_PRODUCT:
                    total += math.log(product)
                    product = 1.0
            s[i] = 1.0 / s[i]
        total += math.log(product)
        for k in range(K):
            g, h = G[k], H[k]
            for i in range(m):
                p = E[k, i] * s[i]
                g[a + i] = (1.0 if y[a + i] == k else 0.0) - p
                h[a + i] = p * (1.0 - p)
            if weigh:
                for i in range(m):
                    g[a + i] *= w[a + i]
                    h[a + i] *= w[a + i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def half_squared_gradients(y, f, w, weigh, start, stop, G):
    """Of (f - y)^2 / 2, whose curvature is 1."""
    total = 0.0
    for i in range(start, stop):
        r = y[i] - f[i]
        v = w[i] if w.size else 1.0
        total += v * r * r
        G[i] = v * r if weigh else r
    return total / 2


@njit(cache=True, nogil=True, error_model="numpy")
def pointwise_gradients(kind, a, y, f, w, weigh, start, stop, G, H):
    """Of any loss with one column. H is left alone if it is empty."""
    total = 0.0
    for i in range(start, stop):
        v = w[i] if w.size else 1.0
        total += v * value(kind, y[i], f[i], a)
        u = v if weigh else 1.0
        G[i] = -u * gradient(kind, y[i], f[i], a)
        if H.size:
            H[i] = u * max(curvature(kind, y[i], f[i], a), 0.0)
    return total
