"""Who is best, who is tied with it, and which one to keep.

Every method is held against the best on the same folds, in two ways: the corrected t
test, adjusted over the methods (`statistics`), says whether a difference is more than
chance; the correlated posterior (`bayes`) says how probable it is that the method is
better, practically equal or worse. Each score has two intervals: over folds, which sees
the luck of training rows as well, and over rows, which sees that of the test rows; both
are cut at the ends of what the metric can be.

What is kept is the simplest method that is as good as the best (tied with it and its
mean within one standard error, that of the difference; or almost certainly practically
equal to it, however sure the small difference is) and that beats the plain linear model
beyond the interval of their difference. If none does, the plain linear model is kept.
`Tradeoff` tells what keeping the best would be expected to gain; whoever wants that one
asks for it (rule "best").
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .bayesian_tests import (
    ALMOST_CERTAIN,
    ComparisonProbabilities,
    bayesian_correlated_t,
    default_rope,
    verb_for,
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

KEEP_RULES = ("simplest", "best")  # what is kept among the tied
LINEAR_BASELINES = (  # the plain linear model of each task
    "linear regression",
    "logistic regression",
    "poisson regression",
)


class RankedMethod(NamedTuple):
    """One ranked method."""

    rank: int
    method: str
    scores: dict[str, Interval]  # by metric, the ranking one first; over folds
    difference: Interval | None  # from the best, in the ranking metric
    p: float  # adjusted; 1 for the best itself
    verdict: str  # "best", "tied", "worse" or "below dummy"
    fit_seconds: float  # median of a fold
    predict_micros: float  # median, for one row
    remarks: str
    over_rows: Interval | None = None  # of the ranking metric, over rows
    odds: ComparisonProbabilities | None = (
        None  # of being better than the best, equal, worse
    )
    near: bool = True  # within one standard error of the best
    parts: str = ""  # what a blend is made of

    @property
    def equal(self) -> bool:
        """Almost certainly practically equal to the best."""
        return self.odds is not None and self.odds.equivalent >= ALMOST_CERTAIN


class BaselineComparison(NamedTuple):
    """The kept method against one that anything useful should beat."""

    method: str
    difference: Interval  # score of the kept one less that of `method`
    beyond: bool  # better, and the interval leaves 0 out


class Tradeoff(NamedTuple):
    """What the top scorer would gain over the simpler method that is kept."""

    method: str
    gain: Interval  # of the score, in the direction that is better; below 0: a loss
    luck: float | None  # part of the gain that is the luck of being picked


def rank_methods(trials, metrics, ratio, data=None, seed=0) -> list[RankedMethod]:
    """Methods that finished, best first, each held against the best.

    `data` gives the weights and groups of rows for the intervals over rows.
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
    floor = names.index(DUMMY) if DUMMY in names else len(names)
    rows = []
    for i, (trial, gap) in enumerate(zip(done, gaps)):
        verdict = (
            "best"
            if i == 0
            else "tied"
            if adjusted[i] >= SIGNIFICANCE_LEVEL
            else "worse"
        )
        verdict = "below dummy" if i > floor else verdict  # however wide its interval
        apart = None if i == 0 else corrected_interval(gap, ratio)
        remarks = [f"{w} in {k} of {len(gap)} fits" for w, k in trial.warned.items()]
        rows.append(
            RankedMethod(
                i + 1,
                trial.method.name,
                {
                    m.name: clipped_interval(trial.scores[m.name], ratio, m)
                    for m in metrics
                },
                apart,
                float(adjusted[i]),
                verdict,
                float(np.median(trial.fit_seconds)),
                float(np.median(trial.predict_seconds) * 1e6),
                "; ".join(remarks),
                interval_over_rows(trial, first, data, seed),
                None
                if i == 0
                else bayesian_correlated_t(gap, ratio, rope, first.greater),
                apart is None or abs(apart.mean) <= apart.error,
                trial.parts,
            )
        )
    return rows


def clipped_interval(scores, ratio, metric) -> Interval:
    """The interval of one metric; not finite where a fold could not be scored."""
    if not np.isfinite(scores).all():
        return Interval(float(np.mean(scores)), np.nan, np.nan, np.nan)
    return metric.cut(corrected_interval(scores, ratio))


def interval_over_rows(trial, metric, data, seed) -> Interval | None:
    """The score of held-out rows with an interval over them."""
    if trial.losses is None or metric.rows is None:
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
    low, high = sorted(metric.undo(max(v, 0.0)) for v in (found.low, found.high))
    return metric.cut(Interval(metric.undo(found.mean), low, high, np.nan))


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
    """What has to be beaten: the dummy and the plain linear model, if they ran."""
    out = []
    for other in (DUMMY, *LINEAR_BASELINES):
        if other in names and other != name:
            d = paired_interval(name, other)
            out.append(
                BaselineComparison(other, d, d.low > 0 if greater else d.high < 0)
            )
    return out


def tradeoff_of_best(rows, kept, greater, expected=None, metric="") -> Tradeoff | None:
    """What the top scorer would gain over the one kept; None if it is the same."""
    best, row = rows[0], next((r for r in rows if r.method == kept), None)
    if row is None or row is best or best.method == DUMMY or row.difference is None:
        return None
    d = row.difference  # score of the kept one less that of the best
    turned = Interval(-d.mean, -d.high, -d.low, d.error)
    gain = turned if greater else d
    luck = None if expected is None else abs(expected - best.scores[metric].mean)
    return Tradeoff(best.method, gain, luck)


