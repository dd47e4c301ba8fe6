"""Gradient boosting: trees added one after another, each a step down the loss.

    F_t(x) = F_{t-1}(x) + nu T_t(x),      J = sum_i w_i l(y_i, F(x_i)) / sum_i w_i  (1)

Gradients. For raw predictions f_ki (row i, column k; one column, or one per class) a
round needs

    G = - w dl/df      H = w d2l/df2                                            (2)

They come with J from one pass over the rows, in blocks on threads whose sums are added
in their order, so that J is the same for any number of threads. H is left out where it
is 1 throughout: for the squared error, and for losses with kinks or straight pieces,
whose second derivative says nothing about where the minimum is.

Trees. A round grows a tree on G and H in one of two ways:

    newton    the split of largest G_l^2/(H_l + a) + G_r^2/(H_r + a) - G^2/(H + a),
              the leaf G / (H + a): the best second-order step with a penalty
              a |v|^2/2 on leaf values                                           (3)
    squares   the tree that fits -dl/df best in least squares, then in each leaf one
              Newton step G / H (for K classes times (K-1)/K)                    (4)

With K > 2 classes a round grows K trees. They do not depend on one another and grow in
parallel. Losses without curvature set their leaves otherwise:

    quantile, absolute   the quantile of the residuals y - f in the leaf         (5)
    huber                their median m, plus the mean of y - f - m clipped      (6)
    other residual loss  argmin_c sum w l(y - f, c), the loss's best constant    (7)

Every leaf's step lowers its part of J if nu is small enough: it points down the
gradient.

The tree engine leaves the rows of a tree in the order of its leaves, so f is updated
without a prediction: a round costs the histograms plus O(n). Rows out of the bag, and
validation rows, are predicted.

Memory 1 byte per value of the table and O(n K). The arrays of the state are updated in
place; after an interruption they are computed again from the trees.

Shapes    y (n,)   w (n,) or None   f, G, H (K, n)
Refs      [Friedman2001] eqs. (1), (4), (5), (6); [Friedman2002] subsample;
          [Chen2016] eq. (3); [Ke2017] histograms
"""

import math
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.weighted import weighted_quantile
from ...core.drivers.iterate import Result, iterate
from ...core.loops import threads
from ...losses import base as kinds
from ...losses.base import Loss
from ...tree.growing._structures import NEWTON, SQUARE
from ...tree.growing.criteria import Criterion
from ...tree.growing.grower import Grower, GrowthLimits, TreeWithRows
from ...tree.growing.prepared_columns import PreparedColumns
from ...tree.pruning import pruning
from ...tree.storage.tree import LEAF, Tree
from . import _boosting as loops

ROWS_PER_TASK = 1 << 15  # rows handed to a thread at a time
PARALLEL_ROWS = 1 << 16  # rows from which the leaves of one tree are set by threads
EMPTY = np.empty(0)
MULTICLASS_KINDS = (kinds.SOFTMAX, kinds.MULTICLASS_HINGE)  # a column per class
CURVED_KINDS = (
    kinds.SQUARED,
    kinds.LOGISTIC,
    kinds.EXPONENTIAL,
    kinds.POISSON,
    kinds.GAMMA,
    kinds.TWEEDIE,
    kinds.SOFTMAX,
    kinds.NO_LOOP,
)
QUANTILE_KINDS = (kinds.ABSOLUTE, kinds.QUANTILE, kinds.HUBER)  # eqs. (5) and (6)
CONSTANT_KINDS = (  # eq. (7)
    kinds.EPSILON_INSENSITIVE,
    kinds.SQUARED_EPSILON_INSENSITIVE,
    kinds.LP,
    kinds.TUKEY,
)
TARGET_DOMAINS = {
    "real": (lambda y: np.isfinite(y), "finite y"),
    "fraction": (lambda y: (y >= 0) & (y <= 1), "y from 0 to 1"),
    "nonnegative": (lambda y: y >= 0, "non-negative y and sum(y) > 0"),
    "positive": (lambda y: y > 0, "strictly positive y"),
}


