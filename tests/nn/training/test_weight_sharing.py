"""Tied weights: they stay equal in training, and gradients sum over the ties."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


class Twins(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Linear(3, 3, dtype=torch.float64)
        self.b = torch.nn.Linear(3, 3, dtype=torch.float64)

    def losses(self, batch):
        out = self.b(torch.tanh(self.a(batch[0])))
        return {"loss": (out - batch[1]).square().mean()}


def test_ties_hold_after_every_update_and_gradients_sum(rng):
    batch = tuple(torch.as_tensor(rng.normal(size=(8, 3))) for _ in range(2))
    free, tied = Twins(), nn.tie(Twins(), "a.weight", "b.weight")
    free.b.weight.data = free.a.weight.data.clone()
    for net in (free, tied):
        net.losses(batch)["loss"].backward()
    total = free.a.weight.grad + free.b.weight.grad
    torch.testing.assert_close(tied.a.weight.grad, total)
    assert nn.count_parameters(tied) == nn.count_parameters(free) - 9
    seen = []
    check = lambda net: seen.append(torch.equal(net.a.weight, net.b.weight))
    nn.train(tied, batch, epochs=5, device="cpu", seed=0, after_step=check)
    assert seen == [True] * 5
    assert not torch.equal(tied.a.weight, free.a.weight)


def test_groups_of_entries_are_one_weight_each(rng):
    net = torch.nn.Linear(3, 2, bias=False, dtype=torch.float64)
    before = net.weight.detach().clone()
    groups = np.array([[0, 1, 0], [2, 1, 5]])
    nn.tie(net, "weight", groups=groups)
    assert nn.count_parameters(net) == 4
    found = net.weight.detach()
    assert (
        float(found[0, 0])
        == float(found[0, 2])
        == float((before[0, 0] + before[0, 2]) / 2)
    )
    x = torch.as_tensor(rng.normal(size=(4, 3)))
    net(x).sum().backward()
    shared = net.parametrizations.weight.original
    per_entry = x.sum(0)
    assert float(shared.grad[0]) == pytest.approx(float(per_entry[0] + per_entry[2]))
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    moved = net.weight.detach()
    assert float(moved[0, 1]) == float(moved[1, 1]) != float(found[0, 1])


def test_what_cannot_be_tied_is_refused():
    with pytest.raises(ValueError, match=r"no parameter 'c.weight'"):
        nn.tie(Twins(), "a.weight", "c.weight")
    with pytest.raises(ValueError, match="has shape"):
        nn.tie(Twins(), "a.weight", "b.bias")
    with pytest.raises(ValueError, match="two parameters or more"):
        nn.tie(Twins(), "a.weight")
    with pytest.raises(ValueError, match="groups must be whole numbers"):
        nn.tie(Twins(), "a.weight", groups=[0, 1])
