"""Least squares to the accuracy of QR at the price of the normal equations.

Over coefficients B and intercept b, for rows x_i with weights w_i and targets y_i,

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2 + sum_t alpha_t |B_t|^2            (1)

The passes over the rows are in `core.design`. Fast way, one pass for the moments,
with m the mean,

    G = sum w (x - m)(x - m)^T,   C = sum w (x - m)(y - mean y)^T                (2)

then Cholesky of D (G + alpha) D with D = 1 / sqrt(diag), then passes that refine: with
r = y - b - B^T x taken from the rows themselves, not from (2),

    B <- B + (G + alpha)^-1 (sum w (x - m) r - alpha B)                          (3)

Each pass multiplies the error by about q = eps k(G + alpha), k a condition number,
until what is left is rounding in r, the same as for QR (corrected seminormal
equations). A q above Q_MAX sends the problem the safe way.

Safe way, one pass that triangularises blocks and then their triangles (TSQR):

    [1, X - s, Y] = Q R,   R upper triangular of size d + t + 1                  (4)

The first row of R carries the intercept; the block right and below of it is the
triangle of the centred X, whose columns are scaled to length 1 and whose rank is read
off a pivoted QR. A column's own rounding (a large mean over a small spread) sets how
small is zero. Of many solutions the one of smallest |B| is taken. A small problem is
polished: (3) with r in extended precision, as long as its steps shrink.

Cost      n d^2 flops and 2 reads of X (fast), 2 n d^2 and 1 read (safe)
Shapes    X (n, d)   Y (n, t)   w (n,)   G (d, d)   C, B (d, t)   R (d+t+1, d+t+1)
Refs      [Bjorck1987] corrected seminormal equations; [Demmel2012] TSQR;
          [Bjorck1996] rank and column scaling
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from .arrays import to_numpy
from .design import gradient, moments, prepare, triangle
from .linalg import (
    damped,
    few_threads,
    lengths,
    nonnegative,
    scaled_cholesky,
    singular_values,
    smallest,
    truncated,
)
from .rows import DatasetRows

EPS = float(np.finfo(np.float64).eps)
Q_MAX = 1e-4  # four passes of (3) reach rounding from here
PASSES = 4
SURE = 1e-12  # q below which a penalised fit is not refined
SMALL = 100_000  # entries of X below which the safe way is as quick
POLISH = 10_000  # entries of X up to which extended precision costs little
LONG = np.longdouble  # more digits than float64 on x86, the same elsewhere


class Fit(NamedTuple):
    """A solution of (1) and what was learnt on the way."""

    coef: np.ndarray  # B (d, t)
    intercept: np.ndarray  # b (t,)
    rank: int  # of the centred X
    dropped: tuple[int, ...]  # columns that are constant or depend on the others
    triangle: np.ndarray | None  # T with T^T T = G, if alpha is 0
    residual: np.ndarray  # sum of w r^2, per target
    way: str  # "gram" or "qr"
    passes: int  # refinement passes


def solve_gram(problem, alpha) -> Fit | None:
    """The fast way, eqs (2) and (3); None where it cannot vouch for its digits."""
    least = float(alpha.min())
    M = moments(problem, least)
    d, t = M.cross.shape
    length = np.sqrt(np.maximum(np.diagonal(M.gram), 0) + least)
    if np.any(column_noise(length, M, problem) > 1e-6):
        return None  # hardly more than rounding in a column: let QR judge
    B, factors = np.empty((d, t)), []
    for a in np.unique(alpha):
        factor = scaled_cholesky(M.gram + a * np.eye(d) if a else M.gram)
        if factor is None or factor.q * M.spoilt > Q_MAX:
            return None
        at = np.flatnonzero(alpha == a)
        factors.append((at, factor))
        B[:, at] = factor.solve(M.cross[:, at])
    q = max(f.q for _, f in factors) * M.spoilt
    b = M.offset - M.mean @ B
    D = factors[0][1].D[:, None]
    residual = M.power + np.sum(B * (M.gram @ B - 2 * M.cross), axis=0)
    n_pass = 0
    while n_pass < (0 if q <= SURE and least > 0 else PASSES):
        n_pass += 1
        g, sum_r, residual = gradient(problem, B, b)
        g = g - np.outer(M.mean, sum_r) - alpha * B
        step = np.empty_like(B)
        for at, factor in factors:
            step[:, at] = factor.solve(g[:, at])
        if not np.all(np.isfinite(step)):
            return None
        B = B + step
        if problem.intercept:
            b = b + sum_r / problem.weight - M.mean @ step
        size, moved = np.abs(B / D).max(initial=0), np.abs(step / D).max(initial=0)
        if q * moved <= EPS * size:
            break
    T = factors[0][1].L.T / D.T if alpha[0] == 0 else None
    return Fit(B, b, d, (), T, residual, "gram", n_pass)


def solve_qr(problem, alpha, tol=None, *, svd=False, positive=False) -> Fit:
    """The safe way, eq. (4)."""
    T = triangle(problem)
    with few_threads(T.R.shape[1]):
        return finish(T, problem, alpha, tol, svd=svd, positive=positive)


def finish(T, problem, alpha, tol, *, svd, positive) -> Fit:
    """From the triangle to the solution."""
    d, t = T.R.shape[1], T.c.shape[1]
    noise = column_noise(lengths(T.R), T, problem)
    B = np.empty((d, t))
    rank, dropped, residual = d, (), T.residual.copy()
    for a in np.unique(alpha):
        at = np.flatnonzero(alpha == a)
        if positive:
            B[:, at] = nonnegative(T.R, T.c[:, at], a)
        elif a > 0:
            B[:, at] = damped(T.R, T.c[:, at], a, svd=svd)
        elif tol is not None:
            B[:, at], rank = truncated(T.R, T.c[:, at], tol)
        else:
            B[:, at], rank, dropped = smallest(T.R, T.c[:, at], noise)
    with np.errstate(over="ignore", invalid="ignore"):
        residual += np.sum((T.c - T.R @ B) ** 2, axis=0)
    b = T.offset - T.mean @ B
    if rank == d and tol is None and not (positive or alpha.any()):
        B, b = polish(problem, T, B, b)
    return Fit(B, b, rank, dropped, T.R, residual, "qr", 0)


def polish(problem, T, B, b):
    """Eq. (3) with r in extended precision; B and b as they were if it does not pay.

    The triangle of a QR makes a step wrong by a small share of itself unless the
    columns are nearly dependent; so a step is kept once the next is ten times smaller.
    """
    held = problem.rows
    plain = not isinstance(held, DatasetRows) and isinstance(held.X, np.ndarray)
    if not plain or held.n * held.d > POLISH or np.finfo(LONG).eps > EPS / 100:
        return B, b
    scale = lengths(T.R)
    R = T.R / scale
    solve = lambda g, trans: scipy.linalg.solve_triangular(R, g, trans=trans)
    kept, last = (B, b), np.inf
    for _ in range(PASSES):
        g, sum_r, _ = gradient(problem, B, b, kind=LONG)
        g = (g - np.outer(T.mean, sum_r)) / scale[:, None]
        if not np.all(np.isfinite(g)):
            return kept
        step = solve(solve(g, 1), 0)
        moved = np.abs(step).max(initial=0)
        if moved > 0.1 * last:
            return kept
        kept, last = (B, b), moved
        B = B + step / scale[:, None]
        if problem.intercept:
            b = b + sum_r / problem.weight - T.mean @ (step / scale[:, None])
        if np.all(np.abs(step) <= EPS * np.abs(B * scale[:, None])):
            return B, b
    return kept


def column_noise(norm, part, problem):
    """How far rounding of the data can move a column, relative to its length."""
    at = np.abs(part.mean)
    if problem.shift is not None:
        at = at + np.abs(to_numpy(problem.shift))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.where(norm > 0, np.sqrt(problem.weight) * at / norm, 0.0)
    return 8 * EPS * max(len(norm), 10) * (1 + far)


def least_squares(
    X, Y, w=None, *, alpha=0.0, intercept=True, tol=None, way="auto", positive=False
) -> Fit:
    """Minimise (1); Y has two dimensions, alpha is a number or one per target.

    X is an array, a SciPy CSR matrix, a tensor or `core.rows.DatasetRows`. `tol`
    cuts singular values below that share of the largest, instead of dropping
    columns that are dependent to rounding. `way` is "auto", "gram" (the fast way
    where it is safe), "qr", or "svd" (the safe way with an SVD at its end).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = least_squares(X, np.array([[1.0], [2.0], [2.0], [4.0]]))
    >>> fit.coef.round(12), fit.intercept.round(12)
    (array([[0.9]]), array([0.9]))
    """
    n, d = X.shape
    alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (Y.shape[1],))
    # y - offset rounds, which would cost the digits that polishing gains
    polished = n * d <= POLISH and way != "gram" and not (positive or alpha.any())
    problem = prepare(X, Y, w, intercept=intercept, move_y=not polished)
    fast = way == "gram" or (way == "auto" and n * d > SMALL)
    fit = None
    if fast and not positive and (n > 2 * d or alpha.min() > 0):
        fit = solve_gram(problem, alpha)
        if fit is not None and tol is not None and cut_needed(fit, tol):
            fit = None
    if fit is None:
        fit = solve_qr(problem, alpha, tol, svd=way == "svd", positive=positive)
    b = fit.intercept + problem.offset
    if problem.shift is not None:
        b = b - to_numpy(problem.shift) @ fit.coef
    return fit._replace(intercept=b)


def cut_needed(fit, tol):
    s = singular_values(fit.triangle)
    return s[-1] <= tol * s[0]
