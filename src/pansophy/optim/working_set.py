"""Working sets for the lasso family: solve on few columns, check on all.

Weighted, centred least squares with an elastic-net penalty,

    P(w) = 1/2 sum_i p_i (y_i - x_i w)^2 + a |w|_1 + b/2 |w|^2,  sum_i p_i = 1   (1)

where X and y are taken minus their p-means if there is an intercept, and below with
row i times sqrt(p_i). With residual r and correlations c = X^T r - b w, the point s r

    s = min(1, a / max_j |c_j|),  D = s y.r - s^2/2 (|r|^2 + b |w|^2)            (2)

is feasible for the dual, so P - D bounds P - P*. A round

1. adds to the working set E the columns with |c_j| > a, largest first, and by the
   strong rule those near it after the last drop of a;
2. solves on E, for which the Gram matrix G = X_E^T X_E is enough: coordinate
   descent finds the support S and the signs s; then the solution is that of

       (G_SS + b I) w_S = h_S - a s_S,   h = X_E^T y                           (3)

   and the kept Cholesky factor (`support.py`) lands on it exactly if no sign turns.
   Where one does, the move stops as the first coordinate meets 0, which lowers P,
   and goes on without it;
3. recomputes r and the correlations, and so the gap of eq. (2). Columns that
   `screening.py` proves to be 0 at this a are left out from then on.

G grows by the columns that enter and is kept along a path. Sets of more than `LIMIT`
columns are left to the accelerated passes of `coordinate.py`, which need no Gram
matrix. One round costs O(n d) for step 3.

Shapes    X (n, d)   y, p, r (n,)   w, c (d,)   E (k,)   G (k, k)
Refs      [Tibshirani2012] strong rules; [Massias2018] working sets; [Ndiaye2017]
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..core import threads
from ..penalties.base import POSITIVE
from . import _coordinate as loops
from .coordinate import MEMORY, Passes, accelerated
from .screening import Screen, sizes, survivors
from .support import Support

LIMIT = 6000  # columns whose Gram matrix is kept: 288 MB
FIRST = 100  # columns a working set starts with
CROWD = 100  # columns at the door that call for passes without a Gram matrix
COLD = 12  # rounds of such passes before sets are built all the same
SLOW = 0.5  # what such a round must make of the gap for another one
PIECE = 256  # rows of a product that one thread makes
EPOCHS = 3  # coordinate passes between two exact solves
QUICK = 20  # rounds of plain passes on a whole Gram matrix
TURNS = 10  # coordinates an exact solve may lose one after the other
TIGHT = 1e4  # an exact solve is held to this many units of rounding
DRIFT = 1e6  # units of rounding that passes may leave in a residual
WATCH = ("gap", "n_screened")  # what a history tells of the rounds


class State(NamedTuple):
    """A point of the primal and what one round says of it."""

    w: np.ndarray  # (d,)
    r: np.ndarray  # residual times sqrt(p), (n,)
    c: np.ndarray  # X^T r, (d,)
    objective: float  # P
    gap: float  # P - D
    kept: np.ndarray | None = None  # columns not screened at this a; None for all

    @property
    def n_screened(self):
        return 0 if self.kept is None else len(self.c) - len(self.kept)


class Store:
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
        self.passes = Passes(design)  # for rounds without a Gram matrix
        self.inner = None  # what `groups.py` makes of the columns let in
        self.screen = Screen(design)
        self.aim(y, Xy)

    def aim(self, y, Xy=None):
        """Take another target; the Gram matrix stays."""
        self.y, self.energy = y, norm2(y)
        self.Xy = self.design.correlate(y) if Xy is None else Xy

    def __len__(self):
        return len(self.index)

    def views(self):
        """G and h on E."""
        k = len(self)
        return self.G[:k, :k], self.Xy[..., self.index]

    def add(self, new):
        """Let columns in: their products with each other and with all others."""
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
        loops.mirror(self.G, k, k + m)

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
        some = np.flatnonzero(used[self.index])
        if not self.keeps_rows or len(some) < np.count_nonzero(used):
            return self.y - self.design.predict(w)
        return self.y - w[..., self.index[some]] @ self.rows[some]


class Whole:
    """The Gram matrix of all columns, after which nothing of X is needed."""

    def __init__(self, G, Xy, energy):
        self.G, self.dtype = G, G.dtype
        self.support, self.inner = Support(self.dtype), None
        self.aim(Xy, energy)

    def aim(self, Xy, energy):
        """Take another target: X^T y and |y|^2."""
        self.Xy, self.energy = Xy, float(energy)

    def views(self):
        """G and h on E, which is all columns."""
        return self.G, self.Xy


def norm2(x):
    return float(np.vdot(x, x))


def largest(c, penalty):
    """max |c_j|, or max c_j for coefficients of at least 0."""
    return float(sizes(c, penalty).max(initial=0.0))


def certify(w, slope, square, along, penalty):
    """P and P - D from |r|^2 + b |w|^2, y r and c - b w; eqs. (1), (2)."""
    a, b, l1 = penalty.a, penalty.b, float(np.abs(w).sum())
    primal, top = square / 2 + a * l1, largest(slope, penalty)
    if a == 0:  # no bound from eq. (2): how steep P still is stands in
        return primal, norm2(slope) / (2 * b) if b else top * max(l1, 1.0)
    s = min(1.0, a / top) if top > 0 else 1.0
    return primal, max(primal - s * along + s * s / 2 * square, 0.0)


def measure(store, w, r, penalty, tol=0.0, last=None) -> State:
    """Step 3: correlations, P and the gap of eq. (2), and who is left after it.

    `last` is the state before at the same a: what it screened stays out.
    """
    kept = None if last is None else last.kept
    c, need, bound = store.screen.correlate(r, w, penalty, store.energy, kept)
    slope, square = c - penalty.b * w, norm2(r) + penalty.b * norm2(w)
    inside = slope if need is None else slope[need]
    P, gap = certify(w, inside, square, float(store.y @ r), penalty)
    if store.screen.lengths is not None and penalty.a > 0:
        size = np.where(w != 0, sizes(slope, penalty), bound)
        s = penalty.a / max(largest(inside, penalty), penalty.a)
        how = (store.screen.lengths, gap, penalty, tol, store.energy)
        left = survivors(size, s, *how)
        kept = np.flatnonzero(left) if kept is None else kept[left[kept]]
    return State(w, r, c, P, gap, kept)


def weigh(store, h, q, w, penalty):
    """P and the gap on E, where |r|^2 = |y|^2 - w (h + q) and y r = |y|^2 - w h."""
    b, energy = penalty.b, store.energy
    square = energy - float(w @ (h + q)) + b * norm2(w)
    return certify(w, q - b * w, square, energy - float(w @ h), penalty)


def start(store, w, penalty) -> State:
    """The state at coefficients w."""
    if isinstance(store, Whole):
        q = store.Xy - store.G @ w
        return State(w, None, q, *weigh(store, store.Xy, q, w, penalty))
    if w.any():
        return measure(store, w, store.residual(w), penalty)
    gap = certify(w, store.Xy, store.energy, store.energy, penalty)
    return State(w, store.y, store.Xy, *gap)


def choose(store, state, penalty, near):
    """Step 1: which columns to let in; `near` is the strong rule's threshold."""
    size = sizes(state.c, penalty, state.kept)
    level = penalty.a if near is None else min(near, penalty.a)
    out = np.flatnonzero((size > level) & ~store.inside)
    room = max(FIRST, 2 * np.count_nonzero(state.w))
    if len(out) > room:
        out = np.sort(out[np.argpartition(-size[out], room)[:room]])
    return out


