"""What residuals give away."""

import numpy as np
import pytest

from pansophy.diagnose import residuals


@pytest.fixture
def p(rng):
    return rng.uniform(0, 10, 800)


def test_clean_residuals_are_not_flagged():
    shapes = ["normal", "laplace", "uniform"]
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.normal(size=400)
        for shape in shapes:
            r = getattr(rng, shape)(-1 if shape == "uniform" else 0, 1, 400)
            wrong += len(residuals(p + r, p, time=np.arange(400)).flags)
    assert wrong <= 8  # of 60 runs of 5 tests


def test_planted_errors_are_flagged(p, rng):
    e = rng.normal(size=len(p))
    planted = {
        "offset": p + e + 0.5,
        "two humps": p + rng.choice([-2.0, 2.0], len(p)) + 0.5 * e,
        "uneven spread": p + 0.3 * p * e,
        "curve": p + e + 0.2 * (p - 5) ** 2 - 5 / 3,
    }
    for flag, y in planted.items():
        report = residuals(y, p)
        assert flag in report.flags, flag
        assert all(
            f.kind in str(report) or f.text in str(report) for f in report.findings
        )
    assert "too low by 0.4" in residuals(planted["offset"], p).findings[0].text[:40]
    walk = np.empty(len(p))
    walk[0] = e[0]
    for t in range(1, len(p)):
        walk[t] = 0.7 * walk[t - 1] + e[t]
    mixed = rng.permutation(len(p))
    assert "memory" in residuals((p + walk)[mixed], p[mixed], time=mixed).flags
    assert "memory" not in residuals((p + walk)[mixed], p[mixed]).flags


def test_intervals_narrow_with_the_root_of_n(rng):
    widths = []
    for n in (400, 1600, 6400):
        r = residuals(rng.normal(size=n), np.zeros(n))
        widths.append([v.high - v.low for v in (r.rmse, r.mae, r.mean)])
        assert r.rmse.low < 1 < r.rmse.high and r.counts.sum() == n
    ratio = np.divide(widths[:-1], widths[1:])
    np.testing.assert_allclose(ratio, 2, rtol=0.15)


def test_defined_answers(rng):
    same = residuals(np.ones(20), np.zeros(20))
    assert same.flags == ("offset",) and same.rmse.mean == 1
    assert residuals(np.zeros(20), np.zeros(20)).flags == ()
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            residuals([1, 2, bad], [1, 2, 3])
    with pytest.raises(ValueError, match="3 rows"):
        residuals([1, 2], [1, 2])
