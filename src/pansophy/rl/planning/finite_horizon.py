"""Finite horizon: the best policy when a known number of steps is left.

With V_0 the value of the state in which the time runs out, backward induction gives

    Q_h(s, a) = r(s, a) + gamma sum_s' T_a(s, s') V_{h-1}(s'),   V_h = max_a Q_h   (1)

for h = 1, ..., H steps left. The best action depends on h, so the policy is a table of
time and state; no discount is needed.

Cost      O(H nonzeros of T); shapes V (H + 1, S), policy (H, S), both by the time t
          that has passed: policy[t] acts with H - t steps left.
Refs      [Bellman1957]
"""

from typing import NamedTuple

import numpy as np

from ...params import Count, Fraction, check_argument
from .mdp import as_mdp, q_from_v


class FiniteHorizonSolution(NamedTuple):
    """Result of `finite_horizon`, by the time that has passed."""

    V: np.ndarray  # (H + 1, S); V[0] with all H steps left
    Q: np.ndarray  # (H, S, A)
    policy: np.ndarray  # (H, S)

    def agent(self) -> "TimedPolicy":
        """The policy as an agent for `rollout`."""
        return TimedPolicy(self.policy)


class TimedPolicy:
    """An agent that acts by a table of time and state; after the last row, by that."""

    def __init__(self, table):
        self.table = np.asarray(table)
        self.t = 0

    def begin(self, observation):
        self.t = 0

    def act(self, observation, rng) -> int:
        row = self.table[min(self.t, len(self.table) - 1)]
        self.t += 1
        return int(row[observation])

    def update(self, transition) -> None:
        """A policy stays as it is."""


def finite_horizon(P, R=None, horizon=10, *, gamma=1.0, final=None):
    """Best values and policy with `horizon` steps to go.

    Parameters
    ----------
    P, R
        As for `as_mdp`.
    horizon : int
        H, the number of steps.
    gamma : float
        Discount from 0 to 1.
    final : array of shape (S,) or None
        Value of the state in which the time runs out; None is 0.

    Returns
    -------
    FiniteHorizonSolution
        V, Q and policy, by the time that has passed.

    Examples
    --------
    >>> from pansophy.rl import finite_horizon
    >>> P = [[0, 1], [1, 1]]  # stay, or go to state 1 for good
    >>> R = [[1.0, 0.0], [3.0, 3.0]]
    >>> finite_horizon(P, R, 3).policy[:, 0]  # in the last step it pays to stay
    array([1, 1, 0])
    """
    model = as_mdp(P, R)
    S, A = model.r.shape
    check_argument("horizon", horizon, Count)
    check_argument("gamma", gamma, Fraction)
    V = np.zeros((horizon + 1, S))
    if final is not None:
        final = np.asarray(final, dtype=float)
        if final.shape != (S,) or not np.isfinite(final).all():
            raise ValueError(f"final must hold {S} finite numbers.")
        V[horizon] = final
    Q = np.empty((horizon, S, A))
    for t in range(horizon - 1, -1, -1):
        Q[t] = q_from_v(model, V[t + 1], gamma)
        V[t] = Q[t].max(axis=1)
    return FiniteHorizonSolution(V, Q, Q.argmax(axis=2))
