"""Losses of generalised linear models: any family with any link, and log-link Tweedie.

A family says how the variance of a target depends on its mean,

    power              V = mu^p: p = 0 Normal, 1 Poisson, 2 Gamma, 3 inverse
                       Gaussian, between 1 and 2 Tweedie
    binomial           V = mu (1 - mu)
    negative binomial  V = mu + a mu^2                                           (1)

and this alone fixes minus its log-likelihood, up to a scale and terms free of mu:

    l(y, f) = integral of (mu - y) / V(mu) over mu,   mu = g^-1(f)               (2)
    l'  = (mu - y) / V mu'(f)                                                    (3)
    l'' = (1 - (mu - y) V' / V) / V mu'^2  +  (mu - y) / V mu''                  (4)
    E l'' = mu'^2 / V                                                            (5)

With the canonical link the two curvatures agree; otherwise eq. (4) may be negative,
and eq. (5) makes Newton's method Fisher scoring, which is iteratively reweighted least
squares. Twice l less its value at mu = y is the unit deviance. For the log link eq. (2)
needs only exponentials of f,

    tweedie  exp((2-p) f) / (2-p) - y exp((1-p) f) / (1-p)                       (6)

Shapes    y, f, mu (n,)
Refs      [Nelder1972] [McCullagh1989] [Jorgensen1987] Tweedie
"""

import math
from dataclasses import dataclass

import numpy as np

from ..core.arrays.arrays import namespace
from ..core.numerics import xlogy
from ..core.recipes import reduce_to_recipe, remakeable
from ..links import Link, identity, inverse, inverse_squared, log, logit, multinomial
from . import base as kinds
from .base import Loss, weighted_row_mean
from .pointwise import gamma, half_squared, logistic, poisson

TINY = 1e-300
POWER, BINOMIAL, NEGATIVE_BINOMIAL = range(3)  # as in `_glm.py`


@dataclass(frozen=True, eq=False)
class GLMFamily:
    """A variance function, eq. (1), with its parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.losses.glm import get_family
    >>> get_family("gamma").variance(np.array([2.0]))
    array([4.])
    >>> get_family("poisson").deviance(np.array([2.0, 0.0]), np.array([2.0, 1.5]))
    array([0., 3.])
    """

    name: str
    code: int
    domain: str  # of targets, as in `losses.base`
    link: Link  # the canonical one
    parameter: float = 0.0
    dispersed: bool = False  # whether a scale is estimated

    def variance(self, mu):
        """Eq. (1)."""
        a = self.parameter
        if self.code == BINOMIAL:
            return mu * (1 - mu)
        return mu + a * mu**2 if self.code == NEGATIVE_BINOMIAL else mu**a

    def deviance(self, y, mu):
        """Twice eq. (2) less its value at mu = y, per row."""
        return 2 * (loss_at_mean(self, y, mu, 1 - mu) - loss_at_mean(self, y, y, 1 - y))

    __reduce_ex__ = reduce_to_recipe  # pickled as the call that makes it

    def __repr__(self):
        return f"<family {self.name}>"


def loss_at_mean(family, y, mu, nu):
    """Eq. (2) at a mean mu = 1 - nu, without a check of its range."""
    xp = namespace(mu)
    a = family.parameter
    if family.code == BINOMIAL:
        return -xlogy(y, mu) - xlogy(1 - y, nu)
    if family.code == NEGATIVE_BINOMIAL:
        return (y + 1 / a) * xp.log1p(a * mu) - xlogy(y, mu)
    if a == 0:
        return (mu - y) ** 2 / 2
    if a == 1:
        return mu - xlogy(y, mu)
    if a == 2:
        return xp.log(mu) + y / mu
    # a target of 0 (below p = 2) has no second term, whatever mu^(1-p) is
    low = xp.where(mu > 0, mu, xp.ones_like(mu)) ** (1 - a)
    return mu ** (2 - a) / (2 - a) - y * low / (1 - a)


