"""Layers in a row with a head."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import load, nn, save  # noqa: E402
from pansophy.nn.nets.heads import HEADS  # noqa: E402

torch.set_num_threads(1)


def test_it_is_the_perceptron(rng):
    coefs, intercepts = nn.glorot_uniform([3, 5, 4], rng)
    net = nn.Sequential(
        torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 4), head="softmax"
    ).double()
    with torch.no_grad():
        for layer, W, b in zip((net[0], net[2]), coefs, intercepts):
            layer.weight.copy_(torch.as_tensor(W.T))
            layer.bias.copy_(torch.as_tensor(b))
    mlp = nn.MLP(coefs, intercepts, activation="tanh")
    X = torch.as_tensor(rng.normal(size=(6, 3)))
    y = torch.as_tensor(rng.integers(0, 4, 6))
    torch.testing.assert_close(net(X), mlp(X))
    w = torch.as_tensor(rng.uniform(0, 2, 6))
    for batch in ((X, y), (X, y, w)):
        torch.testing.assert_close(net.losses(batch)["loss"], mlp.losses(batch)["loss"])
    assert net.capturable
    with pytest.raises(ValueError, match="head must be one of"):
        nn.Sequential(head="sigmoid")


def test_it_trains_in_bfloat16(rng):
    X = rng.normal(size=(64, 3)).astype(np.float32)
    torch.manual_seed(0)
    net = nn.Sequential(torch.nn.Linear(3, 16), nn.LeakyReLU(), torch.nn.Linear(16, 1))
    result = nn.train(
        net, (X, X[:, :1]), epochs=30, amp=True, device="cpu", seed=0,
        optimiser=nn.Adam(0.02),
    )  # fmt: skip
    assert result.history["loss"][-1] < 0.05 * result.history["loss"][0]

    class Own(torch.nn.Module):
        pass

    assert not nn.Sequential(Own()).capturable


def test_a_sequential_net_is_saved_with_its_head(tmp_path):
    for head in HEADS:
        net = nn.Sequential(torch.nn.Linear(2, 3), nn.ELU(), head=head)
        save(net, tmp_path / "net")
        back = load(tmp_path / "net")
        assert back.head is HEADS[head]
        x = torch.randn(4, 2)
        assert torch.equal(back(x), net(x))
