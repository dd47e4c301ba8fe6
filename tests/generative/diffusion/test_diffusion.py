"""Diffusion models: training, samples, bounds, guidance, inpainting, saved averages."""

import numpy as np
import pytest
from scipy import stats

from pansophy import load, save
from pansophy.generative import DDPM, PARAMETRIZATIONS, DiffusionModel
from pansophy.generative.diffusion.noise_schedule import noise_schedule

MEAN = np.array([3.0, -1.0])
COV = np.array([[4.0, 1.2], [1.2, 0.5]])


def normal_rows(n=600, seed=0):
    return np.random.default_rng(seed).multivariate_normal(MEAN, COV, size=n)


def quick(cls=DiffusionModel, *args, **params):
    options = {
        "hidden_layer_sizes": (32,), "n_epochs": 30, "random_state": 0, "device": "cpu",
    }  # fmt: skip
    return cls(*args, **{**options, **params})


@pytest.fixture(scope="module")
def normal_model():
    return quick(hidden_layer_sizes=(64, 64), n_epochs=60).fit(normal_rows())


def test_samples_of_a_normal_density(normal_model):
    made = normal_model.sample(1500, random_state=0)
    np.testing.assert_allclose(made.mean(0), MEAN, atol=0.3)
    np.testing.assert_allclose(np.cov(made.T), COV, atol=0.8)
    assert np.array_equal(made, normal_model.sample(1500, random_state=0))


def test_density_by_the_probability_flow(normal_model):
    X = normal_rows(100, seed=1)
    truth = stats.multivariate_normal(MEAN, COV).logpdf(X)
    assert normal_model.score_samples(X).mean() == pytest.approx(truth.mean(), abs=0.25)


@pytest.mark.parametrize("name", sorted(PARAMETRIZATIONS))
def test_every_parametrisation_trains_and_samples(name):
    X = normal_rows(200)
    model = quick(DiffusionModel, name, n_epochs=15).fit(X)
    assert model.history_["loss"][-1] < model.history_["loss"][0] * 1.1
    for sampler in ("heun", "dpmpp_2m", "ancestral", "ddim"):
        made = model.sample(50, random_state=0, sampler=sampler, n_steps=10)
        assert np.isfinite(made).all()
        assert np.abs(made - MEAN).max() < 60


def test_the_learnt_noise_is_the_linear_one():
    """K343: of normal rows, eps(x_t) = sqrt(1 - abar) x_t / Var(x_t)."""
    X = np.random.default_rng(0).normal(size=(1500, 1))
    model = quick(DDPM, 50, n_epochs=60, hidden_layer_sizes=(32, 32)).fit(X)
    schedule = noise_schedule("linear", 50)
    net = model.net_
    import torch

    for t in (10, 25, 45):
        kept, sigma = schedule.alpha_bar[t - 1], schedule.sigma[t - 1]
        x_t = torch.linspace(-2, 2, 9)[:, None]
        D = net(x_t / kept**0.5, sigma).detach()
        eps = (x_t - kept**0.5 * D) / (1 - kept) ** 0.5
        assert (eps - (1 - kept) ** 0.5 * x_t).abs().max() < 0.25


@pytest.mark.parametrize("loss", ["simple", "weighted"])
@pytest.mark.parametrize("variance", ["posterior", "beta", "learned"])
def test_ddpm_losses_and_variances(loss, variance):
    X = normal_rows(300)
    model = quick(DDPM, 20, loss=loss, variance=variance, n_epochs=20).fit(X)
    made = model.sample(300, random_state=0)
    assert np.abs(made.mean(0) - MEAN).max() < 1.0
    assert ("variance" in model.history_) == (variance == "learned")
    other = model.sample(300, random_state=0, variance="beta")
    assert np.array_equal(made, other) == (variance == "beta")
    fast = model.sample(5, random_state=0, n_steps=4, sampler="ddim")
    assert np.isfinite(fast).all()


def test_evidence_bound_of_a_ddpm():
    X = normal_rows(400)
    model = quick(DDPM, 60, variance="beta", n_epochs=60, hidden_layer_sizes=(64,)).fit(
        X
    )
    bound = model.log_prob_bound(X[:150])
    truth = stats.multivariate_normal(MEAN, COV).logpdf(X[:150])
    error = bound.value.std() / 150**0.5
    assert bound.value.mean() < truth.mean() + 3 * error
    assert bound.value.mean() > truth.mean() - 2.0
    assert (bound.standard_error > 0).all()


def test_unlearnt_variance_is_refused():
    model = quick(DDPM, 5, n_epochs=1).fit(normal_rows(40))
    with pytest.raises(ValueError, match="has learnt it"):
        model.sample(2, variance="learned")
    with pytest.raises(ValueError, match="eta must be"):
        model.sample(2, sampler="ddim", eta=2.0)
    with pytest.raises(ValueError, match=r"sampler must be one of heun.*'euler'"):
        model.sample(2, sampler="euler")
    with pytest.raises(ValueError, match="variance must be one of posterior"):
        model.sample(2, variance="small")
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="guidance must be"):
            model.sample(2, guidance=bad)


