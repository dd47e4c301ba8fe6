"""Learning and complexity curves."""

import numpy as np

from pansophy import diagnose, plot
from pansophy.linear_model import Ridge


def test_learning_and_complexity_curves(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    curve = diagnose.learning_curve(Ridge(), X, y)
    ax = plot.learning_curve(curve, score="$R^2$")
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), curve.sizes)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.test.mean(1))
    assert curve.verdict in ax.get_title() and ax.get_ylabel() == "$R^2$"
    values = [100.0, 1.0, 0.01]
    ax = plot.learning_curve(diagnose.complexity_curve(Ridge(), X, y, "alpha", values))
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "alpha"
    named = diagnose.complexity_curve(Ridge(), X, y, "fit_intercept", [False, True])
    assert len(plot.learning_curve(named).lines) >= 3
