"""Kernel perceptron: the perceptron in the feature space of a kernel.

The weights of the perceptron are sums of the rows it was wrong about, so that with
counts c_i of the mistakes on row i and signs y

    f(x) = eta sum_i c_i y_i k(x_i, x)                                             (1)
    visit rows in order: if y_i f(x_i) <= 0 then c_i <- c_i + 1                    (2)

until a pass makes no mistake. With the linear kernel it is the perceptron step for
step; only rows that were mistaken once have a coefficient. The objective is the
perceptron loss sum_i max(0, -y_i f(x_i)); nothing regularises, so where the classes
cannot be separated in feature space only `max_iter` ends it. More than two classes are
told one from the rest.

Cost      n a mistake after n^2 d for the matrix; memory n^2
Shapes    K (n, n)   c, y (n,)
Refs      [Aizerman1964]; [FreundSchapire1999]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..base import Classifier
from ..core.random import make_rng
from ..optim.stochastic.mistake_driven import until_clean
from ..params import Count, Flag, Positive, Verbosity
from ..persist.saved_state import IntArray, NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel
from ..typing import Seed
from .kernel_classes import encode_classes, labels_from_scores, signs_against_rest


def perceptron_objective(K, y, dual_coef) -> float:
    """sum_i max(0, -y_i f(x_i)): the perceptron loss of a kernel expansion.

    Examples
    --------
    >>> import numpy as np
    >>> perceptron_objective(np.eye(2), np.array([1.0, -1.0]), np.array([-2.0, -1.0]))
    2.0
    """
    return float(np.maximum(0.0, -np.asarray(y) * (K @ dual_coef)).sum())


def _learn_from_mistakes(K, y, order, *, eta, max_iter, task):
    """Passes of eq. (2) until one is clean; the model is (coefficients, scores)."""
    from . import _kernel_perceptron as loops

    coef, scores = np.zeros(len(K)), np.zeros(len(K))

    def one_pass(model):
        coef, scores = model
        count: Any = loops.perceptron_pass(K, y, order(), float(eta), coef, scores)
        return model, int(count)

    return until_clean(one_pass, (coef, scores), max_iter=max_iter, task=task)


@saved_state(
    dual_coef_=NumberArray("rows", ...),
    support_=IntArray("vectors", low=0, below="rows"),
)
@dataclass(eq=False, repr=False)
class KernelPerceptron(Classifier, AbstractKernelModel):
    """The kernel perceptron; the module text gives the method.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        As for `KernelRidge`; the defaults are "rbf", None, 3 and 0.
    eta0 : float, default=1.0
        eta; it scales f and changes no prediction.
    max_iter : int, default=1000
        Most passes over the rows.
    shuffle : bool, default=False
        Whether to visit the rows in a new random order at each pass.
    random_state : int, RandomState, Generator or None
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (k,)
    dual_coef_ : array of shape (n,), or (n, k) for more than two classes
        eta c_i y_i.
    mistakes_ : array like `dual_coef_`
        c_i.
    support_ : array of int
        Rows that were mistaken.
    X_fit_ : array of shape (n, d), or (n, n) if precomputed
    kernel_ : kernel or None
    n_iter_ : int
        Passes, the most of all classes.
    history_ : dict
        "objective", the mistakes of each pass, of the class that took the most.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = KernelPerceptron(gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> model.predict(X), model.mistakes_
    (array([0, 1, 1, 0]), array([1., 1., 1., 1.]))
    """

    _: KW_ONLY
    eta0: Positive = 1.0
    max_iter: Count = 1000
    shuffle: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y):
        """Visit the rows until no one is mistaken."""
        X, y, _ = self._check_kernel_data(X, y, None, "class")
        codes, _ = encode_classes(self, y, None)
        K = np.ascontiguousarray(self._gram(X), dtype=np.float64)
        Y = signs_against_rest(codes, len(self.classes_))
        live = np.arange(len(Y))
        rng = make_rng(self.random_state)
        order = (lambda: rng.permutation(live)) if self.shuffle else (lambda: live)
        results = []
        for signs in np.ascontiguousarray(Y.T):
            result = self._run_driver(
                lambda task, y=signs: _learn_from_mistakes(
                    K, y, order, eta=self.eta0, max_iter=self.max_iter, task=task
                ),
                total=self.max_iter,
                X=X,
                y=y,
            )
            results.append(result)
        longest = max(results, key=lambda r: r.n_iter)
        self.n_iter_ = longest.n_iter
        self.history_ = longest.history
        A = np.column_stack([r.state.model[0] for r in results])
        self.dual_coef_ = A[:, 0] if A.shape[1] == 1 else A
        self.mistakes_ = np.rint(np.abs(self.dual_coef_) / self.eta0)
        self.support_ = np.flatnonzero(A.any(axis=1))
        self.X_fit_ = X
        return self

    def decision_function(self, X):
        """f of new rows: (m,) for two classes, else (m, k)."""
        return self._expansion(self._check_new_rows(X), self.dual_coef_)

    def predict(self, X):
        """The class of the sign, or of the largest score."""
        return labels_from_scores(self, self.decision_function(X))
