"""A bandit as an environment of one state, for agents that speak Gymnasium.

Shapes    state (1, N), always 0
"""

import gymnasium
import numpy as np

from ...bandits import _bandits
from ...bandits.bandits import NOISES, Bandit
from ..vector import SingleWorld
from . import _bandit_env as loops


class BanditEnv(SingleWorld):
    """One state; every action pulls an arm.

    Parameters
    ----------
    bandit : Bandit
    max_steps : int
        Pulls after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl import Bandit, BanditLearner, rollout
    >>> from pansophy.rl.envs import BanditEnv
    >>> env = BanditEnv(Bandit([0.2, 0.9], noise="bernoulli"))
    >>> learner = BanditLearner(2)
    >>> rollout(env, learner, n_steps=100, random_state=0).n_steps, learner.best_arm
    (100, 1)
    """

    def __init__(self, bandit: Bandit, *, max_steps=100, render_mode=None):
        self.bandit = bandit
        self.source = _bandits.ArmRewards(
            NOISES[bandit.noise], bandit.means, bandit.scale
        )
        arms = gymnasium.spaces.Discrete(bandit.n_arms)
        super().__init__(gymnasium.spaces.Discrete(1), arms, max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((1, n), np.int64)

    def start_batch(self, state, stream, which):
        state[0, which] = 0

    def observe_batch(self, state, which, observation):
        observation[which] = 0

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_bandits(action, self.source, stream, outcome, *columns)