@remakeable
def get_family(name: str, parameter: float | None = None) -> GLMFamily:
    """The family of that name; the parameter is Tweedie's p, the binomial's a.

    Examples
    --------
    >>> from pansophy.losses.glm import get_family
    >>> get_family("tweedie", 1.5)
    <family tweedie(1.5)>
    """
    fixed = {"gaussian": 0.0, "poisson": 1.0, "gamma": 2.0, "inverse_gaussian": 3.0}
    if name in ("binomial", "bernoulli"):
        return GLMFamily(name, BINOMIAL, "fraction", logit)
    if name == "negative_binomial":
        a = 1.0 if parameter is None else float(parameter)
        if not 0 < a < math.inf:
            raise ValueError(f"the parameter of {name} must be above 0, got {a!r}.")
        return GLMFamily(name, NEGATIVE_BINOMIAL, "nonnegative", log, a)
    if name == "tweedie":
        p = 1.5 if parameter is None else float(parameter)
        if 0 < p < 1 or not math.isfinite(p):
            raise ValueError(
                f"power of tweedie must not lie strictly between 0 and 1, got {p!r}: "
                "there is no such distribution."
            )
        named = {value: key for key, value in fixed.items()}.get(p)
        return (
            get_family(named)
            if named
            else GLMFamily(
                f"tweedie({p:g})", POWER, _tweedie_domain(p), log, p, dispersed=True
            )
        )
    if name not in fixed:
        known = [*fixed, "tweedie", "binomial", "bernoulli", "negative_binomial"]
        raise ValueError(f"no family is called {name!r}; there are {', '.join(known)}.")
    p = fixed[name]
    link = {0: identity, 1: log, 2: inverse, 3: inverse_squared}[int(p)]
    return GLMFamily(name, POWER, _tweedie_domain(p), link, p, dispersed=p != 1)


def _tweedie_domain(p):
    """Targets that Tweedie's family of power p can give."""
    return "real" if p <= 0 else "nonnegative" if p < 2 else "positive"


# -- family and link -------------------------------------------------------------


@remakeable
def glm_loss(
    family: GLMFamily, link: Link | None = None, *, expected: bool = False
) -> Loss:
    """Eqs. (2) to (4) as a loss; `expected` puts eq. (5) in the place of eq. (4).

    Pairs that `losses` has by name come from there, since they are simpler.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import links, losses
    >>> loss = losses.glm_loss(losses.get_family("binomial"), links.probit)
    >>> loss.value(np.array([1.0, 0.0]), np.zeros(2)).round(6)
    array([0.693147, 0.693147])
    """
    link = family.link if link is None else link
    known = _equivalent_pointwise_loss(family, link, expected)
    if known is not None:
        return known
    if link is multinomial:
        raise ValueError(f"{link!r} has one column per class and fits no GLM.")
    kind = kinds.GLM + 64 * family.code + 2 * link.code + int(expected)
    return Loss(
        f"{family.name}_{link.name}",
        kinds.NO_LOOP if link.code < 0 else kind,  # a link of the caller's own
        family.domain,
        lambda y, f, a: glm_value(family, link, y, f),
        lambda y, f, a: glm_gradient(family, link, y, f),
        lambda y, f, a: glm_curvature(family, link, y, f, expected),
        lambda y, w, a: link(weighted_row_mean(y, w)),
        link=link,
        parameter=family.parameter,
        convex=_is_convex(family, link),
    )


def _equivalent_pointwise_loss(family, link, expected):
    """The loss of `pointwise.py` that a family and a link make, if there is one."""
    pair = (family.name.split("(")[0], link.name)
    if family.name == "bernoulli":
        pair = ("binomial", link.name)
    table = {
        ("gaussian", "identity"): half_squared,
        ("poisson", "log"): poisson,
        ("binomial", "logit"): logistic,
    }
    if not expected:  # curvatures that depend on y
        table |= {("gamma", "log"): gamma}
        if pair == ("tweedie", "log"):
            return tweedie(family.parameter)
    return table.get(pair)


def _is_convex(family, link):
    """Whether eq. (4) is known to be at least 0 for every target."""
    p = family.parameter
    if link is family.link:
        return True
    if family.code == BINOMIAL:
        even_links = ("identity", "log", "probit", "cloglog", "loglog", "tanh")
        return link.name in even_links
    if family.code == NEGATIVE_BINOMIAL:
        return False
    if link.name == "identity":
        return p == 1
    return 1 <= p <= {"log": 2.0, "sqrt": 1.5}.get(link.name, 0.0)


def _possible_means(family, mu, nu):
    """Whether mu = 1 - nu is a mean that the family can have; false for NaN."""
    if family.code == BINOMIAL:
        return (mu >= 0) & (nu >= 0)
    if family.parameter == 0 and family.code == POWER:
        return mu == mu
    return mu > 0


