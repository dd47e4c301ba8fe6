"""The penalised likelihood of a linear classifier, in passes over rows.

For k raw predictions F = X W^T + b per row (one for two classes), weights v of sum 1,

    J(W, b) = sum_i v_i l(y_i, f_i) + lambda/2 |W|^2                             (1)

with l the logistic or softmax loss of `losses`. `Likelihood` gives J with its
gradient, Hessian and Hessian products at a flat x = (W, b), a NumPy vector wherever
the rows are: NumPy rows go through compiled passes on threads, CSR rows likewise, and
tensors through `losses` on their device. Blocks depend only on the shape of X and are
added up in order, so the number of threads does not change the result.

    H = sum_i v_i (diag p_i - p_i p_i^T) (x) (x_i, 1) (x_i, 1)^T + lambda I      (2)

Shapes    X (n, d)   t, v (n,)   W (k, d)   b (k,)   x (k (d + 1),)
"""

import numpy as np
import scipy.sparse as sp

from ..core import arrays, threads
from ..core.numerics import sigmoid, softmax
from ..core.rows import Rows, total
from ..losses import logistic as logistic_loss
from ..losses import softmax as softmax_loss

ROUGH_ROWS = 50_000  # with more rows than this a rough Hessian takes every s-th
BLOCKS = 16  # pieces a compiled pass over many rows is cut into


