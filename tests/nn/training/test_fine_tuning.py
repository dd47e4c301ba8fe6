"""Fine-tuning and frozen layers: what is frozen is bit by bit what it was."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


def images(rng, n=20):
    return rng.random((n, 1, 4, 4), dtype=np.float32), np.arange(n) % 3


def test_frozen_weights_and_running_means_are_bitwise_unchanged(rng):
    net = nn.ConvNet((1, 4, 4), 2, n_filters=(3, 4))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    new = torch.nn.Linear(4, 3)
    start = new.weight.detach().clone()
    options = {"epochs": 3, "batch_size": 8, "device": "cpu", "seed": 0}
    result = nn.fine_tune(
        net,
        images(rng),
        replace={"output": new},
        optimiser=nn.Adam(decay=0.1),
        **options,
    )
    after = result.state.net.state_dict()
    for name, value in before.items():
        assert torch.equal(net.state_dict()[name], value)  # the source is not touched
        if not name.startswith("output"):
            assert torch.equal(after[name], value), name
    assert not torch.equal(after["output.weight"], start)


def test_named_layers_learn_as_well(rng):
    net = nn.ConvNet((1, 4, 4), 3, n_filters=(3, 4))
    layers = ("output", "blocks.1")
    options = {"epochs": 1, "batch_size": 8, "device": "cpu", "seed": 0}
    tuned = nn.fine_tune(net, images(rng), layers=layers, **options).state.net
    moved = {
        name
        for name, p in tuned.named_parameters()
        if not torch.equal(p, net.get_parameter(name))
    }
    assert {name.split(".")[0] for name in moved} == {"output", "blocks"}
    assert all("blocks.0" not in name for name in moved)


def test_freeze_and_unfreeze_by_name():
    net = nn.ConvNet((1, 4, 4), 2)
    whole = nn.count_parameters(net)
    nn.freeze(net, "blocks")
    assert nn.count_parameters(net) < whole
    assert nn.count_parameters(net, trainable=False) == whole
    assert nn.count_parameters(nn.unfreeze(net)) == whole
    with pytest.raises(AttributeError, match="body"):
        nn.freeze(net, "body")
    torch_net = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    with pytest.raises(ValueError, match=r"use pansophy.nn.BatchNorm"):
        nn.freeze(torch_net)
