"""Contextual bandits: which arm is best depends on what is seen first.

Before each pull a context x in R^d is seen. `LinUCB` fits one ridge regression an arm,

    A_i = ridge I + sum x x',    b_i = sum r x,    theta_i = A_i^-1 b_i          (1)

over the pulls of arm i, and takes the arm of the greatest upper bound

    theta_i . x + alpha sqrt(x' A_i^-1 x).                                       (2)

A_i^-1 is kept and moved by each pull (Sherman and Morrison), so a step costs O(K d^2).

`ContextualBandit` does the same with any regressor or classifier: one for each arm,
fitted to its pulls and fitted again whenever their number has grown by a tenth, with a
random arm in a fraction epsilon of the pulls.

It notes the probability of every choice, so that what it did can be judged by the
estimators of `off_policy_evaluation.py`. Rewards may come late and in any order: a pull
waits, with its probability, until the reward of that context and arm is learnt.

Refs      [Li2010] (2)
"""

from collections import deque
from typing import Any

import numpy as np
from sklearn.base import clone

from ...params import (
    AtLeastOne,
    Count,
    Fraction,
    NonNegative,
    Positive,
    PositiveFraction,
    check_argument,
)
from ..planning.mdp import check_index
from .bandits import check_reward
from .off_policy_evaluation import BanditLog