class OwnGradients:
    """A plain function (y, f) -> gradient, curvature in the place of a loss.

    It is called with all rows at once. As it gives no value of the loss, the mean size
    of the gradient stands for it in the history.
    """

    def __init__(self, function):
        self.function = function

    def __call__(self, y, f):
        """Gradient and curvature of each row, checked."""
        answer = self.function(y, f)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise ValueError(
                "a function as loss must return (gradient, curvature), got "
                f"{type(answer).__name__}."
            )
        gradient, curvature = (np.asarray(a, float) for a in answer)
        if gradient.shape != np.shape(f) or curvature.shape != np.shape(f):
            raise ValueError(
                "a function as loss must return gradient and curvature of the shape "
                f"{np.shape(f)}, got {gradient.shape} and {curvature.shape}."
            )
        return gradient, curvature

    def gradient(self, y, f, a=0.0):
        return self(y, f)[0]

    def curvature(self, y, f, a=0.0):
        return self(y, f)[1]

    def value(self, y, f, a=0.0):
        return np.abs(self(y, f)[0])

    def as_loss(self) -> Loss:
        """A `Loss` whose rounds start from 0."""
        start = lambda y, w, a: 0.0
        name = getattr(self.function, "__name__", "own")
        return Loss(
            name,
            kinds.NO_LOOP,
            "real",
            self.value,
            self.gradient,
            self.curvature,
            start,
        )


# -- losses: gradients, curvatures, leaf values ----------------------------------


def uses_curvature(loss: Loss) -> bool:
    """Whether H of eq. (2) is the second derivative of the loss."""
    return loss.kind in CURVED_KINDS or loss.kind >= kinds.GLM


def constant_curvature(loss: Loss) -> float:
    """The curvature in the place of H where the second derivative is not used."""
    smooth = math.isfinite(loss.lipschitz) and loss.kind not in CONSTANT_KINDS
    return loss.lipschitz if smooth else 1.0


def quantile_level_and_delta(loss: Loss) -> tuple[float, float]:
    """Level of eq. (5), and delta of eq. (6) or 0."""
    if loss.kind == kinds.QUANTILE:
        return loss.parameter, 0.0
    return 0.5, loss.parameter if loss.kind == kinds.HUBER else 0.0


def check_target_domain(loss: Loss, y, name):
    """Raise if the loss is not defined for some of the targets."""
    holds, says = TARGET_DOMAINS[loss.domain]
    if not np.all(holds(y)) or (loss.domain == "nonnegative" and not np.sum(y) > 0):
        raise ValueError(f"loss={loss.name!r} requires {says}. It is that of {name}.")


def allocate_gradients(loss: Loss, K, n):
    """Arrays for G and, where it is used, H (else None)."""
    H = None
    if uses_curvature(loss) or constant_curvature(loss) != 1.0:
        H = np.full((K, n), constant_curvature(loss))
    return np.empty((K, n)), H


def compute_gradients(loss: Loss, y, f, w, weighted, G, H) -> float:
    """Write eq. (2) into G and H, times w if `weighted`; returns sum_i w_i l_i."""
    n = f.shape[1]
    is_own_function = isinstance(
        getattr(loss.gradients, "__self__", None), OwnGradients
    )
    if n <= ROWS_PER_TASK or is_own_function:
        return gradients_of_block(loss, y, f, w, weighted, 0, n, G, H)
    starts = range(0, n, ROWS_PER_TASK)
    tasks = (
        lambda a=a: gradients_of_block(
            loss, y, f, w, weighted, a, min(a + ROWS_PER_TASK, n), G, H
        )
        for a in starts
    )
    return math.fsum(threads.run_tasks(tasks))


def gradients_of_block(loss, y, f, w, weighted, a, b, G, H) -> float:
    """`compute_gradients` of rows a .. b."""
    kind = loss.kind
    v = EMPTY if w is None else w
    weighted = weighted and w is not None
    if kind == kinds.SOFTMAX:
        return loops.softmax_gradients(y, f, v, weighted, a, b, G, H)
    if kind == kinds.LOGISTIC:
        return loops.logistic_gradients(y, f[0], v, weighted, a, b, G[0], H[0])
    if kind == kinds.HALF_SQUARED:
        return loops.half_squared_gradients(y, f[0], v, weighted, a, b, G[0])
    if kind in (kinds.NO_LOOP, kinds.MULTICLASS_HINGE):
        return gradients_by_arrays(loss, y, f, w, weighted, slice(a, b), G, H)
    curvature = H[0] if uses_curvature(loss) else EMPTY
    total = loops.pointwise_gradients(
        kind, loss.parameter, y, f[0], v, weighted, a, b, G[0], curvature
    )
    if weighted and H is not None and not uses_curvature(loss):
        H[0, a:b] = constant_curvature(loss) * w[a:b]
    return total


