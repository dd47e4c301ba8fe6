"""The penalised empirical risk of a linear model: value, gradient and Hessian.

For k raw predictions F = X W^T + b + offset per row and weights v,

    J(W, b) = sum_i v_i l(y_i, f_i) + alpha/2 |W|^2                              (1)

with l any pointwise loss of `losses` (k = 1) or softmax (k > 1, labels y in 0..k-1).
`Risk` gives J with its gradient, Hessian and Hessian products at a flat x = (W, b), a
NumPy vector wherever the rows are: dense and CSR rows go through compiled passes on
threads, tensors through `losses` on their device, tables on disk (`DatasetRows`) block
by block; a loss without compiled loops goes through its array functions. With h_i = v_i
l''(y_i, f_i), or v_i (diag p_i - p_i p_i^T) for softmax,

    H = sum_i h_i (x) (x_i, 1) (x_i, 1)^T + alpha I                              (2)

Blocks depend only on the shape of X and are added up in order, so neither the number
of threads nor the place of the rows changes the result. The raw predictions of the
last point are cached (k numbers a row), so H there does not compute F again; workers
of a cluster do, each for its blocks, since n k numbers are more than x to send.

Two preconditioners approximate H for solvers that never form it:
`block_jacobi_preconditioner`, for sparse rows, is the diagonal of H with the part of
the `BLOCK_SIZE` densest columns and the intercept exact, for each class by itself,

    M_c = [ H_c over the block   0           ]                                    (3)
          [ 0                    diag(H_c)   ]

In text data the few most frequent words hold most entries and correlate with the
intercept and with each other; the rest is nearly diagonal. `whitening_factor`, for
many more rows than columns, is a factor of the mean curvature times the second moments
of every s-th row,

    L L^T = sum_i h_i (x_i, 1) (x_i, 1)^T + alpha I,   h = v times a mean l''    (4)

the same for all classes; in z = L^T x the risk is nearly isotropic.

Shapes    X (n, d)   y, v (n,)   offset (n,) or (n, k)   W (k, d)   b (k,)
          x (k (d + 1),), class by class with the intercept last
Refs      [Nocedal2006] ch. 5; [Lin2008] Newton steps on text
"""

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.cluster_rows import ClusterRows
from ..core.arrays.rows import (
    DatasetRows,
    Rows,
    slice_rows,
    sum_in_runs,
    sum_statistics,
)
from ..core.linalg.linalg import cholesky, solve_cholesky
from ..core.linalg.tall_products import tall_product
from ..core.loops import threads
from ..core.numerics import softmax
from ..losses.multiclass import as_one_hot

ROUGH_ROWS = 50_000  # with more rows than this a rough Hessian uses every s-th
BLOCKS = 16  # blocks of a pass over many rows
BLOCK_BYTES = 1 << 25  # of a dense block at most
SINGLE_THREAD_ENTRIES = 1 << 18  # entries of X up to which one thread is used
TENSOR_ENTRIES = 1 << 22  # raw predictions of a block of a tensor
SQUARED_ENTRIES = 1 << 24  # entries of a tensor that are weighted at a time
TILE_BYTES = 1 << 20  # of a tile of rows whose second moments are computed
BLOCK_SIZE = 64  # columns of the block in eq. (3)
ROWS_PER_COLUMN = 6  # rows for each column that eq. (4) uses
MAX_FACTOR_WIDTH = 4000  # columns up to which eq. (4) is factored


