"""Seeds for k-means: k rows of X, far from one another, chosen by lot.

With D_i the distance from row i to the nearest seed so far, the next one is row i
with probability

    P(i) = w_i D_i^2 / sum_l w_l D_l^2                                          (1)

k-means++; the expected J of its seeds is at most 8 (ln k + 2) times the optimum. The
greedy form draws 2 + ln k candidates from (1) and takes the one that lowers J most.
"random" draws each next seed from w among the rows that differ from all seeds so far.
"farthest" takes the row of largest D_i, so one draw decides all; outliers come first.

A row of weight 3 must count as three rows, down to the very seeds chosen, and the
order of the rows must not matter. So a draw is a point u in [0, 1) looked up in the
running sum of w_i D_i^2 *along a random direction a*: rows are ranked by a.x_i, which
puts equal rows side by side wherever they stand in X. Repeating or weighting a row
stretches its own stretch of the sum and nothing else. Cost: one product and one sort.

A table on disk is not read k times. Its rows are thinned first: one pass hashes a.x_i,
the rows with the smallest hashes stay, equal rows as one with their weights added. All
of them stay if they are few, and then the seeds are those of the same rows in memory.

Time O(n k d log k) at worst; the triangle inequality spares most distances when rows
are in clusters. Memory O(n).

Shapes    X (n, d)   w (n,)   D2 (n,)   V (t, d) candidates
Refs      [Arthur2007] k-means++ and the greedy form; [Elkan2003] the inequality;
          [Gonzalez1985] farthest first
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from ..core import arrays, rows
from ..core.random import rng_from
from ..params import ParameterError
from . import _kmeans as loops
from ._tiles import FEW, LANES, uses_matrix_product

SAMPLE_BYTES = 1 << 24  # of a table on disk, for its seeds


def comparison_nanoseconds(d: int, k: int) -> float:
    """Nanoseconds, roughly, that a row takes to be compared with k centres."""
    if d <= FEW:
        return 3 + k / 4
    if k <= 2:
        return 5 + d / 8
    return 5 + d * (0.4 + k / (45 if uses_matrix_product(k, d) else 40))


def rows_per_block(d: int, k: int = 16, n: int = 1 << 40) -> int:
    """Rows in a block of ours: a sixteenth of n, if that is not too few or too many.

    Enough to be worth a task, and to make light of the k d sums that each block has;
    at most 4 MB of them unless those sums ask for more.
    """
    least = max(LANES, int(2e5 / comparison_nanoseconds(d, k)), min(16 * k, (1 << 22) // d))
    return max(least, min(n // 16, (1 << 19) // d)) // LANES * LANES


def array_rows_per_block(X, k: int) -> int:
    """The same for array mathematics: a device wants few and large blocks."""
    n, d = X.shape
    if arrays.is_foreign(X):
        return max(1024, (1 << 24) // (k + d))
    return rows_per_block(d, n=n)


def projection_keys(R, rng):
    """a.x_i for each row, with a random direction a; equal rows get equal numbers."""
    a = rng.standard_normal(R.d)

    def project(X, *_):
        if sparse.issparse(X) or not arrays.is_foreign(X):
            return X @ a
        xp = arrays.namespace(X)
        b = xp.asarray(a, dtype=xp.float64, device=arrays.device(X))
        return xp.astype(X, xp.float64) @ b

    return R.map(project)


class CompiledSeeding:
    """How well NumPy rows are covered by the seeds so far, with compiled loops."""

    def __init__(self, X, w, key):
        n, d = X.shape
        self.D2 = np.full(n, np.inf, X.dtype)
        self.z = np.zeros(n, np.int32)  # the nearest seed
        rising = len(key) < 2 or bool(np.all(key[1:] >= key[:-1]))
        self.w, self.order = w, np.arange(n) if rising else np.argsort(key)
        self.R = rows.Rows(X, w, self.D2, self.z, block=rows_per_block(d, n=n))
        self.V = np.empty((0, d), X.dtype)

    def gaps(self, V):
        return np.stack([np.sum((self.V - v) ** 2, axis=1) for v in V])

    def draw(self, u, mass):
        found = np.empty(len(u), np.int64)
        return found, loops.sample_along_order(self.order, mass, np.sort(u), found)

    def take(self, i):
        return self.R.X[i]

    def costs(self, V):
        """J with each of the candidates V as one more centre."""
        gap = self.gaps(V) * (1 - 1e-5)  # rounding must not make a gap too wide

        def stats(X, w, D2, z):
            cost = np.zeros(len(V))
            loops.candidate_costs(X, w, D2, z, V, gap, cost)
            return cost

        return self.R.sum(stats, blas=False)

    def accept(self, c):
        gap = self.gaps([c])[0] * (1 - 1e-5) if len(self.V) else np.zeros(1, c.dtype)
        j = np.int32(len(self.V))
        step = lambda X, w, D2, z: loops.update_nearest_seed(X, D2, z, c, j, gap)
        for _ in self.R.each(step, blas=False):
            pass
        self.V = np.vstack([self.V, c])


class ArraySeeding:
    """The same for tensors and sparse rows, in array mathematics."""

    def __init__(self, X, w, key):
        xp = self.xp = arrays.namespace(w)
        self.R = rows.Rows(X, block=array_rows_per_block(X, X.shape[1]))
        self.D2 = xp.full_like(w, xp.inf)
        self.w, self.order = w, xp.argsort(key)

    def draw(self, u, mass):
        xp = self.xp
        run = xp.cumulative_sum(xp.astype(xp.take(mass, self.order), xp.float64))
        total = float(run[-1])
        at = xp.asarray(np.sort(u) * total, dtype=xp.float64, device=arrays.device(run))
        at = xp.searchsorted(run, at, side="right")
        last = xp.searchsorted(run, run[-1:], side="left")  # rounding may overshoot
        at = xp.take(self.order, xp.minimum(at, last))
        return arrays.to_numpy(at), total

    def take(self, i):
        V = self.R.take(i)
        return V.toarray() if sparse.issparse(V) else V

    def distances(self, V) -> Any:
        """|x_i - V_t|^2 for all rows i, by differences where rows are dense."""
        xp = self.xp

        def block(X):
            if not sparse.issparse(X):
                each = [xp.sum((X - V[t, :]) ** 2, axis=1) for t in range(V.shape[0])]
                return xp.stack(each, axis=1)
            x2, v2 = X.multiply(X).sum(axis=1), (V * V).sum(axis=1)
            D = np.asarray(x2).reshape(-1, 1) - 2 * (X @ V.T) + v2
            tiny = 16 * np.finfo(V.dtype).eps * v2  # what rounding leaves of 0
            return np.where(tiny >= D, 0, D)

        return self.R.map(block)

    def costs(self, V):
        xp = self.xp
        least = xp.minimum(self.distances(V), self.D2[:, None])
        return arrays.to_numpy(xp.sum(self.w[:, None] * least, axis=0))

    def accept(self, c):
        D = self.distances(c[None, :])[:, 0]
        self.D2 = self.xp.minimum(self.D2, D)


def farthest_mass(D2, w):
    """Mass for the rows of positive weight that are farthest from all seeds."""
    xp = arrays.namespace(D2)
    D = xp.where(w > 0, D2, xp.zeros_like(D2))
    top = xp.max(D)
    return xp.where((top <= D) & (D > 0), xp.ones_like(D), xp.zeros_like(D))


def sample_center_rows(X, w, k, rng, key, *, method="k-means++", trials=None):
    """Positions of k seeds among the rows of an array, a tensor or a CSR matrix."""
    dense = arrays.is_numpy(X)
    cover = (CompiledSeeding if dense else ArraySeeding)(X, w, key)
    far = method != "random"
    trials = (trials or 2 + int(math.log(k))) if method == "k-means++" else 1
    chosen = []
    for j in range(k):
        u = rng.random(trials if j else 1)
        mass = w
        if j:
            mass = w * (cover.D2 if far else (cover.D2 > 0))  # eq. (1)
        if j and method == "farthest":
            u, mass = 0 * u, farthest_mass(cover.D2, w)
        index, total = cover.draw(u, mass)
        if not total > 0:  # fewer than k distinct rows: some seeds coincide
            index, _ = cover.draw(u[:1], w)
        best = 0
        if len(index) > 1:
            best = int(np.argmin(cover.costs(cover.take(index))))
        cover.accept(cover.take(index[best : best + 1])[0, ...])
        chosen.append(int(index[best]))
    return np.asarray(chosen)


def thinned_sample(X, w, k, key):
    """At most a sample's worth of distinct rows of a table: where, and how heavy."""
    most = max(SAMPLE_BYTES // (8 * X.d), 32 * k)
    # The low bits of a.x_i hold rounding; the rest is mixed by an odd multiplier.
    bits = (key + 0.0).view(np.uint64) >> np.uint64(12)
    mixed = bits * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed[w == 0] = np.iinfo(np.uint64).max
    _, first, cell = np.unique(mixed, return_index=True, return_inverse=True)
    weight = np.bincount(cell, weights=w)
    return first[:most], weight[:most]


def sample_initial_centers(X, w, k, rng, *, method="k-means++", trials=None, key=None):
    """k seeds, eq. (1), and their row numbers, from any kind of rows.

    `key` is what `projection_keys` gave for the rows; None works it out.
    """
    if key is None:
        block = rows_per_block(X.shape[1], n=X.shape[0])
        key = projection_keys(rows.rows(X, block=block), rng)
    how = {"method": method, "trials": trials}
    if isinstance(X, rows.DatasetRows):
        where, weight = thinned_sample(X, w, k, key)
        sample = X.take(where)
        index = sample_center_rows(sample, weight, k, rng, key[where], **how)
        return sample[index], where[index]
    index = sample_center_rows(X, w, k, rng, key, **how)
    C = rows.Rows(X).take(index)
    return (C.toarray() if sparse.issparse(C) else C), index


def kmeans_plusplus(
    X, n_clusters, *, sample_weight=None, random_state=None, n_local_trials=None
):
    """Greedy k-means++ seeds of the rows of X.

    Parameters
    ----------
    X : array, CSR matrix, tensor, or path of a Parquet file
        The rows.
    n_clusters : int
        How many seeds.
    sample_weight : array of length n or None
        Row weights.
    random_state : None, int, RandomState or Generator
        Where chance comes from.
    n_local_trials : int or None
        Candidates per seed; None for 2 + ln(n_clusters).

    Returns
    -------
    centers : array of shape (n_clusters, d)
        The seeds.
    indices : array of shape (n_clusters,)
        Their row numbers.

    Examples
    --------
    >>> from pansophy.cluster import kmeans_plusplus
    >>> centers, indices = kmeans_plusplus([[0.0], [0.1], [9.0]], 2, random_state=0)
    >>> sorted(float(c) for c in centers[:, 0].round())
    [0.0, 9.0]
    """
    from .kmeans import KMeans
    from .starts import check_enough_rows

    model = KMeans(n_clusters, random_state=random_state)
    X, w = model._checked(X, sample_weight)
    check_enough_rows(X, n_clusters)
    if n_local_trials is not None and not n_local_trials >= 1:
        raise ParameterError(
            "n_local_trials must be a whole number of at least 1 or None, got "
            f"{n_local_trials!r}."
        )
    return sample_initial_centers(X, w, n_clusters, rng_from(random_state), trials=n_local_trials)
