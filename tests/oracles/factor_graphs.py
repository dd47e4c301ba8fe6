"""Slow, obvious versions of sums over factor graphs and of Gibbs sweeps on grids."""

import itertools

import numpy as np


def enumerate_graph(sizes, factors, evidence=()):
    """Z, marginals and the best state, by going through all joint states.

    `factors`: pairs of a tuple of variable numbers and a table.
    """
    evidence = dict(evidence)
    z, best, top = 0.0, None, -1.0
    marginals = [np.zeros(s) for s in sizes]
    for x in itertools.product(*map(range, sizes)):
        if any(x[v] != c for v, c in evidence.items()):
            continue
        value = 1.0
        for variables, table in factors:
            value *= table[tuple(x[v] for v in variables)]
        z += value
        for v, c in enumerate(x):
            marginals[v][c] += value
        if value > top:
            best, top = x, value
    return z, [m / max(z, 1e-300) for m in marginals], best, top


def enumerate_grid(U, L, pairs):
    """log Z and marginals (height, width, q) of a small grid."""
    height, width, q = U.shape
    n = height * width
    X = np.array(list(itertools.product(range(q), repeat=n)))
    value = U.reshape(n, q)[np.arange(n), X].sum(axis=1)
    value = value + L[X[:, pairs[:, 0]], X[:, pairs[:, 1]]].sum(axis=1)
    log_z = np.logaddexp.reduce(value)
    p = np.exp(value - log_z)
    P = [[p[X[:, i] == a].sum() for a in range(q)] for i in range(n)]
    return log_z, np.array(P).reshape(height, width, q)


def next_random(lanes, k):
    """xoshiro128+ of one lane, in Python integers."""
    mask = 2**32 - 1
    s = [int(v) for v in lanes[:, k]]
    out = (s[0] + s[3]) & mask
    t = (s[1] << 9) & mask
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = ((s[3] << 11) | (s[3] >> 21)) & mask
    lanes[:, k] = s
    return out


def around(x, i, j, periodic):
    """The neighbours of a pixel."""
    height, width = x.shape
    for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
        if periodic:
            yield x[a % height, b % width]
        elif 0 <= a < height and 0 <= b < width:
            yield x[a, b]


def ising_sweep(x, J, h, lanes, periodic):
    """One Gibbs sweep of spins, colour by colour, in place."""
    height, width = x.shape
    for c in range(2):
        for i in range(height):
            for j in range((i + c) % 2, width, 2):
                r = next_random(lanes, j // 2)
                n = sum(int(s) for s in around(x, i, j, periodic))
                p = 1 / (1 + np.exp(-2 * (J * n + h[i, j])))
                x[i, j] = 1 if r < p * 2**32 else -1


def potts_sweep(x, J, U, lanes, periodic):
    """One Gibbs sweep of labels, colour by colour, in place."""
    height, width, q = U.shape
    for c in range(2):
        for i in range(height):
            draws = [next_random(lanes, j) for j in range(width)]
            for j in range((i + 1 + c) % 2, width, 2):
                n = np.bincount(list(around(x, i, j, periodic)), minlength=q)
                w = np.exp(J * n + U[i, j])
                u = (draws[j] + 0.5) * 2.0**-32 * w.sum()
                x[i, j] = min(int(np.sum(np.cumsum(w) <= u)), q - 1)


def gibbs_rows(sizes, factors, free, x, seed, sweeps):
    """Rows of a Gibbs chain with the random numbers of splitmix64."""
    mask = 2**64 - 1
    state, rows = int(seed), []
    for _ in range(sweeps):
        for v in free:
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = state
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            u = (((z ^ (z >> 31)) >> 12) + 0.5) * 2.0**-52
            w = np.ones(sizes[v])
            for variables, table in factors:
                if v in variables:
                    at = tuple(slice(None) if k == v else x[k] for k in variables)
                    w = w * table[at]
            x[v] = min(int(np.sum(np.cumsum(w) / w.sum() <= u)), sizes[v] - 1)
        rows.append(list(x))
    return np.array(rows)
