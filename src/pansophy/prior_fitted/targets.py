r"""Targets of the network: how a class or a number is told to it, and read from it.

A class is told as a one-hot vector and read from one logit a class. A number y is told
as the cell of a column (`cells`), so only relative to the mean and deviation of the
training targets, :math:`z = (y - \bar y) / s`. It is read from a distribution p over
knots :math:`z_k`, evenly spaced between -4 and 4, with the hats

.. math:: h_k(z) = \max(0, 1 - |z - z_k| / \delta), \quad \sum_k h_k(z)\, z_k = z  (1)

that share a number between its two neighbours. The density of z is
:math:`\sum_k p_k h_k(z) / \delta`. Of a hat one half lies on either side of its knot,
and it ends at the next, so at the knots the distribution function is exactly

.. math:: F(z_k) = \sum_{j < k} p_j + p_k / 2                                     (2)
"""

import numpy as np

from ..core.arrays.arrays import device, namespace
from .cells import N_CELL_FEATURES, describe_columns, encode_cells

N_CLASSES = 10  # of the head
N_KNOTS = 64
FARTHEST_KNOT = 4.0  # training deviations of the target


def encode_targets(y, n_classes: int):
    """Targets as the network is told them (B, n, 34), their mean and scale (B, 1).

    For classes (whole numbers below `n_classes`) mean and scale are 0 and 1.
    """
    xp = namespace(y)
    device_of_y = device(y)
    B, n = y.shape
    if n_classes:
        levels = xp.arange(N_CLASSES, dtype=y.dtype, device=device_of_y)
        classes = xp.astype(y[..., None] == levels, xp.float32)
        cells = xp.zeros((B, n, N_CELL_FEATURES), dtype=xp.float32, device=device_of_y)
        mean = xp.zeros((B, 1), dtype=xp.float32, device=device_of_y)
        scale = xp.ones((B, 1), dtype=xp.float32, device=device_of_y)
    else:
        classes = xp.zeros((B, n, N_CLASSES), dtype=y.dtype, device=device_of_y)
        columns = describe_columns(y[..., None])
        cells = encode_cells(columns, y[..., None])[:, :, 0]
        mean = columns.mean[..., 0]
        scale = columns.scale[..., 0] + 1e-6
    return xp.concat([classes, cells], axis=2), mean, scale


def knot_positions(like):
    """Positions z_k of the knots, of the library and device of `like`."""
    xp = namespace(like)
    return xp.linspace(
        -FARTHEST_KNOT, FARTHEST_KNOT, N_KNOTS, dtype=like.dtype, device=device(like)
    )


def hat_weights(z):
    """Shares h_k of numbers z in the knots, equation (1)."""
    xp = namespace(z)
    step = 2 * FARTHEST_KNOT / (N_KNOTS - 1)
    z = xp.clip(z, -FARTHEST_KNOT, FARTHEST_KNOT)
    return xp.clip(1 - xp.abs(z[..., None] - knot_positions(z)) / step, 0, None)


def quantiles_on_grid(grid: np.ndarray, P: np.ndarray, levels: np.ndarray):
    """Quantiles (rows, levels) of distributions with masses P (rows, k) on a grid.

    Inverts equation (2), linear between the points of the ascending grid (k,).
    """
    F = np.cumsum(P, axis=1) - P / 2
    F /= P.sum(axis=1, keepdims=True)
    Q = np.empty((len(P), len(levels)))
    for i, f in enumerate(F):
        Q[i] = np.interp(levels, f, grid)
    return Q
