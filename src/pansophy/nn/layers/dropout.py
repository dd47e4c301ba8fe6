"""Dropout and DropConnect: units, or weights, that are left out at random in training.

With a mask m of independent 0 and 1, P(m = 0) = p, drawn anew in each training step,

    Dropout      h -> h * m / (1 - p)                                              (1)
    DropConnect  W -> W * m / (1 - p)                                              (2)

The division keeps E[h] (and E[W x] of a linear layer) as it is, so that prediction
uses all units and all weights without a factor (inverted dropout). p = 0 is the
identity. With `always=True` a Dropout layer stays on at prediction: the average of many
such passes approximates that over the thinned nets (Monte Carlo dropout).

Refs      [Srivastava2014] dropout; [Wan2013] DropConnect; [Gal2016] Monte Carlo
"""

from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional


def _check_dropout_rate(rate) -> float:
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be a number from 0 to below 1, got {rate!r}.")
    return float(rate)


class Dropout(nn.Module):
    """Leaves units out of a training step, eq. (1).

    Parameters
    ----------
    rate : float, default=0.5
        p, the chance that a unit is left out.
    channels : bool, default=False
        Whether all places of a channel are left out together, which suits feature
        maps, whose neighbouring places are alike.
    always : bool, default=False
        Whether units are left out at prediction, too.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import Dropout
    >>> layer = Dropout(0.5)
    >>> sorted(set(layer(torch.ones(100)).tolist()))
    [0.0, 2.0]
    >>> set(layer.eval()(torch.ones(100)).tolist())
    {1.0}
    """

    def __init__(self, rate=0.5, *, channels=False, always=False):
        super().__init__()
        self.rate = _check_dropout_rate(rate)
        self.channels, self.always = bool(channels), bool(always)

    def forward(self, h: Tensor) -> Tensor:
        if not self.rate or not (self.training or self.always):
            return h
        if not self.channels:
            return functional.dropout(h, self.rate, training=True)
        ones = h.new_ones(h.shape[:2] + (1,) * (h.ndim - 2))
        return h * functional.dropout(ones, self.rate, training=True)

    def extra_repr(self):
        return f"rate={self.rate}"


class DropConnect(nn.Module):
    """Leaves weights of a layer out of a training step, eq. (2).

    Parameters
    ----------
    layer : torch module with a `weight`
        Linear or convolution.
    rate : float, default=0.5
        p, the chance that a weight is left out.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import DropConnect
    >>> layer = DropConnect(torch.nn.Linear(3, 2), rate=0.2).eval()
    >>> x = torch.ones(1, 3)
    >>> torch.equal(layer(x), layer.layer(x))
    True
    """

    def __init__(self, layer: nn.Module, rate=0.5):
        super().__init__()
        self.rate = _check_dropout_rate(rate)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        if not self.rate or not self.training:
            return self.layer(x)
        weight = functional.dropout(self.layer.weight, self.rate, training=True)
        return functional_call(self.layer, {"weight": weight}, (x,))

    def extra_repr(self):
        return f"rate={self.rate}"
