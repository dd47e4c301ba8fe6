"""Rejection sampling: proposals under an envelope, accepted under the target.

With a target p' known up to a constant, Z = int p', a proposal q and k q(x) >= p'(x),

    x ~ q, u ~ uniform(0, k q(x)),   accepted if u <= p'(x)                      (1)

gives exact, independent draws of p'/Z: points (x, u) are uniform under k q, so those
under p' are uniform there. The acceptance rate is

    P(accepted) = int p' / int k q = Z / k                                           (2)

so the rate estimates Z, and the smallest valid k is the most efficient. A point where
p' > k q invalidates the method and raises `EnvelopeError` with its position and ratio.

Cost      k / Z draws of q and evaluations of p' for one accepted draw, in blocks
Refs      [VonNeumann1951]
"""

from typing import NamedTuple

import numpy as np

from ...core.drivers.metropolis import acceptance_threshold, is_accepted
from ...core.random import make_rng
from ...params import check_count
from ..densities.distribution_interface import (
    as_distribution,
    draw_samples,
    log_density_function,
)

ENVELOPE_TOL = 1e-9  # rounding error by which log p' may exceed log k q
MAX_BLOCK = 1_000_000


class EnvelopeError(ValueError):
    """The target lies above its envelope; `place` is where, `ratio` by how much."""

    def __init__(self, place, ratio, advice="raise log_k by at least {:.6g}"):
        self.place = place
        self.ratio = float(ratio)
        super().__init__(
            f"the target is {self.ratio:.6g} times its envelope at "
            f"{np.array2string(np.asarray(place), precision=6)}; "
            + advice.format(np.log(self.ratio))
            + "."
        )


class RejectionResult(NamedTuple):
    """Result of rejection sampling."""

    draws: np.ndarray  # (n, ...)
    acceptance: float  # share of accepted proposals, eq. (2)
    proposals: int  # number of proposals
    log_z: float  # log Z = log k + log of the share
    log_z_error: float  # its standard error


def rejection_sample(
    log_prob, proposal, n=1, *, log_k=0.0, max_proposals=None, random_state=None
):
    """n independent draws from a density by rejection.

    Parameters
    ----------
    log_prob : function
        log p' of an array of draws of the proposal, giving (m,); any constant.
    proposal : distribution
        With `sample` and `log_prob`, a frozen SciPy distribution, or a box
        [(low, high), ...].
    n : int
    log_k : float
        log k, such that log p'(x) <= log k + log q(x) everywhere.
    max_proposals : int or None
        Maximum number of proposals; None is 10,000 for each draw, at least 10^6.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Rejection
        Draws, acceptance rate, number of proposals and log Z with its error.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import rejection_sample
    >>> hill = lambda x: np.log(x[:, 0] * (1 - x[:, 0]))  # Z = 1/6, top 1/4
    >>> run = rejection_sample(hill, [(0, 1)], 4000, log_k=np.log(0.25), random_state=0)
    >>> bool(abs(run.acceptance - 2 / 3) < 0.02)  # Z / k
    True
    >>> bool(abs(run.draws.var() - 0.05) < 0.005)
    True
    """
    n = check_count("n", n)
    q = as_distribution(proposal)
    log_q = log_density_function(q)
    rng = make_rng(random_state)
    limit = max(10_000 * n, 10**6) if max_proposals is None else max_proposals
    accepted = []
    n_found = 0
    n_proposed = 0
    rate = 1.0
    while n_found < n:
        if n_proposed >= limit:
            raise ValueError(
                f"{n_proposed} proposals gave {n_found} of {n} draws: the envelope "
                "lies too far above the target; lower log_k or choose a closer "
                "proposal."
            )
        size = int(min(1.1 * (n - n_found) / rate + 16, limit - n_proposed, MAX_BLOCK))
        x = draw_samples(q, size, rng)
        ratio = np.asarray(log_prob(x), dtype=float).reshape(size) - log_q(x) - log_k
        _check_envelope(ratio, x)
        accept = is_accepted(
            ratio, 0.0, acceptance_threshold(1.0, size, rng)
        )  # eq. (1)
        n_proposed, n_found = n_proposed + size, n_found + int(accept.sum())
        accepted.append(x[accept])
        rate = max(n_found, 0.5) / n_proposed
    share = n_found / n_proposed
    error = np.sqrt((1 - share) / n_found)
    draws = np.concatenate(accepted)[:n]
    return RejectionResult(
        draws, share, n_proposed, log_k + float(np.log(share)), float(error)
    )


def _check_envelope(log_ratio, x):
    """Raise where the target lies above the envelope or is not a number."""
    if np.isnan(log_ratio).any():
        i = int(np.argmax(np.isnan(log_ratio)))
        raise ValueError(f"log_prob is not a number at {x[i]}.")
    i = int(np.argmax(log_ratio))
    if log_ratio[i] > ENVELOPE_TOL:
        raise EnvelopeError(x[i], np.exp(log_ratio[i]))
