"""Compiled loops of k-means, in the letters and equations of `kmeans.py`.

Three groups of loops: the nearest centre of a tile of rows, one Lloyd iteration over a
block of rows, and the seeding of `initialization.py`.

*Tiles.* LANES rows are transposed, so that a row is a SIMD lane, and meet all centres,
four centres and four features at a time (`nearest_in_tile`). That keeps the multipliers
in registers, needs no reduction across lanes, and finds the nearest and the second
nearest centre in the same sweep. Rows of at most FEW columns are held in registers as a
whole (`nearest_few_columns`). Rows of many columns meet many centres in a matrix
product, which is what BLAS is best at (`find_nearest`).

Arrays that belong together are handed over as tuples: `centers` is a `CenterTerms`,
`sums` the arrays of a `ClusterSums` (both of `lloyd_iteration.py`), `bounds` is (u, l),
and `work` is what `nearest_workspace` makes.
"""

import math

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from .aligned_arrays import aligned_empty, aligned_zeros

LANES = 256
STRIDE = LANES + 16  # a power of two would put all lanes of a row into one cache set
FEW = 8  # columns that fit into registers
WIDE_D, WIDE_K = 128, 32  # columns and centres from which a matrix product is faster

# What an iteration does about the bounds of eq. (4)
WITHOUT_BOUNDS, MAKE_BOUNDS, USE_BOUNDS = 0, 1, 2


