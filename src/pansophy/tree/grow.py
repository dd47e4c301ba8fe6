"""Growing a tree: the one engine under every tree, forest and booster.

A tree is grown by splitting, again and again, a node at the feature and threshold
that most lower the summed impurity (criteria.py). The engine has two views of a
column and picks one per column, once, before growth:

- *bytes*: up to 255 distinct values (or `max_bins` bins of about equal weight). The
  sums of a node by byte are a histogram; of two children only the smaller one is
  counted, the other's histogram is the parent's minus its sibling's.
- *list*: more distinct values. The rows are kept sorted by the column; splitting a
  node parts its slice of each list in two, so the column is sorted once per fit.

Both look at every place between two different values of the node, so both are exact
whenever bins hold one value each. Rows with weight zero are left out beforehand.

Large nodes are searched by several threads, a share of the features each; once nodes
are small, whole subtrees go to threads. Each node draws from its own random stream,
named by its path from the root. So the tree is the same for any number of threads.

Time O(n d) for sorting and for each level of the tree; memory 8 bytes per value of a
listed column, 1 byte per value otherwise.

Shapes    X (n, d)   y (n, m)   w (n,)
Refs      [Breiman1984] CART; [Mehta1996] lists sorted once; [Ke2017] histograms
"""

from typing import NamedTuple

import numpy as np

from ..core import threads
from . import _grow as loops
from . import _layout as lay
from ._frontier import preorder
from .columns import Columns
from .criteria import Criterion
from .structure import Tree

DEEP = 2**31 - 1
WIDE = 1 << 17  # values in a node from which a search is shared between threads
FEW = 4  # rows up to which a node is sorted by itself
KEEP = 1024  # rows in a node from which its histograms are kept for subtraction


class Limits(NamedTuple):
    """When to stop, and what to try at each node."""

    max_depth: int = DEEP
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0
    min_gain: float = 0.0  # least fall of the summed impurity
    max_leaves: int = 0  # 0: no limit, depth first; else best first
    max_features: int = 0  # 0: all
    random: bool = False  # one random threshold per feature
    signs: np.ndarray | None = None  # -1, 0 or 1 by feature: monotone constraints


class Plan(NamedTuple):
    """Numbers for the loops: the criterion and the limits."""

    kind: int
    is_class: bool
    one: bool  # two classes, Gini: one sum says it all
    m: int
    scale: float
    d: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_gain: float
    max_leaves: int
    max_features: int
    random: bool
    best_first: bool
    bounded: bool  # some split may be forbidden for its weights or values
    keep: int
    few: int
    wide: int
    defer: bool


class Table(NamedTuple):
    """What the loops see of the data; `lists` and `side` are worked on."""

    x: np.ndarray  # (lists, n) float32
    codes: np.ndarray  # (bytes, n) uint8
    edges: np.ndarray
    meta: np.ndarray  # (d, 5)
    y: np.ndarray  # (n, m) targets, or class numbers through all outputs
    z: np.ndarray  # (n,) weight times target, where one sum is enough
    bits: np.ndarray  # (n,) the same as bytes, for two classes of weight 1
    w: np.ndarray  # (n,) weights, or none
    lists: np.ndarray  # rows: as they come, by column, by target; ranks of targets
    side: np.ndarray  # (n,) 1: goes left
    t0: int  # the first list by target


class Nodes(NamedTuple):
    """Nodes under construction: whole numbers and reals, see `_layout.py`."""

    N: np.ndarray
    R: np.ndarray


def grow(columns: Columns, y, w, criterion: Criterion, limits: Limits, seed=0) -> Tree:
    """One tree on the prepared columns. y is (n, m): numbers, or classes from 0."""
    n, d = len(y), len(columns.meta)
    plan = plan_of(criterion, limits, n, d, len(columns.codes))
    y, offset = targets(y, w, criterion)
    table = table_of(columns, y, w, criterion, limits)
    nodes = Job(plan, table, n, criterion.sums, seed).run()
    if not plan.best_first:
        order = np.empty(len(nodes.N), np.int64)
        preorder(nodes.N[:, lay.LEFT], nodes.N[:, lay.RIGHT], order)
        nodes = renumber(nodes, order)
    return finish(nodes, criterion, limits, offset, d)


def plan_of(criterion, limits, n, d, n_bytes) -> Plan:
    """The numbers that the loops need."""
    all_features = not limits.max_features or limits.max_features >= d
    monotone = limits.signs is not None and bool(np.any(limits.signs))
    best_first = limits.max_leaves > 0
    return Plan(
        kind=criterion.kind,
        is_class=criterion.is_class,
        one=criterion.one,
        m=criterion.m,
        scale=criterion.scale,
        d=d,
        max_depth=limits.max_depth,
        min_split=limits.min_split,
        min_leaf=limits.min_leaf,
        min_weight=float(limits.min_weight),
        min_gain=float(limits.min_gain),
        max_leaves=limits.max_leaves or 2 * n,
        max_features=d if all_features else limits.max_features,
        random=limits.random,
        best_first=best_first,
        bounded=monotone or limits.min_weight > 0,
        keep=KEEP if all_features and n_bytes else n + 1,
        few=FEW,
        wide=WIDE // 2 if best_first else WIDE,
        defer=not best_first and n * d >= WIDE,
    )


