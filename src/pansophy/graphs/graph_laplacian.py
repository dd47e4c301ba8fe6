"""Connected components, degrees, Laplacians and cut values of weighted graphs.

For symmetric weights W >= 0 with degrees d_i = sum_j W_ij (self-loops cross no
cut and are ignored),

    L = D - W          L_sym = I - D^-1/2 W D^-1/2                              (1)
    cut(A_1 .. A_k)        = 1/2 sum_c W(A_c, rest)                             (2)
    ratio cut              = sum_c W(A_c, rest) / |A_c|                         (3)
    normalised cut         = sum_c W(A_c, rest) / sum_{i in A_c} d_i            (4)

f^T L f = 1/2 sum_ij W_ij (f_i - f_j)^2, so L is positive semi-definite and its null
space is spanned by the indicators of the components. (3) and (4) are traces of
H^T L H for indicators H scaled to be orthonormal (under D for (4)); relaxing H to real
values gives the eigenvectors of `laplacian_eigenvectors`.

Shapes    W (n, n) CSR or dense   labels (n,)   result (n, n) or a number
Refs      [ShiMalik2000]; [Luxburg2007]
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

CUT_KINDS = ("cut", "ratio", "normalized")


def connected_components(G):
    """Number of components and the component of each row, ignoring edge directions.

    Components are numbered in the order of their first rows. Stored zeros are edges.

    Examples
    --------
    >>> connected_components(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    (2, array([0, 0, 1]))
    """
    if not sp.issparse(G):
        return _dense_components(np.asarray(G) != 0)
    G = sp.csr_array(G)
    if not G.data.all():
        ones = np.ones(len(G.data), np.int8)
        G = sp.csr_array((ones, G.indices, G.indptr), shape=G.shape)
    count, labels = csgraph.connected_components(G, directed=False)
    _, first = np.unique(labels, return_index=True)
    rank = np.empty(count, np.int64)
    rank[labels[np.sort(first)]] = np.arange(count)
    return int(count), rank[labels]


def _dense_components(A):
    """`connected_components` of a boolean matrix."""
    labels = np.full(len(A), -1)
    count = 0
    for first in range(len(A)):
        if labels[first] >= 0:
            continue
        front = np.array([first])
        while len(front):
            labels[front] = count
            reach = A[front].any(axis=0) | A[:, front].any(axis=1)
            front = np.flatnonzero(reach & (labels < 0))
        count += 1
    return count, labels


def drop_self_loops(W):
    """W as CSR or a dense array with zero diagonal."""
    if not sp.issparse(W):
        W = np.array(W, dtype=np.result_type(np.asarray(W).dtype, np.float32))
        np.fill_diagonal(W, 0.0)
        return W
    W = sp.coo_array(W)
    is_edge = W.row != W.col
    indices = (W.row[is_edge], W.col[is_edge])
    return sp.csr_array((W.data[is_edge].astype(float), indices), shape=W.shape)


def node_degrees(W):
    """d_i = sum over j != i of W_ij."""
    return np.asarray(W.sum(axis=1)).ravel() - W.diagonal()


def laplacian(W, normed=True):
    """Eq. (1): L_sym, or L if not `normed`. A row without edges has a row of zeros.

    Examples
    --------
    >>> laplacian(np.array([[0.0, 2.0], [2.0, 0.0]]), normed=False)
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    W = drop_self_loops(W)
    d = node_degrees(W)
    diagonal = d
    if normed:
        s = inverse_sqrt_degrees(d)
        diagonal = (d > 0).astype(W.dtype)
        W = scale_rows_and_columns(W, s)
    if sp.issparse(W):
        return sp.csr_array(sp.diags_array(diagonal) - W)
    np.negative(W, out=W)
    W[np.diag_indices_from(W)] = diagonal
    return W


def inverse_sqrt_degrees(d):
    """d^-1/2, and 0 where d is 0."""
    return np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)


def scale_rows_and_columns(W, s):
    """diag(s) W diag(s)."""
    if sp.issparse(W):
        row = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        data = W.data * s[row] * s[W.indices]
        return sp.csr_array((data, W.indices, W.indptr), shape=W.shape)
    return s[:, None] * W * s


def cut_value(W, labels, kind="normalized"):
    """The cut value of a partition, eq. (2) to (4); a cluster without edges adds 0.

    Examples
    --------
    >>> W = np.array([[0, 3, 1], [3, 0, 0], [1, 0, 0]])
    >>> cut_value(W, [0, 0, 1], "cut"), cut_value(W, [0, 0, 1], "ratio")
    (1.0, 1.5)
    """
    if kind not in CUT_KINDS:
        raise ValueError(f"kind must be 'cut', 'ratio' or 'normalized', got {kind!r}.")
    W = sp.coo_array(W)
    _, z = np.unique(np.asarray(labels), return_inverse=True)
    if len(z) != W.shape[0]:
        raise ValueError(f"{len(z)} labels for a graph of {W.shape[0]} rows.")
    k = int(z.max(initial=0)) + 1
    a, b = z[W.row], z[W.col]
    not_loop = W.row != W.col
    cut_weights = np.bincount(a, np.where(a != b, W.data, 0), minlength=k)
    if kind == "cut":
        return float(cut_weights.sum() / 2)
    if kind == "ratio":
        return float((cut_weights / np.bincount(z, minlength=k)).sum())
    volume = np.bincount(a, np.where(not_loop, W.data, 0), minlength=k)
    return float(np.divide(cut_weights, volume, np.zeros(k), where=volume > 0).sum())
