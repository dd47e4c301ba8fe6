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


def _apply_kronecker(a, M):
    """(M x ... x M) a, one axis at a time."""
    for axis in range(a.ndim):
        a = np.moveaxis(np.tensordot(M, a, axes=(1, axis)), 0, axis)
    return a


def _row_log_weights(U, L):
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
    >>> from pansophy.graphical.fields.transfer_matrix import transfer_matrix_inference
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
        w = _row_log_weights(U[t], L)
        log_z += w.max()
        weights.append(np.exp(w - w.max()))
        a = weights[t] if a is None else weights[t] * _apply_kronecker(a, M.T)
        log_z += np.log(a.sum())
        a = a / a.sum()
        forward.append(a)
    P = np.empty((height, width, q))
    b = np.ones_like(forward[0])
    for t in reversed(range(height)):
        joint = forward[t] * b
        joint /= joint.sum()
        for j in range(width):
            other_axes = tuple(k for k in range(width) if k != j)
            P[t, j] = joint.sum(axis=other_axes)
        b = _apply_kronecker(weights[t] * b, M)
        b /= b.max()
    return float(log_z), P


def neighbor_pairs(height, width, periodic=False):
    """Pairs (m, 2) of neighbouring pixels, numbered along the rows."""
    pixels = np.arange(height * width).reshape(height, width)
    if periodic:
        ends = np.roll(pixels, -1, axis=1), np.roll(pixels, -1, axis=0)
        return np.concatenate([np.stack([pixels, e], -1).reshape(-1, 2) for e in ends])
    in_rows = np.stack([pixels[:, :-1], pixels[:, 1:]], -1).reshape(-1, 2)
    in_columns = np.stack([pixels[:-1], pixels[1:]], -1).reshape(-1, 2)
    return np.concatenate([in_rows, in_columns])


def check_grid_shape(shape, boundary):
    """(height, width) as two integers, of which a periodic grid needs 2 or more."""
    try:
        height, width = (index(n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape must be (height, width), got {shape!r}.") from None
    min_side = 2 if boundary == "periodic" else 1
    if height < min_side or width < min_side:
        raise ValueError(
            f"the sides of a {boundary} grid must have at least {min_side} "
            f"pixel{'s' * (min_side > 1)}, got {shape!r}."
        )
    return height, width


def pixel_colors(shape, periodic=False):
    """Colours 0, 1, ... of the pixels, of which no two neighbours have the same.

    A checkerboard has two. A ring of odd length needs a third, for its last row or
    column; colours of rows and columns are added modulo their number.
    """
    height, width = shape
    row, column = np.arange(height) % 2, np.arange(width) % 2
    odd = periodic and (height % 2 or width % 2)
    if periodic and height % 2:
        row[-1] = 2
    if periodic and width % 2:
        column[-1] = 2
    return np.add.outer(row, column) % (3 if odd else 2)


def periodic_inference(U, L):
    """log Z and the marginals (height, width, q) of a grid with periodic borders.

    As eq. (2), with the states of the first row kept: forward and backward are
    matrices, whose product is closed by a step from the last row to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.fields.transfer_matrix import periodic_inference
    >>> log_z, P = periodic_inference(np.zeros((3, 3, 2)), np.zeros((2, 2)))
    >>> round(log_z, 6), P[0, 0]
    (6.238325, array([0.5, 0.5]))
    """
    height, width, q = U.shape
    if width > height:
        log_z, P = periodic_inference(U.swapaxes(0, 1), L.T)
        return log_z, P.swapaxes(0, 1)
    states = q**width
    if states**2 > MAX_ROW_STATES:
        raise ValueError(
            f"a periodic grid of {height} x {width} pixels with {q} labels has "
            f"{q}^{width} joint labels of its shorter side, too many to be exact: "
            "sample instead."
        )
    T = np.ones((1, 1))
    for _ in range(width):
        T = np.kron(T, np.exp(L - L.max()))
    log_z = height * width * L.max()
    weights = []
    for t in range(height):
        w = _row_log_weights(U[t], L) + _first_and_last_pair(L, width)
        log_z += w.max()
        weights.append(np.exp(w - w.max()).ravel())
    forward = [np.diag(weights[0])]
    for t in range(1, height):
        F = (forward[-1] @ T) * weights[t]
        log_z += np.log(F.max())
        forward.append(F / F.max())
    log_z += np.log((forward[-1] * T.T).sum())
    P = np.empty((height, width, q))
    B = T
    for t in reversed(range(height)):
        joint = (forward[t] * B.T).sum(axis=0)
        joint = (joint / joint.sum()).reshape((q,) * width)
        for j in range(width):
            other_axes = tuple(k for k in range(width) if k != j)
            P[t, j] = joint.sum(axis=other_axes)
        B = (T * weights[t]) @ B
        B = B / B.max()
    return float(log_z), P


def _first_and_last_pair(L, width):
    """L between the last and the first pixel of a row, over the states of the row."""
    q = len(L)
    ends = [q if k in (0, width - 1) else 1 for k in range(width)]
    return L.T.reshape(ends)  # axis 0 is the first pixel, the last axis the last
