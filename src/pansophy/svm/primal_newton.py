"""Newton's method for linear support vector machines, kinked losses included.

The problem and its letters are those of `svm_problem.py`. Its losses have kinks (hinge)
or gradients with kinks (squared hinge). The method of multipliers takes off the
first kind: with multipliers beta and a width rho,

    J(w) = 1/2 |w|^2 + sum_i max_{l <= b <= u} b e - eps |b| - c/2 b^2
                                               - rho/2 (b - beta)^2              (1)
    b(e) = clip(shrink(rho beta + e, eps) / (rho + c), l, u)                     (2)
    grad J = w - A^T b,    hess J = I + sum_{i free} a_i a_i^T / (rho + c_i)     (3)

where a row is free if b is strictly inside its interval and not held at 0 by eps. J
is piecewise quadratic, so Newton steps with a search on the line, where e moves
linearly and no pass over X is needed, end after finitely many pieces. Then beta <- b
moves to the solution: for piecewise quadratic problems a few such turns, with ever
smaller rho, reach it exactly. Squared losses (c > 0) need no turns: rho = 0.

After every pass eq. (3) of `svm_problem.py` splits the gap into 1/2 |grad J|^2, what
Newton steps can still mend, and a sum over rows, what multipliers can. The larger
part decides which of the two is next.

A solution for every s-th row is close to that for all, so the start is found by the
same method on fewer rows, `SUBSAMPLE_STRIDE` times fewer at a time. Few rows are free near the
end, and only they enter the Hessian; where they are fewer than columns the smaller
system is solved (Woodbury), and where both are many, conjugate gradients.

Time O(n d) a pass plus d^2 per free row, memory one block beyond X.

Shapes    as in `svm_problem.py`
Refs      [Rockafellar1976] [Keerthi2005] [Mangasarian2002]
"""

import math

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.iterate import Result, iterate
from ..core.progress import SILENT
from .svm_problem import SVMProblem, restrict_to_rows, soft_threshold_rows, dual_terms
from .passes import MAX_FACTORED, NewtonRows, proximal_multipliers

SUBSAMPLE_STRIDE = 8  # rows of a start: one in so many
ROWS_PER_COLUMN = 20  # rows for each column that a start needs
FIRST_WIDTH = 0.5  # first rho: the margin over which b goes from one bound to the other
WIDTH_REDUCTION = 3.0  # factor by which rho falls from turn to turn
SMALLEST_WIDTH = 1e-9  # smallest rho, in units of the first
MAX_STALLED_STEPS = 5  # steps without a smaller gap that tell of rounding
BALANCE = 0.3  # 1/2 |grad|^2 over the sum over rows, below which beta moves


def false_position(slope):
    """Where between 0 and 1 a slope that grows is next to 0, by false position."""
    left, right, low, high = 0.0, 1.0, slope(0.0), slope(1.0)
    goal, x = 0.1 * abs(low), 1.0
    if not low < 0 < high:
        return x  # the slope is below 0 to the end, or rounding hides it
    for _ in range(30):
        x = (left * high - right * low) / (high - low)
        edge = 0.02 * (right - left)
        x = min(max(x, left + edge), right - edge)
        now = slope(x)
        if abs(now) <= goal:
            break
        left, low, right, high = (
            (x, now, right, high) if now < 0 else (left, low, x, now)
        )
    return x


def newton_line_search(s, new):
    """Where J is lowest on the line from s to new, as a share of the way."""
    m, xp, move = s.rows.machine, arrays.namespace(s.e), new.w - s.w
    along, c = new.e - s.e, float(move @ move)
    a = float((s.w - s.rows.fixed_rmatvec) @ move)

    def slope(x):
        e = s.e + x * along
        b = proximal_multipliers(e, s.beta, s.rho, m.low, m.high, m.curve, m.epsilon)
        return a + x * c + float(xp.sum(b * along))

    return false_position(slope)


def primal_newton_step(passes, s):
    """One Newton step on J."""
    move = passes.direction(s)
    fall = float(s.gradient @ move)
    new = passes.evaluate(s.w + move, s.beta, s.rho, s)
    if float(new.gradient @ move) > -0.5 * fall or not new.value <= s.value:
        x = newton_line_search(s, new)
        e = s.e + x * (new.e - s.e)
        new = passes.evaluate(s.w + x * move, s.beta, s.rho, new, e)
    return new