def test_classes_and_guidance():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-4, 1, (300, 1)), rng.normal(4, 1, (300, 1))]
    y = np.repeat(["cold", "warm"], 300)
    model = quick(n_epochs=60, hidden_layer_sizes=(64, 64)).fit(X, y)
    assert model.classes_.tolist() == ["cold", "warm"]
    warm = model.sample(200, y="warm", random_state=0)
    assert (warm > 0).mean() > 0.95
    ignored = model.sample(400, y="warm", random_state=0, guidance=0.0)
    assert 0.3 < (ignored > 0).mean() < 0.7
    strong = model.sample(200, y="warm", random_state=0, guidance=3.0)
    assert strong.std() < 1.1 * warm.std()
    mixed = model.sample(400, random_state=0)
    assert 0.35 < (mixed > 0).mean() < 0.65
    with pytest.raises(ValueError, match="fitted without"):
        quick(n_epochs=1).fit(X).sample(1, y="warm")


def test_missing_values_are_drawn_given_the_others(normal_model):
    X = np.tile([7.0, np.nan], (300, 1))
    made = normal_model.inpaint(X, random_state=0)
    assert (made[:, 0] == 7.0).all() and np.isfinite(made).all()
    mean = MEAN[1] + COV[0, 1] / COV[0, 0] * (7.0 - MEAN[0])
    assert abs(made[:, 1].mean() - mean) < 0.25  # the plain mean is 1.2 away
    variance = COV[1, 1] - COV[0, 1] ** 2 / COV[0, 0]
    assert 0.7 < made[:, 1].var() / variance < 1.4
    whole = normal_rows(3)
    np.testing.assert_array_equal(normal_model.inpaint(whole, n_repeats=1), whole)


def test_images_by_a_unet():
    rng = np.random.default_rng(0)
    images = rng.random((40, 5, 6)) * 0.1
    images[:, :, 3:] += 1.0  # right half bright
    model = quick(n_channels=(8, 16), n_epochs=80, batch_size=40).fit(images)
    made = model.sample(20, random_state=0)
    assert made.shape == (20, 5, 6)
    assert made[:, :, 3:].mean() > made[:, :, :3].mean() + 0.5
    hidden = images[:2].copy()
    hidden[:, 0] = np.nan
    assert model.inpaint(hidden, n_repeats=1).shape == (2, 5, 6)
    colour = rng.random((20, 4, 4, 3))
    assert quick(n_channels=(4,), n_epochs=1).fit(colour).sample(2).shape == (
        2,
        4,
        4,
        3,
    )


def test_paths_begin_as_noise_and_end_as_samples(normal_model):
    path = normal_model.sample_path(300, random_state=0, n_frames=5)
    assert path.rows.shape == (5, 300, 2)
    assert path.sigma[0] == 80 and path.sigma[-1] == 0
    np.testing.assert_array_equal(
        path.rows[-1], normal_model.sample(300, random_state=0)
    )
    first = (path.rows[0] - normal_model.mean_) / normal_model.scale_
    assert abs(np.corrcoef(first.T)[0, 1]) < 0.2  # the noise is white
    options = {"sampler": "ancestral", "variance": "beta", "n_steps": 6}
    assert len(normal_model.sample_path(2, n_frames=50, **options).sigma) == 7


def test_averaged_weights_are_used_and_saved(tmp_path):
    """Trap 15: samples come from the average, and a saved model draws the same."""
    X = normal_rows(200)
    averaged = quick(n_epochs=10, ema_decay=0.99, learning_rate="constant").fit(X)
    last = quick(n_epochs=10, ema_decay=0.0, learning_rate="constant").fit(X)
    assert not np.allclose(
        averaged.sample(5, random_state=0), last.sample(5, random_state=0)
    )
    assert averaged.history_["loss"][-1] == last.history_["loss"][-1]  # the same run
    save(averaged, tmp_path / "model.pansophy")
    loaded = load(tmp_path / "model.pansophy")
    np.testing.assert_array_equal(
        averaged.sample(5, random_state=0), loaded.sample(5, random_state=0)
    )
    # the warm-up: after few steps the average is near the weights, not at the start
    brief = quick(n_epochs=2, ema_decay=0.9999, batch_size=200).fit(X)
    moved = quick(n_epochs=2, ema_decay=0.0, batch_size=200).fit(X)
    gap = lambda a, b: float((a - b).abs().max())
    a, b = (m.net_.net.output.bias for m in (brief, moved))
    assert gap(a.detach(), b.detach()) < 0.6 * gap(b.detach(), 0 * b.detach())
