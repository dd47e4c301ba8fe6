"""Newton's method for the multi-class support vector machine of Crammer and Singer.

The problem and its letters are those of `crammer_singer.py`. With p_im = C_i [m = y_i]
- alpha_im, at least 0 and of sum C_i, the loss of a row is a maximum over p, and the
method of multipliers smooths it as in `primal_newton.py`: with multipliers q and a
width rho,

    J(W) = 1/2 |W|^2 + sum_i max_p p G_i - rho/2 |p - q_i|^2 - C_i w_{y_i} a_i   (1)
    p    = the point of the simplex of size C_i nearest to q_i + G_i / rho       (2)
    grad = W - V,   V = alpha^T A,   hess = I + sum_i Pi_i x a_i a_i^T / rho     (3)

where Pi_i (k, k) projects onto the vectors of sum 0 on the classes with p_im > 0: only
rows with two such classes or more are free. With u the differences e_m - e_first of
those classes, N of them over all rows, the Newton system has one unknown for each
(Woodbury),

    K = (U U^T) * (A A^T + rho [same row]),   step = (U z)^T A - grad            (4)

P - D is 1/2 |grad|^2, which Newton steps reduce, plus a sum over rows, which a smaller
rho and q <- p + OVERRELAXATION (p - q) reduce; the larger comes next. Most rows are far
from a kink, so one step consists of several Newton steps on the rows near a kink, with
p of the others fixed, and a line search over all rows.

Time O(n d k) a step plus N^3 or (k d)^3, memory O(n k).

Shapes    X (n, d)   y, C (n,)   G, p, q, alpha (n, k)   W, V (k, d + 1)
Refs      [Crammer2001] [Rockafellar1976]
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..core.arrays.rows import Rows
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.cg import conjugate_gradients
from ..core.linalg.linalg import solve_psd
from ._crammer_singer import project_onto_simplices
from .primal_newton import (
    BALANCE,
    FIRST_WIDTH,
    MAX_STALLED_STEPS,
    SMALLEST_WIDTH,
    false_position,
)

MAX_FACTORED = 1500  # unknowns up to which a Newton system is factored
WIDTH_REDUCTION = 2.0  # factor by which rho falls
OVERRELAXATION = 0.5  # of the multiplier update q <- p
NEAR_ROWS_PER_UNKNOWN = 1  # rows near a kink, beyond the free ones, for each unknown
MAX_INNER_STEPS = 8  # Newton steps on the rows near a kink


class JointState(NamedTuple):
    """A point W with multipliers, and objective, gradient and gap there."""

    W: np.ndarray
    q: np.ndarray
    rho: float
    G: np.ndarray
    p: np.ndarray  # eq. (2)
    gradient: np.ndarray
    value: float  # J, eq. (1)
    slack: float  # the sum over rows in the gap
    primal: float  # P(W)
    best: np.ndarray  # the W of lowest P
    objective: float  # P there
    dual: float  # largest D
    stalled_steps: int = 0  # steps since the gap last fell

    @property
    def gap(self):
        return max(self.objective - self.dual, 0.0)


class JointProblem:
    """Rows of the problem; `fixed_rmatvec` is the part of V without p."""

    def __init__(self, X, y, C, k, scale, fixed_rmatvec=None):
        self.X = X
        self.y = y
        self.C = C
        self.k = k
        self.scale = scale
        self.n, self.d = X.shape
        self.rows = Rows(X)
        self.row_numbers = np.arange(self.n)
        if fixed_rmatvec is None:
            own_class = np.zeros((self.n, k))
            own_class[self.row_numbers, y] = C
            fixed_rmatvec = self.rmatvec(own_class)
        self.fixed_rmatvec = fixed_rmatvec

    def slopes(self, W):
        """G (n, k), the slopes of the loss."""
        U = np.ascontiguousarray(W[:, : self.d].T.astype(self.X.dtype))
        G = self.rows.map(lambda X: X @ U, blas=False) + (self.scale * W[:, -1] + 1.0)
        G[self.row_numbers, self.y] -= 1.0
        return G

    def rmatvec(self, p):
        """p^T A."""
        out = np.empty((self.k, self.d + 1))
        thin = p.astype(self.X.dtype)
        rows = self.rows.with_aligned(thin)
        out[:, :-1] = rows.sum(lambda X, p: (X.T @ p).T, blas=False)
        out[:, -1] = self.scale * p.sum(axis=0)
        return out

    def evaluate(self, W, q, rho, old=None, G=None):
        """The state at W: one pass over the rows, or half of one where G is known."""
        G = self.slopes(W) if G is None else G
        p = np.empty_like(G)
        linear, psi, distance = project_onto_simplices(G, self.C, q, rho, p)
        g = W - self.fixed_rmatvec + self.rmatvec(p)
        rest = 0.5 * float(np.sum(W * W)) - float(np.sum(W * self.fixed_rmatvec))
        primal = rest + psi
        slack = psi - linear
        dual = primal - slack - 0.5 * float(np.sum(g * g))
        best = W
        objective = primal
        if old is not None and old.objective <= primal:
            best = old.best
            objective = old.objective
        return JointState(
            W=W,
            q=q,
            rho=rho,
            G=G,
            p=p,
            gradient=g,
            value=rest + linear - 0.5 * rho * distance,
            slack=slack,
            primal=primal,
            best=best,
            objective=objective,
            dual=dual if old is None else max(dual, old.dual),
        )

    def direction(self, s):
        """Minus the inverse of the Hessian, eq. (3), times the gradient."""
        is_on = s.p > 0
        count = is_on.sum(axis=1)
        N = int(count.sum()) - self.n
        width = self.k * (self.d + 1)
        if N == 0:
            return -s.gradient
        rows = np.flatnonzero(count > 1)
        A = self.dense_rows(rows)
        is_on = is_on[rows]
        g = s.gradient
        if min(width, MAX_FACTORED) >= N:
            return self.direction_by_woodbury(A, is_on, s.rho, g)
        if width <= MAX_FACTORED:
            H = _joint_hessian(A, is_on, s.rho)
            return -_solve_posdef_in_place(H, g.reshape(-1)).reshape(g.shape)
        return _joint_direction_by_cg(A, is_on, s.rho, g)

    def direction_by_woodbury(self, A, on, rho, g):
        """`direction` by eq. (4)."""
        first = on.argmax(axis=1)
        rest = on.copy()
        rest[np.arange(len(on)), first] = False
        r, m = np.nonzero(rest)
        positions = np.arange(len(r))
        U = np.zeros((len(r), self.k))
        U[positions, m] = 1.0
        U[positions, first[r]] = -1.0
        A = A[r]
        K = A @ A.T
        K = K.toarray() if sp.issparse(K) else K
        K[positions, positions] += rho
        for i in range(1, self.k):  # entries of one row lie next to each other
            same_row = np.flatnonzero(r[i:] == r[:-i])
            if not len(same_row):
                break
            K[same_row + i, same_row] += rho
            K[same_row, same_row + i] += rho
        K *= U @ U.T
        z = _solve_posdef_in_place(K, np.einsum("im,im->i", A @ g.T, U))
        return (A.T @ (U * z[:, None])).T - g

    def dense_rows(self, rows):
        """Rows of A; CSR stays CSR where it has many columns."""
        X = self.X[rows]
        edge = np.full((len(rows), 1), self.scale)
        if sp.issparse(X) and self.k * (self.d + 1) > MAX_FACTORED:
            return sp.hstack([X, sp.csr_array(edge)], format="csr")
        return np.hstack([X.toarray() if sp.issparse(X) else X, edge])

    def rows_near_kinks(self, s):
        """The free rows and those nearest to a kink; None if these are most rows."""
        ends = s.p.argmax(axis=1)
        other_scores = s.G.copy()
        other_scores[self.row_numbers, ends] = -np.inf
        far = s.G[self.row_numbers, ends] - other_scores.max(axis=1)
        far[(s.p > 0).sum(axis=1) > 1] = -np.inf
        free = int(np.count_nonzero(far == -np.inf))
        size = free + NEAR_ROWS_PER_UNKNOWN * min(self.k * (self.d + 1), MAX_FACTORED)
        if 2 * size > self.n:
            return None
        return np.sort(np.argpartition(far, size)[:size])

    def restricted_to(self, s, rows):
        """The problem of some rows, where the others keep their p."""
        subproblem = JointProblem(
            self.X[rows],
            self.y[rows],
            self.C[rows],
            self.k,
            self.scale,
            fixed_rmatvec=s.W - s.gradient,
        )
        subproblem.fixed_rmatvec = subproblem.fixed_rmatvec + subproblem.rmatvec(
            s.p[rows]
        )
        return subproblem


def _solve_posdef_in_place(K, right):
    """K^-1 right for a positive definite K, which is overwritten."""
    try:
        L = sl.cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:  # within rounding of singular
        return solve_psd(np.tril(K) + np.tril(K, -1).T, right)[0]
    return sl.cho_solve((L, True), right, check_finite=False)


def _joint_hessian(A, on, rho):
    """Eq. (3) for free rows A with classes `on`, one pair of classes at a time."""
    k = on.shape[1]
    width = A.shape[1]
    H = np.zeros((k, width, k, width))
    shares = 1 / on.sum(axis=1)
    for a in range(k):
        for b in range(a + 1):
            rows = np.flatnonzero(on[:, a] & on[:, b])
            h = ((a == b) - shares[rows]) / rho
            B = A[rows]
            H[a, :, b] = (B * h[:, None]).T @ B
            H[b, :, a] = H[a, :, b].T
    H = H.reshape(k * width, k * width)
    H[np.diag_indices(k * width)] += 1.0
    return H


def _joint_direction_by_cg(A, on, rho, g):
    """`direction` by conjugate gradients, more accurate as the gradient falls."""
    shares = 1 / on.sum(axis=1, keepdims=True)

    def product(u):
        W = u.reshape(g.shape)
        Z = np.where(on, A @ W.T, 0.0)
        Z = np.where(on, Z - shares * Z.sum(axis=1, keepdims=True), 0.0)
        return u + (A.T @ Z).T.reshape(u.shape) / rho

    accuracy = min(0.1, math.sqrt(float(np.linalg.norm(g))))
    run = conjugate_gradients(product, -g.reshape(-1), tol=accuracy, max_iter=200)
    return run.state.X.reshape(g.shape)


def _joint_direction(joint, s):
    """A Newton direction at s, or the sum of several on the rows near a kink."""
    rows = joint.rows_near_kinks(s)
    if rows is None:
        return joint.direction(s)
    subproblem = joint.restricted_to(s, rows)
    state = subproblem.evaluate(s.W, s.q[rows], s.rho, None, s.G[rows])
    for _ in range(MAX_INNER_STEPS):
        state = _joint_newton_step(subproblem, state, subproblem.direction(state))
        if 0.5 * float(np.sum(state.gradient**2)) <= BALANCE / 3 * s.slack:
            break
    return state.W - s.W


def _joint_newton_step(joint, s, step):
    """The state after a step, or after the best share of it on the line."""
    new = joint.evaluate(s.W + step, s.q, s.rho, s)
    fall = float(np.sum(s.gradient * step))
    if float(np.sum(new.gradient * step)) <= -0.5 * fall and new.value <= s.value:
        return new
    change = new.G - s.G
    c = float(np.sum(step * step))
    a = float(np.sum((s.W - joint.fixed_rmatvec) * step))
    p = np.empty_like(s.p)

    def slope(x):
        project_onto_simplices(s.G + x * change, joint.C, s.q, s.rho, p)
        return a + x * c + float(np.vdot(p, change))

    x = false_position(slope)
    return joint.evaluate(s.W + x * step, s.q, s.rho, new, s.G + x * change)


def minimise_joint(
    X, y, C, k, *, scale, W=None, alpha=None, max_iter=1000, tol=1e-4, task=SILENT
) -> Result:
    """Minimise P until the gap bounds the relative error of W by tol."""
    joint = JointProblem(X, y, C, k, scale)
    q = np.repeat(C[:, None] / k, k, axis=1)
    if alpha is not None:
        q = -alpha
        q[joint.row_numbers, y] += C
    W = np.zeros((k, joint.d + 1)) if W is None else W
    start = joint.evaluate(W, q, FIRST_WIDTH / float(C.max()))
    min_rho = SMALLEST_WIDTH * start.rho
    noise = 4 * float(np.finfo(X.dtype).eps)

    def step(s):
        gap = s.gap
        stalled = s.stalled_steps
        if 0.5 * float(np.sum(s.gradient**2)) <= BALANCE * s.slack:
            rho = max(s.rho / WIDTH_REDUCTION, min_rho)
            s = joint.evaluate(s.W, s.p + OVERRELAXATION * (s.p - s.q), rho, s, s.G)
        new = _joint_newton_step(joint, s, _joint_direction(joint, s))
        return new._replace(stalled_steps=0 if new.gap < gap else stalled + 1)

    def change(old, new):
        size = float(np.sum(new.best**2))
        is_done = new.gap <= max(0.5 * tol * tol * size, noise * abs(new.objective))
        rounded = (
            new.stalled_steps >= MAX_STALLED_STEPS
            and new.gap <= 1e6 * noise * abs(new.objective)
        )
        return 0.0 if is_done or rounded else 1.0

    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=0.5,
        change=change,
        watch=("gap", "primal"),
        task=task,
    )
