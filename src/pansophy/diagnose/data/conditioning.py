"""Rank and condition number of a design matrix.

From the singular values s_1 >= s_2 >= ... of X (with columns scaled to length 1, to
distinguish dependence from a choice of units),

    condition = s_1 / s_m,  m = min(n, d), or min(n - 1, d) of centred X          (1)
    of the Hessian 2 X^T X: (s_1 / s_d)^2,    null dimension = d - rank >= d - n  (2)
    inflation_j = |x_j|^2 / |x_j - its fit by the other columns|^2                (3)

A singular value that rounding cannot tell from 0 counts as 0: both condition numbers
of columns that depend on each other are infinite, and so is that of the Hessian if
there are fewer rows than columns.

An error of relative size e in the data moves the coefficients by up to condition * e,
and gradient descent needs about condition^2 steps. (3) is the factor by which the
variance of coefficient j exceeds that with all other columns orthogonal to it. All come
from one triangle R of X (`core.linalg.least_squares_passes`); (3) is |x_j|^2 |row j of
R^-1|^2.

Shapes    X (n, d)   s (min(n, d),)
Refs      [Belsley1980]; [Bjorck1996]
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays.arrays import is_foreign
from ...core.arrays.rows import DatasetRows, is_dataset
from ...core.linalg.least_squares import column_noise, inverse_triangle
from ...core.linalg.least_squares_passes import (
    centred_triangle,
    on_device,
    prepare_least_squares,
)
from ...core.linalg.linalg import (
    column_norms,
    minimum_norm_solution,
    one_thread_if_small,
    singular_values,
)


class Conditioning(NamedTuple):
    """Rank and condition numbers of a design matrix; prints as a few lines."""

    shape: tuple[int, int]
    kind: str  # "tall full rank", "fat" or "deficient"
    rank: int
    null_dimension: int
    singular_values: np.ndarray
    condition: float  # eq. (1) of X as it is, infinite if the rank is below m
    scaled_condition: float  # with columns of length 1
    hessian_condition: float  # of X^T X, infinite if the rank is below d
    dependent: tuple[int, ...]  # columns that are constant or depend on the others
    inflation: np.ndarray  # eq. (3), infinite for dependent columns

    def __str__(self):
        n, d = self.shape
        unique = self.rank == d
        lines = [
            f"{n} rows, {d} columns: {self.kind}, rank {self.rank}, null dimension "
            f"{self.null_dimension}",
            f"condition {self.condition:.6g}; with columns of equal length "
            f"{self.scaled_condition:.6g}; of the Hessian {self.hessian_condition:.6g}",
        ]
        if not unique:
            names = ", ".join(f"x{j}" for j in self.dependent[:10])
            lines.append(f"constant or a combination of other columns: {names}")
        elif self.inflation.max(initial=0.0) > 10:
            j = int(np.argmax(self.inflation))
            lines.append(
                f"most inflated variance: x{j}, by a factor of {self.inflation[j]:.4g}"
            )
        digits = np.log10(max(self.scaled_condition, 1.0))
        lines.append(
            f"about {digits:.0f} of 16 digits are lost in the coefficients"
            if unique
            else "the coefficients are not unique; the problem is ill-posed"
        )
        return "\n".join(lines)


def _condition_number(s) -> float:
    """Ratio of the largest to the smallest of some singular values."""
    return float(s[0] / s[-1]) if s[-1] > 0 else np.inf


def _squared_condition(condition) -> float:
    """The square of a condition number, infinite where it would overflow."""
    return condition**2 if condition < 1e154 else np.inf


def conditioning(X, *, fit_intercept=False, sample_weight=None) -> Conditioning:
    """Rank, condition numbers and dependent columns of a design matrix.

    Parameters
    ----------
    X : array, sparse matrix, tensor or path of a table, of shape (n, d)
    fit_intercept : bool, default=False
        Whether the model has an intercept: then the centred X is judged.
    sample_weight : array of shape (n,) or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> report = conditioning(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]))
    >>> report.kind, report.rank, round(report.hessian_condition, 4)
    ('tall full rank', 2, 8.5497)
    >>> print(conditioning(np.ones((5, 2))))
    5 rows, 2 columns: deficient, rank 1, null dimension 1
    condition inf; with columns of equal length inf; of the Hessian inf
    constant or a combination of other columns: x1
    the coefficients are not unique; the problem is ill-posed
    """
    if is_dataset(X):
        X = X if isinstance(X, DatasetRows) else DatasetRows(X)
    elif not is_foreign(X) and not hasattr(X, "tocsr"):
        X = np.asarray(X, dtype=np.float64)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must have two dimensions and be filled, got {X.shape}.")
    n, d = (int(k) for k in X.shape)
    like = X if not isinstance(X, DatasetRows) and is_foreign(X) else np.empty(0)
    Y = on_device(np.zeros((n, 1)), like)
    w = None if sample_weight is None else on_device(np.asarray(sample_weight), like)
    problem = prepare_least_squares(X, Y, w, intercept=fit_intercept)
    T = centred_triangle(problem)
    R = T.R
    if not np.isfinite(R).all():
        raise ValueError("Input X contains NaN or infinity.")
    norm = column_norms(R)
    with one_thread_if_small(d):
        _, rank, lost = minimum_norm_solution(R, T.c, column_noise(norm, T, problem))
    lost = tuple(int(j) for j in lost)
    s = singular_values(R)
    cond = scaled_cond = np.inf
    if rank == min(n - bool(fit_intercept), d):  # centring takes one from the rows
        nonzero = norm > 0
        cond = _condition_number(s[:rank])
        scaled_cond = _condition_number(
            singular_values(R[:, nonzero] / norm[nonzero])[:rank]
        )
    inflation = np.full(d, np.inf)
    if rank == d and R.shape[0] == d:
        inflation = (norm * column_norms(inverse_triangle(R).T)) ** 2
    kind = "fat" if n < d else "tall full rank" if rank == d else "deficient"
    return Conditioning(
        (n, d),
        kind,
        rank,
        d - rank,
        s[: min(n, d)],
        cond,
        scaled_cond,
        _squared_condition(cond) if rank == d else np.inf,
        lost,
        inflation,
    )
