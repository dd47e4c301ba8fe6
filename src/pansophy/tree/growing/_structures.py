"""Constants, records and named tuples that the compiled loops of tree growth share.

Numba compiles a loop anew for every type of its arguments and spends most of that time
on tuples of many arrays. So a node under construction is one record of a structured
array, a split is another, and only what differs in length by node (the M sums, the bits
of a set) is an array beside them.
"""

from typing import NamedTuple

import numpy as np

# kinds of criteria, see `criteria.py`
SQUARE = 0
XLOGX = 1
POISSON = 2
ABSOLUTE = 3
NEWTON = 4
ERRORS = 5
RATIO = 6
GAUSS = 7
JOINT = 8
DIRECTION = 9

# forms of columns: by threshold; by set of codes: any, one level, half a circle
ORDERED = 0
SUBSET = 1
LEVEL = 2
HALF = 3

UNASKED = 2  # side of missing values where a node has none: `resolve_missing_sides`
MISSING_CODE = 255  # the byte of a missing value
LANES = 8  # columns of a tile
COUNT_BITS = 24  # of a fixed-point weight word, below the weight
CHUNK = 512  # split places scored at a time
SET_WORDS = 4  # words of 64 bits in a set of codes


def record_dtype(**types) -> np.dtype:
    """A structured type from names by type."""
    fields = [(name, kind) for kind, names in types.items() for name in names.split()]
    return np.dtype(fields)


# A column of the training table. `slot` is its row of x, or -1 - j if it is the j-th
# column of bytes with `n_bins` bins; `form` is one of those above, `sign` that of its
# monotone constraint.
COLUMN = record_dtype(int64="slot has_missing has_ties sign n_bins form")

# A node of the parallel grower. `key` names its random stream, `histogram` its slot in
# the pool; `base` is the part of the score that the node alone decides, gains that
# differ by less than `tolerance` are equal, `low` and `high` bound the leaf value.
NODE = record_dtype(
    int64="left right feature start stop depth n_left code histogram is_open "
    "missing_left key",
    float64="threshold impurity weight gain low high base tolerance left_sum "
    "left_weight",
)

# The best split of a node, along one feature or all. Where one sum is kept, `left_sum`
# and `left_weight` are those of the left child, `left_z` and `left_h` in fixed point.
SPLIT = record_dtype(
    float64="gain threshold left_sum left_weight",
    int64="found feature code missing_left n_left left_z left_h",
)

# Counters of the parallel grower: nodes so far, nodes on the frontier, leaves, the node
# split last and its children (-1: none), free histograms, nodes deferred, features
# tried
PROGRESS = record_dtype(
    int64="nodes frontier leaves parent first second free_histograms deferred tried"
)

# What threads share at the moment: the kind of work, a node or rows start .. stop in so
# many parts, how many pieces each kind has, and whether one thread does it all
WORK = record_dtype(
    int64="kind node start stop parts alone gather_pieces count_pieces tile_pieces"
)

# A node that waits on the stack of the serial grower; z and h are its fixed-point sums,
# `parent` is 2 parent + (1 if it is the right child).
PENDING = record_dtype(int64="start stop depth key z h parent")


class GrowthPlan(NamedTuple):
    """The criterion and the limits of growth, as numbers."""

    kind: int
    is_class: bool
    binary_gini: bool  # two classes, Gini: the weight of the second one is enough
    n_outputs: int
    scale: float  # from the score to the gain
    l2: float
    cost_above: float  # of a unit above the value, for absolute errors and quantiles
    cost_below: float
    gain_unit: float  # size of a gain by weight, for the tolerance of eq. (5)
    n_features: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_gain: float
    max_leaves: int
    max_features: int
    random: bool
    best_first: bool
    constrained: bool  # some split may be forbidden for its weights or values
    histogram_rows: int  # rows from which a node keeps histograms for subtraction
    resort_rows: int  # rows up to which a node is sorted instead of partitioned
    shared_values: int  # values from which a search is shared between threads
    defer: bool  # leave nodes below that to whole-subtree tasks


class TrainingTable(NamedTuple):
    """Input of the loops; they reorder `lists` and overwrite `goes_left`."""

    x: np.ndarray | None  # (lists, n) float32
    codes: np.ndarray  # (tiles, n, width) uint8
    edges: np.ndarray  # (bytes, 2, 256) least and greatest value of a bin
    properties: np.ndarray  # (d,) COLUMN
    y: np.ndarray | None  # (n, m) targets, or class numbers through all outputs
    weighted_y: np.ndarray | None  # (n,) where a scan needs one sum
    binary_y: np.ndarray | None  # (n,) the same as bytes, two classes of weight 1
    w: np.ndarray  # (n,) weights, or none
    lists: np.ndarray  # rows: as they come, by column, by target; ranks of targets
    goes_left: np.ndarray | None  # (n,) 1: goes left
    groups: np.ndarray  # (d, words) uint64: the interaction groups of a feature, by bit
    first_target_list: int