def _mean_and_complement(family, link, f):
    """mu and 1 - mu, at 1/2 where impossible, and where that is."""
    xp = namespace(f)
    with np.errstate(all="ignore"):
        mu = link.inverse(f)
        nu = 1 - mu if link.upper is None else link.upper(f)
    ok = _possible_means(family, mu, nu)
    if link.positive and link.name != "sqrt":
        ok = ok & (f > 0)
    if family.code == BINOMIAL:
        floor = xp.full_like(mu, TINY if xp.finfo(mu.dtype).bits > 32 else 1e-38)
        mu, nu = xp.maximum(mu, floor), xp.maximum(nu, floor)
    half = xp.full_like(mu, 0.5)
    return xp.where(ok, mu, half), xp.where(ok, nu, half), ok


def glm_value(family, link, y, f):
    """Eq. (2), inf where the mean is impossible."""
    xp = namespace(f)
    mu, nu, ok = _mean_and_complement(family, link, f)
    return xp.where(ok, loss_at_mean(family, y, mu, nu), xp.full_like(f, math.inf))


def _score_in_mean(family, y, mu, nu):
    """(mu - y) / V, its derivative in mu, and 1 / V."""
    xp = namespace(mu)
    a = family.parameter
    if family.code == BINOMIAL:
        low, high = y / mu, (1 - y) / nu
        return high - low, high / nu + low / mu, 1 / mu / nu
    if family.code == NEGATIVE_BINOMIAL:
        V, slope = mu + a * mu**2, 1 + 2 * a * mu
    elif a == 0:
        V = xp.ones_like(mu)
        slope = xp.zeros_like(mu)
    else:
        V, slope = mu**a, a * mu ** (a - 1)
    s = (mu - y) / V
    return s, (1 - s * slope) / V, 1 / V


def glm_gradient(family, link, y, f):
    """Eq. (3), NaN where the mean is impossible."""
    mu, nu, ok = _mean_and_complement(family, link, f)
    with np.errstate(all="ignore"):
        slopes = _score_in_mean(family, y, mu, nu)[0] * link.slope(f)
    return namespace(f).where(ok, slopes, namespace(f).full_like(f, math.nan))


def glm_curvature(family, link, y, f, expected=False):
    """Eq. (4), or (5)."""
    mu, nu, ok = _mean_and_complement(family, link, f)
    s, ds, precision = _score_in_mean(family, y, mu, nu)
    with np.errstate(all="ignore"):
        slope = link.slope(f)
        curvatures = precision * slope**2
        if not expected and link.bend is not None:
            curvatures = ds * slope**2 + s * link.bend(f)
    return namespace(f).where(ok, curvatures, namespace(f).full_like(f, math.nan))


# -- Tweedie with log link -------------------------------------------------------


def _tweedie_value(y, f, p):
    """Eq. (6)."""
    xp = namespace(f)
    return xp.exp((2 - p) * f) / (2 - p) - y * xp.exp((1 - p) * f) / (1 - p)


def _tweedie_gradient(y, f, p):
    xp = namespace(f)
    return xp.exp((2 - p) * f) - y * xp.exp((1 - p) * f)


def _tweedie_curvature(y, f, p):
    xp = namespace(f)
    return (2 - p) * xp.exp((2 - p) * f) - (1 - p) * y * xp.exp((1 - p) * f)


@remakeable
def tweedie(power: float = 1.5) -> Loss:
    """Eq. (6): power 1 is `poisson`, 2 is `gamma`, 0 Normal with a log link.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.tweedie(1.5).gradient(np.array([1.0]), np.array([0.0]))
    array([0.])
    """
    p = float(power)
    if 0 < p < 1 or not math.isfinite(p):
        raise ValueError(
            f"power of tweedie must be at most 0 or at least 1, got {power!r}: there "
            "is no distribution between."
        )
    if p in (1, 2):
        return poisson if p == 1 else gamma
    return Loss(
        "tweedie",
        kinds.TWEEDIE,
        _tweedie_domain(p),
        _tweedie_value,
        _tweedie_gradient,
        _tweedie_curvature,
        lambda y, w, a: log(weighted_row_mean(y, w)),
        link=log,
        parameter=p,
        convex=1 < p < 2,
    )
