"""A decision tree grown the slow and obvious way: every split of every node is tried
by computing the impurity of both sides from scratch."""

from itertools import pairwise

import numpy as np

SAME = 1e-10


FLOOR = 1e-8  # of variances; targets have a variance of 1


def impurity(name, y, w):
    """Mean over outputs of the impurity of targets y (n, m) with weights w."""
    W, out = w.sum(), []
    if name in ("gaussian", "gaussian_joint"):
        S = np.atleast_2d(np.cov(y.T, aweights=w, ddof=0)) if len(y) > 1 else np.eye(1)
        if np.all(y == y[0]):
            return 0.0
        S = (np.diag(np.diag(S)) if name == "gaussian" else S) / FLOOR
        left = []  # of each output, by those before it
        while len(S):
            left.append(max(S[0, 0], 1.0))
            S = S[1:, 1:] - np.outer(S[1:, 0], S[0, 1:]) / left[-1]
        return 0.5 * np.sum(np.log(left))
    for v in y.T:
        if name in ("zero_one", "gain_ratio"):
            p = np.array([w[v == c].sum() / W for c in np.unique(v)])
            errors = name == "zero_one"
            out.append(1 - p.max() if errors else -np.sum(p * np.log2(p)))
        elif name == "direction":
            R = abs(np.sum(w * np.exp(1j * v))) / W
            out.append(0.0 if np.all(v == v[0]) else 1 - R)
        elif isinstance(name, float):  # the quantile of this share
            e = v - quantile(v, w, name)
            out.append(np.sum(w * np.where(e > 0, name * e, (name - 1) * e)) / W)
        elif name in ("gini", "entropy", "log_loss"):
            p = np.array([w[v == c].sum() / W for c in np.unique(v)])
            out.append(1 - np.sum(p**2) if name == "gini" else -np.sum(p * np.log2(p)))
        elif name == "absolute_error":
            out.append(np.sum(w * abs(v - median(v, w))) / W)
        elif np.all(v == v[0]):
            out.append(0.0)
        elif name == "poisson":
            ratio = np.where(v > 0, v / (w @ v / W), 1.0)
            out.append(np.sum(w * v * np.log(ratio)) / W)
        else:
            out.append(np.sum(w * (v - w @ v / W) ** 2) / W)
    return float(np.mean(out))


def median(v, w):
    return quantile(v, w, 0.5)


def quantile(v, w, share):
    order = np.argsort(v, kind="stable")
    seen = np.cumsum(w[order])
    i = int(np.argmax(seen >= seen[-1] * share))
    if seen[i] == seen[-1] * share:
        return 0.5 * (v[order[i]] + v[order[i + 1]])
    return v[order[i]]


def leaf_value(name, y, w, classes):
    """(m, K) shares or (m, 1) numbers."""
    if classes:
        value = np.zeros((y.shape[1], max(classes)))
        for o, v in enumerate(y.T):
            for c in range(classes[o]):
                value[o, c] = w[v == c].sum() / w.sum()
        return value
    if name == "absolute_error" or isinstance(name, float):
        share = name if isinstance(name, float) else 0.5
        return np.array([[quantile(v, w, share)] for v in y.T])
    if name == "direction":
        return np.array([[np.angle(np.sum(w * np.exp(1j * v)))] for v in y.T])
    return (w @ y / w.sum())[:, None]


def places(x):
    """(threshold, missing on the left, rows on the left) of every possible split."""
    gone = np.isnan(x)
    values = np.unique(x[~gone]).astype(float)
    middle = [(a / 2 + b / 2) for a, b in pairwise(values)]
    for v in middle:
        yield v, False, x <= v
    if gone.any() and len(values):
        yield np.inf, False, ~gone
        for v in middle:
            yield v, True, (x <= v) | gone


def best_split(name, X, y, w, lim, sign, low, high, classes):
    """The best split of a node by the rule of the engine, or None."""
    W, before = w.sum(), impurity(name, y, w)
    tol = SAME * W * before
    found, top = None, -2 * tol
    for f in range(X.shape[1]):
        mine, bar = None, -2 * tol
        for v, missing_left, left in places(X[:, f]):
            right = ~left
            if min(left.sum(), right.sum()) < lim["min_leaf"]:
                continue
            if min(w[left].sum(), w[right].sum()) < lim["min_weight"]:
                continue
            sums = np.array([w[s] @ y[s] for s in (left, right)])
            if name == "poisson" and np.any(sums <= 1e-12 * (w @ y)):
                continue
            a, b = (leaf_value(name, y[s], w[s], classes) for s in (left, right))
            a, b = (a[0, 1], b[0, 1]) if classes else (a[0, 0], b[0, 0])
            slack = 1e-12 * max(abs(a), abs(b))
            inside = low - slack <= min(a, b) and max(a, b) <= high + slack
            if sign[f] and not (inside and (a - b) * sign[f] <= slack):
                continue
            sides = [w[s].sum() * impurity(name, y[s], w[s]) for s in (left, right)]
            gain = W * before - sum(sides)
            if name == "gain_ratio":
                gain *= before * W / (W * impurity(name, left[:, None], w))
            if gain > bar + tol:
                if not np.isnan(X[:, f]).any():
                    missing_left = w[left].sum() > w[right].sum()
                mine, bar = (gain, f, v, missing_left, left, 0.5 * (a + b)), gain
        if mine and mine[0] > top + tol:
            found, top = mine, mine[0]
    return found if found and found[0] >= lim["min_gain"] else None


