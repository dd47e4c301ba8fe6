"""Methods over several tables: Friedman, Wilcoxon with Holm, Bayesian signed rank."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from pansophy.compare import Interval, compare_over_datasets, friedman_test, holm_adjust
from pansophy.model_selection.multi_dataset import wilcoxon_signed_rank


def test_friedman_against_scipy(rng):
    for digits in (1, 8):  # with ties and without
        x = rng.normal(size=(12, 5)).round(digits)
        ours, theirs = friedman_test(x), stats.friedmanchisquare(*x.T)
        assert (ours.chi2, ours.p_chi2) == pytest.approx(tuple(theirs))
        F = 11 * ours.chi2 / (12 * 4 - ours.chi2)
        assert (ours.F, ours.p) == pytest.approx((F, stats.f.sf(F, 4, 44)))
    assert friedman_test(np.ones((4, 3))) == (0, 1, 0, 1)
    same_order = friedman_test(np.arange(12.0).reshape(4, 3))
    assert same_order.chi2 == pytest.approx(8) and same_order.p == 0


def test_wilcoxon_counts_every_pattern_of_signs(rng):
    d = rng.normal(0.3, 1, 15)
    assert wilcoxon_signed_rank(d) == pytest.approx(
        stats.wilcoxon(d, method="exact").pvalue
    )
    d = np.array([1.0, -1.0, 2.0, 2.0, 0.0, -3.0])  # ties and a zero
    r = stats.rankdata(np.abs(d))[d != 0]
    sums = [np.dot(s, r) for s in product((0, 1), repeat=len(r))]
    seen = r[d[d != 0] > 0].sum()
    tail = min(np.mean(np.array(sums) <= seen), np.mean(np.array(sums) >= seen))
    assert wilcoxon_signed_rank(d) == pytest.approx(min(2 * tail, 1))
    assert wilcoxon_signed_rank([0.0, 0.0]) == 1.0
    many = rng.normal(0.1, 1, 150)
    assert wilcoxon_signed_rank(many) == pytest.approx(
        stats.wilcoxon(many).pvalue, rel=0.02
    )


def test_several(rng):
    base = rng.uniform(0.6, 0.9, (15, 1))
    x = base + rng.normal(0, 0.01, (15, 3)) + [0.0, 0.0, 0.05]
    result = compare_over_datasets(x, metric="accuracy", methods=["a", "b", "c"])
    assert result.methods[0] == "c" and result.friedman.p < 0.01
    assert result.pair("c", "a").adjusted < 0.01
    assert result.pair("c", "a").probabilities.better > 0.95
    tie = result.pair("a", "b")
    assert tie.adjusted > 0.05 and tie.probabilities.better < 0.95
    back = result.pair("b", "a")
    assert back.difference == -tie.difference
    assert back.probabilities == tie.probabilities[::-1]
    p = [q.p for q in result.pairs]
    assert [q.adjusted for q in result.pairs] == pytest.approx(holm_adjust(p))
    text = str(result)
    assert (
        "3 methods on 15 tables by accuracy" in text and "c is almost certainly" in text
    )
    with pytest.raises(ValueError, match="not both among"):
        result.pair("a", "z")


def test_errors_in_units_are_compared_as_ratios(rng):
    scale = 10.0 ** rng.uniform(-3, 3, 12)
    scores = {"a": scale * rng.uniform(0.9, 1.0, 12), "b": 1.3 * scale}
    result = compare_over_datasets(scores, metric="rmse")
    assert result.methods[0] == "a" and result.friedman is None
    assert result.pair("a", "b").probabilities.better > 0.95
    rescaled = {k: v * 7 for k, v in scores.items()}
    again = compare_over_datasets(rescaled, metric="rmse").pairs[0]
    assert again.difference == pytest.approx(result.pairs[0].difference)
    assert again.probabilities == result.pairs[0].probabilities
    assert "1 % of rmse" in str(result)


def comparison(scores, metric="log loss"):
    rows = [
        SimpleNamespace(method=m, scores={metric: Interval(v, v, v, 0.0)})
        for m, v in scores.items()
    ]
    return SimpleNamespace(metric=metric, leaderboard=rows)


def test_several_comparisons():
    runs = [
        comparison({"forest": 0.3 + i / 50, "ridge": 0.5 + i / 40, f"only {i}": 0.1})
        for i in range(6)
    ]
    result = compare_over_datasets(runs)
    assert result.methods == ("forest", "ridge")  # lower is better
    assert result.pairs[0].p == pytest.approx(2 / 2**6)
    assert compare_over_datasets(runs, tables=list("abcdef")).tables[0] == "a"
    with pytest.raises(ValueError, match="was not scored by"):
        compare_over_datasets([*runs, comparison({"forest": 1, "ridge": 1}, "rmse")])
    with pytest.raises(ValueError, match="Fewer than two"):
        compare_over_datasets([comparison({"a": 1.0}), comparison({"b": 1.0})])


def test_bad_input():
    for wrong, words in [
        (lambda: compare_over_datasets([[1.0, np.nan]]), "method 1 on table 0"),
        (lambda: compare_over_datasets([1.0, 2.0]), "a row for each table"),
        (lambda: compare_over_datasets([]), "a row for each table"),
        (lambda: compare_over_datasets([[1.0, -1.0]], metric="rmse"), "scores above 0"),
        (lambda: compare_over_datasets([[1.0, 2.0]], methods=["a"]), "by name"),
        (lambda: friedman_test([[1.0, 2.0]]), "three methods"),
        (lambda: compare_over_datasets([[1.0, 2.0]], rope=-1), "rope must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
    one = compare_over_datasets(
        [[0.8, 0.7]]
    )  # one table: no more can be said than that
    assert one.pairs[0].p == 1.0 and one.friedman is None
