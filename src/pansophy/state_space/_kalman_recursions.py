"""Loops over the steps of linear Gaussian chains, one observed number at a time.

The letters and equations are those of `kalman_passes`. Beliefs are stored once: row
slot[t] of P, K, f holds what step t needs, so that steps whose covariance has settled,
or is that of an earlier sequence, share a row. Matrices are (1, ..) or (n, ..).

Arithmetic is done in `room` and `line`, matrices and vectors in which k is filled up
with zeros to w, a multiple of four: see `core._fours`.
"""

import numpy as np
from numba import njit

from ..core._fours import add, add_both, inner, mirror, product, times
from ..core.numerics import LOG_2PI

FAST = {"contract", "nsz", "arcp"}
EPS = 2.220446049250313e-16
LOSSY_FACTOR = 1e3  # a variance that falls by this factor loses digits in eq. (7)


@njit(cache=True, nogil=True)
def copy_vector(a, out):
    """out = a, as far as a goes; cheaper to compile than a slice."""
    for i in range(min(len(a), len(out))):
        out[i] = a[i]


@njit(cache=True, nogil=True)
def copy_matrix(A, out):
    for i in range(min(len(A), len(out))):
        for j in range(min(len(A), len(out))):
            out[i, j] = A[i, j]


@njit(cache=True, nogil=True, fastmath=FAST)
def relative_change(S, old, root):
    """Largest |S - old| against the square roots of the diagonal; stops when large."""
    k, most = len(S), 0.0
    for i in range(k):
        d = abs(S[i, i] - old[i, i])
        if d > 1e-12 * abs(S[i, i]):
            return 1.0
        root[i] = np.sqrt(abs(S[i, i]))
    for i in range(k):
        for j in range(i + 1):
            d, scale = abs(S[i, j] - old[i, j]), root[i] * root[j]
            if d > 1e-12 * scale:
                return 1.0
            if scale > 0.0 and d > most * scale:
                most = d / scale
    return most


@njit(cache=True, nogil=True)
def has_converged(now, before, calm):
    """Whether what is left to change is rounding, and how many steps were calm."""
    calm = calm + 1 if now <= 16 * EPS else 0
    left = now * now / (before - now) if now < before else 1.0
    return calm >= 8 or now <= EPS or (now <= 1e-13 and left <= 1e-14), calm


@njit(cache=True, nogil=True, fastmath=FAST)
def update_covariance(x, H, r, P, K, f, ph, g):
    """Update P by a row of x, Joseph's form, one number after the other; log det.

    f is -1 where x is missing and 0 where it was known before it was seen.
    """
    w, log_f, size = len(P), 0.0, 1.0
    for i in range(len(x)):
        f[i] = -1.0
        if np.isnan(x[i]):
            continue
        scale = r[i]
        for j in range(w):
            g[j] = 0.0
            scale += H[i, j] * H[i, j] * abs(P[j, j])
        times(P, H[i], g, ph)
        s = r[i] + inner(H, i * w, ph, 0, w)
        if s <= 8 * EPS * scale:
            f[i] = 0.0
            continue
        f[i] = s
        if not 1e-150 < size * s < 1e150:
            log_f, size = log_f + np.log(size), 1.0
        size *= s
        inverse = 1.0 / s
        for j in range(w):
            K[i, j] = ph[j] * inverse
            g[j] = -r[i] * K[i, j]
        for j in range(w):  # W = P (I - h K')
            add(-ph[j], K, i * w, P, j * w, w)
        times(P, H[i], g, ph)  # h'W - r K'
        for j in range(w):  # (I - K h') W + r K K'
            add(-K[i, j], ph, 0, P, j * w, w)
    mirror(P)
    return log_f + np.log(size)


