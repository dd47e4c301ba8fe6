"""Compiled Kalman filter and smoother, one observed number at a time.

The letters and equations are those of `kalman_recursions`. A covariance is stored
once: row slot[t] of P, K and f holds what step t needs, so that steps whose covariance
has converged, or equals that of an earlier sequence, share a row. Matrices are (1, ..)
where they do not change with time, else (n, ..).

Arithmetic is done in `Scratch`, matrices and vectors in which k is padded with zeros
to w, a multiple of four: see `core.linalg._small_matrices`.
"""

from typing import NamedTuple

import numpy as np

from ...core.linalg._small_matrices import (
    add_scaled,
    add_two_scaled,
    mirror_lower_half,
    skip_zero_matmul,
    transposed_matvec,
)
from ...core.loops._intrinsics import dot_four
from ...core.loops.compiled import FASTMATH_ORDERED, compiled
from ...core.numerics import LOG_2PI

EPS = 2.220446049250313e-16
LOSSY_FACTOR = 1e3  # a variance that falls by this factor loses digits in eq. (7)


class Dynamics(NamedTuple):
    """Transition of the state; one row each if it does not change with time."""

    F: np.ndarray  # (1 or n, k, k)
    Q: np.ndarray  # (1 or n, k, k)
    c: np.ndarray  # (1 or n, k)


class Observation(NamedTuple):
    """Observations with independent noise."""

    x: np.ndarray  # (n, p), NaN where missing
    H: np.ndarray  # (g, p, w)
    r: np.ndarray  # (g, p)
    pattern: np.ndarray  # (n,), which of the g
    complete: np.ndarray  # (n,), whether a row may share its covariance


class Sequences(NamedTuple):
    """Bounds of the sequences, and the belief before their first row."""

    begins: np.ndarray  # (s,)
    ends: np.ndarray  # (s,)
    mean: np.ndarray  # (s, k)
    cov: np.ndarray  # (s, k, k)


class FilterArrays(NamedTuple):
    """Filtered beliefs; cov, gain and f of row t are those of slot[t]."""

    mean: np.ndarray  # (n, k)
    cov: np.ndarray  # (n, k, k)
    gain: np.ndarray  # K (n, p, w)
    f: np.ndarray  # (n, p)
    residual: np.ndarray  # (n, p)
    slot: np.ndarray  # (n,)


class SmootherArrays(NamedTuple):
    """Smoothed beliefs and adjoints; cov, N and D of row t are those of slot[t]."""

    mean: np.ndarray  # (n, k)
    cov: np.ndarray  # (n, k, k)
    slot: np.ndarray  # (n,)
    r: np.ndarray  # (n, k), or one row if adjoints are not kept
    N: np.ndarray  # (n, k, k)
    u: np.ndarray  # (n, p)
    D: np.ndarray  # (n, p)


class Scratch(NamedTuple):
    """Zeroed work space."""

    matrices: np.ndarray  # (7, w, w)
    vectors: np.ndarray  # (5, w)


@compiled
def _copy_vector(a, out):
    """out = a, as far as a goes; cheaper to compile than a slice."""
    for i in range(min(len(a), len(out))):
        out[i] = a[i]


@compiled
def _copy_matrix(A, out):
    """out = A, as far as the smaller of both goes."""
    for i in range(min(len(A), len(out))):
        for j in range(min(len(A), len(out))):
            out[i, j] = A[i, j]


@compiled(fastmath=FASTMATH_ORDERED)
def _largest_relative_change(S, old, root):
    """Largest |S - old| against the square roots of the diagonal; stops when large."""
    k = len(S)
    largest = 0.0
    for i in range(k):
        d = abs(S[i, i] - old[i, i])
        if d > 1e-12 * abs(S[i, i]):
            return 1.0
        root[i] = np.sqrt(abs(S[i, i]))
    for i in range(k):
        for j in range(i + 1):
            d = abs(S[i, j] - old[i, j])
            scale = root[i] * root[j]
            if d > 1e-12 * scale:
                return 1.0
            if scale > 0.0 and d > largest * scale:
                largest = d / scale
    return largest


@compiled
def _has_converged(now, before, calm):
    """Whether the change `now` is rounding, and how many steps in a row it was.

    Changes shrink geometrically; what is left of them is now^2 / (before - now).
    """
    calm = calm + 1 if now <= 16 * EPS else 0
    left = now * now / (before - now) if now < before else 1.0
    return calm >= 8 or now <= EPS or (now <= 1e-13 and left <= 1e-14), calm


