"""Compiled rotation of rows by blocks of columns."""

from ...core.loops.compiled import compiled


@compiled
def rotate_rows(X, mean, order, blocks, start, stop, out):
    """out[i, group] = (x[i, group] - mean[group]) B for rows start .. stop.

    `order` (groups, M) holds the columns of each group, -1 where a group has fewer;
    `blocks` (groups, M, M) their rotations. Every row is computed by itself, so that
    equal rows stay equal.
    """
    G, M = order.shape
    for i in range(start, stop):
        for g in range(G):
            for k in range(M):
                if order[g, k] < 0:
                    break
                s = 0.0
                for j in range(M):
                    f = order[g, j]
                    if f < 0:
                        break
                    s += (X[i, f] - mean[f]) * blocks[g, j, k]
                out[i, order[g, k]] = s
