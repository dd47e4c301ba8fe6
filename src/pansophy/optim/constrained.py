"""Minimise under constraints, with the KKT conditions reported at the answer.

`constrained` lets SciPy find the neighbourhood (SLSQP, or an interior trust-region
method for many unknowns), takes the constraints that hold there with equality, and
polishes by `lagrange`: Newton steps on the stationarity of the Lagrangian,

    [ W   -J^T ] [dx]     [ grad f ]
    [ J    0   ] [p ] = - [   h    ],     W = Hessian of L at x, p               (1)

eq. (1) in x and the prices p of h(x) = 0, one step of which solves a quadratic with
linear constraints. Where W is not positive along the constraints it is shifted until
it is, so that the answer is a minimum; steps are shortened until the merit

    f(x) + m |h(x)|_1,     m > max |p_j|                                         (2)

falls. An answer of the polish that meets the conditions less well is dropped.

Shapes    x (d,)   h, p (m,)   J (m, d)   W (d, d)
Refs      [Nocedal2006] ch. 18; [Kraft1988] SLSQP; [Boyd2004] ch. 5
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, FitTask
from .check import numeric_gradient, numeric_jacobian
from .duality import KKT, between, equal, kkt_residuals, limits, parts

MANY = 300  # unknowns from which the trust-region method is preferred


class State(NamedTuple):
    position: np.ndarray  # x
    objective: float  # f
    prices: tuple[np.ndarray, np.ndarray]  # p of equalities, a of inequalities
    kkt: KKT | None = None


class Point(NamedTuple):
    """One step of `lagrange`."""

    position: np.ndarray  # x
    objective: float  # f
    prices: np.ndarray  # p
    error: float  # the larger of |grad L| and |h|


def lagrange(
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

    `constraints` are functions h(x) or `optim.equal` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> run = optim.lagrange(lambda x: x @ x, np.zeros(2), [lambda x: x.sum() - 1])
    >>> run.state.position.round(6), run.state.prices.round(6), round(run.objective, 6)
    (array([0.5, 0.5]), array([1.]), 0.5)
    """
    x = np.array(x, dtype=float)
    held = [c if hasattr(c, "equality") else equal(c) for c in constraints]
    if not all(c.equality for c in held):
        raise ValueError("lagrange takes equalities; see constrained for the rest.")
    down = gradient or (lambda u: numeric_gradient(f, u))
    slope = lambda u, p: down(u) - parts(held, u).Jh.T @ p

    def state(x, p=None) -> Point:
        here = parts(held, x)
        g = down(x)
        p = np.linalg.lstsq(here.Jh.T, g, rcond=None)[0] if p is None else p
        error = max(size(g - here.Jh.T @ p), size(here.h))
        return Point(x, float(f(x)), p, error)

    def step(s):
        here = parts(held, s.position)
        g = down(s.position)
        W = numeric_jacobian(lambda u: slope(u, s.prices), s.position)
        dx, p = newton_pair((W + W.T) / 2, here.Jh, g, here.h)
        return shorten(f, held, state, s, dx, p, g @ dx, here.h)

    change = lambda old, new: new.error
    how = {"max_iter": max_iter, "tol": tol, "change": change, "task": task}
    run = iterate(step, state(x), **how)
    stuck = run.reason == "tolerance" and run.state.error > tol
    return run._replace(reason="stalled") if stuck else run


def size(v) -> float:
    return float(np.max(np.abs(v), initial=0.0))


def newton_pair(W, J, g, h):
    """dx and p of eq. (1), W shifted to be positive on the null space of J."""
    Z = scipy.linalg.null_space(J) if len(J) else np.eye(len(g))
    low = np.linalg.eigvalsh(Z.T @ W @ Z)[0] if Z.shape[1] else 1.0
    floor = 1e-8 * max(size(W), 1.0)
    if low < floor:
        W = W + (floor - low + 1e-3 * max(size(W), 1.0)) * np.eye(len(g))
    m = len(J)
    A = np.block([[W, -J.T], [J, np.zeros((m, m))]])
    out = np.linalg.lstsq(A, -np.concatenate([g, h]), rcond=None)[0]
    return out[: len(g)], out[len(g) :]


