"""Covariance shapes: how the k covariance matrices of Normals are stored and tied.

    name        stored as    Sigma_j                        free numbers
    full        (k, d, d)    any                            k d (d + 1) / 2
    tied        (d, d)       the same for all j             d (d + 1) / 2
    diag        (k, d)       diagonal                       k d
    spherical   (k,)         a multiple of the identity     k
    low_rank    (k, d, r+1)  F_j F_j' + diag(psi_j)         k (d + d r - r (r - 1) / 2)

The last is factor analysis: r loadings F and a noise variance psi for each column,
stored as [F, psi]; it learns from full scatters, by `factor_analysis`.

A `CovarianceShape` holds the few functions in which the shapes differ, in terms of
means M, responsibilities R and the factor P of the precision, Sigma^-1 = P P'. All else
about a Normal is written once in `normal.py`. A scatter is sum_i r_ij (x_i - m_j)
(x_i - m_j)', kept in the same storage as the covariance (a low rank keeps full ones).

For a covariance S and given psi the maximum-likelihood loadings are, with U and l the
leading eigenvectors and eigenvalues of psi^-1/2 S psi^-1/2,

    F = psi^1/2 U (l - 1)_+^1/2                                                  (1)

and one EM iteration from there leaves F as it is and sets psi = diag(S - F F'), so that
alternating the two never lowers the likelihood [Lawley1940].

Shapes    X (n, d)   M (k, d)   R (n, k)   N (k,) weights
Refs      [Lawley1940]; [Ghahramani1996] mixtures of factor analysers
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.arrays import arrays
from ..base import weight_along_components


class CovarianceShape(NamedTuple):
    """One way to store and tie covariances."""

    name: str
    free: Callable  # (k, d) -> number of free numbers
    scatter: Callable  # (X, M, R) -> scatter about M
    outer: Callable  # (D, N) -> scatter of rows D with weights N, one per component
    estimate: Callable  # (scatter, N, d) -> covariance of highest likelihood
    floor: Callable  # (C, a) -> C + a I
    factor: Callable  # C -> P
    distance: Callable  # (X, M, P) -> squared Mahalanobis distances (n, k)
    half_log_det: Callable  # (P, d) -> log det P, (k,) or ()
    dense: Callable  # (C, k, d) -> (k, d, d)
    compress: Callable  # (S (k, d, d)) -> scatter in this storage


def _inverse_factor(C):
    """P with C^-1 = P P', upper triangular; C is (d, d) or (k, d, d)."""
    xp = arrays.namespace(C)
    try:
        L = xp.linalg.cholesky(C)
    except RuntimeError as error:  # torch's LinAlgError is one
        raise _singular_covariance_error(C) from error
    except np.linalg.LinAlgError as error:
        raise _singular_covariance_error(C) from error
    right = xp.broadcast_to(_identity_like(C), C.shape)
    return xp.matrix_transpose(xp.tril(xp.linalg.solve(L, right)))


class SingularCovarianceError(ValueError):
    """A covariance is not positive definite."""


def _singular_covariance_error(C):
    """The error for covariances that are not positive definite, naming one."""
    C = arrays.to_numpy(C)
    C = C.reshape(-1, *C.shape[-2:])
    values = np.array(
        [np.linalg.eigvalsh(c)[0] if np.isfinite(c).all() else np.nan for c in C]
    )
    j = int(np.argmin(np.where(np.isfinite(values), values, -np.inf)))
    return SingularCovarianceError(
        f"The covariance of component {j} is not positive definite (smallest "
        f"eigenvalue {values[j]:.2g}): it has collapsed or its columns are dependent. "
        "Use fewer components, raise reg_covar or scale the data."
    )


def _stack_components(function, M, axis=0):
    """function(j) for each component, stacked."""
    return arrays.namespace(M).stack(
        [function(j) for j in range(M.shape[0])], axis=axis
    )


def outer_full(D, N):
    return N[:, None, None] * D[:, :, None] * D[:, None, :]


