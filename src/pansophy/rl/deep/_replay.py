"""Compiled loops of the replay buffer: n-step targets and the sum tree."""

from ...core.loops.compiled import compiled


@compiled
def n_step_targets(ring, index, newest, n, gamma, G, discount, last):
    """Rewards of up to n steps from each index, what the value after counts, and where.

    ring = (reward, terminated, done, width): steps of `width` environments lie side by
    side, so the next step of an environment is `width` places on, around the ring.
    `newest` is the place of the latest step of environment 0; windows end there.
    """
    reward, terminated, done, width = ring
    size = len(reward)
    for j in range(len(index)):
        i = index[j]
        total = 0.0
        weight = 1.0
        for k in range(n):
            total += weight * reward[i]
            weight *= gamma
            latest = i - i % width == newest
            if done[i] or latest or k == n - 1:
                break
            i = (i + width) % size
        G[j] = total
        discount[j] = 0.0 if terminated[i] else weight
        last[j] = i


@compiled
def set_priorities(tree, index, priority):
    """Write leaves of a sum tree and the sums above them."""
    leaves = len(tree) // 2
    for j in range(len(index)):
        i = index[j] + leaves
        tree[i] = priority[j]
        i //= 2
        while i >= 1:  # sums are made anew: differences would gather rounding
            tree[i] = tree[2 * i] + tree[2 * i + 1]
            i //= 2


@compiled
def find_leaves(tree, mass, index):
    """The leaf in which each running sum `mass` falls."""
    leaves = len(tree) // 2
    for j in range(len(mass)):
        left = mass[j]
        i = 1
        while i < leaves:
            i *= 2
            if left >= tree[i] and tree[i + 1] > 0.0:
                left -= tree[i]
                i += 1
        index[j] = i - leaves
