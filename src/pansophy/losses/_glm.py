"""Scalar losses of a family and a link for compiled loops: see `glm.py`.

The kind is GLM + 64 family + 2 link + (1 for the expected curvature). Formulas and
equation numbers are those of `glm.py` and `links.py`.
"""

import math

from ..core._scalar import sigmoid
from ..core.loops.compiled import compiled
from .base import GLM

POWER = 0
BINOMIAL = 1
NEGATIVE_BINOMIAL = 2
TINY = 1e-300  # stands for probabilities that underflow


@compiled(inner=True)
def _cauchy_cdf(f):
    """The Cauchy distribution function."""
    return math.atan(-1 / f) / math.pi if f < -1 else 0.5 + math.atan(f) / math.pi


@compiled(inner=True)
def inverse_link(link, f):
    """mu, 1 - mu, and the first two derivatives of mu in f."""
    if link == 0:
        return f, 1 - f, 1.0, 0.0
    if link == 1:
        e = math.exp(f)
        return e, 1 - e, e, e
    if link == 2 or link == 7:
        k = 1.0 if link == 2 else 2.0
        mu, nu = sigmoid(k * f), sigmoid(-k * f)
        s = k * mu * nu
        return mu, nu, s, s * k * (nu - mu)
    if link == 3:
        s = math.exp(-f * f / 2) / math.sqrt(2 * math.pi)
        root = math.sqrt(0.5)
        return 0.5 * math.erfc(-f * root), 0.5 * math.erfc(f * root), s, -f * s
    if link == 4 or link == 5:
        g = f if link == 4 else -f
        e = math.exp(g)
        low = -math.expm1(-e)
        high = math.exp(-e)
        s = math.exp(g - e)
        if link == 4:
            return low, high, s, s * (1 - e)
        return high, low, s, s * (e - 1)
    if link == 6:
        s = 1 / (math.pi * (1 + f * f))
        return _cauchy_cdf(f), _cauchy_cdf(-f), s, -2 * math.pi * f * s * s
    if link == 10:
        return f * f, 1 - f * f, 2 * f, 2.0
    if f <= 0:
        return math.nan, math.nan, math.nan, math.nan
    if link == 8:
        return 1 / f, 1 - 1 / f, -1 / (f * f), 2 / (f * f * f)
    mu = 1 / math.sqrt(f)
    return mu, 1 - mu, -0.5 * mu / f, 0.75 * mu / (f * f)


@compiled(inner=True)
def _unpack_kind(kind):
    """Family, link, and whether the curvature is the expected one."""
    rest = kind - GLM
    return rest // 64, (rest % 64) // 2, rest % 2


@compiled(inner=True)
def _is_possible_mean(family, mu, nu, a):
    """Whether mu is a possible mean; false for NaN."""
    if family == BINOMIAL:
        return mu >= 0 and nu >= 0
    if family == POWER and a == 0:
        return mu == mu
    return mu > 0


@compiled(inner=True)
def glm_value(kind, y, f, a):
    """Eq. (2), inf where the mean is impossible."""
    family, link, _ = _unpack_kind(kind)
    mu, nu, _, _ = inverse_link(link, f)
    if not _is_possible_mean(family, mu, nu, a):
        return math.inf
    if family == BINOMIAL:
        return -y * math.log(max(mu, TINY)) - (1 - y) * math.log(max(nu, TINY))
    if family == NEGATIVE_BINOMIAL:
        return (y + 1 / a) * math.log1p(a * mu) - y * math.log(mu)
    if a == 0:
        return (mu - y) * (mu - y) / 2
    if a == 1:
        return mu - y * math.log(mu)
    if a == 2:
        return math.log(mu) + y / mu
    return mu ** (2 - a) / (2 - a) - y * mu ** (1 - a) / (1 - a)


@compiled(inner=True)
def _glm_score(family, y, mu, nu, a):
    """(mu - y) / V and its derivative in mu, and 1 / V."""
    if family == BINOMIAL:
        mu, nu = max(mu, TINY), max(nu, TINY)
        low, high = y / mu, (1 - y) / nu
        return high - low, high / nu + low / mu, 1 / mu / nu
    if family == NEGATIVE_BINOMIAL:
        V, slope = mu + a * mu * mu, 1 + 2 * a * mu
    elif a == 0:
        V, slope = 1.0, 0.0
    else:
        V, slope = mu**a, a * mu ** (a - 1)
    s = (mu - y) / V
    return s, (1 - s * slope) / V, 1 / V


@compiled(inner=True)
def glm_gradient(kind, y, f, a):
    """Eq. (3)."""
    family, link, _ = _unpack_kind(kind)
    mu, nu, slope, _ = inverse_link(link, f)
    if not _is_possible_mean(family, mu, nu, a):
        return math.nan
    return _glm_score(family, y, mu, nu, a)[0] * slope


@compiled(inner=True)
def glm_curvature(kind, y, f, a):
    """Eq. (4), or eq. (5) where it is the expected one that is wanted."""
    family, link, expected = _unpack_kind(kind)
    mu, nu, slope, bend = inverse_link(link, f)
    if not _is_possible_mean(family, mu, nu, a):
        return math.nan
    s, ds, inverse = _glm_score(family, y, mu, nu, a)
    if expected:
        return slope * slope * inverse
    return ds * slope * slope + s * bend
