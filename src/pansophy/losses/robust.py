"""Robust losses of residuals: powers |r|^p, Tukey's biweight and Student's t.

With residual r = f - y,

    lp       |r|^p: convex for p >= 1, from p < 1 on it counts rather than measures (1)
    tukey    c^2/6 (1 - (1 - (r/c)^2)^3), and c^2/6 beyond |r| = c               (2)
    student_t    (v + 1)/2 log(1 + r^2 / v), v the degrees of freedom            (3)

Eq. (1) with p = 2 is least squares and with p = 1 asks for the median; its norm form
(sum |r|^p)^(1/p) tends to max |r| as p grows (`lp_norm`). The gradient of eq. (2) is
r (1 - (r/c)^2)^2, zero from c on, so that a far outlier has no pull at all; the price
is that the loss is not convex. c = 4.685 standard deviations of the noise keep 95 % of
the efficiency of least squares on Normal data. Eq. (3) is the negative logarithm of
Student's density but for a constant: an outlier pulls by (v + 1) / r, less the farther
it is, and for large v the loss is half the square.

Shapes    y, f, result (n,)
Refs      [Beaton1974] eq. (2); [Holland1977] its constant
"""

import math

import numpy as np

from ..core.arrays.arrays import namespace
from ..core.arrays.weighted import weighted_quantile
from ..core.recipes import remakeable
from . import base as kinds
from .base import Loss, constant_by_bisection, weighted_row_mean

CANDIDATES = 512  # targets at most at which a loss that is not convex is looked at
BIWEIGHT = 4.685


# -- powers ----------------------------------------------------------------------


def _lp_value(y, f, p):
    return namespace(f).abs(f - y) ** p


def _lp_gradient(y, f, p):
    """p sign(r) |r|^(p-1), and 0 at r = 0."""
    return p * namespace(f).sign(f - y) * _power_of(f - y, p - 1)


def _lp_curvature(y, f, p):
    """p (p-1) |r|^(p-2), and 0 at r = 0 where it need not exist."""
    return p * (p - 1) * _power_of(f - y, p - 2)


def _power_of(r, q):
    """|r|^q, with 0 at r = 0 for every q."""
    xp = namespace(r)
    zero = r == 0
    size = xp.abs(xp.where(zero, xp.ones_like(r), r)) ** q
    return xp.where(zero, xp.zeros_like(r), size)


def _lp_constant(y, w, p):
    """Median, mean, root of the slope; below p = 1 one of the targets."""
    if p == 1:
        return weighted_quantile(y, w, 0.5)
    if p == 2:
        return weighted_row_mean(y, w)
    if p > 1:
        return constant_by_bisection(_lp_gradient, y, w, p)
    return _best_target(_lp_value, y, w, p, y.shape[0])


@remakeable
def lp(p: float = 2.0) -> Loss:
    """Eq. (1).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.lp(3).value(np.zeros(3), np.array([-1.0, 0.5, 2.0]))
    array([1.   , 0.125, 8.   ])
    """
    if not 0 < p < math.inf:
        raise ValueError(
            f"p of lp must be a finite number above 0, got {p!r}; `lp_norm` takes inf."
        )
    return Loss(
        "lp",
        kinds.LP,
        "real",
        _lp_value,
        _lp_gradient,
        _lp_curvature,
        _lp_constant,
        parameter=float(p),
        convex=p >= 1,
        lipschitz=2.0 if p == 2 else math.inf,
    )


def lp_norm(r, p, w=None):
    """(sum_i w_i |r_i|^p)^(1/p), by powers of |r| / max |r|; p may be inf.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> r = np.array([3.0, -4.0])
    >>> [float(losses.lp_norm(r, p)) for p in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    """
    xp = namespace(r)
    size = xp.abs(r) if w is None else xp.where(w > 0, xp.abs(r), xp.zeros_like(r))
    top = xp.max(size)
    if math.isinf(p) or float(top) == 0:
        return top
    parts = (size / top) ** p
    return top * xp.sum(parts if w is None else w * parts) ** (1 / p)


