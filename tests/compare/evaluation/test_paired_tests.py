"""Paired tests of rows: variances, p values, false winners, coverage and power.

The simulations are those of `tools/simulate_comparisons.py`, on fewer tables.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pansophy.compare import adjust_against_best
from pansophy.compare.evaluation.paired_tests import (
    CrossValidationDesign,
    ScoreEstimates,
    TestKind,
    estimate_scores,
    jackknife_scores,
    long_run_covariance,
    p_against_best,
    p_better_than,
    score_interval,
)
from pansophy.compare.metrics import metrics_for

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def simulations():
    where = ROOT / "tools" / "simulate_comparisons.py"
    spec = importlib.util.spec_from_file_location("simulate_comparisons", where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_repeat(n, folds=5, **more):
    return CrossValidationDesign(0.0, folds, np.arange(n)[None] % folds, **more)


def test_without_training_variance_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    losses = rng.gamma(2.0, size=(1, 80, 2))
    found = estimate_scores(losses, one_repeat(80), ["a", "b"])
    t = stats.ttest_rel(losses[0, :, 0], losses[0, :, 1])
    difference = found.difference("a", "b")
    assert difference.p == pytest.approx(t.pvalue, rel=1e-6)
    low, high = t.confidence_interval()
    assert difference.interval[1:3] == pytest.approx((low, high), rel=1e-6)
    assert found.kind is TestKind.ROWS and found.units == 80 and found.df == 79


def test_weights_groups_and_rows_never_held_out():
    rng = np.random.default_rng(1)
    n = 60
    losses = rng.gamma(2.0, size=(1, n, 2))
    group = np.arange(n) // 3
    found = estimate_scores(losses, one_repeat(n, group=group), ["a", "b"])
    mean = losses[0].reshape(20, 3, 2).mean(1)
    t = stats.ttest_rel(mean[:, 0], mean[:, 1])
    assert found.kind is TestKind.GROUPS and found.units == 20
    assert found.difference("a", "b").p == pytest.approx(t.pvalue, rel=1e-6)
    weight = rng.integers(1, 4, n).astype(float)
    weighed = estimate_scores(losses, one_repeat(n, weight=weight), ["a", "b"])
    assert weighed.means == pytest.approx(np.average(losses[0], axis=0, weights=weight))
    part = losses.copy()
    part[0, :10] = np.nan
    seen = estimate_scores(part, one_repeat(n), ["a", "b"])
    assert seen.units == 50 and seen.means == pytest.approx(losses[0, 10:].mean(0))


def test_the_long_run_variance_of_a_series_that_persists():
    """An autoregression of 0.5 has four times the variance of its mean."""
    rng = np.random.default_rng(2)
    e = rng.normal(size=(300, 400))
    x = np.zeros_like(e)
    for t in range(1, 300):
        x[t] = 0.5 * x[t - 1] + e[t]
    found = np.array([long_run_covariance(s[:, None])[0][0, 0] for s in x.T])
    assert found.mean() == pytest.approx(4 * 300, rel=0.2)
    assert long_run_covariance(x[:, :1])[1] == int(0.4 * 300 ** (2 / 3))


def test_rows_of_one_moment_are_one_unit_along_time():
    losses = np.random.default_rng(3).gamma(2.0, size=(1, 120, 2))
    time = np.repeat(np.arange(40.0), 3)
    found = estimate_scores(losses, one_repeat(120, time=time), ["a", "b"])
    assert found.kind is TestKind.TIME and found.units == 40


def test_answers_of_the_first_repeat_alone_are_enough():
    losses = np.random.default_rng(6).gamma(2.0, size=(3, 60, 2))
    fold_of = np.stack([np.random.default_rng(r).permutation(60) % 5 for r in range(3)])
    design = CrossValidationDesign(0.25, 5, fold_of)
    whole = estimate_scores(losses, design, ["a", "b"])
    part = estimate_scores(losses[:1], design, ["a", "b"])
    assert part.units == whole.units == 60
    assert part.means == pytest.approx(losses[0].mean(0))


def test_a_fold_that_goes_wrong_as_a_whole_is_one_accident_not_many():
    rng = np.random.default_rng(7)
    base = rng.gamma(2.0, size=100)
    other = base + rng.normal(0, 0.1, 100) + 50.0 * (np.arange(100) % 5 == 2)
    design = CrossValidationDesign(0.25, 5, np.arange(100)[None] % 5)
    found = estimate_scores(np.stack([base, other], -1)[None], design, ["a", "b"])
    assert found.difference("a", "b").p > 0.05


def independent_scores(means, df=50.0):
    M = len(means)
    return ScoreEstimates(
        tuple(f"m{i}" for i in range(M)),
        np.asarray(means, float),
        np.eye(M) * 0.01,
        np.zeros((M, M)),
        np.full(M, 0.1),
        df,
        TestKind.ROWS,
        51,
    )


def test_independent_methods_are_adjusted_as_by_the_studentised_range():
    found = independent_scores([1.0, 1.35, 1.5, 1.9])
    p = p_against_best(found, 0)
    t = (found.means[1:] - 1.0) / (0.1 * np.sqrt(2))
    single = 2 * stats.t.sf(t, 50)
    assert p[0] == 1.0
    assert p[1:] == pytest.approx(adjust_against_best(single, 50), abs=0.01)


def test_methods_that_answer_alike_pay_less():
    apart = independent_scores([1.0, 1.3, 1.31, 1.32, 1.33])
    C = np.full((5, 5), 0.0099) + 0.0001 * np.eye(5)
    C[0] = C[:, 0] = 0.0
    C[0, 0] = 0.01
    alike = apart._replace(covariance=C)
    assert p_against_best(alike, 0)[1:].max() < p_against_best(apart, 0)[1:].max()
    better = p_better_than(alike, 0, greater=True)
    assert better[0] == 1.0 and (better[1:] < p_against_best(alike, 0)[1:]).all()
    assert (p_better_than(alike, 0, greater=False)[1:] > 0.5).all()


def test_equal_answers_are_no_difference():
    losses = np.repeat(np.random.default_rng(4).gamma(2.0, size=(1, 50, 1)), 2, axis=2)
    found = estimate_scores(losses, one_repeat(50), ["a", "b"])
    assert found.difference("a", "b").p == 1.0
    assert p_against_best(found, 0).tolist() == [1.0, 1.0]


def test_a_perfect_share_of_rows_still_has_an_interval():
    accuracy = metrics_for("classification", "accuracy")[0]
    losses = np.zeros((1, 40, 1))
    found = estimate_scores(losses, one_repeat(40), ["a"], accuracy)
    i = score_interval(found, 0, accuracy)
    assert i.mean == i.high == 1.0 and 0.88 < i.low < 0.95


def test_the_jackknife_knows_areas_under_curves():
    """Against the bootstrap of scipy, for one method."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300)
    q = 1 / (1 + np.exp(-(y - 0.5 + rng.normal(size=300))))
    p = np.column_stack([1 - q, q])
    auc = metrics_for("classification", "auc")[0]
    found = jackknife_scores(auc.score, [p], y, one_repeat(300), ["a"])
    draws = rng.integers(0, 300, (400, 300))
    boot = np.std([auc.score(y[d], p[d]) for d in draws])
    assert found.errors[0] == pytest.approx(boot, rel=0.25)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("log loss", {"n": 300, "repeats": 2}),
        ("ordered", {"n": 300, "repeats": 2}),
        ("along time", {"n": 200}),
    ],
)
def test_equal_methods_are_rarely_told_apart_and_intervals_hold(
    simulations, kind, setting
):
    simulations.NEW_ROWS = 4000
    rates = simulations.null_rates(kind, 100, **setting)
    assert 0.0 < rates["false winners"] <= 0.09
    assert 0.91 <= rates["coverage"] <= 0.99


