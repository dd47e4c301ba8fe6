"""The parallel grower: one tree under construction, its arrays and its threads.

The loops (`_parallel_grower.py`) grow the top of a tree; large nodes are searched by
several threads, and once nodes are small, whole subtrees go to threads. Where sums are
in fixed point, threads share the rows and columns of each node inside compiled code
(`_shared_work.py`). Either way the tree is the same for any number of threads.
"""

import numpy as np

from ..core import threads, worker_pool
from . import _parallel_grower as loops
from . import _shared_work as shared
from . import _structures as lay
from ._structures import Frontier, Nodes, Scratch

POOL = 1 << 28  # bytes of histograms kept for subtraction


def empty_nodes(capacity, M, words) -> Nodes:
    """Room for nodes with M sums and so many words of interaction groups."""
    return Nodes(
        node=np.zeros(capacity, lay.NODE),
        sums=np.zeros((capacity, M)),
        left_set=np.zeros((capacity, lay.SET_WORDS), np.uint64),
        groups=np.zeros((capacity, words), np.uint64),
    )


def records_as_words(node):
    """Node records as rows of words, which NumPy copies whole and not by field."""
    return node.view(np.int64).reshape(len(node), lay.NODE.itemsize // 8)


def words_as_records(words):
    """The records of `records_as_words`."""
    return words.view(lay.NODE)[:, 0]


def renumber_nodes(nodes, order) -> Nodes:
    """The nodes in a new order, `order` holding their old numbers."""
    new = np.full(len(order) + 1, -1)
    new[order] = np.arange(len(order))
    node = words_as_records(np.take(records_as_words(nodes.node), order, axis=0))
    nodes = Nodes(node, *(np.take(a, order, axis=0) for a in nodes[1:]))
    for side in ("left", "right"):
        nodes.node[side] = new[nodes.node[side]]
    return nodes


class ParallelGrowth:
    """One tree under construction: calls the loops, sees to arrays and threads."""

    def __init__(self, plan, table, fixed, n, M, seed, buffers):
        self.plan, self.table, self.fixed = plan, table, fixed
        self.n, self.M, self.seed, self.buffers = n, M, seed, buffers
        self.by_set = bool(np.any(table.properties["form"]))
        self.d = plan.n_features
        self.words = table.groups.shape[1]
        absolute = plan.kind == lay.ABSOLUTE
        squares = (lay.SQUARE, lay.NEWTON, lay.ABSOLUTE)
        self.other = None if plan.kind in squares or fixed is not None else plan.kind
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
        slots = max(1, min(most, POOL // size))
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
        role = loops.LEADER
        while True:
            state = self.call(plan, table, fixed, nodes, front, scratch, role)
            if state == loops.DONE:
                used = int(front[0].progress["nodes"][0])
                return Nodes(*(a[:used] for a in nodes))
            role = loops.LEADER
            if state == loops.SHARE_SEARCH:
                role = loops.RESUMED
                self.search(plan, nodes, front, scratch)
            else:
                larger = empty_nodes(2 * len(nodes.node), self.M, self.words)
                for old, new in zip(nodes, larger):
                    new[: len(old)] = old
                nodes = larger

    def call(self, plan, table, fixed, nodes, front, scratch, role):
        """One call of the loops, with other threads beside it where they can help."""

        def grow(fixed, own, role):
            spare, arrays, medians = own
            return loops.grow_parallel(
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
            lambda board, k: grow(on(board), scratch[k], loops.HELPER),
            helpers,
        )

    def search(self, plan, nodes, front, scratch):
        """The search of the pending nodes, a share of the features per thread."""
        cuts = np.linspace(0, self.d, len(scratch) + 1).astype(int).tolist()

        def search(a, b, own):
            spare, arrays, medians = own
            loops.grow_parallel(
                plan,
                self.table,
                None,
                nodes,
                *front,
                spare,
                arrays._replace(features=np.array([a, b])),
                medians,
                self.other,
                loops.HELPER,
            )

        tasks = [
            lambda a=a, b=b, own=own: search(a, b, own)
            for a, b, own in zip(cuts[:-1], cuts[1:], scratch)
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
