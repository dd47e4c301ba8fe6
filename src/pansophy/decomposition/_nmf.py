"""Compiled loops of NMF: coordinate descent on the rows of one factor."""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST)
def sweeps(W, G, C, l1, order, most, enough):
    """Lower 1/2 w G w - (c - l1) w over w >= 0 for each row w of W, in place.

    Every coordinate t in `order` goes to its best value given the others. A row is
    swept again until a sweep's violation (the projected gradient met on the way) is
    at most `enough` times that of its first, `most` times at most. Returns the sum of
    the first violations.
    """
    n, k = W.shape
    total = 0.0
    for i in range(n):
        first = 0.0
        for turn in range(most):
            met = 0.0
            for s in range(k):
                t = order[s]
                g = l1 - C[i, t]
                for r in range(k):
                    g += G[t, r] * W[i, r]
                w, h = W[i, t], G[t, t]
                p = min(g, 0.0) if w == 0.0 else g
                met += abs(p)
                if h > 0.0:
                    W[i, t] = max(w - g / h, 0.0)
            if turn == 0:
                first = met
                total += met
            if met <= enough * first:
                break
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def at_entries(W, H, indptr, indices):
    """(W H^T) at the stored entries of a CSR matrix; H is (d, k)."""
    out = np.empty(len(indices), W.dtype)
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            s = W.dtype.type(0)
            for t in range(W.shape[1]):
                s += W[i, t] * H[j, t]
            out[e] = s
    return out
