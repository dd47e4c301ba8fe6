"""Compiled growth and reading of multiway trees, in the letters of `multiway_tree.py`.

A node's rows are a slice of two stacks, `rows` and `share` (the part of a row that has
come to the node). The node grown next always owns the top slice; its children's slices
take its place.
"""

import math

import numpy as np

from ..core.loops.compiled import compiled
from .growing._criteria import xlogx

PARENT, LEVEL, DEPTH, FEATURE, FIRST, COUNT, WIDTH = range(7)
TIE = 1e-10  # gains closer than this are equal
SLIVER = 1e-3  # least part of a row that is followed further
MANY = 0.3  # levels per row from which a column says little about the average gain
MOST = 25.0  # C4.5 asks for no more rows than this beside a threshold


@compiled
def class_weights_by_level(x, y, w, rows, share, H):
    """Class weights H (levels, K) by level; returns the weight without one."""
    H[:] = 0.0
    missing = 0.0
    for i in range(rows.size):
        r = rows[i]
        v = x[r]
        if v != v:
            missing += w[r] * share[i]
        else:
            H[int(v), y[r]] += w[r] * share[i]
    return missing


@compiled
def gain_and_split_information(H, missing, least):
    """Gain and split information of branches, eqs. (1) and (2), and how many are full.

    H holds the class weights by branch; a branch is full if it has weight `least`.
    """
    known = inside = whole = parts = 0.0
    full = 0
    for b in range(H.shape[0]):
        t = 0.0
        for c in range(H.shape[1]):
            t += H[b, c]
            inside -= xlogx(H[b, c])
        inside += xlogx(t)
        parts += xlogx(t)
        known += t
        full += t > 0.0 and t >= least
    for c in range(H.shape[1]):
        s = 0.0
        for b in range(H.shape[0]):
            s += H[b, c]
        whole -= xlogx(s)
    whole += xlogx(known)
    total = (known + missing) * math.log(2.0)
    info = xlogx(known + missing) - parts - xlogx(missing)
    return (whole - inside) / total, info / total, full


@compiled
def best_numeric_threshold(x, y, w, rows, share, least, H):
    """Best threshold of a numeric column, with the class weights of both sides in H.

    Returns the threshold, the weight without a value, and the places tried.
    """
    K = H.shape[1]
    H[:] = 0.0
    at, values = np.empty(rows.size, np.int64), np.empty(rows.size, x.dtype)
    m = 0
    known = 0.0
    missing = 0.0
    v = x[0]
    for i in range(rows.size):
        r = rows[i]
        t = w[r] * share[i]
        v = x[r]
        if v != v:
            missing += t
        else:
            values[m], at[m] = v, i
            m += 1
            H[1, y[r]] += t
            known += t
    order = np.argsort(values[:m])
    least = min(max(least, 0.1 * known / K), max(MOST, least))
    left = 0.0
    best = -np.inf
    cut = 0
    tries = 0
    threshold = np.nan
    inner = 0.0  # sum of xlogx over both sides and all classes
    for c in range(K):
        inner += xlogx(H[1, c])
    for j in range(m - 1):
        i = at[order[j]]
        c = y[rows[i]]
        t = w[rows[i]] * share[i]
        inner -= xlogx(H[0, c]) + xlogx(H[1, c])
        H[0, c] += t
        H[1, c] = max(H[1, c] - t, 0.0)
        inner += xlogx(H[0, c]) + xlogx(H[1, c])
        left += t
        low, high = values[order[j]], values[order[j + 1]]
        if low == high or left < least or known - left < least:
            continue
        tries += 1
        score = inner - xlogx(left) - xlogx(known - left)
        if score > best + TIE * known:
            best = score
            cut = j + 1
            threshold = 0.5 * np.float64(low) + 0.5 * np.float64(high)
    H[:] = 0.0
    for j in range(m):
        i = at[order[j]]
        H[int(j >= cut), y[rows[i]]] += w[rows[i]] * share[i]
    return threshold, missing, tries


@compiled
def average_gain(gains, k, many):
    """Average gain of the columns that can split, those of many levels left out."""
    for keys in range(2):
        total, m = 0.0, 0
        for f in range(gains.size):
            if gains[f] >= 0.0 and (keys or k[f] < many):
                total += gains[f]
                m += 1
        if m:
            return total / m
    return 0.0


