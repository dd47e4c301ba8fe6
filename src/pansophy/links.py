"""Link functions of generalised linear models: mu = g^-1(f).

A link g maps the mean mu of a target to the raw prediction f. Calling a link gives
g(mu), `inverse` gives g^-1(f), `slope` and `bend` its first and second derivative in
f, and for means between 0 and 1 `upper` gives 1 - g^-1(f) without cancellation:

    identity  mu = f                      log      mu = exp f
    logit     mu = 1 / (1 + exp(-f))      probit   mu = Phi(f)                   (1)
    cloglog   mu = 1 - exp(-exp f)        loglog   mu = exp(-exp(-f))            (2)
    cauchit   mu = 1/2 + atan(f) / pi     tanh     mu = (1 + tanh f) / 2         (3)
    inverse   mu = 1 / f                  inverse_squared  mu = 1 / sqrt f
    sqrt      mu = f^2                                                           (4)
    multinomial  f_k = log mu_k, centred over k; inverse softmax                 (5)

Eq. (5) is defined up to a constant per row; its slope is the diagonal of the
Jacobian, mu_k (1 - mu_k). `positive` says that f must be above 0. Arrays of any
namespace go in and come out.

Refs      [McCullagh1989]
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .core.arrays import arrays
from .core.numerics import logsumexp, safe_log, sigmoid, softmax
from .core.recipes import reduce_to_recipe, remember_recipe

__all__ = [
    "LINKS",
    "Link",
    "cauchit",
    "cloglog",
    "get_link",
    "identity",
    "inverse",
    "inverse_squared",
    "log",
    "logit",
    "loglog",
    "logsumexp",
    "multinomial",
    "probit",
    "sigmoid",
    "softmax",
    "sqrt",
    "tanh",
]


@dataclass(frozen=True, eq=False)
class Link:
    """A link function, its inverse and the derivatives of the inverse.

    `code` is the number by which compiled loops know it, -1 if they do not.

    Examples
    --------
    >>> from pansophy import links
    >>> import numpy as np
    >>> links.logit.inverse(np.array([0.0]))
    array([0.5])
    """

    name: str
    forward: Callable
    inverse: Callable
    slope: Callable
    bend: Callable | None = None
    upper: Callable | None = None
    code: int = -1
    positive: bool = False

    def __call__(self, mu):
        """g(mu)."""
        return self.forward(mu)

    __reduce_ex__ = reduce_to_recipe  # pickled by its name

    def __repr__(self):
        return f"<link {self.name}>"


def _logit_forward(mu):
    """log mu - log(1 - mu), by log1p so that a mu near 0 keeps its digits."""
    xp = arrays.namespace(mu)
    with np.errstate(divide="ignore"):
        return xp.log(mu) - xp.log1p(-mu)


def sigmoid_slope(f):
    """s (1 - s), symmetric, from the smaller tail."""
    xp = arrays.namespace(f)
    e = xp.exp(-xp.abs(f))
    return e / (1 + e) ** 2


def _multinomial_forward(mu):
    """log mu centred over the last axis, eq. (2)."""
    xp = arrays.namespace(mu)
    f = safe_log(mu)
    return f - xp.mean(f, axis=-1, keepdims=True)


def _softmax_slope(f):
    p = softmax(f)
    return p * (1 - p)


def _via_numpy(function):
    """A SciPy special function for arrays of any library, by way of NumPy."""

    def call(x):
        import scipy.special

        special = getattr(scipy.special, function)
        result = special(arrays.to_numpy(x))
        return arrays.asarray(result, like=x) if arrays.is_foreign(x) else result

    return call


def _standard_normal_pdf(f):
    xp = arrays.namespace(f)
    return xp.exp(-(f**2) / 2) / math.sqrt(2 * math.pi)


def _exp(f):
    return arrays.namespace(f).exp(f)


def _ones(f):
    return arrays.namespace(f).ones_like(f)


def _zeros(f):
    return arrays.namespace(f).zeros_like(f)


def _sigmoid_bend(f):
    """s (1 - s) (1 - 2 s), with 1 - 2 s = -tanh(f / 2)."""
    return -sigmoid_slope(f) * arrays.namespace(f).tanh(f / 2)


# -- extreme value links, eq. (2) ------------------------------------------------


def _cloglog_forward(mu):
    return safe_log(-arrays.namespace(mu).log1p(-mu))


def _cloglog_inverse(f):
    return -arrays.namespace(f).expm1(-_exp(f))


def _cloglog_upper(f):
    return _exp(-_exp(f))


def _cloglog_slope(f):
    return _exp(f - _exp(f))


def _cloglog_bend(f):
    return _cloglog_slope(f) * (1 - _exp(f))


# -- Cauchy, eq. (3) -------------------------------------------------------------


def _cauchit_forward(mu):
    return arrays.namespace(mu).tan(math.pi * (mu - 0.5))


def _cauchit_inverse(f):
    """1/2 + atan(f) / pi; far below 0, atan(-1 / f) / pi keeps the digits."""
    xp = arrays.namespace(f)
    low = f < -1
    far = xp.atan(-1 / xp.where(low, f, -xp.ones_like(f))) / math.pi
    return xp.where(low, far, 0.5 + xp.atan(f) / math.pi)


def _cauchit_slope(f):
    return 1 / (math.pi * (1 + f * f))


def _cauchit_bend(f):
    return -2 * math.pi * f * _cauchit_slope(f) ** 2


identity = Link("identity", lambda mu: mu, lambda f: f, _ones, _zeros, code=0)
log = Link("log", safe_log, _exp, _exp, _exp, code=1)
logit = Link(
    "logit",
    _logit_forward,
    sigmoid,
    sigmoid_slope,
    _sigmoid_bend,
    upper=lambda f: sigmoid(-f),
    code=2,
)
probit = Link(
    "probit",
    _via_numpy("ndtri"),
    _via_numpy("ndtr"),
    _standard_normal_pdf,
    bend=lambda f: -f * _standard_normal_pdf(f),
    upper=lambda f: probit.inverse(-f),
    code=3,
)
cloglog = Link(
    "cloglog",
    _cloglog_forward,
    _cloglog_inverse,
    _cloglog_slope,
    _cloglog_bend,
    upper=_cloglog_upper,
    code=4,
)
loglog = Link(
    "loglog",
    lambda mu: -safe_log(-safe_log(mu)),
    lambda f: _cloglog_upper(-f),
    lambda f: _cloglog_slope(-f),
    bend=lambda f: -_cloglog_bend(-f),
    upper=lambda f: _cloglog_inverse(-f),
    code=5,
)
cauchit = Link(
    "cauchit",
    _cauchit_forward,
    _cauchit_inverse,
    _cauchit_slope,
    _cauchit_bend,
    upper=lambda f: _cauchit_inverse(-f),
    code=6,
)
tanh = Link(
    "tanh",
    lambda mu: _logit_forward(mu) / 2,
    lambda f: sigmoid(2 * f),
    lambda f: 2 * sigmoid_slope(2 * f),
    bend=lambda f: 4 * _sigmoid_bend(2 * f),
    upper=lambda f: sigmoid(-2 * f),
    code=7,
)
inverse = Link(
    "inverse",
    lambda mu: 1 / mu,
    lambda f: 1 / f,
    lambda f: -1 / f**2,
    lambda f: 2 / f**3,
    code=8,
    positive=True,
)
inverse_squared = Link(
    "inverse_squared",
    lambda mu: 1 / mu**2,
    lambda f: f**-0.5,
    lambda f: -0.5 * f**-1.5,
    lambda f: 0.75 * f**-2.5,
    code=9,
    positive=True,
)
sqrt = Link(
    "sqrt",
    lambda mu: arrays.namespace(mu).sqrt(mu),
    lambda f: f**2,
    lambda f: 2 * f,
    lambda f: 0 * f + 2,
    code=10,
    positive=True,
)
multinomial = Link("multinomial", _multinomial_forward, softmax, _softmax_slope)

LINKS = [
    identity,
    log,
    logit,
    probit,
    cloglog,
    loglog,
    cauchit,
    tanh,
    inverse,
    inverse_squared,
    sqrt,
    multinomial,
]


def get_link(name: str) -> Link:
    """The link of that name."""
    for link in LINKS:
        if link.name == name:
            return link
    known = ", ".join(link.name for link in LINKS)
    raise ValueError(f"no link is called {name!r}; there are {known}.")


for _link in LINKS:
    remember_recipe(_link, get_link, _link.name)
