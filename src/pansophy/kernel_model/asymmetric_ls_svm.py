"""AsK-LS: a least-squares classifier with a kernel that is not symmetric.

A directed similarity k(x, z) != k(z, x) has two feature maps, for sources and for
targets. Two classifiers are learnt together, one in each, with errors e and h; with
signs y, H_ij = y_i k(x_i, x_j) y_j and C the cost of errors,

    [ 0   0   y^T   0   ] [ b_1   ]   [ 0 ]
    [ 0   0   0     y^T ] [ b_2   ] = [ 0 ]                                        (1)
    [ y   0   I/C   H   ] [ alpha ]   [ 1 ]
    [ 0   y   H^T   I/C ] [ beta  ]   [ 1 ]

    f_s(x) = sum_i beta_i y_i k(x, x_i) + b_1                                      (2)
    f_t(x) = sum_i alpha_i y_i k(x_i, x) + b_2                                     (3)

with alpha = C e and beta = C h. A symmetric kernel gives alpha = beta and the LS-SVM.
Transposing k swaps (2) and (3). The decision is the mean of the two.

The system is symmetric but not definite (H may have any singular values), and is
solved by its LDL^T factor. Weights of rows multiply C. More than two classes are told
one from the rest.

Cost      (2 n)^3 / 3 a class; memory 4 n^2
Shapes    K, H (n, n)   alpha, beta (n, t)   b (t,)
Refs      [He2023]; [Suykens2016]
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.linalg import LinAlgWarning

from ..base import Classifier
from ..kernels import AbstractKernel, Asymmetric
from ..kernels.lookup import is_sklearn_kernel
from ..params import ParameterRule, Positive
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel, is_kernel_parameter
from .kernel_classes import encode_classes, labels_from_scores, signs_against_rest

AsymmetricParameter = Annotated[
    str | AbstractKernel | Asymmetric | Callable,
    ParameterRule(
        "the name of a kernel, 'precomputed', a kernel, an Asymmetric or a function",
        lambda v: isinstance(v, Asymmetric) or is_kernel_parameter(v),
    ),
]


def _solve_symmetric(M, right):
    """M^-1 right; the shortest least-squares solution, with a warning, if singular.

    M of eq. (1) is indefinite: it is singular if a singular value of H is 1 / C.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            return scipy.linalg.solve(M, right, assume_a="sym", check_finite=False)
    except (LinAlgWarning, scipy.linalg.LinAlgError):
        warnings.warn(
            "the system of AsymmetricLSSVM is singular to rounding: the shortest "
            "least-squares solution is taken; change C a little for a unique one.",
            LinAlgWarning,
            stacklevel=2,
        )
    return scipy.linalg.lstsq(M, right)[0]


def _solve_asymmetric(K, y, C):
    """alpha, beta, b_1 and b_2 of eq. (1) for signs y and costs C (n,)."""
    n = len(K)
    live = np.flatnonzero(C > 0)
    m = len(live)
    # rows and columns times the roots of the costs: a diagonal of ones
    root = np.sqrt(C[live])
    signs = y[live] * root / np.linalg.norm(root)
    H = signs[:, None] * K[np.ix_(live, live)] * signs * C[live].sum()
    M = np.eye(2 * m + 2)
    M[0, 0] = M[1, 1] = 0.0
    M[0, 2 : m + 2] = M[1, m + 2 :] = signs
    M[2 : m + 2, 0] = M[m + 2 :, 1] = signs
    M[2 : m + 2, m + 2 :] = H
    M[m + 2 :, 2 : m + 2] = H.T
    right = np.concatenate([np.zeros(2), root, root])
    result = _solve_symmetric(M, right)
    result[:2] /= np.linalg.norm(root)
    result[2:] *= np.tile(root, 2)
    alpha, beta = np.zeros(n), np.zeros(n)
    alpha[live], beta[live] = result[2 : m + 2], result[m + 2 :]
    return alpha, beta, float(result[0]), float(result[1])


