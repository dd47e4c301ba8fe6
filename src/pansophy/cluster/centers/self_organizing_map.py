"""Self-organising map: prototypes on a grid whose neighbours are similar in the data.

Unit u has the position g_u on a grid and holds a prototype c_u. Row i belongs to its
best unit b_i, the nearest prototype, and pulls units near b_i on the grid along,

    h_s(u, v) = exp(-|g_u - g_v|^2 / (2 s^2))   or   1 if |g_u - g_v| <= s      (1)

with a width s that shrinks from epoch to epoch, s_0 (s_1 / s_0)^(t / T). Wide at first,
the map unfolds; narrow in the end, it is k-means with a little smoothing. For fixed s
the batch form alternates on

    E = sum_i w_i sum_v h_s(b_i, v) |x_i - c_v|^2                               (2)

with b_i the nearest prototype (which is nearly, not exactly, the b_i that minimises
(2), so E usually falls but need not), then

    c_v = sum_u h_s(u, v) S_u / sum_u h_s(u, v) M_u                             (3)

where S_u, M_u are the sum and weight of the rows of unit u: an iteration of k-means and
a product with the matrix h. The online form, Kohonen's own, moves after every row,

    c_v += a_t h_s(b_i, v) (x_i - c_v)                                          (4)

Two numbers measure a map: the quantisation error, the mean distance of a row
to its best unit, and the topographic error, the share of rows whose two best units are
not neighbours on the grid.

Time O(n u d) an epoch for u units. Memory O(n + u^2) beyond X.

Shapes    X (n, d)   C (u, d)   G (u, u) squared distances on the grid   S (u, d)
Refs      [Kohonen1982] the map; [Kohonen2013] the batch form
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator, PrefixedOutput, Transformer
from ...core.arrays import rows
from ...core.drivers.iterate import iterate
from ...core.random import make_rng
from ...distances import euclidean
from ...params import Count, ParameterRule, Verbosity
from ...persist.saved_state import NumberArray, saved_state
from ...typing import NumberPair, NumericArray, Seed
from . import _self_organizing_map as loops
from .initialization import check_scale, projection_keys, rows_per_block
from .lloyd_iteration import (
    assignment_for,
    nearest_centers,
    reference_point,
    row_mean_and_variance,
)

Grid = Annotated[
    Any,
    ParameterRule(
        "two whole numbers of at least 1",
        lambda v: len(v) == 2 and all(int(s) == s >= 1 for s in v),
    ),
]


class SOMState(NamedTuple):
    """State carried from one epoch to the next."""

    centers: np.ndarray  # C
    objective: float  # mean squared distance to the best unit
    epoch: int = 0
    sums: Any = None  # S_u and M_u of these centres, in the batch form


def grid_positions(shape, topology):
    """Positions of the units (u, 2), neighbours at distance 1, row by row."""
    r, c = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    if topology == "rectangular":
        return np.stack([r, c], axis=1).astype(float)
    return np.stack([r * np.sqrt(0.75), c + 0.5 * (r % 2)], axis=1)


def adjacent_units(G, topology):
    """Adjacency of the units: sides and corners of a square, sides of a hexagon."""
    reach = 2.5 if topology == "rectangular" else 1.5
    return (G > 0) & (reach > G)


def neighborhood_weights(G, s, neighborhood):
    """h_s of eq. (1)."""
    if neighborhood == "gaussian":
        return np.exp(-G / (2 * s * s))
    return np.where(s * s >= G, 1.0, 0.0)


def principal_plane(X, w, shape, place):
    """Prototypes on the plane of the first two principal axes, scaled to the data."""
    W = w.sum(dtype=np.float64)
    mean = (w.astype(np.float64) @ X) / W
    d = X.shape[1]
    stats = lambda x, w: ((x - mean) * w[:, None]).T @ (x - mean)
    values, V = np.linalg.eigh(rows.Rows(X, w).sum(stats) / W)
    top = min(2, d)
    axes = V[:, ::-1][:, :top] * np.sqrt(np.maximum(values[::-1][:top], 0.0))
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), range(top)] < 0, -1, 1)
    at = place - place.mean(axis=0)
    at = at / np.maximum(np.abs(at).max(axis=0), 1e-300) * 2.0
    at = at[:, ::-1] if shape[1] > shape[0] else at  # the longer side, the longer axis
    return mean + at[:, :top] @ axes.T


@saved_state(
    prototypes_=NumberArray("units", "n_features_in_"),
    positions_=NumberArray("units", 2),
    hits_=NumberArray("units"),
    _G=NumberArray("units", "units"),
)
@dataclass(eq=False, repr=False)
class SelfOrganizingMap(PrefixedOutput, Transformer, Estimator):
    """Self-organising (Kohonen) map; the module text gives the method.

    Parameters
    ----------
    shape : (int, int), default (8, 8)
        Rows and columns of the grid.
    topology : "rectangular" or "hexagonal"
    method : "batch" or "online"
        Eq. (3) or eq. (4). The batch form is faster, needs no rate, and depends on
        chance only through `init="random"`.
    neighborhood : "gaussian" or "bubble"
        Which h of eq. (1).
    sigma : (float, float) or None
        Width at the beginning and the end; None is half the longer side (at least 1)
        and 0.5.
    learning_rate : (float, float)
        a of eq. (4) at the beginning and the end.
    init : "plane", "random" or array of shape (u, d)
        Initial prototypes: on the plane of the two principal axes, random rows, or
        given.
    max_iter : int
        Epochs. All of them are run, since the width shrinks over them.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    prototypes_ : array of shape (u, d)
        C, row by row of the grid.
    places_ : array of shape (u, 2)
        Positions of the units on the grid; neighbours are at distance 1.
    labels_ : array of shape (n,)
        The best unit of each row.
    hits_ : array of shape (u,)
        The weight of the rows of each unit.
    quantization_error_, topographic_error_ : float
        Quality of the map, see the module text.
    n_iter_, history_, converged_, interrupted_
        "objective" is the mean squared distance to the best unit in each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.cluster import SelfOrganizingMap
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = SelfOrganizingMap((1, 5), max_iter=50).fit(X)
    >>> model.prototypes_.ravel().round(1).tolist()
    [0.1, 0.3, 0.5, 0.7, 0.9]
    >>> model.topographic_error_
    0.0
    """

    shape: Grid = (8, 8)
    _: KW_ONLY
    topology: Literal["rectangular", "hexagonal"] = "rectangular"
    method: Literal["batch", "online"] = "batch"
    neighborhood: Literal["gaussian", "bubble"] = "gaussian"
    sigma: NumberPair | None = None
    learning_rate: NumberPair = (0.5, 0.01)
    init: Literal["plane", "random"] | NumericArray = "plane"
    max_iter: Count = 20
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Unfold the map.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows in the batch form.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        w = np.ones(len(X), X.dtype) if w is None else w
        check_scale(self, X)
        mean = row_mean_and_variance(X, w)[0]
        rng = make_rng(self.random_state)
        self.positions_ = grid_positions(self.shape, self.topology)
        gap = self.positions_[:, None, :] - self.positions_
        self._G = np.sum(gap * gap, axis=2)  # on the grid
        make = self._batch_epoch if self.method == "batch" else self._online_epoch
        epoch = make(X, w, mean, rng)
        initial = SOMState(self._initial_prototypes(X, w, rng), np.inf)

        def run(task):
            return iterate(
                epoch,
                initial,
                max_iter=self.max_iter,
                tol=0,
                change=lambda old, new: self.max_iter - new.epoch,
                task=task,
            )

        state = self._run_driver(run, total=self.max_iter, X=X).state
        self.prototypes_ = state.centers.astype(X.dtype)
        self.labels_ = nearest_centers(X, self.prototypes_.astype(np.float64))
        self.hits_ = np.bincount(self.labels_, w, len(self.prototypes_))
        self.quantization_error_, self.topographic_error_ = self._errors(X, w)
        self._n_features_out = len(self.prototypes_)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the best units of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The best unit of each row."""
        X = self._check_new_data(X, order="C")
        return nearest_centers(X, self.prototypes_.astype(np.float64))

    def transform(self, X):
        """The distance from each row to each prototype."""
        return euclidean(self._check_new_data(X, order="C"), self.prototypes_)

    def embed(self, X):
        """The grid position of the best unit of each row, (n, 2)."""
        return self.positions_[self.predict(X)]

    def errors(self, X, sample_weight=None):
        """The quantisation and the topographic error on other rows."""
        X = self._check_new_data(X, order="C")
        w = np.ones(len(X)) if sample_weight is None else sample_weight
        return self._errors(X, w)

    def u_matrix(self):
        """The U-matrix, drawn by `plot.som`: (rows, columns).

        The mean distance of each prototype to those around it on the grid.
        """
        A = adjacent_units(self._G, self.topology)
        D = euclidean(self.prototypes_)
        total = np.maximum(A.sum(axis=1), 1)
        return ((D * A).sum(axis=1) / total).reshape(tuple(self.shape))

    def _errors(self, X, w):
        C = self.prototypes_

        def block(x, w):
            a, b = np.empty((2, len(x)), np.int64)
            gap = np.empty(len(x))
            loops.two_nearest_prototypes(x, C, a, b, gap)
            apart = ~near[a, b] if len(C) > 1 else np.zeros(len(x), bool)
            return float(w @ gap), float(w @ apart), float(w.sum())

        near = adjacent_units(self._G, self.topology)
        w = np.asarray(w, np.float64)
        R = rows.Rows(X, w, block=rows_per_block(X.shape[1], len(C)))
        q, t, W = R.sum(block, blas=False)
        return q / W, t / W

    def _width(self, epoch):
        s = self.sigma
        wide, narrow = (max(1.0, max(self.shape) / 2), 0.5) if s is None else s
        if not 0 < narrow <= wide:
            raise ValueError(f"sigma must fall and stay above 0, got {s}.")
        part = epoch / max(self.max_iter - 1, 1)
        return wide * (narrow / wide) ** min(part, 1.0)

    def _batch_epoch(self, X, w, mean, rng):
        """A function of the state that runs one epoch of eq. (3)."""
        assignment = assignment_for(X, w, len(self._G), keep_bounds=False)
        W = w.sum(dtype=np.float64)
        m = reference_point(mean[None], X)

        def measured(C, epoch):
            sums = assignment.assign(C, C, m)[1]
            c = C - m
            E = sums.squares.sum() - 2 * np.sum(c * sums.sums)
            E += sums.mass @ np.sum(c * c, axis=1)
            return SOMState(C, max(float(E), 0.0) / W, epoch, sums)

        def epoch(state):
            first = state.sums is None
            sums = measured(state.centers, 0).sums if first else state.sums
            width = self._width(state.epoch)
            h = neighborhood_weights(self._G, width, self.neighborhood)
            mass = (h @ sums.mass)[:, None]
            new = state.centers - m
            np.divide(h @ sums.sums, mass, out=new, where=mass > 1e-290)
            return measured(m + new, state.epoch + 1)

        return epoch

    def _online_epoch(self, X, w, mean, rng):
        """A function of the state that runs one epoch of eq. (4)."""
        kind = loops.GAUSSIAN if self.neighborhood == "gaussian" else loops.BUBBLE
        first, last = self.learning_rate
        if not 0 <= last <= first <= 1:
            raise ValueError(
                f"learning_rate must fall from at most 1, got {self.learning_rate}."
            )
        rate = lambda t: first + (last - first) * t / self.max_iter
        W = w.sum(dtype=np.float64)

        def epoch(state):
            t = state.epoch
            C = state.centers.copy()
            a = np.array([rate(t), rate(t + 1)])
            s = np.array([self._width(t), self._width(t + 1)])
            E = loops.online_epoch(
                X, w, rng.permutation(len(X)), C, self._G, a, s, kind
            )
            return SOMState(C, E / W, t + 1)

        return epoch

    def _initial_prototypes(self, X, w, rng):
        units = len(self.positions_)
        d = X.shape[1]
        if not isinstance(self.init, str):
            C = np.array(self.init, dtype=np.float64)
            if C.shape != (units, d) or not np.isfinite(C).all():
                raise ValueError(
                    f"init must be {units} rows of {d} finite numbers, got {C.shape}."
                )
            return C
        if self.init == "plane":
            return principal_plane(X, w, self.shape, self.positions_)
        order = np.argsort(projection_keys(rows.Rows(X), rng), kind="stable")
        total = np.cumsum(w[order], dtype=np.float64)
        at = np.searchsorted(total, rng.random(units) * total[-1], side="right")
        return X[order[np.minimum(at, len(order) - 1)]].astype(np.float64)
