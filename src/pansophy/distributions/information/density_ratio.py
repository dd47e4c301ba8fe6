"""Density ratio estimation: p/q from a classifier of their samples.

The best discriminator between p and q, each seen half of the time, maximises

    V(D) = E_p log D(X) + E_q log(1 - D(X)),   so   D* = p / (p + q)             (1)
    V(D*) = -log 4 + 2 JS(p, q),    -log 4 and D* = 1/2 where p = q              (2)

so any classifier with probabilities, fitted to samples of p against samples of q,
gives p(x) / q(x) = D / (1 - D), corrected for unequal sample sizes, without either
density being known.

Shapes    P (n, d)   Q (m, d)   ratio (r,)
Refs      [Goodfellow2014] eq. (1), (2); [Sugiyama2012]
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import arrays
from ...core.numerics import log1pexp, safe_divide, safe_log, sigmoid, xlogy
from .information import matching_probabilities, unwrap_scalar


def optimal_discriminator(p, q):
    """D* of eq. (1) for densities or masses at the same places; 1/2 where both are 0.

    Examples
    --------
    >>> from pansophy.distributions import optimal_discriminator
    >>> optimal_discriminator([0.5, 0.5], [0.5, 0.0]).round(6)
    array([0.5, 1. ])
    """
    foreign = arrays.is_foreign(p)
    p = arrays.as_float(p if foreign else np.asarray(p))
    q = arrays.asarray(q, like=p)
    return safe_divide(p, p + q, 0.5)


def discriminator_value(p, q, D=None):
    """V(D) of eq. (1) for distributions over the same values; the largest if D is None.

    Examples
    --------
    >>> from pansophy.distributions import discriminator_value
    >>> round(float(discriminator_value([0.5, 0.5], [0.5, 0.5])), 6)
    -1.386294
    """
    p, q = matching_probabilities(p, q, -1)
    xp = arrays.namespace(p)
    if D is None:
        yes, d_q = optimal_discriminator(p, q), optimal_discriminator(q, p)
    else:
        yes = arrays.asarray(D, like=p)
        d_q = 1 - yes
    return unwrap_scalar(xp.sum(xlogy(p, yes) + xlogy(q, d_q), axis=-1))


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """A fitted discriminator, with the density ratio and divergence it implies."""

    classifier: Any
    shift: float  # log(m / n): what unequal sample sizes add to the log odds

    def log_ratio(self, X):
        """log p(x) / q(x) of each row: (n,)."""
        if hasattr(self.classifier, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                L = self.classifier.predict_log_proba(X)
        else:
            L = safe_log(self.classifier.predict_proba(X))
        positive = list(arrays.to_numpy(self.classifier.classes_)).index(1)
        return L[:, positive] - L[:, 1 - positive] + self.shift

    def ratio(self, X):
        """p(x) / q(x) of each row: (n,)."""
        log_p_over_q = self.log_ratio(X)
        return arrays.namespace(log_p_over_q).exp(log_p_over_q)

    def discriminator(self, X):
        """D(x) = p / (p + q) of each row: (n,)."""
        return sigmoid(self.log_ratio(X))

    def value(self, P, Q) -> float:
        """V(D) of eq. (1) from samples; use rows that were not fitted to."""
        a, b = self.log_ratio(P), self.log_ratio(Q)
        xp = arrays.namespace(a)
        return -float(xp.mean(log1pexp(-a))) - float(xp.mean(log1pexp(b)))

    def js(self, P, Q) -> float:
        """A lower bound of JS(p, q) from samples, by eq. (2)."""
        return (self.value(P, Q) + math.log(4)) / 2


def density_ratio(P, Q, classifier) -> DensityRatio:
    """p(x) / q(x) from samples of both, by a classifier.

    Parameters
    ----------
    P, Q : arrays of shape (n, d) and (m, d)
        Rows drawn from p and from q.
    classifier : object with `fit` and `predict_proba`
        Copied, then fitted to 1 for rows of P and 0 for rows of Q. Its probabilities
        should be calibrated, and its classes not reweighted.

    Returns
    -------
    ratio : DensityRatio
        With `ratio`, `log_ratio`, `discriminator`, `value` and `js`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import density_ratio
    >>> from pansophy.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.normal(1.0, 1.0, (4000, 1)), rng.normal(0.0, 1.0, (4000, 1))
    >>> found = density_ratio(P, Q, LogisticRegression(C=1e6))
    >>> bool(abs(found.log_ratio([[2.0]])[0] - 1.5) < 0.15)  # x - 1/2
    True
    """
    from sklearn.base import clone

    P = P if arrays.is_foreign(P) else np.asarray(P)
    Q = Q if arrays.is_foreign(Q) else np.asarray(Q)
    if P.ndim != 2 or Q.ndim != 2 or P.shape[1] != Q.shape[1]:
        raise ValueError(
            f"P and Q must be rows of the same columns, got shapes {tuple(P.shape)} "
            f"and {tuple(Q.shape)}."
        )
    for name in ("fit", "predict_proba"):
        if not hasattr(classifier, name):
            raise TypeError(f"the classifier needs {name}.")
    xp = arrays.namespace(P, Q)
    n, m = int(P.shape[0]), int(Q.shape[0])
    y = xp.asarray(np.repeat([1, 0], [n, m]), device=arrays.device(P))
    fitted = clone(classifier).fit(xp.concat([P, Q]), y)
    return DensityRatio(fitted, math.log(m / n))
