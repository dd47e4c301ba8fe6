"""Compiled tree search in a POMDP."""

import math
from typing import NamedTuple

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


class SearchModel(NamedTuple):
    """Cumulative tables to draw from."""

    T: np.ndarray  # (A, S, S)
    Z: np.ndarray  # (A, S, O)
    r: np.ndarray  # (S, A)
    gamma: float
    transition: np.ndarray  # (A, S, S) T itself
    observation: np.ndarray  # (A, S, O) Z itself
    vectors: np.ndarray  # (A, S) Q of the policy that is played; empty: random actions


class SearchTree(NamedTuple):
    """Arrays of nodes; node 0 is the root, and child 0 stands for none."""

    child: np.ndarray  # (n, A, O)
    visits: np.ndarray  # (n, A)
    values: np.ndarray  # (n, A) Q
    paid: np.ndarray  # (n, A) mean reward of the action itself
    after: np.ndarray  # (n, A) sum of the values of the nodes that it led to
    count: np.ndarray  # (n,) simulations that came to the node
    value: np.ndarray  # (n,) V, the value of its most visited action
    belief: np.ndarray  # (n, S) b of each node, or empty if nobody asks


class SearchPath(NamedTuple):
    """The nodes of one simulation, its actions, rewards, and values before it."""

    node: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    value: np.ndarray


class SearchLimits(NamedTuple):
    """Limits of a search."""

    n_simulations: int
    max_depth: int
    exploration: float
    mean_backup: bool  # whether Q is the mean return, eq. (2), or eq. (3)


@compiled(inner=True)
def draw_index(cumulative, u):
    """The first k with cumulative[k] > u, by bisection."""
    lo = 0
    hi = len(cumulative) - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if cumulative[middle] > u:
            hi = middle
        else:
            lo = middle + 1
    return lo


@compiled(inner=True)
def _upper_confidence_action(visits, values, c):
    """Eq. (1) of `pomcp`; the first untried action if there is one."""
    total = 0
    for a in range(len(visits)):
        if visits[a] == 0:
            return a
        total += visits[a]
    log_total = math.log(total)
    best = -np.inf
    best_action = 0
    for a in range(len(visits)):
        score = values[a] + c * math.sqrt(log_total / visits[a])
        if score > best:
            best = score
            best_action = a
    return best_action


@compiled(inner=True)
def _random_return(model, s, depth, max_depth, stream):
    """Discounted rewards of random actions from state s."""
    n_actions = model.r.shape[1]
    total = 0.0
    discount = 1.0
    for _ in range(depth, max_depth):
        a = int(random_uniform(stream) * n_actions)
        total += discount * model.r[s, a]
        s = draw_index(model.T[a, s], random_uniform(stream))
        discount *= model.gamma
    return total


@compiled(inner=True)
def _filter_belief(model, b, a, o, after):
    """The belief after action a and observation o, eq. (1) of `pomdp`."""
    S = len(b)
    total = 0.0
    for t in range(S):
        p = 0.0
        for s in range(S):
            p += b[s] * model.transition[a, s, t]
        after[t] = p * model.observation[a, t, o]
        total += after[t]
    for t in range(S):
        after[t] /= total


@compiled(inner=True)
def _greedy_belief_action(vectors, b):
    """The action of the vector that is best at a belief."""
    best = -np.inf
    best_action = 0
    for a in range(len(vectors)):
        value = 0.0
        for s in range(len(b)):
            value += vectors[a, s] * b[s]
        if value > best:
            best = value
            best_action = a
    return best_action


@compiled(inner=True)
def _expected_reward(model, b, a):
    """The mean reward of an action at a belief."""
    total = 0.0
    for s in range(len(b)):
        total += b[s] * model.r[s, a]
    return total


@compiled(inner=True)
def _greedy_return(model, s, b, steps, stream, scratch):
    """Discounted rewards of the greedy policy of beliefs, which begins with b."""
    current, following = scratch[0], scratch[1]
    for i in range(len(b)):
        current[i] = b[i]
    total = 0.0
    discount = 1.0
    for _ in range(steps):
        a = _greedy_belief_action(model.vectors, current)
        total += discount * _expected_reward(model, current, a)
        s = draw_index(model.T[a, s], random_uniform(stream))
        o = draw_index(model.Z[a, s], random_uniform(stream))
        _filter_belief(model, current, a, o, following)
        current, following = following, current
        discount *= model.gamma
    return total


@compiled(inner=True)
def _most_visited(visits):
    """Number of the action that was taken most."""
    best = 0
    for a in range(1, len(visits)):
        if visits[a] > visits[best]:
            best = a
    return best


@compiled(inner=True)
def _back_up(tree, path, depth, tail, gamma, mean_backup):
    """Update the nodes of one simulation from its end, eq. (2) or (3) of `pomcp`.

    tail is the value of what follows the last step.
    """
    gained = tail
    for d in range(depth - 1, -1, -1):
        node = path.node[d]
        a = path.action[d]
        reward = path.reward[d]
        tree.visits[node, a] += 1
        n = tree.visits[node, a]
        tree.paid[node, a] += (reward - tree.paid[node, a]) / n
        gained = reward + gamma * gained
        if mean_backup:
            tree.values[node, a] += (gained - tree.values[node, a]) / n
        else:
            child = path.node[d + 1]  # its count and value before and after this visit
            return_before = tree.count[child] * path.value[d + 1]
            tree.count[child] += 1
            tree.after[node, a] += tree.count[child] * tree.value[child] - return_before
            tree.values[node, a] = tree.paid[node, a] + gamma * tree.after[node, a] / n
            path.value[d] = tree.value[node]
            tree.value[node] = tree.values[node, _most_visited(tree.visits[node])]


@compiled
def grow_search_tree(model, tree, belief, leaf, stream, limits):
    """Simulate from a cumulative belief; returns the number of nodes.

    leaf has the value of what follows in each state; if it is empty, the policy of
    model.vectors is played, or random actions.
    """
    scratch = np.empty((2, model.r.shape[0]))
    played = len(model.vectors) > 0
    n_nodes = 1
    size = limits.max_depth + 1
    path = SearchPath(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
    )
    for _ in range(limits.n_simulations):
        s = draw_index(belief, random_uniform(stream))
        node = 0
        depth = 0
        new = False
        while depth < limits.max_depth and not new:
            a = _upper_confidence_action(
                tree.visits[node], tree.values[node], limits.exploration
            )
            path.node[depth] = node
            path.action[depth] = a
            path.reward[depth] = (
                _expected_reward(model, tree.belief[node], a)
                if played
                else model.r[s, a]
            )
            depth += 1
            s = draw_index(model.T[a, s], random_uniform(stream))
            o = draw_index(model.Z[a, s], random_uniform(stream))
            child = tree.child[node, a, o]
            if child == 0:
                child = n_nodes
                tree.child[node, a, o] = child
                n_nodes += 1
                new = True
                if played:
                    _filter_belief(model, tree.belief[node], a, o, tree.belief[child])
            node = child
        if len(leaf):
            tail = leaf[s]
        elif played:
            tail = _greedy_return(
                model, s, tree.belief[node], limits.max_depth - depth, stream, scratch
            )
        else:
            tail = _random_return(model, s, depth, limits.max_depth, stream)
        path.node[depth] = node
        path.value[depth] = tree.value[node]
        # a leaf's value is the mean of what followed it
        seen = tree.count[node]
        tree.value[node] += (tail - tree.value[node]) / (seen + 1)
        _back_up(tree, path, depth, tail, model.gamma, limits.mean_backup)
    return n_nodes
