"""Searches along orders of the nodes: the K2 search and the exact optimum.

Given an order in which parents come before children, families are chosen one by one:
no choice can close a cycle. The K2 search adds the best parent among the nodes before,
again and again, while the score rises. The best of all orders is found over sets: every
graph has a node without children, so with b(y, C) the best score of y with parents in C

    V(S) = max over y in S of  V(S - y) + b(y, S - y),        V of no nodes is 0  (1)
    b(y, C) = max( s(y, C), max over x in C of b(y, C - x) )                     (2)

and V of all nodes is the best score of any graph: 2^d sets rather than some 2^(d^2 / 2)
graphs.

Cost      K2: d tables of counts for each parent; exact: d 2^(d - 1) families
Refs      [CooperHerskovits1992]; [SilanderMyllymaki2006]
"""

from typing import NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, Task
from .hill_climbing import EdgeConstraints


class OrderedParents(NamedTuple):
    """Parents found so far of nodes in a given order."""

    parents: tuple
    done: int
    objective: float


def k2_search(families, rules: EdgeConstraints, order, task: Task = SILENT) -> Result:
    """The K2 search: each node takes the best parents among those before it, greedily.

    A step is a node.
    """
    d = len(order)

    def step(state: OrderedParents) -> OrderedParents:
        y = order[state.done]
        must = [x for x in order if rules.required[x, y]]
        above, score = tuple(must), families.score(y, tuple(must))
        while len(above) < rules.max_parents:
            free = [
                x
                for x in order[: state.done]
                if x not in above and not rules.forbidden[x, y]
            ]
            if not free:
                break
            found = families.adds(y, above, free)
            if found.max() <= score:
                break
            above, score = (*above, free[int(found.argmax())]), float(found.max())
        parents = list(state.parents)
        parents[y] = tuple(sorted(above))
        return OrderedParents(tuple(parents), state.done + 1, state.objective - score)

    change = lambda old, new: 0.0 if new.done == d else 1.0
    first = OrderedParents(((),) * d, 0, 0.0)
    return iterate(step, first, max_iter=d, tol=0.0, change=change, task=task)


class SubsetScores(NamedTuple):
    """Best scores of networks on all sets of nodes of one more size."""

    best: dict  # set as bits -> (score, last node, its parents)
    objective: float


def exact_search(families, rules: EdgeConstraints, task: Task = SILENT) -> Result:
    """The best of all graphs, eq. (1). A step is all sets of one size."""
    d = families.d
    choice = [best_parent_sets(families, rules, y) for y in range(d)]

    def step(state: SubsetScores) -> SubsetScores:
        grown: dict = {}
        for C, (score, _, _) in state.best.items():
            for y in range(d):
                if not C >> y & 1:
                    own, above = choice[y][C]
                    new, S = score + own, C | 1 << y
                    if S not in grown or new > grown[S][0]:
                        grown[S] = (new, y, above)
        kept.update(grown)
        return SubsetScores(grown, -max(v[0] for v in grown.values()))

    kept: dict = {0: (0.0, -1, 0)}
    never = lambda old, new: 1.0
    result = iterate(
        step,
        SubsetScores(dict(kept), 0.0),
        max_iter=d,
        tol=0.0,
        change=never,
        task=task,
    )
    parents, C = [()] * d, (1 << d) - 1
    while C and C in kept:
        _, y, above = kept[C]
        parents[y] = tuple(x for x in range(d) if above >> x & 1)
        C &= ~(1 << y)
    state = OrderedParents(tuple(parents), d, result.objective)
    reason = "tolerance" if result.n_iter == d else result.reason
    return result._replace(state=state, reason=reason)


def best_parent_sets(families, rules: EdgeConstraints, y) -> dict:
    """b(y, C) for all C, eq. (2): sets as bits -> (score, parents as bits)."""
    d = families.d
    must = sum(1 << x for x in range(d) if rules.required[x, y])
    bar = sum(1 << x for x in range(d) if rules.forbidden[x, y])
    scores = {0: families.score(y, ())}
    for S in range(1 << d):
        if S >> y & 1 or S.bit_count() >= rules.max_parents:
            continue
        more = [z for z in range(S.bit_length(), d) if z != y]
        if more:
            above = tuple(x for x in range(d) if S >> x & 1)
            found = families.adds(y, above, more)
            scores.update({S | 1 << z: v for z, v in zip(more, found.tolist())})
    best: dict = {}
    for S in range(1 << d):
        if S >> y & 1:
            continue
        legal = S in scores and not S & bar and S & must == must
        top = (scores[S], S) if legal else (-np.inf, 0)
        for x in range(d):
            if S >> x & 1:
                top = max(top, best[S ^ 1 << x], key=lambda t: t[0])
        best[S] = top
    return best
