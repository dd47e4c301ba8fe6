"""A lower bound on mutual information, by any guess of the posterior.

For a code c of known entropy H(c) and an outcome x that depends on it,

    I(c; x) = H(c) - H(c | x) >= H(c) + E log Q(c | x)                           (1)

for every conditional density Q, since the gap is the mean KL(p(c | x) || Q(c | x)). The
bound is tight where Q is the posterior, and never above H(c) if Q is a probability of a
discrete code. Pairs (c, x) are drawn by drawing c first, so that no posterior has to
be sampled.

Refs      [Barber2003]; [Chen2016InfoGAN]
"""

import numpy as np

from ...core.arrays import arrays
from ...core.arrays.weighted import check_sample_weight
from .information import nats_per_unit, unwrap_scalar


def mi_lower_bound(log_q, entropy, *, sample_weight=None, base=None):
    """The bound of eq. (1) from pairs of a code and an outcome.

    Parameters
    ----------
    log_q : array of shape (n,)
        log Q(c_i | x_i) of each pair, in nats; NumPy or torch, whose gradients are
        kept.
    entropy : float
        H(c) in nats; log K for K equally likely values.
    sample_weight : array of shape (n,), optional
        Weights of the pairs; probabilities of all pairs give the exact bound.
    base : float or None
        2 for bits; None for nats.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import mi_lower_bound
    >>> log_q = np.log([0.9, 0.8, 0.9, 0.6])  # the right code of two
    >>> round(float(mi_lower_bound(log_q, np.log(2))), 6)
    0.456975
    """
    log_q = log_q if arrays.is_foreign(log_q) else np.asarray(log_q, float)
    if log_q.ndim != 1 or log_q.shape[0] == 0:
        raise ValueError(f"log_q must have shape (n,), got {tuple(log_q.shape)}.")
    w = check_sample_weight(sample_weight, log_q)
    xp = arrays.namespace(log_q)
    if w is None:
        mean = xp.mean(log_q)
    else:  # a pair of weight 0 does not count, even where log Q is -inf
        counted = xp.where(w > 0, log_q, xp.zeros_like(log_q))
        mean = xp.sum(w * counted) / xp.sum(w)
    return unwrap_scalar((mean + entropy) / nats_per_unit(base))
