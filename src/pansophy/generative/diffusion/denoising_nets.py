"""Nets that see rows, a noise level and a context: a residual perceptron and a U-Net.

The level c is shown by waves, the context y by a linear map:

    e = W_2 silu(W_1 (sin f_i c, cos f_i c) + W_y y)                             (1)

and enters every block. Blocks add to what they get, and their last layers begin at 0:

    perceptron    h <- h + B silu(A norm(h) + E e)                               (2)
    U-Net         h <- h + conv(silu(norm(conv(silu(norm(h)))) (1 + g) + o))     (3)

with (g, o) = E e for each channel. The U-Net halves its maps from level to level by
strided convolutions, doubles them again, and joins each level with the maps that had
its size on the way down; any height and width will do.

Shapes    x (n, d) or (n, C, H, W)   c (n,)   y (n, k)
Refs      [Ho2020] U-Net; [Perez2018] (3); [Nichol2021]
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...nn import Conv, LayerNorm
from ...nn.layers.normalisation import channel_norm
from ...nn.layers.positions import frequencies

HIGHEST_FREQUENCY = 64.0
FREQUENCY_RANGE = 256.0


class NoiseLevelEmbedding(nn.Module):
    """e of eq. (1), (n, width), from a level and a context."""

    waves: Tensor

    def __init__(self, width: int, n_context: int = 0):
        super().__init__()
        f = HIGHEST_FREQUENCY * frequencies(width, FREQUENCY_RANGE)
        self.register_buffer("waves", f)
        self.level = nn.Linear(2 * len(f), width)
        self.context = nn.Linear(n_context, width, bias=False) if n_context else None
        self.output = nn.Linear(width, width)

    def forward(self, c: Tensor, context: Tensor | None = None) -> Tensor:
        angles = c[:, None] * self.waves.to(c.dtype)
        e = self.level(torch.cat([angles.sin(), angles.cos()], dim=1))
        if self.context is not None and context is not None:
            e = e + self.context(context)
        return self.output(functional.silu(e))


class DenoisingMLP(nn.Module):
    """Residual perceptron of rows (n, d), eq. (2).

    Parameters
    ----------
    n_features : int
        d.
    hidden : sequence of int
        Width of each block; the first is the width of h.
    n_context : int
        Columns of the context.
    n_outputs : int or None
        None: d.
    """

    def __init__(
        self, n_features: int, hidden: Sequence[int] = (128, 128, 128), *,
        n_context: int = 0, n_outputs: int | None = None,
    ):  # fmt: skip
        super().__init__()
        width = hidden[0] if len(hidden) else 16
        self.embedding = NoiseLevelEmbedding(width, n_context)
        self.input = nn.Linear(n_features, width)
        self.blocks = nn.ModuleList([DenoisingBlock(width, m) for m in hidden])
        self.output = _zeroed(nn.Linear(width, n_outputs or n_features))

    def forward(self, x, c, context=None) -> Tensor:
        e = functional.silu(self.embedding(c, context))
        h = self.input(x)
        for block in self.blocks:
            h = block(h, e)
        return self.output(functional.silu(h))

    def flops(self, n: int) -> float:
        """Operations of a step on n rows: three products a matrix."""
        return 6.0 * n * sum(p.numel() for p in self.parameters() if p.ndim == 2)


class DenoisingBlock(nn.Module):
    """Eq. (2)."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.norm = LayerNorm(width)
        self.first = nn.Linear(width, hidden)
        self.level = nn.Linear(width, hidden, bias=False)
        self.second = _zeroed(nn.Linear(hidden, width))

    def forward(self, h, e):
        inside = self.first(self.norm(h)) + self.level(e)
        return h + self.second(functional.silu(inside))


class UNetBlock(nn.Module):
    """Eq. (3), with a linear map of the channels where their number changes."""

    def __init__(self, channels: int, out: int, width: int):
        super().__init__()
        self.norm1: Any = channel_norm("group", channels)
        self.conv1 = Conv(channels, out, 3, padding=1)
        self.norm2: Any = channel_norm("group", out)
        self.level = _zeroed(nn.Linear(width, 2 * out))
        self.conv2 = _zeroed(Conv(out, out, 3, padding=1))
        self.across = Conv(channels, out, 1) if channels != out else None

    def forward(self, x, e):
        h = self.conv1(functional.silu(self.norm1(x)))
        gain, offset = self.level(e)[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + gain) + offset
        h = self.conv2(functional.silu(h))
        return h + (x if self.across is None else self.across(x))


