"""Linear value functions of states, by the LMS rule.

V(s) = theta . phi(s) is fitted to training values by steps along the gradient of the
squared error of one state at a time,

    theta <- theta + alpha (target - theta . phi(s)) phi(s).                     (1)

Targets are values that are known, such as returns, or, of two states that follow each
other, the value of the second ("successor" values, TD(0)). Gone through many times with
falling alpha, (1) tends to the least-squares weights. An action is chosen by the value
of the state that it leads to.

Shapes    X (n, d) rows phi(s)   theta (d,)
Refs      [Widrow1960] (1); [Samuel1959] training values
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.random import make_rng
from ..params import Count, Flag, Fraction, NonNegative, Positive, check_params
from ..typing import Seed


@dataclass(eq=False, repr=False)
class LinearValue(Estimator):
    """A linear value function of states, learnt by LMS.

    Parameters
    ----------
    features : feature map
        From an observation to phi: `LinearFeatures`, `OneHotFeatures`,
        `TileCoding`, `Fourier`, or any function with an attribute `size`.
    learning_rate : float
        alpha of the first pass, relative to 1 / (mean squared length of phi).
    n_passes : int
        How often all states are gone through.
    decay : float
        In pass k alpha is divided by k^decay; 0 leaves it.
    gamma : float
        Discount of `fit_transitions`.
    shuffle : bool
        Whether states come in random order.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    theta_ : ndarray of shape (d,)
        theta.

    Examples
    --------
    >>> from pansophy.rl import LinearFeatures, LinearValue
    >>> model = LinearValue(LinearFeatures(1), n_passes=2000, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]).theta_.round(3)
    array([1., 2.])
    >>> model.greedy_action([[0.5], [2.5], [1.5]])  # states that the actions lead to
    1
    """

    features: Any
    _: KW_ONLY
    learning_rate: Positive = 0.5
    n_passes: Count = 500
    decay: NonNegative = 0.6
    gamma: Fraction = 0.99
    shuffle: Flag = True
    random_state: Seed = None

    def fit(self, observations, values):
        """Fit to states and their training values, eq. (1)."""
        check_params(self)
        phi = np.array([self.features(one) for one in observations], dtype=float)
        values = np.asarray(values, dtype=float)
        if not len(phi) or values.shape != (len(phi),):
            raise ValueError("values must hold one number for each observation.")
        if not np.isfinite(values).all():
            raise ValueError("values contains NaN or infinity.")
        self._passes(phi, lambda i, theta: values[i])
        return self

    def fit_transitions(self, transitions):
        """Fit to the rewards of transitions and the values of their successors."""
        check_params(self)
        steps = list(transitions)
        if not steps:
            raise ValueError("no transitions to learn from.")
        phi = np.array([self.features(t.observation) for t in steps], dtype=float)
        after = np.array([self.features(t.next_observation) for t in steps])
        go_on = np.array([self.gamma * (not t.terminated) for t in steps])
        reward = np.array([float(t.reward) for t in steps])
        self._passes(phi, lambda i, theta: reward[i] + go_on[i] * (theta @ after[i]))
        return self

    def _passes(self, phi, target):
        """Eq. (1) over all rows again and again."""
        rng = make_rng(self.random_state)
        theta = np.zeros(phi.shape[1])
        alpha = self.learning_rate / max(float((phi**2).sum(axis=1).mean()), 1e-300)
        for k in range(1, self.n_passes + 1):
            order = rng.permutation(len(phi)) if self.shuffle else np.arange(len(phi))
            rate = alpha * k**-self.decay
            for i in order:
                theta += rate * (target(i, theta) - theta @ phi[i]) * phi[i]
        if not np.isfinite(theta).all():
            raise ValueError("the weights diverged: lower learning_rate.")
        self.theta_ = theta

    def predict(self, observations) -> np.ndarray:
        """Values of states."""
        check_is_fitted(self)
        return np.array([self.features(one) for one in observations]) @ self.theta_

    def greedy_action(self, successors) -> int:
        """The action whose successor has the greatest value, the first of equals."""
        return int(np.argmax(self.predict(successors)))