def full_scatter(X, M, R):
    def one(j):
        D = X - M[j, :]
        return arrays.namespace(X).matmul((R[:, j : j + 1] * D).T, D)

    return _stack_components(one, M)


def _elementwise_square(A):
    return A * A


def batch_diagonals(S):
    """The diagonals of (k, d, d) as (k, d)."""
    xp = arrays.namespace(S)
    return xp.stack([S[:, j, j] for j in range(S.shape[-1])], axis=1)


def _diagonal_matrices(V):
    """(k, d) -> diagonal matrices (k, d, d)."""
    return V[:, :, None] * _identity_like(V)


def _inverse_standard_deviation(V):
    """1 / sqrt(V), refusing variances that are not positive."""
    xp = arrays.namespace(V)
    if not bool(xp.all(V > 0)):
        raise _singular_covariance_error(
            _diagonal_matrices(V[:, None] if V.ndim == 1 else V)
        )
    return 1 / xp.sqrt(V)


def _identity_like(C):
    return arrays.namespace(C).eye(C.shape[-1], dtype=C.dtype, device=arrays.device(C))


def _sum_last_axis(A):
    return arrays.namespace(A).sum(A, axis=-1)


def _log_sum_last_axis(A):
    return _sum_last_axis(arrays.namespace(A).log(A))


def _tied_diagonal(P):
    xp = arrays.namespace(P)
    return _log_sum_last_axis(xp.linalg.diagonal(P))


def _tied_distance(X, M, P):
    xp = arrays.namespace(X)
    Y, C = xp.matmul(X, P), xp.matmul(M, P)
    return _stack_components(
        lambda j: _sum_last_axis(_elementwise_square(Y - C[j, :])), M, axis=1
    )


def _full_distance(X, M, P):
    xp = arrays.namespace(X)
    distance_to = lambda j: _sum_last_axis(
        _elementwise_square(xp.matmul(X - M[j, :], P[j, ...]))
    )
    return _stack_components(distance_to, M, axis=1)


def _diag_scatter(X, M, R):
    xp = arrays.namespace(X)
    return _stack_components(
        lambda j: xp.matmul(R[:, j], _elementwise_square(X - M[j, :])), M
    )


def _diag_distance(X, M, P):
    return _stack_components(
        lambda j: _sum_last_axis(_elementwise_square((X - M[j, :]) * P[j, ...])),
        M,
        axis=1,
    )


def _sum_components(S):
    return arrays.namespace(S).sum(S, axis=0)


def _repeat_matrix(C, k):
    return arrays.namespace(C).broadcast_to(C, (k, *C.shape[-2:]))


def _ones_per_component(C, d):
    xp = arrays.namespace(C)
    return xp.ones((C.shape[0], d), dtype=C.dtype, device=arrays.device(C))


