"""Actor-critic learning: what REINFORCE, A2C and PPO share.

One update of the learner, with N environments stepped T times by the present policy q:

    1. V of every observation, in one pass; advantages A and targets G = A + V
       (`returns`), where episodes that were cut off keep the value after the cut;
    2. log q(a) of every action;
    3. `n_epochs` times over the T N steps in random order, in batches: a gradient step
       along the objective of the algorithm (`ppo`, `a2c`), with A shifted and scaled to
       mean 0 and deviation 1 within the batch if asked for.

Batches have nearly equal sizes, so that none is a leftover of one row. The moments that
normalise observations are those in use when the actions were drawn, and take in the new
observations after the update: p = q exactly when an update begins.

Steps that only reset an environment are left out.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch

from ...nn.layers.recurrent import GRU, LSTM
from ...nn.nets.compiled_mlp import suits_compiled_loops
from ...nn.training.gradient_step import GradientStep, LossTotals
from ...nn.training.optimisers import Adam
from ...nn.training.parallel import SingleProcess
from ...params import Count, Flag, Fraction, NonNegative, Positive
from ..experience.returns import generalized_advantages
from .abstract_agent import AbstractAgent
from .action_heads import CategoricalHead, NormalHead
from .actor_critic_net import (
    AbstractActorCriticObjective,
    ActorBatch,
    ActorCriticNet,
    CompiledEpochs,
)
from .conv_features import ConvLayers, conv_features
from .running_moments import ReturnScale
from .small_nets import numpy_forward, numpy_layers, orthogonal_mlp
from .space_layouts import check_action_mask

MEMORIES = {"gru": GRU, "lstm": LSTM}
ALONE = SingleProcess()


class ActorCriticLearner:
    """Nets, optimiser and one update; driven by `train_agent`."""

    def __init__(self, agent, n_envs, rng, device):
        self.agent, self.device = agent, device
        self.horizon = agent.horizon
        self.batch_size = agent._batch_size(n_envs)
        self.layout, self.actions = agent.observation_layout_, agent.action_layout_
        self.moments = agent.observation_moments_
        self.return_scale = ReturnScale.empty(n_envs)
        self.net = build_net(agent, rng).to(device)
        self.head = self.net.head
        self.totals = LossTotals()
        self.gradient_step = GradientStep(
            agent._objective(self.net),
            Adam(agent.learning_rate, eps=1e-5),
            self.totals,
            clip=agent.max_grad_norm,
        )
        self.n_envs = n_envs
        self.state: Any = None  # of the memory, in each environment
        if self.net.memory is not None:
            self.state = self.net.memory.init_state(n_envs)
        self.state_before = self.state
        self._link_arrays()
        self.compiled_epochs = self._compile_epochs()

    def _compile_epochs(self):
        """Passes over a batch in compiled calls, if the net suits them."""
        agent, net = self.agent, self.net
        plain = net.memory is None and net.features is None
        if not plain or not suits_compiled_loops(net, self.batch_size):
            return None
        (pack,) = self.gradient_step.packs[""]
        return CompiledEpochs(
            net, pack, clip=agent.max_grad_norm, standardise=agent.normalize_advantages
        )

    def _link_arrays(self):
        """Arrays of the policy's weights, to act by."""
        net = self.net
        plain = net.memory is None and net.features is None
        by_arrays = plain and self.device.type == "cpu"
        self.layers = numpy_layers(net.policy) if by_arrays else None
        linked = by_arrays and net.free is not None
        self.free = net.free.detach().numpy() if linked else None

    def load_net(self, net):
        self.net.load_state_dict(net.state_dict())

    def begin_run(self) -> None:
        """The environments were reset: returns begin anew."""
        empty = np.zeros_like(self.return_scale.running)
        self.return_scale = self.return_scale._replace(running=empty)

    def copy_state(self):
        return {key: value.clone() for key, value in self.net.state_dict().items()}

    def restore_state(self, state):
        self.net.load_state_dict(state)

    # -- acting ----------------------------------------------------------------

    def act_batch(self, observations, rng, mask=None):
        """Draw an action in every environment."""
        if mask is not None:
            mask = check_action_mask(mask, self.actions, len(observations))
        X = self.moments.scaled(self.layout.encode(observations))
        X = X.astype(np.float32, copy=False)
        if self.layers is not None:
            F = numpy_forward(self.layers, self.agent.activation, X)
            choice = self.head.draw(F, rng, mask, self.free)
        else:
            F, free = self._torch_scores(X)
            choice = self.head.draw(F, rng, mask, free)
        return self.actions.to_environment(choice), {"choice": choice}

    @torch.no_grad()
    def _torch_scores(self, X):
        X = self.net.read(torch.as_tensor(X, device=self.device))
        if self.net.memory is not None:
            X, self.state = self.net.memory.step(X, self.state)
        free = None if self.net.free is None else self.net.free.cpu().numpy()
        return self.net.policy(X).cpu().numpy(), free

    def begin_batch(self, observations, first):
        """Forget the last episode where a new one begins."""
        if self.state is not None:
            is_continuing = torch.as_tensor(~first, device=self.device)[:, None, None]
            self.state = tuple(s * is_continuing for s in self.state)

    # -- learning --------------------------------------------------------------

    def update(self, steps, progress, rng) -> dict[str, float]:
        """One update of the module text."""
        agent = self.agent
        self.net.train()
        raw = self.layout.encode(steps.observation.reshape(-1, *self._shape(steps)))
        X = self.moments.scaled(raw).astype(np.float32, copy=False)
        reward = steps.reward
        if agent.normalize_rewards:
            self.return_scale = self.return_scale.updated(
                reward, steps.done, agent.gamma
            )
            reward = reward / self.return_scale.scale
        with torch.no_grad():
            V, next_V = self._values(X, steps)
            A = generalized_advantages(
                reward, V, next_V, steps.terminated, steps.truncated,
                gamma=agent.gamma, gae_lambda=agent.gae_lambda,
            )  # fmt: skip
            target = A + V
            if not agent._subtracts_baseline():
                A = target
            batch = self._batch(X, steps, A, target)
        measured = self._epochs(batch, 1.0 - progress if agent.anneal else 1.0, rng)
        if agent.normalize_observations:
            self.moments = self.moments.updated(raw[steps.valid.ravel()])
        self.state_before = self.state
        spread = np.var(target)
        residual = np.var(target - V)
        measured["explained_variance"] = float(1 - residual / spread) if spread else 0.0
        return measured

    def _shape(self, steps):
        return steps.observation.shape[2:]

    def _rows(self, observations):
        X = self.moments.scaled(self.layout.encode(observations))
        return torch.as_tensor(np.asarray(X, np.float32), device=self.device)

    def _values(self, X, steps):
        """V before and after every step, (T, N) each."""
        T, N = steps.reward.shape
        rows = lambda observations: self.net.read(self._rows(observations))
        last = rows(steps.position.observation)
        final = rows(steps.final_observation) if len(steps.final_env) else None
        X = self.net.read(torch.as_tensor(X, device=self.device))
        value = lambda H: self.net.value(H)[:, 0].cpu().numpy()
        if self.net.memory is None:
            V = value(X).reshape(T, N)
            V_last = value(last)
            V_final = None if final is None else value(final)
        else:
            first = torch.as_tensor(steps.first, device=self.device)
            state: Any = self.state_before
            states = []
            outputs = []
            for t in range(T):
                h, state = self.net.remember(X.view(T, N, -1)[t], first[t], state)
                outputs.append(h)
                states.append(state)
            V = value(torch.cat(outputs)).reshape(T, N)
            V_last = value(self.net.memory.step(last, state)[0])
            V_final = None
            if final is not None:
                endings = list(zip(steps.final_time, steps.final_env, strict=True))
                states_before = tuple(
                    torch.stack([states[t][k][i] for t, i in endings])
                    for k in range(len(state))
                )
                V_final = value(self.net.memory.step(final, states_before)[0])
        next_V = np.concatenate([V[1:], V_last[None]])
        if V_final is not None:
            next_V[steps.final_time, steps.final_env] = V_final
        return V.astype(float), next_V.astype(float)

    def _batch(self, X, steps, A, target) -> ActorBatch:
        """All steps as tensors, with log q; sequences if there is a memory."""
        T, N = steps.reward.shape
        tensor = lambda a: torch.as_tensor(
            np.ascontiguousarray(a, None if a.dtype == bool else self._kind(a)),
            device=self.device,
        )
        choice = tensor(steps.extras["choice"].reshape(T * N, -1))
        mask = None if steps.mask is None else tensor(steps.mask.reshape(T * N, -1) > 0)
        parts = [
            tensor(X),
            choice,
            mask,
            None,
            tensor(A.ravel()),
            tensor(target.ravel()),
        ]
        if self.net.memory is None:
            if not steps.valid.all():
                rows = torch.as_tensor(np.flatnonzero(steps.valid.ravel()))
                parts = [None if p is None else p[rows] for p in parts]
            F = self.net.policy(self.net.read(parts[0]))
            evaluated = self.head.evaluate(F, parts[1], parts[2], self.net.free)
            parts[3] = evaluated.log_prob
            return ActorBatch(*parts)
        parts[3] = torch.zeros(T * N, device=self.device)
        swap = lambda a: (
            None if a is None else a.view(T, N, *a.shape[1:]).transpose(0, 1)
        )
        first = tensor(steps.first).transpose(0, 1)
        batch = ActorBatch(*map(swap, parts))
        batch = batch._replace(first=first, state=self.state_before)
        flat = self.net.flat_batch(batch)
        F = self.net.policy(flat.X)
        evaluated = self.head.evaluate(F, flat.action, flat.mask, self.net.free)
        batch = batch._replace(log_q=evaluated.log_prob.view(N, T))
        if steps.valid.all():
            return batch
        # such steps pass through the memory and teach nothing
        return batch._replace(valid=tensor(steps.valid).transpose(0, 1))

    def _kind(self, a):
        return np.int64 if np.issubdtype(a.dtype, np.integer) else np.float32

    def _epochs(self, batch, scale, rng) -> dict[str, float]:
        """Gradient steps over the batch, and what was measured."""
        agent = self.agent
        n = len(batch.X)
        rows_each = 1 if self.net.memory is None else batch.X.shape[1]
        pieces = max(1, round(n * rows_each / self.batch_size))
        cuts = np.linspace(0, n, min(pieces, n) + 1).astype(np.int64)
        compiled = self.compiled_epochs
        rows: Any = None if compiled is None else compiled.rows_of(batch)
        for _ in range(agent.n_epochs):
            order = rng.permutation(n) if len(cuts) > 2 else np.arange(n)
            if compiled is None:
                self._torch_epoch(batch, order, cuts, scale, rows_each)
            else:
                measured = compiled.run(rows, order, cuts, scale)
                for name, value in measured.items():
                    self.totals.add(name, torch.as_tensor(value), n)
            limit = getattr(agent, "target_kl", None)
            if limit is not None and self._change(batch)["kl"] > limit:
                break
        measured = self.totals.means(ALONE)
        losses = {f"{name}_loss": measured[name] for name in ("policy", "value")}
        return losses | self._change(batch)

    def _torch_epoch(self, batch, order, cuts, scale, rows_each):
        """One pass over the batch, a gradient step for each piece of it."""
        is_one_batch = len(cuts) == 2
        shuffled = batch
        if not is_one_batch:
            shuffled = batch.rows(torch.as_tensor(order, device=self.device))
        with self.gradient_step.grad_mode():
            for lo, hi in pairwise(cuts.tolist()):
                part = shuffled if is_one_batch else shuffled.rows(slice(lo, hi))
                if self.agent.normalize_advantages:
                    part = part._replace(
                        advantage=standardised(part.advantage, part.valid)
                    )
                self.gradient_step([(part, (hi - lo) * rows_each)], scale)

    @torch.no_grad()
    def _change(self, batch) -> dict[str, float]:
        """Change of the policy from the one that acted."""
        flat = self.net.flat_batch(batch)
        evaluated = self.head.evaluate(
            self.net.policy(flat.X), flat.action, flat.mask, self.net.free
        )
        log_ratio = evaluated.log_prob - flat.log_q
        ratio = log_ratio.exp()
        kl = ((ratio - 1) - log_ratio).mean()
        eps = self.net.clip_range
        outside = ((ratio - 1).abs() > eps).to(torch.float32).mean()
        entropy = evaluated.entropy.mean()
        return {
            "kl": float(kl),
            "clip_fraction": float(outside),
            "entropy": float(entropy),
        }


