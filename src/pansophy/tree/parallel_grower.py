"""One tree under construction: room for the loops, and threads."""

from typing import NamedTuple

import numpy as np

from ..core import crew, threads
from . import _parallel_grower as loops
from . import _shared_work as share
from . import _structures as lay
from .plan import rare_of

POOL = 1 << 28  # bytes of histograms kept for subtraction


class Nodes(NamedTuple):
    """Nodes under construction: numbers, reals and bits, see `_structures.py`."""

    N: np.ndarray
    R: np.ndarray
    S: np.ndarray


def blank(capacity, M, words) -> Nodes:
    """Room for nodes."""
    whole = np.zeros((capacity, lay.WHOLE), np.int64)
    bits = np.zeros((capacity, lay.GROUPS + words), np.uint64)
    return Nodes(whole, np.zeros((capacity, lay.SUMS + M)), bits)


def renumber(nodes, order) -> Nodes:
    """The nodes in a new order, `order` holding their old numbers."""
    new = np.full(len(order) + 1, -1)
    new[order] = np.arange(len(order))
    N, R, S = (a[order] for a in nodes)
    N[:, : lay.RIGHT + 1] = new[N[:, : lay.RIGHT + 1]]
    return Nodes(N, R, S)


class Front(NamedTuple):
    """What the loops keep while they grow a part of the tree."""

    C: np.ndarray  # counters
    pool: np.ndarray | None  # (slots, bytes, 256, 2 + M) histograms
    queue: np.ndarray  # frontier; nodes for later; free slots of the pool
    draw: np.ndarray  # (2, 2, d) order of drawing, and whether to try, by child
    best: np.ndarray  # (2, d, RECORD) best splits of the pending nodes
    sets: np.ndarray | None  # (2, d, SET) uint64: codes that go left in them


class Room(NamedTuple):
    """Scratch of one thread."""

    spare: np.ndarray | None
    room: np.ndarray
    H: np.ndarray
    medians: np.ndarray | None  # for absolute error only
    rare: int | None  # the kind of a criterion that is not made of squares


