"""Exponential smoothing against R's results, which statsmodels ships."""

import json
from pathlib import Path

import numpy as np
import pytest

from pansophy.forecasting import ExponentialSmoothing
from pansophy.forecasting import _exponential_smoothing as loops
from pansophy.forecasting.exponential_smoothing import Form, possible_forms

CODES = {"N": 0, "A": 1, "M": 2}


def results_of_r():
    """(id, damped, name, m, results) of every fit of R's `ets`."""
    statsmodels = pytest.importorskip("statsmodels")
    folder = Path(statsmodels.__file__).parent / "tsa" / "tests" / "results"
    out = []
    for kind, m in (("seasonal", 4), ("nonseasonal", 1)):
        file = folder / f"fit_ets_results_{kind}.json"
        if not file.is_file():
            pytest.skip("statsmodels is installed without its tests")
        for damped, models in json.loads(file.read_text()).items():
            out += [(damped == "TRUE", k, m, v) for k, v in models.items() if v]
    return out


def numbers(values):
    return np.array([np.nan if v == "NaN" else v for v in values], float)


def test_likelihoods_states_and_forecasts_of_r():
    """At R's weights and first states; its numbers have eight digits."""
    cases = results_of_r()
    assert len(cases) >= 15
    for damped, name, m, r in cases:
        form = Form(CODES[name[0]], CODES[name[1]], int(damped), CODES[name[2]])
        fitted = np.array(r["fitted"])
        residuals = np.array(r["residuals"])
        y = fitted + residuals if form.error == 1 else fitted * (1 + residuals)
        first = np.array(r["initstate"])
        initial = np.zeros(2 + m)
        initial[0] = first[0]
        initial[1] = first[1] if form.trend else 0.0
        if form.seasonal:
            initial[2:] = first[1 + (form.trend > 0) :][::-1]
        weights = np.array(
            [numbers(r[k])[0] for k in ("alpha", "beta", "gamma", "phi")]
        )
        weights = np.where(np.isnan(weights), [0, 0, 0, 1], weights)
        zero = np.zeros(1)
        fits = loops.SmoothingFits(
            np.array([form], np.int64), weights[None], initial[None],
            np.zeros((1, 2 + m)), zero.copy(), zero.copy(), zero.copy(),
            np.empty(len(y)),
        )  # fmt: skip
        offsets = np.array([0, len(y)])
        loops.run_forms(y, offsets, m, fits)
        label = f"{form} {'damped' if damped else ''}"
        np.testing.assert_allclose(fits.fitted, fitted, rtol=1e-6, err_msg=label)
        np.testing.assert_allclose(fits.loglik[0], r["loglik"][0], atol=1e-5)
        np.testing.assert_allclose(fits.sigma[0] ** 2, r["sigma2"][0], rtol=1e-5)
        states = np.array(r["states"]).reshape(len(y) + 1, -1)
        level, slope, season = (np.empty(len(y)) for _ in range(3))
        loops.smoothed_states(y, offsets, m, fits, level, slope, season)
        np.testing.assert_allclose(level, states[1:, 0], rtol=1e-6, err_msg=label)
        if form.trend:
            np.testing.assert_allclose(slope, states[1:, 1], atol=1e-6)
        if form.seasonal:
            np.testing.assert_allclose(
                season, states[1:, 1 + (form.trend > 0)], atol=1e-6, err_msg=label
            )
        ahead = np.empty((1, 4))
        loops.forecast_forms(np.array([len(y)]), m, fits, ahead)
        # R gives the exact mean of what multiplies, here without errors
        close = 1e-3 if 2 in (form.trend, form.seasonal) else 1e-6
        np.testing.assert_allclose(ahead[0], r["forecast"], rtol=close, err_msg=label)


def test_searches_reach_the_likelihood_of_r():
    for damped, name, m, r in results_of_r():
        if name not in ("AAA", "MAM", "AAN", "MAN"):
            continue
        fitted, residuals = np.array(r["fitted"]), np.array(r["residuals"])
        y = fitted + residuals if name[0] == "A" else fitted * (1 + residuals)
        words = {"A": "add", "M": "mul", "N": None}
        model = ExponentialSmoothing(
            words[name[0]], words[name[1]], damped=damped, seasonal=words[name[2]],
            season_length=m, initial_seasons="learned",
        ).fit(y)  # fmt: skip
        assert model.fits_.loglik[0] > r["loglik"][0] - 1.0


def test_thirty_forms():
    forms = {
        str(f)
        for error in ("add", "mul")
        for trend in (None, "add", "mul")
        for seasonal in (None, "add", "mul")
        for damped in ((False, True) if trend else (False,))
        for f in possible_forms(error, trend, damped, seasonal)
    }
    assert len(forms) == 30
    automatic = {str(f) for f in possible_forms("auto", "auto", "auto", "auto")}
    assert "AAM" not in automatic and "MAdM" in automatic and len(automatic) == 15


@pytest.mark.parametrize("damped", [False, True])
def test_every_form_forecasts(damped):
    rng = np.random.default_rng(2)
    t = np.arange(48)
    y = (40 + 0.5 * t) * np.tile([1.2, 0.8, 1.0, 1.0], 12) + rng.normal(0, 1, 48)
    for error in ("add", "mul"):
        for trend in (None, "add", "mul"):
            for seasonal in (None, "add", "mul"):
                if damped and trend is None:
                    continue
                model = ExponentialSmoothing(
                    error, trend, damped=damped, seasonal=seasonal, season_length=4
                ).fit(y)
                found = model.predict(4)
                assert found.reasons[0] == "" and np.isfinite(found.intervals[95]).all()
                if seasonal:
                    assert np.argmax(found.mean) == 0 and np.argmin(found.mean) == 1


def test_the_automatic_choice_sees_what_is_there():
    rng = np.random.default_rng(0)
    t = np.arange(80)
    flat = 50 + rng.normal(0, 3, 80)
    line = 10 + 2 * t + rng.normal(0, 3, 80)
    season = 100 + np.tile([20.0, -20, 5, -5], 20) + rng.normal(0, 2, 80)
    for y, trend, seasonal in ((flat, "N", "N"), (line, "A", "N"), (season, "N", "AM")):
        form = ExponentialSmoothing(season_length=4).fit(y).forms_[0]
        assert form[1] == trend and form[-1] in seasonal


def test_fences():
    with pytest.raises(ValueError, match="values of 0 or below"):
        ExponentialSmoothing("mul").fit([1.0, 0.0, 3.0, 4.0, 5.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="season_length"):
        ExponentialSmoothing(seasonal="add").fit(np.arange(20.0))
    long = ExponentialSmoothing(season_length=48).fit(np.arange(200.0))
    assert long.forms_[0][-1] == "N"
    mixed = [np.arange(1.0, 30), np.arange(-10.0, 20)]
    forms = ExponentialSmoothing().fit(mixed).forms_
    assert "M" not in forms[1]


def test_additive_intervals_have_a_closed_form():
    rng = np.random.default_rng(1)
    y = np.cumsum(rng.normal(0, 1, 60))
    model = ExponentialSmoothing("add", "add", damped=True, seasonal=None).fit(y)
    alpha, beta, _, phi = model.fits_.weights[0]
    j = np.arange(1, 5)
    psi = alpha + beta * np.cumsum(phi**j)
    variance = model.fits_.sigma[0] ** 2 * np.r_[1, 1 + np.cumsum(psi**2)]
    found = model.predict(5)
    reach = (found.intervals[95][:, 1] - found.mean) / 1.959963984540054
    np.testing.assert_allclose(reach**2, variance, rtol=1e-9)
