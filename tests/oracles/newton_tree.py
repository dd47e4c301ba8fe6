"""A boosting tree grown the slow and obvious way: every split of every node is tried by
summing first and second derivatives over the rows of both sides."""

import numpy as np

from .tree import SAME, places


def gain(y, w, left, l2):
    """Eq. (5) of criteria.py."""
    part = lambda s: y[s].sum() ** 2 / (w[s].sum() + l2)
    return part(left) + part(~left) - part(np.ones(len(y), bool))


def best_split(X, y, w, allowed, lim, tol, node):
    """(gain, feature, threshold, missing left, rows on the left), or None."""
    found, top = None, 0.0
    for f in np.flatnonzero(allowed):
        mine, bar = None, 0.0
        for v, missing_left, left in places(X[:, f]):
            sides = (left, ~left)
            if min(s.sum() for s in sides) < lim["min_leaf"]:
                continue
            if min(w[s].sum() for s in sides) < lim["min_weight"]:
                continue
            a, b = (y[s].sum() / (w[s].sum() + lim["l2"]) for s in sides)
            sign = lim["sign"][f]
            inside = node["low"] <= min(a, b) and max(a, b) <= node["high"]
            if sign and not (inside and (a - b) * sign <= 0):
                continue
            g = gain(y, w, left, lim["l2"])
            if g > bar + tol:
                if not np.isnan(X[:, f]).any():
                    missing_left = w[left].sum() > w[~left].sum()
                mine, bar = (g, f, v, missing_left, left, 0.5 * (a + b)), g
        if mine and mine[0] > top + tol:
            found, top = mine, mine[0]
    return found


def grow(X, y, w, max_leaves, groups=None, **lim):
    """Nodes as dicts, numbered as they are made, best gain first."""
    X, n = np.asarray(X, np.float32), len(X)
    rules = {"l2": 0.0, "min_leaf": 1, "min_weight": 0.0, "sign": [0] * X.shape[1]}
    lim = {**rules, **lim}
    groups = np.ones((1, X.shape[1]), bool) if groups is None else groups
    unit = (np.abs(y).sum() / (w.sum() + lim["l2"])) ** 2

    def make(rows, open_groups, low, high):
        node = {"rows": rows, "groups": open_groups, "low": low, "high": high}
        W = w[rows].sum() + lim["l2"]
        node |= {"value": y[rows].sum() / W, "split": None}
        if len(rows) >= 2 * lim["min_leaf"]:
            allowed = groups[open_groups].any(axis=0)
            tol = SAME * unit * W
            node["split"] = best_split(
                X[rows], y[rows], w[rows], allowed, lim, tol, node
            )
        return node

    nodes = [make(np.arange(n), np.ones(len(groups), bool), -np.inf, np.inf)]
    front, leaves = [0], 1
    while leaves < max_leaves:
        front = [i for i in front if nodes[i]["split"]]
        if not front:
            break
        i = max(front, key=lambda i: (nodes[i]["split"][0], -i))
        front.remove(i)
        _, f, _, _, left, mid = nodes[i]["split"]
        low, high = [nodes[i]["low"]] * 2, [nodes[i]["high"]] * 2
        if lim["sign"][f]:
            lower = 0 if lim["sign"][f] > 0 else 1
            high[lower], low[1 - lower] = mid, mid
        rows, still = nodes[i]["rows"], nodes[i]["groups"] & groups[:, f]
        for c, part in enumerate((rows[left], rows[~left])):
            nodes.append(make(part, still, low[c], high[c]))
        nodes[i]["children"] = (len(nodes) - 2, len(nodes) - 1)
        front += nodes[i]["children"]
        leaves += 1
    return nodes
