"""Normalisation layers: over a batch, over the features of a row, over groups.

    y = gain * (x - mean) / sqrt(var + eps) + offset                               (1)

where mean and variance are taken, for each channel, over rows and places (batch); for
each row over all channels and places (layer); or for each row over the places and the
channels of a group (group). Batch normalisation at prediction uses the running means

    m <- (1 - a) m + a mean,     v <- (1 - a) v + a var n / (n - 1)                (2)

so that the answer for a row does not depend on the rows next to it. Root-mean-square
normalisation leaves out the mean and the offset,

    y = gain * x / sqrt(mean(x^2) + eps)                                           (3)

Two departures from
torch: a training batch with a single value per channel (a last batch of one row) has no
variance and is normalised by the running ones instead of being refused, and rows may
have weights, which enter mean and variance as repeated rows would.

Shapes    x (rows, channels, ...)   gain, offset (channels,)   w (rows,)
Refs      [Ioffe2015] batch; [Ba2016] layer; [Wu2018] group; [Zhang2019] RMS
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...params import check_count

EPS = 1e-5


class BatchNorm(nn.Module):
    """Batch normalisation, eq. (1) and (2), for any number of dimensions.

    Parameters
    ----------
    channels : int
    momentum : float, default=0.1
        a of eq. (2).
    eps : float, default=1e-5

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import BatchNorm
    >>> layer = BatchNorm(2)
    >>> x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> layer(x).detach().round(decimals=2).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels, *, momentum=0.1, eps=EPS):
        super().__init__()
        channels = check_count("channels", channels)
        self.momentum, self.eps = float(momentum), float(eps)
        self.frozen = False  # set by `freeze`: running means then stay as they are
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor, w: Tensor | None = None) -> Tensor:
        values = x.numel() // x.shape[1]
        by_batch = self.training and not self.frozen and values > 1
        if by_batch and w is not None:
            return self.weighted(x, w)
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            by_batch, self.momentum, self.eps,
        )  # fmt: skip

    def weighted(self, x, w):
        """Eq. (1) and (2) with rows that count w times."""
        axes = (0, *range(2, x.ndim))
        shape = (1, -1) + (1,) * (x.ndim - 2)
        places = x[0, 0].numel()
        share = (w / (w.sum() * places)).reshape(-1, *(1,) * (x.ndim - 1))
        mean = (share * x).sum(axes)
        centred = x - mean.view(shape)
        var = (share * centred.square()).sum(axes)
        with torch.no_grad():
            n = w.sum() * places
            unbiased = var * torch.where(n > 1, n / (n - 1), torch.ones_like(n))
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_(unbiased.detach(), self.momentum)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return centred * scale.view(shape) + self.bias.view(shape)

    def extra_repr(self):
        return f"{len(self.weight)}, momentum={self.momentum}"


class GroupNorm(nn.Module):
    """Group normalisation, eq. (1); one group is layer normalisation of a feature map.

    Parameters
    ----------
    channels : int
    groups : int, default=8
        Must divide the channels.
    eps : float, default=1e-5

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import GroupNorm
    >>> x = torch.tensor([[1.0, 3.0, 10.0, 30.0]])
    >>> GroupNorm(4, 2)(x).detach().round(decimals=2).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """

    def __init__(self, channels, groups=8, *, eps=EPS):
        super().__init__()
        channels = check_count("channels", channels)
        self.groups = check_count("groups", groups)
        self.eps = float(eps)
        if channels % self.groups:
            raise ValueError(f"groups must divide the {channels} channels: {groups}.")
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        return functional.group_norm(x, self.groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{len(self.weight)}, groups={self.groups}"


class LayerNorm(nn.Module):
    """Layer normalisation over the last dimension, eq. (1).

    Parameters
    ----------
    features : int
        Size of the last dimension.
    eps : float, default=1e-5

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import LayerNorm
    >>> LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach().round(decimals=2).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(self, features, *, eps=EPS):
        super().__init__()
        features = check_count("features", features)
        self.eps = float(eps)
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        size = (len(self.weight),)
        return functional.layer_norm(x, size, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{len(self.weight)}"


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
        self.features = int(features)
        self.eps = float(eps)
        self.weight = nn.Parameter(torch.ones(features)) if gain else None

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (self.features,), self.weight, self.eps)

    def extra_repr(self):
        return f"{self.features}"


def channel_norm(kind: str | None, channels: int) -> nn.Module | None:
    """The layer that normalises feature maps: "batch", "group", "layer" or None."""
    if kind is None:
        return None
    if kind == "batch":
        return BatchNorm(channels)
    if kind == "layer":
        return GroupNorm(channels, 1)
    if kind == "group":
        return GroupNorm(channels, next(g for g in (8, 4, 2, 1) if channels % g == 0))
    raise ValueError(
        f'normalisation must be "batch", "group", "layer" or None, got {kind!r}.'
    )
