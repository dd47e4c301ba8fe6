"""The dual of a support vector machine by sequential minimal optimisation.

For a kernel matrix K, signs y, bounds C_i and a linear term p (-1 for classifiers),

    minimise  1/2 a^T Q a + p^T a,   Q_ij = y_i y_j K_ij                         (1)
    subject to  y^T a = 0,   0 <= a_i <= C_i                                     (2)

With g = Q a + p, let up be the rows where y_i a_i may grow and low those where it may
fall. a is optimal when

    max_{i in up} -y_i g_i  -  min_{j in low} -y_j g_j  <= 0                     (3)

A step moves a pair along y^T a = 0 to its lowest point. The pair is the i of the
first maximum and the j of low that promises the most,

    (y_j g_j - y_i g_i)^2 / (K_ii + K_jj - 2 K_ij)                               (4)

Rows of K may be expensive, so steps are made on a working set of the rows that violate
eq. (3) most, half of them kept from the previous iteration; then the gradient of all
rows is updated by one product with the rows of K that were used. Every step lowers eq.
(1).

Bias: -y_i g_i is the same for all rows with 0 < a_i < C_i; where there are none, any
number between the two sides of eq. (3) is optimal and the middle is taken.

Time O(n q) per iteration for a working set of q rows, memory O(n q) for the kernel
rows.

Shapes    K (n, n), by rows   y, a, g, p, C (n,)
Refs      [Platt1999] [Fan2005] the choice of pairs; [Joachims1999] working sets
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, FitTask

WORKING = 256  # rows of a working set
INNER = 0.1  # tolerance on the working set, as a share of the violation of all rows
CACHE = 200 << 20  # bytes of cached kernel rows


class State(NamedTuple):
    """Multipliers, the gradient there, and the working set."""

    position: np.ndarray  # a
    gradient: np.ndarray  # g
    objective: float  # eq. (1)
    violation: float  # eq. (3)
    working: np.ndarray  # indices of the last set
    steps: int  # pair steps so far

    def bias(self, y, C) -> float:
        """Intercept that is added to sum_i a_i y_i k(x_i, x)."""
        a = self.position
        free = (a > 0) & (a < C)
        scores = -y * self.gradient
        if free.any():
            return float(scores[free].mean())
        up, low = increasable_and_decreasable(a, y, C)
        ends = [scores[up].max(initial=-np.inf), scores[low].min(initial=np.inf)]
        ends = [end for end in ends if np.isfinite(end)]
        return float(np.mean(ends)) if ends else 0.0


class RowCache:
    """Least-recently-used cache of kernel rows.

    Parameters
    ----------
    rows : function of an index array, or array of shape (n, n)
        Gives K[index], shape (len(index), n).
    limit : int
        Bytes of rows to keep.
    """

    def __init__(self, rows: Callable | np.ndarray, limit: int = CACHE):
        self.whole = None if callable(rows) else np.asarray(rows, dtype=float)
        self.rows = rows
        self.limit = limit
        self.kept: OrderedDict[int, np.ndarray] = OrderedDict()

    def __call__(self, index):
        """K[index]."""
        if self.whole is not None:
            return self.whole[index]
        new = [i for i in index.tolist() if i not in self.kept]
        if new:
            computed = np.asarray(self.rows(np.array(new)), dtype=float)
            self.kept.update(zip(new, computed, strict=True))
        out = np.stack([self.kept[i] for i in index.tolist()])
        for i in index.tolist():
            self.kept.move_to_end(i)
        capacity = max(self.limit // max(out[0].nbytes, 1), len(index))
        while len(self.kept) > capacity:
            self.kept.popitem(last=False)
        return out


def increasable_and_decreasable(a, y, C):
    """Masks of the rows whose y_i a_i may increase, and may decrease."""
    up = np.where(y > 0, a < C, a > 0)
    low = np.where(y > 0, a > 0, a < C)
    return up, low


def kkt_violation(a, g, y, C) -> float:
    """Largest violation of the optimality conditions, eq. (3)."""
    up, low = increasable_and_decreasable(a, y, C)
    if not up.any() or not low.any():
        return 0.0
    f = -y * g
    return max(float(f[up].max() - f[low].min()), 0.0)


def choose_working_set(s, y, C, size):
    """The next working set: the worst rows of both sides and half of the last set."""
    n = len(y)
    if n <= size:
        return np.arange(n)
    f = -y * s.gradient
    up, low = increasable_and_decreasable(s.position, y, C)
    half = size // 4 if len(s.working) else size // 2
    worst_up = np.argsort(np.where(up, -f, np.inf), kind="stable")[:half]
    worst_low = np.argsort(np.where(low, f, np.inf), kind="stable")[:half]
    chosen = np.concatenate([worst_up, worst_low, s.working[::-1]])
    _, first = np.unique(chosen, return_index=True)
    return np.sort(chosen[np.sort(first)[:size]])


def smo(
    kernel_rows: Callable | np.ndarray,
    y,
    C=1.0,
    *,
    p=None,
    start: State | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-3,
    working: int = WORKING,
    cache: int = CACHE,
    task: FitTask = SILENT,
) -> Result:
    """SMO: minimise eq. (1) until the violation of eq. (3) is at most tol.

    Parameters
    ----------
    kernel_rows : function of an index array, or array of shape (n, n)
        Gives rows of K; see `RowCache`, which may be passed as well.
    y : array of +1 and -1, shape (n,)
    C : float or array of shape (n,)
        Upper bounds.
    p : array of shape (n,) or None
        Linear term; -1 if None.
    start : State or None
        Go on from an earlier run.
    max_iter : int
        Largest number of iterations.
    tol : float
        Of eq. (3).
    working : int
        Rows of a working set.
    cache : int
        Bytes of kernel rows to keep.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> x = np.array([-2.0, -1, 1, 2, -1.5])
    >>> y = np.array([-1.0, -1, 1, 1, 1])
    >>> run = optim.smo(np.outer(x, x), y, C=1.0, tol=1e-12)
    >>> run.state.position.round(6)
    array([0.388889, 1.      , 0.388889, 0.      , 1.      ])
    """
    from . import _smo as loops  # compiled loops are loaded on first use

    y = np.asarray(y, dtype=float)
    if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("y of smo must hold +1 and -1 only.")
    C = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    p = -np.ones(len(y)) if p is None else np.asarray(p, dtype=float)
    rows = kernel_rows
    if not isinstance(rows, RowCache):
        rows = RowCache(kernel_rows, cache)

    def step(s):
        at = choose_working_set(s, y, C, working)
        K = rows(at)
        a = s.position[at]
        g = s.gradient[at].copy()
        before = s.position[at]
        bounds = np.ascontiguousarray(C[at])
        inner = tol if len(at) == len(y) else max(tol / 2, INNER * s.violation)
        square = np.ascontiguousarray(K[:, at])
        steps = loops.optimize_pairs(square, y[at], bounds, a, g, inner, 1000 * len(at))
        moved = np.flatnonzero(a != before)
        change = (y[at] * (a - before))[moved]
        gradient = s.gradient + y * (change @ K[moved])
        position = s.position.copy()
        position[at] = a
        return state_at(position, gradient, at, s.steps + steps)

    def state_at(a, g, at, steps):
        value = 0.5 * float(a @ (g + p))
        return State(a, g, value, kkt_violation(a, g, y, C), at, steps)

    if start is None:
        no_rows = np.empty(0, dtype=np.intp)
        start = state_at(np.zeros(len(y)), p.copy(), no_rows, 0)
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.violation if new.steps > old.steps else 0.0,
        watch=("violation",),
        task=task,
    )
