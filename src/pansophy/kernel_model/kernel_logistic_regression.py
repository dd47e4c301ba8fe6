"""Kernel logistic regression: class probabilities from a kernel expansion.

    min  1/2 sum_k |f_k|^2 + C sum_i w_i l(y_i, f(x_i) + b)                        (1)

with f_k(x) = sum_i a_ik k(x, x_i) and l the logistic loss for two classes or the
softmax loss for more. The linear kernel gives logistic regression with an L2 penalty.
At the optimum a = -C w l'(y, f + b), so that every row has a coefficient and those of
a column sum to 0 where there is an intercept.

The fit is Newton's method on the features of a pivoted Cholesky factor of K, whose
inner products are K to rounding (`feature_newton.py`).

Cost      n^2 r a step, r the rank of K; memory n^2
Shapes    K (n, n)   a (n,) or (n, k)   b (1,) or (k,)
Refs      [Zhu2005]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ..base import Classifier
from ..core.numerics import sigmoid
from ..core.numerics import softmax as probabilities
from ..losses import logistic, softmax
from ..params import Count, Flag, NonNegative, Positive, Verbosity
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel
from .feature_newton import SmoothProblem, dense_features, fit_smooth_loss
from .kernel_classes import encode_classes, labels_from_scores


@saved_state(dual_coef_=NumberArray("rows", ...))
@dataclass(eq=False, repr=False)
class KernelLogisticRegression(Classifier, AbstractKernelModel):
    """Kernel logistic regression; the module text gives the method.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty.
    kernel, gamma, degree, coef0
        As for `KernelRidge`; the defaults are "rbf", None, 3 and 0.
    fit_intercept : bool, default=True
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    max_iter : int, default=100
        Most Newton steps.
    tol : float, default=1e-11
        Largest slope of (1) over C and the sum of the weights at which to stop.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (k,)
    dual_coef_ : array of shape (n,), or (n, k) for more than two classes
        a.
    intercept_ : array of shape (1,) or (k,)
        b.
    X_fit_ : array of shape (n, d), or (n, n) if precomputed
    kernel_ : kernel or None
    n_iter_ : int
    history_ : dict
        "objective" after each step.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import KernelLogisticRegression
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = KernelLogisticRegression(C=10.0, gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> model.predict(X), bool(model.predict_proba(X)[1, 1] > 0.7)
    (array([0, 1, 1, 0]), True)
    """

    C: Positive = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    class_weight: dict | Literal["balanced"] | None = None
    max_iter: Count = 100
    tol: NonNegative = 1e-11
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_kernel_data(X, y, sample_weight, "class")
        codes, w = encode_classes(self, y, w)
        k = len(self.classes_)
        weights = np.ones(len(codes)) if w is None else np.asarray(w, np.float64)
        loss: Any = logistic if k == 2 else softmax
        problem = SmoothProblem(
            features=dense_features(self._gram(X)),
            loss=loss,
            y=codes.astype(float) if k == 2 else codes,
            w=weights,
            alpha=1.0 / self.C,
            outputs=1 if k == 2 else k,
            intercept=self.fit_intercept,
        )
        result = self._run_driver(
            lambda task: fit_smooth_loss(
                problem, max_iter=self.max_iter, tol=self.tol, task=task
            ),
            total=self.max_iter,
            X=X,
            y=y,
        )
        x = result.state.position
        F = problem.per_row(problem.scores(x))
        G = loss.gradient(problem.y, F)
        self.dual_coef_ = -self.C * (G.T * weights).T
        self.intercept_ = problem.centred(x).b
        self.X_fit_ = X
        return self

    def decision_function(self, X):
        """f + b: (m,) for two classes, else (m, k)."""
        f = self._expansion(self._check_new_rows(X), self.dual_coef_)
        return f + (self.intercept_[0] if f.ndim == 1 else self.intercept_)

    def predict_proba(self, X):
        """Probabilities of the classes, (m, k)."""
        f = self.decision_function(X)
        if f.ndim == 2:
            return probabilities(f)
        p = sigmoid(f)
        return np.column_stack([1 - p, p])

    def predict_log_proba(self, X):
        """Logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def predict(self, X):
        """The class of largest probability."""
        return labels_from_scores(self, self.decision_function(X))
