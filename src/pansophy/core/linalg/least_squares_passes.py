"""Passes over the rows of a least-squares problem: moments, gradient, triangle.

The rows x_i, targets y_i and weights w_i of `core.linalg.least_squares`, wherever they
are held, enter a fit only through three sums (its equations 2 to 4):

    moments     sum w (x - m)(x - m)^T and sum w (x - m)(y - mean y)^T
    gradient    sum w (x - m) r at given coefficients
    triangle    R of [1, X - s, Y] = Q R, triangles of blocks folded as they come

Rows are moved by s, an approximate mean, so that nothing cancels. The shift costs no
copy of X: it is applied to a block in cache. It is rounded to few bits, so that x - s
is exact for whole numbers; y is moved likewise. All sums are in float64.

Shapes    X (n, d)   Y (n, t)   w (n,)   s, m (d,)
Refs      [Demmel2012] TSQR; [Chan1983] shifted sums
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays.arrays import as_float, is_foreign, namespace, to_numpy
from ..arrays.rows import DatasetRows, Rows, as_rows

SAMPLE = 256  # rows that the shift is estimated from
SAMPLED_FROM = 1 << 16  # rows that these are spread over, the first
TAME = 8.0  # |mean| / spread up to which no shift is made: costs a digit at most
BLOCK_BYTES = 1 << 22  # of a block that is read where it lies
PARTS = 4  # blocks at least, where there are rows for them: one for each thread
COPY_BYTES = 1 << 20  # of a block that is copied to be shifted or weighted
PIECE = 100_000  # entries of a block that are worked on at a time


class LeastSquaresProblem(NamedTuple):
    """Rows, targets and weights in blocks, with the shift of the rows."""

    rows: Rows  # aligned with y less its offset, (n, t), and w (n,) or None
    shift: Any  # s (d,) of X's library, or None for 0
    offset: np.ndarray  # nearly the mean of y, (t,)
    weight: float  # sum of w
    intercept: bool
    like: Any  # an array of X's library and device


class LeastSquaresMoments(NamedTuple):
    """Centred second moments of rows and targets (y less its offset)."""

    gram: np.ndarray  # G
    cross: np.ndarray  # C
    power: np.ndarray  # sum w (y - mean)^2
    mean: np.ndarray  # m - s
    offset: np.ndarray  # mean of y
    amplification: float  # largest factor by which centring amplified rounding in G


class CentredTriangle(NamedTuple):
    """Triangle of a QR decomposition of the centred rows."""

    R: np.ndarray  # triangle of the centred X
    c: np.ndarray  # Q^T y in it
    mean: np.ndarray  # m - s
    offset: np.ndarray  # mean of y
    residual: np.ndarray  # |y|^2 outside the range of X


def prepare_least_squares(
    X, Y, w=None, *, intercept=True, move_y=True
) -> LeastSquaresProblem:
    """Choose a shift of the rows, centre y roughly, and cut the rows into blocks."""
    held = X if isinstance(X, Rows) else None
    like = X if held is None and is_foreign(X) else np.empty(0)
    xp = namespace(like)
    Y = xp.astype(as_float(Y), xp.float64)
    w = None if w is None else xp.astype(w, xp.float64)
    n, d = (int(k) for k in X.shape)
    W = float(n) if w is None else float(xp.sum(w))
    offset = np.zeros(Y.shape[1])
    if intercept and move_y:
        center = to_numpy(xp.mean(Y, axis=0) if w is None else (w @ Y) / W)
        spread = to_numpy(xp.max(Y, axis=0) - xp.min(Y, axis=0)) / 4
        offset = round_to_few_bits(center, spread)
        Y = Y - on_device(offset, like)
    pieces = as_rows(X, Y, w) if held is None else held.with_aligned(Y, w)
    shift = choose_shift(pieces, w, like) if intercept else None
    if held is None or isinstance(held, DatasetRows):  # cut alike: same last bit
        size = BLOCK_BYTES if shift is None and w is None else COPY_BYTES
        size = 64 * BLOCK_BYTES if is_foreign(X) else size  # devices like it large
        min_block = max(256, 4 * d if n > 4 * d else n)
        block = max(min_block, min(size // (8 * max(d, 1)), -(-n // PARTS)))
        pieces = as_rows(X, Y, w, block=block)
    return LeastSquaresProblem(pieces, shift, offset, W, intercept, like)


def choose_shift(pieces, w, like):
    """s: the mean of some rows, on few bits; None where the means are small.

    They are of the first rows, so that little of a table on disk is read for them.
    """
    n = min(pieces.n, SAMPLED_FROM)
    pick = np.unique(np.linspace(0, n - 1, SAMPLE).astype(int))
    if w is not None:
        heavy = np.flatnonzero(to_numpy(w) > 0)[:n]
        pick = heavy[np.unique(np.linspace(0, len(heavy) - 1, SAMPLE).astype(int))]
    sample = pieces.take(pick)
    sample = to_numpy(sample.toarray() if sp.issparse(sample) else sample).astype(
        np.float64
    )
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sample.mean(axis=0)
        spread = sample.std(axis=0)
        if np.all(np.abs(mean) <= TAME * spread) or not np.all(np.isfinite(mean)):
            return None
    return on_device(round_to_few_bits(mean, spread), like)


def round_to_few_bits(mean, spread):
    """`mean` rounded to a 256th of `spread`; 0 where that makes no sense."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.where(spread > 0, spread, np.abs(mean))
        grain = 2.0 ** (np.frexp(np.where(spread > 0, spread, 1.0))[1] - 8)
        rounded = np.round(mean / grain) * grain
    return np.where(np.isfinite(rounded), rounded, 0.0)


