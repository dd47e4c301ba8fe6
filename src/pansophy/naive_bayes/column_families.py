"""Column families of naive Bayes: the distribution of a group of columns by class.

    p(x | c) = prod_j p(x_j; t_jc)        columns are independent given the class  (1)

A `ColumnFamily` says how the sufficient statistics of its columns are computed per
class, how they become a `Distribution` (through `from_stats`, with a conjugate prior),
how that scores rows, and how it draws them. NaN is a missing value: its factor drops
out of (1), and it is not counted. Smoothing by pseudo-counts a is the mean of the
posterior under Beta(a, a) or Dirichlet(a, ..., a), which is the mode under the same
with a + 1:

    p = (count + a) / (seen + 2a)      (count_v + a) / (sum_v count_v + m a)       (2)

    gaussian      Normal of diagonal shape; a is the share of the largest variance of
                  all columns that is added to each
    bernoulli     x = 0, 1         log p = sum_j x_j log p_j + (1 - x_j) log(1 - p_j)
    poisson       x = 0, 1, 2 ..   a rows with the mean of all classes are the prior
    multinomial   counts of words  log p = sum_j x_j log p_j, one block of columns;
                  with columns missing, the rest of p is scaled up to sum to 1
    categorical   x = 0 .. m_j-1   one table for each column

The counts of categorical columns, m_j values for column j, stand in one row of
M = sum_j m_j counts for each class, so that counting and scoring are one look-up per
value. Counts of different widths can be added: the narrower is widened.

Shapes    x (b, d) a block   codes (b,)   w (b,) or None   N (k,)   scores (b, k)
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.loops import threads
from ..core.numerics import LOG_2PI, safe_divide, safe_log, xlogy
from ..distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Moments,
    Multinomial,
    Normal,
    Poisson,
)
from ..distributions.base import SufficientStatistics, gammaln
from ..distributions.gaussian.class_moments import (
    class_moments,
    class_sums,
    dense_float64,
    weights_for_loop,
)
from ..persist.saved_state import IntArray, NumberArray, saved_state
from ..predictors.abstract_bayes import apply_to_dense_rows
from . import _column_families as loops


class InvalidCountError(ValueError):
    """Values that no count or category has; the model adds its name to the text."""


@contextmanager
def naming_negative_values(model):
    """Adds the name of the model to errors about negative counts and categories."""
    try:
        yield
    except InvalidCountError as error:
        raise InvalidCountError(
            f"Negative values in data passed to {type(model).__name__} (input X): "
            f"{error}"
        ) from None


class ColumnFamily(NamedTuple):
    """Statistics, fit, scores and draws of one kind of column."""

    statistics: Callable  # (x, codes, k, w) -> sufficient statistics that add up
    fit: Callable  # (statistics, N, alpha, prior) -> distribution
    scorer: Callable  # distribution -> (x -> log p (b, k))
    draw: Callable  # (distribution, z, rng) -> (n, d)


# --- gaussian ---------------------------------------------------------------------
def gaussian_statistics(x, codes, k, w):
    """Weight, mean and scatter of each class."""
    return class_moments(x, codes, k, w, "diag")


def pool_class_scatter(m: Moments) -> Moments:
    """Moments in which every class has the pooled scatter."""
    xp = arrays.namespace(m.mean)
    like = xp.zeros_like(m.mean)
    N, S = xp.sum(m.weight, axis=0) + like, xp.sum(m.scatter, axis=0) + like
    return Moments(N, m.mean, S, m.shape)


def variance_floor(m: Moments, share):
    """`share` of the largest variance of a column over all classes (1 if all are 0)."""
    xp = arrays.namespace(m.mean)
    N = xp.sum(m.weight, axis=0)
    centre = safe_divide(xp.sum(m.weight * m.mean, axis=0), N)
    gap = m.mean - centre
    V = safe_divide(xp.sum(m.scatter + m.weight * gap * gap, axis=0), N)
    top = float(xp.max(V))
    return share * (top if top != 0 else 1.0)


def gaussian_fit(m, N, share, prior=None, *, shared=False) -> Normal:
    """Maximum likelihood Normals, with `share` of the largest variance added."""
    xp = arrays.namespace(m.mean)
    with np.errstate(over="ignore", invalid="ignore"):
        floor = variance_floor(m, share)
        p = Normal.from_stats(pool_class_scatter(m) if shared else m, floor=floor)
    if not bool(xp.all(xp.isfinite(p.cov))):
        raise ValueError("X holds values whose squares overflow: scale the data.")
    if not bool(xp.all(p.cov > 0)):
        c, j = np.argwhere(arrays.to_numpy(p.cov) <= 0)[0]
        raise ValueError(
            f"column {j} does not vary in class {c} of the rows: raise var_smoothing."
        )
    return p


def gaussian_scorer(p: Normal):
    """Scores of a batch of diagonal Normals."""
    P = p.factor
    if arrays.is_foreign(P):
        return p.log_prob
    M, P = np.ascontiguousarray(p.means), np.ascontiguousarray(P)
    log_P = np.log(P) - 0.5 * LOG_2PI
    constant = log_P.sum(axis=1)

    def score(x):
        out = np.empty((x.shape[0], len(M)))
        loops.diagonal_normal_scores(dense_float64(x), M, P, log_P, constant, out)
        return out

    return apply_to_dense_rows(score)


# --- families that are linear in x ------------------------------------------------
class ClassTotals(NamedTuple):
    """Sums of x per class and the weight of rows that miss a column; they add."""

    total: Any  # (k, d)
    missing: Any  # (k, d), or 0.0 where nothing is missing


def sparse_values(x):
    """The entries of a sparse matrix as float or bool, as the loops need them."""
    return x.data if x.data.dtype.kind in "fb" else x.data.astype(np.float64)


def sparse_class_totals(x, codes, k, w):
    """Sums (k, d) of sparse rows, one task for each class."""
    S = np.zeros((k, x.shape[1]))
    data = sparse_values(x)
    v = weights_for_loop(w)
    order = np.argsort(codes, kind="stable")  # a class at a time stays in cache
    ends = np.searchsorted(codes[order], np.arange(k + 1))
    tasks = (
        lambda c=c: loops.add_sparse_rows(
            x.indptr, x.indices, data, order[ends[c] : ends[c + 1]], *v, S[c]
        )
        for c in range(k)
    )
    for _ in threads.run_tasks(tasks):
        pass
    return S


def class_totals(x, codes, k, w) -> ClassTotals:
    """`ClassTotals` of a block of rows: dense, sparse or tensor."""
    if sp.issparse(x):
        return ClassTotals(sparse_class_totals(x, codes, k, w), 0.0)
    total = class_sums(x, codes, k, w)[1]
    if arrays.is_foreign(x) or not np.isnan(total).any():
        return ClassTotals(total, 0.0)
    holes = np.isnan(x)
    missing = class_sums(holes.astype(float), codes, k, w)[1]
    return ClassTotals(class_sums(np.where(holes, 0, x), codes, k, w)[1], missing)


def observed_weight(s: ClassTotals, N):
    """The weight of the rows that have each column, (k,) or (k, d)."""
    return N[:, None] - s.missing if isinstance(s.missing, np.ndarray) else N


def linear_scorer(one, zero, scale=None):
    """x -> sum_j x_j one_cj + (1 - x_j) zero_cj, with 0 * -inf = 0.

    `zero` is None where the second term is absent. `scale` (k, d), if given, is p of
    a multinomial, whose seen part is scaled to sum to 1.
    """
    xp = arrays.namespace(one)
    pairs = [(one, zero)]
    terms = [a for a in (one, zero) if a is not None]
    if any(bool(xp.any(xp.isinf(a))) for a in terms):
        # a second sum, also linear in x: the number of impossible events in a row
        finite = lambda a: xp.where(xp.isinf(a), xp.zeros_like(a), a)
        impossible = lambda a: xp.astype(xp.isinf(a), a.dtype)
        pairs = [
            (part(one), None if zero is None else part(zero))
            for part in (finite, impossible)
        ]
    sums = []  # of x_j (a_cj - b_cj) + b_cj, for b given or 0
    for a, b in pairs:
        A = a if b is None else a - b
        sums.append((as_contiguous(A.T), None if b is None else b.T))
    constants = [0.0 if B is None else xp.sum(B, axis=0) for _, B in sums]

    def complete(x):
        found = zip(sums, constants, strict=True)
        parts = [rows_times_matrix(x, A) + constant for (A, _), constant in found]
        return mask_impossible(xp, parts)

    def score(x):
        if sp.issparse(x) or arrays.is_foreign(x):
            return complete(x)
        out = complete(x)
        bad = np.flatnonzero(np.isnan(out).any(axis=1))
        if len(bad):
            some = ~np.isnan(x[bad])
            filled = np.where(some, x[bad], 0)
            some = some.astype(float)
            parts = [filled @ A + (0.0 if B is None else some @ B) for A, B in sums]
            out[bad] = mask_impossible(np, parts)
            if scale is not None:
                left = np.minimum(some @ scale.T, 1.0)
                words = filled.sum(axis=1, keepdims=True) + 0 * left
                out[bad] -= xlogy(words, left)
        return out

    return score


def as_contiguous(A):
    """A in C order; arrays of other libraries unchanged."""
    return A if arrays.is_foreign(A) else np.ascontiguousarray(A)


def mask_impossible(xp, parts):
    """The first part, -inf where the second (if any) counts impossible events."""
    if len(parts) == 1:
        return parts[0]
    return xp.where(parts[1] > 0.5, xp.full_like(parts[0], -xp.inf), parts[0])


def rows_times_matrix(x, A):
    """x A for a block of rows of any kind."""
    if arrays.is_foreign(x):
        return arrays.as_float(x) @ arrays.asarray(A, like=arrays.as_float(x))
    if not sp.issparse(x):
        return x @ A
    out = np.empty((x.shape[0], A.shape[1]))
    loops.sparse_scores(x.indptr, x.indices, sparse_values(x), A, out)
    return out


def smallest_entry(x):
    """The smallest entry of a block, 0 if it has none."""
    values = x.data if sp.issparse(x) else x
    if arrays.is_foreign(values):
        return float(arrays.namespace(values).min(values))
    low = values.min(initial=0)
    return np.fmin.reduce(values, axis=None, initial=0) if np.isnan(low) else low


def bernoulli_statistics(x, codes, k, w):
    """Sums of columns that must hold 0 and 1."""
    values = x.data if sp.issparse(x) else x
    top = arrays.namespace(values).max(values) if values.shape[0] else 0
    if smallest_entry(x) < 0 or top > 1:
        raise ValueError("bernoulli columns must hold 0 and 1 only.")
    return class_totals(x, codes, k, w)


def bernoulli_fit(s, N, alpha, prior):
    """Bernoulli distributions of the classes, eq. (2)."""
    prior = Beta(1.0 + alpha, 1.0 + alpha) if prior is None else prior
    return Bernoulli.from_stats(
        SufficientStatistics(observed_weight(s, N), (s.total,)), prior
    )


def count_statistics(x, codes, k, w):
    """Sums of columns that must not be negative."""
    if smallest_entry(x) < 0:
        raise InvalidCountError("counts must be at least 0.")
    return class_totals(x, codes, k, w)


def poisson_fit(s, N, alpha, prior):
    """Poisson distributions of the classes; the prior is the mean of all classes."""
    n = observed_weight(s, N)
    if prior is None:
        xp = arrays.namespace(s.total)
        every = xp.sum(n, axis=0) + 0 * s.total[0, :]
        rate = safe_divide(xp.sum(s.total, axis=0), every)
        if not np.any(alpha):
            return Poisson.from_stats(SufficientStatistics(n, (s.total,)))
        prior = Gamma(1 + alpha * rate, alpha + 0 * rate)
    return Poisson.from_stats(SufficientStatistics(n, (s.total,)), prior)


def poisson_scorer(p: Poisson):
    """x -> log probabilities of Poisson columns."""
    rate = p.rate
    one = safe_log(rate)
    base = linear_scorer(one, None)
    xp = arrays.namespace(rate)

    def score(x):
        if sp.issparse(x):
            ways = sp.csr_array((gammaln(x.data + 1.0), x.indices, x.indptr), x.shape)
            return base(x) - (xp.sum(rate, axis=1) + ways.sum(axis=1)[:, None])
        if arrays.is_foreign(x):
            x = arrays.as_float(x)
            ways = xp.sum(gammaln(x + 1), axis=1)[:, None]
            return base(x) - xp.sum(rate, axis=1) - ways
        some = ~np.isnan(x)
        ways = np.where(some, gammaln(np.where(some, x, 0.0) + 1), 0).sum(axis=1)
        return base(x) - some @ rate.T - ways[:, None]

    return score


def multinomial_fit(s, N, alpha, prior):
    """Multinomial distributions of the classes, eq. (2)."""
    total = counts_scaled_for_missing(s, N)
    xp = arrays.namespace(total)
    words = float(xp.sum(total)) / max(float(xp.sum(N)), 1e-300)
    trials = max(1, round(words))  # the mean length of a row, for samples
    prior = Dirichlet(alpha + 1.0 + 0 * total[0, :]) if prior is None else prior
    return Multinomial.from_stats(SufficientStatistics(N, (total,)), prior, trials)


def counts_scaled_for_missing(s, N):
    """Sums of counts, for columns missing in some rows scaled up to all rows."""
    if not isinstance(s.missing, np.ndarray):
        return s.total
    n = observed_weight(s, N)
    return s.total * safe_divide(N[:, None] + 0 * n, n, 1.0)


def draw_rows_by_class(p, z, rng):
    """A row from distribution z_i for every i."""
    return p.draw(z, rng)


# --- categorical ---------------------------------------------------------------------


@saved_state(
    counts=NumberArray("classes", "values"),
    widths=IntArray(None, low=0),
    check=lambda t: int(t.widths.sum()) == t.counts.shape[1],
)
@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Counts (k, M) of the values of d columns side by side; they add, and widen."""

    counts: Any
    widths: Any  # (d,) number of values of each column, M in all

    @cached_property
    def start(self):
        return np.concatenate([[0], np.cumsum(self.widths)])

    def widened(self, widths) -> "CategoryCounts":
        if np.array_equal(widths, self.widths):
            return self
        out = CategoryCounts(np.zeros((len(self.counts), int(widths.sum()))), widths)
        at = np.arange(int(self.start[-1]))
        shift = np.repeat(out.start[:-1] - self.start[:-1], self.widths)
        out.counts[:, at + shift] = self.counts
        return out

    def __add__(self, other: "CategoryCounts") -> "CategoryCounts":
        widths = np.maximum(self.widths, other.widths)
        both = [t.widened(widths).counts for t in (self, other)]
        return CategoryCounts(both[0] + both[1], widths)

    def tables(self) -> list:
        """The counts of each column, (k, m_j)."""
        return np.split(self.counts, self.start[1:-1], axis=1)


