"""Spectral clustering: normalised cuts of a graph of the rows.

With weights W_ij >= 0 between rows, d_i = sum_j W_ij and clusters A_1..A_k, the
normalised cut (`pansophy.graphs.cut_value`) is a trace over scaled indicators H,

    Ncut = sum_c W(A_c, rest) / vol(A_c) = trace(H^T L H),  H^T D H = I         (1)

Relaxing that the columns of H are indicators leaves an eigenvalue problem,

    L_sym u = lambda u,  rows of the map  e_i = (u_i1, .., u_ik) / sqrt(d_i)    (2)

whose k smallest eigenvalues add up to at most the Ncut of any k clusters. On a graph of
k components the e_i are k points, one for each component; on other graphs nearly so,
and what is left is to cluster them: k-means; the nearest indicator up to a rotation
("discretize"); or a pivoted QR, whose pivots are k rows that differ most
("cluster_qr").

Time: the graph, O(n^2 d) for a kernel and one neighbour search for nearest neighbours;
then O(edges) for each step of Lanczos. Memory O(edges), that is n^2 numbers for a
kernel and O(n) for nearest neighbours.

Shapes    X (n, d)   W (n, n)   e (n, c)   R (c, c)
Refs      [ShiMalik2000] eq. (1); [Ng2001] k-means on the map; [YuShi2003] discretize;
          [Damle2019] cluster_qr; [Luxburg2007] all of it
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from ..base import Clusterer, Estimator
from ..core.loops import threads
from ..core.random import make_rng
from ..graphs import knn_graph, laplacian_eigenvectors, node_degrees, symmetrize_graph
from ..graphs.laplacian_spectrum import eigen_method_of_solver
from ..kernels import RBF, AbstractKernel
from ..params import Count, Jobs, NonNegative, Number, Verbosity
from ..typing import Seed
from .centers.initialization import check_scale
from .centers.kmeans import KMeans

Affinity = Literal[
    "rbf",
    "nearest_neighbors",
    "precomputed",
    "precomputed_nearest_neighbors",
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "sigmoid",
]


def discretize_embedding(E, rng, *, max_iter=30, n_starts=30):
    """The clusters whose indicators are nearest to the rows of E after a rotation R.

    Alternate: each row takes the largest entry of E R; the best R for those indicators
    comes from an SVD. R starts from a set of rows that are far from parallel.
    """
    n, c = E.shape
    E = E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-300)
    for _ in range(n_starts):
        R = np.empty((c, c))
        R[:, 0] = E[rng.integers(n)]
        seen = np.zeros(n)
        for j in range(1, c):
            seen += np.abs(E @ R[:, j - 1])
            R[:, j] = E[np.argmin(seen)]
        last = -np.inf
        z = np.zeros(n, np.int64)
        for _ in range(max_iter):
            z = (E @ R).argmax(axis=1)
            M = np.stack([np.bincount(z, v, c) for v in E.T], axis=1)
            try:
                U, s, V = np.linalg.svd(M)
            except np.linalg.LinAlgError:
                break  # another start
            if abs(s.sum() - last) <= 1e-12 * n:
                return z
            last = s.sum()
            R = (U @ V).T
        else:
            return z
    raise ValueError("the map of this graph cannot be rotated to clusters.")


def cluster_qr(E):
    """Clusters from the rows that a pivoted QR of E^T takes first."""
    c = E.shape[1]
    pivots = scipy.linalg.qr(E.T, mode="r", pivoting=True, check_finite=False)[1][:c]
    U, _, V = scipy.linalg.svd(E[pivots].T)
    return np.abs(E @ (U @ V)).argmax(axis=1)


def normalized_cut_map(W, c, rng, *, method="auto", tol=0.0):
    """Eq. (2): eigenvalues and the rows of the map; an isolated row has d = 1."""
    values, U = laplacian_eigenvectors(W, c, rng, method=method, tol=tol)
    d = node_degrees(W)
    return values, U / np.sqrt(np.where(d > 0, d, 1.0))[:, None]


@dataclass(eq=False, repr=False)
class SpectralClustering(Clusterer, Estimator):
    """Spectral clustering (normalised cuts); the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    eigen_solver : None, "arpack", "lobpcg" or "amg"
        None picks by the size of the graph; "arpack" is Lanczos always; "amg" needs
        pyamg.
    n_components : int or None
        Columns of the map; None is k.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    n_init : int
        Starts of k-means.
    gamma : float
        Of the kernels rbf, poly, sigmoid, laplacian and chi2.
    affinity : str, kernel or function, default "rbf"
        W: a kernel by name, "nearest_neighbors" (W = (G + G^T) / 2 of the graph of
        nearest neighbours), "precomputed" (X is W), "precomputed_nearest_neighbors"
        (X is a matrix of distances), a member of `pansophy.kernels`, or a function of
        two rows.
    n_neighbors : int
        Neighbours of each row, itself counted.
    eigen_tol : "auto" or float
        Relative accuracy of Lanczos; "auto" is 0, the best there is.
    assign_labels : "kmeans", "discretize" or "cluster_qr"
        How rows of the map are clustered.
    degree, coef0, kernel_params
        Of kernels by name.
    n_jobs : int or None
        Threads; None for all.
    verbose : bool
        Whether to print the steps.

    Attributes
    ----------
    affinity_matrix_ : array or CSR matrix of shape (n, n)
        W.
    labels_ : array of shape (n,)
        The clusters.
    embedding_ : array of shape (n, c)
        The map of eq. (2).
    eigenvalues_ : array of shape (c,)
        lambda of eq. (2); those that are 0 count the components of the graph.

    Examples
    --------
    >>> from pansophy.cluster import SpectralClustering
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> model = SpectralClustering(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[2] != model.labels_[3])
    True
    """

    n_clusters: Count = 8
    _: KW_ONLY
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = None
    n_components: Count | None = None
    random_state: Seed = None
    n_init: Count = 10
    gamma: NonNegative = 1.0
    affinity: Affinity | AbstractKernel | Callable = "rbf"
    n_neighbors: Count = 10
    eigen_tol: Literal["auto"] | NonNegative = "auto"
    assign_labels: Literal["kmeans", "discretize", "cluster_qr"] = "kmeans"
    degree: Number = 3
    coef0: Number = 1
    kernel_params: dict | None = None
    n_jobs: Jobs = None
    verbose: Verbosity = False

    _tensors = False

    def fit(self, X, y=None):
        """Build the graph and cut it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or (n, n) for precomputed affinities
        y : None
            Not used.
        """
        checks = {"accept_sparse": ["csr", "csc", "coo"], "dtype": np.float64}
        X, _ = self._check_training_data(X, ensure_min_samples=2, **checks, order="C")
        k = self.n_clusters
        rng = make_rng(self.random_state)
        c = k if self.n_components is None else self.n_components
        if X.shape[0] < max(k, c):
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={k} and n_components."
            )
        with threads.limit_threads(self.n_jobs):
            self.affinity_matrix_ = W = self._affinity(X)
            method = eigen_method_of_solver(self.eigen_solver)
            tol: Any = 0.0 if self.eigen_tol == "auto" else self.eigen_tol
            values, E = normalized_cut_map(W, c, rng, method=method, tol=tol)
            self.eigenvalues_ = values
            self.embedding_ = E
            if self.verbose:
                print(f"Computing label assignment using {self.assign_labels}")
            self.labels_ = self._labels(E, k, rng)
        return self

    def fit_predict(self, X, y=None):
        """`fit`, then the labels."""
        return self.fit(X).labels_

    def _labels(self, E, k, rng):
        if self.assign_labels == "cluster_qr":
            return cluster_qr(E)
        if self.assign_labels == "discretize":
            return discretize_embedding(E, rng)
        # each component of a graph maps to one point: few distinct rows are fine
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Number of distinct clusters")
            model = KMeans(
                k, n_init=self.n_init, random_state=rng, verbose=self.verbose
            )
            return model.fit(E).labels_

    def _affinity(self, X) -> Any:
        """W, from the parameter `affinity`."""
        affinity = self.affinity
        n = X.shape[0]
        if isinstance(affinity, str):
            if "precomputed" in affinity and X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"affinity={affinity!r} needs a square X, got {X.shape}."
                )
            if affinity == "precomputed":
                return checked_affinity(X)
            if "neighbors" in affinity and self.n_neighbors > n:
                raise ValueError(
                    f"n_neighbors={self.n_neighbors} is more than n_samples={n}."
                )
            if affinity == "nearest_neighbors":
                return knn_graph(
                    X.toarray() if sp.issparse(X) else X,
                    self.n_neighbors,
                    symmetric="mean",
                    mode="connectivity",
                    include_self=True,
                )
            if affinity == "precomputed_nearest_neighbors":
                return symmetrize_graph(
                    nearest_neighbor_matrix(X, self.n_neighbors), "mean"
                )
            if affinity == "rbf" and not sp.issparse(X) and not self.kernel_params:
                check_scale(self, X, small=False)  # gamma says what is near
                return RBF(gamma=self.gamma)(X) if self.gamma else np.ones((n, n))
        if isinstance(affinity, AbstractKernel):
            return checked_affinity(affinity(X.toarray() if sp.issparse(X) else X))
        params = dict(self.kernel_params or {})
        if isinstance(affinity, str):
            params |= {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        W = pairwise_kernels(X, metric=affinity, filter_params=True, **params)
        return checked_affinity(W)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in (
            "precomputed",
            "precomputed_nearest_neighbors",
        )
        return tags


def nearest_neighbor_matrix(D, k):
    """1 where j is among the k rows nearest to i by distances D, itself counted."""
    n = D.shape[0]
    if sp.issparse(D):
        D = sp.csr_array(D)
        if np.diff(D.indptr).min() < k:
            raise ValueError(f"every row of X needs at least {k} stored distances.")
        near = [
            D.indices[a:b][np.argsort(D.data[a:b], kind="stable")[:k]]
            for a, b in zip(D.indptr[:-1], D.indptr[1:])
        ]
    else:
        near = [np.argsort(row, kind="stable")[:k] for row in D]
    ends = np.arange(0, n * k + 1, k)
    return sp.csr_array((np.ones(n * k), np.concatenate(near), ends), shape=(n, n))


def checked_affinity(W):
    """W symmetric, finite and at least 0; CSR if sparse."""
    W = sp.csr_array(W) if sp.issparse(W) else W
    data = W.data if sp.issparse(W) else W
    low, high = (data.min(), data.max()) if data.size else (0.0, 0.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("an affinity is NaN or infinite: scale X.")
    if low < 0:
        raise ValueError("affinities must be at least 0, which these are not.")
    gap = abs(W - W.T) if sp.issparse(W) else None
    lopsided = gap.max() if gap is not None and gap.nnz else 0.0
    if gap is None:
        cuts = range(0, len(W), 1024)
        each = (np.abs(W[i : i + 1024] - W[:, i : i + 1024].T).max() for i in cuts)
        lopsided = max(each)
    if lopsided > 1e-10 * max(high, 1e-300):
        warnings.warn(
            "the affinities are not symmetric; (W + W^T) / 2 is used.", stacklevel=3
        )
        W = 0.5 * (W + W.T)
    return W
