"""Affinities of t-SNE: probabilities that rows are neighbours of each other.

    p_{j|i} = exp(-b_i d_ij^2) / sum_l exp(-b_i d_il^2),   l over the others        (1)

with b_i such that row i has `perplexity` neighbours in effect: the entropy of p_{.|i}
is log perplexity. It falls as b_i rises, with slope -b_i Var(d^2) in log b_i up to a
factor, so that Newton's steps inside a bracket find it. The two sides are averaged:

    p_ij = (p_{j|i} + p_{i|j}) / 2n                                                 (2)

Rows beyond the 3 perplexity nearest have p_{j|i} too small to matter: *sparse*
affinities leave them out.

Shapes    D (n, k) squared distances to k neighbours   P (n, n), CSR or dense
Refs      [vanDerMaaten2008] (1), (2); [vanDerMaaten2014] leaving out far rows
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..core.arrays import arrays
from ..core.loops import threads
from . import _tsne
from .tsne_repulsion import point_ranges


def conditional_affinities(D, perplexity):
    """Eq. (1) for every row of squared distances; inf is no neighbour."""
    if arrays.is_foreign(D):
        return _conditional_affinities_tensor(D, perplexity)
    P = np.empty(D.shape, np.float64)
    target = math.log(perplexity)
    task = lambda c: _tsne.row_bandwidths(D, target, *c, P)
    for _ in threads.run_tasks([lambda c=c: task(c) for c in point_ranges(len(D))]):
        pass
    return P


def _conditional_affinities_tensor(D, perplexity, steps=60):
    """Eq. (1) for all rows at once, by halving brackets of log b, on D's device."""
    xp = arrays.namespace(D)
    target = math.log(perplexity)
    far = ~xp.isfinite(D)
    zero = xp.zeros_like(D)
    D = D - xp.min(D, axis=1, keepdims=True)
    D = xp.where(far, zero, D)
    mean = xp.sum(D, axis=1, keepdims=True) / D.shape[1]
    D = D / xp.where(mean > 0, mean, xp.ones_like(mean))
    low = xp.full_like(mean, -30.0)
    high = xp.full_like(mean, 30.0)

    def at(log_b):
        b = xp.exp(log_b)
        E = xp.where(far, zero, xp.exp(-b * D))
        total = xp.sum(E, axis=1, keepdims=True)
        P = E / total
        return P, xp.log(total) + b * xp.sum(P * D, axis=1, keepdims=True)

    for _ in range(steps):
        half = 0.5 * (low + high)
        wide = at(half)[1] > target
        low, high = xp.where(wide, half, low), xp.where(wide, high, half)
    return at(0.5 * (low + high))[0]


class SparseAffinities(NamedTuple):
    """A sparse P by rows: those of row i are at indptr[i] up to indptr[i + 1]."""

    indptr: np.ndarray  # unsigned, so that compiled loops need not look for negatives
    indices: np.ndarray
    data: np.ndarray

    @property
    def dtype(self):
        return self.data.dtype


def joint_affinities_sparse(
    D, neighbours, perplexity, dtype=np.float32
) -> SparseAffinities:
    """Eq. (2) over nearest neighbours."""
    n, k = D.shape
    P = conditional_affinities(D, perplexity).ravel()
    ends = np.arange(0, n * k + 1, k)
    P = sparse.csr_array((P, neighbours.ravel(), ends), shape=(n, n))
    P = sparse.csr_array(P + P.T)
    p = P.data / max(P.data.sum(), np.finfo(np.float64).tiny)
    index_type = np.uint32 if P.nnz < 2**32 else np.uint64
    return SparseAffinities(
        P.indptr.astype(index_type), P.indices.astype(index_type), p.astype(dtype)
    )


def joint_affinities_dense(D, perplexity):
    """Eq. (2) over all pairs; D (n, n) squared distances."""
    xp = arrays.namespace(D)
    n = D.shape[0]
    diagonal = xp.eye(n, dtype=xp.bool, device=arrays.device(D))
    P = conditional_affinities(
        xp.where(diagonal, xp.full_like(D, xp.inf), D), perplexity
    )
    P = P + xp.matrix_transpose(P)
    return xp.astype(P / xp.sum(P), D.dtype)
