"""Monotone splines: inverse, slope, tails, gradients, float32."""

import pytest
import torch

from pansophy.generative.flows.rational_quadratic_spline import (
    spline_forward,
    spline_inverse,
    spline_knots,
)


def some_spline(n=200, d=2, K=6, seed=0, scale=2.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=dtype)
    return 3 * draw(n, d), scale * draw(n, d, 3 * K - 1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5)]
)
def test_inverse_undoes_forward(dtype, tolerance):
    """To rounding: an error of y becomes one of x by the slope, which may be 1e-5."""
    x, parameters = some_spline(dtype=dtype)
    y, there = spline_forward(x, parameters)
    back, home = spline_inverse(y, parameters)
    slope = there.exp().clamp(max=1.0)
    assert ((back - x).abs() * slope).max() < tolerance
    steady = there > -5
    near = {"rtol": 0, "atol": 1e4 * tolerance}
    torch.testing.assert_close(there[steady], -home[steady], **near)


def test_slope_is_the_derivative():
    x, parameters = some_spline()
    x.requires_grad_()
    y, log_slope = spline_forward(x, parameters)
    (g,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(log_slope.detach().exp(), g)
    assert (g > 0).all()


def test_parameters_of_zero_are_the_identity():
    x, parameters = some_spline()
    y, log_slope = spline_forward(x, 0 * parameters)
    torch.testing.assert_close(y, x)
    torch.testing.assert_close(log_slope, 0 * x, atol=1e-9, rtol=0)


def test_tails_are_straight_and_their_gradients_finite():
    """The double where: rows far outside give no NaN, forward or backward."""
    x = torch.tensor([[1e6], [-1e6], [5.0], [-5.0], [0.0]], requires_grad=True)
    parameters = torch.randn(5, 1, 17, requires_grad=True)
    for function in (spline_forward, spline_inverse):
        y, log_slope = function(x, parameters)
        assert y[0] == 1e6 and y[1] == -1e6 and (log_slope[:4] == 0).all()
        grads = torch.autograd.grad((y + log_slope).sum(), [x, parameters])
        assert all(g.isfinite().all() for g in grads)
        assert (grads[1][:2] == 0).all()


def test_the_map_is_continuous_at_knots_and_at_the_box():
    _, parameters = some_spline(1, 1)
    knots = spline_knots(parameters[..., :6], 5.0)[0, 0]
    values = []
    for shift in (-1e-9, 0.0, 1e-9):
        x = (knots + shift)[:, None]
        values.append(spline_forward(x, parameters.expand(len(x), 1, -1))[0])
    torch.testing.assert_close(values[0], values[1], atol=1e-6, rtol=0)
    torch.testing.assert_close(values[2], values[1], atol=1e-6, rtol=0)
    assert (values[1].diff(dim=0) > 0).all()
