"""Locally linear embedding: preserves the relation of each row to its neighbours.

Each row and its k neighbours are nearly a linear piece. Four definitions of what an
embedding Y must preserve of that lead to one quadratic form,

    minimise tr Y^T M Y    subject to    Y^T Y = I,  Y^T 1 = 0                      (1)

whose answer is the eigenvectors of M with the smallest eigenvalues after the constant:

* standard: x_i = sum_j w_ij x_j as nearly as can be, weights summing to 1; the y_i
  must be the same mixtures. M = (I - W)^T (I - W); w_i solves (C_i + r tr C_i I) w = 1,
  C_i the inner products of the neighbours seen from x_i.
* modified: several such weights for a row, all that its nearly flat directions allow.
* hessian: functions that are linear on each tangent plane; M sums squared Hessians.
* ltsa: the projections off the tangent planes, M = sum_i S_i (I - G_i G_i^T) S_i^T.

The small problems are solved many rows at a time.

Cost      O(n k^2 (k + d)) and the eigenvectors of a sparse matrix of n k^2 entries
Shapes    X (n, d)   Y (n, m)   M (n, n)   pieces (n, k, k)
Refs      [Roweis2000]; [ZhangWang2007] modified; [Donoho2003] hessian; [ZhangZha2004]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.loops import threads
from ..core.random import make_rng
from ..params import Count, Jobs, NonNegative
from ..typing import Seed
from .any_metric_neighbors import (
    NeighborSearch,
    neighbors_of_queries,
    neighbors_of_rows,
)

BLOCK = 1 << 22  # numbers in the pieces handled together
FEW = 400  # rows up to which a dense solver is quicker


def _piece_blocks(n, k, d):
    """Cuts of the rows, so that their pieces stay small."""
    step = max(1, BLOCK // (k * max(k, d)))
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def _reconstruction_weights(X, Z, neighbours, reg):
    """w of the standard method, (n, k): rows X as combinations of rows of Z."""
    n, k = neighbours.shape
    W = np.empty((n, k))
    for cut in _piece_blocks(n, k, Z.shape[1]):
        gap = Z[neighbours[cut]] - X[cut][:, None, :]
        C = gap @ gap.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        C[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, reg)[
            :, None
        ]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
        W[cut] = w / w.sum(axis=1, keepdims=True)
    return W


def _assemble_pieces(parts, n):
    """The sum of small symmetric matrices, each at the rows it speaks of."""
    row, column, value = [], [], []
    for rows, A in parts:  # at (b, s) rows, A (b, s, s)
        s = rows.shape[1]
        row.append(np.repeat(rows, s, axis=1).ravel())
        column.append(np.tile(rows, (1, s)).ravel())
        value.append(A.ravel())
    rows = (np.concatenate(row), np.concatenate(column))
    return sparse.csr_array((np.concatenate(value), rows), shape=(n, n))


def _standard_form(X, neighbours, reg):
    """M = (I - W)^T (I - W)."""
    n, k = neighbours.shape
    W = _reconstruction_weights(X, X, neighbours, reg)
    ends = np.arange(0, n * k + 1, k)
    R = sparse.eye_array(n) - sparse.csr_array(
        (W.ravel(), neighbours.ravel(), ends), shape=(n, n)
    )
    return sparse.csr_array(R.T @ R)


def _tangent_axes(gaps):
    """Left singular vectors (b, k, .) of the pieces (b, k, d), largest first."""
    return np.linalg.svd(gaps, full_matrices=False)[0]


def _ltsa_pieces(X, neighbours, m):
    """LTSA: I - G G^T, G the constant and the m main axes of the neighbours."""
    n, k = neighbours.shape
    for cut in _piece_blocks(n, k, X.shape[1]):
        rows = neighbours[cut]
        P = X[rows]
        U = _tangent_axes(P - P.mean(axis=1, keepdims=True))[:, :, :m]
        yield rows, np.eye(k) - 1.0 / k - U @ U.transpose(0, 2, 1)


def _hessian_pieces(X, neighbours, m, tol):
    """H H^T, H the part of the squares of tangent coordinates that is not linear."""
    n, k = neighbours.shape
    first, second = np.triu_indices(m)
    for cut in _piece_blocks(n, k, X.shape[1]):
        rows = neighbours[cut]
        P = X[rows]
        U = _tangent_axes(P - P.mean(axis=1, keepdims=True))[:, :, :m]
        T = np.concatenate(
            [np.ones((len(U), k, 1)), U, U[:, :, first] * U[:, :, second]], axis=2
        )
        H = np.linalg.qr(T)[0][:, :, m + 1 :]
        size = H.sum(axis=1, keepdims=True)
        H = H / np.where(np.abs(size) < tol, 1.0, size)
        yield rows, H @ H.transpose(0, 2, 1)


def _modified_pieces(X, neighbours, m, tol):
    """W W^T of several weights a row, row i itself with minus ones."""
    n, k = neighbours.shape
    rank = min(X.shape[1], k)
    V = np.empty((n, k, k))
    values = np.zeros((n, rank))
    for cut in _piece_blocks(n, k, X.shape[1]):
        U, s, _ = np.linalg.svd(X[neighbours[cut]] - X[cut][:, None, :])
        V[cut] = U
        values[cut] = s**2
    reg = 1e-3 * values.sum(axis=1, keepdims=True)
    part = V.sum(axis=1)  # V^T 1
    part[:, :rank] /= values + reg
    part[:, rank:] /= np.where(reg > 0, reg, 1.0)
    w = np.einsum("nij,nj->ni", V, part)
    w /= w.sum(axis=1, keepdims=True)
    # how many directions of a row are flat: their share is below the median one
    eta = np.median(values[:, m:].sum(axis=1) / values[:, :m].sum(axis=1))
    total = np.cumsum(values, axis=1)
    share = total[:, -1:] / total[:, :-1] - 1
    flat = (share < eta).sum(axis=1) + k - rank
    for s in np.unique(flat[flat > 0]):
        yield from _modified_pieces_of_rows(
            V, w, neighbours, np.flatnonzero(flat == s), s, tol
        )


def _modified_pieces_of_rows(V, w, neighbours, rows, s, tol):
    """The pieces of the rows that have s flat directions."""
    k = neighbours.shape[1]
    for cut in _piece_blocks(len(rows), k + 1, 1):
        block = rows[cut]
        F = V[block][:, :, k - s :]
        ones = F.sum(axis=1)
        size = np.linalg.norm(ones, axis=1, keepdims=True) / np.sqrt(s)
        h = size - ones  # Householder: turns F^T 1 into `size` times ones
        norm = np.linalg.norm(h, axis=1, keepdims=True)
        h = np.where(norm < tol, 0.0, h / np.where(norm > 0, norm, 1.0))
        reflection = 2 * np.einsum("bij,bj->bi", F, h)[:, :, None] * h[:, None, :]
        W = F - reflection + ((1 - size) * w[block])[:, :, None]
        W = np.concatenate([W, np.full((len(block), 1, s), -1.0)], axis=1)
        piece_rows = np.concatenate([neighbours[block], block[:, None]], axis=1)
        yield piece_rows, W @ W.transpose(0, 2, 1)


def _smallest_eigenvectors(M, m, solver, tol, max_iter, rng):
    """Y of eq. (1), and the sum of its eigenvalues."""
    n = M.shape[0]
    if solver == "auto":
        solver = "arpack" if n > FEW and m < 9 else "dense"
    if solver == "arpack" and m + 1 < n:
        v0 = rng.uniform(-1, 1, n)
        # just below 0, where M may be singular but the shifted matrix is not
        shift = -1e-12 * max(float(M.diagonal().max()), 1e-300)
        try:
            values, Y = eigsh(
                sparse.csc_array(M),
                m + 1,
                sigma=shift,
                tol=tol,
                maxiter=max_iter,
                v0=v0,
            )
        except (ArpackError, RuntimeError) as error:
            raise ValueError(
                f"the eigenvectors were not found ({error}); take eigen_solver='dense'."
            ) from error
        order = np.argsort(values, kind="stable")[1:]
        values, Y = values[order], Y[:, order]
    else:
        values, Y = scipy.linalg.eigh(M.toarray(), subset_by_index=(1, m))
    top = Y[np.argmax(np.abs(Y), axis=0), np.arange(m)]
    return Y * np.where(top < 0, -1.0, 1.0), float(values.sum())


def locally_linear_embedding(
    X,
    *,
    n_neighbors,
    n_components,
    reg=1e-3,
    eigen_solver="auto",
    tol=1e-6,
    max_iter=100,
    method="standard",
    hessian_tol=1e-4,
    modified_tol=1e-12,
    random_state=None,
    n_jobs=None,
    neighbors_algorithm="auto",
):
    """The embedding (n, m) and the sum of its eigenvalues; see LocallyLinearEmbedding.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None] * [1.0, 2.0]
    >>> locally_linear_embedding(X, n_neighbors=4, n_components=1)[0].shape
    (30, 1)
    """
    X = np.asarray(X, dtype=np.float64)
    (n, d) = X.shape
    k = n_neighbors
    m = n_components
    if m > d:
        raise ValueError(f"n_components={m} is more than the {d} columns of X.")
    if k >= n:
        raise ValueError(
            f"Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = {k}"
        )
    if method == "hessian" and k <= m * (m + 3) // 2:
        raise ValueError(
            "method='hessian' needs n_neighbors above n_components * (n_components + "
            f"3) / 2 = {m * (m + 3) // 2}, got {k}."
        )
    if method == "modified" and k < m:
        raise ValueError("method='modified' needs n_neighbors >= n_components.")
    with threads.limit_threads(n_jobs):
        search = NeighborSearch(method=neighbors_algorithm)
        neighbours = neighbors_of_rows(X, k, search)[1]
        if method == "standard":
            M = _standard_form(X, neighbours, reg)
        elif method == "ltsa":
            M = _assemble_pieces(_ltsa_pieces(X, neighbours, m), n)
        elif method == "hessian":
            M = _assemble_pieces(_hessian_pieces(X, neighbours, m, hessian_tol), n)
        else:
            M = _assemble_pieces(_modified_pieces(X, neighbours, m, modified_tol), n)
        rng = make_rng(random_state)
        return _smallest_eigenvectors(M, m, eigen_solver, tol, max_iter, rng)


@dataclass(eq=False, repr=False)
class LocallyLinearEmbedding(PrefixedOutput, Transformer, Estimator):
    """Locally linear embedding by four methods; the module text gives them.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    n_components : int, default=2
        m, the dimensions of the embedding.
    reg : float, default=1e-3
        r of the standard method.
    eigen_solver : "auto", "arpack" or "dense", default="auto"
        How the eigenvectors are found.
    tol : float, default=1e-6
        Of arpack.
    max_iter : int, default=100
        Of arpack.
    method : "standard", "hessian", "modified" or "ltsa", default="standard"
        What is preserved.
    hessian_tol : float, default=1e-4
        Sums below it are not divided by, in the hessian method.
    modified_tol : float, default=1e-12
        Vectors shorter than it count as 0, in the modified method.
    neighbors_algorithm : "auto", "brute", "kd_tree" or "ball_tree", default="auto"
        How neighbours are found; "ball_tree" takes the k-d tree. The answer is the
        same.
    random_state : None, int, RandomState or Generator
        Where arpack starts.
    n_jobs : int or None, default=None
        Threads; None for all cores.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Y.
    reconstruction_error_ : float
        tr Y^T M Y.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import LocallyLinearEmbedding
    >>> t = np.linspace(0, 3, 40)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> Y = LocallyLinearEmbedding(n_components=1, method="ltsa").fit_transform(arc)
    >>> bool(abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.999)
    True
    """

    _: KW_ONLY
    n_neighbors: Count = 5
    n_components: Count = 2
    reg: NonNegative = 1e-3
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto"
    tol: NonNegative = 1e-6
    max_iter: Count = 100
    method: Literal["standard", "hessian", "modified", "ltsa"] = "standard"
    hessian_tol: NonNegative = 1e-4
    modified_tol: NonNegative = 1e-12
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto"
    random_state: Seed = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Embed the rows; y is not used."""
        X, _ = self._check_training_data(X, dtype=np.float64, order="C")
        refuse_overflowing_squares(self, X)
        self.embedding_, self.reconstruction_error_ = locally_linear_embedding(
            X, **self.get_params(deep=False)
        )
        self._rows = X
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the embedding."""
        return self.fit(X).embedding_

    def transform(self, X):
        """New rows as the same mixtures of their neighbours' places."""
        X = self._check_new_data(X, dtype=np.float64, order="C")
        search = NeighborSearch(method=self.neighbors_algorithm)
        with threads.limit_threads(self.n_jobs):
            rows = neighbors_of_queries(X, self._rows, self.n_neighbors, search)[1]
        W = _reconstruction_weights(X, self._rows, rows, self.reg)
        return np.einsum("ij,ijm->im", W, self.embedding_[rows])

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]
