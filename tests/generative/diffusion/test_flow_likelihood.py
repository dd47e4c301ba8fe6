"""Densities along an equation: exact for normal rows, probes fixed in a solution."""

import numpy as np
import pytest
import torch
from scipy import stats

from pansophy.generative import UNet, denoiser_log_prob
from pansophy.generative.diffusion.denoising_nets import FlatImages
from pansophy.generative.diffusion.flow_likelihood import field_and_trace, trace_probes

COV = np.array([[1.0, 0.5], [0.5, 0.7]])


def normal_denoiser(z, sigma):
    gain = torch.tensor(COV @ np.linalg.inv(COV + sigma**2 * np.eye(2)))
    return z @ gain.T


def test_normal_density_is_exact():
    """Trap 14."""
    x = torch.tensor(np.random.default_rng(0).normal(size=(20, 2)))
    found = denoiser_log_prob(normal_denoiser, x, sigma_min=1e-4, n_steps=150)
    truth = stats.multivariate_normal(np.zeros(2), COV).logpdf(x.numpy())
    # N(0, sigma_max^2 + 1) stands for N(0, sigma_max^2 + COV): 1e-4 of a nat
    np.testing.assert_allclose(found, truth, atol=2e-4)
    white = denoiser_log_prob(
        lambda z, s: z / (1 + s * s), x, sigma_min=1e-5, n_steps=200
    )
    truth = stats.norm.logpdf(x.numpy()).sum(1)
    np.testing.assert_allclose(white, truth, atol=1e-7)


def test_estimated_trace_is_unbiased_and_fixed():
    torch.manual_seed(0)
    A = torch.randn(6, 6, dtype=torch.float64)
    field = lambda z: z @ A.T
    z = torch.randn(3, 6, dtype=torch.float64)
    f, exact = field_and_trace(field, z, None)
    torch.testing.assert_close(f, field(z))
    torch.testing.assert_close(exact, A.trace().expand(3))
    guesses = [
        field_and_trace(field, z, trace_probes(6, "hutchinson", z))[1]
        for _ in range(800)
    ]
    # of a row: all rows see the same signs
    assert all((g == g[0]).all() for g in guesses)
    mean = torch.stack(guesses)[:, 0].mean()
    error = torch.stack(guesses)[:, 0].std() / 800**0.5
    assert abs(mean - A.trace()) < 5 * error


def test_probe_is_drawn_once_for_a_solution(monkeypatch):
    calls = []
    original = torch.rand
    monkeypatch.setattr(
        torch, "rand", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    x = torch.zeros(2, 2, dtype=torch.float64)
    denoiser_log_prob(normal_denoiser, x, n_steps=5, trace="hutchinson")
    assert len(calls) == 1


@pytest.mark.parametrize("d", [2, 40])
def test_auto_takes_the_exact_trace_for_few_columns(d):
    probes = trace_probes(d, "auto", torch.zeros(1))
    assert (probes is None) == (d == 2)


def test_estimate_of_many_columns_is_near_the_truth():
    d = 40
    x = torch.tensor(np.random.default_rng(1).normal(size=(5, d)))
    torch.manual_seed(0)
    found = denoiser_log_prob(lambda z, s: z / (1 + s * s), x, n_steps=40)
    # the Jacobian is a multiple of I, for which signs are exact
    np.testing.assert_allclose(found, stats.norm.logpdf(x.numpy()).sum(1), atol=0.01)


def test_nets_whose_gradients_cannot_be_batched():
    """A U-Net of images kept channels last: the trace is that of the whole Jacobian."""
    torch.manual_seed(0)
    net = FlatImages(UNet(1, (4, 8)), (3, 4))
    for p in net.parameters():
        p.data.add_(0.2 * torch.randn_like(p))
    net = net.double()
    field = lambda x: net(x, torch.zeros(len(x), dtype=torch.float64))
    z = torch.randn(2, 12, dtype=torch.float64)
    f, trace = field_and_trace(field, z, None)
    torch.testing.assert_close(f, field(z).detach())
    J = torch.autograd.functional.jacobian(lambda x: field(x).sum(0), z)
    torch.testing.assert_close(trace, J.permute(1, 0, 2).diagonal(0, 1, 2).sum(1))
