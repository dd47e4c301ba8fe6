"""Bounds of the VAE's net: divergence, closed expectation, importance weights."""

import numpy as np
import pytest
import torch

from pansophy.decomposition import ProbabilisticPCA
from pansophy.distributions import kl_gaussian
from pansophy.generative.vae.iwae import IWAENet
from pansophy.generative.vae.likelihoods import NormalLikelihood
from pansophy.generative.vae.vae import VAENet, kl_to_standard_normal


def make_net(hidden=(), n_classes=0, kind=VAENet, **options):
    torch.manual_seed(0)
    return kind(NormalLikelihood(4), 2, hidden, n_classes=n_classes, **options).double()


@pytest.mark.parametrize(
    ("mean", "scale", "wanted"),
    [(0, 1, 0.0), (1, 1, 0.5), (0, 2, 0.806853), (0.5, 0.5, 0.443147)],
)
def test_divergence_worked_numbers(mean, scale, wanted):
    m = torch.tensor([float(mean)], dtype=torch.float64)
    log_var = torch.tensor([2 * np.log(scale)], dtype=torch.float64)
    found = kl_to_standard_normal(m, log_var).sum().item()
    assert found == pytest.approx(wanted, abs=5e-7)
    assert found == pytest.approx(float(kl_gaussian(mean, scale**2)), abs=1e-12)


def test_kl_is_summed_over_units_and_averaged_over_rows():
    """Trap 9."""
    net = make_net((5,))
    X = torch.randn(7, 4, dtype=torch.float64)
    mean, log_var = net.posterior(X)
    rows = [
        float(kl_gaussian(m.detach().numpy(), v.detach().exp().numpy()))
        for m, v in zip(mean, log_var)
    ]
    assert net.losses({"X": X})["kl"].item() == pytest.approx(np.mean(rows))


def test_closed_expectation_is_the_mean_over_draws():
    net = make_net()
    assert net.linear_normal
    X = torch.randn(3, 4, dtype=torch.float64)
    with torch.no_grad():
        mean, log_var = net.posterior(X)
        exact = net.expected_log_likelihood(X, mean, log_var)
        eps = torch.randn(100_000, 3, 2, dtype=torch.float64)
        values = net.log_likelihood(X, mean + (log_var / 2).exp() * eps)
    error = values.std(0) / 100_000**0.5
    assert ((exact - values.mean(0)).abs() < 5 * error).all()
    assert not make_net((3,)).linear_normal


def test_one_importance_weight_is_the_elbo_on_average():
    net = make_net((6,))
    X = torch.randn(5, 4, dtype=torch.float64)
    with torch.no_grad():
        log_w = net.log_weights(X, n_samples=40_000)
        mean, log_var = net.posterior(X)
        eps = torch.randn(40_000, 5, 2, dtype=torch.float64)
        expected = net.log_likelihood(X, mean + (log_var / 2).exp() * eps)
    elbo = expected.mean(0) - kl_to_standard_normal(mean, log_var).sum(1)
    error = (log_w.var(0) / 40_000 + expected.var(0) / 40_000).sqrt()
    assert ((log_w.mean(0) - elbo).abs() < 5 * error).all()
    bounds = [
        (log_w.view(-1, k, 5).logsumexp(1) - np.log(k)).mean().item()
        for k in (1, 2, 8, 40)
    ]
    assert bounds == sorted(bounds), "the bound does not fall with K"


def check_slope(p, loss):
    """The gradient of one entry of a parameter against a central difference."""
    flat, index = p.detach().view(-1), p.numel() // 2
    old = flat[index].item()
    values = []
    for step in (1e-6, -1e-6):
        flat[index] = old + step
        values.append(loss().item())
    flat[index] = old
    slope = (values[0] - values[1]) / 2e-6
    assert p.grad.view(-1)[index].item() == pytest.approx(slope, abs=1e-6)


def test_gradients_pass_to_mean_and_spread():
    """Gradient check of the loss with the noise fixed."""
    net = make_net((3,))
    X = torch.randn(4, 4, dtype=torch.float64)

    def loss():
        torch.manual_seed(1)
        return sum(net.losses({"X": X}).values())

    loss().backward()
    for p in net.parameters():
        check_slope(p, loss)


def test_labels_reach_encoder_and_decoder():
    net = make_net((3,), n_classes=2)
    X = torch.randn(1, 4, dtype=torch.float64).expand(2, -1)
    y = torch.tensor([0, 1])
    mean, _ = net.posterior(X, y)
    assert not torch.equal(mean[0], mean[1])
    F = net.scores(torch.zeros(5, 2, 2, dtype=torch.float64), y)
    assert F.shape == (5, 2, 4) and not torch.equal(F[0, 0], F[0, 1])


def test_bound_at_the_exact_posterior_is_the_likelihood_of_ppca():
    """Trap 7: with the weights of PPCA put in, both bounds are log p(x) to 1e-9."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 4)) + rng.normal(size=(60, 4))
    ppca = ProbabilisticPCA(2).fit(X)
    noise = ppca.noise_variance_
    W = ppca.components_.T
    M = W.T @ W + noise * np.eye(2)  # diagonal: the posterior has no correlations
    net = make_net()
    with torch.no_grad():
        net.decoder.layers[0].weight.copy_(torch.as_tensor(W))
        net.decoder.layers[0].bias.copy_(torch.as_tensor(ppca.mean_))
        net.likelihood.log_scale.fill_(np.log(noise) / 2)
        gain = np.linalg.solve(M, W.T)
        layer = net.encoder.layers[0]
        layer.weight.copy_(torch.as_tensor(np.vstack([gain, np.zeros((2, 4))])))
        spread = np.log(noise / np.diag(M))
        layer.bias.copy_(torch.as_tensor(np.r_[-gain @ ppca.mean_, spread]))
        rows = torch.as_tensor(X)
        losses = net.losses({"X": rows})
        weights = net.log_weights(rows, n_samples=3)
    elbo = -float(losses["reconstruction"] + losses["kl"])
    assert elbo == pytest.approx(ppca.loglike_, abs=1e-9)
    truth = ppca.score_samples(X)
    for draw in weights:  # every draw has the same weight
        np.testing.assert_allclose(draw, truth, atol=1e-9)


def test_importance_weighted_loss_is_the_bound_and_has_its_gradient():
    """Trap 8: minus the log of the mean of K weights, not the mean of their logs."""
    net = make_net((3,), kind=IWAENet, n_samples=5)
    X = torch.randn(4, 4, dtype=torch.float64)

    def loss():
        torch.manual_seed(1)
        return net.losses({"X": X})["bound"]

    torch.manual_seed(1)
    log_w = net.log_weights(X, n_samples=5)
    assert log_w.shape == (5, 4)
    wanted = -log_w.exp().mean(0).log().mean()
    torch.testing.assert_close(loss(), wanted)
    assert float(loss().detach()) < -float(log_w.mean().detach()) - 1e-3
    loss().backward()
    for p in net.parameters():
        check_slope(p, loss)
