"""Multi-task ridge: several regressions whose coefficients are pulled to their mean.

Task t has rows (x_i, y_i), coefficients B_t and intercept b_t; with c = `coupling`
and B_, b_ the means over the T tasks,

    J = sum_t sum_(i in t) w_i (y_i - b_t - B_t^T (x_i - m))^2 + alpha sum_t |B_t|^2
        + c sum_t (|B_t - B_|^2 + (b_t - b_)^2)                                  (1)

where m is the mean of all rows, so that moving X changes nothing. At c = 0 the tasks
are separate ridge regressions; as c grows they approach the single regression on all
rows with penalty T alpha, which c = infinity is. In between, a task with few rows
borrows from the others. With a_t = (b_t, B_t), G_t and h_t the moments of task t and D
the penalty on the coefficients alone, the gradient of (1) is 0 where

    M_t a_t = h_t + c a_,   M_t = G_t + alpha D + c I                             (2)
    sum_t c M_t^-1 (G_t + alpha D) a_ = sum_t c M_t^-1 h_t                        (3)

(3) follows from a_ = mean of a_t in (2) and I - c M_t^-1 = M_t^-1 (G_t + alpha D), so
that nothing cancels however large c is.

Cost      n d^2 + T d^3
Shapes    X (n, d)   y (n,) with tasks (n,), or (n, T)   a_t (d + 1,)   G_t (d+1, d+1)
Refs      [EvgeniouPontil2004]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from ...base import host_array
from ...core.arrays import arrays
from ...core.arrays.labels import class_codes
from ...core.arrays.rows import DatasetRows
from ...core.linalg.least_squares import least_squares
from ...params import Flag, Infinite, NonNegative
from ...persist.saved_state import AnyArray, saved_state
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    store_coefficients,
    target_columns,
)


def coupled_coefficients(G, h, alpha, c):
    """a_t of eqs (2) and (3), (T, p), for moments G (T, p, p) and h (T, p)."""
    p = G.shape[1]
    D = np.ones(p)
    D[0] = 0.0  # the intercept is not penalised
    H = G + alpha * np.diag(D)
    scaled = H / c + np.eye(p)  # M_t / c
    factors = [scipy.linalg.cho_factor(S) for S in scaled]
    A = sum(scipy.linalg.cho_solve(f, Ht) for f, Ht in zip(factors, H, strict=True))
    r = sum(scipy.linalg.cho_solve(f, ht) for f, ht in zip(factors, h, strict=True))
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diagonal(A)), 1e-300))
    mean = scale * np.linalg.lstsq(scale[:, None] * A * scale, scale * r)[0]
    return np.stack(
        [
            scipy.linalg.cho_solve(f, ht / c + mean)
            for f, ht in zip(factors, h, strict=True)
        ]
    )


def task_rows(X, Y, w, codes, k):
    """Rows, targets (n, 1) and weights of each task."""
    if codes is None:
        return [(X, Y[:, j : j + 1], w) for j in range(k)]
    at = [np.flatnonzero(codes == j) for j in range(k)]
    return [(X[i], Y[i], None if w is None else w[i]) for i in at]


@saved_state(tasks_=AnyArray(None))
@dataclass(eq=False, repr=False)
class MultiTaskRidge(AbstractLinearRegressor):
    """Ridge regressions of several tasks, pulled towards their mean.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty on the coefficients of every task.
    coupling : float, default=1.0
        How strongly the tasks are pulled together: 0 fits them separately,
        float("inf") fits one regression to all.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each task, coupled but not penalised.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_tasks, n_features)
    intercept_ : float or array of shape (n_tasks,)
    tasks_ : array of shape (n_tasks,)
        Names of the tasks: the values of `tasks`, or 0, 1, ... for columns of y.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import MultiTaskRidge
    >>> X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    >>> y = np.array([0.0, 1.0, 2.0, 0.0, 2.0, 4.0])
    >>> tasks = list("aaabbb")
    >>> for c in (0.0, 1.0, float("inf")):
    ...     model = MultiTaskRidge(alpha=0.0, coupling=c).fit(X, y, tasks=tasks)
    ...     print(model.coef_.ravel().round(4))
    [1. 2.]
    [1.1667 1.8333]
    [1.5 1.5]
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    coupling: NonNegative | Infinite = 1.0
    fit_intercept: Flag = True

    _on_devices = False

    def fit(self, X, y, sample_weight=None, *, tasks=None):
        """Minimise eq. (1); `tasks` names the task of each row, else y's columns do."""
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind="numbers")
        if isinstance(X, DatasetRows):
            raise ValueError("MultiTaskRidge takes arrays, not a table on disk.")
        given = X
        Y, flat = target_columns(y, X)
        X, Y = (host_array(self, a).astype(np.float64) for a in (X, Y))
        w = None if w is None else arrays.to_numpy(w).astype(np.float64)
        codes = None
        self.tasks_ = np.arange(Y.shape[1])
        self._by_row = tasks is not None
        if self._by_row:
            codes = self._codes(tasks, Y)
        parts = task_rows(X, Y, w, codes, len(self.tasks_))
        B, b = self._solve(X, parts)
        store_coefficients(self, given, B, b, flat and not self._by_row)
        return self

    def _codes(self, tasks, Y):
        tasks = np.asarray(tasks)
        if tasks.shape != (len(Y),):
            raise ValueError(f"tasks must have shape ({len(Y)},), got {tasks.shape}.")
        if Y.shape[1] != 1:
            raise ValueError("tasks is for a y of one column.")
        self.tasks_, codes = class_codes(tasks)
        return codes

    def _solve(self, X, parts):
        """B (d, T) and b (T,)."""
        k = len(parts)
        i = int(self.fit_intercept)
        if self.coupling == 0 or k == 1:
            fits = [
                least_squares(x, y, v, alpha=self.alpha, intercept=self.fit_intercept)
                for x, y, v in parts
            ]
            B = np.concatenate([f.coef for f in fits], axis=1)
            return B, np.concatenate([f.intercept for f in fits])
        ones = lambda x, v: np.ones(len(x)) if v is None else v
        if np.isinf(self.coupling):
            x, y = (np.concatenate([p[j] for p in parts]) for j in (0, 1))
            v = np.concatenate([ones(p[0], p[2]) for p in parts])
            f = least_squares(
                x, y, v, alpha=k * self.alpha, intercept=self.fit_intercept
            )
            return np.repeat(f.coef, k, axis=1), np.repeat(f.intercept, k)
        weights = [ones(x, v) for x, _, v in parts]
        m = np.zeros(X.shape[1])
        if i:
            total = sum(v.sum() for v in weights)
            m = sum(v @ p[0] for v, p in zip(weights, parts, strict=True)) / total
        G = []
        h = []
        for (x, y, _), v in zip(parts, weights, strict=True):
            A = np.column_stack([np.full(len(x), float(i)), x - m])
            G.append((A * v[:, None]).T @ A)
            h.append((A * v[:, None]).T @ y[:, 0])
        a = coupled_coefficients(np.stack(G), np.stack(h), self.alpha, self.coupling)
        B = a[:, 1:].T
        return B, i * (a[:, 0] - m @ B)

    def predict(self, X, *, tasks=None):
        """One column per task, or the prediction of the task of each row."""
        check_is_fitted(self)
        P: Any = super().predict(X)
        if tasks is None:
            return P
        tasks = np.asarray(tasks)
        at = np.searchsorted(self.tasks_, tasks)
        at = np.minimum(at, len(self.tasks_) - 1)
        if tasks.shape != (P.shape[0],) or np.any(self.tasks_[at] != tasks):
            raise ValueError("tasks must name a known task for each row.")
        return P[np.arange(len(at)), at]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.multi_output = True
        return tags
