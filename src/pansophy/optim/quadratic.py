"""Convex quadratic programmes by a primal-dual interior-point method.

    minimise  1/2 x^T P x + q^T x                                                (1)
    subject to  A x = b,   G x <= h,   l <= x <= u

Bounds are rows of G. With slacks s = h - G x > 0 and multipliers nu, z > 0 the
optimum is where

    P x + q - A^T nu + G^T z = 0,   A x = b,   G x + s = h,   s_i z_i = 0        (2)

A step is Newton's on eq. (2) with s_i z_i = mu in place of 0, twice from one factor:
a first guess aims at mu = 0 and tells how much can be gained and what second-order
terms to expect, the second uses both. Steps stop short of the boundary. The gap is
s^T z at feasible points. At the end the constraints with z_i > s_i are taken as
equalities and eq. (2) is solved once more as a linear system, which gives the last
digits where it keeps the signs.

Time O((n + m)^3) a step, some 10 to 20 steps.

Shapes    P (n, n)   A (m, n)   G (k, n)   x, q, l, u (n,)   nu, b (m,)   z, s, h (k,)
Refs      [Mehrotra1992] [Nocedal2006] ch. 16
"""

from typing import NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, FitTask

SHORT = 0.995  # of the way to the boundary
RIDGE = 1e-13  # added to the diagonal of the system, in units of its size


class State(NamedTuple):
    """A point inside, its slacks and multipliers."""

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

    def state(self, x, nu, s, z) -> State:
        n, k, m = len(x), self.given, self.given + len(self.low)
        lower, upper = np.zeros((2, n))
        lower[self.low], upper[self.high] = z[k:m], z[m:]
        value = 0.5 * float(x @ self.P @ x) + float(self.q @ x)
        dual, equal, inside = self.residuals(x, nu, s, z)
        parts = [
            size(dual) / (1 + size(self.q)),
            size(equal) / (1 + size(self.b)),
            size(inside) / (1 + size(self.h)),
        ]
        gap = float(s @ z)
        return State(x, nu, z[:k], lower, upper, value, gap, max(parts), s, z)

    def residuals(self, x, nu, s, z):
        """Eq. (2) but for the products."""
        dual = self.P @ x + self.q - self.A.T @ nu + self.G.T @ z
        return dual, self.A @ x - self.b, self.G @ x + s - self.h


def size(v):
    return float(np.abs(v).max(initial=0.0))


def assemble(P, q, A, b, G, h, lower, upper) -> Programme:
    """Check shapes and put bounds among the rows of G."""
    q = np.atleast_1d(np.asarray(q, dtype=float))
    n = len(q)
    P = np.asarray(P, dtype=float)
    if P.shape != (n, n):
        raise ValueError(f"P must have shape {(n, n)} to go with q, got {P.shape}.")
    if size(P - P.T) > 1e-10 * (1 + size(P)):
        raise ValueError("P must be symmetric.")
    A, b = rows_of(A, b, n, "A", "b")
    G, h = rows_of(G, h, n, "G", "h")
    eye = np.eye(n)
    low_at = np.broadcast_to(-np.inf if lower is None else lower, (n,)).astype(float)
    u = np.broadcast_to(np.inf if upper is None else upper, (n,)).astype(float)
    if (low_at > u).any():
        raise ValueError(f"lower exceeds upper at x{int(np.argmax(low_at > u))}.")
    low, high = np.flatnonzero(np.isfinite(low_at)), np.flatnonzero(np.isfinite(u))
    whole = np.vstack([G, -eye[low], eye[high]])
    return Programme(
        P, q, A, b, whole, np.concatenate([h, -low_at[low], u[high]]), len(G), low, high
    )


def rows_of(M, v, n, name, side):
    """A matrix and its right side, or none of either."""
    if (M is None) != (v is None):
        raise ValueError(f"{name} and {side} go together.")
    if M is None:
        return np.zeros((0, n)), np.zeros(0)
    M, v = np.atleast_2d(np.asarray(M, float)), np.atleast_1d(np.asarray(v, float))
    if M.shape != (len(v), n):
        raise ValueError(
            f"{name} must have shape {(len(v), n)} to go with {side}, got {M.shape}."
        )
    return M, v


