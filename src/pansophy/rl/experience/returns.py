"""Returns and advantages of sampled episodes, as pure functions of arrays (T, N).

Row t, column i is step t of environment i. V(s) is the value of the observation before
a step and V(s') that of the observation after it, *in the same episode*: where an
episode ends at step t, s' is its last observation and not the first of the next one.
With the flags e (terminated: the value after it is 0) and d (done, in either way),

    delta_t = r_t + gamma (1 - e_t) V(s'_t) - V(s_t)                            (1)
    A_t = delta_t + gamma lambda (1 - d_t) A_{t+1}                              (2)
    G_t = A_t + V(s_t)                                                          (3)

(2) is the generalised advantage and (3) the lambda-return: lambda = 0 is one step of
bootstrapping, lambda = 1 the discounted return less V. A time limit stops the
recursion but not the value: truncated steps keep V(s') in (1). The last row bootstraps
in the same way, so a batch may end in the middle of an episode. The n-step return is

    G_t = r_t + ... + gamma^(k-1) r_{t+k-1} + gamma^k (1 - e) V(s'_{t+k-1})     (4)

with k = n, or less if the episode or the batch ends before.

Cost      O(T N), and O(T N n) for (4)
Shapes    all arrays (T, N)
Refs      [Schulman2016] (2); [Sutton2018] (3), (4)
"""

import numpy as np

from ...params import Count, check_argument
from . import _returns as loops


def _check_step_arrays(reward, *others) -> list[np.ndarray]:
    """Arrays (T, N) of one shape; vectors (T,) are one environment."""
    arrays = [np.asarray(a) for a in (reward, *others)]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1 or arrays[0].ndim not in (1, 2):
        raise ValueError(
            f"rewards, values and flags must all be (T, N), got {sorted(shapes)}."
        )
    return [a.reshape(len(a), -1) for a in arrays]


def generalized_advantages(
    reward, value, next_value, terminated, truncated, *, gamma=0.99, gae_lambda=0.95
) -> np.ndarray:
    """Generalised advantage estimates, eq. (2).

    Parameters
    ----------
    reward : array of shape (T, N) or (T,)
    value, next_value : arrays of the same shape
        V before and after each step, within the episode.
    terminated, truncated : bool arrays of the same shape
    gamma, gae_lambda : float
        Discount, and the share of later steps.

    Returns
    -------
    ndarray of that shape

    Examples
    --------
    >>> from pansophy.rl import generalized_advantages
    >>> ends = [False, False, True]
    >>> no = [False] * 3
    >>> V, after = [0.0] * 3, [0.0] * 3
    >>> generalized_advantages([1, 2, 3], V, after, ends, no, gamma=0.9, gae_lambda=1.0)
    array([5.23, 4.7 , 3.  ])
    """
    shape = np.shape(reward)
    r, V, next_V, ended, cut = _check_step_arrays(
        reward, value, next_value, terminated, truncated
    )
    delta = r + gamma * np.where(ended, 0.0, next_V) - V  # (1)
    going_on = 1.0 - (ended | cut)
    A = np.empty(delta.shape)
    decay = float(gamma * gae_lambda)
    loops.advantage_recursion(delta.astype(float), going_on, decay, A)  # (2)
    return A.reshape(shape)


def n_step_returns(
    reward, next_value, terminated, truncated, *, gamma=0.99, n=1
) -> np.ndarray:
    """Returns of up to n steps and the value after them, eq. (4).

    Parameters
    ----------
    reward, next_value, terminated, truncated
        As for `generalized_advantages`.
    gamma : float
    n : int

    Examples
    --------
    >>> from pansophy.rl import n_step_returns
    >>> n_step_returns([1, 1], [10, 10], [False, False], [True, False], gamma=0.9, n=2)
    array([10., 10.])
    """
    check_argument("n", n, Count)
    shape = np.shape(reward)
    r, next_V, ended, cut = _check_step_arrays(
        reward, next_value, terminated, truncated
    )
    G = np.empty(r.shape)
    values = next_V.astype(float)
    loops.n_step_recursion(
        r.astype(float), values, ended, ended | cut, float(gamma), int(n), G
    )
    return G.reshape(shape)