def solve(store, w, penalty, tol, rng=None, max_rounds=100, *, fresh=False):
    """Step 2: eq. (1) on E to a gap of `tol` there; w is (k,) and changed in place.

    Where the factor at hand is that of nearly the same support, it costs no more to
    go on to rounding error, and the next point of a path starts from there; `tol`
    counts otherwise. A new factor waits until passes leave the support alone.
    """
    G, h = store.views()
    eps = np.finfo(store.dtype).eps
    tight = min(TIGHT * eps * store.energy, tol)
    order = np.arange(len(h))
    jump(store, G, h, w, penalty, fresh=fresh)
    q = h - G @ w
    kind, a, b = penalty.kind, penalty.a, penalty.b
    before = np.flatnonzero(w)
    for _ in range(max_rounds):
        order = order if rng is None else rng.permutation(len(h))
        moved = loops.gram_epochs(G, q, w, order, kind, a, b, EPOCHS)
        S = np.flatnonzero(w)
        near = store.support.near(b, S)
        if moved == 0 or weigh(store, h, q, w, penalty)[1] <= (tight if near else tol):
            break
        stable = len(np.setxor1d(before, S, assume_unique=True)) <= 8 + len(S) // 16
        before = S
        if not (near or stable):
            continue
        exact = jump(store, G, h, w, penalty, fresh=True)
        q = h - G @ w
        if weigh(store, h, q, w, penalty)[1] <= (tight if exact else tol):
            break
    # what cannot be told from 0: a copy of a chosen column, say
    w[np.abs(w) * np.sqrt(np.diag(G)) < 8 * eps * np.sqrt(store.energy)] = 0.0


