"""Least squares to the accuracy of QR at the price of the normal equations.

Over coefficients B and intercept b, for rows x_i with weights w_i and targets y_i,

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2 + sum_t alpha_t |B_t|^2            (1)

The passes over the rows are in `least_squares_passes.py`. There are two ways to the
solution. The fast way takes one pass for the moments, with m the mean,

    G = sum w (x - m)(x - m)^T,   C = sum w (x - m)(y - mean y)^T                (2)

then a Cholesky factor of D (G + alpha) D with D = 1 / sqrt(diag), then passes that
refine: with r = y - b - B^T x taken from the rows themselves, not from (2),

    B <- B + (G + alpha)^-1 (sum w (x - m) r - alpha B)                          (3)

Each pass multiplies the error by about q = eps k(G + alpha), k a condition number,
until what is left is rounding in r, the same as for QR (corrected seminormal
equations). A q below SURE needs no pass, unless the residual is so small that it must
be summed from the rows; a q above Q_MAX sends the problem the safe way.

The safe way is one pass that triangularises blocks and then their triangles (TSQR):

    [1, X - s, Y] = Q R,   R upper triangular of size d + t + 1                  (4)

The first row of R carries the intercept; the block right and below of it is the
triangle of the centred X, whose columns are scaled to length 1 and whose rank is read
off a pivoted QR. A column's own rounding (a large mean over a small spread) sets how
small is zero. Of many solutions the one of smallest |B| is taken. Where there are more
columns than rows, it is found from the products of rows where these have the digits
(`ridge_spectrum.minimum_norm_fit`).

A small problem is refined in extended precision, which costs nothing there and makes
the answer right to the last digit. From the triangle T and a first B and b,

    r = y - b - B^T x,   B <- B + (T^T T)^-1 sum w (x - m) r                     (5)

as long as the steps shrink. B and b are carried with the extra digits too, so that an
intercept far below the mean of y loses nothing. Where the columns are so nearly
dependent that T itself has few digits, T is computed anew by Gram-Schmidt in extended
precision, whose triangle is as good as that of Householder's reflections [Bjorck1967].

Cost      n d^2 flops and 1 or 2 reads of X (fast), 2 n d^2 and 1 read (safe)
Shapes    X (n, d)   Y (n, t)   w (n,)   G (d, d)   C, B (d, t)   R (d+t+1, d+t+1)
Refs      [Bjorck1987] corrected seminormal equations; [Demmel2012] TSQR;
          [Bjorck1996] rank and column scaling; [Bjorck1967] refinement, Gram-Schmidt
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..arrays.arrays import to_numpy
from ..arrays.rows import DatasetRows
from .least_squares_passes import (
    centred_triangle,
    least_squares_gradient,
    least_squares_moments,
    prepare_least_squares,
    table_in_memory,
)
from .linalg import (
    column_norms,
    minimum_norm_solution,
    nonnegative_least_squares,
    one_thread_if_small,
    ridge_least_squares,
    scaled_cholesky,
    singular_values,
    truncated_least_squares,
)
from .ridge_spectrum import minimum_norm_fit

EPS = float(np.finfo(np.float64).eps)
Q_MAX = 1e-4  # four passes of (3) reach rounding from here
PASSES = 4
SURE = 1e-12  # q below which nothing is left to refine
CLEAR = 1e-3  # least share of the power in the residual that (2) can tell by itself
SMALL = 100_000  # entries of X below which the safe way is as quick
EXTENDED_ENTRIES = 10_000  # entries of X up to which extended precision costs little
LONG = np.longdouble  # more digits than float64 on x86, the same elsewhere
STIFF = 1e4  # condition of the scaled triangle above which it is computed anew


class LeastSquaresFit(NamedTuple):
    """A solution of (1), its rank, residual and triangle."""

    coef: np.ndarray  # B (d, t)
    intercept: np.ndarray  # b (t,)
    rank: int  # of the centred X
    dropped: tuple[int, ...]  # columns that are constant or depend on the others
    triangle: Any  # T with T^T T = G, if alpha is 0; perhaps extended
    residual: np.ndarray  # sum of w r^2, per target
    power: np.ndarray  # sum of w (y - mean y)^2, per target; mean 0 if no intercept
    mean: np.ndarray  # of X (d,); 0 without intercept
    weight: float  # sum of w
    solver: str  # "gram", "qr" or "dual"
    passes: int  # refinement passes


def solve_gram(problem, alpha) -> LeastSquaresFit | None:
    """The fast way, eqs (2) and (3); None where its accuracy is not certain."""
    min_alpha = float(alpha.min())
    M = least_squares_moments(problem, min_alpha)
    d, t = M.cross.shape
    length = np.sqrt(np.maximum(np.diagonal(M.gram), 0) + min_alpha)
    if np.any(column_noise(length, M, problem) > 1e-6):
        return None  # hardly more than rounding in a column: let QR judge
    B = np.empty((d, t))
    factors = []
    for a in np.unique(alpha):
        factor = scaled_cholesky(M.gram + a * np.eye(d) if a else M.gram)
        if factor is None or factor.q * M.amplification > Q_MAX:
            return None
        columns = np.flatnonzero(alpha == a)
        factors.append((columns, factor))
        B[:, columns] = factor.solve(M.cross[:, columns])
    q = max(f.q for _, f in factors) * M.amplification
    b = M.offset - M.mean @ B
    D = factors[0][1].D[:, None]
    residual = M.power + np.sum(B * (M.gram @ B - 2 * M.cross), axis=0)
    n_pass = 0
    sure = q <= SURE and (min_alpha > 0 or bool(np.all(residual > CLEAR * M.power)))
    while n_pass < (0 if sure else PASSES):
        n_pass += 1
        g, sum_r, residual = least_squares_gradient(problem, B, b)
        g = g - np.outer(M.mean, sum_r) - alpha * B
        step = np.empty_like(B)
        for columns, factor in factors:
            step[:, columns] = factor.solve(g[:, columns])
        if not np.all(np.isfinite(step)):
            return None
        B = B + step
        if problem.intercept:
            b = b + sum_r / problem.weight - M.mean @ step
        size, moved = np.abs(B / D).max(initial=0), np.abs(step / D).max(initial=0)
        if q * moved <= EPS * size:
            break
    T = factors[0][1].L.T / D.T if alpha[0] == 0 else None
    kept = (T, residual, M.power, M.mean, problem.weight)
    return LeastSquaresFit(B, b, d, (), *kept, "gram", n_pass)


def solve_wide(X, Y, w, *, intercept) -> LeastSquaresFit | None:
    """The solution of minimum norm where there are more columns than rows."""
    fit = minimum_norm_fit(X, Y, w, intercept=intercept)
    if fit is None:
        return None
    kept = (np.diag(fit.singular), 0 * fit.power, fit.power, fit.mean)
    rank = len(fit.singular)
    weight = float(len(Y) if w is None else w.sum())
    return LeastSquaresFit(fit.B, fit.intercept, rank, (), *kept, weight, "dual", 0)


def solve_qr(problem, alpha, tol=None, *, svd=False, positive=False) -> LeastSquaresFit:
    """The safe way, eq. (4)."""
    T = centred_triangle(problem)
    with one_thread_if_small(T.R.shape[1]):
        return solve_triangle(T, problem, alpha, tol, svd=svd, positive=positive)


def solve_triangle(T, problem, alpha, tol, *, svd, positive) -> LeastSquaresFit:
    """The solution from the triangle of eq. (4)."""
    d, t = T.R.shape[1], T.c.shape[1]
    noise = column_noise(column_norms(T.R), T, problem)
    B = np.empty((d, t))
    rank = d
    dropped = ()
    residual = T.residual.copy()
    with np.errstate(over="ignore"):
        power = T.residual + np.sum(T.c**2, axis=0)
    for a in np.unique(alpha):
        columns = np.flatnonzero(alpha == a)
        if positive:
            B[:, columns] = nonnegative_least_squares(T.R, T.c[:, columns], a)
        elif a > 0:
            B[:, columns] = ridge_least_squares(T.R, T.c[:, columns], a, svd=svd)
        elif tol is not None:
            B[:, columns], rank = truncated_least_squares(T.R, T.c[:, columns], tol)
        else:
            B[:, columns], rank, dropped = minimum_norm_solution(
                T.R, T.c[:, columns], noise
            )
    with np.errstate(over="ignore", invalid="ignore"):
        residual += np.sum((T.c - T.R @ B) ** 2, axis=0)
    b = T.offset - T.mean @ B
    R = T.R
    small = problem.rows.n * d <= EXTENDED_ENTRIES
    if small and rank == d and tol is None and not (positive or alpha.any()):
        R, B, b, residual = refine_in_extended_precision(problem, T, B, b, residual)
    kept = (R, residual, power, T.mean, problem.weight)
    return LeastSquaresFit(B, b, rank, dropped, *kept, "qr", 0)


def refine_in_extended_precision(problem, T, B, b, residual):
    """The triangle, B, b and the sum of w r^2 after (5); unchanged if (5) fails.

    The triangle makes a step wrong by a small share of itself unless the columns are
    nearly dependent; so a step is kept once the next is ten times smaller.
    """
    held = problem.rows
    plain = not isinstance(held, DatasetRows) and isinstance(held.X, np.ndarray)
    if not plain or np.finfo(LONG).eps > EPS / 100:
        return T.R, B, b, residual
    R = T.R
    scale = column_norms(T.R)
    if triangle_condition(R / scale) > STIFF:
        R = extended_precision_triangle(problem)
    S = (R / scale).astype(np.float64)
    solve = lambda g, trans: scipy.linalg.solve_triangular(S, g, trans=trans)
    kept = (R, B, b, residual)
    last = np.inf
    B, b = B.astype(LONG), b.astype(LONG)
    for _ in range(PASSES):
        g, sum_r, left = least_squares_gradient(problem, B, b, dtype=LONG)
        g = ((g - np.outer(T.mean, sum_r)) / scale[:, None]).astype(np.float64)
        if not np.all(np.isfinite(g)):
            return kept
        step = solve(solve(g, 1), 0)
        moved = np.abs(step).max(initial=0)
        if moved > 0.1 * last:
            return kept
        kept = (R, B, b, left.astype(np.float64))
        last = moved
        B = B + step / scale[:, None]
        if problem.intercept:
            b = b + sum_r / problem.weight - T.mean @ (step / scale[:, None])
        if np.all(np.abs(step) <= EPS * np.abs(B * scale[:, None])):
            return R, B, b, left.astype(np.float64)
    return kept


def triangle_condition(S):
    """A lower bound, mostly sharp, of the condition of a triangle of unit columns."""
    rcond, info = scipy.linalg.lapack.dtrcon(S, norm="1", uplo="U")
    return 1 / rcond if info == 0 and rcond > 0 else np.inf


def extended_precision_triangle(problem):
    """T with T^T T = sum w (x - m)(x - m)^T, from the rows in extended precision."""
    held = problem.rows
    w = held.aligned[1]
    A = held.X.astype(LONG)
    weight = np.ones(len(A), LONG) if w is None else w.astype(LONG)
    if problem.intercept:
        A -= weight @ A / weight.sum()
    A *= np.sqrt(weight)[:, None]
    d = A.shape[1]
    R = np.zeros((d, d), LONG)
    for k in range(d):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / R[k, k]
        R[k, k + 1 :] = q @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(q, R[k, k + 1 :])
    return R


def column_noise(norm, part, problem):
    """Bound on how far rounding of the data moves a column, relative to its length."""
    magnitude = np.abs(part.mean)
    if problem.shift is not None:
        magnitude = magnitude + np.abs(to_numpy(problem.shift))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.where(norm > 0, np.sqrt(problem.weight) * magnitude / norm, 0.0)
    return 8 * EPS * max(len(norm), 10) * (1 + far)


def least_squares(
    X, Y, w=None, *, alpha=0.0, intercept=True, tol=None, solver="auto", positive=False
) -> LeastSquaresFit:
    """Minimise (1); Y has two dimensions, alpha is a number or one per target.

    X is an array, a SciPy CSR matrix, a tensor or `core.arrays.rows.DatasetRows`. `tol`
    cuts singular values below that share of the largest, instead of dropping
    columns that are dependent to rounding. `solver` is "auto", "gram" (normal
    equations where they are accurate enough), "qr", or "svd" (QR, then an SVD).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = least_squares(X, np.array([[1.0], [2.0], [2.0], [4.0]]))
    >>> fit.coef.round(12), fit.intercept.round(12)
    (array([[0.9]]), array([0.9]))
    """
    n, d = X.shape
    if isinstance(X, DatasetRows) and (n * d <= EXTENDED_ENTRIES or d >= n):
        X = table_in_memory(X)
    alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (Y.shape[1],))
    fast = solver == "gram" or (solver == "auto" and n * d > SMALL)
    wide = d >= n > 1 and fast and not positive and tol is None and not alpha.any()
    if wide:
        fit = solve_wide(X, Y, w, intercept=intercept)
        if fit is not None:
            return fit
    # y - offset rounds, which would cost the digits that refinement gains
    refined = (
        n * d <= EXTENDED_ENTRIES and solver != "gram" and not (positive or alpha.any())
    )
    problem = prepare_least_squares(X, Y, w, intercept=intercept, move_y=not refined)
    fit = None
    if fast and not positive and (n > 2 * d or alpha.min() > 0):
        fit = solve_gram(problem, alpha)
        if fit is not None and tol is not None and needs_truncation(fit, tol):
            fit = None
    if fit is None:
        fit = solve_qr(problem, alpha, tol, svd=solver == "svd", positive=positive)
    b = fit.intercept + problem.offset
    m = fit.mean
    if problem.shift is not None:
        s = to_numpy(problem.shift)
        b, m = b - s @ fit.coef, m + s
    B, b = (a.astype(np.float64, copy=False) for a in (fit.coef, b))
    return fit._replace(coef=B, intercept=b, mean=m)


def needs_truncation(fit, tol):
    s = singular_values(fit.triangle)
    return s[-1] <= tol * s[0]


def inverse_triangle(T):
    """T^-1, in T's precision."""
    if T.dtype == np.float64:
        out, info = scipy.linalg.lapack.dtrtri(T)
        return out if info == 0 else np.full_like(T, np.inf)
    d = len(T)
    out = np.zeros_like(T)
    for i in reversed(range(d)):
        out[i, i] = 1 / T[i, i]
        out[i, i + 1 :] = -(T[i, i + 1 : d] @ out[i + 1 :, i + 1 :]) * out[i, i]
    return out


def coefficient_scales(fit, *, intercept) -> np.ndarray:
    """sqrt(diag((A^T W A)^-1)) for A = X, or [1, X] with the intercept first.

    With m the mean, the square of the intercept's is 1 / sum w + |T^-T m|^2.
    """
    inverse = inverse_triangle(fit.triangle)
    size = column_norms(inverse.T)
    if intercept:
        first = np.append(fit.mean @ inverse, fit.weight**-0.5)
        size = np.concatenate([column_norms(first[:, None]), size])
    return size.astype(np.float64)