# -- Tukey's biweight ------------------------------------------------------------


def _biweight_factor(y, f, c):
    """1 - (r/c)^2, and 0 beyond c; its square is the weight of a row in IRLS."""
    xp = namespace(f)
    rest = 1 - ((f - y) / c) ** 2
    return xp.maximum(rest, xp.zeros_like(rest))


def _tukey_value(y, f, c):
    return c * c / 6 * (1 - _biweight_factor(y, f, c) ** 3)


def _tukey_gradient(y, f, c):
    return (f - y) * _biweight_factor(y, f, c) ** 2


def _tukey_curvature(y, f, c):
    near = _biweight_factor(y, f, c)
    return near * (5 * near - 4)


def _tukey_constant(y, w, c):
    """From the best target by weighted means, none of which can raise eq. (2)."""
    xp = namespace(y)
    target = _best_target(_tukey_value, y, w, c, CANDIDATES)
    for _ in range(100):
        near = _biweight_factor(y, xp.zeros_like(y) + target, c) ** 2
        target = weighted_row_mean(y, near if w is None else w * near)
    return target


@remakeable
def tukey(c: float = BIWEIGHT) -> Loss:
    """Eq. (2), the biweight.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.tukey(3.0).gradient(np.zeros(3), np.array([0.0, 1.5, 7.0]))
    array([0.     , 0.84375, 0.     ])
    """
    if not 0 < c < math.inf:
        raise ValueError(f"c of tukey must be a finite number above 0, got {c!r}.")
    return Loss(
        "tukey",
        kinds.TUKEY,
        "real",
        _tukey_value,
        _tukey_gradient,
        _tukey_curvature,
        _tukey_constant,
        parameter=float(c),
        convex=False,
        lipschitz=1.0,
    )


# -- Student's t -----------------------------------------------------------------


def _student_t_value(y, f, v):
    return 0.5 * (v + 1) * namespace(f).log1p((f - y) ** 2 / v)


def _student_t_gradient(y, f, v):
    r = f - y
    return (v + 1) * r / (v + r * r)


def _student_t_curvature(y, f, v):
    r2 = (f - y) ** 2
    return (v + 1) * (v - r2) / (v + r2) ** 2


def _student_t_constant(y, w, v):
    """From the best target by weighted means, none of which can raise eq. (3)."""
    target = _best_target(_student_t_value, y, w, v, CANDIDATES)
    for _ in range(100):
        near = 1 / (v + (y - target) ** 2)
        target = weighted_row_mean(y, near if w is None else w * near)
    return target


@remakeable
def student_t(df: float = 4.0) -> Loss:
    """Eq. (3), for residuals in units of their scale.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.student_t(3.0).gradient(np.zeros(3), np.array([0.0, 1.0, 9.0])).round(6)
    array([0.      , 1.      , 0.428571])
    """
    if not 0 < df < math.inf:
        raise ValueError(
            f"df of student_t must be a finite number above 0, got {df!r}."
        )
    return Loss(
        "student_t",
        kinds.NO_LOOP,
        "real",
        _student_t_value,
        _student_t_gradient,
        _student_t_curvature,
        _student_t_constant,
        parameter=float(df),
        convex=False,
        lipschitz=(df + 1) / df,
    )


def _best_target(values, y, w, a, limit):
    """The target (one of at most `limit`, by rank) of lowest total loss."""
    xp = namespace(y)
    candidates = xp.sort(y)
    if candidates.shape[0] > limit:
        pick = np.linspace(0, candidates.shape[0] - 1, limit).astype(np.int64)
        candidates = candidates[xp.asarray(pick)]
    cost = lambda c: values(y, xp.zeros_like(y) + c, a)
    totals = [float(xp.sum(cost(c) if w is None else w * cost(c))) for c in candidates]
    return candidates[int(np.argmin(totals))]
