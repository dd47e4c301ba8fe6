"""Logistic regression: a linear classifier whose scores are log-odds.

With raw predictions f = x W^T + b, weights v_i (sample times class weights) of sum V
and l the logistic loss for two classes, the softmax loss for more,

    minimise  1/V sum_i v_i l(y_i, f_i) + 1/(C V) ((1-rho)/2 |W|^2 + rho |W|_1)  (1)

Intercepts are not penalised. A weight k equals k repeated rows, since eq. (1) is the
same. Below, a = rho / (C V) and b2 = (1 - rho) / (C V) are the two strengths. All
solvers stop when no entry of the gradient of eq. (1) (with rho > 0: of its distance to
the sub-differential) exceeds tol:

    newton-cholesky  few columns: Newton steps with the Hessian as a matrix, which is
                     iteratively reweighted least squares; shortened where eq. (1)
                     would rise
    lbfgs            many columns or classes: quasi-Newton steps, preconditioned where
                     there are many rows for each column (`risk.whitening_factor`),
                     and then up to tol / 4
    newton-cg        sparse rows of many columns: products with the Hessian, with a
                     block Jacobi preconditioner (`risk.block_jacobi_preconditioner`)
    coordinate       rho > 0: proximal Newton steps, `logistic_l1.py`
    saga, sag        one row at a time, `saga.py`

"auto" takes coordinate for rho > 0; newton-cholesky up to 512 coefficients if X is
small, sparse or has few rows for its columns, and along paths of C, where a Hessian
serves several fits; newton-cg for wide sparse rows; and lbfgs for the rest. Newton's
steps are then cheaper than those of solver="newton-cholesky": a factor is reused while
it is good, and with more than 50 000 rows the first Hessian is that of a part of them
(`optim/smooth/newton.py`). The gradient always uses all rows, so the optimum is the
same.

"liblinear" solves another problem: x gets a last entry s = `intercept_scaling`, and the
intercept is b = s w_{d+1}, which is penalised with the rest. Its optimum (primal and
dual are the same) is found by Newton's steps of the solvers above from a copy of X. As
tol of LIBLINEAR is relative to a sum over rows, they stop at tol/1000.

Without a penalty eq. (1) has no minimum where a hyperplane separates the classes; the
fit then ends with large coefficients and a warning. Otherwise, with H minus the Hessian
of the log-likelihood sum_i w_i log p(y_i | x_i) at its maximum, the coefficients are
close to Normal with covariance

    H^-1;  with k > 2 classes  P H^-1 P,  P = (I - 1 1^T / k) (x) I              (2)

where P keeps the coefficients of mean 0 over classes, the only ones that the data
determine. Against the model of class frequencies alone, with log-likelihood l_0,

    2 (l - l_0) ~ chi^2 on the degrees of freedom of W,   1 - l / l_0            (3)

A penalty biases the coefficients and voids eq. (2), so `summary` refuses it.

Time O(n d k) a pass, and n d^2 a Hessian; memory one block and k numbers a row beyond
X. X may be dense, CSR, a tensor, or a table on disk; in Fortran order it gives the same
digits as in C order up to a million entries, and the same up to rounding beyond.

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)   k = 1 for two classes
Refs      [Cox1958]; [Minka2003] a comparison of solvers; [McCullagh1989] ch. 4;
          [McFadden1974] eq. (3), right
"""

