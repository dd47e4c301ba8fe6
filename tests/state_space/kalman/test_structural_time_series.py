"""Structural time series: the Nile, parity with statsmodels, exact gradients."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.state_space import KalmanFilter, StructuralTimeSeries
from pansophy.state_space.kalman import structural_time_series as parts

# annual flow of the Nile at Aswan, 1871 to 1970
NILE = np.array(
    """1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180
    799 958 1140 1100 1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916
    692 1020 1050 969 831 726 456 824 702 1120 1100 832 764 821 768 845 864 862 698 845
    744 796 1040 759 781 865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040
    860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746
    919 718 714 740""".split(),  # noqa: SIM905
    dtype=float,
)


def test_the_nile():
    """Durbin and Koopman: variances 15099 and 1469.1, log p -632.54 (no 2 pi for the
    diffuse row); as a Kalman filter by maximum likelihood, the same."""
    model = StructuralTimeSeries(tol=1e-7).fit(NILE)
    assert model.variances_["irregular"][0] == pytest.approx(15099, abs=1)
    assert model.variances_["level"][0] == pytest.approx(1469.1, abs=0.2)
    loglik = model.log_likelihood_ + 0.5 * np.log(2 * np.pi)
    assert loglik == pytest.approx(-632.54, abs=0.01)
    chain = KalmanFilter(start="diffuse", method="ml", tol=1e-7).fit(NILE)
    assert chain.log_likelihood_ == pytest.approx(model.log_likelihood_, abs=1e-6)
    assert chain.transition_covariance_[0, 0] == pytest.approx(1469.1, abs=0.5)
    approximate = KalmanFilter(
        transition_covariance=1469.1, observation_covariance=15099.0,
        initial_state_covariance=1e7 * np.eye(1),
    )  # fmt: skip
    assert approximate.score(NILE) == pytest.approx(-641.5856, abs=1e-3)
    level = model.components(NILE)["level"]
    assert np.all((level.low < level.mean) & (level.mean < level.high))
    assert np.nanstd(model.standardized_residuals(NILE)) == pytest.approx(1, abs=0.1)
    assert model.aic(NILE) == pytest.approx(-2 * model.log_likelihood_ + 6)


SPECS = {
    "trend": ({"trend": "stochastic"}, {"level": "lltrend"}),
    "seasonal": ({"seasonal": 4}, {"level": "llevel", "seasonal": 4}),
    "harmonics": (
        {
            "trend": "fixed",
            "seasonal": 5,
            "seasonal_form": "trigonometric",
            "harmonics": 2,
        },
        {"level": "lldtrend", "freq_seasonal": [{"period": 5, "harmonics": 2}]},
    ),
    "exog": ({}, {"level": "llevel"}),
}


@pytest.mark.parametrize("name", SPECS)
def test_parity_with_statsmodels(name):
    """At our maximum: likelihood, components and forecasts; theirs is not higher."""
    api = pytest.importorskip("statsmodels.api")
    ours, theirs = SPECS[name]
    y, exog, future = NILE.copy(), None, None
    y[[3, 50, 51]] = np.nan
    if name == "exog":
        exog = np.stack([np.arange(100) >= 28, np.sin(np.arange(100))], axis=1) * 1.0
        future, exog = exog[-6:], exog
    model = StructuralTimeSeries(**ours).fit(y, exog=exog)
    more = {} if exog is None else {"exog": exog, "mle_regression": False}
    peer = api.tsa.UnobservedComponents(y, use_exact_diffuse=True, **theirs, **more)
    order = [n.split(".")[1].split("_")[-1].split("(")[0] for n in peer.param_names]
    known = {"irregular", "level", "trend", "seasonal"}
    values = [model.variances_[n if n in known else "seasonal"][0] for n in order]
    result = peer.smooth(values)
    assert result.llf == pytest.approx(model.log_likelihood_, abs=1e-6)
    fitted = peer.fit(disp=0)
    assert fitted.llf <= model.log_likelihood_ + 1e-3
    level = model.components(y, exog=exog)["level"].mean[:, 0]
    assert np.allclose(level, result.level["smoothed"], rtol=1e-6)
    ahead = model.forecast(6, exog=future)
    more = {} if exog is None else {"exog": future}
    want = result.get_forecast(6, **more)
    assert np.allclose(ahead.mean[:, 0], want.predicted_mean)
    assert np.allclose(ahead.sd[:, 0], want.se_mean)
    if exog is not None:
        assert np.allclose(model.coef_[0], result.smoothed_state[-2:, -1])


@pytest.mark.parametrize("damped", [False, True])
def test_gradient(damped, rng):
    """Exact derivatives by variances, frequency and damping, two sequences."""
    components = [
        parts.level_component(True, "stochastic"),
        parts.cycle_component(damped),
    ]
    layout = parts.ComponentLayout(components, True, damped, (2.0, 30.0), 0)
    vector = parts.VarianceVector(layout, 150.0, 1e-3)
    f = parts.structural_objective(
        vector, NILE[:, None].copy(), np.array([45, 100]), None
    )
    v = vector.first() + 0.2 * rng.normal(size=len(vector.first()))
    h = 1e-5
    differences = [
        (f(v + h * e)[0] - f(v - h * e)[0]) / (2 * h) for e in np.eye(len(v))
    ]
    assert np.allclose(f(v)[1], differences, rtol=1e-5, atol=1e-8)


def test_a_cycle_is_found(rng):
    t = np.arange(240)
    y = 50 + 8 * np.sin(2 * np.pi * t / 17.3) + rng.normal(size=240)
    model = StructuralTimeSeries(level="fixed", cycle="fixed").fit(y)
    assert model.cycle_period_[0] == pytest.approx(17.3, abs=0.05)
    assert model.components(y)["cycle"].mean.std() == pytest.approx(8 / 2**0.5, abs=0.3)
    waves = StructuralTimeSeries(level="fixed", cycle="stochastic").fit(y)
    assert waves.cycle_period_[0] == pytest.approx(17.3, abs=0.5)
    assert 0.9 < waves.cycle_damping_[0] < 1


def test_columns_are_series_of_their_own(rng):
    X = np.cumsum(rng.normal(size=(50, 2)), axis=0) + rng.normal(size=(50, 2))
    both = StructuralTimeSeries().fit(X)
    apart = [StructuralTimeSeries().fit(x) for x in X.T]
    total = sum(m.log_likelihood_ for m in apart)
    assert both.log_likelihood_ == pytest.approx(total)
    ahead = both.forecast(3, X)
    assert np.allclose(ahead.mean[:, 1], apart[1].forecast(3).mean[:, 0])
    assert both.score_samples(X, [20, 30]).shape == (50,)


def test_bad_input():
    with pytest.raises(ValueError, match="has 2 harmonics"):
        StructuralTimeSeries(
            seasonal=4, seasonal_form="trigonometric", harmonics=3
        ).fit(NILE)
    with pytest.raises(ValueError, match="harmonics need"):
        StructuralTimeSeries(seasonal=4, harmonics=1).fit(NILE)
    with pytest.raises(ValueError, match="regressors"):
        StructuralTimeSeries().fit(NILE).score(NILE, exog=np.ones((100, 1)))
    with pytest.raises(ValueError, match="seasonal of"):
        StructuralTimeSeries(seasonal=1).fit(NILE)


def test_plot_draws_points_band_and_fan():
    model = KalmanFilter(start="diffuse", method=None).fit(NILE)
    X = NILE[:, None]
    ax = plot.kalman(X, model.filter(X), forecast=model.forecast(8), t=np.arange(100))
    assert [line.get_label() for line in ax.lines] == ["observed", "state", "forecast"]
    assert np.array_equal(ax.lines[0].get_ydata(), NILE)
    assert list(ax.lines[2].get_xdata()) == list(range(100, 108))
    assert len(ax.collections) == 3
    with pytest.raises(ValueError, match="times for"):
        plot.kalman(X, t=[1, 2])
