"""Adaptive rejection sampling of log-concave densities."""

import numpy as np
import pytest
from scipy import stats

from pansophy.sampling import (
    EnvelopeError,
    adaptive_rejection,
)


def kolmogorov(x, cdf):
    return stats.kstest(x, cdf).statistic


def test_adaptive_rejection():
    run = adaptive_rejection(lambda x: -0.5 * x**2, 30_000, random_state=0)
    assert run.acceptance > 0.99
    assert kolmogorov(run.draws, stats.norm.cdf) < 0.0135
    assert abs(run.log_z - 0.5 * np.log(2 * np.pi)) < 0.01
    shape = lambda x: 2 * np.log(x) - 3 * x
    slope = lambda x: 2 / x - 3
    run = adaptive_rejection(
        shape, 20_000, init=[0.5], grad=slope, support=(0, np.inf), random_state=0
    )
    assert kolmogorov(run.draws, stats.gamma(3, scale=1 / 3).cdf) < 0.0165
    cut = adaptive_rejection(
        lambda x: 3 * x, 20_000, init=[0.5], support=(0, 1), random_state=0
    )
    exact = lambda x: np.expm1(3 * x) / np.expm1(3)
    assert kolmogorov(cut.draws, exact) < 0.0165


def test_adaptive_rejection_sees_what_is_not_concave():
    hills = lambda x: np.logaddexp(-0.5 * (x - 3) ** 2, -0.5 * (x + 3) ** 2)
    with pytest.raises(ValueError, match="not concave"):
        adaptive_rejection(hills, 100, init=[-3.5, -1, 1, 3.5], random_state=0)
    with pytest.raises(ValueError, match="above its tangent"):  # though slopes fall
        adaptive_rejection(hills, 100, init=[-3.5, 0, 3.5], random_state=0)
    tails = lambda x: -np.log1p(x**2)  # concave in the middle only
    with pytest.raises(EnvelopeError, match="not log-concave"):
        adaptive_rejection(tails, 2000, init=[-0.5, 0.5], random_state=0)
    with pytest.raises(ValueError, match="does not fall"):
        adaptive_rejection(lambda x: x, 10)
