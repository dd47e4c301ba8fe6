"""Output heads: the link from raw scores to predictions, with its canonical loss.

Each head but the last pairs a link with the loss for which it is canonical, so that the
gradient in the scores is prediction minus target,

    dl/dF = mean(F) - Y                                                         (1)

    identity  mean = F            l = |F - Y|^2 / 2
    logistic  mean = 1/(1+e^-F)   l = sum_k log(1 + e^F_k) - Y_k F_k
    softmax   mean_k ~ e^F_k      l = -sum_k Y_k log mean_k
    exp       mean = e^F          l = sum_k e^F_k - Y_k F_k + (Y_k log Y_k - Y_k)
    gaussian  mean = m            l = sum_k [(Y_k - m_k)^2 e^-s_k + s_k] / 2

F of the last has the columns of the mean m and then those of the log variance s.
Several nets give the scores F_1, ..., F_M of a row; their mixture has the mean of their
predictions, and for gaussian the variance mean_i e^s_i + var_i m_i (`mixture_scores`).

`logistic` treats every column as a yes/no question of its own: one column is two
classes, several are labels. `softmax` takes rows of probabilities or class numbers.
The array-namespace definitions of the same losses are in `pansophy.losses`; these
call torch's fused operations.

Shapes    F (n, k), or (n, 2k) for gaussian   Y (n, k), or (n,) class numbers   l (n,)
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Head(NamedTuple):
    """Predictions, the loss of each row, and the loss with its gradient."""

    name: str
    mean: Callable[[Tensor], Tensor]  # F -> predictions
    value: Callable[[Tensor, Tensor], Tensor]  # Y, F -> l
    value_and_gradient: Callable[
        [Tensor, Tensor], tuple[Tensor, Tensor]
    ]  # Y, F -> l, dl/dF


def _target_like_output(Y: Tensor, F: Tensor) -> Tensor:
    """Y (n, k) as the predictions F; a vector is one column.

    Without it, (n,) - (n, 1) would silently be an n x n matrix.
    """
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.shape != F.shape:
        raise ValueError(
            f"the target has the shape {tuple(Y.shape)}, but the net gives "
            f"{tuple(F.shape)}."
        )
    return Y


def _squared_error_rows(Y, F):
    return (F - _target_like_output(Y, F)).square().sum(1) / 2


def _squared_error_with_gradient(Y, F):
    D = F - _target_like_output(Y, F)
    return D.square().sum(1).div_(2), D


def _binary_cross_entropy_rows(Y, F):
    Y = _target_like_output(Y, F)
    value = functional.binary_cross_entropy_with_logits(F, Y, reduction="none")
    return value.sum(1)


def _cross_entropy_rows(Y, F):
    return functional.cross_entropy(F, Y, reduction="none")


def _cross_entropy_with_gradient(Y, F):
    """log sum exp less the label's score; torch's own is slow on short rows."""
    F = F - F.amax(1, keepdim=True)
    P = F.exp()
    total = P.sum(1, keepdim=True)
    P.div_(total)
    if Y.ndim == 2:
        return total.log_().sub_((Y * F).sum(1, keepdim=True))[:, 0], P.sub_(Y)
    rows = Y[:, None]
    value = total.log_().sub_(F.gather(1, rows))
    P.scatter_(1, rows, value.neg().expm1_())  # P_y - 1 = e^-l - 1
    return value[:, 0], P


def _poisson_deviance_rows(Y, F):
    Y = _target_like_output(Y, F)
    return (torch.exp(F) - Y * F + torch.xlogy(Y, Y) - Y).sum(1)


def _gaussian_rows(Y, F):
    """-log N(y; m, e^s) less a constant, F being the columns of m and then of s."""
    m, s = F.chunk(2, 1)
    Y = _target_like_output(Y, m)
    return ((Y - m).square() * torch.exp(-s) + s).sum(1) / 2


def _gaussian_with_gradient(Y, F):
    """dl/dm = (m - y) e^-s, dl/ds = (1 - (y - m)^2 e^-s) / 2."""
    m, s = F.chunk(2, 1)
    Y = _target_like_output(Y, m)
    precision = torch.exp(-s)
    scaled = (m - Y) * precision
    square = scaled * (m - Y)
    return (square + s).sum(1) / 2, torch.cat([scaled, (1 - square) / 2], 1)


def _with_residual_gradient(mean, value):
    """`pair` from its two parts, eq. (1)."""
    return lambda Y, F: (value(Y, F), mean(F).sub_(_target_like_output(Y, F)))


HEADS = {
    h.name: h
    for h in (
        Head(
            "identity", torch.clone, _squared_error_rows, _squared_error_with_gradient
        ),
        Head(
            "logistic",
            torch.sigmoid,
            _binary_cross_entropy_rows,
            _with_residual_gradient(torch.sigmoid, _binary_cross_entropy_rows),
        ),
        Head(
            "softmax",
            lambda F: F.softmax(1),
            _cross_entropy_rows,
            _cross_entropy_with_gradient,
        ),
        Head(
            "exp",
            torch.exp,
            _poisson_deviance_rows,
            _with_residual_gradient(torch.exp, _poisson_deviance_rows),
        ),
        Head(
            "gaussian",
            lambda F: F.chunk(2, 1)[0].clone(),
            _gaussian_rows,
            _gaussian_with_gradient,
        ),
    )
}


def _log_mean_exp(F: Tensor) -> Tensor:
    """log mean_i e^F_i over axis 1."""
    return F.logsumexp(1) - math.log(F.shape[1])


def _gaussian_mixture_scores(F: Tensor) -> Tensor:
    """Mean and log variance of Normals of equal chance."""
    m, s = F.chunk(2, 2)
    variance = s.exp().mean(1) + m.var(1, correction=0)
    return torch.cat([m.mean(1), variance.log()], 1)


MIXTURES = {
    "identity": lambda F: F.mean(1),
    "logistic": lambda F: (
        _log_mean_exp(functional.logsigmoid(F))
        - _log_mean_exp(functional.logsigmoid(-F))
    ),
    "softmax": lambda F: _log_mean_exp(F.log_softmax(2)),
    "exp": _log_mean_exp,
    "gaussian": _gaussian_mixture_scores,
}


def mixture_scores(head: str, F: Tensor) -> Tensor:
    """Scores (n, k) of the mixture of M nets with the scores F (n, M, k).

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn.nets.heads import mixture_scores
    >>> F = torch.tensor([[[0.0, 0.0], [2.0, 0.0]]])
    >>> p = mixture_scores("softmax", F).softmax(1)
    >>> torch.allclose(p, F.softmax(2).mean(1))
    True
    """
    return MIXTURES[head](F)


def weighted_mean_loss(head: Head, Y: Tensor, F: Tensor, w: Tensor | None = None):
    """sum_i w_i l(y_i, f_i) / sum_i w_i; the mean without weights."""
    value = head.value(Y, F)
    if w is None:
        return value.sum() / len(value)
    return w @ value / positive_total(w.sum())


def positive_total(total: Tensor) -> Tensor:
    """A divisor for a batch whose weights may all be 0."""
    return torch.where(total > 0, total, torch.ones_like(total))
