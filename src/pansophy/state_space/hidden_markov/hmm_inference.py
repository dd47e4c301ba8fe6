"""Inference in a hidden Markov chain: messages, k-best paths, fixed-lag smoothing.

Functions of plain tables: start pi (k,), transitions A (k, k), likelihoods L (n, k) of
the observed sequence, and stop (k,), the probability of ending in each state, where a
chain has one. For one sequence,

    a_t(j) = L_t(j) sum_i a_t-1(i) A_ij,      b_t(i) = sum_j A_ij L_t+1(j) b_t+1(j) (1)

with a_1 = pi L_1 and b_n = stop (or 1); then sum_j a_t(j) b_t(j) = p(x) at every t.
Books differ in whether a message counts the observation of its own step: `inclusive`.

The m best paths keep, for each state and step, the m best ways to get there instead
of one [Seshadri1994]. A fixed lag h looks h steps ahead of each step: p(z_t | x_1..t+h)
is the filtered belief times h steps of the backward recursion.

Shapes    start (k,)   trans (k, k)   likelihood (n, k)   paths (m, n)
Refs      [Rabiner1989]; [Seshadri1994]
"""

from itertools import product

import numpy as np

from ...core.chains.filtering import Chain, Evidence, filter_chain, smooth_chain
from ...core.numerics import safe_divide, safe_log

MAX_PATHS = 1_000_000  # that `enumerate_paths` will write down


def _chain_tables(start, trans, likelihood, stop=None):
    """The tables as float arrays of shapes that agree; stop is 1 if there is none."""
    pi, A = np.asarray(start, dtype=float), np.asarray(trans, dtype=float)
    L = np.asarray(likelihood, dtype=float)
    k = len(pi)
    stop = np.ones(k) if stop is None else np.asarray(stop, dtype=float)
    if A.shape != (k, k) or L.ndim != 2 or L.shape[1] != k or stop.shape != (k,):
        raise ValueError(
            f"start has {k} states; trans must be ({k}, {k}), likelihood (n, {k}) and "
            f"stop ({k},), got {A.shape}, {L.shape} and {stop.shape}."
        )
    if len(L) == 0:
        raise ValueError("the sequence has no steps.")
    return pi, A, L, stop


def _log_messages(start, trans, likelihood, stop):
    """Logarithms of a_t and b_t of eq. (1), each (n, k)."""
    from ...core.chains._log_filtering import log_forward

    pi, A, L, stop = _chain_tables(start, trans, likelihood, stop)
    index = np.arange(len(L), dtype=np.int32)
    log_L, log_A = safe_log(L), safe_log(A)
    log_a, log_b = np.empty(L.shape), np.empty(L.shape)
    back = np.ascontiguousarray
    log_forward(safe_log(pi), back(A), back(log_A.T), log_L, index, log_a)
    # v_t = L_t b_t backward is the same recursion with A transposed
    log_forward(
        safe_log(stop), back(A.T), back(log_A), log_L, index[::-1].copy(), log_b
    )
    return log_a, log_b[::-1], log_L, log_A, safe_log(stop)


def forward_messages(start, trans, likelihood, *, stop=None, inclusive=True, log=False):
    """Forward messages (n, k), eq. (1): a_t(j) = p(x_1..t, z_t = j).

    Parameters
    ----------
    start, trans, likelihood : arrays of shape (k,), (k, k) and (n, k)
        likelihood[t, j] is the probability of x_t in state j.
    stop : array of shape (k,), optional
        Probability of ending in each state; forward messages do not use it.
    inclusive : bool
        Whether a_t counts x_t itself; without it, a_t(j) = p(x_1..t-1, z_t = j).
    log : bool
        Give logarithms, which do not underflow.

    Examples
    --------
    >>> from pansophy.state_space import forward_messages
    >>> emit = [[0.4, 0.1], [0.2, 0.5], [0.4, 0.1]]
    >>> forward_messages([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]], emit).round(6)
    array([[0.32    , 0.02    ],
           [0.0404  , 0.069   ],
           [0.023496, 0.005066]])
    """
    log_a, _, _, log_A, _ = _log_messages(start, trans, likelihood, stop)
    if not inclusive:
        later = np.logaddexp.reduce(log_a[:-1, :, None] + log_A, axis=1)
        log_a = np.vstack([safe_log(np.asarray(start, dtype=float)), later])
    return log_a if log else np.exp(log_a)


def backward_messages(
    start, trans, likelihood, *, stop=None, inclusive=False, log=False
):
    """Backward messages (n, k), eq. (1): b_t(i) = p(x_t+1..n | z_t = i).

    Parameters are those of `forward_messages`; `inclusive` counts x_t itself.

    Examples
    --------
    >>> from pansophy.state_space import backward_messages
    >>> emit = [[0.4, 0.1], [0.2, 0.5], [0.4, 0.1]]
    >>> backward_messages([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]], emit)[0].round(6)
    array([0.0836, 0.0905])
    """
    _, log_b, _, log_A, log_stop = _log_messages(start, trans, likelihood, stop)
    if not inclusive:
        earlier = np.logaddexp.reduce(log_A[None] + log_b[1:, None, :], axis=2)
        log_b = np.vstack([earlier, log_stop])
    return log_b if log else np.exp(log_b)


