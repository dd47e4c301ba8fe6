"""Nets for rows of numbers and categories: missing values, batches, the start."""

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402
from pansophy.nn.nets.heads import mixture_scores  # noqa: E402

BINS = [[-1.0, 0.0, 1.0], [-2.0, 2.0]]


@pytest.fixture(
    params=[
        nn.TabularResNet,
        partial(nn.TabularResNet, n_members=3),
        nn.FTTransformer,
    ],
    ids=["residual", "members", "transformer"],
)
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


def net_of_members(head="softmax", **options):
    torch.manual_seed(0)
    options = {"hidden_size": 8, "dropout": 0.0, "n_members": 3, **options}
    net = nn.TabularResNet(BINS, [3], 2, head=head, **options).double()
    for p in net.parameters():
        p.data += 0.1 * torch.randn_like(p)
    return net


def test_every_member_is_a_plain_net_on_features_times_its_factors():
    net = net_of_members()
    x, z = rows()
    F = net.member_scores(x, z)
    assert F.shape == (6, 3, 2)
    assert not torch.allclose(F[:, 0], F[:, 1])
    for m in range(3):
        plain = nn.TabularResNet(BINS, [3], 2, hidden_size=8, dropout=0.0).double()
        state = {k: v for k, v in net.state_dict().items() if k != "factors"}
        state["output.weight"] = net.output.weight[m].T
        state["output.bias"] = net.output.bias[m]
        # W (r * h) = (W diag r) h
        state["input.weight"] = net.input.weight * net.factors[m]
        plain.load_state_dict(state)
        torch.testing.assert_close(plain(x, z), F[:, m])
        torch.testing.assert_close(plain.member_scores(x, z), plain(x, z))


def test_members_begin_with_different_signs_and_one_member_has_none():
    torch.manual_seed(0)
    net = nn.TabularResNet(BINS, [3], 2, n_members=4)
    assert bool((net.factors.abs() == 1).all())
    assert len({tuple(r.tolist()) for r in net.factors}) == 4
    assert not hasattr(nn.TabularResNet(BINS, [3], 2), "factors")
    assert net.flops(10) > 3 * nn.TabularResNet(BINS, [3], 2).flops(10)
    with pytest.raises(ValueError, match="n_members"):
        nn.TabularResNet(BINS, [3], 2, n_members=0)


@pytest.mark.parametrize("head", ["softmax", "identity", "gaussian"])
def test_members_learn_by_their_own_losses_and_are_judged_by_their_mixture(head):
    net = net_of_members(head)
    x, z = rows()
    w = torch.tensor([1.0, 2.0, 0.0, 1.0, 3.0, 1.0], dtype=torch.float64)
    Y = {
        "softmax": torch.arange(6) % 2,
        "identity": torch.randn(6, 2, dtype=torch.float64),
        "gaussian": torch.randn(6, 1, dtype=torch.float64),
    }[head]
    value = nn.HEADS[head].value
    F = net.member_scores(x, z)
    own = sum(w @ value(Y, F[:, m]) for m in range(3)) / (3 * w.sum())
    torch.testing.assert_close(net.train().losses((x, z, Y, w))["loss"], own)
    mixed = w @ value(Y, mixture_scores(head, F)) / w.sum()
    torch.testing.assert_close(net.eval().losses((x, z, Y, w))["loss"], mixed)
