"""The net of actor-critic agents: a policy, a value function, and their loss.

For a batch of steps with actions a, advantages A, log-probabilities log q under the
policy that acted, and targets G of the values,

    r_i = p(a_i) / q(a_i)
    J = -mean min(r_i A_i, clip(r_i, 1 - eps, 1 + eps) A_i)
        - h mean H_i + v mean (V_i - G_i)^2                                     (1)

where H is the entropy of the policy, so that h > 0 rewards exploration. With eps
infinite and p = q, dJ/dF is the plain policy gradient -A dlog p: A2C and REINFORCE are
one step along it, PPO takes several along (1). The gradient of the first part is that
of sum_i c_i log p(a_i) with

    c_i = -r_i A_i / n, or 0 where the clipped branch is the smaller            (2)

which with `action_heads` and `MLP.backward_pass` needs no autograd (`gradients`); on
small nets whole passes over the batch are one compiled call (`CompiledEpochs`). Tests
compare the three.

With `features`, convolutions read images before both nets (`conv_features`). With
`memory`, a recurrent layer reads the observations of each environment in order,
its state set to 0 where an episode begins, and both nets see its output; such nets are
trained by autograd, with a memory on whole sequences.

Shapes    X (n, d), or (N, T, d) with memory   F (n, m)   V, A, G, log q (n,)
Refs      [Schulman2017] eq. (1); [Mnih2016] A2C; [Williams1992] REINFORCE
"""

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


class ActorBatch(NamedTuple):
    """Rows for `losses`; with memory all but `state` have the axes (N, T)."""

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


class ActorCriticNet(nn.Module):
    """Policy and value nets with the loss (1).

    Parameters
    ----------
    policy, value : MLP
    head : CategoricalHead or NormalHead
    memory : RecurrentLayer or None
        Read before both.
    features : ConvFeatures or None
        Read before all.
    clip_range : float
        eps of eq. (1); infinite for no clipping.
    entropy_weight, value_weight : float
        h and v.
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

    def losses(self, batch: ActorBatch) -> dict[str, Tensor]:
        """The three parts of eq. (1)."""
        batch = self.flat_batch(batch)
        F = self.policy(batch.X)
        V = self.value(batch.X)[:, 0]
        found = self.head.evaluate(F, batch.action, batch.mask, self.free)
        ratio = torch.exp(found.log_prob - batch.log_q)
        eps = self.clip_range
        gain = ratio * batch.advantage
        clipped = ratio.clamp(1 - eps, 1 + eps) * batch.advantage
        return {
            "policy": -torch.minimum(gain, clipped).mean(),
            "entropy": -self.entropy_weight * found.entropy.mean(),
            "value": self.value_weight * (V - batch.target).square().mean(),
        }

    def gradients(self, batch: ActorBatch) -> dict[str, Tensor]:
        """Losses with the gradient put into `.grad`; under `no_grad`."""
        X, action, mask, log_q, A, G, *_ = batch
        n = len(X)
        H_policy, H_value = self.policy.forward_pass(X), self.value.forward_pass(X)
        found = self.head.evaluate(H_policy[-1], action, mask, self.free)
        ratio = torch.exp(found.log_prob - log_q)
        gain = ratio * A
        if self.clip_range < float("inf"):
            eps = self.clip_range
            clipped = ratio.clamp_(1 - eps, 1 + eps).mul_(A)
            smaller = torch.minimum(gain, clipped)
            c = torch.where(gain <= clipped, gain, 0.0).div_(-n)  # (2)
        else:
            smaller = gain
            c = gain / -n
        D, slope = self.head.gradient(found, c, -self.entropy_weight / n)
        self.policy.backward_pass(H_policy, D)
        if slope is not None:
            self.free.grad.copy_(slope)
        error = H_value[-1][:, 0] - G
        self.value.backward_pass(H_value, error[:, None] * (2 * self.value_weight / n))
        return {
            "policy": smaller.mean().neg_(),
            "entropy": found.entropy.mean() * -self.entropy_weight,
            "value": torch.dot(error, error) * (self.value_weight / n),
        }

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
        keep = (~first).to(x.dtype)[:, None, None]
        return self.memory.step(x, tuple(s * keep for s in state))


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
            own = ActorRows(*(np.empty((n, *a.shape[1:]), a.dtype) for a in rows))
            self.work = ActorWorkspace(
                own, buffer(n * units), buffer(widest), buffer(widest)
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