def factor(prog, w):
    """A function that solves the system of eq. (2) for the ratios w = z / s."""
    from scipy import linalg as sl

    n, m = len(prog.q), len(prog.b)
    H = prog.P + (prog.G.T * w) @ prog.G
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[n:, :n], K[:n, n:] = H, prog.A, -prog.A.T
    at = np.arange(n + m)
    K[at, at] += RIDGE * max(size(prog.P), 1.0)
    lu = sl.lu_factor(K, check_finite=False)
    return lambda right: sl.lu_solve(lu, right, check_finite=False)


def step(prog, t) -> State:
    """One predictor and corrector step."""
    x, nu, s, z = t.position, t.equality, t.slack, t.pressure
    n = len(x)
    dual, equal, inside = prog.residuals(x, nu, s, z)
    w = z / s if len(s) else z
    solve = factor(prog, w)

    def direction(products):
        """Newton's step where s z changes by -products."""
        push = prog.G.T @ ((products - z * inside) / s if len(s) else s)
        out = solve(np.concatenate([push - dual, -equal]))
        dx = out[:n]
        ds = -inside - prog.G @ dx
        dz = -(products + z * ds) / s if len(s) else s
        return dx, out[n:], ds, dz

    move = direction(s * z)
    if len(s):
        mu = float(s @ z) / len(s)
        near = reach(s, move[2], 1.0), reach(z, move[3], 1.0)
        ahead = float((s + near[0] * move[2]) @ (z + near[1] * move[3])) / len(s)
        aim = mu * (ahead / mu) ** 3 if mu > 0 else 0.0
        move = direction(s * z + move[2] * move[3] - aim)
    way = min(reach(s, move[2], SHORT), reach(z, move[3], SHORT))
    x, nu, s, z = (a + way * d for a, d in zip((x, nu, s, z), move, strict=True))
    return prog.state(x, nu, s, z)


def reach(v, d, share):
    """The longest step of at most 1 along d that keeps v > 0."""
    falls = d < 0
    if not falls.any():
        return 1.0
    return min(1.0, share * float(np.min(-v[falls] / d[falls])))


def begin(prog) -> State:
    """A start with slacks and multipliers well inside."""
    k = len(prog.h)
    out = factor(prog, np.ones(k))(np.concatenate([prog.G.T @ prog.h - prog.q, prog.b]))
    x, nu = out[: len(prog.q)], out[len(prog.q) :]
    r = prog.h - prog.G @ x
    away = lambda v: v + max(0.0, 1.0 - float(v.min(initial=1.0)))
    return prog.state(x, nu, away(r), away(-r))


def polish(prog, t) -> State:
    """Eq. (2) with the active rows as equalities, where that keeps all signs."""
    active = t.pressure > t.slack
    B = np.vstack([-prog.A, prog.G[active]])
    n, m = len(prog.q), len(B)
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[n:, :n], K[:n, n:] = prog.P, B, B.T
    right = np.concatenate([-prog.q, -prog.b, prog.h[active]])
    out = np.linalg.lstsq(K, right, rcond=1e-13)[0]
    z = np.zeros(len(prog.h))
    z[active] = out[n + len(prog.b) :]
    x, nu = out[:n], out[n : n + len(prog.b)]
    s = prog.h - prog.G @ x
    noise = 1e-9 * (1 + size(prog.h))
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
    """Minimise eq. (1) until the relative gap and residuals are at most tol.

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
    prog = assemble(P, q, A, b, G, h, lower, upper)

    def change(old, new):
        return max(new.residual, new.gap / (1 + abs(new.objective)))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        run = iterate(
            lambda t: step(prog, t),
            begin(prog),
            max_iter=max_iter,
            tol=tol,
            change=change,
            watch=("gap", "residual"),
            task=task,
        )
    if run.reason == "tolerance":
        run = run._replace(state=polish(prog, run.state))
    return run
