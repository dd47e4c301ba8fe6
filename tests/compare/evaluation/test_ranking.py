"""Ranking, ties, and which method is kept."""

import numpy as np
import pytest

from pansophy.compare import Interval
from pansophy.compare.evaluation.bayesian_tests import ComparisonProbabilities
from pansophy.compare.evaluation.paired_tests import (
    SIGNIFICANCE_LEVEL,
    CrossValidationDesign,
    ScoreEstimates,
    TestKind,
    estimate_scores,
)
from pansophy.compare.evaluation.ranking import (
    KeepReason,
    KeptMethod,
    RankedMethod,
    Standing,
    choose_model,
    compare_with_baselines,
    optimism_of_best,
    rank_methods,
    standing_of,
    tradeoff_of_best,
    without_selection_bias,
)
from pansophy.compare.execution.trials import Trial
from pansophy.compare.methods.method import Method
from pansophy.compare.metrics import metrics_for
from tests.compare.comparisons import made

EQUAL = ComparisonProbabilities(0.0, 0.99, 0.01)
OPEN = ComparisonProbabilities(0.1, 0.4, 0.5)


@pytest.fixture(scope="module")
def result():
    return made("classification")


def row(rank, method, standing="undecided", probabilities=OPEN, p=0.5):
    mean = 1.0 + 0.01 * rank
    gap = None if rank == 1 else Interval(0.05, -0.02, 0.12, 0.1)
    return RankedMethod(
        rank,
        method,
        {"rmse": Interval(mean, mean - 0.1, mean + 0.1, 0.05)},
        gap,
        p,
        Standing(standing),
        1.0,
        1.0,
        probabilities=None if rank == 1 else probabilities,
    )


def test_each_method_is_held_against_the_best_in_both_ways(result):
    best, *rest = result.leaderboard
    assert best.probabilities is None and best.difference is None
    for r in rest:
        assert sum(r.probabilities) == pytest.approx(1)
        assert r.test is TestKind.ROWS and r.units == 150 and r.df == 149
    assert rest[-1].method == "dummy" and rest[-1].probabilities.worse > 0.99
    assert result.rope == pytest.approx(0.01 * best.scores["log loss"].mean)


def test_every_score_has_an_interval_for_new_rows(result):
    for r in result.leaderboard:
        assert r.scores["log loss"].mean == pytest.approx(
            result.trial(r.method).losses.mean()
        )
        for s in r.scores.values():
            assert s.low < s.mean < s.high


def test_the_score_of_rows_is_not_the_mean_of_folds_where_that_is_biased():
    """The root of a mean is larger than the mean of the roots over folds."""
    c = made("regression")
    best = c.leaderboard[0]
    trial = c.trial(best.method)
    assert best.scores["rmse"].mean == pytest.approx(np.sqrt(trial.losses.mean()))
    assert best.scores["rmse"].mean > np.mean(trial.scores["rmse"])


def test_a_lack_of_evidence_is_not_equality_and_the_better_one_is_kept():
    rows = [
        row(1, "net", "best"),
        row(2, "forest"),
        row(3, "linear regression"),
        row(4, "dummy", "worse", p=0.0),
    ]
    order = ["dummy", "linear regression", "forest", "net"]
    assert choose_model(rows, order) == KeptMethod("net", KeepReason.UNDECIDED_BEST)
    top = KeptMethod("net", KeepReason.TOP_SCORER)  # nothing simpler is in question
    assert choose_model(rows, ["dummy", "net", "linear regression", "forest"]) == top


def test_the_simplest_that_is_practically_equal_is_kept():
    rows = [
        row(1, "blend", "best"),
        row(2, "net", "worse", EQUAL, p=0.01),  # a sure difference, but a tiny one
        row(3, "forest", "tied", EQUAL),
        row(4, "tree"),
        row(5, "dummy", "worse", EQUAL, p=0.01),
    ]
    order = ["dummy", "tree", "forest", "net", "blend"]
    kept = choose_model(rows, order)
    assert kept == KeptMethod("forest", KeepReason.SIMPLER_EQUAL)
    requested = KeptMethod("blend", KeepReason.REQUESTED)
    assert choose_model(rows, order, rule="best") == requested


def test_the_dummy_is_kept_where_it_is_best_or_practically_equal():
    order = ["dummy", "linear regression", "net"]
    best = [
        row(1, "dummy", "best"),
        row(2, "net", "below dummy"),
        row(3, "linear regression", "below dummy"),
    ]
    for rule in ("simplest", "best"):
        kept = choose_model(best, order, rule=rule)
        assert kept == KeptMethod("dummy", KeepReason.DUMMY_BEST)
    equal = [row(1, "net", "best"), row(2, "dummy", "tied", EQUAL)]
    kept = choose_model(equal, order)
    assert kept == KeptMethod("dummy", KeepReason.DUMMY_EQUAL)
    unsure = [row(1, "net", "best"), row(2, "dummy")]
    assert choose_model(unsure, order).method == "net"


def test_the_linear_model_below_the_dummy_changes_nothing():
    rows = [
        row(1, "net", "best"),
        row(2, "dummy", "worse", p=0.01),
        row(3, "linear regression", "below dummy"),
    ]
    kept = choose_model(rows, ["dummy", "linear regression", "net"])
    assert kept == KeptMethod("net", KeepReason.TOP_SCORER)


def test_what_the_top_scorer_would_gain_is_told():
    rows = [row(1, "net", "best"), row(2, "tree"), row(3, "dummy", "worse", p=0.0)]
    found = tradeoff_of_best(rows, "tree", False, bias=0.02)
    assert found == ("net", Interval(0.05, -0.02, 0.12, 0.1), pytest.approx(0.02))
    more = tradeoff_of_best(rows, "tree", True)  # greater is better: that is a loss
    assert more.gain == Interval(-0.05, -0.12, 0.02, 0.1)
    assert more.selection_bias is None
    assert tradeoff_of_best(rows, "net", False) is None