def simplest(rows, real, place, paired, greater) -> tuple[RankedMethod, str]:
    """The simplest of what is as good as the best, and why that one.

    `real` are those of the ranked methods that are tied with the best.
    """
    near = [r for r in real if r.near] or real[:1]
    equal = [r for r in rows if r.equal and r.verdict in ("tied", "worse")]
    good = near + [r for r in equal if r.method != DUMMY]
    linear = next((r for r in rows if r.method in LINEAR_BASELINES), None)
    if linear is not None and paired and linear.verdict != "below dummy":
        good = [
            r
            for r in good
            if place[r.method] <= place[linear.method]
            or compare_with_baselines(r.method, [linear.method], paired, greater)[
                0
            ].beyond
        ]
        if not good:
            return linear, "kept, since nothing beats it beyond the interval"
    keep = min(good, key=lambda r: place[r.method])
    told = "" if keep in near else " that is almost certainly practically equal"
    return keep, f"kept as the simpler one{told}"


def decide(
    rows, order, paired=None, greater=False, rule="simplest", second=None
) -> tuple[str, str]:
    """The method to keep, and the verdict in words.

    `order` lists the methods from simple to elaborate; `paired` comes from `paired_intervals`;
    `rule` is one of `KEEP_RULES`; `second` is what single rows say about the dummy. The
    dummy is kept only if there is nothing else.
    """
    place = {name: i for i, name in enumerate(order)}
    best = rows[0]
    tied = [r for r in rows if r.verdict in ("best", "tied")]
    real = [r for r in tied if r.method != DUMMY] or tied
    keep, why = real[0], "kept, as asked for"
    if rule == "simplest":
        keep, why = simplest(rows, real, place, paired, greater)
        why = why if keep is not best else ""
    if best.method == DUMMY and keep is not best and "since" not in why:
        why = "kept, though no better than the dummy"
    name = best.method
    if len(rows) == 1:
        text = f"{name} {verb_for(name)} the only method that finished."
    elif len(tied) == 1:
        sure = all(r.p < SIGNIFICANCE_LEVEL for r in rows[1:])
        text = f"{name} {verb_for(name)} better than every other method."
        if not sure:  # something below the dummy, too uneven to be sure about
            text = (
                f"{name} {verb_for(name, 'scores', 'score')} best; nothing above the "
            )
            text += "dummy ties with it."
        if why and keep is not best:
            text = f"{text[:-1]}; {keep.method} {verb_for(keep.method)} {why}"
            text += f"{quicker(keep, best)}."
    else:
        sure = second is not None and second.sure(name)
        others = [r.method for r in tied if r is not best]
        others = [n for n in others if not (sure and n == DUMMY)]
        text = f"{name} {verb_for(name, 'scores', 'score')} best"
        if others:
            text += f" but {verb_for(name)} tied with {join_names(others, 3)}"
            text += ": the difference may be chance"
        told = f"; {keep.method} {verb_for(keep.method)} {why}{quicker(keep, best)}"
        text += f"{told}." if why else "."
    if best.method == DUMMY and len(tied) == 1 and len(rows) > 1:
        text = (
            "Nothing here beats the dummy, which ignores all columns: it scores best."
        )
    elif any(r.method == DUMMY for r in tied) and len(rows) > 1:
        text += f" {of_dummy([r.method for r in tied], second)}"
    return keep.method, text


def of_dummy(tied, second) -> str:
    """Whether anything tied with it beats the dummy, and which test says so."""
    none = "Nothing here beats the dummy, which ignores all columns, beyond doubt"
    if second is None:
        return f"{none}."
    sure = [name for name in tied if second.sure(name)]
    if not sure:
        low = min(second.p, key=second.p.__getitem__)
        return f"{none}: not over folds, nor row by row {second.test(low)}."
    who = sure[0]
    it = verb_for(who, "it", "them") if who == tied[0] else who
    return (
        f"{second.folds} folds are too few to tell {it} from the dummy, which ignores "
        f"all columns, but row by row {verb_for(who, 'it beats', 'they beat')} it "
        f"{second.test(who)}."
    )


def quicker(keep, best) -> str:
    """`, 12 times faster to fit`, where it is worth saying."""
    if keep.fit_seconds <= 0 or best.fit_seconds < 2 * keep.fit_seconds:
        return ""
    return f" ({best.fit_seconds / keep.fit_seconds:.0f} times faster to fit)"


def join_names(names, max_names=5) -> str:
    """`a`, `a and b`, `a, b and c`; a long list is cut short."""
    if len(names) > max_names:
        names = [*names[:max_names], f"{len(names) - max_names} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def expected_best_score(trials, rows, metric, seed, data=None) -> float | None:
    """The best score once the luck of being picked is taken off."""
    kept = [t.losses for t in trials if not t.failure and t.losses is not None]
    if len(kept) < 2 or metric.rows is None:
        return None
    losses = np.column_stack(kept)
    seen = np.isfinite(losses).all(1)
    losses = losses[seen]
    pick = lambda a: None if a is None else np.asarray(a)[seen]
    w, g = (pick(getattr(data, name, None)) for name in ("weight", "group"))
    before = np.average(losses, axis=0, weights=w).min()
    after = expected_loss_of_best(losses, random_state=seed, weights=w, groups=g)
    return float(
        rows[0].scores[metric.name].mean + metric.undo(after) - metric.undo(before)
    )