def gradients_by_arrays(loss, y, f, w, weighted, cut, G, H) -> float:
    """`gradients_of_block` for a loss without compiled loops."""
    part = f[0, cut] if f.shape[0] == 1 else np.ascontiguousarray(f[:, cut].T)
    u = 1.0 if w is None or not weighted else w[cut]
    G[:, cut] = -np.atleast_2d(loss.gradient(y[cut], part).T) * u
    if uses_curvature(loss):
        H[:, cut] = np.maximum(np.atleast_2d(loss.curvature(y[cut], part).T), 0) * u
    elif H is not None:
        H[:, cut] = constant_curvature(loss) * u
    each = loss.value(y[cut], part)
    return float(np.sum(each if w is None else w[cut] * each))


def sum_of_losses(loss: Loss, y, f, w) -> float:
    """sum_i w_i l(y_i, f_i) alone, f (K, n)."""

    def part(a):
        cut = slice(a, a + ROWS_PER_TASK)
        raw = f[0, cut] if loss.kind not in MULTICLASS_KINDS else f[:, cut].T
        each = loss.value(y[cut], raw)
        return float(np.sum(each if w is None else w[cut] * each))

    return math.fsum(part(a) for a in range(0, f.shape[1], ROWS_PER_TASK))


def boosting_objective(loss: Loss, y, f, w) -> float:
    """J of eq. (1)."""
    return sum_of_losses(loss, y, f, w) / (len(y) if w is None else float(np.sum(w)))


# -- rounds ----------------------------------------------------------------------


class BoostingRows(NamedTuple):
    """Rows with targets and weights, and their raw predictions before the rounds."""

    X: Any  # float32 (n, d), or None where no row is predicted
    y: np.ndarray
    w: np.ndarray | None
    f: np.ndarray  # (K, n)


class BoostingOptions(NamedTuple):
    """The settings of the rounds."""

    loss: Loss
    learning_rate: float  # nu
    limits: GrowthLimits
    newton: bool = True  # eq. (3), or eq. (4)
    l2: float = 0.0  # a of eq. (3)
    subsample: float = 1.0  # share of the rows drawn for each round
    huber_quantile: float | None = None  # Huber's delta is this quantile of |y - f|
    ccp_alpha: float = 0.0  # cost of a leaf in pruning after growth


class BoostingState(NamedTuple):
    """State carried from one round to the next."""

    objective: float  # J
    f: np.ndarray  # (K, n)
    G: np.ndarray
    H: np.ndarray | None
    loss: Loss
    trees: tuple = ()  # K of each round, values times nu
    validation_f: np.ndarray | None = None  # (K, validation rows)
    validation: float = np.nan  # J of the validation rows
    oob_loss_before: float = np.nan  # J of the rows not drawn, before the round
    oob_loss: float = np.nan  # and after it


