"""Laplacian eigenmaps: the smoothest coordinates on a graph of neighbours.

For symmetric weights W >= 0 with degrees D, minimise

    sum_ij W_ij |y_i - y_j|^2    subject to    Y^T D Y = I,  Y^T D 1 = 0            (1)

Rows with a heavy edge come close together. The answer is Y = D^(-1/2) U for the
eigenvectors U of the normalised Laplacian with the smallest eigenvalues, the first,
constant on every component, left out (`graphs.laplacian_eigenvectors`).

Cost      one neighbour search, then O(edges) a product of Lanczos's method
Shapes    W (n, n)   Y (n, m)
Refs      [BelkinNiyogi2003]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.loops import threads
from ..core.random import make_rng
from ..graphs import knn_graph, laplacian_eigenvectors, node_degrees
from ..graphs.laplacian_spectrum import eigen_method_of_solver
from ..kernels import RBF
from ..params import Count, Jobs, NonNegative
from ..typing import Seed

Affinity = Literal[
    "nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"
]


def spectral_embedding(
    adjacency,
    *,
    n_components=8,
    eigen_solver=None,
    random_state=None,
    eigen_tol="auto",
    norm_laplacian=True,
    drop_first=True,
):
    """Coordinates (n, m) of the nodes of a graph, eq. (1).

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (n, n)
        W.
    n_components : int, default=8
        m.
    eigen_solver : None, "arpack", "lobpcg" or "amg"
    random_state : None, int, RandomState or Generator
        Where Lanczos's method starts.
    eigen_tol : "auto" or float
        Relative accuracy of the eigenvalues; "auto" is the best there is.
    norm_laplacian : bool
        Whether U is divided by the roots of the degrees. The eigenvectors are those of
        the normalised Laplacian either way.
    drop_first : bool
        Whether to leave out the first eigenvector.

    Examples
    --------
    >>> W = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> Y = spectral_embedding(W, n_components=1)
    >>> bool(Y[0, 0] * Y[2, 0] < 0)
    True
    """
    n = adjacency.shape[0]
    k = n_components + int(drop_first)
    if k > n:
        raise ValueError(
            f"n_components={n_components} dimensions cannot be had from {n} rows."
        )
    tol = 0.0 if eigen_tol == "auto" else eigen_tol
    method = eigen_method_of_solver(eigen_solver)
    _, U = laplacian_eigenvectors(
        adjacency, k, make_rng(random_state), method=method, tol=tol
    )
    if norm_laplacian:
        d = node_degrees(adjacency)
        U = U / np.sqrt(np.where(d > 0, d, 1.0))[:, None]
    top = U[np.argmax(np.abs(U), axis=0), np.arange(k)]
    return (U * np.where(top < 0, -1.0, 1.0))[:, int(drop_first) :]


@dataclass(eq=False, repr=False)
class SpectralEmbedding(PrefixedOutput, Transformer, Estimator):
    """Laplacian eigenmaps; the module text gives the method.

    Parameters
    ----------
    n_components : int, default=2
        m, the dimensions of the embedding.
    affinity : "nearest_neighbors", "rbf", "precomputed", \
            "precomputed_nearest_neighbors" or callable
        W: 1 for the nearest neighbours (a half for a pair that one side alone has),
        exp(-gamma |x - z|^2), X itself, neighbours by distances in X, or what the
        function makes of X.
    gamma : float or None, default=None
        Of "rbf"; None is 1 / d.
    random_state : None, int, RandomState or Generator
        Where Lanczos's method starts.
    eigen_solver : None, "arpack", "lobpcg" or "amg", default=None
        None picks by size; "amg" needs pyamg.
    eigen_tol : "auto" or float, default="auto"
        Relative accuracy of the eigenvalues; "auto" is the best there is.
    n_neighbors : int or None, default=None
        Neighbours of a row, itself counted; None is a tenth of the rows.
    n_jobs : int or None, default=None
        Threads; None for all cores.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Y.
    affinity_matrix_ : array or CSR matrix of shape (n, n)
        W.
    n_neighbors_ : int
        The number of neighbours used.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import SpectralEmbedding
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = SpectralEmbedding(1, n_neighbors=3).fit_transform(X)
    >>> bool(np.all(np.diff(Y[:, 0]) > 0) or np.all(np.diff(Y[:, 0]) < 0))
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    affinity: Affinity | Callable = "nearest_neighbors"
    gamma: NonNegative | None = None
    random_state: Seed = None
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = None
    eigen_tol: Literal["auto"] | NonNegative = "auto"
    n_neighbors: Count | None = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Embed the rows; y is not used."""
        X, _ = self._check_training_data(
            X, accept_sparse="csr", ensure_min_samples=2, order="C"
        )
        with threads.limit_threads(self.n_jobs):
            W = self._affinities(X)
            self.embedding_ = spectral_embedding(
                W,
                n_components=self.n_components,
                eigen_solver=self.eigen_solver,
                random_state=self.random_state,
                eigen_tol=self.eigen_tol,
            ).astype(X.dtype, copy=False)
        self.affinity_matrix_ = W.astype(X.dtype, copy=False)
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the embedding."""
        return self.fit(X).embedding_

    def _affinities(self, X):
        n = X.shape[0]
        if callable(self.affinity):
            return _checked_affinities(self.affinity(X), n)
        if self.affinity == "precomputed":
            return _checked_affinities(X, n)
        if self.affinity == "rbf" or (
            self.affinity == "nearest_neighbors" and sparse.issparse(X)
        ):
            self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            X = X.toarray() if sparse.issparse(X) else X
            X = X.astype(np.float64, copy=False)
            return RBF(gamma=self.gamma_)(X) if self.gamma_ else np.ones((n, n))
        k = max(n // 10, 1) if self.n_neighbors is None else self.n_neighbors
        if k > n:
            raise ValueError(f"n_neighbors={k} is more than the {n} rows there are.")
        self.n_neighbors_ = k
        if self.affinity == "precomputed_nearest_neighbors":
            from sklearn.neighbors import NearestNeighbors

            model = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(X)
            G = sparse.csr_array(model.kneighbors_graph(X))
            return sparse.csr_array(0.5 * (G + G.T))
        return knn_graph(X, k, mode="connectivity", include_self=True, symmetric="mean")

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        pairwise_kinds = ("precomputed", "precomputed_nearest_neighbors")
        tags.input_tags.pairwise = self.affinity in pairwise_kinds
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _checked_affinities(W, n):
    """Weights that are square, symmetric and not negative."""
    if W.shape != (n, n):
        raise ValueError(f"affinities must have the shape {(n, n)}, got {W.shape}.")
    gap = abs(W - W.T)
    if gap.max() > 1e-8 * max(abs(W).max(), 1e-300):
        W = 0.5 * (W + W.T)
    if W.min() < 0:
        raise ValueError("an affinity is negative.")
    return W
