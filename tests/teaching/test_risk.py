"""Risk in a simulated world."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.teaching import optimism, sample_error, true_risk


def line(n, rng):
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, x[:, 0] + 0.5 * rng.normal(size=n)


def sides(n, rng):
    x = rng.normal(size=(n, 1))
    return x, np.where(rng.random(n) < 0.2, x[:, 0] < 0, x[:, 0] > 0).astype(int)


def test_training_flatters_more_with_freedom():
    found = []
    for degree in (1, 4, 8):
        model = make_pipeline(
            PolynomialFeatures(degree, include_bias=False), LinearRegression()
        )
        found.append(optimism(model, line, 40, repeats=150, n_true=500, random_state=2))
    assert all(o.optimism.low > 0 and o.train < 0.25 < o.true for o in found)
    gaps = [o.optimism.mean for o in found]
    assert gaps[0] < gaps[1] < gaps[2]
    # linear models of d + 1 weights: about 2 sigma^2 (d + 1) / n
    assert gaps[0] == pytest.approx(2 * 0.25 * 2 / 40, abs=0.01)
    assert all(o.test_bias.low < 0 < o.test_bias.high for o in found)
    assert "flatters" in str(found[0])


def test_spread_of_an_error_rate():
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    risk = true_risk(model, sides, random_state=1)
    assert risk.risk == pytest.approx(0.2, abs=4 * risk.error)
    found = sample_error(model, sides, 50, repeats=800, n_true=20_000, random_state=0)
    assert found.mean == pytest.approx(0.2, abs=0.01)
    assert found.expected_variance == pytest.approx(0.2 * 0.8 / 50, rel=0.05)
    assert found.variance == pytest.approx(0.2 * 0.8 / 50, rel=0.2)
    with pytest.raises(ValueError, match="loss must"):
        true_risk(model, sides, loss="cubic")