@compiled(fastmath=FASTMATH_ORDERED)
def _update_covariance(x, H, r, P, K, f, ph, g):
    """Update P by a row of x, Joseph's form, one number after the other; log det.

    f is -1 where x is missing and 0 where it was known before it was seen.
    """
    w = len(P)
    log_f = 0.0
    size = 1.0
    for i in range(len(x)):
        f[i] = -1.0
        if np.isnan(x[i]):
            continue
        scale = r[i]
        for j in range(w):
            g[j] = 0.0
            scale += H[i, j] * H[i, j] * abs(P[j, j])
        transposed_matvec(P, H[i], g, ph)
        s = r[i] + dot_four(H, i * w, ph, 0, w)
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
            add_scaled(-ph[j], K, i * w, P, j * w, w)
        transposed_matvec(P, H[i], g, ph)  # h'W - r K'
        for j in range(w):  # (I - K h') W + r K K'
            add_scaled(-K[i, j], ph, 0, P, j * w, w)
    mirror_lower_half(P)
    return log_f + np.log(size)


@compiled
def _equal_matrices(A, B):
    """Whether all entries are equal."""
    for i in range(len(A)):
        for j in range(len(A)):
            if A[i, j] != B[i, j]:
                return False
    return True


@compiled(fastmath=FASTMATH_ORDERED)
def _update_mean(x, H, K, f, log_f, a, v):
    """Update the mean a by a row of x, eq. (1); returns the log-likelihood, eq. (3)."""
    loglik = -0.5 * log_f
    for i in range(len(x)):
        v[i] = np.nan
        if f[i] < 0.0:
            continue
        e = x[i] - dot_four(H, i * len(a), a, 0, len(a))
        v[i] = e
        if f[i] == 0.0:
            if abs(e) > 1e-7 * (1.0 + abs(x[i])):
                loglik = -np.inf
            continue
        add_scaled(e, K, i * len(a), a, 0, len(a))
        loglik -= 0.5 * (LOG_2PI + e * e / f[i])
    return loglik


@compiled(fastmath=FASTMATH_ORDERED)
def filter_sequences(sequences, dynamics, observation, out, log_f, logliks, scratch):
    """Eq. (1) to (4) for each sequence, into `out`, `log_f` (n,) and `logliks` (n,).

    Returns how many covariances were computed.
    """
    begins, ends, a0, P0 = sequences
    F, Q, c = dynamics
    x, H, r, pattern, complete = observation
    m, P, K, f, v, slot = out
    matrices, vectors = scratch
    k = m.shape[1]
    tF, tQ, tc = int(len(F) > 1), int(len(Q) > 1), int(len(c) > 1)
    rows = np.empty(vectors.shape[1], np.int64)
    FT, W, C, zero = matrices[2], matrices[3], matrices[4], matrices[5]
    a, b, ph, g = vectors[0], vectors[1], vectors[2], vectors[3]
    # a complete sequence leads: later ones with the same start share its covariances
    leader, lead, lead_s = -1, 0, 0
    computed = 0
    held = -1  # the row whose covariance is in matrices[current]
    current = 0
    for i in range(k):
        for j in range(k):
            FT[j, i], C[i, j] = F[0, i, j], Q[0, i, j]
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        following = leader >= 0 and _equal_matrices(P0[s], P0[lead_s])
        all_complete, converged, old_change, calm = True, False, 1.0, 0
        for t in range(begin, end):
            if tF:
                for i in range(k):
                    for j in range(k):
                        FT[j, i] = F[t, i, j]
            if t == begin:
                _copy_vector(a0[s], a)
            else:
                _copy_vector(c[tc * t], b)
                transposed_matvec(FT, a, b, ph)
                _copy_vector(ph, a)
            h = pattern[t]
            all_complete = all_complete and complete[t]
            following = following and complete[t] and t - begin < lead
            if following:
                slot[t] = slot[leader + t - begin]
            elif converged and complete[t]:
                slot[t] = slot[t - 1]
            else:
                computed += 1
                slot[t] = t
                if t == begin:
                    _copy_matrix(P0[s], matrices[current])
                else:
                    if held != slot[t - 1]:
                        _copy_matrix(P[slot[t - 1]], matrices[current])
                    if tQ:
                        _copy_matrix(Q[t], C)
                    skip_zero_matmul(matrices[current], FT, zero, 1.0, False, rows, W)
                    current = 1 - current
                    skip_zero_matmul(W, FT, C, 1.0, True, rows, matrices[current])
                    mirror_lower_half(matrices[current])
                held = t
                log_f[t] = _update_covariance(
                    x[t], H[h], r[h], matrices[current], K[t], f[t], ph, g
                )
                _copy_matrix(matrices[current], P[t])
                converged = False
                if complete[t] and t > begin and complete[t - 1]:
                    change = _largest_relative_change(
                        matrices[current], matrices[1 - current], b
                    )
                    converged, calm = _has_converged(change, old_change, calm)
                    old_change = change
            q = slot[t]
            logliks[t] = _update_mean(x[t], H[h], K[q], f[q], log_f[q], a, v[t])
            _copy_vector(a, m[t])
        if all_complete and end - begin > lead:
            leader = begin
            lead = end - begin
            lead_s = s
    return computed


