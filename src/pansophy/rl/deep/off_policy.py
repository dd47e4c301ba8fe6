"""Learning from a replay buffer: what DQN, SAC and TD3 share.

Every round N environments are stepped `horizon` times into the buffer, and once
`learning_starts` steps have been made, `gradient_steps` batches are drawn from it. A
target net holds older weights w', either copied every so many steps of the run or
following the weights w slowly,

    w' <- w' + tau (w - w')                                                     (1)

Gradients never flow into it. Rewards are divided by `reward_scale` on their way into
the buffer; values are multiplied by it when they are asked for.
"""

import copy
import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from ...nn.training.gradient_step import LossTotals
from ...nn.training.parallel import SingleProcess
from ...params import Count, Flag, Fraction, Natural, Positive
from .abstract_agent import AbstractAgent
from .replay import ReplayBuffer

ALONE = SingleProcess()
ROUNDS_PER_MEASURE = 100
DTYPES = {"b": bool, "i": np.int64, "u": np.int64}


class TargetNet:
    """Older weights of a module, for targets that do not move with every step."""

    def __init__(self, module):
        self.module = copy.deepcopy(module).requires_grad_(False)
        self.source = list(module.state_dict().values())
        self.own = list(self.module.state_dict().values())

    def flatten_like(self, net, flat) -> np.ndarray:
        """Make the weights views of one vector, in the places that `net` has in `flat`.

        `net` is the module of which this is a copy, on the CPU.
        """
        twin = torch.empty_like(flat)
        for p, q in zip(net.parameters(), self.module.parameters(), strict=True):
            offset = (p.data_ptr() - flat.data_ptr()) // flat.element_size()
            view = twin[offset : offset + p.numel()].view(p.shape)
            view.copy_(q)
            q.data = view
        self.own = list(self.module.state_dict().values())
        return twin.numpy()

    @torch.no_grad()
    def copy_weights(self) -> None:
        torch._foreach_copy_(self.own, self.source)

    @torch.no_grad()
    def follow(self, tau) -> None:
        """Eq. (1)."""
        torch._foreach_lerp_(self.own, self.source, float(tau))


class AbstractOffPolicyLearner:
    """Buffer and rounds; a learner gives `act_batch`, `learn` and its nets."""

    net: Any
    targets: list[TargetNet]

    def __init__(self, agent, n_envs, device):
        self.agent, self.device = agent, device
        self.on_cpu = device.type == "cpu"
        self.horizon, self.batch_size = agent.horizon, agent.batch_size
        self.layout, self.actions = agent.observation_layout_, agent.action_layout_
        self.moments = agent.observation_moments_
        alpha = agent.priority_exponent
        self.buffer = ReplayBuffer(
            agent.buffer_size, gamma=agent.gamma, n_steps=agent.n_step, alpha=alpha
        )
        self.totals = LossTotals()
        self.done = getattr(agent, "n_steps_", 0)  # steps of all fits
        self.stored = 0  # steps since the buffer was empty
        self.acted = 0  # steps since the last round, where a learner counts them
        self.rounds = 0
        self.rate_scale = 1.0  # of the learning rate, by which it falls along the run

    def load_net(self, net):
        self.net.load_state_dict(net.state_dict())
        for target in self.targets:
            target.copy_weights()

    def begin_run(self) -> None:
        """The environments were reset: what is stored next follows nothing."""
        self.buffer.end_episodes()

    def copy_state(self):
        return {key: value.clone() for key, value in self.net.state_dict().items()}

    def restore_state(self, state):
        self.net.load_state_dict(state)

    def rows(self, observations) -> np.ndarray:
        """Observations as the nets take them."""
        X = self.layout.encode(observations)
        if not self.moments.count:
            return X
        return np.asarray(self.moments.scaled(X), np.float32)

    def tensor(self, a):
        """An array as a tensor: float32, int64 or bool."""
        kind = DTYPES.get(a.dtype.kind, np.float32)
        tensor = torch.from_numpy(np.ascontiguousarray(a, kind))
        return tensor if self.on_cpu else tensor.to(self.device)

    @abstractmethod
    def learn(self, batch, rng) -> np.ndarray:
        """One gradient step on a `ReplayBatch`; the sizes of its errors."""

    def learn_round(self, beta, rng) -> None:
        """`gradient_steps` batches, each learnt from before the next is drawn."""
        for _ in range(self.agent.gradient_steps):
            batch = self.buffer.draw(self.batch_size, rng, beta=beta)
            error = self.learn(batch, rng)
            if self.agent.priority_exponent:
                self.buffer.set_priorities(batch.index, error)

    def update(self, steps, progress, rng) -> dict[str, float]:
        """Store the steps and learn from the buffer."""
        agent = self.agent
        places = self.buffer.extend(
            steps._replace(reward=steps.reward / agent.reward_scale)
        )
        self.rate_scale = 1.0 - progress if agent.anneal else 1.0
        n_done_before = self.done
        self.done += steps.n_steps
        self.stored += steps.n_steps
        self.acted = 0
        if agent.normalize_observations:
            seen = steps.observation[steps.valid]
            self.moments = self.moments.updated(self.layout.encode(seen))
        self.after_storing(places)
        if self.stored < agent.learning_starts:
            return {}
        beta = agent.importance_exponent
        self.learn_round(beta + (1.0 - beta) * progress, rng)
        self.after_round(n_done_before, self.done)
        self.rounds += 1
        if self.rounds % ROUNDS_PER_MEASURE:
            return {}
        return {f"{k}_loss": v for k, v in self.mean_losses().items()}

    def mean_losses(self) -> dict[str, float]:
        """Mean of each loss since the last call."""
        return self.totals.means(ALONE)

    def after_storing(self, places) -> None:
        """Called when new steps lie at these places of the buffer."""

    def after_round(self, before, after) -> None:
        """Called when the run went from `before` to `after` steps."""


@dataclass(eq=False, repr=False)
class AbstractOffPolicy(AbstractAgent):
    """Parameters of the agents that replay; described there."""

    n_envs: Count = 1
    activation: Literal["tanh", "relu"] = "relu"
    horizon: Count = 1
    gradient_steps: Count = 1
    batch_size: Count = 64
    buffer_size: Count = 100_000
    learning_starts: Natural = 1000
    n_step: Count = 1
    anneal: Flag = False
    priority_exponent: Fraction = 0.0
    importance_exponent: Fraction = 0.4
    reward_scale: Positive = 1.0

    def _check_learnt(self, learner):
        if learner.stored < self.learning_starts:
            warnings.warn(
                f"{type(self).__name__} has learnt nothing in these {self.n_iter_} "
                f"steps: learning starts after learning_starts={self.learning_starts} "
                "steps in the replay buffer.",
                stacklevel=4,
            )

    def _keep(self, learner):
        super()._keep(learner)
        self.reward_scale_ = float(self.reward_scale)
