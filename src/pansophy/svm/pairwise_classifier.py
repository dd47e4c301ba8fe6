"""Kernel classifiers of any number of classes: one machine for each pair of classes.

Of K classes, the machine of classes i < j sees their rows alone, with sign +1 for i;
two classes make one machine with sign +1 for the second, as everywhere in
scikit-learn. `dual_coef_` (K - 1, n_support) holds the multipliers of all machines: the
column of a support vector of class i has its K - 1 multipliers against the other
classes, in their order.

A prediction is the class that wins most pairs, the first of several. With
decision_function_shape="ovr" the scores are the numbers of pairs won, plus the sum of
the decision values squeezed into (-1/3, 1/3),

    score_i = wins_i + s_i / (3 (|s_i| + 1)),   s_i = sum_j f_ij                   (1)

**Work that pairs share.** The block of the kernel matrix of one class is needed by
K - 1 pairs. While it fits, it is computed once and only the block between two classes
is new; of large classes, rows of the kernel matrix are cached for each class as
columns, and a pair reads the caches of its two classes.

**Probabilities.** Each pair has a sigmoid (Platt's, slope of at least 0),

    r_ij = P(i | i or j, x) = 1 / (1 + exp(A_ij f_ij + B_ij))                      (2)

fitted to the decision values of rows held out in five folds; p minimises

    sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2,   sum_i p_i = 1                    (3)

a linear system for each row. The sigmoids are shrunk towards 1/2, by about 1/(n_i + 2)
for a class of n_i rows, and in (3) the doubts of the K - 1 pairs of a class add up: of
26 classes of 60 rows the best could have .7 at most. So the answer for K > 2 is

    p_i^b / sum_j p_j^b                                                            (4)

with one number b for all classes (temperature scaling, T = 1/b) that makes the held-out
rows likeliest; the most probable class stays the same. With `probability=True`,
`predict` is the class of the largest probability: the two never disagree.

Shapes    X (n, d)   decision values (n, K (K - 1) / 2)   p (n, K)
Refs      [Platt2000] [Wu2004] eq. (3); [Guo2017] eq. (4); [Chang2011]
"""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if

from ..base import Classifier
from ..core.arrays import arrays
from ..core.arrays.class_weight import compute_class_weight
from ..core.arrays.labels import class_codes
from ..core.drivers.iterate import Result
from ..core.drivers.progress import SILENT
from ..core.loops import threads
from ..core.random import make_rng
from ..core.score_calibration import (
    fit_inverse_temperature,
    fit_platt_sigmoid,
    scale_temperature,
)
from ..optim.constraints.smo import EXACT_ROWS, RowCache
from ..params import Flag
from ..typing import Seed
from .device_rows import ComputedRows, DeviceRows, answer_like
from .kernel_machine import (
    AbstractKernelMachine,
    kept_rows,
    row_cache,
    solve_with,
    to_dense,
)
from .kernel_rows import PrecomputedRows, take_training_rows

FOLDS = 5  # of the rows that sigmoids are fitted to
LEAST_OF_PAIR = 1e-7  # probability of a side of a pair, at least


class ClassPair(NamedTuple):
    """The machine of two classes."""

    first: int
    second: int
    members: np.ndarray  # rows of the two classes, those of the first before
    sign: np.ndarray  # +1 and -1


class PairSolution(NamedTuple):
    """Multipliers of the members of a pair, and its intercept."""

    coef: np.ndarray
    intercept: float
    steps: int
    objective: float
    violation: float


class PairStates(tuple):
    """The solutions of all pairs."""

    @property
    def objective(self) -> float:
        return float(sum(s.objective for s in self))


