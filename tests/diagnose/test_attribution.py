"""Errors of stages and of measurements."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pansophy.diagnose import attribute_error, measurement_risk
from pansophy.linear_model import LinearRegression


def test_a_faulty_stage_gets_the_error(rng):
    x = rng.normal(size=50)
    stages = [
        ("clean", lambda v: v),
        ("broken", lambda v: 2 * v + 0.5),  # should be 2 v
        ("shift", lambda v: v + 1),
    ]
    truths = {"clean": x, "broken": 2 * x}
    a = attribute_error(stages, x, 2 * x + 1, truths)
    assert a.worst == "broken" and a.error == pytest.approx(0.25)
    np.testing.assert_allclose(a.added, [0, 0.25, 0], atol=1e-12)
    assert a.remaining[0] == a.error  # replacing a perfect stage changes nothing
    some = attribute_error(stages, x, 2 * x + 1, {"broken": 2 * x}, loss="absolute")
    assert some.stages == ("clean + broken", "shift")
    assert some.added.sum() == pytest.approx(some.error)
    assert "broken: 0.25 (100%)" in str(a)
    with pytest.raises(ValueError, match="no stage"):
        attribute_error(stages, x, x, {"typo": x})
    with pytest.raises(ValueError, match="loss must"):
        attribute_error(stages, x, x, {}, loss="cubic")


def test_pipelines_of_estimators(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    truth = pipe[:-1].transform(X)
    a = attribute_error(pipe, X, y, {"standardscaler": truth})
    assert a.worst == "linearregression" and a.added[0] == 0
    assert a.error == pytest.approx(np.mean((y - pipe.predict(X)) ** 2))


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
