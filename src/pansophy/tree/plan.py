"""What the loops need to grow a tree: numbers, tables, and targets as whole numbers."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..core._crew import SIZE
from . import _histograms as hist
from . import _shared_work as share
from . import _structures as lay

WIDE = 1 << 17  # values in a node from which a search is shared between threads
FEW = 4  # rows up to which a node is sorted by itself
MANY = 1 << lay.COUNT_BITS  # rows that a whole-number bin cannot count
HEAVY = 2.0**30  # summed weight from which targets are weighted before they are rounded
BLOCK = 1 << 16  # rows of a piece of what is done to all of them
PIECES = 4  # of counting, for each thread
KEEP = 1024  # rows in a node from which its histograms are kept for subtraction


class Plan(NamedTuple):
    """Numbers for the loops: the criterion and the limits."""

    kind: int
    is_class: bool
    one: bool  # two classes, Gini: one sum says it all
    m: int
    scale: float
    l2: float
    up: float  # price of a unit above and below, of absolute errors and quantiles
    down: float
    unit: float  # size of a gain by weight, for the tolerance of eq. (5)
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

    x: np.ndarray | None  # (lists, n) float32
    codes: np.ndarray  # (tiles, n, width) uint8
    edges: np.ndarray
    meta: np.ndarray  # (d, META)
    y: np.ndarray | None  # (n, m) targets, or class numbers through all outputs
    z: np.ndarray | None  # (n,) weight times target, where a walk needs no more
    bits: np.ndarray | None  # (n,) the same as bytes, for two classes of weight 1
    sums: np.ndarray | None  # y, where neither is enough and y has sums that are
    w: np.ndarray  # (n,) weights, or none
    lists: np.ndarray  # rows: as they come, by column, by target; ranks of targets
    side: np.ndarray | None  # (n,) 1: goes left
    member: np.ndarray  # (d, words) uint64: the groups of a feature, by bit
    t0: int  # the first list by target


class Fixed(NamedTuple):
    """Targets and weights as whole numbers (`_histograms.py`), and scratch (`_shared_work.py`)."""

    z: np.ndarray  # (n,) target
    h: np.ndarray  # (n,) weight and count, or none
    line: np.ndarray  # (2, n) the same in the order of the rows being counted
    spare: np.ndarray  # (2, n) rows being parted
    parts: np.ndarray  # (tiles, parts, width, 256, 2) histograms of parts of a node
    goes: np.ndarray  # (256,) whether a byte goes left
    cuts: np.ndarray  # how many rows of a block go left
    head: np.ndarray  # what the threads are at: kind of work, node or rows, parts
    board: np.ndarray  # how they share it, see `core/_crew.py`
    hands: int
    weighted: bool
    unit_z: float
    unit_h: float
    sum_z: int  # over the rows in use
    sum_h: int


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
        l2=float(criterion.l2),
        up=float(criterion.up),
        down=float(criterion.down),
        unit=0.0,
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
        defer=not best_first and n * d >= WIDE and threads.free() > 1,
    )


def rare_of(kind):
    """The kind of a criterion that is not made of squares or medians, else None."""
    return None if kind in (lay.SQUARE, lay.NEWTON, lay.ABSOLUTE) else kind


def targets(y, w, criterion, rows=None):
    """Targets and weights as the loops want them, and what to add to a node's mean.

    Classes are numbered through all outputs. Real targets are centred for squared
    error, so that sums of squares do not cancel.
    """
    y = np.require(y, np.float64, ["C", "W"])  # a copy only where it must be
    w = None if w is None else np.require(w, np.float64, ["C", "W"])
    if criterion.is_class and criterion.m > 1:
        return y + np.concatenate(([0], np.cumsum(criterion.classes)[:-1])), w, 0.0
    if criterion.is_class or criterion.kind != lay.SQUARE:
        return y, w, 0.0
    if rows is None:
        offset = np.average(y, axis=0, weights=w)
    else:
        offset = np.average(y[rows], axis=0, weights=None if w is None else w[rows])
    return y - offset, w, offset


def table_of(columns, y, w, criterion, limits, plan, rows, member) -> Table:
    """The arrays that the loops read, and those they work on."""
    n, k, m = len(y), len(columns.order), criterion.m
    absolute = criterion.kind == lay.ABSOLUTE
    orders = [np.arange(n, dtype=np.int32)[None], columns.order]
    if absolute:
        orders.append(np.argsort(y, axis=0, kind="stable").T)
    if rows is None:
        lists = np.empty((1 + k + (2 * m if absolute else 0), n), np.int32)
        np.concatenate(orders, out=lists[: 1 + k + (m if absolute else 0)])
    else:
        width = n if absolute else len(rows)  # a rank has a place for every row
        lists = chosen(orders, rows, n, 1 + k + (2 * m if absolute else 0), width)
    w = np.empty(0) if w is None else w
    z, bits, sums = walked(y, w, criterion, plan)
    meta = columns.meta.copy()
    if limits.signs is not None:
        meta[:, lay.SIGN] = limits.signs
    side = np.empty(n, np.uint8)
    return Table(
        columns.x, columns.codes, columns.edges, meta, y, z, bits, sums, w, lists,
        side, member, k + 1
    )  # fmt: skip


def walked(y, w, criterion, plan):
    """What a walk along a list adds up: z, bits or sums of `Table`; the others None.

    So that only one of the walks is compiled.
    """
    if criterion.kind == lay.ABSOLUTE:
        return None, None, None
    if criterion.kind != lay.SQUARE or criterion.sums > 1 or plan.bounded:
        return None, None, y
    if criterion.one and not len(w):
        return None, y[:, 0].astype(np.uint8), None
    return y[:, 0] * w if len(w) else np.ascontiguousarray(y[:, 0]), None, None


def chosen(orders, rows, n, height, width):
    """Lists of all rows cut down to the rows chosen, which come first."""
    lists, t, m = np.zeros((height, width), np.int32), 1, len(rows)
    lists[0, :m] = rows
    kept = np.zeros(n, bool)
    kept[rows] = True
    for block in orders[1:]:
        for order in block:
            lists[t, :m] = order[kept[order]]
            t += 1
    return lists


def members(groups, d):
    """(d, words) uint64: bit g of a feature says that it is in group g."""
    if groups is None:
        return np.empty((d, 0), np.uint64)
    groups = np.asarray(groups, bool)
    bits = np.zeros((d, 64 * -(-len(groups) // 64)), np.uint8)
    bits[:, : len(groups)] = groups.T
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def is_one(criterion, n) -> bool:
    """Whether one sum, in whole numbers, is all that growth over n rows needs."""
    one = criterion.sums == 1 and criterion.classes != (1,) and n < MANY
    return one and criterion.kind in (lay.SQUARE, lay.NEWTON)


def is_whole(columns, criterion, n) -> bool:
    """Whether growth can count in whole numbers: one sum, one view, nothing sorted."""
    mixed = len(columns.codes) > 0 and len(columns.x) > 0
    return is_one(criterion, n) and not mixed and not len(columns.order)


def sizes(table, kind):
    """The sums of |weighted target| and of weights."""
    y, w, rows = table.y[:, 0], table.w, table.lists[0]
    if len(rows) < len(y):
        y, w = y[rows], w[rows] if len(w) else w

    def block(cut):
        size = np.abs(y[cut])
        if not len(w):
            return np.array([np.sum(size), len(size)])
        if kind != lay.NEWTON:
            size *= w[cut]
        return np.array([np.sum(size), np.sum(w[cut])])

    size, mass = np.sum(list(in_blocks(block, len(y))), axis=0)
    return float(size), float(mass)


def in_blocks(function, n):
    """function(cut) over blocks of n rows, on threads; the results in order."""
    cuts = (slice(i, min(i + BLOCK, n)) for i in range(0, max(n, 1), BLOCK))
    return threads.run((lambda cut=cut: function(cut)) for cut in cuts)


def sum_again(plan, table, nodes):
    """Sums of all nodes from the targets themselves, which are not rounded."""
    N, R = nodes.N, nodes.R
    leaf = N[:, lay.LEFT] < 0
    rows = np.cumsum(np.where(leaf, N[:, lay.STOP] - N[:, lay.START], 0))
    ends = np.searchsorted(rows, np.arange(BLOCK, rows[-1], BLOCK)) + 1
    ends = np.concatenate(([0], np.unique(ends), [len(N)]))
    newton, given = plan.kind == lay.NEWTON, (table.lists[0], table.y, table.w)
    tasks = (
        lambda a=a, b=b: hist.sum_leaves(newton, *given, N, R, a, b)
        for a, b in pairwise(ends)
    )
    for _ in threads.run(tasks):
        pass
    hist.sum_upwards(N, R)


def power(room, size):
    """The greatest power of two that keeps `size` times it below 2^room."""
    return 2.0 ** int(np.clip(room - np.frexp(max(size, 1e-300))[1], -1000, 1000))


def fixed_of(table, plan, size, mass, keep) -> Fixed:
    """Whole numbers for the targets and weights of the rows in use.

    The arrays of the tree before, in `keep`, are used again if they are as long.
    """
    n, m, weighted = len(table.y), len(table.lists[0]), len(table.w) > 0
    a, b = power(51, size), power(63 - lay.COUNT_BITS - 1, mass)
    tiles, _, width = table.codes.shape
    if keep.get("sizes") != (n, m, weighted):
        keep["sizes"] = n, m, weighted
        # as many as give every thread a few pieces of a large node's histograms
        parts = min(-(-PIECES * threads.free() // max(tiles, 1)), m // share.BLOCK)
        parts = parts if threads.free() > 1 and width == lay.LANES else 0
        keep["parts"] = np.empty((tiles, parts, width, 256, 2), np.int64)
        keep["rows"] = np.empty(n, np.int64), np.empty(n * weighted, np.int64)
        keep["rows"] += np.ones((2, m), np.int64), np.empty((2, m), np.int32)
    z, h, line, spare = keep["rows"]
    y, done = table.y, plan.kind == lay.NEWTON
    if weighted and not plan.one and not done and mass > HEAVY:  # few bits for |y|
        y, done = y * table.w[:, None], True
    a = b if weighted and plan.one else a
    rows = table.lists[0]
    whole = lambda cut: hist.to_whole(rows[cut], y, table.w, done, plan.one, a, b, z, h)
    totals = list(in_blocks(whole, m))
    sum_z, sum_h = (sum(column) for column in zip(*totals))
    cuts = np.empty(m // share.BLOCK + 1, np.int64)
    return Fixed(
        z, h, line, spare, keep["parts"], np.empty(256, np.uint8), cuts,
        np.zeros(share.HEAD, np.int64), np.zeros(SIZE, np.int64), 0, weighted,
        1.0 / a, 1.0 / b, sum_z, sum_h
    )  # fmt: skip
