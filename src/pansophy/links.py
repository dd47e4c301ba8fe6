"""Links: the scale on which a model is linear, mu = g^-1(f).

A link g maps the mean mu of a target to the raw prediction f. Calling a link gives
g(mu), `inverse` gives g^-1(f) and `slope` gives d g^-1 / d f, all by the stable
formulas of `core.numerics`:

    identity  f = mu            log     f = log mu
    logit     f = log mu/(1-mu) probit  f = Phi^-1(mu)                          (1)
    multinomial  f_k = log mu_k, centred over k; inverse softmax                (2)

Eq. (2) is defined up to a constant per row; its slope is the diagonal of the
Jacobian, mu_k (1 - mu_k). Arrays of any namespace go in and come out.

Refs      [McCullagh1989]
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .core import arrays
from .core.numerics import logsumexp, safe_log, sigmoid, softmax

__all__ = [
    "LINKS",
    "Link",
    "identity",
    "log",
    "logit",
    "logsumexp",
    "multinomial",
    "probit",
    "sigmoid",
    "softmax",
]


@dataclass(frozen=True, eq=False)
class Link:
    """A link function with its inverse and the slope of the inverse.

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

    def __call__(self, mu):
        """g(mu)."""
        return self.forward(mu)

    def __repr__(self):
        return f"<link {self.name}>"


def logit_forward(mu):
    """log mu - log(1 - mu), by log1p so that a mu near 0 keeps its digits."""
    xp = arrays.namespace(mu)
    with np.errstate(divide="ignore"):
        return xp.log(mu) - xp.log1p(-mu)


def sigmoid_slope(f):
    """s (1 - s), symmetric, from the smaller tail."""
    xp = arrays.namespace(f)
    e = xp.exp(-xp.abs(f))
    return e / (1 + e) ** 2


def multinomial_forward(mu):
    """log mu centred over the last axis, eq. (2)."""
    xp = arrays.namespace(mu)
    f = safe_log(mu)
    return f - xp.mean(f, axis=-1, keepdims=True)


def softmax_slope(f):
    p = softmax(f)
    return p * (1 - p)


def _host(function):
    """A SciPy special function for arrays of any library, by way of NumPy."""

    def call(x):
        import scipy.special

        special = getattr(scipy.special, function)
        out = special(arrays.to_numpy(x))
        return arrays.asarray(out, like=x) if arrays.is_foreign(x) else out

    return call


def normal_density(f):
    xp = arrays.namespace(f)
    return xp.exp(-(f**2) / 2) / math.sqrt(2 * math.pi)


def _exp(f):
    return arrays.namespace(f).exp(f)


def _ones(f):
    return arrays.namespace(f).ones_like(f)


identity = Link("identity", lambda mu: mu, lambda f: f, _ones)
log = Link("log", safe_log, _exp, _exp)
logit = Link("logit", logit_forward, sigmoid, sigmoid_slope)
probit = Link("probit", _host("ndtri"), _host("ndtr"), normal_density)
multinomial = Link("multinomial", multinomial_forward, softmax, softmax_slope)

LINKS = [identity, log, logit, probit, multinomial]
