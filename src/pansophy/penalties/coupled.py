"""Penalties that couple coordinates: groups, balls, simplices and affine sets.

    group_l2   a sum_g sqrt(d_g) |w_g|,  groups g of sizes d_g                   (1)
    ball       0 if |w - center| <= radius, else inf                             (2)
    simplex    0 if w_j >= 0 and sum w_j = total, else inf                       (3)
    affine     0 if A w = b, else inf                                            (4)
    half_space 0 if a . w <= b, else inf                                         (5)

The prox of eq. (1) shrinks each group's length, that of eq. (2) scales into the
ball. Projection on eq. (3) subtracts the one level t for which what stays above 0
sums to the total; t is found from the sorted entries in O(d log d). That on eq. (4)
subtracts V S^-1 U^T (A w - b), from the singular value decomposition of A; that on eq.
(5) subtracts max(a . w - b, 0) a / |a|^2.

Refs      [Yuan2006] [Duchi2008]
"""

import math

import numpy as np

from ..core.arrays.arrays import asarray, device, namespace
from ..core.numerics import safe_divide
from ..core.recipes import remakeable
from . import base as kinds
from .base import Penalty, check_nonnegative, euclidean_norm, indicator_value

ROUND = 1e-9  # how far outside a set rounding may leave a projected point


@remakeable
def group_l2(alpha: float = 1.0, groups=None) -> Penalty:
    """Eq. (1). `groups` gives each coordinate's group number; None is one group."""
    alpha = check_nonnegative("alpha of group_l2", alpha)
    labels = None if groups is None else np.asarray(groups)

    def table(w):
        """One row per group, 1 for its members; and the weight of each group."""
        marks = np.zeros(w.shape[0], int) if labels is None else labels
        if marks.shape[0] != w.shape[0]:
            raise ValueError(
                f"groups has {marks.shape[0]} entries for {w.shape[0]} coordinates."
            )
        member = (np.unique(marks)[:, None] == marks[None, :]).astype(float)
        scale = alpha * np.sqrt(member.sum(axis=1))
        return asarray(member, like=w), asarray(scale, like=w)

    def lengths(member, w):
        return namespace(w).sqrt(member @ (w * w))

    def value(w):
        member, scale = table(w)
        return namespace(w).sum(scale * lengths(member, w))

    def prox(w, step):
        xp = namespace(w)
        member, scale = table(w)
        size = lengths(member, w)
        kept = xp.clip(1 - safe_divide(step * scale, size, math.inf), 0, math.inf)
        return w * (kept @ member)

    def distance(w, gradient):
        """Per group."""
        xp = namespace(w)
        member, scale = table(w)
        size = lengths(member, w)
        at_zero = xp.clip(lengths(member, gradient) - scale, 0, math.inf)
        direction = safe_divide(scale, size) @ member * w
        return xp.where(size == 0, at_zero, lengths(member, gradient + direction))

    return Penalty("group_l2", kinds.COUPLED, value, prox, distance, alpha)


@remakeable
def ball(radius: float = 1.0, center=0.0) -> Penalty:
    """Eq. (2): the indicator of a Euclidean ball; the center is 0 unless given.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> penalties.ball().prox(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> penalties.ball(2.0, center=[1.0, 1.0]).prox(np.array([1.0, 5.0]))
    array([1., 3.])
    """
    radius = check_nonnegative("radius of ball", radius)
    middle = np.asarray(center, dtype=float)
    if middle.ndim > 1 or not np.all(np.isfinite(middle)):
        raise ValueError(f"center of ball must be a point, got {center!r}.")

    def from_center(w):
        if not middle.any():
            return w
        if middle.ndim and middle.shape != tuple(w.shape):
            raise ValueError(
                f"center of ball has {middle.size} entries, w has {w.shape[0]}."
            )
        return w - asarray(middle, like=w)

    def value(w):
        size = float(euclidean_norm(from_center(w)))
        return indicator_value(size <= radius * (1 + ROUND))

    def prox(w, step):
        z = from_center(w)
        size = float(euclidean_norm(z))
        return w if size <= radius else (w - z) + z * (radius / size)

    def distance(w, gradient):
        # normal cone: 0 inside, the rays t z with t >= 0 on the sphere
        xp = namespace(w)
        z = from_center(w)
        if float(euclidean_norm(z)) < radius * (1 - ROUND):
            return euclidean_norm(gradient)
        if radius == 0:  # a point, at which every direction is normal
            return 0.0 * euclidean_norm(gradient)
        multiple = -xp.sum(gradient * z) / xp.sum(z * z)
        return euclidean_norm(gradient + xp.clip(multiple, 0, math.inf) * z)

    return Penalty("ball", kinds.COUPLED, value, prox, distance, radius, indicator=True)