def shorten(f, held, state, s, dx, p, along, h) -> Point:
    """The longest of dx, dx/2, ... that lowers eq. (2), or halves the error."""
    m = 2 * max(size(p), size(s.prices)) + 1e-8
    miss = lambda x: float(np.sum(np.abs(parts(held, x).h)))
    start, fall = s.objective + m * miss(s.position), along - m * float(abs(h).sum())
    t = 1.0
    for _ in range(40):
        x = s.position + t * dx
        new = state(x, s.prices + t * (p - s.prices))
        lower = new.objective + m * miss(x) <= start + 1e-4 * t * min(fall, 0.0)
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
    """Minimise f(x) -> number under `optim.equal`, `optim.at_most` and bounds.

    Parameters
    ----------
    f : function of x (d,)
    x : array (d,)
        Start; need not be feasible.
    constraints : sequence of `optim.equal(h)` and `optim.at_most(g)`
    gradient : function of x; central differences if None
    bounds : pairs (low, high), one per coordinate or one for all; None for no bound
    method : {"auto", "slsqp", "trust-constr"}
    max_iter, tol
        tol is for the worst KKT residual; a run that ends above it has the reason
        "kkt".
    task : Task

    Returns
    -------
    Result
        `state.prices` are p and a of `optim.duality`; `state.kkt` the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2
    >>> disc = optim.at_most(lambda x: x @ x - 1)
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
    begun = time.perf_counter()
    down = gradient or (lambda u: numeric_gradient(f, u))
    found, trace, reason = by_scipy(
        f, x, constraints, down, bounds, method, max_iter, tol, task
    )
    every = [*constraints, *between(bounds, len(x))]
    judge = lambda u: kkt_residuals(f, u, every, gradient=down)
    kkt = judge(found)
    if reason != "interrupted" and kkt.worst > tol / 100:
        found, kkt = polish(f, found, every, down, judge, kkt)
    if reason == "tolerance" and kkt.worst > tol:
        reason = "kkt"
    elif reason == "max_iter" and kkt.worst <= tol:
        reason = "tolerance"
    state = State(found, float(f(found)), kkt.prices, kkt)
    trace = np.asarray([*trace, state.objective])
    seconds = time.perf_counter() - begun
    return Result(state, len(trace), reason, {"objective": trace}, seconds)


def by_scipy(f, x, constraints, down, bounds, method, max_iter, tol, task):
    """SciPy's answer, the objective after each step, and why it stopped."""
    from scipy.optimize import minimize

    flip = lambda c: {
        "type": "eq" if c.equality else "ineq",
        "fun": c.value if c.equality else lambda u: -c.value(u),
        "jac": c.slope if c.equality else lambda u: -c.slope(u),
    }
    last, trace, told = [x], [], []

    def heard(u, *_):
        last[0] = np.array(u)
        trace.append(float(f(last[0])))
        child = task.child(f"step {len(trace)}")
        if child.end(State(last[0], trace[-1], ((), ()))):
            told.append(True)
            raise StopIteration

    box = None if bounds is None else limits(bounds, len(x))
    options = {"maxiter": max_iter}
    options |= {"ftol": min(tol, 1e-9) ** 1.5} if method == "slsqp" else {"gtol": tol}
    how = {"jac": down, "method": method, "bounds": box, "options": options}
    try:
        with warnings.catch_warnings():  # SciPy's, of linear functions and rounding
            warnings.simplefilter("ignore")
            rules = [flip(c) for c in constraints]
            out = minimize(f, x, constraints=rules, callback=heard, **how)
    except KeyboardInterrupt:
        return last[0], trace, "interrupted"
    if told:
        return last[0], trace, "callback"
    return out.x, trace, "max_iter" if out.nit >= max_iter else "tolerance"


def polish(f, x, constraints, down, judge, kkt):
    """`lagrange` on the constraints that are active and have a price."""
    g, a = parts(constraints, x).g, kkt.prices[1]
    active = np.flatnonzero((g >= -1e-6) & (a > 1e-12))
    held = [c for c in constraints if c.equality]
    if len(active):
        inner = [c for c in constraints if not c.equality]
        held.append(
            equal(
                lambda u: parts(inner, u).g[active],
                lambda u: parts(inner, u).Jg[active],
            )
        )
    try:
        run = lagrange(f, x, held, gradient=down, max_iter=20, tol=1e-13)
    except np.linalg.LinAlgError:
        return x, kkt
    better = judge(run.state.position)
    return (run.state.position, better) if better.worst < kkt.worst else (x, kkt)
