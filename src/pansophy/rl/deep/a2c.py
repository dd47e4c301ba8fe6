"""Advantage actor-critic: one policy-gradient step on each short batch of experience.

    J = -mean A log p(a) - h mean H + v mean (V - G)^2                          (1)

N environments are stepped a few times, advantages A bootstrap from V where the batch
ends, and all of it is one gradient step. (The original paper moves by RMSProp; this is
Adam, as for the other agents.)

Refs      [Mnih2016]
"""

from dataclasses import dataclass

from ...params import Count, Fraction, NonNegative, Positive
from .actor_critic import AbstractActorCritic


@dataclass(eq=False, repr=False)
class A2C(AbstractActorCritic):
    """Advantage actor-critic (synchronous).

    Parameters
    ----------
    n_steps, n_envs, gamma, hidden_layer_sizes, activation, learning_rate
        As for `PPO`.
    normalize_observations, device, warm_start, random_state, verbose
        As for `PPO`.
    horizon : int
        Steps in each environment of one gradient step.
    gae_lambda : float
        1 is the n-step advantage of the paper.
    entropy_weight, value_weight, max_grad_norm, anneal, normalize_rewards
        As for `PPO`.
    memory, memory_size, conv_layers
        As for `PPO`.

    Attributes
    ----------
    net_, observation_layout_, action_layout_, observation_moments_, history_
        As of `PPO`.
    n_iter_, n_steps_, interrupted_
        As of `PPO`.

    Examples
    --------
    >>> from pansophy.rl import A2C
    >>> from pansophy.rl.envs import Corridor
    >>> agent = A2C(4000, learning_rate=0.01, random_state=0)
    >>> agent.fit(Corridor(3, max_steps=20)).predict([0, 1, 2])
    array([1, 1, 1])
    """

    horizon: Count = 8
    learning_rate: Positive = 1e-3
    gae_lambda: Fraction = 1.0
    entropy_weight: NonNegative = 0.01
