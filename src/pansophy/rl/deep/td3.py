"""Twin delayed deterministic policy gradient (TD3).

The policy is a function a = tanh(F(x)), explored with normal noise. Slow copies of the
policy (a'), and of two critics give targets with smoothed actions,

    y = R + gamma min_k Q'_k(x', clip(a'(x') + clip(e, -c, c))),  e ~ N(0, s^2)   (1)
    critics   mean (Q_k(x, a) - y)^2 / 2                                        (2)
    policy    -mean Q_1(x, a(x)),  every second gradient step                   (3)

The noise in (1) keeps the policy from exploiting narrow peaks of a critic's errors; the
delay in (3) lets the critics settle first.

Refs      [Fujimoto2018]; [Lillicrap2016] DDPG, which it mends
"""

from dataclasses import dataclass

import torch
from torch import nn

from ...nn.training.gradient_step import GradientStep
from ...nn.training.optimisers import Adam
from ...params import Count, NonNegative, Positive
from .abstract_agent import LayerSizes
from .off_policy import AbstractOffPolicy, TargetNet
from .sac import (
    ContinuousBatch,
    ContinuousLearner,
    TwinCritics,
    best_actions,
    check_bounded,
    scaled_to_bounds,
    value_of_best,
)
from .small_nets import he_mlp


class TD3Net(nn.Module):
    """Policy and critics with the losses (2) and (3)."""

    def __init__(self, actor, critics):
        super().__init__()
        self.actor, self.critic = actor, critics
        self.moves_actor = True  # in this step
        self.errors = torch.zeros(0)

    def flops(self, n: int) -> float:
        return 3 * (self.actor.flops(n) + 2 * self.critic.first.flops(n))

    def losses(self, batch: ContinuousBatch) -> dict:
        loss, self.errors = self.critic.loss(batch)
        terms = {"critic": loss}
        if self.moves_actor:
            terms["actor"] = lambda: (
                -self.critic(batch.X, torch.tanh(self.actor(batch.X)))[0].mean()
            )
        return terms


class TD3Learner(ContinuousLearner):
    """Nets, buffer and one update; driven by `train_agent`."""

    def __init__(self, agent, n_envs, rng, device):
        super().__init__(agent, n_envs, device)
        width = self.actions.width
        d = self.layout.width
        hidden = tuple(agent.hidden_layer_sizes)
        make = lambda m, k: he_mlp((m, *hidden, k), rng, agent.activation)
        critics = TwinCritics(make(d + width, 1), make(d + width, 1))
        self.net = TD3Net(make(d, width), critics).to(device)
        rule = Adam(agent.learning_rate)
        self.gradient_step = GradientStep(
            self.net, {"critic": rule, "actor": rule}, self.totals
        )
        self.target_critic = TargetNet(self.net.critic)
        self.target_actor = TargetNet(self.net.actor)
        self.targets = [self.target_critic, self.target_actor]
        self.gradients_made = 0

    def explore(self, X, rng):
        best = torch.tanh(self.net.actor(X))
        noise = self.agent.exploration_noise * self.normal(rng, len(X))
        return (best + noise).clamp(-1.0, 1.0).cpu().numpy()

    def learn(self, batch, rng):
        X, action, next_X, reward, discount, weight = self.tensors(batch)
        agent, net = self.agent, self.net
        with torch.no_grad():
            c = agent.noise_clip
            noise = (agent.target_noise * self.normal(rng, len(next_X))).clamp(-c, c)
            later = torch.tanh(self.target_actor.module(next_X)) + noise
            value = self.target_critic.module.lesser(next_X, later.clamp(-1.0, 1.0))
            y = reward + discount * value  # (1)
        self.gradients_made += 1
        net.moves_actor = self.gradients_made % agent.policy_delay == 0
        rows = ContinuousBatch(X, action, y, weight)
        self.gradient_step([(rows, len(X))], self.rate_scale)
        if net.moves_actor:
            for target in self.targets:
                target.follow(agent.tau)
        return net.errors.cpu().numpy()


@dataclass(eq=False, repr=False)
class TD3(AbstractOffPolicy):
    """Twin delayed deterministic policy gradient, for real-valued actions.

    Parameters
    ----------
    n_steps, n_envs, gamma, hidden_layer_sizes, activation, learning_rate
        As for `PPO`.
    normalize_observations, device, warm_start, random_state, verbose
        As for `PPO`.
    horizon, gradient_steps, batch_size, buffer_size, learning_starts, n_step, anneal
        As for `DQN`; before learning starts, actions are drawn evenly.
    priority_exponent, importance_exponent, reward_scale
        As for `DQN`.
    tau : float
        How fast the targets follow.
    policy_delay : int
        Gradient steps of the critics for one of the policy.
    exploration_noise : float
        Deviation of the noise on actions, whose range is (-1, 1).
    target_noise, noise_clip : float
        s and c of eq. (1).

    Attributes
    ----------
    net_ : TD3Net
    observation_layout_, action_layout_, observation_moments_, history_
        As of `DQN`.
    n_iter_, n_steps_, interrupted_
        As of `DQN`.

    Examples
    --------
    >>> import gymnasium
    >>> from pansophy.rl import TD3
    >>> agent = TD3(300, learning_starts=200, random_state=0)
    >>> agent.fit("Pendulum-v1").predict([[1.0, 0.0, 0.0]]).shape
    (1, 1)
    """

    learning_rate: Positive = 1e-3
    hidden_layer_sizes: LayerSizes = (256, 256)
    batch_size: Count = 256
    tau: Positive = 0.005
    policy_delay: Count = 2
    exploration_noise: NonNegative = 0.1
    target_noise: NonNegative = 0.2
    noise_clip: NonNegative = 0.5

    _action_kinds = {"discrete": False, "box": True}

    def _make_learner(self, n_envs, rng, device):
        check_bounded(self.action_layout_, "TD3")
        return TD3Learner(self, n_envs, rng, device)

    def _greedy(self, X, mask):
        a = self.action_layout_
        return scaled_to_bounds(best_actions(self.net_.actor, X, a), a)

    def _row_values(self, X):
        return self.reward_scale_ * value_of_best(self.net_, X, self.action_layout_)
