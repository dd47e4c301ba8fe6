"""Resampling schemes: n equally weighted particles from m weighted ones, unbiased.

With normalised weights w and cumulative sums C_j = w_1 + ... + w_j, particle j is
copied N_j times, where E N_j = n w_j in every scheme below. Points of (0, 1) select the
particle whose interval (C_j-1, C_j] contains them:

    multinomial  n independent uniform points             Var N_j = n w_j (1 - w_j)  (1)
    stratified   u_i = (i + U_i) / n, one in each of n strata                        (2)
    systematic   u_i = (i + U) / n, one U for all         |N_j - n w_j| < 1          (3)
    residual     floor(n w_j) copies, multinomial points for the rest                (4)

The number of points below C is known in closed form: in (3) it is ceil(n C - U), in (2)
floor(n C) and one more if U of that stratum lies below the rest, so the schemes cost
O(m + n) array operations without a search. Variances of (2),
(3) and (4) are never above that of (1) for a sum of one N_j; stratified and residual
points keep this for every function of the particles, systematic ones nearly always.

Log weights l are normalised by

    log mean w = log sum exp(l) - log m,   W = softmax(l),   ESS = 1 / sum W^2       (5)

Shapes    w (m,)   copies (m,)   ancestors (n,), ascending
Refs      [Kitagawa1996] (2), (3); [Liu1998] (4); [Douc2005] their variances;
          [Kong1994] the effective size
"""

import numpy as np

from ...core.random import make_rng
from ...params import check_count

DEGENERATE_SHARE = (
    0.01  # relative effective sample size below which weights are degenerate
)


def softmax_weights(log_weights):
    """Normalised weights and the log of the mean weight, eq. (5)."""
    L = np.asarray(log_weights, dtype=float)
    top = L.max() if L.size else -np.inf
    if np.isnan(top) or top in (np.inf, -np.inf):
        kind = {np.inf: "infinite", -np.inf: "zero"}.get(top, "not a number")
        how_many = "every" if top == -np.inf else "some"
        raise ValueError(f"{how_many} weight is {kind}.")
    w = np.exp(L - top)
    total = w.sum()
    w /= total
    return w, float(top + np.log(total / len(L)))


def _multinomial_copies(w, n, rng):
    """Eq. (1)."""
    return rng.multinomial(n, w)


def _stratified_copies(w, n, rng):
    """Eq. (2)."""
    edges = n * _cumulative_weights(w)
    stratum = edges.astype(np.intp)  # floor
    U = np.append(rng.random(n), 1.0)  # nothing lies above the last stratum
    cumulative_count = stratum + (U[stratum] < edges - stratum)
    return np.diff(cumulative_count, prepend=0)


def systematic_copies(w, n, rng):
    """Eq. (3)."""
    cumulative_count = np.ceil(n * _cumulative_weights(w) - rng.random()).astype(
        np.intp
    )
    return np.diff(cumulative_count, prepend=0)


def _residual_copies(w, n, rng):
    """Eq. (4)."""
    # n w that is an integer up to rounding counts as one
    expected = n * w
    copies = np.floor(expected * (1 + 1e-14)).astype(np.intp)
    rest = np.maximum(expected - copies, 0.0)
    n_left = n - int(copies.sum())
    if n_left > 0:
        copies += rng.multinomial(n_left, rest / rest.sum())
    return copies


def _cumulative_weights(w):
    """C_1..C_m, at most one, the last exactly one."""
    C = np.minimum(np.cumsum(w), 1.0)
    last = np.flatnonzero(w)[-1]  # rounding must not select particles of weight 0
    C[last:] = 1.0
    return C


RESAMPLERS = {
    "multinomial": _multinomial_copies,
    "stratified": _stratified_copies,
    "systematic": systematic_copies,
    "residual": _residual_copies,
}


def resample(weights, n=None, scheme="systematic", random_state=None):
    """Indices of n particles, each chosen in proportion to its weight.

    Parameters
    ----------
    weights : array of shape (m,)
        Not negative; they need not sum to one.
    n : int or None
        Number of particles; None is m.
    scheme : {"multinomial", "stratified", "systematic", "residual"}
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ndarray of shape (n,)
        Indices in ascending order; index j occurs n w_j times on average.

    Examples
    --------
    >>> from pansophy.sampling import resample
    >>> resample([0.5, 0.25, 0.0, 0.25], 8, random_state=0)
    array([0, 0, 0, 0, 1, 1, 3, 3])
    """
    if scheme not in RESAMPLERS:
        raise ValueError(f"scheme must be one of {list(RESAMPLERS)}, got {scheme!r}.")
    w = np.asarray(weights, dtype=float)
    total = w.sum() if w.ndim == 1 else np.nan
    if not 0 < total < np.inf or w.min() < 0:
        raise ValueError(
            "weights must be one row of finite numbers, not negative, with a sum "
            "above 0."
        )
    n = len(w) if n is None else n
    n = check_count("n", n)
    copies = RESAMPLERS[scheme](w / total, n, make_rng(random_state))
    return np.repeat(np.arange(len(w)), copies)
