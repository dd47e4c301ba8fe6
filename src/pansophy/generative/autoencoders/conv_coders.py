"""Encoders and decoders of images: strided convolutions, and their mirror.

The encoder halves the image with each convolution (stride 2, padding "same"), then a
dense layer gives the code; the decoder mirrors it with transposed convolutions, each
the adjoint of its convolution (`nn.layers.conv`, eq. 4), so that the output has the
shape of the input whatever that is.

Numbers that are no pixels (indicators of a class) stand after the pixels of a row, and
join them before the dense layer. A decoder may give several numbers for each pixel, as
a mean and a spread: they come out as rows of pixels side by side.

Cost      that of the convolutions: 2 places F C k^2 operations for each, both ways
Shapes    rows (n, h w channels + others)   codes (..., n, k)
Refs      [Masci2011]; [Dumoulin2016]
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ...nn.layers.activations import ACTIVATIONS
from ...nn.layers.conv import Conv, ConvTranspose, same_padding


class ConvEncoder(nn.Module):
    """Strided convolutions and a dense layer: flat images (n, h w c) to codes.

    Parameters
    ----------
    shape : (h, w, channels)
    n_filters : sequence of int
        Kernels of each convolution.
    kernel_size : int
    activation : str
    n_outputs : int
        Numbers of a code.
    n_others : int
        Numbers of a row after its pixels.
    """

    def __init__(
        self, shape, n_filters, kernel_size, activation, n_outputs, n_others=0
    ):
        super().__init__()
        self.shape = tuple(shape)
        self.activation = activation
        *sizes, channels = shape
        self.sizes: list[tuple[int, ...]] = [tuple(sizes)]
        self.convs = nn.ModuleList()
        for filters in n_filters:
            kernel = tuple(kernel_size if n > 1 else 1 for n in sizes)
            stride = tuple(2 if n > 1 else 1 for n in sizes)
            conv = Conv(channels, filters, kernel, stride=stride, padding="same")
            sizes = conv.output_size(sizes)
            self.convs.append(conv)
            self.sizes.append(tuple(sizes))
            channels = filters
        self.n_maps = channels * math.prod(sizes)
        self.output = nn.Linear(self.n_maps + n_others, n_outputs)

    def forward(self, X: Tensor) -> Tensor:
        pixels = X[:, : math.prod(self.shape)]
        h = pixels.reshape(-1, *self.shape).permute(0, 3, 1, 2)
        h = h.clone(memory_format=torch.channels_last)
        for conv in self.convs:
            h = ACTIVATIONS[self.activation].value(conv(h))
        extra_columns = X[:, math.prod(self.shape) :]
        return self.output(torch.cat([h.flatten(1), extra_columns], 1))

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: three products a layer."""
        return 6.0 * n * (convolution_products(self) + self.output.weight.numel())


class ConvDecoder(nn.Module):
    """The mirror of a `ConvEncoder`: codes (..., n, k) to flat images.

    Parameters
    ----------
    encoder : ConvEncoder
    n_inputs : int
        k.
    n_parts : int
        Numbers for each pixel.
    offset : bool
        Whether every pixel has a number of its own that is added.
    """

    def __init__(
        self, encoder: ConvEncoder, n_inputs: int, n_parts: int = 1, *, offset=False
    ):
        super().__init__()
        self.activation, self.sizes = encoder.activation, encoder.sizes
        self.n_parts = n_parts
        convs: list[Any] = list(encoder.convs)
        self.channels = convs[-1].out_channels if convs else encoder.shape[2] * n_parts
        places = math.prod(self.sizes[-1])
        self.inner = nn.Linear(n_inputs, self.channels * places)
        self.convs = nn.ModuleList()
        for i, c in reversed(list(enumerate(convs))):
            parts = 1 if i else n_parts
            self.convs.append(
                ConvTranspose(
                    c.out_channels,
                    c.in_channels * parts,
                    c.kernel_size,
                    stride=c.stride,
                )
            )
        n_pixels = n_parts * math.prod(encoder.shape)
        self.offset = nn.Parameter(torch.zeros(n_pixels)) if offset else None

    def forward(self, code: Tensor) -> Tensor:
        g = ACTIVATIONS[self.activation].value
        h = self.inner(code).reshape(-1, self.channels, *self.sizes[-1])
        for conv, sizes in zip(self.convs, reversed(self.sizes[:-1])):
            h = conv(g(h))
            # what the convolution saw as zeros around the image is cut off
            for axis, n in enumerate(sizes):
                k, s = conv.kernel_size[axis], conv.stride[axis]
                h = h.narrow(2 + axis, same_padding(n, k, s)[0], n)
        parts = [a.permute(0, 2, 3, 1).flatten(1) for a in h.chunk(self.n_parts, 1)]
        images = torch.cat(parts, 1).reshape(*code.shape[:-1], -1)
        return images if self.offset is None else images + self.offset

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: three products a layer."""
        return 6.0 * n * (convolution_products(self) + self.inner.weight.numel())


def convolution_products(half) -> float:
    """Multiplications of the convolutions of an encoder or a decoder for one image."""
    sizes = half.sizes[1:]
    if isinstance(half, ConvDecoder):
        sizes = sizes[::-1]
    layers = [getattr(c, "layer", c) for c in half.convs]  # inside a spectral norm
    return float(sum(math.prod(m) * c.weight.numel() for m, c in zip(sizes, layers)))
