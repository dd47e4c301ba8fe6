"""Convolutional network: blocks of convolution and pooling, then dense layers.

    block    x -> pool(dropout(g(norm(w * x + b))))       repeated, one or more
                                                          convolutions to a block  (1)
    flatten  or the mean over all places (global pooling)
    dense    h -> g(W h + b),   F = V h + c                                        (2)

trained on the weighted mean loss of a head (`nn.heads`). Padding is "same", so that
only pooling shrinks the maps: n -> floor(n / pool). A window that is larger than the
map is cut to it, and along a side of one pixel kernels have one weight. Images are
centred and scaled by channel inside the net, so that they may stay bytes in memory, and
laid out channels last, which convolutions on a CPU prefer.

Cost      2 * places * F C k^2 operations for each image and convolution, three times
          that for a training step
Shapes    x (rows, C, h, w)   F (rows, outputs)
Refs      [LeCun1998]; [Ioffe2015]
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..layers.activations import ACTIVATIONS
from ..layers.conv import Conv
from ..layers.dropout import Dropout
from ..layers.normalisation import BatchNorm, channel_norm
from ..layers.pooling import AvgPool, MaxPool
from ..training.augmentation import Augmentation
from .heads import HEADS, weighted_mean_loss

FARTHEST = 1e6  # standard deviations; what is beyond would only overflow
POOLING = {"max": MaxPool, "average": AvgPool}


class LayerShape(NamedTuple):
    """One line of a net's description."""

    name: str
    shape: tuple[int, ...]  # of what it gives, without rows
    parameters: int
    flops: float  # of one row


class ConvBlock(nn.Module):
    """Convolution, normalisation, activation; eq. (1) without the pooling."""

    def __init__(self, channels, filters, kernel_size, normalisation, activation):
        super().__init__()
        self.conv = Conv(
            channels, filters, kernel_size, padding="same", bias=normalisation is None
        )
        self.norm = channel_norm(normalisation, filters)
        self.activation = activation

    def forward(self, x: Tensor, w: Tensor | None = None) -> Tensor:
        z = self.conv(x)
        if isinstance(self.norm, BatchNorm):
            z = self.norm(z, w)
        elif self.norm is not None:
            z = self.norm(z)
        return ACTIVATIONS[self.activation].value(z)


