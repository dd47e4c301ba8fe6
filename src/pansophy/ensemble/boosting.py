"""Gradient boosting: trees added one after another, each a step down the loss.

    F_t(x) = F_{t-1}(x) + nu T_t(x),      J = sum_i w_i l(y_i, F(x_i))           (1)

A round asks of each row how the loss would fall, G_i = -w_i dl/dF, and how fast that
changes, H_i = w_i d2l/dF2 (`targets.py`), and grows a tree on them in either way:

    newton    the split of largest G_l^2/(H_l + a) + G_r^2/(H_r + a) - G^2/(H + a),
              the leaf G / (H + a): the best second-order step with a price a |v|^2/2
              on leaf values                                                      (2)
    squares   the tree that fits -dl/dF best in squares, then in each leaf one
              Newton step G / H (for classes times (K-1)/K)                       (3)

Losses with kinks set their leaves by quantiles (`targets.py`). Every leaf's step
lowers its part of J if nu is small enough: it points down the gradient. With K > 2
classes a round grows K trees, which do not see one another and so grow side by side.

The engine leaves the rows of a tree in the order of its leaves, so F is updated
without walking: a round costs the histograms plus O(n). Rows out of the bag, and
validation rows, walk.

What bounds a round is memory. In a tree of 31 leaves over 10^6 rows and 20 columns each
row is counted in 2.6 nodes and parted in 6. At the root, where rows lie in order,
counting takes 0.65 ns a row and column. Below it the 8 bytes of a row's tile are all
that is wanted of a cache line of 64, some 240 MB of lines a tree for counting and 145
for parting, and it takes 1.2 ns, whatever the distance looked ahead (24 to 96 rows).
The columns of all tiles side by side would save 130 MB of the first and add 90 to the
second.

Memory 1 byte per value of the table and O(n K). The state's arrays are worked on in
place; after an interruption they are made anew from the trees.

Shapes    y (n,)   w (n,)   f, G, H (K, n)
Refs      [Friedman2001] eqs. (1) and (3); [Friedman2002] subsample;
          [Chen2016] eq. (2); [Ke2017] histograms
"""

from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ..core import threads
from ..core.iterate import Result, iterate
from ..losses import base as kinds
from ..losses.base import Loss, weighted_quantile
from ..tree import prune
from ..tree._layout import NEWTON, SQUARE
from ..tree.columns import Columns
from ..tree.criteria import Criterion
from ..tree.grow import Grower, Grown, Limits
from ..tree.structure import LEAF, Tree
from . import _boosting as loops
from . import targets

PARALLEL_ROWS = 1 << 16  # rows from which the leaves of one tree are shared by threads


class BoostingRows(NamedTuple):
    """Rows with targets and weights, and where their predictions start."""

    X: Any  # float32 (n, d), or None where nothing walks
    y: np.ndarray
    w: np.ndarray | None
    f: np.ndarray  # (K, n)


class BoostingOptions(NamedTuple):
    """How to boost."""

    loss: Loss
    rate: float  # nu
    limits: Limits
    newton: bool = True  # eq. (2), or eq. (3)
    l2: float = 0.0
    share: float = 1.0  # of the rows, drawn anew for each round
    level: float | None = None  # Huber's delta is this quantile of |y - f|
    alpha: float = 0.0  # price of a leaf, pruned away after growth


class BoostingState(NamedTuple):
    """What one round hands to the next."""

    objective: float  # J over the sum of weights
    f: np.ndarray  # (K, n)
    G: np.ndarray
    H: np.ndarray | None
    loss: Loss
    trees: tuple = ()  # K of each round, values times nu
    held: np.ndarray | None = None  # (K, held-out rows)
    validation: float = np.nan  # J of the held-out rows
    before: float = np.nan  # J of the rows not drawn, before and after the round
    outside: float = np.nan
    scores: tuple = ()  # what the stopping rule has noted


