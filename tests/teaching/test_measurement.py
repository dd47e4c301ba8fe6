"""Measurement risk follows Bayes' rule."""

import numpy as np
import pytest

from pansophy.teaching import measurement_risk


def test_measurement_risk_is_bayes_rule(rng):
    q, sens, spec = 0.03, 0.92, 0.85
    risk = measurement_risk(q, sens, spec, cost_miss=10)
    positive = q * sens + (1 - q) * (1 - spec)
    assert risk.says_yes == pytest.approx(positive)
    assert risk.yes_is_right == pytest.approx(q * sens / positive)
    assert risk.no_is_right == pytest.approx((1 - q) * spec / (1 - positive))
    assert risk.wrong == pytest.approx(q * (1 - sens) + (1 - q) * (1 - spec))
    assert risk.cost == pytest.approx(risk.false_alarm + 10 * risk.miss)
    assert "false alarms" in str(risk)
    assert measurement_risk(q, 1, 1).wrong == 0
    # a perfect measurement of the wrong thing errs as the proxy does
    wrong = measurement_risk(0.5, 1, 1, proxy=(0.8, 0.1))
    assert wrong.wrong == pytest.approx(0.5 * 0.2 + 0.5 * 0.1)
    # against draws
    W = rng.random(200_000) < 0.2
    T = rng.random(W.size) < np.where(W, 0.7, 0.2)
    yes = rng.random(W.size) < np.where(T, 0.9, 0.1)
    made = measurement_risk(0.2, 0.9, 0.9, proxy=(0.7, 0.2))
    assert made.yes_is_right == pytest.approx(W[yes].mean(), abs=0.01)
    assert made.wrong == pytest.approx(np.mean(yes != W), abs=0.01)
    with pytest.raises(ValueError, match="sensitivity"):
        measurement_risk(0.1, 1.2, 0.5)
