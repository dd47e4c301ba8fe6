"""Errors are attributed to the faulty stage of a pipeline."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pansophy.linear_model import LinearRegression
from pansophy.teaching import attribute_error


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
