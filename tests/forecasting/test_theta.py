"""Theta methods against obvious versions of their equations."""

import numpy as np
from scipy.optimize import minimize_scalar

from pansophy.forecasting import DynamicTheta, Theta


def slow_theta(y, horizon):
    """Eqs. (1)-(3): half a line, half exponential smoothing of twice the curvature."""
    n = len(y)
    t = np.arange(1, n + 1)
    b, a = np.polyfit(t, y, 1)
    x = 2 * y - (a + b * t)

    def smoothed(alpha):
        """Errors are linear in the first level: c - B l."""
        A, B, rows = 0.0, 1.0, []
        for v in x:
            rows.append((v - A, B))
            A, B = A + alpha * (v - A), B * (1 - alpha)
        c, B = np.array(rows).T
        first = (c @ B) / (B @ B)
        return ((c - B * first) ** 2).sum(), A + (1 - alpha) ** n * first

    best = minimize_scalar(
        lambda alpha: smoothed(alpha)[0], bounds=(1e-4, 0.9999), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    level = smoothed(best.x)[1]
    ahead = n + np.arange(1, horizon + 1)
    return 0.5 * level + 0.5 * (a + b * ahead)


def slow_dynamic(y, alpha, first, theta, horizon):
    """Eqs. (4)-(6), and the fitted values."""
    w = 1 - 1 / theta
    level, mean, A, B = first, 0.0, 0.0, 0.0
    out = []
    for t in range(1, len(y) + horizon + 1):
        decay = (1 - alpha) ** (t - 1)
        mu = level + w * (decay * A + (1 - (1 - alpha) ** t) / alpha * B)
        value = y[t - 1] if t <= len(y) else mu
        out.append(mu)
        level = alpha * value + (1 - alpha) * level
        B = ((t - 2) * B + 6 * (value - mean) / t) / (t + 1) if t > 1 else 0.0
        mean = ((t - 1) * mean + value) / t
        A = mean - B * (t + 1) / 2
    return np.array(out[: len(y)]), np.array(out[len(y) :])


def test_standard_theta(rng):
    y = 30 + np.cumsum(rng.normal(0.3, 1, 40))
    np.testing.assert_allclose(
        Theta().fit(y).predict(5).mean, slow_theta(y, 5), rtol=1e-4
    )


def test_dynamic_theta_runs_its_equations(rng):
    y = 30 + np.cumsum(rng.normal(0.3, 1, 40))
    model = DynamicTheta().fit(y)
    alpha, first, theta = (
        v[0] for v in (model.fits_.alpha, model.fits_.initial, model.fits_.theta)
    )
    fitted, ahead = slow_dynamic(y, alpha, first, theta, 5)
    np.testing.assert_allclose(model.fits_.fitted, fitted)
    np.testing.assert_allclose(model.predict(5).mean, ahead)
    error = ((y - fitted)[2:] ** 2).sum()
    for a in np.linspace(0.05, 0.95, 10):  # no coarse grid does better
        for th in (1.0, 1.5, 2.0, 4.0, 10.0):
            for l0 in (y[0], y[0] / 2, first):
                other, _ = slow_dynamic(y, a, l0, th, 0)
                assert error <= ((y - other)[2:] ** 2).sum() * (1 + 1e-6)


def test_a_line_in_the_mean_of_two_slopes():
    y = 5 + 2.0 * np.arange(20)
    found = DynamicTheta().fit(y).predict(3).mean
    np.testing.assert_allclose(found, 45 + 2 * np.arange(3), rtol=0.02)


def test_seasons_come_back():
    t = np.arange(60)
    y = (50 + 0.5 * t) * np.tile([1.2, 0.9, 1.0, 0.9], 15)
    for cls in (Theta, DynamicTheta):
        model = cls(4).fit(y)
        assert model.season_.found.all()
        found = model.predict(4).mean / (80 + 0.5 * np.arange(4))
        np.testing.assert_allclose(found, [1.2, 0.9, 1.0, 0.9], rtol=0.02)
        plain = cls(4, adjustment="none").fit(y)
        assert not plain.season_.found.any()
        assert set(model.components()) == {"fitted", "adjusted", "seasonal"}
