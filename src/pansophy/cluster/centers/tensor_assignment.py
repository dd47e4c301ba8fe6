"""Assignments of k-means for torch tensors: tiles of rows on their device.

Letters and equations are those of `kmeans.py`. With c_j taken relative to a point m,
the nearest centre of a row is that of least

    |c_j|^2 + 2 m.c_j - 2 x_i.c_j                                                (1)

a product of the rows as they are with a small matrix. Where m is so far from the
centres that (1) would lose digits, a tile of rows is moved by m first. A tile of
distances has a row for each centre, so that neighbouring threads compare neighbouring
numbers. The rows of a cluster are added up where they are,

    S_j = sum_{z_i = j} w_i x_i,    M_j = sum_{z_i = j} w_i                      (2)

those of a tile in the dtype of X and the tiles in float64. The order in which a device
adds the rows of a tile shows in the last digit, unless torch is told to be
deterministic. Beyond X there are two sets of labels and one tile, of a quarter of X at
most where X is large.
All of an iteration is computed without waiting for the device; its sums come to the
host in one transfer, k d numbers.
"""

import numpy as np

from ...core.arrays import arrays

TILE_ENTRIES = 1 << 24  # of a tile of distances at most
LEAST_ENTRIES = 1 << 20  # of a tile, where X is small
FAR = 16.0  # |m|^2 over the mean |c - m|^2 above which rows are moved by m


class TensorTiles:
    """Rows of a tensor, tile by tile, with their distances to k centres."""

    def __init__(self, X, k):
        n, d = X.shape
        entries = min(TILE_ENTRIES, max(LEAST_ENTRIES, n * d // 4))
        self.X = X
        self.n_rows = max(1, min(n, entries // k))
        self.buffer = X.new_empty(k * self.n_rows)

    def tiles(self):
        """The slices of rows that make up the tiles."""
        n = self.X.shape[0]
        return [slice(i, min(i + self.n_rows, n)) for i in range(0, n, self.n_rows)]

    def nearest(self, C, m, into, visit=None):
        """Labels of the rows for centres C by eq. (1), written to `into`.

        `visit(cut, labels, rows)` is called after each tile with its labels and its
        rows as they were compared, before the labels are written.
        """
        V = C - m
        is_far = float(m @ m) > FAR * float(np.mean(np.sum(V * V, axis=1)))
        bias = np.sum(V * V, axis=1) + (0.0 if is_far else 2.0 * (V @ m))
        bias = arrays.asarray(bias, like=self.X)[:, None]
        slope = arrays.asarray(-2.0 * V, like=self.X)
        origin = arrays.asarray(m, like=self.X) if is_far else None
        xp = arrays.namespace(self.X)
        for cut in self.tiles():
            rows = self.X[cut] if origin is None else self.X[cut] - origin
            count = cut.stop - cut.start
            distances = self.buffer[: len(C) * count].view(len(C), count)
            xp.addmm(bias, slope, rows.mT, out=distances)
            labels = distances.argmin(0)
            if visit is not None:
                visit(cut, labels, rows)
            into[cut] = labels
        return is_far


class TensorAssignment:
    """Assigns the rows of a torch tensor; see `lloyd_iteration.py` for the methods."""

    def __init__(self, X, w, k):
        xp = arrays.namespace(X)
        self.X = X
        self.w = None if bool((w == 1).all()) else w  # None: every weight is 1
        self.k = k
        self.rows = TensorTiles(X, k)
        self.labels = X.new_full((X.shape[0],), -1, dtype=xp.int32)
        self.spare = xp.empty_like(self.labels)  # the labels of the next iteration
        self.origin = None  # what `square` belongs to
        self.square = 0.0  # sum w |x - m|^2

    def assign(self, C, previous, m):
        """Labels for centres C, and the sums of eq. (2) relative to m."""
        from .lloyd_iteration import ClusterSums

        xp = arrays.namespace(self.X)
        k, d = C.shape
        S = self.X.new_zeros((k, d), dtype=xp.float64)
        mass = self.X.new_zeros(k, dtype=xp.float64)

        def add_tile(cut, labels, rows):
            if self.w is not None:
                w = self.w[cut]
                rows = rows * w[:, None]
                mass.index_add_(0, labels, w.to(xp.float64))
            S.add_(self.X.new_zeros((k, d)).index_add_(0, labels, rows))

        labels = self.spare
        is_far = self.rows.nearest(C, m, labels, add_tile)
        n_moved = (labels != self.labels).sum()
        self.labels, self.spare = labels, self.labels
        kept = labels if self.w is None else labels.masked_fill(self.w <= 0, -1)
        count = xp.histc(kept.to(xp.float32), bins=k, min=0, max=k)
        mass = count if self.w is None else mass
        S, M, N, moved = arrays.to_host(S, mass, count, n_moved)
        S = S if is_far else S - M[:, None] * m
        Q = np.full(k, self.total_square(m) / k)  # only their sum is used
        sums = ClusterSums(S, M, Q, N.astype(np.int64), int(moved))
        return self.labels, sums

    def total_square(self, m):
        """sum_i w_i |x_i - m|^2, kept from one iteration to the next."""
        if self.origin is None or not np.array_equal(self.origin, m):
            xp = arrays.namespace(self.X)
            origin = arrays.asarray(m, like=self.X)
            total = self.X.new_zeros((), dtype=xp.float64)
            for cut in self.rows.tiles():
                squares = (self.X[cut] - origin).square_().sum(1)
                squares = squares if self.w is None else squares * self.w[cut]
                total = total + squares.sum(dtype=xp.float64)
            self.origin = m
            self.square = float(total)
        return self.square

    def squared_distances(self, C):
        """|x_i - c_{z_i}|^2 for each row, from differences."""
        c = arrays.asarray(C, like=self.X)
        out = self.X.new_empty(self.X.shape[0])
        for cut in self.rows.tiles():
            gap = c.index_select(0, self.labels[cut]).sub_(self.X[cut])
            out[cut] = gap.square_().sum(1)
        return out

    def costs(self, C, m):
        """J of eq. (1) of `kmeans.py` at the labels kept, for each cluster."""
        xp = arrays.namespace(self.X)
        far = self.squared_distances(C)
        far = far if self.w is None else far * self.w
        total = self.X.new_zeros(len(C), dtype=xp.float64)
        total.index_add_(0, self.labels, far.to(xp.float64))
        return arrays.to_numpy(total)

    def farthest(self, C, m, placed):
        """The row farthest from its centre and from the rows `placed`.

        Returns the squared distance and the row.
        """
        far = self.squared_distances(C)
        for c in placed:
            c = arrays.asarray(c, like=self.X)
            for cut in self.rows.tiles():
                near = (self.X[cut] - c).square_().sum(1)
                far[cut] = far[cut].minimum(near)
        if self.w is not None:
            far = far.masked_fill(self.w <= 0, -1.0)
        i = int(far.argmax())
        return float(far[i]), arrays.to_numpy(self.X[i]).astype(np.float64)


def nearest_tensor_centers(X, C, m):
    """The label of each row of a torch tensor."""
    labels = X.new_empty(X.shape[0], dtype=arrays.namespace(X).int32)
    TensorTiles(X, len(C)).nearest(C, m, labels)
    return labels
