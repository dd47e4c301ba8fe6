"""Ranking, ties, and which method is kept."""

from dataclasses import replace

import numpy as np
import pytest

from pansophy.compare import Interval
from pansophy.compare.evaluation.bayesian_tests import ComparisonProbabilities
from pansophy.compare.evaluation.ranking import (
    KeepReason,
    KeptMethod,
    RankedMethod,
    Standing,
    choose_model,
    compare_with_baselines,
    interval_over_rows,
    rank_methods,
    standing_of,
    tradeoff_of_best,
)
from pansophy.compare.evaluation.row_level import SIGNIFICANCE_LEVEL
from pansophy.compare.execution.trials import Trial
from pansophy.compare.methods.method import Method
from pansophy.compare.metrics import metrics_for
from pansophy.compare.report.verdict import verdict_sentence
from tests.compare.comparisons import made, ready


@pytest.fixture(scope="module")
def result():
    return made("classification")


def row(rank, method, mean, error, p=1.0, standing="tied", near=True, seconds=1.0):
    score = Interval(mean, mean - 2 * error, mean + 2 * error, error)
    gap = None if rank == 1 else Interval(mean, 0, 2 * mean, error)
    return RankedMethod(
        rank,
        method,
        {"rmse": score},
        gap,
        p,
        Standing(standing),
        seconds,
        1.0,
        within_one_error=near,
    )


def decide(rows, order, *arguments, row_test=None, **named):
    """The name of the method that is kept, and the verdict about it."""
    kept = choose_model(rows, order, *arguments, **named)
    return kept.method, verdict_sentence(rows, kept, row_test)


def test_each_method_is_held_against_the_best_in_both_ways(result):
    best, *rest = result.leaderboard
    assert (
        best.probabilities is None and best.within_one_error and best.difference is None
    )
    for r in rest:
        assert sum(r.probabilities) == pytest.approx(1)
        assert r.within_one_error == (abs(r.difference.mean) <= r.difference.error)
    assert rest[-1].method == "dummy" and rest[-1].probabilities.worse > 0.99
    assert result.rope == pytest.approx(0.01 * best.scores["log loss"].mean)


def test_every_score_has_two_intervals(result):
    for r in result.leaderboard:
        o, f = r.over_rows, r.scores["log loss"]
        assert o.low < o.mean < o.high and f.low < f.mean < f.high
        losses = result.trial(r.method).losses
        assert o.mean == pytest.approx(losses.mean())


def test_intervals_over_rows_of_a_metric_that_grows():
    c = ready("classification")
    accuracy = metrics_for("classification", "accuracy")[0]
    trial = c.trials[1]
    y, p = c.data.y, trial.predictions
    judged = replace(trial, losses=accuracy.row_losses(y, p))
    found = interval_over_rows(judged, accuracy, c.data, 0)
    assert found.mean == pytest.approx(accuracy.score(y, p))
    assert 0 <= found.low < found.mean < found.high <= 1
    half = replace(trial, losses=np.where(np.arange(len(y)) < 50, np.nan, 0.3))
    assert interval_over_rows(half, accuracy, c.data, 0).mean == pytest.approx(0.7)


def test_the_simplest_within_one_standard_error_is_kept():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best", seconds=12.0),
        row(2, "forest", 0.05, 0.1),
        row(3, "tree", 0.2, 0.1, near=False),
        row(4, "dummy", 3.0, 0.1, p=0.0, standing="worse"),
    ]
    kept, words = decide(rows, ["dummy", "tree", "forest", "net"])
    assert kept == "forest"  # the tree is tied too, but farther than one error
    assert "tied with forest and tree" in words
    assert "forest is kept as the simpler one (12 times faster to fit)" in words


def test_what_is_practically_equal_is_as_good_however_sure_the_difference():
    same, apart = (
        ComparisonProbabilities(0.0, 0.99, 0.01),
        ComparisonProbabilities(0.0, 0.5, 0.5),
    )
    rows = [
        row(1, "blend", 1.0, 0.1, standing="best", seconds=9.0),
        row(2, "net", 1.002, 0.1, p=0.01, standing="worse", near=False),
        row(3, "tree", 1.05, 0.1, p=0.01, standing="worse", near=False),
        row(4, "dummy", 1.002, 0.1, p=0.01, standing="worse", near=False),
    ]
    order = ["dummy", "tree", "net", "blend"]
    told = [
        rows[0],
        rows[1]._replace(probabilities=same),
        rows[2]._replace(probabilities=apart),
        rows[3]._replace(probabilities=same),
    ]
    kept, words = decide(told, order)
    assert kept == "net" and words.startswith(
        "blend is better than every other method; net is kept as the simpler one that "
        "is almost certainly practically equal (9 times faster to fit)."
    )
    told[1] = rows[1]._replace(probabilities=apart)
    assert decide(told, order) == ("blend", "blend is better than every other method.")
    kept, words = decide(told, order, rule="best")
    assert kept == "blend" and "asked" not in words


def test_of_what_is_as_good_only_what_beats_the_linear_model_is_kept():
    """The simpler of two does not, beyond the interval; the other does."""
    rows = [
        row(1, "blend", 1.0, 0.1, standing="best"),
        row(2, "forest", 0.05, 0.1),
        row(3, "linear regression", 0.2, 0.1, near=False),
    ]
    order = ["linear regression", "forest", "blend"]
    gaps = {
        "forest": Interval(-0.1, -0.3, 0.1, 0.1),
        "blend": Interval(-0.2, -0.3, -0.1, 0.05),
    }
    assert decide(rows, order, lambda a, b: gaps[a])[0] == "blend"
    gaps["forest"] = Interval(-0.1, -0.2, -0.01, 0.1)
    assert decide(rows, order, lambda a, b: gaps[a])[0] == "forest"
    gaps = dict.fromkeys(gaps, Interval(-0.1, -0.3, 0.1, 0.1))
    kept, words = decide(rows, order, lambda a, b: gaps[a])
    assert kept == "linear regression" and "since nothing beats it" in words