def targets(y, w, criterion):
    """Targets as the loops want them, and what to add to a node's mean.

    Classes are numbered through all outputs. Real targets are centred for squared
    error, so that sums of squares do not cancel.
    """
    y = np.array(y, np.float64, order="C")
    if criterion.is_class:
        return y + np.concatenate(([0], np.cumsum(criterion.classes)[:-1])), 0.0
    if criterion.kind != lay.SQUARE:
        return y, 0.0
    offset = np.average(y, axis=0, weights=w)
    return y - offset, offset


def table_of(columns, y, w, criterion, limits) -> Table:
    """The arrays that the loops read, and those they work on."""
    n, k, m = len(y), len(columns.order), criterion.m
    absolute = criterion.kind == lay.ABSOLUTE
    lists = np.empty((1 + k + (2 * m if absolute else 0), n), np.int32)
    lists[0] = np.arange(n)
    lists[1 : k + 1] = columns.order
    if absolute:
        lists[k + 1 : k + 1 + m] = np.argsort(y, axis=0, kind="stable").T
    w = np.empty(0) if w is None else np.asarray(w, np.float64)
    z = y[:, 0] * w if len(w) else y[:, 0].copy()
    bits = np.asarray(y[:, 0] if criterion.one and not len(w) else [], np.uint8)
    meta = columns.meta.copy()
    if limits.signs is not None:
        meta[:, lay.SIGN] = limits.signs
    side = np.empty(n, np.uint8)
    return Table(
        columns.x, columns.codes, columns.edges, meta, y, z, bits, w, lists, side, k + 1
    )


def blank(capacity, M) -> Nodes:
    """Room for nodes."""
    whole = np.zeros((capacity, lay.WHOLE), np.int64)
    return Nodes(whole, np.zeros((capacity, lay.SUMS + M)))


def renumber(nodes, order) -> Nodes:
    """The nodes in a new order, `order` holding their old numbers."""
    new = np.full(len(order) + 1, -1)
    new[order] = np.arange(len(order))
    N, R = nodes.N[order], nodes.R[order]
    N[:, : lay.RIGHT + 1] = new[N[:, : lay.RIGHT + 1]]
    return Nodes(N, R)


class Front(NamedTuple):
    """What the loops keep while they grow a part of the tree."""

    C: np.ndarray  # counters
    pool: np.ndarray  # (slots, bytes, 256, 2 + M) histograms
    queue: np.ndarray  # frontier; nodes for later; free slots of the pool
    draw: np.ndarray  # (2, 2, d) order of drawing, and whether to try, by child
    best: np.ndarray  # (2, d, RECORD) best splits of the pending nodes


class Room(NamedTuple):
    """Scratch of one thread."""

    spare: np.ndarray
    room: np.ndarray
    H: np.ndarray
    medians: np.ndarray | None  # for absolute error only


