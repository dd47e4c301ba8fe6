"""Least-squares support vector machines: squared errors instead of the hinge.

    min  1/2 |f|^2 + C/2 sum_i w_i e_i^2,    y_i = f(x_i) + b + e_i               (1)

with f(x) = sum_i a_i k(x, x_i). Its optimum solves one linear system,

    [ 0   1^T         ] [ b ]   [ 0 ]
    [ 1   K + (C W)^-1 ] [ a ] = [ y ]                                            (2)

so that a_i = C w_i e_i and sum_i a_i = 0: kernel ridge regression with a free bias and
the penalty 1 / C. The classifier is (2) with targets of -1 and 1; the alpha_i of its
dual are y_i a_i. Every row has a coefficient: there is no sparsity. More than two
classes are told one from the rest, which shares the factor of (2).

With H = K + (C W)^-1 the system is two solves with H,

    H u = 1,   H v = y,   b = (u.y) / (u.1),   a = v - b u                        (3)

Rows of weight 0 take no part.

Cost      n^3 / 3; memory n^2
Shapes    K (n, n)   y (n, t)   a (n, t)   b (t,)
Refs      [SuykensVandewalle1999]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Classifier, Regressor
from ..core.linalg.mixed_precision import solve_shifted_or_least_squares
from ..params import Positive
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel
from .kernel_classes import encode_classes, labels_from_scores, signs_against_rest


def solve_ls_svm(K, Y, C, w=None):
    """a and b of eq. (2), by eq. (3).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernels import Linear
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> a, b = solve_ls_svm(Linear()(x), 3 * x + 1, 1e9)
    >>> (x.T @ a).round(6), b.round(6)
    (array([[3.]]), array([1.]))
    """
    n = len(K)
    A = np.zeros((n, Y.shape[1]))
    live = np.arange(n)
    shift = 1.0 / C
    if w is not None:
        live = np.flatnonzero(w > 0)
        shift = 1.0 / (C * w[live])
    if len(live) < n:
        K, Y = K[np.ix_(live, live)], Y[live]
    K = np.asarray(K, dtype=np.float64)
    right = np.column_stack([np.ones(len(K)), Y])
    solution = solve_shifted_or_least_squares(K, shift, right)
    u, V = solution[:, 0], solution[:, 1:]
    b = (u @ Y) / u.sum()
    A[live] = V - u[:, None] * b
    return A, b


@saved_state(dual_coef_=NumberArray("rows"))
@dataclass(eq=False, repr=False)
class LSSVMRegressor(Regressor, AbstractKernelModel):
    """Least-squares support vector regression; the module text gives the method.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared errors.
    kernel, gamma, degree, coef0
        As for `KernelRidge`; the defaults are "rbf", None, 3 and 0.

    Attributes
    ----------
    dual_coef_ : array of shape (n,)
        a.
    intercept_ : float
        b.
    X_fit_ : array of shape (n, d), or (n, n) if precomputed
    kernel_ : kernel or None
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import LSSVMRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LSSVMRegressor(C=1e6, kernel="linear").fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(3)
    array([9.])
    """

    C: Positive = 1.0

    def fit(self, X, y, sample_weight=None):
        """Solve eq. (2) for targets y."""
        X, y, w = self._check_kernel_data(X, y, sample_weight, "number")
        Y = np.asarray(y, dtype=np.float64)[:, None]
        A, b = solve_ls_svm(self._gram(X), Y, self.C, w)
        self.dual_coef_ = A[:, 0]
        self.intercept_ = float(b[0])
        self.X_fit_ = X
        return self

    def predict(self, X):
        """f(x) + b of new rows."""
        X = self._check_new_rows(X)
        return self._expansion(X, self.dual_coef_) + self.intercept_


@saved_state(dual_coef_=NumberArray("rows", ...), alpha_=NumberArray("rows", ...))
@dataclass(eq=False, repr=False)
class LSSVMClassifier(Classifier, AbstractKernelModel):
    """Least-squares support vector classifier; the module text gives the method.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0
        As for `LSSVMRegressor`.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.

    Attributes
    ----------
    classes_ : array of shape (k,)
    alpha_ : array of shape (n,), or (n, k) for more than two classes
        The dual variables: errors e times C w, times the sign of the target.
    dual_coef_ : array like `alpha_`
        a, the coefficients of k(x, x_i).
    intercept_ : array of shape (1,) or (k,)
        b.
    X_fit_, kernel_, n_features_in_
        As for `LSSVMRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import LSSVMClassifier
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = LSSVMClassifier(C=10.0, gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> model.alpha_.round(6), model.decision_function(X).round(6)
    (array([2.001696, 2.001696, 2.001696, 2.001696]),
     array([-0.79983,  0.79983,  0.79983, -0.79983]))
    """

    C: Positive = 1.0
    _: KW_ONLY
    class_weight: dict | Literal["balanced"] | None = None

    def fit(self, X, y, sample_weight=None):
        """Solve eq. (2) for targets of -1 and 1."""
        X, y, w = self._check_kernel_data(X, y, sample_weight, "class")
        codes, w = encode_classes(self, y, w)
        Y = signs_against_rest(codes, len(self.classes_))
        A, self.intercept_ = solve_ls_svm(self._gram(X), Y, self.C, w)
        is_binary = Y.shape[1] == 1
        self.dual_coef_ = A[:, 0] if is_binary else A
        self.alpha_ = (Y * A)[:, 0] if is_binary else Y * A
        self.X_fit_ = X
        return self

    def decision_function(self, X):
        """f(x) + b: (m,) for two classes, else (m, k)."""
        X = self._check_new_rows(X)
        f = self._expansion(X, self.dual_coef_)
        return f + (self.intercept_[0] if f.ndim == 1 else self.intercept_)

    def predict(self, X):
        """The class of the sign, or of the largest score."""
        return labels_from_scores(self, self.decision_function(X))
