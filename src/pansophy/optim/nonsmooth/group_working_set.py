"""Working sets for group penalties: multi-task, group and sparse-group lasso.

For t targets, groups g of columns and weights p_i of the rows,

    P(W) = 1/2 sum_i p_i |y_i - W x_i|^2 + a sum_g m_g |W_g| + l |W|_1 + b/2 |W|^2 (1)

with |W_g| the Frobenius norm of the group's coefficients over all targets: single
columns with t targets are the multi-task lasso, wider groups with t = 1 the group
lasso. X and y are centred and row i is multiplied by sqrt(p_i), as in `working_set.py`.
With residual R, correlations C = R X - b W and soft(C, l) entrywise, the point s R with

    s = the largest s <= 1 with |soft(s C_g, l)| <= a m_g for all g,
    D = s <Y, R> - s^2/2 (|R|^2 + b |W|^2)                                       (2)

is feasible for the dual, so P - D bounds P - P*. An iteration adds the groups that
violate eq. (2) at s = 1 most to the working set and solves on its columns E by block
coordinate descent on their Gram matrix,

    W_g <- prox(W_g + Q_g / L_g),   Q = H - W G,  L_g = |G_gg|_2                 (3)

with Anderson extrapolation (`coordinate.py`), and recomputes R, C and the gap. A group
of one column is minimised exactly by eq. (3). More than `LIMIT` columns are processed
in blocks of `BLOCK_COLUMNS` columns, one block after the other.

Cost      O(n d t) per iteration, O(|E|^2 t) per pass; memory O(n |E| + |E|^2)
Shapes    X (n, d)   Y, R (t, n)   W, C (t, d)   G (k, k)   H, Q (t, k)
Refs      [Yuan2006] [Obozinski2010] [Simon2013] [Ndiaye2017] gap; [Bertrand2021]
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg

from . import _group_working_set as loops
from .coordinate import MEMORY, anderson_weights
from .working_set import FIRST, LIMIT, TIGHT, FullGram, GramStore

NEWTON = 200  # non-zero entries up to which Newton steps are taken
SINGULAR = 1e-12  # share of a diagonal entry below which a pivot is rounding
DAMPING = 1e-8  # of a singular Newton matrix, as a share of its largest diagonal entry
QUICK = 4  # iterations of plain passes before extrapolation
BLOCK_COLUMNS = (
    2000  # columns of a block where the Gram matrix of all would be too large
)
WATCH = ("gap",)  # recorded in the history


class GroupWorkingSetState(NamedTuple):
    """Coefficients W with their residual, correlations, objective and duality gap."""

    w: np.ndarray  # W (t, d)
    r: np.ndarray  # residual times sqrt(p), (t, n)
    c: np.ndarray  # R X, (t, d)
    objective: float  # P
    gap: float  # P - D


class Groups(NamedTuple):
    """Partition of the columns into groups, each with its weight m_g."""

    members: np.ndarray  # columns, group by group
    starts: np.ndarray  # where each group starts; one more at the end
    weights: np.ndarray  # m_g

    def __len__(self):
        return len(self.weights)

    @property
    def sizes(self):
        return np.diff(self.starts)

    def of_columns(self):
        """Group number of every column."""
        out = np.empty(len(self.members), np.intp)
        out[self.members] = np.repeat(np.arange(len(self)), self.sizes)
        return out


def single_column_groups(d) -> Groups:
    """Groups of one column each."""
    return Groups(np.arange(d), np.arange(d + 1), np.ones(d))


def from_labels(labels, weights=None) -> Groups:
    """Groups from a label for each column; m_g is sqrt(size) unless given."""
    _, labels = np.unique(labels, return_inverse=True)
    sizes = np.bincount(labels)
    members = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    m = np.sqrt(sizes) if weights is None else np.asarray(weights, dtype=float)
    return Groups(members, starts, m)


class GroupPenalty(NamedTuple):
    """The penalty of eq. (1) with its strengths a, l and b."""

    groups: Groups
    a: float
    l1: float = 0.0
    b: float = 0.0

    def value(self, W):
        """Value of the penalty at W."""
        size = loops.group_norms(W, self.groups.members, self.groups.starts, 0.0)
        group = self.a * float(self.groups.weights @ size)
        l1 = self.l1 * float(np.abs(W).sum())
        return group + l1 + self.b / 2 * float(np.vdot(W, W))

    def scale(self, C):
        """Scale s of eq. (2) that makes s R feasible for the dual."""
        members, starts, m = self.groups
        limit = self.a * m
        size = loops.group_norms(C, members, starts, self.l1)
        if np.all(size <= limit):
            return 1.0
        if self.l1 == 0:
            exceeds = size > limit
            return float(np.min(limit[exceeds] / size[exceeds]))
        low = 0.0
        high = 1.0
        while high - low > 1e-12:  # bisection: no closed form with an L1 part
            s = (low + high) / 2
            fits = np.all(
                s * loops.group_norms(C, members, starts, self.l1 / s) <= limit
            )
            if fits:
                low = s
            else:
                high = s
        return low


def _group_duality_gap(W, C, square, along, penalty, extra):
    """P and the duality gap of eq. (2) from |R|^2 + b |W|^2 and <Y, R>."""
    primal = square / 2 + extra
    if penalty.a == 0 and penalty.l1 == 0:  # eq. (2) needs a > 0: use the gradient
        gradient2 = float(np.vdot(C, C))
        size = max(float(np.abs(W).sum()), 1.0)
        gap = gradient2 / (2 * penalty.b) if penalty.b else gradient2**0.5 * size
        return primal, gap
    s = penalty.scale(C)
    return primal, max(primal - s * along + s * s / 2 * square, 0.0)


def _evaluate_groups(store, W, R, penalty) -> GroupWorkingSetState:
    """State at W: correlations, P and the gap."""
    C = store.design.correlate(R)
    ridge = penalty.b * float(np.vdot(W, W))
    square = float(np.vdot(R, R)) + ridge
    inner = float(np.vdot(store.y, R))
    extra = penalty.value(W) - ridge / 2
    objective, gap = _group_duality_gap(
        W, C - penalty.b * W, square, inner, penalty, extra
    )
    return GroupWorkingSetState(W, R, C, objective, gap)


def start(store, W, penalty) -> GroupWorkingSetState:
    """Initial state at coefficients W."""
    if isinstance(store, FullGram):
        Q = store.Xy - W @ store.G
        inner = _inner_of(store, penalty)
        return GroupWorkingSetState(
            W, None, Q, *inner.objective_and_gap(store.Xy, Q, W, penalty)
        )
    return _evaluate_groups(store, W, store.residual(W), penalty)


def _violating_groups(store, state, penalty, near):
    """Groups to add to E: those that violate eq. (2) most, or are near it."""
    members, starts, m = penalty.groups
    inside = store.inside[members[starts[:-1]]]
    size = loops.group_norms(state.c, members, starts, penalty.l1)
    level = penalty.a if near is None else min(near, penalty.a)
    excess = np.where(inside, -np.inf, size - level * m)
    violating = np.flatnonzero(excess > 0)
    active = loops.group_norms(state.w, members, starts, 0.0) > 0
    # with wide groups columns cost more than iterations: add fewer at a time
    width = len(members) / len(m)
    growth = 2 if width < 2 else 1
    limit = int(max(FIRST / width, growth * np.count_nonzero(active), 1))
    if len(violating) > limit:
        violating = violating[np.argpartition(-excess[violating], limit)[:limit]]
    missing = np.flatnonzero(active & ~inside)  # a start may be non-zero anywhere
    return np.union1d(violating, missing)


def _columns_in_groups(groups, chosen):
    """Columns of the chosen groups, group by group."""
    sizes = groups.sizes[chosen]
    offsets = np.cumsum(sizes) - sizes
    offsets_within = np.arange(sizes.sum()) - np.repeat(offsets, sizes)
    return groups.members[np.repeat(groups.starts[chosen], sizes) + offsets_within]


def _group_curvatures(G, members, starts):
    """Largest eigenvalues L_g of the diagonal blocks of G, eq. (3)."""
    sizes = np.diff(starts)
    out = np.empty(len(starts) - 1)
    for s in np.unique(sizes):
        groups_of_size = np.flatnonzero(sizes == s)
        columns = members[starts[groups_of_size, None] + np.arange(s)]
        if s == 1:
            out[groups_of_size] = G[columns[:, 0], columns[:, 0]]
            continue
        for low in range(0, len(groups_of_size), 256):
            part = columns[low : low + 256]
            blocks = G[part[:, :, None], part[:, None, :]]
            out[groups_of_size[low : low + 256]] = np.linalg.eigvalsh(blocks)[:, -1]
    return out


def _definite_cholesky(A):
    """The upper Cholesky factor of A; None if A is singular up to rounding."""
    try:
        R = scipy.linalg.cholesky(A, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    definite = np.all(np.diag(R) ** 2 > SINGULAR * np.diag(A))
    return R if definite else None


class Inner:
    """Solver of eq. (1) restricted to the working set, by the Gram matrix of E.

    Columns are in the order in which they were added, group by group.
    """

    def __init__(self, store, groups):
        G, H = store.views()
        self.store = store
        self.G = G
        if isinstance(store, FullGram):
            local = groups
        else:
            group = groups.of_columns()[store.index]
            first = np.flatnonzero(np.diff(group, prepend=-1))
            starts = np.append(first, len(group))
            m = groups.weights[group[first]]
            local = Groups(np.arange(len(group)), starts, m)
        self.groups = local
        self.every = np.arange(len(local))
        self.curve = _group_curvatures(G, local.members, local.starts)
        widest = int(local.sizes.max(initial=1))
        self.scratch = np.empty((len(H), widest), G.dtype)

    def problem(self, penalty) -> loops.GroupProblem:
        """The arrays of eq. (1) that compiled loops take."""
        members, starts, m = self.groups
        return loops.GroupProblem(
            G=self.G,
            members=members,
            starts=starts,
            curve=self.curve,
            a=penalty.a * m,
            l1=float(penalty.l1),
            b=penalty.b,
            V=self.scratch,
        )

    def objective_and_gap(self, H, Q, W, penalty):
        """P and the gap, with |R|^2 = |Y|^2 - <W, H + Q>, <Y, R> = |Y|^2 - <W, H>."""
        energy = self.store.energy
        ridge = penalty.b * float(np.vdot(W, W))
        square = energy - float(np.vdot(W, H + Q)) + ridge
        inner = energy - float(np.vdot(W, H))
        penalty = penalty._replace(groups=self.groups)
        extra = penalty.value(W) - ridge / 2
        return _group_duality_gap(W, Q - penalty.b * W, square, inner, penalty, extra)

    def quick(self, H, Q, W, penalty, order, tol) -> bool:
        """Plain passes in place; whether the gap is down to tol."""
        if penalty.a == 0 or penalty.l1 > 0:
            return False
        problem = self.problem(penalty)
        return loops.block_rounds(
            problem, H, Q, W, self.store.energy, order, tol, QUICK
        )

    def run(self, Q, W, penalty, order):
        """One pass of eq. (3), in place; how many groups it changed."""
        return loops.gram_blocks(self.problem(penalty), Q, W, order, 1)

    def solve(self, W, penalty, tol, shuffle, max_rounds=200, *, exact=False):
        """Minimise to a gap of at most tol: changes W in place and returns Q.

        Passes alternate with Newton steps (small supports) or Anderson extrapolation.
        With `exact` a small support is solved to rounding error.
        """
        H = self.store.views()[1]
        Q = H - W @ self.G
        is_done = self.quick(H, Q, W, penalty, shuffle(self.every), tol)
        if is_done and not (exact and np.count_nonzero(W) <= NEWTON):
            return Q
        for _ in range(max_rounds):
            if self.run(Q, W, penalty, shuffle(self.every)) == 0:
                break
            small = np.count_nonzero(W) <= NEWTON
            tight = TIGHT * np.finfo(W.dtype).eps * self.store.energy
            goal = min(tight, tol) if exact and small else tol
            if self.objective_and_gap(H, Q, W, penalty)[1] <= goal:
                break
            old_W = W.copy()
            if not (small and self.newton(H, Q, W, penalty)):
                self.extrapolate(H, Q, W, penalty, shuffle)
            elif np.array_equal(old_W, W):
                break
        return Q

    def extrapolate(self, H, Q, W, penalty, shuffle):
        """Passes over the active groups, then Anderson extrapolation if it lowers P."""
        size = loops.group_norms(W, self.groups.members, self.groups.starts, 0.0)
        S = np.flatnonzero(size > 0)
        path = np.empty((MEMORY + 1, W.size), W.dtype)
        path[0] = W.ravel()
        for m in range(1, MEMORY + 1):
            self.run(Q, W, penalty, shuffle(S))
            path[m] = W.ravel()
        z = anderson_weights(path)
        if z is not None:
            self.accept(H, Q, W, (z @ path[1:]).reshape(W.shape), penalty)

    def newton(self, H, Q, W, penalty):
        """Newton steps on the non-zero entries, where P is smooth.

        The curvature of |w_g| is (I - u u^T) / |w_g| with u the direction of w_g.
        With more columns than rank P is flat but for the penalty: damped steps then end
        where the first group reaches 0. Returns False if P cannot be lowered so.
        """
        group = self.groups.of_columns()
        for _ in range(10):
            t, j = np.nonzero(W)
            w = W[t, j]
            g = group[j]
            size = loops.group_norms(W, self.groups.members, self.groups.starts, 0.0)[g]
            shrinkage = penalty.a * self.groups.weights[g] / size
            slope = (shrinkage + penalty.b) * w - Q[t, j] + penalty.l1 * np.sign(w)
            A = self.G[np.ix_(j, j)] * (t[:, None] == t)
            A -= (g[:, None] == g) * np.outer(w * shrinkage / size**2, w)
            A[np.diag_indices(len(w))] += shrinkage + penalty.b
            R = _definite_cholesky(A)
            is_singular = R is None
            if is_singular:
                A[np.diag_indices(len(w))] += DAMPING * A.diagonal().max()
                R = _definite_cholesky(A)
            if R is None:
                return False
            step = scipy.linalg.cho_solve((R, False), slope)
            if is_singular:
                radial = np.bincount(g, step * w / size**2, len(group))[g]
                first = radial.max()
                if first > 1:  # the share of the step at which that group is 0
                    step = np.where(radial == first, w, step / first)
            trial = W.copy()
            trial[t, j] -= step
            if penalty.l1:
                trial[t, j] = np.where(
                    np.sign(trial[t, j]) == np.sign(w), trial[t, j], 0
                )
            if not self.accept(H, Q, W, trial, penalty):
                return not is_singular
            if np.abs(step).max() <= 1e-14 * np.abs(w).max():
                break
        return True

    def accept(self, H, Q, W, trial, penalty) -> bool:
        """Move to `trial` if that lowers P, and by more than its rounding may pretend.

        |R|^2 comes from the Gram matrix, where the digits of large terms cancel.
        """
        eps = np.finfo(W.dtype).eps
        largest_term = float(np.sum(np.abs(trial) @ np.sqrt(np.diag(self.G)))) ** 2
        if not eps * largest_term <= eps**0.5 * self.store.energy:
            return False
        trial_Q = H - trial @ self.G
        value = lambda q, w: self.objective_and_gap(H, q, w, penalty)[0]
        better = value(trial_Q, trial) < value(Q, W)
        if better:
            W[:] = trial
            Q[:] = trial_Q
        return better


def _round_in_column_blocks(
    store, state, penalty, tol, shuffle
) -> GroupWorkingSetState:
    """One iteration over blocks of columns, for sets too large for a Gram matrix."""
    groups = penalty.groups
    W = state.w.copy()
    R = state.r.copy()
    size = loops.group_norms(state.c, groups.members, groups.starts, penalty.l1)
    active = loops.group_norms(W, groups.members, groups.starts, 0.0) > 0
    chosen = np.flatnonzero((size > 0.9 * penalty.a * groups.weights) | active)
    block = np.cumsum(groups.sizes[chosen]) // BLOCK_COLUMNS
    blocks = np.split(chosen, np.flatnonzero(np.diff(block)) + 1)
    tol = 1e-3 * tol / len(blocks)  # the errors of all blocks add up
    for block_groups in blocks:
        index = _columns_in_groups(groups, block_groups)
        W_block = np.zeros_like(W)
        W_block[:, index] = W[:, index]
        block_store = GramStore(store.design, R + store.design.predict(W_block))
        block_store.add(index)
        u = np.ascontiguousarray(W_block[:, index])
        Inner(block_store, groups).solve(u, penalty, tol, shuffle, 3)
        W_block[:, index] = u
        W[:, index] = u
        R = block_store.residual(W_block)
    return _evaluate_groups(store, W, store.residual(W), penalty)


def rounds(store, penalty, tol, near=np.inf, rng=None):
    """The function step(state) -> state that does one iteration of the module text.

    The first iteration also adds groups above `near`, the strong rule's 2 a - a_old.
    """
    shuffle = rng.permutation if rng is not None else lambda order: order
    if isinstance(store, FullGram):
        return partial(_full_gram_round, store, penalty, tol, shuffle, near == np.inf)
    first = [near]

    def step(state):
        new = _violating_groups(store, state, penalty, first[0])
        first[0] = None
        index = _columns_in_groups(penalty.groups, new)
        if len(store) + len(index) > LIMIT:
            return _round_in_column_blocks(store, state, penalty, tol, shuffle)
        if len(new):
            store.add(index)
        if len(store) == 0:
            return state
        W = np.ascontiguousarray(state.w[:, store.index])
        _inner_of(store, penalty).solve(W, penalty, 0.5 * tol, shuffle)
        full = np.zeros_like(state.w)
        full[:, store.index] = W
        return _evaluate_groups(store, full, store.residual(full), penalty)

    return step


def _inner_of(store, penalty) -> Inner:
    """The solver on E; made again after columns were added."""
    if store.inner is None:
        store.inner = Inner(store, penalty.groups)
    return store.inner


def _full_gram_round(
    store, penalty, tol, shuffle, exact, state
) -> GroupWorkingSetState:
    """One iteration where E is all columns."""
    W = state.w.copy()
    inner = _inner_of(store, penalty)
    Q = inner.solve(W, penalty, 0.9 * tol, shuffle, exact=exact)
    return GroupWorkingSetState(
        W, None, Q, *inner.objective_and_gap(store.Xy, Q, W, penalty)
    )
