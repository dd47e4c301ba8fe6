"""Logistic regression: linear scores that are log-odds.

With raw predictions f = x W^T + b, weights v_i (sample times class weights) of sum V
and l the logistic loss for two classes, the softmax loss for more,

    minimise  1/V sum_i v_i l(y_i, f_i) + 1/(C V) ((1-rho)/2 |W|^2 + rho |W|_1)  (1)

Intercepts are free of penalty. Solvers, all of which stop when no entry of the
gradient of eq. (1) (with rho > 0: of its distance to optimality) exceeds tol:

    newton-cholesky  few columns: Newton steps with the Hessian as a matrix
    lbfgs            many columns or classes: quasi-Newton from fused passes
    newton-cg        sparse rows of many columns: Hessian products only
    coordinate       rho > 0: Newton steps that are lassos, `logistic_l1.py`

"auto" takes coordinate for rho > 0, newton-cholesky up to `NARROW` coefficients,
newton-cg for wide sparse rows and lbfgs for the rest. With more than 50 000 rows
Newton starts from a Hessian of a part of them (`optim/newton.py`); the gradient is
always that of all rows. Weight k is k repeated rows, since eq. (1) is the same.

Time O(n d k) a pass, and n d^2 a Hessian; memory one block beyond X.

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)
Refs      [Cox1958] [Minka2003] a comparison of solvers
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..core import arrays, threads
from ..core.numerics import log_softmax, sigmoid, softmax
from ..core.rows import DatasetRows
from ..optim import lbfgs, newton, newton_cg
from ..params import Count, Flag, Fraction, Jobs, NonNegative, Positive, Verbosity
from ..typing import Seed
from .likelihood import Likelihood
from .scores import AbstractLinearClassifier, class_factors, encode

NARROW = 512  # coefficients up to which a Hessian is made


def choose_solver(solver, l1, X, k):
    """The solver for "auto", and a check that the one asked for can do it."""
    if solver == "auto":
        if l1 > 0:
            return "coordinate"
        if (X.shape[1] + 1) * k <= NARROW and X.shape[0] > X.shape[1]:
            return "newton-cholesky"
        wide = sp.issparse(X) and X.shape[1] > 1000
        return "newton-cg" if wide and k == 1 else "lbfgs"
    if l1 > 0 and solver != "coordinate":
        raise ValueError(
            f"solver={solver!r} of LogisticRegression takes l1_ratio=0 only; use "
            "'coordinate' or 'auto'."
        )
    if arrays.is_foreign(X) and solver == "newton-cg":
        raise ValueError("solver='newton-cg' takes NumPy arrays and sparse matrices.")
    return solver


@dataclass(eq=False, repr=False)
class LogisticRegression(AbstractLinearClassifier):
    """Logistic regression, binary or multinomial. The module text gives the method.

    Parameters
    ----------
    penalty : "l1", "l2", "elasticnet", None or "deprecated"
        The older way to say l1_ratio=1, l1_ratio=0, l1_ratio as given, C=inf.
    C : float, default=1.0
        Inverse of the strength of the penalty; inf for none.
    l1_ratio : float, default=0.0
        rho of eq. (1): 0 is L2, 1 is L1.
    dual : False
        Only the primal problem is solved.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : 1
        Intercepts carry no penalty, so there is nothing to scale.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    random_state : int, RandomState, Generator or None
        No solver here draws random numbers; every fit is the same.
    solver : "auto", "lbfgs", "newton-cholesky", "newton-cg" or "coordinate"
        See the module text. The default picks by shape and penalty.
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
    C: Positive = 1.0
    l1_ratio: Fraction = 0.0
    dual: Literal[False] = False
    tol: NonNegative = 1e-4
    fit_intercept: Flag = True
    intercept_scaling: Literal[1] = 1
    class_weight: dict | Literal["balanced"] | None = None
    random_state: Seed = None
    solver: Literal["auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate"] = (
        "auto"
    )
    max_iter: Count = 100
    verbose: Verbosity = 0
    warm_start: Flag = False
    n_jobs: Jobs = None

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        X, y, w = self._begin(X, y, sample_weight, y_kind="class", accept_sparse="csr")
        if isinstance(X, DatasetRows):
            raise TypeError("LogisticRegression takes rows in memory, not a table.")
        classes, codes = encode(y)
        v, V = self._row_weights(X, w, classes, codes)
        k = int(classes.shape[0])
        k = 1 if k == 2 else k
        a, b2 = self._strengths(V)
        solver = choose_solver(self.solver, a, X, k)
        start = self._start(k, X)
        self.classes_, self.solver_ = classes, solver
        # small products; passes over the rows take threads of our own
        with threads.limited(self.n_jobs), threads.single_blas():
            if solver == "coordinate":
                W, b = self._fit_l1(X, codes, v, k, a, b2, start)
            else:
                W, b = self._fit_smooth(solver, X, codes, v, k, b2, start)
        as_x = partial(arrays.asarray, like=X) if not sp.issparse(X) else np.asarray
        self.coef_, self.intercept_ = as_x(W), as_x(b)
        self.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        return self

    def _row_weights(self, X, w, classes, codes):
        """v of sum 1 in X's library, and V."""
        host = arrays.to_numpy(codes)
        n = len(host)
        w = np.ones(n) if w is None else arrays.to_numpy(w).astype(float)
        labels = arrays.to_numpy(classes)
        v = w * class_factors(self.class_weight, labels, host, w)[host]
        V = float(v.sum())
        if sp.issparse(X):
            return (v / V).astype(X.dtype), V
        return arrays.asarray(v / V, like=X), V

    def _strengths(self, V):
        """The factors of |W|_1 and |W|^2 / 2 in eq. (1)."""
        C, ratio = self.C, self.l1_ratio
        if self.penalty is None:
            C = math.inf
        elif self.penalty in ("l1", "l2"):
            ratio = float(self.penalty == "l1")
        strength = 0.0 if math.isinf(C) else 1 / (C * V)
        return strength * ratio, strength * (1 - ratio)

    def _start(self, k, X):
        W, b = np.zeros((k, X.shape[1])), np.zeros(k)
        if self.warm_start and hasattr(self, "coef_"):
            old = arrays.to_numpy(self.coef_), arrays.to_numpy(self.intercept_)
            if old[0].shape == W.shape:
                W, b = (part.astype(float) for part in old)
        return W, b if self.fit_intercept else np.zeros(k)

    def _fit_smooth(self, solver, X, codes, v, k, b2, start):
        t = codes if k > 1 or arrays.is_foreign(X) else codes.astype(X.dtype)
        J = Likelihood(X, t, v, k, b2, intercept=self.fit_intercept)
        x = np.column_stack(start).ravel()
        how = {"max_iter": self.max_iter, "tol": self.tol}
        runs = {
            "lbfgs": partial(lbfgs, J, x),
            "newton-cholesky": partial(newton, J, J.hessian, x, rough=True),
            "newton-cg": partial(newton_cg, J, J.product, x),
        }
        result = self._drive(
            lambda task: runs[solver](**how, task=task),
            total=self.max_iter,
            X=X,
            y=codes,
            snapshot=lambda s: self._attributes(*J.split(s.position)),
        )
        return J.split(result.state.position)

    def _fit_l1(self, X, codes, v, k, a, b2, start):
        from .logistic_l1 import minimise

        host = X.tocsc() if sp.issparse(X) else arrays.to_numpy(X)
        codes, v = arrays.to_numpy(codes), arrays.to_numpy(v)
        how: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        how |= {"start": start, "intercept": self.fit_intercept}
        result = self._drive(
            lambda task: minimise(host, codes, v, k, a, b2, **how, task=task),
            total=self.max_iter,
            X=X,
            y=codes,
            snapshot=lambda s: self._attributes(s.W, s.b),
        )
        return result.state.W, result.state.b

    def _attributes(self, W, b):
        return {"classes_": self.classes_, "coef_": W, "intercept_": b}

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
