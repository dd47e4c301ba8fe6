"""Gram matrices: making, centring and testing them.

    K_ij = k(x_i, z_j)                                                          (1)
    Kc = K - 1 m^T - (K 1 / n) 1^T + mean(m),   m = column means of training K  (2)

(2) is the Gram matrix of features less their training mean: rows of new data use the
column means m of the training matrix. A kernel is valid if every Gram matrix of it is
positive semi-definite, v^T K v >= 0 for all v; a matrix that is not has a negative
eigenvalue, whose vector is a witness, and often a 2 x 2 minor that shows it by hand:
K_ii K_jj < K_ij^2.

Refs      [ScholkopfSmola2002] 2.2, 14.2
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays.arrays import asarray, namespace, to_numpy


def gram(kernel, X, Z=None):
    """The matrix of k(x, z) for all pairs of rows, eq. (1), computed by tiles.

    Parameters
    ----------
    kernel : kernel, name of scikit-learn's or function
        As `get_kernel` takes it; the gamma of a name is 1 / columns of X.
    X, Z : rows; Z = None means X

    Examples
    --------
    >>> from pansophy.kernels import gram
    >>> gram("linear", [[1.0, 2.0], [3.0, -1.0]])
    array([[ 5.,  1.], [ 1., 10.]])
    """
    from .lookup import kernel_for_rows

    return kernel_for_rows(kernel, X)(X, Z)


def center(K, training=None):
    """Centre a Gram matrix in feature space, eq. (2).

    Parameters
    ----------
    K : array of shape (m, n)
        k of m rows and the n training rows; square if these are the training rows.
    training : array of shape (n, n), optional
        The training matrix, before centring; K itself by default.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernels import center
    >>> center(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[ 0.25, -0.25], [-0.25,  0.25]])
    """
    K = K if hasattr(K, "dtype") else np.asarray(K, dtype=float)
    T = K if training is None else training
    T = T if hasattr(T, "dtype") else np.asarray(T, dtype=float)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or K.shape[1] != T.shape[0]:
        raise ValueError(
            f"center needs a square training matrix with as many columns as K, got "
            f"shapes {tuple(T.shape)} and {tuple(K.shape)}."
        )
    xp = namespace(K)
    means = asarray(to_numpy(T).mean(axis=0), like=K)
    row_means = xp.mean(K, axis=1)[:, None]
    return K - means[None, :] - row_means + xp.mean(means)


class PSDCheck(NamedTuple):
    """Whether a Gram matrix is positive semi-definite, and a witness if it is not."""

    psd: bool
    smallest: float  # least eigenvalue
    witness: np.ndarray | None  # v with v^T K v < 0
    minor: tuple[int, int] | None = None  # rows i, j with K_ii K_jj < K_ij^2, if any

    def __str__(self):
        if self.psd:
            return f"positive semi-definite (least eigenvalue {self.smallest:.3g})"
        text = f"not positive semi-definite: least eigenvalue {self.smallest:.3g}"
        if self.minor is not None:
            text += f"; rows {self.minor[0]} and {self.minor[1]} alone show it"
        return text


def check_psd(K, X=None, *, tol=1e-10) -> PSDCheck:
    """Test a Gram matrix, or a kernel (or its name, or a function) on the rows of X.

    Eigenvalues down to -tol times the largest in size count as 0. What is not symmetric
    is refused: its certificate is a pair of rows with k(x, z) != k(z, x).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernels import check_psd
    >>> check_psd(np.diag([0.0, -1.0])).psd
    False
    >>> print(check_psd(np.tanh([[1.0, 2.0], [2.0, 4.0]])))
    not positive semi-definite: least eigenvalue -0.0909; rows 0 and 1 alone show it
    """
    if X is not None:
        K = kernel_values(K, X)
    K = np.asarray(to_numpy(K), dtype=np.float64)
    size = np.abs(K).max(initial=0.0)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix must be square, got shape {K.shape}.")
    gap = np.abs(K - K.T)
    if gap.max(initial=0.0) > 1e-8 * size:
        i, j = np.unravel_index(np.argmax(gap), K.shape)
        raise ValueError(
            f"a Gram matrix must be symmetric, but k({i}, {j}) = {K[i, j]:.6g} and "
            f"k({j}, {i}) = {K[j, i]:.6g}."
        )
    K = 0.5 * (K + K.T)
    values, vectors = np.linalg.eigh(K)
    if values[0] >= -tol * np.abs(values).max():
        return PSDCheck(True, float(values[0]), None)
    return PSDCheck(False, float(values[0]), vectors[:, 0], _negative_minor(K, size))


def kernel_values(kernel, X):
    """k(X, X) of a kernel, its name or a function, without a warning."""
    from .given import Asymmetric
    from .lookup import kernel_for_rows

    if isinstance(kernel, Asymmetric):
        return kernel(X)
    kernel = kernel_for_rows(kernel, X)
    rows, _ = kernel.as_rows(X)
    return kernel(X) if kernel.is_psd else kernel.block(rows, rows)


def _negative_minor(K, size):
    """The pair of rows with the least 2 x 2 minor, if it is below 0."""
    d = np.diagonal(K)
    minors = np.outer(d, d) - K * K
    i, j = np.unravel_index(np.argmin(minors), K.shape)
    return (int(i), int(j)) if minors[i, j] < -1e-12 * size * size else None
