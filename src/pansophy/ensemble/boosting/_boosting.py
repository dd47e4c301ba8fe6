"""Compiled loops of boosting: gradients of all rows, and values of leaves.

Gradients. Rows go by blocks that stay in the first-level cache, so that each step is a
simple loop that the compiler turns into vector instructions. Losses that need
exponentials take them from `exp_block`. The logarithm is taken of the product of a
block instead of every row: log a + log b = log a b. Sums have loops of their own, so
that they do not depend on where arrays lie (`core/loops/compiled.py`).

Leaves. Nodes a .. b are worked on in one call, inner nodes only if `inner`.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core._scalar import exp_series
from ...core.arrays._weighted import weighted_quantile
from ...core.loops.compiled import FASTMATH, compiled
from ...losses._pointwise import loss_curvature, loss_gradient, loss_value

BLOCK = 256
LOG2E = 1.4426950408889634
LN2_HIGH = 6.93145751953125e-1  # few bits: a multiple by a small integer is exact
LN2_LOW = 1.42860682030941723212e-6
LARGEST_PRODUCT = 1e200  # a product is logged before it overflows


class NodeRows(NamedTuple):
    """The rows of a tree in the order of its nodes: node v has start[v] .. stop[v]."""

    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    left: np.ndarray  # left child of each node, negative for leaves
    inner: bool  # whether inner nodes get a value as well


@compiled(inner=True)
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
        e[i] = exp_series(r)
        bits[i] = (np.int64(np.int32(k)) + 1023) << 52
    power = bits.view(np.float64)
    for i in range(m):
        e[i] *= power[i]


@compiled(fastmath=FASTMATH)
def logistic_gradients(y, f, w, weighted, start, stop, G, H):
    """Gradients of log(1 + exp f) - y f: G = y - p, H = p (1 - p), times w."""
    x, e = np.empty(BLOCK), np.empty(BLOCK)
    bits = np.empty(BLOCK, np.int64)
    total = 0.0
    for a in range(start, stop, BLOCK):
        m = min(BLOCK, stop - a)
        for i in range(m):
            x[i] = -abs(f[a + i])
        exp_block(x, bits, e, m)
        for i in range(m):
            q = 1.0 / (1.0 + e[i])
            G[a + i] = y[a + i] - (q if f[a + i] >= 0 else e[i] * q)
            H[a + i] = e[i] * q * q
        if weighted:
            for i in range(m):
                G[a + i] *= w[a + i]
                H[a + i] *= w[a + i]
        if w.size:
            for i in range(m):
                v = f[a + i]
                loss = max(v, 0.0) - y[a + i] * v + math.log(1.0 + e[i])
                total += w[a + i] * loss
        else:
            straight, product = 0.0, 1.0
            for i in range(m):
                v = f[a + i]
                straight += max(v, 0.0) - y[a + i] * v
                product *= 1.0 + e[i]
            total += straight + math.log(product)
    return total


@compiled(fastmath=FASTMATH)
def softmax_gradients(y, f, w, weighted, start, stop, G, H):
    """Gradients of log sum exp f_k - f_y: G_k = [y = k] - p_k, H_k = p_k (1 - p_k)."""
    K = f.shape[0]
    x, top, s = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    E = np.empty((K, BLOCK))
    bits = np.empty(BLOCK, np.int64)
    total = 0.0
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
            if weighted:
                for i in range(m):
                    g[a + i] *= w[a + i]
                    h[a + i] *= w[a + i]
    return total


@compiled(refcount=False, fastmath=FASTMATH)
def half_squared_gradients(y, f, w, weighted, start, stop, G):
    """Gradients of (f - y)^2 / 2, whose curvature is 1."""
    for i in range(start, stop):
        r = y[i] - f[i]
        G[i] = w[i] * r if weighted else r
    total = 0.0
    for i in range(start, stop):
        r = y[i] - f[i]
        v = w[i] if w.size else 1.0
        total += v * r * r
    return total / 2


@compiled(refcount=False)
def pointwise_gradients(kind, a, y, f, w, weighted, start, stop, G, H):
    """Gradients of any loss with one column. H is left alone if it is empty."""
    total = 0.0
    for i in range(start, stop):
        v = w[i] if w.size else 1.0
        total += v * loss_value(kind, y[i], f[i], a)
        u = v if weighted else 1.0
        G[i] = -u * loss_gradient(kind, y[i], f[i], a)
        if H.size:
            H[i] = u * max(loss_curvature(kind, y[i], f[i], a), 0.0)
    return total


@compiled(refcount=False)
def add_leaf_values(nodes, value, a, b, f):
    """Add the value of its leaf to f of every row of the leaves a .. b."""
    rows, start, stop, left, _ = nodes
    for v in range(a, b):
        if left[v] < 0:
            step = value[v]
            for i in range(np.uint64(start[v]), np.uint64(stop[v])):
                f[np.uint64(rows[i])] += step


@compiled(refcount=False)
def newton_leaf_values(nodes, G, H, w, factor, a, b, value):
    """factor sum w G / sum w H by node, or 0 where the curvature is 0."""
    rows, start, stop, left, inner = nodes
    for v in range(a, b):
        if left[v] >= 0 and not inner:
            continue
        g = h = 0.0
        for i in range(start[v], stop[v]):
            r = rows[i]
            u = w[r] if w.size else 1.0
            g += u * G[r]
            h += u * (H[r] if H.size else 1.0)
        value[v] = factor * g / h if abs(h) > 1e-150 else 0.0


@compiled
def quantile_leaf_values(nodes, y, f, w, level, delta, a, b, value):
    """Quantile of y - f by node; with delta > 0 the one step of Huber's loss.

    That step is the median plus the mean of the remainders, clipped at delta.
    """
    rows, start, stop, left, inner = nodes
    for v in range(a, b):
        if left[v] >= 0 and not inner:
            continue
        m = stop[v] - start[v]
        r, u = np.empty(m), np.empty(m if w.size else 0)
        for i in range(m):
            row = rows[start[v] + i]
            r[i] = y[row] - f[row]
            if w.size:
                u[i] = w[row]
        middle = weighted_quantile(r, u, level)
        if delta > 0:
            rest = total = 0.0
            for i in range(m):
                weight = u[i] if w.size else 1.0
                rest += weight * min(max(r[i] - middle, -delta), delta)
                total += weight
            middle += rest / total
        value[v] = middle


@compiled
def bound_leaf_values(left, right, feature, signs, value):
    """Clip the values of leaves to the bounds of the monotone splits above them.

    A split on a feature of sign s separates its children at the mean of their values;
    nodes come before their children.
    """
    low = np.full(left.size, -np.inf)
    high = np.full(left.size, np.inf)
    for v in range(left.size):
        if left[v] < 0:
            value[v] = min(max(value[v], low[v]), high[v])
            continue
        a, b, s = left[v], right[v], signs[feature[v]]
        low[a], high[a], low[b], high[b] = low[v], high[v], low[v], high[v]
        if s != 0:
            middle = (value[a] + value[b]) / 2
            middle = min(max(middle, low[v]), high[v])
            if s > 0:
                high[a] = low[b] = middle
            else:
                low[a] = high[b] = middle
