"""Truncated SVD: the k leading singular triples, rows not centred.

    X ~ U diag(S) V,    |X - U diag(S) V|_F least among all of rank k            (1)

On a matrix of word counts this is latent semantic analysis: documents with similar
words, and words of similar documents, come close in the k scores z = V x. Nothing is
subtracted, so a sparse X stays sparse. "randomized" is block Lanczos from a random
start (`core.linalg.truncated_svd`), "arpack" SciPy's Lanczos to the last digit.

Cost      4 n d (k + p) a power (or the stored entries in place of n d)
Shapes    X (n, d)   U (n, k)   S (k,)   V (k, d)   Z = U S (n, k)
Refs      [Eckart1936]; [Deerwester1990]; [Halko2011]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.rows import DatasetRows, as_rows
from ..core.linalg.least_squares_passes import merge_triangles, triangle_of
from ..core.linalg.truncated_svd import SVD, CentredMatrix, svd_flip, truncated_svd
from ..core.random import make_rng
from ..params import Count, Natural, NonNegative, ParameterError
from ..typing import Seed
from .abstract_pca import SPARSE
from .moments import mean_and_total_scatter as center_of_rows
from .moments import prototype_array, refuse_overflowing_sum


def svd(X, k=None, *, center=False, random_state=None):
    """U, S, Vt of X (or of its centred rows), the k leading triples or all.

    Parameters
    ----------
    X : array, tensor or sparse matrix of shape (n, d)
    k : int, optional
        None takes all min(n, d), by LAPACK; a number, block Lanczos.
    center : bool, default=False
        Whether the mean row is taken off first.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    SVD : U (n, k), S (k,) falling, Vt (k, d) with the largest entry of each row
        positive.

    Examples
    --------
    >>> from pansophy.decomposition import svd
    >>> svd([[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 3.0]]).S.round(6)
    array([9., 3., 1.])
    """
    X = X if is_foreign(X) or sp.issparse(X) else np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) or is_foreign(X) else X.astype(float)
    m = asarray(center_of_rows(X).mean, like=prototype_array(X)) if center else None
    if k is not None or sp.issparse(X):
        k = min(X.shape) if k is None else k
        return truncated_svd(X, k, make_rng(random_state), center=m)
    xp = namespace(X)
    U, S, Vt = xp.linalg.svd(X if m is None else X - m, full_matrices=False)
    U, Vt = svd_flip(U, Vt)
    return SVD(U, S, Vt)


@dataclass(eq=False, repr=False)
class TruncatedSVD(PrefixedOutput, Transformer, Estimator):
    """Linear dimension reduction without centring; also latent semantic analysis.

    Parameters
    ----------
    n_components : int, default=2
        k, at most the number of columns.
    algorithm : {"randomized", "arpack"}, default="randomized"
    n_iter : int, default=5
        Most powers kept by "randomized", which stops once they tell nothing new.
    n_oversamples : int, default=10
        Random columns beyond k.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Powers are always kept apart by QR.
    random_state : int, RandomState, Generator or None, default=None
    tol : float, default=0.0
        Tolerance of "arpack".

    Attributes
    ----------
    components_ : array of shape (k, d)
        V.
    singular_values_ : array of shape (k,)
        S.
    explained_variance_ : array of shape (k,)
        Variance of each score over the rows.
    explained_variance_ratio_ : array of shape (k,)
        Its share in the total variance of the columns.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.decomposition import TruncatedSVD
    >>> X = [[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 3.0]]
    >>> model = TruncatedSVD(1, random_state=0).fit(X)
    >>> model.inverse_transform(model.transform(X)).round(6)
    array([[4.5, 4.5, 0. ], [4.5, 4.5, 0. ], [0. , 0. , 0. ]])
    """

    n_components: Count = 2
    _: KW_ONLY
    algorithm: Literal["randomized", "arpack"] = "randomized"
    n_iter: Natural = 5
    n_oversamples: Count = 10
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto"
    random_state: Seed = None
    tol: NonNegative = 0.0

    def fit(self, X, y=None):
        """Find V and S."""
        X, rng, total = self._checked_rows(X)
        if isinstance(X, DatasetRows) and X.n >= X.d:
            S, Vt, variance = self._svd_without_scores(X, rng)
            self._store(X, S, Vt, variance, total)
        else:
            self._fit_scores(X, rng, total)
        return self

    def fit_transform(self, X, y=None):
        """`fit`, and the scores U S of the same rows."""
        return self._fit_scores(*self._checked_rows(X))

    def _checked_rows(self, X):
        """X, the generator and the total variance of the columns."""
        X, _ = self._check_training_data(X, **SPARSE, ensure_min_features=2, order="C")
        k = self.n_components
        limit = min(X.shape)
        if k > limit:
            raise ValueError(
                f"n_components({k}) must be <= min(n_samples, n_features)={limit}."
            )
        total = center_of_rows(X).scatter / X.shape[0]
        refuse_overflowing_sum(X, total, "TruncatedSVD")
        return X, make_rng(self.random_state), total

    def _fit_scores(self, X, rng, total):
        if self.algorithm == "randomized":
            U, S, Vt = self._randomized(X, rng)
        else:
            U, S, Vt = self._arpack(X, self.n_components, rng)
        Z = U * S
        self._store(X, S, Vt, namespace(Z).var(Z, axis=0), total)
        return Z

    def _store(self, X, S, Vt, variance, total):
        self.components_ = Vt
        self.singular_values_ = S
        self.explained_variance_ = variance
        share = to_numpy(variance) / (total if total > 0 else 1.0)
        self.explained_variance_ratio_ = asarray(share, like=prototype_array(X))

    def _randomized(self, X, rng, *, left=True):
        return truncated_svd(
            X,
            self.n_components,
            rng,
            n_iter=self.n_iter,
            oversample=self.n_oversamples,
            left=left,
        )

    def _svd_without_scores(self, X, rng):
        """S, V and the variance of the scores of a table, whose U is never formed.

        With Y = X B, the columns of B a basis of the rows of V, and [1, Y] = Q T, the
        triangle T has the digits of Y: S and the rotation from B to V are those of its
        columns for Y, the variance that of what is left below its first row.
        """
        if self.algorithm == "arpack":
            self._arpack(X, self.n_components, rng)  # refuses a table
        B = np.asarray(self._randomized(X, rng, left=False).Vt.T, np.float64)

        def triangle(x):
            Y = x @ B
            return triangle_of(np.concatenate([np.ones_like(Y[:, :1]), Y], axis=1))

        k = self.n_components
        T = merge_triangles(as_rows(X, block=max(X.block, 4 * k)).each(triangle), k + 1)
        _, S, W = np.linalg.svd(T[:, 1:], full_matrices=False)
        _, Vt = svd_flip(None, W @ B.T)
        variance = np.sum((T[1:, 1:] @ W.T) ** 2, axis=0) / X.n
        return tuple(a.astype(X.dtype) for a in (S, Vt, variance))

    def _arpack(self, X, k, rng):
        if is_foreign(X) or not hasattr(X, "dtype"):
            raise ParameterError(
                "algorithm='arpack' of TruncatedSVD needs a NumPy array or a sparse "
                "matrix."
            )
        if k >= min(X.shape):
            raise ValueError(
                f"algorithm='arpack' needs n_components below {min(X.shape)}, got {k}."
            )
        start = rng.uniform(-1, 1, size=min(X.shape)).astype(X.dtype)
        U, S, Vt = svds(X, k=k, tol=self.tol, v0=start)
        order = np.argsort(-S)
        U, Vt = svd_flip(U[:, order], Vt[order])
        return U, S[order], Vt

    def transform(self, X):
        """Scores V x of the rows."""
        X = self._check_new_data(X, **SPARSE, order="C")
        V = asarray(self.components_, like=prototype_array(X))
        return CentredMatrix(X).times(namespace(V).matrix_transpose(V))

    def inverse_transform(self, X):
        """Rows V^T z from scores."""
        check_is_fitted(self)
        Z = X if is_foreign(X) else np.asarray(X, dtype=self.components_.dtype)
        return Z @ asarray(self.components_, like=Z)

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
