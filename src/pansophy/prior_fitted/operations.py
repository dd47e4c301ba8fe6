"""The operations of the network's forward pass, by kind of array.

torch tensors go to torch's own kernels (on whatever device they are). NumPy arrays go
to matrix products of BLAS and to compiled loops; these run on one thread, and members
of an ensemble or blocks of rows on several.
"""

import sys

import numpy as np

from ..core.arrays.arrays import is_torch
from ..core.loops.triton_support import has_triton

EPS = 1e-6  # in the norm
MOST_SCORES = 1 << 20  # scores of attention that exist at a time


def linear(x, weight):
    """The product of the last axis of x (..., i) with a weight (o, i)."""
    if is_torch(x):
        return x @ weight.T
    # one product of all rows, not one for each leading index
    rows = x.reshape(-1, x.shape[-1]) @ weight.T
    return rows.reshape(*x.shape[:-1], weight.shape[0])


def rms_norm(x):
    """x over the root of its mean square along the last axis."""
    if is_torch(x):
        return sys.modules["torch"].nn.functional.rms_norm(x, x.shape[-1:], eps=EPS)
    from ._operations import rms_norm_of

    rows = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    rms_norm_of(rows, np.float32(EPS), out)
    return out.reshape(x.shape)


def add_norm(x, change):
    """The sum of x and its change, and the norm of the sum."""
    if is_torch(x) and x.is_cuda and has_triton():
        from ._network_triton import AddNorm

        return AddNorm.apply(x, change, EPS)
    total = x + change
    return total, rms_norm(total)


def gelu(x):
    """x times the normal distribution function of x."""
    if is_torch(x):
        return sys.modules["torch"].nn.functional.gelu(x)
    from ._operations import gelu_of

    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    gelu_of(x.ravel(), out.ravel())
    return out


def multi_head_attention(queries, keys, values, heads: int):
    """Attention of queries (B, q, w) to keys and values (B, n, w).

    The heads cut the last axis into parts of equal width.
    """
    if not is_torch(queries):
        return _blocked_attention(queries, keys, values, heads)
    if queries.is_cuda and has_triton():
        from ._network_triton import ShortAttention, suits_short_attention

        if suits_short_attention(queries, keys, heads):
            return ShortAttention.apply(queries, keys, values, heads)
    functional = sys.modules["torch"].nn.functional

    def cut(x):
        return x.unflatten(-1, (heads, -1)).transpose(-3, -2)

    mixed = functional.scaled_dot_product_attention(
        cut(queries), cut(keys), cut(values)
    )
    return mixed.transpose(-3, -2).flatten(-2)


def _blocked_attention(queries, keys, values, heads: int):
    """`multi_head_attention` of arrays, with few scores at a time."""
    from ._operations import softmax_rows

    B, q, w = queries.shape
    n = keys.shape[1]
    width = w // heads
    factor = np.float32(1 / np.sqrt(width))
    out = np.empty((B, q, w), np.float32)
    a_row = heads * n  # scores of a query
    q_step = max(1, min(q, MOST_SCORES // a_row))
    b_step = max(1, MOST_SCORES // (a_row * q_step)) if q_step >= q else 1

    def cut(x):
        return x.reshape(*x.shape[:-1], heads, width).swapaxes(1, 2)

    for b in range(0, B, b_step):
        K = cut(keys[b : b + b_step]).swapaxes(2, 3)
        V = cut(values[b : b + b_step])
        for i in range(0, q, q_step):
            Q = cut(queries[b : b + b_step, i : i + q_step] * factor)
            scores = np.matmul(Q, K)
            softmax_rows(scores.reshape(-1, n))
            np.matmul(scores, V, out=cut(out[b : b + b_step, i : i + q_step]))
    return out