def standardised(A: torch.Tensor, valid=None) -> torch.Tensor:
    """Mean 0 and deviation 1; zeros if all are equal, unchanged if there is one.

    Those that are not `valid` are not counted.
    """
    counted = A if valid is None else A[valid]
    if counted.numel() < 2:
        return A
    std, mean = torch.std_mean(counted)
    return (A - mean) / (std + 1e-8)


def build_net(agent, rng) -> ActorCriticNet:
    """Policy and value nets with orthogonal matrices, the policy's last one small."""
    a = agent.action_layout_
    head = CategoricalHead(a.sizes) if a.kind == "discrete" else NormalHead(a.width)
    features = conv_features(agent)
    d = agent.observation_layout_.width if features is None else features.width
    memory = None
    if agent.memory != "none":
        memory = MEMORIES[agent.memory](d, agent.memory_size)
        d = agent.memory_size
    hidden = tuple(agent.hidden_layer_sizes)
    make = lambda m, gain: orthogonal_mlp(
        (d, *hidden, m), rng, activation=agent.activation, last_gain=gain
    )
    return ActorCriticNet(
        make(head.n_outputs, 0.01),
        make(1, 1.0),
        head,
        memory,
        features,
        clip_range=agent._clip_range(),
        entropy_weight=agent.entropy_weight,
        value_weight=agent.value_weight,
    )


