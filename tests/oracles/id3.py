"""Slow multiway trees: every gain from lists of rows, recursion instead of a stack."""

from itertools import pairwise
from math import log2

SLIVER = 1e-3


def bits(weights):
    total = sum(weights)
    return -sum(w / total * log2(w / total) for w in weights if w > 0)


def levels(x):
    return {v for v in x if v is not None}


def by(rows, key):
    """Total share of (row, share) pairs by a key."""
    out = {}
    for i, s in rows:
        out[key(i)] = out.get(key(i), 0.0) + s
    return out


def parted(x, rows, threshold):
    """Branches of a column with missing rows in all of them, and known weights."""
    key = lambda i: x[i] if threshold is None else int(x[i] > threshold)
    known = [(i, s) for i, s in rows if x[i] is not None]
    weight = by(known, key)
    total = sum(weight.values())
    branches = {b: [(i, s) for i, s in known if key(i) == b] for b in sorted(weight)}
    for i, s in rows:
        if x[i] is None:
            for b in branches:
                if s * weight[b] / total >= SLIVER:
                    branches[b].append((i, s * weight[b] / total))
    return known, weight, branches


def merit(x, y, rows, threshold):
    """Gain and split information."""
    known, weight, _ = parted(x, rows, threshold)
    key = lambda i: x[i] if threshold is None else int(x[i] > threshold)
    W, Wk = sum(s for _, s in rows), sum(weight.values())
    label = lambda i: y[i]
    after = sum(
        weight[b] / Wk * bits(by([r for r in known if key(r[0]) == b], label).values())
        for b in weight
    )
    gain = Wk / W * (bits(by(known, label).values()) - after)
    sizes = [*weight.values(), *([W - Wk] if W - Wk > 1e-12 else [])]
    return gain, bits(sizes)


def candidates(x, y, rows, numeric, K, least):
    """(gain, split information, threshold) of a column, or None."""
    known = [(i, s) for i, s in rows if x[i] is not None]
    if not numeric:
        weight = by(known, lambda i: x[i])
        if sum(w >= least for w in weight.values()) < 2:
            return None
        return *merit(x, y, rows, None), None
    W, Wk = sum(s for _, s in rows), sum(s for _, s in known)
    least = min(max(least, 0.1 * Wk / K), max(25.0, least))
    values, tried = sorted({x[i] for i, _ in known}), []
    for a, b in pairwise(values):
        t = (a + b) / 2
        low = sum(s for i, s in known if x[i] <= t)
        if low >= least and Wk - low >= least:
            tried.append((*merit(x, y, rows, t), t))
    if not tried:
        return None
    gain, info, t = max(tried, key=lambda c: (round(c[0], 9), -c[2]))
    return max(gain - log2(len(tried)) / W, 0.0), info, t


def grow(columns, numeric, y, rows, *, ratio, eager, least=0.0, asked=(), total=None):
    """Nested tree: (class weights, column, threshold, {branch: subtree})."""
    counts = by(rows, lambda i: y[i])
    total = total or sum(counts.values())
    leaf = (counts, None, None, {})
    if max(counts.values()) >= sum(counts.values()) * (1 - 1e-12):
        return leaf
    if sum(counts.values()) < 2 - 1e-12:
        return leaf
    K, found = len(set(y)), {}
    for f, x in enumerate(columns):
        if numeric[f] or f not in asked:
            c = candidates(x, y, rows, numeric[f], K, least)
            if c is not None:
                found[f] = c
    good = {f: c for f, c in found.items() if c[0] > 1e-10}
    if good:
        wide = lambda f: not numeric[f] and len(levels(columns[f])) >= 0.3 * total
        some = [c[0] for f, c in found.items() if not wide(f)]
        some = some or [c[0] for c in found.values()]
        mean = sum(some) / len(some) if ratio else 0.0
        worth = lambda c: round(c[0] / c[1] if ratio else c[0], 9)
        able = [f for f, c in good.items() if c[0] >= mean - 1e-10]
        best = max(able, key=lambda f: (worth(good[f]), -f))
    elif found and eager:
        best = min(found)
    else:
        return leaf
    t = found[best][2]
    branches = parted(columns[best], rows, t)[2]
    how = {"ratio": ratio, "eager": eager, "least": least, "total": total}
    how["asked"] = (*asked, best)
    below = {b: grow(columns, numeric, y, part, **how) for b, part in branches.items()}
    return counts, best, t, below