class Job:
    """One tree under construction: calls the loops, sees to room and threads."""

    def __init__(self, plan, table, n, M, seed):
        self.plan, self.table, self.n, self.M = plan, table, n, M
        self.seed, self.d = seed, plan.d
        shares = min(threads.count(), self.d) if n * self.d >= plan.wide else 1
        self.rooms = [self.room(n) for _ in range(shares)]

    def room(self, n) -> Room:
        """Scratch for nodes of up to n rows."""
        absolute = self.plan.kind == lay.ABSOLUTE
        return Room(
            np.empty(n, np.int32),
            np.empty((3, max(lay.CHUNK, self.M))),
            np.empty((256, 2 + self.M)),
            np.empty((6, n + 1)) if absolute else None,
        )

    def front(self, rows, heads) -> Front:
        """An empty frontier for growth over `rows` rows below `heads` nodes."""
        b = len(self.table.codes)
        slots = rows // self.plan.keep + heads + 2 if b else 1
        queue = np.empty((3, max(slots, rows + heads + 1)), np.int64)
        queue[2, :slots] = np.arange(slots)
        C = np.zeros(lay.COUNTERS, np.int64)
        C[lay.FREE] = slots
        return Front(
            C,
            np.empty((slots, b, 256, 2 + self.M)),
            queue,
            np.ones((2, 2, self.d), np.int64),
            np.zeros((2, self.d, lay.RECORD)),
        )

    def run(self) -> Nodes:
        """Grow from the root; nodes set aside for later are grown by threads."""
        most = 2 * min(self.plan.max_leaves, self.n) + 1
        nodes = blank(min(most, max(512, self.n // 8)), self.M)
        nodes.N[0, lay.STOP], nodes.N[0, lay.KEY] = self.n, self.seed
        nodes.R[0, lay.LOW], nodes.R[0, lay.HIGH] = -np.inf, np.inf
        front = self.front(self.n, 0)
        nodes = self.work(self.plan, self.table, nodes, front, self.rooms)
        later = front.queue[1, : front.C[lay.LATER]]
        if not len(later):
            return nodes
        groups = self.groups(nodes, later)
        tasks = [(lambda g=g: self.below(nodes, g, front.pool)) for g in groups]
        return stitch(nodes, groups, list(threads.run(tasks)))

    def work(self, plan, table, nodes, front, rooms) -> Nodes:
        """Call the loops until they are done; the nodes in use."""
        back = False
        while True:
            state = loops.grow(plan, table, *nodes, *front, *rooms[0], back)
            if state == loops.DONE:
                return Nodes(*(a[: front.C[lay.NODES]] for a in nodes))
            back = state == loops.WIDE
            if back:
                self.search(plan, nodes, front, rooms)
            else:
                grown = blank(2 * len(nodes.N), self.M)
                for old, new in zip(nodes, grown):
                    new[: len(old)] = old
                nodes = grown

    def search(self, plan, nodes, front, rooms):
        """The search of the pending nodes, a share of the features per thread."""
        cuts = np.linspace(0, self.d, len(rooms) + 1).astype(int)
        tasks = [
            lambda a=a, b=b, room=room: loops.search(
                plan, self.table, *nodes, *front[:2], *front[3:], a, b, False, *room
            )
            for a, b, room in zip(cuts[:-1], cuts[1:], rooms)
        ]
        for _ in threads.run(tasks):
            pass

    def groups(self, nodes, later):
        """Nodes set aside, in bundles of about equal numbers of rows."""
        rows = nodes.N[later, lay.STOP] - nodes.N[later, lay.START]
        share = max(1, self.n // (8 * threads.count()))
        ends = np.flatnonzero(np.diff(np.cumsum(rows) // share)) + 1
        return np.split(later, ends)

    def below(self, nodes, group, pool) -> Nodes:
        """Grow everything below the nodes of a group."""
        rows = nodes.N[group, lay.STOP] - nodes.N[group, lay.START]
        k, most, total = len(group), int(rows.max()), int(rows.sum())
        part, front = blank(2 * total + 2, self.M), self.front(total, k)
        for old, new in zip(nodes, part):
            new[:k] = old[group]
        front.C[lay.NODES] = front.C[lay.FRONT] = k
        front.queue[0, :k] = np.arange(k)
        for i in np.flatnonzero(part.N[:k, lay.HIST] >= 0):
            front.C[lay.FREE] -= 1
            at = front.queue[2, front.C[lay.FREE]]
            front.pool[at] = pool[part.N[i, lay.HIST]]
            part.N[i, lay.HIST] = at
        plan = self.plan._replace(defer=False, wide=2**62)
        # sides of its own: neighbouring rows may be in another thread's hands
        table = self.table._replace(side=np.empty(self.n, np.uint8))
        return self.work(plan, table, part, front, [self.room(most)])


def stitch(nodes, groups, parts) -> Nodes:
    """One set of nodes from the top of a tree and what grew below it."""
    tails, base, pair = [nodes], len(nodes.N), slice(lay.LEFT, lay.RIGHT + 1)
    for group, part in zip(groups, parts):
        k, new = len(group), len(part.N) - len(group)
        number = np.concatenate((group, base + np.arange(new), [-1]))
        part.N[:, pair] = number[part.N[:, pair]]
        nodes.N[group, pair] = part.N[:k, pair]
        tails.append(Nodes(part.N[k:], part.R[k:]))
        base += new
    return Nodes(*(np.concatenate(a) for a in zip(*tails)))


def finish(nodes, criterion, limits, offset, d) -> Tree:
    """The tree as users see it."""
    N, R = nodes
    leaf = N[:, lay.LEFT] < 0
    weight = R[:, lay.WEIGHT].copy()
    value = criterion.values(R[:, lay.SUMS :], weight, offset)
    if limits.signs is not None:
        value = criterion.clip(value, R[:, lay.LOW] + offset, R[:, lay.HIGH] + offset)
    return Tree(
        children_left=N[:, lay.LEFT].copy(),
        children_right=N[:, lay.RIGHT].copy(),
        feature=np.where(leaf, -2, N[:, lay.FEATURE]),
        threshold=np.where(leaf, -2.0, R[:, lay.THRESHOLD]),
        impurity=R[:, lay.IMPURITY].copy(),
        n_node_samples=N[:, lay.STOP] - N[:, lay.START],
        weighted_n_node_samples=weight,
        value=value,
        missing_go_to_left=np.where(leaf, 0, N[:, lay.MISSING_LEFT]).astype(bool),
        n_features=d,
    )
