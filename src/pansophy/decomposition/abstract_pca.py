"""Base class of PCA: projection, reconstruction and density from fitted axes.

With mean m, orthonormal axes V (k, d), variances l along them and noise s2 elsewhere,

    z = V (x - m)              x~ = V^T z + m                                    (1)
    C = V^T diag(l - s2) V + s2 I                                                (2)
    log N(x; m, C) = -1/2 [ sum_j z_j^2 / l_j + (|x - m|^2 - |z|^2) / s2
                            + sum_j log l_j + (d - k) log s2 + d log 2 pi ]      (3)

(2) is the covariance of probabilistic PCA, whose likeliest parameters these are. Rows
are moved by m in blocks, so no centred copy of X is made. Variances too small to divide
by are taken at the rounding level of the largest.

Shapes    X (n, d)   Z (n, k)   V (k, d)   l (k,)
Refs      [Tipping1999]
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.rows import as_rows
from ..core.numerics import LOG_2PI
from .moments import prototype_array

SPARSE = {"accept_sparse": ("csr", "csc")}


class StorageSize(NamedTuple):
    """Numbers stored in scores, axes and mean, and in X."""

    reduced: int  # k (n + d) + d
    full: int  # n d


def center_and_project(X, m, V):
    """Z of eq. (1), block by block; V here is (k, d)."""
    like = prototype_array(X)
    m, V = asarray(m, like=like), asarray(V, like=like)
    Vt = namespace(V).matrix_transpose(V)
    if sp.issparse(X):
        return X @ Vt - m @ Vt
    return as_rows(X).map(lambda x: (x - m) @ Vt)


def axes_log_density(X, m, V, variances, noise):
    """Eq. (3) for each row."""
    like = prototype_array(X)
    d, k = len(m), len(V)
    m, V = asarray(m, like=like), asarray(V, like=like)
    Vt = namespace(V).matrix_transpose(V)
    variances, noise = floored_variances(variances, noise, like.dtype)
    constant = float(np.sum(np.log(variances))) + d * LOG_2PI
    constant += (d - k) * float(np.log(noise)) if k < d else 0.0
    rate = asarray(1 / variances, like=like)

    def stats(x):
        x = (x.toarray() if sp.issparse(x) else x) - m
        xp = namespace(x)
        z = x @ Vt
        square = (z * z) @ rate
        if k < d:
            rest = x - z @ V
            square = square + xp.sum(rest * rest, axis=1) / noise
        return -0.5 * (square + constant)

    return as_rows(X).map(stats)


def floored_variances(variances, noise, dtype):
    """l and s2 no smaller than the rounding level of the largest variance."""
    variances = np.asarray(to_numpy(variances), dtype=np.float64)
    eps = 1e-7 if "32" in str(dtype) else 1e-15
    least = max(eps * max(variances.max(initial=0.0), noise), 1e-300)
    return np.maximum(variances, least), max(float(noise), least)


class AbstractPCA(PrefixedOutput, Transformer, Estimator, ABC):
    """Axes with variances, which a subclass finds in `fit`."""

    components_: Any
    explained_variance_: Any
    mean_: Any
    noise_variance_: Any
    n_components_: int
    n_samples_: Any
    whiten: bool

    @abstractmethod
    def fit(self, X, y=None) -> Any:
        """Find the axes."""

    def _axes(self):
        """m, V, l, s2 as float64 NumPy arrays."""
        names = ("mean_", "components_", "explained_variance_")
        parts = [np.asarray(to_numpy(getattr(self, n)), np.float64) for n in names]
        return *parts, float(self.noise_variance_)

    def transform(self, X):
        """Scores of the rows, eq. (1); divided by sqrt(l) if `whiten`.

        Parameters
        ----------
        X : array of shape (n, d), sparse matrix, tensor or table on disk

        Returns
        -------
        Z : array of shape (n, k)
        """
        X = self._check_new_data(X, **SPARSE, order="C")
        m, V, variances, _ = self._axes()
        if self.whiten:
            V = V / np.sqrt(floored_variances(variances, 0.0, X.dtype)[0])[:, None]
        return center_and_project(X, m, V)

    def fit_transform(self, X, y=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X):
        """Rows from scores, eq. (1): exact if every component was kept.

        Parameters
        ----------
        X : array of shape (n, k)

        Returns
        -------
        X_original : array of shape (n, d)
        """
        check_is_fitted(self)
        Z = X if is_foreign(X) else np.asarray(X)
        m, V, variances, _ = self._axes()
        if Z.ndim != 2 or Z.shape[1] != len(V):
            raise ValueError(f"expected scores of {len(V)} columns, got {Z.shape}.")
        Z = Z if is_foreign(Z) or Z.dtype.kind == "f" else Z.astype(float)
        if self.whiten:
            V = V * np.sqrt(floored_variances(variances, 0.0, Z.dtype)[0])[:, None]
        return Z @ asarray(V, like=Z) + asarray(m, like=Z)

    def reconstruction_error(self, X):
        """Mean over the rows of |x - x~|^2: the variance that was dropped."""
        X = self._check_new_data(X, **SPARSE, order="C")
        like = prototype_array(X)
        m, V = (asarray(a, like=like) for a in self._axes()[:2])
        Vt = namespace(V).matrix_transpose(V)

        def stats(x):
            x = (x.toarray() if sp.issparse(x) else x) - m
            gap = x - (x @ Vt) @ V
            return float(namespace(x).sum(gap * gap))

        return as_rows(X.tocsr() if sp.issparse(X) else X).sum(stats) / int(X.shape[0])

    def storage(self) -> StorageSize:
        """Numbers stored in scores, axes and mean in place of X."""
        check_is_fitted(self)
        k = self.n_components_
        d = self.n_features_in_
        n = int(self.n_samples_)
        return StorageSize(k * (n + d) + d, n * d)

    def get_covariance(self):
        """C of eq. (2)."""
        check_is_fitted(self)
        _, V, variances, noise = self._axes()
        C = (V.T * np.maximum(variances - noise, 0.0)) @ V
        C.flat[:: len(C) + 1] += noise
        return asarray(C, like=self.components_)

    def get_precision(self):
        """The inverse of C."""
        check_is_fitted(self)
        _, V, variances, noise = self._axes()
        k, d = V.shape
        variances, noise = floored_variances(variances, noise, np.float64)
        if k == d:
            return asarray((V.T / variances) @ V, like=self.components_)
        P = (V.T * (1 / variances - 1 / noise)) @ V
        P.flat[:: d + 1] += 1 / noise
        return asarray(P, like=self.components_)

    def score_samples(self, X):
        """log N(x; m, C) of each row, eq. (3)."""
        X = self._check_new_data(X, **SPARSE, order="C")
        return axes_log_density(X.tocsr() if sp.issparse(X) else X, *self._axes())

    def score(self, X, y=None):
        """The mean of `score_samples`."""
        return float(np.mean(to_numpy(self.score_samples(X))))

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
