"""Classical multidimensional scaling: points whose distances match given ones.

For distances D between n rows, with J = I - 11^T / n,

    B = -1/2 J D^2 J,      B = U L U^T,      Y = U_m L_m^(1/2)                      (1)

If D holds Euclidean distances, B is the Gram matrix of the centred rows and Y their
principal components; otherwise Y is the best fit of B by m dimensions, and eigenvalues
below 0 tell how far D is from Euclidean.

Cost      O(n^2) memory; O(n^2 m) a product of Lanczos's method, O(n^3) dense
Shapes    D, B (n, n)   Y (n, m)
Refs      [Torgerson1952]; [Gower1966]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import eigsh
from sklearn.metrics import pairwise_distances

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..distances import METRICS, pairwise
from ..params import Count

FEW = 400  # rows up to which a dense solver is quicker


def dissimilarity_matrix(X, metric, metric_params):
    """Distances between all rows, or X itself if they are given."""
    if metric == "precomputed":
        D = np.asarray(X, dtype=np.float64)
        if D.shape[0] != D.shape[1]:
            raise ValueError(
                "array must be 2-dimensional and square: X holds distances and has "
                f"the shape {D.shape}."
            )
        if not np.allclose(D, D.T, rtol=1e-8, atol=1e-10 * max(np.abs(D).max(), 1.0)):
            raise ValueError("Array must be symmetric: X holds distances.")
        return D
    params = metric_params or {}
    if isinstance(metric, str) and metric in METRICS and not params:
        return np.asarray(pairwise(np.asarray(X, np.float64), metric=metric))
    return pairwise_distances(np.asarray(X, np.float64), metric=metric, **params)


def double_centered(S):
    """-1/2 J S J of squared distances S, in place; with the means taken out."""
    columns = S.mean(axis=0)
    S -= columns
    S -= S.mean(axis=1, keepdims=True)
    S *= -0.5
    return S, columns


def largest_eigenpairs(B, m, *, solver="auto", tol=0.0, max_iter=None, flip=True):
    """The m largest eigenvalues of B and their vectors, largest first."""
    n = len(B)
    if solver == "auto":
        solver = "arpack" if n > FEW and m < min(10, n) else "dense"
    if solver == "arpack" and m < n:
        v0 = np.random.default_rng(0).uniform(-1, 1, n)
        values, U = eigsh(B, m, which="LA", tol=tol, maxiter=max_iter, v0=v0)
        order = np.argsort(-values, kind="stable")
        values, U = values[order], U[:, order]
    else:
        values, U = scipy.linalg.eigh(B, subset_by_index=(n - m, n - 1))
        values, U = values[::-1], U[:, ::-1]
    if flip:  # the entry of each column that is largest in size is positive
        top = U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])]
        U = U * np.where(top < 0, -1.0, 1.0)
    return values, U


def scaled_eigenvectors(values, U):
    """Y of eq. (1); a dimension with no eigenvalue above 0 is 0."""
    return U * np.sqrt(np.maximum(values, 0.0))


def check_n_dimensions(m, n):
    if m > n:
        raise ValueError(f"n_components={m} dimensions cannot be had from {n} rows.")


@dataclass(eq=False, repr=False)
class ClassicalMDS(PrefixedOutput, Transformer, Estimator):
    """Classical multidimensional scaling; the module text gives the method.

    Parameters
    ----------
    n_components : int, default=2
        m, the dimensions of the embedding.
    metric : str or callable, default="euclidean"
        Of the rows, or "precomputed" for a matrix of distances.
    metric_params : dict or None, default=None
        Further arguments of the metric.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Y.
    eigenvalues_ : array of shape (m,)
        The largest eigenvalues of B.
    dissimilarity_matrix_ : array of shape (n, n)
        D.

    Examples
    --------
    >>> from pansophy.manifold import ClassicalMDS
    >>> Y = ClassicalMDS(1).fit_transform([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> abs(Y).ravel().round(6).tolist()
    [5.0, 0.0, 5.0]
    """

    n_components: Count = 2
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    metric_params: dict | None = None

    _tensors = False

    def fit(self, X, y=None):
        """Embed the rows; y is not used."""
        X, _ = self._check_training_data(X, ensure_min_samples=2, order="C")
        refuse_overflowing_squares(self, X)
        check_n_dimensions(self.n_components, X.shape[0])
        X = arrays.to_numpy(X)
        D = dissimilarity_matrix(X, self.metric, self.metric_params)
        values, U = largest_eigenpairs(double_centered(D**2)[0], self.n_components)
        self.dissimilarity_matrix_ = D
        self.embedding_ = scaled_eigenvectors(values, U)
        self.eigenvalues_ = values
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the embedding."""
        return self.fit(X).embedding_

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
