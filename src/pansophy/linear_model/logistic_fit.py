"""The minimisers of penalised logistic loss, behind one call.

    F(W, b) = sum_i v_i l(y_i, f_i) + a |W|_1 + b2/2 |W|^2                       (1)

`LogisticProblem` holds rows, codes and weights of sum 1, and what solvers keep between two
calls with other a and b2 (CSC columns, a `Risk`): a path costs one preparation.

    newton-cholesky  few columns: Newton steps with the Hessian as a matrix
    lbfgs            many columns or classes: quasi-Newton steps, whitened where there
                     are many rows for a column (`precondition.py`)
    newton-cg        sparse rows of many columns: products with the Hessian, with its
                     diagonal and the block of the fullest columns for M
    coordinate       a > 0: Newton steps that are lassos, `logistic_l1.py`
    saga, sag        one row at a time, `saga.py`

Shapes    X (n, d)   W (k, d)   b (k,)   k = 1 for two classes
"""

from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.random import rng_from
from ..core.rows import DatasetRows
from ..losses import logistic as logistic_loss
from ..losses import softmax as softmax_loss
from ..optim import lbfgs, newton, newton_cg
from .precondition import block_jacobi_preconditioner, whitening_factor
from .risk import Risk

MAX_HESSIAN_WIDTH = 512  # coefficients up to which a Hessian is made
WIDE_COLUMNS = 1000  # columns above which sparse rows go by products with the Hessian
IN_MEMORY_SOLVERS = ("coordinate", "saga", "sag", "liblinear")


def choose_logistic_solver(solver, l1, X, k):
    """The solver for "auto", and a check that the one asked for can do it."""
    if solver == "auto":
        if l1 > 0:
            return "coordinate"
        if (X.shape[1] + 1) * k <= MAX_HESSIAN_WIDTH:
            return "newton-cholesky"
        return "newton-cg" if sp.issparse(X) and X.shape[1] > WIDE_COLUMNS else "lbfgs"
    if l1 > 0 and solver not in ("coordinate", "saga", "liblinear"):
        raise ValueError(
            f"solver={solver!r} takes l1_ratio=0 only; use 'coordinate', 'saga' or "
            "'auto'."
        )
    if solver == "liblinear" and k > 1:
        raise ValueError(
            "solver='liblinear' takes two classes: for more it would fit one against "
            "the rest, which sklearn.multiclass.OneVsRestClassifier does."
        )
    return solver


def check_rows_in_memory(solver, X):
    """Refuse rows on disk to solvers that need them in memory."""
    if isinstance(X, DatasetRows) and solver in IN_MEMORY_SOLVERS:
        raise TypeError(
            f"solver={solver!r} needs the rows in memory; a table on disk is fitted "
            "with l1_ratio=0 by 'newton-cholesky', 'newton-cg' or 'lbfgs'."
        )


def coefficients_of_state(state, k):
    """W and b in the state of any solver."""
    if hasattr(state, "W"):
        return state.W, state.b
    x = np.asarray(state.position).reshape(k, -1)
    return x[:, :-1], x[:, -1]


class LogisticProblem:
    """Eq. (1) for rows X, codes 0..k-1 (0 and 1 for k = 1) and weights v of sum 1."""

    def __init__(self, X, codes, v, k, *, intercept=True):
        self.X, self.codes, self.v, self.k = X, codes, v, k
        self.intercept = intercept
        self.bent = None  # the last Hessian and its b2

    @cached_property
    def risk(self):
        """The loss, with b2 to be set."""
        loss = logistic_loss if self.k == 1 else softmax_loss
        how = {"k": self.k, "intercept": self.intercept}
        return Risk(self.X, self.codes, self.v, loss, **how)

    @cached_property
    def host(self):
        """Rows, codes and weights in NumPy, for loops that need them there."""
        if not arrays.is_foreign(self.X):
            return self
        X, codes, v = (arrays.to_numpy(a) for a in (self.X, self.codes, self.v))
        return LogisticProblem(X, codes, v, self.k, intercept=self.intercept)

    @cached_property
    def columns(self):
        """CSC columns, for `logistic_l1`."""
        from .logistic_l1 import csc_partitioned

        return csc_partitioned(self.host.X)

    def hessian(self, x, rough=False):
        """H at x; if a rough one will do, that of the last problem with the new b2."""
        J = self.risk
        if rough and self.bent is not None and self.bent[1] > 0 and J.alpha > 0:
            H, b2 = self.bent
            self.bent = None
            H = H.copy()
            at = np.arange(H.shape[0]).reshape(J.k, J.d + 1)[:, : J.d].ravel()
            H[at, at] += J.alpha - b2
            return H
        H = J.hessian(x, rough)
        self.bent = H, J.alpha
        return H

    def minimise(self, solver, a, b2, *, start, max_iter, tol, seed, task):
        """Eq. (1) from start (W, b), until no coordinate is off by more than tol."""
        how = {"max_iter": max_iter, "tol": tol, "task": task}
        if solver == "coordinate":
            from .logistic_l1 import minimise_l1_logistic

            host = self.host
            parts = (self.columns, host.codes, host.v, self.k, a, b2)
            return minimise_saga(*parts, intercept=self.intercept, start=start, **how)
        if solver in ("saga", "sag"):
            from .saga import minimise_saga

            J = self.host.risk
            J.alpha = b2
            how |= {"rng": rng_from(seed), "averaged": solver == "sag"}
            return minimise_saga(J, a, start=start, **how)
        J, x = self.risk, np.column_stack(start).ravel()
        J.alpha = b2
        runs = {
            "lbfgs": partial(lbfgs, J, x),
            "newton-cholesky": partial(newton, J, self.hessian, x, rough=True),
            "newton-cg": partial(newton_cg, J, J.hessian_product, x),
        }
        if solver == "lbfgs":
            how["root"] = whitening_factor(J, x)
        if solver == "newton-cg" and J.sparse:
            how["precondition"] = block_jacobi_preconditioner(J)
        return runs[solver](**how)


def centre_over_classes(W, b, k, penalised):
    """The same probabilities with intercepts (and free coefficients) of mean 0."""
    if k == 1:
        return W, b
    return (W if penalised else W - W.mean(axis=0)), b - b.mean()


def separates_classes(problem, W, b) -> bool:
    """Whether every row that counts is on its own side: no finite optimum then."""
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
