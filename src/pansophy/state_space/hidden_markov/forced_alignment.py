"""Forced alignment: when each label of a known series begins.

A sequence of n steps is known to show the labels y_1, ..., y_m in this order, each for
at least one step; the best boundaries 0 = s_1 < s_2 < ... < s_m maximise

    sum_i sum_{s_i <= t < s_i+1} log p(x_t | y_i)  + log-probabilities of staying   (1)

A hidden chain that may only stay or move to the next label, and must end in the last:
d_t(i) = l_t(y_i) + max(d_t-1(i) + stay_i, d_t-1(i-1) + move_i-1), O(n m).

Shapes    log_prob (n, v)   labels (m,)   starts (m,)
Refs      [Rabiner1989]
"""

from typing import NamedTuple

import numpy as np

from ...core.numerics import safe_log


class Alignment(NamedTuple):
    """Boundaries of the labels, and what they are worth."""

    starts: np.ndarray  # (m,) first step of each label
    path: np.ndarray  # (n,) which of the m labels each step belongs to
    score: float  # eq. (1)


def forced_align(log_prob, labels=None, *, stay=None) -> Alignment:
    """Align n steps with a series of labels.

    Parameters
    ----------
    log_prob : array of shape (n, v)
        Log-probability of each step under each of v labels.
    labels : array of int of shape (m,), optional
        The labels in their order, repetitions allowed. None: all v, once each.
    stay : array of shape (v,), optional
        Probability that a label lasts another step. None counts no durations.

    Returns
    -------
    Alignment
        `starts` (m,), `path` (n,) and `score`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import forced_align
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    >>> forced_align(np.log(p), [0, 1]).starts
    array([0, 2])
    """
    L = np.asarray(log_prob, dtype=float)
    if L.ndim != 2:
        raise ValueError(f"log_prob must be (steps, labels), got {L.ndim} dimensions.")
    n, v = L.shape
    y = np.arange(v) if labels is None else np.asarray(labels)
    if y.ndim != 1 or len(y) == 0 or y.dtype.kind not in "iu":
        raise ValueError("labels must be a series of whole numbers, at least one.")
    if y.min() < 0 or y.max() >= v:
        raise ValueError(f"labels must be from 0 to {v - 1}, the columns of log_prob.")
    m = len(y)
    if m > n:
        raise ValueError(f"{m} labels cannot be shown in {n} steps.")
    last = np.zeros(m) if stay is None else np.asarray(stay, dtype=float)[y]
    stay_scores = np.zeros(m) if stay is None else safe_log(last)
    move = np.zeros(m) if stay is None else safe_log(1 - last)
    d = np.full(m, -np.inf)
    d[0] = L[0, y[0]]
    moved = np.zeros((n, m), bool)
    for t in range(1, n):
        stayed = d + stay_scores
        fresh = np.r_[-np.inf, d[:-1] + move[:-1]]
        moved[t] = fresh > stayed
        d = np.where(moved[t], fresh, stayed) + L[t, y]
    path = np.empty(n, np.int64)
    i = m - 1
    if d[i] == -np.inf:
        raise ValueError("no alignment of these labels has a positive probability.")
    for t in range(n - 1, -1, -1):
        path[t] = i
        i -= int(moved[t, i])
    starts = np.searchsorted(path, np.arange(m))
    return Alignment(starts, path, float(d[-1]))
