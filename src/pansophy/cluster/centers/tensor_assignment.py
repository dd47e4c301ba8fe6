"""Assignments of k-means for torch tensors: tiles of rows on their device.

Letters and equations are those of `kmeans.py`. With c_j taken relative to a point m,
the nearest centre of a row is that of least

    |c_j|^2 + 2 m.c_j - 2 x_i.c_j                                                (1)

a product of the rows as they are with a small matrix. Where m is so far from the
centres that (1) would lose digits, a tile of rows is moved by m first. The sums of a
cluster are a product too: with H the one-hot matrix of the labels times the weights,

    S = H^T X,    M = H^T 1                                                      (2)

A tile of distances is overwritten by its part of H, so that beyond X there are the
labels and one tile, of at most a quarter of X where X is large. All of an iteration is
computed without waiting for the device; its sums come to the host in one transfer, k d
numbers. The order of the sums depends on the shapes alone.
"""

import numpy as np

from ...core.arrays import arrays
from ...core.linalg.tall_products import tall_product

TILE_ENTRIES = 1 << 24  # of a tile of distances at most
LEAST_ENTRIES = 1 << 20  # of a tile, where X is small
FAR = 16.0  # |m|^2 over the mean |c - m|^2 above which rows are moved by m


class TensorRows:
    """Rows of a tensor, tile by tile, with their distances to k centres."""

    def __init__(self, X, k):
        n, d = X.shape
        entries = min(TILE_ENTRIES, max(LEAST_ENTRIES, n * d // 4))
        self.X = X
        self.n_rows = max(1, min(n, entries // k))
        self.buffer = X.new_empty((self.n_rows, k))

    def tiles(self):
        """The slices of rows that make up the tiles."""
        n = self.X.shape[0]
        return [slice(i, min(i + self.n_rows, n)) for i in range(0, n, self.n_rows)]

    def nearest(self, C, m, into, visit=None):
        """Labels of the rows for centres C by eq. (1), written to `into`.

        `visit(cut, labels, hot, moved)` is called after each tile with its labels, a
        buffer (rows, k) to overwrite, and its rows as they were compared.
        """
        V = C - m
        is_far = float(m @ m) > FAR * float(np.mean(np.sum(V * V, axis=1)))
        bias = np.sum(V * V, axis=1) + (0.0 if is_far else 2.0 * (V @ m))
        bias = arrays.asarray(bias, like=self.X)
        slope = arrays.asarray(-2.0 * V.T, like=self.X)
        origin = arrays.asarray(m, like=self.X) if is_far else None
        xp = arrays.namespace(self.X)
        for cut in self.tiles():
            rows = self.X[cut] if origin is None else self.X[cut] - origin
            distances = self.buffer[: cut.stop - cut.start]
            xp.addmm(bias, rows, slope, out=distances)
            labels = distances.argmin(1)
            if visit is not None:
                visit(cut, labels, distances, rows)
            into[cut] = labels
        return is_far


def one_hot(labels, values, buffer):
    """The buffer with `values` (numbers or a vector) in the column of each label."""
    buffer.zero_()
    if isinstance(values, float):
        return buffer.scatter_(1, labels[:, None], values)
    return buffer.scatter_(1, labels[:, None], values[:, None])


class TensorAssignment:
    """Assigns the rows of a torch tensor; see `lloyd_iteration.py` for the methods."""

    def __init__(self, X, w, k):
        xp = arrays.namespace(X)
        self.X = X
        self.w = None if bool((w == 1).all()) else w  # None: every weight is 1
        self.k = k
        self.rows = TensorRows(X, k)
        self.labels = X.new_full((X.shape[0],), -1, dtype=xp.int32)
        self.origin = None  # what `square` belongs to
        self.square = 0.0  # sum w |x - m|^2

    def assign(self, C, previous, m):
        """Labels for centres C, and the sums of eq. (2) relative to m."""
        from .lloyd_iteration import ClusterSums

        xp = arrays.namespace(self.X)
        k, d = C.shape
        S = self.X.new_zeros((k, d), dtype=xp.float64)
        mass = self.X.new_zeros(k, dtype=xp.float64)
        count = mass if self.w is None else self.X.new_zeros(k, dtype=xp.float64)
        n_moved = self.X.new_zeros((), dtype=xp.int64)

        def add_tile(cut, labels, buffer, rows):
            n_moved.add_((self.labels[cut] != labels).sum())
            hot = one_hot(labels, 1.0 if self.w is None else self.w[cut], buffer)
            S.add_(tall_product(hot, rows))
            mass.add_(hot.sum(0, dtype=xp.float64))
            if self.w is not None:
                count.add_((hot > 0).sum(0))

        is_far = self.rows.nearest(C, m, self.labels, add_tile)
        parts = [S.flatten(), mass, count, n_moved[None].to(xp.float64)]
        host = arrays.to_numpy(xp.concat(parts))
        S = host[: k * d].reshape(k, d)
        M, N = host[k * d : -1].reshape(2, k)
        S = S if is_far else S - M[:, None] * m
        Q = np.full(k, self.total_square(m) / k)  # only their sum is used
        sums = ClusterSums(S, M, Q, np.rint(N).astype(np.int64), int(host[-1]))
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
        for cut in self.rows.tiles():
            buffer = self.rows.buffer[: cut.stop - cut.start]
            labels = self.labels[cut].to(xp.int64)
            total += one_hot(labels, far[cut], buffer).sum(0, dtype=xp.float64)
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
    TensorRows(X, len(C)).nearest(C, m, labels)
    return labels
