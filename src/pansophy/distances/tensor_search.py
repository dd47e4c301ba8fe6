"""The k nearest rows of torch tensors: minima of groups by products, then differences.

About a point c, the mean of the rows,

    s_ij = |x_j - c|^2 - 2 x_j.(q_i - c) = |x_j - q_i|^2 + (what j does not change)  (1)

is one product for a tile of queries and rows (as they are, unless they are far from 0),
of which only the least entry of each
group of `GROUP` rows is kept; the rows of a group lie far apart in the tile, so that
neighbouring threads compare neighbouring numbers. At most k groups hold the k nearest
rows, and they are those of least minima; a few groups more are taken, since (1) errs by
at most

    e = (d + 16) u (|q_i - c| + max |x_j|)^2      u the rounding unit             (2)

The rows of these groups are compared from differences. An answer is certain if the
least minimum of a group that was left out is farther than the k-th row by more than e;
queries for which it is not are compared with all rows. So the answer is that of
`neighbor_search`, equals in the order of their numbers, and the device is waited for
once in all.

Cost      n m d flops for the products, k GROUP d differences a query
Memory    one tile and its candidates beyond the rows and the answer
Shapes    X (n, d)   Q (m, d)   answer (m, k)
"""

import math

from ..core.arrays.arrays import is_torch, namespace
from .pairwise_metrics import block_slices

EUCLIDEAN = ("euclidean", "l2", "sqeuclidean", "squared_euclidean")
GROUP = 32  # rows of a group
SPARE = 5  # groups beyond k that are compared
QUERIES = 1024  # of a tile
TILE_ENTRIES = 1 << 24
CANDIDATE_ENTRIES = 1 << 24  # differences held at once
FAR = 16.0  # |c|^2 over the mean |x - c|^2 above which rows are moved by c


def is_searched_by_groups(X, metric, options, k) -> bool:
    """Whether `k_nearest_by_groups` serves these rows and this metric."""
    if not is_torch(X) or not isinstance(metric, str) or metric not in EUCLIDEAN:
        return False
    return not options and X.shape[0] >= 8 * GROUP * (k + 1 + SPARE)


