"""Compiled loops of k-medoids. Letters as in `kmedoids.py`; no checks, no threads."""

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled


@compiled(fastmath=FASTMATH)
def build_gains(D, rows, w, near):
    """Eq. (2): sum_i w_i max(0, near_i - D_ci) for some rows c of D."""
    out = np.zeros(rows.shape[0])
    for c in range(rows.shape[0]):
        total = 0.0
        row = D[rows[c]]
        for i in range(row.shape[0]):
            v = near[i] - row[i]
            total += w[i] * (v if v > 0 else 0)
        out[c] = total
    return out


@compiled(fastmath=FASTMATH)
def two_nearest(M, first, second, a, b):
    """The smallest entry of each column of M (k, n) and the next: values and rows."""
    k, n = M.shape
    for i in range(n):
        first[i] = np.inf
        second[i] = np.inf
        a[i] = 0
        b[i] = 0
    for j in range(k):
        for i in range(n):
            v = M[j, i]
            if v < first[i]:
                second[i], b[i] = first[i], a[i]
                first[i], a[i] = v, j
            elif v < second[i]:
                second[i], b[i] = v, j


@compiled(fastmath=FASTMATH)
def removal_losses(w, first, second, a, out):
    """Eq. (3): how much J rises if medoid j is removed."""
    out[:] = 0.0
    for i in range(w.shape[0]):
        out[a[i]] += w[i] * (second[i] - first[i])


@compiled(fastmath=FASTMATH)
def best_swap(row, w, first, second, a, loss, out):
    """Eq. (4): the best medoid to replace by the candidate of `row`, and the change."""
    k = loss.shape[0]
    for j in range(k):
        out[j] = loss[j]
    shared = 0.0
    for i in range(row.shape[0]):
        v = row[i]
        if v < second[i]:
            if v < first[i]:
                shared += w[i] * (v - first[i])
                v = first[i]
            out[a[i]] += w[i] * (v - second[i])
    best = 0
    for j in range(1, k):
        if out[j] < out[best]:
            best = j
    return best, out[best] + shared


@compiled(fastmath=FASTMATH)
def replace_medoid(row, out, M, first, second, a, b):
    """Replace medoid `out` by the candidate of `row`; update the two nearest."""
    k, n = M.shape
    for i in range(n):
        M[out, i] = row[i]
    for i in range(n):
        v = row[i]
        if a[i] == out or b[i] == out:
            f = np.inf
            s = np.inf
            x = 0
            y = 0
            for j in range(k):
                u = M[j, i]
                if u < f:
                    s, y = f, x
                    f, x = u, j
                elif u < s:
                    s, y = u, j
            first[i], second[i], a[i], b[i] = f, s, x, y
        elif v < first[i]:
            second[i], b[i] = first[i], a[i]
            first[i], a[i] = v, out
        elif v < second[i]:
            second[i], b[i] = v, out


@compiled(fastmath=FASTMATH)
def swap_sweep(
    D, rows, candidates, w, medoids, nearest, loss, changes, least, total, idle
):
    """Eq. (4) for each candidate in order, swapping at once where that lowers J.

    The distances from candidate c are in row rows_c of D. `nearest` is (M, d1, d2, a,
    b), a and b the nearest and second nearest medoid; `loss` is eq. (3), `changes`
    scratch of the same size. `least` is how much a swap must lower J. idle[0] counts
    the candidates since the last swap; once they are all `total`, the rest is left out.
    Returns the number of swaps.
    """
    M, first, second, a, b = nearest
    swaps = 0
    for c in range(candidates.shape[0]):
        if idle[0] >= total:
            break
        idle[0] += 1
        here = False
        for j in range(medoids.shape[0]):
            here = here or medoids[j] == candidates[c]
        if here:
            continue
        out, by = best_swap(D[rows[c]], w, first, second, a, loss, changes)
        if by < -least:
            medoids[out] = candidates[c]
            replace_medoid(D[rows[c]], out, M, first, second, a, b)
            removal_losses(w, first, second, a, loss)
            swaps += 1
            idle[0] = 0
    return swaps
