"""Linear value functions of states, by the LMS rule.

V(s) = theta . phi(s) is fitted to training values by steps along the gradient of the
squared error of one state at a time,

    theta <- theta + alpha (target - theta . phi(s)) phi(s).                     (1)

In batch mode the steps of all states are made together, with theta fixed, by alpha
relative to the greatest eigenvalue of the mean of phi phi^T, so that the squared error
cannot grow. Features in units of very different size make both slow: the warning that
the weights have not converged says so, and `scale_features` divides each feature by its
root mean square while learning.

Targets are values that are known, such as returns, or, of two states that follow each
other, the value of the second ("successor" values, TD(0)). Gone through many times with
falling alpha, (1) tends to the least-squares weights. An action is chosen by the value
of the state that it leads to.

Shapes    X (n, d) rows phi(s)   theta (d,)
Refs      [Widrow1960] (1); [Samuel1959] training values
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.random import make_rng
from ...params import Count, Flag, Fraction, NonNegative, Positive, check_params
from ...typing import Seed
from .features import feature_rows


@dataclass(eq=False, repr=False)
class LinearValue(Estimator):
    """A linear value function of states, learnt by LMS.

    Parameters
    ----------
    features : feature map
        From an observation to phi: `LinearFeatures`, `OneHotFeatures`,
        `TileCoding`, `Fourier`, or any function with an attribute `size`.
    mode : {"online", "batch"}
        Whether a step is made after each state, or one for all states together.
    learning_rate : float
        alpha of the first pass, relative to 1 / (mean squared length of phi); in batch
        mode to 1 / (greatest eigenvalue), where below 2 the error never grows.
    scale_features : bool
        Whether features are brought to one size while learning.
    n_passes : int
        How often all states are gone through.
    decay : float
        In pass k alpha is divided by k^decay; 0 leaves it.
    gamma : float
        Discount of `fit_transitions`.
    shuffle : bool
        Whether states come in random order.
    tol : float
        The weights have converged if no feature has a greater correlation with the
        errors, relative to the targets; 0 for least squares.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    theta_ : ndarray of shape (d,)
        theta.
    converged_ : bool
    n_iter_ : int
        Passes.
    history_ : dict
        "loss", the mean squared error after each pass.

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
    mode: Literal["online", "batch"] = "online"
    learning_rate: Positive = 0.5
    scale_features: Flag = False
    n_passes: Count = 500
    decay: NonNegative = 0.6
    gamma: Fraction = 0.99
    shuffle: Flag = True
    tol: NonNegative = 0.01
    random_state: Seed = None

    def fit(self, observations, values):
        """Fit to states and their training values, eq. (1)."""
        check_params(self)
        phi = np.array(
            [self.features(observation) for observation in observations], dtype=float
        )
        values = np.asarray(values, dtype=float)
        if not len(phi) or values.shape != (len(phi),):
            raise ValueError("values must hold one number for each observation.")
        if not np.isfinite(values).all():
            raise ValueError("values contains NaN or infinity.")
        self._passes(phi, None, values)
        return self

    def fit_transitions(self, transitions):
        """Fit to the rewards of transitions and the values of their successors."""
        check_params(self)
        steps = list(transitions)
        if not steps:
            raise ValueError("no transitions to learn from.")
        phi = np.array([self.features(t.observation) for t in steps], dtype=float)
        next_phi = np.array([self.features(t.next_observation) for t in steps], float)
        go_on = np.array([self.gamma * (not t.terminated) for t in steps])
        reward = np.array([float(t.reward) for t in steps])
        self._passes(phi, go_on[:, None] * next_phi, reward)
        return self

    def _passes(self, phi, next_phi, reward):
        """Eq. (1) over all rows again and again, for targets reward + theta after."""
        if not np.isfinite(phi).all():
            raise ValueError("the features contain NaN or infinity.")
        scale = np.ones(phi.shape[1])
        if self.scale_features:
            scale = np.sqrt((phi**2).mean(axis=0))
            scale[scale == 0] = 1.0
        phi = phi / scale
        next_phi = None if next_phi is None else next_phi / scale
        rng = make_rng(self.random_state)
        theta = np.zeros(phi.shape[1])
        batch = self.mode == "batch"
        size = _largest_eigenvalue(phi) if batch else (phi**2).sum(axis=1).mean()
        alpha = self.learning_rate / max(float(size), 1e-300)
        losses = []
        for k in range(1, self.n_passes + 1):
            rate = alpha * k**-self.decay
            if batch:
                theta = theta + rate * _mean_step(phi, next_phi, reward, theta)
            else:
                order = np.arange(len(phi))
                order = rng.permutation(len(phi)) if self.shuffle else order
                for i in order:
                    target = (
                        reward[i]
                        if next_phi is None
                        else reward[i] + theta @ next_phi[i]
                    )
                    theta += rate * (target - theta @ phi[i]) * phi[i]
            losses.append(float((_errors_of(phi, next_phi, reward, theta) ** 2).mean()))
        if not np.isfinite(theta).all():
            raise ValueError("the weights diverged: lower learning_rate.")
        self.theta_ = theta / scale
        self.n_iter_ = self.n_passes
        self.history_ = {"loss": np.array(losses)}
        correlation = _error_correlation(phi, next_phi, reward, theta)
        self.converged_ = bool(correlation <= self.tol)
        if not self.converged_:
            scaling = "" if self.scale_features else ", set scale_features=True"
            warnings.warn(
                f"LinearValue has not converged after {self.n_passes} passes: a "
                f"feature still has the correlation {correlation:.2g} > tol with the "
                f"errors; raise n_passes{scaling}, or lower decay.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict(self, observations) -> np.ndarray:
        """Values of states."""
        check_is_fitted(self)
        return feature_rows(self.features, observations) @ self.theta_

    def greedy_action(self, successors) -> int:
        """The action whose successor has the greatest value, the first of equals."""
        return int(np.argmax(self.predict(successors)))


def _errors_of(phi, after, reward, theta) -> np.ndarray:
    """Target less value of every row."""
    target = reward if after is None else reward + after @ theta
    return target - phi @ theta


def _mean_step(phi, after, reward, theta) -> np.ndarray:
    """Mean of the steps (1) of all rows."""
    return phi.T @ _errors_of(phi, after, reward, theta) / len(phi)


def _largest_eigenvalue(phi) -> float:
    """Largest eigenvalue of the mean of phi phi^T."""
    return float(np.linalg.norm(phi, 2) ** 2 / len(phi))


def _error_correlation(phi, after, reward, theta) -> float:
    """Greatest |phi_j . e| / (|phi_j| |target|) over features: 0 at the fixed point."""
    e = _errors_of(phi, after, reward, theta)
    size = np.linalg.norm(e + phi @ theta) * np.linalg.norm(phi, axis=0)
    size[size == 0] = 1.0
    return float(np.abs(phi.T @ e / size).max())
