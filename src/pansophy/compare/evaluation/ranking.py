"""Ranking of methods: which are tied with the best, and which one to keep.

Every method is compared with the best on the same rows (`paired_tests`). A difference
is more than chance if its p value, adjusted for the best having been picked, is below
0.05. If it is not, that alone says nothing about equality: a method is *tied* with the
best only if it is almost certainly practically equal to it, so that the posterior of
the difference (`bayesian_tests`) lies within the margin `default_rope`; otherwise it is
*undecided*: there are not rows enough to tell. Each score has an interval for new rows,
clipped to the range of the metric.

The rule "simplest" keeps the top scorer, unless a simpler method is practically equal
to it: then the simplest such. A lack of evidence is not equality: of methods that rows
cannot tell apart the top scorer is kept, and the reason says so. The dummy is kept if
it is itself the top scorer, or practically equal to the top scorer and not
significantly worse. The rule "best" keeps the top scorer always. `Tradeoff` says what
the top scorer would be expected to gain over a simpler method that is kept.

Results are numbers and enumerations; `compare.report` turns them into sentences.
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .bayesian_tests import (
    ALMOST_CERTAIN,
    ComparisonProbabilities,
    default_rope,
    student_probabilities,
)
from .paired_tests import (
    DUMMY,
    SIGNIFICANCE_LEVEL,
    ScoreEstimates,
    TestKind,
    design_of,
    estimate_scores,
    jackknife_scores,
    normal_draws,
    p_against_best,
    p_better_than,
    score_interval,
)
from .racing import RaceStop, fill_unrun_repeats
from .statistics import Interval, optimism_of_shares, student_quantile

LAST_VALUE = "last value"  # along time
LINEAR_BASELINES = (  # of each task
    "linear regression",
    "logistic regression",
    "poisson regression",
)
BASELINES = (DUMMY, LAST_VALUE, *LINEAR_BASELINES)  # that anything useful should beat


class Standing(StrEnum):
    """A ranked method compared with the best."""

    BEST = "best"
    TIED = "tied"  # almost certainly practically equal
    UNDECIDED = "undecided"  # not enough rows to tell
    WORSE = "worse"
    BELOW_DUMMY = "below dummy"


class KeepReason(StrEnum):
    """The rule that decided which method is kept."""

    TOP_SCORER = "top scorer"  # better than all others, or nothing simpler is as good
    REQUESTED = "requested"  # the top scorer, as asked for
    SIMPLER_EQUAL = "simpler, practically equal"
    UNDECIDED_BEST = "best, not told apart"  # from a simpler method: too few rows
    DUMMY_BEST = "the dummy scores best"
    DUMMY_EQUAL = "practically equal to the dummy"


class RankedMethod(NamedTuple):
    """One row of the leaderboard."""

    rank: int
    method: str
    scores: dict[str, Interval]  # by metric, the ranking one first; for new rows
    difference: Interval | None  # from the best, in the ranking metric
    p: float  # adjusted; 1 for the best itself
    standing: Standing
    fit_seconds: float  # median of a fold
    predict_micros: float  # median, for one row
    probabilities: ComparisonProbabilities | None = None  # against the best
    warnings: dict[str, int] = {}  # kind -> number of fits that warned
    n_fits: int = 0
    blend: dict[str, float] = {}  # weights of the members of a blend
    test: TestKind = TestKind.ROWS  # what p and the difference were found from
    df: float = np.inf  # degrees of freedom of the test
    units: int = 0  # rows, groups or moments behind it
    stopped: RaceStop | None = None  # before all of its fits, in the race

    @property
    def practically_equal(self) -> bool:
        """Whether it is almost certainly practically equal to the best."""
        p = self.probabilities
        return p is not None and p.equivalent >= ALMOST_CERTAIN


class BaselineComparison(NamedTuple):
    """The kept method against one that anything useful should beat."""

    method: str
    difference: Interval  # score of the kept one less that of `method`
    significant: bool  # better, and more than chance
    p: float = 1.0  # of being no better, adjusted for the number of methods


class Tradeoff(NamedTuple):
    """Gain of the top scorer over the simpler method that is kept."""

    method: str
    gain: Interval  # of the score, in the direction that is better; below 0: a loss
    selection_bias: float | None  # part of the gain due to picking the best of many


class KeptMethod(NamedTuple):
    """The method to keep, and why."""

    method: str
    reason: KeepReason


# --- scores and their covariance ---------------------------------------------------


def score_estimates(trials, metrics, split, data) -> dict[str, ScoreEstimates]:
    """By metric, the scores of the methods that finished, with their covariance."""
    finished = [t for t in trials if not t.failure]
    if not finished:
        return {}
    design = design_of(split, data)
    return {m.name: _estimates_of_metric(finished, m, design, data.y) for m in metrics}


def _estimates_of_metric(done, metric, design, y) -> ScoreEstimates:
    """Estimates of one metric: from losses of rows, else of blocks, else of folds.

    What a method did not run after it was stopped is filled in from the best that
    finished (`racing.fill_unrun_repeats`).
    """
    names = [t.method.name for t in done]
    stopped = np.array([t.stopped is not None for t in done])
    if metric.row_losses is not None:
        losses = [repeat_losses(t, metric, y) for t in done]
        if all(v is not None for v in losses):
            table = np.stack(fill_stopped(losses, stopped, -1.0), axis=-1)
            if np.isfinite(table).all((0, 2)).sum() >= 2:
                run = [
                    s.repeats if s else len(table) for s in (t.stopped for t in done)
                ]
                known = np.minimum(run, len(table)) if stopped.any() else None
                return estimate_scores(table, design, names, metric, known)
    elif all(t.predictions is not None for t in done):
        try:
            result = jackknife_scores(
                metric.score, [t.predictions for t in done], y, design, names
            )
        except ValueError:  # undefined without some block of rows
            result = None
        if result is not None and np.isfinite(result.covariance).all():
            sign = 1.0 if metric.greater else -1.0
            of_folds = [t.scores[metric.name] for t in done]
            of_folds = _mean_scores(of_folds, stopped, sign)
            pooled = metric.pooled | ~np.isfinite(of_folds)
            of_rows = [_pooled_scores(t, metric, y, design.weight) for t in done]
            of_rows = _mean_scores(of_rows, stopped, sign)
            return result._replace(means=np.where(pooled, of_rows, of_folds))
    return _fold_estimates(done, metric, design.ratio)


def fill_stopped(values, stopped, sign) -> list[np.ndarray]:
    """Values of each method by repeat or fold, those not run by a stopped one filled.

    The reference is the best, by `sign` times the mean, of the methods that finished;
    of those that went on longest, where a run was cut short before any finished.
    """
    values = [np.asarray(v, dtype=float) for v in values]
    if not np.any(stopped):
        return values
    n_most = max(map(len, values))
    longest = [m for m, v in enumerate(values) if len(v) == n_most]
    finished = np.flatnonzero(~np.asarray(stopped)) if not np.all(stopped) else longest
    best = max(finished, key=lambda m: sign * np.nanmean(values[m]))
    return [
        fill_unrun_repeats(v, values[best]) if len(v) < len(values[best]) else v
        for v in values
    ]


def _mean_scores(values, stopped, sign) -> np.ndarray:
    """Mean scores (M,) of values by repeat or fold, stopped methods filled."""
    return np.array([np.mean(v) for v in fill_stopped(values, stopped, sign)])


def repeat_losses(trial, metric, y) -> np.ndarray | None:
    """The losses (R, n) of a metric in every repeat, as far as answers are known."""
    if trial.losses_metric == metric.name and trial.repeat_losses is not None:
        return np.asarray(trial.repeat_losses, dtype=float)
    P = trial.all_predictions
    if P is None and trial.predictions is not None:
        P = trial.predictions[None]
    if P is None:
        return None
    out = np.full(P.shape[:2], np.nan)
    for row_losses, p in zip(out, P):
        seen = np.isfinite(p.reshape(len(p), -1)).all(1)
        row_losses[seen] = metric.row_losses(y[seen], p[seen])
    return out


def _pooled_scores(trial, metric, y, weight=None) -> list[float]:
    """The score of all held-out rows together, in each repeat."""
    P = trial.all_predictions
    P = trial.predictions[None] if P is None else P
    results = []
    for p in P:
        seen = np.isfinite(p.reshape(len(p), -1)).all(1)
        w = () if weight is None else (np.asarray(weight)[seen],)
        results.append(float(metric.score(y[seen], p[seen], *w)))
    return results


def _fold_estimates(done, metric, ratio) -> ScoreEstimates:
    """Estimates from scores of folds alone, with Nadeau's and Bengio's correction."""
    stopped = np.array([t.stopped is not None for t in done])
    scores = [t.scores[metric.name] for t in done]
    S = np.array(fill_stopped(scores, stopped, 1.0 if metric.greater else -1.0))
    M, J = S.shape
    if J > 1 and np.isfinite(S).all():
        covariance = (1 / J + ratio) * np.atleast_2d(np.cov(S))
    else:
        covariance = np.full((M, M), np.nan)
    return ScoreEstimates(
        tuple(t.method.name for t in done),
        S.mean(1),
        covariance,
        np.zeros((M, M)),
        np.sqrt(np.diag(covariance)),
        float(max(J - 1, 1)),
        TestKind.FOLDS,
        J,
    )


# --- ranking -----------------------------------------------------------------------


def rank_methods(trials, metrics, estimates) -> list[RankedMethod]:
    """Methods that finished, best first, each compared with the best.

    `estimates` are those of `score_estimates`.
    """
    first = metrics[0]
    finished = [t for t in trials if not t.failure]
    if not finished:
        return []
    ranking = estimates[first.name]
    sign = -1.0 if first.greater else 1.0
    order = np.argsort(sign * ranking.means, kind="stable")
    best = int(order[0])
    names = ranking.names
    p = adjusted_p_values(ranking, best, first.greater)
    rope = default_rope(first.name, ranking.means[best])
    dummy = names.index(DUMMY) if DUMMY in names else -1
    rows = []
    below_dummy = False
    for rank, m in enumerate(order):
        trial = finished[m]
        difference = probabilities = None
        if m != best:
            difference = ranking.difference(names[m], names[best]).interval
            probabilities = student_probabilities(
                difference.mean, difference.error, ranking.df, rope, first.greater
            )
        p_value = float(p[m])
        equal = probabilities is not None and probabilities.equivalent >= ALMOST_CERTAIN
        rows.append(
            RankedMethod(
                rank=rank + 1,
                method=names[m],
                scores={
                    k.name: score_interval(
                        estimates[k.name], estimates[k.name].names.index(names[m]), k
                    )
                    for k in metrics
                },
                difference=difference,
                p=p_value,
                standing=standing_of(rank, p_value, below_dummy, equal),
                fit_seconds=float(np.median(trial.fit_seconds)),
                predict_micros=float(np.median(trial.predict_seconds) * 1e6),
                probabilities=probabilities,
                warnings=dict(trial.warned),
                n_fits=len(trial.scores[first.name]),
                blend=trial.method.blend_weights,
                test=ranking.kind,
                df=ranking.df,
                units=ranking.units,
                stopped=trial.stopped,
            )
        )
        below_dummy = below_dummy or m == dummy
    return rows


def adjusted_p_values(ranking, best, greater) -> np.ndarray:
    """P values (M,) of being no different from the best, adjusted for its being picked.

    Baselines are named beforehand: for them it counts too that any method is better.
    """
    M = len(ranking.names)
    if not np.isfinite(ranking.covariance).all():
        return np.ones(M)
    draws = normal_draws(ranking)
    p = p_against_best(ranking, best, draws)
    for baseline, name in enumerate(ranking.names):
        if name in BASELINES and baseline != best:
            better = p_better_than(ranking, baseline, greater, draws)
            p[baseline] = min(p[baseline], better[best])
    return p


def standing_of(position, p, below_dummy, equal) -> Standing:
    """Standing of the method at a position of the ranking, from its adjusted p value.

    `equal` says whether it is almost certainly practically equal to the best.
    """
    if below_dummy:  # however wide its interval
        return Standing.BELOW_DUMMY
    if position == 0:
        return Standing.BEST
    if p < SIGNIFICANCE_LEVEL:
        return Standing.WORSE
    return Standing.TIED if equal else Standing.UNDECIDED


def compare_with_baselines(name, estimates, greater) -> list[BaselineComparison]:
    """A method against the dummy, the last value along time and the linear baseline.

    The tests are one-sided and adjusted for the number of methods, as those of the
    leaderboard are.
    """
    names = estimates.names
    known = np.isfinite(estimates.covariance).all()
    comparisons = []
    for baseline in BASELINES:
        if baseline not in names or baseline == name:
            continue
        d = estimates.difference(name, baseline)
        p = 1.0
        if known:
            better = p_better_than(estimates, names.index(baseline), greater)
            p = float(better[names.index(name)])
        comparisons.append(
            BaselineComparison(baseline, d.interval, bool(p < SIGNIFICANCE_LEVEL), p)
        )
    return comparisons


def tradeoff_of_best(rows, kept, greater, bias=None) -> Tradeoff | None:
    """Gain of the top scorer over the method kept; None if it is the same.

    `bias` is the part of its score that is the luck of being picked.
    """
    best = rows[0]
    row = next((r for r in rows if r.method == kept), None)
    if row is None or row is best or best.method == DUMMY or row.difference is None:
        return None
    d = row.difference  # score of the kept one less that of the best
    negated = Interval(-d.mean, -d.high, -d.low, d.error)
    gain = negated if greater else d
    return Tradeoff(best.method, gain, bias)


def choose_model(rows, order, rule="simplest") -> KeptMethod:
    """The method to keep, and which rule decided; see the module text.

    Parameters
    ----------
    rows : list of RankedMethod
    order : list of str
        Names of the methods, from simple to elaborate.
    rule : {"simplest", "best"}
    """
    best = rows[0]
    position = {name: i for i, name in enumerate(order)}
    if best.method == DUMMY:
        return KeptMethod(DUMMY, KeepReason.DUMMY_BEST)
    if rule == "best":
        is_alone = all(r.standing is Standing.WORSE for r in rows[1:])
        reason = KeepReason.TOP_SCORER if is_alone else KeepReason.REQUESTED
        return KeptMethod(best.method, reason)
    for r in rows:
        if r.method == DUMMY and r.standing is Standing.TIED:
            return KeptMethod(DUMMY, KeepReason.DUMMY_EQUAL)
    simpler = [
        r
        for r in rows[1:]
        if position[r.method] < position[best.method] and r.method != DUMMY
    ]
    equal = [
        r
        for r in simpler
        if r.practically_equal and r.standing in (Standing.TIED, Standing.WORSE)
    ]
    if equal:
        kept = min(equal, key=lambda r: position[r.method])
        return KeptMethod(kept.method, KeepReason.SIMPLER_EQUAL)
    if any(r.standing is Standing.UNDECIDED for r in simpler):
        return KeptMethod(best.method, KeepReason.UNDECIDED_BEST)
    return KeptMethod(best.method, KeepReason.TOP_SCORER)


def optimism_of_best(estimates, greater) -> float:
    """How much the top score flatters its method for having been picked, at least 0.

    Scores are drawn around those seen, with their covariance. Over the draws in which
    the top scorer scores best again, its drawn score is better than its own by an
    amount; rows that were not drawn are worse by the same on average. The sum of both
    is the bias: 0 where one method is far ahead, and what the best of M equal scores
    gains by chance where they are equal. The dummy is a reference, not a choice.
    """
    sign = 1.0 if greater else -1.0
    best = int(np.argmax(sign * estimates.means))
    if estimates.names[best] == DUMMY or len(estimates.names) < 2:
        return 0.0
    if not np.isfinite(estimates.covariance).all():
        return 0.0
    errors = sign * normal_draws(estimates)
    drawn = sign * estimates.means + errors
    best_again = drawn.argmax(1) == best
    if not best_again.any():
        return 0.0
    return max(float(2 * errors[best_again, best].mean()), 0.0)


def without_share_optimism(score, counts, df) -> Interval:
    """The log loss of the dummy and its interval, as new rows would have them.

    Its score on stratified folds is too good: `optimism_of_shares`.
    """
    optimism = optimism_of_shares(counts)
    error = float(np.hypot(score.error, np.sqrt(optimism.variance)))
    wider = (student_quantile(0.95, df) if np.isfinite(df) else 1.96) * error
    mean = score.mean + optimism.bias
    return Interval(mean, max(mean - wider, 0.0), mean + wider, error)


def without_selection_bias(score, bias, metric) -> Interval:
    """A score and its interval, both made worse by the bias, within the bounds."""
    shift = -bias if metric.greater else bias
    lowest, greatest = metric.bounds
    mean, low, high = (float(np.clip(v + shift, lowest, greatest)) for v in score[:3])
    return Interval(mean, low, high, score.error)
