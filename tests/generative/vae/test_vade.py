"""Variational deep embedding: five terms, responsibilities, planted clusters."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from pansophy.base import InterruptedFitWarning
from pansophy.distributions import Normal
from pansophy.generative import VaDE
from pansophy.generative.vae.likelihoods import NormalLikelihood
from pansophy.generative.vae.vade import LatentMixturePrior, VaDENet
from pansophy.generative.vae.vae import VAENet
from pansophy.mixture import GaussianMixture


def make_net(n_clusters=3):
    torch.manual_seed(0)
    vae = VAENet(NormalLikelihood(4), 2, (5,))
    net = VaDENet(vae, LatentMixturePrior(n_clusters, 2)).double()
    with torch.no_grad():
        net.prior.scores.copy_(torch.randn(n_clusters))
        net.prior.log_var.copy_(torch.randn(n_clusters, 2))
    return net


def test_responsibilities_are_those_of_a_gaussian_mixture():
    net = make_net()
    z = torch.randn(6, 2, dtype=torch.float64)
    prior = net.prior
    weights = prior.scores.softmax(-1).detach().numpy()
    components = Normal(
        prior.mean.detach().numpy(), prior.variances.detach().numpy(), "diag"
    )
    joint = components.log_prob(z.numpy()) + np.log(weights)
    wanted = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    found = net.responsibilities(z).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_five_terms_of_the_bound():
    """Each term against its definition, at the draw of z that the net makes."""
    net = make_net()
    X = torch.randn(6, 4, dtype=torch.float64)
    with torch.no_grad():
        torch.manual_seed(1)
        terms = {k: float(v) for k, v in net.losses({"X": X}).items()}
        torch.manual_seed(1)
        mean, log_var = net.posterior(X)
        z = mean + (log_var / 2).exp() * torch.randn_like(mean)
        log_px = net.vae.log_likelihood(X, z).numpy()
    m, v = mean.numpy(), log_var.exp().numpy()
    pi = net.prior.scores.softmax(-1).detach().numpy()
    mu, s2 = net.prior.mean.detach().numpy(), net.prior.variances.detach().numpy()
    g = net.responsibilities(z).detach().numpy()
    # E_q log N(z; mu_c, s_c^2) = log N(m; mu_c, s_c^2) - sum v / 2 s_c^2
    at_mean = Normal(mu, s2, "diag").log_prob(m)
    expected = at_mean - (v[:, None] / s2).sum(axis=2) / 2
    entropy = 0.5 * (1 + np.log(2 * np.pi * v)).sum(axis=1)
    wanted = {
        "reconstruction": -log_px.mean(),
        "cluster_density": -(g * expected).sum(axis=1).mean(),
        "cluster_share": -(g * np.log(pi)).sum(axis=1).mean(),
        "code_entropy": -entropy.mean(),
        "cluster_entropy": (g * np.log(g)).sum(axis=1).mean(),
    }
    assert list(terms) == list(wanted)
    assert terms == pytest.approx(wanted)


def test_the_five_terms_are_the_loss_that_is_reported():
    X, _ = make_blobs(60, 3, random_state=0)
    model = VaDE(
        2, n_clusters=2, n_epochs=4, n_pretrain=1, random_state=0, device="cpu"
    )
    history = model.fit(X).history_
    names = [
        "reconstruction", "cluster_density", "cluster_share", "code_entropy",
        "cluster_entropy",
    ]  # fmt: skip
    total = sum(history[name][1:] for name in names)
    np.testing.assert_allclose(history["loss"][1:], total)
    assert np.isnan(history["cluster_share"][0]), "an autoencoder at first"


def test_one_cluster_is_a_vae_with_a_learnt_prior():
    net = make_net(1)
    X = torch.randn(5, 4, dtype=torch.float64)
    with torch.no_grad():
        terms = net.losses({"X": X})
        mean, log_var = net.posterior(X)
    assert float(terms["cluster_share"]) == float(terms["cluster_entropy"]) == 0
    from pansophy.distributions import kl_gaussian

    m, v = net.prior.mean[0].detach().numpy(), net.prior.variances[0].detach().numpy()
    exact = [
        float(kl_gaussian(a.numpy(), b.exp().numpy(), m, v))
        for a, b in zip(mean, log_var)
    ]
    found = float(terms["cluster_density"] + terms["code_entropy"])
    assert found == pytest.approx(np.mean(exact))


def test_finds_planted_clusters_and_samples_from_them():
    X, y = make_blobs([120, 60, 60], 5, random_state=3)
    model = VaDE(2, n_clusters=3, n_epochs=60, random_state=0, device="cpu").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(sorted(model.weights_), [0.25, 0.25, 0.5], atol=0.06)
    made = model.sample(300, random_state=0)
    centres = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    apart = np.linalg.norm(made[:, None] - centres, axis=2).min(axis=1)
    assert np.quantile(apart, 0.7) < np.linalg.norm(centres[0] - centres[1]) / 2
    assert model.cluster_means_.shape == (3, 2)


def test_prior_draws_from_the_mixture():
    net = make_net()
    with torch.no_grad():
        z = net.draw_codes(20_000).numpy()
    prior = net.prior
    weights = prior.scores.softmax(-1).detach().numpy()
    mean = weights @ prior.mean.detach().numpy()
    np.testing.assert_allclose(z.mean(axis=0), mean, atol=0.05)


def test_epochs_of_pretraining_do_not_stop_the_training():
    """The whole objective is not trained yet, so its held-out value says nothing."""
    X, y = make_blobs(300, 5, centers=3, random_state=2)
    model = VaDE(
        2, n_clusters=3, n_epochs=60, early_stopping=True, random_state=0, device="cpu"
    ).fit(X)
    assert model.n_iter_ > 40
    assert np.argmin(model.history_["valid_loss"]) >= 20
    assert adjusted_rand_score(y, model.predict(X)) > 0.95


def test_clusters_after_an_interruption_of_the_pretraining(monkeypatch):
    """The mixture starts from the codes that there are."""
    X, y = make_blobs(300, 5, centers=3, random_state=3)
    losses, calls = VaDENet.losses, []

    def interrupted(self, batch):
        calls.append(1)
        if len(calls) > 100:
            raise KeyboardInterrupt
        return losses(self, batch)

    monkeypatch.setattr(VaDENet, "losses", interrupted)
    model = VaDE(2, n_clusters=3, random_state=0, device="cpu")
    with pytest.warns(InterruptedFitWarning):
        model.fit(X)
    assert model.n_iter_ < 20 and not model.net_.pretraining
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_an_interrupted_mixture_ends_the_training(monkeypatch):
    X, _ = make_blobs(100, 5, centers=3, random_state=3)
    fit, calls = GaussianMixture.fit, []

    def interrupted_once(self, X, y=None, sample_weight=None):
        calls.append(1)
        fit(self, X, sample_weight=sample_weight)
        if len(calls) == 1:
            warnings.warn("interrupted", InterruptedFitWarning, stacklevel=2)
        return self

    monkeypatch.setattr(GaussianMixture, "fit", interrupted_once)
    model = VaDE(2, n_clusters=3, n_epochs=10, random_state=0, device="cpu")
    with pytest.warns(InterruptedFitWarning, match="VaDE was interrupted after 4"):
        model.fit(X)
    assert len(calls) == 2 and len(np.unique(model.labels_)) == 3