def test_the_top_scorer_is_kept_if_asked_for_and_its_gain_told_if_not():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best"),
        row(2, "tree", 1.05, 0.1)._replace(difference=Interval(0.05, -0.02, 0.12, 0.1)),
        row(3, "dummy", 3.0, 0.1, p=0.0, standing="worse"),
    ]
    order = ["dummy", "tree", "net"]
    assert decide(rows, order)[0] == "tree"
    kept, words = decide(rows, order, rule="best")
    assert kept == "net" and "; net is kept, as asked for." in words
    found = tradeoff_of_best(rows, "tree", False, expected=1.02, metric="rmse")
    assert found == ("net", Interval(0.05, -0.02, 0.12, 0.1), pytest.approx(0.02))
    more = tradeoff_of_best(
        rows, "tree", True
    )  # a greater score is better: that is a loss
    assert (
        more.gain == Interval(-0.05, -0.12, 0.02, 0.1) and more.selection_bias is None
    )
    assert tradeoff_of_best(rows, "net", False) is None


def test_the_plain_linear_model_is_kept_unless_beaten_beyond_the_interval():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best"),
        row(2, "linear regression", 0.2, 0.15, near=False),
    ]
    order = ["linear regression", "net"]
    unsure = lambda a, b: Interval(-0.2, -0.5, 0.1, 0.15)
    kept, words = decide(rows, order, unsure, greater=False)
    assert kept == "linear regression" and "nothing beats it beyond" in words
    sure = lambda a, b: Interval(-0.2, -0.3, -0.1, 0.05)
    assert decide(rows, order, sure, greater=False)[0] == "net"


def test_names_in_the_plural_get_their_verb():
    rows = [
        row(1, "nearest neighbours", 1.0, 0.1, standing="best"),
        row(2, "extra trees", 0.05, 0.1),
    ]
    assert decide(rows, ["extra trees", "nearest neighbours"])[1] == (
        "nearest neighbours score best but are tied with extra trees: the difference "
        "may be chance; extra trees are kept as the simpler one."
    )


def test_what_has_to_be_beaten():
    paired = lambda a, b: Interval(-0.2, -0.3, -0.1, 0.05)
    found = compare_with_baselines(
        "net", ["net", "dummy", "logistic regression"], paired, False
    )
    assert [b.method for b in found] == ["dummy", "logistic regression"]
    assert all(b.significant for b in found)
    assert not any(
        b.significant for b in compare_with_baselines("net", ["dummy"], paired, True)
    )
    assert compare_with_baselines("dummy", ["dummy"], paired, True) == []


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.0, Standing.WORSE),
        (0.0499, Standing.WORSE),
        (0.05, Standing.TIED),
        (0.0501, Standing.TIED),
        (1.0, Standing.TIED),
    ],
)
def test_ties_are_decided_at_the_5_percent_level(p, expected):
    assert SIGNIFICANCE_LEVEL == 0.05
    assert standing_of(1, p, dummy_at=9) is expected
    assert standing_of(0, p, dummy_at=9) is Standing.BEST
    assert standing_of(2, p, dummy_at=1) is Standing.BELOW_DUMMY


def trials_with_gap(gap):
    """Two methods whose scores on ten folds differ by `gap` on average."""
    noise = np.tile([-0.01, 0.01], 5)
    base = {"log loss": [0.5] * 10}
    other = {"log loss": list(0.5 + gap + noise)}
    return [
        Trial(Method(name, "classification", "", dict), scores, [1.0], [1e-6])
        for name, scores in (("a", base), ("b", other))
    ]


def test_a_difference_on_either_side_of_the_level_is_a_tie_or_not():
    """The adjusted p value of two methods is that of the corrected t test alone."""
    metrics = metrics_for("classification")[:1]
    gaps = np.linspace(0.004, 0.02, 81)
    ranked = [rank_methods(trials_with_gap(g), metrics, 0.25)[1] for g in gaps]
    p = np.array([r.p for r in ranked])
    assert (p < 0.05).any() and (p > 0.05).any() and (np.diff(p) < 0).all()
    for r in ranked:
        assert r.standing == ("worse" if r.p < 0.05 else "tied")
    near = p[np.argmin(np.abs(p - 0.05))]
    assert abs(near - 0.05) < 0.005  # the grid is fine enough to notice 0.04 or 0.06


def test_the_reason_for_keeping_a_method_is_data():
    rows = [
        row(1, "net", 1.0, 0.1, standing="best"),
        row(2, "tree", 1.05, 0.1),
        row(3, "dummy", 3.0, 0.1, p=0.0, standing="worse"),
    ]
    order = ["dummy", "tree", "net"]
    assert choose_model(rows, order) == KeptMethod("tree", KeepReason.SIMPLER)
    requested = KeptMethod("net", KeepReason.REQUESTED)
    assert choose_model(rows, order, rule="best") == requested
    top = KeptMethod("net", KeepReason.TOP_SCORER)
    assert choose_model(rows, ["dummy", "net", "tree"]) == top
    dummy_first = [row(1, "dummy", 1.0, 0.1, standing="best"), row(2, "tree", 1.0, 0.1)]
    kept = choose_model(dummy_first, ["dummy", "tree"])
    assert kept == KeptMethod("tree", KeepReason.NO_BETTER_THAN_DUMMY)