def k_nearest_by_groups(X, Q, k):
    """Squared distances and numbers of the k nearest rows, and what is not certain.

    Q None asks for the neighbours of the rows themselves, each without itself. The
    third answer is a mask of the queries whose lists are not certain, (m,).

    Examples
    --------
    >>> import torch
    >>> from pansophy.distances.tensor_search import k_nearest_by_groups
    >>> X = torch.arange(4096.0)[:, None]
    >>> far, rows, _ = k_nearest_by_groups(X, torch.tensor([[7.25]]), 2)
    >>> far.tolist(), rows.tolist()
    ([[0.0625, 0.5625]], [[7, 8]])
    """
    xp = namespace(X)
    is_self = Q is None
    Q = X if is_self else Q
    n, d = X.shape
    groups = -(-n // GROUP)
    taken = k + int(is_self) + SPARE
    rows = GroupedRows(X)
    m = Q.shape[0]
    far = X.new_empty((m, k))
    nearest = X.new_empty((m, k), dtype=xp.int64)
    unsure = X.new_empty(m, dtype=xp.bool)
    least = X.new_empty((min(QUERIES, m), groups))
    n_at_once = max(1, CANDIDATE_ENTRIES // (taken * GROUP * d))
    first_row, stride = rows.group_places()
    in_group = xp.arange(GROUP, device=X.device)
    for block in block_slices(m, QUERIES):
        q = Q[block]
        minima = least[: q.shape[0]]
        slack, constant = rows.group_minima(q, minima)
        best = minima.topk(taken + 1, dim=1, largest=False, sorted=True)
        chosen = best.indices[:, :taken]
        limit = best.values[:, taken] + constant - slack
        for part in block_slices(q.shape[0], n_at_once):
            cut = slice(block.start + part.start, block.start + part.stop)
            group = chosen[part]
            J = first_row[group][:, :, None] + stride[group][:, :, None] * in_group
            J = J.flatten(1).sort(dim=1).values
            gap = X[J.clamp(max=n - 1)] - q[part, None, :]
            D = gap.square_().sum(2)
            ruled_out = n <= J
            if is_self:
                own = xp.arange(cut.start, cut.stop, device=X.device)
                ruled_out = ruled_out | (own[:, None] == J)
            D = D.masked_fill_(ruled_out, math.inf)
            D, order = D.sort(dim=1, stable=True)
            far[cut] = D[:, :k]
            nearest[cut] = J.gather(1, order[:, :k])
            unsure[cut] = limit[part] <= D[:, k - 1] + slack[part]
    return far, nearest, unsure


def k_nearest_by_differences(X, Q, k, asked):
    """Distances and numbers of the k nearest rows of the queries `asked`.

    All distances come from differences, so that equals are exactly equal.

    Examples
    --------
    >>> import torch
    >>> from pansophy.distances.tensor_search import k_nearest_by_differences
    >>> X = torch.tensor([[1.0], [4.0], [3.0]])
    >>> far, rows = k_nearest_by_differences(X, None, 1, torch.tensor([0, 1]))
    >>> far.tolist(), rows.tolist()
    ([[2.0], [1.0]], [[2], [2]])
    """
    xp = namespace(X)
    n = X.shape[0]
    rows = xp.arange(n, device=X.device)
    parts = []
    for cut in block_slices(asked.shape[0], max(1, TILE_ENTRIES // n)):
        own = asked[cut]
        q = X[own] if Q is None else Q[own]
        D = xp.cdist(q, X, compute_mode="donot_use_mm_for_euclid_dist")
        if Q is None:
            D = D.masked_fill_(own[:, None] == rows, math.inf)
        far, nearest = D.sort(dim=1, stable=True)
        parts.append((far[:, :k], nearest[:, :k]))
    return tuple(xp.concat(part) for part in zip(*parts, strict=True))


class GroupedRows:
    """Rows of a tensor with their squared norms, searched group by group.

    Groups, minima and bounds are those of eqs (1) and (2).
    """

    def __init__(self, X):
        xp = namespace(X)
        n, d = X.shape
        self.center = X.mean(0)
        offset = self.center.square().sum()
        squares = X.new_empty(n)
        step = max(1, TILE_ENTRIES // d)
        for cut in block_slices(n, step):
            squares[cut] = (X[cut] - self.center).square_().sum(1)
        # rows far from 0 lose digits in x.q: they are moved, at the price of a copy
        self.is_moved = bool(offset > FAR * squares.mean())
        self.rows = X - self.center if self.is_moved else X
        longest = squares.max().sqrt()
        self.longest = longest if self.is_moved else longest + offset.sqrt()
        self.squares = squares
        self.rounding = (d + 16) * xp.finfo(X.dtype).eps
        self.width = max(GROUP, TILE_ENTRIES // QUERIES // GROUP * GROUP)
        self.buffer = None

    def group_places(self):
        """The first row of each group, and how far apart its rows are."""
        xp = namespace(self.rows)
        n = self.rows.shape[0]
        first_row = []
        stride = []
        for cut in block_slices(n, self.width):
            count = -(-(cut.stop - cut.start) // GROUP)
            first_row.append(xp.arange(cut.start, cut.start + count))
            stride.append(xp.full((count,), count, dtype=xp.int64))
        device = self.rows.device
        return xp.concat(first_row).to(device), xp.concat(stride).to(device)

    def group_minima(self, q, into):
        """Fill in the least s of each group; e of eq. (2), and what s leaves out."""
        xp = namespace(q)
        q = q - self.center
        norms = q.square().sum(1)
        n = self.rows.shape[0]
        m = q.shape[0]
        if self.buffer is None:
            self.buffer = q.new_empty(m * min(self.width, -(-n // GROUP) * GROUP))
        slope = -2.0 * q
        for cut in block_slices(n, self.width):
            count = cut.stop - cut.start
            held = -(-count // GROUP) * GROUP
            tile = self.buffer[: m * held].view(m, held)
            if held == count:
                xp.addmm(self.squares[cut], slope, self.rows[cut].mT, out=tile)
            else:
                tile[:, count:] = math.inf
                tile[:, :count] = xp.addmm(self.squares[cut], slope, self.rows[cut].mT)
            first_group = cut.start // GROUP
            minima_of_tile = into[:, first_group : first_group + held // GROUP]
            xp.amin(tile.view(m, GROUP, held // GROUP), 1, out=minima_of_tile)
        slack = self.rounding * (norms.sqrt() + self.longest) ** 2
        return slack, norms if self.is_moved else norms + 2.0 * (q @ self.center)
