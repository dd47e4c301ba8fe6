"""Compiled loops of `hdbscan.py`: the condensed tree and labels from it."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def drop_rows(children, n, top, parent, rate, stack, tree, used):
    """All rows below node `top` leave cluster `parent`; how many entries there are."""
    depth = 1
    stack[0] = top
    while depth:
        depth -= 1
        node = stack[depth]
        if node < n:
            tree[used, 0], tree[used, 1], tree[used, 2] = parent, node, rate
            tree[used, 3] = 1
            used += 1
        else:
            stack[depth], stack[depth + 1] = (
                children[node - n, 1],
                children[node - n, 0],
            )
            depth += 2
    return used


@compiled
def simultaneous_parts(children, height, n, node, together, stack, parts):
    """The clusters that merge at the height of node, all at once; how many.

    Unless `together`, only the two that node itself merges.
    """
    stack[0] = node
    depth = 1
    count = 0
    while depth:
        depth -= 1
        t = stack[depth] - n
        for side in range(2):
            child = children[t, side]
            if together and child >= n and height[child - n] == height[node - n]:
                stack[depth] = child
                depth += 1
            else:
                parts[count] = child
                count += 1
    return count


@compiled
def fill_condensed_tree(children, height, size, n, min_size, together, tree):
    """Eq. (2): rows (parent, child, lambda, size) of the condensed tree; how many."""
    name = np.zeros(2 * n - 1, np.int64)
    queue, stack = np.empty(2 * n - 1, np.int64), np.empty(n + 1, np.int64)
    parts = np.empty(n, np.int64)
    queue[0], name[2 * n - 2], head, tail = 2 * n - 2, n, 0, 1
    used = 0
    fresh = n + 1
    while head < tail:
        node = queue[head]
        head += 1
        if node < n:
            continue
        t = node - n
        own = name[node]
        big = 0
        rate = 1.0 / height[t] if height[t] > 0 else np.inf
        count = simultaneous_parts(children, height, n, node, together, stack, parts)
        for child in parts[:count]:
            big += (size[child - n] if child >= n else 1) >= min_size
        for child in parts[:count]:
            rows = size[child - n] if child >= n else 1
            if rows < min_size:
                used = drop_rows(children, n, child, own, rate, stack, tree, used)
                continue
            name[child] = own
            if big > 1:  # a true split: its large parts are clusters of their own
                name[child] = fresh
                tree[used, 0], tree[used, 1], tree[used, 2] = own, fresh, rate
                tree[used, 3] = rows
                used, fresh = used + 1, fresh + 1
            queue[tail] = child
            tail += 1
    return used


@compiled
def chosen_ancestors(tree, n, chosen, top, rate):
    """The chosen cluster above each row (n + its number), or the root; its lambda.

    `top` has an entry for each cluster; a parent has a lower number than its children.
    """
    for c in range(len(top)):
        top[c] = c if chosen[c] else (0 if c == 0 else -1)
    for e in range(len(tree)):
        parent = int(tree[e, 0]) - n
        child = int(tree[e, 1])
        if child >= n and top[child - n] < 0:
            top[child - n] = top[parent]
    above = np.zeros(n, np.int64)
    for e in range(len(tree)):
        child = int(tree[e, 1])
        if child < n:
            above[child] = top[int(tree[e, 0]) - n]
            rate[child] = tree[e, 2]
    return above
