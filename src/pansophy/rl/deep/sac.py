"""Soft actor-critic: off-policy learning of a policy that keeps its entropy.

The policy is tanh of a normal (`action_heads`, eq. 4). With two critics Q_1, Q_2, slow
copies Q'_1, Q'_2 of them, and a temperature alpha,

    y = R + gamma (min_k Q'_k(x', a') - alpha log p(a' | x')),  a' ~ p          (1)
    critics       mean (Q_k(x, a) - y)^2 / 2                                    (2)
    policy        mean alpha log p(a~ | x) - min_k Q_k(x, a~),  a~ ~ p          (3)
    temperature   -log alpha mean (log p(a~ | x) + H0)                          (4)

(4) raises alpha while the entropy is below H0 = -(number of actions) and lowers it
above. The lesser of two critics counters the bias of maximising over errors. Actions
are scaled from (-1, 1) to the bounds of the environment.

Refs      [Haarnoja2018]; [Fujimoto2018] the two critics
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...nn.training.gradient_step import GradientStep
from ...nn.training.optimisers import Adam
from ...params import Count, Natural, Number, Positive
from .abstract_agent import LayerSizes
from .action_heads import SquashedNormalHead
from .off_policy import AbstractOffPolicy, AbstractOffPolicyLearner, TargetNet
from .small_nets import he_mlp


class ContinuousBatch(NamedTuple):
    """Rows for the nets of SAC and TD3."""

    X: Tensor
    action: Tensor  # (n, width), in (-1, 1)
    target: Tensor  # (n,)
    weight: Tensor  # (n,)
    noise: Tensor | None = None  # (n, width), standard normal


class TwinCritics(nn.Module):
    """Two nets Q(x, a)."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, X, action) -> tuple[Tensor, Tensor]:
        """Q_1 and Q_2, (n,) each."""
        Z = torch.cat([X, action], 1)
        return self.first(Z)[:, 0], self.second(Z)[:, 0]

    def lesser(self, X, action) -> Tensor:
        return torch.minimum(*self.forward(X, action))

    def loss(self, batch: ContinuousBatch) -> tuple[Tensor, Tensor]:
        """Eq. (2), and the sizes of the first critic's errors."""
        q1, q2 = self.forward(batch.X, batch.action)
        e, f = q1 - batch.target, q2 - batch.target
        rows = 0.5 * (e.square() + f.square())
        return (batch.weight * rows).mean(), e.detach().abs()


class SACNet(nn.Module):
    """Policy, critics and temperature with the losses (2) to (4)."""

    def __init__(self, actor, critics, head, *, temperature, target_entropy):
        super().__init__()
        self.actor, self.critic = actor, critics
        self.head = head
        self.learnt = temperature is None
        start = 0.0 if temperature is None else float(np.log(temperature))
        self.log_alpha = nn.Parameter(torch.full((1,), start))
        self.target_entropy = float(target_entropy)
        self.errors = torch.zeros(0)

    def groups(self):
        """Parameters that each loss moves."""
        return {
            "critic": list(self.critic.parameters()),
            "actor": list(self.actor.parameters()),
            "temperature": [self.log_alpha],
        }

    def flops(self, n: int) -> float:
        return 3 * (self.actor.flops(n) + 2 * self.critic.first.flops(n))

    def losses(self, batch: ContinuousBatch) -> dict:
        loss, self.errors = self.critic.loss(batch)
        alpha = self.log_alpha.detach().exp()
        drawn: dict[str, Tensor] = {}

        def actor():
            action, log_p = self.head.sample(self.actor(batch.X), batch.noise)
            drawn["log_p"] = log_p.detach()
            return (alpha * log_p - self.critic.lesser(batch.X, action)).mean()  # (3)

        terms = {"critic": loss, "actor": actor}
        if self.learnt:
            terms["temperature"] = lambda: (
                -(self.log_alpha * (drawn["log_p"] + self.target_entropy)).mean()
            )  # (4)
        return terms


class ContinuousLearner(AbstractOffPolicyLearner):
    """Base class of the learners of SAC and TD3: scaled actions, random first steps."""

    def __init__(self, agent, n_envs, device):
        super().__init__(agent, n_envs, device)
        a = self.actions
        self.center, self.reach = (a.high + a.low) / 2, (a.high - a.low) / 2

    def act_batch(self, observations, rng, mask=None):
        """Explore; at first evenly over all actions."""
        n = len(observations)
        if self.done < self.agent.learning_starts:
            scaled = rng.uniform(-1.0, 1.0, (n, self.actions.width))
        else:
            with torch.no_grad():
                X = torch.as_tensor(self.rows(observations), device=self.device)
                scaled = self.explore(X, rng)
        return self.actions.to_environment(self.center + self.reach * scaled)

    @abstractmethod
    def explore(self, X, rng) -> np.ndarray:
        """Actions in (-1, 1) to try, under `no_grad`."""

    def tensors(self, batch):
        """Rows of a `ReplayBatch`: X, actions in (-1, 1), X', R, discount, weight."""
        n = len(batch.reward)
        # a number whose bounds are equal has no reach: it stays 0
        reach = np.where(self.reach > 0, self.reach, 1.0)
        action = (batch.action.reshape(n, -1) - self.center) / reach
        parts = (
            self.rows(batch.observation),
            action,
            self.rows(batch.next_observation),
            batch.reward,
            batch.discount,
            batch.weight,
        )
        return [self.tensor(p) for p in parts]

    def normal(self, rng, n):
        """Standard normal numbers (n, width)."""
        noise = rng.standard_normal((n, self.actions.width), dtype=np.float32)
        return torch.as_tensor(noise, device=self.device)


