"""The net of actor-critic agents: a policy and a value function.

What is minimised stands with each algorithm (`ppo`, `a2c`). Every one of these
objectives is a sum over a batch of steps with actions a, advantages A, log q(a) under
the policy q that acted, and targets G of the values; its gradient is that of

    J = sum_i c_i log p(a_i) + e H_i + u_i V_i                                  (1)

where H is the entropy of the policy p, V the value, and c_i, e and u_i are the
derivatives of the objective in log p(a_i), H_i and V_i, held fixed. With `action_heads`
and `MLP.backward_pass` that needs no autograd (`ActorCriticNet.backward_pass`); on
small nets whole passes over the batch are one compiled call (`CompiledEpochs`). Tests
compare the three.

With `features`, convolutions read images before both nets (`conv_features`). With
`memory`, a recurrent layer reads the observations of each environment in order,
its state set to 0 where an episode begins, and both nets see its output; such nets are
trained by autograd, with a memory on whole sequences.

Shapes    X (n, d), or (N, T, d) with memory   F (n, m)   V, A, G, log q (n,)
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...nn.nets.compiled_mlp import (
    LayerTable,
    adam_arrays,
    layer_table,
    total_units,
    widest_layer,
)
from . import _actor_critic_net as loops
from ._actor_critic_net import ActorRows
from .action_heads import ActionProbabilities


class ActorBatch(NamedTuple):
    """Steps of an objective; with memory all but `state` have the axes (N, T)."""

    X: Tensor
    action: Tensor
    mask: Tensor | None
    log_q: Tensor
    advantage: Tensor
    target: Tensor
    first: Tensor | None = None  # whether an episode begins, with memory
    valid: Tensor | None = None  # with memory, False where a step only reset
    state: tuple | None = None  # of the memory before the first step

    def rows(self, cut) -> "ActorBatch":
        """The rows (environments, with memory) of a slice or index."""
        state = None if self.state is None else tuple(s[cut] for s in self.state)
        picked = [None if a is None else a[cut] for a in self[:-1]]
        return ActorBatch(*picked)._replace(state=state)


class EvaluatedSteps(NamedTuple):
    """What the nets say of a batch, and what `backward_pass` needs."""

    probabilities: ActionProbabilities  # of the actions, under the present policy
    value: Tensor  # (n,)
    H_policy: list  # outputs of the layers of the policy
    H_value: list  # outputs of the layers of the value


class ActorCriticNet(nn.Module):
    """Policy and value nets, and the numbers of their objective.

    Parameters
    ----------
    policy, value : MLP
    head : CategoricalHead or NormalHead
    memory : RecurrentLayer or None
        Read before both.
    features : ConvFeatures or None
        Read before all.
    clip_range : float
        eps of eq. (1) of `ppo`; infinite for no clipping.
    entropy_weight, value_weight : float
        h and v of the objective.
    """

    def __init__(
        self, policy, value, head, memory=None, features=None, *,
        clip_range=float("inf"), entropy_weight=0.0, value_weight=0.5,
    ):  # fmt: skip
        super().__init__()
        self.policy, self.value = policy, value
        self.head = head
        self.memory: Any = memory
        self.features: Any = features
        free = torch.zeros(head.n_free)
        self.free: Any = nn.Parameter(free) if head.n_free else None  # log s
        self.clip_range = float(clip_range)
        self.entropy_weight = float(entropy_weight)
        self.value_weight = float(value_weight)

    @property
    def has_manual_gradients(self) -> bool:
        return self.memory is None and self.features is None

    def flops(self, n: int) -> float:
        """Operations of a step on n rows."""
        parts = (self.policy, self.value, self.memory, self.features)
        return sum(part.flops(n) for part in parts if part is not None)

    def read(self, X: Tensor) -> Tensor:
        """Features of rows (..., d) by the convolutions; rows as they are without."""
        if self.features is None:
            return X
        flat = self.features(X.reshape(-1, X.shape[-1]))
        return flat.view(*X.shape[:-1], flat.shape[1])

    def evaluate(self, batch: ActorBatch) -> tuple[ActionProbabilities, Tensor]:
        """log p(a), H and V (n,) of a batch of rows, for autograd."""
        F = self.policy(batch.X)
        V = self.value(batch.X)[:, 0]
        return self.head.evaluate(F, batch.action, batch.mask, self.free), V

    def forward_pass(self, batch: ActorBatch) -> EvaluatedSteps:
        """`evaluate` without autograd, for `backward_pass`."""
        H_policy = self.policy.forward_pass(batch.X)
        H_value = self.value.forward_pass(batch.X)
        evaluated = self.head.evaluate(
            H_policy[-1], batch.action, batch.mask, self.free
        )
        return EvaluatedSteps(evaluated, H_value[-1][:, 0], H_policy, H_value)

    def backward_pass(self, steps: EvaluatedSteps, c, e, u) -> None:
        """Put the gradient of eq. (1) into `.grad`, for c and u (n,) and a number e."""
        D, slope = self.head.gradient(steps.probabilities, c, e)
        self.policy.backward_pass(steps.H_policy, D)
        if slope is not None:
            self.free.grad.copy_(slope)
        self.value.backward_pass(steps.H_value, u[:, None])

    # -- memory ----------------------------------------------------------------

    def flat_batch(self, batch: ActorBatch) -> ActorBatch:
        """A batch of sequences as one of rows, memory and images read."""
        if self.memory is None:
            return batch._replace(X=self.read(batch.X))
        H, _ = self.read_sequences(self.read(batch.X), batch.first, batch.state)
        flat = lambda a: None if a is None else a.flatten(0, 1)
        rest = (batch.action, batch.mask, batch.log_q, batch.advantage, batch.target)
        rows = ActorBatch(H.flatten(0, 1), *(flat(a) for a in rest))
        if batch.valid is None:
            return rows
        return rows.rows(batch.valid.flatten())

    def read_sequences(self, X, first, state):
        """Outputs (N, T, h) of the memory, set to 0 where episodes begin."""
        outputs = []
        for t in range(X.shape[1]):
            h, state = self.remember(X[:, t], first[:, t], state)
            outputs.append(h)
        return torch.stack(outputs, 1), state

    def remember(self, x, first, state):
        """One step of the memory: (N, h) and the state after it."""
        is_continuing = (~first).to(x.dtype)[:, None, None]
        return self.memory.step(x, tuple(s * is_continuing for s in state))


class AbstractActorCriticObjective(nn.Module):
    """What an algorithm minimises, as `GradientStep` takes it.

    Parameters
    ----------
    net : ActorCriticNet
    """

    def __init__(self, net: ActorCriticNet):
        super().__init__()
        self.net = net

    @property
    def has_manual_gradients(self) -> bool:
        """Whether `gradients` can be used: not with a memory or convolutions."""
        return self.net.has_manual_gradients

    @abstractmethod
    def losses(self, batch: ActorBatch) -> dict[str, Tensor]:
        """The terms of the objective, for autograd."""

    @abstractmethod
    def gradients(self, batch: ActorBatch) -> dict[str, Tensor]:
        """The terms, with their gradient put into `.grad`; under `no_grad`."""


class ActorCriticTables(NamedTuple):
    """Positions of both nets, and of log s, in the flat vector."""

    policy: LayerTable
    value: LayerTable
    free: int


class EpochOptions(NamedTuple):
    """Numbers of the compiled passes."""

    sizes: np.ndarray  # values of each discrete part
    continuous: bool
    clip_range: float
    entropy_weight: float
    value_weight: float
    standardise: bool
    learning_rate: float


class ActorWorkspace(NamedTuple):
    """Scratch buffers of the compiled passes."""

    rows: ActorRows  # of one gradient step
    H: np.ndarray  # (n, all units of the larger net), flat
    D: np.ndarray  # (n, widest layer), flat
    spare: np.ndarray  # the same


class CompiledEpochs:
    """Passes of a small net without memory over a batch, one compiled call each.

    The objective is that of `ppo`, which for an infinite `clip_range` is that of `a2c`.

    Parameters
    ----------
    net : ActorCriticNet
    pack : ParameterPack
        Of all its parameters, moved by Adam.
    clip : float or None
        Longest gradient.
    standardise : bool
        Whether advantages have mean 0 and deviation 1 in each gradient step.
    """

    def __init__(self, net, pack, *, clip=None, standardise=False):
        flat = pack.flat.w
        self.adam = adam_arrays(pack, clip)
        self.learning_rate = float(pack.rule.lr)
        free = 0
        if net.free is not None:
            free = (net.free.data_ptr() - flat.data_ptr()) // flat.element_size()
        policy, value = (layer_table(mlp, flat) for mlp in (net.policy, net.value))
        self.tables = ActorCriticTables(policy, value, free)
        sizes = getattr(net.head, "sizes", ())
        self.options = EpochOptions(
            np.array(sizes, np.int64),
            net.free is not None,
            net.clip_range,
            net.entropy_weight,
            net.value_weight,
            bool(standardise),
            self.learning_rate,
        )
        self.work = None
        self.held = 0  # rows for which there is a workspace

    def rows_of(self, batch: ActorBatch) -> ActorRows:
        """A batch without memory as arrays."""
        n = len(batch.X)
        discrete = not self.options.continuous
        action = batch.action.numpy()
        return ActorRows(
            np.ascontiguousarray(batch.X.numpy()),
            action if discrete else np.zeros((n, 0), np.int64),
            np.zeros((n, 0), np.float32) if discrete else action,
            np.zeros((n, 0), bool) if batch.mask is None else batch.mask.numpy(),
            batch.log_q.numpy(),
            batch.advantage.numpy(),
            batch.target.numpy(),
        )

    def _workspace(self, rows, n) -> ActorWorkspace:
        if self.work is None or n > self.held:
            widest = n * widest_layer(self.tables.policy, self.tables.value)
            units = max(map(total_units, (self.tables.policy, self.tables.value)))
            buffer = lambda size: np.zeros(size, np.float32)
            batch_rows = ActorRows(
                *(np.empty((n, *a.shape[1:]), a.dtype) for a in rows)
            )
            self.work = ActorWorkspace(
                batch_rows, buffer(n * units), buffer(widest), buffer(widest)
            )
            self.held = n
        return self.work

    def run(self, rows: ActorRows, order, cuts, scale) -> dict[str, float]:
        """One pass in this order, cut into gradient steps: the mean of each loss."""
        options = self.options._replace(learning_rate=self.learning_rate * scale)
        work = self._workspace(rows, int(np.diff(cuts).max()))
        totals = np.zeros(3)
        loops.actor_critic_epoch(
            self.adam, self.tables, rows, order, cuts, options, work, totals
        )
        return dict(zip(("policy", "entropy", "value"), totals / len(order)))
