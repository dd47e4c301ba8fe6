"""Rejection sampling: acceptance rate and invalid envelopes."""

import numpy as np
import pytest
from scipy import stats

from pansophy.sampling import (
    EnvelopeError,
    rejection_sample,
)


def kolmogorov(x, cdf):
    return stats.kstest(x, cdf).statistic


def test_rejection_rate_is_z_over_k():
    """p' = x (1 - x): Z = 1/6; the best k is 1/4, and twice that halves the rate."""
    target = lambda x: np.log(x * (1 - x))
    for k in (0.25, 0.5):
        how = {"log_k": np.log(k), "random_state": 0}
        run = rejection_sample(target, stats.uniform(), 20_000, **how)
        rate = 1 / 6 / k
        error = np.sqrt(rate * (1 - rate) / run.proposals)
        assert abs(run.acceptance - rate) < 4.5 * error
        assert abs(run.log_z - np.log(1 / 6)) < 4.5 * run.log_z_error
        assert kolmogorov(run.draws, stats.beta(2, 2).cdf) < 0.0165


def test_envelope_violation_raises_with_place_and_ratio():
    target = lambda x: -0.5 * x[:, 0] ** 2
    with pytest.raises(EnvelopeError, match="times its envelope at") as info:
        rejection_sample(target, [(-3, 3)], 1000, log_k=0.0, random_state=0)
    place, ratio = info.value.place, info.value.ratio
    assert ratio == pytest.approx(6 * np.exp(-0.5 * place[0] ** 2)) and ratio > 5
    with pytest.raises(ValueError, match="too far above"):
        rejection_sample(target, [(-3, 3)], 10, log_k=30.0, random_state=0)