def jump(store, G, h, w, penalty, *, fresh) -> bool:
    """Move w to eq. (3) on its support, or as far as the signs allow.

    With `fresh` false only the factor at hand is used, if it fits: along a path
    that is the exact move to the next a while the support stays the same.
    """
    S = np.flatnonzero(w)
    if len(S) == 0 or not (fresh or store.support.holds(penalty.b, S)):
        return False
    for _ in range(TURNS):
        old, sign = w[S], np.sign(w[S])
        target = store.support.solve(G, penalty.b, S, h[S] - penalty.a * sign)
        if target is None or not np.isfinite(target).all():
            return False  # more columns than rank: coordinate descent goes on alone
        turns = target * sign < 0
        if not turns.any():
            w[S] = target
            return True
        reach = old[turns] / (old[turns] - target[turns])
        share = reach.min()
        w[S] = old + share * (target - old)
        w[S[turns]] = np.where(reach <= share, 0, w[S[turns]])
        S = np.flatnonzero(w)
    return True


def wide(store, state, penalty, tol, rng=None, groups=4, memory=MEMORY):
    """A round without a Gram matrix: accelerated passes over all that may move."""
    size = sizes(state.c, penalty, state.kept)
    E = np.flatnonzero((size > 0.9 * penalty.a) | (state.w != 0))
    store.passes.prepare(E)
    shuffle = rng.permutation if rng is not None else lambda order: order
    w, r = state.w.copy(), state.r.copy()
    for _ in range(groups):
        accelerated(store.passes, r, w, penalty, E, shuffle, memory)
    new = measure(store, w, r, penalty, tol, state)
    drift = DRIFT * np.finfo(store.dtype).eps * store.energy
    if new.gap <= tol < drift:  # vouch for it with a residual free of rounding
        new = measure(store, w, store.residual(w), penalty, tol, state)
    return new


def crowded(store, state, penalty) -> bool:
    """Whether so many columns may enter that a Gram matrix would be most of the work.

    True of a single fit at a small a, far from its start; along a path columns enter
    a few at a time.
    """
    wanted = (sizes(state.c, penalty, state.kept) > penalty.a) | (state.w != 0)
    return np.count_nonzero(wanted & ~store.inside) > CROWD


def settle(store, penalty, tol, rng, exact, state) -> State:
    """A round where E is all columns: quick passes first, then exact solves."""
    G, h = store.views()
    w, q = state.w.copy(), state.c.copy()
    order = np.arange(len(h)) if rng is None else rng.permutation(len(h))
    kind, a, b = penalty.kind, penalty.a, penalty.b
    done = a > 0 and loops.gram_rounds(
        G, h, q, w, store.energy, order, kind, kind == POSITIVE, a, b, tol, QUICK
    )
    if not done or exact:
        solve(store, w, penalty, 0.8 * tol, rng, fresh=True)
        return start(store, w, penalty)
    return State(w, None, q, *weigh(store, h, q, w, penalty))


def rounds(store, penalty, tol, near=np.inf, rng=None):
    """step(state) -> state: one round of the module text.

    The first round also lets in columns above `near`, the strong rule's 2 a - a_old,
    which is inf for a fit on its own: that is solved to rounding where this is cheap.
    """
    if isinstance(store, Whole):
        return partial(settle, store, penalty, tol, rng, near == np.inf)
    first, cold, begun = [near], [COLD if near == np.inf else 0], []

    def step(state):
        if not begun:  # what was screened so far was screened at another a
            state = state._replace(kept=None)
            begun.append(True)
        if cold[0] and crowded(store, state, penalty):
            memory = 2 if cold[0] > COLD - 2 else MEMORY  # a rough start is enough
            new = wide(store, state, penalty, tol, rng, 1, memory)
            cold[0] = cold[0] - 1 if new.gap < SLOW * state.gap else 0
            return new
        new = choose(store, state, penalty, first[0])
        if first[0] is not None:  # a start may be non-zero on columns not yet in
            lost = np.flatnonzero((state.w != 0) & ~store.inside)
            new = np.union1d(new, lost)
        first[0] = None
        if len(store) + len(new) > LIMIT:
            return wide(store, state, penalty, tol, rng)
        if len(new):
            store.add(new)
        if len(store) == 0:
            return measure(store, state.w, state.r, penalty, tol, state)
        u = state.w[store.index]
        solve(store, u, penalty, 0.8 * tol, rng)
        w = np.zeros_like(state.w)
        w[store.index] = u
        return measure(store, w, store.residual(w), penalty, tol, state)

    return step
