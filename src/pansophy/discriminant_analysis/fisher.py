"""The mathematics of linear discriminants: moments of classes to scores and directions.

Letters and equations are those of `linear`.

    J(w) = w' S_B w / w' S_W w          two classes: w ~ S_W^-1 (m_1 - m_0)       (3)

Shapes    X (n, d)   m (k, d)   S (d, d)   w (k, d)   b (k,)
Refs      [Fisher1936]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..core import arrays
from ..core.design import fold
from ..core.labels import class_codes
from ..core.numerics import safe_log
from ..core.rows import Rows, rows
from ..distributions import Moments
from ..distributions.grouped import class_moments, double
from .class_covariances import moments_as_numpy

SMALL_EIGENVALUE = (
    1e-4  # eigenvalues of a correlation below this are found from the rows
)
BLOCK_ROWS = 4096  # a block is read twice: in cache for widths that matter


class DiscriminantSolution(NamedTuple):
    """Scores of all classes, and the directions if the solver gives any."""

    coef: Any  # (k, d)
    intercept: Any  # (k,)
    scalings: Any = None  # (d, r)
    ratio: Any = None  # explained variance of each


def blocks_with_classes(X, codes, w) -> Rows:
    return rows(X, codes, w, block=None if arrays.is_foreign(X) else BLOCK_ROWS)


def finite_class_moments(X, codes, w, k, shape) -> Moments:
    """Moments of the classes as NumPy doubles; refuses what is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = blocks_with_classes(X, codes, w).sum(
            lambda x, c, v: class_moments(x, c, k, v, shape)
        )
    m = moments_as_numpy(total)
    if not (np.isfinite(m.mean).all() and np.isfinite(m.scatter).all()):
        raise ValueError(
            "X contains NaN or infinity, or values whose squares overflow."
        )
    return m


def within_class_triangle(X, codes, w, means, scale):
    """The triangle of the rows less their class means, columns divided by scale."""

    def stats(x, c, v):
        x = x if arrays.is_foreign(x) else double(x).astype(np.float64, copy=False)
        xp, put = arrays.namespace(x), lambda a: arrays.asarray(a, like=x)
        D = (x - xp.take(put(means), c, axis=0)) / put(scale)
        return fold(D if v is None else D * xp.sqrt(put(v))[:, None])

    R = np.zeros((0, len(scale)))
    for part in blocks_with_classes(X, codes, w).each(stats):
        R = fold(np.concatenate([R, part]))
    return R


def within_class_whitening(m: Moments, retriangle, tol):
    """A (d, r) with A' S A = I on the directions in which classes vary."""
    W = weight_by_class(m).sum()
    wide = m.shape == "diag"
    variance = m.scatter.sum(axis=0) if wide else np.diagonal(m.scatter)
    scale = np.where(variance > 0, np.sqrt(variance / W), 1.0)
    values, V = np.zeros(1), np.zeros((len(scale), 0))
    if not wide:
        values, V = np.linalg.eigh(m.scatter / W / np.outer(scale, scale))
        values, V = np.sqrt(np.maximum(values[::-1], 0)), V[:, ::-1]
    if values[-1] ** 2 < SMALL_EIGENVALUE:
        R = retriangle(scale * np.sqrt(W))
        _, values, Vt = np.linalg.svd(R, full_matrices=False)
        V = Vt.T
    rank = int(np.sum(values > tol))
    if rank == 0:
        raise ValueError(
            "LinearDiscriminantAnalysis needs classes that vary: within each class all "
            "rows of X are equal to within tol."
        )
    return V[:, :rank] / scale[:, None] / values[:rank]


def weight_by_class(m: Moments):
    """Weight of each class, (k,)."""
    return m.weight if m.weight.ndim == 1 else m.weight.max(axis=1)


def positive_largest_entries(A):
    """Columns of A with their largest entry positive, so that signs are settled."""
    top = A[np.argmax(np.abs(A), axis=0), np.arange(A.shape[1])]
    return A * np.where(top < 0, -1.0, 1.0)


def solve_svd(m: Moments, priors, retriangle, tol) -> DiscriminantSolution:
    """Eq. (2) and (3) in the whitened space."""
    A = within_class_whitening(m, retriangle, tol)
    centre = priors @ m.mean
    D = m.mean - centre
    k = len(priors)
    W = weight_by_class(m).sum()
    spread = np.sqrt(W * priors / max(k - 1, 1))[:, None] * D
    _, s, Vt = np.linalg.svd(spread @ A, full_matrices=False)
    rank = int(np.sum(s > tol * s[0]))
    L = positive_largest_entries(A @ Vt[:rank].T)
    ratio = s**2 / max(np.sum(s**2), np.finfo(float).tiny)
    C = D @ L
    coef = C @ L.T
    intercept = -0.5 * np.sum(C * C, axis=1) + safe_log(priors) - coef @ centre
    return DiscriminantSolution(coef, intercept, L, ratio)


def solve_lsqr(S, means, priors) -> DiscriminantSolution:
    """Eq. (2) with a given covariance."""
    coef = scipy.linalg.lstsq(S, means.T)[0].T
    return DiscriminantSolution(
        coef, -0.5 * np.sum(means * coef, axis=1) + safe_log(priors)
    )


def solve_eigen(S, total, means, priors) -> DiscriminantSolution:
    """Eq. (3) by generalised eigenvectors, eq. (2) through them."""
    values, V = scipy.linalg.eigh(total - S, S)
    values, V = values[::-1], positive_largest_entries(V[:, ::-1])
    coef = means @ V @ V.T
    intercept = -0.5 * np.sum(means * coef, axis=1) + safe_log(priors)
    ratio = np.sort(values / np.sum(values))[::-1]
    return DiscriminantSolution(coef, intercept, V, ratio)


class FisherDirection(NamedTuple):
    """Fisher's direction, its criterion and where to cut the projection."""

    direction: Any  # (d,), of length 1, from the first class to the second
    criterion: float  # J of eq. (3)
    threshold: float  # middle of the projected means


def fisher_direction(X, y, sample_weight=None, *, whiten=True) -> FisherDirection:
    """The direction of highest J, eq. (3), for two classes.

    With whiten=False the direction from mean to mean, which the nearest mean rule
    projects on.

    Examples
    --------
    >>> from pansophy.discriminant_analysis import fisher_direction
    >>> X = [[1, 2], [2, 3], [3, 3], [2, 1], [6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
    >>> found = fisher_direction(X, [1] * 4 + [2] * 5)
    >>> found.direction.round(6), round(found.criterion, 6)
    (array([0.961639, 0.274319]), 4.277733)
    """
    X = X if arrays.is_foreign(X) else np.asarray(X, dtype=np.float64)
    w = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    classes, codes = class_codes(np.asarray(y))
    if len(classes) != 2:
        raise ValueError(f"fisher_direction takes two classes, got {len(classes)}.")
    m = finite_class_moments(X, codes, w, 2, "tied")
    gap = m.mean[1] - m.mean[0]
    v = scipy.linalg.lstsq(m.scatter, gap)[0] if whiten else gap
    v = v / np.linalg.norm(v)
    J = float((v @ gap) ** 2 / (v @ m.scatter @ v))
    return FisherDirection(v, J, float(v @ m.mean.mean(axis=0)))
