"""Mini-batch and streaming k-means: centres as running means of their rows.

A batch B of rows is assigned to the nearest centres as in `kmeans.py`, and each centre
moves to the mean of all rows ever assigned to it, without keeping them:

    S_j = sum_{i in B, z_i = j} w_i x_i      M_j = sum_{i in B, z_i = j} w_i
    v_j <- v_j + M_j      c_j <- c_j + (S_j - M_j c_j) / v_j                    (1)

which is a stochastic gradient step on J of k-means with the rate 1 / v_j: large at
first, then ever smaller. Only C and v are kept, O(k d) numbers however long the
stream; `partial_fit` takes the stream one batch at a time.

`fit` draws batches by weight, with replacement, over all rows. Of a table on disk the
next many batches are drawn at once and their rows collected in one pass from end to
end, so that the order of the rows in the file does not matter, and a file gives what
the array it holds gives. `fit` watches the smoothed cost per row of the batches,

    a <- a + (J_B / W_B - a) r,     r = min(1, 2 |B| / (W + 1))                 (2)

It stops when that has not improved for `max_no_improvement` steps, when the squared
shift of the centres falls to tol times the mean variance, or after max_iter passes'
worth of batches. A centre with less than reassignment_ratio of the largest v_j is
moved to a row of the batch, so that none stays empty; this is checked after every 10 k
rows or, while a centre has no row at all, after every batch.

Time O(b k d) a step. Memory O(b d + k d) beyond X, plus the labels if they are
computed; a table on disk needs up to BUFFER_BYTES for drawn rows and is read once
each time that they run out.

Shapes    X (n, d)   C (k, d)   v, M (k,)   S (k, d)
Refs      [Sculley2010] mini-batches; [MacQueen1967] running means
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import arrays, rows
from ...core.arrays.overflow import refuse_overflowing_squares
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import iterate
from ...core.random import make_rng, spawn_rngs
from ...params import Count, Flag, NonNegative, Verbosity
from ...persist.saved_state import NumberArray, saved_state
from ...typing import Seed
from .initialization import (
    ROW_CHECKS,
    Init,
    check_enough_rows,
    initial_centers,
    is_random_init,
    number_of_starts,
    weights_like,
)
from .lloyd_iteration import (
    assignment_for,
    center_distances,
    kmeans_cost,
    labels_and_cost,
    nearest_centers,
    reference_point,
    row_mean_and_variance,
    stored_centers,
)

FIRST_BYTES = 1 << 24  # of the rows that the first pass over a table on disk collects
BUFFER_BYTES = 1 << 27  # the same of a later pass, at most: each takes twice as many


class MiniBatchState(NamedTuple):
    """State carried from one step to the next."""

    centers: np.ndarray  # C
    mass: np.ndarray  # v
    objective: float = np.inf  # a of eq. (2)
    shift: float = np.inf  # squared shift of the centres
    best_objective: float = np.inf  # the lowest a so far
    steps_without_improvement: int = 0  # steps since
    n_steps: int = 0


def minibatch_step(X, w, C, v):
    """Eq. (1): the centres and their masses after a batch; its labels and J."""
    m = reference_point(C, X)
    assignment = assignment_for(X, w, len(C), keep_bounds=False)
    z, sums = assignment.assign(C, None, m)
    M = sums.mass
    v = v + M
    met = M > 0
    new = C.copy()
    step = sums.sums[met] - M[met, None] * (C[met] - m)
    new[met] += step / v[met, None]
    return new, v, z, float(np.sum(assignment.costs(C, m)))


def reassign_centers(X, w, C, v, ratio, rng):
    """Move centres with hardly any rows to rows of the batch."""
    low = np.flatnonzero(v < ratio * v.max())
    w = arrays.to_numpy(w).astype(np.float64)
    able = np.flatnonzero(w > 0)
    low = low[np.argsort(v[low], kind="stable")][: len(able) // 2]
    if len(low) == 0:
        return C, v
    picks = rng.choice(able, len(low), replace=False, p=w[able] / w[able].sum())
    C = C.copy()
    v = v.copy()
    V = rows.Rows(X).take(np.sort(picks))
    V = V.toarray() if hasattr(V, "toarray") else arrays.to_numpy(V)
    C[low] = V
    kept = np.setdiff1d(np.arange(len(v)), low)
    v[low] = v[kept].min() if len(kept) else v.min()
    return C, v


def endless_batches(X, w, size, rng):
    """Endless batches of rows drawn by weight, with replacement, and their weights."""
    run = np.cumsum(arrays.to_numpy(w), dtype=np.float64)
    R = rows.as_rows(X)
    one = weights_like(R.take(np.zeros(size, np.int64)), None)
    n_batches = n_most = 1
    if isinstance(X, rows.DatasetRows):
        n_batches, n_most = batches_of_a_pass(X, size)
    while True:
        drawn = np.searchsorted(run, rng.random(n_batches * size) * run[-1], "right")
        found = R.take(np.minimum(drawn, len(run) - 1))
        for i in range(n_batches):
            yield found[i * size : (i + 1) * size] if n_batches > 1 else found, one
        n_batches = min(2 * n_batches, n_most)


def batches_of_a_pass(X, size):
    """How many batches one pass over a table on disk collects: at first, at most."""
    batch_bytes = size * X.d * X.dtype.itemsize
    return tuple(max(1, k // batch_bytes) for k in (FIRST_BYTES, BUFFER_BYTES))


@saved_state(counts_=NumberArray("clusters"))
@dataclass(eq=False, repr=False)
class MiniBatchKMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-means from small batches of rows, or a stream; the module text has the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k.
    init : "k-means++", "random", "farthest", array of shape (k, d) or function
        As in `KMeans`, applied to `init_size` rows.
    max_iter : int
        Passes' worth of batches at most.
    batch_size : int
        Rows in a batch.
    verbose : int
        1 shows a progress bar and says why the fit ended.
    compute_labels : bool
        Whether `fit` ends with a pass for `labels_` and `inertia_`.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    tol : float
        Stop when the squared shift of the centres is at most this times the mean
        variance of the columns; 0 does not look.
    max_no_improvement : int or None
        Steps without a better smoothed cost, eq. (2), before stopping.
    init_size : int or None
        Rows that starts are made of and compared on; None is three batches.
    n_init : "auto" or int
        Starts, of which the best is gone on with: "auto" is 1 with "k-means++" or an
        array, 3 otherwise.
    reassignment_ratio : float
        Share of the largest mass below which a centre is moved to a row.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
    counts_ : array of shape (k,)
        v, the weight of the rows each centre was given.
    labels_, inertia_ : array of shape (n,), float
        Nearest centres and J, of all rows or of the last batch of `partial_fit`.
    n_steps_, n_iter_ : int
        Batches taken, and passes' worth of them.
    history_ : dict
        "objective" (eq. 2) and "shift", one entry per batch.

    Examples
    --------
    >>> from pansophy.cluster import MiniBatchKMeans
    >>> model = MiniBatchKMeans(2, init=[[0.0], [9.0]])
    >>> for batch in ([[0.0], [8.0]], [[1.0], [9.0]], [[2.0], [10.0]]):
    ...     model = model.partial_fit(batch)
    >>> model.cluster_centers_.ravel().tolist()
    [1.0, 9.0]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Init = "k-means++"
    max_iter: Count = 100
    batch_size: Count = 1024
    verbose: Verbosity = 0
    compute_labels: Flag = True
    random_state: Seed = None
    tol: NonNegative = 0.0
    max_no_improvement: Count | None = 10
    init_size: Count | None = None
    n_init: Literal["auto"] | Count = "auto"
    reassignment_ratio: NonNegative = 0.01

    def fit(self, X, y=None, sample_weight=None):
        """Draw batches until the centres converge.

        Parameters
        ----------
        X : array, CSR matrix, tensor, or path of a Parquet file
            The rows.
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights: how likely a row is drawn.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, **ROW_CHECKS)
        refuse_overflowing_squares(self, X)
        w = weights_like(X, w)
        n = X.shape[0]
        check_enough_rows(X, self.n_clusters)
        rng = make_rng(self.random_state)
        batch_rng, rng = spawn_rngs(rng, 2)
        size = min(self.batch_size, n)
        rate = min(1.0, 2.0 * size / (n + 1))
        limit = self.tol * row_mean_and_variance(X, w)[1] if self.tol else -1.0
        C = self._initial_centers(X, w, rng)
        stream = endless_batches(X, w, size, batch_rng)

        def step(state):
            X, w = next(stream)
            return self._step(state, X, w, rate, rng)

        def change(old, new):
            patience = self.max_no_improvement
            exhausted = (
                patience is not None and new.steps_without_improvement >= patience
            )
            return 0.0 if exhausted or new.shift <= limit else 1.0

        max_steps = max(1, self.max_iter * n // size)
        no_stopping_rule = self.max_no_improvement is None and not self.tol

        def run(task):
            result = iterate(
                step,
                MiniBatchState(C, np.zeros(len(C))),
                max_iter=max_steps,
                tol=0.5,
                change=change,
                watch=("shift",),
                task=task,
            )
            ended_as_planned = no_stopping_rule and result.reason == "max_iter"
            return result._replace(reason="tolerance") if ended_as_planned else result

        def fitted(state):
            centers = stored_centers(state.centers, X)
            return {"cluster_centers_": centers, "counts_": state.mass}

        result = self._run_driver(run, total=max_steps, X=X, snapshot=fitted)
        if self.verbose and result.reason == "tolerance" and not no_stopping_rule:
            small = result.state.shift <= limit
            why = "small centers change" if small else "lack of improvement in inertia"
            print(f"Converged ({why}) at step {result.n_iter}/{max_steps}")
        for name, value in fitted(result.state).items():
            setattr(self, name, value)
        self.n_steps_ = result.n_iter
        self.n_iter_ = -(-result.n_iter * size // n)
        if self.compute_labels:
            self.labels_, self.inertia_ = labels_and_cost(X, w, self._centers())
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Take one more batch of a stream; the first one also gives the start."""
        if not hasattr(self, "cluster_centers_"):
            X, w = self._check_training_data(
                X, sample_weight=sample_weight, **ROW_CHECKS
            )
            w = weights_like(X, w)
            check_enough_rows(X, self.n_clusters)
            C = self._initial_centers(X, w, make_rng(self.random_state))
            v = None
            self.n_steps_ = 0
        else:
            X = self._check_new_data(X, **ROW_CHECKS)
            w = weights_like(X, check_sample_weight(sample_weight, X))
            C = self._centers()
            v = self.counts_
        before = np.zeros(len(C)) if v is None else v
        C, v, self.labels_, self.inertia_ = minibatch_step(X, w, C, before)
        self.n_steps_ += 1
        if self._reassignment_due(before, self.n_steps_, X.shape[0]):
            rng = make_rng(self.random_state)
            C, v = reassign_centers(X, w, C, v, self.reassignment_ratio, rng)
        self.cluster_centers_ = stored_centers(C, X)
        self.counts_ = v
        return self

    def _reassignment_due(self, mass, steps, size):
        """Whether to reassign centres: every 10 k rows, or if one has no row."""
        every = -(-10 * self.n_clusters // size)
        return self.reassignment_ratio > 0 and (steps % every == 0 or mass.min() == 0)

    def _step(self, state, X, w, rate, rng):
        C, v, _, J = minibatch_step(X, w, state.centers, state.mass)
        if self._reassignment_due(state.mass, state.n_steps + 1, X.shape[0]):
            C, v = reassign_centers(X, w, C, v, self.reassignment_ratio, rng)
        a = J / float(arrays.namespace(w).sum(w))
        if np.isfinite(state.objective):
            a = state.objective + (a - state.objective) * rate
        shift = float(np.sum((C - state.centers) ** 2))
        better = a < state.best_objective * (
            1 - 1e-5
        )  # without it, a table read in order would improve for ever
        stale = 0 if better else state.steps_without_improvement + 1
        return MiniBatchState(
            C, v, a, shift, min(a, state.best_objective), stale, state.n_steps + 1
        )

    def _initial_centers(self, X, w, rng):
        """The best of some starts on a sample of the rows."""
        k = self.n_clusters
        n = X.shape[0]
        size = self.init_size or 3 * self.batch_size
        if self.init_size is not None and size < k:
            warnings.warn(
                f"init_size={size} should be larger than n_clusters={k}: it is set to "
                "min(3 * n_clusters, n_samples).",
                RuntimeWarning,
                stacklevel=3,
            )
        size = min(n, max(size, 3 * k))
        n_init = self.n_init
        if n_init == "auto" and is_random_init(self.init):
            n_init = 1 if self.init == "k-means++" else 3
        results: Any = []
        for _ in range(number_of_starts(self.init, n_init)):
            p = arrays.to_numpy(w).astype(np.float64)
            able = np.flatnonzero(p)
            sample = rng.choice(
                able, min(size, len(able)), replace=False, shuffle=False
            )
            V = rows.as_rows(X).take(np.sort(sample)) if size < n else X
            wv = rows.Rows(w[:, None]).take(np.sort(sample))[:, 0] if size < n else w
            C = initial_centers(V, wv, k, rng, self.init)
            results.append((kmeans_cost(V, wv, C), len(results), C))
        return min(results, key=lambda f: f[:2])[2]

    def predict(self, X):
        """The nearest centre of each row."""
        return nearest_centers(self._check_new_data(X, **ROW_CHECKS), self._centers())

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def transform(self, X):
        """The distance from each row to each centre."""
        return center_distances(self._check_new_data(X, **ROW_CHECKS), self._centers())

    def fit_transform(self, X, y=None, sample_weight=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus J of k-means, each row at its nearest centre."""
        X = self._check_new_data(X, **ROW_CHECKS)
        return -kmeans_cost(
            X, weights_like(X, check_sample_weight(sample_weight, X)), self._centers()
        )

    def _centers(self):
        check_is_fitted(self, "cluster_centers_")
        return arrays.to_numpy(self.cluster_centers_).astype(np.float64)

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
