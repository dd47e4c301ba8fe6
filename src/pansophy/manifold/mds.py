"""Multidimensional scaling (SMACOF): points whose distances fit given ones.

For dissimilarities t_ij minimise the stress

    s(Y) = sum_{i<j} (t_ij - |y_i - y_j|)^2                                         (1)

by SMACOF. |y_i - y_j| is at least (y_i - y_j).(z_i - z_j) / |z_i - z_j|, and equal to
it at Y = Z, so that at the points Z the stress is touched from above by a quadratic,
whose minimum is

    y_i = (1/n) sum_j (t_ij / |z_i - z_j|) (z_i - z_j)                              (2)

and no step can raise the stress. *Nonmetric* scaling asks only for the order of the
t_ij: between steps they are replaced by the monotone regression of the distances on
them, scaled to a fixed size; pairs with t_ij = 0 count as unknown, and what falls is
the stress over the size of the distances (Kruskal's stress-1).

A pass over the pairs gives the stress and the next points at once, without a matrix
of distances.

Cost      O(n^2 m) a step; memory O(n^2), for t
Shapes    t (n, n)   Y (n, m)
Refs      [DeLeeuw1977] SMACOF; [Kruskal1964] nonmetric
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..core.loops import threads
from ..core.random import make_rng
from ..params import Count, Flag, Jobs, NonNegative, Verbosity
from ..typing import Seed
from . import _mds
from .classical_mds import (
    check_n_dimensions,
    dissimilarity_matrix,
    double_centered,
    largest_eigenpairs,
    scaled_eigenvectors,
)
from .tsne_repulsion import point_ranges


class SMACOFState(NamedTuple):
    """State carried from one step to the next."""

    Y: Any  # (m, n)
    next_points: Any  # where the next step goes
    objective: float  # stress, over the size of the distances if nonmetric
    stress: float
    size: float  # sum_{i<j} |y_i - y_j|^2
    targets: Any


class DissimilarityOrder(NamedTuple):
    """The known pairs of nonmetric scaling, by rising dissimilarity."""

    i: np.ndarray
    j: np.ndarray
    tie: np.ndarray  # the number of the run of equal ones each pair is in
    n: int


def _dissimilarity_order(T):
    """The order that nonmetric scaling keeps."""
    i, j = np.triu_indices(len(T), 1)
    t = T[i, j]
    known = t != 0
    i, j, t = i[known], j[known], t[known]
    if len(t) == 0:
        raise ValueError("every dissimilarity is 0: there is no order to keep.")
    order = np.argsort(t, kind="stable")
    tie = np.concatenate([[0], np.cumsum(np.diff(t[order]) > 0)])
    return DissimilarityOrder(i[order], j[order], tie, len(T))


def _monotone_targets(order, values):
    """Targets (n, n): the monotone regression of values, scaled to mean square 1."""
    weight = np.bincount(order.tie).astype(np.float64)
    mean = np.bincount(order.tie, values) / weight
    t = isotonic_regression(mean, sample_weight=weight)[order.tie]
    total = float(t @ t)
    n = order.n
    if total > 0:
        t = t * math.sqrt(n * (n - 1) / 2 / total)
    T = np.zeros((n, n))
    T[order.i, order.j] = t
    T[order.j, order.i] = t
    return T


def smacof_pass(T, Y):
    """(next points, stress, sum of squared distances) at Y."""
    out = np.empty_like(Y)
    tasks = [
        lambda c=c: _mds.guttman_transform(T, Y, *c, out)
        for c in point_ranges(Y.shape[1], 128)
    ]
    parts = np.array(list(threads.run_tasks(tasks)))
    stress, size = 0.5 * parts.sum(axis=0)
    return out, float(stress), float(size)


def _smacof_iterations(
    T, Y, *, metric=True, max_iter=300, eps=1e-6, task=SILENT
) -> Result:
    """Steps of SMACOF from Y (n, m) until the stress converges."""
    order = None if metric else _dissimilarity_order(T)

    def seen(Y, targets):
        ahead, stress, size = smacof_pass(targets, Y)
        value = stress if metric else stress / max(size, 1e-300)
        return SMACOFState(Y, ahead, value, stress, size, targets)

    def step(state):
        Y, targets = state.next_points, state.targets
        if order is not None:
            gaps = np.sqrt(np.sum((Y[:, order.i] - Y[:, order.j]) ** 2, axis=0))
            targets = _monotone_targets(order, gaps)
        return seen(Y, targets)

    def change(old, new):
        if metric:
            return (old.objective - new.objective) / max(new.size, 1e-300)
        return old.objective - new.objective

    if order is not None:  # the first targets are the dissimilarities, scaled
        T = _monotone_targets(order, T[order.i, order.j])
    start = seen(np.ascontiguousarray(Y.T, dtype=np.float64), T)
    return iterate(step, start, max_iter=max_iter, tol=eps, change=change, task=task)


def _final_stress(state, normalized):
    """The stress, or Kruskal's stress-1."""
    if not normalized:
        return state.stress
    return math.sqrt(state.stress / state.size) if state.size > 0 else 0.0