def grow(name, X, y, w=None, classes=(), sign=None, max_leaves=0, **lim):
    """Nodes as dicts, numbered root-left-right, or by creation if max_leaves."""
    X = np.asarray(X, np.float32)
    y = np.asarray(y, float).reshape(len(X), -1)
    w = np.ones(len(X)) if w is None else np.asarray(w, float)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    rules = {"max_depth": 10**9, "min_split": 2, "min_leaf": 1, "min_weight": 0.0}
    lim = {**rules, "min_gain": -np.inf, **lim}
    sign = np.zeros(X.shape[1]) if sign is None else sign
    nodes = []

    def make(rows, depth, low, high):
        node = {"rows": rows, "depth": depth, "low": low, "high": high, "split": None}
        node["impurity"] = impurity(name, y[rows], w[rows])
        node["value"] = leaf_value(name, y[rows], w[rows], classes)
        n, args = len(rows), (X[rows], y[rows], w[rows])
        ready = depth < lim["max_depth"] and n >= lim["min_split"]
        ready = ready and n >= 2 * lim["min_leaf"] and node["impurity"] > 1e-15
        if ready and w[rows].sum() >= 2 * lim["min_weight"]:
            node["split"] = best_split(name, *args, lim, sign, low, high, classes)
        return node

    def children(node):
        _, f, _, _, left, mid = node["split"]
        low, high = [node["low"]] * 2, [node["high"]] * 2
        if sign[f]:
            lower = 0 if sign[f] > 0 else 1
            high[lower], low[1 - lower] = mid, mid
        rows = node["rows"]
        parts = (rows[left], rows[~left])
        return [make(parts[c], node["depth"] + 1, low[c], high[c]) for c in (0, 1)]

    def descend(node):
        nodes.append(node)
        if node["split"]:
            node["children"] = children(node)
            for child in node["children"]:
                descend(child)

    root = make(np.arange(len(X)), 0, -np.inf, np.inf)
    if not max_leaves:
        descend(root)
        return nodes
    nodes.append(root)
    front, leaves = [0], 1
    while leaves < max_leaves:
        front = [i for i in front if nodes[i]["split"]]
        if not front:
            break
        i = max(front, key=lambda i: (nodes[i]["split"][0], -i))
        front.remove(i)
        nodes[i]["children"] = children(nodes[i])
        front += [len(nodes), len(nodes) + 1]
        nodes += nodes[i]["children"]
        leaves += 1
    for node in nodes:
        if "children" not in node:
            node["split"] = None
    return nodes


def subsets(x):
    """The rows on the left of every way to part the levels (and NaN) of x in two."""
    gone = np.isnan(x)
    levels = list(np.unique(x[~gone])) + ([np.nan] if gone.any() else [])
    for bits in range(1, 2 ** (len(levels) - 1)):
        chosen = [v for i, v in enumerate(levels) if bits >> i & 1]
        yield np.isin(x, [v for v in chosen if v == v])


def one_levels(x):
    """The rows on the left of every level against the rest, NaN on either side."""
    gone = np.isnan(x)
    for v in np.unique(x[~gone]):
        yield x == v
        if gone.any():
            yield (x == v) | gone
    if gone.any():
        yield ~gone


def half_circles(t):
    """The rows on the left of half circles that begin between any two angles."""
    gone = np.isnan(t)
    both = np.concatenate([t[~gone], t[~gone] + np.pi])
    ends = np.unique(np.round(np.mod(both, 2 * np.pi), 9))
    for a, b in pairwise([*ends, *(ends[:1] + 2 * np.pi)]):
        left = np.cos(t - (a + b) / 2 - np.pi / 2) > 0
        yield left
        if gone.any():
            yield left | gone


def best_gain(name, ways, y, w):
    """The largest gain of the given ways to part the rows."""
    W, y = w.sum(), y.reshape(len(y), -1)
    before, top = impurity(name, y, w), 0.0
    for left in ways:
        if left.any() and not left.all():
            sides = [w[s].sum() * impurity(name, y[s], w[s]) for s in (left, ~left)]
            top = max(top, W * before - sum(sides))
    return top