import math
import warnings
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ... import links
from ...core.arrays import arrays
from ...core.arrays.class_weight import compute_class_weight
from ...core.arrays.rows import DatasetRows
from ...core.drivers.iterate import Result
from ...core.information_criteria import aic, bic
from ...core.loops import threads
from ...core.numerics import log_softmax, sigmoid, softmax
from ...core.random import make_rng
from ...losses import logistic as logistic_loss
from ...losses import softmax as softmax_loss
from ...optim import lbfgs, newton, newton_cg
from ...optim.smooth.gradient import state_at_position
from ...params import (
    Flag,
    Fraction,
    Infinite,
    Jobs,
    Natural,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ...predictors.abstract_linear import (
    AbstractLinearClassifier,
    check_warm_start,
    encode_two_or_more_classes,
    row_major_if_small,
)
from ...typing import Seed
from ..coefficient_tests import CoefficientCovariance, CoefficientTests
from ..risk import (
    ROWS_PER_COLUMN,
    Risk,
    block_jacobi_preconditioner,
    whitening_factor,
)
from ..summary import Summary, coefficient_names, wald_table

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
MAX_HESSIAN_WIDTH = 512  # coefficients up to which a Hessian is made
MIN_WHITENED_ENTRIES = 1 << 16  # entries of dense X from which "auto" takes lbfgs
WIDE_COLUMNS = 1000  # columns above which sparse rows go by products with the Hessian
WHITENED_TOL = 0.25  # tol of lbfgs with a factor over `tol`
LIBLINEAR_TOL = 1e-3  # tol of liblinear's problem over `tol`: Newton's last step
# what users of scikit-learn know; others say that the solver failed to converge
NOT_CONVERGED = {
    "newton-cg": "{0} failed to converge after {1} iterations. Increase the number of "
    "iterations.",
    "lbfgs": "{0} failed to converge after {1} iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
    "newton-cholesky": "Newton solver did not converge after {1} iterations.",
}
IN_MEMORY_SOLVERS = ("coordinate", "saga", "sag", "liblinear")


def normalized_row_weights(X, w, classes, codes, class_weight):
    """Weights v of sum 1 in the library of X, and the sum V that they had."""
    factors = compute_class_weight(
        class_weight, classes=classes, codes=codes, sample_weight=w
    )
    xp = arrays.namespace(codes)
    if w is None:
        w = xp.ones(codes.shape, dtype=xp.float64, device=arrays.device(codes))
    v = xp.astype(w, xp.float64)
    if class_weight is not None:
        v = v * xp.take(arrays.asarray(factors, like=v), codes)
    V = float(xp.sum(v))
    if V <= 0:
        raise ValueError("every row has weight 0: nothing to fit.")
    return xp.astype(v / V, X.dtype), V


def penalty_strengths(C, ratio, V):
    """The strengths a and b2: factors of |W|_1 and |W|^2 / 2 in eq. (1)."""
    strength = 0.0 if math.isinf(C) else 1 / (C * V)
    return strength * ratio, strength * (1 - ratio)


def check_liblinear_options(model, ratio):
    """Refuse `dual` and `intercept_scaling` for solvers other than liblinear."""
    name = type(model).__name__
    if model.solver != "liblinear":
        if model.dual:
            raise ValueError(
                f"Solver {model.solver} supports only dual=False, got dual=True, which "
                f"{name} takes with solver='liblinear'."
            )
        if model.intercept_scaling != 1:
            warnings.warn(
                f"intercept_scaling of {name} has an effect with solver='liblinear' "
                "only: other solvers leave the intercept free of penalty.",
                UserWarning,
                stacklevel=3,
            )
    elif 0 < ratio < 1 or (model.dual and ratio > 0):
        raise ValueError(
            f"solver='liblinear' of {name} takes l1_ratio=0, or l1_ratio=1 with "
            "dual=False."
        )


def append_constant_column(X, s):
    """A copy of X with a last column of the constant s."""
    if sp.issparse(X):
        return sp.csr_matrix(sp.hstack([X, np.full((X.shape[0], 1), s)]), dtype=X.dtype)
    xp = arrays.namespace(X)
    return xp.concat([X, xp.zeros_like(X[:, :1]) + s], axis=1)


def choose_logistic_solver(solver, l1, X, k, *, C=1.0, reused=False):
    """The solver for "auto"; otherwise a check that the given one can do the job.

    `reused` says that the same rows are fitted several times.
    """
    if solver == "auto":
        if l1 > 0:
            return "coordinate"
        narrow = (X.shape[1] + 1) * k <= MAX_HESSIAN_WIDTH
        # without a penalty Newton's steps tell sooner that classes are separable
        if narrow and (reused or math.isinf(C) or not pays_to_whiten(X)):
            return "newton-cholesky"
        return "newton-cg" if sp.issparse(X) and X.shape[1] > WIDE_COLUMNS else "lbfgs"
    if l1 > 0 and solver not in ("coordinate", "saga", "liblinear"):
        raise ValueError(
            f"Solver {solver} supports only 'l2' or None penalties, and l1_ratio is "
            "above 0; use 'coordinate', 'saga' or 'auto'."
        )
    if solver == "liblinear" and k > 1:
        raise ValueError(
            "The 'liblinear' solver does not support multiclass classification: it "
            "would fit one against the rest, which "
            "sklearn.multiclass.OneVsRestClassifier does."
        )
    return solver


def pays_to_whiten(X):
    """Whether quasi-Newton steps with a factor of some rows take less than Newton's."""
    n, d = X.shape
    enough = n * d >= MIN_WHITENED_ENTRIES and n >= ROWS_PER_COLUMN * d
    return enough and not sp.issparse(X) and not arrays.is_foreign(X)


def liblinear_solver(l1, X, k):
    """The Newton solver that minimises liblinear's problem."""
    solver = choose_logistic_solver("auto", l1, X, k, reused=True)
    return "newton-cg" if solver == "lbfgs" else solver


def check_rows_in_memory(solver, X):
    """Refuse a table on disk for solvers that need the rows in memory."""
    if isinstance(X, DatasetRows) and solver in IN_MEMORY_SOLVERS:
        raise TypeError(
            f"solver={solver!r} needs the rows in memory; a table on disk is fitted "
            "with l1_ratio=0 by 'newton-cholesky', 'newton-cg' or 'lbfgs'."
        )


def coefficients_of_state(state, k):
    """W and b from the state of any solver."""
    if hasattr(state, "W"):
        return state.W, state.b
    x = np.asarray(state.position).reshape(k, -1)
    return x[:, :-1], x[:, -1]


class LogisticProblem:
    """Eq. (1) for rows X, codes 0..k-1 (0 and 1 for k = 1) and weights v of sum 1.

    It keeps what solvers can use again when only a and b2 change (blocks of rows, CSC
    columns, the last Hessian), so a regularisation path costs one preparation.
    """

    def __init__(self, X, codes, v, k, *, intercept=True):
        self.X = X
        self.codes = codes
        self.v = v
        self.k = k
        self.intercept = intercept
        self.last_hessian = None  # and the b2 that it was made for
        self.every_hessian = False  # whether every Newton step has a Hessian of its own

    @cached_property
    def risk(self):
        """The smooth part of eq. (1); its `alpha` is set to b2 by `minimise`."""
        loss = logistic_loss if self.k == 1 else softmax_loss
        return Risk(
            self.X, self.codes, self.v, loss, k=self.k, intercept=self.intercept
        )

    @cached_property
    def on_host(self):
        """This problem in NumPy, for compiled loops."""
        if not arrays.is_foreign(self.X):
            return self
        X, codes, v = (arrays.to_numpy(a) for a in (self.X, self.codes, self.v))
        return LogisticProblem(X, codes, v, self.k, intercept=self.intercept)

    @cached_property
    def columns(self):
        """CSC columns, for `logistic_l1.py`."""
        from .logistic_l1 import csc_partitioned

        return csc_partitioned(self.on_host.X)

    def hessian(self, x, rough=False):
        """The Hessian at x; `rough` may reuse that of the last b2, corrected for b2."""
        J = self.risk
        if rough and self.last_hessian is not None:
            H, b2 = self.last_hessian
            if b2 > 0 and J.alpha > 0:
                self.last_hessian = None
                H = H.copy()
                at = np.arange(H.shape[0]).reshape(J.k, J.d + 1)[:, : J.d].ravel()
                H[at, at] += J.alpha - b2
                return H
        H = J.hessian(x, rough)
        self.last_hessian = H, J.alpha
        return H

    def minimise(self, solver, a, b2, *, start, max_iter, tol, seed, task):
        """Minimise eq. (1) from start (W, b) by the named solver; a `Result`."""
        if max_iter == 0:
            x = np.column_stack(start).ravel()
            state = state_at_position(self.risk, x, 1.0)
            return Result(state, 0, "max_iter", {"objective": np.empty(0)})
        if solver == "coordinate":
            from .logistic_l1 import minimise_l1_logistic

            return minimise_l1_logistic(
                self.columns,
                self.on_host.codes,
                self.on_host.v,
                self.k,
                a,
                b2,
                intercept=self.intercept,
                start=start,
                max_iter=max_iter,
                tol=tol,
                task=task,
            )
        if solver in ("saga", "sag"):
            from .saga import minimise_saga

            J = self.on_host.risk
            J.alpha = b2
            return minimise_saga(
                J,
                a,
                averaged=solver == "sag",
                start=start,
                max_iter=max_iter,
                tol=tol,
                rng=make_rng(seed),
                task=task,
            )
        J = self.risk
        J.alpha = b2
        x = np.column_stack(start).ravel()
        limits = {"max_iter": max_iter, "tol": tol, "task": task}
        if solver == "lbfgs":
            root = whitening_factor(J, x)
            if root is not None:  # a last step more is cheap, and as exact as Newton's
                limits["tol"] = WHITENED_TOL * tol
            return lbfgs(J, x, root=root, **limits)
        if solver == "newton-cholesky":
            if self.every_hessian:
                return newton(J, J.hessian, x, keep=0.0, **limits)
            return newton(J, self.hessian, x, rough=True, **limits)
        precondition = block_jacobi_preconditioner(J) if J.sparse else None
        return newton_cg(J, J.hessian_product, x, precondition=precondition, **limits)


def centre_over_classes(W, b, k, penalised):
    """Coefficients of mean 0 over classes that give the same probabilities.

    Only the intercepts are centred where the coefficients are penalised.
    """
    if k == 1:
        return W, b
    return (W if penalised else W - W.mean(axis=0)), b - b.mean()


def separates_classes(problem, W, b) -> bool:
    """Whether all rows of weight above 0 are classified right: no finite optimum."""
    J = problem.risk
    kept = J.predictions_at(np.column_stack([W, b]).ravel())
    for i, F in enumerate(kept):
        y, v, _ = J.block_targets(i)
        xp = arrays.namespace(F)
        if J.k == 1:
            right = (2 * xp.astype(y, F.dtype) - 1) * F > 0
        else:
            right = xp.argmax(F, axis=1) == y
        if not bool(xp.all(right | (v <= 0))):
            return False
    return True


def check_unpenalised(model):
    """Refuse a summary where eq. (2) does not hold."""
    C = getattr(model, "C_", model.__dict__.get("C"))
    free = model.penalty is None or np.all(np.isinf(np.asarray(C, dtype=float)))
    if not free:
        raise ValueError(
            "there are no standard errors for penalised coefficients; fit with C=inf, "
            "or bootstrap the model."
        )
    if model.class_weight is not None:
        raise ValueError("class_weight changes the likelihood: no standard errors.")


def logistic_covariance(J, x):
    """Eq. (2) at x, (k, d + 1, k, d + 1)."""
    H = J.hessian(x)
    scale = np.sqrt(np.diagonal(H))
    if not np.all(scale > 0) or np.linalg.cond(H / np.outer(scale, scale)) > 1e12:
        raise ValueError(
            "the coefficients are not determined one by one: columns are linearly "
            "dependent, or the classes are separable."
        )
    k = J.k
    m = J.d + 1
    V = (np.linalg.inv(H / np.outer(scale, scale)) / np.outer(scale, scale)).reshape(
        k, m, k, m
    )
    if k == 1:
        return V
    P = np.eye(k) - 1 / k
    return np.einsum("ab,bicj,cd->aidj", P, V, P)


def null_log_likelihood(y, w, k):
    """l_0 of eq. (3): the log-likelihood of the class frequencies."""
    share = np.bincount(y, weights=w, minlength=k)
    return float(share @ np.log(share / share.sum()))


class LogisticInference(NamedTuple):
    """What eqs. (2) and (3) give of a fit without penalty."""

    coef: np.ndarray  # (k, d + 1), the intercept last, of mean 0 over several classes
    covariance: np.ndarray  # (k, d + 1, k, d + 1)
    log_likelihood: float
    null_log_likelihood: float
    rows: float


def logistic_inference(model, X, codes, w=None) -> LogisticInference:
    """Covariance and likelihoods at the coefficients of a model and its rows."""
    codes = np.asarray(codes)
    k = len(model.classes_)
    w = np.ones(len(codes)) if w is None else np.asarray(w, dtype=float)
    W, b = (arrays.to_numpy(a).astype(float) for a in (model.coef_, model.intercept_))
    loss = logistic_loss if k == 2 else softmax_loss
    as_x = (
        (lambda a: arrays.namespace(X).asarray(a))
        if arrays.is_foreign(X)
        else (lambda a: a)
    )
    J = Risk(X, as_x(codes), as_x(w), loss, k=len(W), intercept=model.fit_intercept)
    if k > 2:
        W = W - W.mean(axis=0)
        b = b - b.mean()
    x = np.column_stack([W, b])
    V = logistic_covariance(J, x.ravel())
    like = -float(J(x.ravel())[0])
    null = null_log_likelihood(codes, w, k)
    return LogisticInference(x, V, like, float(null), float(w.sum()))


def logistic_summary(model, inference, level=0.95) -> Summary:
    """The table of eqs. (2) and (3)."""
    labels = arrays.to_numpy(model.classes_)
    k = len(labels)
    x, V, like, null, rows = inference
    d = x.shape[1] - 1
    error = np.sqrt(np.einsum("aiai->ai", V))
    order = [d, *range(d)] if model.fit_intercept else list(range(d))
    table = wald_table(x[:, order].T, error[:, order].T, level=level)
    if k == 2:
        table = {name: column[:, 0] for name, column in table.items()}
    free = max(k - 1, 1) * len(order)
    ratio = 2 * (like - null)
    header = {
        "rows": int(rows) if rows == int(rows) else rows,
        "coefficients": free,
        "log-likelihood": like,
        "null log-likelihood": null,
        "pseudo R2": 1 - like / null,
        "likelihood ratio": ratio,
        "p (likelihood ratio)": float(stats.chi2.sf(ratio, max(k - 1, 1) * d)),
        "AIC": aic(like, free),
        "BIC": bic(like, free, rows),
    }
    return Summary(
        type(model).__name__,
        header,
        coefficient_names(model),
        table,
        targets=tuple(map(str, labels)) if k > 2 else (),
    )


class AbstractLogistic(CoefficientTests, AbstractLinearClassifier):
    """Probabilities of classes from log-odds."""

    def predict_proba(self, X):
        """Probabilities of the classes, (n, k)."""
        F = self.decision_function(X)
        if F.ndim == 1:
            return arrays.namespace(F).stack([sigmoid(-F), sigmoid(F)], axis=1)
        return softmax(F)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities, exact for small ones."""
        F = self.decision_function(X)
        if F.ndim == 1:
            xp = arrays.namespace(F)
            F = xp.stack([xp.zeros_like(F), F], axis=1)
        return log_softmax(F)

    def summary(self, X=None, y=None, sample_weight=None, *, level=0.95):
        """Standard errors, z, p and intervals of a fit without penalty.

        Parameters
        ----------
        X, y, sample_weight : as they were given to `fit`, or None
            Needed where `fit` has not kept the covariance: for a table on disk and for
            more than 1000 coefficients. Weights count rows.
        level : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        Summary
            Prints as a table; `summary["p"]` and so on are numbers. For more than two
            classes the coefficients are those of mean 0 over classes.
        """
        check_is_fitted(self)
        check_unpenalised(self)
        if X is None:
            return logistic_summary(self, self._kept_inference(), level)
        X = self._check_new_data(X, accept_sparse="csr")
        codes = np.searchsorted(arrays.to_numpy(self.classes_), arrays.to_numpy(y))
        found = logistic_inference(self, X, codes, sample_weight)
        return logistic_summary(self, found, level)

    def _kept_inference(self) -> LogisticInference:
        found = getattr(self, "_inference", None)
        if found is None:
            raise ValueError(
                "the covariance was not kept, or does not exist: call "
                "summary(X, y), which says why."
            )
        return found

    def _coefficient_covariance(self) -> CoefficientCovariance:
        check_unpenalised(self)
        if len(self.classes_) > 2:
            raise ValueError(
                "tests of coefficients are for two classes; summary() has a table for "
                "each of several."
            )
        found = self._kept_inference()
        d = found.coef.shape[1] - 1
        order = [d, *range(d)] if self.fit_intercept else list(range(d))
        V = found.covariance[0, :, 0, :][np.ix_(order, order)]
        return CoefficientCovariance(found.coef[0, order], V, np.inf)

    def _mean_link(self):
        return links.logit


@dataclass(eq=False, repr=False)
class LogisticRegression(AbstractLogistic):
    """Logistic regression, binary or multinomial; see the module text.

    Parameters
    ----------
    penalty : "l1", "l2", "elasticnet", None or "deprecated"
        scikit-learn's older parameter for l1_ratio=1, l1_ratio=0, the given l1_ratio
        and C=inf.
    C : float, default=1.0
        Inverse of the strength of the penalty; inf for none.
    l1_ratio : float or None, default=0.0
        rho of eq. (1): 0 is L2, 1 is L1; None is 0.
    dual : bool, default=False
        Only for solver="liblinear" with L2; the optimum is that of the primal.
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float, default=1
        s of the module text, for solver="liblinear"; the others warn that it has no
        effect on them.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    random_state : int, RandomState, Generator or None
        The order of rows in "saga" and "sag"; the other solvers draw nothing.
    solver : "auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "saga", \
"sag" or "liblinear"
        See the module text. The default picks by shape and penalty. "liblinear"
        penalises the intercept; all others reach the same optimum.
    max_iter : int, default=100
        Most iterations; 0 leaves the coefficients where they start.
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
    max_iter: Natural = 100
    verbose: Verbosity = 0
    warm_start: Flag = False
    n_jobs: Jobs = None

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr"
        )
        X = row_major_if_small(X)
        C, ratio = self._penalty()
        check_liblinear_options(self, ratio)
        classes, codes = encode_two_or_more_classes(y, X)
        v, V = normalized_row_weights(X, w, classes, codes, self.class_weight)
        k = int(classes.shape[0])
        k = 1 if k == 2 else k
        a, b2 = penalty_strengths(C, ratio, V)
        solver = choose_logistic_solver(self.solver, a, X, k, C=C)
        check_rows_in_memory(solver, X)
        self.classes_ = classes
        self.solver_ = solver
        # products are small, and passes over the rows use threads of our own
        with threads.limit_threads(self.n_jobs), threads.single_blas():
            W, b = self._solve(solver, X, codes, v, k, a, b2)
        if isinstance(X, DatasetRows) or sp.issparse(X):
            as_x = partial(np.asarray, dtype=X.dtype)
        else:
            as_x = partial(arrays.asarray, like=X)
        self.coef_ = as_x(W)
        self.intercept_ = as_x(b)
        self.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        self._inference = None
        in_memory = not isinstance(X, DatasetRows)
        if a + b2 == 0 and self.class_weight is None and in_memory and W.size < 1000:
            with suppress(ValueError):  # `summary` says why there is no covariance
                codes = arrays.to_numpy(codes)
                w = None if w is None else arrays.to_numpy(w)
                self._inference = logistic_inference(self, X, codes, w)
        return self

    def _not_converged_text(self, limit):
        what = NOT_CONVERGED.get(self.solver_, "{0} failed to converge.")
        what = what.format(self.solver_, self.n_iter_)
        return f"{what} Raise max_iter or tol of LogisticRegression, or scale the data."

    def _penalty(self):
        """C and rho of eq. (1)."""
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ParameterError("l1_ratio must be given with penalty='elasticnet'.")
        ratio = 0.0 if self.l1_ratio is None else self.l1_ratio
        if self.penalty is None:
            if self.C != 1.0 and not math.isinf(self.C):
                warnings.warn(
                    "Setting penalty=None will ignore the C and l1_ratio parameters.",
                    UserWarning,
                    stacklevel=3,
                )
            return math.inf, ratio
        if self.penalty in ("l1", "l2"):
            if ratio not in (0.0, float(self.penalty == "l1")):
                warnings.warn(
                    "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
                    f"(penalty={self.penalty})"
                    if ratio < 1
                    else f"Inconsistent values: penalty={self.penalty} with l1_ratio="
                    f"{self.l1_ratio}. The penalty decides.",
                    UserWarning,
                    stacklevel=3,
                )
            ratio = float(self.penalty == "l1")
        return self.C, ratio

    def _solve(self, solver, X, codes, v, k, a, b2):
        """Coefficients W (k, d) and intercepts b (k,)."""
        scaled = solver == "liblinear" and self.fit_intercept
        start = self._start(k, X)
        if scaled:
            X = append_constant_column(X, self.intercept_scaling)
            W = np.column_stack([start[0], start[1] / self.intercept_scaling])
            start = W, np.zeros(k)
        tol = self.tol
        if solver == "liblinear":
            solver = liblinear_solver(a, X, k)
            tol *= LIBLINEAR_TOL
        problem = LogisticProblem(
            X, codes, v, k, intercept=self.fit_intercept and not scaled
        )
        problem.every_hessian = self.solver == "newton-cholesky"
        result = self._run_driver(
            lambda task: problem.minimise(
                solver,
                a,
                b2,
                start=start,
                max_iter=self.max_iter,
                tol=tol,
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
        """Initial W and b: those of the last fit with `warm_start`, else 0."""
        W = np.zeros((k, X.shape[1]))
        b = np.zeros(k)
        if self.warm_start and hasattr(self, "coef_"):
            old = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
            old = arrays.to_numpy(old), arrays.to_numpy(self.intercept_)
            if old[0].shape == W.shape:
                W, b = (part.astype(float) for part in old)
                check_warm_start(self, W, b)
        return W, b if self.fit_intercept else np.zeros(k)

    def _scaled_back(self, W):
        return W[:, :-1], self.intercept_scaling * W[:, -1]

    def _attributes(self, W, b, scaled=False):
        W, b = self._scaled_back(W) if scaled else (W, b)
        return {"classes_": self.classes_, "coef_": W, "intercept_": b}


def warn_separable(name):
    """Warn that the classes are separable, so that eq. (1) has no minimum."""
    warnings.warn(
        f"the classes are separable: without a penalty {name} has no finite optimum, "
        "and its coefficients grow until tol is met. Set C, or see is_separable.",
        ConvergenceWarning,
        stacklevel=4,
    )
