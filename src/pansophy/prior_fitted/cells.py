r"""The numbers that the network reads of each cell of a table.

A column is seen only relative to its values in the n training rows, so shift and scale
of a column change nothing. With the mean and deviation of the known training values,
:math:`z = (x - \bar x) / s` clipped to [-30, 30]; with the shares :math:`l` of them
below x and :math:`u` at or below x, the mid-rank :math:`r = l + u - 1 \in [-1, 1]`. A
cell is

.. math:: (1,\ \text{missing},\ z/3,\ \text{sign}(z) \log(1 + |z|),\ r,\ u - l,\
          \sin, \cos(3^j \pi r),\ \sin, \cos(2^k z)), \quad j < 4,\ k < 5

Waves of rising frequency resolve small differences, which a network on the value alone
would have to magnify [1]_; u - l is above 1/n where values repeat. A missing value is 0
in all but the first two. Cost: a sort of the training part of each column.

References
----------
.. [1] Tancik et al. (2020). Fourier features let networks learn high frequency
   functions in low dimensional domains. NeurIPS.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays.arrays import is_torch, namespace

N_CELL_FEATURES = 24
FARTHEST = 30.0  # |z| is clipped here
RANK_WAVES = 4
VALUE_WAVES = 5


class ColumnStatistics(NamedTuple):
    """What cells need of the training rows of B tables of d columns."""

    mean: Any  # (B, 1, d)
    scale: Any  # (B, 1, d)
    ordered: Any  # (B, d, n), missing values last, as infinity
    count: Any  # (B, 1, d), known values


def describe_columns(X) -> ColumnStatistics:
    """Mean, deviation and order of the training rows X (B, n, d), NaN where missing."""
    xp = namespace(X)
    missing = xp.isnan(X)
    known = xp.astype(~missing, X.dtype)
    count = xp.clip(xp.sum(known, axis=1, keepdims=True), 1, None)
    filled = xp.where(missing, xp.zeros_like(X), X)
    mean = xp.sum(filled, axis=1, keepdims=True) / count
    deviation = (filled - mean) * known
    scale = xp.sqrt(xp.sum(deviation**2, axis=1, keepdims=True) / count)
    ordered = xp.where(missing, xp.full_like(X, math.inf), X)
    return ColumnStatistics(
        mean, scale, xp.sort(xp.permute_dims(ordered, (0, 2, 1)), axis=-1), count
    )


def encode_cells(columns: ColumnStatistics, X):
    """Cells (B, N, d, 24) of rows X (B, N, d)."""
    xp = namespace(X)
    missing = xp.isnan(X)
    filled = xp.where(missing, xp.zeros_like(X), X)
    z = (filled - columns.mean) / (columns.scale + 1e-6)
    z = xp.where(missing, xp.zeros_like(z), xp.clip(z, -FARTHEST, FARTHEST))
    share_below, share_at_most = _counts(
        columns.ordered, xp.permute_dims(filled, (0, 2, 1))
    )
    share_below = xp.permute_dims(share_below, (0, 2, 1)) / columns.count
    share_at_most = xp.permute_dims(share_at_most, (0, 2, 1)) / columns.count
    zeros = xp.zeros_like(z)
    rank = xp.where(missing, zeros, xp.clip(share_below + share_at_most - 1, -1, 1))
    ties = xp.where(missing, zeros, share_at_most - share_below)
    features = [
        xp.ones_like(z),
        xp.astype(missing, z.dtype),
        z / 3,
        xp.sign(z) * xp.log1p(xp.abs(z)),
        rank,
        ties,
    ]
    for angle in [
        *(3**j * math.pi * rank for j in range(RANK_WAVES)),
        *(2**k * z for k in range(VALUE_WAVES)),
    ]:
        features += [xp.sin(angle), xp.where(missing, zeros, xp.cos(angle))]
    return xp.stack(features, axis=-1)


def _counts(ordered, values):
    """How many of the ordered (B, d, n) are below, and at most, values (B, d, N)."""
    if is_torch(values):
        import torch

        ordered, values = ordered.contiguous(), values.contiguous()
        n_below = torch.searchsorted(ordered, values)
        n_at_most = torch.searchsorted(ordered, values, right=True)
        return n_below.to(values.dtype), n_at_most.to(values.dtype)
    n_below = np.empty_like(values)
    n_at_most = np.empty_like(values)
    for place in np.ndindex(values.shape[:2]):
        n_below[place] = np.searchsorted(ordered[place], values[place])
        n_at_most[place] = np.searchsorted(ordered[place], values[place], side="right")
    return n_below, n_at_most
