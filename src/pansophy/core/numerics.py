"""Numerically stable formulas (logsumexp, softmax, ...) for any array library."""

import math

import numpy as np

from .arrays.arrays import namespace

LOG_2PI = math.log(2 * math.pi)


def logsumexp(A, axis=-1, keepdims=False):
    """log sum exp(A) along an axis; -inf where every entry is -inf."""
    xp = namespace(A)
    top = xp.max(A, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with np.errstate(divide="ignore"):
        log_total = xp.log(xp.sum(xp.exp(A - top), axis=axis, keepdims=True)) + top
    return log_total if keepdims else xp.squeeze(log_total, axis=axis)


def softmax(A, axis=-1):
    """exp(A) normalised along an axis."""
    xp = namespace(A)
    E = xp.exp(A - xp.max(A, axis=axis, keepdims=True))
    return E / xp.sum(E, axis=axis, keepdims=True)


def log_softmax(A, axis=-1):
    """log of `softmax`, exact for very negative entries."""
    A = A - namespace(A).max(A, axis=axis, keepdims=True)  # first: keeps all digits
    return A - logsumexp(A, axis=axis, keepdims=True)


def log1pexp(a):
    """log(1 + exp(a)) without overflow: max(a, 0) + log1p(exp(-|a|))."""
    xp = namespace(a)
    return xp.maximum(a, xp.zeros_like(a)) + xp.log1p(xp.exp(-xp.abs(a)))


def sigmoid(a):
    """1 / (1 + exp(-a)) without overflow."""
    xp = namespace(a)
    e = xp.exp(-xp.abs(a))
    return xp.where(a >= 0, 1 / (1 + e), e / (1 + e))


def safe_log(p):
    """log(p) with log(0) = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return namespace(p).log(p)


def xlogy(x, y):
    """x log(y), with 0 log(0) = 0."""
    xp = namespace(x, y)
    nonzero_y = xp.where(x == 0, xp.ones_like(y), y)
    return x * safe_log(nonzero_y)


def safe_divide(a, b, otherwise=0.0):
    """a / b, and `otherwise` where b is 0."""
    xp = namespace(a, b)
    zero = b == 0
    quotient = a / xp.where(zero, xp.ones_like(b), b)
    return xp.where(zero, xp.full_like(quotient, otherwise), quotient)


def normalize_log_weights(log_weights):
    """Weights of sum 1 from a vector of log weights, and the log of their sum.

    `softmax` and `logsumexp` in one pass. Where every weight is 0 (log weight -inf)
    the weights are zeros and the log of their sum is -inf.

    Examples
    --------
    >>> from pansophy.core.numerics import normalize_log_weights
    >>> weights, log_sum = normalize_log_weights([-1000.0, -1000.0])
    >>> weights.tolist(), round(log_sum, 3)
    ([0.5, 0.5], -999.307)
    """
    L = np.asarray(log_weights, dtype=float)
    top = float(L.max(initial=-np.inf))
    if top == -np.inf:
        return np.zeros_like(L), -np.inf
    w = np.exp(L - top)
    total = float(w.sum())
    return w / total, top + math.log(total)