def estimates(*means, error=0.1, df=100.0):
    """Independent scores of `dummy`, `logistic regression`, `net`."""
    names = ("dummy", "logistic regression", "net")[: len(means)]
    M = len(means)
    return ScoreEstimates(
        names,
        np.array(means),
        error**2 * np.eye(M),
        np.zeros((M, M)),
        np.full(M, error),
        df,
        TestKind.ROWS,
        int(df) + 1,
    )


@pytest.mark.parametrize("n_methods", [2, 10])
@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_selection_bias_is_what_picking_the_best_gains(n_methods, gap):
    """Of 800 tables each; a mean of 800 misses by 5.5 errors once in 3e7 tries."""
    rng = np.random.default_rng(0)
    truth = 0.5 + gap * np.arange(n_methods) / n_methods
    gained, estimated = [], []
    for _ in range(800):
        seen = truth + rng.normal(size=n_methods)
        scores = ScoreEstimates(
            tuple(f"method {m}" for m in range(n_methods)),
            seen,
            np.eye(n_methods),
            np.zeros((n_methods, n_methods)),
            np.ones(n_methods),
            np.inf,
            TestKind.ROWS,
            100,
        )
        best = int(np.argmin(seen))
        gained.append(truth[best] - seen[best])
        estimated.append(optimism_of_best(scores, greater=False))
    difference = np.array(gained) - estimated
    error = difference.std() / np.sqrt(len(difference))
    assert abs(difference.mean()) < 0.15 + 5.5 * error  # of scores with error 1


def test_the_dummy_and_a_clear_winner_were_not_lucky():
    assert optimism_of_best(estimates(1.0, 2.0, 3.0), False) == 0.0  # the dummy is best
    assert optimism_of_best(estimates(1.0), False) == 0.0
    assert optimism_of_best(estimates(9.0, 5.0, 1.0), False) < 1e-2  # 40 errors apart
    assert optimism_of_best(estimates(9.0, 1.0, 1.0), False) > 0.05


def test_score_and_interval_move_together_within_the_bounds():
    rmse = next(m for m in metrics_for("regression", "rmse"))
    accuracy = next(m for m in metrics_for("classification", "accuracy"))
    worse = without_selection_bias(Interval(1.0, 0.5, 1.5, 0.2), 0.25, rmse)
    assert worse == Interval(1.25, 0.75, 1.75, 0.2)
    worse = without_selection_bias(Interval(0.02, 0.0, 0.05, 0.01), 0.03, accuracy)
    assert worse == Interval(0.0, 0.0, pytest.approx(0.02), 0.01)


def test_what_has_to_be_beaten():
    found = compare_with_baselines("net", estimates(3.0, 2.0, 1.0), False)
    assert [b.method for b in found] == ["dummy", "logistic regression"]
    assert all(b.significant for b in found) and found[0].p < found[1].p < 1e-6
    assert not any(
        b.significant
        for b in compare_with_baselines("net", estimates(3.0, 2.0, 1.0), True)
    )
    assert compare_with_baselines("dummy", estimates(1.0), True) == []


def test_beating_the_dummy_is_one_sided_and_allows_for_the_number_of_methods():
    alone = compare_with_baselines("net", estimates(1.0, 0.9, 0.7), False)[0]
    t = 0.3 / (0.1 * np.sqrt(2))
    from scipy import stats

    single = stats.t.sf(t, 100)
    assert single < alone.p < 2.1 * single


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.0, Standing.WORSE),
        (0.0499, Standing.WORSE),
        (0.05, Standing.UNDECIDED),
        (1.0, Standing.UNDECIDED),
    ],
)
def test_standings_are_decided_at_the_5_percent_level(p, expected):
    assert SIGNIFICANCE_LEVEL == 0.05
    assert standing_of(1, p, below_dummy=False, equal=False) is expected
    assert standing_of(0, p, below_dummy=False, equal=False) is Standing.BEST
    assert standing_of(2, p, below_dummy=True, equal=True) is Standing.BELOW_DUMMY
    tied = Standing.WORSE if p < 0.05 else Standing.TIED
    assert standing_of(1, p, below_dummy=False, equal=True) is tied


def test_a_difference_on_either_side_of_the_level_is_worse_or_undecided():
    """The adjusted p value of two methods is that of the paired t test of rows."""
    from scipy import stats

    metric = metrics_for("classification")[0]
    rng = np.random.default_rng(0)
    base = rng.gamma(2.0, 0.25, size=200)
    noise = rng.normal(0, 0.1, size=200)
    design = CrossValidationDesign(0.0, 5, np.arange(200)[None] % 5)
    ps = []
    for gap in np.linspace(0.002, 0.03, 29):
        losses = np.stack([base, base + gap + noise - noise.mean()], -1)[None]
        trials = [
            Trial(Method(n, "classification", "", dict), {metric.name: [0.5]}, [1], [1])
            for n in "ab"
        ]
        found = {metric.name: estimate_scores(losses, design, ["a", "b"], metric)}
        worse = rank_methods(trials, [metric], found)[1]
        t = stats.ttest_1samp(losses[0, :, 1] - losses[0, :, 0], 0)
        assert worse.p == pytest.approx(t.pvalue, abs=0.01)
        assert worse.standing == ("worse" if worse.p < 0.05 else "undecided")
        ps.append(worse.p)
    assert min(ps) < 0.05 < max(ps) and (np.diff(ps) <= 0).all()