class ConvNet(nn.Module):
    """Convolutional network with a head's loss, eq. (1) and (2).

    Parameters
    ----------
    input_shape : (int, int, int)
        Channels, height and width of the images.
    n_outputs : int
        Columns of the scores F.
    n_filters : sequence of int or of tuples of int, default=(32, 64)
        Kernels of each block; a tuple for a block of several convolutions.
    kernel_size : int, default=3
    pool_size : int, default=2
        Window and stride of the pooling after each block; 1: none.
    pooling : {"max", "average"}, default="max"
    global_pooling : bool, default=False
        Whether the dense layers see the mean of each map instead of all places: then
        neither where a thing is matters, nor how large the image.
    hidden_layer_sizes : sequence of int, default=()
        Units of the dense layers before the output.
    normalisation : {"batch", "group", "layer"} or None, default="batch"
    activation : str, default="relu"
        One of `nn.ACTIVATIONS`.
    dropout : float, default=0
        Chance that a channel of a block, or a dense unit, is left out of a step.
    head : str, default="softmax"
        One of `nn.HEADS`.

    Attributes
    ----------
    augmentation : Augmentation or None
        Random changes of the training images; None until it is set.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import ConvNet, count_parameters
    >>> net = ConvNet((1, 8, 8), 10, n_filters=(4, 8))
    >>> net(torch.zeros(2, 1, 8, 8)).shape, count_parameters(net)
    (torch.Size([2, 10]), 678)
    >>> [layer.shape for layer in net.layer_shapes()]
    [(4, 8, 8), (4, 4, 4), (8, 4, 4), (8, 2, 2), (10,)]
    """

    pixel_mean: Tensor
    pixel_scale: Tensor

    def __init__(
        self, input_shape, n_outputs, *, n_filters=(32, 64), kernel_size=3,
        pool_size=2, pooling="max", global_pooling=False, hidden_layer_sizes=(),
        normalisation="batch", activation="relu", dropout=0.0, head="softmax",
    ):  # fmt: skip
        super().__init__()
        self.input_shape = tuple(int(n) for n in input_shape)
        self.activation, self.head = activation, head
        self.augmentation: Augmentation | None = None
        self.global_pooling = bool(global_pooling)
        channels, *sizes = self.input_shape
        self.register_buffer("pixel_mean", torch.zeros(1, channels, 1, 1))
        self.register_buffer("pixel_scale", torch.ones(1, channels, 1, 1))
        self.blocks = nn.ModuleList()
        self.pools = nn.ModuleList()
        for filters_of_block in n_filters:
            block = nn.ModuleList()
            kernel = tuple(kernel_size if n > 1 else 1 for n in sizes)
            for filters in (
                filters_of_block
                if isinstance(filters_of_block, (tuple, list))
                else (filters_of_block,)
            ):
                block.append(
                    ConvBlock(channels, filters, kernel, normalisation, activation)
                )
                channels = filters
            self.blocks.append(block)
            window = tuple(min(pool_size, n) for n in sizes)
            self.pools.append(POOLING[pooling](window))
            sizes = [n // k for n, k in zip(sizes, window)]
        self.drop_channels = Dropout(dropout, channels=True)
        self.drop_units = Dropout(dropout)
        width = channels if global_pooling else channels * math.prod(sizes)
        self.dense = nn.ModuleList()
        for units in hidden_layer_sizes:
            self.dense.append(nn.Linear(width, units))
            width = units
        self.output = nn.Linear(width, n_outputs)

    def set_pixel_scaling(self, mean, scale) -> None:
        """Centre and scale the channels of images by these numbers."""
        self.pixel_mean.copy_(torch.as_tensor(mean).view(1, -1, 1, 1))
        self.pixel_scale.copy_(torch.as_tensor(scale).view(1, -1, 1, 1))

    def layer_shapes(self) -> list[LayerShape]:
        """Shape, parameters and operations of every layer, by the calculators."""
        rows = []
        channels, *sizes = self.input_shape
        for i, (block, pool) in enumerate(zip(self.blocks, self.pools)):
            for j, part in enumerate(block):
                conv = part.conv
                sizes = conv.output_size(sizes)
                learnt = sum(p.numel() for p in part.parameters())
                work = 2.0 * math.prod(sizes) * conv.weight.numel()
                shape = (conv.out_channels, *sizes)
                rows.append(LayerShape(f"blocks.{i}.{j}", shape, learnt, work))
            sizes = pool.output_size(sizes)
            channels = rows[-1].shape[0]
            rows.append(LayerShape(f"pools.{i}", (channels, *sizes), 0, 0.0))
        named = [(f"dense.{i}", layer) for i, layer in enumerate(self.dense)]
        for name, layer in [*named, ("output", self.output)]:
            learnt = layer.weight.numel() + layer.bias.numel()
            work = 2.0 * layer.weight.numel()
            rows.append(LayerShape(name, (layer.out_features,), learnt, work))
        return rows

    def flops(self, n: int) -> float:
        """Operations of a training step on n images: three passes."""
        return 3.0 * n * sum(layer.flops for layer in self.layer_shapes())

    def standardise(self, x: Tensor) -> Tensor:
        """Images of any number type as the first convolution takes them."""
        x = (x.to(self.pixel_mean.dtype) - self.pixel_mean) / self.pixel_scale
        return x.clamp_(-FARTHEST, FARTHEST)

    def features(self, x: Tensor, w: Tensor | None = None) -> Tensor:
        """Features for the dense layers: (rows, units)."""
        x = self.standardise(x)
        if self.augmentation is not None and self.training:
            x = self.augmentation(x)
        # a copy: `contiguous` would leave images of one channel in an order that
        # convolutions take for channels first
        x = x.clone(memory_format=torch.channels_last)
        for block, pool in zip(self.blocks, self.pools):
            for part in block:
                x = part(x, w)
            x = self.drop_channels(pool(x))
        return x.mean((2, 3)) if self.global_pooling else x.flatten(1)

    def forward(self, x: Tensor, w: Tensor | None = None) -> Tensor:
        """Scores F; `w` are row weights for the statistics of a training batch."""
        h = self.features(x, w)
        for layer in self.dense:
            h = self.drop_units(ACTIVATIONS[self.activation].value(layer(h)))
        return self.output(h)

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted mean loss of a batch (X, Y) or (X, Y, w)."""
        X, Y, *rest = batch
        w = rest[0] if rest else None
        return {"loss": weighted_mean_loss(HEADS[self.head], Y, self.forward(X, w), w)}
