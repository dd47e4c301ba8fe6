"""Working sets for the lasso family: solve on few columns, check on all.

Weighted, centred least squares with an elastic-net penalty,

    P(w) = 1/2 sum_i p_i (y_i - x_i w)^2 + a |w|_1 + b/2 |w|^2,  sum_i p_i = 1   (1)

where X and y are taken minus their p-means if there is an intercept, and below with
row i times sqrt(p_i). With residual r and correlations c = X^T r - b w, the point s r

    s = min(1, a / max_j |c_j|),  D = s y.r - s^2/2 (|r|^2 + b |w|^2)            (2)

is feasible for the dual, so P - D bounds P - P*. An iteration

1. adds to the working set E the columns with |c_j| > a, largest first, and by the
   strong rule those near it after the last drop of a;
2. solves on E, for which the Gram matrix G = X_E^T X_E is enough: coordinate
   descent finds the support S and the signs s; then the solution is that of

       (G_SS + b I) w_S = h_S - a s_S,   h = X_E^T y                           (3)

   which the stored Cholesky factor (`support_cholesky.py`) solves exactly if no sign
   changes. Otherwise the move stops where the first coordinate reaches 0, which lowers
   P, and continues without that coordinate;
3. recomputes r, the correlations and the gap of eq. (2). Columns that `screening.py`
   proves to be 0 at this a are skipped from then on.

G grows by the columns that enter and is kept along a path. Sets of more than `LIMIT`
columns are solved by the accelerated passes of `coordinate.py`, which need no Gram
matrix. Step 3 costs O(n d) per iteration.

Shapes    X (n, d)   y, p, r (n,)   w, c (d,)   E (k,)   G (k, k)
Refs      [Tibshirani2012] strong rules; [Massias2018] working sets; [Ndiaye2017]
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...core.loops import threads
from ...penalties.base import POSITIVE
from . import _coordinate as loops
from .coordinate import MEMORY, ColumnPasses, accelerated_pass
from .screening import GapSafeScreen, correlation_sizes, gap_safe_columns
from .support_cholesky import Support

LIMIT = 6000  # columns whose Gram matrix is kept: 288 MB
FIRST = 100  # columns a working set starts with
CROWD = 100  # entering columns above which passes without a Gram matrix are used
COLD = 12  # iterations of such passes before working sets are built anyway
SLOW = 0.5  # factor by which such an iteration must reduce the gap to be repeated
PIECE = 256  # rows of a product that one task computes
EPOCHS = 3  # coordinate passes between two exact solves
QUICK = 20  # iterations of plain passes on a full Gram matrix
DROPS = 10  # coordinates that an exact solve may drop one after the other
TIGHT = 1e4  # tolerance of an exact solve, in units of rounding
DRIFT = 1e6  # rounding error that passes may leave in a residual, in the same units
WATCH = ("gap", "n_screened")  # recorded in the history


class WorkingSetState(NamedTuple):
    """Coefficients w with their residual, correlations, objective and duality gap."""

    w: np.ndarray  # (d,)
    r: np.ndarray  # residual times sqrt(p), (n,)
    c: np.ndarray  # X^T r, (d,)
    objective: float  # P
    gap: float  # P - D
    kept: np.ndarray | None = None  # columns not screened at this a; None for all

    @property
    def n_screened(self):
        return 0 if self.kept is None else len(self.c) - len(self.kept)


class GramStore:
    """The Gram matrix of the columns that have ever been in the working set."""

    def __init__(self, design, y, gram=None, Xy=None):
        self.design, self.y, self.given = design, y, gram
        self.dtype = design.X.dtype
        self.index = np.empty(0, np.intp)  # E
        self.inside = np.zeros(design.d, bool)
        self.keeps_rows = gram is None and not design.sparse
        self.rows = np.empty((0, design.n if self.keeps_rows else 0), self.dtype)
        self.G = np.empty((0, 0), self.dtype)
        self.support = Support(self.dtype)
        self.passes = ColumnPasses(design)  # for rounds without a Gram matrix
        self.inner = None  # solver of `group_working_set.py` on the columns of E
        self.screen = GapSafeScreen(design)
        self.aim(y, Xy)

    def aim(self, y, Xy=None):
        """Take another target; the Gram matrix stays."""
        self.y = y
        self.energy = squared_norm(y)
        self.Xy = self.design.correlate(y) if Xy is None else Xy

    def __len__(self):
        return len(self.index)

    def views(self):
        """G and h on E."""
        k = len(self)
        return self.G[:k, :k], self.Xy[..., self.index]

    def add(self, new):
        """Add columns: compute their products with each other and with all others."""
        k, m = len(self.index), len(new)
        if k + m > len(self.G):
            self.grow(min(max(k + m, 2 * k, 2 * FIRST), self.design.d))
        self.index, self.inner = np.concatenate([self.index, new]), None
        self.inside[new] = True
        target = self.G[k : k + m, : k + m]
        if self.keeps_rows:
            self.rows[k : k + m] = self.design.rows(new)
            self.multiply(k, m, target)
        elif self.given is not None:
            target[:] = self.given[np.ix_(new, self.index)]
        else:
            target[:] = self.design.sparse_gram(new, self.index)
        loops.copy_upper_from_lower(self.G, k, k + m)

    def multiply(self, k, m, target):
        """Products of the m new rows with all, in pieces for threads."""

        def piece(i):
            new = self.rows[k + i : min(k + i + PIECE, k + m)]
            np.matmul(new, self.rows[: k + m].T, out=target[i : i + len(new)])

        tasks = (partial(piece, i) for i in range(0, m, PIECE))
        for _ in threads.run_tasks(tasks, blas=True):
            pass

    def grow(self, capacity):
        k = len(self.index)
        rows = np.empty((capacity, self.rows.shape[1]), self.dtype)
        G = np.empty((capacity, capacity), self.dtype)
        rows[:k], G[:k, :k] = self.rows[:k], self.G[:k, :k]
        self.rows, self.G = rows, G

    def residual(self, w):
        """y - X w for w on all d columns."""
        used = w if w.ndim == 1 else w.any(axis=0)
        used_places = np.flatnonzero(used[self.index])
        if not self.keeps_rows or len(used_places) < np.count_nonzero(used):
            return self.y - self.design.predict(w)
        return self.y - w[..., self.index[used_places]] @ self.rows[used_places]


class FullGram:
    """The Gram matrix of all columns, after which nothing of X is needed."""

    def __init__(self, G, Xy, energy):
        self.G = G
        self.dtype = G.dtype
        self.support, self.inner = Support(self.dtype), None
        self.aim(Xy, energy)

    def aim(self, Xy, energy):
        """Take another target: X^T y and |y|^2."""
        self.Xy = Xy
        self.energy = float(energy)

    def views(self):
        """G and h on E, which is all columns."""
        return self.G, self.Xy


def squared_norm(x):
    """Sum of squares of all entries."""
    return float(np.vdot(x, x))


def largest_correlation(c, penalty):
    """max |c_j|, or max c_j for non-negative coefficients."""
    return float(correlation_sizes(c, penalty).max(initial=0.0))


def lasso_duality_gap(w, slope, square, along, penalty):
    """P and P - D from |r|^2 + b |w|^2, y r and c - b w; eqs. (1), (2)."""
    a = penalty.a
    b = penalty.b
    l1 = float(np.abs(w).sum())
    primal = square / 2 + a * l1
    top = largest_correlation(slope, penalty)
    if a == 0:  # eq. (2) needs a > 0: use the gradient
        return primal, squared_norm(slope) / (2 * b) if b else top * max(l1, 1.0)
    s = min(1.0, a / top) if top > 0 else 1.0
    return primal, max(primal - s * along + s * s / 2 * square, 0.0)


def _evaluate_columns(store, w, r, penalty, tol=0.0, last=None) -> WorkingSetState:
    """Step 3: correlations, P, the gap of eq. (2) and the columns not screened out.

    `last` is the previous state at the same a: columns that it screened stay out.
    """
    kept = None if last is None else last.kept
    c, need, bound = store.screen.correlate(r, w, penalty, store.energy, kept)
    slope = c - penalty.b * w
    square = squared_norm(r) + penalty.b * squared_norm(w)
    inside = slope if need is None else slope[need]
    P, gap = lasso_duality_gap(w, inside, square, float(store.y @ r), penalty)
    if store.screen.lengths is not None and penalty.a > 0:
        size = np.where(w != 0, correlation_sizes(slope, penalty), bound)
        s = penalty.a / max(largest_correlation(inside, penalty), penalty.a)
        possible = gap_safe_columns(
            size, s, store.screen.lengths, gap, penalty, tol, store.energy
        )
        kept = np.flatnonzero(possible) if kept is None else kept[possible[kept]]
    return WorkingSetState(w, r, c, P, gap, kept)


def _gap_on_working_set(store, h, q, w, penalty):
    """P and the gap on E, where |r|^2 = |y|^2 - w (h + q) and y r = |y|^2 - w h."""
    b = penalty.b
    energy = store.energy
    square = energy - float(w @ (h + q)) + b * squared_norm(w)
    return lasso_duality_gap(w, q - b * w, square, energy - float(w @ h), penalty)


def start(store, w, penalty) -> WorkingSetState:
    """Initial state at coefficients w."""
    if isinstance(store, FullGram):
        q = store.Xy - store.G @ w
        return WorkingSetState(
            w, None, q, *_gap_on_working_set(store, store.Xy, q, w, penalty)
        )
    if w.any():
        return _evaluate_columns(store, w, store.residual(w), penalty)
    gap = lasso_duality_gap(w, store.Xy, store.energy, store.energy, penalty)
    return WorkingSetState(w, store.y, store.Xy, *gap)


def _violating_columns(store, state, penalty, near):
    """Step 1: columns to add; `near` is the threshold of the strong rule."""
    size = correlation_sizes(state.c, penalty, state.kept)
    level = penalty.a if near is None else min(near, penalty.a)
    violating = np.flatnonzero((size > level) & ~store.inside)
    limit = max(FIRST, 2 * np.count_nonzero(state.w))
    if len(violating) > limit:
        violating = np.sort(violating[np.argpartition(-size[violating], limit)[:limit]])
    return violating


def solve_on_working_set(
    store, w, penalty, tol, rng=None, max_rounds=100, *, fresh=False
):
    """Step 2: eq. (1) on E to a gap of `tol` there; w is (k,) and changed in place.

    If the stored factor belongs to nearly the same support, the solution is computed to
    rounding error at no extra cost, and the next point of a path starts from there;
    otherwise to `tol`. A new factor is computed once the support is stable.
    """
    G, h = store.views()
    eps = np.finfo(store.dtype).eps
    tight = min(TIGHT * eps * store.energy, tol)
    order = np.arange(len(h))
    _exact_support_step(store, G, h, w, penalty, fresh=fresh)
    q = h - G @ w
    kind, a, b = penalty.kind, penalty.a, penalty.b
    old_support = np.flatnonzero(w)
    for _ in range(max_rounds):
        order = order if rng is None else rng.permutation(len(h))
        moved = loops.gram_epochs(G, q, w, order, kind, a, b, EPOCHS)
        S = np.flatnonzero(w)
        near = store.support.near(b, S)
        if moved == 0 or _gap_on_working_set(store, h, q, w, penalty)[1] <= (
            tight if near else tol
        ):
            break
        stable = (
            len(np.setxor1d(old_support, S, assume_unique=True)) <= 8 + len(S) // 16
        )
        old_support = S
        if not (near or stable):
            continue
        exact = _exact_support_step(store, G, h, w, penalty, fresh=True)
        q = h - G @ w
        if _gap_on_working_set(store, h, q, w, penalty)[1] <= (tight if exact else tol):
            break
    # coefficients that equal 0 up to rounding, such as those of a duplicate column
    w[np.abs(w) * np.sqrt(np.diag(G)) < 8 * eps * np.sqrt(store.energy)] = 0.0


def _exact_support_step(store, G, h, w, penalty, *, fresh) -> bool:
    """Move w to the solution of eq. (3) on its support, as far as the signs allow.

    With `fresh` false only the stored factor is used, if it fits: along a path that is
    the exact move to the next a while the support stays the same.
    """
    S = np.flatnonzero(w)
    if len(S) == 0 or not (fresh or store.support.holds(penalty.b, S)):
        return False
    for _ in range(DROPS):
        old = w[S]
        sign = np.sign(old)
        target = store.support.solve(G, penalty.b, S, h[S] - penalty.a * sign)
        if target is None or not np.isfinite(target).all():
            return False  # rank deficient: left to coordinate descent
        flips = target * sign < 0
        if not flips.any():
            w[S] = target
            return True
        reach = old[flips] / (old[flips] - target[flips])
        share = reach.min()
        w[S] = old + share * (target - old)
        w[S[flips]] = np.where(reach <= share, 0, w[S[flips]])
        S = np.flatnonzero(w)
    return True


def _round_without_gram(store, state, penalty, tol, rng=None, groups=4, memory=MEMORY):
    """An iteration without a Gram matrix: accelerated passes over candidate columns."""
    size = correlation_sizes(state.c, penalty, state.kept)
    E = np.flatnonzero((size > 0.9 * penalty.a) | (state.w != 0))
    store.passes.prepare(E)
    shuffle = rng.permutation if rng is not None else lambda order: order
    w = state.w.copy()
    r = state.r.copy()
    for _ in range(groups):
        accelerated_pass(store.passes, r, w, penalty, E, shuffle, memory)
    new = _evaluate_columns(store, w, r, penalty, tol, state)
    drift = DRIFT * np.finfo(store.dtype).eps * store.energy
    if new.gap <= tol < drift:  # confirm with a freshly computed residual
        new = _evaluate_columns(store, w, store.residual(w), penalty, tol, state)
    return new


def _many_columns_enter(store, state, penalty) -> bool:
    """Whether so many columns may enter that the Gram matrix would dominate the cost.

    This happens in a single fit at a small a, far from its start; along a path only a
    few columns enter at a time.
    """
    wanted = (correlation_sizes(state.c, penalty, state.kept) > penalty.a) | (
        state.w != 0
    )
    return np.count_nonzero(wanted & ~store.inside) > CROWD


def _full_gram_step(store, penalty, tol, rng, exact, state) -> WorkingSetState:
    """An iteration where E is all columns: plain passes first, then exact solves."""
    G, h = store.views()
    w = state.w.copy()
    q = state.c.copy()
    order = np.arange(len(h)) if rng is None else rng.permutation(len(h))
    kind, a, b = penalty.kind, penalty.a, penalty.b
    is_done = a > 0 and loops.gram_rounds(
        G, h, q, w, store.energy, order, kind, kind == POSITIVE, a, b, tol, QUICK
    )
    if not is_done or exact:
        solve_on_working_set(store, w, penalty, 0.8 * tol, rng, fresh=True)
        return start(store, w, penalty)
    return WorkingSetState(w, None, q, *_gap_on_working_set(store, h, q, w, penalty))


def rounds(store, penalty, tol, near=np.inf, rng=None):
    """The function step(state) -> state that does one iteration of the module text.

    The first iteration also adds columns above `near`, the strong rule's 2 a - a_old.
    It is inf for a single fit, which is solved to rounding error where this is cheap.
    """
    if isinstance(store, FullGram):
        return partial(_full_gram_step, store, penalty, tol, rng, near == np.inf)
    threshold = near  # None after the first working set
    cold_iterations = COLD if near == np.inf else 0
    started = False

    def step(state):
        nonlocal threshold, cold_iterations, started
        if not started:  # screening so far was for another a
            state = state._replace(kept=None)
            started = True
        if cold_iterations and _many_columns_enter(store, state, penalty):
            # the first ones need only a rough solution
            memory = 2 if cold_iterations > COLD - 2 else MEMORY
            new = _round_without_gram(store, state, penalty, tol, rng, 1, memory)
            fast = new.gap < SLOW * state.gap
            cold_iterations = cold_iterations - 1 if fast else 0
            return new
        new = _violating_columns(store, state, penalty, threshold)
        if threshold is not None:  # a start may be non-zero on columns outside E
            missing = np.flatnonzero((state.w != 0) & ~store.inside)
            new = np.union1d(new, missing)
        threshold = None
        if len(store) + len(new) > LIMIT:
            return _round_without_gram(store, state, penalty, tol, rng)
        if len(new):
            store.add(new)
        if len(store) == 0:
            return _evaluate_columns(store, state.w, state.r, penalty, tol, state)
        u = state.w[store.index]
        solve_on_working_set(store, u, penalty, 0.8 * tol, rng)
        w = np.zeros_like(state.w)
        w[store.index] = u
        return _evaluate_columns(store, w, store.residual(w), penalty, tol, state)

    return step
