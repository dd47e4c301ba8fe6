"""Nets for rows of numbers and categories: missing values, batches, the start."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402

BINS = [[-1.0, 0.0, 1.0], [-2.0, 2.0]]


@pytest.fixture(params=[nn.TabularResNet, nn.FTTransformer])
def net(request):
    torch.manual_seed(0)
    net = request.param(BINS, [3], 2, hidden_size=8, dropout=0.3).double()
    for p in net.parameters():  # V and B begin at 0
        p.data += 0.1 * torch.randn_like(p)
    return net.eval()


def rows(n=6):
    torch.manual_seed(1)
    x = torch.randn(n, 2, dtype=torch.float64)
    return x, torch.randint(0, 3, (n, 1))


def test_a_row_does_not_depend_on_its_batch(net):
    x, z = rows()
    single = torch.cat([net(x[i : i + 1], z[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(single, net(x, z))


def test_a_missing_number_is_a_value_of_its_own(net):
    x, z = rows()
    gone = x.clone()
    gone[:, 0] = float("nan")
    out = net(gone, z)
    assert bool(torch.isfinite(out).all())
    zero = x.clone()
    zero[:, 0] = 0.0
    assert not torch.allclose(out, net(zero, z))


def test_gradients_reach_every_parameter(net):
    x, z = rows(40)
    x[0, 0] = float("nan")
    x[1, 1] = float("nan")
    net.train().losses((x, z, torch.arange(40) % 2))["loss"].backward()
    for name, p in net.named_parameters():
        assert p.grad is not None and bool(torch.isfinite(p.grad).all()), name
        assert bool((p.grad != 0).any()), name


def test_a_residual_net_begins_as_zero_and_penalises_matrices_in_training_only():
    net = nn.TabularResNet(BINS, [3], 2, hidden_size=8, alpha=2.0, dropout=0.0)
    x, z = rows()
    batch = (x.float(), z, torch.zeros(6, dtype=torch.int64))
    assert bool((net(*batch[:2]) == 0).all())
    plain = net.eval().losses(batch)["loss"]
    assert float(plain.detach()) == pytest.approx(np.log(2), rel=1e-6)
    squares = sum(
        float(p.detach().square().sum()) for p in net.parameters() if p.ndim > 1
    )
    penalised = net.train().losses(batch)["loss"]
    assert float(penalised.detach()) == pytest.approx(np.log(2) + squares / 6, rel=1e-5)


def test_unknown_embeddings_are_refused():
    with pytest.raises(ValueError, match='embedding must be "piecewise"'):
        nn.TabularResNet(BINS, [], 2, embedding="spline")