@compiled(fastmath=FASTMATH_ORDERED)
def _adjoint_step(H, K, f, v, N, vectors, u, d, D, converged):
    """Eq. (5): the adjoint (r, N) before a row of x from that after it, in place.

    r is vectors[0]. If N has `converged` it stays, and d is that of a later row, D.
    """
    rr, g, y, zero = vectors[0], vectors[2], vectors[3], vectors[4]
    w = len(rr)
    for i in range(len(f) - 1, -1, -1):
        if f[i] <= 0.0:
            u[i], d[i] = 0.0, 0.0
            continue
        e = v[i] / f[i] - dot_four(K, i * w, rr, 0, w)
        u[i] = e
        add_scaled(e, H, i * w, rr, 0, w)
        if converged:
            d[i] = D[i]
            continue
        transposed_matvec(N, K[i], zero, g)
        s = 1.0 / f[i] + dot_four(K, i * w, g, 0, w)
        d[i] = s
        for j in range(w):
            y[j] = s * H[i, j] - g[j]
        for j in range(w):
            add_two_scaled(H[i, j], y, 0, -g[j], H, i * w, N, j * w, w)


@compiled
def _same_slots(slot, a, b, length):
    """Whether two stretches of steps share their covariances."""
    different = 0
    for j in range(length):
        different += slot[a + j] != slot[b + j]
    return different == 0


@compiled(fastmath=FASTMATH_ORDERED)
def smooth_sequences(begins, ends, F, observation, filtered, keep, out, first, scratch):
    """Eq. (5) to (8), into `out`; its adjoints are kept for every row where `keep`.

    `first` = (r (s, k), N (s, k, k)) receives the adjoints at the start of each
    sequence. Returns how many covariances lose digits by eq. (7): those in which a
    variance falls by LOSSY_FACTOR.
    """
    _, H, _, pattern, _ = observation
    m, P, K, f, v, slot = filtered
    z, V, smoothed_slot, r, N, u, D = out
    r0, N0 = first
    matrices, vectors = scratch
    k = m.shape[1]
    tF = int(len(F) > 1)
    rows = np.empty(vectors.shape[1], np.int64)
    FF, W, S, B, zero = matrices[2], matrices[3], matrices[4], matrices[5], matrices[6]
    rr, b, g, zero_vector = vectors[0], vectors[1], vectors[2], vectors[4]
    leader, lead, lead_s = -1, -1, 0
    held = -1  # the slot whose covariance is in B
    current = 0
    lossy = 0
    _copy_matrix(F[0], FF)
    for s in range(len(ends)):
        begin, end = begins[s], ends[s]
        follows = lead == end - begin and _same_slots(slot, begin, leader, lead)
        converged = follows
        old_change = 1.0
        calm = 0
        _copy_vector(zero_vector, rr)
        _copy_matrix(zero, matrices[current])
        for t in range(end - 1, begin - 1, -1):
            q = slot[t]
            same_here = t < end - 1 and q == slot[t + 1]
            if follows:
                smoothed_slot[t] = smoothed_slot[leader + t - begin]
            else:
                converged = converged and same_here
                smoothed_slot[t] = smoothed_slot[t + 1] if converged else t
            if held != q:
                _copy_matrix(P[q], B)
                held = q
            if t < end - 1:
                if tF:
                    _copy_matrix(F[t + 1], FF)
                transposed_matvec(FF, rr, zero_vector, b)
                _copy_vector(b, rr)
            _copy_vector(m[t], b)
            transposed_matvec(B, rr, b, g)
            _copy_vector(g, z[t])
            if not converged:
                if t < end - 1:
                    skip_zero_matmul(matrices[current], FF, zero, 1.0, False, rows, W)
                    current = 1 - current
                    skip_zero_matmul(W, FF, zero, 1.0, True, rows, matrices[current])
                    mirror_lower_half(matrices[current])
                    skip_zero_matmul(matrices[current], B, zero, 1.0, False, rows, W)
                    skip_zero_matmul(W, B, B, -1.0, True, rows, S)
                    mirror_lower_half(S)
                else:
                    _copy_matrix(B, S)
                _copy_matrix(S, V[t])
                lost = False
                for i in range(k):
                    V[t, i, i] = max(V[t, i, i], 0.0)
                    lost = lost or B[i, i] > LOSSY_FACTOR * V[t, i, i]
                lossy += lost
            w, o = (t, smoothed_slot[t]) if keep else (0, 0)
            _adjoint_step(
                H[pattern[t]], K[q], f[q], v[t], matrices[current], vectors, u[w], D[w],
                D[o], converged,
            )  # fmt: skip
            if keep:
                _copy_vector(rr, r[t])
            if not converged:
                mirror_lower_half(matrices[current])
                if keep:
                    _copy_matrix(matrices[current], N[t])
                if same_here:
                    change = _largest_relative_change(
                        matrices[current], matrices[1 - current], b
                    )
                    converged, calm = _has_converged(change, old_change, calm)
                    old_change = change
        _copy_vector(rr, r0[s])
        _copy_matrix(N0[lead_s] if follows else matrices[current], N0[s])
        if not follows:
            leader = begin
            lead = end - begin
            lead_s = s
    return lossy
