"""Logistic regression: linear scores that are log-odds.

With raw predictions f = x W^T + b, weights v_i (sample times class weights) of sum V
and l the logistic loss for two classes, the softmax loss for more,

    minimise  1/V sum_i v_i l(y_i, f_i) + 1/(C V) ((1-rho)/2 |W|^2 + rho |W|_1)  (1)

Intercepts are free of penalty. Solvers, all of which stop when no entry of the
gradient of eq. (1) (with rho > 0: of its distance to optimality) exceeds tol, are
listed in `logistic_fit.py`. "auto" takes coordinate for rho > 0, newton-cholesky up to
512 coefficients, newton-cg for wide sparse rows and lbfgs for the rest. With more than
50 000 rows Newton starts from a Hessian of a part of them (`optim/newton.py`); the
gradient is always that of all rows. Weight k is k repeated rows, since eq. (1) is the
same.

"liblinear" names another problem: x gets a last entry s = `intercept_scaling`, and no
intercept is fitted but b = s w_{d+1}, which is penalised with the rest. Its optimum,
primal and dual being the same, is found by our own solvers from a copy of X.

Without penalty eq. (1) has no lowest point where a plane separates the classes; the
fit then ends with large coefficients, and says so.

Time O(n d k) a pass, and n d^2 a Hessian; memory one block and k numbers a row beyond
X. X may be dense, CSR, a tensor, or a table on disk.

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)
Refs      [Cox1958] [Minka2003] a comparison of solvers
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ..core import arrays, threads
from ..core.numerics import log_softmax, sigmoid, softmax
from ..core.rows import DatasetRows
from ..params import (
    Count,
    Flag,
    Fraction,
    Infinite,
    Jobs,
    NonNegative,
    Positive,
    Verbosity,
)
from ..typing import Seed
from .logistic_fit import (
    LogisticProblem,
    centre_over_classes,
    check_rows_in_memory,
    choose_logistic_solver,
    coefficients_of_state,
    separates_classes,
)
from .scores import AbstractLinearClassifier, class_factors, encode_two_or_more_classes

LogisticSolver = Literal[
    "auto",
    "lbfgs",
    "newton-cholesky",
    "newton-cg",
    "coordinate",
    "saga",
    "sag",
    "liblinear",
]


def normalized_row_weights(X, w, classes, codes, class_weight):
    """v of sum 1 in X's library, and V."""
    host = arrays.to_numpy(codes)
    w = np.ones(len(host)) if w is None else arrays.to_numpy(w).astype(float)
    labels = arrays.to_numpy(classes)
    v = w * class_factors(class_weight, labels, host, w)[host]
    V = float(v.sum())
    if V <= 0:
        raise ValueError("every row has weight 0: nothing to fit.")
    if arrays.is_foreign(X):
        return arrays.asarray(v / V, like=X), V
    return (v / V).astype(X.dtype), V


def penalty_strengths(C, ratio, V):
    """The factors of |W|_1 and |W|^2 / 2 in eq. (1)."""
    strength = 0.0 if math.isinf(C) else 1 / (C * V)
    return strength * ratio, strength * (1 - ratio)


def check_liblinear_options(model, ratio):
    """`dual` and `intercept_scaling` belong to one solver; refuse them elsewhere."""
    name = type(model).__name__
    if model.solver != "liblinear":
        if model.dual:
            raise ValueError(f"dual=True of {name} takes solver='liblinear' only.")
        if model.intercept_scaling != 1:
            raise ValueError(
                f"intercept_scaling of {name} takes solver='liblinear' only: other "
                "solvers leave the intercept free of penalty."
            )
    elif 0 < ratio < 1 or (model.dual and ratio > 0):
        raise ValueError(
            f"solver='liblinear' of {name} takes l1_ratio=0, or l1_ratio=1 with "
            "dual=False."
        )


def append_constant_column(X, s):
    """X with a last column of s, a copy."""
    if sp.issparse(X):
        return sp.csr_matrix(sp.hstack([X, np.full((X.shape[0], 1), s)]), dtype=X.dtype)
    xp = arrays.namespace(X)
    return xp.concat([X, xp.zeros_like(X[:, :1]) + s], axis=1)


class AbstractLogistic(AbstractLinearClassifier):
    """Probabilities from log-odds."""

    def predict_proba(self, X):
        """Probabilities of the classes, (n, k)."""
        F = self.decision_function(X)
        if F.ndim == 1:
            return arrays.namespace(F).stack([sigmoid(-F), sigmoid(F)], axis=1)
        return softmax(F)

    def predict_log_proba(self, X):
        """Their logarithms, exact for small ones."""
        F = self.decision_function(X)
        if F.ndim == 1:
            xp = arrays.namespace(F)
            F = xp.stack([xp.zeros_like(F), F], axis=1)
        return log_softmax(F)

    def summary(self, X, y, sample_weight=None, *, level=0.95):
        """Standard errors, z, p and intervals of a fit without penalty.

        Parameters
        ----------
        X, y, sample_weight : as they were given to `fit`
            They are passed over once more. Weights count rows.
        level : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        Summary
            Prints as a table; `summary["p"]` and so on are numbers. For more than two
            classes the coefficients are those of mean 0 over classes.
        """
        from .logistic_summary import logistic_summary

        return logistic_summary(self, X, y, sample_weight, level)


