"""Advantage actor-critic: one policy-gradient step on each short batch of experience.

    J = -mean A log p(a) - h mean H + v mean (V - G)^2                          (1)

with p the policy, H its entropy, V the value function. N environments are stepped a few
times, advantages A bootstrap from V where the batch ends (G = A + V), and all of it is
one gradient step. (The original paper moves by RMSProp; this is Adam, as for the other
agents.)

What is computed for the first term is -mean r A with r = p(a) / q(a), q being the
policy that acted. The step begins at p = q, where r = 1 and dr / dlog p = r: its
gradient is that of eq. (1), and its value, minus the mean advantage, stands in
`history_`. The derivatives in log p(a_i), H_i and V_i are

    c_i = -r_i A_i / n,   e = -h / n,   u_i = 2 v (V_i - G_i) / n                (2)

Refs      [Mnih2016]
"""

from dataclasses import dataclass

import torch

from ...params import Count, Fraction, NonNegative, Positive
from .actor_critic import AbstractActorCritic
from .actor_critic_net import AbstractActorCriticObjective


class PolicyGradientObjective(AbstractActorCriticObjective):
    """Eq. (1) of a net, by autograd (`losses`) and by hand (`gradients`).

    Parameters
    ----------
    net : ActorCriticNet
        It has h and v: `entropy_weight` and `value_weight`.
    """

    def losses(self, batch):
        """The three terms of eq. (1)."""
        net = self.net
        batch = net.flat_batch(batch)
        evaluated, V = net.evaluate(batch)
        r = torch.exp(evaluated.log_prob - batch.log_q)
        return {
            "policy": -(r * batch.advantage).mean(),
            "entropy": -net.entropy_weight * evaluated.entropy.mean(),
            "value": net.value_weight * (V - batch.target).square().mean(),
        }

    def gradients(self, batch):
        """The three terms of eq. (1), with the gradient by eq. (2) put into `.grad`."""
        net = self.net
        n = len(batch.X)
        steps = net.forward_pass(batch)
        chosen = steps.probabilities
        h, v = net.entropy_weight, net.value_weight
        gain = torch.exp(chosen.log_prob - batch.log_q) * batch.advantage
        error = steps.value - batch.target
        net.backward_pass(steps, gain / -n, -h / n, error * (2 * v / n))
        return {
            "policy": gain.mean().neg_(),
            "entropy": chosen.entropy.mean() * -h,
            "value": torch.dot(error, error) * (v / n),
        }


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

    def _objective(self, net):
        return PolicyGradientObjective(net)