class Risk:
    """Eq. (1) for rows X, targets y, weights v and a `Loss`.

    Targets are what the loss takes: 0 or 1 (or a fraction) for `logistic`, signs for
    the hinges, numbers for the rest, whole labels for `softmax` with its k.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> X, y = np.array([[0.0], [1], [2]]), np.array([1.0, 3, 5])
    >>> J = Risk(X, y, np.ones(3), losses.half_squared)
    >>> J(np.array([2.0, 1.0]))
    (0.0, array([0., 0.]))
    >>> J.hessian(np.zeros(2))
    array([[5., 3.], [3., 3.]])
    """

    def __init__(
        self,
        X,
        y,
        v,
        loss,
        alpha=0.0,
        *,
        k=1,
        intercept=True,
        offset=None,
        one_block=False,
    ):
        self.X = X
        self.loss = loss
        self.k = k
        self.alpha = alpha
        self.intercept = intercept
        self.n = int(X.shape[0])
        self.d = int(X.shape[1])
        self.sparse = sp.issparse(X)
        self.foreign = arrays.is_foreign(X)
        if not self.foreign:
            y = np.asarray(y, dtype=np.intp if k > 1 else X.dtype)
            v = np.asarray(v, dtype=X.dtype)
        self.y = y
        self.v = v
        self.offset = offset
        step = self.n if one_block else self.block_rows()
        self.on_cluster = isinstance(X, ClusterRows)
        self.block_slices = [
            slice(i, min(i + step, self.n)) for i in range(0, self.n, step)
        ]
        if isinstance(X, DatasetRows):
            self.blocks_in_memory = None
            self.rows = X.with_aligned(block=step)
        elif self.sparse:
            self.blocks_in_memory = [csr_row_slice(X, cut) for cut in self.block_slices]
        else:
            self.blocks_in_memory = [X[cut, ...] for cut in self.block_slices]
        # the last x, and F (probabilities for k > 1) there by block
        self.cached_predictions: Any = None

    def block_rows(self):
        """Rows of a block: large blocks for loops and tensors, small ones for BLAS."""
        if self.foreign:  # a device wants few and large blocks
            return max(1 << 18, TENSOR_ENTRIES // self.k)
        if self.sparse:  # each block has a gradient of its own: not too many of them
            pieces = min(BLOCKS, max(2, self.entries() // (8 * self.k * (self.d + 1))))
            return max(-(-self.n // pieces), 1024)
        if self.k == 1:
            step = max(-(-self.n // BLOCKS), 1024)
            return max(1, min(step, BLOCK_BYTES // (8 * self.d)))
        return max(256, TILE_BYTES // (8 * (self.d + self.k)))

    def split(self, x):
        """W (k, d) and b (k,) in x."""
        x = np.asarray(x).reshape(self.k, self.d + 1)
        return x[:, : self.d], x[:, self.d]

    def as_row_dtype(self, *values):
        """Coefficients in the library and dtype of the rows."""
        if self.foreign:
            return [arrays.asarray(a, like=self.X) for a in values]
        return [np.ascontiguousarray(a, dtype=self.X.dtype) for a in values]

    def sum(self, stats):
        """Add up stats(X_b, number of the block) over blocks, in order."""
        rows = self.blocks_in_memory
        if rows is None:
            rows = (block[0] for block in self.rows.blocks())
        if self.foreign:
            return sum_in_runs(stats(X, i) for i, X in enumerate(rows))
        if (
            self.entries() * self.k < SINGLE_THREAD_ENTRIES
        ):  # a thread takes longer to wake
            with nullcontext() if self.sparse else threads.single_blas():
                return sum_in_runs(stats(X, i) for i, X in enumerate(rows))
        tasks = ((lambda X=X, i=i: stats(X, i)) for i, X in enumerate(rows))
        return sum_in_runs(threads.run_tasks(tasks, blas=not self.sparse))

    def sum_on_cluster(self, statistic):
        """Add up statistic(J_b) over blocks, where J_b is the risk of one block."""
        return self.rows_with_targets().sum(self.of_block(statistic))

    def rows_with_targets(self):
        """The rows with targets, weights, offsets and the predictions kept."""
        known = self.cached_predictions
        kept = None if known is None else np.concatenate(known[1])
        return self.rows.with_aligned(self.y, self.v, self.offset, kept)

    def of_block(self, statistic):
        """`_statistic_of_block` for this risk."""
        kept_at = (
            None if self.cached_predictions is None else self.cached_predictions[0]
        )
        return partial(
            _statistic_of_block,
            statistic=statistic,
            loss=self.loss,
            k=self.k,
            intercept=self.intercept,
            kept_at=kept_at,
        )

    def sum_aligned(self, function, *aligned):
        """Add up function(X_b, *aligned_b) over blocks, in order."""
        if self.on_cluster:
            return self.rows.with_aligned(*aligned).sum(function)
        cuts = self.block_slices
        return self.sum(lambda X, i: function(X, *(a[cuts[i]] for a in aligned)))

    def map_rows(self, function):
        """function(X_b) of every block, a list."""
        if self.on_cluster:
            all_results = self.rows.with_aligned().map(function)
            return [all_results[cut] for cut in self.block_slices]
        results: list[Any] = [None] * len(self.block_slices)

        def fill(X, i):
            results[i] = function(X)
            return 0.0

        self.sum(fill)
        return results

    def entries(self):
        """Number of entries of X that a pass reads."""
        return self.X.nnz if self.sparse else self.n * self.d

    def block_targets(self, i) -> Any:
        """Targets, weights and offsets of block i."""
        return (
            slice_rows(a, self.block_slices[i]) for a in (self.y, self.v, self.offset)
        )

    # -- value and gradient --------------------------------------------------------

    def __call__(self, x):
        """J and its gradient, eq. (1)."""
        W, b = self.split(x)
        predictions: list[Any] = [None] * len(self.block_slices)
        if self.on_cluster:
            self.cached_predictions = None
            loss, g = self.sum_on_cluster(partial(_block_loss_gradient, x=x))
        else:
            loss, g = arrays.to_host(
                *self.sum(self.loss_gradient_of_block(W, b, predictions))
            )
            self.cached_predictions = np.array(x, dtype=float), predictions
        g = np.asarray(g, dtype=float).reshape(self.k, self.d + 1)
        if not self.intercept:
            g[:, self.d] = 0.0
        g[:, : self.d] += self.alpha * W
        value = float(loss) + self.alpha / 2 * float(np.sum(W * W))
        return value, g.ravel()

    def loss_gradient_of_block(self, W, b, predictions):
        """A function (X_b, i) -> loss and gradient, which fills `predictions`."""
        W, b = self.as_row_dtype(W, b)
        if self.foreign:
            return lambda X, i: self.tensor_block(X, i, W, b, predictions)
        if self.k > 1:
            return lambda X, i: self.softmax_block(X, i, W, b, predictions)
        if not self.loss.has_loop:
            return lambda X, i: self.array_block(X, i, W[0], b[0], predictions)
        from . import _risk as loops

        kind = loops.loss_kind(self.loss)
        a = self.loss.parameter

        def stats(X, i):
            y, v, offset = self.block_targets(i)
            f = initial_predictions(offset, X)
            g = np.zeros(self.d + 1)
            if self.sparse:
                rows = unsigned_csr(X)
                value = loops.sparse_loss_gradient(
                    *rows, y, v, W[0], b[0], kind, a, f, g
                )
            elif X.flags.c_contiguous:
                value = loops.dense_loss_gradient(X, y, v, W[0], b[0], kind, a, f, g)
            else:
                f += X @ W[0] + b[0]
                r = np.empty_like(f)
                value = loops.loss_and_gradient(kind, a, y, v, f, r)
                g[:-1] = r @ X
                g[-1] = r.sum()
            predictions[i] = f
            return value, g

        return stats

    def array_block(self, X, i, w, b, predictions):
        """Loss and gradient of a block by the array functions of the loss."""
        y, v, offset = self.block_targets(i)
        f = initial_predictions(offset, X) + (X @ w + b)
        r = v * self.loss.gradient(y, f)
        predictions[i] = f
        g = self.transposed_product(X, r[:, None])[0]
        return float(np.sum(v * self.loss.value(y, f))), g

    def softmax_block(self, X, i, W, b, predictions):
        from . import _risk as loops

        y, v, offset = self.block_targets(i)
        F = np.ascontiguousarray(X @ W.T)
        F += b if offset is None else b + offset
        R = np.empty_like(F)
        value = loops.softmax_loss_gradient(F, y, v, R)
        predictions[i] = F
        return value, self.transposed_product(X, R)

    def transposed_product(self, X, R):
        """R^T (X, 1), (k, d + 1)."""
        G = (X.T @ R).T if self.sparse else R.T @ X
        return np.column_stack([G, R.sum(axis=0)]).astype(float)

    def tensor_block(self, X, i, W, b, predictions):
        """Loss and gradient of a block of tensors, on their device."""
        xp = arrays.namespace(X)
        y, v, offset = self.block_targets(i)
        F = X @ xp.matrix_transpose(W) + b
        if offset is not None:
            F = F + xp.reshape(offset, (F.shape[0], -1))
        if self.k == 1:
            y = xp.astype(y, X.dtype)
            predictions[i] = F[:, 0]
            value = self.loss.value(y, predictions[i])
            R = (v * self.loss.gradient(y, predictions[i]))[:, None]
        else:
            P = softmax(F)
            value = self.loss.value(y, F)
            predictions[i] = P
            R = v[:, None] * (P - as_one_hot(y, F))
        loss = xp.sum(xp.astype(v * value, xp.float64))
        return loss, tensor_transposed_product(xp, X, R)

    # -- curvature -----------------------------------------------------------------

    def predictions_at(self, x):
        """F (probabilities for k > 1) at x by block: those kept, if x is the same."""
        known: Any = self.cached_predictions
        if known is None or not np.array_equal(known[0], x):
            self(x)
            if self.on_cluster:
                of_block = self.of_block(partial(_block_predictions, x=x))
                F = self.rows_with_targets().map(of_block)
                kept = [F[cut] for cut in self.block_slices]
                self.cached_predictions = np.array(x, dtype=float), kept
        seen: Any = self.cached_predictions
        return seen[1]

    def curvatures(self, i, f):
        """h of eq. (2) for block i with raw predictions f, k = 1."""
        y, v, _ = self.block_targets(i)
        if self.foreign:
            return v * self.loss.curvature(arrays.namespace(f).astype(y, f.dtype), f)
        if not self.loss.has_loop:
            return v * self.loss.curvature(y, f)
        from . import _risk as loops

        h = np.empty_like(f)
        kind = loops.loss_kind(self.loss)
        loops.loss_curvature(kind, self.loss.parameter, y, v, f, h)
        return h

    def hessian(self, x, rough=False):
        """Eq. (2); `rough` takes every s-th row, with its weight scaled up."""
        s = max(1, self.n // ROUGH_ROWS) if rough and not self.sparse else 1
        if self.on_cluster:
            weight, H = self.sum_on_cluster(partial(_block_hessian, x=x, s=s))
        else:
            stats = self.hessian_of_block(self.predictions_at(x), s)
            weight, H = arrays.to_host(*self.sum(stats))
        if s > 1:
            H = H * (float(arrays.namespace(self.v).sum(self.v)) / max(weight, 1e-300))
        return self.with_penalty_curvature(np.asarray(H, dtype=float))

    def hessian_of_block(self, kept, s):
        """The function (X_b, i) -> weight and H of every s-th row of a block."""

        def stats(X, i):
            v = self.v[self.block_slices[i]]
            F = kept[i]
            sums = v if s == 1 else v[::s]
            weight = arrays.namespace(v).sum(sums)
            if self.k > 1:
                return weight, softmax_second_moments(X[::s, ...], F[::s, ...], sums)
            X = X if self.sparse else X[::s, ...]
            return weight, weighted_second_moments(X, self.curvatures(i, F)[::s, ...])

        return stats

    def with_penalty_curvature(self, H):
        """Add alpha, and curvature where J has none.

        An intercept that is not fitted gets a 1. With several classes the same number
        added to all of them changes no probability: where there is no penalty, the
        sum over classes gets the curvature of its neighbours. The gradient is 0 in
        these directions, so steps do not use them.
        """
        k = self.k
        m = self.d + 1
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

    def hessian_product(self, x):
        """u -> H u at x, eq. (2), for conjugate gradients."""
        known = [] if self.on_cluster else self.product_weights(x)

        def times(u):
            U, c = self.split(u)
            if self.on_cluster:
                total = self.sum_on_cluster(partial(_block_product, x=x, u=u))
            else:
                V, e = self.as_row_dtype(U, c)
                stats = self.hessian_product_of_block(V, e, known)
                (total,) = arrays.to_host(self.sum(stats))
            out = np.array(total, dtype=float).reshape(self.k, self.d + 1)
            out[:, : self.d] += self.alpha * U
            if not self.intercept:
                out[:, self.d] = c
            return out.reshape(np.shape(u))

        return times

    def product_weights(self, x):
        """What Hessian products at x need of each block: h, or the probabilities."""
        known = self.predictions_at(x)
        if self.k > 1:
            return known
        return [self.curvatures(i, f) for i, f in enumerate(known)]

    def hessian_product_of_block(self, U, c, known):
        """The function (X_b, i) -> H u of a block."""
        if self.foreign or self.k > 1:
            return lambda X, i: self.hessian_product_block(X, i, U, c, known[i])
        from . import _risk as loops

        def stats(X, i):
            g = np.zeros(self.d + 1)
            if self.sparse:
                rows = unsigned_csr(X)
                loops.sparse_hessian_product(*rows, known[i], U[0], c[0], g)
            elif X.flags.c_contiguous:
                loops.dense_hessian_product(X, known[i], U[0], c[0], g)
            else:
                r = known[i] * (X @ U[0] + c[0])
                g[:-1] = r @ X
                g[-1] = r.sum()
            return g

        return stats

    def hessian_product_block(self, X, i, U, c, known):
        """The part of H u for tensors and for several classes."""
        v = self.v[self.block_slices[i]]
        if not self.foreign:
            from . import _risk as loops

            D = np.ascontiguousarray(X @ U.T)
            D += c
            loops.softmax_curvature_product(known, v, D)
            return self.transposed_product(X, D)
        xp = arrays.namespace(X)
        D = X @ xp.matrix_transpose(U) + c
        if self.k == 1:
            return tensor_transposed_product(xp, X, known[:, None] * D)
        D = D - xp.sum(known * D, axis=1)[:, None]
        return tensor_transposed_product(xp, X, v[:, None] * known * D)

    def diagonal(self, x):
        """The diagonal of eq. (2)."""
        if self.on_cluster:
            total = self.sum_on_cluster(partial(_block_diagonal, x=x))
        else:
            stats = self.diagonal_of_block(self.predictions_at(x))
            (total,) = arrays.to_host(self.sum(stats))
        D = np.array(total, dtype=float).reshape(self.k, self.d + 1)
        D[:, : self.d] += self.alpha
        if not self.intercept:
            D[:, self.d] = 1.0
        return D.ravel()

    def diagonal_of_block(self, kept):
        """The function (X_b, i) -> the diagonal of H of a block."""

        def stats(X, i):
            if self.k == 1:
                S = self.curvatures(i, kept[i])[:, None]
            else:
                S = self.v[self.block_slices[i]][:, None] * kept[i] * (1 - kept[i])
            if self.foreign:
                return tensor_transposed_product(arrays.namespace(X), X * X, S)
            return self.transposed_product(X.multiply(X) if self.sparse else X * X, S)

        return stats


def _statistic_of_block(
    X, y, v, offset, kept, *, statistic, loss, k, intercept, kept_at
):
    """A statistic of the risk of the rows X, which are one block.

    `kept` are its predictions at `kept_at`, or None.
    """
    J = Risk(X, y, v, loss, k=k, intercept=intercept, offset=offset, one_block=True)
    if kept is not None:
        J.cached_predictions = kept_at, [kept]
    return statistic(J)


def _block_predictions(J, x):
    """The predictions of a risk of one block, probabilities for k > 1."""
    return J.predictions_at(x)[0]


def _block_loss_gradient(J, x):
    """Loss and gradient of a risk of one block, without the penalty."""
    return J.loss_gradient_of_block(*J.split(x), [None])(J.X, 0)


def _block_hessian(J, x, s):
    """Weight and H of every s-th row of a risk of one block, without the penalty."""
    return J.hessian_of_block(J.predictions_at(x), s)(J.X, 0)


def _block_product(J, x, u):
    """H u of a risk of one block, without the penalty."""
    U, c = J.as_row_dtype(*J.split(u))
    return J.hessian_product_of_block(U, c, J.product_weights(x))(J.X, 0)


def _block_diagonal(J, x):
    """The diagonal of H of a risk of one block, without the penalty."""
    return J.diagonal_of_block(J.predictions_at(x))(J.X, 0)


def _block_whitening(J, x, s):
    """The statistics of eq. (4) of a risk of one block."""
    return _whitening_of_block(J, J.predictions_at(x), s)(J.X, 0)


def csr_row_slice(X, cut):
    """Rows of a CSR matrix that share its entries."""
    a = int(X.indptr[cut.start])
    b = int(X.indptr[cut.stop])
    starts = X.indptr[cut.start : cut.stop + 1] - X.indptr[cut.start]
    shape = (cut.stop - cut.start, X.shape[1])
    return sp.csr_matrix((X.data[a:b], X.indices[a:b], starts), shape=shape)


def unsigned_csr(X):
    """Entries, columns and starts of a CSR matrix, for compiled loops."""
    return X.data, *(a.view(f"u{a.itemsize}") for a in (X.indices, X.indptr))


def initial_predictions(offset, X):
    """Raw predictions of a block before X w is added: the offset or 0."""
    if offset is None:
        return np.zeros(X.shape[0], X.dtype)
    return np.array(offset, dtype=X.dtype)


def tensor_transposed_product(xp, X, R):
    """R^T (X, 1) in float64, where X is."""
    total = xp.sum(xp.astype(R, xp.float64), axis=0)
    return xp.concat([tall_product(R, X), total[:, None]], axis=1)


def weighted_second_moments(X, s):
    """sum_i s_i (x_i, 1) (x_i, 1)^T, (d + 1, d + 1), where X is; s may be negative.

    Computed in tiles of rows that stay in the cache, for arrays and CSR rows; in large
    ones for tensors.
    """
    xp = arrays.namespace(s)
    if arrays.is_foreign(X):
        return _tensor_second_moments(X, s)
    if sp.issparse(X):
        S = X.multiply(s[:, None]).tocsr()
        return bordered_matrix((X.T @ S).toarray(), np.asarray(S.sum(axis=0)), s.sum())
    step = TILE_BYTES // (8 * X.shape[1]) or 1
    positive = bool(xp.all(s >= 0))

    def tile(X, s):
        if positive:
            R = X * xp.sqrt(s)[:, None]
            A = xp.matrix_transpose(R) @ R  # a product with itself: half the work
        else:
            A = xp.matrix_transpose(X) @ (X * s[:, None])
        return A, s @ X, xp.sum(s)

    tiles = Rows(X, s, block=max(step, 256)).blocks()
    return bordered_matrix(*sum_statistics(tile(*t) for t in tiles))


def _tensor_second_moments(X, s):
    """`weighted_second_moments` of a tensor, on its device."""
    xp = arrays.namespace(X)

    n, d = (int(k) for k in X.shape)
    step = max(SQUARED_ENTRIES // d, n // 4, 1024)  # a copy of a quarter of X at most
    inner = sum_statistics(
        tall_product(rows, rows * weights[:, None])
        for rows, weights in Rows(X, s, block=min(step, n)).blocks()
    )
    border = tall_product(s[:, None], X)
    corner = xp.sum(xp.astype(s, xp.float64))[None, None]
    top = xp.concat([inner, xp.matrix_transpose(border)], axis=1)
    return xp.concat([top, xp.concat([border, corner], axis=1)], axis=0)


def bordered_matrix(A, c, s):
    """A with the border c and the corner s."""
    d = A.shape[0]
    H = np.empty((d + 1, d + 1))
    H[:d, :d] = A
    H[d, :d] = c
    H[:d, d] = c
    H[d, d] = s
    return H


def softmax_second_moments(X, P, v):
    """`weighted_second_moments` with v (diag p - p p^T) for s, class by class."""
    k = int(P.shape[1])
    m = int(X.shape[1]) + 1
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        H = xp.empty((k, m, k, m), dtype=xp.float64, device=arrays.device(X))
    else:
        H = np.empty((k, m, k, m))
    for c in range(k):
        for e in range(c, k):
            h = P[:, c] * (1 - P[:, c]) if c == e else -P[:, c] * P[:, e]
            H[c, :, e, :] = weighted_second_moments(X, h * v)
            H[e, :, c, :] = H[c, :, e, :].T
    return arrays.namespace(H).reshape(H, (k * m, k * m))


def densest_columns(X, m=BLOCK_SIZE):
    """The m columns of a CSR matrix with the most entries, in increasing order."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    m = min(m, X.shape[1])
    return np.sort(np.argpartition(-counts, m - 1)[:m])


def block_jacobi_preconditioner(J):
    """The function x -> (r -> M^-1 r) of eq. (3), for a `Risk` of CSR rows."""
    from . import _risk as loops

    top = densest_columns(J.X)
    place = np.full(J.d, -1, dtype=np.int32)
    place[top] = np.arange(len(top))
    head = np.append(top, J.d)
    m = len(top)

    def parts(h):
        """The diagonal and the factored block for the row curvatures h of a class."""

        def stats(X, i):
            D = np.zeros(J.d + 1)
            G = np.zeros((m + 1, m + 1))
            loops.sparse_diagonal_and_block(*unsigned_csr(X), h(i), place, D, G)
            return D, G

        D, G = J.sum(stats)
        D[: J.d] += J.alpha
        G[np.arange(m), np.arange(m)] += J.alpha
        if not J.intercept:
            D[J.d] = 1.0
            G[m] = np.append(np.zeros(m), 1.0)
        G = np.tril(G) + np.tril(G, -1).T
        return np.where(D > 0, D, 1.0), cholesky(G)[0]

    def at(x):
        kept = J.predictions_at(x)
        known = [
            parts(lambda i, c=c: class_curvature(J, i, kept[i], c)) for c in range(J.k)
        ]

        def solve(r):
            R = r.reshape(J.k, J.d + 1)
            Z = np.stack([row / D for row, (D, _) in zip(R, known, strict=True)])
            for c, (_, L) in enumerate(known):
                Z[c, head] = solve_cholesky(L, R[c, head])
            return Z.reshape(r.shape)

        return solve

    return at


def class_curvature(J, i, kept, c):
    """Row curvatures h of block i for class c."""
    if J.k == 1:
        return J.curvatures(i, kept)
    return J.v[J.block_slices[i]] * kept[:, c] * (1 - kept[:, c])


def whitening_factor(J, x):
    """L of eq. (4) at x, or None where it would not pay."""
    if J.n < ROWS_PER_COLUMN * J.d or J.d > MAX_FACTOR_WIDTH:
        return None
    # more rows make a better factor: so many for each column cost about one pass
    each = max(ROWS_PER_COLUMN, 8 * J.n // J.d**2)
    s = max(1, J.n // (each * J.d))
    if J.on_cluster:
        weight, G = J.sum_on_cluster(partial(_block_whitening, x=x, s=s))
    else:
        stats = _whitening_of_block(J, J.predictions_at(x), s)
        weight, G = arrays.to_host(*J.sum(stats))
    if not J.sparse:
        G *= float(arrays.namespace(J.v).sum(J.v)) / max(weight, 1e-300)
    G[np.arange(J.d), np.arange(J.d)] += J.alpha
    if not J.intercept:
        G[J.d] = 0.0
        G[:, J.d] = 0.0
        G[J.d, J.d] = 1.0
    return cholesky(G)[0]


def _whitening_of_block(J, kept, s):
    """The function (X_b, i) -> weight and second moments of eq. (4) of a block."""

    def stats(X, i):
        v = J.v[J.block_slices[i]]
        xp = arrays.namespace(J.v)
        h = J.curvatures(i, kept[i]) if J.k == 1 else v * xp.mean(kept[i], axis=1)
        if J.k > 1:  # the mean over classes of p (1 - p)
            h = h - v * xp.mean(kept[i] * kept[i], axis=1)
        rows = X if J.sparse else X[::s, ...]
        return xp.sum(v[::s]), weighted_second_moments(rows, h if J.sparse else h[::s])

    return stats