def enumerate_paths(start, trans, likelihood, *, stop=None):
    """Every path (k^n, n) and log p(x, path) (k^n,): an oracle for small cases.

    Examples
    --------
    >>> from pansophy.state_space import enumerate_paths
    >>> paths, log_p = enumerate_paths([0.5, 0.5], [[1, 0], [0, 1]], [[1, 1], [1, 0]])
    >>> paths[log_p.argmax()]
    array([0, 0])
    """
    pi, A, L, stop = _chain_tables(start, trans, likelihood, stop)
    n, k = L.shape
    if n * np.log(k) > np.log(MAX_PATHS):
        raise ValueError(
            f"{k} states over {n} steps have more than {MAX_PATHS} paths: use "
            "forward, smooth or decode."
        )
    paths = np.array(list(product(range(k), repeat=n)), dtype=np.int64)
    score = safe_log(pi)[paths[:, 0]] + safe_log(stop)[paths[:, -1]]
    score = score + safe_log(L)[np.arange(n), paths].sum(axis=1)
    return paths, score + safe_log(A)[paths[:, :-1], paths[:, 1:]].sum(axis=1)


def k_best_paths(start, trans, likelihood, m, *, stop=None, log=False):
    """The m most likely paths (m, n) and their log-probabilities (m,), best first.

    Fewer come back where fewer are possible. With `log`, `likelihood` holds
    logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import k_best_paths
    >>> emit = [[0.4, 0.1], [0.2, 0.5], [0.4, 0.1]]
    >>> paths, score = k_best_paths([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]], emit, 2)
    >>> paths
    array([[0, 1, 0],
           [0, 0, 0]])
    >>> np.exp(score).round(6)
    array([0.0128  , 0.009216])
    """
    pi, A, L, stop = _chain_tables(start, trans, likelihood, stop)
    if m < 1:
        raise ValueError(f"at least one path must be asked for, got {m}.")
    log_L = L if log else safe_log(L)
    log_A = safe_log(A)
    n, k = L.shape
    d = np.full((k, m), -np.inf)  # the m best scores that end in each state
    d[:, 0] = safe_log(pi) + log_L[0]
    came = np.zeros((n, k, m), np.int32)  # state * m + rank at the step before
    for t in range(1, n):
        ways = (d[:, :, None] + log_A[:, None, :]).reshape(k * m, k)
        order = np.argsort(-ways, axis=0, kind="stable")[:m]
        came[t] = order.T
        d = np.take_along_axis(ways, order, axis=0).T + log_L[t][:, None]
    last = (d + safe_log(stop)[:, None]).reshape(-1)
    best = np.argsort(-last, kind="stable")[:m]
    best = best[last[best] > -np.inf]
    paths = np.empty((len(best), n), np.int64)
    state = best
    for t in range(n - 1, -1, -1):
        paths[:, t] = state // m
        state = came[t].reshape(-1)[state]
    return paths, last[best]


def require_possible(beliefs, ends) -> np.ndarray:
    """Beliefs (n, k), or scores (s,) of paths, if no sequence has probability 0.

    Such a one has no posterior: that is an error, which names it.
    """
    is_possible = beliefs > -np.inf if beliefs.ndim == 1 else beliefs.any(axis=1)
    if not is_possible.all():
        t = int(is_possible.argmin())
        s = t if beliefs.ndim == 1 else int(np.searchsorted(ends, t, side="right"))
        raise ValueError(
            f"sequence {s} of {len(ends)} has probability 0 under this model, so that "
            "its states have no posterior and no most likely path."
        )
    return beliefs


def fixed_lag_smoother(chain: Chain, seen: Evidence, lag: int) -> np.ndarray:
    """p(z_t | x_1..t+lag) at every step (n, k), within each sequence."""
    if lag < 0:
        raise ValueError(f"lag must not be negative, got {lag}.")
    G, _ = filter_chain(chain, seen)
    L = seen.log_table if seen.index is None else seen.log_table[seen.index]
    top = L.max(axis=1, keepdims=True)
    L = np.exp(L - np.where(np.isfinite(top), top, 0.0))
    n = len(L)
    left = np.repeat(seen.ends, np.diff(seen.ends, prepend=0)) - 1 - np.arange(n)
    b = np.ones_like(G)
    for h in range(lag, 0, -1):  # from the furthest step back to the next one
        t = np.flatnonzero(left >= h)
        b[t] = (L[t + h] * b[t]) @ chain.trans.T
        b[t] /= np.maximum(b[t].max(axis=1, keepdims=True), 1e-300)
    joint = require_possible(G * b, seen.ends)
    return safe_divide(joint, joint.sum(axis=1, keepdims=True) + 0 * joint)


def pair_marginals(chain: Chain, seen: Evidence) -> np.ndarray:
    """p(z_t, z_t+1 | x) of all steps that have a next one: (n - s, k, k).

    f_t(i) A_ij s_t+1(j) / p_t+1(j), with filtered f, predicted p and smoothed s.
    """
    f = filter_chain(chain, seen)[0]
    s = require_possible(smooth_chain(chain, seen)[0], seen.ends)
    t = np.setdiff1d(np.arange(len(f)), seen.ends - 1)
    ratio = safe_divide(s[t + 1], f[t] @ chain.trans)
    return f[t][:, :, None] * chain.trans * ratio[:, None, :]
