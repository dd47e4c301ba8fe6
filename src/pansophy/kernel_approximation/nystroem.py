"""Nystroem features: a kernel's feature map through some of the rows.

With m rows Z drawn from X and K_mm = k(Z, Z),

    phi(x) = K_mm^(-1/2) k(Z, x),    phi(x).phi(z) ~ k(x, z)                      (1)

exactly for the rows Z, and for all rows where their images lie in the span of those
of Z. The inverse root is taken by the eigenvalues of K_mm, those below rounding being
left out.

Cost      m^3 to fit, m (d + m) a row
Shapes    X (n, d)   Z (m, d)   phi (m,)
Refs      [Williams2001]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import as_rows
from ..core.loops import threads
from ..core.random import make_rng
from ..kernels import get_kernel
from ..kernels.base import object_rows, takes_objects
from ..params import Count, Jobs, NonNegative, Number, ParameterError
from ..persist.saved_state import AnyArray, IntArray, NumberArray, saved_state
from ..predictors.abstract_kernel_model import KernelParameter
from ..typing import Seed

SPARSE = {"accept_sparse": "csr"}


def inverse_square_root(K):
    """K^(-1/2) of a positive semi-definite matrix on the directions that it has.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_square_root(np.diag([4.0, 0.0]))
    array([[0.5, 0. ], [0. , 0. ]])
    """
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    top = max(float(values.max(initial=0.0)), 1e-300)
    is_positive = values > len(values) * np.finfo(float).eps * top
    root = vectors[:, is_positive] / np.sqrt(values[is_positive])
    return root @ vectors[:, is_positive].T


@saved_state(
    component_indices_=IntArray("m", low=0),
    normalization_=NumberArray("m", "m"),
    components_=AnyArray("m", ...),  # numbers, or strings and other objects
)
@dataclass(eq=False, repr=False)
class Nystroem(PrefixedOutput, Transformer, Estimator):
    """Nystroem features of a kernel; the module text gives the method.

    Parameters
    ----------
    kernel : str, kernel or function, default="rbf"
        A name of scikit-learn's, a kernel of `pansophy.kernels`, one of
        `sklearn.gaussian_process.kernels`, a function or "precomputed". With a kernel
        of strings X is a list of them.
    gamma : float or None, default=None
        Of the kernel; None is 1 / d.
    coef0, degree : float or None
        Of the kernel; None is 1 and 3.
    kernel_params : dict or None
        Keywords of a function.
    n_components : int, default=100
        m; fewer if there are fewer rows.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Most threads.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Z.
    component_indices_ : array of shape (m,)
        Where Z is in the training rows.
    normalization_ : array of shape (m, m)
        K_mm^(-1/2).
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_approximation import Nystroem
    >>> from pansophy.kernels import RBF
    >>> X = np.arange(6.0)[:, None]
    >>> phi = Nystroem(gamma=0.5, n_components=6, random_state=0).fit_transform(X)
    >>> np.allclose(phi @ phi.T, RBF(gamma=0.5)(X))
    True
    """

    kernel: KernelParameter = "rbf"
    _: KW_ONLY
    gamma: NonNegative | None = None
    coef0: Number | None = None
    degree: NonNegative | None = None
    kernel_params: dict | None = None
    n_components: Count = 100
    random_state: Seed = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Draw the rows Z and prepare eq. (1); y is not used."""
        if takes_objects(self.kernel):
            X, _ = object_rows(X)
            self._check_training_data(np.zeros((len(X), 1)))
        else:
            X, _ = self._check_training_data(X, **SPARSE)
        n = int(X.shape[0])
        rng = make_rng(self.random_state)
        drawn_rows = rng.permutation(n)[: min(self.n_components, n)]
        self.component_indices_ = drawn_rows
        if self._precomputed:
            if X.shape[0] != X.shape[1]:
                raise ParameterError(
                    f"a precomputed kernel must be a square matrix, got {X.shape}."
                )
            K = X.toarray() if sparse.issparse(X) else X
            inner = to_numpy(K)[np.ix_(drawn_rows, drawn_rows)]
            self.components_ = np.empty((len(drawn_rows), n))
            self.components_[:] = to_numpy(K)[drawn_rows]
        else:
            if not takes_objects(self.kernel):
                refuse_overflowing_squares(self, X)
            self.components_ = _take_array_rows(X, drawn_rows)
            with threads.limit_threads(self.n_jobs):
                inner = to_numpy(self._kernel()(self.components_))
        root = inverse_square_root(inner)
        like = X[:0]
        if sparse.issparse(X) or takes_objects(self.kernel):
            like = np.empty(0, X.dtype if sparse.issparse(X) else np.float64)
        self.normalization_ = asarray(root, like=like)
        self._n_features_out = len(drawn_rows)
        return self

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel(self):
        return get_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=3 if self.degree is None else self.degree,
            coef0=1 if self.coef0 is None else self.coef0,
            params=self.kernel_params,
            n_features=self.n_features_in_,
        )

    def transform(self, X):
        """phi of the rows, (n, m), block by block."""
        if takes_objects(self.kernel):
            check_is_fitted(self)
            X, _ = object_rows(X)
        else:
            X = self._check_new_data(X, **SPARSE)
        if self._precomputed:
            K = X.toarray() if sparse.issparse(X) else X
            return K[:, self.component_indices_] @ self.normalization_
        if not takes_objects(self.kernel):
            refuse_overflowing_squares(self, X)
        kernel = self._kernel()
        Z: Any = self.components_
        root = self.normalization_
        if is_foreign(X) and not is_foreign(root):
            Z, root = (asarray(to_numpy(A), like=X) for A in (Z, root))
        X = X.tocsr() if sparse.issparse(X) else X
        width = max(256, (1 << 22) // max(int(Z.shape[0]), 1))
        with threads.limit_threads(self.n_jobs):
            parts = [kernel(x, Z) @ root for (x,) in as_rows(X, block=width).blocks()]
        return namespace(parts[0]).concat(parts) if len(parts) > 1 else parts[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not takes_objects(self.kernel)
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _take_array_rows(X, at):
    """Rows of an array, a sparse matrix or a tensor."""
    if is_foreign(X):
        xp = namespace(X)
        return xp.take(X, xp.asarray(at, device=X.device), axis=0)
    return X[at]
