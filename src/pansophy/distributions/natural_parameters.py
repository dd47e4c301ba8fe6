"""Log-densities and statistics of many Normals at once, as two matrix products.

A Normal is an exponential family. With features t(x) of u = (x - c) W there are m
numbers b_j for each of k components with

    log w_j N(x; m_j, S_j) = b_j . t(x) + q(x)                                   (1)
    sum_i r_ij t(x_i) = weight, mean and scatter of component j                  (2)

    shape       t(x)                               q(x)
    full        1, u, u_a u_b for a <= b           0
    diag        1, u, u_a^2                        0
    spherical   1, u, |u|^2                        0
    tied        1, u                               -u' Q u / 2, the same for all j

so an E-step is t(X) B', a softmax, and t(X)' R: two GEMMs per block of rows, one
pass over X, instead of k triangular products each way. For d = k = 16 that is 1.0
GFLOP for 100 000 rows where the usual way takes 1.6 in small pieces. A tied shape
needs no products at all: q cancels in the responsibilities, its sum over the rows is
a trace with their total scatter, and so is the scatter within components.

What it costs: (1) is a difference of terms as large as |u|^2 / lambda, with lambda
the smallest eigenvalue of a covariance in these coordinates, so digits are lost when
a component is much tighter than the data. The `Coordinates` (c the mean, W the inverse
root of the covariance of all rows) makes the terms as small as they can be, and
`natural_coefficients` bounds the error; where it exceeds 1e-9 the caller takes
`Normal.log_prob` and `moments`, which lose nothing.

With a label y_i >= 0, only components j with owner_j = y_i can generate row i.

Shapes    X (n, d)   t(X) (n, m)   B (k, m)   S (m, k)   y (n,)   owner (k,)
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import arrays
from ..core.arrays.rows import Rows
from ..core.numerics import LOG_2PI, logsumexp, safe_divide
from .gaussian.covariance import SHAPES
from .gaussian.normal import Moments, Normal, moments

ERROR = 1e-9  # of a log-density, the most that a caller should allow
KINDS = {"tied": 0, "spherical": 1, "diag": 2, "full": 3, "low_rank": 3}
LINEAR, SPHERE, SQUARES, PRODUCTS = range(4)
ROWS = 1 << 14  # rows that a thread takes at a time, where weights come along


class Coordinates(NamedTuple):
    """Coordinates u = ((x - c) / s) W and the way back, x = c + s * (u A)."""

    c: Any  # (d,) mean of all rows
    s: Any  # (d,) standard deviations
    W: Any  # (d, d)
    A: Any  # (d, d), inverse of W
    kind: int  # which features, see KINDS
    T: Any  # (d, d) sum of w u u' over all rows, where kind is LINEAR

    @property
    def rotated(self) -> bool:
        return self.kind in (LINEAR, PRODUCTS)


def pooled_moments(rows, shape: str) -> Moments:
    """Mean and scatter of all rows: full, or diagonal where the shape is."""
    kind = "full" if KINDS[shape] in (LINEAR, PRODUCTS) else "diag"
    part = lambda X, w=None, *_: moments(_as_double(X), w, kind)
    with np.errstate(invalid="ignore"):
        total = rows.sum(part)
    double = lambda a: arrays.to_numpy(a).astype(float)
    return Moments(
        double(total.weight), double(total.mean), double(total.scatter), kind
    )


def standard_coordinates(rows, shape: str, total: Moments | None = None) -> Coordinates:
    """One pass over the rows: their mean and covariance give the coordinates."""
    total = pooled_moments(rows, shape) if total is None else total
    kind = KINDS[shape]
    c = total.mean
    C = total.scatter / max(float(total.weight), 1e-300)
    d = len(c)
    cross = C.ndim == 2
    variance = np.diagonal(C) if cross else C
    if kind == SPHERE:
        variance = np.full(d, variance.mean())
    s = np.sqrt(np.where(variance > 0, variance, 1.0))
    W = A = T = np.eye(d)
    if cross:
        # any invertible W is right; the ridge keeps it so for dependent columns
        unit = C / np.outer(s, s)
        A = np.linalg.cholesky(unit + 1e-10 * d * np.eye(d)).T
        W = np.linalg.inv(A)
        T = float(total.weight) * (W.T @ unit @ W)
    return Coordinates(c, s, W, np.ascontiguousarray(A), kind, T)


def _as_double(X):
    xp = arrays.namespace(X)
    return xp.astype(X, xp.float64) if arrays.is_float(X) else X


def _inner_factors(normal: Normal, coordinates: Coordinates):
    """Means and factors Q of the precisions in these coordinates."""
    M = (arrays.to_numpy(normal.means).astype(float) - coordinates.c) / coordinates.s
    P = arrays.to_numpy(normal.factor).astype(float)
    k, d = M.shape
    if coordinates.rotated:
        P = P if coordinates.kind == PRODUCTS else P[None]
        return M @ coordinates.W, coordinates.A @ (coordinates.s[:, None] * P)
    Q = np.broadcast_to(P if P.ndim == 2 else P[:, None], (k, d)) * coordinates.s
    return M, Q


def natural_coefficients(normal: Normal, log_weights, coordinates: Coordinates):
    """B of eq. (1), the sum of q, and a bound on the error of the densities."""
    M, Q = _inner_factors(normal, coordinates)
    d = M.shape[1]
    q = 0.0
    constant = arrays.to_numpy(normal.half_log_det) - 0.5 * d * LOG_2PI
    constant = constant + log_weights
    if coordinates.rotated:
        precision = Q @ np.swapaxes(Q, 1, 2)
        slope = (precision @ M[:, :, None])[:, :, 0]
        spread = np.array([np.trace(np.linalg.inv(p)) for p in precision])
        stiffness = np.trace(precision, axis1=1, axis2=2)
        a, b = np.triu_indices(d)
        second = -np.where(a == b, 0.5, 1.0) * precision[:, a, b]
        if coordinates.kind == LINEAR:
            second = np.empty((len(M), 0))
            q = -0.5 * float((precision * coordinates.T).sum())
    else:
        precision = Q * Q
        slope, second = precision * M, -0.5 * precision
        second = second[:, :1] if coordinates.kind == SPHERE else second
        spread = (1 / precision).sum(1)
        stiffness = precision.max(1)
    size = (M * M).sum(1)
    B = np.hstack([(constant - 0.5 * (M * slope).sum(1))[:, None], slope, second])
    error = np.finfo(float).eps * ((size + spread + d) * stiffness).max()
    return np.ascontiguousarray(B), q, error


def natural_features(X, coordinates: Coordinates):
    """t(X) on any backend."""
    xp = arrays.namespace(X)
    like = _as_double(X)
    like_X = lambda a: arrays.asarray(a, like=like)
    U = (like - like_X(coordinates.c)) / like_X(coordinates.s)
    if coordinates.rotated:
        U = xp.matmul(U, like_X(coordinates.W))
    ones = xp.ones((U.shape[0], 1), dtype=U.dtype, device=arrays.device(U))
    if coordinates.kind == LINEAR:
        return xp.concat([ones, U], axis=1)
    if coordinates.kind == SPHERE:
        return xp.concat([ones, U, xp.sum(U * U, axis=1)[:, None]], axis=1)
    if coordinates.kind == SQUARES:
        return xp.concat([ones, U, U * U], axis=1)
    a, b = np.triu_indices(U.shape[1])
    index = lambda i: xp.asarray(i, device=arrays.device(U))
    pairs = xp.take(U, index(a), axis=1) * xp.take(U, index(b), axis=1)
    return xp.concat([ones, U, pairs], axis=1)


def weighted_responsibilities(L, w=None, y=None, owner=None, hard=False):
    """Weighted responsibilities R (n, k) for log-joints L (n, k), and sum of log p.

    Where `hard`, all of a row goes to its most probable component, and the sum is that
    of the joint log-densities there.
    """
    xp = arrays.namespace(L)
    if y is not None:
        like_L = lambda a: xp.asarray(a, device=arrays.device(L))
        y = like_L(y)[:, None]
        ruled_out = (y >= 0) & (like_L(owner)[None, :] != y)
        L = xp.where(ruled_out, xp.full_like(L, -xp.inf), L)
    if hard:
        norm = xp.max(L, axis=1)
        best = xp.argmax(L, axis=1)
        places = xp.arange(L.shape[1], device=arrays.device(L))
        R = xp.astype(best[:, None] == places[None, :], L.dtype)
    else:
        norm = logsumexp(L, axis=1)
        R = xp.exp(L - norm[:, None])
    if w is not None:
        w = arrays.asarray(w, like=L)
        R, norm = R * w[:, None], norm * w
    return R, float(xp.sum(norm))


def _feature_map(coordinates: Coordinates):
    """The coordinates as the compiled loops take them."""
    from . import _natural_parameters as loops

    rotation = np.ascontiguousarray(coordinates.W.T)
    c, s, rotated = coordinates.c, coordinates.s, coordinates.rotated
    return loops.FeatureMap(c, s, rotated, rotation, coordinates.kind)


def expect_block(X, w, y, coordinates: Coordinates, B, owner=None, hard=False):
    """S of eq. (2) under responsibilities, and the log-likelihood, of one block."""
    if arrays.is_numpy(X):
        from . import _natural_parameters as loops

        no_index = np.empty(0, np.int64)
        return loops.expectation_pass(
            np.ascontiguousarray(X),
            np.empty(0) if w is None else np.asarray(w, float),
            w is not None,
            no_index if y is None else np.asarray(y, np.int64),
            no_index if owner is None else np.asarray(owner, np.int64),
            y is not None,
            hard,
            _feature_map(coordinates),
            B,
        )
    xp = arrays.namespace(X)
    T = natural_features(X, coordinates)
    L = xp.matmul(T, arrays.asarray(B, like=T).T)
    R, loglik = weighted_responsibilities(L, w, y, owner, hard)
    return arrays.to_numpy(xp.matmul(T.T, R)), loglik


def expected_features(rows, coordinates: Coordinates, B, owner=None, hard=False):
    """Eq. (2) over rows aligned with weights and labels: S (m, k), log-likelihood."""
    part = lambda X, w=None, y=None: expect_block(X, w, y, coordinates, B, owner, hard)
    return rows.sum(part, blas=True)


def log_densities(X, coordinates: Coordinates, B):
    """Eq. (1) of NumPy rows: (n, k), without q; blocks of rows on threads."""
    from . import _natural_parameters as loops

    out = np.empty((len(X), len(B)))
    features = _feature_map(coordinates)
    part = lambda X, out: loops.fill_log_densities(
        np.ascontiguousarray(X), features, B, out
    )
    for _ in Rows(X, out, block=ROWS).each(part):
        pass
    return out


def weighted_features(X, R, coordinates: Coordinates):
    """Eq. (2) of NumPy rows under given weights R (n, k): S (m, k)."""
    from . import _natural_parameters as loops

    d = len(coordinates.c)
    second = {LINEAR: 0, SPHERE: 1, SQUARES: d, PRODUCTS: d * (d + 1) // 2}
    m = 1 + d + second[coordinates.kind]
    features = _feature_map(coordinates)
    part = lambda X, R: loops.weighted_feature_sums(
        np.ascontiguousarray(X), R, features, m
    )
    return Rows(X, R, block=ROWS).sum(part)


def moments_from_features(S, coordinates: Coordinates, shape: str) -> Moments:
    """The `Moments` in the coordinates of X that S of eq. (2) stands for."""
    d = len(coordinates.c)
    N = S[0]
    first = S[1 : 1 + d].T
    M = safe_divide(first, N[:, None] + 0 * first)
    A = coordinates.A * coordinates.s  # x - c = u A
    if coordinates.kind == LINEAR:
        C = A.T @ (coordinates.T - (M.T * N) @ M) @ A
        return Moments(N, coordinates.c + M @ A, 0.5 * (C + C.T), shape)
    if coordinates.kind == SPHERE:
        C = np.maximum(S[1 + d] - N * (M * M).sum(1), 0.0) * coordinates.s[0] ** 2
        return Moments(N, coordinates.c + M * coordinates.s, C, shape)
    if coordinates.kind == SQUARES:
        C = np.maximum(S[1 + d :].T - N[:, None] * M * M, 0.0) * coordinates.s**2
        return Moments(N, coordinates.c + M * coordinates.s, C, shape)
    a, b = np.triu_indices(d)
    C = np.zeros((len(N), d, d))
    C[:, a, b] = S[1 + d :].T
    C[:, b, a] = S[1 + d :].T
    C -= N[:, None, None] * M[:, :, None] * M[:, None, :]
    C = A.T @ C @ A
    C = 0.5 * (C + np.swapaxes(C, 1, 2))
    kept = "full" if shape == "low_rank" else shape
    return Moments(N, coordinates.c + M @ A, SHAPES[kept].compress(C), kept)
