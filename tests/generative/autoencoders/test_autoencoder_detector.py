"""Anomaly detection by reconstruction error: thresholds, ensembles, any density."""

import numpy as np
import pytest

from pansophy import load, save
from pansophy.base import InterruptedFitWarning
from pansophy.decomposition import ProbabilisticPCA
from pansophy.generative import (
    Autoencoder,
    AutoencoderDetector,
    ConvAutoencoder,
    TableVAE,
    error_threshold,
)

RNG = np.random.default_rng(0)
PLANE = RNG.normal(size=(2, 5))
USUAL = RNG.normal(size=(200, 2)) @ PLANE + 0.05 * RNG.normal(size=(200, 5))
ODD = RNG.normal(size=(3, 2)) @ PLANE + [
    [2, 0, 0, 0, 0],
    [0, 0, -2, 0, 0],
    [0, 2, 0, 2, 0],
]
BASE = Autoencoder(2, hidden_layer_sizes=(32,), n_epochs=40, device="cpu")


def test_threshold_worked_example():
    losses = [0.1, 0.2, 0.3, 0.4]
    assert error_threshold(losses) == pytest.approx(0.361803, abs=5e-7)
    assert error_threshold(losses, ddof=1) == pytest.approx(0.379099, abs=5e-7)
    assert error_threshold(losses, n_std=0) == pytest.approx(0.25)


def test_threshold_counts_weights_as_rows():
    w = [1, 2, 0, 3]
    losses = np.array([0.1, 0.2, 5.0, 0.4])
    for ddof in (0, 1):
        assert error_threshold(losses, w, ddof=ddof) == pytest.approx(
            error_threshold(np.repeat(losses, w), ddof=ddof)
        )
    with pytest.raises(ValueError, match="more than 1 rows"):
        error_threshold([0.3], ddof=1)
    with pytest.raises(ValueError, match="ddof must be 0 or 1"):
        error_threshold([0.3, 0.2], ddof=2)


def test_finds_what_is_off_the_plane():
    model = AutoencoderDetector(BASE, contamination=0.05, random_state=0).fit(USUAL)
    assert (model.predict(ODD) == -1).all()
    assert (model.predict(USUAL) == -1).mean() == pytest.approx(0.05, abs=0.01)
    assert model.offset_ == -model.threshold_
    np.testing.assert_array_equal(
        model.decision_function(ODD), model.score_samples(ODD) + model.threshold_
    )


def test_one_member_is_the_single_detector_and_errors_are_averaged():
    one = AutoencoderDetector(BASE, random_state=0).fit(USUAL)
    (member,) = one.estimators_
    errors = member.reconstruction_error(USUAL)
    np.testing.assert_array_equal(one.score_samples(USUAL), -errors)
    assert one.threshold_ == error_threshold(errors)
    three = AutoencoderDetector(BASE, n_estimators=3, random_state=0).fit(USUAL)
    each = [m.score_samples(ODD) for m in three.estimators_]
    np.testing.assert_allclose(three.score_samples(ODD), np.mean(each, axis=0))
    assert len({float(e[0]) for e in each}) == 3, "members have seeds of their own"
    np.testing.assert_array_equal(
        three.estimators_[0].score_samples(ODD), member.score_samples(ODD)
    )


def test_any_density_will_do():
    model = AutoencoderDetector(ProbabilisticPCA(2), contamination=0.1).fit(USUAL)
    density = ProbabilisticPCA(2).fit(USUAL)
    np.testing.assert_allclose(model.score_samples(ODD), density.score_samples(ODD))
    with pytest.raises(ValueError, match="ProbabilisticPCA takes no weights"):
        model.fit(USUAL, sample_weight=np.ones(200))
    from pansophy.linear_model import Ridge

    with pytest.raises(TypeError, match="must be an estimator with score_samples"):
        AutoencoderDetector(Ridge()).fit(USUAL)


def test_images_and_tables_reach_the_models_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.random((40, 5, 4)) * 0.1
    images[:, 2] += 1.0
    odd = images[:2].transpose(0, 1, 2)[:, ::-1].copy()
    odd[:, 0] += 5.0
    conv = ConvAutoencoder(2, n_filters=(4,), n_epochs=10, device="cpu")
    model = AutoencoderDetector(conv, contamination=0.1, random_state=0).fit(images)
    assert model.estimators_[0].image_shape_ == (5, 4)
    assert (model.predict(odd) == -1).all()
    with pytest.raises(ValueError, match=r"shape \(4, 5\).*expecting \(5, 4\)"):
        model.predict(images.transpose(0, 2, 1))
    save(model, tmp_path / "detector.pansophy")
    again = load(tmp_path / "detector.pansophy")
    np.testing.assert_array_equal(
        again.score_samples(images), model.score_samples(images)
    )
    pandas = pytest.importorskip("pandas")
    age = rng.integers(18, 90, 80)
    table = pandas.DataFrame({"age": age, "retired": np.where(age > 65, "yes", "no")})
    vae = TableVAE(2, hidden_layer_sizes=(16,), n_epochs=30, device="cpu")
    model = AutoencoderDetector(vae, random_state=0).fit(table)
    strange = pandas.DataFrame({"age": [20], "retired": ["yes"]})
    assert model.score_samples(strange)[0] < np.median(model.score_samples(table))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"age": "years"}))


def test_an_interrupted_model_is_the_last_one(monkeypatch):
    fit = Autoencoder.fit
    calls = []

    def interrupted(self, X, **weights):
        fit(self, X, **weights)
        calls.append(1)
        self.interrupted_ = True
        return self

    monkeypatch.setattr(Autoencoder, "fit", interrupted)
    model = AutoencoderDetector(BASE, n_estimators=5, random_state=0)
    model.estimator = Autoencoder(1, n_epochs=1, device="cpu")
    with pytest.warns(InterruptedFitWarning):
        model.fit(USUAL)
    assert len(calls) == len(model.estimators_) == 1 and model.interrupted_
    assert np.isfinite(model.threshold_)
