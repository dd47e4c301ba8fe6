"""Convex quadratic programmes by a primal-dual interior-point method.

    minimise  1/2 x^T P x + q^T x                                                (1)
    subject to  A x = b,   G x <= h,   l <= x <= u

Bounds are rows of G. With slacks s = h - G x > 0 and multipliers nu, z > 0 the
optimum is where

    P x + q - A^T nu + G^T z = 0,   A x = b,   G x + s = h,   s_i z_i = 0        (2)

A step is a Newton step on eq. (2) with s_i z_i = mu in place of 0, computed twice from
one factorisation: the predictor aims at mu = 0 and estimates the possible decrease and
the second-order terms; the corrector uses both. Steps stay inside the boundary. The
duality gap is s^T z at feasible points. At the end the constraints with z_i > s_i are
treated as equalities and eq. (2) is solved once more as a linear system; the result is
used if it has the right signs.

Time O((n + m)^3) per step, typically 10 to 20 steps.

Shapes    P (n, n)   A (m, n)   G (k, n)   x, q, l, u (n,)   nu, b (m,)   z, s, h (k,)
Refs      [Mehrotra1992] [Nocedal2006] ch. 16
"""

from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask

SHORT = 0.995  # of the way to the boundary
RIDGE = 1e-13  # added to the diagonal of the system, in units of its size


class QuadraticProgramState(NamedTuple):
    """An interior point with its slacks and multipliers."""

    position: np.ndarray  # x
    equality: np.ndarray  # nu
    inequality: np.ndarray  # z of G x <= h
    lower: np.ndarray  # z of l <= x
    upper: np.ndarray  # z of x <= u
    objective: float  # eq. (1)
    gap: float  # s^T z
    residual: float  # of eq. (2) but for s z, relatively
    slack: np.ndarray  # s of all rows
    pressure: np.ndarray  # z of all rows


class Programme(NamedTuple):
    """Eq. (1) with bounds among the rows of G."""

    P: np.ndarray
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    G: np.ndarray
    h: np.ndarray
    given: int  # rows of G that are not bounds
    low: np.ndarray  # coordinates with a lower bound
    high: np.ndarray

    def state(self, x, nu, s, z) -> QuadraticProgramState:
        """State with objective, gap and residual at a point."""
        k = self.given
        m = k + len(self.low)
        lower, upper = np.zeros((2, len(x)))
        lower[self.low] = z[k:m]
        upper[self.high] = z[m:]
        value = 0.5 * float(x @ self.P @ x) + float(self.q @ x)
        dual, equal, inside = self.residuals(x, nu, s, z)
        parts = [
            _largest_entry(dual) / (1 + _largest_entry(self.q)),
            _largest_entry(equal) / (1 + _largest_entry(self.b)),
            _largest_entry(inside) / (1 + _largest_entry(self.h)),
        ]
        gap = float(s @ z)
        return QuadraticProgramState(
            x, nu, z[:k], lower, upper, value, gap, max(parts), s, z
        )

    def residuals(self, x, nu, s, z):
        """Residuals of eq. (2) without the products s_i z_i."""
        dual = self.P @ x + self.q - self.A.T @ nu + self.G.T @ z
        return dual, self.A @ x - self.b, self.G @ x + s - self.h


def _largest_entry(v):
    """max |v_j|, 0 for an empty array."""
    return float(np.abs(v).max(initial=0.0))


def _assemble_program(P, q, A, b, G, h, lower, upper) -> Programme:
    """Check shapes and append the bounds to the rows of G."""
    q = np.atleast_1d(np.asarray(q, dtype=float))
    n = len(q)
    P = np.asarray(P, dtype=float)
    if P.shape != (n, n):
        raise ValueError(f"P must have shape {(n, n)} to go with q, got {P.shape}.")
    if _largest_entry(P - P.T) > 1e-10 * (1 + _largest_entry(P)):
        raise ValueError("P must be symmetric.")
    A, b = _matrix_and_right_side(A, b, n, "A", "b")
    G, h = _matrix_and_right_side(G, h, n, "G", "h")
    eye = np.eye(n)
    lb = np.broadcast_to(-np.inf if lower is None else lower, (n,)).astype(float)
    ub = np.broadcast_to(np.inf if upper is None else upper, (n,)).astype(float)
    if (lb > ub).any():
        raise ValueError(f"lower exceeds upper at x{int(np.argmax(lb > ub))}.")
    low = np.flatnonzero(np.isfinite(lb))
    high = np.flatnonzero(np.isfinite(ub))
    return Programme(
        P=P,
        q=q,
        A=A,
        b=b,
        G=np.vstack([G, -eye[low], eye[high]]),
        h=np.concatenate([h, -lb[low], ub[high]]),
        given=len(G),
        low=low,
        high=high,
    )


def _matrix_and_right_side(M, v, n, name, side):
    """A matrix and its right-hand side as arrays; empty ones if both are None."""
    if (M is None) != (v is None):
        raise ValueError(f"{name} and {side} go together.")
    if M is None:
        return np.zeros((0, n)), np.zeros(0)
    M = np.atleast_2d(np.asarray(M, float))
    v = np.atleast_1d(np.asarray(v, float))
    if M.shape != (len(v), n):
        raise ValueError(
            f"{name} must have shape {(len(v), n)} to go with {side}, got {M.shape}."
        )
    return M, v


