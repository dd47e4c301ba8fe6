"""Dense layers with an activation between them: a part of larger nets.

    h_0 = x,   h_l = g(h_{l-1} W_l + b_l),   y = h_{L-1} W_L + b_L                 (1)

Weights start by He's rule for relu-like activations and by Glorot's for the others,
biases at 0, all by torch's random numbers (`nn.training.devices.seeded_torch`).
`nn.MLP` is the same map as a whole net with a loss and gradients of its own.

Shapes    x (..., m_0)   y (..., m_L)
Refs      [He2015]; [Glorot2010]
"""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from .activations import ACTIVATIONS

ONE_SIDED = ("relu", "leaky", "elu")  # activations that drop the negative half


class DenseLayers(nn.Module):
    """Linear maps with activations between them, eq. (1).

    Parameters
    ----------
    sizes : sequence of int
        Columns of x, units of each hidden layer, columns of y.
    activation : str, default="relu"
        One of `nn.ACTIVATIONS`.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import DenseLayers, count_parameters
    >>> net = DenseLayers([3, 8, 2])
    >>> net(torch.zeros(5, 3)).shape, count_parameters(net)
    (torch.Size([5, 2]), 50)
    """

    def __init__(self, sizes: Sequence[int], *, activation="relu"):
        super().__init__()
        self.activation = activation
        self.layers = nn.ModuleList(
            [nn.Linear(int(m), int(k)) for m, k in pairwise(sizes)]
        )
        for i, layer in enumerate(self.layers):
            hidden = i + 1 < len(self.layers)
            if hidden and activation in ONE_SIDED:
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            else:
                nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        g = ACTIVATIONS[self.activation].value
        *hidden, last = self.layers
        for layer in hidden:
            x = g(layer(x))
        return last(x)

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: three products a layer."""
        return 6.0 * n * sum(layer.weight.numel() for layer in self.layers)
