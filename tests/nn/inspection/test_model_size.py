"""Counts of parameters and operations."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402
from pansophy.linear_model import LinearRegression  # noqa: E402


def test_operations_of_dense_local_and_convolution_layers():
    dense = torch.nn.Linear(12, 7)
    assert nn.count_flops(dense, (5, 12)) == 2 * 5 * 12 * 7
    conv = nn.Conv(3, 4, 3, stride=2, padding=1)
    m = nn.conv_output_size(9, 3, 2, 1)
    assert nn.count_flops(conv, (2, 3, 9, 9)) == 2 * 2 * m * m * 4 * 27
    local = nn.LocallyConnected((6, 6), 2, 3, 3)
    assert nn.count_flops(local, torch.zeros(1, 2, 6, 6)) == 2 * 16 * 3 * 18


def test_counting_leaves_the_net_in_its_mode():
    net = nn.ConvNet((1, 4, 4), 2).train()
    before = net.blocks[0][0].norm.running_mean.clone()
    nn.count_flops(net, (3, 1, 4, 4))
    assert net.training
    assert torch.equal(net.blocks[0][0].norm.running_mean, before)


def test_what_is_no_net_is_refused():
    with pytest.raises(TypeError, match="LinearRegression is neither a torch module"):
        nn.count_parameters(LinearRegression())
