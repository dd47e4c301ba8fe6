"""Who is best, which methods are tied with it, and which one to keep.

Every method is compared with the best on the same folds, in two ways: the corrected t
test, adjusted over the methods (`statistics`), says whether a difference is more than
chance; the correlated posterior (`bayesian_tests`) says how probable it is that the
method is better, practically equal or worse. Each score has two intervals: over folds,
which includes the variance due to training rows, and over rows, which sees that of the
test rows only. Both are clipped to the range of the metric.

The rule "simplest" keeps the simplest method that is as good as the best and beats the
linear baseline significantly. As good means: tied with the best and its mean within one
standard error of the difference; or almost certainly practically equal to it, however
sure the small difference is. If no method qualifies, the linear baseline is kept. The
rule "best" keeps the top scorer. `Tradeoff` says what the top scorer would be expected
to gain over a simpler method that is kept.

Results are numbers and enumerations; `compare.report` turns them into sentences.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .bayesian_tests import (
    ALMOST_CERTAIN,
    ComparisonProbabilities,
    bayesian_correlated_t,
    default_rope,
)
from .row_level import DUMMY, SIGNIFICANCE_LEVEL
from .row_tests import row_interval
from .statistics import (
    Interval,
    adjust_against_best,
    corrected_interval,
    corrected_t_test,
    expected_loss_of_best,
)

LINEAR_BASELINES = (  # of each task
    "linear regression",
    "logistic regression",
    "poisson regression",
)


class Standing(StrEnum):
    """A ranked method compared with the best."""

    BEST = "best"
    TIED = "tied"
    WORSE = "worse"
    BELOW_DUMMY = "below dummy"


class KeepReason(StrEnum):
    """Why a method is kept."""

    TOP_SCORER = "top scorer"
    REQUESTED = "requested"  # the top scorer of several that are tied, as asked for
    SIMPLER = "simpler"  # than the best, and tied with it
    SIMPLER_EQUAL = "simpler, practically equal"
    LINEAR_BASELINE = "linear baseline"  # which nothing beats significantly
    NO_BETTER_THAN_DUMMY = "no better than the dummy"


class RankedMethod(NamedTuple):
    """One row of the leaderboard."""

    rank: int
    method: str
    scores: dict[str, Interval]  # by metric, the ranking one first; over folds
    difference: Interval | None  # from the best, in the ranking metric
    p: float  # adjusted; 1 for the best itself
    standing: Standing
    fit_seconds: float  # median of a fold
    predict_micros: float  # median, for one row
    over_rows: Interval | None = None  # of the ranking metric, over rows
    probabilities: ComparisonProbabilities | None = None  # against the best
    within_one_error: bool = True  # of the best
    warnings: dict[str, int] = {}  # kind -> number of fits that warned
    n_fits: int = 0
    blend: dict[str, float] = {}  # weights of the members of a blend

    @property
    def practically_equal(self) -> bool:
        """Whether it is almost certainly practically equal to the best."""
        p = self.probabilities
        return p is not None and p.equivalent >= ALMOST_CERTAIN


class BaselineComparison(NamedTuple):
    """The kept method against one that anything useful should beat."""

    method: str
    difference: Interval  # score of the kept one less that of `method`
    significant: bool  # better, and the interval excludes 0


class Tradeoff(NamedTuple):
    """What the top scorer would gain over the simpler method that is kept."""

    method: str
    gain: Interval  # of the score, in the direction that is better; below 0: a loss
    selection_bias: float | None  # part of the gain due to picking the best of many


class KeptMethod(NamedTuple):
    """The method to keep, and why."""

    method: str
    reason: KeepReason


def rank_methods(trials, metrics, ratio, data=None, seed=0) -> list[RankedMethod]:
    """Methods that finished, best first, each compared with the best.

    `ratio` is test rows over training rows of a fold; `data` gives the weights and
    groups of rows for the intervals over rows.
    """
    first = metrics[0]
    sign = -1 if first.greater else 1
    done = [t for t in trials if not t.failure]
    done.sort(key=lambda t: sign * np.mean(t.scores[first.name]))  # stable
    if not done:
        return []
    best = np.asarray(done[0].scores[first.name], dtype=float)
    gaps = [np.asarray(t.scores[first.name], dtype=float) - best for t in done]
    single = [corrected_t_test(g, ratio)[1] for g in gaps[1:]]
    adjusted = [1.0, *adjust_against_best(single, len(best) - 1)]
    rope = default_rope(first.name, best.mean())
    names = [t.method.name for t in done]
    dummy_at = names.index(DUMMY) if DUMMY in names else len(names)
    rows = []
    for i, (trial, gap) in enumerate(zip(done, gaps)):
        difference = probabilities = None
        if i > 0:
            difference = corrected_interval(gap, ratio)
            probabilities = bayesian_correlated_t(gap, ratio, rope, first.greater)
        rows.append(
            RankedMethod(
                rank=i + 1,
                method=trial.method.name,
                scores={
                    m.name: clipped_interval(trial.scores[m.name], ratio, m)
                    for m in metrics
                },
                difference=difference,
                p=float(adjusted[i]),
                standing=standing_of(i, adjusted[i], dummy_at),
                fit_seconds=float(np.median(trial.fit_seconds)),
                predict_micros=float(np.median(trial.predict_seconds) * 1e6),
                over_rows=interval_over_rows(trial, first, data, seed),
                probabilities=probabilities,
                within_one_error=(
                    difference is None or abs(difference.mean) <= difference.error
                ),
                warnings=dict(trial.warned),
                n_fits=len(gap),
                blend=trial.method.blend_weights,
            )
        )
    return rows


def standing_of(position, p, dummy_at) -> Standing:
    """Of the method at a position of the ranking, from its adjusted p value."""
    if position > dummy_at:  # however wide its interval
        return Standing.BELOW_DUMMY
    if position == 0:
        return Standing.BEST
    return Standing.TIED if p >= SIGNIFICANCE_LEVEL else Standing.WORSE


def clipped_interval(scores, ratio, metric) -> Interval:
    """The interval of one metric; not finite where a fold could not be scored."""
    if not np.isfinite(scores).all():
        return Interval(float(np.mean(scores)), np.nan, np.nan, np.nan)
    return metric.clip(corrected_interval(scores, ratio))


def interval_over_rows(trial, metric, data, seed) -> Interval | None:
    """The score of held-out rows with an interval over them."""
    if trial.losses is None or metric.row_losses is None:
        return None
    losses = np.asarray(trial.losses, dtype=float)
    seen = np.isfinite(losses)  # a time-ordered split never tests the first rows
    if seen.sum() < 2:
        return None
    pick = lambda a: None if a is None else np.asarray(a)[seen]
    found = row_interval(
        losses[seen],
        weights=pick(getattr(data, "weight", None)),
        groups=pick(getattr(data, "group", None)),
        random_state=seed,
    )
    low, high = sorted(
        metric.from_mean_loss(max(v, 0.0)) for v in (found.low, found.high)
    )
    return metric.clip(Interval(metric.from_mean_loss(found.mean), low, high, np.nan))


def paired_intervals(trials, metric, ratio) -> Callable:
    """A function (a, b) -> interval of score(a) - score(b) on the same folds."""
    scores = {
        t.method.name: np.asarray(t.scores[metric.name], dtype=float)
        for t in trials
        if not t.failure
    }
    return lambda a, b: corrected_interval(scores[a] - scores[b], ratio)


def compare_with_baselines(
    name, names, paired_interval, greater
) -> list[BaselineComparison]:
    """A method against the dummy and the linear baseline, as far as they ran."""
    out = []
    for other in (DUMMY, *LINEAR_BASELINES):
        if other in names and other != name:
            d = paired_interval(name, other)
            significant = d.low > 0 if greater else d.high < 0
            out.append(BaselineComparison(other, d, significant))
    return out


def tradeoff_of_best(rows, kept, greater, expected=None, metric="") -> Tradeoff | None:
    """What the top scorer would gain over the one kept; None if it is the same."""
    best = rows[0]
    row = next((r for r in rows if r.method == kept), None)
    if row is None or row is best or best.method == DUMMY or row.difference is None:
        return None
    d = row.difference  # score of the kept one less that of the best
    negated = Interval(-d.mean, -d.high, -d.low, d.error)
    gain = negated if greater else d
    bias = None if expected is None else abs(expected - best.scores[metric].mean)
    return Tradeoff(best.method, gain, bias)


def simplest_method(rows, tied, position, paired_interval, greater) -> KeptMethod:
    """The simplest of the methods that are as good as the best.

    `tied` are the ranked methods tied with the best, the dummy aside; `position` says
    how elaborate each method is.
    """
    near = [r for r in tied if r.within_one_error] or tied[:1]
    equal = [
        r
        for r in rows
        if r.practically_equal and r.standing in (Standing.TIED, Standing.WORSE)
    ]
    good = near + [r for r in equal if r.method != DUMMY]
    linear = next((r for r in rows if r.method in LINEAR_BASELINES), None)
    if (
        linear is not None
        and paired_interval
        and linear.standing != Standing.BELOW_DUMMY
    ):

        def qualifies(r):
            if position[r.method] <= position[linear.method]:
                return True
            versus = compare_with_baselines(
                r.method, [linear.method], paired_interval, greater
            )
            return versus[0].significant

        good = [r for r in good if qualifies(r)]
        if not good:
            return KeptMethod(linear.method, KeepReason.LINEAR_BASELINE)
    kept = min(good, key=lambda r: position[r.method])
    reason = KeepReason.SIMPLER if kept in near else KeepReason.SIMPLER_EQUAL
    return KeptMethod(kept.method, reason)


def choose_model(
    rows, order, paired_interval=None, greater=False, rule="simplest"
) -> KeptMethod:
    """The method to keep, and why.

    Parameters
    ----------
    rows : list of RankedMethod
    order : list of str
        Names of the methods, from simple to elaborate.
    paired_interval : function or None
        From `paired_intervals`.
    greater : bool
        Whether a greater score is better.
    rule : {"simplest", "best"}

    The dummy is kept only if there is nothing else.
    """
    best = rows[0]
    all_tied = [r for r in rows if r.standing in (Standing.BEST, Standing.TIED)]
    tied = [r for r in all_tied if r.method != DUMMY] or all_tied
    kept = KeptMethod(tied[0].method, KeepReason.REQUESTED)
    if rule == "simplest":
        position = {name: i for i, name in enumerate(order)}
        kept = simplest_method(rows, tied, position, paired_interval, greater)
        if kept.method == best.method:
            kept = kept._replace(reason=KeepReason.TOP_SCORER)
    if (
        best.method == DUMMY
        and kept.method != DUMMY
        and kept.reason is not KeepReason.LINEAR_BASELINE
    ):
        kept = kept._replace(reason=KeepReason.NO_BETTER_THAN_DUMMY)
    return kept


def expected_best_score(trials, rows, metric, seed, data=None) -> float | None:
    """The best score, corrected for the bias of having picked the best of several."""
    kept = [t.losses for t in trials if not t.failure and t.losses is not None]
    if len(kept) < 2 or metric.row_losses is None:
        return None
    losses = np.column_stack(kept)
    seen = np.isfinite(losses).all(1)
    losses = losses[seen]
    pick = lambda a: None if a is None else np.asarray(a)[seen]
    w, g = (pick(getattr(data, name, None)) for name in ("weight", "group"))
    before = np.average(losses, axis=0, weights=w).min()
    after = expected_loss_of_best(losses, random_state=seed, weights=w, groups=g)
    return float(
        rows[0].scores[metric.name].mean
        + metric.from_mean_loss(after)
        - metric.from_mean_loss(before)
    )