FULL = CovarianceShape(
    "full",
    free=lambda k, d: k * d * (d + 1) // 2,
    scatter=full_scatter,
    outer=outer_full,
    estimate=lambda S, N, d: S / N[:, None, None],
    floor=lambda C, a: C + a * _identity_like(C),
    factor=_inverse_factor,
    distance=_full_distance,
    half_log_det=lambda P, d: _log_sum_last_axis(batch_diagonals(P)),
    dense=lambda C, k, d: C,
    compress=lambda S: S,
)
TIED = CovarianceShape(
    "tied",
    free=lambda k, d: d * (d + 1) // 2,
    scatter=lambda X, M, R: _sum_components(full_scatter(X, M, R)),
    outer=lambda D, N: arrays.namespace(D).matmul((N[:, None] * D).T, D),
    estimate=lambda S, N, d: S / _sum_components(N),
    floor=lambda C, a: C + a * _identity_like(C),
    factor=_inverse_factor,
    distance=_tied_distance,
    half_log_det=lambda P, d: _tied_diagonal(P),
    dense=lambda C, k, d: _repeat_matrix(C, k),
    compress=_sum_components,
)
DIAG = CovarianceShape(
    "diag",
    free=lambda k, d: k * d,
    scatter=_diag_scatter,
    outer=lambda D, N: weight_along_components(N, D) * _elementwise_square(D),
    estimate=lambda S, N, d: S / weight_along_components(N, S),
    floor=lambda C, a: C + a,
    factor=_inverse_standard_deviation,
    distance=_diag_distance,
    half_log_det=lambda P, d: _log_sum_last_axis(P),
    dense=lambda C, k, d: _diagonal_matrices(C),
    compress=batch_diagonals,
)
SPHERICAL = CovarianceShape(
    "spherical",
    free=lambda k, d: k,
    scatter=lambda X, M, R: _sum_last_axis(_diag_scatter(X, M, R)),
    outer=lambda D, N: N * _sum_last_axis(_elementwise_square(D)),
    estimate=lambda S, N, d: S / (N * d),
    floor=lambda C, a: C + a,
    factor=_inverse_standard_deviation,
    distance=_diag_distance,
    half_log_det=lambda P, d: d * arrays.namespace(P).log(P),
    dense=lambda C, k, d: _diagonal_matrices(C[:, None] * _ones_per_component(C, d)),
    compress=lambda S: _sum_last_axis(batch_diagonals(S)),
)
LOW_RANK = FULL._replace(
    name="low_rank",
    free=lambda k, d, r: k * (d + d * r - r * (r - 1) // 2),
    floor=lambda C, a: C + a * _last_column(C),
    factor=lambda C: _inverse_factor(_low_rank_dense(C)),
    dense=lambda C, k, d: _low_rank_dense(C),
)
SHAPES = {shape.name: shape for shape in (FULL, TIED, DIAG, SPHERICAL)}
ALL_SHAPES = {**SHAPES, "low_rank": LOW_RANK}  # the last learns with a rank


def _low_rank_dense(C):
    """F F' + diag(psi) for each [F, psi] of C (k, d, r + 1)."""
    xp = arrays.namespace(C)
    F = C[..., :-1]
    return xp.matmul(F, xp.matrix_transpose(F)) + _diagonal_matrices(C[..., -1])


def _last_column(C):
    """1 in the last column of (k, d, r + 1), where the noise is, and 0 elsewhere."""
    xp = arrays.namespace(C)
    return xp.concat([xp.zeros_like(C[..., :-1]), xp.ones_like(C[..., -1:])], axis=-1)


def factor_analysis(S, rank, psi=None, *, floor=0.0, max_iter=20, tol=1e-6):
    """[F, psi] (k, d, r + 1) for covariances S (k, d, d) by iterating eq. (1).

    Starts from `psi` (k, d), so that the result is at least as likely as any F with
    it. No psi falls below the floor, nor below 1e-12 of its variance.
    """
    S = np.asarray(S, float)
    variance = np.diagonal(S, axis1=1, axis2=2)
    low = np.maximum(floor, 1e-12 * variance)
    low = np.maximum(low, np.finfo(float).tiny)
    psi = 0.5 * variance if psi is None else psi
    psi = np.maximum(psi, low)
    for _ in range(max_iter):
        F = _factor_loadings(S, psi, rank)
        new = np.maximum(variance - (F * F).sum(2), low)
        is_converged = np.abs(new - psi).max() <= tol * variance.max()
        psi = new
        if is_converged:
            break
    return np.concatenate([_factor_loadings(S, psi, rank), psi[:, :, None]], axis=2)


def _factor_loadings(S, psi, rank):
    """Eq. (1): F (k, d, r)."""
    root = np.sqrt(psi)
    values, U = np.linalg.eigh(S / (root[:, :, None] * root[:, None, :]))
    gain = np.sqrt(np.maximum(values[:, None, -rank:] - 1, 0))
    return (root[:, :, None] * U[:, :, -rank:] * gain)[:, :, ::-1]
