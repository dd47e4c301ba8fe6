"""The dual of kernel support vector machines by sequential minimal optimisation.

Every kernel machine is one quadratic programme in variables beta_v. Each belongs to a
row r(v) of the kernel matrix K (regression has two for a row) and to a group, whose
sum is kept:

    minimise  1/2 b^T K b - sum_v t_v beta_v,    b_i = sum of beta_v with r(v) = i  (1)
    subject to  l_v <= beta_v <= u_v,   sum of beta_v over each group constant      (2)

                        t                l, u            groups    sums
    classifier, y = 1   1                0, C_i          one       0
                y = -1  -1               -C_i, 0
    regressor, up       y_i - epsilon    0, C_i          one       0
               down     y_i + epsilon    -C_i, 0
    nu-classifier       0                as classifier   by sign   +-nu sum w / 2
    nu-regressor        y_i              as regressor    by sign   +-C nu sum w / 2
    one class           0                0, w_i          one       nu sum w

With the scores e_v = t_v - (K b)_{r(v)}, the negative gradient of (1)              (3)
beta is optimal when in every group

    max {e_v : beta_v < u_v}  -  min {e_v : beta_v > l_v}  <= 0                     (4)

whose left-hand side is the violation. A pair step raises the v of the first maximum
and lowers the w of the same group that promises the most,

    (e_v - e_w)^2 / (K_vv + K_ww - 2 K_vw)                                          (5)

to the lowest point of (1) between the bounds. Rows of K may be expensive, so steps are
made on a working set of the variables that violate (4) most, together with a part of
the previous set; then e is updated for all rows by one product with the rows of K that
were used. Every step lowers (1).

Four things make it finish early and exactly:

    Newton      with K_FF the block of the variables strictly between their bounds,
                K_FF d + (one multiplier a group) = e_F is the exact minimum over
                them. It is taken as far as the bounds allow when pair steps are slow,
                and at the end for small problems, which makes the solution exact to
                rounding.
    line        the changes of an iteration, made once more as far as (1) falls: where
                K has low rank and bounds are high, pair steps go on in one direction
                for millions of iterations.
    shrinking   a row whose variables are at bounds, and far from wanting to leave
                them, is dropped from the columns of K once the cache is full. Before
                the last check of (4) the scores of all rows are computed anew, and
                the iterations go on if one of these rows violates it.
    cache       rows of K are kept up to a number of bytes, those used longest ago
                are replaced first.

Where scores live: multipliers and scores are arrays of the library and on the device
that the cache names (`asarray`), so that on a GPU only a working set, with its square
of K, comes to main memory, where the pair steps are made. A cache whose sums are
rounded to float32 has them computed anew in float64 before the last check of (4).

Bias: e_v is the same for all variables of a group that are free, and this number is
the multiplier of (2); where there are none, any number between the two sides of (4) is
optimal and the middle is taken.

Time O(n q) per iteration for a working set of q variables, memory O(n q) and the
cache.

Shapes    K (n, n), by rows   e, t, beta, l, u (m,)   b (n,)
Refs      [Platt1999] [Fan2005] the choice of pairs; [Joachims1999] working sets
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ...core.arrays import arrays
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.loops import threads

WORKING = 512  # variables of a working set at first
MAX_WORKING = 2048  # and where many variables are free
GROWTH_PERIOD = 8  # iterations between changes of its size
INNER = 0.1  # tolerance on the working set, as a share of the violation of all rows
CACHE = 200 << 20  # bytes of cached kernel rows
NEWTON_PERIOD = 16  # iterations between Newton steps of slow runs
MAX_FREE = 2000  # free variables up to which Newton's system is factored
EXACT_ROWS = 2000  # rows up to which a solution is refined to rounding error
ONE_SET = 2000  # variables up to which a matrix that exists is one working set
EXTRAPOLATE_FROM = 6  # iterations from which states are extrapolated
LEAST_EXTRAPOLATION = 0.5  # length of such a step, in steps of the last iteration
MAX_CLIPPED = 6  # Newton steps in a row, each of which took a variable to a bound
ROUNDING = 16 * np.finfo(float).eps  # violation, relative to t, below which none counts
STALL_STEPS = 10_000_000  # pair steps (1000 a variable, if more) without a better state
STALL_ITERATIONS = 2000  # iterations without one
ROUNDED_ITERATIONS = 50  # and where the violation may be rounding error of K b
EXACT = 1e-11  # violation, relative to the scores, that counts as rounding error
STEPS_PER_VARIABLE = 100  # pair steps on a working set, for each of its variables
SHRINK_PERIOD = 8  # iterations between attempts to shrink
COLUMN_BLOCK = 4096  # columns of a task that updates scores


class DualProblem(NamedTuple):
    """Eqs. (1) and (2) without K, and a feasible start."""

    row: np.ndarray  # r
    target: np.ndarray  # t
    low: np.ndarray  # l
    high: np.ndarray  # u
    group: np.ndarray  # 0 or 1 for each variable
    start: np.ndarray  # feasible beta

    def row_sums(self, beta, n):
        """b: the multipliers of the n rows."""
        return np.bincount(self.row, weights=beta, minlength=n)


class SMOState(NamedTuple):
    """Multipliers, the products K b of the active rows, and the working set."""

    beta: np.ndarray
    products: np.ndarray  # (K b) of the active rows
    objective: float  # eq. (1)
    violation: float  # eq. (4) over the active rows
    working: np.ndarray  # variables of the last set
    steps: int  # pair steps so far
    stalled: bool = False  # no step was possible


class RowCache:
    """Cache of kernel rows; those used longest ago are replaced first.

    Parameters
    ----------
    rows : array of shape (n, n), or function of (index, columns)
        The matrix, or what gives the block K[index][:, columns].
    n : int or None
        Number of rows, if `rows` is a function.
    limit : int
        Bytes of rows to keep.
    dtype : dtype
        Of the rows that are kept.
    columns : array of int or None
        The columns of K that are kept; all if None.
    """

    working = WORKING  # variables of a working set that suit this cache
    rounded = False  # whether `add_rows` rounds its sums to float32
    asarray = staticmethod(np.asarray)  # an array where scores are kept

    def __init__(
        self, rows, n=None, limit: int = CACHE, dtype=np.float64, columns=None
    ):
        self.rows = rows
        self.whole = None if callable(rows) else np.asarray(rows)
        self.n: Any = n if self.whole is None else len(self.whole)
        self.limit = limit
        self.dtype = np.dtype(dtype) if self.whole is None else self.whole.dtype
        self.columns = np.arange(self.n) if columns is None else columns
        self.evicted = False
        self.computed = 0  # rows computed so far
        self.capacity: Any = self.n  # rows that the buffer holds
        if self.whole is None:
            self.start_buffer(len(self.columns))
        else:
            self.buffer = self.whole

    def start_buffer(self, width):
        """An empty buffer of rows of this width."""
        self.capacity = self.row_capacity(width)
        self.flat = np.empty(self.capacity * width, self.dtype)
        self.buffer = self.flat.reshape(self.capacity, width)
        self.owner = np.full(self.capacity, -1)  # row of each slot
        self.used = np.zeros(self.capacity, np.int64)  # when a slot was used last
        self.slot = np.full(self.n, -1)  # slot of each row
        self.clock = 0

    def row_capacity(self, width):
        row = max(width * self.dtype.itemsize, 1)
        return int(min(self.n, max(self.limit // row, 64)))

    def slots_of(self, index):
        """The places in `buffer` of the rows `index`, which are computed if needed."""
        if self.whole is not None:
            return index
        self.clock += 1
        slots = self.slot[index]
        self.used[slots[slots >= 0]] = self.clock
        missing = np.unique(index[slots < 0])  # a regressor has two for a row
        if len(missing):
            # free slots have been used at time 0, so they come first
            oldest = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            oldest.sort()
            previous = self.owner[oldest]
            previous = previous[previous >= 0]
            self.evicted |= len(previous) > 0
            self.slot[previous] = -1
            self.owner[oldest] = missing
            self.slot[missing] = oldest
            self.used[oldest] = self.clock
            self.compute(missing, oldest)
        return self.slot[index]

    def compute(self, index, slots):
        """Write the rows `index` into the buffer, by blocks of columns on threads."""
        self.computed += len(index)
        width = self.buffer.shape[1]
        step = max(64, (1 << 17) // len(index))
        if not getattr(self.rows, "threaded", True):
            step = width  # a function that may not be called by two threads

        def fill(begin):
            end = min(begin + step, width)
            self.buffer[slots, begin:end] = self.rows(index, self.columns[begin:end])

        for _ in threads.run_tasks(partial(fill, b) for b in range(0, width, step)):
            pass

    def restrict(self, kept):
        """Drop all columns but those at the places `kept`, which ascend."""
        from . import _smo as loops

        width = self.buffer.shape[1]
        loops.compact_columns(self.flat, self.capacity, width, kept)
        used = self.capacity
        self.capacity = int(min(self.n, len(self.flat) // len(kept)))
        self.buffer = self.flat[: self.capacity * len(kept)].reshape(self.capacity, -1)
        n_free = self.capacity - used
        self.owner = np.concatenate([self.owner, np.full(n_free, -1)])
        self.used = np.concatenate([self.used, np.zeros(n_free, np.int64)])
        self.columns = self.columns[kept]
        self.evicted = False

    def restore(self):
        """All columns again; the cache is empty then."""
        self.columns = np.arange(self.n)
        self.start_buffer(self.n)

    def square(self, index, slots, places):
        """K[index][:, index] in float64: from the source if it is quick, else gathered.

        `slots` and `places` are where the rows and columns are in the buffer.
        """
        from . import _smo as loops

        is_every_row = len(index) == self.n and (np.diff(index) == 1).all()
        if is_every_row and self.whole is not None and self.dtype == np.float64:
            return self.whole
        if hasattr(self.rows, "square"):
            return self.rows.square(index)
        return loops.gather_square(self.buffer, slots, places)

    def add_rows(self, slots, weights, out):
        """out += weights @ buffer[slots], on threads."""
        from . import _smo as loops

        m = len(out)
        starts = range(0, m, COLUMN_BLOCK)
        tasks = (
            partial(
                loops.add_kernel_rows,
                self.buffer,
                slots,
                weights,
                s,
                min(s + COLUMN_BLOCK, m),
                out,
            )
            for s in starts
        )
        if len(slots) * m < 1 << 18:  # too little to share
            for task in tasks:
                task()
            return
        for _ in threads.run_tasks(tasks):
            pass

    def products(self, index, b):
        """(K b)[index] for multipliers b of all rows, by blocks, without the cache."""
        support = np.flatnonzero(b)
        weights = b[support]
        if self.whole is not None:
            return self.whole[np.ix_(index, support)] @ weights
        out = np.empty(len(index))
        step = max(16, (1 << 18) // max(len(support), 1))
        if not getattr(self.rows, "threaded", True):
            step = len(index)

        def fill(begin):
            part = index[begin : begin + step]
            out[begin : begin + step] = self.rows(part, support) @ weights

        for _ in threads.run_tasks(
            partial(fill, s) for s in range(0, len(index), step)
        ):
            pass
        return out


def _increasable_and_decreasable(beta, low, high):
    """Masks of the variables that may grow, and that may fall."""
    return beta < high, beta > low


def _group_masks(group) -> list:
    """The members of each group as masks; True for a single group."""
    return [group == 0, group == 1] if group.any() else [True]


def kkt_ends(scores, beta, problem, masks=None):
    """Both sides of eq. (4) for each group: largest and smallest score, (groups, 2)."""
    xp = arrays.namespace(scores)
    may_rise, may_fall = _increasable_and_decreasable(beta, problem.low, problem.high)
    ends = []
    for mask in _group_masks(problem.group) if masks is None else masks:
        rising, falling = (
            (may_rise, may_fall) if mask is True else (may_rise & mask, may_fall & mask)
        )
        ends.append(xp.max(xp.where(rising, scores, -xp.inf)))
        ends.append(xp.min(xp.where(falling, scores, xp.inf)))
    if not arrays.is_foreign(scores):
        return np.array(ends).reshape(-1, 2)
    return arrays.to_numpy(xp.stack(ends)).reshape(-1, 2)


def kkt_violation(ends) -> float:
    """Largest violation of the optimality conditions, eq. (4)."""
    return max(0.0, *(float(top - bottom) for top, bottom in ends))


def group_multipliers(scores, beta, problem):
    """The multiplier of each group's sum: its free scores' mean, or the middle."""
    free = (beta > problem.low) & (beta < problem.high)
    masks = _group_masks(problem.group)
    values = []
    for group, ends in zip(masks, kkt_ends(scores, beta, problem, masks), strict=True):
        is_free_here = free if group is True else free & group
        if is_free_here.any():
            values.append(float(scores[is_free_here].mean()))
            continue
        known = [end for end in ends if np.isfinite(end)]
        values.append(float(np.mean(known)) if known else 0.0)
    return values


def _largest_among(values, candidates, count):
    """At most `count` places of the largest values among the candidates, a mask."""
    if arrays.is_foreign(values):
        xp = arrays.namespace(values)
        values = xp.where(candidates, values, -xp.inf)
        places = arrays.largest_places(values, count)
        return arrays.to_numpy(places[candidates[places]])
    places = np.flatnonzero(candidates)
    if len(places) > count:
        places = places[arrays.largest_places(values[places], count)]
    return places


def choose_working_set(scores, up, down, masks, previous, size):
    """The next working set: the worst variables of both sides of every group.

    Half of the set comes from the previous one, if there is one: the variables that
    are free first, since they are the likeliest to move again.
    """
    share = max((size // 4 if len(previous) else size // 2) // len(masks), 1)
    chosen = []
    for mask in masks:
        chosen.append(_largest_among(scores, up & mask, share))
        chosen.append(_largest_among(-scores, down & mask, share))
    if len(previous):
        is_free = _values_at(previous, up & down)[0]
        chosen += [previous[is_free], previous]
    chosen = np.concatenate(chosen)
    _, first = np.unique(chosen, return_index=True)
    return np.sort(chosen[np.sort(first)[:size]])


def _values_at(places, *vectors) -> list:
    """The entries at some places of vectors of one kind, in main memory."""
    if not arrays.is_foreign(vectors[0]):
        return [vector[places] for vector in vectors]
    xp = arrays.namespace(vectors[0])
    places = xp.asarray(places, device=arrays.device(vectors[0]))
    entries = xp.stack([xp.take(vector, places) for vector in vectors])
    return [*arrays.to_numpy(entries)]


class DualSolver:
    """Iterations on one problem: the step, shrinking and the last check.

    Parameters
    ----------
    problem : DualProblem
    cache : RowCache
    tol : float
        Of eq. (4).
    max_steps : int
        Pair steps after which the run ends.
    working : int or None
        Variables of a working set; what suits the cache if None.
    shrinking : bool
        Whether rows may be dropped while the others converge.
    limit : float
        Objective below which the run ends: a hard margin that does not exist.
    """

    def __init__(self, problem, cache, *, tol, max_steps, working, shrinking, limit):
        self.problem = problem
        self.cache = cache
        # differences of scores as large as t are not known better
        largest = float(np.abs(problem.target).max(initial=0.0))
        self.tol = max(tol, ROUNDING * largest)
        self.max_steps = max_steps
        self.best: SMOState | None = None  # of least violation
        self.best_iteration = 0
        self.largest_entry = 0.0  # of the diagonal of K, as far as it was seen
        self.patience = max(STALL_STEPS, 1000 * len(problem.row))
        requested = cache.working if working is None else working
        self.working = min(requested, cache.capacity)
        self.max_working = min(max(MAX_WORKING, requested), cache.capacity)
        if requested < WORKING:
            self.max_working = self.working  # a small set that was asked for stays
        elif cache.whole is not None and len(problem.row) <= ONE_SET:
            self.working = len(problem.row)
        self.shrinking = shrinking and cache.whole is None
        self.limit = limit
        self.exact = cache.n <= EXACT_ROWS and cache.dtype == np.float64
        self.iteration = 0
        # of small problems the first iteration is many pair steps already
        self.newton_wait = 1 if self.exact else NEWTON_PERIOD
        self.next_newton = self.newton_wait
        self.clipped = False  # whether the last Newton step met a bound early
        self.all_variables()

    def all_variables(self):
        """Every variable is active."""
        self.variables = np.arange(len(self.problem.row))
        self.set_active(self.problem, self.problem.row)

    def set_active(self, active, place):
        """The active variables, and the column of each, also where scores live."""
        self.active = active
        self.place = place
        self.one_for_each = np.array_equal(place, np.arange(len(self.cache.columns)))
        self.vectors = DualProblem(*(self.cache.asarray(field) for field in active))
        self.place_of_scores = self.cache.asarray(place)
        self.masks = [
            mask if mask is True else self.cache.asarray(mask)
            for mask in _group_masks(active.group)
        ]

    def initial_state(self, beta=None):
        p = self.problem
        beta = p.start.astype(float) if beta is None else beta
        b = p.row_sums(beta, self.cache.n)
        products = self.cache.asarray(np.zeros(self.cache.n))
        if b.any():
            products = self.cache.products(np.arange(self.cache.n), b)
        value = 0.5 * float(b @ arrays.to_numpy(products)) - float(p.target @ beta)
        no_variables = np.empty(0, dtype=np.intp)
        beta = self.cache.asarray(beta)
        return self.state_at(beta, products, value, no_variables, 0)

    def scores(self, products):
        """e of the active variables, eq. (3)."""
        if not self.one_for_each:
            xp = arrays.namespace(products)
            products = xp.take(products, self.place_of_scores)
        return self.vectors.target - products

    def active_part(self, beta):
        """The multipliers of the active variables; not a copy if these are all."""
        is_complete = len(self.variables) == len(self.problem.row)
        return beta if is_complete else beta[self.variables]

    def state_at(self, beta, products, value, at, steps, stalled=False):
        active_beta = self.active_part(beta)
        ends = kkt_ends(self.scores(products), active_beta, self.vectors, self.masks)
        return SMOState(beta, products, value, kkt_violation(ends), at, steps, stalled)

    def step(self, s):
        """One working set; then Newton, shrinking or the last check where due."""
        self.iteration += 1
        new = s
        if s.violation > self.tol:
            new = self.working_set_step(s)
            spent = new.steps >= self.max_steps
            if self.iteration >= self.next_newton and not spent:
                moved = self.newton_step(new)
                if new.objective - moved.objective > s.objective - new.objective:
                    # it gained more than the pair steps, though it may be clipped
                    self.newton_wait = 1
                    self.next_newton = self.iteration + 1
                new = moved
            if self.iteration >= EXTRAPOLATE_FROM and not spent:
                new = self.extrapolate(s, new)
        if new.violation <= self.tol:
            new = self.finish(new)
        elif self.shrinking and self.iteration % SHRINK_PERIOD == 0:
            new = self.shrink(new)
        return new

    def working_set_step(self, s):
        """Pair steps on a working set, and the scores of all active rows."""
        from . import _smo as loops

        p = self.active
        scores = self.scores(s.products)
        active_beta = self.active_part(s.beta)
        bounds = self.vectors.low, self.vectors.high
        may_rise, may_fall = _increasable_and_decreasable(active_beta, *bounds)
        if self.iteration % GROWTH_PERIOD == 0:
            n_free = int(arrays.namespace(may_rise).count_nonzero(may_rise & may_fall))
            if n_free > self.working:  # they need each other to converge
                self.working = min(2 * self.working, self.max_working)
        if len(self.variables) <= self.working:
            chosen = np.arange(len(self.variables))
        else:
            previous = self.still_active(s.working)
            chosen = choose_working_set(
                scores, may_rise, may_fall, self.masks, previous, self.working
            )
        if len(self.masks) > 1:
            chosen = chosen[np.argsort(p.group[chosen], kind="stable")]
        split = len(chosen) - int(p.group[chosen].sum())
        places = self.place[chosen]
        index = self.cache.columns[places]
        slots = self.cache.slots_of(index)
        square = self.cache.square(index, slots, places)
        entry = float(np.abs(np.diagonal(square)).max(initial=0.0))
        self.largest_entry = max(self.largest_entry, entry)
        old_beta, start = _values_at(chosen, active_beta, scores)
        beta, e = old_beta.copy(), start.copy()
        tol = self.tol
        if len(chosen) < len(self.variables):
            tol = max(tol / 2, INNER * s.violation)
        max_steps = min(STEPS_PER_VARIABLE * len(chosen), self.max_steps - s.steps)
        steps = loops.optimize_pairs(
            square, p.low[chosen], p.high[chosen], split, beta, e, tol, max_steps
        )
        change = beta - old_beta
        value = s.objective - 0.5 * float(change @ (start + e))
        return self.moved(s, chosen, change, beta, slots, value, steps)

    def still_active(self, variables):
        """The places of those of some variables that are active, which ascend."""
        places = np.searchsorted(self.variables, variables)
        nearest = np.minimum(places, len(self.variables) - 1)
        return places[self.variables[nearest] == variables]

    def moved(self, s, at, change, values, slots, value, steps):
        """The state after the active variables `at` have changed."""
        touched = change != 0
        xp = arrays.namespace(s.beta)
        products = xp.asarray(s.products, copy=True)
        self.cache.add_rows(slots[touched], change[touched], products)
        beta = xp.asarray(s.beta, copy=True)
        beta[self.cache.asarray(self.variables[at])] = self.cache.asarray(values)
        return self.state_at(
            beta, products, value, self.variables[at], s.steps + steps, steps == 0
        )

    def newton_step(self, s):
        """The minimum over the free variables, as far as their bounds allow."""
        self.clipped = False
        p = self.active
        active_beta = arrays.to_numpy(self.active_part(s.beta))
        inside = np.flatnonzero((active_beta > p.low) & (active_beta < p.high))
        if len(p.row) > len(self.cache.columns):
            _, first = np.unique(self.place[inside], return_index=True)
            inside = inside[first]  # one variable of a row
        if not 2 <= len(inside) <= min(MAX_FREE, self.cache.capacity):
            return s
        places = self.place[inside]
        index = self.cache.columns[places]
        slots = self.cache.slots_of(index)
        square = self.cache.square(index, slots, places)
        e = _values_at(inside, self.scores(s.products))[0]
        direction = _newton_direction(square, e, p.group[inside])
        curved = square @ direction
        slope = float(e @ direction)
        curvature = float(direction @ curved)
        if not slope > 0:
            return s
        room = np.where(
            direction > 0,
            p.high[inside] - active_beta[inside],
            active_beta[inside] - p.low[inside],
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(direction != 0, room / np.abs(direction), np.inf)
        nearest = int(np.argmin(ratio))
        length = min(slope / curvature if curvature > 0 else np.inf, ratio[nearest])
        if not np.isfinite(length):
            length = 1e12 / max(np.abs(direction).max(), 1e-300)
        values = active_beta[inside] + length * direction
        values = np.clip(values, p.low[inside], p.high[inside])
        if length == ratio[nearest]:
            end = p.high if direction[nearest] > 0 else p.low
            values[nearest] = end[inside[nearest]]
        value = s.objective - length * slope + 0.5 * length**2 * curvature
        # a step that met a bound early says that the free set is not the final one
        self.clipped = length < 0.5 * slope / max(curvature, 1e-300)
        self.newton_wait = min(2 * self.newton_wait, 64) if self.clipped else 1
        self.next_newton = self.iteration + self.newton_wait
        new = self.moved(
            s, inside, values - active_beta[inside], values, slots, value, 1
        )
        return new._replace(working=s.working, stalled=s.stalled)

    def extrapolate(self, old, new):
        """The lowest point on the line from one state through the next.

        Products with K along it are the difference of those that are known.
        """
        xp = arrays.namespace(new.beta)
        p = self.vectors
        active_beta = self.active_part(new.beta)
        direction = active_beta - self.active_part(old.beta)
        change = new.products - old.products
        scores = self.scores(new.products)
        slope = float(xp.sum(scores * direction))
        # the scores fall by the products: their difference is that of (K b)_r(v)
        fall = self.scores(old.products) - scores
        curvature = float(xp.sum(direction * fall))
        if not slope > 0:
            return new
        room = xp.where(direction > 0, p.high - active_beta, active_beta - p.low)
        size = xp.abs(direction)
        ratio = xp.where(size > 0, room / xp.where(size > 0, size, 1.0), xp.inf)
        nearest = float(xp.min(ratio))
        length = min(slope / curvature if curvature > 0 else np.inf, nearest)
        if not np.isfinite(length):
            length = 1e12 / max(float(xp.max(size)), 1e-300)
        if length < LEAST_EXTRAPOLATION:
            return new
        values = active_beta + length * direction
        ends = xp.where(direction > 0, p.high, p.low)
        values = xp.where(ratio <= length, ends, values)
        beta = xp.asarray(new.beta, copy=True)
        beta[self.cache.asarray(self.variables)] = values
        products = new.products + length * change
        value = new.objective - length * slope + 0.5 * length**2 * curvature
        lowest = self.state_at(beta, products, value, new.working, new.steps + 1)
        return lowest._replace(stalled=new.stalled)

    def shrink(self, s):
        """Drop rows whose variables stay at their bounds, once the cache is full."""
        p = self.active
        if not self.cache.evicted:
            return s
        e = self.scores(s.products)
        active_beta = self.active_part(s.beta)
        top, bottom = kkt_ends(e, active_beta, p).T[:, p.group]
        decided = ((active_beta >= p.high) & (e > top)) | (
            (active_beta <= p.low) & (e < bottom)
        )
        kept = np.zeros(len(self.cache.columns), bool)
        kept[self.place[~decided]] = True
        if kept.sum() > 0.9 * len(kept) or kept.sum() < 2:
            return s
        self.keep_columns(np.flatnonzero(kept))
        return s._replace(products=s.products[kept])

    def keep_columns(self, kept):
        """Make the active rows those at the places `kept`."""
        new_place = np.full(len(self.cache.columns), -1)
        new_place[kept] = np.arange(len(kept))
        stays = new_place[self.place] >= 0
        self.cache.restrict(kept)
        self.variables = self.variables[stays]
        active = DualProblem(*(field[self.variables] for field in self.problem))
        self.set_active(active, new_place[self.place[stays]])

    def finish(self, s):
        """The last check on all rows; small problems are refined to rounding error."""
        shrunk = len(self.cache.columns) < self.cache.n
        if shrunk:
            s = self.unshrink(s)
        if self.cache.rounded:
            s = self.with_exact_products(s)
        if self.exact and s.violation <= self.tol:
            s = self.refine(s)
        # the sum of the changes is rounded more than the objective at the end
        beta, products = arrays.to_numpy(s.beta), arrays.to_numpy(s.products)
        b = self.problem.row_sums(beta, self.cache.n)
        value = 0.5 * float(b @ products) - float(self.problem.target @ beta)
        return s._replace(objective=value)

    def with_exact_products(self, s):
        """The state with its products computed anew, in float64 from now on."""
        self.cache.rounded = False
        b = self.problem.row_sums(arrays.to_numpy(s.beta), self.cache.n)
        products = self.cache.products(np.arange(self.cache.n), b)
        return self.state_at(s.beta, products, s.objective, s.working, s.steps)

    def unshrink(self, s):
        """All rows are active again, with scores that are computed anew."""
        n = self.cache.n
        inactive = np.setdiff1d(np.arange(n), self.cache.columns, assume_unique=True)
        products = np.empty(n)
        products[self.cache.columns] = s.products
        b = self.problem.row_sums(s.beta, n)
        products[inactive] = self.cache.products(inactive, b)
        self.all_variables()
        self.cache.restore()  # before any further step: its rows are too short
        return self.state_at(s.beta, products, s.objective, s.working, s.steps)

    def refine(self, s):
        """Newton and pair steps until the violation is rounding error.

        Keeps the best state; the objective never rises.
        """
        best = s
        scores = arrays.to_numpy(self.scores(s.products))
        goal = EXACT * max(1.0, float(np.abs(scores).max(initial=0)))
        old_tol = self.tol
        for _ in range(30):
            if best.violation <= goal:
                break
            new = s
            for _ in range(MAX_CLIPPED):
                if self.free_spread(new) <= goal:
                    break  # the minimum over the free variables already
                new = self.newton_step(new)
                if not self.clipped:
                    break
            if new.violation > goal:
                self.tol = max(goal, 0.02 * min(new.violation, best.violation))
                new = self.working_set_step(new)
            if new.steps == s.steps or new.steps >= self.max_steps:
                break
            s = new
            if s.violation < best.violation:
                best = s
        self.tol = old_tol
        return best

    def free_spread(self, s) -> float:
        """Largest difference of the scores of the free variables of a group."""
        p = self.active
        active_beta = arrays.to_numpy(self.active_part(s.beta))
        free = (active_beta > p.low) & (active_beta < p.high)
        scores = arrays.to_numpy(self.scores(s.products))
        parts = [scores[free & (p.group == g)] for g in range(1 + int(p.group.any()))]
        return max(float(np.ptp(part)) if len(part) else 0.0 for part in parts)

    def change(self, old, new):
        """Change compared with tol: 0 also where the run cannot go on."""
        stuck = new.stalled and new.violation >= old.violation
        spent = new.steps >= self.max_steps
        if self.best is None or new.violation < 0.99 * self.best.violation:
            self.best, self.best_iteration = new, self.iteration
        ended = stuck or spent or self.is_stalled(new) or self.unbounded(new)
        return 0.0 if ended else new.violation

    def is_stalled(self, s) -> bool:
        """Whether no state has been better for so long that none will be."""
        if self.best is None:
            return False
        waited = self.iteration - self.best_iteration
        patience = (
            ROUNDED_ITERATIONS if self.is_rounded(self.best) else STALL_ITERATIONS
        )
        return s.steps - self.best.steps > self.patience or waited > patience

    def is_rounded(self, s) -> bool:
        """Whether the violation is no larger than rounding errors of K b may be."""
        size = float(arrays.namespace(s.beta).sum(abs(s.beta))) * self.largest_entry
        return s.violation <= np.finfo(float).eps * size

    def unbounded(self, s) -> bool:
        """Whether the objective fell below every value that a solution could have."""
        return s.objective < self.limit

    def run(self, beta=None, task: FitTask = SILENT) -> Result:
        """Iterate until the violation is at most tol.

        The reason of the result is "unbounded" if the objective fell below `limit`.
        """
        result = iterate(
            self.step,
            self.initial_state(beta),
            max_iter=self.max_steps,  # an iteration is at least one pair step
            tol=self.tol,
            change=self.change,
            watch=("violation",),
            task=task,
        )
        if result.reason == "tolerance" and result.state.violation > self.tol:
            s = result.state
            stalled = self.is_stalled(s)
            rounded = stalled and self.is_rounded(self.best)
            spent = s.steps >= self.max_steps or (stalled and not rounded)
            reason = "max_iter" if spent else result.reason
            best = self.best
            if stalled and best and best.products.shape == s.products.shape:
                result = result._replace(state=best)
            reason = "unbounded" if self.unbounded(s) else reason
            result = result._replace(reason=reason)
        return result


def _newton_direction(K, e, group):
    """d with K d + (one multiplier a group) = e, whose sums over groups are 0.

    A singular K (equal rows, fewer columns than rows) gets a jitter, which bends the
    direction but keeps it one of descent.
    """
    members = np.ones((len(e), 1))
    if 0 < group.sum() < len(e):
        members = np.stack([group == 0, group == 1], axis=1).astype(float)
    counts = members.sum(axis=0)
    e = e - members @ (members.T @ e / counts)
    jitter = 1e-13 * max(float(np.trace(K)) / len(e), 1e-300)
    for _ in range(8):
        jittered = K.copy(order="F")
        jittered.flat[:: len(e) + 1] += jitter
        factor, failed = dpotrf(jittered, overwrite_a=1)
        if not failed:
            break
        jitter *= 100
    else:
        return e
    solved, _ = dpotrs(factor, np.column_stack([e, members]))
    sums = members.T @ solved
    if len(counts) == 1:
        multipliers = sums[:, 0] / sums[0, 1]
    else:
        multipliers = np.linalg.lstsq(sums[:, 1:], sums[:, 0], rcond=None)[0]
    d = solved[:, 0] - solved[:, 1:] @ multipliers
    return d - members @ (members.T @ d / counts)


def solve_dual(
    problem: DualProblem,
    cache: RowCache,
    *,
    beta=None,
    tol: float = 1e-3,
    max_steps: int = 10_000_000,
    working: int | None = None,
    shrinking: bool = True,
    limit: float = -np.inf,
    task: FitTask = SILENT,
) -> Result:
    """Minimise eq. (1) until the violation of eq. (4) is at most tol.

    Parameters
    ----------
    problem : DualProblem
    cache : RowCache
        Gives rows of K.
    beta : array of shape (m,) or None
        Feasible start in place of that of the problem.
    tol : float
        Of eq. (4).
    max_steps : int
        Most pair steps.
    working : int or None
        Variables of a working set; what suits the cache if None.
    shrinking : bool
        Whether rows may be dropped while the others converge.
    limit : float
        Objective below which the run ends as "unbounded".

    Returns
    -------
    Result
        Its state is a `SMOState` with the products K b of all rows.
    """
    solver = DualSolver(
        problem,
        cache,
        tol=tol,
        max_steps=max_steps,
        working=working,
        shrinking=shrinking,
        limit=limit,
    )
    result = solver.run(beta, task)
    if result.state.products.shape[0] < cache.n:  # stopped while rows were left out
        result = result._replace(state=solver.unshrink(result.state))
    s = result.state
    beta, products = arrays.to_numpy(s.beta), arrays.to_numpy(s.products)
    return result._replace(state=s._replace(beta=beta, products=products))


class ClassifierDualState(NamedTuple):
    """Multipliers a = y beta of a classifier, and the gradient there."""

    position: np.ndarray  # a
    gradient: np.ndarray  # Q a + p with Q_ij = y_i y_j K_ij
    objective: float  # eq. (1)
    violation: float  # eq. (4)
    steps: int  # pair steps so far

    def bias(self, y, C) -> float:
        """Intercept that is added to sum_i a_i y_i k(x_i, x)."""
        y = np.asarray(y, dtype=float)
        problem = classifier_dual(y, np.broadcast_to(C, y.shape))
        scores = -y * self.gradient
        return group_multipliers(scores, y * self.position, problem)[0]


def classifier_dual(y, C, p=None) -> DualProblem:
    """The problem of a classifier with signs y, bounds C and linear term p."""
    n = len(y)
    target = y.copy() if p is None else -y * p
    low = np.where(y > 0, 0.0, -C)
    high = np.where(y > 0, C, 0.0)
    one_group = np.zeros(n, dtype=np.int64)
    return DualProblem(np.arange(n), target, low, high, one_group, np.zeros(n))


def smo(
    kernel_rows: Callable | np.ndarray | RowCache,
    y,
    C=1.0,
    *,
    p=None,
    start: ClassifierDualState | None = None,
    max_iter: int = 10_000_000,
    tol: float = 1e-3,
    working: int = WORKING,
    cache: int = CACHE,
    task: FitTask = SILENT,
) -> Result:
    """SMO for signs y: minimise 1/2 a^T Q a + p^T a, y^T a = 0, 0 <= a <= C.

    Q_ij = y_i y_j K_ij. This is eq. (1) with beta = y a.

    Parameters
    ----------
    kernel_rows : function of (index, columns), array of shape (n, n), or RowCache
        Gives blocks K[index][:, columns].
    y : array of +1 and -1, shape (n,)
    C : float or array of shape (n,)
        Upper bounds.
    p : array of shape (n,) or None
        Linear term; -1 if None.
    start : State or None
        Go on from an earlier run.
    max_iter : int
        Most pair steps.
    tol : float
        Of eq. (4).
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
    y = np.asarray(y, dtype=float)
    if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("y of smo must hold +1 and -1 only.")
    C = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    p = -np.ones(len(y)) if p is None else np.asarray(p, dtype=float)
    rows: Any = kernel_rows
    if not isinstance(rows, RowCache):
        rows = RowCache(kernel_rows, len(y), cache)
    run = solve_dual(
        classifier_dual(y, C, p),
        rows,
        beta=None if start is None else y * start.position,
        tol=tol,
        max_steps=max_iter,
        working=working,
        task=task,
    )
    s = run.state
    state = ClassifierDualState(
        y * s.beta + 0.0, y * s.products + p, s.objective, s.violation, s.steps
    )
    return run._replace(state=state)
