"""Kernel PCA: principal components of the images of rows under a kernel.

With K_ij = k(x_i, x_j), centred in feature space, Kc = J K J, J = I - 1 1^T / n,

    Kc v_j = l_j v_j,    a_j = v_j / sqrt(l_j)    so  a_j^T Kc a_j = 1           (1)
    scores of the rows     z_j = Kc a_j = sqrt(l_j) v_j                          (2)
    of a new row           z_j(x) = sum_i a_ij kc(x, x_i)                        (3)

kc being k less its means over the training rows. With the linear kernel these are the
scores of PCA; there may be more components than columns, never more than rows. The
kernel matrix is centred where it lies. Few components are found by block Lanczos on it
(`core.linalg.truncated_svd.leading_eigenpairs`), which goes on until their residuals
are small; many by LAPACK. New rows go in blocks. The inverse transform is not unique:
`fit_inverse_transform` learns it by kernel ridge regression from scores to rows.

Cost      n^2 d + about 30 n^2 b for blocks of b columns, or n^3 (dense); memory n^2
Shapes    X (n, d)   K (n, n)   v, a (n, k)   l (k,)
Refs      [Scholkopf1998]; [Bakir2004] the inverse transform
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.rows import as_rows
from ..core.linalg.linalg import solve_psd
from ..core.linalg.truncated_svd import leading_eigenpairs, svd_flip, truncated_svd
from ..core.loops import threads
from ..core.random import make_rng
from ..kernels import AbstractKernel, get_kernel
from ..kernels.base import object_rows, takes_objects
from ..kernels.given import refuse_asymmetric
from ..params import Count, Flag, Jobs, Natural, NonNegative, Number, ParameterError
from ..persist.saved_state import AnyArray, IfArray, saved_state
from ..typing import Seed
from .abstract_pca import SPARSE

SHARP = 1e-9  # residual of an eigenpair, relative to the largest, that is let pass
FEW = 200  # rows below which LAPACK is quickest
ASYMMETRY = 1e-5  # share by which a matrix may be asymmetric by rounding
LOOKED_AT = 50  # rows on which the symmetry of a function is tested
OURS = ("linear", "poly", "rbf")


def column_means(K):
    return namespace(K).mean(K, axis=0)


def centered_kernel(K, means, overwrite):
    """Kc: K less its row means and the training `means`, plus their mean.

    `overwrite` says that K may be overwritten.
    """
    xp = namespace(K)
    row_means = xp.mean(K, axis=1)[:, None]
    middle = xp.mean(means)
    if overwrite and not is_foreign(K):
        K -= means
        K -= row_means - middle
        return K
    return K - means[None, :] - row_means + middle


def leading_kernel_eigenpairs(K, k, solver, rng, *, n_iter, tol, max_iter):
    """The k largest eigenvalues of a symmetric K and their vectors (n, k)."""
    n = int(K.shape[0])
    xp = namespace(K)
    if solver == "dense":
        if is_foreign(K):
            values, V = xp.linalg.eigh(K)
            return xp.flip(values, axis=0)[:k], xp.flip(V, axis=1)[:, :k]
        few = {"subset_by_index": (n - k, n - 1)} if k < n else {}
        values, V = scipy.linalg.eigh(K, check_finite=False, **few)
        return values[::-1], V[:, ::-1]
    if solver == "randomized":
        result = truncated_svd(K, k, rng, n_iter=n_iter, tol=0.0)
        V = xp.matrix_transpose(result.Vt)
        return xp.sum(V * result.U, axis=0) * result.S, V  # the eigenvalue's sign
    if solver == "lanczos":
        sharp = max(SHARP, 1e2 * float(xp.finfo(K.dtype).eps))
        found = leading_eigenpairs(K, k, rng, sharp=sharp)
        nonnegative_eigenvalues([float(found.values[0]), found.least], str(K.dtype))
        if found.converged or is_foreign(K):
            return found.values, found.vectors
    start = rng.uniform(-1, 1, size=n).astype(K.dtype)
    values, V = eigsh(K, k, which="LA", tol=tol, maxiter=max_iter, v0=start)
    return values[::-1], V[:, ::-1]


def nonnegative_eigenvalues(values, name):
    """Eigenvalues with rounding set to 0; a kernel that is not one is refused."""
    values = np.array(to_numpy(values), dtype=np.float64)
    top = max(float(values.max(initial=0.0)), 0.0)
    single = "32" in name
    if values.min(initial=0.0) < -(1e-3 if single else 1e-5) * max(top, 1e-300):
        raise ValueError(
            "There are significant negative eigenvalues: the kernel is not positive "
            f"semi-definite (least {values.min():.3g}, largest {top:.3g})."
        )
    small = (2e-7 if single else 1e-12) * top
    return np.where(values > small, values, 0.0)


@saved_state(X_fit_=IfArray(AnyArray(..., ...)))  # numbers, or strings
@dataclass(eq=False, repr=False)
class KernelPCA(PrefixedOutput, Transformer, Estimator):
    """Kernel PCA; the module text gives the method.

    Parameters
    ----------
    n_components : int or None, default=None
        k; None keeps every component with a positive eigenvalue.
    kernel : {"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"}, function \
