"""The net of deep Q-learning: action values, or the distribution of returns.

The outputs F of an MLP are K numbers for each of A actions. With duelling, one more
block v of K numbers is the value of the state, and the scores of action a are

    f_a = v + u_a - mean_b u_b                                                  (1)

What the K numbers of an action mean, the value Q, and the loss against a target y:

    value         K = 1, Q = f;   l = huber(f - y)                              (2)
    categorical   p = softmax(f) on fixed returns z_1 < ... < z_K, Q = p'z;
                  l = -sum_k m_k log p_k, m being the target's distribution,
                  each of its returns shared out to the two nearest z            (3)
    quantile      f_j is the quantile (2j - 1) / 2K of the return, Q = mean f;
                  l = sum_j mean_k |(2j - 1) / 2K - [u_jk < 0]| huber(u_jk),
                  u_jk = y_k - f_j, y_k the target's quantiles                   (4)

huber(u) = u^2 / 2 for |u| <= 1, |u| - 1/2 beyond. Gradients in F are short formulas, so
`gradients` needs no autograd: dl/df is clip(f - y) in (2), p - m in (3) and -mean_k |.|
clip(u_jk) in (4), for the action taken; (1) is linear. Small nets of the kind "value"
take whole steps, targets included, in compiled calls (`CompiledQSteps`). With
`features`, convolutions read images before the MLP (`conv_features`), and gradients are
autograd's.

Shapes    X (n, d)   F (n, A K), or (n, (A + 1) K)   f (n, K)   weights (n,)
Refs      [Mnih2015]; [Wang2016] (1); [Bellemare2017] (3); [Dabney2018] (4)
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...nn.nets.compiled_mlp import adam_arrays, layer_table, total_units, widest_layer
from . import _q_net as loops

KINDS = ("value", "categorical", "quantile")
VALUED_AT_ONCE = 256  # rows that the target net is applied to, or a batch if larger
MOST_KEPT = 1 << 24  # values by the target net


class QBatch(NamedTuple):
    """Rows for `losses`."""

    X: Tensor
    action: Tensor  # (n,)
    target: Tensor  # (n, K): y, m or quantiles
    weight: Tensor  # (n,)


class QNet(nn.Module):
    """Scores of actions made of an MLP, with the losses (2) to (4).

    Parameters
    ----------
    mlp : MLP
        With (A + duelling) K outputs.
    n_actions : int
    kind : {"value", "categorical", "quantile"}
    atoms : array of shape (K,)
        z of eq. (3); its length is K in the others.
    duelling : bool
    features : ConvFeatures or None
    """

    atoms: Tensor

    def __init__(
        self, mlp, n_actions, kind="value", atoms=(0.0,), duelling=False, features=None
    ):
        super().__init__()
        self.mlp = mlp
        self.features: Any = features
        self.n_actions = int(n_actions)
        self.kind = kind
        self.duelling = bool(duelling)
        self.register_buffer("atoms", torch.as_tensor(atoms, dtype=torch.float32))
        self.n_atoms = len(self.atoms)
        self.errors = torch.zeros(0)  # size of the last batch's errors

    @property
    def has_manual_gradients(self) -> bool:
        return self.features is None

    def flops(self, n: int) -> float:
        mlp_flops = self.mlp.flops(n)
        return (
            mlp_flops if self.features is None else mlp_flops + self.features.flops(n)
        )

    def combine(self, F: Tensor) -> Tensor:
        """Scores (n, A, K), eq. (1)."""
        F = F.view(F.shape[0], -1, self.n_atoms)
        if not self.duelling:
            return F
        u = F[:, 1:]
        return F[:, :1] + u - u.mean(1, keepdim=True)

    def combine_backward(self, D: Tensor) -> Tensor:
        """dl/dF from dl/df of all actions, (n, A, K)."""
        if self.duelling:
            D = torch.cat([D.sum(1, keepdim=True), D - D.mean(1, keepdim=True)], 1)
        return D.flatten(1)

    def forward(self, X: Tensor) -> Tensor:
        """Scores (n, A, K)."""
        return self.combine(self.mlp(X if self.features is None else self.features(X)))

    def q_values(self, f: Tensor) -> Tensor:
        """Q (n, A) of scores (n, A, K)."""
        if self.kind == "value":
            return f[..., 0]
        if self.kind == "quantile":
            return f.mean(-1)
        return f.softmax(-1) @ self.atoms

    def row_losses(self, f, target) -> tuple[Tensor, Tensor]:
        """l and dl/df of the scores (n, K) of the actions taken."""
        if self.kind == "value":
            u = f - target
            slope = u.clamp(-1.0, 1.0)
            return (slope * (u - 0.5 * slope))[:, 0], slope
        if self.kind == "categorical":
            L = torch.log_softmax(f, 1)
            return -(target * L).sum(1), L.exp() - target
        K = self.n_atoms
        levels = (torch.arange(K, device=f.device) + 0.5) / K
        u = target[:, None, :] - f[:, :, None]
        share = (levels[None, :, None] - (u < 0).to(f.dtype)).abs()
        slope = u.clamp(-1.0, 1.0)
        loss = (share * slope * (u - 0.5 * slope)).mean(2).sum(1)
        return loss, -(share * slope).mean(2)

    def losses(self, batch: QBatch) -> dict[str, Tensor]:
        """Weighted mean of l by autograd."""
        f = self.taken(self.forward(batch.X), batch.action)
        with torch.no_grad():
            self.errors = self.error_sizes(f, batch.target)
        if self.kind == "value":
            rows = functional.smooth_l1_loss(f, batch.target, reduction="none")[:, 0]
        else:
            rows = self.row_losses(f, batch.target)[0]
        return {"q": (batch.weight * rows).mean()}

    def error_sizes(self, f, target, rows=None) -> Tensor:
        """|f - y|, or the losses of rows where there is a distribution."""
        if self.kind == "value":
            return (f - target)[:, 0].abs()
        return self.row_losses(f, target)[0] if rows is None else rows

    def taken(self, scores, action):
        """Scores (n, K) of the actions taken."""
        atom_index = action[:, None, None].expand(-1, 1, self.n_atoms)
        return scores.gather(1, atom_index)[:, 0]

    def gradients(self, batch: QBatch) -> dict[str, Tensor]:
        """Losses with the gradient put into `.grad`; under `no_grad`."""
        H = self.mlp.forward_pass(batch.X)
        scores = self.combine(H[-1])
        f = self.taken(scores, batch.action)
        rows, slope = self.row_losses(f, batch.target)
        n = len(rows)
        self.errors = self.error_sizes(f, batch.target, rows)
        slope = slope * (batch.weight / n)[:, None]
        D = torch.zeros_like(scores)
        atom_index = batch.action[:, None, None].expand(-1, 1, self.n_atoms)
        D.scatter_(1, atom_index, slope[:, None])
        self.mlp.backward_pass(H, self.combine_backward(D))
        return {"q": torch.dot(batch.weight, rows) / n}


class QRows(NamedTuple):
    """Rows of replayed batches, one after the other, for the compiled steps."""

    X: np.ndarray  # (m, d)
    action: np.ndarray  # (m,) from 0
    reward: np.ndarray  # (m,)
    after: np.ndarray  # (m, d)
    discount: np.ndarray  # (m,)
    after_mask: np.ndarray  # (m, A), or (m, 0)
    weight: np.ndarray  # (m,)
    place: np.ndarray  # (m,) equal only where `after` is


class QStepOptions(NamedTuple):
    """Numbers of the compiled steps."""

    n_rows: int  # of a batch
    frozen: bool  # whether steps leave the target net as it is
    duelling: bool
    double: bool
    learning_rate: float


class TargetCache(NamedTuple):
    """Values by the target net, by the place of the step in the replay buffer."""

    Q: np.ndarray  # (places, A)
    version: np.ndarray  # (places,) of the target net that gave them
    clock: np.ndarray  # (1,) its version now


class QWorkspace(NamedTuple):
    """Scratch buffers of the compiled steps for batches of n rows."""

    H: np.ndarray  # (r, all units), flat, r rows being valued at once
    D: np.ndarray  # (n, widest layer), flat
    spare: np.ndarray  # the same
    f: np.ndarray  # (A,)
    best: np.ndarray  # (n,) actions
    y: np.ndarray  # (n,)
    after: np.ndarray  # (r, d)
    place: np.ndarray  # (r,)


class CompiledQSteps:
    """Steps of a small `QNet` of the kind "value", many in one compiled call.

    A step is often drawn again before the target net changes: its value after the step
    is kept by its place in the replay buffer. The owner says when values are out of
    date (`forget_values`).

    Parameters
    ----------
    net : QNet
    pack : ParameterPack
        Of all its parameters, moved by Adam.
    older : array or None
        The target net's weights in the order of the pack; None: the net's own.
    n_rows : int
        Rows of every batch.
    n_places : int
        Places of the replay buffer.
    double : bool
        Whether the net chooses the actions that `older` values.
    clip : float or None
        Longest gradient.
    """

    def __init__(self, net, pack, older, n_rows, *, n_places, double, clip=None):
        self.adam = adam_arrays(pack, clip)
        self.layers = layer_table(net.mlp, pack.flat.w)
        self.older = self.adam.w if older is None else older
        double = bool(double) and older is not None
        self.options = QStepOptions(
            n_rows, older is not None, net.duelling, double, float(pack.rule.lr)
        )
        d = int(self.layers.sizes[0])
        A = net.n_actions
        self.n_places = n_places
        self.keeps_values = older is not None and n_places * A <= MOST_KEPT
        self.cache = self._new_cache(n_places if self.keeps_values else 0, A)
        number = lambda *shape: np.zeros(shape, np.float32)
        zero_integers = lambda size: np.zeros(size, np.int64)
        widest = n_rows * widest_layer(self.layers)
        r = max(VALUED_AT_ONCE, n_rows)
        self.work = QWorkspace(
            number(r * total_units(self.layers)),
            number(widest),
            number(widest),
            number(A),
            zero_integers(n_rows),
            number(n_rows),
            number(r, d),
            zero_integers(r),
        )
        self.spare = number(2, widest_layer(self.layers))
        self.scores = number(int(self.layers.sizes[-1]))
        self.loss_sum = 0.0
        self.n_steps = 0

    def _new_cache(self, n_places, A):
        return TargetCache(
            np.zeros((n_places, A), np.float32),
            np.zeros(n_places, np.int64),
            np.ones(1, np.int64),
        )

    def forget_values(self, places=None) -> None:
        """Values after the steps at these places, or after all, are out of date."""
        if places is None:
            self.cache.clock[0] += 1
        elif self.keeps_values:
            self.cache.version[places] = 0

    def __call__(self, rows: QRows, scale=1.0) -> np.ndarray:
        """A step at `scale` times the rate for each batch among the rows, in order.

        Returns the sizes of the errors, of each row before the step of its batch.
        """
        options = self.options
        m = len(rows.X)
        if scale != 1.0:
            options = options._replace(learning_rate=options.learning_rate * scale)
        if not self.keeps_values:
            rows = rows._replace(place=np.arange(m))
            self.forget_values()
            if m > len(self.cache.Q):
                self.cache = self._new_cache(m, len(self.work.f))
        error = np.empty(m, np.float32)
        self.loss_sum += loops.q_learning_updates(
            self.older, self.adam, self.layers, options, rows, self.cache, self.work,
            error,
        )  # fmt: skip
        self.n_steps += m // options.n_rows
        return error

    def q_values(self, X) -> np.ndarray:
        """Q (n, A) by the net as it is now, for a few rows."""
        X = np.ascontiguousarray(X, np.float32)
        Q = np.empty((len(X), len(self.work.f)), np.float32)
        loops.q_values_of_rows(
            self.adam.w, self.layers, self.options.duelling, X, self.spare, self.scores,
            Q,
        )  # fmt: skip
        return Q

    def mean_loss(self) -> float:
        """Mean loss of the steps since the last call."""
        mean = self.loss_sum / max(self.n_steps, 1)
        self.loss_sum = 0.0
        self.n_steps = 0
        return mean


def project_distribution(p, z, reward, discount) -> Tensor:
    """The distribution of reward + discount * z on the atoms z themselves, eq. (3).

    Parameters
    ----------
    p : tensor of shape (n, K)
        Probabilities of the atoms after the step.
    z : tensor of shape (K,), evenly spaced
    reward, discount : tensors of shape (n,)

    Examples
    --------
    >>> import torch
    >>> from pansophy.rl.deep.q_net import project_distribution
    >>> p = torch.tensor([[0.0, 0.0, 1.0]])
    >>> z = torch.tensor([0.0, 1.0, 2.0])
    >>> project_distribution(p, z, torch.tensor([0.5]), torch.tensor([0.5]))
    tensor([[0.0000, 0.5000, 0.5000]])
    """
    K = len(z)
    returns = (reward[:, None] + discount[:, None] * z).clamp(z[0], z[-1])
    place = (returns - z[0]) / (z[1] - z[0])
    low = place.floor().clamp(0, K - 1)
    upper_share = place - low
    high = (low + 1).clamp(max=K - 1).long()
    m = torch.zeros_like(p)
    m.scatter_add_(1, low.long(), p * (1 - upper_share))
    m.scatter_add_(1, high, p * upper_share)
    return m