@saved_state(
    alpha_=NumberArray("rows", "t"),
    beta_=NumberArray("rows", "t"),
    source_coef_=NumberArray("rows", "t"),
    target_coef_=NumberArray("rows", "t"),
)
@dataclass(eq=False, repr=False)
class AsymmetricLSSVM(Classifier, AbstractKernelModel):
    """Least-squares classifier with an asymmetric kernel; see the module text.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared errors.
    kernel : str, kernel, `Asymmetric` or function, default="rbf"
        A function of two rows, or of two arrays of rows, need not be symmetric. With
        "precomputed", X is k(x, x_i) and new rows are judged by eq. (2) alone.
    gamma, degree, coef0
        As for `KernelRidge`; the defaults are None, 3 and 0.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.

    Attributes
    ----------
    classes_ : array of shape (k,)
    alpha_, beta_ : arrays of shape (n, t), t = 1 for two classes, else k
    intercept_ : array of shape (2, t)
        b_1 and b_2.
    source_coef_, target_coef_ : arrays of shape (n, t)
        beta y of eq. (2) and alpha y of eq. (3).
    X_fit_ : array of shape (n, d), or (n, n) if precomputed
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import AsymmetricLSSVM
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = AsymmetricLSSVM(C=10.0, gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> model.alpha_[:, 0].round(6), model.beta_[:, 0].round(6)
    (array([2.001696, 2.001696, 2.001696, 2.001696]),
     array([2.001696, 2.001696, 2.001696, 2.001696]))
    """

    _symmetric = False

    C: Positive = 1.0
    _: KW_ONLY
    kernel: AsymmetricParameter = "rbf"
    class_weight: dict | Literal["balanced"] | None = None

    def _make_kernel(self, X) -> Any:
        kernel: Any = self.kernel
        is_own = isinstance(kernel, (str, AbstractKernel)) or is_sklearn_kernel(kernel)
        if is_own:
            return super()._make_kernel(X)
        return kernel if isinstance(kernel, Asymmetric) else Asymmetric(kernel)

    def fit(self, X, y, sample_weight=None):
        """Solve eq. (1), once for each class against the rest."""
        X, y, w = self._check_kernel_data(X, y, sample_weight, "class")
        codes, w = encode_classes(self, y, w)
        if sparse.issparse(X):
            X = X.toarray()
        K = np.asarray(X if self.kernel_ is None else self.kernel_(X), np.float64)
        Y = signs_against_rest(codes, len(self.classes_))
        C = np.full(len(Y), float(self.C)) if w is None else self.C * w
        parts = [_solve_asymmetric(K, y, C) for y in Y.T]
        self.alpha_, self.beta_ = (
            np.column_stack([p[i] for p in parts]) for i in (0, 1)
        )
        self.intercept_ = np.array([[p[2] for p in parts], [p[3] for p in parts]])
        self.source_coef_ = self.beta_ * Y
        self.target_coef_ = self.alpha_ * Y
        self.X_fit_ = X
        return self

    def source_function(self, X):
        """f_s of eq. (2): (m, t)."""
        X = self._dense_rows(X)
        K = X if self.kernel_ is None else self.kernel_(X, self.X_fit_)
        return K @ self.source_coef_ + self.intercept_[0]

    def target_function(self, X):
        """f_t of eq. (3): (m, t); with a precomputed kernel, of rows k(x_i, x)."""
        X = self._dense_rows(X)
        K = X if self.kernel_ is None else self.kernel_(self.X_fit_, X).T
        return K @ self.target_coef_ + self.intercept_[1]

    def _dense_rows(self, X):
        X = self._check_new_rows(X)
        return X.toarray() if sparse.issparse(X) else X

    def decision_function(self, X):
        """The mean of f_s and f_t: (m,) for two classes, else (m, k)."""
        f = self.source_function(X)
        if self.kernel_ is not None:
            f = 0.5 * (f + self.target_function(X))
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X):
        """The class of the sign, or of the largest score."""
        return labels_from_scores(self, self.decision_function(X))