@remakeable
def half_space(a, b: float = 0.0) -> Penalty:
    """Eq. (5): the indicator of {w : a . w <= b}.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> penalties.half_space([0.0, 1.0], 1.0).prox(np.array([2.0, 3.0]))
    array([2., 1.])
    """
    normal = np.atleast_1d(np.asarray(a, dtype=float))
    length = float(np.linalg.norm(normal))
    if normal.ndim != 1 or not (0 < length < math.inf) or not math.isfinite(b):
        raise ValueError(
            "half_space takes a vector a other than 0 and a number b, both finite, got "
            f"{a!r} and {b!r}."
        )
    unit = normal / length
    level = float(b) / length

    def excess(w):
        n = asarray(unit, like=w)
        if n.shape != w.shape:
            raise ValueError(
                f"a of half_space has {len(unit)} entries for {w.shape[0]} coordinates."
            )
        return n, float(namespace(w).sum(n * w)) - level

    def value(w):
        _, overshoot = excess(w)
        return indicator_value(overshoot <= ROUND * (1 + float(euclidean_norm(w))))

    def prox(w, step):
        n, overshoot = excess(w)
        return w - overshoot * n if overshoot > 0 else w

    def distance(w, gradient):
        # normal cone: 0 inside, the ray t a with t >= 0 on the plane
        n, overshoot = excess(w)
        if overshoot < -ROUND * (1 + float(euclidean_norm(w))):
            return euclidean_norm(gradient)
        multiple = max(-float(namespace(w).sum(gradient * n)), 0.0)
        return euclidean_norm(gradient + multiple * n)

    return Penalty("half_space", kinds.COUPLED, value, prox, distance, indicator=True)


@remakeable
def simplex(total: float = 1.0) -> Penalty:
    """Eq. (3): the indicator of non-negative vectors of a given sum."""
    if not total > 0:
        raise ValueError(f"total of simplex must be a number above 0, got {total!r}.")

    def value(w):
        xp = namespace(w)
        sums = abs(float(xp.sum(w)) - total) <= ROUND * total * w.shape[0]
        return indicator_value(sums and bool(xp.all(w >= 0)))

    def prox(w, step):
        xp = namespace(w)
        falling = xp.sort(w, descending=True)
        d = w.shape[0]
        place = xp.arange(1, d + 1, dtype=w.dtype, device=device(w))
        level = (xp.cumulative_sum(falling) - total) / place
        kept = int(xp.sum(xp.astype(falling > level, xp.int64)))
        return xp.clip(w - level[max(kept, 1) - 1], 0, math.inf)

    def distance(w, gradient):
        """-c is normal to the simplex if c_j = u where w_j > 0 and c_j >= u elsewhere.

        The nearest such c has u = the mean of the first set and the k smallest of
        the second, for the largest k at which all k of them lie below u.
        """
        xp = namespace(w)
        support_gradient = gradient[w > 0]
        zero_gradient = xp.sort(gradient[w <= 0])
        m = int(support_gradient.shape[0])
        u = xp.sum(support_gradient) / m
        if zero_gradient.shape[0]:
            place = xp.arange(
                1, zero_gradient.shape[0] + 1, dtype=w.dtype, device=device(w)
            )
            means = (xp.sum(support_gradient) + xp.cumulative_sum(zero_gradient)) / (
                m + place
            )
            k = int(xp.sum(xp.astype(zero_gradient < means, xp.int64)))
            u = means[k - 1] if k else u
        short = xp.clip(u - zero_gradient, 0, math.inf)
        return xp.sqrt(xp.sum((support_gradient - u) ** 2) + xp.sum(short**2))

    return Penalty(
        "simplex", kinds.COUPLED, value, prox, distance, total, indicator=True
    )


@remakeable
def affine(A, b=None) -> Penalty:
    """Eq. (4): the indicator of {w : A w = b}; b is 0 unless given."""
    A = np.atleast_2d(np.asarray(A, dtype=float))
    b = np.zeros(len(A)) if b is None else np.atleast_1d(np.asarray(b, dtype=float))
    if b.shape != (len(A),):
        raise ValueError(f"b of affine must have {len(A)} entries, got {b.shape}.")
    U, sizes, Vt = np.linalg.svd(A, full_matrices=False)
    kept = sizes > sizes.max(initial=0.0) * max(A.shape) * np.finfo(float).eps
    rows = Vt[kept]
    coordinates = (U[:, kept].T @ b) / sizes[kept]
    if not np.allclose(A @ (coordinates @ rows), b, rtol=1e-8, atol=1e-10):
        raise ValueError("A w = b of affine must have a solution.")

    def parts(w):
        return asarray(rows, like=w), asarray(coordinates, like=w)

    def value(w):
        V, c = parts(w)
        miss = float(euclidean_norm(V @ w - c))
        size = 1 + float(euclidean_norm(w))
        return indicator_value(miss <= ROUND * size)

    def prox(w, step):
        V, c = parts(w)
        return w - (V @ w - c) @ V

    def distance(w, gradient):
        # normal cone: combinations of the rows of A
        V, _ = parts(w)
        return euclidean_norm(gradient - (V @ gradient) @ V)

    return Penalty("affine", kinds.COUPLED, value, prox, distance, indicator=True)
