"""Output of a conditional random field: labels of a sequence that depend on each other.

With scores F_t(l) of a net and transitions T,

    log P(y | x) = sum_t F_t(y_t) + sum_t T(y_t-1, y_t) - log Z(x)                (1)

The gradient of log Z in F is the posterior of each label, and in T the expected number
of each pair of labels; both come from the compiled recursions of
`core.chains.filtering`, as in `graphical.ChainCRF` and hidden Markov models, and not
from autograd. The most probable labels are the Viterbi path.

Cost      O(n T k^2)
Shapes    F (n, T, k)   y (n, T)   T (k, k)   lengths (n,)
Refs      [Lafferty2001]; [Huang2015] on recurrent nets
"""

import numpy as np
import torch
from torch import Tensor, nn

from ...core.chains.filtering import (
    Chain,
    Evidence,
    expected_counts,
    smooth_chain,
    viterbi,
)
from ..layers.recurrent import step_mask
from .heads import positive_total


def chain_evidence(F: np.ndarray, T: np.ndarray, ends) -> tuple[Chain, Evidence]:
    """The chain of exp T and the evidence F of sequences that stand end to end.

    Transitions are scaled by their largest, which moves log Z and nothing else.
    """
    chain = Chain(np.ones(len(T)), np.exp(T - T.max()))
    return chain, Evidence(np.ascontiguousarray(F, dtype=float), None, np.asarray(ends))


class LogPartition(torch.autograd.Function):
    """sum_i w_i log Z_i of sequences end to end, with its gradients in F and T."""

    @staticmethod
    def forward(ctx, F, T, lengths, w):
        scores, transitions = (a.detach().cpu().double().numpy() for a in (F, T))
        n_steps = lengths.cpu().numpy()
        total = 0.0
        dF = np.zeros_like(scores)
        dT = np.zeros_like(transitions)
        weights = (
            np.ones(len(n_steps)) if w is None else w.detach().cpu().double().numpy()
        )
        for value in np.unique(weights):  # statistics are summed over sequences
            kept = weights == value
            rows = np.repeat(kept, n_steps)
            chain, evidence = chain_evidence(
                scores[rows], transitions, np.cumsum(n_steps[kept])
            )
            result = expected_counts(chain, evidence)
            shift = transitions.max() * (n_steps[kept] - 1).sum()
            total += value * (result.loglik + shift)
            dF[rows] = value * result.counts
            dT += value * result.trans
        ctx.save_for_backward(torch.from_numpy(dF).to(F), torch.from_numpy(dT).to(T))
        return F.new_tensor(total)

    @staticmethod
    def backward(ctx, grad):
        dF, dT = ctx.saved_tensors
        return grad * dF, grad * dT, None, None


class ChainOutput(nn.Module):
    """Transitions between labels, eq. (1): a loss, and the best labels.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn.nets.crf_output import ChainOutput
    >>> chain, F = ChainOutput(2), torch.tensor([[[0.0, 1.0], [2.0, 0.0]]])
    >>> chain.best_labels(F, torch.tensor([2]))
    array([1, 0])
    """

    def __init__(self, k):
        super().__init__()
        self.T = nn.Parameter(torch.zeros(k, k))

    def loss(self, F: Tensor, Y: Tensor, lengths: Tensor, w: Tensor | None = None):
        """-log P of eq. (1) per step, weighted by sequence."""
        is_step = step_mask(lengths, F.shape[1])
        seq_w = torch.ones_like(lengths, dtype=F.dtype) if w is None else w
        step_w = seq_w[:, None].expand_as(is_step)
        emitted = F.gather(2, Y.clamp_min(0)[:, :, None])[:, :, 0]
        paired = self.T[Y[:, :-1], Y[:, 1:]]
        score = (step_w * emitted)[is_step].sum()
        score = score + (step_w[:, 1:] * paired)[is_step[:, 1:]].sum()
        log_z = LogPartition.apply(F[is_step], self.T, lengths, w)
        return (log_z - score) / positive_total((seq_w * lengths).sum())

    @torch.no_grad()
    def best_labels(self, F: Tensor, lengths: Tensor) -> np.ndarray:
        """Most probable labels of all steps, end to end."""
        return viterbi(*self._chain(F, lengths))[0]

    @torch.no_grad()
    def marginals(self, F: Tensor, lengths: Tensor) -> np.ndarray:
        """Posterior of each label at all steps, end to end, (steps, k)."""
        return smooth_chain(*self._chain(F, lengths))[0]

    def _chain(self, F, lengths):
        rows = F[step_mask(lengths, F.shape[1])].cpu().double().numpy()
        T = self.T.detach().cpu().double().numpy()
        return chain_evidence(rows, T, np.cumsum(lengths.cpu().numpy()))
