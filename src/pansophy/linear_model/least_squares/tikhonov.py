"""Tikhonov regularisation: least squares with a penalty matrix.

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2 + |Gamma (B - B0)|^2               (1)

Gamma = sqrt(alpha) I is ridge regression with alpha; a matrix of differences prefers
coefficients that change little from one column to the next; a Gamma with Gamma^T Gamma
= s^2 C^-1 makes B the most probable coefficients under noise of variance s^2 and a
normal prior of mean B0 and covariance C. With [R, c] the triangle of the centred rows
(`core.linalg.least_squares_passes`), (1) is the small least-squares problem

    min |c - R B|^2 + |Gamma B0 - Gamma B|^2                                     (2)

of d + k rows, solved by a QR with column pivoting; where even Gamma leaves B open, the
smallest B is taken.

Cost      2 n d^2 and one read of X
Shapes    X (n, d)   y (n,) or (n, t)   Gamma (k, d), (d,) for a diagonal, or ()
Refs      [Tikhonov1963]; [GolubVanLoan2013] 6.1.5
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core.arrays.arrays import to_numpy
from ...core.linalg.least_squares import EPS
from ...core.linalg.least_squares_passes import centred_triangle, prepare_least_squares
from ...core.linalg.linalg import minimum_norm_solution, one_thread_if_small
from ...params import Flag, NonNegative, Number, ParameterError
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    store_coefficients,
    target_columns,
)
from ...typing import Matrix, NumberList


def penalty_matrix(gamma, d):
    """Gamma as (k, d) from a number, a diagonal or a matrix."""
    G = np.asarray(to_numpy(gamma), dtype=np.float64)
    G = G * np.eye(d) if G.ndim == 0 else np.diag(G) if G.ndim == 1 else G
    if G.ndim != 2 or G.shape[1] != d or not np.isfinite(G).all():
        raise ParameterError(
            f"gamma of Tikhonov must be a number, {d} numbers or a finite matrix of "
            f"{d} columns, got shape {np.shape(gamma)}."
        )
    return G


@dataclass(eq=False, repr=False)
class Tikhonov(AbstractLinearRegressor):
    """Least squares with the penalty |Gamma (B - prior)|^2.

    Parameters
    ----------
    gamma : float, array of shape (n_features,) or (k, n_features), default=1.0
        The matrix of the penalty, its diagonal, or the number on that diagonal.
        Squared in the penalty: gamma=a is `Ridge(alpha=a**2)`.
    prior : float, array of shape (n_features,) or (n_targets, n_features), default=0.0
        Coefficients that cost nothing.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import Tikhonov
    >>> X, y = np.eye(4), [1.0, 5.0, 2.0, 4.0]
    >>> steps = 10 * np.diff(np.eye(4), axis=0)  # neighbours should agree
    >>> Tikhonov(steps, fit_intercept=False).fit(X, y).coef_.round(2)
    array([2.98, 3. , 3. , 3.01])
    """

    gamma: NonNegative | NumberList | Matrix = 1.0
    _: KW_ONLY
    prior: Number | NumberList | Matrix = 0.0
    fit_intercept: Flag = True

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        Y, flat = target_columns(y, X)
        d = int(X.shape[1])
        t = int(Y.shape[1])
        G = penalty_matrix(self.gamma, d)
        try:
            B0 = np.broadcast_to(np.asarray(to_numpy(self.prior), float), (t, d)).T
        except ValueError:
            raise ParameterError(
                f"prior of Tikhonov must be a number or have shape ({d},) or "
                f"({t}, {d}), got {np.shape(self.prior)}."
            ) from None
        problem = prepare_least_squares(X, Y, w, intercept=self.fit_intercept)
        T = centred_triangle(problem)
        R = np.concatenate([T.R, G])
        with one_thread_if_small(d):
            noise = np.full(d, 8 * EPS * max(len(R), 10))
            B, _, _ = minimum_norm_solution(R, np.concatenate([T.c, G @ B0]), noise)
        b = T.offset - T.mean @ B + problem.offset
        if problem.shift is not None:
            b = b - to_numpy(problem.shift) @ B
        store_coefficients(self, X, B, b, flat)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