def smacof(
    dissimilarities,
    *,
    metric=True,
    n_components=2,
    init=None,
    n_init=1,
    n_jobs=None,
    max_iter=300,
    verbose=0,
    eps=1e-6,
    random_state=None,
    return_n_iter=False,
    normalized_stress: Any = "auto",
):
    """Points (n, m) and their stress, for a matrix of dissimilarities; see MDS.

    Examples
    --------
    >>> D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> Y, stress = smacof(D, random_state=0, eps=1e-12)
    >>> stress < 1e-3
    True
    """
    init = "random" if init is None else init
    initial = None if isinstance(init, str) else init
    if initial is not None:
        n_components = np.shape(initial)[1]
        init = "random"
    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init=init,
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        n_jobs=n_jobs,
        random_state=random_state,
        metric="precomputed",
        normalized_stress=normalized_stress,
    )
    model.fit(dissimilarities, init=initial)
    if return_n_iter:
        return model.embedding_, model.stress_, model.n_iter_
    return model.embedding_, model.stress_


@dataclass(eq=False, repr=False)
class MDS(PrefixedOutput, Transformer, Estimator):
    """Metric and nonmetric multidimensional scaling; the module text gives the method.

    Parameters
    ----------
    n_components : int, default=2
        m, the dimensions of the embedding.
    metric_mds : bool, default=True
        Whether distances are to be kept; False for their order alone.
    n_init : int, default=1
        Starts, of which the best is kept; one if they do not differ.
    init : "classical_mds" or "random", default="classical_mds"
        Where the points start. scikit-learn 1.9 takes "random", with a warning.
    max_iter : int, default=300
        Most steps of one start.
    verbose : int, default=0
        1 shows a progress bar.
    eps : float, default=1e-6
        Stop when a step lowers the stress by at most this times the sum of squared
        distances.
    n_jobs : int or None, default=None
        Threads; None for all cores.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    dissimilarity : "euclidean", "precomputed" or "deprecated", default="deprecated"
        The older name of metric; "deprecated" leaves it to `metric`.
    metric : str or callable, default="euclidean"
        Of the rows, or "precomputed" for a matrix of dissimilarities.
    metric_params : dict or None, default=None
        Further arguments of the metric.
    normalized_stress : bool or "auto", default="auto"
        Whether `stress_` is Kruskal's stress-1; "auto" is True for nonmetric.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Y.
    stress_ : float
        Eq. (1), or stress-1.
    dissimilarity_matrix_ : array of shape (n, n)
        t.
    n_iter_ : int
        Steps taken by the best start.
    history_ : dict
        "objective", the stress (nonmetric: over the size of the distances).
    converged_, interrupted_ : bool
        How the best start ended.

    Examples
    --------
    >>> from pansophy.manifold import MDS
    >>> model = MDS(1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> model.stress_ < 1e-9
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    metric_mds: Flag = True
    n_init: Count = 1
    init: Literal["classical_mds", "random"] = "classical_mds"
    max_iter: Count = 300
    verbose: Verbosity = 0
    eps: NonNegative = 1e-6
    n_jobs: Jobs = None
    random_state: Seed = None
    dissimilarity: Literal["euclidean", "precomputed", "deprecated"] = "deprecated"
    metric: str | Callable = "euclidean"
    metric_params: dict | None = None
    normalized_stress: Literal["auto"] | Flag = "auto"

    def fit(self, X, y=None, init=None):
        """Embed the rows.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) dissimilarities
        y : None
            Not used.
        init : array of shape (n, m) or None
            Where the points start, instead of the parameter.
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2, order="C")
        refuse_overflowing_squares(self, X)
        T = dissimilarity_matrix(arrays.to_numpy(X), self._metric(), self.metric_params)
        T = np.ascontiguousarray(T)
        if T.min() < 0:
            raise ValueError("a dissimilarity is negative.")
        m = self.n_components
        rng = make_rng(self.random_state)
        is_random = init is None and self.init == "random"
        n_init = self.n_init if is_random else 1

        def one_start(i, task):
            return _smacof_iterations(
                T,
                self._initial_points(T, m, rng, init),
                metric=self.metric_mds,
                max_iter=self.max_iter,
                eps=self.eps,
                task=task,
            )

        with threads.limit_threads(self.n_jobs):
            result = self._run_driver(
                one_start,
                n_init=n_init,
                total=self.max_iter,
                X=X,
            )
        normal = self.normalized_stress
        normal = not self.metric_mds if normal == "auto" else normal
        self.embedding_ = np.ascontiguousarray(result.state.Y.T)
        self.stress_ = _final_stress(result.state, normal)
        self.dissimilarity_matrix_ = T
        return self

    def fit_transform(self, X, y=None, init=None):
        """`fit`, then the embedding."""
        return self.fit(X, init=init).embedding_

    def _metric(self):
        if self.dissimilarity == "deprecated":
            return self.metric
        if self.metric != "euclidean":
            raise ValueError("give metric or dissimilarity, not both.")
        warnings.warn(
            "dissimilarity is an older name of metric; use metric.",
            FutureWarning,
            stacklevel=3,
        )
        return self.dissimilarity

    def _initial_points(self, T, m, rng, init):
        n = len(T)
        if init is not None:
            Y = np.array(init, dtype=np.float64)
            if Y.shape != (n, m):
                raise ValueError(
                    f"init matrix should be of shape {(n, m)}, got {Y.shape}."
                )
            return Y
        if self.init == "random":
            return rng.uniform(size=(n, m))
        check_n_dimensions(m, n)
        return scaled_eigenvectors(*largest_eigenpairs(double_centered(T**2)[0], m))

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        is_pairwise = "precomputed" in (self.metric, self.dissimilarity)
        tags.input_tags.pairwise = is_pairwise
        return tags
