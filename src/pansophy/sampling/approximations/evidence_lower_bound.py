"""The evidence lower bound (ELBO) in its three forms, and the gain of an EM step.

For observed x, hidden z and any distribution q of z,

    ELBO(q) = E_q log p(x, z) - E_q log q(z)                                     (1)
            = E_q log p(x | z) - KL(q || p(z))                                   (2)
            = log p(x) - KL(q || p(z | x))                                       (3)

so by (3) it is at most log p(x), with equality exactly if q is the posterior. For
tables of a discrete z all three are sums; for other q they are means over draws of q,
the same draws in each form. In (1) the logarithm of q is taken at the draws as well,
not by its entropy: where q is the posterior every term is the same number, and the
estimate has no error.

With Q(a, b) = E log p(x, z; a) under the posterior of b, and P_a that posterior of a,

    log p(x; new) - log p(x; old) = Q(new, old) - Q(old, old) + KL(P_old || P_new)  (4)

both parts of which are not negative if `new` maximises Q: EM never lowers log p(x).

Shapes    tables (k,) or (n, k): k states of z, n rows x with a z each
Refs      [Jordan1999]; [Neal1998] (4); [Roeder2017] log q at the draws
"""

from typing import NamedTuple

import numpy as np

from ...core.numerics import logsumexp, xlogy
from ...core.random import make_rng
from ..densities.distribution_interface import (
    as_distribution,
    draw_samples,
    log_density_function,
)


class EvidenceBound(NamedTuple):
    """The bound and its parts; NaN for parts that were not requested."""

    value: float  # eq. (1)
    se: float  # standard error, 0 where exact
    expected_log_like: float  # E_q log p(x | z)
    kl_prior: float  # KL(q || p(z))
    log_evidence: float  # log p(x)
    kl_posterior: float  # KL(q || p(z | x))

    @property
    def forms(self) -> tuple[float, float, float]:
        """Eq. (1), (2) and (3)."""
        second = self.expected_log_like - self.kl_prior
        return self.value, second, self.log_evidence - self.kl_posterior

    @property
    def gap(self) -> float:
        """log p(x) minus the bound."""
        return self.log_evidence - self.value


class LikelihoodGain(NamedTuple):
    """Eq. (4)."""

    total: float  # of log p(x)
    expected: float  # Q(new, old) - Q(old, old)
    kl: float  # KL(P_old || P_new)


