"""Compiled message passing over factor graphs and Gaussian graphs, as flat arrays.

`M` holds the logarithms of the messages from factors to variables, edge after edge
(`FlatFactorGraph`). The message of a variable to a factor is computed when it is
needed:

    q_e = u_v + sum_{e' at v} r_e' M_e' - M_e                                      (1)

with u the evidence and r the weights of the edges (1 except for tree-reweighting). A
factor answers by a sum over its other variables (kind 0), the largest term (kind 1), or
the largest sum of logarithms (kind 2; the table then holds logarithms).
"""

import math

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def variable_to_factor(g, e, M, u, r, q):
    """q_e of eq. (1)."""
    v = g.variable[e]
    n, start = g.sizes[v], g.message[e]
    for x in range(n):
        q[x] = u[g.start[v] + x]
    if r[e] != 1.0:
        for x in range(n):
            q[x] += (r[e] - 1.0) * M[start + x]
    for k in range(g.begin[v], g.begin[v + 1]):
        o = g.edges[k]
        if o != e:
            m = g.message[o]
            for x in range(n):
                q[x] += r[o] * M[m + x]


@compiled
def factor_to_variable(g, e, kind, M, u, r, q, w, out):
    """The log message of the factor of edge e to its variable, into out."""
    f, v = g.factor[e], g.variable[e]
    low, high = g.first[f], g.first[f + 1]
    cells = g.cell[f + 1] - g.cell[f]
    t = g.cell[f]
    for i in range(cells):
        w[i] = g.table[t + i]
    scale = 0.0
    for o in range(low, high):
        if o == e:
            continue
        n, step = g.sizes[g.variable[o]], g.stride[o]
        variable_to_factor(g, o, M, u, r, q)
        if kind < 2:
            top = -np.inf
            for x in range(n):
                top = max(top, q[x])
            if top > -np.inf:
                scale += top
            for x in range(n):
                q[x] = math.exp(q[x] - top) if q[x] > -np.inf else 0.0
        for block in range(0, cells, n * step):
            for x in range(n):
                block_start = block + x * step
                if kind < 2:
                    for i in range(block_start, block_start + step):
                        w[i] *= q[x]
                else:
                    for i in range(block_start, block_start + step):
                        w[i] += q[x]
    n, step = g.sizes[v], g.stride[e]
    for x in range(n):
        out[x] = 0.0 if kind < 2 else -np.inf
    for block in range(0, cells, n * step):
        for x in range(n):
            block_start = block + x * step
            total = out[x]
            if kind == 0:
                for i in range(block_start, block_start + step):
                    total += w[i]
            else:
                for i in range(block_start, block_start + step):
                    total = max(total, w[i])
            out[x] = total
    if kind < 2:
        for x in range(n):
            out[x] = math.log(out[x]) + scale if out[x] > 0.0 else -np.inf


@compiled
def _normalise_and_damp(g, e, kind, M, damping, out):
    """Normalise and damp a new message; returns its distance from the old one."""
    n, m = g.sizes[g.variable[e]], g.message[e]
    top = -np.inf
    for x in range(n):
        top = max(top, out[x])
    if top == -np.inf:
        return 0.0
    total = 0.0
    for x in range(n):
        total += math.exp(out[x] - top)
    shift = top + math.log(total)
    gap = 0.0
    for x in range(n):
        new, old = math.exp(out[x] - shift), math.exp(M[m + x])
        gap = max(gap, abs(new - old))
        if damping > 0.0:
            mixed = (1.0 - damping) * new + damping * old
            out[x] = math.log(mixed) if mixed > 0.0 else -np.inf
        else:
            out[x] -= shift
    return gap


@compiled
def message_sweep(g, order, kind, M, new, u, r, damping, loopy, buffers):
    """Messages of the edges in `order` from M into new; returns the largest change.

    `new` is M itself in a sequential sweep; `loopy` normalises and damps.
    """
    w, q, message_out = buffers
    gap = 0.0
    for k in range(len(order)):
        e = order[k]
        factor_to_variable(g, e, kind, M, u, r, q, w, message_out)
        if loopy:
            gap = max(gap, _normalise_and_damp(g, e, kind, M, damping, message_out))
        m = g.message[e]
        for x in range(g.sizes[g.variable[e]]):
            new[m + x] = message_out[x]
    return gap


@compiled
def _update_residual(residuals, leaf, value):
    """Set a residual in a tournament tree of maxima (leaves in the second half)."""
    k = leaf + len(residuals) // 2
    residuals[k] = value
    k //= 2
    while k >= 1:
        residuals[k] = max(residuals[2 * k], residuals[2 * k + 1])
        k //= 2


@compiled
def residual_sweep(
    g, kind, M, u, r, damping, pending, residuals, count, is_first, buffers
):
    """`count` updates, each of the message that would change most.

    `pending` holds the updated messages, `residuals` their distances from M.
    """
    w, q, message_out = buffers
    half = len(residuals) // 2
    if is_first:
        for e in range(len(g.variable)):
            factor_to_variable(g, e, kind, M, u, r, q, w, message_out)
            gap = _normalise_and_damp(g, e, kind, M, damping, message_out)
            for x in range(g.sizes[g.variable[e]]):
                pending[g.message[e] + x] = message_out[x]
            _update_residual(residuals, e, gap)
    for _ in range(count):
        k = 1
        while k < half:
            k = 2 * k if residuals[2 * k] >= residuals[2 * k + 1] else 2 * k + 1
        e = k - half
        if residuals[1] <= 0.0:
            break
        v = g.variable[e]
        for x in range(g.message[e], g.message[e + 1]):
            M[x] = pending[x]
        _update_residual(residuals, e, 0.0)
        for j in range(g.begin[v], g.begin[v + 1]):
            f = g.factor[g.edges[j]]
            for o in range(g.first[f], g.first[f + 1]):
                if g.edges[j] == e and o != e:
                    continue  # messages of this factor to others have not changed
                if g.variable[o] == v and o != e:
                    continue
                factor_to_variable(g, o, kind, M, u, r, q, w, message_out)
                gap = _normalise_and_damp(g, o, kind, M, damping, message_out)
                for x in range(g.sizes[g.variable[o]]):
                    pending[g.message[o] + x] = message_out[x]
                _update_residual(residuals, o, gap)
    return residuals[1]


