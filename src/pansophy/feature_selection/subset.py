"""Subset selection for least squares: greedy searches and the best subset of all.

Let RSS(S) be the residual sum of squares of least squares on a set S of columns. The
search finds, for every size, a set of small RSS, then takes the size with the lowest

    n log(RSS / n) + price |S|        price 2: AIC,  log n: BIC                  (1)

or the lowest error on held-out folds, with the search repeated inside each fold.

RSS changes by one column through a sweep of the cross-product matrix A of the centred
[X, y]: with the columns of S swept in, A_yy = RSS(S), and

    adding j      lowers RSS by  A_jy^2 / A_jj                                   (2)
    removing j    raises RSS by  A_jy^2 / |A_jj|                                 (3)

so a step of "forward", "backward" or "stepwise" costs d^2, whatever n. "best" is branch
and bound: it drops columns from the full set in all ways, but leaves a branch as soon
as its RSS, which can only grow further down, is above the best known for every size
there. The answer is that of trying all 2^d sets. With fewer rows than columns all large
sets fit exactly and no branch is left early; the search then ends after `MAX_NODES`
sets with a warning.

Shapes    X (n, d)   y (n,)   A (d+1, d+1)
Refs      [Furnival1974] branches; [Goodnight1979] sweeps; [Efroymson1960] stepwise
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.linalg.least_squares_passes import (
    least_squares_moments,
    prepare_least_squares,
)
from ..params import Count, Flag, Fraction, NonNegative, ParameterError
from ..typing import Splits
from .selector import AbstractSelector, checked_n_features

MAX_BEST_COLUMNS = 40  # columns up to which "best" is allowed
MAX_NODES = (
    4_000_000  # sets that "best" looks at, at most; with dependent columns fewer
)
RIDGE = 1e-9  # of the squared length of a column


class SubsetPath(NamedTuple):
    """For each size from 0 a set of small RSS, and that RSS."""

    rss: np.ndarray  # (m + 1,), inf where there is none
    sets: np.ndarray  # (m + 1, d) masks
    nodes: int  # sets visited by "best"


def centred_cross_products(X, y, w=None, *, intercept=True):
    """A of eqs (2) and (3), and the sum of weights."""
    problem = prepare_least_squares(X, y[:, None], w, intercept=intercept)
    M = least_squares_moments(problem)
    d = len(M.gram)
    A = np.empty((d + 1, d + 1))
    A[:d, :d] = M.gram
    A[d, :d] = M.cross.T
    A[:d, d] = M.cross[:, 0]
    A[d, d] = M.power[0]
    return A, problem.weight


def _with_unit_columns(A):
    """A for columns scaled to length 1, and which columns are not constant."""
    d = len(A) - 1
    size = np.sqrt(np.maximum(np.diagonal(A)[:d], 0))
    alive = size > 1e-150
    D = np.append(np.where(alive, 1 / np.where(alive, size, 1), 0.0), 1.0)
    return A * D * D[:, None], alive


def search_subsets(A, method, limit) -> SubsetPath:
    """Sets of every size up to `limit`, by greedy steps or branch and bound."""
    from . import _subset as loops

    A, alive = _with_unit_columns(A)
    d = len(A) - 1
    square = np.where(alive, 1.0, np.inf)
    rss = np.full(limit + 1, np.inf)
    sets = np.zeros((limit + 1, d), bool)
    if method != "backward":
        loops.greedy_subset_path(A.copy(), np.zeros(d, bool), square, rss, sets, False)
    if method == "forward":
        return SubsetPath(rss, sets, 0)
    full, inside = _sweep_in_independent(A, square)
    if method == "backward":
        loops.greedy_subset_path(full, inside, square, rss, sets, True)
        return SubsetPath(rss, sets, 0)
    nodes = _branch_and_bound(A, full, inside, alive, rss, sets)
    return SubsetPath(rss, sets, int(nodes))


def _branch_and_bound(A, full, inside, alive, rss, sets):
    """Improve the best set of every size over all subsets of non-constant columns."""
    from . import _subset as loops

    d = len(A) - 1
    left = MAX_NODES
    if not np.array_equal(inside, alive):
        # the full set does not exist to bound the others: the search is incomplete
        left //= 20
        # a tiny ridge penalty makes dependent columns invertible together
        A = A + RIDGE * np.diag(np.append(alive, False).astype(float))
        full = A.copy()
        for j in np.flatnonzero(alive):
            loops.sweep_column(full, j, False)
    columns = np.flatnonzero(alive)
    # columns whose removal costs least come last, deep down in the branches
    cost = full[columns, d] ** 2 / -full[columns, columns]
    order = columns[np.argsort(-cost, kind="stable")]
    stack = np.empty((len(order) + 1, d + 1, d + 1))
    stack[0] = full
    loops.record_if_best(full[d, d], alive, len(order), rss, sets)
    nodes = loops.search_branch(
        stack, alive.copy(), len(order), order, 0, 0, rss, sets, left
    )
    if nodes >= left:
        warnings.warn(
            f"SubsetSelector stopped after {nodes} sets of columns; the best of each "
            "size so far is kept.",
            ConvergenceWarning,
            stacklevel=4,
        )
    for k in np.flatnonzero(np.isfinite(rss)):
        rss[k] = _subset_rss(A, np.flatnonzero(sets[k]))
    return nodes


def _subset_rss(A, at):
    """RSS of the columns `at`, solved from scratch for its digits."""
    G, c = A[np.ix_(at, at)], A[at, -1]
    B = np.linalg.lstsq(G, c, rcond=None)[0]
    return max(float(A[-1, -1] - 2 * B @ c + B @ G @ B), 0.0)


def _sweep_in_independent(A, square):
    """A with all columns swept in that do not depend on those before them."""
    from . import _subset as loops

    full = A.copy()
    inside = np.zeros(len(A) - 1, bool)
    while True:
        rest = np.where(inside, 0.0, np.diagonal(full)[:-1])
        j = int(np.argmax(rest))
        if rest[j] <= loops.DEPENDENT_SHARE or not np.isfinite(square[j]):
            return full, inside
        loops.sweep_column(full, j, False)
        inside[j] = True


def _information_criterion(rss, size, n, price, power):
    """Eq. (1); an RSS below rounding of |y|^2 = power is raised to that."""
    floor = max(1e-14 * power, 1e-300)
    return n * np.log(np.maximum(rss, floor) / n) + price * size


def _stepwise_search(A, n, price, limit):
    """Add or drop one column while eq. (1) falls: the mask, and (size, RSS) visited."""
    from . import _subset as loops

    A, alive = _with_unit_columns(A)
    d = len(A) - 1
    square = np.where(alive, 1.0, np.inf)
    inside = np.zeros(d, bool)
    path = [(0, A[d, d])]
    cost = lambda rss, size: float(
        _information_criterion(rss, size, n, price, path[0][1])
    )
    best = cost(A[d, d], 0)
    while True:
        size = int(inside.sum())
        j, drop = loops.best_addition(A, inside, square) if size < limit else (-1, 0.0)
        k, rise = loops.best_removal(A, inside)
        add = cost(A[d, d] - drop, size + 1) if j >= 0 else np.inf
        cut = cost(A[d, d] + rise, size - 1) if k >= 0 else np.inf
        if min(add, cut) >= best - 1e-9 * abs(best):
            return inside, path
        j, best = (j, add) if add <= cut else (k, cut)
        loops.sweep_column(A, j, bool(inside[j]))
        inside[j] = not inside[j]
        path.append((int(inside.sum()), A[d, d]))


@dataclass(eq=False, repr=False)
class SubsetSelector(AbstractSelector):
    """Columns for a least-squares fit, by greedy search or the best of all subsets.

    Parameters
    ----------
    method : {"best", "forward", "backward", "stepwise"}, default="best"
        "best" searches all subsets, of at most 40 columns. "stepwise" adds or drops
        one column at a time while eq. (1) falls.
    criterion : {"bic", "aic", "cv"} or float, default="bic"
        What chooses the size; a number is the price of eq. (1).
    n_features_to_select : int, float or None
        The size instead, or the share of the columns; None lets `criterion` choose.
    max_features : int or None
        Largest size to look at.
    cv : int, splitter or iterable, default=5
        The folds of criterion="cv".
    fit_intercept : bool, default=True
        Whether the fits have an intercept.

    Attributes
    ----------
    support_ : array of shape (d,)
        Mask of the columns that were kept.
    rss_path_ : array of shape (m + 1,)
        Residual sum of squares of the best set found of each size.
    subsets_ : array of shape (m + 1, d)
        Those sets as masks. "stepwise" has only those it visited.
    criterion_path_ : array of shape (m + 1,)
        What the size was chosen by.
    n_nodes_ : int
        Sets of columns that "best" visited.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import SubsetSelector
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> SubsetSelector().fit(X, X[:, 1] - 2 * X[:, 4]).get_support(indices=True)
    array([1, 4])
    """

    method: Literal["best", "forward", "backward", "stepwise"] = "best"
    _: KW_ONLY
    criterion: Literal["bic", "aic", "cv"] | NonNegative = "bic"
    n_features_to_select: Count | Fraction | None = None
    max_features: Count | None = None
    cv: Splits = 5
    fit_intercept: Flag = True

    _tensors = True

    def fit(self, X, y, sample_weight=None):
        """Search sets of columns of X that explain y."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", ensure_min_samples=2, order="C"
        )
        y = arrays.as_float(y)
        refuse_overflowing_squares(self, X)
        refuse_overflowing_squares(self, y, "y")
        d = X.shape[1]
        if self.method == "best" and d > MAX_BEST_COLUMNS:
            raise ParameterError(
                f"method='best' of SubsetSelector takes at most {MAX_BEST_COLUMNS} "
                f"columns, got {d}; take 'forward', 'backward' or 'stepwise'."
            )
        A, n = centred_cross_products(X, y, w, intercept=self.fit_intercept)
        limit = min(d, self.max_features or d, max(int(n) - 1 - self.fit_intercept, 0))
        k = checked_n_features(self.n_features_to_select, d, "SubsetSelector", None)
        if self.method == "stepwise":
            return self._stepwise(A, n, k, limit)
        result = search_subsets(A, self.method, limit)
        self.rss_path_ = result.rss
        self.subsets_ = result.sets
        self.n_nodes_ = result.nodes
        self.criterion_path_ = self._criterion_path(X, y, w, n, result)
        if k is None:
            k = int(np.argmin(self.criterion_path_))
        elif k > limit or not np.isfinite(result.rss[k]):
            raise ValueError(f"no {k} of the columns are independent on these rows.")
        self.support_ = result.sets[k]
        return self

    def _price(self, n):
        known: dict[Any, float] = {"aic": 2.0, "bic": math.log(n)}
        return known.get(self.criterion, self.criterion)

    def _criterion_path(self, X, y, w, n, path):
        """The criterion for each size."""
        if self.criterion == "cv":
            return self._held_out(X, y, w, len(path.rss))
        size = np.arange(len(path.rss))
        return _information_criterion(path.rss, size, n, self._price(n), path.rss[0])

    def _held_out(self, X, y, w, sizes):
        """Mean squared error on folds of the sets found without them, per size."""
        error = np.zeros(sizes)
        mass = 0.0
        for train, test in check_cv(self.cv).split(X, y):
            Xa = X[train]
            ya = y[train]
            wa = None if w is None else w[train]
            wb = np.ones(len(test)) if w is None else w[test]
            A, n = centred_cross_products(Xa, ya, wa, intercept=self.fit_intercept)
            max_size = min(sizes - 1, max(int(n) - 1 - self.fit_intercept, 0))
            result = search_subsets(A, self.method, max_size)
            for k in range(sizes):
                chosen = result.sets[k] if k <= max_size else None
                if chosen is None or not np.isfinite(result.rss[k]):
                    error[k] = np.inf
                    continue
                e = y[test] - self._predict_subset(Xa, ya, wa, A, chosen, X[test])
                error[k] += float(wb @ (e * e))
            mass += float(wb.sum())
        return error / mass

    def _predict_subset(self, Xa, ya, wa, A, at, Xb):
        """Predictions for Xb of the fit to the columns `at` of Xa."""
        B = np.linalg.lstsq(A[:-1, :-1][np.ix_(at, at)], A[:-1, -1][at], rcond=None)[0]
        if not self.fit_intercept:
            return Xb[:, at] @ B
        center, offset = (np.average(a, axis=0, weights=wa) for a in (Xa, ya))
        return offset + (Xb[:, at] - center[at]) @ B

    def _stepwise(self, A, n, k, limit):
        if self.criterion == "cv" or k is not None:
            parameter = "criterion='cv'" if k is None else "n_features_to_select"
            raise ParameterError(
                f"method='stepwise' of SubsetSelector stops by a price: {parameter} "
                "cannot be combined with it."
            )
        self.support_, path = _stepwise_search(A, n, self._price(n), limit)
        self.rss_path_ = np.full(limit + 1, np.inf)
        for size, rss in path:
            self.rss_path_[size] = min(self.rss_path_[size], rss)
        self.subsets_ = self.support_[None, :]
        self.criterion_path_ = np.array(
            [
                n * math.log(max(r, 1e-14 * A[-1, -1]) / n) + self._price(n) * s
                for s, r in path
            ]
        )
        self.n_nodes_ = 0
        return self