@njit(cache=True, nogil=True)
def equal_matrices(A, B):
    for i in range(len(A)):
        for j in range(len(A)):
            if A[i, j] != B[i, j]:
                return False
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def update_mean(x, H, K, f, log_f, a, v):
    """Move the mean a by a row of x; its log-likelihood."""
    loglik = -0.5 * log_f
    for i in range(len(x)):
        v[i] = np.nan
        if f[i] < 0.0:
            continue
        e = x[i] - inner(H, i * len(a), a, 0, len(a))
        v[i] = e
        if f[i] == 0.0:
            if abs(e) > 1e-7 * (1.0 + abs(x[i])):
                loglik = -np.inf
            continue
        add(e, K, i * len(a), a, 0, len(a))
        loglik -= 0.5 * (LOG_2PI + e * e / f[i])
    return loglik


@njit(cache=True, nogil=True, fastmath=FAST)
def filter_sequences(
    x, begins, ends, a0, P0, F, Q, c, H, r, pattern, whole, m, P, K, f, log_f, v, ll,
    slot, room, line,
):  # fmt: skip
    """Eq. (1) to (4) for each sequence; `whole` marks rows that may share covariances.

    Returns how many rows had a covariance of their own.
    """
    k = m.shape[1]
    tF, tQ, tc = int(len(F) > 1), int(len(Q) > 1), int(len(c) > 1)
    rows = np.empty(line.shape[1], np.int64)
    FT, W, C, zero = room[2], room[3], room[4], room[5]
    a, b, ph, g = line[0], line[1], line[2], line[3]
    leader, lead, lead_s, own, held, now = -1, 0, 0, 0, -1, 0
    for i in range(k):
        for j in range(k):
            FT[j, i], C[i, j] = F[0, i, j], Q[0, i, j]
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        following = leader >= 0 and equal_matrices(P0[s], P0[lead_s])
        complete, still, before, calm = True, False, 1.0, 0
        for t in range(begin, end):
            if tF:
                for i in range(k):
                    for j in range(k):
                        FT[j, i] = F[t, i, j]
            if t == begin:
                copy_vector(a0[s], a)
            else:
                copy_vector(c[tc * t], b)
                times(FT, a, b, ph)
                copy_vector(ph, a)
            h = pattern[t]
            complete = complete and whole[t]
            following = following and whole[t] and t - begin < lead
            if following:
                slot[t] = slot[leader + t - begin]
            elif still and whole[t]:
                slot[t] = slot[t - 1]
            else:
                own += 1
                slot[t] = t
                if t == begin:
                    copy_matrix(P0[s], room[now])
                else:
                    if held != slot[t - 1]:
                        copy_matrix(P[slot[t - 1]], room[now])
                    if tQ:
                        copy_matrix(Q[t], C)
                    product(room[now], FT, zero, 1.0, False, rows, W)
                    now = 1 - now
                    product(W, FT, C, 1.0, True, rows, room[now])
                    mirror(room[now])
                held = t
                log_f[t] = update_covariance(
                    x[t], H[h], r[h], room[now], K[t], f[t], ph, g
                )
                copy_matrix(room[now], P[t])
                still = False
                if whole[t] and t > begin and whole[t - 1]:
                    moved = relative_change(room[now], room[1 - now], b)
                    still, calm = has_converged(moved, before, calm)
                    before = moved
            q = slot[t]
            ll[t] = update_mean(x[t], H[h], K[q], f[q], log_f[q], a, v[t])
            copy_vector(a, m[t])
        if complete and end - begin > lead:
            leader, lead, lead_s = begin, end - begin, s
    return own


@njit(cache=True, nogil=True, fastmath=FAST)
def adjoint_step(H, K, f, v, d, rr, N, g, y, zero, u, D, still):
    """The adjoint (r, N) of the belief before a row of x from that after it."""
    w = len(rr)
    for i in range(len(f) - 1, -1, -1):
        if f[i] <= 0.0:
            u[i], d[i] = 0.0, 0.0
            continue
        e = v[i] / f[i] - inner(K, i * w, rr, 0, w)
        u[i] = e
        add(e, H, i * w, rr, 0, w)
        if still:
            d[i] = D[i]
            continue
        times(N, K[i], zero, g)
        s = 1.0 / f[i] + inner(K, i * w, g, 0, w)
        d[i] = s
        for j in range(w):
            y[j] = s * H[i, j] - g[j]
        for j in range(w):
            add_both(H[i, j], y, 0, -g[j], H, i * w, N, j * w, w)


