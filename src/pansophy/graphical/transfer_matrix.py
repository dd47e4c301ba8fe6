"""Transfer matrix method: exact inference in narrow grids of labelled pixels.

    p(x) = exp(sum_i U_i(x_i) + sum_{i ~ j} L(x_i, x_j)) / Z                       (1)

over pixels i and pairs i ~ j of neighbours, U (height, width, q), L (q, q) symmetric.
The labels of a row of m pixels are one variable of q^m states, and rows form a chain:

    a_{t+1} = w_{t+1} * (M x M x ... x M) a_t,   M = exp(L)                        (2)

with w_t the weight of a row by itself. The Kronecker product is applied one pixel at a
time, so that a row costs O(m q^{m+1}) rather than q^{2m}; the short side of the grid is
the row. Forward and backward passes give Z and the marginals of every pixel.

Shapes    U (height, width, q)   L (q, q)   a (q, ..., q) with m axes
Refs      [KramersWannier1941]
"""

from operator import index

import numpy as np

MAX_ROW_STATES = 1 << 20


def apply_kronecker(a, M):
    """(M x ... x M) a, one axis at a time."""
    for axis in range(a.ndim):
        a = np.moveaxis(np.tensordot(M, a, axes=(1, axis)), 0, axis)
    return a


def row_log_weights(U, L):
    """log w_t of eq. (2): the pixels of a row U (m, q) and the pairs in it."""
    m, q = U.shape
    w = np.zeros((q,) * m)
    for j in range(m):
        w = w + U[j].reshape([q if k == j else 1 for k in range(m)])
        if j:
            w = w + L.reshape([q if k in (j - 1, j) else 1 for k in range(m)])
    return w


def transfer_matrix_inference(U, L):
    """log Z and the marginals (height, width, q) of a grid with free borders.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.transfer_matrix import transfer_matrix_inference
    >>> log_z, P = transfer_matrix_inference(np.zeros((3, 3, 2)), np.zeros((2, 2)))
    >>> round(log_z, 6), P[0, 0]
    (6.238325, array([0.5, 0.5]))
    """
    height, width, q = U.shape
    if width > height:
        log_z, P = transfer_matrix_inference(U.swapaxes(0, 1), L.T)
        return log_z, P.swapaxes(0, 1)
    if q**width > MAX_ROW_STATES:
        raise ValueError(
            f"a grid of {height} x {width} pixels with {q} labels has {q}^{width} "
            "joint labels of its shorter side, too many to be exact: sample instead."
        )
    M = np.exp(L - L.max())
    log_z = (height - 1) * width * L.max()
    weights = []
    forward = []
    a = None
    for t in range(height):
        w = row_log_weights(U[t], L)
        log_z += w.max()
        weights.append(np.exp(w - w.max()))
        a = weights[t] if a is None else weights[t] * apply_kronecker(a, M.T)
        log_z += np.log(a.sum())
        a = a / a.sum()
        forward.append(a)
    P = np.empty((height, width, q))
    b = np.ones_like(forward[0])
    for t in reversed(range(height)):
        joint = forward[t] * b
        joint /= joint.sum()
        for j in range(width):
            others = tuple(k for k in range(width) if k != j)
            P[t, j] = joint.sum(axis=others)
        b = apply_kronecker(weights[t] * b, M)
        b /= b.max()
    return float(log_z), P


def neighbor_pairs(height, width, periodic=False):
    """Pairs (m, 2) of neighbouring pixels, numbered along the rows."""
    at = np.arange(height * width).reshape(height, width)
    if periodic:
        ends = np.roll(at, -1, axis=1), np.roll(at, -1, axis=0)
        return np.concatenate([np.stack([at, e], -1).reshape(-1, 2) for e in ends])
    across = np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2)
    down = np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)
    return np.concatenate([across, down])


def check_grid_shape(shape, boundary):
    """(height, width) as two integers, which must be even for a periodic grid."""
    try:
        height, width = (index(n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape must be (height, width), got {shape!r}.") from None
    if height < 1 or width < 1:
        raise ValueError(f"shape must have at least one pixel, got {shape!r}.")
    if boundary == "periodic" and (height % 2 or width % 2):
        raise ValueError(
            "a periodic grid is coloured like a checkerboard and needs even sides, got "
            f"{height} x {width}."
        )
    return height, width
