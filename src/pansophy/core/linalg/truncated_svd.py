"""Truncated singular value decomposition by block Lanczos, from products only.

For A = X - 1 m^T (m given or 0) find the k largest of

    A = U S V^T,    U^T U = V^T V = I,    S_1 >= S_2 >= ... >= 0                 (1)

by block Lanczos from a random start. On the shorter side, C = A^T A or A A^T, take
Gaussian columns G, b = k + p of them, and an orthonormal basis of

    span[ G, C G, C^2 G, ..., C^q G ],                                           (2)

then the best approximation to the eigenvectors of C inside it (Rayleigh-Ritz). Keeping
every power costs the same products as keeping only the last, as subspace iteration
does, and reaches the accuracy of about q^2 of its rounds. C being symmetric, a new
block meets only the two before it, by products that are known already; what rounding
leaves against the others is cleared where there is any. A column that vanishes (the
space is exhausted, or the rank is small) is replaced by a random one, so the basis
stays orthonormal. Powers end early once the k Ritz pairs (t_j, y_j) have converged,
judged by the share of S_1^2 + ... + S_k^2 that may still be missing,

    sum_j |C y_j - t_j y_j|^2  <=  tol (t_k - t_k+1) (t_1 + ... + t_k),          (3)

which an easy spectrum meets after two or three and a slow one, its gap small, never
(five powers then miss no more than seven of subspace iteration). If (2) would fill the
shorter side the whole side is taken, and the answer is exact. One last product and a
thin SVD give U and S at full accuracy rather than by square roots of eigenvalues.

A is never formed: centring is a rank-one term of each product, so a sparse X stays
sparse and a dense one is not copied. C V is one fused pass over blocks of rows, on
threads (dense, sparse, a table on disk) or on the device of a tensor. Signs follow
`svd_flip`, so equal seeds give equal answers whatever the number of threads.

Cost      at most q + 2 passes of 4 n d b, b^2 q^2 min(n, d); memory (q + 2) b min(n, d)
Shapes    X (n, d)   m (d,)   U (n, k)   S (k,)   Vt (k, d)
Refs      [Halko2011]; [Musco2015] why powers are kept; [GolubVanLoan2013] 10.3.6
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..arrays.arrays import asarray, device, is_foreign, namespace
from ..arrays.rows import DatasetRows, Rows, as_rows
from ..loops import threads

BLOCK_BYTES = 1 << 21  # of a block of rows that a fused pass reads twice
PARTS = 8  # blocks that a sparse matrix is cut into
NARROW = 8  # columns of a block of `leading_eigenpairs`
MOST_POWERS = 64  # of `leading_eigenpairs`
WIDE = 5  # powers from which the basis is held to be a small part of the side
BUSY = 64  # entries for each column in a block whose sums are worth adding up


class SVD(NamedTuple):
    U: Any  # (n, k), or None if it was not asked for
    S: Any  # (k,), falling
    Vt: Any  # (k, d)


def svd_flip(U, Vt):
    """Singular triples with the largest entry of every row of Vt positive.

    Examples
    --------
    >>> svd_flip(np.array([[1.0]]), np.array([[0.6, -0.8]]))
    (array([[-1.]]), array([[-0.6, 0.8]]))
    """
    xp = namespace(Vt)
    largest = xp.argmax(xp.abs(Vt), axis=1)
    top = xp.take_along_axis(Vt, largest[:, None], axis=1)
    sign = xp.where(top < 0, -xp.ones_like(top), xp.ones_like(top))
    return None if U is None else U * sign[:, 0], Vt * sign


class CentredMatrix:
    """A = X - 1 m^T by its products; X an array, tensor, sparse matrix or table."""

    def __init__(self, X, m=None):
        if sp.issparse(X) and X.format != "csr":
            X = X.tocsr()
        self.shape = n, d = tuple(int(s) for s in X.shape)
        self.X, self.m = X, m
        self.like = X if is_foreign(X) else np.empty(0, X.dtype)
        self.wide = n < d
        self.data: Any = (
            None if sp.issparse(X) else as_rows(X, block=_svd_block_rows(X, n, d))
        )
        self.parts = _sparse_row_blocks(X, PARTS) if sp.issparse(X) else []
        self.sums = (
            _sparse_row_blocks(X, _sparse_block_count(X)) if sp.issparse(X) else []
        )

    def times(self, V):
        """A V, (n, b)."""
        if self.parts:
            Y = np.concatenate(_map_row_blocks(self.parts, lambda x, cut: x @ V))
        else:
            Y = (
                self.X @ V
                if is_foreign(V)
                else self.data.map(lambda x: _thin_product(x, V))
            )
        return Y if self.m is None else Y - self.m @ V

    def back(self, U):
        """A^T U, (d, b)."""
        if self.parts and not self.wide:
            Y: Any = sum(_map_row_blocks(self.sums, lambda x, cut: x.T @ U[cut]))
        elif isinstance(self.X, DatasetRows):
            Y = self.data.with_aligned(U).sum(lambda x, u: x.T @ u)
        elif is_foreign(U) or self.parts:
            Y = self.X.T @ U
        else:
            n, d = self.shape
            Y = Rows(self.X.T, block=_svd_block_rows(self.X, d, n)).map(
                lambda x: _thin_product(x, U)
            )
        if self.m is None:
            return Y
        return Y - self.m[:, None] * namespace(U).sum(U, axis=0)

    def square(self, V):
        """C V: A^T A V, or A A^T V if A is wide."""
        if self.wide:
            dense = not self.parts and not isinstance(self.X, DatasetRows)
            return self.columns(V) if dense else self.times(self.back(V))
        xp = namespace(V)
        m = self.m
        c = None if m is None else m @ V

        def stats(x):
            y = x @ V if c is None else x @ V - c
            return x.T @ y if m is None else (x.T @ y, xp.sum(y, axis=0))

        if self.parts:
            products = _map_row_blocks(self.sums, lambda x, cut: stats(x))
            sums: Any = (
                sum(products)
                if m is None
                else [sum(f) for f in zip(*products, strict=True)]
            )
        else:
            sums = self.data.sum(stats)
        return sums if m is None else sums[0] - m[:, None] * sums[1]

    def columns(self, V):
        """A A^T V for a dense wide X, by blocks of its columns."""
        X, m = self.X, self.m
        n, d = self.shape
        xp = namespace(V)
        c = None if m is None else xp.sum(V, axis=0)

        def stats(x, m=None):
            y = x @ V if m is None else x @ V - m[:, None] * c
            return x.T @ y if m is None else (x.T @ y, m @ y)

        aligned = () if m is None else (m,)
        sums = Rows(X.T, *aligned, block=_svd_block_rows(X, d, n)).sum(stats)
        return sums if m is None else sums[0] - sums[1]


def _thin_product(x, V):
    """x V for few columns V, which BLAS is quicker to find as (V^T x^T)^T."""
    return (V.T @ x.T).T


def _sparse_block_count(X):
    """Blocks of a CSR matrix whose (d, b) sums are added: 2 to 8, by their entries."""
    return min(PARTS, max(2, X.nnz // (BUSY * X.shape[1])))


def _sparse_row_blocks(X, count):
    """Blocks of rows of a CSR matrix, which share its memory, each with its slice."""
    n, d = X.shape
    size = max(1, -(-n // count))
    blocks = []
    for i in range(0, n, size):
        cut = slice(i, min(i + size, n))
        ends = X.indptr[cut.start : cut.stop + 1]
        held = slice(int(ends[0]), int(ends[-1]))
        stored = (X.data[held], X.indices[held], ends - ends[0])
        blocks.append((sp.csr_array(stored, shape=(cut.stop - i, d)), cut))
    return blocks


def _map_row_blocks(pieces, function):
    """function(block, slice) of each of `_sparse_row_blocks`, on threads, in order."""
    return list(threads.run_tasks((lambda x=x, c=c: function(x, c)) for x, c in pieces))


def _svd_block_rows(X, n, d):
    """Rows per block: little enough for a cache, one pass for a device."""
    if is_foreign(X):
        return n  # no copy is made of a block
    if isinstance(X, DatasetRows):
        return None
    return max(64, min(BLOCK_BYTES // (X.dtype.itemsize * max(d, 1)), n))


def _lanczos_basis(A, k, b, q, rng, converged):
    """Orthonormal V (s, .) of eq. (2), s the shorter side of A; and its Ritz pairs.

    Of C V only T = V^T C V is kept, and of a new block's part in T only what is new.
    The third answer says whether the pairs have converged. `converged(R, pairs)` is
    asked before every power at first, then before those that widen the basis by a
    quarter, since the Ritz pairs of a wide basis cost as much as a power.
    """
    xp = namespace(A.like)
    s = min(A.shape)
    draw = lambda k: asarray(rng.standard_normal((s, k)), like=A.like)
    if b * (min(q, WIDE) + 1) >= s:
        V = asarray(np.eye(s), like=A.like)
        return V, _rayleigh_ritz(A.square(V)), True
    small = 1e3 * float(xp.finfo(A.like.dtype).eps)
    V = _cholesky_qr(_cholesky_qr(draw(b))[0])[0]
    last = A.square(V)
    T = xp.matrix_transpose(V) @ last
    size = float(xp.max(xp.abs(last)))
    pairs = _rayleigh_ritz(T)
    check_at = 0
    for step in range(q):
        recent = slice(max(int(V.shape[1]) - 2 * b, 0), None)
        Q, R = _gram_qr(last - V[:, recent] @ T[recent, -b:])
        if step >= check_at:
            check_at = max(step + 1, step * 5 // 4)
            if step:
                pairs = _rayleigh_ritz(T)
            if converged(R, pairs):
                return V, pairs, True
        if int(V.shape[1]) + b > s:
            break
        weak = xp.abs(xp.linalg.diagonal(R)) <= small * size
        fresh = bool(xp.any(weak))
        if fresh:
            Q = xp.linalg.qr(
                _orthogonalize_against(xp.where(weak[None, :], draw(b), Q), V)
            )[0]
            Q = xp.linalg.qr(_orthogonalize_against(Q, V))[0]
        else:
            rest = xp.matrix_transpose(V) @ Q
            overlaps = float(xp.max(xp.abs(rest))) > small
            Q, R_more = _cholesky_qr(Q - V @ rest if overlaps else Q)
            R = R_more @ R
        last = A.square(Q)
        side = xp.matrix_transpose(V) @ last if fresh else _coupling_to_last_block(R, V)
        V = xp.concat([V, Q], axis=1)
        lower_blocks = [xp.matrix_transpose(side), xp.matrix_transpose(Q) @ last]
        T = xp.concat([xp.concat([T, side], axis=1), xp.concat(lower_blocks, axis=1)])
    return V, _rayleigh_ritz(T), False


def _coupling_to_last_block(R, V):
    """V^T C Q: R^T against the block before Q, 0 against all others (C = C^T)."""
    xp = namespace(R)
    b = int(R.shape[0])
    zeros_before = xp.zeros((int(V.shape[1]) - b, b), dtype=R.dtype, device=device(R))
    return xp.concat([zeros_before, xp.matrix_transpose(R)])


def _rayleigh_ritz(T):
    """Rayleigh-Ritz: values, falling, and their vectors in the basis V."""
    xp = namespace(T)
    values, E = xp.linalg.eigh(0.5 * (T + xp.matrix_transpose(T)))
    return xp.flip(values, axis=0), xp.flip(E, axis=1)


def _subspace_converged(k, tol):
    """Eq. (3) as a rule for `_lanczos_basis`; never, for tol 0.

    C V = V T but in the last block, where it is V T + Q R.
    """

    def converged(R, pairs):
        xp = namespace(R)
        values, E = pairs
        if tol == 0 or int(values.shape[0]) <= k:
            return False
        rest = R @ E[-int(R.shape[0]) :, :k]
        room = (float(values[k - 1]) - float(values[k])) * float(xp.sum(values[:k]))
        return float(xp.sum(rest * rest)) <= tol * max(room, 0.0)

    return converged


def _residuals_converged(k, sharp):
    """|C y_j - t_j y_j| <= sharp t_1 for the k leading pairs, as such a rule."""

    def converged(R, pairs):
        xp = namespace(R)
        values, E = pairs
        if int(values.shape[0]) <= k:
            return False
        rest = R @ E[-int(R.shape[0]) :, :k]
        largest = float(xp.max(xp.sum(rest * rest, axis=0))) ** 0.5
        return largest <= sharp * float(values[0])

    return converged


class _SymmetricMatrix:
    """A symmetric C held as a dense array or tensor, by its products."""

    def __init__(self, C):
        self.C = self.like = C
        self.shape = tuple(int(n) for n in C.shape)

    def square(self, V):
        """C V."""
        return self.C @ V if is_foreign(V) else _thin_product(self.C, V)


class LeadingEigenpairs(NamedTuple):
    """The k largest eigenvalues of a symmetric matrix, falling, and their vectors."""

    values: Any  # (k,)
    vectors: Any  # (n, k)
    least: float  # least Ritz value: the least eigenvalue is at most this
    converged: bool


def leading_eigenpairs(C, k, rng, *, sharp) -> LeadingEigenpairs:
    """The k largest eigenvalues of a dense symmetric C, by block Lanczos on C itself.

    A product with a narrow block costs little more than one with a vector, since
    reading C is what takes the time. Powers are added until every residual is below
    `sharp` times the largest eigenvalue; a spectrum that needs more than MOST_POWERS,
    or a basis of half the columns of C, is given back as not converged.

    Examples
    --------
    >>> C = np.diag(6 / np.arange(1.0, 301.0))
    >>> pairs = leading_eigenpairs(C, 3, np.random.default_rng(0), sharp=1e-9)
    >>> pairs.values.round(6), pairs.converged
    (array([6., 3., 2.]), True)
    """
    n = int(C.shape[0])
    b = NARROW if k <= 4 * NARROW else 2 * NARROW
    powers = max(min(n // (2 * b), MOST_POWERS), 1)
    rule = _residuals_converged(k, sharp)
    V, (values, E), done = _lanczos_basis(_SymmetricMatrix(C), k, b, powers, rng, rule)
    return LeadingEigenpairs(values[:k], V @ E[:, :k], float(values[-1]), done)


def _orthogonalize_against(W, V):
    """W less what it has in the span of V."""
    return W - V @ (namespace(V).matrix_transpose(V) @ W)


def truncated_svd(
    X, k, rng, *, center=None, n_iter="auto", oversample=10, tol=None, left=True
) -> SVD:
    """The k leading triples of X - 1 center^T, eq. (1).

    Parameters
    ----------
    X : array, tensor, SciPy sparse matrix or table on disk, of shape (n, d)
    k : int
    rng : Generator
    center : array of shape (d,), optional
        m, in X's library. None leaves the rows where they are.
    n_iter : "auto" or int
        Most powers q of eq. (2); "auto" is 5, or 4 for k of a tenth of the shorter
        side or more.
    oversample : int
        p, columns beyond k; a few more if that makes a better block.
    tol : float, optional
        Of eq. (3); 0 takes every power. None is 1e-10, or 1e-7 in single precision.
    left : bool
        Whether U is wanted. Without it a pass is saved, and singular values below
        S_1 sqrt(eps) have no digits.

    Examples
    --------
    >>> X = np.array([[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 3.0]])
    >>> truncated_svd(X, 2, np.random.default_rng(0)).S.round(6)
    array([9., 3.])
    """
    n, d = (int(s) for s in X.shape)
    if not 1 <= k <= min(n, d):
        raise ValueError(f"k must be from 1 to {min(n, d)}, got {k}.")
    if n_iter == "auto":
        n_iter = 5 if k < 0.1 * min(n, d) else 4
    A = CentredMatrix(X, center)
    if tol is None:
        tol = 1e-10 if float(namespace(A.like).finfo(A.like.dtype).eps) < 1e-8 else 1e-7
    # one thread for what is thin: products run on threads of ours, block by block
    with nullcontext() if is_foreign(A.like) else threads.single_blas():
        b = k + oversample if A.parts else _block_width(k + oversample)
        return _svd_in_basis(A, k, min(b, n, d), n_iter, rng, tol, left)


def _block_width(b):
    """b, or the next multiple of 16 if that is near: products take no longer then."""
    padded = -(-b // 16) * 16
    return padded if padded <= 1.15 * b else b


def _svd_in_basis(A, k, b, q, rng, tol, left) -> SVD:
    """Rayleigh-Ritz in the basis of eq. (2), then U and S by one more product."""
    V, (values, E), _ = _lanczos_basis(A, k, b, q, rng, _subspace_converged(k, tol))
    xp = namespace(V)
    Q = V @ E[:, :k]  # (s, k)
    if not left and not A.wide:
        values = values[:k]
        S = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
        return SVD(None, S, svd_flip(None, xp.matrix_transpose(Q))[1])
    if A.wide:
        P, S, W = thin_svd(A.back(Q))
        U = Q @ xp.matrix_transpose(W)
        Vt = xp.matrix_transpose(P)
    else:
        U, S, W = thin_svd(A.times(Q))
        Vt = W @ xp.matrix_transpose(Q)
    U, Vt = svd_flip(U, Vt)
    return SVD(U, S, Vt)


def thin_svd(Y) -> SVD:
    """The SVD of a tall matrix, by its small Gram matrix where that keeps digits."""
    xp = namespace(Y)
    values, W = xp.linalg.eigh(xp.matrix_transpose(Y) @ Y)
    eps = float(xp.finfo(Y.dtype).eps)
    if float(values[0]) > 1e4 * eps * float(values[-1]):  # U is orthonormal to 1e-4
        S, W = xp.sqrt(xp.flip(values, axis=0)), xp.flip(W, axis=1)
        U, R = _cholesky_qr((Y @ W) / S)
        P, S, Wt = xp.linalg.svd(R * S, full_matrices=False)
        return SVD(U @ P, S, Wt @ xp.matrix_transpose(W))
    U, R = xp.linalg.qr(Y)
    P, S, Wt = xp.linalg.svd(R, full_matrices=False)
    return SVD(U @ P, S, Wt)


def _gram_qr(W):
    """Q, nearly orthonormal, and R of W, by its Gram matrix where that has digits."""
    xp = namespace(W)
    values = xp.linalg.eigvalsh(xp.matrix_transpose(W) @ W)
    eps = float(xp.finfo(W.dtype).eps)
    if float(values[0]) > 1e4 * eps * float(values[-1]):
        return _cholesky_qr(W)
    return xp.linalg.qr(W)


def _cholesky_qr(U):
    """Q and R of U, well conditioned, by the Cholesky factor of its Gram matrix."""
    xp = namespace(U)
    L = xp.linalg.cholesky(xp.matrix_transpose(U) @ U)
    inverse = xp.linalg.inv(L)
    return U @ xp.matrix_transpose(inverse), xp.matrix_transpose(L)
