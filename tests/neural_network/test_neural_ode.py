"""Neural ODE estimators: tables, series, saving, stopping by hand."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from sklearn.datasets import load_iris, make_moons  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from pansophy import load, save  # noqa: E402
from pansophy.base import InterruptedFitWarning  # noqa: E402
from pansophy.neural_network import (  # noqa: E402
    NeuralODEClassifier,
    NeuralODEDynamics,
    NeuralODERegressor,
)

QUICK = {"random_state": 0, "device": "cpu"}


def test_classes_that_a_line_cannot_part():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = NeuralODEClassifier(n_epochs=40, **QUICK).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.93
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_three_classes_and_units_do_not_matter():
    X, y = load_iris(return_X_y=True)
    model = NeuralODEClassifier(n_epochs=15, dtype="float64", **QUICK).fit(X, y)
    assert model.score(X, y) > 0.9
    scaled = NeuralODEClassifier(n_epochs=15, dtype="float64", **QUICK)
    scaled.fit(1e4 * X + 7, y)
    assert scaled.predict_proba(1e4 * X + 7) == pytest.approx(
        model.predict_proba(X), abs=1e-4
    )


def test_numbers_with_several_outputs_and_a_variance():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 2))
    Y = np.c_[np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]]
    model = NeuralODERegressor(n_epochs=40, **QUICK).fit(X[:250], Y[:250])
    assert model.score(X[250:], Y[250:]) > 0.9
    noisy = NeuralODERegressor(n_epochs=5, loss="gaussian", **QUICK).fit(X, Y[:, 0])
    mean, std = noisy.predict(X, return_std=True)
    assert mean.shape == std.shape == (300,) and (std > 0).all()


@pytest.mark.parametrize("method", ["euler", "dopri5", "kencarp4"])
def test_any_solver(method):
    X, y = make_moons(60, noise=0.1, random_state=0)
    options = {"width": 2, "hidden_layer_sizes": (4,)} if method == "kencarp4" else {}
    n = 12 if method == "kencarp4" else 60
    model = NeuralODEClassifier(method=method, n_epochs=3, **options, **QUICK)
    model.fit(X[:n], y[:n])
    assert np.isfinite(model.predict_proba(X[:n])).all()


def test_depth_may_be_changed_after_training():
    """A finer solver on the trained field gives nearly the same answers."""
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = NeuralODEClassifier(n_epochs=20, **QUICK).fit(X, y)
    before = model.predict_proba(X)
    for net in model.nets_:
        net.flow.options = {"step": 1 / 16}
    assert np.abs(model.predict_proba(X) - before).max() < 0.05


def test_saves_and_loads(tmp_path):
    X, y = make_moons(80, noise=0.1, random_state=0)
    pipeline = make_pipeline(
        StandardScaler(), NeuralODEClassifier(n_epochs=3, **QUICK)
    ).fit(X, y)
    save(pipeline, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict_proba(X), pipeline.predict_proba(X))


def test_dropout_passes_are_refused():
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match="mc_dropout"):
        NeuralODEClassifier(mc_dropout=5, **QUICK).fit(X, y)


# Series


def spiral(times, start=(2.0, 0.0)):
    """x' = A x with A = [[-0.1, 2], [-2, -0.1]], exactly."""
    turn = 2 * times
    c = np.exp(-0.1 * times)[:, None]
    x, y = start
    return (
        c
        * np.c_[
            x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        ]
    )


def test_dynamics_of_a_spiral_at_unequal_times():
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.02, 0.12, 150))
    X = spiral(times)
    model = NeuralODEDynamics(n_epochs=40, **QUICK).fit(X, times)
    assert model.history_["loss"][-1] < 0.02 * model.history_["loss"][0]
    found = model.predict(X[0], times[:60])
    assert np.abs(found - X[:60]).max() < 0.25
    back = model.predict(found[-1], times[:60][::-1])  # and the way back
    assert np.abs(back[-1] - X[0]).max() < 1e-2


def test_several_series_forecast_save_and_load(tmp_path):
    times = np.linspace(0, 3, 40)
    series = [spiral(times), spiral(times, (0.0, 1.0))]
    model = NeuralODEDynamics(n_epochs=15, window=5, **QUICK)
    model.fit(series, np.r_[times, times])
    joined = NeuralODEDynamics(n_epochs=15, window=5, **QUICK)
    joined.fit(np.concatenate(series), np.r_[times, times], lengths=[40, 40])
    assert np.allclose(model.forecast(3), joined.forecast(3))
    assert model.forecast(3).shape == (3, 2)
    save(model, tmp_path / "dynamics.safetensors")
    again = load(tmp_path / "dynamics.safetensors")
    start = series[0][0]
    assert np.allclose(again.predict(start, times), model.predict(start, times))
    many = model.predict(np.stack([s[0] for s in series]), times)
    assert many.shape == (40, 2, 2)


def test_stopped_by_hand_it_is_usable(monkeypatch):
    from pansophy.neural_network import neural_ode

    times = np.linspace(0, 2, 30)
    calls = []
    whole = neural_ode.WindowNet.losses

    def losses(self, batch):
        calls.append(1)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return whole(self, batch)

    monkeypatch.setattr(neural_ode.WindowNet, "losses", losses)
    model = NeuralODEDynamics(n_epochs=50, window=3, **QUICK)
    with pytest.warns(InterruptedFitWarning):
        model.fit(spiral(times), times)
    assert model.interrupted_ and np.isfinite(model.forecast(2)).all()


@pytest.mark.parametrize(
    ("X", "times", "sentence"),
    [
        (np.ones((1, 2)), None, "at least two"),
        (np.ones((4, 2)), [0, 1, 1, 2], "rise"),
        (np.ones((4, 2)), [0, 1, 2], "shape"),
        (np.full((4, 2), np.nan), None, "NaN"),
    ],
)
def test_bad_series(X, times, sentence):
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match=sentence),
    ):
        NeuralODEDynamics(**QUICK).fit(X, times)


def test_start_of_another_width():
    model = NeuralODEDynamics(n_epochs=1, **QUICK).fit(spiral(np.linspace(0, 1, 9)))
    with pytest.raises(ValueError, match="columns"):
        model.predict([1.0, 2.0, 3.0], [0, 1])
