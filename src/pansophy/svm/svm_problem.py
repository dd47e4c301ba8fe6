"""Linear support vector machines as one optimisation problem with one dual.

Every hinge-like loss is a maximum over a multiplier beta in an interval, so that
classifiers and regressors are the same problem with different constants:

    P(w)    = 1/2 |w|^2 + sum_i max_{l_i <= b <= u_i} b e_i - eps |b| - c_i/2 b^2 (1)
    D(beta) = sum_i t_i beta_i - eps |beta_i| - c_i/2 beta_i^2 - 1/2 |v|^2       (2)
    e = t - A w,   v = A^T beta,   A = [X, s 1]

                                     t     l, u             c          eps
    hinge, y = 1 (-1)                y     0, C_i (-C_i, 0) 0          0
    squared hinge, y = 1 (-1)        y     0, inf (-inf, 0) 1/(2 C_i)  0
    epsilon-insensitive              y     -C_i, C_i        0          epsilon
    squared epsilon-insensitive      y     -inf, inf        1/(2 C_i)  epsilon

The last column of A, s times ones, makes the intercept s w_d, which is penalised with
the rest. For every w and every feasible beta D <= P, and with psi the maximum in (1)

    P(w) - D(beta) = sum_i [psi_i(e_i) - (beta_i e_i - eps |beta_i| - c_i/2 beta_i^2)]
                     + 1/2 |w - v|^2                                             (3)

a sum of terms of at least 0: how far each beta_i is from the best for its row, and
how far w is from v. Both are 0 at the optimum only. Since P is strongly convex, half
the squared distance of w to the optimum is at most the gap.

Solvers, all of which end at the same optimum:

    dual=True    coordinate descent on the dual, `dual_coordinate_descent.py`
    dual=False   Newton's method on the primal, `primal_newton.py`
    dual="auto"  Newton where a side of X is short enough for its systems to be
                 factored; else coordinate descent, which is hard to beat on sparse
                 rows, continued for a smooth loss by Newton if it takes long

Shapes    X (n, d)   t, l, u, c, e, beta (n,)   w, v (d + 1,) or (d,)
Refs      [Cortes1995] [Drucker1997] [Hsieh2008]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.drivers.iterate import Result
from ..core.drivers.progress import SILENT

NEWTON_SIDE = 600  # columns, or rows, up to which "auto" takes Newton
MAX_DUAL_PASSES = 200  # passes over the rows before Newton takes over


class SVMProblem(NamedTuple):
    """Eq. (1): the rows and the constants of the table."""

    X: Any  # (n, d), NumPy, CSR or an array-API tensor
    scale: float  # s, or 0 for no intercept
    target: Any  # t
    low: Any  # l
    high: Any  # u
    curve: Any  # c
    epsilon: float = 0.0

    @property
    def width(self):
        """Entries of w."""
        return int(self.X.shape[1]) + (self.scale > 0)

    @property
    def smooth(self):
        """Whether the loss has a gradient: every c_i is above 0."""
        return bool(self.curve[0] > 0)


class PrimalDualState(NamedTuple):
    """A primal point, a dual point and the gap between them."""

    w: np.ndarray
    beta: Any
    objective: float  # P(w)
    gap: float  # P(w) - D(beta)
    violation: float = 0.0  # of the conditions on beta, at most


def classification_problem(X, sign, C, *, squared, scale):
    """The problem of a classifier: signs +1 and -1 with costs C (n,)."""
    xp = arrays.namespace(X if arrays.is_foreign(X) else C)
    zero = xp.zeros_like(C)
    bound = zero + xp.inf if squared else C
    low = xp.where(sign > 0, zero, -bound)
    high = xp.where(sign > 0, bound, zero)
    return SVMProblem(X, scale, sign, low, high, 1 / (2 * C) if squared else zero)


def regression_problem(X, y, C, *, squared, scale, epsilon):
    """The problem of a regressor: targets y, costs C (n,) and a tube of epsilon."""
    xp = arrays.namespace(X if arrays.is_foreign(X) else C)
    zero = xp.zeros_like(C)
    bound = zero + xp.inf if squared else C
    curve = 1 / (2 * C) if squared else zero
    return SVMProblem(X, scale, y, -bound, bound, curve, epsilon)


def soft_threshold_rows(u, eps):
    """sign(u) max(|u| - eps, 0)."""
    if eps == 0:
        return u
    xp = arrays.namespace(u)
    return xp.sign(u) * xp.clip(xp.abs(u) - eps, 0, None)


def dual_terms(beta, e, curve, eps):
    """beta e - eps |beta| - c/2 beta^2, row by row."""
    terms = beta * (e - curve / 2 * beta)
    return terms - eps * abs(beta) if eps else terms


def svm_losses(e, low, high, curve, eps):
    """psi, the losses of the rows: the maximum in eq. (1)."""
    xp = arrays.namespace(e)
    u = soft_threshold_rows(e, eps)
    if curve.shape[0] and bool(curve[0] > 0):
        best = xp.clip(u / curve, low, high)
        return dual_terms(best, e, curve, eps)
    return xp.where(u > 0, u * high, u * low)


def svm_residuals(problem, w):
    """e = t - A w for NumPy and CSR rows."""
    X = problem.X
    s = problem.scale
    d = X.shape[1]
    f = X @ w[:d].astype(X.dtype) if not sp.issparse(X) else X @ w[:d]
    return problem.target - (f + s * w[d] if s else f)


def certified_state(problem, w, beta, v, violation=0.0) -> PrimalDualState:
    """Objective and gap, eqs. (1) to (3), at w and beta with v = A^T beta."""
    e = svm_residuals(problem, w)
    m = problem
    psi = svm_losses(e, m.low, m.high, m.curve, m.epsilon)
    primal = 0.5 * float(w @ w) + float(psi.sum())
    slack = float((psi - dual_terms(beta, e, m.curve, m.epsilon)).sum())
    gap = slack + 0.5 * float((w - v) @ (w - v))
    return PrimalDualState(w, beta, primal, gap, violation)


def restrict_to_rows(problem, index):
    """The problem of the rows `index` alone."""
    names = ("X", "target", "low", "high", "curve")
    return problem._replace(**{n: getattr(problem, n)[index] for n in names})


def solve_svm(problem, rng, *, dual, max_iter, tol, task=SILENT) -> Result:
    """Solve one problem; the state of the result is a `PrimalDualState`."""
    n, d = (int(size) for size in problem.X.shape)
    foreign = arrays.is_foreign(problem.X)
    if foreign and dual is True:
        raise ValueError("dual=True takes NumPy arrays and sparse matrices.")
    short = min(n, d) if not sp.issparse(problem.X) else d
    if foreign or dual is False or (dual == "auto" and short <= NEWTON_SIDE):
        return _solve_by_newton(problem, max_iter, tol, task)
    from .dual_coordinate_descent import minimise_dual

    hand_over = dual == "auto" and problem.smooth
    limit = min(max_iter, MAX_DUAL_PASSES) if hand_over else max_iter
    run = minimise_dual(problem, rng, max_iter=limit, tol=tol, task=task)
    if run.reason == "max_iter" and limit < max_iter:
        return _solve_by_newton(problem, max_iter, tol, task, run)
    s = run.state
    state = PrimalDualState(
        s.w[: problem.width], s.beta, s.objective, s.gap, s.violation
    )
    return run._replace(state=state)


def _solve_by_newton(problem, max_iter, tol, task, dual_run=None):
    """Newton's method, from the result of coordinate descent where there is one."""
    from .primal_newton import minimise_primal

    w = None if dual_run is None else dual_run.state.w[: problem.width]
    run = minimise_primal(problem, w=w, max_iter=max_iter, tol=tol, task=task)
    s = run.state
    spent = 0 if dual_run is None else dual_run.n_iter
    state = PrimalDualState(s.best, s.multipliers, s.objective, s.gap)
    return run._replace(state=state, n_iter=min(run.n_iter + spent, max_iter))


def coefficients_and_intercepts(states: Any, scale, d):
    """Coefficients W (k, d) and intercepts b (k,) of k states."""
    W = np.stack([s.w[:d] for s in states])
    if not scale:
        return W, np.zeros(len(W))
    return W, scale * np.array([s.w[d] for s in states])
