"""Learning of networks, the slow and obvious way."""

import itertools
import math
from collections import Counter

import numpy as np


def table(codes, variables, sizes, weights=None):
    """Counts by a dictionary; rows that miss a value are left out."""
    N = np.zeros([sizes[v] for v in variables])
    for i, row in enumerate(codes):
        at = tuple(int(row[v]) for v in variables)
        if min(at, default=0) >= 0:
            N[at] += 1 if weights is None else weights[i]
    return N


def family_score(codes, y, parents, sizes, kind, s=10.0):
    """A family score from its formula."""
    N = table(codes, (*parents, y), sizes).reshape(-1, sizes[y])
    q, m = N.shape
    n = len(codes)
    if kind in ("log_likelihood", "bic", "aic"):
        L = sum(
            x * math.log(x / row.sum()) for row in N for x in row if x > 0
        )  # fmt: skip
        each = {"log_likelihood": 0.0, "bic": 0.5 * math.log(n), "aic": 1.0}[kind]
        return L - each * q * (m - 1)
    a = 1.0 if kind == "k2" else s / (q * m)
    total = 0.0
    for row in N:
        total += math.lgamma(a * m) - math.lgamma(a * m + row.sum())
        total += sum(math.lgamma(a + x) - math.lgamma(a) for x in row)
    return total


def g_statistic(codes, x, y, given, sizes):
    """2 sum N log(N N_s / (N_xs N_ys)), and degrees of freedom, by dictionaries."""
    key = lambda row, *vs: tuple(int(row[v]) for v in vs)
    full = Counter(key(r, x, y, *given) for r in codes)
    xs = Counter(key(r, x, *given) for r in codes)
    ys = Counter(key(r, y, *given) for r in codes)
    ss = Counter(key(r, *given) for r in codes)
    G = 0.0
    for (a, b, *s), c in full.items():
        G += 2 * c * math.log(c * ss[tuple(s)] / (xs[(a, *s)] * ys[(b, *s)]))
    free = sum(
        (len({k for k in xs if k[1:] == s}) - 1)
        * (len({k for k in ys if k[1:] == s}) - 1)
        for s in ss
    )
    return G, free


def expected_counts(codes, parents, sizes, tables):
    """Expected family counts and log-likelihood by summing the whole joint table."""
    joint = np.zeros(sizes)
    for s in itertools.product(*map(range, sizes)):
        p = 1.0
        for j, above in enumerate(parents):
            p *= tables[j][(*(s[a] for a in above), s[j])]
        joint[s] = p
    loglik, N = 0.0, [np.zeros_like(t) for t in tables]
    for row in codes:
        index = [range(m) if v < 0 else [int(v)] for v, m in zip(row, sizes)]
        cells = list(itertools.product(*index))
        p = np.array([joint[c] for c in cells])
        loglik += math.log(p.sum())
        for cell, share in zip(cells, p / p.sum(), strict=True):
            for j, above in enumerate(parents):
                N[j][(*(cell[a] for a in above), cell[j])] += share
    return N, loglik