def test_a_signal_beats_the_dummy_and_noise_does_not(simulations):
    """250 rows, 7 columns, a log loss of about 0.55 against 0.69, 2 x 5 folds."""
    rates = simulations.dummy_rates(40)
    signal = rates["signal"]
    assert 0.54 < signal["log loss"] < 0.58
    assert signal["better than the dummy"] >= 0.93
    assert signal["better than the dummy"] > signal["by folds"] + 0.2
    assert rates["noise"]["better than the dummy"] <= 0.05
    assert rates["noise"]["the dummy's interval holds"] >= 0.91


def test_rows_find_differences_that_folds_do_not(simulations):
    """The whole curve is printed by the tool: half the rows are enough."""
    (point,) = simulations.power_curve("log loss", (600,), 40, repeats=2)
    assert point.by_rows > point.by_folds + 0.1
    assert point.by_rows <= point.known_covariance + 0.1  # the limit, but for chance


def test_rows_needed_are_found_between_the_sizes_tried(simulations):
    points = [
        simulations.PowerPoint(100, 0.2, 0.1, 0.4),
        simulations.PowerPoint(200, 0.6, 0.2, 0.8),
        simulations.PowerPoint(400, 1.0, 0.5, 1.0),
    ]
    assert simulations.rows_needed(points, "known_covariance") == pytest.approx(200)
    assert simulations.rows_needed(points, "by_rows") == pytest.approx(200 * 2**0.5)
    assert np.isnan(simulations.rows_needed(points, "by_folds"))
