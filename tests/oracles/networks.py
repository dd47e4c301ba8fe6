"""Slow, obvious inference in discrete networks: the whole joint, cell by cell."""

import itertools

import numpy as np


def random_tables(rng, parents, sizes, zeros=0.0):
    """A random table for each node: axes of the parents in order, own states last."""
    tables = []
    for i, above in enumerate(parents):
        shape = [sizes[p] for p in above]
        t = rng.dirichlet(np.ones(sizes[i]), size=shape)
        if zeros:
            t = np.where(rng.random(t.shape) < zeros, 0.0, t)
            t[..., 0] += t.sum(axis=-1) == 0
            t = t / t.sum(axis=-1, keepdims=True)
        tables.append(t)
    return tables


def joint(parents, tables, sizes):
    """p(x) for every x, one product at a time."""
    p = np.zeros(sizes)
    for x in itertools.product(*map(range, sizes)):
        value = 1.0
        for i, above in enumerate(parents):
            value *= tables[i][tuple(x[q] for q in above)][x[i]]
        p[x] = value
    return p


def posterior(p, query, evidence):
    """P(query | evidence) from the whole joint, and P(evidence)."""
    kept = np.zeros_like(p)
    at = tuple(evidence.get(i, slice(None)) for i in range(p.ndim))
    kept[at] = p[at]
    gone = tuple(i for i in range(p.ndim) if i not in query)
    left = sorted(query)
    table = kept.sum(axis=gone).transpose([left.index(v) for v in query])
    total = kept.sum()
    return (table / total if total > 0 else None), total


def reachable(parents, x, y, given):
    """d-connection by walking every simple path and testing its gates."""
    d = len(parents)
    below = {i: {i} for i in range(d)}
    for _ in range(d):
        for i in range(d):
            for p in parents[i]:
                below[p] |= below[i]
    linked = lambda a, b: a in parents[b] or b in parents[a]

    def is_open(path):
        for a, b, c in zip(path, path[1:], path[2:], strict=False):
            if a in parents[b] and c in parents[b]:
                if not below[b] & set(given):
                    return False
            elif b in given:
                return False
        return True

    def walk(path):
        if path[-1] == y:
            return is_open(path)
        return any(
            walk([*path, v]) for v in range(d) if v not in path and linked(path[-1], v)
        )

    return walk([x])
