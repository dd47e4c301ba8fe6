"""Matrices close to the Hessian of a risk, for methods that never form it.

`block_jacobi_preconditioner`, for sparse rows: the diagonal of H, with the part of the `BLOCK_SIZE` fullest
columns and the intercept exact, factored, for each class by itself,

    M_c = [ H_c over the head    0           ]                                    (1)
          [ 0                    diag(H_c)   ]

In a text the few most frequent words hold most entries and correlate with the
intercept and with each other; what is left is nearly diagonal, so that conjugate
gradients take a fifth of the steps that they need without M.

`whitening_factor`, for rows that are more than columns: a factor of the mean curvature times
the second moments of every s-th row,

    L L^T = sum_i h_i (x_i, 1) (x_i, 1)^T + alpha I,   h = v times a mean l''    (2)

the same for all classes; in z = L^T x the risk is nearly round.

Shapes    x, r (k (d + 1),)   M_c, L (d + 1, d + 1)
Refs      [Nocedal2006] ch. 5; [Lin2008] Newton steps on text
"""

import numpy as np

from ..core import arrays
from ..core.linalg import cholesky, solve_cholesky
from .moments import weighted_second_moments
from .risk import unsigned_csr

BLOCK_SIZE = 64  # columns
ROWS_PER_COLUMN = 6  # rows for a column that `whitening_factor` looks at
MAX_FACTOR_WIDTH = 4000  # columns for which a factor is made


def densest_columns(X, m=BLOCK_SIZE):
    """The m columns of a CSR matrix with most entries, in order."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    m = min(m, X.shape[1])
    return np.sort(np.argpartition(-counts, m - 1)[:m])


def block_jacobi_preconditioner(J):
    """x -> (r -> M^-1 r) of eq. (1) for a `Risk` of CSR rows."""
    from . import _risk as loops

    top = densest_columns(J.X)
    place = np.full(J.d, -1, dtype=np.int32)
    place[top] = np.arange(len(top))
    head, m = np.append(top, J.d), len(top)

    def parts(h):
        """The diagonal and the head for one class of row curvatures h."""

        def stats(X, i):
            D, G = np.zeros(J.d + 1), np.zeros((m + 1, m + 1))
            loops.sparse_diagonal_and_block(*unsigned_csr(X), h(i), place, D, G)
            return D, G

        D, G = J.sum(stats)
        D[: J.d] += J.alpha
        G[np.arange(m), np.arange(m)] += J.alpha
        if not J.intercept:
            D[J.d], G[m] = 1.0, np.append(np.zeros(m), 1.0)
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
    """h of block i for class c."""
    if J.k == 1:
        return J.curvatures(i, kept)
    return J.v[J.block_slices[i]] * kept[:, c] * (1 - kept[:, c])


def whitening_factor(J, x):
    """L of eq. (2) at x, or None where it would not pay."""
    if J.n < ROWS_PER_COLUMN * J.d or J.d > MAX_FACTOR_WIDTH:
        return None
    kept, s = J.predictions_at(x), max(1, J.n // (ROWS_PER_COLUMN * J.d))

    def stats(X, i):
        v, xp = J.v[J.block_slices[i]], arrays.namespace(J.v)
        h = J.curvatures(i, kept[i]) if J.k == 1 else v * xp.mean(kept[i], axis=1)
        if J.k > 1:  # the mean over classes of p (1 - p)
            h = h - v * xp.mean(kept[i] * kept[i], axis=1)
        rows = X if J.sparse else X[::s, ...]
        return float(xp.sum(v[::s])), weighted_second_moments(
            rows, h if J.sparse else h[::s]
        )

    weight, G = J.sum(stats)
    if not J.sparse:
        G *= float(arrays.namespace(J.v).sum(J.v)) / max(weight, 1e-300)
    G[np.arange(J.d), np.arange(J.d)] += J.alpha
    if not J.intercept:
        G[J.d], G[:, J.d] = 0.0, 0.0
        G[J.d, J.d] = 1.0
    return cholesky(G)[0]
