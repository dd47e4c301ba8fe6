"""Compiled loops of the repulsion on a grid, of `tsne_repulsion.py`.

Points are spread onto nodes, the field is read back at the points, and the short-ranged
part of the kernel is summed over near pairs.

Weights are quintic B-splines (order 6): a point touches 6 nodes along each axis. A
grid of one axis is a grid of two whose second axis has one node, which all share.
"""

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled

ORDER = 6


@compiled(fastmath=FASTMATH)
def _spline_weights(t, w, d):
    """Values w and slopes d of the ORDER splines that cover a point.

    t in [0, 1) is the place of the point past the third of its six nodes. The order
    is raised by one at a time (de Boor); slopes are differences one order below.
    """
    w[0] = 1 - t
    w[1] = t
    for k in range(2, ORDER):
        if k == ORDER - 1:
            d[0] = -w[0]
            for j in range(1, k):
                d[j] = w[j - 1] - w[j]
            d[k] = w[k - 1]
        reciprocal = 1.0 / k
        w[k] = reciprocal * t * w[k - 1]
        for j in range(k - 1, 0, -1):
            w[j] = reciprocal * ((t + k - j) * w[j - 1] + (1 - t + j) * w[j])
        w[0] = reciprocal * (1 - t) * w[0]


@compiled
def spread_charges(Y, low, h, W, S, at, grid):
    """Put a unit of charge for every point on the grid; keep weights and slopes."""
    m, n = Y.shape
    w, d = np.empty(ORDER), np.empty(ORDER)
    for i in range(n):
        for c in range(m):
            u = (Y[c, i] - low[c]) / h
            cell = int(u)
            _spline_weights(u - cell, w, d)
            at[c, i] = cell
            for k in range(ORDER):
                W[c, i, k] = w[k]
                S[c, i, k] = d[k]
        r = at[0, i]
        s = at[1, i] if m == 2 else 0
        for k in range(ORDER):
            if m == 2:
                for j in range(ORDER):
                    grid[r + k, s + j] += W[0, i, k] * W[1, i, j]
            else:
                grid[r + k, 0] += W[0, i, k]


@compiled
def field_gradient(field, W, S, at, scale, F):
    """F = scale * gradient of the field at the points; the sum of the field there."""
    m, n = at.shape
    total = 0.0
    for i in range(n):
        value, slope_down, slope_across = 0.0, 0.0, 0.0
        r = at[0, i]
        s = at[1, i] if m == 2 else 0
        for k in range(ORDER):
            if m == 1:
                value += W[0, i, k] * field[r + k, 0]
                slope_down += S[0, i, k] * field[r + k, 0]
                continue
            row_value, slope = 0.0, 0.0
            for j in range(ORDER):
                row_value += W[1, i, j] * field[r + k, s + j]
                slope += S[1, i, j] * field[r + k, s + j]
            value += W[0, i, k] * row_value
            slope_down += S[0, i, k] * row_value
            slope_across += W[0, i, k] * slope
        total += value
        F[0, i] = scale * slope_down
        if m == 2:
            F[1, i] = scale * slope_across
    return total


@compiled
def sort_into_cells(Y, low, side, shape):
    """Points sorted by square cells: their order, and where each cell begins."""
    n, rows, columns = Y.shape[1], shape[0], shape[1]
    start = np.zeros(rows * columns + 1, np.int64)
    place = np.empty(n, np.int64)
    for i in range(n):
        r = min(int((Y[0, i] - low[0]) / side), rows - 1)
        c = min(int((Y[1, i] - low[1]) / side), columns - 1)
        place[i] = r * columns + c
        start[place[i] + 1] += 1
    for k in range(rows * columns):
        start[k + 1] += start[k]
    order = np.empty(n, np.int64)
    place_in_order = start.copy()
    for i in range(n):
        order[place_in_order[place[i]]] = i
        place_in_order[place[i]] += 1
    return order, start


@compiled
def count_near_pairs(start, rows, columns):
    """Number of pairs that `add_near_repulsion` sums over."""
    total = 0
    for r in range(rows):
        for c in range(columns):
            k = r * columns + c
            inside = start[k + 1] - start[k]
            for row in range(max(r - 1, 0), min(r + 2, rows)):
                left = row * columns + max(c - 1, 0)
                right = row * columns + min(c + 1, columns - 1)
                total += inside * (start[right + 1] - start[left])
    return total


@compiled(fastmath=FASTMATH)
def add_near_repulsion(x, y, order, start, rows, columns, T, reach, F):
    """Add the push of exp(-T (1 + r^2)) / (1 + r^2) to F; the sum of its values.

    x, y are in the order of cells of side `reach`, beyond which it counts as 0. The
    exponential is a polynomial of a sixteenth of its argument, squared four times.
    """
    unity, T, edge = np.float32(1), np.float32(T), np.float32(reach * reach)
    step, half = np.float32(-T / 16), np.float32(0.5)
    third, fourth = np.float32(1 / 6), np.float32(1 / 24)
    total = 0.0
    for r in range(rows):
        for c in range(columns):
            for i in range(start[r * columns + c], start[r * columns + c + 1]):
                xi, yi = x[i], y[i]
                sx, sy, z = np.float32(0), np.float32(0), np.float32(0)
                for row in range(max(r - 1, 0), min(r + 2, rows)):
                    s = start[row * columns + max(c - 1, 0)]
                    e = start[row * columns + min(c + 1, columns - 1) + 1]
                    xs, ys = x[s:e], y[s:e]
                    for j in range(e - s):
                        u, v = xi - xs[j], yi - ys[j]
                        d = u * u + v * v
                        t = step * (unity + d)
                        w = unity + t * (unity + t * (half + t * (third + t * fourth)))
                        w = w * w
                        w = w * w
                        w = w * w
                        w = w * w
                        q = unity / (unity + d)
                        w = w * q if d < edge else np.float32(0)
                        z += w
                        w *= T + q
                        sx += w * u
                        sy += w * v
                F[0, order[i]] += sx
                F[1, order[i]] += sy
                total += z
    return total
