"""Corrected tests, adjusted p values, intervals: numbers and slow versions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pansophy.compare import (
    adjust_against_best,
    bootstrap_statistic,
    corrected_interval,
    corrected_t_test,
    error_interval,
    expected_loss_of_best,
    holm_adjust,
)
from pansophy.compare.evaluation.statistics import (
    optimism_of_shares,
    studentized_range_tail,
    tail_of_losses,
)


def test_corrected_t_by_hand():
    d = np.array([1.0, 2.0, 3.0, 4.0])
    t, p = corrected_t_test(d, ratio=1 / 3)
    v = (1 / 4 + 1 / 3) * d.var(ddof=1)
    assert t == pytest.approx(2.5 / np.sqrt(v))
    assert p == pytest.approx(2 * stats.t.sf(t, 3))


def test_corrected_t_without_correction_is_the_ordinary_one():
    d = np.random.default_rng(0).normal(0.3, 1, 20)
    expected = stats.ttest_1samp(d, 0)
    t, p = corrected_t_test(d, ratio=0)
    assert (t, p) == pytest.approx((expected.statistic, expected.pvalue))


def test_constant_differences():
    assert corrected_t_test([0.0, 0.0, 0.0], 0.25) == (0.0, 1.0)
    t, p = corrected_t_test([-1.0, -1.0], 0.25)
    assert t == -np.inf and p == 0.0
    with pytest.raises(ValueError, match="two scores"):
        corrected_t_test([1.0], 0.25)


def test_interval_by_hand():
    s = [1.0, 2.0, 3.0]
    i = corrected_interval(s, ratio=0.5, level=0.9)
    reach = stats.t.ppf(0.95, 2) * np.sqrt((1 / 3 + 0.5) * 1.0)
    assert (i.mean, i.low, i.high) == pytest.approx((2.0, 2 - reach, 2 + reach))


def test_holm_by_hand():
    assert holm_adjust([]).tolist() == []
    assert holm_adjust([0.2]).tolist() == [0.2]
    p = [0.010, 0.013, 0.014, 0.190, 0.350, 0.500, 0.630, 0.670, 0.750, 0.810]
    expected = [0.10, 0.117, 0.117, *[1.0] * 7]
    assert np.allclose(holm_adjust(p), expected)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_keeps_order_and_only_raises(p):
    adjusted = holm_adjust(p)
    assert np.all(adjusted >= np.array(p)) and np.all(adjusted <= 1)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)


def test_error_interval_worked_numbers():
    for rate, n, reach in [(0.30, 40, 0.142013), (0.15, 100, 0.069985)]:
        low, high = error_interval(rate, n)
        assert ((high - low) / 2, (high + low) / 2) == pytest.approx(
            (reach, rate), abs=1e-6
        )
    assert error_interval(0.0, 10) == (0.0, 0.0)
    assert error_interval(0.99, 5)[1] == 1.0
    with pytest.raises(ValueError, match="rate"):
        error_interval(1.2, 10)
    with pytest.raises(ValueError, match="n must"):
        error_interval(0.2, 0)


def test_error_interval_covers():
    rng = np.random.default_rng(0)
    seen = rng.binomial(200, 0.3, 2000) / 200
    inside = [
        low <= 0.3 <= high for low, high in (error_interval(r, 200) for r in seen)
    ]
    assert 0.93 < np.mean(inside) < 0.97


def test_bootstrap_worked_numbers():
    rows = np.arange(50)
    share = bootstrap_statistic(
        lambda r: len(np.unique(r)) / 50, rows, 2000, random_state=0
    )
    assert share.mean() == pytest.approx(1 - (1 - 1 / 50) ** 50, abs=0.005)
    x = np.random.default_rng(1).normal(size=200)
    error = bootstrap_statistic(np.mean, x, 2000, random_state=0).std()
    assert error == pytest.approx(x.std() / np.sqrt(200), rel=0.06)
    with pytest.raises(ValueError, match="at least one row"):
        bootstrap_statistic(np.mean, [])


def slow_expected_of_best(losses, draws):
    """Row by row, from given draws."""
    best = losses.mean(0).argmin()
    costs = []
    for rows in draws:
        chosen = losses[rows].mean(0).argmin()
        left = np.setdiff1d(np.arange(len(losses)), rows)
        if len(left):
            costs.append((losses[left, chosen] - losses[left, best]).mean())
    return losses.mean(0)[best] + max(np.mean(costs), 0)


def test_expected_of_best_against_the_slow_way():
    losses = np.random.default_rng(0).random((30, 5))
    draws = np.random.default_rng(1).integers(0, 30, (40, 30))
    expected = slow_expected_of_best(losses, draws)
    assert expected_loss_of_best(losses, 40, random_state=1) == pytest.approx(expected)
    clear = np.column_stack([np.zeros(50), np.ones(50)])
    assert expected_loss_of_best(clear) == 0.0
    assert expected_loss_of_best(clear[:, 1:]) == 1.0  # nothing to pick from
    assert expected_loss_of_best(clear[:1]) == 0.0


def test_expected_of_best_draws_whole_groups():
    """Ten copies of a row say no more than the row: luck stays what it was."""
    rng = np.random.default_rng(0)
    gains = {"rows": [], "copies": [], "groups": []}
    for i in range(40):
        one = (rng.random((40, 10)) < 0.3).astype(float)
        copies, group = np.repeat(one, 10, axis=0), np.repeat(np.arange(40), 10)
        gains["rows"].append(expected_loss_of_best(one, 50, i))
        gains["copies"].append(expected_loss_of_best(copies, 50, i))
        gains["groups"].append(expected_loss_of_best(copies, 50, i, groups=group))
    rows, copies, groups = (np.mean(g) for g in gains.values())
    assert groups == pytest.approx(rows, abs=1e-12)
    assert copies < rows - 0.03  # still lucky


def test_range_against_scipy():
    for df, m, q in [(4, 3, 4.0), (9, 10, 5.0), (24, 2, 3.0), (99, 40, 6.0)]:
        expected = stats.studentized_range.sf(q, m, df)
        assert studentized_range_tail(q, m, df) == pytest.approx(expected, abs=2e-6)


def test_against_best_by_hand():
    t = np.array([3.5, 2.0, 1.0])
    p = 2 * stats.t.sf(t, 24)
    tail = stats.studentized_range.sf(np.sqrt(2) * t[:2], [4, 3], 24)
    expected = np.maximum.accumulate([*tail, p[2]])
    assert np.allclose(
        adjust_against_best(p[[1, 0, 2]], 24), expected[[1, 0, 2]], atol=2e-6
    )
    assert adjust_against_best([0.03], 9).tolist() == [0.03]  # two methods: t itself
    assert adjust_against_best([], 9).tolist() == []
    assert adjust_against_best([0.0, 1.0], 9).tolist() == [0.0, 1.0]


def test_one_clear_sentence():
    for wrong, words in [
        (lambda: corrected_t_test([0.1, np.nan], 0.25), "finite; number 1"),
        (lambda: corrected_interval([1.0, 2.0], -1.0), "ratio must be"),
        (lambda: corrected_interval([1.0, 2.0], 0.2, level=95), "level must be"),
        (lambda: holm_adjust([0.1, np.nan]), "from 0 to 1"),
        (lambda: adjust_against_best([2.0], 9), "from 0 to 1"),
        (lambda: expected_loss_of_best([]), "There are no losses"),
        (lambda: expected_loss_of_best([[1.0, np.inf]]), "losses must be finite"),
        (lambda: expected_loss_of_best([[1.0]], weights=[0.0]), "weights must be"),
        (lambda: expected_loss_of_best([[1.0]], groups=[1, 2]), "groups must have 1"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_a_heavy_tail_is_told_from_normal_errors():
    """Shares of Normal squares: mean 0.08, and above 1/3 in none of 1,000 tables.

    Of 30 rows the largest square has a third of the sum with probability below 2 %;
    of 200 rows the two largest practically never.
    """
    rng = np.random.default_rng(0)
    squares = rng.normal(size=(1_000, 200)) ** 2
    assert not any(tail_of_losses(s).heavy for s in squares)
    amounts = np.exp(2 * rng.normal(size=(200, 250)))
    heavy = np.mean([tail_of_losses((s - s.mean()) ** 2).heavy for s in amounts])
    assert heavy > 0.9
    assert tail_of_losses(np.zeros(5)).share == 0.0


def test_optimism_of_shares_is_what_new_rows_cost():
    """Against the log loss of 20,000 drawn shares on their own rows and on new ones."""
    rng = np.random.default_rng(0)
    p = np.full(4, 0.25)  # of uneven ones rows differ, which the rows tell
    n = 150
    counts = rng.multinomial(n, p, 20_000)
    shares = counts / n
    gap = -(np.log(shares) * (p - shares)).sum(1)
    found = [optimism_of_shares(c) for c in counts[:200]]
    assert np.mean([f.bias for f in found]) == pytest.approx(gap.mean(), rel=0.05)
    assert found[0].variance == pytest.approx(gap.var(), rel=0.2)
    assert optimism_of_shares([1, 0, 9]).bias > 0  # a class of one row
    assert optimism_of_shares([1]) == (0.0, 0.0)