@compiled
def variable_log_beliefs(g, M, u, r):
    """u_v + sum_e r_e M_e for every variable, end to end."""
    b = u.copy()
    for e in range(len(g.variable)):
        s, m = g.start[g.variable[e]], g.message[e]
        for x in range(g.sizes[g.variable[e]]):
            b[s + x] += r[e] * M[m + x]
    return b


@compiled
def tree_schedule(g, root):
    """Edges towards the roots, then away from them; the roots; whether it is a tree."""
    d = len(g.sizes)
    count = len(g.first) - 1
    E = len(g.variable)
    order, upward = np.empty(E, np.int64), np.empty(count, np.int64)
    queue, roots = np.empty(d, np.int64), np.empty(d, np.int64)
    visited, used = np.zeros(d, np.bool_), np.zeros(count, np.bool_)
    low = high = n_upward = n_roots = 0
    tree = True
    for i in range(-1, d):
        s = root if i < 0 else i
        if s >= d or visited[s]:
            continue
        visited[s] = True
        roots[n_roots] = s
        n_roots += 1
        queue[high] = s
        high += 1
        while low < high:
            v = queue[low]
            low += 1
            for k in range(g.begin[v], g.begin[v + 1]):
                e = g.edges[k]
                f = g.factor[e]
                if used[f]:
                    continue
                used[f] = True
                upward[n_upward] = e
                n_upward += 1
                for o in range(g.first[f], g.first[f + 1]):
                    if o == e:
                        continue
                    c = g.variable[o]
                    if visited[c]:
                        tree = False
                        continue
                    visited[c] = True
                    queue[high] = c
                    high += 1
    position = 0
    for k in range(n_upward - 1, -1, -1):
        order[position] = upward[k]
        position += 1
    for k in range(n_upward):
        f = g.factor[upward[k]]
        for o in range(g.first[f], g.first[f + 1]):
            if o != upward[k]:
                order[position] = o
                position += 1
    return order, roots[:n_roots], tree


@compiled
def decode_assignment(g, order, roots, kind, M, u, r, q, x):
    """Decode the best assignment x of a tree, from the roots down."""
    b = variable_log_beliefs(g, M, u, r)
    for k in range(len(roots)):
        v = roots[k]
        best = 0
        for a in range(1, g.sizes[v]):
            if b[g.start[v] + a] > b[g.start[v] + best]:
                best = a
        x[v] = best
    n_upward = 0
    is_done = np.zeros(len(g.first) - 1, np.bool_)
    while n_upward < len(order) and not is_done[g.factor[order[n_upward]]]:
        is_done[g.factor[order[n_upward]]] = True
        n_upward += 1
    for k in range(n_upward - 1, -1, -1):
        e = order[k]
        f = g.factor[e]
        cells = g.cell[f + 1] - g.cell[f]
        t = g.cell[f]
        score = np.empty(cells)
        for i in range(cells):
            a = g.table[t + i]
            if kind < 2:
                a = math.log(a) if a > 0.0 else -np.inf
            parent = (i // g.stride[e]) % g.sizes[g.variable[e]]
            score[i] = a if parent == x[g.variable[e]] else -np.inf
        for o in range(g.first[f], g.first[f + 1]):
            if o != e:
                variable_to_factor(g, o, M, u, r, q)
                n = g.sizes[g.variable[o]]
                for i in range(cells):
                    score[i] += q[(i // g.stride[o]) % n]
        best = 0
        for i in range(1, cells):
            if score[i] > score[best]:
                best = i
        for o in range(g.first[f], g.first[f + 1]):
            if o != e:
                x[g.variable[o]] = (best // g.stride[o]) % g.sizes[g.variable[o]]


@compiled
def gaussian_sweep(first, head, twin, value, diagonal, h, A, B, order, damping):
    """Messages of each node in `order` to its neighbours; returns the largest change.

    A, B: precision and potential of the message over each arc, at its head. The change
    is infinite where a precision is not above 0.
    """
    gap = 0.0
    for i in order:
        a, b = diagonal[i], h[i]
        for k in range(first[i], first[i + 1]):
            a += A[twin[k]]
            b += B[twin[k]]
        for k in range(first[i], first[i + 1]):
            p, m = a - A[twin[k]], b - B[twin[k]]
            if not p > 0.0:
                return float("inf")
            new_a, new_b = -value[k] * value[k] / p, -value[k] * m / p
            size = 1.0 + abs(new_a) + abs(new_b)
            gap = max(gap, (abs(new_a - A[k]) + abs(new_b - B[k])) / size)
            A[k] = (1.0 - damping) * new_a + damping * A[k]
            B[k] = (1.0 - damping) * new_b + damping * B[k]
    return gap
