"""Layers one after the other, with the loss of a head: a net for `nn.train`."""

import torch
from torch import Tensor

from .heads import HEADS, Head
from .mlp import positive_total


class Sequential(torch.nn.Sequential):
    """torch's `Sequential` with `losses` for batches (X, Y) or (X, Y, weights).

    Parameters
    ----------
    *layers : torch modules
    head : str
        One of `nn.HEADS`: what the last layer's outputs mean.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> net = nn.Sequential(torch.nn.Linear(2, 3), nn.ELU(), torch.nn.Linear(3, 1))
    >>> net.head.name, net(torch.zeros(5, 2)).shape
    ('identity', torch.Size([5, 1]))
    """

    def __init__(self, *layers, head: str = "identity"):
        super().__init__(*layers)
        if head not in HEADS:
            raise ValueError(f"head must be one of {', '.join(HEADS)}, got {head!r}.")
        self.head_name = head

    @property
    def head(self) -> Head:
        """What the outputs of the last layer mean."""
        return HEADS[self.head_name]

    @property
    def capturable(self) -> bool:
        """Whether all layers are torch's or ours, which do the same each step."""
        known = ("torch.nn.", "pansophy.nn.")
        return all(type(part).__module__.startswith(known) for part in self.modules())

    def losses(self, batch) -> dict[str, Tensor]:
        """The weighted mean of the head's loss."""
        X, Y, *rest = batch
        F = self.forward(X)
        value = self.head.value(Y, F.float() if _low_precision(self) else F)
        if not rest:
            return {"loss": value.mean()}
        return {"loss": rest[0] @ value / positive_total(rest[0].sum())}


def _low_precision(net) -> bool:
    """Whether outputs come in bfloat16: losses are then computed in float32."""
    device = next(net.parameters()).device.type
    return torch.is_autocast_enabled(device)
