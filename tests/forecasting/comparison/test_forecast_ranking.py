"""The ranking: a difference is found, chance is not."""

import numpy as np

from pansophy.compare.evaluation.ranking import Standing
from pansophy.forecasting.comparison.forecast_ranking import (
    MethodErrors,
    estimate_skills,
    rank_forecasters,
    series_errors,
    skill_interval,
)

DETAILS = (0.0, 0.8, 0.1, 0)


def errors_of(rng, factors, s=40, origins=3, h=4):
    """Errors with a part that all methods share."""
    common = rng.normal(0, 1, (origins, s, h))
    out = {}
    for name, factor in factors.items():
        e = factor * (common + 0.7 * rng.normal(0, 1, common.shape))
        out[name] = MethodErrors(np.abs(e), e)
    return out


def moments_of(origins=3, s=40, h=4):
    t = np.arange(origins)[:, None, None] * h + np.arange(h)
    return np.broadcast_to(t, (origins, s, h))


def test_a_better_method_is_first_and_others_are_worse(rng):
    errors = errors_of(rng, {"seasonal naive": 1.0, "good": 0.6, "bad": 1.5})
    details = dict.fromkeys(errors, DETAILS)
    rows = rank_forecasters(errors, "seasonal naive", moments_of(), details)
    assert [r.method for r in rows] == ["good", "seasonal naive", "bad"]
    assert rows[0].standing is Standing.BEST and rows[1].standing is Standing.WORSE
    assert abs(rows[0].skill.mean - 0.4) < 0.06
    assert rows[0].skill.low < rows[0].skill.mean < rows[0].skill.high
    assert rows[1].skill.mean == 0


def test_few_series_are_compared_along_time(rng):
    factors = {"seasonal naive": 1.0, "good": 0.4}
    errors = errors_of(rng, factors, s=1, origins=20, h=4)
    found, ratios = estimate_skills(errors, "seasonal naive", moments_of(20, 1, 4))
    assert found.kind == "along time" and len(ratios) == 1
    rows = rank_forecasters(
        errors, "seasonal naive", moments_of(20, 1, 4), dict.fromkeys(errors, DETAILS)
    )
    assert rows[0].method == "good" and rows[1].standing is Standing.WORSE
    assert np.isnan(rows[0].skill.low)


def test_equal_methods_are_rarely_called_different():
    factors = {"seasonal naive": 1.0, "a": 1.0, "b": 1.0}
    different = 0
    for seed in range(60):
        errors = errors_of(np.random.default_rng(seed), factors, s=25)
        rows = rank_forecasters(
            errors, "seasonal naive", moments_of(s=25), dict.fromkeys(errors, DETAILS)
        )
        different += any(r.standing is Standing.WORSE for r in rows)
    assert different <= 7  # 3 expected at 5 %; more than 7 have a chance below 2 %


def test_the_same_forecasts_are_tied(rng):
    errors = errors_of(rng, {"seasonal naive": 1.0})
    errors["again"] = errors["seasonal naive"]
    rows = rank_forecasters(
        errors, "seasonal naive", moments_of(), dict.fromkeys(errors, DETAILS)
    )
    assert rows[1].standing is Standing.TIED
    assert series_errors(errors["again"]).shape == (40,)
    assert np.isnan(skill_interval(np.zeros(1)).low)
