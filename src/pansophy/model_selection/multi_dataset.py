"""Methods compared over several data sets: `compare_over_datasets`.

With scores x[i, m] of k methods on N data sets and their ranks r[i, m] within a data
set (1 is best, ties share), equal methods have equal mean ranks R_m. Friedman's

    chi2 = 12 N / (k (k+1)) (sum_m R_m^2 - k (k+1)^2 / 4),  corrected for ties   (1)
    F    = (N - 1) chi2 / (N (k-1) - chi2)   with k-1, (k-1)(N-1) degrees        (2)

test whether any methods differ; (2), of Iman and Davenport, is less conservative. Which
pairs differ is tested for each pair alone, by Wilcoxon's signed ranks of the
differences, adjusted over all pairs (`statistics.holm_adjust`), and by the Bayesian
signed-rank test (`bayesian_tests`). Differences of mean ranks are not tested: whether
two methods differ would depend on which others are in the pool. Mean ranks only order
the output.

Errors in units of the target cannot be compared between data sets, so RMSE, MAE and
deviances are compared by their logarithms: a difference is then a ratio.

Refs      [Demsar2006] [Garcia2008]; [Iman1980] (2); [Benavoli2016] mean ranks
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from ..compare.evaluation.bayesian_tests import (
    ComparisonProbabilities,
    check_rope,
    dirichlet_weights,
    signed_rank_probabilities,
)
from ..compare.evaluation.statistics import holm_adjust
from ..compare.evaluation.wording import describe_probabilities
from ..compare.metrics import METRICS

RELATIVE_METRICS = {"rmse", "mae", "poisson deviance"}
MAX_EXACT = 100  # tables up to which signed ranks are counted out


class FriedmanTest(NamedTuple):
    """Statistics (1) and (2) with their p values."""

    chi2: float
    p_chi2: float
    F: float
    p: float


class MethodPair(NamedTuple):
    """Two methods over all tables."""

    a: str
    b: str
    difference: float  # median over tables, a less b
    p: float  # Wilcoxon
    adjusted: float  # Holm over all pairs
    probabilities: ComparisonProbabilities  # of a being better on a new table


@dataclass(frozen=True)
class MultiDatasetResult:
    """Result of `compare_over_datasets`; prints as a few lines."""

    methods: tuple[str, ...]  # best mean rank first
    tables: tuple[str, ...]
    scores: np.ndarray  # (tables, methods)
    ranks: np.ndarray  # mean rank of each method, for order only
    friedman: FriedmanTest | None  # None for two methods or one table
    pairs: tuple[MethodPair, ...]
    metric: str
    rope: float
    relative: bool

    def pair(self, a, b) -> MethodPair:
        """The comparison of two methods, in the order asked for."""
        for p in self.pairs:
            if (p.a, p.b) == (a, b):
                return p
            if (p.a, p.b) == (b, a):
                turned = ComparisonProbabilities(*p.probabilities[::-1])
                return MethodPair(a, b, -p.difference, p.p, p.adjusted, turned)
        raise ValueError(f"{a!r} and {b!r} are not both among {self.methods}.")

    def __str__(self):
        k, N = len(self.methods), len(self.tables)
        lines = [f"{k} methods on {N} tables by {self.metric}"]
        means = self.scores.mean(0)
        wide = max(map(len, self.methods))
        for name, mean, rank in zip(self.methods, means, self.ranks):
            lines.append(f"  {name:<{wide}}  mean {mean:.4g}  mean rank {rank:.2f}")
        if self.friedman is not None:
            p = self.friedman.p
            say = "they differ" if p < 0.05 else "no difference is shown"
            lines.append(f"Friedman (Iman-Davenport): p = {p:.2g}, {say}.")
        best = self.methods[0]
        settings = (self.rope, self.metric, self.relative)
        for rival in self.methods[1:]:
            q = self.pair(best, rival)
            words = describe_probabilities(q.probabilities, best, rival, *settings)
            lines.append(f"{words} Wilcoxon p = {q.adjusted:.2g} after Holm.")
        return "\n".join(lines)


def friedman_test(scores, greater=True) -> FriedmanTest:
    """Eqs. (1) and (2) for scores (tables, methods).

    Examples
    --------
    >>> from pansophy.compare import friedman_test
    >>> f = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.72, 0.5]])
    >>> round(f.chi2, 4), round(f.p, 4)
    (4.6667, 0.0494)
    """
    x = _check_score_matrix(scores)
    N, k = x.shape
    if k < 3 or N < 2:
        raise ValueError(
            f"Friedman's test needs three methods on two tables, got {k} on {N}."
        )
    r = _ranks_by_dataset(x, greater)
    spread = ((r - (k + 1) / 2) ** 2).sum() / (k - 1)  # N k (k+1)/12 without ties
    if spread == 0:  # every table a tie
        return FriedmanTest(0.0, 1.0, 0.0, 1.0)
    chi2 = float(((r.sum(0) - N * (k + 1) / 2) ** 2).sum() / spread)
    left = N * (k - 1) - chi2
    F = float("inf") if left <= 1e-12 * N * k else (N - 1) * chi2 / left
    df = (k - 1, (k - 1) * (N - 1))
    p = 0.0 if np.isinf(F) else float(stats.f.sf(F, *df))
    return FriedmanTest(chi2, float(stats.chi2.sf(chi2, k - 1)), float(F), p)


def _ranks_by_dataset(x, greater):
    return stats.rankdata(-x if greater else x, axis=1)


def wilcoxon_signed_rank(differences) -> float:
    """Two-sided p value of the signed ranks, exact whatever the ties.

    Given the sizes, every pattern of signs is equally likely; zeros have a rank but no
    sign. Ranks are doubled, so that shared ones are whole numbers.
    """
    d = np.asarray(differences, dtype=float)
    ranks = np.round(2 * stats.rankdata(np.abs(d))).astype(int)[d != 0]
    if len(ranks) > MAX_EXACT:
        return float(stats.wilcoxon(d, zero_method="zsplit", method="approx").pvalue)
    chance = np.ones(1)  # of each sum of the ranks with a plus
    for r in ranks:
        chance = 0.5 * (np.pad(chance, (0, r)) + np.pad(chance, (r, 0)))
    plus = int(ranks[d[d != 0] > 0].sum())
    tail = min(chance[: plus + 1].sum(), chance[plus:].sum())
    return float(min(2 * tail, 1.0))


def compare_over_datasets(
    results,
    *,
    metric=None,
    greater=None,
    methods=None,
    tables=None,
    rope=0.01,
    relative=None,
    random_state=0,
) -> MultiDatasetResult:
    """Compare methods over several tables.

    Parameters
    ----------
    results : array (tables, methods), dict of name -> scores, or list of Comparison
        Comparisons must share a metric; methods that finished on all of them count.
    metric : str or None
        By default the one that ranked the comparisons.
    greater : bool or None
        Whether a greater score is better; None reads it off the metric, and is True
        for an array.
    methods, tables : list of str or None
        Names for the columns and rows of an array.
    rope : float
        Differences up to this size do not matter; a ratio if `relative`.
    relative : bool or None
        Compare logarithms of scores; None for RMSE, MAE and deviance only.

    Examples
    --------
    >>> from pansophy.compare import compare_over_datasets
    >>> scores = {"forest": [0.91, 0.84, 0.77, 0.95, 0.66, 0.81],
    ...           "ridge": [0.86, 0.80, 0.72, 0.92, 0.63, 0.77]}
    >>> result = compare_over_datasets(scores, metric="accuracy")
    >>> result.methods[0], result.pairs[0].p
    ('forest', 0.03125)
    """
    check_rope(rope)
    x, methods, tables, metric = _score_matrix(results, metric, methods, tables)
    known = {m.name: m.greater for m in METRICS}
    greater = known.get(metric, True) if greater is None else greater
    relative = metric in RELATIVE_METRICS if relative is None else relative
    if relative and np.any(x <= 0):
        raise ValueError("relative=True needs scores above 0.")
    z = np.log(x) if relative else x
    ranks = _ranks_by_dataset(x, greater).mean(0)
    order = np.argsort(ranks, kind="stable")
    x, z, ranks = x[:, order], z[:, order], ranks[order]
    methods = tuple(methods[i] for i in order)
    N, k = x.shape
    method_pairs = list(combinations(range(k), 2))
    gaps = [z[:, i] - z[:, j] for i, j in method_pairs]
    p = [wilcoxon_signed_rank(g) for g in gaps]
    w = dirichlet_weights(N, 0.5, 20_000, random_state)
    pairs = tuple(
        MethodPair(
            methods[i],
            methods[j],
            float(np.median(g)),
            first_value,
            float(second_value),
            signed_rank_probabilities(g if greater else -g, rope, w),
        )
        for (i, j), g, first_value, second_value in zip(
            method_pairs, gaps, p, holm_adjust(p)
        )
    )
    test = friedman_test(x, greater) if k > 2 and N > 1 else None
    return MultiDatasetResult(
        methods, tuple(tables), x, ranks, test, pairs, metric, rope, relative
    )


def _check_score_matrix(scores) -> np.ndarray:
    x = np.asarray(scores, dtype=float)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(
            f"scores must have a row for each table and a column for each method, got "
            f"shape {x.shape}."
        )
    if not np.isfinite(x).all():
        i, j = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"The score of method {j} on table {i} is not finite.")
    return x


def _score_matrix(results, metric, methods, tables):
    """(scores, methods, tables, metric) of any of the accepted forms."""
    if isinstance(results, Mapping):
        methods, results = list(results), np.column_stack(list(results.values()))
    elif (
        isinstance(results, (list, tuple))
        and results
        and hasattr(results[0], "leaderboard")
    ):
        return _scores_of_comparisons(results, metric, tables)
    x = _check_score_matrix(results)
    N, k = x.shape
    methods = [f"method {j + 1}" for j in range(k)] if methods is None else methods
    tables = [f"table {i + 1}" for i in range(N)] if tables is None else tables
    if len(methods) != k or len(tables) != N:
        raise ValueError(f"{N} x {k} scores need {k} methods and {N} tables by name.")
    return x, list(methods), list(tables), metric or "score"


def _scores_of_comparisons(results, metric, tables):
    """The methods that finished everywhere, by their mean scores."""
    metric = results[0].metric if metric is None else metric
    rows = [{r.method: r for r in c.leaderboard} for c in results]
    shared = [m for m in rows[0] if all(m in r for r in rows)]
    if len(shared) < 2:
        raise ValueError("Fewer than two methods finished on all of the tables.")
    for i, r in enumerate(rows):
        if metric not in r[shared[0]].scores:
            raise ValueError(f"Comparison {i + 1} was not scored by {metric!r}.")
    x = [[r[m].scores[metric].mean for m in shared] for r in rows]
    names = [f"table {i + 1}" for i in range(len(rows))] if tables is None else tables
    return _check_score_matrix(x), shared, list(names), metric
