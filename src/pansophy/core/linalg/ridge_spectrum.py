"""Ridge regression at many penalties from one spectral decomposition of the rows.

With m the mean, Xc = sqrt(w)(X - 1 m^T) = U S V^T and yc likewise,

    B(alpha) = V diag(1 / (S^2 + alpha)) p,      p = V^T Xc^T yc                  (1)
             = Xc^T U diag(1 / (S^2 + alpha)) q, q = U^T yc                       (2)
    h_i(alpha) = w_i / W + sum_k (sqrt(w_i) (x_i - m) V_k)^2 / (S_k^2 + alpha)    (3)

(1) for n > d, from the moments (S^2 by eigenvalues) where the penalty exceeds their
rounding and from the triangle of a QR otherwise; (2) for d >= n, from the products of
rows K = Xc Xc^T, whose null direction sqrt(w) is the intercept. (3) is the leverage
of row i, and removing the row with all its weight changes its residual to

    r_i(alpha) / (1 - h_i(alpha))                                                (4)

without a refit. K and B in (2) are summed over blocks of columns, so that no second
copy of X is made.

Cost      n d min(n, d), once; then d^2 (or n d) for each alpha
Shapes    X (n, d)   Y (n, t)   S (k,)   V (d, k)   U (n, k)   alphas (a,)
Refs      [GolubHeathWahba1979]; [Hastie2004] both forms; [Allen1974] eq. (4)
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays.arrays import as_float, asarray, is_foreign, namespace, to_numpy
from ..arrays.rows import DatasetRows
from ..loops import threads
from .least_squares_passes import (
    centred_triangle,
    least_squares_moments,
    on_device,
    prepare_least_squares,
    table_in_memory,
    weighted_design,
)
from .linalg import one_thread_if_small, scaled_cholesky

EPS = float(np.finfo(np.float64).eps)
SHARP = 1e-11  # largest relative error of the moments that is let pass
COARSE = 1e-6  # largest relative error of the products of rows that one pass mends
COLUMNS = 1 << 23  # bytes of a block of columns


class RidgeSpectrum(NamedTuple):
    """The decomposition of the rows and what eqs (1) to (4) need of it."""

    squares: np.ndarray  # S^2 (k,), falling
    V: Any  # (d, k) for eq. (1), else None
    U: Any  # (n, k) for eq. (2), else None
    p: np.ndarray  # p of eq. (1), or q of eq. (2): (k, t)
    mean: np.ndarray  # m (d,), 0 without intercept
    offset: np.ndarray  # mean of y (t,)
    problem: Any  # the rows

    def shrink(self, alphas):
        """1 / (S^2 + alpha), (k, a); directions of no length at alpha 0 count 0."""
        total = self.squares[:, None] + np.asarray(alphas, np.float64)
        return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)


def row_gram_matrix(X, w=None, *, intercept=True):
    """K = Xc Xc^T (n, n) and m, by blocks of columns; a sparse X stays sparse."""
    n, d = X.shape
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)  # differences of products lose digits
        weight = np.ones(n) if w is None else w
        m = (X.T @ weight) / weight.sum() if intercept else np.zeros(d)
        a = X @ m
        K = (X @ X.T).toarray() - a[:, None] - a + m @ m
        root = np.sqrt(weight)
        return K * root[:, None] * root, m
    w = None if w is None else namespace(w).astype(w, namespace(w).float64)

    K = None
    means = []
    for part, m in _map_column_blocks(lambda A, m: (A @ A.T, m), X, w, intercept):
        K = part if K is None else K + part
        means.append(m)
    return to_numpy(K), to_numpy(namespace(X).concat(means))


def _map_column_blocks(function, X, w, intercept, mean=None):
    """function(block of columns of Xc, the means of its columns), on threads."""
    xp = namespace(X)
    n, d = X.shape
    width = max(64, COLUMNS // (8 * n))
    root = None if w is None else xp.sqrt(xp.astype(w, xp.float64))[:, None]

    def task(cut):
        A = xp.astype(X[:, cut], xp.float64)
        if mean is not None:
            m = mean[cut]
        elif intercept:
            m = xp.mean(A, axis=0) if w is None else (w @ A) / xp.sum(w)
        else:
            m = xp.zeros_like(A[0, :])
        if not intercept:
            A = A if root is None else A * root
        elif is_foreign(A):
            A = A - m if root is None else (A - m) * root
        else:
            A -= m  # a copy of ours, since xp.astype made one
            A *= 1.0 if root is None else root
        return function(A, m)

    cuts = [slice(j, min(j + width, d)) for j in range(0, d, width)]
    if is_foreign(X):
        return (task(cut) for cut in cuts)
    return threads.run_tasks(((lambda cut=cut: task(cut)) for cut in cuts), blas=True)


def primal_from_dual(X, w, m, dual):
    """Xc^T dual, (d, t), in the blocks of `row_gram_matrix`."""
    if sp.issparse(X):
        D = dual if w is None else dual * np.sqrt(w)[:, None]
        return X.T @ D - np.outer(m, D.sum(axis=0))
    xp = namespace(X)
    like = xp.astype(X[:0, :1], xp.float64)
    dual, mean = asarray(dual, like), asarray(m, like)
    parts = _map_column_blocks(lambda A, _: A.T @ dual, X, w, bool(np.any(m)), mean)
    return to_numpy(xp.concat(list(parts)))


def centred_product(X, w, m, B):
    """Xc B, (n, t), in the blocks of `row_gram_matrix`."""
    root = None if w is None else np.sqrt(to_numpy(w).astype(np.float64))[:, None]
    if sp.issparse(X):
        product = X @ B - m @ B
        return product if root is None else product * root
    xp = namespace(X)
    product = to_numpy(X @ asarray(B, xp.astype(X[:0, :1], xp.float64))) - m @ B
    return product if root is None else product * root


def centred_targets(Y, w, *, intercept):
    """sqrt(w) (Y - mean) and the mean, as NumPy arrays in float64."""
    Y = to_numpy(as_float(Y)).astype(np.float64)
    w = None if w is None else to_numpy(w).astype(np.float64)
    offset = np.average(Y, axis=0, weights=w) if intercept else np.zeros(Y.shape[1])
    Y = Y - offset
    return (Y if w is None else Y * np.sqrt(w)[:, None]), offset


def ridge_spectrum(
    X, Y, w=None, *, min_alpha=0.0, intercept=True, solver="auto"
) -> RidgeSpectrum:
    """Decompose the rows once, for every alpha of at least `min_alpha`.

    `solver` is "auto", "gram" (eigenvalues of the moments), "svd" (of the triangle of a
    QR) or "dual" (eigenvalues of the products of rows).
    """
    n, d = X.shape
    if isinstance(X, DatasetRows) and d >= n:
        X = table_in_memory(X)
    if solver == "dual" or (solver == "auto" and d >= n):
        return _dual_spectrum(X, Y, w, intercept)
    problem = prepare_least_squares(X, Y, w, intercept=intercept)
    shift = 0.0 if problem.shift is None else to_numpy(problem.shift)
    if solver != "svd":
        M = least_squares_moments(problem, min_alpha)
        with one_thread_if_small(d):
            squares, V = scipy.linalg.eigh(M.gram, check_finite=False)
        error = 4 * EPS * np.sqrt(d) * M.amplification * squares[-1]
        if solver == "gram" or error <= SHARP * (squares[0] + min_alpha):
            squares, V = np.maximum(squares[::-1], 0.0), V[:, ::-1]
            p = V.T @ M.cross
            rest = (M.mean + shift, M.offset + problem.offset, problem)
            return RidgeSpectrum(squares, np.ascontiguousarray(V), None, p, *rest)
    T = centred_triangle(problem)
    with one_thread_if_small(d):
        P, s, Vt = scipy.linalg.svd(T.R, full_matrices=False, check_finite=False)
    p = s[:, None] * (P.T @ T.c)
    noise = 8 * EPS * max(n, d) * s.max(initial=0.0)
    squares = np.where(s > noise, s, 0.0) ** 2
    p = np.where(squares[:, None] > 0, p, 0.0)
    rest = (T.mean + shift, T.offset + problem.offset, problem)
    return RidgeSpectrum(squares, Vt.T.copy(), None, p, *rest)


def _dual_spectrum(X, Y, w, intercept) -> RidgeSpectrum:
    K, m = row_gram_matrix(X, w, intercept=intercept)
    yc, offset = centred_targets(Y, w, intercept=intercept)
    with one_thread_if_small(len(K)):
        squares, U = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False)
    squares, U = squares[::-1], U[:, ::-1]
    noise = 8 * EPS * max(X.shape) * max(squares[0], 0.0)
    squares = np.where(squares > noise, squares, 0.0)
    return RidgeSpectrum(squares, None, U, U.T @ yc, m, offset, (X, yc, w, intercept))


class MinimumNormFit(NamedTuple):
    """Least-squares solution of minimum norm for n <= d rows."""

    B: np.ndarray
    intercept: np.ndarray
    singular: np.ndarray  # S (rank,), falling
    power: np.ndarray  # sum w (y - mean)^2
    mean: np.ndarray


def minimum_norm_fit(X, Y, w, *, intercept) -> MinimumNormFit | None:
    """The B of minimum norm that fits n <= d rows exactly, Xc^T K^-1 yc.

    None where the rows are nearly dependent, so that K is inaccurate, or one weighs 0.
    """
    if w is not None and not bool(namespace(w).all(w > 0)):
        return None
    K, m = row_gram_matrix(X, w, intercept=intercept)
    yc, offset = centred_targets(Y, w, intercept=intercept)
    n = len(K)
    full = K
    if intercept:  # fill the null direction, which yc has nothing of
        v = np.ones(n) if w is None else np.sqrt(to_numpy(w).astype(np.float64))
        v = v / np.linalg.norm(v)
        full = K + (np.trace(K) / n) * np.outer(v, v)
    factor = scaled_cholesky(full)
    if factor is None or factor.q > COARSE:
        return None
    dual = factor.solve(yc)
    dual += factor.solve(yc - full @ dual)
    B = primal_from_dual(X, w, m, dual)
    if factor.q > SHARP / 10:  # what K has lost, the rows still know
        B += primal_from_dual(X, w, m, factor.solve(yc - centred_product(X, w, m, B)))
    with one_thread_if_small(n):
        squares = scipy.linalg.eigvalsh(K, check_finite=False)[::-1]
    singular = np.sqrt(squares[: n - intercept])
    return MinimumNormFit(B, offset - m @ B, singular, np.sum(yc**2, axis=0), m)


def ridge_coefficients(S: RidgeSpectrum, alphas):
    """B (d, t, a) and b (t, a), eqs (1) and (2)."""
    F = S.shrink(alphas)
    inner = S.p[:, :, None] * F[:, None, :]
    k, t, a = inner.shape
    if S.V is not None:
        B = S.V @ inner.reshape(k, t * a)
    else:
        live = S.squares > 0
        X, _, w, _ = S.problem
        B = primal_from_dual(
            X, w, S.mean, S.U[:, live] @ inner[live].reshape(-1, t * a)
        )
    B = B.reshape(-1, t, a)
    return B, S.offset[:, None] - np.tensordot(S.mean, B, axes=1)


def leave_one_out_errors(S: RidgeSpectrum, alphas, *, total=False):
    """Eq. (4), each error of a row left out: (n, t, a), times sqrt(w).

    With `total` the sums of their squares instead, (t, a), without the array.
    """
    if S.V is None:
        E = _dual_leave_one_out_errors(S, alphas)
        return np.sum(E**2, axis=0) if total else E
    problem = S.problem
    F = S.shrink(alphas)
    k = len(F)
    (t, a) = (S.p.shape[1], F.shape[1])
    shift = 0.0 if problem.shift is None else to_numpy(problem.shift)
    like_data = lambda v: on_device(np.ascontiguousarray(v), problem.like)
    inner = like_data((S.p[:, :, None] * F[:, None, :]).reshape(k, t * a))
    m, c, V, F = (
        like_data(v) for v in (S.mean - shift, S.offset - problem.offset, S.V, F)
    )
    W = problem.weight

    def errors(x, y, w):
        xp = namespace(x)
        Q = (weighted_design(x, problem.shift) - m) @ V
        fit = xp.reshape(Q @ inner, (-1, t, a))
        Q *= Q
        h = Q @ F
        h = h + 1 / W if problem.intercept else h
        left = 1 - (h if w is None else h * w[:, None])
        e = ((y - c)[:, :, None] - fit) / left[:, None, :]
        e = e if w is None else e * xp.sqrt(w)[:, None, None]
        return xp.sum(e * e, axis=0) if total else e

    errors_found = problem.rows.sum(errors) if total else problem.rows.map(errors)
    return to_numpy(errors_found)


def _dual_leave_one_out_errors(S: RidgeSpectrum, alphas):
    _, yc, w, intercept = S.problem
    F = S.shrink(alphas)
    n, t = yc.shape
    r = (S.U @ (S.p[:, :, None] * F[:, None, :]).reshape(n, -1)).reshape(n, t, -1)
    square = S.U**2
    null = S.squares == 0
    if intercept and null.any():  # one null direction, sqrt(w), is not penalised
        share = np.full(n, 1 / n) if w is None else to_numpy(w) / float(np.sum(w))
        other_share = np.maximum(square[:, null].sum(axis=1) - share, 0.0)
        square[:, null] = 0.0
        if null.sum() > 1:
            square[:, np.argmax(null)] = other_share
    left = square @ F  # (1 - h) / alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        return r / left[:, None, :]