class UNet(nn.Module):
    """Convolutional net of images (n, C, H, W) with a level and a context, eq. (3).

    Parameters
    ----------
    channels : int
        C.
    widths : sequence of int
        Channels of each level, from the whole image down.
    n_context : int
        Columns of the context.
    n_outputs : int or None
        Channels of the answer; None: C.

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import UNet
    >>> UNet(1, (8, 16))(torch.zeros(2, 1, 7, 5), torch.zeros(2)).shape
    torch.Size([2, 1, 7, 5])
    """

    def __init__(
        self, channels: int, widths: Sequence[int] = (32, 64), *, n_context: int = 0,
        n_outputs: int | None = None,
    ):  # fmt: skip
        super().__init__()
        width = 2 * widths[0]
        self.embedding = NoiseLevelEmbedding(width, n_context)
        self.input = Conv(channels, widths[0], 3, padding=1)
        pairs = list(pairwise(widths))
        self.down = nn.ModuleList([UNetBlock(m, m, width) for m in widths[:-1]])
        self.halve = nn.ModuleList(
            [Conv(a, b, 3, stride=2, padding=1) for a, b in pairs]
        )
        self.bottom = nn.ModuleList(
            [UNetBlock(widths[-1], widths[-1], width) for _ in range(2)]
        )
        self.enlarge = nn.ModuleList([Conv(b, a, 3, padding=1) for a, b in pairs])
        self.up = nn.ModuleList([UNetBlock(2 * m, m, width) for m in widths[:-1]])
        self.norm: Any = channel_norm("group", widths[0])
        self.output = _zeroed(Conv(widths[0], n_outputs or channels, 3, padding=1))

    def forward(self, x, c, context=None) -> Tensor:
        e = functional.silu(self.embedding(c, context))
        h = self.input(x.contiguous(memory_format=torch.channels_last))
        skips = []
        for block, halve in zip(self.down, self.halve):
            h = block(h, e)
            skips.append(h)
            h = halve(h)
        for block in self.bottom:
            h = block(h, e)
        steps = list(zip(self.up, self.enlarge, skips))
        for block, enlarge, same_size in reversed(steps):
            h = functional.interpolate(h, size=same_size.shape[2:])
            h = block(torch.cat([enlarge(h), same_size], dim=1), e)
        return self.output(functional.silu(self.norm(h)))

    def flops(self, n: int, places: int) -> float:
        """Operations of a step on n images of so many places."""
        total = 0.0
        for part, shrink in (
            ([self.input, self.output, *self.down[:1], *self.up[:1]], 1),
            ([*self.halve, *self.enlarge, *self.down[1:], *self.up[1:]], 4),
            ([*self.bottom], 4 ** len(self.halve)),
        ):
            kernels = (p for m in part for p in m.parameters() if p.ndim == 4)
            total += sum(p.numel() for p in kernels) * places / shrink
        return 6.0 * n * total


class FlatImages(nn.Module):
    """A net of images (n, C, H, W) for rows of pixels (n, H W C), as `reshape` orders.

    An answer of k C channels comes out as k rows of pixels side by side.
    """

    def __init__(self, net, shape: Sequence[int]):
        super().__init__()
        self.net = net
        height, width, *channels = shape
        self.shape = (int(height), int(width), int(channels[0]) if channels else 1)

    def forward(self, x, c, context=None) -> Tensor:
        images = x.reshape(-1, *self.shape).permute(0, 3, 1, 2)
        answer = self.net(images, c, context)
        parts = answer.split(self.shape[2], dim=1)
        return torch.cat([a.permute(0, 2, 3, 1).flatten(1) for a in parts], dim=1)

    def flops(self, n: int) -> float:
        """Operations of a step on n rows."""
        return self.net.flops(n, self.shape[0] * self.shape[1])


def _zeroed(layer):
    """The layer with weights of 0, so that a block begins as the identity."""
    for p in layer.parameters():
        nn.init.zeros_(p)
    return layer
