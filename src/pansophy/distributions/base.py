"""Shared parts of distributions: events, batches of components, sufficient statistics.

A distribution is one or a batch of k. Parameters of one have the shape of an event,
those of a batch a leading axis k; X has one event per row. With s the sufficient
statistics of a family, everything learned from data goes through sums

    stats(X, w) = sum_i w_i s(x_i)            one distribution                   (1)
    stats(X, R) = sum_i r_ij s(x_i), j <= k   a batch, R (n, k)                  (2)

which can be added over blocks, files and machines, and `from_stats` turns a sum into
the distribution of highest likelihood, or of highest posterior under a `prior`.

Shapes    X (n, d) or (n,)   w (n,)   R (n, k)   log_prob (n,) or (n, k)
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.special

from ..core.arrays import arrays


class SufficientStatistics(NamedTuple):
    """Weight and weighted sums of statistics, eq. (1) and (2); they add."""

    weight: Any  # () or (k,)
    total: tuple  # each of event shape, or (k, event)


def float_parameter(value):
    """A parameter as a floating-point array of its own library."""
    foreign = arrays.is_foreign(value)
    return arrays.as_float(value if foreign else np.asarray(value))


def as_events(X, d: int):
    """X as (n, d); a vector is n events of one coordinate."""
    X = X if arrays.is_foreign(X) else np.asarray(X)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.shape[1] != d:
        raise ValueError(f"expected rows of {d} values, got shape {tuple(X.shape)}.")
    return X


def weighted_sum(S, weights):
    """Eq. (1) or (2) for statistics S (n, m): (m,) or (k, m)."""
    xp = arrays.namespace(S)
    if weights is None:
        return xp.sum(S, axis=0)
    weights = arrays.asarray(weights, like=S)
    return xp.matmul(weights.T if weights.ndim == 2 else weights, S)


def sum_of_weights(X, weights):
    """Sum of the weights: () or (k,)."""
    xp = arrays.namespace(X)
    if weights is None:
        return xp.asarray(float(X.shape[0]), dtype=X.dtype, device=arrays.device(X))
    return xp.sum(arrays.asarray(weights, like=X), axis=0)


def sufficient_statistics(X, weights, *statistics):
    """`SufficientStatistics` of the columns-wise statistics of rows X (n, d)."""
    X = arrays.as_float(X)
    total = tuple(weighted_sum(s(X), weights) for s in statistics)
    return SufficientStatistics(sum_of_weights(X, weights), total)


def over_coordinates(log_density, X, *params):
    """Sum of `log_density(x, *params)` over coordinates: (n,) or, for a batch, (n, k).

    A parameter is (), (d,) or (k, d); the d coordinates of an event are independent.
    """
    xp = arrays.namespace(params[0])
    ndim = max(p.ndim for p in params)
    X = as_events(X, int(params[0].shape[-1]) if ndim else 1)
    X = arrays.asarray(X, like=params[0])
    X = X[:, None, :] if ndim == 2 else X
    return xp.sum(log_density(X, *params), axis=-1)


def counts_times_log_probability(X, P):
    """sum_v x_v log p_v for counts X (n, m) and P (k, m), 0 log 0 = 0: (n, k).

    A matrix product, and another for what cannot be where an entry of P is 0.
    """
    xp = arrays.namespace(P)
    is_impossible = P == 0
    L = xp.matmul(X, xp.log(xp.where(is_impossible, xp.ones_like(P), P)).T)
    if not bool(xp.any(is_impossible)):
        return L
    ruled_out = xp.matmul(X, xp.astype(is_impossible, P.dtype).T) > 0
    return xp.where(ruled_out, xp.full_like(L, -xp.inf), L)


def weight_along_components(weight, total):
    """The weight of each component, () or (k,), against totals (d,) or (k, d).

    A weight of its own for each coordinate, where values are missing, stays as it is.
    """
    is_aligned = weight.ndim == 0 or weight.ndim == total.ndim
    return weight if is_aligned else weight[:, None]


def per_weight(total, weight):
    """total / weight with the weight of a batch along its first axis."""
    return total / weight_along_components(weight, total)


def require_all(ok, message):
    """Raise ValueError(message) unless every entry of ok holds."""
    if not bool(arrays.namespace(ok).all(ok)):
        raise ValueError(message)


def _special_function(name: str, x):
    """A special function on any backend: the library's own, or SciPy's."""
    xp = arrays.namespace(x)
    torch_name = {"gammaln": "lgamma", "digamma": "digamma"}.get(name)
    if arrays.is_torch(x) and torch_name is not None:
        return getattr(xp, torch_name)(x)
    return arrays.asarray(getattr(scipy.special, name)(arrays.to_numpy(x)), like=x)


def gammaln(x):
    return _special_function("gammaln", x)


def digamma(x):
    return _special_function("digamma", x)


def trigamma(x):
    return arrays.asarray(scipy.special.polygamma(1, arrays.to_numpy(x)), like=x)
