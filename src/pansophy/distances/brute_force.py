"""Brute-force neighbour search: matrix products tell which pairs to compute.

    s_ij = |x_j|^2 / 2 - x_j.q_i = (|x_j - q_i|^2 - |q_i|^2) / 2                 (1)

is one product of rows [-x, |x|^2 / 2] and [q, 1], taken about the mean of X, in float32
even if X is float64. It errs by at most e / 2,

    e = (d + 16) u (|q| + max |x|)^2     u the rounding unit                     (2)

so a pair within e of the limit is computed from x - q itself, and the rest cannot
matter. If too many rows lie within e of each other, the block is done again in full
precision, about the mean of each tile.

Shapes    X (n, d)   Q (m, d)   a tile (QUERIES, ROWS)
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.loops import threads
from ..persist.saved_state import FloatArray, saved_state
from . import _brute_force, _neighbor_lists
from .pairwise_metrics import block_slices

LARGE = 1e18  # its square is near the largest number of float32
QUERIES, ROWS = 256, 1024  # a tile of products: a megabyte in float32


@saved_state(center=FloatArray("columns"), rows=FloatArray("n", "columns+1"))
class CenteredRows(NamedTuple):
    """Rows about their mean with |x|^2 / 2 as a last column, for matrix products."""

    center: np.ndarray  # (d,)
    rows: np.ndarray  # (n, d + 1), [-x, |x|^2 / 2] in float32 or float64
    longest: float  # the largest |x|


def center_for_products(X, dtype=None) -> CenteredRows:
    """The parts of brute force that do not depend on the queries.

    Without a dtype they are in float32, if that can hold the squares.
    """
    n, d = X.shape
    if dtype is None:
        dtype = np.float32 if np.ptp(X, axis=0).max() < LARGE / d else X.dtype
    center = X.mean(axis=0)
    rows = np.empty((n, d + 1), dtype)
    longest = 0.0
    for cut in block_slices(n, ROWS):
        A = X[cut] - center
        half = 0.5 * np.einsum("ij,ij->i", A, A)
        rows[cut, :d], rows[cut, d] = -A, half
        longest = max(longest, math.sqrt(2 * float(half.max())))
    return CenteredRows(center, rows, longest)


class QueryBlock(NamedTuple):
    """A block of queries for `CenteredRows`."""

    rows: np.ndarray  # (b, d + 1), [q, 1] about the same mean
    norms: np.ndarray  # (b,), |q|^2
    slack: np.ndarray  # (b,), e: what a squared distance may be off by


def query_block(tiles, Q) -> QueryBlock:
    A = Q - tiles.center
    norms = np.einsum("ij,ij->i", A, A).astype(np.float64)
    dtype = tiles.rows.dtype
    rows = np.ones((len(A), A.shape[1] + 1), dtype)
    rows[:, :-1] = A
    # each of d + 1 products and sums, and each rounding of x and q, errs by 1 unit
    slack = (
        (A.shape[1] + 16) * np.finfo(dtype).eps * (np.sqrt(norms) + tiles.longest) ** 2
    )
    return QueryBlock(rows, norms, slack)


def k_nearest_by_products(index, Q, excluded, k):
    """Lists by matrix products, one task for each block of queries."""
    m = len(Q)
    D = np.full((m, k), np.inf, index.X.dtype)
    J = np.full((m, k), index.n, np.int64)

    def find(cut):
        _collect_block_nearest(index, Q[cut], excluded[cut], D[cut], J[cut])
        _neighbor_lists.sort_lists(D[cut], J[cut])

    for _ in threads.run_tasks(
        ((lambda c=c: find(c)) for c in block_slices(m, QUERIES)), blas=True
    ):
        pass
    return D, J


def _collect_block_nearest(index, Q, excluded, D, J):
    """Fill the lists of a block of queries."""
    tiles = index.tiles
    (b, k) = D.shape
    if tiles.rows.dtype != np.float32:
        collect_block_exact(index, Q, excluded, D, J)
        return
    ask = query_block(tiles, Q)
    limit = np.full(b, np.inf, np.float32)
    used = np.zeros(b, np.int64)
    size = 2 * k + 4 * _brute_force.STEP
    values, rows = np.empty((b, size), np.float32), np.empty((b, size), np.int64)
    S = np.empty(b * min(ROWS, index.n), np.float32)
    for cut in block_slices(index.n, ROWS):
        m = cut.stop - cut.start
        T = S[: b * m].reshape(b, m)
        np.matmul(ask.rows, tiles.rows[cut].T, out=T)
        if not _brute_force.collect_candidates(
            T, cut.start, excluded, ask.slack, k, limit, used, values, rows
        ):
            collect_block_exact(index, Q, excluded, D, J)
            return
    _brute_force.finish_candidates(index.X, Q, ask.slack, used, values, rows, D, J)


def collect_block_exact(index, Q, excluded, D, J):
    """Neighbours in full precision, of rows too close for float32 to tell apart."""
    for cut in block_slices(index.n, ROWS):
        X = index.X[cut]
        tiles = center_for_products(X, X.dtype)
        ask = query_block(tiles, Q)
        S = ask.rows @ tiles.rows.T
        _brute_force.collect_exact(
            S, X, cut.start, Q, excluded, ask.norms, ask.slack, D, J
        )


def pairs_within_radius(index, Q, radius):
    """(query, row, squared distance) of the pairs within a radius, by tiles."""
    pairs = []
    for cut in block_slices(len(Q), QUERIES):
        ask = query_block(index.tiles, Q[cut])
        for rows in block_slices(index.n, ROWS):
            S = ask.rows @ index.tiles.rows[rows].T
            query, row, far = _brute_force.pairs_within(
                S, index.X[rows], Q[cut], ask.norms, ask.slack, radius[cut]
            )
            pairs.append((query + cut.start, row + rows.start, far))
    return pairs
