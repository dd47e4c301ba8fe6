"""Gradient boosting the slow and obvious way: every split of every leaf is tried, the
one of largest gain is made, until there are enough leaves; losses by their formulas."""

from itertools import pairwise

import numpy as np


def derivatives(name, y, f):
    """First and second derivative of the loss, y 0 or 1 for "logistic"."""
    if name == "logistic":
        p = 1 / (1 + np.exp(-f))
        return p - y, p * (1 - p)
    if name == "poisson":
        return np.exp(f) - y, np.exp(f)
    return f - y, np.ones(len(y))


def score(g, h, l2):
    return g.sum() ** 2 / (h.sum() + l2)


def best_split(X, g, h, rows, l2, min_leaf):
    """(gain, feature, threshold) of a leaf, the first of equals; or None."""
    best = None
    for f in range(X.shape[1]):
        values = np.unique(X[rows, f])
        for a, b in pairwise(values):
            left = rows[X[rows, f] <= (a + b) / 2]
            right = rows[X[rows, f] > (a + b) / 2]
            if min(len(left), len(right)) < min_leaf:
                continue
            if min(h[left].sum(), h[right].sum()) < 1e-3:
                continue
            gain = score(g[left], h[left], l2) + score(g[right], h[right], l2)
            gain -= score(g[rows], h[rows], l2)
            if gain > 1e-12 and (best is None or gain > best[0] * (1 + 1e-10)):
                best = gain, f, (a + b) / 2
    return best


def tree_steps(X, g, h, leaves, l2, min_leaf):
    """The value of each row's leaf in the best-first tree."""
    parts = [np.arange(len(X))]
    while len(parts) < leaves:
        found = [best_split(X, g, h, rows, l2, min_leaf) for rows in parts]
        gains = [-1.0 if s is None else s[0] for s in found]
        i = int(np.argmax(gains))
        if gains[i] <= 0:
            break
        rows, (_, f, v) = parts.pop(i), found[i]
        parts += [rows[X[rows, f] <= v], rows[X[rows, f] > v]]
    out = np.zeros(len(X))
    for rows in parts:
        out[rows] = -g[rows].sum() / (h[rows].sum() + l2)
    return out


def boost(name, X, y, w=None, rounds=5, rate=0.1, leaves=4, l2=0.0, min_leaf=1):
    """Raw predictions of the training rows after each round."""
    w = np.ones(len(y)) if w is None else w
    mean = w @ y / w.sum()
    links = {"logistic": lambda m: np.log(m / (1 - m)), "poisson": np.log}
    f, out = np.full(len(y), links.get(name, float)(mean)), []
    for _ in range(rounds):
        g, h = derivatives(name, y, f)
        f = f + rate * tree_steps(X, w * g, w * h, leaves, l2, min_leaf)
        out.append(f)
    return np.array(out)


def softmax_round(X, y, f, rate, leaves, min_leaf):
    """Raw predictions (n, K) after one round of K trees."""
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    out = f.copy()
    for k in range(f.shape[1]):
        g, h = p[:, k] - (y == k), p[:, k] * (1 - p[:, k])
        out[:, k] += rate * tree_steps(X, g, h, leaves, 0.0, min_leaf)
    return out
