"""Average reward: the policy that earns most in each step in the long run.

Without a discount and without an end, a policy has a gain g, its mean reward a step,
and a bias h, how much better it is to start in one state than in another:

    g + h(s) = max_a r(s, a) + sum_s' T_a(s, s') h(s')                             (1)

with h fixed at 0 in one state. Relative value iteration sweeps V <- B V - (B V)(s_0)
with B the right side of (1). For every V the gain of the best policy lies between

    min_s (B V - V)(s)  and  max_s (B V - V)(s)                                    (2)

where every policy has one recurrent class (a unichain model); their distance, the span
of the change, is what the run makes small. A chain that alternates would never settle,
so with probability 1 - tau every step stays where it is, T <- tau T + (1 - tau) I and
r <- tau r. That leaves the best policy, divides the gain by 1 / tau and makes the span
shrink.

Cost      of a sweep: O(nonzeros of T).
Refs      [White1963] the sweep; [Schweitzer1971] the transformation; [Puterman1994]
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ...core.drivers.iterate import iterate
from ...core.drivers.progress import SILENT
from ...params import Count, NonNegative, check_argument
from .linear_programming import matrices
from .mdp import MDP, as_mdp, closed_classes, policy_weights, q_from_v

STAY = 0.05  # 1 - tau of the module text


class AverageRewardSolution(NamedTuple):
    """Result of `average_reward`."""

    gain: float  # mean reward a step
    bias: np.ndarray  # (S,) h, 0 in state 0
    policy: np.ndarray  # (S,)
    bound: float  # |gain - best gain| is at most this, in a unichain model
    n_iter: int
    converged: bool


class RelativeValues(NamedTuple):
    """State between two sweeps."""

    V: np.ndarray
    Q: np.ndarray
    low: float  # eq. (2)
    high: float
    objective: float  # half the span


def average_reward(
    P, R=None, tol=1e-8, *, max_iter=100_000, task=SILENT
) -> AverageRewardSolution:
    """Best mean reward a step, and the policy for it.

    Parameters
    ----------
    P, R
        As for `as_mdp`; no transition may end the episode, and every policy must have
        one recurrent class for the bound to hold.
    tol : float
        Distance from the best gain at which to stop.
    max_iter : int
        Greatest number of sweeps.

    Returns
    -------
    AverageRewardSolution
        gain, bias, policy, bound, n_iter, converged.

    Examples
    --------
    >>> from pansophy.rl import average_reward
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> found = average_reward(P, [[0, 0], [1, 0]])
    >>> round(found.gain, 6), found.policy
    (1.0, array([1, 0]))
    """
    model = as_mdp(P, R)
    _check_endless(model)
    check_argument("tol", tol, NonNegative)
    check_argument("max_iter", max_iter, Count)
    tau = 1 - STAY

    def step(state):
        V = state.V
        # staying with probability 1 - tau: r <- tau r, T <- tau T + (1 - tau) I
        Q = tau * q_from_v(model, V, 1.0) + STAY * V[:, None]
        BV = Q.max(axis=1)
        change = (BV - V) / tau
        low, high = float(change.min()), float(change.max())
        return RelativeValues(BV - BV[0], Q, low, high, (high - low) / 2)

    S, A = model.r.shape
    start = RelativeValues(np.zeros(S), np.zeros((S, A)), 0.0, 0.0, np.inf)
    half_span = lambda old, new: new.objective
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=half_span, task=task)
    if not run.converged:
        warnings.warn(
            f"average_reward stopped ({run.reason}) after {run.n_iter} sweeps with "
            f"bound {run.objective:.3g} > tol; raise max_iter or tol, or see whether "
            "every policy has one recurrent class.",
            ConvergenceWarning,
            stacklevel=2,
        )
    state = run.state
    return AverageRewardSolution(
        (state.low + state.high) / 2,
        state.V,
        state.Q.argmax(axis=1),
        state.objective,
        run.n_iter,
        run.converged,
    )


def _check_endless(model: MDP) -> None:
    """Raise if a transition ends the episode: then there is no long run."""
    if model.ends:
        raise ValueError(
            "an average reward is for processes without an end; let the last "
            "transition lead back to a start instead."
        )


def policy_gain(P, policy, R=None):
    """Gain and bias of one policy, by a linear solve.

    Parameters
    ----------
    P, R
        As for `as_mdp`; no transition may end the episode.
    policy : array of shape (S,) or (S, A)
        An action for each state, or probabilities of the actions; the chain must have
        one recurrent class.

    Returns
    -------
    gain : float
    bias : ndarray of shape (S,)
        0 in state 0.

    Examples
    --------
    >>> from pansophy.rl import policy_gain
    >>> gain, bias = policy_gain([[1, 0], [0, 1]], [0, 0], [[0.0, 9.0], [4.0, 9.0]])
    >>> round(gain, 6), bias.round(6)  # there and back
    (2.0, array([0., 2.]))
    """
    model = as_mdp(P, R)
    _check_endless(model)
    S, A = model.r.shape
    w = policy_weights(policy, S, A)
    T = sparse.csr_array((S, S))
    for M, share in zip(matrices(model), w.T, strict=True):
        T = T + sparse.diags_array(share) @ M
    classes = closed_classes(T).max() + 1
    if classes > 1:
        raise ValueError(
            f"the policy has no single gain: its chain has {classes} recurrent classes."
        )
    # unknowns g, h(1), ..., h(S - 1); h(0) = 0 makes room for g in column 0
    system = (sparse.eye_array(S) - T).tolil()
    system[:, [0]] = np.ones((S, 1))
    solution = sparse.linalg.spsolve(system.tocsc(), (w * model.r).sum(axis=1))
    bias = solution.copy()
    bias[0] = 0.0
    return float(solution[0]), bias
