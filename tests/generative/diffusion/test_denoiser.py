"""Denoisers: the table of parametrisations, losses, guidance, learnt variances."""

import math

import numpy as np
import pytest
import torch

from pansophy.generative import PARAMETRIZATIONS, Denoiser, DenoisingMLP
from pansophy.generative.diffusion.denoiser import (
    GuidedDenoiser,
    interpolated_variance,
    learnt_variance_cost,
    reverse_variance_bounds,
    uniform_spread,
)
from pansophy.generative.diffusion.diffusion_process import (
    convert_prediction,
    noise_loss_weight,
)
from pansophy.generative.diffusion.noise_schedule import noise_schedule

SIGMA = torch.tensor([0.01, 0.5, 1.0, 7.0, 60.0], dtype=torch.float64)


class Target(torch.nn.Module):
    """A net that answers with what it is told."""

    def __init__(self, value):
        super().__init__()
        self.value = torch.nn.Parameter(value)

    def forward(self, x, c, context=None):
        return self.value


@pytest.mark.parametrize("name", list(PARAMETRIZATIONS))
def test_true_predictions_give_the_row_back(name):
    """What each row of the table predicts, as its text says."""
    rng = np.random.default_rng(0)
    x0, noise = (torch.tensor(a) for a in rng.normal(size=(2, 5, 3)))
    s = SIGMA[:, None]
    z = x0 + s * noise
    unit = 1 / torch.sqrt(1 + s * s)
    v = unit * noise - s * unit * x0
    truth = {
        "ddpm": noise, "cosine": noise, "vp": noise, "ve": -noise, "v": v, "edm": -v,
        "x0": x0, "flow_matching": noise - x0,
    }[name]  # fmt: skip
    D = Denoiser(Target(truth), name).double()(z, SIGMA)
    torch.testing.assert_close(D, x0, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", list(PARAMETRIZATIONS))
def test_simple_weights_are_those_of_the_net_itself(name):
    net = Denoiser(torch.nn.Linear(1, 1), name)
    row = PARAMETRIZATIONS[name]
    weights = net.level_weights(None, SIGMA, None)
    torch.testing.assert_close(weights, row.scalings(SIGMA).out ** -2)


@pytest.mark.parametrize("name", list(PARAMETRIZATIONS))
def test_levels_rise_with_u_and_stay_in_the_range_of_sampling(name):
    row = PARAMETRIZATIONS[name]
    u = torch.linspace(1e-3, 1 - 1e-3, 999, dtype=torch.float64)
    sigma = row.level(u)
    assert (sigma.diff() > 0).all() and (sigma > 0).all()
    assert row.level(torch.tensor(0.5, dtype=torch.float64)) < row.sigma_max
    c = row.scalings(sigma)
    assert all(part.isfinite().all() for part in c)
    if name != "flow_matching":
        torch.testing.assert_close(c.into, 1 / torch.sqrt(1 + sigma**2))


def test_v_of_the_table_is_v_of_the_process():
    x0, noise = torch.tensor([[1.0]]).double(), torch.tensor([[-2.0]]).double()
    for sigma in (0.1, 3.0):
        x_t = (x0 + sigma * noise) / math.sqrt(1 + sigma**2)
        v = convert_prediction(noise, x_t, sigma, "noise", "v")
        D = Denoiser(Target(v), "v").double()(x0 + sigma * noise, sigma)
        torch.testing.assert_close(D, x0)


def test_elbo_weights_of_a_schedule_are_the_weighted_noise_loss():
    schedule = noise_schedule("linear", 30)
    net = Denoiser(
        torch.nn.Linear(1, 1), "ddpm", weighting="elbo", levels=schedule.sigma
    )
    # |D - x_0|^2 = sigma^2 |eps - eps(x)|^2
    found = net.schedule_weights()[1:].numpy() * schedule.sigma[1:] ** 2 / 30
    np.testing.assert_allclose(found, noise_loss_weight(schedule), rtol=1e-9)


def test_elbo_weights_in_continuous_time_are_the_fall_of_the_signal():
    """The mean of sigma'(u) / sigma^3 over u is half the change of sigma^-2."""
    net = Denoiser(torch.nn.Linear(1, 1), "ve", weighting="elbo")
    u = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    sigma = net.row.level(u)
    mean = float(net.level_weights(u, sigma, None).mean())
    low, high = 0.005, 80.0
    assert mean == pytest.approx(0.5 * (low**-2 - high**-2), rel=1e-3)


def test_min_snr_weights_have_a_limit():
    net = Denoiser(torch.nn.Linear(1, 1), "ddpm", weighting="min_snr")
    weights = net.level_weights(None, SIGMA, None)
    assert weights.max() == 5 and weights[-1] == pytest.approx(60.0**-2)


def test_number_of_steps_does_not_change_the_denoiser():
    """Trap 5: the same sigma gives the same output, whatever T is."""
    torch.manual_seed(0)
    mlp = DenoisingMLP(2, (8,))
    for p in mlp.parameters():
        p.data.add_(0.1 * torch.randn_like(p))
    few, many = (
        Denoiser(mlp, "ddpm", levels=noise_schedule("cosine", T).sigma)
        for T in (500, 1000)
    )
    z = torch.randn(4, 2)
    sigma = noise_schedule("cosine", 500).sigma[99]  # t = 100 of 500, 200 of 1000
    assert noise_schedule("cosine", 1000).sigma[199] == pytest.approx(sigma)
    torch.testing.assert_close(few(z, sigma), many(z, sigma))


def test_uniform_numbers_of_a_batch_are_spread():
    u = uniform_spread(100, torch.zeros(1)).sort().values
    assert (u.diff()[1:-1] - 0.01).abs().max() < 1e-9
    assert u[0] > 0 and u[-1] < 1


def conditional_denoiser():
    torch.manual_seed(1)
    net = DenoisingMLP(2, (8,), n_context=3)
    for p in net.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return Denoiser(net, "edm", n_classes=3).eval()


def test_guidance_scales():
    """Trap 6: 0 is the model without y, 1 the conditional one; linear in between."""
    denoiser = conditional_denoiser()
    z = torch.randn(5, 2)
    y = torch.tensor([0, 1, 2, 0, 1])
    context = denoiser.context(y)
    given = denoiser(z, 1.0, context)
    without = denoiser(z, 1.0, torch.zeros_like(context))
    assert not torch.allclose(given, without)
    torch.testing.assert_close(denoiser(z, 1.0), without)
    guided = lambda w: GuidedDenoiser(denoiser, context, w)(z, 1.0)
    torch.testing.assert_close(guided(0.0), without)
    torch.testing.assert_close(guided(1.0), given)
    torch.testing.assert_close(guided(3.0), without + 3 * (given - without))


def test_hidden_classes_are_trained():
    """With every class hidden, the loss does not depend on y; with none it does."""
    denoiser = conditional_denoiser().train()
    x = torch.randn(64, 2)
    y = torch.randint(0, 3, (64,))

    def loss(labels):
        torch.manual_seed(0)
        return float(denoiser.losses({"X": x, "y": labels})["loss"].detach())

    denoiser.context_dropout = 1.0
    assert loss(y) == loss((y + 1) % 3)
    denoiser.context_dropout = 0.0
    assert loss(y) != loss((y + 1) % 3)


def test_rows_count_by_their_weights():
    denoiser = Denoiser(Target(torch.zeros(1)), "edm").double()
    x = torch.randn(4, 2, dtype=torch.float64)
    w = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    torch.manual_seed(2)
    rows = denoiser.row_losses(x)["loss"]
    torch.manual_seed(2)
    total = denoiser.losses({"X": x, "w": w})["loss"]
    torch.testing.assert_close(total, rows[2])


def test_learnt_variance_is_best_where_it_is_right():
    """The cost is the divergence: smallest at the true variance of the step."""
    levels = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    x = torch.zeros(1, 1, dtype=torch.float64)
    z = torch.ones(1, 1, dtype=torch.float64)
    index = torch.tensor([2])
    least, largest = reverse_variance_bounds(levels[2], levels[1])
    hs = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)
    D = torch.full_like(x, 0.4)  # the mean is off: a larger variance is better
    cost = [
        float(learnt_variance_cost(z, x, D, h.view(1, 1), levels, index)) for h in hs
    ]
    best = interpolated_variance(hs[int(np.argmin(cost))], least, largest)
    gap = (1 - 1 / 4) * 0.4
    assert float(best) == pytest.approx(float(least) + gap**2, rel=0.02)
    at_least = learnt_variance_cost(z, x, x, 0 * x, levels, index)
    assert float(at_least) == pytest.approx(0, abs=1e-12)


def test_variance_needs_a_schedule():
    with pytest.raises(ValueError, match="levels of a schedule"):
        Denoiser(torch.nn.Linear(1, 1), learn_variance=True)
    plain = Denoiser(DenoisingMLP(1, (4,)), "edm")
    with pytest.raises(ValueError, match="has learnt it"):
        plain.with_variance(torch.zeros(1, 1), 1.0)
