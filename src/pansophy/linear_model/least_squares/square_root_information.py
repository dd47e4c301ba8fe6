"""Square-root information: a triangular factor of the rows that is updated by more.

For rows with weights w_i, and a 1 in front where there is an intercept,

    R^T R = sum_i w_i [1, x_i, y_i]^T [1, x_i, y_i],   R upper triangular        (1)

More rows are stacked under R, which is made triangular again by QR; forgetting the past
is R <- sqrt(f) R. A prior N(m0, L^-T L^-1) on the coefficients is d rows more:

    [0, L^T, L^T m0]                                                             (2)

Without its first row R holds the information about the coefficients alone, the
intercept being free:

        [ T  c ]      T^T T (theta - m)(...) around  m = T^-1 c,                 (3)
        [ 0  r ]      and r^2 the residual sum of squares

No square of X is formed, so R has the digits of a QR of all rows, and the order and
the grouping of rows change it by rounding only.

Cost      n d^2 flops, memory one block and R
Shapes    X (n, d)   y (n,)   L (d, d)   R (p+1, p+1) with p = d + 1 or d
Refs      [Bierman1977] square-root information; [Demmel2012] triangles of blocks
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...core.arrays import arrays
from ...core.arrays.rows import as_rows
from ...core.linalg.least_squares_passes import triangle_of
from ...core.linalg.linalg import column_norms, minimum_norm_solution

EPS = float(np.finfo(np.float64).eps)


class SquareRootInformation(NamedTuple):
    """R of eq. (1) and the total weight of its rows, after forgetting."""

    R: np.ndarray
    weight: float
    intercept: bool

    @property
    def U(self):
        """The triangle of [intercept, coefficients], (p, p)."""
        return self.R[:-1, :-1]

    @property
    def z(self):
        """U theta = z at the mode."""
        return self.R[:-1, -1]

    @property
    def residual_ss(self) -> float:
        """r^2 of eq. (3)."""
        return float(self.R[-1, -1] ** 2)


def empty_information(d, intercept) -> SquareRootInformation:
    """The information of no rows."""
    p = d + intercept
    return SquareRootInformation(np.zeros((p + 1, p + 1)), 0.0, intercept)


def prior_information(root, mean, intercept) -> SquareRootInformation:
    """Eq. (2): `root` is L^T (d, d) or (d,), mean (d,)."""
    root = np.diag(root) if np.ndim(root) == 1 else root
    d = len(mean)
    A = np.zeros((d, intercept + d + 1))
    A[:, intercept:-1] = root
    A[:, -1] = root @ mean
    start = empty_information(d, intercept)
    return start._replace(R=stack_triangles(start.R, A))


def stack_triangles(*parts):
    """The square triangular factor of stacked rows."""
    A = np.concatenate(parts)
    R = np.linalg.qr(A, mode="r")
    if len(R) < A.shape[1]:
        R = np.concatenate([R, np.zeros((A.shape[1] - len(R), A.shape[1]))])
    return R


def add_information(
    info: SquareRootInformation, X, y, w=None, forgetting=1.0
) -> SquareRootInformation:
    """Add rows, eq. (1); with `forgetting` < 1 each row fades those before it."""
    n, d = X.shape
    intercept = info.intercept
    old = forgetting ** (n / 2)
    if forgetting < 1:
        fade = forgetting ** np.arange(n - 1, -1, -1.0)
        fade = arrays.asarray(fade, like=X) if arrays.is_foreign(X) else fade
        w = fade if w is None else w * fade

    def triangle(x, y, w):
        x = x.toarray() if hasattr(x, "toarray") else x
        xp = arrays.namespace(x)
        x = xp.astype(x, xp.float64)
        y = xp.astype(y, xp.float64)[:, None]
        parts = [xp.ones_like(y)] * intercept + [x, y]
        A = xp.concat(parts, axis=1)
        return triangle_of(
            A if w is None else A * xp.sqrt(xp.astype(w, xp.float64))[:, None]
        )

    held = as_rows(X, y, w)
    if held.block < 4 * (d + 2):
        held = as_rows(X, y, w, block=4 * (d + 2))
    R = old * info.R
    piled = []
    height = 0
    for part in held.each(triangle):
        piled.append(part)
        height += len(part)
        if height > 8 * (d + 2):
            R = stack_triangles(R, *piled)
            piled = []
            height = 0
    R = stack_triangles(R, *piled) if piled else R
    if not np.all(np.isfinite(R)):
        raise ValueError("Input X contains NaN, infinity or numbers too large.")
    mass = float(n) if w is None else float(arrays.to_numpy(w).sum())
    return SquareRootInformation(R, forgetting**n * info.weight + mass, intercept)


def solve_information(info: SquareRootInformation):
    """Coefficients (d,), intercept and rank; of smallest norm if rank deficient."""
    i = int(info.intercept)
    T, c = info.R[i:-1, i:-1], info.R[i:-1, -1]
    noise = 8 * EPS * max(len(T), 10) * np.ones(len(T))
    if i:
        length = column_norms(T)
        far = np.divide(
            np.abs(info.R[0, 1:-1]), length, out=np.zeros_like(length), where=length > 0
        )
        noise = noise * (1 + far)
    B, rank, _ = minimum_norm_solution(T, c[:, None], noise)
    coef = B[:, 0]
    if not i or info.R[0, 0] == 0:
        return coef, 0.0, rank
    return coef, float((info.R[0, -1] - info.R[0, 1:-1] @ coef) / info.R[0, 0]), rank


def check_determined(info: SquareRootInformation, name):
    """Raise where the rows and the prior do not determine the coefficients."""
    pivots = np.abs(np.diagonal(info.U))
    if not np.all(pivots > EPS * len(pivots) * column_norms(info.U)):
        raise ValueError(
            f"{name}: the rows and the prior do not determine the coefficients; give "
            "a finite prior_variance or more rows."
        )


def prediction_variance(info: SquareRootInformation, X):
    """|U^-T [1, x]|^2 per row: the variance of a prediction, per noise variance."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(arrays.to_numpy(X))
    u = X.T.astype(float)
    if info.intercept:
        u = np.concatenate([np.ones((1, len(X))), u])
    return np.sum(scipy.linalg.solve_triangular(info.U, u, trans=1) ** 2, axis=0)


def coefficient_covariance(info: SquareRootInformation):
    """(T^T T)^-1 of the coefficients, (d, d), per noise variance."""
    i = int(info.intercept)
    T = info.R[i:-1, i:-1]
    S = scipy.linalg.solve_triangular(T, np.eye(len(T)))
    return S @ S.T


def draw_coefficients(info: SquareRootInformation, scale, rng):
    """Draws of [intercept, coefficients], one per entry of `scale` (m,)."""
    Z = rng.standard_normal((len(info.U), len(scale))) * scale
    mode = scipy.linalg.solve_triangular(info.U, info.z)
    return mode + scipy.linalg.solve_triangular(info.U, Z).T
