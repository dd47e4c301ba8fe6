"""Comparison of policies: one is at least as good as another if so in every state.

That is a partial order: with  V^p  the value of policy p,

    p >= q   if   V^p(s) >= V^q(s) in every state s,                                 (1)

two policies may each be better somewhere and then neither is above the other. A finite
model always has policies above all others; they share their values V*. Enumeration goes
through all A^S deterministic policies, which shows on tiny models what the planners
claim.

Refs      [Puterman1994]
"""

import itertools
from typing import NamedTuple

import numpy as np

from .mdp import as_mdp, evaluate_policy

MOST_POLICIES = 100_000


class PolicyComparison(NamedTuple):
    """Values of policies and their partial order."""

    V: np.ndarray  # (n, S)
    at_least: np.ndarray  # (n, n) whether policy i >= policy j, eq. (1)
    best: np.ndarray  # numbers of the policies that none of the others is above

    def relation(self, i, j) -> str:
        """Whether policy i is better, worse, equal or incomparable to policy j."""
        names = {(True, True): "equal", (True, False): "better", (False, True): "worse"}
        comparison = bool(self.at_least[i, j]), bool(self.at_least[j, i])
        return names.get(comparison, "incomparable")


def compare_policies(P, policies, R=None, *, gamma, tol=1e-9) -> PolicyComparison:
    """Values of several policies and which is at least as good as which.

    Parameters
    ----------
    P, R
        As for `as_mdp`.
    policies : list of arrays of shape (S,) or (S, A)
        Actions, or probabilities of actions, for each state.
    gamma : float
        Discount.
    tol : float
        Values this close count as equal, relative to the greatest.

    Returns
    -------
    PolicyComparison
        V, at_least, best.

    Examples
    --------
    >>> from pansophy.rl import compare_policies
    >>> P = [[0, 1], [0, 1]]  # the action is the next state
    >>> R = [[1.0, 0.0], [0.0, 2.0]]
    >>> found = compare_policies(P, [[0, 1], [1, 1], [0, 0]], R, gamma=0.9)
    >>> found.V.round(6).tolist()
    [[10.0, 20.0], [18.0, 20.0], [10.0, 9.0]]
    >>> found.relation(1, 0), found.relation(2, 1), found.best.tolist()
    ('better', 'worse', [1])
    """
    model = as_mdp(P, R)
    if not len(policies):
        raise ValueError("policies is empty.")
    V = np.array([evaluate_policy(model, p, gamma=gamma) for p in policies])
    slack = tol * float(np.abs(V).max())
    at_least = (V[:, None, :] >= V[None, :, :] - slack).all(axis=2)
    beaten = (at_least & ~at_least.T).any(axis=0)
    return PolicyComparison(V, at_least, np.flatnonzero(~beaten))


def enumerate_policies(P, R=None, *, gamma, tol=1e-9):
    """Every optimal deterministic policy of a tiny model, by trying all.

    Parameters
    ----------
    P, R, gamma, tol
        As for `compare_policies`; there may be at most 100 000 policies.

    Returns
    -------
    policies : ndarray of shape (n, S)
        Those whose value is V* in every state: ties are all listed.
    V : ndarray of shape (S,)
        V*.

    Examples
    --------
    >>> from pansophy.rl import enumerate_policies
    >>> policies, V = enumerate_policies([[0, 0], [0, 1]], [0.0, 1.0], gamma=0.5)
    >>> policies.tolist(), V.tolist()  # both actions of state 0 stay there
    ([[0, 1], [1, 1]], [0.0, 2.0])
    """
    model = as_mdp(P, R)
    S, A = model.r.shape
    if A**S > MOST_POLICIES:
        raise ValueError(
            f"there are {A}^{S} policies, more than {MOST_POLICIES}: use "
            "value_iteration or policy_iteration."
        )
    policies = np.array(list(itertools.product(range(A), repeat=S)))
    V = np.array([evaluate_policy(model, p, gamma=gamma) for p in policies])
    best = V.max(axis=0)
    slack = tol * float(np.abs(best).max())
    optimal = (best - slack <= V).all(axis=1)
    return policies[optimal], best
