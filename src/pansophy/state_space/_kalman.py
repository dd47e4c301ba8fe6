"""Loops over the steps of linear Gaussian chains, one observed number at a time.

The letters and equations are those of `kalman_passes`. Beliefs are stored once: row
slot[t] of P, K, f holds what step t needs, so that steps whose covariance has settled,
or is that of an earlier sequence, share a row. Matrices are (1, ..) or (n, ..).
"""

import numpy as np
from numba import njit

from ..core.numerics import LOG_2PI

FAST = {"contract", "reassoc", "nsz", "arcp"}
EPS = 2.220446049250313e-16


@njit(cache=True, nogil=True, fastmath=FAST)
def product(A, S, out):
    """out = A S, four rows of S at a time; zeros of A cost little."""
    k = len(S)
    for i in range(k):
        for j in range(k):
            out[i, j] = 0.0
        whole = k - k % 4
        for q in range(0, whole, 4):
            a, b, c, d = A[i, q], A[i, q + 1], A[i, q + 2], A[i, q + 3]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for j in range(k):
                    out[i, j] += (a * S[q, j] + b * S[q + 1, j]) + (
                        c * S[q + 2, j] + d * S[q + 3, j]
                    )
        for q in range(whole, k):
            a = A[i, q]
            if a != 0.0:
                for j in range(k):
                    out[i, j] += a * S[q, j]


@njit(cache=True, nogil=True, fastmath=FAST)
def sandwich(A, S, W, T, out):
    """out = A S A' for symmetric S; W and T are room."""
    product(A, S, W)
    for i in range(len(S)):
        for j in range(len(S)):
            T[j, i] = W[i, j]
    product(A, T, out)


@njit(cache=True, nogil=True, fastmath=FAST)
def symmetric(S):
    for i in range(len(S)):
        for j in range(i):
            mean = 0.5 * (S[i, j] + S[j, i])
            S[i, j] = mean
            S[j, i] = mean


@njit(cache=True, nogil=True, fastmath=FAST)
def change(S, old, root):
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
def settled(now, before, calm):
    """Whether what is left to change is rounding, and how many steps were calm."""
    calm = calm + 1 if now <= 16 * EPS else 0
    left = now * now / (before - now) if now < before else 1.0
    return calm >= 8 or now <= EPS or (now <= 1e-13 and left <= 1e-14), calm


@njit(cache=True, nogil=True, fastmath=FAST)
def gains(x, H, r, P, K, f, log_f, ph, w):
    """Update P by a row of x, Joseph's form, one number after the other.

    f is -1 where x is missing and 0 where it was known before it was seen.
    """
    k = len(P)
    for i in range(len(x)):
        f[i] = -1.0
        if np.isnan(x[i]):
            continue
        scale, s = r[i], r[i]
        for j in range(k):
            ph[j] = 0.0
            scale += H[i, j] * H[i, j] * abs(P[j, j])
        for q in range(k):
            g = H[i, q]
            if g != 0.0:
                for j in range(k):
                    ph[j] += g * P[q, j]
        for j in range(k):
            s += H[i, j] * ph[j]
        if s <= 8 * EPS * scale:
            f[i] = 0.0
            continue
        f[i] = s
        log_f[i] = np.log(s)
        for j in range(k):
            K[i, j] = ph[j] / s
        for j in range(k):  # row j of (I - K h') P (I - K h')' + r K K', and mirrored
            t = -r[i] * K[i, j]
            for q in range(k):
                w[q] = P[j, q] - K[i, j] * ph[q]
                t += w[q] * H[i, q]
            for q in range(j + 1):
                P[j, q] = w[q] - t * K[i, q]
            for q in range(j):
                P[q, j] = P[j, q]


@njit(cache=True, nogil=True)
def put(a, out):
    """out = a, cheaper to compile than a slice."""
    for i in range(len(a)):
        out[i] = a[i]


@njit(cache=True, nogil=True)
def put2(A, out):
    for i in range(len(A)):
        for j in range(len(A)):
            out[i, j] = A[i, j]


@njit(cache=True, nogil=True)
def same(A, B):
    for i in range(len(A)):
        for j in range(len(A)):
            if A[i, j] != B[i, j]:
                return False
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def seen(x, H, K, f, log_f, a, v):
    """Move the mean a by a row of x; its log-likelihood."""
    loglik = 0.0
    for i in range(len(x)):
        v[i] = np.nan
        if f[i] < 0.0:
            continue
        e = x[i]
        for j in range(len(a)):
            e -= H[i, j] * a[j]
        v[i] = e
        if f[i] == 0.0:
            if abs(e) > 1e-7 * (1.0 + abs(x[i])):
                loglik = -np.inf
            continue
        for j in range(len(a)):
            a[j] += K[i, j] * e
        loglik -= 0.5 * (LOG_2PI + log_f[i] + e * e / f[i])
    return loglik