@dataclass(eq=False, repr=False)
class AbstractActorCritic(AbstractAgent):
    """Parameters of the actor-critic agents; described there.

    An agent gives `_objective(net)`, what it minimises.
    """

    horizon: Count = 128
    gae_lambda: Fraction = 0.95
    entropy_weight: NonNegative = 0.0
    value_weight: NonNegative = 0.5
    max_grad_norm: Positive | None = 0.5
    anneal: Flag = True
    normalize_rewards: Flag = False
    memory: Literal["none", "gru", "lstm"] = "none"
    memory_size: Count = 64
    conv_layers: ConvLayers = ()

    n_epochs = 1
    normalize_advantages = False

    @abstractmethod
    def _objective(self, net) -> AbstractActorCriticObjective:
        """What the agent minimises, for `GradientStep`."""

    def _subtracts_baseline(self) -> bool:
        return True

    def _clip_range(self):
        return float("inf")

    def _batch_size(self, n_envs):
        return self.horizon * n_envs

    def _make_learner(self, n_envs, rng, device):
        return ActorCriticLearner(self, n_envs, rng, device)

    def _greedy(self, X, mask):
        net = self.net_
        X = self._read_image(X)
        if net.memory is not None:
            X = self._read_memory(X)
        F = numpy_forward(numpy_layers(net.policy), self.activation, X)
        return net.head.best(F, mask)

    @torch.no_grad()
    def _read_image(self, X):
        """Outputs of the convolutions, or the rows themselves."""
        if self.net_.features is None:
            return X
        return self.net_.read(torch.as_tensor(X)).numpy()

    @torch.no_grad()
    def _read_memory(self, X):
        """Outputs of the memory for one observation in each environment."""
        state = self.__dict__.get("memory_state_")
        if state is None or len(state[0]) != len(X):
            state = self.net_.memory.init_state(len(X))
        H, self.memory_state_ = self.net_.memory.step(torch.as_tensor(X), state)
        return H.numpy()

    def begin(self, observation):
        """Forget the last episode; called by `rollout` when one begins."""
        self.memory_state_ = None

    def begin_batch(self, observations, first):
        """Start episodes for `gather`, where `first`."""
        state = self.__dict__.get("memory_state_")
        if state is not None and len(state[0]) == len(first):
            is_continuing = torch.as_tensor(~np.asarray(first))[:, None, None]
            self.memory_state_ = tuple(s * is_continuing for s in state)

    def _row_values(self, X):
        if self.net_.memory is not None:
            raise ValueError("with a memory the value depends on the episode so far.")
        X = self._read_image(X)
        V = numpy_forward(numpy_layers(self.net_.value), self.activation, X)[:, 0]
        return V * self.reward_scale_

    def _keep(self, learner):
        super()._keep(learner)
        self.reward_scale_ = 1.0
        if self.normalize_rewards:
            self.reward_scale_ = learner.return_scale.scale
        self.memory_state_ = None
