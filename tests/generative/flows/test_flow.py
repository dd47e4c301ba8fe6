"""Normalising flows: densities that integrate to 1, classes, discrete columns."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons

from pansophy.generative import FLOW_ARCHITECTURES, Flow


def quick(transform="spline", **params):
    options = {
        "hidden_layer_sizes": (16,), "n_transforms": 2, "n_epochs": 10,
        "random_state": 0, "device": "cpu",
    }  # fmt: skip
    return Flow(transform, **{**options, **params})


@pytest.mark.parametrize("transform", list(FLOW_ARCHITECTURES))
def test_density_integrates_to_one(transform):
    X = make_moons(300, noise=0.1, random_state=0)[0]
    epochs = 2 if transform == "continuous" else 10
    model = quick(transform, n_epochs=epochs).fit(X)
    side = np.linspace(-9, 9, 141)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    total = np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert total == pytest.approx(1.0, abs=0.02)


def test_density_of_one_column_integrates_to_one():
    X = np.random.default_rng(0).gamma(2.0, size=(400, 1))
    model = quick().fit(X)
    x = np.linspace(-20, 40, 20_001)
    total = np.trapezoid(np.exp(model.log_prob(x[:, None])), x)
    assert total == pytest.approx(1.0, abs=1e-3)


def test_affine_flow_is_the_normal_density():
    rng = np.random.default_rng(1)
    X = rng.multivariate_normal([3.0, -1.0], [[4.0, 1.5], [1.5, 1.0]], size=500)
    model = quick("affine", n_epochs=150, learning_rate_init=0.02, dtype="float64").fit(
        X
    )
    truth = stats.multivariate_normal(X.mean(0), np.cov(X.T, ddof=0))
    np.testing.assert_allclose(model.score_samples(X), truth.logpdf(X), atol=0.02)
    made = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(made.mean(0), X.mean(0), atol=0.06)
    np.testing.assert_allclose(np.cov(made.T), np.cov(X.T), atol=0.15)


def test_samples_are_scored_as_they_are_drawn():
    """The mean log density of samples is minus the entropy of the model."""
    X = make_moons(300, noise=0.1, random_state=0)[0]
    model = quick().fit(X)
    made = model.sample(3000, random_state=0)
    side = np.linspace(-9, 9, 201)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    log_p = model.score_samples(grid)
    entropy = -(np.exp(log_p) * log_p).sum() * (side[1] - side[0]) ** 2
    scores = model.score_samples(made)
    assert -scores.mean() == pytest.approx(entropy, abs=5 * scores.std() / 3000**0.5)


def test_classes_have_their_own_densities():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-3, 1, (200, 1)), rng.normal(3, 1, (200, 1))]
    y = np.repeat(["left", "right"], 200)
    model = quick(n_epochs=30).fit(X, y)
    assert model.score_samples([[-3.0]], ["left"]) > model.score_samples(
        [[-3.0]], ["right"]
    )
    made = model.sample(300, y="right", random_state=0)
    assert abs(made.mean() - 3) < 0.4
    x = np.linspace(-15, 15, 4001)[:, None]
    both = np.exp(model.score_samples(x))
    parts = [np.exp(model.score_samples(x, np.full(len(x), c))) for c in model.classes_]
    np.testing.assert_allclose(
        both, 0.5 * parts[0] + 0.5 * parts[1], rtol=1e-6, atol=1e-12
    )


def test_discrete_columns_get_noise_and_rounded_samples():
    """Trap 16: a coin has one bit, not an infinite density."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 1)).astype(float)
    model = quick(n_epochs=30, learning_rate_init=0.02).fit(X)
    assert model.step_ == [1.0]
    made = model.sample(400, random_state=0)
    assert np.isin(made, [-1, 0, 1, 2]).all()
    assert abs(made.mean() - 0.5) < 0.1
    # the noise is a uniform of width 1 around each value: log p = log(1/2) inside it
    assert model.bits_per_dimension(X) == pytest.approx(1.0, abs=0.1)
    assert model.score_samples(X).max() < 0.5
    raw = quick(n_epochs=30, learning_rate_init=0.02, dequantize="none").fit(X)
    assert raw.step_ == [0.0]
    assert raw.score_samples(X).mean() > 0.3  # grows without bound
    with pytest.raises(ValueError, match="dequantize"):
        raw.bits_per_dimension(X)


def test_bits_of_bytes_are_corrected_by_their_width():
    """Uniform bytes take 8 bits each, in whichever units they are stored."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(2000, 1)).astype(float)
    for unit in (1.0, 1 / 255):
        bits = quick(n_epochs=5).fit(X * unit).bits_per_dimension(X * unit)
        assert bits == pytest.approx(8.0, abs=0.15)


def test_continuous_columns_are_left_alone():
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:, 1] = np.round(X[:, 1])
    model = quick(n_epochs=1).fit(X)
    assert model.step_.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="column 0"):
        model.bits_per_dimension(X)
