"""Corrected tests, adjusted p values, intervals: numbers, and the null simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import RepeatedStratifiedKFold

from pansophy.compare import (
    bootstrap,
    corrected_interval,
    corrected_t,
    error_interval,
    expected_of_best,
    holm,
)


def test_corrected_t_by_hand():
    d = np.array([1.0, 2.0, 3.0, 4.0])
    t, p = corrected_t(d, ratio=1 / 3)
    v = (1 / 4 + 1 / 3) * d.var(ddof=1)
    assert t == pytest.approx(2.5 / np.sqrt(v))
    assert p == pytest.approx(2 * stats.t.sf(t, 3))


def test_corrected_t_without_correction_is_the_ordinary_one():
    d = np.random.default_rng(0).normal(0.3, 1, 20)
    expected = stats.ttest_1samp(d, 0)
    t, p = corrected_t(d, ratio=0)
    assert (t, p) == pytest.approx((expected.statistic, expected.pvalue))


def test_constant_differences():
    assert corrected_t([0.0, 0.0, 0.0], 0.25) == (0.0, 1.0)
    t, p = corrected_t([-1.0, -1.0], 0.25)
    assert t == -np.inf and p == 0.0
    with pytest.raises(ValueError, match="two scores"):
        corrected_t([1.0], 0.25)


def test_interval_by_hand():
    s = [1.0, 2.0, 3.0]
    i = corrected_interval(s, ratio=0.5, level=0.9)
    reach = stats.t.ppf(0.95, 2) * np.sqrt((1 / 3 + 0.5) * 1.0)
    assert (i.mean, i.low, i.high) == pytest.approx((2.0, 2 - reach, 2 + reach))


def test_holm_by_hand():
    assert holm([]).tolist() == []
    assert holm([0.2]).tolist() == [0.2]
    p = [0.010, 0.013, 0.014, 0.190, 0.350, 0.500, 0.630, 0.670, 0.750, 0.810]
    expected = [0.10, 0.117, 0.117, *[1.0] * 7]
    assert np.allclose(holm(p), expected)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_keeps_order_and_only_raises(p):
    adjusted = holm(p)
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
    share = bootstrap(lambda r: len(np.unique(r)) / 50, rows, 2000, random_state=0)
    assert share.mean() == pytest.approx(1 - (1 - 1 / 50) ** 50, abs=0.005)
    x = np.random.default_rng(1).normal(size=200)
    error = bootstrap(np.mean, x, 2000, random_state=0).std()
    assert error == pytest.approx(x.std() / np.sqrt(200), rel=0.06)
    with pytest.raises(ValueError, match="at least one row"):
        bootstrap(np.mean, [])


def test_expected_of_best_takes_luck_off():
    rng = np.random.default_rng(0)
    gain, true = [], 0.3
    for _ in range(30):
        losses = (rng.random((200, 20)) < true).astype(float)  # equally good methods
        lucky = losses.mean(0).min()
        fair = expected_of_best(losses, 100, random_state=0)
        assert fair >= lucky
        gain.append((true - lucky, fair - lucky))
    bias, corrected = np.mean(gain, axis=0)
    assert bias > 0.04 and corrected > 0.5 * bias
    clear = np.column_stack([np.zeros(50), np.ones(50)])
    assert expected_of_best(clear) == 0.0


def halves(X, y, train, test):
    """Accuracy of two nearest-centroid rules on disjoint halves of the columns."""
    out = []
    for part in (slice(0, 4), slice(4, 8)):
        A, b = X[train, part], y[train]
        one, zero = A[b == 1].mean(0), A[b == 0].mean(0)
        w = one - zero
        hit = (X[test, part] @ w > w @ (one + zero) / 2) == (y[test] == 1)
        out.append(hit.mean())
    return out


def test_null_simulation():
    """Two equally good methods: declared different about as often as promised."""
    rng = np.random.default_rng(0)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    y = np.arange(100) % 2
    splits = list(folds.split(y[:, None], y))
    honest, naive, covered = [], [], []
    for _ in range(300):
        X = rng.normal(size=(100, 8)) + 0.35 * (y[:, None] - 0.5)
        s = np.array([halves(X, y, *fold) for fold in splits])
        d = s[:, 0] - s[:, 1]
        honest.append(corrected_t(d, 1 / 4)[1] < 0.05)
        naive.append(stats.ttest_1samp(d, 0).pvalue < 0.05 if d.any() else False)
        fresh = rng.normal(size=(2000, 8)) + 0.35 * (np.arange(2000)[:, None] % 2 - 0.5)
        both = np.r_[X, fresh], np.r_[y, np.arange(2000) % 2]
        truth = halves(*both, np.arange(100), np.arange(100, 2100))[0]
        i = corrected_interval(s[:, 0], 1 / 4)
        covered.append(i.low <= truth <= i.high)
    assert 0.01 <= np.mean(honest) <= 0.09
    assert 0.90 <= np.mean(covered) <= 0.99
    assert np.mean(naive) > 0.25  # what the correction is for