def categorical_statistics(x, codes, k, w) -> CategoryCounts:
    """Counts of each value of each column by class."""
    x, codes = arrays.to_numpy(x), arrays.to_numpy(codes)
    if w is not None:
        w = arrays.to_numpy(w)
        if not w.all():  # rows of weight 0 do not widen the tables
            x, codes, w = x[w > 0], codes[w > 0], w[w > 0]
    x = np.ascontiguousarray(x)
    top = np.full(x.shape[1], -1, np.int64)
    raise_bad_category(loops.largest_categories(x, top))
    t = CategoryCounts(np.zeros((k, int((top + 1).sum()))), top + 1)
    loops.count_categories(x, codes, *weights_for_loop(w), t.start, t.counts)
    return t


def raise_bad_category(j, widths=None):
    """Raise if column j holds something other than the values of its table."""
    if j >= 0 and widths is None:
        raise InvalidCountError(
            f"or numbers that are not whole: the values of column {j} must be 0, 1, "
            "2, ..."
        )
    if j >= 0 and widths is not None:
        raise ValueError(
            f"column {j} holds a value that was not seen in fit: its table has the "
            f"values 0 to {widths[j] - 1}. min_categories makes room for more."
        )


def categorical_fit(t: CategoryCounts, N, alpha, prior) -> list[Categorical]:
    made = []
    for counts in t.tables():
        own = prior or Dirichlet(np.full(counts.shape[1] or 1, alpha + 1.0))
        counts = counts if counts.shape[1] else np.zeros((len(counts), 1))
        made.append(
            Categorical.from_stats(
                SufficientStatistics(counts.sum(axis=1), (counts,)), own
            )
        )
    return made


