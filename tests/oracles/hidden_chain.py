"""Hidden chains by enumeration of every path: obvious, and k^n slow."""

from itertools import product

import numpy as np


def joint_table(start, trans, likelihood):
    """(paths, probabilities) of every state path; likelihood (n, k)."""
    n, k = likelihood.shape
    paths = np.array(list(product(range(k), repeat=n)))
    prob = np.empty(len(paths))
    for row, z in enumerate(paths):
        p = start[z[0]] * likelihood[0, z[0]]
        for t in range(1, n):
            p *= trans[z[t - 1], z[t]] * likelihood[t, z[t]]
        prob[row] = p
    return paths, prob


def everything(start, trans, likelihood):
    """p(x), posteriors (n, k), expected transitions (k, k), best path and its p."""
    n, k = likelihood.shape
    paths, prob = joint_table(start, trans, likelihood)
    total = prob.sum()
    G, pairs = np.zeros((n, k)), np.zeros((k, k))
    for z, p in zip(paths, prob / total, strict=True):
        for t in range(n):
            G[t, z[t]] += p
            if t:
                pairs[z[t - 1], z[t]] += p
    best = prob.argmax()
    return total, G, pairs, paths[best], prob[best]


def filtered(start, trans, likelihood):
    """p(z_t | x_1..t) for each t, from the table of every prefix."""
    n, k = likelihood.shape
    out = np.zeros((n, k))
    for t in range(n):
        paths, prob = joint_table(start, trans, likelihood[: t + 1])
        for z, p in zip(paths, prob, strict=True):
            out[t, z[-1]] += p
        out[t] /= out[t].sum()
    return out


def dense_gaussian(m0, S0, F, Q, H, R, n):
    """Joint mean and covariance of z_1..z_n, x_1..x_n of a linear Gaussian chain."""
    d, e = len(m0), len(H)
    means, covs = [m0], [[S0]]
    for t in range(1, n):
        means.append(F @ means[-1])
        row = [F @ covs[t - 1][s] for s in range(t)]
        covs.append([*row, F @ covs[t - 1][t - 1] @ F.T + Q])
    Z = np.zeros((n * d, n * d))
    for t in range(n):
        for s in range(t + 1):
            Z[t * d : t * d + d, s * d : s * d + d] = covs[t][s]
            Z[s * d : s * d + d, t * d : t * d + d] = covs[t][s].T
    big = np.kron(np.eye(n), H)
    C = np.block([[Z, Z @ big.T], [big @ Z, big @ Z @ big.T + np.kron(np.eye(n), R)]])
    mz = np.concatenate(means)
    assert C.shape == (n * (d + e), n * (d + e))
    return np.concatenate([mz, big @ mz]), C