class Likelihood:
    """Eq. (1) for rows X, labels t in 0..k, weights v of sum 1."""

    def __init__(self, X, t, v, k, alpha, *, intercept=True):
        self.X, self.t, self.v, self.k = X, t, v, k
        self.alpha, self.intercept = alpha, intercept
        self.n, self.d = int(X.shape[0]), int(X.shape[1])
        self.sparse, self.foreign = sp.issparse(X), arrays.is_foreign(X)
        self.blocks = list(Rows(X, t, v, block=self.block_rows()).blocks())

    def block_rows(self):
        """Rows of a block: few large ones for loops and tensors, small for BLAS."""
        if self.foreign:
            return 1 << 18
        if self.sparse or self.k == 1:
            return max(-(-self.n // BLOCKS), 1024)
        return max(256, (1 << 20) // (8 * (self.d + self.k)))

    def split(self, x):
        """W (k, d) and b (k,) in x."""
        x = np.asarray(x).reshape(self.k, self.d + 1)
        return x[:, : self.d], x[:, self.d]

    def sum(self, stats, blocks=None):
        """Add up stats(X_b, t_b, v_b) over blocks, in order."""
        blocks = self.blocks if blocks is None else blocks
        if self.foreign:
            return total(stats(*b) for b in blocks)
        return total(threads.run(((lambda b=b: stats(*b)) for b in blocks), blas=True))

    def __call__(self, x):
        """J and its gradient, eq. (1)."""
        W, b = self.split(x)
        loss, g = self.sum(self.pass_at(W, b))
        g = np.asarray(g, dtype=float).reshape(self.k, self.d + 1)
        if not self.intercept:
            g[:, self.d] = 0.0
        g[:, : self.d] += self.alpha * W
        value = float(loss) + self.alpha / 2 * float(np.sum(W * W))
        return value, g.ravel()

    def pass_at(self, W, b):
        """The function of a block that gives its loss and gradient at (W, b)."""
        if self.foreign:
            return self.tensor_pass(W, b)
        from . import _logistic as loops

        dtype = self.X.dtype
        W, b = np.ascontiguousarray(W, dtype=dtype), b.astype(dtype)

        def binary(X, t, v):
            g = np.zeros(self.d + 1)
            if self.sparse:
                rows = (X.data, X.indices, X.indptr)
                return loops.binary_sparse(*rows, t, v, W[0], b[0], g), g
            return loops.binary(X, t, v, W[0], b[0], g), g

        def multinomial(X, t, v):
            F = np.ascontiguousarray(X @ W.T)
            F += b
            loss = loops.softmax_rows(F, t, v)
            G = (X.T @ F).T if self.sparse else F.T @ X
            return loss, np.column_stack([G, F.sum(axis=0)]).astype(float)

        return binary if self.k == 1 else multinomial

    def tensor_pass(self, W, b):
        """`pass_at` for tensors: the losses on their device, the sums on the host."""
        W, b = (arrays.asarray(a, like=self.X) for a in (W, b))
        xp = arrays.namespace(self.X)

        def stats(X, t, v):
            F = X @ xp.matrix_transpose(W) + b
            if self.k == 1:
                t = xp.astype(t, X.dtype)
                value = logistic_loss.value(t, F[:, 0])
                R = (v * logistic_loss.gradient(t, F[:, 0]))[:, None]
            else:
                value = softmax_loss.value(t, F)
                R = v[:, None] * softmax_loss.gradient(t, F)
            Rt = xp.matrix_transpose(R)
            G = xp.concat([Rt @ X, xp.sum(Rt, axis=1)[:, None]], axis=1)
            return float(xp.sum(v * value)), arrays.to_numpy(G).astype(float)

        return stats

    def curvatures(self, X, W, b):
        """v-free weights of eq. (2) for rows X: p (1 - p), or the probabilities."""
        xp = arrays.namespace(X)
        F = X @ (W.T if not self.foreign else xp.matrix_transpose(W)) + b
        if self.k == 1:
            p = sigmoid(F[:, 0])
            return p * (1 - p)
        return softmax(F)

    def hessian(self, x, rough=False):
        """Eq. (2); `rough` takes every s-th row, with its weight scaled up."""
        W, b = self.split(x)
        if self.foreign:
            W, b = (arrays.asarray(a, like=self.X) for a in (W, b))
        else:
            W, b = W.astype(self.X.dtype), b.astype(self.X.dtype)
        X, v, scale = self.X, self.v, 1.0
        stride = max(1, self.n // ROUGH_ROWS) if rough else 1
        if stride > 1 and not self.sparse:
            X, v = X[::stride, ...], v[::stride, ...]
            scale = 1.0 / max(float(arrays.namespace(v).sum(v)), 1e-300)
        block = 1 << 16 if self.foreign else None
        H = Rows(X, v, block=block).sum(lambda X, v: self.products(X, v, W, b))
        return self.finish(scale * np.asarray(H, dtype=float))

    def products(self, X, v, W, b):
        """Eq. (2) without its last term, for a block, intercepts last in each class."""
        xp = arrays.namespace(v)
        P = self.curvatures(X, W, b)
        if self.k == 1:
            return outer(xp, X, P * v)
        k, m = self.k, self.d + 1
        H = np.empty((k, m, k, m))
        for c in range(k):
            for e in range(c, k):
                own = P[:, c] * (1 - P[:, c]) if c == e else -P[:, c] * P[:, e]
                H[c, :, e, :] = outer(xp, X, own * v)
                H[e, :, c, :] = H[c, :, e, :].T
        return H.reshape(k * m, k * m)

    def finish(self, H):
        """Add lambda, and curvature where J has none.

        An intercept that is not fitted gets a 1. With several classes the same number
        added to all of them changes no probability: where there is no penalty, the
        sum over classes gets the curvature of its neighbours. The gradient is 0 in
        these directions, so steps do not use them.
        """
        k, m = self.k, self.d + 1
        H = H.reshape(k, m, k, m)
        for c in range(k):
            at = np.arange(self.d)
            H[c, at, c, at] += self.alpha
        if not self.intercept:
            H[:, self.d, :, :] = 0.0
            H[:, :, :, self.d] = 0.0
            H[:, self.d, :, self.d] = np.eye(k)
        if k > 1:
            free = range(m) if self.alpha == 0 else [self.d]
            for j in free:
                H[:, j, :, j] += max(float(H[0, j, 0, j]), 1e-300)
        return H.reshape(k * m, k * m)

    def product(self, x):
        """u -> H u at x, eq. (2), for conjugate gradients; not for tensors."""
        W, b = self.split(x)
        known = [(X, v, self.curvatures(X, W, b)) for X, _, v in self.blocks]

        def stats(X, v, P, U, a):
            D = X @ U.T + a
            if self.k == 1:
                R = (v * P)[:, None] * D
            else:
                R = v[:, None] * P * (D - np.sum(P * D, axis=1, keepdims=True))
            return np.column_stack([(X.T @ R).T, R.sum(axis=0)])

        def times(u):
            U, a = self.split(u)
            tasks = ((lambda block=block: stats(*block, U, a)) for block in known)
            out = total(threads.run(tasks, blas=True))
            out[:, : self.d] += self.alpha * U
            if not self.intercept:
                out[:, self.d] = a
            return out.reshape(np.shape(u))

        return times


def outer(xp, X, s):
    """sum_i s_i (x_i, 1) (x_i, 1)^T as a NumPy array; s may be negative."""
    if sp.issparse(X):
        S = X.multiply(s[:, None]).tocsr()
        A, c = (X.T @ S).toarray(), np.asarray(S.sum(axis=0)).ravel()
    else:
        positive = bool(xp.all(s >= 0))
        if positive:
            R = X * xp.sqrt(s)[:, None]
            A = xp.matrix_transpose(R) @ R  # a product with itself: half the work
        else:
            A = xp.matrix_transpose(X) @ (X * s[:, None])
        A, c = arrays.to_numpy(A), arrays.to_numpy(s @ X)
    d = len(c)
    H = np.empty((d + 1, d + 1))
    H[:d, :d], H[d, :d], H[:d, d], H[d, d] = A, c, c, float(xp.sum(s))
    return H