def on_device(a, like):
    """A NumPy array next to `like`, its own dtype kept."""
    if not is_foreign(like):
        return a
    return namespace(like).asarray(a, device=like.device)


def weighted_design(x, shift, root=None):
    """sqrt(w) (x - s) as a dense float64 block."""
    if sp.issparse(x):
        x = x.toarray()
    xp = namespace(x)
    x_before = x
    x = x if x.dtype == xp.float64 else xp.astype(x, xp.float64)
    x = x if shift is None else x - shift
    if root is None:
        return x
    if x is not x_before and not is_foreign(x):
        x *= root[:, None]
        return x
    return x * root[:, None]


def least_squares_moments(problem, alpha=0.0) -> LeastSquaresMoments:
    """Centred moments in one pass; alpha, the least penalty, only softens `spoilt`."""
    s, W = problem.shift, problem.weight

    def stats(x, y, w):
        xp = namespace(x)
        root = None if w is None else xp.sqrt(w)
        ones = xp.ones_like(y[:, :1]) if root is None else root[:, None]
        yr = y if root is None else y * ones
        power = xp.sum(yr * ones, axis=0), xp.sum(yr * yr, axis=0)
        if not is_foreign(x):
            return *_block_moments(x, s, root, yr, ones[:, 0]), *power
        A = weighted_design(x, s, root)
        return A.T @ A, A.T @ xp.concat([yr, ones], axis=1), *power

    G, G_right, sum_y, power = (to_numpy(a) for a in problem.rows.sum(stats))
    C, first = G_right[:, :-1], G_right[:, -1]
    _refuse_missing_values(problem, np.diagonal(G))
    if not problem.intercept:
        return LeastSquaresMoments(G, C, power, np.zeros(len(G)), 0 * power, 1.0)
    m = first / W
    power_before = np.diagonal(G).copy()
    G = G - np.outer(first, m)
    power_after = np.diagonal(G) + alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(power_after > 0, (power_before + alpha) / power_after, np.inf)
    spoilt = float(np.max(np.where(power_before > 0, ratio, 1.0), initial=1.0))
    C, power = C - np.outer(m, sum_y), power - sum_y**2 / W
    return LeastSquaresMoments(G, C, power, m, sum_y / W, spoilt)


