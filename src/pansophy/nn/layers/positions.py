"""Positions in a sequence: sinusoidal, learnt and rotary.

Attention does not see order. It is told by columns that are added,

    p_t,2i = sin(t w_i),   p_t,2i+1 = cos(t w_i),   w_i = 10000^(-2i/d)           (1)

where p_t+s is p_t with each pair rotated by s w_i; by a learnt vector for each t; or by
rotating pairs of columns of queries and keys,

    (x_2i, x_2i+1) -> (x_2i cos t w_i - x_2i+1 sin t w_i,
                       x_2i sin t w_i + x_2i+1 cos t w_i)                         (2)

so that the product of a query at t and a key at s depends on t - s alone. A listing of
(1) that divides by 10000^(2i // d) has frequency 1 in every column; this is right.

Shapes    X (n, L, d)   q, k (..., L, d)   t = start, start + 1, ...
Refs      [Vaswani2017] (1); [Su2021] (2)
"""

from functools import lru_cache

import torch
from torch import Tensor, nn


def frequencies(d: int, base: float = 10000.0, device=None) -> Tensor:
    """w_i of eq. (1), (ceil(d / 2),), float64."""
    i = torch.arange(0, d, 2, dtype=torch.float64, device=device)
    return base ** (-i / d)


def position_angles(length: int, d: int, start=0, base=10000.0, device=None) -> Tensor:
    """t w_i, (length, ceil(d / 2)), float64: exact for long sequences too."""
    t = torch.arange(start, start + length, dtype=torch.float64, device=device)
    return t[:, None] * frequencies(d, base, device)


def sinusoidal_positions(length: int, d: int, start: int = 0, base=10000.0) -> Tensor:
    """Eq. (1), (length, d), float64.

    Examples
    --------
    >>> from pansophy import nn
    >>> nn.sinusoidal_positions(2, 4)[1].tolist()  # doctest: +ELLIPSIS
    [0.841470..., 0.540302..., 0.009999..., 0.99995...]
    """
    angles = position_angles(length, d, start, base)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d]


class PositionalEncoding(nn.Module):
    """Adds eq. (1) to its input.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> nn.PositionalEncoding(4)(torch.zeros(1, 2, 4))[0, 0]
    tensor([0., 1., 0., 1.])
    """

    def __init__(self, d, *, base=10000.0):
        super().__init__()
        self.d, self.base = d, base

    def forward(self, X: Tensor, start: int = 0, steps: Tensor | None = None) -> Tensor:
        """X with rows of eq. (1) added; `steps` (n, L), if given, says which."""
        P = sinusoidal_positions(X.shape[-2], self.d, start, self.base).to(X)
        return X + (P if steps is None else P[steps])


class LearnedPositions(nn.Module):
    """Adds a learnt vector for each position, of which there are `max_length`.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> nn.LearnedPositions(8, 4)(torch.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    undecayed = ("P",)

    def __init__(self, max_length, d):
        super().__init__()
        self.P = nn.Parameter(0.02 * torch.randn(max_length, d))

    def forward(self, X: Tensor, start: int = 0, steps: Tensor | None = None) -> Tensor:
        """X with learnt rows added; `steps` (n, L), if given, says which."""
        stop = start + X.shape[-2]
        if stop > len(self.P):
            raise ValueError(
                f"a sequence has {stop} steps, but positions were learnt for "
                f"{len(self.P)}: raise max_length."
            )
        return X + self.P[slice(start, stop) if steps is None else steps]


@torch.compiler.assume_constant_result
def rotation_table(length, d, start, base, device, dtype) -> tuple[Tensor, Tensor]:
    """cos and sin of t w_i, (length, d / 2) each.

    Kept, as every block asks for it: a compiled net reads it too, instead of computing
    sines for every row and head.
    """
    return _kept_rotation_table(length, d, start, base, device, dtype)


@lru_cache(maxsize=64)
def _kept_rotation_table(length, d, start, base, device, dtype):
    with torch.no_grad():
        angles = position_angles(length, d, start, base, device)
        return angles.cos().to(dtype), angles.sin().to(dtype)


class Rotary(nn.Module):
    """Rotates pairs of columns by their position, eq. (2).

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> rotary, x = nn.Rotary(4), torch.randn(1, 4)
    >>> near = rotary(x, start=3) @ rotary(x, start=5).T
    >>> far = rotary(x, start=103) @ rotary(x, start=105).T
    >>> torch.allclose(near, far, atol=1e-4)
    True
    """

    def __init__(self, d, *, base=10000.0):
        super().__init__()
        if d % 2:
            raise ValueError(f"rotary positions need an even number of columns: {d}.")
        self.d, self.base = d, base

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        L = x.shape[-2]
        cos, sin = rotation_table(L, self.d, start, self.base, x.device, x.dtype)
        a, b = x[..., ::2], x[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1)
        return turned.flatten(-2)