def categorical_scorer(ps: list[Categorical]):
    """x -> sums of the logarithms of table entries."""
    T = np.ascontiguousarray(np.concatenate([safe_log(p.prob).T for p in ps]))
    widths = np.array([p.prob.shape[1] for p in ps])
    start = np.concatenate([[0], np.cumsum(widths)])

    def score(x):
        out = np.empty((x.shape[0], T.shape[1]))
        rows = np.ascontiguousarray(arrays.to_numpy(x))
        bad = loops.category_scores(rows, start, T, out)
        if bad >= 0:
            column = rows[:, bad]
            invalid = (column < 0) | (np.floor(column) != column) & (column == column)
            raise_bad_category(bad, None if invalid.any() else widths)
        return (
            arrays.asarray(out, like=arrays.as_float(x))
            if arrays.is_foreign(x)
            else out
        )

    return score


def draw_categories_by_class(ps, z, rng):
    """A row from distribution z_i of every column for every i."""
    return np.hstack([p.draw(z, rng) for p in ps])


COLUMN_FAMILIES = {
    "gaussian": ColumnFamily(
        gaussian_statistics, gaussian_fit, gaussian_scorer, draw_rows_by_class
    ),
    "bernoulli": ColumnFamily(
        bernoulli_statistics,
        bernoulli_fit,
        lambda p: linear_scorer(safe_log(p.prob), safe_log(1 - p.prob)),
        draw_rows_by_class,
    ),
    "poisson": ColumnFamily(
        count_statistics, poisson_fit, poisson_scorer, draw_rows_by_class
    ),
    "multinomial": ColumnFamily(
        count_statistics,
        multinomial_fit,
        lambda p: linear_scorer(safe_log(p.prob), None, p.prob),
        draw_rows_by_class,
    ),
    "categorical": ColumnFamily(
        categorical_statistics,
        categorical_fit,
        categorical_scorer,
        draw_categories_by_class,
    ),
}