or kernel of `pansophy.kernels`, default="linear"
    gamma : float or None, default=None
        Of "rbf", "poly", "sigmoid"; None is 1 / d.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keywords of a kernel function.
    alpha : float, default=1.0
        Ridge of the learnt inverse transform.
    fit_inverse_transform : bool, default=False
        Whether to learn the inverse transform.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
    tol : float, default=0
        Tolerance of "arpack".
    max_iter : int or None, default=None
        Most iterations of "arpack".
    iterated_power : int or "auto", default="auto"
        Powers kept by "randomized".
    remove_zero_eig : bool, default=False
        Whether components of eigenvalue 0 go even if n_components asks for them.
    random_state : int, RandomState, Generator or None, default=None
    copy_X : bool, default=True
        Whether `X_fit_` is a copy of X.
    n_jobs : int or None, default=None
        Most threads.

    Attributes
    ----------
    eigenvalues_ : array of shape (k,)
        l.
    eigenvectors_ : array of shape (n, k)
        v.
    X_fit_ : array of shape (n, d)
    gamma_ : float
    dual_coef_, X_transformed_fit_ : arrays
        The inverse transform, if learnt.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import KernelPCA
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> KernelPCA().fit(X).eigenvalues_.round(6)
    array([8., 2.])
    """

    n_components: Count | None = None
    _: KW_ONLY
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"]
        | AbstractKernel
        | Callable
    ) = "linear"
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: Number = 1
    kernel_params: dict | None = None
    alpha: NonNegative = 1.0
    fit_inverse_transform: Flag = False
    eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = "auto"
    tol: NonNegative = 0
    max_iter: Count | None = None
    iterated_power: Natural | Literal["auto"] = "auto"
    remove_zero_eig: Flag = False
    random_state: Seed = None
    copy_X: Flag = True
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Find the components.

        Parameters
        ----------
        X : array of shape (n, d), sparse matrix or tensor; (n, n) if precomputed
        y : None
            Not used.
        """
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ParameterError(
                "Cannot fit_inverse_transform with a precomputed kernel: KernelPCA has "
                "no rows to return to."
            )
        if takes_objects(self.kernel):
            return self._fit_objects(X)
        X, _ = self._check_training_data(X, **SPARSE, order="C")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix, got {X.shape}."
            )
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        with threads.limit_threads(self.n_jobs):
            self._solve(X)
        self.X_fit_ = X.copy() if self.copy_X and not is_foreign(X) else X
        if self.fit_inverse_transform:
            self._fit_inverse(X)
        return self

    def _fit_objects(self, X):
        """`fit` for a kernel of strings or other objects."""
        if self.fit_inverse_transform:
            raise ParameterError(
                "fit_inverse_transform of KernelPCA needs rows of numbers."
            )
        X, _ = object_rows(X)
        self._check_training_data(np.zeros((len(X), 1)))
        self.X_fit_ = X
        self._solve(X)
        return self

    def _solve(self, X):
        K = self._kernel(X, None)
        if callable(self.kernel) and not isinstance(self.kernel, AbstractKernel):
            some = X[:LOOKED_AT]  # both triangles: pairwise_kernels mirrors one
            refuse_asymmetric(self._kernel(some, some.copy()), ASYMMETRY)
        own = self.kernel != "precomputed" or sp.issparse(X)
        self._means = column_means(K)
        K = centered_kernel(K, self._means, own)
        n = int(K.shape[0])
        k = min(self.n_components or n, n)
        solver = self.eigen_solver
        if solver == "auto":
            solver = "lanczos" if n > FEW and k < 0.1 * n else "dense"
        if solver == "arpack" and (is_foreign(K) or k >= n):
            raise ParameterError(
                "eigen_solver='arpack' of KernelPCA needs NumPy arrays and fewer "
                "components than rows."
            )
        values, V = leading_kernel_eigenpairs(
            K,
            k,
            solver,
            make_rng(self.random_state),
            n_iter=self.iterated_power,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        values = nonnegative_eigenvalues(values, str(K.dtype))
        xp = namespace(V)
        V = xp.matrix_transpose(svd_flip(None, xp.matrix_transpose(V))[1])
        keep = len(values)
        if self.remove_zero_eig or self.n_components is None:
            keep = max(int(np.sum(values > 0)), 0)
        self.eigenvalues_ = asarray(values[:keep], like=K[:0, :0])
        self.eigenvectors_ = V[:, :keep]

    def _kernel(self, X, Z):
        """k(X, Z) as a dense array; Z None is X."""
        kernel: Any = self.kernel
        if kernel == "precomputed":
            K = X.toarray() if sp.issparse(X) else X
            return K
        if takes_objects(kernel):
            return kernel(X) if Z is None else kernel(X, Z)
        native = isinstance(kernel, AbstractKernel) or kernel in OURS
        whole = self.degree == int(self.degree) and self.degree >= 1
        if kernel == "poly" and not (whole and self.coef0 >= 0 and self.gamma_ > 0):
            native = False
        if kernel == "rbf" and not self.gamma_ > 0:
            native = False
        if native and not sp.issparse(X):
            member = get_kernel(
                kernel,
                gamma=self.gamma_,
                degree=int(self.degree),
                coef0=float(self.coef0),
            )
            return member(X) if Z is None else member(X, Z)
        if is_foreign(X) or isinstance(kernel, AbstractKernel):
            raise ValueError(f"kernel={kernel!r} does not take this kind of X.")
        options = {
            "gamma": self.gamma_,
            "degree": self.degree,
            "coef0": self.coef0,
        }
        if callable(kernel):
            params = self.kernel_params or {}
            return pairwise_kernels(X, Z, metric=kernel, filter_params=True, **params)
        K = pairwise_kernels(X, Z, metric=kernel, filter_params=True, **options)
        return np.asarray(K.toarray() if sp.issparse(K) else K)

    def _duals(self):
        """a of eq. (1); 0 where the eigenvalue is."""
        values = np.asarray(to_numpy(self.eigenvalues_), np.float64)
        rate = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1)), 0.0)
        return self.eigenvectors_ * asarray(rate, like=self.eigenvectors_)

    def fit_transform(self, X, y=None):
        """`fit`, then the scores of the same rows, eq. (2)."""
        self.fit(X)
        return self._scores()

    def _scores(self):
        xp = namespace(self.eigenvalues_)
        return self.eigenvectors_ * xp.sqrt(self.eigenvalues_)

    def transform(self, X):
        """Scores of new rows, eq. (3), block by block."""
        if takes_objects(self.kernel):
            check_is_fitted(self)
            X, _ = object_rows(X)
        else:
            X = self._check_new_data(X, **SPARSE, order="C")
        X = X.tocsr() if sp.issparse(X) else X
        a = self._duals()
        Z = self.X_fit_
        if is_foreign(X) != is_foreign(a):
            a, Z = asarray(to_numpy(a), like=X), asarray(to_numpy(Z), like=X)
        means = asarray(to_numpy(self._means), like=a[:0, :])

        def scores(x):
            return centered_kernel(self._kernel(x, Z), means, False) @ a

        width = max(64, (1 << 24) // max(8 * int(Z.shape[0]), 1))
        with threads.limit_threads(self.n_jobs):
            parts = [scores(x) for (x,) in as_rows(X, block=width).blocks()]
        return namespace(parts[0]).concat(parts) if len(parts) > 1 else parts[0]

    def _fit_inverse(self, X):
        Z = self._scores()
        K = self._kernel(Z, None)
        xp = namespace(K)
        ridge = self.alpha * asarray(np.eye(K.shape[0]), like=K)
        target = X.toarray() if sp.issparse(X) else X
        self.dual_coef_ = solve_psd(K + ridge, xp.asarray(target))[0]
        self.X_transformed_fit_ = Z

    def inverse_transform(self, X):
        """Rows whose scores are near the given ones; with `fit_inverse_transform`."""
        check_is_fitted(self)
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when "
                "instantiating KernelPCA, and hence it has no inverse transform."
            )
        Z = X if is_foreign(X) else np.asarray(X)
        return self._kernel(Z, self.X_transformed_fit_) @ self.dual_coef_

    @property
    def _n_features_out(self):
        return int(self.eigenvalues_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not takes_objects(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