@njit(cache=True, nogil=True, fastmath=FAST)
def forward(
    x, begins, ends, a0, P0, F, Q, c, H, r, pattern, whole, m, P, K, f, log_f, v, ll,
    slot,
):  # fmt: skip
    """Eq. (1) to (4) for each sequence; `whole` marks rows that may share covariances.

    Returns how many rows had a covariance of their own.
    """
    k = m.shape[1]
    tF, tQ, tc = int(len(F) > 1), int(len(Q) > 1), int(len(c) > 1)
    a, b, ph = np.empty(k), np.empty(k), np.empty(k)
    W, T = np.empty((k, k)), np.empty((k, k))
    leader, lead, lead_s, own = -1, 0, 0, 0
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        following = leader >= 0 and same(P0[s], P0[lead_s])
        complete, still, before, calm = True, False, 1.0, 0
        for t in range(begin, end):
            if t == begin:
                put(a0[s], a)
            else:
                for i in range(k):
                    b[i] = c[tc * t, i]
                    for j in range(k):
                        b[i] += F[tF * t, i, j] * a[j]
                put(b, a)
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
                    put2(P0[s], P[t])
                else:
                    sandwich(F[tF * t], P[slot[t - 1]], W, T, P[t])
                    for i in range(k):
                        for j in range(k):
                            P[t, i, j] += Q[tQ * t, i, j]
                gains(x[t], H[h], r[h], P[t], K[t], f[t], log_f[t], ph, b)
                still = False
                if whole[t] and t > begin and whole[t - 1]:
                    now = change(P[t], P[slot[t - 1]], b)
                    still, calm = settled(now, before, calm)
                    before = now
            q = slot[t]
            ll[t] = seen(x[t], H[h], K[q], f[q], log_f[q], a, v[t])
            put(a, m[t])
        if complete and end - begin > lead:
            leader, lead, lead_s = begin, end - begin, s
    return own


@njit(cache=True, nogil=True, fastmath=FAST)
def unseen(H, K, f, v, d, rr, N, g, u, D, still):
    """The adjoint (r, N) of the belief before a row of x from that after it."""
    k = len(rr)
    for i in range(len(f) - 1, -1, -1):
        if f[i] <= 0.0:
            u[i], d[i] = 0.0, 0.0
            continue
        e = v[i] / f[i]
        for j in range(k):
            e -= K[i, j] * rr[j]
        u[i] = e
        for j in range(k):
            rr[j] += H[i, j] * e
        if still:
            d[i] = D[i]
            continue
        s = 1.0 / f[i]
        for j in range(k):
            g[j] = 0.0
            for q in range(k):
                g[j] += N[j, q] * K[i, q]
        for j in range(k):
            s += K[i, j] * g[j]
        d[i] = s
        for j in range(k):
            for q in range(k):
                N[j, q] += s * H[i, j] * H[i, q] - H[i, j] * g[q] - g[j] * H[i, q]


@njit(cache=True, nogil=True)
def alike(slot, a, b, length):
    """Whether two runs of steps have the same covariances."""
    different = 0
    for j in range(length):
        different += slot[a + j] != slot[b + j]
    return different == 0


@njit(cache=True, nogil=True, fastmath=FAST)
def backward(
    begins, ends, FT, H, pattern, m, P, K, f, v, slot, keep, z, V, r, N, u, D,
    turn, r0, N0,
):  # fmt: skip
    """Eq. (5) to (8): smoothed z, V; the adjoints r, N, u, D, where `keep`.

    Row turn[t] of V, N and D belongs to step t. r0, N0: at the start of sequences.
    """
    k = m.shape[1]
    tF = int(len(FT) > 1)
    rr, b, g = np.empty(k), np.empty(k), np.empty(k)
    W, T, S, M = np.empty((k, k)), np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    leader, lead, lead_s = -1, -1, 0
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        follows = lead == end - begin and alike(slot, begin, leader, lead)
        still, before, calm = follows, 1.0, 0
        for i in range(k):
            rr[i] = 0.0
            for j in range(k):
                M[i, j] = 0.0
        for t in range(end - 1, begin - 1, -1):
            q = slot[t]
            same_here = t < end - 1 and q == slot[t + 1]
            if follows:
                turn[t] = turn[leader + t - begin]
            else:
                still = still and same_here
                turn[t] = turn[t + 1] if still else t
            if t < end - 1:
                for i in range(k):
                    b[i] = 0.0
                    for j in range(k):
                        b[i] += FT[tF * (t + 1), i, j] * rr[j]
                put(b, rr)
            for i in range(k):
                z[t, i] = m[t, i]
                for j in range(k):
                    z[t, i] += P[q, i, j] * rr[j]
            if not still:
                if t < end - 1:
                    put2(M, S)
                    sandwich(FT[tF * (t + 1)], S, W, T, M)
                    sandwich(P[q], M, W, T, V[t])
                for i in range(k):
                    for j in range(k):
                        V[t, i, j] = P[q, i, j] - (V[t, i, j] if t < end - 1 else 0.0)
                    V[t, i, i] = max(V[t, i, i], 0.0)
                symmetric(V[t])
            w = t if keep else 0
            o = turn[t] if keep else 0
            unseen(H[pattern[t]], K[q], f[q], v[t], D[w], rr, M, g, u[w], D[o], still)
            if keep:
                put(rr, r[t])
            if not still:
                symmetric(M)
                if keep:
                    put2(M, N[t])
                if same_here:
                    now = change(M, S, b)
                    still, calm = settled(now, before, calm)
                    before = now
                put2(M, S)
        put(rr, r0[s])
        put2(N0[lead_s] if follows else M, N0[s])
        if not follows:
            leader, lead, lead_s = begin, end - begin, s
