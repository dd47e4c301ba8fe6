"""Initial centres of k-means and its relatives, and the checks of their input.

With D_i the distance from row i to the nearest seed so far, k-means++ makes row i the
next seed with probability

    P(i) = w_i D_i^2 / sum_l w_l D_l^2                                          (1)

The expected J of its seeds is at most 8 (ln k + 2) times the optimum. The greedy form
draws 2 + ln k candidates from (1) and keeps the one that lowers J most. "random" draws
each next seed from w among the rows that differ from all seeds so far. "farthest" takes
the row of largest D_i, so the first draw decides all; outliers come first.

A row of weight 3 must count as three rows, down to the very seeds chosen, and the order
of the rows must not matter. So a draw is a point u in [0, 1) looked up in the running
sum of w_i D_i^2 *along a random direction a*: rows are ordered by a.x_i, which puts
equal rows side by side wherever they stand in X. Repeating or weighting a row stretches
its own part of the sum and nothing else. Cost: one product and one sort.

A table on disk is not read k times. Its rows are thinned first: one pass hashes a.x_i,
the rows with the smallest hashes stay, equal rows as one with their weights added. All
of them stay if they are few, and then the seeds are those of the same rows in memory.

Where there are only distances between rows (a distance matrix or a kernel), (1) needs
one column of distances for each candidate: `plusplus_from_distances`.

Time O(n k d log k) at worst; the triangle inequality spares most distances when rows
are in clusters. Memory O(n); O(n log k) from distances.

Shapes    X (n, d)   w (n,)   D2 (n,)   V (t, d) candidates
Refs      [Arthur2007] k-means++ and the greedy form; [Elkan2003] the inequality;
          [Gonzalez1985] farthest first
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ...core.arrays import arrays, rows
from ...core.arrays.overflow import refuse_overflowing_squares
from ...core.random import draw_seed
from ...distances.pairwise_metrics import unit_length_rows
from ...typing import NumericArray
from . import _kmeans as loops

SAMPLE_BYTES = 1 << 24  # of a table on disk, for its seeds
ROW_CHECKS = {"accept_sparse": "csr", "order": "C", "accept_large_sparse": False}

Init = Literal["k-means++", "random", "farthest"] | Callable[..., Any] | NumericArray


def weights_like(X, w):
    """Row weights in the library of X; ones for None."""
    if w is not None:
        return w
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        return xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))
    return np.ones(X.shape[0], X.dtype)


def check_enough_rows(X, k):
    """Refuse more clusters than rows."""
    if X.shape[0] < k:
        raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={k}.")


def warn_empty_clusters(n_filled, k):
    """Warn of empty clusters; called by `fit`, whose caller the warning points at."""
    if n_filled < k:
        warnings.warn(
            f"Number of distinct clusters ({n_filled}) found smaller than n_clusters "
            f"({k}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=3,
        )


LARGEST = 1e150  # its square, times a number of columns, is still a float64


def check_scale(model, X, small=True):
    """Refuse NumPy rows whose squared distances are too large, or `small`, to hold.

    Small enough, that is, for the square of a gap of sqrt(eps) times the widest still
    to be a normal number. NaN is ignored; rows that are all the same are fine if they
    can be squared.
    """
    low = np.fmin.reduce(X, axis=0)
    high = np.fmax.reduce(X, axis=0)
    info = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        gap = np.fmax.reduce(high.astype(np.float64) - low, initial=0.0)
        square = gap * gap * X.shape[1]
        top = np.fmax(np.abs(low), np.abs(high)).astype(np.float64).max(initial=0.0)
    if not square <= info.max or top > LARGEST:
        refuse_overflowing_squares(model, X, margin=np.inf)
    if small and gap > 0 and square < info.smallest_normal / info.eps:
        raise ValueError("the rows of X differ by too little to square: scale X.")


def directions_of_rows(X):
    """Rows scaled to length 1, which leaves their directions."""
    if isinstance(X, rows.DatasetRows):
        raise ValueError(
            "metric='cosine' needs the rows in memory: scale those of a table to "
            "length 1 first and use metric='euclidean'."
        )
    return unit_length_rows(X)


def is_random_init(init) -> bool:
    """Whether starts differ from one another."""
    return callable(init) or isinstance(init, str)


def number_of_starts(init, n_init) -> int:
    """Number of starts; warns if the parameters disagree about it."""
    if n_init == "auto":
        return 10 if is_random_init(init) and init != "k-means++" else 1
    if not is_random_init(init) and n_init != 1:
        warnings.warn(
            "Explicit initial center position passed: performing only one init instead "
            f"of n_init={n_init}.",
            RuntimeWarning,
            stacklevel=4,
        )
        return 1
    return n_init


def initial_centers(X, w, k, rng, init, key=None):
    """k centres to start from, float64 on the host, whatever `init` is.

    `key` is that of `sample_initial_centers`.
    """
    C: Any = init
    if isinstance(init, str):
        C, _ = sample_initial_centers(X, w, k, rng, method=init, key=key)
    elif callable(init):
        C = init(X, k, random_state=np.random.RandomState(draw_seed(rng)))
    C = C.toarray() if sparse.issparse(C) else C
    C = np.array(arrays.to_numpy(C), dtype=np.float64)
    d = X.shape[1]
    if C.shape != (k, d):
        short = "clusters" if C.shape[0] != k else "features of the data"
        raise ValueError(
            f"The shape of the initial centers {C.shape} does not match the number of "
            f"{short}: {k} clusters of rows with {d} columns need {(k, d)}."
        )
    if not arrays.all_finite(C):
        raise ValueError("The initial centers contain NaN or infinity.")
    return C


def seeds_or_given(init, X, w, k, rng):
    """k centres in the dtype of X: drawn by the method `init`, or `init` itself."""
    if isinstance(init, str):
        return sample_initial_centers(X, w, k, rng, method=init)[0]
    C = np.asarray(init, dtype=X.dtype)
    d = X.shape[1]
    if C.shape != (k, d) or not np.isfinite(C).all():
        raise ValueError(
            f"init must be {k} rows of {d} finite numbers, got shape {C.shape}."
        )
    return C


def sample_initial_centers(
    X, w, k, rng, *, method="k-means++", n_candidates=None, key=None
):
    """k rows of X as seeds, eq. (1), and their row numbers, from any kind of rows.

    `method` is "k-means++", "random" or "farthest"; `n_candidates` those of each greedy
    draw, None for 2 + ln k. `key` is what `projection_keys` gave for the rows; None
    computes it.
    """
    if key is None:
        block = rows_per_block(X.shape[1], n=X.shape[0])
        key = projection_keys(rows.as_rows(X, block=block), rng)
    if isinstance(X, rows.DatasetRows):
        where, weight = thinned_sample(X, w, k, key)
        sample = X.take(where)
        index = sample_center_rows(
            sample, weight, k, rng, key[where], method=method, n_candidates=n_candidates
        )
        return sample[index], where[index]
    index = sample_center_rows(
        X, w, k, rng, key, method=method, n_candidates=n_candidates
    )
    C = rows.Rows(X).take(index)
    return (C.toarray() if sparse.issparse(C) else C), index


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


def thinned_sample(X, w, k, key):
    """Distinct rows of a table, at most SAMPLE_BYTES: their numbers and weights."""
    most = max(SAMPLE_BYTES // (8 * X.d), 32 * k)
    # The low bits of a.x_i hold rounding; the rest is mixed by an odd multiplier.
    bits = (key + 0.0).view(np.uint64) >> np.uint64(12)
    mixed = bits * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed[w == 0] = np.iinfo(np.uint64).max
    _, first, group = np.unique(mixed, return_index=True, return_inverse=True)
    weight = np.bincount(group, weights=w)
    return first[:most], weight[:most]


def sample_center_rows(X, w, k, rng, key, *, method="k-means++", n_candidates=None):
    """Row numbers of k seeds in an array, a tensor or a CSR matrix."""
    seeding = (CompiledSeeding if arrays.is_numpy(X) else ArraySeeding)(X, w, key)
    trials = 1
    if method == "k-means++":
        trials = n_candidates or 2 + int(math.log(k))
    chosen = []
    for j in range(k):
        u = rng.random(trials if j else 1)
        mass = w
        if j:
            distant = seeding.D2
            if method == "random":
                distant = arrays.namespace(w).astype(seeding.D2 > 0, w.dtype)
            mass = w * distant  # eq. (1)
        if j and method == "farthest":
            u = 0 * u
            mass = farthest_mass(seeding.D2, w)
        index, total = seeding.draw(u, mass)
        if not total > 0:  # fewer than k distinct rows: some seeds coincide
            index, _ = seeding.draw(u[:1], w)
        best = 0
        if len(index) > 1:
            best = int(np.argmin(seeding.costs(seeding.take(index))))
        seeding.accept(seeding.take(index[best : best + 1])[0, ...])
        chosen.append(int(index[best]))
    return np.asarray(chosen)


def farthest_mass(D2, w):
    """Mass 1 for the rows of positive weight that are farthest from all seeds."""
    xp = arrays.namespace(D2)
    D = xp.where(w > 0, D2, xp.zeros_like(D2))
    top = xp.max(D)
    return xp.where((top <= D) & (D > 0), xp.ones_like(D), xp.zeros_like(D))


class CompiledSeeding:
    """Distances from NumPy rows to the nearest seed so far, with compiled loops."""

    def __init__(self, X, w, key):
        n, d = X.shape
        self.D2 = np.full(n, np.inf, X.dtype)
        self.nearest = np.zeros(n, np.int32)  # the nearest seed
        rising = len(key) < 2 or bool(np.all(key[1:] >= key[:-1]))
        self.order = np.arange(n) if rising else np.argsort(key)
        block = rows_per_block(d, n=n)
        self.rows = rows.Rows(X, w, self.D2, self.nearest, block=block)
        self.seeds = np.empty((0, d), X.dtype)

    def seed_gaps(self, V):
        """|v - c|^2 from the rows of V to all seeds."""
        return np.stack([np.sum((self.seeds - v) ** 2, axis=1) for v in V])

    def draw(self, u, mass):
        """Rows at the fractions u of the total mass, and that total."""
        result = np.empty(len(u), np.int64)
        return result, loops.sample_along_order(self.order, mass, np.sort(u), result)

    def take(self, i):
        """Rows by number."""
        return self.rows.X[i]

    def costs(self, V):
        """J with each of the candidates V as one more centre."""
        gap = self.seed_gaps(V) * (1 - 1e-5)  # rounding must not make a gap too wide

        def stats(X, w, D2, z):
            cost = np.zeros(len(V))
            loops.candidate_costs(X, w, D2, z, V, gap, cost)
            return cost

        return self.rows.sum(stats, blas=False)

    def accept(self, c):
        """Make c the next seed."""
        gap = np.zeros(1, c.dtype)
        if len(self.seeds):
            gap = self.seed_gaps([c])[0] * (1 - 1e-5)
        j = np.int32(len(self.seeds))
        update = lambda X, w, D2, z: loops.update_nearest_seed(X, D2, z, c, j, gap)
        for _ in self.rows.each(update, blas=False):
            pass
        self.seeds = np.vstack([self.seeds, c])


class ArraySeeding:
    """k-means++ for tensors and sparse rows, in array mathematics."""

    def __init__(self, X, w, key):
        xp = self.xp = arrays.namespace(w)
        self.rows = rows.Rows(X, block=array_rows_per_block(X, X.shape[1]))
        self.D2 = xp.full_like(w, xp.inf)
        self.w = w
        self.order = xp.argsort(key)

    def draw(self, u, mass):
        """Rows at the fractions u of the total mass, and that total."""
        xp = self.xp
        run = xp.cumulative_sum(xp.astype(xp.take(mass, self.order), xp.float64))
        total = float(run[-1])
        at = xp.asarray(np.sort(u) * total, dtype=xp.float64, device=arrays.device(run))
        at = xp.searchsorted(run, at, side="right")
        last = xp.searchsorted(run, run[-1:], side="left")  # rounding may overshoot
        at = xp.take(self.order, xp.minimum(at, last))
        return arrays.to_numpy(at), total

    def take(self, i):
        """Rows by number, dense."""
        V = self.rows.take(i)
        return V.toarray() if sparse.issparse(V) else V

    def squared_distances(self, V) -> Any:
        """|x_i - V_t|^2 for all rows i, from differences where rows are dense."""
        xp = self.xp

        def block(X):
            if not sparse.issparse(X):
                each = [xp.sum((X - V[t, :]) ** 2, axis=1) for t in range(V.shape[0])]
                return xp.stack(each, axis=1)
            x2 = X.multiply(X).sum(axis=1)
            v2 = (V * V).sum(axis=1)
            D = np.asarray(x2).reshape(-1, 1) - 2 * (X @ V.T) + v2
            tiny = 16 * np.finfo(V.dtype).eps * v2  # what rounding leaves of 0
            return np.where(tiny >= D, 0, D)

        return self.rows.map(block)

    def costs(self, V):
        """J with each of the candidates V as one more centre."""
        xp = self.xp
        least = xp.minimum(self.squared_distances(V), self.D2[:, None])
        return arrays.to_numpy(xp.sum(self.w[:, None] * least, axis=0))

    def accept(self, c):
        """Make c the next seed."""
        D = self.squared_distances(c[None, :])[:, 0]
        self.D2 = self.xp.minimum(self.D2, D)


def plusplus_from_distances(distances_from, w, k, rng, key):
    """Row numbers of k seeds by k-means++ from distances between rows alone.

    `distances_from(i)` are the distances from row i to all rows, which take the place
    of D^2 in eq. (1); `key` orders the rows so that equal ones stand side by side.
    """
    order = np.argsort(key, kind="stable")
    trials = 2 + int(math.log(k))
    w = w.astype(np.float64)
    near = np.full(len(w), np.inf)
    chosen = []
    for j in range(k):
        u = np.sort(rng.random(trials if j else 1))
        result = np.empty(len(u), np.int64)
        if not j or not loops.sample_along_order(order, w * near, u, result) > 0:
            # too few distinct rows: seeds coincide
            loops.sample_along_order(order, w, u[:1], result)
            result = result[:1]
        candidates = [np.minimum(near, distances_from(int(i))) for i in result]
        best = 0
        if len(candidates) > 1:
            best = int(np.argmin([w @ v for v in candidates]))
        near = candidates[best]
        chosen.append(int(result[best]))
    return np.asarray(chosen)


def comparison_nanoseconds(d: int, k: int) -> float:
    """Roughly how long a row of d columns takes to be compared with k centres."""
    if d <= loops.FEW:
        return 3 + k / 4
    if k <= 2:
        return 5 + d / 8
    return 5 + d * (0.4 + k / (45 if loops.uses_matrix_product(k, d) else 40))


def rows_per_block(d: int, k: int = 16, n: int = 1 << 40) -> int:
    """Rows that a task takes: a sixteenth of n, if that is not too few or too many.

    Enough to be worth a task, and to make light of the k d sums that each block has;
    at most 4 MB of them unless those sums ask for more.
    """
    least = max(
        loops.LANES,
        int(2e5 / comparison_nanoseconds(d, k)),
        min(16 * k, (1 << 22) // d),
    )
    return max(least, min(n // 16, (1 << 19) // d)) // loops.LANES * loops.LANES


def array_rows_per_block(X, k: int) -> int:
    """Rows per block for array mathematics: a device wants few and large blocks."""
    n, d = X.shape
    if arrays.is_foreign(X):
        return max(1024, (1 << 24) // (k + d))
    return rows_per_block(d, n=n)
