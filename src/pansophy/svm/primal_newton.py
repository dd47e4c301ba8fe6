"""Primal Newton method with multipliers for linear support vector machines.

The problem and its letters are those of `svm_problem.py`. Its losses have kinks (hinge)
or gradients with kinks (squared hinge). The method of multipliers smooths the former:
with multipliers beta and a width rho,

    J(w) = 1/2 |w|^2 + sum_i max_{l <= b <= u} b e - eps |b| - c/2 b^2
                                               - rho/2 (b - beta)^2              (1)
    b(e) = clip(soft_threshold(rho beta + e, eps) / (rho + c), l, u)             (2)
    grad J = w - A^T b,    hess J = I + sum_{i free} a_i a_i^T / (rho + c_i)     (3)

where a row is free if b is strictly inside its interval and not held at 0 by eps. J
is piecewise quadratic, so Newton steps with a line search (along a line e is linear,
and no pass over X is needed) end after finitely many pieces. The update beta <- b then
moves towards the solution: a few updates, with ever smaller rho, reach it exactly.
Squared losses (c > 0) need no multipliers: rho = 0.

After every pass eq. (3) of `svm_problem.py` splits the gap into 1/2 |grad J|^2, which
Newton steps reduce, and a sum over rows, which multiplier updates reduce. The larger
part decides which of the two comes next. Since half the squared distance of w to the
optimum is at most the gap, a row with

    ||e_i| - eps| > sqrt(2 gap) |a_i|                                            (4)

stays on its side of the kink: its b is known and the row can be left out.

The solution for every s-th row is close to that for all rows, so a start is computed
by the same method on `SUBSAMPLE_STRIDE` times fewer rows. Few rows are free near the
end, and only they enter the Hessian; where they are fewer than the columns the smaller
system is solved (Woodbury), and where both are many, conjugate gradients.

Time O(n d) a pass plus d^2 per free row, memory one block beyond X.

Shapes    as in `svm_problem.py`
Refs      [Rockafellar1976] [Keerthi2005] [Mangasarian2002]
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.rows import Rows, sum_statistics
from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.cg import conjugate_gradients
from ..core.loops import threads
from .svm_problem import (
    SVMProblem,
    dual_terms,
    restrict_to_rows,
    soft_threshold_rows,
    svm_losses,
)

SUBSAMPLE_STRIDE = 8  # the start is computed from one row in this many
ROWS_PER_COLUMN = 20  # fewest rows for each column that such a start needs
FIRST_WIDTH = 0.5  # first rho: the margin over which b goes from one bound to the other
WIDTH_REDUCTION = 3.0  # factor by which rho falls with each multiplier update
SMALLEST_WIDTH = 1e-9  # smallest rho, in units of the first
MAX_STALLED_STEPS = 5  # steps without a smaller gap after which rounding is reached
BALANCE = 0.3  # 1/2 |grad|^2 over the sum over rows, below which beta is updated
MAX_FACTORED = 1500  # unknowns up to which a Newton system is factored


class PrimalNewtonState(NamedTuple):
    """A point w with multipliers, and objective, gradient and gap there."""

    w: np.ndarray
    beta: Any
    rho: float
    e: Any
    b: Any  # eq. (2)
    v: np.ndarray  # A^T b
    value: float  # J, eq. (1)
    slack: float  # the sum over rows in the gap
    primal: float  # P(w)
    best: np.ndarray  # the w of lowest P
    objective: float  # P there
    dual: float  # largest D
    best_multipliers: Any  # the beta of largest D
    rows: Any  # `NewtonRows` of the rows that are still in
    index: Any  # their numbers, or None for all rows
    fixed: Any  # beta of all rows, final for those that were screened out
    stalled_steps: int = 0  # steps since the gap last fell

    @property
    def gradient(self):
        return self.w - self.v

    @property
    def gap(self):
        return max(self.objective - self.dual, 0.0)

    @property
    def multipliers(self):
        """The beta of largest D, for all rows."""
        if self.index is None:
            return self.best_multipliers
        beta = self.fixed.copy()
        beta[self.index] = self.best_multipliers
        return beta


class NewtonRows:
    """Products with the rows of a problem, and the Newton systems made of them.

    Rows whose multiplier is known, eq. (4), are left out: `fixed_rmatvec` is their
    part of A^T beta and `fixed_loss` their part of P at w = 0.
    """

    def __init__(self, problem: SVMProblem, fixed_rmatvec=0.0, fixed_loss=0.0):
        self.problem = problem
        self.fixed_rmatvec = fixed_rmatvec
        self.fixed_loss = fixed_loss
        X = problem.X
        self.n, self.d = (int(size) for size in X.shape)
        self.foreign = arrays.is_foreign(X)
        self.sparse = sp.issparse(X)
        block = max(-(-self.n // 8), 1024) if self.sparse else None
        self.blocks = Rows(X, block=1 << 18 if self.foreign else block)

    @cached_property
    def norms(self):
        """|a_i| of every row."""
        if self.sparse:
            square = np.asarray(self.problem.X.power(2).sum(axis=1)).ravel()
        else:
            square = self.blocks.map(lambda X: np.vecdot(X, X), blas=False)
        return np.sqrt(square + self.problem.scale**2)

    def matvec(self, w):
        """A w."""
        d = self.d
        s = self.problem.scale
        u = w[:d] if self.sparse else arrays.asarray(w[:d], like=self.problem.X)
        f = self.blocks.map(lambda X: X @ u, blas=False)
        return f + s * float(w[d]) if s else f

    def rmatvec(self, b):
        """A^T b."""
        side = (lambda X, b: X.T @ b) if self.sparse else (lambda X, b: b @ X)
        if self.problem.X.dtype == np.float32:
            b = b.astype(np.float32)
        rows = self.blocks.with_aligned(b)
        return self.with_intercept_entry(rows.sum(side, blas=False), b)

    def with_intercept_entry(self, g, b):
        """X^T b = g with the entry of the intercept after it."""
        v = np.empty(self.problem.width)
        v[: self.d] = arrays.to_numpy(g)
        if self.problem.scale:
            v[self.d] = self.problem.scale * float(arrays.namespace(b).sum(b))
        return v

    def rmatvec_update(self, old, b):
        """A^T b, updated from the previous state where few rows changed their b."""
        if old is None or self.foreign or self.problem.smooth:
            return self.rmatvec(b) + self.fixed_rmatvec
        changed = np.flatnonzero(b != old.b)
        if 4 * len(changed) > self.n:
            return self.rmatvec(b) + self.fixed_rmatvec
        X = self.problem.X[changed]
        step = b[changed] - old.b[changed]
        return old.v + self.with_intercept_entry(
            step @ X if not self.sparse else X.T @ step, step
        )

    def evaluate(self, w, beta, rho, old=None, e=None):
        """The state at w: one pass over the rows, or half of one where e is known."""
        m = self.problem
        xp = arrays.namespace(m.target)
        e = m.target - self.matvec(w) if e is None else e
        b = _proximal_multipliers(e, beta, rho, m.low, m.high, m.curve, m.epsilon)
        linear = float(xp.sum(dual_terms(b, e, m.curve, m.epsilon)))
        psi = float(xp.sum(svm_losses(e, m.low, m.high, m.curve, m.epsilon)))
        distance = float(xp.sum((b - beta) ** 2)) if rho else 0.0
        v = self.rmatvec_update(old, b)
        rest = (
            0.5 * float(w @ w) + self.fixed_loss - float(np.sum(w * self.fixed_rmatvec))
        )
        primal = rest + psi
        slack = psi - linear
        dual = primal - slack - 0.5 * float((w - v) @ (w - v))
        best = w
        objective = primal
        best_multipliers = b
        if old is not None and old.objective <= primal:
            best = old.best
            objective = old.objective
        if old is not None and old.dual >= dual:
            dual = old.dual
            best_multipliers = old.best_multipliers
        return PrimalNewtonState(
            w=w,
            beta=beta,
            rho=rho,
            e=e,
            b=b,
            v=v,
            value=rest + linear - 0.5 * rho * distance,
            slack=slack,
            primal=primal,
            best=best,
            objective=objective,
            dual=dual,
            best_multipliers=best_multipliers,
            rows=self,
            index=None if old is None else old.index,
            fixed=None if old is None else old.fixed,
        )

    def direction(self, s):
        """Minus the inverse of the Hessian, eq. (3), times the gradient."""
        m = self.problem
        free = (s.b > m.low) & (s.b < m.high)
        if m.epsilon:
            free = free & (s.b != 0)
        free = np.flatnonzero(arrays.to_numpy(free))
        root = 1 / np.sqrt(s.rho + arrays.to_numpy(m.curve[free]))
        count = len(free)
        width = m.width
        if count >= width and width <= MAX_FACTORED:
            H = self.gram(free, root)
            H[np.diag_indices(width)] += 1.0
            return -sl.cho_solve(sl.cho_factor(H, overwrite_a=True), s.gradient)
        if count <= MAX_FACTORED:
            return self.direction_by_woodbury(free, root, s.gradient)
        return self.direction_by_cg(free, root, s.gradient)

    def direction_by_woodbury(self, free, root, g):
        """`direction` from the smaller system, one unknown for each free row."""
        X = self.blocks.take(free)
        s = self.problem.scale
        d = self.d
        X = X if self.sparse else arrays.to_numpy(X)
        K = X @ X.T
        K = root[:, None] * ((K.toarray() if self.sparse else K) + s * s) * root
        K[np.diag_indices(len(free))] += 1.0
        r = root * (X @ g[:d] + (s * g[d] if s else 0.0))
        z = root * sl.cho_solve(sl.cho_factor(K, overwrite_a=True), r)
        return self.with_intercept_entry(X.T @ z, z) - g

    def gram(self, free, root):
        """The sum in eq. (3), in blocks of rows on threads."""
        count = len(free)
        step = max(256, (1 << 17) // self.problem.width)

        def part(i):
            A = self.dense_rows(free[i : i + step]) * root[i : i + step, None]
            return A.T @ A

        tasks = ((lambda i=i: part(i)) for i in range(0, count, step))
        return sum_statistics(threads.run_tasks(tasks))

    def dense_rows(self, free):
        """Rows of A as a NumPy array."""
        X = self.blocks.take(free)
        A = np.empty((len(free), self.problem.width))
        A[:, : self.d] = X.toarray() if self.sparse else arrays.to_numpy(X)
        if self.problem.scale:
            A[:, self.d] = self.problem.scale
        return A

    def direction_by_cg(self, free, root, g):
        """`direction` by conjugate gradients, more accurate as the gradient falls."""
        X = self.blocks.take(free)
        s = self.problem.scale
        d = self.d
        h = root * root

        def product(U):
            u = U.reshape(-1)
            r = h * (X @ u[:d] + (s * u[d] if s else 0.0))
            stacked = u.copy()
            stacked[:d] += X.T @ r
            if s:
                stacked[d] += s * r.sum()
            return stacked.reshape(U.shape)

        accuracy = min(0.1, math.sqrt(float(np.linalg.norm(g))))
        return conjugate_gradients(
            product, -g, tol=accuracy, max_iter=200
        ).state.X.reshape(-1)


def _proximal_multipliers(e, beta, rho, low, high, curve, eps):
    """Eq. (2)."""
    xp = arrays.namespace(e)
    u = soft_threshold_rows(rho * beta + e, eps) if rho else soft_threshold_rows(e, eps)
    return xp.clip(u / (rho + curve), low, high)


def false_position(slope):
    """Approximate root in [0, 1] of an increasing slope, by false position."""
    left = 0.0
    right = 1.0
    low = slope(left)
    high = slope(right)
    goal = 0.1 * abs(low)
    x = 1.0
    if not low < 0 < high:
        return x  # the slope is below 0 to the end, or rounding hides it
    for _ in range(30):
        x = (left * high - right * low) / (high - low)
        edge = 0.02 * (right - left)
        x = min(max(x, left + edge), right - edge)
        value = slope(x)
        if abs(value) <= goal:
            break
        if value < 0:
            left = x
            low = value
        else:
            right = x
            high = value
    return x


def _newton_line_search(s, new):
    """The share of the step from s to new at which J is lowest."""
    m = s.rows.problem
    xp = arrays.namespace(s.e)
    move = new.w - s.w
    change = new.e - s.e
    c = float(move @ move)
    a = float((s.w - s.rows.fixed_rmatvec) @ move)

    def slope(x):
        e = s.e + x * change
        b = _proximal_multipliers(e, s.beta, s.rho, m.low, m.high, m.curve, m.epsilon)
        return a + x * c + float(xp.sum(b * change))

    return false_position(slope)


def _primal_newton_step(newton_rows, s):
    """One Newton step on J, with a line search where the full step is too long."""
    move = newton_rows.direction(s)
    fall = float(s.gradient @ move)
    new = newton_rows.evaluate(s.w + move, s.beta, s.rho, s)
    if float(new.gradient @ move) > -0.5 * fall or not new.value <= s.value:
        x = _newton_line_search(s, new)
        e = s.e + x * (new.e - s.e)
        new = newton_rows.evaluate(s.w + x * move, s.beta, s.rho, new, e)
    return new


def _screen_rows(s):
    """The state without the rows that eq. (4) decides, if these are the majority."""
    newton_rows = s.rows
    m = newton_rows.problem
    if m.smooth or newton_rows.foreign:
        return s
    radius = math.sqrt(max(2 * (s.primal - s.dual), 0.0))
    kink_distance = np.abs(np.abs(s.e) - m.epsilon) if m.epsilon else np.abs(s.e)
    undecided = kink_distance <= radius * newton_rows.norms
    if not undecided.any():  # a problem has at least one row
        undecided[np.argmin(kink_distance - radius * newton_rows.norms)] = True
    if 2 * np.count_nonzero(undecided) > newton_rows.n:
        return s
    b = _proximal_multipliers(s.e, s.beta, 0.0, m.low, m.high, 1e-300, m.epsilon)
    b[undecided] = 0.0
    fixed_rmatvec = newton_rows.fixed_rmatvec + newton_rows.rmatvec(b)
    fixed_loss = newton_rows.fixed_loss + float(
        dual_terms(b, m.target, 0.0, m.epsilon).sum()
    )
    rows = np.flatnonzero(undecided)
    fewer = NewtonRows(restrict_to_rows(m, rows), fixed_rmatvec, fixed_loss)
    fewer.norms = newton_rows.norms[rows]
    new = fewer.evaluate(s.w, s.beta[rows], s.rho, None, s.e[rows])
    if s.index is None:
        index = rows
        fixed = b
    else:
        index = s.index[rows]
        fixed = s.fixed
        fixed[s.index] = b
    if s.objective < new.objective:
        new = new._replace(best=s.best, objective=s.objective)
    return new._replace(index=index, fixed=fixed, stalled_steps=s.stalled_steps)


def _multiplier_iteration(s, least):
    """One iteration: a multiplier update where it is due, then a Newton step."""
    gap = s.gap
    s = _screen_rows(s)
    newton_rows = s.rows
    g = s.gradient
    if s.rho and 0.5 * float(g @ g) <= BALANCE * s.slack:
        rho = max(s.rho / WIDTH_REDUCTION, least)
        s = newton_rows.evaluate(s.w, s.b, rho, s, s.e)._replace(
            stalled_steps=s.stalled_steps
        )
    new = _primal_newton_step(newton_rows, s)
    return new._replace(stalled_steps=0 if new.gap < gap else s.stalled_steps + 1)


def _initial_newton_state(newton_rows, w, width, beta=None):
    """The first state at w; a row at its kink starts half way between its bounds."""
    m = newton_rows.problem
    xp = arrays.namespace(m.target)
    zero = xp.zeros_like(m.target)
    if m.smooth:
        return newton_rows.evaluate(w, zero, 0.0)
    size = m.high - m.low
    rho = width / float(xp.max(size))
    if beta is not None:
        return newton_rows.evaluate(w, beta, rho)
    e = m.target - newton_rows.matvec(w)
    middle = (m.low + m.high) / 2
    if m.epsilon:
        beta = xp.clip(soft_threshold_rows(e, m.epsilon) / rho, m.low, m.high)
    else:
        beta = xp.clip(middle + e / rho, m.low, m.high)
    return newton_rows.evaluate(w, beta, rho, None, e)


def _subsampled_problem(problem, stride):
    """The problem of every `stride`-th row, with costs times `stride`."""
    cut = slice(None, None, stride)
    m = problem
    return SVMProblem(
        m.X[cut, ...] if not sp.issparse(m.X) else m.X[cut],
        m.scale,
        m.target[cut],
        m.low[cut] * stride,
        m.high[cut] * stride,
        m.curve[cut] / stride,
        m.epsilon,
    )


def minimise_primal(
    problem,
    *,
    w=None,
    beta=None,
    width=FIRST_WIDTH,
    max_iter=100,
    tol=1e-6,
    task=SILENT,
) -> Result:
    """Minimise P until the gap bounds the relative error of w by tol."""
    n = int(problem.X.shape[0])
    size = problem.width
    if w is None:
        w = np.zeros(size)
        if n > SUBSAMPLE_STRIDE * ROWS_PER_COLUMN * size and size <= MAX_FACTORED:
            subset_fit = minimise_primal(
                _subsampled_problem(problem, SUBSAMPLE_STRIDE), tol=0.03, max_iter=30
            )
            w = subset_fit.state.best
            width = FIRST_WIDTH / 4
    newton_rows = NewtonRows(problem)
    start = _initial_newton_state(newton_rows, w, width, beta)
    min_rho = SMALLEST_WIDTH * start.rho
    noise = 4 * float(arrays.namespace(problem.X).finfo(problem.X.dtype).eps)

    def change(old, new):
        size = float(new.best @ new.best)
        is_done = new.gap <= max(0.5 * tol * tol * size, noise * abs(new.objective))
        rounded = (
            new.stalled_steps >= MAX_STALLED_STEPS
            and new.gap <= 1e6 * noise * abs(new.objective)
        )
        return 0.0 if is_done or rounded else 1.0

    return iterate(
        lambda s: _multiplier_iteration(s, min_rho),
        start,
        max_iter=max_iter,
        tol=0.5,
        change=change,
        watch=("gap", "primal"),
        task=task,
    )