class PairCache:
    """Cache of the kernel rows of a pair: the caches of the columns of its classes."""

    whole = None
    evicted = False
    dtype = None  # rows may be float32: solutions are not refined
    working = RowCache.working
    rounded = False
    asarray = RowCache.asarray

    def __init__(self, training, members, first, second):
        self.training = training
        self.members = members
        self.parts = (first, second)
        self.cut = len(first.columns)
        self.n = len(members)
        self.columns = np.arange(self.n)
        self.capacity = min(first.capacity, second.capacity, self.n)

    def slots_of(self, index):
        rows = self.members[index]
        return np.stack([part.slots_of(rows) for part in self.parts], axis=1)

    def square(self, index, slots, places):
        return self.training.square(self.members[index])

    def add_rows(self, slots, weights, out):
        ranges = (out[: self.cut], out[self.cut :])
        for part, slot, piece in zip(self.parts, slots.T, ranges, strict=True):
            part.add_rows(np.ascontiguousarray(slot), weights, piece)

    def products(self, index, b):
        support = np.flatnonzero(b)
        out = np.empty(len(index))
        step = max(16, (1 << 20) // max(len(support), 1))
        for begin in range(0, len(index), step):
            part = self.members[index[begin : begin + step]]
            block = self.training(part, self.members[support])
            out[begin : begin + step] = block @ b[support]
        return out


class SharedClassBlocks:
    """Kernel blocks, or row caches, of the classes, which the pairs of a fit share.

    Parameters
    ----------
    training : TrainingRows or PrecomputedRows
    members : list of arrays
        The rows of each class.
    limit : int
        Bytes for all classes together.
    """

    def __init__(self, training, members, limit):
        self.training = training
        self.members = members
        sizes = np.array([len(m) for m in members])
        largest = int(np.sort(sizes)[-2:].sum())
        precomputed = isinstance(training, PrecomputedRows)
        self.small = precomputed or largest <= EXACT_ROWS
        self.blocks: list = []
        self.caches: list = []
        if self.small and not precomputed and 8 * (sizes**2).sum() <= limit:
            tasks = [partial(training.whole, m) for m in members]
            is_threaded = training.threaded
            self.blocks = (
                [*threads.run_tasks(tasks)] if is_threaded else [t() for t in tasks]
            )
        if not self.small and not isinstance(training, DeviceRows):
            share = max(limit // len(members), 1 << 20)
            self.caches = [
                RowCache(training, training.n, share, training.dtype, columns=m)
                for m in members
            ]

    def cache(self, pair):
        """The cache of the kernel matrix of a pair."""
        if isinstance(self.training, DeviceRows) and not self.small:
            return ComputedRows(self.training, pair.members)
        if not self.small:
            first, second = self.caches[pair.first], self.caches[pair.second]
            return PairCache(self.training, pair.members, first, second)
        if not self.blocks:
            return RowCache(self.training.whole(pair.members))
        a, b = self.blocks[pair.first], self.blocks[pair.second]
        cross = self.training(self.members[pair.first], self.members[pair.second])
        cut = len(a)
        K = np.empty((len(pair.members), len(pair.members)))
        K[:cut, :cut] = a
        K[cut:, cut:] = b
        K[:cut, cut:] = cross
        K[cut:, :cut] = cross.T
        return RowCache(K)


def _join_runs(runs) -> Result:
    """One result of the runs of all pairs; the state is the tuple of their states."""
    longest = max(len(run.history["objective"]) for run in runs)

    def padded(name):
        """The histories of the runs that made an iteration, (runs, longest)."""
        lists = [run.history[name] for run in runs if len(run.history[name])]
        parts = [np.pad(h, (0, longest - len(h)), mode="edge") for h in lists]
        return np.array(parts).reshape(len(parts), longest)

    history = {
        "objective": padded("objective").sum(axis=0),
        "violation": padded("violation").max(axis=0, initial=0.0),
    }
    reasons = [run.reason for run in runs]
    reason = next((r for r in reasons if r != "tolerance"), "tolerance")
    states = PairStates(run.state for run in runs)
    seconds = sum(run.seconds for run in runs)
    return Result(states, max(run.n_iter for run in runs), reason, history, seconds)


def _solve_all_pairs(tasks, together, task) -> Result:
    """Run the fits of all pairs, on threads if they are `together` small enough."""
    if len(tasks) == 1:
        return _join_runs([tasks[0](task)])
    runs: Any = (run(SILENT) for run in tasks)
    if together:
        runs = threads.run_tasks(partial(run, SILENT) for run in tasks)
    runs_done = []
    for k, run in enumerate(runs):
        if run.interrupted:  # without the other pairs there is no model
            raise KeyboardInterrupt
        runs_done.append(run)
        if task.child(f"pair {k}").end():
            break
    # stopped by a callback: the other pairs are needed too
    runs_done += [run(SILENT) for run in tasks[len(runs_done) :]]
    return _join_runs(runs_done)


def _offers_probabilities(model) -> bool:
    if model.probability is True or model.probability == 1:
        return True
    raise AttributeError("predict_proba is not available when probability=False")


@dataclass(eq=False, repr=False)
class AbstractPairwiseClassifier(Classifier, AbstractKernelMachine):
    """Parameters and methods of the kernel classifiers."""

    _: KW_ONLY
    probability: Flag | Literal["deprecated"] = False
    class_weight: dict | Literal["balanced"] | None = None
    decision_function_shape: Literal["ovo", "ovr"] = "ovr"
    break_ties: Flag = False
    random_state: Seed = None

    # -- what a member writes ------------------------------------------------------

    @abstractmethod
    def _solve_pair(self, pair, weights, start, solve) -> Result:
        """The result of one pair, whose state is a `PairSolution`.

        `solve(problem, **options)` solves a dual on its rows.
        """

    @abstractmethod
    def _largest_bound(self, weights) -> float:
        """The largest multiplier that a row may have."""

    # -- fit -------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        X, y, w = self._check_machine_data(X, y, sample_weight, "class")
        rows, w = kept_rows(X, w)
        previous = self._previous_coefficients(X, np.asarray(y), rows)
        for name in ("probA_", "probB_", "inverse_temperature_"):
            self.__dict__.pop(name, None)  # those of an earlier fit
        self._fit_machines(X, y, rows, w, previous)
        if self.probability is True or self.probability == 1:
            self._fit_sigmoids(X, y, rows, w)
        return self

    def _previous_coefficients(self, X, y, rows) -> list | None:
        """Coefficients to start from: nothing unless a member has warm starts."""

    def _fit_machines(self, X, y, rows, w, previous):
        self.classes_, codes = class_codes(np.asarray(y)[rows])
        n_classes = len(self.classes_)
        if n_classes < 2:
            if len(rows) < self.shape_fit_[0]:
                raise ValueError(
                    "Invalid input - all samples with positive weights belong to the "
                    "same class: any specified nu is infeasible, and so is any C."
                )
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class"
            )
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=self.classes_, codes=codes, sample_weight=w
        )
        # class by class, so that the rows of a class are consecutive
        order = np.argsort(codes, kind="stable")
        rows, codes, w = rows[order], codes[order], w[order]
        weights = w * self.class_weight_[codes]
        used = (
            X[np.ix_(rows, rows)] if self._precomputed else take_training_rows(X, rows)
        )
        training = self._training_rows(used, w, self._largest_bound(weights))
        members = [np.flatnonzero(codes == c) for c in range(n_classes)]
        pairs = [
            _make_pair(members, i, j) for i, j in combinations(range(n_classes), 2)
        ]
        result = self._solve_pairs(training, members, pairs, weights, previous)
        self._store_pairs(X, rows, codes, pairs, result.state)

    def _solve_pairs(self, training, members, pairs, weights, previous):
        settings = self._settings()
        make_cache = lambda pair: row_cache(training, pair.members, settings)
        is_shared = len(members) > 2
        if is_shared:
            with threads.single_blas():
                shared = SharedClassBlocks(training, members, settings.cache)
            make_cache = shared.cache
            is_shared = shared.small and training.threaded

        def run_pair(pair, start, task):
            cache = make_cache(pair)
            solve = partial(solve_with, cache, settings=settings, task=task)
            return self._solve_pair(pair, weights[pair.members], start, solve)

        starts = previous or [None] * len(pairs)
        tasks = [partial(run_pair, *job) for job in zip(pairs, starts, strict=True)]
        return self._run_duals(partial(_solve_all_pairs, tasks, is_shared))

    def _store_pairs(self, X, rows, codes, pairs, solutions):
        """Set the fitted attributes in scikit-learn's layout."""
        k = len(self.classes_)
        flip = -1.0 if k == 2 else 1.0
        coef = np.zeros((k - 1, len(rows)))
        for pair, solution in zip(pairs, solutions, strict=True):
            cut = int((pair.sign > 0).sum())
            first, second = pair.members[:cut], pair.members[cut:]
            coef[pair.second - 1, first] = solution.coef[:cut]
            coef[pair.first, second] = solution.coef[cut:]
        used = np.flatnonzero((coef != 0).any(axis=0))
        used = used[np.argsort(codes[used], kind="stable")]
        self.n_support_ = np.bincount(codes[used], minlength=k).astype(np.int32)
        self._store_support(X, rows[used])
        dual = flip * coef[:, used]
        self.dual_coef_ = dual if self._dense else sp.csr_array(dual)
        self.intercept_ = flip * np.array([s.intercept for s in solutions])
        self.n_iter_ = np.array([s.steps for s in solutions], dtype=np.int32)
        self.dual_objective_ = np.array([s.objective for s in solutions])

    @property
    def coef_(self):
        """Weights of the columns, (pairs, d), where the kernel is linear."""
        if not hasattr(self, "dual_coef_"):
            raise AttributeError("coef_ is only available after fit")
        coef = to_dense(self.dual_coef_)
        if len(self.classes_) > 2:
            coef = pair_coefficients(coef, self.n_support_)
        return self._linear_coef(coef if self._dense else sp.csr_array(coef))

    # -- predictions -------------------------------------------------------------------

    def _pair_decisions(self, X):
        """f_ij of eq. (1), (n, pairs); above 0 the first class of a pair wins.

        Of two classes, above 0 the second.
        """
        X = self._check_prediction_rows(X)
        coef = to_dense(self.dual_coef_)
        k = len(self.classes_)
        if arrays.is_foreign(X):
            coef = coef if k == 2 else pair_coefficients(coef, self.n_support_)
            return self._device_decision(X, coef) + self.intercept_
        if k == 2:
            coef_column = np.ascontiguousarray(coef[0])
            return (
                self._expand(X, lambda K: (K @ coef_column)[:, None], 1)
                + self.intercept_
            )
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        number = _pair_numbers(k)
        n_pairs = k * (k - 1) // 2

        def combine(K):
            out = np.zeros((K.shape[0], n_pairs))
            for c in range(k):
                own_rows = slice(ends[c], ends[c + 1])
                other_pairs = np.delete(number[c], c)
                out[:, other_pairs] += K[:, own_rows] @ coef[:, own_rows].T
            return out

        return self._expand(X, combine, n_pairs) + self.intercept_

    def decision_function(self, X):
        """Scores: (n,) for two classes; of pairs ("ovo") or classes ("ovr") for more.

        "ovr" is eq. (1) of the module.
        """
        f = self._pair_decisions(X)
        if len(self.classes_) == 2:
            f = f[:, 0]
        elif self.decision_function_shape == "ovr":
            f = _one_vs_rest_scores(f, len(self.classes_))
        return answer_like(f, X)

    def predict(self, X):
        """The class of each row."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'"
            )
        codes = self._predicted_codes(X)
        return answer_like(self.classes_[codes], X)

    def _predicted_codes(self, X):
        """The place of the predicted class of each row in `classes_`."""
        if hasattr(self, "probA_"):
            return self._probabilities(X).argmax(axis=1)
        f = self._pair_decisions(X)
        k = len(self.classes_)
        if k == 2:
            return (f[:, 0] > 0).astype(np.intp)
        best = _one_vs_rest_scores(f, k) if self.break_ties else _count_wins(f, k)
        return best.argmax(axis=1)

    # -- probabilities -----------------------------------------------------------------

    def _fit_sigmoids(self, X, y, rows, w):
        """Eq. (2): a sigmoid for each pair, on decision values of held-out rows."""
        codes = np.searchsorted(self.classes_, np.asarray(y)[rows])
        rare = int(np.bincount(codes).min())
        k = len(self.classes_)
        f = np.empty((len(rows), k * (k - 1) // 2))
        held_out: Any = [(np.arange(len(rows)),) * 2]  # a class of one row
        if rare > 1:
            seed = int(make_rng(self.random_state).integers(1 << 31))
            cut = StratifiedKFold(min(FOLDS, rare), shuffle=True, random_state=seed)
            held_out = cut.split(codes, codes)
        for train, test in held_out:
            model = clone(self).set_params(probability=False)
            if isinstance(self.kernel, str) and not self._precomputed:
                model.set_params(gamma=self._gamma)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows has warned
                part = self._rows_of(X, rows[train], rows[train])
                model.fit(part, _codes_to_labels(self, codes[train]), w[train])
            f[test] = model._pair_decisions(self._rows_of(X, rows[test], rows[train]))
        fits = []
        for number, (i, j) in enumerate(combinations(range(k), 2)):
            in_pair = (codes == i) | (codes == j)
            winner = (j if k == 2 else i) == codes[in_pair]
            fits.append(
                fit_platt_sigmoid(f[in_pair, number], winner, w[in_pair], rising=True)
            )
        self.probA_ = -np.array([slope for slope, _ in fits])
        self.probB_ = -np.array([offset for _, offset in fits])
        self.inverse_temperature_ = 1.0
        if k > 2:
            held_out_p = self._coupled_probabilities(f)
            self.inverse_temperature_ = fit_inverse_temperature(held_out_p, codes, w)

    def _rows_of(self, X, rows, columns):
        part = take_training_rows(X, rows)
        return part[:, columns] if self._precomputed else part

    def _coupled_probabilities(self, f):
        """p of eq. (3) from decision values, (n, K)."""
        r = expit(-(self.probA_ * f + self.probB_))
        if len(self.classes_) == 2:
            return np.column_stack([1 - r[:, 0], r[:, 0]])
        return couple_pairs(r, len(self.classes_))

    def _probabilities(self, X):
        p = self._coupled_probabilities(self._pair_decisions(X))
        if len(self.classes_) == 2:
            return p
        return scale_temperature(p, self.inverse_temperature_)

    @available_if(_offers_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, eqs. (2) to (4), shape (n, K)."""
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if not hasattr(self, "probA_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        return answer_like(self._probabilities(X), X)

    @available_if(_offers_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        return arrays.namespace(p).log(p)


def _make_pair(members, i, j) -> ClassPair:
    """The machine of classes i < j; of two classes the second is positive later."""
    sizes = len(members[i]), len(members[j])
    sign = np.repeat([1.0, -1.0], sizes)
    return ClassPair(i, j, np.concatenate([members[i], members[j]]), sign)


def _codes_to_labels(model, codes):
    return model.classes_[codes]


def _pair_numbers(k):
    """(k, k): the number of the pair of two classes, in the order of combinations."""
    number = np.zeros((k, k), dtype=np.intp)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        number[i, j] = number[j, i] = p
    return number


def pair_coefficients(coef, n_support):
    """Multipliers by pair, (pairs, n_support), from the layout of `dual_coef_`."""
    k = len(n_support)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    rows = np.zeros((k * (k - 1) // 2, coef.shape[1]))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        first = slice(ends[i], ends[i + 1])
        second = slice(ends[j], ends[j + 1])
        rows[p, first] = coef[j - 1, first]
        rows[p, second] = coef[i, second]
    return rows


def _count_wins(f, k, *, ties_to_first=False):
    """Number of pairs that each class wins, (n, k); f = 0 goes to the second class."""
    wins = np.zeros((len(f), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        first = f[:, p] >= 0 if ties_to_first else f[:, p] > 0
        wins[:, i] += first
        wins[:, j] += ~first
    return wins


def _one_vs_rest_scores(f, k):
    """Eq. (1). A decision value of 0 goes to the first class, as in scikit-learn."""
    sums = np.zeros((len(f), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        sums[:, i] += f[:, p]
        sums[:, j] -= f[:, p]
    return _count_wins(f, k, ties_to_first=True) + sums / (3 * (np.abs(sums) + 1))


def couple_pairs(r, k):
    """Eq. (3): class probabilities (n, k) from those of pairs (n, pairs)."""
    r = np.clip(r, LEAST_OF_PAIR, 1 - LEAST_OF_PAIR)
    n = len(r)
    R = np.zeros((n, k, k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        R[:, i, j] = r[:, p]
        R[:, j, i] = 1 - r[:, p]
    # the conditions of eq. (3): Q p + multiplier = 0, sum p = 1
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (R**2).sum(axis=1)
    system[:, :k, k] = 1.0
    system[:, k, :k] = 1.0
    goal = np.zeros((n, k + 1, 1))
    goal[:, k] = 1.0
    p = np.linalg.solve(system, goal)[:, :k, 0] if n else np.zeros((0, k))
    p = np.clip(p, 0.0, None)
    return p / p.sum(axis=1, keepdims=True)
