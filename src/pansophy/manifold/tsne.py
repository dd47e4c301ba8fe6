"""t-SNE: an embedding of rows in few dimensions that keeps neighbours together.

Rows get affinities P (`tsne_affinities.py`): p_ij is large for rows that are near in X.
Points y_i of the map get q_ij likewise, from Student's kernel, whose heavy tails let
distant points lie farther apart. The map minimises

    KL(P | Q) = sum_ij p_ij log(p_ij / q_ij)                                        (1)

by descent (`tsne_descent.py`): a pull along the few p_ij that are not 0, a push between
all pairs (`tsne_repulsion.py`). The objective has many minima; the start decides where
the large pieces go, and principal axes are a good one.

`method="auto"` takes for the push whatever is least work for the points as they lie:
direct sums, exact up to rounding, for few points, Fourier transforms on a grid for many
in one or two dimensions, a tree for many in three. Where scikit-learn keeps one rate
of learning, "auto" here follows the exaggeration, n / 4 over it in each phase, which
reaches a lower KL in the same number of steps.

New rows can be placed on a map whose points stay where they are. A new row has
affinities p_j to its nearest rows of the data, and a point z has q_j to the points y_j
of the map:

    KL(z) = sum_j p_j log(p_j / q_j),   q_j = w_j(z) / sum_l w_l(z)                 (2)

Each row is placed on its own, so the result does not depend on the other new rows.
There may be several minima: z starts at the neighbour's point from which sum_j p_j
log(1 + |z - y_j|^2 / a) is least, and moves against the gradient, as far as would be
right if the attraction were a spring and the repulsion constant, half of that as often
as needed for KL to fall.

Cost      of a step O(n perplexity) for the pull; for the push O(n^2), O(n log n) or
          O(n + g log g) with g nodes of the grid. Memory O(n perplexity + g), or O(n^2)
          for method="exact".
Shapes    X (n, d)   Y (n, m)   P (n, n)
Refs      [vanDerMaaten2008]; [vanDerMaaten2014]; [Linderman2019]; [Belkina2019];
          [Kobak2019] starting from principal axes; [Policar2023] new rows
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays import arrays
from ..core.linalg.truncated_svd import truncated_svd
from ..core.loops import threads
from ..core.random import make_rng
from ..distances import squared_euclidean
from ..distances.neighbor_search import k_smallest_columns
from ..params import (
    AtLeastOne,
    Count,
    Fraction,
    Jobs,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
    count_rule,
)
from ..persist.saved_state import NumberArray, saved_state
from ..typing import Matrix, Seed
from . import _tsne_placement, tsne_repulsion
from .any_metric_neighbors import (
    NeighborSearch,
    neighbors_of_queries,
    neighbors_of_rows,
    upcast_if_squares_overflow,
)
from .tsne_affinities import (
    conditional_affinities,
    joint_affinities_dense,
    joint_affinities_sparse,
)
from .tsne_descent import (
    DescentPlan,
    array_steps,
    compiled_steps,
    phase_schedule,
    run_descent,
)

SMALL = 200  # points up to which there is nothing to gain from a grid
PLACEMENT_STEPS = 100  # most steps of a new row
PLACEMENT_TOL = 1e-3  # a move of a new row that counts as none
FEW = 2500  # points up to which direct sums are taken in three dimensions and more

NEGATIVE_DISTANCE = "All distances should be positive, or the metric given is not one."

SCALE_FREE_METRICS = ("euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev")
SCALE_FREE_METRICS += ("minkowski", "cosine", "precomputed")

Steps = Annotated[int, count_rule(250)]
Patience = Annotated[int, count_rule(-1)]


def _pca_start(X, m, rng, scale=1e-4):
    """Rows on their principal axes, the first with standard deviation `scale`.

    Axes that X does not have are drawn, so that points can part in every direction.
    """
    n, d = (int(s) for s in X.shape)
    xp = arrays.namespace(X) if not sparse.issparse(X) else np
    Y = scale * rng.standard_normal((n, m))
    k = min(m, n, d)
    mean = np.asarray(X.mean(axis=0)).ravel() if sparse.issparse(X) else None
    U, S, _ = truncated_svd(
        X, k, rng, center=xp.mean(X, axis=0) if mean is None else mean
    )
    axes = arrays.to_numpy(U * S[None, :])
    if axes[:, 0].std() > 0:
        Y[:, :k] = axes / axes[:, 0].std() * scale
    return Y


def _choose_repulsion(method, m, a, angle):
    """The push to use: a function of Y (m, n)."""
    workers = max(1, threads.usable_threads() // 2)
    if method == "exact" or (method == "auto" and m > 3):
        return partial(tsne_repulsion.direct_repulsion, a=a)
    if method == "barnes_hut" or (method == "auto" and m == 3):
        if method == "auto":
            in_few_dimensions = partial(tsne_repulsion.direct_repulsion, a=a)
            in_many_dimensions = partial(
                tsne_repulsion.barnes_hut_repulsion, a=a, angle=angle
            )
            return lambda Y: (
                in_few_dimensions(Y) if Y.shape[1] <= FEW else in_many_dimensions(Y)
            )
        return partial(tsne_repulsion.barnes_hut_repulsion, a=a, angle=angle)
    if method == "fft":  # a grid errs by more than the sum over very few points
        grid = partial(tsne_repulsion.grid_repulsion, workers=workers)
        return lambda Y: (
            tsne_repulsion.direct_repulsion(Y) if Y.shape[1] <= SMALL else grid(Y)
        )
    return partial(tsne_repulsion.cheapest_repulsion, workers=workers)


def place_rows(D, neighbours, Y, a, perplexity):
    """Places (r, m) of rows with squared distances D, and KL but for a constant."""
    P = conditional_affinities(D, perplexity)
    r, m = len(D), len(Y)
    Z, value = np.empty((r, m)), np.empty(r)
    rows = np.ascontiguousarray(neighbours, dtype=np.int64)
    cuts = [(lo, min(lo + 64, r)) for lo in range(0, r, 64)]
    loop = lambda c: _tsne_placement.place_points(
        P, rows, Y, a, *c, PLACEMENT_STEPS, PLACEMENT_TOL, Z, value
    )
    for _ in threads.run_tasks([lambda c=c: loop(c) for c in cuts]):
        pass
    return Z, value


@saved_state(
    _rows=NumberArray("rows", "n_features_in_"),
    embedding_=NumberArray("rows", None, finite=True),
)
@dataclass(eq=False, repr=False)
class TSNE(PrefixedOutput, Transformer, Estimator):
    """t-SNE embedding; the module text gives the method.

    A tensor is embedded on its device, with all pairs (method "auto" or "exact").

    Parameters
    ----------
    n_components : int, default=2
        m, the dimensions of the map.
    perplexity : float, default=30.0
        How many neighbours a row has in effect, below the number of rows.
    early_exaggeration : float, default=12.0
        What P is multiplied with for the first 250 steps.
    learning_rate : "auto" or float, default="auto"
        "auto" is n / 4 over the exaggeration of the phase, at least 4 in the first and
        50 in the second.
    max_iter : int, default=1000
        Steps, at least 250.
    n_iter_without_progress : int, default=300
        Stop after so many steps without a lower KL, looked at every 50 steps.
    min_grad_norm : float, default=1e-7
        Stop when the gradient is this short.
    metric : str or callable, default="euclidean"
        Of the rows: a name that scikit-learn knows, a function of two rows, or
        "precomputed" for a matrix of distances.
    metric_params : dict or None, default=None
        Further arguments of the metric.
    init : "pca", "random" or array of shape (n, m), default="pca"
        Where the points start.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    method : "auto", "barnes_hut", "exact" or "fft", default="auto"
        How the push is computed; the module text says what "auto" takes. "exact"
        also takes all pairs into P. scikit-learn's default is "barnes_hut".
    angle : float, default=0.5
        For the tree: the largest angle under which a cell counts as one point.
    n_jobs : int or None, default=None
        Threads; None for all cores.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        The map.
    kl_divergence_ : float
        Eq. (1) at the end.
    n_iter_ : int
        The number of the last step, from 0, as in scikit-learn.
    learning_rate_ : float
        The rate of the first phase.
    perplexity_ : float
        The perplexity used.
    history_ : dict
        "objective" (KL), "steps" and "norm" (of the gradient), every 50 steps.
    converged_, interrupted_ : bool
        Whether it stopped before max_iter by itself or by hand.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import TSNE, trustworthiness
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) + 20.0 * np.eye(3, 5)[np.arange(60) % 3]
    >>> Y = TSNE(perplexity=10.0, random_state=0).fit_transform(X)
    >>> trustworthiness(X, Y) > 0.8
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    perplexity: Positive = 30.0
    early_exaggeration: AtLeastOne = 12.0
    learning_rate: Literal["auto"] | Positive = "auto"
    max_iter: Steps = 1000
    n_iter_without_progress: Patience = 300
    min_grad_norm: NonNegative = 1e-7
    metric: str | Callable = "euclidean"
    metric_params: dict | None = None
    init: Literal["pca", "random"] | Matrix = "pca"
    verbose: Verbosity = 0
    random_state: Seed = None
    method: Literal["auto", "barnes_hut", "exact", "fft"] = "auto"
    angle: Fraction = 0.5
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Embed the rows.

        Parameters
        ----------
        X : array, CSR matrix or tensor of shape (n, d), or (n, n) distances
        y : None
            Not used.
        """
        X, _ = self._check_training_data(
            X, accept_sparse="csr", ensure_min_samples=2, order="C"
        )
        with threads.limit_threads(self.n_jobs):
            self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the map."""
        return self.fit(X).embedding_

    def _fit(self, X):
        self._check_parameters(X)
        X = upcast_if_squares_overflow(X)
        self._scale = self._safe_scale(X)
        X = X if self._scale == 1 else X * self._scale
        n = int(X.shape[0])
        m = self.n_components
        self.perplexity_ = self._perplexity(n)
        start = self._start(X, n, m)
        a = max(m - 1, 1)
        plan = DescentPlan(
            self.max_iter,
            self.early_exaggeration,
            self.learning_rate,
            self.n_iter_without_progress,
            self.min_grad_norm,
        )
        if arrays.is_foreign(X):
            P = joint_affinities_dense(squared_euclidean(X), self.perplexity_)
            steps = array_steps(P, a, plan)
            Y = arrays.asarray(start, like=X)
        else:
            P = self._affinities(X)
            repel = _choose_repulsion(self.method, m, a, self.angle)
            steps = compiled_steps(P, a, repel, plan)
            Y = np.array(start.T, dtype=P.dtype, order="C")
        rounds = -(-self.max_iter // 50)
        run = self._run_driver(
            lambda task: run_descent(steps, Y, plan, task=task), total=rounds, X=X
        )
        self.n_iter_ = max(run.state.steps - 1, 0)
        Y = run.state.Y
        self.embedding_ = Y if arrays.is_foreign(X) else np.ascontiguousarray(Y.T)
        self.kl_divergence_ = run.objective
        self.learning_rate_ = phase_schedule(0, plan, n)[2]
        self._rows = X if self.metric != "precomputed" else None

    def place(self, X, *, perplexity=5.0):
        """Place new rows on the map, which stays as it is (eq. 2).

        Parameters
        ----------
        X : array, CSR matrix or tensor of shape (r, d), or (r, n) distances
            Each row is placed on its own.
        perplexity : float, default=5.0
            How many rows of the data a new one is near to in effect, at most the
            perplexity of the map.

        Returns
        -------
        places : array of shape (r, m)
        """
        if not perplexity >= 1:
            raise ValueError(f"perplexity must be at least 1, got {perplexity}.")
        X = self._check_new_data(X, accept_sparse="csr", order="C")
        X = X if self._scale == 1 else X * self._scale
        Y = arrays.to_numpy(self.embedding_)
        n, m = Y.shape
        perplexity = min(perplexity, self.perplexity_)
        k = min(n, int(3 * perplexity + 1))
        with threads.limit_threads(self.n_jobs):
            if self.metric == "precomputed":
                if sparse.issparse(X):
                    raise TypeError("distances of new rows must not be sparse.")
                D, near = k_smallest_columns(X, k)
            else:
                rows = self._rows
                if arrays.is_foreign(X):
                    X, rows = arrays.to_numpy(X), arrays.to_numpy(rows)
                D, near = neighbors_of_queries(X, rows, k, self._search())
            if (D < 0).any():
                raise ValueError(NEGATIVE_DISTANCE)
            columns = np.ascontiguousarray(Y.T)
            Z, _ = place_rows(D * D, near, columns, max(m - 1, 1), perplexity)
        if arrays.is_foreign(self.embedding_):
            return arrays.asarray(Z, like=self.embedding_)
        return Z.astype(Y.dtype)

    def _affinities(self, X):
        """P for arrays: over all pairs for method="exact", else over neighbours."""
        if self.method == "exact":
            params = self.metric_params or {}
            if self.metric == "euclidean" and not sparse.issparse(X):
                return joint_affinities_dense(squared_euclidean(X), self.perplexity_)
            D = X
            if self.metric != "precomputed":
                D = pairwise_distances(X, metric=self.metric, **params)
            if (D < 0).any():
                raise ValueError(NEGATIVE_DISTANCE)
            return joint_affinities_dense(np.asarray(D) ** 2, self.perplexity_)
        k = min(X.shape[0] - 1, int(3 * self.perplexity_ + 1))
        D, rows = neighbors_of_rows(X, k, self._search())
        return joint_affinities_sparse(D * D, rows, self.perplexity_)

    def _search(self):
        return NeighborSearch(self.metric, 2.0, self.metric_params, self.n_jobs)

    def _start(self, X, n, m):
        rng = make_rng(self.random_state)
        if not isinstance(self.init, str):
            Y = arrays.to_numpy(self.init).astype(np.float64)
            if Y.shape != (n, m):
                raise ValueError(
                    f"init has shape {Y.shape}, but {n} rows in {m} dimensions need "
                    f"{(n, m)}."
                )
            if not np.isfinite(Y).all():
                raise ValueError("init contains NaN or infinity.")
            return Y
        if self.init == "random":
            return 1e-4 * rng.standard_normal((n, m))
        return _pca_start(X, m, rng)

    def _safe_scale(self, X):
        """1, or a power of 2 that brings X where squares neither over- nor underflow.

        Affinities do not depend on the scale of the distances, nor do distances by a
        norm change their order with it.
        """
        if arrays.is_foreign(X) or self.metric not in SCALE_FREE_METRICS:
            return 1.0
        values = X.data if sparse.issparse(X) else X
        top = float(np.max(np.abs(values), initial=0.0))
        if top == 0 or 1e-100 < top < 1e100:
            return 1.0
        return 2.0 ** -round(np.log2(top))

    def _perplexity(self, n):
        if self.perplexity < n:
            return self.perplexity
        raise ParameterError(
            f"perplexity ({self.perplexity}) must be less than n_samples ({n})"
        )

    def _check_parameters(self, X):
        """Refuse what does not go together."""
        if self.method == "fft" and self.n_components > 2:
            raise ValueError("method='fft' embeds in one or two dimensions.")
        if self.method == "barnes_hut" and self.n_components > 3:
            raise ValueError(
                "'n_components' should be at most 3 for method='barnes_hut', got "
                f"{self.n_components}."
            )
        if arrays.is_foreign(X):
            if self.method not in ("auto", "exact") or self.metric != "euclidean":
                raise ValueError(
                    "a tensor is embedded with method 'auto' or 'exact' and the "
                    "euclidean metric only."
                )
        elif self.metric == "precomputed":
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError(
                    'The parameter init="pca" cannot be used with metric="precomputed".'
                )
            if X.shape[0] != X.shape[1]:
                raise ValueError("X should be a square distance matrix")
            if X.min() < 0:
                raise ValueError(NEGATIVE_DISTANCE)
            if self.method == "exact" and sparse.issparse(X):
                raise TypeError("method='exact' takes no sparse matrix of distances.")

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
