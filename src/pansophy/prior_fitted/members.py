r"""Members of an ensemble: each reads the same table in its own way.

The network is one function of a table, fixed by its training, so an ensemble varies the
table. Nothing that a user means changes with the order of columns, the names of classes
or a monotone map of a column, yet the network's answer does, a little; averaging over
random choices removes most of that. A member draws

- the identities of its columns (random vectors, see `network`);
- the output that stands for each class;
- for classes, every second member: numbers as normal scores of their ranks, and
  categories with their codes permuted. The others see both as they are.

*More rows than the limit.* Each member reads a sample of its own, stratified by class
or along the sorted targets. *More columns.* Each reads half as many columns as it may
of those most associated with the target (chi-squared of binned values, less what chance
gives), and its share of the others, which are dealt out in turn.

*More classes than the head has, K.* Member m deals the C classes into K groups
:math:`g_m(c)` and predicts groups, a code that corrects errors as each class has its
own word [1]_. The probabilities of classes are those whose sums over groups are nearest
to what the members predict,

.. math:: p = \arg\min_p -\sum_m \sum_k q_{mk} \log \sum_{c:\, g_m(c) = k} p_c      (1)

found by the EM steps :math:`p_c \leftarrow p_c\, \text{mean}_m\, q_{m g_m(c)} /
\sum_{c':\, g_m(c') = g_m(c)} p_{c'}`, each of which lowers (1).

What a member has read is its *memory*: keys and values of the training rows in every
block, rounded to float16. With the sorted values of each column (not which of them
belong to one row) it is all that new rows need.

References
----------
.. [1] Dietterich and Bakiri (1995). Solving multiclass learning problems via
   error-correcting output codes. JAIR 2.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, ndtri, softmax

from ..persist.saved_state import Each, FloatArray, IntArray, Part, Row, saved_state
from .cells import ColumnStatistics, describe_columns, encode_cells
from .network import IDENTITY, forward
from .pretrained import PretrainedNetwork

MOST_POINTS = 257  # of a map of a column
BINS = 8  # of values and of targets, for association
CODE_STEPS = 100  # of EM
TEMPERATURE = 0.9  # of the mean of logs; chosen on development tables
BLOCK = 512  # new rows at a time


@saved_state(values=FloatArray("points"), scores=FloatArray("points"))
class ColumnMapping(NamedTuple):
    """A piecewise linear map of a column, constant beyond its ends."""

    values: np.ndarray  # ascending
    scores: np.ndarray

    def apply(self, x):
        """Mapped values; NaN stays NaN."""
        return np.where(np.isnan(x), x, np.interp(x, self.values, self.scores))


@saved_state(
    columns=IntArray("width", low=0),
    maps=Each(Part(ColumnMapping, optional=True), "width"),
    groups=IntArray(None, low=0),
    identities=FloatArray(1, "width", IDENTITY),
)
class MemberView(NamedTuple):
    """How one member sees a table."""

    columns: np.ndarray  # of the table, that it reads
    maps: tuple  # by column a ColumnMapping or None
    groups: np.ndarray  # output that stands for each class; empty for numbers
    identities: np.ndarray

    def apply(self, X) -> np.ndarray:
        """Rows of the table (n, d) as the member sees them (1, n, columns)."""
        seen = np.empty((1, len(X), len(self.columns)), np.float32)
        for place, (j, mapping) in enumerate(zip(self.columns, self.maps, strict=True)):
            x = X[:, j]
            seen[0, :, place] = x if mapping is None else mapping.apply(x)
        return seen


@saved_state(seen=FloatArray(1, "rows", None), targets=FloatArray(1, "rows", None))
class KeptRows(NamedTuple):
    """Training rows as a member sees them, kept instead of its memory."""

    seen: np.ndarray  # (1, n, columns)
    targets: np.ndarray  # (1, n, n_targets)


@saved_state(
    view=Part(MemberView),
    statistics=Part(ColumnStatistics),
    grid=FloatArray(None, finite=True),
    memory=Each(Row(FloatArray(None, None, None), FloatArray(None, None, None))),
    rows=Part(KeptRows, optional=True),
)
class Member(NamedTuple):
    """A view of the table and what was read of it."""

    view: MemberView
    statistics: ColumnStatistics
    grid: np.ndarray  # targets at the knots; empty for classes
    memory: tuple  # pairs of keys and values in float16; empty with kept rows
    rows: KeptRows | None = None


# Views


def normal_scores(x) -> ColumnMapping:
    """Map of known values to the normal quantiles of their mid-ranks."""
    known = np.sort(x[~np.isnan(x)].astype(np.float64))
    if not len(known):
        return ColumnMapping(np.zeros(1), np.zeros(1))
    values, counts = np.unique(known, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2) / len(known)
    if len(values) > MOST_POINTS:
        kept = np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int)
        values, middle = values[kept], middle[kept]
    return ColumnMapping(values, ndtri(middle))


def permuted_levels(x, rng) -> ColumnMapping:
    """Map of the codes of a categorical column to the same codes in another order."""
    levels = np.unique(x[~np.isnan(x)]).astype(np.float64)
    if not len(levels):
        return ColumnMapping(np.zeros(1), np.zeros(1))
    return ColumnMapping(levels, rng.permutation(levels))


def draw_view(rng, X, is_categorical, columns, groups, mapped: bool) -> MemberView:
    """A view of some columns of the table X (n, d)."""
    maps: list[ColumnMapping | None] = [None] * len(columns)
    if mapped:
        maps = [
            permuted_levels(X[:, j], rng)
            if is_categorical[j]
            else normal_scores(X[:, j])
            for j in columns
        ]
    identities = rng.standard_normal((1, len(columns), IDENTITY)).astype(np.float32)
    return MemberView(np.asarray(columns), tuple(maps), groups, identities)


def draw_groups(rng, n_classes: int, n_outputs: int) -> np.ndarray:
    """The output that stands for each class; shared by classes if these are more."""
    dealt = np.arange(n_classes) % n_outputs
    return rng.permutation(dealt)


def stratified_sample(rng, order_by, m: int, w=None) -> np.ndarray:
    """m rows of n, evenly spaced in total weight along their order by `order_by`.

    Rows that tie are in random order. A row of weight w is drawn floor or ceil of m w /
    sum(w) times.
    """
    n = len(order_by)
    order = np.lexsort((rng.random(n), order_by))
    mass = np.ones(n) if w is None else w[order]
    ends = np.cumsum(mass)
    places = (np.arange(m) + rng.random()) * (ends[-1] / m)
    return order[np.searchsorted(ends, places, side="right").clip(max=n - 1)]


def bin_column(x, unordered: bool) -> np.ndarray:
    """Bins of a column, the last for missing values."""
    known = x[~np.isnan(x)]
    if unordered:
        return np.where(np.isnan(x), 0, np.nan_to_num(x) + 1).astype(int)
    cuts = (
        np.unique(np.quantile(known, np.arange(1, BINS) / BINS)) if len(known) else []
    )
    return np.where(np.isnan(x), len(cuts) + 1, np.searchsorted(cuts, x))


def excess_chi_squared(x, y, unordered: bool) -> float:
    """Chi-squared of the bins of x and the codes y, less its degrees of freedom."""
    rows = np.unique(bin_column(x, unordered), return_inverse=True)[1]
    columns = np.unique(y, return_inverse=True)[1]
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows, columns), 1)
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(((counts - expected) ** 2 / expected).sum() - freedom)


def deal_columns(rng, X, y, is_categorical, n_members: int, most: int) -> list:
    """Columns that each member reads, at most `most` of them.

    y holds codes of classes, or of bins of numbers.
    """
    d = X.shape[1]
    if d <= most:
        return [np.arange(d)] * n_members
    scores = [excess_chi_squared(X[:, j], y, is_categorical[j]) for j in range(d)]
    ranked = np.argsort(scores, kind="stable")[::-1]
    best = ranked[: most // 2]
    dealt_often = rng.permutation(ranked[most // 2 :])
    share = most - len(best)
    hands = [range(i * share, (i + 1) * share) for i in range(n_members)]
    dealt = [np.take(dealt_often, hand, mode="wrap") for hand in hands]
    return [np.sort(np.r_[best, hand]) for hand in dealt]


# Reading and answering


def _run_network(
    network: PretrainedNetwork, cells, targets, identities, memory, device
):
    """`network.forward` by NumPy, or by torch on a device; arrays in and out."""
    if device is None:
        return forward(
            network.weights, network.shape, cells, targets, identities, memory
        )
    import torch

    def tensor(x):
        return torch.from_numpy(np.ascontiguousarray(x)).to(device)

    with torch.inference_mode():
        weights = {name: tensor(w) for name, w in network.weights.items()}
        if memory is not None:
            memory = ((tensor(keys), tensor(values)) for keys, values in memory)
        outputs, kept = forward(
            weights,
            network.shape,
            tensor(cells),
            tensor(targets),
            tensor(identities),
            memory,
        )
        pairs = [(k.cpu().numpy(), v.cpu().numpy()) for k, v in kept]
        return outputs.cpu().numpy(), pairs


def _read_rows(network, view, statistics, seen, targets, device) -> tuple:
    """Memory of training rows as a member sees them."""
    cells = encode_cells(statistics, seen)
    _, memory = _run_network(network, cells, targets, view.identities, None, device)
    limit = np.finfo(np.float16).max
    return tuple(
        tuple(np.clip(part, -limit, limit).astype(np.float16) for part in pair)
        for pair in memory
    )


def read_training_rows(
    network: PretrainedNetwork,
    view: MemberView,
    X,
    targets,
    *,
    grid=None,
    keep_rows: bool = False,
    device=None,
) -> Member:
    """A member that has read the training rows X (n, d) with their encoded targets."""
    seen = view.apply(X)
    statistics = describe_columns(seen)
    grid = np.zeros(0) if grid is None else grid
    if keep_rows:
        return Member(view, statistics, grid, (), KeptRows(seen, targets))
    memory = _read_rows(network, view, statistics, seen, targets, device)
    return Member(view, statistics, grid, memory)


def member_outputs(network, member: Member, X, device=None) -> np.ndarray:
    """Outputs (n, n_outputs) of a member for new rows X (n, d)."""
    memory = member.memory
    if member.rows is not None:
        seen, targets = member.rows
        memory = _read_rows(
            network, member.view, member.statistics, seen, targets, device
        )
    identities = member.view.identities
    no_targets = np.zeros((1, 0, network.shape.n_targets), np.float32)
    blocks = []
    for start in range(0, len(X), BLOCK):
        seen = member.view.apply(X[start : start + BLOCK])
        cells = encode_cells(member.statistics, seen)
        pairs = ((k.astype(np.float32), v.astype(np.float32)) for k, v in memory)
        outputs, _ = _run_network(network, cells, no_targets, identities, pairs, device)
        blocks.append(outputs[0])
    return np.concatenate(blocks)


def average_classes(logits: list, groups: list, n_classes: int) -> np.ndarray:
    """Probabilities of classes from the logits (n, K) of members and their groups."""
    n_outputs = logits[0].shape[1]
    if n_classes <= n_outputs:
        logs = [
            log_softmax(z[:, :n_classes].astype(np.float64), axis=1)[:, g]
            for z, g in zip(logits, groups, strict=True)
        ]
        return softmax(np.mean(logs, axis=0) / TEMPERATURE, axis=1)
    predicted = [
        softmax(z.astype(np.float64), axis=1)[:, g]
        for z, g in zip(logits, groups, strict=True)
    ]
    same_group = [np.equal.outer(g, g).astype(float) for g in groups]
    P = np.full(predicted[0].shape, 1 / n_classes)
    for _ in range(CODE_STEPS):  # of equation (1)
        P = P * np.mean(
            [
                q / (P @ is_same)
                for q, is_same in zip(predicted, same_group, strict=True)
            ],
            axis=0,
        )
        P /= P.sum(axis=1, keepdims=True)
    return P


def average_distributions(logits: list, grids: list) -> tuple[Any, np.ndarray]:
    """Grid (k,) and masses (n, k) of the mean of the members' distributions."""
    masses = [softmax(z.astype(np.float64), axis=1) for z in logits]
    if all(np.array_equal(grid, grids[0]) for grid in grids):
        return grids[0], np.mean(masses, axis=0)
    grid = np.concatenate(grids)
    order = np.argsort(grid, kind="stable")
    return grid[order], np.concatenate(masses, axis=1)[:, order] / len(masses)
