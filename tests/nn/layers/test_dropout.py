"""Dropout and DropConnect: identity, expectation, off at prediction."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_rate_zero_is_the_identity():
    x = torch.randn(5, 4)
    assert nn.Dropout(0.0)(x) is x
    linear = torch.nn.Linear(4, 3)
    assert torch.equal(nn.DropConnect(linear, 0.0)(x), linear(x))


def test_off_at_prediction():
    x = torch.randn(5, 4)
    assert nn.Dropout(0.5).eval()(x) is x
    linear = torch.nn.Linear(4, 3)
    assert torch.equal(nn.DropConnect(linear, 0.5).eval()(x), linear(x))
    assert not torch.equal(nn.Dropout(0.5, always=True).eval()(x), x)


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_expectation_of_a_linear_layer_is_kept(rate):
    linear = torch.nn.Linear(6, 3)
    x = torch.randn(1, 6)
    draws = 20000
    units = linear(nn.Dropout(rate)(x.expand(draws, -1))).mean(0)
    torch.testing.assert_close(units, linear(x)[0], atol=0.05, rtol=0)
    layer = nn.DropConnect(linear, rate)
    weights = torch.stack([layer(x)[0] for _ in range(4000)]).mean(0)
    torch.testing.assert_close(weights, linear(x)[0], atol=0.1, rtol=0)


def test_kept_units_are_scaled_by_the_keep_probability():
    kept = nn.Dropout(0.75)(torch.ones(4000))
    assert set(kept.tolist()) == {0.0, 4.0}
    assert float((kept > 0).float().mean()) == pytest.approx(0.25, abs=0.03)


def test_channels_are_left_out_whole():
    out = nn.Dropout(0.5, channels=True)(torch.ones(8, 16, 3, 3))
    per_channel = out.flatten(2)
    assert bool((per_channel == per_channel[:, :, :1]).all())
    assert 0 < int((per_channel[:, :, 0] == 0).sum()) < 128


def test_dropped_weights_take_no_gradient():
    layer = nn.DropConnect(nn.Conv(1, 1, 3, bias=False), 0.5)
    layer(torch.rand(1, 1, 3, 3) + 1).sum().backward()
    zero = layer.layer.weight.grad == 0
    assert 0 < int(zero.sum()) < 9


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
def test_rates_outside_are_refused(rate):
    with pytest.raises(ValueError, match="rate must be a number from 0 to below 1"):
        nn.Dropout(rate)
    with pytest.raises(ValueError, match="rate must be"):
        nn.DropConnect(torch.nn.Linear(1, 1), rate)
