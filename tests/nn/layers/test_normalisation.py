"""Normalisation: parity with torch, batches of one row, weights, running statistics."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


def test_parity_with_torch_in_training_and_prediction():
    x = torch.randn(6, 4, 5, 3, dtype=torch.float64)
    ours, peer = nn.BatchNorm(4).double(), torch.nn.BatchNorm2d(4).double()
    for _ in range(3):
        torch.testing.assert_close(ours(x), peer(x))
    torch.testing.assert_close(ours.running_mean, peer.running_mean)
    torch.testing.assert_close(ours.running_var, peer.running_var)
    torch.testing.assert_close(ours.eval()(x), peer.eval()(x))
    group = torch.nn.GroupNorm(2, 4).double()
    torch.testing.assert_close(nn.GroupNorm(4, 2).double()(x), group(x))
    layer = torch.nn.LayerNorm(3).double()
    torch.testing.assert_close(nn.LayerNorm(3).double()(x), layer(x))


def test_weights_are_repeated_rows():
    x = torch.randn(4, 3, 2, 2, dtype=torch.float64)
    w = torch.tensor([1.0, 3.0, 2.0, 1.0], dtype=torch.float64)
    weighted, plain = nn.BatchNorm(3).double(), nn.BatchNorm(3).double()
    repeated = torch.repeat_interleave(x, w.long(), 0)
    found = torch.repeat_interleave(weighted(x, w), w.long(), 0)
    torch.testing.assert_close(found, plain(repeated))
    torch.testing.assert_close(weighted.running_mean, plain.running_mean)
    torch.testing.assert_close(weighted.running_var, plain.running_var)


# trap 7: prediction, a batch of one row, a last short batch, running means in `valid`
def test_answers_do_not_depend_on_the_batch_they_come_in():
    net = nn.ConvNet((1, 6, 6), 3).double().eval()
    x = torch.randn(9, 1, 6, 6, dtype=torch.float64)
    one_by_one = torch.cat([net(row[None]) for row in x])
    torch.testing.assert_close(one_by_one, net(x))


def test_a_training_batch_of_one_row_is_normalised_by_the_running_means():
    layer = nn.BatchNorm(3)
    layer.running_mean[:] = 2.0
    before = layer.running_mean.clone(), layer.running_var.clone()
    out = layer(torch.full((1, 3), 5.0))
    torch.testing.assert_close(out, torch.full((1, 3), 3.0), rtol=1e-4, atol=0)
    assert torch.equal(layer.running_mean, before[0])
    assert torch.equal(layer.running_var, before[1])
    assert bool(torch.isfinite(nn.BatchNorm(3)(torch.randn(1, 3, 2, 2))).all())


def small_set(n, rng):
    images = rng.random((n, 1, 4, 4), dtype=np.float32)
    return images, rng.integers(0, 2, n)


def test_a_last_batch_of_one_row_trains(rng):
    net = nn.ConvNet((1, 4, 4), 2, n_filters=(3,), pool_size=4)
    options = {"epochs": 2, "batch_size": 4, "device": "cpu", "seed": 0}
    result = nn.train(net, small_set(9, rng), **options)
    assert result.reason == "finished" and np.isfinite(result.history["loss"]).all()


def test_validation_does_not_move_the_running_means(rng):
    data, valid = small_set(8, rng), small_set(8, rng)
    options = {"epochs": 2, "batch_size": 4, "device": "cpu", "seed": 0}
    nets = []
    for more in ({}, {"valid": valid}):
        torch.manual_seed(0)
        net = nn.ConvNet((1, 4, 4), 2, n_filters=(3,))
        nets.append(nn.train(net, data, **options, **more).state.net)
    for a, b in zip(nets[0].state_dict().values(), nets[1].state_dict().values()):
        assert torch.equal(a, b)


def test_bad_arguments():
    with pytest.raises(ValueError, match="groups must divide the 6 channels"):
        nn.GroupNorm(6, 4)
    with pytest.raises(ValueError, match='normalisation must be "batch"'):
        nn.ConvNet((1, 4, 4), 2, normalisation="instance")
