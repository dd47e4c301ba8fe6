"""Vector quantisation: straight-through gradients, codebook, counted prior."""

import numpy as np
import pytest
import torch

from pansophy.generative import VQVAE
from pansophy.generative.vae.vq_vae import VQVAENet

OPTIONS = {"random_state": 0, "device": "cpu"}


def make_net(**options):
    torch.manual_seed(0)
    return VQVAENet(4, 3, 5, 2, [6], **options).double()


def test_nearest_codebook_vector():
    net = make_net()
    e = torch.randn(7, 3, 2, dtype=torch.float64)
    apart = (e[:, :, None] - net.codebook).square().sum(-1)
    assert torch.equal(net.nearest(e), apart.argmin(-1))


def test_gradient_passes_straight_through():
    """Trap 10: d reconstruction / d e is that at q; the codebook gets none of it."""
    net = make_net(commitment=0.0)
    X = torch.randn(6, 4, dtype=torch.float64)
    e = net.vectors(X).detach().requires_grad_()
    net.vectors = lambda X: e
    losses = net.losses({"X": X})
    (through,) = torch.autograd.grad(losses["reconstruction"], e, retain_graph=True)
    q = net.codebook[net.nearest(e.detach())].detach().requires_grad_()
    direct = -net.likelihood.log_prob(X, net.scores(q)).sum(-1).mean()
    (wanted,) = torch.autograd.grad(direct, q)
    torch.testing.assert_close(through, wanted)
    assert (
        torch.autograd.grad(
            losses["reconstruction"], net.codebook, allow_unused=True, retain_graph=True
        )[0]
        is None
    )
    assert torch.autograd.grad(losses["codebook"], e, allow_unused=True)[0] is None


def test_commitment_moves_the_encoder_only():
    net = make_net(commitment=0.5)
    X = torch.randn(6, 4, dtype=torch.float64)
    losses = net.losses({"X": X})
    assert losses["commitment"].item() == pytest.approx(losses["codebook"].item() / 2)
    pulled = torch.autograd.grad(
        losses["commitment"], [net.codebook, net.encoder.layers[0].weight],
        allow_unused=True,
    )  # fmt: skip
    assert pulled[0] is None and pulled[1].abs().max() > 0


def test_counted_prior_is_a_distribution_of_codes():
    net = make_net()
    codes = np.array([[0, 1, 2], [0, 1, 2], [4, 3, 3]])
    net.count_prior(codes, None)
    every = torch.cartesian_prod(*[torch.arange(5)] * 3)
    assert float(net.log_prior(every).exp().sum()) == pytest.approx(1)
    likely = net.log_prior(torch.as_tensor(codes)).exp()
    assert float(likely[0]) > float(likely[2])
    torch.manual_seed(0)
    drawn = net.draw_codes(4000)
    share = (drawn == torch.as_tensor(codes[0])).all(1).double().mean()
    assert float(share) == pytest.approx(float(likely[0]), abs=0.03)
    weighted = make_net()
    weighted.count_prior(codes[[0, 2]], np.array([2.0, 1.0]))
    torch.testing.assert_close(weighted.first, net.first)
    torch.testing.assert_close(weighted.transition, net.transition)


def test_clusters_get_codes_of_their_own():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 300)
    X = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[kind] + 0.3 * rng.normal(
        size=(300, 2)
    )
    model = VQVAE(1, n_codes=4, n_epochs=40, learning_rate_init=0.02, **OPTIONS).fit(X)
    codes = model.encode(X)[:, 0]
    assert len({(k, c) for k, c in zip(kind, codes)}) == 4
    assert model.codebook_perplexity_ == pytest.approx(4, abs=0.1)
    assert model.codebook_.shape == (4, 8)
    made = model.sample(400, random_state=0)
    nearest = np.linalg.norm(made[:, None] - X[None], axis=2).min(axis=1)
    assert np.median(nearest) < 2
    assert model.score([[0.0, 0.0]]) > model.score([[4.5, 4.5]])


def test_codes_must_be_of_the_codebook():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = VQVAE(2, n_codes=4, n_epochs=2, **OPTIONS).fit(X)
    assert model.decode([[0, 3]]).shape == (1, 3)
    for bad in ([[0, 4]], [[-1, 0]], [[0.5, 1]]):
        with pytest.raises(ValueError, match="whole numbers from 0 to 3"):
            model.decode(bad)
