"""Linear action values: Q(s, a) = theta_a . phi(s), learnt step by step.

With features phi of a state (`features.py`) and one weight vector an action, each step
is a semi-gradient step towards the target of Q-learning or SARSA,

    theta_a <- theta_a + alpha (r + gamma v(s') - theta_a . phi(s)) phi(s)       (1)

where v(s') is 0 after the end of the world and otherwise max_b theta_b . phi(s'), or
theta_{a'} . phi(s') of the action a' taken next. The target is taken as given, so (1)
is no gradient of anything: with SARSA it settles, with Q-learning it usually does. With
indicators of the states as features it is the table of `QLearning`, update by update.

Shapes    theta (A, d)   phi (d,)
Refs      [Sutton2018] chapter 10
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.random import make_rng
from ...params import Count, Fraction, Positive, Verbosity, check_params
from ...typing import Seed
from ..experience.discrete_spaces import space_sizes
from ..experience.environment_contract import CHECKER, check_spaces_exist
from ..experience.rollout import StepWatch, rollout
from ..planning.transition_table import environment_of_name
from .exploration import Boltzmann, EpsilonGreedy, choose_action
from .features import check_features, default_features, feature_rows
from .q_learning import DEFAULT_EXPLORATION, STEPS_PER_REPORT, as_exploration
from .schedules import ScheduleReader


class LinearQLearner:
    """The agent of `LinearQ`: chooses by theta and moves it by eq. (1)."""

    def __init__(self, model):
        self.theta = model.theta_.copy()
        self.feature_map = model.features_
        self.first = model.first_action_
        self.gamma = model.gamma
        self.sarsa = model.method == "sarsa"
        part = as_exploration(model.exploration)
        self.kind = part.kind
        self.level = ScheduleReader(part.level)
        self.rate = ScheduleReader(model.learning_rate)
        self.t = model.n_steps_
        self.rng: Any = None
        self.phi: Any = None  # features of the state that was acted in
        self.planned: Any = None  # features and action that SARSA has chosen ahead

    @property
    def Q(self) -> np.ndarray:
        """Values of single features: the table, if they are indicators."""
        return self.theta.T

    def features(self, observation, n):
        """phi of the observation after step n of the run."""
        try:
            return self.feature_map(observation)
        except ValueError as error:
            raise ValueError(
                f"the observation after step {n} of the run: {error} {CHECKER}"
            ) from None

    def begin(self, observation):
        self.phi = None
        self.planned = None

    def act(self, observation, rng):
        self.rng = rng
        chosen = (
            self._choose(observation, self.t) if self.planned is None else self.planned
        )
        self.planned = None
        self.phi, a = chosen
        return self.first + a

    def update(self, transition) -> None:
        observation, action, reward, next_observation, terminated = transition[:5]
        phi = self.features(observation, self.t) if self.phi is None else self.phi
        a = int(action) - self.first
        self.phi = None
        target = float(reward)
        if not terminated:
            if self.sarsa:
                self.planned = self._choose(next_observation, self.t + 1)
                value = self.theta[self.planned[1]] @ self.planned[0]
            else:
                value = (self.theta @ self.features(next_observation, self.t + 1)).max()
            target += self.gamma * value
        error = target - self.theta[a] @ phi
        self.t += 1
        if not math.isfinite(error):
            self._refuse(observation, next_observation)
        self.theta[a] += self.rate.at(self.t - 1) * error * phi

    def _refuse(self, observation, after):
        """Say whether the observations or the weights are not finite."""
        for k, seen in ((self.t - 1, observation), (self.t, after)):
            if not np.isfinite(np.asarray(self.feature_map(seen), float)).all():
                raise ValueError(
                    f"the observation after step {k} of the run holds NaN or an "
                    f"infinite number. {CHECKER}"
                )
        raise ValueError(f"the weights diverged at step {self.t}: lower learning_rate.")

    def _choose(self, observation, n):
        phi = self.features(observation, n)
        q = (self.theta @ phi).tolist()
        u, v = self.rng.random(), self.rng.random()
        return phi, choose_action(self.kind, self.level.at(self.t), q, u, v)


@dataclass(eq=False, repr=False)
class LinearQ(Estimator):
    """Q-learning or SARSA with linear action values.

    Parameters
    ----------
    features : feature map or None
        From an observation to phi: `TileCoding`, `Fourier`,
        `OneHotFeatures`, `LinearFeatures`, or any function with an attribute `size`.
        None: indicators of discrete observations, tiles of bounded ones.
    n_steps : int or None
        Steps to learn from.
    n_episodes : int or None
        Episodes to learn from; with both, whichever comes first.
    method : {"q-learning", "sarsa"}
        Which target of eq. (1).
    learning_rate : float, Schedule or function
        alpha. With k tiles use 1/k of what a table would get.
    gamma : float
        Discount, from 0 to 1.
    exploration : float, EpsilonGreedy or Boltzmann
        How actions are chosen; a number is epsilon.
    random_state : int, Generator, RandomState or None
        Same seed, same weights.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    theta_ : ndarray of shape (n_actions, d)
        theta.
    features_ : feature map
        What was used.
    first_action_ : int
        What the environment calls action 0.
    history_ : dict
        "return" and "length" of every finished episode.
    n_iter_, n_steps_ : int
        Steps.

    Examples
    --------
    >>> from pansophy.rl import LinearQ
    >>> from pansophy.rl.envs import Corridor
    >>> model = LinearQ(n_steps=3000, gamma=0.9, exploration=0.3, random_state=0)
    >>> model.fit(Corridor(3)).predict([0, 1, 2])
    array([1, 1, 1])
    """

    features: Any = None
    _: KW_ONLY
    n_steps: Count | None = 100_000
    n_episodes: Count | None = None
    method: Literal["q-learning", "sarsa"] = "q-learning"
    learning_rate: Positive | Callable = 0.1
    gamma: Fraction = 0.99
    exploration: Fraction | EpsilonGreedy | Boltzmann = DEFAULT_EXPLORATION
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, env, y=None):
        """Learn in a Gymnasium environment with discrete actions, or that of a name."""
        return self._fit(env)

    def _fit(self, env, observe=None, observe_every=None):
        env = environment_of_name(env)
        agent = self.learner(env)
        rng = make_rng(self.random_state)
        limits = {"n_steps": self.n_steps, "n_episodes": self.n_episodes}
        watch = StepWatch(observe, observe_every)

        def run(task):
            return rollout(
                env, agent, **limits, random_state=rng, watch=watch, task=task
            )

        total = None if self.n_steps is None else -(-self.n_steps // STEPS_PER_REPORT)
        self._run_driver(run, total=total)
        del self.converged_  # a budget was spent; nothing tests convergence
        if not np.isfinite(agent.theta).all():
            raise ValueError("the weights diverged: lower learning_rate.")
        self._keep(agent)
        self.n_steps_ = self.n_iter_
        return self

    def _keep(self, learner):
        """Make this the model of what a learner has learnt so far."""
        self.theta_ = learner.theta.copy()

    def learner(self, env) -> LinearQLearner:
        """The agent that `fit` drives, for loops of your own over `env`."""
        check_params(self)
        if self.n_steps is None and self.n_episodes is None:
            raise ValueError("LinearQ needs n_steps or n_episodes.")
        check_spaces_exist(env)
        (actions, *other_factors), (first, *_) = space_sizes(env.action_space)
        if other_factors:
            raise ValueError("LinearQ needs one action at a time, not several.")
        features = self.features
        if features is None:
            features = default_features(env.observation_space)
        self.features_ = check_features(features)
        self.first_action_ = first
        self.theta_ = np.zeros((actions, features.size))
        self.n_steps_ = 0
        return LinearQLearner(self)

    def action_values(self, observations) -> np.ndarray:
        """Q of every action after each of the observations, (n, A)."""
        check_is_fitted(self)
        return feature_rows(self.features_, observations) @ self.theta_.T

    def predict(self, observations):
        """The best action after each of the observations."""
        return self.action_values(observations).argmax(axis=1) + self.first_action_

    def act(self, observation, rng=None) -> int:
        """The best action after one: the fitted model as an agent for `rollout`."""
        return int(self.predict([observation])[0])
