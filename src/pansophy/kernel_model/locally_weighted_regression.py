"""Locally weighted regression: a line fitted anew around every query.

For a query x the k nearest rows i get the weights v_i = w_i k(x, x_i), 1 without a
kernel, and

    min over (b, beta)  sum_i v_i (y_i - b - beta.(x_i - x))^2 + alpha |beta|^2     (1)

is solved: the prediction is b. Without a slope (degree 0) it is the weighted mean of
the neighbours (Nadaraya and Watson); k = 1 gives the nearest target. Where the
neighbours do not fix the slope, the one of least length is taken, so that b is still
defined.

Nothing is learnt beforehand but the index of the rows. Queries go in blocks.

Cost      a query: its neighbours and k d^2
Shapes    X (n, d)   queries (m, d)   y (n,) or (n, t)
Refs      [Cleveland1979]; [Atkeson1997]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ..base import Estimator, Regressor
from ..core.arrays.overflow import refuse_overflowing_squares
from ..distances import neighbor_search
from ..distances.pairwise_metrics import block_slices
from ..kernels import AbstractKernel
from ..params import Count, NonNegative, ParameterRule

BLOCK = 1 << 21  # numbers of neighbour rows held at a time

LocalKernel = Annotated[
    Any, ParameterRule("a kernel", lambda v: isinstance(v, AbstractKernel))
]


def _local_lines(D, T, v, alpha):
    """b of eq. (1) for m queries: rows D (m, k, d) less the query, targets T (m, k, t).

    Both sides are centred by the weights v (m, k), so that the intercept is not
    penalised and the rank is that of the slopes.
    """
    total = v.sum(axis=1, keepdims=True)
    share = (v / total)[:, :, None]
    middle = (share * D).sum(axis=1, keepdims=True)
    mean = (share * T).sum(axis=1, keepdims=True)
    root = np.sqrt(v)[:, :, None]
    A, B = root * (D - middle), root * (T - mean)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    floor = s.max(axis=1, keepdims=True, initial=0.0) * max(A.shape[1:]) * 1e-15
    is_kept = s > np.maximum(floor, 1e-300)
    safe = np.where(is_kept, s, 1.0)
    gain = np.where(is_kept, 1.0 / (safe + alpha / safe), 0.0)  # s / (s^2 + alpha)
    slope = np.swapaxes(Vt, 1, 2) @ (gain[:, :, None] * (np.swapaxes(U, 1, 2) @ B))
    return (mean - middle @ slope)[:, 0, :]


@dataclass(eq=False, repr=False)
class LocallyWeightedRegression(Regressor, Estimator):
    """Locally weighted linear regression; the module text gives the method.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        k; None takes all rows.
    kernel : kernel or None, default=None
        Weights of the neighbours, k(x, x_i); None weighs them equally.
    degree : 0 or 1, default=1
        A local mean or a local line.
    alpha : float, default=0.0
        Penalty on the slope.

    Attributes
    ----------
    X_fit_ : array of shape (n, d)
    y_fit_ : array of shape (n,) or (n, t)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import LocallyWeightedRegression
    >>> X = np.arange(6.0)[:, None]
    >>> model = LocallyWeightedRegression(n_neighbors=3).fit(X, X[:, 0] ** 2)
    >>> model.predict([[2.4]]).round(6)
    array([6.266667])
    """

    n_neighbors: Count | None = None
    _: KW_ONLY
    kernel: LocalKernel | None = None
    degree: Literal[0, 1] = 1
    alpha: NonNegative = 0.0

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Keep the rows; those of weight 0 are left out."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", dtype=np.float64
        )
        refuse_overflowing_squares(self, X)
        live = slice(None) if w is None else np.flatnonzero(w > 0)
        self.X_fit_ = np.array(X[live])
        self.y_fit_ = np.asarray(y, np.float64)[live]
        self._w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)[live]
        return self

    def predict(self, X):
        """The value at each query of the line around it, eq. (1)."""
        Q = self._check_new_data(X, dtype=np.float64)
        refuse_overflowing_squares(self, Q)
        Y = self.y_fit_ if self.y_fit_.ndim == 2 else self.y_fit_[:, None]
        d = self.X_fit_.shape[1]
        near = self._neighbors(Q)
        out = np.empty((len(Q), Y.shape[1]))
        for cut in block_slices(len(Q), max(1, BLOCK // (near.shape[1] * d))):
            neighbors = near[cut]
            rows = self.X_fit_[neighbors]
            v = self._w[neighbors] * self._kernel_weights(Q[cut], rows)
            if self.degree == 0:
                share = v / v.sum(axis=1, keepdims=True)
                out[cut] = (share[:, :, None] * Y[neighbors]).sum(axis=1)
            else:
                gap = rows - Q[cut][:, None, :]
                out[cut] = _local_lines(gap, Y[neighbors], v, self.alpha)
        return out if self.y_fit_.ndim == 2 else out[:, 0]

    def _neighbors(self, Q):
        """Rows used for each query, (m, k)."""
        n = len(self.X_fit_)
        if self.n_neighbors is None:
            return np.broadcast_to(np.arange(n), (len(Q), n))
        if self._w.max() == self._w.min() == 1.0:
            k = min(self.n_neighbors, n)
            index = neighbor_search.build_index(self.X_fit_)
            return neighbor_search.k_nearest(index, Q, k)[1]
        raise ValueError(
            "sample_weight of LocallyWeightedRegression needs n_neighbors=None: the k "
            "nearest of repeated rows are not those of weighted ones."
        )

    def _kernel_weights(self, Q, rows):
        """k(x, x_i), scaled to a largest weight of 1 for each query: (m, k)."""
        if self.kernel is None:
            return np.ones(rows.shape[:2])
        v = np.stack(
            [self.kernel.block(q[None], r)[0] for q, r in zip(Q, rows, strict=True)]
        )
        top = v.max(axis=1, keepdims=True)
        if (v < 0).any() or not (top > 0).all():
            raise ValueError(
                f"{self.kernel!r} gives a query no neighbour of positive weight: take "
                "a wider kernel, or one that is not negative."
            )
        return v / top

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
