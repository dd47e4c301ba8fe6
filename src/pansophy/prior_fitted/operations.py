"""The operations of the network's forward pass, by kind of array.

torch tensors go to torch's own kernels (on whatever device they are), NumPy arrays to
matrix products of BLAS and compiled loops.
"""

import sys

from ..core.arrays import is_torch

EPS = 1e-6  # in the norm


def linear(x, weight):
    """The product of the last axis of x (..., i) with a weight (o, i)."""
    return x @ weight.T


def rms_norm(x):
    """x over the root of its mean square along the last axis."""
    if is_torch(x):
        return sys.modules["torch"].nn.functional.rms_norm(x, x.shape[-1:], eps=EPS)
    raise NotImplementedError  # TODO: compiled loop


def gelu(x):
    """x times the normal distribution function of x."""
    if is_torch(x):
        return sys.modules["torch"].nn.functional.gelu(x)
    raise NotImplementedError  # TODO: compiled loop


def attention(queries, keys, values, scale):
    """Attention of queries (B, q, w) to keys and values (B, n, w).

    The heads cut the last axis into as many parts as `scale` has entries, which
    multiply the queries.
    """
    if is_torch(queries):
        functional = sys.modules["torch"].nn.functional
        heads = scale.shape[0]

        def cut(x):
            return x.unflatten(-1, (heads, -1)).transpose(-3, -2)

        q = cut(queries) * scale.to(queries.dtype)[:, None, None]
        mixed = functional.scaled_dot_product_attention(q, cut(keys), cut(values))
        return mixed.transpose(-3, -2).flatten(-2)
    raise NotImplementedError  # TODO: compiled loop
