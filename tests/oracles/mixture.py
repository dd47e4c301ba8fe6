"""One turn of EM for a Gaussian mixture, row by row and component by component."""

import math

import numpy as np

from pansophy.core.numerics import logsumexp


def log_normal(x, mean, cov):
    D = x - mean
    _, log_det = np.linalg.slogdet(cov)
    return -0.5 * (
        len(x) * math.log(2 * math.pi) + log_det + D @ np.linalg.solve(cov, D)
    )


def em_turn(X, w, weights, means, covs, floor=0.0):
    """(loglik, weights, means, covs) after a turn; covs (k, d, d), full."""
    n, d = X.shape
    k = len(weights)
    R, loglik = np.zeros((n, k)), 0.0
    for i in range(n):
        joint = [
            math.log(weights[j]) + log_normal(X[i], means[j], covs[j]) for j in range(k)
        ]
        top = max(joint)
        total = top + math.log(sum(math.exp(v - top) for v in joint))
        loglik += w[i] * total
        for j in range(k):
            R[i, j] = w[i] * math.exp(joint[j] - total)
    N = R.sum(0)
    new_means, new_covs = np.zeros((k, d)), np.zeros((k, d, d))
    for j in range(k):
        for i in range(n):
            new_means[j] += R[i, j] * X[i] / N[j]
        for i in range(n):
            D = X[i] - new_means[j]
            new_covs[j] += R[i, j] * np.outer(D, D) / N[j]
        new_covs[j] += floor * np.eye(d)
    return loglik, N / N.sum(), new_means, new_covs


def em_turn_with_gaps(X, w, weights, means, covs):
    """(weights, means, covs) after a turn with NaN in X, row by row, full."""
    n, d = X.shape
    k = len(weights)
    N, first = np.zeros(k), np.zeros((k, d))
    second = np.zeros((k, d, d))
    for i in range(n):
        b, a = np.flatnonzero(~np.isnan(X[i])), np.flatnonzero(np.isnan(X[i]))
        joint = [
            math.log(weights[j])
            + (log_normal(X[i, b], means[j][b], covs[j][np.ix_(b, b)]) if len(b) else 0)
            for j in range(k)
        ]
        top = max(joint)
        total = sum(math.exp(v - top) for v in joint)
        for j in range(k):
            r = w[i] * math.exp(joint[j] - top) / total
            x, C = means[j].copy(), np.zeros((d, d))
            x[b] = X[i, b]
            S = covs[j]
            if len(a) and len(b):
                gain = S[np.ix_(a, b)] @ np.linalg.inv(S[np.ix_(b, b)])
                x[a] = means[j][a] + gain @ (X[i, b] - means[j][b])
                C[np.ix_(a, a)] = S[np.ix_(a, a)] - gain @ S[np.ix_(b, a)]
            elif len(a):
                C = S.copy()
            N[j] += r
            first[j] += r * x
            second[j] += r * (np.outer(x, x) + C)
    M = first / N[:, None]
    covs = [second[j] / N[j] - np.outer(M[j], M[j]) for j in range(k)]
    return N / N.sum(), M, np.array(covs)


def mixture_em_steps(X, family):
    """E-step and M-step of a mixture of any family, in ten lines."""

    def expect(p):
        w, parts = p
        L = parts.log_prob(X) + np.log(w)
        norm = logsumexp(L, axis=1)
        R = np.exp(L - norm[:, None])
        return (R.sum(0), parts.stats(X, R)), norm.sum()

    def maximise(s):
        return s[0] / s[0].sum(), family.from_stats(s[1])

    return expect, maximise
