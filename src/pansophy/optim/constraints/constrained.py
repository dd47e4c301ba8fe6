"""Minimise under constraints, with the KKT conditions reported at the answer.

`constrained` first runs SciPy (SLSQP, or an interior trust-region method for many
unknowns). It then refines the solution by `lagrange_newton` on the active constraints:
Newton steps on the stationarity of the Lagrangian,

    [ W   -J^T ] [dx]     [ grad f ]
    [ J    0   ] [p ] = - [   h    ],     W = Hessian of L at x, p               (1)

in x and the multipliers p of h(x) = 0. Each step solves a quadratic problem with linear
constraints. Where W is not positive definite along the constraints it is shifted, so
that the solution is a minimum; steps are shortened until the merit function

    f(x) + m |h(x)|_1,     m > max |p_j|                                         (2)

decreases. A refined point whose KKT residuals are larger is discarded.

Shapes    x (d,)   h, p (m,)   J (m, d)   W (d, d)
Refs      [Nocedal2006] ch. 18; [Kraft1988] SLSQP; [Boyd2004] ch. 5
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...core.drivers.iterate import Result, StopReason, iterate
from ...core.drivers.progress import SILENT, FitTask
from ..numeric_derivatives import numeric_gradient, numeric_jacobian
from .duality import (
    KKT,
    bounds_array,
    bounds_as_constraints,
    equality_constraint,
    evaluate_constraints,
    kkt_residuals,
)

MANY = 300  # unknowns from which the trust-region method is preferred


class ConstrainedState(NamedTuple):
    """Solution of `constrained` with its multipliers and KKT residuals."""

    position: np.ndarray  # x
    objective: float  # f
    prices: tuple[np.ndarray, np.ndarray]  # p of equalities, a of inequalities
    kkt: KKT | None = None


class LagrangePoint(NamedTuple):
    """One step of `lagrange_newton`."""

    position: np.ndarray  # x
    objective: float  # f
    prices: np.ndarray  # p
    error: float  # the larger of |grad L| and |h|


def lagrange_newton(
    f: Callable,
    x,
    constraints,
    *,
    gradient: Callable | None = None,
    max_iter: int = 100,
    tol: float = 1e-9,
    task: FitTask = SILENT,
) -> Result:
    """The minimum of f(x) -> number under h(x) = 0, and its multipliers, eq. (1).

    `constraints` are functions h(x) or `optim.equality_constraint` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> on_a_line = lambda x: x.sum() - 1
    >>> run = optim.lagrange_newton(lambda x: x @ x, np.zeros(2), [on_a_line])
    >>> run.state.position.round(6), run.state.prices.round(6), round(run.objective, 6)
    (array([0.5, 0.5]), array([1.]), 0.5)
    """
    x = np.array(x, dtype=float)
    equalities = [
        c if hasattr(c, "equality") else equality_constraint(c) for c in constraints
    ]
    if not all(c.equality for c in equalities):
        raise ValueError("lagrange takes equalities; see constrained for the rest.")
    grad_f = gradient or (lambda u: numeric_gradient(f, u))
    grad_L = lambda u, p: grad_f(u) - evaluate_constraints(equalities, u).Jh.T @ p

    def state(x, p=None) -> LagrangePoint:
        values = evaluate_constraints(equalities, x)
        g = grad_f(x)
        p = np.linalg.lstsq(values.Jh.T, g, rcond=None)[0] if p is None else p
        error = max(
            _largest_magnitude(g - values.Jh.T @ p), _largest_magnitude(values.h)
        )
        return LagrangePoint(x, float(f(x)), p, error)

    def step(s):
        values = evaluate_constraints(equalities, s.position)
        g = grad_f(s.position)
        W = numeric_jacobian(lambda u: grad_L(u, s.prices), s.position)
        dx, p = _newton_pair((W + W.T) / 2, values.Jh, g, values.h)
        return _merit_line_search(equalities, state, s, dx, p, g @ dx, values.h)

    change = lambda old, new: new.error
    run = iterate(step, state(x), max_iter=max_iter, tol=tol, change=change, task=task)
    stuck = run.reason == "tolerance" and run.state.error > tol
    return run._replace(reason=StopReason.STALLED) if stuck else run


def _largest_magnitude(v) -> float:
    """max |v_j|, 0 for an empty array."""
    return float(np.max(np.abs(v), initial=0.0))


def _newton_pair(W, J, g, h):
    """Newton step dx and multipliers p of eq. (1).

    W is shifted to be positive definite on the null space of J.
    """
    Z = scipy.linalg.null_space(J) if len(J) else np.eye(len(g))
    low = np.linalg.eigvalsh(Z.T @ W @ Z)[0] if Z.shape[1] else 1.0
    floor = 1e-8 * max(_largest_magnitude(W), 1.0)
    if low < floor:
        W = W + (floor - low + 1e-3 * max(_largest_magnitude(W), 1.0)) * np.eye(len(g))
    m = len(J)
    A = np.block([[W, -J.T], [J, np.zeros((m, m))]])
    solution = np.linalg.lstsq(A, -np.concatenate([g, h]), rcond=None)[0]
    return solution[: len(g)], solution[len(g) :]


def _merit_line_search(equalities, state, s, dx, p, along, h) -> LagrangePoint:
    """The longest of dx, dx/2, ... that lowers the merit (2), or halves the error."""
    m = 2 * max(_largest_magnitude(p), _largest_magnitude(s.prices)) + 1e-8

    def infeasibility(x):
        return float(np.sum(np.abs(evaluate_constraints(equalities, x).h)))

    start = s.objective + m * infeasibility(s.position)
    fall = along - m * float(abs(h).sum())
    t = 1.0
    for _ in range(40):
        x = s.position + t * dx
        new = state(x, s.prices + t * (p - s.prices))
        merit = new.objective + m * infeasibility(x)
        lower = merit <= start + 1e-4 * t * min(fall, 0.0)
        if (lower and np.isfinite(new.objective)) or new.error <= s.error / 2:
            return new
        t /= 2
    return s._replace(error=s.error)


def constrained(
    f: Callable,
    x,
    constraints=(),
    *,
    gradient: Callable | None = None,
    bounds=None,
    method: str = "auto",
    max_iter: int = 1000,
    tol: float = 1e-8,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f(x) -> number under equalities, inequalities and bounds.

    Parameters
    ----------
    f : function of x (d,)
    x : array (d,)
        Start; need not be feasible.
    constraints : sequence
        Of `optim.equality_constraint(h)` and `optim.inequality_constraint(g)`.
    gradient : function of x, optional
        Central differences if None.
    bounds : pairs (low, high), optional
        One per coordinate or one for all; None for no bound.
    method : {"auto", "slsqp", "trust-constr"}
    max_iter : int
    tol : float
        For the worst KKT residual; a run that ends above it has the reason "kkt".
    task : Task

    Returns
    -------
    Result
        `state.prices` are p and a of `optim.constraints.duality`; `state.kkt` the
        residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2
    >>> disc = optim.inequality_constraint(lambda x: x @ x - 1)
    >>> run = optim.constrained(f, np.zeros(2), [disc])
    >>> run.state.position.round(6), run.converged, bool(run.state.kkt.worst < 1e-8)
    (array([0.894427, 0.447214]), True, True)
    """
    if method not in ("auto", "slsqp", "trust-constr"):
        raise ValueError(
            f"method must be 'auto', 'slsqp' or 'trust-constr', got {method!r}."
        )
    x = np.array(x, dtype=float)
    if method == "auto":
        method = "slsqp" if len(x) < MANY else "trust-constr"
    started = time.perf_counter()
    grad_f = gradient or (lambda u: numeric_gradient(f, u))
    solution, trace, reason = _by_scipy(
        f, x, constraints, grad_f, bounds, method, max_iter, tol, task
    )
    all_constraints = [*constraints, *bounds_as_constraints(bounds, len(x))]
    kkt = kkt_residuals(f, solution, all_constraints, gradient=grad_f)
    if reason != "interrupted" and kkt.worst > tol / 100:
        solution, kkt = _refine_on_active_set(f, solution, all_constraints, grad_f, kkt)
    if reason == "tolerance" and kkt.worst > tol:
        reason = "kkt"
    elif reason == "max_iter" and kkt.worst <= tol:
        reason = "tolerance"
    state = ConstrainedState(solution, float(f(solution)), kkt.prices, kkt)
    trace = np.asarray([*trace, state.objective])
    seconds = time.perf_counter() - started
    return Result(state, len(trace), reason, {"objective": trace}, seconds)