def padded_shape(k, d):
    """k and d rounded up to what the loops want."""
    return -(-k // 4) * 4, FEW if d <= FEW else -(-d // 4) * 4


def uses_matrix_product(k, d) -> bool:
    """Whether rows of d columns meet k centres in a matrix product."""
    return d >= WIDE_D and k >= WIDE_K


def nearest_workspace(k, d, dtype):
    """Scratch arrays of `find_nearest` (made here, it need not be compiled).

    T (the tile), D (products), best, second, norm and bar (one number a lane), the row
    numbers of the tile, and the label of the nearest centre of each lane.
    """
    k4, d4 = padded_shape(k, d)
    wide = uses_matrix_product(k, d)
    T = aligned_zeros((LANES, d4) if wide else (d4, STRIDE), dtype)
    D = aligned_empty((k4 if wide else 4, LANES), dtype)
    best, second, norm, bar = aligned_empty((4, LANES), dtype)
    rows = aligned_zeros((2 * LANES,), np.int64)
    near = aligned_empty((LANES,), np.int32)
    return T, D, best, second, norm, bar, rows, near


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def two_smallest(v, j, best, second, label):
    """The two smallest values seen and the label of the smallest, after v."""
    less = v < best
    high = best if less else v
    return (
        v if less else best,
        high if high < second else second,
        j if less else label,
    )


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def reset_nearest(best, second, z):
    """Forget the centres seen so far."""
    for r in range(LANES):
        best[r] = np.inf
        second[r] = np.inf
        z[r] = 0


@compiled(inner=True, fastmath=FASTMATH)
def fold_four_centers(D, q, c2, j, best, second, z):
    """Take c2_j + D_q and the next three into the smallest values."""
    j0, j1, j2, j3 = np.int32(j), np.int32(j + 1), np.int32(j + 2), np.int32(j + 3)
    e0, e1, e2, e3 = c2[j], c2[j + 1], c2[j + 2], c2[j + 3]
    for r in range(LANES):
        b, s, y = two_smallest(D[q, r] + e0, j0, best[r], second[r], z[r])
        b, s, y = two_smallest(D[q + 1, r] + e1, j1, b, s, y)
        b, s, y = two_smallest(D[q + 2, r] + e2, j2, b, s, y)
        best[r], second[r], z[r] = two_smallest(D[q + 3, r] + e3, j3, b, s, y)


@compiled(inner=True, fastmath=FASTMATH)
def nearest_in_tile(T, A, c2, D, best, second, z):
    """Smallest and second smallest of c2_j + A_j.x over j, for each lane x of T.

    Shapes    T (d4, STRIDE)   A (k4, d4)   c2 (k4,)   D (4, LANES) scratch
    where d4, k4 are d, k rounded up to a multiple of 4; c2 is inf in the padding.
    """
    d4, k4 = T.shape[0], A.shape[0]
    reset_nearest(best, second, z)
    for j in range(0, k4, 4):
        for q in range(4):
            for r in range(LANES):
                D[q, r] = 0
        for f in range(0, d4, 4):
            a0, a1, a2, a3 = A[j, f], A[j, f + 1], A[j, f + 2], A[j, f + 3]
            b0, b1, b2, b3 = (
                A[j + 1, f],
                A[j + 1, f + 1],
                A[j + 1, f + 2],
                A[j + 1, f + 3],
            )
            g0, g1, g2, g3 = (
                A[j + 2, f],
                A[j + 2, f + 1],
                A[j + 2, f + 2],
                A[j + 2, f + 3],
            )
            h0, h1, h2, h3 = (
                A[j + 3, f],
                A[j + 3, f + 1],
                A[j + 3, f + 2],
                A[j + 3, f + 3],
            )
            for r in range(LANES):
                x0, x1, x2, x3 = T[f, r], T[f + 1, r], T[f + 2, r], T[f + 3, r]
                D[0, r] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                D[1, r] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                D[2, r] += g0 * x0 + g1 * x1 + g2 * x2 + g3 * x3
                D[3, r] += h0 * x0 + h1 * x1 + h2 * x2 + h3 * x3
        fold_four_centers(D, np.intp(0), c2, j, best, second, z)


@compiled(inner=True, fastmath=FASTMATH)
def nearest_few_columns(T, A, c2, best, z):
    """Smallest of c2_j + A_j.x over j, for each lane x of T, with FEW features."""
    for r in range(LANES):
        best[r] = np.inf
        z[r] = 0
    for j in range(0, A.shape[0], 2):
        a, b, ca, cb = A[j], A[j + 1], c2[j], c2[j + 1]
        a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
        b0, b1, b2, b3, b4, b5, b6, b7 = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
        ja, jb = np.int32(j), np.int32(j + 1)
        for r in range(LANES):
            x0, x1, x2, x3 = T[0, r], T[1, r], T[2, r], T[3, r]
            x4, x5, x6, x7 = T[4, r], T[5, r], T[6, r], T[7, r]
            va = ca + a0 * x0 + a1 * x1 + (a2 * x2 + a3 * x3)
            va += (a4 * x4 + a5 * x5) + (a6 * x6 + a7 * x7)
            vb = cb + b0 * x0 + b1 * x1 + (b2 * x2 + b3 * x3)
            vb += (b4 * x4 + b5 * x5) + (b6 * x6 + b7 * x7)
            less = vb < va
            v, y = vb if less else va, jb if less else ja
            less = v < best[r]
            best[r], z[r] = v if less else best[r], y if less else z[r]


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def nearest_of_two(X, m, rows, count, A, c2, z):
    """Index of the nearer of two centres: the side of the plane half way between them.

    A_2 is A_1 - A_0.
    """
    shift = c2[1] - c2[0]
    for r in range(count):
        x = X[rows[r]]
        total = shift
        for f in range(X.shape[1]):
            total += (x[f] - m[f]) * A[2, f]
        z[r] = 1 if total < 0 else 0


@compiled(inner=True, fastmath=FASTMATH)
def transpose_rows(X, m, rows, count, listed, T):
    """Write rows of X less m into the lanes of T.

    `rows` are their numbers if `listed`; else they follow rows[0].
    """
    d, start = X.shape[1], rows[0]
    whole = d // 4 * 4
    for f in range(0, whole, 4):
        m0, m1, m2, m3 = m[f], m[f + 1], m[f + 2], m[f + 3]
        if listed:
            for r in range(count):
                x = X[rows[r]]
                T[f, r], T[f + 1, r] = x[f] - m0, x[f + 1] - m1
                T[f + 2, r], T[f + 3, r] = x[f + 2] - m2, x[f + 3] - m3
        else:
            for r in range(count):
                T[f, r], T[f + 1, r] = X[start + r, f] - m0, X[start + r, f + 1] - m1
                T[f + 2, r] = X[start + r, f + 2] - m2
                T[f + 3, r] = X[start + r, f + 3] - m3
    for f in range(whole, d):
        for r in range(count):
            T[f, r] = X[rows[r] if listed else start + r, f] - m[f]


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def squared_row_norms_about(X, m, rows, count, norm):
    """|x - m|^2 of some rows. A row is read from end to end, and cached after that."""
    for r in range(count):
        x = X[rows[r]]
        total = m.dtype.type(0)
        for f in range(X.shape[1]):
            v = x[f] - m[f]
            total += v * v
        norm[r] = total


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def copy_centered_rows(X, m, rows, count, V, norm):
    """Write rows of X less m into the rows of V, and their squared norms."""
    for r in range(count):
        x, v = X[rows[r]], V[r]
        total = m.dtype.type(0)
        for f in range(X.shape[1]):
            e = x[f] - m[f]
            v[f] = e
            total += e * e
        norm[r] = total


@compiled(inner=True, refcount=True, fastmath=FASTMATH)
def find_nearest(X, m, count, listed, both, A, c2, work):
    """The nearest centre of some rows of X; with `both` also how far, and the next.

    `work` holds the row numbers. It receives `near` and `best`, which is short of
    |x - m|^2, and with `both` that `norm` and `second`.
    """
    T, D, best, second, norm, _, rows, near = work
    if D.shape[0] > 4:  # the workspace of a matrix product
        copy_centered_rows(X, m, rows, count, T, norm)
        np.dot(A, T.T, D)
        reset_nearest(best, second, near)
        for j in range(0, A.shape[0], 4):
            fold_four_centers(D, j, c2, j, best, second, near)
        return
    if both:
        squared_row_norms_about(X, m, rows, count, norm)
    elif c2.shape[0] == 4 and np.isinf(c2[2]) and T.shape[0] > FEW:
        nearest_of_two(X, m, rows, count, A, c2, near)
        return
    transpose_rows(X, m, rows, count, listed, T)
    if T.shape[0] == FEW and not both:
        nearest_few_columns(T, A, c2, best, near)
    else:
        nearest_in_tile(T, A, c2, D, best, second, near)


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def centered_squared_distance(x, m, c):
    """|x - m - c|^2, from differences."""
    total = x.dtype.type(0)
    for f in range(x.shape[0]):
        v = x[f] - m[f] - c[f]
        total += v * v
    return total


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def squared_distance(x, c):
    """|x - c|^2, from differences."""
    total = x.dtype.type(0)
    for f in range(x.shape[0]):
        v = x[f] - c[f]
        total += v * v
    return total


@compiled(refcount=False, fastmath=FASTMATH)
def prepare_centers(C, previous, m, with_bounds, c, A, c2, p, s, drop, eps):
    """Fill in c = C - m, A = -2 c, c2 = |c|^2 and, for bounds, p, s and drop.

    p_j is how far centre j moved, s_j half the way to the nearest other centre,
    drop_j how far any other centre moved at most; each is rounded to the safe side.
    """
    k, d = C.shape
    first, p1, p2 = -1, 0.0, 0.0  # the centre that moved most, and the next
    for j in range(k):
        norm, shift = 0.0, 0.0
        for f in range(d):
            c[j, f] = previous[j, f] - m[f]  # rounded as in the previous iteration
            old = c[j, f]
            c[j, f] = C[j, f] - m[f]
            v = np.float64(c[j, f])
            norm += v * v
            shift += (v - old) * (v - old)
            A[j, f] = -2 * v
        way = math.sqrt(shift) * (1 + eps)
        c2[j] = norm
        p[j] = way
        s[j] = np.inf
        if way > p1:
            first, p1, p2 = j, way, p1
        elif way > p2:
            p2 = way
    if k == 2:
        for f in range(d):
            A[2, f] = A[1, f] - A[0, f]  # for `nearest_of_two`
    if with_bounds:
        for j in range(k):
            drop[j] = (p2 if j == first else p1) * (1 + eps)
            for i in range(j):
                half = (
                    math.sqrt(squared_distance(c[i], c[j])) * 0.499995
                )  # rounded down
                s[i], s[j] = min(s[i], half), min(s[j], half)


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def rows_to_check(X, z, bounds, start, stop, tighten, centers, work, count, eps):
    """Append the rows start .. stop that eq. (4) cannot clear to the list in `work`.

    `tighten` first measures the distance to the row's own centre anew. Returns the
    length of the list, and how many rows failed eq. (4) before tightening.
    """
    u, low = bounds
    m, C, _, _, p, s, drop = centers
    bar, rows = work[5], work[6]
    up, down, e = 1 + 2 * eps, 1 - 2 * eps, (X.shape[1] + 8) * eps
    for r in range(stop - start):
        i = start + r
        a = z[i]
        u[i] = (u[i] + p[a]) * up
        low[i] = (low[i] - drop[a]) * down
        bar[r] = max(low[i], s[a])
    at = count
    for r in range(stop - start):  # no branch, since it could not be predicted
        rows[at] = start + r
        at += u[start + r] >= bar[r]
    if not tighten:
        return at, at - count
    end, at = at, count
    for t in range(count, end):
        i = rows[t]
        u[i] = math.sqrt(centered_squared_distance(X[i], m, C[z[i]])) * (1 + e)
        rows[at] = i
        at += u[i] >= bar[i - start]
    return at, end - count


@compiled(refcount=False, fastmath=FASTMATH)
def assign_block(X, w, z, bounds, mode, tighten, centers, sums, work, eps):
    """One Lloyd iteration over a block of rows: new labels in z, changes added to sums.

    bounds (u, low): u_i >= |x_i - c_{z_i}| and low_i <= the distance to every other
    centre, both for the previous centres. `mode` is WITHOUT_BOUNDS to compare every row
    with all centres, MAKE_BOUNDS to do that and note bounds, USE_BOUNDS to use them.
    z_i = -1 marks a row not seen before. eps is that of X. Returns how many labels
    changed, how many rows failed eq. (4), and for how many of those the distance to
    their own centre alone would have cleared them.
    """
    u, low = bounds
    m, C, A, c2, _, s, _ = centers
    d, n = C.shape[1], X.shape[0]
    _, _, best, second, norm, _, rows, near = work
    # Rounding must never make a bound wrong: `up` and `down` outgrow what one addition
    # loses, and `e` bounds the error of the dot products in `find_nearest`.
    up = 1 + 2 * eps
    down = 1 - 2 * eps
    e = (d + 8) * eps
    widest = c2[0]
    for j in range(1, C.shape[0]):
        widest = max(widest, c2[j])
    moved, suspect, spared, count = 0, 0, 0, 0
    for start in range(0, n, LANES):
        stop = min(start + LANES, n)
        if mode == USE_BOUNDS:
            old = count
            count, n_suspect = rows_to_check(
                X, z, bounds, start, stop, tighten, centers, work, count, eps
            )
            suspect += n_suspect
            spared += n_suspect - (count - old)
        else:
            for i in range(start, stop):
                rows[i - start] = i
            count = stop - start
        while count >= LANES or (stop == n and count > 0):
            size = min(count, LANES)
            listed, both = mode == USE_BOUNDS, mode != WITHOUT_BOUNDS
            find_nearest(X, m, size, listed, both, A, c2, work)
            if mode != WITHOUT_BOUNDS:
                for r in range(size):
                    i = rows[r]
                    slack = e * (norm[r] + widest)
                    own = math.sqrt(max(best[r] + norm[r], 0) + slack) * up
                    if mode == USE_BOUNDS and own < max(low[i], s[z[i]]):
                        spared += 1
                    u[i] = own
                    low[i] = math.sqrt(max(second[r] + norm[r] - slack, 0)) * down
            moved += reassign_rows(X, w, z, m, rows, near, size, sums)
            count -= size
            for r in range(count):
                rows[r] = rows[r + size]
    return moved, suspect, spared


@compiled(inner=True, inline="always", fastmath=FASTMATH)
def reassign_rows(X, w, z, m, rows, near, count, sums):
    """Give `rows` the labels `near` and update the sums; how many labels changed."""
    S, M, Q, N = sums
    moved = 0
    for r in range(count):
        i, new, old = rows[r], near[r], z[rows[r]]
        if new == old:
            continue
        z[i] = new
        moved += 1
        wi = w[i]
        if wi > 0:
            for side in range(2 if old >= 0 else 1):
                j, wi = (old, -wi) if side else (new, wi)
                norm = m.dtype.type(0)
                for f in range(X.shape[1]):
                    v = X[i, f] - m[f]
                    S[j, f] += wi * v
                    norm += v * v
                M[j] += wi
                Q[j] += wi * norm
                N[j] += -1 if side else 1
    return moved


@compiled(refcount=False, fastmath=FASTMATH)
def nearest_center_block(X, m, A, c2, z, work):
    """The nearest centre of each row, computed as in `assign_block`."""
    rows, near = work[6], work[7]
    no = np.bool_(False)  # the word False would be a type of its own
    for start in range(0, X.shape[0], LANES):
        count = min(LANES, X.shape[0] - start)
        for r in range(count):
            rows[r] = start + r
        find_nearest(X, m, count, no, no, A, c2, work)
        for r in range(count):
            z[start + r] = near[r]


@compiled(refcount=False, fastmath=FASTMATH)
def cluster_means(S, M, Q, N, C, m, new):
    """Eq. (3): fill in the means of nonempty clusters; J before, and the shift."""
    k, d = C.shape
    J, shift = 0.0, 0.0
    for j in range(k):
        J += Q[j]
        for f in range(d):
            c = C[j, f] - m[f]
            J += c * (M[j] * c - 2 * S[j, f])
            new[j, f] = m[f] + S[j, f] / M[j] if N[j] > 0 else C[j, f]
            shift += (new[j, f] - C[j, f]) ** 2
    return J, shift


@compiled(refcount=False, fastmath=FASTMATH)
def block_costs(X, w, z, m, C, out):
    """Add to `out` J of eq. (1) over a block, from differences, for each cluster."""
    for i in range(X.shape[0]):
        out[z[i]] += w[i] * centered_squared_distance(X[i], m, C[z[i]])


@compiled(refcount=False, fastmath=FASTMATH)
def farthest_row(X, w, z, m, C, P):
    """The row of positive weight farthest from its centre and from all rows of P."""
    far, top = -1, -1.0
    for i in range(X.shape[0]):
        if w[i] > 0:
            v = centered_squared_distance(X[i], m, C[z[i]])
            for t in range(P.shape[0]):
                v = min(v, centered_squared_distance(X[i], m, P[t]))
            if v > top:
                far, top = i, v
    return far, top


@compiled(refcount=False, fastmath=FASTMATH)
def shifted_moments(X, w, x0, s1, s2):
    """Total weight; adds up the weighted sums of x - x0 and its square."""
    d = X.shape[1]
    W = 0.0
    for i in range(X.shape[0]):
        wi = w[i]
        W += wi
        for f in range(d):
            v = X[i, f] - x0[f]
            s1[f] += wi * v
            s2[f] += wi * v * v
    return W


@compiled(refcount=False, fastmath=FASTMATH)
def candidate_costs(X, w, D2, z, V, gap, cost):
    """Add to cost_t what J would be over this block with candidate V_t as a centre.

    gap (t, c) holds |V_t - c_j|^2: a candidate more than twice as far from a row's
    centre as the row itself is cannot be nearer (triangle inequality).
    """
    n = X.shape[0]
    for start in range(0, n, LANES):
        stop = min(start + LANES, n)
        for t in range(V.shape[0]):
            total = 0.0
            for i in range(start, stop):
                v = D2[i]
                if gap[t, z[i]] < 4 * v:
                    v = min(v, squared_distance(X[i], V[t]))
                total += w[i] * v
            cost[t] += total


@compiled(refcount=False, fastmath=FASTMATH)
def update_nearest_seed(X, D2, z, c, j, gap):
    """Lower D2 to the distance from the new seed c, number j, where it is nearer."""
    for i in range(X.shape[0]):
        if gap[z[i]] < 4 * D2[i]:
            v = squared_distance(X[i], c)
            if v < D2[i]:
                D2[i] = v
                z[i] = j


@compiled(refcount=False, fastmath=FASTMATH)
def sample_along_order(order, mass, targets, out):
    """Positions where the running sum of `mass` along `order` passes each target.

    `targets` are rising fractions of the total, which is returned. Rows without mass
    are never drawn.
    """
    total = 0.0
    for i in range(order.shape[0]):
        total += mass[order[i]]
    run, at, last = 0.0, 0, -1
    for i in range(order.shape[0]):
        if mass[order[i]] > 0:
            run += mass[order[i]]
            last = order[i]
            while at < targets.shape[0] and run > targets[at] * total:
                out[at] = last
                at += 1
    for t in range(at, targets.shape[0]):  # only rounding leaves a target unreached
        out[t] = last
    return total
