"""Locally connected layer: a convolution whose kernel is another at every place.

    z_f(t) = b_f(t) + sum_c sum_a x_c(s t + a) w_fc(t, a)                          (1)

Each unit sees its neighbourhood only (sparse connectivity), as in a convolution, but
nothing is shared: with m places there are m times the weights of `Conv`. With
`shared=True` all places use one kernel, and (1) is the convolution; the gradient of
that kernel is the sum of the gradients of the places.

Cost      O(rows * places * F C k_h k_w); places * F (C k_h k_w + 1) weights
Shapes    x (rows, C, h, w)   w (places, F, C k_h k_w)   b (places, F)
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...params import check_count
from .conv import Conv, conv_output_size, padding_pairs, per_dimension


class LocallyConnected(nn.Module):
    """Units with local inputs and weights of their own, eq. (1).

    Parameters
    ----------
    input_size : (int, int)
        Height and width of the images; the weights belong to their places.
    in_channels, out_channels : int
    kernel_size : int or (int, int)
    stride : int or (int, int), default=1
    padding : int, (int, int), "same" or "valid", default=0
    bias : bool, default=True
    shared : bool, default=False
        Whether all places have the same weights, which makes it a convolution.

    Examples
    --------
    >>> from pansophy.nn import LocallyConnected, count_parameters
    >>> count_parameters(LocallyConnected((32, 32), 3, 6, 5))
    357504
    """

    undecayed = ("bias",)

    def __init__(
        self, input_size, in_channels, out_channels, kernel_size, *, stride=1,
        padding=0, bias=True, shared=False,
    ):  # fmt: skip
        super().__init__()
        self.input_size = per_dimension("input_size", input_size, 2)
        self.in_channels = check_count("in_channels", in_channels)
        self.out_channels = check_count("out_channels", out_channels)
        self.kernel_size = per_dimension("kernel_size", kernel_size, 2)
        self.stride = per_dimension("stride", stride, 2)
        self.padding = padding
        self.size = conv_output_size(
            self.input_size, self.kernel_size, self.stride, padding
        )
        places = 1 if shared else math.prod(self.size)
        fan_in = self.in_channels * math.prod(self.kernel_size)
        bound = 1 / math.sqrt(fan_in)
        draw = lambda *shape: torch.empty(shape).uniform_(-bound, bound)
        self.weight = nn.Parameter(draw(places, self.out_channels, fan_in))
        self.bias = nn.Parameter(draw(places, self.out_channels)) if bias else None

    def output_size(self, sizes=None):
        """Height and width of the feature maps."""
        return self.size

    def forward(self, x: Tensor) -> Tensor:
        wanted = (self.in_channels, *self.input_size)
        if tuple(x.shape[1:]) != wanted:
            raise ValueError(
                f"images of shape {wanted} are expected, got {tuple(x.shape[1:])}: a "
                "locally connected layer has weights for every place."
            )
        pads = padding_pairs(
            self.padding, self.input_size, self.kernel_size, self.stride, (1, 1)
        )
        x = functional.pad(x, [p for pair in reversed(pads) for p in pair])
        patches = functional.unfold(x, self.kernel_size, stride=self.stride)
        weight = self.weight.expand(patches.shape[2], -1, -1)
        # one product per place: (places, F, fan in) (places, fan in, rows)
        z = torch.bmm(weight, patches.permute(2, 1, 0))
        if self.bias is not None:
            z = z + self.bias[:, :, None]
        return z.permute(2, 1, 0).reshape(len(x), self.out_channels, *self.size)

    @classmethod
    def from_conv(cls, conv: Conv, input_size, *, shared=False):
        """A layer in which every place begins with the kernel of a convolution."""
        if conv.groups != 1 or set(conv.dilation) != {1} or conv.ndim != 2:
            raise ValueError("only a plain convolution in two dimensions has a twin.")
        layer = cls(
            input_size, conv.in_channels, conv.out_channels, conv.kernel_size,
            stride=conv.stride, padding=conv.padding, bias=conv.bias is not None,
            shared=shared,
        )  # fmt: skip
        with torch.no_grad():
            layer.weight.copy_(conv.weight.reshape(1, conv.out_channels, -1))
            if layer.bias is not None and conv.bias is not None:
                layer.bias.copy_(conv.bias[None])
        return layer.to(conv.weight.dtype)

    def extra_repr(self):
        return (
            f"{self.in_channels}, {self.out_channels}, input_size={self.input_size}, "
            f"kernel_size={self.kernel_size}, shared={len(self.weight) == 1}"
        )