def _by_scipy(f, x, constraints, gradient, bounds, method, max_iter, tol, task):
    """SciPy's solution, the objective after each step, and the reason for stopping."""
    from scipy.optimize import minimize

    scipy_constraint = lambda c: {  # SciPy wants inequalities as g(x) >= 0
        "type": "eq" if c.equality else "ineq",
        "fun": c.value if c.equality else lambda u: -c.value(u),
        "jac": c.slope if c.equality else lambda u: -c.slope(u),
    }
    last = x
    trace = []
    stopped = False

    def after_step(u, *_):
        nonlocal last, stopped
        last = np.array(u)
        trace.append(float(f(last)))
        child = task.child(f"step {len(trace)}")
        if child.end(ConstrainedState(last, trace[-1], ((), ()))):
            stopped = True
            raise StopIteration

    box = None if bounds is None else bounds_array(bounds, len(x))
    options = {"maxiter": max_iter}
    options |= {"ftol": min(tol, 1e-9) ** 1.5} if method == "slsqp" else {"gtol": tol}
    try:
        with warnings.catch_warnings():  # of SciPy, about linear functions and rounding
            warnings.simplefilter("ignore")
            solution = minimize(
                f,
                x,
                jac=gradient,
                method=method,
                bounds=box,
                constraints=[scipy_constraint(c) for c in constraints],
                callback=after_step,
                options=options,
            )
    except KeyboardInterrupt:
        return last, trace, "interrupted"
    if stopped:
        return last, trace, "callback"
    return solution.x, trace, "max_iter" if solution.nit >= max_iter else "tolerance"


def _refine_on_active_set(f, x, constraints, gradient, kkt):
    """x and its KKT residuals after `lagrange_newton` on the active constraints.

    Active constraints hold with equality and have a positive multiplier.
    """
    g = evaluate_constraints(constraints, x).g
    a = kkt.prices[1]
    active = np.flatnonzero((g >= -1e-6) & (a > 1e-12))
    equalities = [c for c in constraints if c.equality]
    if len(active):
        inequalities = [c for c in constraints if not c.equality]
        equalities.append(
            equality_constraint(
                lambda u: evaluate_constraints(inequalities, u).g[active],
                lambda u: evaluate_constraints(inequalities, u).Jg[active],
            )
        )
    try:
        run = lagrange_newton(
            f, x, equalities, gradient=gradient, max_iter=20, tol=1e-13
        )
    except np.linalg.LinAlgError:
        return x, kkt
    refined = kkt_residuals(f, run.state.position, constraints, gradient=gradient)
    return (run.state.position, refined) if refined.worst < kkt.worst else (x, kkt)