@dataclass(eq=False, repr=False)
class LogisticRegression(AbstractLogistic):
    """Logistic regression, binary or multinomial. The module text gives the method.

    Parameters
    ----------
    penalty : "l1", "l2", "elasticnet", None or "deprecated"
        The older way to say l1_ratio=1, l1_ratio=0, l1_ratio as given, C=inf.
    C : float, default=1.0
        Inverse of the strength of the penalty; inf for none.
    l1_ratio : float or None, default=0.0
        rho of eq. (1): 0 is L2, 1 is L1; None is 0.
    dual : bool, default=False
        Takes solver="liblinear" with L2, whose optimum is that of the primal.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float, default=1
        s of the module text, for solver="liblinear"; only 1 for the others.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    random_state : int, RandomState, Generator or None
        The order of rows in "saga" and "sag"; the other solvers draw nothing.
    solver : "auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "saga", \
"sag" or "liblinear"
        See `logistic_fit.py`. The default picks by shape and penalty. "liblinear"
        penalises the intercept; all others reach the same optimum.
    max_iter : int, default=100
        Most iterations.
    verbose : int, default=0
        Above 0 shows a progress bar.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    n_jobs : int or None
        Most threads to use.

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    n_iter_ : array of shape (1,)
    history_ : dict of arrays
        "objective" after each iteration, eq. (1).
    solver_ : str
        The solver that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LogisticRegression
    >>> X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    >>> model.intercept_.round(6), model.coef_.round(6)
    (array([-0.950033]), array([[0.338548]]))
    """

    penalty: Literal["deprecated", "l1", "l2", "elasticnet"] | None = "deprecated"
    _: KW_ONLY
    C: Positive | Infinite = 1.0
    l1_ratio: Fraction | None = 0.0
    dual: Flag = False
    tol: NonNegative = 1e-4
    fit_intercept: Flag = True
    intercept_scaling: Positive = 1
    class_weight: dict | Literal["balanced"] | None = None
    random_state: Seed = None
    solver: LogisticSolver = "auto"
    max_iter: Count = 100
    verbose: Verbosity = 0
    warm_start: Flag = False
    n_jobs: Jobs = None

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        X, y, w = self._begin(X, y, sample_weight, y_kind="class", accept_sparse="csr")
        C, ratio = self._penalty()
        check_liblinear_options(self, ratio)
        classes, codes = encode_two_or_more_classes(y, X)
        v, V = normalized_row_weights(X, w, classes, codes, self.class_weight)
        k = int(classes.shape[0])
        k = 1 if k == 2 else k
        a, b2 = penalty_strengths(C, ratio, V)
        solver = choose_logistic_solver(self.solver, a, X, k)
        check_rows_in_memory(solver, X)
        self.classes_, self.solver_ = classes, solver
        # small products; passes over the rows take threads of our own
        with threads.limited(self.n_jobs), threads.single_blas():
            W, b = self._solve(solver, X, codes, v, k, a, b2)
        if isinstance(X, DatasetRows) or sp.issparse(X):
            as_x = partial(np.asarray, dtype=X.dtype)
        else:
            as_x = partial(arrays.asarray, like=X)
        self.coef_, self.intercept_ = as_x(W), as_x(b)
        self.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        return self

    def _penalty(self):
        """C and rho of eq. (1)."""
        ratio = 0.0 if self.l1_ratio is None else self.l1_ratio
        if self.penalty is None:
            return math.inf, ratio
        if self.penalty in ("l1", "l2"):
            ratio = float(self.penalty == "l1")
        return self.C, ratio

    def _solve(self, solver, X, codes, v, k, a, b2):
        """W and b by the solver."""
        scaled, start = solver == "liblinear" and self.fit_intercept, self._start(k, X)
        if scaled:
            X = append_constant_column(X, self.intercept_scaling)
            W = np.column_stack([start[0], start[1] / self.intercept_scaling])
            start = W, np.zeros(k)
        if solver == "liblinear":
            solver = choose_logistic_solver("auto", a, X, k)
        problem = LogisticProblem(
            X, codes, v, k, intercept=self.fit_intercept and not scaled
        )
        result = self._drive(
            lambda task: problem.minimise(
                solver,
                a,
                b2,
                start=start,
                max_iter=self.max_iter,
                tol=self.tol,
                seed=self.random_state,
                task=task,
            ),
            total=self.max_iter,
            X=X,
            y=codes,
            snapshot=lambda s: self._attributes(*coefficients_of_state(s, k), scaled),
        )
        W, b = centre_over_classes(
            *coefficients_of_state(result.state, k), k, a + b2 > 0
        )
        if a + b2 == 0 and separates_classes(problem, W, b):
            warn_separable(type(self).__name__)
        return self._scaled_back(W) if scaled else (W, b)

    def _start(self, k, X):
        W, b = np.zeros((k, X.shape[1])), np.zeros(k)
        if self.warm_start and hasattr(self, "coef_"):
            old = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
            old = arrays.to_numpy(old), arrays.to_numpy(self.intercept_)
            if old[0].shape == W.shape:
                W, b = (part.astype(float) for part in old)
        return W, b if self.fit_intercept else np.zeros(k)

    def _scaled_back(self, W):
        return W[:, :-1], self.intercept_scaling * W[:, -1]

    def _attributes(self, W, b, scaled=False):
        W, b = self._scaled_back(W) if scaled else (W, b)
        return {"classes_": self.classes_, "coef_": W, "intercept_": b}


def warn_separable(name):
    warnings.warn(
        f"the classes are separable: without a penalty {name} has no finite optimum, "
        "and its coefficients grow until tol is met. Set C, or see is_separable.",
        ConvergenceWarning,
        stacklevel=4,
    )
