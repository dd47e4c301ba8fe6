"""Output heads: the link from raw scores to predictions, with its canonical loss.

Each head pairs a link with the loss for which it is canonical, so that the gradient
in the scores is always prediction minus target,

    dl/dF = mean(F) - Y                                                         (1)

    identity  mean = F            l = |F - Y|^2 / 2
    logistic  mean = 1/(1+e^-F)   l = sum_k log(1 + e^F_k) - Y_k F_k
    softmax   mean_k ~ e^F_k      l = -sum_k Y_k log mean_k
    exp       mean = e^F          l = sum_k e^F_k - Y_k F_k + (Y_k log Y_k - Y_k)

`logistic` treats every column as a yes/no question of its own: one column is two
classes, several are labels. `softmax` takes rows of probabilities or class numbers.
The array-namespace definitions of the same losses are in `pansophy.losses`; these
call torch's fused operations.

Shapes    F (n, k)   Y (n, k), or (n,) class numbers   l (n,)
"""

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


def squared_error_rows(Y, F):
    return (F - Y).square().sum(1) / 2


def squared_error_with_gradient(Y, F):
    D = F - Y
    return D.square().sum(1).div_(2), D


def binary_cross_entropy_rows(Y, F):
    value = functional.binary_cross_entropy_with_logits(F, Y, reduction="none")
    return value.sum(1)


def cross_entropy_rows(Y, F):
    return functional.cross_entropy(F, Y, reduction="none")


def cross_entropy_with_gradient(Y, F):
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


def poisson_deviance_rows(Y, F):
    return (torch.exp(F) - Y * F + torch.xlogy(Y, Y) - Y).sum(1)


def with_residual_gradient(mean, value):
    """`pair` from its two parts, eq. (1)."""
    return lambda Y, F: (value(Y, F), mean(F).sub_(Y))


HEADS = {
    h.name: h
    for h in (
        Head("identity", torch.clone, squared_error_rows, squared_error_with_gradient),
        Head(
            "logistic",
            torch.sigmoid,
            binary_cross_entropy_rows,
            with_residual_gradient(torch.sigmoid, binary_cross_entropy_rows),
        ),
        Head(
            "softmax",
            lambda F: F.softmax(1),
            cross_entropy_rows,
            cross_entropy_with_gradient,
        ),
        Head(
            "exp",
            torch.exp,
            poisson_deviance_rows,
            with_residual_gradient(torch.exp, poisson_deviance_rows),
        ),
    )
}
