"""What every forecasting method keeps: leaks, equivariance, lost series, files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pansophy
from pansophy.forecasting import Frequency, Panel
from pansophy.testing import panel_estimators

ESTIMATORS = panel_estimators()
each = pytest.mark.parametrize(
    "cls", [cls for _, cls in ESTIMATORS], ids=[name for name, _ in ESTIMATORS]
)
MONTHS = Frequency("month", 1, 1)
RATES = {"Croston", "SBA", "TSB", "ADIDA", "IMAPA"}  # zeros mean something to them
SHIFTED = {  # a shift is no symmetry of what multiplies
    "ExponentialSmoothing": {"error": "add", "trend": "add", "seasonal": "add"},
    "Theta": {"adjustment": "additive"},
    "DynamicTheta": {"adjustment": "additive"},
    "Naive2": {"adjustment": "additive"},
}
QUICK = {}


def made(cls, **options):
    return cls(**{**QUICK.get(cls.__name__, {}), **options})


def series_of(seed=0, lengths=(50, 38, 44)):
    """Positive series with a trend, a season of 12 and noise."""
    rng = np.random.default_rng(seed)
    out = []
    for n in lengths:
        t = np.arange(n)
        season = 10 * np.sin(2 * np.pi * t / 12)
        out.append(100 + 0.5 * t + season + rng.normal(0, 3, n))
    return out


def panel_of(series):
    return Panel.from_list(series, frequency=MONTHS)


@each
def test_every_series_comes_out_in_order(cls):
    strange = [
        np.full(30, 7.0), np.zeros(30), -50 - np.arange(30.0), np.array([4.0]),
        np.array([1.0, 2.0]), np.array([3.0, 1.0, 2.0]), np.arange(5.0),
        np.r_[np.full(10, np.nan), np.arange(20.0), [np.nan, np.nan]],
        np.full(4, np.nan), np.tile([0.0, 0.0, 0.0, 5.0], 8),
    ]  # fmt: skip
    panel = panel_of([*series_of(lengths=(40,)), *strange])
    model = made(cls).fit(panel)
    found = model.predict(4)
    assert found.mean.shape == (11, 4)
    lost = np.arange(11) == 9
    assert np.isnan(found.mean[lost]).all() and found.reasons[9] != ""
    assert np.isfinite(found.mean[~lost]).all()
    low, high = np.moveaxis(found.intervals[80], -1, 0)
    assert (low[~lost] <= high[~lost]).all()
    wide = found.intervals[95]
    assert (wide[~lost, :, 0] <= low[~lost] + 1e-9).all()
    biased = 0.06 if cls.__name__ == "SBA" else 1e-6  # corrected where nothing varies
    np.testing.assert_allclose(found.mean[1], 7.0, rtol=biased)
    np.testing.assert_allclose(found.mean[2], 0.0, atol=1e-6)
    alone = made(cls).fit(panel[[4]]).predict(4)
    np.testing.assert_allclose(alone.mean[0], found.mean[4])


@each
def test_values_after_the_origin_change_nothing(cls):
    series = series_of()
    cut = [len(y) - 6 for y in series]
    changed = [np.r_[y[:k], 1e6 - y[k:]] for y, k in zip(series, cut)]
    a = made(cls).fit(panel_of(series).truncated(cut)).predict(3)
    b = made(cls).fit(panel_of(changed).truncated(cut)).predict(3)
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.intervals[80], b.intervals[80])


@each
def test_units_do_not_matter(cls):
    series = series_of()
    plain = made(cls).fit(panel_of(series)).predict(3)
    scaled = made(cls).fit(panel_of([1000 * y for y in series])).predict(3)
    np.testing.assert_allclose(scaled.mean, 1000 * plain.mean, rtol=2e-3)
    np.testing.assert_allclose(
        scaled.intervals[80], 1000 * plain.intervals[80], rtol=2e-3
    )


@pytest.mark.parametrize(
    "cls", [c for name, c in ESTIMATORS if name not in RATES], ids=lambda c: c.__name__
)
def test_a_shift_shifts_the_forecast(cls):
    """Not of methods for intermittent demand, where a zero has a meaning."""
    series = series_of()
    options = SHIFTED.get(cls.__name__, {})
    plain = made(cls, **options).fit(panel_of(series)).predict(3).mean
    moved = made(cls, **options).fit(panel_of([y + 500 for y in series]))
    np.testing.assert_allclose(moved.predict(3).mean - 500, plain, atol=1.0)


@each
def test_a_tenth_missing_costs_little(cls):
    rng = np.random.default_rng(1)
    series = series_of(lengths=(60, 60, 60, 60))
    truth = [y[54:] for y in series]
    whole = [y[:54] for y in series]
    gappy = [y.copy() for y in whole]
    for y in gappy:
        y[rng.choice(50, 5, replace=False)] = np.nan
    errors = []
    for part in (whole, gappy):
        found = made(cls).fit(panel_of(part)).predict(6)
        errors.append(np.abs(found.mean - truth).mean())
    assert errors[1] < 1.25 * errors[0] + 0.5


@each
def test_vectors_and_parameters(cls):
    y = series_of()[0]
    model = made(cls)
    before = model.get_params()
    assert model.fit(y) is model
    assert model.get_params() == before
    assert clone(model).get_params() == before
    found = model.predict(3, level=[90])
    assert found.mean.shape == (3,) and found.intervals[90].shape == (3, 2)
    with pytest.raises(NotFittedError):
        made(cls).predict(1)
    with pytest.raises(ValueError, match="horizon"):
        model.predict(0)
    with pytest.raises(ValueError, match="level"):
        model.predict(1, level=[120])


@each
def test_saved_models_forecast_the_same(cls, tmp_path):
    model = made(cls).fit(panel_of(series_of()))
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    a, b = model.predict(3), again.predict(3)
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.intervals[95], b.intervals[95])


@each
def test_updates_paths_and_components(cls):
    panel = panel_of(series_of())
    head = panel.truncated(panel.lengths - 2)
    new = Panel.from_list(
        [y[-2:] for y in panel.series], start=head.ends, frequency=MONTHS
    )
    model = made(cls).fit(head).update(new)
    assert np.array_equal(model.panel_.values, panel.values)
    found = model.predict(2)
    fresh = made(cls).fit(panel).predict(2)
    assert np.abs(found.mean - fresh.mean).max() < 25
    paths = model.simulate(2, 4000, random_state=0)
    assert paths.shape == (4000, 3, 2)
    assert np.array_equal(paths, model.simulate(2, 4000, random_state=0))
    sd = (found.intervals[80][..., 1] - found.intervals[80][..., 0]) / 2.563
    np.testing.assert_allclose(paths.mean(0), found.mean, atol=0.3 * sd.max())
    np.testing.assert_allclose(paths.std(0), sd, rtol=0.3)
    for part in model.components().values():
        assert np.array_equal(part.offsets, panel.offsets)