class Booster:
    """Rounds on one table: `initial_state` gives the first state, `step` the next."""

    def __init__(
        self,
        columns: PreparedColumns,
        rows: BoostingRows,
        options: BoostingOptions,
        seed=0,
        validation: BoostingRows | None = None,
    ):
        self.rows = rows
        self.options = options
        self.seed = seed
        self.validation = validation
        self.K, self.n = rows.f.shape
        if options.newton:
            criterion = Criterion(NEWTON, 1, l2=options.l2)
        else:
            criterion = Criterion(SQUARE, 1)
        self.growers: SimpleQueue[Grower] = SimpleQueue()
        for _ in range(min(self.K, threads.available_threads() + 1)):
            self.growers.put(Grower(columns, criterion, options.limits))
        self.total = float(self.n if rows.w is None else rows.w.sum())

    def initial_state(self, trees=()) -> BoostingState:
        """The state before the first round, or after the rounds of `trees`."""
        G, H = allocate_gradients(self.options.loss, self.K, self.n)
        validation_f = None if self.validation is None else self.validation.f
        state = BoostingState(
            np.nan, self.rows.f, G, H, self.options.loss, tuple(trees), validation_f
        )
        return self.update_gradients(self.update_huber_delta(state), None)

    def step(self, state: BoostingState) -> BoostingState:
        """One round: K trees, in parallel."""
        # a generator per round: rounds after a pause are what they would have been
        rng = np.random.default_rng((self.seed, len(state.trees)))
        seeds = rng.integers(0, 2**62, self.K)
        drawn = self.draw_rows(rng)
        if drawn is not None:
            oob_loss = self.losses_in_and_out_of_bag(state, drawn)[1]
            state = state._replace(oob_loss_before=oob_loss)
        grow = lambda k: self.grow_tree(state, drawn, k, int(seeds[k]))
        trees = tuple(threads.run_tasks((lambda k=k: grow(k)) for k in range(self.K)))
        if self.validation is not None and state.validation_f is not None:
            for k, tree in enumerate(trees):
                leaf = tree.apply(self.validation.X)
                state.validation_f[k] += tree.value[:, 0, 0][leaf]
        return self.update_gradients(state._replace(trees=state.trees + trees), drawn)

    def draw_rows(self, rng):
        """Rows of this round in ascending order; None for all of them."""
        if self.options.subsample >= 1:
            return None
        size = max(1, int(self.options.subsample * self.n))
        rows = rng.choice(self.n, size, replace=False, shuffle=False)
        return np.sort(rows).astype(np.int32)

    # -- one tree --------------------------------------------------------------

    def grow_tree(self, state, drawn, k, seed) -> Tree:
        """Grow the tree of column k, set its leaves, add them to f."""
        G = state.G[k]
        weights = self.rows.w
        if self.options.newton and state.H is not None:
            weights = state.H[k]
        grower = self.growers.get()
        try:
            grown = grower.grow(G[:, None], weights, seed=seed, rows=drawn)
        finally:
            self.growers.put(grower)
        if self.options.ccp_alpha > 0:
            grown = self.prune_tree(grown)
        tree = scale_tree_values(self.set_leaf_values(state, grown, k), self.options)
        self.add_leaf_values(tree, grown, state.f[k], drawn)
        return tree

    def prune_tree(self, grown: TreeWithRows) -> TreeWithRows:
        """The tree after cost-complexity pruning, its rows in the new order."""
        tree = pruning.prune_cost_complexity(grown.tree, self.options.ccp_alpha)
        leaf = tree.apply(self.rows.X)[grown.rows]
        order = np.argsort(leaf, kind="stable")
        number = np.arange(tree.node_count)
        start = np.searchsorted(leaf[order], number, "left")
        stop = np.searchsorted(leaf[order], number, "right")
        return TreeWithRows(tree, grown.rows[order], start, stop)

    def set_leaf_values(self, state, grown: TreeWithRows, k) -> Tree:
        """The tree with its leaves set by the loss, where the engine has not."""
        tree = grown.tree
        loss = state.loss
        w = EMPTY if self.rows.w is None else self.rows.w
        value = tree.value[:, 0, 0].copy()
        signs = self.options.limits.signs
        inner = signs is not None  # inner nodes bound the leaves below them
        nodes = loops.NodeRows(*grown[1:], tree.children_left, inner)
        if loss.kind in QUANTILE_KINDS:
            level, delta = quantile_level_and_delta(loss)
            work = lambda a, b: loops.quantile_leaf_values(
                nodes, self.rows.y, state.f[k], w, level, delta, a, b, value
            )
        elif loss.kind in CONSTANT_KINDS:
            work = lambda a, b: self.constant_leaf_values(state, grown, a, b, value)
        elif not self.options.newton and loss.kind != kinds.HALF_SQUARED:
            factor = (self.K - 1) / self.K if loss.kind in MULTICLASS_KINDS else 1.0
            H = EMPTY if state.H is None else state.H[k]
            work = lambda a, b: loops.newton_leaf_values(
                nodes, state.G[k], H, w, factor, a, b, value
            )
        else:
            return tree
        self.for_node_ranges(work, tree.node_count)
        if inner:
            loops.bound_leaf_values(
                tree.children_left, tree.children_right, tree.feature, signs, value
            )
        return tree._replace(value=value[:, None, None])

    def constant_leaf_values(self, state, grown, a, b, value):
        """Best constants of the residuals by node, eq. (7)."""
        y, w = self.rows.y, self.rows.w
        inner = self.options.limits.signs is not None
        for node in range(a, b):
            if inner or grown.tree.children_left[node] == LEAF:
                r = grown.rows[grown.start[node] : grown.stop[node]]
                u = None if w is None else w[r]
                value[node] = state.loss.constant(y[r] - state.f[0, r], u)

    def for_node_ranges(self, work, n_nodes):
        """work(a, b) over all nodes, in pieces on threads if there are many rows."""
        if self.n < PARALLEL_ROWS or self.K > 1:
            work(0, n_nodes)
            return
        cuts = np.linspace(0, n_nodes, min(n_nodes, 16) + 1).astype(int)
        tasks = (lambda a=a, b=b: work(a, b) for a, b in pairwise(cuts))
        for _ in threads.run_tasks(tasks):
            pass

    def add_leaf_values(self, tree, grown: TreeWithRows, f, drawn):
        """Add the value of each row's leaf to f."""
        value = np.ascontiguousarray(tree.value[:, 0, 0])
        if drawn is not None:
            f += value[tree.apply(self.rows.X)]
            return
        nodes = loops.NodeRows(*grown[1:], tree.children_left, False)
        work = lambda a, b: loops.add_leaf_values(nodes, value, a, b, f)
        self.for_node_ranges(work, tree.node_count)

    # -- after the trees -------------------------------------------------------

    def update_gradients(self, state: BoostingState, drawn) -> BoostingState:
        """J of the new predictions, and G and H for the next round."""
        y = self.rows.y
        w = self.rows.w
        options = self.options
        objective = None
        if options.huber_quantile is not None or drawn is not None:
            objective, oob_loss = self.losses_in_and_out_of_bag(state, drawn)
            state = state._replace(oob_loss=oob_loss)
        if options.huber_quantile is not None:
            state = self.update_huber_delta(state)
        total = compute_gradients(
            state.loss, y, state.f, w, options.newton, state.G, state.H
        )
        if objective is None:
            objective = total / self.total
        if self.validation is not None:
            held_out = self.validation
            late = boosting_objective(
                state.loss, held_out.y, state.validation_f, held_out.w
            )
            state = state._replace(validation=late)
        return state._replace(objective=objective)

    def update_huber_delta(self, state: BoostingState) -> BoostingState:
        """Huber's delta for the next round, as a quantile of the residuals."""
        if self.options.huber_quantile is None:
            return state
        size = np.abs(self.rows.y - state.f[0])
        delta = weighted_quantile(size, self.rows.w, self.options.huber_quantile)
        from ...losses import huber

        return state._replace(loss=huber(max(float(delta), 1e-300)))

    def losses_in_and_out_of_bag(self, state, drawn):
        """J of the rows drawn, and of the others (NaN if there are none)."""
        y = self.rows.y
        w = self.rows.w
        f = state.f
        if drawn is None:
            return boosting_objective(state.loss, y, f, w), np.nan
        others = np.delete(np.arange(self.n), drawn)
        mean_loss = lambda r: boosting_objective(
            state.loss, y[r], f[:, r], None if w is None else w[r]
        )
        return mean_loss(drawn), mean_loss(others) if len(others) else np.nan

    def run(self, state, rounds, stop, task, record) -> Result:
        """Run `rounds` rounds, or until `stop(state)`; `record(state)` after each."""
        change = lambda old, new: -1.0 if stop(new) else 1.0
        result = iterate(
            lambda s: record(self.step(s)),
            state,
            max_iter=rounds,
            tol=0.0,
            change=change,
            watch=() if self.validation is None else ("validation",),
            task=task,
        )
        # to run out of rounds is how boosting ends, not a failure to converge
        done = result.reason == "max_iter"
        return result._replace(reason="rounds") if done else result


def scale_tree_values(tree: Tree, options: BoostingOptions) -> Tree:
    """The tree with values times nu; its impurities give the gains of eq. (3)."""
    if options.newton:
        v = tree.value[:, 0, 0]
        H = tree.weighted_n_node_samples
        impurity = -(v**2) * (H + options.l2) / np.maximum(H, 1e-300)
        tree = tree._replace(impurity=impurity)
    return tree._replace(value=options.learning_rate * tree.value)
