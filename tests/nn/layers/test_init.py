"""Initial weights, and units that start equal."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.layers.init import EqualUnitsWarning  # noqa: E402


@pytest.mark.parametrize(
    ("scheme", "scale"),
    [
        ("glorot_uniform", (2 / 500) ** 0.5),
        ("glorot_normal", (2 / 500) ** 0.5),
        ("he_uniform", 0.1),
        ("he_normal", 0.1),
        ("lecun_normal", 200**-0.5),
        ("fan_out", 300**-0.5),
        ("normal", 0.1),
    ],
)
def test_sample_scale_matches_the_scheme(scheme, scale, rng):
    W = nn.init.draw_matrix(scheme, 200, 300, rng)
    assert W.std() == pytest.approx(scale, rel=0.02)
    assert abs(W.mean()) < 4 * scale / 60000**0.5
    if scheme.endswith("uniform"):
        assert abs(W).max() <= scale * 3**0.5


def test_signals_keep_their_size_under_he_and_relu(rng):
    H = rng.normal(size=(400, 256))
    for _ in range(10):
        H = np.maximum(H @ nn.init.draw_matrix("he_normal", 256, 256, rng), 0)
    assert 0.5 < (H**2).mean() < 2


@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_orthogonal(shape, rng):
    W = nn.init.draw_matrix("orthogonal", *shape, rng)
    small = W @ W.T if shape[0] < shape[1] else W.T @ W
    assert small == pytest.approx(np.eye(5), abs=1e-12)


def test_equal_start_is_warned_of_and_stays_equal(rng):
    with pytest.warns(EqualUnitsWarning, match="hidden layer 1 start with equal"):
        coefs, intercepts = nn.init.initial_weights([3, 4, 1], rng, "constant")
    with pytest.warns(EqualUnitsWarning):
        net = nn.MLP(coefs, intercepts, activation="tanh", head="identity")
    X = rng.normal(size=(50, 3))
    nn.train(net, (X, X[:, :1] * X[:, 1:2]), epochs=20, seed=0, device="cpu")
    W = net.weights[0].detach().numpy()
    assert abs(W - 0.1).max() > 1e-3  # it has moved
    assert pytest.approx(np.repeat(W[:, :1], 4, axis=1), abs=1e-12) == W
    with pytest.raises(ValueError, match="scheme must be one of"):
        nn.init.draw_matrix("xavier", 2, 2, rng)


def test_modules_are_drawn_anew():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 5), torch.nn.BatchNorm2d(64), torch.nn.Linear(64, 900)
    )
    nn.init.initialise(net, "he_normal", 0)
    assert net[0].weight.std().item() == pytest.approx((2 / 75) ** 0.5, rel=0.05)
    assert net[2].weight.std().item() == pytest.approx((2 / 64) ** 0.5, rel=0.05)
    assert not net[0].bias.any() and (net[1].weight == 1).all()
    first = net[0].weight.clone()
    nn.init.initialise(net, "he_normal", 0)
    assert torch.equal(first, net[0].weight)
