"""Bridge penalties |w|^q, and penalties derived from prior distributions.

    lq           a sum |w_j|^q,  q >= 0                                          (1)

q = 2 is ridge, q = 1 the lasso, q = 0 counts the entries other than 0. Below q = 1 it
is not convex. Its prox for a step s solves u + s a q u^(q-1) = |w_j| for the size u of
the answer: for q > 1 the left side rises and has one root; for q < 1 it falls and then
rises, and its larger root is the answer if it beats u = 0. Roots are found by
bisection and a few Newton steps.

    MAP          argmin_w -log p(y | w) - log p(w)                               (2)

With noise variance s^2 eq. (2) times 2 s^2 is the sum of squared residuals plus

    normal, variance b^2     (s^2 / b^2) |w|^2                                   (3)
    Laplace, scale b         (2 s^2 / b) |w|_1                                   (4)
    exp(-|w/b|^q)            (2 s^2 / b^q) sum |w_j|^q                           (5)

Refs      [Frank1993] bridge; [Tibshirani1996] section 5
"""

import math

from ..core.arrays.arrays import namespace
from ..core.recipes import remakeable
from . import base as kinds
from .base import Penalty, check_nonnegative
from .separable import elastic_penalty


def _bridge_prox_root(size, t, q):
    """The larger u >= 0 with u + t q u^(q-1) = size, where there is one."""
    xp = namespace(size)
    # below the turning point of u + t q u^(q-1) no root of q < 1 counts
    turn = (t * q * (1 - q)) ** (1 / (2 - q)) if q < 1 else 0.0
    low = xp.zeros_like(size) + turn
    high = xp.where(size > low, size, low)
    for _ in range(60):
        middle = (low + high) / 2
        is_too_large = middle + t * q * middle ** (q - 1) > size
        low, high = (
            xp.where(is_too_large, low, middle),
            xp.where(is_too_large, middle, high),
        )
    return (low + high) / 2


@remakeable
def lq(q: float = 1.0, alpha: float = 1.0) -> Penalty:
    """Eq. (1). `lq(2, alpha)` is alpha times the sum of squares: `l2(2 alpha)`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> penalties.lq(0.5).convex, penalties.lq(1.5).convex
    (False, True)
    >>> penalties.lq(1).prox(np.array([-3.0, 0.5]), 1.0)
    array([-2.,  0.])
    """
    q = check_nonnegative("q of lq", q)
    alpha = check_nonnegative("alpha of lq", alpha)
    if q == 1:
        return elastic_penalty("lq", kinds.L1, alpha, 0.0)
    if q == 2:
        return elastic_penalty("lq", kinds.L2, 0.0, 2 * alpha)

    def value(w):
        xp = namespace(w)
        size = xp.abs(w)
        if q == 0:
            return alpha * xp.sum(xp.where(size > 0, xp.ones_like(w), 0 * w))
        return alpha * xp.sum(size**q)

    def prox(w, step):
        xp = namespace(w)
        t = step * alpha
        size = xp.abs(w)
        if t == 0:
            return w
        if q == 0:
            return xp.where(size > math.sqrt(2 * t), w, 0 * w)
        u = _bridge_prox_root(size, t, q)
        if q < 1:
            better = t * u**q + (u - size) ** 2 / 2 < size**2 / 2
            u = xp.where(better & (u < size), u, 0 * u)
        return xp.sign(w) * u

    def distance(w, gradient):
        xp = namespace(w)
        size = xp.abs(w)
        safe = xp.where(size > 0, size, xp.ones_like(size))
        slope = alpha * q * safe ** (q - 1) * xp.sign(w)
        away = xp.abs(gradient + slope)
        # every number is a (limiting) sub-gradient at 0 for q < 1, only 0 for q > 1
        at_zero = 0 * away if q < 1 else xp.abs(gradient)
        return xp.where(size == 0, at_zero, away)

    return Penalty("lq", kinds.COUPLED, value, prox, distance, alpha, q, convex=q >= 1)


@remakeable
def from_prior(
    prior, scale: float = 1.0, noise: float = 1.0, q: float | None = None
) -> Penalty:
    """The penalty g for which sum of squares + g(w) is least at the posterior mode.

    Parameters
    ----------
    prior : "normal", "laplace" or "power"
        Distribution of every coefficient, around 0: eqs. (3) to (5).
    scale : float
        b: the standard deviation of a normal prior, the scale of the others.
    noise : float
        s, the standard deviation of the noise in y.
    q : float or None
        The power of "power".

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> g = penalties.from_prior("normal", scale=0.5**0.5, noise=0.5)
    >>> round(float(g.value(np.array([1.0]))), 12)
    0.5
    """
    for name, value in (("scale", scale), ("noise", noise)):
        if not value > 0:
            raise ValueError(
                f"{name} of from_prior must be a number above 0, got {value!r}."
            )
    power = {"normal": 2.0, "laplace": 1.0, "power": q}.get(prior)
    if power is None:
        raise ValueError(
            'prior must be "normal", "laplace" or "power" (which needs q), got '
            f"{prior!r} with q={q!r}."
        )
    if prior == "normal":
        return lq(2, noise**2 / scale**2)
    return lq(power, 2 * noise**2 / scale**power)