class Job:
    """One tree under construction: calls the loops, sees to room and threads."""

    def __init__(self, plan, table, fixed, n, M, seed, keep):
        self.plan, self.table, self.fixed, self.n, self.M = plan, table, fixed, n, M
        self.keep, self.by_set = keep, bool(np.any(table.meta[:, lay.FORM]))
        self.seed, self.d, self.words = seed, plan.d, table.member.shape[1]
        shares = min(threads.free(), self.d) if n * self.d >= plan.wide else 1
        self.cells = self.table.codes.shape[::2] + (256, 2)  # of kept histograms
        if fixed is None:
            self.cells = (table.codes.shape[0] * table.codes.shape[2], 256, 2 + M)
        elif n * self.d >= share.LEAST:
            shares = threads.free()
        self.rooms = [self.room(n) for _ in range(shares)]

    def room(self, n) -> Room:
        """Scratch for nodes of up to n rows."""
        absolute = self.plan.kind == lay.ABSOLUTE
        if self.fixed is not None:
            H = np.empty((2, *self.cells[1:]), np.int64)
            return Room(None, np.empty((4, 256)), H, None, None)
        return Room(
            np.empty(n, np.int32),
            np.empty((3, max(lay.CHUNK, self.M))),
            np.empty((256, 2 + self.M)),
            np.empty((6, n + 1)) if absolute else None,
            rare_of(self.plan.kind),
        )

    def front(self, rows, heads) -> Front:
        """An empty frontier for growth over `rows` rows below `heads` nodes."""
        most = min(rows // self.plan.keep, self.plan.max_leaves) + heads + 2
        slots = max(1, min(most, POOL // (8 * max(1, int(np.prod(self.cells))))))
        queue = np.empty((3, max(slots, rows + heads + 1)), np.int64)
        queue[2, :slots] = np.arange(slots)
        C = np.zeros(lay.COUNTERS, np.int64)
        C[lay.FREE] = slots
        return Front(
            C,
            self.pool(slots, heads),
            queue,
            np.ones((2, 2, self.d), np.int64),
            np.zeros((2, self.d, lay.RECORD)),
            np.zeros((2, self.d, lay.SET), np.uint64) if self.by_set else None,
        )

    def pool(self, slots, heads):
        """Room for histograms; for the top of the tree that of the tree before."""
        shape, kind = (slots, *self.cells), float if self.fixed is None else np.int64
        if not len(self.table.codes):
            return None
        last = self.keep.get(kind)
        if heads == 0 and last is not None and last.shape == shape:
            return last
        pool = np.empty(shape, kind)
        if heads == 0:
            self.keep[kind] = pool
        return pool

    def run(self) -> Nodes:
        """Grow from the root; nodes set aside for later are grown by threads."""
        most = 2 * min(self.plan.max_leaves, self.n) + 1
        nodes = blank(min(most, max(512, self.n // 8)), self.M, self.words)
        nodes.S[0, lay.GROUPS :] = ~np.uint64(0)
        nodes.N[0, lay.STOP], nodes.N[0, lay.KEY] = self.n, self.seed
        nodes.R[0, lay.LOW], nodes.R[0, lay.HIGH] = -np.inf, np.inf
        if self.fixed is not None:
            F = self.fixed
            h = (F.sum_h >> lay.COUNT_BITS) * F.unit_h if F.weighted else F.sum_h
            nodes.R[0, lay.SUMS], nodes.R[0, lay.WEIGHT] = F.sum_z * F.unit_z, h
        front = self.front(self.n, 0)
        nodes = self.work(self.plan, self.table, self.fixed, nodes, front, self.rooms)
        later = front.queue[1, : front.C[lay.LATER]]
        if not len(later):
            return nodes
        groups = self.groups(nodes, later)
        tasks = [(lambda g=g: self.below(nodes, g, front.pool)) for g in groups]
        return stitch(nodes, groups, list(threads.run(tasks)))

    def work(self, plan, table, F, nodes, front, rooms) -> Nodes:
        """Call the loops until they are done; the nodes in use."""
        role = loops.LEAD
        while True:
            state = self.call(plan, table, F, nodes, front, rooms, role)
            if state == loops.DONE:
                return Nodes(*(a[: front.C[lay.NODES]] for a in nodes))
            role = loops.BACK if state == loops.WIDE else loops.LEAD
            if state == loops.WIDE:
                self.search(plan, nodes, front, rooms)
            else:
                grown = blank(2 * len(nodes.N), self.M, self.words)
                for old, new in zip(nodes, grown):
                    new[: len(old)] = old
                nodes = grown

    def call(self, plan, table, F, nodes, front, rooms, role):
        """One call of the loops, with other threads beside it where they can help."""
        call = lambda F, room, role: loops.grow(
            plan, table, F, *nodes, *front, *room, role
        )
        if F is None or len(rooms) == 1:
            return call(F, rooms[0], role)
        on = lambda board: F._replace(board=board, hands=len(rooms) - 1)
        return crew.run(
            lambda board: call(on(board), rooms[0], role),
            lambda board, k: call(on(board), rooms[k], loops.HAND),
            len(rooms) - 1,
        )

    def search(self, plan, nodes, front, rooms):
        """The search of the pending nodes, a share of the features per thread."""
        cuts = np.linspace(0, self.d, len(rooms) + 1).astype(int)
        tasks = [
            lambda a=a, b=b, room=room: loops.search(
                plan, self.table, *nodes[:2], *front[:2], *front[3:], a, b, False, *room
            )
            for a, b, room in zip(cuts[:-1], cuts[1:], rooms)
        ]
        for _ in threads.run(tasks):
            pass

    def groups(self, nodes, later):
        """Nodes set aside, in bundles of about equal numbers of rows."""
        rows = nodes.N[later, lay.STOP] - nodes.N[later, lay.START]
        bundle = max(1, self.n // (8 * threads.count()))
        ends = np.flatnonzero(np.diff(np.cumsum(rows) // bundle)) + 1
        return np.split(later, ends)

    def below(self, nodes, group, pool) -> Nodes:
        """Grow everything below the nodes of a group."""
        rows = nodes.N[group, lay.STOP] - nodes.N[group, lay.START]
        k, most, total = len(group), int(rows.max()), int(rows.sum())
        part = blank(2 * total + 2, self.M, self.words)
        front = self.front(total, k)
        for old, new in zip(nodes, part):
            new[:k] = old[group]
        front.C[lay.NODES] = front.C[lay.FRONT] = k
        front.queue[0, :k] = np.arange(k)
        for i in np.flatnonzero(part.N[:k, lay.HIST] >= 0):
            if front.C[lay.FREE] == 0:
                part.N[i, lay.HIST] = -1
                continue
            front.C[lay.FREE] -= 1
            at = front.queue[2, front.C[lay.FREE]]
            assert front.pool is not None  # histograms are kept
            front.pool[at] = pool[part.N[i, lay.HIST]]
            part.N[i, lay.HIST] = at
        plan = self.plan._replace(defer=False, wide=2**62)
        table, F = self.table, self.fixed
        if table.side is not None:  # its own: others may have rows next to these
            table = table._replace(side=np.empty(len(table.side), np.uint8))
        if F is not None:
            head = np.zeros(share.HEAD, np.int64)
            F = F._replace(goes=np.empty(256, np.uint8), head=head)
        return self.work(plan, table, F, part, front, [self.room(most)])


def stitch(nodes, groups, parts) -> Nodes:
    """One set of nodes from the top of a tree and what grew below it."""
    tails, base, pair = [nodes], len(nodes.N), slice(lay.LEFT, lay.RIGHT + 1)
    for group, part in zip(groups, parts):
        k, new = len(group), len(part.N) - len(group)
        number = np.concatenate((group, base + np.arange(new), [-1]))
        part.N[:, pair] = number[part.N[:, pair]]
        nodes.N[group, pair] = part.N[:k, pair]
        tails.append(Nodes(*(a[k:] for a in part)))
        base += new
    return Nodes(*(np.concatenate(a) for a in zip(*tails)))
