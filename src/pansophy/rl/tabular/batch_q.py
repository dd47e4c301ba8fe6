"""Batch control: LSPI and fitted Q iteration, from a fixed set of transitions.

Both go on from the policy pi that is greedy for the last Q, over all transitions (s, a,
r, s') at once; what follows the end of the world is worth 0, what follows a time limit
is not the end.

LSPI has Q(s, a) = theta_a . phi(s). The weights that the projected Bellman equation of
pi asks for solve a linear system (LSTDQ),

    A theta = b,   A = sum psi(s, a) (psi(s, a) - gamma psi(s', pi(s')))',
                   b = sum r psi(s, a)                                           (1)

with psi(s, a) = phi(s) in the block of action a. It ends when theta changes no more.

Fitted Q iteration fits any regressor, one for each action, to the targets

    r + gamma max_b Q(s', b)                                                     (2)

of the last Q; trees and their forests cannot make the values grow without bound.

Shapes    psi (n, A d)   theta (A, d)
Refs      [Lagoudakis2003] LSPI; [Ernst2005] fitted Q
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.unreadable import unreadable_error
from ...params import Count, Fraction, NonNegative, Positive, check_params
from ..experience.discrete_spaces import list_of_observations
from ..experience.rollout import Experience
from .features import feature_rows


class LoggedTransitions(NamedTuple):
    """Transitions as arrays."""

    observation: list
    action: np.ndarray
    reward: np.ndarray
    after: list
    go_on: np.ndarray  # 0 where the world ended, else 1


def _as_logged_transitions(transitions, n_actions) -> LoggedTransitions:
    """Arrays of an `Experience` that kept its transitions, or of a list of those."""
    if isinstance(transitions, Experience):
        transitions = transitions.transitions
    steps = list(transitions)
    if not steps:
        raise ValueError("no transitions: run `rollout` with keep=True.")
    action = np.array([int(t.action) for t in steps])
    if action.min() < 0 or action.max() >= n_actions:
        raise ValueError(f"actions must be whole numbers from 0 to {n_actions - 1}.")
    return LoggedTransitions(
        [t.observation for t in steps],
        action,
        np.array([float(t.reward) for t in steps]),
        [t.next_observation for t in steps],
        np.array([float(not t.terminated) for t in steps]),
    )


class GreedyBatchPolicy(Estimator):
    """Base class of batch learners: the best action by `action_values`."""

    def predict(self, observations):
        """The best action after each of the observations."""
        return self.action_values(observations).argmax(axis=1)

    def act(self, observation, rng=None) -> int:
        """The best action after one: the fitted model as an agent for `rollout`."""
        return int(self.predict([observation])[0])


@dataclass(eq=False, repr=False)
class LSPI(GreedyBatchPolicy):
    """Least-squares policy iteration.

    Parameters
    ----------
    features : feature map
        From an observation to phi: `OneHotFeatures`, `TileCoding`,
        `Fourier`, `LinearFeatures`, or any function with an attribute `size`.
    n_actions : int
        A; actions are counted from 0.
    gamma : float
        Discount, from 0 to 1.
    ridge : float
        Added to the diagonal of A in eq. (1).
    tol : float
        Greatest change of a weight at which to stop.
    max_iter : int
        Greatest number of policies.

    Attributes
    ----------
    theta_ : ndarray of shape (A, d)
        theta.
    n_iter_ : int
        Policies that were evaluated.
    converged_ : bool

    Examples
    --------
    >>> from pansophy.rl import LSPI, OneHotFeatures, Policy, rollout
    >>> from pansophy.rl.envs import Corridor
    >>> random = Policy([[0.5, 0.5]] * 3)
    >>> log = rollout(Corridor(3), random, n_steps=300, keep=True, random_state=0)
    >>> LSPI(OneHotFeatures(3), 2, gamma=0.9).fit(log).theta_.round(3).T
    array([[0.729, 0.81 ],
           [0.729, 0.9  ],
           [0.81 , 1.   ]])
    """

    features: Any
    n_actions: Count
    _: KW_ONLY
    gamma: Fraction = 0.99
    ridge: Positive = 1e-9
    tol: NonNegative = 1e-6
    max_iter: Count = 100

    def fit(self, transitions, y=None):
        """Learn from transitions, or from an `Experience` that kept them."""
        check_params(self)
        batch = _as_logged_transitions(transitions, self.n_actions)
        phi = np.array(
            [self.features(observation) for observation in batch.observation]
        )
        next_phi = np.array([self.features(observation) for observation in batch.after])
        psi = _action_blocks(phi, batch.action, self.n_actions)
        b = psi.T @ batch.reward
        theta = np.zeros((self.n_actions, phi.shape[1]))
        self.converged_ = False
        change = np.inf
        for k in range(1, self.max_iter + 1):
            self.n_iter_ = k
            greedy = (next_phi @ theta.T).argmax(axis=1)
            follow = _action_blocks(next_phi, greedy, self.n_actions)
            A = psi.T @ (psi - self.gamma * batch.go_on[:, None] * follow)
            A[np.diag_indices_from(A)] += self.ridge
            new = np.linalg.solve(A, b).reshape(theta.shape)
            change = float(np.abs(new - theta).max())
            theta = new
            if change <= self.tol:
                self.converged_ = True
                break
        if not self.converged_:
            warnings.warn(
                f"LSPI still changes by {change:.3g} after {self.n_iter_} policies; "
                "raise max_iter, tol or ridge, or take other features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.theta_ = theta
        return self

    def action_values(self, observations) -> np.ndarray:
        """Q of every action after each of the observations, (n, A)."""
        check_is_fitted(self)
        return feature_rows(self.features, observations) @ self.theta_.T


def _action_blocks(phi, action, n_actions) -> np.ndarray:
    """psi(s, a): phi(s) in the block of its action."""
    n, d = phi.shape
    psi = np.zeros((n, n_actions, d))
    psi[np.arange(n), action] = phi
    return psi.reshape(n, n_actions * d)


@dataclass(eq=False, repr=False)
class FittedQ(GreedyBatchPolicy):
    """Fitted Q iteration with any regressor.

    Parameters
    ----------
    estimator : regressor
        Cloned for every action and every iteration.
    n_actions : int
        A; actions are counted from 0.
    gamma : float
        Discount, from 0 to 1.
    n_iter : int
        Iterations of eq. (2).
    features : function or None
        From an observation to a row of numbers; None: the observation itself.

    Attributes
    ----------
    models_ : list of regressors
        One for each action; None for an action that is not in the transitions.
    history_ : dict
        "change": mean absolute change of the targets in every iteration.

    Examples
    --------
    >>> from pansophy.rl import FittedQ, Policy, rollout
    >>> from pansophy.rl.envs import Corridor
    >>> from pansophy.tree import DecisionTreeRegressor
    >>> random = Policy([[0.5, 0.5]] * 4)
    >>> log = rollout(Corridor(4), random, n_steps=400, keep=True, random_state=0)
    >>> model = FittedQ(DecisionTreeRegressor(), 2, gamma=0.9, n_iter=30).fit(log)
    >>> model.predict([0, 1, 2, 3])
    array([1, 1, 1, 1])
    """

    estimator: Any
    n_actions: Count
    _: KW_ONLY
    gamma: Fraction = 0.99
    n_iter: Count = 50
    features: Any = None

    def fit(self, transitions, y=None):
        """Learn from transitions, or from an `Experience` that kept them."""
        check_params(self)
        batch = _as_logged_transitions(transitions, self.n_actions)
        X, X_after = self._rows(batch.observation), self._rows(batch.after)
        of_action = [batch.action == a for a in range(self.n_actions)]
        target = batch.reward
        changes = []
        for _ in range(self.n_iter):
            self.models_ = [
                clone(self.estimator).fit(X[rows], target[rows]) if rows.any() else None
                for rows in of_action
            ]
            best = self._values(X_after).max(axis=1)
            new = batch.reward + self.gamma * batch.go_on * best
            changes.append(float(np.abs(new - target).mean()))
            target = new
        self.history_ = {"change": np.array(changes)}
        self.n_iter_ = self.n_iter
        return self

    def _rows(self, observations):
        observations = list_of_observations(observations)
        make = self.features or (lambda one: np.ravel(np.asarray(one, dtype=float)))
        try:
            rows = [make(observation) for observation in observations]
            return np.array(rows, dtype=float)
        except (TypeError, ValueError) as error:
            raise unreadable_error("observations", observations, error) from None

    def _values(self, X):
        missing = np.full(len(X), -np.inf)
        columns = [missing if m is None else m.predict(X) for m in self.models_]
        return np.column_stack(columns)

    def action_values(self, observations) -> np.ndarray:
        """Q of every action after each of the observations, (n, A)."""
        check_is_fitted(self)
        return self._values(self._rows(observations))