class SACLearner(ContinuousLearner):
    """Nets, buffer and one update; driven by `train_agent`."""

    def __init__(self, agent, n_envs, rng, device):
        super().__init__(agent, n_envs, device)
        width = self.actions.width
        head = SquashedNormalHead(width)
        d = self.layout.width
        hidden = tuple(agent.hidden_layer_sizes)
        make = lambda m, k: he_mlp((m, *hidden, k), rng, agent.activation)
        critics = TwinCritics(make(d + width, 1), make(d + width, 1))
        entropy = agent.target_entropy
        self.net = SACNet(
            make(d, head.n_outputs),
            critics,
            head,
            temperature=agent.temperature,
            target_entropy=-width if entropy is None else entropy,
        ).to(device)
        rule = Adam(agent.learning_rate)
        rules = {"critic": rule, "actor": rule}
        if self.net.learnt:
            rules["temperature"] = rule
        self.gradient_step = GradientStep(self.net, rules, self.totals)
        self.target = TargetNet(self.net.critic)
        self.targets = [self.target]

    def explore(self, X, rng):
        F = self.net.actor(X)
        return self.net.head.sample(F, self.normal(rng, len(X)))[0].cpu().numpy()

    def learn(self, batch, rng):
        X, action, next_X, reward, discount, weight = self.tensors(batch)
        net = self.net
        with torch.no_grad():
            later, log_p = net.head.sample(
                net.actor(next_X), self.normal(rng, len(next_X))
            )
            value = self.target.module.lesser(next_X, later)
            y = reward + discount * (value - net.log_alpha.exp() * log_p)  # (1)
        rows = ContinuousBatch(X, action, y, weight, self.normal(rng, len(X)))
        self.gradient_step([(rows, len(X))], self.rate_scale)
        self.target.follow(self.agent.tau)
        return net.errors.cpu().numpy()


def check_bounded(layout, agent) -> None:
    """Raise if an action has no bounds to scale to."""
    if not (np.isfinite(layout.low).all() and np.isfinite(layout.high).all()):
        raise ValueError(
            f"{agent} scales actions to the bounds of their space, but some are "
            "infinite: wrap the environment with gymnasium.wrappers.RescaleAction."
        )


@dataclass(eq=False, repr=False)
class SAC(AbstractOffPolicy):
    """Soft actor-critic for real-valued actions.

    Parameters
    ----------
    n_steps, n_envs, gamma, hidden_layer_sizes, activation, learning_rate
        As for `PPO`.
    normalize_observations, device, warm_start, random_state, verbose
        As for `PPO`.
    horizon, gradient_steps, batch_size, buffer_size, learning_starts, n_step, anneal
        As for `DQN`; before learning starts, actions are drawn evenly.
    priority_exponent, importance_exponent, reward_scale
        As for `DQN`; the larger the scale, the more entropy counts.
    tau : float
        How fast the target critics follow.
    temperature : float or None
        alpha; None learns it.
    target_entropy : float or None
        H0 of eq. (4); None is minus the number of actions.

    Attributes
    ----------
    net_ : SACNet
    observation_layout_, action_layout_, observation_moments_, history_
        As of `DQN`.
    n_iter_, n_steps_, interrupted_
        As of `DQN`.

    Examples
    --------
    >>> import gymnasium
    >>> from pansophy.rl import SAC
    >>> agent = SAC(300, learning_starts=200, random_state=0)
    >>> agent.fit("Pendulum-v1").predict([[1.0, 0.0, 0.0]]).shape
    (1, 1)
    """

    learning_rate: Positive = 3e-4
    hidden_layer_sizes: LayerSizes = (256, 256)
    batch_size: Count = 256
    learning_starts: Natural = 1000
    tau: Positive = 0.005
    temperature: Positive | None = None
    target_entropy: Number | None = None

    _action_kinds = {"discrete": False, "box": True}

    def _make_learner(self, n_envs, rng, device):
        check_bounded(self.action_layout_, "SAC")
        return SACLearner(self, n_envs, rng, device)

    def _greedy(self, X, mask):
        a = self.action_layout_
        return scaled_to_bounds(best_actions(self.net_.actor, X, a), a)

    def _row_values(self, X):
        return self.reward_scale_ * value_of_best(self.net_, X, self.action_layout_)


@torch.no_grad()
def best_actions(actor, X, layout) -> np.ndarray:
    """tanh of the first outputs of a policy, (n, width)."""
    F = actor(torch.as_tensor(X))
    return np.tanh(F[:, : layout.width].numpy())


def scaled_to_bounds(best, layout) -> np.ndarray:
    """Actions in (-1, 1) within the bounds of the space."""
    return (layout.high + layout.low) / 2 + (layout.high - layout.low) / 2 * best


@torch.no_grad()
def value_of_best(net, X, layout) -> np.ndarray:
    """min_k Q_k of the best actions."""
    best = torch.as_tensor(best_actions(net.actor, X, layout))
    return net.critic.lesser(torch.as_tensor(X), best).numpy()
