"""Compiled Gibbs sampling of discrete variables, one chain for each call."""

import math

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled
def _cumulative_conditional(g, v, x, w):
    """Cumulative sums of p(x_v | rest), up to a factor, from the factors of v."""
    n = g.sizes[v]
    for a in range(n):
        w[a] = 0.0
    for k in range(g.begin[v], g.begin[v + 1]):
        e = g.edges[k]
        f = g.factor[e]
        cell = g.cell[f]
        for o in range(g.first[f], g.first[f + 1]):
            if o != e:
                cell += g.stride[o] * x[g.variable[o]]
        for a in range(n):
            w[a] += g.table[cell + a * g.stride[e]]  # logarithms
    top = w[0]
    for a in range(1, n):
        top = max(top, w[a])
    total = 0.0
    for a in range(n):
        total += math.exp(w[a] - top)
        w[a] = total
    return total


@compiled
def gibbs_chain(g, plan, x, state, burn_in, thin, largest, out):
    """Draw rows into out (n, d): `thin` sweeps over the free variables apart.

    `plan` is (free, first, neighbors, strides, starts, cumulative): variable free[k]
    has the neighbours neighbors[first[k] : first[k + 1]] with these strides in
    `cumulative`, which holds cumulative sums of p(x_v | neighbours) from starts[k] on.
    Where starts[k] is -1, probabilities are computed from the factors, whose tables are
    logarithms.
    """
    free, first, neighbors, strides, starts, cumulative = plan
    w = np.empty(largest)
    for t in range(-burn_in, len(out) * thin):
        for k in range(len(free)):
            v = free[k]
            u = random_uniform(state)
            a = 0
            last = g.sizes[v] - 1
            if starts[k] >= 0:
                cell = starts[k]
                for i in range(first[k], first[k + 1]):
                    cell += strides[i] * x[neighbors[i]]
                while a < last and cumulative[cell + a] <= u:
                    a += 1
            else:
                u *= _cumulative_conditional(g, v, x, w)
                while a < last and w[a] <= u:
                    a += 1
            x[v] = a
        if t >= 0 and (t + 1) % thin == 0:
            for v in range(len(x)):
                out[t // thin, v] = x[v]