def screen_rows(s):
    """The state without the rows whose end is certain, eq. (4), if they are many."""
    m, passes = s.rows.machine, s.rows
    if m.smooth or passes.foreign:
        return s
    radius = math.sqrt(max(2 * (s.primal - s.dual), 0.0))
    off = np.abs(np.abs(s.e) - m.epsilon) if m.epsilon else np.abs(s.e)
    open_ = off <= radius * passes.norms
    if 2 * np.count_nonzero(open_) > passes.n:
        return s
    b = proximal_multipliers(s.e, s.beta, 0.0, m.low, m.high, 1e-300, m.epsilon)
    b[open_] = 0.0
    pull = passes.fixed_rmatvec + passes.rmatvec(b)
    base = passes.fixed_loss + float(dual_terms(b, m.target, 0.0, m.epsilon).sum())
    rows = np.flatnonzero(open_)
    fewer = NewtonRows(restrict_to_rows(m, rows), pull, base)
    fewer.norms = passes.norms[rows]
    new = fewer.evaluate(s.w, s.beta[rows], s.rho, None, s.e[rows])
    if s.index is None:
        index, fixed = rows, b
    else:
        index, fixed = s.index[rows], s.fixed
        fixed[s.index] = b
    if s.objective < new.objective:
        new = new._replace(best=s.best, objective=s.objective)
    return new._replace(index=index, fixed=fixed, stalled_steps=s.stalled_steps)


def multiplier_iteration(s, least):
    """A Newton step, and before it new multipliers where they are due."""
    gap = s.gap
    s = screen_rows(s)
    passes, g = s.rows, s.gradient
    if s.rho and 0.5 * float(g @ g) <= BALANCE * s.slack:
        rho = max(s.rho / WIDTH_REDUCTION, least)
        s = passes.evaluate(s.w, s.b, rho, s, s.e)._replace(stalled_steps=s.stalled_steps)
    new = primal_newton_step(passes, s)
    return new._replace(stalled_steps=0 if new.gap < gap else s.stalled_steps + 1)


def initial_newton_state(passes, w, width, beta=None):
    """The first state at w: multipliers half way between their bounds at a kink."""
    m = passes.machine
    xp = arrays.namespace(m.target)
    zero = xp.zeros_like(m.target)
    if m.smooth:
        return passes.evaluate(w, zero, 0.0)
    size = m.high - m.low
    rho = width / float(xp.max(size))
    if beta is not None:
        return passes.evaluate(w, beta, rho)
    e = m.target - passes.matvec(w)
    middle = (m.low + m.high) / 2
    if m.epsilon:
        beta = xp.clip(soft_threshold_rows(e, m.epsilon) / rho, m.low, m.high)
    else:
        beta = xp.clip(middle + e / rho, m.low, m.high)
    return passes.evaluate(w, beta, rho, None, e)


def subsampled_problem(machine, stride):
    """Every so many-th row, with its cost made up for."""
    cut = slice(None, None, stride)
    m = machine
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
    machine, *, w=None, beta=None, width=FIRST_WIDTH, max_iter=100, tol=1e-6, task=SILENT
) -> Result:
    """Minimise P until the gap proves w to within tol, relatively."""
    n, size = int(machine.X.shape[0]), machine.width
    if w is None:
        w = np.zeros(size)
        if n > SUBSAMPLE_STRIDE * ROWS_PER_COLUMN * size and size <= MAX_FACTORED:
            few = minimise_primal(subsampled_problem(machine, SUBSAMPLE_STRIDE), tol=0.03, max_iter=30)
            w, width = few.state.best, FIRST_WIDTH / 4
    passes = NewtonRows(machine)
    start = initial_newton_state(passes, w, width, beta)
    least = SMALLEST_WIDTH * start.rho
    noise = 4 * float(arrays.namespace(machine.X).finfo(machine.X.dtype).eps)

    def change(old, new):
        size = float(new.best @ new.best)
        done = new.gap <= max(0.5 * tol * tol * size, noise * abs(new.objective))
        rounded = new.stalled_steps >= MAX_STALLED_STEPS and new.gap <= 1e6 * noise * abs(new.objective)
        return 0.0 if done or rounded else 1.0

    return iterate(
        lambda s: multiplier_iteration(s, least),
        start,
        max_iter=max_iter,
        tol=0.5,
        change=change,
        watch=("gap", "primal"),
        task=task,
    )
