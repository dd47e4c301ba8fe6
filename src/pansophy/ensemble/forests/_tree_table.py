"""Compiled screening of stumps: class weights by coarse bin, bounds on gains.

The equations are in `tree_table.py`.
"""

from ...core.loops.compiled import compiled

BINS = 256


@compiled
def coarse_bin_codes(x, order, f, codes):
    """Write the bin of each row to codes[:, f]: equal counts, equal values together."""
    n = order.shape[0]
    b = 0
    for i in range(n):
        if i == 0 or x[order[i]] != x[order[i - 1]]:
            b = i * BINS // n
        codes[order[i], f] = b


@compiled
def class_weight_by_bin(codes, w, y, H):
    """H[f, bin] = weight, weight of the second class."""
    n, d = codes.shape
    H[:] = 0.0
    for i in range(n):
        a = w[i]
        c = a * y[i, 0]
        for f in range(d):
            h = H[f, codes[i, f]]
            h[0] += a
            h[1] += c


@compiled
def relative_gain(u, v, S, W):
    """Gain of a split, up to a factor common to all: u of S and v of W on the left."""
    if v <= 0.0 or v >= W:
        return 0.0
    t = u - S / W * v
    return t * t / (v * (W - v))


@compiled
def column_gain_bounds(H, S, W, best, bound):
    """By column: the best gain at a limit of bins, and a bound for any threshold."""
    for f in range(H.shape[0]):
        u = v = 0.0
        top = high = 0.0
        for b in range(H.shape[1]):
            dv, du = H[f, b]
            if dv <= 0.0:
                continue
            # within the bin: first one class, then the other, in either order
            high = max(high, relative_gain(u + du, v + du, S, W))
            high = max(high, relative_gain(u, v + (dv - du), S, W))
            u += du
            v += dv
            top = max(top, relative_gain(u, v, S, W) if v < W * (1.0 - 1e-12) else 0.0)
        best[f] = top
        bound[f] = max(high, top)
