"""Intervals over rows, McNemar, paired bootstrap, and methods on a test file."""

import numpy as np
import pytest
from scipy import stats

from pansophy.compare import (
    mcnemar_test,
    paired_bootstrap,
    row_interval,
)


def test_normal_interval_by_hand(rng):
    x = rng.exponential(size=50)
    i = row_interval(x, method="normal")
    reach = stats.t.ppf(0.975, 49) * x.std(ddof=1) / np.sqrt(50)
    assert i[:3] == pytest.approx((x.mean(), x.mean() - reach, x.mean() + reach))
    two = np.column_stack([x, x + 1])  # repeats are averaged
    assert row_interval(two, method="normal").mean == pytest.approx(x.mean() + 0.5)


def test_bca_is_scipys(rng):
    x = rng.exponential(size=60)
    ours = row_interval(x, method="bca", random_state=1)
    theirs = stats.bootstrap(
        (x,), np.mean, n_resamples=2000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs), rel=0.02)
    assert ours.high - ours.mean > ours.mean - ours.low  # it leans to the long tail


def test_groups_are_the_rows(rng):
    """Copies in a group change nothing; weights k are k copies in a group."""
    x, code = rng.normal(size=40), np.arange(40)
    plain = row_interval(x, method="normal")
    copies = row_interval(np.repeat(x, 3), method="normal", groups=np.repeat(code, 3))
    assert copies == pytest.approx(plain)
    k = rng.integers(1, 4, 40)
    many = row_interval(np.repeat(x, k), method="normal", groups=np.repeat(code, k))
    assert row_interval(x, method="normal", weights=k) == pytest.approx(many)
    bca = row_interval(np.repeat(x, 3), groups=np.repeat(code, 3))
    assert bca == pytest.approx(row_interval(x))


@pytest.mark.parametrize("how", ["bca", "normal"])
def test_row_interval_covers(how):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 3)
    inside = []
    for i in range(200):
        x = rng.exponential(size=30)[group] + rng.exponential(size=90)
        found = row_interval(
            x, method=how, groups=group, n_resamples=500, random_state=i
        )
        inside.append(found.low <= 2 <= found.high)
    assert 0.89 <= np.mean(inside) <= 0.98


def test_row_interval_bad_input():
    assert row_interval([1.0, 1.0, 1.0])[:3] == (1.0, 1.0, 1.0)
    for wrong, words in [
        (lambda: row_interval([1.0]), "two rows"),
        (lambda: row_interval([1.0, 2.0], groups=[1, 1]), "two rows"),
        (lambda: row_interval([1.0, np.nan]), "finite"),
        (lambda: row_interval([1.0, 2.0], method="t"), "method must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_mcnemar_against_statsmodels(rng):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for _ in range(10):
        a, b = rng.random((2, 50)) < [[0.7], [0.6]]
        table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
        exact = tables.mcnemar(np.array(table), exact=True).pvalue
        ours = mcnemar_test(a, b, "exact")
        assert ours.p == pytest.approx(exact)
        mid = exact - stats.binom.pmf(min(ours[:2]), sum(ours[:2]), 0.5)
        if ours.first != ours.second:
            assert mcnemar_test(a, b).p == pytest.approx(mid)


def test_mcnemar_edges():
    assert mcnemar_test([1, 0], [1, 0]).p == 1.0
    assert mcnemar_test([1, 0], [0, 1]) == pytest.approx(
        (1, 1, 1.0)
    )  # as many each way
    with pytest.raises(ValueError, match="same rows"):
        mcnemar_test([1], [1, 0])
    with pytest.raises(ValueError, match="missing"):
        mcnemar_test([1, np.nan], [1, 0])


def test_mcnemar_and_bootstrap_keep_their_level():
    rng = np.random.default_rng(0)
    mid, exact, boot = [], [], []
    for i in range(300):
        a, b = rng.random((2, 80)) < 0.7
        mid.append(mcnemar_test(a, b).p < 0.05)
        exact.append(mcnemar_test(a, b, "exact").p < 0.05)
        d = paired_bootstrap(a * 1.0, b * 1.0, n_resamples=400, random_state=i)
        boot.append(d.p < 0.05)
    assert np.mean(exact) <= np.mean(mid) <= 0.08
    assert 0.02 <= np.mean(boot) <= 0.09


def test_paired_bootstrap(rng):
    a, b = rng.normal(size=(2, 100))
    d = paired_bootstrap(a, b)
    assert d.mean == pytest.approx((a - b).mean())
    error = (a - b).std() / 10
    assert (d.high - d.low) == pytest.approx(2 * 1.96 * error, rel=0.08)
    assert paired_bootstrap(a, a) == (0.0, 0.0, 0.0, 1.0)
    back = paired_bootstrap(b, a)
    assert (back.mean, back.low) == pytest.approx((-d.mean, -d.high), rel=0.1)
    with pytest.raises(ValueError, match="same rows"):
        paired_bootstrap(a, b[:5])