@njit(cache=True, nogil=True)
def same_slots(slot, a, b, length):
    """Whether two runs of steps have the same covariances."""
    different = 0
    for j in range(length):
        different += slot[a + j] != slot[b + j]
    return different == 0


@njit(cache=True, nogil=True, fastmath=FAST)
def smooth_sequences(
    begins, ends, F, H, pattern, m, P, K, f, v, slot, keep, z, V, r, N, u, D,
    turn, r0, N0, room, line,
):  # fmt: skip
    """Eq. (5) to (8): smoothed z, V; the adjoints r, N, u, D, where `keep`.

    Row turn[t] of V, N and D belongs to step t. r0, N0: at the start of sequences.
    Returns in how many rows of V a variance falls by a factor of LOSS.
    """
    k = m.shape[1]
    tF = int(len(F) > 1)
    rows = np.empty(line.shape[1], np.int64)
    FF, W, S, B, zero = room[2], room[3], room[4], room[5], room[6]
    rr, b, g, y, none = line[0], line[1], line[2], line[3], line[4]
    leader, lead, lead_s, held, now, lossy = -1, -1, 0, -1, 0, 0
    copy_matrix(F[0], FF)
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        follows = lead == end - begin and same_slots(slot, begin, leader, lead)
        still, before, calm = follows, 1.0, 0
        copy_vector(none, rr)
        copy_matrix(zero, room[now])
        for t in range(end - 1, begin - 1, -1):
            q = slot[t]
            same_here = t < end - 1 and q == slot[t + 1]
            if follows:
                turn[t] = turn[leader + t - begin]
            else:
                still = still and same_here
                turn[t] = turn[t + 1] if still else t
            if held != q:
                copy_matrix(P[q], B)
                held = q
            if t < end - 1:
                if tF:
                    copy_matrix(F[t + 1], FF)
                times(FF, rr, none, b)
                copy_vector(b, rr)
            copy_vector(m[t], b)
            times(B, rr, b, g)
            copy_vector(g, z[t])
            if not still:
                if t < end - 1:
                    product(room[now], FF, zero, 1.0, False, rows, W)
                    now = 1 - now
                    product(W, FF, zero, 1.0, True, rows, room[now])
                    mirror(room[now])
                    product(room[now], B, zero, 1.0, False, rows, W)
                    product(W, B, B, -1.0, True, rows, S)
                    mirror(S)
                else:
                    copy_matrix(B, S)
                copy_matrix(S, V[t])
                lost = False
                for i in range(k):
                    V[t, i, i] = max(V[t, i, i], 0.0)
                    lost = lost or B[i, i] > LOSSY_FACTOR * V[t, i, i]
                lossy += lost
            w, o = (t, turn[t]) if keep else (0, 0)
            adjoint_step(
                H[pattern[t]], K[q], f[q], v[t], D[w], rr, room[now], g, y, none, u[w],
                D[o], still,
            )  # fmt: skip
            if keep:
                copy_vector(rr, r[t])
            if not still:
                mirror(room[now])
                if keep:
                    copy_matrix(room[now], N[t])
                if same_here:
                    moved = relative_change(room[now], room[1 - now], b)
                    still, calm = has_converged(moved, before, calm)
                    before = moved
        copy_vector(rr, r0[s])
        copy_matrix(N0[lead_s] if follows else room[now], N0[s])
        if not follows:
            leader, lead, lead_s = begin, end - begin, s
    return lossy
