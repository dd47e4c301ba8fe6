"""Proximal policy optimisation: several cautious steps on each batch of experience.

With p the policy, q the one that acted, H the entropy of p and V the value function,
the objective of a batch of n steps with advantages A and targets G of the values is

    J = -mean min(r A, clip(r, 1 - eps, 1 + eps) A) - h mean H + v mean (V - G)^2,
    r = p(a) / q(a)                                                             (1)

For r inside 1 - eps, ..., 1 + eps this is the policy gradient; beyond it, nothing is
gained by moving further in the direction that pays, so that a batch can be used for
`n_epochs` passes before new experience is gathered. h > 0 rewards exploration. A and G
come from generalised advantage estimation (`returns`).

Since dr / dlog p = r, the derivatives of J in log p(a_i), H_i and V_i are

    c_i = -r_i A_i / n, or 0 where the clipped branch is the smaller
    e = -h / n,   u_i = 2 v (V_i - G_i) / n                                     (2)

and `ActorCriticNet.backward_pass` carries them to the weights. `ClippedObjective` is
both equations; small nets compute the same in compiled loops (`_clipped_gain`).

Cost      n_epochs passes forwards and backwards over every step
Refs      [Schulman2017]; [Engstrom2020] and [Huang2022] the details that matter
"""

from dataclasses import dataclass

import torch

from ...params import Count, Flag, Fraction, Positive
from .actor_critic import AbstractActorCritic
from .actor_critic_net import AbstractActorCriticObjective


class ClippedObjective(AbstractActorCriticObjective):
    """Eq. (1) of a net, by autograd (`losses`) and by hand (`gradients`).

    Parameters
    ----------
    net : ActorCriticNet
        It has eps, h and v: `clip_range`, `entropy_weight` and `value_weight`.
    """

    def losses(self, batch):
        """The three terms of eq. (1)."""
        net = self.net
        batch = net.flat_batch(batch)
        evaluated, V = net.evaluate(batch)
        A = batch.advantage
        eps = net.clip_range
        r = torch.exp(evaluated.log_prob - batch.log_q)
        gain = torch.minimum(r * A, r.clamp(1 - eps, 1 + eps) * A)
        return {
            "policy": -gain.mean(),
            "entropy": -net.entropy_weight * evaluated.entropy.mean(),
            "value": net.value_weight * (V - batch.target).square().mean(),
        }

    def gradients(self, batch):
        """The three terms of eq. (1), with the gradient by eq. (2) put into `.grad`."""
        net = self.net
        n = len(batch.X)
        steps = net.forward_pass(batch)
        chosen = steps.probabilities
        A = batch.advantage
        eps = net.clip_range
        h, v = net.entropy_weight, net.value_weight
        r = torch.exp(chosen.log_prob - batch.log_q)
        gain = r * A
        clipped = r.clamp_(1 - eps, 1 + eps).mul_(A)
        smaller = torch.minimum(gain, clipped)
        c = torch.where(gain <= clipped, gain, 0.0).div_(-n)
        error = steps.value - batch.target
        net.backward_pass(steps, c, -h / n, error * (2 * v / n))
        return {
            "policy": smaller.mean().neg_(),
            "entropy": chosen.entropy.mean() * -h,
            "value": torch.dot(error, error) * (v / n),
        }


@dataclass(eq=False, repr=False)
class PPO(AbstractActorCritic):
    """Proximal policy optimisation.

    Actions may be discrete, several discrete ones, or real numbers; masks
    (`info["action_mask"]`) and a memory combine with each of them.

    Parameters
    ----------
    n_steps : int
        Steps to learn from, of all environments together.
    n_envs : int
        Copies of the environment that are stepped together.
    gamma : float
        Discount.
    hidden_layer_sizes : tuple of int
        Units of the policy's net, and of the value's.
    activation : {"tanh", "relu"}
    learning_rate : float
        Of Adam.
    normalize_observations : bool
        Whether nets see observations less their running mean, by their deviation.
    device : str
        "auto" takes a GPU only for nets of more than a million weights.
    warm_start : bool
        Whether `fit` goes on where the last fit stopped: with its nets, and if that
        had `warm_start` too, its optimiser, replay buffer and random numbers, in the
        same episodes if nobody has used the environment since.
    random_state : int, Generator, RandomState or None
        Same seed, same run.
    verbose : int
        1 shows a progress bar.
    horizon : int
        Steps in each environment between two updates.
    gae_lambda : float
        lambda of the advantages.
    entropy_weight, value_weight : float
        h and v of eq. (1).
    max_grad_norm : float or None
        Longest gradient.
    anneal : bool
        Whether the learning rate falls to 0 along a line. That halves what a run of a
        few tens of thousands of steps can learn (Acrobot: 5 of 16 runs of 40 000 steps
        below -200 instead of 1).
    normalize_rewards : bool
        Whether rewards are divided by the running deviation of returns.
    memory : {"none", "gru", "lstm"}
        A recurrent layer before both nets, for worlds that are seen in part.
    memory_size : int
        Its units.
    conv_layers : tuple of (channels, kernel size, stride)
        Convolutions that read images before the nets; none if empty.
    batch_size : int
        Steps in a gradient step.
    n_epochs : int
        Passes over each batch of experience.
    clip_range : float
        eps of eq. (1).
    normalize_advantages : bool
        Whether advantages have mean 0 and deviation 1 in each gradient step.
    target_kl : float or None
        Ends the passes when the policy has moved further than this.

    Attributes
    ----------
    net_ : ActorCriticNet
    observation_layout_, action_layout_ : layouts of the spaces
    observation_moments_ : ObservationMoments
    history_ : dict
        "return", "length" and "end" of every episode; losses, "kl", "clip_fraction",
        "entropy" and "explained_variance" by update ("step").
    n_iter_ : int
        Steps of the last fit.
    n_steps_ : int
        Steps of all fits since the nets were new.
    interrupted_ : bool

    Examples
    --------
    >>> from pansophy.rl import PPO
    >>> from pansophy.rl.envs import Corridor
    >>> agent = PPO(2000, horizon=16, learning_rate=0.01, random_state=0)
    >>> agent.fit(Corridor(3, max_steps=20)).predict([0, 1, 2])
    array([1, 1, 1])
    """

    horizon: Count = 128
    batch_size: Count = 64
    n_epochs: Count = 10
    clip_range: Positive = 0.2
    normalize_advantages: Flag = True
    target_kl: Positive | None = None
    gae_lambda: Fraction = 0.95
    anneal: Flag = False

    def _objective(self, net):
        return ClippedObjective(net)

    def _clip_range(self):
        return self.clip_range

    def _batch_size(self, n_envs):
        return self.batch_size
