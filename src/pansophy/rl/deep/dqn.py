"""Deep Q-learning: action values by a net, from replayed experience.

With Q the net, Q' an older copy of it (the target net) and R the discounted rewards of
the next n steps, after which x' is seen, the net is moved towards

    y = R + gamma^n Q'(x', argmax_b Q'(x', b))                                  (1)
    y = R + gamma^n Q'(x', argmax_b Q(x', b))           "double"                (2)

for the actions that were taken; the value after an end is 0, a time limit is no end.
(1) prefers actions whose values are overestimated by chance; (2) chooses and values
with different nets. Options are independent of each other: double, duelling (`q_net`),
n-step, prioritised replay (`replay`), distributional (categorical or quantile).

The greedy policy changes with every round, also where the values hardly do. Acting by
an average of the weights (`nn/training/weight_average.py`, eq. 1 there, one step for
each round) smooths that; learning does not see the average.

Refs      [Mnih2015]; [vanHasselt2016] (2); [Hessel2018] all of them together
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from ...nn.nets.compiled_mlp import suits_compiled_loops
from ...nn.training.gradient_step import GradientStep
from ...nn.training.optimisers import Adam
from ...nn.training.weight_average import AveragedWeights, WeightAverage
from ...params import (
    Count,
    Flag,
    Fraction,
    FractionBelowOne,
    Natural,
    Positive,
    TwoOrMore,
)
from ..tabular.exploration import Boltzmann, EpsilonGreedy
from ..tabular.q_learning import as_exploration
from ..tabular.schedules import Schedule, ScheduleReader
from .action_heads import FORBIDDEN
from .conv_features import ConvLayers, conv_features
from .off_policy import AbstractOffPolicy, AbstractOffPolicyLearner, TargetNet
from .q_net import CompiledQSteps, QBatch, QNet, QRows, project_distribution
from .small_nets import fan_in_mlp, numpy_forward, numpy_layers
from .space_layouts import check_action_mask

DEFAULT_EXPLORATION = EpsilonGreedy(Schedule(1.0, 0.05, 10_000))
FEW_ROWS = 4  # for which loops are faster than BLAS
ROWS_AT_ONCE = 8192  # most that a compiled call takes several batches of


class DQNLearner(AbstractOffPolicyLearner):
    """Net, target net, buffer and one update; driven by `train_agent`."""

    def __init__(self, agent, n_envs, rng, device):
        super().__init__(agent, n_envs, device)
        self.net = _build_q_net(agent, rng).to(device)
        self.gradient_step = GradientStep(
            self.net, Adam(agent.learning_rate), self.totals, clip=agent.max_grad_norm
        )
        self.target = TargetNet(self.net) if agent.target_interval else None
        self.targets = [self.target] if self.target else []
        exploration = as_exploration(agent.exploration)
        self.kind = exploration.kind
        self.level = ScheduleReader(exploration.level)
        by_arrays = device.type == "cpu" and self.net.features is None
        self.layers = numpy_layers(self.net.mlp) if by_arrays else None
        self.compiled_steps = self._compile_steps()
        self.averaged: AveragedWeights | None = None
        if agent.ema_decay:
            rule = WeightAverage("ema", agent.ema_decay)
            self.averaged = AveragedWeights(rule, self.net)

    def restore_state(self, state):
        super().restore_state(state)
        self.averaged = None  # it may have taken in weights that are not finite

    def _compile_steps(self):
        """Steps in compiled calls, if the net suits them."""
        agent, net = self.agent, self.net
        plain = net.kind == "value" and net.features is None
        if not plain or not suits_compiled_loops(net, agent.batch_size):
            return None
        (pack,) = self.gradient_step.packs[""]
        older = self.target and self.target.flatten_like(net, pack.flat.w)
        return CompiledQSteps(
            net, pack, older, agent.batch_size, n_places=agent.buffer_size,
            double=agent.double, clip=agent.max_grad_norm,
        )  # fmt: skip

    def act_batch(self, observations, rng, mask=None):
        """Explore in every environment."""
        n = len(observations)
        A = self.net.n_actions
        if mask is not None:
            mask = check_action_mask(mask, self.actions, n)
        level = self.level.at(self.done + self.acted)
        self.acted += n
        random = rng.random(n) < level if self.kind == 0 else np.zeros(n, bool)
        n_random = np.count_nonzero(random)
        if n_random == n and mask is None:  # the net is not asked
            return self.actions.to_environment(rng.integers(A, size=(n, 1)))
        Q = self.values(self.rows(observations))
        if mask is not None:
            Q = np.where(mask, Q, FORBIDDEN)
        if self.kind == 1:
            noise = rng.gumbel(size=Q.shape)
            best = (Q / level + noise).argmax(1)
            return self.actions.to_environment(best[:, None])
        best = Q.argmax(1)
        if n_random:
            u = rng.random((n, A))
            if mask is not None:
                u = np.where(mask, u, -1.0)
            best = np.where(random, u.argmax(1), best)
        return self.actions.to_environment(best[:, None])

    def values(self, X) -> np.ndarray:
        """Q (n, A) of rows."""
        net = self.net
        if self.compiled_steps is not None and len(X) <= FEW_ROWS:
            return self.compiled_steps.q_values(X)
        if self.layers is not None and net.kind == "value" and not net.duelling:
            return numpy_forward(self.layers, self.agent.activation, X)
        with torch.no_grad():
            X = torch.as_tensor(X, device=self.device)
            return net.q_values(net(X)).cpu().numpy()

    def learn_round(self, beta, rng):
        """Many batches in one compiled call, where draws do not depend on errors."""
        agent = self.agent
        if self.compiled_steps is None or agent.priority_exponent:
            super().learn_round(beta, rng)
            return
        n = agent.batch_size
        at_once = max(ROWS_AT_ONCE // n, 1)
        for n_done in range(0, agent.gradient_steps, at_once):
            k = min(at_once, agent.gradient_steps - n_done)
            self.learn(self.buffer.draw(k * n, rng), rng)

    def learn(self, batch, rng):
        if self.compiled_steps is None:
            return self._learn_by_torch(batch)
        action = batch.action.reshape(-1) - self.actions.starts[0]
        mask = batch.next_mask
        rows = QRows(
            self.rows(batch.observation),
            action,
            batch.reward,
            self.rows(batch.next_observation),
            batch.discount,
            np.empty((len(action), 0), bool) if mask is None else mask > 0,
            batch.weight,
            batch.next_index,
        )
        return self.compiled_steps(rows, self.rate_scale)

    def mean_losses(self):
        if self.compiled_steps is None:
            return super().mean_losses()
        return {"q": self.compiled_steps.mean_loss()}

    def _learn_by_torch(self, batch):
        with torch.no_grad():
            target = self.targets_of(batch)
        action = batch.action.reshape(-1) - self.actions.starts[0]
        rows = QBatch(
            self.tensor(self.rows(batch.observation)),
            self.tensor(action),
            target,
            self.tensor(batch.weight),
        )
        with self.gradient_step.grad_mode():
            self.gradient_step([(rows, len(action))], self.rate_scale)
        return self.net.errors.cpu().numpy()

    def targets_of(self, batch):
        """y of eqs. (1), (2), or its distribution, (n, K)."""
        net = self.net
        older = self.target.module if self.target else net
        X = self.tensor(self.rows(batch.next_observation))
        reward, discount = self.tensor(batch.reward), self.tensor(batch.discount)
        scores = older(X)
        choosing = scores
        if self.agent.double and older is not net:
            choosing = net(X)
        Q = net.q_values(choosing)
        if batch.next_mask is not None:
            Q = Q.masked_fill(~self.tensor(batch.next_mask > 0), FORBIDDEN)
        f = net.taken(scores, Q.argmax(1))
        if net.kind == "categorical":
            return project_distribution(f.softmax(1), net.atoms, reward, discount)
        return reward[:, None] + discount[:, None] * f

    def after_storing(self, places):
        if self.compiled_steps is not None:
            # other moments make other rows of all observations
            moved = self.agent.normalize_observations
            self.compiled_steps.forget_values(None if moved else places)

    def after_round(self, before, after):
        if self.averaged is not None:
            self.averaged.update()
        interval = self.agent.target_interval
        if not self.target or before // interval == after // interval:
            return
        if self.agent.tau == 1.0:
            self.target.copy_weights()
        else:
            self.target.follow(self.agent.tau)
        if self.compiled_steps is not None:
            self.compiled_steps.forget_values()


def _build_q_net(agent, rng) -> QNet:
    """A net with weights and biases that are even and small in all layers."""
    A = agent.action_layout_.sizes[0]
    atoms = np.zeros(1)
    if agent.distribution == "categorical":
        atoms = np.linspace(*agent.return_range, agent.n_atoms) / agent.reward_scale
    elif agent.distribution == "quantile":
        atoms = np.zeros(agent.n_atoms)
    outputs = (A + agent.duelling) * len(atoms)
    hidden = agent.hidden_layer_sizes
    features = conv_features(agent)
    d = agent.observation_layout_.width if features is None else features.width
    mlp = fan_in_mlp((d, *hidden, outputs), rng, agent.activation)
    kind = "value" if agent.distribution == "none" else agent.distribution
    return QNet(mlp, A, kind, atoms, agent.duelling, features)


@dataclass(eq=False, repr=False)
class DQN(AbstractOffPolicy):
    """Deep Q-learning for one discrete action at a time.

    Parameters
    ----------
    n_steps : int
        Steps to learn from, of all environments together.
    n_envs, gamma, hidden_layer_sizes, activation, learning_rate
        As for `PPO`.
    normalize_observations, device, warm_start, random_state, verbose
        As for `PPO`.
    horizon : int
        Steps in each environment between two rounds of learning.
    gradient_steps : int
        Batches learnt from in a round.
    batch_size : int
    buffer_size : int
        Steps that are kept for replay.
    learning_starts : int
        Steps before the first round of learning.
    n_step : int
        n of the targets.
    anneal : bool
        Whether the learning rate falls to 0 along a line.
    priority_exponent : float
        0 draws evenly from the buffer, otherwise by the size of the last error to
        this power.
    importance_exponent : float
        First beta of the weights that undo it, which goes to 1 along the run.
    reward_scale : float
        Rewards are divided by it for the nets. The loss is quadratic for errors up to 1
        and linear beyond, so that rewards of tens or more are learnt by their median
        unless they are scaled down. `value` and `q_values` are in the given units.
    double : bool
        Eq. (2) instead of (1).
    duelling : bool
        Whether state value and advantages are outputs of their own.
    distribution : {"none", "categorical", "quantile"}
        Learn the distribution of returns, not only its mean.
    n_atoms : int
        Its numbers for each action.
    return_range : (low, high)
        Least and greatest return of "categorical".
    target_interval : int
        Steps of the run after which the target net is moved, at most once a round; 0:
        no target net.
    tau : float
        Share of the way from the target net to the net that it is moved; 1 copies.
    exploration : float, EpsilonGreedy or Boltzmann
        As for `QLearning`; the default goes from 1 to 0.05 in 10 000 steps.
    conv_layers : tuple of (channels, kernel size, stride)
        Convolutions that read images before the nets; none if empty.
    max_grad_norm : float or None
        Longest gradient; the loss bounds it already by the size of the net's units.
    ema_decay : float
        Decay in a round of the exponential moving average of the weights by which the
        fitted agent acts; 0: the last weights.

    Attributes
    ----------
    net_ : QNet
        With averaged weights if `ema_decay` is not 0.
    observation_layout_, action_layout_, observation_moments_, n_iter_, n_steps_
        As of `PPO`.
    history_ : dict
        "return", "length" and "end" of every episode; "q_loss" by hundred rounds
        ("step").
    interrupted_ : bool

    Examples
    --------
    >>> from pansophy.rl import DQN
    >>> from pansophy.rl.envs import Corridor
    >>> agent = DQN(3000, learning_starts=100, target_interval=50, random_state=0)
    >>> agent.fit(Corridor(3, max_steps=20)).predict([0, 1, 2])
    array([1, 1, 1])
    """

    n_envs: Count = 4
    learning_rate: Positive = 1e-3
    double: Flag = True
    duelling: Flag = False
    distribution: Literal["none", "categorical", "quantile"] = "none"
    n_atoms: TwoOrMore = 51
    return_range: tuple = (-10.0, 10.0)
    target_interval: Natural = 500
    tau: Fraction = 1.0
    exploration: Fraction | EpsilonGreedy | Boltzmann = DEFAULT_EXPLORATION
    max_grad_norm: Positive | None = 10.0
    ema_decay: FractionBelowOne = 0.0
    conv_layers: ConvLayers = ()

    _action_kinds = {"discrete": True, "box": False}

    def _make_learner(self, n_envs, rng, device):
        if len(self.action_layout_.sizes) > 1:
            raise ValueError(
                "DQN needs one discrete action at a time, not several: use PPO."
            )
        low, high = _check_return_range(self.return_range)
        if self.distribution == "categorical" and not low < high:
            raise ValueError(
                f"return_range of DQN must be (low, high), got {self.return_range!r}."
            )
        return DQNLearner(self, n_envs, rng, device)

    def _keep(self, learner):
        averaged = learner.averaged
        with nullcontext() if averaged is None else averaged.in_net():
            super()._keep(learner)

    def q_values(self, observations) -> np.ndarray:
        """Q of every action after each of the observations, (n, n_actions)."""
        check_is_fitted(self, "net_")
        X = self.observation_layout_.encode(observations)
        return self.reward_scale_ * self._q_rows(self.observation_moments_.scaled(X))

    def _row_values(self, X):
        return self.reward_scale_ * self._q_rows(X).max(axis=1)

    def _q_rows(self, X):
        net = self.net_
        with torch.no_grad():
            return net.q_values(net(torch.as_tensor(np.asarray(X, np.float32)))).numpy()

    def _greedy(self, X, mask):
        Q = self._q_rows(X)
        if mask is not None:
            Q = np.where(mask, Q, FORBIDDEN)
        return Q.argmax(1)[:, None]


def _check_return_range(value) -> tuple[float, float]:
    """(low, high) as numbers; the clear error otherwise."""
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise ValueError(
            f"return_range of DQN must be two numbers, got {value!r}."
        ) from None
    return low, high
