"""Nets over sequences: pools, losses under padding, weights, every architecture."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn  # noqa: E402
from pansophy.core.arrays.ragged import Ragged  # noqa: E402
from pansophy.nn.nets.sequence_net import LayerSize, pool_steps  # noqa: E402

F64 = torch.float64


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(params=nn.ARCHITECTURES)
def architecture(request):
    return request.param


def make(architecture, *, pool="last", head="softmax", bidirectional=False, k=3):
    size = LayerSize(2, 8, 2, 2, bidirectional)
    layer = nn.ARCHITECTURES[architecture](size)
    ways = layer.width // 8
    return nn.SequenceNet(layer, k, pool=pool, head=head, ways=ways).double()


def batch(rng, lengths=(5, 2, 1, 4)):
    X = Ragged.from_list([rng.normal(size=(n, 2)) for n in lengths])
    padded, _ = X.padded()
    return torch.tensor(padded), torch.tensor(X.lengths)


def test_pools_by_hand():
    H = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
    H = torch.cat([H, H])
    H[1, 2:] = 0.0  # behind the end
    lengths = torch.tensor([3, 2])
    assert pool_steps(H, lengths, "last").tolist() == [[3.0, 30.0], [2.0, 20.0]]
    assert pool_steps(H, lengths, "last", 2).tolist() == [[3.0, 10.0], [2.0, 10.0]]
    assert pool_steps(H, lengths, "sum").tolist() == [[6.0, 60.0], [3.0, 30.0]]
    assert pool_steps(H, lengths, "mean").tolist() == [[2.0, 20.0], [1.5, 15.0]]
    assert pool_steps(H, None, "mean")[0].tolist() == [2.0, 20.0]


def test_one_step_makes_all_pools_equal(architecture, rng):
    X, lengths = batch(rng, (1, 1, 1))
    nets = [make(architecture, pool=p) for p in ("last", "sum", "mean")]
    for net in nets[1:]:
        net.load_state_dict(nets[0].state_dict())
    scores = [net(X, lengths) for net in nets]
    torch.testing.assert_close(scores[0], scores[1])
    torch.testing.assert_close(scores[0], scores[2])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("pool", ["last", "sum", "mean", None])
def test_padding_changes_no_answer(architecture, pool, bidirectional, rng):
    net = make(architecture, pool=pool, bidirectional=bidirectional)
    X, lengths = batch(rng)
    F = net(X, lengths)
    for i, n in enumerate(lengths):
        alone = net(X[i : i + 1, :n], lengths[i : i + 1])[0]
        found = F[i] if pool else F[i, :n]
        torch.testing.assert_close(found, alone, atol=1e-12, rtol=0)


def test_order_matters(architecture, rng):
    net = make(architecture)
    X, _ = batch(rng, (5,))
    full = torch.tensor([5])
    assert not torch.allclose(net(X, full), net(X.flip(1), full), atol=1e-4)


@pytest.mark.parametrize(
    ("pool", "head"), [("last", "softmax"), (None, "softmax"), (None, "crf")]
)
def test_loss_of_a_batch_is_the_weighted_mean_of_singles(architecture, pool, head, rng):
    """Sequences count alike if pooled, steps alike if not; weight 2 is a repetition."""
    net = make(architecture, pool=pool, head=head)
    if head == "crf":
        net.chain.T.data.normal_()
    X, lengths = batch(rng)
    shape = (4,) if pool else (4, X.shape[1])
    Y = torch.tensor(rng.integers(0, 3, shape))
    w = torch.tensor([2.0, 1.0, 3.0, 1.0], dtype=F64)
    singles, sizes = [], []
    for i, n in enumerate(lengths):
        y = Y[i : i + 1] if pool else Y[i : i + 1, :n]
        one = (X[i : i + 1, :n], lengths[i : i + 1], y)
        singles.append(net.losses(one)["loss"])
        sizes.append(1 if pool else int(n))
        assert net.batch_weight(one) == sizes[-1]
    sizes = torch.tensor(sizes, dtype=F64)
    singles = torch.stack(singles)
    both = net.losses((X, lengths, Y))["loss"]
    torch.testing.assert_close(both, (sizes * singles).sum() / sizes.sum())
    weighted = net.losses((X, lengths, Y, w))["loss"]
    wanted = (w * sizes * singles).sum() / (w * sizes).sum()
    torch.testing.assert_close(weighted, wanted)
    assert net.batch_weight((X, lengths, Y, w)) == float((w * sizes).sum())
    again = torch.tensor([0, 0, 1, 2, 2, 2, 3])  # weights as repetitions
    repeated = net.losses((X[again], lengths[again], Y[again]))["loss"]
    torch.testing.assert_close(weighted, repeated)


def test_gradient_against_differences(architecture, rng):
    net = make(architecture)
    X, lengths = batch(rng)
    Y = torch.tensor([0, 2, 1, 1])
    value = lambda: net.losses((X, lengths, Y))["loss"]
    value().backward()
    for p in net.parameters():
        if p.grad is None:
            continue
        flat, grad = p.data.view(-1), p.grad.view(-1)
        for i in rng.integers(len(flat), size=2):
            kept, step = float(flat[i]), 1e-6
            flat[i] = kept + step
            up = value().item()
            flat[i] = kept - step
            down = value().item()
            flat[i] = kept
            slope = (up - down) / (2 * step)
            assert slope == pytest.approx(float(grad[i]), rel=1e-4, abs=1e-7)


def test_ragged_rows_are_padded_batches(rng):
    X = Ragged.from_list([rng.normal(size=n) for n in (3, 1, 2)])
    Y = X.with_values(np.arange(6))
    rows = nn.RaggedRows(X, Y, np.array([1.0, 2.0, 3.0]))
    padded, lengths, labels, w = rows.take(np.array([2, 1]))
    assert padded.shape == (2, 2, 1) and lengths.tolist() == [2, 1]
    assert labels.tolist() == [[4, 5], [3, 0]] and w.tolist() == [3.0, 2.0]
    assert len(rows) == 3 and len(rows.parts()) == 5


def test_pool_is_named():
    with pytest.raises(ValueError, match="pool must be one of last, sum, mean"):
        nn.SequenceNet(nn.GRU(1, 2), 2, pool="max")
    with pytest.raises(ValueError, match="n_heads must divide"):
        nn.ARCHITECTURES["transformer"](LayerSize(2, 10, heads=4))


def test_factors_of_labels_weight_steps():
    net = make("gru", pool=None)
    X = torch.randn(3, 4, 2, dtype=F64)
    lengths = torch.tensor([4, 2, 3])
    Y = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 1, 0]])
    w = torch.tensor([1.0, 2.0, 0.5], dtype=F64)
    factors = torch.tensor([3.0, 1.0, 0.25], dtype=F64)
    net.label_weights = factors
    batch = (X, lengths, Y, w)
    found = net.losses(batch)["loss"]
    F = net(X, lengths)
    each = torch.nn.functional.cross_entropy(
        F.flatten(0, 1), Y.flatten(), reduction="none"
    )
    here = torch.arange(4) < lengths[:, None]
    weights = (w[:, None] * factors[Y])[here]
    wanted = (weights * each.view(3, 4)[here]).sum() / weights.sum()
    torch.testing.assert_close(found, wanted)
    assert net.batch_weight(batch) == pytest.approx(float(weights.sum()))


def test_factors_of_labels_weight_sequences_of_a_chain():
    net = make("gru", pool=None, head="crf")
    X = torch.randn(2, 3, 2, dtype=F64)
    lengths = torch.tensor([3, 2])
    Y = torch.tensor([[0, 1, 2], [2, 2, 0]])
    net.label_weights = torch.tensor([3.0, 1.0, 0.5], dtype=F64)
    found = net.losses((X, lengths, Y))["loss"]
    net.label_weights = None
    w = torch.tensor([4.5 / 3, 0.5], dtype=F64)  # means of the factors
    torch.testing.assert_close(found, net.losses((X, lengths, Y, w))["loss"])