class FixedPoint(NamedTuple):
    """Targets and weights in fixed point (`_histograms.py`), and what threads share."""

    z: np.ndarray  # (n,) target
    h: np.ndarray  # (n,) weight and count, or none
    gathered: np.ndarray  # (2, n) the same in the order of the rows being counted
    spare_rows: np.ndarray  # (2, n) rows being partitioned
    partial: np.ndarray  # (tiles, parts, width, 256, 2) histograms of parts of a node
    byte_goes_left: np.ndarray  # (256,)
    left_counts: np.ndarray  # how many rows of a block go left
    work: np.ndarray  # (1,) WORK
    board: np.ndarray  # how threads take pieces, see `core/loops/_shared_queue.py`
    helpers: int
    weighted: bool
    unit_z: float
    unit_h: float
    sum_z: int  # over the rows in use
    sum_h: int


class Nodes(NamedTuple):
    """Nodes of the parallel grower."""

    node: np.ndarray  # (capacity,) NODE
    sums: np.ndarray  # (capacity, M)
    left_set: np.ndarray  # (capacity, SET_WORDS) uint64: codes that go left
    groups: np.ndarray  # (capacity, words) uint64: interaction groups still open


class Frontier(NamedTuple):
    """Frontier of the parallel grower: queued nodes, and the splits of pending ones."""

    progress: np.ndarray  # (1,) PROGRESS
    queue: np.ndarray  # (3, ...) frontier; deferred nodes; free slots of the pool
    drawn: np.ndarray  # (2, 2, d) by child: order of drawing, and whether to try
    best: np.ndarray  # (2, d) SPLIT: best splits of the pending nodes


class Scratch(NamedTuple):
    """Scratch arrays of one thread of the parallel grower."""

    scores: np.ndarray  # scores of places, and M sums
    histogram: np.ndarray
    features: np.ndarray  # (2,) first and end of the range to search
    few_rows: np.ndarray  # rows of a small node, sorted
    byte_goes_left: np.ndarray  # (256,)


class NodeStats(NamedTuple):
    """The statistics of a node by which its splits are judged."""

    weight: float
    impurity: float
    base: float
    tolerance: float
    low: float
    high: float
    key: int
    sums: np.ndarray  # (M,)


class Scan(NamedTuple):
    """Positions of a sorted slice of rows at which a scan may split."""

    first_of_node: int  # where the node begins in the lists by target
    start: int
    end: int  # of the rows that have a value
    stop: int
    first: int
    last: int
    ties: bool  # whether neighbouring values may be equal
    sign: int  # of the monotone constraint
    missing_left: int  # whether the rows without a value start on the left


class SerialNode(NamedTuple):
    """A node of the serial grower where one sum is enough."""

    n: int
    start: int
    key: int
    z: int  # fixed-point sums
    h: int
    weight: float
    total: float
    mean: float
    tolerance: float
    factor: float  # of the score
    floor: float  # least weight that a denominator may hold
    most: float  # gain after which nothing is left to gain
    min_leaf: int
    min_weight: float
    weighted: bool
    unit_z: float
    unit_h: float


class SerialTable(NamedTuple):
    """Input of the serial grower, which reorders `rows`."""

    rows: np.ndarray  # (n,) uint32
    edges: np.ndarray
    properties: np.ndarray  # (d,) COLUMN
    y: np.ndarray
    w: np.ndarray
    root_key: int
    root_z: int  # fixed-point sums of the root, where one sum is kept
    root_h: int


class SerialNodes(NamedTuple):
    """Finished nodes of the serial grower, in the order root, left, right branch."""

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    missing_left: np.ndarray
    threshold: np.ndarray
    impurity: np.ndarray
    weight: np.ndarray
    total: np.ndarray  # the only sum; not filled where there are several


class SerialWorkspace(NamedTuple):
    """Scratch arrays of the serial grower, whatever it searches."""

    stack: np.ndarray  # (n + 1,) PENDING
    spare_rows: np.ndarray  # (n,) uint32
    drawn: np.ndarray  # (3, d) order of drawing, draws to undo, features to try
    marks: np.ndarray  # (d / 64,) uint64 features drawn
    split: np.ndarray  # (1,) SPLIT
    sums: np.ndarray  # (M,) of the node


class SingleSumWorkspace(NamedTuple):
    """Scratch arrays for the search of a node with one sum."""

    cells: np.ndarray  # (256, 2) histogram, all zero between searches
    flat: np.ndarray  # the same memory
    seen: np.ndarray  # (4,) bytes that occur, by bit, all zero between searches
    keys: np.ndarray
    ranks: np.ndarray
    order: np.ndarray
    bins: np.ndarray  # (256,) bytes that occur, in order
    scores: np.ndarray  # (4, 256)
    sums: np.ndarray  # the same memory, as whole numbers
    stats: np.ndarray  # (1,) the sum of the node


class MultiSumWorkspace(NamedTuple):
    """Scratch arrays for the search of a node with several sums."""

    gathered: np.ndarray  # (outputs + 1, n) targets of a node's rows, then weights
    classes: np.ndarray  # the same memory, as class numbers
    near: np.ndarray  # (n,) values or bytes of one column
    counts: np.ndarray  # (256,) rows by byte, all zero between searches
    seen: np.ndarray  # (4,) bytes that occur, by bit, all zero between searches
    keys: np.ndarray
    ranks: np.ndarray
    bins: np.ndarray  # (256,) bytes that occur, in order
    ends: np.ndarray  # (256,) where their rows end
    scores: np.ndarray  # (4, 256)
    histogram: np.ndarray  # (256, 2 + M)
    left_sums: np.ndarray  # (M,)
