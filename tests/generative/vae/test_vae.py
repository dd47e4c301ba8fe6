"""The VAE: probabilistic PCA as its linear case, bounds, terms, likelihoods."""

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles
from scipy.stats import poisson

from pansophy.decomposition import ProbabilisticPCA
from pansophy.generative import (
    IWAE,
    VAE,
    ConditionalVAE,
    PosteriorCollapseWarning,
    VaDE,
)
from pansophy.generative.autoencoders.conv_coders import ConvEncoder

LINEAR = {
    "hidden_layer_sizes": (),
    "scaling": "global",
    "dtype": "float64",
    "batch_size": 1000,
    "learning_rate_init": 0.3,
    "random_state": 0,
    "device": "cpu",
}
QUICK = {"n_epochs": 3, "random_state": 0, "device": "cpu"}


def plane_with_noise(n=150, d=4, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [3, 1.5] @ rng.normal(size=(2, d))
    return X + 0.7 * rng.normal(size=(n, d)) + np.arange(d)


@pytest.fixture(scope="module")
def linear():
    X = plane_with_noise()
    return X, VAE(2, variance="global", n_epochs=800, **LINEAR).fit(X)


def test_linear_vae_is_probabilistic_pca(linear):
    """Trap 7: the bound reaches the likelihood of PPCA to 1e-4, and its subspace."""
    X, model = linear
    ppca = ProbabilisticPCA(2).fit(X)
    elbo = -model.loss_ - model._log_volume()
    assert ppca.loglike_ - 1e-4 < elbo < ppca.loglike_ + 1e-9
    W = model.net_.decoder.layers[0].weight.detach().numpy()
    assert subspace_angles(W, ppca.components_.T).max() < 1e-3
    noise = model.net_.likelihood.log_scale.exp().item() * model.scale_[0]
    assert noise**2 == pytest.approx(ppca.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(model.score_samples(X), ppca.score_samples(X), atol=1e-2)


def test_bound_is_tight_at_the_exact_posterior(linear):
    """At the optimum q is the posterior: one draw is as good as many."""
    X, model = linear
    one, error = model.log_prob_bound(X, n_samples=4, return_std_error=True)
    many = model.log_prob_bound(X, n_samples=200)
    assert one.mean() == pytest.approx(many.mean(), abs=2e-3)
    assert error.max() < 0.05


def test_samples_of_the_linear_model_have_its_covariance(linear):
    X, model = linear
    made = model.sample(40_000, random_state=0)
    wanted = np.cov(X.T, bias=True)
    np.testing.assert_allclose(np.cov(made.T), wanted, atol=0.06 * wanted.max())


def test_factor_analysis_is_the_linear_case_with_variances_of_columns():
    from pansophy.decomposition import FactorAnalysis

    X = plane_with_noise() * [1, 5, 0.2, 1]
    model = VAE(1, n_epochs=500, **LINEAR).set_params(scaling="column").fit(X)
    best = FactorAnalysis(1, tol=1e-9, max_iter=5000).fit(X).score(X)
    elbo = -model.loss_ - model._log_volume()
    assert best - 5e-3 < elbo < best + 1e-6


def test_bound_lies_below_the_likelihood_and_standardisation_is_undone():
    """A code of one number: log p(x) by quadrature over z, in the units of x."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=(200, 1))
    X = np.hstack([100 + 20 * t, t + 0.3 * t**2]) + 0.3 * rng.normal(size=(200, 2))
    model = VAE(1, n_epochs=40, hidden_layer_sizes=(8,), random_state=0, device="cpu")
    model.fit(X)
    z = torch.linspace(-8, 8, 8001, dtype=torch.float64)[:, None, None]
    net = model.net_.double()
    rows = torch.as_tensor((X[:20] - model.mean_) / model.scale_)
    with torch.no_grad():
        log_joint = net.log_likelihood(rows, z.expand(-1, 20, -1))
        log_joint += -(z[..., 0] ** 2 + np.log(2 * np.pi)) / 2
    step = float(z[1] - z[0])
    exact = (log_joint.logsumexp(0) + np.log(step)).numpy() - np.log(model.scale_).sum()
    bounds = [model.log_prob_bound(X[:20], n_samples=k).mean() for k in (1, 8, 512)]
    assert bounds[0] < bounds[1] < bounds[2]
    assert bounds[2] == pytest.approx(exact.mean(), abs=0.02)
    np.testing.assert_allclose(model.score_samples(X[:20]), exact, atol=0.3)


def test_terms_of_the_history_are_unweighted_nats():
    X = plane_with_noise()
    options = {**LINEAR, "n_epochs": 4, "learning_rate_init": 1e-3}
    plain = VAE(2, **options).fit(X)
    np.testing.assert_allclose(
        plain.history_["loss"], plain.history_["reconstruction"] + plain.history_["kl"]
    )
    assert "kl_penalty" not in plain.history_
    beta = VAE(2, beta=4.0, **options).fit(X).history_
    np.testing.assert_allclose(beta["kl_penalty"], 3 * beta["kl"])
    assert beta["kl"][0] == pytest.approx(plain.history_["kl"][0])
    warm = VAE(2, kl_warm_up=4, **options).fit(X).history_
    np.testing.assert_allclose(
        warm["kl_penalty"], (np.array([0.25, 0.5, 0.75, 1]) - 1) * warm["kl"], atol=1e-9
    )


def test_beta_moves_the_posterior_to_the_prior_and_collapse_is_told():
    X = plane_with_noise()
    options = {**LINEAR, "n_epochs": 150}
    with pytest.warns(PosteriorCollapseWarning, match="no unit of the code of VAE"):
        strong = VAE(2, beta=200.0, **options).fit(X)
    assert not strong.active_units_.any()
    assert strong.history_["kl"][-1] < 0.01
    free = VAE(2, beta=200.0, free_bits=0.5, **options).fit(X)
    assert free.history_["kl"][-1] > 0.5
    assert free.active_units_.any()


def test_units_that_are_not_needed_are_not_active():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1)) @ [[1.0, 2.0, -1.0, 1, 1]]
    X = X + 0.3 * rng.normal(size=(300, 5))
    options = {**LINEAR, "learning_rate_init": 0.1, "n_epochs": 600}
    model = VAE(3, variance=0.1, **options).fit(X)
    assert model.active_units_.sum() == 1
    assert model.unit_variance_.shape == (3,)


def test_bernoulli_and_poisson_and_categorical_rows():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    bits = (rng.random((200, 6)) < np.where(kind, 0.9, 0.1)[:, None]).astype(float)
    options = {**QUICK, "n_epochs": 30, "learning_rate_init": 0.02}
    options["hidden_layer_sizes"] = (16,)
    model = VAE(1, likelihood="bernoulli", **options).fit(bits)
    assert set(np.unique(model.sample(50, random_state=0))) == {0.0, 1.0}
    independent = np.log(0.5) * 6
    assert independent + 1 < model.score(bits) < 0
    rates = np.exp(1 + 0.7 * rng.normal(size=(200, 1)))
    counts = rng.poisson(rates, (200, 4)).astype(float)
    model = VAE(1, likelihood="poisson", **options).fit(counts)
    made = model.sample(3000, random_state=0)
    np.testing.assert_allclose(made.mean(axis=0), counts.mean(axis=0), rtol=0.25)
    assert np.cov(made.T)[0, 1] > 0.5
    levels = np.column_stack([kind * 2, kind, 2 - kind]).astype(float)
    model = VAE(1, likelihood="categorical", **options).fit(levels)
    made = model.sample(400, random_state=0)
    assert np.isin(made[:, 0], [0, 1, 2]).all()
    assert (made[:, 0] == 2 * made[:, 1]).mean() > 0.9
    with pytest.raises(ValueError, match="column 1 of X holds the level 3"):
        model.score_samples([[0.0, 3.0, 1.0]])
    with pytest.raises(ValueError, match="needs whole numbers"):
        VAE(likelihood="poisson").fit(counts + 0.5)


def test_scores_do_not_depend_on_the_other_rows():
    X = plane_with_noise()
    model = VAE(2, **QUICK).fit(X)
    some = [3, 70, 5]
    np.testing.assert_allclose(
        model.score_samples(X)[some], model.score_samples(X[some]), rtol=1e-6
    )
    a, b = (model.log_prob_bound(X, random_state=s) for s in (0, 1))
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(a, model.log_prob_bound(X, random_state=0))


@pytest.mark.parametrize("variance", ["global", "predicted", 0.1])
def test_variances(variance):
    X = plane_with_noise()
    model = VAE(1, variance=variance, **QUICK).fit(X)
    assert np.isfinite(model.score(X))
    if variance == 0.1:
        assert model.net_.likelihood.log_scale.exp().item() ** 2 == pytest.approx(0.1)


def test_image_stacks():
    images = np.random.default_rng(0).random((40, 3, 4))
    model = VAE(2, likelihood="bernoulli", **QUICK).fit(images)
    assert model.sample(5, random_state=0).shape == (5, 3, 4)
    assert model.reconstruct(images).shape == images.shape


def test_sample_quality_is_measured_while_training():
    X = plane_with_noise(60)
    model = VAE(2, quality_every=2, **{**QUICK, "n_epochs": 4}).fit(X)
    assert np.isnan(model.history_["c2st"]).tolist() == [True, False, True, False]
    assert 0 <= model.history_["c2st"][1] <= 1
    assert np.isfinite(model.history_["mmd"][[1, 3]]).all()


CONV = {
    "architecture": "conv", "n_filters": (4,), "n_epochs": 20, "random_state": 0,
    "learning_rate_init": 0.02, "device": "cpu",
}  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"variance": "predicted"}, {"likelihood": "bernoulli"}]
)
def test_convolutions(options):
    """Bars of light: codes keep most of them, and the bounds are in order."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 4, 120)
    images = 0.05 + 0.9 * (np.arange(4)[:, None] == place[:, None, None])
    images = images.repeat(5, axis=2)
    if "likelihood" not in options:
        images = images + 0.1 * rng.normal(size=images.shape)
    model = VAE(3, **CONV, **options).fit(images)
    assert isinstance(model.net_.encoder, ConvEncoder)
    made = model.reconstruct(images)
    assert made.shape == images.shape and model.sample(3).shape == (3, 4, 5)
    share = 0.6 if options.get("variance") is None else 0.8
    assert np.mean((made - images) ** 2) < share * images.var()
    loose = model.log_prob_bound(images, n_samples=1).mean()
    assert loose < model.log_prob_bound(images, n_samples=16).mean()
    rows = images.reshape(120, -1)
    flat = VAE(3, **CONV, **options, image_shape=(4, 5), scaling="global").fit(rows)
    np.testing.assert_allclose(flat.encode(rows), model.encode(images), atol=1e-5)


def test_convolutions_for_labels_mixtures_and_importance_weights():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    images = rng.normal(size=(60, 4, 4)) + 3 * y[:, None, None]
    conditional = ConditionalVAE(1, **CONV).fit(images, y)
    gap = conditional.sample(50, y=1, random_state=0).mean()
    assert gap - conditional.sample(50, y=0, random_state=0).mean() > 1
    assert np.isfinite(IWAE(1, n_samples=3, **CONV).fit(images).score(images))
    mixture = VaDE(1, n_clusters=2, n_pretrain=5, **CONV).fit(images)
    assert mixture.predict_proba(images).shape == (60, 2)
    levels = (images > 1.5).astype(int)
    with pytest.raises(ValueError, match='architecture="dense"'):
        VAE(1, likelihood="categorical", **CONV).fit(levels)


@pytest.mark.filterwarnings(
    "ignore:no unit:pansophy.generative.PosteriorCollapseWarning"
)
@pytest.mark.parametrize("seed", range(3))
def test_independent_counts_are_no_worse_than_independent_columns(seed):
    """The bound of 600 rows of Poisson(3) is that of four Poissons to .1 nats.

    Random starts of the logarithms of rates left it up to .75 below, with samples up
    to 2,479; 80,000 counts of Poisson(3) exceed 25 with probability 1e-11.
    """
    X = np.random.default_rng(seed).poisson(3, (600, 4)).astype(float)
    model = VAE(2, likelihood="poisson", n_epochs=40, random_state=seed).fit(X)
    independent = poisson.logpmf(X, X.mean(axis=0)).sum(axis=1).mean()
    assert model.score(X) > independent - 0.1
    made = model.sample(20_000, random_state=seed)
    assert made.max() <= 25
    np.testing.assert_allclose(made.mean(axis=0), X.mean(axis=0), atol=0.3)


@pytest.mark.filterwarnings(
    "ignore:no unit:pansophy.generative.PosteriorCollapseWarning"
)
@pytest.mark.parametrize("likelihood", ["poisson", "normal"])
@pytest.mark.parametrize("architecture", ["dense", "conv"])
def test_scores_that_are_logarithms_start_without_a_code(likelihood, architecture):
    X = np.random.default_rng(0).poisson(2, (40, 64)).astype(float)
    model = VAE(
        3,
        likelihood=likelihood,
        architecture=architecture,
        image_shape=(8, 8),
        variance="predicted",
        random_state=0,
        n_epochs=1,
        learning_rate_init=1e-12,
    ).fit(X)
    scores = model.net_.scores(10 * torch.randn(50, 3)).detach()
    logarithms = scores[:, -64:]
    assert float(logarithms.std(dim=0).max()) < 1e-5
    if likelihood == "normal":
        assert float(scores[:, :64].std(dim=0).min()) > 0.01
