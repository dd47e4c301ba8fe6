"""Embeddings of numbers: each column of a table as a vector, learnt with the net.

A net sees the number x_j of a column through one direction only; an embedding gives it
room to bend. With training quantiles q_0 < q_1 < ... < q_T of the column,

    piecewise linear   e_t = (x - q_{t-1}) / (q_t - q_{t-1}),  at most 1 for t < T
                       and at least 0 for t > 1;   v = relu(W_j e + b_j)           (1)
    periodic           p = [sin(2 pi c x), cos(2 pi c x)];  v = relu(W_j p + b_j)  (2)

where c are k frequencies of each column, learnt from N(0, sigma^2). Beyond the outer
quantiles (1) goes on as a straight line. Every column has its own W_j and b_j.

Shapes    x (rows, d)   e (rows, d, T)   v (rows, d, width)
Refs      [Gorishniy2022]
"""

import math

import numpy as np
import torch
from torch import Tensor, nn


def distinct_quantiles(X, n_bins: int, w=None) -> list[np.ndarray]:
    """Distinct quantiles q_0 < ... < q_T of each column; NaN and weights 0 left out.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.nn.layers.numeric_embeddings import distinct_quantiles
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [4.0, np.nan]])
    >>> [q.tolist() for q in distinct_quantiles(X, 2)]
    [[0.0, 1.0, 4.0], [7.0, 8.0]]
    """
    results = []
    for x in X.T:
        is_used = np.isfinite(x) if w is None else np.isfinite(x) & (w > 0)
        values, index = np.unique(x[is_used], return_inverse=True)
        if len(values) == 0:
            results.append(np.array([0.0, 1.0]))
            continue
        mass = np.bincount(index, None if w is None else w[is_used], len(values))
        share = np.cumsum(mass) / mass.sum()
        inner = np.arange(1, n_bins) / n_bins
        places = np.searchsorted(share, inner - 1e-9)
        edges = np.unique(values[np.concatenate([[0], places, [len(values) - 1]])])
        results.append(
            edges if len(edges) > 1 else np.array([edges[0], edges[0] + 1.0])
        )
    return results


class ColumnLinear(nn.Module):
    """A linear map of its own for each column: (rows, d, m) -> (rows, d, k)."""

    undecayed = ("bias",)

    def __init__(self, columns, m, k):
        super().__init__()
        bound = 1 / math.sqrt(m)
        draw = lambda *shape: torch.empty(shape).uniform_(-bound, bound)
        self.weight = nn.Parameter(draw(columns, m, k))
        self.bias = nn.Parameter(draw(columns, k))

    def forward(self, e: Tensor) -> Tensor:
        # one product per column
        v = torch.baddbmm(self.bias[:, None], e.transpose(0, 1), self.weight)
        return v.transpose(0, 1)


class PiecewiseLinearEmbedding(nn.Module):
    """Piecewise linear embedding, eq. (1).

    Parameters
    ----------
    bins : list of arrays
        q_0 < ... < q_T of each column, of any number each.
    width : int
    activation : bool, default=True
        Whether the relu of eq. (1) is applied.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import PiecewiseLinearEmbedding
    >>> layer = PiecewiseLinearEmbedding([[0.0, 1.0, 4.0], [0.0, 1.0]], 3)
    >>> layer.encode(torch.tensor([[2.0, 0.5]])).tolist()
    [[[1.0, 0.3333333432674408], [0.0, 0.5]]]
    >>> layer(torch.zeros(5, 2)).shape
    torch.Size([5, 2, 3])
    """

    left: Tensor
    inverse: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, bins, width, *, activation=True):
        super().__init__()
        T = max(len(q) for q in bins) - 1
        shape = (len(bins), T)
        left, inverse, low = (np.zeros(shape) for _ in range(3))
        high = np.ones(shape)
        for j, q in enumerate(bins):
            q = np.asarray(q, float)
            k = T - len(q) + 1  # columns of few values fill the last places
            left[j, k:] = q[:-1]
            inverse[j, k:] = 1 / np.diff(q)
            low[j, k] = -np.inf
            high[j, -1] = np.inf
        for name, value in (
            ("left", left), ("inverse", inverse), ("low", low), ("high", high)
        ):  # fmt: skip
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32))
        self.map = ColumnLinear(len(bins), T, width)
        self.activation = bool(activation)

    def encode(self, x: Tensor) -> Tensor:
        """e of eq. (1): (rows, d, T)."""
        e = (x[:, :, None] - self.left) * self.inverse
        return torch.minimum(torch.maximum(e, self.low), self.high)

    def forward(self, x: Tensor) -> Tensor:
        v = self.map(self.encode(x))
        return torch.relu(v) if self.activation else v


class PeriodicEmbedding(nn.Module):
    """Periodic embedding, eq. (2).

    Parameters
    ----------
    columns : int
    width : int
    frequencies : int, default=16
        k, for each column.
    scale : float, default=0.1
        sigma, for columns of standard deviation 1.
    activation : bool, default=True

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import PeriodicEmbedding
    >>> PeriodicEmbedding(2, 8)(torch.zeros(5, 2)).shape
    torch.Size([5, 2, 8])
    """

    undecayed = ("frequencies",)

    def __init__(self, columns, width, *, frequencies=16, scale=0.1, activation=True):
        super().__init__()
        self.frequencies = nn.Parameter(scale * torch.randn(columns, frequencies))
        self.map = ColumnLinear(columns, 2 * frequencies, width)
        self.activation = bool(activation)

    def forward(self, x: Tensor) -> Tensor:
        angle = 2 * math.pi * x[:, :, None] * self.frequencies
        v = self.map(torch.cat([torch.sin(angle), torch.cos(angle)], 2))
        return torch.relu(v) if self.activation else v
