"""Normalisation layers over the features of a row.

    layer  y = gain * (x - mean) / sqrt(var + eps) + offset                        (1)
    RMS    y = gain * x / sqrt(mean(x^2) + eps)                                    (3)

Refs      [Ba2016] layer; [Zhang2019] RMS
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

EPS = 1e-5


class LayerNorm(nn.Module):
    """Layer normalisation over the last dimension, eq. (1)."""

    def __init__(self, features, *, eps=EPS):
        super().__init__()
        self.eps = float(eps)
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        size = (len(self.weight),)
        return functional.layer_norm(x, size, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """Root-mean-square normalisation over the last dimension, eq. (3).

    Parameters
    ----------
    features : int
        Size of the last dimension.
    gain : bool, default=True
        Whether a gain is learnt.
    eps : float, default=1e-5

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import RMSNorm
    >>> y = RMSNorm(2)(torch.tensor([[3.0, 4.0]])).detach()
    >>> y.square().mean().round(decimals=3)
    tensor(1.)
    """

    def __init__(self, features, *, gain=True, eps=EPS):
        super().__init__()
        self.features, self.eps = int(features), float(eps)
        self.weight = nn.Parameter(torch.ones(features)) if gain else None

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (self.features,), self.weight, self.eps)

    def extra_repr(self):
        return f"{self.features}"
