"""Compiled counting of joint states, and scores and tests of the tables of counts."""

import math

import numpy as np

from ...core._scalar import popcount
from ...core.loops.compiled import FASTMATH, compiled


@compiled
def pack_states(column, bits):
    """Set bit i % 64 of word i // 64 of bits[column[i]] for each row i; none for -1."""
    n = column.shape[0]
    for i in range(n):
        c = column[i]
        if c >= 0:
            bits[c, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@compiled
def _intersect_states(bits, start, base, lo, hi, joint):
    """joint[c] = bits of the rows in which the base variables are in joint state c.

    For words lo to hi. The first variable of `base` changes slowest. Returns the number
    of joint states.
    """
    q = 1
    for w in range(hi - lo):
        joint[0, w] = ~np.uint64(0)
    for b in base:
        m = start[b + 1] - start[b]
        for c in range(q - 1, -1, -1):
            for s in range(m - 1, -1, -1):  # c * m + s >= c: done from the end
                state_bits = bits[start[b] + s]
                for w in range(hi - lo):
                    joint[c * m + s, w] = joint[c, w] & state_bits[lo + w]
        q *= m
    return q


@compiled
def count_by_bits(
    bits, start, base, others, offset, q, has_missing, joint, totals, out
):
    """Joint counts of the base variables with each of the others, by bits.

    out[offset[k] + c * m + s] = rows in base state c and state s of others[k], and
    totals[c] = rows in base state c. Unless `has_missing`, the count of the last state
    of each other variable is the total less the counts of its other states.
    """
    n_words, step = bits.shape[1], joint.shape[1]
    nonempty = np.empty(q, np.int64)
    for lo in range(0, n_words, step):
        hi = min(lo + step, n_words)
        _intersect_states(bits, start, base, lo, hi, joint)
        n_nonempty = 0
        for c in range(q):
            t = np.uint64(0)
            for w in range(hi - lo):
                t += popcount(joint[c, w])
            if t > 0:
                totals[c] += t
                nonempty[n_nonempty] = c
                n_nonempty += 1
        for k in range(others.shape[0]):
            first = start[others[k]]
            m = start[others[k] + 1] - first
            for s in range(m if has_missing else m - 1):
                state_bits = bits[first + s, lo:hi]
                for g in range(n_nonempty):
                    row = joint[nonempty[g]]
                    t = np.uint64(0)
                    for w in range(state_bits.shape[0]):
                        t += popcount(row[w] & state_bits[w])
                    out[offset[k] + nonempty[g] * m + s] += t
    if not has_missing:
        for k in range(others.shape[0]):
            m = start[others[k] + 1] - start[others[k]]
            for c in range(q):
                remaining = totals[c]
                cell = offset[k] + c * m
                for s in range(m - 1):
                    remaining -= out[cell + s]
                out[cell + m - 1] = remaining


@compiled
def extend_joint_state(index, column, m):
    """index <- index * m + column in place; -1 where either is missing (-1)."""
    for i in range(index.shape[0]):
        c = column[i]
        index[i] = -1 if c < 0 or index[i] < 0 else index[i] * m + c


@compiled
def add_joint_counts(index, column, m, w, weighted, out):
    """out[index * m + column] += w for each row in which neither is missing."""
    for i in range(index.shape[0]):
        c = column[i]
        if c >= 0 and index[i] >= 0:
            out[index[i] * m + c] += w[i] if weighted else 1.0


@compiled(fastmath=FASTMATH)
def _x_log_x(x):
    """x log x, 0 at x = 0."""
    return x * math.log(x) if x > 0 else 0.0


@compiled
def family_score(N, q, m, r, full, marginal, number):
    """The score of a table N (q, m, r) of own states m, parent states (q, r).

    marginal 0: the likelihood less `number` for each free parameter, of which `full`
    parent states have m - 1; 1: Dirichlet marginal with pseudo-count `number`; 2: the
    same with `number` rows of pseudo-counts in all.
    """
    a = number if marginal == 1 else number / (full * m)
    total = 0.0
    for j in range(q):
        for s in range(r):
            n = 0.0
            for c in range(m):
                x = N[(j * m + c) * r + s]
                n += x
                if x > 0:
                    total += (
                        _x_log_x(x) if marginal == 0 else _log_rising_factorial(a, x)
                    )
            if n > 0:
                total -= (
                    _x_log_x(n) if marginal == 0 else _log_rising_factorial(a * m, n)
                )
    return total - number * (m - 1) * full if marginal == 0 else total


@compiled
def _log_rising_factorial(a, x):
    """log Gamma(a + x) - log Gamma(a)."""
    return math.lgamma(a + x) - math.lgamma(a)


@compiled
def family_scores(N, offset, q, m, sizes, full, marginal, number, out):
    """`family_score` of each table of a batch; table k has an additional parent k."""
    for k in range(sizes.shape[0]):
        r = sizes[k]
        T = N[offset[k] : offset[k] + q * m * r]
        out[k] = family_score(T, q, m, r, full * r, marginal, number)


@compiled
def g_statistics_of_tables(N, offset, q, m, sizes, G, free):
    """G statistic and degrees of freedom of y and z given the rest, for each table.

    Table k is (q, m, sizes[k]); states that do not occur given the rest add no degree
    of freedom.
    """
    for k in range(sizes.shape[0]):
        r = sizes[k]
        total = 0.0
        df = 0
        for j in range(q):
            T = N[offset[k] + j * m * r : offset[k] + (j + 1) * m * r]
            n = 0.0
            rows = 0
            columns = 0
            for c in range(m):
                marginal = 0.0
                for s in range(r):
                    x = T[c * r + s]
                    marginal += x
                    total += _x_log_x(x)
                n += marginal
                rows += marginal > 0
                total -= _x_log_x(marginal)
            for s in range(r):
                marginal = 0.0
                for c in range(m):
                    marginal += T[c * r + s]
                columns += marginal > 0
                total -= _x_log_x(marginal)
            total += _x_log_x(n)
            if n > 0:
                df += (rows - 1) * (columns - 1)
        G[k] = 2.0 * max(total, 0.0)
        free[k] = df
