"""REINFORCE: the Monte Carlo policy gradient, with a learnt baseline.

    J = -mean (G - b(s)) log p(a) - h mean H + v mean (V - G)^2                 (1)

where G is the discounted return to the end of the episode and the baseline b = V, or 0.
Whatever b, the gradient has the same mean; with V its variance is far smaller. Where an
episode is cut off, by a time limit or by the end of the batch, G goes on with V of the
last observation: a cut is no end. It is the objective of A2C, eq. (1) of `a2c`, with
G - b for the advantages (`PolicyGradientObjective`).

Refs      [Williams1992]; [Sutton2018] section 13.4
"""

from dataclasses import dataclass

from ...params import Count, Flag, Fraction, Positive
from .a2c import PolicyGradientObjective
from .actor_critic import AbstractActorCritic


@dataclass(eq=False, repr=False)
class REINFORCE(AbstractActorCritic):
    """Monte Carlo policy gradient.

    Parameters
    ----------
    n_steps, n_envs, gamma, hidden_layer_sizes, activation, learning_rate
        As for `PPO`.
    normalize_observations, device, warm_start, random_state, verbose
        As for `PPO`.
    horizon : int
        Steps in each environment of one gradient step; best a few episodes.
    gae_lambda : float
        1 is the return of eq. (1).
    entropy_weight, value_weight, max_grad_norm, anneal, normalize_rewards
        As for `PPO`.
    memory, memory_size, conv_layers
        As for `PPO`.
    baseline : bool
        Whether V is taken off the return.

    Attributes
    ----------
    net_, observation_layout_, action_layout_, observation_moments_, history_
        As of `PPO`.
    n_iter_, n_steps_, interrupted_
        As of `PPO`.

    Examples
    --------
    >>> from pansophy.rl import REINFORCE
    >>> from pansophy.rl.envs import Corridor
    >>> agent = REINFORCE(8000, learning_rate=0.01, random_state=0)
    >>> agent.fit(Corridor(3, max_steps=20)).predict([0, 1, 2])
    array([1, 1, 1])
    """

    horizon: Count = 32
    learning_rate: Positive = 3e-3
    gae_lambda: Fraction = 1.0
    baseline: Flag = True

    def _objective(self, net):
        return PolicyGradientObjective(net)

    def _subtracts_baseline(self) -> bool:
        return bool(self.baseline)
