"""Adaline: least squares on class signs by the delta rule, then a threshold.

For targets t (signs for a classifier, any numbers for the functions here), rows x_i
with a constant 1 for the intercept and weights v_i,

    E(w) = sum_i v_i (t_i - w . x_i)^2,   g = 2 X^T v (X w - t),  H = 2 X^T v X  (1)

    batch        w <- w - eta g                 all rows at once                 (2)
    sequential   w <- w + 2 eta v_i (t_i - w . x_i) x_i   row by row (LMS)       (3)
    newton       w <- w - H^+ g                 least squares in one step        (4)

Eq. (2) multiplies the error along each eigenvector of H by 1 - eta lambda: it comes
to least squares, and E falls at every step, if and only if 0 < eta < 2 / lambda_max.
Eq. (3) with a constant eta circles around it; here eta falls as pass^(-3/4), slowly
enough to arrive and fast enough to stay [Robbins1951].

The class is the sign of w . x, or the largest of k such units, one per class. A
far row on the right side still pulls at w, which the perceptron would leave alone.

Time O(n d k) a pass. Weight k is k repeated rows for "batch" and "newton".

Shapes    X (n, m) with its constant   T, E (n, k)   W (m, k)
Refs      [WidrowHoff1960]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.random import make_rng
from ...losses import half_squared
from ...params import Count, Flag, NonNegative, Positive, Verbosity
from ...predictors.abstract_linear import (
    AbstractLinearClassifier,
    check_warm_start,
    encode_two_or_more_classes,
)
from ...typing import Seed
from ..sgd import sgd
from ..sgd.sgd import arrays_in_memory

MAX_HESSIAN_COLUMNS = 500  # columns up to which H is made


class AdalineState(NamedTuple):
    """Weights after a pass."""

    W: np.ndarray
    objective: float  # E, summed over units
    slope: float  # largest |g_j|
    t: int  # passes made


def squared_error_and_gradient(X, T, v, W):
    """E and g of eq. (1)."""
    R = X @ W - T
    return float(v @ (R * R).sum(axis=1)), 2 * (X.T @ (v[:, None] * R))


def squared_error_hessian(X, v):
    """H of eq. (1)."""
    weighted = X.multiply(v[:, None]) if sp.issparse(X) else X * v[:, None]
    H = 2 * (X.T @ weighted)
    return H.toarray() if sp.issparse(H) else H


def largest_step(X, v=None):
    """2 / lambda_max: eq. (2) converges for every step below it and none above.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model.classifiers.adaline import largest_step
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> round(largest_step(X), 6)
    0.13962
    """
    v = np.ones(X.shape[0]) if v is None else v
    m = X.shape[1]
    if m <= MAX_HESSIAN_COLUMNS:
        top = float(np.linalg.eigvalsh(squared_error_hessian(X, v))[-1])
    else:
        H = LinearOperator((m, m), matvec=lambda u: 2 * (X.T @ (v * (X @ u.ravel()))))
        top = float(eigsh(H, k=1, v0=np.ones(m), return_eigenvectors=False)[0])
    return 2 / top if top > 0 else np.inf


def lms_pass(X, T, v, W, eta, order):
    """A pass of eq. (3): SGD on half the squared error with step 2 eta."""
    rule = sgd.make_sgd_rule(
        half_squared,
        "constant",
        penalty=None,
        alpha=0.0,
        l1_ratio=0.0,
        eta0=2 * eta,
        fit_intercept=False,
    )
    k = T.shape[1]
    m = X.shape[1]
    units = np.ascontiguousarray(W.T)
    memory = sgd.initial_memory(k, m, units.dtype, rule, 0.0)
    columns = np.ascontiguousarray(T.T)
    problem = sgd.SGDProblem(
        rows=sgd.rows_for_loops(X),
        order=order,
        target=lambda c: columns[c],
        v=v,
        factors=np.ones((k, 2)),
        rule=rule,
        y_is_sign=False,
    )
    for c in range(k):
        sgd.sgd_pass(problem, c, units[c], memory)
    return units.T


def delta_rule(
    X, T, v=None, W=None, *, solver="batch", eta, max_iter, tol, rng=None, task=SILENT
) -> Result:
    """Minimise E from W by eq. (2), (3) or (4) until no |g_j| exceeds tol."""
    v = np.ones(X.shape[0]) if v is None else v
    T = T[:, None] if T.ndim == 1 else T
    W = np.zeros((X.shape[1], T.shape[1])) if W is None else W
    n = X.shape[0]

    def at(W, t):
        with np.errstate(over="ignore", invalid="ignore"):
            E, g = squared_error_and_gradient(X, T, v, W)
        return AdalineState(W, E, float(np.abs(g).max()), t)

    def step(s):
        if solver == "sequential":
            order = np.arange(n) if rng is None else rng.permutation(n)
            order = order.astype(np.int32)
            W = lms_pass(X, T, v, s.W, eta / (s.t + 1) ** 0.75, order)
        else:
            g = squared_error_and_gradient(X, T, v, s.W)[1]
            move = eta * g if solver == "batch" else pseudo @ g
            W = s.W - move
        return at(W, s.t + 1)

    pseudo = (
        np.linalg.pinv(squared_error_hessian(X, v), hermitian=True)
        if solver == "newton"
        else 0
    )
    scale = max(1.0, float(v.sum()))
    change = lambda old, new: new.slope / scale
    return iterate(step, at(W, 0), max_iter=max_iter, tol=tol, change=change, task=task)


@dataclass(eq=False, repr=False)
class Adaline(AbstractLinearClassifier):
    """Adaline, the delta-rule classifier; see the module text.

    Parameters
    ----------
    solver : {"batch", "sequential", "newton"}, default="batch"
        Eq. (2), (3) or (4).
    eta0 : float or None, default=None
        Step eta. None takes half of `largest_step` for "batch", and the inverse of
        twice the longest |x|^2 for "sequential".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float, default=1e-4
        Stop when no entry of the mean gradient exceeds this.
    shuffle : bool, default=True
        Whether "sequential" takes rows in a new random order at each pass.
    verbose : int, default=0
        Above 0 shows a progress bar.
    random_state : int, RandomState, Generator or None
    warm_start : bool, default=False
        Start at the coefficients of the last fit.

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    eta_ : float
        The step that was used.
    largest_step_ : float
        2 / lambda_max, above which "batch" diverges.
    n_iter_ : int
    history_ : dict of arrays
        "objective", eq. (1) after each pass.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import Adaline
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = Adaline(solver="newton").fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6), model.predict([[1.4], [1.6]])
    (array([[0.8]]), array([-1.2]), array([0, 1]))
    """

    solver: Literal["batch", "sequential", "newton"] = "batch"
    _: KW_ONLY
    eta0: Positive | None = None
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    shuffle: Flag = True
    verbose: Verbosity = 0
    random_state: Seed = None
    warm_start: Flag = False

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1) for rows X and labels y."""
        X, y, v = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr"
        )
        X, y, v = arrays_in_memory(self, X, y, v)
        classes, codes = encode_two_or_more_classes(y)
        k = len(classes)
        dtype = X.dtype
        A = self._with_constant(X)
        v = np.ones(len(y)) if v is None else v.astype(float)
        own = codes[:, None] == (np.arange(k) if k > 2 else np.array([1]))
        T = np.where(own, 1.0, -1.0)
        self._zero_error = float(v.sum()) * T.shape[1]
        self.largest_step_ = largest_step(A, v)
        self.eta_ = self._step(A, v)
        W = self._start(T.shape[1], A.shape[1])
        rng = make_rng(self.random_state) if self.shuffle else None
        self.classes_ = classes
        result = self._run_driver(
            lambda task: delta_rule(
                A,
                T,
                v,
                W,
                solver=self.solver,
                eta=self.eta_,
                max_iter=self.max_iter,
                tol=self.tol,
                rng=rng,
                task=task,
            ),
            total=self.max_iter,
            X=X,
            y=codes,
            snapshot=lambda s: self._fitted_attributes(s.W, dtype),
        )
        for name, value in self._fitted_attributes(result.state.W, dtype).items():
            setattr(self, name, value)
        return self

    def _warn_if_not_converged(self, reason):
        """Say that the steps were too long, where they were."""
        too_long = self.eta_ >= self.largest_step_
        if reason in ("interrupted", "tolerance") or self.solver == "newton":
            super()._warn_if_not_converged(reason)
            return
        if self.solver == "batch" and too_long:
            what = f"at or above the limit {self.largest_step_:.6g} (2 / lambda_max)"
        elif self.solver == "sequential" and self._is_worse_than_zero(reason):
            what = f"too long; steps up to {self._safe_step:.3g} are safe"
        else:
            super()._warn_if_not_converged(reason)
            return
        warnings.warn(
            f"Adaline diverged: its step eta0={self.eta_:.6g} is {what}. Take a "
            "smaller eta0, or eta0=None.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _is_worse_than_zero(self, reason):
        """Whether the fit is worse than w = 0, whose error is the sum of weights."""
        errors = self.history_["objective"]
        return reason == "diverged" or errors[-1] > self._zero_error

    def _with_constant(self, X):
        X = X.astype(np.float64)
        if not self.fit_intercept:
            return X
        ones = np.ones((X.shape[0], 1))
        return sp.hstack([X, ones], "csr") if sp.issparse(X) else np.hstack([X, ones])

    def _step(self, A, v):
        squares = A.multiply(A).sum(1) if sp.issparse(A) else (A * A).sum(1)
        longest = float(np.max(np.asarray(squares).ravel() * v))
        # of eq. (3): it never overshoots a row
        self._safe_step = 1 / (2 * longest) if longest > 0 else 1.0
        if self.eta0 is not None:
            return float(self.eta0)
        if self.solver == "sequential":
            return self._safe_step
        return self.largest_step_ / 2 if np.isfinite(self.largest_step_) else 1.0

    def _start(self, k, m):
        W = np.zeros((m, k))
        if self.warm_start and hasattr(self, "coef_"):
            last = [self.coef_, self.intercept_[:, None]][: 1 + self.fit_intercept]
            last = np.hstack(last).T.astype(float)
            W = last if last.shape == W.shape else W
            check_warm_start(self, W)
        return W

    def _fitted_attributes(self, W, dtype):
        W = W.T.astype(dtype)
        d = W.shape[1] - self.fit_intercept
        b = W[:, d] if self.fit_intercept else np.zeros(len(W), dtype)
        return {"coef_": np.ascontiguousarray(W[:, :d]), "intercept_": b}