def _block_moments(x, shift, root, y, one):
    """A^T A and A^T [y, one] for A = sqrt(w)(x - s), piece by piece.

    A piece fits in the cache next to a core, where it is shifted and read thrice.
    NumPy takes A.T @ A as a symmetric product at half the price and, unlike SciPy's
    `dsyrk`, lets other threads run meanwhile.
    """
    m, d = x.shape
    G, C = np.zeros((d, d)), np.zeros((d, y.shape[1] + 1))
    product = np.empty((d, d))
    step = max(PIECE // d, min(d, m))
    for i in range(0, m, step):
        cut = slice(i, i + step)
        A = weighted_design(x[cut], shift, None if root is None else root[cut])
        G += np.matmul(A.T, A, out=product)
        for j in range(y.shape[1]):
            C[:, j] += A.T @ y[cut, j]
        C[:, -1] += A.T @ one[cut]
    return G, C


def least_squares_gradient(problem, B, b, *, dtype=np.float64):
    """sum w (x - s) r, sum w r and sum w r^2 at r = y - b - B^T (x - s).

    `dtype` is the number type of the sums, for NumPy arrays.
    """
    xp = namespace(problem.like)
    B, b = (on_device(a, problem.like) for a in (B, b))

    def stats(x, y, w):
        if dtype is not np.float64:
            x, y = x.astype(dtype), y.astype(dtype)
            A = x if problem.shift is None else x - problem.shift
        else:
            A = weighted_design(x, problem.shift)
        r = y - b - A @ B
        wr = r if w is None else r * w[:, None]
        return A.T @ wr, xp.sum(wr, axis=0), xp.sum(wr * r, axis=0)

    return tuple(to_numpy(a) for a in problem.rows.sum(stats))


def centred_triangle(problem) -> CentredTriangle:
    """R of the QR decomposition of the rows, merged from the triangles of blocks."""
    d = problem.rows.d
    t = problem.rows.aligned[0].shape[1]
    p = d + t + problem.intercept

    def stats(x, y, w):
        xp = namespace(x)
        root = None if w is None else xp.sqrt(w)
        ones = xp.ones_like(y[:, :1])
        parts = [weighted_design(x, problem.shift), y]
        A = xp.concat([ones, *parts] if problem.intercept else parts, axis=1)
        A = A if root is None else A * root[:, None]
        return triangle_of(A)

    R = merge_triangles(problem.rows.each(stats), p)
    _refuse_missing_values(problem, R)
    i = int(problem.intercept)
    with np.errstate(over="ignore"):
        outside = np.sum(R[i + d :, i + d :] ** 2, axis=0)
    mean, offset = np.zeros(d), np.zeros(t)
    if i:
        mean, offset = R[0, 1 : 1 + d] / R[0, 0], R[0, 1 + d :] / R[0, 0]
    T = R[i : i + d, i:]
    return CentredTriangle(T[:, :d], T[:, d:], mean, offset, outside)


def merge_triangles(parts, width):
    """The triangle of all rows from those of blocks, `width` columns, as they come."""
    triangles = []
    height = 0
    for R in parts:
        triangles.append(R)
        height += len(R)
        if height > 8 * width:
            triangles = [triangle_of(np.concatenate(triangles))]
            height = len(triangles[0])
    R = triangles[0]
    return triangle_of(np.concatenate(triangles)) if len(triangles) > 1 else R


def triangle_of(A):
    """The triangle R of A = Q R, as a NumPy array."""
    if is_foreign(A):
        return to_numpy(namespace(A).linalg.qr(A)[1])
    return np.linalg.qr(A, mode="r")


def table_in_memory(table: DatasetRows):
    """The rows of a table on disk as an array; missing values are refused."""
    X = table.take(np.arange(table.n))
    _refuse_missing_columns(table, np.sum(~np.isfinite(X), axis=0))
    return X


def _refuse_missing_values(problem, sums):
    """Refuse NaN in a table on disk, by its sums; arrays were checked before."""
    if not isinstance(problem.rows, DatasetRows) or np.all(np.isfinite(sums)):
        return
    count = problem.rows.sum(
        lambda x, y, w: np.sum(~np.isfinite(x), axis=0), blas=False
    )
    _refuse_missing_columns(problem.rows, count)


def _refuse_missing_columns(table, count):
    """Raise if a column of a table on disk has missing values, by their counts."""
    bad = [repr(table.columns[j]) for j in np.flatnonzero(count)]
    if bad:
        raise ValueError(f"Column {', '.join(bad)} of X contains NaN or infinity.")
