"""Kernel k-means: k-means in the feature space of a kernel, through k(x, z) alone.

    J(z) = sum_i w_i |phi(x_i) - mu_{z_i}|^2                                    (1)

where phi is the map of the kernel, k(x, z) = phi(x).phi(z), and mu_j the weighted mean
of the images of cluster j. With M_j its weight, H_ij = w_i / M_j for z_i = j and else
0,

    |phi(x) - mu_j|^2 = k(x, x) - 2 (k(x, X) H)_j + h_j,  h_j = (H^T K H)_jj    (2)

so an iteration is one product K H and an argmin. It is Lloyd's iteration in the space
of phi: J never rises for a positive semi-definite kernel, and the linear kernel gives
k-means. Clusters need not be convex in x: a Gaussian kernel separates rings.

Start: k-means++ with the distances k(x, x) - 2 k(x, z) + k(z, z). A cluster that loses
its rows takes the row farthest from its own mean.

Time O(n^2) an iteration after O(n^2 d) for K. Memory n^2 numbers up to LIMIT bytes;
beyond that one block of rows of K at a time, computed again in each iteration.

Shapes    X (n, d)   K (n, n)   H (n, k)   h (k,)   w, z (n,)
Refs      [Dhillon2004]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import kernels
from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import rows
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.random import make_rng
from ...kernels.base import object_rows, takes_objects
from ...params import Count, NonNegative, Number, Positive, Verbosity
from ...persist.saved_state import AnyArray, IfArray, saved_state
from ...typing import NumericArray, Seed
from .initialization import (
    check_enough_rows,
    check_scale,
    plusplus_from_distances,
    warn_empty_clusters,
)

LIMIT = 1 << 30  # bytes up to which K is kept
BLOCK = 1 << 21  # entries of K made at a time where it is not
ROUNDING = 16  # rounding errors of k(x, x) that a squared distance may be off by


class KernelKMeansState(NamedTuple):
    """State carried from one iteration to the next."""

    labels: np.ndarray  # z
    objective: float  # J of the clusters of z
    moved: int = -1  # labels that changed


class GramSource:
    """The Gram matrix of all rows: kept, or computed in blocks."""

    def __init__(self, X, kernel):
        self.X = X
        self.kernel = kernel
        n = len(X)
        self.K = X if kernel is None else None
        if self.K is None and n * n * X.itemsize <= LIMIT:
            self.K = kernel(X)
        self.diag = np.diagonal(X).copy() if kernel is None else kernel.diag(X)
        self.R = rows.Rows(X, block=max(1, BLOCK // n))

    def times(self, H):
        """K H."""
        if self.K is not None:
            return self.K @ H
        return self.R.map(lambda x: self.kernel(x, self.X) @ H)

    def column(self, i):
        """|phi(x) - phi(x_i)|^2 for all rows x."""
        row = self.K[i] if self.K is not None else self.kernel(self.X[[i]], self.X)[0]
        return np.maximum(self.diag - 2.0 * row + self.diag[i], 0.0)


def mean_coefficients(z, w, k, dtype=np.float64):
    """H of eq. (2): the cluster means as combinations of the rows."""
    H = np.zeros((len(z), k), dtype)
    mass = np.bincount(z, w, k)
    H[np.arange(len(z)), z] = w / np.where(mass > 0, mass, 1.0)[z]
    return H


def feature_space_distances(G, z, w, k):
    """Eq. (2) less k(x, x), for all rows and clusters, and h; inf for an empty one."""
    H = mean_coefficients(z, w, k, G.diag.dtype)
    KH = G.times(H)
    h = (H * KH).sum(axis=0)
    return np.where(H.any(axis=0), h - 2.0 * KH, np.inf), h


def kernel_cost(G, D, z, w):
    """J of eq. (1) at labels z, and the squared distance of each row to its mean."""
    own = G.diag + D[np.arange(len(z)), z]
    return float(np.maximum(own, 0.0).astype(np.float64) @ w), own


def kernel_iterations(G, w, z, k, *, max_iter=300, tol=0.0, task=SILENT) -> Result:
    """Iterate from labels z until none changes."""
    w = w.astype(np.float64)
    distances: Any = feature_space_distances(G, z, w, k)[0]

    def step(state):
        nonlocal distances
        new = distances.argmin(axis=1)
        J, own = kernel_cost(G, distances, new, w)
        far = np.where(w > 0, own, -1.0)
        for j in np.flatnonzero(np.bincount(new, w, k) == 0):
            i = int(np.argmax(far))
            new[i] = j
            far[i] = -1.0
        moved = int(np.count_nonzero(new != state.labels))
        if moved:
            distances = feature_space_distances(G, new, w, k)[0]
        # J before the means move; after them it is no larger
        return KernelKMeansState(new, J, moved)

    run = iterate(
        step,
        KernelKMeansState(z, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=kernel_change,
        watch=("moved",),
        task=task,
    )
    D = feature_space_distances(G, run.state.labels, w, k)[0]
    J = kernel_cost(G, D, run.state.labels, w)[0]
    return run._replace(state=run.state._replace(objective=J))


def kernel_change(old, new):
    """By what share J fell; 0 if no label changed."""
    fall = (old.objective - new.objective) / max(abs(new.objective), 1e-300)
    return 0.0 if new.moved == 0 else fall


@saved_state(X_fit_=IfArray(AnyArray(..., ...)))  # numbers, or strings
@dataclass(eq=False, repr=False)
class KernelKMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """Kernel k-means clustering; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    kernel : "rbf", "linear", "poly", "precomputed" or a kernel, default "rbf"
        A member of `pansophy.kernels`, a function of (X, Z) that returns a matrix, or
        "precomputed": X is then the matrix of k between rows, and later between new
        rows and the rows of `fit`.
    gamma : float or None
        Of "rbf" and "poly"; None is 1 / (d times the variance of X).
    degree, coef0 : int, float
        Of "poly".
    init : "k-means++", "random" or labels of length n
        Where the clusters start.
    n_init : int
        Starts, of which the best is kept; one if `init` gives labels.
    max_iter : int
        Most iterations of one start.
    tol : float
        Stop when J falls by no more than this share of itself; 0 goes on until no
        label changes.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    labels_ : array of shape (n,)
        z.
    inertia_ : float
        J of eq. (1).
    shares_ : array of shape (n, k)
        H of eq. (2): the means as combinations of the rows.
    norms_ : array of shape (k,)
        h of eq. (2).
    X_fit_ : array of shape (n, d) or None
        The rows; None for a precomputed kernel.
    kernel_ : kernel
        The kernel used.
    n_iter_, history_, converged_, interrupted_
        How the best start went; "objective" and "moved" in each iteration.

    Examples
    --------
    >>> from pansophy.cluster import KernelKMeans
    >>> X = [[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]]
    >>> model = KernelKMeans(2, kernel="linear", init=[0, 0, 1, 1, 1, 1]).fit(X)
    >>> model.labels_.tolist(), round(model.inertia_, 6)
    ([0, 0, 0, 1, 1, 1], 4.0)
    """

    n_clusters: Count = 8
    _: KW_ONLY
    kernel: (
        Literal["rbf", "linear", "poly", "precomputed"]
        | kernels.AbstractKernel
        | Callable
    ) = "rbf"
    gamma: Positive | None = None
    degree: Count = 3
    coef0: Number = 1.0
    init: Literal["k-means++", "random"] | NumericArray = "k-means++"
    n_init: Count = 1
    max_iter: Count = 300
    tol: NonNegative = 0.0
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters.

        Parameters
        ----------
        X : array of shape (n, d), or the (n, n) matrix of the kernel
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        if takes_objects(self.kernel):
            X, _ = object_rows(X)
            rows_only = np.zeros((len(X), 1))
            _, w = self._check_training_data(rows_only, sample_weight=sample_weight)
        else:
            X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        n = len(X)
        k = self.n_clusters
        check_enough_rows(X, k)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel must be square, got {X.shape}.")
        dtype = np.float64 if takes_objects(self.kernel) else X.dtype
        w = np.ones(n, dtype) if w is None else w
        self.kernel_ = self._kernel(X, w)
        with np.errstate(over="ignore", invalid="ignore"):
            G = GramSource(X, self.kernel_)
            key = G.times(w[:, None])[:, 0]
        if not np.isfinite(key).all():
            raise ValueError("X holds values too large for this kernel: scale X.")
        rng = make_rng(self.random_state)
        n_init = self.n_init if isinstance(self.init, str) else 1

        def one_start(i, task):
            z = self._initial_labels(G, w, rng, key)
            return kernel_iterations(
                G, w, z, k, max_iter=self.max_iter, tol=self.tol, task=task
            )

        result = self._run_driver(
            one_start,
            n_init=n_init,
            total=self.max_iter,
            X=X,
        )
        self.inertia_ = result.state.objective
        self.coefficients_ = mean_coefficients(result.state.labels, w, k, dtype)
        D, self.norms_ = feature_space_distances(
            G, result.state.labels, w.astype(np.float64), k
        )
        self.labels_ = D.argmin(axis=1)
        self.X_fit_ = None if self._precomputed else X
        self._n_features_out = k
        warn_empty_clusters(len(np.unique(self.labels_)), k)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The cluster whose mean is nearest to each row in the feature space."""
        return self._squared_distances(X, False).argmin(axis=1)

    def transform(self, X):
        """The distance from the image of each row to the mean of each cluster.

        A precomputed kernel lacks k(x, x) of new rows: the result is then the squared
        distance less k(x, x).
        """
        D = self._squared_distances(X, True)
        return D if self._precomputed else np.sqrt(np.maximum(D, 0.0))

    def _squared_distances(self, X, with_self):
        if takes_objects(self.kernel):
            check_is_fitted(self)
            X, _ = object_rows(X)
        else:
            X = self._check_new_data(X, order="C")
        some = self.coefficients_.any(axis=0)

        def block(x):
            K = x if self._precomputed else self.kernel_(x, self.X_fit_)
            D = np.where(some, self.norms_ - 2.0 * (K @ self.coefficients_), np.inf)
            if not with_self or self._precomputed:
                return D
            own = self.kernel_.diag(x)[:, None]
            D = D + own
            # a difference of numbers as large as k(x, x): the rest is rounding error
            least = ROUNDING * np.finfo(D.dtype).eps * own
            return np.where(least > D, 0.0, D)

        return rows.Rows(X, block=max(1, BLOCK // len(self.coefficients_))).map(block)

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel(self, X, w) -> Any:
        if self._precomputed:
            return None
        if not isinstance(self.kernel, (str, kernels.AbstractKernel)):
            return kernels.FunctionKernel(self.kernel)
        gamma = self.gamma
        if takes_objects(self.kernel):
            return self.kernel
        if gamma is None and isinstance(self.kernel, str) and self.kernel != "linear":
            check_scale(self, X)
            V = X - np.average(X, axis=0, weights=w)
            total = float(np.average((V * V).sum(axis=1), weights=w))
            gamma = 1.0 / total if total > 0 else 1.0
        return kernels.get_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0
        )

    def _initial_labels(self, G, w, rng, key):
        k = self.n_clusters
        n = len(w)
        if not isinstance(self.init, str):
            z = np.asarray(self.init)
            if z.shape != (n,) or z.dtype.kind not in "iu":
                raise ValueError(f"init must be {n} whole numbers, got {z.shape}.")
            if not ((z >= 0) & (z < k)).all():
                raise ValueError(f"labels of init must be from 0 to {k - 1}.")
            return z.astype(np.int64)
        if self.init == "random":
            where = np.argsort(rng.random(n) ** (1.0 / np.maximum(w, 1e-300)))
            at = where[-k:]
        else:
            at = plusplus_from_distances(G.column, w, k, rng, key)
        return np.argmin(np.stack([G.column(int(i)) for i in at]), axis=0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags
