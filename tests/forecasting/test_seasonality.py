"""The classical decomposition and its test, against an obvious version."""

import numpy as np
import pytest

from pansophy.forecasting.panel import as_panel
from pansophy.forecasting.seasonality import (
    positive_series,
    season_of,
    seasonal_adjustment,
)


def slow_indices(y, m, ratio):
    """Eq. (2), one step after the other."""
    weights = np.r_[0.5, np.ones(m - 1), 0.5] / m if m % 2 == 0 else np.ones(m) / m
    half = m // 2
    around = [[] for _ in range(m)]
    for t in range(half, len(y) - half):
        trend = weights @ y[t - half : t + half + 1]
        around[t % m].append(y[t] / trend if ratio else y[t] - trend)
    means = np.array([np.mean(a) for a in around])
    return means / means.mean() if ratio else means - means.mean()


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("kind", ["multiplicative", "additive"])
def test_indices(m, kind, rng):
    t = np.arange(11 * m)
    y = 50 + t + 9 * np.cos(2 * np.pi * t / m) + rng.normal(0, 1, len(t))
    found = seasonal_adjustment(as_panel(y), m, kind=kind)
    assert found.found.all()
    np.testing.assert_allclose(
        found.indices[0], slow_indices(y, m, kind == "multiplicative")
    )
    removed = found.removed(as_panel(y))
    mean = removed[-1:] * np.ones((1, 5))
    restored = found.restored(mean, np.array([len(y)]))[0]
    assert abs(restored[m - 1] - y[-1]) < 1e-9  # one season after the last value


def test_noise_has_no_season(rng):
    noise = [rng.normal(100, 5, 60) for _ in range(300)]
    found = seasonal_adjustment(as_panel(noise), 12).found
    assert found.mean() < 0.16  # a test at 90 %
    assert not seasonal_adjustment(as_panel(np.ones(40)), 4).found.any()
    assert season_of(as_panel(noise), 7) == 7
    assert positive_series(as_panel(noise)).all()


def test_gaps_keep_the_season(rng):
    t = np.arange(96)
    y = 50 + 0.1 * t + 9 * np.cos(2 * np.pi * t / 12)
    whole = seasonal_adjustment(as_panel(y), 12).indices
    y[rng.choice(96, 12, replace=False)] = np.nan
    found = seasonal_adjustment(as_panel(y), 12)
    assert found.found.all()
    np.testing.assert_allclose(found.indices, whole, atol=0.01)


def test_ratios_need_positive_values():
    with pytest.raises(ValueError, match="above 0"):
        seasonal_adjustment(as_panel([1.0, -1.0]), 2, kind="multiplicative")
