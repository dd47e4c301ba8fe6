"""Convolutions that read images before the nets of an agent.

An image x with C channels goes through layers of convolutions (`nn.layers.conv`, eq.
1), each followed by the positive part, and what comes out is one row of numbers for the
policy, the value function or Q. All of them share the convolutions, whose gradient is
the sum of theirs.

Rows come flattened in the order of the environment's observation: (height, width),
(height, width, channels) or (channels, height, width); of the first and the last axis
the shorter one are the channels, the last one if they are equal.

Shapes    X (n, h w C)   features (n, F h' w')
Refs      [Mnih2015]
"""

from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from ...nn.layers.conv import Conv
from ...params import ParameterRule


def is_conv_layers(value) -> bool:
    """Whether a value is a tuple of (channels, kernel size, stride)."""
    is_positive_integer = lambda n: isinstance(n, (int, np.integer)) and n >= 1
    return isinstance(value, (tuple, list)) and all(
        isinstance(layer, (tuple, list))
        and len(layer) == 3
        and all(map(is_positive_integer, layer))
        for layer in value
    )


ConvLayers = Annotated[
    tuple,
    ParameterRule(
        "a tuple of (channels, kernel size, stride), one for each layer", is_conv_layers
    ),
]


class ConvFeatures(nn.Module):
    """Convolutions over images that come as rows.

    Parameters
    ----------
    shape : tuple of int
        Of an observation, with two or three axes.
    conv_layers : tuple of (channels, kernel size, stride)

    Examples
    --------
    >>> import torch
    >>> from pansophy.rl.deep.conv_features import ConvFeatures
    >>> features = ConvFeatures((20, 15, 1), ((8, 5, 5), (16, 2, 1)))
    >>> features(torch.zeros(7, 300)).shape, features.width
    (torch.Size([7, 96]), 96)
    """

    def __init__(self, shape, conv_layers):
        super().__init__()
        if len(shape) not in (2, 3):
            raise ValueError(
                "conv_layers need observations that are images, with two or three "
                f"axes, got the shape {tuple(shape)}."
            )
        self.shape = tuple(int(n) for n in shape)
        self.channels_last = len(shape) == 3 and shape[2] <= shape[0]
        shape_3d = self.shape if len(shape) == 3 else (1, *self.shape)
        channels, *sizes = (
            (shape_3d[2], *shape_3d[:2]) if self.channels_last else shape_3d
        )
        self.channels = channels
        self.sizes = tuple(sizes)
        self.layers = nn.ModuleList()
        for channels_out, kernel, stride in conv_layers:
            layer = Conv(channels, channels_out, kernel, stride=stride)
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            sizes = layer.output_size(sizes)  # or says that the kernel does not fit
            channels = channels_out
            self.layers.append(layer)
        self.width = channels * sizes[0] * sizes[1]

    def flops(self, n: int) -> float:
        """Operations of a step on n rows."""
        total = 0.0
        sizes = self.sizes
        for layer in self.layers:
            sizes = layer.output_size(sizes)
            total += 6.0 * layer.weight.numel() * sizes[0] * sizes[1]
        return n * total

    def forward(self, X: Tensor) -> Tensor:
        """Features (n, width) of rows (n, h w C)."""
        n = len(X)
        if self.channels_last:
            images = X.reshape(n, *self.sizes, self.channels).permute(0, 3, 1, 2)
        else:
            images = X.reshape(n, self.channels, *self.sizes)
        for layer in self.layers:
            images = torch.relu(layer(images))
        return images.flatten(1)


def conv_features(agent) -> ConvFeatures | None:
    """The convolutions that an agent asks for, or None."""
    if not agent.conv_layers:
        return None
    layout = agent.observation_layout_
    if layout.kind != "numbers":
        raise ValueError(
            f"conv_layers of {type(agent).__name__} need observations that are images "
            "(a Box with two or three axes)."
        )
    return ConvFeatures(layout.shape, agent.conv_layers)
