"""Compiled loops of NMF: coordinate descent on the rows of one factor."""

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled

GROUP = 32  # rows swept together


@compiled(fastmath=FASTMATH)
def coordinate_sweeps(W, G, C, l1, order, max_sweeps, tol):
    """Lower 1/2 w G w - (c - l1) w over w >= 0 for each row w of W, in place.

    Every coordinate t in `order` is set to its best value given the others. A row is
    swept again until a sweep's violation (the sum of projected gradients met in it) is
    at most `tol` times that of its first, `max_sweeps` times at most. Returns the sum
    of the first violations. Rows go in small groups, one coordinate of all of them
    after another, so that no number is read just after it was written.
    """
    n, k = W.shape
    total = 0.0
    first, met = np.empty(GROUP), np.empty(GROUP)
    live = np.empty(GROUP, np.int64)  # rows of the group that are still swept
    for start in range(0, n, GROUP):
        count = min(GROUP, n - start)
        for j in range(count):
            live[j] = j
        for sweep in range(max_sweeps):
            met[:] = 0.0
            for s in range(k):
                t = order[s]
                h = G[t, t]
                for a in range(count):
                    j = live[a]
                    i = start + j
                    g = l1 - C[i, t]
                    for r in range(k):
                        g += G[t, r] * W[i, r]
                    w = W[i, t]
                    p = min(g, 0.0) if w == 0.0 else g
                    met[j] += abs(p)
                    if h > 0.0:
                        W[i, t] = max(w - g / h, 0.0)
            left = 0
            for a in range(count):
                j = live[a]
                if sweep == 0:
                    first[j] = met[j]
                    total += met[j]
                if met[j] > tol * first[j]:
                    live[left] = j
                    left += 1
            count = left
            if count == 0:
                break
    return total


@compiled(fastmath=FASTMATH)
def product_at_entries(W, H, indptr, indices):
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