class LinUCB:
    """Upper confidence bounds of linear rewards.

    Parameters
    ----------
    n_arms, n_features : int
        K and d.
    alpha : float
        Width of the bounds.
    ridge : float
        Penalty of eq. (1).

    Attributes
    ----------
    coef : ndarray of shape (K, d)
        theta_i.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import LinUCB
    >>> rng = np.random.default_rng(0)
    >>> learner = LinUCB(2, 2)
    >>> for _ in range(200):
    ...     x = rng.normal(size=2)
    ...     arm = learner.act(x, rng)
    ...     learner.learn(x, arm, x[arm])  # each arm pays one coordinate
    >>> abs(learner.coef.round(1))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, n_arms, n_features, *, alpha=1.0, ridge=1.0):
        check_argument("n_arms", n_arms, Count)
        check_argument("n_features", n_features, Count)
        check_argument("alpha", alpha, NonNegative)
        check_argument("ridge", ridge, Positive)
        self.alpha = float(alpha)
        self.inverse = np.repeat(np.eye(n_features)[None] / ridge, n_arms, axis=0)
        self.sums = np.zeros((n_arms, n_features))
        self.counts = np.zeros(n_arms, np.int64)

    @property
    def coef(self) -> np.ndarray:
        return np.einsum("kij,kj->ki", self.inverse, self.sums)

    def scores(self, x) -> np.ndarray:
        """Eq. (2) of every arm."""
        Ax = self.inverse @ x  # (K, d)
        width = np.sqrt(np.maximum(Ax @ x, 0.0))
        return np.einsum("kd,kd->k", Ax, self.sums) + self.alpha * width

    def act(self, x, rng=None) -> int:
        """The arm of the greatest bound, the first of equals."""
        return int(np.argmax(self.scores(_check_context(x, self.sums.shape[1]))))

    def learn(self, x, arm, reward) -> None:
        """Learn from the reward of an arm pulled in context x, at once or later."""
        x = _check_context(x, self.sums.shape[1])
        check_index("arm", arm, len(self.counts))
        reward = check_reward(reward)
        Ax = self.inverse[arm] @ x
        self.inverse[arm] -= np.outer(Ax, Ax) / (1 + x @ Ax)
        self.sums[arm] += reward * x
        self.counts[arm] += 1

    def update(self, transition) -> None:
        self.learn(transition.observation, transition.action, transition.reward)


def _check_context(x, n_features):
    """A context as an array; the clear error if it is none."""
    x = np.asarray(x, dtype=float)
    if x.shape != (n_features,) or not np.isfinite(x).all():
        raise ValueError(f"a context must hold {n_features} finite numbers.")
    return x


class ContextualBandit:
    """Any estimator as the model of each arm's reward, explored by epsilon-greedy.

    Parameters
    ----------
    estimator : regressor, or classifier with predict_proba
        Cloned for every arm; a classifier is for rewards of 0 and 1.
    n_arms : int
        K.
    epsilon : float
        Fraction of random pulls.
    growth : float
        An arm's model is fitted again when its pulls have grown by this factor.

    Attributes
    ----------
    models : list
        The fitted estimator of each arm, None before its first fit.
    log : BanditLog
        Contexts, arms, rewards and probabilities of the pulls whose reward has come, in
        the order of the pulls.
    n_waiting : int
        Pulls whose reward has not come yet.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from pansophy.rl import ContextualBandit
    >>> rng = np.random.default_rng(0)
    >>> learner = ContextualBandit(Ridge(), 2)
    >>> for _ in range(200):
    ...     x = rng.normal(size=2)
    ...     arm = learner.act(x, rng)
    ...     learner.learn(x, arm, x[arm])
    >>> [learner.greedy_arm(x) for x in ([1.0, -1.0], [-1.0, 1.0])]
    [0, 1]
    """

    def __init__(self, estimator: Any, n_arms, *, epsilon=0.1, growth=1.1):
        if not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator must be a regressor or classifier, got {estimator!r}."
            )
        check_argument("n_arms", n_arms, Count)
        check_argument("epsilon", epsilon, Fraction)
        check_argument("growth", growth, AtLeastOne)
        self.estimator = estimator
        self.epsilon, self.growth = float(epsilon), float(growth)
        self.models: list[Any] = [None] * int(n_arms)
        self.contexts: list[list] = [[] for _ in self.models]
        self.rewards: list[list[float]] = [[] for _ in self.models]
        self.fitted = [0] * len(self.models)
        self.pulls: list[list] = []  # [context, arm, reward or None, probability]
        self.waiting: dict[tuple, deque] = {}  # places in it by context and arm

    def expected(self, x) -> np.ndarray:
        """The reward that each arm's model expects; infinite before its first fit."""
        row = np.asarray(x, dtype=float)[None]
        return np.array([_predicted_reward(model, row) for model in self.models])

    def greedy_arm(self, x) -> int:
        """The arm of the greatest expected reward, unfitted ones first."""
        return int(np.argmax(self.expected(x)))

    def probabilities(self, x) -> np.ndarray:
        """Probability of each arm."""
        p = np.full(len(self.models), self.epsilon / len(self.models))
        p[self.greedy_arm(x)] += 1 - self.epsilon
        return p

    def act(self, x, rng) -> int:
        p = self.probabilities(x)
        arm = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum(), side="right"))
        arm = min(arm, len(p) - 1)
        row = np.array(x, dtype=float)
        self.waiting.setdefault(_pull_key(row, arm), deque()).append(len(self.pulls))
        self.pulls.append([row, arm, None, float(p[arm])])
        return arm

    def learn(self, x, arm, reward, *, probability=None) -> None:
        """Learn from the reward of an arm pulled in context x, at once or later.

        Parameters
        ----------
        x : array of shape (d,)
        arm : int
        reward : float
        probability : float or None
            With which the arm was chosen, for a pull that `act` did not make; without
            it such a pull is learnt from and left out of the log.
        """
        row = np.array(x, dtype=float)
        check_index("arm", arm, len(self.models))
        reward = check_reward(reward)
        places = self.waiting.get(_pull_key(row, arm))
        if places:
            self.pulls[places.popleft()][2] = float(reward)
        elif probability is not None:
            check_argument("probability", probability, PositiveFraction)
            self.pulls.append([row, arm, float(reward), float(probability)])
        self.contexts[arm].append(row)
        self.rewards[arm].append(float(reward))
        n = len(self.rewards[arm])
        needs_both_classes = not hasattr(self.estimator, "predict_proba") or (
            len(set(self.rewards[arm])) > 1
        )
        if needs_both_classes and n >= max(2, np.ceil(self.growth * self.fitted[arm])):
            X, y = np.array(self.contexts[arm]), np.array(self.rewards[arm])
            self.models[arm] = clone(self.estimator).fit(X, y)
            self.fitted[arm] = n

    def update(self, transition) -> None:
        self.learn(transition.observation, transition.action, transition.reward)

    @property
    def log(self) -> BanditLog:
        rewarded = [pull for pull in self.pulls if pull[2] is not None]
        if not rewarded:
            raise ValueError("the log is empty: no reward of a pull has come yet.")
        x, arm, reward, p = zip(*rewarded, strict=True)
        return BanditLog(np.array(x), np.array(arm), np.array(reward), np.array(p))

    @property
    def n_waiting(self) -> int:
        return sum(map(len, self.waiting.values()))


def _pull_key(row, arm) -> tuple:
    """Key of a pull, by which a late reward names it."""
    return (int(arm), row.shape, row.tobytes())


def _predicted_reward(model, row) -> float:
    """Expected reward of one context by the model of an arm."""
    if model is None:
        return np.inf
    if hasattr(model, "predict_proba"):
        return float((model.predict_proba(row) @ model.classes_)[0])
    return float(model.predict(row)[0])
