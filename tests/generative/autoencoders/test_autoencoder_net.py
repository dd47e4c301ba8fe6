"""The terms of an autoencoder's loss, and tied weights."""

import pytest
import torch

from pansophy.distributions import kl
from pansophy.generative.autoencoders.autoencoder_net import (
    AutoencoderNet,
    TiedDecoder,
    bernoulli_divergence,
)
from pansophy.nn import DenseLayers


def make_net(**options):
    torch.manual_seed(0)
    encoder = DenseLayers([4, 6, 3], activation="tanh")
    decoder = DenseLayers([3, 6, 4], activation="tanh")
    return AutoencoderNet(encoder, decoder, 3, **options).double()


@pytest.mark.parametrize(
    ("r", "wanted"), [(0.2, 0.09394303), (0.01, 0.04129109), (0.05, 0.0)]
)
def test_bernoulli_divergence(r, wanted):
    """KL(.05, r), worked by hand; and the library's general divergence."""
    found = float(bernoulli_divergence(0.05, torch.tensor(r, dtype=torch.float64)))
    assert found == pytest.approx(wanted, abs=5e-9)
    assert found == pytest.approx(float(kl([0.05, 0.95], [r, 1 - r])), abs=1e-12)


def test_gradient_of_the_sparsity_term():
    """A unit gains beta (-rho / r + (1 - rho) / (1 - r)) / n before its slope."""
    net = make_net(code_activation="logistic", sparsity=2.0, target_activation=0.05)
    X = torch.randn(10, 4, dtype=torch.float64)
    raw = net.encoder(X).detach().requires_grad_()
    a = raw.sigmoid()
    r = a.mean(0)
    (2.0 * bernoulli_divergence(0.05, r).sum()).backward()
    r = r.detach()
    delta = 2.0 / 10 * (-0.05 / r + 0.95 / (1 - r)) * (a * (1 - a)).detach()
    torch.testing.assert_close(raw.grad, delta)


def test_losses_add_up_and_weights_count_rows():
    net = make_net(code_activation="logistic", sparsity=0.5, contraction=0.3)
    X = torch.randn(5, 4, dtype=torch.float64)
    w = torch.tensor([1.0, 2.0, 0.0, 3.0, 1.0], dtype=torch.float64)
    repeated = X.repeat_interleave(w.long(), 0)
    weighted, plain = net.losses({"X": X, "w": w}), net.losses({"X": repeated})
    assert set(weighted) == {"reconstruction", "contraction", "sparsity"}
    for name in weighted:
        torch.testing.assert_close(weighted[name], plain[name])


def test_tied_decoder_is_the_transpose():
    torch.manual_seed(0)
    encoder = DenseLayers([5, 2], activation="tanh")
    decoder = TiedDecoder([2, 5], "tanh")
    code = torch.randn(3, 2)
    torch.testing.assert_close(
        decoder(code, encoder), code @ encoder.layers[0].weight + decoder.biases[0]
    )
    net = AutoencoderNet(encoder, decoder, 2)
    assert sum(p.numel() for p in net.parameters()) == 10 + 2 + 5