class Booster:
    """Rounds on one table: `start` gives the first state, `step` the next."""

    def __init__(
        self,
        columns: Columns,
        table: BoostingRows,
        rule: BoostingOptions,
        seed=0,
        held=None,
    ):
        self.table, self.rule, self.seed, self.held = table, rule, seed, held
        self.K, self.n = table.f.shape
        kind = NEWTON if rule.newton else SQUARE
        criterion = (
            Criterion(kind, 1, l2=rule.l2) if rule.newton else Criterion(kind, 1)
        )
        self.growers: SimpleQueue[Grower] = SimpleQueue()
        for _ in range(min(self.K, threads.count() + 1)):
            self.growers.put(Grower(columns, criterion, rule.limits))
        self.total = float(self.n if table.w is None else table.w.sum())

    def start(self, trees=()) -> BoostingState:
        """The state before the first round, or after the rounds of `trees`."""
        G, H = targets.allocate_gradients(self.rule.loss, self.K, self.n)
        held = None if self.held is None else self.held.f
        state = BoostingState(np.nan, self.table.f, G, H, self.rule.loss, tuple(trees))
        state = self.measure(state._replace(held=held))
        return self.look(state, None)

    def step(self, state: BoostingState) -> BoostingState:
        """One round: K trees, side by side."""
        # a generator per round: rounds after a pause are what they would have been
        rng = np.random.default_rng((self.seed, len(state.trees)))
        seeds, rows = rng.integers(0, 2**62, self.K), self.draw(rng)
        if rows is not None:
            state = state._replace(before=self.parts(state, rows)[1])
        work = lambda k: self.branch(state, rows, k, int(seeds[k]))
        trees = tuple(threads.run((lambda k=k: work(k)) for k in range(self.K)))
        if self.held is not None and state.held is not None:
            for k, tree in enumerate(trees):
                state.held[k] += tree.value[:, 0, 0][tree.apply(self.held.X)]
        return self.look(state._replace(trees=state.trees + trees), rows)

    def draw(self, rng):
        """Rows of this round in ascending order; None for all of them."""
        if self.rule.share >= 1:
            return None
        size = max(1, int(self.rule.share * self.n))
        rows = rng.choice(self.n, size, replace=False, shuffle=False)
        return np.sort(rows).astype(np.int32)

    # -- one tree --------------------------------------------------------------

    def branch(self, state, rows, k, seed) -> Tree:
        """Grow the tree of column k, set its leaves, add them to f."""
        G, H, w = state.G[k], None if state.H is None else state.H[k], self.table.w
        grower = self.growers.get()
        try:
            if self.rule.newton:
                weights = w if H is None else H
                grown = grower.grow(G[:, None], weights, seed=seed, rows=rows)
            else:
                grown = grower.grow(G[:, None], w, seed=seed, rows=rows)
        finally:
            self.growers.put(grower)
        if self.rule.alpha > 0:
            grown = self.pruned(grown)
        tree = scale_tree_values(self.leaves(state, grown, k), self.rule)
        self.add(tree, grown, state.f[k], rows)
        return tree

    def pruned(self, grown: Grown) -> Grown:
        """The tree after cost-complexity pruning, its rows in the new order."""
        tree = prune.cut(grown.tree, self.rule.alpha)
        leaf = tree.apply(self.table.X)[grown.rows]
        order = np.argsort(leaf, kind="stable")
        number = np.arange(tree.node_count)
        start = np.searchsorted(leaf[order], number, "left")
        stop = np.searchsorted(leaf[order], number, "right")
        return Grown(tree, grown.rows[order], start, stop)

    def leaves(self, state, grown: Grown, k) -> Tree:
        """The tree with its leaves set by the loss, where the engine has not."""
        tree, loss, w = grown.tree, state.loss, self.table.w
        value = tree.value[:, 0, 0].copy()
        signs, left = self.rule.limits.signs, tree.children_left
        inner = signs is not None
        v, place = targets.EMPTY if w is None else w, (*grown[1:], left, inner)
        if loss.kind in targets.QUANTILE_KINDS:
            level, delta = targets.quantile_level_and_delta(loss)
            work = lambda a, b: loops.quantile_leaf_values(
                *place, self.table.y, state.f[k], v, level, delta, a, b, value
            )
        elif loss.kind in targets.CONSTANT_KINDS:
            work = lambda a, b: self.constants(state, grown, inner, a, b, value)
        elif not self.rule.newton and loss.kind != kinds.HALF_SQUARED:
            several = loss.kind in targets.MULTICLASS_KINDS
            factor = (self.K - 1) / self.K if several else 1.0
            H = targets.EMPTY if state.H is None else state.H[k]
            work = lambda a, b: loops.newton_leaf_values(
                *place, state.G[k], H, v, factor, a, b, value
            )
        else:
            return tree
        self.spread(work, tree.node_count)
        if inner:
            loops.bound_leaf_values(
                left, tree.children_right, tree.feature, signs, value
            )
        return tree._replace(value=value[:, None, None])

    def constants(self, state, grown, inner, a, b, value):
        """Best constants of the residuals, eq. (4) of `targets.py`."""
        y, w = self.table.y, self.table.w
        for node in range(a, b):
            if inner or grown.tree.children_left[node] == LEAF:
                r = grown.rows[grown.start[node] : grown.stop[node]]
                u = None if w is None else w[r]
                value[node] = state.loss.constant(y[r] - state.f[0, r], u)

    def spread(self, work, nodes):
        """work(a, b) over all nodes, in pieces for threads if there are many rows."""
        if self.n < PARALLEL_ROWS or self.K > 1:
            return work(0, nodes)
        cuts = np.linspace(0, nodes, min(nodes, 16) + 1).astype(int)
        tasks = (lambda a=a, b=b: work(a, b) for a, b in pairwise(cuts))
        for _ in threads.run(tasks):
            pass
        return None

    def add(self, tree, grown: Grown, f, rows):
        """f plus the value of each row's leaf."""
        value = np.ascontiguousarray(tree.value[:, 0, 0])
        if rows is not None:
            f += value[tree.apply(self.table.X)]
            return
        place = (*grown[1:], tree.children_left, value)
        self.spread(
            lambda a, b: loops.add_leaf_values(*place, a, b, f), tree.node_count
        )

    # -- after the trees -------------------------------------------------------

    def look(self, state: BoostingState, rows) -> BoostingState:
        """J of the new predictions, and G and H for the next round."""
        y, w, rule = self.table.y, self.table.w, self.rule
        objective = None
        if rule.level is not None or rows is not None:
            inside, outside = self.parts(state, rows)
            state = state._replace(outside=outside)
            objective = inside
        if rule.level is not None:
            state = self.measure(state)
        total = targets.compute_gradients(
            state.loss, y, state.f, w, rule.newton, state.G, state.H
        )
        if objective is None:
            objective = total / self.total
        if self.held is not None:
            held = self.held
            late = targets.weighted_mean_loss(state.loss, held.y, state.held, held.w)
            state = state._replace(validation=late)
        return state._replace(objective=objective)

    def measure(self, state: BoostingState) -> BoostingState:
        """Huber's delta for the next round, as a quantile of the residuals."""
        if self.rule.level is None:
            return state
        size = np.abs(self.table.y - state.f[0])
        delta = float(weighted_quantile(size, self.table.w, self.rule.level))
        from ..losses import huber

        return state._replace(loss=huber(max(delta, 1e-300)))

    def parts(self, state, rows):
        """J of the rows drawn and of the others."""
        y, w, f = self.table.y, self.table.w, state.f
        if rows is None:
            return targets.weighted_mean_loss(state.loss, y, f, w), np.nan
        others = np.delete(np.arange(self.n), rows)
        cut = lambda r: targets.weighted_mean_loss(
            state.loss, y[r], f[:, r], None if w is None else w[r]
        )
        return cut(rows), cut(others) if len(others) else np.nan

    def run(self, state, rounds, stop=None, task=None, note=None) -> Result:
        """Rounds until `rounds` are done or `stop(state)` says so."""
        step = self.step if note is None else lambda s: note(self.step(s))
        change = lambda old, new: -1.0 if stop is not None and stop(new) else 1.0
        extra = {} if task is None else {"task": task}
        watch = () if self.held is None else ("validation",)
        result = iterate(
            step, state, max_iter=rounds, tol=0.0, change=change, watch=watch, **extra
        )
        # to run out of rounds is how boosting ends
        done = result.reason == "max_iter"
        return result._replace(reason="rounds") if done else result


def scale_tree_values(tree: Tree, rule: BoostingOptions) -> Tree:
    """The tree with values times nu; its impurities tell the gains of eq. (2)."""
    if rule.newton:
        v, H = tree.value[:, 0, 0], tree.weighted_n_node_samples
        impurity = -(v**2) * (H + rule.l2) / np.maximum(H, 1e-300)
        tree = tree._replace(impurity=impurity)
    return tree._replace(value=rule.rate * tree.value)