def elbo(
    log_joint,
    q,
    *,
    log_prior=None,
    log_evidence=None,
    log_posterior=None,
    n=1000,
    random_state=None,
) -> EvidenceBound:
    """The bound of q on log p(x), by tables or by draws.

    Parameters
    ----------
    log_joint : array of shape (k,) or (n, k), or function
        log p(x, z) for each state of z; or a function of draws of z giving (m,).
    q : array like log_joint, or distribution
        Probabilities of the states, or a distribution with `sample` and `log_prob`.
    log_prior : array, function or None
        log p(z), for form (2).
    log_evidence : float or None
        log p(x), for form (3); not needed for tables.
    log_posterior : function or None
        log p(z | x), for form (3); not needed for tables.
    n : int
        Number of draws.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Elbo
        value, se, the parts, and the three `forms`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import elbo
    >>> joint = np.log([0.3, 0.1])  # p(x, z) of two states: p(x) = 0.4
    >>> bound = elbo(joint, [0.5, 0.5], log_prior=np.log([0.6, 0.4]))
    >>> np.round(bound.forms, 6), round(bound.log_evidence, 6)
    (array([-1.060132, -1.060132, -1.060132]), -0.916291)
    >>> round(elbo(joint, [0.75, 0.25]).gap, 12)
    0.0
    """
    if not callable(log_joint):
        return _elbo_of_tables(log_joint, q, log_prior)
    q = as_distribution(q)
    rng = make_rng(random_state)
    z = draw_samples(q, n, rng)
    log_q = log_density_function(q)(z)
    log_p = np.asarray(log_joint(z), dtype=float).ravel()
    if len(log_p) != n:
        raise ValueError(f"log_joint must give one number a draw, got {len(log_p)}.")
    terms = log_p - log_q
    like = kl_prior = kl_post = np.nan
    if log_prior is not None:
        log_pz = np.asarray(log_prior(z), dtype=float).ravel()
        like, kl_prior = float(np.mean(log_p - log_pz)), float(np.mean(log_q - log_pz))
    evidence = np.nan if log_evidence is None else float(log_evidence)
    value = float(np.mean(terms))
    if log_posterior is not None:
        kl_post = float(np.mean(log_q - np.asarray(log_posterior(z)).ravel()))
    elif log_evidence is not None:
        kl_post = evidence - value
    se = float(np.std(terms, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return EvidenceBound(value, se, like, kl_prior, evidence, kl_post)


def _elbo_of_tables(log_joint, q, log_prior=None) -> EvidenceBound:
    """Eq. (1) to (3) as sums over states."""
    log_p, q = np.asarray(log_joint, dtype=float), np.asarray(q, dtype=float)
    if log_p.shape != q.shape or q.ndim not in (1, 2):
        raise ValueError(
            f"log_joint and q must be tables of the same shape, got {log_p.shape} and "
            f"{q.shape}."
        )
    if (q < 0).any() or np.abs(q.sum(axis=-1) - 1).max() > 1e-8:
        raise ValueError("each row of q must hold probabilities that sum to 1.")
    mean = lambda log_a: float(
        np.sum(np.where(q > 0, q * _zero_where_weightless(log_a, q), 0.0))
    )
    minus_entropy = float(np.sum(xlogy(q, q)))
    log_px = logsumexp(log_p, axis=-1)
    like = kl_prior = np.nan
    if log_prior is not None:
        log_pz = np.broadcast_to(np.asarray(log_prior, dtype=float), q.shape)
        positive = q > 0
        log_likelihood = np.where(
            positive, log_p - np.where(positive, log_pz, 0.0), 0.0
        )
        like = mean(log_likelihood)
        kl_prior = minus_entropy - mean(log_pz)
    kl_post = minus_entropy - mean(log_p - np.expand_dims(log_px, -1))
    value = mean(log_p) - minus_entropy
    return EvidenceBound(value, 0.0, like, kl_prior, float(np.sum(log_px)), kl_post)


def _zero_where_weightless(log_a, q):
    """log_a where q > 0 and 0 elsewhere, so that 0 times -inf is 0."""
    return np.where(q > 0, log_a, 0.0)


def likelihood_gain(log_joint_old, log_joint_new) -> LikelihoodGain:
    """Decompose the gain of log p(x) between two settings of a model, eq. (4).

    Parameters
    ----------
    log_joint_old, log_joint_new : arrays of shape (k,) or (n, k)
        log p(x, z) of each state of z under both.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import likelihood_gain
    >>> gain = likelihood_gain(np.log([0.3, 0.1]), np.log([0.4, 0.05]))
    >>> bool(np.isclose(gain.total, gain.expected + gain.kl)), bool(gain.kl >= 0)
    (True, True)
    """
    old, new = (np.asarray(a, dtype=float) for a in (log_joint_old, log_joint_new))
    evidence = [logsumexp(a, axis=-1) for a in (old, new)]
    posts = [
        a - np.expand_dims(e, -1) for a, e in zip((old, new), evidence, strict=True)
    ]
    p = np.exp(posts[0])
    weigh = lambda a, b: float(
        np.sum(p * (_zero_where_weightless(a, p) - _zero_where_weightless(b, p)))
    )
    total = float(np.sum(evidence[1]) - np.sum(evidence[0]))
    return LikelihoodGain(total, weigh(new, old), weigh(posts[0], posts[1]))