def _kkt_solver(prog, w):
    """A function that solves the system of eq. (2) for the ratios w = z / s."""
    from scipy import linalg as sl

    n = len(prog.q)
    m = len(prog.b)
    K = np.zeros((n + m, n + m))
    K[:n, :n] = prog.P + (prog.G.T * w) @ prog.G
    K[n:, :n] = prog.A
    K[:n, n:] = -prog.A.T
    diagonal = np.arange(n + m)
    K[diagonal, diagonal] += RIDGE * max(_largest_entry(prog.P), 1.0)
    lu = sl.lu_factor(K, check_finite=False)
    return lambda right: sl.lu_solve(lu, right, check_finite=False)


def _predictor_corrector_step(prog, t) -> QuadraticProgramState:
    """One predictor-corrector step of Mehrotra."""
    x, nu, s, z = t.position, t.equality, t.slack, t.pressure
    n = len(x)
    dual, equal, inside = prog.residuals(x, nu, s, z)
    w = z / s if len(s) else z
    solve = _kkt_solver(prog, w)

    def direction(products):
        """Newton's step where s z changes by -products."""
        push = prog.G.T @ ((products - z * inside) / s if len(s) else s)
        newton_step = solve(np.concatenate([push - dual, -equal]))
        dx = newton_step[:n]
        ds = -inside - prog.G @ dx
        dz = -(products + z * ds) / s if len(s) else s
        return dx, newton_step[n:], ds, dz

    move = direction(s * z)
    if len(s):
        mu = float(s @ z) / len(s)
        near = (
            _longest_feasible_step(s, move[2], 1.0),
            _longest_feasible_step(z, move[3], 1.0),
        )
        ahead = float((s + near[0] * move[2]) @ (z + near[1] * move[3])) / len(s)
        aim = mu * (ahead / mu) ** 3 if mu > 0 else 0.0
        move = direction(s * z + move[2] * move[3] - aim)
    length = min(
        _longest_feasible_step(s, move[2], SHORT),
        _longest_feasible_step(z, move[3], SHORT),
    )
    x, nu, s, z = (a + length * d for a, d in zip((x, nu, s, z), move, strict=True))
    return prog.state(x, nu, s, z)


def _longest_feasible_step(v, d, share):
    """The longest step of at most 1 along d that keeps v > 0."""
    decreasing = d < 0
    if not decreasing.any():
        return 1.0
    return min(1.0, share * float(np.min(-v[decreasing] / d[decreasing])))


def _interior_start(prog) -> QuadraticProgramState:
    """Initial state with slacks and multipliers well inside the boundary."""
    k = len(prog.h)
    solution = _kkt_solver(prog, np.ones(k))(
        np.concatenate([prog.G.T @ prog.h - prog.q, prog.b])
    )
    x = solution[: len(prog.q)]
    nu = solution[len(prog.q) :]
    r = prog.h - prog.G @ x
    at_least_one = lambda v: v + max(0.0, 1.0 - float(v.min(initial=1.0)))
    return prog.state(x, nu, at_least_one(r), at_least_one(-r))


def _refine_on_active_rows(prog, t) -> QuadraticProgramState:
    """Solve eq. (2) with the active rows as equalities, if that keeps all signs."""
    active = t.pressure > t.slack
    B = np.vstack([-prog.A, prog.G[active]])
    n = len(prog.q)
    m = len(B)
    K = np.zeros((n + m, n + m))
    K[:n, :n] = prog.P
    K[n:, :n] = B
    K[:n, n:] = B.T
    right = np.concatenate([-prog.q, -prog.b, prog.h[active]])
    solution = np.linalg.lstsq(K, right, rcond=1e-13)[0]
    z = np.zeros(len(prog.h))
    z[active] = solution[n + len(prog.b) :]
    x = solution[:n]
    nu = solution[n : n + len(prog.b)]
    s = prog.h - prog.G @ x
    noise = 1e-9 * (1 + _largest_entry(prog.h))
    if z.min(initial=0.0) < -noise or s.min(initial=0.0) < -noise:
        return t
    new = prog.state(x, nu, np.maximum(s, 0.0), np.maximum(z, 0.0))
    better = new.residual + abs(new.gap) <= t.residual + abs(t.gap)
    return new if better else t


def quadratic_program(
    P,
    q,
    *,
    A=None,
    b=None,
    G=None,
    h=None,
    lower=None,
    upper=None,
    max_iter: int = 100,
    tol: float = 1e-9,
    task: FitTask = SILENT,
) -> Result:
    """Solve the quadratic programme (1) until relative gap and residuals are <= tol.

    The state of the result holds `position` and the multipliers `equality` (the rate
    at which the minimum rises with b), `inequality`, `lower` and `upper` (the rates
    at which it falls as these give way, at least 0), as in `kkt_residuals`. A programme
    without a feasible point, or without a lowest one, ends with reason "max_iter"
    or "diverged".

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> run = optim.quadratic_program(  # nearest point of a simplex
    ...     np.eye(2), [-2.0, 0.0], A=[[1.0, 1.0]], b=[1.0], lower=0.0
    ... )
    >>> run.state.position.round(6) + 0.0, run.state.equality.round(6)
    (array([1., 0.]), array([-1.]))
    """
    prog = _assemble_program(P, q, A, b, G, h, lower, upper)

    def change(old, new):
        return max(new.residual, new.gap / (1 + abs(new.objective)))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        run = iterate(
            lambda t: _predictor_corrector_step(prog, t),
            _interior_start(prog),
            max_iter=max_iter,
            tol=tol,
            change=change,
            watch=("gap", "residual"),
            task=task,
        )
    if run.reason == "tolerance":
        run = run._replace(state=_refine_on_active_rows(prog, run.state))
    return run