@compiled
def choose_multiway_split(X, k, y, w, rows, share, free, W, limits, H):
    """The best feature and its threshold (NaN: by level); -1 if none is worth it."""
    many, least, ratio, eager = limits
    d = X.shape[0]
    gains = np.full(d, -1.0)
    infos = np.ones(d)
    cuts = np.full(d, np.nan)
    for f in range(d):
        if k[f] > 0:
            if not free[f]:
                continue
            missing = class_weights_by_level(X[f], y, w, rows, share, H[: k[f]])
            gain, info, full = gain_and_split_information(H[: k[f]], missing, least)
            if full > 1:
                gains[f] = max(gain, 0.0)
                infos[f] = info
        else:
            cuts[f], missing, tries = best_numeric_threshold(
                X[f], y, w, rows, share, least, H[:2]
            )
            if tries:
                gain, infos[f], _ = gain_and_split_information(H[:2], missing, least)
                gains[f] = max(gain - math.log2(tries) / W, 0.0)
    least = average_gain(gains, k, many) - TIE if ratio else 0.0
    feature, best = -1, -1.0
    for f in range(d):
        value = gains[f]
        if ratio and value > TIE:
            value /= max(infos[f], TIE)
        worth = gains[f] > TIE or (eager and gains[f] >= 0.0)
        if worth and gains[f] >= least and value > best + TIE:
            feature, best = f, value
    return feature, cuts[max(feature, 0)]


@compiled
def partition_by_branch(x, w, threshold, rows, share, k):
    """Rows and shares by branch, where each branch ends, and the levels of branches.

    A row without a value goes down every branch, by the branches' weights, eq. (3).
    """
    by_level = threshold != threshold
    weight = np.zeros(k if by_level else 2)
    branch = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        v = x[rows[i]]
        branch[i] = -1
        if v == v:
            branch[i] = int(v) if by_level else int(v > threshold)
            weight[branch[i]] += w[rows[i]] * share[i]
    slot = np.full(weight.size + 1, -1)
    levels = np.empty(weight.size, np.int64)
    m, known = 0, 0.0
    for b in range(weight.size):
        if weight[b] > 0.0:
            slot[b], levels[m] = m, b
            known += weight[b]
            m += 1
    p = np.empty(m)
    ends = np.zeros(m + 1, np.int64)
    at = np.zeros(m, np.int64)
    for b in range(m):
        p[b] = weight[levels[b]] / known
    for i in range(rows.size):
        if branch[i] >= 0:
            ends[slot[branch[i]] + 1] += 1
        else:
            for b in range(m):
                ends[b + 1] += share[i] * p[b] >= SLIVER
    for b in range(m):
        at[b] = ends[b]
        ends[b + 1] += ends[b]
    new, part = np.empty(ends[m], np.int32), np.empty(ends[m])
    for i in range(rows.size):
        b = slot[branch[i]]  # the last slot is that of no value
        if b >= 0:
            new[at[b]], part[at[b]] = rows[i], share[i]
            at[b] += 1
            continue
        for b in range(m):
            if share[i] * p[b] >= SLIVER:
                new[at[b]], part[at[b]] = rows[i], share[i] * p[b]
                at[b] += 1
    return new, part, ends, levels[:m]


