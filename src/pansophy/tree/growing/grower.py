"""Growing a tree: the one engine under every tree, forest and booster.

A tree is grown by splitting, again and again, a node at the feature and threshold that
most lower the summed impurity (`criteria.py`). The engine has two views of a column and
picks one per column, once, before growth (`prepared_columns.py`):

- *bytes*: up to 255 distinct values (or `max_bins` bins of about equal weight). The
  sums of a node by byte are a histogram; of two children only the smaller one is
  counted, the other's histogram is the parent's minus its sibling's.
- *list*: more distinct values. The rows are kept sorted by the column; splitting a node
  partitions its slice of each list in two, so the column is sorted once per fit.

Both look at every place between two different values of the node, so both are exact
whenever bins hold one value each. Rows with weight zero are left out beforehand. A
column of codes (categories, parts of a circle) is split by a set of them.

Where all columns are bytes and one sum is enough (one real target, two classes,
boosting), sums are in fixed point (`_histograms.py`): exact, so that neither the order
of rows nor threads nor subtraction changes them.

Two growers build the same tree. The *serial* one (`_serial_grower.py`) is for one of
many trees, which has one thread, and for trees that look at few features of a node: it
searches each node by itself and keeps nothing between nodes. The *parallel* one
(`_parallel_grower.py`) keeps a frontier, sorted lists and histograms. It grows the top
of a tree, where several threads search a large node; once nodes are small, whole
subtrees go to threads. Where sums are in fixed point, threads share the rows and
columns of each node inside compiled code (`_shared_work.py`). Each node draws from its
own random stream, named by its path from the root, so the tree is the same for any
number of threads.

Time O(n d) for sorting and for each level of the tree; memory 8 bytes per value of a
listed column (4 if it is not sorted), 1 byte per value otherwise, and O(n) per tree.

Shapes    X (n, d)   y (n, m)   w (n,)
Refs      [Breiman1984] CART; [Mehta1996] lists sorted once; [Ke2017] histograms
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...core.loops import threads, worker_pool
from ...core.loops._shared_queue import QUEUE_SIZE
from ..storage._tree import preorder_nodes
from ..storage.tree import Tree, resolve_missing_sides
from . import _histograms as histograms
from . import _parallel_grower as parallel
from . import _serial_grower as serial
from . import _shared_work as shared
from . import _structures as lay
from ._split_search import FEW, MANY_SUMS
from ._structures import (
    FixedPoint,
    Frontier,
    GrowthPlan,
    Nodes,
    Scratch,
    TrainingTable,
)
from .criteria import Criterion
from .prepared_columns import PreparedColumns

NO_DEPTH_LIMIT = 2**31 - 1
LARGE = 1e150  # sums whose squares are still numbers
SHARED_VALUES = 1 << 17  # values in a node from which threads share its search
RESORT_ROWS = 4  # rows up to which a node is sorted by itself
MANY = 1 << lay.COUNT_BITS  # rows that a fixed-point bin cannot count
HEAVY = 2.0**30  # summed weight from which targets are weighted before they are rounded
BLOCK = 1 << 16  # rows of a piece of what is done to all of them
PIECES = 4  # of counting, for each thread
HISTOGRAM_POOL = 1 << 28  # bytes of histograms kept for subtraction
HISTOGRAM_ROWS = 1024  # rows in a node from which it keeps histograms for subtraction


class GrowthLimits(NamedTuple):
    """When to stop, and what to try at each node."""

    max_depth: int = NO_DEPTH_LIMIT
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0
    min_gain: float = 0.0  # least fall of the summed impurity
    max_leaves: int = 0  # 0: no limit, depth first; else best first
    max_features: int = 0  # 0: all
    random: bool = False  # one random threshold per feature
    signs: np.ndarray | None = None  # -1, 0 or 1 by feature: monotone constraints
    groups: np.ndarray | None = None  # (k, d) bool: features that may meet on a path


class TreeWithRows(NamedTuple):
    """A tree and the training rows of each node: rows[start[v] : stop[v]]."""

    tree: Tree
    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def is_unconstrained(kind, limits, forms) -> bool:
    """Whether splits are by threshold, free of constraints, and judged by sums."""
    signs = limits.signs is not None and np.any(limits.signs)
    free = not limits.max_leaves and limits.groups is None and not signs
    summed = kind not in (lay.ABSOLUTE, lay.NEWTON)
    return bool(summed and free and not np.any(forms))


def suits_serial_growth(plan, columns, limits, many) -> bool:
    """Whether the serial grower can grow a tree, and threads would not help it."""
    alone = many or plan.random or plan.max_features < plan.n_features
    free = is_unconstrained(plan.kind, limits, columns.properties["form"])
    unsorted = columns.codes.shape[2] == 1 and not len(columns.order)
    return bool(alone and free and unsorted)


def needs_sorted_columns(criterion, limits, forms) -> bool:
    """Whether columns of many values must be sorted: not for random thresholds."""
    return not (limits.random and is_unconstrained(criterion.kind, limits, forms))


def grow_tree(
    columns: PreparedColumns, y, w, criterion: Criterion, limits: GrowthLimits, seed=0
) -> Tree:
    """One tree on the prepared columns. y is (n, m): numbers, or classes from 0."""
    return Grower(columns, criterion, limits).grow(y, w, seed=seed).tree


class Grower:
    """Grows any number of trees on the same columns, one after the other."""

    def __init__(
        self,
        columns: PreparedColumns,
        criterion: Criterion,
        limits: GrowthLimits,
        many: bool = False,  # other trees are grown beside this one
    ):
        self.columns = columns
        self.criterion = criterion
        self.limits = limits
        self.many = many
        self.groups = group_bits(limits.groups, len(columns.properties))
        self.buffers = {}  # large scratch arrays, for the next tree

    def grow(self, y, w=None, *, seed=0, rows=None) -> TreeWithRows:
        """A tree for the targets y (n, m) with weights w, on some rows or all.

        Classes are numbers from 0. `rows` are ascending row numbers; y and w have an
        entry for every row of the table all the same. Under the Newton criterion y is
        minus the first derivative and w the second, both weighted already.
        """
        columns, criterion, limits = self.columns, self.criterion, self.limits
        y, w, offset = targets_for_growth(y, w, criterion, rows)
        n = len(y) if rows is None else len(rows)
        d = len(columns.properties)
        plan = growth_plan(criterion, limits, n, d, len(columns.codes))
        table = training_table(columns, y, w, criterion, limits, plan, rows)
        table = table._replace(groups=self.groups)
        size, mass = absolute_sums(table, criterion.kind)
        if max(size, mass) > LARGE:
            raise ValueError(
                "y or sample_weight is too large for sums of squares: divide it by a "
                "power of ten."
            )
        mean = min(size / max(mass + plan.l2, 1e-300), LARGE)
        plan = plan._replace(gain_unit=mean**2)
        in_one_thread = suits_serial_growth(plan, columns, limits, self.many)
        fixed = None
        histograms_suit = in_one_thread or not plan.random
        if histograms_suit and uses_fixed_point(columns, criterion, n):
            fixed = fixed_point(table, plan, size, mass, self.buffers)
        if in_one_thread:
            nodes, sums = grow_serial_nodes(plan, table, fixed, criterion.n_sums, seed)
            if not self.many:  # the trees of a forest are packed at once
                nodes = lay.SerialNodes(*(a.copy() for a in nodes))
            tree = finish_serial_tree(nodes, sums, criterion, offset, d)
            return TreeWithRows(tree, table.lists[0, :n], nodes.start, nodes.stop)
        read = table
        if fixed is not None:  # the loops need not be compiled for what they never read
            read = table._replace(
                x=None, weighted_y=None, binary_y=None, goes_left=None
            )
            read = read._replace(y=None) if plan.kind == lay.NEWTON else read
        growth = ParallelGrowth(
            plan, read, fixed, n, criterion.n_sums, seed, self.buffers
        )
        nodes = growth.run()
        if not plan.best_first:
            order = np.empty(len(nodes.node), np.int64)
            left, right = nodes.node["left"].copy(), nodes.node["right"].copy()
            preorder_nodes(left, right, order)
            nodes = renumber_nodes(nodes, order)
        if fixed is not None:
            sum_exact_targets(plan, table, nodes)
        tree = finish_parallel_tree(nodes, criterion, limits, columns, offset)
        start, stop = nodes.node["start"].copy(), nodes.node["stop"].copy()
        return TreeWithRows(tree, table.lists[0, :n], start, stop)


# ---- the serial grower


def grow_serial_nodes(plan, table, fixed, M, seed):
    """All nodes of a tree, and their sums if there are M; reorders the rows of `table`.

    `fixed` are fixed-point targets where one sum is enough, and None for M sums.
    """
    rows = table.lists[0].view(np.uint32)
    n = table.lists.shape[1]
    whole = [np.empty(2 * n, np.int64) for _ in range(6)]
    nodes = lay.SerialNodes(*whole, *(np.empty(2 * n) for _ in range(4)))
    codes = x = random = place = other = sums = None
    if len(table.x):  # random thresholds between values, which need no order
        x = table.x
        near = np.empty(n + 3, np.float32)
    else:
        codes = table.codes.reshape(table.codes.shape[:2])
        near = np.empty(n, np.uint8)
    if fixed is None:
        sums = np.empty((2 * n, M))
        spare = np.empty(n, np.uint32)
        scratch = several_sums_workspace(table.y.shape[1], n, M, near)
        other = other_criterion(plan.kind)
        if plan.random:
            random = np.empty(n, np.bool_)
        else:
            place = np.empty(MANY_SUMS, np.int64)
        root = seed, 0, 0
    else:
        spare = fixed.spare_rows[0].view(np.uint32)
        scratch = single_sum_workspace()
        random = near if plan.random else None
        root = seed, fixed.sum_z, fixed.sum_h
    work = lay.SerialWorkspace(
        stack=np.empty(n + 1, lay.PENDING),
        spare_rows=spare,
        drawn=np.tile(np.arange(plan.n_features), (3, 1)),
        marks=np.zeros(-(-plan.n_features // 64), np.uint64),
        split=np.zeros(1, lay.SPLIT),
        sums=np.zeros(M),
    )
    data = lay.SerialTable(rows, table.edges, table.properties, table.y, table.w, *root)
    m = serial.grow_serial(
        plan, data, codes, x, fixed, work, scratch, random, place, nodes, sums, other
    )
    if fixed is not None:
        serial.sum_serial_nodes(rows, table.y, table.w, m, nodes)
    nodes = lay.SerialNodes(*(a[:m] for a in nodes))
    return nodes, nodes.total[:, None] if sums is None else sums[:m]


def single_sum_workspace():
    """Small arrays for the search of a node with one sum, some seen in two ways."""
    cells, scores = np.zeros((256, 2), np.int64), np.zeros((4, 256))
    return lay.SingleSumWorkspace(
        cells=cells,
        flat=cells.ravel(),
        seen=np.zeros(4, np.uint64),
        keys=np.empty(FEW, np.uint16),
        ranks=np.empty(FEW, np.uint16),
        order=np.empty(FEW, np.int64),
        bins=np.empty(256, np.int64),
        scores=scores,
        sums=scores.view(np.int64),
        stats=np.zeros(1),
    )


def several_sums_workspace(m, n, M, near):
    """Arrays for the search of nodes with M sums of m outputs."""
    gathered = np.empty((m + 1, n))
    return lay.MultiSumWorkspace(
        gathered=gathered,
        classes=gathered.view(np.int64),
        near=near,
        counts=np.zeros(256, np.int64),
        seen=np.zeros(4, np.uint64),
        keys=np.empty(FEW, np.uint16),
        ranks=np.empty(FEW, np.uint16),
        bins=np.empty(256, np.int64),
        ends=np.empty(256, np.int64),
        scores=np.empty((4, 256)),
        histogram=np.empty((256, 2 + M)),
        left_sums=np.empty(M),
    )


def finish_serial_tree(nodes, sums, criterion, offset, d) -> Tree:
    """The tree as users see it, from the nodes of the serial grower."""
    return Tree(
        nodes.left,
        nodes.right,
        feature=nodes.feature,
        threshold=nodes.threshold,
        impurity=nodes.impurity,
        n_node_samples=nodes.stop - nodes.start,
        weighted_n_node_samples=nodes.weight,
        value=criterion.values(sums, nodes.weight, offset),
        missing_go_to_left=resolve_missing_sides(
            nodes.missing_left, nodes.left, nodes.right, nodes.weight
        ),
        n_features=d,
        sets=None,
    )


# ---- the parallel grower


class ParallelGrowth:
    """One tree under construction: calls the loops, sees to arrays and threads."""

    def __init__(self, plan, table, fixed, n, M, seed, buffers):
        self.plan, self.table, self.fixed = plan, table, fixed
        self.n, self.M, self.seed, self.buffers = n, M, seed, buffers
        self.by_set = bool(np.any(table.properties["form"]))
        self.d = plan.n_features
        self.words = table.groups.shape[1]
        absolute = plan.kind == lay.ABSOLUTE
        self.other = other_criterion(plan.kind) if fixed is None else None
        self.with_medians = absolute and fixed is None
        shares = (
            min(threads.usable_threads(), self.d)
            if n * self.d >= plan.shared_values
            else 1
        )
        self.histogram_shape = table.codes.shape[::2] + (256, 2)
        if fixed is None:
            columns = table.codes.shape[0] * table.codes.shape[2]
            self.histogram_shape = (columns, 256, 2 + M)
        elif n * self.d >= shared.LEAST:
            shares = threads.usable_threads()
        self.scratch = [self.thread_scratch(n) for _ in range(shares)]

    def thread_scratch(self, n):
        """Scratch of one thread for nodes of up to n rows: rows, sums, quantiles."""
        every = np.array([0, self.d])
        goes_left = np.empty(256, np.uint8)
        few = np.empty(self.plan.resort_rows, np.int32)
        if self.fixed is not None:
            H = np.empty((2, *self.histogram_shape[1:]), np.int64)
            scratch = Scratch(np.empty((4, 256)), H, every, few, goes_left)
            return None, scratch, None
        scores = np.empty((3, max(lay.CHUNK, self.M)))
        H = np.empty((256, 2 + self.M))
        scratch = Scratch(scores, H, every, few, goes_left)
        medians = np.empty((6, n + 1)) if self.with_medians else None
        return np.empty(n, np.int32), scratch, medians

    def frontier(self, rows, heads):
        """An empty frontier for growth over `rows` rows below `heads` nodes.

        With it the pool of histograms, and the sets of codes of the pending nodes.
        """
        most = min(rows // self.plan.histogram_rows, self.plan.max_leaves) + heads + 2
        size = 8 * max(1, int(np.prod(self.histogram_shape)))
        slots = max(1, min(most, HISTOGRAM_POOL // size))
        queue = np.empty((3, max(slots, rows + heads + 1)), np.int64)
        queue[2, :slots] = np.arange(slots)
        progress = np.zeros(1, lay.PROGRESS)
        progress["free_histograms"] = slots
        drawn = np.ones((2, 2, self.d), np.int64)
        front = Frontier(progress, queue, drawn, np.zeros((2, self.d), lay.SPLIT))
        words = (2, self.d, lay.SET_WORDS)
        sets = np.zeros(words, np.uint64) if self.by_set else None
        return front, self.pool(slots, heads), sets

    def pool(self, slots, heads):
        """Room for histograms; for the top of the tree that of the tree before."""
        kind = float if self.fixed is None else np.int64
        shape = (slots, *self.histogram_shape)
        if not len(self.table.codes):
            return None
        last = self.buffers.get(kind)
        if heads == 0 and last is not None and last.shape == shape:
            return last
        pool = np.empty(shape, kind)
        if heads == 0:
            self.buffers[kind] = pool
        return pool

    def run(self) -> Nodes:
        """Grow from the root; nodes set aside for later are grown by threads."""
        most = 2 * min(self.plan.max_leaves, self.n) + 1
        nodes = empty_nodes(min(most, max(512, self.n // 8)), self.M, self.words)
        nodes.groups[0] = ~np.uint64(0)
        root = nodes.node[0]
        root["stop"] = self.n
        root["key"] = self.seed
        root["low"] = -np.inf
        root["high"] = np.inf
        if self.fixed is not None:
            F = self.fixed
            h = (F.sum_h >> lay.COUNT_BITS) * F.unit_h if F.weighted else F.sum_h
            nodes.sums[0, 0] = F.sum_z * F.unit_z
            root["weight"] = h
        front = self.frontier(self.n, 0)
        nodes = self.work(self.plan, self.table, self.fixed, nodes, front, self.scratch)
        later = front[0].queue[1, : front[0].progress["deferred"][0]]
        if not len(later):
            return nodes
        groups = self.bundles(nodes, later)
        tasks = [(lambda g=g: self.grow_below(nodes, g, front[1])) for g in groups]
        return join_subtrees(nodes, groups, list(threads.run_tasks(tasks)))

    def work(self, plan, table, fixed, nodes, front, scratch) -> Nodes:
        """Call the loops until they are done; the nodes in use."""
        role = parallel.LEADER
        while True:
            state = self.call(plan, table, fixed, nodes, front, scratch, role)
            if state == parallel.DONE:
                used = int(front[0].progress["nodes"][0])
                return Nodes(*(a[:used] for a in nodes))
            role = parallel.LEADER
            if state == parallel.SHARE_SEARCH:
                role = parallel.RESUMED
                self.search(plan, nodes, front, scratch)
            else:
                larger = empty_nodes(2 * len(nodes.node), self.M, self.words)
                for old, new in zip(nodes, larger):
                    new[: len(old)] = old
                nodes = larger

    def call(self, plan, table, fixed, nodes, front, scratch, role):
        """One call of the loops, with other threads beside it where they can help."""

        def grow(fixed, scratch, role):
            spare, arrays, medians = scratch
            return parallel.grow_parallel(
                plan,
                table,
                fixed,
                nodes,
                *front,
                spare,
                arrays,
                medians,
                self.other,
                role,
            )

        if fixed is None or len(scratch) == 1:
            return grow(fixed, scratch[0], role)
        helpers = len(scratch) - 1
        on = lambda board: fixed._replace(board=board, helpers=helpers)
        return worker_pool.run_with_workers(
            lambda board: grow(on(board), scratch[0], role),
            lambda board, k: grow(on(board), scratch[k], parallel.HELPER),
            helpers,
        )

    def search(self, plan, nodes, front, scratch):
        """The search of the pending nodes, a share of the features per thread."""
        cuts = np.linspace(0, self.d, len(scratch) + 1).astype(int).tolist()

        def search(a, b, scratch):
            spare, arrays, medians = scratch
            parallel.grow_parallel(
                plan,
                self.table,
                None,
                nodes,
                *front,
                spare,
                arrays._replace(features=np.array([a, b])),
                medians,
                self.other,
                parallel.HELPER,
            )

        tasks = [
            lambda a=a, b=b, part=part: search(a, b, part)
            for a, b, part in zip(cuts[:-1], cuts[1:], scratch)
        ]
        for _ in threads.run_tasks(tasks):
            pass

    def bundles(self, nodes, later):
        """Nodes set aside, in bundles of about equal numbers of rows."""
        rows = nodes.node["stop"][later] - nodes.node["start"][later]
        bundle = max(1, self.n // (8 * threads.available_threads()))
        ends = np.flatnonzero(np.diff(np.cumsum(rows) // bundle)) + 1
        return np.split(later, ends)

    def grow_below(self, nodes, group, pool) -> Nodes:
        """Grow everything below the nodes of a group."""
        rows = nodes.node["stop"][group] - nodes.node["start"][group]
        k = len(group)
        most = int(rows.max())
        total = int(rows.sum())
        part = empty_nodes(2 * total + 2, self.M, self.words)
        front, own_pool, sets = self.frontier(total, k)
        progress = front.progress
        for old, new in zip(nodes, part):
            new[:k] = old[group]
        progress["nodes"] = k
        progress["frontier"] = k
        front.queue[0, :k] = np.arange(k)
        for i in np.flatnonzero(part.node["histogram"][:k] >= 0):
            if progress["free_histograms"][0] == 0:
                part.node["histogram"][i] = -1
                continue
            progress["free_histograms"] -= 1
            at = front.queue[2, progress["free_histograms"][0]]
            assert own_pool is not None  # histograms are kept
            own_pool[at] = pool[part.node["histogram"][i]]
            part.node["histogram"][i] = at
        plan = self.plan._replace(defer=False, shared_values=2**62)
        table, fixed = self.table, self.fixed
        if table.goes_left is not None:  # its own: others may have rows next to these
            own = np.empty(len(table.goes_left), np.uint8)
            table = table._replace(goes_left=own)
        if fixed is not None:
            work = np.zeros(1, lay.WORK)
            fixed = fixed._replace(byte_goes_left=np.empty(256, np.uint8), work=work)
        front = front, own_pool, sets
        return self.work(plan, table, fixed, part, front, [self.thread_scratch(most)])


def empty_nodes(capacity, M, words) -> Nodes:
    """Room for nodes with M sums and so many words of interaction groups."""
    return Nodes(
        node=np.zeros(capacity, lay.NODE),
        sums=np.zeros((capacity, M)),
        left_set=np.zeros((capacity, lay.SET_WORDS), np.uint64),
        groups=np.zeros((capacity, words), np.uint64),
    )


def join_subtrees(nodes, groups, parts) -> Nodes:
    """One set of nodes from the top of a tree and what grew below it."""
    tails = [nodes]
    base = len(nodes.node)
    for group, part in zip(groups, parts):
        k = len(group)
        new = len(part.node) - len(group)
        number = np.concatenate((group, base + np.arange(new), [-1]))
        for side in ("left", "right"):
            part.node[side] = number[part.node[side]]
            nodes.node[side][group] = part.node[side][:k]
        tails.append(Nodes(*(a[k:] for a in part)))
        base += new
    node = words_as_records(
        np.concatenate([records_as_words(part.node) for part in tails])
    )
    return Nodes(node, *(np.concatenate(a) for a in list(zip(*tails))[1:]))


def renumber_nodes(nodes, order) -> Nodes:
    """The nodes in a new order, `order` holding their old numbers."""
    new = np.full(len(order) + 1, -1)
    new[order] = np.arange(len(order))
    node = words_as_records(np.take(records_as_words(nodes.node), order, axis=0))
    nodes = Nodes(node, *(np.take(a, order, axis=0) for a in nodes[1:]))
    for side in ("left", "right"):
        nodes.node[side] = new[nodes.node[side]]
    return nodes


def records_as_words(node):
    """Node records as rows of words, which NumPy copies whole and not by field."""
    return node.view(np.int64).reshape(len(node), lay.NODE.itemsize // 8)


def words_as_records(words):
    """The records of `records_as_words`."""
    return words.view(lay.NODE)[:, 0]


def finish_parallel_tree(nodes, criterion, limits, columns, offset) -> Tree:
    """The tree as users see it, from the nodes of the parallel grower."""
    node = nodes.node
    left, right, weight = (node[name].copy() for name in ("left", "right", "weight"))
    leaf = left < 0
    value = criterion.values(nodes.sums, weight, offset)
    if limits.signs is not None:
        value = criterion.clip(value, node["low"] + offset, node["high"] + offset)
    by_set = np.any(columns.properties["form"])
    sets = np.where(leaf[:, None], np.uint64(0), nodes.left_set) if by_set else None
    return Tree(
        left,
        right,
        feature=np.where(leaf, -2, node["feature"]),
        threshold=np.where(leaf, -2.0, node["threshold"]),
        impurity=node["impurity"].copy(),
        n_node_samples=node["stop"] - node["start"],
        weighted_n_node_samples=weight,
        value=value,
        missing_go_to_left=resolve_missing_sides(
            node["missing_left"], left, right, weight
        ),
        n_features=len(columns.properties),
        sets=sets,
    )


# ---- what the loops read


def growth_plan(criterion, limits, n, d, n_bytes) -> GrowthPlan:
    """The criterion and the limits as the numbers that the loops need."""
    all_features = not limits.max_features or limits.max_features >= d
    monotone = limits.signs is not None and bool(np.any(limits.signs))
    best_first = limits.max_leaves > 0
    return GrowthPlan(
        kind=criterion.kind,
        is_class=criterion.is_class,
        binary_gini=criterion.binary_gini,
        n_outputs=criterion.n_outputs,
        scale=criterion.scale,
        l2=float(criterion.l2),
        cost_above=float(criterion.cost_above),
        cost_below=float(criterion.cost_below),
        gain_unit=0.0,
        n_features=d,
        max_depth=limits.max_depth,
        min_split=limits.min_split,
        min_leaf=limits.min_leaf,
        min_weight=float(limits.min_weight),
        min_gain=float(limits.min_gain),
        max_leaves=limits.max_leaves or 2 * n,
        max_features=d if all_features else limits.max_features,
        random=limits.random,
        best_first=best_first,
        constrained=monotone or limits.min_weight > 0,
        histogram_rows=HISTOGRAM_ROWS if all_features and n_bytes else n + 1,
        resort_rows=RESORT_ROWS,
        shared_values=SHARED_VALUES // 2 if best_first else SHARED_VALUES,
        defer=not best_first
        and n * d >= SHARED_VALUES
        and threads.usable_threads() > 1,
    )


def other_criterion(kind):
    """The kind of a criterion that is not made of squares or medians, else None."""
    return None if kind in (lay.SQUARE, lay.NEWTON, lay.ABSOLUTE) else kind


def targets_for_growth(y, w, criterion, rows=None):
    """Targets and weights as the loops want them, and what to add to a node's mean.

    Classes are numbered through all outputs. Real targets are centred for squared
    error, so that sums of squares do not cancel.
    """
    y = np.require(y, np.float64, ["C", "W"])  # a copy only where it must be
    w = None if w is None else np.require(w, np.float64, ["C", "W"])
    if criterion.is_class and criterion.n_outputs > 1:
        return y + np.concatenate(([0], np.cumsum(criterion.classes)[:-1])), w, 0.0
    if criterion.is_class or criterion.kind != lay.SQUARE:
        return y, w, 0.0
    if rows is None:
        offset = np.average(y, axis=0, weights=w)
    else:
        offset = np.average(y[rows], axis=0, weights=None if w is None else w[rows])
    return y - offset, w, offset


def training_table(columns, y, w, criterion, limits, plan, rows) -> TrainingTable:
    """The arrays that the loops read, and those they work on."""
    n = len(y)
    k = len(columns.order)
    m = criterion.n_outputs
    absolute = criterion.kind == lay.ABSOLUTE
    orders = [np.arange(n, dtype=np.int32)[None], columns.order]
    if absolute:
        orders.append(np.argsort(y, axis=0, kind="stable").T)
    if rows is None:
        lists = np.empty((1 + k + (2 * m if absolute else 0), n), np.int32)
        np.concatenate(orders, out=lists[: 1 + k + (m if absolute else 0)])
    else:
        width = n if absolute else len(rows)  # a rank has a place for every row
        height = 1 + k + (2 * m if absolute else 0)
        lists = lists_of_rows(orders, rows, n, height, width)
    w = np.empty(0) if w is None else w
    weighted_y, binary_y = single_sum_targets(y, w, criterion, plan)
    properties = columns.properties.copy()
    if limits.signs is not None:
        properties["sign"] = limits.signs
    return TrainingTable(
        x=columns.x,
        codes=columns.codes,
        edges=columns.edges,
        properties=properties,
        y=y,
        weighted_y=weighted_y,
        binary_y=binary_y,
        w=w,
        lists=lists,
        goes_left=np.empty(n, np.uint8),
        groups=np.empty((len(properties), 0), np.uint64),
        first_target_list=k + 1,
    )


def single_sum_targets(y, w, criterion, plan):
    """Column to sum where one sum is enough: weighted_y or binary_y.

    The other one is None, or both are, so that only one scan is compiled.
    """
    several = criterion.kind != lay.SQUARE or criterion.n_sums > 1
    if several or plan.constrained:
        return None, None
    if criterion.binary_gini and not len(w):
        return None, y[:, 0].astype(np.uint8)
    return y[:, 0] * w if len(w) else np.ascontiguousarray(y[:, 0]), None


def lists_of_rows(orders, rows, n, height, width):
    """Lists of all rows cut down to the rows in use, which come first."""
    lists = np.zeros((height, width), np.int32)
    t = 1
    m = len(rows)
    lists[0, :m] = rows
    kept = np.zeros(n, bool)
    kept[rows] = True
    for block in orders[1:]:
        for order in block:
            lists[t, :m] = order[kept[order]]
            t += 1
    return lists


def group_bits(groups, d):
    """(d, words) uint64: bit g of a feature says that it is in group g."""
    if groups is None:
        return np.empty((d, 0), np.uint64)
    groups = np.asarray(groups, bool)
    bits = np.zeros((d, 64 * -(-len(groups) // 64)), np.uint8)
    bits[:, : len(groups)] = groups.T
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def one_sum_is_enough(criterion, n) -> bool:
    """Whether one sum, in fixed point, is all that growth over n rows needs."""
    one = criterion.n_sums == 1 and criterion.classes != (1,) and n < MANY
    return one and criterion.kind in (lay.SQUARE, lay.NEWTON)


def uses_fixed_point(columns, criterion, n) -> bool:
    """Whether growth can be in fixed point: one sum, one view, nothing sorted."""
    mixed = len(columns.codes) > 0 and len(columns.x) > 0
    return one_sum_is_enough(criterion, n) and not mixed and not len(columns.order)


def absolute_sums(table, kind):
    """The sums of |weighted target| and of weights."""
    y = table.y[:, 0]
    w = table.w
    rows = table.lists[0]
    if len(rows) < len(y):
        y, w = y[rows], w[rows] if len(w) else w

    def block(cut):
        size = np.abs(y[cut])
        if not len(w):
            return np.array([np.sum(size), len(size)])
        if kind != lay.NEWTON:
            size *= w[cut]
        return np.array([np.sum(size), np.sum(w[cut])])

    size, mass = np.sum(list(map_row_ranges(block, len(y))), axis=0)
    return float(size), float(mass)


def map_row_ranges(function, n):
    """function(cut) over blocks of n rows, on threads; the results in order."""
    cuts = (slice(i, min(i + BLOCK, n)) for i in range(0, max(n, 1), BLOCK))
    return threads.run_tasks((lambda cut=cut: function(cut)) for cut in cuts)


def sum_exact_targets(plan, table, nodes):
    """Sums of all nodes from the targets themselves, which are not rounded."""
    node, sums = nodes.node, nodes.sums
    leaf = node["left"] < 0
    rows = np.cumsum(np.where(leaf, node["stop"] - node["start"], 0))
    ends = np.searchsorted(rows, np.arange(BLOCK, rows[-1], BLOCK)) + 1
    ends = np.concatenate(([0], np.unique(ends), [len(node)]))
    newton = plan.kind == lay.NEWTON
    tasks = (
        lambda a=a, b=b: histograms.sum_leaves(
            newton, table.lists[0], table.y, table.w, node, sums, a, b
        )
        for a, b in pairwise(ends)
    )
    for _ in threads.run_tasks(tasks):
        pass
    histograms.sum_upwards(node, sums)


def power_of_two(room, size):
    """The greatest power of two that keeps `size` times it below 2^room."""
    return 2.0 ** int(np.clip(room - np.frexp(max(size, 1e-300))[1], -1000, 1000))


def fixed_point(table, plan, size, mass, buffers) -> FixedPoint:
    """Targets and weights of the rows in use as whole numbers.

    The arrays of the tree before, in `buffers`, are used again if they are as long.
    """
    n = len(table.y)
    m = len(table.lists[0])
    weighted = len(table.w) > 0
    a, b = power_of_two(51, size), power_of_two(63 - lay.COUNT_BITS - 1, mass)
    tiles, _, width = table.codes.shape
    if buffers.get("sizes") != (n, m, weighted):
        buffers["sizes"] = n, m, weighted
        # as many as give every thread a few pieces of a large node's histograms
        parts = min(
            -(-PIECES * threads.usable_threads() // max(tiles, 1)), m // shared.BLOCK
        )
        parts = parts if threads.usable_threads() > 1 and width == lay.LANES else 0
        buffers["partial"] = np.empty((tiles, parts, width, 256, 2), np.int64)
        buffers["rows"] = np.empty(n, np.int64), np.empty(n * weighted, np.int64)
        buffers["rows"] += np.ones((2, m), np.int64), np.empty((2, m), np.int32)
    z, h, gathered, spare_rows = buffers["rows"]
    y = table.y
    done = plan.kind == lay.NEWTON
    heavy = mass > HEAVY  # few bits are left for |y|
    if weighted and not plan.binary_gini and not done and heavy:
        y, done = y * table.w[:, None], True
    a = b if weighted and plan.binary_gini else a
    rows = table.lists[0]
    binary = plan.binary_gini
    convert = lambda cut: histograms.to_fixed_point(
        rows[cut], y, table.w, done, binary, a, b, z, h
    )
    totals = list(map_row_ranges(convert, m))
    sum_z, sum_h = (sum(column) for column in zip(*totals))
    return FixedPoint(
        z=z,
        h=h,
        gathered=gathered,
        spare_rows=spare_rows,
        partial=buffers["partial"],
        byte_goes_left=np.empty(256, np.uint8),
        left_counts=np.empty(m // shared.BLOCK + 1, np.int64),
        work=np.zeros(1, lay.WORK),
        board=np.zeros(QUEUE_SIZE, np.int64),
        helpers=0,
        weighted=weighted,
        unit_z=1.0 / a,
        unit_h=1.0 / b,
        sum_z=sum_z,
        sum_h=sum_h,
    )
