"""Hierarchies and density clusters the slow way, from their definitions."""

import numpy as np


def apart(D, a, b, method, X=None):
    """How far apart clusters a and b (lists of rows) are."""
    block = D[np.ix_(a, b)]
    if method == "ward":
        gap = X[a].mean(axis=0) - X[b].mean(axis=0)
        return np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)) * (gap @ gap))
    reduce = {"single": np.min, "complete": np.max, "average": np.mean}[method]
    return reduce(block)


def merges(X, method):
    """Heights, and the partition after each merge, by looking at all pairs."""
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    parts, heights, partitions = [[i] for i in range(len(X))], [], []
    while len(parts) > 1:
        pairs = [(u, v) for v in range(len(parts)) for u in range(v)]
        far = [apart(D, parts[u], parts[v], method, X) for u, v in pairs]
        u, v = pairs[int(np.argmin(far))]
        heights.append(min(far))
        parts[u] = parts[u] + parts.pop(v)
        partitions.append(sorted(sorted(p) for p in parts))
    return np.array(heights), partitions


def parts_of(labels):
    """A labelling as a sorted list of sorted rows."""
    return sorted(np.flatnonzero(labels == c).tolist() for c in np.unique(labels))


def dbscan(X, eps, enough, w):
    """Core rows, clusters by walking, border rows to the first cluster in reach."""
    n = len(X)
    near = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) <= eps
    core = near @ w >= enough
    labels, count = np.full(n, -1), 0
    for i in range(n):
        if core[i] and labels[i] < 0:
            reached = [i]
            for j in reached:
                for k in np.flatnonzero(near[j]):
                    if labels[k] < 0:
                        labels[k] = count
                        if core[k]:
                            reached.append(k)
            count += 1
    return labels, core


def splinter(D, rows):
    """DIANA's split of some rows: (stay, leave)."""
    mean = lambda i, group: np.mean([D[i, j] for j in group if j != i])
    stay = list(rows)
    out = [max(stay, key=lambda i: mean(i, rows))]
    stay.remove(out[0])
    while len(stay) > 1:
        gain = {i: mean(i, stay) - np.mean([D[i, j] for j in out]) for i in stay}
        best = max(stay, key=lambda i: gain[i])
        if gain[best] <= 1e-12:
            break
        stay.remove(best)
        out.append(best)
    return sorted(stay), sorted(out)
