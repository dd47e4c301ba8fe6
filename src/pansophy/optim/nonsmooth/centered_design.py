"""A weighted, centred design matrix as a linear operator, without copying X.

For weights p_i and p-means m_j, solvers of the lasso family work with the columns

    sqrt(p_i) (x_ij - m_j)                                                       (1)

`Design` computes products with that matrix without forming it, so that X is neither
copied nor made dense; only columns that enter a working set are copied.

Shapes    X (n, d)   p (n,)   m (d,)
"""

import numpy as np
import scipy.sparse as sp

from ...core.arrays.rows import Rows
from ...core.loops import threads
from . import _coordinate as loops

SMALL = 200_000  # entries of X up to which threads cost more than they save


class Design:
    """The matrix of eq. (1) for a dense or CSC matrix X, as a linear operator.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n, d)
    p : weights, or None for 1/n each; of sum 1 if `centre`
    centre : whether to subtract the p-means
    """

    def __init__(self, X, p=None, *, centre=True):
        self.X = X
        self.n, self.d = X.shape
        self.sparse = sp.issparse(X)
        self.centre = centre
        self.equal = p is None
        self.p = np.full(self.n, 1 / self.n, X.dtype) if p is None else p
        self.root = np.sqrt(self.p)
        self.mean = np.zeros(self.d, X.dtype)
        if centre:
            self.mean = self.times(self.p)

    def times(self, v):
        """v X for the original X, neither weighted nor centred."""
        if not self.sparse:
            return _vector_matrix_product(self.X, v)
        out = np.empty((*v.shape[:-1], self.d), self.X.dtype)
        X = self.X
        all_columns = np.arange(self.d)
        for row, u in zip(np.atleast_2d(out), np.atleast_2d(v), strict=True):
            loops.correlate_sparse(X.data, X.indices, X.indptr, all_columns, u, row)
        return out

    def correlate(self, r):
        """r X for one residual (n,) or several (t, n)."""
        v = self.root * r
        products = self.times(v)
        return (
            products - v.sum(axis=-1, keepdims=True) * self.mean
            if self.centre
            else products
        )

    def correlate_some(self, r, index):
        """r X for some columns and one residual (n,)."""
        v = self.root * r
        X = self.X
        if not self.sparse and not X.flags.f_contiguous:
            products = v @ X[:, index]
        else:
            products = np.empty(len(index), X.dtype)
            if self.sparse:
                loops.correlate_sparse(X.data, X.indices, X.indptr, index, v, products)
            else:
                loops.correlate_rows(X.T, index, v, products)
        return products - v.sum() * self.mean[index] if self.centre else products

    def lengths(self):
        """Upper bounds of the column norms: rounding may only enlarge them."""
        X = self.X
        eps = np.finfo(X.dtype).eps
        all_columns = np.arange(self.d)
        total = np.empty(self.d, X.dtype)
        if self.sparse:
            loops.correlate_sparse(
                X.data**2, X.indices, X.indptr, all_columns, self.p, total
            )
            total -= (1 - 16 * eps) * self.mean**2
        elif X.flags.f_contiguous:
            loops.centered_column_squares(X.T, all_columns, self.p, self.mean, total)
        else:
            stats = lambda x, p: p @ (x - self.mean) ** 2
            total = Rows(X, self.p).sum(stats)
        return np.sqrt(np.maximum(total, 0) * (1 + 16 * eps))

    def predict(self, w):
        """X w for w (d,) or (t, d), skipping columns of zero coefficients."""
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=0))
        if 4 * len(used) < self.d:
            f = (self.X[:, used] @ w[..., used].T).T
        else:
            f = (self.X @ w.T).T
        return self.root * (f - (w[..., used] @ self.mean[used])[..., None])

    def rows(self, index):
        """Some columns of eq. (1), one per row; dense only."""
        rows = self.X.T[index]  # a copy, contiguous by row
        if self.centre:
            rows -= self.mean[index, None]
        rows *= self.root
        return rows

    def squares(self, index):
        """Squared lengths of some columns; sparse only."""
        X = self.X[:, index]
        return np.asarray(X.multiply(X).T @ self.p).ravel() - self.mean[index] ** 2

    def sparse_gram(self, new, index):
        """X_new^T X_index for a sparse X."""
        left = self.X[:, new].multiply(self.p[:, None]).T.tocsr()
        G = (left @ self.X[:, index]).toarray()
        return G - self.mean[new, None] * self.mean[index] if self.centre else G

    def gram(self):
        """X^T X for all columns, one pass over the rows."""
        if self.sparse:
            all_columns = np.arange(self.d)
            return self.sparse_gram(all_columns, all_columns)

        def stats(X, root):
            A = X - self.mean if self.centre else X
            if not self.equal:
                A = A * root[:, None]
            return A.T @ A

        if self.n * self.d <= SMALL:
            G = stats(self.X, self.root)
        else:
            G = Rows(self.X, self.root).sum(stats)
        return G * self.p[0] if self.equal else G


def _vector_matrix_product(X, v, block=1024):
    """v X: columns in blocks on threads where they are contiguous, else rows."""
    n, d = X.shape
    if n * d < 1 << 20:
        return v @ X
    if not X.flags.f_contiguous:
        return Rows(X, v.T).sum(lambda x, u: u.T @ x)
    product = lambda j: lambda: v @ X[:, j : j + block]
    parts = threads.run_tasks((product(j) for j in range(0, d, block)), blas=True)
    return np.concatenate(list(parts), axis=-1)
