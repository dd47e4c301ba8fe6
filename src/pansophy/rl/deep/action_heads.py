"""Action heads: distributions of actions made of the outputs F of a policy net.

A head draws actions, gives log p(a) and the entropy H of each row, and how both change
with F, so that any objective

    J = sum_i c_i log p(a_i) + e_i H_i                                          (1)

has its gradient dJ/dF without automatic differentiation.

    categorical   p = softmax(F); parts of several discrete actions are independent,
                  so log p and H add up over the blocks of F
                  dlog p(a)/dF = 1_a - p,  dH/dF = -p (log p + H)               (2)
    normal        a = m + s z, m = F, log s a free parameter
                  dlog p/dm = (a - m) / s^2,  dlog p/dlog s = (a-m)^2/s^2 - 1   (3)
    squashed      a = tanh(u), u normal with F = (m, log s) of each row
                  log p(a) = log p(u) - sum log(1 - tanh(u)^2)                  (4)

Actions that a mask forbids have probability exactly 0, in the entropy too. A normal
action is stored as it was drawn; only what the environment receives is cut to its
bounds, so log p belongs to the draw. In (4) log(1 - tanh(u)^2) is computed as
2 (log 2 - u - softplus(-2u)), which neither over- nor underflows.

Shapes    F (n, m)   a (n, parts)   mask (n, m)   log p, H, c, e (n,)
Refs      [Haarnoja2018] eq. (4)
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

FORBIDDEN = -1e9  # score of a masked action: e^-1e9 is 0
HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
LOG_STD_RANGE = (-20.0, 2.0)


class ActionProbabilities(NamedTuple):
    """log p(a) and H of each row, and what the gradient of eq. (1) needs."""

    log_prob: Tensor  # (n,)
    entropy: Tensor  # (n,)
    parts: tuple


class CategoricalHead(NamedTuple):
    """Independent discrete choices with these numbers of values, eq. (2)."""

    sizes: tuple

    @property
    def n_outputs(self) -> int:
        return sum(self.sizes)

    @property
    def n_free(self) -> int:
        """Parameters beside the net."""
        return 0

    def log_softmax(self, F, mask):
        """log p of every block, side by side."""
        if mask is not None:
            F = F.masked_fill(~mask, FORBIDDEN)
        if len(self.sizes) == 1:
            return torch.log_softmax(F, 1)
        return torch.cat([torch.log_softmax(f, 1) for f in F.split(self.sizes, 1)], 1)

    def columns(self, actions):
        """Columns of F that actions (n, parts) chose."""
        if len(self.sizes) == 1:
            return actions
        first = np.cumsum(self.sizes) - self.sizes
        return actions + torch.as_tensor(first, device=actions.device)

    def evaluate(self, F, actions, mask=None, free=None) -> ActionProbabilities:
        """log p(a) and H of each row."""
        L = self.log_softmax(F, mask)
        chosen_columns = self.columns(actions)
        P = L.exp()
        PL = P * L
        log_prob = L.gather(1, chosen_columns).sum(1)
        entropy = -PL.sum(1)
        return ActionProbabilities(log_prob, entropy, (P, PL, chosen_columns))

    def gradient(self, probabilities: ActionProbabilities, c, e):
        """dJ/dF of eq. (1) for weights c (n,) and one weight e; and None."""
        P, PL, chosen_columns = probabilities.parts
        D = P * -c[:, None]
        D.scatter_add_(1, chosen_columns, c[:, None].expand(chosen_columns.shape))
        if e:
            if len(self.sizes) == 1:
                H = probabilities.entropy[:, None]
            else:
                blocks = PL.split(self.sizes, 1)
                H = torch.cat([-b.sum(1, keepdim=True).expand_as(b) for b in blocks], 1)
            D.sub_(PL.addcmul(P, H), alpha=e)
        return D, None

    def draw(self, F, rng, mask=None, free=None) -> np.ndarray:
        """Actions (n, parts) drawn from scores F, both NumPy."""
        if mask is not None:
            F = np.where(mask, F, FORBIDDEN)
        noise = -np.log(-np.log(rng.random(F.shape, dtype=np.float32) + 1e-20) + 1e-20)
        return self.best(F + noise)  # Gumbel: the largest is a draw of the softmax

    def best(self, F, mask=None) -> np.ndarray:
        """The likeliest actions."""
        if mask is not None:
            F = np.where(mask, F, FORBIDDEN)
        if len(self.sizes) == 1:
            return F.argmax(1)[:, None]
        blocks = np.split(F, np.cumsum(self.sizes)[:-1], axis=1)
        return np.stack([block.argmax(1) for block in blocks], axis=1)


class NormalHead(NamedTuple):
    """Independent normal numbers with standard deviations of their own, eq. (3)."""

    width: int

    @property
    def n_outputs(self) -> int:
        return self.width

    @property
    def n_free(self) -> int:
        return self.width

    def evaluate(self, F, actions, mask=None, free: Any = None) -> ActionProbabilities:
        """log p(a) and H of each row; `free` is log s."""
        Z = (actions - F) * torch.exp(-free)
        log_prob = -0.5 * Z.square().sum(1) - (free + HALF_LOG_TAU).sum()
        entropy = (free + HALF_LOG_TAU + 0.5).sum().expand(len(F))
        return ActionProbabilities(log_prob, entropy, (Z, free))

    def gradient(self, probabilities: ActionProbabilities, c, e):
        """dJ/dF and dJ/dlog s of eq. (1)."""
        Z, free = probabilities.parts
        D = c[:, None] * Z * torch.exp(-free)
        slope = (c[:, None] * (Z.square() - 1)).sum(0) + e * len(Z)
        return D, slope

    def draw(self, F, rng, mask=None, free=None) -> np.ndarray:
        noise = rng.standard_normal(F.shape, dtype=np.float32)
        return F + np.exp(free) * noise

    def best(self, F, mask=None) -> np.ndarray:
        return F


class SquashedNormalHead(NamedTuple):
    """tanh of normal numbers whose m and log s are both outputs of the net, eq. (4)."""

    width: int

    @property
    def n_outputs(self) -> int:
        return 2 * self.width

    def split(self, F):
        """m and log s, the latter within limits."""
        m, log_s = F.chunk(2, 1)
        return m, log_s.clamp(*LOG_STD_RANGE)

    def sample(self, F, noise) -> tuple[Tensor, Tensor]:
        """Actions in (-1, 1) and their log p, differentiable in F."""
        m, log_s = self.split(F)
        u = m + log_s.exp() * noise
        log_prob = -(0.5 * noise.square() + log_s + HALF_LOG_TAU).sum(1)
        return torch.tanh(u), log_prob - _log_slope_of_tanh(u).sum(1)

    def log_prob(self, F, u) -> Tensor:
        """log p(tanh u), eq. (4)."""
        m, log_s = self.split(F)
        z = (u - m) * torch.exp(-log_s)
        log_prob = -(0.5 * z.square() + log_s + HALF_LOG_TAU).sum(1)
        return log_prob - _log_slope_of_tanh(u).sum(1)


def _log_slope_of_tanh(u: Tensor) -> Tensor:
    """log(1 - tanh(u)^2) without cancellation."""
    return 2 * (math.log(2) - u - functional.softplus(-2 * u))
