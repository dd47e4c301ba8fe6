"""Platt's sigmoid and temperature scaling: optimality, weights, separated scores."""

import numpy as np
import pytest
from scipy.special import expit

from pansophy.core.score_calibration import (
    fit_inverse_temperature,
    fit_platt_sigmoid,
    scale_temperature,
)


def test_sigmoid_solves_its_equations(rng):
    f = 3 * rng.standard_normal(200) + 1
    happened = rng.random(200) < expit(0.8 * f - 0.5)
    w = rng.integers(0, 3, 200).astype(float)
    a, c = fit_platt_sigmoid(f, happened, w)
    up, down = w[happened].sum(), w[~happened].sum()
    target = np.where(happened, (up + 1) / (up + 2), 1 / (down + 2))
    left = w * (expit(a * f + c) - target)
    np.testing.assert_allclose([left.sum(), left @ f], 0, atol=1e-5)
    index = np.repeat(np.arange(200), w.astype(int))
    again = fit_platt_sigmoid(f[index], happened[index], np.ones(len(index)))
    assert (a, c) == pytest.approx(again)


def test_separated_scores_and_scores_of_any_size_stay_finite():
    f = np.array([-1.0, -1.0, 1.0, 1.0])
    a, c = fit_platt_sigmoid(f, f > 0, np.ones(4))
    assert expit(a + c) == pytest.approx(3 / 4)  # (N + 1) / (N + 2) of two rows
    tiny = fit_platt_sigmoid(1e-200 * f, f > 0, np.ones(4))
    assert tiny[0] == pytest.approx(a * 1e200)


def test_a_falling_score_can_be_ignored():
    f = np.array([2.0, 1.0, -1.0, -2.0])
    assert fit_platt_sigmoid(f, f < 0, np.ones(4))[0] < 0
    a, c = fit_platt_sigmoid(f, f < 0, np.ones(4), rising=True)
    assert a == 0 and expit(c) == pytest.approx(0.5)


def test_temperature_undoes_overconfidence(rng):
    p = rng.dirichlet(np.ones(3), 20_000)
    y = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    sharp = scale_temperature(p, 2.0)
    np.testing.assert_allclose(sharp, p**2 / (p**2).sum(axis=1, keepdims=True))
    b = fit_inverse_temperature(sharp, y, np.ones(len(y)))
    assert b == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(scale_temperature(sharp, 0.5), p, atol=1e-6)
    assert np.isfinite(scale_temperature(np.array([[1.0, 0.0]]), 100.0)).all()
