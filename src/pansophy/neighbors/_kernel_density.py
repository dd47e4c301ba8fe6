"""Compiled loops of `kernel_density`: one walk of a k-d tree for every query.

Weights w are in tree order, W (n + 1,) are their sums up to each place. `shape` is the
kernel: 0 gaussian, 1 tophat, 2 epanechnikov, 3 exponential, 4 linear, 5 cosine.
"""

import math

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled
from ..distances._kd_tree import (
    WIDE,
    distances_to_rows,
    max_distance_to_box,
    min_distance_to_box,
)

FAR = 40.0  # exp(-40) of the nearest row's share is below rounding
LOG_ERROR = 0.01  # what log p may be wrong by, however large atol is


@compiled(fastmath=FASTMATH)
def small_exp(x):
    """exp(x) for -40 <= x <= 0 in steps a vector unit can do: exp(x / 64)^64."""
    t = x * (1 / 64)
    y = 1 + t * (1 / 11)
    y = 1 + t * (1 / 10) * y
    y = 1 + t * (1 / 9) * y
    y = 1 + t * (1 / 8) * y
    y = 1 + t * (1 / 7) * y
    y = 1 + t * (1 / 6) * y
    y = 1 + t * (1 / 5) * y
    y = 1 + t * (1 / 4) * y
    y = 1 + t * (1 / 3) * y
    y = 1 + t * (1 / 2) * y
    y = 1 + t * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    y = y * y
    return y * y


@compiled
def distance_from_reduced(reduced, kind, p):
    """The distance from the reduced distance (its square, or its power p)."""
    if kind == 2:
        return math.sqrt(reduced)
    return reduced if kind < 2 else reduced ** (1 / p)


@compiled
def kernel_value(u, shape, shift):
    """The kernel at u = distance / h, times exp(shift), without its norm.

    A box may come nearer than the nearest row does, whose value is 1: without the
    minimum exp overflows there.
    """
    if shape == 0:
        return math.exp(min(shift - 0.5 * u * u, 0.0))
    if shape == 3:
        return math.exp(min(shift - u, 0.0))
    if u >= 1:
        return 0.0
    if shape == 1:
        return 1.0
    if shape == 2:
        return 1 - u * u
    if shape == 4:
        return 1 - u
    return math.cos(0.5 * math.pi * u)


@compiled(fastmath=FASTMATH)
def leaf_kernel_sum(buffer, w, low, m, h, shape, shift, kind, p):
    """sum of w K over the m rows of a leaf, whose reduced distances are in buffer."""
    total = 0.0
    if shape == 0 and kind == 2:
        scale = -0.5 / (h * h)
        for i in range(m):
            x = min(buffer[i] * scale + shift, 0.0)
            total += w[low + i] * small_exp(max(x, -FAR)) * (x > -FAR)
    elif shape == 2 and kind == 2:
        scale = 1 / (h * h)
        for i in range(m):
            x = 1 - buffer[i] * scale
            total += w[low + i] * max(x, 0.0)
    else:
        for i in range(m):
            total += w[low + i] * kernel_value(
                distance_from_reduced(buffer[i], kind, p) / h, shape, shift
            )
    return total


@compiled
def kernel_sums(metric, tree, w, W, QT, first, last, h, shape, shifts, log_atol, rtol):
    """sum_i w_i K(d(q, x_i) / h) exp(shift_q) for the queries first to last.

    A node counts as a whole, at the middle of the kernel's values at its nearest and
    farthest point, if the most that may be wrong by (`wrong`, with what earlier nodes
    took) is within the tolerance for the share of weight seen so far (`seen`): then
    all nodes together err by at most atol exp(shift) + rtol sum. `sure` is at most
    the sum: what is known, and the least that the other nodes hold. Where the sum is
    far below atol it would be free; it still errs by at most LOG_ERROR of itself, so
    that its logarithm means something.
    """
    kind, p = metric
    XT, lo, hi, levels = tree
    n = len(w)
    leaves = 1 << levels
    buffer = np.empty(n // leaves + 1 + WIDE, XT.dtype)
    nodes = np.empty(2 * levels + 2, np.int64)
    least = np.empty(2 * levels + 2)
    most = np.empty(2 * levels + 2)
    out = np.zeros(last - first)
    for q in range(first, last):
        shift = shifts[q]
        total = 0.0
        near = distance_from_reduced(
            min_distance_to_box(QT, q, lo[0], hi[0], kind, p), kind, p
        )
        far = distance_from_reduced(
            max_distance_to_box(QT, q, lo[0], hi[0], kind, p), kind, p
        )
        top, nodes[0] = 1, 0
        least[0], most[0] = (
            kernel_value(far / h, shape, shift),
            kernel_value(near / h, shape, shift),
        )
        sure = least[0] * W[n]
        allowed = math.exp(min(log_atol + shift, 700.0))
        wrong, seen = 0.0, 0.0
        while top:
            top -= 1
            node, small, large = nodes[top], least[top], most[top]
            level = 0
            while (2 << level) - 1 <= node:
                level += 1
            j = node - ((1 << level) - 1)
            low, high = (n * j) >> level, (n * (j + 1)) >> level
            mass = W[high] - W[low]
            error = wrong + mass * (large - small) / 2
            limit = min(allowed, LOG_ERROR * sure) + rtol * sure
            if error <= limit * (seen + mass) / W[n]:
                total += mass * (small + large) / 2
                wrong, seen = error, seen + mass
                continue
            sure -= mass * small
            if node >= leaves - 1:
                distances_to_rows(XT, low, high - low, QT, q, kind, p, buffer)
                part = leaf_kernel_sum(
                    buffer, w, low, high - low, h, shape, shift, kind, p
                )
                total += part
                sure += part
                seen += mass
                continue
            middle = (n * (2 * j + 1)) >> (level + 1)
            for child in (2 * node + 1, 2 * node + 2):
                near = distance_from_reduced(
                    min_distance_to_box(QT, q, lo[child], hi[child], kind, p), kind, p
                )
                far = distance_from_reduced(
                    max_distance_to_box(QT, q, lo[child], hi[child], kind, p), kind, p
                )
                nodes[top] = child
                least[top] = kernel_value(far / h, shape, shift)
                most[top] = kernel_value(near / h, shape, shift)
                held = W[middle] - W[low]
                if child & 1 == 0:
                    held = W[high] - W[middle]
                sure += least[top] * held
                top += 1
            if most[top - 2] > most[top - 1]:  # the nearer child is next
                a, b = top - 2, top - 1
                nodes[a], nodes[b] = nodes[b], nodes[a]
                least[a], least[b] = least[b], least[a]
                most[a], most[b] = most[b], most[a]
        out[q - first] = total
    return out
