"""Kernels that are given: as a function, as a matrix, or without symmetry.

`FunctionKernel` makes a function of two rows (or of two arrays of rows) a kernel;
`Precomputed` a matrix, whose rows are addressed by their numbers. Both refuse what is
not symmetric. `Asymmetric` is a similarity with k(x, z) != k(z, x) on purpose:

    row-normalised affinities   k(x, z) = a(x, z) / sum_l a(x, r_l)              (1)
    directed graphs             k(i, j) = weight of the edge from i to j         (2)

No feature map gives such a k; two do. With the singular value decomposition
K = U S V^T the maps are

    source  U S^(1/2),   target  V S^(1/2),   K_ij = source_i . target_j         (3)

Refs      [Suykens2016] (3); [He2023]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..core.arrays.arrays import as_float, asarray, is_foreign, namespace, to_numpy
from ..distances.pairwise_metrics import as_float_rows, distance_matrix_function
from .base import AbstractKernel, object_rows, warn_if_indefinite

ASYMMETRIC = (
    "the kernel is not symmetric: k(x, z) and k(z, x) differ by up to {gap:.3g}. Where "
    "that is meant, take kernels.Asymmetric and kernel_model.AsymmetricLSSVM."
)


def refuse_asymmetric(K, tol=1e-8):
    """Raise if a square matrix is not symmetric to a share `tol` of its entries."""
    K = to_numpy(K)
    gap = np.abs(K - K.T).max(initial=0.0)
    if gap > tol * np.abs(K).max(initial=0.0):
        raise ValueError(ASYMMETRIC.format(gap=gap))


@dataclass(frozen=True)
class FunctionKernel(AbstractKernel):
    """A function as a kernel.

    Parameters
    ----------
    function : callable
        Of two rows to a number, or of X and Z to their matrix.
    vectors : bool, default=True
        Whether rows are numbers; otherwise any objects, handed over one by one.
    params : dict, optional
        Keywords of the function.

    Examples
    --------
    >>> from pansophy.kernels import FunctionKernel
    >>> FunctionKernel(lambda x, z: min(x.sum(), z.sum()))([[1.0], [2.0]])
    array([[1., 1.], [1., 2.]])
    >>> shared = lambda a, b: len(set(a) & set(b))
    >>> FunctionKernel(shared, vectors=False)(["abc"], ["bcd", "xyz"])
    array([[2., 0.]])
    """

    function: Callable
    vectors: bool = True
    params: dict | None = None

    is_psd = False

    @property
    def requires_vector_input(self):  # pyrefly: ignore
        return self.vectors

    def as_rows(self, X, Z=None):
        return as_float_rows(X, Z) if self.vectors else object_rows(X, Z)

    def __call__(self, X, Z=None):
        if Z is not None:
            return super().__call__(X, Z)
        rows, _ = self.as_rows(X)
        K = self.block(rows, rows)
        refuse_asymmetric(K)
        K = 0.5 * (K + namespace(K).matrix_transpose(K))
        warn_if_indefinite(self, K)
        return K

    def block(self, X, Z):
        params = self.params or {}
        if not self.vectors:
            K = [[float(self.function(x, z, **params)) for z in Z] for x in X]
            return np.array(K, dtype=float).reshape(len(X), len(Z))
        K = distance_matrix_function(self.function, **params)(X, Z)
        return K if is_foreign(K) else np.asarray(K, dtype=X.dtype)

    def diag(self, X):
        X, _ = self.as_rows(X)
        parts = [
            to_numpy(self.block(X[i : i + 1], X[i : i + 1])) for i in range(len(X))
        ]
        d = np.array([float(p[0, 0]) for p in parts])
        return asarray(d, like=X) if self.vectors else d


@dataclass(frozen=True, eq=False)
class Precomputed(AbstractKernel):
    """A symmetric matrix as a kernel of row numbers.

    Parameters
    ----------
    matrix : array of shape (N, N)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernels import Precomputed
    >>> k = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> k([[1]], [[0], [1]])
    array([[1., 3.]])
    """

    matrix: Any

    is_psd = False

    def __post_init__(self):
        K = self.matrix if hasattr(self.matrix, "dtype") else np.asarray(self.matrix)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix, got {tuple(K.shape)}."
            )
        refuse_asymmetric(K)
        object.__setattr__(self, "matrix", as_float(K))

    def _numbers(self, X):
        X = to_numpy(X)[:, 0]
        numbers = X.astype(np.int64)
        if (
            (numbers != X).any()
            or (numbers < 0).any()
            or (numbers >= self.matrix.shape[0]).any()
        ):
            raise ValueError(
                "rows of a precomputed kernel are whole numbers from 0 to "
                f"{self.matrix.shape[0] - 1}."
            )
        return numbers

    def block(self, X, Z):
        K = to_numpy(self.matrix)[np.ix_(self._numbers(X), self._numbers(Z))]
        return asarray(K, like=X)

    def diag(self, X):
        X, _ = self.as_rows(X)
        return asarray(np.diagonal(to_numpy(self.matrix))[self._numbers(X)], like=X)


@dataclass(frozen=True, eq=False)
class Asymmetric:
    """A similarity with k(x, z) != k(z, x), eqs. (1) and (2).

    Parameters
    ----------
    similarity : kernel, its name, callable or array of shape (N, N)
        a(x, z) of eq. (1); an asymmetric function of two rows, or of two arrays of
        rows; or the matrix of a directed graph, eq. (2), whose rows are row numbers.
    reference : array of shape (n, d), optional
        r of eq. (1): with it every row of k(X, reference) sums to 1.

    Examples
    --------
    >>> from pansophy.kernels import Asymmetric, RBF
    >>> X = [[0.0], [1.0], [3.0]]
    >>> K = Asymmetric(RBF(), X)(X)
    >>> K.sum(axis=1), bool(abs(K - K.T).max() > 0.01)
    (array([1., 1., 1.]), True)
    """

    similarity: Any
    reference: Any = None

    def __call__(self, X, Z=None):
        """The matrix of k(x, z), (n, m); not symmetric for Z = None."""
        X, Z = as_float_rows(X, X if Z is None else Z)
        K = self._affinities(X, Z)
        if self.reference is None:
            return K
        total = namespace(K).sum(self._affinities(X, self._reference(X)), axis=1)
        if not bool(namespace(K).all(total > 0)):
            raise ValueError(
                "a row has no affinity to any reference row: k cannot be normalised."
            )
        return K / total[:, None]

    def _reference(self, X):
        return asarray(np.asarray(to_numpy(self.reference), dtype=float), like=X)

    def _affinities(self, X, Z):
        similarity = self.similarity
        if isinstance(similarity, str):
            from .lookup import kernel_for_rows

            similarity = kernel_for_rows(similarity, X)
        if isinstance(similarity, AbstractKernel):
            return similarity(X, Z)
        if callable(similarity):
            return distance_matrix_function(similarity)(X, Z)
        K = np.asarray(to_numpy(similarity), dtype=float)
        rows, columns = (to_numpy(A)[:, 0].astype(np.int64) for A in (X, Z))
        return asarray(K[np.ix_(rows, columns)], like=X)

    def is_symmetric(self, X, *, tol=1e-8) -> bool:
        """Whether k is symmetric on these rows."""
        K = to_numpy(self(X))
        return bool(
            np.abs(K - K.T).max(initial=0.0) <= tol * np.abs(K).max(initial=0.0)
        )

    def maps(self, X, n_components=None):
        """Source and target features of the rows, eq. (3): (n, q) each.

        With all components their inner products are K exactly.
        """
        U, S, Vt = scipy.linalg.svd(to_numpy(self(X)), full_matrices=False)
        q = len(S) if n_components is None else n_components
        root = np.sqrt(S[:q])
        return U[:, :q] * root, Vt[:q].T * root


@dataclass(frozen=True)
class SklearnKernel(AbstractKernel):
    """A kernel object of scikit-learn's interface without a counterpart here.

    Its matrices are made at once, and its gradients as one stack of n n p numbers.

    Parameters
    ----------
    kernel : object with the methods of `sklearn.gaussian_process.kernels.Kernel`

    Examples
    --------
    >>> from sklearn.gaussian_process import kernels as theirs
    >>> from pansophy.kernels import SklearnKernel
    >>> SklearnKernel(theirs.ExpSineSquared(1.0, 2.0))([[0.0, 0.0]], [[2.0, 0.0]])
    array([[1.]])
    """

    kernel: Any

    has_white_noise = True  # unknown: diag is asked for a row with itself

    @property
    def requires_vector_input(self):  # pyrefly: ignore
        return self.kernel.requires_vector_input

    def as_rows(self, X, Z=None):
        return X, X if Z is None else Z

    def __call__(self, X, Z=None):
        return np.asarray(self.kernel(X) if Z is None else self.kernel(X, Z), float)

    def block(self, X, Z):
        return self(X, Z)

    def diag(self, X):
        return np.asarray(self.kernel.diag(X), float)

    def matmul(self, X, Z, V):
        return self(X, Z) @ V

    def gradient(self, X, Z=None):
        if Z is not None and Z is not X:
            raise ValueError("kernels of scikit-learn have no gradient between rows.")
        return np.moveaxis(self.kernel(X, eval_gradient=True)[1], -1, 0)

    def contract(self, X, Z, W):
        if isinstance(W, tuple):
            W = W[0].reshape(len(W[0]), -1) @ W[1].reshape(len(W[1]), -1).T
        return np.einsum("kij,ij->k", self.gradient(X, Z), W)

    @property
    def theta(self):
        return np.array(self.kernel.theta, float)

    @property
    def theta_names(self):
        return tuple(str(i) for i in range(len(self.kernel.theta)))

    def with_theta(self, theta):
        return SklearnKernel(self.kernel.clone_with_theta(np.asarray(theta, float)))