@compiled
def enlarge_rows(a, size):
    """The rows of an array with room for more."""
    b = np.zeros((size, a.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j]
    return b


@compiled
def enlarge_vector(a, size):
    """A list with room for more."""
    b = np.zeros(size, a.dtype)
    for i in range(a.size):
        b[i] = a[i]
    return b


@compiled
def node_class_weights(y, w, rows, share, counts):
    """Class weights of a node's rows; returns their sum and the largest."""
    W = most = 0.0
    for i in range(rows.size):
        counts[y[rows[i]]] += w[rows[i]] * share[i]
    for c in range(counts.size):
        W += counts[c]
        most = max(most, counts[c])
    return W, most


@compiled
def mark_unused_features(N, v, free):
    """Mark the features that no node above v asks for."""
    for f in range(free.size):
        free[f] = True
    v = N[v, PARENT]
    while v >= 0:
        free[N[v, FEATURE]] = False
        v = N[v, PARENT]


@compiled
def grow_multiway_nodes(X, k, y, w, K, max_depth, min_split, least, ratio, eager):
    """Nodes of a tree: whole numbers N, thresholds T and class weights C."""
    n = y.size
    most = 2
    for f in range(k.size):
        most = max(most, k[f])
    N, T = np.zeros((64, WIDTH), np.int64), np.zeros((64, 1))
    C = np.zeros((64, K))
    H = np.empty((most, K))
    rows = np.empty(n, np.int32)
    share = np.ones(n)
    stack = np.zeros((64, 2), np.int64)
    free = np.empty(k.size, np.bool_)
    for i in range(n):
        rows[i] = i
    N[0, PARENT] = -1
    used = 1
    top = 1
    end = n
    many = 0.0
    while top:
        top -= 1
        v, a = stack[top, 0], stack[top, 1]
        mine, mass = rows[a:end], share[a:end]
        W, main = node_class_weights(y, w, mine, mass, C[v])
        N[v, FEATURE] = -1
        T[v, 0] = np.nan
        end = a
        full = min_split <= W * (1.0 + 1e-12) and N[v, DEPTH] < max_depth
        if not full or main >= W * (1.0 - 1e-12):
            continue
        mark_unused_features(N, v, free)
        if v == 0:
            many = MANY * W
        f, t = choose_multiway_split(
            X, k, y, w, mine, mass, free, W, (many, least, ratio, eager), H
        )
        if f < 0:
            continue
        new, bits, ends, levels = partition_by_branch(X[f], w, t, mine, mass, k[f])
        m = levels.size
        end = a + new.size
        if end > rows.size:
            rows, share = enlarge_vector(rows, 2 * end), enlarge_vector(share, 2 * end)
        for i in range(new.size):
            rows[a + i], share[a + i] = new[i], bits[i]
        if used + m > T.size:
            size = 2 * (used + m)
            N, T, C = (
                enlarge_rows(N, size),
                enlarge_rows(T, size),
                enlarge_rows(C, size),
            )
            stack = enlarge_rows(stack, size)
        N[v, FEATURE], N[v, FIRST], N[v, COUNT], T[v, 0] = f, used, m, t
        for b in range(m):
            N[used, PARENT] = v
            N[used, LEVEL] = levels[b]
            N[used, DEPTH] = N[v, DEPTH] + 1
            stack[top, 0] = used
            stack[top, 1] = a + ends[b]
            used += 1
            top += 1
    return N[:used], T[:used], C[:used]


@compiled
def child_of_value(N, T, node, v):
    """Child that a value leads to, -1 for a level the node never saw, -2 for none."""
    if v != v:
        return -2
    first, m = N[node, FIRST], N[node, COUNT]
    if T[node] == T[node]:
        return first + int(v > T[node])
    low = 0
    high = m
    while low < high:
        middle = (low + high) // 2
        if N[first + middle, LEVEL] < v:
            low = middle + 1
        else:
            high = middle
    found = low < m and N[first + low, LEVEL] == v
    return first + low if found else -1


@compiled
def stopping_nodes(X, N, T, out):
    """The node at which each row of X (n, d) stops."""
    for i in range(X.shape[0]):
        node = 0
        while N[node, COUNT] > 0:
            c = child_of_value(N, T, node, X[i, N[node, FEATURE]])
            if c < 0:
                break
            node = c
        out[i] = node


@compiled
def add_fractional_rows(X, N, T, W, P, out):
    """Class shares of each row; a row without a value goes down every branch."""
    nodes = np.zeros(64, np.int64)
    mass = np.ones(64)
    for i in range(X.shape[0]):
        nodes[0], mass[0], top = 0, 1.0, 1
        while top:
            top -= 1
            v = nodes[top]
            s = mass[top]
            c = -1
            if N[v, COUNT] > 0:
                c = child_of_value(N, T, v, X[i, N[v, FEATURE]])
            if c >= 0:
                nodes[top] = c
                top += 1
            elif c == -1 or s < SLIVER:
                for j in range(P.shape[1]):
                    out[i, j] += s * P[v, j]
            else:
                first, m = N[v, FIRST], N[v, COUNT]
                if top + m > nodes.size:
                    nodes = enlarge_vector(nodes, 2 * (top + m))
                    mass = enlarge_vector(mass, 2 * (top + m))
                total = 0.0
                for b in range(m):
                    total += W[first + b]
                for b in range(m):
                    nodes[top], mass[top] = first + b, s * W[first + b] / total
                    top += 1
