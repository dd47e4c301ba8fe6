"""The last digits of a small least-squares problem, in extended precision.

A small problem costs nothing, so its answer may as well be right to the last digit.
From the triangle T of the centred X and a first B and b (`core.least_squares`, whose
letters these are), with r and the sums in extended precision,

    r = y - b - B^T x,   B <- B + (T^T T)^-1 sum w (x - m) r                     (1)

as long as the steps shrink. B and b are carried with the extra digits too, so that an
intercept far below the mean of y loses nothing. Where the columns are so nearly
dependent that T itself has few digits, T is computed anew by Gram-Schmidt in extended
precision, whose triangle is as good as that of Householder's reflections [Bjorck1967].

Shapes    X (n, d)   T (d, d)   B (d, t)   b (t,)
Refs      [Bjorck1967] iterative refinement and Gram-Schmidt
"""

import numpy as np
import scipy.linalg

from .design import gradient
from .linalg import lengths
from .rows import DatasetRows

EPS = float(np.finfo(np.float64).eps)
POLISH = 10_000  # entries of X up to which extended precision costs little
LONG = np.longdouble  # more digits than float64 on x86, the same elsewhere
PASSES = 4
STIFF = 1e4  # condition of the scaled triangle above which it is computed anew


def polish(problem, T, B, b, residual):
    """The triangle, B, b and the sum of w r^2 after (1); as they were if it is in vain.

    The triangle makes a step wrong by a small share of itself unless the columns are
    nearly dependent; so a step is kept once the next is ten times smaller.
    """
    held = problem.rows
    plain = not isinstance(held, DatasetRows) and isinstance(held.X, np.ndarray)
    if not plain or np.finfo(LONG).eps > EPS / 100:
        return T.R, B, b, residual
    R, scale = T.R, lengths(T.R)
    if condition(R / scale) > STIFF:
        R = long_triangle(problem)
    S = (R / scale).astype(np.float64)
    solve = lambda g, trans: scipy.linalg.solve_triangular(S, g, trans=trans)
    kept, last = (R, B, b, residual), np.inf
    B, b = B.astype(LONG), b.astype(LONG)
    for _ in range(PASSES):
        g, sum_r, left = gradient(problem, B, b, kind=LONG)
        g = ((g - np.outer(T.mean, sum_r)) / scale[:, None]).astype(np.float64)
        if not np.all(np.isfinite(g)):
            return kept
        step = solve(solve(g, 1), 0)
        moved = np.abs(step).max(initial=0)
        if moved > 0.1 * last:
            return kept
        kept, last = (R, B, b, left.astype(np.float64)), moved
        B = B + step / scale[:, None]
        if problem.intercept:
            b = b + sum_r / problem.weight - T.mean @ (step / scale[:, None])
        if np.all(np.abs(step) <= EPS * np.abs(B * scale[:, None])):
            return R, B, b, left.astype(np.float64)
    return kept


def condition(S):
    """A lower bound, mostly sharp, of the condition of a triangle of unit columns."""
    rcond, info = scipy.linalg.lapack.dtrcon(S, norm="1", uplo="U")
    return 1 / rcond if info == 0 and rcond > 0 else np.inf


def long_triangle(problem):
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
