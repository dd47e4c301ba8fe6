"""The linear program of quantile regression: interior point, then an exact vertex.

With rows a_i, targets y_i and slopes -l_i >= 0 below and h_i >= 0 above a target,

    minimise over x   sum_i h_i max(r_i, 0) - l_i max(-r_i, 0),   r = y - A x    (1)
    maximise over u   y^T u   with  A^T u = 0,  l <= u <= h                      (2)

are dual to each other. A quantile tau with weights w has h = tau w, l = -(1 - tau) w,
and a term c |x_j| is a row e_j with target 0, h = c, l = -c; such rows are kept apart
so that X is not copied. With a = u - l, s = h - u and r = v - z, v, z >= 0, the gap
between (1) and (2) is a z + s v. Newton's method on a z = s v = m, m -> 0, costs one

    A^T diag(q) A,   q = 1 / (z/a + v/s)                                         (3)

a step, with a predictor and a corrector from the same factor. About twenty steps do
for any n. u = 0 is a start that satisfies (2).

The solution of a linear program is a vertex: as many rows as x has entries are fitted
exactly. `simplex_from_basis` takes the rows whose u is furthest inside its limits and
solves for x and u; while some u is outside its limits, it moves along the edge on which
that row is released to the best point there, as the simplex method does. Then the gap
is 0, and coefficients that should be 0 are 0.

With many rows, a fit to a part of them predicts the sign of most residuals
(`solve_reduced`): these rows keep u = l or h and enter the problem only through one
sum. A wrong sign is detected at the end and corrected.

Shapes    X (n, d)   x (p,), intercept last   u, y, r (n + k,)
Refs      [Koenker1978] [Portnoy1997] the interior point and the reduction;
          [Mehrotra1992] predictor and corrector; [Barrodale1973] the edges
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...core.arrays import rows
from ...core.drivers.iterate import iterate
from ...core.drivers.progress import SILENT
from ...core.linalg.linalg import cholesky, solve_cholesky
from ..risk import weighted_second_moments

BOUNDARY_FRACTION = 0.9995  # of the step to the nearest limit
MAX_PIVOTS = 2000
SINGLE_THREAD_ENTRIES = 200_000  # entries of X up to which one thread is used
REDUCTION_ROWS = 10_000  # rows above which the problem is reduced first


class PinballProgram(NamedTuple):
    """A of eq. (1): rows (x_i, 1) of X, then k rows e_j; with y, l and h."""

    X: Any
    penalised: np.ndarray  # the j of the last rows
    y: np.ndarray
    l: np.ndarray  # noqa: E741
    h: np.ndarray
    intercept: bool

    @property
    def p(self):
        return self.X.shape[1] + self.intercept

    def matvec(self, x):
        """A x."""
        d = self.X.shape[1]
        f = self.X @ x[:d]
        f = f + x[d] if self.intercept else f
        return np.concatenate([f, x[self.penalised]])

    def rmatvec(self, u):
        """A^T u."""
        n, d = self.X.shape
        g = np.empty(self.p)
        g[:d] = self.X.T @ u[:n]
        if self.intercept:
            g[d] = u[:n].sum()
        g[self.penalised] += u[n:]
        return g

    def gram(self, q):
        """Eq. (3)."""
        n = self.X.shape[0]
        H = rows.Rows(self.X, q[:n], block=program_block_rows(self.X)).sum(
            weighted_second_moments
        )
        H = H[: self.p, : self.p]
        H[self.penalised, self.penalised] += q[n:]
        return H

    def dense_rows(self, index):
        """Rows `index` of A as a dense matrix."""
        n, d = self.X.shape
        index = np.asarray(index)
        out = np.zeros((len(index), self.p))
        of_X = index < n
        rows_of_X = self.X[index[of_X]]
        out[of_X, :d] = rows_of_X.toarray() if sp.issparse(rows_of_X) else rows_of_X
        if self.intercept:
            out[of_X, d] = 1.0
        out[np.flatnonzero(~of_X), self.penalised[index[~of_X] - n]] = 1.0
        return out

    def value(self, r):
        """Eq. (1) at residuals r."""
        return float(self.h @ np.maximum(r, 0) + self.l @ np.minimum(r, 0))


def program_block_rows(X):
    """Rows of a block of X: a few large ones, one if X is small."""
    return (
        max(2048, -(-X.shape[0] // 8))
        if X.shape[0] * X.shape[1] > SINGLE_THREAD_ENTRIES
        else None
    )


class InteriorPoint(NamedTuple):
    """A point strictly inside all limits."""

    x: np.ndarray
    a: np.ndarray  # u - l
    s: np.ndarray  # h - u
    z: np.ndarray
    v: np.ndarray
    objective: float  # eq. (1)
    gap: float  # a z + s v


def step_to_boundary(x, dx):
    """The largest t up to 1 for which x + t dx stays above 0, with a margin."""
    down = dx < 0
    if not down.any():
        return 1.0
    return min(1.0, BOUNDARY_FRACTION * float(np.min(-x[down] / dx[down])))


def initial_interior_point(P: PinballProgram) -> InteriorPoint:
    """u = 0 with x of least squares, and v, z a little above the residuals."""
    w = P.h - P.l
    x = solve_normal_equations(P.gram(w), P.rmatvec(w * P.y))
    r = P.y - P.matvec(x)
    size = np.abs(r)
    margin = 0.1 * float(w @ size) / w.sum() + 1e-8 * (1 + np.abs(P.y).max())
    v = np.maximum(r, 0) + margin
    z = np.maximum(-r, 0) + margin
    return InteriorPoint(
        x, -P.l, P.h.copy(), z, v, P.value(r), float(-P.l @ z + P.h @ v)
    )


def solve_normal_equations(G, g):
    """G^-1 g, with jitter where columns are dependent."""
    return solve_cholesky(cholesky(G)[0], g)


def predictor_corrector_step(P: PinballProgram, state: InteriorPoint) -> InteriorPoint:
    """One predictor-corrector step, eq. (3)."""
    x, a, s, z, v = state[:5]
    r = P.y - P.matvec(x)
    lost = -P.rmatvec(a + P.l)  # 0 but for rounding
    off = r - (v - z)
    q = 1 / (z / a + v / s)
    L = cholesky(P.gram(q))[0]

    def solve(right):
        dx = solve_cholesky(L, P.rmatvec(q * right) - lost)
        return dx, q * (right - P.matvec(dx))

    dx, da = solve(r)
    dz = -z - z * da / a
    dv = -v + v * da / s
    near = min(step_to_boundary(a, da), step_to_boundary(s, -da))
    far = min(step_to_boundary(z, dz), step_to_boundary(v, dv))
    gap = float(a @ z + s @ v)
    left = float((a + near * da) @ (z + far * dz) + (s - near * da) @ (v + far * dv))
    m = (left / gap) ** 2 * left / (2 * len(a))
    up = (m - da * dz) / a - z
    down = (m + da * dv) / s - v
    dx, da = solve(off - down + up)
    dz = up - z * da / a
    dv = down + v * da / s
    near = min(step_to_boundary(a, da), step_to_boundary(s, -da))
    far = min(step_to_boundary(z, dz), step_to_boundary(v, dv))
    x = x + far * dx
    a = a + near * da
    s = s - near * da
    z = z + far * dz
    v = v + far * dv
    value = P.value(P.y - P.matvec(x))
    return InteriorPoint(x, a, s, z, v, value, float(a @ z + s @ v))


class PinballVertex(NamedTuple):
    """A vertex: p rows fitted exactly, with its x and u."""

    basis: np.ndarray
    x: np.ndarray
    r: np.ndarray
    up: np.ndarray  # whether u = h outside the basis, else u = l
    u: np.ndarray  # of the basis
    gap: float  # eq. (1) less eq. (2)


def vertex_of_basis(P: PinballProgram, basis, up=None) -> PinballVertex:
    """x from the rows of the basis; u by `up` for the rest, then by A^T u = 0."""
    B = P.dense_rows(basis)
    x = np.linalg.solve(B, P.y[basis])
    x[P.penalised[basis[basis >= P.X.shape[0]] - P.X.shape[0]]] = 0.0
    r = P.y - P.matvec(x)
    r[np.abs(r) <= 1e-13 * (np.abs(P.y) + np.abs(r - P.y))] = 0.0
    r[basis] = 0.0
    up = r > 0 if up is None else np.where(r == 0, up, r > 0)
    u = np.where(up, P.h, P.l)
    u[basis] = 0.0
    inner = np.linalg.solve(B.T, -P.rmatvec(u))
    u[basis] = inner
    return PinballVertex(basis, x, r, up, inner, abs(P.value(r) - float(P.y @ u)))


def initial_basis(P: PinballProgram, inside):
    """p independent rows, those furthest inside their limits first; else None."""
    m = min(len(inside), 3 * P.p + 10)
    order = np.argpartition(-inside, m - 1)[:m] if m < len(inside) else np.arange(m)
    order = order[np.argsort(-inside[order])]
    rows = P.dense_rows(order)
    # scaled so that pivoting prefers rows that are well inside
    weight = np.sqrt(np.maximum(inside[order], 1e-300))
    T, pivot = scipy.linalg.qr((rows * weight[:, None]).T, mode="r", pivoting=True)
    size = np.abs(np.diagonal(T))
    if len(size) < P.p or size[-1] <= 1e-12 * size[0]:
        T, pivot = scipy.linalg.qr(rows.T, mode="r", pivoting=True)
        size = np.abs(np.diagonal(T))
        if len(size) < P.p or size[-1] <= 1e-10 * size[0]:
            return None
    return order[pivot[: P.p]]


def simplex_from_basis(P: PinballProgram, inside) -> PinballVertex | None:
    """Simplex pivots from the vertex that `inside` suggests to the optimal one."""
    basis = initial_basis(P, inside)
    if basis is None:
        return None
    small = 1e-9 * float(np.max(P.h - P.l))
    at = vertex_of_basis(P, basis)
    for _ in range(MAX_PIVOTS):
        low, high = P.l[at.basis], P.h[at.basis]
        out = np.maximum(low - at.u, at.u - high)
        k = int(np.argmax(out))
        if out[k] <= small:
            return at
        new = pivot_along_edge(P, at, k, float(out[k]), up=bool(at.u[k] > high[k]))
        if new is None or P.value(new.r) > P.value(at.r) * (1 + 1e-12) + small:
            return None
        at = new
    return None


def pivot_along_edge(
    P: PinballProgram, at: PinballVertex, k, slope, *, up
) -> PinballVertex | None:
    """The vertex where eq. (1) stops falling when r_k is released, upwards or not.

    Along x + t dx eq. (1) falls by `slope` a unit of t at first, then by
    (h - l)_i |df_i| less after every row i whose residual r_i - t df_i has passed 0.
    """
    e = np.zeros(P.p)
    e[k] = -1.0 if up else 1.0
    df = P.matvec(np.linalg.solve(P.dense_rows(at.basis), e))
    df[at.basis] = 0.0
    ahead = np.flatnonzero(np.where(at.up, df > 0, df < 0))
    if len(ahead) == 0:
        return None
    t = np.maximum(at.r[ahead] / df[ahead], 0.0)
    order = ahead[np.argsort(t, kind="stable")]
    gain = np.cumsum(np.abs(df[order]) * (P.h - P.l)[order])
    stop = min(int(np.searchsorted(gain, slope)), len(order) - 1)
    now = at.up.copy()
    now[order[:stop]] = ~now[order[:stop]]
    now[at.basis[k]] = up
    basis = at.basis.copy()
    basis[k] = order[stop]
    return vertex_of_basis(P, basis, now)


def interior_point(P: PinballProgram, *, max_iter=100, tol=1e-8, task=SILENT):
    """Predictor-corrector steps until the gap is at most tol of eq. (1)."""
    start = initial_interior_point(P)
    # a share of the first gap, for fits whose eq. (1) is 0
    floor = 1e-6 * start.gap + 1e-13 * float((P.h - P.l) @ np.abs(P.y)) + 1e-300
    return iterate(
        lambda state: predictor_corrector_step(P, state),
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.gap / (floor + abs(new.objective)),
        watch=("gap",),
        task=task,
    )


class PinballSolution(NamedTuple):
    """The best x that was found, its gap and the run of the interior point."""

    x: np.ndarray
    gap: float  # of eq. (1) over eq. (2)
    exact: bool  # whether x is a vertex with u within all limits
    run: Any  # of `interior_point`


def solve_pinball(
    P: PinballProgram, *, max_iter=100, tol=1e-8, task=SILENT
) -> PinballSolution:
    """Minimise eq. (1)."""
    n = P.X.shape[0]
    p = P.p
    part = first_sample_size(n, p)
    if n > REDUCTION_ROWS and 4 * part < n:
        result = solve_reduced(P, part, max_iter=max_iter, tol=tol, task=task)
        if result is not None:
            return result
    run = interior_point(P, max_iter=max_iter, tol=tol, task=task)
    state = run.state
    at = simplex_from_basis(P, np.minimum(state.a, state.s))
    if at is None or P.value(at.r) > state.objective * (1 + 1e-12):
        return PinballSolution(state.x, state.gap, False, run)
    return PinballSolution(at.x, at.gap, True, run)


def first_sample_size(n, p):
    """Rows of the first part, of the order that balances the two fits."""
    return int(2 * (p * n) ** (2 / 3) / p ** (1 / 3)) + 20 * p


def solve_reduced(
    P: PinballProgram, part, *, max_iter, tol, task=SILENT
) -> PinballSolution | None:
    """Fit a part, then all rows with those of predicted sign in two sums."""
    n = P.X.shape[0]
    every = np.linspace(0, n - 1, part).astype(int)
    first = pinball_subproblem(P, every, share=part / n)
    x = interior_point(first, tol=1e-4, max_iter=max_iter).state.x
    keep = np.zeros(n, dtype=bool)
    r = P.y[:n] - P.matvec(x)[:n]
    keep[np.argpartition(np.abs(r), part)[:part]] = True
    above = r > 0
    for _ in range(8):
        small = pinball_subproblem(
            P, np.flatnonzero(keep), sums=(above & ~keep, ~above & ~keep)
        )
        result = solve_pinball(small, max_iter=max_iter, tol=tol, task=task)
        r = P.y[:n] - P.matvec(result.x)[:n]
        wrong = ~keep & (above != (r > 0))
        if not wrong.any():
            return result
        if wrong.sum() > part:
            return None
        keep |= wrong
    return None


def pinball_subproblem(P: PinballProgram, index, *, share=None, sums=()):
    """The rows `index` and one row for each sum, with the intercept as a column.

    `share` scales the penalised rows where the rest is only a share of all.
    """
    n = P.X.shape[0]
    k = len(P.penalised)
    A = P.dense_rows(index)
    y = P.y[index]
    low = P.l[index]
    high = P.h[index]
    w = (P.h - P.l)[:n]
    top = [P.rmatvec(np.append(np.where(s, w, 0.0), np.zeros(k))) for s in sums]
    mass = [float(w[s] @ P.y[:n][s]) for s in sums]
    tau = P.h[0] / (P.h[0] - P.l[0])
    one = np.ones(len(sums))
    scale = 1.0 if share is None else share
    return PinballProgram(
        np.concatenate([A, *(row[None] for row in top)]),
        P.penalised,
        np.concatenate([y, mass, P.y[n:]]),
        np.concatenate([low, (tau - 1) * one, scale * P.l[n:]]),
        np.concatenate([high, tau * one, scale * P.h[n:]]),
        False,
    )
