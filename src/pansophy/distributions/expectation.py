"""Expectations: sums over values, integrals over densities, averages over groups.

    E f(X) = sum_v P(v) f(v)      or      integral of p(x) f(x) dx               (1)
    Var f(X) = E (f(X) - E f(X))^2                                               (2)
    E Y = sum_s P(S = s) E(Y | S = s)                          total expectation (3)
    integral of exp(-x' A x + b' x + c) dx = sqrt(pi^d / det A) exp(b' A^-1 b / 4 + c)

(2) is summed about the mean, never as E f^2 - (E f)^2, which loses every digit when
the spread is small. Integrals are adaptive, between finite or infinite limits.

Shapes    x (m,) or (m, d)   p (m,)   A () or (d, d)   b () or (d,)
"""

import math

import numpy as np

from ..core.arrays import arrays
from .base import float_parameter
from .information.information import as_probabilities, unwrap_scalar


def _density_of(p):
    """A function x -> p(x) of one number, from a density or a distribution."""
    if hasattr(p, "log_prob"):
        return lambda t: math.exp(float(p.log_prob(np.array([t]))[0]))
    return lambda t: float(p(t))


def _integrate(g, x) -> float:
    """The integral of g between the limits x = (low, high)."""
    from scipy import integrate

    low, high = (float(v) for v in x)
    value, _ = integrate.quad(g, low, high, limit=500, epsabs=1e-13, epsrel=1e-11)
    return value


def _function_values(x, p, f):
    """f(x) along the first axis, and p as masses for it."""
    p = as_probabilities(p, -1, "p")
    x = arrays.asarray(x, like=p)
    if p.ndim != 1 or x.shape[0] != p.shape[0]:
        raise ValueError(
            f"{x.shape[0]} values have probabilities of shape {tuple(p.shape)}."
        )
    y = x if f is None else f(x)
    return y, (p if y.ndim == 1 else p[:, None])


def expectation(x, p, f=None):
    """E f(X), eq. (1).

    Parameters
    ----------
    x : array of shape (m,) or (m, d), or a pair (low, high)
        The values of X; for a density the limits of the integral.
    p : array of shape (m,), distribution or function
        Probabilities (or whole numbers as counts) of the values; or a density of one
        number, as a function or as an object with `log_prob`.
    f : function, optional
        Of an array of values (of one number for a density); X itself if None.

    Examples
    --------
    >>> from pansophy.distributions import Normal, expectation
    >>> round(float(expectation([70, 71], [0.47, 0.53])), 6)
    70.53
    >>> from math import inf
    >>> round(expectation((-inf, inf), Normal(1.0, 4.0), lambda x: x * x), 6)
    5.0
    """
    if callable(p) or hasattr(p, "log_prob"):
        q = _density_of(p)
        return _integrate(lambda t: _density_times_function(q(t), t, f), x)
    y, p = _function_values(x, p, f)
    return unwrap_scalar(arrays.namespace(y).sum(p * y, axis=0))


def _density_times_function(density, t, f):
    """p(t) f(t), 0 where p is: f may be infinite there."""
    return density * float(t if f is None else f(t)) if density > 0 else 0.0


def variance(x, p, f=None):
    """Var f(X), eq. (2); arguments as in `expectation`.

    Examples
    --------
    >>> from pansophy.distributions import variance
    >>> float(variance([0.0, 1.0], [0.5, 0.5]))
    0.25
    """
    mean = expectation(x, p, f)
    value = (lambda t: t) if f is None else f
    return expectation(x, p, lambda t: (value(t) - mean) ** 2)


def grouped_mean(y, groups=None, weights=None):
    """The mean as the mean of group means, eq. (3).

    Parameters
    ----------
    y : array of shape (n,)
        Numbers; or, without `groups`, the mean of each group.
    groups : array of shape (n,), optional
        The group of each number.
    weights : array of shape (n,), optional
        Weight of each number; without `groups` the share of each group, which must
        sum to 1 (or be whole numbers).

    Examples
    --------
    >>> from pansophy.distributions import grouped_mean
    >>> round(float(grouped_mean([70, 71], weights=[0.47, 0.53])), 6)
    70.53
    >>> float(grouped_mean([1.0, 2.0, 6.0], groups=["a", "a", "b"]))
    3.0
    """
    y = float_parameter(y)
    if groups is None:
        if weights is None:
            raise ValueError("give the group of each number, or the shares of groups.")
        return expectation(y, arrays.asarray(weights, like=y))
    values = arrays.to_numpy(y)
    names, codes = np.unique(arrays.to_numpy(groups), return_inverse=True)
    if codes.shape != values.shape:
        raise ValueError(f"{len(values)} numbers have {codes.size} groups.")
    w = np.ones(len(values)) if weights is None else arrays.to_numpy(weights)
    size = np.bincount(codes, w, minlength=len(names))
    is_used = size > 0
    means = (
        np.bincount(codes, w * values, minlength=len(names))[is_used] / size[is_used]
    )
    return unwrap_scalar(arrays.asarray(means @ (size[is_used] / size.sum()), like=y))


def gaussian_integral(a, b=0.0, c=0.0, *, log: bool = False):
    """The integral of exp(-x' A x + b' x + c) over all x.

    That of exp(-a (x + m)^2) does not depend on m: it is `gaussian_integral(a)`.

    Parameters
    ----------
    a : float, or array of shape (d, d)
        Positive; a matrix must be positive definite.
    b : float, or array of shape (d,)
    c : float
    log : bool
        Return the logarithm.

    Examples
    --------
    >>> from pansophy.distributions import gaussian_integral
    >>> round(gaussian_integral(2, 3, 1), 7)
    10.4938708
    >>> round(gaussian_integral(2), 7)
    1.2533141
    """
    A = np.atleast_2d(np.asarray(a, dtype=float))
    d = len(A)
    b = np.broadcast_to(np.asarray(b, dtype=float), (d,))
    if A.shape != (d, d):
        raise ValueError(f"a must be a number or a square matrix, got {A.shape}.")
    try:
        L = np.linalg.cholesky((A + A.T) / 2)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "a must be positive (definite): the integral is inf."
        ) from error
    half = np.linalg.solve(L, b)
    value = 0.5 * d * math.log(math.pi) - np.log(np.diag(L)).sum() + half @ half / 4 + c
    return float(value) if log else float(np.exp(value))
